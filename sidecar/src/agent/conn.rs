//! One agent's connection, from its start to its end.
//!
//! Owns the process, its three pipes, the calls of ours that wait for a reply, and the bytes that wait to be read by
//! the agent. One task, no locks: what the agent says becomes events in the order of the wire (updates, requests *and*
//! replies), what we say is put in line and never waited for by anybody else. It never decides what an answer is.

use std::collections::BTreeMap;
use std::time::Duration;

use nix::sys::signal::Signal;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::process::{ChildStderr, ChildStdin, ChildStdout};
use tokio::sync::mpsc;
use tokio::time::Instant;

use super::envelope::Message;
use super::lines::Lines;
use super::process::{self, Process};
use super::stderr::Tail;
use super::wirelog::{Way, WireLog};
use super::{decode, encode, envelope};
use crate::effect::AgentCmd;
use crate::event::{AgentEvent, CallResult, Event};
use crate::guard::GuardHandle;
use crate::model::*;
use crate::reply::{Answer, Reply, WireId};

/// Bytes that may wait for an agent that does not read. Beyond it the agent is ended, because nothing more can be said.
pub const OUT_CAP: usize = 64 << 20;
/// An agent that has not read for this long while bytes wait is reported as stuck.
const STALL: Duration = Duration::from_secs(5);
/// Requests of one agent that may be open at a time; more are refused.
pub const REQUESTS: usize = 10_000;
/// How long the pipes of a dead agent are still read: grandchildren may hold them open for ever.
const LAST_BYTES: Duration = Duration::from_millis(300);
/// Noise lines that are logged in full; the rest is only counted.
const NOISE_LOGGED: u64 = 100;

/// A call of ours that waits.
#[derive(Debug)]
enum Call {
    Initialize,
    NewSession(u64),
    Prompt(u64),
}

/// Why the connection is being ended.
#[derive(Debug)]
struct Ending {
    reason: Option<String>,
    /// When the next, harder step is due, and how many were taken.
    next: Instant,
    steps: u8,
}

/// See the module.
pub struct Conn {
    agent: AgentId,
    launch: Launch,
    lane: mpsc::Sender<Event>,
    guard: GuardHandle,
    log: WireLog,
    lines: Lines,
    tail: Tail,
    /// By our id; dropped with the reply, or failed at the end.
    calls: BTreeMap<i64, Call>,
    next_id: i64,
    /// Raw ids of requests that were not answered yet.
    open: std::collections::HashSet<WireId>,
    answers: mpsc::UnboundedSender<Answer>,
    /// Not read by the agent yet, from `sent` on.
    out: Vec<u8>,
    sent: usize,
    /// When the agent last took bytes, or nothing waited.
    moved: Instant,
    stuck: bool,
    noise: u64,
    ending: Option<Ending>,
}

/// Starts an agent and serves it until its end. The last event is `Exited`.
pub async fn run(
    agent: AgentId,
    launch: Launch,
    commands: mpsc::UnboundedReceiver<AgentCmd>,
    lane: mpsc::Sender<Event>,
    log: WireLog,
    guard: GuardHandle,
) {
    let (answers, answered) = mpsc::unbounded_channel();
    let conn = Conn {
        agent,
        launch,
        lane,
        guard,
        log,
        lines: Lines::default(),
        tail: Tail::default(),
        calls: BTreeMap::new(),
        next_id: 0,
        open: std::collections::HashSet::new(),
        answers,
        out: Vec::new(),
        sent: 0,
        moved: Instant::now(),
        stuck: false,
        noise: 0,
        ending: None,
    };
    conn.live(commands, answered).await;
}

impl Conn {
    async fn event(&self, event: AgentEvent) {
        let _ = self.lane.send(Event::Agent(self.agent, event)).await;
    }

