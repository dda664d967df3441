//! The watcher: tells the loop what changed on disk in the folders that it wished to know of.
//!
//! Owns the wish, one task and, through its keeper, the system's watches. It never says what a change means, and never
//! runs long on the loop's thread: watching, walking and looking at files are jobs of the blocking pool, one at a time;
//! the keeper goes along with the job and comes home with it, so that it needs no lock. What waits for the next job is
//! merged; a job that walks makes way for it and the walk goes on later. Called by the app; ends with its handle.

mod joined;
mod keeper;
mod notes;
mod polled;
mod walk;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, SystemTime};

use tokio::sync::{mpsc, watch};
use tokio::task::JoinHandle;
use tokio::time::{Instant, MissedTickBehavior};

use crate::effect::WatchWish;
use crate::event::Event;

use joined::Joined;
use keeper::{Keeper, Work};
use notes::Note;

/// Notes that wait for the task; beyond it the system's own queue fills, and says so when it overflows.
const NOTES: usize = 4096;
/// Folders of the next job; with more of them everything is looked at again instead.
const FOLDERS_OF_A_JOB: usize = 4096;
/// How often files are looked at that cannot be watched.
const POLL: Duration = Duration::from_millis(500);
/// What counts as changed after a wish is stamped by a coarse clock, and the wish waits a little before it is seen.
const SLACK: Duration = Duration::from_millis(50);

/// How much is watched and looked at.
#[derive(Clone, Copy, Debug)]
struct Limits {
    /// Folders that are watched because they are part of a tree.
    tree_folders: usize,
    /// Wished folders that are watched beyond those.
    folders: usize,
    /// Files that are looked at every `POLL` because their folders cannot be watched.
    polled_files: usize,
}

const LIMITS: Limits = Limits { tree_folders: 4096, folders: 1024, polled_files: 4096 };

/// The watcher's handle. The watching ends when it is dropped.
#[derive(Debug)]
pub struct Watch {
    wishes: watch::Sender<WatchWish>,
}

impl Watch {
    /// `Event::Watched` goes into `lane`. Needs a tokio runtime; nothing is watched before the first wish.
    pub fn start(lane: mpsc::Sender<Event>) -> Self {
        Self::limited(lane, LIMITS)
    }

    fn limited(lane: mpsc::Sender<Event>, limits: Limits) -> Self {
        let (wishes, inbox) = watch::channel(WatchWish::default());
        let (noted, notes) = mpsc::channel(NOTES);
        let task = Task {
            wishes: inbox,
            notes,
            keeper: Some(Box::new(Keeper::new(noted, limits))),
            job: None,
            work: Work::default(),
            hurry: Hurry(Arc::default()),
            joined: Joined::default(),
        };
        tokio::spawn(task.run(lane));
        Self { wishes }
    }

    /// Watches this in place of what was watched before. Never blocks. Files that change from now on are told, also while
    /// the walk over a tree has not come to them yet.
    pub fn wish(&self, wish: WatchWish) {
        self.wishes.send_replace(wish);
    }
}

/// Tells the job under way to come home: there is more to do, or the task is gone.
struct Hurry(Arc<AtomicBool>);

impl Drop for Hurry {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

struct Task {
    wishes: watch::Receiver<WatchWish>,
    notes: mpsc::Receiver<Note>,
    /// `None` while it is away with a job.
    keeper: Option<Box<Keeper>>,
    job: Option<JoinHandle<Box<Keeper>>>,
    /// What the next job has to do.
    work: Work,
    hurry: Hurry,
    joined: Joined,
}

impl Task {
    async fn run(mut self, lane: mpsc::Sender<Event>) {
        let mut poll = tokio::time::interval(POLL);
        poll.set_missed_tick_behavior(MissedTickBehavior::Delay);
        // While notes are being joined: when they are enough.
        let mut due: Option<Instant> = None;
        let mut ready = false;
        loop {
            self.start_job();
            let polls = self.keeper.as_ref().is_some_and(|keeper| keeper.polls());
            tokio::select! {
                biased;
                changed = self.wishes.changed() => {
                    if changed.is_err() {
                        return;
                    }
                    let wish = self.wishes.borrow_and_update().clone();
                    self.work.wish(wish, SystemTime::now() - SLACK);
                    self.hurry.0.store(true, Ordering::Relaxed);
                }
                keeper = home(&mut self.job), if self.job.is_some() => {
                    // It never comes when the runtime ends.
                    let Some(keeper) = keeper else { return };
                    self.keeper = Some(keeper);
                    self.job = None;
                }
                room = lane.reserve(), if ready => {
                    let Ok(room) = room else { return };
                    room.send(Event::Watched(self.joined.take(Instant::now())));
                    ready = false;
                }
                _ = wake(due), if due.is_some() => {
                    due = None;
                    while let Ok(note) = self.notes.try_recv() {
                        self.note(note);
                    }
                    ready = self.joined.any();
                }
                note = self.notes.recv(), if due.is_none() => {
                    // The keeper holds a sender.
                    let Some(note) = note else { return };
                    self.note(note);
                    due = Some(self.joined.due(Instant::now(), ready));
                }
                _ = poll.tick(), if polls => self.work.poll = true,
            }
        }
    }

    fn note(&mut self, note: Note) {
        match note {
            Note::Changed(path) => self.joined.add(path),
            Note::Gone(path) => {
                self.work.gone.insert(path.clone());
                self.joined.add(path);
            }
            Note::Made(path) => {
                self.work.made.insert(path);
            }
            Note::Lost => {
                self.joined.lose();
                self.work.look_again(SystemTime::now() - SLACK);
            }
        }
        if self.work.gone.len() + self.work.made.len() > FOLDERS_OF_A_JOB {
            self.trim();
            if self.work.gone.len() + self.work.made.len() > FOLDERS_OF_A_JOB {
                self.work.look_again(SystemTime::now() - SLACK);
                self.joined.lose();
            }
        }
        if !self.work.is_nothing() {
            self.hurry.0.store(true, Ordering::Relaxed);
        }
    }

    /// Most of what is gone are files, which nobody watches.
    fn trim(&mut self) {
        if let Some(keeper) = &self.keeper {
            self.work.gone.retain(|path| keeper.holds(path));
        }
    }

    fn start_job(&mut self) {
        self.trim();
        let busy = |keeper: &mut Box<Keeper>| !self.work.is_nothing() || keeper.walks();
        let Some(mut keeper) = self.keeper.take_if(busy) else { return };
        let work = std::mem::take(&mut self.work);
        self.hurry.0.store(false, Ordering::Relaxed);
        let hurry = self.hurry.0.clone();
        self.job = Some(tokio::task::spawn_blocking(move || {
            keeper.work(work, &hurry);
            keeper
        }));
    }
}

/// The keeper, once its job is done; `None` if it never comes.
async fn home(job: &mut Option<JoinHandle<Box<Keeper>>>) -> Option<Box<Keeper>> {
    match job {
        Some(job) => job.await.ok(),
        None => None,
    }
}

async fn wake(at: Option<Instant>) {
    match at {
        Some(at) => tokio::time::sleep_until(at).await,
        None => std::future::pending().await,
    }
}

#[cfg(test)]
mod tests;
