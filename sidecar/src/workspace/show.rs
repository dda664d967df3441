//! Putting a diff of a question beside the text it would change.
//!
//! Owns the stages of that. It never answers an agent and reads nothing outside the session's roots. Called by the room.

use std::path::{Path, PathBuf};

use crate::effect::{DiffTexts, DiskCmd, Effect, NvimCmd};
use crate::event::{DiskError, DiskResult, PathKind};
use crate::model::{BufId, Diff, OpId, QuestionId, SessionKey};
use crate::workspace::bufs::Open;
use crate::workspace::{Op, READ_CAP, Workspace, locate};

#[derive(Debug, PartialEq, Eq)]
enum Stage {
    /// Where the path leads.
    Resolving,
    /// A mirror that fills.
    Waiting { real: PathBuf, kind: PathKind },
    /// The disk's text.
    Reading,
}

/// A diff on its way to the screen.
#[derive(Debug)]
pub struct ShowOp {
    pub session: SessionKey,
    question: QuestionId,
    index: usize,
    count: usize,
    diff: Diff,
    stage: Stage,
}

impl ShowOp {
    /// A diff that has just been asked for.
    pub fn new(session: SessionKey, question: QuestionId, index: usize, count: usize, diff: Diff) -> Self {
        Self { session, question, index, count, diff, stage: Stage::Resolving }
    }

    /// It is to be tried again when something moves.
    pub fn waits(&self) -> bool {
        matches!(self.stage, Stage::Waiting { .. })
    }

    fn effect(self, buf: Option<BufId>, live: &str, proposal: locate::Proposal) -> Effect {
        let (buf, old) = match (proposal.alone, buf) {
            (true, _) => (None, self.diff.old.unwrap_or_default()),
            (false, Some(buf)) => (Some(buf), String::new()),
            (false, None) => (None, live.to_owned()),
        };
        Effect::Nvim(NvimCmd::Diff(DiffTexts {
            question: self.question,
            index: self.index,
            count: self.count,
            path: self.diff.path.chars().flat_map(escaped).collect(),
            buf,
            old,
            new: proposal.text,
            note: proposal.note,
            editable: !proposal.alone,
            merge: None,
        }))
    }

    fn located(self, buf: Option<BufId>, live: &str) -> Effect {
        let proposal = locate::propose(live, &self.diff);
        self.effect(buf, live, proposal)
    }

    fn alone(self, why: &str) -> Effect {
        let proposal = locate::alone(&self.diff, why);
        self.effect(None, "", proposal)
    }
}

/// Control characters of a name are shown, not obeyed.
fn escaped(c: char) -> Vec<char> {
    if c.is_control() { c.escape_default().collect() } else { vec![c] }
}

impl Workspace {
    pub(super) fn show_start(&mut self, id: OpId, op: Box<ShowOp>, out: &mut Vec<Effect>) {
        let told = Path::new(&op.diff.path);
        let path = match self.roots.of(&op.session).first() {
            _ if told.is_absolute() => told.to_owned(),
            Some(root) => root.join(told),
            None => {
                out.push(op.alone("its path is relative and the session has no folder"));
                return;
            }
        };
        self.ops.insert(id, Op::Show(op));
        out.push(Effect::Disk(id, DiskCmd::Resolve { path, twins: Vec::new() }));
    }

    pub(super) fn show_disk(
        &mut self,
        id: OpId,
        mut op: Box<ShowOp>,
        result: DiskResult,
        out: &mut Vec<Effect>,
    ) {
        let effect = match (&op.stage, result) {
            (Stage::Resolving, DiskResult::Resolved(Ok(found))) => {
                if self.roots.contains(&op.session, &found.real) {
                    op.stage = Stage::Waiting { real: found.real, kind: found.kind };
                    self.ops.insert(id, Op::Show(op));
                    return;
                }
                op.alone("the file is outside the session's folder")
            }
            (Stage::Reading, DiskResult::Text(Ok(text))) => {
                op.located(None, &String::from_utf8_lossy(&text.text))
            }
            (Stage::Reading, DiskResult::Text(Err(DiskError::NotFound))) => op.located(None, ""),
            (_, DiskResult::Text(Err(DiskError::Binary))) => op.alone("the file is binary"),
            (_, DiskResult::Text(Err(DiskError::Undecodable))) => op.alone("the file is not UTF-8"),
            (_, DiskResult::Text(Err(DiskError::TooLarge { .. }))) => op.alone("the file is too large"),
            _ => op.alone("the file cannot be read"),
        };
        out.push(effect);
    }

    /// Goes on, if nothing stands in the way any more. Returns whether it did.
    pub(super) fn show_step(&mut self, id: OpId, mut op: Box<ShowOp>, out: &mut Vec<Effect>) -> bool {
        let Stage::Waiting { real, kind } = &op.stage else {
            self.ops.insert(id, Op::Show(op));
            return false;
        };
        let effect = match (self.bufs.open(real), kind) {
            (Open::Wait(buf), _) => {
                if let Some(buf) = buf {
                    self.bufs.hurry(buf, out);
                }
                self.ops.insert(id, Op::Show(op));
                return false;
            }
            (Open::Ready(buf), _) => match self.buf_text(buf) {
                Some(live) => op.located(Some(buf), &live),
                None => op.alone("its buffer cannot be read"),
            },
            (Open::TooLarge(_), _) => op.alone("its buffer is too large"),
            (Open::Unavailable, _) => op.alone("its buffer cannot be read"),
            (Open::No, PathKind::Dir | PathKind::Special) => op.alone("its path is no regular file"),
            (Open::No, _) => {
                out.push(Effect::Disk(
                    id,
                    DiskCmd::Read { real: real.clone(), cap: READ_CAP, encodings: Vec::new() },
                ));
                op.stage = Stage::Reading;
                self.ops.insert(id, Op::Show(op));
                return true;
            }
        };
        out.push(effect);
        true
    }
}
