//! The scripted agent: plays a step file over ACP, byte for byte where a test wants it so.
//!
//! Owns the playing of steps. What is received, and who waits for it, is in `inbox`; what is written down for the test
//! in `record`; small things done to texts in `text`; `steps` are the builders that tests write step files with, `replay`
//! makes steps of recordings. Called by `bin/scripted-agent.rs`. It never tries to be polite unless told: `auto` and
//! `default` are steps too.
//!
//! A step file is a JSON array, or one step a line. In every string `$SESSION`, `$CWD` and saved names are replaced.
//!
//! | step | what it does |
//! | --- | --- |
//! | `{"auto": true}` or `{"auto": {"initialize": {…}}}` | answers initialize, authenticate and session/new by itself, from the start on |
//! | `{"expect": method, "match": {…}, "within_ms": n}` | waits for a message; others wait their turn |
//! | `{"reply": result}`, `{"reply_error": error}` | answers the request expected last |
//! | `{"reply_to": method, "result": …}` or `"error"` | answers the newest open request of that method |
//! | `{"send": {…}}` | a message of ours; a request brings its own id |
//! | `{"wait_reply": id, "match": {…}, "save": {"NAME": "/pointer"}}` | waits for the host's answer |
//! | `{"update": {…}}` | a session/update |
//! | `{"chunks": {"n", "text": "%06d ", "role", "per_second", "mark_every"}}` | many chunks, some with a line in the record |
//! | `{"raw": "…", "split": n}`, `{"raw_base64": "…"}` | bytes as they are, in pieces of n |
//! | `{"stderr": "…"}` | a line for people |
//! | `{"pause_ms": n}`, `{"gate": path}`, `{"touch": path}` | time, and order between test and agent |
//! | `{"write_file": {"path", "text"}}` | what an agent does behind the host's back |
//! | `{"close_stdout": true}`, `{"exit": code}`, `{"kill_self": 9}` | ways to end |
//! | `{"spawn": [command…], "new_group": true}` | a grandchild |
//! | `{"ignore_term": true}`, `{"ignore_eof": true}` | from the start on |
//! | `{"repeat": n, "steps": […]}`, `{"loop": […]}` | again |
//! | `{"when_exists": path, "then": […], "else": […]}` | another story after a restart |
//! | `{"relay": socket}` | requests of the test, one line each, until it hangs up |
//! | `{"default": "answer prompts end_turn"}` | after the last step, goes on politely |

pub mod inbox;
pub mod record;
pub mod relay;
pub mod replay;
pub mod steps;
pub mod text;

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::io::Write;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Command, Stdio, exit};
use std::time::{Duration, Instant};

use serde_json::{Map, Value, json};

use inbox::{Auto, Inbox};
use record::Record;

/// How long an expectation waits unless it says so itself: shorter than a test, so that the test can tell why.
const PATIENCE: Duration = Duration::from_secs(15);

/// The exit code of a story that did not go as written.
pub const FAILED: i32 = 70;

/// Reads the arguments (`STEPFILE [--record FILE] [--dump-env FILE]`) and plays; returns the exit code.
pub fn run(args: impl Iterator<Item = String>) -> i32 {
    match start(args) {
        Ok(mut player) => player.play_all(),
        Err(why) => {
            eprintln!("scripted-agent: {why}");
            FAILED
        }
    }
}

