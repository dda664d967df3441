//! Whatever happens, in whatever order: every request is answered exactly once, and the wire stays lawful.

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;
use crate::effect::AccessAsk;

/// Something that may happen at any moment.
#[derive(Clone, Debug)]
enum Step {
    Create(u8),
    Initialized(u8, u64),
    Made(u8),
    MadeError(u8),
    Prompt(u8),
    /// From now on prompts wait, with a question about unsaved text.
    Hold(bool),
    PromptAnswer(u8, u8),
    Duplicate(u64),
    Cancel(u8),
    Ask(u8, u8),
    Write(u8, u8),
    Access(u8, u8, bool),
    AccessOff(u8),
    Answer(u8, u8),
    TakeBack(u8, u8),
    Update(u8, u8),
    Tick(u32),
    Exit(u8),
    Restart(u8),
    Close(u8),
}

fn step() -> impl Strategy<Value = Step> {
    use Step::*;
    let s = 0..2u8;
    prop_oneof![
        1 => s.clone().prop_map(Create),
        3 => (s.clone(), 1..3u64).prop_map(|(s, v)| Initialized(s, if v == 2 { 2 } else { 1 })),
        4 => s.clone().prop_map(Made),
        1 => s.clone().prop_map(MadeError),
        6 => s.clone().prop_map(Prompt),
        2 => any::<bool>().prop_map(Hold),
        4 => (s.clone(), 0..4u8).prop_map(|(s, how)| PromptAnswer(s, how)),
        1 => (1..20u64).prop_map(Duplicate),
        3 => s.clone().prop_map(Cancel),
        6 => (s.clone(), 0..3u8).prop_map(|(s, t)| Ask(s, t)),
        3 => (s.clone(), 0..4u8).prop_map(|(s, op)| Write(s, op)),
        3 => (s.clone(), 0..2u8, any::<bool>()).prop_map(|(s, path, write)| Access(s, path, write)),
        1 => (0..8u8).prop_map(AccessOff),
        4 => (0..8u8, 0..8u8).prop_map(|(q, how)| Answer(q, how)),
        1 => (s.clone(), 0..6u8).prop_map(|(s, id)| TakeBack(s, id)),
        4 => (s.clone(), 0..6u8).prop_map(|(s, what)| Update(s, what)),
        2 => (0..30_000u32).prop_map(Tick),
        1 => s.clone().prop_map(Exit),
        2 => s.clone().prop_map(Restart),
        1 => s.prop_map(Close),
    ]
}

/// Plays the steps and keeps the books.
struct Books {
    room: Sessions,
    now: Millis,
    tx: UnboundedSender<Answer>,
    rx: UnboundedReceiver<Answer>,
    /// Number of answers by request.
    answers: BTreeMap<u64, u32>,
    asked: u64,
    /// The process of each session, and all ever minted.
    agents: [u32; 2],
    minted: u32,
    /// Open calls by agent: the number and whether it is a prompt.
    calls: BTreeMap<u32, (u64, bool)>,
    /// Whether a cancel went out for the prompt that is open on the agent.
    cancelled: BTreeMap<u32, bool>,
    /// Writes that wait, by op.
    writes: BTreeMap<u64, u32>,
    hold: bool,
    /// Requests that wait for a word about their path, by op.
    accesses: BTreeMap<u64, u32>,
}

impl Books {
    fn new() -> Self {
        let (tx, rx) = unbounded_channel();
        Self {
            room: Sessions::new(),
            now: 0,
            tx,
            rx,
            answers: BTreeMap::new(),
            asked: 0,
            agents: [1, 2],
            minted: 2,
            calls: BTreeMap::new(),
            cancelled: BTreeMap::new(),
            writes: BTreeMap::new(),
            hold: false,
            accesses: BTreeMap::new(),
        }
    }

