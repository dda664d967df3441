//! Questions that wait for a person: permission requests of agents, and the host's own about writes and paths.
//!
//! Owns the queue, the replies owed, and the rule that each is answered exactly once on every way out: by a person, by
//! a cancel, by the agent taking it back, by the end of the turn, the session or the agent. It never chooses an option
//! that allows unless a person named it. Part of `Sessions`; called by the app and by the turn and lifecycle parts.

use serde_json::json;

use crate::effect::{Access, Effect, NvimCmd, QuestionState, Verdict, WriteAsk};
use crate::model::*;
use crate::reply::{Reply, WireId};

use super::access::Waiting;
use super::commands::Approved;
use super::details;
use super::display;
use super::entry::QuestionEntry;
use super::{Sessions, edited, notify, user_event, writes};

/// A question that waits. What is shown of it is in the transcript entry.
#[derive(Debug)]
pub(super) struct Question {
    /// Its id.
    pub(super) id: QuestionId,
    /// Whose.
    pub(super) session: SessionKey,
    /// The process that waits for the answer.
    agent: AgentId,
    /// Its entry in the transcript.
    entry: EntryId,
    /// It came during a turn, and goes with it.
    pub(super) in_turn: bool,
    /// What waits for the answer.
    pub(super) ask: Ask,
}

/// Who waits for the answer.
#[derive(Debug)]
pub(super) enum Ask {
    /// An agent's request, and the tool call's card.
    Permission { reply: Reply, card: EntryId, command: Option<Approved> },
    /// A write of the workspace.
    Write(Box<WriteAsk>),
    /// Requests for a path of the workspace.
    Access(Box<Waiting>),
    /// A command in this terminal.
    Command(TerminalId),
    /// What becomes of unsaved text before the session's next prompt.
    Unsaved,
}

impl Question {
    /// The next prompt waits for the answer.
    pub(super) fn before_prompt(&self) -> bool {
        matches!(self.ask, Ask::Unsaved)
    }
}

/// What a person reads of a question.
#[derive(Debug)]
pub(super) struct Wording {
    /// One line.
    pub(super) title: String,
    /// More lines.
    pub(super) body: Vec<String>,
    /// What can be chosen, in order.
    pub(super) options: Vec<PermissionOption>,
    /// What can be shown side by side.
    pub(super) diffs: Vec<Diff>,
}

/// One diff of a question.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum QuestionDiff {
    /// Proposed by an agent: a whole file or a fragment, to be located first. `count`: how many the question has.
    Agent { session: SessionKey, diff: Diff, count: usize },
    /// Exactly what a write would do.
    Write { ask: Box<WriteAsk>, count: usize },
}

/// What was chosen of a question's options.
pub(super) enum Choice {
    /// This option of the entry, by place.
    Option(usize),
    /// The same, with edits of the person's.
    Edited(usize),
    /// None of them.
    Cancelled,
}

impl Sessions {
    /// An agent asks. The tool call is merged into its card first. While a cancel is under way the answer is
    /// `cancelled` at once; a session that is not known answers -32602.
    pub fn permission(
        &mut self,
        agent: AgentId,
        acp: &str,
        tool: ToolPatch,
        options: Vec<PermissionOption>,
        reply: Reply,
        _now: Millis,
    ) -> Vec<Effect> {
        let Some(i) = self.index_for(agent, acp) else {
            let error = RpcError::new(RpcError::INVALID_PARAMS, format!("unknown session {acp}"));
            return vec![Effect::Answer(reply, Err(error))];
        };
        let session = &mut self.list[i];
        // Before the limits on what a card keeps: a person must see all of what is asked.
        let raw = tool.raw_input.set().cloned();
        let card = session.transcript.tool_asked(tool);
        if let Some(turn) = &mut session.turn {
            turn.said = true;
        }
        if session.cancelling() {
            return vec![Effect::Answer(reply, Ok(cancelled()))];
        }
        let details = session
            .transcript
            .card_at(card)
            .map(|c| details::describe(c, raw.as_deref()))
            .unwrap_or_default();
        let options = options
            .into_iter()
            .map(|option| PermissionOption { name: display::one_line(&option.name), ..option })
            .collect();
        // As it is shown: the card may say something else by the time of the answer.
        let call = self.list[i].transcript.card_at(card);
        let command = call.and_then(|call| Approved::of(details.command, call));
        let in_turn = self.list[i].turn.is_some();
        let wording = Wording { title: details.title, body: details.body, options, diffs: details.diffs };
        self.put(i, Ask::Permission { reply, card, command }, in_turn, wording)
    }

