//! The harness by itself: what the other tests rely on, without the plugin.

use std::sync::mpsc::channel;

use bosun_tests::{Editor, Setup};
use nix::sys::signal::Signal;
use serde_json::json;

fn editor() -> Editor {
    Setup::new().file("a.txt", "one\ntwo\n").start()
}

#[test]
fn keys_reach_the_editor_and_text_reaches_the_screen() {
    let editor = editor();
    let buf = editor.edit("a.txt");
    editor.input("ofrom the keyboard<Esc>");
    editor.eventually("the typed text on the screen", || editor.screen().contains("\nfrom the keyboard\n"));
    assert_eq!(editor.lines(buf), ["one", "from the keyboard", "two"]);
    assert_eq!(editor.disk("a.txt"), b"one\ntwo\n");
    assert!(editor.flushes() > 0);
    editor.exec("split");
    editor.eventually("two windows on the screen", || {
        editor.screen().matches("from the keyboard").count() == 2
    });
    editor.input("<C-w>o");
    editor
        .eventually("one window on the screen", || editor.screen().matches("from the keyboard").count() == 1);
    editor.assert_quiet();
}

#[test]
fn the_screen_follows_a_long_text_that_scrolls() {
    let editor = editor();
    editor.lua(
        "vim.api.nvim_buf_set_lines(0, 0, -1, true, vim.fn.map(vim.fn.range(500), '\"line \" .. v:val'))",
        &[],
    );
    editor.eventually("the first lines", || editor.screen().starts_with("line 0\nline 1\n"));
    for _ in 0..30 {
        editor.input("<C-e>");
    }
    editor.eventually("lines further down", || editor.screen().starts_with("line 30\nline 31\n"));
    assert!(editor.screen().contains("line 60\nline 61\n"), "{}", editor.screen());
    editor.input("10<C-y>");
    editor.eventually("lines further up", || editor.screen().starts_with("line 20\nline 21\n"));
}

#[test]
fn every_flush_can_be_watched() {
    let editor = editor();
    let (send, seen) = channel();
    editor.on_flush(move |screen, at| {
        if screen.text().contains("watched") {
            let _ = send.send(at);
        }
    });
    editor.input("iwatched<Esc>");
    let at = seen.recv_timeout(editor.left()).expect("a flush with the text");
    assert!(at > 1.5e12, "milliseconds since the epoch: {at}");
}

#[test]
fn keys_and_mode_work_while_neovim_answers_nothing_else() {
    let editor = editor();
    editor.edit("a.txt");
    editor.block();
    let soon = std::time::Duration::from_millis(100);
    assert!(
        editor.call_within("nvim_get_current_line", &[], soon).is_err_and(|why| why.contains("no answer"))
    );
    editor.input("x");
    editor.eventually("the key was taken", || !editor.mode().1);
    editor.eventually("the key on the screen", || editor.screen().starts_with("xne\n"));
    editor.hit_enter();
    editor.input("<CR>");
    editor.eventually("normal mode", || editor.mode() == ("n".into(), false));
}

#[test]
fn the_heartbeat_notices_a_frozen_editor() {
    let editor = Setup::new().alone().start();
    editor.heartbeat_start();
    editor.eventually("a beat", || editor.lua("return vim.uv.hrtime()", &[]).is_u64());
    editor.lua("vim.uv.sleep(150)", &[]);
    editor.eventually("the delay is noticed", || editor.heartbeat_worst_ms() > 100.0);
}

#[test]
fn the_plugin_is_loaded_from_the_checkout_and_folders_are_its_own() {
    let editor = Setup::new().init("vim.g.from_init = 7").env("SOME_NAME", "a value").start();
    assert_eq!(editor.lua("return vim.g.from_init", &[]), 7);
    assert_eq!(editor.lua("return vim.env.SOME_NAME", &[]), "a value");
    let repository = bosun_tests::editor::setup::repository();
    let first = editor.lua("return vim.api.nvim_list_runtime_paths()", &[]);
    assert!(first.as_array().is_some_and(|all| all.contains(&json!(repository))), "{first}");
    for kind in ["config", "data", "state", "cache", "log"] {
        let folder = editor.lua("return vim.fn.stdpath(...)", &[kind.into()]);
        let folder = folder.as_str().expect("a folder");
        assert!(folder.starts_with(editor.aside("").to_str().expect("UTF-8")), "{kind}: {folder}");
    }
    assert_eq!(editor.lua("return vim.o.swapfile", &[]), true);
}

#[test]
fn descendants_are_found_and_outlive_no_test() {
    let editor = editor();
    editor.lua("vim.fn.jobstart({ 'sh', '-c', 'setsid sleep 60 & wait' })", &[]);
    editor
        .eventually("the sleeping grandchild", || editor.processes().iter().any(|p| p.program() == "sleep"));
    assert!(editor.processes().iter().any(|p| p.pid == editor.pid()));
    let sleeper = editor.processes().into_iter().find(|p| p.program() == "sleep").expect("it was there");
    sleeper.signal(Signal::SIGKILL);
    editor.eventually("its end", || !editor.processes().iter().any(|p| p.program() == "sleep"));
}

#[test]
fn a_left_process_fails_the_test() {
    let editor = editor();
    editor.lua("vim.fn.jobstart({ 'setsid', 'sleep', '60' }, { detach = true })", &[]);
    editor.eventually("the sleeper", || editor.processes().iter().any(|p| p.program() == "sleep"));
    let dropped = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| drop(editor)));
    let why = dropped.expect_err("the leftover is noticed");
    assert!(why.downcast_ref::<String>().is_some_and(|why| why.contains("sleep")), "{why:?}");
}

#[test]
fn a_killed_editor_is_noticed() {
    let mut editor = editor();
    assert!(!editor.ended(std::time::Duration::from_millis(1)));
    editor.signal(Signal::SIGKILL);
    let left = editor.left();
    assert!(editor.ended(left));
}
