//! A session's transcript: entries in order of appearance, and which of them changed.
//!
//! Owns the entries, the cutting of a stream of chunks into messages, and the tables that find an entry again by what
//! the agent calls it. It never renders and never decides what a turn is; the session room tells it. The view room
//! reads entries and takes changes.
//!
//! Entries are only ever appended and changed in place, so ids ascend by one from zero.

use std::collections::{BTreeSet, HashMap};

use crate::model::*;

use super::bounds;
use super::cards::Card;
use super::display;
use super::entry::{Body, Entry, QuestionEntry, StopReason};
use super::notes::NoteText;

/// What changed since the last `Transcript::take_changes`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Changes {
    /// Appended or changed entries. Entries are never removed; a removed plan keeps an entry with an empty plan.
    pub changed: BTreeSet<EntryId>,
}

/// The entries of one session.
#[derive(Debug, Default)]
pub struct Transcript {
    /// In order of appearance; an entry's id is its place.
    pub(super) entries: Vec<Entry>,
    /// See `Changes`; emptied when taken.
    changed: BTreeSet<EntryId>,
    /// Number of the running turn, else of the last one; 0 before the first prompt.
    pub(super) turn: u32,
    /// Whether that turn still runs.
    pub(super) live: bool,
    /// Whether that turn was cancelled: its unfinished cards are shown as such at once. Reset by the next turn.
    pub(super) cancelled: bool,
    /// The message that chunks without an id append to: the last one, unless something closed it.
    current: Option<EntryId>,
    /// Messages of this turn by role and message id. Ids of earlier turns are forgotten, because agents reuse them.
    messages: HashMap<(Role, String), EntryId>,
    /// The newest card of each tool call id.
    pub(super) cards: HashMap<String, Card>,
    /// The card of each terminal.
    pub(super) terminals: HashMap<TerminalId, EntryId>,
    /// The newest entry of each plan id.
    plans: HashMap<Option<String>, EntryId>,
    /// Compactions, sub-agents and messages between sessions by kind and id.
    pub(super) notes: HashMap<(&'static str, String), (EntryId, NoteText)>,
    /// Entry and number of occurrences of each unknown kind, at most `bounds::UNKNOWN_KINDS`.
    pub(super) unknown: HashMap<String, (EntryId, u64)>,
}

impl Transcript {
    /// All entries, in order of appearance.
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// One entry.
    pub fn get(&self, id: EntryId) -> Option<&Entry> {
        self.entries.get(usize::try_from(id.0).ok()?)
    }

    /// What changed since this was last called.
    pub fn take_changes(&mut self) -> Changes {
        Changes { changed: std::mem::take(&mut self.changed) }
    }

    /// Opens the next turn with the person's prompt.
    pub(super) fn begin_turn(&mut self, text: String, context: Vec<String>) {
        self.close_message();
        // Calls that started between the turns would otherwise be closed with, and shown as, this turn's.
        self.end_cards(false);
        self.turn += 1;
        self.live = true;
        self.cancelled = false;
        self.messages.clear();
        self.push(Body::User { text, context });
    }

    /// Closes the turn. Cards left open are shown as ended: `stopped` says by a cancel, an error or an exit.
    pub(super) fn end_turn(
        &mut self,
        reason: StopReason,
        detail: Vec<String>,
        usage: Option<String>,
        stopped: bool,
    ) {
        self.close_message();
        self.end_cards(stopped);
        self.live = false;
        self.push(Body::TurnEnd { reason, detail, usage });
    }

    /// A piece of a message. Without an id it continues the open message of its role; an id selects its message even
    /// when another entry came between. An empty piece makes nothing.
    pub(super) fn chunk(&mut self, role: Role, message: Option<String>, content: &Content) {
        let (piece, own_line) = shown(content);
        if piece.is_empty() {
            return;
        }
        let known = match &message {
            Some(id) => self.messages.get(&(role, id.clone())).copied(),
            None => self.current.filter(|id| self.get(*id).is_some_and(|e| role_of(&e.body) == Some(role))),
        };
        if self.current != known || known.is_none() {
            self.close_message();
        }
        let id = known.unwrap_or_else(|| self.open_message(role, message));
        self.current = Some(id);
        match &mut self.entry_mut(id).body {
            Body::Message { text, open, .. } | Body::Thought { text, open, .. } => {
                *open = true;
                append(text, &piece, own_line);
            }
            Body::User { text, .. } => append(text, &piece, own_line),
            _ => {}
        }
    }

    fn open_message(&mut self, role: Role, message_id: Option<String>) -> EntryId {
        let body = match role {
            Role::User => Body::User { text: String::new(), context: Vec::new() },
            Role::Agent => Body::Message { text: String::new(), message_id: message_id.clone(), open: true },
            Role::Thought => {
                Body::Thought { text: String::new(), message_id: message_id.clone(), open: true }
            }
        };
        let id = self.push(body);
        if let Some(message) = message_id {
            self.messages.insert((role, message), id);
        }
        id
    }

