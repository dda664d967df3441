//! How the demo agent edits a file: read what is on the screen, ask, write, report.
//!
//! Owns the change of a text and the story told about it. The text comes from the host and goes back to the host.

use std::path::Path;

use serde_json::{Value, json};

use super::turn::{Told, Turn};
use super::words::Change;

/// A changed text and where it was changed.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Changed {
    pub(crate) text: String,
    /// How many places.
    pub(crate) places: usize,
    /// One-based lines of the old text (of the new one for an appended line), ascending, each once.
    pub(crate) lines: Vec<usize>,
}

/// Applies a change; nothing if there is nothing to change.
pub(crate) fn apply(change: &Change, old: &str) -> Option<Changed> {
    match change {
        Change::Replace { from, to } => {
            let mut lines: Vec<usize> = Vec::new();
            let mut places = 0;
            let (mut line, mut seen) = (1, 0);
            for (at, _) in old.match_indices(from) {
                line += old[seen..at].matches('\n').count();
                seen = at;
                places += 1;
                if lines.last() != Some(&line) {
                    lines.push(line);
                }
            }
            (places > 0 && from != to).then(|| Changed { text: old.replace(from, to), places, lines })
        }
        Change::Append { text } => {
            let newline = if old.is_empty() || old.ends_with('\n') { "" } else { "\n" };
            let new = format!("{old}{newline}{text}\n");
            let first = new.lines().count() + 1 - text.lines().count().max(1);
            Some(Changed { text: new, places: 1, lines: vec![first] })
        }
    }
}

/// "1 place", "2 places".
fn count(n: usize, one: &str) -> String {
    if n == 1 { format!("1 {one}") } else { format!("{n} {one}s") }
}

/// "line 5", "lines 5, 7 and 3 more".
fn places(lines: &[usize]) -> String {
    let shown = lines.iter().take(5).map(ToString::to_string).collect::<Vec<_>>().join(", ");
    let more = lines.len().saturating_sub(5);
    let noun = if lines.len() == 1 { "line" } else { "lines" };
    if more == 0 { format!("{noun} {shown}") } else { format!("{noun} {shown} and {more} more") }
}

/// What the person is told that will be done.
fn intent(change: &Change, name: &str) -> String {
    match change {
        Change::Replace { from, to } => format!("I will replace `{from}` with `{to}` in `{name}`."),
        Change::Append { .. } => format!("I will append a line to `{name}`."),
    }
}

/// What was read: how long it is, and the first line that matters.
fn sight(change: &Change, text: &str, found: Option<&Changed>) -> String {
    let total = count(text.lines().count(), "line");
    let line = match change {
        Change::Replace { .. } => found.and_then(|f| f.lines.first().copied()),
        Change::Append { .. } => None,
    };
    match line.and_then(|n| text.lines().nth(n - 1).map(|line| (n, line))) {
        Some((n, line)) => format!("{total}; line {n} is: {line}"),
        None => total,
    }
}

fn text_content(text: &str) -> Value {
    json!([{"type": "content", "content": {"type": "text", "text": text}}])
}

const STEPS: [&str; 3] = ["Read the file as it is on the screen", "Ask, then change it", "Report"];

