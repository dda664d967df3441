//! Questions: seen but never in the way, each answered once, by what a person meant and nothing else.

use bosun_tests::steps::*;
use bosun_tests::{Editor, Recorded, Setup};
use serde_json::{Value, json};

/// A tool call with only a title.
fn tool(id: &str, title: &str) -> Value {
    json!({"toolCallId": id, "title": title, "kind": "execute", "status": "pending"})
}

fn outcome(record: &Recorded, id: u64) -> Value {
    record.replies(&json!(id))[0]["result"]["outcome"].clone()
}

fn selected(option: &str) -> Value {
    json!({"outcome": "selected", "optionId": option})
}

/// One question with this tool call and options in a turn that ends when it is answered.
fn question(editor: &Editor, tool: Value, options: Value) -> (bosun_tests::editor::Scripted, Value) {
    let agent = editor.script(&[auto(), prompt(), ask(1, tool, options), answered(1), end_turn()]);
    editor.ask("go");
    let question = editor.await_pending(1).remove(0);
    (agent, question)
}

// B46
#[test]
fn a_question_takes_no_key_that_was_meant_for_the_text() {
    let editor = Setup::new().file("a.txt", "").start();
    let buf = editor.edit("a.txt");
    let go = editor.aside("go");
    let agent = editor.script(&[
        auto(),
        prompt(),
        gate(&go),
        ask(1, edit_tool("t", "a.txt", "", "taken\n"), allow_or_reject()),
        ask(2, tool("u", "rm"), allow_or_reject()),
        answered(1),
        answered(2),
        end_turn(),
    ]);
    let session = editor.ask("go");
    editor.exec("lua require('bosun').open({ focus = false })");
    let here =
        "return { vim.api.nvim_get_current_win(), vim.api.nvim_get_current_tabpage(), vim.fn.winlayout() }";
    let before = editor.lua(here, &[]);
    editor.input("i");
    let typed = "you said yes, 1 2 y n a\n".repeat(8);
    for (at, key) in typed.chars().enumerate() {
        if at == 60 {
            editor.open_gate(&go);
        }
        if at == 120 {
            editor.await_pending(2);
        }
        match key {
            '\n' => editor.input("<CR>"),
            key => editor.input(&key.to_string()),
        }
    }
    editor.eventually("all that was typed", || editor.lines(buf).join("\n") == typed);
    assert_eq!(editor.mode().0, "i");
    assert_eq!(editor.lua(here, &[]), before);
    editor.eventually("a note on the screen", || editor.screen().contains("Edit a.txt"));
    let pending = editor.await_pending(2);
    assert_eq!(editor.state(&session), "waiting");
    assert_eq!(editor.events("BosunPermission").len(), 2);
    for question in &pending {
        editor.answer(question, "reject_once");
    }
    assert_eq!(editor.turn_end(1), "end_turn");
    editor.assert_sound(&agent);
}

// B52
#[test]
fn a_question_shows_what_it_was_told_and_says_when_that_is_nothing() {
    let shown = |tool: Value| {
        let editor = Setup::new().file("a.txt", "one\ntwo\n").start();
        let (agent, question) = question(&editor, tool, allow_or_reject());
        let session = question["session"].as_str().expect("a session");
        let transcript = editor.await_transcript(session, "Reject");
        editor.answer(&question, "reject_once");
        assert_eq!(editor.turn_end(1), "end_turn");
        editor.assert_sound(&agent);
        (transcript, question["files"].clone())
    };
    let (text, files) = shown(json!({"toolCallId": "t", "title": "edit", "kind": "edit"}));
    assert!(text.contains("details not provided") && files.as_array().is_none_or(Vec::is_empty), "{text}");

    let (text, files) = shown(json!({
        "toolCallId": "t", "title": "edit", "kind": "edit",
        "rawInput": {"file_path": "$CWD/a.txt", "old_string": "two", "new_string": "TWO"},
    }));
    assert!(!text.contains("details not provided") && text.contains("a.txt"), "{text}");
    assert_eq!(files.as_array().map(Vec::len), Some(1), "{files}");

    let (text, _) = shown(json!({
        "toolCallId": "t", "title": "run", "kind": "execute", "rawInput": {"command": "rm -rf build"},
    }));
    assert!(text.contains("rm -rf build"), "{text}");

    let nothing = json!({
        "toolCallId": "t", "title": null, "kind": null, "status": null, "content": null, "locations": null,
        "rawInput": null,
    });
    let (text, _) = shown(nothing);
    assert!(text.contains("details not provided"), "{text}");
}

