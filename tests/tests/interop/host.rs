//! The smallest host: enough of ACP to see what an agent does without Bosun.
//!
//! Owns the agent's process and ends it with all that it started. It answers reads from memory, keeps what is written
//! in memory, never touches a file, and allows everything once.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use bosun_tests::agents::Agent;
use bosun_tests::procs::{MARK, marked};
use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;
use serde_json::{Value, json};

/// How long one call of the agent may take, a turn included.
const LIMIT: Duration = Duration::from_secs(60);

/// How long a killed process may take to be gone.
const GRACE: Duration = Duration::from_secs(5);

/// A host of one agent and one session.
pub struct Host {
    child: Child,
    /// In the environment of the agent and of all that it starts.
    mark: String,
    stdin: ChildStdin,
    lines: Receiver<Value>,
    calls: u64,
    session: String,
    /// Text of each file that the agent may read or has written through us, by path.
    pub files: BTreeMap<String, String>,
    /// Text of all chunks, by kind of update.
    pub said: BTreeMap<String, String>,
    /// Titles of what we were asked to allow.
    pub asked: Vec<String>,
}

impl Host {
    /// Starts the agent in the project, and a session with it.
    pub fn start(agent: &Agent, env: Vec<(String, String)>, project: &Path) -> Self {
        let mark = format!("{}-alone-{}", std::process::id(), agent.name);
        let mut command = Command::new(agent.command());
        command.args(agent.args).current_dir(project).env_clear();
        command.env("PATH", std::env::var_os("PATH").unwrap_or_default()).env(MARK, &mark).envs(env);
        let piped = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = piped.process_group(0).spawn().expect("the agent starts");
        let stdin = child.stdin.take().expect("piped");
        let stdout: ChildStdout = child.stdout.take().expect("piped");
        let (send, lines) = channel();
        std::thread::spawn(move || {
            for line in BufReader::new(stdout).lines().map_while(Result::ok) {
                if send.send(serde_json::from_str(&line).unwrap_or(Value::Null)).is_err() {
                    return;
                }
            }
        });
        let mut host = Self {
            child,
            mark,
            stdin,
            lines,
            calls: 0,
            session: String::new(),
            files: BTreeMap::new(),
            said: BTreeMap::new(),
            asked: Vec::new(),
        };
        let able = json!({"fs": {"readTextFile": true, "writeTextFile": true}, "terminal": false});
        let hello = host.call(
            "initialize",
            json!({"protocolVersion": 1, "clientCapabilities": able,
                   "clientInfo": {"name": "bosun-tests", "version": "0"}}),
        );
        assert_eq!(hello["protocolVersion"], 1);
        let session = host.call("session/new", json!({"cwd": project, "mcpServers": []}));
        host.session = session["sessionId"].as_str().expect("the session's id").into();
        host
    }

    /// Plays a turn to its end: the stop reason.
    pub fn prompt(&mut self, text: &str) -> String {
        let blocks = json!([{"type": "text", "text": text}]);
        let end = self.call("session/prompt", json!({"sessionId": self.session, "prompt": blocks}));
        end["stopReason"].as_str().unwrap_or_default().into()
    }

    fn send(&mut self, message: Value) {
        writeln!(self.stdin, "{message}").expect("the agent reads");
    }

    /// Calls the agent and serves it until the answer is there.
    fn call(&mut self, method: &str, params: Value) -> Value {
        self.calls += 1;
        let id = self.calls;
        self.send(json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}));
        let deadline = Instant::now() + LIMIT;
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            let message = self.lines.recv_timeout(left).unwrap_or_else(|e| panic!("{method}: {e}"));
            match message["method"].as_str() {
                None if message["id"] == id => {
                    assert!(message["error"].is_null(), "{method}: {message}");
                    return message["result"].clone();
                }
                Some(asked) => self.serve(asked.to_string(), message),
                None => {}
            }
        }
    }

    fn serve(&mut self, method: String, message: Value) {
        let params = &message["params"];
        if method == "session/update" {
            let update = &params["update"];
            let kind = update["sessionUpdate"].as_str().unwrap_or_default();
            let text = update["content"]["text"].as_str().unwrap_or_default();
            self.said.entry(kind.into()).or_default().push_str(text);
        }
        if message["id"].is_null() {
            return;
        }
        let path = params["path"].as_str().unwrap_or_default().to_string();
        let answer = match method.as_str() {
            "fs/read_text_file" => match self.files.get(&path) {
                Some(text) => json!({"result": {"content": text}}),
                None => json!({"error": {"code": -32002, "message": format!("Resource not found: {path}")}}),
            },
            "fs/write_text_file" => {
                self.files.insert(path, params["content"].as_str().unwrap_or_default().into());
                json!({"result": {}})
            }
            "session/request_permission" => {
                self.asked.push(params["toolCall"]["title"].as_str().unwrap_or_default().into());
                let mut options = params["options"].as_array().into_iter().flatten();
                let once = options.find(|o| o["kind"] == "allow_once").expect("a way to allow it once");
                json!({"result": {"outcome": {"outcome": "selected", "optionId": once["optionId"]}}})
            }
            _ => json!({"error": {"code": -32601, "message": "Method not found"}}),
        };
        let mut reply = json!({"jsonrpc": "2.0", "id": message["id"]});
        reply.as_object_mut().expect("an object").extend(answer.as_object().expect("an object").clone());
        self.send(reply);
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        // Start scripts do not pass signals on, and some agents move children to groups of their own.
        let _ = killpg(Pid::from_raw(self.child.id().cast_signed()), Signal::SIGKILL);
        let _ = self.child.wait();
        let end = Instant::now() + GRACE;
        while Instant::now() < end {
            let left = marked(&self.mark);
            if left.is_empty() {
                return;
            }
            left.iter().for_each(|process| process.signal(Signal::SIGKILL));
            std::thread::yield_now();
        }
    }
}
