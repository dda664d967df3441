//! The editor's file buffers: which there are, which are mirrored, and how far that is.
//!
//! Owns the announced buffers, their facts and their mirrors. It never answers a request and never edits. Called by the
//! room with the editor's events; puts `Attach`, `Detach` and `Slice` into the effects.
//!
//! Every loaded file buffer in a root of any session is attached: modified ones first, then visible ones, the rest in
//! the editor's idle time, at most [`FILLS`] at once unless a reader waits. A detach (reload) is not a close: the buffer
//! is attached again, at most [`DETACHES`] times in a row without a fill that got to its end; after that once for each
//! announcement.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::effect::{Effect, NvimCmd};
use crate::event::{BufMeta, PathKind, Resolved, Stamp};
use crate::model::{BufId, OpId, SessionKey};
use crate::workspace::mirror::{Lost, Mirror};
use crate::workspace::roots::{Judgement, Roots};
use crate::workspace::text::Snapshot;
use crate::workspace::unsaved::Unsaved;

/// Mirrors that fill at the same time.
pub const FILLS: usize = 3;
/// Detaches in a row before a buffer is left alone.
pub const DETACHES: u8 = 5;

/// How far the mirroring of a buffer is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// Not attached and not meant to be.
    Away,
    /// To be attached when its turn comes.
    Waiting,
    /// Attached; slices come in.
    Filling,
    /// Attached and whole.
    Ready,
}

/// An announced buffer.
#[derive(Debug)]
pub struct Buf {
    /// Its facts. `modified` is also set by a change of text, until the editor says otherwise.
    pub meta: BufMeta,
    /// Announcements so far; tells whether the facts are newer than an edit.
    pub announced: u64,
    /// Where its name leads; `None` while that is not known, or when it is no file.
    real: Option<PathBuf>,
    /// The resolve in flight.
    resolving: Option<OpId>,
    state: State,
    /// Its text; there while filling or ready.
    mirror: Mirror,
    /// The text last known to be on disk, and the stamp the file had with it (`None`: not known, or no file). Shares
    /// its rope with the mirror.
    disk: Option<(Option<Stamp>, Snapshot)>,
    /// What is on disk was written there behind the editor's back, and merged since: the buffer was not saved after it.
    pub merged: bool,
    /// Where the slice that was asked for begins.
    asked: usize,
    /// A reader waits for it.
    urgent: bool,
    /// Detaches since a fill last got to its end.
    detaches: u8,
}

impl Buf {
    fn name_is_path(&self) -> bool {
        self.meta.buftype.is_empty() && self.meta.name.starts_with('/')
    }

    fn fits(&self, cap: u64) -> bool {
        // A mirror that has grown over the cap is kept: it costs nothing to go on.
        self.state == State::Ready || self.meta.bytes <= cap
    }

    fn ready(&self) -> bool {
        self.state == State::Ready && self.mirror.ready()
    }

    /// The text as it is now. Only of a ready mirror.
    pub fn snapshot(&self) -> Snapshot {
        Snapshot { rope: self.mirror.rope().clone(), eol: self.meta.eol }
    }

    /// The tick an edit of [`Self::snapshot`] must name.
    pub fn tick(&self) -> u64 {
        self.mirror.tick()
    }

    /// The text on disk, as far as it is known: the buffer was read from it, written to it, or it was looked at.
    pub fn disk(&self) -> Option<&Snapshot> {
        let current = |stamp: &Option<Stamp>| self.meta.stamp == *stamp;
        self.disk.as_ref().filter(|(stamp, _)| current(stamp)).map(|(_, text)| text)
    }

    /// It holds what is not on disk: Neovim says so, or does not know it (see [`Self::belies`]).
    pub fn unsaved(&self) -> bool {
        self.meta.modified || self.belies()
    }

    /// It is not what was last on disk, though Neovim says so: undoing does that.
    pub fn belies(&self) -> bool {
        let differs = |(_, disk): &(_, Snapshot)| *disk != self.snapshot();
        !self.meta.modified && self.ready() && self.disk.as_ref().is_some_and(differs)
    }

