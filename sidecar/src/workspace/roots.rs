//! Which folders a session may see.
//!
//! Owns the real paths of roots by session. It never touches the disk: paths come in resolved, and containment is
//! decided by their components, never by string prefix. Called by reads, writes and the attach policy.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::model::SessionKey;

/// Roots of all sessions; dropped with their session.
#[derive(Debug, Default)]
pub struct Roots {
    by_session: BTreeMap<SessionKey, Vec<PathBuf>>,
}

impl Roots {
    /// `real` has been through the disk edge.
    pub fn add(&mut self, session: &SessionKey, real: PathBuf) {
        let roots = self.by_session.entry(session.clone()).or_default();
        if !roots.contains(&real) {
            roots.push(real);
        }
    }

    /// The session is over.
    pub fn remove(&mut self, session: &SessionKey) {
        self.by_session.remove(session);
    }

    /// Roots of a session, its working directory first.
    pub fn of(&self, session: &SessionKey) -> &[PathBuf] {
        self.by_session.get(session).map_or(&[], Vec::as_slice)
    }

    /// Whether this session may see this real path.
    pub fn contains(&self, session: &SessionKey, real: &Path) -> bool {
        self.of(session).iter().any(|root| real.starts_with(root))
    }

    /// All sessions that have a root.
    pub fn sessions(&self) -> impl Iterator<Item = &SessionKey> {
        self.by_session.keys()
    }

    /// Whether any session may.
    pub fn any_contains(&self, real: &Path) -> bool {
        self.by_session.values().flatten().any(|root| real.starts_with(root))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn containment_goes_by_components_and_by_session() {
        let (s, t) = (SessionKey::new("s"), SessionKey::new("t"));
        let mut roots = Roots::default();
        roots.add(&s, "/p/app".into());
        assert!(roots.contains(&s, Path::new("/p/app/src/a.rs")));
        assert!(!roots.contains(&s, Path::new("/p/app-secrets/a")));
        assert!(!roots.contains(&t, Path::new("/p/app/src/a.rs")));
        assert!(roots.any_contains(Path::new("/p/app/x")));
        roots.remove(&s);
        assert!(!roots.any_contains(Path::new("/p/app/x")));
    }
}
