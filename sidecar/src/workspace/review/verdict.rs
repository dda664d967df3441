//! Verdicts on what agents changed: keeping, rejecting, and taking a verdict back.
//!
//! Owns how a rejection becomes a change of a file, and what is remembered to take a verdict back. A rejection is never
//! forced: it is computed for the very text that is there, and merged where that moves on. Part of `review`.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use ropey::Rope;

use super::rewind::{Step, rewound};
use super::weave::Origin;
use super::{File, State};
use crate::effect::{DiskCmd, Effect, NvimCmd};
use crate::event::{PathKind, Resolved, ReviewScope, ReviewVerdict, Stamp};
use crate::model::{EditedText, OpId, SessionKey, Text};
use crate::workspace::bufs::Open;
use crate::workspace::lines::{Span, flat, split};
use crate::workspace::rebase;
use crate::workspace::text::Snapshot;
use crate::workspace::write::{Plan, WriteOp};
use crate::workspace::{Op, Workspace};

/// Verdicts that can be taken back.
const UNDO: usize = 100;

/// A verdict that changes a file, on its way.
#[derive(Debug)]
pub struct VerdictOp {
    what: What,
}

#[derive(Debug)]
enum What {
    /// What is marked with this number is undone, as far as it is of these origins.
    Reject { number: u32, of: BTreeSet<Origin> },
    /// A rejection is taken back: the file was so before, and so after.
    Restore { before: State, after: Snapshot },
    /// What a person made of an agent's change before it landed, which it has done now.
    Amend(EditedText),
    /// The way back over these changes, newest first. `deletes`: there was no file before the first one.
    Rewind { steps: Vec<Step>, deletes: bool },
}

/// A verdict that can be taken back, file by file.
#[derive(Debug)]
pub struct Undo {
    number: u32,
    files: Vec<UndoFile>,
}

#[derive(Debug)]
struct UndoFile {
    path: PathBuf,
    before: State,
    after: Snapshot,
    /// How often an agent had changed the file by then.
    changes: u64,
}

fn told(level: &str, text: String) -> Effect {
    Effect::Nvim(NvimCmd::Notify { level: level.to_owned(), text })
}

impl Workspace {
    /// A person keeps or rejects.
    pub fn review_verdict(&mut self, verdict: &ReviewVerdict) -> Vec<Effect> {
        let mut out = Vec::new();
        self.review.verdicts += 1;
        let number = self.review.verdicts;
        let mut any = false;
        for (path, lines) in self.judged(&verdict.scope) {
            if !self.is_being_edited(&path) {
                self.review_fold(&path);
            }
            let of = self.origins(&verdict.scope);
            let Some(file) = self.review.files.get_mut(&path) else { continue };
            let before = file.now.clone();
            if !file.now.weave.mark(number, lines.as_ref(), &|origin| of.contains(&origin)) {
                continue;
            }
            any = true;
            if verdict.keep {
                file.now.weave.keep(number, &|origin| of.contains(&origin));
                file.now.settle();
                file.dirty = true;
                let after = file.now.text.clone();
                let changes = file.changes;
                self.review.remember(number, UndoFile { path, before, after, changes });
            } else {
                let what = What::Reject { number, of };
                self.verdict_start(&path, VerdictOp { what });
            }
        }
        if !any {
            out.push(told("info", "there is nothing to judge there".to_owned()));
        }
        self.settle(&mut out);
        out
    }

    /// The last verdict is taken back.
    pub fn review_undo(&mut self) -> Vec<Effect> {
        let mut out = Vec::new();
        let Some(undo) = self.review.undo.pop_back() else {
            return vec![told("info", "there is no verdict to take back".to_owned())];
        };
        for UndoFile { path, before, after, changes } in undo.files {
            if !self.is_being_edited(&path) {
                self.review_fold(&path);
            }
            let name = path.display().to_string();
            let file = match self.review.files.get_mut(&path) {
                Some(file) if file.changes != changes => {
                    out.push(told(
                        "warn",
                        format!("{name}: an agent has changed it since; nothing is taken back"),
                    ));
                    continue;
                }
                Some(file) => file,
                None => self.review.files.entry(path.clone()).or_insert_with(|| File::new(before.clone())),
            };
            if before.text == after {
                let now = file.now.text.clone();
                file.now = before;
                file.now.fold_if_new(&now);
                file.dirty = true;
            } else {
                self.verdict_start(&path, VerdictOp { what: What::Restore { before, after } });
            }
        }
        self.settle(&mut out);
        out
    }

