//! What goes into the terminal buffer that shows a command: small pieces, one at a time, and of a flood only what a
//! person could have read.
//!
//! Owns what waits for the editor and when it is due. It never looks into the bytes but for where they may be cut; they
//! are filtered already. Part of `terminals`.

use super::tail::beginning;
use crate::model::Millis;

/// Most bytes in one piece: Neovim parses about one megabyte of short lines a second.
pub const PIECE: usize = 4 << 10;
/// Between two pieces.
pub const FRAME: Millis = 33;
/// What may wait; beyond that the middle is left out.
pub const WAITING: usize = 128 << 10;
/// Modes that are remembered of what is left out, and the bytes of one.
const MODES: usize = 32;
const MODE: usize = 64;
/// What is kept when something is left out.
const KEPT: usize = 2 * PIECE;

/// A piece for the editor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Piece {
    /// Ascending; acknowledged by the editor.
    pub seq: u64,
    /// What was there before goes.
    pub reset: bool,
    /// Filtered bytes.
    pub bytes: Vec<u8>,
}

/// See the module.
#[derive(Debug, Default)]
pub struct Feed {
    /// A window shows the buffer.
    shown: bool,
    waiting: Vec<u8>,
    reset: bool,
    seq: u64,
    /// A piece that was not acknowledged.
    in_flight: bool,
    /// Not before this.
    due: Millis,
}

impl Feed {
    /// A window shows the buffer from now on: it begins with the end of what was written so far.
    pub fn show(&mut self, tail: Vec<u8>) {
        (self.shown, self.reset, self.waiting) = (true, true, tail);
        // What was in flight is left out by an editor that did not show it.
        self.in_flight = false;
    }

    /// No window shows it any more.
    pub fn hide(&mut self) {
        self.shown = false;
        self.waiting.clear();
    }

    /// Whether a window shows it.
    pub fn is_shown(&self) -> bool {
        self.shown
    }

    /// More was written.
    pub fn push(&mut self, bytes: &[u8]) {
        if !self.shown {
            return;
        }
        self.waiting.extend_from_slice(bytes);
        if self.waiting.len() > WAITING {
            let from = self.waiting.len() - KEPT;
            let line = from + beginning(&self.waiting[from..]);
            let note = format!("\r\n[… {} KiB are not shown …]\r\n", line >> 10);
            let mut instead = b"\x1b[0m".to_vec();
            instead.extend(modes(&self.waiting[..line]));
            instead.extend(note.into_bytes());
            self.waiting.splice(..line, instead);
        }
    }

    /// The editor has taken the piece.
    pub fn ack(&mut self, seq: u64) {
        if seq == self.seq {
            self.in_flight = false;
        }
    }

    /// When the next piece is due.
    pub fn deadline(&self) -> Option<Millis> {
        let some = self.shown && !self.in_flight && (self.reset || !self.waiting.is_empty());
        some.then_some(self.due)
    }

    /// The next piece, if one is due.
    pub fn take(&mut self, now: Millis) -> Option<Piece> {
        self.deadline().filter(|due| *due <= now)?;
        // The first one is what a person waits for; the editor slices it by itself.
        let most = if self.reset { self.waiting.len() } else { self.waiting.len().min(PIECE) };
        let bytes: Vec<u8> = self.waiting.drain(..most).collect();
        self.seq += 1;
        self.in_flight = true;
        self.due = now + FRAME;
        Some(Piece { seq: self.seq, reset: std::mem::take(&mut self.reset), bytes })
    }
}

