//! A change that may land: one edit of a buffer, or one file written.
//!
//! Owns no state of its own. It never decides whether a change may land; where the text moved on since that was decided,
//! the change is merged with the newer text, and asked about again where both touched the same lines. Called by `write`
//! and the room.

use super::{Closed, Plan, Stage, WriteOp};
use crate::effect::{Author, Change, DiskCmd, EditCall, Effect, NvimCmd};
use crate::event::{DiskError, DiskText, EditOutcome, PathKind, Save, Stamp};
use crate::model::{BufId, OpId, RpcError};
use crate::workspace::bufs::{Buf, Open};
use crate::workspace::text::Snapshot;
use crate::workspace::{Op, READ_CAP, Workspace, edit, refusal};

/// How often a change is computed anew because the text or the file moved on.
const TRIES: u8 = 32;

impl Workspace {
    /// Sends the edit, or writes the file. Returns whether the write went on.
    pub(super) fn write_apply(
        &mut self,
        id: OpId,
        mut op: Box<WriteOp>,
        plan: Box<Plan>,
        out: &mut Vec<Effect>,
    ) -> bool {
        let real = op.real().to_owned();
        let behind = op.follows().is_none() && self.following(|w| w.real() == real);
        match if behind { Open::Wait(None) } else { self.bufs.open(&real) } {
            Open::Wait(buf) => {
                if let Some(buf) = buf {
                    self.bufs.hurry(buf, out);
                }
                self.write_at(id, op, Stage::Approved(plan));
                return false;
            }
            Open::Ready(buf) => self.write_edit(id, op, plan, buf, out),
            _ if op.follows().is_some() => op.done(out),
            Open::TooLarge(_) | Open::Unavailable => {
                let error = refusal::unavailable(&op.path);
                op.refuse(error, out);
            }
            Open::No => match plan.closed.clone() {
                Some((form, expect)) => {
                    let text = plan.new.bytes();
                    op.stage = Stage::Writing(plan);
                    self.ops.insert(id, Op::Write(op));
                    out.push(Effect::Disk(id, DiskCmd::Write { real, text, form, expect }));
                }
                None => self.reread(id, op, plan, out),
            },
        }
        true
    }

    /// The file is not what it was, or no buffer holds it any more: its text once more.
    pub(super) fn reread(&mut self, id: OpId, mut op: Box<WriteOp>, plan: Box<Plan>, out: &mut Vec<Effect>) {
        op.tries += 1;
        if op.tries > TRIES {
            let error = refusal::changed_meanwhile(&op.path);
            return op.refuse(error, out);
        }
        let real = op.real().to_owned();
        if op.cancelled {
            return op.refuse(refusal::cancelled(), out);
        }
        let encodings = self.encodings.clone();
        self.write_at(id, op, Stage::Rereading(plan));
        out.push(Effect::Disk(id, DiskCmd::Read { real, cap: READ_CAP, encodings }));
    }

    pub(super) fn write_reread(
        &mut self,
        id: OpId,
        op: Box<WriteOp>,
        mut plan: Box<Plan>,
        text: Result<DiskText, DiskError>,
        out: &mut Vec<Effect>,
    ) {
        match text {
            Ok(text) => {
                plan.closed = Some((text.form, Some(text.stamp)));
                plan.gone = false;
                let live = Snapshot::from_bytes(&text.text);
                if let Some(new) = self.verdict_text(&op, &live) {
                    plan.decide_anew(live, new);
                    return self.write_at(id, op, Stage::Approved(plan));
                }
                // It came into being meanwhile, where the person agreed to a new file.
                if !plan.move_to(live) {
                    return self.write_ask(id, op, *plan, out);
                }
            }
            Err(DiskError::NotFound) if op.as_verdict().is_some() => {
                let nothing = Snapshot::from_wire("");
                let new = self.verdict_text(&op, &nothing).unwrap_or_else(|| nothing.clone());
                if new.is_empty() {
                    return op.refuse_disk(&DiskError::NotFound, out);
                }
                (plan.live, plan.new) = (None, new);
                plan.closed = Some((Closed::default().form, None));
            }
            Err(DiskError::NotFound) => {
                // A person agreed to change a file that is there.
                let gone = plan.live.take().is_some();
                plan.closed = Some((Closed::default().form, None));
                if gone {
                    plan.gone = true;
                    plan.new = plan.theirs.clone();
                    return self.write_ask(id, op, *plan, out);
                }
            }
            Err(e) => return op.refuse_disk(&e, out),
        }
        self.write_at(id, op, Stage::Approved(plan));
    }

