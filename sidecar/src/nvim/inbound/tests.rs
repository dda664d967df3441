//! Tests of [`super::decode`]: what Lua and Neovim send, and what they must never do to us.

use super::*;

fn map(fields: &[(&str, Value)]) -> Value {
    Value::Map(fields.iter().map(|(k, v)| (Value::from(*k), v.clone())).collect())
}

fn list(items: &[&str]) -> Value {
    Value::Array(items.iter().map(|s| Value::from(*s)).collect())
}

/// A message of Lua's, shown as an event or as its error.
fn check(name: &str, fields: &[(&str, Value)], expected: &str) {
    let got = match decode("bosun", vec![name.into(), map(fields)]) {
        Ok(event) => format!("{event:?}"),
        Err(error) => error.to_string(),
    };
    assert_eq!(got, expected, "{name}");
}

fn event(method: &str, args: Vec<Value>) -> NvimEvent {
    decode(method, args).unwrap_or_else(|e| panic!("{method}: {e}"))
}

fn buf_handle(n: u8) -> Value {
    Value::Ext(0, vec![n])
}

#[test]
fn lines_keep_every_byte_and_a_nul_stands_as_a_line_feed() {
    let odd = Value::String(rmpv::decode::read_value(&mut &[0xa3, 0xff, 0, b'x'][..]).map(text).unwrap());
    let args = vec![buf_handle(7), 42.into(), 1.into(), 3.into(), Value::Array(vec![odd]), true.into()];
    match event("nvim_buf_lines_event", args) {
        NvimEvent::BufLines { buf, tick, first, last, lines, more } => {
            assert_eq!((buf, tick, first, last, more), (BufId(7), Some(42), 1, Some(3), true));
            assert_eq!(lines, [b"\xff\nx".to_vec()]);
        }
        other => panic!("{other:?}"),
    }
}

