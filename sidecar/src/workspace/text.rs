//! Lines of Neovim to rope text and back, without loss.
//!
//! Owns the escape and the [`Snapshot`]. It never talks to an edge. Called by the mirror, by reads, writes and edits.
//!
//! A Neovim line may hold what a rope line cannot. The API shows NUL as `"\n"` inside a line: here it is U+0000, as on
//! the wire. A byte that is no part of valid UTF-8 becomes one private-use character, U+10FE00 plus the byte. Where the
//! text itself holds a character of that range, its four bytes are escaped the same way, so that every escape means
//! exactly one byte and nothing is ambiguous. A rope line ends in LF, each of them, the last too; a buffer without any
//! line is the empty rope. Whether the last line's newline is there on disk stands beside, in [`Snapshot::eol`].

use ropey::{Rope, RopeSlice};

/// First character of the escape range; the escaped byte is added to it.
const ESCAPE: u32 = 0x10_FE00;

/// Whether this character stands for one raw byte.
fn escaped_byte(c: char) -> Option<u8> {
    u8::try_from((c as u32).checked_sub(ESCAPE)?).ok()
}

/// Every escape begins with these bytes, and hardly anything else does.
fn may_hold_escapes(bytes: &[u8]) -> bool {
    bytes.windows(2).any(|w| w == [0xF4, 0x8F])
}

fn push_escaped(out: &mut String, bytes: &[u8]) {
    for b in bytes {
        // 0x10FE00 + 255 is below the last character, so the conversion cannot fail.
        out.push(char::from_u32(ESCAPE + u32::from(*b)).unwrap_or(char::REPLACEMENT_CHARACTER));
    }
}

fn push_valid(out: &mut String, text: &str, newline: char) {
    let plain = newline == '\n' || !text.contains(['\n', '\0']);
    if plain && !may_hold_escapes(text.as_bytes()) {
        out.push_str(text);
        return;
    }
    for c in text.chars() {
        match c {
            '\n' => out.push(newline),
            // The API never sends a real NUL; should one come, it must not turn into the NUL that "\n" means.
            '\0' if newline == '\0' => push_escaped(out, &[0]),
            c if escaped_byte(c).is_some() => {
                push_escaped(out, c.encode_utf8(&mut [0; 4]).as_bytes());
            }
            c => out.push(c),
        }
    }
}

/// Appends a line as Neovim's API gives it, and its newline, to rope text.
pub fn push_line(out: &mut String, line: &[u8]) {
    for chunk in line.utf8_chunks() {
        push_valid(out, chunk.valid(), '\0');
        push_escaped(out, chunk.invalid());
    }
    out.push('\n');
}

/// Rope text of a list of lines.
pub fn from_lines(lines: &[Vec<u8>]) -> String {
    let mut out = String::with_capacity(lines.iter().map(|l| l.len() + 1).sum());
    for line in lines {
        push_line(&mut out, line);
    }
    out
}

/// Rope text as bytes: escapes are the bytes they stand for, the rest stays. Of a rope's chunk or of any piece of it.
pub fn push_raw(out: &mut Vec<u8>, text: &str) {
    if !may_hold_escapes(text.as_bytes()) {
        return out.extend_from_slice(text.as_bytes());
    }
    for c in text.chars() {
        match escaped_byte(c) {
            Some(b) => out.push(b),
            None => out.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes()),
        }
    }
}

/// A rope line, without its newline, as Neovim's API takes it.
pub fn line_bytes(line: &str) -> Vec<u8> {
    let mut out = Vec::with_capacity(line.len());
    for c in line.chars() {
        match (c, escaped_byte(c)) {
            ('\0', _) => out.push(b'\n'),
            (_, Some(b)) => out.push(b),
            _ => out.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes()),
        }
    }
    out
}

/// Byte column in Neovim's line of a byte column in the rope's line. Inside a character: that character's start.
pub fn nvim_col(line: &str, rope_col: usize) -> usize {
    let mut col = 0;
    for (at, c) in line.char_indices() {
        if at + c.len_utf8() > rope_col {
            break;
        }
        col += if escaped_byte(c).is_some() { 1 } else { c.len_utf8() };
    }
    col
}

