//! Real commands in real terminals.

mod ending;
mod flow;
mod programs;

use std::path::Path;
use std::time::Instant;

use super::*;
use crate::effect::PtyRun;
use crate::model::CommandEnd;

/// The longest that any single event may take to come.
const DEADLINE: Duration = Duration::from_secs(20);

/// The edge and the other end of its lane.
struct Rig {
    ptys: Ptys,
    /// The terminal that was made last.
    id: TerminalId,
    inbox: mpsc::Receiver<(TerminalId, PtyEvent)>,
}

/// What one terminal said from its start to its end.
#[derive(Debug, Default)]
struct Seen {
    events: Vec<PtyEvent>,
    /// All output before `Exited`.
    text: String,
    end: CommandEnd,
}

impl Rig {
    fn new() -> Self {
        let (lane, inbox) = mpsc::channel(LANE);
        let ptys = Ptys::new(lane, GuardHandle::none(), Vec::new());
        Self { ptys, id: TerminalId(0), inbox }
    }

    /// Runs a command in a terminal of its own.
    fn run(&mut self, run: PtyRun) {
        self.id = TerminalId(self.id.0 + 1);
        self.tell(PtyCmd::Run(Box::new(run)));
    }

    fn tell(&mut self, cmd: PtyCmd) {
        self.ptys.tell(self.id, cmd);
    }

    /// Runs a line with a variable that all that descends from it carries. Gives the variable.
    fn line(&mut self, line: &str) -> String {
        let value = format!("{}-{:?}", std::process::id(), std::thread::current().id());
        let run = PtyRun { env: vec![("PTY_TEST".into(), value.clone())], ..shell(line) };
        self.run(run);
        format!("PTY_TEST={value}")
    }

    async fn next(&mut self) -> (TerminalId, PtyEvent) {
        tokio::time::timeout(DEADLINE, self.inbox.recv()).await.expect("in time").expect("an event")
    }

    /// Takes events until one of output holds `words`, or their sum does. Gives all output.
    async fn until(&mut self, words: &str) -> String {
        let mut text = String::new();
        while !text.contains(words) {
            match self.next().await.1 {
                PtyEvent::Output(bytes) => text.push_str(&String::from_utf8_lossy(&bytes)),
                PtyEvent::Started { .. } => {}
                other => panic!("{other:?} before {words:?}, after {text:?}"),
            }
        }
        text
    }

    /// Takes events until the command's own end.
    async fn exit(&mut self) -> CommandEnd {
        loop {
            if let PtyEvent::Exited(end) = self.next().await.1 {
                return end;
            }
        }
    }

    /// Takes all events of one terminal until its last.
    async fn seen(&mut self) -> Seen {
        let (mut seen, mut bytes) = (Seen::default(), Vec::new());
        loop {
            let (_, event) = self.next().await;
            match &event {
                PtyEvent::Output(more) => bytes.extend_from_slice(more),
                PtyEvent::Exited(end) => {
                    seen.end = end.clone();
                    seen.text = String::from_utf8_lossy(&bytes).into_owned();
                }
                PtyEvent::Started { .. } | PtyEvent::Closed => {}
            }
            seen.events.push(event);
            if seen.events.last() == Some(&PtyEvent::Closed) {
                return seen;
            }
        }
    }
}

/// A command without arguments: a line for the shell, or a program.
fn shell(line: &str) -> PtyRun {
    PtyRun {
        command: line.into(),
        args: Vec::new(),
        env: Vec::new(),
        cwd: std::env::temp_dir(),
        rows: 24,
        cols: 80,
    }
}

/// Runs a test on a runtime as the sidecar's.
fn on_runtime(test: impl Future<Output = ()>) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(test);
}

/// Runs a command to its end.
fn play(run: PtyRun) -> Seen {
    let mut seen = Seen::default();
    on_runtime(async {
        let mut rig = Rig::new();
        rig.run(run);
        seen = rig.seen().await;
        rig.ptys.end().await;
    });
    seen
}

/// Processes that carry `var` (`NAME=value`) in their environment, as the system sees them.
fn carriers(var: &str) -> Vec<String> {
    let environ = |path: &Path| std::fs::read(path.join("environ")).unwrap_or_default();
    let carries = |path: &Path| environ(path).split(|b| *b == 0).any(|v| v == var.as_bytes());
    let paths = std::fs::read_dir("/proc").unwrap().flatten().map(|entry| entry.path());
    paths.filter(|path| carries(path)).map(|path| path.display().to_string()).collect()
}

/// Waits until that many carry `var`: a process that is just executing a program is not seen for a moment.
async fn until_carriers(var: &str, count: usize) {
    let waiting = async {
        while carriers(var).len() != count {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(DEADLINE, waiting).await.expect("that many");
}
