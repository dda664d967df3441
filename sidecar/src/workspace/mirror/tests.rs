//! The mirror against a plain list of lines.

use proptest::prelude::*;

use super::*;

fn bytes(lines: &[&str]) -> Vec<Vec<u8>> {
    lines.iter().map(|l| l.as_bytes().to_vec()).collect()
}

fn full(lines: &[&str]) -> Mirror {
    let mut m = Mirror::default();
    m.slice(1, 0, lines.len(), &bytes(lines), false);
    assert!(m.ready());
    m
}

fn check(m: &Mirror, want: &str) {
    assert_eq!(m.rope().to_string(), want);
}

#[test]
fn an_event_that_leaves_no_line_means_no_line_at_all() {
    let mut m = full(&["a", "b"]);
    m.lines(Some(2), 0, Some(2), &[], false).unwrap();
    check(&m, "");
    assert_eq!(m.known(), 0);
    // Typing into it: Neovim counts the one empty line that it shows.
    m.lines(Some(3), 0, Some(1), &bytes(&["x"]), false).unwrap();
    check(&m, "x\n");
}

#[test]
fn an_event_with_two_meanings_leaves_nothing_known_until_a_slice_tells() {
    // `O` leaves the empty line that was shown, `:append` takes it away; both say only this.
    let mut m = Mirror::default();
    m.slice(1, 0, 1, &bytes(&[""]), true);
    assert_eq!((m.ready(), m.known()), (true, 0));
    assert_eq!(m.lines(Some(2), 0, Some(0), &bytes(&["x"]), false), Err(Lost::InDoubt));
    assert_eq!((m.ready(), m.known(), m.tick()), (false, 0, 2));
    m.slice(2, 0, 1, &bytes(&["x"]), false);
    assert!(m.ready());
    check(&m, "x\n");
    // An empty line that is typed, and what undo leaves where no line was.
    assert_eq!(m.lines(Some(3), 0, Some(1), &bytes(&[""]), false), Err(Lost::InDoubt));
    assert!(!m.ready());
    m.slice(3, 0, 1, &bytes(&[""]), true);
    assert!(m.ready());
    check(&m, "");
}

#[test]
fn a_preview_says_nothing_of_the_text() {
    let mut m = full(&["a", "b"]);
    m.lines(None, 0, Some(1), &bytes(&["PRE", "VIEW"]), false).unwrap();
    m.lines(None, 0, Some(2), &bytes(&["PREVIEWED"]), false).unwrap();
    assert!(m.ready());
    check(&m, "a\nb\n");
    m.lines(Some(9), 1, Some(2), &bytes(&["B"]), false).unwrap();
    check(&m, "a\nB\n");
    assert_eq!(m.tick(), 9);
}

#[test]
fn a_change_in_several_parts_is_served_when_it_is_whole() {
    let mut m = full(&["a"]);
    m.lines(Some(2), 0, None, &bytes(&["x"]), true).unwrap();
    assert!(!m.ready());
    m.lines(Some(2), 1, Some(1), &bytes(&["y"]), false).unwrap();
    assert!(m.ready());
    check(&m, "x\ny\n");
}

#[test]
fn an_event_that_does_not_fit_is_noticed() {
    let mut m = full(&["a"]);
    assert_eq!(m.lines(Some(2), 5, Some(6), &[], false), Err(Lost::Misfit));
}

#[test]
fn ticks_never_go_back() {
    let mut m = full(&["a"]);
    m.saw_tick(7);
    m.saw_tick(5);
    assert_eq!(m.tick(), 7);
}

#[test]
fn a_slice_that_disagrees_wins_and_the_rest_is_asked_again() {
    let mut m = Mirror::default();
    m.slice(1, 0, 3, &bytes(&["old", "x"]), false);
    m.slice(2, 0, 4, &bytes(&["new"]), false);
    assert_eq!((m.ready(), m.known()), (false, 1));
    m.slice(2, 1, 4, &bytes(&["old", "x", "y"]), false);
    assert!(m.ready());
    check(&m, "new\nold\nx\ny\n");
}

/// What happens between slices: replace `[first, last)` (as parts of the length) by so many lines.
#[derive(Clone, Debug)]
enum Step {
    Slice,
    Again,
    Replace { first: u8, len: u8, new: u8, to_end: bool },
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        3 => Just(Step::Slice),
        1 => Just(Step::Again),
        4 => (any::<u8>(), 0..6u8, 0..5u8, prop::bool::weighted(0.1))
            .prop_map(|(first, len, new, to_end)| Step::Replace { first, len, new, to_end }),
    ]
}

proptest! {
    /// The slice that arrives was *asked for* before the events in front of it, as in life.
    #[test]
    fn a_fill_with_changes_in_between_ends_with_the_editors_text(
        size in 0..40usize,
        steps in prop::collection::vec(step(), 0..60),
    ) {
        let mut model: Vec<Vec<u8>> = (0..size).map(|i| format!("l{i}").into_bytes()).collect();
        let mut m = Mirror::default();
        let (mut asked, mut tick, mut fresh) = (0, 1, 0);
        let slice = |m: &mut Mirror, model: &[Vec<u8>], start: usize, tick| {
            let start = start.min(model.len());
            let lines = &model[start..model.len().min(start + 4)];
            if model.is_empty() {
                m.slice(tick, 0, 1, &[vec![]], true);
            } else {
                m.slice(tick, start, model.len(), lines, false);
            }
        };
        for step in steps {
            match step {
                Step::Slice => {
                    slice(&mut m, &model, asked, tick);
                    asked = m.known();
                }
                Step::Again => slice(&mut m, &model, asked / 2, tick),
                Step::Replace { first, len, new, to_end } => {
                    let shown = model.len().max(1);
                    let first = usize::from(first) % (shown + 1);
                    let last = if to_end { shown } else { (first + usize::from(len)).min(shown) };
                    if model.is_empty() {
                        model.push(vec![]);
                    }
                    let lines: Vec<_> = (0..new).map(|_| { fresh += 1; format!("n{fresh}").into_bytes() }).collect();
                    model.splice(first..last, lines.iter().cloned());
                    tick += 1;
                    if let Err(why) = m.lines(Some(tick), first, (!to_end).then_some(last), &lines, false) {
                        prop_assert_eq!(why, Lost::InDoubt);
                        prop_assert!(shown == 1 || model == [b""], "only where no line was, or an empty one is left");
                        prop_assert_eq!(m.known(), 0);
                        asked = 0;
                    }
                }
            }
            let known: Vec<_> = (0..m.known())
                .map(|i| text::line_bytes(m.rope().line(i).to_string().strip_suffix('\n').unwrap()))
                .collect();
            prop_assert_eq!(&known[..], &model[..known.len()], "the prefix is always true");
            if m.ready() {
                prop_assert_eq!(known.len(), model.len());
            }
        }
        for _ in 0..100 {
            if m.ready() { break }
            let start = m.known();
            slice(&mut m, &model, start, tick);
        }
        prop_assert!(m.ready());
        prop_assert_eq!(m.known(), model.len());
        prop_assert_eq!(m.tick(), tick);
    }
}
