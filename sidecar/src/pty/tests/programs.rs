//! What is run, in which environment, and why a command cannot run.

use std::os::unix::fs::PermissionsExt;

use super::*;
use crate::pty::environment;

/// A folder with an executable script under `name` that prints its arguments, one a line.
fn script(name: &str, mode: u32) -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join(name);
    std::fs::write(&path, "#!/bin/sh\nfor arg in \"$@\"; do echo \"<$arg>\"; done\n").unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
    dir
}

fn check(run: PtyRun, text: &str, code: u32) {
    let seen = play(run);
    assert_eq!((seen.text.as_str(), seen.end), (text, CommandEnd { code, signal: None }));
}

#[test]
fn a_line_without_arguments_is_run_by_the_shell() {
    let run = PtyRun { env: vec![("X".into(), "1 2".into())], ..shell("echo $X | tr 1 3; exit 3") };
    check(run, "3 2\r\n", 3);
    check(shell("type cd >/dev/null && printf %s ok"), "ok", 0);
    check(shell("cat <<END\na $((1 + 1))\nEND"), "a 2\r\n", 0);
}

#[test]
fn arguments_are_literal() {
    let args = ["%s|", "a b", "$HOME", "*", "", "'\"\\"].map(str::to_owned).to_vec();
    check(PtyRun { args, ..shell("printf") }, "a b|$HOME|*||'\"\\|", 0);
}

#[test]
fn a_program_with_spaces_in_its_name_is_run_directly() {
    let dir = script("my tool", 0o755);
    let whole = dir.path().join("my tool").display().to_string();
    check(PtyRun { args: vec!["a b".into()], ..shell(&whole) }, "<a b>\r\n", 0);
    // Without arguments as well: it is not taken for the line `my`.
    check(shell(&whole), "", 0);
    check(PtyRun { cwd: dir.path().into(), args: vec!["x".into()], ..shell("./my tool") }, "<x>\r\n", 0);
}

#[test]
fn programs_are_looked_up_on_the_path_of_the_run() {
    let dir = script("only-here", 0o755);
    let path = format!("{}:{}", dir.path().display(), std::env::var("PATH").unwrap());
    let env = vec![("PATH".to_owned(), path)];
    check(PtyRun { env, args: vec!["1".into()], ..shell("only-here") }, "<1>\r\n", 0);
    let seen = play(PtyRun { args: vec!["1".into()], ..shell("only-here") });
    assert_eq!(seen.end.code, 127);
}

#[test]
fn a_command_that_is_not_there_says_so_and_ends_with_127() {
    let run = PtyRun { args: vec!["x".into()], ..shell("no-such-program") };
    let said = "bosun: \"no-such-program\" was not found; is it installed and on PATH?\r\n";
    let seen = play(run);
    let end = CommandEnd { code: 127, signal: None };
    let all = [PtyEvent::Output(said.into()), PtyEvent::Exited(end), PtyEvent::Closed];
    assert_eq!(seen.events, all);
    assert_eq!(play(shell("no-such-program x y")).end.code, 127);
}

#[test]
fn a_file_that_is_not_executable_says_so_and_ends_with_126() {
    let dir = script("plain", 0o644);
    let whole = dir.path().join("plain").display().to_string();
    let said = format!("bosun: {whole:?} cannot be executed\r\n");
    check(PtyRun { args: vec!["x".into()], ..shell(&whole) }, &said, 126);
    check(PtyRun { args: vec!["x".into()], ..shell("/bin") }, "bosun: \"/bin\" cannot be executed\r\n", 126);
    assert_eq!(play(shell(&whole)).end.code, 126);
}

#[test]
fn a_script_whose_interpreter_is_missing_ends_with_an_error() {
    let dir = script("odd", 0o755);
    let path = dir.path().join("odd");
    std::fs::write(&path, "#!/no/such/interpreter\n").unwrap();
    let seen = play(shell(&path.display().to_string()));
    assert!(seen.text.contains("not found") && seen.end.code == 127, "{seen:?}");
}

#[test]
fn a_folder_that_is_missing_says_so() {
    check(
        PtyRun { cwd: "/no/such".into(), ..shell("pwd") },
        "bosun: the folder /no/such does not exist\r\n",
        127,
    );
    let dir = tempfile::tempdir().unwrap();
    let cwd = dir.path().canonicalize().unwrap();
    check(PtyRun { cwd: cwd.clone(), ..shell("pwd") }, &format!("{}\r\n", cwd.display()), 0);
}

#[test]
fn a_command_that_is_too_long_says_so() {
    let seen = play(shell(&format!("true {}", "x".repeat(3 << 20))));
    assert!(seen.text.starts_with("bosun: the command is too long: "), "{}", seen.text);
    assert_eq!(seen.end.code, 126);
    let seen = play(shell(&format!("true {}; echo ok", "x".repeat(100_000))));
    assert_eq!((seen.text.as_str(), seen.end.code), ("ok\r\n", 0));
}

