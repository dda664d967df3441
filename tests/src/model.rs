//! A scripted model server, so that real agents run without a real model: chat completions, streamed, on 127.0.0.1.
//!
//! Owns its listening socket, one thread per connection, and a record of every request. It never talks to anything but
//! the agent that connects to it, and keeps no state between requests: the last user message that holds a rule's marker
//! picks the rule, the number of assistant messages after it picks the turn. Retries are therefore harmless, and several
//! sessions may share one server. Used by the interop tests, and by the `model-server` binary for trying things by hand.

mod http;
mod reasonix;

use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};

pub use reasonix::reasonix_home;

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
    /// Tools to call, in order: name and arguments.
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

/// A server that runs until it is dropped.
pub struct ModelServer {
    addr: SocketAddr,
    /// Bodies of all requests, in order of arrival.
    requests: Arc<Mutex<Vec<Value>>>,
    stop: Arc<AtomicBool>,
}

impl ModelServer {
    /// Listens on a free port of 127.0.0.1 (or on `port`, when it is not 0).
    pub fn start(rules: Vec<Rule>, port: u16) -> std::io::Result<Self> {
        let listener = TcpListener::bind(("127.0.0.1", port))?;
        let addr = listener.local_addr()?;
        let requests = Arc::new(Mutex::new(Vec::new()));
        let stop = Arc::new(AtomicBool::new(false));
        let (log, ended, rules) = (requests.clone(), stop.clone(), Arc::new(rules));
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                if ended.load(Ordering::SeqCst) {
                    return;
                }
                let (log, rules) = (log.clone(), rules.clone());
                // A client that hangs up in the middle is the client's business.
                std::thread::spawn(move || drop(serve(stream, &rules, &log)));
            }
        });
        Ok(Self { addr, requests, stop })
    }

    /// `http://127.0.0.1:PORT`; the API lies under `/v1`.
    pub fn url(&self) -> String {
        format!("http://{}", self.addr)
    }

    /// The bodies of all chat requests so far.
    pub fn requests(&self) -> Vec<Value> {
        self.requests.lock().expect("no thread panics while it holds this").clone()
    }

    /// Texts of all tool results that the agent has handed to its model: what it has seen of the files.
    pub fn tool_results(&self) -> Vec<String> {
        let mut found: Vec<String> = Vec::new();
        for message in self.requests().iter().flat_map(messages) {
            let text = plain(&message["content"]);
            if message["role"] == "tool" && !found.contains(&text) {
                found.push(text);
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

fn serve(stream: TcpStream, rules: &[Rule], log: &Mutex<Vec<Value>>) -> std::io::Result<()> {
    let request = http::read(&stream)?;
    match (request.method.as_str(), request.path.as_str()) {
        ("GET", path) if path.ends_with("/models") => {
            let model = json!({"id": "scripted", "object": "model", "created": 1, "owned_by": "nobody"});
            http::json(&stream, 200, &json!({"object": "list", "data": [model]}))
        }
        ("POST", path) if path.ends_with("/chat/completions") => {
            log.lock().expect("no thread panics while it holds this").push(request.body.clone());
            answer(&stream, rules, &request.body)
        }
        (method, path) => http::json(
            &stream,
            404,
            &json!({"error": {"message": format!("the scripted model has no {method} {path}")}}),
        ),
    }
}

fn answer(stream: &TcpStream, rules: &[Rule], body: &Value) -> std::io::Result<()> {
    let said = choose(rules, body);
    let calls = said.calls.iter().enumerate().map(|(i, (name, arguments))| {
        let id = format!("call_{}_{i}", messages(body).count());
        json!({"index": i, "id": id, "type": "function",
               "function": {"name": name, "arguments": arguments.to_string()}})
    });
    let calls: Vec<Value> = calls.collect();
    let finish = if calls.is_empty() { "stop" } else { "tool_calls" };
    let usage = json!({"prompt_tokens": 100, "completion_tokens": 20, "total_tokens": 120});
    if body["stream"] != true {
        let mut message = json!({"role": "assistant", "content": said.text});
        if !calls.is_empty() {
            message["tool_calls"] = calls.into();
        }
        let choice = json!({"index": 0, "message": message, "finish_reason": finish});
        return http::json(
            stream,
            200,
            &json!({"id": "scripted", "object": "chat.completion", "created": 1, "model": "scripted",
                    "choices": [choice], "usage": usage}),
        );
    }
    let mut events = http::Events::open(stream)?;
    let mut send = |choices: Value, usage: Value| {
        events.send(&json!({"id": "scripted", "object": "chat.completion.chunk", "created": 1,
                            "model": "scripted", "choices": choices, "usage": usage}))
    };
    let delta = |delta: Value, finish: Value| json!([{"index": 0, "delta": delta, "finish_reason": finish}]);
    send(delta(json!({"role": "assistant", "content": ""}), Value::Null), Value::Null)?;
    for piece in pieces(&said.thought) {
        send(delta(json!({"reasoning_content": piece}), Value::Null), Value::Null)?;
    }
    for piece in pieces(&said.text) {
        send(delta(json!({"content": piece}), Value::Null), Value::Null)?;
    }
    for call in calls {
        send(delta(json!({"tool_calls": [call]}), Value::Null), Value::Null)?;
    }
    send(delta(json!({}), finish.into()), Value::Null)?;
    send(json!([]), usage)?;
    events.end()
}

/// What the script says to this request.
fn choose(rules: &[Rule], body: &Value) -> Said {
    if body["tools"].as_array().is_none_or(Vec::is_empty) {
        return Said::text("Scripted title"); // a side question of the agent's own, such as a title
    }
    let messages: Vec<&Value> = messages(body).collect();
    let user = |m: &Value| m["role"] == "user";
    let found = messages.iter().enumerate().rev().filter(|(_, m)| user(m)).find_map(|(at, m)| {
        let text = plain(&m["content"]);
        rules.iter().find(|r| text.contains(&r.marker)).map(|r| (at, r))
    });
    let Some((at, rule)) = found else { return Said::text("The script has no rule for this prompt.") };
    let turn = messages[at..].iter().filter(|m| m["role"] == "assistant").count();
    let Some(said) = rule.turns.get(turn) else { return Said::text("The script is at its end.") };
    let last = messages.iter().rev().find(|m| m["role"] == "tool").map(|m| plain(&m["content"]));
    let text = said.text.replace("{last_tool}", &last.unwrap_or_default());
    Said { text, ..said.clone() }
}

fn messages(body: &Value) -> impl Iterator<Item = &Value> {
    body["messages"].as_array().into_iter().flatten()
}

/// The text of a message's content, which is a string or a list of parts.
fn plain(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        Value::Array(parts) => parts.iter().filter_map(|p| p["text"].as_str()).collect::<Vec<_>>().join("\n"),
        _ => String::new(),
    }
}

/// Pieces of a few characters, as a model streams them.
fn pieces(text: &str) -> Vec<String> {
    let letters: Vec<char> = text.chars().collect();
    letters.chunks(7).map(|c| c.iter().collect()).collect()
}

#[cfg(test)]
mod tests;
