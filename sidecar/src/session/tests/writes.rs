//! The host's own questions about writes.

use super::*;

#[test]
fn a_write_is_asked_about_with_what_would_land() {
    let mut stage = Stage::running();
    let ask = write_ask(9, "/proj/src/a.rs");
    stage.ask_write(ask.clone());
    let question = &stage.room.questions()[0];
    assert_eq!(question.title, "write src/a.rs");
    assert_eq!(question.body, [""; 0]);
    assert_eq!(question.files, ["/proj/src/a.rs"]);
    let options: Vec<_> = question.options.iter().map(|o| (&*o.id, &*o.name, o.kind.as_str())).collect();
    assert_eq!(options, [("allow", "Allow", "allow_once"), ("reject", "Reject", "reject_once")]);
    let diff = stage.room.question_diff(QuestionId(1), 0);
    assert_eq!(diff, Some(QuestionDiff::Write { ask: Box::new(ask), count: 1 }));
    assert_eq!(stage.state(), "waiting");
}

#[test]
fn the_question_says_what_else_the_save_writes() {
    let mut stage = Stage::running();
    stage.ask_write(WriteAsk { saves_unsaved: true, live: None, ..write_ask(9, "/else\u{1b}where") });
    let question = &stage.room.questions()[0];
    assert_eq!(question.title, "write /else^[where");
    assert_eq!(question.body, ["This is a new file.", "Saving it also writes your own unsaved lines."]);
}

#[test]
fn notes_are_told_and_what_must_be_asked_says_so_first() {
    let mut stage = Stage::running();
    let notes = vec!["It is read-only.".to_owned(), "odd\u{1b}note".to_owned()];
    stage.ask_write(WriteAsk { must_ask: true, saves_unsaved: true, notes, ..write_ask(9, "/proj/a") });
    let question = &stage.room.questions()[0];
    assert_eq!(question.title, "! write a");
    assert_eq!(
        question.body,
        [
            "! Nothing that was allowed before covers this: look at it before you answer.",
            "It is read-only.",
            "odd^[note",
            "Saving it also writes your own unsaved lines.",
        ]
    );
}

#[test]
fn a_question_that_takes_the_place_of_another_is_about_the_same_write() {
    let mut stage = Stage::running();
    stage.ask_write(write_ask(9, "/proj/a"));
    assert_eq!(stage.room.questions()[0].write, Some(OpId(9)));
    stage.ask_write(WriteAsk { content: "newer\n".into(), ..write_ask(9, "/proj/a") });
    assert_eq!(stage.room.questions()[0].write, Some(OpId(9)));
    stage.ask("7", tool("t", |_| {}), yes_no());
    assert_eq!(stage.room.questions()[1].write, None);
}

#[test]
fn the_answer_decides_the_write() {
    for (word, verdict) in [
        ("allow", "write 9: allow"),
        ("allow_once", "write 9: allow"),
        ("reject", "write 9: reject"),
        ("reject_once", "write 9: reject"),
        ("reject_always", "write 9: reject"),
        ("cancelled", "write 9: reject"),
    ] {
        let mut stage = Stage::running();
        stage.ask_write(write_ask(9, "/proj/a"));
        stage.take();
        stage.answer(1, word);
        assert_eq!(stage.take_quiet(), [verdict], "{word}");
    }
}

#[test]
fn an_allowed_write_approves_no_other() {
    let mut stage = Stage::running();
    stage.ask_write(write_ask(9, "/proj/a"));
    stage.answer(1, "allow");
    assert!(stage.room.approved_diffs(&key()).is_empty());
    assert_eq!(stage.transcript()[1], "1 question 1 \"write a\": allowed: Allow");
}

#[test]
fn a_write_asked_about_again_has_one_question() {
    let mut stage = Stage::running();
    stage.ask_write(write_ask(9, "/proj/a"));
    stage.ask_write(WriteAsk { content: "newer\n".into(), ..write_ask(9, "/proj/a") });
    assert_eq!(stage.room.questions().len(), 1);
    assert_eq!(stage.transcript()[1], "1 question 1 \"write a\": withdrawn: the text changed");
    stage.take();
    stage.answer(2, "allow");
    assert_eq!(stage.take_quiet(), ["write 9: allow"]);
}

#[test]
fn a_write_that_is_off_takes_its_question_along() {
    let mut stage = Stage::running();
    stage.ask_write(write_ask(9, "/proj/a"));
    stage.take();
    let effects = stage.room.withdraw_write(OpId(9), "withdrawn: the agent took it back");
    stage.play(effects);
    assert!(stage.take_quiet().is_empty(), "whoever took it off knows");
    assert!(stage.room.questions().is_empty());
    assert_eq!(stage.state(), "running");
}

#[test]
fn a_write_of_a_session_that_is_gone_does_not_land() {
    let mut stage = Stage::running();
    stage.exit(Exit::default());
    stage.take();
    stage.ask_write(write_ask(1, "/proj/a"));
    assert_eq!(stage.take(), ["write 1: reject"]);
    let effects = stage.room.close(&key(), 0);
    stage.play(effects);
    stage.take();
    stage.ask_write(write_ask(2, "/proj/a"));
    assert_eq!(stage.take(), ["write 2: reject"]);
}
