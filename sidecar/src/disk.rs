//! The disk edge: the only place that touches the user's files.
//!
//! Owns no state but the lane into the loop. It never decides what may be read or written (the workspace room does) and
//! never runs on the loop's thread: each command is a job of the blocking pool, and its result an event. Called by the
//! app.

mod attributes;
mod charset;
mod form;
pub mod keep;
mod place;
mod read;
mod resolve;
pub mod spill;
mod swap;
mod watch;
mod write;

use std::os::unix::process::parent_id;
use std::path::Path;

use tokio::sync::mpsc;

use crate::effect::DiskCmd;
use crate::event::{DiskError, DiskResult, Event};
use crate::model::OpId;

pub use read::read;
pub use resolve::resolve;
pub use watch::Watch;
pub use write::{delete, write};

/// The edge's handle. Jobs in flight are bounded by the requests in flight, which the agent edge limits.
#[derive(Clone, Debug)]
pub struct Disk {
    lane: mpsc::Sender<Event>,
}

impl Disk {
    /// Results go into `lane`.
    pub fn new(lane: mpsc::Sender<Event>) -> Self {
        Self { lane }
    }

    /// Starts a job; `Event::Disk` with the same `op` follows, whatever happens. Never blocks. Needs a tokio runtime.
    pub fn command(&self, op: OpId, cmd: DiskCmd) {
        let lane = self.lane.clone();
        let died = failed(&cmd);
        tokio::spawn(async move {
            let result = tokio::task::spawn_blocking(move || run(cmd)).await.unwrap_or(died);
            // The loop is gone only when the sidecar ends.
            let _ = lane.send(Event::Disk(op, result)).await;
        });
    }
}

/// Does it, here and now.
pub fn run(cmd: DiskCmd) -> DiskResult {
    match cmd {
        DiskCmd::Resolve { path, twins } => DiskResult::Resolved(resolve(&path, &twins)),
        DiskCmd::Read { real, cap, encodings } => DiskResult::Text(read(&real, cap, &encodings)),
        DiskCmd::Write { real, text, form, expect } => write(&real, &text, &form, expect),
        DiskCmd::Delete { real, expect } => delete(&real, expect),
        // The editor that started this process has its own swap files.
        DiskCmd::Swap { real, dirs } => DiskResult::Swap(swap::find(&real, &dirs, parent_id())),
    }
}

/// The result of a job that died.
fn failed(cmd: &DiskCmd) -> DiskResult {
    let error = DiskError::Io("the disk job died; see the log".into());
    match cmd {
        DiskCmd::Resolve { .. } => DiskResult::Resolved(Err(error)),
        DiskCmd::Read { .. } => DiskResult::Text(Err(error)),
        DiskCmd::Write { .. } | DiskCmd::Delete { .. } => DiskResult::Written(Err(error)),
        DiskCmd::Swap { .. } => DiskResult::Swap(None),
    }
}

/// The system's error in our words.
fn io(error: &std::io::Error, path: &Path) -> DiskError {
    match error.kind() {
        std::io::ErrorKind::NotFound => DiskError::NotFound,
        std::io::ErrorKind::IsADirectory => DiskError::IsDir,
        _ => {
            tracing::debug!(?path, %error, "disk");
            DiskError::Io(error.to_string())
        }
    }
}

#[cfg(test)]
mod tests;
