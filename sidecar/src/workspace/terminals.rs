//! Terminals: commands that agents run, and what they wrote.
//!
//! Owns each terminal from the request that makes it to the end of its session: whether it may run, its text for the
//! agent, the end of its bytes for the person, and who waits for its end. It never runs anything (the PTY edge does) and
//! never decides whether a command may run (the session room does). Called by the app.
//!
//! Source: https://agentclientprotocol.com/protocol/v1/terminals

pub mod feed;
pub mod lf;
pub mod line;
pub mod plain;
mod screen;
pub mod store;
pub mod tail;
mod theirs;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde_json::json;

use crate::effect::{CommandAsk, DiskCmd, Effect, NvimCmd, PtyCmd, PtyRun};
use crate::event::{DiskResult, PathKind, PtyEvent};
use crate::model::*;
use crate::reply::{Reply, WireId};
use crate::workspace::roots::Judgement;
use crate::workspace::{Op, Workspace, refusal};
use feed::Feed;
use store::Store;
use tail::Tail;
use theirs::Shown;

/// Bytes of text kept for an agent that names no limit.
pub const LIMIT: usize = 1 << 20;
/// Bytes kept for a view that is opened later.
const TAIL: usize = 256 << 10;
/// Terminals of one session that are kept; the oldest that ended go first.
pub const KEPT: usize = 256;
/// Bytes of raw output that are kept in a file.
pub const SPILL: u64 = 16 << 20;
/// A card tells of the file once there is more output than this.
const MUCH: u64 = 4 << 10;
/// Lines on the card in the transcript.
const CARD_LINES: usize = 6;
/// Between two changes of a card whose command writes.
const CARD_PAUSE: Millis = 100;
/// Said in the text of a command that a person stopped, out of whatever it left open: a sequence, the other screen. Not by
/// 1049, which also brings an old place of the cursor back.
const STOPPED: &[u8] = b"\x18\x1b[?1047l\r\n[stopped by the user]\r\n";
/// What a person stops may take so long to clean up.
const STOP: Millis = 3_000;
/// How long a command runs is said in such steps; in steps of a minute after the first one.
const STEP: Millis = 5_000;

/// What an agent wants to run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Create {
    /// Program, or a line for the shell.
    pub command: String,
    /// Literal arguments.
    pub args: Vec<String>,
    /// Laid over the environment.
    pub env: Vec<(String, String)>,
    /// Working directory; the session's, where there is none.
    pub cwd: Option<String>,
    /// Bytes of text to keep.
    pub limit: Option<u64>,
}

impl Create {
    /// The whole command as one line, as it would be typed. Not escaped for display.
    pub fn line(&self) -> String {
        let args = quoted(self.args.iter().map(String::as_str));
        if args.is_empty() { self.command.clone() } else { format!("{} {args}", self.command) }
    }
}

/// How far a terminal is.
#[derive(Debug)]
enum Stage {
    /// A person, or the rule for them, has not decided; the agent waits for its id.
    Asked(Reply),
    /// It runs.
    Running,
    /// It ended.
    Ended(CommandEnd),
}

/// One terminal.
#[derive(Debug)]
struct Terminal {
    session: SessionKey,
    run: PtyRun,
    /// The command as one line.
    line: String,
    stage: Stage,
    /// The agent gave it back: its id means nothing to it any more.
    released: bool,
    /// A person stopped it.
    stopped: bool,
    /// It was interrupted, and is ended for good then.
    stop_due: Option<Millis>,
    /// The agent runs it itself; it is only shown.
    shown: Option<Shown>,
    started: Millis,
    /// How long it ran; while it runs, what its card says of that.
    took: Millis,
    store: Store,
    tail: Tail,
    feed: Feed,
    /// `terminal/wait_for_exit`, and `terminal/kill`: answered at the end.
    waiters: Vec<Reply>,
    killers: Vec<Reply>,
    /// The card in the transcript shows something older.
    stale: bool,
    /// The card does not change before this.
    card_due: Millis,
    /// How long it runs is to be said anew then.
    step_due: Millis,
}

