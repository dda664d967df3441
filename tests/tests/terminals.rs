//! Commands that agents run in the editor's terminals: approval, text and status for the agent, and what a person sees.

use std::time::Duration;

use bosun_tests::steps::*;
use bosun_tests::{Editor, Hand, Setup};
use serde_json::{Value, json};

fn started(init: &str) -> Editor {
    let editor = Setup::new().init(init).file("a.txt", "one\n").start();
    editor.edit("a.txt");
    editor
}

fn unasked(editor: &Editor) -> Hand<'_> {
    Hand::start_with(editor, json!({"commands": "agent"}), &[])
}

fn terminals(editor: &Editor) -> Vec<Value> {
    editor.lua("return require('bosun.state').terminals", &[]).as_array().cloned().unwrap_or_default()
}

#[test]
fn a_command_is_asked_about_and_its_text_and_status_are_exact() {
    let editor = started("");
    let mut hand = Hand::start(&editor);
    hand.send(
        "terminal/create",
        json!({"command": "printf 'a\\033[31mb\\033[0m\\n50%%\\r100%%\\n'; exit 3"}),
    );
    let question = hand.question();
    assert!(question["title"].as_str().is_some_and(|t| t.starts_with("run printf")), "{question}");
    assert!(
        question["title"].as_str().is_some_and(|t| t.ends_with("; exit 3")),
        "the whole line: {question}"
    );
    editor.answer(&question, "allow_once");
    let made = hand.outcome().expect("it runs");
    let about = json!({"terminalId": made["terminalId"]});
    assert_eq!(
        hand.call("terminal/wait_for_exit", about.clone()),
        Ok(json!({"exitCode": 3, "signal": null}))
    );
    let output = hand.call("terminal/output", about.clone()).expect("its text");
    assert_eq!(
        output,
        json!({"output": "ab\n100%\n", "truncated": false, "exitStatus": {"exitCode": 3, "signal": null}})
    );
    assert_eq!(hand.call("terminal/kill", about.clone()), Ok(json!({})), "what has ended can be killed");
    assert_eq!(hand.call("terminal/release", about.clone()), Ok(json!({})));
    let error = hand.call("terminal/output", about).expect_err("it is released");
    assert_eq!(error["code"], -32002, "{error}");
    editor.exec("Bosun open");
    let session = hand.session.clone();
    editor.eventually("its card", || {
        let transcript = editor.transcript(&session);
        transcript.contains("exit 3 after 0 s") && transcript.contains("100%")
    });
    hand.end();
}

#[test]
fn a_command_that_is_refused_does_not_run_and_neither_does_one_whose_turn_is_cancelled() {
    let editor = started("");
    let mut hand = Hand::start(&editor);
    hand.send("terminal/create", json!({"command": "touch ran"}));
    let error = hand.outcome_after("reject_once").expect_err("it is refused");
    assert!(error["message"].as_str().is_some_and(|m| m.contains("rejected")), "{error}");
    hand.send("terminal/create", json!({"command": "touch ran"}));
    hand.question();
    editor.cancel(&hand.session);
    let error = hand.outcome().expect_err("it is withdrawn");
    assert_eq!(error["code"], -32800, "{error}");
    assert!(!editor.path("ran").exists());
    hand.end_as("cancelled");
}

#[test]
fn a_permission_covers_the_very_command_it_was_for_and_only_once() {
    let editor = started("");
    let mut hand = Hand::start(&editor);
    let tool = json!({"toolCallId": "c1", "title": "`echo hi`", "kind": "execute", "rawInput": {"command": "echo hi"}});
    hand.send("session/request_permission", json!({"toolCall": tool, "options": allow_or_reject()}));
    assert!(hand.outcome_after("allow_once").is_ok());
    // The list of questions comes to the editor a moment after the answer went to the agent.
    editor.await_pending(0);
    hand.send("terminal/create", json!({"command": "echo hi"}));
    assert!(hand.outcome_unasked().is_ok());
    hand.send("terminal/create", json!({"command": "echo hi"}));
    assert!(hand.outcome_after("reject_once").is_err(), "asked about the second time");
    hand.send("terminal/create", json!({"command": "echo hi; rm -rf x"}));
    assert!(hand.outcome_after("reject_once").is_err(), "another command");
    hand.end();
}

#[test]
fn where_a_command_runs_is_the_sessions_folder_and_another_is_asked_about() {
    let editor = started("");
    std::fs::create_dir(editor.path("sub")).expect("a folder");
    let mut hand = unasked(&editor);
    let mut pwd = |params: Value, asked: bool| {
        hand.send("terminal/create", params);
        let made = if asked { hand.outcome_after("allow_once") } else { hand.outcome_unasked() };
        let about = json!({"terminalId": made.expect("it runs")["terminalId"]});
        hand.call("terminal/wait_for_exit", about.clone()).expect("it ends");
        let output = hand.call("terminal/output", about).expect("its text");
        output["output"].as_str().unwrap_or_default().trim_end().to_owned()
    };
    let project = editor.path("").canonicalize().expect("a folder");
    assert_eq!(pwd(json!({"command": "pwd"}), false), project.to_string_lossy());
    let sub = editor.path("sub").canonicalize().expect("a folder");
    assert_eq!(pwd(json!({"command": "pwd", "cwd": sub}), false), sub.to_string_lossy());
    assert_eq!(pwd(json!({"command": "pwd", "cwd": "/"}), true), "/");
    assert_eq!(pwd(json!({"command": "echo", "args": ["$HOME", "a b"]}), false), "$HOME a b");
    let env = json!([{"name": "FOO", "value": "bar"}]);
    assert_eq!(pwd(json!({"command": "echo $FOO $PAGER", "env": env}), false), "bar cat");
    hand.end();
}

