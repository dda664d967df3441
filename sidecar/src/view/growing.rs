//! Texts that grow: how much of a message is in the buf for good, and the lines that are new.
//!
//! Owns where rendering goes on, so that a chunk costs its own size and not the size of its message. A text is only ever
//! appended to. Its finished lines are never looked at again; only the line that is still begun, and what stands below
//! it, is rendered anew. Pure; called by the buf's `show`.

use crate::model::Millis;

use super::FRAME;
use super::markdown::Fence;
use super::out::Out;
use super::render::{self, Line};

/// A begun line longer than this is not sent with each frame: it goes over whole each time.
const LONG: usize = 16 * 1024;
/// Longest time for which a begun line is held back, in milliseconds.
const HOLD: Millis = 500;
/// Columns that a folded text may take.
const FOLDED: usize = 80;

/// A text with what stands around it.
#[derive(Debug, Default)]
pub struct Parts<'a> {
    /// An empty line comes first.
    pub gap: bool,
    /// Lines above the text; never change.
    pub head: Vec<Line>,
    /// The text.
    pub text: &'a str,
    /// Before each of its lines.
    pub prefix: &'static str,
    /// Of each of its lines; `None` reads them as Markdown.
    pub group: Option<&'static str>,
    /// Lines below the text.
    pub foot: Vec<Line>,
}

/// How far a growing text is in the buf.
#[derive(Clone, Copy, Debug, Default)]
pub struct Growing {
    /// Bytes of the text whose lines are there for good.
    bytes: usize,
    /// Lines of the block that are there for good.
    pub lines: usize,
    /// Empty lines before `bytes` that are held back until a line follows: none stand at the end of a block.
    blank: usize,
    /// Open at `bytes`.
    fence: Option<Fence>,
    /// Bytes from `bytes` to here hold no line end.
    searched: usize,
    /// The begun line is long: it is not sent before this.
    hold: Millis,
}

impl Growing {
    /// Appends the lines that are not in the buf for good. Lines of `out` that may still change are the last ones; how
    /// many of the block are fixed is `lines` afterwards. False when the patch is full before the text is at its end.
    pub fn render(&mut self, parts: &Parts<'_>, now: Millis, out: &mut Out) -> bool {
        if self.lines == 0 && !parts.head.is_empty() && !self.start(parts, out) {
            return false;
        }
        while let Some(rest) = parts.text.get(self.bytes..).filter(|rest| !rest.is_empty()) {
            let end = self.line_end(parts.text);
            let line = end.map_or(rest, |end| &parts.text[self.bytes..end]);
            let line = line.strip_suffix('\r').unwrap_or(line);
            if line.is_empty() {
                let Some(end) = end else { break };
                self.blank += 1;
                self.bytes = end + 1;
                continue;
            }
            if (self.lines == 0 && !self.start(parts, out)) || !self.push_blank(parts, out) {
                return false;
            }
            let mut fence = self.fence;
            let rendered = match parts.group {
                None => render::text_line(line, &mut fence),
                Some(group) => render::plain_line(parts.prefix, line, group),
            };
            if !out.push(rendered) {
                return false;
            }
            let Some(end) = end else {
                let frames = (line.len() / LONG) as Millis;
                self.hold = now + (frames * FRAME).min(HOLD);
                break;
            };
            self.fence = fence;
            self.bytes = end + 1;
            self.lines += 1;
        }
        // Few and short: a patch keeps room for them.
        parts.foot.iter().for_each(|line| out.force(line.clone()));
        true
    }

    /// Until when the text has nothing to show: all that is new belongs to a long line that is still begun.
    pub fn held(&mut self, text: &str, now: Millis) -> Option<Millis> {
        (now < self.hold && self.line_end(text).is_none()).then_some(self.hold)
    }

    /// Where the line that starts at `bytes` ends.
    fn line_end(&mut self, text: &str) -> Option<usize> {
        let from = self.searched.max(self.bytes);
        let end = text.as_bytes().get(from..)?.iter().position(|b| *b == b'\n').map(|at| from + at);
        self.searched = end.unwrap_or(text.len());
        end
    }

    fn start(&mut self, parts: &Parts<'_>, out: &mut Out) -> bool {
        let gap = parts.gap.then(Line::default);
        if !out.fits(parts.head.len() + 1, 64) {
            return false;
        }
        for line in gap.into_iter().chain(parts.head.iter().cloned()) {
            out.force(line);
            self.lines += 1;
        }
        true
    }

    fn push_blank(&mut self, parts: &Parts<'_>, out: &mut Out) -> bool {
        while self.blank > 0 {
            let line = parts.group.map_or_else(Line::default, |group| Line::of(parts.prefix, group));
            if !out.push(line) {
                return false;
            }
            self.blank -= 1;
            self.lines += 1;
        }
        true
    }
}

/// How far a folded text was read: it shows its number of lines and the last one.
#[derive(Clone, Copy, Debug, Default)]
pub struct Folded {
    /// Bytes of whole lines that were read.
    bytes: usize,
    /// From the first line that is not blank to the last one, both included.
    lines: usize,
    /// Blank lines behind them.
    blank: usize,
    /// Where the last line that is not blank starts.
    last: usize,
}

impl Folded {
    /// The number of lines and the beginning of the last one that is not blank; none while there is no such line.
    pub fn read(&mut self, text: &str) -> Option<(usize, String)> {
        while let Some(len) = text.get(self.bytes..).and_then(|rest| rest.find('\n')) {
            self.line(&text[self.bytes..self.bytes + len]);
            self.bytes += len + 1;
        }
        // The line that is begun is read again next time.
        let mut end = *self;
        end.line(text.get(self.bytes..).unwrap_or_default());
        let last = text.get(end.last..).filter(|_| end.lines > 0)?;
        let last = last.split('\n').next().unwrap_or_default().trim();
        Some((end.lines, render::short_to(last, FOLDED)))
    }

    fn line(&mut self, line: &str) {
        if !line.trim().is_empty() {
            self.lines += if self.lines == 0 { 1 } else { self.blank + 1 };
            self.blank = 0;
            self.last = self.bytes;
        } else if self.lines > 0 {
            self.blank += 1;
        }
    }
}
