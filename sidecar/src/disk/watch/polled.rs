//! Folders that cannot be watched: looked at again and again.
//!
//! Owns what each looked like. A folder that is not there is looked for. Called by the keeper, in jobs.

use std::collections::{BTreeMap, HashMap};
use std::ffi::OsString;
use std::fs::{self, Metadata};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

/// What tells one state of a file from another: size, number and the times of its content and of its entry.
type Look = (u64, u64, i64, i64, i64, i64);

/// The folders, and what they looked like last.
#[derive(Default)]
pub struct Polled {
    /// `None`: not there when last looked for.
    folders: BTreeMap<PathBuf, Option<HashMap<OsString, Look>>>,
    warned: bool,
}

impl Polled {
    /// Whether there is anything to look at.
    pub fn any(&self) -> bool {
        !self.folders.is_empty()
    }

    /// Its folders that are not there, or all.
    pub fn names(&self, missing: bool) -> Vec<PathBuf> {
        let folders = self.folders.iter().filter(|(_, files)| !missing || files.is_none());
        folders.map(|(path, _)| path.clone()).collect()
    }

    /// Looks for this folder from now on; one that is looked at already stays.
    pub fn look_for(&mut self, folder: &Path) {
        if !self.folders.contains_key(folder) {
            self.folders.insert(folder.to_path_buf(), None);
        }
    }

    /// No more.
    pub fn drop(&mut self, folder: &Path) {
        self.folders.remove(folder);
    }

    /// Keeps only these.
    pub fn retain(&mut self, keep: impl Fn(&Path) -> bool) {
        self.folders.retain(|folder, _| keep(folder));
    }

    /// Looks at the files of one folder: those that changed since the last look; at the first look those that changed
    /// after `since`, or all. `room`: files that may still be looked at; counted down.
    pub fn look(&mut self, folder: &Path, since: Option<SystemTime>, room: &mut usize) -> Vec<PathBuf> {
        let Some(old) = self.folders.get_mut(folder) else { return Vec::new() };
        let mut new = HashMap::new();
        let mut changed = Vec::new();
        let entries = fs::read_dir(folder).ok();
        let there = entries.is_some();
        let mut cut = false;
        for entry in entries.into_iter().flatten().filter_map(Result::ok) {
            if *room == 0 {
                cut = true;
                if !std::mem::replace(&mut self.warned, true) {
                    tracing::warn!(?folder, "more files than can be looked at; changes of some are not seen");
                }
                break;
            }
            *room -= 1;
            let Ok(meta) = entry.metadata() else { continue };
            if meta.is_dir() {
                continue;
            }
            let name = entry.file_name();
            let look = look(&meta);
            let news = match old {
                Some(old) => old.get(&name) != Some(&look),
                None => is_news(&meta, since),
            };
            if news {
                changed.push(folder.join(&name));
            }
            new.insert(name, look);
        }
        // What was not looked at is not gone.
        let gone = old.iter().flatten().filter(|(name, _)| !cut && !new.contains_key(*name));
        changed.extend(gone.map(|(name, _)| folder.join(name)));
        *old = there.then_some(new);
        changed
    }
}

/// Whether a file changed after `since`; `None`: always.
pub fn is_news(meta: &Metadata, since: Option<SystemTime>) -> bool {
    let Some(since) = since else { return true };
    let Ok(since) = since.duration_since(SystemTime::UNIX_EPOCH) else { return true };
    // The time of the entry moves with every change of the content, and with a rename, and nobody can set it back.
    let changed = Duration::new(meta.ctime().max(0) as u64, meta.ctime_nsec().max(0) as u32);
    changed >= since
}

fn look(meta: &Metadata) -> Look {
    (meta.size(), meta.ino(), meta.mtime(), meta.mtime_nsec(), meta.ctime(), meta.ctime_nsec())
}
