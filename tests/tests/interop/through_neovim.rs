//! Reasonix through everything: a real Neovim, the plugin, the sidecar, the agent; only the model is scripted.

use std::time::Duration;

use bosun_tests::model::{ModelServer, reasonix_home};
use bosun_tests::{Editor, Setup};
use serde_json::json;

use crate::{model, reasonix};

/// An editor with notes.txt in its project and Reasonix as its agent. The model ends when it is dropped.
fn start() -> (Editor, ModelServer) {
    let model = model();
    let setup = Setup::new().file("notes.txt", "alpha\nbeta\ngamma\n").limit(Duration::from_secs(60));
    let editor = setup.start();
    let home = editor.aside("reasonix");
    reasonix_home(&home, &model.url()).expect("settings for the agent");
    let env = json!({"REASONIX_HOME": home, "DO_NOT_TRACK": "1", "REASONIX_TELEMETRY": "0"});
    editor.setup(json!({
        "agents": {"reasonix": {"command": reasonix(), "args": ["acp"], "env": env}},
        "default_agent": "reasonix",
    }));
    (editor, model)
}

#[test]
fn a_real_agent_thinks_and_answers_in_the_transcript() {
    let (editor, _model) = start();
    let session = editor.ask("Say hello [[text]]");
    assert_eq!(editor.turn_end(1), "end_turn");
    let transcript = editor.await_transcript(&session, "- two");
    assert!(transcript.contains("Hello from the scripted model."), "{transcript}");
    assert!(transcript.contains("I should greet."), "{transcript}");
    editor.assert_quiet();
}

#[test]
fn a_real_agent_edits_over_unsaved_lines_once_it_is_allowed_to() {
    let (editor, model) = start();
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
