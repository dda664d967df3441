//! The scripted model by itself: which rule and turn it picks, and that a plain client reads its stream.

use std::io::{Read, Write};

use super::*;

fn ask(messages: Value) -> Value {
    json!({"stream": true, "tools": [{"type": "function"}], "messages": messages})
}

fn check(messages: Value, expected: &str) {
    let rules = [
        Rule::new("[[a]]", [Said::text("first"), Said::text("saw {last_tool}")]),
        Rule::new("[[b]]", [Said::text("other")]),
    ];
    assert_eq!(choose(&rules, &ask(messages.clone())).text, expected, "{messages}");
}

#[test]
fn the_newest_marker_picks_the_rule_and_the_answers_after_it_pick_the_turn() {
    let user = |text: &str| json!({"role": "user", "content": text});
    let parts = json!({"role": "user", "content": [{"type": "text", "text": "do [[a]]"}]});
    let called = json!({"role": "assistant", "content": "", "tool_calls": []});
    let result = json!({"role": "tool", "content": "the file"});
    check(json!([user("do [[a]]")]), "first");
    check(json!([parts]), "first");
    check(json!([user("do [[a]]"), user("unmarked context")]), "first");
    check(json!([user("do [[a]]"), called, result]), "saw the file");
    check(json!([user("do [[a]]"), called, result, user("now [[b]]")]), "other");
    check(json!([user("nothing")]), "The script has no rule for this prompt.");
    check(json!([user("do [[b]]"), called]), "The script is at its end.");
}

#[test]
fn the_stream_holds_thought_text_and_calls_and_is_recorded() {
    let said = Said { text: "a text that is long".into(), ..Said::call("edit_file", json!({"path": "x"})) };
    let server = ModelServer::start(vec![Rule::new("[[a]]", [said.thinking("hm, a thought")])], 0).unwrap();
    let body = ask(json!([{"role": "user", "content": "[[a]]"}])).to_string();
    let mut stream = TcpStream::connect(server.addr).unwrap();
    write!(stream, "POST /v1/chat/completions HTTP/1.1\r\nContent-Length: {}\r\n\r\n{body}", body.len())
        .unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    let events = answer.lines().filter_map(|l| l.strip_prefix("data: ")).filter(|l| *l != "[DONE]");
    let events: Vec<Value> = events.map(|l| serde_json::from_str(l).unwrap()).collect();
    let join = |key: &str| {
        let deltas = events.iter().filter_map(|e| e["choices"][0]["delta"][key].as_str());
        deltas.collect::<String>()
    };
    assert_eq!(join("reasoning_content"), "hm, a thought");
    assert_eq!(join("content"), "a text that is long");
    assert!(answer.contains("edit_file") && answer.contains("\"finish_reason\":\"tool_calls\""));
    assert!(answer.ends_with("data: [DONE]\n\n"));
    assert_eq!(server.requests().len(), 1);
}
