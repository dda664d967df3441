//! The mirror against the editor: whatever a person does to a buffer, an agent that reads it gets what `:write` would save.
//!
//! Owns the play: thousands of operations by chance in one real Neovim, during one turn of an agent that reads the buffer
//! after each. What it must read is computed here, from the lines and options that Neovim shows. The seed is
//! printed when it fails, and `BOSUN_SEED` plays another one.

mod ops;

use std::collections::VecDeque;
use std::path::Path;
use std::time::{Duration, Instant};

use bosun_tests::steps::*;
use bosun_tests::{Editor, Relay, Scripted, Setup};
use ops::{Dice, Op};
use serde_json::{Value, json};

const OPERATIONS: usize = 2_000;
const SEED: u64 = 20_240_611;

/// How long the mirror may be behind: events travel, nothing else is waited for.
const LATE: Duration = Duration::from_secs(3);

const INIT: &str = r#"
vim.opt.swapfile = false
vim.opt.hidden = true
vim.opt.more = false
vim.opt.cmdheight = 12
vim.opt.report = 9999
vim.opt.shortmess:append('aAoOtTIcFsW')
vim.opt.inccommand = 'nosplit'
vim.opt.belloff = 'all'
vim.opt.complete = ''
local fuzz = { choice = '', newline = {} }
_G.fuzz = fuzz
vim.api.nvim_create_autocmd('FileChangedShell', { callback = function() vim.v.fcs_choice = fuzz.choice end })
-- Whether the file of a buffer ends in a newline, and which file that was.
local function look(buf)
  local name = vim.api.nvim_buf_get_name(buf)
  local file, stat = io.open(name, 'rb'), vim.uv.fs_stat(name)
  local bytes = (file and file:read('*a') or ''):gsub('^\239\187\191', '')
  if file then file:close() end
  local newline = ({ unix = '\n', dos = '\r\n', mac = '\r' })[vim.bo[buf].fileformat]
  local stamp = stat and ('%d %d %d'):format(stat.mtime.sec, stat.mtime.nsec, stat.size) or 'none'
  local text = table.concat(vim.api.nvim_buf_get_lines(buf, 0, -1, true), newline)
  local is_text = bytes == text or bytes == text .. newline
  -- An empty last line without a newline looks like a line with one.
  local ends = bytes:sub(-1) == newline:sub(-1) and (bytes ~= text or bytes == text .. newline)
  return ends or bytes == '', stamp, is_text
end
-- A read or write by which buffer and disk are the same.
local function same(args)
  if args.event == 'BufWritePost' and args.match ~= vim.api.nvim_buf_get_name(args.buf) then return end
  fuzz.newline[args.buf] = { look(args.buf) }
end
vim.api.nvim_create_autocmd({ 'BufReadPost', 'BufNewFile', 'BufWritePost' }, { callback = same })
-- 'endofline' is off and 'fixendofline' on: as it is in the file that the text came from. Where that changed and the
-- buffer is not what it is now, it depends on the merge: 'either'.
local function kept_newline(buf)
  local newline, stamp, is_text = look(buf)
  if not vim.bo[buf].modified and is_text then fuzz.newline[buf] = { newline, stamp } end
  local known = fuzz.newline[buf] or { false, stamp }
  if stamp ~= known[2] then return 'either' end
  return known[1]
end
function fuzz.ex(command) pcall(vim.api.nvim_exec2, command, { output = true }) end
function fuzz.keys(keys)
  pcall(vim.api.nvim_feedkeys, vim.api.nvim_replace_termcodes('<C-\\><C-n>' .. keys, true, true, true), 'tx', false)
end
function fuzz.lua(code) pcall(loadstring(code)) end
-- Zero bytes and one newline look the same in the buffer: only a write tells, into a file of ours.
local function writes_nothing(buf, aside)
  vim.api.nvim_buf_call(buf, function() vim.cmd('silent noautocmd keepalt keepjumps write! ++enc=latin1 ' .. aside) end)
  return vim.uv.fs_stat(aside).size == 0
