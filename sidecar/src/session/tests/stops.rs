//! How a turn that was not cancelled ends, and what a person reads then.

use super::*;

/// Ends a turn in which something was said, and checks the entry and the event.
#[track_caller]
fn check(reason: &str, entry: &str, word: &str) {
    let mut stage = Stage::running();
    stage.say("x");
    stage.take();
    stage.stop(reason);
    assert_eq!(stage.transcript()[2], format!("1 {entry}"));
    assert_eq!(stage.take()[0], format!(r#"BosunTurnEnd {{"session":"s1","stop_reason":"{word}"}}"#));
    assert_eq!(stage.state(), "idle");
    assert_eq!(stage.transcript()[0], "1 user \"go\"", "the prompt can be had again");
}

#[test]
fn every_stop_reason_reads_differently() {
    check("end_turn", "end end_turn", "end_turn");
    check("cancelled", "end cancelled", "cancelled");
    check(
        "max_tokens",
        "end max_tokens [\"The agent reached its limit of tokens; the answer may be incomplete.\"]",
        "max_tokens",
    );
    check(
        "max_turn_requests",
        "end max_turn_requests [\"The agent reached its limit of requests in one turn; ask it to go on.\"]",
        "max_turn_requests",
    );
    check(
        "refusal",
        "end refusal [\"The agent refused, and will not remember this exchange. Your prompt is kept above.\"]",
        "refusal",
    );
    check(
        "new_reason",
        "end new_reason [\"The agent stopped for a reason of its own: new_reason\"]",
        "new_reason",
    );
}

#[test]
fn a_turn_in_which_nothing_was_said_says_so() {
    let mut stage = Stage::running();
    stage.say("");
    stage.update(chunk(Role::User, None, "go"));
    stage.update(Update::Usage { used: 1, size: 2, cost: None });
    stage.stop("end_turn");
    assert_eq!(
        stage.transcript()[1],
        "1 end end_turn [\"The agent ended the turn without saying anything.\"] [context 1 of 2 tokens]"
    );
}

/// Fails a turn and checks the lines a person reads.
#[track_caller]
fn check_error(message: &str, data: Option<&str>, lines: &[&str]) {
    let mut stage = Stage::running();
    stage.say("x");
    stage.fail(RpcError { code: -32603, message: message.into(), data: data.map(Into::into) });
    assert_eq!(stage.transcript()[2], format!("1 end error {lines:?}"));
    assert_eq!(stage.state(), "idle");
    stage.take();
    stage.prompt("next");
    assert_eq!(stage.take_quiet(), ["agent 1: prompt a1: next"], "the session stays usable");
}

#[test]
fn an_error_shows_its_message_and_what_its_data_adds() {
    check_error("no", None, &["no"]);
    check_error("Internal error", Some(r#"{"details":"bad key"}"#), &["Internal error", "bad key"]);
    check_error("Internal error", Some(r#"{"message":"bad\nkey"}"#), &["Internal error", "bad", "key"]);
    check_error("Internal error", Some(r#""why""#), &["Internal error", "why"]);
    check_error("same", Some(r#"{"details":"same"}"#), &["same"]);
    check_error("no", Some("17"), &["no"]);
    check_error("no", Some("broken"), &["no"]);
    check_error("no\u{1b}[2K", Some("null"), &["no^[[2K"]);
    check_error("", None, &["error -32603"]);
    check_error(r#"{"error":{"code":400,"message":"quota"}}"#, None, &["quota"]);
}

#[test]
fn a_failed_turn_hands_back_what_was_queued() {
    let mut stage = Stage::running();
    stage.prompt("a");
    stage.prompt("b");
    stage.take();
    stage.fail(RpcError::new(-32603, "no"));
    assert_eq!(stage.take_quiet(), ["returned s1: \"a\\n\\nb\" (The turn before it did not end well.)"]);
    assert_eq!(stage.state(), "idle");
}

#[test]
fn a_turn_that_the_agent_cancelled_hands_back_what_was_queued() {
    let mut stage = Stage::running();
    stage.prompt("a");
    stage.take();
    stage.stop("cancelled");
    assert_eq!(stage.take_quiet(), ["returned s1: \"a\" (The turn before it did not end well.)"]);
}

#[test]
fn an_answer_of_the_wrong_kind_is_an_error() {
    let mut stage = Stage::running();
    stage.reply(1, stage.call, Ok(CallResult::NewSession { session: "x".into(), raw: "{}".into() }));
    assert!(stage.transcript()[1].starts_with("1 end error"), "{:?}", stage.transcript());
    assert_eq!(stage.state(), "idle");
}

#[test]
fn token_counts_stand_at_the_end_of_the_turn() {
    let mut stage = Stage::running();
    stage.say("x");
    stage.update(Update::Usage { used: 5, size: 100, cost: Some("0.02 USD".into()) });
    let raw = r#"{"stopReason":"end_turn","usage":{"inputTokens":3,"outputTokens":2,"totalTokens":5}}"#;
    stage.reply(1, stage.call, prompt_result("end_turn", raw));
    assert_eq!(
        stage.transcript()[2],
        "1 end end_turn [3 tokens in, 2 out, context 5 of 100 tokens, 0.02 USD]"
    );
    stage.prompt("more");
    stage.reply(1, stage.call, prompt_result("end_turn", r#"{"usage":null}"#));
    assert!(stage.transcript()[4].ends_with("[context 5 of 100 tokens, 0.02 USD]"));
}
