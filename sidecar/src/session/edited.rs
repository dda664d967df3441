//! Proposals that a person edits before they allow them, and refusals that they explain.
//!
//! Owns the edits that wait for the agent's write to land, and what the agent is told of them with its next prompt: the
//! protocol has no way to give edited input back. It never looks at a file. Part of `Sessions`; called by the app and by
//! `questions`.

use crate::effect::{Effect, Verdict};
use crate::model::*;

use super::questions::{Ask, Choice};
use super::{Sessions, display, notify};

/// Most lines of what an agent is told with its next prompt; more than that it would not read.
const ASIDES: usize = 20;

/// What a person made of a change before they allowed it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Amendment {
    /// The file, as the agent named it.
    pub path: String,
    /// The file as the agent's change would have left it, and as the person wants it.
    pub edit: EditedText,
}

/// What a session remembers of such edits; dropped with the session.
#[derive(Debug, Default)]
pub(super) struct Edited {
    /// Allowed in this turn and not landed yet.
    waiting: Vec<Amendment>,
    /// Lines for the agent, to go with the next prompt.
    asides: Vec<String>,
}

impl Edited {
    /// A turn begins, is cancelled or is over: what has not landed by now does not land any more.
    pub(super) fn turn_over(&mut self) {
        self.waiting.clear();
    }

    /// Files whose edits wait still.
    pub(super) fn not_landed(&self) -> Vec<String> {
        self.waiting.iter().map(|amendment| display::one_line(&amendment.path)).collect()
    }

    fn aside(&mut self, line: String) {
        if self.asides.len() < ASIDES && !self.asides.contains(&line) {
            self.asides.push(line);
        }
    }
}

impl Sessions {
    /// A person allows a question's changes, those files edited that are in `files` (zero-based index of the diff). A
    /// question whose answer cannot take edits along stays, and the person is told.
    pub fn answer_edited(
        &mut self,
        id: QuestionId,
        files: Vec<(usize, EditedText)>,
        now: Millis,
    ) -> Vec<Effect> {
        let Some(at) = self.questions.iter().position(|q| q.id == id) else {
            return vec![notify("warn", format!("Question {} is not open (any more).", id.0))];
        };
        // The list goes out again, so that the editor does not take it for answered.
        let stays = |sessions: &mut Self, why: &str| {
            sessions.questions_changed = true;
            vec![notify("warn", format!("Question {} {why}", id.0))]
        };
        match &self.questions[at].ask {
            Ask::Write(ask) if ask.merge.is_some() => stays(self, "is a merge: `:w` in its result answers."),
            Ask::Write(ask) => {
                let op = ask.op;
                let Some((_, edit)) = files.into_iter().next() else {
                    return self.answer(id, "allow_once", now);
                };
                let question = self.questions.remove(at);
                self.questions_changed = true;
                self.record(&question, "allowed: as edited".to_owned());
                self.tell_of_edit(&question.session, &path_of(&question.ask));
                self.settle(vec![Effect::WriteDecided { op, verdict: Verdict::Edited(edit) }])
            }
            Ask::Permission { .. } => {
                let Some(place) = self.once(at) else {
                    return stays(self, "has no option that allows this once: edits cannot go along.");
                };
                let question = self.questions.remove(at);
                self.questions_changed = true;
                let paths = self.diff_paths(&question);
                for (index, edit) in files {
                    let Some(path) = paths.get(index).cloned() else { continue };
                    self.tell_of_edit(&question.session, &path);
                    if let Some(i) = self.index(&question.session) {
                        let waiting = &mut self.list[i].edited.waiting;
                        waiting.retain(|old| old.path != path);
                        waiting.push(Amendment { path, edit });
                    }
                }
                let mut effects = Vec::new();
                self.decide(question, Choice::Edited(place), None, &mut effects);
                self.settle(effects)
            }
            _ => stays(self, "has nothing to edit: choose an option."),
        }
    }

    /// What a person made of an allowed change of this file; taken once.
    pub fn take_amendment(&mut self, key: &SessionKey, is: impl Fn(&str) -> bool) -> Option<EditedText> {
        let i = self.index(key)?;
        let waiting = &mut self.list[i].edited.waiting;
        let at = waiting.iter().position(|amendment| is(&amendment.path))?;
        Some(waiting.remove(at).edit)
    }

    /// What the agent is to be told with the prompt that goes now, a line each.
    pub fn take_asides(&mut self, key: &SessionKey) -> Vec<String> {
        self.index(key).map(|i| std::mem::take(&mut self.list[i].edited.asides)).unwrap_or_default()
    }

    /// Something that the agent should know and that no answer can carry.
    fn aside(&mut self, key: &SessionKey, line: String) {
        if let Some(i) = self.index(key) {
            self.list[i].edited.aside(line);
        }
    }

    fn tell_of_edit(&mut self, key: &SessionKey, path: &str) {
        let path = display::one_line(path);
        self.aside(
            key,
            format!(
                "The person edited your change of {path} before it landed: read the file again before you go on from it."
            ),
        );
    }

    /// The place of the option of this question that allows once and nothing else.
    fn once(&self, at: usize) -> Option<usize> {
        let options = &self.entry_of(&self.questions[at])?.options;
        let place = options.iter().position(|option| option.kind == OptionKind::AllowOnce)?;
        let alone = options.iter().filter(|option| option.id == options[place].id).count() == 1;
        alone.then_some(place)
    }
}

fn path_of(ask: &Ask) -> String {
    match ask {
        Ask::Write(ask) => ask.told.to_string_lossy().into_owned(),
        _ => String::new(),
    }
}

/// What a refused agent is told, where its answer can carry that.
pub(super) fn because(why: &str) -> Option<String> {
    let why = why.trim();
    (!why.is_empty()).then(|| why.to_owned())
}

/// A refusal that no answer can carry, as a prompt.
pub(super) fn refusal_prompt(title: &str, why: &str) -> String {
    format!("I rejected \"{title}\": {why}")
}
