//! A command that starts an editor opens its files in the person's Neovim, and waits for them: real git, real keys.

use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};

use bosun_tests::editor::setup::bosun;
use bosun_tests::procs::{self, MARK, Process};
use bosun_tests::{Editor, Hand, Setup};
use nix::sys::signal::Signal;
use serde_json::json;

/// Git in the editor's project, as a command of a terminal would run it.
fn git(editor: &Editor, args: &[&str]) -> Command {
    let address = editor.lua("return require('bosun.visit').address()", &[]);
    git_at(editor, address.as_str().expect("an address"), args)
}

fn git_at(editor: &Editor, address: &str, args: &[&str]) -> Command {
    let mut git = Command::new("git");
    git.args(args).current_dir(editor.project()).env_clear();
    git.env("PATH", std::env::var_os("PATH").expect("PATH")).env(MARK, mark(editor));
    git.env("GIT_CONFIG_NOSYSTEM", "1").env("GIT_CONFIG_GLOBAL", "/dev/null").env("LANG", "C.UTF-8");
    for who in ["AUTHOR", "COMMITTER"] {
        git.env(format!("GIT_{who}_NAME"), "A").env(format!("GIT_{who}_EMAIL"), "a@example.org");
    }
    let line = format!("'{}' edit", bosun().display());
    for name in ["EDITOR", "VISUAL", "GIT_EDITOR", "GIT_SEQUENCE_EDITOR"] {
        git.env(name, &line);
    }
    git.env("BOSUN_EDITOR_ADDRESS", address);
    git.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    git
}

/// What marks git and all that it starts.
fn mark(editor: &Editor) -> String {
    format!("git-of-{}", editor.pid())
}

fn done(editor: &Editor, args: &[&str]) -> String {
    let output = git(editor, args).output().expect("git");
    assert!(output.status.success(), "{args:?}: {output:?}");
    String::from_utf8_lossy(&output.stdout).trim().to_owned()
}

/// A repository whose only commit is `first`, with a change that is staged.
fn repository() -> Editor {
    let editor = Setup::new().file("a.txt", "one\n").start();
    done(&editor, &["init", "--quiet", "-b", "main"]);
    done(&editor, &["add", "."]);
    done(&editor, &["commit", "--quiet", "-m", "first"]);
    std::fs::write(editor.path("a.txt"), "two\n").expect("a change");
    done(&editor, &["add", "."]);
    editor
}

fn subjects(editor: &Editor) -> String {
    done(editor, &["log", "--format=%s"])
}

/// The person is in the file of that name, and a command waits for it.
fn await_file(editor: &Editor, name: &str) {
    let code = "return vim.fn.expand('%:t') == ... and require('bosun.visit').waits_for(0)";
    editor.eventually(name, || editor.lua(code, &[name.into()]) == true);
}

fn ended(editor: &Editor, mut child: Child) -> Output {
    editor.eventually("the end of the command", || child.try_wait().expect("a child").is_some());
    child.wait_with_output().expect("its output")
}

fn commit(editor: &Editor) -> Child {
    let child = git(editor, &["commit"]).spawn().expect("git");
    await_file(editor, "COMMIT_EDITMSG");
    child
}

/// The program that stands for the editor.
fn waiter(editor: &Editor) -> Option<Process> {
    procs::marked(&mark(editor)).into_iter().find(|p| p.command.get(1).is_some_and(|word| word == "edit"))
}

// B112
#[test]
fn git_commit_opens_its_message_in_this_neovim_and_goes_on_when_it_is_written() {
    let editor = repository();
    let child = commit(&editor);
    editor.eventually("the bar", || editor.screen().contains("a command waits for this file"));
    assert_eq!(editor.lua("return vim.bo.filetype", &[]), "gitcommit");
    editor.input("isecond, with a body<CR><CR>and more<Esc>");
    assert_eq!(subjects(&editor), "first", "nothing happens before it is written");
    editor.input(":wq<CR>");
    let output = ended(&editor, child);
    assert!(output.status.success(), "{output:?}");
    assert_eq!(done(&editor, &["log", "-1", "--format=%B"]), "second, with a body\n\nand more");
    editor.eventually("the window is gone", || editor.lua("return #vim.api.nvim_list_wins()", &[]) == 1);
    editor.assert_quiet();
}

// B112
#[test]
fn a_message_that_is_given_up_leaves_no_commit_and_the_editor_lives() {
    for keys in ["<C-c><C-k>", ":cq<CR>", ":Bosun visit abort<CR>", ":bwipeout!<CR>"] {
        let editor = repository();
        let child = commit(&editor);
        editor.input("isecond<Esc>");
        // An interrupt throws away what was typed and is not taken up yet.
        editor.eventually("the text", || editor.lua("return vim.fn.getline(1)", &[]) == "second");
        editor.eventually("normal mode", || editor.mode() == ("n".into(), false));
        editor.input(keys);
        let output = ended(&editor, child);
        assert!(!output.status.success(), "{keys}: {output:?}");
        assert_eq!(subjects(&editor), "first", "{keys}");
        editor.eventually("the window is gone", || editor.lua("return #vim.api.nvim_list_wins()", &[]) == 1);
        editor.assert_quiet();
    }
}

