//! Recordings of real agents to stories: what an agent once sent is sent again, what its host must answer is waited for.
//!
//! Owns nothing. For agents that no registry has. A recording has one message a line, under the name of the side that
//! sent it: `{"agent": {…}}` or `{"host": {…}}`. Sessions and folders stand in it as `$SESSION` and `$CWD`; a terminal's
//! id is `NAME` where the host gives it, and `$NAME` from then on. What an answer of the host must not be compared with,
//! because it is not the same each time, is left out of it. Called by tests.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::steps::{answered_with, expect, send};

/// The story of a recording. Panics where it is none.
pub fn steps(recording: &str) -> Vec<Value> {
    let mut asked = BTreeMap::new();
    let lines = recording.lines().map(|line| serde_json::from_str::<Value>(line).expect("a line of JSON"));
    lines
        .map(|line| {
            let message = |side: &str| line.get(side).cloned();
            match (message("host"), message("agent")) {
                (Some(told), None) => match told["method"].as_str() {
                    Some(method) => {
                        asked.insert(told["id"].to_string(), method.to_owned());
                        expect(method)
                    }
                    None => awaited(&told),
                },
                (None, Some(said)) if said["method"].is_null() => {
                    let method = asked.get(&said["id"].to_string()).expect("it answers what it was asked");
                    json!({"reply_to": method, "result": said["result"]})
                }
                (None, Some(said)) => send(said),
                _ => panic!("{line} is of no side"),
            }
        })
        .collect()
}

/// Waits for an answer of the host: the id of a terminal, which is remembered by the name that it has in the recording,
/// or what it must hold.
fn awaited(answer: &Value) -> Value {
    let id = answer["id"].clone();
    match answer["result"]["terminalId"].as_str() {
        Some(name) => json!({"wait_reply": id, "save": {name: "/result/terminalId"}}),
        None => answered_with(id, json!({"result": answer["result"]})),
    }
}
