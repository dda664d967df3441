//! What the system tells of a watched folder, in the few words that matter here.
//!
//! Runs on the thread of the system's watcher: it may look at a file, never decides, and waits only for the task to take
//! its notes. Called by the system's watcher, which the keeper starts.

use std::path::PathBuf;

use notify::event::{CreateKind, EventKind, ModifyKind, RenameMode};
use tokio::sync::mpsc;

/// Something that happened.
#[derive(Debug)]
pub enum Note {
    /// To a file, or to a folder's own attributes.
    Changed(PathBuf),
    /// Removed or renamed away: a file, or a folder with all in it.
    Gone(PathBuf),
    /// A folder that was not there.
    Made(PathBuf),
    /// The system's queue overflowed.
    Lost,
}

/// Hands on what `event` says, in order. Waits while nobody takes it; the system then merges, or says what was lost.
pub fn take(event: notify::Result<notify::Event>, notes: &mpsc::Sender<Note>) {
    let event = match event {
        Ok(event) => event,
        Err(error) => {
            tracing::debug!(%error, "the system's watcher");
            let _ = notes.blocking_send(Note::Lost);
            return;
        }
    };
    if event.need_rescan() {
        let _ = notes.blocking_send(Note::Lost);
        return;
    }
    let Some(word) = word(event.kind) else { return };
    for path in event.paths {
        let note = match word {
            Word::Gone => Note::Gone(path),
            Word::Came if path.symlink_metadata().is_ok_and(|m| m.is_dir()) => Note::Made(path),
            Word::Came | Word::Changed => Note::Changed(path),
        };
        // Nobody takes notes any more when the runtime ends.
        let _ = notes.blocking_send(note);
    }
}

#[derive(Clone, Copy)]
enum Word {
    Changed,
    Came,
    Gone,
}

/// What kind of change it is; `None`: nothing changed.
fn word(kind: EventKind) -> Option<Word> {
    use notify::event::{AccessKind, AccessMode};
    match kind {
        // A file written through a mapping says no more than this.
        EventKind::Access(AccessKind::Close(AccessMode::Write)) => Some(Word::Changed),
        EventKind::Access(_) => None,
        EventKind::Create(CreateKind::File) => Some(Word::Changed),
        EventKind::Create(_) | EventKind::Modify(ModifyKind::Name(RenameMode::To)) => Some(Word::Came),
        EventKind::Remove(_) | EventKind::Modify(ModifyKind::Name(RenameMode::From)) => Some(Word::Gone),
        // Both halves have been told.
        EventKind::Modify(ModifyKind::Name(RenameMode::Both)) => None,
        // Somewhere else it is not known which half it is.
        EventKind::Modify(ModifyKind::Name(_)) => Some(Word::Came),
        EventKind::Modify(_) | EventKind::Any | EventKind::Other => Some(Word::Changed),
    }
}
