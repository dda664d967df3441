//! One terminal, from its command's start until nothing of it is left.
//!
//! Owns both ends of the terminal, the process, what a person typed, and the events that wait for the lane. It never
//! waits for the lane alone: a command can be ended while nobody takes events. Called by `Ptys`.

use std::collections::VecDeque;
use std::future::{Future, pending};
use std::pin::Pin;

use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::mpsc;

use super::master::{Got, Master};
use super::outgoing::Outgoing;
use super::program::Refusal;
use super::start::{self, Process, Slave};
use super::{LAST, Lane, TYPED, sweep};
use crate::effect::{PtyCmd, PtyRun};
use crate::event::PtyEvent;
use crate::guard::GuardHandle;
use crate::model::{CommandEnd, TerminalId};

/// Something about the process that is under way. It gives whether anything of it is left.
enum Work {
    /// Looking whether anything outlives a terminal that is closed already.
    Look(Pin<Box<dyn Future<Output = bool> + Send>>),
    /// Ending all of it.
    End(Pin<Box<dyn Future<Output = ()> + Send>>),
}

/// See the module.
struct Terminal {
    id: TerminalId,
    out: Outgoing,
    /// `None` once the terminal is closed.
    master: Option<Master>,
    /// Held while the command runs; see there.
    slave: Option<Slave>,
    /// Until nothing of it is left.
    process: Option<Process>,
    /// Bytes that wait for the command to read them, at most `TYPED`.
    typed: VecDeque<u8>,
    /// How it ended, until that is told.
    ended: Option<CommandEnd>,
    work: Option<Work>,
    /// All that can be ended was.
    swept: bool,
    /// It was looked once whether anything outlives the closed terminal.
    looked: bool,
    forgotten: bool,
    told_exit: bool,
    told_closed: bool,
    /// Somebody takes events.
    heard: bool,
}

/// Runs a command until nothing of it is left. The last event is `Closed`; the task may live on after it, without any
/// descriptor, where something still runs that must be ended with the terminal.
pub async fn run(
    id: TerminalId,
    run: PtyRun,
    extra: Vec<(String, String)>,
    commands: mpsc::UnboundedReceiver<PtyCmd>,
    lane: Lane,
    guard: GuardHandle,
) {
    let mut terminal = Terminal {
        id,
        out: Outgoing::default(),
        master: None,
        slave: None,
        process: None,
        typed: VecDeque::new(),
        ended: None,
        work: None,
        swept: false,
        looked: false,
        forgotten: false,
        told_exit: false,
        told_closed: false,
        heard: true,
    };
    // Before the start: a child that ends at once must be noticed.
    let children = signal(SignalKind::child());
    let started = match &children {
        Ok(_) => terminal.start(run, extra, guard).await,
        Err(error) => Err(Refusal { code: 126, reason: format!("its end could not be noticed: {error}") }),
    };
    if let Err(refusal) = started {
        terminal.refused(refusal);
    }
    terminal.look();
    terminal.settle();
    let children = children.ok();
    terminal.live(commands, lane, children).await;
}

impl Terminal {
    async fn start(
        &mut self,
        run: PtyRun,
        extra: Vec<(String, String)>,
        guard: GuardHandle,
    ) -> Result<(), Refusal> {
        let (master, slave) = start::open(&run)?;
        let id = self.id;
        let work = move || {
            let process = start::start(id, &run, &extra, &slave, &guard);
            process.map(|process| (process, slave))
        };
        let lost = |error| Refusal { code: 126, reason: format!("it could not be started: {error}") };
        let (process, slave) = tokio::task::spawn_blocking(work).await.map_err(lost)??;
        self.out.push(PtyEvent::Started { pgid: process.pgid });
        (self.master, self.slave, self.process) = (Some(master), Some(slave), Some(process));
        Ok(())
    }

    fn refused(&mut self, refusal: Refusal) {
        self.out.push(PtyEvent::Output(format!("bosun: {}\r\n", refusal.reason).into_bytes()));
        self.ended = Some(CommandEnd { code: refusal.code, signal: None });
    }

    async fn live(
        mut self,
        mut commands: mpsc::UnboundedReceiver<PtyCmd>,
        lane: Lane,
        mut children: Option<Signal>,
    ) {
        let mut listening = true;
        // What a command floods must not hold up the rest, so reading comes last.
        while !self.is_over() {
            tokio::select! {
                biased;
                cmd = commands.recv(), if listening => match cmd {
                    Some(cmd) => self.command(cmd),
                    None => {
                        listening = false;
                        self.unheard();
                        self.forget();
                    }
                },
                left = worked(&mut self.work) => self.worked(left),
                () = child_ended(&mut children), if !self.told_exit && self.ended.is_none() => self.look(),
                () = write(&self.master, &mut self.typed), if !self.typed.is_empty() => {}
                room = lane.reserve(), if !self.out.is_empty() => match room {
                    Ok(room) => {
                        if let Some(event) = self.out.pop() {
                            room.send((self.id, event));
                        }
                    }
                    Err(_) => self.unheard(),
                },
                got = read(&self.master, &mut self.out), if self.out.has_room() => {
                    if got == Got::End {
                        self.master = None;
                    }
                }
            }
            self.settle();
        }
    }