fn start(mut args: impl Iterator<Item = String>) -> Result<Player, String> {
    let (mut file, mut record) = (None, std::env::var_os("SCRIPT_RECORD").map(PathBuf::from));
    while let Some(arg) = args.next() {
        match arg.as_str() {
            "--record" => record = args.next().map(PathBuf::from),
            "--dump-env" => dump_env(&args.next().ok_or("--dump-env wants a file")?)?,
            _ => file = Some(arg),
        }
    }
    let file = file.ok_or("usage: scripted-agent STEPFILE [--record FILE] [--dump-env FILE]")?;
    let text = std::fs::read_to_string(&file).map_err(|e| format!("{file}: {e}"))?;
    let steps = parse(&text).map_err(|e| format!("{file}: {e}"))?;
    let record = Record::open(record.as_deref()).map_err(|e| format!("the record: {e}"))?;
    record.event("start", json!({"args": std::env::args().collect::<Vec<_>>()}));

    let has = |key: &str| steps.iter().any(|s| s[key] == true);
    if has("ignore_term") {
        // Threads inherit the mask, so this comes before any other thread.
        let mut mask = nix::sys::signal::SigSet::empty();
        mask.add(nix::sys::signal::Signal::SIGTERM);
        mask.thread_block().map_err(|e| format!("blocking TERM: {e}"))?;
    }
    let auto = steps.iter().find(|s| !s["auto"].is_null()).map(|s| Auto::new(&s["auto"]));
    let default = steps.iter().any(|s| !s["default"].is_null());
    let inbox = Inbox::start(auto, has("ignore_eof"), record.clone());
    Ok(Player { steps, default, inbox, record, saved: BTreeMap::new(), open: Vec::new() })
}

fn dump_env(file: &str) -> Result<(), String> {
    let all: Map<String, Value> = std::env::vars_os()
        .map(|(k, v)| (k.to_string_lossy().into_owned(), v.to_string_lossy().into()))
        .collect();
    // Renamed into place, so that a test that waits for the file never reads half of it.
    let part = format!("{file}.part");
    std::fs::write(&part, Value::Object(all).to_string()).map_err(|e| format!("{part}: {e}"))?;
    std::fs::rename(&part, file).map_err(|e| format!("{file}: {e}"))
}

/// A JSON array, or one step a line.
fn parse(text: &str) -> Result<Vec<Value>, serde_json::Error> {
    if text.trim_start().starts_with('[') {
        return serde_json::from_str(text);
    }
    text.lines().filter(|line| !line.trim().is_empty()).map(serde_json::from_str).collect()
}

/// Plays steps. The thread that reads is in `inbox`.
struct Player {
    steps: Vec<Value>,
    /// Go on answering once the steps are over.
    default: bool,
    inbox: Inbox,
    record: Record,
    /// Texts saved from answers, by name.
    saved: BTreeMap<String, String>,
    /// Requests expected and not answered yet: method and id, oldest first.
    open: Vec<(String, Value)>,
}

/// A step that could not be played, in words.
type Played = Result<(), String>;

impl Player {
    fn play_all(&mut self) -> i32 {
        let steps = std::mem::take(&mut self.steps);
        if let Err(why) = self.play(&steps) {
            self.record.event("failed", json!({"why": why}));
            eprintln!("scripted-agent: {why}");
            return FAILED;
        }
        self.record.event("done", Value::Null);
        loop {
            // The reader ends the process with the input.
            let Some(message) = self.inbox.take(Duration::MAX, |_| true) else { continue };
            if !self.default || message["id"].is_null() || message["method"].is_null() {
                continue;
            }
            let answer = match message["method"].as_str() {
                Some("session/prompt") => json!({"result": {"stopReason": "end_turn"}}),
                Some(method) => match inbox::polite(method, &Value::Null, &self.inbox) {
                    Some(result) => json!({"result": result}),
                    None => json!({"error": {"code": -32601, "message": "Method not found"}}),
                },
                None => continue,
            };
            self.answer(&message["id"], answer);
        }
    }

    fn play(&mut self, steps: &[Value]) -> Played {
        for (at, step) in steps.iter().enumerate() {
            let step = text::substitute(step, &self.names());
            self.step(&step).map_err(|why| format!("step {}: {why}: {}", at + 1, text::short(&step)))?;
        }
        Ok(())
    }

    /// What `$NAME` stands for.
    fn names(&self) -> BTreeMap<String, String> {
        let mut names = self.saved.clone();
        names.insert("SESSION".into(), self.inbox.session());
        names.insert("CWD".into(), self.inbox.cwd());
        names
    }

