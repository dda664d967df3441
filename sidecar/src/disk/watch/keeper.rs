//! Keeps what is watched equal to what is wished.
//!
//! Owns the system's watcher, the list of watched folders, the folders that can only be looked at, and the walks that are
//! not done. Everything here may wait for the system: it is called in jobs of the blocking pool, never on the loop's
//! thread. What it finds it notes, as the system's watcher does. Called by the watcher's task.

use std::collections::{BTreeMap, HashSet, VecDeque};
use std::fs;
use std::ops::Bound;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::SystemTime;

use notify::{RecommendedWatcher, RecursiveMode, Watcher};
use tokio::sync::mpsc;

use super::Limits;
use super::notes::{self, Note};
use super::polled::{Polled, is_news};
use super::walk::{Met, Walk};
use crate::effect::WatchWish;

/// Steps that a walk does at least, however much it is hurried: so it ends.
pub const STEPS: usize = 256;

/// What a job has to do; later work is merged into what has not begun.
#[derive(Default)]
pub struct Work {
    /// What to watch from now on, and since when changes matter.
    wish: Option<(WatchWish, SystemTime)>,
    /// Paths that were removed or renamed away.
    pub gone: HashSet<PathBuf>,
    /// Folders that came.
    pub made: HashSet<PathBuf>,
    /// Events after this were lost.
    again: Option<SystemTime>,
    /// Look at what cannot be watched.
    pub poll: bool,
}

impl Work {
    /// A newer wish.
    pub fn wish(&mut self, wish: WatchWish, since: SystemTime) {
        // A folder of both wishes is watched since the first.
        let since = self.wish.as_ref().map_or(since, |(_, first)| *first);
        self.wish = Some((wish, since));
    }

    /// Looks at all folders again, instead of at those that it knows of.
    pub fn look_again(&mut self, since: SystemTime) {
        self.gone.clear();
        self.made.clear();
        self.again.get_or_insert(since);
    }

    /// Whether there is nothing to do.
    pub fn is_nothing(&self) -> bool {
        self.wish.is_none()
            && self.gone.is_empty()
            && self.made.is_empty()
            && self.again.is_none()
            && !self.poll
    }
}

/// A folder that the system watches.
struct Watched {
    /// Device and number: another folder may come to bear the same name.
    id: (u64, u64),
    /// It was wished itself.
    own: bool,
    /// It is part of a tree.
    tree: bool,
}

enum Outcome {
    Watched,
    /// It is no folder, or cannot be read.
    Missing,
    /// No more can be watched.
    Full,
}

/// See the head of this file.
pub struct Keeper {
    notes: mpsc::Sender<Note>,
    limits: Limits,
    system: Option<RecommendedWatcher>,
    wish: WatchWish,
    watched: BTreeMap<PathBuf, Watched>,
    polled: Polled,
    /// Files that may still be looked at in this job.
    room: usize,
    walks: VecDeque<Walk>,
    warned: bool,
}

impl Keeper {
    /// Watches nothing yet, and asks nothing of the system before it must.
    pub fn new(notes: mpsc::Sender<Note>, limits: Limits) -> Self {
        Self {
            notes,
            limits,
            system: None,
            wish: WatchWish::default(),
            watched: BTreeMap::new(),
            polled: Polled::default(),
            room: 0,
            walks: VecDeque::new(),
            warned: false,
        }
    }

    /// Whether this path, or one below it, is watched.
    pub fn holds(&self, path: &Path) -> bool {
        let mut from = self.watched.range::<Path, _>((Bound::Included(path), Bound::Unbounded));
        from.next().is_some_and(|(first, _)| first.starts_with(path))
    }

    /// Whether a walk is not done.
    pub fn walks(&self) -> bool {
        !self.walks.is_empty()
    }

    /// Whether there are folders that must be looked at from time to time.
    pub fn polls(&self) -> bool {
        self.polled.any()
    }

