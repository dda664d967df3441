//! The rarer entries of a transcript: compactions, sub-agents, messages between sessions, and what nobody knows.
//!
//! Owns how their parts are merged and worded. Part of `Transcript`; called by the session room.

use crate::model::*;

use super::bounds;
use super::display;
use super::entry::Body;
use super::transcript::Transcript;

/// The mergeable parts of a note; each kind uses its own.
#[derive(Clone, Debug, Default)]
pub(super) struct NoteText {
    /// Compaction: status. Sub-agent: state. Message: sender.
    first: Option<String>,
    /// Compaction: error. Sub-agent: title. Message: recipient.
    second: Option<String>,
    /// Compaction: summary. Sub-agent: description. Message: text.
    text: Option<String>,
}

/// The kinds of notes, as `Body::Note` has them.
pub(super) const COMPACTION: &str = "compaction";
/// A child session.
pub(super) const SUBAGENT: &str = "subagent";
/// Between sessions.
pub(super) const MESSAGE: &str = "message";

impl Transcript {
    /// A live event of the agent.
    pub(super) fn agent_notice(&mut self, severity: &str, title: &str, description: Option<&str>) {
        let level = match severity {
            "error" => "error",
            "warning" | "warn" => "warn",
            _ => "info",
        };
        let text = match description {
            Some(description) => format!("{title}\n{description}"),
            None => title.to_owned(),
        };
        if !text.trim().is_empty() {
            self.notice(level, &text);
        }
    }

    /// Upserts a note; the first mention fixes its place.
    pub(super) fn note(
        &mut self,
        kind: &'static str,
        id: String,
        first: Patch<String>,
        second: Patch<String>,
        text: Patch<String>,
    ) {
        self.change_note(kind, id, |note| {
            first.apply(&mut note.first);
            second.apply(&mut note.second);
            text.apply(&mut note.text);
        });
    }

    /// Appends to a note's text; makes the note when unknown.
    pub(super) fn note_chunk(&mut self, kind: &'static str, id: String, text: &str) {
        self.change_note(kind, id, |note| note.text.get_or_insert_default().push_str(text));
    }

    fn change_note(&mut self, kind: &'static str, id: String, change: impl FnOnce(&mut NoteText)) {
        let key = (kind, id.clone());
        let (entry, mut note) = match self.notes.remove(&key) {
            Some(known) => known,
            None => {
                (self.push(Body::Note { kind, id: id.clone(), text: String::new() }), NoteText::default())
            }
        };
        change(&mut note);
        self.entry_mut(entry).body = Body::Note { kind, id, text: word(kind, &note) };
        self.notes.insert(key, (entry, note));
    }

    /// An update of a kind, or in a shape, that we do not know: shown once per kind, a repeat only counts.
    pub(super) fn unknown(&mut self, kind: String, raw: std::sync::Arc<str>) {
        if let Some((entry, count)) = self.unknown.get_mut(&kind) {
            *count += 1;
            let shown = format!("{} ({count} times)", display::one_line(&kind));
            let entry = *entry;
            if let Body::Unknown { kind, .. } = &mut self.entry_mut(entry).body {
                *kind = shown;
            }
            return;
        }
        tracing::warn!(%kind, raw = %bounds::cut(&raw, 400).unwrap_or_else(|| raw.to_string()), "unknown update");
        if self.unknown.len() >= bounds::UNKNOWN_KINDS {
            return;
        }
        let raw = bounds::cut_shared(raw, bounds::UNKNOWN_RAW);
        let entry = self.push(Body::Unknown { kind: display::one_line(&kind), raw });
        self.unknown.insert(kind, (entry, 1));
    }
}

fn word(kind: &str, note: &NoteText) -> String {
    let line = |part: &Option<String>| part.as_deref().map(display::one_line).filter(|s| !s.is_empty());
    let (first, second) = (line(&note.first), line(&note.second));
    let head = match kind {
        COMPACTION => {
            let status = first.unwrap_or_else(|| "in_progress".to_owned());
            match second {
                Some(error) => format!("context compaction: {status}: {error}"),
                None => format!("context compaction: {status}"),
            }
        }
        SUBAGENT => {
            let title = second.unwrap_or_else(|| "sub-agent".to_owned());
            first.map_or_else(|| title.clone(), |state| format!("{title} ({state})"))
        }
        _ => match (first, second) {
            (None, None) => "message between sessions".to_owned(),
            (from, to) => {
                format!(
                    "{} → {}",
                    from.unwrap_or_else(|| "?".to_owned()),
                    to.unwrap_or_else(|| "?".to_owned())
                )
            }
        },
    };
    match note.text.as_deref().map(display::block) {
        Some(text) if !text.is_empty() => format!("{head}\n{text}"),
        _ => head,
    }
}
