//! A tool call: one line while folded, its input, content and output when unfolded.
//!
//! Owns how a card looks. What is too large to be read is cut, and says so.

use crate::model::*;
use crate::session::display;
use crate::session::entry::ToolCall;

use super::{Cache, Line, escape, short, unfinished};

/// Lines of input, content or output that are shown.
const LINES: usize = 200;
/// Bytes of such a line.
const LINE_BYTES: usize = 2000;
/// Bytes of all these lines together.
const BYTES: usize = 32 * 1024;
/// Bytes of a card after which no further piece of it is begun.
const CARD_BYTES: usize = 96 * 1024;
/// Raw JSON that is longer is shown as it came: laying it out would cost too much.
const PRETTY: usize = 512 * 1024;

/// The lines of a card.
pub fn lines(call: &ToolCall, expanded: bool, cache: &mut Cache) -> Vec<Line> {
    let (icon, group) = match &call.status {
        None | Some(ToolStatus::Pending) => ("○", "BosunToolPending"),
        Some(ToolStatus::InProgress) => ("◐", "BosunToolRunning"),
        Some(ToolStatus::Completed) => ("✓", "BosunToolDone"),
        Some(ToolStatus::Failed) => ("✗", "BosunToolFailed"),
        Some(ToolStatus::Cancelled) => ("⊘", "BosunToolCancelled"),
        Some(ToolStatus::Other(_)) if unfinished(call) => ("·", "BosunToolDone"),
        Some(ToolStatus::Other(_)) => ("◐", "BosunToolRunning"),
    };
    let kind = call.kind.as_deref().map_or_else(|| "tool".to_owned(), short);
    let title = call.title.as_deref().filter(|title| !title.trim().is_empty()).map(short);
    let mut text = match &title {
        Some(title) if title.to_lowercase().starts_with(&kind.to_lowercase()) => format!("{icon} {title}"),
        Some(title) => format!("{icon} {kind} {title}"),
        None => format!("{icon} {kind}"),
    };
    if let Some(place) = call.locations.first() {
        let name = place.path.rsplit('/').next().unwrap_or_default();
        if !name.is_empty() && !text.contains(&short(name)) {
            text.push_str(&format!(" ({})", short(&place.path)));
        }
    }
    if let Some(ToolStatus::Other(word)) = &call.status {
        text.push_str(&format!(" [{}]", short(word)));
    }
    let mut out = vec![Line::of(text, group)];
    if expanded {
        details(call, cache, &mut out);
    }
    out
}

fn details(call: &ToolCall, cache: &mut Cache, out: &mut Vec<Line>) {
    if let Some(title) = call.title.as_deref()
        && short(title) != display::one_line(title)
    {
        fenced("", title, out);
    }
    if let Some(input) = &call.raw_input {
        labelled("input", input, out);
    }
    for (index, content) in call.content.iter().enumerate() {
        if out.iter().map(|line| line.text.len() + 1).sum::<usize>() > CARD_BYTES {
            let rest = call.content.len() - index;
            out.push(Line::of(format!("  … {rest} more pieces"), "BosunMeta"));
            break;
        }
        match content {
            ToolContent::Block(Content::Text(text)) => fenced("", text, out),
            ToolContent::Block(Content::Resource { uri, text, .. }) => {
                out.push(Line::of(format!("  {}", short(uri)), "BosunLink"));
                fenced("", text, out);
            }
            ToolContent::Block(Content::Link { uri, name }) => {
                out.push(Line::of(format!("  {} ({})", short(name), short(uri)), "BosunLink"));
            }
            ToolContent::Block(Content::Other { kind, .. }) | ToolContent::Other { kind, .. } => {
                out.push(Line::of(format!("  [{}]", short(kind)), "BosunMeta"));
            }
            ToolContent::Diff(change) => out.extend(cache.whole(change)),
            ToolContent::Terminal(id) => {
                out.push(Line::of(format!("  [terminal {}]", short(id)), "BosunMeta"))
            }
        }
    }
    if let Some(output) = &call.raw_output {
        labelled("output", output, out);
    }
    for place in call.locations.iter().take(LINES) {
        let line = place.line.map_or_else(String::new, |line| format!(":{line}"));
        out.push(Line::of(format!("  {}{line}", short(&place.path)), "BosunMeta"));
    }
}

fn labelled(label: &str, raw: &str, out: &mut Vec<Line>) {
    if matches!(raw.trim(), "" | "null" | "{}" | "\"\"") {
        return;
    }
    out.push(Line::of(format!("  {label}"), "BosunMeta"));
    match serde_json::from_str::<String>(raw) {
        Ok(text) => fenced("", &text, out),
        Err(_) => fenced("json", &pretty(raw), out),
    }
}

/// JSON laid out for reading; as it is when it is no JSON or too long.
pub fn pretty(raw: &str) -> String {
    let short = (raw.len() <= PRETTY).then_some(raw);
    let value = short.and_then(|raw| serde_json::from_str::<serde_json::Value>(raw).ok());
    value.and_then(|value| serde_json::to_string_pretty(&value).ok()).unwrap_or_else(|| raw.to_owned())
}

/// A fence that is longer than any run of backticks in these lines.
pub fn fence<'a>(lines: impl Iterator<Item = &'a str>) -> String {
    let runs = lines.flat_map(|line| line.split(|c| c != '`').map(str::len));
    "`".repeat(runs.max().unwrap_or(0).max(2) + 1)
}

/// A block of code. What is too much is cut, and the fence comes behind it all the same.
pub fn fenced(language: &str, text: &str, out: &mut Vec<Line>) {
    if text.trim().is_empty() {
        return;
    }
    let mut lines = text.trim_end_matches(['\n', '\r']).split('\n');
    let mut shown: Vec<String> = Vec::new();
    let mut bytes = 0;
    while shown.len() < LINES && bytes < BYTES {
        let Some(line) = lines.next() else { break };
        let line = line.strip_suffix('\r').unwrap_or(line);
        let end = line.floor_char_boundary(LINE_BYTES);
        let mut text = escape::text(&line[..end]).into_owned();
        if end < line.len() {
            text.push_str(&format!("… ({} more bytes)", line.len() - end));
        }
        bytes += text.len() + 1;
        shown.push(text);
    }
    let fence = fence(shown.iter().map(String::as_str));
    out.push(Line::of(format!("{fence}{language}"), "BosunCodeFence"));
    out.extend(shown.into_iter().map(|line| Line::of(line, "BosunCode")));
    out.push(Line::of(fence, "BosunCodeFence"));
    let rest = lines.count();
    if rest > 0 {
        out.push(Line::of(format!("  … {rest} more lines"), "BosunMeta"));
    }
}