    /// Where its name leads.
    pub fn real(&self) -> Option<&Path> {
        self.real.as_deref()
    }

    /// The encodings in which its file is to be read: its own.
    pub fn encodings(&self) -> Vec<String> {
        let own = self.meta.fileencoding.as_str();
        let bom = self.meta.bomb.then(|| "ucs-bom".to_owned());
        bom.into_iter().chain([if own.is_empty() { "utf-8".to_owned() } else { own.to_owned() }]).collect()
    }

    /// An unmodified buffer is what is on disk.
    fn note_disk(&mut self) {
        // Undoing may bring back a text that Neovim takes for saved while the disk holds another.
        self.merged &= self.meta.modified;
        if !self.meta.modified && self.ready() && self.disk().is_none() {
            self.disk = Some((self.meta.stamp, self.snapshot()));
        }
    }
}

/// Who holds a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Open {
    /// No buffer: the disk's text counts.
    No,
    /// Not to be said yet: names are being resolved, or the mirror fills.
    Wait(Option<BufId>),
    /// This buffer, and its mirror is whole.
    Ready(BufId),
    /// A buffer that is too large: size in bytes.
    TooLarge(u64),
    /// A buffer that cannot be mirrored.
    Unavailable,
}

/// See the module.
#[derive(Debug)]
pub struct Bufs {
    /// By number; dropped when the editor unloads them.
    all: BTreeMap<BufId, Buf>,
    /// Buffers with more bytes are not mirrored.
    max_bytes: u64,
}

impl Bufs {
    /// `max_bytes` is the setting `max_buffer_bytes`.
    pub fn new(max_bytes: u64) -> Self {
        Self { all: BTreeMap::new(), max_bytes }
    }

    /// The size cap in bytes.
    pub fn max_bytes(&self) -> u64 {
        self.max_bytes
    }

    /// Real paths of the files whose buffers are attached, or are to be.
    pub fn attached(&self) -> Vec<PathBuf> {
        self.all.values().filter(|b| b.state != State::Away).filter_map(|b| b.real.clone()).collect()
    }

    /// A loaded buffer, if announced.
    pub fn get(&self, id: BufId) -> Option<&Buf> {
        self.all.get(&id)
    }

    /// A buffer whose mirror is whole.
    pub fn ready(&self, id: BufId) -> Option<&Buf> {
        self.all.get(&id).filter(|b| b.ready())
    }

    /// Who holds this real path. Of several buffers, one with unsaved text counts.
    pub fn open(&self, real: &Path) -> Open {
        if self.all.values().any(|b| b.resolving.is_some()) {
            return Open::Wait(None);
        }
        let holders = self.all.iter().filter(|(_, b)| b.real.as_deref() == Some(real));
        let Some((id, buf)) = holders.max_by_key(|(_, b)| (b.meta.modified, b.ready())) else {
            return Open::No;
        };
        match buf.state {
            _ if !buf.fits(self.max_bytes) => Open::TooLarge(buf.meta.bytes),
            State::Away => Open::Unavailable,
            _ if buf.ready() => Open::Ready(*id),
            _ => Open::Wait(Some(*id)),
        }
    }

    /// The loaded buffer that holds this real path, whether it is mirrored or not; of several, one with unsaved text.
    pub fn holder(&self, real: &Path) -> Option<BufId> {
        let holders = self.all.iter().filter(|(_, b)| b.real.as_deref() == Some(real));
        holders.max_by_key(|(_, b)| (b.meta.modified, b.ready())).map(|(id, _)| *id)
    }

    /// A loaded file buffer by its name or real path; of several, one with unsaved text.
    pub fn named(&self, path: &Path) -> Option<&Buf> {
        let holds = |buf: &&Buf| Path::new(&buf.meta.name) == path || buf.real.as_deref() == Some(path);
        self.all.values().filter(holds).max_by_key(|buf| buf.meta.modified)
    }

