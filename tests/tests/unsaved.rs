//! Text that is on the screen and not on the disk: what an agent that reads the disk itself gets of it.

use bosun_tests::steps::*;
use bosun_tests::{Editor, Scripted, Setup};
use serde_json::{Value, json};

const DISK: &str = "one\ntwo\n";
const SCREEN: &str = "one\nTWO, not saved\n";

/// Answers the set-up as an agent that takes embedded text, or none.
fn takes(embedded: bool) -> Value {
    json!({"auto": {"initialize": {"agentCapabilities": {"promptCapabilities": {"embeddedContext": embedded}}}}})
}

/// `a.txt` and `sub/b.txt` with unsaved changes; the person is in `c.txt`, which has none.
fn unsaved() -> Editor {
    unsaved_in(Setup::new())
}

fn unsaved_in(setup: Setup) -> Editor {
    let editor = setup.file("a.txt", DISK).file("sub/b.txt", DISK).file("c.txt", "see\n").start();
    editor.lua("vim.o.hidden = true", &[]);
    for name in ["a.txt", "sub/b.txt"] {
        type_into(&editor, name);
    }
    editor.edit("c.txt");
    editor
}

fn type_into(editor: &Editor, name: &str) -> i64 {
    let buf = editor.edit(name);
    editor.input("jccTWO, not saved<Esc>");
    editor.eventually("the typed line", || text(editor, buf) == SCREEN && editor.mode().0 == "n");
    buf
}

fn text(editor: &Editor, buf: i64) -> String {
    editor.lines(buf).join("\n") + "\n"
}

fn polite(editor: &Editor, embedded: bool, policy: Option<&str>) -> Scripted {
    let more = policy.map_or(json!({}), |policy| json!({"unsaved": policy}));
    editor.script_with(&[takes(embedded), then_polite()], more)
}

/// Prompt number `n` (zero-based) as it came: resources as `name=text`, links as `->name`, texts as they are; names
/// relative to the project.
fn blocks(editor: &Editor, agent: &Scripted, n: usize) -> Vec<String> {
    let prompts = agent.read().received("session/prompt");
    let project = format!("file://{}/", editor.project().display());
    let short = |uri: &Value| uri.as_str().unwrap_or_default().replace(&project, "");
    let block = |b: &Value| match b["type"].as_str() {
        Some("resource") => {
            format!("{}={}", short(&b["resource"]["uri"]), b["resource"]["text"].as_str().unwrap_or_default())
        }
        Some("resource_link") => format!("->{}", short(&b["uri"])),
        _ => b["text"].as_str().unwrap_or_default().replace(&project, ""),
    };
    prompts[n]["params"]["prompt"].as_array().map(|all| all.iter().map(block).collect()).unwrap_or_default()
}

fn words(names: &str) -> String {
    format!(
        "The person has unsaved changes in these files; the text here is what is on their screen, and newer than the \
         disk: {names}"
    )
}

fn prompts(agent: &Scripted) -> usize {
    agent.read().received("session/prompt").len()
}

#[test]
fn an_agent_that_takes_embedded_text_gets_what_is_on_the_screen() {
    let editor = unsaved();
    let agent = polite(&editor, true, None);
    let session = editor.ask("look");
    assert_eq!(editor.turn_end(1), "end_turn");
    let expected = [
        "look".to_owned(),
        format!("a.txt={SCREEN}"),
        format!("sub/b.txt={SCREEN}"),
        words("a.txt, sub/b.txt"),
    ];
    let mut got = blocks(&editor, &agent, 0);
    // The file in the window goes along too: as a link where its mirror is not there yet, since the disk has its text.
    assert!(got.remove(1).contains("c.txt"), "{got:?}");
    assert_eq!(got, expected);
    assert_eq!((editor.disk("a.txt"), editor.disk("sub/b.txt")), (DISK.into(), DISK.into()));
    let transcript = editor.transcript(&session);
    assert!(transcript.contains("@ a.txt (unsaved)\n@ sub/b.txt (unsaved)"), "{transcript}");
    assert!(!transcript.contains("newer than the disk"), "{transcript}");
    assert_eq!(editor.pending(), Vec::<Value>::new());
    editor.assert_sound(&agent);
}

