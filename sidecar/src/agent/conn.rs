//! One agent's connection, from its start to its end.
//!
//! Owns the process, its three pipes, the calls of ours that wait for a reply, and the bytes that wait to be read by
//! the agent. One task, no locks: what the agent says becomes events in the order of the wire (updates, requests *and*
//! replies), what we say is put in line and never waited for by anybody else. It never decides what an answer is.

pub mod inbound;

use std::collections::{BTreeMap, HashMap, HashSet};
use std::time::Duration;

use nix::sys::signal::Signal;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt};
use tokio::process::{ChildStderr, ChildStdin, ChildStdout};
use tokio::sync::mpsc;
use tokio::time::Instant;

use super::encode;
use super::lines::Lines;
use super::outbox::{self, Outbox};
use super::process::{self, Process};
use super::stderr::Tail;
use super::wirelog::{Way, WireLog};
use crate::effect::AgentCmd;
use crate::event::{AgentEvent, Event};
use crate::guard::GuardHandle;
use crate::model::*;
use crate::reply::{Answer, WireId};

/// How long the pipes of a dead agent are still read: grandchildren may hold them open for ever.
const LAST_BYTES: Duration = Duration::from_millis(250);
/// What can be in a pipe at the end (the most that Linux lets one hold); read even when the time is over.
const PIPE: usize = 1 << 20;
/// An agent that closes a pipe is mostly about to exit; only one that is still there after this is told to.
const AFTER_CLOSE: Duration = Duration::from_millis(250);

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
    /// By our id; dropped with the reply. Those that wait when the agent ends have failed with `Exited`, which carries
    /// the cause and is the last event: an error of their own before it would only hide that.
    calls: BTreeMap<i64, Call>,
    next_id: i64,
    /// Raw ids of requests that were not answered yet, and how many under each: ids are the agent's own affair.
    open: HashMap<WireId, usize>,
    /// Sum over `open`.
    open_count: usize,
    /// Given to each reply handle.
    answers: mpsc::UnboundedSender<Answer>,
    /// What the handles send. Bounded by the number of open requests.
    answered: mpsc::UnboundedReceiver<Answer>,
    out: Outbox,
    noise: u64,
    /// What was logged already, one per shape.
    told: HashSet<String>,
    /// A pipe was closed by the agent: when we end it for that, and the reason.
    closed: Option<(Instant, &'static str)>,
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
        open: HashMap::new(),
        open_count: 0,
        answers,
        answered,
        out: Outbox::new(Instant::now()),
        noise: 0,
        told: HashSet::new(),
        closed: None,
        ending: None,
    };
    conn.live(commands).await;
}

impl Conn {
    async fn event(&self, event: AgentEvent) {
        let _ = self.lane.send(Event::Agent(self.agent, event)).await;
    }

