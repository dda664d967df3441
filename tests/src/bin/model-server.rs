//! The scripted model as a command, for trying an agent by hand: `model-server PORT [AGENT HOME]`.
//!
//! Says hello to prompts with `[[text]]` and, when an agent is named (`reasonix`, `opencode`, `hermes`, `codex`,
//! `claude`), changes the line `beta` in notes.txt of the current folder to `BETA` for `[[edit]]`, and runs
//! `echo hello; exit 3` for `[[run]]`. It then also writes the agent's settings into HOME and prints the environment that
//! the agent is to be started with. Runs until killed.

use std::io::{Error, Result, Write};

use bosun_tests::agents;
use bosun_tests::model::{ModelServer, Rule, Said};

fn main() -> Result<()> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let port = args.first().and_then(|a| a.parse().ok()).unwrap_or(0);
    let mut rules =
        vec![Rule::new("[[text]]", [Said::text("Hello.\n").thinking("A greeting is asked for.")])];
    let agent = match args.get(1) {
        Some(name) => {
            let found = agents::ALL.iter().find(|agent| agent.name == name);
            Some(found.ok_or_else(|| Error::other(format!("there is no agent {name}")))?)
        }
        None => None,
    };
    if let Some(agent) = agent {
        rules.push(agent.change("[[edit]]", &std::env::current_dir()?.join("notes.txt"), "beta", "BETA"));
        rules.push(agent.run("[[run]]", "echo hello; exit 3"));
    }
    let server = ModelServer::start(rules, port)?;
    if let (Some(agent), Some(home)) = (agent, args.get(2)) {
        for (name, value) in agent.settle(home.as_ref(), &server.url())? {
            writeln!(std::io::stdout(), "{name}={value}")?;
        }
    }
    eprintln!("{}/v1", server.url());
    loop {
        std::thread::park();
    }
}