/// Byte column in the rope's line of a byte column in Neovim's line. Inside a character: that character's start.
pub fn rope_col(line: &str, nvim_col: usize) -> usize {
    let mut col = 0;
    for (at, c) in line.char_indices() {
        let next = col + if escaped_byte(c).is_some() { 1 } else { c.len_utf8() };
        if next > nvim_col {
            return at;
        }
        col = next;
    }
    line.len()
}

/// Whether this character of a rope stands for one byte that is not UTF-8.
pub fn is_escape(c: char) -> bool {
    escaped_byte(c).is_some()
}

/// Whether a rope line holds escapes.
pub fn has_escapes(line: &str) -> bool {
    may_hold_escapes(line.as_bytes()) && line.chars().any(|c| escaped_byte(c).is_some())
}

/// Text for the wire.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wire {
    /// LF, NUL as U+0000, invalid bytes as U+FFFD.
    pub text: String,
    /// Some bytes were not UTF-8: the text may be shown but must never be written back.
    pub lossy: bool,
}

/// Wire text of a piece of a rope.
pub fn to_wire(slice: RopeSlice<'_>) -> Wire {
    if !slice.chunks().any(|c| may_hold_escapes(c.as_bytes())) {
        return Wire { text: slice.chunks().collect(), lossy: false };
    }
    let mut bytes = Vec::with_capacity(slice.len_bytes());
    for c in slice.chars() {
        match escaped_byte(c) {
            Some(b) => bytes.push(b),
            None => bytes.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes()),
        }
    }
    match String::from_utf8(bytes) {
        Ok(text) => Wire { text, lossy: false },
        Err(e) => Wire { text: String::from_utf8_lossy(e.as_bytes()).into_owned(), lossy: true },
    }
}

/// A text at one moment. Cloning is O(1).
#[derive(Clone, Debug)]
pub struct Snapshot {
    /// Escaped lines, each ending in LF; empty when there is no line at all.
    pub rope: Rope,
    /// Whether the last line's newline is part of the text. Means nothing while the rope is empty.
    pub eol: bool,
}

impl Snapshot {
    /// Takes text as it comes from the wire or from disk (LF).
    pub fn from_wire(text: &str) -> Self {
        let mut escaped = String::with_capacity(text.len() + 1);
        push_valid(&mut escaped, text, '\n');
        let eol = escaped.is_empty() || escaped.ends_with('\n');
        if !eol {
            escaped.push('\n');
        }
        Self { rope: Rope::from_str(&escaped), eol }
    }

    /// Lines as the API gives them, and whether the last one ends in a newline.
    pub fn from_lines(lines: &[Vec<u8>], eol: bool) -> Self {
        Self { rope: Rope::from_str(&from_lines(lines)), eol }
    }

    /// Takes text as the disk edge gives it: LF, UTF-8 as far as it is, NUL as NUL.
    pub fn from_bytes(text: &[u8]) -> Self {
        let mut escaped = String::with_capacity(text.len() + 1);
        for chunk in text.utf8_chunks() {
            push_valid(&mut escaped, chunk.valid(), '\n');
            push_escaped(&mut escaped, chunk.invalid());
        }
        let eol = escaped.is_empty() || escaped.ends_with('\n');
        if !eol {
            escaped.push('\n');
        }
        Self { rope: Rope::from_str(&escaped), eol }
    }

    /// The text in the form that [`Self::from_bytes`] takes.
    pub fn bytes(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(self.rope.len_bytes());
        for chunk in self.rope.chunks() {
            push_raw(&mut out, chunk);
        }
        if !self.eol && !self.is_empty() {
            out.pop();
        }
        out
    }

    /// Number of lines; 0 when there is none at all.
    pub fn lines(&self) -> usize {
        line_count(&self.rope)
    }

    /// No line at all: zero bytes on disk, while one empty line is `"\n"`.
    pub fn is_empty(&self) -> bool {
        self.rope.len_chars() == 0
    }

    /// All of it, as the wire carries it and as it would be saved with LF.
    pub fn wire(&self) -> Wire {
        self.wire_lines(0, self.lines())
    }

