//! One transcript entry to lines.
//!
//! Owns how each kind of entry looks. Pure functions; nothing here knows what is on the screen. Markdown stays Markdown,
//! so that the buf as a whole can be copied out as a document. Text of agents is escaped so that it cannot hide.

use crate::model::*;
use crate::session::display;
#[cfg(test)]
use crate::session::entry::Entry;
use crate::session::entry::{Body, QuestionEntry, StopReason, ToolCall, UNFINISHED};

use super::markdown::{self, Fence};

mod diff;
mod tool;

/// Highlight groups of the marks, linked to ordinary ones by the plugin.
pub const GROUPS: &[&str] = &[
    "BosunUser",
    "BosunMeta",
    "BosunThought",
    "BosunToolPending",
    "BosunToolRunning",
    "BosunToolDone",
    "BosunToolFailed",
    "BosunToolCancelled",
    "BosunPlanDone",
    "BosunPlanActive",
    "BosunQuestion",
    "BosunOption",
    "BosunNoticeInfo",
    "BosunNoticeWarn",
    "BosunNoticeError",
    "BosunHeading",
    "BosunCode",
    "BosunCodeFence",
    "BosunBold",
    "BosunBullet",
    "BosunLink",
    "BosunQuote",
    "BosunDiffAdd",
    "BosunDiffDelete",
];

/// Characters of a one-line form.
const ONE_LINE: usize = 200;
/// Characters of a folded thought.
const THOUGHT: usize = 48;

/// Bytes `[col, end)` of a line that stand out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    /// Byte column.
    pub col: usize,
    /// Byte column, exclusive.
    pub end: usize,
    /// One of [`GROUPS`].
    pub group: &'static str,
}

/// A line with its marks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Line {
    /// Without line ends.
    pub text: String,
    /// In any order.
    pub spans: Vec<Span>,
}

impl Line {
    /// A line that stands out as a whole.
    pub fn of(text: impl Into<String>, group: &'static str) -> Self {
        let text = text.into();
        let spans = vec![Span { col: 0, end: text.len(), group }];
        Self { text, spans: if spans[0].end == 0 { Vec::new() } else { spans } }
    }
}

/// Whether an empty line stands between two entries.
pub fn stands_apart(before: &Body, entry: &Body) -> bool {
    !matches!((before, entry), (Body::Tool(_), Body::Tool(_)))
}

/// A line of an agent's text: as it is, but for characters that cannot be seen or would change what is seen.
pub fn text_line(raw: &str, fence: &mut Option<Fence>) -> Line {
    let text = if raw.bytes().all(|b| (0x20..0x7F).contains(&b) || b == b'\t') {
        raw.to_owned()
    } else {
        let mut lines = display::lines(raw);
        if lines.len() == 1 { lines.swap_remove(0) } else { lines.join(" ") }
    };
    let spans = markdown::spans(&text, fence);
    Line { text, spans }
}

/// The lines of an entry. A message is not rendered here but line by line, because it grows.
pub fn body(body: &Body, expanded: bool) -> Vec<Line> {
    match body {
        Body::User { text, context } => user(text, context),
        Body::Message { .. } => Vec::new(),
        Body::Thought { text, open, .. } => thought(text, *open, expanded),
        Body::Tool(call) => tool::lines(call, expanded),
        Body::Plan { body, .. } => plan(body),
        Body::Question(question) => self::question(question),
        Body::Notice { level, text } => notice(level, text),
        Body::Note { kind, text, .. } => {
            let mut lines: Vec<Line> =
                display::lines(text).into_iter().map(|l| Line::of(l, "BosunMeta")).collect();
            if let Some(first) = lines.first_mut() {
                *first = Line::of(format!("· {kind}: {}", first.text), "BosunMeta");
            }
            lines
        }
        Body::Unknown { kind, .. } => {
            vec![Line::of(format!("· update {} (not understood)", display::one_line(kind)), "BosunMeta")]
        }
        Body::TurnEnd { reason, detail, usage } => turn_end(reason, detail, usage.as_deref()),
    }
}

fn user(text: &str, context: &[String]) -> Vec<Line> {
    let mut lines = vec![Line::of("## You", "BosunUser"), Line::default()];
    let mut fence = None;
    lines.extend(display::lines(text).iter().map(|line| text_line(line, &mut fence)));
    lines.extend(context.iter().map(|name| Line::of(format!("@ {}", display::one_line(name)), "BosunMeta")));
    lines
}

fn thought(text: &str, open: bool, expanded: bool) -> Vec<Line> {
    let text = text.trim();
    if text.is_empty() {
        return Vec::new();
    }
    let count = text.bytes().filter(|b| *b == b'\n').count() + 1;
    let noun = if count == 1 { "line" } else { "lines" };
    let head = if open { "thinking" } else { "thought" };
    if !expanded {
        let last = text.rsplit('\n').find(|line| !line.trim().is_empty()).unwrap_or_default();
        // Only the end is looked at: a thought may be large and this happens once a frame.
        let tail: String = last.chars().take(THOUGHT * 4).collect();
        let (tail, _) = display::shorten(&display::one_line(&tail), THOUGHT);
        return vec![Line::of(format!("▸ {head} ({count} {noun}): {tail}"), "BosunThought")];
    }
    let mut lines = vec![Line::of(format!("▾ {head} ({count} {noun})"), "BosunThought")];
    lines.extend(display::lines(text).into_iter().map(|line| Line::of(format!("│ {line}"), "BosunThought")));
    lines
}

