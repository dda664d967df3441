//! Questions that come while the chat is not in sight: each is noticed, told of once, and can be gone to.

use std::time::{Duration, Instant};

use bosun_tests::steps::*;
use bosun_tests::{Editor, Setup};
use serde_json::json;

/// How long it may take until a person can see that something is asked.
const NOTICED: Duration = Duration::from_millis(500);

/// A question comes when the person has typed `keys` and is in that mode; `back` brings them to normal mode. It must be
/// on the screen in time, be told of once, outlive the chat being opened and hidden, and be answered where
/// `:Bosun pending` leads.
fn is_noticed(editor: &Editor, keys: &str, mode: &str, back: &str) {
    let go = editor.aside("go");
    let tool = json!({"toolCallId": "t", "title": "remove all", "kind": "execute", "status": "pending"});
    let steps = [auto(), prompt(), gate(&go), ask(1, tool, allow_or_reject()), answered(1), end_turn()];
    let agent = editor.script(&steps);
    let session = editor.ask("go");
    editor.await_state(&session, "running");
    editor.input(keys);
    editor.eventually("the person is where they want to be", || editor.mode().0 == mode);
    let since = Instant::now();
    editor.open_gate(&go);
    editor.eventually("the note", || editor.screen().contains("remove all"));
    assert!(since.elapsed() < NOTICED, "{:?}", since.elapsed());
    assert_eq!(editor.mode().0, mode, "the person is still where they were");
    assert_eq!(editor.events("BosunPermission").len(), 1);

    editor.input(back);
    editor.eventually("normal mode", || editor.mode().0.starts_with('n'));
    for _ in 0..2 {
        editor.exec("Bosun toggle");
    }
    editor.input("<C-\\><C-n>");
    editor.eventually("the note again", || editor.screen().contains("remove all"));
    editor.exec("Bosun pending");
    editor.eventually("the panel has the focus", || {
        editor.lua("return vim.fn.line('$') > 1 and vim.bo.buftype == 'nofile'", &[]) == json!(true)
    });
    // A digit answers once the question has been there a while: it is typed until it counts.
    editor.eventually("the answer", || {
        if editor.pending().is_empty() {
            return true;
        }
        editor.input("2");
        false
    });
    assert_eq!(editor.turn_end(1), "end_turn");
    let outcome = &agent.read().replies(&json!(1))[0]["result"]["outcome"];
    assert_eq!(*outcome, json!({"outcome": "selected", "optionId": "no"}));
    assert_eq!(editor.events("BosunPermission").len(), 1, "told of once");
    editor.assert_sound(&agent);
}

// B65
#[test]
fn a_question_is_noticed_while_the_chat_is_hidden() {
    let editor = Setup::new().file("a.txt", "one\n").start();
    editor.edit("a.txt");
    is_noticed(&editor, "<Esc>", "n", "<Esc>");
}

// B65
#[test]
fn a_question_is_noticed_in_another_tab_page() {
    let editor = Setup::new().start();
    is_noticed(&editor, ":Bosun open<CR><C-\\><C-n>:tabnew<CR>i", "i", "<Esc>");
}

// B65
#[test]
fn a_question_is_noticed_on_the_command_line() {
    let editor = Setup::new().start();
    is_noticed(&editor, ":echo 'half a", "c", "<Esc>");
}

// B65
#[test]
fn a_question_is_noticed_while_one_types_into_a_terminal() {
    let editor = Setup::new().start();
    is_noticed(&editor, ":terminal cat<CR>i", "t", "<C-\\><C-n>");
}
