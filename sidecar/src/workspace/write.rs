//! Changes to files, from where they come to where they land: `fs/write_text_file` of agents, and what changed on disk
//! under an open buffer.
//!
//! Owns the stages of a change. It never forces a text: what lands was merged with the very text that is there, or a
//! person decided it, or nothing lands. Called by the room. `write/plan` finds out what shall be, `write/apply` has the
//! stages after the verdict.
//!
//! A change on disk goes the same way as a write, but that the text is on disk already and nobody waits for an answer.

use std::path::{Path, PathBuf};

use crate::effect::{DiskCmd, Effect, NvimCmd, Verdict};
use crate::event::{DiskError, DiskResult, DiskText, Form, PathKind, Resolved, Save, Stamp, SwapOwner};
use crate::model::{BufId, OpId, RpcError, SessionKey};
use crate::reply::Reply;
use crate::workspace::bufs::Open;
use crate::workspace::known::Belief;
use crate::workspace::review::VerdictOp;
use crate::workspace::text::Snapshot;
use crate::workspace::{Op, READ_CAP, Workspace, refusal, unexpected};

mod apply;
mod plan;

pub use plan::Plan;

/// Where a change comes from.
#[derive(Debug)]
pub enum Source {
    /// A request of an agent, with what it wants the file to be.
    Agent { content: String, reply: Reply },
    /// The disk, under this buffer.
    Disk { buf: BufId },
    /// A person's verdict on what agents changed.
    Verdict(VerdictOp),
}

/// A file that no buffer holds, as it was read.
#[derive(Clone, Debug, Default)]
struct Closed {
    /// `None` when there is no file.
    disk: Option<(Snapshot, Stamp)>,
    form: Form,
    swap: Option<SwapOwner>,
}

/// What a change waits for.
#[derive(Debug)]
enum Stage {
    /// Its turn, or a mirror that fills.
    Waiting,
    /// The disk's text; of a file that no buffer holds (`None`), or of this buffer's.
    Reading(Option<BufId>),
    /// Whether another Neovim has the file open.
    Swapping(Closed),
    /// A person, or the session room's verdict.
    Asking(Box<Plan>),
    /// Allowed; a mirror may still have to fill.
    Approved(Box<Plan>),
    /// The disk's text once more: the buffer that was asked about is closed, or the file changed.
    Rereading(Box<Plan>),
    /// The editor. `eol` was sent along; `announced` counts the buffer's announcements until then.
    Editing { plan: Box<Plan>, buf: BufId, eol: bool, announced: u64 },
    /// The end of a mode in which the buffer must not be edited.
    Busy { plan: Box<Plan>, buf: BufId },
    /// The disk.
    Writing(Box<Plan>),
}

/// A change on its way.
#[derive(Debug)]
pub struct WriteOp {
    /// Whose; of a change on disk, the session in which a person is asked about it.
    pub session: SessionKey,
    source: Source,
    /// As the agent named it.
    path: PathBuf,
    /// Where it leads, and what was there when that was found out.
    found: Resolved,
    stage: Stage,
    /// Edits and writes that came back stale.
    tries: u8,
    /// Cancelled while the editor was at it: not tried again.
    cancelled: bool,
    /// The disk was looked at for this change already.
    looked: bool,
}

impl WriteOp {
    /// A write whose path has been let in: `path` as the agent named it, `found` where that leads.
    pub fn new(session: SessionKey, path: PathBuf, found: Resolved, content: String, reply: Reply) -> Self {
        Self::with(session, path, found, Source::Agent { content, reply })
    }

    /// The file at `real`, which this buffer holds, changed on disk.
    pub fn follow(session: SessionKey, real: PathBuf, buf: BufId) -> Self {
        let found = Resolved { real: real.clone(), kind: PathKind::File, stamp: None };
        Self::with(session, real, found, Source::Disk { buf })
    }

    /// A verdict on what agents changed in a file.
    pub fn verdict(session: SessionKey, found: Resolved, verdict: VerdictOp) -> Self {
        Self::with(session, found.real.clone(), found, Source::Verdict(verdict))
    }

    fn with(session: SessionKey, path: PathBuf, found: Resolved, source: Source) -> Self {
        Self {
            session,
            source,
            path,
            found,
            stage: Stage::Waiting,
            tries: 0,
            cancelled: false,
            looked: false,
        }
    }

