//! Bytes on disk: what an agent did not touch is the same afterwards, in every encoding, with every line end, open or not.
//!
//! Owns the matrix. The agent behaves as agents do: it reads a file, changes the second line of what it got, and writes the
//! whole text back, sometimes with other line ends. All cases of a test share one Neovim; each that goes wrong is named.

use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::Path;

use bosun_tests::steps::*;
use bosun_tests::{Editor, Relay, Scripted, Setup};
use serde_json::{Value, json};

/// A line of a sample: its bytes, how Neovim reads them by itself, and how in the encoding that they are meant in.
type Line = (&'static [u8], &'static str, &'static str);

/// A way to write text down.
struct Encoding {
    name: &'static str,
    /// What the file begins with.
    bom: &'static [u8],
    /// Two bytes a character; the lines are UTF-8 until the end.
    wide: bool,
    lines: [Line; 3],
    /// Arguments of `:edit` that name the encoding which Neovim does not find out.
    named: Option<&'static str>,
}

const UTF8: [Line; 3] = [
    ("één 漢字".as_bytes(), "één 漢字", "één 漢字"),
    ("zwei".as_bytes(), "zwei", "zwei"),
    ("🙂 drei e\u{301}".as_bytes(), "🙂 drei e\u{301}", "🙂 drei e\u{301}"),
];

const ENCODINGS: [Encoding; 8] = [
    Encoding { name: "utf-8", bom: b"", wide: false, lines: UTF8, named: None },
    Encoding { name: "utf-8-bom", bom: b"\xef\xbb\xbf", wide: false, lines: UTF8, named: None },
    Encoding {
        name: "latin1",
        bom: b"",
        wide: false,
        lines: [(b"caf\xe9", "café", "café"), (b"na\xefve", "naïve", "naïve"), (b"\xfc", "ü", "ü")],
        named: Some("++enc=latin1"),
    },
    Encoding {
        name: "cp1252",
        bom: b"",
        wide: false,
        lines: [
            (b"\x93quoted\x94", "\u{93}quoted\u{94}", "“quoted”"),
            (b"5 \x80", "5 \u{80}", "5 €"),
            (b"dash \x96", "dash \u{96}", "dash –"),
        ],
        named: Some("++enc=cp1252"),
    },
    Encoding { name: "utf-16le", bom: b"\xff\xfe", wide: true, lines: UTF8, named: None },
    Encoding {
        name: "gbk",
        bom: b"",
        wide: false,
        lines: [
            (b"\xc4\xe3\xba\xc3", "ÄãºÃ", "你好"),
            (b"\xca\xc0\xbd\xe7", "ÊÀ½ç", "世界"),
            (b"x \xd6\xd0", "x ÖÐ", "x 中"),
        ],
        named: Some("++enc=gbk"),
    },
    Encoding {
        name: "nul",
        bom: b"",
        wide: false,
        lines: [(b"nul \0 here", "nul \0 here", ""), (b"\0", "\0", ""), (b"\0\0 end", "\0\0 end", "")],
        named: None,
    },
    Encoding {
        name: "invalid",
        bom: b"",
        wide: false,
        lines: [
            (b"bad \xff\xfe", "bad ÿþ", "bad \u{FFFD}\u{FFFD}"),
            (b"half \xc3", "half Ã", "half \u{FFFD}"),
            (b"\xe6\xbc end", "æ¼ end", "\u{FFFD} end"),
        ],
        named: Some("++enc=utf-8 ++bad=keep"),
    },
];

impl Encoding {
    fn write_down(&self, text: &[u8]) -> Vec<u8> {
        let mut bytes = self.bom.to_vec();
        if self.wide {
            let text = std::str::from_utf8(text).expect("wide samples are UTF-8");
            bytes.extend(text.encode_utf16().flat_map(u16::to_le_bytes));
        } else {
            bytes.extend_from_slice(text);
        }
        bytes
    }
}

/// The ends of the three lines.
const ENDS: [(&str, [&str; 3]); 4] = [
    ("lf", ["\n", "\n", "\n"]),
    ("crlf", ["\r\n", "\r\n", "\r\n"]),
    ("mixed", ["\r\n", "\n", "\r\n"]),
    ("cr-inside", ["\n", "\n", "\n"]),
];

/// What the agent does to line ends on the way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Style {
    /// Nothing.
    Same,
    /// It drops each CR before LF.
    Lf,
    /// It ends each line with CR LF.
    Crlf,
    /// Only the first.
    Half,
}

