//! The scripted agent by itself, against a host of a few lines: stories come out as written.

use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::{Child, ChildStdin, ChildStdout, Command, ExitStatus, Stdio};

use bosun_tests::Recorded;
use bosun_tests::procs::{MARK, marked};
use bosun_tests::steps::*;
use serde_json::{Value, json};
use tempfile::TempDir;

/// The agent, its ends, and its folder.
struct Agent {
    child: Child,
    stdin: Option<ChildStdin>,
    stdout: BufReader<ChildStdout>,
    folder: TempDir,
}

impl Agent {
    fn play(steps: &[Value]) -> Self {
        Self::play_in(tempfile::tempdir().expect("a folder"), steps)
    }

    fn play_in(folder: TempDir, steps: &[Value]) -> Self {
        let file = folder.path().join("steps.json");
        std::fs::write(&file, Value::from(steps).to_string()).expect("the step file");
        let mut command = Command::new(env!("CARGO_BIN_EXE_scripted-agent"));
        command.arg(file).arg("--record").arg(folder.path().join("record.jsonl"));
        command.arg("--dump-env").arg(folder.path().join("env.json"));
        command.env(MARK, folder.path()).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("the agent starts");
        let stdin = child.stdin.take();
        let stdout = BufReader::new(child.stdout.take().expect("piped"));
        Self { child, stdin, stdout, folder }
    }

    fn send(&mut self, message: Value) {
        writeln!(self.stdin.as_ref().expect("open"), "{message}").expect("the agent reads");
    }

    fn line(&mut self) -> String {
        let mut line = String::new();
        self.stdout.read_line(&mut line).expect("a line");
        line.trim_end().into()
    }

    fn message(&mut self) -> Value {
        let line = self.line();
        serde_json::from_str(&line).unwrap_or_else(|e| panic!("{e}: {line:?}"))
    }

    fn end(&mut self) -> (ExitStatus, String) {
        let mut stderr = String::new();
        self.child.stderr.take().expect("piped").read_to_string(&mut stderr).expect("text");
        (self.child.wait().expect("its end"), stderr)
    }

