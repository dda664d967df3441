//! Patches as data: what the buf holds once they are applied is what a fresh rendering gives.

use proptest::prelude::*;

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
    buf: Vec<String>,
    now: Millis,
    patches: Vec<Millis>,
}

impl Screen {
    fn new() -> Self {
        let mut view = View::new();
        view.open(key(), BufId(1));
        Self { entries: Vec::new(), view, buf: vec![String::new()], now: 0, patches: Vec::new() }
    }

    fn add(&mut self, body: Body) -> usize {
        let id = EntryId(self.entries.len() as u64);
        self.entries.push(Entry { id, turn: 1, body });
        self.view.changed(&key(), [id]);
        self.entries.len() - 1
    }

    fn touch(&mut self, index: usize) {
        self.view.changed(&key(), [EntryId(index as u64)]);
    }

    fn say(&mut self, index: usize, more: &str) {
        if let Body::Message { text, .. } | Body::Thought { text, .. } = &mut self.entries[index].body {
            text.push_str(more);
        }
        self.touch(index);
    }

    /// One frame, acknowledged at once. Whether there was a patch.
    fn frame(&mut self) -> bool {
        let Some(patch) = self.view.flush(&key(), &self.entries, self.now) else { return false };
        for mark in &patch.marks {
            let line = &patch.lines[mark.row];
            assert!(line.is_char_boundary(mark.col) && line.is_char_boundary(mark.end), "{mark:?} {line:?}");
            assert!(mark.col < mark.end && GROUPS.contains(&mark.group), "{mark:?}");
        }
        for line in &patch.lines {
            assert!(!line.contains(['\n', '\0']), "{line:?}");
        }
        self.buf.splice(patch.first..patch.last, patch.lines.iter().cloned());
        if self.buf.is_empty() {
            self.buf.push(String::new());
        }
        for (_, first, last) in &patch.questions {
            assert!(self.buf[*first..*last].iter().any(|line| line.starts_with("? ")));
        }
        self.view.ack(&key(), patch.version);
        self.patches.push(self.now);
        true
    }

    fn settle(&mut self) -> String {
        for _ in 0..10_000 {
            self.now += FRAME;
            if !self.frame() {
                return self.buf.join("\n");
            }
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
          -b
          +B
          1 Allow
          <CR> on an option answers · gd shows the diff

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
    assert_eq!(screen.settle(), "m\n\n▾ thinking (2 lines)\n│ one\n│ two");
    screen.view.toggle(&key(), 3);
    assert_eq!(screen.settle(), "m\n\n▸ thinking (2 lines): two");
}

#[test]
fn one_patch_is_in_flight_however_long_it_takes() {
    let mut screen = Screen::new();
    let index = screen.add(message("a"));
    let first = screen.view.flush(&key(), &screen.entries, 0).unwrap();
    screen.say(index, "b");
    assert!(screen.view.flush(&key(), &screen.entries, 10_000).is_none());
    assert_eq!(screen.view.next_deadline(), None, "nothing to wake up for");
    screen.view.ack(&key(), first.version);
    assert_eq!(screen.view.flush(&key(), &screen.entries, 10_000).unwrap().lines, ["ab"]);
}

#[test]
fn a_flood_costs_few_patches_and_is_never_far_behind() {
    let mut screen = Screen::new();
    let index = screen.add(message(""));
    let mut sent = String::new();
    let mut behind = 0;
    let mut waiting_since = None;
    for n in 0..20_000u64 {
        screen.now = n / 20;
        let piece = format!("chunk {n:06} of fifty bytes in all, more or less.\n");
        screen.say(index, &piece);
        sent.push_str(&piece);
        waiting_since.get_or_insert(screen.now);
        if screen.frame() {
            behind = behind.max(screen.now - waiting_since.take().unwrap_or(screen.now));
        }
    }
    assert!(screen.patches.len() <= 40, "{} patches in a second", screen.patches.len());
    assert!(behind <= 100, "{behind} ms");
    assert_eq!(screen.settle() + "\n", sent);
}

#[test]
fn a_chunk_costs_its_own_size_however_long_the_message_is() {
    let mut screen = Screen::new();
    let index = screen.add(message(&"a line of text\n".repeat(100_000)));
    screen.settle();
    screen.say(index, "more\n");
    screen.now += FRAME;
    let patch = screen.view.flush(&key(), &screen.entries, screen.now).unwrap();
    assert_eq!(patch.lines, ["a line of text", "more"]);
}

#[test]
fn changes_far_apart_do_not_resend_what_lies_between() {
    let mut screen = Screen::new();
    screen.add(tool("first", ToolStatus::InProgress));
    screen.add(message(&"x\n".repeat(5000)));
    let last = screen.add(message("tail"));
    screen.settle();
    screen.entries[0].body = tool("first", ToolStatus::Completed);
    screen.touch(0);
    screen.say(last, " more");
    for _ in 0..2 {
        screen.now += FRAME;
        let patch = screen.view.flush(&key(), &screen.entries, screen.now).unwrap();
        assert!(patch.lines.len() < 5, "{} lines", patch.lines.len());
        screen.view.ack(&key(), patch.version);
    }
}

fn step() -> impl Strategy<Value = (u8, usize, String)> {
    let text =
        prop::sample::select(vec!["a", "b\n", "```\n", "\n", "é`x`", "\r\n", "**", "", "# h\n", "\u{1b}"]);
    (0u8..8, 0usize..8, text.prop_map(str::to_owned))
}

proptest! {
    #[test]
    fn patches_add_up_to_a_fresh_rendering(steps in prop::collection::vec(step(), 0..80)) {
        let mut screen = Screen::new();
        for (what, at, text) in steps {
            screen.now += 7;
            let at = if screen.entries.is_empty() { 0 } else { at % screen.entries.len() };
            match what {
                0 => { screen.add(message(&text)); }
                1 => { screen.add(tool(&text, ToolStatus::Pending)); }
                2 => { screen.add(Body::Thought { text, message_id: None, open: true }); }
                3 => { screen.add(ask(None)); }
                4 | 5 if !screen.entries.is_empty() => screen.say(at, &text),
                6 if !screen.entries.is_empty() => {
                    if let Body::Question(q) = &mut screen.entries[at].body {
                        q.outcome = Some("rejected: No".into());
                    } else if let Body::Tool(call) = &mut screen.entries[at].body {
                        call.status = Some(ToolStatus::Completed);
                    }
                    screen.touch(at);
                }
                _ => { screen.frame(); }
            }
        }
        let shown = screen.settle();
        prop_assert_eq!(shown, render::document(&screen.entries));
    }
}
