//! Prompts, their queue, and cancelling.

use super::*;

#[test]
fn a_prompt_runs_a_turn() {
    let mut stage = Stage::idle();
    stage.prompt("go");
    assert_eq!(
        stage.take(),
        [
            "agent 1: prompt a1: go",
            r#"BosunTurnStart {"session":"s1","turn":1}"#,
            r#"BosunStateChanged {"session":"s1","state":"running"}"#
        ]
    );
    assert_eq!(stage.room.states()[0].turn, 1);
    stage.say("hi");
    stage.stop("end_turn");
    assert_eq!(
        stage.take(),
        [
            r#"BosunTurnEnd {"session":"s1","stop_reason":"end_turn"}"#,
            r#"BosunStateChanged {"session":"s1","state":"idle"}"#
        ]
    );
    stage.check(&["1 user \"go\"", "1 message \"hi\"", "1 end end_turn"]);
}

#[test]
fn prompts_wait_for_the_session_and_for_each_other() {
    let mut stage = Stage::starting();
    stage.prompt("one");
    stage.prompt("two");
    assert_eq!(stage.take_quiet(), [""; 0]);
    assert_eq!(stage.room.states()[0].queue, ["one", "two"]);
    stage.ready(1, "a1");
    assert_eq!(stage.room.states()[0].queue, ["two"]);
    stage.take();
    stage.stop("max_tokens");
    assert_eq!(
        stage.take(),
        [
            r#"BosunTurnEnd {"session":"s1","stop_reason":"max_tokens"}"#,
            "agent 1: prompt a1: two",
            r#"BosunTurnStart {"session":"s1","turn":2}"#
        ]
    );
    assert_eq!(stage.room.states()[0].queue, [""; 0]);
}

#[test]
fn an_empty_prompt_is_not_sent() {
    let mut stage = Stage::idle();
    stage.prompt(" \n");
    assert_eq!(stage.take(), ["notify warn: The prompt is empty."]);
    assert_eq!(stage.state(), "idle");
}

fn with_context(embedded: bool) -> Vec<Content> {
    let mut stage = Stage::starting();
    let context = |shown: &str, content| PromptContext { shown: shown.into(), content };
    stage.along = vec![
        context("a.rs", Content::Link { uri: "file:///a.rs".into(), name: "a.rs".into() }),
        context(
            "b\u{202e}.md:1-2",
            Content::Resource { uri: "file:///b.md".into(), text: "```\nx".into(), mime: None },
        ),
        context("", Content::Text("not named".into())),
    ];
    stage.prompt("/fix it");
    stage.initialized(
        1,
        AgentInfo { protocol_version: 1, embedded_context: embedded, ..AgentInfo::default() },
    );
    stage.made(1, "a1");
    stage.check(&["1 user \"/fix it\" [\"a.rs\", \"b<U+202E>.md:1-2\"]"]);
    stage.blocks
}

#[test]
fn context_goes_along_behind_the_text() {
    let blocks = with_context(true);
    assert_eq!(blocks[0], Content::Text("/fix it".into()));
    assert!(matches!(&blocks[1], Content::Link { .. }));
    assert!(matches!(&blocks[2], Content::Resource { .. }));
}

#[test]
fn a_resource_is_fenced_text_for_an_agent_that_takes_none() {
    let blocks = with_context(false);
    assert!(matches!(&blocks[1], Content::Link { .. }));
    assert_eq!(blocks[2], Content::Text("file:///b.md\n````\n```\nx\n````\n".into()));
}