    fn play(&mut self, effects: Vec<Effect>) {
        for effect in effects {
            match effect {
                Effect::Answer(reply, result) => {
                    assert!(result.is_err() || result.unwrap().contains("outcome"));
                    let id: u64 = reply.id().0.parse().unwrap();
                    *self.answers.entry(id).or_default() += 1;
                    reply.send(Ok("{}".into()));
                    self.rx.try_recv().unwrap();
                }
                Effect::Agent(agent, AgentCmd::NewSession { call, .. }) => {
                    self.calls.insert(agent.0, (call, false));
                }
                Effect::Agent(agent, AgentCmd::Prompt { call, .. }) => {
                    let open = self.calls.insert(agent.0, (call, true));
                    assert!(open.is_none(), "two prompts at once");
                    self.cancelled.insert(agent.0, false);
                }
                Effect::Agent(agent, AgentCmd::Cancel { .. }) => {
                    assert!(matches!(self.calls.get(&agent.0), Some((_, true))), "a cancel without a prompt");
                    let before = self.cancelled.insert(agent.0, true);
                    assert_eq!(before, Some(false), "a second cancel");
                }
                Effect::PromptDue { session } if self.room.due(&session).is_some() => {
                    let answered = self.room.unsaved_policy(&session) == UnsavedPolicy::Embed;
                    let mut effects = Vec::new();
                    if self.hold && !answered {
                        effects.extend(self.room.ask_unsaved(&session, &["a".to_owned()]));
                        effects.extend(self.room.hold(&session));
                    } else {
                        effects.extend(self.room.go(&session, Vec::new()));
                    }
                    self.play(effects);
                }
                Effect::WriteDecided { op, .. } => {
                    let open = self.writes.entry(op.0).or_default();
                    assert!(*open > 0, "a write was decided twice");
                    *open -= 1;
                }
                Effect::AccessDecided { op, .. } => {
                    let open = self.accesses.entry(op.0).or_default();
                    assert!(*open > 0, "an access was decided twice");
                    *open -= 1;
                }
                Effect::AskAccess(ask) => {
                    let effects = self.room.ask_access(ask);
                    self.play(effects);
                }
                _ => {}
            }
        }
        assert!(self.rx.try_recv().is_err(), "a reply was dropped unspent");
    }

    fn step(&mut self, step: Step) {
        let keys = [SessionKey::new("s0"), SessionKey::new("s1")];
        let agent = |books: &Self, s: u8| AgentId(books.agents[usize::from(s)]);
        let key = |s: u8| &keys[usize::from(s)];
        let now = self.now;
        let effects = match step {
            Step::Create(s) => {
                if self.room.cwd(key(s)).is_some() {
                    return;
                }
                self.mint(s);
                let launch = Launch { start_timeout_ms: 20_000, ..Launch::default() };
                self.room.create(key(s).clone(), agent(self, s), launch, "/w".into(), now)
            }
            Step::Initialized(s, version) => self
                .room
                .initialized(agent(self, s), AgentInfo { protocol_version: version, ..AgentInfo::default() }),
            Step::Made(s) => {
                let Some((call, false)) = self.calls.get(&agent(self, s).0).copied() else { return };
                self.calls.remove(&agent(self, s).0);
                let made = CallResult::NewSession { session: "a".into(), raw: "{}".into() };
                self.room.reply(agent(self, s), call, Ok(made), now)
            }
            Step::MadeError(s) => {
                let Some((call, false)) = self.calls.get(&agent(self, s).0).copied() else { return };
                self.calls.remove(&agent(self, s).0);
                self.room.reply(agent(self, s), call, Err(RpcError::new(-1, "no")), now)
            }
            Step::Prompt(s) => self.room.prompt(key(s), "go".into(), Vec::new(), now),
            Step::Hold(hold) => {
                self.hold = hold;
                return;
            }
            Step::PromptAnswer(s, how) => {
                let Some((call, true)) = self.calls.get(&agent(self, s).0).copied() else { return };
                self.calls.remove(&agent(self, s).0);
                let result = match how {
                    0 => prompt_result("end_turn", "{}"),
                    1 => prompt_result("cancelled", "{}"),
                    2 => prompt_result("refusal", "{}"),
                    _ => Err(RpcError::new(-32603, "no")),
                };
                self.room.reply(agent(self, s), call, result, now)
            }
            Step::Duplicate(call) => {
                if self.calls.values().any(|(open, _)| *open == call) {
                    return;
                }
                self.room.reply(agent(self, 0), call, prompt_result("end_turn", "{}"), now)
            }
            Step::Cancel(s) => self.room.cancel(key(s), now),
            Step::Ask(s, t) => {
                self.asked += 1;
                self.answers.insert(self.asked, 0);
                let reply = Reply::new(WireId(self.asked.to_string().into()), self.tx.clone());
                let input = with_input(&t.to_string(), "edit", json!({ "path": "/a", "content": "x" }));
                self.room.permission(agent(self, s), "a", input, yes_no(), reply, now)
            }
            Step::Write(s, op) => {
                // A question that takes another's place is about the same write.
                self.writes.insert(u64::from(op), 1);
                self.room
                    .ask_write(WriteAsk { session: key(s).clone(), ..write_ask(u64::from(op), "/w/a") }, now)
            }
            Step::Access(s, path, write) => {
                self.asked += 1;
                self.accesses.insert(self.asked, 1);
                self.room.ask_access(AccessAsk {
                    op: OpId(self.asked),
                    session: key(s).clone(),
                    path: format!("/etc/{path}").into(),
                    write,
                    notes: Vec::new(),
                })
            }
            Step::AccessOff(nth) => {
                let mut waiting = self.accesses.iter().filter(|(_, open)| **open > 0).map(|(op, _)| *op);
                let Some(op) = waiting.nth(usize::from(nth)) else { return };
                self.accesses.insert(op, 0);
                self.room.withdraw_access(OpId(op), "taken back")
            }
            Step::Answer(q, how) => {
                let words = [
                    "y",
                    "n",
                    "allow_once",
                    "reject_once",
                    "cancelled",
                    "allow_always",
                    "reject_always",
                    "embed",
                ];
                let word = words[usize::from(how)];
                let Some(question) = self.room.questions().get(usize::from(q)).map(|q| q.id) else { return };
                self.room.answer(question, word, now)
            }
            Step::TakeBack(s, id) => self.room.cancel_request(agent(self, s), &WireId(id.to_string().into())),
            Step::Update(s, what) => {
                let update = match what {
                    0 => chunk(Role::Agent, None, "x"),
                    1 => chunk(Role::User, None, "go"),
                    2 => Update::ToolCall(titled("1", "T", ToolStatus::InProgress)),
                    3 => Update::ToolCallUpdate(titled("2", "T", ToolStatus::Completed)),
                    4 => messages::plan(None, &["p"]),
                    _ => Update::Unknown { kind: "z".into(), raw: "1".into() },
                };
                self.room.update(agent(self, s), "a", update, now)
            }
            Step::Tick(by) => {
                self.now += Millis::from(by);
                self.room.tick(self.now)
            }
            Step::Exit(s) => self.exit(s),
            Step::Restart(s) => {
                if !self.room.needs_restart(key(s)) {
                    return;
                }
                self.mint(s);
                self.room.restart(key(s), agent(self, s), now)
            }
            Step::Close(s) => {
                let effects = self.room.close(key(s), now);
                self.calls.remove(&agent(self, s).0);
                effects
            }
        };
        self.play(effects);
    }