impl Terminal {
    fn runs(&self) -> bool {
        matches!(self.stage, Stage::Running)
    }

    /// It runs, and we run it.
    fn is_ours(&self) -> bool {
        self.runs() && self.shown.is_none()
    }

    fn end(&self) -> Option<&CommandEnd> {
        match &self.stage {
            Stage::Ended(end) => Some(end),
            _ => None,
        }
    }
}

/// All terminals; see the module.
#[derive(Debug, Default)]
pub struct Terminals {
    all: BTreeMap<TerminalId, Terminal>,
    last: u64,
    /// Most bytes of text kept, whatever an agent asks for: the setting `max_terminal_bytes`.
    cap: usize,
    /// Where raw output is kept; `None`: nowhere.
    folder: Option<PathBuf>,
    /// The list differs from what the editor was told.
    changed: bool,
}

impl Terminals {
    /// `cap`: most bytes of text that are kept for an agent.
    pub fn new(cap: u64) -> Self {
        Self { cap: usize::try_from(cap).unwrap_or(usize::MAX), ..Self::default() }
    }
}

fn wire(id: TerminalId) -> String {
    format!("term-{}", id.0)
}

fn status(end: &CommandEnd) -> serde_json::Value {
    json!({ "exitCode": end.code, "signal": end.signal })
}

fn ok() -> Result<std::sync::Arc<str>, RpcError> {
    Ok("{}".into())
}

impl Workspace {
    /// Raw output is kept in files of this folder.
    pub fn spill_into(&mut self, folder: &Path) {
        self.terminals.folder = Some(folder.to_owned());
    }

    /// `terminal/create`. Answered with the id once the command may run, before it ends.
    pub fn terminal_create(
        &mut self,
        session: &SessionKey,
        create: Create,
        reply: Reply,
        now: Millis,
    ) -> Vec<Effect> {
        let mut out = Vec::new();
        let roots = self.roots.of(session);
        let Some(root) = roots.first().map(|p| p.to_path_buf()) else {
            return vec![Effect::Answer(reply, Err(refusal::closed()))];
        };
        let cwd = create.cwd.clone().map_or_else(|| root.clone(), PathBuf::from);
        if !cwd.is_absolute() {
            return vec![Effect::Answer(reply, Err(refusal::relative(&cwd.to_string_lossy())))];
        }
        if create.command.trim().is_empty() {
            let error = RpcError::new(RpcError::INVALID_PARAMS, "command is empty");
            return vec![Effect::Answer(reply, Err(error))];
        }
        let busy = self.terminals.all.values().filter(|t| t.session == *session && t.end().is_none()).count();
        if busy >= KEPT {
            let text = format!("{KEPT} commands of this session run already: wait for one, or release one");
            return vec![Effect::Answer(reply, Err(RpcError::new(RpcError::INTERNAL, text)))];
        }
        self.terminals.last += 1;
        let id = TerminalId(self.terminals.last);
        let cap = self.terminals.cap;
        let limit = create.limit.map_or(LIMIT, |n| usize::try_from(n).unwrap_or(cap)).min(cap);
        let line = create.line();
        let run = PtyRun {
            command: create.command,
            args: create.args,
            env: create.env,
            cwd: cwd.clone(),
            rows: 24,
            cols: 80,
        };
        let mut t = Terminal::new(session.clone(), run, line, Stage::Asked(reply), limit, now);
        t.store.resize(t.run.rows, t.run.cols);
        self.terminals.all.insert(id, t);
        if cwd == root {
            self.terminal_ask(id, None, &mut out);
        } else {
            let op = self.mint();
            self.ops.insert(op, Op::Folder(id));
            out.push(Effect::Disk(op, DiskCmd::Resolve { path: cwd, twins: Vec::new() }));
        }
        out
    }

