//! Prompts on their way to their agents: what they wait for, and what goes along.
//!
//! Part of the app: the only place where a prompt's context and the unsaved text of the session's files are turned into
//! content, because that needs the mirrors. Both are taken when the prompt goes, not when it was written. Owns the
//! prompts that are held up, one a session; the text itself stays in the session's queue, from where a cancel gives it
//! back. Never saves: that is a wish to the editor, whose answer is waited for as an event.

use std::path::Path;

use super::App;
use crate::effect::{Effect, NvimCmd};
use crate::event::ContextItem;
use crate::model::*;
use crate::session::PromptContext;
use crate::workspace::unsaved::Unsaved;

/// A text of at most this many bytes goes along whole; a larger one as a link.
const EMBED_MAX: usize = 32 * 1024;
/// Bytes of unsaved texts that go along with one prompt; what is beyond goes as links.
const EMBED_TOTAL: usize = 128 * 1024;

/// The first prompt of a session's queue, which does not go at once.
#[derive(Debug)]
pub(super) struct Held {
    session: SessionKey,
    wait: Wait,
}

/// What it waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Wait {
    /// The mirrors of modified buffers, so that neither the prompt nor the agent gets older text.
    Mirrors,
    /// The person's answer about unsaved text; makes the prompt due once more.
    Answer,
    /// The save with this number.
    Save(u64),
    /// The mode that stands in the way of a save.
    Mode,
}

impl App {
    /// Takes a prompt; a dead session is started again for it.
    pub(super) fn prompt(
        &mut self,
        session: SessionKey,
        text: String,
        context: Vec<ContextItem>,
        now: Millis,
    ) -> Vec<Effect> {
        let mut effects = Vec::new();
        if self.sessions.needs_restart(&session) {
            let agent = self.mint_agent();
            effects.extend(self.sessions.restart(&session, agent, now));
        }
        effects.extend(self.sessions.prompt(&session, text, context, now));
        effects
    }

    /// The next prompt of a session may go: now, or once what it waits for is there.
    pub(super) fn prompt_due(&mut self, session: &SessionKey) -> Vec<Effect> {
        self.held.retain(|held| held.session != *session);
        if self.sessions.due(session).is_none() {
            return Vec::new();
        }
        if self.mirrors_pending(session) {
            return self.hold(session, Wait::Mirrors);
        }
        let unsaved = self.workspace.unsaved(session);
        let mut effects = Vec::new();
        match self.sessions.unsaved_policy(session) {
            _ if unsaved.is_empty() => {}
            UnsavedPolicy::Ask | UnsavedPolicy::Auto => {
                let names: Vec<String> = unsaved.iter().map(|file| self.short(session, &file.name)).collect();
                effects.extend(self.sessions.ask_unsaved(session, &names));
                effects.extend(self.hold(session, Wait::Answer));
                return effects;
            }
            UnsavedPolicy::Save => {
                self.last_save += 1;
                let bufs = unsaved.iter().map(|file| file.buf).collect();
                effects.push(Effect::Nvim(NvimCmd::SaveBuffers { save: self.last_save, bufs }));
                effects.extend(self.hold(session, Wait::Save(self.last_save)));
                return effects;
            }
            UnsavedPolicy::Embed | UnsavedPolicy::Leave => {}
        }
        self.go(session)
    }

    /// A text that the prompt needs is still on its way into its mirror: what is unsaved, and the file it was written in.
    fn mirrors_pending(&self, session: &SessionKey) -> bool {
        let of = |item: &ContextItem| match item {
            ContextItem::File { buf, .. } => self.workspace.pending(session, *buf),
            ContextItem::Selection { .. } => false,
        };
        let context = self.sessions.due(session).unwrap_or_default();
        self.workspace.modified_pending(session) || context.iter().any(of)
    }

    /// Goes on with what no event of its own makes due.
    pub(super) fn release_held(&mut self, now: Millis, out: &mut Vec<Effect>) {
        // Whatever takes a prompt back takes it out of the queue.
        self.held.retain(|held| self.sessions.due(&held.session).is_some());
        let ready = |held: &&Held| held.wait == Wait::Mirrors && !self.mirrors_pending(&held.session);
        let ready: Vec<SessionKey> =
            self.held.iter().filter(ready).map(|held| held.session.clone()).collect();
        for session in ready {
            let effects = self.prompt_due(&session);
            self.route(effects, now, out);
        }
    }

    /// A save came back. What could not be saved is left, and said.
    pub(super) fn saved(&mut self, save: u64, failed: &[(BufId, String)], busy: bool) -> Vec<Effect> {
        let mut effects = Vec::new();
        let at = self.held.iter().position(|held| held.wait == Wait::Save(save));
        let session = at.map(|at| self.held[at].session.clone());
        if !failed.is_empty() {
            let name = |buf: &BufId| {
                let name = self.workspace.buf_name(*buf);
                let name = name
                    .map(|name| session.as_ref().map_or(name.display().to_string(), |s| self.short(s, name)));
                name.unwrap_or_else(|| format!("buffer {}", buf.0))
            };
            let each: Vec<String> =
                failed.iter().map(|(buf, why)| format!("{} is not saved: {why}", name(buf))).collect();
            effects.push(Effect::Nvim(NvimCmd::Notify { level: "warn".to_owned(), text: each.join("; ") }));
        }
        let Some(session) = session else { return effects };
        if busy {
            effects.extend(self.hold(&session, Wait::Mode));
        } else {
            self.held.retain(|held| held.session != session);
            effects.extend(self.go(&session));
        }
        effects
    }

