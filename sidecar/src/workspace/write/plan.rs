//! What shall be: the merge of a change with the text that is there, and the question about it.
//!
//! Owns [`Plan`]. It never applies one. Called by `write` and `apply`.

use std::path::Path;

use ropey::Rope;

use super::{Closed, Source, Stage, WriteOp};
use crate::effect::{Effect, MergeAsk, NvimCmd, WriteAsk};
use crate::event::{DiskError, DiskText, Form, PathKind, Save, Stamp, SwapOwner};
use crate::model::{BufId, EditedText, OpId};
use crate::workspace::bufs::Buf;
use crate::workspace::known::Belief;
use crate::workspace::lines::{self, Span};
use crate::workspace::rebase::{self, Rebased};
use crate::workspace::text::Snapshot;
use crate::workspace::{Workspace, refusal};

/// What was asked about, or needs no question.
#[derive(Debug)]
pub struct Plan {
    /// The text that is replaced; `None` when there is no file.
    pub live: Option<Snapshot>,
    /// The text that shall be.
    pub new: Snapshot,
    /// What the change was merged from: the other side's own text, and the base both started from.
    pub theirs: Snapshot,
    pub base: Snapshot,
    /// `new`, with the other side's lines where both changed the same.
    with_theirs: Snapshot,
    /// Lines of `new` in conflict.
    conflicts: Vec<Span>,
    /// Of a file that no buffer holds, as it was read: how its bytes differ from the text, and its stamp.
    pub closed: Option<(Form, Option<Stamp>)>,
    /// The file is gone, though the session or a buffer knows it.
    pub gone: bool,
    /// Another Neovim has it open.
    swap: Option<SwapOwner>,
    /// The file's stamp once this has landed without a save: what `theirs` was read from.
    pub disk: Option<(Stamp, Form)>,
    /// Save again, since what is on disk took back what others had added.
    pub resave: bool,
    /// A person gave up lines that only the disk has.
    pub gives_up: bool,
}

impl Plan {
    fn of(live: Option<Snapshot>, r: Rebased) -> Self {
        Self {
            live,
            new: r.text,
            theirs: r.theirs,
            base: r.base,
            with_theirs: r.with_theirs,
            conflicts: r.conflicts,
            closed: None,
            gone: false,
            swap: None,
            disk: None,
            resave: false,
            gives_up: false,
        }
    }

    /// What a person's verdict makes of a text.
    pub fn of_verdict(live: Option<Snapshot>, new: Snapshot) -> Self {
        let base = live.clone().unwrap_or_else(|| Snapshot::from_wire(""));
        let (text, theirs) = (new.clone(), new.clone());
        Self::of(live, Rebased { text, with_theirs: new, theirs, base, conflicts: Vec::new() })
    }

    /// The text moved on to `live`, of which the verdict makes something else.
    pub fn decide_anew(&mut self, live: Snapshot, new: Snapshot) {
        (self.live, self.new) = (Some(live), new);
    }

    /// Where both sides changed the same lines, the other side's are taken.
    pub fn take_theirs(&mut self) {
        self.new = self.with_theirs.clone();
    }

    /// A person says what shall be.
    pub fn take_text(&mut self, lines: &[Vec<u8>], eol: bool) {
        // One empty line is how a buffer without any line looks; the person saw an empty text.
        let empty =
            lines.len() == 1 && lines[0].is_empty() && self.live.as_ref().is_none_or(Snapshot::is_empty);
        self.new = if empty { Snapshot::from_wire("") } else { Snapshot::from_lines(lines, eol) };
    }

    /// A person edited what the change would make of the file, before it came. `false` when they have to decide anew.
    pub fn take_edit(&mut self, edit: &EditedText) -> bool {
        let from = Snapshot::from_lines(&edit.from.lines, edit.from.eol);
        let r = rebase::plain(&from, &self.new, Snapshot::from_lines(&edit.to.lines, edit.to.eol));
        (self.new, self.with_theirs, self.conflicts) = (r.text, r.with_theirs, r.conflicts);
        if !self.conflicts.is_empty() {
            self.base = from;
        }
        self.conflicts.is_empty()
    }

    /// The text stays as it is; only that is known now.
    pub fn keep_ours(&mut self) {
        if let Some(live) = &self.live {
            self.new = live.clone();
            self.resave = false;
        }
    }

    /// The text moved on to `live`: merged with that. `false` when a person has to decide.
    pub fn move_to(&mut self, live: Snapshot) -> bool {
        let base = self.live.replace(live.clone()).unwrap_or_else(|| Snapshot::from_wire(""));
        let r = rebase::plain(&base, &live, self.new.clone());
        (self.new, self.with_theirs, self.conflicts) = (r.text, r.with_theirs, r.conflicts);
        if !self.conflicts.is_empty() {
            self.base = base;
        }
        self.conflicts.is_empty()
    }
}