// B112
#[test]
fn the_message_of_the_next_commit_is_gits_new_one() {
    commits_twice(&repository());
    // With a session every file buffer is mirrored, and follows its file by itself.
    let editor = repository();
    editor.edit("a.txt");
    let hand = Hand::start(&editor);
    commits_twice(&editor);
    hand.end();
}

fn commits_twice(editor: &Editor) {
    let child = commit(editor);
    // Written and left open: the buffer is still there when git writes the file anew.
    editor.input("isecond<Esc>:w<CR>");
    assert!(ended(editor, child).status.success());
    let child = git(editor, &["commit", "--amend"]).spawn().expect("git");
    await_file(editor, "COMMIT_EDITMSG");
    editor.eventually("the message as it was", || editor.lua("return vim.fn.getline(1)", &[]) == "second");
    editor.input("ccthird<Esc>:x<CR>");
    let output = ended(editor, child);
    assert!(output.status.success(), "{output:?}");
    assert_eq!(subjects(editor), "third\nfirst");
    editor.assert_quiet();
}

// B112
#[test]
fn a_rebase_opens_its_list_and_then_each_message() {
    let editor = repository();
    done(&editor, &["commit", "--quiet", "-m", "second"]);
    let child = git(&editor, &["rebase", "-i", "--root"]).spawn().expect("git");
    await_file(&editor, "git-rebase-todo");
    editor.input(":%s/^pick/reword/<CR>:wq<CR>");
    for subject in ["first", "second"] {
        await_file(&editor, "COMMIT_EDITMSG");
        editor.eventually(subject, || editor.lua("return vim.fn.getline(1)", &[]) == subject);
        editor.input("Aly<Esc>ZZ");
    }
    let output = ended(&editor, child);
    assert!(output.status.success(), "{output:?}");
    assert_eq!(subjects(&editor), "secondly\nfirstly");
    editor.assert_quiet();
}

// B112
#[test]
fn a_neovim_that_waits_for_a_key_is_waited_for_without_a_limit_and_not_disturbed() {
    let editor = repository();
    let mut git = git(&editor, &["commit"]);
    editor.hit_enter();
    let child = git.spawn().expect("git");
    editor.eventually("the program that waits", || waiter(&editor).is_some());
    assert_eq!(editor.mode(), ("r".into(), true));
    editor.input("<CR>");
    await_file(&editor, "COMMIT_EDITMSG");
    editor.input("isecond<Esc>ZZ");
    assert!(ended(&editor, child).status.success());
    assert_eq!(subjects(&editor), "second\nfirst");
}

// B112
#[test]
fn who_is_typing_is_told_and_goes_on_typing() {
    let editor = repository();
    let buf = editor.edit("a.txt");
    editor.input("ohalf a li");
    let child = git(&editor, &["commit"]).spawn().expect("git");
    editor.eventually("the note", || editor.screen().contains("a command waits: .git/COMMIT_EDITMSG opens"));
    editor.input("ne");
    editor.eventually("what is typed", || editor.lines(buf) == ["two", "half a line"]);
    assert_eq!(editor.mode(), ("i".into(), false));
    editor.input("<Esc>");
    await_file(&editor, "COMMIT_EDITMSG");
    assert!(!editor.screen().contains("a command waits: "), "the note is gone");
    editor.input("isecond<Esc>ZZ");
    assert!(ended(&editor, child).status.success());
    assert_eq!(editor.lua("return vim.api.nvim_get_current_buf()", &[]), buf);
    editor.assert_quiet();
}

/// The command is killed by `kill`: nobody waits any more, and the text is left.
fn is_left_alone(kill: impl Fn(&Editor, &mut Child)) {
    let editor = repository();
    let mut child = commit(&editor);
    editor.input("imine<Esc>");
    editor.eventually("normal mode", || editor.mode() == ("n".into(), false));
    kill(&editor, &mut child);
    assert!(!ended(&editor, child).status.success());
    editor.eventually("nothing of it runs", || procs::marked(&mark(&editor)).is_empty());
    editor.eventually("nobody waits", || {
        editor.lua("return require('bosun.visit').waits_for(0)", &[]) == false
    });
    editor.eventually("it is said", || editor.screen().contains("has ended"));
    assert!(!editor.screen().contains("a command waits for this file"));
    assert_eq!(editor.lua("return vim.fn.getline(1)", &[]), "mine");
    editor.input(":wq<CR>");
    editor.eventually("the window is gone", || editor.lua("return #vim.api.nvim_list_wins()", &[]) == 1);
    assert_eq!(subjects(&editor), "first");
    editor.assert_quiet();
}

