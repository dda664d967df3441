//! `fs/write_text_file`: checked against what the session has seen, asked about, then one edit or one file written.
//!
//! Owns the stages of a write. It never forces a text: what lands is what was asked about, on the very text that was
//! asked about, or nothing. Called by the room. `apply` has the stages after the verdict.

use std::path::{Path, PathBuf};

use crate::effect::{DiskCmd, Effect, NvimCmd, Verdict, WriteAsk};
use crate::event::{DiskError, DiskResult, PathKind, Resolved};
use crate::model::{BufId, OpId, RpcError, SessionKey};
use crate::reply::Reply;
use crate::workspace::bufs::{Buf, Open};
use crate::workspace::seen::Version;
use crate::workspace::text::Snapshot;
use crate::workspace::{Op, READ_CAP, Workspace, refusal, unexpected};

mod apply;

/// How the bytes on disk differ from the text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Bytes {
    crlf: bool,
    bom: bool,
}

/// What was asked about.
#[derive(Debug)]
struct Plan {
    /// The text that is replaced; `None` when there is no file.
    live: Option<Snapshot>,
    /// The text that shall be.
    new: Snapshot,
    /// Known when the file was read from disk.
    bytes: Option<Bytes>,
}

impl Plan {
    /// Whether this is still the text that was asked about.
    fn holds(&self, live: Option<&Snapshot>) -> bool {
        match (&self.live, live) {
            (Some(asked), Some(live)) => asked == live,
            // A buffer for a file that does not exist yet.
            (None, Some(live)) => live.is_empty(),
            (asked, None) => asked.is_none(),
        }
    }
}

/// What a write waits for.
#[derive(Debug)]
enum Stage {
    /// Its turn, or a mirror that fills.
    Waiting,
    /// The disk's text.
    Reading,
    /// A person, or the session room's verdict.
    Asking(Plan),
    /// Allowed; a mirror may still have to fill.
    Approved(Plan),
    /// The disk's text once more: the buffer that was asked about is closed.
    Rereading(Plan),
    /// The editor. `eol` was sent along; `announced` counts the buffer's announcements until then.
    Editing { plan: Plan, buf: BufId, eol: bool, announced: u64 },
    /// The end of a mode in which the buffer must not be edited.
    Busy { plan: Plan, buf: BufId },
    /// The disk.
    Writing(Plan),
}

/// A write on its way.
#[derive(Debug)]
pub struct WriteOp {
    pub session: SessionKey,
    pub reply: Reply,
    path: PathBuf,
    content: String,
    /// Where it leads.
    found: Resolved,
    stage: Stage,
    /// Edits that came back stale.
    tries: u8,
    /// Cancelled while the editor was at it: not tried again.
    cancelled: bool,
}

impl WriteOp {
    /// A write whose path has been let in: `path` as the agent named it, `found` where that leads.
    pub fn new(session: SessionKey, path: PathBuf, found: Resolved, content: String, reply: Reply) -> Self {
        Self { session, reply, path, content, found, stage: Stage::Waiting, tries: 0, cancelled: false }
    }

    /// Where it goes.
    pub fn real(&self) -> &Path {
        &self.found.real
    }

    /// It is to be tried again when something moves.
    pub fn waits(&self) -> bool {
        matches!(self.stage, Stage::Waiting | Stage::Approved(_))
    }

    /// A question about it is open.
    pub fn is_asking(&self) -> bool {
        matches!(self.stage, Stage::Asking(_))
    }

    fn refuse(self, error: RpcError, out: &mut Vec<Effect>) {
        out.push(Effect::Answer(self.reply, Err(error)));
    }

    fn refuse_disk(self, error: &DiskError, out: &mut Vec<Effect>) {
        let error = refusal::disk(&self.path, error);
        self.refuse(error, out);
    }

    fn done(self, out: &mut Vec<Effect>) {
        out.push(Effect::Answer(self.reply, Ok("{}".into())));
    }

