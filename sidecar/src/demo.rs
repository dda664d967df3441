//! The demo agent (`bosun demo-agent`): a small agent without a model that does real work on any project over ACP.
//!
//! Owns its side of the wire: one line of JSON per message on stdin and stdout, built by hand, so that it stands to the
//! sidecar as any other agent does. One thread reads and dispatches, one thread plays each turn; what they share is a
//! channel per turn. It never touches files itself: it reads and writes through the host. Called by `main.rs`.

mod edit;
mod run;
mod turn;
mod words;

#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::io::{BufRead, Write};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::{SyncSender, TrySendError, sync_channel};
use std::time::Duration;

use serde_json::{Value, json};

use turn::{Mail, Turn};

/// Between two chunks of text, unless `BOSUN_DEMO_DELAY_MS` says otherwise.
const DELAY: Duration = Duration::from_millis(10);

/// Ids of a turn's requests are `turn * SPAN + n`, so that an answer finds its turn without a table.
const SPAN: u64 = 1000;

/// Mails to a turn that wait to be read; a turn has one request open at a time.
const MAILS: usize = 64;

/// Where lines go. Cloned into each turn; a line is written whole.
#[derive(Clone)]
pub(crate) struct Out(Arc<dyn Fn(&str) + Send + Sync>);

impl Out {
    /// Sends one message.
    fn send(&self, message: &Value) {
        (self.0)(&message.to_string());
    }
}

/// Serves stdin until it ends; returns the exit code.
pub fn run() -> i32 {
    let delay = std::env::var("BOSUN_DEMO_DELAY_MS").ok().and_then(|ms| ms.parse().ok());
    let out = Out(Arc::new(|line| {
        let mut stdout = std::io::stdout().lock();
        // A host that is gone is noticed by the end of stdin.
        let _ = writeln!(stdout, "{line}").and_then(|()| stdout.flush());
    }));
    serve(std::io::stdin().lock(), out, delay.map_or(DELAY, Duration::from_millis));
    0
}

/// Reads messages until the input ends. Turns that still run are told by the end of their channel.
fn serve(input: impl BufRead, out: Out, delay: Duration) {
    let mut agent = Agent { out, delay, sessions: HashMap::new(), turns: 0 };
    for line in input.split(b'\n').map_while(Result::ok) {
        match serde_json::from_slice::<Value>(&line) {
            Ok(message) => agent.message(message),
            Err(_) if line.trim_ascii().is_empty() => {}
            Err(e) => agent.out.send(&failure(&Value::Null, -32700, &format!("not JSON: {e}"))),
        }
    }
}

/// A conversation: where it is, and the turn that was started last.
struct Session {
    cwd: PathBuf,
    /// Number of the turn and the way to it; the turn may be over, then its end of the channel is gone.
    turn: Option<(u64, SyncSender<Mail>)>,
}

struct Agent {
    out: Out,
    delay: Duration,
    /// By session id; never dropped, they are a path each.
    sessions: HashMap<String, Session>,
    /// How many turns were started, over all sessions.
    turns: u64,
}

impl Agent {
    fn message(&mut self, message: Value) {
        let id = message.get("id").filter(|id| !id.is_null());
        let params = &message["params"];
        match (message["method"].as_str(), id) {
            (Some("initialize"), Some(id)) => self.answer(id, initialize()),
            (Some("authenticate"), Some(id)) => self.answer(id, json!({})),
            (Some("session/new"), Some(id)) => self.new_session(id, params),
            (Some("session/prompt"), Some(id)) => self.prompt(id, params),
            (Some("session/cancel"), None) => self.cancel(params),
            (Some(method), Some(id)) => {
                self.out.send(&failure(id, -32601, &format!("Method not found: {method}")));
            }
            (Some(_), None) => {}
            (None, Some(_)) => self.reply(message),
            (None, None) => {}
        }
    }

    fn answer(&self, id: &Value, result: Value) {
        self.out.send(&json!({"jsonrpc": "2.0", "id": id, "result": result}));
    }

    fn new_session(&mut self, id: &Value, params: &Value) {
        let Some(cwd) = params["cwd"].as_str().map(PathBuf::from).filter(|cwd| cwd.is_absolute()) else {
            self.out.send(&failure(id, -32602, "cwd must be an absolute path"));
            return;
        };
        let session = format!("demo-{}", self.sessions.len() + 1);
        self.sessions.insert(session.clone(), Session { cwd, turn: None });
        self.answer(id, json!({"sessionId": session}));
    }

    fn prompt(&mut self, id: &Value, params: &Value) {
        let name = params["sessionId"].as_str().unwrap_or_default();
        let Some(session) = self.sessions.get_mut(name) else {
            self.out.send(&failure(id, -32002, &format!("no such session: {name}")));
            return;
        };
        self.turns += 1;
        let (send, inbox) = sync_channel(MAILS);
        let over =
            |turn: &SyncSender<Mail>| matches!(turn.try_send(Mail::Ping), Err(TrySendError::Disconnected(_)));
        if session.turn.as_ref().is_some_and(|(_, turn)| !over(turn)) {
            self.out.send(&failure(id, -32600, "a turn of this session is still running"));
            return;
        }
        session.turn = Some((self.turns, send));
        let turn = Turn::new(name, self.turns, session.cwd.clone(), self.delay, self.out.clone(), inbox);
        let (id, prompt) = (id.clone(), params["prompt"].clone());
        std::thread::spawn(move || turn.play(&id, &prompt));
    }

    fn cancel(&mut self, params: &Value) {
        let session = params["sessionId"].as_str().and_then(|name| self.sessions.get(name));
        if let Some((_, turn)) = session.and_then(|s| s.turn.as_ref()) {
            let _ = turn.try_send(Mail::Cancel);
        }
    }

    /// Brings the host's answer to the turn that asked; a turn that is over wants no answer.
    fn reply(&mut self, message: Value) {
        let id = message["id"].as_u64().unwrap_or_default();
        let turn = self.sessions.values().filter_map(|s| s.turn.as_ref()).find(|(n, _)| *n == id / SPAN);
        if let Some((_, turn)) = turn {
            let error = message.get("error").filter(|e| !e.is_null());
            let answer = match error {
                Some(error) => {
                    Err(error["message"].as_str().unwrap_or("an error without a message").to_string())
                }
                None => Ok(message["result"].clone()),
            };
            let _ = turn.try_send(Mail::Answer { id, answer });
        }
    }
}

fn failure(id: &Value, code: i64, message: &str) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "error": {"code": code, "message": message}})
}

fn initialize() -> Value {
    json!({
        "protocolVersion": 1,
        "agentInfo": {
            "name": "bosun-demo-agent",
            "title": "Bosun demo agent",
            "version": env!("CARGO_PKG_VERSION"),
        },
        "agentCapabilities": {"loadSession": false, "promptCapabilities": {"embeddedContext": true}},
        "authMethods": [],
    })
}
