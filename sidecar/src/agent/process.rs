//! Starting an agent's process and ending it with all that it started.
//!
//! Owns the process group. It never reads or writes what the agent says (`conn` does). Every child runs in its own
//! process group; descendants that left the group are found by a marker in their environment (Linux only).

use std::path::PathBuf;
use std::process::Stdio;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;
use tokio::process::{Child, Command};

use crate::guard::{self, GuardHandle};
use crate::model::{AgentId, Launch};

/// How long an agent may take to go by itself once its standard input is closed.
pub const AFTER_EOF: Duration = Duration::from_millis(500);
/// How long it may take after TERM.
pub const AFTER_TERM: Duration = Duration::from_millis(700);

/// Name of the marker variable; its value is unique to a process that we start.
pub const MARKER: &str = "BOSUN_CHILD";

/// A running agent.
#[derive(Debug)]
pub struct Process {
    /// The direct child; its pipes are taken by `conn`.
    pub child: Child,
    /// Its process group, which is its process id.
    pub pgid: i32,
    /// `NAME=value` as it stands in the environment of every descendant.
    pub marker: String,
}

/// Starts the program. The error is for a person.
pub fn spawn(agent: AgentId, launch: &Launch, guard: &GuardHandle) -> Result<Process, String> {
    if !launch.cwd.is_dir() {
        return Err(format!("the folder {} does not exist", launch.cwd.display()));
    }
    // Counted over the whole process: a marker must never mean two agents.
    static STARTED: AtomicU64 = AtomicU64::new(0);
    let value = format!("{}-{}-{}", std::process::id(), agent.0, STARTED.fetch_add(1, Ordering::Relaxed));
    let mut command = Command::new(program(launch));
    command
        .args(&launch.args)
        .current_dir(&launch.cwd)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .process_group(0);
    for (name, value) in &launch.env {
        match value {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        };
    }
    // After the overrides: without it, descendants that left the group could not be found.
    command.env(MARKER, &value);
    let child = command.spawn().map_err(|error| match error.kind() {
        std::io::ErrorKind::NotFound => {
            format!("{:?} was not found; is it installed and on PATH?", launch.command)
        }
        std::io::ErrorKind::PermissionDenied => format!("{:?} cannot be executed", launch.command),
        _ => format!("{:?} could not be started: {error}", launch.command),
    })?;
    let pgid = child.id().and_then(|pid| i32::try_from(pid).ok()).ok_or("it ended at once")?;
    let marker = format!("{MARKER}={value}");
    guard.add(pgid, &marker);
    Ok(Process { child, pgid, marker })
}

/// A relative path with a slash is meant from the session's folder; a bare name is looked up on PATH.
fn program(launch: &Launch) -> PathBuf {
    let path = PathBuf::from(&launch.command);
    if path.is_relative() && launch.command.contains('/') { launch.cwd.join(path) } else { path }
}

impl Process {
    /// Sends a signal to the whole group; a group that is gone is no error.
    pub fn signal(&self, signal: Signal) {
        let _ = killpg(Pid::from_raw(self.pgid), signal);
    }

    /// Ends what is left of the group and of its strays at once. To be called when the direct child is gone.
    pub async fn sweep(&self, guard: &GuardHandle) {
        self.signal(Signal::SIGKILL);
        let marker = self.marker.clone();
        // It reads much of `/proc`, which must not hold up the loop.
        let _ = tokio::task::spawn_blocking(move || guard::kill_marked(&[&marker])).await;
        guard.remove(self.pgid);
    }
}
