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

/// Whether anything of it still runs. `false` where that cannot be known.
pub async fn is_left(pgid: i32, marker: String) -> bool {
    count(pgid, &marker, false).await.unwrap_or_default() > 0
}

/// TERM to the group, and KILL to all that is left a moment later. Returns when nothing is, or nothing more can be done.
pub async fn end(pgid: i32, marker: String) {
    signal(pgid, Signal::SIGTERM);
    let hard = Instant::now() + AFTER_TERM;
    loop {
        if count(pgid, &marker, false).await == Some(0) {
            return;
        }
        if Instant::now() >= hard {
            break;
        }
        tokio::time::sleep_until(hard.min(Instant::now() + LOOK)).await;
    }
    loop {
        signal(pgid, Signal::SIGKILL);
        if count(pgid, &marker, true).await.unwrap_or_default() == 0 {
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
fn signal(pgid: i32, signal: Signal) {
    let _ = killpg(Pid::from_raw(pgid), signal);
}

/// It reads much of `/proc`, which must not hold up the loop.
async fn count(pgid: i32, marker: &str, kill: bool) -> Option<usize> {
    let marker = marker.to_owned();
    let look = move || {
        if kill {
            guard::kill_marked(&[&marker]);
        }
        guard::count_left(pgid, &marker)
    };
    tokio::task::spawn_blocking(look).await.ok().flatten()
}
