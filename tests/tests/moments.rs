//! The moment of an edit: it waits for what a person has begun, says so, lands by itself afterwards, and a cancel takes
//! it back.

use bosun_tests::{Editor, Hand, Setup};
use serde_json::{Value, json};

const OLD: &str = "line 1\nline 2\nline 3\nline 4\nline 5\nline 6\nline 7\nline 8\n";

fn new() -> String {
    format!("a\nb\n{OLD}")
}

fn text(editor: &Editor, buf: i64) -> String {
    editor.lines(buf).join("\n") + "\n"
}

fn await_text(editor: &Editor, buf: i64, what: &str, expected: &str) {
    editor.eventually(what, || text(editor, buf) == expected);
}

/// `a.txt` is open, and an agent may put two lines on its top.
fn permitted(editor: &Editor) -> (i64, Hand<'_>) {
    let buf = editor.edit("a.txt");
    let mut hand = Hand::start(editor);
    assert_eq!(hand.read("a.txt").as_deref(), Ok(OLD));
    hand.permit("a.txt", OLD, &new());
    (buf, hand)
}

/// The change is on its way: through us, or on the disk.
fn change(editor: &Editor, hand: &mut Hand, on_disk: bool) {
    if on_disk {
        std::fs::write(editor.path("a.txt"), new()).expect("a file");
    } else {
        hand.write("a.txt", &new());
    }
}

/// The editor was asked for the edit and has not made it.
fn it_waits(editor: &Editor, buf: i64) {
    editor.eventually("the edit", || editor.calls().contains_key("edit"));
    assert_eq!(text(editor, buf), OLD, "it waits");
}

fn said(editor: &Editor) -> usize {
    editor.exec("messages").matches("waits until").count()
}

fn start() -> Editor {
    Setup::new().file("a.txt", OLD).start()
}

/// A person types `begun`, the change comes, they type `rest`: their keys hit the lines they meant, which leaves `mine` of
/// the old text, and then the change is there.
fn check(begun: &str, mode: &str, rest: &str, mine: &str, says: &str) {
    for on_disk in [false, true] {
        let editor = start();
        let (buf, mut hand) = permitted(&editor);
        editor.input(begun);
        editor.eventually("the mode", || editor.mode() == (mode.into(), false));
        editor.count_calls();
        change(&editor, &mut hand, on_disk);
        it_waits(&editor, buf);
        editor.eventually("it is said", || editor.screen().contains(says));
        assert_eq!(text(&editor, buf), OLD);
        assert_eq!(editor.mode(), (mode.into(), false), "saying it changes no mode");
        editor.input(rest);
        let all = format!("a\nb\n{mine}");
        await_text(&editor, buf, &format!("both after {begun}{rest}, on disk: {on_disk}"), &all);
        let marks = "return #vim.api.nvim_buf_get_extmarks(0, vim.api.nvim_create_namespace('bosun.waits'), 0, -1, {})";
        assert_eq!(editor.lua(marks, &[]), 0, "nothing is said of it any more");
        if !on_disk {
            assert!(hand.outcome().is_ok());
            assert_eq!(String::from_utf8_lossy(&editor.disk("a.txt")), all);
        }
        assert_eq!(said(&editor), 1, "{}", editor.exec("messages"));
        hand.end();
    }
}

// B43
#[test]
fn an_operator_waits_for_its_motion_and_the_change_for_the_operator() {
    check(
        "5Gd",
        "no",
        "d",
        &OLD.replace("line 5\n", ""),
        "the change of a.txt waits until your command is finished",
    );
}

// B43
#[test]
fn a_selection_stays_on_its_lines_until_it_is_used() {
    let says = "the change of a.txt waits until you leave visual mode";
    check("5GVj", "V", "d", &OLD.replace("line 5\nline 6\n", ""), says);
    check("5Gvl", "v", "d", &OLD.replace("line 5", "ne 5"), says);
    check("5G<C-v>j", "\u{16}", "d", &OLD.replace("line 5\nline 6", "ine 5\nine 6"), says);
    let says = "the change of a.txt waits until you leave select mode";
    check("5Ggh", "s", "x<Esc>", &OLD.replace("line 5", "xine 5"), says);
}

