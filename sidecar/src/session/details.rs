//! What a permission request would do, in words and diffs, so that a person has something to judge.
//!
//! Owns the reading of a tool call's fields, above all of raw inputs whose shape no protocol fixes. It never shows
//! what another call said: it is given one card. Everything it returns as text is escaped for display; diffs are not.
//! Pure; called by the question part of the session room.

use serde_json::{Map, Value};

use crate::model::*;

use super::bounds;
use super::display;
use super::entry::ToolCall;
use super::transcript::shown;

/// A title longer than this many characters is cut, and stands in the body in full.
const TITLE: usize = 200;

/// The line that stands where an agent tells nothing about an edit.
pub(super) const NOT_PROVIDED: &str = "details not provided";

const PATHS: [&str; 7] =
    ["path", "file_path", "filePath", "absolute_path", "abs_path", "filename", "filepath"];
const PAIRS: [(&str, &str); 4] = [
    ("old_string", "new_string"),
    ("oldString", "newString"),
    ("old_str", "new_str"),
    ("old_text", "new_text"),
];
const WHOLE: [&str; 2] = ["content", "text"];
const PATCHES: [&str; 2] = ["diff", "patch"];
/// Objects that some agents wrap the real input in.
const WRAPPERS: [&str; 3] = ["arguments", "input", "args"];

/// What is shown of a request.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Details {
    /// One line.
    pub(super) title: String,
    /// More lines.
    pub(super) body: Vec<String>,
    /// Proposed changes, from the content, else from the raw input.
    pub(super) diffs: Vec<Diff>,
    /// The command that it would run, where it says so.
    pub(super) command: Option<Shown>,
}

/// Reads a card. `raw` is the raw input as the request brought it, before any limit on what is kept.
pub(super) fn describe(card: &ToolCall, raw: Option<&str>) -> Details {
    let input = raw.or(card.raw_input.as_deref()).and_then(|raw| serde_json::from_str(raw).ok());
    let input = input.as_ref().and_then(Value::as_object);
    let layers: Vec<&Map<String, Value>> = input
        .into_iter()
        .flat_map(|top| {
            std::iter::once(top).chain(WRAPPERS.iter().filter_map(|key| top.get(*key)?.as_object()))
        })
        .collect();
    let kind = card.kind.as_deref().unwrap_or("");

    let mut diffs: Vec<Diff> = card
        .content
        .iter()
        .filter_map(|piece| match piece {
            ToolContent::Diff(diff) => Some(diff.clone()),
            _ => None,
        })
        .collect();
    if diffs.is_empty() {
        diffs = layers
            .iter()
            .map(|layer| derived(layer, kind))
            .find(|found| !found.is_empty())
            .unwrap_or_default();
    }

    let (title, mut body) = title(card);
    let mut facts = false;
    let command = layers.iter().find_map(|layer| command(layer));
    if let Some(command) = &command {
        push_block(&mut body, "$ ", &command.line);
        facts = true;
    }
    if diffs.is_empty() {
        let named = layers.iter().find_map(|layer| path(layer)).map(|path| vec![path.to_owned()]);
        for path in named.unwrap_or_else(|| card.locations.iter().map(|l| l.path.clone()).collect()) {
            body.push(format!("path: {}", display::one_line(&path)));
            facts |= !edits(kind);
        }
    }
    if let Some(text) = layers.iter().find_map(|layer| word(layer, "description")) {
        push_block(&mut body, "", text);
        facts |= !edits(kind);
    }
    let mut texts = tool_texts(card);
    if diffs.is_empty() {
        texts.extend(
            layers
                .iter()
                .find_map(|layer| PATCHES.iter().find_map(|key| word(layer, key)))
                .map(str::to_owned),
        );
    }
    for text in texts {
        facts |= !text.trim().is_empty();
        push_block(&mut body, "", &bounds::cut(&text, bounds::QUESTION_TEXT).unwrap_or(text));
    }
    if !facts && diffs.is_empty() {
        body.push(NOT_PROVIDED.to_owned());
    }
    Details { title, body, diffs, command }
}

/// Kinds that change files, or may: a path alone says nothing about the change.
fn edits(kind: &str) -> bool {
    matches!(kind, "edit" | "" | "other") || !is_known(kind)
}

