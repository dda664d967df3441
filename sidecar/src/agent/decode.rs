//! What is inside an agent's messages, lifted into the model.
//!
//! Owns the inbound half of the ACP version 1 vocabulary. Total by design: one decoder reads well-formed and odd input
//! alike, `null` counts as absent, one bad element never loses its siblings, and what cannot be read is kept raw. The
//! schema crate is used outbound (`encode`) and, in tests, to check this against every update it knows.
//! Source: https://agentclientprotocol.com/protocol/v1/prompt-turn and the pages beside it.

use std::sync::Arc;

use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use super::envelope::repair;
use super::fields::*;
use crate::model::*;

/// Parameters that could not be read; the text names the field.
#[derive(Debug, PartialEq, Eq)]
pub struct BadParams(pub String);

type Decoded<T> = Result<T, BadParams>;

/// Parses raw parameters; escapes that are no character are repaired.
fn object(raw: &str) -> Decoded<Value> {
    let value = serde_json::from_str(raw).or_else(|_| serde_json::from_str(&repair(raw)));
    match value {
        Ok(value @ Value::Object(_)) => Ok(value),
        Ok(_) => Err(BadParams("params must be an object".into())),
        Err(error) => Err(BadParams(format!("params cannot be read: {error}"))),
    }
}

fn need(value: &Value, key: &str) -> Decoded<String> {
    text(value, key).ok_or_else(|| BadParams(format!("{key} is missing or not a text")))
}

/// `session/update`: whose, and what.
pub fn update(raw: &str) -> Decoded<(String, Update)> {
    match object(raw) {
        Ok(params) => {
            let session = need(&params, "sessionId")?;
            let body = &params["update"];
            // Some agents leave the wrapper out.
            let body = if body.is_object() { body } else { &params };
            Ok((session, lift(body)))
        }
        Err(error) => shallow(raw).ok_or(error),
    }
}

/// Parameters nested too deeply to be read whole: the session is found, the rest is kept raw.
fn shallow(raw: &str) -> Option<(String, Update)> {
    #[derive(Deserialize)]
    struct Shallow<'a> {
        #[serde(rename = "sessionId")]
        session: String,
        #[serde(borrow)]
        update: &'a RawValue,
    }
    #[derive(Deserialize)]
    struct Kind {
        #[serde(rename = "sessionUpdate", default)]
        kind: String,
    }
    let shallow: Shallow = serde_json::from_str(raw).ok()?;
    let kind = serde_json::from_str::<Kind>(shallow.update.get()).map(|k| k.kind).unwrap_or_default();
    Some((shallow.session, Update::Unknown { kind, raw: shallow.update.get().into() }))
}

/// One update. What has no place in the model is kept raw.
fn lift(body: &Value) -> Update {
    let kind = text(body, "sessionUpdate").unwrap_or_default();
    known(&kind, body).unwrap_or_else(|| Update::Unknown { kind, raw: raw(body) })
}