// B58
#[test]
fn two_questions_at_once_each_get_their_own_answer() {
    for swapped in [false, true] {
        let editor = Setup::new().start();
        let agent = editor.script(&[
            auto(),
            prompt(),
            ask(
                7,
                tool("safe", "read a file"),
                json!([{"optionId": "y7", "name": "Yes", "kind": "allow_once"}]),
            ),
            ask(8, tool("bad", "remove it all"), allow_or_reject()),
            answered(7),
            answered(8),
            end_turn(),
        ]);
        let session = editor.ask("go");
        let pending = editor.await_pending(2);
        let titles: Vec<&str> = pending.iter().filter_map(|q| q["title"].as_str()).collect();
        assert!(titles[0].contains("read a file") && titles[1].contains("remove it all"), "{titles:?}");
        editor.eventually("the number of questions", || editor.screen().contains("2 questions"));
        let answers = [(&pending[0], "allow_once"), (&pending[1], "reject_once")];
        for at in if swapped { [1, 0] } else { [0, 1] } {
            editor.answer(answers[at].0, answers[at].1);
        }
        assert_eq!(editor.turn_end(1), "end_turn");
        let record = agent.read();
        assert_eq!((outcome(&record, 7), outcome(&record, 8)), (selected("y7"), selected("no")));
        let text = editor.transcript(&session);
        assert!(text.contains("allowed: Yes") && text.contains("rejected: Reject"), "{text}");
        editor.assert_sound(&agent);
    }
}

// B59
#[test]
fn a_question_about_a_call_never_announced_is_one_item() {
    let editor = Setup::new().start();
    let agent = editor.script(&[
        auto(),
        prompt(),
        ask(1, json!({"toolCallId": "t1", "title": "Unheard of"}), allow_or_reject()),
        update(json!({"sessionUpdate": "tool_call", "toolCallId": "t1", "title": "Heard of", "status": "pending"})),
        answered(1),
        update(json!({"sessionUpdate": "tool_call_update", "toolCallId": "t1", "status": "completed"})),
        end_turn(),
    ]);
    let session = editor.ask("go");
    let question = editor.await_pending(1).remove(0);
    editor.answer(&question, "yes");
    assert_eq!(editor.turn_end(1), "end_turn");
    assert_eq!(outcome(&agent.read(), 1), selected("yes"));
    let text = editor.transcript(&session);
    assert_eq!(text.matches("Heard of").count(), 1, "one card with the newer title: {text}");
    editor.assert_sound(&agent);
}

// B61
#[test]
fn odd_options_are_offered_as_they_are_and_nothing_is_allowed_by_chance() {
    let ask_with = |options: Value, answer: &str, expected: Value| {
        let editor = Setup::new().start();
        let (agent, question) = question(&editor, tool("t", "x"), options);
        editor.answer(&question, answer);
        assert_eq!(editor.turn_end(1), "end_turn");
        assert_eq!(outcome(&agent.read(), 1), expected, "{answer}");
        editor.assert_sound(&agent);
    };
    ask_with(json!([]), "cancelled", json!({"outcome": "cancelled"}));
    let odd = json!([
        {"optionId": "p", "name": "Persist\nnow \u{1b}[31m", "kind": "allow_persistent"},
        {"optionId": "q", "name": "None", "kind": null},
        {"optionId": "no", "name": "No", "kind": "reject_once"},
    ]);
    ask_with(odd.clone(), "p", selected("p"));
    ask_with(odd.clone(), "q", selected("q"));
    ask_with(odd, "reject_once", selected("no"));
    let many: Vec<Value> = (0..12)
        .map(|n| json!({"optionId": format!("o{n}"), "name": format!("O{n}"), "kind": "allow_once"}))
        .collect();
    ask_with(many.into(), "o11", selected("o11"));
    let double = json!([
        {"optionId": "same", "name": "Yes", "kind": "allow_once"},
        {"optionId": "same", "name": "No", "kind": "reject_once"},
    ]);
    ask_with(double, "same", selected("same"));
}

// B61
#[test]
fn refusing_works_also_where_no_option_refuses() {
    let editor = Setup::new().start();
    let options = json!([{"optionId": "a", "name": "A", "kind": "allow_once"}]);
    let (agent, question) = question(&editor, tool("t", "x"), options);
    editor.answer(&question, "reject_once");
    assert_eq!(editor.turn_end(1), "end_turn");
    assert_eq!(outcome(&agent.read(), 1), json!({"outcome": "cancelled"}));
    editor.assert_sound(&agent);
}

#[test]
fn an_option_that_is_not_offered_leaves_the_question_open() {
    let editor = Setup::new().start();
    let (agent, question) =
        question(&editor, tool("t", "x"), json!([{"optionId": "a", "name": "A", "kind": "allow_once"}]));
    for option in ["allow_always", "nonsense"] {
        let why = editor.try_answer(&question, option).expect_err("it is not offered");
        assert!(why.contains(option), "{why}");
    }
    editor.await_pending(1);
    editor.exec("Bosun answer a");
    assert_eq!(editor.turn_end(1), "end_turn");
    assert_eq!(outcome(&agent.read(), 1), selected("a"));
    agent.read().assert_sound();
}

