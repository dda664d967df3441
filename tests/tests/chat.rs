//! The chat as a person uses it: keys, what goes along with a prompt, and a view that stays where it is read.

use bosun_tests::steps::*;
use bosun_tests::{Editor, Setup};
use serde_json::{Value, json};

/// Types into the prompt of the chat, from normal mode of its window, and ends in normal mode.
fn compose(editor: &Editor, text: &str) {
    editor.input(&format!("<Esc>i{text}<Esc>"));
    editor.eventually("the typed prompt", || editor.mode().0 == "n" && prompt_lines(editor) == [text]);
}

/// Lines of the current buffer, which must be a prompt.
fn prompt_lines(editor: &Editor) -> Vec<String> {
    assert_eq!(editor.lua("return vim.bo.filetype", &[]), "bosun-prompt");
    editor.lines(0)
}

/// The chat is open, its prompt has the focus.
fn open(editor: &Editor) {
    editor.exec("Bosun open");
    editor.eventually("the focus in the prompt", || {
        editor.lua("return vim.bo.filetype", &[]) == "bosun-prompt"
    });
    editor.exec("stopinsert");
}

/// The text blocks of a prompt that the agent got.
fn prompted(agent: &bosun_tests::editor::Scripted, n: usize) -> Vec<Value> {
    let prompts = agent.read().received("session/prompt");
    prompts[n]["params"]["prompt"].as_array().cloned().unwrap_or_default()
}

#[test]
fn each_of_the_sending_keys_sends_once_and_leaves_an_empty_prompt() {
    let editor = Setup::new().start();
    let agent = editor.script(&[auto(), then_polite()]);
    open(&editor);
    for (n, (text, keys)) in
        [("by return", "<CR>"), ("by control s", "a<C-s>"), ("by write", ":w<CR>"), ("two lines", "<C-s>")]
            .iter()
            .enumerate()
    {
        compose(&editor, text);
        editor.input(keys);
        assert_eq!(editor.turn_end(n + 1), "end_turn");
        assert_eq!(prompted(&agent, n)[0]["text"], *text);
        editor.input("<Esc>");
        editor.eventually("an empty prompt", || prompt_lines(&editor) == [""]);
    }
    editor.input("<CR>");
    editor.exec("write");
    assert_eq!(agent.read().received("session/prompt").len(), 4, "an empty prompt is not sent");
    assert_eq!(editor.lua("return vim.bo.modified", &[]), false);
    editor.assert_sound(&agent);
}

#[test]
fn control_c_cancels_the_turn_and_q_hides_the_chat() {
    let editor = Setup::new().file("a.txt", "one\n").start();
    editor.edit("a.txt");
    let windows = "return { #vim.api.nvim_list_wins(), vim.fn.winlayout() }";
    let before = editor.lua(windows, &[]);
    let agent = editor.script(&[auto(), prompt(), expect("session/cancel"), stop("cancelled")]);
    open(&editor);
    compose(&editor, "go");
    editor.input("<CR>");
    editor.eventually("the turn runs", || editor.events("BosunTurnStart").len() == 1);
    editor.input("<C-c>");
    assert_eq!(editor.turn_end(1), "cancelled");
    editor.input("q");
    editor.eventually("the layout from before", || editor.lua(windows, &[]) == before);
    assert_eq!(editor.lua("return vim.fn.expand('%:t')", &[]), "a.txt");
    editor.assert_sound(&agent);
}

