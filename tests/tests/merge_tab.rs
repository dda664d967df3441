//! The merge tab: where an agent and a person changed the same lines, the person decides line by line, and only by
//! writing the result or choosing an option.

use bosun_tests::editor::Scripted;
use bosun_tests::steps::*;
use bosun_tests::{Editor, Setup};
use serde_json::{Value, json};

const DISK: &str = "one\ntwo\nthree\nfour\nfive\nsix\nseven\neight\nnine\nten\n";

/// The text with other words for its third and ninth line.
fn with(third: &str, ninth: &str) -> String {
    DISK.replace("three", third).replace("nine", ninth)
}

/// The file `a.txt`, what the agent does with it, and the question that comes of it.
struct Conflict {
    editor: Editor,
    buf: i64,
    agent: Scripted,
    session: String,
    question: Value,
}

/// The agent reads the file; the person changes its third line and does not save; the agent changes that line too, and
/// the ninth. `end`: how the story goes on once the write was asked for.
fn conflict(end: &[Value]) -> Conflict {
    let editor = Setup::new().file("a.txt", DISK).start();
    let buf = editor.edit("a.txt");
    let (read_it, go) = (editor.aside("read"), editor.aside("go"));
    let mut story = vec![auto(), prompt(), read(1, "a.txt"), answered(1), touch(&read_it), gate(&go)];
    story.push(write(2, "a.txt", &with("the agent's three", "the agent's nine")));
    story.extend_from_slice(end);
    let agent = editor.script(&story);
    let session = editor.ask("change three and nine");
    editor.await_file(&read_it);
    editor.input("3Gccmy three<Esc>");
    editor.eventually("the typed line", || text(&editor, buf) == with("my three", "nine"));
    editor.open_gate(&go);
    let question = editor.await_pending(1).remove(0);
    Conflict { editor, buf, agent, session, question }
}

/// The write lands.
fn landing() -> Vec<Value> {
    vec![answered_with(2, json!({"result": {}})), end_turn()]
}

fn text(editor: &Editor, buf: i64) -> String {
    editor.lines(buf).join("\n") + "\n"
}

const RESULT: &str = "
    for _, buf in ipairs(vim.api.nvim_list_bufs()) do
      if vim.api.nvim_buf_get_name(buf):find('^bosun://merge/') and vim.bo[buf].buftype == 'acwrite' then
        return vim.api.nvim_buf_is_loaded(buf) and vim.bo[buf].modifiable and buf or nil
      end
    end";

/// Opens the diff of the question, and waits for its result.
fn open(editor: &Editor) -> i64 {
    editor.exec("Bosun diff");
    editor.wait_for("the result", || editor.lua(RESULT, &[]).as_i64())
}

fn await_closed(editor: &Editor) {
    editor.eventually("the tab is gone", || {
        editor.lua("return #vim.api.nvim_list_tabpages()", &[]) == 1 && editor.lua(RESULT, &[]).is_null()
    });
}

impl Conflict {
    /// The file is as `expected` on the screen and on disk, and the agent was answered once.
    fn landed(&self, expected: &str) {
        let Self { editor, buf, agent, .. } = self;
        assert_eq!(editor.turn_end(1), "end_turn");
        assert_eq!(text(editor, *buf), expected);
        assert_eq!(editor.disk("a.txt"), expected.as_bytes());
        assert_eq!(agent.read().replies(&json!(2)).len(), 1);
        assert_eq!(editor.pending(), Vec::<Value>::new());
        editor.assert_sound(agent);
    }
}

