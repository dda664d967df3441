//! Files as agents ask for them: slices, missing ones, odd names and bytes, and what must not be touched.

use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};

use bosun_tests::steps::*;
use bosun_tests::{Editor, Recorded, Setup};
use serde_json::{Value, json};

/// Plays requests in one turn, allowing every question; returns what the agent saw.
fn play(editor: &Editor, requests: &[Value]) -> Recorded {
    play_answering(editor, requests, "allow_once")
}

fn play_answering(editor: &Editor, requests: &[Value], option: &str) -> Recorded {
    let mut story = vec![auto(), prompt()];
    for request in requests {
        story.extend([request.clone(), answered(request["send"]["id"].clone())]);
    }
    story.push(end_turn());
    let agent = editor.script(&story);
    editor.ask("go");
    let mut seen: Vec<Value> = Vec::new();
    editor.eventually("the end of the turn", || {
        for question in editor.pending() {
            if !seen.contains(&question["id"]) {
                seen.push(question["id"].clone());
                editor.answer(&question, option);
            }
        }
        !editor.events("BosunTurnEnd").is_empty()
    });
    editor.assert_sound(&agent);
    agent.read()
}

fn content(record: &Recorded, id: u64) -> Value {
    record.replies(&json!(id))[0]["result"]["content"].clone()
}

fn error(record: &Recorded, id: u64) -> (i64, String) {
    let error = &record.replies(&json!(id))[0]["error"];
    (error["code"].as_i64().unwrap_or(0), error["message"].as_str().unwrap_or_default().to_string())
}

fn slice(id: u64, name: &str, fields: Value) -> Value {
    let mut params = json!({"path": format!("$CWD/{name}")});
    for (key, value) in fields.as_object().into_iter().flatten() {
        params[key] = value.clone();
    }
    request(id, "fs/read_text_file", params)
}

// B04
#[test]
fn a_missing_file_is_an_error_with_its_code_and_a_write_makes_it() {
    let editor = Setup::new().start();
    let buffers = "return #vim.api.nvim_list_bufs()";
    let before = editor.lua(buffers, &[]);
    let record = play(&editor, &[read(1, "nope.txt"), write(2, "nope.txt", "x"), read(3, "nope.txt")]);
    let (code, message) = error(&record, 1);
    assert_eq!(code, -32002);
    assert!(message.contains("nope.txt"), "{message}");
    assert!(record.reply_took(&json!(1)).is_some_and(|ms| ms < 1000.0));
    assert_eq!(editor.disk("nope.txt"), b"x");
    assert_eq!(content(&record, 3), "x");
    let own = editor.lua("return #vim.tbl_filter(function(b) return vim.api.nvim_buf_get_name(b):find('nope') end, vim.api.nvim_list_bufs())", &[]);
    assert_eq!(own, 0, "no buffer is made for it, of {before} before");
}

// B04
#[test]
fn a_named_buffer_that_was_never_saved_is_read_as_it_is() {
    let editor = Setup::new().start();
    editor.edit("new.txt");
    editor.input("inot on disk<Esc>");
    editor.eventually("the typed text", || editor.screen().starts_with("not on disk\n"));
    let record = play(&editor, &[read(1, "new.txt")]);
    assert_eq!(content(&record, 1), "not on disk\n");
    assert!(!editor.path("new.txt").exists());
}

// B05
#[test]
fn line_and_limit_cut_the_buffer_and_not_the_disk() {
    let numbered = |from: u64, to: u64| (from..=to).map(|n| format!("line {n}\n")).collect::<String>();
    let editor = Setup::new()
        .file("a.txt", "something else\n")
        .file("no-eol.txt", "x\ny")
        .file("empty.txt", "")
        .start();
    editor.edit("a.txt");
    editor.lua(
        "vim.api.nvim_buf_set_lines(0, 0, -1, true, vim.split(..., '\\n'))",
        &[numbered(1, 10).trim_end().into()],
    );
    let cases = [
        (json!({"line": 1}), numbered(1, 10)),
        (json!({"line": 3, "limit": 2}), numbered(3, 4)),
        (json!({"limit": 2}), numbered(1, 2)),
        (json!({"line": 10, "limit": 99}), numbered(10, 10)),
        (json!({"line": 11}), String::new()),
        (json!({"line": 500, "limit": 3}), String::new()),
        (json!({"line": null, "limit": null}), numbered(1, 10)),
        (json!({"line": 0}), numbered(1, 10)),
        (json!({"limit": 0}), String::new()),
    ];
    let mut requests: Vec<Value> =
        cases.iter().zip(1..).map(|((fields, _), id)| slice(id, "a.txt", fields.clone())).collect();
    requests.push(slice(50, "no-eol.txt", json!({"line": 2})));
    requests.push(slice(51, "empty.txt", json!({"line": 1, "limit": 5})));
    let record = play(&editor, &requests);
    for ((fields, expected), id) in cases.iter().zip(1..) {
        assert_eq!(content(&record, id), *expected, "{fields}");
    }
    assert_eq!(content(&record, 50), "y");
    assert_eq!(content(&record, 51), "");
}

