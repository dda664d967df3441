//! Real agents against a model that the project scripts: what Bosun is for, with agents nobody here wrote.
//!
//! `make interop` fetches the agents and says in `BOSUN_AGENTS` which folder their commands are in. Nothing leaves this
//! machine. Each agent alone is tried too, so that a failure says whose it is: ours, or a new release of the agent.

mod alone;
mod blade;
mod commands;
mod host;
mod through_neovim;

use std::path::Path;
use std::time::Duration;

use bosun_tests::Editor;
use bosun_tests::agents::Agent;
use bosun_tests::model::{ModelServer, Rule, Said};
use serde_json::{Map, Value, json};

/// Enough for the slowest agent on a busy machine: it takes five seconds on an idle one.
pub const LIMIT: Duration = Duration::from_secs(90);

/// Makes an agent with this model the editor's agent.
pub fn employ(editor: &Editor, agent: &Agent, model: &ModelServer) {
    let env = agent.settle(&editor.aside(agent.name), &model.url()).expect("settings for the agent");
    let env: Map<_, _> = env.into_iter().map(|(name, value)| (name, value.into())).collect();
    editor.setup(json!({
        "agents": {agent.name: {"command": agent.command(), "args": agent.args, "env": env}},
        "default_agent": agent.name,
    }));
}

/// A model that greets for `[[text]]`, and for `[[edit]]` has the agent replace a line of a file.
pub fn model(agent: &Agent, file: &Path, from: &str, to: &str) -> ModelServer {
    let greeting = Said::text("Hello from the scripted model.\n\n- one\n- two\n").thinking("I should greet.");
    let rules = vec![Rule::new("[[text]]", [greeting]), agent.change("[[edit]]", file, from, to)];
    ModelServer::start(rules, 0).expect("a free port on 127.0.0.1")
}

/// Everything that the agent wanted and the model is not there for: other machines above all. What agents ask of their
/// model's own machine beside an answer (its version, its settings, whether it is there) is fine.
pub fn strays(model: &ModelServer) -> Vec<String> {
    model.refused().into_iter().filter(|r| r.starts_with("CONNECT ") || r.contains(" http://")).collect()
}

/// What the editor knows of the terminals.
pub fn terminals(editor: &Editor) -> Vec<Value> {
    editor.lua("return require('bosun.state').terminals", &[]).as_array().cloned().unwrap_or_default()
}
