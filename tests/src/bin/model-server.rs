//! The scripted model as a command, for trying an agent by hand: `model-server PORT [REASONIX_HOME]`.
//!
//! Says hello to prompts with `[[text]]` and changes the word `beta` in notes.txt to `BETA` for `[[edit]]`. With a second
//! argument it writes Reasonix' settings there. Runs until it is killed.

use bosun_tests::model::{ModelServer, Rule, Said, reasonix_home};
use serde_json::json;

fn main() -> std::io::Result<()> {
    let mut args = std::env::args().skip(1);
    let port = args.next().and_then(|a| a.parse().ok()).unwrap_or(0);
    let edit = json!({"path": "notes.txt", "old_string": "beta", "new_string": "BETA"});
    let rules = vec![
        Rule::new("[[text]]", [Said::text("Hello.\n").thinking("A greeting is asked for.")]),
        Rule::new(
            "[[edit]]",
            [
                Said::call("read_file", json!({"path": "notes.txt"})),
                Said::call("edit_file", edit),
                Said::text("Edited."),
            ],
        ),
    ];
    let server = ModelServer::start(rules, port)?;
    if let Some(home) = args.next() {
        reasonix_home(home.as_ref(), &server.url())?;
    }
    eprintln!("{}/v1", server.url());
    loop {
        std::thread::park();
    }
}
