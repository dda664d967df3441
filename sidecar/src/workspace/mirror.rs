//! The text of one attached buffer, kept equal to the editor's by its events.
//!
//! Owns the rope, its tick and how much of it is known. It never asks for anything: `bufs` does, and calls it.
//!
//! While it fills, the rope holds a known *prefix* of the buffer. A slice travels in the same ordered stream as the
//! line events, so it is true for the text after all events seen before it. An event inside the prefix is a splice; one
//! beyond it says nothing about it; one that straddles its end cuts the prefix and extends it by the lines it brings.
//! So a fill never starts over, however fast a person types meanwhile.

use ropey::Rope;

use crate::workspace::text;

/// Why the text is not known any more after an event: the mirror must be filled again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lost {
    /// The event does not fit the text: something was missed.
    Misfit,
    /// The event has two meanings, and only a slice tells which it is. What is left is one empty line, as the editor
    /// shows also a buffer without any. Or lines came to one empty line: `:append` and `:diffput` take that away without
    /// an event, `O` does not.
    InDoubt,
}

/// See the module.
#[derive(Clone, Debug, Default)]
pub struct Mirror {
    /// Known lines, escaped, each ending in LF.
    rope: Rope,
    /// Highest changedtick heard of.
    tick: u64,
    /// The rope is the whole buffer.
    complete: bool,
    /// In the middle of a change that comes in several events.
    partial: bool,
}

impl Mirror {
    /// The text is whole and may be served.
    pub fn ready(&self) -> bool {
        self.complete && !self.partial
    }

    /// The text to serve; a prefix while not [`Self::ready`]. Cloning it is O(1).
    pub fn rope(&self) -> &Rope {
        &self.rope
    }

    /// Number of lines known; the next slice begins here.
    pub fn known(&self) -> usize {
        text::line_count(&self.rope)
    }

    /// Highest changedtick heard of.
    pub fn tick(&self) -> u64 {
        self.tick
    }

    /// The tick moved, as something else than a line event says. Never goes back.
    pub fn saw_tick(&mut self, tick: u64) {
        self.tick = self.tick.max(tick);
    }

    /// Lines `[first, last)` became `lines`; no `last` means to the end. After an error nothing is known but the tick.
    ///
    /// No `tick` means a preview ('inccommand'). Neovim takes it back before anything else happens, and sends no event for
    /// that: it says nothing of the text.
    pub fn lines(
        &mut self,
        tick: Option<u64>,
        first: usize,
        last: Option<usize>,
        lines: &[Vec<u8>],
        more: bool,
    ) -> Result<(), Lost> {
        let Some(tick) = tick else { return Ok(()) };
        self.saw_tick(tick);
        self.partial = more;
        let spliced = if self.complete {
            self.splice_whole(first, last, lines)
        } else {
            self.splice_prefix(first, last, lines);
            Ok(())
        };
        if spliced.is_err() {
            *self = Self { tick: self.tick, ..Self::default() };
        }
        spliced
    }

    fn splice_whole(&mut self, first: usize, last: Option<usize>, lines: &[Vec<u8>]) -> Result<(), Lost> {
        if self.known() == 0 {
            // Neovim shows a buffer without lines as one empty line, and its events count that one.
            self.rope = Rope::from_str("\n");
        }
        let known = self.known();
        let last = last.unwrap_or(known);
        if first > last || last > known {
            return Err(Lost::Misfit);
        }
        let inserted = first == last && self.rope == "\n";
        self.splice(first, last, lines);
        if inserted || self.rope == "\n" { Err(Lost::InDoubt) } else { Ok(()) }
    }

    fn splice_prefix(&mut self, first: usize, last: Option<usize>, lines: &[Vec<u8>]) {
        let known = self.known();
        match last {
            Some(last) if first < known && first <= last => self.splice(first, last.min(known), lines),
            None if first <= known => {
                self.splice(first, known, lines);
                self.complete = true;
            }
            _ => {}
        }
    }

    fn splice(&mut self, first: usize, last: usize, lines: &[Vec<u8>]) {
        let (start, end) = (self.rope.line_to_char(first), self.rope.line_to_char(last));
        self.rope.remove(start..end);
        self.rope.insert(start, &text::from_lines(lines));
    }

    /// Lines from `start` as they are now, `total` in all; `empty` when the buffer has no line at all.
    ///
    /// A slice that disagrees with what is known (an answer to a question that was asked before the present attachment)
    /// wins: the rest is then unknown again.
    pub fn slice(&mut self, tick: u64, start: usize, total: usize, lines: &[Vec<u8>], empty: bool) {
        self.saw_tick(tick);
        let (lines, total) = if empty { (&[][..], 0) } else { (lines, total) };
        let known = self.known();
        if start > known {
            return;
        }
        let overlap = (known - start).min(lines.len());
        let (from, to) = (self.rope.line_to_char(start), self.rope.line_to_char(start + overlap));
        let agrees = self.rope.slice(from..to) == text::from_lines(&lines[..overlap]).as_str();
        if agrees && known <= total {
            self.splice(known.max(start), known, &lines[overlap..]);
        } else {
            self.splice(start, known, lines);
        }
        self.complete = self.known() == total;
    }
}

#[cfg(test)]
mod tests;
