//! Questions about merges: both sides changed the same lines, and a person decides.

use super::*;

/// Session `s1` in a turn, and question 1 about write 9 with two conflicts.
fn asked(from_disk: bool) -> Stage {
    let mut stage = Stage::running();
    stage.ask_write(merge_ask(9, "/proj/src/a.rs", 2, from_disk));
    stage.take();
    stage
}

#[track_caller]
fn check_title(conflicts: usize, from_disk: bool, title: &str) {
    let mut stage = Stage::running();
    stage.ask_write(merge_ask(9, "/proj/src/a.rs", conflicts, from_disk));
    assert_eq!(stage.room.questions()[0].title, title);
}

#[test]
fn a_merge_says_how_many_places_both_sides_changed() {
    check_title(1, false, "merge src/a.rs: 1 place changed on both sides");
    check_title(2, false, "merge src/a.rs: 2 places changed on both sides");
    check_title(2, true, "merge src/a.rs: it changed on disk and here");
}

#[test]
fn a_merge_offers_the_persons_lines_first_and_tells_how_to_decide_place_by_place() {
    let mut stage = Stage::running();
    let notes = vec!["a note".to_owned()];
    stage.ask_write(WriteAsk { notes, ..merge_ask(9, "/proj/a", 1, false) });
    let question = &stage.room.questions()[0];
    let options: Vec<_> = question.options.iter().map(|o| (&*o.id, &*o.name, o.kind.as_str())).collect();
    assert_eq!(
        options,
        [
            ("ours", "Keep my lines there, take the rest of the agent's", "allow_once"),
            ("theirs", "Take the agent's lines there", "theirs"),
            ("reject", "Reject the agent's change", "reject_once"),
        ]
    );
    assert_eq!(
        question.body,
        [
            "a note",
            "You and the agent changed the same lines; nothing is written until you decide.",
            "To decide place by place, open the diff: `:w` in its result answers with that text.",
        ]
    );
    assert!(question.merge);
    let diff = stage.room.question_diff(QuestionId(1), 0);
    assert!(matches!(diff, Some(QuestionDiff::Write { ask, count: 1 }) if ask.merge.is_some()));
}

#[test]
fn a_change_on_disk_is_told_as_such() {
    let stage = asked(true);
    let names: Vec<_> = stage.room.questions()[0].options.iter().map(|o| o.name.clone()).collect();
    assert_eq!(
        names,
        [
            "Keep my lines there, take the rest from the disk",
            "Take the lines of the disk there",
            "Keep my text as it is"
        ]
    );
}

#[test]
fn an_option_of_a_merge_decides_it_and_no_kind_gives_up_the_persons_lines() {
    for (word, verdict) in [
        ("ours", "allow"),
        ("allow_once", "allow"),
        ("theirs", "theirs"),
        ("reject", "reject"),
        ("reject_once", "reject"),
        ("reject_always", "reject"),
        ("cancelled", "reject"),
    ] {
        let mut stage = asked(false);
        stage.answer(1, word);
        assert_eq!(stage.take_quiet(), [format!("write 9: {verdict}")], "{word}");
        stage.answer(1, word);
        assert_eq!(stage.take(), ["notify warn: Question 1 is not open (any more)."], "once");
    }
    for word in ["allow_always", "other", ""] {
        let mut stage = asked(false);
        stage.answer(1, word);
        assert_eq!(stage.take(), [format!("notify warn: Question 1 has no option {word}.")]);
    }
}

