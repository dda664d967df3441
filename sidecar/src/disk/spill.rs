//! The raw output of commands, kept in files that a person can open.
//!
//! Owns the folder of this sidecar's files and the thread that writes them, in order. It never holds anybody up: what does
//! not fit in its queue is left out, and that is said in the file. Called by the loop (`run`).
//!
//! Bounded: [`WAITING`] bytes wait; [`TOTAL`] bytes are written in all. Folders of other sidecars are removed after a week,
//! when the first piece comes.

use std::collections::HashMap;
use std::fs::{DirBuilder, File, OpenOptions};
use std::io::Write;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;

use crate::model::TerminalId;

/// Bytes that wait to be written. Not pieces: a program may write thousands of them at once, a few bytes each.
const WAITING: usize = 4 << 20;
/// What a piece counts beside its bytes.
const PIECE: usize = 64;
/// Bytes of all files together.
const TOTAL: u64 = 256 << 20;
/// How long the folder of a sidecar is kept: a week.
const KEPT: Duration = Duration::from_secs(7 * 24 * 3600);

/// See the module.
#[derive(Debug)]
pub struct Spill {
    folder: PathBuf,
    lane: Option<Sender<(TerminalId, Vec<u8>)>>,
    /// How much is in the lane: added to here, taken from by the thread.
    waiting: Arc<AtomicUsize>,
    /// Bytes that were left out since the last piece that fitted.
    missing: HashMap<TerminalId, usize>,
}

impl Spill {
    /// Files go into a folder of this process under `logs`. Nothing is made before there is something to write.
    pub fn new(logs: &Path) -> Self {
        // Numbers of processes come again.
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
        let folder = logs.join("terminals").join(format!("{}-{}", std::process::id(), now.as_secs()));
        Self { folder, lane: None, waiting: Arc::default(), missing: HashMap::new() }
    }

    /// Where they are.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Puts a piece in line. An empty one says that no more is to be expected.
    pub fn push(&mut self, id: TerminalId, bytes: Vec<u8>) {
        if bytes.is_empty() && self.lane.is_none() {
            return;
        }
        let lane = self.lane.get_or_insert_with(|| {
            let (lane, pieces) = channel();
            let (folder, waiting) = (self.folder.clone(), self.waiting.clone());
            // Not waited for: what it has not written when the sidecar ends is in the editor's terminal.
            std::thread::spawn(move || write(&folder, &pieces, &waiting));
            lane
        });
        let (count, missing) = (bytes.len(), self.missing.get(&id).copied());
        let bytes = match missing {
            Some(n) => [format!("\r\n[… {n} bytes are missing …]\r\n").as_bytes(), &bytes].concat(),
            None => bytes,
        };
        let size = bytes.len() + PIECE;
        // The end of a terminal is never left out: its file would stay open. It counts little.
        let fits = count == 0 || self.waiting.load(Ordering::Relaxed) + size <= WAITING;
        if fits {
            self.waiting.fetch_add(size, Ordering::Relaxed);
        }
        // An error: there is no folder to write to.
        if fits && lane.send((id, bytes)).is_ok() {
            self.missing.remove(&id);
        } else if count > 0 {
            *self.missing.entry(id).or_default() += count;
        }
    }
}

fn write(folder: &Path, pieces: &Receiver<(TerminalId, Vec<u8>)>, waiting: &AtomicUsize) {
    if let Some(all) = folder.parent() {
        remove_old(all);
    }
    // Output may hold what is for nobody else's eyes.
    if let Err(error) = DirBuilder::new().recursive(true).mode(0o700).create(folder) {
        return tracing::warn!(%error, "the output of commands is not kept");
    }
    let mut files: HashMap<TerminalId, Option<File>> = HashMap::new();
    let mut left = TOTAL;
    while let Ok((id, bytes)) = pieces.recv() {
        waiting.fetch_sub(bytes.len() + PIECE, Ordering::Relaxed);
        if bytes.is_empty() {
            files.remove(&id);
            continue;
        }
        let open = || {
            let path = folder.join(id.log_name());
            OpenOptions::new().append(true).create(true).mode(0o600).open(path).ok()
        };
        let file = files.entry(id).or_insert_with(open);
        left = left.saturating_sub(bytes.len() as u64);
        if left == 0 || file.as_mut().is_some_and(|file| file.write_all(&bytes).is_err()) {
            *file = None;
        }
        // A handful is open at a time; the next piece opens its file again.
        if files.len() > 16 {
            files.retain(|other, file| *other == id || file.is_none());
        }
    }
}

/// Removes the folders that nothing was added to for long.
pub(super) fn remove_old(all: &Path) {
    for entry in std::fs::read_dir(all).into_iter().flatten().flatten() {
        let changed = entry.metadata().and_then(|m| m.modified()).ok();
        let old = changed.and_then(|at| at.elapsed().ok()).is_some_and(|age| age > KEPT);
        if old && let Err(error) = std::fs::remove_dir_all(entry.path()) {
            tracing::debug!(%error, "an old folder stays");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_are_written_in_order_and_old_folders_are_removed() {
        let dir = tempfile::tempdir().unwrap();
        let [old, new] = ["7", "8"].map(|name| dir.path().join("terminals").join(name));
        for folder in [&old, &new] {
            std::fs::create_dir_all(folder).unwrap();
        }
        let then = std::time::SystemTime::now() - 2 * KEPT;
        File::open(&old).unwrap().set_modified(then).unwrap();
        let (lane, pieces) = channel();
        let waiting = AtomicUsize::new(0);
        for n in 0..40 {
            waiting.fetch_add(PIECE + format!("{n}\n").len(), Ordering::Relaxed);
            lane.send((TerminalId(n % 20), format!("{n}\n").into_bytes())).unwrap();
        }
        drop(lane);
        let folder = dir.path().join("terminals").join("1");
        write(&folder, &pieces, &waiting);
        assert_eq!(waiting.into_inner(), 0);
        assert!(!old.exists() && new.exists());
        assert_eq!(std::fs::read_to_string(folder.join("3.log")).unwrap(), "3\n23\n");
    }

    #[test]
    fn what_does_not_fit_is_left_out_and_that_is_said() {
        let dir = tempfile::tempdir().unwrap();
        let mut spill = Spill::new(dir.path());
        let (lane, pieces) = channel();
        spill.lane = Some(lane);
        for bytes in [vec![b'x'; WAITING - PIECE], b"two".to_vec(), b"three".to_vec()] {
            spill.push(TerminalId(1), bytes);
        }
        assert_eq!(pieces.recv().unwrap().1.len(), WAITING - PIECE);
        spill.waiting.store(0, Ordering::Relaxed);
        spill.push(TerminalId(1), b"four".to_vec());
        assert_eq!(pieces.recv().unwrap().1, b"\r\n[\xe2\x80\xa6 8 bytes are missing \xe2\x80\xa6]\r\nfour");
    }

    #[test]
    fn many_small_pieces_at_once_all_fit() {
        let dir = tempfile::tempdir().unwrap();
        let mut spill = Spill::new(dir.path());
        let (lane, pieces) = channel();
        spill.lane = Some(lane);
        (0..10_000).for_each(|_| spill.push(TerminalId(1), b"x\r\n".to_vec()));
        assert_eq!((spill.missing.len(), pieces.try_iter().count()), (0, 10_000));
    }
}
