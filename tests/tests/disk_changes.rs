//! Files that change on disk while they are open: the buffer follows, unsaved lines stay, and Neovim asks nothing.

use std::path::Path;
use std::time::{Duration, SystemTime};

use bosun_tests::steps::*;
use bosun_tests::{Editor, Hand, Setup};
use serde_json::{Value, json};

/// Lines that are changed here have others between them: neighbours would be in conflict.
const DISK: &str = "one\n-\ntwo\n-\nthree\n-\nfour\n-\nfive\n-\nsix\n";

fn text(editor: &Editor, buf: i64) -> String {
    editor.lines(buf).join("\n") + "\n"
}

fn await_text(editor: &Editor, buf: i64, what: &str, expected: &str) {
    editor.eventually(what, || text(editor, buf) == expected);
}

fn modified(editor: &Editor, buf: i64) -> bool {
    editor.lua("return vim.bo[...].modified", &[buf.into()]) == true
}

/// Undo steps made so far.
fn steps(editor: &Editor, buf: i64) -> i64 {
    editor.lua("return vim.fn.undotree(...).seq_last", &[buf.into()]).as_i64().expect("a number")
}

/// Somebody else writes the file: in place, and two seconds later by its time.
fn rewrite(path: &Path, text: &str) {
    std::fs::write(path, text).expect("a file");
    later(path, Duration::from_secs(2));
}

fn later(path: &Path, by: Duration) {
    let file = std::fs::File::options().write(true).open(path).expect("a file");
    let time = file.metadata().and_then(|m| m.modified()).expect("a time");
    file.set_modified(time + by).expect("a time");
}

/// Neovim has not asked, complained or warned, and does not when the person looks and saves.
fn nothing_is_asked(editor: &Editor, buf: i64, expected: &str, name: &str) {
    editor.exec("checktime");
    editor.lua("vim.api.nvim_set_current_buf(...)", &[buf.into()]);
    editor.input("<Esc>:w<CR>");
    editor.eventually("it is saved", || editor.mode().0 == "n" && !modified(editor, buf));
    assert_eq!(String::from_utf8_lossy(&editor.disk(name)), expected);
    assert_eq!(text(editor, buf), expected);
    let messages = editor.exec("messages");
    assert!(
        !messages.contains("W11:") && !messages.contains("W12:") && !messages.contains("WARNING"),
        "{messages}"
    );
    editor.assert_quiet();
}

