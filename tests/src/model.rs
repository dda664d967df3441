//! A scripted model server, so that real agents run without a real model: three APIs, streamed, on 127.0.0.1.
//!
//! Owns its listening socket, one thread per connection, and a record of every request. It never talks to anything but
//! the agent that connects to it, and keeps no state between requests: what is said is chosen from the request alone
//! (see `asked`). Retries are therefore harmless, and several sessions may share one server. Used by the interop tests,
//! and by the `model-server` binary for trying things by hand.

mod asked;
mod chat;
mod http;
mod messages;
mod responses;

use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};

use serde_json::{Value, json};

use asked::Asked;

/// What the model says to prompts with a marker.
#[derive(Clone, Debug)]
pub struct Rule {
    /// Part of a user message, for example `[[edit]]`.
    pub marker: String,
    /// One for each call of the model in the turn; after the last, it says that it is done.
    pub turns: Vec<Said>,
}

/// One answer of the model.
#[derive(Clone, Debug, Default)]
pub struct Said {
    /// Streamed as reasoning, before the text.
    pub thought: String,
    /// Streamed as the answer. `{last_tool}` is replaced with the newest tool result of the request.
    pub text: String,
    /// Tools to call, in order: name and arguments. Arguments that are a text go to a tool that takes no JSON.
    pub calls: Vec<(String, Value)>,
}

impl Rule {
    /// A rule with its turns.
    pub fn new(marker: &str, turns: impl IntoIterator<Item = Said>) -> Self {
        Self { marker: marker.into(), turns: turns.into_iter().collect() }
    }
}

impl Said {
    /// Words only.
    pub fn text(text: &str) -> Self {
        Self { text: text.into(), ..Self::default() }
    }

    /// One tool call and nothing else.
    pub fn call(tool: &str, arguments: Value) -> Self {
        Self { calls: vec![(tool.into(), arguments)], ..Self::default() }
    }

    /// The same, thinking first.
    pub fn thinking(mut self, thought: &str) -> Self {
        self.thought = thought.into();
        self
    }
}

/// What came, in order of arrival.
#[derive(Default)]
struct Log {
    bodies: Vec<Value>,
    asked: Vec<Asked>,
    refused: Vec<String>,
}

/// A server that runs until it is dropped.
pub struct ModelServer {
    addr: SocketAddr,
    log: Arc<Mutex<Log>>,
    stop: Arc<AtomicBool>,
}

impl ModelServer {
    /// Listens on a free port of 127.0.0.1 (or on `port`, when it is not 0).
    pub fn start(rules: Vec<Rule>, port: u16) -> std::io::Result<Self> {
        let listener = TcpListener::bind(("127.0.0.1", port))?;
        let addr = listener.local_addr()?;
        let log = Arc::new(Mutex::new(Log::default()));
        let stop = Arc::new(AtomicBool::new(false));
        let (kept, ended, rules) = (log.clone(), stop.clone(), Arc::new(rules));
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                if ended.load(Ordering::SeqCst) {
                    return;
                }
                let (log, rules) = (kept.clone(), rules.clone());
                // A client that hangs up in the middle is the client's business.
                std::thread::spawn(move || drop(serve(stream, &rules, &log)));
            }
        });
        Ok(Self { addr, log, stop })
    }

    /// `http://127.0.0.1:PORT`; the API lies under `/v1`.
    pub fn url(&self) -> String {
        format!("http://{}", self.addr)
    }

    /// The bodies of all calls of the model so far.
    pub fn requests(&self) -> Vec<Value> {
        note(&self.log).bodies.clone()
    }

    /// Requests that the model has no answer for, each as `METHOD PATH`. An agent that takes this server for its proxy
    /// and wants something of the world outside shows up here too.
    pub fn refused(&self) -> Vec<String> {
        note(&self.log).refused.clone()
    }

    /// Texts of all tool results that the agent has handed to its model: what it has seen of the files.
    pub fn tool_results(&self) -> Vec<String> {
        let mut found: Vec<String> = Vec::new();
        for text in note(&self.log).asked.iter().flat_map(Asked::tool_results) {
            if !found.iter().any(|f| f == text) {
                found.push(text.into());
            }
        }
        found
    }
}

impl Drop for ModelServer {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::SeqCst);
        // The listener waits for a connection; this is one.
        drop(TcpStream::connect(self.addr));
    }
}

fn serve(stream: TcpStream, rules: &[Rule], log: &Mutex<Log>) -> std::io::Result<()> {
    let request = http::read(&stream)?;
    let (method, path, body) = (request.method.as_str(), request.path.as_str(), &request.body);
    let known = |end: &str| method == "POST" && path.ends_with(end);
    let (read, answer): (Read, Answer) = match () {
        () if known("/chat/completions") => (chat::read, chat::answer),
        () if known("/responses") => (responses::read, responses::answer),
        () if known("/messages") => (messages::read, messages::answer),
        () if method == "GET" && path.ends_with("/models") => {
            let model = json!({"id": "scripted", "object": "model", "created": 1, "owned_by": "nobody"});
            return http::json(&stream, 200, &json!({"object": "list", "data": [model]}));
        }
        () => {
            let text = format!("the scripted model has no {method} {path}");
            note(log).refused.push(format!("{method} {path}"));
            return http::json(&stream, 404, &json!({"error": {"message": text}}));
        }
    };
    let asked = read(body);
    let said = asked.answer(rules);
    let id = {
        let mut log = note(log);
        log.bodies.push(body.clone());
        log.asked.push(asked);
        log.asked.len()
    };
    answer(&stream, body, &said, id)
}

/// From a body to what is asked.
type Read = fn(&Value) -> Asked;

/// Writes an answer: body, what is said, number of the call.
type Answer = fn(&TcpStream, &Value, &Said, usize) -> std::io::Result<()>;

fn note(log: &Mutex<Log>) -> MutexGuard<'_, Log> {
    log.lock().expect("no thread panics while it holds this")
}

#[cfg(test)]
mod tests;