end
function fuzz.look(buf, aside)
  buf = buf == 0 and vim.api.nvim_get_current_buf() or buf
  local o, lines = vim.bo[buf], vim.api.nvim_buf_get_lines(buf, 0, -1, true)
  local newline = o.endofline
  if not newline and o.fixendofline and not o.binary then newline = kept_newline(buf) end
  -- A buffer without a name would get that of the probe.
  local blank = #lines == 1 and lines[1] == '' and vim.api.nvim_buf_get_name(buf) ~= ''
  return {
    buf = buf, name = vim.api.nvim_buf_get_name(buf), file = o.buftype == '', lines = lines, newline = newline,
    nothing = blank and newline and writes_nothing(buf, aside) or false,
    state = ('eol %s fixeol %s bin %s ff %s fenc %s bomb %s mod %s'):format(
      o.endofline, o.fixendofline, o.binary, o.fileformat, o.fileencoding, o.bomb, o.modified),
  }
end
function fuzz.all()
  local loaded = function(b) return vim.api.nvim_buf_is_loaded(b) and vim.api.nvim_buf_get_name(b) ~= '' and vim.bo[b].buftype == '' end
  return vim.tbl_filter(loaded, vim.api.nvim_list_bufs())
end
"#;

/// What `:write` would save of a buffer, with LF.
struct Expected {
    name: String,
    lines: usize,
    text: String,
    /// It may as well have one newline less at its end.
    either: bool,
    state: String,
}

impl Expected {
    fn is(&self, got: &str) -> bool {
        got == self.text || self.either && Some(got) == self.text.strip_suffix('\n')
    }
}

/// The play: one editor, one agent in one long turn.
struct Play {
    editor: Editor,
    agent: Scripted,
    relay: Relay,
    seed: u64,
    /// The last operations, newest last.
    last: VecDeque<String>,
    done: usize,
}

impl Play {
    /// An agent in the middle of its turn, and `a.txt` on the screen.
    fn start(seed: u64) -> Self {
        let mut setup = Setup::new().init(INIT).limit(Duration::from_secs(100)).env("BOSUN_LOG", "warn");
        for (name, bytes) in ops::files() {
            setup = setup.file(name, bytes);
        }
        let editor = setup.start();
        editor.edit("a.txt");
        let mut relay = Relay::listen(editor.aside("relay"));
        let agent = editor.script(&[auto(), prompt(), bosun_tests::steps::relay(relay.path()), end_turn()]);
        editor.ask("go");
        relay.accept();
        Self { editor, agent, relay, seed, last: VecDeque::new(), done: 0 }
    }

    /// The turn ends, and all was answered.
    fn end(mut self) {
        self.relay.hang_up();
        assert_eq!(self.editor.turn_end(1), "end_turn");
        self.agent.read().assert_sound();
    }

    fn look(&self, buf: i64) -> Option<Expected> {
        let aside = self.editor.aside("probe");
        let now = self.answering(|| self.editor.lua("return fuzz.look(...)", &[buf.into(), json!(aside)]));
        let name = now["name"].as_str().unwrap_or_default().to_string();
        if now["file"] != true || !Path::new(&name).is_absolute() {
            return None;
        }
        let lines = now["lines"].as_array().cloned().unwrap_or_default();
        // Neovim shows a NUL as a newline; what is no UTF-8 has become U+FFFD on its way here.
        let text = |line: &Value| line.as_str().unwrap_or_default().replace('\n', "\0");
        let mut text = lines.iter().map(text).collect::<Vec<_>>().join("\n");
        let either = now["newline"] == "either";
        if (now["newline"] == true || either) && now["nothing"] != true {
            text.push('\n');
        }
        let state = now["state"].as_str().unwrap_or_default().into();
        Some(Expected { name, lines: lines.len(), text, either, state })
    }

