//! How the demo agent runs a command: in a terminal of the host's, which the person sees.
//!
//! Owns the story told about it. The host asks the person; the demo does not ask a second time.

use serde_json::{Value, json};

use super::turn::{Stop, Told, Turn};

/// Lines of the output that are quoted.
const QUOTED: usize = 5;

impl Turn {
    /// The whole story of a command.
    pub(super) fn run(&mut self, line: &str) -> Told {
        self.say("I will run that in a terminal of your editor.\n\n")?;
        let tool = json!({
            "toolCallId": self.tool("run"),
            "title": format!("`{line}`"),
            "kind": "execute",
            "status": "in_progress",
            "rawInput": {"command": line},
        });
        self.update("tool_call", tool.clone());
        let terminal =
            match self.call("terminal/create", json!({"command": line, "outputByteLimit": 64 << 10}))? {
                Ok(made) => made["terminalId"].clone(),
                Err(why) => {
                    self.update(
                        "tool_call_update",
                        json!({"toolCallId": tool["toolCallId"], "status": "failed"}),
                    );
                    return self.say(&format!("It was not run: {why}."));
                }
            };
        let content = json!([{"type": "terminal", "terminalId": terminal}]);
        self.update("tool_call_update", json!({"toolCallId": tool["toolCallId"], "content": content}));
        let about = json!({"terminalId": terminal});
        let ended = match self.call("terminal/wait_for_exit", about.clone()) {
            Err(Stop::Cancelled) => {
                self.call_last("terminal/release", about);
                return Err(Stop::Cancelled);
            }
            ended => ended?.unwrap_or_default(),
        };
        let output = self.call("terminal/output", about.clone())?.unwrap_or_default();
        self.call("terminal/release", about)?.ok();
        let well = ended["exitCode"] == 0;
        let status = if well { "completed" } else { "failed" };
        self.update("tool_call_update", json!({"toolCallId": tool["toolCallId"], "status": status}));
        self.say(&report(&ended, output["output"].as_str().unwrap_or_default()))
    }
}

/// How it ended, and its last lines.
fn report(ended: &Value, output: &str) -> String {
    let how = match (ended["signal"].as_str(), ended["exitCode"].as_u64()) {
        (Some(signal), _) => format!("It was ended by {signal}."),
        (None, Some(0)) => "It ended well.".to_owned(),
        (None, Some(code)) => format!("It ended with code {code}."),
        (None, None) => "It ended.".to_owned(),
    };
    let lines: Vec<&str> = output.lines().collect();
    let last = lines[lines.len().saturating_sub(QUOTED)..].join("\n");
    if last.is_empty() { how } else { format!("{how} Its last lines:\n\n```\n{last}\n```\n") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_report_says_how_it_ended_and_quotes_the_last_lines() {
        assert_eq!(report(&json!({"exitCode": 0, "signal": null}), ""), "It ended well.");
        let text = report(&json!({"exitCode": 3}), "1\n2\n3\n4\n5\n6\n");
        assert_eq!(text, "It ended with code 3. Its last lines:\n\n```\n2\n3\n4\n5\n6\n```\n");
        assert!(report(&json!({"exitCode": 137, "signal": "SIGKILL"}), "").contains("SIGKILL"));
    }
}