impl Workspace {
    /// Merges what the agent wants with the text that is there, and asks. `closed` is about a file that no buffer holds.
    pub(super) fn write_plan(
        &mut self,
        id: OpId,
        op: Box<WriteOp>,
        buf: Option<BufId>,
        closed: Closed,
        out: &mut Vec<Effect>,
    ) {
        let Source::Agent { content, .. } = &op.source else { return op.refuse(refusal::closed(), out) };
        let (real, kind) = (op.found.real.clone(), op.found.kind);
        let b = buf.and_then(|b| self.bufs.ready(b));
        if let Some(live) = b.map(Buf::snapshot) {
            self.known.settle(&real, &live);
        }
        let belief = self.known.get(&op.session, &real);
        let (live, disk, form) = match b {
            Some(b) => {
                let form = (b.meta.bomb, b.meta.fileformat == "dos");
                (Some(b.snapshot()), b.disk().cloned(), form)
            }
            None => {
                let text = closed.disk.as_ref().map(|(text, _)| text.clone());
                (text.clone(), text, (closed.form.bom, closed.form.crlf))
            }
        };
        let there = live.clone().unwrap_or_else(|| Snapshot::from_wire(""));
        // What is not there is not merged with: it is written as the agent wants it.
        let belief_of_it = belief.filter(|_| live.is_some());
        let rebased = rebase::rebase(belief_of_it, disk.as_ref(), &there, content, form);
        let Ok(rebased) = rebased else {
            let error = refusal::odd_bytes(&op.path);
            return op.refuse(error, out);
        };
        let known = matches!(belief, Some(Belief::Text(_)));
        let unsaved = b.is_some_and(|b| b.meta.modified);
        let gone = match b {
            Some(b) => b.meta.stamp.is_some() && kind == PathKind::Missing,
            None => live.is_none() && known,
        };
        let mut plan = Plan { gone, swap: closed.swap, ..Plan::of(live, rebased) };
        if b.is_none() {
            plan.closed = Some((closed.form, closed.disk.map(|(_, stamp)| stamp)));
        }
        let same = plan.conflicts.is_empty() && plan.live.as_ref() == Some(&plan.new);
        // A buffer whose file is not there yet still has to be saved, and so has one whose file lacks what was written.
        let saved = match b {
            Some(_) if kind != PathKind::File => false,
            Some(_) => !unsaved || self.save != Save::Always || disk.as_ref() == Some(&plan.theirs),
            None => true,
        };
        // The agent wrote the disk itself as well, and what a person had not saved is missing there.
        let behind = same && saved && unsaved && self.save == Save::Always && b.is_some_and(|b| b.merged);
        if behind {
            return self.write_at(id, op, Stage::Approved(Box::new(plan)));
        }
        if same && saved {
            self.write_known(&op, &plan, plan.new.clone(), true);
            return op.done(out);
        }
        self.write_ask(id, op, plan, out);
    }

    /// The disk's text under an open buffer: what it makes of the buffer's.
    pub(super) fn disk_plan(
        &mut self,
        id: OpId,
        op: Box<WriteOp>,
        buf: BufId,
        text: Result<DiskText, DiskError>,
        out: &mut Vec<Effect>,
    ) {
        let (real, Some(b)) = (op.real().to_owned(), self.bufs.ready(buf)) else {
            return op.refuse(refusal::closed(), out);
        };
        let text = match text {
            Ok(text) if b.meta.stamp == Some(text.stamp) && !self.raced(b, &real, &text) => {
                // Nothing new; but the text that a modified buffer came from may not have been known.
                if b.disk().is_none() {
                    let merged = b.merged;
                    self.bufs.looked(buf, text.stamp, Snapshot::from_bytes(&text.text), merged);
                }
                return op.done(out);
            }
            // A buffer for a new file, whose file has come into being: as long as it has not read it, Neovim would not
            // let the person save.
            Ok(_) if b.meta.stamp.is_none() && !b.unsaved() && b.snapshot().is_empty() => {
                out.push(Effect::Nvim(NvimCmd::Reload { buf }));
                return op.done(out);
            }
            Ok(text) => text,
            // It may come back in the next moment; a buffer stays when its file goes.
            Err(DiskError::NotFound) => return op.done(out),
            // Neovim tries other encodings, too.
            Err(DiskError::Binary | DiskError::Undecodable) if !b.unsaved() => {
                out.push(Effect::Nvim(NvimCmd::Reload { buf }));
                return op.done(out);
            }
            Err(e) => {
                let why = refusal::disk(&real, &e).message;
                self.told(&real, &format!("changed on disk and cannot be followed: {why}"), out);
                return op.done(out);
            }
        };
        let live = b.snapshot();
        self.known.settle(&real, &live);
        let dos = b.meta.fileformat == "dos";
        let was = b.disk().cloned();
        let modified = b.unsaved();
        let is = Snapshot::from_bytes(&text.text);
        // A buffer with unsaved lines keeps its line ends; one without takes those of the file.
        let is = if dos && modified && !text.form.crlf { without_crs(&is) } else { is };
        let r = if is == live {
            rebase::plain(&is, &live, is.clone())
        } else {
            // A file that was changed before we could read it has no known base: every difference is in doubt.
            let base = was.clone().unwrap_or_else(|| Snapshot::from_wire(""));
            rebase::follow(&base, &live, &is, &self.known.own(&real))
        };
        // It was written from an older text: what others had added since is to be on disk again.
        let echo = was.as_ref().is_some_and(|was| r.base != *was);
        let wanted = echo && self.save == Save::Always || !modified && self.save != Save::Never;
        let resave = wanted && r.text != is && (!echo || self.follows.insists(&real, &r.base));
        let plan = Plan { disk: Some((text.stamp, text.form)), resave, ..Plan::of(Some(live), r) };
        if plan.conflicts.is_empty() {
            return self.write_at(id, op, Stage::Approved(Box::new(plan)));
        }
        self.write_ask(id, op, plan, out);
    }

