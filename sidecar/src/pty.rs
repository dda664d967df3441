//! The PTY edge: commands that run in terminals, with all that they start.
//!
//! Owns one task per terminal. It never decides whether a command may run, and never looks into what one prints: bytes
//! go out as they came. Called by the loop (`run`).
//!
//! What waits is bounded: a command that floods is held back by the pace of the lane's receiver, through its own
//! terminal. Of output there is at most one chunk in each terminal's task (and up to `LAST` once it has ended), and as
//! many chunks in the lane as that has room for.

mod environment;
mod live;
mod master;
mod outgoing;
mod program;
mod start;
mod sweep;

use std::collections::HashMap;
use std::time::Duration;

use tokio::sync::mpsc;
use tokio::task::JoinSet;

use crate::effect::PtyCmd;
use crate::event::PtyEvent;
use crate::guard::GuardHandle;
use crate::model::TerminalId;

/// Most bytes in one `Output`.
pub const CHUNK: usize = 64 << 10;
/// Room that the lane should have, in events: with chunks of `CHUNK` bytes, 2 MiB.
pub const LANE: usize = 32;
/// Most bytes that are read at once when a command has ended. Linux holds about 70 KB for a terminal; only what
/// descendants write at that moment can make it more.
const LAST: usize = 1 << 20;
/// Most bytes that wait for a command to read them; what a person types beyond is dropped.
const TYPED: usize = 1 << 20;
/// Longer than the slowest way that a command can be made to end.
const SHUTDOWN: Duration = Duration::from_millis(1500);

/// Where events go.
pub type Lane = mpsc::Sender<(TerminalId, PtyEvent)>;

/// All terminals.
#[derive(Debug)]
pub struct Ptys {
    lane: Lane,
    guard: GuardHandle,
    extra: Vec<(String, String)>,
    /// Dropping a sender ends its terminal without further events. An entry goes when its task is over.
    running: HashMap<TerminalId, mpsc::UnboundedSender<PtyCmd>>,
    tasks: JoinSet<()>,
}

impl Ptys {
    /// Events go into `lane`, with room for `LANE` of them; it is waited for. `extra` is set in the environment of every
    /// command, under the overrides of its own.
    pub fn new(lane: Lane, guard: GuardHandle, extra: Vec<(String, String)>) -> Self {
        Self { lane, guard, extra, running: HashMap::new(), tasks: JoinSet::new() }
    }

    /// Carries out a command; never blocks. Must be called inside the runtime. Commands for a terminal that is gone are
    /// dropped: `Closed` has said so.
    pub fn tell(&mut self, id: TerminalId, cmd: PtyCmd) {
        self.running.retain(|_, commands| !commands.is_closed());
        while self.tasks.try_join_next().is_some() {}
        match (cmd, self.running.get(&id)) {
            (PtyCmd::Run(_), Some(_)) => tracing::error!(?id, "a terminal was given a second command"),
            (PtyCmd::Run(run), None) => {
                let (commands, inbox) = mpsc::unbounded_channel();
                let (lane, guard, extra) = (self.lane.clone(), self.guard.clone(), self.extra.clone());
                self.tasks.spawn(live::run(id, *run, extra, inbox, lane, guard));
                self.running.insert(id, commands);
            }
            (cmd, Some(commands)) => {
                let _ = commands.send(cmd);
            }
            (_, None) => {}
        }
    }

    /// Ends all commands and waits for that, in bounded time. Nobody needs to take events from the lane.
    pub async fn end(mut self) {
        self.running.clear();
        let all = async { while self.tasks.join_next().await.is_some() {} };
        if tokio::time::timeout(SHUTDOWN, all).await.is_err() {
            tracing::error!("some commands could not be ended in time; the guard ends them");
        }
    }
}

impl Drop for Ptys {
    fn drop(&mut self) {
        // Aborted, they could not end their commands.
        self.tasks.detach_all();
    }
}

#[cfg(test)]
mod tests;
