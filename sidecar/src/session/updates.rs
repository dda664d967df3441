//! What an agent says without being asked: routing `session/update` to its session and into the transcript.
//!
//! Owns the routing (also of updates that come before their session is known) and the recognition of a prompt that an
//! agent repeats. Part of `Sessions`; called by the app and by the lifecycle part.

use serde_json::Value;

use crate::effect::Effect;
use crate::model::*;

use super::state::Turn;
use super::{Sessions, notes};

impl Sessions {
    /// `session/update`. One for a session whose `session/new` is not answered yet is held back; one for any other
    /// unknown session is logged and dropped.
    pub fn update(&mut self, agent: AgentId, acp: &str, update: Update, _now: Millis) -> Vec<Effect> {
        if let Some(i) = self.index_for(agent, acp) {
            self.apply_update(i, update);
        } else if self.waits_for_setup(agent)
            && let Some(record) = self.agents.iter_mut().find(|a| a.id == agent)
        {
            record.hold(acp, update);
        } else {
            tracing::warn!(?agent, acp, "update for an unknown session dropped");
        }
        Vec::new()
    }

    pub(super) fn apply_update(&mut self, i: usize, update: Update) {
        let session = &mut self.list[i];
        let transcript = &mut session.transcript;
        let mut said = true;
        match update {
            Update::Chunk { role: Role::User, message_id, content } => {
                said = false;
                let news = match &mut session.turn {
                    Some(turn) => without_echo(turn, content),
                    None => Some(content),
                };
                if let Some(content) = news {
                    transcript.chunk(Role::User, message_id, &content);
                }
            }
            Update::Chunk { role, message_id, content } => {
                said = !matches!(&content, Content::Text(text) if text.trim().is_empty());
                transcript.chunk(role, message_id, &content);
            }
            Update::ToolCall(patch) => {
                transcript.tool_call(patch);
            }
            Update::ToolCallUpdate(patch) => {
                transcript.tool_update(patch);
            }
            Update::Plan { id, body } => transcript.plan(id, body),
            Update::PlanRemoved { id } => transcript.plan_removed(id),
            Update::Notice { severity, title, description } => {
                transcript.agent_notice(&severity, &title, description.as_deref());
            }
            Update::Compaction { id, status, summary, error } => {
                transcript.note(notes::COMPACTION, id, status, error, summary);
            }
            Update::CompactionChunk { id, text } => transcript.note_chunk(notes::COMPACTION, id, &text),
            Update::Subagent { session, title, description, state } => {
                transcript.note(notes::SUBAGENT, session, state, title, description);
            }
            Update::SessionMessage { id, sender, recipient, text } => {
                transcript.note(notes::MESSAGE, id, sender, recipient, text);
            }
            Update::SessionMessageChunk { id, text } => transcript.note_chunk(notes::MESSAGE, id, &text),
            Update::Unknown { kind, raw } => transcript.unknown(kind, raw),
            facts => {
                said = false;
                self.apply_facts(i, facts);
            }
        }
        if said && let Some(turn) = &mut self.list[i].turn {
            turn.said = true;
        }
    }

    /// Updates that change what is known of the session and not what was said.
    fn apply_facts(&mut self, i: usize, update: Update) {
        let session = &mut self.list[i];
        match update {
            Update::Commands(commands) => session.commands = commands,
            Update::Mode(mode) => session.mode = Some(mode),
            Update::ConfigOptions(raw) => {
                let options: Value = serde_json::from_str(&raw).unwrap_or_default();
                // The mode and an option of that category are one thing; some agents report it only here.
                if let Some(mode) = mode_of_options(&options) {
                    session.mode = Some(mode);
                }
            }
            Update::Info { title } => title.apply(&mut session.title),
            Update::Usage { used, size, cost } => {
                session.usage = Some((used, size));
                if cost.is_some() {
                    session.cost = cost;
                }
            }
            _ => return,
        }
        self.state_changed = true;
    }
}

/// The value of the config option whose category, or else id, is `mode`.
pub(super) fn mode_of_options(options: &Value) -> Option<String> {
    let options = options.as_array()?;
    let having = |key: &str| options.iter().find(|o| o.get(key).and_then(Value::as_str) == Some("mode"));
    having("category").or_else(|| having("id"))?.get("currentValue")?.as_str().map(str::to_owned)
}

/// What of a user chunk is new: `None` when the agent only repeats the prompt, which the transcript has already.
fn without_echo(turn: &mut Turn, content: Content) -> Option<Content> {
    if turn.sent.iter().any(|sent| same_block(sent, &content)) {
        return None;
    }
    let (Some(heard), Content::Text(piece)) = (turn.echo, &content) else { return Some(content) };
    let (before, rest) = turn.prompt.split_at(heard);
    if rest.starts_with(piece.as_str()) {
        turn.echo = Some(heard + piece.len());
        return None;
    }
    if piece.trim() == rest.trim() {
        turn.echo = Some(turn.prompt.len());
        return None;
    }
    // Not an echo after all: what was held back as one belongs in front, unless it was the whole prompt.
    let text = if rest.trim().is_empty() { piece.clone() } else { format!("{before}{piece}") };
    turn.echo = None;
    Some(Content::Text(text))
}

fn same_block(sent: &Content, heard: &Content) -> bool {
    match (sent, heard) {
        (
            Content::Link { uri: a, .. } | Content::Resource { uri: a, .. },
            Content::Link { uri: b, .. } | Content::Resource { uri: b, .. },
        ) => a == b,
        (a, b) => a == b,
    }
}
