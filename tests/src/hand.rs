//! A session played by hand: the test says line by line what the agent does, and what is true in between.
//!
//! Owns the story of relays (one a turn) behind it. It answers no question by itself unless told to. For tests whose
//! person and agent take turns at the same file; called by tests.

use std::path::PathBuf;

use serde_json::{Value, json};

use crate::script::relay::Relay;
use crate::script::steps::*;
use crate::{Editor, Scripted};

/// An agent whose turn runs until [`Hand::end`].
pub struct Hand<'a> {
    editor: &'a Editor,
    relay: Relay,
    /// What it saw.
    pub agent: Scripted,
    /// The session's id.
    pub session: String,
    project: PathBuf,
    asked: u64,
    turns: usize,
    /// Ids of the question that was looked at last, and of the last one whose request has its answer.
    shown: u64,
    closed: u64,
}

impl<'a> Hand<'a> {
    /// Starts a session and its first turn.
    pub fn start(editor: &'a Editor) -> Self {
        Self::start_with(editor, json!({}), &[])
    }

    /// The same, with more fields for the preset, and with steps that are played when the first turn begins.
    pub fn start_with(editor: &'a Editor, more: Value, first: &[Value]) -> Self {
        let mut relay = Relay::listen(editor.aside("hand"));
        let mut story = vec![auto(), prompt()];
        story.extend_from_slice(first);
        let turn = [self::relay(relay.path()), end_turn()];
        story.extend(turn.iter().cloned());
        story.push(json!({"loop": [prompt(), turn[0], turn[1]]}));
        let agent = editor.script_with(&story, more);
        let session = editor.ask("go");
        relay.accept();
        let project = editor.project().to_owned();
        Self { editor, relay, agent, session, project, asked: 0, turns: 0, shown: 0, closed: 0 }
    }

    /// Reads a file of the project: its text, or the error.
    pub fn read(&mut self, name: &str) -> Result<String, Value> {
        self.send("fs/read_text_file", json!({"path": self.project.join(name)}));
        self.outcome().map(|result| result["content"].as_str().unwrap_or_default().to_owned())
    }

    /// Asks for a file of the project to be written, and does not wait.
    pub fn write(&mut self, name: &str, text: &str) {
        self.send("fs/write_text_file", json!({"path": self.project.join(name), "content": text}));
    }

    /// Gets the permission to make this change, which a write of the same change needs no more then.
    pub fn permit(&mut self, name: &str, old: &str, new: &str) {
        let mut tool = edit_tool("permitted", name, old, new);
        tool["content"][0]["path"] = json!(self.project.join(name));
        self.send("session/request_permission", json!({"toolCall": tool, "options": allow_or_reject()}));
        assert!(self.outcome_after("allow_once").is_ok());
        self.editor.await_pending(0);
    }

    /// Asks anything, and waits for the answer.
    pub fn call(&mut self, method: &str, params: Value) -> Result<Value, Value> {
        self.send(method, params);
        self.outcome()
    }

    /// Asks anything, and does not wait.
    pub fn send(&mut self, method: &str, params: Value) {
        self.asked += 1;
        self.relay.send(method, params);
    }

    /// Waits for the answer to what was asked last.
    pub fn outcome(&mut self) -> Result<Value, Value> {
        self.closed = self.shown;
        self.relay.receive()
    }

    /// Whether what was asked last has its answer.
    pub fn is_answered(&self) -> bool {
        !self.agent.read().replies(&self.id()).is_empty()
    }

    /// How long the answer to what was asked last took, in milliseconds.
    pub fn took_ms(&self) -> f64 {
        self.agent.read().reply_took(&self.id()).expect("it was answered")
    }

    fn id(&self) -> Value {
        format!("relay-{}", self.asked).into()
    }

    /// The answer to what was asked last, which asks the person nothing.
    pub fn outcome_unasked(&mut self) -> Result<Value, Value> {
        self.editor.eventually("an answer, or a question that should not be", || {
            assert_eq!(self.editor.pending(), Vec::<Value>::new(), "nothing is asked");
            self.is_answered()
        });
        self.outcome()
    }

    /// Answers the question that comes of what was asked last, and waits for the agent's answer.
    pub fn outcome_after(&mut self, option: &str) -> Result<Value, Value> {
        let question = self.question();
        self.editor.answer(&question, option);
        self.outcome()
    }

    /// Waits for the next question: one that was answered may be in the editor's table for a moment longer.
    pub fn question(&mut self) -> Value {
        let open = |q: &Value| q["id"].as_u64() > Some(self.closed);
        let found = self.editor.wait_for("the question", || self.editor.pending().into_iter().find(open));
        self.shown = found["id"].as_u64().unwrap_or_default();
        found
    }

    /// Writes a file, with one question, which is answered with yes.
    pub fn write_allowed(&mut self, name: &str, text: &str) {
        self.write(name, text);
        let outcome = self.outcome_after("allow_once");
        assert!(outcome.is_ok(), "{outcome:?}");
    }

    /// Ends this turn, and begins the next one.
    pub fn next_turn(&mut self) {
        self.end_turn("end_turn");
        self.editor.prompt(&self.session, "go on");
        self.relay.accept();
    }

    fn end_turn(&mut self, reason: &str) {
        self.relay.hang_up();
        self.turns += 1;
        assert_eq!(self.editor.turn_end(self.turns), reason);
    }

    /// Ends the turn; nothing may be open or wrong.
    pub fn end(self) {
        self.end_as("end_turn");
    }

    /// The same; the turn has another stop reason than usual.
    pub fn end_as(mut self, reason: &str) {
        self.end_turn(reason);
        assert_eq!(self.editor.pending(), Vec::<Value>::new());
        self.editor.assert_sound(&self.agent);
    }
}
