//! What a transcript is made of: entries with stable ids, in order of appearance.
//!
//! Owns plain data. It never renders (the `view` room does) and never decides (the `session` room does).

use std::sync::Arc;

use crate::effect::TerminalCard;
use crate::model::*;

/// One entry of a transcript.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    /// Stable, ascending.
    pub id: EntryId,
    /// The turn it belongs to; 0 before the first prompt.
    pub turn: u32,
    /// What it is.
    pub body: Body,
}

/// The kinds of entries.
#[derive(Clone, Debug, PartialEq)]
pub enum Body {
    /// The person's prompt, with the names of what went along (already display text, e.g. `src/a.rs:3-9`).
    User { text: String, context: Vec<String> },
    /// The agent's answer; Markdown, appended to while it streams. Other blocks than text stand in it as a line each.
    Message { text: String, message_id: Option<String>, open: bool },
    /// The agent's reasoning. `open` while it may still grow.
    Thought { text: String, message_id: Option<String>, open: bool },
    /// A tool call; one updating card.
    Tool(ToolCall),
    /// A plan; each update replaces the body in place.
    Plan { id: Option<String>, body: PlanBody },
    /// A question that waits, or was answered; stands right behind its tool call.
    Question(QuestionEntry),
    /// A command in a terminal; one updating card.
    Terminal(TerminalCard),
    /// Something to know: `info`, `warn`, `error`. May hold several lines.
    Notice { level: &'static str, text: String },
    /// A compaction, a sub-agent or a message between sessions: kind, id, shown text.
    Note { kind: &'static str, id: String, text: String },
    /// An update of a kind that we do not know: name and raw JSON.
    Unknown { kind: String, raw: Arc<str> },
    /// The end of a turn.
    TurnEnd { reason: StopReason, detail: Vec<String>, usage: Option<String> },
}

/// How a turn ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StopReason {
    /// `end_turn`.
    EndTurn,
    /// `max_tokens`.
    MaxTokens,
    /// `max_turn_requests`.
    MaxTurnRequests,
    /// `refusal`: the agent will not remember this exchange.
    Refusal,
    /// `cancelled`, or any end after we sent a cancel.
    Cancelled,
    /// A word we do not know.
    Other(String),
    /// The prompt was answered with an error.
    Error(RpcError),
    /// The agent's process ended.
    AgentExit(Exit),
}

/// The status word (`ToolStatus::Other`) of a card that its agent left open when the turn ended well: shown as ended,
/// without a claim about how.
pub const UNFINISHED: &str = "unfinished";

/// A tool call's card: everything merged from its updates.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ToolCall {
    /// The agent's id.
    pub id: String,
    /// Human title.
    pub title: Option<String>,
    /// Kind word as on the wire.
    pub kind: Option<String>,
    /// Progress; `None` is pending.
    pub status: Option<ToolStatus>,
    /// Content; replaced by updates, never extended.
    pub content: Vec<ToolContent>,
    /// Where.
    pub locations: Vec<Location>,
    /// Raw JSON.
    pub raw_input: Option<Arc<str>>,
    /// Raw JSON.
    pub raw_output: Option<Arc<str>>,
}

impl ToolCall {
    /// Whether the card is at rest: a final status, or left open by a turn that is over.
    pub fn ended(&self) -> bool {
        match &self.status {
            Some(ToolStatus::Other(word)) => word == UNFINISHED,
            Some(status) => status.is_final(),
            None => false,
        }
    }
}

/// A question in the transcript.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QuestionEntry {
    /// Which; keys in the editor use it.
    pub id: QuestionId,
    /// One line, escaped for display.
    pub title: String,
    /// More lines, escaped.
    pub body: Vec<String>,
    /// Options in the order given, names escaped.
    pub options: Vec<PermissionOption>,
    /// Diffs that can be shown.
    pub diffs: Vec<Diff>,
    /// What came of it; `None` while it waits.
    pub outcome: Option<String>,
}
