//! Real agents through everything: a real Neovim, the plugin, the sidecar, the agent; only the model is scripted.

use std::time::Duration;

use bosun_tests::agents::{Agent, CLAUDE, CODEX, HERMES, OPENCODE, REASONIX};
use bosun_tests::model::ModelServer;
use bosun_tests::{Editor, Setup};

use crate::{LIMIT, employ, model, strays};

/// An editor with notes.txt in its project and the agent as its agent, whose model replaces the line `from` by `to`.
/// The model ends when it is dropped.
fn start(agent: &Agent, notes: &str, from: &str, to: &str) -> (Editor, ModelServer) {
    let editor = Setup::new().file("notes.txt", notes).limit(LIMIT).start();
    let model = model(agent, &editor.path("notes.txt"), from, to);
    employ(&editor, agent, &model);
    (editor, model)
}

/// Reasonix, in a project with three lines.
fn start_reasonix() -> (Editor, ModelServer) {
    start(&REASONIX, "alpha\nbeta\ngamma\n", "gamma", "GAMMA")
}

#[test]
fn a_real_agent_thinks_and_answers_in_the_transcript() {
    let (editor, _model) = start_reasonix();
    let session = editor.ask("Say hello [[text]]");
    assert_eq!(editor.turn_end(1), "end_turn");
    let transcript = editor.await_transcript(&session, "- two");
    assert!(transcript.contains("Hello from the scripted model."), "{transcript}");
    assert!(transcript.contains("I should greet."), "{transcript}");
    editor.assert_quiet();
}

#[test]
fn a_real_agent_edits_over_unsaved_lines_once_it_is_allowed_to() {
    let (editor, model) = start_reasonix();
    let buf = editor.edit("notes.txt");
    editor.input("2GA, unsaved<Esc>");
    editor.eventually("the typed text", || editor.lines(buf)[1] == "beta, unsaved");
    let steps = || editor.lua("return vim.fn.undotree(...).seq_cur", &[buf.into()]).as_i64();
    let before = steps().expect("a number");

    editor.ask("Change gamma [[edit]]");
    let question = editor.await_pending(1).remove(0);
    assert!(question["files"].to_string().contains("notes.txt"), "{question}");
    assert_eq!(editor.lines(buf), ["alpha", "beta, unsaved", "gamma"], "changed before it was allowed");
    assert_eq!(editor.disk("notes.txt"), b"alpha\nbeta\ngamma\n", "changed before it was allowed");
    editor.answer(&question, "allow_once");

    assert_eq!(editor.turn_end(1), "end_turn");
    assert_eq!(editor.lines(buf), ["alpha", "beta, unsaved", "GAMMA"]);
    assert_eq!(editor.disk("notes.txt"), b"alpha\nbeta, unsaved\nGAMMA\n");
    assert_eq!(steps(), Some(before + 1), "the edit is one undo step");
    editor.input("u");
    editor
        .eventually("the text before the edit", || editor.lines(buf) == ["alpha", "beta, unsaved", "gamma"]);
    let seen = model.tool_results();
    assert!(seen.iter().any(|text| text.contains("beta, unsaved")), "the model never saw the line: {seen:?}");
    editor.assert_quiet();
}

/// How long a look at the disk may take when nothing has to be asked about.
const PATIENCE: Duration = Duration::from_secs(5);

/// Far enough from each other that nobody can take the two changes for one.
const NOTES: [&str; 10] = ["one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"];

/// An agent that changes the disk itself, beside a line that the person has not saved: both are in the buffer when the
/// turn is over, and the agent's is on the disk.
fn keeps_what_both_wrote(agent: &Agent) {
    let (editor, model) = start(agent, &(NOTES.join("\n") + "\n"), "nine", "NINE of the agent");
    let buf = editor.edit("notes.txt");
    editor.input("2GA, unsaved<Esc>");
    editor.eventually("the typed text", || editor.lines(buf)[1] == "two, unsaved");

    editor.ask("Change the ninth line [[edit]]");
    let mut allowed = Vec::new();
    editor.eventually("the end of the turn", || {
        for question in editor.pending() {
            // An agent that takes no embedded text is asked about unsaved lines first: they stay as they are.
            let unsaved = question["options"].to_string().contains("\"leave\"");
            let word = if unsaved { "leave" } else { "allow_once" };
            // It may have been withdrawn meanwhile.
            if !allowed.contains(&question["id"]) && editor.try_answer(&question, word).is_ok() {
                allowed.push(question["id"].clone());
            }
        }
        !editor.events("BosunTurnEnd").is_empty()
    });
    assert_eq!(editor.turn_end(1), "end_turn");
    assert!(!allowed.is_empty(), "the agent asked for nothing");

    let mut expected = NOTES;
    (expected[1], expected[8]) = ("two, unsaved", "NINE of the agent");
    editor.eventually("the agent's change in the buffer", || editor.lines(buf)[8] == expected[8]);
    assert_eq!(editor.lines(buf), expected);
    let disk = String::from_utf8(editor.disk("notes.txt")).expect("text");
    assert!(disk.lines().any(|line| line == expected[8]), "the agent's change is not on the disk: {disk}");
    assert_eq!(disk.lines().count(), NOTES.len(), "{disk}");
    // What Neovim does when the person comes back to it: a file that changed behind its back would be asked about.
    let looked = editor.call_within("nvim_command", &["checktime".into()], PATIENCE);
    assert!(looked.is_ok() && !editor.mode().1, "Neovim asks about the file:\n{}", editor.screen());
    assert_eq!(editor.lines(buf), expected, "after a look at the disk");
    assert_eq!(strays(&model), Vec::<String>::new());
    editor.assert_quiet();
}

#[test]
fn opencode_writes_the_disk_beside_an_unsaved_line_and_both_are_kept() {
    keeps_what_both_wrote(&OPENCODE);
}

#[test]
fn hermes_writes_the_disk_beside_an_unsaved_line_and_both_are_kept() {
    keeps_what_both_wrote(&HERMES);
}

#[test]
fn codex_writes_the_disk_beside_an_unsaved_line_and_both_are_kept() {
    keeps_what_both_wrote(&CODEX);
}

#[test]
fn claude_writes_the_disk_beside_an_unsaved_line_and_both_are_kept() {
    keeps_what_both_wrote(&CLAUDE);
}
