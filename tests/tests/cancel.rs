//! Cancelling: everything open is answered at once, the turn ends once, and the next one starts clean.

use bosun_tests::Setup;
use bosun_tests::steps::*;
use serde_json::{Value, json};

fn tool(id: &str) -> Value {
    json!({"toolCallId": id, "title": format!("tool {id}"), "kind": "execute", "status": "pending"})
}

// B68
#[test]
fn a_cancel_answers_every_question_and_the_pending_write_and_the_session_goes_on() {
    let editor = Setup::new().file("a.txt", "one\n").start();
    let buf = editor.edit("a.txt");
    let agent = editor.script(&[
        auto(),
        prompt(),
        read(1, "a.txt"),
        answered(1),
        ask(11, tool("t1"), allow_or_reject()),
        ask(12, tool("t2"), allow_or_reject()),
        ask(13, tool("t3"), allow_or_reject()),
        write(14, "a.txt", "two\n"),
        expect("session/cancel"),
        answered_with(11, json!({"result": {"outcome": {"outcome": "cancelled"}}})),
        answered_with(12, json!({"result": {"outcome": {"outcome": "cancelled"}}})),
        answered_with(13, json!({"result": {"outcome": {"outcome": "cancelled"}}})),
        answered_with(14, json!({"error": {"code": -32800}})),
        // One that comes late is cancelled as well.
        ask(15, tool("t4"), allow_or_reject()),
        answered_with(15, json!({"result": {"outcome": {"outcome": "cancelled"}}})),
        stop("cancelled"),
        then_polite(),
    ]);
    let session = editor.ask("go");
    editor.await_pending(4);
    editor.exec("Bosun diff");
    editor.cancel(&session);
    assert_eq!(editor.turn_end(1), "cancelled");
    assert_eq!(editor.pending(), Vec::<Value>::new());
    editor.eventually("the diff is closed", || editor.lua("return #vim.api.nvim_list_tabpages()", &[]) == 1);
    assert_eq!(editor.lines(buf), ["one"]);
    assert_eq!(editor.disk("a.txt"), b"one\n");
    let record = agent.read();
    let line = |wanted: &dyn Fn(&Value) -> bool| {
        record.lines.iter().find(|l| wanted(&l["in"])).and_then(|l| l["t_ms"].as_f64()).expect("it came")
    };
    let cancelled = line(&|m| m["method"] == "session/cancel");
    for id in 11..=14 {
        let took = line(&|m| m["method"].is_null() && m["id"] == id) - cancelled;
        assert!(took < 200.0, "request {id} was answered {took} ms after the cancel");
    }
    editor.prompt(&session, "again");
    assert_eq!(editor.turn_end(2), "end_turn");
    editor.assert_sound(&agent);
}

// B70
#[test]
fn what_comes_after_a_cancel_belongs_to_its_own_turn() {
    let editor = Setup::new().file("a.txt", "one\n").start();
    let done = json!({
        "sessionUpdate": "tool_call_update", "toolCallId": "t", "title": "late edit", "status": "completed",
        "content": [{"type": "diff", "path": "$CWD/a.txt", "oldText": "one\n", "newText": "two\n"}],
    });
    let agent = editor.script(&[
        auto(),
        prompt(),
        say("before. "),
        update(json!({"sessionUpdate": "tool_call", "toolCallId": "t", "title": "late edit", "status": "in_progress"})),
        expect("session/cancel"),
        say("late one. "),
        say("late two. "),
        update(done),
        stop("cancelled"),
        say("after the end. "),
        prompt(),
        say("second turn."),
        end_turn(),
    ]);
    let session = editor.ask("first");
    editor.await_transcript(&session, "before.");
    editor.cancel(&session);
    editor.prompt(&session, "the next question");
    assert_eq!(editor.turn_end(1), "cancelled");
    assert_eq!(editor.turn_end(2), "end_turn");
    let text = editor.transcript(&session);
    let at = |what: &str| text.find(what).unwrap_or_else(|| panic!("{what} is missing: {text}"));
    assert!(at("late two.") < at("the next question"), "{text}");
    assert!(at("the next question") < at("second turn."), "{text}");
    at("after the end.");
    assert_eq!(editor.events("BosunTurnEnd").len(), 2);
    assert_eq!(agent.read().received("session/cancel").len(), 1);
    editor.assert_sound(&agent);
}

#[test]
fn a_second_cancel_and_a_cancel_of_an_idle_session_send_nothing() {
    let editor = Setup::new().start();
    let agent = editor.script(&[
        auto(),
        prompt(),
        expect("session/cancel"),
        stop("cancelled"),
        prompt(),
        say("undisturbed"),
        end_turn(),
    ]);
    let session = editor.ask("first");
    editor.await_state(&session, "running");
    editor.cancel(&session);
    editor.cancel(&session);
    assert_eq!(editor.turn_end(1), "cancelled");
    editor.await_state(&session, "idle");
    editor.cancel(&session);
    editor.prompt(&session, "second");
    assert_eq!(editor.turn_end(2), "end_turn");
    assert_eq!(agent.read().received("session/cancel").len(), 1);
    agent.read().assert_sound();
}

#[test]
fn any_answer_after_a_cancel_is_shown_as_cancelled() {
    for answer in [
        json!({"result": {"stopReason": "end_turn"}}),
        json!({"error": {"code": -32603, "message": "aborted"}}),
    ] {
        let mut reply = json!({"reply_to": "session/prompt"});
        reply.as_object_mut().expect("an object").extend(answer.as_object().expect("an object").clone());
        let editor = Setup::new().start();
        let agent = editor.script(&[auto(), prompt(), expect("session/cancel"), reply]);
        let session = editor.ask("go");
        editor.await_state(&session, "running");
        editor.cancel(&session);
        assert_eq!(editor.turn_end(1), "cancelled");
        assert!(!editor.transcript(&session).contains("aborted"));
        editor.assert_sound(&agent);
    }
}

#[test]
fn a_cancel_is_not_held_up_by_a_flood() {
    let editor = Setup::new().start();
    let flood = json!({"loop": [{"chunks": {"n": 200, "text": "flood %06d "}}, {"when_exists": "$CWD/stop", "then": [{"exit": 0}]}]});
    let agent = editor.script(&[auto(), prompt(), flood]);
    let session = editor.ask("go");
    editor.await_transcript(&session, "flood 000100");
    editor.cancel(&session);
    editor.eventually("the cancel reached the agent", || agent.read().received("session/cancel").len() == 1);
    assert_eq!(editor.state(&session), "cancelling");
    std::fs::write(editor.path("stop"), "").expect("a file");
    editor.turn_end(1);
    agent.read().assert_sound();
}

#[test]
fn a_cancel_before_the_session_is_there_sends_nothing_and_gives_the_prompt_back() {
    let editor = Setup::new().start();
    let go = editor.aside("go");
    let agent = editor.script(&[
        expect("initialize"),
        gate(&go),
        json!({"reply": {"protocolVersion": 1}}),
        expect("session/new"),
        json!({"reply": {"sessionId": "late"}}),
        then_polite(),
    ]);
    let session = editor.ask("do not send this");
    editor.await_state(&session, "starting");
    editor.cancel(&session);
    editor.open_gate(&go);
    editor.await_state(&session, "idle");
    editor.prompt(&session, "send this");
    assert_eq!(editor.turn_end(1), "end_turn");
    let prompts = agent.read().received("session/prompt");
    assert_eq!(prompts.len(), 1);
    assert_eq!(prompts[0]["params"]["prompt"][0]["text"], "send this");
    assert!(agent.read().received("session/cancel").is_empty());
    agent.read().assert_sound();
}
