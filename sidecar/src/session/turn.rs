//! Prompts and turns: the queue, sending, cancelling, and how a turn ends.
//!
//! Owns these transitions of `Sessions`: one prompt at a time per session, at most one cancel per turn and none while
//! no prompt is open, and nothing a person wrote is ever lost. Called by the app and by the lifecycle part.

use serde_json::json;

use crate::effect::{AgentCmd, Effect};
use crate::event::{CallResult, ContextItem};
use crate::model::*;

use super::entry::StopReason;
use super::questions::returned;
use super::state::{Due, QueuedPrompt, Turn};
use super::{CallKind, PromptContext, Sessions, cause, display, notify, user_event};

/// How long an agent may take to end a cancelled turn before the person is told.
pub(super) const CANCEL_GRACE: Millis = 10_000;

impl Sessions {
    /// Takes a prompt, and queues it until the session is ready and its turn over. A dead session needs `restart` first.
    pub fn prompt(
        &mut self,
        key: &SessionKey,
        text: String,
        context: Vec<ContextItem>,
        _now: Millis,
    ) -> Vec<Effect> {
        let Some(i) = self.index(key) else {
            return vec![
                notify("warn", format!("There is no session {key}.")),
                returned(key, text, "There is no such session."),
            ];
        };
        if text.trim().is_empty() && context.is_empty() {
            return vec![notify("warn", "The prompt is empty.")];
        }
        if self.list[i].dead {
            return vec![returned(key, text, "The agent has ended.")];
        }
        let mut effects = Vec::new();
        self.list[i].queue.push_back(QueuedPrompt { text, context });
        self.state_changed = true;
        self.next_prompt(i, &mut effects);
        self.settle(effects)
    }

    /// Says that the next queued prompt is due, if the session is ready for one and was not told so yet.
    pub(super) fn next_prompt(&mut self, i: usize, effects: &mut Vec<Effect>) {
        if self.list[i].due.is_none() && !self.list[i].queue.is_empty() && self.can_go(i).is_some() {
            self.list[i].due = Some(Due::Offered);
            effects.push(Effect::PromptDue { session: self.list[i].key.clone() });
        }
    }

    /// The agent's id of a session that a prompt can be sent to.
    fn can_go(&self, i: usize) -> Option<String> {
        let session = &self.list[i];
        // Where the agent is being stopped, its exit hands the queue back.
        let stopping = self.agents.iter().any(|agent| agent.id == session.agent && agent.stopping);
        session.acp.clone().filter(|_| session.turn.is_none() && !session.dead && !stopping)
    }

    /// What goes along with the prompt that is due; `None` while none is.
    pub fn due(&self, key: &SessionKey) -> Option<&[ContextItem]> {
        let session = &self.list[self.index(key)?];
        session.due?;
        session.queue.front().map(|prompt| prompt.context.as_slice())
    }

    /// The text of the prompt that is due.
    pub fn due_text(&self, key: &SessionKey) -> Option<&str> {
        let session = &self.list[self.index(key)?];
        session.due?;
        session.queue.front().map(|prompt| prompt.text.as_str())
    }

    /// The prompt that is due takes a while.
    pub fn hold(&mut self, key: &SessionKey) -> Vec<Effect> {
        if let Some(i) = self.index(key)
            && self.list[i].due.is_some()
        {
            self.list[i].due = Some(Due::Held);
            self.state_changed = true;
        }
        self.settle(Vec::new())
    }

    /// Sends the prompt that is due, with this.
    pub fn go(&mut self, key: &SessionKey, context: Vec<PromptContext>) -> Vec<Effect> {
        let mut effects = Vec::new();
        if let Some(i) = self.index(key)
            && self.list[i].due.is_some()
            && let Some(acp) = self.can_go(i)
            && let Some(prompt) = self.list[i].queue.pop_front()
        {
            self.list[i].due = None;
            self.send(i, acp, prompt.text, context, &mut effects);
        }
        self.settle(effects)
    }

    fn send(
        &mut self,
        i: usize,
        acp: String,
        text: String,
        context: Vec<PromptContext>,
        effects: &mut Vec<Effect>,
    ) {
        let call = self.open_call(i, CallKind::Prompt);
        let session = &mut self.list[i];
        if session.first_prompt.is_none() {
            session.first_prompt = text.lines().find(|line| !line.trim().is_empty()).map(str::to_owned);
        }
        let mut blocks = Vec::with_capacity(context.len() + 1);
        if !text.is_empty() {
            // First, because a slash command must begin the prompt.
            blocks.push(Content::Text(text.clone()));
        }
        let mut shown = Vec::with_capacity(context.len());
        let mut sent = Vec::with_capacity(context.len());
        for PromptContext { shown: name, content } in context {
            if !name.is_empty() {
                shown.push(display::one_line(&name));
            }
            sent.push(if session.embedded_context { content } else { without_resource(content) });
        }
        blocks.extend(sent.iter().cloned());
        session.forget_approvals();
        session.access.turn_over();
        session.transcript.begin_turn(text.clone(), shown);
        session.turn = Some(Turn {
            call,
            prompt: text,
            sent,
            echo: Some(0),
            cancelled: false,
            cancel_by: None,
            said: false,
        });
        self.state_changed = true;
        let event = json!({ "session": session.key.to_string(), "turn": session.transcript.turn });
        effects.push(Effect::Agent(session.agent, AgentCmd::Prompt { call, session: acp, blocks }));
        effects.push(user_event("BosunTurnStart", event));
    }

