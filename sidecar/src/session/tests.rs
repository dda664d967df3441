//! Tests of the session room: a stage that plays the app, agents and person on plain data, and says what came out.
//!
//! Owns the stage. Effects and entries are told as short lines of text, so that a test reads as what a person sees and
//! what goes over the wire. Only compiled for tests.

mod access;
mod answers;
mod cards;
mod commands;
mod details;
mod display;
mod edited;
mod lifecycle;
mod merges;
mod messages;
mod permissions;
mod replies;
mod stops;
mod turns;
mod unsaved;
mod writes;

use std::sync::Arc;

use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

use super::entry::{Body, Entry};
use super::*;
use crate::effect::{AgentCmd, MergeAsk, Verdict, WriteAsk};
use crate::reply::{Answer, Reply, WireId};

/// The key of the one session most tests need.
pub(super) fn key() -> SessionKey {
    SessionKey::new("s1")
}

/// The room with its surroundings.
pub(super) struct Stage {
    pub(super) room: Sessions,
    /// Effects since the last `take`, as lines.
    told: Vec<String>,
    /// The last call number sent to an agent.
    pub(super) call: u64,
    /// Replies end here, as on the agent edge.
    answer_tx: UnboundedSender<Answer>,
    answer_rx: UnboundedReceiver<Answer>,
    pub(super) now: Millis,
    /// What the app puts along with the next prompt that is due.
    pub(super) along: Vec<PromptContext>,
    /// Prompts that are due are held, as by an app that waits for something.
    pub(super) holds: bool,
    /// The blocks of the last prompt that went out.
    pub(super) blocks: Vec<Content>,
    /// The app was told that the agent does not remember what came with a prompt.
    pub(super) forgotten: bool,
}

impl Stage {
    /// Nothing yet.
    pub(super) fn empty() -> Self {
        let (answer_tx, answer_rx) = unbounded_channel();
        Self {
            room: Sessions::new(),
            told: Vec::new(),
            call: 0,
            answer_tx,
            answer_rx,
            now: 0,
            along: Vec::new(),
            holds: false,
            blocks: Vec::new(),
            forgotten: false,
        }
    }

    /// Session `s1` on agent 1, starting.
    pub(super) fn starting() -> Self {
        let mut stage = Self::empty();
        stage.create("s1", 1);
        stage.take();
        stage
    }

    /// Session `s1` on agent 1, known to it as `a1`, idle.
    pub(super) fn idle() -> Self {
        let mut stage = Self::starting();
        stage.ready(1, "a1");
        stage.take();
        stage
    }

    /// The same, with a prompt `go` running.
    pub(super) fn running() -> Self {
        let mut stage = Self::idle();
        stage.prompt("go");
        stage.take();
        stage
    }

    pub(super) fn create(&mut self, key: &str, agent: u32) {
        let launch = Launch {
            name: "robo".into(),
            command: "robo".into(),
            start_timeout_ms: 60_000,
            ..Launch::default()
        };
        let effects =
            self.room.create(SessionKey::new(key), AgentId(agent), launch, "/proj".into(), self.now);
        self.play(effects);
    }

    pub(super) fn ready(&mut self, agent: u32, acp: &str) {
        let effects = self.room.started(AgentId(agent), 100 + agent as i32);
        self.play(effects);
        self.initialized(agent, AgentInfo { protocol_version: 1, ..AgentInfo::default() });
        self.made(agent, acp);
    }

    pub(super) fn initialized(&mut self, agent: u32, info: AgentInfo) {
        let effects = self.room.initialized(AgentId(agent), info);
        self.play(effects);
    }

    pub(super) fn made(&mut self, agent: u32, acp: &str) {
        self.reply(agent, self.call, Ok(CallResult::NewSession { session: acp.into(), raw: "{}".into() }));
    }

    pub(super) fn reply(&mut self, agent: u32, call: u64, result: Result<CallResult, RpcError>) {
        let effects = self.room.reply(AgentId(agent), call, result, self.now);
        self.play(effects);
    }

