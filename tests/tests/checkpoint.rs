//! Checkpoints: back to the state before a prompt, in files that are open or not, and forward again.

use bosun_tests::{Editor, Hand, Setup};
use serde_json::{Value, json};

const FILES: usize = 200;
/// Of these, open with unsaved lines.
const OPEN: usize = 20;

fn name(n: usize) -> String {
    format!("f{n:03}.txt")
}

fn text(n: usize) -> String {
    (1..=30).map(|line| format!("line {line} of {n}\n")).collect()
}

/// What the agent makes of it.
fn changed(text: &str) -> String {
    text.replace("line 10 of", "AGENT 10 of").replace("line 20 of", "AGENT 20 of")
}

/// The text of a buffer as it would be saved.
fn live(editor: &Editor, buf: i64) -> String {
    editor.lines(buf).join("\n") + "\n"
}

fn first(editor: &Editor, session: &str) -> Value {
    editor.lua("return require('bosun').checkpoints(...)[1].number", &[json!(session)])
}

#[test]
fn two_hundred_files_go_back_and_forward_again_with_what_a_person_wrote_before_and_since() {
    let setup = (0..FILES).fold(Setup::new(), |setup, n| setup.file(&name(n), text(n)));
    let editor = setup.limit(std::time::Duration::from_secs(60)).start();
    // Unsaved lines from before the prompt.
    let bufs: Vec<i64> = (0..OPEN).map(|n| editor.edit(&name(n))).collect();
    for buf in &bufs {
        editor.lua("vim.api.nvim_buf_set_lines(..., 4, 5, false, { 'unsaved, mine' })", &[json!(buf)]);
    }
    let mut hand = Hand::start_with(&editor, json!({"write_approval": "review"}), &[]);
    for n in 0..FILES {
        let seen = hand.read(&name(n)).expect("the text");
        hand.write(&name(n), &changed(&seen));
        hand.outcome().expect("it lands");
    }
    hand.write("new.txt", "new\n");
    hand.outcome().expect("it lands");
    let session = hand.session.clone();
    hand.end();
    let later = |text: String| text.replacen("line 30 of", "since, mine\nline 30 of", 1);
    for buf in &bufs {
        editor.lua("vim.api.nvim_buf_set_lines(..., 29, 29, false, { 'since, mine' })", &[json!(buf)]);
    }
    let mine = |n: usize| later(text(n).replace(&format!("line 5 of {n}\n"), "unsaved, mine\n"));
    let outside = editor.path("outside.txt");
    std::fs::write(&outside, "mine\n").expect("a file that no agent touched");
    for _ in 0..2 {
        let number = first(&editor, &session);
        editor.lua("assert(require('bosun').restore(...))", &[number]);
        editor.eventually("all files are as they were", || {
            (OPEN..FILES).all(|n| editor.disk(&name(n)) == text(n).as_bytes())
                && (0..OPEN).all(|n| live(&editor, bufs[n]) == mine(n))
                && !editor.path("new.txt").exists()
        });
        editor.lua("assert(require('bosun').restore())", &[]);
        editor.eventually("all files are as the agent left them", || {
            (OPEN..FILES).all(|n| editor.disk(&name(n)) == changed(&text(n)).as_bytes())
                && (0..OPEN).all(|n| live(&editor, bufs[n]) == changed(&mine(n)))
                && editor.path("new.txt").exists()
        });
        assert_eq!(editor.disk("new.txt"), b"new\n");
    }
    assert_eq!(std::fs::read(&outside).expect("it is there"), b"mine\n");
    editor.assert_quiet();
}

#[test]
fn a_checkpoint_is_chosen_from_a_list_and_one_undo_step_takes_the_way_back_back() {
    let editor = Setup::new().file("a.txt", text(0)).start();
    let buf = editor.edit("a.txt");
    let mut hand = Hand::start_with(&editor, json!({"write_approval": "review"}), &[]);
    let seen = hand.read("a.txt").expect("the text");
    hand.write("a.txt", &changed(&seen));
    hand.outcome().expect("it lands");
    editor.exec("Bosun checkpoint undo");
    editor.eventually("not while a turn runs", || editor.exec("messages").contains("cancel it first"));
    hand.end();
    // Both choices, in turn.
    editor.lua(
        "vim.ui.select = function(items, opts, done)
           _G.asked = _G.asked or {}
           table.insert(_G.asked, opts.prompt)
           done(items[1], 1)
         end",
        &[],
    );
    editor.exec("Bosun checkpoint");
    editor.eventually("the text of before", || live(&editor, buf) == text(0));
    let asked = editor.lua("return _G.asked", &[]);
    assert_eq!(asked, json!(["Go back to before", "1 file: a.txt"]));
    editor.eventually("also on the disk", || editor.disk("a.txt") == text(0).as_bytes());
    editor.input("u");
    editor.eventually("one step", || live(&editor, buf) == changed(&text(0)));
    editor.assert_quiet();
}

#[test]
fn a_way_back_undone_with_u_can_be_gone_again() {
    let editor = Setup::new().file("a.txt", "a\nc\n").start();
    let buf = editor.edit("a.txt");
    let mut hand = Hand::start_with(&editor, json!({"write_approval": "review"}), &[]);
    hand.read("a.txt").expect("the text");
    hand.write("a.txt", "a\nAGENT\nc\n");
    hand.outcome().expect("it lands");
    let session = hand.session.clone();
    hand.end();
    let number = first(&editor, &session);
    let back = || editor.lua("assert(require('bosun').restore(...))", std::slice::from_ref(&number));
    back();
    editor.eventually("the text of before, saved", || {
        live(&editor, buf) == "a\nc\n" && editor.disk("a.txt") == b"a\nc\n"
    });
    editor.input("u");
    editor.eventually("one step", || live(&editor, buf) == "a\nAGENT\nc\n");
    back();
    editor.eventually("the text of before again", || live(&editor, buf) == "a\nc\n");
    editor.assert_quiet();
}
