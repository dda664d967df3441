//! Merging as it is lived: a person types while an agent writes, through the host, behind its back, or both.
//!
//! Owns the bars of merging: runs with real timing, each of them many times. The delays between an agent's two writes
//! are part of what is played, never a way to wait for something.

#![expect(clippy::print_stdout, reason = "the figures of the bars are printed")]

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use bosun_tests::editor::Scripted;
use bosun_tests::steps::*;
use bosun_tests::{Editor, Relay, Setup};
use serde_json::{Value, json};

/// Answers each question about a write at once (of a merge, `allow_once` keeps the person's lines), and counts them.
const ALLOW: &str = "
_G.asked = { plain = 0, merges = 0 }
vim.api.nvim_create_autocmd('User', { pattern = 'BosunPermission', callback = function(args)
  local id = args.data.question
  vim.schedule(function()
    for _, question in ipairs(require('bosun').pending()) do
      if question.id == id then
        local kind = question.title:find('^merge') and 'merges' or 'plain'
        _G.asked[kind] = _G.asked[kind] + 1
      end
    end
    require('bosun').answer(id, 'allow_once')
  end)
end })";

/// How long a run may take to come to rest.
const REST: Duration = Duration::from_secs(4);

/// An editor and an agent in one long turn.
struct Stage {
    editor: Editor,
    agent: Scripted,
    relay: Relay,
}

impl Stage {
    fn start(setup: Setup) -> Self {
        let editor = setup.start();
        let mut relay = Relay::listen(editor.aside("relay"));
        let agent = editor.script(&[auto(), prompt(), bosun_tests::steps::relay(relay.path()), end_turn()]);
        editor.lua(ALLOW, &[]);
        editor.ask("go");
        relay.accept();
        Self { editor, agent, relay }
    }

    /// Asks the host to write; `receive` of the relay gives its answer.
    fn writes(&mut self, name: &str, content: &str) {
        let path = self.editor.path(name);
        self.relay.send("fs/write_text_file", json!({"path": path, "content": content}));
    }

    fn reads(&mut self, name: &str) -> String {
        let path = self.editor.path(name);
        self.relay.read(&path).expect("the text")
    }

    fn asked(&self, kind: &str) -> u64 {
        self.editor.lua("return _G.asked[...]", &[kind.into()]).as_u64().expect("a number")
    }

    fn end(mut self) {
        self.relay.hang_up();
        assert_eq!(self.editor.turn_end(1), "end_turn");
        assert_eq!(self.editor.pending(), Vec::<Value>::new());
        self.editor.assert_sound(&self.agent);
    }
}

fn text(editor: &Editor, buf: i64) -> String {
    editor.lines(buf).join("\n") + "\n"
}

fn modified(editor: &Editor, buf: i64) -> bool {
    editor.lua("return vim.bo[...].modified", &[buf.into()]) == true
}

