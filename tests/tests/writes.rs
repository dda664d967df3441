//! Writes that meet something: another Neovim, a person's own changes, a formatter, a file that may not be written.

use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;

use bosun_tests::{Editor, Hand, Setup};
use serde_json::{Value, json};

/// Lines that are changed here have others between them: neighbours would be in conflict.
const OLD: &str = "one\n-\ntwo\n-\nthree\n-\nfour\n-\nfive\n";

fn text(editor: &Editor, buf: i64) -> String {
    editor.lines(buf).join("\n") + "\n"
}

fn await_text(editor: &Editor, buf: i64, what: &str, expected: &str) {
    editor.eventually(what, || text(editor, buf) == expected);
}

fn on_disk(editor: &Editor, name: &str) -> String {
    String::from_utf8_lossy(&editor.disk(name)).into_owned()
}

fn modified(editor: &Editor, buf: i64) -> bool {
    editor.lua("return vim.bo[...].modified", &[buf.into()]) == true
}

fn steps(editor: &Editor, buf: i64) -> i64 {
    editor.lua("return vim.fn.undotree(...).seq_last", &[buf.into()]).as_i64().expect("a number")
}

/// The refusal, in words.
fn refused(outcome: Result<Value, Value>) -> String {
    let error = outcome.expect_err("it is refused");
    error["message"].as_str().unwrap_or_default().to_owned()
}

/// A second Neovim with this file open: its channel. With `change`, its text has an unsaved change.
fn other_neovim(editor: &Editor, name: &str, change: bool) -> Value {
    editor.lua(
        "local path, change = ...
         local other = vim.fn.jobstart({ vim.v.progpath, '--embed', '--headless' }, { rpc = true })
         vim.rpcrequest(other, 'nvim_exec_lua', [[
           local path, change = ...
           vim.cmd.edit(path)
           if change then vim.api.nvim_buf_set_lines(0, 0, 1, true, { 'theirs' }) end
           vim.cmd.preserve()
         ]], { path, change })
         return other",
        &[json!(editor.path(name)), change.into()],
    )
}

// B08
#[test]
fn a_file_that_another_neovim_changes_is_read_at_once_and_the_question_says_so() {
    let editor = Setup::new().file("a.txt", OLD).file("b.txt", OLD).alone().start();
    let other = other_neovim(&editor, "a.txt", true);
    let mut hand = Hand::start(&editor);
    assert_eq!(hand.read("a.txt").as_deref(), Ok(OLD));
    assert!(hand.took_ms() < 1000.0, "{} ms", hand.took_ms());
    hand.write("a.txt", &OLD.replace("two", "TWO"));
    let question = hand.question();
    editor.await_transcript(&hand.session, "Another Neovim");
    let shown = editor.transcript(&hand.session);
    assert!(shown.contains("has it open with unsaved changes"), "{shown}");
    editor.assert_quiet();
    assert_eq!(on_disk(&editor, "a.txt"), OLD);
    editor.answer(&question, "reject_once");
    assert!(hand.outcome().is_err());
    assert_eq!(on_disk(&editor, "a.txt"), OLD);
    // The other one goes on undisturbed, and leaves no swap file behind that is ours.
    let theirs = "return vim.rpcrequest(..., 'nvim_buf_get_lines', 0, 0, 1, true)[1]";
    assert_eq!(editor.lua(theirs, std::slice::from_ref(&other)), "theirs");
    // A file that nobody has open needs no such word, and the agent's work leaves no swap file.
    hand.write_allowed("b.txt", &OLD.replace("two", "TWO"));
    let swaps = "return #vim.fn.globpath(vim.fn.stdpath('state') .. '/swap', '*b.txt*', true, true)";
    assert_eq!(editor.lua(swaps, &[]), 0);
    hand.end();
    editor.lua("vim.fn.jobstop(...)", &[other]);
}

