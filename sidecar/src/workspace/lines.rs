//! Lines of two texts compared: which spans of them differ.
//!
//! Owns the line diff that edits, merges and all that aligns texts are built on. It never looks at what lines mean. The
//! one place of the room that reads a clock, because the diff has a time limit: beyond it the answer is coarser (a
//! larger span differs), never wrong.

use std::collections::HashMap;
use std::ops::Range;
use std::time::{Duration, Instant};

use ropey::Rope;
use similar::{Algorithm, DiffOp};

/// How long the line diff may look for the smallest change before it takes a larger one.
const DEADLINE: Duration = Duration::from_millis(50);
/// Above this many differing lines on both sides together, the middle counts as different as a whole.
const DIFF_LINES: usize = 200_000;

/// A span of lines, zero-based, end exclusive.
pub type Span = Range<usize>;

/// All of a rope as one string.
pub fn flat(rope: &Rope) -> String {
    rope.chunks().collect()
}

/// The lines of a text, each with its newline.
pub fn split(text: &str) -> Vec<&str> {
    text.split_inclusive('\n').collect()
}

/// The spans in which two lists of lines differ, ascending and apart from each other: between two of them, and at both
/// ends, the lines are the same on both sides. At least one side of each pair is not empty.
pub fn changes<T: AsRef<str>>(old: &[T], new: &[T]) -> Vec<(Span, Span)> {
    let same = |(a, b): &(&T, &T)| a.as_ref() == b.as_ref();
    let prefix = old.iter().zip(new).take_while(same).count();
    let (old_rest, new_rest) = (&old[prefix..], &new[prefix..]);
    let suffix = old_rest.iter().rev().zip(new_rest.iter().rev()).take_while(same).count();
    let old = &old_rest[..old_rest.len() - suffix];
    let new = &new_rest[..new_rest.len() - suffix];
    let shift = |s: Span| prefix + s.start..prefix + s.end;
    middle(old, new).into_iter().map(|(o, n)| (shift(o), shift(n))).collect()
}

fn middle<T: AsRef<str>>(old: &[T], new: &[T]) -> Vec<(Span, Span)> {
    if old.is_empty() && new.is_empty() {
        return Vec::new();
    }
    if old.is_empty() || new.is_empty() || old.len() + new.len() > DIFF_LINES {
        return vec![(0..old.len(), 0..new.len())];
    }
    let mut ids = HashMap::new();
    let (mut left, mut right) = (Vec::with_capacity(old.len()), Vec::with_capacity(new.len()));
    for (lines, numbers) in [(old, &mut left), (new, &mut right)] {
        for line in lines {
            let next = ids.len();
            numbers.push(*ids.entry(line.as_ref()).or_insert(next));
        }
    }
    let deadline = Some(Instant::now() + DEADLINE);
    let ops = similar::capture_diff_slices_deadline(Algorithm::Myers, &left, &right, deadline);
    // Only what it says is equal is taken from it: next to a deletion, an insertion may name a wrong old line.
    let equal = ops.into_iter().filter(|op| matches!(op, DiffOp::Equal { .. }));
    let end = (left.len()..left.len(), right.len()..right.len());
    let (mut out, mut o, mut n) = (Vec::new(), 0, 0);
    for (eo, en) in equal.map(|op| (op.old_range(), op.new_range())).chain([end]) {
        if eo.start < o || en.start < n || left[eo.clone()] != right[en.clone()] {
            return vec![(0..left.len(), 0..right.len())];
        }
        if o < eo.start || n < en.start {
            out.push((o..eo.start, n..en.start));
        }
        (o, n) = (eo.end, en.end);
    }
    out
}

/// For each line of `old` the line of `new` that it is, where it is one.
pub fn kept(changes: &[(Span, Span)], old_lines: usize) -> Vec<Option<usize>> {
    let mut out = vec![None; old_lines];
    let (mut o, mut n) = (0, 0);
    for (was, is) in changes.iter().cloned().chain([(old_lines..old_lines, 0..0)]) {
        for (at, slot) in out[o..was.start].iter_mut().enumerate() {
            *slot = Some(n + at);
        }
        (o, n) = (was.end, is.end);
    }
    out
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn what_lies_between_changes_is_the_same_on_both_sides(
            old in prop::collection::vec("[abc]", 0..12),
            new in prop::collection::vec("[abc]", 0..12),
        ) {
            let found = changes(&old, &new);
            let (mut o, mut n) = (0, 0);
            for (was, is) in found.iter().cloned().chain([(old.len()..old.len(), new.len()..new.len())]) {
                prop_assert_eq!(&old[o..was.start], &new[n..is.start]);
                (o, n) = (was.end, is.end);
            }
            for (at, to) in kept(&found, old.len()).into_iter().enumerate() {
                if let Some(to) = to {
                    prop_assert_eq!(&old[at], &new[to]);
                }
            }
        }
    }
}