impl Turn {
    /// The whole story of an edit.
    pub(super) fn edit(&mut self, change: &Change, file: &str) -> Told {
        let path = self.cwd.join(file).to_string_lossy().into_owned();
        let name = Path::new(&path).strip_prefix(&self.cwd).map_or(path.clone(), |p| p.display().to_string());
        self.think(&format!("The file to look at is {name}. First I read it, then I ask."))?;
        self.say(&format!("{} First I read what is on the screen.\n\n", intent(change, &name)))?;
        self.plan(&STEPS, 0)?;

        let Some(old) = self.read(change, &path, &name)? else { return Ok(()) };
        let Some(new) = apply(change, &old) else { return self.nothing_to_do(change, &name) };

        self.plan(&STEPS, 1)?;
        let tool = json!({
            "toolCallId": self.tool("edit"),
            "title": format!("Edit {name}"),
            "kind": "edit",
            "status": "pending",
            "locations": [{"path": path, "line": new.lines.first()}],
            "content": [{"type": "diff", "path": path, "oldText": old, "newText": new.text}],
        });
        self.update("tool_call", tool.clone());
        if !self.ask(tool)? {
            return Ok(());
        }
        self.edit_status("in_progress", None);
        match self.call("fs/write_text_file", json!({"path": path, "content": new.text}))? {
            Ok(_) => self.edit_status("completed", None),
            Err(why) => {
                self.edit_status("failed", Some(&why));
                return self.say(&format!("The write did not go through: {why}"));
            }
        }
        self.plan(&STEPS, 2)?;
        let what = match change {
            Change::Replace { .. } => format!("Replaced {}", count(new.places, "place")),
            Change::Append { .. } => "Appended".to_string(),
        };
        self.say(&format!("{what} in `{name}`: {}.", places(&new.lines)))?;
        self.plan(&STEPS, 3)
    }

    pub(super) fn tool(&self, what: &str) -> String {
        format!("{what}-{}", self.number())
    }

    fn edit_status(&mut self, status: &str, why: Option<&str>) {
        let mut fields = json!({"toolCallId": self.tool("edit"), "status": status});
        if let Some(why) = why {
            fields["content"] = text_content(why);
        }
        self.update("tool_call_update", fields);
    }

    /// Reads through the host, as one tool call; tells the person when it cannot.
    fn read(&mut self, change: &Change, path: &str, name: &str) -> Told<Option<String>> {
        let id = self.tool("read");
        self.update(
            "tool_call",
            json!({"toolCallId": id, "title": format!("Read {name}"), "kind": "read",
                   "status": "in_progress", "locations": [{"path": path}]}),
        );
        let answer = self.call("fs/read_text_file", json!({"path": path}))?;
        let answer = answer.and_then(|result| match result["content"].as_str() {
            Some(text) => Ok(text.to_string()),
            None => Err("the host's answer holds no text".to_string()),
        });
        let (status, seen) = match &answer {
            Ok(text) => ("completed", sight(change, text, apply(change, text).as_ref())),
            Err(why) => ("failed", why.clone()),
        };
        self.update(
            "tool_call_update",
            json!({"toolCallId": id, "status": status, "content": text_content(&seen)}),
        );
        match answer {
            Ok(text) => Ok(Some(text)),
            Err(why) => {
                self.say(&format!("I could not read `{name}`, so nothing was changed: {why}"))?;
                Ok(None)
            }
        }
    }

    fn nothing_to_do(&mut self, change: &Change, name: &str) -> Told {
        self.plan(&[STEPS[0], STEPS[2]], 1)?;
        let why = match change {
            Change::Replace { from, to } if from == to => format!("`{from}` is already `{to}`"),
            Change::Replace { from, .. } => format!("`{from}` does not occur in `{name}`"),
            Change::Append { .. } => "there is nothing to append".to_string(),
        };
        self.say(&format!("Nothing was changed: {why}."))?;
        self.plan(&[STEPS[0], STEPS[2]], 2)
    }

    /// May it? Tells the person what came of a no.
    fn ask(&mut self, tool: Value) -> Told<bool> {
        let options = json!([
            {"optionId": "allow", "name": "Allow", "kind": "allow_once"},
            {"optionId": "reject", "name": "Reject", "kind": "reject_once"},
        ]);
        let answer =
            self.call("session/request_permission", json!({"toolCall": tool, "options": options}))?;
        let why = match &answer {
            Ok(result) if result["outcome"]["optionId"] == "allow" => return Ok(true),
            Ok(result) if result["outcome"]["outcome"] == "selected" => "you rejected the change".to_string(),
            Ok(_) => "the question was closed without an answer".to_string(),
            Err(why) => format!("I could not ask: {why}"),
        };
        self.edit_status("failed", Some(&why));
        self.say(&format!("Nothing was changed: {why}."))?;
        Ok(false)
    }
}
