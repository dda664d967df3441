//! How things end: agents that die, sidecars and editors that are killed, and nothing that stays behind.

use std::time::{Duration, Instant};

use bosun_tests::steps::*;
use bosun_tests::{Editor, Setup};
use nix::sys::signal::Signal;
use serde_json::{Value, json};

/// What every end has to be done with by.
const BOUND: Duration = Duration::from_secs(3);

fn tool() -> Value {
    json!({"toolCallId": "t", "title": "rm -rf build", "kind": "execute", "status": "in_progress"})
}

// B86 B67
#[test]
fn a_killed_agent_ends_its_turn_with_its_last_words_and_a_prompt_restarts_it() {
    let editor = Setup::new().start();
    let agent = editor.script(&[
        auto(),
        prompt(),
        json!({"when_exists": editor.aside("died"), "then": [say("back again"), end_turn()], "else": [
            say("working"), ask(1, tool(), allow_or_reject()), json!({"stderr": "out of memory"}),
            gate(&editor.aside("die")), touch(&editor.aside("died")), json!({"kill_self": 9}),
        ]}),
    ]);
    let session = editor.ask("go");
    editor.await_pending(1);
    let begin = Instant::now();
    editor.open_gate(&editor.aside("die"));
    assert_eq!(editor.turn_end(1), "agent_exit");
    assert!(begin.elapsed() < Duration::from_secs(1), "{:?}", begin.elapsed());
    assert_eq!(editor.pending(), Vec::<Value>::new());
    let text = editor.transcript(&session);
    assert!(text.contains("signal 9") || text.contains("SIGKILL"), "{text}");
    assert!(text.contains("out of memory"), "{text}");
    assert_eq!(editor.session(&session)["state"], "dead");
    editor.prompt(&session, "go on");
    assert_eq!(editor.turn_end(2), "end_turn");
    let text = editor.transcript(&session);
    assert!(text.contains("working") && text.contains("back again"), "{text}");
    // Nobody can answer what the dead one asked; the new one was answered like any other.
    assert_eq!(agent.read().received("session/prompt").len(), 2);
    assert!(!editor.mode().1, "no dialog");
}

// B86
#[test]
fn every_way_an_agent_goes_ends_the_turn_within_a_second() {
    for last in [json!({"exit": 0}), json!({"exit": 3}), json!({"close_stdout": true})] {
        let editor = Setup::new().start();
        editor.script(&[auto(), prompt(), say("x"), gate(&editor.aside("die")), last.clone()]);
        let session = editor.ask("go");
        editor.await_transcript(&session, "x");
        let begin = Instant::now();
        editor.open_gate(&editor.aside("die"));
        assert_eq!(editor.turn_end(1), "agent_exit", "{last}");
        // An agent that closed its output is first given the chance to go by itself.
        let bound = if last["close_stdout"] == true { BOUND } else { Duration::from_secs(1) };
        assert!(begin.elapsed() < bound, "{last}: {:?}", begin.elapsed());
        assert!(!editor.mode().1, "{last}: no dialog");
    }
}

/// A turn in which the agent ignores every polite wish to go, and so do its children, one of them in another group.
fn stubborn(editor: &Editor) {
    let child = ["sh", "-c", "trap '' TERM HUP INT; while :; do sleep 100; done"];
    editor.script(&[
        json!({"ignore_term": true}),
        json!({"ignore_eof": true}),
        auto(),
        prompt(),
        json!({"spawn": child}),
        json!({"spawn": child, "new_group": true}),
        say("busy"),
        gate(&editor.aside("never")),
    ]);
    let session = editor.ask("go");
    editor.await_transcript(&session, "busy");
    editor.eventually("the children run", || {
        editor.processes().iter().filter(|p| p.program() == "sh").count() >= 2
    });
}

fn nothing_is_left(editor: &Editor, begin: Instant) {
    loop {
        let left = editor.processes();
        if left.is_empty() {
            return;
        }
        assert!(begin.elapsed() < BOUND, "left after {:?}: {left:?}", begin.elapsed());
        std::thread::sleep(Duration::from_millis(10));
    }
}

// B125
#[test]
fn nothing_is_left_of_a_killed_editor() {
    let mut editor = Setup::new().start();
    stubborn(&editor);
    editor.allow_leftovers();
    let begin = Instant::now();
    editor.signal(Signal::SIGKILL);
    nothing_is_left(&editor, begin);
}

