//! Changes that have landed, for those who allowed them: what a person made of them beforehand, and whether they are what
//! was allowed.
//!
//! Part of the app: looks at what the session room knows of permissions, and at nothing else.

use super::App;
use crate::effect::{Author, Change, Effect};
use crate::model::SessionKey;
use crate::workspace::locate;

impl App {
    /// A change is in its file. Of one that an agent wrote to the disk by itself nobody could ask before.
    pub(super) fn landed(&mut self, change: &Change) -> Vec<Effect> {
        let mut effects = Vec::new();
        if !change.on_disk || change.author == Author::Person {
            return effects;
        }
        let session = &change.session;
        let Some(cwd) = self.sessions.cwd(session).map(std::path::Path::to_owned) else { return effects };
        let file = locate::File { real: &change.path, told: &change.path, cwd: &cwd };
        let approved = self.sessions.approved_diffs(session);
        if approved.iter().any(|diff| file.is(&diff.path)) {
            let text =
                |text: &Option<crate::workspace::text::Snapshot>| text.as_ref().map(|text| text.wire().text);
            let after = text(&change.after).unwrap_or_default();
            if locate::covers(&file, text(&change.before).as_deref(), &after, approved) {
                self.sessions.spend_approvals(session, |diff| file.is(&diff.path));
            } else {
                let name = change.path.strip_prefix(&cwd).unwrap_or(&change.path).display().to_string();
                let text = format!(
                    "{name} was changed to something else than what you allowed (:Bosun review shows it)."
                );
                self.sessions.told(session, &text);
            }
        }
        if let Some(edit) = self.sessions.take_amendment(session, |path| file.is(path)) {
            effects.extend(self.workspace.amend(&change.path, edit));
        }
        effects
    }

    /// A turn is over: says what it left to be judged.
    pub(super) fn turn_left(&mut self, session: &SessionKey) {
        let count = |n: usize, what: &str| format!("{n} {what}{}", if n == 1 { "" } else { "s" });
        let (files, hunks) = self.workspace.review_left(session);
        if hunks > 0 {
            let text =
                format!("{} in {} to review (:Bosun review).", count(hunks, "hunk"), count(files, "file"));
            self.sessions.told(session, &text);
        }
    }
}
