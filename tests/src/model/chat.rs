//! Chat completions: what the call says, and the answer, whole or streamed. Most agents speak this.
//!
//! Owns nothing. Called by the server for each `POST …/chat/completions`.

use std::net::TcpStream;

use serde_json::{Value, json};

use super::Said;
use super::asked::{Asked, Who, pieces, plain};
use super::http;

/// What was asked.
pub fn read(body: &Value) -> Asked {
    let tools = body["tools"].as_array().is_some_and(|tools| !tools.is_empty());
    let mut asked = Asked { tools, ..Asked::default() };
    for message in body["messages"].as_array().into_iter().flatten() {
        let who = match message["role"].as_str() {
            Some("user") => Who::User,
            Some("assistant") => Who::Model,
            Some("tool") => Who::Tool,
            _ => continue,
        };
        asked.push(who, &plain(&message["content"]));
    }
    asked
}

/// Answers with what the script says. `id` differs from call to call.
pub fn answer(stream: &TcpStream, body: &Value, said: &Said, id: usize) -> std::io::Result<()> {
    let calls = said.calls.iter().enumerate().map(|(i, (name, arguments))| {
        json!({"index": i, "id": format!("call_{id}_{i}"), "type": "function",
               "function": {"name": name, "arguments": arguments.to_string()}})
    });
    let calls: Vec<Value> = calls.collect();
    let finish = if calls.is_empty() { "stop" } else { "tool_calls" };
    let usage = json!({"prompt_tokens": 100, "completion_tokens": 20, "total_tokens": 120});
    if body["stream"] != true {
        let mut message = json!({"role": "assistant", "content": said.text});
        if !calls.is_empty() {
            message["tool_calls"] = calls.into();
        }
        let choice = json!({"index": 0, "message": message, "finish_reason": finish});
        return http::json(
            stream,
            200,
            &json!({"id": "scripted", "object": "chat.completion", "created": 1, "model": "scripted",
                    "choices": [choice], "usage": usage}),
        );
    }
    let mut events = http::Events::open(stream)?;
    let mut send = |choices: Value, usage: Value| {
        events.send(&json!({"id": "scripted", "object": "chat.completion.chunk", "created": 1,
                            "model": "scripted", "choices": choices, "usage": usage}))
    };
    let delta = |delta: Value, finish: Value| json!([{"index": 0, "delta": delta, "finish_reason": finish}]);
    send(delta(json!({"role": "assistant", "content": ""}), Value::Null), Value::Null)?;
    for piece in pieces(&said.thought) {
        send(delta(json!({"reasoning_content": piece}), Value::Null), Value::Null)?;
    }
    for piece in pieces(&said.text) {
        send(delta(json!({"content": piece}), Value::Null), Value::Null)?;
    }
    for call in calls {
        send(delta(json!({"tool_calls": [call]}), Value::Null), Value::Null)?;
    }
    send(delta(json!({}), finish.into()), Value::Null)?;
    send(json!([]), usage)?;
    events.done()
}