// B113
#[test]
fn a_flood_that_is_killed_ends_at_once_and_its_text_stays() {
    let editor = started("");
    let mut hand = unasked(&editor);
    hand.send("terminal/create", json!({"command": "setsid sleep 1000 & yes", "outputByteLimit": 1000}));
    let made = hand.outcome_unasked().expect("it runs");
    let about = json!({"terminalId": made["terminalId"]});
    editor.eventually("a flood", || {
        let output = hand.call("terminal/output", about.clone()).expect("its text");
        output["truncated"] == true
    });
    assert_eq!(hand.call("terminal/kill", about.clone()), Ok(json!({})));
    let took = hand.took_ms();
    assert!(took < 200.0, "{took} ms");
    let marked =
        editor.processes().into_iter().filter(|p| p.command.join(" ").contains("sleep 1000")).count();
    assert_eq!(marked, 0, "a descendant is left");
    let output = hand.call("terminal/output", about.clone()).expect("its text");
    let text = output["output"].as_str().unwrap_or_default();
    assert!(text.len() == 1000 && text.chars().all(|c| "y\n".contains(c)), "{text:?}");
    assert!(output["exitStatus"]["exitCode"].as_u64() > Some(128), "{}", output["exitStatus"]);
    assert_eq!(hand.call("terminal/release", about), Ok(json!({})));
    hand.end();
}

// B110
#[test]
fn a_release_ends_the_command_and_answers_who_waits_for_it() {
    let editor = started("");
    let story = [
        auto(),
        prompt(),
        request("c", "terminal/create", json!({"command": "sleep 1000"})),
        json!({"wait_reply": "c", "save": {"T": "/result/terminalId"}}),
        request("w1", "terminal/wait_for_exit", json!({"terminalId": "$T"})),
        request("w2", "terminal/wait_for_exit", json!({"terminalId": "$T"})),
        request("r", "terminal/release", json!({"terminalId": "$T"})),
        answered("r"),
        answered_with("w1", json!({"result": {"exitCode": 143, "signal": "SIGTERM"}})),
        answered_with("w2", json!({"result": {"exitCode": 143, "signal": "SIGTERM"}})),
        end_turn(),
    ];
    let agent = editor.script_with(&story, json!({"commands": "agent"}));
    editor.ask("go");
    assert_eq!(editor.turn_end(1), "end_turn");
    agent.read().assert_sound();
}

#[test]
fn a_person_opens_it_types_into_it_and_stops_it() {
    let editor = started("");
    let mut hand = unasked(&editor);
    hand.send("terminal/create", json!({"command": "read name; echo \"hello $name\"; sleep 100"}));
    let made = hand.outcome_unasked().expect("it runs");
    let about = json!({"terminalId": made["terminalId"]});
    editor.eventually("the list", || terminals(&editor).len() == 1);
    editor.exec("Bosun terminals 1");
    editor.eventually("the view", || editor.screen().contains("read name"));
    editor.input("iworld<CR>");
    editor.eventually("what it says", || editor.screen().contains("hello world"));
    editor.input("<C-\\><C-n><C-c>");
    let status = hand.call("terminal/wait_for_exit", about.clone()).expect("it ends");
    assert!(status["exitCode"].as_u64() > Some(128), "{status}");
    let output = hand.call("terminal/output", about).expect("its text");
    let text = output["output"].as_str().unwrap_or_default();
    assert!(text.contains("hello world") && text.contains("stopped by the user"), "{text}");
    editor.eventually("how it ended", || terminals(&editor)[0]["state"] == "exited");
    hand.end();
}

#[test]
fn long_output_is_kept_whole_in_a_file_that_the_card_names() {
    let editor = started("");
    let mut hand = unasked(&editor);
    hand.send(
        "terminal/create",
        json!({"command": "seq 1 5000; printf '\\033[31mred\\033[0m'", "outputByteLimit": 100}),
    );
    let about = json!({"terminalId": hand.outcome_unasked().expect("it runs")["terminalId"]});
    assert!(hand.call("terminal/wait_for_exit", about).is_ok());
    editor.exec("Bosun open");
    let session = hand.session.clone();
    let path = editor.wait_for("the card names the file", || {
        let text = editor.transcript(&session);
        text.lines().find_map(|line| line.strip_prefix("  all of it: ").map(str::to_owned))
    });
    let whole: String = (1..=5000).map(|n| format!("{n}\r\n")).collect::<String>() + "\x1b[31mred\x1b[0m";
    editor.eventually("the file", || std::fs::read_to_string(&path).is_ok_and(|text| text == whole));
    hand.end();
}