    async fn live(
        mut self,
        mut commands: mpsc::UnboundedReceiver<AgentCmd>,
        mut answered: mpsc::UnboundedReceiver<Answer>,
    ) {
        let mut process = match process::spawn(self.agent, &self.launch, &self.guard) {
            Ok(process) => process,
            Err(reason) => {
                self.event(AgentEvent::Exited(Exit { reason: Some(reason), ..Exit::default() })).await;
                return;
            }
        };
        let mut stdin = process.child.stdin.take();
        let mut stdout = process.child.stdout.take();
        let mut stderr = process.child.stderr.take();
        self.event(AgentEvent::Started { pgid: process.pgid }).await;
        self.call(Call::Initialize, "initialize", &encode::initialize());
        let mut commands_open = true;
        let (mut from_stdout, mut from_stderr) = (vec![0; 64 << 10], vec![0; 16 << 10]);
        let status = loop {
            self.log.flush();
            let waits = self.sent < self.out.len();
            let alarm = self.alarm(waits);
            tokio::select! {
                cmd = commands.recv(), if commands_open => match cmd {
                    Some(cmd) => self.command(cmd),
                    None => {
                        commands_open = false;
                        self.end(None);
                    }
                },
                Some(answer) = answered.recv() => self.answer(answer),
                n = write(&mut stdin, &self.out[self.sent..]), if waits && stdin.is_some() => {
                    self.wrote(n, &mut stdin).await;
                }
                n = read_stdout(&mut stdout, &mut from_stdout) => {
                    if n == 0 {
                        stdout = None;
                        self.last_line().await;
                        self.end(Some("it closed its standard output".to_owned()));
                    } else {
                        self.take(&from_stdout[..n]).await;
                    }
                }
                n = read_stderr(&mut stderr, &mut from_stderr) => {
                    if n == 0 { stderr = None } else { self.tail.push(&from_stderr[..n]) }
                }
                status = process.child.wait() => break status.ok(),
                _ = tokio::time::sleep_until(alarm) => self.alarmed(waits, &process).await,
            }
            if self.ending.is_some() {
                stdin = None;
            }
        };
        self.last_bytes(stdout, stderr).await;
        process.sweep(&self.guard);
        self.over(status).await;
    }

    /// What the next thing is that happens by itself.
    fn alarm(&self, waits: bool) -> Instant {
        let far = Instant::now() + Duration::from_secs(3600);
        match &self.ending {
            Some(ending) => ending.next,
            None if waits && !self.stuck => self.moved + STALL,
            None => far,
        }
    }

    async fn alarmed(&mut self, waits: bool, process: &Process) {
        if let Some(ending) = &mut self.ending {
            let (signal, then) = match ending.steps {
                0 => (Signal::SIGTERM, process::AFTER_TERM),
                _ => (Signal::SIGKILL, Duration::from_millis(100)),
            };
            ending.steps = ending.steps.saturating_add(1);
            ending.next = Instant::now() + then;
            process.signal(signal);
        } else if waits && !self.stuck {
            self.stuck = true;
            self.event(AgentEvent::Stuck { bytes: self.out.len() - self.sent }).await;
        }
    }

    /// Begins the end: standard input closes, TERM and KILL follow in bounded time.
    fn end(&mut self, reason: Option<String>) {
        if self.ending.is_none() {
            self.ending = Some(Ending { reason, next: Instant::now() + process::AFTER_EOF, steps: 0 });
        }
    }

    fn command(&mut self, cmd: AgentCmd) {
        match cmd {
            AgentCmd::NewSession { call, cwd } => {
                self.call(Call::NewSession(call), "session/new", &encode::new_session(&cwd));
            }
            AgentCmd::Prompt { call, session, blocks } => {
                self.call(Call::Prompt(call), "session/prompt", &encode::prompt(&session, &blocks));
            }
            AgentCmd::Cancel { session } => {
                self.say(encode::notification("session/cancel", &encode::cancel(&session)));
            }
            AgentCmd::Stop => self.end(None),
            AgentCmd::Start(_) => tracing::error!("an agent was started twice"),
        }
    }

    fn call(&mut self, call: Call, method: &str, params: &impl serde::Serialize) {
        let id = self.next_id;
        self.next_id += 1;
        self.calls.insert(id, call);
        self.say(encode::request(id, method, params));
    }

    fn answer(&mut self, answer: Answer) {
        if self.open.remove(&answer.id) {
            self.say(encode::answer(&answer.id.0, &answer.result));
        }
    }

    /// Puts a line into the queue to the agent.
    fn say(&mut self, line: Vec<u8>) {
        self.log.line(Way::Out, &line);
        if self.ending.is_some() {
            return;
        }
        if self.sent == self.out.len() {
            self.out.clear();
            self.sent = 0;
            self.moved = Instant::now();
        }
        self.out.extend_from_slice(&line);
        if self.out.len() - self.sent > OUT_CAP {
            self.end(Some(format!("it did not read {} MiB that were sent to it", OUT_CAP >> 20)));
        }
    }

    async fn wrote(&mut self, n: std::io::Result<usize>, stdin: &mut Option<ChildStdin>) {
        match n {
            Ok(n) => {
                self.sent += n;
                self.moved = Instant::now();
                if self.sent == self.out.len() || self.sent > 1 << 20 {
                    self.out.drain(..self.sent);
                    self.sent = 0;
                }
                if std::mem::take(&mut self.stuck) {
                    self.event(AgentEvent::Stuck { bytes: 0 }).await;
                }
            }
            Err(_) => {
                *stdin = None;
                self.end(Some("it closed its standard input".to_owned()));
            }
        }
    }

