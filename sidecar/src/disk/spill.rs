//! The raw output of commands, kept in files that a person can open.
//!
//! Owns the folder of this sidecar's files and the thread that writes them, in order. It never holds anybody up: what does
//! not fit in its queue is left out, and that is said in the file. Called by the loop (`run`).
//!
//! Bounded: [`WAITING`] pieces wait; [`TOTAL`] bytes are written in all. Folders of other sidecars are removed after a week,
//! when the first piece comes.

use std::collections::HashMap;
use std::fs::{DirBuilder, File, OpenOptions};
use std::io::Write;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::time::Duration;

use crate::model::TerminalId;

/// Pieces that wait to be written.
const WAITING: usize = 64;
/// Bytes of all files together.
const TOTAL: u64 = 256 << 20;
/// How long the folder of a sidecar is kept: a week.
const KEPT: Duration = Duration::from_secs(7 * 24 * 3600);

/// See the module.
#[derive(Debug)]
pub struct Spill {
    folder: PathBuf,
    lane: Option<SyncSender<(TerminalId, Vec<u8>)>>,
    /// Bytes that were left out since the last piece that fitted.
    missing: HashMap<TerminalId, usize>,
}

impl Spill {
    /// Files go into a folder of this process under `logs`. Nothing is made before there is something to write.
    pub fn new(logs: &Path) -> Self {
        let folder = logs.join("terminals").join(std::process::id().to_string());
        Self { folder, lane: None, missing: HashMap::new() }
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
            let (lane, pieces) = sync_channel(WAITING);
            let folder = self.folder.clone();
            // Not waited for: what it has not written when the sidecar ends is in the editor's terminal.
            std::thread::spawn(move || write(&folder, &pieces));
            lane
        });
        let (count, missing) = (bytes.len(), self.missing.get(&id).copied());
        let bytes = match missing {
            Some(n) => [format!("\r\n[… {n} bytes are missing …]\r\n").as_bytes(), &bytes].concat(),
            None => bytes,
        };
        match lane.try_send((id, bytes)) {
            Ok(()) => drop(self.missing.remove(&id)),
            Err(_) => *self.missing.entry(id).or_default() += count,
        }
    }
}

fn write(folder: &Path, pieces: &Receiver<(TerminalId, Vec<u8>)>) {
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
fn remove_old(all: &Path) {
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
        let (lane, pieces) = sync_channel(WAITING);
        for n in 0..40 {
            lane.send((TerminalId(n % 20), format!("{n}\n").into_bytes())).unwrap();
        }
        drop(lane);
        let folder = dir.path().join("terminals").join("1");
        write(&folder, &pieces);
        assert!(!old.exists() && new.exists());
        assert_eq!(std::fs::read_to_string(folder.join("3.log")).unwrap(), "3\n23\n");
    }

    #[test]
    fn what_does_not_fit_is_left_out_and_that_is_said() {
        let dir = tempfile::tempdir().unwrap();
        let mut spill = Spill::new(dir.path());
        let (lane, pieces) = sync_channel(1);
        spill.lane = Some(lane);
        for bytes in ["one", "two", "three"] {
            spill.push(TerminalId(1), bytes.into());
        }
        assert_eq!(pieces.recv().unwrap().1, b"one");
        spill.push(TerminalId(1), b"four".to_vec());
        assert_eq!(pieces.recv().unwrap().1, b"\r\n[\xe2\x80\xa6 8 bytes are missing \xe2\x80\xa6]\r\nfour");
    }
}