    /// `session/prompt` was answered.
    pub(super) fn prompt_answered(
        &mut self,
        i: usize,
        call: u64,
        result: Result<CallResult, RpcError>,
        effects: &mut Vec<Effect>,
    ) {
        let session = &self.list[i];
        let Some(turn) = session.turn.as_ref().filter(|turn| turn.call == call) else {
            tracing::warn!(call, session = %session.key, "answer to a prompt whose turn is over ignored");
            return;
        };
        let (reason, mut usage) = match result {
            Ok(CallResult::Prompt { stop_reason, raw }) => {
                (cause::stop_reason(&stop_reason), cause::usage_text(&raw))
            }
            Ok(other) => {
                tracing::error!(?other, "session/prompt got another call's result");
                let error =
                    RpcError::new(RpcError::INTERNAL, "the agent's answer to the prompt makes no sense");
                (StopReason::Error(error), None)
            }
            Err(error) => (StopReason::Error(error), None),
        };
        let ours = turn.cancelled;
        let silent = !turn.said;
        if ours && reason != StopReason::Cancelled {
            // Agents answer a cancel with an error or with end_turn too; to the person all of it is the cancel.
            tracing::debug!(?reason, session = %session.key, "answer after a cancel taken as cancelled");
        }
        let reason = if ours { StopReason::Cancelled } else { reason };
        let detail = match &reason {
            StopReason::Error(error) => cause::error_lines(error),
            reason => cause::stop_lines(reason, silent),
        };
        if let Some((used, size)) = session.usage {
            let context = format!("context {used} of {size} tokens");
            usage = Some(usage.map_or_else(|| context.clone(), |counts| format!("{counts}, {context}")));
        }
        if let Some(cost) = &session.cost {
            let cost = display::one_line(cost);
            usage = Some(usage.map_or_else(|| cost.clone(), |counts| format!("{counts}, {cost}")));
        }
        let stopped = matches!(reason, StopReason::Cancelled | StopReason::Error(_));
        if matches!(reason, StopReason::Refusal | StopReason::Error(_)) {
            effects.push(Effect::PromptForgotten { session: self.list[i].key.clone() });
        }
        self.end_turn(i, reason, detail, usage, effects);
        // What was queued before a cancel of ours went back with it; what came after it is meant to be sent.
        if stopped && !ours {
            self.return_queue(i, "The turn before it did not end well.", effects);
        }
        self.next_prompt(i, effects);
    }

    /// Closes the running turn, if there is one: questions of it are withdrawn, cards and messages closed.
    pub(super) fn end_turn(
        &mut self,
        i: usize,
        reason: StopReason,
        detail: Vec<String>,
        usage: Option<String>,
        effects: &mut Vec<Effect>,
    ) {
        if self.list[i].turn.take().is_none() {
            return;
        }
        let key = self.list[i].key.clone();
        self.withdraw(|q| q.session == key && q.in_turn, "withdrawn: the turn ended", effects);
        let session = &mut self.list[i];
        for path in session.edited.not_landed() {
            let text = format!("Your edits of {path} are not in it: the agent's change did not come.");
            session.transcript.notice("warn", &text);
        }
        session.forget_approvals();
        session.access.turn_over();
        let stopped =
            matches!(reason, StopReason::Cancelled | StopReason::Error(_) | StopReason::AgentExit(_));
        let data = json!({ "session": key.to_string(), "stop_reason": cause::stop_word(&reason) });
        session.transcript.end_turn(reason, detail, usage, stopped);
        self.state_changed = true;
        effects.push(user_event("BosunTurnEnd", data));
    }

    /// Cancels the running turn, or drops what is queued while the session starts. The turn ends when the agent
    /// answers the prompt; when it does not in time, a second cancel ends the agent.
    pub fn cancel(&mut self, key: &SessionKey, now: Millis) -> Vec<Effect> {
        let Some(i) = self.index(key) else { return Vec::new() };
        let mut effects = Vec::new();
        let session = &mut self.list[i];
        let agent = session.agent;
        match (&mut session.turn, &session.acp) {
            (Some(turn), Some(acp)) if !turn.cancelled => {
                turn.cancelled = true;
                turn.cancel_by = Some(now.saturating_add(CANCEL_GRACE));
                effects.push(Effect::Agent(agent, AgentCmd::Cancel { session: acp.clone() }));
                session.transcript.cancel_cards();
                session.forget_approvals();
            }
            (Some(turn), _) if turn.cancel_by.is_none() => {
                session.transcript.notice("warn", "The agent did not end the cancelled turn and is stopped.");
                self.stop(agent, &mut effects);
            }
            // A second cancel changes nothing, and must not take back what was queued since the first.
            (Some(_), _) => return Vec::new(),
            (None, _) => {}
        }
        self.withdraw_agents(key, "cancelled", &mut effects);
        self.return_queue(i, "Cancelled.", &mut effects);
        self.settle(effects)
    }

    /// Says once that a cancelled turn lasts too long.
    pub(super) fn cancel_overdue(&mut self, i: usize, now: Millis) {
        let session = &mut self.list[i];
        let Some(turn) = session.turn.as_mut().filter(|turn| turn.cancel_by.is_some_and(|by| by <= now))
        else {
            return;
        };
        turn.cancel_by = None;
        let text = format!(
            "The agent has not ended the cancelled turn for {} s. Cancel once more to end the agent; \
             the next prompt then starts it again.",
            CANCEL_GRACE / 1000
        );
        session.transcript.notice("warn", &text);
    }
}

/// A resource for an agent that takes none: its text, fenced. A link would lose what is not saved yet.
fn without_resource(content: Content) -> Content {
    let Content::Resource { uri, text, .. } = content else { return content };
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(longest.max(2) + 1);
    let end = if text.is_empty() || text.ends_with('\n') { "" } else { "\n" };
    Content::Text(format!("{uri}\n{fence}\n{text}{end}{fence}\n"))
}