    /// The handle of the agent's request, if it is one.
    pub fn reply(&self) -> Option<&Reply> {
        match &self.source {
            Source::Agent { reply, .. } => Some(reply),
            Source::Disk { .. } | Source::Verdict(_) => None,
        }
    }

    /// The verdict of a review, if it is one.
    pub fn as_verdict(&self) -> Option<&VerdictOp> {
        match &self.source {
            Source::Verdict(verdict) => Some(verdict),
            _ => None,
        }
    }

    /// It is in the editor's or the disk's hands.
    pub fn is_landing(&self) -> bool {
        matches!(self.stage, Stage::Editing { .. } | Stage::Writing(_))
    }

    /// The buffer whose file changed on disk, if that is what it is about.
    pub fn follows(&self) -> Option<BufId> {
        match self.source {
            Source::Disk { buf } => Some(buf),
            Source::Agent { .. } | Source::Verdict(_) => None,
        }
    }

    /// Where it goes.
    pub fn real(&self) -> &Path {
        &self.found.real
    }

    /// It is to be tried again when something moves.
    pub fn waits(&self) -> bool {
        matches!(self.stage, Stage::Waiting | Stage::Approved(_))
    }

    /// What was found out so far counts no more.
    pub fn begin_again(&mut self) {
        self.stage = Stage::Waiting;
    }

    /// A question about it is open.
    pub fn is_asking(&self) -> bool {
        matches!(self.stage, Stage::Asking(_))
    }

    /// Ends it without a change. Of a change on disk nobody waits for the error.
    pub fn refuse(self, error: RpcError, out: &mut Vec<Effect>) {
        match self.source {
            Source::Agent { reply, .. } => out.push(Effect::Answer(reply, Err(error))),
            Source::Disk { .. } => {
                tracing::info!(path = ?self.path, %error.message, "a change on disk is left")
            }
            Source::Verdict(_) => {
                let text = format!("{} is as it was: {}", self.path.display(), error.message);
                out.push(Effect::Nvim(NvimCmd::Notify { level: "warn".to_owned(), text }));
            }
        }
    }

    fn refuse_disk(self, error: &DiskError, out: &mut Vec<Effect>) {
        let error = refusal::disk(&self.path, error);
        self.refuse(error, out);
    }

    fn done(self, out: &mut Vec<Effect>) {
        if let Source::Agent { reply, .. } = self.source {
            out.push(Effect::Answer(reply, Ok("{}".into())));
        }
    }

    /// Done, and there is something new on the disk.
    fn written(self, out: &mut Vec<Effect>) {
        let path = self.real().to_string_lossy();
        let data = serde_json::json!({ "session": self.session.to_string(), "path": path });
        out.push(Effect::Nvim(NvimCmd::UserEvent { name: "BosunFileWritten".to_owned(), data }));
        self.done(out);
    }
}

impl Workspace {
    pub(super) fn write_step(&mut self, id: OpId, mut op: Box<WriteOp>, out: &mut Vec<Effect>) -> bool {
        match std::mem::replace(&mut op.stage, Stage::Waiting) {
            Stage::Waiting => self.write_begin(id, op, out),
            Stage::Approved(plan) => self.write_apply(id, op, plan, out),
            stage => {
                self.write_at(id, op, stage);
                false
            }
        }
    }

    fn write_at(&mut self, id: OpId, mut op: Box<WriteOp>, stage: Stage) {
        op.stage = stage;
        self.ops.insert(id, Op::Write(op));
    }