fn known(kind: &str, body: &Value) -> Option<Update> {
    Some(match kind {
        "user_message_chunk" => chunk(Role::User, body)?,
        "agent_message_chunk" => chunk(Role::Agent, body)?,
        "agent_thought_chunk" => chunk(Role::Thought, body)?,
        "tool_call" => Update::ToolCall(tool(body)),
        "tool_call_update" => Update::ToolCallUpdate(tool(body)),
        "plan" => Update::Plan { id: None, body: PlanBody::Items(plan_items(present(body, "entries")?)) },
        "plan_update" => {
            let plan = present(body, "plan")?;
            let items = match text(plan, "type").as_deref() {
                Some("markdown") => PlanBody::Markdown(text(plan, "content")?),
                Some("items") | None => PlanBody::Items(plan_items(present(plan, "entries")?)),
                Some(_) => PlanBody::Other(raw(plan)),
            };
            Update::Plan { id: Some(text(plan, "planId")?), body: items }
        }
        "plan_removed" => Update::PlanRemoved { id: text(body, "planId")? },
        "available_commands_update" => {
            let list = present(body, "availableCommands")?.as_array()?;
            Update::Commands(list.iter().filter_map(command).collect())
        }
        "current_mode_update" => Update::Mode(text(body, "currentModeId").or_else(|| text(body, "modeId"))?),
        "config_option_update" => Update::ConfigOptions(raw(present(body, "configOptions")?)),
        "session_info_update" => Update::Info { title: three(body, "title") },
        "usage_update" => Update::Usage {
            used: count(body, "used")?,
            size: count(body, "size").unwrap_or(0),
            cost: present(body, "cost").and_then(cost),
        },
        "notice" => Update::Notice {
            severity: text(body, "severity").unwrap_or_else(|| "info".into()),
            title: text(body, "title")?,
            description: text(body, "description"),
        },
        "compaction_update" => Update::Compaction {
            id: text(body, "compactionId")?,
            status: keep(text(body, "status")),
            summary: three_blocks(body, "summary"),
            error: three(body, "error"),
        },
        "compaction_summary_chunk" => Update::CompactionChunk {
            id: text(body, "compactionId")?,
            text: block_text(present(body, "content")?),
        },
        "subagent_update" => Update::Subagent {
            session: text(body, "sessionId")?,
            title: three(body, "title"),
            description: three(body, "description"),
            state: state(body),
        },
        "session_message" => Update::SessionMessage {
            id: text(body, "messageId")?,
            sender: three(body, "senderSessionId"),
            recipient: three(body, "recipientSessionId"),
            text: three_blocks(body, "content"),
        },
        "session_message_chunk" => Update::SessionMessageChunk {
            id: text(body, "messageId")?,
            text: block_text(present(body, "content")?),
        },
        _ => return None,
    })
}

fn chunk(role: Role, body: &Value) -> Option<Update> {
    let message_id = text(body, "messageId");
    // A list of blocks where one is expected is joined when it is all text, else it is kept raw.
    let content = match present(body, "content")? {
        Value::Array(items) => {
            let blocks: Vec<Content> = items.iter().filter_map(block).collect();
            let texts: Option<String> = blocks
                .iter()
                .map(|b| match b {
                    Content::Text(t) => Some(t.as_str()),
                    _ => None,
                })
                .collect();
            Content::Text(texts?)
        }
        other => block(other)?,
    };
    Some(Update::Chunk { role, message_id, content })
}

/// A content block; a bare text counts as one.
pub fn block(value: &Value) -> Option<Content> {
    if let Value::String(text) = value {
        return Some(Content::Text(text.clone()));
    }
    let kind = text(value, "type").or_else(|| value.get("text").map(|_| "text".to_owned()))?;
    Some(match kind.as_str() {
        // An empty text may lack the field altogether.
        "text" => Content::Text(text(value, "text").unwrap_or_default()),
        "resource_link" => {
            let uri = text(value, "uri")?;
            Content::Link { name: text(value, "name").unwrap_or_else(|| uri.clone()), uri }
        }
        "resource" => {
            let resource = present(value, "resource")?;
            match (text(resource, "uri"), text(resource, "text")) {
                (Some(uri), Some(body)) => {
                    Content::Resource { uri, text: body, mime: text(resource, "mimeType") }
                }
                _ => Content::Other { kind, raw: raw(value) },
            }
        }
        _ => Content::Other { kind, raw: raw(value) },
    })
}

/// The text of a block, for entities that show text only.
fn block_text(value: &Value) -> String {
    match block(value) {
        Some(Content::Text(text) | Content::Resource { text, .. }) => text,
        Some(Content::Link { uri, name }) => format!("[{name}]({uri})"),
        Some(Content::Other { kind, .. }) => format!("[{kind}]"),
        None => String::new(),
    }
}

