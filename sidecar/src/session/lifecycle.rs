//! From the start of an agent to its end: create, initialize, set up, time limits, exit, restart, close.
//!
//! Owns these transitions of `Sessions`. An agent that cannot be used is told to stop and explained to the person; the
//! session is dead once the process is, and a new prompt then restarts it. Called by the app.

use std::path::PathBuf;

use serde_json::{Value, json};

use crate::effect::{AgentCmd, Effect, NvimCmd};
use crate::event::CallResult;
use crate::model::*;

use super::agents::Agent;
use super::entry::StopReason;
use super::questions::returned;
use super::state::Session;
use super::updates::mode_of_options;
use super::{CallKind, Sessions, cause, display, notify, user_event};

/// The protocol version we speak.
const PROTOCOL_VERSION: u64 = 1;

impl Sessions {
    /// Opens a session on an agent, which is started unless another session runs on it already.
    pub fn create(
        &mut self,
        key: SessionKey,
        agent: AgentId,
        launch: Launch,
        cwd: PathBuf,
        now: Millis,
    ) -> Vec<Effect> {
        if self.index(&key).is_some() {
            return vec![notify("warn", format!("Session {key} exists already."))];
        }
        self.list.push(Session::new(key, agent, launch, cwd));
        self.state_changed = true;
        let mut effects = Vec::new();
        self.begin(self.list.len() - 1, now, &mut effects);
        self.settle(effects)
    }

    /// Starts the agent of a session, or sets the session up on one that runs.
    fn begin(&mut self, i: usize, now: Millis, effects: &mut Vec<Effect>) {
        let session = &mut self.list[i];
        let limit = session.launch.start_timeout_ms;
        session.start_by = (limit > 0).then(|| now.saturating_add(limit));
        let id = session.agent;
        match self.agents.iter().find(|agent| agent.id == id) {
            Some(agent) if agent.info.is_some() => self.set_up(i, effects),
            Some(_) => {}
            None => {
                let launch = Box::new(session.launch.clone());
                self.agents.push(Agent::new(id));
                effects.push(Effect::Agent(id, AgentCmd::Start(launch)));
            }
        }
    }

    fn set_up(&mut self, i: usize, effects: &mut Vec<Effect>) {
        let call = self.open_call(i, CallKind::NewSession);
        let session = &mut self.list[i];
        if let Some(info) = self.agents.iter().find(|a| a.id == session.agent).and_then(|a| a.info.as_ref()) {
            session.agent_info = cause::agent_text(info);
            session.embedded_context = info.embedded_context;
            self.state_changed = true;
        }
        let cwd = session.cwd.clone();
        effects.push(Effect::Agent(session.agent, AgentCmd::NewSession { call, cwd }));
    }

    /// The process runs.
    pub fn started(&mut self, agent: AgentId, pgid: i32) -> Vec<Effect> {
        match self.agents.iter_mut().find(|a| a.id == agent) {
            Some(record) => record.pgid = Some(pgid),
            None => tracing::warn!(?agent, pgid, "an agent started that nobody asked for"),
        }
        vec![self.groups()]
    }

    fn groups(&self) -> Effect {
        Effect::Nvim(NvimCmd::Groups(self.agents.iter().filter_map(|agent| agent.pgid).collect()))
    }

    /// `initialize` was answered.
    pub fn initialized(&mut self, agent: AgentId, info: AgentInfo) -> Vec<Effect> {
        let Some(record) = self.agents.iter_mut().find(|a| a.id == agent) else { return Vec::new() };
        if record.info.is_some() || record.stopping {
            return Vec::new();
        }
        let version = info.protocol_version;
        let fits = version == PROTOCOL_VERSION;
        record.info = Some(info);
        let mut effects = Vec::new();
        for i in 0..self.list.len() {
            if self.list[i].agent != agent || self.list[i].dead {
                continue;
            }
            if fits {
                self.set_up(i, &mut effects);
            } else {
                let why = format!(
                    "The agent speaks version {version} of the protocol, Bosun speaks version {PROTOCOL_VERSION}. \
                     Install a version of the agent that fits."
                );
                self.give_up(i, &why, &mut effects);
            }
        }
        self.settle(effects)
    }

