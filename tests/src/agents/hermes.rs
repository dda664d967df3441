//! Hermes (PyPI package `hermes-agent`): writes the disk itself and says nothing of it to the host, by chat completions.

use serde_json::json;

use super::{Agent, write};

/// Hermes.
pub const HERMES: Agent = Agent {
    name: "hermes",
    args: &["acp"],
    settings: |home, url| {
        // Without a length of its context it would ask the world for one, and before its first command for a scanner.
        let config = format!(
            r#"model:
  provider: custom
  base_url: {url}/v1
  api_key: made-up
  default: scripted
  api_mode: chat_completions
  context_length: 128000

security:
  tirith_enabled: false
"#
        );
        write(&home.join(".hermes/config.yaml"), &config)?;
        Ok(vec![("HERMES_HOME", home.join(".hermes").to_string_lossy().into_owned())])
    },
    change: |file, from, to| {
        vec![
            ("read_file", json!({"path": file})),
            ("patch", json!({"mode": "replace", "path": file, "old_string": from, "new_string": to})),
        ]
    },
    run: |line| ("terminal", json!({"command": line})),
};