    /// A new question at the end of the queue and of the transcript of session number `i`.
    pub(super) fn put(&mut self, i: usize, ask: Ask, in_turn: bool, wording: Wording) -> Vec<Effect> {
        let Wording { title, body, options, diffs } = wording;
        self.last_question += 1;
        let id = QuestionId(self.last_question);
        let session = &mut self.list[i];
        let entry =
            session.transcript.question(QuestionEntry { id, title, body, options, diffs, outcome: None });
        let event =
            user_event("BosunPermission", json!({ "session": session.key.to_string(), "question": id.0 }));
        self.questions.push(Question {
            id,
            session: session.key.clone(),
            agent: session.agent,
            entry,
            in_turn,
            ask,
        });
        self.questions_changed = true;
        self.settle(vec![event])
    }

    /// A person answers: with an option id exactly as given, else with a kind, else with `cancelled`. Refusing always
    /// works: without an option for it the outcome is `cancelled`.
    pub fn answer(&mut self, id: QuestionId, option: &str, now: Millis) -> Vec<Effect> {
        self.answer_because(id, option, "", now)
    }

    /// The same; `why` a person refuses goes to the agent: with the answer where that can carry it, else as a prompt.
    pub fn answer_because(&mut self, id: QuestionId, option: &str, why: &str, now: Millis) -> Vec<Effect> {
        let Some(at) = self.questions.iter().position(|q| q.id == id) else {
            return vec![notify("warn", format!("Question {} is not open (any more).", id.0))];
        };
        let Some(verdict) =
            self.entry_of(&self.questions[at]).and_then(|entry| choose(&entry.options, option))
        else {
            let text = format!("Question {} has no option {}.", id.0, display::one_line(option));
            return vec![notify("warn", text)];
        };
        let question = self.questions.remove(at);
        self.questions_changed = true;
        let mut effects = Vec::new();
        let said = self.decide(question, verdict, edited::because(why), &mut effects);
        let mut effects = self.settle(effects);
        if let Some((session, text)) = said {
            effects.extend(self.prompt(&session, text, Vec::new(), now));
        }
        effects
    }

    /// Carries an answer out. Gives what is to be said to the agent and no answer can carry.
    pub(super) fn decide(
        &mut self,
        question: Question,
        verdict: Choice,
        why: Option<String>,
        effects: &mut Vec<Effect>,
    ) -> Option<(SessionKey, String)> {
        let entry = self.entry_of(&question)?;
        let (chosen, edited) = match verdict {
            Choice::Option(place) => (entry.options.get(place).cloned(), ""),
            Choice::Edited(place) => (entry.options.get(place).cloned(), ", as edited"),
            Choice::Cancelled => (None, ""),
        };
        let title = entry.title.clone();
        let diffs = entry.diffs.clone();
        // An id that also stands for something else does not say for sure that the change was allowed.
        let allowed = chosen.as_ref().is_some_and(|option| {
            entry.options.iter().filter(|o| o.id == option.id).all(|o| o.kind.allows())
        });
        let refused = chosen.as_ref().is_none_or(|option| option.kind.rejects());
        let outcome = match &chosen {
            None => "cancelled".to_owned(),
            Some(option) if option.kind.allows() => format!("allowed: {}{edited}", option.name),
            Some(option) if option.kind.rejects() => match &why {
                Some(why) => format!("rejected: {}", display::one_line(why)),
                None => format!("rejected: {}", option.name),
            },
            Some(option) => format!("answered: {}", option.name),
        };
        self.record(&question, outcome);
        let mut said = None;
        match question.ask {
            Ask::Permission { reply, card, command } => {
                if let Some(i) = self.index(&question.session) {
                    if allowed {
                        self.list[i].approved.extend(diffs);
                        self.list[i].approved_commands.extend(command);
                    } else if refused {
                        // The latest word on a file counts.
                        self.list[i].approved.retain(|old| !diffs.iter().any(|new| new.path == old.path));
                        self.list[i].transcript.tool_refused(card);
                    }
                }
                let result = chosen.map_or_else(cancelled, |option| {
                    json!({ "outcome": { "outcome": "selected", "optionId": option.id } }).to_string().into()
                });
                effects.push(Effect::Answer(reply, Ok(result)));
                said = why.filter(|_| refused).map(|why| edited::refusal_prompt(&title, &why));
            }
            Ask::Write(ask) => {
                let verdict = writes::verdict(&ask, chosen.as_ref(), why.filter(|_| refused));
                effects.push(Effect::WriteDecided { op: ask.op, verdict });
            }
            Ask::Command(terminal) => {
                let verdict = if allowed { CommandVerdict::Run } else { CommandVerdict::Rejected(why) };
                effects.push(Effect::CommandDecided { terminal, verdict });
            }
            Ask::Unsaved => {
                let word = chosen.as_ref().map(|option| option.id.as_str());
                self.unsaved_decided(&question.session, word, effects);
            }
            Ask::Access(waiting) => {
                self.access_answered(&question.session, *waiting, chosen.map(|option| option.kind), effects);
                said = why.filter(|_| refused).map(|why| edited::refusal_prompt(&title, &why));
            }
        }
        said.map(|text| (question.session, text))
    }