// B43
#[test]
fn replace_mode_and_typing_into_a_block_are_waited_for() {
    let says = "the change of a.txt waits until you leave replace mode";
    check("5GR", "R", "X<BS>Y<Esc>", &OLD.replace("line 5", "Yine 5"), says);
    let says = "the change of a.txt waits until you leave insert mode";
    check("5G<C-v>jI", "i", "z<Esc>", &OLD.replace("line 5\nline 6", "zline 5\nzline 6"), says);
}

// B43
#[test]
fn an_open_command_line_window_is_waited_for() {
    for on_disk in [false, true] {
        let editor = start();
        let (buf, mut hand) = permitted(&editor);
        editor.input("q:");
        let open = "return vim.fn.getcmdwintype()";
        editor.eventually("the window", || editor.lua(open, &[]) == ":");
        editor.count_calls();
        change(&editor, &mut hand, on_disk);
        it_waits(&editor, buf);
        editor.eventually("it is said", || {
            editor.screen().contains("waits until the command-line window is closed")
        });
        editor.input(":q<CR>");
        await_text(&editor, buf, "the change", &new());
        if !on_disk {
            assert!(hand.outcome().is_ok());
        }
        hand.end();
    }
}

// B43
#[test]
fn a_macro_that_is_recorded_holds_the_persons_keys_and_no_others() {
    for on_disk in [false, true] {
        let editor = start();
        let (buf, mut hand) = permitted(&editor);
        editor.input("qa5Gd");
        editor.eventually("the operator", || editor.mode().0 == "no");
        editor.count_calls();
        change(&editor, &mut hand, on_disk);
        it_waits(&editor, buf);
        editor.input("d");
        await_text(&editor, buf, "both", &new().replace("line 5\n", ""));
        editor.input("x");
        await_text(&editor, buf, "one more", &new().replace("line 5\n", "").replace("line 6", "ine 6"));
        editor.input("q");
        editor.eventually("the end of the recording", || {
            editor.lua("return vim.fn.reg_recording()", &[]) == ""
        });
        assert_eq!(editor.lua("return vim.fn.getreg('a')", &[]), "5Gddx");
        if !on_disk {
            assert!(hand.outcome().is_ok());
        }
        hand.end();
    }
}

// B43
#[test]
fn a_command_that_waits_for_its_character_hits_the_line_it_was_meant_for() {
    for on_disk in [false, true] {
        let editor = start();
        let (buf, mut hand) = permitted(&editor);
        editor.input("5Gdf");
        editor.eventually("the character is awaited", || editor.mode().1);
        change(&editor, &mut hand, on_disk);
        if on_disk {
            assert_eq!(hand.read("a.txt").as_deref(), Ok(new().as_str()), "the change was seen");
        }
        assert!(editor.mode().1, "it is still awaited");
        editor.input("5");
        await_text(&editor, buf, "both", &new().replace("line 5", ""));
        if !on_disk {
            assert!(hand.outcome().is_ok());
        }
        hand.end();
    }
}

// B43
#[test]
fn a_mapping_that_may_change_no_text_is_waited_for() {
    for on_disk in [false, true] {
        let editor = start();
        let (buf, mut hand) = permitted(&editor);
        editor.lua(
            "vim.keymap.set('i', '<F5>', function()
               _G.inside = true
               vim.wait(10000, function() return _G.go_on end, 5)
               _G.inside = false
               return 'x'
             end, { expr = true })",
            &[],
        );
        editor.input("5GA<F5>");
        editor.eventually("the mapping runs", || editor.lua("return _G.inside", &[]) == true);
        editor.count_calls();
        change(&editor, &mut hand, on_disk);
        it_waits(&editor, buf);
        editor.eventually("it is tried again", || editor.calls().get("edit").is_some_and(|n| *n > 2));
        assert_eq!(text(&editor, buf), OLD);
        editor.lua("_G.go_on = true", &[]);
        await_text(&editor, buf, "both", &new().replace("line 5", "line 5x"));
        editor.input("y<Esc>");
        await_text(&editor, buf, "typing goes on there", &new().replace("line 5", "line 5xy"));
        if !on_disk {
            assert!(hand.outcome().is_ok());
        }
        assert!(said(&editor) <= 1, "{}", editor.exec("messages"));
        hand.end();
    }
}

