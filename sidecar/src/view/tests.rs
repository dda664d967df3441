//! Patches as data: what the buf holds once they are applied is what a fresh rendering gives.

use super::render::{Line, Span};
use super::*;
use crate::model::*;
use crate::session::entry::*;

fn key() -> SessionKey {
    SessionKey::new("s")
}

/// A transcript, its view, and the buf that the patches make.
struct Screen {
    entries: Vec<Entry>,
    view: View,
    buf: Vec<Line>,
    now: Millis,
    patches: Vec<Millis>,
    flight: Option<u64>,
    questions: Vec<(QuestionId, usize, usize)>,
}

impl Screen {
    fn new() -> Self {
        let mut screen = Self {
            entries: Vec::new(),
            view: View::new(),
            buf: Vec::new(),
            now: 0,
            patches: Vec::new(),
            flight: None,
            questions: Vec::new(),
        };
        screen.open();
        screen
    }

    fn open(&mut self) {
        self.view.open(key(), BufId(1));
        self.buf = vec![Line::default()];
        self.flight = None;
    }

    fn add(&mut self, body: Body) -> usize {
        let id = EntryId(self.entries.len() as u64 * 2 + 7);
        self.entries.push(Entry { id, turn: 1, body });
        self.touch(self.entries.len() - 1);
        self.entries.len() - 1
    }

    fn touch(&mut self, index: usize) {
        self.view.changed(&key(), [self.entries[index].id]);
    }

    fn say(&mut self, index: usize, more: &str) {
        if let Body::Message { text, .. } | Body::Thought { text, .. } | Body::User { text, .. } =
            &mut self.entries[index].body
        {
            text.push_str(more);
        }
        self.touch(index);
    }

    fn ack(&mut self) {
        if let Some(version) = self.flight.take() {
            self.view.ack(&key(), version);
        }
    }

    /// What the editor does with a patch, and what holds of every patch.
    fn flush(&mut self) -> Option<ViewPatch> {
        let patch = self.view.flush(&key(), &self.entries, self.now)?;
        assert!(self.flight.is_none(), "one in flight");
        assert!(patch.first <= patch.last && patch.last <= self.buf.len(), "{}..{}", patch.first, patch.last);
        let bytes: usize = patch.lines.iter().map(|line| line.len() + 1).sum();
        let longest = patch.lines.iter().map(String::len).max().unwrap_or(0);
        assert!(bytes <= PATCH_BYTES || bytes - longest < 32 * 1024, "{bytes} bytes, longest {longest}");
        assert!(patch.lines.len() <= PATCH_LINES && patch.marks.len() <= PATCH_MARKS);
        let mut lines: Vec<Line> =
            patch.lines.iter().map(|text| Line { text: text.clone(), spans: Vec::new() }).collect();
        for mark in &patch.marks {
            let line = &mut lines[mark.row];
            let text = &line.text;
            assert!(text.is_char_boundary(mark.col) && text.is_char_boundary(mark.end), "{mark:?} {text:?}");
            assert!(mark.col < mark.end && GROUPS.contains(&mark.group), "{mark:?}");
            line.spans.push(Span { col: mark.col, end: mark.end, group: mark.group });
        }
        for line in &patch.lines {
            assert!(!line.contains(['\n', '\r', '\0']), "{line:?}");
        }
        self.buf.splice(patch.first..patch.last, lines);
        assert!(!self.buf.is_empty(), "a buf holds at least one line");
        for (_, first, last) in &patch.questions {
            assert!(self.buf[*first].text.starts_with("? "), "{first}: {:?}", self.buf[*first]);
            assert!(self.buf[*last - 1].text.contains("digit answers"));
        }
        self.questions = patch.questions.clone();
        self.flight = Some(patch.version);
        self.patches.push(self.now);
        Some(patch)
    }

    /// One frame, acknowledged at once. Whether there was a patch.
    fn frame(&mut self) -> bool {
        let sent = self.flush().is_some();
        self.ack();
        sent
    }

    fn settle(&mut self) -> String {
        self.ack();
        for _ in 0..10_000 {
            let Some(due) = self.view.next_deadline() else {
                return self.buf.iter().map(|line| line.text.as_str()).collect::<Vec<_>>().join("\n");
            };
            self.now = self.now.max(due);
            self.frame();
        }
        panic!("never at rest");
    }
}

fn message(text: &str) -> Body {
    Body::Message { text: text.into(), message_id: None, open: true }
}

fn tool(title: &str, status: ToolStatus) -> Body {
    Body::Tool(ToolCall {
        id: "t".into(),
        title: Some(title.into()),
        kind: Some("read".into()),
        status: Some(status),
        ..ToolCall::default()
    })
}

fn plan(items: &[&str]) -> Body {
    let item = |text: &&str| PlanEntry {
        content: (*text).into(),
        priority: "medium".into(),
        status: "pending".into(),
    };
    Body::Plan { id: None, body: PlanBody::Items(items.iter().map(item).collect()) }
}