    /// Finds the live text. The stage is `Waiting`. Returns whether the write went on.
    fn write_begin(&mut self, id: OpId, mut op: Box<WriteOp>, out: &mut Vec<Effect>) -> bool {
        if op.as_verdict().is_some() {
            return self.verdict_begin(id, op, out);
        }
        let Resolved { real, kind, stamp } = op.found.clone();
        // A change on disk comes first; it waits for no write, because writes wait for it.
        let waits = op.follows().is_none()
            && (self.behind_a_write(id, &op.session, &real) || self.following(|w| w.real() == real));
        let open = if waits { Open::Wait(None) } else { self.bufs.open(&real) };
        match open {
            Open::Wait(buf) => {
                if let Some(buf) = buf {
                    self.bufs.hurry(buf, out);
                }
                self.ops.insert(id, Op::Write(op));
                return false;
            }
            Open::Ready(buf) if op.follows().is_some_and(|b| b == buf) => self.look(id, op, buf, out),
            Open::Ready(buf) => {
                let Some(b) = self.bufs.ready(buf) else {
                    let error = refusal::unavailable(&op.path);
                    op.refuse(error, out);
                    return true;
                };
                let changed = stamp.is_some() && b.meta.stamp.is_some() && stamp != b.meta.stamp;
                if changed && !op.looked {
                    // The file changed and the editor has not noticed: that comes first.
                    op.looked = true;
                    self.ops.insert(id, Op::Write(op));
                    self.follow(buf, out);
                    return true;
                }
                // Without a version that the session has seen, the disk's text is what it knows.
                let read = matches!(self.known.get(&op.session, &real), Some(Belief::Text(k)) if k.read);
                if b.disk().is_none() && kind == PathKind::File && !read && !op.looked {
                    op.looked = true;
                    self.look(id, op, buf, out);
                } else {
                    self.write_plan(id, op, Some(buf), Closed::default(), out);
                }
            }
            // Closed since: nothing is left to follow.
            _ if op.follows().is_some() => op.done(out),
            Open::TooLarge(n) => {
                let error = refusal::buf_too_large(&op.path, n, self.bufs.max_bytes());
                op.refuse(error, out);
            }
            Open::Unavailable => {
                let error = refusal::unavailable(&op.path);
                op.refuse(error, out);
            }
            Open::No if kind == PathKind::Dir => {
                let error = refusal::directory(&op.path);
                op.refuse(error, out);
            }
            Open::No if kind == PathKind::Special => {
                let error = refusal::special(&op.path);
                op.refuse(error, out);
            }
            Open::No => {
                let encodings = self.encodings.clone();
                self.write_at(id, op, Stage::Reading(None));
                out.push(Effect::Disk(id, DiskCmd::Read { real, cap: READ_CAP, encodings }));
            }
        }
        true
    }

    /// Reads the file of this buffer, in the buffer's own encoding.
    fn look(&mut self, id: OpId, op: Box<WriteOp>, buf: BufId, out: &mut Vec<Effect>) {
        let (real, Some(b)) = (op.real().to_owned(), self.bufs.get(buf)) else {
            return op.refuse(refusal::closed(), out);
        };
        let encodings = b.encodings();
        self.write_at(id, op, Stage::Reading(Some(buf)));
        out.push(Effect::Disk(id, DiskCmd::Read { real, cap: READ_CAP, encodings }));
    }

    /// The disk's text of a buffer's file came in.
    fn looked(
        &mut self,
        id: OpId,
        op: Box<WriteOp>,
        buf: BufId,
        text: Result<DiskText, DiskError>,
        out: &mut Vec<Effect>,
    ) {
        if op.follows().is_some() {
            return self.disk_plan(id, op, buf, text, out);
        }
        if let Ok(text) = text {
            self.bufs.looked(buf, text.stamp, Snapshot::from_bytes(&text.text), false);
        }
        self.write_plan(id, op, Some(buf), Closed::default(), out);
    }

    pub(super) fn write_decided(&mut self, id: OpId, verdict: Verdict, out: &mut Vec<Effect>) {
        let Some(Op::Write(mut op)) = self.take_write(id, |s| matches!(s, Stage::Asking(_))) else { return };
        let Stage::Asking(mut plan) = std::mem::replace(&mut op.stage, Stage::Waiting) else { return };
        let keeps = !matches!(verdict, Verdict::Reject | Verdict::Refuse { .. });
        let gives_up = verdict != Verdict::Theirs;
        match verdict {
            Verdict::Reject | Verdict::Refuse { .. } if op.follows().is_some() => plan.keep_ours(),
            Verdict::Reject => return op.refuse(refusal::rejected(), out),
            Verdict::Refuse { why } => return op.refuse(refusal::rejected_because(&why), out),
            Verdict::Allow => {}
            Verdict::Theirs => plan.take_theirs(),
            Verdict::Text { lines, eol } => plan.take_text(&lines, eol),
            // Somebody changed the same lines meanwhile: a person decides once more.
            Verdict::Edited(edit) if !plan.take_edit(&edit) => return self.write_ask(id, op, *plan, out),
            Verdict::Edited(_) => {}
        }
        if op.follows().is_some() {
            plan.resave = keeps && self.save != Save::Never && plan.new != plan.theirs;
            plan.gives_up = gives_up;
        }
        self.write_at(id, op, Stage::Approved(plan));
    }