    fn step(&mut self, step: &Value) -> Played {
        let fields = step.as_object().ok_or("a step is an object")?;
        let Some((key, value)) = fields.iter().next() else { return Ok(()) };
        match key.as_str() {
            "auto" | "ignore_term" | "ignore_eof" | "default" | "comment" => {}
            "expect" => return self.expect(step),
            "reply" => return self.reply(None, json!({"result": value})),
            "reply_error" => return self.reply(None, json!({"error": value})),
            "reply_to" => {
                let kind = if step["error"].is_null() { "result" } else { "error" };
                return self.reply(value.as_str(), json!({kind: step[kind]}));
            }
            "send" => self.send(value.clone()),
            "wait_reply" => return self.wait_reply(step),
            "update" => self.update(value.clone()),
            "chunks" => self.chunks(value),
            "raw" => self.raw(value.as_str().unwrap_or_default().as_bytes(), &step["split"]),
            "raw_base64" => self.raw(&text::base64(value.as_str().unwrap_or_default())?, &step["split"]),
            "stderr" => eprintln!("{}", value.as_str().unwrap_or_default()),
            "pause_ms" => std::thread::sleep(Duration::from_millis(value.as_u64().unwrap_or(0))),
            "relay" => return self.relay(&path(value)?),
            "gate" => return self.gate(&path(value)?),
            "touch" => std::fs::write(path(value)?, "").map_err(|e| e.to_string())?,
            "write_file" => {
                let text = value["text"].as_str().unwrap_or_default();
                std::fs::write(path(&value["path"])?, text).map_err(|e| e.to_string())?;
            }
            "close_stdout" => {
                let null =
                    std::fs::File::options().write(true).open("/dev/null").map_err(|e| e.to_string())?;
                nix::unistd::dup2_stdout(null).map_err(|e| e.to_string())?;
            }
            "exit" => {
                self.record.event("exit", value.clone());
                exit(value.as_i64().and_then(|code| i32::try_from(code).ok()).unwrap_or(0));
            }
            "kill_self" => kill_self(value)?,
            "spawn" => self.spawn(step)?,
            "repeat" => {
                for _ in 0..value.as_u64().unwrap_or(1) {
                    self.play(list(&step["steps"]))?;
                }
            }
            "loop" => loop {
                self.play(list(value))?;
            },
            "when_exists" => {
                let branch = if path(value)?.exists() { "then" } else { "else" };
                return self.play(list(&step[branch]));
            }
            _ => return Err("no such step".into()),
        }
        Ok(())
    }

    fn expect(&mut self, step: &Value) -> Played {
        let method = step["expect"].as_str().unwrap_or_default();
        let wanted = |m: &Value| m["method"] == method && text::contains(m, &step["match"]);
        let message = self.inbox.take(within(step), wanted).ok_or_else(|| self.late())?;
        if !message["id"].is_null() {
            self.open.push((method.into(), message["id"].clone()));
        }
        Ok(())
    }

    fn wait_reply(&mut self, step: &Value) -> Played {
        let id = &step["wait_reply"];
        let answers = |m: &Value| m["method"].is_null() && m.get("id").is_some_and(|i| i == id);
        let message = self.inbox.take(within(step), answers).ok_or_else(|| self.late())?;
        if !text::contains(&message, &step["match"]) {
            return Err(format!("the answer is {}", text::short(&message)));
        }
        for (name, pointer) in step["save"].as_object().into_iter().flatten() {
            let found = pointer.as_str().and_then(|p| message.pointer(p));
            let found =
                found.and_then(Value::as_str).ok_or_else(|| format!("no text at {pointer} in {message}"))?;
            self.saved.insert(name.clone(), found.into());
        }
        Ok(())
    }

    fn late(&self) -> String {
        format!("it did not come; what came and was not asked for: {}", self.inbox.backlog())
    }

    fn reply(&mut self, method: Option<&str>, answer: Value) -> Played {
        let at = self.open.iter().rposition(|(m, _)| method.is_none_or(|method| m == method));
        let (method, id) = self.open.remove(at.ok_or("no request is open")?);
        if method == "session/new" {
            self.inbox.set_session(answer["result"]["sessionId"].as_str());
        }
        self.answer(&id, answer);
        Ok(())
    }