    async fn take(&mut self, bytes: &[u8]) {
        match self.lines.push(bytes) {
            Ok(lines) => {
                for line in lines {
                    self.line(&line).await;
                }
            }
            Err(_) => {
                self.end(Some(format!("it sent a message of more than {} MiB", super::lines::CAP >> 20)))
            }
        }
    }

    async fn last_line(&mut self) {
        if let Some(line) = self.lines.finish() {
            self.line(&line).await;
        }
    }

    async fn line(&mut self, line: &[u8]) {
        let parsed = envelope::parse(line);
        if parsed.noise {
            self.noise += 1;
            if self.noise <= NOISE_LOGGED {
                self.log.line(Way::Noise, line);
            }
        } else if !line.is_empty() {
            self.log.line(Way::In, line);
        }
        for message in parsed.messages {
            self.message(message).await;
        }
    }

    async fn message(&mut self, message: Message) {
        match message {
            Message::Notification { method, params } => self.notified(&method, &params).await,
            Message::Request { id, method, params } => self.requested(id, &method, &params).await,
            Message::Reply { id, result } => self.replied(id, result).await,
        }
    }

    async fn notified(&mut self, method: &str, params: &str) {
        match method {
            "session/update" => match decode::update(params) {
                Ok((session, updates)) => {
                    for update in updates {
                        self.event(AgentEvent::Update { session: session.clone(), update }).await;
                    }
                }
                Err(bad) => tracing::warn!(agent = self.launch.name, why = bad.0, "an update cannot be read"),
            },
            "$/cancel_request" => {
                if let Some(id) = decode::cancelled_request(params).map(WireId)
                    && self.open.contains(&id)
                {
                    self.event(AgentEvent::CancelRequest { id }).await;
                }
            }
            other => tracing::debug!(agent = self.launch.name, method = other, "notification ignored"),
        }
    }

    async fn requested(&mut self, id: WireId, method: &str, params: &str) {
        if self.open.len() >= REQUESTS || !self.open.insert(id.clone()) {
            let why = "too many requests are open, or one with this id is";
            let error = RpcError::new(RpcError::INTERNAL, why);
            self.say(encode::answer(&id.0, &Err(error)));
            return;
        }
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
            "fs/write_text_file" => decode::write_file(params, false).map(|(session, path, content)| {
                Box::new(move |reply| AgentEvent::WriteFile { session, path, content, reply }) as _
            }),
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
            tracing::warn!(agent = self.launch.name, ?id, "a reply to no open call is ignored");
            return;
        };
        match (call, result) {
            (Call::Initialize, Ok(raw)) => {
                self.event(AgentEvent::Initialized(Box::new(decode::initialized(&raw)))).await;
            }
            (Call::Initialize, Err(error)) => {
                self.end(Some(format!("it refused to initialize: {}", error.message)));
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

    /// Reads what a dead agent left in its pipes.
    async fn last_bytes(&mut self, mut stdout: Option<ChildStdout>, mut stderr: Option<ChildStderr>) {
        let until = Instant::now() + LAST_BYTES;
        let (mut out, mut err) = (vec![0; 64 << 10], vec![0; 16 << 10]);
        while stdout.is_some() || stderr.is_some() {
            tokio::select! {
                n = read_stdout(&mut stdout, &mut out) => {
                    if n == 0 { stdout = None } else { self.take(&out[..n]).await }
                }
                n = read_stderr(&mut stderr, &mut err) => {
                    if n == 0 { stderr = None } else { self.tail.push(&err[..n]) }
                }
                _ = tokio::time::sleep_until(until) => break,
            }
        }
        self.last_line().await;
    }

    async fn over(mut self, status: Option<std::process::ExitStatus>) {
        use std::os::unix::process::ExitStatusExt;
        self.log.flush();
        let exit = Exit {
            code: status.and_then(|s| s.code()),
            signal: status.and_then(|s| s.signal()),
            stderr: self.tail.lines(),
            reason: self.ending.take().and_then(|ending| ending.reason),
        };
        self.event(AgentEvent::Exited(exit)).await;
    }
}

async fn write(stdin: &mut Option<ChildStdin>, bytes: &[u8]) -> std::io::Result<usize> {
    match stdin {
        Some(stdin) => stdin.write(bytes).await,
        None => std::future::pending().await,
    }
}

/// Bytes read; 0 at the end. A pipe that is gone is never ready.
async fn read_stdout(pipe: &mut Option<ChildStdout>, buf: &mut [u8]) -> usize {
    match pipe {
        Some(pipe) => pipe.read(buf).await.unwrap_or(0),
        None => std::future::pending().await,
    }
}

async fn read_stderr(pipe: &mut Option<ChildStderr>, buf: &mut [u8]) -> usize {
    match pipe {
        Some(pipe) => pipe.read(buf).await.unwrap_or(0),
        None => std::future::pending().await,
    }
}
