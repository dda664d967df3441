//! The crossroads: applies each event to the rooms and collects what they want done.
//!
//! Owns all state, by `&mut`. It never awaits, never does I/O and has no clock: the loop (`run`) calls it with events
//! and the time, and hands its effects to the edges. What one room wants of another passes through here, so rooms do
//! not know each other.

mod actions;
mod agents;
mod announce;
mod editor;
mod landed;
mod prompts;

use std::path::{Path, PathBuf};

use announce::Announcements;
use prompts::Held;

use crate::effect::{Effect, NvimCmd, Verdict, WriteAsk};
use crate::event::*;
use crate::model::*;
use crate::session::Sessions;
use crate::view::View;
use crate::workspace::{Workspace, locate};

/// A list of more questions than this is sent with pauses.
const FEW_QUESTIONS: usize = 50;
/// Between two sendings of a long list.
const LONG_LIST_PAUSE: Millis = 250;

/// All state of the sidecar.
#[derive(Debug)]
pub struct App {
    /// Sessions, transcripts, questions.
    sessions: Sessions,
    /// Mirrors, reads and writes, roots.
    workspace: Workspace,
    /// What the transcript bufs show.
    view: View,
    /// The next agent id; never reused.
    next_agent: u32,
    /// Prompts that are held up, at most one a session; dropped when sent or taken back.
    held: Vec<Held>,
    /// The last number given to a save before a prompt.
    last_save: u64,
    /// Autocmds on their way to the editor.
    announcements: Announcements,
    /// No list of questions is sent before this; 0 while the list is short.
    questions_due: Millis,
    /// Where logs are, told to the editor in the welcome.
    log_dir: PathBuf,
}

impl App {
    /// An app for the editor that said hello.
    pub fn new(hello: &Hello) -> Self {
        Self {
            sessions: Sessions::new(),
            workspace: Workspace::new(hello),
            view: View::new(),
            next_agent: 1,
            held: Vec::new(),
            last_save: 0,
            announcements: Announcements::default(),
            questions_due: 0,
            log_dir: hello.log_dir.clone(),
        }
    }

    /// The raw output of commands is kept in files of this folder.
    pub fn spill_into(&mut self, folder: &Path) {
        self.workspace.spill_into(folder);
    }

    /// Applies one event at `now` and appends what is to be done, in order.
    pub fn apply(&mut self, event: Event, now: Millis, out: &mut Vec<Effect>) {
        let effects = match event {
            Event::Nvim(event) => self.editor_event(event, now),
            Event::Agent(agent, event) => self.agent_event(agent, event, now),
            Event::Disk(op, result) => self.workspace.disk(op, result),
            Event::Pty(terminal, event) => self.workspace.pty(terminal, event, now),
            Event::Watched(paths) => self.workspace.watched(&paths),
        };
        self.route(effects, now, out);
    }

    /// To be called once per turn of the loop, after its events: time limits, held prompts, and everything that is
    /// pushed to the editor as a snapshot or a patch.
    pub fn settle(&mut self, now: Millis, out: &mut Vec<Effect>) {
        let effects = self.sessions.tick(now);
        self.route(effects, now, out);
        self.release_held(now, out);
        let effects = self.workspace.watch(self.sessions.running(), now);
        self.route(effects, now, out);
        let mut effects = self.workspace.terminals_due(now);
        effects.extend(self.workspace.review_due(now));
        effects.extend(self.workspace.restores_due());
        self.route(effects, now, out);
        for key in self.sessions.keys() {
            let Some(transcript) = self.sessions.transcript_mut(&key) else { continue };
            let changes = transcript.take_changes();
            if !changes.changed.is_empty() {
                self.view.changed(&key, changes.changed);
            }
        }
        self.announcements.hurry(&mut self.view);
        for key in self.view.sessions() {
            let Some(transcript) = self.sessions.transcript(&key) else { continue };
            if let Some(patch) = self.view.flush(&key, transcript.entries(), now) {
                out.push(Effect::Nvim(NvimCmd::Patch(patch)));
            }
        }
        if now >= self.questions_due {
            self.questions_due = 0;
        }
        if self.questions_due == 0 && self.sessions.take_questions_changed() {
            let questions = self.sessions.questions();
            // The list goes as a whole; a long one that changes all the time must not keep the editor busy.
            self.questions_due = if questions.len() > FEW_QUESTIONS { now + LONG_LIST_PAUSE } else { 0 };
            out.push(Effect::Nvim(NvimCmd::Questions(questions)));
        }
        if self.sessions.take_state_changed() {
            out.push(Effect::Nvim(NvimCmd::Sessions(self.sessions.states())));
        }
        self.announcements.release(&mut self.view, now, out);
    }