/// The modes that what is left out would have set and reset, each as it was left, in that order: the alternate screen,
/// the mouse and the like.
fn modes(bytes: &[u8]) -> Vec<u8> {
    let mut last: Vec<(&[u8], &[u8])> = Vec::new();
    for at in memchr::memmem::find_iter(bytes, b"\x1b[?") {
        let rest = &bytes[at..];
        let Some(end) = rest.iter().take(MODE).skip(3).position(|b| !b.is_ascii_digit() && *b != b';') else {
            continue;
        };
        let (end, numbers) = (end + 3, &rest[3..end + 3]);
        if matches!(rest[end], b'h' | b'l') {
            last.retain(|(known, _)| *known != numbers);
            last.push((numbers, &rest[..=end]));
            if last.len() > MODES {
                last.remove(0);
            }
        }
    }
    last.into_iter().flat_map(|(_, sequence)| sequence.to_vec()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_piece_is_in_flight_at_a_time_and_none_before_its_frame() {
        let mut feed = Feed::default();
        feed.push(b"nobody looks");
        assert_eq!(feed.take(0), None);
        feed.show(b"tail".to_vec());
        assert_eq!(feed.take(0), Some(Piece { seq: 1, reset: true, bytes: b"tail".to_vec() }));
        feed.push(&[b'x'; PIECE + 1]);
        assert_eq!(feed.take(1000), None, "not acknowledged");
        feed.ack(1);
        let piece = feed.take(1000).unwrap();
        assert_eq!((piece.seq, piece.reset, piece.bytes.len()), (2, false, PIECE));
        feed.ack(1);
        assert_eq!(feed.take(2000), None, "an older one was acknowledged");
        feed.ack(2);
        assert_eq!(feed.take(1000 + FRAME - 1), None);
        assert_eq!(feed.take(1000 + FRAME).unwrap().bytes, b"x");
        feed.ack(3);
        assert_eq!(feed.deadline(), None);
    }

    #[test]
    fn of_a_flood_the_middle_is_left_out_at_a_line_and_that_is_said() {
        let mut feed = Feed::default();
        feed.show(Vec::new());
        for n in 0..100_000 {
            feed.push(format!("{n}\r\n").as_bytes());
        }
        assert!(feed.waiting.len() <= WAITING);
        let text = String::from_utf8(feed.waiting.clone()).unwrap();
        assert!(text.starts_with("\x1b[0m\r\n[… ") && text.ends_with("\r\n99999\r\n"), "{}", &text[..60]);
        let after = text.split("]\r\n").nth(1).and_then(|rest| rest.split("\r\n").next()).unwrap();
        assert!(after.parse::<u32>().is_ok(), "{after}");
    }

    #[test]
    fn a_mode_that_changed_in_what_is_left_out_is_as_it_was_left() {
        let mut feed = Feed::default();
        feed.show(Vec::new());
        feed.push(b"\x1b[?1049h\x1b[?25l\x1b[?25h");
        feed.push(&b"in\r\n".repeat(10_000));
        feed.push(b"\x1b[?1049l\x1b[?2004$p");
        feed.push(&b"out\r\n".repeat(40_000));
        let text = String::from_utf8(feed.waiting.clone()).unwrap();
        assert!(text.starts_with("\x1b[0m\x1b[?25h\x1b[?1049l\r\n[… "), "{:?}", &text[..60]);
        // It was left out once already.
        feed.push(&b"out\r\n".repeat(40_000));
        let text = String::from_utf8(feed.waiting.clone()).unwrap();
        assert!(text.starts_with("\x1b[0m\x1b[?25h\x1b[?1049l\r\n[… "), "{:?}", &text[..60]);
    }

    #[test]
    fn no_sequence_is_cut_where_there_is_no_line() {
        let mut feed = Feed::default();
        feed.show(Vec::new());
        (0..20_000).for_each(|n| feed.push(format!("\x1b[38;2;{};3;4mAB", n % 256).as_bytes()));
        let text = String::from_utf8(feed.waiting.clone()).unwrap();
        assert!(text.split("]\r\n").nth(1).unwrap().starts_with("\x1b[38;2;"));
    }

    #[test]
    fn what_was_hidden_begins_anew() {
        let mut feed = Feed::default();
        feed.show(b"a".to_vec());
        feed.take(0).unwrap();
        feed.hide();
        feed.push(b"b");
        assert_eq!(feed.deadline(), None);
        feed.show(b"ab".to_vec());
        assert_eq!(feed.take(100).unwrap(), Piece { seq: 2, reset: true, bytes: b"ab".to_vec() });
    }
}
