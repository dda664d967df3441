//! `make bench`: a review of 300 changed files with 3,000 hunks, and a permission with a diff of 100,000 lines in 50 places:
//! how long until a person sees it, and how long the editor is blocked meanwhile.
//!
//! Prints figures and judges only that all of it is there.

#![expect(clippy::print_stdout, reason = "figures are what this prints")]

use std::time::{Duration, Instant};

use bosun_tests::steps::*;
use bosun_tests::{Editor, Hand, Setup};
use serde_json::json;

const FILES: usize = 300;
/// Changed lines of a file, and all of them.
const HUNKS: usize = 10;
const LINES: usize = 100;
/// Lines of the large file, and its changed places.
const LARGE: usize = 100_000;
const PLACES: usize = 50;
/// Openings of each.
const ROUNDS: usize = 10;

fn main() {
    review();
    permission();
}

/// Median and worst.
fn figure(mut all: Vec<f64>) -> String {
    all.sort_by(f64::total_cmp);
    format!("{:.1} ({:.1})", all[all.len() / 2], all[all.len() - 1])
}

fn milliseconds(since: Instant) -> f64 {
    since.elapsed().as_secs_f64() * 1e3
}

fn text(lines: usize, changed: usize, word: &str) -> String {
    let every = lines / changed;
    let line =
        |n: usize| if n % every == every / 2 { format!("{word} {n}\n") } else { format!("line {n}\n") };
    (0..lines).map(line).collect()
}

fn review() {
    let (old, new) = (text(LINES, HUNKS, "old"), text(LINES, HUNKS, "new"));
    let names: Vec<String> = (0..FILES).map(|n| format!("f{n:03}.txt")).collect();
    let setup = names.iter().fold(Setup::new(), |setup, name| setup.file(name, &old));
    let editor: Editor = setup.alone().limit(Duration::from_secs(300)).start();
    editor.edit(&names[0]);
    let mut hand = Hand::start_with(&editor, json!({"write_approval": "review"}), &[]);
    editor.heartbeat_start();
    let begin = Instant::now();
    for name in &names {
        assert_eq!(hand.read(name).as_deref(), Ok(&*old));
        hand.write(name, &new);
        hand.outcome().expect("it lands");
    }
    let counts = "local c = require('bosun.review').counts() return { c.files, c.hunks }";
    let all = json!([FILES, FILES * HUNKS]);
    editor.eventually("all hunks", || editor.lua(counts, &[]) == all);
    println!(
        "\n{FILES} files with {} hunks, written and told in {:.0} ms",
        FILES * HUNKS,
        milliseconds(begin)
    );
    println!(
        "  longest block of the editor meanwhile: {:.1} ms over its 20 ms timer",
        editor.heartbeat_worst_ms()
    );
    editor.heartbeat_start();
    let mut opened = Vec::new();
    for _ in 0..ROUNDS {
        let begin = Instant::now();
        editor.input(":Bosun review<CR>");
        editor.eventually("the diff", || {
            let screen = editor.screen();
            screen.contains("before the agent") && screen.contains("old 5") && screen.contains("new 5")
        });
        opened.push(milliseconds(begin));
        editor.input("q");
        editor.eventually("the tab is gone", || editor.lua("return #vim.api.nvim_list_tabpages()", &[]) == 1);
    }
    println!(
        "  `:Bosun review` to the first diff on the screen, median (and worst) of {ROUNDS}: {} ms",
        figure(opened)
    );
    println!("  longest block meanwhile: {:.1} ms", editor.heartbeat_worst_ms());
    hand.end();
}

fn permission() {
    let (old, new) = (text(LARGE, PLACES, "old"), text(LARGE, PLACES, "new"));
    let editor = Setup::new().file("a.txt", &old).alone().limit(Duration::from_secs(300)).start();
    editor.edit("a.txt");
    let agent = editor.script(&[
        auto(),
        prompt(),
        ask(1, edit_tool("t", "a.txt", &old, &new), allow_or_reject()),
        answered(1),
        end_turn(),
    ]);
    let session = editor.ask("go");
    editor.await_pending(1);
    let mut opened = Vec::new();
    editor.heartbeat_start();
    for _ in 0..ROUNDS {
        let begin = Instant::now();
        editor.exec("Bosun diff");
        editor.eventually("the diff", || editor.screen().contains("new 1000"));
        opened.push(milliseconds(begin));
        editor.input("q");
        editor.eventually("the tab is gone", || editor.lua("return #vim.api.nvim_list_tabpages()", &[]) == 1);
    }
    println!("\na permission with a diff of {LARGE} lines in {PLACES} places");
    println!(
        "  `:Bosun diff` to the first change on the screen, median (and worst) of {ROUNDS}: {} ms",
        figure(opened)
    );
    println!("  longest block of the editor: {:.1} ms over its 20 ms timer", editor.heartbeat_worst_ms());
    editor.cancel(&session);
    editor.turn_end(1);
    drop(agent);
}