// B01
#[test]
fn an_unmodified_buffer_is_read_as_the_file_is_now_and_follows_it() {
    let rename = |path: &Path, text: &str| {
        let beside = path.with_extension("new");
        std::fs::write(&beside, text).expect("a file");
        std::fs::rename(&beside, path).expect("a rename");
    };
    let same_second = |path: &Path, text: &str| {
        let was = path.metadata().and_then(|m| m.modified()).expect("a time");
        let since = was.duration_since(SystemTime::UNIX_EPOCH).expect("a time");
        let other = if since.subsec_micros() > 500_000 { 1000 } else { 999_000 };
        std::fs::write(path, text).expect("a file");
        let file = std::fs::File::options().write(true).open(path).expect("a file");
        let whole = SystemTime::UNIX_EPOCH + Duration::from_secs(since.as_secs());
        file.set_modified(whole + Duration::from_micros(other)).expect("a time");
    };
    type Way<'a> = (&'a str, &'a dyn Fn(&Path, &str));
    let ways: [Way<'_>; 3] =
        [("rewritten.txt", &rewrite), ("renamed.txt", &rename), ("same.txt", &same_second)];
    let mut setup = Setup::new();
    for (name, _) in ways {
        setup = setup.file(name, "one\n");
    }
    let editor = setup.start();
    let bufs: Vec<i64> = ways.iter().map(|(name, _)| editor.edit(name)).collect();
    let mut hand = Hand::start(&editor);
    for ((name, change), buf) in ways.iter().zip(bufs) {
        assert_eq!(hand.read(name).as_deref(), Ok("one\n"));
        change(&editor.path(name), "two\n");
        assert_eq!(hand.read(name).as_deref(), Ok("two\n"), "{name}");
        await_text(&editor, buf, "the buffer follows", "two\n");
        assert!(!modified(&editor, buf), "{name}");
        nothing_is_asked(&editor, buf, "two\n", name);
    }
    hand.end();
}

// B02
#[test]
fn unsaved_lines_and_a_change_on_disk_at_the_same_place_are_for_the_person_to_decide() {
    for (option, chosen, other) in [("ours", "user\n", "ext\n"), ("theirs", "ext\n", "user\n")] {
        let editor = Setup::new().file("a.txt", "one\n").start();
        let buf = editor.edit("a.txt");
        let mut hand = Hand::start(&editor);
        assert_eq!(hand.read("a.txt").as_deref(), Ok("one\n"));
        editor.input("ccuser<Esc>");
        await_text(&editor, buf, "the typed line", "user\n");
        std::fs::write(editor.path("a.txt"), "ext\n").expect("a file");
        assert_eq!(hand.read("a.txt").as_deref(), Ok("user\n"), "the unsaved text is what is read");
        let question = hand.question();
        assert!(question["title"].as_str().is_some_and(|t| t.contains("a.txt")), "{question}");
        hand.write("a.txt", "agent\n");
        assert_eq!((text(&editor, buf).as_str(), editor.disk("a.txt").as_slice()), ("user\n", &b"ext\n"[..]));
        editor.assert_quiet();
        editor.answer(&question, option);
        let own = editor.wait_for("the question of the write", || {
            editor.pending().into_iter().find(|q| q["id"] != question["id"])
        });
        let title = own["title"].as_str().unwrap_or_default();
        assert!(!title.contains("on disk"), "asked once: after {question} came {own}");
        assert!(!hand.is_answered());
        assert_eq!(text(&editor, buf), chosen, "{option}");
        editor.answer(&own, "reject_once");
        assert!(hand.outcome().is_err(), "{option}");
        assert_eq!(text(&editor, buf), chosen, "{option}");
        assert_eq!(editor.disk("a.txt"), chosen.as_bytes(), "{option}");
        // Either way both texts can be had back.
        let states = editor.lua(
            "local buf, seen = ..., {}
             for seq = 0, vim.fn.undotree(buf).seq_last do
               vim.cmd('silent undo ' .. seq)
               seen[#seen + 1] = vim.api.nvim_buf_get_lines(buf, 0, -1, true)[1] .. '\\n'
             end
             return seen",
            &[buf.into()],
        );
        assert!(states.as_array().is_some_and(|s| s.contains(&json!(other))), "{option}: {states}");
        hand.end();
    }
}

// B14
#[test]
fn an_agent_that_writes_the_disk_and_through_us_changes_the_text_once() {
    let v2 = DISK.replace("two", "TWO");
    let v3 = v2.replace("four", "FOUR");
    for disk_first in [true, false] {
        let editor = Setup::new().file("a.txt", DISK).start();
        let buf = editor.edit("a.txt");
        let mut hand = Hand::start(&editor);
        assert_eq!(hand.read("a.txt").as_deref(), Ok(DISK));
        let before = steps(&editor, buf);
        if disk_first {
            rewrite(&editor.path("a.txt"), &v2);
            hand.write("a.txt", &v2);
            assert!(hand.outcome_unasked().is_ok());
        } else {
            hand.write_allowed("a.txt", &v2);
            rewrite(&editor.path("a.txt"), &v2);
            hand.write("a.txt", &v2);
            assert!(hand.outcome_unasked().is_ok());
        }
        await_text(&editor, buf, "the change", &v2);
        hand.write("a.txt", &v2);
        assert!(hand.outcome_unasked().is_ok());
        assert_eq!(steps(&editor, buf), before + 1, "one step; the disk first: {disk_first}");
        assert!(!modified(&editor, buf));
        // And once the disk has another text than what is written then.
        rewrite(&editor.path("a.txt"), &v2.replace("six", "SIX"));
        hand.write_allowed("a.txt", &v3);
        let both = v3.replace("six", "SIX");
        await_text(&editor, buf, "both changes", &both);
        assert_eq!(String::from_utf8_lossy(&editor.disk("a.txt")), both);
        assert!(!modified(&editor, buf));
        nothing_is_asked(&editor, buf, &both, "a.txt");
        hand.end();
    }
}

// B14
#[test]
fn a_line_of_the_persons_survives_an_agent_that_writes_the_disk_and_through_us() {
    let v2 = DISK.replace("two", "TWO");
    let mine = |text: &str| text.replace("five", "MINE");
    for disk_first in [true, false] {
        let editor = Setup::new().file("a.txt", DISK).start();
        let buf = editor.edit("a.txt");
        let mut hand = Hand::start(&editor);
        assert_eq!(hand.read("a.txt").as_deref(), Ok(DISK));
        editor.input("9GccMINE<Esc>");
        await_text(&editor, buf, "the typed line", &mine(DISK));
        if disk_first {
            rewrite(&editor.path("a.txt"), &v2);
            await_text(&editor, buf, "both", &mine(&v2));
            assert!(modified(&editor, buf), "the person's line is not on disk");
            hand.write("a.txt", &v2);
            assert!(hand.outcome_unasked().is_ok());
        } else {
            hand.write_allowed("a.txt", &v2);
            await_text(&editor, buf, "both", &mine(&v2));
            rewrite(&editor.path("a.txt"), &v2);
        }
        hand.write("a.txt", &v2);
        assert!(hand.outcome_unasked().is_ok());
        await_text(&editor, buf, "one change, and the person's", &mine(&v2));
        nothing_is_asked(&editor, buf, &mine(&v2), "a.txt");
        // What the person added stays also when the agent goes on from its own text.
        rewrite(&editor.path("a.txt"), &mine(&v2).replace("six", "SIX"));
        hand.write_allowed("a.txt", &v2.replace("one", "ONE"));
        let all = mine(&v2).replace("six", "SIX").replace("one", "ONE");
        await_text(&editor, buf, "all", &all);
        nothing_is_asked(&editor, buf, &all, "a.txt");
        hand.end();
    }
}

fn edited(name: &str, status: &str) -> Value {
    let locations = json!([{"path": format!("$CWD/{name}")}]);
    update(json!({
        "sessionUpdate": "tool_call", "toolCallId": "t1", "title": format!("Edit {name}"), "kind": "edit",
        "status": status, "locations": locations,
    }))
}

// B16
#[test]
fn unsaved_lines_survive_a_file_that_the_agent_changed_by_itself() {
    let editor = Setup::new().file("a.txt", DISK).file("other.txt", "other\n").start();
    let other = editor.edit("other.txt");
    editor.input("ccOTHER<Esc>");
    await_text(&editor, other, "the other typed line", "OTHER\n");
    let buf =
        editor.lua("vim.o.hidden = true; vim.cmd.edit('a.txt'); return vim.api.nvim_get_current_buf()", &[]);
    let buf = buf.as_i64().expect("a buffer");
    editor.input("9GccMINE<Esc>");
    let mine = DISK.replace("five", "MINE");
    await_text(&editor, buf, "the typed line", &mine);
    let mut hand = Hand::start_with(&editor, json!({}), &[edited("a.txt", "completed")]);
    // Elsewhere in the file: both are there.
    rewrite(&editor.path("a.txt"), &DISK.replace("two", "TWO"));
    await_text(&editor, buf, "both", &mine.replace("two", "TWO"));
    assert!(modified(&editor, buf));
    assert_eq!(editor.pending(), Vec::<Value>::new());
    let told = editor.await_transcript(&hand.session, "a.txt changed on disk and was merged with your text");
    assert!(!told.contains("by whom"), "the agent named it: {told}");
    // At the same place: the person is asked, and nothing lands by itself.
    rewrite(&editor.path("a.txt"), &DISK.replace("two", "TWO").replace("five", "the agent's"));
    let question = hand.question();
    assert_eq!(text(&editor, buf), mine.replace("two", "TWO"));
    editor.answer(&question, "ours");
    editor.await_pending(0);
    await_text(&editor, buf, "the person's", &mine.replace("two", "TWO"));
    assert_eq!(text(&editor, other), "OTHER\n");
    assert!(modified(&editor, other));
    assert_eq!(editor.disk("other.txt"), b"other\n");
    hand.end();
}

#[test]
fn a_change_that_no_tool_call_names_is_said_to_be_nobodys() {
    let editor = Setup::new().file("a.txt", DISK).start();
    let buf = editor.edit("a.txt");
    let hand = Hand::start(&editor);
    rewrite(&editor.path("a.txt"), &DISK.replace("two", "TWO"));
    await_text(&editor, buf, "the change", &DISK.replace("two", "TWO"));
    editor.await_transcript(
        &hand.session,
        "a.txt changed on disk and its buffer follows (it is not known by whom).",
    );
    hand.end();
}

fn numbered(n: usize) -> String {
    (1..=n).map(|n| format!("line {n}\n")).collect()
}

// B17
#[test]
fn undo_goes_back_behind_a_change_on_disk_in_a_file_of_twelve_thousand_lines() {
    let editor = Setup::new().file("a.txt", numbered(12_000)).start();
    let buf = editor.edit("a.txt");
    let mut texts = vec![numbered(12_000)];
    for line in [10, 6000, 11_990] {
        editor.input(&format!("{line}GAmine<Esc>:w<CR>"));
        texts.push(texts[texts.len() - 1].replace(&format!("line {line}\n"), &format!("line {line}mine\n")));
        await_text(&editor, buf, "the typed text", &texts[texts.len() - 1]);
        editor.eventually("it is saved", || !modified(&editor, buf));
    }
    let hand = Hand::start_with(&editor, json!({}), &[edited("a.txt", "completed")]);
    let theirs = texts[3].replace("line 7000\n", "the agent's\n");
    rewrite(&editor.path("a.txt"), &theirs);
    await_text(&editor, buf, "the agent's line", &theirs);
    assert!(!modified(&editor, buf));
    for expected in texts.iter().rev() {
        editor.input("u");
        await_text(&editor, buf, "one step back", expected);
        assert!(modified(&editor, buf), "that is not on disk");
    }
    editor.input("4<C-r>");
    await_text(&editor, buf, "all again", &theirs);
    nothing_is_asked(&editor, buf, &theirs, "a.txt");
    hand.end();
}

#[test]
fn windows_folds_and_marks_stay_when_a_change_on_disk_is_followed() {
    for lines in [40, 12_000] {
        let old = numbered(lines);
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
             _G.mark = vim.api.nvim_buf_set_extmark(0, _G.ns, 24, 2, {})",
            &[],
        );
        let hand = Hand::start(&editor);
        rewrite(&editor.path("a.txt"), &new);
        await_text(&editor, buf, "the change", &new);
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
             }",
            &[],
        );
        let expected = json!({
            "cursors": [23, 33, 38], "mark": 13, "extmark": [27, 2], "fold": [-1, 15, 18], "here": true,
        });
        assert_eq!(seen, expected, "{lines} lines");
        hand.end();
    }
}