    /// Where the working directory of a command leads.
    pub(super) fn terminal_folder(&mut self, id: TerminalId, result: DiskResult, out: &mut Vec<Effect>) {
        let Some(t) = self.terminals.all.get(&id) else { return };
        let note = match &result {
            DiskResult::Resolved(Ok(found)) if found.kind == PathKind::Dir => {
                let judged = self.roots.judge(&t.session, &found.real, &t.run.cwd, false);
                (judged != Judgement::Inside)
                    .then(|| "It would run in a folder outside of those of the session.".to_owned())
            }
            // It cannot start there, and says so itself.
            _ => None,
        };
        self.terminal_ask(id, note, out);
    }

    fn terminal_ask(&mut self, id: TerminalId, note: Option<String>, out: &mut Vec<Effect>) {
        let Some(t) = self.terminals.all.get(&id) else { return };
        out.push(Effect::AskCommand(CommandAsk {
            terminal: id,
            session: t.session.clone(),
            line: t.line.clone(),
            shell: shell_line(&t.run.command, &t.run.args.iter().map(String::as_str).collect::<Vec<_>>())
                .map(str::to_owned),
            cwd: t.run.cwd.clone(),
            env: t.run.env.iter().map(|(name, value)| format!("{name}={value}")).collect(),
            note,
        }));
    }

    /// What was decided about a command. Nothing runs that was not allowed.
    pub fn command_decided(&mut self, id: TerminalId, verdict: CommandVerdict, now: Millis) -> Vec<Effect> {
        let mut out = Vec::new();
        let Some(t) = self.terminals.all.get_mut(&id) else { return out };
        if !matches!(t.stage, Stage::Asked(_)) {
            return out;
        }
        let Stage::Asked(reply) = std::mem::replace(&mut t.stage, Stage::Running) else { return out };
        let error = match verdict {
            CommandVerdict::Run => {
                (t.started, t.step_due) = (now, now + STEP);
                self.terminals.changed = true;
                out.push(Effect::Pty(id, PtyCmd::Run(Box::new(t.run.clone()))));
                out.push(Effect::Answer(reply, Ok(json!({ "terminalId": wire(id) }).to_string().into())));
                // At once, so that it stands where the command began.
                out.push(t.as_card(id, None));
                out.push(told(id, t));
                return out;
            }
            CommandVerdict::Rejected(why) => {
                let why = why.map(|why| format!(": {why}")).unwrap_or_default();
                let text = format!("the user rejected this command; it was not run{why}");
                RpcError::new(RpcError::INTERNAL, text)
            }
            CommandVerdict::Withdrawn => refusal::cancelled(),
        };
        self.terminals.all.remove(&id);
        out.push(Effect::Answer(reply, Err(error)));
        out
    }

    fn terminal_of(
        &mut self,
        session: &SessionKey,
        name: &str,
    ) -> Result<(TerminalId, &mut Terminal), RpcError> {
        let id = name.strip_prefix("term-").and_then(|n| n.parse().ok()).map(TerminalId);
        let found = id.and_then(|id| Some((id, self.terminals.all.get_mut(&id)?)));
        found
            .filter(|(_, t)| {
                t.session == *session
                    && !t.released
                    && t.shown.is_none()
                    && !matches!(t.stage, Stage::Asked(_))
            })
            .ok_or_else(|| RpcError::new(RpcError::NOT_FOUND, format!("no such terminal (any more): {name}")))
    }

    /// `terminal/output`: at once, whatever runs.
    pub fn terminal_output(&mut self, session: &SessionKey, name: &str, reply: Reply) -> Vec<Effect> {
        let result = self.terminal_of(session, name).map(|(_, t)| {
            let (text, truncated) = t.store.text();
            let mut answer = json!({ "output": text, "truncated": truncated });
            if let Some(end) = t.end() {
                answer["exitStatus"] = status(end);
            }
            answer.to_string().into()
        });
        vec![Effect::Answer(reply, result)]
    }