#[test]
fn what_streams_in_is_on_the_screen_and_cannot_be_changed() {
    let editor = Setup::new().start();
    let (go, seen) = (editor.aside("go"), editor.aside("seen"));
    let agent = editor.script(&[
        auto(),
        prompt(),
        think("weighing it up"),
        say("The answer "),
        gate(&go),
        say("is here."),
        update(json!({"sessionUpdate": "plan", "entries": [
            {"content": "look", "priority": "high", "status": "completed"},
            {"content": "leap", "priority": "low", "status": "in_progress"},
        ]})),
        update(json!({"sessionUpdate": "tool_call", "toolCallId": "t", "title": "Sharpen the axe", "status": "pending"})),
        update(json!({"sessionUpdate": "tool_call_update", "toolCallId": "t", "status": "completed"})),
        update(json!({"sessionUpdate": "usage_update", "used": 1234, "size": 200_000})),
        touch(&seen),
        json!({"reply_to": "session/prompt", "result": {"stopReason": "max_tokens"}}),
    ]);
    let session = editor.ask("go");
    open(&editor);
    editor.eventually("the first words on the screen", || editor.screen().contains("The answer"));
    editor.open_gate(&go);
    assert_eq!(editor.turn_end(1), "max_tokens");
    editor.eventually("all of it on the screen", || {
        let screen = editor.screen();
        ["The answer is here.", "weighing it up", "look", "leap", "Sharpen the axe", "limit of tokens"]
            .iter()
            .all(|text| screen.contains(text))
    });
    let text = editor.transcript(&session);
    assert_eq!(text.matches("Sharpen the axe").count(), 1, "a tool call is one updating line: {text}");
    editor.input("<C-w>k");
    editor.eventually("the focus in the transcript", || editor.lua("return vim.bo.filetype", &[]) == "bosun");
    assert_eq!(editor.lua("return { vim.bo.modifiable, vim.bo.modified }", &[]), json!([false, false]));
    let before = editor.lines(0);
    editor.input("dd");
    editor.eventually("the key was taken", || editor.mode() == ("n".into(), false));
    assert_eq!(editor.lines(0), before);
    agent.read().assert_sound();
}

#[test]
fn a_selection_made_and_left_before_the_chat_was_ever_opened_goes_along() {
    let editor = Setup::new().file("a.txt", "one\ntwo\nthree\n").start();
    editor.edit("a.txt");
    let agent = editor.script(&[auto(), then_polite()]);
    editor.input("jVj<Esc>:Bosun open<CR>");
    editor.eventually("the context on the screen", || editor.screen().contains("a.txt:2-3"));
    compose(&editor, "with it");
    editor.input("<CR>");
    assert_eq!(editor.turn_end(1), "end_turn");
    let blocks = Value::from(prompted(&agent, 0)).to_string();
    assert!(blocks.contains("two\\nthree"), "{blocks}");
}

#[test]
fn the_file_and_the_selection_go_along_visibly_and_can_be_left_out() {
    let editor = Setup::new().file("a.txt", "one\ntwo\nthree\n").start();
    let buf = editor.edit("a.txt");
    editor.input("ccONE, not saved<Esc>");
    editor.eventually("the typed line", || editor.lines(buf)[0] == "ONE, not saved");
    let agent = editor.script(&[auto(), then_polite()]);
    editor.input("ggVj:Bosun open<CR>");
    editor.eventually("the focus in the prompt", || {
        editor.lua("return vim.bo.filetype", &[]) == "bosun-prompt"
    });
    editor.exec("stopinsert");
    editor.eventually("the context on the screen", || editor.screen().contains("a.txt:1-2"));
    compose(&editor, "with it");
    editor.input("<CR>");
    assert_eq!(editor.turn_end(1), "end_turn");
    let blocks = Value::from(prompted(&agent, 0)).to_string();
    assert!(blocks.contains("ONE, not saved\\ntwo"), "the selection as it is on the screen: {blocks}");
    assert!(blocks.contains("file://") && blocks.contains("/a.txt"), "{blocks}");
    let shown = editor.screen();
    assert!(shown.contains("@ a.txt"), "what went along is shown with the prompt: {shown}");

    compose(&editor, "without it");
    editor.input("<C-x>");
    editor.eventually("no context on the screen", || editor.screen().contains("no context"));
    editor.input("<CR>");
    assert_eq!(editor.turn_end(2), "end_turn");
    let blocks = prompted(&agent, 1);
    assert_eq!(blocks.len(), 1, "{blocks:?}");
    assert_eq!(blocks[0]["text"], "without it");
    editor.assert_sound(&agent);
}