    pub(super) fn prompt(&mut self, text: &str) {
        let effects = self.room.prompt(&key(), text.into(), Vec::new(), self.now);
        self.play(effects);
    }

    pub(super) fn cancel(&mut self) {
        let effects = self.room.cancel(&key(), self.now);
        self.play(effects);
    }

    /// Answers the running prompt.
    pub(super) fn stop(&mut self, reason: &str) {
        self.reply(1, self.call, prompt_result(reason, "{}"));
    }

    pub(super) fn fail(&mut self, error: RpcError) {
        self.reply(1, self.call, Err(error));
    }

    pub(super) fn exit(&mut self, exit: Exit) {
        let effects = self.room.exited(AgentId(1), exit, self.now);
        self.play(effects);
    }

    pub(super) fn update(&mut self, update: Update) {
        let effects = self.room.update(AgentId(1), "a1", update, self.now);
        self.play(effects);
    }

    pub(super) fn say(&mut self, text: &str) {
        self.update(chunk(Role::Agent, None, text));
    }

    pub(super) fn think(&mut self, text: &str) {
        self.update(chunk(Role::Thought, None, text));
    }

    pub(super) fn ask(&mut self, wire: &str, tool: ToolPatch, options: Vec<PermissionOption>) {
        self.ask_on(1, "a1", wire, tool, options);
    }

    pub(super) fn ask_on(
        &mut self,
        agent: u32,
        acp: &str,
        wire: &str,
        tool: ToolPatch,
        options: Vec<PermissionOption>,
    ) {
        let reply = Reply::new(WireId(wire.into()), self.answer_tx.clone());
        let effects = self.room.permission(AgentId(agent), acp, tool, options, reply, self.now);
        self.play(effects);
    }

    pub(super) fn answer(&mut self, question: u64, option: &str) {
        let effects = self.room.answer(QuestionId(question), option, self.now);
        self.play(effects);
    }

    pub(super) fn answer_text(&mut self, question: u64, lines: &[&str], eol: bool) {
        let lines = lines.iter().map(|line| line.as_bytes().to_vec()).collect();
        let effects = self.room.answer_text(QuestionId(question), lines, eol, self.now);
        self.play(effects);
    }

    pub(super) fn ask_write(&mut self, ask: WriteAsk) {
        let effects = self.room.ask_write(ask, self.now);
        self.play(effects);
    }

    pub(super) fn tick(&mut self, now: Millis) {
        self.now = now;
        let effects = self.room.tick(now);
        self.play(effects);
    }

    /// Does what the app would do, and writes it down.
    pub(super) fn play(&mut self, effects: Vec<Effect>) {
        for effect in effects {
            let line = match effect {
                Effect::PromptForgotten { .. } => {
                    self.forgotten = true;
                    continue;
                }
                Effect::PromptDue { session } => {
                    let along = std::mem::take(&mut self.along);
                    let effects =
                        if self.holds { self.room.hold(&session) } else { self.room.go(&session, along) };
                    self.play(effects);
                    continue;
                }
                Effect::Answer(reply, result) => {
                    reply.send(result);
                    let answer = self.answer_rx.try_recv().unwrap();
                    match answer.result {
                        Ok(result) => format!("answer {}: {result}", answer.id.0),
                        Err(error) => {
                            format!("answer {}: error {} {}", answer.id.0, error.code, error.message)
                        }
                    }
                }
                Effect::Agent(id, cmd) => format!("agent {}: {}", id.0, self.command(cmd)),
                Effect::WriteDecided { op, verdict } => format!("write {}: {}", op.0, word(&verdict)),
                Effect::AccessDecided { op, access } => format!("access {}: {access:?}", op.0),
                Effect::AskAccess(ask) => format!("asked again {}", ask.op.0),
                Effect::Nvim(NvimCmd::UserEvent { name, data }) => format!("{name} {data}"),
                Effect::Nvim(NvimCmd::Notify { level, text }) => format!("notify {level}: {text}"),
                Effect::Nvim(NvimCmd::Groups(groups)) => format!("groups {groups:?}"),
                Effect::Nvim(NvimCmd::PromptReturned { session, text, why }) => {
                    format!("returned {session}: {text:?} ({why})")
                }
                other => format!("{other:?}"),
            };
            self.told.push(line);
        }
        // A reply that was dropped unspent answers by itself; that is never meant to happen here.
        assert!(self.answer_rx.try_recv().is_err(), "a reply was dropped");
    }