    /// The mirror must be what the buffer is. Returns the size of the buffer in lines and bytes.
    fn check(&mut self, buf: i64) -> Option<(usize, usize, bool)> {
        let end = Instant::now() + LATE;
        loop {
            let expected = self.look(buf)?;
            let got = self.relay.read(Path::new(&expected.name));
            if got.as_ref().is_ok_and(|got| expected.is(got)) {
                return Some((expected.lines, expected.text.len(), expected.name.ends_with("big.txt")));
            }
            if Instant::now() > end {
                self.fail(
                    &expected.name,
                    &expected.text,
                    &format!("{got:?}"),
                    got.ok().as_deref(),
                    &expected.state,
                );
            }
        }
    }

    fn fail(&self, name: &str, expected: &str, got: &str, text: Option<&str>, state: &str) -> ! {
        let at =
            text.map_or(0, |text| expected.bytes().zip(text.bytes()).take_while(|(a, b)| a == b).count());
        let near = |text: &str| {
            let bytes = text.as_bytes();
            let piece = &bytes[at.saturating_sub(30).min(bytes.len())..(at + 60).min(bytes.len())];
            format!("{} bytes, from 30 before: {:?}", bytes.len(), String::from_utf8_lossy(piece))
        };
        let got = text.map_or_else(|| got.to_string(), near);
        panic!(
            "the mirror of {name} differs at byte {at}\n state: {state}\n buffer: {}\n mirror: {got}\n questions: {:?}",
            near(expected),
            self.editor.pending(),
        );
    }

    /// Has the editor do something that ends at once.
    fn lua(&self, code: &str, text: &str) {
        let done = self.editor.call_within("nvim_exec_lua", &[code.into(), json!([text])], LATE);
        done.unwrap_or_else(|why| panic!("{why}"));
    }

    fn run(&mut self, op: &Op) {
        self.last.push_back(format!("{op:?}"));
        if self.last.len() > 24 {
            self.last.pop_front();
        }
        match op {
            Op::Ex(command) => self.ex(command),
            Op::Keys(keys) => self.lua("fuzz.keys(...)", keys),
            Op::Lua(code) => self.lua("fuzz.lua(...)", code),
            Op::Typed(pieces) => {
                for piece in pieces {
                    self.editor.input(piece);
                    self.check(0);
                }
                self.editor.input("<Esc>");
                self.settle();
            }
            Op::Preview { line, done } => {
                let before = self.look(0);
                self.editor.input(&format!(":{}", line.replace('<', "<lt>")));
                self.editor.eventually("the command line", || self.editor.mode().0 == "c");
                if let Some(before) = before {
                    let got = self.relay.read(Path::new(&before.name));
                    if !got.as_ref().is_ok_and(|got| before.is(got)) {
                        self.fail(
                            &before.name,
                            &before.text,
                            &format!("{got:?}"),
                            got.ok().as_deref(),
                            "previewed",
                        );
                    }
                }
                self.editor.input(if *done { "<CR>" } else { "<C-c>" });
                self.settle();
            }
            Op::Disk { name, bytes, choice } => {
                let path = self.editor.path(name);
                match bytes {
                    Some(bytes) => std::fs::write(path, bytes).expect("a file of the project"),
                    None => drop(std::fs::remove_file(path)),
                }
                self.lua("fuzz.choice = ...", choice);
                self.editor.input(":checktime<CR>");
                self.settle();
            }
        }
    }

    fn ex(&self, command: &str) {
        self.answering(|| {
            let done =
                self.editor.call_within("nvim_exec_lua", &["fuzz.ex(...)".into(), json!([command])], LATE);
            done.unwrap_or_else(|why| panic!("{why}"));
        });
    }

    /// Of a file that was created meanwhile Neovim asks, as soon as its window is entered; it is loaded.
    fn answering<T: Send>(&self, run: impl FnOnce() -> T + Send) -> T {
        std::thread::scope(|scope| {
            let run = scope.spawn(run);
            while !run.is_finished() {
                if self.editor.mode().0 == "r?" {
                    self.editor.input("L");
                }
                std::thread::sleep(Duration::from_micros(200));
            }
            run.join().expect("the call")
        })
    }

