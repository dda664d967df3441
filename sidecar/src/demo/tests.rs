//! Tests of the demo agent: the reading of prompts, the change of texts, and whole turns against a host in the test.

use std::io::{BufReader, PipeWriter, Write, pipe};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};

use super::edit::{Changed, apply};
use super::words::{Change, Wish, context_file, wish};
use super::*;

fn replace(from: &str, to: &str) -> Change {
    Change::Replace { from: from.into(), to: to.into() }
}

fn edit(change: Change, file: Option<&str>) -> Wish {
    Wish::Edit { change, file: file.map(String::from) }
}

#[test]
fn a_prompt_is_read_as_a_few_plain_sentences() {
    let check = |text: &str, expected: Wish| assert_eq!(wish(text), expected, "{text}");
    check("replace morning with evening in greet.py", edit(replace("morning", "evening"), Some("greet.py")));
    check("Replace a WITH b", edit(replace("a", "b"), None));
    check("please replace \"two words\" with 'x y' in \"my file.txt\"", {
        edit(replace("two words", "x y"), Some("my file.txt"))
    });
    check("replace `a` with `` in b.", edit(replace("a", ""), Some("b")));
    check("replace “a” with “b”.", edit(replace("a", "b"), None));
    check("replace two words with one", Wish::Other);
    check("replace a with b and c", Wish::Other);
    check("replace \"a with b", Wish::Other);
    check("replaced a with b", Wish::Other);
    let line = |text: &str| Change::Append { text: text.into() };
    check("append the end to notes.txt", edit(line("the end"), Some("notes.txt")));
    check("append I want to go", edit(line("I want to go"), None));
    check("append \"x\" to Makefile", edit(line("x"), Some("Makefile")));
    check("append", Wish::Other);
    let plan = |steps: &[&str]| Wish::Plan(steps.iter().map(ToString::to_string).collect());
    check("plan read it, then change it and report.", plan(&["read it", "change it and report"]));
    check("explain", Wish::Other);
    check("", Wish::Other);
}

#[test]
fn the_file_of_the_context_is_found_behind_its_uri() {
    let check = |block: Value, expected: Option<&str>| {
        assert_eq!(context_file(&json!([{"type": "text", "text": "x"}, block])).as_deref(), expected);
    };
    check(
        json!({"type": "resource_link", "uri": "file:///a%20b/%C3%BC%25.txt", "name": "x"}),
        Some("/a b/ü%.txt"),
    );
    check(json!({"type": "resource", "resource": {"uri": "file:///a#L3-4", "text": "x"}}), Some("/a"));
    check(json!({"type": "resource_link", "uri": "https://x/y", "name": "x"}), None);
    check(json!({"type": "image", "data": "", "mimeType": "image/png"}), None);
}

#[test]
fn a_change_says_where_it_was_made() {
    let check = |change: Change, old: &str, expected: Option<(&str, usize, &[usize])>| {
        let expected = expected.map(|(text, places, lines)| Changed {
            text: text.into(),
            places,
            lines: lines.to_vec(),
        });
        assert_eq!(apply(&change, old), expected, "{change:?} in {old:?}");
    };
    check(replace("a", "b"), "a\nx\na a\n", Some(("b\nx\nb b\n", 3, &[1, 3])));
    check(replace("a\nb", "c"), "x\na\nb\n", Some(("x\nc\n", 1, &[2])));
    check(replace("a", "b"), "x\n", None);
    check(replace("a", "a"), "a\n", None);
    let line = |text: &str| Change::Append { text: text.into() };
    check(line("c"), "a\nb\n", Some(("a\nb\nc\n", 1, &[3])));
    check(line("c"), "a", Some(("a\nc\n", 1, &[2])));
    check(line("c"), "", Some(("c\n", 1, &[1])));
}

/// A host in the test: sends lines, looks at what comes.
struct Host {
    input: Option<PipeWriter>,
    lines: Receiver<Value>,
    /// All that came, in order.
    seen: Vec<Value>,
}

impl Host {
    fn start(delay: Duration) -> Self {
        let (read, write) = pipe().expect("a pipe");
        let (send, lines) = channel();
        let out = Out(Arc::new(move |line| {
            let _ = send.send(serde_json::from_str(line).expect("JSON"));
        }));
        std::thread::spawn(move || serve(BufReader::new(read), out, delay));
        Self { input: Some(write), lines, seen: Vec::new() }
    }

    /// A host with a session in /p, and a prompt sent as request 9.
    fn prompted(text: &str) -> Self {
        let mut host = Self::start(Duration::ZERO);
        host.send(json!({"id": 1, "method": "initialize", "params": {"protocolVersion": 1}}));
        host.send(json!({"id": 2, "method": "session/new", "params": {"cwd": "/p", "mcpServers": []}}));
        assert_eq!(host.until(|m| m["id"] == 2)["result"]["sessionId"], "demo-1");
        host.prompt(9, text);
        host
    }

