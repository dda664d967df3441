//! OpenAI's responses: what the call says, and the streamed answer. Codex speaks this.
//!
//! Owns nothing. Called by the server for each `POST …/responses`. Always streams: nobody asked for less.

use std::net::TcpStream;

use serde_json::{Value, json};

use super::Said;
use super::asked::{Asked, Who, pieces, plain};
use super::http;

/// What was asked.
pub fn read(body: &Value) -> Asked {
    let offers = |tools: &Value| tools.as_array().is_some_and(|tools| !tools.is_empty());
    let mut asked = Asked { tools: offers(&body["tools"]), ..Asked::default() };
    for item in body["input"].as_array().into_iter().flatten() {
        let kind = item["type"].as_str().unwrap_or("message");
        match (kind, item["role"].as_str()) {
            ("message", Some("user")) => asked.push(Who::User, &plain(&item["content"])),
            ("message", Some("assistant")) => asked.push(Who::Model, &plain(&item["content"])),
            ("message", _) => {}
            // Tools may also be offered in the middle of what was said.
            ("additional_tools", _) => asked.tools |= offers(&item["tools"]),
            (kind, _) if kind.ends_with("_output") => asked.push(Who::Tool, &plain(&item["output"])),
            // Calls and thoughts of the model.
            _ => asked.push(Who::Model, ""),
        }
    }
    asked
}

/// The items of an answer, finished. A call whose arguments are a plain text is one of a tool without a schema.
fn items(said: &Said, id: usize) -> Vec<Value> {
    let mut items = Vec::new();
    if !said.thought.is_empty() {
        let summary = json!([{"type": "summary_text", "text": said.thought}]);
        items.push(json!({"type": "reasoning", "id": format!("rs_{id}"), "summary": summary}));
    }
    if !said.text.is_empty() {
        let content = json!([{"type": "output_text", "text": said.text, "annotations": []}]);
        items.push(json!({"type": "message", "id": format!("msg_{id}"), "role": "assistant",
                          "status": "completed", "content": content}));
    }
    items.extend(said.calls.iter().enumerate().map(|(i, (name, arguments))| {
        let call = format!("call_{id}_{i}");
        match arguments {
            Value::String(input) => json!({"type": "custom_tool_call", "id": format!("ctc_{id}_{i}"),
                "call_id": call, "name": name, "input": input, "status": "completed"}),
            _ => json!({"type": "function_call", "id": format!("fc_{id}_{i}"), "call_id": call,
                "name": name, "arguments": arguments.to_string(), "status": "completed"}),
        }
    }));
    items
}

/// Answers with what the script says. `id` differs from call to call.
pub fn answer(stream: &TcpStream, body: &Value, said: &Said, id: usize) -> std::io::Result<()> {
    let usage = json!({"input_tokens": 100, "input_tokens_details": {"cached_tokens": 0},
                       "output_tokens": 20, "output_tokens_details": {"reasoning_tokens": 0},
                       "total_tokens": 120});
    let items = items(said, id);
    let response = json!({"id": format!("resp_{id}"), "object": "response", "created_at": 1,
                          "model": body["model"], "status": "in_progress", "output": []});
    let mut events = http::Events::open(stream)?;
    let mut sequence = 0;
    let mut send = |mut event: Value| {
        event["sequence_number"] = sequence.into();
        sequence += 1;
        events.send_typed(&event)
    };
    send(json!({"type": "response.created", "response": response}))?;
    for (index, item) in items.iter().enumerate() {
        for mut event in streamed(item) {
            event["output_index"] = index.into();
            send(event)?;
        }
    }
    let mut end = response.clone();
    end["status"] = "completed".into();
    end["output"] = items.into();
    end["usage"] = usage;
    send(json!({"type": "response.completed", "response": end}))?;
    events.end()
}

/// An item as it is announced, what fills it, and its end.
fn streamed(item: &Value) -> Vec<Value> {
    let mut start = item.clone();
    let id = &item["id"];
    let mut filling = match item["type"].as_str() {
        Some("reasoning") => {
            start["summary"] = json!([]);
            let part = json!({"type": "summary_text", "text": ""});
            let mut events = vec![json!({"type": "response.reasoning_summary_part.added", "item_id": id,
                                         "summary_index": 0, "part": part})];
            let text = item["summary"][0]["text"].as_str().unwrap_or_default();
            events.extend(pieces(text).iter().map(|p| {
                json!({"type": "response.reasoning_summary_text.delta", "item_id": id,
                       "summary_index": 0, "delta": p})
            }));
            events
        }
        Some("message") => {
            start["content"] = json!([]);
            let text = item["content"][0]["text"].as_str().unwrap_or_default();
            let deltas = pieces(text).into_iter();
            let delta = |p| json!({"type": "response.output_text.delta", "item_id": id, "content_index": 0, "delta": p});
            deltas.map(delta).collect()
        }
        // The words of a call are taken from its end.
        _ => Vec::new(),
    };
    let mut events = vec![json!({"type": "response.output_item.added", "item": start})];
    events.append(&mut filling);
    events.push(json!({"type": "response.output_item.done", "item": item}));
    events
}