// B43
#[test]
fn a_cancel_takes_back_a_change_that_waits() {
    let editor = start();
    let (buf, mut hand) = permitted(&editor);
    editor.input("5GV");
    editor.eventually("the mode", || editor.mode().0 == "V");
    editor.count_calls();
    change(&editor, &mut hand, false);
    it_waits(&editor, buf);
    editor.cancel(&hand.session);
    let error = hand.outcome().expect_err("it is refused");
    assert_eq!(error["code"], -32800, "{error}");
    let words =
        "return #vim.api.nvim_buf_get_extmarks(..., vim.api.nvim_create_namespace('bosun.waits'), 0, -1, {})";
    editor.eventually("nothing is said to wait", || editor.lua(words, &[buf.into()]) == 0);
    let before = editor.calls().get("edit").copied();
    editor.input("d");
    await_text(&editor, buf, "the person's", &OLD.replace("line 5\n", ""));
    // What the end of the mode sets free has gone to the sidecar and back once a read is answered.
    assert_eq!(hand.read("a.txt").as_deref(), Ok(OLD.replace("line 5\n", "").as_str()));
    assert_eq!(editor.calls().get("edit").copied(), before);
    assert_eq!(editor.disk("a.txt"), OLD.as_bytes());
    hand.end_as("cancelled");
}

#[test]
fn what_is_typed_while_a_change_lands_goes_on_in_its_line_and_is_a_step_of_its_own() {
    for on_disk in [false, true] {
        let editor = start();
        let (buf, mut hand) = permitted(&editor);
        editor.input("5GA and");
        await_text(&editor, buf, "what is typed", &OLD.replace("line 5", "line 5 and"));
        change(&editor, &mut hand, on_disk);
        await_text(&editor, buf, "the change", &new().replace("line 5", "line 5 and"));
        assert_eq!(editor.mode().0, "i");
        assert_eq!(editor.lua("return vim.api.nvim_win_get_cursor(0)", &[]), json!([7, 10]));
        editor.input(" more<Esc>");
        for expected in [
            new().replace("line 5", "line 5 and more"),
            new().replace("line 5", "line 5 and"),
            OLD.replace("line 5", "line 5 and"),
            OLD.to_owned(),
        ] {
            await_text(&editor, buf, "one step after the other", &expected);
            editor.input("u");
        }
        if !on_disk {
            assert!(hand.outcome().is_ok());
        }
        assert_eq!(said(&editor), 0, "nothing waited");
        hand.end();
    }
}

#[test]
fn a_change_that_waits_for_a_moment_only_is_not_spoken_of() {
    let editor = start();
    let (buf, mut hand) = permitted(&editor);
    editor.count_calls();
    // The person is quicker than anybody could read.
    editor.lua(
        "local edit = require('bosun.edit')
         local apply = edit.apply
         edit.apply = function(...)
           apply(...)
           edit.apply = apply
           vim.api.nvim_input('<Esc>')
         end",
        &[],
    );
    editor.input("5GV");
    editor.eventually("the mode", || editor.mode().0 == "V");
    change(&editor, &mut hand, false);
    assert!(hand.outcome().is_ok());
    assert_eq!(text(&editor, buf), new());
    assert_eq!(editor.pending(), Vec::<Value>::new());
    hand.end();
    assert_eq!(said(&editor), 0);
}
