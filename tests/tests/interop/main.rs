//! Real agents against a model that the project scripts: what Bosun is for, with agents nobody here wrote.
//!
//! `make interop` fetches the agents and says in `BOSUN_AGENTS` which folder their commands are in. Nothing leaves this
//! machine. Each agent alone is tried too, so that a failure says whose it is: ours, or a new release of the agent.

mod alone;
mod host;
mod through_neovim;

use std::path::Path;

use bosun_tests::agents::Agent;
use bosun_tests::model::{ModelServer, Rule, Said};

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
