//! OpenCode (npm package `opencode-ai`): writes the disk itself and asks the host to write as well, by chat completions.

use serde_json::json;

use super::{Agent, write};

/// OpenCode.
pub const OPENCODE: Agent = Agent {
    name: "opencode",
    args: &["acp"],
    settings: |home, url| {
        let limit = json!({"context": 128_000, "output": 8192});
        let model = json!({"name": "Scripted", "tool_call": true, "limit": limit});
        let provider = json!({
            "npm": "@ai-sdk/openai-compatible",
            "name": "Scripted",
            "options": {"baseURL": format!("{url}/v1"), "apiKey": "made-up"},
            "models": {"scripted": model},
        });
        let config = json!({
            "model": "scripted/scripted",
            "small_model": "scripted/scripted",
            "autoupdate": false,
            "share": "disabled",
            "permission": {"edit": "ask", "bash": "ask"},
            "enabled_providers": ["scripted"],
            "provider": {"scripted": provider},
        });
        let folder = home.join(".config/opencode");
        write(&folder.join("opencode.json"), &config.to_string())?;
        // It installs a package for the person's own plugins beside its settings, unless that seems to be done.
        let installed = json!({"packages": {"": {"dependencies": {"@opencode-ai/plugin": "*"}}}});
        write(&folder.join("package-lock.json"), &installed.to_string())?;
        std::fs::create_dir_all(folder.join("node_modules"))?;
        // Nothing is to be fetched: no release, no list of models, no language server, no plugin.
        let off = [
            "OPENCODE_DISABLE_AUTOUPDATE",
            "OPENCODE_DISABLE_MODELS_FETCH",
            "OPENCODE_DISABLE_LSP_DOWNLOAD",
            "OPENCODE_DISABLE_SHARE",
            "OPENCODE_DISABLE_DEFAULT_PLUGINS",
        ];
        Ok(off.map(|name| (name, "1".into())).to_vec())
    },
    change: |file, from, to| {
        vec![
            ("read", json!({"filePath": file})),
            ("edit", json!({"filePath": file, "oldString": from, "newString": to})),
        ]
    },
    run: |line| ("bash", json!({"command": line, "description": "Run it"})),
};
