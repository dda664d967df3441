//! Prompts that wait before they go, and the question about unsaved text.

use super::*;

/// A session whose prompt `go` waits for the answer about one file.
fn asked(policy: UnsavedPolicy) -> Stage {
    let mut stage = Stage::idle();
    stage.room.list[0].unsaved = policy;
    stage.holds = true;
    stage.prompt("go");
    let effects = stage.room.ask_unsaved(&key(), &["src/a\u{1b}.rs".to_owned()]);
    stage.play(effects);
    stage.holds = false;
    stage.take();
    stage
}

#[test]
fn what_is_done_follows_the_setting_and_what_the_agent_takes() {
    use UnsavedPolicy::*;
    for (setting, embeds, expected) in [
        (Auto, true, Embed),
        (Auto, false, Ask),
        (Ask, true, Ask),
        (Embed, false, Embed),
        (Save, true, Save),
        (Leave, true, Leave),
    ] {
        let mut stage = Stage::idle();
        stage.room.list[0].unsaved = setting;
        stage.room.list[0].embedded_context = embeds;
        assert_eq!(stage.room.unsaved_policy(&key()), expected, "{setting:?} {embeds}");
    }
}

#[test]
fn a_held_prompt_is_in_the_queue_and_goes_when_it_may() {
    let mut stage = Stage::idle();
    stage.holds = true;
    stage.prompt("go");
    assert_eq!(stage.take(), [r#"BosunStateChanged {"session":"s1","state":"running"}"#]);
    assert_eq!((stage.state(), stage.room.states()[0].queue.clone()), ("running", vec!["go".to_owned()]));
    assert!(stage.room.due(&key()).is_some());
    stage.prompt("more");
    assert_eq!(stage.take(), [""; 0], "only the first one is due");
    let effects = stage.room.go(&key(), Vec::new());
    stage.play(effects);
    assert_eq!(stage.take_quiet(), ["agent 1: prompt a1: go"]);
    assert_eq!(stage.room.states()[0].queue, ["more"]);
    assert!(stage.room.due(&key()).is_none(), "a turn runs");
    let effects = stage.room.go(&key(), Vec::new());
    stage.play(effects);
    assert_eq!(stage.take_quiet(), [""; 0]);
}

#[test]
fn the_question_names_the_files_and_the_session_waits_for_the_person() {
    let stage = asked(UnsavedPolicy::Ask);
    let question = &stage.room.questions()[0];
    assert_eq!(question.title, "1 file has unsaved changes, which are not on disk");
    assert_eq!(question.body[0], "src/a^[.rs");
    let options: Vec<_> = question.options.iter().map(|o| (&*o.id, &*o.name)).collect();
    assert_eq!(
        options,
        [("save", "Save them now"), ("embed", "Send their text along"), ("leave", "Leave them")]
    );
    assert_eq!(question.files, [""; 0]);
    assert_eq!(stage.room.question_diff(question.id, 0), None);
    assert_eq!(stage.state(), "waiting");
}

#[test]
fn an_answer_holds_for_the_session_and_lets_the_prompt_go() {
    use UnsavedPolicy::*;
    for (word, expected) in [("save", Save), ("embed", Embed), ("leave", Leave)] {
        let mut stage = asked(Auto);
        stage.answer(1, word);
        assert_eq!(stage.take_quiet(), ["agent 1: prompt a1: go"], "{word}");
        assert_eq!(stage.room.unsaved_policy(&key()), expected);
        assert_eq!(stage.state(), "running");
    }
}

#[test]
fn who_chooses_nothing_gets_the_prompt_back_and_is_asked_again() {
    for word in ["cancelled", "reject_once"] {
        let mut stage = asked(UnsavedPolicy::Ask);
        stage.answer(1, word);
        assert_eq!(stage.take_quiet(), [r#"returned s1: "go" (Cancelled.)"#]);
        assert_eq!(stage.room.unsaved_policy(&key()), UnsavedPolicy::Ask);
        assert_eq!(stage.state(), "idle");
    }
}

#[test]
fn a_cancel_withdraws_the_question_and_gives_the_prompt_back() {
    let mut stage = asked(UnsavedPolicy::Ask);
    stage.cancel();
    assert_eq!(stage.take_quiet(), [r#"returned s1: "go" (Cancelled.)"#]);
    assert!(stage.room.questions().is_empty() && stage.room.due(&key()).is_none());
    assert_eq!(stage.state(), "idle");
    stage.prompt("again");
    assert_eq!(stage.take_quiet(), ["agent 1: prompt a1: again"]);
}

#[test]
fn the_end_of_the_agent_gives_a_held_prompt_back() {
    let mut stage = asked(UnsavedPolicy::Ask);
    stage.exit(Exit { code: Some(1), ..Exit::default() });
    assert!(stage.take().contains(&r#"returned s1: "go" (The agent has ended.)"#.to_owned()));
    assert!(stage.room.questions().is_empty() && stage.room.due(&key()).is_none());
}

#[test]
fn what_a_refused_or_failed_prompt_brought_is_forgotten() {
    for (reason, expected) in [("refusal", true), ("end_turn", false), ("cancelled", false)] {
        let mut stage = Stage::running();
        stage.stop(reason);
        assert_eq!(stage.forgotten, expected, "{reason}");
    }
    let mut stage = Stage::running();
    stage.fail(RpcError::new(RpcError::INTERNAL, "no"));
    assert!(stage.forgotten);
}