impl Style {
    fn of(ends: &str) -> &'static [Self] {
        match ends {
            "crlf" => &[Self::Same, Self::Crlf, Self::Half],
            "mixed" => &[Self::Same, Self::Lf],
            _ => &[Self::Same],
        }
    }

    fn apply(self, text: &str) -> String {
        match self {
            Self::Same => text.into(),
            Self::Lf => text.replace("\r\n", "\n"),
            Self::Crlf => text.replace('\n', "\r\n"),
            Self::Half => text.replacen('\n', "\r\n", 1),
        }
    }
}

/// One file, what an agent must read of it, what it writes, and what must be on disk then.
struct Case {
    name: String,
    before: Vec<u8>,
    read: String,
    write: String,
    after: Vec<u8>,
    /// Arguments of `:edit`, in tests that open files.
    open: &'static str,
}

/// All lines and ends of an encoding; `named`: as read in the encoding that is named to Neovim.
fn matrix(encoding: &Encoding, named: bool) -> Vec<Case> {
    let mut cases = Vec::new();
    for (ends_name, ends) in ENDS {
        for last in ["newline", "none"] {
            let compose = |second: Option<&str>, disk: bool| {
                let mut out = Vec::new();
                for (i, (bytes, guessed, meant)) in encoding.lines.iter().enumerate() {
                    let wire = if named { meant } else { guessed };
                    match second {
                        Some(second) if i == 1 => out.extend_from_slice(second.as_bytes()),
                        _ => out.extend_from_slice(if disk { bytes } else { wire.as_bytes() }),
                    }
                    if ends_name == "cr-inside" && i != 1 {
                        out.extend_from_slice(b" lone\rCR");
                    }
                    // The wire has LF where the whole file has CR LF.
                    let end = if !disk && ends_name == "crlf" { "\n" } else { ends[i] };
                    if i < 2 || last == "newline" {
                        out.extend_from_slice(end.as_bytes());
                    }
                }
                out
            };
            let wire = |second| String::from_utf8(compose(second, false)).expect("the wire is UTF-8");
            for style in Style::of(ends_name) {
                cases.push(Case {
                    name: format!("{}-{ends_name}-{last}-{style:?}", encoding.name),
                    before: encoding.write_down(&compose(None, true)),
                    read: wire(None),
                    write: style.apply(&wire(Some("changed"))),
                    after: encoding.write_down(&compose(Some("changed"), true)),
                    open: if named { encoding.named.unwrap_or_default() } else { "" },
                });
            }
        }
    }
    cases
}

const ALLOW: &str = "
vim.api.nvim_create_autocmd('User', { pattern = 'BosunPermission', callback = function(args)
  vim.schedule(function() require('bosun').answer(args.data.question, 'allow_once') end)
end })";

/// An editor and an agent in one long turn, for many cases.
struct Bench {
    editor: Editor,
    agent: Scripted,
    relay: Relay,
    wrong: Vec<String>,
}

impl Bench {
    fn start(setup: Setup) -> Self {
        let editor = setup.start();
        let mut relay = Relay::listen(editor.aside("relay"));
        let story = [auto(), prompt(), bosun_tests::steps::relay(relay.path()), end_turn()];
        let agent = editor.script(&story);
        // Questions about writes are the subject of other tests: each is answered as it comes.
        editor.lua(ALLOW, &[]);
        editor.ask("go");
        relay.accept();
        Self { editor, agent, relay, wrong: Vec::new() }
    }

    fn with(cases: &[Case]) -> Self {
        let put = |setup: Setup, case: &Case| setup.file(&case.name, &case.before);
        Self::start(cases.iter().fold(Setup::new(), put))
    }

    fn open(&self, cases: &[Case]) {
        for case in cases {
            self.editor.exec(&format!("silent! edit {} {}", case.open, case.name));
        }
    }

    fn read(&mut self, name: &str) -> Result<String, String> {
        let path = self.editor.path(name);
        self.relay.read(&path).map_err(|e| message(&e))
    }

    fn write(&mut self, name: &str, content: &str) -> Result<(), String> {
        let path = self.editor.path(name);
        self.relay.send("fs/write_text_file", json!({"path": path, "content": content}));
        self.relay.receive().map(|_| ()).map_err(|e| message(&e))
    }