// B112
#[test]
fn a_command_that_is_killed_leaves_neovim_usable_and_the_text_where_it_is() {
    let signal = |pid: u32, signal| {
        let _ = nix::sys::signal::kill(nix::unistd::Pid::from_raw(pid.cast_signed()), signal);
    };
    is_left_alone(|_, git| signal(git.id(), Signal::SIGTERM));
    is_left_alone(|_, git| signal(git.id(), Signal::SIGKILL));
    for kind in [Signal::SIGINT, Signal::SIGTERM, Signal::SIGHUP, Signal::SIGKILL] {
        is_left_alone(|editor, _| waiter(editor).expect("it waits").signal(kind));
    }
}

// B112
#[test]
fn leaving_neovim_gives_up_what_was_not_written_and_keeps_what_was() {
    for (keys, goes_on) in [(":qa!<CR>", false), (":wqa<CR>", true), (":only<CR>:wq<CR>", true)] {
        let mut editor = repository();
        let child = commit(&editor);
        editor.input("isecond<Esc>");
        editor.input(keys);
        let left = editor.left();
        assert!(editor.ended(left), "{keys}");
        let output = child.wait_with_output().expect("git");
        assert_eq!(output.status.success(), goes_on, "{keys}: {output:?}");
    }
}

// B112
#[test]
fn a_neovim_that_is_killed_fails_the_command() {
    let mut editor = repository();
    let child = commit(&editor);
    editor.signal(Signal::SIGKILL);
    let left = editor.left();
    assert!(editor.ended(left));
    let output = child.wait_with_output().expect("git");
    assert!(!output.status.success(), "{output:?}");
    assert!(String::from_utf8_lossy(&output.stderr).contains("Neovim is gone"), "{output:?}");
}

// B112
#[test]
fn several_commands_wait_each_for_its_own_file() {
    let editor = Setup::new().file("a.txt", "a\n").file("b.txt", "b\n").start();
    let address = editor.lua("return require('bosun.visit').address()", &[]);
    let edit = |args: &[&str]| {
        let mut command = Command::new(bosun());
        command.arg("edit").args(args).current_dir(editor.project());
        command.env("BOSUN_EDITOR_ADDRESS", address.as_str().expect("an address"));
        command.stderr(Stdio::piped()).spawn().expect("bosun")
    };
    let first = edit(&["+1", "a.txt"]);
    await_file(&editor, "a.txt");
    let mut second = edit(&["--", "b.txt"]);
    let windows = || editor.lua("return #vim.api.nvim_list_wins()", &[]);
    editor.eventually("both are shown", || windows() == 3);
    editor.input(":wq<CR>");
    assert!(ended(&editor, first).status.success());
    assert!(second.try_wait().expect("a child").is_none(), "the other waits on");
    editor.input(":Bosun visit<CR>");
    await_file(&editor, "b.txt");
    editor.input("<C-c><C-k>");
    assert_eq!(ended(&editor, second).status.code(), Some(1));
    editor.assert_quiet();
}

/// `bosun edit` with this address, alone.
fn alone(address: Option<&str>, folder: &Path, args: &[&str]) -> Output {
    let mut command = Command::new(bosun());
    command.arg0("bosun").arg("edit").args(args).current_dir(folder).env_remove("BOSUN_EDITOR_ADDRESS");
    command.envs(address.map(|address| ("BOSUN_EDITOR_ADDRESS", address)));
    command.stdin(Stdio::null()).output().expect("bosun")
}

// B112
#[test]
fn without_a_neovim_to_go_to_it_fails_at_once_and_says_why() {
    let folder = tempfile::tempdir().expect("a folder");
    for (address, args, why) in [
        (None, &["a"][..], "BOSUN_EDITOR_ADDRESS is not set"),
        (Some("/nowhere/nvim.0"), &["a"], "no Neovim at /nowhere/nvim.0"),
        (Some("192.0.2.1:1"), &["a"], "neither a socket nor a port on this machine"),
        (Some("/nowhere/nvim.0"), &[], "which file?"),
        (Some("/nowhere/nvim.0"), &["+q!", "a"], "unknown argument +q!"),
        (Some("/nowhere/nvim.0"), &["--", "-a"], "no Neovim at"),
        (Some("/nowhere/nvim.0"), &["--help"], "unknown argument --help"),
    ] {
        let output = alone(address, folder.path(), args);
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{args:?}: {said}");
        assert!(said.starts_with("bosun edit: ") && said.contains(why), "{args:?}: {said}");
        assert_eq!(said.lines().count(), 1, "{said}");
        assert!(output.stdout.is_empty());
    }
    assert_eq!(json!(std::fs::read_dir(folder.path()).expect("the folder").count()), 0);
}