    /// `terminal/wait_for_exit`.
    pub fn terminal_wait(&mut self, session: &SessionKey, name: &str, reply: Reply) -> Vec<Effect> {
        match self.terminal_of(session, name) {
            Ok((_, t)) => match t.end() {
                Some(end) => vec![Effect::Answer(reply, Ok(status(end).to_string().into()))],
                None => {
                    t.waiters.push(reply);
                    Vec::new()
                }
            },
            Err(error) => vec![Effect::Answer(reply, Err(error))],
        }
    }

    /// `terminal/kill`: answered when the command has ended. Its text and status stay.
    pub fn terminal_kill(&mut self, session: &SessionKey, name: &str, reply: Reply) -> Vec<Effect> {
        match self.terminal_of(session, name) {
            Ok((id, t)) if t.runs() => {
                t.killers.push(reply);
                vec![Effect::Pty(id, PtyCmd::Kill)]
            }
            // What it sent to the background goes on until then.
            Ok((id, t)) => {
                let answer = Effect::Answer(reply, ok());
                if t.shown.is_some() { vec![answer] } else { vec![Effect::Pty(id, PtyCmd::Kill), answer] }
            }
            Err(error) => vec![Effect::Answer(reply, Err(error))],
        }
    }

    /// `terminal/release`: ends the command if it runs, and the id means nothing any more. What was written stays to be
    /// seen.
    pub fn terminal_release(&mut self, session: &SessionKey, name: &str, reply: Reply) -> Vec<Effect> {
        let mut out = match self.terminal_of(session, name) {
            Ok((id, t)) => {
                t.released = true;
                vec![Effect::Pty(id, PtyCmd::Forget)]
            }
            Err(error) => return vec![Effect::Answer(reply, Err(error))],
        };
        out.push(Effect::Answer(reply, ok()));
        self.terminals_bound(session, &mut out);
        out
    }

    /// The PTY edge says something of a terminal.
    pub fn pty(&mut self, id: TerminalId, event: PtyEvent, now: Millis) -> Vec<Effect> {
        let mut out = Vec::new();
        let Some(t) = self.terminals.all.get_mut(&id) else { return out };
        match event {
            PtyEvent::Started { .. } => {}
            PtyEvent::Output(bytes) => {
                t.wrote(&bytes);
                let before = t.store.total() - bytes.len() as u64;
                if self.terminals.folder.is_some() && before < SPILL {
                    let mut bytes = bytes;
                    if before + bytes.len() as u64 >= SPILL {
                        bytes.extend_from_slice(b"\r\n[the rest is not kept]\r\n");
                    }
                    out.push(Effect::Spill(id, bytes));
                }
            }
            PtyEvent::Exited(end) => {
                if t.stopped {
                    t.wrote(STOPPED);
                }
                out.push(Effect::Spill(id, Vec::new()));
                (t.took, t.stop_due) = (now.saturating_sub(t.started), None);
                t.store.settle();
                for reply in t.waiters.drain(..) {
                    out.push(Effect::Answer(reply, Ok(status(&end).to_string().into())));
                }
                for reply in t.killers.drain(..) {
                    out.push(Effect::Answer(reply, ok()));
                }
                t.stage = Stage::Ended(end);
                (t.stale, t.card_due) = (true, 0);
                out.push(told(id, t));
                self.terminals.changed = true;
                let session = t.session.clone();
                self.terminals_bound(&session, &mut out);
            }
            PtyEvent::Closed => out.push(Effect::Spill(id, Vec::new())),
        }
        out
    }

    /// What the agent of these terminals takes back of its requests: `true` if it was one of theirs.
    pub(super) fn terminal_cancel(
        &mut self,
        sessions: &[SessionKey],
        id: &WireId,
        out: &mut Vec<Effect>,
    ) -> bool {
        let of = |t: &Terminal| sessions.contains(&t.session);
        let asked = self.terminals.all.iter().find_map(|(terminal, t)| match &t.stage {
            Stage::Asked(reply) if of(t) && reply.id() == id => Some(*terminal),
            _ => None,
        });
        if let Some(terminal) = asked {
            out.push(Effect::CommandWithdrawn { terminal });
            return true;
        }
        for t in self.terminals.all.values_mut().filter(|t| of(t)) {
            for list in [&mut t.waiters, &mut t.killers] {
                if let Some(at) = list.iter().position(|reply| reply.id() == id) {
                    out.push(Effect::Answer(list.remove(at), Err(refusal::cancelled())));
                    return true;
                }
            }
        }
        false
    }