    /// A mode has ended that may have stood in the way of a save.
    pub(super) fn mode_over(&mut self) -> Vec<Effect> {
        let waiting = self.held.iter().filter(|held| held.wait == Wait::Mode);
        let waiting: Vec<SessionKey> = waiting.map(|held| held.session.clone()).collect();
        waiting.iter().flat_map(|session| self.prompt_due(session)).collect()
    }

    fn hold(&mut self, session: &SessionKey, wait: Wait) -> Vec<Effect> {
        self.held.retain(|held| held.session != *session);
        self.held.push(Held { session: session.clone(), wait });
        self.sessions.hold(session)
    }

    fn go(&mut self, session: &SessionKey) -> Vec<Effect> {
        let items = self.sessions.due(session).map(<[_]>::to_vec).unwrap_or_default();
        let along = self.along(session, items);
        let mut effects = match self.sessions.due_text(session).map(str::to_owned) {
            Some(text) => self.workspace.checkpoint(session, &text),
            None => Vec::new(),
        };
        effects.extend(self.sessions.go(session, along));
        effects
    }

    /// What goes along with a prompt: the context that was asked for, then the unsaved texts that the session has not,
    /// then what is to be said of them. Never before the prompt's own text, and words last: a prompt that begins with a
    /// command stays one.
    fn along(&mut self, session: &SessionKey, items: Vec<ContextItem>) -> Vec<PromptContext> {
        let mut unsaved = Vec::new();
        if self.sessions.unsaved_policy(session) == UnsavedPolicy::Embed {
            unsaved = self.workspace.unsaved(session);
        }
        let (mut out, mut here, mut elsewhere) = (Vec::new(), Vec::new(), Vec::new());
        for item in items {
            let file = match &item {
                ContextItem::File { buf, .. } => unsaved.iter().position(|file| file.buf == *buf),
                ContextItem::Selection { .. } => None,
            };
            let mut context = self.context(session, item);
            if let Some(at) = file.filter(|_| matches!(context.content, Content::Resource { .. })) {
                let file = unsaved.remove(at);
                self.workspace.give(session, &file);
                here.push(self.short(session, &file.name));
                context.shown.push_str(" (unsaved)");
            }
            out.push(context);
        }
        let mut room = EMBED_TOTAL;
        for file in unsaved {
            if self.workspace.was_given(session, &file) {
                continue;
            }
            let name = self.short(session, &file.name);
            let text = embedded(&file).filter(|text| text.len() <= room);
            let uri = crate::uri::file_uri(&file.name);
            let shown = format!("{name} (unsaved)");
            let content = match text {
                Some(text) => {
                    room -= text.len();
                    self.workspace.give(session, &file);
                    here.push(name);
                    Content::Resource { uri, text, mime: None }
                }
                None => {
                    elsewhere.push(name.clone());
                    Content::Link { uri, name }
                }
            };
            out.push(PromptContext { shown, content });
        }
        let settled: Vec<String> =
            self.workspace.take_settled(session).iter().map(|path| self.short(session, path)).collect();
        let mut words = words(&here, &elsewhere, &settled);
        for line in self.sessions.take_asides(session) {
            words.extend((!words.is_empty()).then_some('\n'));
            words.push_str(&line);
        }
        if !words.is_empty() {
            out.push(PromptContext { shown: String::new(), content: Content::Text(words) });
        }
        out
    }

    /// The content for one thing that goes along, and the words the transcript shows for it.
    fn context(&self, session: &SessionKey, item: ContextItem) -> PromptContext {
        match item {
            ContextItem::File { buf, path, line } => {
                let name = self.short(session, Path::new(&path));
                let uri = crate::uri::file_uri(Path::new(&path));
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
                let path = Path::new(&path);
                let uri = format!("{}#L{lines}", crate::uri::file_uri(path));
                let shown = format!("{}:{lines}", self.short(session, path));
                PromptContext { shown, content: Content::Resource { uri, text, mime: None } }
            }
        }
    }

    /// A path as the session's person would say it.
    fn short(&self, session: &SessionKey, path: &Path) -> String {
        let rest = self.sessions.cwd(session).and_then(|cwd| path.strip_prefix(cwd).ok());
        rest.unwrap_or(path).to_string_lossy().into_owned()
    }
}

/// The text of a file that may go along whole.
fn embedded(file: &Unsaved) -> Option<String> {
    let text = file.text.as_ref().filter(|text| text.rope.len_bytes() <= EMBED_MAX)?;
    Some(text.wire().text)
}

/// What the agent is told of unsaved texts: those `here` in the prompt, those `elsewhere`, and those that are `settled`.
fn words(here: &[String], elsewhere: &[String], settled: &[String]) -> String {
    let mut out = Vec::new();
    if !here.is_empty() {
        out.push(format!(
            "The person has unsaved changes in these files; the text here is what is on their screen, and newer than \
             the disk: {}",
            here.join(", ")
        ));
    }
    if !elsewhere.is_empty() {
        out.push(format!(
            "The person has unsaved changes in these files too, which are too large to go along; the disk holds older \
             text: {}",
            elsewhere.join(", ")
        ));
    }
    if !settled.is_empty() {
        out.push(format!(
            "These files, whose unsaved text you were given before, have no unsaved changes any more; the disk holds \
             their text: {}",
            settled.join(", ")
        ));
    }
    out.join("\n")
}
