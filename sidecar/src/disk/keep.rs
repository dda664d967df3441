//! What files were before and after each change of an agent's, kept on disk.
//!
//! Owns the folder of this sidecar's texts, by their content, the index of changes and the thread that works on them, in
//! order. It never holds the loop up, and never touches a file of the user's. Called by the loop (`run`).
//!
//! Bounded: [`WAITING`] bytes wait to be written; [`TOTAL`] bytes are kept, of which the oldest go first. Folders of other
//! sidecars are removed after a week.

use std::collections::{HashMap, VecDeque};
use std::fs::{DirBuilder, OpenOptions};
use std::io::Write;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};

use serde_json::json;
use sha2::{Digest, Sha256};

use super::spill::remove_old;
use crate::effect::KeepCmd;
use crate::event::{DiskResult, Event, KeptTexts};
use crate::workspace::text::Snapshot;

/// Bytes that wait to be written.
const WAITING: usize = 64 << 20;
/// Bytes of texts that are kept.
const TOTAL: u64 = 200 << 20;

/// See the module.
#[derive(Debug)]
pub struct Keep {
    folder: PathBuf,
    results: tokio::sync::mpsc::Sender<Event>,
    lane: Option<Sender<KeepCmd>>,
    waiting: Arc<AtomicUsize>,
}

impl Keep {
    /// Texts go into a folder of this process under `state`; results into `results`. Nothing is made before there is
    /// something to keep.
    pub fn new(state: &Path, results: tokio::sync::mpsc::Sender<Event>) -> Self {
        let folder = state.join("checkpoints").join(std::process::id().to_string());
        Self { folder, results, lane: None, waiting: Arc::default() }
    }

    /// Puts something in line. A change that does not fit is not kept; loading says so.
    pub fn push(&mut self, cmd: KeepCmd) {
        let size = size(&cmd);
        if self.waiting.load(Ordering::Relaxed) + size > WAITING {
            return tracing::warn!("a change is not kept: too many wait");
        }
        self.waiting.fetch_add(size, Ordering::Relaxed);
        let lane = self.lane.get_or_insert_with(|| {
            let (lane, commands) = channel();
            let (folder, results, waiting) =
                (self.folder.clone(), self.results.clone(), self.waiting.clone());
            std::thread::spawn(move || {
                work(&folder, &commands, &waiting, |event| drop(results.blocking_send(event)))
            });
            lane
        });
        if lane.send(cmd).is_err() {
            self.waiting.fetch_sub(size, Ordering::Relaxed);
            tracing::warn!("changes are not kept: there is no folder for them");
        }
    }
}

/// What it holds in memory.
fn size(cmd: &KeepCmd) -> usize {
    let text = |text: &Option<Snapshot>| text.as_ref().map_or(0, |text| text.rope.len_bytes());
    match cmd {
        KeepCmd::Change { before, after, .. } => text(before) + text(after),
        KeepCmd::Mark { .. } | KeepCmd::Load { .. } => 0,
    }
}

type Hash = String;

/// The texts that are there.
struct Store {
    folder: PathBuf,
    /// Bytes of each, and how many changes name it.
    blobs: HashMap<Hash, (u64, usize)>,
    /// Texts before and after, oldest change first.
    changes: VecDeque<(u64, Option<Hash>, Option<Hash>)>,
    total: u64,
    cap: u64,
}

impl Store {
    fn keep(&mut self, text: &Snapshot) -> std::io::Result<Hash> {
        let bytes = text.bytes();
        let hash: Hash = Sha256::digest(&bytes).iter().map(|byte| format!("{byte:02x}")).collect();
        if let Some((_, count)) = self.blobs.get_mut(&hash) {
            *count += 1;
            return Ok(hash);
        }
        // Renamed when it is whole, so that nobody ever reads half of it.
        let (path, temp) = (self.folder.join(&hash), self.folder.join("new"));
        OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(true)
            .mode(0o600)
            .open(&temp)?
            .write_all(&bytes)?;
        std::fs::rename(&temp, &path)?;
        let size = bytes.len() as u64;
        self.blobs.insert(hash.clone(), (size, 1));
        self.total += size;
        Ok(hash)
    }

    fn add(&mut self, number: u64, before: Option<Hash>, after: Option<Hash>) {
        self.changes.push_back((number, before, after));
        while self.total > self.cap && self.changes.len() > 1 {
            let Some((_, before, after)) = self.changes.pop_front() else { return };
            for hash in before.into_iter().chain(after) {
                self.forget(&hash);
            }
        }
    }

    fn forget(&mut self, hash: &Hash) {
        let Some((size, count)) = self.blobs.get_mut(hash) else { return };
        *count -= 1;
        if *count == 0 {
            self.total -= *size;
            self.blobs.remove(hash);
            let _ = std::fs::remove_file(self.folder.join(hash));
        }
    }

    /// The texts of a change; `None` when one is not there, or is not what it was.
    fn load(&self, number: u64) -> Option<KeptTexts> {
        let (_, before, after) = self.changes.iter().rev().find(|(n, ..)| *n == number)?;
        let read = |hash: &Option<Hash>| match hash {
            None => Some(None),
            Some(hash) => {
                let bytes = std::fs::read(self.folder.join(hash)).ok()?;
                let same = Sha256::digest(&bytes).iter().map(|byte| format!("{byte:02x}")).collect::<Hash>()
                    == *hash;
                same.then_some(Some(bytes))
            }
        };
        Some(KeptTexts { number, before: read(before)?, after: read(after)? })
    }
}

