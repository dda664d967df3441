//! Ending a command with all that it started.
//!
//! Owns the order of signals. It never asks the command for its end: while nobody does, the process group's number stays
//! its own. Called by `live`. Descendants that left the group are found by their marker (Linux only).

use std::time::Duration;

use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;
use tokio::time::Instant;

use crate::guard;

/// Between TERM and KILL.
const AFTER_TERM: Duration = Duration::from_millis(80);
/// Between two looks for what is left.
const LOOK: Duration = Duration::from_millis(10);
/// What KILL has not ended after this is the system's.
const AFTER_KILL: Duration = Duration::from_millis(500);

/// Whether anything of it still runs. `true` where that cannot be known: it stays with its terminal then.
pub async fn is_left(pgid: i32, marker: String) -> bool {
    count(pgid, &marker, None).await != Some(0)
}

/// TERM to the group, and KILL to all that is left a moment later. Returns when nothing is, or nothing more can be done.
pub async fn end(pgid: i32, marker: String) {
    signal(pgid, Signal::SIGTERM);
    let hard = Instant::now() + AFTER_TERM;
    // Shells with job control give each job a group of its own, and servers leave theirs.
    let mut first = Some(Signal::SIGTERM);
    loop {
        if count(pgid, &marker, first.take()).await == Some(0) {
            return;
        }
        if Instant::now() >= hard {
            break;
        }
        tokio::time::sleep_until(hard.min(Instant::now() + LOOK)).await;
    }
    loop {
        signal(pgid, Signal::SIGKILL);
        if count(pgid, &marker, Some(Signal::SIGKILL)).await.unwrap_or_default() == 0 {
            return;
        }
        if Instant::now() >= hard + AFTER_KILL {
            tracing::warn!(pgid, "something of a command could not be ended");
            return;
        }
        tokio::time::sleep(LOOK).await;
    }
}

/// A group that is gone is no error.
/// Sends a signal to a process group; one that is gone is no error.
pub(super) fn signal(pgid: i32, signal: Signal) {
    let _ = killpg(Pid::from_raw(pgid), signal);
}

/// How many processes are left after those that carry the marker were signalled; `None` where that cannot be known. It
/// reads much of `/proc`, which must not hold up the loop.
async fn count(pgid: i32, marker: &str, signal: Option<Signal>) -> Option<usize> {
    let marker = marker.to_owned();
    let look = move || {
        match signal {
            Some(Signal::SIGKILL) => guard::kill_marked(&[&marker]),
            // The group has got it already, and some programs take a second one for impatience.
            Some(signal) => guard::signal_strays(pgid, &marker, signal),
            None => {}
        }
        guard::count_left(pgid, &marker)
    };
    tokio::task::spawn_blocking(look).await.ok().flatten()
}
