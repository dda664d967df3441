//! What knows the plugin: its public Lua API in short words, its events, the calls it gets from the sidecar.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde_json::{Value, json};

use super::Editor;
use super::setup::built;
use crate::script::record::Recorded;

/// A preset that plays a story; where it writes down what it saw.
pub struct Scripted {
    /// The record file.
    pub path: PathBuf,
}

impl Scripted {
    /// What was written down so far.
    pub fn read(&self) -> Recorded {
        Recorded::read(&self.path)
    }
}

impl Editor {
    /// Keeps all events of the plugin, in order.
    pub(super) fn record_events(&self) {
        self.lua(
            "_G.bosun_test = { events = {}, calls = {} }
             vim.api.nvim_create_autocmd('User', { pattern = 'Bosun*', callback = function(ev)
               table.insert(_G.bosun_test.events, { name = ev.match, data = ev.data or vim.NIL })
             end })",
            &[],
        );
    }

    /// A preset for a story, to be put under `agents` of a setup.
    pub fn preset(&self, name: &str, steps: &[Value]) -> (Value, Scripted) {
        let file = self.aside(&format!("{name}-steps.json"));
        std::fs::write(&file, Value::from(steps).to_string()).expect("the step file");
        let path = self.aside(&format!("{name}-record.jsonl"));
        let preset = json!({"command": built("scripted-agent"), "args": [file, "--record", path]});
        (preset, Scripted { path })
    }

    /// Configures the plugin with one agent, `scripted`, that plays this story.
    pub fn script(&self, steps: &[Value]) -> Scripted {
        self.script_with(steps, json!({}))
    }

    /// The same, with more fields for the preset (`env`, `write_approval`, …).
    pub fn script_with(&self, steps: &[Value], more: Value) -> Scripted {
        let (mut preset, scripted) = self.preset("scripted", steps);
        for (key, value) in more.as_object().into_iter().flatten() {
            preset[key] = value.clone();
        }
        self.setup(json!({"agents": {"scripted": preset}, "default_agent": "scripted"}));
        scripted
    }

    /// `bosun.setup`.
    pub fn setup(&self, options: Value) {
        self.lua("require('bosun').setup(...)", &[options]);
    }

    /// `bosun.new` with the default agent in the project's folder: the session's id.
    pub fn new_session(&self) -> String {
        let id = self.lua("return require('bosun').new({ cwd = ... })", &[json!(self.project())]);
        id.as_str().expect("new() returns an id").into()
    }

    /// `bosun.prompt`; it must be taken.
    pub fn prompt(&self, session: &str, text: &str) {
        let taken = self.lua(
            "local text, session = ...
             local ok, err = require('bosun').prompt(text, { session = session })
             return { ok = ok or false, err = err or vim.NIL }",
            &[text.into(), session.into()],
        );
        assert_eq!(taken["ok"], true, "the prompt was refused: {}", taken["err"]);
    }

    /// A new session, with a prompt sent.
    pub fn ask(&self, text: &str) -> String {
        let session = self.new_session();
        self.prompt(&session, text);
        session
    }

    /// The entry of `bosun.sessions()`.
    pub fn session(&self, id: &str) -> Value {
        let all = self.lua("return require('bosun').sessions()", &[]);
        let all = all.as_array().cloned().unwrap_or_default();
        all.into_iter().find(|s| s["id"] == id).unwrap_or_default()
    }

    /// Its state.
    pub fn state(&self, id: &str) -> String {
        self.session(id)["state"].as_str().unwrap_or_default().into()
    }

    /// Waits for a state.
    pub fn await_state(&self, id: &str, state: &str) {
        self.eventually(&format!("the state `{state}`"), || self.state(id) == state);
    }

    /// `bosun.transcript`.
    pub fn transcript(&self, session: &str) -> String {
        self.lua("return require('bosun').transcript(...)", &[session.into()])
            .as_str()
            .unwrap_or_default()
            .into()
    }