    /// The files that the diffs of a question are about, as the agent wrote them.
    pub(super) fn diff_paths(&self, question: &Question) -> Vec<String> {
        self.entry_of(question).map_or_else(Vec::new, |e| e.diffs.iter().map(|d| d.path.clone()).collect())
    }

    /// Paths of the diffs of a permission that waits, as the agent wrote them.
    pub fn permission_paths(&self, agent: AgentId, id: &WireId) -> Vec<String> {
        self.permission_of(agent, id).map_or_else(Vec::new, |at| self.diff_paths(&self.questions[at]))
    }

    /// Adds lines to a permission that waits: what only the workspace knows about its files.
    pub fn note_permission(&mut self, agent: AgentId, id: &WireId, notes: Vec<String>) {
        let Some(at) = self.permission_of(agent, id).filter(|_| !notes.is_empty()) else { return };
        let (session, entry) = (self.questions[at].session.clone(), self.questions[at].entry);
        if let Some(i) = self.index(&session)
            && self.list[i].transcript.note_question(entry, notes)
        {
            self.questions_changed = true;
        }
    }

    fn permission_of(&self, agent: AgentId, id: &WireId) -> Option<usize> {
        self.questions.iter().position(|q| {
            q.agent == agent && matches!(&q.ask, Ask::Permission { reply, .. } if reply.id() == id)
        })
    }

    /// The agent takes a request back. A permission is answered `cancelled`; any other id is somebody else's.
    pub fn cancel_request(&mut self, agent: AgentId, id: &WireId) -> Vec<Effect> {
        let mut effects = Vec::new();
        self.withdraw(
            |q| q.agent == agent && matches!(&q.ask, Ask::Permission { reply, .. } if reply.id() == id),
            "withdrawn: the agent took it back",
            &mut effects,
        );
        self.settle(effects)
    }

    /// Ends the questions of a session whose agent or turn goes, but for those that it has no part in.
    pub(super) fn withdraw_agents(&mut self, session: &SessionKey, outcome: &str, effects: &mut Vec<Effect>) {
        let outlives = |q: &Question| matches!(&q.ask, Ask::Write(ask) if writes::outlives_turn(ask));
        self.withdraw(|q| &q.session == session && !outlives(q), outcome, effects);
    }

