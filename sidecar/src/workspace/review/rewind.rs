//! The way back over changes, around what a person wrote since.
//!
//! Owns no state. Unlike a merge of two writers it takes lines that only touch for different ones: what was changed is
//! known exactly, and so is what came beside it. Part of `review`.

use ropey::Rope;

use crate::workspace::lines::{changes, flat, split};
use crate::workspace::text::Snapshot;

/// One change on the way back: from what it made of the file to what that was before.
#[derive(Clone, Debug)]
pub struct Step {
    /// After the change.
    pub from: Snapshot,
    /// Before it.
    pub to: Snapshot,
}

/// What the live text becomes, and whether lines of a person's stay where the change has to do with the same ones.
pub fn rewound(steps: &[Step], live: &Snapshot) -> (Snapshot, bool) {
    let mut stay = false;
    let text = steps.iter().fold(live.clone(), |text, step| {
        let (next, kept) = back(step, &text);
        stay |= kept;
        next
    });
    (text, stay)
}

fn back(step: &Step, live: &Snapshot) -> (Snapshot, bool) {
    let (from, to, text) = (flat(&step.from.rope), flat(&step.to.rope), flat(&live.rope));
    let (from, to, text) = (split(&from), split(&to), split(&text));
    let since = changes(&from, &text);
    let (mut out, mut at, mut stay) = (String::new(), 0, false);
    for (was, is) in changes(&from, &to) {
        // Taken back already: by undo in the editor, by a verdict, or by hand. Once is enough.
        if since.iter().any(|(s, n)| *s == was && text[n.clone()] == to[is.clone()]) {
            continue;
        }
        let overlaps = since.iter().any(|(s, _)| s.start < was.end && was.start < s.end);
        if overlaps {
            stay = true;
            continue;
        }
        // Where its lines are now: behind all that was changed before them.
        let moved = since.iter().filter(|(s, _)| s.end <= was.start);
        let (more, less) = moved.fold((0, 0), |(more, less), (s, n)| (more + n.len(), less + s.len()));
        let start = was.start + more - less;
        out.extend(text[at..start].iter().copied());
        out.extend(to[is].iter().copied());
        at = start + was.len();
    }
    out.extend(text[at..].iter().copied());
    let eol = if live.eol == step.from.eol || live.is_empty() { step.to.eol } else { live.eol };
    (Snapshot { rope: Rope::from_str(&out), eol }, stay)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn text(lines: &str) -> Snapshot {
        Snapshot::from_wire(&lines.split_whitespace().map(|line| format!("{line}\n")).collect::<String>())
    }

    #[track_caller]
    fn check(before: &str, after: &str, live: &str, want: &str, stay: bool) {
        let step = Step { from: text(after), to: text(before) };
        assert_eq!(rewound(&[step], &text(live)), (text(want), stay));
    }

    #[test]
    fn lines_beside_a_change_stay_and_the_change_goes() {
        check("a b c", "a B c", "a B c", "a b c", false);
        check("a b c", "a B c", "x a B y c", "x a b y c", false);
        check("a b c", "a B c", "a mine B c", "a mine b c", false);
        check("a b", "a b C", "a b C mine", "a b mine", false);
        check("a b c", "a c", "a mine c", "a mine b c", false);
    }

    #[test]
    fn a_line_that_both_changed_stays_the_persons_and_the_rest_goes() {
        check("a b c d", "a B c D", "a mine c D", "a mine c d", true);
        check("a b c", "a X Y c", "a X mine Y c", "a X mine Y c", true);
        check("a b c", "a c", "c", "b c", false);
    }

    #[test]
    fn what_a_person_took_back_already_is_not_taken_back_twice() {
        check("a b c", "a c", "a b c", "a b c", false);
        check("a b c", "a B c", "a b c", "a b c", false);
        check("a c", "a B c", "a c", "a c", false);
        check("a b c d", "a c D", "a b c D mine", "a b c d mine", false);
    }

    proptest! {
        #[test]
        fn a_change_that_was_taken_back_already_stays_taken_back(
            before in prop::collection::vec("[abc]", 0..8), after in prop::collection::vec("[abc]", 0..8)
        ) {
            let (before, after) = (text(&before.join(" ")), text(&after.join(" ")));
            let step = Step { from: after, to: before.clone() };
            prop_assert_eq!(rewound(&[step], &before), (before, false));
        }

        #[test]
        fn without_a_person_the_way_back_is_exact(
            texts in prop::collection::vec(prop::collection::vec("[abc]", 0..8), 2..6)
        ) {
            let texts: Vec<Snapshot> = texts.iter().map(|lines| text(&lines.join(" "))).collect();
            let steps: Vec<Step> = texts
                .windows(2)
                .rev()
                .map(|pair| Step { from: pair[1].clone(), to: pair[0].clone() })
                .collect();
            prop_assert_eq!(rewound(&steps, texts.last().unwrap()), (texts[0].clone(), false));
        }
    }
}