#[test]
fn a_text_answers_a_merge_once_and_byte_for_byte() {
    let mut stage = asked(false);
    stage.answer_text(1, &["one", "nul\nhere", ""], false);
    assert_eq!(stage.take_quiet(), [r#"write 9: text ["one", "nul\nhere", ""] noeol"#]);
    assert_eq!(
        stage.transcript()[1],
        "1 question 1 \"merge src/a.rs: 2 places changed on both sides\": allowed: merged by hand"
    );
    stage.answer_text(1, &["again"], true);
    stage.answer(1, "theirs");
    let closed = "notify warn: Question 1 is not open (any more).";
    assert_eq!(stage.take(), [closed, closed]);
}

#[test]
fn a_text_answers_nothing_but_a_merge() {
    let mut stage = Stage::running();
    stage.ask_write(write_ask(9, "/proj/a"));
    stage.ask("7", tool("t", |_| {}), yes_no());
    stage.take();
    stage.answer_text(1, &["x"], true);
    stage.answer_text(2, &["x"], true);
    assert_eq!(
        stage.take(),
        [
            "notify warn: Question 1 is no merge: choose an option.",
            "notify warn: Question 2 is no merge: choose an option."
        ]
    );
    assert_eq!(stage.room.questions().len(), 2);
}

#[test]
fn a_merge_of_the_turn_goes_with_it_and_is_rejected_once() {
    type Way = fn(&mut Stage);
    let ways: [(&str, Way); 4] = [
        ("cancel", |s| s.cancel()),
        ("end", |s| s.stop("end_turn")),
        ("exit", |s| s.exit(Exit::default())),
        ("close", |s| {
            let effects = s.room.close(&key(), 0);
            s.play(effects);
        }),
    ];
    for (name, way) in ways {
        let mut stage = asked(false);
        way(&mut stage);
        let decided = stage.take().into_iter().filter(|line| line.starts_with("write")).collect::<Vec<_>>();
        assert_eq!(decided, ["write 9: reject"], "{name}");
        assert!(stage.room.questions().is_empty(), "{name}");
    }
}

#[test]
fn a_change_on_disk_waits_for_the_person_whatever_the_agent_does() {
    type Way = fn(&mut Stage);
    let ways: [(&str, Way); 3] =
        [("cancel", |s| s.cancel()), ("end", |s| s.stop("end_turn")), ("exit", |s| s.exit(Exit::default()))];
    for (name, way) in ways {
        let mut stage = asked(true);
        assert_eq!(stage.state(), "running", "no question of the turn");
        way(&mut stage);
        assert!(!stage.take().iter().any(|line| line.starts_with("write")), "{name}");
        stage.answer(1, "theirs");
        assert_eq!(stage.take_quiet(), ["write 9: theirs"], "{name}");
    }
    let mut stage = asked(true);
    let effects = stage.room.close(&key(), 0);
    stage.play(effects);
    assert!(stage.take().contains(&"write 9: reject".to_owned()));
    stage.answer(1, "ours");
    assert_eq!(stage.take(), ["notify warn: Question 1 is not open (any more)."]);
}

#[test]
fn a_change_on_disk_is_asked_about_also_between_turns_and_when_the_agent_is_gone() {
    let mut stage = Stage::idle();
    stage.ask_write(merge_ask(9, "/proj/a", 1, true));
    stage.exit(Exit::default());
    stage.ask_write(merge_ask(10, "/proj/b", 1, true));
    assert_eq!(stage.room.questions().len(), 2);
    let mut stage = asked(false);
    stage.cancel();
    stage.ask_write(merge_ask(10, "/proj/b", 1, true));
    stage.ask_write(merge_ask(11, "/proj/c", 1, false));
    let open: Vec<_> = stage.room.questions().iter().map(|q| q.write).collect();
    assert_eq!(open, [Some(OpId(10))], "the agent's own is refused while the turn is cancelled");
    let effects = stage.room.close(&key(), 0);
    stage.play(effects);
    stage.take();
    stage.ask_write(merge_ask(12, "/proj/d", 1, true));
    assert_eq!(stage.take(), ["write 12: reject"], "nobody is left to ask");
}

#[test]
fn a_merge_whose_text_moved_on_is_asked_anew() {
    let mut stage = asked(false);
    stage.ask_write(merge_ask(9, "/proj/src/a.rs", 1, false));
    let ids: Vec<_> = stage.room.questions().iter().map(|q| (q.id.0, q.write)).collect();
    assert_eq!(ids, [(2, Some(OpId(9)))]);
    stage.take();
    stage.answer_text(1, &["to the old one"], true);
    assert_eq!(stage.take(), ["notify warn: Question 1 is not open (any more)."]);
    stage.answer_text(2, &["to the new one"], true);
    assert_eq!(stage.take_quiet(), [r#"write 9: text ["to the new one"] eol"#]);
}
