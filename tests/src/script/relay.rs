//! A line from a running story to its test: the test says what the scripted agent asks the host, one request at a time.
//!
//! Owns the socket between the two: [`pass_on`] is the agent's side, [`Relay`] the test's. It invents nothing: the host
//! gets the request from a real agent, on the wire, and its answer comes back as it was. For tests whose requests depend
//! on answers, or are too many to be written down as steps.

use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::{Value, json};

/// Connects to the test and hands each of its lines to `ask`, which gives the host's answer; ends when the test hangs up.
pub fn pass_on(socket: &Path, mut ask: impl FnMut(Value) -> Result<Value, String>) -> Result<(), String> {
    let wrong = |e: std::io::Error| format!("{}: {e}", socket.display());
    let stream = UnixStream::connect(socket).map_err(wrong)?;
    let mut back = stream.try_clone().map_err(wrong)?;
    for line in BufReader::new(stream).lines() {
        let message =
            serde_json::from_str(&line.map_err(wrong)?).map_err(|e| format!("the test's line: {e}"))?;
        let answer = ask(message)?;
        back.write_all(format!("{answer}\n").as_bytes()).map_err(wrong)?;
    }
    Ok(())
}

/// The test's end.
pub struct Relay {
    listener: UnixListener,
    stream: Option<BufReader<UnixStream>>,
    path: PathBuf,
    asked: u64,
}

impl Relay {
    /// Listens at a path; `steps::relay` with the same path is the story's side.
    pub fn listen(path: PathBuf) -> Self {
        let listener = UnixListener::bind(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
        Self { listener, stream: None, path, asked: 0 }
    }

    /// Where it listens.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Waits until the story has come to its relay step. Panics after 15 s.
    pub fn accept(&mut self) {
        self.listener.set_nonblocking(true).expect("a listener");
        for _ in 0..3000 {
            if let Ok((stream, _)) = self.listener.accept() {
                stream.set_nonblocking(false).expect("a stream");
                self.stream = Some(BufReader::new(stream));
                return;
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        panic!("the story did not come to its relay step");
    }

    /// Sends a request of the session; `receive` gives its answer.
    pub fn send(&mut self, method: &str, mut params: Value) {
        self.asked += 1;
        params["sessionId"] = "$SESSION".into();
        let message = json!({"id": format!("relay-{}", self.asked), "method": method, "params": params});
        let stream = self.stream.as_mut().expect("accept was called").get_mut();
        stream.write_all(format!("{message}\n").as_bytes()).expect("the agent listens");
    }

    /// The answer to the request sent last: its result, or its error. Panics when the agent has ended.
    pub fn receive(&mut self) -> Result<Value, Value> {
        let mut line = String::new();
        let stream = self.stream.as_mut().expect("accept was called");
        stream.read_line(&mut line).expect("the agent answers");
        let answer: Value = serde_json::from_str(&line).expect("the agent is there, and its line is JSON");
        match answer.get("error") {
            Some(error) => Err(error.clone()),
            None => Ok(answer["result"].clone()),
        }
    }

    /// Lets the story go on; so does the end of the relay.
    pub fn hang_up(&mut self) {
        self.stream = None;
    }

    /// Reads a file as the agent: its text, or the error.
    pub fn read(&mut self, path: &Path) -> Result<String, Value> {
        self.send("fs/read_text_file", json!({"path": path}));
        self.receive().map(|result| result["content"].as_str().unwrap_or_default().to_string())
    }
}
