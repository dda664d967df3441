//! What Bosun is for: an agent works on the text that a person sees, saved or not, and nothing lands unseen.

use bosun_tests::steps::*;
use bosun_tests::{Editor, Setup};
use serde_json::{Value, json};

const DISK: &str = "one\ntwo\nthree\n";
const SCREEN: &str = "one\nTWO, not saved\nthree\n";
const EDITED: &str = "one\nTWO, not saved\nTHREE\n";

/// a.txt is open, and its second line is changed but not saved.
fn unsaved() -> (Editor, i64) {
    let editor = Setup::new().file("a.txt", DISK).start();
    let buf = editor.edit("a.txt");
    editor.input("jccTWO, not saved<Esc>");
    editor.eventually("the typed line", || editor.lines(buf).join("\n") + "\n" == SCREEN);
    (editor, buf)
}

fn text(editor: &Editor, buf: i64) -> String {
    editor.lines(buf).join("\n") + "\n"
}

/// Undo steps made so far.
fn steps(editor: &Editor, buf: i64) -> i64 {
    editor.lua("return vim.fn.undotree(...).seq_last", &[buf.into()]).as_i64().expect("a number")
}

#[test]
fn the_agent_reads_the_line_that_is_on_screen_and_not_on_disk() {
    let (editor, buf) = unsaved();
    let agent = editor.script(&[auto(), prompt(), read(1, "a.txt"), answered(1), end_turn()]);
    editor.ask("look");
    assert_eq!(editor.turn_end(1), "end_turn");
    assert_eq!(agent.read().replies(&json!(1))[0]["result"]["content"], SCREEN);
    assert_eq!(editor.disk("a.txt"), DISK.as_bytes());
    assert_eq!(text(&editor, buf), SCREEN);
    editor.assert_sound(&agent);
}

#[test]
fn reads_of_an_open_buffer_make_no_call_and_are_answered_at_the_hit_enter_prompt() {
    let (editor, _) = unsaved();
    let (started, go, done) = (editor.aside("started"), editor.aside("go"), editor.aside("done"));
    let mut story = vec![auto(), prompt(), touch(&started), gate(&go)];
    for id in 100..150 {
        story.extend([read(id, "a.txt"), answered_with(id, json!({"result": {"content": SCREEN}}))]);
    }
    story.extend([touch(&done), end_turn()]);
    let agent = editor.script(&story);
    editor.ask("look");
    editor.await_file(&started);
    editor.eventually("the turn is shown", || editor.events("BosunTurnStart").len() == 1);
    editor.hit_enter();
    editor.open_gate(&go);
    editor.await_file(&done);
    assert!(editor.mode().1, "Neovim still waits at the prompt");
    editor.input("<CR>");
    assert_eq!(editor.turn_end(1), "end_turn");

    // The same again, now with the calls counted.
    let mut story = vec![auto(), prompt(), gate(&go)];
    for id in 200..250 {
        story.extend([read(id, "a.txt"), answered(id)]);
    }
    story.extend([touch(&editor.aside("again")), gate(&editor.aside("end")), end_turn()]);
    let counted = editor.script(&story);
    std::fs::remove_file(&go).expect("the gate closes");
    let session = editor.ask("look again");
    editor.await_state(&session, "running");
    editor.eventually("the turn is shown", || editor.events("BosunTurnStart").len() == 2);
    editor.count_calls();
    editor.open_gate(&go);
    editor.await_file(&editor.aside("again"));
    let calls = editor.calls();
    // What shows the start of the turn may still arrive; fifty reads bring nothing of their own.
    assert!(!calls.contains_key("slice") && !calls.contains_key("edit"), "{calls:?}");
    assert!(calls.values().sum::<u64>() < 10, "{calls:?}");
    editor.open_gate(&editor.aside("end"));
    assert_eq!(editor.turn_end(2), "end_turn");
    editor.assert_sound(&agent);
    editor.assert_sound(&counted);
}

#[test]
fn a_permitted_edit_is_one_call_one_undo_step_and_the_right_bytes() {
    let (editor, buf) = unsaved();
    let (go, done) = (editor.aside("go"), editor.aside("done"));
    let agent = editor.script(&[
        auto(),
        prompt(),
        read(1, "a.txt"),
        answered(1),
        ask(2, edit_tool("t1", "a.txt", SCREEN, EDITED), allow_or_reject()),
        answered(2),
        gate(&go),
        write(3, "a.txt", EDITED),
        answered_with(3, json!({"result": {}})),
        touch(&done),
        end_turn(),
    ]);
    let before = steps(&editor, buf);
    editor.ask("change three");
    let question = editor.await_pending(1).remove(0);
    assert_eq!(text(&editor, buf), SCREEN, "nothing lands before the answer");
    editor.answer(&question, "allow_once");
    editor.await_pending(0);
    editor.count_calls();
    editor.open_gate(&go);
    editor.await_file(&done);
    assert_eq!(editor.turn_end(1), "end_turn");
    assert_eq!(editor.calls().get("edit"), Some(&1), "{:?}", editor.calls());
    assert_eq!(editor.calls().get("slice"), None, "{:?}", editor.calls());
    assert_eq!(editor.pending(), Vec::<Value>::new(), "the permission covers the write");
    assert_eq!(text(&editor, buf), EDITED);
    assert_eq!(editor.disk("a.txt"), EDITED.as_bytes());
    assert_eq!(editor.lua("return vim.bo[...].modified", &[buf.into()]), false);
    assert_eq!(steps(&editor, buf), before + 1);
    assert_eq!(editor.events("BosunFileWritten").len(), 1);
    editor.input("u");
    editor.eventually("the text as it was typed", || text(&editor, buf) == SCREEN);
    editor.input("u");
    editor.eventually("the text as it was opened", || text(&editor, buf) == DISK);
    editor.assert_sound(&agent);
}