fn three_blocks(body: &Value, key: &str) -> Patch<String> {
    match body.get(key) {
        None => Patch::Keep,
        Some(Value::Null) => Patch::Clear,
        Some(Value::Array(items)) if items.is_empty() => Patch::Clear,
        Some(Value::Array(items)) => Patch::Set(items.iter().map(block_text).collect()),
        Some(other) => Patch::Set(block_text(other)),
    }
}

/// A tool call or a patch of one; absent and `null` keep what is there.
pub fn tool(body: &Value) -> ToolPatch {
    ToolPatch {
        id: text(body, "toolCallId").unwrap_or_default(),
        title: keep(text(body, "title")),
        kind: keep(text(body, "kind")),
        status: keep(text(body, "status").map(|word| status(&word))),
        content: keep(present(body, "content").map(tool_content)),
        locations: keep(present(body, "locations").and_then(Value::as_array).map(|items| {
            items
                .iter()
                .filter_map(|item| {
                    let line = count(item, "line").and_then(|n| u32::try_from(n).ok());
                    Some(Location { path: text(item, "path")?, line })
                })
                .collect()
        })),
        raw_input: keep(present(body, "rawInput").map(raw)),
        raw_output: keep(present(body, "rawOutput").map(raw)),
    }
}

/// Words that look like an end are one, so that no card spins for ever.
fn status(word: &str) -> ToolStatus {
    match word {
        "pending" => ToolStatus::Pending,
        "in_progress" | "running" => ToolStatus::InProgress,
        "completed" | "complete" | "done" | "success" | "succeeded" => ToolStatus::Completed,
        "failed" | "error" | "errored" | "rejected" | "denied" => ToolStatus::Failed,
        "cancelled" | "canceled" | "aborted" => ToolStatus::Cancelled,
        other => ToolStatus::Other(other.to_owned()),
    }
}

fn tool_content(value: &Value) -> Vec<ToolContent> {
    match value {
        Value::Array(items) => items.iter().filter_map(piece).collect(),
        other => piece(other).into_iter().collect(),
    }
}

fn piece(value: &Value) -> Option<ToolContent> {
    if value.is_null() {
        return None;
    }
    let kind = text(value, "type").unwrap_or_default();
    let lifted = match kind.as_str() {
        "content" => present(value, "content").and_then(block).map(ToolContent::Block),
        "diff" => diff(value).map(ToolContent::Diff),
        "terminal" => text(value, "terminalId").map(ToolContent::Terminal),
        // A block without its wrapper.
        "text" | "resource" | "resource_link" | "image" | "audio" | "" => {
            block(value).map(ToolContent::Block)
        }
        _ => None,
    };
    Some(lifted.unwrap_or_else(|| ToolContent::Other { kind, raw: raw(value) }))
}

fn diff(value: &Value) -> Option<Diff> {
    Some(Diff { path: text(value, "path")?, old: text(value, "oldText"), new: text(value, "newText")? })
}

fn plan_items(entries: &Value) -> Vec<PlanEntry> {
    let items = entries.as_array().map(Vec::as_slice).unwrap_or_default();
    let entry = |item: &Value| {
        let content = item.as_str().map(str::to_owned).or_else(|| text(item, "content"))?;
        Some(PlanEntry {
            content,
            priority: text(item, "priority").unwrap_or_else(|| "medium".into()),
            status: text(item, "status").unwrap_or_else(|| "pending".into()),
        })
    };
    items.iter().filter_map(entry).collect()
}

fn command(item: &Value) -> Option<Command> {
    Some(Command {
        name: text(item, "name")?,
        description: text(item, "description").unwrap_or_default(),
        hint: present(item, "input").and_then(|input| text(input, "hint")),
    })
}

fn cost(value: &Value) -> Option<String> {
    let amount = value.get("amount")?.as_f64()?;
    let currency = text(value, "currency").unwrap_or_default();
    Some(format!("{amount:.4} {currency}").trim().to_owned())
}

fn state(body: &Value) -> Patch<String> {
    match body.get("state") {
        None => Patch::Keep,
        Some(Value::Null) => Patch::Clear,
        Some(Value::String(word)) => Patch::Set(word.clone()),
        Some(other) => keep(text(other, "state")),
    }
}