    fn command(&mut self, cmd: AgentCmd) -> String {
        match cmd {
            AgentCmd::Start(launch) => format!("start {}", launch.command),
            AgentCmd::NewSession { call, cwd } => {
                self.call = call;
                format!("session/new {}", cwd.display())
            }
            AgentCmd::Prompt { call, session, blocks } => {
                self.call = call;
                self.blocks.clone_from(&blocks);
                let blocks: Vec<String> = blocks.iter().map(|block| transcript::shown(block).0).collect();
                format!("prompt {session}: {}", blocks.join(" + "))
            }
            AgentCmd::Cancel { session } => format!("cancel {session}"),
            AgentCmd::Stop => "stop".into(),
        }
    }

    /// What came out since this was last called.
    pub(super) fn take(&mut self) -> Vec<String> {
        std::mem::take(&mut self.told)
    }

    /// `take`, without the user events.
    pub(super) fn take_quiet(&mut self) -> Vec<String> {
        self.take().into_iter().filter(|line| !line.starts_with("Bosun")).collect()
    }

    pub(super) fn state(&self) -> &'static str {
        self.room.states()[0].state
    }

    pub(super) fn entries(&self) -> Vec<Entry> {
        self.room.transcript(&key()).unwrap().entries().to_vec()
    }

    /// The transcript, an entry a line, with its turn.
    pub(super) fn transcript(&self) -> Vec<String> {
        self.entries().iter().map(|entry| format!("{} {}", entry.turn, line(entry))).collect()
    }

    #[track_caller]
    pub(super) fn check(&self, expected: &[&str]) {
        assert_eq!(self.transcript(), expected);
    }
}

fn word(verdict: &Verdict) -> String {
    match verdict {
        Verdict::Text { lines, eol } => {
            let lines: Vec<_> = lines.iter().map(|line| String::from_utf8_lossy(line)).collect();
            format!("text {lines:?} {}", if *eol { "eol" } else { "noeol" })
        }
        Verdict::Edited(EditedText { to, .. }) => {
            let lines: Vec<_> = to.lines.iter().map(|line| String::from_utf8_lossy(line)).collect();
            format!("edited {lines:?} {}", if to.eol { "eol" } else { "noeol" })
        }
        other => format!("{other:?}").to_lowercase(),
    }
}

fn line(entry: &Entry) -> String {
    match &entry.body {
        Body::User { text, context } if context.is_empty() => format!("user {text:?}"),
        Body::User { text, context } => format!("user {text:?} {context:?}"),
        Body::Message { text, open, .. } => format!("message {text:?}{}", if *open { " open" } else { "" }),
        Body::Thought { text, open, .. } => format!("thought {text:?}{}", if *open { " open" } else { "" }),
        Body::Tool(call) => {
            let status = match &call.status {
                None => "none".to_owned(),
                Some(ToolStatus::Other(word)) => format!("other:{word}"),
                Some(status) => format!("{status:?}").to_lowercase(),
            };
            let texts: Vec<String> = call.content.iter().map(piece).collect();
            format!("tool {} {:?} {status} {}", call.id, call.title.as_deref().unwrap_or(""), texts.join("|"))
                .trim_end()
                .to_owned()
        }
        Body::Plan { body: PlanBody::Items(items), .. } => {
            format!("plan {:?}", items.iter().map(|item| item.content.as_str()).collect::<Vec<_>>())
        }
        Body::Plan { body, .. } => format!("plan {body:?}"),
        Body::Question(q) => {
            format!("question {} {:?}: {}", q.id.0, q.title, q.outcome.as_deref().unwrap_or("?"))
        }
        Body::Terminal(card) => format!("terminal {:?} {:?} {:?}", card.line, card.lines, card.end),
        Body::Notice { level, text } => format!("{level} {text:?}"),
        Body::Note { kind, text, .. } => format!("{kind} {text:?}"),
        Body::Unknown { kind, .. } => format!("unknown {kind}"),
        Body::TurnEnd { reason, detail, usage } => {
            let usage = usage.as_deref().map(|text| format!(" [{text}]")).unwrap_or_default();
            let detail = if detail.is_empty() { String::new() } else { format!(" {detail:?}") };
            format!("end {}{detail}{usage}", cause::stop_word(reason))
        }
    }
}