// B08
#[test]
fn a_swap_file_that_a_crash_left_is_told_of_and_in_nobodys_way() {
    let editor = Setup::new().file("a.txt", OLD).start();
    let other = other_neovim(&editor, "a.txt", true);
    editor.lua(
        "local pid = vim.fn.jobpid(...); vim.uv.kill(pid, 'sigkill'); vim.fn.jobwait({ ... }, 5000)",
        &[other],
    );
    let mut hand = Hand::start(&editor);
    assert_eq!(hand.read("a.txt").as_deref(), Ok(OLD));
    hand.write("a.txt", &OLD.replace("two", "TWO"));
    let question = hand.question();
    let shown = editor.await_transcript(&hand.session, "swap file with unsaved changes of a.txt");
    assert!(shown.contains("recover them first"), "{shown}");
    editor.assert_quiet();
    editor.answer(&question, "allow_once");
    assert!(hand.outcome().is_ok());
    assert_eq!(on_disk(&editor, "a.txt"), OLD.replace("two", "TWO"));
    hand.end();
}

// B13
#[test]
fn three_writes_in_a_row_all_land_as_a_step_each_also_where_buffers_are_not_hidden() {
    for mine in [false, true] {
        let editor =
            Setup::new().file("a.txt", OLD).init("vim.o.hidden = false; vim.o.autowrite = false").start();
        let buf = editor.edit("a.txt");
        let typed = |text: &str| if mine { text.replace("five", "MINE") } else { text.to_owned() };
        if mine {
            editor.input("GccMINE<Esc>");
            await_text(&editor, buf, "the typed line", &typed(OLD));
        }
        let mut hand = Hand::start(&editor);
        let before = steps(&editor, buf);
        let mut theirs = OLD.to_owned();
        for (n, word) in ["one", "two", "three"].into_iter().enumerate() {
            theirs = theirs.replace(word, &word.to_uppercase());
            hand.write_allowed("a.txt", &theirs);
            assert_eq!(text(&editor, buf), typed(&theirs));
            assert_eq!(on_disk(&editor, "a.txt"), typed(&theirs));
            assert_eq!(steps(&editor, buf), before + 1 + i64::try_from(n).expect("small"));
        }
        hand.end();
        editor.input("uuu");
        await_text(&editor, buf, "the text before", &typed(OLD));
    }
}

// B13
#[test]
fn a_write_over_the_persons_unsaved_line_is_one_decision_and_the_next_writes_go_on_from_it() {
    let editor = Setup::new().file("a.txt", OLD).init("vim.o.hidden = false").start();
    let buf = editor.edit("a.txt");
    editor.input("ccMINE<Esc>");
    let mine = OLD.replace("one", "MINE");
    await_text(&editor, buf, "the typed line", &mine);
    let mut hand = Hand::start(&editor);
    hand.write("a.txt", &OLD.replace("one", "ONE").replace("three", "THREE"));
    assert!(hand.outcome_after("ours").is_ok());
    assert_eq!(text(&editor, buf), mine.replace("three", "THREE"));
    let seen = hand.read("a.txt").expect("a text");
    hand.write_allowed("a.txt", &seen.replace("four", "FOUR"));
    let last = mine.replace("three", "THREE").replace("four", "FOUR");
    assert_eq!(text(&editor, buf), last);
    assert_eq!(on_disk(&editor, "a.txt"), last);
    hand.end();
}

// B19
#[test]
fn a_buffer_or_file_that_takes_no_write_is_an_error_and_stays_as_it_is() {
    let cases = [
        ("readonly", "vim.bo.readonly = true", "read-only"),
        ("nomodifiable", "vim.bo.modifiable = false", "not modifiable"),
        (
            "a command of its own that does not write",
            "vim.bo.buftype = 'acwrite'; vim.api.nvim_create_autocmd('BufWriteCmd', { buffer = 0, callback = function() end })",
            "",
        ),
        (
            "BufWriteCmd that does not write",
            "vim.api.nvim_create_autocmd('BufWriteCmd', { buffer = 0, callback = function() end })",
            "could not be saved",
        ),
        ("latin1", "vim.bo.fileencoding = 'latin1'; vim.bo.modified = false", "latin1"),
    ];
    for (what, lua, says) in cases {
        let editor = Setup::new().file("a.txt", OLD).start();
        let buf = editor.edit("a.txt");
        editor.lua(lua, &[]);
        let mut hand = Hand::start(&editor);
        hand.write("a.txt", &OLD.replace("two", "€"));
        let mut seen = Vec::new();
        editor.eventually("an answer", || {
            for question in editor.pending() {
                if !seen.contains(&question["id"]) {
                    seen.push(question["id"].clone());
                    editor.answer(&question, "allow_once");
                }
            }
            hand.is_answered()
        });
        match hand.outcome() {
            // A buffer that is no file's leaves the file to be written.
            Ok(_) => assert_eq!(on_disk(&editor, "a.txt"), OLD.replace("two", "€"), "{what}"),
            Err(error) => {
                let message = error["message"].as_str().unwrap_or_default();
                assert!(!says.is_empty() && message.contains(says), "{what}: {message}");
                assert_eq!(on_disk(&editor, "a.txt"), OLD, "{what}");
                let unsaved = message.contains("is in the editor's buffer");
                assert_eq!(text(&editor, buf) != OLD, unsaved, "{what}: {message}");
            }
        }
        hand.end();
    }
}