    /// An agent's change of this file has landed, of which a person had made something else when they allowed it.
    pub fn amend(&mut self, path: &Path, edit: EditedText) -> Vec<Effect> {
        let mut out = Vec::new();
        self.verdict_start(path, VerdictOp { what: What::Amend(edit) });
        self.settle(&mut out);
        out
    }

    /// Takes changes of a file back, newest first.
    pub fn rewind(&mut self, session: &SessionKey, path: &Path, steps: Vec<Step>, deletes: bool) {
        let found = Resolved { real: path.to_owned(), kind: PathKind::File, stamp: None };
        let verdict = VerdictOp { what: What::Rewind { steps, deletes } };
        let id = self.mint();
        self.ops.insert(id, Op::Write(Box::new(WriteOp::verdict(session.clone(), found, verdict))));
    }

    /// Files and hunks of a session that wait to be judged.
    pub fn review_left(&self, session: &SessionKey) -> (usize, usize) {
        let of = |origin: Origin| {
            self.review.sources.get(origin as usize).is_some_and(|source| source.session == *session)
        };
        let hunks = |file: &File| {
            file.now.weave.hunks().iter().filter(|hunk| hunk.origins.iter().any(|o| of(*o))).count()
        };
        let left = self.review.files.values().map(hunks).filter(|count| *count > 0);
        left.fold((0, 0), |(files, all), count| (files + 1, all + count))
    }

    fn verdict_start(&mut self, path: &Path, verdict: VerdictOp) {
        let session = self.review_session(path);
        let found = Resolved { real: path.to_owned(), kind: PathKind::File, stamp: None };
        let id = self.mint();
        self.ops.insert(id, Op::Write(Box::new(WriteOp::verdict(session, found, verdict))));
    }

    /// The session that changed the file last.
    fn review_session(&self, path: &Path) -> SessionKey {
        let hunks = self.review.files.get(path).map(|file| file.now.weave.hunks()).unwrap_or_default();
        let source = hunks.last().and_then(|hunk| self.review.sources.get(hunk.origin as usize));
        source.or(self.review.sources.last()).map_or_else(|| SessionKey::new(""), |s| s.session.clone())
    }

    /// The files of a verdict, and the lines where it is not about all of a file.
    fn judged(&self, scope: &ReviewScope) -> Vec<(PathBuf, Option<Span>)> {
        match scope {
            ReviewScope::Lines { path, first, last } => vec![(path.clone(), Some(*first..*last))],
            ReviewScope::Hunk { path, id } => {
                let file = self.review.files.get(path);
                let hunk = file.and_then(|file| file.shown.hunks.iter().find(|hunk| hunk.id == *id));
                hunk.map(|hunk| (path.clone(), Some(hunk.first..hunk.last))).into_iter().collect()
            }
            ReviewScope::File { path } => vec![(path.clone(), None)],
            _ => self.review.files.keys().map(|path| (path.clone(), None)).collect(),
        }
    }

    /// The changes of a verdict.
    fn origins(&self, scope: &ReviewScope) -> BTreeSet<Origin> {
        let last = |session: &SessionKey| {
            let sources = self.review.sources.iter().filter(|source| source.session == *session);
            sources.map(|source| source.turn).max()
        };
        let all = self.review.sources.iter().enumerate();
        let of = all.filter(|(_, source)| match scope {
            ReviewScope::Turn { session, turn } => {
                source.session == *session && Some(source.turn) == turn.or_else(|| last(session))
            }
            ReviewScope::Session { session } => source.session == *session,
            _ => true,
        });
        of.filter_map(|(place, _)| Origin::try_from(place).ok()).collect()
    }

    /// Finds out what a verdict makes of the text that is there. Returns whether it went on.
    pub(in crate::workspace) fn verdict_begin(
        &mut self,
        id: OpId,
        op: Box<WriteOp>,
        out: &mut Vec<Effect>,
    ) -> bool {
        let real = op.real().to_owned();
        let earlier = self.ops.range(..id).any(|(_, other)| {
            matches!(other, Op::Write(w) if w.real() == real && (w.as_verdict().is_some() || w.is_landing()))
        });
        let waits = earlier || self.is_being_edited(&real) || self.following(|w| w.real() == real);
        let open = if waits { Open::Wait(None) } else { self.bufs.open(&real) };
        if let Open::Wait(buf) = open {
            if let Some(buf) = buf {
                self.bufs.hurry(buf, out);
            }
            self.ops.insert(id, Op::Write(op));
            return false;
        }
        self.review_fold(&real);
        // What was judged may be forgotten, and a way back leads to it all the same.
        let text = self.live(&real).map_or_else(|| Snapshot::from_wire(""), |(_, b)| b.snapshot());
        let file =
            self.review.files.entry(real.clone()).or_insert_with(|| File::new(State::new(text, false)));
        let (live, gone) = (file.now.text.clone(), file.deleted);
        let new = self.verdict_text(&op, &live).unwrap_or_else(|| live.clone());
        let mut plan = Plan::of_verdict((!gone).then_some(live), new);
        plan.gone = gone && matches!(open, Open::Ready(_));
        self.verdict_planned(id, op, plan, matches!(open, Open::Ready(_)), out)
    }