fn ask(outcome: Option<&str>) -> Body {
    Body::Question(QuestionEntry {
        id: QuestionId(4),
        title: "edit a.txt".into(),
        body: vec!["details".into()],
        options: vec![PermissionOption { id: "y".into(), name: "Allow".into(), kind: OptionKind::AllowOnce }],
        diffs: vec![Diff { path: "/p/a.txt".into(), old: Some("a\nb\n".into()), new: "a\nB\n".into() }],
        outcome: outcome.map(str::to_owned),
    })
}

#[test]
fn a_session_reads_as_a_document() {
    let mut screen = Screen::new();
    screen.add(Body::User { text: "replace b".into(), context: vec!["a.txt:2".into()] });
    screen.add(Body::Thought { text: "First look.\nThen act.".into(), message_id: None, open: false });
    screen.add(message("I **read** it.\n\n```rust\nlet x;\n```\n"));
    screen.add(tool("Read a.txt", ToolStatus::Completed));
    screen.add(tool("b.txt", ToolStatus::InProgress));
    screen.add(ask(None));
    screen.add(Body::TurnEnd { reason: StopReason::EndTurn, detail: vec![], usage: None });
    expect_test::expect![[r#"
        ## You

        replace b
        @ a.txt:2

        ▸ thought (2 lines): Then act.

        I **read** it.

        ```rust
        let x;
        ```

        ✓ Read a.txt
        ◐ read b.txt

        ? edit a.txt
          details
          /p/a.txt
          @@ -1,2 +1,2 @@
           a
          -b
          +B
          1 Allow
          <CR> or digit answers · gd shows the diff

        — end of turn —"#]]
    .assert_eq(&screen.settle());
}

#[test]
fn an_answered_question_becomes_one_line() {
    let mut screen = Screen::new();
    let index = screen.add(ask(None));
    screen.settle();
    screen.entries[index].body = ask(Some("allowed: Allow"));
    screen.touch(index);
    assert_eq!(screen.settle(), "✓ edit a.txt — allowed: Allow");
}

#[test]
fn every_way_a_turn_ends_reads_differently() {
    let exit = Exit { code: None, signal: Some(9), stderr: vec![], reason: None };
    let reasons = [
        StopReason::EndTurn,
        StopReason::MaxTokens,
        StopReason::MaxTurnRequests,
        StopReason::Refusal,
        StopReason::Cancelled,
        StopReason::Other("new_reason".into()),
        StopReason::Error(RpcError::new(-32603, "boom")),
        StopReason::AgentExit(exit),
    ];
    let mut seen = std::collections::BTreeSet::new();
    for reason in reasons {
        let mut screen = Screen::new();
        screen.add(Body::TurnEnd { reason, detail: vec!["last words".into()], usage: None });
        let text = screen.settle();
        assert!(text.ends_with("\n  last words"));
        assert!(seen.insert(text));
    }
}

#[test]
fn an_open_fence_does_not_reach_the_next_entry() {
    let mut screen = Screen::new();
    screen.add(message("```\ncode"));
    screen.add(message("**bold**"));
    let mut groups = Vec::new();
    let patch = screen.view.flush(&key(), &screen.entries, 0).unwrap();
    groups.extend(patch.marks.iter().map(|mark| mark.group));
    assert_eq!(groups, ["BosunCodeFence", "BosunCode", "BosunBold"]);
}

#[test]
fn a_fence_that_comes_in_pieces_is_one_fence() {
    let mut screen = Screen::new();
    let index = screen.add(message("text\n`"));
    screen.settle();
    for piece in ["``", "sh\nls\n", "```", "\nafter"] {
        screen.say(index, piece);
        screen.settle();
    }
    assert_eq!(screen.settle(), "text\n```sh\nls\n```\nafter");
}

#[test]
fn what_cannot_be_seen_is_shown() {
    let mut screen = Screen::new();
    screen.add(message("a\r\nb\u{1b}[2Jc\u{202e}d\0e\u{2028}f\tg"));
    screen.add(tool("ls\u{1b}[2K\rrm -rf ~\nx %#=", ToolStatus::Pending));
    let text = screen.settle();
    assert!(!text.contains(['\u{1b}', '\u{202e}', '\0', '\r']), "{text:?}");
    assert!(text.contains("rm -rf ~") && text.contains("%#="), "{text:?}");
    assert_eq!(text.lines().next(), Some("a"));
}

#[test]
fn a_thought_is_folded_until_it_is_asked_for() {
    let mut screen = Screen::new();
    screen.add(message("m"));
    screen.add(Body::Thought { text: "one\ntwo".into(), message_id: None, open: true });
    assert_eq!(screen.settle(), "m\n\n▸ thinking (2 lines): two");
    screen.view.toggle(&key(), 2);
    assert_eq!(screen.settle(), "m\n\n▾ thought\n│ one\n│ two");
    screen.view.toggle(&key(), 3);
    assert_eq!(screen.settle(), "m\n\n▸ thinking (2 lines): two");
}

mod frames;
mod looks;
mod property;