#[test]
fn the_same_text_goes_along_once_and_a_changed_one_again() {
    let editor = unsaved();
    let agent = polite(&editor, true, Some("embed"));
    let session = editor.ask("one");
    assert_eq!(editor.turn_end(1), "end_turn");
    editor.prompt(&session, "two");
    assert_eq!(editor.turn_end(2), "end_turn");
    assert_eq!(blocks(&editor, &agent, 1), ["two", "c.txt=see\n"]);
    let buf = editor.edit("a.txt");
    editor.input("ggOnew<Esc>");
    editor.eventually("the new line", || text(&editor, buf).starts_with("new\n"));
    editor.edit("c.txt");
    editor.prompt(&session, "three");
    assert_eq!(editor.turn_end(3), "end_turn");
    let expected =
        ["three".to_owned(), "c.txt=see\n".to_owned(), format!("a.txt=new\n{SCREEN}"), words("a.txt")];
    assert_eq!(blocks(&editor, &agent, 2), expected);
    // Another session has seen nothing of it.
    editor.ask("four");
    assert_eq!(editor.turn_end(4), "end_turn");
    assert_eq!(blocks(&editor, &agent, 3).len(), 5);
    editor.assert_sound(&agent);
}

#[test]
fn a_text_that_the_agent_has_read_in_full_does_not_go_along() {
    let editor = Setup::new().file("a.txt", DISK).file("b.txt", DISK).start();
    editor.lua("vim.o.hidden = true", &[]);
    let (started, go) = (editor.aside("started"), editor.aside("go"));
    let agent = editor.script(&[
        takes(true),
        prompt(),
        touch(&started),
        gate(&go),
        read(1, "a.txt"),
        answered_with(1, json!({"result": {"content": SCREEN}})),
        request(2, "fs/read_text_file", json!({"path": "$CWD/b.txt", "line": 1, "limit": 1})),
        answered_with(2, json!({"result": {"content": "one\n"}})),
        end_turn(),
        then_polite(),
    ]);
    let session = editor.ask("one");
    editor.await_file(&started);
    for name in ["a.txt", "b.txt"] {
        type_into(&editor, name);
    }
    editor.exec("enew");
    editor.open_gate(&go);
    assert_eq!(editor.turn_end(1), "end_turn");
    editor.prompt(&session, "two");
    assert_eq!(editor.turn_end(2), "end_turn");
    assert_eq!(blocks(&editor, &agent, 1), ["two".to_owned(), format!("b.txt={SCREEN}"), words("b.txt")]);
    editor.assert_sound(&agent);
}

#[test]
fn the_file_that_goes_along_anyway_is_not_counted_twice() {
    let editor = unsaved();
    let buf = editor.edit("a.txt");
    assert_eq!(text(&editor, buf), SCREEN);
    let agent = polite(&editor, true, None);
    let session = editor.ask("look");
    assert_eq!(editor.turn_end(1), "end_turn");
    let expected = [
        "look".to_owned(),
        format!("a.txt={SCREEN}"),
        format!("sub/b.txt={SCREEN}"),
        words("a.txt, sub/b.txt"),
    ];
    assert_eq!(blocks(&editor, &agent, 0), expected);
    let transcript = editor.transcript(&session);
    assert!(transcript.contains("@ a.txt:2 (unsaved)\n@ sub/b.txt (unsaved)"), "{transcript}");
    editor.assert_sound(&agent);
}

#[test]
fn an_agent_that_takes_no_embedded_text_gets_it_fenced_if_that_is_wanted() {
    let editor = unsaved();
    let agent = polite(&editor, false, Some("embed"));
    editor.ask("look");
    assert_eq!(editor.turn_end(1), "end_turn");
    let blocks = blocks(&editor, &agent, 0);
    assert_eq!(blocks[2], format!("a.txt\n```\n{SCREEN}```\n"));
    assert_eq!(blocks.len(), 5);
    editor.assert_sound(&agent);
}

