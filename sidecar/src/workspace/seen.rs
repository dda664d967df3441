//! What each session knows of each file: the texts it was last served or wrote.
//!
//! Owns a short history by session and real path. It never decides whether a write may land (`write` does). Called by
//! reads and writes. Bounded: [`VERSIONS`] versions a file, [`FILES`] files a session, oldest dropped first; a file that
//! was dropped counts as never read. Versions share their ropes with the mirrors they came from.

use std::collections::{HashMap, VecDeque};
use std::path::{Path, PathBuf};

use crate::model::SessionKey;
use crate::workspace::text::Snapshot;

/// Versions kept of one file.
pub const VERSIONS: usize = 4;
/// Files remembered for one session.
pub const FILES: usize = 512;

/// One version, as a session saw it.
#[derive(Clone, Debug, PartialEq)]
pub enum Version {
    /// The whole text, also where only some lines were asked for.
    Text(Snapshot),
    /// It was told that there is no such file.
    Missing,
}

#[derive(Debug, Default)]
struct Files {
    versions: HashMap<PathBuf, VecDeque<Version>>,
    /// Least lately seen first.
    order: VecDeque<PathBuf>,
}

/// See the module. A session's part is dropped with the session.
#[derive(Debug, Default)]
pub struct Seen {
    by_session: HashMap<SessionKey, Files>,
}

impl Seen {
    /// The session has seen this.
    pub fn record(&mut self, session: &SessionKey, real: &Path, version: Version) {
        let files = self.by_session.entry(session.clone()).or_default();
        files.order.retain(|p| p != real);
        files.order.push_back(real.to_owned());
        let versions = files.versions.entry(real.to_owned()).or_default();
        if versions.back() != Some(&version) {
            versions.push_back(version);
        }
        if versions.len() > VERSIONS {
            versions.pop_front();
        }
        if files.order.len() > FILES
            && let Some(oldest) = files.order.pop_front()
        {
            files.versions.remove(&oldest);
        }
    }

    /// What the session saw last, if anything.
    pub fn latest(&self, session: &SessionKey, real: &Path) -> Option<&Version> {
        self.by_session.get(session)?.versions.get(real)?.back()
    }

    /// The session is over.
    pub fn remove(&mut self, session: &SessionKey) {
        self.by_session.remove(session);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn history_is_bounded_and_the_latest_version_counts() {
        let (s, p) = (SessionKey::new("s"), Path::new("/p/a"));
        let mut seen = Seen::default();
        assert_eq!(seen.latest(&s, p), None);
        for i in 0..20 {
            seen.record(&s, p, Version::Text(Snapshot::from_wire(&i.to_string())));
        }
        assert_eq!(seen.latest(&s, p), Some(&Version::Text(Snapshot::from_wire("19"))));
        assert_eq!(seen.by_session[&s].versions[p].len(), VERSIONS);
        for i in 0..FILES {
            seen.record(&s, Path::new(&format!("/p/{i}")), Version::Missing);
        }
        assert_eq!(seen.latest(&s, p), None);
        assert_eq!(seen.by_session[&s].versions.len(), FILES);
    }
}
