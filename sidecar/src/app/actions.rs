//! What a person, or a script through the Lua API, asks for.
//!
//! Part of the app: decides only which rooms an action concerns.

use super::App;
use crate::effect::{DiffTexts, Effect, NvimCmd};
use crate::event::Action;
use crate::model::*;
use crate::session::QuestionDiff;
use crate::session::entry::Body;

impl App {
    pub(super) fn action(&mut self, action: Action, now: Millis) -> Vec<Effect> {
        match action {
            Action::NewSession { session, launch, cwd, access } => {
                let agent = self.mint_agent();
                let (commands, writes) = (access.ask_commands, access.write_approval);
                let mut effects = self.workspace.open_roots(&session, cwd.clone(), access);
                effects.extend(self.sessions.create(session.clone(), agent, launch, cwd, now));
                self.sessions.set_approval(&session, commands, writes);
                effects
            }
            Action::Prompt { session, text, context } => self.prompt(session, text, context, now),
            Action::Cancel { session } => {
                let mut effects = self.sessions.cancel(&session, now);
                effects.extend(self.workspace.cancel_session(&session));
                effects
            }
            Action::Close { session } => {
                self.view.close(&session);
                let mut effects = self.workspace.remove_session(&session);
                effects.extend(self.sessions.close(&session, now));
                effects
            }
            Action::Answer { question, option, why } => {
                self.sessions.answer_because(question, &option, &why, now)
            }
            Action::AnswerEdited { question, files } => self.sessions.answer_edited(question, files, now),
            Action::AnswerText { question, lines, eol } => {
                self.sessions.answer_text(question, lines, eol, now)
            }
            Action::Checkpoints { session } => vec![self.workspace.checkpoint_list(&session, true)],
            Action::Restore { session, .. } if self.sessions.running().contains(&session) => {
                let text = "a turn is running: cancel it first".to_owned();
                vec![Effect::Nvim(NvimCmd::Notify { level: "warn".to_owned(), text })]
            }
            Action::Restore { session, number } => {
                self.workspace.restore(&session, number);
                Vec::new()
            }
            Action::Review(verdict) => self.workspace.review_verdict(&verdict),
            Action::ReviewUndo => self.workspace.review_undo(),
            Action::ReviewTexts { path } => self.workspace.review_texts(&path),
            Action::ReviewCommitted { path, text } => self.workspace.review_committed(&path, &text),
            Action::ShowDiff { question, index } => self.show_diff(question, index),
            Action::ViewOpen { session, buf } => {
                self.view.open(session.clone(), buf);
                if let Some(transcript) = self.sessions.transcript(&session) {
                    self.view.changed(&session, transcript.entries().iter().map(|entry| entry.id));
                }
                Vec::new()
            }
            Action::ViewClose { session } => {
                self.view.close(&session);
                Vec::new()
            }
            Action::ViewToggle { session, line } => {
                let entry = self.view.entry_at(&session, line);
                let transcript = self.sessions.transcript(&session);
                let body = entry.and_then(|id| Some(&transcript?.get(id)?.body));
                if let Some(Body::Terminal(card)) = body {
                    return vec![Effect::Nvim(NvimCmd::TerminalShow { terminal: card.terminal })];
                }
                self.view.toggle(&session, line);
                Vec::new()
            }
        }
    }

    fn show_diff(&mut self, question: QuestionId, index: usize) -> Vec<Effect> {
        match self.sessions.question_diff(question, index) {
            Some(QuestionDiff::Agent { session, diff, count }) => {
                self.workspace.show_diff(&session, question, index, count, diff)
            }
            Some(QuestionDiff::Write { ask, count }) => vec![Effect::Nvim(NvimCmd::Diff(DiffTexts {
                question,
                index,
                count,
                path: ask.path.display().to_string(),
                buf: ask.buf,
                old: ask.live.unwrap_or_default(),
                new: ask.content,
                note: None,
                editable: ask.merge.is_none(),
                merge: ask.merge,
            }))],
            None => vec![Effect::Nvim(NvimCmd::Notify {
                level: "warn".to_owned(),
                text: "this question has no such diff, or was answered".to_owned(),
            })],
        }
    }
}