#[test]
fn looking_and_coming_back_at_any_time_ask_nothing_and_follow() {
    let editor = Setup::new().file("a.txt", DISK).start();
    let buf = editor.edit("a.txt");
    let mut hand = Hand::start(&editor);
    assert_eq!(hand.read("a.txt").as_deref(), Ok(DISK));
    let mut expected = DISK.to_owned();
    for (n, look) in ["checktime", "doautocmd FocusGained", "checktime", "buffer"].into_iter().enumerate() {
        expected = format!("{expected}more {n}\n");
        rewrite(&editor.path("a.txt"), &expected);
        editor.exec(look);
        await_text(&editor, buf, look, &expected);
        assert!(!modified(&editor, buf), "{look}");
    }
    // With unsaved lines too, also while a question about a write is open.
    editor.input("9GccMINE<Esc>");
    expected = expected.replace("five", "MINE");
    await_text(&editor, buf, "the typed line", &expected);
    let base = hand.read("a.txt").expect("a text");
    hand.write("a.txt", &base.replace("one", "ONE"));
    let question = hand.question();
    rewrite(&editor.path("a.txt"), &String::from_utf8_lossy(&editor.disk("a.txt")).replace("two", "TWO"));
    for look in ["checktime", "doautocmd FocusGained", "checktime"] {
        editor.exec(look);
        editor.assert_quiet();
    }
    expected = expected.replace("two", "TWO");
    await_text(&editor, buf, "the disk's line", &expected);
    let open = editor.pending();
    assert_eq!(open.len(), 1, "{open:?}");
    editor.answer(&open[0], "allow_once");
    assert!(hand.outcome().is_ok(), "first asked as {question}");
    expected = expected.replace("one", "ONE");
    await_text(&editor, buf, "all", &expected);
    nothing_is_asked(&editor, buf, &expected, "a.txt");
    hand.end();
}

