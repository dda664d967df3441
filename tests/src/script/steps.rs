//! Builders of steps: what tests write the scripted agent's stories with. Each returns one step as JSON.

use serde_json::{Value, json};

/// Answers the set-up by itself.
pub fn auto() -> Value {
    json!({"auto": true})
}

/// Waits for a message of the host.
pub fn expect(method: &str) -> Value {
    json!({"expect": method})
}

/// Waits for the next prompt.
pub fn prompt() -> Value {
    expect("session/prompt")
}

/// Ends the turn.
pub fn end_turn() -> Value {
    stop("end_turn")
}

/// Ends the turn with a stop reason.
pub fn stop(reason: &str) -> Value {
    json!({"reply_to": "session/prompt", "result": {"stopReason": reason}})
}

/// Once the steps are over, answers every prompt at once.
pub fn then_polite() -> Value {
    json!({"default": "answer prompts end_turn"})
}

/// One chunk of the answer.
pub fn say(text: &str) -> Value {
    json!({"update": {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": text}}})
}

/// One chunk of reasoning.
pub fn think(text: &str) -> Value {
    json!({"update": {"sessionUpdate": "agent_thought_chunk", "content": {"type": "text", "text": text}}})
}

/// Any update.
pub fn update(update: Value) -> Value {
    json!({"update": update})
}

/// A request or notification of the agent.
pub fn send(message: Value) -> Value {
    json!({"send": message})
}

/// A request of the agent whose params get the session.
pub fn request(id: impl Into<Value>, method: &str, mut params: Value) -> Value {
    params["sessionId"] = "$SESSION".into();
    json!({"send": {"id": id.into(), "method": method, "params": params}})
}

/// Reads a file of the session's folder.
pub fn read(id: impl Into<Value>, name: &str) -> Value {
    request(id, "fs/read_text_file", json!({"path": format!("$CWD/{name}")}))
}

/// Writes a file of the session's folder.
pub fn write(id: impl Into<Value>, name: &str, content: &str) -> Value {
    request(id, "fs/write_text_file", json!({"path": format!("$CWD/{name}"), "content": content}))
}

/// The usual two options.
pub fn allow_or_reject() -> Value {
    json!([
        {"optionId": "yes", "name": "Allow", "kind": "allow_once"},
        {"optionId": "no", "name": "Reject", "kind": "reject_once"},
    ])
}

/// Asks for permission.
pub fn ask(id: impl Into<Value>, tool: Value, options: Value) -> Value {
    request(id, "session/request_permission", json!({"toolCall": tool, "options": options}))
}

/// A tool call that edits a file of the session's folder, for `ask`.
pub fn edit_tool(id: &str, name: &str, old: &str, new: &str) -> Value {
    let path = format!("$CWD/{name}");
    json!({
        "toolCallId": id, "title": format!("Edit {name}"), "kind": "edit", "status": "pending",
        "content": [{"type": "diff", "path": path, "oldText": old, "newText": new}],
    })
}

/// Waits for the host's answer.
pub fn answered(id: impl Into<Value>) -> Value {
    json!({"wait_reply": id.into()})
}

/// Waits for the host's answer, which must hold this.
pub fn answered_with(id: impl Into<Value>, part: Value) -> Value {
    json!({"wait_reply": id.into(), "match": part})
}

/// Text as it is, on stdout.
pub fn raw(text: &str) -> Value {
    json!({"raw": text})
}

/// Many chunks of the answer; `%06d` in the text is the number of the chunk.
pub fn chunks(n: u64, text: &str, per_second: u64) -> Value {
    json!({"chunks": {"n": n, "text": text, "per_second": per_second}})
}

/// Waits until a file exists.
pub fn gate(path: &std::path::Path) -> Value {
    json!({"gate": path})
}

/// Makes a file.
pub fn touch(path: &std::path::Path) -> Value {
    json!({"touch": path})
}

/// Lets the test say what is asked, through a `Relay` that listens at this path.
pub fn relay(path: &std::path::Path) -> Value {
    json!({"relay": path})
}