    /// What a verdict makes of the file whose text is `live`; `None` of what is none.
    pub(in crate::workspace) fn verdict_text(&mut self, op: &WriteOp, live: &Snapshot) -> Option<Snapshot> {
        let verdict = op.as_verdict()?;
        let file = self.review.files.get_mut(op.real())?;
        file.fold(live);
        Some(match &verdict.what {
            What::Reject { number, of } => rejected(&mut file.now.clone(), *number, of),
            What::Restore { before, after } => rebase::plain(after, live, before.text.clone()).text,
            What::Amend(edit) => {
                let text = |text: &Text| Snapshot::from_lines(&text.lines, text.eol);
                rebase::plain(&text(&edit.from), live, text(&edit.to)).text
            }
            What::Rewind { steps, .. } => rewound(steps, live).0,
        })
    }

    /// A verdict has landed: the file was `before` then; `None`: there was none.
    pub(in crate::workspace) fn verdict_landed(
        &mut self,
        op: &WriteOp,
        before: Option<&Snapshot>,
        after: &Snapshot,
        stamp: Option<Stamp>,
        out: &mut Vec<Effect>,
    ) {
        let real = op.real().to_owned();
        let (existed, nothing) = (before.is_some(), Snapshot::from_wire(""));
        let before = before.unwrap_or(&nothing);
        let (Some(verdict), Some(file)) = (op.as_verdict(), self.review.files.get_mut(&real)) else { return };
        file.fold(before);
        file.remember();
        let was = file.now.clone();
        (file.deleted, file.dirty) = (false, true);
        let mut deletes = false;
        let mut undo = None;
        match &verdict.what {
            What::Reject { number, of } => {
                let text = rejected(&mut file.now, *number, of);
                deletes =
                    file.now.created && file.now.weave.is_agents() && text.is_empty() && after.is_empty();
                file.now.text = text;
                file.fold(after);
                file.now.settle();
                let changes = file.changes;
                undo = Some((
                    *number,
                    UndoFile { path: real.clone(), before: was, after: after.clone(), changes },
                ));
            }
            What::Restore { before: state, .. } => {
                file.now = state.clone();
                file.now.fold_if_new(after);
            }
            What::Amend(_) => file.fold(after),
            What::Rewind { steps, deletes: created } => {
                file.fold(after);
                deletes = *created && after.is_empty();
                let kept = (existed.then(|| before.clone()), (!deletes).then(|| after.clone()));
                self.checkpoints.keep(&op.session, &real, kept, out);
                if rewound(steps, before).1 {
                    let text = format!("{}: your lines stay where you changed the same ones", real.display());
                    out.push(told("info", text));
                }
            }
        }
        file.remember();
        if let Some((number, file)) = undo {
            self.review.remember(number, file);
        }
        // All of it was the agent's, and nothing is left.
        if let Some(expect) = stamp.filter(|_| deletes) {
            if let Some(file) = self.review.files.get_mut(&real) {
                file.deleted = true;
            }
            let id = self.mint();
            out.push(Effect::Disk(id, DiskCmd::Delete { real, expect }));
        }
    }
}

impl super::Review {
    fn remember(&mut self, number: u32, file: UndoFile) {
        match self.undo.back_mut().filter(|undo| undo.number == number) {
            Some(undo) => undo.files.push(file),
            None => self.undo.push_back(Undo { number, files: vec![file] }),
        }
        if self.undo.len() > UNDO {
            self.undo.pop_front();
        }
    }
}

impl State {
    fn fold_if_new(&mut self, now: &Snapshot) {
        if *now != self.text {
            self.fold(now);
        }
    }
}

/// What a rejection leaves of the text; the lines are judged in `state`, whose text stays.
fn rejected(state: &mut State, number: u32, of: &BTreeSet<Origin>) -> Snapshot {
    let live = flat(&state.text.rope);
    let text = state.weave.reject(number, &|origin| of.contains(&origin), &split(&live));
    let eol = if state.weave.is_settled() { state.eol } else { state.text.eol };
    Snapshot { rope: Rope::from_str(&text), eol }
}
