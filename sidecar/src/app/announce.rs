//! Autocmds for the editor, held back until what they tell of can be seen there.
//!
//! Owns the order of announcements and how long they wait: a handler of `BosunTurnEnd` that reads the tables or the
//! transcript finds the turn's end in them. Called by the app, after it has pushed the tables.

use std::collections::VecDeque;

use crate::effect::{Effect, NvimCmd};
use crate::model::{Millis, SessionKey};
use crate::view::View;

/// The longest wait for a transcript: an editor at a prompt shows nothing, but its handlers must run in the end.
const PATIENCE: Millis = 250;

#[derive(Debug)]
struct Announcement {
    name: String,
    data: serde_json::Value,
    /// Of a turn's end: the transcript that must show it first.
    shows: Option<SessionKey>,
    since: Millis,
}

/// See the module. In order of arrival; one that waits holds up those behind it.
#[derive(Debug, Default)]
pub struct Announcements {
    waiting: VecDeque<Announcement>,
}

impl Announcements {
    /// Takes an autocmd.
    pub fn push(&mut self, name: String, data: serde_json::Value, now: Millis) {
        let session = data["session"].as_str().map(SessionKey::new);
        let shows = session.filter(|_| name == "BosunTurnEnd");
        self.waiting.push_back(Announcement { name, data, shows, since: now });
    }

    /// Transcripts that are waited for do not wait for their frame.
    pub fn hurry(&self, view: &mut View) {
        for session in self.waiting.iter().filter_map(|a| a.shows.as_ref()) {
            view.hurry(session);
        }
    }

    /// Sends what need not wait any longer.
    pub fn release(&mut self, view: &mut View, now: Millis, out: &mut Vec<Effect>) {
        while let Some(first) = self.waiting.front() {
            let behind = first.shows.as_ref().is_some_and(|session| view.behind(session));
            if behind && now < first.since + PATIENCE {
                return;
            }
            if let Some(Announcement { name, data, .. }) = self.waiting.pop_front() {
                out.push(Effect::Nvim(NvimCmd::UserEvent { name, data }));
            }
        }
    }

    /// When the first one has waited long enough.
    pub fn next_deadline(&self) -> Option<Millis> {
        self.waiting.front().map(|a| a.since + PATIENCE)
    }
}