#[test]
fn between_turns_a_look_makes_the_buffer_follow_and_saving_asks_nothing() {
    let editor = Setup::new().file("a.txt", DISK).start();
    let buf = editor.edit("a.txt");
    let mut hand = Hand::start(&editor);
    assert_eq!(hand.read("a.txt").as_deref(), Ok(DISK));
    hand.end();
    let new = DISK.replace("two", "TWO");
    rewrite(&editor.path("a.txt"), &new);
    editor.exec("checktime");
    await_text(&editor, buf, "the change", &new);
    editor.input("9GccMINE<Esc>");
    nothing_is_asked(&editor, buf, &new.replace("five", "MINE"), "a.txt");
}

#[test]
fn a_change_on_disk_while_neovim_waits_for_enter_lands_afterwards() {
    let editor = Setup::new().file("a.txt", DISK).start();
    let buf = editor.edit("a.txt");
    let mut hand = Hand::start(&editor);
    assert_eq!(hand.read("a.txt").as_deref(), Ok(DISK));
    editor.hit_enter();
    let new = DISK.replace("two", "TWO");
    rewrite(&editor.path("a.txt"), &new);
    assert_eq!(hand.read("a.txt").as_deref(), Ok(new.as_str()), "read at the prompt");
    assert!(editor.mode().1, "Neovim still waits");
    editor.input("<CR>");
    await_text(&editor, buf, "the change", &new);
    nothing_is_asked(&editor, buf, &new, "a.txt");
    hand.end();
}

