//! Lines by their authors: what is left of whose after verdicts, against an oracle that knows the author of each line.

use std::collections::BTreeSet;

use proptest::prelude::*;

use super::*;
use crate::workspace::lines::changes;

/// A text under review, and its lines.
struct Text {
    weave: Weave,
    live: Vec<String>,
}

impl Text {
    fn new(lines: &[&str]) -> Self {
        Self { weave: Weave::new(lines.len()), live: lines.iter().map(|l| (*l).to_owned()).collect() }
    }

    fn agent(&mut self, origin: Origin, new: Vec<String>) {
        self.weave.agent(origin, &changes(&self.live, &new), &self.live);
        self.live = new;
    }

    fn person(&mut self, new: Vec<String>) {
        self.weave.person(&changes(&self.live, &new), &new);
        self.live = new;
    }

    fn keep(&mut self, lines: Option<Span>, of: &dyn Fn(Origin) -> bool) {
        self.weave.mark(1, lines.as_ref(), of);
        self.weave.keep(1, of);
    }

    fn reject(&mut self, lines: Option<Span>, of: &dyn Fn(Origin) -> bool) {
        self.weave.mark(1, lines.as_ref(), of);
        self.live = self.whole(|weave, live| weave.reject(1, of, live));
    }

    /// What is there, without a line break; taken out lines in brackets.
    fn shown(&self) -> String {
        let mut out = self.live.clone();
        for hunk in self.weave.hunks().iter().rev() {
            let removed: Vec<String> = hunk.removed.iter().map(|l| format!("({l})")).collect();
            for line in &mut out[hunk.live.clone()] {
                *line = format!("+{line}");
            }
            out.splice(hunk.live.start..hunk.live.start, removed);
        }
        out.join(" ")
    }

    /// Base and hunks together are the text.
    fn check_sum(&self) {
        let mut lines = Vec::new();
        let (mut at, hunks) = (0, self.weave.hunks());
        let base = self.base();
        for hunk in &hunks {
            let before = hunk.live.start - lines.len();
            lines.extend_from_slice(&base[at..at + before]);
            at += before;
            let removed: Vec<&str> = hunk.removed.iter().map(|l| &**l).collect();
            // Base lines may stand within a run only as taken out ones.
            assert_eq!(base[at..at + removed.len()], removed);
            at += removed.len();
            lines.extend_from_slice(&self.live[hunk.live.clone()]);
        }
        lines.extend_from_slice(&base[at..]);
        assert_eq!(lines, self.live);
    }

    /// With lines that have their newlines, as texts of files do.
    fn whole(&mut self, with: impl FnOnce(&mut Weave, &[String]) -> String) -> Vec<String> {
        let broken: Vec<String> = self.live.iter().map(|l| format!("{l}\n")).collect();
        let end = |weave: &mut Weave, cut: bool| {
            for (_, text) in weave.items.iter_mut().filter_map(|item| item.died.as_mut()) {
                *text = if cut { text.trim_end_matches('\n').into() } else { format!("{text}\n").into() };
            }
        };
        end(&mut self.weave, false);
        let text = with(&mut self.weave, &broken);
        end(&mut self.weave, true);
        text.split_terminator('\n').map(str::to_owned).collect()
    }

    fn base(&self) -> Vec<String> {
        let mut copy = Text { weave: self.weave.clone(), live: self.live.clone() };
        copy.whole(|weave, live| weave.base(live))
    }
}

fn words(text: &str) -> Vec<String> {
    text.split_whitespace().map(str::to_owned).collect()
}

/// A base `a b c d`, in which agent's change 1 makes another text.
fn changed(new: &str) -> Text {
    let mut text = Text::new(&["a", "b", "c", "d"]);
    text.agent(1, words(new));
    text
}

#[test]
fn what_an_agent_changes_is_a_hunk_until_it_is_kept_or_rejected() {
    let mut text = changed("a B c d e");
    assert_eq!(text.shown(), "a (b) +B c d +e");
    text.keep(Some(1..2), &|_| true);
    assert_eq!(text.shown(), "a B c d +e");
    text.reject(Some(4..5), &|_| true);
    assert_eq!(text.shown(), "a B c d");
    assert!(text.weave.is_settled());
}

