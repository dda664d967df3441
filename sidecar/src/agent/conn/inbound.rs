//! What an agent says on its connection, message by message, in the order of the wire.
//!
//! Part of `conn`, which calls it for each line. Decides only who must hear of a message; a request that nobody can
//! answer is answered here.

use super::super::envelope::{self, Message};
use super::super::wirelog::Way;
use super::super::{decode, encode};
use super::{Call, Conn};
use crate::event::{AgentEvent, CallResult, TerminalAsk};
use crate::model::*;
use crate::reply::{Reply, WireId};

/// Requests of one agent that may be open at a time; more are refused.
pub const REQUESTS: usize = 10_000;
/// Noise lines that are logged in full; the rest is only counted.
const NOISE_LOGGED: u64 = 100;
/// Odd shapes of messages that are remembered as told; more than these are not told at all.
const SHAPES: usize = 256;

impl Conn {
    /// One line of its standard output.
    pub(super) async fn line(&mut self, line: &[u8]) {
        let parsed = envelope::parse(line);
        if parsed.noise {
            self.noise += 1;
            if self.noise <= NOISE_LOGGED {
                self.log.line(Way::Noise, line);
            }
        } else if !parsed.messages.is_empty() {
            self.log.line(Way::In, line);
        }
        for message in parsed.messages {
            self.message(message, parsed.lossy).await;
        }
    }

    async fn message(&mut self, message: Message, lossy: bool) {
        match message {
            Message::Notification { method, params } => self.notified(&method, &params).await,
            // Told with an id, which many libraries write as `null`: what it says counts all the same.
            Message::Request { id, method, params } if method == "session/update" => {
                self.notified(&method, &params).await;
                if &*id.0 != "null" {
                    self.say(encode::answer(&id.0, &Ok("{}".into())));
                }
            }
            Message::Request { id, method, params } => self.requested(id, &method, &params, lossy).await,
            Message::Reply { id, result } => self.replied(id, result).await,
        }
    }

    /// Logs what is odd, once per shape, so that an agent that always is cannot fill the log.
    fn odd(&mut self, shape: String) {
        if self.told.len() < SHAPES && !self.told.contains(&shape) {
            tracing::warn!(
                agent = self.launch.name,
                shape,
                "an odd message; the next ones like it are not logged"
            );
            self.told.insert(shape);
        }
    }

    async fn notified(&mut self, method: &str, params: &str) {
        match method {
            "session/update" => match decode::update(params) {
                Ok((session, updates)) => {
                    for update in updates {
                        if let Update::Unknown { kind, .. } = &update {
                            self.odd(format!("update {kind:?} cannot be read"));
                        }
                        self.event(AgentEvent::Update { session: session.clone(), update }).await;
                    }
                }
                Err(bad) => self.odd(format!("update without a session: {}", bad.0)),
            },
            "$/cancel_request" => {
                if let Some(id) = decode::cancelled_request(params).map(WireId)
                    && self.open.contains_key(&id)
                {
                    self.event(AgentEvent::CancelRequest { id }).await;
                }
            }
            other => self.odd(format!("notification {other:?} is ignored")),
        }
    }

    async fn requested(&mut self, id: WireId, method: &str, params: &str, lossy: bool) {
        if self.open_count >= REQUESTS {
            let error = RpcError::new(RpcError::INTERNAL, "too many requests are open");
            return self.say(encode::answer(&id.0, &Err(error)));
        }
        if self.ending.is_some() {
            // Nothing is said any more, and nothing should be begun.
            return;
        }
        *self.open.entry(id.clone()).or_default() += 1;
        self.open_count += 1;
        let reply = Reply::new(id, self.answers.clone());
        let event = match method {
            "session/request_permission" => decode::permission(params).map(|(session, tool, options)| {
                Box::new(move |reply| AgentEvent::Permission {
                    session,
                    tool: Box::new(tool),
                    options,
                    reply,
                }) as Box<dyn FnOnce(Reply) -> AgentEvent + Send>
            }),
            "fs/read_text_file" => decode::read_file(params).map(|(session, path, line, limit)| {
                Box::new(move |reply| AgentEvent::ReadFile { session, path, line, limit, reply }) as _
            }),
            "fs/write_text_file" => decode::write_file(params, lossy).map(|(session, path, content)| {
                Box::new(move |reply| AgentEvent::WriteFile { session, path, content, reply }) as _
            }),
            "terminal/create" => decode::create_terminal(params).map(|(session, create)| {
                let create = Box::new(create);
                Box::new(move |reply| AgentEvent::CreateTerminal { session, create, reply }) as _
            }),
            "terminal/output" | "terminal/wait_for_exit" | "terminal/kill" | "terminal/release" => {
                let ask = match method {
                    "terminal/output" => TerminalAsk::Output,
                    "terminal/wait_for_exit" => TerminalAsk::Wait,
                    "terminal/kill" => TerminalAsk::Kill,
                    _ => TerminalAsk::Release,
                };
                decode::terminal(params).map(|(session, terminal)| {
                    Box::new(move |reply| AgentEvent::Terminal { session, terminal, ask, reply }) as _
                })
            }
            _ => {
                let why = format!("method not found: {method}");
                return reply.err(RpcError::new(RpcError::METHOD_NOT_FOUND, why));
            }
        };
        match event {
            Ok(event) => self.event(event(reply)).await,
            Err(bad) => reply.err(RpcError::new(RpcError::INVALID_PARAMS, bad.0)),
        }
    }

    async fn replied(&mut self, id: Option<i64>, result: Result<String, RpcError>) {
        let Some(call) = id.and_then(|id| self.calls.remove(&id)) else {
            return self.odd("a reply to no open call is ignored".to_owned());
        };
        match (call, result) {
            (Call::Initialize, Ok(raw)) => {
                self.event(AgentEvent::Initialized(Box::new(decode::initialized(&raw)))).await;
            }
            (Call::Initialize, Err(error)) => {
                self.end(Some(format!("it refused to initialize: {}", explained(&error))));
            }
            (Call::NewSession(call), result) => {
                let result = result.and_then(|raw| {
                    decode::new_session(&raw)
                        .map(|session| CallResult::NewSession { session, raw: raw.into() })
                });
                self.event(AgentEvent::Reply { call, result }).await;
            }
            (Call::Prompt(call), result) => {
                let result = result.map(|raw| CallResult::Prompt {
                    stop_reason: decode::stop_reason(&raw),
                    raw: raw.into(),
                });
                self.event(AgentEvent::Reply { call, result }).await;
            }
        }
    }
}

/// What an error says, with its details: the message alone is often just "Internal error".
pub fn explained(error: &RpcError) -> String {
    let data = error.data.as_deref().and_then(|data| serde_json::from_str::<serde_json::Value>(data).ok());
    let details = data.as_ref().map(|data| data.get("details").unwrap_or(data));
    match details {
        Some(serde_json::Value::String(text)) => format!("{} ({text})", error.message),
        Some(other) => format!("{} ({other})", error.message),
        None => error.message.clone(),
    }
}
