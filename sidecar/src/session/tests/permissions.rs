//! Permission requests: how they come, wait and go.

use super::*;

#[test]
fn two_requests_wait_in_order_and_each_gets_its_own_answer() {
    let mut stage = Stage::running();
    stage.ask("7", titled("r", "read a", ToolStatus::Pending), yes_no());
    stage.ask("8", titled("x", "rm -rf", ToolStatus::Pending), yes_no());
    let titles: Vec<String> = stage.room.questions().into_iter().map(|q| q.title).collect();
    assert_eq!(titles, ["read a", "rm -rf"]);
    assert!(stage.room.take_questions_changed());
    assert!(!stage.room.take_questions_changed());
    assert_eq!(stage.state(), "waiting");
    stage.take();
    stage.answer(2, "n");
    assert_eq!(stage.take_quiet(), [selected("8", "n")]);
    assert_eq!(stage.state(), "waiting");
    stage.answer(1, "y");
    assert_eq!(
        stage.take(),
        [selected("7", "y"), r#"BosunStateChanged {"session":"s1","state":"running"}"#.to_owned()]
    );
    assert!(stage.room.take_questions_changed());
    stage.check(&[
        "1 user \"go\"",
        "1 tool r \"read a\" pending",
        "1 question 1 \"read a\": allowed: Yes",
        "1 tool x \"rm -rf\" pending",
        "1 question 2 \"rm -rf\": rejected: No",
    ]);
}

#[test]
fn a_question_is_announced_once() {
    let mut stage = Stage::running();
    stage.ask("7", tool("t", |_| {}), yes_no());
    assert_eq!(
        stage.take(),
        [
            r#"BosunPermission {"session":"s1","question":1}"#,
            r#"BosunStateChanged {"session":"s1","state":"waiting"}"#
        ]
    );
}

#[test]
fn sessions_with_the_same_tool_call_id_have_questions_of_their_own() {
    let mut stage = Stage::running();
    stage.create("s2", 2);
    stage.ready(2, "a1");
    stage.take();
    stage.ask("0", titled("t", "one", ToolStatus::Pending), yes_no());
    stage.ask_on(2, "a1", "0", titled("t", "two", ToolStatus::Pending), yes_no());
    let of: Vec<String> =
        stage.room.questions().into_iter().map(|q| format!("{} {}", q.session, q.title)).collect();
    assert_eq!(of, ["s1 one", "s2 two"]);
    stage.exit(Exit { signal: Some(9), ..Exit::default() });
    assert_eq!(stage.room.questions().len(), 1, "only the dead agent's question goes");
    stage.take();
    stage.answer(2, "y");
    assert_eq!(stage.take_quiet(), [selected("0", "y")]);
    stage.answer(1, "y");
    assert_eq!(stage.take(), ["notify warn: Question 1 is not open (any more)."]);
}

#[test]
fn a_request_for_a_call_never_announced_makes_the_one_card_that_later_updates_fill() {
    let mut stage = Stage::running();
    let diff = ToolContent::Diff(Diff { path: "/proj/a".into(), old: None, new: "x".into() });
    stage.ask(
        "7",
        tool("t1", |p| {
            p.title = Patch::Set("Write a".into());
            p.content = Patch::Set(vec![diff]);
        }),
        yes_no(),
    );
    stage.update(Update::ToolCall(titled("t1", "Write", ToolStatus::Pending)));
    stage.update(Update::ToolCallUpdate(titled("t1", "Write", ToolStatus::Completed)));
    stage.check(&[
        "1 user \"go\"",
        "1 tool t1 \"Write\" completed diff /proj/a",
        "1 question 1 \"Write a\": ?",
    ]);
}

#[test]
fn a_request_is_a_patch_for_its_card() {
    let mut stage = Stage::running();
    stage.update(Update::ToolCall(tool("t", |p| p.title = Patch::Set("edit".into()))));
    stage.ask("7", with_input("t", "execute", json!({ "command": "make" })), yes_no());
    let question = &stage.room.questions()[0];
    assert_eq!((question.title.as_str(), &question.body[..]), ("edit", &["$ make".to_owned()][..]));
    stage.check(&["1 user \"go\"", "1 tool t \"edit\" none", "1 question 1 \"edit\": ?"]);
}

#[test]
fn a_question_never_shows_what_an_earlier_turns_call_with_that_id_said() {
    let mut stage = Stage::running();
    stage.ask("1", with_input("call_0", "edit", json!({ "path": "/a", "content": "secret" })), yes_no());
    stage.answer(1, "y");
    stage.stop("end_turn");
    stage.prompt("more");
    stage.ask("2", tool("call_0", |p| p.kind = Patch::Set("edit".into())), yes_no());
    let question = &stage.room.questions()[0];
    assert_eq!(question.body, ["details not provided"]);
    assert!(question.files.is_empty());
    assert_eq!(question.title, "edit");
}

#[test]
fn a_request_outside_a_turn_is_asked_too() {
    let mut stage = Stage::idle();
    stage.ask("7", titled("t", "T", ToolStatus::Pending), yes_no());
    assert_eq!(stage.state(), "idle");
    assert_eq!(stage.room.questions().len(), 1);
    // A turn that comes and goes does not take it along.
    stage.prompt("go");
    stage.stop("end_turn");
    stage.take();
    stage.answer(1, "y");
    assert_eq!(stage.take_quiet(), [selected("7", "y")]);
}

#[test]
fn a_cancel_without_a_turn_answers_what_waits_and_says_nothing_else() {
    let mut stage = Stage::idle();
    stage.ask("7", titled("t", "T", ToolStatus::Pending), yes_no());
    stage.take();
    stage.cancel();
    assert_eq!(stage.take(), [cancelled("7")]);
    assert_eq!(stage.transcript()[1], "0 question 1 \"T\": cancelled");
}

#[test]
fn a_request_for_an_unknown_session_is_an_error() {
    let mut stage = Stage::running();
    stage.ask_on(1, "zzz", "7", tool("t", |_| {}), yes_no());
    stage.ask_on(2, "a1", "8", tool("t", |_| {}), yes_no());
    assert_eq!(
        stage.take(),
        ["answer 7: error -32602 unknown session zzz", "answer 8: error -32602 unknown session a1"]
    );
    assert_eq!(stage.room.session_for(AgentId(1), "a1"), Some(&key()));
    assert_eq!(stage.room.session_for(AgentId(2), "a1"), None);
}

#[test]
fn a_cancel_answers_all_that_wait_and_all_that_come_until_the_turn_has_ended() {
    let mut stage = Stage::running();
    for wire in ["1", "2", "3"] {
        stage.ask(wire, titled(wire, "T", ToolStatus::Pending), yes_no());
    }
    stage.ask_write(write_ask(5, "/proj/a"));
    stage.take();
    stage.cancel();
    assert_eq!(
        stage.take_quiet(),
        [
            "agent 1: cancel a1".to_owned(),
            cancelled("1"),
            cancelled("2"),
            cancelled("3"),
            "write 5: reject".to_owned()
        ]
    );
    assert!(stage.room.questions().is_empty());
    stage.ask("4", titled("4", "late", ToolStatus::Pending), yes_no());
    assert_eq!(stage.take(), [cancelled("4")]);
    assert_eq!(stage.transcript().last().unwrap(), "1 tool 4 \"late\" cancelled");
    stage.ask_write(write_ask(6, "/proj/a"));
    assert_eq!(stage.take(), ["write 6: reject"]);
    stage.stop("cancelled");
    stage.prompt("next");
    assert_eq!(stage.take_quiet(), ["agent 1: prompt a1: next"]);
    stage.ask("5", titled("5", "T", ToolStatus::Pending), yes_no());
    assert_eq!(stage.room.questions().len(), 1);
    assert!(stage.transcript().contains(&"1 question 2 \"T\": cancelled".to_owned()));
}

#[test]
fn a_question_still_open_when_its_turn_ends_is_withdrawn() {
    let mut stage = Stage::running();
    stage.ask("7", titled("t", "T", ToolStatus::Pending), yes_no());
    stage.ask_write(write_ask(3, "/proj/a"));
    stage.take();
    stage.stop("end_turn");
    assert_eq!(stage.take_quiet(), [cancelled("7"), "write 3: reject".to_owned()]);
    assert_eq!(stage.transcript()[2], "1 question 1 \"T\": withdrawn: the turn ended");
}

#[test]
fn the_agent_can_take_a_request_back() {
    let mut stage = Stage::running();
    stage.ask("0", titled("t", "T", ToolStatus::Pending), yes_no());
    stage.take();
    let effects = stage.room.cancel_request(AgentId(2), &WireId("0".into()));
    stage.play(effects);
    let effects = stage.room.cancel_request(AgentId(1), &WireId("1".into()));
    stage.play(effects);
    assert!(stage.take().is_empty(), "another agent's request, another id");
    let effects = stage.room.cancel_request(AgentId(1), &WireId("0".into()));
    stage.play(effects);
    assert_eq!(stage.take_quiet(), [cancelled("0")]);
    assert_eq!(stage.transcript()[2], "1 question 1 \"T\": withdrawn: the agent took it back");
    let effects = stage.room.cancel_request(AgentId(1), &WireId("0".into()));
    stage.play(effects);
    assert!(stage.take().is_empty(), "answered once");
}

#[test]
fn a_prompt_while_a_question_waits_is_queued_and_updates_go_on() {
    let mut stage = Stage::running();
    stage.ask("7", titled("t", "T", ToolStatus::Pending), yes_no());
    stage.take();
    stage.prompt("meanwhile");
    assert!(stage.take_quiet().is_empty(), "never two prompts at once");
    assert_eq!(stage.room.states()[0].queue, ["meanwhile"]);
    stage.say("still talking");
    assert_eq!(stage.transcript()[3], "1 message \"still talking\" open");
    stage.answer(1, "y");
    stage.stop("end_turn");
    assert_eq!(stage.take_quiet(), [selected("7", "y"), "agent 1: prompt a1: meanwhile".to_owned()]);
}

#[test]
fn a_diff_of_a_question_can_be_had_while_it_waits() {
    let mut stage = Stage::running();
    let diff = |path: &str| Diff { path: path.into(), old: Some("a".into()), new: "b".into() };
    let content = vec![ToolContent::Diff(diff("/x")), ToolContent::Diff(diff("/y"))];
    stage.ask("7", tool("t", |p| p.content = Patch::Set(content)), yes_no());
    assert_eq!(stage.room.questions()[0].files, ["/x", "/y"]);
    let second = stage.room.question_diff(QuestionId(1), 1);
    assert_eq!(second, Some(QuestionDiff::Agent { session: key(), diff: diff("/y"), count: 2 }));
    assert_eq!(stage.room.question_diff(QuestionId(1), 2), None);
    stage.answer(1, "y");
    assert_eq!(stage.room.question_diff(QuestionId(1), 0), None);
}

#[test]
fn diffs_count_as_approved_from_an_allow_until_the_turn_ends() {
    let mut stage = Stage::running();
    let edit = json!({ "file_path": "/a", "old_string": "x", "new_string": "y" });
    stage.ask("1", with_input("t", "edit", edit.clone()), yes_no());
    stage.ask("2", with_input("u", "edit", json!({ "path": "/b", "content": "z" })), yes_no());
    assert!(stage.room.approved_diffs(&key()).is_empty());
    stage.answer(1, "y");
    stage.answer(2, "n");
    let approved = [Diff { path: "/a".into(), old: Some("x".into()), new: "y".into() }];
    assert_eq!(stage.room.approved_diffs(&key()), approved);
    stage.stop("end_turn");
    assert!(stage.room.approved_diffs(&key()).is_empty());
}

#[test]
fn large_diffs_are_dropped_from_a_question_once_it_is_answered() {
    let mut stage = Stage::running();
    let big = with_input("t", "edit", json!({ "path": "/a", "content": "x".repeat(300_000) }));
    stage.ask("1", big, yes_no());
    assert_eq!(stage.room.questions()[0].files, ["/a"], "all of it is there to be judged");
    stage.answer(1, "y");
    assert_eq!(stage.room.approved_diffs(&key())[0].new.len(), 300_000);
    let Body::Question(question) = &stage.entries()[2].body else { panic!() };
    assert!(question.diffs.is_empty());
}
