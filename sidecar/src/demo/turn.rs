//! One turn of the demo agent: says things, asks the host things, and stops at once when it is cancelled.
//!
//! Owns the turn's requests. It knows nothing of what is done in a turn beyond choosing it: an edit is in `edit`, the
//! reading of a prompt in `words`.

use std::path::PathBuf;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::words::{Wish, context_file, prompt_text, wish};
use super::{Out, SPAN};

/// What reaches a turn.
pub(crate) enum Mail {
    /// The host answered a request; an error is its message.
    Answer { id: u64, answer: Result<Value, String> },
    /// The person stopped the turn.
    Cancel,
    /// Nothing; sent to see whether the turn still lives.
    Ping,
}

/// Why a turn ends before its story does.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Stop {
    /// The person stopped it.
    Cancelled,
    /// The host is gone, there is nobody to answer.
    Gone,
}

/// How a story goes on after each step.
pub(crate) type Told<T = ()> = Result<T, Stop>;

pub(crate) struct Turn {
    session: String,
    /// Unique over the life of the agent; tool calls are named after it, because ids must not come again.
    number: u64,
    /// The id of the next request.
    next: u64,
    /// Base of relative paths.
    pub(super) cwd: PathBuf,
    /// Between two chunks.
    delay: Duration,
    out: Out,
    inbox: Receiver<Mail>,
}

/// What it can do, for people who ask for something else.
const ABILITIES: &str = "I am a demo without a model, so I only understand a few sentences:\n\n\
    - `replace A with B` or `replace \"some words\" with \"other words\" in FILE`\n\
    - `append TEXT to FILE`\n\
    - `run COMMAND`\n\
    - `plan first this, then that`\n\n\
    Without `in FILE` I take the file you were in. I read what is on your screen, saved or not, and I ask before I \
    change or run anything.";

impl Turn {
    pub(crate) fn new(
        session: &str,
        number: u64,
        cwd: PathBuf,
        delay: Duration,
        out: Out,
        inbox: Receiver<Mail>,
    ) -> Self {
        Self { session: session.into(), number, next: number * SPAN, cwd, delay, out, inbox }
    }

    /// See the field.
    pub(super) fn number(&self) -> u64 {
        self.number
    }

    /// Plays the whole turn and answers the prompt.
    pub(crate) fn play(mut self, id: &Value, prompt: &Value) {
        let reason = match self.act(prompt) {
            Ok(()) => "end_turn",
            Err(Stop::Cancelled) => "cancelled",
            Err(Stop::Gone) => return,
        };
        let Self { out, inbox, .. } = self;
        // First the end of the channel, then the answer: a prompt that follows at once finds no turn running.
        drop(inbox);
        out.send(&json!({"jsonrpc": "2.0", "id": id, "result": {"stopReason": reason}}));
    }

    fn act(&mut self, prompt: &Value) -> Told {
        let file = context_file(prompt);
        match wish(&prompt_text(prompt)) {
            Wish::Edit { change, file: named } => match named.or(file) {
                Some(file) => self.edit(&change, &file),
                None => self.say("Which file? Open it, or name it: `in FILE`."),
            },
            Wish::Run(line) => self.run(&line),
            Wish::Plan(steps) => self.show_plan(&steps),
            Wish::Other => self.say(ABILITIES),
        }
    }

    /// A plan of its own words, completed step by step.
    fn show_plan(&mut self, steps: &[String]) -> Told {
        self.say("Here is the plan. I only show how one looks; I do nothing else.\n\n")?;
        for done in 0..=steps.len() {
            self.plan(steps, done)?;
            self.rest(15)?;
        }
        self.say(&format!("All {} steps are ticked off.", steps.len()))
    }

    /// Streams text as the answer.
    pub(super) fn say(&mut self, text: &str) -> Told {
        self.stream("agent_message_chunk", text)
    }

    /// Streams text as reasoning.
    pub(super) fn think(&mut self, text: &str) -> Told {
        self.stream("agent_thought_chunk", text)
    }

    fn stream(&mut self, kind: &str, text: &str) -> Told {
        // Three words at a time look alive and keep the longest text under a second.
        let words: Vec<&str> = text.split_inclusive(' ').collect();
        for piece in words.chunks(3) {
            self.update(kind, json!({"content": {"type": "text", "text": piece.concat()}}));
            self.rest(1)?;
        }
        Ok(())
    }

    /// Sends the plan: steps before `done` are completed, the one at `done` is in progress.
    pub(super) fn plan<S: AsRef<str>>(&mut self, steps: &[S], done: usize) -> Told {
        let entry = |(at, step): (usize, &S)| {
            let status = match at.cmp(&done) {
                std::cmp::Ordering::Less => "completed",
                std::cmp::Ordering::Equal => "in_progress",
                std::cmp::Ordering::Greater => "pending",
            };
            json!({"content": step.as_ref(), "priority": "medium", "status": status})
        };
        let entries: Vec<Value> = steps.iter().enumerate().map(entry).collect();
        self.update("plan", json!({"entries": entries}));
        self.rest(0)
    }

    /// Sends one update of a kind.
    pub(super) fn update(&mut self, kind: &str, mut fields: Value) {
        fields["sessionUpdate"] = kind.into();
        let params = json!({"sessionId": self.session, "update": fields});
        self.out.send(&json!({"jsonrpc": "2.0", "method": "session/update", "params": params}));
    }

    /// Asks the host and waits for the answer, or for a cancel.
    pub(super) fn call(&mut self, method: &str, mut params: Value) -> Told<Result<Value, String>> {
        let id = self.next;
        self.next += 1;
        params["sessionId"] = self.session.as_str().into();
        self.out.send(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}));
        loop {
            match self.inbox.recv() {
                Ok(Mail::Answer { id: of, answer }) if of == id => return Ok(answer),
                Ok(Mail::Cancel) => return Err(Stop::Cancelled),
                Ok(Mail::Answer { .. } | Mail::Ping) => {}
                Err(_) => return Err(Stop::Gone),
            }
        }
    }

    /// Asks the host and does not wait: the turn is over.
    pub(super) fn call_last(&mut self, method: &str, mut params: Value) {
        let id = self.next;
        self.next += 1;
        params["sessionId"] = self.session.as_str().into();
        self.out.send(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}));
    }

    /// Waits for some delays, or for a cancel. With none it still looks for a cancel.
    fn rest(&mut self, delays: u32) -> Told {
        let end = Instant::now() + self.delay * delays;
        loop {
            match self.inbox.recv_timeout(end.saturating_duration_since(Instant::now())) {
                Ok(Mail::Cancel) => return Err(Stop::Cancelled),
                Ok(_) => {}
                Err(RecvTimeoutError::Timeout) => return Ok(()),
                Err(RecvTimeoutError::Disconnected) => return Err(Stop::Gone),
            }
        }
    }
}
