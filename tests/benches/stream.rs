//! `make bench`: a flood of small chunks through the whole chain, agent to screen, and what it costs.
//!
//! Prints figures and judges nothing but the text, which must be exact: budgets that hold everywhere are tests, and count
//! things. Milliseconds compare on one machine only. `BOSUN_BENCH_RUNS` sets how often (3 by default).

#![expect(clippy::print_stdout, reason = "figures are what this prints")]

use std::time::{Duration, Instant};

use bosun_tests::{Setup, steps};

/// Chunks in a run, and bytes in each.
const CHUNKS: u64 = 20_000;
const BYTES: usize = 50;

/// /proc counts processor time in hundredths of a second, on every architecture.
const TICK_MS: u64 = 10;

/// What one run cost.
struct Figures {
    /// From the first chunk until the last one is on the screen.
    total: Duration,
    /// Patches that reached Neovim.
    patches: u64,
    /// The longest that a call to Neovim waited meanwhile: what a key press would have waited.
    worst_ping: Duration,
    /// Milliseconds of processor time.
    nvim_cpu: u64,
    sidecar_cpu: u64,
}

fn main() {
    let runs = std::env::var("BOSUN_BENCH_RUNS").ok().and_then(|n| n.parse().ok()).unwrap_or(3);
    println!("{CHUNKS} message chunks of {BYTES} bytes, transcript shown on a screen of 120x40\n");
    println!(
        "| run | total ms | chunks/s | patches | patches/s | worst ping ms | nvim CPU ms | sidecar CPU ms |"
    );
    println!("| --- | --- | --- | --- | --- | --- | --- | --- |");
    for run in 1..=runs {
        let Figures { total, patches, worst_ping, nvim_cpu, sidecar_cpu } = stream();
        let seconds = total.as_secs_f64();
        println!(
            "| {run} | {} | {:.0} | {patches} | {:.1} | {:.1} | {nvim_cpu} | {sidecar_cpu} |",
            total.as_millis(),
            CHUNKS as f64 / seconds,
            patches as f64 / seconds,
            worst_ping.as_secs_f64() * 1e3,
        );
    }
}

fn stream() -> Figures {
    let editor = Setup::new().alone().limit(Duration::from_secs(120)).start();
    let started = editor.aside("started");
    let text = format!("%06d {}\n", "x".repeat(BYTES - 8));
    editor.script(&[
        steps::auto(),
        steps::prompt(),
        steps::say("begin\n"),
        steps::gate(&started),
        steps::chunks(CHUNKS, &text, 0),
        steps::say("the end of the flood\n"),
        steps::end_turn(),
        steps::then_polite(),
    ]);
    let session = editor.ask("flood");
    editor.lua("require('bosun').open({ session = ... })", &[session.as_str().into()]);
    editor.eventually("the transcript is on the screen", || editor.screen().contains("begin"));
    editor.count_calls();
    let sidecar = editor.sidecar().pid;
    let before = (cpu_ms(editor.pid()), cpu_ms(sidecar));
    let begin = Instant::now();
    std::fs::write(&started, "").expect("the gate opens");
    let mut worst_ping = Duration::ZERO;
    loop {
        let sent = Instant::now();
        let done = editor.lua("return #_G.bosun_test.events", &[]);
        worst_ping = worst_ping.max(sent.elapsed());
        if done.as_u64().unwrap_or(0) > 0 && !editor.events("BosunTurnEnd").is_empty() {
            break;
        }
        assert!(!editor.left().is_zero(), "the turn did not end");
        std::thread::sleep(Duration::from_millis(5));
    }
    editor.eventually("the end is on the screen", || editor.screen().contains("the end of the flood"));
    let total = begin.elapsed();
    let figures = Figures {
        total,
        patches: editor.calls().get("patch").copied().unwrap_or(0),
        worst_ping,
        nvim_cpu: cpu_ms(editor.pid()) - before.0,
        sidecar_cpu: cpu_ms(sidecar) - before.1,
    };
    let transcript = editor.await_transcript(&session, "the end of the flood");
    let exact = (0..CHUNKS).all(|n| transcript.contains(&text.replace("%06d", &format!("{n:06}"))));
    assert!(exact, "chunks are missing from the transcript, or were changed");
    figures
}

/// Processor time of a process so far, in user and kernel mode.
fn cpu_ms(pid: i32) -> u64 {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).expect("the process runs, on Linux");
    // The program's name stands in parentheses and may hold anything; fields 14 and 15 are counted from its end.
    let fields: Vec<&str> = stat.rsplit(')').next().unwrap_or_default().split_whitespace().collect();
    let ticks: u64 = fields[11..13].iter().map(|f| f.parse::<u64>().expect("a number of ticks")).sum();
    ticks * TICK_MS
}