// B19
#[test]
fn a_write_command_of_the_buffers_own_that_writes_is_a_save() {
    let editor = Setup::new().file("a.txt", OLD).start();
    let buf = editor.edit("a.txt");
    editor.lua(
        "vim.api.nvim_create_autocmd('BufWriteCmd', { buffer = 0, callback = function(args)
           vim.fn.writefile(vim.api.nvim_buf_get_lines(args.buf, 0, -1, true), args.match)
           vim.bo[args.buf].modified = false
         end })",
        &[],
    );
    let mut hand = Hand::start(&editor);
    let new = OLD.replace("two", "TWO");
    hand.write_allowed("a.txt", &new);
    assert_eq!(on_disk(&editor, "a.txt"), new);
    assert_eq!(text(&editor, buf), new);
    hand.end();
}

// B19
#[test]
fn a_file_in_a_folder_that_takes_no_write_is_an_error() {
    for open in [false, true] {
        let editor = Setup::new().file("sub/a.txt", OLD).start();
        if editor.project().metadata().expect("a folder").uid() == 0 {
            // Nothing is forbidden to this user.
            return;
        }
        let mode = |path: &Path, mode| {
            std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).expect("a mode");
        };
        mode(&editor.path("sub/a.txt"), 0o444);
        mode(&editor.path("sub"), 0o555);
        if open {
            editor.edit("sub/a.txt");
        }
        let mut hand = Hand::start(&editor);
        hand.write("sub/a.txt", &OLD.replace("two", "TWO"));
        let outcome = hand.outcome_after("allow_once");
        mode(&editor.path("sub"), 0o755);
        refused(outcome);
        assert_eq!(on_disk(&editor, "sub/a.txt"), OLD);
        hand.end();
    }
}

// B19 B23
#[test]
fn a_buffer_that_is_wiped_while_the_question_is_open_leaves_the_write_to_the_disk() {
    let editor = Setup::new().file("a.txt", OLD).start();
    editor.edit("a.txt");
    let mut hand = Hand::start(&editor);
    let new = OLD.replace("two", "TWO");
    hand.write("a.txt", &new);
    let question = hand.question();
    editor.exec("bwipeout");
    editor.answer(&question, "allow_once");
    assert!(hand.outcome().is_ok());
    assert_eq!(on_disk(&editor, "a.txt"), new);
    hand.end();
}

// B20
#[test]
fn what_a_formatter_does_at_the_save_is_what_the_next_write_starts_from() {
    for reads in [false, true] {
        let editor = Setup::new().file("a.txt", OLD).start();
        let buf = editor.edit("a.txt");
        editor.lua(
            "vim.api.nvim_create_autocmd('BufWritePre', { buffer = 0, command = [[keeppatterns %s/\\s\\+$//e]] })",
            &[],
        );
        let mut hand = Hand::start(&editor);
        let sent = OLD.replace("two", "two  ").replace("four", "FOUR ");
        let clean = OLD.replace("four", "FOUR");
        hand.write_allowed("a.txt", &sent);
        assert_eq!((text(&editor, buf), on_disk(&editor, "a.txt")), (clean.clone(), clean.clone()));
        let base = match reads {
            true => hand.read("a.txt").expect("a text"),
            false => sent,
        };
        assert_eq!(reads, base == clean);
        hand.write("a.txt", &base.replace("three", "THREE"));
        let question = hand.question();
        assert_eq!(question["title"], "write a.txt", "{question}");
        editor.answer(&question, "allow_once");
        assert!(hand.outcome().is_ok());
        let last = clean.replace("three", "THREE");
        assert_eq!((text(&editor, buf), on_disk(&editor, "a.txt")), (last.clone(), last));
        hand.end();
    }
}

