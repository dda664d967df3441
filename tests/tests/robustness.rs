//! What agents really put on the wire: noise, pieces, words of the future, odd requests. Nothing of it costs the session.

use bosun_tests::editor::Scripted;
use bosun_tests::steps::*;
use bosun_tests::{Editor, Setup};
use serde_json::{Value, json};

/// A chunk as the line it is on the wire.
fn line(text: &str) -> String {
    let update = json!({"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": text}});
    let params = json!({"sessionId": "$SESSION", "update": update});
    json!({"jsonrpc": "2.0", "method": "session/update", "params": params}).to_string() + "\n"
}

/// Plays one turn with these steps in the middle; it must end by itself.
fn turn(steps: Vec<Value>) -> (Editor, Scripted, String) {
    let editor = Setup::new().file("a.txt", "one\n").start();
    let mut story = vec![auto(), prompt()];
    story.extend(steps);
    story.push(end_turn());
    let agent = editor.script(&story);
    let session = editor.ask("go");
    assert_eq!(editor.turn_end(1), "end_turn");
    let text = editor.transcript(&session);
    (editor, agent, text)
}

// B74
#[test]
fn noise_on_stdout_costs_nothing_but_itself() {
    let editor = Setup::new().start();
    let long = format!("{}\n", "no JSON at all ".repeat(14_000));
    let crlf = line("after CRLF. ").replace('\n', "\r\n");
    let agent = editor.script(&[
        raw("Migrating…\n\n\u{1b}[2J\u{1b}[H\nnpm WARN deprecated\n"),
        json!({"raw": long}),
        json!({"raw_base64": "77u/Cg=="}),
        auto(),
        prompt(),
        raw("> one\n"),
        json!({"raw": crlf}),
        json!({"raw": format!("\u{feff}{}", line("after a BOM. "))}),
        json!({"raw_base64": "//4AwYAK"}),
        raw("[]\nnull\n42\n\"text\"\n{}\n{\"jsonrpc\":\"2.0\"}\n"),
        json!({"raw": format!("log without a line end{}", line("glued. "))}),
        say("the last."),
        end_turn(),
    ]);
    let session = editor.ask("go");
    assert_eq!(editor.turn_end(1), "end_turn");
    let text = editor.transcript(&session);
    for shown in ["after CRLF.", "after a BOM.", "the last."] {
        assert!(text.contains(shown), "{shown}: {text}");
    }
    assert!(!text.contains("npm WARN") && !text.contains("no JSON at all"), "{text}");
    editor.assert_sound(&agent);
}

// B74
#[test]
fn an_agent_that_only_prints_a_banner_and_leaves_is_explained() {
    let editor = Setup::new().start();
    editor.script(&[
        raw("Welcome to the agent! Run it with --acp\n"),
        json!({"stderr": "usage: agent --acp"}),
        json!({"exit": 1}),
    ]);
    let session = editor.ask("go");
    editor.await_state(&session, "dead");
    let text = editor.await_transcript(&session, "usage: agent --acp");
    assert!(text.contains("exit code 1"), "{text}");
}

// B76
#[test]
fn messages_are_whole_however_they_are_cut() {
    let byte_wise = line("byte by byte: ü 中 🦀. ");
    let joined: String = (0..100).map(|n| line(&format!("<{n}>"))).collect();
    let big = "x".repeat(20 << 20);
    let huge = format!("{}{}", line("before. "), line(&format!("big {big} end. ")));
    let (editor, agent, _) = turn(vec![
        json!({"raw": byte_wise, "split": 1}),
        json!({"raw": joined}),
        json!({"raw": joined, "split": 4096}),
        json!({"raw": huge}),
        say("after."),
    ]);
    // The end of a turn is told after a quarter of a second at the latest; so much text may take longer to be drawn.
    let session = editor.lua("return require('bosun').sessions()[1].id", &[]);
    let text = editor.await_transcript(session.as_str().expect("a session"), "x end. after.");
    assert!(text.contains("byte by byte: ü 中 🦀."), "{}", &text[..200.min(text.len())]);
    let hundred: String = (0..100).map(|n| format!("<{n}>")).collect();
    assert!(text.contains(&format!("{hundred}{hundred}before. big x")));
    assert_eq!(text.matches('x').count(), 20 << 20);
    editor.assert_sound(&agent);
}