// B118
#[test]
fn two_hundred_terminals_that_nobody_releases_leave_nothing_behind() {
    let editor = started("");
    let mut hand = unasked(&editor);
    let sidecar = editor.sidecar().pid;
    let count =
        |what: &str| std::fs::read_dir(format!("/proc/{sidecar}/{what}")).expect("the sidecar").count();
    let bufs = || editor.lua("return #vim.api.nvim_list_bufs()", &[]);
    let (before, bufs_before) = (count("fd"), bufs());
    for n in 0..200 {
        hand.send("terminal/create", json!({"command": format!("echo {n}")}));
        let made = hand.outcome().expect("it runs");
        let about = json!({"terminalId": made["terminalId"]});
        assert!(hand.call("terminal/wait_for_exit", about).is_ok());
    }
    let session = hand.session.clone();
    hand.end();
    editor.lua("require('bosun').close({ session = ... })", &[json!(session)]);
    editor.eventually("the descriptors are given back", || count("fd") <= before);
    editor.eventually("no terminal is left", || terminals(&editor).is_empty());
    assert!(bufs().as_i64() <= bufs_before.as_i64());
}

#[test]
fn neovim_leaves_while_a_command_runs_and_nothing_stays() {
    let mut editor = started("");
    let marker = editor.aside("alive");
    let line = format!("setsid sleep 1000 & echo $! > {0}.tmp; mv {0}.tmp {0}; sleep 1000", marker.display());
    {
        let mut hand = unasked(&editor);
        hand.send("terminal/create", json!({"command": line}));
        assert!(hand.outcome().is_ok());
        editor.eventually("it runs", || marker.exists());
    }
    let pid = std::fs::read_to_string(&marker).expect("a pid").trim().to_owned();
    editor.input(":qa!<CR>");
    assert!(editor.ended(Duration::from_secs(5)));
    let end = std::time::Instant::now() + Duration::from_secs(3);
    while std::path::Path::new(&format!("/proc/{pid}")).exists() {
        assert!(std::time::Instant::now() < end, "process {pid} lives");
        std::thread::sleep(Duration::from_millis(10));
    }
}

// B111
#[test]
fn a_command_that_the_agent_runs_itself_is_shown_in_whatever_order_its_parts_come() {
    let editor = started("");
    let part = |meta: Value| {
        update(
            json!({"sessionUpdate": "tool_call_update", "toolCallId": "x", "title": "make all", "_meta": meta}),
        )
    };
    let story = [
        auto(),
        prompt(),
        part(json!({"terminal_output_delta": {"terminal_id": "exec-1", "data": "one\n"}})),
        part(json!({"terminal_info": {"terminal_id": "exec-1", "cwd": "/"}})),
        part(json!({"terminal_output": {"terminal_id": "exec-1", "data": "one\ntwo\n"}})),
        part(json!({"terminal_exit": {"terminal_id": "exec-1", "exit_code": 2, "signal": null}})),
        part(json!({"terminal_output_delta": {"terminal_id": "exec-1", "data": "late\n"}})),
        end_turn(),
    ];
    editor.script(&story);
    let session = editor.ask("go");
    assert_eq!(editor.turn_end(1), "end_turn");
    let shown = terminals(&editor);
    assert_eq!((shown.len(), &shown[0]["agent_only"], &shown[0]["code"]), (1, &json!(true), &json!(2)));
    editor.exec("Bosun open");
    editor.eventually("its card", || {
        let text = editor.transcript(&session);
        text.contains("$ make all (exit 2") && text.contains("  one\n  two\n  late")
    });
    // <CR> on the card opens it.
    editor.input("<Esc><C-w>k");
    editor.eventually("the transcript", || editor.lua("return vim.bo.filetype", &[]) == "bosun");
    editor.exec("call search('make all (exit')");
    editor.input("<CR>");
    editor.eventually("the view", || editor.lua("return vim.bo.buftype", &[]) == "terminal");
    editor.eventually("its text, each line from the left on", || {
        let screen = editor.screen();
        ["one", "two", "late"].iter().all(|text| screen.lines().any(|line| line.starts_with(text)))
    });
}

// B112
#[test]
fn a_commit_in_a_terminal_opens_its_message_in_this_neovim() {
    let editor = started("");
    let mut hand = unasked(&editor);
    let line =
        "git init -q . && git add a.txt && git -c user.name=x -c user.email=x@y commit; git log --format=%s";
    hand.send("terminal/create", json!({"command": line}));
    let about = json!({"terminalId": hand.outcome_unasked().expect("it runs")["terminalId"]});
    editor.eventually("the message", || editor.lua("return vim.bo.filetype", &[]) == "gitcommit");
    editor.input("iThe subject<Esc>:wq<CR>");
    let status = hand.call("terminal/wait_for_exit", about.clone()).expect("it ends");
    assert_eq!(status["exitCode"], 0);
    let output = hand.call("terminal/output", about).expect("its text");
    assert!(output["output"].as_str().is_some_and(|text| text.ends_with("The subject\n")), "{output}");
    hand.end();
}
