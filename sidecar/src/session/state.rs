//! One session: what it is doing, what it waits for, and what queries see of it.
//!
//! Owns the fields and the state word that follows from them; the transitions are in the lifecycle and turn parts.
//! Never leaves the session room.

use std::collections::VecDeque;
use std::path::PathBuf;

use crate::effect::SessionState;
use crate::event::ContextItem;
use crate::model::*;

use super::access::Decided;
use super::commands::Approved;
use super::display;
use super::edited::Edited;
use super::transcript::Transcript;

/// Characters of a title in `SessionState`.
const TITLE: usize = 120;

/// A prompt that waits for the session to be ready or for the turn to end.
#[derive(Clone, Debug)]
pub(super) struct QueuedPrompt {
    /// As the person wrote it.
    pub(super) text: String,
    /// What goes along.
    pub(super) context: Vec<ContextItem>,
}

/// How far the first prompt of the queue is on its way to a session that is ready for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Due {
    /// The app was told, and has not said yet whether it takes a while.
    Offered,
    /// The app waits for something: a mirror, a save, an answer.
    Held,
}

/// The running turn: from `session/prompt` to its answer or the agent's end.
#[derive(Debug)]
pub(super) struct Turn {
    /// The number of the `session/prompt` call.
    pub(super) call: u64,
    /// The prompt's text, to recognise an echo.
    pub(super) prompt: String,
    /// What went along, to recognise an echo.
    pub(super) sent: Vec<Content>,
    /// Bytes of the prompt that the agent has echoed; `None` once it has said something else as the user.
    pub(super) echo: Option<usize>,
    /// The person cancelled and `session/cancel` went out.
    pub(super) cancelled: bool,
    /// When a cancelled turn has lasted too long; `None` when not cancelled or when that was said already.
    pub(super) cancel_by: Option<Millis>,
    /// Something of this turn has come.
    pub(super) said: bool,
}

/// A session.
#[derive(Debug)]
pub(super) struct Session {
    /// Local id; stable over restarts.
    pub(super) key: SessionKey,
    /// The process it runs on; of a dead session the last one.
    pub(super) agent: AgentId,
    /// How that was started, and would be again.
    pub(super) launch: Launch,
    /// Absolute; its only root.
    pub(super) cwd: PathBuf,
    /// The agent's id of the session, once `session/new` was answered and until the agent ends.
    pub(super) acp: Option<String>,
    /// The agent's process has ended; a restart brings the session back.
    pub(super) dead: bool,
    /// Why we ended the agent, or why it ended; for a person, escaped.
    pub(super) cause: Option<String>,
    /// When starting has lasted too long; `None` once it is over or was given up.
    pub(super) start_by: Option<Millis>,
    /// The running turn.
    pub(super) turn: Option<Turn>,
    /// Prompts that wait, oldest first.
    pub(super) queue: VecDeque<QueuedPrompt>,
    /// `None` while no prompt waits, or none can be sent.
    pub(super) due: Option<Due>,
    /// What becomes of unsaved text before a prompt; an answer of the person's takes the place of the setting.
    pub(super) unsaved: UnsavedPolicy,
    /// What was said and done.
    pub(super) transcript: Transcript,
    /// See `Sessions::approved_diffs`; cleared when a turn starts and when it ends.
    pub(super) approved: Vec<Diff>,
    /// Commands of permissions allowed in the running turn; like `approved`.
    pub(super) approved_commands: Vec<Approved>,
    /// Changes that a person edited, and what the agent is to be told.
    pub(super) edited: Edited,
    /// When a write that no permission covers is asked about.
    pub(super) write_approval: WriteApproval,
    /// A command that no permission covers is asked about.
    pub(super) ask_commands: bool,
    /// What a person said about paths.
    pub(super) access: Decided,
    /// The agent's own name and version, once known.
    pub(super) agent_info: String,
    /// The agent takes resources in a prompt.
    pub(super) embedded_context: bool,
    /// Title from the agent.
    pub(super) title: Option<String>,
    /// First line of the first prompt, the title until the agent has a better one.
    pub(super) first_prompt: Option<String>,
    /// Tokens used and window size.
    pub(super) usage: Option<(u64, u64)>,
    /// Cost as shown text.
    pub(super) cost: Option<String>,
    /// Current mode id.
    pub(super) mode: Option<String>,
    /// Slash commands.
    pub(super) commands: Vec<Command>,
    /// The state word last announced; empty before the first.
    pub(super) announced_state: &'static str,
}

impl Session {
    /// What was allowed counts for one turn, and not once that is cancelled.
    pub(super) fn forget_approvals(&mut self) {
        self.approved.clear();
        self.approved_commands.clear();
        self.edited.turn_over();
    }

    pub(super) fn new(key: SessionKey, agent: AgentId, launch: Launch, cwd: PathBuf) -> Self {
        Self {
            key,
            agent,
            unsaved: launch.unsaved,
            launch,
            cwd,
            acp: None,
            dead: false,
            cause: None,
            start_by: None,
            turn: None,
            queue: VecDeque::new(),
            due: None,
            transcript: Transcript::default(),
            approved: Vec::new(),
            approved_commands: Vec::new(),
            edited: Edited::default(),
            write_approval: WriteApproval::Ask,
            ask_commands: true,
            access: Decided::default(),
            agent_info: String::new(),
            embedded_context: false,
            title: None,
            first_prompt: None,
            usage: None,
            cost: None,
            mode: None,
            commands: Vec::new(),
            announced_state: "",
        }
    }

    /// The state word. `waiting`: a question waits that the open turn or the next prompt waits for.
    pub(super) fn state(&self, waiting: bool) -> &'static str {
        match &self.turn {
            _ if self.dead => "dead",
            _ if self.acp.is_none() => "starting",
            None if waiting => "waiting",
            None if self.due == Some(Due::Held) => "running",
            None => "idle",
            Some(turn) if turn.cancelled => "cancelling",
            Some(_) if waiting => "waiting",
            Some(_) => "running",
        }
    }

    /// Whether the running turn was cancelled.
    pub(super) fn cancelling(&self) -> bool {
        self.turn.as_ref().is_some_and(|turn| turn.cancelled)
    }

    /// When `tick` has something to do.
    pub(super) fn deadline(&self) -> Option<Millis> {
        let cancel = self.turn.as_ref().and_then(|turn| turn.cancel_by);
        self.start_by.into_iter().chain(cancel).min()
    }

    /// What queries see.
    pub(super) fn snapshot(&self, waiting: bool) -> SessionState {
        let title = self.title.as_ref().or(self.first_prompt.as_ref()).map(String::as_str).unwrap_or("");
        SessionState {
            id: self.key.clone(),
            agent: self.launch.name.clone(),
            agent_info: self.agent_info.clone(),
            title: display::shorten(&display::one_line(title), TITLE).0,
            cwd: self.cwd.clone(),
            state: self.state(waiting),
            queue: self.queue.iter().map(|prompt| prompt.text.clone()).collect(),
            usage: self.usage,
            cost: self.cost.as_deref().map(display::one_line),
            mode: self.mode.as_deref().map(display::one_line),
            commands: self
                .commands
                .iter()
                .map(|c| {
                    (
                        c.name.clone(),
                        display::one_line(&c.description),
                        c.hint.as_deref().map(display::one_line),
                    )
                })
                .collect(),
            turn: self.transcript.turn,
            cause: if self.dead { self.cause.clone() } else { None },
        }
    }
}
