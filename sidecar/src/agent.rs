//! The agent edge: processes that speak the Agent Client Protocol, version 1, on their standard input and output.
//!
//! Owns one connection task per agent. It never decides: what agents say becomes events, what the app decides is sent.
//! Types of the wire end here. Called by the loop (`run`).

mod conn;
mod decode;
mod encode;
mod envelope;
mod fields;
mod lines;
mod outbox;
mod process;
mod repair;
mod stderr;
mod wirelog;

use std::collections::HashMap;
use std::path::PathBuf;
use std::time::Duration;

use tokio::sync::mpsc;
use tokio::task::JoinSet;

use crate::effect::AgentCmd;
use crate::event::Event;
use crate::guard::GuardHandle;
use crate::model::AgentId;
pub use process::MARKER;
use wirelog::WireLog;

/// Longer than the slowest way an agent can be made to end.
const SHUTDOWN: Duration = Duration::from_millis(2500);

/// All agents.
#[derive(Debug)]
pub struct Agents {
    lane: mpsc::Sender<Event>,
    log_dir: PathBuf,
    guard: GuardHandle,
    /// Dropping a sender ends its agent.
    running: HashMap<AgentId, mpsc::UnboundedSender<AgentCmd>>,
    tasks: JoinSet<()>,
}

impl Agents {
    /// Events go into `lane`, which is waited for: a full lane slows the agent down, through its own pipe.
    pub fn new(lane: mpsc::Sender<Event>, log_dir: PathBuf, guard: GuardHandle) -> Self {
        Self { lane, log_dir, guard, running: HashMap::new(), tasks: JoinSet::new() }
    }

    /// Carries out a command; never blocks. Commands for an agent that is gone are dropped: `Exited` has said so.
    pub fn command(&mut self, agent: AgentId, cmd: AgentCmd) {
        self.running.retain(|_, commands| !commands.is_closed());
        while self.tasks.try_join_next().is_some() {}
        if let AgentCmd::Start(launch) = cmd {
            let (commands, inbox) = mpsc::unbounded_channel();
            let (lane, dir, guard) = (self.lane.clone(), self.log_dir.clone(), self.guard.clone());
            self.tasks.spawn(async move {
                let log = WireLog::open(&dir, agent, &launch);
                conn::run(agent, *launch, inbox, lane, log, guard).await;
            });
            self.running.insert(agent, commands);
        } else if let Some(commands) = self.running.get(&agent) {
            let _ = commands.send(cmd);
        }
    }

    /// Ends all agents and waits for that, in bounded time. Events must still be taken from the lane, or be dropped
    /// with it.
    pub async fn shutdown(mut self) {
        self.running.clear();
        let all = async { while self.tasks.join_next().await.is_some() {} };
        if tokio::time::timeout(SHUTDOWN, all).await.is_err() {
            tracing::error!("some agents could not be ended in time; the guard ends them");
        }
    }
}

#[cfg(test)]
mod tests;
