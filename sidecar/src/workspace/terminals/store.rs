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

    /// More bytes of the program, as it wrote them.
    pub fn feed(&mut self, bytes: &[u8]) {
        self.total += bytes.len() as u64;
        // In pieces, so that one of any size does not make it grow by that.
        for piece in bytes.chunks(64 << 10) {
            self.plain.feed(piece);
            self.plain.bound(self.limit);
        }
    }

    /// The text, from a character's start, and whether its beginning is missing.
    pub fn text(&self) -> (String, bool) {
        self.plain.text(self.limit)
    }

    /// Its last lines, oldest first.
    pub fn last_lines(&self, count: usize) -> Vec<String> {
        self.plain.last_lines(count)
    }

    /// Bytes that the program wrote.
    pub fn total(&self) -> u64 {
        self.total
    }
}