#[test]
fn what_is_too_large_goes_along_as_a_link_that_says_so() {
    let line = "a line of some forty letters, all the same\n";
    let large = line.repeat(1000);
    let setup = Setup::new().file("large.txt", &large);
    // Nine files of 20 kB do not fit into one prompt.
    let some = line.repeat(500);
    let names: Vec<String> = (1..=9).map(|n| format!("m{n}.txt")).collect();
    let editor =
        names.iter().fold(setup, |setup, name| setup.file(name, &some)).file("c.txt", "see\n").start();
    editor.lua("vim.o.hidden = true", &[]);
    for name in names.iter().map(String::as_str).chain(["large.txt"]) {
        let buf = editor.edit(name);
        editor.input("ggOmine<Esc>");
        editor.eventually("the typed line", || editor.lines(buf)[0] == "mine" && editor.mode().0 == "n");
    }
    editor.edit("c.txt");
    let agent = polite(&editor, true, None);
    let session = editor.ask("look");
    assert_eq!(editor.turn_end(1), "end_turn");
    let came = blocks(&editor, &agent, 0);
    let whole = came.iter().filter(|b| b.starts_with('m') && b.ends_with(&some)).count();
    assert_eq!(whole, 6, "128 KiB hold six of them");
    assert_eq!(came.iter().filter(|b| b.starts_with("->m")).count(), 3);
    assert!(came.contains(&"->large.txt".to_owned()), "{came:?}");
    let told = came.last().expect("words");
    assert!(
        told.contains("too large to go along; the disk holds older text: m7.txt, m8.txt, m9.txt, large.txt")
    );
    // Those that did not fit go with the next one.
    editor.prompt(&session, "and now");
    assert_eq!(editor.turn_end(2), "end_turn");
    let came = blocks(&editor, &agent, 1);
    assert_eq!(came.iter().filter(|b| b.starts_with('m') && b.ends_with(&some)).count(), 3);
    assert!(came.contains(&"->large.txt".to_owned()), "{came:?}");
    editor.assert_sound(&agent);
}

#[test]
fn an_agent_is_told_when_what_it_was_given_is_unsaved_no_more() {
    let editor = unsaved();
    let agent = polite(&editor, true, None);
    let session = editor.ask("look");
    assert_eq!(editor.turn_end(1), "end_turn");
    editor.edit("a.txt");
    editor.exec("edit!");
    editor.edit("sub/b.txt");
    editor.exec("silent write");
    editor.edit("c.txt");
    for (n, expected) in [(2, Some("a.txt, sub/b.txt")), (3, None)] {
        editor.prompt(&session, "again");
        assert_eq!(editor.turn_end(n), "end_turn");
        let told = blocks(&editor, &agent, n - 1).get(2).cloned();
        let expected = expected.map(|names| {
            format!(
                "These files, whose unsaved text you were given before, have no unsaved changes any more; the disk \
                 holds their text: {names}"
            )
        });
        assert_eq!(told, expected);
    }
    editor.assert_sound(&agent);
}

#[test]
fn save_writes_with_autocommands_before_the_prompt_goes() {
    let editor = unsaved();
    editor.exec("autocmd BufWritePre a.txt call setline(1, 'formatted')");
    let checked = editor.aside("checked");
    let agent = editor.script_with(
        &[takes(true), prompt(), touch(&checked), read(1, "a.txt"), answered(1), end_turn(), then_polite()],
        json!({"unsaved": "save"}),
    );
    let before = editor.lua("return { vim.api.nvim_get_current_buf(), vim.fn.bufnr('#') }", &[]);
    editor.ask("look");
    editor.await_file(&checked);
    // The prompt was there, so the files are too.
    assert_eq!(editor.disk("a.txt"), b"formatted\nTWO, not saved\n");
    assert_eq!(editor.disk("sub/b.txt"), SCREEN.as_bytes());
    assert_eq!(editor.turn_end(1), "end_turn");
    assert_eq!(blocks(&editor, &agent, 0), ["look", "c.txt=see\n"]);
    let read = agent.read().replies(&json!(1)).remove(0);
    assert_eq!(read["result"]["content"], "formatted\nTWO, not saved\n");
    assert_eq!(editor.lua("return { vim.api.nvim_get_current_buf(), vim.fn.bufnr('#') }", &[]), before);
    assert_eq!(editor.events("BosunTurnStart").len(), 1);
    editor.assert_sound(&agent);
}

