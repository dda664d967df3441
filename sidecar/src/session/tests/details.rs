//! What a person is shown of a request, above all when the agent tells little.

use super::*;
use crate::session::details::{Details, NOT_PROVIDED, describe};
use crate::session::entry::ToolCall;

fn card(kind: &str, raw: serde_json::Value) -> ToolCall {
    ToolCall {
        title: Some("T".into()),
        kind: (!kind.is_empty()).then(|| kind.into()),
        raw_input: Some(raw.to_string().into()),
        ..ToolCall::default()
    }
}

#[track_caller]
fn check_body(card: &ToolCall, body: &[&str]) {
    let details = describe(card, None);
    assert_eq!(details.body, body);
    assert_eq!(details.diffs, []);
}

/// Old text `-` stands for none.
#[track_caller]
fn check_diffs(raw: serde_json::Value, expected: &[(&str, &str, &str)]) {
    let details = describe(&card("edit", raw), None);
    let diffs: Vec<(&str, &str, &str)> = details
        .diffs
        .iter()
        .map(|d| (d.path.as_str(), d.old.as_deref().unwrap_or("-"), d.new.as_str()))
        .collect();
    assert_eq!(diffs, expected);
}

#[test]
fn a_command_is_shown_however_the_input_spells_it() {
    check_body(&card("execute", json!({ "command": "ls -l" })), &["$ ls -l"]);
    check_body(&card("execute", json!({ "cmd": "ls" })), &["$ ls"]);
    check_body(
        &card("execute", json!({ "command": ["bash", "-lc", "rm -rf 'a b'"] })),
        &[r"$ bash -lc 'rm -rf '\''a b'\'''"],
    );
    check_body(
        &card("execute", json!({ "command": "git", "args": ["push", "-f x"] })),
        &["$ git push '-f x'"],
    );
    check_body(&card("execute", json!({ "tool": "sh", "arguments": { "command": "ls" } })), &["$ ls"]);
    check_body(&card("execute", json!({ "command": "a\nb" })), &["$ a", "  b"]);
    check_body(
        &card("execute", json!({ "command": "make", "description": "Builds it" })),
        &["$ make", "Builds it"],
    );
}

#[test]
fn a_command_cannot_hide_its_end() {
    let line = format!("ls\u{1b}[2K\r{}; rm", " ".repeat(5000));
    check_body(&card("execute", json!({ "command": line })), &["$ ls^[[2K^M<5000 spaces>; rm"]);
}

#[test]
fn a_path_is_shown_where_there_is_nothing_better() {
    check_body(&card("read", json!({ "absolute_path": "/a\u{202e}b" })), &["path: /a<U+202E>b"]);
    let mut read = card("read", json!({}));
    read.locations = vec![Location { path: "/x".into(), line: None }];
    check_body(&read, &["path: /x"]);
}

#[test]
fn an_edit_that_tells_only_its_path_says_that_details_are_missing() {
    check_body(&card("edit", json!({ "path": "/a" })), &["path: /a", NOT_PROVIDED]);
    check_body(&card("edit", json!({})), &[NOT_PROVIDED]);
    check_body(&card("", json!(null)), &[NOT_PROVIDED]);
    check_body(&card("execute", json!([1, 2])), &[NOT_PROVIDED]);
    let nothing = ToolCall::default();
    let details = describe(&nothing, None);
    assert_eq!((details.title.as_str(), &details.body[..]), ("permission", &[NOT_PROVIDED.to_owned()][..]));
    let broken = ToolCall { raw_input: Some("{broken".into()), ..ToolCall::default() };
    check_body(&broken, &[NOT_PROVIDED]);
}

#[test]
fn text_in_the_content_is_shown() {
    let mut call = card("edit", json!({ "path": "/a" }));
    call.content = vec![text("because\nof this"), ToolContent::Terminal("t".into())];
    check_body(&call, &["path: /a", "because", "of this"]);
}

#[test]
fn diffs_of_the_content_go_before_the_input() {
    let mut call = card("edit", json!({ "path": "/other", "content": "x" }));
    let diff = Diff { path: "/a".into(), old: None, new: "y".into() };
    call.content = vec![ToolContent::Diff(diff.clone())];
    assert_eq!(
        describe(&call, None),
        Details { title: "T".into(), body: vec![], diffs: vec![diff], command: None }
    );
}

#[test]
fn diffs_come_from_the_input_in_every_spelling() {
    for path in ["path", "file_path", "filePath", "absolute_path", "abs_path", "filename"] {
        for (old, new) in [
            ("old_string", "new_string"),
            ("oldString", "newString"),
            ("old_str", "new_str"),
            ("old_text", "new_text"),
        ] {
            check_diffs(json!({ path: "/a", old: "x", new: "y" }), &[("/a", "x", "y")]);
        }
        for whole in ["content", "text"] {
            check_diffs(json!({ path: "/a", whole: "y" }), &[("/a", "-", "y")]);
        }
    }
    check_diffs(json!({ "path": "/a", "new_string": "y" }), &[("/a", "-", "y")]);
    check_diffs(json!({ "path": "/a", "content": "" }), &[("/a", "-", "")]);
    check_diffs(json!({ "arguments": { "path": "/a", "content": "y" } }), &[("/a", "-", "y")]);
    check_diffs(
        json!({ "path": "/a", "edits": [
            { "old_string": "1", "new_string": "2" },
            { "path": "/b", "oldString": "3", "newString": "4" },
            "nonsense",
        ] }),
        &[("/a", "1", "2"), ("/b", "3", "4")],
    );
    check_diffs(json!({ "old_string": "x", "new_string": "y" }), &[]);
    check_diffs(json!({ "path": "/a", "content": 5 }), &[]);
}

#[test]
fn reading_or_running_proposes_no_change() {
    for kind in ["read", "search", "execute", "fetch", "think"] {
        let details = describe(&card(kind, json!({ "path": "/a", "text": "needle" })), None);
        assert_eq!(details.diffs, [], "{kind}");
    }
}

#[test]
fn a_patch_text_is_shown_as_text() {
    check_body(&card("edit", json!({ "filepath": "/a", "diff": "-x\n+y\n" })), &["path: /a", "-x", "+y"]);
}

#[test]
fn a_long_title_stands_in_the_body_in_full() {
    let mut call = card("execute", json!({ "command": "x" }));
    call.title = Some("t".repeat(500));
    let details = describe(&call, None);
    assert_eq!(details.title.chars().count(), 201);
    assert_eq!(details.body, ["t".repeat(500), "$ x".into()]);
}

#[test]
fn an_input_larger_than_what_a_card_keeps_is_still_judged_whole() {
    let mut stage = Stage::running();
    let content = "x".repeat(400_000);
    stage.ask("7", with_input("t", "edit", json!({ "path": "/a", "content": content })), yes_no());
    let Some(QuestionDiff::Agent { diff, .. }) = stage.room.question_diff(QuestionId(1), 0) else { panic!() };
    assert_eq!(diff.new.len(), 400_000);
}