    fn mint(&mut self, s: u8) {
        self.minted += 1;
        self.agents[usize::from(s)] = self.minted;
    }

    fn exit(&mut self, s: u8) -> Vec<Effect> {
        let agent = self.agents[usize::from(s)];
        self.calls.remove(&agent);
        self.room.exited(AgentId(agent), Exit { code: Some(1), ..Exit::default() }, self.now)
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_request_is_answered_exactly_once_and_every_write_decided(
        steps in proptest::collection::vec(step(), 0..120)
    ) {
        let mut books = Books::new();
        // Most of what can happen needs a session that is ready.
        for s in [0, 1] {
            for first in [Step::Create(s), Step::Initialized(s, 1), Step::Made(s), Step::Prompt(s)] {
                books.step(first);
            }
        }
        for step in steps {
            books.step(step);
        }
        for agent in 1..=books.minted {
            let exit = Exit { signal: Some(9), ..Exit::default() };
            let effects = books.room.exited(AgentId(agent), exit, books.now);
            books.play(effects);
        }
        prop_assert!(books.answers.values().all(|count| *count == 1), "{:?}", books.answers);
        prop_assert!(books.writes.values().all(|open| *open == 0), "{:?}", books.writes);
        prop_assert!(books.accesses.values().all(|open| *open == 0), "{:?}", books.accesses);
        prop_assert!(books.room.questions().is_empty());
        for state in books.room.states() {
            prop_assert_eq!(state.state, "dead");
            prop_assert!(state.queue.is_empty(), "nothing a person wrote is left behind");
            for entry in books.room.transcript(&state.id).unwrap().entries() {
                match &entry.body {
                    Body::Tool(call) => prop_assert!(call.ended()),
                    Body::Question(question) => prop_assert!(question.outcome.is_some()),
                    Body::Message { open, .. } | Body::Thought { open, .. } => prop_assert!(!open),
                    _ => {}
                }
            }
        }
    }
}