    /// Done, and there is something new on the disk.
    fn written(self, out: &mut Vec<Effect>) {
        let path = self.real().to_string_lossy();
        let data = serde_json::json!({ "session": self.session.to_string(), "path": path });
        out.push(Effect::Nvim(NvimCmd::UserEvent { name: "BosunFileWritten".to_owned(), data }));
        self.done(out);
    }

    /// The content as text of a file with such bytes.
    fn text(&self, bytes: Bytes) -> Snapshot {
        let mut text = self.content.as_str();
        if bytes.bom {
            text = text.strip_prefix('\u{FEFF}').unwrap_or(text);
        }
        if bytes.crlf && text.contains("\r\n") {
            return Snapshot::from_wire(&text.replace("\r\n", "\n"));
        }
        Snapshot::from_wire(text)
    }
}

/// Why this buffer takes no text of ours, if so.
fn unwritable(buf: &Buf, path: &Path) -> Option<RpcError> {
    if !buf.is_utf8() {
        return Some(refusal::encoding(path, &buf.meta.fileencoding));
    }
    buf.snapshot().wire().lossy.then(|| refusal::odd_bytes(path))
}

impl Workspace {
    /// Whether the session knows the text that it is about to replace.
    fn check_base(
        &self,
        op: &WriteOp,
        real: &Path,
        live: Option<&Snapshot>,
        unsaved: bool,
    ) -> Result<(), RpcError> {
        match (self.seen.latest(&op.session, real), live) {
            (Some(Version::Text(seen)), Some(live)) if seen == live => Ok(()),
            (Some(Version::Text(_)), None) => Err(refusal::gone(&op.path)),
            (Some(Version::Missing), None) => Ok(()),
            (Some(Version::Missing), Some(live)) if live.is_empty() && !unsaved => Ok(()),
            (Some(_), Some(_)) => Err(refusal::changed(&op.path)),
            (None, _) if unsaved => Err(refusal::unread(&op.path)),
            (None, _) => Ok(()),
        }
    }

    pub(super) fn write_step(&mut self, id: OpId, mut op: Box<WriteOp>, out: &mut Vec<Effect>) -> bool {
        match std::mem::replace(&mut op.stage, Stage::Waiting) {
            Stage::Waiting => self.write_begin(id, op, out),
            Stage::Approved(plan) => self.write_apply(id, op, plan, out),
            stage => {
                op.stage = stage;
                self.ops.insert(id, Op::Write(op));
                false
            }
        }
    }