#[test]
fn what_a_person_adds_among_an_agents_lines_stays_when_these_go() {
    let mut text = changed("a X Y d");
    text.person(words("a X mine Y d end"));
    assert_eq!(text.shown(), "a (b) (c) +X mine +Y d end");
    text.reject(None, &|_| true);
    assert_eq!(text.shown(), "a b c mine d end");
}

#[test]
fn what_a_person_takes_out_stays_out() {
    let mut text = changed("a X Y d");
    text.person(words("X d"));
    assert_eq!(text.shown(), "(b) (c) +X d");
    text.reject(None, &|_| true);
    assert_eq!(text.shown(), "b c d");
}

#[test]
fn a_line_of_the_agents_that_a_person_rewrites_is_the_persons() {
    let mut text = changed("a X c d");
    text.person(words("a mine c d"));
    assert_eq!(text.shown(), "a (b) mine c d");
    let mut kept = Text { weave: text.weave.clone(), live: text.live.clone() };
    kept.keep(None, &|_| true);
    assert_eq!(kept.shown(), "a mine c d");
    text.reject(None, &|_| true);
    assert_eq!(text.shown(), "a b mine c d", "nothing of either is lost");
}

#[test]
fn taking_an_agents_change_back_by_hand_leaves_no_hunk() {
    for new in ["a B c d", "a d", "x a b c d y", "x"] {
        let mut text = changed(new);
        text.person(words("a b c d"));
        assert_eq!(text.shown(), "a b c d", "{new}");
    }
}

// B40
#[test]
fn rejecting_a_later_turn_leaves_the_earlier_one() {
    let mut text = changed("a X c d");
    text.agent(2, words("a X2 c D"));
    text.person(words("a X2 mine c D"));
    assert_eq!(text.shown(), "a (b) +X2 mine c (d) +D");
    text.reject(None, &|origin| origin == 2);
    assert_eq!(text.shown(), "a (b) +X mine c d");
    text.keep(None, &|origin| origin == 1);
    assert_eq!(text.shown(), "a X mine c d");
}

#[test]
fn keeping_an_earlier_turn_makes_it_the_base_of_the_later_one() {
    let mut text = changed("a X c d");
    text.agent(2, words("a X2 c d"));
    text.keep(None, &|origin| origin == 1);
    assert_eq!(text.shown(), "a (X) +X2 c d");
    text.reject(None, &|_| true);
    assert_eq!(text.shown(), "a X c d");
}

#[test]
fn a_line_that_came_and_went_within_a_turn_was_never_there() {
    let mut text = changed("a X c d");
    text.agent(1, words("a c d"));
    assert_eq!(text.shown(), "a (b) c d");
    text.agent(1, words("a Y c d"));
    assert_eq!(text.shown(), "a (b) +Y c d");
}

#[test]
fn a_hunk_that_only_takes_lines_out_is_found_from_both_sides() {
    for line in [0..1, 1..2] {
        let mut text = changed("a d");
        text.reject(Some(line), &|_| true);
        assert_eq!(text.shown(), "a b c d");
    }
}

#[test]
fn what_a_commit_holds_is_kept_and_nothing_else() {
    let mut text = changed("a B c D e");
    let commit = words("a B c d");
    let differs: Vec<Span> = changes(&text.live, &commit).into_iter().map(|(live, _)| live).collect();
    assert!(text.weave.keep_contained(&differs));
    assert_eq!(text.shown(), "a B c (d) +D +e");
    assert!(!text.weave.keep_contained(&differs));
}

#[derive(Clone, Debug)]
enum Op {
    /// Replace lines from a place on by new ones.
    Agent {
        turn: Origin,
        at: usize,
        out: usize,
        add: usize,
    },
    Person {
        at: usize,
        out: usize,
        add: usize,
    },
    /// By lines, or all, of a turn or of all.
    Keep {
        at: Option<usize>,
        turn: Option<Origin>,
    },
    Reject {
        at: Option<usize>,
        turn: Option<Origin>,
    },
}

