//! Reviewing what agents changed: hunks in the buffer, kept and rejected by real keys, with what a person did around
//! them left as it was.

use bosun_tests::{Editor, Hand, Setup};
use serde_json::{Value, json};

const OLD: &str = "one\ntwo\nthree\nfour\nfive\nsix\nseven\neight\nnine\n";
const NEW: &str = "one\nTWO\nthree\nfour\nFIVE\nsix\nseven\nEIGHT\nnine\n";

fn text(editor: &Editor, buf: i64) -> String {
    editor.lines(buf).join("\n") + "\n"
}

/// The hunks of the buffer that are drawn: the line of each sign, from one, and what is shown as removed.
fn drawn(editor: &Editor, buf: i64) -> Value {
    editor.lua(
        "local ns = vim.api.nvim_get_namespaces()['bosun.review']
         local out = {}
         for _, m in ipairs(ns and vim.api.nvim_buf_get_extmarks(..., ns, 0, -1, { details = true }) or {}) do
           for _, line in ipairs(m[4].virt_lines or {}) do
             local text = {}
             for _, chunk in ipairs(line) do text[#text + 1] = chunk[1] end
             out[#out + 1] = (m[2] + 1) .. ' ' .. table.concat(text)
           end
         end
         table.sort(out)
         return out",
        &[json!(buf)],
    )
}

fn await_drawn(editor: &Editor, buf: i64, what: &str, hunks: &Value) {
    editor.eventually(what, || drawn(editor, buf) == *hunks);
}

/// `a.txt` is open, and an agent has changed three of its lines; the maps of hunks are there.
fn changed(editor: &Editor) -> i64 {
    let buf = editor.edit("a.txt");
    let mut hand = Hand::start(editor);
    for (keys, plug) in [("]v", "next-hunk"), ("gk", "keep"), ("gx", "reject"), ("gz", "review-undo")] {
        editor.exec(&format!("nmap {keys} <Plug>(bosun-{plug})"));
    }
    assert_eq!(hand.read("a.txt").as_deref(), Ok(OLD));
    hand.write_allowed("a.txt", NEW);
    hand.end();
    await_drawn(editor, buf, "three hunks", &json!(["2 two", "5 five", "8 eight"]));
    buf
}

fn start() -> Editor {
    Setup::new().file("a.txt", OLD).start()
}

// B55
#[test]
fn of_three_hunks_one_is_kept_another_rejected_and_the_third_waits_on() {
    let editor = start();
    let buf = changed(&editor);
    // A line of the person's between them is nobody's hunk, and survives.
    editor.input("3GA, mine<Esc>");
    editor.input("gg]vgk");
    await_drawn(&editor, buf, "the first is kept", &json!(["5 five", "8 eight"]));
    editor.input("]vgx");
    await_drawn(&editor, buf, "the second is rejected", &json!(["8 eight"]));
    let mine = "one\nTWO\nthree, mine\nfour\nfive\nsix\nseven\nEIGHT\nnine\n";
    assert_eq!(text(&editor, buf), mine);
    editor.eventually("it is saved", || editor.disk("a.txt") == mine.as_bytes());
    assert!(
        editor.lua("return require('bosun').statusline()", &[]).as_str().is_some_and(|s| s.ends_with("±1"))
    );
    editor.assert_quiet();
}

#[test]
fn a_reject_that_is_undone_brings_the_hunk_back() {
    let editor = start();
    let buf = changed(&editor);
    editor.input("5Ggx");
    await_drawn(&editor, buf, "it is rejected", &json!(["2 two", "8 eight"]));
    assert_eq!(text(&editor, buf), NEW.replace("FIVE", "five"));
    editor.input("u");
    await_drawn(&editor, buf, "the hunk is back", &json!(["2 two", "5 five", "8 eight"]));
    assert_eq!(text(&editor, buf), NEW);
    editor.input("<C-r>");
    await_drawn(&editor, buf, "it is rejected again", &json!(["2 two", "8 eight"]));
    editor.assert_quiet();
}

#[test]
fn each_verdict_is_taken_back_by_a_key_of_its_own() {
    let editor = start();
    let buf = changed(&editor);
    editor.input("5Ggk");
    await_drawn(&editor, buf, "it is kept", &json!(["2 two", "8 eight"]));
    editor.input("gz");
    await_drawn(&editor, buf, "the hunk is back", &json!(["2 two", "5 five", "8 eight"]));
    editor.input(":Bosun reject all<CR>");
    await_drawn(&editor, buf, "all are rejected", &json!([]));
    assert_eq!(text(&editor, buf), OLD);
    editor.input("gz");
    await_drawn(&editor, buf, "all are back", &json!(["2 two", "5 five", "8 eight"]));
    assert_eq!(text(&editor, buf), NEW);
    editor.assert_quiet();
}

/// Windows, their sizes and all their options.
fn layout(editor: &Editor) -> Value {
    editor.lua(
        "local out = {}
         for _, win in ipairs(vim.api.nvim_list_wins()) do
           local o = { buf = vim.api.nvim_win_get_buf(win), height = vim.api.nvim_win_get_height(win),
             width = vim.api.nvim_win_get_width(win), current = win == vim.api.nvim_get_current_win() }
           for name, info in pairs(vim.api.nvim_get_all_options_info()) do
             if info.scope == 'win' and name ~= 'scroll' then
               o[name] = vim.api.nvim_get_option_value(name, { win = win, scope = 'local' })
             end
           end
           out[tostring(win)] = o
         end
         return out",
        &[],
    )
}

#[test]
fn a_review_leaves_windows_and_options_as_they_were_beside_a_diff_of_the_persons_own() {
    let editor = Setup::new().file("a.txt", OLD).file("b.txt", "one\ntwo\n").start();
    changed(&editor);
    editor.exec("vsplit b.txt");
    editor.exec("windo diffthis");
    editor.exec("setlocal foldmethod=manual noscrollbind");
    editor.exec("botright 5new");
    editor.exec("wincmd p");
    let before = layout(&editor);
    editor.input(":Bosun review<CR>");
    let compared = "return #vim.api.nvim_list_tabpages() == 2 and vim.wo.diff
        and vim.api.nvim_win_get_cursor(0)[1] == 2 and vim.fn.getbufline(vim.fn.winbufnr(1), 2)[1]";
    editor.eventually("the review", || editor.lua(compared, &[]) == json!("two"));
    // Rejected by `do` as in any diff, kept by `dp`.
    editor.input("do");
    editor.eventually("the line of the base", || editor.lua("return vim.fn.getline(2)", &[]) == json!("two"));
    editor.input("5Gdp");
    let counts = "return require('bosun.review').counts().hunks";
    editor.eventually("one hunk is left", || editor.lua(counts, &[]) == json!(1));
    editor.input("q");
    editor.eventually("the tab is gone", || {
        editor.lua("return #vim.api.nvim_list_tabpages()", &[]) == json!(1)
    });
    assert_eq!(layout(&editor), before);
}

#[test]
fn a_commit_keeps_the_hunks_that_it_contains() {
    let editor = start();
    let git = |args: &[&str]| {
        let mut command = std::process::Command::new("git");
        command.arg("-C").arg(editor.project());
        command.args(["-c", "user.name=a", "-c", "user.email=a@b", "-c", "commit.gpgsign=false"]);
        assert!(command.args(args).output().expect("git").status.success(), "{args:?}");
    };
    git(&["init", "-q"]);
    git(&["add", "."]);
    git(&["commit", "-q", "-m", "one"]);
    let buf = changed(&editor);
    git(&["commit", "-q", "-a", "-m", "two"]);
    editor.exec("doautocmd FocusGained");
    await_drawn(&editor, buf, "nothing waits any more", &json!([]));
    assert_eq!(text(&editor, buf), NEW);
}
