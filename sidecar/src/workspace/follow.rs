//! Files that change on disk under open buffers: noticing it, and saying so.
//!
//! Owns which buffers are looked at and what is watched. It never edits: a change on disk becomes an op like a write
//! (`write`), which merges it into the buffer. Called by the room with what the watcher and the editor saw.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use crate::effect::{Author, Effect, NvimCmd, WatchWish};
use crate::model::{BufId, Millis, SessionKey};
use crate::workspace::text::Snapshot;
use crate::workspace::write::{Plan, WriteOp};
use crate::workspace::{Op, Workspace};

/// How often the same text of an agent's is saved over.
pub const ECHOES: u8 = 8;

/// See the module.
#[derive(Debug, Default)]
pub struct Follows {
    /// By file: the text of its own that an agent wrote to the disk over a merge, and how often it was saved over.
    echoes: BTreeMap<PathBuf, (Snapshot, u8)>,
    /// Buffers whose file changed again while a change of it was on its way.
    again: BTreeSet<BufId>,
    /// Buffers or folders of sessions may have come or gone since the watcher was told last.
    pub stale: bool,
    /// What the watcher was told last.
    watched: WatchWish,
    /// Sessions with a running turn.
    running: Vec<SessionKey>,
    /// Files that running turns name in their tool calls, real or as told.
    named: BTreeSet<(SessionKey, PathBuf)>,
}

impl Follows {
    /// An agent wrote `own` over a merge once more: whether the merge is saved over that again. Two programs that both
    /// insist would go on for ever.
    pub fn insists(&mut self, real: &Path, own: &Snapshot) -> bool {
        let echo = self.echoes.entry(real.to_owned()).or_insert_with(|| (own.clone(), 0));
        if echo.0 != *own {
            *echo = (own.clone(), 0);
        }
        echo.1 = echo.1.saturating_add(1);
        echo.1 <= ECHOES
    }
}

impl Workspace {
    /// The watcher saw something happen to these paths; none at all means to any.
    pub fn watched(&mut self, paths: &[PathBuf]) -> Vec<Effect> {
        let mut out = Vec::new();
        let hit = |real: &Path| paths.is_empty() || paths.iter().any(|p| real.starts_with(p));
        let bufs: Vec<BufId> = self.bufs.mirrored().filter(|(_, real)| hit(real)).map(|(id, _)| id).collect();
        for buf in bufs {
            self.follow(buf, &mut out);
        }
        self.settle(&mut out);
        out
    }

    /// The editor saw that the file of this buffer changed, and leaves it to us.
    pub fn disk_changed(&mut self, buf: BufId) -> Vec<Effect> {
        let mut out = Vec::new();
        if self.bufs.ready(buf).is_some() {
            self.follow(buf, &mut out);
        } else {
            out.push(Effect::Nvim(NvimCmd::Unfollow { buf }));
        }
        self.settle(&mut out);
        out
    }

    /// A mirror has become whole. The file may have changed before anybody watched it, and what unsaved text came from is on
    /// disk now and may not be later.
    pub(super) fn first_look(&mut self, buf: BufId, out: &mut Vec<Effect>) {
        let Some(b) = self.bufs.ready(buf).filter(|b| b.meta.stamp.is_some()) else { return };
        if b.real().is_some_and(|real| self.session_of(real).is_some()) {
            self.follow(buf, out);
        }
    }

    /// Looks at the file of this buffer, unless that is under way: then once more afterwards.
    pub(super) fn follow(&mut self, buf: BufId, out: &mut Vec<Effect>) {
        if self.following(|w| w.follows() == Some(buf)) {
            self.follows.again.insert(buf);
            return;
        }
        let Some(real) = self.bufs.ready(buf).and_then(|b| b.real()).map(Path::to_owned) else { return };
        // A buffer that no session may see is the editor's own business.
        let Some(session) = self.session_of(&real) else {
            out.push(Effect::Nvim(NvimCmd::Unfollow { buf }));
            return;
        };
        let id = self.mint();
        self.ops.insert(id, Op::Write(Box::new(WriteOp::follow(session, real, buf))));
    }

    /// Buffers that hold nothing of a person's any more: a question about their file has nothing left to decide.
    pub(super) fn unasked(&mut self, out: &mut Vec<Effect>) {
        for (id, op) in &mut self.ops {
            let Op::Write(op) = op else { continue };
            let buf = op.follows().filter(|_| op.is_asking()).and_then(|buf| self.bufs.ready(buf));
            if buf.is_some_and(|buf| !buf.unsaved()) {
                op.begin_again();
                out.push(Effect::AskWithdrawn { op: *id });
            }
        }
    }

