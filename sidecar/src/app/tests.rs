//! The rooms together, without edges: events in, effects out.

mod prompts;

use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};

use super::*;
use crate::effect::{AgentCmd, DiskCmd, EditCall};
use crate::reply::{Answer, Reply, WireId};

const FILE: &str = "/p/a.txt";

/// An app with one session on a scripted world: the disk and the editor answer at once.
struct World {
    app: App,
    now: Millis,
    effects: Vec<Effect>,
    answers: UnboundedReceiver<Answer>,
    answer: tokio::sync::mpsc::UnboundedSender<Answer>,
    next_id: u32,
}

impl World {
    fn new() -> Self {
        let (answer, answers) = unbounded_channel();
        let hello = Hello { protocol: 1, max_buf_bytes: 1 << 20, ..Hello::default() };
        Self { app: App::new(&hello), now: 0, effects: Vec::new(), answers, answer, next_id: 0 }
    }

    /// A world with session `s1` ready in `/p` and `a.txt` open, holding `text` that is not on disk.
    fn ready(text: &str) -> Self {
        let mut world = Self::new();
        world.action(Action::NewSession {
            session: key(),
            launch: Launch { name: "x".into(), start_timeout_ms: 60_000, ..Launch::default() },
            cwd: "/p".into(),
            access: AccessRules::default(),
        });
        world.action(Action::ViewOpen { session: key(), buf: BufId(90) });
        let agent = world.agent();
        world.agent_says(AgentEvent::Started { pgid: 77 });
        world.agent_says(AgentEvent::Initialized(Box::new(AgentInfo {
            protocol_version: 1,
            embedded_context: true,
            ..AgentInfo::default()
        })));
        let call = world
            .effects
            .iter()
            .find_map(|effect| match effect {
                Effect::Agent(id, AgentCmd::NewSession { call, .. }) if *id == agent => Some(*call),
                _ => None,
            })
            .expect("session/new");
        let opened = CallResult::NewSession { session: "acp".into(), raw: "{}".into() };
        world.agent_says(AgentEvent::Reply { call, result: Ok(opened) });
        world.open(BufId(3), FILE, text);
        world.effects.clear();
        world
    }

    fn apply(&mut self, event: Event) {
        self.now += 1;
        let mut out = Vec::new();
        self.app.apply(event, self.now, &mut out);
        self.app.settle(self.now, &mut out);
        for effect in out {
            self.world_answers(&effect);
            self.effects.push(effect);
        }
    }

    /// What the disk would say to a path question.
    fn world_answers(&mut self, effect: &Effect) {
        if let Effect::Disk(op, DiskCmd::Resolve { path, .. }) = effect {
            let kind = if path.as_os_str() == "/p" { PathKind::Dir } else { PathKind::File };
            let resolved = Resolved { real: path.clone(), kind, stamp: None };
            self.apply(Event::Disk(*op, DiskResult::Resolved(Ok(resolved))));
        }
    }

    fn open(&mut self, buf: BufId, name: &str, text: &str) {
        let lines: Vec<Vec<u8>> = text.lines().map(|line| line.as_bytes().to_vec()).collect();
        let total = lines.len();
        self.apply(Event::Nvim(NvimEvent::BufMeta(BufMeta {
            buf: buf.0,
            name: name.into(),
            tick: 5,
            modified: true,
            visible: true,
            fileformat: "unix".into(),
            eol: true,
            lines: total as u64,
            bytes: text.len() as u64,
            ..BufMeta::default()
        })));
        let slice = NvimEvent::Slice { buf, tick: 5, start: 0, total, lines, empty: false };
        self.apply(Event::Nvim(slice));
    }

    fn action(&mut self, action: Action) {
        self.apply(Event::Nvim(NvimEvent::Action(action)));
    }

    fn agent(&self) -> AgentId {
        self.effects
            .iter()
            .find_map(|effect| match effect {
                Effect::Agent(id, AgentCmd::Start(_)) => Some(*id),
                _ => None,
            })
            .unwrap_or(AgentId(1))
    }

    fn agent_says(&mut self, event: AgentEvent) {
        self.apply(Event::Agent(self.agent(), event));
    }

    fn reply(&mut self) -> Reply {
        self.next_id += 1;
        Reply::new(WireId(self.next_id.to_string().into()), self.answer.clone())
    }

    /// Carries out answers, and returns them as JSON text or an error's code.
    fn answered(&mut self) -> Vec<Result<String, i64>> {
        for effect in std::mem::take(&mut self.effects) {
            match effect {
                Effect::Answer(reply, result) => reply.send(result),
                other => self.effects.push(other),
            }
        }
        let mut out = Vec::new();
        while let Ok(answer) = self.answers.try_recv() {
            out.push(answer.result.map(|ok| ok.to_string()).map_err(|error| error.code));
        }
        out
    }

