//! A tool call: one line while folded, its input, content and output when unfolded.
//!
//! Owns how a card looks. What is too large to be read is cut, and says so.

use crate::model::*;
use crate::session::display;
use crate::session::entry::ToolCall;

use super::{Line, diff, short, unfinished};

/// Lines of input, content or output that are shown.
const LINES: usize = 200;
/// Bytes of such a line.
const LINE_BYTES: usize = 2000;

/// The lines of a card.
pub fn lines(call: &ToolCall, expanded: bool) -> Vec<Line> {
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
        details(call, &mut out);
    }
    out
}

fn details(call: &ToolCall, out: &mut Vec<Line>) {
    if let Some(input) = &call.raw_input {
        fenced("json", &pretty(input), out);
    }
    for content in &call.content {
        match content {
            ToolContent::Block(Content::Text(text)) => fenced("", text, out),
            ToolContent::Block(Content::Resource { text, .. }) => fenced("", text, out),
            ToolContent::Block(Content::Link { uri, name }) => {
                out.push(Line::of(format!("  {} ({})", short(name), short(uri)), "BosunLink"));
            }
            ToolContent::Block(Content::Other { kind, .. }) | ToolContent::Other { kind, .. } => {
                out.push(Line::of(format!("  [{}]", short(kind)), "BosunMeta"));
            }
            ToolContent::Diff(change) => out.extend(diff::whole(change)),
            ToolContent::Terminal(id) => {
                out.push(Line::of(format!("  [terminal {}]", short(id)), "BosunMeta"))
            }
        }
    }
    if let Some(output) = &call.raw_output {
        fenced("json", &pretty(output), out);
    }
    for place in &call.locations {
        let line = place.line.map_or_else(String::new, |line| format!(":{line}"));
        out.push(Line::of(format!("  {}{line}", short(&place.path)), "BosunMeta"));
    }
}

fn pretty(raw: &str) -> String {
    let value = serde_json::from_str::<serde_json::Value>(raw).ok();
    value.and_then(|value| serde_json::to_string_pretty(&value).ok()).unwrap_or_else(|| raw.to_owned())
}

/// A block whose fence is longer than any run of backticks in it.
fn fenced(language: &str, text: &str, out: &mut Vec<Line>) {
    if text.trim().is_empty() {
        return;
    }
    let mut longest = 0;
    let mut run = 0;
    for b in text.bytes() {
        run = if b == b'`' { run + 1 } else { 0 };
        longest = longest.max(run);
    }
    let fence = "`".repeat(longest.max(2) + 1);
    out.push(Line::of(format!("{fence}{language}"), "BosunCodeFence"));
    let mut lines = text.trim_end_matches('\n').split('\n');
    for line in lines.by_ref().take(LINES) {
        let end = line.floor_char_boundary(LINE_BYTES);
        let mut shown = display::lines(&line[..end]).join(" ");
        if end < line.len() {
            shown.push_str(&format!("… ({} more bytes)", line.len() - end));
        }
        out.push(Line::of(shown, "BosunCode"));
    }
    let rest = lines.count();
    out.push(Line::of(fence, "BosunCodeFence"));
    if rest > 0 {
        out.push(Line::of(format!("  … {rest} more lines"), "BosunMeta"));
    }
}
