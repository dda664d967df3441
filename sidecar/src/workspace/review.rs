//! Review: what agents changed in files and nobody has judged yet, whichever way it came there.
//!
//! Owns, for each such file, whose each line is, and the verdicts that can be taken back. What a person writes is never
//! up for judgement: it folds into the base. It never edits by itself: a rejection is a change like any other (`verdict`).
//! Part of the room; called with what landed, and at each turn of the loop.

use std::collections::{BTreeMap, VecDeque};
use std::path::{Path, PathBuf};

use ropey::Rope;

use crate::effect::{Author, Change, Effect, NvimCmd, ReviewFile, ReviewHunk, ReviewTexts};
use crate::model::{BufId, Millis, SessionKey};
use crate::workspace::Workspace;
use crate::workspace::bufs::{Buf, Open};
use crate::workspace::lines::{Span, changes, flat, split};
use crate::workspace::text::{Snapshot, line_bytes};

mod rewind;
mod verdict;
mod weave;
mod words;

pub use rewind::Step;
use verdict::Undo;
pub use verdict::VerdictOp;
use weave::{Hunk, Origin, Weave};

/// What a person types is looked at this often, in a file that is under review.
const PAUSE: Millis = 100;
/// Files that are remembered with nothing left to judge, so that undoing brings their hunks back.
const SETTLED: usize = 200;
/// Earlier states of a file that undoing may come back to, and the lines they may have together.
const STATES: usize = 64;
const STATE_LINES: usize = 1 << 20;

/// A turn's changes.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Source {
    session: SessionKey,
    turn: u32,
    unknown: bool,
}

/// See the module.
#[derive(Debug, Default)]
pub struct Review {
    files: BTreeMap<PathBuf, File>,
    /// By number of origin.
    sources: Vec<Source>,
    /// Turns that each session has begun.
    turns: BTreeMap<SessionKey, u32>,
    /// Verdicts that can be taken back, the last one at the end.
    undo: VecDeque<Undo>,
    /// The last number given to a verdict, and to a hunk.
    verdicts: u32,
    hunks: u64,
    /// What was counted and told last.
    counts: Vec<(SessionKey, usize, usize)>,
}

/// A text and whose its lines are.
#[derive(Clone, Debug)]
struct State {
    text: Snapshot,
    weave: Weave,
    /// An agent made the file, and nobody has agreed to that yet.
    created: bool,
    /// The last line of the base ends in a newline.
    eol: bool,
}

/// A file under review.
#[derive(Debug)]
struct File {
    now: State,
    /// From before and after each change and verdict.
    states: VecDeque<State>,
    /// The buffer that it was last compared with, and its tick then.
    at: Option<(BufId, u64)>,
    /// It is not compared again before this.
    due: Millis,
    /// What the editor was told.
    shown: ReviewFile,
    /// How often an agent changed it.
    changes: u64,
    /// We deleted it.
    deleted: bool,
    /// The editor may have been told something else.
    dirty: bool,
}

impl State {
    fn new(text: Snapshot, created: bool) -> Self {
        let (weave, eol) = (Weave::new(text.lines()), text.eol);
        Self { text, weave, created, eol }
    }

    /// The text became `now`, by a person.
    fn fold(&mut self, now: &Snapshot) {
        let (old, new) = (flat(&self.text.rope), flat(&now.rope));
        let (old, new) = (split(&old), split(&new));
        self.weave.person(&changes(&old, &new), &new);
        if now.eol != self.text.eol {
            self.eol = now.eol;
        }
        // Whichever way it came there, what is as it was needs no judgement.
        if self.weave.base(&new).len() == now.rope.len_bytes() && self.base_is(&new) {
            self.weave = Weave::new(new.len());
        }
        self.text = now.clone();
    }

    fn base_is(&self, lines: &[&str]) -> bool {
        split(&self.weave.base(lines)) == lines
    }

    /// The text became `now`, by an agent's change.
    fn agent(&mut self, origin: Origin, now: &Snapshot) {
        let (old, new) = (flat(&self.text.rope), flat(&now.rope));
        let (old, new) = (split(&old), split(&new));
        self.weave.agent(origin, &changes(&old, &new), &old);
        self.text = now.clone();
    }

    fn base(&self) -> Snapshot {
        let live = flat(&self.text.rope);
        let rope = Rope::from_str(&self.weave.base(&split(&live)));
        Snapshot { rope, eol: if self.weave.is_settled() { self.text.eol } else { self.eol } }
    }

    /// Nothing is left to be judged: what is there is the base.
    fn settle(&mut self) {
        if self.weave.is_settled() {
            (self.created, self.eol) = (false, self.text.eol);
        }
    }
}

impl File {
    fn new(state: State) -> Self {
        Self {
            now: state,
            states: VecDeque::new(),
            at: None,
            due: 0,
            shown: ReviewFile::default(),
            changes: 0,
            deleted: false,
            dirty: true,
        }
    }