    /// Finds the live text. The stage is `Waiting`. Returns whether the write went on.
    fn write_begin(&mut self, id: OpId, mut op: Box<WriteOp>, out: &mut Vec<Effect>) -> bool {
        let Resolved { real, kind, .. } = op.found.clone();
        let open = if self.behind_a_write(id, &op.session, &real) {
            Open::Wait(None)
        } else {
            self.bufs.open(&real)
        };
        match open {
            Open::Wait(buf) => {
                if let Some(buf) = buf {
                    self.bufs.hurry(buf, out);
                }
                self.ops.insert(id, Op::Write(op));
                return false;
            }
            Open::Ready(buf) => self.write_ask(id, op, Some(buf), None, None, out),
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
                op.stage = Stage::Reading;
                self.ops.insert(id, Op::Write(op));
                out.push(Effect::Disk(id, DiskCmd::Read { real, cap: READ_CAP, encodings: Vec::new() }));
            }
        }
        true
    }

    /// Checks the base and asks; `buf` holds the live text, else `live` and `bytes` are the disk's.
    fn write_ask(
        &mut self,
        id: OpId,
        mut op: Box<WriteOp>,
        buf: Option<BufId>,
        live: Option<Snapshot>,
        bytes: Option<Bytes>,
        out: &mut Vec<Effect>,
    ) {
        let Resolved { real, kind, .. } = op.found.clone();
        let (live, form, unsaved) = match buf.and_then(|b| self.bufs.ready(b)) {
            Some(b) => {
                if let Some(error) = unwritable(b, &op.path) {
                    return op.refuse(error, out);
                }
                let form = Bytes { crlf: b.meta.fileformat == "dos", bom: b.meta.bomb };
                (Some(b.snapshot()), form, b.meta.modified)
            }
            None => (live, bytes.unwrap_or_default(), false),
        };
        let new = op.text(form);
        if live.as_ref() == Some(&new) {
            // A buffer whose file is not there yet still has to be saved.
            if !unsaved && (buf.is_none() || kind == PathKind::File) {
                self.seen.record(&op.session, &real, Version::Text(new));
                return op.done(out);
            }
        } else if let Err(error) = self.check_base(&op, &real, live.as_ref(), unsaved) {
            return op.refuse(error, out);
        }
        let runs =
            self.roots.must_ask(&op.session, &real).or_else(|| self.roots.must_ask(&op.session, &op.path));
        out.push(Effect::AskWrite(WriteAsk {
            op: id,
            session: op.session.clone(),
            path: real,
            told: op.path.clone(),
            live: live.as_ref().map(|l| l.wire().text),
            content: new.wire().text,
            buf,
            saves_unsaved: unsaved,
            merge: None,
            must_ask: runs.is_some(),
            notes: runs.into_iter().collect(),
        }));
        op.stage = Stage::Asking(Plan { live, new, bytes });
        self.ops.insert(id, Op::Write(op));
    }

    pub(super) fn write_decided(&mut self, id: OpId, verdict: Verdict, out: &mut Vec<Effect>) {
        let Some(Op::Write(mut op)) = self.take_write(id, |s| matches!(s, Stage::Asking(_))) else { return };
        if verdict == Verdict::Reject {
            return op.refuse(refusal::rejected(), out);
        }
        if let Stage::Asking(plan) = std::mem::replace(&mut op.stage, Stage::Waiting) {
            op.stage = Stage::Approved(plan);
        }
        self.ops.insert(id, Op::Write(op));
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
        let error = match (std::mem::replace(&mut op.stage, Stage::Waiting), result) {
            (Stage::Reading, DiskResult::Text(Ok(text))) => {
                let bytes = Bytes { crlf: text.form.crlf, bom: text.form.bom };
                return self.write_ask(id, op, None, Some(Snapshot::from_bytes(&text.text)), Some(bytes), out);
            }
            (Stage::Reading, DiskResult::Text(Err(DiskError::NotFound))) => {
                return self.write_ask(id, op, None, None, Some(Bytes::default()), out);
            }
            (Stage::Reading, DiskResult::Text(Err(e))) => return op.refuse_disk(&e, out),
            (Stage::Rereading(mut plan), DiskResult::Text(text)) => {
                let (live, bytes) = match text {
                    Ok(t) => (Some(Snapshot::from_bytes(&t.text)), Bytes { crlf: t.form.crlf, bom: t.form.bom }),
                    Err(DiskError::NotFound) => (None, Bytes::default()),
                    Err(e) => return op.refuse_disk(&e, out),
                };
                if plan.live.is_some() == live.is_some() && plan.holds(live.as_ref()) {
                    plan.bytes = Some(bytes);
                    op.stage = Stage::Approved(plan);
                    self.ops.insert(id, Op::Write(op));
                    return;
                }
                refusal::changed_meanwhile(&op.path)
            }
            (Stage::Writing(plan), DiskResult::Written(Ok(_))) => {
                self.write_known(&op, plan.new, true);
                return op.written(out);
            }
            (Stage::Writing(_), DiskResult::Written(Err(e))) => return op.refuse_disk(&e, out),
            (Stage::Writing(_), DiskResult::Stale) => refusal::changed_meanwhile(&op.path),
            (
                stage @ (Stage::Asking(_) | Stage::Approved(_) | Stage::Editing { .. } | Stage::Busy { .. }),
                _,
            ) => {
                op.stage = stage;
                self.ops.insert(id, Op::Write(op));
                return;
            }
            _ => return op.refuse_disk(&unexpected(), out),
        };
        op.refuse(error, out);
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
            _ => op.refuse(refusal::cancelled(), out),
        }
    }
}