    fn record(&self) -> Recorded {
        Recorded::read(&self.folder.path().join("record.jsonl"))
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Initialize, session/new in /p, and a prompt with id 3.
    fn set_up(&mut self) {
        self.send(json!({"id": 1, "method": "initialize", "params": {"protocolVersion": 1}}));
        assert_eq!(self.message()["result"]["protocolVersion"], 1);
        self.send(json!({"id": 2, "method": "session/new", "params": {"cwd": "/p", "mcpServers": []}}));
        assert_eq!(self.message()["result"]["sessionId"], "sess-1");
        self.prompt(3);
    }

    fn prompt(&mut self, id: u64) {
        self.send(json!({"id": id, "method": "session/prompt", "params": {"sessionId": "sess-1"}}));
    }
}

impl Drop for Agent {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn a_turn_is_played_and_recorded() {
    let mut agent = Agent::play(&[
        auto(),
        prompt(),
        say("hello"),
        read(7, "a.txt"),
        json!({"wait_reply": 7, "match": {"result": {}}, "save": {"TEXT": "/result/content"}}),
        write("w", "a.txt", "$TEXT!"),
        answered("w"),
        chunks(3, "<%06d>", 0),
        end_turn(),
        then_polite(),
    ]);
    agent.set_up();
    let chunk = agent.message();
    assert_eq!(chunk["jsonrpc"], "2.0");
    assert_eq!(chunk["params"]["sessionId"], "sess-1");
    assert_eq!(chunk["params"]["update"]["content"]["text"], "hello");
    let request = agent.message();
    assert_eq!((&request["id"], &request["params"]["path"]), (&json!(7), &json!("/p/a.txt")));
    agent.send(json!({"id": 7, "result": {"content": "seen"}}));
    assert_eq!(agent.message()["params"]["content"], "seen!");
    agent.send(json!({"id": "w", "result": {}}));
    for expected in ["<000000>", "<000001>", "<000002>"] {
        assert_eq!(agent.message()["params"]["update"]["content"]["text"], expected);
    }
    assert_eq!(agent.message()["result"]["stopReason"], "end_turn");
    agent.prompt(4);
    assert_eq!(agent.message(), json!({"id": 4, "result": {"stopReason": "end_turn"}, "jsonrpc": "2.0"}));
    agent.send(json!({"id": 5, "method": "foo/bar"}));
    assert_eq!(agent.message()["error"]["code"], -32601);
    drop(agent.stdin.take());
    assert_eq!(agent.end().0.code(), Some(0));
    let record = agent.record();
    assert_eq!(record.received("session/prompt").len(), 2);
    assert_eq!(record.replies(&json!(7)).len(), 1);
    assert_eq!(record.replies(&json!("7")).len(), 0);
    assert!(record.reply_took(&json!("w")).is_some_and(|ms| (0.0..10_000.0).contains(&ms)));
    assert_eq!(record.pids(), [i64::from(agent.child.id())]);
    let env: Value =
        serde_json::from_slice(&std::fs::read(agent.path("env.json")).expect("the dump")).expect("JSON");
    assert_eq!(env[MARK], json!(agent.folder.path()));
}

#[test]
fn an_expectation_that_is_not_met_says_what_came_instead() {
    let late =
        json!({"expect": "session/prompt", "match": {"params": {"sessionId": "other"}}, "within_ms": 50});
    let mut agent = Agent::play(&[auto(), late]);
    agent.send(json!({"id": 3, "method": "session/prompt", "params": {"sessionId": "sess-1"}}));
    let (status, stderr) = agent.end();
    assert_eq!(status.code(), Some(70));
    assert!(stderr.contains("step 2") && stderr.contains("sess-1"), "{stderr}");
    assert_eq!(agent.record().events("failed").len(), 1);
}

#[test]
fn an_answer_that_differs_is_a_failure() {
    let mut agent = Agent::play(&[read(1, "a"), answered_with(1, json!({"result": {"content": "x"}}))]);
    agent.message();
    agent.send(json!({"id": 1, "result": {"content": "y"}}));
    assert_eq!(agent.end().0.code(), Some(70));
}

#[test]
fn bytes_go_out_as_they_are() {
    let mut agent = Agent::play(&[
        json!({"raw": "no JSON \u{1b}[2J", "split": 1}),
        json!({"raw_base64": "/w0K"}),
        json!({"stderr": "for people"}),
        json!({"exit": 3}),
    ]);
    let mut bytes = Vec::new();
    agent.stdout.read_to_end(&mut bytes).expect("bytes");
    assert_eq!(bytes, b"no JSON \x1b[2J\xff\r\n");
    let (status, stderr) = agent.end();
    assert_eq!((status.code(), stderr.as_str()), (Some(3), "for people\n"));
}

#[test]
fn stories_repeat_branch_and_wait_for_gates() {
    let folder = tempfile::tempdir().expect("a folder");
    let (gate_file, flag) = (folder.path().join("gate"), folder.path().join("flag"));
    let branch = json!({"when_exists": flag, "then": [raw("again\n")], "else": [touch(&flag)]});
    let mut agent = Agent::play_in(
        folder,
        &[
            gate(&gate_file),
            json!({"repeat": 3, "steps": [branch]}),
            json!({"write_file": {"path": flag, "text": "x"}}),
        ],
    );
    std::fs::write(&gate_file, "").expect("the gate");
    assert_eq!((agent.line(), agent.line()), ("again".into(), "again".into()));
    drop(agent.stdin.take());
    agent.end();
    assert!(gate_file.exists() && flag.exists());
}

#[test]
fn it_can_die_by_a_signal_or_close_its_output_and_live() {
    let mut agent = Agent::play(&[json!({"kill_self": 9})]);
    assert_eq!(agent.end().0.signal(), Some(9));

    let mut agent = Agent::play(&[json!({"close_stdout": true})]);
    assert_eq!(agent.line(), "");
    assert!(agent.child.try_wait().expect("a status").is_none(), "it lives");
    drop(agent.stdin.take());
    assert_eq!(agent.end().0.code(), Some(0));
}

#[test]
fn it_can_be_stubborn_and_have_children_of_its_own() {
    let spawn = json!({"spawn": ["sleep", "60"], "new_group": true});
    let mut agent =
        Agent::play(&[json!({"ignore_term": true}), json!({"ignore_eof": true}), spawn, raw("ready\n")]);
    assert_eq!(agent.line(), "ready");
    drop(agent.stdin.take());
    let pid = nix::unistd::Pid::from_raw(agent.child.id().cast_signed());
    nix::sys::signal::kill(pid, nix::sys::signal::Signal::SIGTERM).expect("it is there");
    let mark = agent.folder.path().to_str().expect("UTF-8").to_string();
    // The end of its input is recorded by a thread of its own: once that has happened, both were survived.
    while agent.record().events("eof").is_empty() {}
    assert!(agent.child.try_wait().expect("a status").is_none(), "it lives");
    let sleeper = marked(&mark).into_iter().find(|p| p.program() == "sleep").expect("the grandchild");
    agent.child.kill().expect("KILL is not ignored");
    sleeper.signal(nix::sys::signal::Signal::SIGKILL);
}