    /// Some buffer with unsaved text that this session may see is still to be mirrored.
    pub fn modified_pending(&self, session: &SessionKey, roots: &Roots) -> bool {
        self.all.values().any(|b| b.meta.modified && self.comes(b, session, roots))
    }

    /// This buffer, which the session may see, is still to be mirrored.
    pub fn pending(&self, id: BufId, session: &SessionKey, roots: &Roots) -> bool {
        self.all.get(&id).is_some_and(|b| self.comes(b, session, roots))
    }

    fn comes(&self, b: &Buf, session: &SessionKey, roots: &Roots) -> bool {
        let may_be_inside = match &b.real {
            Some(real) => roots.contains(session, real),
            None => b.resolving.is_some(),
        };
        let will_be_ready = b.fits(self.max_bytes) && (b.state != State::Away || b.resolving.is_some());
        may_be_inside && will_be_ready && !b.ready()
    }

    /// The buffers with unsaved text that this session may see without being asked about, by number.
    pub fn modified(&self, session: &SessionKey, roots: &Roots) -> Vec<Unsaved> {
        let inside = self.all.iter().filter_map(|(id, buf)| {
            let name = Path::new(&buf.meta.name);
            let may = |real: &&Path| roots.judge(session, real, name, false) == Judgement::Inside;
            let real = buf.real.as_deref().filter(may)?;
            let text = buf.ready().then(|| buf.snapshot());
            let name = PathBuf::from(&buf.meta.name);
            buf.meta.modified.then(|| Unsaved { buf: *id, name, real: real.to_owned(), text })
        });
        inside.collect()
    }

    /// A buffer is loaded or its facts changed. Returns its name when that must be resolved, as `op`.
    pub fn meta(&mut self, meta: BufMeta, op: OpId, roots: &Roots, out: &mut Vec<Effect>) -> Option<PathBuf> {
        let id = BufId(meta.buf);
        let tick = meta.tick;
        let buf = self.all.entry(id).or_insert_with(|| Buf {
            meta: BufMeta::default(),
            announced: 0,
            real: None,
            resolving: None,
            state: State::Away,
            mirror: Mirror::default(),
            disk: None,
            merged: false,
            asked: 0,
            urgent: false,
            detaches: 0,
        });
        let renamed = buf.announced == 0 || buf.meta.name != meta.name || buf.meta.buftype != meta.buftype;
        buf.meta = meta;
        buf.announced += 1;
        buf.mirror.saw_tick(tick);
        buf.note_disk();
        if !renamed {
            self.consider(id, roots, out);
            return None;
        }
        buf.real = None;
        buf.resolving = buf.name_is_path().then_some(op);
        if buf.resolving.is_some() {
            return Some(PathBuf::from(&buf.meta.name));
        }
        self.consider(id, roots, out);
        None
    }

    /// Where the name of this buffer leads.
    pub fn resolved(
        &mut self,
        id: BufId,
        op: OpId,
        found: Option<Resolved>,
        roots: &Roots,
        out: &mut Vec<Effect>,
    ) {
        let Some(buf) = self.all.get_mut(&id).filter(|b| b.resolving == Some(op)) else { return };
        buf.resolving = None;
        buf.real = found.filter(|f| matches!(f.kind, PathKind::File | PathKind::Missing)).map(|f| f.real);
        self.consider(id, roots, out);
    }

    /// A path was resolved for somebody else: a buffer of that name leads there too, whatever it led to before (the
    /// file may have been moved, and a link put in its place).
    pub fn leads(&mut self, name: &Path, found: &Resolved, roots: &Roots, out: &mut Vec<Effect>) {
        let stale = |buf: &Buf| {
            buf.resolving.is_none()
                && Path::new(&buf.meta.name) == name
                && buf.real.as_deref() != Some(&found.real)
        };
        let ids: Vec<BufId> = self.all.iter().filter(|(_, buf)| stale(buf)).map(|(id, _)| *id).collect();
        for id in ids {
            if let Some(buf) = self.all.get_mut(&id).filter(|buf| buf.name_is_path()) {
                buf.real = Some(found.real.clone());
                self.consider(id, roots, out);
            }
        }
    }

