//! Walls between the parts: which file may use which crate, call or word. The table below is the list to edit.

use crate::{Source, expect_none, of_kind};

/// Words that may stand in some files only.
struct Wall {
    /// What this wall keeps apart, for the message.
    rule: &'static str,
    /// Any of these in the code of a file is a crossing.
    words: &'static [&'static str],
    /// Files the wall is about: paths begin with one of these.
    within: &'static [&'static str],
    /// Files that may cross it (path prefixes), each with its reason.
    open: &'static [(&'static str, &'static str)],
}

/// The synchronous rooms of the core.
const ROOMS: &[&str] = &["sidecar/src/session", "sidecar/src/workspace", "sidecar/src/view"];

/// The rooms and what binds them.
const CORE: &[&str] = &[
    "sidecar/src/session",
    "sidecar/src/workspace",
    "sidecar/src/view",
    "sidecar/src/app",
    "sidecar/src/event.rs",
    "sidecar/src/effect.rs",
    "sidecar/src/model.rs",
];

const WALLS: &[Wall] = &[
    Wall {
        rule: "wire types of the protocol stop at the agent edge",
        words: &["agent_client_protocol_schema"],
        within: &["sidecar/src/"],
        open: &[("sidecar/src/agent", "the agent edge lifts them into the model")],
    },
    Wall {
        rule: "editor types stop at the Neovim edge",
        words: &["nvim_rs", "rmpv"],
        within: &["sidecar/src/"],
        open: &[("sidecar/src/nvim", "the Neovim edge")],
    },
    Wall {
        rule: "files are touched by the disk edge only",
        words: &["std::fs", "tokio::fs", "File::open", "File::create", "OpenOptions"],
        within: &["sidecar/src/"],
        open: &[
            ("sidecar/src/disk", "the disk edge"),
            ("sidecar/src/trace.rs", "our own log file"),
            ("sidecar/src/agent/wirelog.rs", "the wire log of an agent"),
            ("sidecar/src/guard.rs", "reads /proc to find processes that left their group"),
            ("sidecar/src/nvim/visit/starter.rs", "reads /proc to see whether a command still lives"),
        ],
    },
    Wall {
        rule: "processes are started and ended by their edges only",
        words: &["process::Command", "tokio::process", "killpg", "signal::kill", "portable_pty"],
        within: &["sidecar/src/"],
        open: &[
            ("sidecar/src/agent", "the agent edge"),
            ("sidecar/src/pty", "the PTY edge"),
            ("sidecar/src/guard", "ends the process groups when the sidecar cannot"),
        ],
    },
    Wall {
        rule: "rooms are synchronous: no task, no waiting, no I/O, no environment",
        words: &[
            "async fn",
            "async move",
            ".await",
            "tokio",
            "std::thread",
            "std::env",
            "std::io",
            "std::net",
        ],
        within: ROOMS,
        open: &[],
    },
    Wall {
        rule: "rooms have no clock: time comes with the call",
        words: &["Instant::now", "SystemTime"],
        within: ROOMS,
        open: &[(
            "sidecar/src/workspace/lines.rs",
            "a diff has a deadline, after which a coarser one is taken",
        )],
    },
    Wall {
        rule: "state has one owner: no lock and no shared cell in the core",
        words: &["Mutex", "RwLock", "RefCell", "OnceLock", "LazyLock", "static mut", "Atomic"],
        within: CORE,
        open: &[],
    },
    Wall {
        rule: "lanes and queues are bounded",
        words: &["unbounded"],
        within: &["sidecar/src/"],
        open: &[
            (
                "sidecar/src/agent.rs",
                "commands to an agent: few, and what waits in its pipe is counted and bounded",
            ),
            ("sidecar/src/agent/conn.rs", "answers to an agent: no more than the requests it has open"),
            (
                "sidecar/src/pty.rs",
                "commands to a terminal: few; what is typed is counted and bounded as soon as its task sees it",
            ),
            ("sidecar/src/pty/live.rs", "the other end of those"),
            ("sidecar/src/guard.rs", "one short line for each agent that starts or ends"),
        ],
    },
    Wall {
        rule: "the loop never asks Neovim, and nothing waits for it with a time limit",
        words: &["timeout("],
        within: &["sidecar/src/nvim", "sidecar/src/app", "sidecar/src/run.rs"],
        open: &[],
    },
];