// B20
#[test]
fn a_formatter_that_comes_after_the_save_is_no_conflict_and_doubles_nothing() {
    for reads in [false, true] {
        let editor = Setup::new().file("a.txt", OLD).start();
        let buf = editor.edit("a.txt");
        editor.lua(
            "vim.api.nvim_create_autocmd('BufWritePost', { buffer = 0, callback = function(args)
               vim.defer_fn(function()
                 vim.api.nvim_buf_call(args.buf, function()
                   vim.cmd([[keeppatterns %s/\\s\\+$//e]])
                   vim.cmd('noautocmd update')
                 end)
                 _G.formatted = (_G.formatted or 0) + 1
               end, 300)
             end })",
            &[],
        );
        let mut hand = Hand::start(&editor);
        let sent = OLD.replace("two", "two  ").replace("four", "FOUR ");
        let clean = OLD.replace("four", "FOUR");
        hand.write_allowed("a.txt", &sent);
        assert_eq!(hand.read("a.txt").as_deref(), Ok(sent.as_str()), "read at once");
        let second = match reads {
            // Asked before the formatter comes, and answered afterwards.
            false => sent.replace("three", "THREE"),
            true => {
                editor.eventually("the formatter", || editor.lua("return _G.formatted", &[]) == 1);
                assert_eq!(hand.read("a.txt").as_deref(), Ok(clean.as_str()));
                clean.replace("three", "THREE")
            }
        };
        hand.write("a.txt", &second);
        hand.question();
        editor.eventually("the formatter", || editor.lua("return _G.formatted", &[]) == 1);
        await_text(&editor, buf, "the formatted text", &clean);
        let question = hand.question();
        assert_eq!(question["title"], "write a.txt", "{question}");
        editor.answer(&question, "allow_once");
        assert!(hand.outcome().is_ok());
        editor.eventually("the formatter again", || editor.lua("return _G.formatted", &[]) == 2);
        let last = clean.replace("three", "THREE");
        assert_eq!((text(&editor, buf), on_disk(&editor, "a.txt")), (last.clone(), last));
        assert!(!modified(&editor, buf));
        hand.end();
    }
}

// B23
#[test]
fn a_file_that_goes_while_its_question_is_open_is_made_anew_only_if_the_person_says_so() {
    for option in ["allow_once", "reject_once"] {
        let editor = Setup::new().file("a.txt", OLD).start();
        editor.edit("a.txt");
        let mut hand = Hand::start(&editor);
        assert_eq!(hand.read("a.txt").as_deref(), Ok(OLD));
        let new = OLD.replace("two", "TWO");
        hand.write("a.txt", &new);
        let first = hand.question();
        editor.lua("vim.fn.rename(...)", &[json!(editor.path("a.txt")), json!(editor.path("b.txt"))]);
        editor.exec("bwipeout a.txt");
        let b = editor.edit("b.txt");
        editor.answer(&first, "allow_once");
        let second = editor.wait_for("a choice of its own", || {
            editor.pending().into_iter().find(|q| q["id"] != first["id"])
        });
        assert!(!editor.path("a.txt").exists(), "nothing comes back by itself");
        editor.await_transcript(&hand.session, "no longer exists");
        editor.answer(&second, option);
        let outcome = hand.outcome();
        assert_eq!(outcome.is_ok(), option == "allow_once", "{outcome:?}");
        assert_eq!(editor.path("a.txt").exists(), option == "allow_once");
        if outcome.is_ok() {
            assert_eq!(on_disk(&editor, "a.txt"), new);
        }
        assert_eq!((text(&editor, b), on_disk(&editor, "b.txt")), (OLD.to_owned(), OLD.to_owned()));
        hand.end();
    }
}

// B23
#[test]
fn a_file_that_is_deleted_under_its_open_buffer_is_asked_about_in_words_that_say_so() {
    let editor = Setup::new().file("sub/a.txt", OLD).start();
    let buf = editor.edit("sub/a.txt");
    let mut hand = Hand::start(&editor);
    assert_eq!(hand.read("sub/a.txt").as_deref(), Ok(OLD));
    std::fs::remove_dir_all(editor.path("sub")).expect("it goes");
    hand.write("sub/a.txt", &OLD.replace("two", "TWO"));
    let question = hand.question();
    editor.await_transcript(&hand.session, "no longer exists");
    assert!(!editor.path("sub").exists());
    editor.answer(&question, "allow_once");
    assert!(hand.outcome().is_ok());
    assert_eq!(on_disk(&editor, "sub/a.txt"), OLD.replace("two", "TWO"));
    assert_eq!(text(&editor, buf), OLD.replace("two", "TWO"));
    assert!(!modified(&editor, buf));
    hand.end();
}

#[test]
fn the_folder_of_a_new_file_is_made_by_the_write_also_where_its_buffer_is_open() {
    for open in [false, true] {
        let editor = Setup::new().start();
        if open {
            editor.edit("new/folder/a.txt");
        }
        let mut hand = Hand::start(&editor);
        hand.write("new/folder/a.txt", "made\n");
        let question = hand.question();
        assert!(!editor.path("new").exists(), "open: {open}");
        editor.answer(&question, "allow_once");
        let outcome = hand.outcome();
        assert!(outcome.is_ok(), "open: {open}: {outcome:?}");
        assert_eq!(editor.disk("new/folder/a.txt"), b"made\n");
        hand.end();
    }
}

// B40
#[test]
fn rejecting_a_write_keeps_earlier_ones_and_all_the_person_did_meanwhile() {
    let editor = Setup::new().file("a.txt", OLD).start();
    let buf = editor.edit("a.txt");
    let mut hand = Hand::start(&editor);
    let first = OLD.replace("one", "FIRST");
    hand.write_allowed("a.txt", &first);
    hand.next_turn();
    hand.write("a.txt", &first.replace("three", "the agent's"));
    hand.question();
    // Inside of what would change, and elsewhere.
    editor.input("5GccMINE<Esc>Gccmine too<Esc>");
    let mine = first.replace("three", "MINE").replace("five", "mine too");
    await_text(&editor, buf, "the typed lines", &mine);
    let question = hand.question();
    editor.answer(&question, "reject_once");
    refused(hand.outcome());
    assert_eq!(text(&editor, buf), mine);
    assert_eq!(on_disk(&editor, "a.txt"), first);
    assert_eq!(hand.read("a.txt").as_deref(), Ok(mine.as_str()));
    hand.end();
}

// B41
#[test]
fn a_rejected_text_is_nowhere_also_when_the_person_saves_or_loads_meanwhile() {
    for command in ["wall", "edit!", "checktime"] {
        let editor = Setup::new().file("a.txt", OLD).start();
        let buf = editor.edit("a.txt");
        let mut hand = Hand::start(&editor);
        assert_eq!(hand.read("a.txt").as_deref(), Ok(OLD));
        hand.write("a.txt", &OLD.replace("two", "TWO"));
        hand.question();
        editor.exec(command);
        let question = hand.question();
        editor.answer(&question, "reject_once");
        refused(hand.outcome());
        assert_eq!(on_disk(&editor, "a.txt"), OLD, "{command}");
        assert_eq!(text(&editor, buf), OLD, "{command}");
        assert_eq!(hand.read("a.txt").as_deref(), Ok(OLD), "{command}");
        hand.end();
    }
}

// B41
#[test]
fn an_accepted_text_lands_on_what_the_person_loaded_meanwhile() {
    let editor = Setup::new().file("a.txt", OLD).start();
    let buf = editor.edit("a.txt");
    editor.input("GccMINE<Esc>");
    await_text(&editor, buf, "the typed line", &OLD.replace("five", "MINE"));
    let mut hand = Hand::start(&editor);
    hand.write("a.txt", &OLD.replace("two", "TWO"));
    hand.question();
    editor.exec("edit!");
    await_text(&editor, buf, "the file as it is", OLD);
    let question = hand.question();
    editor.answer(&question, "allow_once");
    assert!(hand.outcome().is_ok());
    assert_eq!(text(&editor, buf), OLD.replace("two", "TWO"), "what was thrown away stays so");
    assert_eq!(on_disk(&editor, "a.txt"), OLD.replace("two", "TWO"));
    hand.end();
}
