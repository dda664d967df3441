//! Which words of changed lines differ.
//!
//! Owns no state. Only where as many lines came as went, and not many: else every word differs and nothing is said. Part
//! of `review`.

use crate::workspace::lines::{Span, changes};
use crate::workspace::text::nvim_col;

/// Lines of a hunk that are looked at, and words of two lines, multiplied: so long a comparison may take.
const LINES: usize = 200;
const WORDS: usize = 40_000;

/// A place in a line: its number, first byte, end byte, as Neovim counts them.
pub type Words = Vec<(usize, usize, usize)>;

/// The words that are new in `live`, whose first line has the number `first`, and those that are gone of `removed`.
pub fn differing<T: AsRef<str>>(removed: &[T], live: &[&str], first: usize) -> (Words, Words) {
    let (mut new, mut gone) = (Vec::new(), Vec::new());
    if removed.len() != live.len() || live.len() > LINES {
        return (new, gone);
    }
    for (at, (old, line)) in removed.iter().zip(live).enumerate() {
        let (old, line) = (old.as_ref().trim_end_matches('\n'), line.trim_end_matches('\n'));
        let (a, b) = (split(old), split(line));
        if a.len() * b.len() > WORDS {
            continue;
        }
        let spans = changes(&a, &b);
        // Nothing in common: the lines differ as a whole.
        if spans == [(0..a.len(), 0..b.len())] {
            continue;
        }
        for (was, is) in spans {
            gone.extend(place(at, old, &a, was));
            new.extend(place(first + at, line, &b, is));
        }
    }
    (new, gone)
}

/// Where a span of the words of a line stands.
fn place(number: usize, line: &str, words: &[&str], span: Span) -> Option<(usize, usize, usize)> {
    let bytes = |words: &[&str]| words.iter().map(|word| word.len()).sum::<usize>();
    let start = bytes(&words[..span.start]);
    let end = start + bytes(&words[span]);
    (end > start).then(|| (number, nvim_col(line, start), nvim_col(line, end)))
}

/// Words, and each other character by itself.
fn split(line: &str) -> Vec<&str> {
    let mut out = Vec::new();
    let mut rest = line;
    while let Some(c) = rest.chars().next() {
        let word = |c: char| c.is_alphanumeric() || c == '_';
        let end = if word(c) { rest.find(|c| !word(c)).unwrap_or(rest.len()) } else { c.len_utf8() };
        out.push(&rest[..end]);
        rest = &rest[end..];
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_words_that_differ_are_named_by_their_bytes() {
        let (new, gone) = differing(&["let ä = old(1);\n"], &["let ä = new_one(1, 2);\n"], 7);
        assert_eq!(new, [(7, 9, 16), (7, 18, 21)]);
        assert_eq!(gone, [(0, 9, 12)]);
    }

    #[test]
    fn lines_with_nothing_in_common_differ_as_a_whole_and_nothing_is_said() {
        assert_eq!(differing(&["abc\n"], &["xyz\n"], 0), (vec![], vec![]));
        assert_eq!(differing(&["abc\n"], &["abc\n", "abd\n"], 0), (vec![], vec![]));
    }
}
