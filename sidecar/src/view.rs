//! The view room: transcripts as plain lines with marks, sent to the editor in frames.
//!
//! Owns what each transcript buf shows and when the next patch is due. It never changes a transcript, keeps none of its
//! text and never talks to the editor. At most one patch is in flight for a buf, so a slow editor gets fewer and larger
//! ones. Called by the app.
//!
//! The buf holds exactly the rendered lines, and one empty line where there are none. A streaming message is rendered
//! from its last line on only; the rest of it is never looked at again.

mod escape;
mod growing;
mod markdown;
mod out;
mod render;
mod show;

use std::collections::BTreeMap;

use crate::effect::ViewPatch;
use crate::model::{BufId, EntryId, Millis, SessionKey};
use crate::session::entry::Entry;
use render::Cache;
use show::Show;

pub use render::GROUPS;

/// Shortest time between two patches of a buf, in milliseconds: at most 30 a second.
pub const FRAME: Millis = 33;
/// The same while a patch could not hold all there is: at most 40 a second.
pub const BACKLOG_FRAME: Millis = 26;
/// Text of a patch in bytes, line ends included; only a line that is longer by itself goes beyond it, without another one
/// but the names below a prompt. What is left follows with the next patch. Per second this is far beyond what any agent says, and still little for the editor.
pub const PATCH_BYTES: usize = 256 * 1024;
/// Lines of a patch.
pub const PATCH_LINES: usize = 4096;
/// Marks of a patch.
pub const PATCH_MARKS: usize = 4096;

/// All transcripts that are shown.
#[derive(Debug, Default)]
pub struct View {
    shows: BTreeMap<SessionKey, Show>,
    /// Of the last patch of any session: a late acknowledgement never fits a later buf.
    version: u64,
    /// Comparisons that were shown lately.
    cache: Cache,
    /// Bytes of lines rendered so far, for budgets.
    rendered: u64,
}

impl View {
    /// Nothing is shown.
    pub fn new() -> Self {
        Self::default()
    }

    /// This buf, which holds nothing, shows the session from now on, from its first line. What a person unfolded in the
    /// buf before stays unfolded.
    pub fn open(&mut self, session: SessionKey, buf: BufId) {
        let expanded = self.shows.remove(&session).map(Show::into_expanded).unwrap_or_default();
        self.shows.insert(session, Show::new(buf, expanded));
    }

    /// No buf shows the session any more.
    pub fn close(&mut self, session: &SessionKey) {
        self.shows.remove(session);
    }

    /// These entries are new or changed.
    pub fn changed(&mut self, session: &SessionKey, ids: impl IntoIterator<Item = EntryId>) {
        if let Some(show) = self.shows.get_mut(session) {
            show.changed(ids);
        }
    }

    /// The entry at a zero-based line of the buf.
    pub fn entry_at(&self, session: &SessionKey, line: usize) -> Option<EntryId> {
        self.shows.get(session)?.entry_at(line)
    }

    /// Folds or unfolds the entry at a zero-based line of the buf.
    pub fn toggle(&mut self, session: &SessionKey, line: usize) {
        if let Some(show) = self.shows.get_mut(session)
            && let Some(entry) = show.entry_at(line)
        {
            show.toggle(entry);
        }
    }

    /// The buf shows this version.
    pub fn ack(&mut self, session: &SessionKey, version: u64) {
        if let Some(show) = self.shows.get_mut(session) {
            show.ack(version);
        }
    }

    /// Whether the buf does not show all there is yet.
    pub fn behind(&self, session: &SessionKey) -> bool {
        self.shows.get(session).is_some_and(|show| show.in_flight() || show.is_dirty())
    }

    /// The next patch of this session does not wait for its frame.
    pub fn hurry(&mut self, session: &SessionKey) {
        if let Some(show) = self.shows.get_mut(session) {
            show.hurry();
        }
    }

    /// Sessions that have something to send and are not held up by the editor.
    pub fn sessions(&self) -> Vec<SessionKey> {
        let ready = self.shows.iter().filter(|(_, show)| show.deadline().is_some());
        ready.map(|(key, _)| key.clone()).collect()
    }

    /// When the next patch that is not held up by the editor is due.
    pub fn next_deadline(&self) -> Option<Millis> {
        self.shows.values().filter_map(Show::deadline).min()
    }

    /// The next patch, if there is something to show, the frame is due and the last patch has arrived. `entries` are
    /// all of the transcript, ascending; entries are never removed, and their texts only grow.
    pub fn flush(&mut self, session: &SessionKey, entries: &[Entry], now: Millis) -> Option<ViewPatch> {
        let show = self.shows.get_mut(session)?;
        show.flush(session, entries, &mut self.version, &mut self.cache, &mut self.rendered, now)
    }

    /// Bytes of lines rendered since the start: what a stream costs, without a clock.
    pub fn rendered(&self) -> u64 {
        self.rendered
    }
}

#[cfg(test)]
mod tests;
