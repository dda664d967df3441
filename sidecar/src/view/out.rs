//! The lines of one patch as they come together, with the limits that a patch has.
//!
//! Owns the count of bytes, lines and marks. Called by the renderers of growing texts and by `show`.

use std::hash::{DefaultHasher, Hash, Hasher};

use crate::effect::ViewMark;

use super::render::Line;
use super::{PATCH_BYTES, PATCH_LINES, PATCH_MARKS};

/// Bytes of a patch that are kept for the lines below a text.
const FOOT: usize = 32 * 1024;

/// What a line looks like, marks included, as a number; 0 is a line that nothing is known of.
pub type Look = u64;

/// The lines of a patch.
#[derive(Debug, Default)]
pub struct Out {
    /// The lines.
    pub lines: Vec<String>,
    /// Rows count from the first line here.
    pub marks: Vec<ViewMark>,
    /// Of each line; never 0.
    pub looks: Vec<Look>,
    /// Of all lines, with a line end each.
    pub bytes: usize,
    /// Of lines that were rendered and turned out to be there already.
    pub dropped: usize,
}

impl Out {
    /// Whether that many more lines and bytes have room. The first line always has.
    pub fn fits(&self, lines: usize, bytes: usize) -> bool {
        self.lines.is_empty()
            || (self.bytes + bytes + lines <= PATCH_BYTES - FOOT && self.lines.len() + lines <= PATCH_LINES)
    }

    /// Whether a whole entry has room.
    pub fn fits_all(&self, lines: &[Line]) -> bool {
        let bytes = lines.iter().map(|line| line.text.len()).sum();
        let marks: usize = lines.iter().map(|line| line.spans.len()).sum();
        self.lines.is_empty() || (self.fits(lines.len(), bytes) && self.marks.len() + marks <= PATCH_MARKS)
    }

    /// Appends a line if it has room.
    pub fn push(&mut self, line: Line) -> bool {
        let fits = self.fits_all(std::slice::from_ref(&line));
        if fits {
            self.force(line);
        }
        fits
    }

    /// Appends a line.
    pub fn force(&mut self, line: Line) {
        let row = self.lines.len();
        let mut hasher = DefaultHasher::new();
        line.text.hash(&mut hasher);
        for span in &line.spans {
            (span.col, span.end, span.group).hash(&mut hasher);
            self.marks.push(ViewMark { row, col: span.col, end: span.end, group: span.group });
        }
        self.bytes += line.text.len() + 1;
        self.looks.push(hasher.finish().max(1));
        self.lines.push(line.text);
    }

    /// Drops lines from both ends.
    pub fn trim(&mut self, front: usize, back: usize) {
        let end = self.lines.len() - back;
        self.lines.truncate(end);
        self.lines.drain(..front);
        self.marks.retain(|mark| (front..end).contains(&mark.row));
        for mark in &mut self.marks {
            mark.row -= front;
        }
    }
}

/// Leaves only what changed, from its first to its last line, and says which lines it replaces. `old` is what stood from
/// `start` on.
pub fn trim((start, old): (usize, Vec<Look>), out: &mut Out) -> Option<(usize, usize)> {
    let same = |pairs: &mut dyn Iterator<Item = (&Look, &Look)>| pairs.take_while(|(a, b)| a == b).count();
    let front = same(&mut old.iter().zip(&out.looks));
    if front == old.len() && front == out.looks.len() {
        return None;
    }
    let back = same(&mut old[front..].iter().rev().zip(out.looks[front..].iter().rev()));
    out.trim(front, back);
    Some((start + front, start + old.len() - back))
}
