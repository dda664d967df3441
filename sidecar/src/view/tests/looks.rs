//! How entries look, also those that an agent did its worst on.

use expect_test::{Expect, expect};

use super::*;

/// Unfolds the first entry.
fn check_unfolded(body: Body, expected: Expect) {
    let mut screen = Screen::new();
    screen.add(body);
    screen.settle();
    screen.view.toggle(&key(), 0);
    expected.assert_eq(&screen.settle());
}

fn check(body: Body, expected: Expect) {
    let mut screen = Screen::new();
    screen.add(body);
    expected.assert_eq(&screen.settle());
}

fn call(content: Vec<ToolContent>) -> ToolCall {
    ToolCall {
        id: "t".into(),
        title: Some("Edit a.rs".into()),
        kind: Some("edit".into()),
        status: Some(ToolStatus::Failed),
        content,
        locations: vec![Location { path: "/p/a.rs".into(), line: Some(3) }],
        raw_input: Some(r#"{"path":"a.rs","n":[1]}"#.into()),
        raw_output: Some(r#""ok\nfine""#.into()),
    }
}

#[test]
fn an_unfolded_card_shows_all_of_it() {
    let diff = Diff { path: "/p/a.rs".into(), old: Some("1\n2\n3\n".into()), new: "1\ntwo\n3".into() };
    let content = vec![
        ToolContent::Block(Content::Text("a ```` b\n\u{1b}[31mred\r\n".into())),
        ToolContent::Diff(diff),
        ToolContent::Block(Content::Other { kind: "hologram".into(), raw: "{}".into() }),
        ToolContent::Terminal("term_1".into()),
    ];
    check_unfolded(
        Body::Tool(call(content)),
        expect![[r#"
            ✗ Edit a.rs
              input
            ```json
            {
              "path": "a.rs",
              "n": [
                1
              ]
            }
            ```
            `````
            a ```` b
            ^[[31mred
            `````
              /p/a.rs
            ```diff
            @@ -1,3 +1,3 @@
             1
            -2
            -3
            +two
            +3
            \ no line end
            ```
              [hologram]
              [terminal term_1]
              output
            ```
            ok
            fine
            ```
              /p/a.rs:3"#]],
    );
}

#[test]
fn a_huge_output_is_cut_inside_its_fence() {
    let content = vec![ToolContent::Block(Content::Text("x".repeat(600_000) + "\n" + &"y\n".repeat(500)))];
    let mut screen = Screen::new();
    screen.add(Body::Tool(ToolCall {
        raw_input: None,
        raw_output: None,
        locations: vec![],
        ..call(content)
    }));
    screen.settle();
    screen.view.toggle(&key(), 0);
    let text = screen.settle();
    assert!(text.len() < 4096 && text.contains("(598000 more bytes)"), "{} bytes", text.len());
    assert!(text.ends_with("y\n```\n  … 301 more lines"), "{}", &text[text.len() - 60..]);
}

#[test]
fn a_title_cannot_push_its_command_out_of_sight() {
    let title = format!("ls{}; rm -rf ~", " ".repeat(5000));
    let mut screen = Screen::new();
    screen.add(tool(&title, ToolStatus::Pending));
    assert_eq!(screen.settle(), "○ read ls<5000 spaces>; rm -rf ~");
    let long = format!("echo {} && rm -rf ~", "x".repeat(300));
    let mut screen = Screen::new();
    screen.add(tool(&long, ToolStatus::Pending));
    assert!(screen.settle().ends_with("xx…"));
    screen.view.toggle(&key(), 0);
    assert!(screen.settle().contains(" && rm -rf ~"), "the whole of it is one key away");
}

#[test]
fn a_plan_changes_where_it_stands() {
    let mut screen = Screen::new();
    let index = screen.add(plan(&["read", "write"]));
    screen.add(message("m"));
    assert_eq!(screen.settle(), "Plan\n- [ ] read\n- [ ] write\n\nm");
    let Body::Plan { body: PlanBody::Items(items), .. } = &mut screen.entries[index].body else { panic!() };
    items[0].status = "completed".into();
    items[1].status = "half".into();
    screen.touch(index);
    assert_eq!(screen.settle(), "Plan\n- [x] read\n- [ ] write (half)\n\nm");
    screen.entries[index].body = plan(&[]);
    screen.touch(index);
    assert_eq!(screen.settle(), "\nm");
}

#[test]
fn an_unknown_update_shows_its_kind_and_unfolded_what_came() {
    let body = Body::Unknown { kind: "zzz".into(), raw: r#"{"a":1}"#.into() };
    check(body.clone(), expect!["· update zzz (not understood)"]);
    check_unfolded(
        body,
        expect![[r#"
            · update zzz (not understood)
            ```json
            {
              "a": 1
            }
            ```"#]],
    );
}

#[test]
fn a_question_shows_a_dozen_lines_of_a_change_and_keeps_its_options() {
    let text = |word: &str| (0..100).map(|n| format!("{word} {n}\n")).collect::<String>();
    let Body::Question(mut q) = ask(None) else { panic!() };
    q.diffs = vec![Diff { path: "a".into(), old: Some(text("old")), new: text("new") }];
    q.body = vec!["b".repeat(70_000); 10];
    let mut screen = Screen::new();
    screen.add(Body::Question(q.clone()));
    assert!(screen.settle().ends_with("  1 Allow\n  <CR> or digit answers · gd shows the diff"));
    q.body.clear();
    let mut screen = Screen::new();
    screen.add(Body::Question(q));
    let text = screen.settle();
    assert_eq!(text.lines().count(), 2 + 12 + 2, "{text}");
    assert!(text.contains("\n  … 190 more lines\n"), "{text}");
}

#[test]
fn what_is_not_compared_says_how_large_it_is() {
    let Body::Question(mut q) = ask(None) else { panic!() };
    q.diffs = vec![Diff { path: "big".into(), old: None, new: "line\n".repeat(20_000) }];
    check(
        Body::Question(q),
        expect![[r#"
            ? edit a.txt
              details
              big (new)
              0 lines become 20000
              1 Allow
              <CR> or digit answers · gd shows the diff"#]],
    );
}

#[test]
fn a_message_stays_as_it_came_but_for_empty_lines_at_its_end() {
    let text = "\n\na\u{2028}b \u{200d} c\t \r\n\n```\n\n\n```\n\n\n";
    let mut screen = Screen::new();
    screen.add(message(text));
    assert_eq!(screen.settle(), "\n\na\u{2028}b \u{200d} c\t \n\n```\n\n\n```");
}

#[test]
fn a_line_is_folded_at_the_place_where_the_person_saw_it() {
    let mut screen = Screen::new();
    let first = screen.add(tool("a", ToolStatus::Pending));
    screen.add(Body::Thought { text: "one\ntwo".into(), message_id: None, open: false });
    screen.settle();
    screen.view.toggle(&key(), 0);
    if let Body::Tool(call) = &mut screen.entries[first].body {
        call.raw_output = Some(r#""x""#.into());
    }
    screen.touch(first);
    screen.now += FRAME;
    assert!(screen.flush().is_some(), "four lines more above the thought");
    screen.view.toggle(&key(), 2);
    screen.ack();
    assert_eq!(screen.settle(), "○ read a\n  output\n```\nx\n```\n\n▾ thought\n│ one\n│ two");
}

#[test]
fn a_buf_that_is_opened_again_gets_everything_as_it_was_unfolded() {
    let mut screen = Screen::new();
    screen.add(Body::Thought { text: "one\ntwo".into(), message_id: None, open: false });
    screen.settle();
    screen.view.toggle(&key(), 0);
    let text = screen.settle();
    screen.open();
    assert_eq!(screen.settle(), text);
    screen.view.close(&key());
    assert!(screen.view.sessions().is_empty() && screen.view.next_deadline().is_none());
}
