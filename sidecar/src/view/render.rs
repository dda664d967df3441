//! One transcript entry to lines.
//!
//! Owns how each kind of entry looks. Pure functions; nothing here knows what is on the screen. Markdown stays Markdown,
//! so that the buf as a whole can be copied out as a document. Text of agents is escaped so that it cannot hide. What is
//! rendered at once is bounded, so that it fits in a patch.

use crate::model::*;
use crate::session::display;
use crate::session::entry::{Body, QuestionEntry, StopReason, ToolCall, UNFINISHED};

use super::escape;
use super::growing::{Folded, Parts};
use super::markdown::{self, Fence};
pub use diff::Cache;

mod diff;
mod terminal;
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
/// Bytes that are read for a one-line form; most of them may be blanks that are shown as their number.
const ONE_LINE_READ: usize = 16 * 1024;
/// Characters of a plan's item.
const PLAN_ITEM: usize = 1000;
/// Names of things that went along with a prompt.
const CONTEXT: usize = 32;
/// Lines of an entry that is rendered at once.
const ENTRY_LINES: usize = 3000;
/// Bytes of it.
const ENTRY_BYTES: usize = 192 * 1024;
/// Bytes of one of its lines.
const LINE_BYTES: usize = 64 * 1024;
/// Diffs of a question that are shown in the transcript.
const PREVIEWS: usize = 8;

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

    /// The line with no more than that many bytes of its text, and a note about the rest.
    fn cut(mut self, bytes: usize) -> Self {
        if self.text.len() > bytes {
            let end = self.text.floor_char_boundary(bytes);
            let note = format!("… ({} more bytes)", self.text.len() - end);
            self.text.truncate(end);
            self.spans.retain(|span| span.col < end);
            self.spans.iter_mut().for_each(|span| span.end = span.end.min(end));
            self.text.push_str(&note);
        }
        self
    }

    /// The line behind a prefix that does not stand out.
    pub fn behind(mut self, prefix: &str) -> Self {
        self.text.insert_str(0, prefix);
        for span in &mut self.spans {
            span.col += prefix.len();
            span.end += prefix.len();
        }
        self
    }
}

/// Whether an empty line stands between two entries.
pub fn stands_apart(before: &Body, entry: &Body) -> bool {
    !matches!((before, entry), (Body::Tool(_), Body::Tool(_)))
}

/// How an entry is rendered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// At once, whenever it changes.
    Whole,
    /// From its last line on, see [`parts`].
    Growing,
    /// As one line about a growing text, see [`folded`].
    Folded,
}

/// How the entry is rendered.
pub fn shape(body: &Body, expanded: bool) -> Shape {
    match body {
        Body::User { .. } | Body::Message { .. } => Shape::Growing,
        Body::Thought { .. } if expanded => Shape::Growing,
        Body::Thought { .. } => Shape::Folded,
        _ => Shape::Whole,
    }
}

/// Bytes of a growing text.
pub fn size(body: &Body) -> usize {
    match body {
        Body::User { text, .. } | Body::Message { text, .. } | Body::Thought { text, .. } => text.len(),
        _ => 0,
    }
}

/// The question, if it waits.
pub fn question_id(body: &Body) -> Option<QuestionId> {
    match body {
        Body::Question(question) if question.outcome.is_none() => Some(question.id),
        _ => None,
    }
}

/// A line of running text, read as Markdown.
pub fn text_line(raw: &str, fence: &mut Option<Fence>) -> Line {
    let text = escape::text(raw).into_owned();
    let spans = markdown::spans(&text, fence);
    Line { text, spans }
}

/// A line of running text behind a prefix.
pub fn plain_line(prefix: &str, raw: &str, group: &'static str) -> Line {
    Line::of(format!("{prefix}{}", escape::text(raw)), group)
}

/// A growing text and what stands around it.
pub fn parts(body: &Body, gap: bool) -> Parts<'_> {
    match body {
        Body::User { text, context } => {
            let mut foot: Vec<Line> = context.iter().take(CONTEXT).map(|name| context_line(name)).collect();
            if context.len() > CONTEXT {
                foot.push(Line::of(format!("@ … {} more", context.len() - CONTEXT), "BosunMeta"));
            }
            let head = vec![Line::of("## You", "BosunUser"), Line::default()];
            Parts { gap, head, text, foot, ..Parts::default() }
        }
        Body::Message { text, .. } => Parts { gap, text, ..Parts::default() },
        Body::Thought { text, .. } => Parts {
            gap,
            // Without a count: a line that changes far above the end would be sent with each chunk.
            head: vec![Line::of("▾ thought", "BosunThought")],
            text,
            prefix: "│ ",
            group: Some("BosunThought"),
            foot: Vec::new(),
        },
        _ => Parts::default(),
    }
}

fn context_line(name: &str) -> Line {
    Line::of(format!("@ {}", short(name)), "BosunMeta")
}

