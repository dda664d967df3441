//! Which requests for paths go on: the one way by which reads and writes come in.
//!
//! Owns a request from its arrival until it is known where its path really leads and that the session may go there: by
//! its folders, or because a person says so. It never reads a text. Called by the room; what it lets in goes on in `read`
//! and `write` under the same id, so the order of arrival holds.

use std::path::{Path, PathBuf};

use crate::effect::{Access, AccessAsk, DiskCmd, Effect, NvimCmd};
use crate::event::{DiskResult, PathKind, Resolved};
use crate::model::{AccessRules, OpId, RpcError, SessionKey};
use crate::reply::Reply;
use crate::workspace::bufs::Open;
use crate::workspace::read::ReadOp;
use crate::workspace::roots::Judgement;
use crate::workspace::write::WriteOp;
use crate::workspace::{Op, Workspace, refusal, unexpected};

/// What is wanted of the path.
#[derive(Debug)]
pub enum Want {
    /// Its text: `line` is one-based, 0 counts as 1; `limit` in lines.
    Read { line: Option<u64>, limit: Option<u64> },
    /// This as its text.
    Write { content: String },
}

#[derive(Debug)]
enum Stage {
    /// Where the path leads. A person let it in while it led to `allowed`; that is looked at once more, because an
    /// answer may take long and what is there, or where the path leads, may be another by then.
    Resolving { allowed: Option<PathBuf> },
    /// The session's folders, which are being resolved themselves.
    Found(Resolved),
    /// A person. `secret`: it lies inside, but reads of it are asked about.
    Asking { found: Resolved, secret: bool },
}

/// A request whose path is not let in yet.
#[derive(Debug)]
pub struct AdmitOp {
    pub session: SessionKey,
    pub reply: Reply,
    path: PathBuf,
    want: Want,
    stage: Stage,
}

impl AdmitOp {
    /// As the agent named it.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Where it leads, once that is known.
    pub fn real(&self) -> Option<&Path> {
        match &self.stage {
            Stage::Resolving { .. } => None,
            Stage::Found(found) | Stage::Asking { found, .. } => Some(&found.real),
        }
    }

    /// The same, with what is there.
    pub fn found(&mut self) -> Option<&mut Resolved> {
        match &mut self.stage {
            Stage::Resolving { .. } => None,
            Stage::Found(found) | Stage::Asking { found, .. } => Some(found),
        }
    }

    /// It wants to write.
    pub fn writes(&self) -> bool {
        matches!(self.want, Want::Write { .. })
    }

    /// It is to be tried again when something moves.
    pub fn waits(&self) -> bool {
        matches!(self.stage, Stage::Found(_))
    }

    /// A question about its path is open.
    pub fn is_asking(&self) -> bool {
        matches!(self.stage, Stage::Asking { .. })
    }

    fn refuse(self, error: RpcError, out: &mut Vec<Effect>) {
        out.push(Effect::Answer(self.reply, Err(error)));
    }
}

impl Workspace {
    /// The session works in this folder, under these rules: folders become roots once the disk has said where they
    /// really are; requests wait for that. Where the working directory is no folder nothing of the session is served
    /// unasked; an agent does not start there either, and says so.
    pub fn open_roots(&mut self, session: &SessionKey, cwd: PathBuf, rules: AccessRules) -> Vec<Effect> {
        let mut out: Vec<Effect> = self.roots.open(session, &rules).into_iter().map(warn).collect();
        let given = rules.roots.into_iter().map(|root| (root.path, root.write));
        for (place, (path, write)) in std::iter::once((cwd, true)).chain(given).enumerate() {
            let op = self.mint();
            self.ops.insert(op, Op::Root { session: session.clone(), write, place });
            out.push(Effect::Disk(op, DiskCmd::Resolve { path, twins: Vec::new() }));
        }
        out
    }

