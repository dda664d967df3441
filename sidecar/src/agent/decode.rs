//! What is inside an agent's messages, lifted into the model.
//!
//! Owns the inbound half of the ACP version 1 vocabulary. Total by design: one decoder reads well-formed and odd input
//! alike, `null` counts as absent, one bad element never loses its siblings, and what cannot be read is kept raw. The
//! schema crate is used outbound (`encode`) and, in tests, to check this against every update it knows.
//! Source: https://agentclientprotocol.com/protocol/v1/prompt-turn and the pages beside it.

use std::borrow::Cow;
use std::sync::Arc;

use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use super::fields::*;
use super::repair;
use crate::model::*;
use crate::workspace::terminals::Create;

/// Parameters that could not be read; the text names the field.
#[derive(Debug, PartialEq, Eq)]
pub struct BadParams(pub String);

type Decoded<T> = Result<T, BadParams>;

/// Parses raw parameters, however odd.
fn object(raw: &str) -> Decoded<Value> {
    match repair::value(raw) {
        Ok(value @ Value::Object(_)) => Ok(value),
        Ok(_) => Err(BadParams("params must be an object".into())),
        Err(error) => Err(BadParams(format!("params cannot be read: {error}"))),
    }
}

fn need(value: &Value, key: &str) -> Decoded<String> {
    text(value, key).ok_or_else(|| BadParams(format!("{key} is missing or not a text")))
}

/// `session/update`: whose, and what. More than one update when a chunk carries a list of blocks.
pub fn update(raw: &str) -> Decoded<(String, Vec<Update>)> {
    let params = object(raw)?;
    let session = need(&params, "sessionId")?;
    let body = &params["update"];
    // Some agents leave the wrapper out.
    let body = if body.is_object() { body } else { &params };
    Ok((session, lift(body)))
}

/// What has no place in the model is kept raw.
fn lift(body: &Value) -> Vec<Update> {
    let kind = text(body, "sessionUpdate").unwrap_or_default();
    let role = match kind.as_str() {
        "user_message_chunk" => Some(Role::User),
        "agent_message_chunk" => Some(Role::Agent),
        "agent_thought_chunk" => Some(Role::Thought),
        _ => None,
    };
    let known = match role {
        Some(role) => chunks(role, body),
        None => known(&kind, body).map(|update| {
            let mut updates = vec![update];
            updates.extend(agent_terminals(body).into_iter().map(Update::Terminal));
            updates
        }),
    };
    known.unwrap_or_else(|| vec![Update::Unknown { kind, raw: raw(body) }])
}

/// A chunk holds one block; a list of them, where it comes, is as many chunks. Elements that are no block are kept raw.
fn chunks(role: Role, body: &Value) -> Option<Vec<Update>> {
    let message_id = text(body, "messageId");
    let lifted = |content| Update::Chunk { role, message_id: message_id.clone(), content };
    match present(body, "content")? {
        Value::Array(items) => {
            let blocks = items.iter().filter(|item| !item.is_null());
            Some(blocks.map(|item| lifted(any_block(item))).collect())
        }
        other => Some(vec![lifted(block(other)?)]),
    }
}

/// A block, or the raw JSON of what should have been one.
fn any_block(value: &Value) -> Content {
    block(value).unwrap_or_else(|| Content::Other {
        kind: text(value, "type").unwrap_or_else(|| "unknown".to_owned()),
        raw: raw(value),
    })
}

/// How a command ended that an agent ran itself. A signal is no success, and neither is a number that is no exit code.
fn command_end(of: &Value) -> CommandEnd {
    let signal = text(of, "signal").map(|name| crate::session::display::one_line(&name));
    let code =
        present(of, "exit_code").map(|code| code.as_u64().and_then(|n| u32::try_from(n).ok()).unwrap_or(255));
    let by_signal = signal.as_deref().map(|name| {
        let number = name.parse::<nix::sys::signal::Signal>().map_or(0, |signal| signal as u32);
        128 + number
    });
    CommandEnd { code: code.or(by_signal).unwrap_or(CommandEnd::NOT_TOLD), signal }
}