#[test]
fn a_buffer_stays_when_its_file_goes_and_the_agent_reads_it() {
    let editor = Setup::new().file("a.txt", DISK).start();
    let buf = editor.edit("a.txt");
    let mut hand = Hand::start(&editor);
    assert_eq!(hand.read("a.txt").as_deref(), Ok(DISK));
    std::fs::remove_file(editor.path("a.txt")).expect("it is removed");
    editor.exec("checktime");
    assert_eq!(hand.read("a.txt").as_deref(), Ok(DISK));
    assert_eq!(text(&editor, buf), DISK);
    assert!(!editor.path("a.txt").exists());
    editor.eventually("it is said", || editor.exec("messages").contains("a.txt is gone from the disk"));
    editor.assert_quiet();
    // It comes back as something else.
    rewrite(&editor.path("a.txt"), "another\n");
    editor.exec("checktime");
    await_text(&editor, buf, "the new file", "another\n");
    nothing_is_asked(&editor, buf, "another\n", "a.txt");
    hand.end();
}

#[test]
fn a_file_that_is_no_text_any_more_is_shown_as_neovim_opens_it() {
    for (bytes, shown) in [(&b"caf\xe9\n"[..], "caf\u{e9}"), (b"\xff\0bin\n", "\u{ff}\0bin")] {
        let editor = Setup::new().file("a.txt", "one\n").start();
        let buf = editor.edit("a.txt");
        let mut hand = Hand::start(&editor);
        assert_eq!(hand.read("a.txt").as_deref(), Ok("one\n"));
        std::fs::write(editor.path("a.txt"), bytes).expect("a file");
        later(&editor.path("a.txt"), Duration::from_secs(2));
        editor.exec("checktime");
        await_text(&editor, buf, "the file", &format!("{shown}\n"));
        assert_eq!(editor.lua("return vim.bo[...].fileencoding", &[buf.into()]), "latin1");
        assert!(!modified(&editor, buf));
        let read = Ok(format!("{shown}\n"));
        // Until the mirror is there anew, it is a file like any other.
        editor.eventually("the text is read", || hand.read("a.txt") == read);
        editor.input("u");
        await_text(&editor, buf, "what was there before", "one\n");
        editor.assert_quiet();
        hand.end();
    }
}

