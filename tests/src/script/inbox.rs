//! What the scripted agent received and did not use yet, and the thread that reads it.
//!
//! Owns stdin, the backlog, and what is known of the session. It answers by itself only what `auto` covers, and ends the
//! process when the input ends, unless told to stay.

use std::collections::VecDeque;
use std::io::{BufRead, Write};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::record::Record;
use super::text;

/// Which requests are answered at once, and with what on top of the usual.
pub struct Auto {
    overrides: Value,
}

impl Auto {
    /// `true`, or an object of results to lay over the usual ones, by method.
    pub fn new(spec: &Value) -> Self {
        Self { overrides: spec.clone() }
    }
}

/// The polite answer to a request of the set-up; laid over by the fields of `extra`.
pub fn polite(method: &str, extra: &Value, inbox: &Inbox) -> Option<Value> {
    let mut result = match method {
        "initialize" => json!({
            "protocolVersion": 1,
            "agentInfo": {"name": "scripted", "version": "1"},
            "agentCapabilities": {"promptCapabilities": {"embeddedContext": true}},
            "authMethods": [],
        }),
        "authenticate" => json!({}),
        "session/new" => json!({"sessionId": inbox.next_session()}),
        _ => return None,
    };
    for (key, value) in extra.as_object().into_iter().flatten() {
        result[key] = value.clone();
    }
    if method == "session/new" {
        inbox.set_session(result["sessionId"].as_str());
    }
    Some(result)
}

/// Writes one message as a line.
pub fn send(mut message: Value) {
    message["jsonrpc"] = "2.0".into();
    let mut line = message.to_string();
    line.push('\n');
    let mut out = std::io::stdout().lock();
    let _ = out.write_all(line.as_bytes()).and_then(|()| out.flush());
}

#[derive(Default)]
struct State {
    /// Received and not taken, oldest first.
    backlog: VecDeque<Value>,
    /// The session answered last.
    session: String,
    /// How many sessions were asked for.
    sessions: u32,
    /// The folder of the session asked for last.
    cwd: String,
}

/// Shared between the reader and the player.
#[derive(Clone, Default)]
pub struct Inbox(Arc<(Mutex<State>, Condvar)>);

impl Inbox {
    /// Starts the reader.
    pub fn start(auto: Option<Auto>, ignore_eof: bool, record: Record) -> Self {
        let inbox = Self::default();
        let reader = inbox.clone();
        std::thread::spawn(move || {
            for line in std::io::stdin().lock().split(b'\n').map_while(Result::ok) {
                let Ok(message) = serde_json::from_slice::<Value>(&line) else {
                    record.event("not JSON", String::from_utf8_lossy(&line).into());
                    continue;
                };
                record.received(&message);
                reader.receive(message, auto.as_ref(), &record);
            }
            record.event("eof", Value::Null);
            if !ignore_eof {
                std::process::exit(0);
            }
        });
        inbox
    }

    fn receive(&self, message: Value, auto: Option<&Auto>, record: &Record) {
        let method = message["method"].as_str().unwrap_or_default();
        if method == "session/new" {
            self.state().cwd = message["params"]["cwd"].as_str().unwrap_or_default().into();
        }
        let answer = auto.and_then(|auto| polite(method, &auto.overrides[method], self));
        match answer {
            Some(result) => {
                let answer = json!({"id": message["id"], "result": result});
                record.sent(&answer);
                send(answer);
            }
            None => {
                self.state().backlog.push_back(message);
                self.0.1.notify_all();
            }
        }
    }

    /// The oldest message for which it holds; waits for it.
    pub fn take(&self, within: Duration, wanted: impl Fn(&Value) -> bool) -> Option<Value> {
        let end = Instant::now().checked_add(within);
        let mut state = self.state();
        loop {
            if let Some(at) = state.backlog.iter().position(&wanted) {
                return state.backlog.remove(at);
            }
            let left =
                end.map_or(Duration::from_secs(60), |end| end.saturating_duration_since(Instant::now()));
            if left.is_zero() {
                return None;
            }
            state = self.0.1.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// What lies there, for a message.
    pub fn backlog(&self) -> String {
        let state = self.state();
        let all: Vec<String> = state.backlog.iter().map(text::short).collect();
        if all.is_empty() { "nothing".into() } else { all.join(", ") }
    }

    /// The session answered last.
    pub fn session(&self) -> String {
        self.state().session.clone()
    }

    /// The folder of the session asked for last, else our own.
    pub fn cwd(&self) -> String {
        let cwd = self.state().cwd.clone();
        let own = || std::env::current_dir().map(|d| d.to_string_lossy().into_owned()).unwrap_or_default();
        if cwd.is_empty() { own() } else { cwd }
    }

    /// Remembers a session that was answered.
    pub fn set_session(&self, id: Option<&str>) {
        if let Some(id) = id {
            self.state().session = id.into();
        }
    }

    fn next_session(&self) -> String {
        let mut state = self.state();
        state.sessions += 1;
        format!("sess-{}", state.sessions)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