    /// `session/new` was answered.
    pub(super) fn session_made(
        &mut self,
        i: usize,
        result: Result<CallResult, RpcError>,
        effects: &mut Vec<Effect>,
    ) {
        let (acp, raw) = match result {
            Ok(CallResult::NewSession { session, raw }) => (session, raw),
            Ok(other) => {
                tracing::error!(?other, "session/new got another call's result");
                self.give_up(i, "The agent could not open a session: its answer makes no sense.", effects);
                return;
            }
            Err(error) => {
                let why =
                    format!("The agent could not open a session: {}", cause::error_lines(&error).join("\n"));
                // Most often an agent that is installed but not set up.
                let hint = "If it is not set up yet: do that with its own command, then send the prompt again. \
                            Or take another: :Bosun new <Tab>";
                let why = format!("{why}\n{hint}");
                self.give_up(i, &why, effects);
                return;
            }
        };
        let session = &mut self.list[i];
        session.start_by = None;
        session.acp = Some(acp.clone());
        let raw: Value = serde_json::from_str(&raw).unwrap_or_default();
        let mode = raw.get("modes").and_then(|modes| modes.get("currentModeId")).and_then(Value::as_str);
        session.mode = mode.map(str::to_owned).or_else(|| raw.get("configOptions").and_then(mode_of_options));
        self.state_changed = true;
        let (agent, key) = (session.agent, session.key.clone());
        effects.push(user_event("BosunSessionReady", json!({ "session": key.to_string() })));
        let others_wait = self.waits_for_setup(agent);
        let held = self
            .agents
            .iter_mut()
            .find(|a| a.id == agent)
            .map(|a| a.release(&acp, others_wait))
            .unwrap_or_default();
        for update in held {
            self.apply_update(i, update);
        }
        self.next_prompt(i, effects);
    }

    /// Whether a session on this agent does not know its id yet.
    pub(super) fn waits_for_setup(&self, agent: AgentId) -> bool {
        self.list.iter().any(|s| s.agent == agent && !s.dead && s.acp.is_none())
    }

    /// The session cannot become ready: says why, hands queued prompts back, and ends the agent unless others use it.
    fn give_up(&mut self, i: usize, why: &str, effects: &mut Vec<Effect>) {
        let agent = self.list[i].agent;
        let shared = self.list.iter().enumerate().any(|(other, s)| other != i && s.agent == agent && !s.dead);
        let session = &mut self.list[i];
        // A late answer to `session/new` must not bring the session to life.
        self.calls.retain(|_, call| call.session != session.key);
        session.start_by = None;
        session.cause = Some(display::one_line(why));
        session.transcript.notice("error", why);
        session.dead = shared;
        self.state_changed = true;
        effects.push(notify(
            "error",
            format!("{}: {}", display::one_line(&session.launch.name), display::block(why)),
        ));
        self.return_queue(i, "The session could not be started.", effects);
        if !shared {
            self.stop(agent, effects);
        }
    }

    /// Ends a process, once; `Exited` follows.
    pub(super) fn stop(&mut self, agent: AgentId, effects: &mut Vec<Effect>) {
        if let Some(record) = self.agents.iter_mut().find(|a| a.id == agent && !a.stopping) {
            record.stopping = true;
            effects.push(Effect::Agent(agent, AgentCmd::Stop));
        }
    }

    /// The agent has ended. Its sessions are dead, their turns over, all that was owed is answered.
    pub fn exited(&mut self, agent: AgentId, exit: Exit, _now: Millis) -> Vec<Effect> {
        let Some(place) = self.agents.iter().position(|a| a.id == agent) else { return Vec::new() };
        let record = self.agents.remove(place);
        self.calls.retain(|_, call| call.agent != agent);
        let mut effects = vec![self.groups()];
        let mut told = record.closed;
        for i in 0..self.list.len() {
            if self.list[i].agent == agent && !self.list[i].dead {
                told.push(self.list[i].key.clone());
                self.bury(i, &exit, &mut effects);
            }
        }
        for key in told {
            let data = json!({ "session": key.to_string(), "code": exit.code, "signal": exit.signal });
            effects.push(user_event("BosunAgentExit", data));
        }
        self.settle(effects)
    }

    fn bury(&mut self, i: usize, exit: &Exit, effects: &mut Vec<Effect>) {
        let key = self.list[i].key.clone();
        self.withdraw_agents(&key, "withdrawn: the agent ended", effects);
        let starting = self.list[i].acp.is_none();
        let lines = cause::exit_lines(exit);
        let name = display::one_line(&self.list[i].launch.name);
        if self.list[i].turn.is_some() {
            let mut detail = lines.clone();
            detail.push("The next prompt starts the agent again.".to_owned());
            self.end_turn(i, StopReason::AgentExit(exit.clone()), detail, None, effects);
            effects.push(notify("error", format!("{name} ended during a turn: {}", lines[0])));
        } else if starting && self.list[i].cause.is_none() {
            let command = display::one_line(&self.list[i].launch.command);
            let text = format!("{name} ended before it was ready ({command}): {}", lines.join("\n"));
            self.list[i].transcript.notice("error", &text);
            effects.push(notify("error", text));
        } else if starting {
            // The reason has been told; what the agent said last may explain it.
            self.list[i].transcript.notice("info", &format!("The agent has ended: {}", lines.join("\n")));
        } else {
            let text = format!("The agent has ended: {}\nThe next prompt starts it again.", lines.join("\n"));
            self.list[i].transcript.notice("warn", &text);
        }
        self.return_queue(i, "The agent has ended.", effects);
        let session = &mut self.list[i];
        session.transcript.close_message();
        session.transcript.end_cards(true);
        session.dead = true;
        session.acp = None;
        session.start_by = None;
        session.forget_approvals();
        session.cause.get_or_insert_with(|| lines[0].clone());
        self.state_changed = true;
    }