#[test]
fn once_its_session_is_closed_a_buffer_is_neovims_own_again() {
    let editor = Setup::new().file("a.txt", "one\n").start();
    let buf = editor.edit("a.txt");
    let mut hand = Hand::start(&editor);
    assert_eq!(hand.read("a.txt").as_deref(), Ok("one\n"));
    let session = hand.session.clone();
    hand.end();
    editor.lua("require('bosun').close({ session = ... })", &[json!(session)]);
    editor.eventually("its own 'autoread'", || {
        editor.lua("return vim.bo[...].autoread == nil", &[buf.into()]) == true
    });
    rewrite(&editor.path("a.txt"), "two\n");
    editor.exec("checktime");
    await_text(&editor, buf, "the change", "two\n");
    assert!(!modified(&editor, buf));
}

#[test]
fn a_file_that_is_none_of_a_sessions_is_looked_after_by_neovim_as_ever() {
    let editor = Setup::new().file("a.txt", DISK).start();
    let outside = editor.aside("outside.txt");
    std::fs::write(&outside, "one\n").expect("a file");
    let buf = editor.lua("vim.cmd.edit(...); return vim.api.nvim_get_current_buf()", &[json!(outside)]);
    let buf = buf.as_i64().expect("a buffer");
    editor.exec("split");
    let own = editor.edit("a.txt");
    let autoread = "return { vim.bo[...].autoread == nil, vim.go.autoread }";
    let mut hand = Hand::start(&editor);
    assert_eq!(hand.read("a.txt").as_deref(), Ok(DISK));
    assert_eq!(editor.lua(autoread, &[own.into()]), json!([false, true]));
    assert_eq!(editor.lua(autoread, &[buf.into()]), json!([true, true]));
    rewrite(&outside, "two\n");
    editor.exec("checktime");
    assert_eq!(text(&editor, buf), "two\n", "'autoread' loads it");
    hand.end();
    // Where Neovim would ask, it asks.
    editor.lua("vim.api.nvim_set_current_buf(...); vim.bo.modified = true", &[buf.into()]);
    rewrite(&outside, "three\n");
    editor.input(":checktime<CR>");
    editor.eventually("the question", || editor.screen().contains("W12"));
    editor.input("<CR><CR>");
    editor.eventually("the end of it", || !editor.mode().1);
}

#[test]
fn a_file_that_comes_into_being_under_its_new_buffer_is_followed_and_nothing_is_asked() {
    let editor = Setup::new().file("a.txt", DISK).start();
    editor.edit("a.txt");
    let buf = editor.edit("new.txt");
    let mut hand = Hand::start(&editor);
    assert!(hand.read("a.txt").is_ok());
    std::fs::write(editor.path("new.txt"), DISK).expect("a file");
    editor.input(":checktime<CR>");
    await_text(&editor, buf, "the file", DISK);
    let new = DISK.replace("two", "TWO");
    rewrite(&editor.path("new.txt"), &new);
    editor.input(":checktime<CR>");
    await_text(&editor, buf, "its change", &new);
    editor.input("9GccMINE<Esc>");
    nothing_is_asked(&editor, buf, &new.replace("five", "MINE"), "new.txt");
    hand.end();
}