    fn expect<T: PartialEq + std::fmt::Debug>(&mut self, what: &str, got: &T, wanted: &T) -> bool {
        if got != wanted {
            self.wrong.push(format!("{what}:\n  got    {got:?}\n  wanted {wanted:?}"));
        }
        got == wanted
    }

    fn expect_disk(&mut self, what: &str, name: &str, wanted: &[u8]) {
        let got = self.editor.disk(name);
        self.expect(what, &escaped(&got), &escaped(wanted));
    }

    /// An error that says this, and a disk as it was.
    fn expect_error<T: std::fmt::Debug>(&mut self, what: &str, got: Result<T, String>, says: &[&str]) {
        match got {
            Err(message) if says.iter().all(|word| message.contains(word)) => {}
            other => self.wrong.push(format!("{what}:\n  got    {other:?}\n  wanted an error with {says:?}")),
        }
    }

    /// Reads, writes and compares.
    fn play(&mut self, case: &Case) {
        let name = &case.name;
        let read = self.read(name);
        if self.expect(&format!("{name}: read"), &read, &Ok(case.read.clone())) {
            let written = self.write(name, &case.write);
            self.expect(&format!("{name}: written"), &written, &Ok(()));
            self.expect_disk(&format!("{name}: disk"), name, &case.after);
        }
    }

    /// Ends the turn; gives what went wrong.
    fn finish(mut self) -> Vec<String> {
        self.relay.hang_up();
        assert_eq!(self.editor.turn_end(1), "end_turn");
        self.agent.read().assert_sound();
        self.wrong
    }

    /// Nothing went wrong.
    fn end(self) {
        assert_right(&self.finish());
    }
}

fn assert_right(wrong: &[String]) {
    assert!(wrong.is_empty(), "{} are wrong:\n{}", wrong.len(), wrong.join("\n"));
}

fn message(error: &Value) -> String {
    error["message"].as_str().unwrap_or_default().into()
}

fn escaped(bytes: &[u8]) -> String {
    bytes.escape_ascii().to_string()
}

fn all(named: bool) -> Vec<Case> {
    let wanted = ENCODINGS.iter().filter(|e| !named || e.named.is_some());
    wanted.flat_map(|encoding| matrix(encoding, named)).collect()
}

#[test]
fn the_matrix_says_what_neovim_itself_makes_of_the_same_change() {
    for named in [false, true] {
        let cases: Vec<Case> = all(named).into_iter().filter(|case| case.name.ends_with("-Same")).collect();
        let put = |setup: Setup, case: &Case| setup.file(&case.name, &case.before);
        let editor = cases.iter().fold(Setup::new(), put).start();
        for case in &cases {
            editor.exec(&format!("silent edit {} {}", case.open, case.name));
            editor.exec("setlocal nofixeol | call setline(2, 'changed') | silent write");
            assert_eq!(
                escaped(&editor.disk(&case.name)),
                escaped(&case.after),
                "{}, named: {named}",
                case.name
            );
        }
    }
}

// B28 B29 B32 B34
#[test]
fn a_file_that_is_not_open_keeps_every_byte_that_the_agent_did_not_touch() {
    let cases = all(false);
    let mut bench = Bench::with(&cases);
    cases.iter().for_each(|case| bench.play(case));
    bench.end();
}

// B28 B29 B32 B34
#[test]
fn an_open_file_keeps_every_byte_that_the_agent_did_not_touch() {
    let cases = all(false);
    let mut bench = Bench::with(&cases);
    bench.open(&cases);
    cases.iter().for_each(|case| bench.play(case));
    bench.end();
}

// B34 B37
#[test]
fn a_file_opened_in_an_encoding_that_the_person_named_keeps_every_byte_that_the_agent_did_not_touch() {
    let cases = all(true);
    let mut bench = Bench::with(&cases);
    bench.open(&cases);
    cases.iter().for_each(|case| bench.play(case));
    bench.end();
}

// B34
#[test]
fn a_file_that_is_not_open_is_read_in_the_encodings_that_the_person_set() {
    let [.., gbk, _, _] = &ENCODINGS;
    let cases = matrix(gbk, true);
    let put = |setup: Setup, case: &Case| setup.file(&case.name, &case.before);
    let setup = Setup::new().init("vim.o.fileencodings = 'ucs-bom,utf-8,gbk,latin1'");
    let mut bench = Bench::start(cases.iter().fold(setup, put));
    cases.iter().for_each(|case| bench.play(case));
    bench.end();
}

