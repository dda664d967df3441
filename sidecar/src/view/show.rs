//! What one transcript buf shows, block by block, and the next patch for it.
//!
//! Owns the number of lines of each entry in the buf, which entries changed, and the choice of what goes first. It never
//! keeps text: entries are handed in with each call. Called by the view room.
//!
//! A patch is one run of lines. Changes that are far apart go one by one: the end of the transcript, where text streams,
//! and the longest waiting change elsewhere take turns.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::ops::Range;

use crate::effect::ViewPatch;
use crate::model::{BufId, EntryId, Millis, QuestionId, SessionKey};
use crate::session::entry::{Body, Entry};

use super::growing::{Folded, Growing};
use super::out::{Look, Out, trim};
use super::render::{self, Cache, Line, Shape};
use super::{BACKLOG_FRAME, FRAME};

/// Unchanged lines that go along between two changes, rather than two patches.
const NEAR: usize = 64;
/// Lines of changed entries before the one that was chosen that may go first.
const BEFORE: usize = 1000;
/// A text of up to so many bytes may be rendered as a whole, where only its end changed.
const SMALL: usize = 4 * 1024;

/// An entry as the buf shows it.
#[derive(Debug)]
struct Block {
    id: EntryId,
    /// An empty line stands above it, if it has any line.
    gap: bool,
    /// Lines in the buf, those of the patch in flight included.
    lines: usize,
    /// Of its last lines, all of those that may change; the ones above never do.
    looks: Vec<Look>,
    /// Of a growing text that is shown.
    growing: Option<Growing>,
    /// Of a folded text.
    folded: Folded,
    /// Of a question that waits.
    question: Option<QuestionId>,
}

/// A patch that was sent and not acknowledged.
#[derive(Clone, Copy, Debug)]
struct Flight {
    version: u64,
    first: usize,
    last: usize,
    lines: usize,
}

/// What one buf shows.
#[derive(Debug)]
pub struct Show {
    buf: BufId,
    flight: Option<Flight>,
    /// No patch before this.
    due: Millis,
    /// All that changed is held back until this, unless more changes.
    held: Option<Millis>,
    /// In the order of the transcript, one for each of its first entries.
    blocks: Vec<Block>,
    /// Lines of all blocks.
    lines: usize,
    /// Blocks from here on were never rendered.
    fresh: usize,
    /// Blocks before `fresh` that changed, with their turn in the order of changes.
    dirty: BTreeMap<usize, u64>,
    /// Of the last change.
    turn: u64,
    /// Entries were announced that are no blocks yet.
    more: bool,
    /// Entries that a person unfolded.
    expanded: HashSet<EntryId>,
    /// Blocks of questions that wait.
    questions: BTreeSet<usize>,
    /// The last patch reached the end of the transcript.
    end_had_its_turn: bool,
}

impl Show {
    /// For a buf that holds one empty line.
    pub fn new(buf: BufId, expanded: HashSet<EntryId>) -> Self {
        Self {
            buf,
            flight: None,
            due: 0,
            held: None,
            blocks: Vec::new(),
            lines: 0,
            fresh: 0,
            dirty: BTreeMap::new(),
            turn: 0,
            more: true,
            expanded,
            questions: BTreeSet::new(),
            end_had_its_turn: false,
        }
    }

    /// What a person unfolded, for the next buf.
    pub fn into_expanded(self) -> HashSet<EntryId> {
        self.expanded
    }

    /// These entries are new or changed.
    pub fn changed(&mut self, ids: impl IntoIterator<Item = EntryId>) {
        self.turn += 1;
        self.held = None;
        for id in ids {
            match self.blocks.binary_search_by_key(&id, |block| block.id) {
                Ok(index) if index < self.fresh => {
                    self.dirty.entry(index).or_insert(self.turn);
                }
                Ok(_) => {}
                Err(_) => self.more = true,
            }
        }
    }

    /// The entry at a line of the buf, as the person saw it before a patch in flight.
    pub fn entry_at(&self, line: usize) -> Option<EntryId> {
        let line = match self.flight {
            Some(flight) if line >= flight.last => line - flight.last + flight.first + flight.lines,
            Some(flight) if line > flight.first => {
                flight.first + (line - flight.first).min(flight.lines.saturating_sub(1))
            }
            _ => line,
        };
        let mut start = 0;
        let block = self.blocks.iter().find(|block| {
            start += block.lines;
            line < start
        })?;
        (!block.gap || line != start - block.lines).then_some(block.id)
    }