    fn is_over(&self) -> bool {
        self.told_closed && self.out.is_empty() && self.process.is_none()
    }

    fn command(&mut self, cmd: PtyCmd) {
        match cmd {
            PtyCmd::Input(bytes) => {
                let room = TYPED.saturating_sub(self.typed.len()).min(bytes.len());
                if room < bytes.len() {
                    tracing::warn!(id = ?self.id, dropped = bytes.len() - room, "a command does not read what is typed");
                }
                if self.master.is_some() {
                    self.typed.extend(&bytes[..room]);
                }
            }
            PtyCmd::Resize { rows, cols } => {
                if let Some(master) = &self.master {
                    master.resize(rows, cols);
                }
            }
            PtyCmd::Interrupt => {
                if let Some(process) = &self.process {
                    sweep::signal(process.pgid, nix::sys::signal::Signal::SIGINT);
                }
            }
            PtyCmd::Kill => self.end(),
            PtyCmd::Forget => self.forget(),
            PtyCmd::Run(_) => tracing::error!(id = ?self.id, "a terminal was given a second command"),
        }
    }

    fn forget(&mut self) {
        self.forgotten = true;
        self.end();
    }

    /// Begins to end all that descends from the command.
    fn end(&mut self) {
        let Some(process) = &self.process else { return };
        if !self.swept && !self.is_ending() {
            self.work = Some(Work::End(Box::pin(sweep::end(process.pgid, process.marker.clone()))));
        }
    }

    fn is_ending(&self) -> bool {
        matches!(self.work, Some(Work::End(_)))
    }

    /// What was under way is done.
    fn worked(&mut self, left: bool) {
        // Where something outlives its terminal, it is ended with `Kill` or `Forget`.
        self.swept = self.is_ending() || !left;
        self.work = None;
        self.look();
    }

    /// Has the command ended?
    fn look(&mut self) {
        if !self.told_exit && self.ended.is_none() {
            self.ended = self.process.as_ref().and_then(Process::ended);
        }
    }

    /// Nobody takes events any more.
    fn unheard(&mut self) {
        self.heard = false;
        self.out.clear();
    }

    fn event(&mut self, event: PtyEvent) {
        if self.heard {
            self.out.push(event);
        }
    }

    /// Takes all steps that what is known by now allows.
    fn settle(&mut self) {
        // Whoever is told of the end of a command that was killed may rely on it that nothing of it is left.
        if !self.is_ending()
            && let Some(end) = self.ended.take()
        {
            self.tell_exit(end);
        }
        if self.forgotten && (self.swept || self.process.is_none()) {
            if !self.told_exit {
                self.tell_exit(start::killed_by(nix::sys::signal::Signal::SIGKILL as i32));
            }
            self.master = None;
        }
        if self.master.is_none() {
            self.typed.clear();
            if self.told_exit && !self.told_closed {
                self.event(PtyEvent::Closed);
                self.told_closed = true;
            }
        }
        if self.told_closed {
            if self.swept {
                if let Some(process) = self.process.take() {
                    process.over();
                }
            } else if let Some(process) = &self.process
                && self.work.is_none()
                && !self.looked
            {
                self.looked = true;
                let look = sweep::is_left(process.pgid, process.marker.clone());
                self.work = Some(Work::Look(Box::pin(look)));
            }
        }
    }

    fn tell_exit(&mut self, end: CommandEnd) {
        self.last_bytes();
        // Now reading says so when the last descendant has let go of it.
        self.slave = None;
        self.last_bytes();
        self.event(PtyEvent::Exited(end));
        self.told_exit = true;
    }

    /// Reads all that is there. The kernel hands over what it still works on before it says that there is nothing.
    fn last_bytes(&mut self) {
        let mut room = LAST;
        while let Some(master) = &self.master {
            let tail = self.out.tail();
            let before = tail.len();
            let got = master.read_now(tail);
            room = room.saturating_sub(tail.len() - before);
            match got {
                Got::End => self.master = None,
                Got::Full if room > 0 => {}
                _ => break,
            }
        }
        if !self.heard {
            self.out.clear();
        }
    }
}

async fn worked(work: &mut Option<Work>) -> bool {
    match work {
        Some(Work::Look(look)) => look.await,
        Some(Work::End(end)) => {
            end.await;
            false
        }
        None => pending().await,
    }
}

async fn child_ended(children: &mut Option<Signal>) {
    match children {
        Some(children) => {
            children.recv().await;
        }
        None => pending().await,
    }
}

/// A terminal that is closed is never ready.
async fn read(master: &Option<Master>, out: &mut Outgoing) -> Got {
    match master {
        Some(master) => master.read(out.tail()).await,
        None => pending().await,
    }
}

/// See `read`.
async fn write(master: &Option<Master>, typed: &mut VecDeque<u8>) {
    match master {
        Some(master) => {
            let taken = master.write(typed.as_slices().0).await;
            typed.drain(..taken);
        }
        None => pending().await,
    }
}