/// What stands beside a tool call about terminals that the agent runs itself.
fn agent_terminals(body: &Value) -> Vec<AgentTerminal> {
    let Some(meta) = present(body, "_meta") else { return Vec::new() };
    let command = present(body, "rawInput").and_then(|input| match present(input, "command")? {
        Value::Array(words) => words.last().and_then(Value::as_str).map(str::to_owned),
        _ => text(input, "command"),
    });
    let title = text(body, "title");
    let part = |key: &str| {
        let of = present(meta, key)?;
        let part = match key {
            "terminal_info" => TerminalPart::Info,
            "terminal_output" => TerminalPart::Output(text(of, "data")?),
            "terminal_output_delta" => TerminalPart::Delta(text(of, "data")?),
            _ => TerminalPart::Exit(command_end(of)),
        };
        let cwd = text(of, "cwd").map(Into::into);
        let (command, title) = (command.clone(), title.clone());
        Some(AgentTerminal { terminal: text(of, "terminal_id")?, command, title, cwd, part })
    };
    let keys = ["terminal_info", "terminal_output", "terminal_output_delta", "terminal_exit"];
    keys.into_iter().filter_map(part).collect()
}

fn known(kind: &str, body: &Value) -> Option<Update> {
    Some(match kind {
        "tool_call" => Update::ToolCall(tool(body)),
        "tool_call_update" => Update::ToolCallUpdate(tool(body)),
        "plan" => Update::Plan { id: None, body: PlanBody::Items(plan_items(present(body, "entries")?)?) },
        "plan_update" => {
            let plan = present(body, "plan")?;
            let items = match text(plan, "type").as_deref() {
                Some("markdown") => PlanBody::Markdown(text(plan, "content")?),
                Some("items") | None => PlanBody::Items(plan_items(present(plan, "entries")?)?),
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

/// `None` for what is no list: a plan that cannot be read must not look like one that was emptied.
fn plan_items(entries: &Value) -> Option<Vec<PlanEntry>> {
    let entry = |item: &Value| {
        let content = item.as_str().map(str::to_owned).or_else(|| text(item, "content"))?;
        Some(PlanEntry {
            content,
            priority: text(item, "priority").unwrap_or_else(|| "medium".into()),
            status: text(item, "status").unwrap_or_else(|| "pending".into()),
        })
    };
    Some(entries.as_array()?.iter().filter_map(entry).collect())
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
    // A limit below zero is another way to ask for everything; nothing at all would look like an empty file.
    let limit = number("limit")?.filter(|_| !present(&params, "limit").is_some_and(negative));
    Ok((need(&params, "sessionId")?, need(&params, "path")?, number("line")?, limit))
}

/// `fs/write_text_file`: session, path, content. What would put replacement characters into a person's file is refused:
/// `lossy` says that bytes of the line were replaced already.
pub fn write_file(raw: &str, lossy: bool) -> Decoded<(String, String, String)> {
    if lossy || matches!(repair::surrogates(raw), Cow::Owned(_)) {
        return Err(BadParams("content holds bytes or escapes that are no Unicode characters".into()));
    }
    let params = object(raw)?;
    let content = params["content"].as_str();
    let content = content.ok_or_else(|| BadParams("content is missing or not a text".into()))?;
    Ok((need(&params, "sessionId")?, need(&params, "path")?, content.to_owned()))
}

/// `terminal/create`: session and command. Environment variables without a name are left out.
pub fn create_terminal(raw: &str) -> Decoded<(String, Create)> {
    let params = object(raw)?;
    let list = |key: &str| present(&params, key).and_then(Value::as_array).cloned().unwrap_or_default();
    let variable = |v: &Value| {
        let name = text(v, "name").filter(|name| !name.is_empty() && !name.contains('='))?;
        Some((name, text(v, "value").unwrap_or_default()))
    };
    let argument = |v: &Value| match v {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    };
    let create = Create {
        command: need(&params, "command")?,
        args: list("args").iter().filter_map(argument).collect(),
        env: list("env").iter().filter_map(variable).collect(),
        cwd: text(&params, "cwd").filter(|cwd| !cwd.is_empty()),
        limit: present(&params, "outputByteLimit").and_then(whole),
    };
    Ok((need(&params, "sessionId")?, create))
}

/// The other requests about terminals: session and terminal.
pub fn terminal(raw: &str) -> Decoded<(String, String)> {
    let params = object(raw)?;
    Ok((need(&params, "sessionId")?, need(&params, "terminalId")?))
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
    let result = repair::value(raw_result).unwrap_or(Value::Null);
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
    let value = repair::value(raw_result).unwrap_or(Value::Null);
    text(&value, "sessionId").ok_or_else(|| {
        RpcError::new(RpcError::INTERNAL, "the agent answered session/new without a session id")
    })
}

/// The stop reason of `session/prompt`, as it came; a missing one is an ordinary end.
pub fn stop_reason(raw_result: &str) -> String {
    let value = repair::value(raw_result).unwrap_or(Value::Null);
    text(&value, "stopReason").unwrap_or_else(|| "end_turn".to_owned())
}

#[cfg(test)]
mod tests;
