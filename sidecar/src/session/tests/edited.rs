//! Proposals that a person edits, and refusals that they explain.

use super::*;

fn lines(text: &str) -> Text {
    Text { lines: text.lines().map(|line| line.as_bytes().to_vec()).collect(), eol: text.ends_with('\n') }
}

fn edit(from: &str, to: &str) -> EditedText {
    EditedText { from: lines(from), to: lines(to) }
}

impl Stage {
    fn answer_edited(&mut self, question: u64, files: Vec<(usize, EditedText)>) {
        let effects = self.room.answer_edited(QuestionId(question), files, self.now);
        self.play(effects);
    }

    fn refuse(&mut self, question: u64, option: &str, why: &str) {
        let effects = self.room.answer_because(QuestionId(question), option, why, self.now);
        self.play(effects);
    }
}

fn edits(paths: &[&str]) -> ToolPatch {
    let diff = |path: &&str| {
        ToolContent::Diff(Diff { path: (*path).into(), old: Some("a\n".into()), new: "b\n".into() })
    };
    tool("t", |p| p.content = Patch::Set(paths.iter().map(diff).collect()))
}

#[test]
fn an_edited_write_lands_as_edited_and_the_agent_is_told_with_its_next_prompt() {
    let mut stage = Stage::running();
    stage.ask_write(write_ask(9, "/proj/a.rs"));
    stage.take();
    stage.answer_edited(1, vec![(0, edit("new\n", "newer\n"))]);
    assert_eq!(stage.take_quiet(), [r#"write 9: edited ["newer"] eol"#]);
    assert_eq!(stage.transcript()[1], r#"1 question 1 "write a.rs": allowed: as edited"#);
    let asides = stage.room.take_asides(&key());
    assert_eq!(
        asides,
        [
            "The person edited your change of /proj/a.rs before it landed: read the file again before you go on from it."
        ]
    );
    assert!(stage.room.take_asides(&key()).is_empty(), "said once");
}

#[test]
fn an_edited_permission_is_allowed_once_and_its_edits_wait_for_the_write() {
    let mut stage = Stage::running();
    let options = vec![
        option("always", "Always", OptionKind::AllowAlways),
        option("y", "Yes", OptionKind::AllowOnce),
        option("n", "No", OptionKind::RejectOnce),
    ];
    stage.ask("7", edits(&["a.rs", "b.rs"]), options);
    stage.take();
    stage.answer_edited(1, vec![(1, edit("b\n", "mine\n"))]);
    assert_eq!(stage.take_quiet(), [selected("7", "y")]);
    assert!(stage.transcript()[2].ends_with("allowed: Yes, as edited"));
    assert_eq!(stage.room.approved_diffs(&key()).len(), 2);
    assert_eq!(stage.room.take_amendment(&key(), |path| path == "a.rs"), None);
    assert_eq!(stage.room.take_amendment(&key(), |path| path == "b.rs"), Some(edit("b\n", "mine\n")));
    assert_eq!(stage.room.take_amendment(&key(), |path| path == "b.rs"), None, "taken once");
}

#[test]
fn without_an_option_that_allows_once_edits_cannot_go_along_and_the_question_stays() {
    for options in [
        vec![option("always", "Always", OptionKind::AllowAlways)],
        vec![option("y", "Yes", OptionKind::AllowOnce), option("y", "No", OptionKind::RejectOnce)],
        Vec::new(),
    ] {
        let mut stage = Stage::running();
        stage.ask("7", edits(&["a.rs"]), options);
        stage.take();
        stage.room.take_questions_changed();
        stage.answer_edited(1, vec![(0, edit("b\n", "mine\n"))]);
        let told = stage.take_quiet();
        assert!(told.len() == 1 && told[0].starts_with("notify warn: Question 1 has no option"), "{told:?}");
        assert_eq!(stage.room.questions().len(), 1);
        assert!(stage.room.take_questions_changed(), "the editor hears that it still waits");
        assert!(stage.room.take_asides(&key()).is_empty());
    }
}

#[test]
fn edits_that_have_not_landed_are_forgotten_with_their_turn() {
    for end in ["stop", "cancel"] {
        let mut stage = Stage::running();
        stage.ask("7", edits(&["a.rs"]), yes_no());
        stage.answer_edited(1, vec![(0, edit("b\n", "mine\n"))]);
        if end == "stop" {
            stage.stop("end_turn")
        } else {
            stage.cancel()
        }
        assert_eq!(stage.room.take_amendment(&key(), |_| true), None, "{end}");
    }
}

#[test]
fn a_refused_write_carries_its_reason_to_the_agent() {
    let mut stage = Stage::running();
    stage.ask_write(write_ask(9, "/proj/a.rs"));
    stage.take();
    stage.refuse(1, "reject_once", " use the other\nfile ");
    assert_eq!(stage.take_quiet(), [r#"write 9: refuse { why: "use the other\nfile" }"#]);
    assert_eq!(stage.transcript()[1], r#"1 question 1 "write a.rs": rejected: use the other⏎file"#);
}

#[test]
fn a_reason_that_no_answer_can_carry_is_the_next_prompt() {
    let mut stage = Stage::running();
    stage.ask("7", titled("x", "rm -rf", ToolStatus::Pending), yes_no());
    stage.take();
    stage.refuse(1, "reject_once", "never delete");
    assert_eq!(stage.take_quiet(), [selected("7", "n")]);
    stage.stop("end_turn");
    let told = stage.take_quiet();
    let sent = r#"agent 1: prompt a1: I rejected "rm -rf": never delete"#;
    assert!(told.iter().any(|line| line.starts_with(sent)), "it is sent once the turn has ended: {told:?}");
}

#[test]
fn a_reason_goes_with_no_yes() {
    let mut stage = Stage::running();
    stage.ask("7", edits(&["a.rs"]), yes_no());
    stage.ask_write(write_ask(9, "/proj/a.rs"));
    stage.take();
    stage.refuse(1, "y", "because");
    stage.refuse(2, "allow", "because");
    assert_eq!(stage.take_quiet(), [selected("7", "y"), "write 9: allow".to_owned()]);
    stage.stop("end_turn");
    assert!(!stage.take_quiet().iter().any(|line| line.starts_with("prompt")));
}

#[test]
fn an_agent_that_is_trusted_writes_without_a_question_but_where_a_person_must_decide() {
    for approval in [WriteApproval::Agent, WriteApproval::Review] {
        let mut stage = Stage::running();
        stage.room.set_approval(&key(), true, approval);
        stage.ask_write(write_ask(9, "/proj/a.rs"));
        assert_eq!(stage.take_quiet(), ["write 9: allow"]);
        stage.ask_write(WriteAsk { must_ask: true, ..write_ask(10, "/proj/a.rs") });
        stage.ask_write(merge_ask(11, "/proj/a.rs", 1, false));
        assert_eq!(stage.take_quiet(), [""; 0]);
        assert_eq!(stage.room.questions().len(), 2);
    }
}
