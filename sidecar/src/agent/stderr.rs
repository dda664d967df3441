//! An agent's standard error: always drained, kept as a bounded ring of last lines.
//!
//! Owns the ring. It never judges what is said there; agents log freely.

use std::collections::VecDeque;

/// Lines kept.
pub const LINES: usize = 50;
/// Bytes kept of a line; the rest of it is dropped.
pub const LINE_BYTES: usize = 2048;

/// The last lines.
#[derive(Debug, Default)]
pub struct Tail {
    lines: VecDeque<Vec<u8>>,
    current: Vec<u8>,
}

impl Tail {
    /// Takes bytes as they come. `ended` is called with each line that is complete now.
    pub fn push(&mut self, bytes: &[u8], mut ended: impl FnMut(&[u8])) {
        for piece in bytes.split_inclusive(|b| *b == b'\n') {
            let (text, ends) = match piece.strip_suffix(b"\n") {
                Some(text) => (text, true),
                None => (piece, false),
            };
            let room = LINE_BYTES.saturating_sub(self.current.len());
            self.current.extend_from_slice(&text[..text.len().min(room)]);
            if ends {
                ended(&self.current);
                self.end_line();
            }
        }
    }

    fn end_line(&mut self) {
        let line = std::mem::take(&mut self.current);
        if self.lines.len() == LINES {
            self.lines.pop_front();
        }
        self.lines.push_back(line);
    }

    /// The beginning of a line that has not ended; empty between lines.
    pub fn unfinished(&self) -> &[u8] {
        &self.current
    }

    /// The lines, oldest first, as text; empty ones at the end are left out.
    pub fn lines(&self) -> Vec<String> {
        let mut lines: Vec<String> = self
            .lines
            .iter()
            .chain((!self.current.is_empty()).then_some(&self.current))
            .map(|line| String::from_utf8_lossy(line).trim_end().to_owned())
            .collect();
        while lines.last().is_some_and(String::is_empty) {
            lines.pop();
        }
        lines
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_lines_are_kept_and_long_ones_cut() {
        let mut tail = Tail::default();
        for n in 0..100 {
            tail.push(format!("line {n}\n").as_bytes(), |_| {});
        }
        tail.push(&vec![b'x'; 10 << 20], |_| {});
        let lines = tail.lines();
        assert_eq!(lines.len(), LINES + 1);
        assert_eq!(lines[0], "line 50");
        assert_eq!(lines[LINES].len(), LINE_BYTES);
    }

    #[test]
    fn each_complete_line_is_told_once_however_it_was_cut() {
        let mut tail = Tail::default();
        let mut told = Vec::new();
        for byte in b"one\ntwo\n\nthr" {
            tail.push(&[*byte], |line| told.push(String::from_utf8_lossy(line).into_owned()));
        }
        assert_eq!((told, tail.unfinished()), (vec!["one".into(), "two".into(), String::new()], &b"thr"[..]));
    }
}