#[test]
fn at_most_one_cancel_goes_out_per_turn_and_none_without_a_turn() {
    let mut stage = Stage::starting();
    stage.cancel();
    stage.ready(1, "a1");
    stage.take();
    stage.cancel();
    assert_eq!(stage.take(), [""; 0], "an idle cancel would poison an agent");
    stage.prompt("go");
    stage.take();
    stage.cancel();
    stage.cancel();
    assert_eq!(
        stage.take(),
        ["agent 1: cancel a1", r#"BosunStateChanged {"session":"s1","state":"cancelling"}"#]
    );
    stage.stop("cancelled");
    stage.cancel();
    assert_eq!(stage.take_quiet(), [""; 0]);
    stage.prompt("two");
    stage.take();
    stage.cancel();
    assert_eq!(stage.take_quiet(), ["agent 1: cancel a1"], "a new turn has its own");
}

#[test]
fn any_end_after_a_cancel_is_the_cancel() {
    for how in ["cancelled", "end_turn", "refusal", "weird", "error"] {
        let mut stage = Stage::running();
        stage.cancel();
        stage.take();
        match how {
            "error" => stage.fail(RpcError::new(-32603, "'NoneType' object has no attribute 'startswith'")),
            reason => stage.stop(reason),
        }
        assert_eq!(
            stage.take(),
            [
                r#"BosunTurnEnd {"session":"s1","stop_reason":"cancelled"}"#,
                r#"BosunStateChanged {"session":"s1","state":"idle"}"#
            ],
            "{how}"
        );
        stage.check(&["1 user \"go\"", "1 end cancelled"]);
    }
}

#[test]
fn a_cancel_hands_back_what_was_queued_and_what_comes_after_it_is_sent() {
    let mut stage = Stage::running();
    stage.prompt("before");
    stage.cancel();
    assert!(stage.take().contains(&"returned s1: \"before\" (Cancelled.)".to_owned()));
    stage.prompt("after");
    stage.cancel();
    stage.take();
    stage.fail(RpcError::new(-32603, "cancelled"));
    assert_eq!(stage.take_quiet(), ["agent 1: prompt a1: after"]);
}

#[test]
fn a_cancel_while_starting_hands_the_prompt_back_and_says_nothing_to_the_agent() {
    let mut stage = Stage::starting();
    stage.prompt("hello");
    stage.take();
    stage.cancel();
    assert_eq!(stage.take(), ["returned s1: \"hello\" (Cancelled.)"]);
    stage.ready(1, "a1");
    assert_eq!(stage.state(), "idle");
}

#[test]
fn a_turn_that_does_not_end_after_a_cancel_can_be_ended_with_the_agent() {
    let mut stage = Stage::running();
    stage.now = 5_000;
    stage.cancel();
    assert_eq!(stage.room.next_deadline(), Some(15_000));
    stage.take();
    stage.tick(14_999);
    assert_eq!(stage.transcript().len(), 1);
    stage.tick(15_000);
    stage.tick(20_000);
    assert_eq!(stage.room.next_deadline(), None);
    assert_eq!(stage.transcript().len(), 2, "it is said once");
    assert!(stage.transcript()[1].contains("Cancel once more to end the agent"));
    assert_eq!(stage.take(), [""; 0], "nothing happens by itself");
    stage.prompt("kept");
    stage.cancel();
    stage.cancel();
    let told = stage.take_quiet();
    assert_eq!(told[..2], ["agent 1: stop", "returned s1: \"kept\" (Cancelled.)"]);
    assert_eq!(told.len(), 2, "stopped once");
    // Even when the answer comes at last, nothing more is sent to an agent that is being ended.
    stage.prompt("later");
    stage.stop("cancelled");
    assert_eq!(stage.take_quiet(), [""; 0]);
    stage.exit(Exit { signal: Some(9), ..Exit::default() });
    assert!(stage.take().contains(&"returned s1: \"later\" (The agent has ended.)".to_owned()));
    assert!(stage.room.needs_restart(&key()));
}

#[test]
fn what_comes_late_belongs_to_the_turn_that_ended_until_the_next_begins() {
    let mut stage = Stage::running();
    stage.update(Update::ToolCall(titled("t", "T", ToolStatus::InProgress)));
    stage.cancel();
    for piece in ["a", "b", "c"] {
        stage.say(piece);
    }
    stage.update(Update::ToolCallUpdate(titled("t", "T", ToolStatus::Completed)));
    stage.stop("cancelled");
    stage.say("late");
    stage.say("r");
    stage.prompt("two");
    stage.say("fresh");
    assert_eq!(stage.state(), "running");
    stage.check(&[
        "1 user \"go\"",
        "1 tool t \"T\" completed",
        "1 message \"abc\"",
        "1 end cancelled",
        "1 message \"later\"",
        "2 user \"two\"",
        "2 message \"fresh\" open",
    ]);
}

#[test]
fn a_second_answer_to_one_prompt_ends_no_other_turn() {
    let mut stage = Stage::running();
    let first = stage.call;
    stage.stop("end_turn");
    stage.prompt("two");
    stage.take();
    stage.reply(1, first, prompt_result("cancelled", "{}"));
    stage.reply(1, first, Err(RpcError::new(-1, "again")));
    stage.reply(2, stage.call, prompt_result("cancelled", "{}"));
    stage.reply(1, 9999, prompt_result("end_turn", "{}"));
    assert_eq!(stage.take(), [""; 0]);
    assert_eq!(stage.state(), "running");
}

#[test]
fn a_cancel_in_one_session_leaves_the_others_alone() {
    let mut stage = Stage::running();
    stage.create("s2", 2);
    stage.ready(2, "a1");
    let second = SessionKey::new("s2");
    let effects = stage.room.prompt(&second, "two".into(), Vec::new(), 0);
    stage.play(effects);
    stage.ask_on(2, "a1", "3", titled("t", "T", ToolStatus::Pending), yes_no());
    stage.take();
    stage.cancel();
    assert_eq!(stage.take_quiet(), ["agent 1: cancel a1"]);
    assert_eq!(stage.room.states()[1].state, "waiting");
}

#[test]
fn facts_that_agents_tell_are_kept_for_queries() {
    let mut stage = Stage::running();
    assert_eq!(stage.room.states()[0].title, "go", "the first prompt until there is a better one");
    stage.room.take_state_changed();
    stage.update(Update::Info { title: Patch::Set("Ti\u{1b}tle".into()) });
    assert!(stage.room.take_state_changed());
    stage.update(Update::Usage { used: 10, size: 100, cost: Some("0.1 USD".into()) });
    stage.update(Update::Usage { used: 20, size: 100, cost: None });
    stage.update(Update::Mode("plan".into()));
    let command = Command { name: "memory show".into(), description: "d".into(), hint: None };
    stage.update(Update::Commands(vec![command]));
    let state = stage.room.states().remove(0);
    assert_eq!(state.title, "Ti^[tle");
    assert_eq!((state.usage, state.cost.as_deref()), (Some((20, 100)), Some("0.1 USD")));
    assert_eq!(state.mode.as_deref(), Some("plan"));
    assert_eq!(state.commands, [("memory show".into(), "d".into(), None)]);
    stage.update(Update::Info { title: Patch::Clear });
    assert_eq!(stage.room.states()[0].title, "go");
    stage.check(&["1 user \"go\""]);
}

#[test]
fn facts_may_come_outside_a_turn_and_the_mode_also_as_an_option() {
    let mut stage = Stage::idle();
    let options = r#"[{"id":"m","category":"model","currentValue":"x"},
                      {"id":"mode","category":"mode","currentValue":"acceptEdits"}]"#;
    stage.update(Update::ConfigOptions(options.into()));
    assert_eq!(stage.room.states()[0].mode.as_deref(), Some("acceptEdits"));
    stage.update(Update::ConfigOptions("nonsense".into()));
    assert_eq!(stage.room.states()[0].mode.as_deref(), Some("acceptEdits"));
}