    /// The text is `now`, and no agent made it so.
    fn fold(&mut self, now: &Snapshot) {
        if *now == self.now.text {
            return;
        }
        match self.states.iter().rev().find(|state| state.text == *now) {
            Some(state) => self.now = state.clone(),
            None => self.now.fold(now),
        }
    }

    /// It is not known that the editor was told all of it.
    fn is_stale(&self, live: Option<(BufId, u64)>) -> bool {
        self.dirty || live != self.at
    }

    /// Undoing may come back to what is now.
    fn remember(&mut self) {
        self.states.push_back(self.now.clone());
        let lines = |states: &VecDeque<State>| states.iter().map(|s| s.weave.size()).sum::<usize>();
        while self.states.len() > STATES || self.states.len() > 2 && lines(&self.states) > STATE_LINES {
            self.states.pop_front();
        }
    }
}

impl Review {
    /// A turn of this session begins.
    pub fn turn(&mut self, session: &SessionKey) {
        *self.turns.entry(session.clone()).or_default() += 1;
    }

    fn origin(&mut self, session: &SessionKey, unknown: bool) -> Origin {
        let turn = self.turns.get(session).copied().unwrap_or(0);
        let source = Source { session: session.clone(), turn, unknown };
        let known = self.sources.iter().rposition(|known| *known == source);
        let place = known.unwrap_or_else(|| {
            self.sources.push(source);
            self.sources.len() - 1
        });
        Origin::try_from(place).unwrap_or(Origin::MAX)
    }

    /// A change is in its file.
    pub fn landed(&mut self, change: &Change) {
        let empty = Snapshot::from_wire("");
        let (before, after) =
            (change.before.as_ref().unwrap_or(&empty), change.after.as_ref().unwrap_or(&empty));
        if change.author == Author::Person {
            if let Some(file) = self.files.get_mut(&change.path) {
                file.fold(after);
                file.dirty = true;
            }
            return;
        }
        let origin = self.origin(&change.session, change.author == Author::Unknown);
        let created = change.before.is_none();
        let new = || File::new(State::new(before.clone(), created));
        let file = self.files.entry(change.path.clone()).or_insert_with(new);
        file.fold(before);
        file.remember();
        file.now.agent(origin, after);
        file.now.created |= created;
        file.remember();
        (file.changes, file.deleted, file.dirty) = (file.changes + 1, change.after.is_none(), true);
    }

    /// The session is over: what it changed stays.
    pub fn close(&mut self, session: &SessionKey) {
        let number = u32::MAX - 1;
        for file in self.files.values_mut() {
            let of =
                |origin: Origin| self.sources.get(origin as usize).is_some_and(|s| s.session == *session);
            if file.now.weave.mark(number, None, &of) {
                file.now.weave.keep(number, &of);
                file.now.settle();
                file.states.clear();
                file.dirty = true;
            }
        }
    }

    /// Files that were judged are forgotten at last.
    fn bound(&mut self) {
        let settled = |file: &File| file.now.weave.is_settled() && file.shown.hunks.is_empty();
        let mut over = self.files.values().filter(|file| settled(file)).count().saturating_sub(SETTLED);
        self.files.retain(|_, file| {
            let goes = over > 0 && settled(file);
            over -= usize::from(goes);
            !goes
        });
    }
}

impl Workspace {
    /// The live text of a file: that of its buffer, with the tick, where one holds it.
    fn live(&self, real: &Path) -> Option<(BufId, &Buf)> {
        match self.bufs.open(real) {
            Open::Ready(buf) => self.bufs.ready(buf).map(|b| (buf, b)),
            _ => None,
        }
    }

    /// An edit of ours is on its way into this file: its text says nothing of who wrote it.
    fn is_being_edited(&self, real: &Path) -> bool {
        self.ops.values().any(|op| matches!(op, super::Op::Write(w) if w.is_landing() && w.real() == real))
    }

    /// Which text the file has is not known at the moment; an event tells.
    fn is_unsettled(&self, real: &Path) -> bool {
        self.is_being_edited(real) || matches!(self.bufs.open(real), Open::Wait(_))
    }

    /// What a person made of the file until now is theirs.
    fn review_fold(&mut self, real: &Path) {
        let live = self.live(real).map(|(buf, b)| (buf, b.tick(), b.snapshot()));
        if let (Some((buf, tick, text)), Some(file)) = (live, self.review.files.get_mut(real)) {
            file.fold(&text);
            file.at = Some((buf, tick));
        }
    }

    /// What the editor is to be told of reviews, as far as that is due.
    pub fn review_due(&mut self, now: Millis) -> Vec<Effect> {
        let mut out = Vec::new();
        if self.review.files.is_empty() {
            return out;
        }
        let paths: Vec<PathBuf> = self.review.files.keys().cloned().collect();
        for path in paths {
            if self.is_unsettled(&path) {
                continue;
            }
            let live = self.live(&path).map(|(buf, b)| (buf, b.tick()));
            let Some(file) = self.review.files.get(&path) else { continue };
            if !file.is_stale(live) || file.due > now {
                continue;
            }
            self.review_fold(&path);
            let Some(file) = self.review.files.get_mut(&path) else { continue };
            (file.due, file.dirty, file.at) = (now + PAUSE, false, live);
            let hunks = shown(&file.now, &self.review.sources, &file.shown.hunks, &mut self.review.hunks);
            let shows = ReviewFile { path, buf: live, created: file.now.created, hunks };
            let same = shows.hunks == file.shown.hunks
                && shows.buf.map(|(buf, _)| buf) == file.shown.buf.map(|(buf, _)| buf)
                && shows.created == file.shown.created;
            if !same {
                file.shown = shows.clone();
                out.push(Effect::Nvim(NvimCmd::Review(shows)));
            }
        }
        if !out.is_empty() {
            self.review.bound();
            self.review_counts(&mut out);
        }
        out
    }