#[test]
fn directories_binaries_and_files_outside_are_distinct_errors() {
    let editor = Setup::new().file("sub/x.txt", "x\n").file("data.bin", b"\x00\x01\xff\xfe\x00").start();
    std::fs::write(editor.aside("secret.txt"), "secret\n").expect("a file outside");
    symlink(editor.aside("secret.txt"), editor.path("link.txt")).expect("a link");
    let outside = editor.aside("secret.txt");
    let record = play_answering(
        &editor,
        &[
            read(1, "sub"),
            read(2, "data.bin"),
            request(3, "fs/read_text_file", json!({"path": outside})),
            read(4, "../secret.txt"),
            read(5, "link.txt"),
            request(6, "fs/write_text_file", json!({"path": outside, "content": "gone"})),
            write(7, "link.txt", "gone"),
            request(8, "fs/read_text_file", json!({"path": "relative.txt"})),
        ],
        "reject_once",
    );
    let message = |id| error(&record, id).1;
    assert!(message(1).contains("directory"), "{}", message(1));
    assert!(!message(2).is_empty() && message(2) != message(1), "{}", message(2));
    for id in 3..=7 {
        assert!(message(id).contains("outside"), "{id}: {}", message(id));
    }
    assert!(message(8).contains("absolute"), "{}", message(8));
    assert_eq!(std::fs::read(outside).expect("it is there"), b"secret\n");
}

// B22
#[test]
fn links_hard_links_and_the_mode_survive_a_write() {
    for open in [false, true] {
        let editor = Setup::new().file("real.sh", "old\n").file("hard.txt", "old\n").start();
        let real = editor.path("real.sh");
        std::fs::set_permissions(&real, std::fs::Permissions::from_mode(0o755)).expect("a mode");
        symlink("real.sh", editor.path("link.sh")).expect("a link");
        std::fs::hard_link(editor.path("hard.txt"), editor.path("other.txt")).expect("a hard link");
        if open {
            editor.edit("link.sh");
            editor.edit("hard.txt");
        }
        play(
            &editor,
            &[
                read(1, "link.sh"),
                write(2, "link.sh", "new\n"),
                read(3, "hard.txt"),
                write(4, "hard.txt", "new\n"),
            ],
        );
        assert!(editor.path("link.sh").is_symlink(), "open: {open}");
        assert_eq!(editor.disk("real.sh"), b"new\n", "open: {open}");
        assert_eq!(real.metadata().expect("metadata").mode() & 0o777, 0o755, "open: {open}");
        assert_eq!(editor.disk("other.txt"), b"new\n", "open: {open}");
    }
}

// B26
#[test]
fn nul_cr_and_unicode_line_ends_are_no_line_ends_of_the_editor() {
    let odd = "nul \0 here\nform\u{c}feed\nsep\u{2028}arator\nnext\u{85}line\nlone\rcr\n";
    let long = format!("{}\n", "x".repeat(1_000_000));
    let editor = Setup::new().file("odd.txt", "a\n").file("open.txt", "b\n").start();
    editor.edit("open.txt");
    let record = play(
        &editor,
        &[
            read(1, "open.txt"),
            write(2, "open.txt", odd),
            read(3, "open.txt"),
            read(4, "odd.txt"),
            write(5, "odd.txt", odd),
            write(6, "long.txt", &long),
            read(7, "long.txt"),
        ],
    );
    assert_eq!(editor.disk("open.txt"), odd.as_bytes());
    assert_eq!(content(&record, 3), odd);
    assert_eq!(editor.disk("odd.txt"), odd.as_bytes());
    assert_eq!(content(&record, 7), long);
    assert_eq!(editor.lua("return vim.api.nvim_buf_line_count(0)", &[]), 5);
}