    fn read(&mut self) -> Vec<Result<String, i64>> {
        let reply = self.reply();
        self.agent_says(AgentEvent::ReadFile {
            session: "acp".into(),
            path: FILE.into(),
            line: None,
            limit: None,
            reply,
        });
        self.answered()
    }

    fn write(&mut self, content: &str) {
        let reply = self.reply();
        self.agent_says(AgentEvent::WriteFile {
            session: "acp".into(),
            path: FILE.into(),
            content: content.into(),
            reply,
        });
    }

    fn prompt(&mut self, text: &str) {
        self.action(Action::Prompt { session: key(), text: text.into(), context: Vec::new() });
    }

    /// The number of the prompt that was sent.
    fn call(&self) -> u64 {
        let sent = self.effects.iter().find_map(|effect| match effect {
            Effect::Agent(_, AgentCmd::Prompt { call, .. }) => Some(*call),
            _ => None,
        });
        sent.expect("a prompt")
    }

    fn end_turn(&mut self, call: u64) {
        let end = CallResult::Prompt { stop_reason: "end_turn".into(), raw: "{}".into() };
        self.agent_says(AgentEvent::Reply { call, result: Ok(end) });
    }

    fn edit(&self) -> Option<&EditCall> {
        self.effects.iter().find_map(|effect| match effect {
            Effect::Nvim(NvimCmd::Edit(edit)) => Some(edit),
            _ => None,
        })
    }

    fn questions(&self) -> Vec<crate::effect::QuestionState> {
        self.app.sessions.questions()
    }
}

fn key() -> SessionKey {
    SessionKey::new("s1")
}

