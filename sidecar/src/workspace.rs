//! The workspace room: the text of the project as the person sees it, and the agents' reads of and writes into it.
//!
//! Owns the mirrors of open buffers, the roots, what each session has seen, and every read and write on its way. It is
//! synchronous: no I/O, no waiting; what it wants done it returns as effects. It never calls the editor for a read, and
//! never forces an edit onto a text that it was not computed for. Called by the app.
//!
//! Every read and write is an op with its reply inside. An op advances when the event comes that it waits for; ops that
//! wait for a mirror or for an earlier write are tried again (`settle`) when one of those moves.

mod admit;
pub mod bufs;
mod checkpoint;
pub mod edit;
mod follow;
mod globs;
mod known;
mod lift;
mod lines;
pub mod locate;
mod merge;
mod mirror;
mod read;
mod rebase;
mod refusal;
mod review;
mod roots;
mod show;
pub mod terminals;
pub mod text;
pub mod unsaved;
mod write;

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use crate::effect::{self, DiskCmd, Effect, NvimCmd, Verdict};
use crate::event::{BufMeta, DiskError, DiskResult, EditOutcome, Hello, PathKind, Save};
use crate::model::{BufId, Diff, OpId, QuestionId, RpcError, SessionKey, TerminalId};
use crate::reply::WireId;

use admit::AdmitOp;
use bufs::Bufs;
use checkpoint::{Checkpoints, Restore};
use follow::Follows;
use known::Beliefs;
use read::ReadOp;
use review::Review;
use roots::{Judgement, Roots};
use show::ShowOp;
use terminals::Terminals;
use unsaved::Given;
use write::WriteOp;

/// Files that are not open are read up to this many bytes.
pub const READ_CAP: u64 = 64 << 20;

/// Something on its way.
#[derive(Debug)]
enum Op {
    /// Where does the name of this buffer lead?
    BufName(BufId),
    /// Where does a folder of a session lead? `place` and `write` as in `Roots::add`.
    Root { session: SessionKey, write: bool, place: usize },
    /// A read or a write whose path is not let in yet.
    Admit(Box<AdmitOp>),
    /// `fs/read_text_file`.
    Read(Box<ReadOp>),
    /// `fs/write_text_file`.
    Write(Box<WriteOp>),
    /// A person wants to see a diff.
    Show(Box<ShowOp>),
    /// Where does the working directory of a command lead?
    Folder(TerminalId),
    /// A way back whose texts are being fetched.
    Restore(Box<Restore>),
}

/// See the module.
#[derive(Debug)]
pub struct Workspace {
    bufs: Bufs,
    roots: Roots,
    known: Beliefs,
    /// What is known of changes on disk.
    follows: Follows,
    /// 'fileencodings': tried for files that are not open.
    encodings: Vec<String>,
    /// 'directory': where swap files of other Neovims may be.
    swap_dirs: Vec<String>,
    /// The setting `save`.
    save: Save,
    given: Given,
    terminals: Terminals,
    /// What is to be judged.
    review: Review,
    /// The ways back.
    checkpoints: Checkpoints,
    /// By id, which is also the order of arrival; removed when answered.
    ops: BTreeMap<OpId, Op>,
    /// The next op's id.
    next: u64,
}

impl Workspace {
    /// For the editor that said hello.
    pub fn new(hello: &Hello) -> Self {
        Self {
            bufs: Bufs::new(hello.max_buf_bytes),
            roots: Roots::default(),
            known: Beliefs::default(),
            follows: Follows::default(),
            encodings: hello.encodings.clone(),
            swap_dirs: hello.swap_dirs.clone(),
            save: hello.save,
            given: Given::default(),
            terminals: Terminals::new(hello.max_terminal_bytes),
            review: Review::default(),
            checkpoints: Checkpoints::default(),
            ops: BTreeMap::new(),
            next: 1,
        }
    }

    fn mint(&mut self) -> OpId {
        self.next += 1;
        OpId(self.next - 1)
    }

    /// Adds a root; `real` is resolved. The first one is the session's working directory.
    #[cfg(test)]
    fn add_root(&mut self, session: &SessionKey, real: std::path::PathBuf) -> Vec<Effect> {
        let mut out = Vec::new();
        if self.roots.of(session).is_empty() {
            self.roots.open(session, &crate::model::AccessRules::default());
        }
        self.roots.add(session, real, true, self.roots.of(session).len());
        self.bufs.reconsider(&self.roots, &mut out);
        self.settle(&mut out);
        out
    }

