//! Blade's commands in the editor's terminals. No registry has Blade, so its recordings are played: the same messages in
//! the same order, while the commands in them run here.

use bosun_tests::script::replay;
use bosun_tests::{Editor, Scripted, Setup};
use serde_json::json;

use crate::terminals;

/// An editor whose agent plays a recording.
fn start(recording: &str) -> (Editor, Scripted) {
    let editor = Setup::new().file("notes.txt", "alpha\n").start();
    let agent = editor.script(&replay::steps(recording));
    (editor, agent)
}

/// Allows the one command that waits.
fn allow(editor: &Editor, line: &str) {
    let title = json!(format!("run {line}"));
    let of_it = || editor.pending().into_iter().find(|question| question["title"] == title);
    let question = editor.wait_for("the question", of_it);
    editor.answer(&question, "allow_once");
}

#[test]
fn blade_runs_commands_in_terminals_and_gets_their_text_and_status() {
    let (editor, agent) = start(include_str!("recorded/blade-commands.jsonl"));
    let session = editor.ask("Run it");
    allow(&editor, "echo hello | tr a-z A-Z; echo err >&2; pwd");
    allow(&editor, "echo about to fail; exit 3");
    assert_eq!(editor.turn_end(1), "end_turn");

    let all = terminals(&editor);
    assert_eq!(all.iter().map(|t| &t["code"]).collect::<Vec<_>>(), [&json!(0), &json!(3)], "{all:?}");
    let card = editor.await_transcript(&session, "$ echo about to fail; exit 3 (exit 3 after ");
    assert!(card.contains("$ echo hello | tr a-z A-Z; echo err >&2; pwd (done in "), "{card}");
    assert!(card.contains("  HELLO\n  err\n"), "{card}");
    editor.exec("Bosun terminals 1");
    editor.eventually("its output", || editor.screen().lines().any(|line| line.starts_with("HELLO")));
    editor.assert_sound(&agent);
}

#[test]
fn blade_looks_at_a_command_again_and_again_and_kills_it_when_the_turn_is_cancelled() {
    let (editor, agent) = start(include_str!("recorded/blade-cancel.jsonl"));
    let session = editor.ask("Run it");
    allow(&editor, "echo started; sleep 60; echo finished");
    editor.await_transcript(&session, "\n  started");
    editor.cancel(&session);
    assert_eq!(editor.turn_end(1), "cancelled");

    let left: Vec<_> = editor.processes().into_iter().filter(|p| p.command.contains(&"60".into())).collect();
    assert!(left.is_empty(), "{left:?}");
    let card = editor.await_transcript(&session, "(SIGTERM after ");
    assert!(card.contains("  started") && !card.contains("  finished"), "{card}");
    editor.assert_sound(&agent);
}