    pub(super) fn root_found(
        &mut self,
        session: &SessionKey,
        (write, place): (bool, usize),
        result: DiskResult,
        out: &mut Vec<Effect>,
    ) {
        match result {
            DiskResult::Resolved(Ok(Resolved { real, kind: PathKind::Dir, .. })) => {
                self.roots.add(session, real, write, place);
                self.bufs.reconsider(&self.roots, out);
            }
            other => tracing::warn!(%session, place, ?other, "this folder cannot be a root"),
        }
    }

    /// `fs/read_text_file`. `line` is one-based, 0 counts as 1.
    pub fn read(
        &mut self,
        session: &SessionKey,
        path: String,
        line: Option<u64>,
        limit: Option<u64>,
        reply: Reply,
    ) -> Vec<Effect> {
        self.admit(session, path, Want::Read { line, limit }, reply)
    }

    /// `fs/write_text_file`.
    pub fn write(
        &mut self,
        session: &SessionKey,
        path: String,
        content: String,
        reply: Reply,
    ) -> Vec<Effect> {
        self.admit(session, path, Want::Write { content }, reply)
    }

    fn admit(&mut self, session: &SessionKey, path: String, want: Want, reply: Reply) -> Vec<Effect> {
        if !Path::new(&path).is_absolute() {
            return vec![Effect::Answer(reply, Err(refusal::relative(&path)))];
        }
        let (id, path) = (self.mint(), PathBuf::from(path));
        let stage = Stage::Resolving { allowed: None };
        let op = AdmitOp { session: session.clone(), reply, path, want, stage };
        let mut out = Vec::new();
        self.admit_resolve(id, Box::new(op), &mut out);
        out
    }

    fn admit_resolve(&mut self, id: OpId, op: Box<AdmitOp>, out: &mut Vec<Effect>) {
        let cmd = DiskCmd::Resolve { path: op.path.clone(), twins: self.bufs.attached() };
        out.push(Effect::Disk(id, cmd));
        self.ops.insert(id, Op::Admit(op));
    }

    pub(super) fn admit_disk(
        &mut self,
        id: OpId,
        mut op: Box<AdmitOp>,
        result: DiskResult,
        out: &mut Vec<Effect>,
    ) {
        let error = match (&op.stage, result) {
            (Stage::Resolving { allowed: Some(real) }, DiskResult::Resolved(Ok(found)))
                if *real == found.real =>
            {
                if !self.roots.contains(&op.session, real) {
                    // A buffer that holds it counts from now on: what the person sees there is its text.
                    self.roots.let_at(&op.session, real.clone());
                    self.bufs.reconsider(&self.roots, out);
                }
                return self.let_in(id, *op, found);
            }
            (Stage::Resolving { .. }, DiskResult::Resolved(Ok(found))) => {
                op.stage = Stage::Found(found);
                self.admit_step(id, op, out);
                return;
            }
            (Stage::Resolving { .. }, DiskResult::Resolved(Err(e))) => refusal::disk(&op.path, &e),
            (Stage::Resolving { .. }, _) => refusal::disk(&op.path, &unexpected()),
            (Stage::Found(_) | Stage::Asking { .. }, _) => {
                self.ops.insert(id, Op::Admit(op));
                return;
            }
        };
        op.refuse(error, out);
    }