// B62
#[test]
fn reject_unanswered_and_cancel_are_three_different_things() {
    let run = |answer: &dyn Fn(&Editor, &Value)| {
        let editor = Setup::new().start();
        let agent = editor.script(&[
            auto(),
            prompt(),
            ask(1, tool("t", "x"), allow_or_reject()),
            answered(1),
            say("going on"),
            end_turn(),
        ]);
        editor.ask("go");
        let question = editor.await_pending(1).remove(0);
        answer(&editor, &question);
        let stop = editor.turn_end(1);
        let record = agent.read();
        editor.assert_sound(&agent);
        (outcome(&record, 1), stop, record.received("session/cancel").len())
    };
    let cancelled = json!({"outcome": "cancelled"});
    assert_eq!(run(&|e, q| e.answer(q, "reject_once")), (selected("no"), "end_turn".into(), 0));
    assert_eq!(run(&|e, q| e.answer(q, "cancelled")), (cancelled.clone(), "end_turn".into(), 0));
    assert_eq!(
        run(&|e, q| e.cancel(q["session"].as_str().expect("a session"))),
        (cancelled, "cancelled".into(), 1)
    );
}

// B64
#[test]
fn while_a_question_waits_the_wire_goes_on_and_a_new_prompt_is_queued() {
    let editor = Setup::new().file("a.txt", "one\n").start();
    let (go, seen) = (editor.aside("go"), editor.aside("seen"));
    let agent = editor.script(&[
        auto(),
        prompt(),
        ask(1, tool("t", "x"), allow_or_reject()),
        gate(&go),
        say("still talking"),
        read(2, "a.txt"),
        answered_with(2, json!({"result": {"content": "one\n"}})),
        touch(&seen),
        answered(1),
        end_turn(),
        then_polite(),
    ]);
    let session = editor.ask("first");
    let question = editor.await_pending(1).remove(0);
    editor.prompt(&session, "second");
    editor.eventually("the queue", || editor.session(&session)["queue"] == json!(["second"]));
    editor.open_gate(&go);
    editor.await_file(&seen);
    editor.await_transcript(&session, "still talking");
    assert_eq!(agent.read().received("session/prompt").len(), 1, "one prompt at a time");
    editor.answer(&question, "reject_once");
    assert_eq!(editor.turn_end(2), "end_turn");
    let prompts = agent.read().received("session/prompt");
    assert_eq!(prompts.len(), 2);
    assert_eq!(prompts[1]["params"]["prompt"][0]["text"], "second");
    editor.assert_sound(&agent);
}

