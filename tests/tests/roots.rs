//! Which paths an agent may read and write: the session's folders, what a person allows beside them, and nothing else.

use std::os::unix::fs::symlink;

use bosun_tests::steps::*;
use bosun_tests::{Editor, Recorded, Scripted, Setup};
use serde_json::{Value, json};

/// Configures the plugin with one agent that plays these requests one after the other in one turn.
fn story(editor: &Editor, requests: &[Value], settings: Value) -> Scripted {
    let mut steps = vec![auto(), prompt()];
    for request in requests {
        steps.extend([request.clone(), answered(request["send"]["id"].clone())]);
    }
    steps.push(end_turn());
    let (preset, agent) = editor.preset("scripted", &steps);
    let mut options = json!({"agents": {"scripted": preset}, "default_agent": "scripted"});
    for (key, value) in settings.as_object().into_iter().flatten() {
        options[key] = value.clone();
    }
    editor.setup(options);
    agent
}

fn read_at(id: u64, path: impl AsRef<std::path::Path>) -> Value {
    request(id, "fs/read_text_file", json!({"path": path.as_ref()}))
}

fn write_at(id: u64, path: impl AsRef<std::path::Path>, content: &str) -> Value {
    request(id, "fs/write_text_file", json!({"path": path.as_ref(), "content": content}))
}

/// A new session as `:Bosun` starts it, where the person is; with a prompt sent.
fn ask_here(editor: &Editor, text: &str) -> String {
    let id = editor.lua("return require('bosun').new()", &[]);
    let id = id.as_str().expect("a session").to_owned();
    editor.prompt(&id, text);
    id
}

/// Answers every question with this until the turn ends; returns their titles in order.
fn answer_all(editor: &Editor, option: &str) -> Vec<String> {
    let (mut seen, mut titles): (Vec<Value>, Vec<String>) = (Vec::new(), Vec::new());
    editor.eventually("the end of the turn", || {
        for question in editor.pending() {
            if !seen.contains(&question["id"]) {
                seen.push(question["id"].clone());
                titles.push(question["title"].as_str().unwrap_or_default().to_owned());
                editor.answer(&question, option);
            }
        }
        !editor.events("BosunTurnEnd").is_empty()
    });
    titles
}

fn content(record: &Recorded, id: u64) -> Value {
    record.replies(&json!(id))[0]["result"]["content"].clone()
}

fn message(record: &Recorded, id: u64) -> String {
    record.replies(&json!(id))[0]["error"]["message"].as_str().unwrap_or_default().to_owned()
}

/// A file outside the project.
fn outside(editor: &Editor, name: &str, content: &str) -> std::path::PathBuf {
    let path = editor.aside(name);
    std::fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
    std::fs::write(&path, content).expect("a file outside");
    path
}

// B07
#[test]
fn reads_and_writes_outside_in_a_loop_give_one_question_and_then_clear_errors() {
    let editor = Setup::new().start();
    let plan = outside(&editor, "state/plans/x.md", "the plan\n");
    let requests: Vec<Value> = (0..5)
        .flat_map(|n| [read_at(2 * n + 1, &plan), write_at(2 * n + 2, &plan, "another plan\n")])
        .collect();
    let agent = story(&editor, &requests, json!({}));
    editor.ask("go");
    let titles = answer_all(&editor, "reject_once");
    assert_eq!(titles, [format!("read {}", plan.display())]);
    let record = agent.read();
    for id in 1..=10 {
        let why = message(&record, id);
        assert!(why.contains("outside the session's folders"), "{why}");
        assert!(why.contains("the user rejected"), "{why}");
    }
    assert_eq!(std::fs::read(&plan).expect("the plan"), b"the plan\n");
    editor.assert_sound(&agent);
}

// B07
#[test]
fn a_path_allowed_for_the_session_is_not_asked_about_again() {
    let editor = Setup::new().start();
    let plan = outside(&editor, "plan.md", "the plan\n");
    let agent = story(&editor, &[read_at(1, &plan), read_at(2, &plan), read_at(3, &plan)], json!({}));
    editor.ask("go");
    let question = editor.await_pending(1).remove(0);
    let body = question["body"].to_string();
    assert!(
        body.contains(&format!("outside the session's folders ({})", editor.project().display())),
        "{body}"
    );
    assert_eq!(answer_all(&editor, "allow_always").len(), 1);
    let record = agent.read();
    for id in 1..=3 {
        assert_eq!(content(&record, id), "the plan\n");
    }
    editor.assert_sound(&agent);
}

