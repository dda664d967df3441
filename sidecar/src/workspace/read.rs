//! `fs/read_text_file`: from the mirror where the file is open, else from disk.
//!
//! Owns the stages of a read. It never calls the editor. Called by the room.

use std::path::PathBuf;

use crate::effect::{DiskCmd, Effect};
use crate::event::{DiskError, DiskResult, PathKind, Resolved};
use crate::model::{OpId, SessionKey};
use crate::reply::Reply;
use crate::workspace::bufs::Open;
use crate::workspace::seen::Version;
use crate::workspace::text::Snapshot;
use crate::workspace::{Op, READ_CAP, Workspace, content, refusal, unexpected};

/// What a read waits for.
#[derive(Debug, PartialEq, Eq)]
enum Stage {
    /// An earlier write, or a mirror that fills.
    Waiting { real: PathBuf, kind: PathKind },
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
        let stage = Stage::Waiting { real: found.real, kind: found.kind };
        Self { session, reply, path, line, limit, stage }
    }

    /// It is to be tried again when something moves.
    pub fn waits(&self) -> bool {
        matches!(self.stage, Stage::Waiting { .. })
    }

    fn lines(&self, text: &Snapshot) -> String {
        let index = |n: u64| usize::try_from(n).unwrap_or(usize::MAX);
        let first = index(self.line.unwrap_or(1).saturating_sub(1));
        let last = self.limit.map_or(usize::MAX, |n| first.saturating_add(index(n)));
        text.wire_lines(first, last).text
    }
}

impl Workspace {
    pub(super) fn read_disk(&mut self, id: OpId, op: Box<ReadOp>, result: DiskResult, out: &mut Vec<Effect>) {
        let error = match (&op.stage, result) {
            (Stage::Waiting { .. }, _) => {
                self.ops.insert(id, Op::Read(op));
                return;
            }
            (Stage::Reading { real }, DiskResult::Text(Ok(text))) => {
                let text = Snapshot::from_bytes(&text.text);
                let answer = content(&op.lines(&text));
                self.seen.record(&op.session, real, Version::Text(text));
                out.push(Effect::Answer(op.reply, answer));
                return;
            }
            (Stage::Reading { real }, DiskResult::Text(Err(e))) => {
                if e == DiskError::NotFound {
                    self.seen.record(&op.session, real, Version::Missing);
                }
                refusal::disk(&op.path, &e)
            }
            _ => refusal::disk(&op.path, &unexpected()),
        };
        out.push(Effect::Answer(op.reply, Err(error)));
    }

    /// Goes on, if nothing stands in the way any more. Returns whether it did.
    pub(super) fn read_step(&mut self, id: OpId, mut op: Box<ReadOp>, out: &mut Vec<Effect>) -> bool {
        let Stage::Waiting { real, kind } = &op.stage else {
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
                if let Some(buf) = self.bufs.ready(buf) {
                    let text = buf.snapshot();
                    let answer = content(&op.lines(&text));
                    self.seen.record(&op.session, real, Version::Text(text));
                    out.push(Effect::Answer(op.reply, answer));
                    return true;
                }
                refusal::unavailable(&op.path)
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
                        DiskCmd::Read { real: real.clone(), cap: READ_CAP, encodings: Vec::new() },
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