fn ops() -> impl Strategy<Value = Vec<Op>> {
    let (at, out, add) = (0usize..12, 0usize..4, 0usize..4);
    let verdict = (prop::option::of(0usize..12), prop::option::of(1u32..4));
    let op = prop_oneof![
        3 => (1u32..4, at.clone(), out.clone(), add.clone())
            .prop_map(|(turn, at, out, add)| Op::Agent { turn, at, out, add }),
        3 => (at, out, add).prop_map(|(at, out, add)| Op::Person { at, out, add }),
        1 => verdict.clone().prop_map(|(at, turn)| Op::Keep { at, turn }),
        1 => verdict.prop_map(|(at, turn)| Op::Reject { at, turn }),
    ];
    prop::collection::vec(op, 1..25)
}

/// The text with lines from `at` on replaced.
fn spliced(live: &[String], at: usize, out: usize, new: Vec<String>) -> Vec<String> {
    let at = at.min(live.len());
    let mut lines = live.to_vec();
    lines.splice(at..(at + out).min(live.len()), new);
    lines
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(std::env::var("PROPTEST_CASES").ok().and_then(|n| n.parse().ok()).unwrap_or(5_000)))]

    #[test]
    fn verdicts_leave_every_line_to_its_author(ops in ops()) {
        let start: Vec<String> = (0..6).map(|n| format!("base{n}")).collect();
        let mut text = Text { weave: Weave::new(start.len()), live: start.clone() };
        // Lines that are there once all agents' changes are rejected.
        let mut owned: BTreeSet<String> = start.into_iter().collect();
        let mut count = 0;
        let mut mint = |who: &str, n: usize| -> Vec<String> {
            count += n;
            (count - n..count).map(|n| format!("{who}{n}")).collect()
        };
        // Turns come one after the other.
        let mut turn_now = 1;
        for op in ops {
            match op {
                Op::Agent { turn, at, out, add } => {
                    turn_now = turn_now.max(turn);
                    let new = spliced(&text.live, at, out, mint("agent", add));
                    text.agent(turn_now, new);
                }
                Op::Person { at, out, add } => {
                    let new = spliced(&text.live, at, out, mint("person", add));
                    text.live.iter().filter(|line| !new.contains(line)).for_each(|line| {
                        owned.remove(line);
                    });
                    owned.extend(new.iter().filter(|line| !text.live.contains(line)).cloned());
                    text.person(new);
                }
                Op::Keep { at, turn } => {
                    let lines = at.map(|at| at..at + 1);
                    let of = |origin: Origin| turn.is_none_or(|turn| turn == origin);
                    text.keep(lines.clone(), &of);
                    // What is base now is what the weave says it is, and nothing of it changes on the screen.
                    owned = text.base().into_iter().collect();
                    if at.is_none() && turn.is_none() {
                        prop_assert!(text.weave.hunks().is_empty());
                        prop_assert_eq!(text.base(), text.live.clone());
                    }
                }
                Op::Reject { at, turn } => {
                    let of = |origin: Origin| turn.is_none_or(|turn| turn == origin);
                    text.reject(at.map(|at| at..at + 1), &of);
                }
            }
            text.check_sum();
            let base: BTreeSet<String> = text.base().into_iter().collect();
            prop_assert_eq!(&base, &owned);
            let mut all = Text { weave: text.weave.clone(), live: text.live.clone() };
            all.reject(None, &|_| true);
            prop_assert_eq!(&all.live, &text.base());
            prop_assert!(all.weave.is_settled() && all.weave.hunks().is_empty());
            let mut all = Text { weave: text.weave.clone(), live: text.live.clone() };
            all.keep(None, &|_| true);
            prop_assert!(all.weave.is_settled() && all.live == text.live);
        }
    }

    #[test]
    fn lines_that_are_alike_confuse_nothing(
        texts in prop::collection::vec((prop::collection::vec("[ab]", 0..6), prop::option::of(1u32..3)), 1..12)
    ) {
        let mut text = Text::new(&["a", "b", "a"]);
        for (new, agent) in texts {
            match agent {
                Some(turn) => text.agent(turn, new),
                None => text.person(new),
            }
            text.check_sum();
            let mut all = Text { weave: text.weave.clone(), live: text.live.clone() };
            all.reject(None, &|_| true);
            prop_assert_eq!(all.live, text.base());
        }
    }
}
