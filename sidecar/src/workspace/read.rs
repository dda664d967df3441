//! `fs/read_text_file`: from the mirror where the file is open, else from disk.
//!
//! Owns the stages of a read. It never calls the editor. Called by the room.

use std::path::{Path, PathBuf};

use crate::effect::{DiskCmd, Effect};
use crate::event::{DiskError, DiskResult, PathKind, Resolved};
use crate::model::{OpId, SessionKey};
use crate::reply::Reply;
use crate::workspace::bufs::{Buf, Open};
use crate::workspace::lines::Span;
use crate::workspace::text::Snapshot;
use crate::workspace::{Op, READ_CAP, Workspace, content, refusal, unexpected};

/// What a read waits for.
#[derive(Debug, PartialEq, Eq)]
enum Stage {
    /// An earlier write, or a mirror that fills.
    Waiting(Resolved),
    /// The disk's text.
    Reading { real: PathBuf },
}

/// A read on its way.
#[derive(Debug)]
pub struct ReadOp {
    pub session: SessionKey,
    pub reply: Reply,
    path: PathBuf,
    /// One-based; 0 counts as 1.
    line: Option<u64>,
    /// Number of lines.
    limit: Option<u64>,
    stage: Stage,
}

impl ReadOp {
    /// A read whose path has been let in: `path` as the agent named it, `found` where that leads.
    pub fn new(
        session: SessionKey,
        path: PathBuf,
        found: Resolved,
        line: Option<u64>,
        limit: Option<u64>,
        reply: Reply,
    ) -> Self {
        Self { session, reply, path, line, limit, stage: Stage::Waiting(found) }
    }

    /// It is to be tried again when something moves.
    pub fn waits(&self) -> bool {
        matches!(self.stage, Stage::Waiting(_))
    }

    /// Where its path leads, and what was there when that was found out; until the disk is asked.
    pub fn found(&mut self) -> Option<&mut Resolved> {
        match &mut self.stage {
            Stage::Waiting(found) => Some(found),
            Stage::Reading { .. } => None,
        }
    }

    /// It asks for the whole file.
    fn is_whole(&self) -> bool {
        self.line.unwrap_or(1) <= 1 && self.limit.is_none()
    }

    /// Zero-based lines that are asked for, end exclusive, as far as there are any.
    fn span(&self, text: &Snapshot) -> Span {
        let index = |n: u64| usize::try_from(n).unwrap_or(usize::MAX);
        let first = index(self.line.unwrap_or(1).saturating_sub(1));
        let last = self.limit.map_or(usize::MAX, |n| first.saturating_add(index(n)));
        first.min(text.lines())..last.min(text.lines())
    }
}

impl Workspace {
    fn serve(&mut self, op: ReadOp, real: &Path, text: Snapshot, out: &mut Vec<Effect>) {
        let span = op.span(&text);
        let answer = content(&text.wire_lines(span.start, span.end).text);
        self.known.served(&op.session, real, text, span);
        out.push(Effect::Answer(op.reply, answer));
    }

    pub(super) fn read_disk(&mut self, id: OpId, op: Box<ReadOp>, result: DiskResult, out: &mut Vec<Effect>) {
        let error = match (&op.stage, result) {
            (Stage::Waiting(_), _) => {
                self.ops.insert(id, Op::Read(op));
                return;
            }
            (Stage::Reading { real }, DiskResult::Text(Ok(text))) => {
                let real = real.clone();
                return self.serve(*op, &real, Snapshot::from_bytes(&text.text), out);
            }
            (Stage::Reading { real }, DiskResult::Text(Err(e))) => {
                let open = match self.bufs.open(real) {
                    Open::Ready(buf) => self.bufs.ready(buf).map(Buf::snapshot),
                    _ => None,
                };
                if let Some(text) = open {
                    // The file changed into something that cannot be read; the editor still shows this.
                    let real = real.clone();
                    return self.serve(*op, &real, text, out);
                }
                if e == DiskError::NotFound {
                    self.known.missing(&op.session, real);
                }
                refusal::disk(&op.path, &e)
            }
            _ => refusal::disk(&op.path, &unexpected()),
        };
        out.push(Effect::Answer(op.reply, Err(error)));
    }

    /// Goes on, if nothing stands in the way any more. Returns whether it did.
    pub(super) fn read_step(&mut self, id: OpId, mut op: Box<ReadOp>, out: &mut Vec<Effect>) -> bool {
        let Stage::Waiting(Resolved { real, kind, stamp }) = &op.stage else {
            self.ops.insert(id, Op::Read(op));
            return false;
        };
        if self.behind_a_write(id, &op.session, real) {
            self.ops.insert(id, Op::Read(op));
            return false;
        }
        let error = match self.bufs.open(real) {
            Open::Wait(buf) => {
                if let Some(buf) = buf {
                    self.bufs.hurry(buf, out);
                }
                self.ops.insert(id, Op::Read(op));
                return false;
            }
            Open::Ready(buf) => {
                let (real, stamp) = (real.clone(), *stamp);
                let Some(b) = self.bufs.ready(buf) else {
                    out.push(Effect::Answer(op.reply, Err(refusal::unavailable(&op.path))));
                    return true;
                };
                let (text, modified, encodings) = (b.snapshot(), b.unsaved(), b.encodings());
                if stamp.is_some() && b.meta.stamp.is_some() && stamp != b.meta.stamp {
                    // The file changed and the editor has not noticed. What it will show is served at once.
                    self.follow(buf, out);
                    if !modified {
                        out.push(Effect::Disk(
                            id,
                            DiskCmd::Read { real: real.clone(), cap: READ_CAP, encodings },
                        ));
                        op.stage = Stage::Reading { real };
                        self.ops.insert(id, Op::Read(op));
                        return true;
                    }
                }
                if op.is_whole() {
                    self.given.record(&op.session, &real, text.clone());
                }
                self.serve(*op, &real, text, out);
                return true;
            }
            Open::TooLarge(bytes) => refusal::buf_too_large(&op.path, bytes, self.bufs.max_bytes()),
            Open::Unavailable => refusal::unavailable(&op.path),
            Open::No => match kind {
                PathKind::Dir => refusal::directory(&op.path),
                PathKind::Special => refusal::special(&op.path),
                // What was missing when the path was resolved may have been written by a write ahead of this read.
                PathKind::File | PathKind::Missing => {
                    let real = real.clone();
                    out.push(Effect::Disk(
                        id,
                        DiskCmd::Read {
                            real: real.clone(),
                            cap: READ_CAP,
                            encodings: self.encodings.clone(),
                        },
                    ));
                    op.stage = Stage::Reading { real };
                    self.ops.insert(id, Op::Read(op));
                    return true;
                }
            },
        };
        out.push(Effect::Answer(op.reply, Err(error)));
        true
    }
}