    /// The agent does not read what we send (`bytes` wait), or does so again (0).
    pub fn stuck(&mut self, agent: AgentId, bytes: usize) -> Vec<Effect> {
        let mut effects = Vec::new();
        for session in self.list.iter_mut().filter(|s| s.agent == agent && !s.dead) {
            if bytes == 0 {
                session.transcript.notice("info", "The agent reads again.");
                continue;
            }
            let text = format!("The agent does not read what is sent to it ({bytes} bytes wait).");
            session.transcript.notice("warn", &text);
            effects.push(notify("warn", text));
        }
        effects
    }

    /// Whether a prompt needs `restart` first, because the agent has ended.
    pub fn needs_restart(&self, key: &SessionKey) -> bool {
        self.index(key).is_some_and(|i| self.list[i].dead)
    }

    /// Starts a dead session's agent again: same key and transcript, a new process that knows nothing of it.
    pub fn restart(&mut self, key: &SessionKey, agent: AgentId, now: Millis) -> Vec<Effect> {
        let Some(i) = self.index(key).filter(|i| self.list[*i].dead) else {
            tracing::warn!(%key, "restart of a session that is not dead ignored");
            return Vec::new();
        };
        let session = &mut self.list[i];
        session.agent = agent;
        session.dead = false;
        session.acp = None;
        session.cause = None;
        session.usage = None;
        session.cost = None;
        session.mode = None;
        session.commands.clear();
        if session.transcript.turn > 0 {
            let text = "The agent was started again. It does not remember the conversation above.";
            session.transcript.notice("info", text);
        }
        self.state_changed = true;
        let mut effects = Vec::new();
        self.begin(i, now, &mut effects);
        self.settle(effects)
    }

    /// Ends a session: open questions are answered, and with its last session the agent ends too.
    pub fn close(&mut self, key: &SessionKey, _now: Millis) -> Vec<Effect> {
        let Some(i) = self.index(key) else { return Vec::new() };
        let mut effects = Vec::new();
        let agent = self.list[i].agent;
        let shared = self.list.iter().any(|s| s.agent == agent && &s.key != key && !s.dead);
        if shared
            && let (Some(acp), Some(turn)) = (&self.list[i].acp, &self.list[i].turn)
            && !turn.cancelled
        {
            effects.push(Effect::Agent(agent, AgentCmd::Cancel { session: acp.clone() }));
        }
        self.withdraw(|q| &q.session == key, "withdrawn: the session was closed", &mut effects);
        self.end_turn(i, StopReason::Cancelled, Vec::new(), None, &mut effects);
        self.return_queue(i, "The session was closed.", &mut effects);
        if !self.list[i].dead {
            if let Some(record) = self.agents.iter_mut().find(|a| a.id == agent) {
                record.closed.push(key.clone());
            }
            if !shared {
                self.stop(agent, &mut effects);
            }
        }
        self.list.remove(i);
        self.calls.retain(|_, call| &call.session != key);
        self.state_changed = true;
        self.settle(effects)
    }

    /// Applies the time limits that have passed.
    pub fn tick(&mut self, now: Millis) -> Vec<Effect> {
        let mut effects = Vec::new();
        for i in 0..self.list.len() {
            if self.list[i].start_by.is_some_and(|by| by <= now) {
                let seconds = self.list[i].launch.start_timeout_ms.div_ceil(1000);
                let known = !self.list[i].agent_info.is_empty();
                let step = if known { "session/new" } else { "initialize" };
                let why = format!(
                    "The agent did not answer {step} within {seconds} s and is stopped. \
                     What it last wrote to stderr follows, if anything; see also the log of the wire."
                );
                self.give_up(i, &why, &mut effects);
            }
            self.cancel_overdue(i, now);
        }
        self.settle(effects)
    }

    /// When `tick` next has something to do.
    pub fn next_deadline(&self) -> Option<Millis> {
        self.list.iter().filter_map(Session::deadline).min()
    }

    /// Hands all queued prompts back to the person, as one text.
    pub(super) fn return_queue(&mut self, i: usize, why: &str, effects: &mut Vec<Effect>) {
        let session = &mut self.list[i];
        session.due = None;
        if session.queue.is_empty() {
            return;
        }
        let texts: Vec<String> = session.queue.drain(..).map(|prompt| prompt.text).collect();
        effects.push(returned(&session.key, texts.join("\n\n"), why));
        self.state_changed = true;
    }
}