    /// The session is over: its ops are answered with an error, buffers in no other root are detached.
    pub fn remove_session(&mut self, session: &SessionKey) -> Vec<Effect> {
        let mut out = Vec::new();
        self.roots.remove(session);
        self.known.remove(session);
        self.given.remove(session);
        self.review.close(session);
        self.checkpoints.close(session);
        self.terminals_removed(session, &mut out);
        for id in self.ops_of(session) {
            match self.ops.remove(&id) {
                Some(Op::Admit(op)) => self.end_admit(id, *op, refusal::closed(), &mut out),
                Some(Op::Read(op)) => out.push(Effect::Answer(op.reply, Err(refusal::closed()))),
                Some(Op::Write(op)) => {
                    if op.is_asking() {
                        out.push(Effect::AskWithdrawn { op: id });
                    }
                    // Another session may still see the file.
                    let follows = op.follows();
                    op.refuse(refusal::closed(), &mut out);
                    if let Some(buf) = follows {
                        self.follow(buf, &mut out);
                    }
                }
                _ => {}
            }
        }
        self.bufs.reconsider(&self.roots, &mut out);
        self.settle(&mut out);
        out
    }

    /// The agent of this session is gone: what it waited for is withdrawn, and a new one has seen nothing yet.
    pub fn forget_agent(&mut self, session: &SessionKey) -> Vec<Effect> {
        let mut out = Vec::new();
        for id in self.ops_of(session) {
            if !self.outlives_agent(id) {
                self.cancel_op(id, &mut out);
            }
        }
        self.known.remove(session);
        self.given.remove(session);
        self.terminals_orphaned(session, &mut out);
        self.settle(&mut out);
        out
    }

    /// A buffer is loaded, or its facts changed.
    pub fn buf_meta(&mut self, meta: BufMeta) -> Vec<Effect> {
        let mut out = Vec::new();
        let (op, buf) = (self.mint(), BufId(meta.buf));
        if let Some(path) = self.bufs.meta(meta, op, &self.roots, &mut out) {
            self.ops.insert(op, Op::BufName(buf));
            out.push(Effect::Disk(op, DiskCmd::Resolve { path, twins: Vec::new() }));
        }
        if let Some(b) = self.bufs.ready(buf).filter(|b| b.belies()) {
            out.push(Effect::Nvim(NvimCmd::Unsaved { buf, tick: b.tick() }));
        }
        self.settle(&mut out);
        out
    }

    /// Lines `[first, last)` changed.
    pub fn buf_lines(
        &mut self,
        buf: BufId,
        tick: Option<u64>,
        first: usize,
        last: Option<usize>,
        lines: &[Vec<u8>],
        more: bool,
    ) -> Vec<Effect> {
        let mut out = Vec::new();
        if self.bufs.lines(buf, tick, (first, last), lines, more, &mut out) {
            self.settle(&mut out);
        }
        out
    }

    /// The tick moved without a change of text.
    pub fn buf_tick(&mut self, buf: BufId, tick: u64) -> Vec<Effect> {
        self.bufs.saw_tick(buf, tick);
        Vec::new()
    }

    /// The attachment ended: attach again.
    pub fn buf_detached(&mut self, buf: BufId) -> Vec<Effect> {
        let mut out = Vec::new();
        self.bufs.detached(buf, &mut out);
        self.settle(&mut out);
        out
    }

    /// The buffer was unloaded.
    pub fn buf_closed(&mut self, buf: BufId) -> Vec<Effect> {
        let mut out = Vec::new();
        if let Some(op) = self.bufs.closed(buf, &mut out) {
            self.ops.remove(&op);
        }
        self.buf_safe(buf);
        self.settle(&mut out);
        out
    }

    /// A slice of lines came in.
    pub fn slice(
        &mut self,
        buf: BufId,
        tick: u64,
        start: usize,
        total: usize,
        lines: &[Vec<u8>],
        empty: bool,
    ) -> Vec<Effect> {
        let mut out = Vec::new();
        let known = self.bufs.ready(buf).is_some();
        self.bufs.slice(buf, tick, (start, total), lines, empty, &mut out);
        if !known {
            self.first_look(buf, &mut out);
        }
        self.settle(&mut out);
        out
    }