// B76
#[test]
fn the_last_message_needs_no_line_end() {
    let editor = Setup::new().start();
    let last = line("the very last words");
    editor.script(&[auto(), prompt(), json!({"raw": last.trim_end()}), json!({"exit": 0})]);
    let session = editor.ask("go");
    assert_eq!(editor.turn_end(1), "agent_exit");
    let text = editor.transcript(&session);
    assert!(text.contains("the very last words"), "{text}");
}

// B77
#[test]
fn words_of_the_future_are_shown_as_such_and_lose_nothing_around_them() {
    let kinds = [
        json!({"sessionUpdate": "usage_update", "used": 10, "size": 100, "extra": {"a": [1]}}),
        json!({"sessionUpdate": "usage_update"}),
        json!({"sessionUpdate": "config_option_update", "configOptions": "no list"}),
        json!({"sessionUpdate": "session_info_update", "title": "A title", "_meta": {"x": 1}}),
        json!({"sessionUpdate": "plan_update", "plan": {"type": "spiral", "planId": "p"}}),
        json!({"sessionUpdate": "notice", "severity": "dire", "title": "Take notice"}),
        json!({"sessionUpdate": "zzz_first_time", "content": {"type": "text", "text": "?"}}),
        json!({"sessionUpdate": 7}),
        json!({"sessionUpdate": null}),
        json!({"sessionUpdate": "agent_message_chunk", "content": {"type": "hologram", "depth": 3}}),
        json!({"sessionUpdate": "agent_message_chunk"}),
        json!({"sessionUpdate": "plan", "entries": [{"content": "keep me", "priority": "vital", "status": "odd"}, 5]}),
    ];
    let mut steps = vec![say("FIRST. ")];
    for kind in &kinds {
        steps.extend([update(kind.clone()), update(kind.clone())]);
    }
    let tool = json!({
        "sessionUpdate": "tool_call", "toolCallId": "t", "title": "odd tool", "status": "weird", "kind": "foo",
        "content": [{"type": "hologram"}, {"type": "content", "content": {"type": "text", "text": "kept"}}],
        "locations": [{"path": "/x", "line": -1}, null], "_meta": {"y": null},
    });
    steps.extend([update(tool), say("LAST.")]);
    steps.push(
        json!({"reply_to": "session/prompt", "result": {"stopReason": "new_reason", "_meta": {}, "more": 1}}),
    );
    let editor = Setup::new().start();
    let mut story = vec![auto(), prompt()];
    story.extend(steps);
    let agent = editor.script(&story);
    let session = editor.ask("go");
    assert_eq!(editor.turn_end(1), "new_reason");
    let text = editor.transcript(&session);
    for shown in ["FIRST.", "LAST.", "keep me", "odd tool", "Take notice", "new_reason", "zzz_first_time"] {
        assert!(text.contains(shown), "{shown}: {text}");
    }
    assert_eq!(text.matches("zzz_first_time").count(), 1, "said once: {text}");
    editor.assert_sound(&agent);
}

// B79
#[test]
fn updates_before_their_tool_call_make_one_card_that_stays_completed() {
    let update_of = |kind: &str, id: &str, title: &str, status: &str| {
        let content = json!([{"type": "content", "content": {"type": "text", "text": "what it did"}}]);
        update(
            json!({"sessionUpdate": kind, "toolCallId": id, "title": title, "status": status, "content": content}),
        )
    };
    let bare = update(
        json!({"sessionUpdate": "tool_call", "toolCallId": "t9", "title": "ninth tool", "status": "pending"}),
    );
    let (editor, agent, text) = turn(vec![
        update_of("tool_call_update", "t9", "ninth tool", "completed"),
        bare,
        update_of("tool_call_update", "", "nameless tool", "completed"),
        say("after"),
    ]);
    assert_eq!(text.matches("ninth tool").count(), 1, "{text}");
    let card = text.lines().find(|l| l.contains("ninth tool")).expect("a card");
    let other = text.lines().find(|l| l.contains("nameless tool")).expect("a card");
    assert_eq!(card.chars().next(), other.chars().next(), "both are shown as done: {text}");
    assert!(text.contains("after"), "{text}");
    editor.assert_sound(&agent);
}