// B31
#[test]
fn an_empty_file_and_a_lone_newline_stay_what_they_are_in_every_encoding() {
    let mut cases = Vec::new();
    let plain: [(&str, &str, &str, &str); 8] = [
        ("empty-same", "", "", ""),
        ("empty-text", "", "x", "x"),
        ("empty-line", "", "x\n", "x\n"),
        ("empty-newline", "", "\n", "\n"),
        ("newline-same", "\n", "\n", "\n"),
        ("newline-empty", "\n", "", ""),
        ("newline-text", "\n", "x", "x"),
        ("crlf-same", "\r\n", "\n", "\r\n"),
    ];
    for encoding in ENCODINGS.iter().filter(|e| e.name.starts_with("utf")) {
        for (name, before, write, after) in plain {
            cases.push(Case {
                name: format!("{}-{name}", encoding.name),
                before: encoding.write_down(before.as_bytes()),
                read: before.replace('\r', ""),
                write: write.into(),
                after: encoding.write_down(after.as_bytes()),
                open: "",
            });
        }
    }
    let mut wrong = Vec::new();
    for open in [false, true] {
        let mut bench = Bench::with(&cases);
        if open {
            bench.open(&cases);
        }
        cases.iter().for_each(|case| bench.play(case));
        wrong.extend(bench.finish().into_iter().map(|what| format!("open: {open}, {what}")));
    }
    assert_right(&wrong);
}

// B32
#[test]
fn lines_added_after_a_last_line_without_newline_take_the_files_line_ends() {
    let mut wrong = Vec::new();
    for open in [false, true] {
        let mut bench = Bench::start(Setup::new().file("dos.txt", "a\r\nb").file("unix.txt", "a\nb"));
        if open {
            bench.editor.edit("dos.txt");
            bench.editor.edit("unix.txt");
        }
        for (name, end) in [("dos.txt", "\r\n"), ("unix.txt", "\n")] {
            let what = format!("{name}, open: {open}");
            let read = bench.read(name);
            bench.expect(&what, &read, &Ok("a\nb".into()));
            for (content, lines) in [("a\nb\nc", ["a", "b", "c"]), ("A\nb\nc", ["A", "b", "c"])] {
                let written = bench.write(name, content);
                bench.expect(&what, &written, &Ok(()));
                bench.expect_disk(&what, name, lines.join(end).as_bytes());
            }
        }
        wrong.extend(bench.finish().into_iter().map(|what| format!("open: {open}, {what}")));
    }
    assert_right(&wrong);
}

// B35
#[test]
fn a_character_that_the_files_encoding_cannot_hold_is_an_error_and_changes_nothing() {
    let mut wrong = Vec::new();
    for open in [false, true] {
        let files: [(&str, &[u8], &str, &str); 2] = [
            ("latin1.txt", b"caf\xe9\nx\n", "latin1", "café\n"),
            ("cp1252.txt", b"\x80\nx\n", "cp1252", "€\n"),
        ];
        let setup = files.iter().fold(Setup::new(), |setup, (name, bytes, ..)| setup.file(name, bytes));
        let mut bench = Bench::start(setup.init("vim.o.fileencodings = 'ucs-bom,utf-8,latin1'"));
        for (name, bytes, encoding, first) in files {
            if !open && encoding == "cp1252" {
                continue;
            }
            if open {
                bench.editor.exec(&format!("edit ++enc={encoding} {name}"));
            }
            let what = format!("{name}, open: {open}");
            let read = bench.read(name);
            bench.expect(&what, &read, &Ok(format!("{first}x\n")));
            for odd in ["→", "🙂", "漢"] {
                let written = bench.write(name, &format!("{first}{odd}\n"));
                bench.expect_error(&what, written, &[encoding]);
                bench.expect_disk(&what, name, bytes);
            }
            // Nothing of it is left: what the encoding can hold is written.
            let read = bench.read(name);
            bench.expect(&what, &read, &Ok(format!("{first}x\n")));
            let written = bench.write(name, &format!("{first}é\n"));
            bench.expect(&what, &written, &Ok(()));
            let after = [bytes.split(|b| *b == b'\n').next().unwrap_or_default(), b"\n\xe9\n"].concat();
            bench.expect_disk(&what, name, &after);
        }
        wrong.extend(bench.finish().into_iter().map(|what| format!("open: {open}, {what}")));
    }
    assert_right(&wrong);
}