    fn answer(&self, id: &Value, answer: Value) {
        let mut message = json!({"id": id});
        let fields = answer.as_object().into_iter().flatten();
        for (key, value) in fields {
            message[key] = value.clone();
        }
        self.send(message);
    }

    fn send(&self, message: Value) {
        self.record.sent(&message);
        inbox::send(message);
    }

    fn update(&self, update: Value) {
        self.send(json!({
            "method": "session/update",
            "params": {"sessionId": self.inbox.session(), "update": update},
        }));
    }

    fn chunks(&self, spec: &Value) {
        let n = spec["n"].as_u64().unwrap_or(1);
        let pattern = spec["text"].as_str().unwrap_or("%06d ");
        let kind = spec["role"].as_str().unwrap_or("agent_message_chunk");
        let start = Instant::now();
        let mark_every = spec["mark_every"].as_u64().filter(|every| *every > 0);
        self.record.event("chunks", spec.clone());
        for i in 0..n {
            if mark_every.is_some_and(|every| i % every == 0) {
                self.record.event("chunk", i.into());
            }
            let content = json!({"type": "text", "text": text::numbered(pattern, i)});
            let update = json!({"sessionUpdate": kind, "content": content});
            let params = json!({"sessionId": self.inbox.session(), "update": update});
            inbox::send(json!({"method": "session/update", "params": params}));
            if let Some(rate) = spec["per_second"].as_f64().filter(|rate| *rate > 0.0) {
                let due = start + Duration::from_secs_f64((i + 1) as f64 / rate);
                std::thread::sleep(due.saturating_duration_since(Instant::now()));
            }
        }
        self.record.event("chunks sent", json!({"n": n}));
    }

    fn raw(&self, bytes: &[u8], split: &Value) {
        let size =
            split.as_u64().and_then(|n| usize::try_from(n).ok()).filter(|n| *n > 0).unwrap_or(usize::MAX);
        for piece in bytes.chunks(size.min(bytes.len().max(1))) {
            let mut out = std::io::stdout().lock();
            let _ = out.write_all(piece).and_then(|()| out.flush());
        }
    }

    fn relay(&mut self, socket: &std::path::Path) -> Played {
        relay::pass_on(socket, |message| {
            let message = text::substitute(&message, &self.names());
            let id = message["id"].clone();
            self.send(message);
            let answers = |m: &Value| m["method"].is_null() && m.get("id") == Some(&id);
            self.inbox.take(PATIENCE, answers).ok_or_else(|| self.late())
        })
    }

    fn gate(&self, path: &std::path::Path) -> Played {
        let end = Instant::now() + PATIENCE;
        while !path.exists() {
            if Instant::now() > end {
                return Err("the gate did not open".into());
            }
            std::thread::sleep(Duration::from_millis(2));
        }
        Ok(())
    }

    fn spawn(&self, step: &Value) -> Played {
        let words: Vec<&str> = list(&step["spawn"]).iter().filter_map(Value::as_str).collect();
        let (program, args) = words.split_first().ok_or("spawn wants a command")?;
        let mut command = Command::new(program);
        command.args(args).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        if step["new_group"] == true {
            command.process_group(0);
        }
        let child = command.spawn().map_err(|e| e.to_string())?;
        self.record.event("spawned", json!({"pid": child.id()}));
        Ok(())
    }
}

fn path(value: &Value) -> Result<PathBuf, String> {
    value.as_str().map(PathBuf::from).ok_or_else(|| format!("{value} is not a path"))
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map(Vec::as_slice).unwrap_or_default()
}

fn within(step: &Value) -> Duration {
    step["within_ms"].as_u64().map_or(PATIENCE, Duration::from_millis)
}

fn kill_self(signal: &Value) -> Played {
    let number = signal.as_i64().and_then(|n| i32::try_from(n).ok()).unwrap_or(9);
    let signal = nix::sys::signal::Signal::try_from(number).map_err(|e| e.to_string())?;
    nix::sys::signal::kill(nix::unistd::getpid(), signal).map_err(|e| e.to_string())
}
