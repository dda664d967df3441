//! A proposed or done change as unified lines.
//!
//! Owns the inline form only; the side-by-side form is the editor's own diff. Comparing is bounded in size and time.

use std::time::Duration;

use similar::{ChangeTag, TextDiff};

use crate::model::Diff;
use crate::session::display;

use super::{Line, short};

/// Both texts together, in bytes, beyond which nothing is compared here.
const COMPARED: usize = 64 * 1024;
/// Time for one comparison.
const TIME: Duration = Duration::from_millis(20);
/// Changed lines that a question shows.
const PREVIEW: usize = 12;
/// Changed lines that an unfolded card shows.
const WHOLE: usize = 200;
/// Bytes of a line that is shown.
const LINE_BYTES: usize = 500;

/// A few lines of a change, for a question.
pub fn preview(diff: &Diff) -> Vec<Line> {
    lines(diff, PREVIEW)
}

/// A change, for an unfolded card.
pub fn whole(diff: &Diff) -> Vec<Line> {
    lines(diff, WHOLE)
}

fn lines(diff: &Diff, most: usize) -> Vec<Line> {
    let old = diff.old.as_deref().unwrap_or_default();
    let mut out = vec![Line::of(format!("  {}", short(&diff.path)), "BosunMeta")];
    if old.len() + diff.new.len() > COMPARED {
        let count = |text: &str| text.lines().count();
        let text = format!("  {} lines become {}", count(old), count(&diff.new));
        out.push(Line::of(text, "BosunMeta"));
        return out;
    }
    let compared = TextDiff::configure().timeout(TIME).diff_lines(old, &diff.new);
    let changed = compared.iter_all_changes().filter(|change| change.tag() != ChangeTag::Equal);
    let mut rest = 0;
    for (index, change) in changed.enumerate() {
        if index >= most {
            rest += 1;
            continue;
        }
        let (sign, group) = match change.tag() {
            ChangeTag::Delete => ('-', "BosunDiffDelete"),
            _ => ('+', "BosunDiffAdd"),
        };
        let text = change.value().trim_end_matches('\n');
        let cut = &text[..text.floor_char_boundary(LINE_BYTES)];
        let more = if cut.len() < text.len() { "…" } else { "" };
        out.push(Line::of(format!("  {sign}{}{more}", display::lines(cut).join(" ")), group));
    }
    if rest > 0 {
        out.push(Line::of(format!("  … {rest} more changed lines"), "BosunMeta"));
    }
    out
}