    fn send(&mut self, mut message: Value) {
        message["jsonrpc"] = "2.0".into();
        writeln!(self.input.as_ref().expect("open"), "{message}").expect("the agent reads");
    }

    fn prompt(&mut self, id: u64, text: &str) {
        let prompt = json!([{"type": "text", "text": text}]);
        self.send(
            json!({"id": id, "method": "session/prompt", "params": {"sessionId": "demo-1", "prompt": prompt}}),
        );
    }

    /// The next message for which it holds.
    fn until(&mut self, holds: impl Fn(&Value) -> bool) -> Value {
        loop {
            let message = self.lines.recv_timeout(Duration::from_secs(10)).expect("a message in time");
            self.seen.push(message.clone());
            if holds(&message) {
                return message;
            }
        }
    }

    /// Waits for a request of the agent; returns its parameters after answering it.
    fn serve(&mut self, method: &str, answer: Value) -> Value {
        let request = self.until(|m| m["method"] == method);
        let mut reply = json!({"id": request["id"]});
        let (key, value) = answer.as_object().and_then(|a| a.iter().next()).expect("result or error");
        reply[key] = value.clone();
        self.send(reply);
        request["params"].clone()
    }

    /// The stop reason of prompt 9.
    fn end(&mut self) -> String {
        self.until(|m| m["id"] == 9 && m.get("method").is_none())["result"]["stopReason"]
            .as_str()
            .unwrap_or("")
            .into()
    }

    fn said(&self) -> String {
        let updates = self.seen.iter().map(|m| &m["params"]["update"]);
        let chunks = updates.filter(|u| u["sessionUpdate"] == "agent_message_chunk");
        chunks.filter_map(|u| u["content"]["text"].as_str()).collect()
    }

    fn statuses(&self, tool: &str) -> Vec<&str> {
        let updates = self.seen.iter().map(|m| &m["params"]["update"]).filter(|u| u["toolCallId"] == tool);
        updates.filter_map(|u| u["status"].as_str()).collect()
    }
}

const GREETING: &str = "one\nGood morning\n";

fn allowed() -> Value {
    json!({"result": {"outcome": {"outcome": "selected", "optionId": "allow"}}})
}

#[test]
fn an_edit_reads_asks_writes_and_reports() {
    let mut host = Host::prompted("replace morning with evening in a.txt");
    let read = host.serve("fs/read_text_file", json!({"result": {"content": GREETING}}));
    assert_eq!(read, json!({"path": "/p/a.txt", "sessionId": "demo-1"}));
    let asked = host.serve("session/request_permission", allowed());
    let new = "one\nGood evening\n";
    let diff = json!({"type": "diff", "path": "/p/a.txt", "oldText": GREETING, "newText": new});
    assert_eq!(asked["toolCall"]["content"], json!([diff]));
    assert_eq!(asked["options"][0]["kind"], "allow_once");
    assert_eq!(asked["options"][1]["kind"], "reject_once");
    let written = host.serve("fs/write_text_file", json!({"result": null}));
    assert_eq!(written["content"], new);
    assert_eq!(host.end(), "end_turn");
    assert!(host.said().ends_with("Replaced 1 place in `a.txt`: line 2."), "{}", host.said());
    assert_eq!(host.statuses("read-1"), ["in_progress", "completed"]);
    assert_eq!(host.statuses("edit-1"), ["pending", "in_progress", "completed"]);
    let plans: Vec<_> =
        host.seen.iter().map(|m| &m["params"]["update"]).filter(|u| u["entries"].is_array()).collect();
    assert!(plans.last().is_some_and(|p| p["entries"][2]["status"] == "completed"), "{plans:?}");
}

#[test]
fn what_is_not_there_is_not_replaced() {
    let mut host = Host::prompted("replace night with evening in a.txt");
    host.serve("fs/read_text_file", json!({"result": {"content": GREETING}}));
    assert_eq!(host.end(), "end_turn");
    assert!(host.said().contains("`night` does not occur in `a.txt`"), "{}", host.said());
    assert!(!host.seen.iter().any(|m| m["method"] == "session/request_permission"));
}

#[test]
fn a_no_an_unanswered_question_and_an_error_change_nothing() {
    let check = |answer: Value, said: &str| {
        let mut host = Host::prompted("append x to a.txt");
        host.serve("fs/read_text_file", json!({"result": {"content": GREETING}}));
        host.serve("session/request_permission", answer);
        assert_eq!(host.end(), "end_turn");
        assert!(host.said().contains(said), "{}", host.said());
        assert_eq!(host.statuses("edit-1").last(), Some(&"failed"));
        assert!(!host.seen.iter().any(|m| m["method"] == "fs/write_text_file"));
    };
    check(
        json!({"result": {"outcome": {"outcome": "selected", "optionId": "reject"}}}),
        "you rejected the change",
    );
    check(json!({"result": {"outcome": {"outcome": "cancelled"}}}), "closed without an answer");
    check(json!({"error": {"code": -32603, "message": "no screen"}}), "no screen");
}

