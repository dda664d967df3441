//! Which paths a session may read and write.
//!
//! Owns the rules of each session: its folders, what is asked about, and the files outside that a person let it at. It
//! never touches the disk: paths come in resolved, and containment is decided by their components, never by string
//! prefix. Called by the admission of requests, by writes and by the attach policy.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use crate::model::{AccessRules, SessionKey};
use crate::workspace::globs::Globs;

/// Files with which somebody who writes them can run commands: hooks, and configuration that tools obey.
const RUN: [&str; 12] = [
    "**/.git/hooks/**",
    "**/.git/**/hooks/**",
    "**/.git/config",
    "**/.git/config.worktree",
    "**/.git/**/config",
    ".nvim.lua",
    ".nvimrc",
    ".exrc",
    ".bosun*",
    "**/.bosun*/**",
    ".envrc",
    ".git",
];

/// For a person, with a question about such a file.
const CAN_RUN: &str = "This file can run commands on this machine.";
/// For a person, with a question about a file of the setting.
const ALWAYS: &str = "The setting `always_ask` names this file.";

/// What the rules say to a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Judgement {
    /// Go on.
    Inside,
    /// To be written, in this folder that may only be read.
    ReadOnly(PathBuf),
    /// To be read, and a person must agree first: the setting `ask_read` names it.
    Secret,
    /// In none of the session's folders; `ask`: a person may still allow it.
    Outside { ask: bool },
}

#[derive(Debug)]
struct Folder {
    real: PathBuf,
    write: bool,
    /// In the order of the settings; the working directory is 0.
    place: usize,
}

#[derive(Debug, Default)]
struct Rules {
    /// By place.
    folders: Vec<Folder>,
    /// Files outside that a person let the session at: their buffers are attached. They are asked about all the same.
    files: BTreeSet<PathBuf>,
    ask_outside: bool,
    runs: Globs,
    always_ask: Globs,
    ask_read: Globs,
}

impl Rules {
    fn contains(&self, real: &Path) -> bool {
        self.folders.iter().any(|f| real.starts_with(&f.real))
    }

    fn folders(&self) -> impl Iterator<Item = &Path> {
        self.folders.iter().map(|f| f.real.as_path())
    }
}

/// Rules of all sessions; dropped with their session.
#[derive(Debug, Default)]
pub struct Roots {
    by_session: BTreeMap<SessionKey, Rules>,
}

impl Roots {
    /// A session with these rules, without any folder yet. Returns what is wrong with them, for a person.
    pub fn open(&mut self, session: &SessionKey, given: &AccessRules) -> Vec<String> {
        let mut problems = Vec::new();
        let mut compiled = |setting: &str, patterns: &[String]| {
            let (globs, wrong) = Globs::new(patterns.iter().map(String::as_str));
            problems
                .extend(wrong.into_iter().map(|w| format!("The setting `{setting}`: {w}; it is left out.")));
            globs
        };
        let rules = Rules {
            ask_outside: given.ask_outside,
            always_ask: compiled("always_ask", &given.always_ask),
            ask_read: compiled("ask_read", &given.ask_read),
            runs: Globs::new(RUN).0,
            ..Rules::default()
        };
        self.by_session.insert(session.clone(), rules);
        problems
    }

    /// A folder of the session. `real` has been through the disk edge; `place` is its place in the settings, 0 for the
    /// working directory.
    pub fn add(&mut self, session: &SessionKey, real: PathBuf, write: bool, place: usize) {
        let Some(rules) = self.by_session.get_mut(session) else { return };
        rules.folders.push(Folder { real, write, place });
        rules.folders.sort_by_key(|f| f.place);
    }

    /// A person let the session at this file outside.
    pub fn let_at(&mut self, session: &SessionKey, real: PathBuf) {
        if let Some(rules) = self.by_session.get_mut(session) {
            rules.files.insert(real);
        }
    }

    /// The session is over.
    pub fn remove(&mut self, session: &SessionKey) {
        self.by_session.remove(session);
    }

    /// Folders of a session, its working directory first.
    pub fn of(&self, session: &SessionKey) -> Vec<&Path> {
        self.by_session.get(session).map_or(Vec::new(), |rules| rules.folders().collect())
    }

    /// Whether this real path is in a folder of the session.
    pub fn contains(&self, session: &SessionKey, real: &Path) -> bool {
        self.by_session.get(session).is_some_and(|rules| rules.contains(real))
    }

    /// All sessions that have a root.
    pub fn sessions(&self) -> impl Iterator<Item = &SessionKey> {
        self.by_session.keys()
    }

    /// Whether the buffer of this real path is to be attached: it is in a folder of some session, or a person let one
    /// at it.
    pub fn any_contains(&self, real: &Path) -> bool {
        self.by_session.values().any(|rules| rules.contains(real) || rules.files.contains(real))
    }

    /// What the rules say. `told` is the path as the agent named it: a hard link may have led to another name. Of
    /// folders in one another the innermost counts, of the same folder given twice the later one.
    pub fn judge(&self, session: &SessionKey, real: &Path, told: &Path, write: bool) -> Judgement {
        let Some(rules) = self.by_session.get(session) else { return Judgement::Outside { ask: false } };
        let holders = rules.folders.iter().filter(|f| real.starts_with(&f.real));
        let Some(folder) = holders.max_by_key(|f| (f.real.components().count(), f.place)) else {
            return Judgement::Outside { ask: rules.ask_outside };
        };
        if write && !folder.write {
            return Judgement::ReadOnly(folder.real.clone());
        }
        let named = |path: &Path| rules.ask_read.name(path, rules.folders());
        if !write && (named(real) || named(told)) { Judgement::Secret } else { Judgement::Inside }
    }

    /// Why a write to this path is asked about whatever was approved before; `None` when it need not be.
    pub fn must_ask(&self, session: &SessionKey, path: &Path) -> Option<String> {
        let rules = self.by_session.get(session)?;
        if rules.runs.name(path, rules.folders()) {
            return Some(CAN_RUN.to_owned());
        }
        rules.always_ask.name(path, rules.folders()).then(|| ALWAYS.to_owned())
    }
}

#[cfg(test)]
mod tests;