/// `session/request_permission`.
pub fn permission(raw: &str) -> Decoded<(String, ToolPatch, Vec<PermissionOption>)> {
    let params = object(raw)?;
    let session = need(&params, "sessionId")?;
    let options = params["options"].as_array().map(Vec::as_slice).unwrap_or_default();
    let option = |item: &Value| {
        let id = text(item, "optionId")?;
        let kind = match text(item, "kind").as_deref() {
            Some("allow_once") => OptionKind::AllowOnce,
            Some("allow_always") => OptionKind::AllowAlways,
            Some("reject_once") => OptionKind::RejectOnce,
            Some("reject_always") => OptionKind::RejectAlways,
            other => OptionKind::Other(other.unwrap_or_default().to_owned()),
        };
        Some(PermissionOption { name: text(item, "name").unwrap_or_else(|| id.clone()), id, kind })
    };
    Ok((session, tool(&params["toolCall"]), options.iter().filter_map(option).collect()))
}

/// `fs/read_text_file`: session, path, line, limit.
pub fn read_file(raw: &str) -> Decoded<(String, String, Option<u64>, Option<u64>)> {
    let params = object(raw)?;
    let number = |key: &str| match present(&params, key) {
        None => Ok(None),
        Some(value) => whole(value).map(Some).ok_or_else(|| BadParams(format!("{key} is not a number"))),
    };
    Ok((need(&params, "sessionId")?, need(&params, "path")?, number("line")?, number("limit")?))
}

/// `fs/write_text_file`: session, path, content.
pub fn write_file(raw: &str) -> Decoded<(String, String, String)> {
    let params = object(raw)?;
    let content = params["content"].as_str();
    let content = content.ok_or_else(|| BadParams("content is missing or not a text".into()))?;
    Ok((need(&params, "sessionId")?, need(&params, "path")?, content.to_owned()))
}

/// `$/cancel_request`: the raw id of the request that is taken back.
pub fn cancelled_request(raw: &str) -> Option<Arc<str>> {
    #[derive(Deserialize)]
    struct Params<'a> {
        #[serde(borrow, rename = "requestId")]
        id: &'a RawValue,
    }
    serde_json::from_str::<Params>(raw).ok().map(|p| p.id.get().into())
}

/// The result of `initialize`. A missing capability object means that nothing is offered.
pub fn initialized(raw_result: &str) -> AgentInfo {
    let result = serde_json::from_str::<Value>(raw_result).unwrap_or(Value::Null);
    let caps = &result["agentCapabilities"];
    let prompt = &caps["promptCapabilities"];
    let info = &result["agentInfo"];
    AgentInfo {
        name: text(info, "title").or_else(|| text(info, "name")).unwrap_or_default(),
        version: text(info, "version").unwrap_or_default(),
        protocol_version: result.get("protocolVersion").and_then(whole).unwrap_or(0),
        embedded_context: flag(prompt, "embeddedContext"),
        image: flag(prompt, "image"),
        load_session: flag(caps, "loadSession"),
        capabilities: raw(caps),
        auth_methods: if result["authMethods"].is_array() {
            raw(&result["authMethods"])
        } else {
            "[]".into()
        },
    }
}

/// The result of `session/new`: the agent's id of the session.
pub fn new_session(raw_result: &str) -> Result<String, RpcError> {
    let value: Value = serde_json::from_str(raw_result).unwrap_or(Value::Null);
    text(&value, "sessionId").ok_or_else(|| {
        RpcError::new(RpcError::INTERNAL, "the agent answered session/new without a session id")
    })
}

/// The stop reason of `session/prompt`, as it came; a missing one is an ordinary end.
pub fn stop_reason(raw_result: &str) -> String {
    let value: Value = serde_json::from_str(raw_result).unwrap_or(Value::Null);
    text(&value, "stopReason").unwrap_or_else(|| "end_turn".to_owned())
}

#[cfg(test)]
mod tests;
