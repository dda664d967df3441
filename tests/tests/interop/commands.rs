//! Commands of real agents: which run in the editor's terminals, which the agents run themselves, and what a person sees.

use bosun_tests::agents::{Agent, CLAUDE, CODEX, HERMES, OPENCODE, REASONIX};
use bosun_tests::model::ModelServer;
use bosun_tests::{Editor, Setup};
use serde_json::{Value, json};

use crate::{LIMIT, employ, strays, terminals};

/// An editor whose agent runs this line for `[[run]]`. The model ends when it is dropped.
fn start(agent: &Agent, line: &str) -> (Editor, ModelServer) {
    let editor = Setup::new().file("notes.txt", "alpha\n").limit(LIMIT).start();
    let model = ModelServer::start(vec![agent.run("[[run]]", line)], 0).expect("a free port on 127.0.0.1");
    employ(&editor, agent, &model);
    (editor, model)
}

#[test]
fn reasonix_runs_a_command_in_a_terminal_of_the_editor_and_the_person_types_into_it() {
    let line = "test -t 0 && echo on a terminal; printf 'Go on? '; read answer; echo \"so: $answer\"; exit 3";
    let (editor, model) = start(&REASONIX, line);
    let session = editor.ask("Run it [[run]]");
    let question = editor.await_pending(1).remove(0);
    assert_eq!(question["title"], json!(format!("run {line}")), "{question}");
    assert_eq!(terminals(&editor), Vec::<Value>::new(), "nothing runs before it is allowed");
    editor.answer(&question, "allow_once");

    editor.eventually("the command", || terminals(&editor).iter().any(|t| t["state"] == "running"));
    editor.exec("Bosun terminals 1");
    // Not where its command is shown, which has the same words.
    let asks = || editor.screen().lines().any(|line| line.starts_with("Go on?"));
    editor.eventually("its question", asks);
    editor.input("iyes<CR>");
    editor.eventually("what it says", || editor.screen().contains("so: yes"));
    assert_eq!(editor.turn_end(1), "end_turn");

    let seen = model.tool_results();
    let text = "on a terminal\nGo on? yes\nso: yes\n";
    assert!(seen.iter().any(|result| result.contains(text)), "{seen:?}");
    let shown = terminals(&editor);
    assert_eq!((shown.len(), &shown[0]["code"], &shown[0]["command"]), (1, &json!(3), &json!(line)));
    assert_ne!(shown[0]["agent_only"], true, "it is ours");
    let card = editor.await_transcript(&session, "(exit 3 after ");
    assert!(card.contains("  Go on? yes\n  so: yes"), "{card}");
    let looked = std::fs::read_to_string(editor.aside("reasonix").join("bin/bwrap.log")).expect("it looked");
    assert!(looked.lines().all(|line| line.ends_with(" -- true")), "{looked}");
    assert_eq!(strays(&model), Vec::<String>::new());
    editor.assert_quiet();
}

#[test]
fn codex_runs_a_command_itself_and_its_terminal_is_shown_as_it_writes() {
    let (editor, model) = start(&CODEX, "cat first; cat second; echo end; exit 3");
    let [first, second] = ["first", "second"].map(|name| editor.path(name));
    for pipe in [&first, &second] {
        nix::unistd::mkfifo(pipe, nix::sys::stat::Mode::S_IRWXU).expect("a pipe with a name");
    }
    let session = editor.ask("Run it [[run]]");
    editor.eventually("the command", || terminals(&editor).iter().any(|t| t["state"] == "running"));
    std::fs::write(&first, "tick\n").expect("the command reads it");
    editor.await_transcript(&session, "\n  tick");
    editor.exec("Bosun terminals 1");
    editor.eventually("its output", || editor.screen().contains("tick"));
    std::fs::write(&second, "tick\n").expect("the command reads it");
    assert_eq!(editor.turn_end(1), "end_turn");

    let seen = model.tool_results();
    assert!(seen.iter().any(|result| result.contains("tick\ntick\nend\nexit 3")), "{seen:?}");
    let shown = terminals(&editor);
    assert_eq!((shown.len(), &shown[0]["code"], &shown[0]["agent_only"]), (1, &json!(3), &json!(true)));
    let card = editor.await_transcript(&session, "(exit 3 after ");
    assert!(card.contains("  tick\n  tick\n  end\n"), "{card}");
    editor.eventually("all of it in its buffer", || {
        let lines = editor.lua("return vim.fn.getbufline('%', 1, '$')", &[]);
        lines.to_string().contains(r#""tick","tick","end""#)
    });
    assert_eq!(strays(&model), Vec::<String>::new());
    editor.assert_quiet();
}

#[test]
fn claude_runs_a_command_itself_and_its_terminal_is_called_by_the_command() {
    let line = "echo hello | tr a-z A-Z; echo oops; exit 3";
    let (editor, model) = start(&CLAUDE, line);
    let session = editor.ask("Run it [[run]]");
    let question = editor.await_pending(1).remove(0);
    assert_eq!(question["title"], json!(line), "the agent asks by itself: {question}");
    editor.answer(&question, "allow_once");
    assert_eq!(editor.turn_end(1), "end_turn");

    let shown = terminals(&editor);
    assert_eq!((shown.len(), &shown[0]["command"], &shown[0]["agent_only"]), (1, &json!(line), &json!(true)));
    assert_eq!(shown[0]["state"], "exited", "{shown:?}");
    // It says 1 for every command that fails; what the command said is in the text.
    let card = editor.await_transcript(&session, &format!("$ {line} (exit 1 after "));
    assert!(card.contains("  Exit code 3\n  HELLO\n  oops\n"), "{card}");
    assert_eq!(strays(&model), Vec::<String>::new());
    editor.assert_quiet();
}

/// Agents without terminals: what the command said is part of the tool call, which a person opens.
fn says_it_in_its_tool_call(agent: &Agent, asks: bool) {
    let (editor, model) = start(agent, "echo hello | tr a-z A-Z; echo oops; exit 3");
    let session = editor.ask("Run it [[run]]");
    if asks {
        let question = editor.await_pending(1).remove(0);
        editor.answer(&question, "allow_once");
    }
    assert_eq!(editor.turn_end(1), "end_turn");
    assert_eq!(terminals(&editor), Vec::<Value>::new());
    editor.await_transcript(&session, "Done.");

    editor.exec("Bosun open");
    editor.input("<Esc><C-w>k");
    editor.eventually("the transcript", || editor.lua("return vim.bo.filetype", &[]) == "bosun");
    editor.exec("call search(' execute ')");
    editor.input("<Tab>");
    editor.eventually("what it said", || {
        let transcript = editor.transcript(&session);
        let call = transcript.split("It said:").next().unwrap_or_default();
        call.contains("HELLO\noops\n")
    });
    assert_eq!(strays(&model), Vec::<String>::new());
    editor.assert_quiet();
}

#[test]
fn hermes_says_what_a_command_wrote_in_its_tool_call() {
    says_it_in_its_tool_call(&HERMES, false);
}

#[test]
fn opencode_says_what_a_command_wrote_in_its_tool_call() {
    says_it_in_its_tool_call(&OPENCODE, true);
}
