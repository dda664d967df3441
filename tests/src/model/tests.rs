//! The scripted model by itself: which rule and turn it picks, and that a plain client reads its streams.

use std::io::{Read, Write};

use super::*;

fn rules() -> [Rule; 2] {
    [
        Rule::new("[[a]]", [Said::text("first"), Said::text("saw {last_tool}")]),
        Rule::new("[[b]]", [Said::text("other")]),
    ]
}

fn check(read: super::Read, body: Value, expected: &str) {
    assert_eq!(read(&body).answer(&rules()).text, expected, "{body}");
}

#[test]
fn the_newest_marker_picks_the_rule_and_the_answers_after_it_pick_the_turn() {
    let check = |messages: Value, expected: &str| {
        check(chat::read, json!({"tools": [{"type": "function"}], "messages": messages}), expected);
    };
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
fn a_call_without_tools_is_a_side_question() {
    let marked = json!([{"role": "user", "content": "a title for: do [[a]]"}]);
    check(chat::read, json!({"messages": marked}), "Scripted title");
    check(messages::read, json!({"messages": marked, "tools": []}), "Scripted title");
    check(responses::read, json!({"input": marked}), "Scripted title");
}

#[test]
fn results_of_tools_are_found_where_each_api_has_them() {
    let called = json!({"role": "assistant", "content": [{"type": "tool_use", "id": "1", "name": "Read"}]});
    let part = json!({"type": "tool_result", "content": [{"type": "text", "text": "the file"}]});
    let said = json!([{"role": "user", "content": "do [[a]]"}, called, {"role": "user", "content": [part]}]);
    check(messages::read, json!({"tools": [{"name": "Read"}], "messages": said}), "saw the file");

    let prompt =
        json!({"type": "message", "role": "user", "content": [{"type": "input_text", "text": "[[a]]"}]});
    // One answer in three pieces.
    let said = json!([
        prompt,
        {"type": "reasoning", "summary": []},
        {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "so"}]},
        {"type": "custom_tool_call", "call_id": "1", "name": "exec", "input": "x"},
        {"type": "custom_tool_call_output", "call_id": "1", "output": "the file"},
    ]);
    check(responses::read, json!({"tools": [{"type": "custom"}], "input": said}), "saw the file");
    let late = json!([{"type": "additional_tools", "tools": [{"type": "custom"}]}, prompt]);
    check(responses::read, json!({"tools": [], "input": late}), "first");
}

/// Asks a server, as a plain client would: all that it sends, and the events in it.
fn ask(server: &ModelServer, path: &str, body: &Value) -> (String, Vec<Value>) {
    let body = body.to_string();
    let mut stream = TcpStream::connect(server.addr).unwrap();
    write!(stream, "POST {path} HTTP/1.1\r\nContent-Length: {}\r\n\r\n{body}", body.len()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    let events = answer.lines().filter_map(|l| l.strip_prefix("data: ")).filter(|l| *l != "[DONE]");
    let events = events.map(|l| serde_json::from_str(l).unwrap()).collect();
    (answer, events)
}

/// A server that thinks, says something and calls a tool.
fn server(arguments: Value) -> ModelServer {
    let said = Said { text: "a text that is long".into(), ..Said::call("edit_file", arguments) };
    ModelServer::start(vec![Rule::new("[[a]]", [said.thinking("hm, a thought")])], 0).unwrap()
}

/// The texts at a place in the events, one after the other.
fn joined(events: &[Value], pointer: &str) -> String {
    events.iter().filter_map(|e| e.pointer(pointer)?.as_str()).collect()
}

#[test]
fn the_stream_of_chat_completions_holds_thought_text_and_calls_and_is_recorded() {
    let server = server(json!({"path": "x"}));
    let messages = json!([{"role": "user", "content": "[[a]]"}]);
    let body = json!({"stream": true, "tools": [{"type": "function"}], "messages": messages});
    let (answer, events) = ask(&server, "/v1/chat/completions", &body);
    assert_eq!(joined(&events, "/choices/0/delta/reasoning_content"), "hm, a thought");
    assert_eq!(joined(&events, "/choices/0/delta/content"), "a text that is long");
    assert_eq!(joined(&events, "/choices/0/delta/tool_calls/0/function/name"), "edit_file");
    assert_eq!(joined(&events, "/choices/0/finish_reason"), "tool_calls");
    assert!(answer.ends_with("data: [DONE]\n\n"));
    assert_eq!(server.requests(), [body]);
}

#[test]
fn the_stream_of_messages_holds_thought_text_and_calls() {
    let server = server(json!({"path": "x"}));
    let messages = json!([{"role": "user", "content": "[[a]]"}]);
    let body = json!({"stream": true, "model": "m", "tools": [{"name": "t"}], "messages": messages});
    let (answer, events) = ask(&server, "/v1/messages", &body);
    assert_eq!(joined(&events, "/delta/thinking"), "hm, a thought");
    assert_eq!(joined(&events, "/delta/text"), "a text that is long");
    assert_eq!(joined(&events, "/content_block/name"), "edit_file");
    assert_eq!(joined(&events, "/delta/partial_json"), r#"{"path":"x"}"#);
    assert_eq!(joined(&events, "/delta/stop_reason"), "tool_use");
    assert!(answer.contains("\nevent: message_stop\n"), "{answer}");
}

#[test]
fn the_stream_of_responses_holds_thought_text_and_calls() {
    let messages = json!([{"type": "message", "role": "user", "content": "[[a]]"}]);
    let body = json!({"stream": true, "model": "m", "tools": [{"type": "custom"}], "input": messages});
    for (arguments, kind) in [(json!({"path": "x"}), "function_call"), (json!("text(1)"), "custom_tool_call")]
    {
        let (_, events) = ask(&server(arguments), "/v1/responses", &body);
        let of = |kind: &str| events.iter().filter(|e| e["type"] == kind).cloned().collect::<Vec<_>>();
        let thought = of("response.reasoning_summary_text.delta");
        assert_eq!(joined(&thought, "/delta"), "hm, a thought");
        assert_eq!(joined(&of("response.output_text.delta"), "/delta"), "a text that is long");
        let done = of("response.output_item.done");
        assert_eq!(done[2]["item"]["type"], kind);
        assert_eq!(
            joined(&done, "/item/arguments") + &joined(&done, "/item/input"),
            if kind == "function_call" { r#"{"path":"x"}"# } else { "text(1)" }
        );
        assert_eq!(events.last().unwrap()["response"]["output"].as_array().map(Vec::len), Some(3));
    }
}

#[test]
fn what_the_model_is_not_there_for_is_refused_and_noted() {
    let server = server(json!({}));
    let (answer, _) = ask(&server, "/v1/embeddings", &json!({}));
    assert!(answer.starts_with("HTTP/1.1 404 "), "{answer}");
    assert_eq!(server.refused(), ["POST /v1/embeddings"]);
}