    /// A result of the disk edge. One that no op waits for is ignored.
    pub fn disk(&mut self, op: OpId, result: DiskResult) -> Vec<Effect> {
        let mut out = Vec::new();
        if let DiskResult::Resolved(Ok(found)) = &result
            && matches!(found.kind, PathKind::File | PathKind::Missing)
            && let Some(Op::Admit(admit)) = self.ops.get(&op)
        {
            let name = admit.path().to_owned();
            self.bufs.leads(&name, found, &self.roots, &mut out);
        }
        match self.ops.remove(&op) {
            Some(Op::BufName(buf)) => {
                let found = match result {
                    DiskResult::Resolved(found) => found.ok(),
                    _ => None,
                };
                self.bufs.resolved(buf, op, found, &self.roots, &mut out);
            }
            Some(Op::Root { session, write, place }) => {
                self.root_found(&session, (write, place), result, &mut out);
            }
            Some(Op::Admit(admit)) => self.admit_disk(op, admit, result, &mut out),
            Some(Op::Read(read)) => self.read_disk(op, read, result, &mut out),
            Some(Op::Write(write)) => self.write_disk(op, write, result, &mut out),
            Some(Op::Show(show)) => self.show_disk(op, show, result, &mut out),
            Some(Op::Folder(terminal)) => self.terminal_folder(terminal, result, &mut out),
            Some(Op::Restore(restore)) => {
                if let DiskResult::Kept(texts) = result {
                    self.restore_loaded(*restore, &texts, &mut out);
                }
            }
            None => {}
        }
        self.settle(&mut out);
        out
    }

    /// `session/cancel`: writes that are not applied yet are withdrawn, and what waits for a person to let it in.
    pub fn cancel_session(&mut self, session: &SessionKey) -> Vec<Effect> {
        let mut out = Vec::new();
        for id in self.ops_of(session) {
            let ends = match self.ops.get(&id) {
                Some(Op::Write(w)) => w.reply().is_some(),
                Some(Op::Admit(op)) => op.writes() || op.is_asking(),
                _ => false,
            };
            if ends {
                self.cancel_op(id, &mut out);
            }
        }
        self.settle(&mut out);
        out
    }

    /// The agent of these sessions takes one of its requests back.
    pub fn cancel_request(&mut self, sessions: &[SessionKey], id: &WireId) -> Vec<Effect> {
        let mut out = Vec::new();
        let hit = self.ops.iter().find_map(|(op, o)| match o {
            Op::Admit(a) if sessions.contains(&a.session) && a.reply.id() == id => Some(*op),
            Op::Read(r) if sessions.contains(&r.session) && r.reply.id() == id => Some(*op),
            Op::Write(w) if sessions.contains(&w.session) && w.reply().is_some_and(|r| r.id() == id) => {
                Some(*op)
            }
            _ => None,
        });
        match hit {
            Some(op) => self.cancel_op(op, &mut out),
            None => {
                self.terminal_cancel(sessions, id, &mut out);
            }
        }
        self.settle(&mut out);
        out
    }

    fn cancel_op(&mut self, id: OpId, out: &mut Vec<Effect>) {
        match self.ops.remove(&id) {
            Some(Op::Admit(op)) => self.end_admit(id, *op, refusal::cancelled(), out),
            Some(Op::Read(read)) => out.push(Effect::Answer(read.reply, Err(refusal::cancelled()))),
            Some(Op::Write(write)) => self.cancel_write(id, write, out),
            Some(other) => {
                self.ops.insert(id, other);
            }
            None => {}
        }
    }

    /// The verdict on a write that was asked about.
    pub fn decide(&mut self, op: OpId, verdict: Verdict) -> Vec<Effect> {
        let mut out = Vec::new();
        self.write_decided(op, verdict, &mut out);
        self.settle(&mut out);
        out
    }

    /// An edit call came back.
    pub fn edit_done(&mut self, op: OpId, outcome: EditOutcome) -> Vec<Effect> {
        let mut out = Vec::new();
        self.write_edited(op, outcome, &mut out);
        self.settle(&mut out);
        out
    }

    /// The buffer may be edited again.
    pub fn safe(&mut self, buf: BufId) -> Vec<Effect> {
        let mut out = Vec::new();
        self.buf_safe(buf);
        self.settle(&mut out);
        out
    }

    /// A person typed: what changes from now on may be theirs.
    pub fn typed(&mut self) -> Vec<Effect> {
        let bufs = &self.bufs;
        self.known.typed(|real| match bufs.open(real) {
            bufs::Open::Ready(buf) => bufs.ready(buf).map(bufs::Buf::snapshot),
            _ => None,
        });
        Vec::new()
    }

    /// A person wants to see diff number `index` of `count` of a question.
    pub fn show_diff(
        &mut self,
        session: &SessionKey,
        question: QuestionId,
        index: usize,
        count: usize,
        diff: Diff,
    ) -> Vec<Effect> {
        let id = self.mint();
        let mut out = Vec::new();
        let show = ShowOp::new(session.clone(), question, index, count, diff);
        self.show_start(id, Box::new(show), &mut out);
        out
    }

