//! The walk over a tree: its folders and files, without those that an ignore file hides.
//!
//! Owns how far a walk is; it can stop anywhere and go on later. Watches nothing itself. A folder is met before its
//! entries are read, so that whoever watches it at once misses nothing. Called by the keeper, in jobs.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use ignore::WalkBuilder;

/// What a walk comes to.
#[derive(Debug)]
pub enum Met {
    Folder(PathBuf),
    File(PathBuf),
}

/// A walk that is under way.
pub struct Walk {
    /// Where it began.
    pub root: PathBuf,
    /// Files that changed after this are news; `None`: all are.
    pub since: Option<SystemTime>,
    steps: ignore::Walk,
}

impl Walk {
    /// Over all of a tree.
    pub fn over(root: &Path, since: Option<SystemTime>) -> Self {
        Self::new(root, since, |entry| !hidden_folder(entry))
    }

    /// Over folders that have come into a tree, and what is below them. The walk begins at the root all the same, because
    /// that is where the ignore files are, but looks only into folders on the way.
    pub fn to(root: &Path, made: HashSet<PathBuf>) -> Self {
        let way: HashSet<PathBuf> = made.iter().flat_map(|m| m.ancestors()).map(Path::to_path_buf).collect();
        Self::new(root, None, move |entry| {
            let path = entry.path();
            !hidden_folder(entry) && (way.contains(path) || path.ancestors().any(|a| made.contains(a)))
        })
    }

    fn new(
        root: &Path,
        since: Option<SystemTime>,
        wanted: impl Fn(&ignore::DirEntry) -> bool + Send + Sync + 'static,
    ) -> Self {
        // Above the root its repository goes on; without one, what lies above is none of its business.
        let repository = root.ancestors().any(|folder| folder.join(".git").exists());
        let steps = WalkBuilder::new(root)
            .hidden(false)
            .parents(repository)
            .require_git(repository)
            .follow_links(false)
            .filter_entry(wanted)
            .build();
        Self { root: root.to_path_buf(), since, steps }
    }
}

impl Iterator for Walk {
    type Item = Met;

    fn next(&mut self) -> Option<Met> {
        // What cannot be read, or is gone by now, is passed over.
        let entry = self.steps.by_ref().find_map(Result::ok)?;
        let folder = entry.file_type().is_some_and(|kind| kind.is_dir());
        Some(if folder { Met::Folder(entry.into_path()) } else { Met::File(entry.into_path()) })
    }
}

fn hidden_folder(entry: &ignore::DirEntry) -> bool {
    entry.depth() > 0
        && entry.file_type().is_some_and(|kind| kind.is_dir())
        && entry.file_name().as_encoded_bytes().starts_with(b".")
}
