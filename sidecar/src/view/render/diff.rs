//! A proposed or done change as unified lines.
//!
//! Owns the inline form only; the side-by-side form is the editor's own diff. Comparing is bounded in size and time, and
//! a change is compared once, however often its entry is rendered.

use std::collections::VecDeque;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::time::Duration;

use similar::{ChangeTag, DiffOp, TextDiff};

use crate::model::Diff;

use super::{Line, escape, short};

/// Both texts together, in bytes, beyond which nothing is compared here.
const COMPARED: usize = 64 * 1024;
/// Time for one comparison.
const TIME: Duration = Duration::from_millis(20);
/// Lines that a question shows.
const PREVIEW: usize = 12;
/// Unchanged lines around a change there.
const PREVIEW_CONTEXT: usize = 1;
/// Lines that an unfolded card shows.
const WHOLE: usize = 200;
/// Unchanged lines around a change there.
const WHOLE_CONTEXT: usize = 3;
/// Bytes of all lines that are shown.
const BYTES: usize = 32 * 1024;
/// Bytes of one of them.
const LINE_BYTES: usize = 500;
/// Comparisons that are kept.
const KEPT: usize = 64;

/// Comparisons that were shown lately, newest last.
#[derive(Debug, Default)]
pub struct Cache {
    kept: VecDeque<(u64, Vec<Line>)>,
}

impl Cache {
    /// A few lines of a change, for a question.
    pub fn preview(&mut self, diff: &Diff) -> Vec<Line> {
        let mut out = vec![name(diff)];
        let lines = self.lines(diff, PREVIEW, PREVIEW_CONTEXT);
        out.extend(lines.into_iter().map(|line| line.behind("  ")));
        out
    }

    /// A change, for an unfolded card.
    pub fn whole(&mut self, diff: &Diff) -> Vec<Line> {
        let lines = self.lines(diff, WHOLE, WHOLE_CONTEXT);
        let texts = lines.iter().map(|line| line.text.as_str());
        let fence = super::tool::fence(texts);
        let mut out = vec![name(diff), Line::of(format!("{fence}diff"), "BosunCodeFence")];
        out.extend(lines);
        out.push(Line::of(fence, "BosunCodeFence"));
        out
    }

    fn lines(&mut self, diff: &Diff, most: usize, context: usize) -> Vec<Line> {
        let mut hasher = DefaultHasher::new();
        (&diff.old, &diff.new, most).hash(&mut hasher);
        let key = hasher.finish();
        if let Some((_, lines)) = self.kept.iter().find(|(kept, _)| *kept == key) {
            return lines.clone();
        }
        let lines = compare(diff, most, context);
        if self.kept.len() >= KEPT {
            self.kept.pop_front();
        }
        self.kept.push_back((key, lines.clone()));
        lines
    }
}

fn name(diff: &Diff) -> Line {
    let new = if diff.old.as_deref().unwrap_or_default().is_empty() { " (new)" } else { "" };
    Line::of(format!("  {}{new}", short(&diff.path)), "BosunMeta")
}

fn compare(diff: &Diff, most: usize, context: usize) -> Vec<Line> {
    let old = diff.old.as_deref().unwrap_or_default();
    if old.len() + diff.new.len() > COMPARED {
        let count = |text: &str| text.lines().count();
        return vec![Line::of(format!("{} lines become {}", count(old), count(&diff.new)), "BosunMeta")];
    }
    let compared = TextDiff::configure().timeout(TIME).diff_lines(old, &diff.new);
    let mut lines = Vec::new();
    for group in compared.grouped_ops(context) {
        lines.push(hunk(&group));
        for change in group.iter().flat_map(|op| compared.iter_changes(op)) {
            let (sign, group) = match change.tag() {
                ChangeTag::Delete => ('-', Some("BosunDiffDelete")),
                ChangeTag::Insert => ('+', Some("BosunDiffAdd")),
                ChangeTag::Equal => (' ', None),
            };
            let text = change.value().trim_end_matches('\n');
            // On its own side only, a carriage return at the end of a line is what changed.
            let text = if group.is_none() { text.trim_end_matches('\r') } else { text };
            let cut = &text[..text.floor_char_boundary(LINE_BYTES)];
            let more = if cut.len() < text.len() { "…" } else { "" };
            let text = format!("{sign}{}{more}", escape::text(cut));
            lines.push(match group {
                Some(group) => Line::of(text, group),
                None => Line { text, spans: Vec::new() },
            });
            if change.missing_newline() && group.is_some() {
                lines.push(Line::of("\\ no line end", "BosunMeta"));
            }
        }
    }
    if lines.is_empty() {
        return vec![Line::of("nothing changes", "BosunMeta")];
    }
    let mut left = BYTES;
    let fitting = lines.iter().take_while(|line| {
        let fits = line.text.len() < left;
        left = left.saturating_sub(line.text.len() + 1);
        fits
    });
    let kept = fitting.count();
    // The note about the rest is one of the lines.
    let kept = if kept < lines.len() || lines.len() > most { kept.min(most - 1) } else { kept };
    let rest = lines.len() - kept;
    lines.truncate(kept);
    if rest > 0 {
        lines.push(Line::of(format!("… {rest} more lines"), "BosunMeta"));
    }
    lines
}

fn hunk(ops: &[DiffOp]) -> Line {
    let range = |start: usize, end: usize| match end - start {
        0 => format!("{start},0"),
        1 => format!("{}", start + 1),
        n => format!("{},{n}", start + 1),
    };
    let (first, last) = (&ops[0], &ops[ops.len() - 1]);
    let old = range(first.old_range().start, last.old_range().end);
    let new = range(first.new_range().start, last.new_range().end);
    Line::of(format!("@@ -{old} +{new} @@"), "BosunMeta")
}
