//! Text that is on the screen and not on the disk: which files of a session have it, and what the session was given.
//!
//! Owns the last text of each file that a session was given in full, by embedding or by a read. It never decides what
//! becomes of unsaved text (the app does) and never saves. Called by the room's reads and by the app before a prompt.
//! Bounded: [`FILES`] files and [`BYTES`] a session; beyond that all are forgotten, and their texts may go along once more.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use crate::model::{BufId, SessionKey};
use crate::workspace::Workspace;
use crate::workspace::text::Snapshot;

/// Files remembered for one session.
pub const FILES: usize = 512;
/// Bytes of texts remembered for one session.
const BYTES: usize = 64 << 20;

/// A file whose buffer has unsaved text.
#[derive(Clone, Debug, PartialEq)]
pub struct Unsaved {
    /// The buffer.
    pub buf: BufId,
    /// Its name, which is how the person knows it: absolute.
    pub name: PathBuf,
    /// Where that leads.
    pub real: PathBuf,
    /// The text; `None` where it is not mirrored, because the buffer is too large.
    pub text: Option<Snapshot>,
}

/// What was given of one file.
#[derive(Debug)]
struct Gift {
    text: Snapshot,
    /// It went along with a prompt, as unsaved text.
    embedded: bool,
}

/// See the module. A session's part is dropped with the session and with its agent.
#[derive(Debug, Default)]
pub struct Given {
    by_session: HashMap<SessionKey, HashMap<PathBuf, Gift>>,
}

impl Given {
    /// The session has this whole text now.
    pub fn record(&mut self, session: &SessionKey, real: &Path, text: Snapshot) {
        let files = self.by_session.entry(session.clone()).or_default();
        let embedded = files.get(real).is_some_and(|gift| gift.embedded);
        let bytes: usize = files.values().map(|gift| gift.text.rope.len_bytes()).sum();
        if !files.contains_key(real) && (files.len() >= FILES || bytes > BYTES) {
            files.clear();
        }
        files.insert(real.to_owned(), Gift { text, embedded });
    }

    /// The agent has forgotten what it was given, or is gone.
    pub fn remove(&mut self, session: &SessionKey) {
        self.by_session.remove(session);
    }

    fn holds(&self, session: &SessionKey, file: &Unsaved) -> bool {
        let gift = self.by_session.get(session).and_then(|files| files.get(&file.real));
        gift.is_some_and(|gift| file.text.as_ref() == Some(&gift.text))
    }
}

impl Workspace {
    /// The files in the session's roots whose buffers have unsaved text, by buffer. Mirrors that fill are waited for
    /// with [`Self::modified_pending`].
    pub fn unsaved(&self, session: &SessionKey) -> Vec<Unsaved> {
        self.bufs.modified(session, &self.roots)
    }

    /// Whether the session has this very text already.
    pub fn was_given(&self, session: &SessionKey, file: &Unsaved) -> bool {
        self.given.holds(session, file)
    }

    /// The text goes along with a prompt.
    pub fn give(&mut self, session: &SessionKey, file: &Unsaved) {
        let Some(text) = &file.text else { return };
        self.given.record(session, &file.real, text.clone());
        let files = self.given.by_session.get_mut(session);
        if let Some(gift) = files.and_then(|files| files.get_mut(&file.real)) {
            gift.embedded = true;
        }
    }

    /// The agent does not remember what it was given.
    pub fn forget_given(&mut self, session: &SessionKey) {
        self.given.remove(session);
    }

    /// Files whose unsaved text once went along and that have none any more, whether it was saved or undone; each is
    /// told of once. In order of their paths.
    pub fn take_settled(&mut self, session: &SessionKey) -> Vec<PathBuf> {
        let unsaved = self.unsaved(session);
        let Some(files) = self.given.by_session.get_mut(session) else { return Vec::new() };
        let over = |real: &PathBuf| !unsaved.iter().any(|file| file.real == *real);
        let mut settled: Vec<PathBuf> = files
            .iter()
            .filter(|(real, gift)| gift.embedded && over(real))
            .map(|(real, _)| real.clone())
            .collect();
        settled.sort();
        files.retain(|real, _| !settled.contains(real));
        settled
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(text: &str) -> Unsaved {
        Unsaved {
            buf: BufId(1),
            name: "/p/a".into(),
            real: "/p/a".into(),
            text: Some(Snapshot::from_wire(text)),
        }
    }

    #[test]
    fn only_the_very_same_text_counts_as_given() {
        let s = SessionKey::new("s");
        let mut given = Given::default();
        assert!(!given.holds(&s, &file("a\n")));
        given.record(&s, Path::new("/p/a"), Snapshot::from_wire("a\n"));
        assert!(given.holds(&s, &file("a\n")));
        assert!(!given.holds(&s, &file("a")));
        assert!(!given.holds(&SessionKey::new("t"), &file("a\n")));
        assert!(
            !given.holds(&s, &Unsaved { text: None, ..file("") }),
            "a text that is not known was not given"
        );
        given.record(&s, Path::new("/p/a"), Snapshot::from_wire("b\n"));
        assert!(!given.holds(&s, &file("a\n")), "the last text counts");
        given.remove(&s);
        assert!(!given.holds(&s, &file("b\n")));
    }

    #[test]
    fn what_is_remembered_is_bounded() {
        let s = SessionKey::new("s");
        let mut given = Given::default();
        for i in 0..=FILES {
            given.record(&s, Path::new(&format!("/p/{i}")), Snapshot::from_wire("x"));
        }
        assert!(given.by_session[&s].len() <= FILES);
    }
}