    /// Roots came or went.
    pub fn reconsider(&mut self, roots: &Roots, out: &mut Vec<Effect>) {
        for id in self.all.keys().copied().collect::<Vec<_>>() {
            self.judge(id, roots, out);
        }
        // Only now, so that the most important ones go first.
        self.schedule(out);
    }

    /// Attaches or detaches one buffer as the policy wants.
    fn consider(&mut self, id: BufId, roots: &Roots, out: &mut Vec<Effect>) {
        self.judge(id, roots, out);
        self.schedule(out);
    }

    /// Decides whether one buffer is to be attached; detaches it when it is not.
    fn judge(&mut self, id: BufId, roots: &Roots, out: &mut Vec<Effect>) {
        let cap = self.max_bytes;
        let Some(buf) = self.all.get_mut(&id) else { return };
        if buf.resolving.is_some() {
            return;
        }
        let wanted = buf.fits(cap) && buf.real.as_deref().is_some_and(|r| roots.any_contains(r));
        match (wanted, buf.state) {
            (true, State::Away) => buf.state = State::Waiting,
            (false, State::Waiting) => buf.state = State::Away,
            (false, State::Filling | State::Ready) => {
                buf.state = State::Away;
                buf.mirror = Mirror::default();
                out.push(Effect::Nvim(NvimCmd::Detach { buf: id }));
            }
            _ => {}
        }
    }

    /// Starts fills while there is room.
    fn schedule(&mut self, out: &mut Vec<Effect>) {
        loop {
            let filling = self.all.values().filter(|b| b.state == State::Filling).count();
            let waiting = self.all.iter().filter(|(_, b)| b.state == State::Waiting);
            let best = waiting
                .max_by_key(|(id, b)| (b.urgent, b.meta.modified, b.meta.visible, std::cmp::Reverse(**id)))
                .map(|(id, b)| (*id, b.urgent));
            match best {
                Some((id, urgent)) if urgent || filling < FILLS => self.fill(id, out),
                _ => return,
            }
        }
    }

    fn fill(&mut self, id: BufId, out: &mut Vec<Effect>) {
        let Some(buf) = self.all.get_mut(&id) else { return };
        buf.state = State::Filling;
        buf.mirror = Mirror::default();
        buf.mirror.saw_tick(buf.meta.tick);
        out.push(Effect::Nvim(NvimCmd::Attach { buf: id }));
        Self::ask(id, buf, out);
    }

    fn ask(id: BufId, buf: &mut Buf, out: &mut Vec<Effect>) {
        buf.asked = buf.mirror.known();
        let later = !(buf.urgent || buf.meta.modified || buf.meta.visible);
        out.push(Effect::Nvim(NvimCmd::Slice { buf: id, start: buf.asked, later }));
    }

    /// A reader waits for this buffer: it goes first.
    pub fn hurry(&mut self, id: BufId, out: &mut Vec<Effect>) {
        let Some(buf) = self.all.get_mut(&id).filter(|b| !b.urgent) else { return };
        let idle = !(buf.meta.modified || buf.meta.visible);
        buf.urgent = true;
        if buf.state == State::Filling && idle {
            // The slice that was asked for comes when the editor idles; this one comes now, and goes on from there.
            Self::ask(id, buf, out);
        }
        self.schedule(out);
    }

    /// Lines changed. Returns whether a mirror became whole or ceased to be.
    pub fn lines(
        &mut self,
        id: BufId,
        tick: Option<u64>,
        (first, last): (usize, Option<usize>),
        lines: &[Vec<u8>],
        more: bool,
        out: &mut Vec<Effect>,
    ) -> bool {
        let attached = |b: &&mut Buf| matches!(b.state, State::Filling | State::Ready);
        let Some(buf) = self.all.get_mut(&id).filter(attached) else { return false };
        let before = buf.ready();
        if tick.is_some() {
            buf.meta.modified = true;
        }
        if let Err(why) = buf.mirror.lines(tick, first, last, lines, more) {
            if why == Lost::Misfit {
                tracing::error!(buf = id.0, "a line event does not fit the mirror; it is filled again");
            }
            buf.state = State::Filling;
            Self::ask(id, buf, out);
        }
        self.check_filled(id, out);
        before != self.ready(id).is_some()
    }