// B07
#[test]
fn a_configured_root_is_read_and_written_as_the_setting_says() {
    let editor = Setup::new().env("NOTES", "notes").start();
    let note = outside(&editor, "home/notes/n.md", "a note\n");
    let text = outside(&editor, "home/ref/r.md", "a reference\n");
    let new = note.with_file_name("new.md");
    let requests =
        [read_at(1, &note), write_at(2, &new, "new\n"), read_at(3, &text), write_at(4, &text, "changed\n")];
    let roots = json!(["~/$NOTES", {"path": "~/ref", "write": false}, "~/missing"]);
    let agent = story(&editor, &requests, json!({"roots": roots}));
    editor.ask("go");
    let titles = answer_all(&editor, "allow_once");
    assert_eq!(titles, [format!("write {}", new.display())], "only the write itself");
    let record = agent.read();
    assert_eq!(content(&record, 1), "a note\n");
    assert_eq!(std::fs::read(&new).expect("the new note"), b"new\n");
    assert_eq!(content(&record, 3), "a reference\n");
    let why = message(&record, 4);
    assert!(
        why.contains("may only read") && why.contains(&*editor.aside("home/ref").to_string_lossy()),
        "{why}"
    );
    let messages = editor.lua("return vim.api.nvim_exec2('messages', { output = true }).output", &[]);
    assert!(messages.to_string().contains("home/missing is not a folder"), "{messages}");
    assert_eq!(std::fs::read(&text).expect("the reference"), b"a reference\n");
    editor.assert_quiet();
}

#[test]
fn a_preset_brings_roots_of_its_own() {
    let editor = Setup::new().start();
    let note = outside(&editor, "home/notes/n.md", "a note\n");
    let (mut preset, agent) =
        editor.preset("scripted", &[auto(), prompt(), read_at(1, &note), answered(1), end_turn()]);
    preset["roots"] = json!(["~/notes"]);
    editor.setup(json!({"agents": {"scripted": preset}, "default_agent": "scripted"}));
    editor.ask("go");
    assert!(answer_all(&editor, "reject_once").is_empty());
    assert_eq!(content(&agent.read(), 1), "a note\n");
    editor.assert_sound(&agent);
}

#[test]
fn with_outside_denied_nobody_is_asked() {
    let editor = Setup::new().start();
    let file = outside(&editor, "a.txt", "secret\n");
    let agent = story(&editor, &[read_at(1, &file), write_at(2, &file, "x")], json!({"outside": "deny"}));
    editor.ask("go");
    assert!(answer_all(&editor, "allow_once").is_empty());
    for id in [1, 2] {
        assert!(message(&agent.read(), id).contains("outside the session's folders"));
    }
    assert_eq!(std::fs::read(&file).expect("the file"), b"secret\n");
    editor.assert_sound(&agent);
}

#[test]
fn a_cancel_takes_the_question_about_a_path_along() {
    let editor = Setup::new().start();
    let file = outside(&editor, "a.txt", "secret\n");
    let agent = editor.script(&[
        auto(),
        prompt(),
        read_at(1, &file),
        expect("session/cancel"),
        answered(1),
        stop("cancelled"),
    ]);
    let session = editor.ask("go");
    editor.await_pending(1);
    editor.cancel(&session);
    editor.await_pending(0);
    assert_eq!(editor.turn_end(1), "cancelled");
    let replies = agent.read().replies(&json!(1));
    assert_eq!(replies.len(), 1, "answered once");
    assert_eq!(replies[0]["error"]["code"], -32800);
    editor.assert_sound(&agent);
}

