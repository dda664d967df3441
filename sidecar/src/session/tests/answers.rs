//! What a person's answer means among the options an agent gave.

use super::*;

use OptionKind::{AllowAlways, AllowOnce, Other, RejectAlways, RejectOnce};

/// Asks with these options, answers with the word, and checks the wire and the transcript.
#[track_caller]
fn check(options: &[(&str, &str, OptionKind)], word: &str, wire: &str, outcome: &str) {
    let mut stage = Stage::running();
    let options = options.iter().map(|(id, name, kind)| option(id, name, kind.clone())).collect();
    stage.ask("7", titled("t", "T", ToolStatus::Pending), options);
    stage.take();
    stage.answer(1, word);
    let wire = if wire == "-" { cancelled("7") } else { selected("7", wire) };
    assert_eq!(stage.take_quiet(), [wire]);
    assert_eq!(stage.transcript()[2], format!("1 question 1 \"T\": {outcome}"));
}

/// The word means nothing here: the person is told and the question stays.
#[track_caller]
fn check_refused(options: &[(&str, &str, OptionKind)], word: &str) {
    let mut stage = Stage::running();
    let options = options.iter().map(|(id, name, kind)| option(id, name, kind.clone())).collect();
    stage.ask("7", titled("t", "T", ToolStatus::Pending), options);
    stage.take();
    stage.answer(1, word);
    assert_eq!(stage.take(), [format!("notify warn: Question 1 has no option {word}.")]);
    assert_eq!(stage.room.questions().len(), 1);
}

#[test]
fn an_id_is_sent_back_exactly_as_given() {
    let options = [("a\u{1b} x", "Yes\n\u{1b}[2K", AllowOnce), ("n", "No", RejectOnce)];
    check(&options, "a\u{1b} x", r"a\u001b x", "allowed: Yes⏎^[[2K");
}

#[test]
fn a_kind_chooses_the_first_option_of_that_kind() {
    let options = [
        ("session", "Session", AllowAlways),
        ("always", "Always", AllowAlways),
        ("once", "Once", AllowOnce),
        ("no", "No", RejectOnce),
        ("never", "Never", RejectAlways),
    ];
    check(&options, "allow_always", "session", "allowed: Session");
    check(&options, "allow_once", "once", "allowed: Once");
    check(&options, "reject_once", "no", "rejected: No");
    check(&options, "reject_always", "never", "rejected: Never");
    check(&options, "cancelled", "-", "cancelled");
}

#[test]
fn an_id_goes_before_a_kind() {
    let options = [("x", "X", RejectOnce), ("reject_once", "Odd", AllowOnce)];
    check(&options, "reject_once", "reject_once", "allowed: Odd");
}

#[test]
fn refusing_without_an_option_for_it_is_cancelled() {
    check(&[("y", "Yes", AllowOnce)], "reject_once", "-", "cancelled");
    check(&[("y", "Yes", AllowOnce)], "reject_always", "-", "cancelled");
    check(&[], "reject_once", "-", "cancelled");
    check(&[], "cancelled", "-", "cancelled");
}

#[test]
fn refusing_takes_the_other_way_to_refuse_where_its_own_is_missing() {
    check(&[("y", "Yes", AllowOnce), ("no", "No", RejectOnce)], "reject_always", "no", "rejected: No");
    check(&[("y", "Yes", AllowOnce), ("nv", "Never", RejectAlways)], "reject_once", "nv", "rejected: Never");
}

#[test]
fn allowing_takes_only_what_was_named() {
    check_refused(&[("a", "Always", AllowAlways), ("n", "No", RejectOnce)], "allow_once");
    check_refused(&[("a", "Once", AllowOnce)], "allow_always");
    check_refused(&[("a", "Once", AllowOnce)], "A");
    check_refused(&[("a", "Hm", Other(String::new()))], "");
    check_refused(&[], "allow_once");
}

#[test]
fn a_kind_nobody_knows_is_neutral_and_can_be_chosen() {
    let options = [("p", "Persist", Other("allow_persistent".into())), ("n", "", Other(String::new()))];
    check(&options, "p", "p", "answered: Persist");
    check(&options, "allow_persistent", "p", "answered: Persist");
    let mut stage = Stage::running();
    let edit = with_input("t", "edit", json!({ "path": "/a", "content": "x" }));
    stage.ask("7", edit, vec![option("p", "Persist", Other("allow_persistent".into()))]);
    stage.answer(1, "p");
    assert!(stage.room.approved_diffs(&key()).is_empty(), "it did not say that it allows");
}

#[test]
fn an_id_given_twice_is_no_yes_for_sure_and_never_a_no_that_might_be_a_yes() {
    let options = vec![option("x", "Yes", AllowOnce), option("x", "No", RejectOnce)];
    let edit = || with_input("t", "edit", json!({ "path": "/a", "content": "x" }));
    let mut stage = Stage::running();
    stage.ask("7", edit(), options.clone());
    stage.take();
    stage.answer(1, "x");
    assert_eq!(stage.take_quiet(), [selected("7", "x")]);
    assert!(stage.room.approved_diffs(&key()).is_empty());
    stage.ask("8", edit(), options);
    stage.take();
    stage.answer(2, "reject_once");
    assert_eq!(stage.take_quiet(), [cancelled("8")]);
}

#[test]
fn twelve_options_are_all_there_in_the_order_given_with_their_names_made_safe() {
    let mut stage = Stage::running();
    let options: Vec<_> =
        (0..12).map(|n| option(&format!("q:{n}"), &format!("A\u{202e}{n}"), AllowOnce)).collect();
    stage.ask("7", tool("t", |p| p.kind = Patch::Set("think".into())), options);
    let shown = stage.room.questions()[0].options.clone();
    assert_eq!(shown.len(), 12);
    assert_eq!((shown[11].id.as_str(), shown[11].name.as_str()), ("q:11", "A<U+202E>11"));
    stage.take();
    stage.answer(1, "q:11");
    assert_eq!(stage.take_quiet(), [selected("7", "q:11")]);
}

#[test]
fn an_answered_question_is_not_answered_again() {
    let mut stage = Stage::running();
    stage.ask("7", tool("t", |_| {}), yes_no());
    stage.answer(1, "y");
    stage.take();
    stage.answer(1, "n");
    stage.cancel();
    stage.stop("cancelled");
    let answers = stage.take().into_iter().filter(|line| line.starts_with("answer"));
    assert_eq!(answers.count(), 0);
    assert_eq!(stage.transcript()[2], "1 question 1 \"permission\": allowed: Yes");
}
