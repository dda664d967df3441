//! Merging as it is lived: a person types while an agent writes, through the host, behind its back, or both.
//!
//! Owns the bars of merging: runs with real timing, each of them many times. The delays between an agent's two writes
//! are part of what is played, never a way to wait for something.

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
    /// 10 to 100 ms after it asked the host, with one more change.
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

    let delay = Duration::from_millis(10 + (run as u64 * 37) % 91);
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
    assert_eq!(stage.asked("merges"), 0, "nobody changed the same lines");
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