    /// Text of an open buffer as it would be saved, when its mirror is whole.
    pub fn buf_text(&self, buf: BufId) -> Option<String> {
        Some(self.bufs.ready(buf)?.snapshot().wire().text)
    }

    /// Full name of an open file.
    pub fn buf_name(&self, buf: BufId) -> Option<&Path> {
        self.bufs.get(buf).map(|buf| Path::new(&buf.meta.name))
    }

    /// The same, if the session may read that file without being asked about.
    pub fn buf_text_for(&self, session: &SessionKey, buf: BufId) -> Option<String> {
        let found = self.bufs.ready(buf)?;
        let judged = self.roots.judge(session, found.real()?, Path::new(&found.meta.name), false);
        (judged == Judgement::Inside).then(|| self.buf_text(buf)).flatten()
    }

    /// What a person should know before a change of this file, by its name: that it is not open, or has unsaved lines.
    pub fn note_on(&self, path: &Path) -> Option<String> {
        match self.bufs.named(path) {
            Some(buf) if buf.meta.modified => Some(effect::SAVES_UNSAVED.to_owned()),
            Some(_) => None,
            None => Some(effect::NOT_OPEN.to_owned()),
        }
    }

    /// Some buffer with unsaved text in the session's roots is not mirrored yet; a prompt waits for that.
    pub fn modified_pending(&self, session: &SessionKey) -> bool {
        self.bufs.modified_pending(session, &self.roots)
    }

    /// This buffer, which the session may see, is not mirrored yet but will be.
    pub fn pending(&self, session: &SessionKey, buf: BufId) -> bool {
        self.bufs.pending(buf, session, &self.roots)
    }

    fn ops_of(&self, session: &SessionKey) -> Vec<OpId> {
        let of = |op: &Op| match op {
            Op::BufName(_) | Op::Folder(_) | Op::Restore(_) => false,
            Op::Root { session: s, .. } => s == session,
            Op::Admit(a) => a.session == *session,
            Op::Read(r) => r.session == *session,
            Op::Write(w) => w.session == *session,
            Op::Show(s) => s.session == *session,
        };
        self.ops.iter().filter(|(_, op)| of(op)).map(|(id, _)| *id).collect()
    }

    /// It is a change on disk, or a verdict, which no agent asked for.
    fn outlives_agent(&self, id: OpId) -> bool {
        matches!(self.ops.get(&id), Some(Op::Write(w)) if w.reply().is_none())
    }

    /// An earlier write of the same session is, or may be, to the same file. Ids ascend, so nothing waits in a ring.
    fn behind_a_write(&self, id: OpId, session: &SessionKey, real: &Path) -> bool {
        self.ops.range(..id).any(|(_, op)| match op {
            Op::Admit(a) => a.session == *session && a.writes() && a.real().is_none_or(|r| r == real),
            Op::Write(w) => w.reply().is_some() && w.session == *session && w.real() == real,
            _ => false,
        })
    }

    /// Tries the ops that wait for a mirror or for their turn, until none of them moves.
    fn settle(&mut self, out: &mut Vec<Effect>) {
        self.follows.stale = true;
        self.unasked(out);
        loop {
            let waiting: Vec<OpId> = self
                .ops
                .iter()
                .filter(|(_, op)| match op {
                    Op::BufName(_) | Op::Root { .. } | Op::Folder(_) | Op::Restore(_) => false,
                    Op::Admit(a) => a.waits(),
                    Op::Read(r) => r.waits(),
                    Op::Write(w) => w.waits(),
                    Op::Show(s) => s.waits(),
                })
                .map(|(id, _)| *id)
                .collect();
            let mut moved = false;
            for id in waiting {
                moved |= match self.ops.remove(&id) {
                    Some(Op::Admit(admit)) => self.admit_step(id, admit, out),
                    Some(Op::Read(read)) => self.read_step(id, read, out),
                    Some(Op::Write(write)) => self.write_step(id, write, out),
                    Some(Op::Show(show)) => self.show_step(id, show, out),
                    Some(other) => {
                        self.ops.insert(id, other);
                        false
                    }
                    None => false,
                };
            }
            if !moved && !self.follow_again(out) {
                return;
            }
        }
    }
}

/// The answer to a read.
fn content(text: &str) -> Result<Arc<str>, RpcError> {
    Ok(serde_json::json!({ "content": text }).to_string().into())
}

/// A disk result of a kind that was not asked for is an error of ours, but never a reason to leave an agent waiting.
fn unexpected() -> DiskError {
    DiskError::Io("the disk gave an answer to another question".into())
}

#[cfg(test)]
mod tests;