#[test]
fn the_diff_of_a_question_is_native_against_the_live_text_and_hiding_it_answers_nothing() {
    let editor = Setup::new().file("a.txt", "one\ntwo\nthree\n").start();
    let buf = editor.edit("a.txt");
    editor.input("ccONE, not saved<Esc>");
    editor.eventually("the typed line", || editor.lines(buf)[0] == "ONE, not saved");
    let layout = "return { vim.fn.winlayout(), #vim.api.nvim_list_tabpages(), vim.wo.diff, vim.wo.foldmethod, vim.wo.scrollbind }";
    let before = editor.lua(layout, &[]);
    let tool = edit_tool("t", "a.txt", "two", "TWO");
    let (agent, question) = question(&editor, tool, allow_or_reject());
    editor.exec("Bosun diff");
    let sides = "local sides = {}
        for _, win in ipairs(vim.api.nvim_tabpage_list_wins(0)) do
          if vim.wo[win].diff then
            local buf = vim.api.nvim_win_get_buf(win)
            sides[#sides + 1] = { buf, vim.api.nvim_buf_get_lines(buf, 0, -1, true) }
          end
        end
        return sides";
    let sides = editor.wait_for("both sides of the diff", || {
        let sides = editor.lua(sides, &[]);
        (sides[1][1] == json!(["ONE, not saved", "TWO", "three"])).then_some(sides)
    });
    assert_eq!(
        sides[0],
        json!([buf, ["ONE, not saved", "two", "three"]]),
        "the left side is the live buffer"
    );
    assert_eq!(editor.lua("return #vim.api.nvim_list_tabpages()", &[]), 2);
    editor.exec("tabclose");
    assert_eq!(editor.lua(layout, &[]), before);
    assert_eq!(editor.await_pending(1)[0]["id"], question["id"], "hidden, not answered");
    editor.answer(&question, "allow_once");
    assert_eq!(editor.turn_end(1), "end_turn");
    editor.assert_sound(&agent);
}

#[test]
fn all_diffs_of_a_question_can_be_reached() {
    let editor = Setup::new().start();
    let diff = |name: &str| json!({"type": "diff", "path": format!("$CWD/{name}"), "oldText": null, "newText": name});
    let tool = json!({
        "toolCallId": "t", "title": "Make three", "kind": "edit", "content": [diff("a"), diff("b"), diff("c")],
    });
    let (agent, question) = question(&editor, tool, allow_or_reject());
    assert_eq!(question["files"].as_array().map(Vec::len), Some(3), "{question}");
    for (number, name) in [(1, "a"), (2, "b"), (3, "c")] {
        editor.exec(&format!("Bosun diff {number}"));
        editor.eventually(&format!("the text of {name}"), || {
            let found = editor.lua(
                "for _, win in ipairs(vim.api.nvim_tabpage_list_wins(0)) do
                   local buf = vim.api.nvim_win_get_buf(win)
                   if vim.wo[win].diff and vim.deep_equal(vim.api.nvim_buf_get_lines(buf, 0, -1, true), { ... }) then
                     return true
                   end
                 end",
                &[name.into()],
            );
            found == true
        });
    }
    editor.answer(&question, "no");
    assert_eq!(editor.turn_end(1), "end_turn");
    editor.assert_sound(&agent);
}

// B133
#[test]
fn nothing_in_a_title_or_a_command_can_hide_or_be_run() {
    let editor = Setup::new().start();
    editor.exec("let g:run = 0 | set statusline=%f winbar=");
    let nasty = "ls\u{1b}[2K\rrm -rf ~ \u{202e}txt.exe %{execute('let g:run = 1')} %=| let g:run = 2 <CR>:let g:run = 3<CR>";
    let hidden = format!("echo{}; rm -rf /", " ".repeat(5000));
    let tool = json!({
        "toolCallId": "t", "title": nasty, "kind": "execute", "rawInput": {"command": hidden},
    });
    let options = json!([
        {"optionId": "y", "name": "Yes %{execute('let g:run = 4')}\n\u{1b}[1m", "kind": "allow_once"},
        {"optionId": "n", "name": "No", "kind": "reject_once"},
    ]);
    let modeline = say("vim: set nomodifiable modelineexpr:\n%{execute('let g:run = 5')}\n");
    let agent = editor.script(&[auto(), prompt(), modeline, ask(1, tool, options), answered(1), end_turn()]);
    let session = editor.ask("go");
    let question = editor.await_pending(1).remove(0);
    editor.exec("Bosun open");
    editor.exec("stopinsert");
    editor.exec("Bosun pending");
    editor.await_transcript(&session, "; rm -rf /");
    editor.eventually("the question on the screen", || editor.screen().contains("rm -rf ~"));
    editor.exec("redraw!");
    let everywhere = [question.to_string(), editor.transcript(&session), editor.screen()];
    for text in &everywhere {
        assert!(!text.contains('\u{1b}') && !text.contains('\r') && !text.contains('\u{202e}'), "{text}");
    }
    let transcript = &everywhere[1];
    assert!(transcript.contains("; rm -rf /"), "the whole command can be reached: {transcript}");
    assert!(
        transcript.contains("^[") && transcript.contains("202E"),
        "escaped where it can be seen: {transcript}"
    );
    assert!(!transcript.contains(&" ".repeat(200)), "{transcript}");
    editor.exec("Bosun answer n");
    assert_eq!(editor.turn_end(1), "end_turn");
    assert_eq!(editor.lua("return vim.g.run", &[]), 0);
    assert_eq!(outcome(&agent.read(), 1), selected("n"));
    editor.assert_sound(&agent);
}

#[test]
fn digits_in_the_chat_answer_the_question_once_it_has_been_seen() {
    let editor = Setup::new().start();
    let agent = editor.script(&[
        auto(),
        prompt(),
        ask(1, tool("t", "the thing"), allow_or_reject()),
        answered(1),
        end_turn(),
    ]);
    let session = editor.ask("go");
    editor.exec("Bosun open");
    editor.exec("stopinsert");
    editor.await_pending(1);
    editor.eventually("the question in the transcript", || editor.screen().matches("the thing").count() >= 1);
    // A digit is a count until the question has been on the screen for a moment; which digit lands is then the answer.
    editor.eventually("an answer by digit", || {
        editor.input("2<Esc>");
        editor.state(&session) != "waiting"
    });
    assert_eq!(editor.turn_end(1), "end_turn");
    assert_eq!(outcome(&agent.read(), 1), selected("no"));
    editor.assert_sound(&agent);
}
