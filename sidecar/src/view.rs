//! The view room: transcripts as plain lines with marks, sent to the editor in frames.
//!
//! Owns what each transcript buf shows and when the next patch is due. It never changes a transcript and never talks to
//! the editor. At most one patch is in flight for a buf, so a slow editor gets fewer and larger ones. Called by the app.
//!
//! A streaming message is rendered from its last line on only; the rest of it is never looked at again.

mod markdown;
mod render;

use std::collections::{BTreeMap, BTreeSet, HashSet};

use crate::effect::{ViewMark, ViewPatch};
use crate::model::{BufId, EntryId, Millis, QuestionId, SessionKey};
use crate::session::entry::{Body, Entry};
use markdown::Fence;
use render::Line;

pub use render::GROUPS;

/// Shortest time between two patches of a buf: at most 30 a second.
pub const FRAME: Millis = 33;
/// Text of a patch, in bytes, after which the rest waits for the next frame. At 30 patches a second this is far beyond
/// what any agent says, and still little for the editor.
pub const PATCH_BYTES: usize = 256 * 1024;
/// Changed entries that are further apart than this many unchanged lines go in patches of their own.
const NEAR: usize = 200;

/// Where the rendering of a growing text goes on.
#[derive(Clone, Copy, Debug, Default)]
struct Resume {
    /// Bytes of the text that are rendered for good.
    bytes: usize,
    /// Lines of the block that are rendered for good.
    lines: usize,
    /// Whether those end inside a code fence.
    fence: Option<Fence>,
}

/// An entry as it is shown.
#[derive(Debug)]
struct Block {
    id: EntryId,
    /// Lines in the buf.
    lines: usize,
    /// Of a growing text only.
    resume: Option<Resume>,
    /// Of a question that waits.
    question: Option<QuestionId>,
}

/// What one buf shows.
#[derive(Debug)]
struct Show {
    buf: BufId,
    /// Of the last patch.
    version: u64,
    /// Sent and not acknowledged.
    in_flight: bool,
    /// No patch before this.
    due: Millis,
    /// In the order of the transcript.
    blocks: Vec<Block>,
    dirty: BTreeSet<EntryId>,
    expanded: HashSet<EntryId>,
    /// The end was passed over last time, so it comes first now.
    end_first: bool,
}

/// All transcripts that are shown.
#[derive(Debug, Default)]
pub struct View {
    shows: BTreeMap<SessionKey, Show>,
}

impl View {
    /// Nothing is shown.
    pub fn new() -> Self {
        Self::default()
    }

    /// This buf, which holds nothing, shows the session from now on; the app reports all entries as changed.
    pub fn open(&mut self, session: SessionKey, buf: BufId) {
        let version = self.shows.get(&session).map_or(0, |show| show.version);
        self.shows.insert(
            session,
            Show {
                buf,
                version,
                in_flight: false,
                due: 0,
                blocks: Vec::new(),
                dirty: BTreeSet::new(),
                expanded: HashSet::new(),
                end_first: false,
            },
        );
    }

    /// No buf shows the session any more.
    pub fn close(&mut self, session: &SessionKey) {
        self.shows.remove(session);
    }

    /// These entries are new or changed.
    pub fn changed(&mut self, session: &SessionKey, ids: impl IntoIterator<Item = EntryId>) {
        if let Some(show) = self.shows.get_mut(session) {
            show.dirty.extend(ids);
        }
    }

    /// Folds or unfolds the entry at a zero-based line of the buf.
    pub fn toggle(&mut self, session: &SessionKey, line: usize) {
        let Some(show) = self.shows.get_mut(session) else { return };
        let mut end = 0;
        for block in &show.blocks {
            end += block.lines;
            if line < end {
                if !show.expanded.remove(&block.id) {
                    show.expanded.insert(block.id);
                }
                show.dirty.insert(block.id);
                return;
            }
        }
    }