    fn write_edit(
        &mut self,
        id: OpId,
        op: Box<WriteOp>,
        mut plan: Box<Plan>,
        buf: BufId,
        out: &mut Vec<Effect>,
    ) {
        let Some(b) = self.bufs.ready(buf) else {
            let error = refusal::unavailable(&op.path);
            return op.refuse(error, out);
        };
        let live = b.snapshot();
        let (tick, announced, modified) = (b.tick(), b.announced, b.meta.modified);
        let moved = match &plan.live {
            Some(asked) => *asked != live,
            // A buffer for a file that does not exist yet.
            None => !live.is_empty(),
        };
        match self.verdict_text(&op, &live).filter(|_| moved) {
            Some(new) => plan.decide_anew(live.clone(), new),
            None if moved && !plan.move_to(live.clone()) => return self.write_ask(id, op, *plan, out),
            None => {}
        }
        // Without a line there is no last newline to speak of: the buffer keeps what it has, or is as one that was read
        // from an empty file.
        let eol = if plan.new.is_empty() { live.eol || op.follows().is_some() } else { plan.new.eol };
        let save = match (op.follows(), self.save) {
            (Some(_), _) => plan.resave,
            (None, Save::Always) => true,
            (None, Save::IfClean) => !modified,
            (None, Save::Never) => false,
        };
        let disk = plan.disk.clone();
        // Once it holds what the file holds it is not modified; nothing is to be done then but to say so.
        let clean = op.follows().is_some() && !save && plan.new == plan.theirs;
        self.known.settle(op.real(), &live);
        // Nobody else keeps the disk's text once it is saved over.
        let from = if plan.gives_up { &plan.theirs } else { &live };
        out.push(Effect::Nvim(NvimCmd::Edit(EditCall {
            op: id,
            buf,
            tick,
            through: edit::edits(&live, from),
            edits: edit::edits(from, &plan.new),
            eol,
            empty: plan.new.is_empty(),
            save,
            disk: disk.as_ref().map(|(stamp, _)| *stamp),
            clean: disk.filter(|_| clean).map(|(_, form)| form),
            recreate: plan.gone,
        })));
        self.write_at(id, op, Stage::Editing { plan, buf, eol, announced });
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
            EditOutcome::Done { tick, saved, modified, stamp } => {
                self.write_landed(&op, &plan, (buf, tick, modified, stamp), (eol, announced), out);
                if op.follows().is_some() {
                    self.followed(op.real(), &plan, out);
                }
                if saved { op.written(out) } else { op.done(out) }
            }
            EditOutcome::NotSaved { tick, message } => {
                self.write_landed(&op, &plan, (buf, tick, true, None), (eol, announced), out);
                let error = refusal::not_saved(&op.path, &message);
                self.write_failed(op, error, out);
            }
            EditOutcome::Stale { tick } => {
                self.bufs.saw_tick(buf, tick);
                op.tries += 1;
                if op.tries > TRIES {
                    let error = refusal::changed_meanwhile(&op.path);
                    return self.write_failed(op, error, out);
                }
                self.write_again(id, op, Stage::Approved(plan), out);
            }
            EditOutcome::Busy { .. } => self.write_again(id, op, Stage::Busy { plan, buf }, out),
            EditOutcome::Disk { gone } => self.disk_moved(id, op, plan, (buf, gone), out),
            // Closed before the edit reached it: the disk's text counts now.
            EditOutcome::Failed { .. } if self.bufs.get(buf).is_none() => {
                self.write_again(id, op, Stage::Approved(plan), out);
            }
            EditOutcome::Failed { message } => {
                let error = refusal::failed(&op.path, &message);
                self.write_failed(op, error, out);
            }
        }
    }

    /// It did not land as it was meant. Of a change on disk nobody but the transcript hears.
    fn write_failed(&self, op: Box<WriteOp>, error: RpcError, out: &mut Vec<Effect>) {
        if op.follows().is_some() {
            self.told(op.real(), &format!("changed on disk: {}", error.message), out);
        }
        op.refuse(error, out);
    }

    /// The file changed on disk before the edit could be saved: that comes first, then this once more.
    fn disk_moved(
        &mut self,
        id: OpId,
        mut op: Box<WriteOp>,
        mut plan: Box<Plan>,
        (buf, gone): (BufId, bool),
        out: &mut Vec<Effect>,
    ) {
        op.tries += 1;
        if op.tries > TRIES {
            let error = refusal::changed_meanwhile(&op.path);
            return op.refuse(error, out);
        }
        if op.follows().is_some() {
            return self.write_again(id, op, Stage::Waiting, out);
        }
        if gone && !op.cancelled {
            // A person agreed to change a file that is there.
            plan.gone = true;
            return self.write_ask(id, op, *plan, out);
        }
        self.write_again(id, op, Stage::Approved(plan), out);
        if self.ops.contains_key(&id) {
            self.follow(buf, out);
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
    /// it at the save.
    fn write_landed(
        &mut self,
        op: &WriteOp,
        plan: &Plan,
        (buf, tick, modified, stamp): (BufId, u64, bool, Option<Stamp>),
        (eol, announced): (bool, u64),
        out: &mut Vec<Effect>,
    ) {
        let newer_facts = self.bufs.get(buf).is_none_or(|b| b.announced != announced);
        self.bufs.edited(buf, tick, modified, (!newer_facts).then_some(eol), stamp);
        if let (Some((stamp, _)), true) = (&plan.disk, modified) {
            self.bufs.looked(buf, *stamp, plan.theirs.clone(), true);
        }
        let text = self.bufs.ready(buf).map_or_else(|| plan.new.clone(), Buf::snapshot);
        self.landed(op, plan, text.clone(), (Some(buf), stamp), out);
        self.write_known(op, plan, text, !modified);
    }

    /// Tells of a change that is in its file now.
    pub(super) fn landed(
        &mut self,
        op: &WriteOp,
        plan: &Plan,
        after: Snapshot,
        (buf, stamp): (Option<BufId>, Option<Stamp>),
        out: &mut Vec<Effect>,
    ) {
        if op.as_verdict().is_some() {
            return self.verdict_landed(op, plan.live.as_ref(), &after, stamp, out);
        }
        if plan.live.as_ref() == Some(&after) {
            return;
        }
        let (session, path) = (op.session.clone(), op.real().to_owned());
        let author = if op.follows().is_some() { self.author(&session, &path) } else { Author::Agent };
        let (before, after) = (plan.live.clone(), Some(after));
        let on_disk = op.follows().is_some();
        let change = Change { session, path, buf, before, after, author, on_disk };
        self.review.landed(&change);
        self.checkpoints.landed(&change, out);
        out.push(Effect::Landed(Box::new(change)));
    }

    pub(super) fn write_known(&mut self, op: &WriteOp, plan: &Plan, text: Snapshot, on_disk: bool) {
        let real = op.real();
        if op.reply().is_some() {
            self.known.wrote(&op.session, real, plan.theirs.clone(), &plan.new, text);
        }
        for other in self.ops.values_mut().filter(|_| on_disk) {
            let found = match other {
                Op::Write(w) => Some(&mut w.found),
                Op::Admit(a) => a.found(),
                Op::Read(r) => r.found(),
                _ => None,
            };
            if let Some(found) = found.filter(|f| f.real == real) {
                // What it saw of the disk is older than this.
                (found.kind, found.stamp) = (PathKind::File, None);
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
