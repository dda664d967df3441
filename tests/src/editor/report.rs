//! What is printed when a test fails: messages, screen, events, logs, the wire.

use std::path::{Path, PathBuf};
use std::time::Duration;

use super::Editor;

/// Lines of each file that are printed; the end of a log is what matters.
const TAIL: usize = 80;

/// Longer lines are cut in the report.
const WIDTH: usize = 400;

impl Editor {
    /// Prints to stderr, which the test runner shows for failed tests only.
    pub(super) fn print_report(&self) {
        let soon = Duration::from_secs(1);
        let call = |method: &str, args| match self.rpc.call(method, args, soon) {
            Ok(value) => super::value::to_json(&value).to_string().replace("\\n", "\n"),
            Err(why) => why,
        };
        let output = nvim_rs::Value::Map(vec![("output".into(), true.into())]);
        part("mode", &call("nvim_get_mode", vec![]));
        part("screen", &self.screen());
        part("messages", &call("nvim_exec2", vec!["messages".into(), output]));
        let events = "return vim.inspect(_G.bosun_test and _G.bosun_test.events)";
        part("events", &call("nvim_exec_lua", vec![events.into(), nvim_rs::Value::Array(vec![])]));
        let processes = self.processes();
        let lines: Vec<String> = processes
            .iter()
            .map(|p| format!("{} (of {}) {}", p.pid, p.parent, p.command.join(" ")))
            .collect();
        part("processes", &lines.join("\n"));
        let mut files = Vec::new();
        for folder in [self.root.clone(), self.root.join("state")] {
            logs(&folder, &mut files);
        }
        files.sort();
        files.dedup();
        for file in files {
            let text = std::fs::read(&file).map(|bytes| tail(&String::from_utf8_lossy(&bytes)));
            let name = file.strip_prefix(self.home.path()).unwrap_or(&file).display().to_string();
            part(&name, &text.unwrap_or_else(|e| e.to_string()));
        }
    }
}

fn part(name: &str, text: &str) {
    eprintln!("---- {name}\n{}", text.trim_end());
}

fn tail(text: &str) -> String {
    let lines: Vec<&str> = text.lines().collect();
    let shown = lines[lines.len().saturating_sub(TAIL)..].iter();
    let cut = |line: &&str| {
        line.char_indices().nth(WIDTH).map_or((*line).into(), |(end, _)| format!("{}…", &line[..end]))
    };
    shown.map(cut).collect::<Vec<String>>().join("\n")
}

/// Logs and records in a folder, and in folders below that are of the state.
fn logs(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).into_iter().flatten().filter_map(Result::ok) {
        let path = entry.path();
        let is = |ending: &str| path.extension().is_some_and(|e| e == ending);
        if path.is_dir() && folder.components().any(|c| c.as_os_str() == "state") {
            logs(&path, found);
        } else if is("log") || is("jsonl") || is("ndjson") {
            found.push(path);
        }
    }
}
