//! What each session believes of each file: the text as its agent last saw or wrote it.
//!
//! Owns that belief by session and real path. It never decides whether a write may land (`rebase` does). Called by reads,
//! writes and the room. Bounded: [`OLDER`] older texts a file, [`FILES`] files and [`BYTES`] a session, least lately used
//! dropped first; a file that was dropped counts as never seen. Texts share their ropes with the mirrors they came from.
//!
//! A read of some lines advances the belief for these lines only. A write replaces it by what the agent wrote, not by what
//! came of the merge: the agent does not know of lines that a person added, and its next write must not take them out.
//! What a formatter made of the text at or after the save is believed at once, since the agent would be asked about it
//! with every write otherwise.

use std::collections::{HashMap, VecDeque};
use std::path::{Path, PathBuf};

use ropey::Rope;

use crate::model::SessionKey;
use crate::workspace::lines::{Span, changes, flat, split};
use crate::workspace::rebase;
use crate::workspace::text::Snapshot;

/// Older texts kept of one file.
pub const OLDER: usize = 4;
/// Files remembered for one session.
pub const FILES: usize = 512;
/// Bytes of texts remembered for one session, each counted where it is kept. Its newest file is kept in any case.
pub const BYTES: usize = 256 << 20;

/// What a session knows of a file's text.
#[derive(Clone, Debug, PartialEq)]
pub struct Known {
    /// The text as the agent believes it to be.
    pub text: Snapshot,
    /// Lines of `text` that it has really been given, ascending; `None` when all.
    pub served: Option<Vec<Span>>,
    /// What it believed before, newest last, back to its own last write: it may still write from one of these.
    pub older: Vec<Snapshot>,
    /// What it wrote last, in the turn that runs.
    pub own: Option<Snapshot>,
    /// Its last look was at some lines only, so that it may well go on from an older one.
    pub glimpsed: bool,
    /// It has read the file since it last wrote it, or before its first write.
    pub read: bool,
    /// The text right after our save, while what changes is still a formatter's. See [`Beliefs::typed`].
    settling: Option<Snapshot>,
}

/// See [`Known`].
#[derive(Clone, Debug, PartialEq)]
pub enum Belief {
    /// It was told that there is no such file.
    Missing,
    /// It knows a text.
    Text(Box<Known>),
}

impl Belief {
    /// Of all its texts.
    fn bytes(&self) -> usize {
        let Self::Text(known) = self else { return 0 };
        let texts = [Some(&known.text), known.own.as_ref(), known.settling.as_ref()];
        texts.into_iter().flatten().chain(&known.older).map(|text| text.rope.len_bytes()).sum()
    }
}

#[derive(Debug, Default)]
struct Files {
    beliefs: HashMap<PathBuf, Belief>,
    /// Least lately used first.
    order: VecDeque<PathBuf>,
}

/// See the module. A session's part is dropped with the session.
#[derive(Debug, Default)]
pub struct Beliefs {
    by_session: HashMap<SessionKey, Files>,
}

impl Beliefs {
    /// What the session knows, if anything.
    pub fn get(&self, session: &SessionKey, real: &Path) -> Option<&Belief> {
        self.by_session.get(session)?.beliefs.get(real)
    }

    fn put(&mut self, session: &SessionKey, real: &Path, belief: Belief) {
        let files = self.by_session.entry(session.clone()).or_default();
        files.order.retain(|p| p != real);
        files.order.push_back(real.to_owned());
        files.beliefs.insert(real.to_owned(), belief);
        let mut bytes: usize = files.beliefs.values().map(Belief::bytes).sum();
        while files.order.len() > FILES || files.order.len() > 1 && bytes > BYTES {
            let oldest = files.order.pop_front().and_then(|oldest| files.beliefs.remove(&oldest));
            bytes -= oldest.as_ref().map_or(0, Belief::bytes);
        }
    }

    fn take(&mut self, session: &SessionKey, real: &Path) -> Option<Known> {
        match self.by_session.get_mut(session)?.beliefs.remove(real)? {
            Belief::Text(known) => Some(*known),
            Belief::Missing => None,
        }
    }

    /// The session was told that there is no such file.
    pub fn missing(&mut self, session: &SessionKey, real: &Path) {
        self.put(session, real, Belief::Missing);
    }

    /// The session was served lines `span` of `text`.
    pub fn served(&mut self, session: &SessionKey, real: &Path, text: Snapshot, span: Span) {
        let all = span.start == 0 && span.end >= text.lines();
        let belief = match self.take(session, real).map(|k| k.settled(&text)) {
            None => Known {
                served: (!all).then(|| vec![span]),
                text,
                older: Vec::new(),
                own: None,
                read: true,
                glimpsed: false,
                settling: None,
            },
            Some(known) if all => known.believes(text, None, false),
            Some(known) => known.glimpsed(&text, span),
        };
        self.put(session, real, Belief::Text(Box::new(belief)));
    }

    /// The session wrote `own`; `landed` is what came of that in the file, `after` what the file is after its save.
    pub fn wrote(
        &mut self,
        session: &SessionKey,
        real: &Path,
        own: Snapshot,
        landed: &Snapshot,
        after: Snapshot,
    ) {
        let text = with_changes(&own, landed, &after);
        let known = Known {
            text,
            served: None,
            older: Vec::new(),
            own: Some(own),
            read: false,
            glimpsed: false,
            settling: Some(after),
        };
        self.put(session, real, Belief::Text(Box::new(known)));
    }

