//! What we say to agents, built with the schema crate's types so that every field name is exact.
//!
//! Owns the outbound half of the ACP version 1 vocabulary. Strict: nothing is sent that the schema does not know.
//! Source: https://agentclientprotocol.com/protocol/v1/initialization and the pages beside it.

use std::path::Path;

use agent_client_protocol_schema::ProtocolVersion;
use agent_client_protocol_schema::v1 as acp;
use serde::Serialize;
use serde_json::json;

use crate::model::{Content, RpcError};

/// A request with an integer id of ours.
pub fn request(id: i64, method: &str, params: &impl Serialize) -> Vec<u8> {
    line(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }))
}

/// A notification.
pub fn notification(method: &str, params: &impl Serialize) -> Vec<u8> {
    line(&json!({ "jsonrpc": "2.0", "method": method, "params": params }))
}

/// An answer; `id` is the raw JSON of the request's id, echoed byte for byte.
pub fn answer(id: &str, result: &Result<std::sync::Arc<str>, RpcError>) -> Vec<u8> {
    let body = match result {
        Ok(raw) => format!("\"result\":{raw}"),
        Err(error) => {
            let mut object = json!({ "code": error.code, "message": error.message });
            if let Some(data) = &error.data
                && let Ok(data) = serde_json::from_str::<serde_json::Value>(data)
            {
                object["data"] = data;
            }
            format!("\"error\":{object}")
        }
    };
    format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},{body}}}\n").into_bytes()
}

fn line(value: &serde_json::Value) -> Vec<u8> {
    let mut bytes = value.to_string().into_bytes();
    bytes.push(b'\n');
    bytes
}

/// `initialize`. Advertised is only what works: files, terminals, and the updates that the transcript shows.
pub fn initialize() -> acp::InitializeRequest {
    let fs = acp::FileSystemCapabilities::new().read_text_file(true).write_text_file(true);
    let session = acp::ClientSessionCapabilities::new()
        .notices(acp::NoticeCapabilities::new())
        .compaction(acp::CompactionCapabilities::new());
    // Not of the protocol: agents that run commands themselves show them as terminals then.
    let own: serde_json::Map<String, serde_json::Value> =
        [("terminal_output".to_owned(), true.into())].into_iter().collect();
    let capabilities = acp::ClientCapabilities::new()
        .meta(own)
        .fs(fs)
        .terminal(true)
        .session(session)
        .plan(acp::PlanCapabilities::new());
    let info = acp::Implementation::new("bosun", env!("CARGO_PKG_VERSION")).title("Bosun".to_owned());
    acp::InitializeRequest::new(ProtocolVersion::V1).client_capabilities(capabilities).client_info(info)
}

/// `session/new`.
pub fn new_session(cwd: &Path) -> acp::NewSessionRequest {
    acp::NewSessionRequest::new(cwd.to_owned())
}

/// `session/prompt`.
pub fn prompt(session: &str, blocks: &[Content]) -> acp::PromptRequest {
    let blocks = blocks.iter().map(block).collect();
    acp::PromptRequest::new(session.to_owned(), blocks)
}

/// `session/cancel`.
pub fn cancel(session: &str) -> acp::CancelNotification {
    acp::CancelNotification::new(session.to_owned())
}

fn block(content: &Content) -> acp::ContentBlock {
    match content {
        Content::Text(text) => acp::ContentBlock::Text(acp::TextContent::new(text.clone())),
        Content::Link { uri, name } => {
            acp::ContentBlock::ResourceLink(acp::ResourceLink::new(name.clone(), uri.clone()))
        }
        Content::Resource { uri, text, mime } => {
            let resource = acp::TextResourceContents::new(text.clone(), uri.clone()).mime_type(mime.clone());
            acp::ContentBlock::Resource(acp::EmbeddedResource::new(
                acp::EmbeddedResourceResource::TextResourceContents(resource),
            ))
        }
        // Nothing of ours; an agent's own block is never sent back.
        Content::Other { kind, .. } => acp::ContentBlock::Text(acp::TextContent::new(format!("[{kind}]"))),
    }
}
