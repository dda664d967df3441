//! Anthropic's messages: what the call says, and the answer, whole or streamed. Claude speaks this.
//!
//! Owns nothing. Called by the server for each `POST …/messages`.

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
        if message["role"] == "assistant" {
            asked.push(Who::Model, &plain(&message["content"]));
            continue;
        }
        // Results of tools come in the user's name, beside text of the user's own.
        for part in message["content"].as_array().into_iter().flatten() {
            if part["type"] == "tool_result" {
                asked.push(Who::Tool, &plain(&part["content"]));
            }
        }
        let text = plain(&message["content"]);
        if message["role"] == "user" && !text.is_empty() {
            asked.push(Who::User, &text);
        }
    }
    asked
}

/// The blocks of an answer; arguments of tools are in `input`.
fn blocks(said: &Said, id: usize) -> Vec<Value> {
    let mut blocks = Vec::new();
    if !said.thought.is_empty() {
        blocks.push(json!({"type": "thinking", "thinking": said.thought, "signature": "scripted"}));
    }
    if !said.text.is_empty() {
        blocks.push(json!({"type": "text", "text": said.text}));
    }
    blocks.extend(said.calls.iter().enumerate().map(|(i, (name, arguments))| {
        json!({"type": "tool_use", "id": format!("toolu_{id}_{i}"), "name": name, "input": arguments})
    }));
    blocks
}

/// Answers with what the script says. `id` differs from call to call.
pub fn answer(stream: &TcpStream, body: &Value, said: &Said, id: usize) -> std::io::Result<()> {
    let stop = if said.calls.is_empty() { "end_turn" } else { "tool_use" };
    let usage = json!({"input_tokens": 100, "output_tokens": 20,
                       "cache_creation_input_tokens": 0, "cache_read_input_tokens": 0});
    let blocks = blocks(said, id);
    let mut message = json!({"id": format!("msg_{id}"), "type": "message", "role": "assistant",
                             "model": body["model"], "content": [], "stop_reason": null,
                             "stop_sequence": null, "usage": usage});
    if body["stream"] != true {
        message["content"] = blocks.into();
        message["stop_reason"] = stop.into();
        return http::json(stream, 200, &message);
    }
    let mut events = http::Events::open(stream)?;
    events.send_typed(&json!({"type": "message_start", "message": message}))?;
    for (index, block) in blocks.iter().enumerate() {
        let (start, deltas) = streamed(block);
        events.send_typed(&json!({"type": "content_block_start", "index": index, "content_block": start}))?;
        for delta in deltas {
            events.send_typed(&json!({"type": "content_block_delta", "index": index, "delta": delta}))?;
        }
        events.send_typed(&json!({"type": "content_block_stop", "index": index}))?;
    }
    let delta = json!({"stop_reason": stop, "stop_sequence": null});
    events.send_typed(&json!({"type": "message_delta", "delta": delta, "usage": usage}))?;
    events.send_typed(&json!({"type": "message_stop"}))?;
    events.end()
}

/// A block as it is announced, empty, and what fills it.
fn streamed(block: &Value) -> (Value, Vec<Value>) {
    let mut start = block.clone();
    let text = |key: &str| block[key].as_str().unwrap_or_default().to_string();
    let deltas = match block["type"].as_str() {
        Some("thinking") => {
            (start["thinking"], start["signature"]) = ("".into(), "".into());
            let thought = pieces(&text("thinking")).into_iter();
            let signed = json!({"type": "signature_delta", "signature": block["signature"]});
            thought.map(|p| json!({"type": "thinking_delta", "thinking": p})).chain([signed]).collect()
        }
        Some("text") => {
            start["text"] = "".into();
            pieces(&text("text")).into_iter().map(|p| json!({"type": "text_delta", "text": p})).collect()
        }
        _ => {
            start["input"] = json!({});
            vec![json!({"type": "input_json_delta", "partial_json": block["input"].to_string()})]
        }
    };
    (start, deltas)
}