    /// What a verdict makes of its file is known: it goes on its way.
    pub(super) fn verdict_planned(
        &mut self,
        id: OpId,
        op: Box<WriteOp>,
        plan: Plan,
        open: bool,
        out: &mut Vec<Effect>,
    ) -> bool {
        let plan = Box::new(plan);
        match open {
            true => self.write_at(id, op, Stage::Approved(plan)),
            // Its bytes and its stamp are not known yet.
            false => self.reread(id, op, plan, out),
        }
        true
    }

    fn take_write(&mut self, id: OpId, at: impl Fn(&Stage) -> bool) -> Option<Op> {
        match self.ops.get(&id) {
            Some(Op::Write(op)) if at(&op.stage) => self.ops.remove(&id),
            _ => None,
        }
    }

    pub(super) fn write_disk(
        &mut self,
        id: OpId,
        mut op: Box<WriteOp>,
        result: DiskResult,
        out: &mut Vec<Effect>,
    ) {
        match (std::mem::replace(&mut op.stage, Stage::Waiting), result) {
            (Stage::Reading(Some(buf)), DiskResult::Text(text)) => self.looked(id, op, buf, text, out),
            (Stage::Reading(None), DiskResult::Text(Ok(text))) => {
                let real = op.real().to_owned();
                let disk = Some((Snapshot::from_bytes(&text.text), text.stamp));
                let dirs = self.swap_dirs.clone();
                self.write_at(id, op, Stage::Swapping(Closed { disk, form: text.form, swap: None }));
                out.push(Effect::Disk(id, DiskCmd::Swap { real, dirs }));
            }
            (Stage::Reading(None), DiskResult::Text(Err(DiskError::NotFound))) => {
                self.write_plan(id, op, None, Closed::default(), out);
            }
            (Stage::Reading(None), DiskResult::Text(Err(e))) => op.refuse_disk(&e, out),
            (Stage::Swapping(closed), DiskResult::Swap(swap)) => {
                self.write_plan(id, op, None, Closed { swap, ..closed }, out);
            }
            (Stage::Rereading(plan), DiskResult::Text(text)) => self.write_reread(id, op, plan, text, out),
            (Stage::Writing(plan), DiskResult::Written(Ok(stamp))) => {
                self.landed(&op, &plan, plan.new.clone(), (None, Some(stamp)), out);
                self.write_known(&op, &plan, plan.new.clone(), true);
                op.written(out);
            }
            (Stage::Writing(_), DiskResult::Written(Err(e))) => op.refuse_disk(&e, out),
            (Stage::Writing(plan), DiskResult::Stale) => self.reread(id, op, plan, out),
            (
                stage @ (Stage::Asking(_) | Stage::Approved(_) | Stage::Editing { .. } | Stage::Busy { .. }),
                _,
            ) => self.write_at(id, op, stage),
            _ => op.refuse_disk(&unexpected(), out),
        }
    }

    pub(super) fn cancel_write(&mut self, id: OpId, mut op: Box<WriteOp>, out: &mut Vec<Effect>) {
        match op.stage {
            // Already under way: what comes of it is the answer.
            Stage::Editing { .. } | Stage::Writing(_) => {
                op.cancelled = true;
                self.ops.insert(id, Op::Write(op));
            }
            Stage::Asking(_) => {
                out.push(Effect::AskWithdrawn { op: id });
                op.refuse(refusal::cancelled(), out);
            }
            Stage::Busy { buf, .. } => {
                out.push(Effect::Nvim(NvimCmd::EditOff { buf }));
                op.refuse(refusal::cancelled(), out);
            }
            _ => op.refuse(refusal::cancelled(), out),
        }
    }
}