    /// Waits for normal mode. Of a file that was created meanwhile Neovim asks; it is loaded. What fails after CTRL-O
    /// takes the keys along that are there already, also the one that ends the insert mode.
    fn settle(&self) {
        self.editor.eventually("normal mode", || {
            let mode = self.editor.mode().0;
            if mode == "r?" {
                self.editor.input("L");
            }
            if mode == "i" {
                self.editor.input("<Esc>");
            }
            mode == "n"
        });
    }

    fn check_all(&mut self) {
        let all = self.editor.lua("return fuzz.all()", &[]).as_array().cloned().unwrap_or_default();
        for buf in all {
            self.check(buf.as_i64().unwrap_or_default());
        }
    }
}

impl Drop for Play {
    fn drop(&mut self) {
        if std::thread::panicking() {
            let last: Vec<&str> = self.last.iter().map(String::as_str).collect();
            eprintln!("BOSUN_SEED={} failed at operation {}:\n  {}", self.seed, self.done, last.join("\n  "));
        }
    }
}

#[test]
fn whatever_is_done_to_a_buffer_an_agent_reads_what_a_write_would_save() {
    let seed = std::env::var("BOSUN_SEED").ok().and_then(|s| s.parse().ok()).unwrap_or(SEED);
    let mut play = Play::start(seed);
    let mut dice = Dice::new(seed);
    let mut size = play.check(0);
    while play.done < OPERATIONS {
        play.done += 1;
        let op = match size {
            Some((lines, bytes, large)) => ops::next(&mut dice, lines, bytes, large),
            // No file is shown: the last one was closed.
            None => Op::Ex("edit a.txt".into()),
        };
        play.run(&op);
        size = play.check(0);
        if play.done.is_multiple_of(25) {
            play.check_all();
        }
    }
    play.check_all();
    play.end();
}

// B31
#[test]
fn changes_that_neovim_tells_only_in_part_are_read_as_they_are() {
    let ex = |command: &str| Op::Ex(command.into());
    let preview = |line: &str| Op::Preview { line: line.into(), done: false };
    let diffput = "diffthis | vsplit two.txt | diffthis | 1diffput | diffoff! | buffer newline.txt";
    let cases = [
        ("empty.txt", vec![ex("normal ix"), ex("undo")], ""),
        ("newline.txt", vec![ex("normal ix"), ex("undo")], "\n"),
        ("empty.txt", vec![ex("append\nnew\n.")], "new\n"),
        ("newline.txt", vec![ex("%change\nnew\n.")], "new\n"),
        ("empty.txt", vec![ex("normal O")], "\n\n"),
        ("two.txt", vec![ex("%d"), ex("put =''"), ex("undo")], ""),
        ("newline.txt", vec![ex(diffput)], "first\n"),
        ("two.txt", vec![preview("%s/$/\\r/"), ex("normal ggAx")], "firstx\n\n"),
        (
            "newline.txt",
            vec![ex("setlocal bin noeol"), ex("normal ix"), ex("undo"), ex("setlocal eol")],
            "\n",
        ),
        (
            "empty.txt",
            vec![ex("setlocal noeol nofixeol"), ex("write!"), ex("setlocal fixeol"), ex("normal ix")],
            "x\n",
        ),
        ("no-eol.txt", vec![ex("setlocal eol")], "alpha\nbeta\n"),
        ("no-eol.txt", vec![ex("setlocal eol"), ex("setlocal noeol nofixeol")], "alpha\nbeta"),
    ];
    let mut play = Play::start(0);
    std::fs::write(play.editor.path("two.txt"), "first\n\n").expect("a file of the project");
    for (name, changes, expected) in cases {
        play.run(&ex(&format!("only | edit! {name}")));
        for op in &changes {
            play.run(op);
            play.check(0);
        }
        let path = play.editor.path(name);
        assert_eq!(play.relay.read(&path), Ok(expected.into()), "{name} after {changes:?}");
        play.run(&ex("bwipeout!"));
    }
    play.end();
}