fn work(folder: &Path, commands: &Receiver<KeepCmd>, waiting: &AtomicUsize, send: impl Fn(Event)) {
    if let Some(all) = folder.parent() {
        remove_old(all);
    }
    // A process of the same number may have left one.
    let _ = std::fs::remove_dir_all(folder);
    let made = DirBuilder::new().recursive(true).mode(0o700).create(folder);
    if let Err(error) = &made {
        tracing::warn!(%error, "changes are not kept");
    }
    let mut store = Store {
        folder: folder.to_owned(),
        blobs: HashMap::new(),
        changes: VecDeque::new(),
        total: 0,
        cap: TOTAL,
    };
    let journal = folder.join("journal.jsonl");
    let mut journal = OpenOptions::new().append(true).create(true).mode(0o600).open(journal).ok();
    while let Ok(cmd) = commands.recv() {
        waiting.fetch_sub(size(&cmd), Ordering::Relaxed);
        let line = match cmd {
            KeepCmd::Mark { number, session, prompt } => {
                json!({ "v": 1, "mark": number, "session": session.to_string(), "prompt": prompt })
            }
            KeepCmd::Change { number, path, before, after } => {
                let mut kept = |text: Option<Snapshot>| text.map(|text| store.keep(&text)).transpose();
                match (kept(before), kept(after)) {
                    (Ok(before), Ok(after)) => {
                        let line = json!({ "v": 1, "change": number, "path": path.to_string_lossy(), "before": before, "after": after });
                        store.add(number, before, after);
                        line
                    }
                    (before, after) => {
                        tracing::warn!(?before, ?after, "a change is not kept");
                        continue;
                    }
                }
            }
            KeepCmd::Load { op, numbers } => {
                let texts = numbers.iter().filter_map(|number| store.load(*number)).collect();
                send(Event::Disk(op, DiskResult::Kept(texts)));
                continue;
            }
        };
        if let Some(file) = &mut journal {
            let _ = writeln!(file, "{line}");
        }
    }
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use super::*;
    use crate::model::{OpId, SessionKey};

    fn play(folder: &Path, commands: Vec<KeepCmd>) -> Vec<KeptTexts> {
        let (lane, inbox) = channel();
        let waiting = AtomicUsize::new(commands.iter().map(size).sum());
        commands.into_iter().for_each(|cmd| lane.send(cmd).unwrap());
        drop(lane);
        let got = RefCell::new(Vec::new());
        work(folder, &inbox, &waiting, |event| match event {
            Event::Disk(_, DiskResult::Kept(texts)) => got.borrow_mut().extend(texts),
            other => panic!("{other:?}"),
        });
        assert_eq!(waiting.into_inner(), 0);
        got.into_inner()
    }

    fn change(number: u64, before: Option<&str>, after: Option<&str>) -> KeepCmd {
        let text = |text: Option<&str>| text.map(|text| Snapshot::from_bytes(text.as_bytes()));
        KeepCmd::Change { number, path: "/p/a".into(), before: text(before), after: text(after) }
    }

    #[test]
    fn texts_come_back_byte_for_byte_and_the_same_text_is_kept_once() {
        let dir = tempfile::tempdir().unwrap();
        let folder = dir.path().join("1");
        let got = play(
            &folder,
            vec![
                KeepCmd::Mark { number: 1, session: SessionKey::new("s"), prompt: "go".into() },
                change(2, None, Some("a\nb")),
                change(3, Some("a\nb"), Some("")),
                KeepCmd::Load { op: OpId(1), numbers: vec![3, 2, 9] },
            ],
        );
        let texts: Vec<_> = got.iter().map(|k| (k.number, k.before.as_deref(), k.after.as_deref())).collect();
        assert_eq!(texts, [(3, Some(&b"a\nb"[..]), Some(&b""[..])), (2, None, Some(b"a\nb"))]);
        let names = std::fs::read_dir(&folder).unwrap().count();
        assert_eq!(names, 3, "two texts and the journal");
        let journal = std::fs::read_to_string(folder.join("journal.jsonl")).unwrap();
        assert_eq!(journal.lines().count(), 3);
    }

    #[test]
    fn a_text_that_was_changed_on_disk_is_not_given_out() {
        let dir = tempfile::tempdir().unwrap();
        let folder = dir.path().join("1");
        let mut store = Store {
            folder: folder.clone(),
            blobs: HashMap::new(),
            changes: VecDeque::new(),
            total: 0,
            cap: 10,
        };
        std::fs::create_dir(&folder).unwrap();
        let hash = store.keep(&Snapshot::from_bytes(b"text\n")).unwrap();
        store.add(1, Some(hash.clone()), None);
        assert!(store.load(1).is_some());
        std::fs::write(folder.join(&hash), "half").unwrap();
        assert!(store.load(1).is_none());
    }

    #[test]
    fn over_the_cap_the_oldest_go_and_what_newer_ones_share_stays() {
        let dir = tempfile::tempdir().unwrap();
        let mut store = Store {
            folder: dir.path().to_owned(),
            blobs: HashMap::new(),
            changes: VecDeque::new(),
            total: 0,
            cap: 12,
        };
        let mut add = |number: u64, before: &str, after: &str| {
            let [before, after] =
                [before, after].map(|text| store.keep(&Snapshot::from_bytes(text.as_bytes())).unwrap());
            store.add(number, Some(before), Some(after));
        };
        add(1, "one.\n", "two.\n");
        add(2, "two.\n", "3333\n");
        assert!(store.load(1).is_none() && store.load(2).is_some());
        assert_eq!(store.total, 10);
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 2);
    }
}
