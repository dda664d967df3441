//! Bytes of an agent's standard output to lines.
//!
//! Owns the partial line. It never looks at what a line says. A line may come in any number of pieces, split anywhere,
//! also within a character. Lines end in LF; a CR before it and a byte order mark before the first one are dropped.

/// A message of more bytes than this ends the connection in an orderly way, because it cannot be held.
pub const CAP: usize = 256 << 20;
/// Room that is kept between messages.
const ROOM: usize = 1 << 20;

/// Collects bytes and gives lines back.
#[derive(Debug)]
pub struct Lines {
    /// Bytes that belong to no complete line yet.
    pending: Vec<u8>,
    /// Where in `pending` the search for a line end goes on.
    searched: usize,
    /// Bytes that a line may have.
    cap: usize,
    /// A line was longer; everything from it on is dropped.
    over: bool,
}

impl Default for Lines {
    fn default() -> Self {
        Self { pending: Vec::new(), searched: 0, cap: CAP, over: false }
    }
}

impl Lines {
    /// Takes bytes; the complete lines in them, without their ends.
    pub fn push(&mut self, bytes: &[u8]) -> Vec<Vec<u8>> {
        let mut lines = Vec::new();
        if self.over {
            return lines;
        }
        self.pending.extend_from_slice(bytes);
        let mut start = 0;
        while let Some(at) = memchr(&self.pending[self.searched..]) {
            let end = self.searched + at;
            lines.push(trimmed(&self.pending[start..end]).to_vec());
            start = end + 1;
            self.searched = start;
        }
        self.pending.drain(..start);
        self.searched = self.pending.len();
        if self.pending.len() > self.cap {
            self.over = true;
            self.pending = Vec::new();
        } else if self.pending.is_empty() {
            self.pending.shrink_to(ROOM);
        }
        lines
    }

    /// Whether a line was longer than [`CAP`]. No line comes any more.
    pub fn is_over(&self) -> bool {
        self.over
    }

    /// What is left at the end of the stream, if anything: a last line without its end.
    pub fn finish(&mut self) -> Option<Vec<u8>> {
        self.searched = 0;
        let rest = std::mem::take(&mut self.pending);
        let line = trimmed(&rest);
        (!line.is_empty()).then(|| line.to_vec())
    }
}

fn memchr(bytes: &[u8]) -> Option<usize> {
    bytes.iter().position(|b| *b == b'\n')
}

fn trimmed(line: &[u8]) -> &[u8] {
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    line.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(line)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(pieces: &[&[u8]]) -> Vec<String> {
        let mut lines = Lines::default();
        let mut out = Vec::new();
        for piece in pieces {
            out.extend(lines.push(piece));
        }
        out.extend(lines.finish());
        out.into_iter().map(|l| String::from_utf8(l).unwrap()).collect()
    }

    #[test]
    fn lines_come_whole_however_they_were_cut() {
        let text = "{\"a\":\"é中🙂\"}\r\n{}\nlast";
        let bytes = text.as_bytes();
        let one_by_one: Vec<&[u8]> = bytes.chunks(1).collect();
        for pieces in [vec![bytes], one_by_one, bytes.chunks(3).collect()] {
            assert_eq!(all(&pieces), ["{\"a\":\"é中🙂\"}", "{}", "last"]);
        }
    }

    #[test]
    fn a_byte_order_mark_is_dropped() {
        assert_eq!(all(&[b"\xEF\xBB\xBF{}\n"]), ["{}"]);
    }

    #[test]
    fn a_large_line_costs_time_in_proportion_to_its_size() {
        let mut lines = Lines::default();
        let piece = vec![b'x'; 64 * 1024];
        for _ in 0..320 {
            assert!(lines.push(&piece).is_empty());
        }
        assert_eq!(lines.push(b"\n")[0].len(), 320 * 64 * 1024);
        assert!(lines.pending.capacity() <= ROOM);
    }

    #[test]
    fn a_line_over_the_cap_ends_the_stream_of_lines_but_not_those_before_it() {
        let mut lines = Lines { cap: 8, ..Lines::default() };
        assert_eq!(lines.push(b"one\n12345678"), [b"one"]);
        assert!(!lines.is_over());
        assert_eq!(lines.push(b"\ntwo\n123456789"), [&b"12345678"[..], b"two"]);
        assert!(lines.is_over());
        assert!(lines.push(b"\nthree\n").is_empty() && lines.finish().is_none());
    }
}