#[test]
fn a_hunk_taken_in_the_result_and_written_is_on_the_screen_and_on_disk() {
    let conflict = conflict(&landing());
    let Conflict { editor, buf, question, .. } = &conflict;
    assert_eq!(question["title"], "merge a.txt: 1 place changed on both sides");
    assert_eq!(editor.lua("return #vim.api.nvim_list_tabpages()", &[]), 1, "nothing opens by itself");
    let home = editor.lua("return vim.api.nvim_get_current_win()", &[]);
    let result = open(editor);
    assert_eq!(text(editor, result), with("my three", "the agent's nine"));
    assert_eq!(editor.lua("return vim.api.nvim_win_get_cursor(0)[1]", &[]), 3);
    assert!(editor.screen().contains("conflict 1 of 1"), "{}", editor.screen());
    editor.input("do");
    editor.eventually("the agent's lines", || {
        text(editor, result) == with("the agent's three", "the agent's nine")
    });
    editor.input("Amine<Esc>");
    editor.eventually("more words", || {
        text(editor, result) == with("the agent's threemine", "the agent's nine")
    });
    assert_eq!(text(editor, *buf), with("my three", "nine"), "nothing lands before it is written");
    editor.input(":w<CR>");
    await_closed(editor);
    assert_eq!(editor.lua("return vim.api.nvim_get_current_win()", &[]), home);
    conflict.landed(&with("the agent's threemine", "the agent's nine"));
}

#[test]
fn a_written_result_keeps_bytes_that_are_not_utf8_and_a_missing_last_newline() {
    let editor = Setup::new().start();
    let odd = |third: &str, fourth: &[u8], last: &str| {
        [b"one\ntwo\n", third.as_bytes(), b"\n", fourth, b"\nfive\nsix\nseven\neight\n", last.as_bytes()]
            .concat()
    };
    let bytes = b"fo\xffur".as_slice();
    std::fs::write(editor.path("a.txt"), odd("three", bytes, "nine")).expect("a file");
    let buf = editor.edit("a.txt");
    editor.lua("vim.cmd('edit ++enc=utf-8 ++bad=keep'); vim.v.errmsg = ''", &[]);
    let (read_it, go) = (editor.aside("read"), editor.aside("go"));
    let theirs = String::from_utf8_lossy(&odd("the agent's three", bytes, "the agent's nine")).into_owned();
    let agent = editor.script(&[
        auto(),
        prompt(),
        read(1, "a.txt"),
        answered(1),
        touch(&read_it),
        gate(&go),
        write(2, "a.txt", &theirs),
        answered_with(2, json!({"result": {}})),
        end_turn(),
    ]);
    editor.ask("change three and nine");
    editor.await_file(&read_it);
    editor.input("3Gccmy three<Esc>");
    editor.eventually("the typed line", || editor.lines(buf)[2] == "my three");
    editor.open_gate(&go);
    editor.await_pending(1);
    let result = open(&editor);
    editor.input("do");
    editor.eventually("the agent's line", || editor.lines(result)[2] == "the agent's three");
    editor.input(":w<CR>");
    await_closed(&editor);
    assert_eq!(editor.turn_end(1), "end_turn");
    assert_eq!(editor.disk("a.txt"), odd("the agent's three", bytes, "the agent's nine"));
    editor.assert_sound(&agent);
}

#[test]
fn a_line_typed_while_the_result_is_open_is_not_lost_by_writing_it() {
    let conflict = conflict(&landing());
    let Conflict { editor, buf, question, .. } = &conflict;
    let result = open(editor);
    editor.input("do");
    editor.eventually("the agent's lines", || {
        text(editor, result) == with("the agent's three", "the agent's nine")
    });
    // In the person's own window beside it, on a line that neither side has changed.
    editor.input("<C-w>t<C-w>l6Gccmy six<Esc>");
    editor.eventually("the typed line", || editor.lines(*buf)[5] == "my six");
    editor.input("<C-w>b<C-w>k");
    editor.eventually("the result has the focus", || {
        editor.lua("return vim.api.nvim_get_current_buf()", &[]) == result
    });
    // Should the question have been replaced by then, the write is taken once its texts are there.
    editor.eventually("the answer", || {
        editor.input("<Esc>:w<CR>");
        editor.pending().iter().all(|q| q["id"] != question["id"])
    });
    conflict.landed(&with("the agent's three", "the agent's nine").replace("six", "my six"));
}