// B125
#[test]
fn nothing_is_left_of_a_killed_sidecar_but_the_editor_that_says_so() {
    let editor = Setup::new().start();
    stubborn(&editor);
    let (sidecar, pid) = (editor.sidecar(), editor.pid());
    let begin = Instant::now();
    sidecar.signal(Signal::SIGKILL);
    loop {
        let left: Vec<_> = editor.processes().into_iter().filter(|p| p.pid != pid).collect();
        if left.is_empty() {
            break;
        }
        assert!(begin.elapsed() < BOUND, "left after {:?}: {left:?}", begin.elapsed());
        std::thread::sleep(Duration::from_millis(10));
    }
    editor.eventually("the editor knows", || {
        editor.lua("return require('bosun').sessions()[1].state", &[]) == "dead"
    });
    assert_eq!(editor.turn_end(1), "sidecar_exit", "whoever follows the events sees the turn end");
    assert!(!editor.mode().1);
}

// B125
#[test]
fn nothing_is_left_when_the_editor_and_the_sidecar_are_killed_together() {
    let mut editor = Setup::new().start();
    stubborn(&editor);
    editor.allow_leftovers();
    let sidecar = editor.sidecar();
    let begin = Instant::now();
    sidecar.signal(Signal::SIGKILL);
    editor.signal(Signal::SIGKILL);
    nothing_is_left(&editor, begin);
}

// B125
#[test]
fn leaving_the_editor_in_the_middle_of_a_turn_is_never_held_up() {
    for keys in [":qa<CR>", ":wqa<CR>", "ZZ:qa<CR>", ":cq<CR>"] {
        let mut editor = Setup::new().file("a.txt", "one\n").start();
        editor.edit("a.txt");
        stubborn(&editor);
        editor.exec("Bosun open");
        editor.exec("wincmd h");
        editor.allow_leftovers();
        let begin = Instant::now();
        editor.input(keys);
        assert!(editor.ended(BOUND), "{keys}: the editor is still there");
        nothing_is_left(&editor, begin);
        assert_eq!(editor.disk("a.txt"), b"one\n");
    }
}

// B125
#[test]
fn signals_to_the_editor_leave_nothing() {
    for signal in [Signal::SIGTERM, Signal::SIGHUP] {
        let mut editor = Setup::new().start();
        stubborn(&editor);
        editor.allow_leftovers();
        let begin = Instant::now();
        editor.signal(signal);
        nothing_is_left(&editor, begin);
    }
}

// B119
#[test]
fn the_environment_is_inherited_and_overrides_lie_over_it() {
    let editor = Setup::new().env("INHERITED", "yes").start();
    let dump = editor.aside("env");
    let more = json!({"env": {"FOO": "a=b\nc", "EMPTY": ""}, "args": [editor.aside("scripted-steps.json"), "--dump-env", dump]});
    editor.script_with(&[auto(), prompt(), end_turn()], more);
    editor.ask("go");
    assert_eq!(editor.turn_end(1), "end_turn");
    let text = std::fs::read_to_string(&dump).expect("a dump");
    for wanted in ["INHERITED", "PATH", "HOME", "FOO", "EMPTY"] {
        assert!(text.contains(wanted), "{wanted}: {text}");
    }
    assert!(text.contains("a=b"), "{text}");
}

// B88
#[test]
fn an_agent_that_says_next_to_nothing_about_itself_is_good_enough() {
    let editor = Setup::new().start();
    let agent = editor.script(&[
        json!({"auto": {"initialize": {"protocolVersion": 1, "agentInfo": null, "agentCapabilities": null, "authMethods": null}}}),
        prompt(),
        say("hello"),
        end_turn(),
    ]);
    let session = editor.ask("go");
    assert_eq!(editor.turn_end(1), "end_turn");
    assert!(editor.transcript(&session).contains("hello"));
    let record = agent.read();
    let init = &record.received("initialize")[0];
    assert_eq!(init["params"]["clientInfo"]["name"], "bosun");
    editor.assert_quiet();
}

// B88
#[test]
fn a_version_that_we_do_not_speak_is_an_explained_stop() {
    let editor = Setup::new().start();
    editor.script(&[json!({"auto": {"initialize": {"protocolVersion": 7}}}), prompt(), end_turn()]);
    let session = editor.ask("go");
    let text = editor.await_transcript(&session, "version");
    assert!(text.contains('7'), "{text}");
    editor.await_state(&session, "dead");
    assert!(!editor.mode().1, "no dialog");
}
