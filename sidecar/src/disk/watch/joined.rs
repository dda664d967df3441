//! Paths that changed, joined until they are told.
//!
//! Owns the paths and how long to wait for more of them. No clock, no task: time comes with the call. Called by the
//! watcher's task.

use std::collections::HashSet;
use std::path::PathBuf;
use std::time::Duration;

use tokio::time::Instant;

/// Paths in one event; with more of them, "anything may have changed" is told instead.
pub const PATHS: usize = 1000;
/// How long the first change waits for others. An atomic save is several changes.
const SHORT: Duration = Duration::from_millis(4);
/// The same, while very many changes keep coming.
const LONG: Duration = Duration::from_millis(80);
/// So many paths in one event are very many.
const MANY: usize = 10;

/// What has not been told yet.
#[derive(Default)]
pub struct Joined {
    paths: HashSet<PathBuf>,
    /// The same file is often told several times in a row.
    last: PathBuf,
    lost: bool,
    wait: Duration,
    /// When very many were told.
    flood: Option<Instant>,
}

impl Joined {
    /// One more path.
    pub fn add(&mut self, path: PathBuf) {
        if self.lost || path == self.last {
            return;
        }
        if self.paths.len() == PATHS && !self.paths.contains(&path) {
            self.lose();
            return;
        }
        self.last.clone_from(&path);
        self.paths.insert(path);
    }

    /// Anything may have changed.
    pub fn lose(&mut self) {
        self.paths.clear();
        self.last = PathBuf::new();
        self.lost = true;
    }

    /// Whether there is anything to tell.
    pub fn any(&self) -> bool {
        self.lost || !self.paths.is_empty()
    }

    /// Until when to wait, after the first path: a little after a quiet time, longer the longer a flood lasts, or when
    /// the last ones are `untold` for want of room.
    pub fn due(&mut self, now: Instant, untold: bool) -> Instant {
        let busy = untold || self.flood.is_some_and(|told| now < told + self.wait);
        self.wait = if busy { (self.wait * 2).min(LONG) } else { SHORT };
        now + self.wait
    }

    /// What is to be told: empty when anything may have changed.
    pub fn take(&mut self, now: Instant) -> Vec<PathBuf> {
        self.flood = (self.lost || self.paths.len() > MANY).then_some(now);
        self.lost = false;
        self.last = PathBuf::new();
        self.paths.drain().collect()
    }
}