// B31
#[test]
fn an_empty_file_a_lone_newline_and_no_newline_stay_apart() {
    let editor = Setup::new()
        .file("e0", "")
        .file("e1", "\n")
        .file("three", "1\n2\n3\n")
        .file("to-newline", "1\n")
        .file("to-x", "1\n")
        .start();
    for name in ["e0", "e1", "three", "to-newline", "to-x"] {
        editor.edit(name);
    }
    let record = play(
        &editor,
        &[
            read(1, "e0"),
            read(2, "e1"),
            write(3, "e0", ""),
            write(4, "e1", "\n"),
            read(5, "three"),
            write(6, "three", ""),
            read(7, "to-newline"),
            write(8, "to-newline", "\n"),
            read(9, "to-x"),
            write(10, "to-x", "x"),
            read(11, "three"),
        ],
    );
    assert_eq!((content(&record, 1), content(&record, 2)), (json!(""), json!("\n")));
    let check = |name: &str, expected: &[u8]| assert_eq!(editor.disk(name), expected, "{name}");
    check("e0", b"");
    check("e1", b"\n");
    check("three", b"");
    check("to-newline", b"\n");
    check("to-x", b"x");
    assert_eq!(content(&record, 11), "");
}

#[test]
fn crlf_and_a_missing_final_newline_survive_an_edit_of_another_line() {
    let editor = Setup::new().file("dos.txt", "a\r\nb\r\n").file("no-eol.txt", "a\nb").start();
    editor.edit("no-eol.txt");
    editor.edit("dos.txt");
    let record = play(
        &editor,
        &[
            read(1, "dos.txt"),
            write(2, "dos.txt", "A\nb\n"),
            read(3, "no-eol.txt"),
            write(4, "no-eol.txt", "A\nb"),
        ],
    );
    assert_eq!((content(&record, 1), content(&record, 3)), (json!("a\nb\n"), json!("a\nb")));
    assert_eq!(editor.disk("dos.txt"), b"A\r\nb\r\n");
    assert_eq!(editor.disk("no-eol.txt"), b"A\nb");
}

// B122
#[test]
fn odd_characters_in_paths_name_the_right_file() {
    let names =
        ["app/[id]/page.tsx", "app/i/page.tsx", "-n.txt", "a\nb", "a%b#c.txt", "'q' \"r\".txt", "ü.txt"];
    let mut setup = Setup::new().project("my próject [x] 'q' %#");
    for name in names {
        setup = setup.file(name, format!("{name:?} on disk\n"));
    }
    let editor = setup.start();
    // The pattern trap: only the neighbour is open when the brackets are asked for.
    editor.edit("app/i/page.tsx");
    for name in &names[2..] {
        let buf = editor.edit(name);
        editor.lua("vim.api.nvim_buf_set_lines(..., 0, 0, true, { 'unsaved' })", &[buf.into()]);
    }
    let mut requests = Vec::new();
    for (name, id) in names.iter().zip((10..).step_by(10)) {
        requests.extend([read(id, name), write(id + 1, name, &format!("{name:?} edited\n"))]);
    }
    let record = play(&editor, &requests);
    for (name, id) in names.iter().zip((10..).step_by(10)) {
        let unsaved = if id >= 30 { "unsaved\n" } else { "" };
        assert_eq!(content(&record, id), format!("{unsaved}{name:?} on disk\n"));
        assert_eq!(editor.disk(name), format!("{name:?} edited\n").as_bytes());
    }
}

#[test]
fn another_name_of_an_open_file_is_that_file() {
    let editor = Setup::new().file("a.txt", "one\ntwo\nthree\n").start();
    std::fs::hard_link(editor.path("a.txt"), editor.path("b.txt")).expect("a hard link");
    let buf = editor.edit("a.txt");
    editor.input("GA, mine<Esc>");
    editor.eventually("the typed text", || editor.lines(buf)[2] == "three, mine");
    let record =
        play(&editor, &[read(1, "b.txt"), write(2, "b.txt", "ONE\ntwo\nthree, mine\n"), read(3, "b.txt")]);
    assert_eq!(content(&record, 1), "one\ntwo\nthree, mine\n");
    assert_eq!(editor.lines(buf), ["ONE", "two", "three, mine"]);
    for name in ["a.txt", "b.txt"] {
        assert_eq!(editor.disk(name), b"ONE\ntwo\nthree, mine\n", "{name}");
    }
    assert_eq!(content(&record, 3), "ONE\ntwo\nthree, mine\n");
}