    /// When `settle` has something to do even if nothing happens.
    pub fn next_deadline(&self) -> Option<Millis> {
        let questions = (self.questions_due > 0).then_some(self.questions_due);
        [
            self.sessions.next_deadline(),
            self.view.next_deadline(),
            self.announcements.next_deadline(),
            self.workspace.terminals_deadline(),
            self.workspace.review_deadline(),
            questions,
        ]
        .into_iter()
        .flatten()
        .min()
    }

    /// Carries what one room wants of another to that room until only effects for the edges are left.
    fn route(&mut self, effects: Vec<Effect>, now: Millis, out: &mut Vec<Effect>) {
        let mut queue: std::collections::VecDeque<Effect> = effects.into();
        while let Some(effect) = queue.pop_front() {
            match effect {
                Effect::AskWrite(ask) => {
                    let approved = self.sessions.approved_diffs(&ask.session);
                    let cwd = self.sessions.cwd(&ask.session).unwrap_or(&ask.path).to_owned();
                    let file = locate::File { real: &ask.path, told: &ask.told, cwd: &cwd };
                    let more = if !ask.must_ask && ask.merge.is_none() && covers(&file, &ask, approved) {
                        // Allowed once is allowed once.
                        self.sessions.spend_approvals(&ask.session, |diff| file.is(&diff.path));
                        let edit = self.sessions.take_amendment(&ask.session, |path| file.is(path));
                        self.workspace.decide(ask.op, edit.map_or(Verdict::Allow, Verdict::Edited))
                    } else {
                        let other = ask.merge.is_none()
                            && approved.iter().any(|diff| file.is(&diff.path))
                            && !covers(&file, &ask, approved);
                        self.sessions.ask_write(if other { unlike_allowed(ask) } else { ask }, now)
                    };
                    queue.extend(more);
                }
                Effect::AskWithdrawn { op } => {
                    queue.extend(self.sessions.withdraw_write(op, "the request was taken back"));
                    queue.extend(self.sessions.withdraw_access(op, "the request was taken back"));
                }
                Effect::AskCommand(ask) => queue.extend(self.sessions.ask_command(ask)),
                Effect::CommandWithdrawn { terminal } => {
                    queue.extend(self.sessions.withdraw_command(terminal));
                }
                Effect::CommandDecided { terminal, verdict } => {
                    queue.extend(self.workspace.command_decided(terminal, verdict, now))
                }
                Effect::Card { session, card } => self.sessions.terminal_card(&session, card),
                Effect::AskAccess(ask) => queue.extend(self.sessions.ask_access(ask)),
                Effect::AccessDecided { op, access } => {
                    queue.extend(self.workspace.access_decided(op, access))
                }
                Effect::WriteDecided { op, verdict } => queue.extend(self.workspace.decide(op, verdict)),
                Effect::Landed(change) => queue.extend(self.landed(&change)),
                Effect::Told { session, text } => self.sessions.told(&session, &text),
                Effect::PromptDue { session } => queue.extend(self.prompt_due(&session)),
                Effect::PromptForgotten { session } => self.workspace.forget_given(&session),
                Effect::Nvim(NvimCmd::UserEvent { name, data }) => {
                    if let Some(session) = data["session"].as_str().filter(|_| name == "BosunTurnEnd") {
                        self.turn_left(&SessionKey::new(session));
                    }
                    self.announcements.push(name, data, now);
                }
                effect => out.push(effect),
            }
        }
    }

    fn mint_agent(&mut self) -> AgentId {
        let id = AgentId(self.next_agent);
        self.next_agent += 1;
        id
    }
}

/// Said where an agent writes something else than what it asked for.
const OTHER_APPROVED: &str =
    "! This is not what you allowed for this file in this turn: it differs from that.";

fn unlike_allowed(mut ask: WriteAsk) -> WriteAsk {
    ask.must_ask = true;
    ask.notes.push(OTHER_APPROVED.to_owned());
    ask
}

/// Whether what a person approved covers this write: its result against the live text, or, where the person changed the
/// text meanwhile, the agent's own change.
fn covers(file: &locate::File<'_>, ask: &WriteAsk, approved: &[Diff]) -> bool {
    let sides = ask.sides.as_ref();
    locate::covers(file, ask.live.as_deref(), &ask.content, approved)
        || sides.is_some_and(|(base, theirs)| locate::covers(file, Some(base), theirs, approved))
}

#[cfg(test)]
mod tests;
