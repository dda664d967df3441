//! Codex (npm package `@agentclientprotocol/codex-acp`): patches the disk itself, by responses.
//!
//! It must be given a model that its own catalogue knows; such a model is offered one tool without a schema, `exec`,
//! which takes JavaScript. In the mode `read-only` every patch is asked about.

use serde_json::{Value, json};

use super::{Agent, write};

/// Codex.
pub const CODEX: Agent = Agent {
    name: "codex",
    args: &[],
    settings: |home, url| {
        let config = format!(
            r#"model = "gpt-5.6-sol"
model_provider = "scripted"
approval_policy = "on-request"
check_for_update_on_startup = false
web_search = "disabled"

[model_providers.scripted]
name = "Scripted"
base_url = "{url}/v1"
wire_api = "responses"
env_key = "SCRIPTED_API_KEY"
requires_openai_auth = false
request_max_retries = 1
stream_max_retries = 1
supports_websockets = false

[analytics]
enabled = false

[feedback]
enabled = false

[features]
apps = false
plugins = false
remote_models = false
"#
        );
        write(&home.join(".codex/config.toml"), &config)?;
        Ok(vec![
            ("CODEX_HOME", home.join(".codex").to_string_lossy().into_owned()),
            ("INITIAL_AGENT_MODE", "read-only".into()),
            ("SCRIPTED_API_KEY", "made-up".into()),
            ("NO_BROWSER", "1".into()),
        ])
    },
    change: |file, from, to| {
        let file = file.display();
        let patch = format!("*** Begin Patch\n*** Update File: {file}\n@@\n-{from}\n+{to}\n*** End Patch\n");
        // A text in JSON is one in JavaScript too.
        vec![("exec", Value::String(format!("text(await tools.apply_patch({}));\n", json!(patch))))]
    },
    run: |line| {
        // It goes on without the command where that takes longer; a call may wait at most that long.
        let call = json!({"cmd": line, "yield_time_ms": 30_000});
        let script = format!("const done = await tools.exec_command({call});\n");
        ("exec", Value::String(script + "text(done.output + 'exit ' + done.exit_code);\n"))
    },
};
