//! Text that streams: exact, soon on the screen, and never in the way of the person.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bosun_tests::steps::*;
use bosun_tests::{Editor, Setup};
use serde_json::json;

const CHUNKS: u64 = 20_000;
/// 50 bytes with its line end.
const CHUNK: &str = "%06d of fifty bytes, more or less, as they come..\n";

fn numbered(n: u64) -> String {
    CHUNK.replace("%06d", &format!("{n:06}"))
}

/// When the screen first showed each chunk's number, in milliseconds since the epoch; the highest number of a redraw
/// stands for all before it.
type Shown = Arc<Mutex<BTreeMap<u64, f64>>>;

fn watch(editor: &Editor) -> Shown {
    let shown = Shown::default();
    let seen = shown.clone();
    editor.on_flush(move |screen, at| {
        let newest = screen
            .text()
            .match_indices(" of fifty bytes")
            .filter_map(|(end, _)| {
                let text = screen.text();
                text.get(end.checked_sub(6)?..end)?.parse::<u64>().ok()
            })
            .max();
        if let Some(newest) = newest {
            seen.lock().expect("the watcher").entry(newest).or_insert(at);
        }
    });
    shown
}

/// A chat on the screen whose agent waits for the gate and then sends the chunks at this rate.
fn flood(per_second: u64) -> (Editor, String, bosun_tests::Scripted, std::path::PathBuf) {
    let editor = Setup::new().alone().limit(Duration::from_secs(60)).start();
    let gate_file = editor.aside("go");
    let agent = editor.script(&[
        auto(),
        prompt(),
        say("begin\n"),
        gate(&gate_file),
        json!({"chunks": {"n": CHUNKS, "text": CHUNK, "per_second": per_second, "mark_every": 100}}),
        end_turn(),
        then_polite(),
    ]);
    let session = editor.ask("flood");
    editor.lua("require('bosun').open({ session = ... })", &[session.as_str().into()]);
    editor.eventually("the transcript is on the screen", || editor.screen().contains("begin"));
    (editor, session, agent, gate_file)
}

fn assert_exact(editor: &Editor, session: &str) {
    let text = editor.transcript(session);
    let all: String = (0..CHUNKS).map(numbered).collect();
    assert!(text.contains(&all), "chunks are missing from the transcript, or were changed");
}

// B89
#[test]
fn a_long_stream_is_exact_in_few_patches_and_never_far_behind() {
    let (editor, session, agent, go) = flood(5_000);
    let shown = watch(&editor);
    editor.count_calls();
    editor.heartbeat_start();
    editor.open_gate(&go);
    assert_eq!(editor.turn_end(1), "end_turn");
    let patches = editor.calls().get("patch").copied().unwrap_or(0);
    editor.eventually("the end is on the screen", || {
        editor.screen().contains(&format!("{:06} of", CHUNKS - 1))
    });
    assert_exact(&editor, &session);
    let worst = editor.heartbeat_worst_ms();
    assert!(worst <= 100.0, "a timer of 20 ms was {worst} ms late");

    let record = agent.read();
    let mut sent = BTreeMap::new();
    let (mut first, mut last) = (None, 0.0);
    for line in &record.lines {
        let at = line["t_ms"].as_f64().expect("a time");
        match line["event"]["name"].as_str() {
            Some("chunk") => {
                sent.insert(line["event"]["detail"].as_u64().expect("a number"), at);
            }
            Some("chunks") => first = Some(at),
            Some("chunks sent") => last = at,
            _ => {}
        }
    }
    let took = (last - first.expect("a beginning")) / 1000.0;
    assert!(patches as f64 <= 40.0 * took + 4.0, "{patches} patches in {took} s");
    let shown = shown.lock().expect("the watcher").clone();
    let lag = |n: u64, at: f64| shown.range(n..).map(|(_, t)| *t).fold(f64::INFINITY, f64::min) - at;
    let soon = lag(0, sent[&0]);
    assert!(soon <= 50.0, "the first text was on the screen after {soon} ms");
    let behind = sent.iter().map(|(n, at)| lag(*n, *at)).fold(0.0, f64::max);
    assert!(behind <= 100.0, "the screen was {behind} ms behind");
    editor.assert_sound(&agent);
}

// B89
#[test]
fn a_flood_as_fast_as_the_pipe_is_exact_and_keys_still_work() {
    let (editor, session, agent, go) = flood(0);
    editor.exec("wincmd h");
    let buf = editor.lua("return vim.api.nvim_get_current_buf()", &[]).as_i64().expect("a buffer");
    editor.heartbeat_start();
    editor.open_gate(&go);
    editor.input("ityped meanwhile<Esc>");
    assert_eq!(editor.turn_end(1), "end_turn");
    assert_exact(&editor, &session);
    assert_eq!(editor.lines(buf), ["typed meanwhile"]);
    let worst = editor.heartbeat_worst_ms();
    assert!(worst <= 100.0, "a timer of 20 ms was {worst} ms late");
    editor.assert_sound(&agent);
}

// B89
#[test]
fn thoughts_between_words_stay_out_of_the_answer_and_cost_no_frame() {
    let editor = Setup::new().alone().limit(Duration::from_secs(60)).start();
    let pair = [think("hm "), say("word ")];
    let agent = editor.script(&[auto(), prompt(), json!({"repeat": 5_000, "steps": pair}), end_turn()]);
    editor.heartbeat_start();
    let session = editor.ask("think and talk");
    assert_eq!(editor.turn_end(1), "end_turn");
    let text = editor.transcript(&session);
    let words =
        text.lines().filter(|line| !line.contains("thought")).map(|line| line.matches("word").count());
    assert_eq!(words.sum::<usize>(), 5_000);
    assert!(editor.heartbeat_worst_ms() <= 100.0);
    editor.assert_sound(&agent);
}

// B74 B76 B77
#[test]
fn garbage_half_a_message_and_an_unknown_update_cost_no_chunk() {
    let editor = Setup::new().start();
    let agent = editor.script(&[
        auto(),
        prompt(),
        say("first chunk, "),
        raw("Migrating…\n\n\u{1b}[2Jnpm WARN deprecated\n{\"jsonrpc\":\"2.0\",\"method\":\"session/upd\n"),
        update(json!({"sessionUpdate": "zzz", "x": {"_meta": {}}})),
        update(json!({"sessionUpdate": "usage_update", "used": "many"})),
        say("second chunk"),
        stop("new_reason"),
    ]);
    let session = editor.ask("go");
    assert_eq!(editor.turn_end(1), "new_reason");
    let text = editor.transcript(&session);
    let at = |what: &str| text.find(what).unwrap_or_else(|| panic!("{what} is missing: {text}"));
    assert!(at("first chunk, ") < at("second chunk"));
    at("new_reason");
    editor.assert_sound(&agent);
}