#[test]
fn the_hosts_words_are_shown_when_it_refuses_to_read_or_to_write() {
    let mut host = Host::prompted("append x to a.txt");
    host.serve("fs/read_text_file", json!({"error": {"code": -32002, "message": "no such file: /p/a.txt"}}));
    assert_eq!(host.end(), "end_turn");
    assert!(host.said().contains("no such file: /p/a.txt"), "{}", host.said());

    let mut host = Host::prompted("append x to a.txt");
    host.serve("fs/read_text_file", json!({"result": {"content": ""}}));
    host.serve("session/request_permission", allowed());
    host.serve("fs/write_text_file", json!({"error": {"code": -32603, "message": "read-only"}}));
    assert_eq!(host.end(), "end_turn");
    assert!(host.said().contains("read-only"), "{}", host.said());
    assert_eq!(host.statuses("edit-1").last(), Some(&"failed"));
}

#[test]
fn a_cancel_ends_the_turn_also_while_a_question_is_open() {
    for (method, before) in [("fs/read_text_file", false), ("session/request_permission", true)] {
        let mut host = Host::prompted("append x to a.txt");
        if before {
            host.serve("fs/read_text_file", json!({"result": {"content": GREETING}}));
        }
        let open = host.until(|m| m["method"] == method);
        host.send(json!({"method": "session/cancel", "params": {"sessionId": "demo-1"}}));
        assert_eq!(host.end(), "cancelled");
        // The answer that comes too late is for nobody, and the next turn is a turn of its own.
        host.send(json!({"id": open["id"], "result": {"outcome": {"outcome": "cancelled"}}}));
        host.prompt(9, "plan one, two");
        assert_eq!(host.end(), "end_turn");
        assert!(host.said().contains("All 2 steps"), "{}", host.said());
    }
}

#[test]
fn a_cancel_stops_the_stream() {
    let mut host = Host::start(Duration::from_secs(60));
    host.send(json!({"id": 2, "method": "session/new", "params": {"cwd": "/p"}}));
    host.prompt(9, "explain");
    host.until(|m| m["method"] == "session/update");
    host.send(json!({"method": "session/cancel", "params": {"sessionId": "demo-1"}}));
    assert_eq!(host.end(), "cancelled");
}

#[test]
fn one_turn_of_a_session_runs_at_a_time_and_sessions_do_not_wait_for_each_other() {
    let mut host = Host::prompted("append x to a.txt");
    let read = host.until(|m| m["method"] == "fs/read_text_file");
    host.prompt(10, "explain");
    assert_eq!(host.until(|m| m["id"] == 10)["error"]["code"], -32600);
    host.send(json!({"id": 3, "method": "session/new", "params": {"cwd": "/q"}}));
    assert_eq!(host.until(|m| m["id"] == 3)["result"]["sessionId"], "demo-2");
    let other = json!({"sessionId": "demo-2", "prompt": [{"type": "text", "text": "explain"}]});
    host.send(json!({"id": 11, "method": "session/prompt", "params": other}));
    assert_eq!(host.until(|m| m["id"] == 11)["result"]["stopReason"], "end_turn");
    host.send(json!({"id": read["id"], "error": {"code": -32603, "message": "later"}}));
    assert_eq!(host.end(), "end_turn");
}

#[test]
fn without_a_file_it_asks_for_one() {
    let mut host = Host::prompted("replace a with b");
    assert_eq!(host.end(), "end_turn");
    assert!(host.said().contains("Which file?"), "{}", host.said());
}

#[test]
fn odd_messages_get_an_error_or_silence() {
    let mut host = Host::start(Duration::ZERO);
    let mut check = |line: Value, code: i64| {
        host.send(line);
        assert_eq!(host.until(|m| m["id"] == "x")["error"]["code"], code);
    };
    check(json!({"id": "x", "method": "terminal/create", "params": {}}), -32601);
    check(json!({"id": "x", "method": "session/new", "params": {"cwd": "relative"}}), -32602);
    check(
        json!({"id": "x", "method": "session/prompt", "params": {"sessionId": "demo-7", "prompt": []}}),
        -32002,
    );
    host.send(json!({"method": "session/whatever", "params": {}}));
    host.send(json!({"id": 77, "result": {}}));
    writeln!(host.input.as_ref().expect("open"), "{{\n").expect("the agent reads");
    assert_eq!(host.until(|m| m["id"].is_null())["error"]["code"], -32700);
    assert_eq!(host.seen.len(), 4);
}

#[test]
fn it_leaves_when_its_input_ends_also_in_the_middle_of_a_turn() {
    let mut host = Host::prompted("append x to a.txt");
    host.until(|m| m["method"] == "fs/read_text_file");
    drop(host.input.take());
    // All ends of the way out are gone once both threads are.
    assert_eq!(host.lines.recv_timeout(Duration::from_secs(10)), Err(RecvTimeoutError::Disconnected));
}