    /// The buf shows this version.
    pub fn ack(&mut self, session: &SessionKey, version: u64) {
        if let Some(show) = self.shows.get_mut(session)
            && show.version == version
        {
            show.in_flight = false;
        }
    }

    /// Whether the buf does not show all there is yet.
    pub fn behind(&self, session: &SessionKey) -> bool {
        self.shows.get(session).is_some_and(|show| show.in_flight || !show.dirty.is_empty())
    }

    /// The next patch of this session does not wait for its frame.
    pub fn hurry(&mut self, session: &SessionKey) {
        if let Some(show) = self.shows.get_mut(session) {
            show.due = 0;
        }
    }

    /// Sessions that have something to send.
    pub fn sessions(&self) -> Vec<SessionKey> {
        self.shows.iter().filter(|(_, show)| !show.dirty.is_empty()).map(|(key, _)| key.clone()).collect()
    }

    /// When the next patch that is not held up by the editor is due.
    pub fn next_deadline(&self) -> Option<Millis> {
        let ready = |show: &&Show| !show.in_flight && !show.dirty.is_empty();
        self.shows.values().filter(ready).map(|show| show.due).min()
    }

    /// The next patch, if there is something to show, the frame is due and the last patch has arrived. `entries` are
    /// all of the transcript, ascending.
    pub fn flush(&mut self, session: &SessionKey, entries: &[Entry], now: Millis) -> Option<ViewPatch> {
        let show = self.shows.get_mut(session)?;
        if show.in_flight || show.dirty.is_empty() || now < show.due {
            return None;
        }
        let patch = show.patch(session, entries)?;
        show.in_flight = true;
        show.due = now + FRAME;
        Some(patch)
    }
}

impl Show {
    fn patch(&mut self, session: &SessionKey, entries: &[Entry]) -> Option<ViewPatch> {
        for entry in &entries[self.blocks.len().min(entries.len())..] {
            self.blocks.push(Block { id: entry.id, lines: 0, resume: None, question: None });
            self.dirty.insert(entry.id);
        }
        let (from, to) = self.next_range()?;
        let before: usize = self.blocks[..from].iter().map(|block| block.lines).sum();
        let total: usize = self.blocks.iter().map(|block| block.lines).sum();
        let keep = self.resume(from, &entries[from]).map_or(0, |resume| resume.lines);
        let first = before + keep;
        let mut last = first;
        let mut out = Out::default();
        for index in from..=to {
            let was = self.blocks[index].lines - if index == from { keep } else { 0 };
            if index != from {
                self.blocks[index].resume = None;
            }
            self.render(index, entries, &mut out);
            last += was;
            if out.bytes >= PATCH_BYTES {
                break;
            }
        }
        // A buf without any line of ours holds one empty line.
        if total == 0 {
            last = 1;
        }
        self.version += 1;
        let mut questions = Vec::new();
        let mut at = 0;
        for block in &self.blocks {
            if let Some(id) = block.question {
                questions.push((id, at, at + block.lines));
            }
            at += block.lines;
        }
        let version = self.version;
        Some(ViewPatch {
            session: session.clone(),
            buf: self.buf,
            version,
            first,
            last,
            lines: out.lines,
            marks: out.marks,
            questions,
        })
    }

    /// The blocks to send next, both ends included: one run of changes without a long gap.
    fn next_range(&mut self) -> Option<(usize, usize)> {
        self.dirty.retain(|id| self.blocks.binary_search_by_key(id, |block| block.id).is_ok());
        let dirty: Vec<usize> =
            self.dirty.iter().filter_map(|id| self.blocks.binary_search_by_key(id, |b| b.id).ok()).collect();
        let mut runs: Vec<(usize, usize)> = Vec::new();
        for index in dirty {
            match runs.last_mut() {
                Some((_, end)) if self.gap(*end, index) <= NEAR => *end = index,
                _ => runs.push((index, index)),
            }
        }
        let run = if self.end_first { runs.last() } else { runs.first() };
        let run = run.copied();
        // Blocks that are not shown yet can only be appended in order.
        let shown = self.blocks.iter().rposition(|block| block.lines > 0);
        let run = match (run, runs.first()) {
            (Some(run), Some(first)) if shown.is_none_or(|shown| run.0 <= shown + 1) || run == *first => {
                Some(run)
            }
            (_, first) => first.copied(),
        };
        self.end_first = !self.end_first && runs.len() > 1;
        run
    }