    /// Folds or unfolds an entry.
    pub fn toggle(&mut self, id: EntryId) {
        if !self.expanded.remove(&id) {
            self.expanded.insert(id);
        }
        self.changed([id]);
    }

    /// Whether a person unfolded the entry.
    pub fn is_expanded(&self, id: EntryId) -> bool {
        self.expanded.contains(&id)
    }

    /// The buf shows this version.
    pub fn ack(&mut self, version: u64) {
        if self.flight.is_some_and(|flight| flight.version == version) {
            self.flight = None;
        }
    }

    /// The next patch does not wait for its frame.
    pub fn hurry(&mut self) {
        self.due = 0;
    }

    /// Whether a patch is on its way.
    pub fn in_flight(&self) -> bool {
        self.flight.is_some()
    }

    /// Whether there is something to send.
    pub fn is_dirty(&self) -> bool {
        self.more || !self.dirty.is_empty() || self.fresh < self.blocks.len()
    }

    /// When the next patch is due; none when there is nothing to send or the editor must answer first.
    pub fn deadline(&self) -> Option<Millis> {
        let ready = self.flight.is_none() && self.is_dirty();
        ready.then(|| self.due.max(self.held.unwrap_or(0)))
    }

    /// The next patch, if one is due. Counts the bytes that were rendered for it.
    pub fn flush(
        &mut self,
        session: &SessionKey,
        entries: &[Entry],
        version: &mut u64,
        cache: &mut Cache,
        rendered: &mut u64,
        now: Millis,
    ) -> Option<ViewPatch> {
        if self.flight.is_some() || !self.is_dirty() || now < self.due {
            return None;
        }
        self.adopt(entries);
        while let Some(run) = self.choose(entries, now) {
            let mut out = Out::default();
            let replaced = self.render(run, entries, cache, now, &mut out);
            *rendered += (out.bytes + out.dropped) as u64;
            let Some((first, last)) = trim(replaced, &mut out) else { continue };
            *version += 1;
            self.flight = Some(Flight { version: *version, first, last, lines: out.lines.len().max(1) });
            self.due = now + if self.is_dirty() { BACKLOG_FRAME } else { FRAME };
            return Some(ViewPatch {
                session: session.clone(),
                buf: self.buf,
                version: *version,
                first,
                last,
                // A buf cannot hold less than one empty line.
                lines: if self.lines == 0 { vec![String::new()] } else { out.lines },
                marks: out.marks,
                questions: self.question_lines(),
            });
        }
        None
    }

    /// Makes blocks of new entries.
    fn adopt(&mut self, entries: &[Entry]) {
        self.more = false;
        for index in self.blocks.len()..entries.len() {
            let entry = &entries[index];
            let gap = index > 0 && render::stands_apart(&entries[index - 1].body, &entry.body);
            self.blocks.push(Block {
                id: entry.id,
                gap,
                lines: 0,
                looks: Vec::new(),
                growing: None,
                folded: Folded::default(),
                question: None,
            });
        }
    }

    /// The blocks to render next. Only the first of them may keep lines of its own.
    fn choose(&mut self, entries: &[Entry], now: Millis) -> Option<Range<usize>> {
        let held = self.held_end(entries, now);
        let end = self.blocks.len() - usize::from(held.is_some());
        let last = match self.fresh < end {
            true => Some(self.fresh),
            false => end.checked_sub(1).filter(|index| self.dirty.contains_key(index)),
        };
        let oldest = self.dirty.iter().filter(|(index, _)| **index < end && Some(**index) != last);
        let oldest = oldest.min_by_key(|(_, turn)| **turn).map(|(index, _)| *index);
        let Some(chosen) = (if self.end_had_its_turn { oldest.or(last) } else { last.or(oldest) }) else {
            self.held = held;
            return None;
        };
        let (mut from, mut at, mut gap, mut lines) = (chosen, chosen, 0, 0);
        while at > 0 && self.may_follow(at, entries) && gap <= NEAR && lines <= BEFORE {
            at -= 1;
            lines += self.blocks[at].lines;
            if self.dirty.contains_key(&at) {
                (from, gap) = (at, 0);
            } else {
                gap += self.blocks[at].lines.max(1);
            }
        }
        let (mut to, mut at, mut gap) = (chosen + 1, chosen + 1, 0);
        while at < end && self.may_follow(at, entries) && gap <= NEAR {
            if at >= self.fresh {
                to = end;
                break;
            }
            if self.dirty.contains_key(&at) {
                (to, gap) = (at + 1, 0);
            } else {
                gap += self.blocks[at].lines.max(1);
            }
            at += 1;
        }
        self.end_had_its_turn = to == end;
        Some(from..to)
    }

