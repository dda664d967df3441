//! What an agent gets of a terminal: the end of its plain text.
//!
//! Owns the limit. The text only grows, and only by the limit it loses its beginning. Part of `terminals`.

use super::plain::Plain;

/// See the module.
#[derive(Debug)]
pub struct Store {
    plain: Plain,
    /// Bytes that the text may have.
    limit: usize,
    /// Bytes that came in.
    total: u64,
}

impl Store {
    /// Keeps the last `limit` bytes of text.
    pub fn new(limit: usize) -> Self {
        Self { plain: Plain::default(), limit, total: 0 }
    }

    /// The size, in cells, of the window that the program believes to write in.
    pub fn resize(&mut self, rows: u16, cols: u16) {
        self.plain.resize(rows, cols);
    }

    /// More bytes of the program, as it wrote them.
    pub fn feed(&mut self, bytes: &[u8]) {
        self.total += bytes.len() as u64;
        // In pieces, so that one of any size does not make it grow by that.
        for piece in bytes.chunks(64 << 10) {
            self.plain.feed(piece);
            self.plain.bound(self.limit);
        }
    }

    /// The command has ended.
    pub fn settle(&mut self) {
        self.plain.settle(self.limit);
    }

    /// The text, from a character's start, and whether its beginning is missing: of the text as it is now, for whether it
    /// once was longer depends on when one looks.
    pub fn text(&self) -> (String, bool) {
        self.plain.text(self.limit)
    }

    /// Its last lines, oldest first; long ones are cut.
    pub fn last_lines(&self, count: usize) -> Vec<String> {
        self.plain.last_lines(count)
    }

    /// Bytes that the program wrote.
    pub fn total(&self) -> u64 {
        self.total
    }
}