// B37
#[test]
fn a_file_that_is_no_text_is_refused_until_the_person_opens_it() {
    let bytes: &[u8] = b"\x7fELF\0\xff\xfe\nsecond\n\0\xc3\n";
    let mut bench = Bench::start(Setup::new().file("data.bin", bytes));
    let read = bench.read("data.bin");
    bench.expect_error("read", read, &["binary"]);
    let written = bench.write("data.bin", "text\n");
    bench.expect_error("write", written, &["binary"]);
    bench.expect_disk("not open", "data.bin", bytes);
    bench.editor.exec("edit ++bin data.bin");
    let read = bench.read("data.bin");
    bench.expect("open", &read, &Ok("\u{7f}ELF\0\u{FFFD}\u{FFFD}\nsecond\n\0\u{FFFD}\n".into()));
    let written = bench.write("data.bin", "\u{7f}ELF\0\u{FFFD}\u{FFFD}\nchanged\n\0\u{FFFD}\n");
    bench.expect("open", &written, &Ok(()));
    bench.expect_disk("open", "data.bin", b"\x7fELF\0\xff\xfe\nchanged\n\0\xc3\n");
    bench.end();
}

// B37
#[test]
fn bytes_that_are_no_text_are_never_replaced_by_replacement_characters() {
    let mut bench = Bench::start(Setup::new().file("raw.txt", b"a \xff\nb\n").file("other.txt", "fine\n"));
    bench.editor.exec("edit ++enc=utf-8 ++bad=keep raw.txt");
    let read = bench.read("raw.txt");
    bench.expect("read", &read, &Ok("a \u{FFFD}\nb\n".into()));
    // The agent changes the very line whose bytes it could not see.
    let written = bench.write("raw.txt", "A \u{FFFD}!\nb\n");
    let disk = bench.editor.disk("raw.txt");
    if written.is_err() {
        bench.expect_disk("refused", "raw.txt", b"a \xff\nb\n");
    } else if disk.windows(3).any(|w| w == "\u{FFFD}".as_bytes()) {
        bench.wrong.push(format!("U+FFFD on disk: {}", escaped(&disk)));
    }
    let other = bench.read("other.txt");
    bench.expect("the next request", &other, &Ok("fine\n".into()));
    bench.end();
}

/// Mode, links and link count of a file.
fn shape(path: &Path) -> (u32, bool, u64) {
    let meta = path.metadata().expect("metadata");
    (meta.mode() & 0o7777, path.is_symlink(), meta.nlink())
}

#[test]
fn mode_symlinks_and_hard_links_survive_in_every_encoding() {
    let mut wrong = Vec::new();
    for open in [false, true] {
        let cases: Vec<Case> = ENCODINGS
            .iter()
            .flat_map(|encoding| matrix(encoding, false))
            .filter(|case| case.name.ends_with("-lf-newline-Same"))
            .flat_map(|case| {
                ["0755", "0640", "symlink", "hard"].map(|kind| Case {
                    name: format!("{kind}-{}", case.name),
                    before: case.before.clone(),
                    read: case.read.clone(),
                    write: case.write.clone(),
                    after: case.after.clone(),
                    open: "",
                })
            })
            .collect();
        let mut bench = Bench::with(&cases);
        for case in &cases {
            let path = bench.editor.path(&case.name);
            let other = bench.editor.path(&format!("other-{}", case.name));
            let mode = |mode| std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode));
            let done = match case.name.split('-').next() {
                Some("0755") => mode(0o755),
                Some("0640") => mode(0o640),
                Some("symlink") => std::fs::rename(&path, &other).and_then(|()| symlink(&other, &path)),
                _ => std::fs::hard_link(&path, &other),
            };
            done.expect("a file as it is wanted");
        }
        if open {
            bench.open(&cases);
        }
        for case in &cases {
            let path = bench.editor.path(&case.name);
            let before = shape(&path);
            bench.play(case);
            bench.expect(&format!("{}: shape", case.name), &shape(&path), &before);
            let other = format!("other-{}", case.name);
            if bench.editor.path(&other).exists() && bench.wrong.is_empty() {
                bench.expect_disk(&other, &other, &case.after);
            }
        }
        wrong.extend(bench.finish().into_iter().map(|what| format!("open: {open}, {what}")));
    }
    assert_right(&wrong);
}
