//! Reasonix without Bosun: a dozen lines of a host, enough to see that the agent and the scripted model understand each
//! other. When this fails, look at the agent's release or at the model server, not at the sidecar.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::process::CommandExt;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use bosun_tests::model::reasonix_home;
use serde_json::{Value, json};

use crate::{model, reasonix};

/// How long a turn may take.
const LIMIT: Duration = Duration::from_secs(30);

/// The smallest host: it answers reads from memory and keeps what is written.
struct Host {
    child: Child,
    stdin: ChildStdin,
    lines: Receiver<Value>,
    /// Text of each file, by path.
    files: BTreeMap<String, String>,
    /// Text of all chunks, by kind of update.
    said: BTreeMap<String, String>,
    calls: u64,
}

impl Host {
    fn start(mut command: Command) -> Self {
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
        Self { child, stdin, lines, files: BTreeMap::new(), said: BTreeMap::new(), calls: 0 }
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
            _ => json!({"error": {"code": -32601, "message": "Method not found"}}),
        };
        let mut reply = json!({"jsonrpc": "2.0", "id": message["id"]});
        reply.as_object_mut().expect("an object").extend(answer.as_object().expect("an object").clone());
        self.send(reply);
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        // The npm start script does not pass signals on: end its whole group.
        let group = nix::unistd::Pid::from_raw(self.child.id() as i32);
        let _ = nix::sys::signal::killpg(group, nix::sys::signal::Signal::SIGKILL);
        let _ = self.child.wait();
    }
}

#[test]
fn the_agent_and_the_scripted_model_understand_each_other() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let project = folder.path().join("project");
    std::fs::create_dir(&project).expect("a project");
    let home = folder.path().join("reasonix");
    let model = model();
    reasonix_home(&home, &model.url()).expect("settings");
    let notes = project.join("notes.txt").to_string_lossy().into_owned();
    std::fs::write(&notes, "alpha\nbeta\ngamma\n").expect("a file");

    let mut command = Command::new(reasonix());
    command.arg("acp").current_dir(&project).env("REASONIX_HOME", &home).env("HOME", folder.path());
    command.env("DO_NOT_TRACK", "1").env("REASONIX_TELEMETRY", "0");
    let mut host = Host::start(command);
    host.files.insert(notes.clone(), "alpha\nbeta, unsaved\ngamma\n".into());
    let able = json!({"fs": {"readTextFile": true, "writeTextFile": true}, "terminal": false});
    let hello = host.call(
        "initialize",
        json!({"protocolVersion": 1, "clientCapabilities": able,
               "clientInfo": {"name": "bosun-tests", "version": "0"}}),
    );
    assert_eq!(hello["protocolVersion"], 1);
    let session = host.call("session/new", json!({"cwd": project, "mcpServers": []}));
    let prompt =
        |text: &str| json!({"sessionId": session["sessionId"], "prompt": [{"type": "text", "text": text}]});

    let end = host.call("session/prompt", prompt("Say hello [[text]]"));
    assert_eq!(end["stopReason"], "end_turn");
    assert!(host.said["agent_message_chunk"].contains("- two"), "{:?}", host.said);
    assert!(host.said["agent_thought_chunk"].contains("I should greet."), "{:?}", host.said);

    let end = host.call("session/prompt", prompt("Change gamma [[edit]]"));
    assert_eq!(end["stopReason"], "end_turn");
    assert_eq!(host.files[&notes], "alpha\nbeta, unsaved\nGAMMA\n", "{:?}", host.said);
    assert!(model.tool_results().iter().any(|r| r.contains("beta, unsaved")), "{:?}", model.tool_results());
}