fn is_known(kind: &str) -> bool {
    matches!(
        kind,
        "read"
            | "edit"
            | "delete"
            | "move"
            | "search"
            | "execute"
            | "think"
            | "fetch"
            | "switch_mode"
            | "other"
    )
}

fn title(card: &ToolCall) -> (String, Vec<String>) {
    let given = card.title.as_deref().filter(|title| !title.trim().is_empty());
    let given = given.or(card.kind.as_deref().filter(|kind| !kind.is_empty()));
    let full = display::one_line(given.unwrap_or("permission"));
    match display::shorten(&full, TITLE) {
        (short, true) => (short, vec![full]),
        (short, false) => (short, Vec::new()),
    }
}

fn tool_texts(card: &ToolCall) -> Vec<String> {
    card.content
        .iter()
        .filter_map(|piece| match piece {
            ToolContent::Block(content) => Some(shown(content).0),
            ToolContent::Other { kind, .. } => Some(format!("[{kind}]")),
            ToolContent::Diff(_) | ToolContent::Terminal(_) => None,
        })
        .filter(|text| !text.is_empty())
        .collect()
}

/// Further lines of a block are indented as far as its first line's mark, so that they cannot pass for other fields.
fn push_block(body: &mut Vec<String>, mark: &str, text: &str) {
    for (n, line) in display::lines(text).into_iter().enumerate() {
        body.push(format!("{}{line}", if n == 0 { mark.to_owned() } else { " ".repeat(mark.len()) }));
    }
}

fn word<'a>(layer: &'a Map<String, Value>, key: &str) -> Option<&'a str> {
    layer.get(key)?.as_str().filter(|text| !text.trim().is_empty())
}

fn path(layer: &Map<String, Value>) -> Option<&str> {
    PATHS.iter().find_map(|key| word(layer, key))
}

/// A command as a question shows it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Shown {
    /// All of it.
    pub(super) line: String,
    /// The line that a shell runs, where it is no more than that.
    pub(super) inner: Option<String>,
}

fn command(layer: &Map<String, Value>) -> Option<Shown> {
    ["command", "cmd"].iter().find_map(|key| match layer.get(*key)? {
        Value::String(line) if !line.trim().is_empty() => {
            let args =
                layer.get("args").and_then(Value::as_array).map(|args| words(args)).unwrap_or_default();
            let args: Vec<&str> = args.iter().map(String::as_str).collect();
            let inner = shell_line(line, &args).map(str::to_owned);
            let line = if args.is_empty() { line.clone() } else { format!("{line} {}", quoted(args)) };
            Some(Shown { line, inner })
        }
        Value::Array(parts) if !parts.is_empty() => {
            let parts = words(parts);
            let parts: Vec<&str> = parts.iter().map(String::as_str).collect();
            let inner = shell_line(parts[0], &parts[1..]).map(str::to_owned);
            Some(Shown { line: quoted(parts), inner })
        }
        _ => None,
    })
}

fn words(parts: &[Value]) -> Vec<String> {
    parts.iter().map(|part| part.as_str().map_or_else(|| part.to_string(), str::to_owned)).collect()
}

/// Changes that a raw input describes. Whole texts count only where the kind may write; a pair of old and new always.
fn derived(layer: &Map<String, Value>, kind: &str) -> Vec<Diff> {
    if let Some(edits) = layer.get("edits").and_then(Value::as_array) {
        let own = path(layer);
        return edits
            .iter()
            .filter_map(Value::as_object)
            .filter_map(|edit| pair(edit, path(edit).or(own)?))
            .collect();
    }
    let Some(path) = path(layer) else { return Vec::new() };
    if let Some(diff) = pair(layer, path) {
        return vec![diff];
    }
    let writes = matches!(kind, "edit" | "delete" | "move" | "other" | "") || !is_known(kind);
    if !writes || command(layer).is_some() {
        return Vec::new();
    }
    let whole = WHOLE.iter().find_map(|key| layer.get(*key)?.as_str());
    whole.map(|new| Diff { path: path.to_owned(), old: None, new: new.to_owned() }).into_iter().collect()
}

fn pair(layer: &Map<String, Value>, path: &str) -> Option<Diff> {
    PAIRS.iter().find_map(|(old, new)| {
        let new = layer.get(*new)?.as_str()?;
        let old = layer.get(*old).and_then(Value::as_str);
        Some(Diff { path: path.to_owned(), old: old.map(str::to_owned), new: new.to_owned() })
    })
}
