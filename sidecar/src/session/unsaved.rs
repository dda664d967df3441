//! What becomes of unsaved text before a prompt: the session's setting, and the question about it.
//!
//! Owns the policy of a session and the person's answer, which holds for the session. It knows no text and saves nothing:
//! the app does what was decided. The question belongs to the prompt that waits for it: a person who chooses nothing gets
//! the prompt back. Part of `Sessions`; called by the app and by the questions part.

use crate::effect::Effect;
use crate::model::*;

use super::Sessions;
use super::display;
use super::questions::{Ask, Wording};

/// File names in the question; more are counted.
const NAMES: usize = 20;

impl Sessions {
    /// What is to be done with unsaved text before a prompt: `Embed`, `Save`, `Leave` or `Ask`.
    pub fn unsaved_policy(&self, key: &SessionKey) -> UnsavedPolicy {
        let Some(i) = self.index(key) else { return UnsavedPolicy::Leave };
        let session = &self.list[i];
        match session.unsaved {
            UnsavedPolicy::Auto if session.embedded_context => UnsavedPolicy::Embed,
            UnsavedPolicy::Auto => UnsavedPolicy::Ask,
            policy => policy,
        }
    }

    /// As the setting would.
    #[cfg(test)]
    pub fn set_unsaved_policy(&mut self, key: &SessionKey, policy: UnsavedPolicy) {
        if let Some(i) = self.index(key) {
            self.list[i].unsaved = policy;
        }
    }

    /// Asks about the unsaved text in these files, shown by these names, before the prompt that is due goes. The answer
    /// makes it due once more.
    pub fn ask_unsaved(&mut self, key: &SessionKey, files: &[String]) -> Vec<Effect> {
        let Some(i) = self.index(key) else { return Vec::new() };
        let title = match files.len() {
            1 => "1 file has unsaved changes, which are not on disk".to_owned(),
            count => format!("{count} files have unsaved changes, which are not on disk"),
        };
        let mut body: Vec<String> = files.iter().take(NAMES).map(|name| display::one_line(name)).collect();
        if files.len() > NAMES {
            body.push(format!("and {} more", files.len() - NAMES));
        }
        body.push(
            "The agent may read the disk by itself and not see them. The answer holds for this session."
                .into(),
        );
        let option = |id: &str, name: &str| PermissionOption {
            id: id.into(),
            name: name.into(),
            kind: OptionKind::Other(id.into()),
        };
        let options = vec![
            option("save", "Save them now"),
            option("embed", "Send their text along"),
            option("leave", "Leave them"),
        ];
        let in_turn = self.list[i].turn.is_some();
        let wording = Wording { title, body, options, diffs: Vec::new() };
        self.put(i, Ask::Unsaved, in_turn, wording)
    }

    /// The person has answered; `None`: by choosing nothing.
    pub(super) fn unsaved_decided(
        &mut self,
        key: &SessionKey,
        option: Option<&str>,
        effects: &mut Vec<Effect>,
    ) {
        let Some(i) = self.index(key) else { return };
        self.list[i].unsaved = match option {
            Some("save") => UnsavedPolicy::Save,
            Some("embed") => UnsavedPolicy::Embed,
            Some("leave") => UnsavedPolicy::Leave,
            _ => return self.return_queue(i, "Cancelled.", effects),
        };
        effects.push(Effect::PromptDue { session: key.clone() });
    }
}