#[test]
fn what_cannot_be_saved_is_left_and_said_and_the_rest_is_saved() {
    let editor = unsaved_in(Setup::new().file("d.txt", DISK).file("e.txt", DISK));
    editor.lua(
        "_G.said = {}
         vim.notify = function(text) table.insert(_G.said, text) end
         local say = require('bosun.notice').say
         require('bosun.notice').say = function(level, text)
           _G.whole = text
           say(level, text)
         end
         vim.o.confirm = true",
        &[],
    );
    type_into(&editor, "d.txt");
    type_into(&editor, "e.txt");
    std::fs::write(editor.path("d.txt"), "changed behind the back\n").expect("a file");
    editor.edit("a.txt");
    editor.exec("setlocal readonly");
    editor.edit("sub/b.txt");
    editor.exec("autocmd BufWritePre <buffer> lua error('my formatter fails')");
    editor.edit("c.txt");
    editor.exec("autocmd BufWriteCmd */e.txt lua error('no server')");
    let agent = polite(&editor, true, Some("save"));
    editor.ask("look");
    assert_eq!(editor.turn_end(1), "end_turn");
    assert_eq!(editor.disk("sub/b.txt"), SCREEN.as_bytes());
    assert_eq!(editor.disk("a.txt"), DISK.as_bytes());
    assert_eq!(editor.disk("d.txt"), b"changed behind the back\n");
    assert_eq!(blocks(&editor, &agent, 0), ["look", "c.txt=see\n"]);
    let said = editor.wait_for("the message", || {
        let said = editor.lua("return _G.said", &[]);
        said.as_array().and_then(|all| all.first()).and_then(Value::as_str).map(str::to_owned)
    });
    assert!(said.starts_with("bosun: a.txt is not saved: the buffer is read-only"), "{said}");
    let whole = editor.lua("return _G.whole", &[]).as_str().unwrap_or_default().to_owned();
    assert!(
        whole.contains("d.txt is not saved: the file changed on disk since the buffer was loaded"),
        "{whole}"
    );
    assert!(whole.contains("e.txt is not saved: E5108") && whole.contains("no server"), "{whole}");
    assert!(
        !whole.contains("b.txt"),
        "an error of somebody's autocommand does not keep a file from its save"
    );
    let said = editor.lua("return _G.said", &[]);
    assert_eq!(said.as_array().map(Vec::len), Some(1), "one line: {said}");
    assert!(!editor.mode().1);
    agent.read().assert_sound();
}

#[test]
fn leave_sends_nothing_along_and_saves_nothing() {
    let editor = unsaved();
    let agent = polite(&editor, true, Some("leave"));
    editor.ask("look");
    assert_eq!(editor.turn_end(1), "end_turn");
    assert_eq!(blocks(&editor, &agent, 0), ["look", "c.txt=see\n"]);
    assert_eq!(editor.disk("a.txt"), DISK.as_bytes());
    editor.assert_sound(&agent);
}

#[test]
fn an_agent_that_takes_no_embedded_text_is_asked_about_once_a_session() {
    let editor = unsaved();
    let agent = polite(&editor, false, None);
    let session = editor.ask("look");
    let question = editor.await_pending(1).remove(0);
    assert_eq!(prompts(&agent), 0, "the prompt waits");
    assert_eq!(editor.state(&session), "waiting");
    assert_eq!(editor.session(&session)["queue"], json!(["look"]));
    assert_eq!(question["title"], "2 files have unsaved changes, which are not on disk");
    let body = question["body"].to_string();
    assert!(body.contains("a.txt") && body.contains("sub/b.txt"), "{body}");
    editor.answer(&question, "save");
    assert_eq!(editor.turn_end(1), "end_turn");
    assert_eq!(editor.disk("a.txt"), SCREEN.as_bytes());
    let buf = editor.edit("a.txt");
    editor.input("ggOnew<Esc>");
    editor.eventually("the new line", || text(&editor, buf).starts_with("new\n"));
    editor.prompt(&session, "again");
    assert_eq!(editor.turn_end(2), "end_turn");
    assert_eq!(editor.pending(), Vec::<Value>::new(), "the answer holds");
    assert_eq!(editor.disk("a.txt"), format!("new\n{SCREEN}").as_bytes());
    // For another session it does not.
    editor.input("ggOnewer<Esc>");
    editor.eventually("the newer line", || text(&editor, buf).starts_with("newer\n"));
    editor.ask("look");
    let question = editor.await_pending(1).remove(0);
    editor.answer(&question, "leave");
    assert_eq!(editor.turn_end(3), "end_turn");
    assert_eq!(editor.disk("a.txt"), format!("new\n{SCREEN}").as_bytes());
    editor.assert_sound(&agent);
}