/// The one line of a folded thought.
pub fn folded(body: &Body, state: &mut Folded) -> Option<Line> {
    let Body::Thought { text, open, .. } = body else { return None };
    let (count, last) = state.read(text)?;
    let noun = if count == 1 { "line" } else { "lines" };
    let head = if *open { "thinking" } else { "thought" };
    Some(Line::of(format!("▸ {head} ({count} {noun}): {last}"), "BosunThought"))
}

/// The lines of an entry that is rendered at once.
pub fn body(body: &Body, expanded: bool, cache: &mut Cache) -> Vec<Line> {
    let lines = match body {
        Body::User { .. } | Body::Message { .. } | Body::Thought { .. } => Vec::new(),
        Body::Tool(call) => tool::lines(call, expanded, cache),
        Body::Plan { body, .. } => plan(body),
        Body::Question(question) => self::question(question, cache),
        Body::Terminal(card) => terminal::lines(card),
        Body::Notice { level, text } => notice(level, text),
        Body::Note { kind, text, .. } => {
            let mut lines = indented(text);
            if let Some(first) = lines.first_mut() {
                *first = Line::of(format!("· {kind}: {}", first.text.trim_start()), "BosunMeta");
            }
            lines
        }
        Body::Unknown { kind, raw } => {
            let head = format!("· update {} (not understood)", short(kind));
            let mut lines = vec![Line::of(head, "BosunMeta")];
            if expanded {
                tool::fenced("json", &tool::pretty(raw), &mut lines);
            }
            lines
        }
        Body::TurnEnd { reason, detail, usage } => turn_end(reason, detail, usage.as_deref()),
    };
    bounded(lines, ENTRY_LINES, ENTRY_BYTES)
}

/// Holds lines to a number and a size, so that an entry that is sent in one piece fits in a patch.
fn bounded(lines: Vec<Line>, most: usize, bytes: usize) -> Vec<Line> {
    let mut kept = Vec::new();
    let mut left = bytes;
    let mut rest = lines.len();
    for line in lines.into_iter().take(most) {
        if left < line.text.len().min(LINE_BYTES) + 1 {
            break;
        }
        let line = line.cut(LINE_BYTES);
        left = left.saturating_sub(line.text.len() + 1);
        kept.push(line);
        rest -= 1;
    }
    if rest > 0 {
        kept.push(Line::of(format!("  … {rest} more lines"), "BosunMeta"));
    }
    kept
}

fn indented(text: &str) -> Vec<Line> {
    display::lines(text).into_iter().map(|line| Line::of(format!("  {line}"), "BosunMeta")).collect()
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
                let mut text = format!("- [{mark}] {}", short_to(&item.content, PLAN_ITEM));
                if !matches!(item.status.as_str(), "completed" | "in_progress" | "pending" | "") {
                    text.push_str(&format!(" ({})", short(&item.status)));
                }
                match group {
                    Some(group) => Line::of(text, group),
                    None => Line { text, spans: Vec::new() },
                }
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

fn question(q: &QuestionEntry, cache: &mut Cache) -> Vec<Line> {
    if let Some(outcome) = &q.outcome {
        let mark = if outcome.starts_with("allowed") { "✓" } else { "✗" };
        return vec![Line::of(format!("{mark} {} — {outcome}", q.title), "BosunMeta")];
    }
    let mut lines = vec![Line::of(format!("? {}", q.title), "BosunQuestion")];
    lines.extend(q.body.iter().map(|line| Line { text: format!("  {line}"), spans: Vec::new() }));
    for diff in q.diffs.iter().take(PREVIEWS) {
        lines.extend(cache.preview(diff));
    }
    if q.diffs.len() > PREVIEWS {
        let rest = q.diffs.len() - PREVIEWS;
        lines.push(Line::of(format!("  … {rest} more changes"), "BosunMeta"));
    }
    // The options are what the editor looks for from the end of the question: nothing may cut them off.
    let mut lines = bounded(lines, ENTRY_LINES / 2, ENTRY_BYTES / 2);
    for (index, option) in q.options.iter().enumerate() {
        lines.push(Line::of(format!("  {} {}", index + 1, option.name), "BosunOption"));
    }
    let hint = if q.diffs.is_empty() {
        "  <CR> or digit answers"
    } else {
        "  <CR> or digit answers · gd shows the diff"
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
pub fn short(text: &str) -> String {
    short_to(text, ONE_LINE)
}

/// Cut to `most` characters, escaped.
pub fn short_to(text: &str, most: usize) -> String {
    // What cannot be shown is not escaped either: a title may be huge.
    let read = &text[..text.floor_char_boundary(ONE_LINE_READ)];
    let (shown, cut) = display::shorten(&display::one_line(read), most);
    if !cut && read.len() < text.len() { format!("{shown}…") } else { shown }
}

/// An entry's unfinished status is shown as ended; a helper for `tool`.
fn unfinished(call: &ToolCall) -> bool {
    matches!(&call.status, Some(ToolStatus::Other(word)) if word == UNFINISHED)
}