// B134
#[test]
fn an_open_unsaved_buffer_outside_is_served_only_once_a_person_allows_it() {
    let editor = Setup::new().start();
    let file = outside(&editor, "id.txt", "on disk\n");
    editor.lua("vim.cmd.edit(vim.fn.fnameescape(...))", &[json!(file)]);
    editor.lua("vim.api.nvim_buf_set_lines(0, 0, -1, true, { 'unsaved' })", &[]);
    let agent = editor.script(&[
        auto(),
        prompt(),
        read_at(1, &file),
        answered(1),
        read_at(2, &file),
        answered(2),
        end_turn(),
    ]);
    editor.lua("vim.cmd.enew()", &[]);
    editor.ask("go");
    let question = editor.await_pending(1).remove(0);
    assert_eq!(question["title"], format!("read {}", file.display()));
    assert!(agent.read().replies(&json!(1)).is_empty(), "nothing is served before the answer");
    editor.answer(&question, "allow_once");
    let second = editor
        .wait_for("the second question", || editor.pending().into_iter().find(|q| q["id"] != question["id"]));
    editor.answer(&second, "reject_once");
    editor.turn_end(1);
    let record = agent.read();
    assert_eq!(content(&record, 1), "unsaved\n");
    assert!(message(&record, 2).contains("rejected"));
    editor.assert_sound(&agent);
}

// B134
#[test]
fn a_read_of_a_file_that_may_hold_secrets_is_asked_about_and_other_ignored_files_are_served() {
    let editor = Setup::new()
        .file(".env", "KEY=on-disk\n")
        .file(".gitignore", "ignored.txt\n")
        .file("ignored.txt", "ignored by git\n")
        .file("deploy/key.pem", "PEM\n")
        .start();
    editor.edit(".env");
    editor.lua("vim.api.nvim_buf_set_lines(0, 0, -1, true, { 'KEY=unsaved' })", &[]);
    let requests = [read(1, ".env"), read(2, "deploy/key.pem"), read(3, "ignored.txt"), read(4, ".env")];
    let agent = story(&editor, &requests, json!({}));
    editor.ask("go");
    let titles = answer_all(&editor, "reject_once");
    assert_eq!(titles, ["read .env", "read deploy/key.pem"]);
    let record = agent.read();
    for id in [1, 2, 4] {
        assert!(message(&record, id).contains("may hold secrets"), "{}", message(&record, id));
    }
    assert_eq!(content(&record, 3), "ignored by git\n");
    editor.assert_sound(&agent);
}

// B134
#[test]
fn a_prompt_from_a_file_that_may_hold_secrets_takes_its_name_along_and_not_its_text() {
    let editor = Setup::new().file(".env", "KEY=on-disk\n").file("a.txt", "plain text\n").start();
    let agent = editor.script(&[auto(), prompt(), end_turn(), prompt(), end_turn(), prompt(), end_turn()]);
    let session = editor.ask("go");
    editor.turn_end(1);
    for (n, name) in [(2, "a.txt"), (3, ".env")] {
        let buf = editor.edit(name);
        // A prompt waits for the text of modified buffers.
        editor.lua("vim.api.nvim_buf_set_lines(..., 0, 0, true, { 'unsaved' })", &[buf.into()]);
        editor.prompt(&session, "go on");
        editor.turn_end(n);
    }
    let sent: Vec<String> = agent.read().received("session/prompt").iter().map(Value::to_string).collect();
    assert!(sent[1].contains("plain text"), "{}", sent[1]);
    assert!(sent[2].contains("/.env") && !sent[2].contains("KEY="), "{}", sent[2]);
    editor.assert_sound(&agent);
}

// B134
#[test]
fn without_ask_read_all_that_is_inside_is_served() {
    let editor = Setup::new().file(".env", "KEY=1\n").start();
    let agent = story(&editor, &[read(1, ".env")], json!({"ask_read": []}));
    editor.ask("go");
    assert!(answer_all(&editor, "reject_once").is_empty());
    assert_eq!(content(&agent.read(), 1), "KEY=1\n");
    editor.assert_sound(&agent);
}

