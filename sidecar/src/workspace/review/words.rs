//! Which words of changed lines differ.
//!
//! Owns no state. Only where as many lines came as went, and not many: else every word differs and nothing is said. Part
//! of `review`.

use std::time::{Duration, Instant};

use similar::{Algorithm, DiffOp};

use crate::workspace::text::nvim_col;

/// Lines of a hunk that are looked at, and bytes of each.
const LINES: usize = 200;
const BYTES: usize = 2_000;
/// For all lines of a hunk.
const DEADLINE: Duration = Duration::from_millis(5);

/// A place in a line: its number, first byte, end byte, as Neovim counts them.
pub type Words = Vec<(usize, usize, usize)>;

/// The words that are new in `live`, whose first line has the number `first`, and those that are gone of `removed`.
pub fn differing<T: AsRef<str>>(removed: &[T], live: &[&str], first: usize) -> (Words, Words) {
    let (mut new, mut gone) = (Vec::new(), Vec::new());
    if removed.len() != live.len() || live.len() > LINES {
        return (new, gone);
    }
    let deadline = Instant::now() + DEADLINE;
    for (at, (old, line)) in removed.iter().zip(live).enumerate() {
        let (old, line) = (old.as_ref().trim_end_matches('\n'), line.trim_end_matches('\n'));
        if old.len() > BYTES || line.len() > BYTES {
            continue;
        }
        let (a, b) = (split(old), split(line));
        let ops = similar::capture_diff_slices_deadline(Algorithm::Myers, &a, &b, Some(deadline));
        let same = ops.iter().any(|op| matches!(op, DiffOp::Equal { .. }));
        if !same {
            continue;
        }
        let add =
            |out: &mut Words, number: usize, text: &str, words: &[&str], range: std::ops::Range<usize>| {
                let start: usize = words[..range.start].iter().map(|word| word.len()).sum();
                let end = start + words[range].iter().map(|word| word.len()).sum::<usize>();
                if end > start {
                    out.push((number, nvim_col(text, start), nvim_col(text, end)));
                }
            };
        for op in ops.iter().filter(|op| !matches!(op, DiffOp::Equal { .. })) {
            add(&mut gone, at, old, &a, op.old_range());
            add(&mut new, first + at, line, &b, op.new_range());
        }
    }
    (new, gone)
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