    /// Unchanged lines between what changed in two blocks.
    fn gap(&self, end: usize, next: usize) -> usize {
        let between: usize = self.blocks[end + 1..next].iter().map(|block| block.lines).sum();
        between + self.blocks[next].resume.map_or(0, |resume| resume.lines)
    }

    /// Where the text of a block goes on, when it only grew.
    fn resume(&self, index: usize, entry: &Entry) -> Option<Resume> {
        match &entry.body {
            Body::Message { text, .. } => {
                self.blocks[index].resume.filter(|resume| text.is_char_boundary(resume.bytes))
            }
            _ => None,
        }
    }

    fn render(&mut self, index: usize, entries: &[Entry], out: &mut Out) {
        let entry = &entries[index];
        let gap = index > 0 && render::stands_apart(&entries[index - 1].body, &entry.body);
        if let Body::Message { text, .. } = &entry.body {
            self.render_text(index, text, gap, out);
            return;
        }
        let expanded = self.expanded.contains(&entry.id);
        let lines = render::body(&entry.body, expanded);
        let block = &mut self.blocks[index];
        block.question = match &entry.body {
            Body::Question(question) if question.outcome.is_none() => Some(question.id),
            _ => None,
        };
        block.lines = 0;
        if gap && !lines.is_empty() {
            out.push(Line::default());
            block.lines += 1;
        }
        for line in lines {
            out.push(line);
            block.lines += 1;
        }
        self.dirty.remove(&entry.id);
    }

    /// A growing text from where it was left; stops when the patch is full.
    fn render_text(&mut self, index: usize, text: &str, gap: bool, out: &mut Out) {
        let block = &mut self.blocks[index];
        let start = block.resume.filter(|resume| text.is_char_boundary(resume.bytes));
        let mut resume = start.unwrap_or_default();
        let text = text.trim_end_matches(['\n', '\r']);
        block.lines = resume.lines;
        if start.is_none() && gap && !text.is_empty() {
            out.push(Line::default());
            block.lines += 1;
        }
        let mut fence = resume.fence;
        let mut at = resume.bytes;
        while at < text.len() {
            let end = text[at..].find('\n').map_or(text.len(), |n| at + n + 1);
            let raw = text[at..end].trim_end_matches('\n').trim_end_matches('\r');
            // The line that is begun here may still grow: go on from here next time.
            resume = Resume { bytes: at, lines: block.lines, fence };
            out.push(render::text_line(raw, &mut fence));
            block.lines += 1;
            at = end;
            if out.bytes >= PATCH_BYTES && at < text.len() {
                block.resume = Some(Resume { bytes: at, lines: block.lines, fence });
                return;
            }
        }
        if !text.is_empty() {
            block.resume = Some(resume);
        }
        let id = block.id;
        self.dirty.remove(&id);
    }
}

/// The lines of a patch as they come together.
#[derive(Default)]
struct Out {
    lines: Vec<String>,
    marks: Vec<ViewMark>,
    bytes: usize,
}

impl Out {
    fn push(&mut self, line: Line) {
        let row = self.lines.len();
        self.bytes += line.text.len() + 1;
        self.marks.extend(line.spans.iter().map(|span| ViewMark {
            row,
            col: span.col,
            end: span.end,
            group: span.group,
        }));
        self.lines.push(line.text);
    }
}

#[cfg(test)]
mod tests;