fn plan(body: &PlanBody) -> Vec<Line> {
    match body {
        PlanBody::Items(items) if items.is_empty() => Vec::new(),
        PlanBody::Items(items) => {
            let mut lines = vec![Line::of("Plan", "BosunHeading")];
            lines.extend(items.iter().map(|item| {
                let (mark, group) = match item.status.as_str() {
                    "completed" => ("x", Some("BosunPlanDone")),
                    "in_progress" => ("~", Some("BosunPlanActive")),
                    _ => (" ", None),
                };
                let text = format!("- [{mark}] {}", display::one_line(&item.content));
                group.map_or_else(
                    || Line { text: text.clone(), spans: Vec::new() },
                    |g| Line::of(text.clone(), g),
                )
            }));
            lines
        }
        PlanBody::Markdown(text) => {
            let mut fence = None;
            let mut lines = vec![Line::of("Plan", "BosunHeading")];
            lines.extend(display::lines(text).iter().map(|line| text_line(line, &mut fence)));
            lines
        }
        PlanBody::Other(_) => vec![Line::of("· a plan of an unknown kind", "BosunMeta")],
    }
}

fn question(q: &QuestionEntry) -> Vec<Line> {
    if let Some(outcome) = &q.outcome {
        let mark = if outcome.starts_with("allowed") { "✓" } else { "✗" };
        return vec![Line::of(format!("{mark} {} — {outcome}", q.title), "BosunMeta")];
    }
    let mut lines = vec![Line::of(format!("? {}", q.title), "BosunQuestion")];
    lines.extend(q.body.iter().map(|line| Line { text: format!("  {line}"), spans: Vec::new() }));
    for diff in &q.diffs {
        lines.extend(diff::preview(diff));
    }
    for (index, option) in q.options.iter().enumerate() {
        lines.push(Line::of(format!("  {} {}", index + 1, option.name), "BosunOption"));
    }
    let hint = if q.diffs.is_empty() {
        "  <CR> on an option answers"
    } else {
        "  <CR> on an option answers · gd shows the diff"
    };
    lines.push(Line::of(hint, "BosunMeta"));
    lines
}

fn notice(level: &str, text: &str) -> Vec<Line> {
    let group = match level {
        "error" => "BosunNoticeError",
        "warn" => "BosunNoticeWarn",
        _ => "BosunNoticeInfo",
    };
    display::lines(text).into_iter().map(|line| Line::of(format!("! {line}"), group)).collect()
}

fn turn_end(reason: &StopReason, detail: &[String], usage: Option<&str>) -> Vec<Line> {
    let (words, group) = match reason {
        StopReason::EndTurn => ("end of turn".to_owned(), "BosunMeta"),
        StopReason::MaxTokens => ("stopped: the token limit was reached".to_owned(), "BosunNoticeWarn"),
        StopReason::MaxTurnRequests => {
            ("stopped: the limit of model requests was reached".to_owned(), "BosunNoticeWarn")
        }
        StopReason::Refusal => {
            ("refused: the agent will not remember this exchange".to_owned(), "BosunNoticeWarn")
        }
        StopReason::Cancelled => ("cancelled".to_owned(), "BosunNoticeWarn"),
        StopReason::Other(word) => (format!("stopped: {}", display::one_line(word)), "BosunNoticeWarn"),
        StopReason::Error(error) => {
            (format!("error {}: {}", error.code, display::one_line(&error.message)), "BosunNoticeError")
        }
        StopReason::AgentExit(exit) => (ended(exit), "BosunNoticeError"),
    };
    let words = match usage {
        Some(usage) => format!("— {words} · {usage} —"),
        None => format!("— {words} —"),
    };
    let mut lines = vec![Line::of(words, group)];
    lines.extend(
        detail.iter().flat_map(|text| display::lines(text)).map(|l| Line::of(format!("  {l}"), "BosunMeta")),
    );
    lines
}

fn ended(exit: &Exit) -> String {
    match (exit.code, exit.signal) {
        (Some(code), _) => format!("the agent ended with exit code {code}"),
        (None, Some(signal)) => format!("the agent was ended by signal {signal}"),
        (None, None) => "the agent ended".to_owned(),
    }
}

/// Cut for one line, escaped.
fn short(text: &str) -> String {
    // Escaping only what can be shown keeps the cost of a huge title down.
    let start: String = text.chars().take(ONE_LINE * 4).collect();
    display::shorten(&display::one_line(&start), ONE_LINE).0
}

/// An entry's unfinished status is shown as ended; a helper for `tool`.
fn unfinished(call: &ToolCall) -> bool {
    matches!(&call.status, Some(ToolStatus::Other(word)) if word == UNFINISHED)
}

/// The whole of a transcript as one document, for tests.
#[cfg(test)]
pub fn document(entries: &[Entry]) -> String {
    let mut out: Vec<String> = Vec::new();
    for (index, entry) in entries.iter().enumerate() {
        let mut lines: Vec<Line> = match &entry.body {
            Body::Message { text, .. } => {
                let mut fence = None;
                let text = text.trim_end_matches(['\n', '\r']);
                let each = text.split('\n').map(|l| text_line(l.trim_end_matches('\r'), &mut fence));
                if text.is_empty() { Vec::new() } else { each.collect() }
            }
            other => body(other, false),
        };
        if index > 0 && !lines.is_empty() && stands_apart(&entries[index - 1].body, &entry.body) {
            lines.insert(0, Line::default());
        }
        out.extend(lines.into_iter().map(|line| line.text));
    }
    out.join("\n")
}