    async fn live(mut self, mut commands: mpsc::UnboundedReceiver<AgentCmd>) {
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
            let alarm = self.alarm();
            tokio::select! {
                cmd = commands.recv(), if commands_open => match cmd {
                    Some(cmd) => self.command(cmd),
                    None => {
                        commands_open = false;
                        self.end(None);
                    }
                },
                Some(answer) = self.answered.recv() => self.answer(answer),
                n = write(&mut stdin, self.out.waiting()), if !self.out.is_empty() => {
                    self.wrote(n, &mut stdin).await;
                }
                n = read(&mut stdout, &mut from_stdout) => {
                    if n == 0 {
                        stdout = None;
                        self.last_line().await;
                        self.closed_pipe("it closed its standard output");
                    } else {
                        self.take(&from_stdout[..n]).await;
                    }
                }
                n = read(&mut stderr, &mut from_stderr) => self.complained(&mut stderr, &from_stderr[..n]),
                status = process.child.wait() => break status.ok(),
                _ = tokio::time::sleep_until(alarm) => self.alarmed(&process).await,
            }
            // What waits is still sent, for as long as the agent may take to end by itself.
            if self.ending.as_ref().is_some_and(|ending| self.out.is_empty() || ending.steps > 0) {
                stdin = None;
            }
        };
        self.last_bytes(stdout, stderr).await;
        process.sweep(&self.guard).await;
        self.over(status).await;
    }

    /// When the next thing happens by itself.
    fn alarm(&self) -> Instant {
        let end = self.ending.as_ref().map(|ending| ending.next);
        let closed = self.closed.as_ref().map(|(at, _)| *at);
        let far = || Instant::now() + Duration::from_secs(3600);
        end.or_else(|| [closed, self.out.stalls_at()].into_iter().flatten().min()).unwrap_or_else(far)
    }

    async fn alarmed(&mut self, process: &Process) {
        let now = Instant::now();
        if let Some(ending) = &mut self.ending {
            if ending.next > now {
                return;
            }
            let (signal, then) = match ending.steps {
                0 => (Signal::SIGTERM, process::AFTER_TERM),
                _ => (Signal::SIGKILL, Duration::from_millis(100)),
            };
            ending.steps = ending.steps.saturating_add(1);
            ending.next = now + then;
            process.signal(signal);
        } else if let Some((_, reason)) = self.closed.take_if(|(at, _)| *at <= now) {
            self.end(Some(reason.to_owned()));
        } else if let Some(bytes) = self.out.stalled(now) {
            self.event(AgentEvent::Stuck { bytes }).await;
        }
    }

    /// Begins the end: what is owed to the agent is said, standard input closes, TERM and KILL follow in bounded time.
    fn end(&mut self, reason: Option<String>) {
        if self.ending.is_some() {
            return;
        }
        // Answers that were given before the end count.
        while let Ok(answer) = self.answered.try_recv() {
            self.answer(answer);
        }
        self.open_count = 0;
        for (id, times) in std::mem::take(&mut self.open) {
            let error = Err(RpcError::new(RpcError::CANCELLED, "the host ends this connection"));
            for _ in 0..times {
                self.say(encode::answer(&id.0, &error));
            }
        }
        // Perhaps ended by `say` just now, with a reason of its own.
        let next = Instant::now() + process::AFTER_EOF;
        self.ending.get_or_insert(Ending { reason, next, steps: 0 });
    }

    /// The agent closed one of its pipes: it has exited, or is about to, or must be made to.
    fn closed_pipe(&mut self, reason: &'static str) {
        self.closed.get_or_insert((Instant::now() + AFTER_CLOSE, reason));
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
        let Some(times) = self.open.get_mut(&answer.id) else { return };
        *times -= 1;
        self.open_count -= 1;
        if *times == 0 {
            self.open.remove(&answer.id);
        }
        self.say(encode::answer(&answer.id.0, &answer.result));
    }

    /// Puts a line in line for the agent.
    fn say(&mut self, line: Vec<u8>) {
        if self.ending.is_some() {
            return;
        }
        self.log.line(Way::Out, &line);
        if self.out.push(&line, Instant::now()).is_err() {
            // Nothing more can be said, so there is nothing to be said at the end either.
            self.out.clear();
            let reason = format!("it did not read {} MiB that were sent to it", outbox::CAP >> 20);
            let next = Instant::now() + process::AFTER_EOF;
            self.ending = Some(Ending { reason: Some(reason), next, steps: 0 });
        }
    }

    async fn wrote(&mut self, n: std::io::Result<usize>, stdin: &mut Option<ChildStdin>) {
        match n {
            Ok(n) => {
                if self.out.took(n, Instant::now()) {
                    self.event(AgentEvent::Stuck { bytes: 0 }).await;
                }
            }
            Err(_) => {
                *stdin = None;
                self.out.clear();
                self.closed_pipe("it closed its standard input");
            }
        }
    }

    /// Standard error said something, or ended.
    fn complained(&mut self, pipe: &mut Option<ChildStderr>, bytes: &[u8]) {
        if bytes.is_empty() {
            *pipe = None;
        }
        self.tail.push(bytes, |line| self.log.line(Way::Stderr, line));
    }

    async fn take(&mut self, bytes: &[u8]) {
        for line in self.lines.push(bytes) {
            self.line(&line).await;
        }
        if self.lines.is_over() {
            self.end(Some(format!("it sent a message of more than {} MiB", super::lines::CAP >> 20)));
        }
    }

    async fn last_line(&mut self) {
        if let Some(line) = self.lines.finish() {
            self.line(&line).await;
        }
    }

    /// Reads what a dead agent left in its pipes: all that is in them now, and what comes in a moment.
    async fn last_bytes(&mut self, mut stdout: Option<ChildStdout>, mut stderr: Option<ChildStderr>) {
        let until = Instant::now() + LAST_BYTES;
        let (mut out, mut err) = (vec![0; 64 << 10], vec![0; 16 << 10]);
        let mut bytes = 0;
        while (stdout.is_some() || stderr.is_some()) && (bytes < PIPE || Instant::now() < until) {
            tokio::select! {
                biased;
                n = read(&mut stdout, &mut out) => {
                    bytes += n;
                    if n == 0 { stdout = None } else { self.take(&out[..n]).await }
                }
                n = read(&mut stderr, &mut err) => {
                    bytes += n;
                    self.complained(&mut stderr, &err[..n]);
                }
                _ = tokio::time::sleep_until(until) => break,
            }
        }
        self.last_line().await;
    }

    async fn over(mut self, status: Option<std::process::ExitStatus>) {
        use std::os::unix::process::ExitStatusExt;
        if !self.tail.unfinished().is_empty() {
            self.log.line(Way::Stderr, self.tail.unfinished());
        }
        self.log.flush();
        if self.noise > 0 {
            tracing::info!(agent = self.launch.name, lines = self.noise, "lines that were no messages");
        }
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
async fn read(pipe: &mut Option<impl AsyncRead + Unpin>, buf: &mut [u8]) -> usize {
    match pipe {
        Some(pipe) => pipe.read(buf).await.unwrap_or(0),
        None => std::future::pending().await,
    }
}