    /// Waits until the transcript holds a text.
    pub fn await_transcript(&self, session: &str, text: &str) -> String {
        self.wait_for(&format!("`{text}` in the transcript"), || {
            Some(self.transcript(session)).filter(|t| t.contains(text))
        })
    }

    /// `bosun.pending()`.
    pub fn pending(&self) -> Vec<Value> {
        self.lua("return require('bosun').pending()", &[]).as_array().cloned().unwrap_or_default()
    }

    /// Waits for a number of open questions.
    pub fn await_pending(&self, count: usize) -> Vec<Value> {
        self.wait_for(&format!("{count} open questions"), || {
            Some(self.pending()).filter(|p| p.len() == count)
        })
    }

    /// `bosun.answer`, by option id or kind; it must be taken.
    pub fn answer(&self, question: &Value, option: &str) {
        self.try_answer(question, option)
            .unwrap_or_else(|why| panic!("the answer {option} was refused: {why}"));
    }

    /// `bosun.answer`.
    pub fn try_answer(&self, question: &Value, option: &str) -> Result<(), String> {
        let answer = self.lua(
            "local ok, err = require('bosun').answer(...)
             return { ok = ok or false, err = err or vim.NIL }",
            &[question["id"].clone(), option.into()],
        );
        if answer["ok"] == true { Ok(()) } else { Err(answer["err"].to_string()) }
    }

    /// `bosun.cancel`.
    pub fn cancel(&self, session: &str) {
        self.lua("require('bosun').cancel({ session = ... })", &[session.into()]);
    }

    /// The data of all events of a name so far.
    pub fn events(&self, name: &str) -> Vec<Value> {
        let events = self.lua("return _G.bosun_test.events", &[]).as_array().cloned().unwrap_or_default();
        events.into_iter().filter(|e| e["name"] == name).map(|e| e["data"].clone()).collect()
    }

    /// Waits for the n-th end of a turn (counted from one, over all sessions): its stop reason.
    pub fn turn_end(&self, n: usize) -> String {
        let data = self.wait_for(&format!("the end of turn {n}"), || {
            Some(self.events("BosunTurnEnd")).filter(|e| e.len() >= n).map(|e| e[n - 1].clone())
        });
        data["stop_reason"].as_str().unwrap_or_default().into()
    }

    /// Waits until the agent has written down an event of a name.
    pub fn await_event(&self, agent: &Scripted, name: &str) -> Value {
        self.wait_for(&format!("`{name}` from the agent"), || agent.read().events(name).into_iter().next())
    }

    /// What holds at the end of every test: nothing is left open, nothing is wrong.
    pub fn assert_sound(&self, agent: &Scripted) {
        self.assert_quiet();
        agent.read().assert_sound();
    }

    /// Waits for a file that the agent touches.
    pub fn await_file(&self, path: &std::path::Path) {
        self.eventually(&format!("the file {}", path.display()), || path.exists());
    }

    /// Opens a gate of the story.
    pub fn open_gate(&self, path: &std::path::Path) {
        std::fs::write(path, "").expect("a gate");
    }

    /// Counts the calls of the sidecar from now on, by name.
    pub fn count_calls(&self) {
        self.lua(
            "local inbox, calls = require('bosun.inbox'), {}
             _G.bosun_test.calls = calls
             if not _G.bosun_test.recv then _G.bosun_test.recv = inbox.recv end
             inbox.recv = function(name, ...)
               calls[name] = (calls[name] or 0) + 1
               return _G.bosun_test.recv(name, ...)
             end",
            &[],
        );
    }

    /// The calls counted.
    pub fn calls(&self) -> BTreeMap<String, u64> {
        let calls = self.lua("return _G.bosun_test.calls", &[]);
        let count = |(name, n): (&String, &Value)| (name.clone(), n.as_u64().unwrap_or(0));
        calls.as_object().map(|calls| calls.iter().map(count).collect()).unwrap_or_default()
    }
}