#[test]
fn no_approval_covers_a_write_to_what_can_run_commands() {
    let editor = Setup::new().start();
    let paths = [".git/hooks/pre-commit", ".envrc", ".nvim.lua", "ci/deploy.yml"];
    let mut steps = vec![auto(), prompt()];
    for (n, path) in (0..).step_by(2).zip(paths) {
        let tool = edit_tool(&format!("t{n}"), path, "", "run me\n");
        steps.extend([ask(n + 1, tool, allow_or_reject()), answered(n + 1)]);
        steps.extend([write(n + 2, path, "run me\n"), answered(n + 2)]);
    }
    steps.push(end_turn());
    let (preset, agent) = editor.preset("scripted", &steps);
    editor.setup(json!({
        "agents": {"scripted": preset}, "default_agent": "scripted", "always_ask": ["ci/**"],
    }));
    editor.ask("go");
    for path in paths {
        let asks = editor.wait_for("the agent's question", || editor.pending().into_iter().next());
        assert_eq!(asks["title"], format!("Edit {path}"));
        editor.answer(&asks, "allow_once");
        let ours = editor
            .wait_for("the host's question", || editor.pending().into_iter().find(|q| q["id"] != asks["id"]));
        assert_eq!(ours["title"], format!("! write {path}"));
        let note = if path.starts_with("ci/") { "always_ask" } else { "can run commands on this machine" };
        assert!(ours["body"].to_string().contains(note), "{ours}");
        editor.answer(&ours, "reject_once");
        editor.eventually("the answer's effect", || editor.pending().iter().all(|q| q["id"] != ours["id"]));
        assert!(!editor.path(path).exists());
    }
    editor.turn_end(1);
    editor.assert_sound(&agent);
}

#[test]
fn odd_names_inside_are_served_and_what_only_looks_inside_is_asked_about() {
    let odd =
        ["[id]/page.tsx", "a b/%#'\"\\.txt", "-rf", "line\nbreak.txt", "nfc-\u{e9}.txt", "nfd-e\u{301}.txt"];
    let mut setup = Setup::new().project("app");
    for name in odd {
        setup = setup.file(name, name);
    }
    let editor = setup.start();
    let sibling = outside(&editor, "app-secrets/key", "secret\n");
    symlink(&sibling, editor.path("out")).expect("a link out");
    symlink(editor.aside("app-secrets/gone"), editor.path("out-gone")).expect("a dangling link out");
    symlink(editor.path("gone.txt"), editor.path("in-gone")).expect("a dangling link inside");
    let mut requests: Vec<Value> = (1..).zip(odd).map(|(id, name)| read(id, name)).collect();
    requests.extend([
        read_at(20, &sibling),
        read(21, "../app-secrets/key"),
        read(22, "out"),
        write(23, "out-gone", "x"),
        read(24, "nfc-e\u{301}.txt"),
        read(25, "in-gone"),
    ]);
    let agent = story(&editor, &requests, json!({}));
    editor.ask("go");
    let titles = answer_all(&editor, "reject_once");
    let gone = editor.aside("app-secrets/gone");
    assert_eq!(titles, [format!("read {}", sibling.display()), format!("write {}", gone.display())]);
    let record = agent.read();
    for (id, name) in (1..).zip(odd) {
        assert_eq!(content(&record, id), name);
    }
    for id in 20..=23 {
        assert!(message(&record, id).contains("outside"), "{id}: {}", message(&record, id));
    }
    for id in [24, 25] {
        assert!(message(&record, id).contains("no such file"), "{id}: {}", message(&record, id));
    }
    assert!(!gone.exists());
    editor.assert_sound(&agent);
}

/// Starts a session from a buffer of such a name and kind, whose text is `index blob`, while Neovim's working directory is
/// `here` below the project's parent; the agent then reads and writes `src/a.txt`.
fn check_start(name: impl Fn(&str) -> String, kind: &str, here: &str) {
    let editor =
        Setup::new().file("src/a.txt", "work tree\n").file(".git/HEAD", "ref: refs/heads/main\n").start();
    let (project, name) = (editor.project().display().to_string(), name(&editor.project().to_string_lossy()));
    let requests = [read(1, "src/a.txt"), write(2, "src/a.txt", "changed\n")];
    let agent = story(&editor, &requests, json!({}));
    editor.lua(
        "local name, kind, here = ...
         vim.cmd.cd(here)
         if kind == 'terminal' then return vim.cmd('terminal cat') end
         if kind == 'quickfix' then return vim.cmd.copen() end
         vim.api.nvim_buf_set_lines(0, 0, -1, true, { 'index blob' })
         if name ~= '' then vim.api.nvim_buf_set_name(0, name) end
         vim.bo.buftype = kind",
        &[name.clone().into(), kind.into(), json!(editor.aside(here))],
    );
    let session = ask_here(&editor, "go");
    assert_eq!(editor.session(&session)["cwd"], project, "{name} {kind}");
    let question = editor.await_pending(1).remove(0);
    assert_eq!(question["title"], "write src/a.txt", "{name} {kind}");
    editor.answer(&question, "reject_once");
    editor.turn_end(1);
    let record = agent.read();
    assert_eq!(content(&record, 1), "work tree\n", "{name} {kind}");
    assert_eq!(record.received("session/new")[0]["params"]["cwd"], project);
    let sent = record.received("session/prompt")[0].to_string();
    assert!(!sent.contains("oil:") && !sent.contains("fugitive:") && !sent.contains("term:"), "{sent}");
    editor.assert_sound(&agent);
}