#[test]
fn a_write_that_no_permission_covers_is_asked_about_first() {
    let (editor, buf) = unsaved();
    let agent = editor.script(&[
        auto(),
        prompt(),
        read(1, "a.txt"),
        answered(1),
        write(2, "a.txt", EDITED),
        answered_with(2, json!({"result": {}})),
        end_turn(),
    ]);
    editor.ask("change three");
    let question = editor.await_pending(1).remove(0);
    assert_eq!((text(&editor, buf).as_str(), editor.disk("a.txt").as_slice()), (SCREEN, DISK.as_bytes()));
    assert_eq!(editor.events("BosunPermission").len(), 1);
    editor.answer(&question, "allow_once");
    assert_eq!(editor.turn_end(1), "end_turn");
    assert_eq!(editor.disk("a.txt"), EDITED.as_bytes());
    editor.assert_sound(&agent);
}

#[test]
fn a_permission_for_one_text_does_not_cover_another() {
    let (editor, buf) = unsaved();
    let other = EDITED.replace("THREE", "something else");
    let agent = editor.script(&[
        auto(),
        prompt(),
        read(1, "a.txt"),
        answered(1),
        ask(2, edit_tool("t1", "a.txt", SCREEN, EDITED), allow_or_reject()),
        answered(2),
        write(3, "a.txt", &other),
        answered_with(3, json!({"error": {}})),
        end_turn(),
    ]);
    editor.ask("change three");
    let first = editor.await_pending(1).remove(0);
    editor.answer(&first, "allow_once");
    let second = editor
        .wait_for("a question of its own", || editor.pending().into_iter().find(|q| q["id"] != first["id"]));
    editor.answer(&second, "reject_once");
    assert_eq!(editor.turn_end(1), "end_turn");
    assert_eq!((text(&editor, buf).as_str(), editor.disk("a.txt").as_slice()), (SCREEN, DISK.as_bytes()));
    editor.assert_sound(&agent);
}

#[test]
fn text_that_the_agent_has_not_seen_is_never_written_over() {
    let (editor, buf) = unsaved();
    let (read_it, go) = (editor.aside("read"), editor.aside("go"));
    let agent = editor.script(&[
        auto(),
        prompt(),
        read(1, "a.txt"),
        answered(1),
        touch(&read_it),
        gate(&go),
        write(2, "a.txt", EDITED),
        answered_with(2, json!({"result": {}})),
        end_turn(),
    ]);
    editor.ask("change three");
    editor.await_file(&read_it);
    editor.input("ggOtyped meanwhile<Esc>");
    editor.eventually("the typed line", || text(&editor, buf).starts_with("typed meanwhile\n"));
    editor.open_gate(&go);
    let question = editor.await_pending(1).remove(0);
    assert_eq!(text(&editor, buf), format!("typed meanwhile\n{SCREEN}"), "changed before it was allowed");
    editor.answer(&question, "allow_once");
    assert_eq!(editor.turn_end(1), "end_turn");
    let both = format!("typed meanwhile\n{EDITED}");
    assert_eq!(text(&editor, buf), both);
    assert_eq!(editor.disk("a.txt"), both.as_bytes());
    editor.assert_sound(&agent);
}