/// Whether it holds within [`REST`].
fn rests(mut holds: impl FnMut() -> bool) -> bool {
    let end = Instant::now() + REST;
    while !holds() {
        if Instant::now() > end {
            return false;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    true
}

fn numbered(lines: usize) -> String {
    (1..=lines).map(|n| format!("line {n}\n")).collect()
}

/// `text` with these lines followed by more words.
fn with(text: &str, changes: &[(usize, &str)]) -> String {
    changes.iter().fold(text.to_owned(), |text, (line, words)| {
        text.replace(&format!("line {line}\n"), &format!("line {line}{words}\n"))
    })
}

/// When an agent writes the disk by itself, beside its write through the host, and what.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Double {
    /// 10 to 100 ms after it asked the host, the same.
    Echo,
    /// 10 to 100 ms before it asks the host, the same.
    First,
    /// 50 to 140 ms after it asked the host, with one more change.
    GoesOn,
    /// As `Echo`, while the person types on.
    Typing,
}

/// One file: the agent reads it, the person types into it, the agent writes twice. What is wrong in the end.
fn double(stage: &mut Stage, how: Double, run: usize) -> Result<(), String> {
    let name = format!("{how:?}{run}.txt");
    let start = numbered(30);
    std::fs::write(stage.editor.path(&name), &start).expect("a file");
    let buf = stage.editor.edit(&name);
    let own = with(&stage.reads(&name), &[(20, " by the agent")]);
    let more = with(&own, &[(25, " by the agent too")]);
    let typed = format!("line 3\ntyped in run {run}\n");
    let (mut expected, behind) = match how {
        Double::GoesOn => (more.clone(), &more),
        _ => (own.clone(), &own),
    };
    expected = expected.replace("line 3\n", &typed);
    let keys = format!("3Gotyped in run {run}{}", if how == Double::Typing { "" } else { "<Esc>" });
    stage.editor.input(&keys);
    let shown = start.replace("line 3\n", &typed);
    stage.editor.eventually("the typed line", || text(&stage.editor, buf) == shown);

    // Of two that write one file in the same instant one is overwritten, and nobody can tell what it held: an agent that
    // goes on has let its first write land.
    let least = if how == Double::GoesOn { 50 } else { 10 };
    let delay = Duration::from_millis(least + (run as u64 * 37) % 91);
    let path = stage.editor.path(&name);
    let behind_the_back = || std::fs::write(&path, behind).expect("the file");
    match how {
        Double::Echo | Double::GoesOn => {
            stage.writes(&name, &own);
            std::thread::sleep(delay);
            behind_the_back();
        }
        Double::First => {
            behind_the_back();
            std::thread::sleep(delay);
            stage.writes(&name, &own);
        }
        Double::Typing => {
            let begin = Instant::now();
            stage.writes(&name, &own);
            let (mut words, mut written) = (String::new(), false);
            for key in "abcdefghijklmnopqrstuvwxyz".chars() {
                stage.editor.input(&key.to_string());
                words.push(key);
                std::thread::sleep(Duration::from_millis(8));
                if !written && begin.elapsed() >= delay {
                    behind_the_back();
                    written = true;
                }
            }
            stage.editor.input("<Esc>");
            expected = expected
                .replace(&typed, &typed.replace(&format!("run {run}\n"), &format!("run {run}{words}\n")));
        }
    }
    stage.relay.receive().map_err(|e| format!("run {run}: the write is answered with {e}"))?;
    let editor = &stage.editor;
    let disk = || String::from_utf8(editor.disk(&name)).expect("text");
    let there =
        |text: &str| text.contains(&typed[..typed.len() - 1]) && text.contains("line 20 by the agent\n");
    let state = || format!("run {run}, {delay:?}: buffer {:?}, disk {:?}", text(editor, buf), disk());
    if how == Double::Typing {
        // What was typed last may be unsaved; it is saved without a question.
        if !rests(|| text(editor, buf) == expected && there(&disk())) {
            return Err(state());
        }
        editor.exec("silent write");
    }
    if !rests(|| text(editor, buf) == expected && disk() == expected && !modified(editor, buf)) {
        return Err(state());
    }
    editor.exec("bwipeout");
    Ok(())
}

fn doubles(how: Double, runs: usize) {
    let mut stage = Stage::start(Setup::new().limit(Duration::from_secs(150)));
    let begin = Instant::now();
    let wrong: Vec<String> = (0..runs).filter_map(|run| double(&mut stage, how, run).err()).collect();
    println!(
        "{how:?}: {runs} runs in {:?}, {} questions about merges",
        begin.elapsed(),
        stage.asked("merges")
    );
    assert!(wrong.is_empty(), "{} of {runs} runs: {}", wrong.len(), wrong.join("\n"));
    // Nobody changed the same lines; but two programs that write one file in the same instant leave a torn one, and that
    // is for a person to decide.
    assert!(stage.asked("merges") <= runs as u64 / 20, "{} questions", stage.asked("merges"));
    stage.end();
}

// B14
#[test]
fn an_agent_that_also_writes_its_own_text_to_the_disk_takes_no_typed_line_out() {
    doubles(Double::Echo, 100);
}

#[test]
fn an_agent_that_writes_the_disk_first_takes_no_typed_line_out() {
    doubles(Double::First, 40);
}

#[test]
fn an_agent_that_goes_on_from_its_own_text_on_the_disk_takes_no_typed_line_out() {
    doubles(Double::GoesOn, 40);
}

#[test]
fn what_is_typed_while_an_agent_writes_twice_is_all_there() {
    doubles(Double::Typing, 40);
}

#[test]
fn a_line_typed_far_from_a_partial_read_survives_a_write_from_an_older_text() {
    let mut stage = Stage::start(Setup::new().file("a.txt", numbered(600)));
    let buf = stage.editor.edit("a.txt");
    let older = stage.reads("a.txt");
    stage.editor.input("500Gotyped far away<Esc>");
    let typed = numbered(600).replace("line 500\n", "line 500\ntyped far away\n");
    stage.editor.eventually("the typed line", || text(&stage.editor, buf) == typed);
    let path = stage.editor.path("a.txt");
    stage.relay.send("fs/read_text_file", json!({"path": path, "line": 1, "limit": 20}));
    assert_eq!(stage.relay.receive().expect("a text")["content"], numbered(20));
    stage.writes("a.txt", &with(&older, &[(10, " by the agent")]));
    stage.relay.receive().expect("the write lands");
    let expected = with(&typed, &[(10, " by the agent")]);
    assert_eq!(text(&stage.editor, buf), expected);
    assert_eq!(stage.editor.disk("a.txt"), expected.as_bytes());
    stage.end();
}

/// A person types 20 keys a second in insert mode while an agent writes the same 5,000 lines 200 times, each time from
/// its own text; every tenth write also changes the line in which they type.
#[test]
fn every_key_and_every_change_is_there_when_both_write_the_same_file() {
    const WRITES: usize = 200;
    let start = numbered(5000);
    let mut stage = Stage::start(Setup::new().file("a.txt", &start).limit(Duration::from_secs(90)));
    let buf = stage.editor.edit("a.txt");
    assert_eq!(stage.reads("a.txt"), start);
    stage.editor.input("2500GA");
    stage.editor.eventually("insert mode", || stage.editor.mode().0 == "i");
    stage.editor.heartbeat_start();
    let over = AtomicBool::new(false);
    let mut own = start.clone();
    let typed = std::thread::scope(|scope| {
        let typing = scope.spawn(|| {
            let mut typed = String::new();
            let begin = Instant::now();
            while !over.load(Ordering::Relaxed) {
                let key = char::from(b'a' + (typed.len() % 26) as u8);
                stage.editor.input(&key.to_string());
                typed.push(key);
                // The pace of a person, not a way to wait for something.
                let next = begin + Duration::from_millis(50 * typed.len() as u64);
                std::thread::sleep(next.saturating_duration_since(Instant::now()));
            }
            typed
        });
        for n in 1..=WRITES {
            own = own.replace(&format!("line {}\n", n * 12), &format!("line {} by the agent\n", n * 12));
            let content = match n % 10 {
                0 => own.replace("line 2500\n", &format!("line 2500 of the agent's, {n}\n")),
                _ => own.clone(),
            };
            let params = json!({"path": stage.editor.path("a.txt"), "content": content});
            stage.relay.send("fs/write_text_file", params);
            stage.relay.receive().unwrap_or_else(|e| panic!("write {n} is answered with {e}"));
            // The pace of a quick agent.
            std::thread::sleep(Duration::from_millis(30));
        }
        over.store(true, Ordering::Relaxed);
        typing.join().expect("the typing")
    });
    stage.editor.input("<Esc>");
    let expected = own.replace("line 2500\n", &format!("line 2500{typed}\n"));
    stage.editor.eventually("the last key", || stage.editor.mode().0 == "n");
    let late = stage.editor.heartbeat_worst_ms();
    println!(
        "{WRITES} writes, {} keys, {} questions about merges, a 20 ms timer at most {late:.1} ms late",
        typed.len(),
        stage.asked("merges")
    );
    let (got, want) = (text(&stage.editor, buf), expected);
    let differs = got.lines().zip(want.lines()).find(|(a, b)| a != b);
    assert!(got == want, "{differs:?}");
    assert!(stage.asked("merges") > 0, "a person decides about the line in which they type");
    assert!(late <= 100.0, "{late} ms");
    // The cursor is where the last key was typed.
    let at = stage.editor.lua("return vim.api.nvim_win_get_cursor(0)", &[]);
    assert_eq!(at, json!([2500, "line 2500".len() + typed.len() - 1]));
    stage.editor.exec("silent undo 0");
    assert!(text(&stage.editor, buf) == start, "undo does not walk back to the text before");
    stage.editor.exec("silent edit!");
    stage.end();
}