// B79
#[test]
fn updates_before_the_session_is_known_are_not_lost() {
    let editor = Setup::new().start();
    let early = |update: Value| {
        send(json!({"method": "session/update", "params": {"sessionId": "s-early", "update": update}}))
    };
    let agent = editor.script(&[
        expect("initialize"),
        json!({"reply": {"protocolVersion": 1}}),
        expect("session/new"),
        early(json!({"sessionUpdate": "session_info_update", "title": "An early title"})),
        early(json!({"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": "early words"}})),
        json!({"reply": {"sessionId": "s-early"}}),
        prompt(),
        say("later words"),
        end_turn(),
    ]);
    let session = editor.ask("go");
    assert_eq!(editor.turn_end(1), "end_turn");
    assert_eq!(editor.session(&session)["title"], "An early title");
    let text = editor.transcript(&session);
    assert!(text.contains("early words") && text.contains("later words"), "{text}");
    editor.assert_sound(&agent);
}

// B82
#[test]
fn every_odd_request_gets_one_answer_with_its_own_id() {
    let big = 9_007_199_254_740_992_u64;
    let ids = [json!(0), json!("abc"), json!(big), json!("7"), json!(-3)];
    let mut steps = Vec::new();
    for id in &ids {
        steps.extend([
            send(json!({"id": id, "method": "foo/bar", "params": {}})),
            answered_with(id.clone(), json!({"error": {"code": -32601}})),
        ]);
    }
    let bad = [
        ("fs/read_text_file", Value::Null),
        ("fs/read_text_file", json!(["$CWD/a.txt"])),
        ("fs/read_text_file", json!({"sessionId": "$SESSION"})),
        ("fs/read_text_file", json!({"sessionId": "$SESSION", "path": 7})),
        ("fs/write_text_file", json!({"sessionId": "$SESSION", "path": "$CWD/a.txt"})),
        ("session/request_permission", json!("text")),
    ];
    for ((method, params), id) in bad.iter().zip(100..) {
        let code = json!({"error": {"code": -32602}});
        steps.extend([send(json!({"id": id, "method": method, "params": params})), answered_with(id, code)]);
    }
    let stranger = json!({"sessionId": "nobody", "path": "$CWD/a.txt"});
    steps.extend([
        send(json!({"id": 200, "method": "fs/read_text_file", "params": stranger})),
        answered_with(200, json!({"error": {}})),
        send(json!({"id": 201, "method": "terminal/attach", "params": {"sessionId": "$SESSION", "command": "ls"}})),
        answered_with(201, json!({"error": {"code": -32601}})),
        send(json!({"method": "$/x", "params": {}})),
        send(json!({"method": "session/unheard_of"})),
        send(json!({"id": 999, "result": {"for": "nobody"}})),
        read(300, "a.txt"),
        answered_with(300, json!({"result": {"content": "one\n"}})),
        say("alive"),
    ]);
    let (editor, agent, text) = turn(steps);
    assert!(text.contains("alive"), "{text}");
    editor.assert_sound(&agent);
}