fn text(value: Value) -> rmpv::Utf8String {
    match value {
        Value::String(s) => s,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_preview_has_no_tick_and_minus_one_is_the_end() {
    let args = vec![buf_handle(1), Value::Nil, 0.into(), (-1).into(), list(&["a"]), false.into()];
    match event("nvim_buf_lines_event", args) {
        NvimEvent::BufLines { tick: None, last: None, .. } => {}
        other => panic!("{other:?}"),
    }
}

#[test]
fn ticks_and_detaches_name_their_buffer() {
    let got = event("nvim_buf_changedtick_event", vec![buf_handle(3), 9.into()]);
    assert!(matches!(got, NvimEvent::BufTick { buf: BufId(3), tick: 9 }), "{got:?}");
    // Above 127 the packed number has more bytes than one.
    let got = event("nvim_buf_detach_event", vec![Value::Ext(0, vec![0xcd, 1, 0])]);
    assert!(matches!(got, NvimEvent::BufDetached { buf: BufId(256) }), "{got:?}");
}

#[test]
fn every_message_of_the_protocol_is_understood() {
    let s = ("session", Value::from("s1"));
    let buf = ("buf", Value::from(4));
    check(
        "hello",
        &[
            ("protocol", 1.into()),
            ("editor", "nvim-0.11.4".into()),
            ("log_dir", "/l".into()),
            ("max_buf_bytes", 9.0.into()),
            ("max_terminal_bytes", 8.into()),
            ("server", "/run/n.0".into()),
        ],
        "Hello(Hello { protocol: 1, editor: \"nvim-0.11.4\", log_dir: \"/l\", max_buf_bytes: 9, max_terminal_bytes: 8, \
         encodings: [], save: Always, swap_dirs: [], server: \"/run/n.0\" })",
    );
    check(
        "buf_meta",
        &[
            buf.clone(),
            ("name", "/p/a".into()),
            ("tick", 3.into()),
            ("modified", true.into()),
            ("visible", false.into()),
            ("fileformat", "dos".into()),
            ("fileencoding", "".into()),
            ("bomb", false.into()),
            ("eol", true.into()),
            ("buftype", "".into()),
            ("lines", 2.into()),
            ("bytes", 10.into()),
        ],
        "BufMeta(BufMeta { buf: 4, name: \"/p/a\", tick: 3, modified: true, visible: false, fileformat: \"dos\", \
         fileencoding: \"\", bomb: false, eol: true, buftype: \"\", stamp: None, lines: 2, bytes: 10 })",
    );
    check("buf_closed", std::slice::from_ref(&buf), "BufClosed { buf: BufId(4) }");
    check(
        "slice",
        &[
            buf.clone(),
            ("tick", 5.into()),
            ("start", 0.into()),
            ("total", 1.into()),
            ("lines", list(&["a"])),
            ("empty", false.into()),
        ],
        "Slice { buf: BufId(4), tick: 5, start: 0, total: 1, lines: [[97]], empty: false }",
    );
    check("safe", std::slice::from_ref(&buf), "Safe { buf: BufId(4) }");
    let failed = map(&[("buf", 4.into()), ("message", "read-only".into())]);
    check(
        "saved",
        &[("save", 3.into()), ("failed", Value::Array(vec![failed])), ("busy", false.into())],
        "Saved { save: 3, failed: [(BufId(4), \"read-only\")], busy: false }",
    );
    check(
        "view_ack",
        &[s.clone(), ("version", 3.into())],
        "ViewAck { session: SessionKey(\"s1\"), version: 3 }",
    );
    check("cancel", std::slice::from_ref(&s), "Action(Cancel { session: SessionKey(\"s1\") })");
    check("close", std::slice::from_ref(&s), "Action(Close { session: SessionKey(\"s1\") })");
    check(
        "answer",
        &[("question", 2.into()), ("option", "allow_once".into())],
        "Action(Answer { question: QuestionId(2), option: \"allow_once\", why: \"\" })",
    );
    check(
        "show_diff",
        &[("question", 2.into()), ("index", 1.into())],
        "Action(ShowDiff { question: QuestionId(2), index: 1 })",
    );
    check(
        "view_open",
        &[s.clone(), buf.clone()],
        "Action(ViewOpen { session: SessionKey(\"s1\"), buf: BufId(4) })",
    );
    check("view_close", std::slice::from_ref(&s), "Action(ViewClose { session: SessionKey(\"s1\") })");
    check(
        "view_toggle",
        &[s.clone(), ("line", 8.into())],
        "Action(ViewToggle { session: SessionKey(\"s1\"), line: 8 })",
    );
}

#[test]
fn outcomes_of_edits_carry_what_belongs_to_them() {
    let outcome = |kind: &str, more: &[(&str, Value)], expected: &str| {
        let mut fields = vec![("op", Value::from(7)), ("kind", kind.into())];
        fields.extend_from_slice(more);
        check("edit_done", &fields, expected);
    };
    let tick = ("tick", Value::from(12));
    outcome(
        "done",
        &[tick.clone(), ("saved", true.into())],
        "EditDone { op: OpId(7), outcome: Done { tick: 12, saved: true, modified: false, stamp: None } }",
    );
    outcome("stale", std::slice::from_ref(&tick), "EditDone { op: OpId(7), outcome: Stale { tick: 12 } }");
    outcome("busy", &[("mode", "no".into())], "EditDone { op: OpId(7), outcome: Busy { mode: \"no\" } }");
    outcome(
        "not_saved",
        &[tick, ("message", "E45".into())],
        "EditDone { op: OpId(7), outcome: NotSaved { tick: 12, message: \"E45\" } }",
    );
    outcome(
        "failed",
        &[("message", "gone".into())],
        "EditDone { op: OpId(7), outcome: Failed { message: \"gone\" } }",
    );
    outcome("sideways", &[], "`kind` is not an outcome of an edit");
}

#[test]
fn a_text_that_answers_keeps_its_bytes() {
    let lines = vec![Value::from("one"), Value::Binary(b"\xff\0\n".to_vec()), Value::from("")];
    check(
        "answer_text",
        &[("question", 2.into()), ("lines", Value::Array(lines)), ("eol", false.into())],
        "Action(AnswerText { question: QuestionId(2), lines: [[111, 110, 101], [255, 10, 10], []], eol: false })",
    );
    check(
        "answer_text",
        &[("question", 2.into()), ("lines", Value::Map(Vec::new())), ("eol", true.into())],
        "Action(AnswerText { question: QuestionId(2), lines: [], eol: true })",
    );
}

#[test]
fn a_session_brings_its_launch_and_a_prompt_its_context() {
    let env =
        Value::Array(vec![map(&[("name", "A".into()), ("value", "1".into())]), map(&[("name", "B".into())])]);
    let launch = map(&[
        ("name", "demo".into()),
        ("command", "bosun".into()),
        ("args", list(&["demo-agent"])),
        ("env", env),
        ("cwd", "/p".into()),
        ("start_timeout_ms", 30000.into()),
        ("unsaved", "save".into()),
    ]);
    let root = map(&[("path", "/ref".into()), ("write", false.into())]);
    let access = map(&[
        ("roots", Value::Array(vec![root])),
        ("ask_outside", true.into()),
        ("ask_commands", false.into()),
        ("write_approval", "review".into()),
        ("always_ask", list(&["ci/**"])),
    ]);
    check(
        "new_session",
        &[("session", "s1".into()), ("cwd", "/p".into()), ("launch", launch), ("access", access)],
        "Action(NewSession { session: SessionKey(\"s1\"), launch: Launch { name: \"demo\", command: \"bosun\", args: \
         [\"demo-agent\"], env: [(\"A\", Some(\"1\")), (\"B\", None)], cwd: \"/p\", start_timeout_ms: 30000, unsaved: \
         Save }, cwd: \"/p\", access: AccessRules { roots: [RootRule { path: \"/ref\", write: false }], ask_outside: true, \
         always_ask: [\"ci/**\"], ask_read: [], ask_commands: false, write_approval: Review } })",
    );
    let file = map(&[("kind", "file".into()), ("buf", 1.into()), ("path", "/p/a".into())]);
    let selection = map(&[
        ("kind", "selection".into()),
        ("buf", 1.into()),
        ("path", "/p/a".into()),
        ("first", 2.into()),
        ("last", 4.into()),
        ("text", "x\ny".into()),
    ]);
    check(
        "prompt",
        &[("session", "s1".into()), ("text", "hi".into()), ("context", Value::Array(vec![file, selection]))],
        "Action(Prompt { session: SessionKey(\"s1\"), text: \"hi\", context: [File { buf: BufId(1), path: \"/p/a\", \
         line: None }, Selection { buf: BufId(1), path: \"/p/a\", first: 2, last: 4, text: \"x\\ny\" }] })",
    );
}

#[test]
fn an_empty_table_is_read_as_a_list_and_as_a_map() {
    let expected = "Action(Prompt { session: SessionKey(\"s1\"), text: \"hi\", context: [] })";
    for context in [Value::Array(vec![]), Value::Map(vec![]), Value::Nil] {
        check("prompt", &[("session", "s1".into()), ("text", "hi".into()), ("context", context)], expected);
    }
    let got = decode("bosun", vec!["cancel".into(), Value::Array(vec![])]);
    assert_eq!(got.unwrap_err(), Malformed::Missing("session"));
}

#[test]
fn what_is_malformed_or_unknown_is_an_error_and_never_a_panic() {
    check("dance", &[], "there is no message of that name");
    check("cancel", &[("session", 3.into())], "`session` is not a string");
    check("safe", &[("buf", (-3).into())], "`buf` is not a whole number");
    check("safe", &[("buf", 1.5.into())], "`buf` is not a whole number");
    check("safe", &[("buf", Value::Nil)], "`buf` is missing");
    check("prompt", &[("context", "all".into())], "`context` is not a list");
    for method in
        ["bosun", "nvim_buf_lines_event", "nvim_buf_changedtick_event", "nvim_buf_detach_event", "redraw"]
    {
        for args in
            [vec![], vec![Value::Nil; 6], vec![Value::Ext(0, vec![0xcd]); 6], vec!["x".into(), 1.into()]]
        {
            assert!(decode(method, args.clone()).is_err(), "{method} {args:?}");
        }
    }
}

#[test]
fn a_name_that_is_not_utf8_counts_as_unnamed() {
    let fields = [
        ("buf", Value::from(1)),
        ("name", Value::Binary(b"/p/\xff".to_vec())),
        ("tick", 1.into()),
        ("lines", 1.into()),
        ("bytes", 1.into()),
    ];
    match event("bosun", vec!["buf_meta".into(), map(&fields)]) {
        NvimEvent::BufMeta(meta) => assert_eq!(meta.name, ""),
        other => panic!("{other:?}"),
    }
}
