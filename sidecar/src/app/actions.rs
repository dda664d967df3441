//! What a person, or a script through the Lua API, asks for.
//!
//! Part of the app: the only place where a prompt's context is turned into content, because that needs the mirrors.

use super::{App, HeldPrompt};
use crate::effect::{DiffTexts, Effect, NvimCmd};
use crate::event::{Action, ContextItem};
use crate::model::*;
use crate::session::{PromptContext, QuestionDiff};

/// A file of at most this many bytes goes along whole where the agent takes embedded text; a larger one as a link.
const EMBED_MAX: usize = 32 * 1024;

impl App {
    pub(super) fn action(&mut self, action: Action, now: Millis) -> Vec<Effect> {
        match action {
            Action::NewSession { session, launch, cwd, access } => {
                let agent = self.mint_agent();
                let mut effects = self.workspace.open_roots(&session, cwd.clone(), access);
                effects.extend(self.sessions.create(session, agent, launch, cwd, now));
                effects
            }
            Action::Prompt { session, text, context } => self.prompt(session, text, context, now),
            Action::Cancel { session } => {
                let mut effects = self.return_held(&session, "cancelled");
                effects.extend(self.sessions.cancel(&session, now));
                effects.extend(self.workspace.cancel_session(&session));
                effects
            }
            Action::Close { session } => {
                self.held.retain(|held| held.session != session);
                self.view.close(&session);
                let mut effects = self.workspace.remove_session(&session);
                effects.extend(self.sessions.close(&session, now));
                effects
            }
            Action::Answer { question, option } => self.sessions.answer(question, &option, now),
            Action::AnswerText { question, lines, eol } => {
                self.sessions.answer_text(question, lines, eol, now)
            }
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
                self.view.toggle(&session, line);
                Vec::new()
            }
        }
    }

    fn prompt(
        &mut self,
        session: SessionKey,
        text: String,
        context: Vec<ContextItem>,
        now: Millis,
    ) -> Vec<Effect> {
        let waits =
            self.workspace.modified_pending(&session) || self.held.iter().any(|held| held.session == session);
        if waits {
            self.held.push(HeldPrompt { session, text, context });
            return Vec::new();
        }
        self.send_prompt(&session, text, context, now)
    }

    /// Sends the prompts whose session's modified bufs are mirrored by now.
    pub(super) fn release_held(&mut self, now: Millis, out: &mut Vec<Effect>) {
        let mut index = 0;
        while index < self.held.len() {
            if self.workspace.modified_pending(&self.held[index].session) {
                index += 1;
                continue;
            }
            let held = self.held.remove(index);
            let effects = self.send_prompt(&held.session, held.text, held.context, now);
            self.route(effects, now, out);
        }
    }

    fn return_held(&mut self, session: &SessionKey, why: &str) -> Vec<Effect> {
        let (back, keep) = std::mem::take(&mut self.held).into_iter().partition(|h| h.session == *session);
        self.held = keep;
        let back: Vec<HeldPrompt> = back;
        back.into_iter()
            .map(|held| {
                Effect::Nvim(NvimCmd::PromptReturned {
                    session: held.session,
                    text: held.text,
                    why: why.to_owned(),
                })
            })
            .collect()
    }

    fn send_prompt(
        &mut self,
        session: &SessionKey,
        text: String,
        context: Vec<ContextItem>,
        now: Millis,
    ) -> Vec<Effect> {
        let mut effects = Vec::new();
        if self.sessions.needs_restart(session) {
            let agent = self.mint_agent();
            effects.extend(self.sessions.restart(session, agent, now));
        }
        let context = context.into_iter().map(|item| self.context(session, item)).collect();
        effects.extend(self.sessions.prompt(session, text, context, now));
        effects
    }

    /// The content for one thing that goes along, and the words the transcript shows for it.
    fn context(&self, session: &SessionKey, item: ContextItem) -> PromptContext {
        let short = |path: &str| {
            let cwd = self.sessions.cwd(session);
            let rest = cwd.and_then(|cwd| std::path::Path::new(path).strip_prefix(cwd).ok());
            rest.map_or_else(|| path.to_owned(), |rest| rest.to_string_lossy().into_owned())
        };
        match item {
            ContextItem::File { buf, path, line } => {
                let name = short(&path);
                let uri = crate::uri::file_uri(std::path::Path::new(&path));
                let text = self.workspace.buf_text_for(session, buf).filter(|text| text.len() <= EMBED_MAX);
                let shown = match line {
                    Some(line) => format!("{name}:{}", line + 1),
                    None => name.clone(),
                };
                let content = match text {
                    Some(text) => Content::Resource { uri, text, mime: None },
                    None => Content::Link { uri, name },
                };
                PromptContext { shown, content }
            }
            ContextItem::Selection { path, first, last, text, .. } => {
                let lines =
                    if last > first + 1 { format!("{}-{last}", first + 1) } else { format!("{}", first + 1) };
                if path.is_empty() {
                    let uri = format!("untitled:selection#L{lines}");
                    let shown = format!("[unnamed]:{lines}");
                    return PromptContext { shown, content: Content::Resource { uri, text, mime: None } };
                }
                let uri = format!("{}#L{lines}", crate::uri::file_uri(std::path::Path::new(&path)));
                let shown = format!("{}:{lines}", short(&path));
                PromptContext { shown, content: Content::Resource { uri, text, mime: None } }
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
                merge: ask.merge,
            }))],
            None => vec![Effect::Nvim(NvimCmd::Notify {
                level: "warn".to_owned(),
                text: "this question has no such diff, or was answered".to_owned(),
            })],
        }
    }
}
