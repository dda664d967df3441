//! What the scripted agent writes down for the test: one JSON object a line, with the time and the process.
//!
//! Owns the record file; several processes, one after the other or at once, append to the same file. `Record` is the
//! agent's side, `Recorded` the test's.

use std::fs::{File, OpenOptions};
use std::io::{Result, Write};
use std::path::Path;
use std::sync::Arc;
use std::time::SystemTime;

use serde_json::{Value, json};

/// Milliseconds since the epoch, so that processes can be compared.
pub fn now_ms() -> f64 {
    SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).map_or(0.0, |d| d.as_secs_f64() * 1000.0)
}

/// The way into the record file; without a file, into nothing.
#[derive(Clone)]
pub struct Record(Option<Arc<File>>);

impl Record {
    /// Opens the file for appending.
    pub fn open(path: Option<&Path>) -> Result<Self> {
        let file = path.map(|path| OpenOptions::new().create(true).append(true).open(path)).transpose()?;
        Ok(Self(file.map(Arc::new)))
    }

    /// A message of the host.
    pub fn received(&self, message: &Value) {
        self.line("in", message);
    }

    /// A message of ours (single chunks of a flood are not worth a line each).
    pub fn sent(&self, message: &Value) {
        self.line("out", message);
    }

    /// Something that happened.
    pub fn event(&self, name: &str, detail: Value) {
        self.line("event", &json!({"name": name, "detail": detail}));
    }

    fn line(&self, kind: &str, what: &Value) {
        let Some(file) = &self.0 else { return };
        let line = json!({"t_ms": now_ms(), "pid": std::process::id(), kind: what});
        // One write per line: appended whole, also when two agents write at once.
        let _ = (&**file).write_all(format!("{line}\n").as_bytes());
    }
}

/// A record as a test reads it.
#[derive(Clone, Debug, Default)]
pub struct Recorded {
    /// The lines so far.
    pub lines: Vec<Value>,
}

impl Recorded {
    /// Reads the file as it is now; a file that is not there yet is empty.
    pub fn read(path: &Path) -> Self {
        let text = std::fs::read_to_string(path).unwrap_or_default();
        // The last line may be half written.
        Self { lines: text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect() }
    }

    /// All messages of the host with this method.
    pub fn received(&self, method: &str) -> Vec<Value> {
        self.messages("in").filter(|m| m["method"] == method).cloned().collect()
    }

    /// All answers of the host to a request of ours; the id must be of the same type too.
    pub fn replies(&self, id: &Value) -> Vec<Value> {
        let answers = |m: &&Value| m["method"].is_null() && m.get("id") == Some(id);
        self.messages("in").filter(answers).cloned().collect()
    }

    /// Milliseconds between our request and its answer.
    pub fn reply_took(&self, id: &Value) -> Option<f64> {
        let time = |kind: &str, request: bool| {
            let line = self.lines.iter().find(|l| {
                let message = &l[kind];
                message.is_object() && message.get("id") == Some(id) && message["method"].is_null() != request
            });
            line.and_then(|l| l["t_ms"].as_f64())
        };
        Some(time("in", false)? - time("out", true)?)
    }

    /// The details of all events of a name.
    pub fn events(&self, name: &str) -> Vec<Value> {
        let events = self.messages("event").filter(|e| e["name"] == name);
        events.map(|e| e["detail"].clone()).collect()
    }

    /// The time of the first event of a name, in milliseconds since the epoch.
    pub fn event_ms(&self, name: &str) -> Option<f64> {
        self.lines.iter().find(|l| l["event"]["name"] == name).and_then(|l| l["t_ms"].as_f64())
    }

    /// The agent processes that played, in order.
    pub fn pids(&self) -> Vec<i64> {
        let starts = self.lines.iter().filter(|l| l["event"]["name"] == "start");
        starts.filter_map(|l| l["pid"].as_i64()).collect()
    }

    /// What holds at the end of every story: it went as written, and the host answered each request exactly once, with the
    /// same id in the same type.
    pub fn assert_sound(&self) {
        assert_eq!(self.events("failed"), Vec::<Value>::new(), "the story did not go as written");
        let asked = self.messages("out").filter(|m| !m["method"].is_null()).filter_map(|m| m.get("id"));
        let wrong: Vec<String> = asked
            .map(|id| (id, self.replies(id).len()))
            .filter(|(_, count)| *count != 1)
            .map(|(id, count)| format!("request {id} has {count} answers"))
            .collect();
        assert!(wrong.is_empty(), "{wrong:?}");
    }

    fn messages<'a>(&'a self, kind: &'a str) -> impl Iterator<Item = &'a Value> {
        self.lines.iter().map(move |l| &l[kind]).filter(|m| m.is_object())
    }
}
