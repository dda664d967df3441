//! Real agents, pointed at the scripted model: where each is, what it is started with, and how its model asks for things.
//!
//! Owns the list and what holds for all of them: a home of its own, so that a person's is never touched, and no way out
//! of this machine. What only one agent needs stands in the file of its name. Starts nothing. Used by the interop tests
//! and by the `model-server` binary.

mod claude;
mod codex;
mod hermes;
mod opencode;
mod reasonix;

use std::io::Result;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::model::{Rule, Said};

pub use claude::CLAUDE;
pub use codex::CODEX;
pub use hermes::HERMES;
pub use opencode::OPENCODE;
pub use reasonix::REASONIX;

/// A variable of an environment and its value.
type Variable = (&'static str, String);

/// A tool's name and its arguments.
type Call = (&'static str, Value);

/// A real agent.
pub struct Agent {
    /// One word in lower case.
    pub name: &'static str,
    /// Arguments that make its command speak ACP.
    pub args: &'static [&'static str],
    /// Writes its settings into an existing folder, for a model at a URL; what they need of its environment.
    settings: fn(&Path, &str) -> Result<Vec<Variable>>,
    /// The calls with which its model replaces one whole line of a file by another, one for each answer.
    change: fn(&Path, &str, &str) -> Vec<Call>,
    /// The call with which its model runs a line in a shell.
    run: fn(&str) -> Call,
}

/// All of them.
pub const ALL: &[&Agent] = &[&REASONIX, &OPENCODE, &HERMES, &CODEX, &CLAUDE];

impl Agent {
    /// Its command, in the folder that `make interop` fetches agents into.
    pub fn command(&self) -> PathBuf {
        let folder = std::env::var_os("BOSUN_AGENTS").expect("BOSUN_AGENTS is not set: run `make interop`");
        Path::new(&folder).join(self.name)
    }

    /// Gives it a home, with settings for a model at `url`: its environment. Whatever it wants of other machines goes
    /// to that model as well, which has no answer for it.
    pub fn settle(&self, home: &Path, url: &str) -> Result<Vec<(String, String)>> {
        std::fs::create_dir_all(home.join("tmp"))?;
        let folder = |name: &str| home.join(name).to_string_lossy().into_owned();
        let mut all: Vec<Variable> = vec![
            ("HOME", folder("")),
            ("XDG_CONFIG_HOME", folder(".config")),
            ("XDG_CACHE_HOME", folder(".cache")),
            ("XDG_DATA_HOME", folder(".local/share")),
            ("XDG_STATE_HOME", folder(".local/state")),
            ("TMPDIR", folder("tmp")),
            ("DO_NOT_TRACK", "1".into()),
            ("NO_COLOR", "1".into()),
        ];
        for name in ["HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy"] {
            all.push((name, url.into()));
        }
        for name in ["NO_PROXY", "no_proxy"] {
            all.push((name, "127.0.0.1,localhost".into()));
        }
        all.extend((self.settings)(home, url)?);
        Ok(all.into_iter().map(|(name, value)| (name.into(), value)).collect())
    }

    /// What its model says to a prompt with `marker`: it runs a line in a shell, and then says what came of it.
    pub fn run(&self, marker: &str, line: &str) -> Rule {
        let (tool, arguments) = (self.run)(line);
        Rule::new(marker, [Said::call(tool, arguments), Said::text("It said: {last_tool}\nDone.")])
    }

    /// What its model says to a prompt with `marker`: it replaces the line `from` of a file by `to`.
    pub fn change(&self, marker: &str, file: &Path, from: &str, to: &str) -> Rule {
        let calls = (self.change)(file, from, to).into_iter();
        let turns = calls.map(|(tool, arguments)| Said::call(tool, arguments).thinking("I know what to do."));
        Rule::new(marker, turns.chain([Said::text("It said: {last_tool}\nDone.")]))
    }
}

/// Writes a file of settings, in folders that may be missing.
fn write(path: &Path, text: &str) -> Result<()> {
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder)?;
    }
    std::fs::write(path, text)
}
