//! What agents say, routed to the rooms.
//!
//! Part of the app: decides only which room an event belongs to. Requests for sessions that this agent does not have
//! are answered here, because no room owns them.

use std::path::Path;

use super::App;
use crate::effect::Effect;
use crate::event::{AgentEvent, TerminalAsk};
use crate::model::*;
use crate::reply::{Reply, WireId};

impl App {
    pub(super) fn agent_event(&mut self, agent: AgentId, event: AgentEvent, now: Millis) -> Vec<Effect> {
        match event {
            AgentEvent::Started { pgid } => self.sessions.started(agent, pgid),
            AgentEvent::Initialized(info) => self.sessions.initialized(agent, *info),
            AgentEvent::Reply { call, result } => self.sessions.reply(agent, call, result, now),
            AgentEvent::Update { session, update: Update::Terminal(terminal) } => {
                match self.sessions.session_for(agent, &session).cloned() {
                    Some(key) => self.workspace.agent_terminal(&key, terminal, now),
                    None => Vec::new(),
                }
            }
            AgentEvent::Update { session, update } => {
                if let Update::ToolCall(patch) | Update::ToolCallUpdate(patch) = &update {
                    self.names(agent, &session, patch);
                }
                if matches!(update, Update::Compaction { .. })
                    && let Some(key) = self.sessions.session_for(agent, &session)
                {
                    // What is left of the texts that it was given is anybody's guess.
                    self.workspace.forget_given(key);
                }
                self.sessions.update(agent, &session, update, now)
            }
            AgentEvent::Permission { session, tool, options, reply } => {
                if self.sessions.session_for(agent, &session).is_none() {
                    return unknown_session(reply, &session);
                }
                self.names(agent, &session, &tool);
                let id = reply.id().clone();
                let effects = self.sessions.permission(agent, &session, *tool, options, reply, now);
                self.note_files(agent, &session, &id);
                effects
            }
            AgentEvent::ReadFile { session, path, line, limit, reply } => {
                match self.sessions.session_for(agent, &session).cloned() {
                    Some(key) => self.workspace.read(&key, path, line, limit, reply),
                    None => unknown_session(reply, &session),
                }
            }
            AgentEvent::WriteFile { session, path, content, reply } => {
                match self.sessions.session_for(agent, &session).cloned() {
                    Some(key) => self.workspace.write(&key, path, content, reply),
                    None => unknown_session(reply, &session),
                }
            }
            AgentEvent::CreateTerminal { session, create, reply } => {
                match self.sessions.session_for(agent, &session).cloned() {
                    Some(key) => self.workspace.terminal_create(&key, *create, reply, now),
                    None => unknown_session(reply, &session),
                }
            }
            AgentEvent::Terminal { session, terminal, ask, reply } => {
                let Some(key) = self.sessions.session_for(agent, &session).cloned() else {
                    return unknown_session(reply, &session);
                };
                match ask {
                    TerminalAsk::Output => self.workspace.terminal_output(&key, &terminal, reply),
                    TerminalAsk::Wait => self.workspace.terminal_wait(&key, &terminal, reply),
                    TerminalAsk::Kill => self.workspace.terminal_kill(&key, &terminal, reply),
                    TerminalAsk::Release => self.workspace.terminal_release(&key, &terminal, reply),
                }
            }
            AgentEvent::CancelRequest { id } => {
                let keys = self.sessions.keys_of(agent);
                let mut effects = self.sessions.cancel_request(agent, &id);
                effects.extend(self.workspace.cancel_request(&keys, &id));
                effects
            }
            AgentEvent::Stuck { bytes } => self.sessions.stuck(agent, bytes),
            AgentEvent::Exited(exit) => {
                let mut effects = Vec::new();
                for key in self.sessions.keys_of(agent) {
                    effects.extend(self.workspace.forget_agent(&key));
                }
                effects.extend(self.sessions.exited(agent, exit, now));
                effects
            }
        }
    }
}

impl App {
    /// Says with a question what a person would want to know of its files and only the workspace knows.
    fn note_files(&mut self, agent: AgentId, session: &str, id: &WireId) {
        let cwd = self.sessions.session_for(agent, session).and_then(|key| self.sessions.cwd(key));
        let Some(cwd) = cwd.map(Path::to_owned) else { return };
        let paths = self.sessions.permission_paths(agent, id);
        let notes = paths.iter().filter_map(|path| self.workspace.note_on(&cwd.join(path))).collect();
        self.sessions.note_permission(agent, id, notes);
    }
}

impl App {
    /// A tool call names files that it is about: what changes there on disk is the agent's doing. It may also say what runs in
    /// a terminal that the agent shows.
    fn names(&mut self, agent: AgentId, session: &str, tool: &ToolPatch) {
        let Some(key) = self.sessions.session_for(agent, session) else { return };
        let locations = tool.locations.set().into_iter().flatten().map(|l| l.path.clone());
        let diffs = tool.content.set().into_iter().flatten().filter_map(|c| match c {
            ToolContent::Diff(diff) => Some(diff.path.clone()),
            _ => None,
        });
        self.workspace.names(key, locations.chain(diffs));
        self.workspace.agent_terminal_called(key, tool);
    }
}

fn unknown_session(reply: Reply, session: &str) -> Vec<Effect> {
    let error = RpcError::new(RpcError::INVALID_PARAMS, format!("unknown session: {session}"));
    vec![Effect::Answer(reply, Err(error))]
}