    /// Ends all matching questions without a person: agents get `cancelled`, writes do not land.
    pub(super) fn withdraw(
        &mut self,
        matching: impl Fn(&Question) -> bool,
        outcome: &str,
        effects: &mut Vec<Effect>,
    ) {
        let (gone, kept) = std::mem::take(&mut self.questions).into_iter().partition(|q| matching(q));
        self.questions = kept;
        let gone: Vec<Question> = gone;
        self.questions_changed |= !gone.is_empty();
        for question in gone {
            self.record(&question, outcome.to_owned());
            match question.ask {
                Ask::Permission { reply, .. } => effects.push(Effect::Answer(reply, Ok(cancelled()))),
                Ask::Write(ask) => {
                    effects.push(Effect::WriteDecided { op: ask.op, verdict: Verdict::Reject })
                }
                Ask::Access(waiting) => effects.extend(waiting.decided(Access::Withdrawn)),
                Ask::Command(terminal) => {
                    effects.push(Effect::CommandDecided { terminal, verdict: CommandVerdict::Withdrawn });
                }
                // The prompt goes back with the queue, on every way that leads here.
                Ask::Unsaved => {}
            }
        }
    }

    pub(super) fn record(&mut self, question: &Question, outcome: String) {
        if let Some(i) = self.index(&question.session) {
            self.list[i].transcript.question_outcome(question.entry, outcome);
        }
    }

    pub(super) fn entry_of(&self, question: &Question) -> Option<&QuestionEntry> {
        self.list[self.index(&question.session)?].transcript.question_at(question.entry)
    }

    /// All questions that wait, in order of arrival.
    pub fn questions(&self) -> Vec<QuestionState> {
        let state = |question: &Question| {
            let entry = self.entry_of(question)?;
            Some(QuestionState {
                id: question.id,
                session: question.session.clone(),
                title: entry.title.clone(),
                body: entry.body.clone(),
                options: entry.options.clone(),
                files: entry.diffs.iter().map(|diff| display::one_line(&diff.path)).collect(),
                merge: matches!(&question.ask, Ask::Write(ask) if ask.merge.is_some()),
                write: match &question.ask {
                    Ask::Write(ask) => Some(ask.op),
                    _ => None,
                },
            })
        };
        self.questions.iter().filter_map(state).collect()
    }

    /// Diff number `index` (zero-based) of a question that waits.
    pub fn question_diff(&self, id: QuestionId, index: usize) -> Option<QuestionDiff> {
        let question = self.questions.iter().find(|q| q.id == id)?;
        let diffs = &self.entry_of(question)?.diffs;
        let diff = diffs.get(index)?;
        let count = diffs.len();
        Some(match &question.ask {
            Ask::Write(ask) => QuestionDiff::Write { ask: ask.clone(), count },
            // Only the first has diffs.
            Ask::Permission { .. } | Ask::Unsaved | Ask::Access(_) | Ask::Command(_) => {
                QuestionDiff::Agent { session: question.session.clone(), diff: diff.clone(), count }
            }
        })
    }
}

/// Raw JSON of the outcome that chooses nothing.
fn cancelled() -> std::sync::Arc<str> {
    json!({ "outcome": { "outcome": "cancelled" } }).to_string().into()
}

/// What a person's word means among these options; `None` when it means nothing.
fn choose(options: &[PermissionOption], word: &str) -> Option<Choice> {
    if let Some(place) = options.iter().position(|option| option.id == word) {
        return Some(Choice::Option(place));
    }
    let by_kind = |kind: &str| options.iter().position(|option| option.kind.as_str() == kind);
    let refusing = match word {
        "" => return None,
        "cancelled" => return Some(Choice::Cancelled),
        "reject_once" | "reject" => by_kind("reject_once").or(by_kind("reject_always")),
        "reject_always" => by_kind("reject_always").or(by_kind("reject_once")),
        kind => return by_kind(kind).map(Choice::Option),
    };
    // An id that an allowing option shares would not say no.
    let refusing =
        refusing.filter(|place| !options.iter().any(|o| o.id == options[*place].id && !o.kind.rejects()));
    Some(refusing.map_or(Choice::Cancelled, Choice::Option))
}

/// Hands a text back to the person's prompt.
pub(super) fn returned(session: &SessionKey, text: String, why: &str) -> Effect {
    Effect::Nvim(NvimCmd::PromptReturned { session: session.clone(), text, why: why.to_owned() })
}