    /// Does the work, then walks until it is hurried. Waits for the system.
    pub fn work(&mut self, work: Work, hurry: &AtomicBool) {
        self.room = self.limits.polled_files;
        if let Some((wish, since)) = work.wish {
            self.turn_to(wish, since);
        }
        for path in &work.gone {
            self.forget(path);
        }
        self.made(work.made);
        if let Some(since) = work.again {
            self.look_again(since);
        }
        if work.poll {
            self.poll();
        }
        self.walk(hurry);
    }

    fn turn_to(&mut self, wish: WatchWish, since: SystemTime) {
        let own: HashSet<&PathBuf> = wish.folders.iter().chain(&wish.trees).collect();
        let in_tree = |path: &Path| wish.trees.iter().any(|tree| path.starts_with(tree));
        let mut drop = Vec::new();
        for (path, watched) in &mut self.watched {
            watched.own = own.contains(path);
            watched.tree &= in_tree(path);
            if !watched.own && !watched.tree {
                drop.push(path.clone());
            }
        }
        for path in drop {
            self.unwatch(&path);
        }
        self.polled.retain(|path| own.contains(&path.to_path_buf()));
        self.walks.retain(|walk| wish.trees.contains(&walk.root));
        let before = std::mem::replace(&mut self.wish, wish.clone());
        // Where a folder above was renamed, nothing told of it.
        self.verify(|watched| watched.own);
        for folder in own {
            if !self.watched.contains_key(folder) {
                self.polled.look_for(folder);
                self.watch_own(folder, Some(since));
            }
        }
        for tree in wish.trees.iter().filter(|tree| !before.trees.contains(tree)) {
            // One whose root was not watched yet is on the way already.
            if self.walks.iter().all(|walk| walk.root != *tree) {
                self.walks.push_back(Walk::over(tree, Some(since)));
            }
        }
    }

    /// Forgets folders that are not those that were watched.
    fn verify(&mut self, which: impl Fn(&Watched) -> bool) {
        let of = self.watched.iter().filter(|(_, watched)| which(watched));
        let others = of.filter(|(path, watched)| id(path) != Some(watched.id));
        for path in others.map(|(path, _)| path.clone()).collect::<Vec<_>>() {
            self.forget(&path);
        }
    }

    /// What was at this path is gone, with all below it.
    fn forget(&mut self, path: &Path) {
        let from = self.watched.range::<Path, _>((Bound::Included(path), Bound::Unbounded));
        let below = from.take_while(|(below, _)| below.starts_with(path));
        for path in below.map(|(path, _)| path.clone()).collect::<Vec<_>>() {
            if self.unwatch(&path) {
                self.polled.look_for(&path);
            }
        }
    }

    /// Says whether it was wished itself.
    fn unwatch(&mut self, path: &Path) -> bool {
        let Some(watched) = self.watched.remove(path) else { return false };
        if let Some(system) = &mut self.system {
            // It has dropped what it saw go by itself.
            let _ = system.unwatch(path);
        }
        watched.own
    }

    fn made(&mut self, mut made: HashSet<PathBuf>) {
        // A walk was there first.
        made.retain(|path| !self.watched.contains_key(path));
        if made.is_empty() {
            return;
        }
        for folder in self.polled.names(true) {
            if folder.ancestors().any(|above| made.contains(above)) {
                self.watch_own(&folder, None);
            }
        }
        for tree in &self.wish.trees {
            let below = made.iter().filter(|path| path.starts_with(tree) && *path != tree);
            let below: HashSet<PathBuf> = below.cloned().collect();
            if !below.is_empty() {
                self.walks.push_front(Walk::to(tree, below));
            }
        }
    }

    fn look_again(&mut self, since: SystemTime) {
        self.verify(|_| true);
        for folder in self.polled.names(true) {
            self.watch_own(&folder, Some(since));
        }
        self.walks = self.wish.trees.iter().map(|tree| Walk::over(tree, Some(since))).collect();
    }