    /// Whether the block may be rendered as a whole, to stand behind others in a patch.
    fn may_follow(&self, index: usize, entries: &[Entry]) -> bool {
        let block = &self.blocks[index];
        block.lines == block.looks.len() || entries.get(index).is_none_or(|e| render::size(&e.body) <= SMALL)
    }

    /// Until when the last entry is held back: nothing of it can be shown but a long line that is still begun.
    fn held_end(&mut self, entries: &[Entry], now: Millis) -> Option<Millis> {
        let last = self.blocks.len().checked_sub(1).filter(|index| self.dirty.contains_key(index))?;
        match &entries.get(last)?.body {
            Body::Message { text, open: true, .. } | Body::Thought { text, open: true, .. } => {
                self.blocks[last].growing.as_mut()?.held(text, now)
            }
            _ => None,
        }
    }

    /// Renders the blocks of a run until the patch is full. The result is where the lines begin that it replaces, and
    /// what they look like.
    fn render(
        &mut self,
        run: Range<usize>,
        entries: &[Entry],
        cache: &mut Cache,
        now: Millis,
        out: &mut Out,
    ) -> (usize, Vec<Look>) {
        let empty = self.lines == 0;
        let mut start = self.line_of(run.start);
        let mut old = Vec::new();
        for index in run.clone() {
            let Some(entry) = entries.get(index) else {
                self.dirty.remove(&index);
                continue;
            };
            let expanded = self.is_expanded(entry.id);
            let shape = render::shape(&entry.body, expanded);
            let block = &mut self.blocks[index];
            let mut keep = 0;
            let mut row = out.lines.len();
            let mut full = false;
            if let Shape::Growing = shape {
                // Nothing changed in the blocks before this one: the patch begins here.
                let first = old == out.looks;
                if first {
                    start += old.len();
                    old.clear();
                    *out = Out { dropped: out.dropped + out.bytes, ..Out::default() };
                }
                match &block.growing {
                    Some(growing) if first => keep = growing.lines,
                    _ => block.growing = None,
                }
                let growing = block.growing.get_or_insert_default();
                row = out.lines.len();
                full = !growing.render(&render::parts(&entry.body, block.gap), now, out);
                old.extend(std::iter::repeat_n(0, block.lines - keep - block.looks.len()));
                old.append(&mut block.looks);
                start += keep;
                let fixed = row + growing.lines - keep;
                block.looks.extend_from_slice(&out.looks[fixed..]);
            } else {
                let mut lines = match shape {
                    Shape::Folded => render::folded(&entry.body, &mut block.folded).into_iter().collect(),
                    _ => render::body(&entry.body, expanded, cache),
                };
                if block.gap && !lines.is_empty() {
                    lines.insert(0, Line::default());
                }
                if !out.fits_all(&lines) {
                    break;
                }
                block.growing = None;
                old.extend(std::iter::repeat_n(0, block.lines - block.looks.len()));
                old.append(&mut block.looks);
                lines.into_iter().for_each(|line| out.force(line));
                block.looks.extend_from_slice(&out.looks[row..]);
            }
            let lines = keep + out.lines.len() - row;
            self.lines = self.lines - block.lines + lines;
            block.lines = lines;
            block.question = render::question_id(&entry.body);
            match block.question {
                Some(_) => self.questions.insert(index),
                None => self.questions.remove(&index),
            };
            self.fresh = self.fresh.max(index + 1);
            if full {
                self.dirty.entry(index).or_insert(self.turn);
                break;
            }
            self.dirty.remove(&index);
        }
        // A buf without any line of ours holds an empty one.
        if empty && !out.lines.is_empty() {
            old.push(0);
        }
        (start, old)
    }

    /// The line at which a block begins.
    fn line_of(&self, index: usize) -> usize {
        if index < self.blocks.len() / 2 {
            self.blocks[..index].iter().map(|block| block.lines).sum()
        } else {
            self.lines - self.blocks[index..].iter().map(|block| block.lines).sum::<usize>()
        }
    }

    /// Where the questions stand that wait.
    fn question_lines(&self) -> Vec<(QuestionId, usize, usize)> {
        let place = |index: &usize| {
            let block = &self.blocks[*index];
            let start = self.line_of(*index);
            let id = block.question.filter(|_| block.lines > 0)?;
            Some((id, start + usize::from(block.gap), start + block.lines))
        };
        self.questions.iter().filter_map(place).collect()
    }
}
