//! A real agent, Reasonix, against a model that the project scripts: what Bosun is for, with an agent nobody here wrote.
//!
//! `make interop` fetches the agent and says where it is in `BOSUN_REASONIX`. Nothing leaves this machine. The agent
//! alone is tried too, so that a failure says whose it is: ours, or a new release of the agent.

mod alone;
mod through_neovim;

use std::path::PathBuf;

use bosun_tests::model::{ModelServer, Rule, Said};
use serde_json::json;

/// The agent's command.
pub fn reasonix() -> PathBuf {
    std::env::var_os("BOSUN_REASONIX").expect("BOSUN_REASONIX is not set: run `make interop`").into()
}

/// A model that greets for `[[text]]`, and changes one line of notes.txt for `[[edit]]`.
pub fn model() -> ModelServer {
    let edit = json!({"path": "notes.txt", "old_string": "gamma", "new_string": "GAMMA"});
    let rules = vec![
        Rule::new(
            "[[text]]",
            [Said::text("Hello from the scripted model.\n\n- one\n- two\n").thinking("I should greet.")],
        ),
        Rule::new(
            "[[edit]]",
            [
                Said::call("read_file", json!({"path": "notes.txt"})).thinking("Read first."),
                Said { text: "Now the edit.".into(), ..Said::call("edit_file", edit) },
                Said::text("It said: {last_tool}\nDone."),
            ],
        ),
    ];
    ModelServer::start(rules, 0).expect("a free port on 127.0.0.1")
}