    /// Judges, once all folders of the session are known. Returns whether it did.
    pub(super) fn admit_step(&mut self, id: OpId, mut op: Box<AdmitOp>, out: &mut Vec<Effect>) -> bool {
        let opening = |o: &Op| matches!(o, Op::Root { session, .. } if *session == op.session);
        let found = match std::mem::replace(&mut op.stage, Stage::Resolving { allowed: None }) {
            Stage::Found(found) if !self.ops.values().any(opening) => found,
            stage => {
                op.stage = stage;
                self.ops.insert(id, Op::Admit(op));
                return false;
            }
        };
        match self.roots.judge(&op.session, &found.real, &op.path, op.writes()) {
            Judgement::Inside => self.let_in(id, *op, found),
            Judgement::ReadOnly(root) => {
                let error = refusal::read_only(&op.path, &root);
                op.refuse(error, out);
            }
            // Where nothing is, nothing is kept secret, and a person must not be asked for nothing.
            Judgement::Secret if found.kind != PathKind::File && self.bufs.open(&found.real) == Open::No => {
                self.let_in(id, *op, found);
            }
            Judgement::Secret => self.ask_access(id, op, found, true, out),
            Judgement::Outside { ask: true } if matches!(found.kind, PathKind::File | PathKind::Missing) => {
                self.ask_access(id, op, found, false, out);
            }
            Judgement::Outside { .. } => {
                let error = refusal::outside(&op.path, &self.roots.of(&op.session));
                op.refuse(error, out);
            }
        }
        true
    }

    fn ask_access(
        &mut self,
        id: OpId,
        mut op: Box<AdmitOp>,
        found: Resolved,
        secret: bool,
        out: &mut Vec<Effect>,
    ) {
        let mut notes = Vec::new();
        if secret {
            notes.push(refusal::SECRET.to_owned());
        } else {
            notes.push(refusal::asked_outside(&self.roots.of(&op.session)));
        }
        if op.path != found.real {
            notes.push(refusal::asked_as(&op.path));
        }
        if found.kind == PathKind::Missing && self.bufs.open(&found.real) == Open::No {
            notes.push(refusal::ASKED_MISSING.to_owned());
        }
        out.push(Effect::AskAccess(AccessAsk {
            op: id,
            session: op.session.clone(),
            path: found.real.clone(),
            write: op.writes(),
            notes,
        }));
        op.stage = Stage::Asking { found, secret };
        self.ops.insert(id, Op::Admit(op));
    }

    fn let_in(&mut self, id: OpId, op: AdmitOp, found: Resolved) {
        let AdmitOp { session, reply, path, want, .. } = op;
        let op = match want {
            Want::Read { line, limit } => {
                Op::Read(Box::new(ReadOp::new(session, path, found, line, limit, reply)))
            }
            Want::Write { content } => {
                Op::Write(Box::new(WriteOp::new(session, path, found, content, reply)))
            }
        };
        self.ops.insert(id, op);
    }

    /// What was decided about a path that was asked about. One that no request waits for is ignored.
    pub fn access_decided(&mut self, id: OpId, access: Access) -> Vec<Effect> {
        let mut out = Vec::new();
        if !matches!(self.ops.get(&id), Some(Op::Admit(op)) if op.is_asking()) {
            return out;
        }
        if let Some(Op::Admit(mut op)) = self.ops.remove(&id)
            && let Stage::Asking { found, secret } =
                std::mem::replace(&mut op.stage, Stage::Resolving { allowed: None })
        {
            match access {
                Access::Allow => {
                    op.stage = Stage::Resolving { allowed: Some(found.real) };
                    self.admit_resolve(id, op, &mut out);
                }
                Access::Rejected { for_session } => {
                    let why = if secret {
                        refusal::SECRET_RULE.to_owned()
                    } else {
                        refusal::outside_rule(&self.roots.of(&op.session))
                    };
                    let error = refusal::access_rejected(&op.path, &why, for_session);
                    op.refuse(error, &mut out);
                }
                Access::Withdrawn => op.refuse(refusal::cancelled(), &mut out),
            }
        }
        self.settle(&mut out);
        out
    }

    /// Answers a request that is not let in yet, and takes its question along.
    pub(super) fn end_admit(&mut self, id: OpId, op: AdmitOp, error: RpcError, out: &mut Vec<Effect>) {
        if op.is_asking() {
            out.push(Effect::AskWithdrawn { op: id });
        }
        op.refuse(error, out);
    }
}

fn warn(text: String) -> Effect {
    Effect::Nvim(NvimCmd::Notify { level: "warn".to_owned(), text })
}