    /// The file has the stamp that the buffer's has, and yet an agent wrote it after we did: in the very moment between
    /// our save and the look at its stamp, or within one tick of the file system's clock.
    fn raced(&self, b: &Buf, real: &Path, text: &DiskText) -> bool {
        let is = Snapshot::from_bytes(&text.text);
        b.disk().is_some_and(|disk| *disk != is) && self.known.own(real).contains(&is)
    }

    /// Asks a person, or whoever knows that they have agreed.
    pub(super) fn write_ask(&mut self, id: OpId, op: Box<WriteOp>, plan: Plan, out: &mut Vec<Effect>) {
        let real = op.real().to_owned();
        let buf = self.bufs.mirrored().find(|(_, at)| *at == real).map(|(id, _)| id);
        let unsaved = buf.and_then(|b| self.bufs.ready(b)).is_some_and(|b| b.meta.modified);
        let wire = |s: &Snapshot| s.wire().text;
        let conflicts: Vec<_> = plan.conflicts.iter().map(|s| (s.start, s.end)).collect();
        let merge = (!conflicts.is_empty()).then(|| MergeAsk {
            base: plan.base.bytes(),
            ours: plan.live.as_ref().map(Snapshot::bytes).unwrap_or_default(),
            theirs: plan.with_theirs.bytes(),
            result: plan.new.bytes(),
            conflicts,
            from_disk: op.follows().is_some(),
        });
        // Where a merge added the person's lines, the agent's own view is what an approval was given for.
        let merged = merge.is_none() && plan.live.as_ref() != Some(&plan.base);
        let sides = merged.then(|| (wire(&plan.base), wire(&plan.theirs)));
        let runs = self.roots.must_ask(&op.session, &real);
        // A hard link may have led to another name.
        let runs = runs.or_else(|| self.roots.must_ask(&op.session, &op.path));
        let notes: Vec<String> = runs.into_iter().chain(notes(&real, &plan)).collect();
        out.push(Effect::AskWrite(WriteAsk {
            op: id,
            session: op.session.clone(),
            path: real,
            told: op.path.clone(),
            live: plan.live.as_ref().map(wire),
            content: wire(&plan.new),
            merge,
            sides,
            must_ask: !notes.is_empty(),
            notes,
            buf,
            saves_unsaved: unsaved && self.save == Save::Always,
        }));
        self.write_at(id, op, Stage::Asking(Box::new(plan)));
    }
}

/// The text of a file that is no longer all CRLF, for a buffer that is.
fn without_crs(text: &Snapshot) -> Snapshot {
    let rope = Rope::from_str(&lines::flat(&text.rope).replace("\r\n", "\n"));
    Snapshot { rope, eol: text.eol }
}

/// What makes this write one that a person must see.
fn notes(real: &Path, plan: &Plan) -> Vec<String> {
    let mut notes = Vec::new();
    if plan.gone {
        notes.push(
            "The file no longer exists: it was deleted or renamed. Allowing this makes it anew.".to_owned(),
        );
    }
    match plan.swap {
        Some(SwapOwner { pid: Some(pid), modified: true }) => notes.push(format!(
            "Another Neovim (process {pid}) has it open with unsaved changes, which this would leave behind."
        )),
        Some(SwapOwner { pid: Some(pid), modified: false }) => {
            notes.push(format!("Another Neovim (process {pid}) has it open."));
        }
        Some(SwapOwner { pid: None, modified: true }) => notes.push(format!(
            "A crashed Neovim left a swap file with unsaved changes of {}; recover them first.",
            real.file_name().unwrap_or_default().to_string_lossy()
        )),
        _ => {}
    }
    notes
}
