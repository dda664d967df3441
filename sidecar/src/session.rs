//! The session room: what each session is doing, its transcript, its questions, and the agents they run on.
//!
//! Owns every session's state machine (starting, idle, running, waiting, cancelling, dead), the queue of prompts, the
//! transcript entries, the questions that wait for a person together with the replies owed for them, and the time
//! limits. It never does I/O, never reads a clock (time comes with the call), never touches text of files, and knows no
//! agent by name. The app calls it with plain data and carries out the effects it returns.
//!
//! Every reply handed to `Sessions::permission` leaves again in exactly one `Effect::Answer`.

mod access;
mod agents;
mod bounds;
mod cards;
mod cause;
mod commands;
mod details;
pub mod display;
mod edited;
pub mod entry;
mod lifecycle;
mod notes;
mod questions;
mod state;
pub mod transcript;
mod turn;
mod unsaved;
mod updates;
mod writes;

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::json;

use crate::effect::{Effect, NvimCmd, SessionState};
use crate::event::CallResult;
use crate::model::*;

use agents::Agent;
use questions::Question;
pub use questions::QuestionDiff;
use state::{Due, Session};
pub use transcript::{Changes, Transcript};

/// Something that goes along with a prompt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PromptContext {
    /// How the transcript names it (display text, e.g. `src/a.rs:3-9`); empty for what it does not name.
    pub shown: String,
    /// What the agent gets. A resource becomes fenced text for agents that take no embedded context.
    pub content: Content,
}

/// What a call of ours is waiting for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum CallKind {
    /// `session/new`.
    NewSession,
    /// `session/prompt`.
    Prompt,
}

/// A call of ours that has not been answered.
#[derive(Clone, Debug)]
struct Call {
    /// Whom we asked; a reply from another agent does not count.
    agent: AgentId,
    /// For which session.
    session: SessionKey,
    /// What we asked.
    kind: CallKind,
}

/// All sessions, the agents they run on, and the questions that wait.
#[derive(Debug, Default)]
pub struct Sessions {
    /// In order of creation; a closed session is removed.
    list: Vec<Session>,
    /// One per process, from `create` or `restart` until it has exited, also when its sessions are closed.
    agents: Vec<Agent>,
    /// Calls in flight by number; an entry goes with its first reply or with its agent.
    calls: BTreeMap<u64, Call>,
    /// In order of arrival; an entry goes when it is answered or withdrawn.
    questions: Vec<Question>,
    /// The last number given to a call.
    last_call: u64,
    /// The last number given to a question.
    last_question: u64,
    /// `states()` differs from what was last asked for.
    state_changed: bool,
    /// `questions()` differs from what was last asked for.
    questions_changed: bool,
}

impl Sessions {
    /// No session.
    pub fn new() -> Self {
        Self::default()
    }

    /// A call of ours was answered. A second answer, or one for a session that is gone, is logged and ignored.
    pub fn reply(
        &mut self,
        agent: AgentId,
        call: u64,
        result: Result<CallResult, RpcError>,
        _now: Millis,
    ) -> Vec<Effect> {
        let mut effects = Vec::new();
        match self.calls.get(&call) {
            Some(known) if known.agent == agent => {
                let known = known.clone();
                self.calls.remove(&call);
                match (self.index(&known.session), known.kind) {
                    (Some(i), CallKind::NewSession) => self.session_made(i, result, &mut effects),
                    (Some(i), CallKind::Prompt) => self.prompt_answered(i, call, result, &mut effects),
                    (None, _) => tracing::debug!(?agent, call, "reply for a closed session ignored"),
                }
            }
            _ => tracing::warn!(?agent, call, "reply to no open call ignored"),
        }
        self.settle(effects)
    }

    /// The session that an agent means; `None` before `session/new` is answered, after `close`, and for any id the
    /// agent made up. The app answers requests for unknown sessions with -32602.
    pub fn session_for(&self, agent: AgentId, acp: &str) -> Option<&SessionKey> {
        self.index_for(agent, acp).map(|i| &self.list[i].key)
    }

    /// The session's working directory and only root.
    pub fn cwd(&self, key: &SessionKey) -> Option<&Path> {
        self.index(key).map(|i| self.list[i].cwd.as_path())
    }

    /// What was said and done.
    pub fn transcript(&self, key: &SessionKey) -> Option<&Transcript> {
        self.index(key).map(|i| &self.list[i].transcript)
    }