    /// A change on disk that is still on its way.
    pub(super) fn following(&self, which: impl Fn(&WriteOp) -> bool) -> bool {
        self.ops.values().any(|op| matches!(op, Op::Write(w) if w.follows().is_some() && which(w)))
    }

    /// Looks again at what changed while it was looked at. Returns whether there was any.
    pub(super) fn follow_again(&mut self, out: &mut Vec<Effect>) -> bool {
        let bufs: Vec<BufId> = self.follows.again.iter().copied().collect();
        let before = self.follows.again.len();
        for buf in bufs {
            if !self.following(|w| w.follows() == Some(buf)) {
                self.follows.again.remove(&buf);
                self.follow(buf, out);
            }
        }
        self.follows.again.len() < before
    }

    /// A change on disk has become the buffer's.
    pub(super) fn followed(&self, real: &Path, plan: &Plan, out: &mut Vec<Effect>) {
        let stays = plan.live.as_ref() == Some(&plan.new);
        let what = match plan.new == plan.theirs {
            true if stays => return,
            true => "and its buffer follows",
            false if stays => "and your text was kept",
            false => "and was merged with your text",
        };
        self.told(real, &format!("changed on disk {what}"), out);
    }

    /// Says something of a file in the transcripts of the sessions whose turn runs and that may see it.
    pub(super) fn told(&self, real: &Path, text: &str, out: &mut Vec<Effect>) {
        for session in self.follows.running.iter().filter(|key| self.roots.contains(key, real)) {
            let cwd = self.roots.of(session).first().copied().unwrap_or(Path::new("/"));
            let name = real.strip_prefix(cwd).unwrap_or(real).to_string_lossy();
            let by = match self.author(session, real) {
                Author::Unknown => " (it is not known by whom)",
                Author::Agent | Author::Person => "",
            };
            out.push(Effect::Told { session: session.clone(), text: format!("{name} {text}{by}.") });
        }
    }

    /// Whose a change on disk of this file is, as far as that can be told.
    pub(super) fn author(&self, session: &SessionKey, real: &Path) -> Author {
        if !self.follows.running.contains(session) {
            return Author::Person;
        }
        let roots = self.roots.of(session);
        let cwd = roots.first().copied().unwrap_or(Path::new("/"));
        let named = |path: &PathBuf| path == real || cwd.join(path) == real;
        // A tool may not say which file it touches, and a person in another window may have changed it.
        match self.follows.named.iter().any(|(key, path)| key == session && named(path)) {
            true => Author::Agent,
            false => Author::Unknown,
        }
    }

    /// A running turn's tool call names these files, as the agent writes them.
    pub fn names(&mut self, session: &SessionKey, paths: impl IntoIterator<Item = String>) {
        if self.follows.running.contains(session) {
            self.follows.named.extend(paths.into_iter().map(|p| (session.clone(), PathBuf::from(p))));
        }
    }

    /// Turns of these sessions run now. Gives a new wish for the watcher where it changed.
    pub fn watch(&mut self, running: Vec<SessionKey>, now: Millis) -> Vec<Effect> {
        let mut out = Vec::new();
        if !std::mem::take(&mut self.follows.stale) && running == self.follows.running {
            return out;
        }
        self.follows.named.retain(|(key, _)| running.contains(key));
        if running.is_empty() {
            self.follows.echoes.clear();
        }
        let over = self.follows.running.iter().filter(|key| !running.contains(key));
        for session in over.cloned().collect::<Vec<_>>() {
            self.known.turn_over(&session);
            self.agent_terminals_over(&session, now, &mut out);
        }
        for session in running.iter().filter(|key| !self.follows.running.contains(key)) {
            self.review.turn(session);
        }
        self.follows.running = running;
        let of = |key: &SessionKey| -> Vec<PathBuf> {
            self.roots.of(key).into_iter().map(Path::to_owned).collect()
        };
        let folders: BTreeSet<PathBuf> =
            self.bufs.mirrored().filter_map(|(_, real)| real.parent().map(Path::to_owned)).collect();
        let trees: BTreeSet<PathBuf> = self.follows.running.iter().flat_map(of).collect();
        let wish = WatchWish { folders: folders.into_iter().collect(), trees: trees.into_iter().collect() };
        if wish != self.follows.watched {
            self.follows.watched = wish.clone();
            out.push(Effect::Watch(wish));
        }
        out
    }

    /// The session in which a change of this file is spoken of: one whose turn runs, else any that may see it.
    fn session_of(&self, real: &Path) -> Option<SessionKey> {
        let sees = |key: &&SessionKey| self.roots.contains(key, real);
        self.follows.running.iter().find(sees).or_else(|| self.roots.sessions().find(sees)).cloned()
    }
}
