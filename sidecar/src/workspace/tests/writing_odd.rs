//! Writes: bytes, closing and opening, cancelling.

use expect_test::expect;

use super::*;

fn shape(content: &str, live: &str, meta: impl FnOnce(&mut BufMeta)) -> String {
    let mut d = Desk::new();
    d.file("/p/a", live).open(1, "/p/a", live).meta(1, meta);
    d.write("/p/a", content);
    d.allow()
}

#[test]
fn crlf_of_the_content_is_the_buffers_affair() {
    let dos = |m: &mut BufMeta| m.fileformat = "dos".into();
    let mut all = shape("a\r\nB\r\n", "a\nb\n", dos);
    all += &shape("a\nB\n", "a\nb\n", dos);
    all += &shape("a\r\nB\n", "a\nb\n", dos);
    all += &shape("a\nB\rC\n", "a\nb\n", dos);
    // In a unix buffer it is part of the line.
    all += &shape("a\r\nB\r\n", "a\r\nb\r\n", |_| ());
    check(
        all,
        expect![[r#"
        edit 1 1:0-1:1="B"
        edit 1 1:0-1:1="B"
        edit 1 1:0-1:1="B"
        edit 1 1:0-1:1="B\rC"
        edit 1 1:0-1:1="B"
    "#]],
    );
}

#[test]
fn crlf_and_bom_of_a_file_that_is_not_open_stay() {
    let mut d = Desk::new();
    d.files.insert(
        "/p/a".into(),
        Ok(DiskText {
            text: "a\nb".into(),
            form: Form { crlf: true, bom: true, ..Form::default() },
            stamp: stamp(1),
        }),
    );
    let all = [d.write("/p/a", "\u{FEFF}A\r\nb"), d.allow()].concat();
    check(
        all,
        expect![[r#"
            ask /p/a Some("a\nb") -> "A\nb"
            write /p/a "A\nb" crlf bom
            tells BosunFileWritten /p/a
            answer 1: {}
        "#]],
    );
    d.file("/p/lf", "x\n");
    check(
        [d.write("/p/lf", "a\r\n"), d.allow()].concat(),
        expect![[r#"
            ask /p/lf Some("x\n") -> "a\r\n"
            write /p/lf "a\r\n"
            tells BosunFileWritten /p/lf
            answer 2: {}
        "#]],
    );
}

#[test]
fn the_final_newline_is_the_contents_own() {
    let mut all = shape("a", "a\n", |_| ());
    all += &shape("a\n", "a", |_| ());
    all += &shape("", "a\nb\nc\n", |_| ());
    all += &shape("\n", "a\nb\nc\n", |_| ());
    all += &shape("\n", "", |_| ());
    all += &shape("x", "", |_| ());
    check(
        all,
        expect![[r#"
        edit 1 noeol
        edit 1
        edit 1 0:0-3:0="" empty
        edit 1 0:0-3:0="\n"
        edit 1 0:0-1:0="\n"
        edit 1 0:0-1:0="x\n" noeol
    "#]],
    );
}

#[test]
fn a_bom_is_not_doubled() {
    let all = shape("\u{FEFF}b\n", "a\n", |m| m.bomb = true) + &shape("\u{FEFF}b\n", "a\n", |_| ());
    check(
        all,
        expect![[r#"
        edit 1 0:0-0:1="b"
        edit 1 0:0-0:1="\u{feff}b"
    "#]],
    );
}

#[test]
fn nul_and_other_line_breaks_go_through_unharmed() {
    let mut d = Desk::new();
    d.open(1, "/p/a", "x\n");
    let text = "a\0b\u{2028}c\rd\u{85}e\u{c}\u{10FE80}f\n\0\n";
    check(
        d.write_through("/p/a", text),
        expect![[r#"
            tells BosunFileWritten /p/a
            answer 1: {}
        "#]],
    );
    assert_eq!(d.ws.buf_text(BufId(1)).unwrap(), text);
    assert_eq!(d.bufs[&1].lines[1], b"\n");
    assert_eq!(d.write("/p/a", text), "answer 2: {}\n");
}

#[test]
fn what_a_save_would_destroy_is_refused() {
    let mut d = Desk::new();
    d.open(1, "/p/latin", "caf\u{e9}\n").meta(1, |m| m.fileencoding = "latin1".into());
    d.open(2, "/p/odd", "a\nb\n")
        .change_bytes(2, 0, 1, vec![b"\xff".to_vec()])
        .meta(2, |m| m.modified = false);
    d.files.insert("/p/bin".into(), Err(DiskError::Binary));
    d.files.insert("/p/gbk".into(), Err(DiskError::Undecodable));
    d.files.insert("/p/dir".into(), Err(DiskError::IsDir));
    d.announce(9, "/p/bigbuf", &"x".repeat(2000));
    d.log.clear();
    let all =
        ["/p/latin", "/p/odd", "/p/bin", "/p/gbk", "/p/dir", "/p/bigbuf"].map(|p| d.write(p, "x\n")).concat();
    check(
        all,
        expect![[r#"
            ask /p/latin Some("café\n") -> "x\n" in buf 1
            ask /p/odd Some("�\nb\n") -> "�\nb\n" in buf 2, conflicts [(0, 2)]
            answer 3: -32603 /p/bin is a binary file (it holds NUL bytes); only text is served
            answer 4: -32603 /p/gbk is in none of the encodings that Neovim would try ('fileencodings')
            answer 5: -32603 /p/dir is a directory; name a file in it
            answer 6: -32603 /p/bigbuf is too large: it is open with 2000 bytes, and buffers over 1000 bytes are not mirrored; the setting max_buffer_bytes raises this limit
        "#]],
    );
}

#[test]
fn forty_lines_with_three_added_and_one_changed_are_two_edits() {
    let old: String = (1..=40).map(|i| format!("line {i}\n")).collect();
    let new = format!("x\ny\nz\n{}", old.replace("line 18\n", "line 18 changed\n"));
    check(
        shape(&new, &old, |_| ()),
        expect![[r#"
        edit 1 0:0-0:0="x\ny\nz\n" 17:7-17:7=" changed"
    "#]],
    );
    let five: String = (1..=5).map(|i| format!("line {i}\n")).collect();
    check(
        shape(&five, &old, |_| ()),
        expect![[r#"
        edit 1 5:0-40:0=""
    "#]],
    );
}

#[test]
fn a_buffer_opened_after_the_question_takes_the_write() {
    let mut d = Desk::new();
    d.file("/p/a", "one\n");
    let mut all = d.write("/p/a", "two\n");
    d.announce(1, "/p/a", "one\n");
    d.log.clear();
    all += &d.allow();
    d.slice(1, 0);
    all += &std::mem::take(&mut d.log);
    all += &d.land();
    check(
        all,
        expect![[r#"
            ask /p/a Some("one\n") -> "two\n"
            slice 1 from 0
            edit 1 0:0-0:3="two"
            tells BosunFileWritten /p/a
            answer 1: {}
        "#]],
    );
}

#[test]
fn a_buffer_closed_after_the_question_leaves_the_write_to_the_disk() {
    let mut d = Desk::new();
    d.file("/p/a", "one\n").open(1, "/p/a", "one\n");
    d.write("/p/a", "two\n");
    d.ws.buf_closed(BufId(1));
    check(
        d.allow(),
        expect![[r#"
            write /p/a "two\n"
            tells BosunFileWritten /p/a
            answer 1: {}
        "#]],
    );
    // Unsaved lines were asked about, and were thrown away since.
    d.file("/p/b", "one\n").open(2, "/p/b", "one\n").change(2, 0, 1, &["typed"]);
    d.read("/p/b");
    d.write("/p/b", "typed more\n");
    d.ws.buf_closed(BufId(2));
    check(
        d.allow(),
        expect![[r#"
            ask /p/b Some("one\n") -> "one\n", conflicts [(0, 1)]
        "#]],
    );
}

#[test]
fn a_buffer_closed_before_the_edit_reached_it_leaves_the_write_to_the_disk() {
    let mut d = Desk::new();
    d.file("/p/a", "one\n").open(1, "/p/a", "one\n");
    d.write("/p/a", "two\n");
    d.allow();
    let op = d.edits.pop_front().unwrap().op;
    d.ws.buf_closed(BufId(1));
    check(
        d.outcome(op, EditOutcome::Failed { message: "no such buffer".into() }),
        expect![[r#"
            write /p/a "two\n"
            tells BosunFileWritten /p/a
            answer 1: {}
        "#]],
    );
}

#[test]
fn a_busy_buffer_that_is_closed_leaves_the_write_to_the_disk() {
    let mut d = Desk::new();
    d.file("/p/a", "one\n").open(1, "/p/a", "one\n");
    d.write("/p/a", "two\n");
    d.allow();
    let op = d.edits.pop_front().unwrap().op;
    d.outcome(op, EditOutcome::Busy { mode: "v".into() });
    let effects = d.ws.buf_closed(BufId(1));
    check(
        d.take(effects),
        expect![[r#"
            write /p/a "two\n"
            tells BosunFileWritten /p/a
            answer 1: {}
        "#]],
    );
}

#[test]
fn a_cancel_withdraws_what_is_not_applied_and_lets_the_rest_finish() {
    let mut d = Desk::new();
    for (i, p) in ["/p/asking", "/p/busy", "/p/editing", "/p/stale"].into_iter().enumerate() {
        d.open(i as i64 + 1, p, "one\n");
        d.write(p, "two\n");
    }
    let asking = d.asked.pop_front().unwrap();
    d.allow();
    d.allow();
    d.allow();
    let busy = d.edits.pop_front().unwrap().op;
    d.outcome(busy, EditOutcome::Busy { mode: "v".into() });
    let effects = d.ws.cancel_session(&d.session.clone());
    let mut all = d.take(effects);
    all += "--\n";
    all += &d.land();
    let stale = d.edits.pop_front().unwrap().op;
    all += &d.outcome(stale, EditOutcome::Stale { tick: 99 });
    check(
        all,
        expect![[r#"
            question withdrawn
            answer 1: -32800 cancelled
            edit off 2
            answer 2: -32800 cancelled
            --
            tells BosunFileWritten /p/editing
            answer 3: {}
            answer 4: -32800 cancelled
        "#]],
    );
    assert!(d.ws.decide(asking, Verdict::Allow).is_empty());
    assert!(d.ws.safe(BufId(2)).is_empty());
    assert!(d.ws.ops.is_empty());
}

#[test]
fn a_request_taken_back_withdraws_its_question_and_lets_the_next_go_on() {
    let mut d = Desk::new();
    d.open(1, "/p/a", "one\n");
    d.write("/p/a", "two\n");
    d.write("/p/a", "three\n");
    let effects = d.ws.cancel_request(&[SessionKey::new("other")], &WireId("1".into()));
    assert!(effects.is_empty());
    let effects = d.ws.cancel_request(&[d.session.clone()], &WireId("1".into()));
    check(
        d.take(effects),
        expect![[r#"
        question withdrawn
        answer 1: -32800 cancelled
        ask /p/a Some("one\n") -> "three\n" in buf 1
    "#]],
    );
}

#[test]
fn a_closed_session_has_all_its_requests_answered() {
    let mut d = Desk::new();
    d.open(1, "/p/a", "one\n").announce(2, "/p/b", "1\n2\n3\n");
    d.write("/p/a", "two\n");
    d.write("/p/a", "three\n");
    d.read("/p/b");
    d.held = Some(VecDeque::new());
    d.read("/p/c");
    let effects = d.ws.remove_session(&d.session.clone());
    check(
        d.take(effects),
        expect![[r#"
        question withdrawn
        answer 1: -32603 the session was closed
        answer 2: -32603 the session was closed
        answer 3: -32603 the session was closed
        answer 4: -32603 the session was closed
        detach 1
        detach 2
    "#]],
    );
    assert!(d.ws.ops.is_empty());
    assert_eq!(d.release(&[0]), "");
}

#[test]
fn two_sessions_on_one_file_never_overwrite_each_other() {
    let mut d = Desk::new();
    let other = SessionKey::new("t");
    d.ws.add_root(&other, "/p".into());
    d.open(1, "/p/a", "one\n");
    d.read("/p/a");
    d.write("/p/a", "mine\n");
    let reply = d.reply();
    let effects = d.ws.write(&other, "/p/a".into(), "theirs\n".into(), reply);
    let mut all = d.take(effects);
    d.allow();
    all += &d.land();
    all += &d.allow();
    check(
        all,
        expect![[r#"
            ask /p/a Some("one\n") -> "theirs\n" in buf 1
            tells BosunFileWritten /p/a
            answer 2: {}
            ask /p/a Some("mine\n") -> "mine\n" in buf 1, conflicts [(0, 1)]
        "#]],
    );
}

#[test]
fn facts_that_came_with_the_save_are_newer_than_what_was_sent() {
    let mut d = Desk::new();
    d.open(1, "/p/a", "one\n");
    d.write("/p/a", "two");
    d.allow();
    let call = d.edit_without_answer();
    // 'fixendofline' put the newline there.
    d.meta(1, |m| m.eol = true);
    let tick = d.bufs[&1].tick;
    d.outcome(call.op, EditOutcome::Done { tick, saved: true, modified: false, stamp: None });
    assert_eq!(d.read("/p/a"), "answer 2: {\"content\":\"two\\n\"}\n");
    d.write_through("/p/a", "three");
    assert_eq!(d.read("/p/a"), "answer 4: {\"content\":\"three\"}\n");
}