    fn poll(&mut self) {
        let missing = self.polled.names(true);
        for folder in self.polled.names(false) {
            if missing.contains(&folder) {
                self.watch_own(&folder, None);
            } else {
                self.look(&folder, None);
            }
        }
    }

    /// Watches a folder that was wished itself, or looks at it where it cannot be watched. Notes its files that changed
    /// after `since`, or all.
    fn watch_own(&mut self, folder: &Path, since: Option<SystemTime>) {
        match self.watch(folder, true) {
            Outcome::Missing => {}
            Outcome::Full => self.look(folder, since),
            Outcome::Watched => {
                self.polled.drop(folder);
                for entry in fs::read_dir(folder).into_iter().flatten().filter_map(Result::ok) {
                    if entry.metadata().is_ok_and(|meta| !meta.is_dir() && is_news(&meta, since)) {
                        self.note(entry.path());
                    }
                }
                if self.wish.trees.iter().any(|tree| tree == folder) {
                    self.walks.push_back(Walk::over(folder, since));
                }
            }
        }
    }

    fn look(&mut self, folder: &Path, since: Option<SystemTime>) {
        for path in self.polled.look(folder, since, &mut self.room) {
            self.note(path);
        }
    }

    fn watch(&mut self, folder: &Path, own: bool) -> Outcome {
        // Asked before it is watched: should another one take its name in between, it is found out.
        let Some(id) = id(folder) else { return Outcome::Missing };
        let more = if own { self.limits.folders } else { 0 };
        if self.watched.len() >= self.limits.tree_folders + more {
            self.warn(&"more folders than are watched at most");
            return Outcome::Full;
        }
        if self.system.is_none() {
            let notes = self.notes.clone();
            match notify::recommended_watcher(move |event| notes::take(event, &notes)) {
                Ok(system) => self.system = Some(system),
                Err(error) => {
                    self.warn(&error);
                    return Outcome::Full;
                }
            }
        }
        let Some(system) = &mut self.system else { return Outcome::Full };
        match system.watch(folder, RecursiveMode::NonRecursive) {
            Ok(()) => {
                self.watched.insert(folder.to_path_buf(), Watched { id, own, tree: !own });
                Outcome::Watched
            }
            Err(error) if matches!(error.kind, notify::ErrorKind::MaxFilesWatch) => {
                self.warn(&error);
                Outcome::Full
            }
            Err(error) => {
                tracing::debug!(?folder, %error, "cannot be watched");
                Outcome::Missing
            }
        }
    }

    fn warn(&mut self, why: &dyn std::fmt::Display) {
        if !std::mem::replace(&mut self.warned, true) {
            tracing::warn!(%why, "not everything can be watched: open files are looked at instead, new ones not seen");
        }
    }

    fn walk(&mut self, hurry: &AtomicBool) {
        let mut steps = 0;
        while let Some(mut walk) = self.walks.pop_front() {
            while let Some(met) = walk.next() {
                match met {
                    Met::Folder(path) => {
                        if let Some(watched) = self.watched.get_mut(&path) {
                            watched.tree = true;
                        } else if matches!(self.watch(&path, false), Outcome::Full) {
                            self.walks.clear();
                            return;
                        }
                    }
                    Met::File(path) => {
                        let news = walk.since.is_none()
                            || path.symlink_metadata().is_ok_and(|meta| is_news(&meta, walk.since));
                        if news {
                            self.note(path);
                        }
                    }
                }
                steps += 1;
                if steps >= STEPS && hurry.load(Ordering::Relaxed) {
                    self.walks.push_front(walk);
                    return;
                }
            }
        }
    }

    fn note(&self, path: PathBuf) {
        // Nobody takes notes any more when the runtime ends.
        let _ = self.notes.blocking_send(Note::Changed(path));
    }
}

/// The folder at this path; `None` if there is none.
fn id(folder: &Path) -> Option<(u64, u64)> {
    let meta = folder.symlink_metadata().ok()?;
    meta.is_dir().then(|| (meta.dev(), meta.ino()))
}