    /// Lines `[first, last)`, clipped to what there is; each with its newline, where the text has it.
    pub fn wire_lines(&self, first: usize, last: usize) -> Wire {
        let total = self.lines();
        let (first, last) = (first.min(total), last.min(total));
        if first >= last {
            return Wire { text: String::new(), lossy: false };
        }
        let start = self.rope.line_to_char(first);
        let mut end = self.rope.line_to_char(last);
        if last == total && !self.eol {
            end -= 1;
        }
        to_wire(self.rope.slice(start..end))
    }
}

impl PartialEq for Snapshot {
    fn eq(&self, other: &Self) -> bool {
        self.rope == other.rope && (self.eol == other.eol || self.is_empty())
    }
}

/// Lines of a rope in which each line ends in LF.
pub fn line_count(rope: &Rope) -> usize {
    rope.len_lines() - 1
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Bytes that make trouble: NUL's stand-in, the escape range itself, halves of characters, other line breaks.
    pub(crate) fn line() -> impl Strategy<Value = Vec<u8>> {
        let piece = prop_oneof![
            prop::sample::select(vec![
                &b"\n"[..],
                b"\0",
                b"\r",
                b"\xf4\x8f\xb8\x80",
                b"\xf4\x8f\xbb\xbf",
                b"\xf4\x8f",
                b"\xb8",
                b"\xff\xfe",
                "\u{2028}".as_bytes(),
                "\u{85}".as_bytes(),
                b"\x0c",
                "ü".as_bytes(),
                "a\u{308}".as_bytes(),
            ])
            .prop_map(<[u8]>::to_vec),
            prop::collection::vec(any::<u8>(), 0..6),
            "[ -~]{0,8}".prop_map(String::into_bytes),
        ];
        prop::collection::vec(piece, 0..6).prop_map(|p| p.concat())
    }

    proptest! {
        #[test]
        fn any_list_of_byte_lines_comes_back_the_same(lines in prop::collection::vec(line(), 0..12)) {
            let rope = Rope::from_str(&from_lines(&lines));
            prop_assert_eq!(line_count(&rope), lines.len());
            for (i, line) in lines.iter().enumerate() {
                let got = rope.line(i).to_string();
                prop_assert_eq!(&line_bytes(got.strip_suffix('\n').unwrap()), line);
            }
        }

        #[test]
        fn columns_map_both_ways(line in line()) {
            let mut text = String::new();
            push_line(&mut text, &line);
            let text = text.strip_suffix('\n').unwrap();
            for (at, _) in text.char_indices() {
                let col = nvim_col(text, at);
                prop_assert_eq!(line_bytes(&text[..at]).len(), col);
                prop_assert_eq!(rope_col(text, col), at);
            }
            prop_assert_eq!(nvim_col(text, text.len()), line.len());
            prop_assert_eq!(rope_col(text, line.len()), text.len());
        }

        #[test]
        fn wire_text_comes_back_the_same(text in "(\\PC|\n|\r|\0|\u{10FE41}|\u{10FEFF}){0,30}") {
            let wire = Snapshot::from_wire(&text).wire();
            prop_assert_eq!(wire, Wire { text, lossy: false });
        }
    }

    #[test]
    fn nul_is_nul_on_the_wire_and_odd_bytes_make_it_lossy() {
        let snap = Snapshot { rope: Rope::from_str(&from_lines(&[b"a\nb".to_vec()])), eol: true };
        assert_eq!(snap.wire(), Wire { text: "a\0b\n".into(), lossy: false });
        let snap = Snapshot { rope: Rope::from_str(&from_lines(&[b"\xff!".to_vec()])), eol: false };
        assert_eq!(snap.wire(), Wire { text: "\u{FFFD}!".into(), lossy: true });
    }

    #[test]
    fn no_line_and_one_empty_line_are_different_texts() {
        let (none, one) = (Snapshot::from_wire(""), Snapshot::from_wire("\n"));
        assert_eq!((none.lines(), one.lines()), (0, 1));
        assert_ne!(none, one);
        assert_eq!(one.wire().text, "\n");
        assert_ne!(Snapshot::from_wire("x"), Snapshot::from_wire("x\n"));
    }

    #[test]
    fn only_lf_breaks_lines() {
        assert_eq!(Snapshot::from_wire("a\u{2028}b\u{b}c\rd\u{85}e\u{c}f\n").lines(), 1);
    }
}