    /// Lines of the buffer as they are now.
    pub fn slice(
        &mut self,
        id: BufId,
        tick: u64,
        (start, total): (usize, usize),
        lines: &[Vec<u8>],
        empty: bool,
        out: &mut Vec<Effect>,
    ) {
        let attached = |b: &&mut Buf| matches!(b.state, State::Filling | State::Ready);
        let Some(buf) = self.all.get_mut(&id).filter(attached) else { return };
        let (was_whole, answer) = (buf.mirror.ready(), empty || buf.asked == start);
        buf.mirror.slice(tick, start, total, lines, empty);
        if !buf.mirror.ready() && (answer || was_whole) {
            buf.state = State::Filling;
            Self::ask(id, buf, out);
        }
        self.check_filled(id, out);
    }

    fn check_filled(&mut self, id: BufId, out: &mut Vec<Effect>) {
        let Some(buf) = self.all.get_mut(&id) else { return };
        if buf.state == State::Filling && buf.mirror.ready() {
            buf.state = State::Ready;
            buf.note_disk();
            buf.urgent = false;
            buf.detaches = 0;
            self.schedule(out);
        }
    }

    /// The tick moved without a change of text.
    pub fn saw_tick(&mut self, id: BufId, tick: u64) {
        if let Some(buf) = self.all.get_mut(&id) {
            buf.mirror.saw_tick(tick);
        }
    }

    /// An edit of ours came back: what the editor says of the buffer now. `eol` stands unless facts came meanwhile;
    /// `stamp` is that of the file the buffer is known to follow, where the editor says so.
    pub fn edited(&mut self, id: BufId, tick: u64, modified: bool, eol: Option<bool>, stamp: Option<Stamp>) {
        if let Some(buf) = self.all.get_mut(&id) {
            buf.mirror.saw_tick(tick);
            buf.meta.modified = modified;
            buf.meta.eol = eol.unwrap_or(buf.meta.eol);
            buf.meta.stamp = stamp.or(buf.meta.stamp);
            buf.note_disk();
        }
    }

    /// The file of this buffer was looked at: it holds `text`, and had this stamp. `merged` with a buffer that has
    /// unsaved text.
    pub fn looked(&mut self, id: BufId, stamp: Stamp, text: Snapshot, merged: bool) {
        if let Some(buf) = self.all.get_mut(&id) {
            buf.disk = Some((Some(stamp), text));
            buf.merged = merged;
        }
    }

    /// Whole mirrors, with where their files are.
    pub fn mirrored(&self) -> impl Iterator<Item = (BufId, &Path)> {
        self.all.iter().filter(|(_, b)| b.ready()).filter_map(|(id, b)| Some((*id, b.real.as_deref()?)))
    }

    /// The attachment ended, the buffer did not.
    pub fn detached(&mut self, id: BufId, out: &mut Vec<Effect>) {
        let attached = |b: &&mut Buf| matches!(b.state, State::Filling | State::Ready);
        let Some(buf) = self.all.get_mut(&id).filter(attached) else { return };
        buf.detaches = buf.detaches.saturating_add(1);
        buf.mirror = Mirror::default();
        buf.state = if buf.detaches > DETACHES { State::Away } else { State::Waiting };
        if buf.state == State::Away {
            tracing::warn!(buf = id.0, "the buffer is detached again and again and is left alone");
        }
        self.schedule(out);
    }

    /// The buffer was unloaded. Gives its unfinished resolve back.
    pub fn closed(&mut self, id: BufId, out: &mut Vec<Effect>) -> Option<OpId> {
        let buf = self.all.remove(&id)?;
        self.schedule(out);
        buf.resolving
    }
}