fn piece(piece: &ToolContent) -> String {
    match piece {
        ToolContent::Block(content) => transcript::shown(content).0,
        ToolContent::Diff(diff) => format!("diff {}", diff.path),
        ToolContent::Terminal(id) => format!("terminal {id}"),
        ToolContent::Other { kind, .. } => format!("[{kind}]"),
    }
}

pub(super) fn prompt_result(reason: &str, raw: &str) -> Result<CallResult, RpcError> {
    Ok(CallResult::Prompt { stop_reason: reason.into(), raw: raw.into() })
}

pub(super) fn chunk(role: Role, id: Option<&str>, text: &str) -> Update {
    Update::Chunk { role, message_id: id.map(str::to_owned), content: Content::Text(text.into()) }
}

pub(super) fn text(text: &str) -> ToolContent {
    ToolContent::Block(Content::Text(text.into()))
}

/// A tool call's patch with an id; `with` sets the rest.
pub(super) fn tool(id: &str, with: impl FnOnce(&mut ToolPatch)) -> ToolPatch {
    let mut patch = ToolPatch { id: id.into(), ..ToolPatch::default() };
    with(&mut patch);
    patch
}

/// A patch with a title and a status.
pub(super) fn titled(id: &str, title: &str, status: ToolStatus) -> ToolPatch {
    tool(id, |p| {
        p.title = Patch::Set(title.into());
        p.status = Patch::Set(status);
    })
}

/// A patch with raw input.
pub(super) fn with_input(id: &str, kind: &str, raw: serde_json::Value) -> ToolPatch {
    tool(id, |p| {
        p.kind = Patch::Set(kind.into());
        p.raw_input = Patch::Set(Arc::from(raw.to_string()));
    })
}

pub(super) fn option(id: &str, name: &str, kind: OptionKind) -> PermissionOption {
    PermissionOption { id: id.into(), name: name.into(), kind }
}

pub(super) fn yes_no() -> Vec<PermissionOption> {
    vec![option("y", "Yes", OptionKind::AllowOnce), option("n", "No", OptionKind::RejectOnce)]
}

pub(super) fn selected(wire: &str, id: &str) -> String {
    format!(r#"answer {wire}: {{"outcome":{{"outcome":"selected","optionId":"{id}"}}}}"#)
}

pub(super) fn cancelled(wire: &str) -> String {
    format!(r#"answer {wire}: {{"outcome":{{"outcome":"cancelled"}}}}"#)
}

pub(super) fn write_ask(op: u64, path: &str) -> WriteAsk {
    WriteAsk {
        told: path.into(),
        op: OpId(op),
        session: key(),
        path: path.into(),
        live: Some("old\n".into()),
        content: "new\n".into(),
        buf: Some(BufId(1)),
        saves_unsaved: false,
        merge: None,
        sides: None,
        notes: Vec::new(),
        must_ask: false,
    }
}

/// A write whose change meets the person's own at `conflicts` places.
pub(super) fn merge_ask(op: u64, path: &str, conflicts: usize, from_disk: bool) -> WriteAsk {
    let merge = MergeAsk {
        base: b"base\n".to_vec(),
        ours: b"old\n".to_vec(),
        theirs: b"theirs\n".to_vec(),
        result: b"new\n".to_vec(),
        conflicts: (0..conflicts).map(|at| (at, at + 1)).collect(),
        from_disk,
    };
    WriteAsk { merge: Some(merge), ..write_ask(op, path) }
}