#[test]
fn nul_bytes_in_a_command_are_refused() {
    let seen = play(shell("echo a\0b"));
    assert!(seen.text.starts_with("bosun: ") && seen.end.code == 126, "{seen:?}");
}

// B112
#[test]
fn pagers_are_neutral_and_the_terminal_is_one_that_neovim_understands() {
    let line = "echo $TERM $PAGER $GIT_PAGER $MANPAGER $GIT_TERMINAL_PROMPT; test -t 0 && test -t 1 && tty </dev/tty";
    let seen = play(shell(line));
    assert!(seen.text.starts_with("xterm-256color cat cat cat 0\r\n/dev/"), "{}", seen.text);
    let env = vec![("PAGER".into(), "more".into()), ("TERM".into(), "dumb".into())];
    check(PtyRun { env, ..shell("echo $PAGER $TERM") }, "more dumb\r\n", 0);
}

// B119
#[test]
fn the_environment_is_inherited_without_what_belongs_to_neovim_and_overrides_come_last() {
    let pairs =
        |all: &[(&str, &str)]| all.iter().map(|(k, v)| ((*k).into(), (*v).into())).collect::<Vec<_>>();
    let inherited = [
        ("HOME", "/h"),
        ("NVIM", "sock"),
        ("VIMRUNTIME", "/r"),
        ("BOSUN_CHILD", "outer"),
        ("BOSUN_LOG", "debug"),
        ("BOSUN_AGENT", "mine"),
        ("LINES", "3"),
        ("PAGER", "less"),
        ("TERM_PROGRAM", "other"),
    ];
    let inherited = inherited.into_iter().map(|(k, v)| (k.into(), v.into()));
    let overrides =
        pairs(&[("A", "1=2\n3"), ("A", "4"), ("", "x"), ("B=C", "x"), ("EDITOR", "theirs"), ("E", "")]);
    let extra = pairs(&[("EDITOR", "ours"), ("GIT_EDITOR", "ours")]);
    let built = environment::build(inherited, &extra, &overrides, ("BOSUN_CHILD", "1-t1-1"));
    let built: Vec<String> = built.iter().map(|(k, v)| format!("{}={}", k.display(), v.display())).collect();
    let expected = [
        "A=4",
        "BOSUN_AGENT=mine",
        "BOSUN_CHILD=1-t1-1",
        "COLORTERM=truecolor",
        "E=",
        "EDITOR=theirs",
        "GIT_EDITOR=ours",
        "GIT_PAGER=cat",
        "GIT_TERMINAL_PROMPT=0",
        "HOME=/h",
        "MANPAGER=cat",
        "PAGER=cat",
        "TERM=xterm-256color",
    ];
    assert_eq!(built, expected);
}

#[test]
fn only_the_terminal_is_open_in_a_command() {
    // The shell's own redirection takes the name of the folder that `ls` reads as the fourth.
    let seen = play(PtyRun { args: vec!["/proc/self/fd".into()], ..shell("ls") });
    assert_eq!(seen.text.split_whitespace().collect::<Vec<_>>(), ["0", "1", "2", "3"]);
}

#[test]
fn a_command_leads_a_session_and_a_group_of_its_own_in_its_terminal() {
    let seen = play(shell("echo $$ $(ps -o pgid= -o sid= -o tpgid= -p $$)"));
    let Some(PtyEvent::Started { pgid }) = seen.events.first() else { panic!("{seen:?}") };
    assert_eq!(seen.text, format!("{pgid} {pgid} {pgid} {pgid}\r\n"));
}

#[test]
fn a_path_of_the_runs_own_finds_its_program_and_no_shell_of_ours() {
    let dir = script("sh", 0o755);
    let path = format!("{}:{}", dir.path().display(), std::env::var("PATH").unwrap());
    let env = vec![("PATH".to_owned(), path)];
    check(PtyRun { args: vec!["hi".into()], env: env.clone(), ..shell("echo") }, "hi\r\n", 0);
    check(PtyRun { env, ..shell("echo one; echo two") }, "one\r\ntwo\r\n", 0);
}

#[test]
fn a_variable_of_any_name_arrives() {
    if !std::path::Path::new("/bin/bash").is_file() {
        return;
    }
    let env = vec![("FOO.BAR".to_owned(), "1".to_owned()), ("FOO-BAR".to_owned(), "2".to_owned())];
    // Not through a line for the shell, which takes them away by itself.
    let seen = play(PtyRun { env, ..shell("env") });
    assert!(seen.text.contains("FOO.BAR=1") && seen.text.contains("FOO-BAR=2"), "{seen:?}");
}