#[test]
fn the_first_option_keeps_the_persons_lines_and_the_second_takes_the_agents() {
    for (option, third) in [("ours", "my three"), ("theirs", "the agent's three")] {
        let conflict = conflict(&landing());
        conflict.editor.answer(&conflict.question, option);
        conflict.landed(&with(third, "the agent's nine"));
    }
}

#[test]
fn a_rejected_merge_leaves_the_persons_text_and_the_disk_alone() {
    let Conflict { editor, buf, agent, question, .. } =
        conflict(&[answered_with(2, json!({"error": {}})), end_turn()]);
    editor.answer(&question, "reject_once");
    assert_eq!(editor.turn_end(1), "end_turn");
    assert_eq!(text(&editor, buf), with("my three", "nine"));
    assert_eq!(editor.disk("a.txt"), DISK.as_bytes());
    editor.assert_sound(&agent);
}

#[test]
fn leaving_the_tab_in_any_way_leaves_the_question_pending_and_a_digit_answers_it_later() {
    let conflict = conflict(&landing());
    let Conflict { editor, buf, question, .. } = &conflict;
    for keys in [":q<CR>", "ZQ", ":bd<CR>", ":bw<CR>", ":only<CR>", ":tabclose<CR>", "q", "<C-w>T", "<C-w>c"]
    {
        let result = open(editor);
        editor.input("3Gccbegun<Esc>");
        editor.eventually("the begun line", || text(editor, result) == with("begun", "the agent's nine"));
        editor.input(keys);
        await_closed(editor);
        assert_eq!(editor.pending()[0]["id"], question["id"], "{keys}");
        assert_eq!(text(editor, *buf), with("my three", "nine"), "{keys}");
        assert_eq!(editor.disk("a.txt"), DISK.as_bytes(), "{keys}");
    }
    let result = open(editor);
    assert_eq!(text(editor, result), with("begun", "the agent's nine"), "what was begun is kept");
    editor.input("<C-w>b");
    editor.eventually("the panel has the focus", || editor.lua("return vim.bo.buftype", &[]) == "nofile");
    editor.input("1");
    await_closed(editor);
    conflict.landed(&with("my three", "the agent's nine"));
}

#[test]
fn a_cancel_withdraws_the_merge_and_its_tab() {
    let Conflict { editor, buf, agent, session, .. } = conflict(&[
        expect("session/cancel"),
        answered_with(2, json!({"error": {"code": -32800}})),
        stop("cancelled"),
    ]);
    open(&editor);
    editor.input("<C-w>b");
    editor.cancel(&session);
    assert_eq!(editor.turn_end(1), "cancelled");
    await_closed(&editor);
    assert_eq!(editor.pending(), Vec::<Value>::new());
    assert_eq!(text(&editor, buf), with("my three", "nine"));
    assert_eq!(editor.disk("a.txt"), DISK.as_bytes());
    assert_eq!(agent.read().replies(&json!(2)).len(), 1);
    editor.assert_sound(&agent);
}

#[test]
fn someone_who_types_in_the_result_is_not_pulled_away_by_a_cancel_and_lands_nothing() {
    let Conflict { editor, buf, agent, session, .. } = conflict(&[
        expect("session/cancel"),
        answered_with(2, json!({"error": {"code": -32800}})),
        stop("cancelled"),
    ]);
    let result = open(&editor);
    editor.input("3Gccbeg");
    editor.eventually("the begun line", || text(&editor, result) == with("beg", "the agent's nine"));
    editor.cancel(&session);
    assert_eq!(editor.turn_end(1), "cancelled");
    editor.eventually("it says so", || editor.screen().contains("no longer asked"));
    editor.input("un<Esc>:w<CR>");
    editor.eventually("all that was typed", || text(&editor, result) == with("begun", "the agent's nine"));
    editor.input("q");
    await_closed(&editor);
    assert_eq!(text(&editor, buf), with("my three", "nine"));
    assert_eq!(editor.disk("a.txt"), DISK.as_bytes());
    editor.assert_sound(&agent);
}