    /// The next chunk without an id starts a new message.
    pub(super) fn close_message(&mut self) {
        let Some(id) = self.current.take() else { return };
        let was_open = matches!(
            self.get(id).map(|e| &e.body),
            Some(Body::Message { open: true, .. } | Body::Thought { open: true, .. })
        );
        if was_open
            && let Body::Message { open, .. } | Body::Thought { open, .. } = &mut self.entry_mut(id).body
        {
            *open = false;
        }
    }

    /// Replaces the plan with that id: in place within its turn, as a new entry in a later turn, so that an earlier
    /// turn keeps what it had. An empty plan clears the newest one and never makes an entry.
    pub(super) fn plan(&mut self, id: Option<String>, body: PlanBody) {
        self.close_message();
        let empty = matches!(&body, PlanBody::Items(items) if items.is_empty());
        let known = self.plans.get(&id).copied();
        let known = known.filter(|e| empty || self.get(*e).is_some_and(|entry| entry.turn == self.turn));
        match known {
            Some(entry) => {
                let same = matches!(self.get(entry).map(|e| &e.body), Some(Body::Plan { body: old, .. }) if *old == body);
                if !same {
                    self.entry_mut(entry).body = Body::Plan { id, body };
                }
            }
            None if empty => {}
            None => {
                let entry = self.push(Body::Plan { id: id.clone(), body });
                self.plans.insert(id, entry);
            }
        }
    }

    /// Empties the plan with that id; an unknown id is ignored.
    pub(super) fn plan_removed(&mut self, id: String) {
        self.plan(Some(id), PlanBody::Items(Vec::new()));
    }

    /// Something to know. The text is escaped here.
    pub(super) fn notice(&mut self, level: &'static str, text: &str) -> EntryId {
        self.push(Body::Notice { level, text: display::block(text) })
    }

    /// Puts up a question.
    pub(super) fn question(&mut self, question: QuestionEntry) -> EntryId {
        self.close_message();
        self.push(Body::Question(question))
    }

    /// The question at this entry.
    pub(super) fn question_at(&self, id: EntryId) -> Option<&QuestionEntry> {
        match &self.get(id)?.body {
            Body::Question(question) => Some(question),
            _ => None,
        }
    }

    /// Adds lines to a question that waits; each only once. Whether any was new.
    pub(super) fn note_question(&mut self, id: EntryId, notes: Vec<String>) -> bool {
        if self.question_at(id).is_none_or(|q| q.outcome.is_some()) {
            return false;
        }
        let Body::Question(question) = &mut self.entry_mut(id).body else { return false };
        let before = question.body.len();
        for note in notes {
            if !question.body.contains(&note) {
                question.body.push(note);
            }
        }
        question.body.len() > before
    }

    /// Records what came of a question; an outcome is never overwritten.
    pub(super) fn question_outcome(&mut self, id: EntryId, outcome: String) {
        if self.question_at(id).is_none_or(|q| q.outcome.is_some()) {
            return;
        }
        if let Body::Question(question) = &mut self.entry_mut(id).body {
            question.outcome = Some(outcome);
            let size: usize =
                question.diffs.iter().map(|d| d.new.len() + d.old.as_ref().map_or(0, String::len)).sum();
            if size > bounds::ANSWERED_DIFFS {
                question.diffs = Vec::new();
            }
        }
    }

    /// Appends an entry to the present turn.
    pub(super) fn push(&mut self, body: Body) -> EntryId {
        let id = EntryId(self.entries.len() as u64);
        self.entries.push(Entry { id, turn: self.turn, body });
        self.changed.insert(id);
        id
    }

    /// An entry that is about to change. Ids come from this transcript's own tables, so the place exists.
    pub(super) fn entry_mut(&mut self, id: EntryId) -> &mut Entry {
        self.changed.insert(id);
        &mut self.entries[id.0 as usize]
    }
}

fn role_of(body: &Body) -> Option<Role> {
    match body {
        Body::User { .. } => Some(Role::User),
        Body::Message { .. } => Some(Role::Agent),
        Body::Thought { .. } => Some(Role::Thought),
        _ => None,
    }
}

/// The text of a block, and whether it stands on a line of its own.
pub(super) fn shown(content: &Content) -> (String, bool) {
    match content {
        Content::Text(text) => (text.clone(), false),
        Content::Link { uri, name } => {
            let name = if name.is_empty() { uri } else { name };
            (format!("[{}]({})", display::one_line(name), display::one_line(uri)), true)
        }
        Content::Resource { uri, .. } => (format!("[resource {}]", display::one_line(uri)), true),
        Content::Other { kind, raw } => (display::one_line(&other_note(kind, raw)), true),
    }
}

fn other_note(kind: &str, raw: &str) -> String {
    let value: serde_json::Value = serde_json::from_str(raw).unwrap_or_default();
    let field = |v: &serde_json::Value, key: &str| v.get(key).and_then(|f| f.as_str()).map(str::to_owned);
    let inner = value.get("resource").unwrap_or(&value);
    let words = [Some(kind.to_owned()), field(inner, "mimeType"), field(inner, "uri")];
    format!("[{}]", words.into_iter().flatten().collect::<Vec<_>>().join(" "))
}

fn append(text: &mut String, piece: &str, own_line: bool) {
    if own_line && !text.is_empty() && !text.ends_with('\n') {
        text.push('\n');
    }
    text.push_str(piece);
    if own_line {
        text.push('\n');
    }
}
