//! Claude (npm package `@agentclientprotocol/claude-agent-acp`): writes the disk itself, by Anthropic's messages.

use serde_json::json;

use super::{Agent, write};

/// Claude.
pub const CLAUDE: Agent = Agent {
    name: "claude",
    args: &[],
    settings: |home, url| {
        let folder = home.join(".claude");
        let approved = json!({"approved": ["made-up"], "rejected": []});
        let person = json!({"hasCompletedOnboarding": true, "customApiKeyResponses": approved});
        write(&folder.join(".claude.json"), &person.to_string())?;
        Ok(vec![
            ("CLAUDE_CONFIG_DIR", folder.to_string_lossy().into_owned()),
            ("ANTHROPIC_BASE_URL", url.into()),
            ("ANTHROPIC_API_KEY", "made-up".into()),
            ("ANTHROPIC_MODEL", "claude-sonnet-4-5".into()),
            ("ANTHROPIC_SMALL_FAST_MODEL", "claude-haiku-4-5".into()),
            ("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1".into()),
            ("DISABLE_AUTOUPDATER", "1".into()),
            ("DISABLE_ERROR_REPORTING", "1".into()),
            ("DISABLE_TELEMETRY", "1".into()),
        ])
    },
    change: |file, from, to| {
        vec![
            ("Read", json!({"file_path": file})),
            ("Edit", json!({"file_path": file, "old_string": from, "new_string": to})),
        ]
    },
    run: |line| ("Bash", json!({"command": line, "description": "Run it"})),
};
