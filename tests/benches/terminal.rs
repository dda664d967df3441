//! `make bench`: a command that prints 190 MB through a terminal of the editor, against a bare reader of a PTY, and an agent
//! that polls a full store ten times a second.
//!
//! Prints figures and judges nothing but the text. `BOSUN_BENCH_SEQ` sets the last number (20,000,000 by default).

#![expect(clippy::print_stdout, reason = "figures are what this prints")]

use std::io::Read;
use std::time::{Duration, Instant};

use bosun_tests::{Editor, Hand, Setup};
use portable_pty::{CommandBuilder, PtySize, native_pty_system};
use serde_json::{Value, json};

const LIMIT: usize = 1 << 20;

fn main() {
    let last: u64 = std::env::var("BOSUN_BENCH_SEQ").ok().and_then(|n| n.parse().ok()).unwrap_or(20_000_000);
    let bare = bare(last);
    println!("\nseq 1 {last} on a bare PTY reader: {:.2} s", bare.as_secs_f64());
    for shown in [false, true] {
        flood(last, shown, bare);
    }
    poll();
}

/// The command on a PTY that somebody just reads.
fn bare(last: u64) -> Duration {
    let pair = native_pty_system().openpty(PtySize::default()).expect("a pty");
    let mut command = CommandBuilder::new("seq");
    command.args(["1", &last.to_string()]);
    let begin = Instant::now();
    let mut child = pair.slave.spawn_command(command).expect("seq");
    drop(pair.slave);
    let mut reader = pair.master.try_clone_reader().expect("a reader");
    let mut buf = vec![0; 64 << 10];
    while reader.read(&mut buf).is_ok_and(|n| n > 0) {}
    child.wait().expect("its end");
    begin.elapsed()
}

/// A session whose agent runs what it likes.
fn editor() -> Editor {
    let editor = Setup::new().file("a.txt", "one\n").alone().limit(Duration::from_secs(300)).start();
    editor.edit("a.txt");
    editor
}

fn create(hand: &mut Hand<'_>, command: &str) -> Value {
    let made = hand.call("terminal/create", json!({"command": command, "outputByteLimit": LIMIT}));
    json!({"terminalId": made.expect("it runs")["terminalId"]})
}

fn flood(last: u64, shown: bool, bare: Duration) {
    let editor = editor();
    let mut hand = Hand::start_with(&editor, json!({"commands": "agent"}), &[]);
    let sidecar = editor.sidecar().pid;
    let idle = resident(sidecar);
    editor.heartbeat_start();
    let begin = Instant::now();
    let about = create(&mut hand, &format!("seq 1 {last}"));
    if shown {
        editor.eventually("the list", || editor.lua("return #require('bosun.state').terminals", &[]) == 1);
        editor.exec("Bosun terminals 1");
    }
    hand.send("terminal/wait_for_exit", about.clone());
    let mut most = 0;
    while !hand.is_answered() {
        most = most.max(resident(sidecar));
        std::thread::sleep(Duration::from_millis(20));
    }
    let took = begin.elapsed();
    hand.outcome().expect("its end");
    let late = editor.heartbeat_worst_ms();
    let output = hand.call("terminal/output", about).expect("its text");
    let text = output["output"].as_str().unwrap_or_default();
    let end: String = (last.saturating_sub(200_000).max(1)..=last).map(|n| format!("{n}\n")).collect();
    assert!(text.len() == LIMIT && end.ends_with(text), "the text is the exact end");
    println!(
        "through a terminal{}: {:.2} s ({:.2} times), timer {late:.1} ms late, sidecar {:.1} MiB over its {:.1} idle",
        if shown { ", shown" } else { "" },
        took.as_secs_f64(),
        took.as_secs_f64() / bare.as_secs_f64(),
        (most.saturating_sub(idle)) as f64 / 1048576.0,
        idle as f64 / 1048576.0,
    );
    hand.end();
}

fn poll() {
    let editor = editor();
    let mut hand = Hand::start_with(&editor, json!({"commands": "agent"}), &[]);
    let about = create(&mut hand, "seq 1 400000; sleep 60");
    editor.eventually("a full store", || {
        let output = hand.call("terminal/output", about.clone()).expect("its text");
        output["output"].as_str().map(str::len) == Some(LIMIT)
    });
    let (sidecar, neovim) = (editor.sidecar().pid, editor.pid());
    let before = (ticks(sidecar), ticks(neovim));
    let begin = Instant::now();
    const POLLS: u32 = 50;
    for n in 1..=POLLS {
        hand.call("terminal/output", about.clone()).expect("its text");
        std::thread::sleep(
            (begin + Duration::from_millis(100) * n).saturating_duration_since(Instant::now()),
        );
    }
    let took = begin.elapsed().as_secs_f64();
    let share = |now: u64, before: u64| (now - before) as f64 / 100.0 / took * 100.0;
    println!(
        "polled {:.1} times a second: sidecar {:.1} % of a core, Neovim {:.1} %",
        f64::from(POLLS) / took,
        share(ticks(sidecar), before.0),
        share(ticks(neovim), before.1),
    );
    hand.call("terminal/release", about).expect("it is released");
    hand.end();
}

/// Bytes of memory that a process has.
fn resident(pid: i32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let line = status.lines().find(|line| line.starts_with("VmRSS:")).unwrap_or_default();
    line.split_whitespace().nth(1).and_then(|n| n.parse::<u64>().ok()).unwrap_or(0) * 1024
}

/// Hundredths of a second of processor time.
fn ticks(pid: i32) -> u64 {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    let fields: Vec<&str> = stat.rsplit(") ").next().unwrap_or_default().split(' ').collect();
    [11, 12].iter().filter_map(|n| fields.get(*n)?.parse::<u64>().ok()).sum()
}