/// What Lua must not do: each of these can stop the editor, or take a key that was typed for something else.
const LUA_WALLS: &[Wall] = &[Wall {
    rule: "Lua never waits: not for the sidecar, not for a key, not for time",
    words: &[
        "rpcrequest",
        "vim.wait(",
        "fn.sleep(",
        "fn.input(",
        "fn.inputlist(",
        "fn.confirm(",
        "fn.getchar(",
        "fn.jobwait(",
        ":wait(",
    ],
    within: &["lua/", "nvim-plugin/", "plugin/"],
    open: &[],
}];

/// Names of agents: what differs between them is data in their presets, not code.
const AGENTS: &[&str] = &["reasonix", "hermes", "blade", "claude", "codex", "gemini", "qwen", "opencode"];

fn crossings(walls: &[Wall], source: &Source) -> Vec<String> {
    let mut found = Vec::new();
    let here = |prefixes: &mut dyn Iterator<Item = &str>| {
        let mut prefixes = prefixes.peekable();
        prefixes.peek().is_some() && prefixes.any(|p| source.path.starts_with(p))
    };
    for wall in walls {
        if source.is_test()
            || !here(&mut wall.within.iter().copied())
            || here(&mut wall.open.iter().map(|(path, _)| *path))
        {
            continue;
        }
        for (line, code) in source.code() {
            if let Some(word) = wall.words.iter().find(|w| code.contains(**w)) {
                found.push(format!("{}:{line}: `{word}` ({})", source.path, wall.rule));
            }
        }
    }
    found
}

fn agent_names(source: &Source) -> Vec<String> {
    let mut found = Vec::new();
    for (number, line) in source.text.lines().enumerate() {
        let lower = line.to_lowercase();
        let mut words = lower.split(|c: char| !c.is_ascii_alphanumeric());
        if let Some(name) = words.find_map(|w| AGENTS.iter().find(|a| **a == w)) {
            found.push(format!("{}:{}: {name}", source.path, number + 1));
        }
    }
    found
}

#[test]
fn no_part_reaches_over_its_walls() {
    let found: Vec<_> = of_kind(".rs").iter().flat_map(|s| crossings(WALLS, s)).collect();
    expect_none("walls between the parts (the table is in tests/tests/tidy/walls.rs)", &found);
}

#[test]
fn lua_never_waits_for_anything() {
    let found: Vec<_> = of_kind(".lua").iter().flat_map(|s| crossings(LUA_WALLS, s)).collect();
    expect_none("what Lua must not call (the table is in tests/tests/tidy/walls.rs)", &found);
}

#[test]
fn no_rust_source_of_the_sidecar_knows_an_agent_by_name() {
    let sources = of_kind(".rs");
    let found: Vec<_> =
        sources.iter().filter(|s| s.path.starts_with("sidecar/")).flat_map(agent_names).collect();
    expect_none("an agent's name in code; a difference between agents is data in its preset", &found);
}

#[test]
fn a_crossing_is_found_in_code_and_not_in_comments_or_tests() {
    let check = |path: &str, text: &str, expected: usize| {
        let found = crossings(WALLS, &Source::new(path, text));
        assert_eq!(found.len(), expected, "{path}: {text:?} gave {found:?}");
    };
    check("sidecar/src/session.rs", "use nvim_rs::Value;\n", 1);
    check("sidecar/src/nvim/wire.rs", "use nvim_rs::Value;\n", 0);
    check("sidecar/src/view/lines.rs", "pub async fn flush() {}\n", 1);
    check("sidecar/src/view/lines.rs", "//! Never calls an async fn.\nfn f() {} // no .await\n", 0);
    check("sidecar/src/view/lines.rs", "fn f() {}\n#[cfg(test)]\nmod tests { use tokio::time; }\n", 0);
    check("sidecar/src/workspace/tests.rs", "use std::fs;\n", 0);
    check("sidecar/src/app.rs", "std::fs::read(path);\n", 1);
    check("sidecar/src/app.rs", "let uri = \"file://x\"; std::fs::read(path);\n", 1);
    let lua = Source::new("lua/bosun/inbox.lua", "-- never rpcrequest\nvim.rpcrequest(1, 'x')\n");
    assert_eq!(crossings(LUA_WALLS, &lua).len(), 1);
    let named = Source::new("sidecar/src/agent.rs", "// as Claude does\nlet bladed = 1;\n");
    assert_eq!(agent_names(&named), ["sidecar/src/agent.rs:1: claude"]);
}
