//! Reasonix (npm package `reasonix`): reads and writes through the host, by chat completions.
//!
//! Its key is read from `.env` in its home, never from the environment. It is made up: the scripted model asks for none.
//!
//! Its own sandbox is off (`[sandbox] bash`), so commands go to the host's terminals. Even then it first looks whether a
//! sandbox could start here (`bwrap … -- true`), and runs nothing where there is none. So that the tests run on machines
//! without bubblewrap, and inside containers in which it cannot start, that one question is answered by a `bwrap` of
//! our own. It runs nothing: a command that the agent wanted to run in it would fail.

use std::ffi::OsString;
use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;

use serde_json::json;

use super::{Agent, write};

/// Answers the one question; what it was asked is kept beside it.
const BWRAP: &str = r#"#!/bin/sh
echo "$*" >>"$0.log"
case $* in *' -- true') exit 0 ;; esac
echo 'this bwrap runs nothing' >&2
exit 1
"#;

/// Reasonix.
pub const REASONIX: Agent = Agent {
    name: "reasonix",
    args: &["acp"],
    settings: |home, url| {
        let config = format!(
            r#"config_version = 1
default_model = "scripted/scripted"
language = "en"

[[providers]]
name = "scripted"
kind = "openai"
base_url = "{url}/v1"
models = ["scripted"]
default = "scripted"
api_key_env = "SCRIPTED_API_KEY"
reasoning_protocol = "deepseek"
supported_efforts = ["low", "high"]
default_effort = "high"

[sandbox]
bash = "off"
"#
        );
        write(&home.join("config.toml"), &config)?;
        write(&home.join(".env"), "SCRIPTED_API_KEY=made-up\n")?;
        let programs = home.join("bin");
        write(&programs.join("bwrap"), BWRAP)?;
        std::fs::set_permissions(programs.join("bwrap"), Permissions::from_mode(0o755))?;
        let mut path = programs.into_os_string();
        path.push(":");
        path.push(std::env::var_os("PATH").unwrap_or_else(|| OsString::from("/usr/bin:/bin")));
        Ok(vec![
            ("REASONIX_HOME", home.to_string_lossy().into_owned()),
            ("REASONIX_TELEMETRY", "0".into()),
            ("PATH", path.to_string_lossy().into_owned()),
        ])
    },
    change: |file, from, to| {
        vec![
            ("read_file", json!({"path": file})),
            ("edit_file", json!({"path": file, "old_string": from, "new_string": to})),
        ]
    },
    run: |line| ("bash", json!({"command": line})),
};
