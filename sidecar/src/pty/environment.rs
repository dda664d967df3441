//! The environment of a command: what the sidecar inherited, made fit for a terminal of ours, and what was asked for.
//!
//! Owns the lists of variables. It never reads the environment itself. Called by `start`.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};

/// Variables by name.
pub type Environment = BTreeMap<OsString, OsString>;

/// Not handed on. The first are Neovim's own: a Neovim inside the terminal must not take itself for this one. Then ours:
/// `BOSUN_LOG` is set for the sidecar by the plugin, the marker is another for each command. The rest speaks of the
/// terminal that Neovim itself runs in, which is not the one that the command sees.
const NOT_HANDED_ON: &[&str] = &[
    "NVIM",
    "NVIM_LISTEN_ADDRESS",
    "NVIM_LOG_FILE",
    "VIM",
    "VIMRUNTIME",
    "MYVIMRC",
    "BOSUN_LOG",
    crate::agent::MARKER,
    "LINES",
    "COLUMNS",
    "TERMCAP",
    "COLORFGBG",
    "TERM_PROGRAM",
    "TERM_PROGRAM_VERSION",
    "VTE_VERSION",
    "KITTY_WINDOW_ID",
    "KONSOLE_VERSION",
    "WT_SESSION",
    "WINDOWID",
];

/// Set for every command: Neovim's terminal knows true colour; nobody is there to leave a pager, and git must fail
/// rather than ask for a password on a terminal that perhaps nobody looks at.
const SET: &[(&str, &str)] = &[
    ("TERM", "xterm-256color"),
    ("COLORTERM", "truecolor"),
    ("PAGER", "cat"),
    ("GIT_PAGER", "cat"),
    ("MANPAGER", "cat"),
    ("GIT_TERMINAL_PROMPT", "0"),
];

/// Each later one wins: `inherited`, what suits a terminal, `extra`, `overrides`, the marker (`NAME`, value). Overrides
/// without a name that can be one are left out.
pub fn build(
    inherited: impl Iterator<Item = (OsString, OsString)>,
    extra: &[(String, String)],
    overrides: &[(String, String)],
    marker: (&str, &str),
) -> Environment {
    let mut all: Environment =
        inherited.filter(|(name, _)| !NOT_HANDED_ON.iter().any(|not| name == OsStr::new(not))).collect();
    let set = SET.iter().map(|(name, value)| (*name, *value));
    let asked = extra.iter().chain(overrides).map(|(name, value)| (name.as_str(), value.as_str()));
    for (name, value) in set.chain(asked).chain([marker]) {
        if name.is_empty() || name.contains(['=', '\0']) || value.contains('\0') {
            tracing::warn!(name, "a variable that cannot be set is left out");
            continue;
        }
        all.insert(name.into(), value.into());
    }
    all
}