    /// For `Transcript::take_changes`.
    pub fn transcript_mut(&mut self, key: &SessionKey) -> Option<&mut Transcript> {
        self.index(key).map(|i| &mut self.list[i].transcript)
    }

    /// Diffs of permissions allowed in the running turn; a write they cover need not be asked about again.
    pub fn approved_diffs(&self, key: &SessionKey) -> &[Diff] {
        self.index(key).map_or(&[], |i| &self.list[i].approved)
    }

    /// These approvals have been used, or are taken back.
    pub fn spend_approvals(&mut self, key: &SessionKey, spent: impl Fn(&Diff) -> bool) {
        if let Some(i) = self.index(key) {
            self.list[i].approved.retain(|diff| !spent(diff));
        }
    }

    /// Sessions whose turn runs, in order of creation.
    pub fn running(&self) -> Vec<SessionKey> {
        self.list.iter().filter(|s| s.turn.is_some()).map(|s| s.key.clone()).collect()
    }

    /// Something outside the conversation that belongs to its story.
    pub fn told(&mut self, key: &SessionKey, text: &str) {
        if let Some(i) = self.index(key) {
            self.list[i].transcript.notice("info", &display::one_line(text));
        }
    }

    /// What queries see, in order of creation.
    pub fn states(&self) -> Vec<SessionState> {
        self.list.iter().map(|s| s.snapshot(waiting(&self.questions, s))).collect()
    }

    /// Whether `states()` changed since this was last asked.
    pub fn take_state_changed(&mut self) -> bool {
        std::mem::take(&mut self.state_changed)
    }

    /// Whether `questions()` changed since this was last asked.
    pub fn take_questions_changed(&mut self) -> bool {
        std::mem::take(&mut self.questions_changed)
    }

    /// All sessions, in order of creation.
    pub fn keys(&self) -> Vec<SessionKey> {
        self.list.iter().map(|s| s.key.clone()).collect()
    }

    /// The sessions that run on an agent.
    pub fn keys_of(&self, agent: AgentId) -> Vec<SessionKey> {
        self.list.iter().filter(|s| s.agent == agent && !s.dead).map(|s| s.key.clone()).collect()
    }

    /// Place of a session in the list.
    fn index(&self, key: &SessionKey) -> Option<usize> {
        self.list.iter().position(|s| &s.key == key)
    }

    /// Place of the session that runs on `agent` under the agent's id `acp`.
    fn index_for(&self, agent: AgentId, acp: &str) -> Option<usize> {
        self.list.iter().position(|s| s.agent == agent && !s.dead && s.acp.as_deref() == Some(acp))
    }

    /// Numbers a call and remembers who must answer it.
    fn open_call(&mut self, i: usize, kind: CallKind) -> u64 {
        self.last_call += 1;
        let call = Call { agent: self.list[i].agent, session: self.list[i].key.clone(), kind };
        self.calls.insert(self.last_call, call);
        self.last_call
    }

    /// Announces state changes; every entry point that can change a state ends here.
    fn settle(&mut self, mut effects: Vec<Effect>) -> Vec<Effect> {
        for session in &mut self.list {
            if session.due == Some(Due::Offered) {
                // The app goes on at once; what it makes of it is the state to tell.
                continue;
            }
            let state = session.state(waiting(&self.questions, session));
            if session.announced_state != state {
                session.announced_state = state;
                self.state_changed = true;
                effects.push(user_event(
                    "BosunStateChanged",
                    json!({ "session": session.key.to_string(), "state": state }),
                ));
            }
        }
        effects
    }
}

/// Whether a question waits that the session's open turn, or its next prompt, waits for.
fn waiting(questions: &[Question], session: &Session) -> bool {
    let of_turn = session.turn.is_some();
    questions.iter().any(|q| q.session == session.key && ((of_turn && q.in_turn) || q.before_prompt()))
}

/// A `User` autocmd.
fn user_event(name: &str, data: serde_json::Value) -> Effect {
    Effect::Nvim(NvimCmd::UserEvent { name: name.to_owned(), data })
}

/// A message for the person wherever the chat is.
fn notify(level: &str, text: impl Into<String>) -> Effect {
    Effect::Nvim(NvimCmd::Notify { level: level.to_owned(), text: text.into() })
}