// B82
#[test]
fn an_error_in_lua_becomes_an_error_of_the_request_and_the_channel_lives() {
    let editor = Setup::new().file("a.txt", "one\n").file("b.txt", "two\n").start();
    let wiped = editor.edit("b.txt");
    let buf = editor.edit("a.txt");
    let agent = editor.script(&[
        auto(),
        prompt(),
        read(1, "a.txt"),
        answered(1),
        write(2, "a.txt", "ONE\n"),
        answered_with(2, json!({"error": {"code": -32603}})),
        read(3, "b.txt"),
        answered(3),
        write(4, "b.txt", "TWO\n"),
        answered_with(4, json!({"result": {}})),
        end_turn(),
    ]);
    editor.lua(
        "local buf = ...
         vim.bo[buf].modifiable = false
         vim.api.nvim_create_autocmd('BufWritePre', { pattern = 'b.txt', callback = function() error('no') end })",
        &[buf.into()],
    );
    editor.ask("go");
    let first = editor.await_pending(1).remove(0);
    editor.answer(&first, "allow_once");
    let second = editor
        .wait_for("the second question", || editor.pending().into_iter().find(|q| q["id"] != first["id"]));
    editor.lua("vim.api.nvim_clear_autocmds({ event = 'BufWritePre' }); vim.api.nvim_buf_delete(..., { force = true })", &[wiped.into()]);
    editor.answer(&second, "allow_once");
    assert_eq!(editor.turn_end(1), "end_turn");
    assert_eq!(editor.lines(buf), ["one"]);
    assert_eq!(editor.disk("a.txt"), b"one\n");
    assert_eq!(editor.disk("b.txt"), b"TWO\n", "a buffer that is gone leaves the file");
    agent.read().assert_sound();
}

#[test]
fn a_save_that_an_autocommand_refuses_is_not_reported_as_done() {
    let editor = Setup::new().file("a.txt", "one\n").start();
    let buf = editor.edit("a.txt");
    editor.exec("autocmd BufWritePre <buffer> throw 'no saving today'");
    let agent = editor.script(&[
        auto(),
        prompt(),
        read(1, "a.txt"),
        answered(1),
        write(2, "a.txt", "ONE\n"),
        answered_with(2, json!({"error": {}})),
        end_turn(),
    ]);
    editor.ask("go");
    let question = editor.await_pending(1).remove(0);
    editor.answer(&question, "allow_once");
    assert_eq!(editor.turn_end(1), "end_turn");
    let message = agent.read().replies(&json!(2))[0]["error"]["message"].clone();
    assert!(message.as_str().is_some_and(|m| m.contains("no saving today")), "{message}");
    assert_eq!(editor.disk("a.txt"), b"one\n");
    assert_eq!(editor.lines(buf), ["ONE"], "the text is there, and its message says so");
    agent.read().assert_sound();
}

// B49
#[test]
fn fences_and_backticks_do_not_swallow_what_follows() {
    let tool = |id: &str, text: &str| {
        let content = json!([{"type": "content", "content": {"type": "text", "text": text}}]);
        update(json!({"sessionUpdate": "tool_call", "toolCallId": id, "title": format!("tool {id}"),
                      "status": "completed", "content": content}))
    };
    let (editor, agent, text) = turn(vec![
        tool("a", "```\nthree\n```\n````\nfour, never closed"),
        tool("b", "~~~\n`````"),
        say("Words before\n"),
        say("``"),
        say("`rust\nlet x = 1;\n``"),
        say("`\nplain again\n```\nnever closed"),
        tool("c", "between two messages"),
        say("plain in the next message"),
    ]);
    assert!(text.contains("```rust\nlet x = 1;\n```\nplain again"), "{text}");
    let groups = editor.lua(
        "local found = {}
         for _, buf in ipairs(vim.api.nvim_list_bufs()) do
           if vim.bo[buf].filetype == 'bosun' then
             for row, line in ipairs(vim.api.nvim_buf_get_lines(buf, 0, -1, true)) do
               if line:find('^plain ') or line == 'let x = 1;' then
                 found[line] = found[line] or {}
                 for _, mark in ipairs(vim.api.nvim_buf_get_extmarks(buf, -1, { row - 1, 0 }, { row - 1, -1 }, { details = true })) do
                   table.insert(found[line], mark[4].hl_group)
                 end
               end
             end
           end
         end
         return found",
        &[],
    );
    let code = |line: &str| groups[line].to_string().contains("BosunCode");
    assert!(code("let x = 1;"), "{groups}");
    assert!(!code("plain again") && !code("plain in the next message"), "{groups}");
    editor.assert_sound(&agent);
}
