//! A write that has been allowed: one edit of a buffer, or one file written.
//!
//! Owns no state of its own. It never decides whether a write may land. Called by `write` and the room.

use super::{Bytes, Plan, Stage, WriteOp, unwritable};
use crate::effect::{DiskCmd, EditCall, Effect, NvimCmd};
use crate::event::{EditOutcome, PathKind};
use crate::model::{BufId, OpId};
use crate::workspace::bufs::{Buf, Open};
use crate::workspace::seen::Version;
use crate::workspace::text::Snapshot;
use crate::workspace::{Op, READ_CAP, Workspace, edit, refusal};

/// How often a write is computed anew because the tick moved while the text did not.
const TRIES: u8 = 16;

impl Workspace {
    /// Sends the edit, or writes the file. Returns whether the write went on.
    pub(super) fn write_apply(
        &mut self,
        id: OpId,
        mut op: Box<WriteOp>,
        plan: Plan,
        out: &mut Vec<Effect>,
    ) -> bool {
        let real = op.real().to_owned();
        match self.bufs.open(&real) {
            Open::Wait(buf) => {
                if let Some(buf) = buf {
                    self.bufs.hurry(buf, out);
                }
                op.stage = Stage::Approved(plan);
                self.ops.insert(id, Op::Write(op));
                return false;
            }
            Open::Ready(buf) => self.write_edit(id, op, plan, buf, out),
            Open::TooLarge(_) | Open::Unavailable => {
                let error = refusal::unavailable(&op.path);
                op.refuse(error, out);
            }
            Open::No => {
                let cmd = match plan.bytes {
                    Some(Bytes { crlf, bom }) => {
                        let text = plan.new.bytes();
                        let expect = plan.live.as_ref().map(|_| crate::event::Stamp::default());
                        op.stage = Stage::Writing(plan);
                        let form = crate::event::Form { encoding: String::new(), bom, crlf };
                        DiskCmd::Write { real, text, form, expect }
                    }
                    None => {
                        op.stage = Stage::Rereading(plan);
                        DiskCmd::Read { real, cap: READ_CAP, encodings: Vec::new() }
                    }
                };
                self.ops.insert(id, Op::Write(op));
                out.push(Effect::Disk(id, cmd));
            }
        }
        true
    }

    fn write_edit(&mut self, id: OpId, mut op: Box<WriteOp>, plan: Plan, buf: BufId, out: &mut Vec<Effect>) {
        let Some(b) = self.bufs.ready(buf) else {
            let error = refusal::unavailable(&op.path);
            return op.refuse(error, out);
        };
        if let Some(error) = unwritable(b, &op.path) {
            return op.refuse(error, out);
        }
        let live = b.snapshot();
        if !plan.holds(Some(&live)) {
            let error = refusal::changed_meanwhile(&op.path);
            return op.refuse(error, out);
        }
        // Without a line there is no last newline to speak of: the buffer keeps what it has.
        let eol = if plan.new.is_empty() { live.eol } else { plan.new.eol };
        out.push(Effect::Nvim(NvimCmd::Edit(EditCall {
            op: id,
            buf,
            tick: b.tick(),
            edits: edit::edits(&live, &plan.new),
            eol,
            empty: plan.new.is_empty(),
            save: true,
            disk: None,
            clean: false,
            recreate: false,
        })));
        op.stage = Stage::Editing { plan, buf, eol, announced: b.announced };
        self.ops.insert(id, Op::Write(op));
    }

    pub(in crate::workspace) fn write_edited(
        &mut self,
        id: OpId,
        outcome: EditOutcome,
        out: &mut Vec<Effect>,
    ) {
        let Some(Op::Write(mut op)) = self.take_write(id, |s| matches!(s, Stage::Editing { .. })) else {
            return;
        };
        let Stage::Editing { plan, buf, eol, announced } = std::mem::replace(&mut op.stage, Stage::Waiting)
        else {
            return;
        };
        match outcome {
            EditOutcome::Disk => {
                let error = refusal::failed(&op.path, "the file changed on disk");
                op.refuse(error, out);
            }
            EditOutcome::Done { tick, saved, modified, .. } => {
                self.write_landed(&op, &plan, (buf, tick, modified), (eol, announced));
                if saved {
                    op.written(out);
                } else {
                    let error = refusal::not_saved(&op.path, "it was not saved");
                    op.refuse(error, out);
                }
            }
            EditOutcome::NotSaved { tick, message } => {
                self.write_landed(&op, &plan, (buf, tick, true), (eol, announced));
                let error = refusal::not_saved(&op.path, &message);
                op.refuse(error, out);
            }
            EditOutcome::Stale { tick } => {
                self.bufs.saw_tick(buf, tick);
                op.tries += 1;
                if op.tries > TRIES {
                    let error = refusal::changed_meanwhile(&op.path);
                    return op.refuse(error, out);
                }
                self.write_again(id, op, Stage::Approved(plan), out);
            }
            EditOutcome::Busy { .. } => self.write_again(id, op, Stage::Busy { plan, buf }, out),
            // Closed before the edit reached it: the disk's text counts now.
            EditOutcome::Failed { .. } if self.bufs.get(buf).is_none() => {
                self.write_again(id, op, Stage::Approved(plan), out);
            }
            EditOutcome::Failed { message } => {
                let error = refusal::failed(&op.path, &message);
                op.refuse(error, out);
            }
        }
    }

    fn write_again(&mut self, id: OpId, mut op: Box<WriteOp>, stage: Stage, out: &mut Vec<Effect>) {
        if op.cancelled {
            return op.refuse(refusal::cancelled(), out);
        }
        op.stage = stage;
        self.ops.insert(id, Op::Write(op));
    }

    /// The edit is in the buffer. All events up to it have been seen, so the mirror also holds what a formatter made of
    /// it at the save: that is what the session's next write starts from.
    fn write_landed(
        &mut self,
        op: &WriteOp,
        plan: &Plan,
        (buf, tick, modified): (BufId, u64, bool),
        (eol, announced): (bool, u64),
    ) {
        let newer_facts = self.bufs.get(buf).is_none_or(|b| b.announced != announced);
        self.bufs.edited(buf, tick, modified, (!newer_facts).then_some(eol));
        let text = self.bufs.ready(buf).map_or_else(|| plan.new.clone(), Buf::snapshot);
        self.write_known(op, text, !modified);
    }

    pub(super) fn write_known(&mut self, op: &WriteOp, text: Snapshot, on_disk: bool) {
        let real = op.real();
        self.seen.record(&op.session, real, Version::Text(text));
        for other in self.ops.values_mut() {
            let found = match other {
                Op::Write(w) => Some(&mut w.found),
                Op::Admit(a) => a.found(),
                _ => None,
            };
            if let Some(found) = found.filter(|f| f.real == real && on_disk) {
                found.kind = PathKind::File;
            }
        }
    }

    /// Edits that waited for a mode to end may be tried again.
    pub(in crate::workspace) fn buf_safe(&mut self, buf: BufId) {
        for op in self.ops.values_mut() {
            if let Op::Write(w) = op
                && matches!(w.stage, Stage::Busy { buf: b, .. } if b == buf)
                && let Stage::Busy { plan, .. } = std::mem::replace(&mut w.stage, Stage::Waiting)
            {
                w.stage = Stage::Approved(plan);
            }
        }
    }
}