#[test]
fn an_unsaved_text_is_read_without_a_word_to_the_editor() {
    let mut world = World::ready("on screen\n");
    world.prompt("go");
    world.effects.clear();
    assert_eq!(world.read(), [Ok(r#"{"content":"on screen\n"}"#.to_owned())]);
    assert!(!world.effects.iter().any(|effect| matches!(effect, Effect::Nvim(_))), "{:?}", world.effects);
}

#[test]
fn a_write_is_asked_for_and_then_is_one_call() {
    let mut world = World::ready("one\ntwo\n");
    world.prompt("go");
    world.read();
    world.effects.clear();
    world.write("one\nTWO\n");
    assert!(world.edit().is_none(), "nothing before the answer");
    let question = world.questions().pop().expect("a question");
    world.action(Action::Answer { question: question.id, option: "allow_once".into(), why: String::new() });
    let edit = world.edit().expect("an edit").clone();
    assert_eq!((edit.tick, edit.save, edit.eol), (5, true, true));
    let outcome = EditOutcome::Done { tick: 7, saved: true, modified: false, stamp: None };
    world.apply(Event::Nvim(NvimEvent::EditDone { op: edit.op, outcome }));
    assert_eq!(world.answered(), [Ok("{}".to_owned())]);
}

#[test]
fn a_write_that_an_allowed_permission_has_shown_is_not_asked_for_again() {
    let mut world = World::ready("one\ntwo\n");
    world.prompt("go");
    world.read();
    let reply = world.reply();
    let diff = Diff { path: FILE.into(), old: Some("one\ntwo\n".into()), new: "one\nTWO\n".into() };
    world.agent_says(AgentEvent::Permission {
        session: "acp".into(),
        tool: Box::new(ToolPatch {
            id: "t".into(),
            content: Patch::Set(vec![ToolContent::Diff(diff)]),
            ..ToolPatch::default()
        }),
        options: vec![PermissionOption { id: "yes".into(), name: "Yes".into(), kind: OptionKind::AllowOnce }],
        reply,
    });
    let question = world.questions().pop().expect("a question");
    world.action(Action::Answer { question: question.id, option: "yes".into(), why: String::new() });
    assert_eq!(world.answered().len(), 1);
    world.write("one\nTWO\n");
    assert!(world.questions().is_empty());
    assert!(world.edit().is_some());
}

#[test]
fn a_question_says_what_a_person_would_want_to_know_of_its_files() {
    let mut world = World::ready("mine\n");
    world.prompt("go");
    let mut told = Vec::new();
    for path in [FILE, "elsewhere.txt"] {
        let reply = world.reply();
        let diff = Diff { path: path.into(), old: None, new: "x\n".into() };
        world.agent_says(AgentEvent::Permission {
            session: "acp".into(),
            tool: Box::new(ToolPatch {
                id: path.into(),
                content: Patch::Set(vec![ToolContent::Diff(diff)]),
                ..ToolPatch::default()
            }),
            options: Vec::new(),
            reply,
        });
        told.push(world.questions().pop().expect("a question").body.join("\n"));
    }
    assert!(told[0].contains("your own unsaved lines") && !told[0].contains("not open"), "{told:?}");
    assert!(told[1].contains("not open here") && !told[1].contains("unsaved"), "{told:?}");
}

/// Asks for permission with a diff and answers with this option.
fn permit(world: &mut World, path: &str, old: Option<&str>, new: &str, option: &str) {
    ask_permission(world, path, old, new);
    let question = world.questions().pop().expect("a question");
    world.action(Action::Answer { question: question.id, option: option.into(), why: String::new() });
    world.answered();
}

/// Asks for permission with a diff.
fn ask_permission(world: &mut World, path: &str, old: Option<&str>, new: &str) {
    let reply = world.reply();
    let diff = Diff { path: path.into(), old: old.map(str::to_owned), new: new.into() };
    world.agent_says(AgentEvent::Permission {
        session: "acp".into(),
        tool: Box::new(ToolPatch {
            id: "t".into(),
            content: Patch::Set(vec![ToolContent::Diff(diff)]),
            ..ToolPatch::default()
        }),
        options: vec![
            PermissionOption { id: "yes".into(), name: "Yes".into(), kind: OptionKind::AllowOnce },
            PermissionOption { id: "no".into(), name: "No".into(), kind: OptionKind::RejectOnce },
        ],
        reply,
    });
}

#[test]
fn what_a_person_made_of_an_allowed_diff_is_what_lands_and_the_agent_hears_of_it() {
    let mut world = World::ready("one\ntwo\nthree\n");
    world.prompt("go");
    let call = world.call();
    world.read();
    ask_permission(&mut world, FILE, Some("one\ntwo\nthree\n"), "ONE\ntwo\nTHREE\n");
    let question = world.questions().pop().expect("a question").id;
    let text =
        |lines: &[&str]| Text { lines: lines.iter().map(|l| l.as_bytes().to_vec()).collect(), eol: true };
    let edit = EditedText { from: text(&["ONE", "two", "THREE"]), to: text(&["one", "two", "3"]) };
    world.action(Action::AnswerEdited { question, files: vec![(0, edit)] });
    world.answered();
    world.write("ONE\ntwo\nTHREE\n");
    assert!(world.questions().is_empty());
    let edits: Vec<_> =
        world.edit().expect("an edit").edits.iter().map(|e| (e.range.start.line, &*e.new_text)).collect();
    assert_eq!(edits, [(2, "3")], "the first hunk was dropped, the second is the person's");
    land(&mut world, 9, "one\ntwo\n3\n");
    world.effects.clear();
    world.end_turn(call);
    world.prompt("again");
    let sent = format!("{:?}", world.effects);
    assert!(sent.contains("The person edited your change of"), "{sent}");
}

#[test]
fn a_merge_with_what_a_person_wrote_meanwhile_is_not_said_to_differ_from_what_was_allowed() {
    let mut world = World::ready("one\ntwo\n");
    world.prompt("go");
    world.read();
    permit(&mut world, FILE, Some("one\ntwo\n"), "one\nTWO\n", "yes");
    world.apply(Event::Nvim(NvimEvent::BufLines {
        buf: BufId(3),
        tick: Some(6),
        first: 1,
        last: Some(2),
        lines: vec![b"mine".to_vec()],
        more: false,
    }));
    world.write("one\nTWO\n");
    let question = world.questions().pop().expect("a question");
    assert!(question.merge && !question.body.join("\n").contains("not what you allowed"), "{question:?}");
}

#[test]
fn a_write_that_differs_from_what_was_allowed_says_so() {
    let mut world = World::ready("one\ntwo\n");
    world.prompt("go");
    world.read();
    permit(&mut world, FILE, Some("one\ntwo\n"), "one\nTWO\n", "yes");
    world.write("one\nother\n");
    let body = world.questions().pop().expect("a question").body.join("\n");
    assert!(body.contains("not what you allowed"), "{body}");
}

/// The edit that is asked for lands, and the mirror shows it.
fn land(world: &mut World, tick: u64, text: &str) {
    let op = world.edit().expect("an edit").op;
    let lines = text.lines().map(|line| line.as_bytes().to_vec()).collect();
    world.apply(Event::Nvim(NvimEvent::BufLines {
        buf: BufId(3),
        tick: Some(tick),
        first: 0,
        last: None,
        lines,
        more: false,
    }));
    let outcome = EditOutcome::Done { tick, saved: true, modified: false, stamp: None };
    world.apply(Event::Nvim(NvimEvent::EditDone { op, outcome }));
    world.effects.clear();
}

#[test]
fn an_approval_is_good_for_one_write() {
    let mut world = World::ready("one\n");
    world.prompt("go");
    world.read();
    permit(&mut world, FILE, Some("one\n"), "two\n", "yes");
    world.write("two\n");
    land(&mut world, 7, "two\n");
    // The person takes it back; the agent reads that and writes the same again.
    world.apply(Event::Nvim(NvimEvent::BufLines {
        buf: BufId(3),
        tick: Some(9),
        first: 0,
        last: None,
        lines: vec![b"one".to_vec()],
        more: false,
    }));
    world.read();
    world.write("two\n");
    assert_eq!(world.questions().len(), 1);
    assert!(world.edit().is_none());
}

#[test]
fn a_later_refusal_takes_an_approval_back() {
    let mut world = World::ready("one\n");
    world.prompt("go");
    world.read();
    permit(&mut world, FILE, Some("one\n"), "two\n", "yes");
    permit(&mut world, FILE, Some("one\n"), "two\n", "no");
    world.write("two\n");
    assert_eq!(world.questions().len(), 1);
}

#[test]
fn an_approval_for_a_new_file_does_not_cover_a_text_that_is_there() {
    let mut world = World::ready("mine\n");
    world.prompt("go");
    world.read();
    permit(&mut world, FILE, None, "agent\n", "yes");
    world.write("agent\n");
    assert_eq!(world.questions().len(), 1, "the person has not seen that their text would go");
}

#[test]
fn an_approval_with_a_relative_path_is_for_that_file_of_the_session_only() {
    let mut world = World::ready("one\n");
    world.prompt("go");
    world.read();
    permit(&mut world, "sub/a.txt", Some("one\n"), "two\n", "yes");
    world.write("two\n");
    assert_eq!(world.questions().len(), 1);
    world.action(Action::Cancel { session: key() });

    let mut world = World::ready("one\n");
    world.prompt("go");
    world.read();
    permit(&mut world, "./a.txt", Some("one\n"), "two\n", "yes");
    world.write("two\n");
    assert!(world.questions().is_empty() && world.edit().is_some());
}

#[test]
fn a_cancel_answers_everything_that_is_open() {
    let mut world = World::ready("one\ntwo\n");
    world.prompt("go");
    world.read();
    world.write("one\nTWO\n");
    world.action(Action::Cancel { session: key() });
    assert_eq!(world.answered(), [Err(RpcError::CANCELLED)]);
    assert!(world.questions().is_empty());
    let cancels = world
        .effects
        .iter()
        .filter(|effect| matches!(effect, Effect::Agent(_, AgentCmd::Cancel { .. })))
        .count();
    assert_eq!(cancels, 1);
}

#[test]
fn requests_of_an_unknown_session_are_answered() {
    let mut world = World::ready("x\n");
    let reply = world.reply();
    world.agent_says(AgentEvent::ReadFile {
        session: "nobody".into(),
        path: FILE.into(),
        line: None,
        limit: None,
        reply,
    });
    assert_eq!(world.answered(), [Err(RpcError::INVALID_PARAMS)]);
}

#[test]
fn the_end_of_a_turn_is_announced_when_the_transcript_shows_it() {
    let mut world = World::ready("x\n");
    world.prompt("go");
    let call = world.call();
    world.effects.clear();
    world.end_turn(call);
    let announced = |world: &World| {
        world.effects.iter().any(
            |effect| matches!(effect, Effect::Nvim(NvimCmd::UserEvent { name, .. }) if name == "BosunTurnEnd"),
        )
    };
    assert!(!announced(&world), "a patch is on its way");
    for version in 1..=3 {
        world.apply(Event::Nvim(NvimEvent::ViewAck { session: key(), version }));
    }
    assert!(announced(&world));
}

#[test]
fn a_written_file_is_announced() {
    let mut world = World::ready("one\n");
    world.prompt("go");
    world.read();
    world.write("two\n");
    let question = world.questions().pop().expect("a question");
    world.action(Action::Answer { question: question.id, option: "allow".into(), why: String::new() });
    let op = world.edit().expect("an edit").op;
    let outcome = EditOutcome::Done { tick: 7, saved: true, modified: false, stamp: None };
    world.apply(Event::Nvim(NvimEvent::EditDone { op, outcome }));
    let written = world.effects.iter().any(|effect| {
        matches!(effect, Effect::Nvim(NvimCmd::UserEvent { name, data })
            if name == "BosunFileWritten" && data["path"] == FILE)
    });
    assert!(written, "{:?}", world.effects);
}