    /// When [`Self::review_due`] has something even if nothing happens.
    pub fn review_deadline(&self) -> Option<Millis> {
        let waits = |(path, file): (&PathBuf, &File)| {
            let live = self.live(path).map(|(buf, b)| (buf, b.tick()));
            (file.is_stale(live) && !self.is_unsettled(path)).then_some(file.due)
        };
        self.review.files.iter().filter_map(waits).min()
    }

    fn review_counts(&mut self, out: &mut Vec<Effect>) {
        let mut by: BTreeMap<SessionKey, (usize, usize)> = BTreeMap::new();
        let (mut files, mut hunks) = (0, 0);
        for file in self.review.files.values().filter(|file| !file.shown.hunks.is_empty()) {
            (files, hunks) = (files + 1, hunks + file.shown.hunks.len());
            let mut seen: Vec<&str> = Vec::new();
            for hunk in &file.shown.hunks {
                let count = by.entry(SessionKey::new(&hunk.session)).or_default();
                count.1 += 1;
                if !seen.contains(&&*hunk.session) {
                    seen.push(&hunk.session);
                    count.0 += 1;
                }
            }
        }
        let sessions: Vec<_> = by.into_iter().map(|(key, (files, hunks))| (key, files, hunks)).collect();
        if sessions != self.review.counts {
            self.review.counts.clone_from(&sessions);
            out.push(Effect::Nvim(NvimCmd::ReviewCounts { files, hunks, sessions }));
            let data = serde_json::json!({ "files": files, "hunks": hunks });
            out.push(Effect::Nvim(NvimCmd::UserEvent { name: "BosunReview".to_owned(), data }));
        }
    }

    /// A person wants to see what a file was before.
    pub fn review_texts(&mut self, path: &Path) -> Vec<Effect> {
        self.review_fold(path);
        let buf = self.bufs.holder(path);
        let Some(file) = self.review.files.get(path) else { return Vec::new() };
        let live = if buf.is_none() { file.now.text.bytes() } else { Vec::new() };
        vec![Effect::Nvim(NvimCmd::ReviewTexts(ReviewTexts {
            path: path.to_owned(),
            buf,
            base: file.now.base().bytes(),
            live,
            created: file.now.created,
        }))]
    }

    /// A commit holds this file with this text: the hunks in it are kept.
    pub fn review_committed(&mut self, path: &Path, text: &[u8]) -> Vec<Effect> {
        if self.is_being_edited(path) {
            return Vec::new();
        }
        self.review_fold(path);
        let Some(file) = self.review.files.get_mut(path) else { return Vec::new() };
        let (commit, live) = (flat(&Snapshot::from_bytes(text).rope), flat(&file.now.text.rope));
        let differs: Vec<Span> =
            changes(&split(&live), &split(&commit)).into_iter().map(|(span, _)| span).collect();
        if file.now.weave.keep_contained(&differs) {
            file.now.settle();
            file.dirty = true;
        }
        Vec::new()
    }
}

/// The hunks of a file as the editor gets them. Those that are as they were keep their numbers.
fn shown(state: &State, sources: &[Source], before: &[ReviewHunk], last: &mut u64) -> Vec<ReviewHunk> {
    let live = flat(&state.text.rope);
    let live = split(&live);
    let mut old = before.iter().collect::<VecDeque<_>>();
    let mut out = Vec::new();
    for Hunk { live: lines, removed, origin, .. } in state.weave.hunks() {
        let Some(source) = sources.get(origin as usize) else { continue };
        let (live_words, removed_words) = words::differing(&removed, &live[lines.clone()], lines.start);
        let mut hunk = ReviewHunk {
            id: 0,
            session: source.session.to_string(),
            turn: source.turn,
            unknown: source.unknown,
            first: lines.start,
            last: lines.end,
            removed: removed.iter().map(|line| line_bytes(line.trim_end_matches('\n'))).collect(),
            live_words,
            removed_words,
        };
        let like = |old: &&ReviewHunk| {
            old.removed == hunk.removed
                && old.last - old.first == hunk.last - hunk.first
                && (&old.session, old.turn) == (&hunk.session, hunk.turn)
        };
        hunk.id = match old.iter().position(like) {
            Some(at) => old.drain(..=at).next_back().map_or(0, |old| old.id),
            None => {
                *last += 1;
                *last
            }
        };
        out.push(hunk);
    }
    out
}

#[cfg(test)]
mod tests;
