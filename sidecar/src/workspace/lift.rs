//! What an agent's content means as text of a file, given the text that the agent took it from.
//!
//! Owns that reading only. It never decides what may be written. Called by `rebase`.
//!
//! The wire carries less than a file holds: a byte order mark and CRLF are beside the text, bytes that are not UTF-8
//! become U+FFFD, and agents write all lines with LF. So lines that the agent left as they were get their own bytes back,
//! and lines it changed get the line end of those they stand for.

use ropey::Rope;

use crate::workspace::lines::{Span, changes, flat, split};
use crate::workspace::text::{self, Snapshot};

/// The content changed a line that holds bytes the wire cannot carry, at those bytes: what they should become is not
/// known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OddBytes;

/// The text that `content` means. `base` is what the agent took it from; `bom` and `crlf` are beside the file's text.
pub fn lift(base: &Snapshot, content: &str, bom: bool, crlf: bool) -> Result<Snapshot, OddBytes> {
    let content = if bom { content.strip_prefix('\u{FEFF}').unwrap_or(content) } else { content };
    // Beside the text of such a file, so not in it.
    let unix = (crlf && content.contains("\r\n")).then(|| content.replace("\r\n", "\n"));
    let new = Snapshot::from_wire(unix.as_deref().unwrap_or(content));
    if base.is_empty() || new.is_empty() {
        return Ok(new);
    }
    let (was, is) = (flat(&base.rope), flat(&new.rope));
    let (was, is) = (split(&was), split(&is));
    let crs = |lines: &[&str]| lines.iter().filter(|l| has_cr(l)).count();
    let (was_crs, is_crs) = (crs(&was), crs(&is));
    // The last line may end without a newline, and then without a CR.
    let normal = is_crs == 0 || is_crs + usize::from(!new.eol) >= is.len();
    let ends = was_crs != is_crs && normal;
    let odd = was.iter().any(|l| text::has_escapes(l));
    if !ends && !odd {
        return Ok(new);
    }
    let key = |line: &&str| {
        let line = if ends { without_cr(line) } else { (*line).to_owned() };
        if odd { text::to_wire(Rope::from_str(&line).slice(..)).text } else { line }
    };
    let (old_keys, new_keys): (Vec<_>, Vec<_>) =
        (was.iter().map(key).collect(), is.iter().map(key).collect());
    let changes = changes(&old_keys, &new_keys);
    let (kept, moved): (usize, usize) =
        (was.len() - changes.iter().map(|(o, _)| o.len()).sum::<usize>(), changes.len());
    // Where line ends are all that is different, or no line is the same, they are what was meant.
    if ends && !odd && (moved == 0 || kept == 0) {
        return Ok(new);
    }
    let mut out = String::with_capacity(content.len() + 16);
    let mut at = 0;
    let total = was.len();
    for (o, n) in changes.into_iter().chain([(total..total, 0..0)]) {
        was[at..o.start].iter().for_each(|l| out.push_str(l));
        for (i, line) in is[n.clone()].iter().enumerate() {
            let twin = (i < o.len()).then(|| was[o.start + i]);
            let line = if ends { with_end(line, ends_in_cr(&was, &o, i)) } else { (*line).to_owned() };
            out.push_str(&match twin {
                Some(twin) if odd => with_bytes(twin, &line)?,
                _ if odd && n.len() != o.len() && line.contains('\u{FFFD}') => return Err(OddBytes),
                _ => line,
            });
        }
        at = o.end;
    }
    Ok(Snapshot { rope: Rope::from_str(&out), eol: new.eol })
}

fn has_cr(line: &str) -> bool {
    line.ends_with("\r\n")
}

fn without_cr(line: &str) -> String {
    line.strip_suffix("\r\n").map_or_else(|| line.to_owned(), |l| l.to_owned() + "\n")
}

fn with_end(line: &str, cr: bool) -> String {
    let plain = without_cr(line);
    if cr { plain.trim_end_matches('\n').to_owned() + "\r\n" } else { plain }
}

/// Whether line `i` of what stands for `span` ends in CR: as the line in its place does, else the one before it, else
/// the one behind.
fn ends_in_cr(was: &[&str], span: &Span, i: usize) -> bool {
    let place = span.start + i;
    let near = if place < span.end { Some(place) } else { span.end.checked_sub(1) };
    near.or((!was.is_empty()).then_some(0)).is_some_and(|at| has_cr(was[at]))
}

/// `new` with the bytes of `old` where both are the same on the wire.
fn with_bytes(old: &str, new: &str) -> Result<String, OddBytes> {
    if !text::has_escapes(old) {
        return Ok(new.to_owned());
    }
    // One character of the wire for each of the rope's, so that places correspond: an escape is one U+FFFD here,
    // though a run of them may be fewer on the wire. Where it is, the line counts as changed at those bytes.
    let shown: Vec<char> = old.chars().map(|c| if text::is_escape(c) { '\u{FFFD}' } else { c }).collect();
    let (raw, new): (Vec<char>, Vec<char>) = (old.chars().collect(), new.chars().collect());
    let head = shown.iter().zip(&new).take_while(|(a, b)| a == b).count();
    let tail = shown[head..].iter().rev().zip(new[head..].iter().rev()).take_while(|(a, b)| a == b).count();
    let middle = &new[head..new.len() - tail];
    if middle.contains(&'\u{FFFD}') {
        return Err(OddBytes);
    }
    Ok(raw[..head].iter().chain(middle).chain(&raw[raw.len() - tail..]).collect())
}

#[cfg(test)]
mod tests;