    /// The agent of this session is gone: its commands end, what they wrote stays to be seen.
    pub(super) fn terminals_orphaned(&mut self, session: &SessionKey, out: &mut Vec<Effect>) {
        for (id, t) in self.terminals.all.iter_mut().filter(|(_, t)| t.session == *session) {
            t.released = true;
            match &t.stage {
                Stage::Asked(_) => {}
                Stage::Running if t.shown.is_some() => {
                    let signal = Some("its agent ended".to_owned());
                    (t.stage, t.stale) = (Stage::Ended(CommandEnd { code: 1, signal }), true);
                    self.terminals.changed = true;
                }
                _ if t.shown.is_some() => {}
                _ => out.push(Effect::Pty(*id, PtyCmd::Forget)),
            }
        }
    }

    /// The session is over: its terminals go.
    pub(super) fn terminals_removed(&mut self, session: &SessionKey, out: &mut Vec<Effect>) {
        self.terminals_orphaned(session, out);
        let of = |_: &TerminalId, t: &mut Terminal| t.session == *session;
        for (_, t) in self.terminals.all.extract_if(.., of) {
            self.terminals.changed = true;
            let asked = match t.stage {
                Stage::Asked(reply) => Some(reply),
                _ => None,
            };
            for reply in asked.into_iter().chain(t.waiters).chain(t.killers) {
                out.push(Effect::Answer(reply, Err(refusal::closed())));
            }
        }
    }

    /// Forgets the oldest that ended beyond [`KEPT`]: first those that the agent gave back and nobody looks at, then those
    /// that it has forgotten to give back.
    fn terminals_bound(&mut self, session: &SessionKey, out: &mut Vec<Effect>) {
        let mut over =
            self.terminals.all.values().filter(|t| t.session == *session).count().saturating_sub(KEPT);
        for leaked in [false, true] {
            let goes = |t: &Terminal| {
                t.session == *session && t.end().is_some() && !t.feed.is_shown() && (t.released || leaked)
            };
            let old: Vec<TerminalId> =
                self.terminals.all.iter().filter(|(_, t)| goes(t)).map(|(id, _)| *id).take(over).collect();
            for id in old {
                self.terminals.all.remove(&id);
                self.terminals.changed = true;
                over -= 1;
                out.push(Effect::Pty(id, PtyCmd::Forget));
            }
        }
    }
}

impl Terminal {
    fn new(session: SessionKey, run: PtyRun, line: String, stage: Stage, limit: usize, now: Millis) -> Self {
        Self {
            session,
            run,
            line,
            stage,
            released: false,
            stopped: false,
            stop_due: None,
            shown: None,
            started: now,
            took: 0,
            store: Store::new(limit),
            tail: Tail::new(TAIL),
            feed: Feed::default(),
            waiters: Vec::new(),
            killers: Vec::new(),
            stale: false,
            card_due: 0,
            step_due: 0,
        }
    }

    fn wrote(&mut self, bytes: &[u8]) {
        self.store.feed(bytes);
        let filtered = self.tail.push(bytes);
        self.feed.push(&filtered);
        self.stale = true;
    }
}

fn told(id: TerminalId, t: &Terminal) -> Effect {
    let end = t.end();
    let data = json!({
        "session": t.session.to_string(),
        "terminal": id.0,
        "command": t.line,
        "state": if end.is_some() { "exited" } else { "running" },
        "code": end.and_then(CommandEnd::told),
        "signal": end.and_then(|end| end.signal.clone()),
    });
    Effect::Nvim(NvimCmd::UserEvent { name: "BosunTerminal".to_owned(), data })
}

#[cfg(test)]
mod tests;
