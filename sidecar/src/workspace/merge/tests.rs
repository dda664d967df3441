//! Merges as data: three texts in, one text or conflicts out.

use proptest::prelude::*;

use super::*;
use crate::workspace::lines::split;

/// The merged text, where nothing is in conflict.
fn merged(base: &[&str], ours: &[&str], theirs: &[&str]) -> Option<String> {
    let mut out = String::new();
    for piece in merge(base, ours, theirs) {
        match piece {
            Piece::Ours { ours: span } => out.extend(ours[span].iter().copied()),
            Piece::Theirs { theirs: span, .. } => out.extend(theirs[span].iter().copied()),
            Piece::Conflict { .. } => return None,
        }
    }
    Some(out)
}

#[track_caller]
fn check(base: &str, ours: &str, theirs: &str, expect: Option<&str>) {
    assert_eq!(merged(&split(base), &split(ours), &split(theirs)).as_deref(), expect);
}

#[test]
fn disjoint_changes_are_both_taken() {
    check("a\nb\nc\nd\n", "A\nb\nc\nd\n", "a\nb\nc\nD\n", Some("A\nb\nc\nD\n"));
}

#[test]
fn the_same_change_on_both_sides_lands_once() {
    check("a\nb\nc\n", "a\nX\nc\n", "a\nX\nc\n", Some("a\nX\nc\n"));
    check("a\nc\n", "a\nb\nc\n", "a\nb\nc\n", Some("a\nb\nc\n"));
}

#[test]
fn what_both_changed_differently_is_a_conflict() {
    check("a\nb\nc\n", "a\nX\nc\n", "a\nY\nc\n", None);
    // Deleted by one, changed by the other.
    check("a\nb\nc\n", "a\nc\n", "a\nB\nc\n", None);
    // Two insertions at one place.
    check("a\nb\n", "a\nX\nb\n", "a\nY\nb\n", None);
}

#[test]
fn changes_that_touch_are_a_conflict() {
    check("a\nb\nc\nd\n", "a\nB\nc\nd\n", "a\nb\nC\nd\n", None);
}

#[test]
fn empty_texts_merge() {
    check("", "", "", Some(""));
    check("", "a\n", "", Some("a\n"));
    check("a\n", "", "a\n", Some(""));
    check("a\n", "", "b\n", None);
}

/// What one side made of a base of different lines: for each line whether it is kept, and before each line (and at the
/// end) what was put in.
#[derive(Clone, Debug)]
struct Side {
    kept: Vec<bool>,
    put: Vec<Vec<String>>,
}

impl Side {
    fn text(&self, base: &[String]) -> Vec<String> {
        let mut out = Vec::new();
        for (at, put) in self.put.iter().enumerate() {
            out.extend(put.iter().cloned());
            if self.kept.get(at) == Some(&true) {
                out.push(base[at].clone());
            }
        }
        out
    }
}

fn side(lines: usize, tag: &'static str) -> impl Strategy<Value = Side> {
    let kept = prop::collection::vec(prop::bool::weighted(0.9), lines);
    let put = prop::collection::vec(prop::collection::vec(0u8..3, 0..3), lines + 1);
    let some = prop::collection::vec(prop::bool::weighted(0.15), lines + 1);
    (kept, put, some).prop_map(move |(kept, put, some)| {
        let (mut n, mut both) = (0, false);
        let mut line = |shared: u8| {
            n += 1;
            // Now and then both sides put in the same line, each at most once: all lines of a side differ, so that
            // there is one way only to align them.
            if shared == 0 && !std::mem::replace(&mut both, true) {
                return "both\n".to_owned();
            }
            format!("{tag}{n}\n")
        };
        let put = put.into_iter().zip(some).map(|(put, some)| match some {
            true => put.into_iter().map(&mut line).collect(),
            false => Vec::new(),
        });
        let put = put.collect();
        Side { kept, put }
    })
}

/// diff3 by its definition, for a base whose lines all differ, with each side known line by line: between two base
/// lines that both sides kept, whoever left the stretch alone gives way, equal stretches are one, and the rest is in
/// conflict. Knows nothing of diffs.
fn oracle(base: &[String], ours: &Side, theirs: &Side) -> Option<String> {
    let (mut out, mut from) = (String::new(), 0);
    for at in 0..=base.len() {
        let stable = at == base.len() || (ours.kept[at] && theirs.kept[at]);
        if !stable {
            continue;
        }
        let stretch = |side: &Side| -> String {
            (from..=at)
                .flat_map(|i| {
                    let own = (i < at && side.kept[i]).then(|| base[i].clone());
                    side.put[i].iter().cloned().chain(own)
                })
                .collect()
        };
        let (was, mine, other) = (base[from..at].concat(), stretch(ours), stretch(theirs));
        if mine == other || other == was {
            out += &mine;
        } else if mine == was {
            out += &other;
        } else {
            return None;
        }
        if let Some(line) = base.get(at) {
            out += line;
        }
        from = at + 1;
    }
    Some(out)
}

/// A base of different lines and both sides of it.
fn sides() -> impl Strategy<Value = (Vec<String>, Side, Side)> {
    (0usize..24).prop_flat_map(|lines| {
        let base: Vec<String> = (0..lines).map(|i| format!("line {i}\n")).collect();
        (Just(base), side(lines, "o"), side(lines, "t"))
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(10_000))]

    #[test]
    fn a_merge_is_what_diff3_is_by_definition((base, ours, theirs) in sides()) {
        let texts = [base.clone(), ours.text(&base), theirs.text(&base)];
        let lines = texts.each_ref().map(|t| t.iter().map(String::as_str).collect::<Vec<_>>());
        prop_assert_eq!(merged(&lines[0], &lines[1], &lines[2]), oracle(&base, &ours, &theirs));
    }

    #[test]
    fn a_side_without_changes_gives_the_other_side(
        base in prop::collection::vec("[a-d]\n", 0..20),
        changed in prop::collection::vec("[a-d]\n", 0..20),
    ) {
        let (base, changed) = (base.concat(), changed.concat());
        check(&base, &changed, &base, Some(&changed));
        check(&base, &base, &changed, Some(&changed));
        check(&base, &changed, &changed, Some(&changed));
    }

    #[test]
    fn pieces_cover_our_text_in_order_and_conflicts_are_real(
        base in prop::collection::vec("[a-c]\n", 0..16),
        ours in prop::collection::vec("[a-c]\n", 0..16),
        theirs in prop::collection::vec("[a-c]\n", 0..16),
    ) {
        let [base, ours, theirs] = [base, ours, theirs].map(|t| t.concat());
        let (base, ours, theirs) = (split(&base), split(&ours), split(&theirs));
        let mut at = 0;
        for piece in merge(&base, &ours, &theirs) {
            let span = match piece {
                Piece::Ours { ours } => ours,
                Piece::Theirs { base: b, ours: o, theirs: t } => {
                    prop_assert_eq!(&base[b.clone()], &ours[o.clone()]);
                    prop_assert_ne!(&base[b], &theirs[t]);
                    o
                }
                Piece::Conflict { base: b, ours: o, theirs: t } => {
                    prop_assert_ne!(&base[b.clone()], &ours[o.clone()]);
                    prop_assert_ne!(&base[b], &theirs[t.clone()]);
                    prop_assert_ne!(&ours[o.clone()], &theirs[t]);
                    o
                }
            };
            prop_assert_eq!(span.start, at);
            at = span.end;
        }
        prop_assert_eq!(at, ours.len());
    }
}
