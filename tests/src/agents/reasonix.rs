//! Reasonix (npm package `reasonix`): reads and writes through the host, by chat completions.
//!
//! Its key is read from `.env` in its home, never from the environment. It is made up: the scripted model asks for none.

use serde_json::json;

use super::{Agent, write};

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
"#
        );
        write(&home.join("config.toml"), &config)?;
        write(&home.join(".env"), "SCRIPTED_API_KEY=made-up\n")?;
        Ok(vec![("REASONIX_HOME", home.to_string_lossy().into_owned()), ("REASONIX_TELEMETRY", "0".into())])
    },
    change: |file, from, to| {
        vec![
            ("read_file", json!({"path": file})),
            ("edit_file", json!({"path": file, "old_string": from, "new_string": to})),
        ]
    },
};
