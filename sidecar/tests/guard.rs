//! The guard as the process that it is: what is listed when its input ends, ends.

use std::io::Write;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

fn guard() -> Child {
    let mut command = Command::new(env!("CARGO_BIN_EXE_bosun"));
    command.arg("guard").stdin(Stdio::piped()).spawn().expect("a guard")
}

/// A shell script in a group of its own, marked in its environment, once it says that it is ready.
fn group(script: &str, marker: &str) -> Child {
    let (name, value) = marker.split_once('=').expect("NAME=value");
    let mut command = Command::new("sh");
    command.args(["-c", &format!("{script}; echo ready; while :; do sleep 60; done")]);
    command.env(name, value).stdin(Stdio::null()).stdout(Stdio::piped()).process_group(0);
    let mut child = command.spawn().expect("sh");
    let mut ready = [0; 6];
    std::io::Read::read_exact(child.stdout.as_mut().expect("a pipe"), &mut ready).expect("ready");
    child
}

fn marked(marker: &str) -> usize {
    let environ = |entry: std::fs::DirEntry| std::fs::read(entry.path().join("environ")).unwrap_or_default();
    let all = std::fs::read_dir("/proc").expect("/proc").flatten();
    all.map(environ).filter(|e| e.split(|b| *b == 0).any(|var| var == marker.as_bytes())).count()
}

fn blocks_signals(pid: u32) -> bool {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigBlk:"));
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).is_some_and(|mask| mask != 0)
}

fn eventually(what: &str, mut holds: impl FnMut() -> bool) {
    let until = Instant::now() + Duration::from_secs(10);
    while !holds() {
        assert!(Instant::now() < until, "{what}");
        std::thread::yield_now();
    }
}

fn own(name: &str) -> String {
    format!("BOSUN_GUARD_TEST={name}-{}", std::process::id())
}

#[test]
fn what_is_listed_when_the_input_ends_is_ended_with_its_strays() {
    let marker = own("strays");
    let mut agent = group("trap '' TERM; (trap '' TERM; sleep 60) & setsid sleep 60 & :", &marker);
    eventually("the strays run", || marked(&marker) >= 3);
    let mut guard = guard();
    writeln!(guard.stdin.as_mut().expect("a pipe"), "+{} {marker}", agent.id()).expect("told");
    eventually("it holds signals back", || blocks_signals(guard.id()));
    for signal in [Signal::SIGINT, Signal::SIGHUP, Signal::SIGTERM] {
        kill(Pid::from_raw(guard.id() as i32), signal).expect("signalled");
    }
    assert!(marked(&marker) >= 3, "nothing ends before the input does");
    // What also happens when the process at the other end is killed.
    drop(guard.stdin.take());
    let ended = Instant::now();
    assert_eq!(guard.wait().expect("a status").code(), Some(0));
    assert_eq!(agent.wait().expect("a status").signal(), Some(9));
    eventually("nothing is left", || marked(&marker) == 0);
    assert!(ended.elapsed() < Duration::from_secs(3), "{:?}", ended.elapsed());
}

#[test]
fn what_was_taken_off_the_list_is_left_alone() {
    let marker = own("kept");
    let mut agent = group(":", &marker);
    let mut guard = guard();
    let mut stdin = guard.stdin.take().expect("a pipe");
    writeln!(stdin, "+{pgid} {marker}\n-{pgid}", pgid = agent.id()).expect("told");
    drop(stdin);
    assert_eq!(guard.wait().expect("a status").code(), Some(0));
    assert!(agent.try_wait().expect("a status").is_none());
    nix::sys::signal::killpg(Pid::from_raw(agent.id() as i32), Signal::SIGKILL).expect("killed");
    agent.wait().expect("a status");
}