// B10
#[test]
fn a_session_started_from_a_buffer_that_is_no_file_works_in_a_real_folder() {
    check_start(|_| String::new(), "", "project");
    check_start(|_| String::new(), "quickfix", "project/src");
    check_start(|_| String::new(), "terminal", "project");
}

// B10
#[test]
fn a_file_manager_or_a_blob_of_git_says_where_the_person_is_and_is_never_the_file() {
    // Wherever the editor's working directory is.
    check_start(|project| format!("oil://{project}/src/"), "acwrite", "tmp");
    check_start(|project| format!("fugitive://{project}/.git//0/src/a.txt"), "nowrite", "tmp");
    check_start(|project| format!("fugitive://{project}/.git//0/src/a.txt"), "", "tmp");
}

// B11
#[test]
fn a_file_outside_any_project_gives_its_own_folder_and_never_the_whole_disk() {
    let editor = Setup::new().start();
    let only = outside(&editor, "x/only.txt", "only\n");
    editor.lua("vim.cmd.cd('/') vim.cmd.edit(...)", &[json!(only)]);
    let agent = story(&editor, &[read_at(1, &only), read_at(2, "/etc/hostname")], json!({}));
    let session = ask_here(&editor, "go");
    assert_eq!(editor.session(&session)["cwd"], json!(editor.aside("x")));
    let titles = answer_all(&editor, "reject_once");
    assert_eq!(titles, ["read /etc/hostname"]);
    let record = agent.read();
    assert_eq!(content(&record, 1), "only\n");
    assert!(message(&record, 2).contains("outside"));
    editor.assert_sound(&agent);
}

// B11
#[test]
fn a_working_directory_that_is_gone_is_said_before_an_agent_starts() {
    let editor = Setup::new().start();
    let agent = editor.script(&[auto(), prompt(), end_turn()]);
    let gone = editor.aside("gone");
    std::fs::create_dir(&gone).expect("a folder");
    editor.lua("vim.cmd.cd(...)", &[json!(gone)]);
    std::fs::remove_dir(&gone).expect("the folder goes");
    let got = editor.lua(
        "local id, err = require('bosun').new()
         return { id = id or vim.NIL, err = err or vim.NIL }",
        &[],
    );
    assert!(got["id"].is_null(), "{got}");
    assert!(got["err"].as_str().unwrap_or_default().contains("does not exist any more"), "{got}");
    assert!(!agent.path.exists(), "no agent was started");
}

// B25
#[test]
fn what_is_not_advertised_is_not_served() {
    let editor = Setup::new().file("a.txt", "one\n").start();
    let made = request(1, "fs/create_directory", json!({"path": "$CWD/made"}));
    let deleted = request(2, "fs/delete_file", json!({"path": "$CWD/a.txt"}));
    let agent = story(&editor, &[made, deleted, read(3, "a.txt")], json!({}));
    editor.ask("go");
    assert!(answer_all(&editor, "allow_once").is_empty());
    let record = agent.read();
    let initialize = &record.received("initialize")[0]["params"]["clientCapabilities"];
    assert_eq!(initialize["fs"], json!({"readTextFile": true, "writeTextFile": true}));
    for id in [1, 2] {
        assert_eq!(record.replies(&json!(id))[0]["error"]["code"], -32601);
    }
    assert_eq!(content(&record, 3), "one\n");
    assert!(!editor.path("made").exists());
    assert_eq!(editor.disk("a.txt"), b"one\n");
    editor.assert_sound(&agent);
}