// B38
#[test]
fn cursors_marks_extmarks_folds_and_views_stay_with_their_text() {
    let old: String = (1..=40).map(|n| format!("line {n}\n")).collect();
    let new = format!("a\nb\nc\n{}", old.replace("line 18\n", "LINE 18\n"));
    let editor = Setup::new().file("a.txt", &old).start();
    let buf = editor.edit("a.txt");
    editor.lua(
        "vim.wo.foldmethod = 'manual'
         vim.cmd('12,15fold')
         vim.fn.setpos(\"'a\", { 0, 10, 1, 0 })
         vim.api.nvim_win_set_cursor(0, { 20, 0 })
         _G.first = vim.api.nvim_get_current_win()
         vim.cmd('split')
         _G.second = vim.api.nvim_get_current_win()
         vim.api.nvim_win_set_cursor(0, { 30, 0 })
         vim.cmd('tab split')
         _G.third = vim.api.nvim_get_current_win()
         vim.api.nvim_win_set_cursor(0, { 35, 0 })
         vim.cmd('tabprevious')
         _G.ns = vim.api.nvim_create_namespace('test')
         _G.mark = vim.api.nvim_buf_set_extmark(0, _G.ns, 24, 2, {})
         _G.top = vim.fn.line('w0', _G.second)
         vim.fn.setreg('\"', 'kept')
         vim.fn.setreg('/', 'kept too')",
        &[],
    );
    let agent = editor.script(&[
        auto(),
        prompt(),
        read(1, "a.txt"),
        answered(1),
        write(2, "a.txt", &new),
        answered_with(2, json!({"result": {}})),
        end_turn(),
    ]);
    editor.ask("edit");
    let question = editor.await_pending(1).remove(0);
    editor.answer(&question, "allow_once");
    assert_eq!(editor.turn_end(1), "end_turn");
    assert_eq!(text(&editor, buf), new);
    let seen = editor.lua(
        "local cursor = function(win) return vim.api.nvim_win_get_cursor(win)[1] end
         return {
           cursors = { cursor(_G.first), cursor(_G.second), cursor(_G.third) },
           mark = vim.api.nvim_buf_get_mark(0, 'a')[1],
           extmark = vim.api.nvim_buf_get_extmark_by_id(0, _G.ns, _G.mark, {}),
           fold = vim.api.nvim_win_call(_G.first, function()
             return { vim.fn.foldclosed(14), vim.fn.foldclosed(15), vim.fn.foldclosedend(15) }
           end),
           here = vim.api.nvim_get_current_win() == _G.second,
           registers = { vim.fn.getreg('\"'), vim.fn.getreg('/') },
         }",
        &[],
    );
    let expected = json!({
        "cursors": [23, 33, 38], "mark": 13, "extmark": [27, 2], "fold": [-1, 15, 18], "here": true,
        "registers": ["kept", "kept too"],
    });
    assert_eq!(seen, expected);
    editor.assert_sound(&agent);
}

#[test]
fn what_is_typed_around_an_edit_is_undone_apart_from_it() {
    let (editor, buf) = unsaved();
    let (ready, go) = (editor.aside("ready"), editor.aside("go"));
    let typed = SCREEN.replace("one\n", "one and some\n");
    let edited = typed.replace("three", "THREE");
    let agent = editor.script(&[
        auto(),
        prompt(),
        touch(&ready),
        gate(&go),
        read(1, "a.txt"),
        answered(1),
        write(2, "a.txt", &edited),
        answered_with(2, json!({"result": {}})),
        end_turn(),
    ]);
    editor.ask("change three");
    editor.await_file(&ready);
    editor.input("ggA and some");
    editor.eventually("the typed text", || text(&editor, buf) == typed);
    editor.open_gate(&go);
    let question = editor.await_pending(1).remove(0);
    editor.answer(&question, "allow_once");
    assert_eq!(editor.turn_end(1), "end_turn");
    assert_eq!(editor.mode().0, "i", "insert mode goes on");
    editor.input(" more<Esc>");
    editor.eventually("both", || text(&editor, buf) == edited.replace("some", "some more"));
    editor.input("u");
    editor.eventually("without what was typed after the edit", || text(&editor, buf) == edited);
    editor.input("u");
    editor.eventually("without the edit", || text(&editor, buf) == typed);
    editor.assert_sound(&agent);
}

#[test]
fn the_demo_agent_changes_an_unsaved_line_with_approval() {
    let (editor, buf) = unsaved();
    editor.setup(json!({"default_agent": "demo"}));
    let session = editor.ask("replace \"not saved\" with \"but edited\" in a.txt");
    let question = editor.await_pending(1).remove(0);
    assert_eq!(question["files"].as_array().map(Vec::len), Some(1), "{question}");
    editor.answer(&question, "allow_once");
    assert_eq!(editor.turn_end(1), "end_turn");
    let expected = SCREEN.replace("not saved", "but edited");
    assert_eq!(text(&editor, buf), expected);
    assert_eq!(editor.disk("a.txt"), expected.as_bytes());
    let transcript = editor.transcript(&session);
    assert!(transcript.contains("Replaced 1 place") && transcript.contains("line 2"), "{transcript}");
    editor.assert_quiet();
}

#[test]
fn unloaded_files_are_read_and_written_on_disk() {
    let editor = Setup::new().file("b.txt", "on disk\n").start();
    let agent = editor.script(&[
        auto(),
        prompt(),
        read(1, "b.txt"),
        answered_with(1, json!({"result": {"content": "on disk\n"}})),
        write(2, "new/folder/c.txt", "made\n"),
        answered_with(2, json!({"result": {}})),
        end_turn(),
    ]);
    editor.ask("make it");
    let question = editor.await_pending(1).remove(0);
    assert!(!editor.path("new").exists());
    editor.answer(&question, "allow_once");
    assert_eq!(editor.turn_end(1), "end_turn");
    assert_eq!(editor.disk("new/folder/c.txt"), b"made\n");
    editor.assert_sound(&agent);
}