// B50
#[test]
fn a_view_follows_only_while_its_cursor_is_at_the_end() {
    let editor = Setup::new().start();
    let (go, end, done) = (editor.aside("go"), editor.aside("end"), editor.aside("done"));
    let history: String = (0..500).map(|n| format!("history {n}\n")).collect();
    let agent = editor.script(&[
        auto(),
        prompt(),
        say(&history),
        gate(&go),
        chunks(200, "more %06d\n", 0),
        touch(&done),
        gate(&end),
        chunks(1, "the very end\n", 0),
        end_turn(),
    ]);
    let session = editor.ask("go");
    open(&editor);
    editor.await_transcript(&session, "history 499");
    editor.input("<C-w>k");
    editor.eventually("the focus in the transcript", || editor.lua("return vim.bo.filetype", &[]) == "bosun");
    let first = editor.lua(
        "_G.reader = vim.api.nvim_get_current_win()
         vim.cmd('split')
         _G.follower = vim.api.nvim_get_current_win()
         vim.cmd('normal! G')
         vim.api.nvim_set_current_win(_G.reader)
         vim.cmd('normal! 50Gzt')
         return vim.fn.line('.')",
        &[],
    );
    assert_eq!(first, 50);
    editor.input("Vjj");
    editor.eventually("a selection", || editor.mode().0 == "V");
    let view = "return vim.api.nvim_win_call(_G.reader, function()
                  return { vim.fn.line('w0'), vim.fn.line('.'), vim.fn.line('v'), vim.fn.mode() }
                end)";
    let reading = editor.lua(view, &[]);
    editor.open_gate(&go);
    editor.await_file(&done);
    let at_end = "local buf = vim.api.nvim_win_get_buf(_G.follower)
                  return vim.api.nvim_win_get_cursor(_G.follower)[1] == vim.api.nvim_buf_line_count(buf)";
    editor.eventually("the second window follows", || {
        editor.screen().contains("more 000199") && editor.lua(at_end, &[]) == true
    });
    assert_eq!(editor.lua(view, &[]), reading, "the reader stays, and so does the selection");
    editor.input("<Esc>G");
    editor.eventually("the reader is at the end", || {
        editor.lua("return vim.api.nvim_win_get_cursor(_G.reader)[1] >= vim.api.nvim_buf_line_count(0)", &[])
            == true
    });
    editor.open_gate(&end);
    assert_eq!(editor.turn_end(1), "end_turn");
    editor.eventually("both follow again", || editor.screen().matches("the very end").count() == 2);
    editor.assert_sound(&agent);
}

#[test]
fn a_prompt_sent_during_a_turn_waits_where_it_can_be_seen() {
    let editor = Setup::new().start();
    let go = editor.aside("go");
    let agent = editor.script(&[auto(), prompt(), gate(&go), end_turn(), then_polite()]);
    open(&editor);
    compose(&editor, "first");
    editor.input("<CR>");
    editor.eventually("the turn runs", || editor.events("BosunTurnStart").len() == 1);
    compose(&editor, "second");
    editor.input("<CR>");
    editor.eventually("the queue on the screen", || editor.screen().contains("1 queued"));
    editor.open_gate(&go);
    assert_eq!(editor.turn_end(2), "end_turn");
    editor.eventually("no queue", || !editor.screen().contains("queued"));
    assert_eq!(prompted(&agent, 1)[0]["text"], "second");
    editor.assert_sound(&agent);
}

#[test]
fn opening_starting_and_asking_never_wait_for_the_agent() {
    let editor = Setup::new().alone().start();
    let go = editor.aside("go");
    let agent = editor.script(&[
        expect("initialize"),
        gate(&go),
        json!({"reply": {"protocolVersion": 1}}),
        expect("session/new"),
        json!({"reply": {"sessionId": "s"}}),
        then_polite(),
    ]);
    editor.heartbeat_start();
    open(&editor);
    compose(&editor, "typed while it starts");
    editor.input("<CR>");
    editor.eventually("the state on the screen", || editor.screen().contains("starting"));
    assert!(editor.heartbeat_worst_ms() < 100.0, "late by {} ms", editor.heartbeat_worst_ms());
    editor.open_gate(&go);
    assert_eq!(editor.turn_end(1), "end_turn");
    assert_eq!(prompted(&agent, 0)[0]["text"], "typed while it starts");
    editor.assert_sound(&agent);
}

#[test]
fn two_sessions_keep_their_words_apart() {
    let editor = Setup::new().start();
    let agent = editor.script(&[auto(), prompt(), say("Hello from $SESSION in $CWD."), end_turn()]);
    let (first, second) = (editor.ask("one"), editor.ask("two"));
    editor.turn_end(2);
    for (session, own, other) in [(&first, "one", "two"), (&second, "two", "one")] {
        let text = editor.transcript(session);
        let lines: Vec<&str> = text.lines().collect();
        assert!(lines.contains(&own) && !lines.contains(&other), "{text}");
        assert_eq!(text.matches("Hello from").count(), 1, "{text}");
    }
    assert_eq!(editor.lua("return #require('bosun').sessions()", &[]), 2);
    agent.read().assert_sound();
}