#[test]
fn without_unsaved_text_nothing_is_asked() {
    let editor = Setup::new().file("a.txt", DISK).start();
    editor.edit("a.txt");
    let agent = polite(&editor, false, Some("ask"));
    editor.ask("look");
    assert_eq!(editor.turn_end(1), "end_turn");
    assert_eq!(blocks(&editor, &agent, 0).len(), 2);
    editor.assert_sound(&agent);
}

#[test]
fn a_cancel_of_the_question_gives_the_prompt_back() {
    let editor = unsaved();
    let agent = polite(&editor, false, None);
    editor.exec("Bosun open");
    let session = editor.ask("give this back");
    editor.await_pending(1);
    editor.cancel(&session);
    editor.await_pending(0);
    editor.await_state(&session, "idle");
    let prompt = format!("bosun://{session}/prompt");
    editor.eventually("the prompt is back", || {
        let lines = "return vim.fn.getbufline(vim.fn.bufnr(vim.fn.escape(..., '[]')), 1, '$')";
        editor.lua(lines, &[json!(prompt)]) == json!(["give this back"])
    });
    assert_eq!(prompts(&agent), 0);
    assert_eq!(editor.disk("a.txt"), DISK.as_bytes());
    // Asked again, since nothing was chosen.
    editor.prompt(&session, "now");
    let question = editor.await_pending(1).remove(0);
    editor.answer(&question, "leave");
    assert_eq!(editor.turn_end(1), "end_turn");
    assert_eq!(blocks(&editor, &agent, 0)[0], "now");
    editor.assert_sound(&agent);
}

#[test]
fn at_the_hit_enter_prompt_a_save_waits_and_the_prompt_with_it() {
    let editor = unsaved();
    let go = editor.aside("go");
    let agent = editor.script_with(
        &[takes(true), prompt(), gate(&go), end_turn(), then_polite()],
        json!({"unsaved": "save"}),
    );
    // The second prompt becomes due while Neovim answers nothing.
    let session = editor.ask("first");
    editor.eventually("the first prompt", || prompts(&agent) == 1);
    editor.await_state(&session, "running");
    let buf = editor.edit("a.txt");
    editor.input("ggOnew<Esc>");
    editor.eventually("the new line", || text(&editor, buf).starts_with("new\n"));
    editor.prompt(&session, "second");
    editor.eventually("the queue", || editor.session(&session)["queue"] == json!(["second"]));
    editor.hit_enter();
    editor.open_gate(&go);
    let answered =
        |agent: &Scripted| agent.read().lines.iter().any(|l| l["out"]["result"]["stopReason"] == "end_turn");
    editor.eventually("the end of the first turn", || answered(&agent));
    assert!(editor.mode().1, "Neovim still waits");
    assert_eq!((prompts(&agent), editor.disk("a.txt")), (1, SCREEN.into()));
    editor.input("<CR>");
    assert_eq!(editor.turn_end(2), "end_turn");
    assert_eq!(editor.disk("a.txt"), format!("new\n{SCREEN}").as_bytes());
    editor.assert_sound(&agent);
}

