//! Opening a terminal and starting its command in it.
//!
//! Owns the process until it is asked for its end. It never reads what the command prints. Called by `live`. Every
//! command leads a session and a process group of its own, and the terminal controls that session.

use std::sync::atomic::{AtomicU64, Ordering};

use nix::sys::signal::{Signal, killpg};
use portable_pty::{Child, CommandBuilder, PtyPair, PtySize, SlavePty, native_pty_system};
use rustix::process::{Pid, WaitId, WaitIdOptions, waitid};

use super::environment;
use super::master::Master;
use super::program::{self, Refusal};
use crate::agent::MARKER;
use crate::effect::PtyRun;
use crate::guard::GuardHandle;
use crate::model::{CommandEnd, TerminalId};

/// The command's end of a terminal, held so that a command that closes all its descriptors does not look like one that
/// ended.
pub type Slave = Box<dyn SlavePty + Send>;

/// A command that was started. It stays a child that nobody has asked for its end until it is dropped: so long its
/// number, which is also that of its process group, cannot become somebody else's.
#[derive(Debug)]
pub struct Process {
    child: Box<dyn Child + Send + Sync>,
    /// Its process group, which is its process id.
    pub pgid: i32,
    /// `NAME=value` as it stands in the environment of every descendant.
    pub marker: String,
    guard: GuardHandle,
}

/// Opens a terminal. To be called on the loop's thread, where agents are started too: between opening it and marking its
/// descriptors as not to be inherited no other process may be started.
pub fn open(run: &PtyRun) -> Result<(Master, Slave), Refusal> {
    let size = |cells: u16, else_: u16| if cells == 0 { else_ } else { cells };
    let size =
        PtySize { rows: size(run.rows, 24), cols: size(run.cols, 80), pixel_width: 0, pixel_height: 0 };
    let failed = |error: &dyn std::fmt::Display| Refusal {
        code: 127,
        reason: format!("no terminal could be opened: {error}"),
    };
    let PtyPair { slave, master } = native_pty_system().openpty(size).map_err(|error| failed(&error))?;
    let raw = master.as_raw_fd().ok_or_else(|| failed(&"it has no descriptor"))?;
    Ok((Master::new(raw).map_err(|error| failed(&error))?, slave))
}

/// Starts the command. It looks at folders of the user's and waits for the new process, so it may take a while.
pub fn start(
    id: TerminalId,
    run: &PtyRun,
    extra: &[(String, String)],
    slave: &Slave,
    guard: &GuardHandle,
) -> Result<Process, Refusal> {
    // Counted over the whole process: a marker must never mean two commands.
    static STARTED: AtomicU64 = AtomicU64::new(0);
    let count = STARTED.fetch_add(1, Ordering::Relaxed);
    let value = format!("{}-t{}-{count}", std::process::id(), id.0);
    let env = environment::build(std::env::vars_os(), extra, &run.env, (MARKER, &value));
    let mut command = CommandBuilder::from_argv(program::arguments(run, &env)?);
    command.cwd(&run.cwd);
    command.env_clear();
    for (name, value) in env {
        command.env(name, value);
    }
    let failed = |reason: String| Refusal { code: 126, reason };
    let child = slave
        .spawn_command(command)
        .map_err(|error| failed(format!("{:?} could not be started: {error:#}", run.command)))?;
    let pgid = child.process_id().and_then(|pid| i32::try_from(pid).ok());
    let pgid = pgid.ok_or_else(|| failed("it has no process id".to_owned()))?;
    let marker = format!("{MARKER}={value}");
    guard.add(pgid, &marker);
    Ok(Process { child, pgid, marker, guard: guard.clone() })
}

impl Process {
    /// How the command ended; `None` while it runs. May be asked again.
    pub fn ended(&self) -> Option<CommandEnd> {
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        let pid = Pid::from_raw(self.pgid)?;
        let status = match waitid(WaitId::Pid(pid), options) {
            Ok(status) => status?,
            Err(error) => {
                // Not reached while nobody else asks for our children.
                tracing::error!(%error, "how a command ended is not known");
                return Some(CommandEnd { code: 127, signal: None });
            }
        };
        Some(match status.terminating_signal() {
            Some(number) => killed_by(number),
            None => CommandEnd { code: status.exit_status().unwrap_or_default() as u32, signal: None },
        })
    }
}

impl Process {
    /// Nothing of it is left, or nothing more can be done.
    pub fn over(self) {
        self.guard.remove(self.pgid);
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // Its number is ours to this moment. With the whole runtime gone nobody has ended it yet; the rest of its
        // descendants are the guard's.
        let _ = killpg(nix::unistd::Pid::from_raw(self.pgid), Signal::SIGKILL);
        let _ = self.child.try_wait();
    }
}

/// The end of a command that signal `number` ended.
pub fn killed_by(number: i32) -> CommandEnd {
    let name = Signal::try_from(number).map_or_else(|_| format!("SIG{number}"), |s| s.as_str().to_owned());
    CommandEnd { code: 128 + number as u32, signal: Some(name) }
}
