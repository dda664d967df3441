//! `make bench`: one changed line of a file of 100,000, read and written by an agent: what that costs Neovim beside the
//! `:write` that any change costs.
//!
//! Prints figures and judges nothing but the counts (one call, one undo step) and the text. `BOSUN_BENCH_RUNS` sets how
//! often (3 by default).

#![expect(clippy::print_stdout, reason = "figures are what this prints")]

use std::time::{Duration, Instant};

use bosun_tests::steps::*;
use bosun_tests::{Editor, Relay, Setup};
use serde_json::json;

const LINES: usize = 100_000;
/// Writes in a run; each changes another line.
const WRITES: usize = 10;

/// Takes the times, in milliseconds: of each edit call as a whole, of the `:write` in it from its first event to its last,
/// and of one `:write` by hand.
const WATCH: &str = "
local uv, edit = vim.uv, require('bosun.edit')
local times = { call = {}, write = {}, calls = 0 }
local apply, began = edit.apply, nil
edit.apply = function(message)
  local t = uv.hrtime()
  apply(message)
  times.calls = times.calls + 1
  table.insert(times.call, (uv.hrtime() - t) / 1e6)
end
vim.api.nvim_create_autocmd('BufWritePre', { callback = function() began = uv.hrtime() end })
vim.api.nvim_create_autocmd('BufWritePost', { callback = function()
  table.insert(times.write, (uv.hrtime() - began) / 1e6)
end })
vim.api.nvim_create_autocmd('User', { pattern = 'BosunPermission', callback = function(args)
  vim.schedule(function() require('bosun').answer(args.data.question, 'allow_once') end)
end })
_G.times = times";

fn main() {
    let runs = std::env::var("BOSUN_BENCH_RUNS").ok().and_then(|n| n.parse().ok()).unwrap_or(3);
    println!("\n{WRITES} writes of {LINES} lines, one line changed in each; medians (and worst)\n");
    println!("| run | read ms | write ms | Neovim blocked ms | of that :write ms | edit beside it ms |");
    println!("| --- | --- | --- | --- | --- | --- |");
    for run in 1..=runs {
        println!("| {run} | {} |", play().map(figure).join(" | "));
    }
}

/// Median and worst.
fn figure(mut all: Vec<f64>) -> String {
    all.sort_by(f64::total_cmp);
    format!("{:.1} ({:.1})", all[all.len() / 2], all[all.len() - 1])
}

fn milliseconds(since: Instant) -> f64 {
    since.elapsed().as_secs_f64() * 1e3
}

/// Reads, writes, the time Neovim was blocked, the `:write` in it, the rest of it.
fn play() -> [Vec<f64>; 5] {
    let start: String = (1..=LINES).map(|n| format!("line {n} of a file that is rather long\n")).collect();
    let setup = Setup::new().file("a.txt", &start).alone().limit(Duration::from_secs(120));
    let editor: Editor = setup.start();
    let mut relay = Relay::listen(editor.aside("relay"));
    editor.script(&[auto(), prompt(), bosun_tests::steps::relay(relay.path()), end_turn()]);
    let buf = editor.edit("a.txt");
    editor.lua(WATCH, &[]);
    editor.ask("go");
    relay.accept();
    let path = editor.path("a.txt");
    let mut text = relay.read(&path).expect("the text");
    let (mut reads, mut writes) = (Vec::new(), Vec::new());
    let steps = || editor.lua("return vim.fn.undotree(...).seq_cur", &[buf.into()]).as_u64();
    let before = steps().expect("a number");
    for n in 1..=WRITES {
        let begin = Instant::now();
        assert!(relay.read(&path).expect("the text") == text, "the read is exact");
        reads.push(milliseconds(begin));
        let line = format!("line {} of a", n * 9_000);
        text = text.replacen(&line, &line.to_uppercase(), 1);
        let begin = Instant::now();
        relay.send("fs/write_text_file", json!({"path": path, "content": text}));
        relay.receive().expect("the write lands");
        writes.push(milliseconds(begin));
    }
    assert!(editor.disk("a.txt") == text.as_bytes(), "the text on disk is exact");
    assert_eq!(steps(), Some(before + WRITES as u64), "one undo step each");
    assert_eq!(editor.lua("return _G.times.calls", &[]), WRITES, "one call each");
    let times = |key: &str| -> Vec<f64> {
        let list = editor.lua("return _G.times[...]", &[key.into()]);
        list.as_array()
            .map(|all| all.iter().filter_map(serde_json::Value::as_f64).collect())
            .unwrap_or_default()
    };
    let (call, write) = (times("call"), times("write"));
    let beside = call.iter().zip(&write).map(|(call, write)| call - write).collect();
    relay.hang_up();
    editor.turn_end(1);
    [reads, writes, call, write, beside]
}