#[test]
fn a_half_typed_operator_is_waited_for() {
    let editor = unsaved();
    let buf = editor.edit("a.txt");
    let agent = polite(&editor, true, Some("save"));
    let session = editor.new_session();
    editor.await_state(&session, "idle");
    editor.count_calls();
    editor.input("ggd");
    editor.eventually("the operator waits", || editor.mode().0 == "no");
    editor.prompt(&session, "look");
    editor.eventually("the save was asked for", || editor.calls().contains_key("save_buffers"));
    assert_eq!((editor.state(&session).as_str(), prompts(&agent)), ("running", 0));
    assert_eq!(editor.disk("a.txt"), DISK.as_bytes());
    editor.input("d");
    assert_eq!(editor.turn_end(1), "end_turn");
    assert_eq!(text(&editor, buf), "TWO, not saved\n");
    assert_eq!(editor.disk("a.txt"), b"TWO, not saved\n");
    editor.assert_sound(&agent);
}

#[test]
fn a_held_prompt_is_given_back_by_a_cancel_and_nothing_is_saved() {
    let editor = unsaved();
    editor.edit("a.txt");
    let agent = polite(&editor, true, Some("save"));
    let session = editor.new_session();
    editor.await_state(&session, "idle");
    editor.count_calls();
    editor.input("ggd");
    editor.eventually("the operator waits", || editor.mode().0 == "no");
    editor.prompt(&session, "give this back");
    editor.eventually("the save was asked for", || editor.calls().contains_key("save_buffers"));
    editor.cancel(&session);
    editor.eventually("the prompt comes back", || editor.calls().contains_key("prompt_returned"));
    editor.input("<Esc>");
    editor.await_state(&session, "idle");
    editor.eventually("the mode is over", || editor.mode().0 == "n");
    // Once another prompt has come through, a save that was still wanted would have come through before it.
    let (mut preset, other) = editor.preset("other", &[takes(true), then_polite()]);
    preset["unsaved"] = "leave".into();
    editor.setup(json!({"agents": {"other": preset}, "default_agent": "other"}));
    editor.ask("another");
    assert_eq!(editor.turn_end(1), "end_turn");
    assert_eq!(editor.calls().get("save_buffers"), Some(&1));
    assert_eq!((prompts(&agent), prompts(&other)), (0, 1));
    assert_eq!(editor.disk("a.txt"), DISK.as_bytes());
    agent.read().assert_sound();
}

#[test]
fn files_outside_the_session_are_nobodys_business() {
    let editor = Setup::new().file("a.txt", DISK).file("c.txt", "see\n").start();
    editor.lua("vim.o.hidden = true", &[]);
    std::fs::create_dir(editor.path("inside")).expect("a folder");
    type_into(&editor, "a.txt");
    editor.edit("c.txt");
    let agent = polite(&editor, true, None);
    let id = editor.lua("return require('bosun').new({ cwd = ... })", &[json!(editor.path("inside"))]);
    editor.lua("require('bosun').prompt('look', { session = ..., context = {} })", &[id]);
    assert_eq!(editor.turn_end(1), "end_turn");
    assert_eq!(blocks(&editor, &agent, 0), ["look"]);
    editor.assert_sound(&agent);
}

#[test]
fn the_setting_is_checked_and_a_preset_goes_before_it() {
    let editor = unsaved();
    let wrong = "return select(2, pcall(require('bosun').setup, { unsaved = 'never' }))";
    let why = editor.lua(wrong, &[]).to_string();
    assert!(why.contains("unsaved must be one of auto, embed, save, leave, ask"), "{why}");
    let (mut preset, agent) = editor.preset("scripted", &[takes(true), then_polite()]);
    let agents = json!({"scripted": preset});
    editor.setup(json!({"agents": agents, "default_agent": "scripted", "unsaved": "leave"}));
    editor.ask("left");
    assert_eq!(editor.turn_end(1), "end_turn");
    preset["unsaved"] = "embed".into();
    editor.setup(json!({"agents": {"scripted": preset}, "default_agent": "scripted", "unsaved": "leave"}));
    editor.ask("embedded");
    assert_eq!(editor.turn_end(2), "end_turn");
    let counts: Vec<usize> = (0..2).map(|n| blocks(&editor, &agent, n).len()).collect();
    assert_eq!(counts, [2, 5]);
    editor.assert_sound(&agent);
}