    /// A person may be the author of what changes from now on: up to here it was a formatter. `live` gives the present
    /// text of an open file.
    pub fn typed(&mut self, live: impl Fn(&Path) -> Option<Snapshot>) {
        for files in self.by_session.values_mut() {
            for (real, belief) in &mut files.beliefs {
                if let Belief::Text(known) = belief
                    && known.settling.is_some()
                {
                    **known = match live(real) {
                        Some(live) => known.as_ref().clone().settled(&live),
                        None => Known { settling: None, ..known.as_ref().clone() },
                    };
                }
            }
        }
    }

    /// As [`Self::typed`], for one file and any author: its text is about to be changed, and by no formatter.
    pub fn settle(&mut self, real: &Path, live: &Snapshot) {
        for files in self.by_session.values_mut() {
            if let Some(Belief::Text(known)) = files.beliefs.get_mut(real)
                && known.settling.is_some()
            {
                **known = known.as_ref().clone().settled(live);
            }
        }
    }

    /// What sessions wrote last to this file, each once.
    pub fn own(&self, real: &Path) -> Vec<Snapshot> {
        let mut out: Vec<Snapshot> = Vec::new();
        for files in self.by_session.values() {
            if let Some(Belief::Text(known)) = files.beliefs.get(real)
                && let Some(own) = &known.own
                && !out.contains(own)
            {
                out.push(own.clone());
            }
        }
        out
    }

    /// The session's turn is over: a text that it wrote in it and that comes up on disk again is somebody else's doing (a
    /// checkout, say), and no echo.
    pub fn turn_over(&mut self, session: &SessionKey) {
        for belief in self.by_session.get_mut(session).into_iter().flat_map(|f| f.beliefs.values_mut()) {
            if let Belief::Text(known) = belief {
                known.own = None;
            }
        }
    }

    /// The session is over, or its agent a new one.
    pub fn remove(&mut self, session: &SessionKey) {
        self.by_session.remove(session);
    }
}

impl Known {
    /// With what a formatter did until now.
    fn settled(self, live: &Snapshot) -> Self {
        match &self.settling {
            Some(saved) if saved != live => {
                let text = with_changes(&self.text, saved, live);
                Self { text, settling: None, ..self }
            }
            _ => Self { settling: None, ..self },
        }
    }

    fn believes(mut self, text: Snapshot, served: Option<Vec<Span>>, glimpsed: bool) -> Self {
        if self.text != text {
            self.older.push(self.text);
            if self.older.len() > OLDER {
                self.older.remove(0);
            }
        }
        Self { text, served, older: self.older, own: self.own, read: true, glimpsed, settling: None }
    }

    /// It was given lines `span` of `now`, and knows the rest as before.
    fn glimpsed(self, now: &Snapshot, span: Span) -> Self {
        let (was, is) = (flat(&self.text.rope), flat(&now.rope));
        let (was, is) = (split(&was), split(&is));
        let mut before = vec![self.served.is_none(); was.len()];
        for span in self.served.iter().flatten() {
            before[span.start.min(was.len())..span.end.min(was.len())].fill(true);
        }
        let mut text = String::with_capacity(now.rope.len_bytes());
        let mut given = Vec::new();
        let mut at = (0, 0);
        let end = (was.len()..was.len(), is.len()..is.len());
        for (o, n) in changes(&was, &is).into_iter().chain([end]) {
            for (i, line) in is[at.1..n.start].iter().enumerate() {
                text.push_str(line);
                given.push(before[at.0 + i] || span.contains(&(at.1 + i)));
            }
            let seen = if n.is_empty() {
                span.start < n.start && n.start < span.end
            } else {
                span.start <= n.start && n.end <= span.end
            };
            // What it never knew is as it is now; what it knew stays as it knew it, unless it just saw the change.
            if seen || !knew(&before, &o) {
                for (i, line) in is[n.clone()].iter().enumerate() {
                    text.push_str(line);
                    given.push(span.contains(&(n.start + i)));
                }
            } else {
                for (i, line) in was[o.clone()].iter().enumerate() {
                    text.push_str(line);
                    given.push(before[o.start + i]);
                }
            }
            at = (o.end, n.end);
        }
        let last = span.end >= is.len();
        let text = Snapshot { rope: Rope::from_str(&text), eol: if last { now.eol } else { self.text.eol } };
        let served = if given.iter().all(|g| *g) { None } else { Some(spans(&given)) };
        self.believes(text, served, true)
    }
}

/// Whether any of these lines was known; of a place between two lines, whether what is beside it was.
fn knew(before: &[bool], span: &Span) -> bool {
    match (span.is_empty(), before.is_empty()) {
        (false, _) => before[span.clone()].contains(&true),
        (true, true) => true,
        (true, false) => {
            let beside = span.start.saturating_sub(1)..(span.start + 1).min(before.len());
            !before[beside].contains(&false)
        }
    }
}

fn spans(given: &[bool]) -> Vec<Span> {
    let mut out: Vec<Span> = Vec::new();
    for at in given.iter().enumerate().filter(|(_, g)| **g).map(|(at, _)| at) {
        match out.last_mut() {
            Some(last) if last.end == at => last.end += 1,
            _ => out.push(at..at + 1),
        }
    }
    out
}

/// `text` with the changes from `from` to `to`, where they do not touch what is different in `text`.
fn with_changes(text: &Snapshot, from: &Snapshot, to: &Snapshot) -> Snapshot {
    if text == from {
        return to.clone();
    }
    rebase::plain(from, text, to.clone()).text
}

#[cfg(test)]
// A list of one span is what is meant.
#[expect(clippy::single_range_in_vec_init)]
mod tests;
