//! Writes.

use expect_test::expect;

use super::*;

#[test]
fn a_write_into_an_open_buffer_is_asked_edited_once_and_answered() {
    let mut d = Desk::new();
    d.file("/p/a", "one\ntwo\n").open(1, "/p/a", "one\ntwo\n");
    let all = [d.read("/p/a"), d.write("/p/a", "one\n2\nthree\n"), d.allow(), d.land()].concat();
    check(
        all,
        expect![[r#"
            answer 1: {"content":"one\ntwo\n"}
            ask /p/a Some("one\ntwo\n") -> "one\n2\nthree\n" in buf 1
            edit 1 1:0-2:0="2\nthree\n"
            tells BosunFileWritten /p/a
            answer 2: {}
        "#]],
    );
    assert_eq!(d.ws.buf_text(BufId(1)).unwrap(), "one\n2\nthree\n");
}

#[test]
fn unsaved_text_that_was_read_may_be_built_on_and_the_question_says_so() {
    let mut d = Desk::new();
    d.file("/p/a", "one\n").open(1, "/p/a", "one\n").change(1, 0, 1, &["typed"]);
    d.read("/p/a");
    check(
        d.write("/p/a", "typed\nmore\n"),
        expect![[r#"
        ask /p/a Some("typed\n") -> "typed\nmore\n" in buf 1, saves unsaved lines
    "#]],
    );
}

#[test]
fn text_that_moved_since_the_read_is_merged_or_a_person_decides() {
    let mut d = Desk::new();
    d.file("/p/a", "one\n").open(1, "/p/a", "one\n").file("/p/b", "one\n").file("/p/c", "one\n");
    d.read("/p/a");
    d.read("/p/b");
    d.read("/p/c");
    d.change(1, 0, 1, &["typed"]).file("/p/b", "elsewhere\n").files.remove(Path::new("/p/c"));
    check(
        ["/p/a", "/p/b", "/p/c"].map(|p| d.write(p, "agent\n")).concat(),
        expect![[r#"
            ask /p/a Some("typed\n") -> "typed\n" in buf 1, saves unsaved lines, conflicts [(0, 1)]
            ask /p/b Some("elsewhere\n") -> "elsewhere\n", conflicts [(0, 1)]
            ask /p/c None -> "agent\n"
              note: The file no longer exists: it was deleted or renamed. Allowing this makes it anew.
        "#]],
    );
    check(
        d.verdict(true) + &d.land() + &d.verdict(false) + &d.allow(),
        expect![[r#"
        edit 1
        tells BosunFileWritten /p/a
        answer 4: {}
        answer 5: -32603 the user rejected this write
        write /p/c "agent\n"
        tells BosunFileWritten /p/c
        answer 6: {}
    "#]],
    );
}

#[test]
fn a_file_never_read_starts_from_the_disk() {
    let mut d = Desk::new();
    d.file("/p/a", "one\n").open(1, "/p/a", "one\n");
    d.file("/p/b", "one\n").open(2, "/p/b", "one\n").change(2, 0, 1, &["typed"]);
    check(
        d.write("/p/a", "agent\n") + &d.write("/p/b", "agent\n"),
        expect![[r#"
            ask /p/a Some("one\n") -> "agent\n" in buf 1
            ask /p/b Some("typed\n") -> "typed\n" in buf 2, saves unsaved lines, conflicts [(0, 1)]
        "#]],
    );
}

#[test]
fn a_missing_file_is_an_error_to_read_and_no_hindrance_to_write() {
    let mut d = Desk::new();
    check(
        [d.read("/p/nope.txt"), d.write("/p/nope.txt", "x"), d.allow()].concat(),
        expect![[r#"
            answer 1: -32002 /p/nope.txt: no such file {"uri":"file:///p/nope.txt"}
            ask /p/nope.txt None -> "x"
            write /p/nope.txt "x"
            tells BosunFileWritten /p/nope.txt
            answer 2: {}
        "#]],
    );
    assert_eq!(d.on_disk("/p/nope.txt"), "x");
    assert_eq!(d.read("/p/nope.txt"), "answer 3: {\"content\":\"x\"}\n");
}

#[test]
fn a_file_that_appeared_after_it_was_missing_is_for_a_person_to_decide() {
    let mut d = Desk::new();
    d.read("/p/a");
    d.file("/p/a", "someone\n");
    check(
        d.write("/p/a", "agent\n"),
        expect![[r#"
            ask /p/a Some("someone\n") -> "someone\n", conflicts [(0, 1)]
        "#]],
    );
}

#[test]
fn a_rejected_write_is_an_error_that_says_so_and_changes_nothing() {
    let mut d = Desk::new();
    d.file("/p/a", "one\n").open(1, "/p/a", "one\n");
    d.write("/p/a", "two\n");
    check(
        d.verdict(false),
        expect![[r#"
        answer 1: -32603 the user rejected this write
    "#]],
    );
    // A second verdict finds nothing.
    assert!(d.ws.decide(OpId(2), Verdict::Allow).is_empty());
    assert!(d.edits.is_empty());
}

#[test]
fn typing_while_the_question_is_open_is_merged_or_asked_about() {
    let mut d = Desk::new();
    d.open(1, "/p/a", "one\n").file("/p/b", "one\n");
    d.write("/p/a", "two\n");
    d.write("/p/b", "two\n");
    d.change(1, 1, 1, &["typed"]).file("/p/b", "else\n");
    check(
        d.allow() + &d.allow(),
        expect![[r#"
            ask /p/a Some("one\ntyped\n") -> "one\ntyped\n" in buf 1, saves unsaved lines, conflicts [(0, 2)]
            ask /p/b Some("else\n") -> "else\n", conflicts [(0, 1)]
        "#]],
    );
}

#[test]
fn typing_that_is_taken_back_does_not() {
    let mut d = Desk::new();
    d.open(1, "/p/a", "one\n");
    d.write("/p/a", "two\n");
    d.change(1, 1, 1, &["typed"]).change(1, 1, 2, &[]);
    check(
        d.allow() + &d.land(),
        expect![[r#"
            edit 1 0:0-0:3="two"
            tells BosunFileWritten /p/a
            answer 1: {}
        "#]],
    );
}

#[test]
fn a_stale_edit_is_computed_again_on_the_text_that_is_there() {
    let mut d = Desk::new();
    d.file("/p/a", "one\n").open(1, "/p/a", "one\n");
    d.write("/p/a", "two\n");
    d.allow();
    // `:w` moved the tick, not the text.
    let op = d.edits.pop_front().unwrap().op;
    d.bufs.get_mut(&1).unwrap().tick += 2;
    let tick = d.bufs[&1].tick;
    let mut all = d.outcome(op, EditOutcome::Stale { tick });
    let op = d.edits.pop_front().unwrap().op;
    d.change(1, 1, 1, &["typed"]);
    let tick = d.bufs[&1].tick;
    all += &d.outcome(op, EditOutcome::Stale { tick });
    check(
        all,
        expect![[r#"
            edit 1 0:0-0:3="two"
            ask /p/a Some("one\ntyped\n") -> "one\ntyped\n" in buf 1, saves unsaved lines, conflicts [(0, 2)]
        "#]],
    );
}

#[test]
fn a_tick_that_moved_without_the_text_is_the_one_an_edit_names() {
    let mut d = Desk::new();
    d.open(1, "/p/a", "one\n");
    d.write("/p/a", "two\n");
    d.bufs.get_mut(&1).unwrap().tick += 2;
    let tick = d.bufs[&1].tick;
    assert!(d.ws.buf_tick(BufId(1), tick).is_empty());
    d.allow();
    assert_eq!(d.edits[0].tick, tick);
}

#[test]
fn an_edit_that_is_always_stale_is_given_up() {
    let mut d = Desk::new();
    d.open(1, "/p/a", "one\n");
    d.write("/p/a", "two\n");
    d.allow();
    let mut tries = 0;
    while let Some(call) = d.edits.pop_front() {
        tries += 1;
        let last = d.outcome(call.op, EditOutcome::Stale { tick: 50 + tries });
        assert_eq!(last.starts_with("answer"), d.edits.is_empty());
    }
    assert_eq!(tries, 33);
}

#[test]
fn a_mode_in_the_way_makes_the_edit_wait_for_its_end() {
    let mut d = Desk::new();
    d.open(1, "/p/a", "one\n");
    d.write("/p/a", "two\n");
    d.allow();
    let op = d.edits.pop_front().unwrap().op;
    let mut all = d.outcome(op, EditOutcome::Busy { mode: "no".into() });
    d.ws.safe(BufId(2));
    all += "--\n";
    let effects = d.ws.safe(BufId(1));
    all += &d.take(effects);
    all += &d.land();
    check(
        all,
        expect![[r#"
            --
            edit 1 0:0-0:3="two"
            tells BosunFileWritten /p/a
            answer 1: {}
        "#]],
    );
}

#[test]
fn a_save_that_failed_is_an_error_that_says_where_the_text_is() {
    let mut d = Desk::new();
    d.open(1, "/p/a", "one\n");
    d.write("/p/a", "two\n");
    d.allow();
    let call = d.edit_without_answer();
    let tick = d.bufs[&1].tick;
    let message = "E45: 'readonly' option is set (add ! to override)".into();
    let mut all = d.outcome(call.op, EditOutcome::NotSaved { tick, message });
    // What is in the buffer is known to the session.
    all += &d.write("/p/a", "three\n");
    check(
        all,
        expect![[r#"
        answer 1: -32603 the new text of /p/a is in the editor's buffer, but it could not be saved to disk: E45: 'readonly' option is set (add ! to override)
        ask /p/a Some("two\n") -> "three\n" in buf 1, saves unsaved lines
    "#]],
    );
}

#[test]
fn a_buffer_that_takes_no_edit_is_an_error() {
    let mut d = Desk::new();
    d.open(1, "/p/a", "one\n");
    d.write("/p/a", "two\n");
    d.allow();
    let op = d.edits.pop_front().unwrap().op;
    check(
        d.outcome(op, EditOutcome::Failed { message: "E21: 'modifiable' is off".into() }),
        expect![[r#"
        answer 1: -32603 /p/a could not be changed in the editor: E21: 'modifiable' is off
    "#]],
    );
}

#[test]
fn writes_in_a_row_build_on_each_other_and_on_what_a_formatter_made_of_them() {
    let mut d = Desk::new();
    d.open(1, "/p/a", "one\n");
    d.write("/p/a", "a  \nb\n");
    d.allow();
    let call = d.edit_without_answer();
    d.change(1, 0, 1, &["a"]);
    let tick = d.bufs[&1].tick;
    let mut all = d.outcome(call.op, EditOutcome::Done { tick, saved: true, modified: false, stamp: None });
    all += &d.write("/p/a", "a\nb\nc\n");
    d.allow();
    all += &d.land();
    all += &d.write_through("/p/a", "v3\n");
    check(
        all,
        expect![[r#"
            tells BosunFileWritten /p/a
            answer 1: {}
            ask /p/a Some("a\nb\n") -> "a\nb\nc\n" in buf 1
            tells BosunFileWritten /p/a
            answer 2: {}
            tells BosunFileWritten /p/a
            answer 3: {}
        "#]],
    );
}

#[test]
fn writes_to_one_path_keep_their_order_and_a_read_behind_them_waits() {
    let mut d = Desk::new();
    d.open(1, "/p/a", "one\n").file("/p/b", "b\n");
    d.held = Some(VecDeque::new());
    d.write("/p/a", "two\n");
    d.write("/p/a", "three\n");
    d.read("/p/a");
    d.read("/p/b");
    // Resolved in the wrong order.
    let mut all = d.release(&[3, 2, 1, 0]);
    all += "-- allow\n";
    all += &d.allow();
    all += "-- land\n";
    all += &d.land();
    d.allow();
    all += "-- land\n";
    all += &d.land();
    check(
        all,
        expect![[r#"
            ask /p/a Some("one\n") -> "two\n" in buf 1
            answer 4: {"content":"b\n"}
            -- allow
            edit 1 0:0-0:3="two"
            -- land
            tells BosunFileWritten /p/a
            answer 1: {}
            ask /p/a Some("two\n") -> "three\n" in buf 1
            -- land
            tells BosunFileWritten /p/a
            answer 2: {}
            answer 3: {"content":"three\n"}
        "#]],
    );
}

#[test]
fn the_same_text_again_is_answered_without_a_question_or_an_edit() {
    let mut d = Desk::new();
    d.file("/p/a", "one\n").open(1, "/p/a", "one\n").file("/p/b", "one\n");
    let mut all = d.write_through("/p/a", "two\n");
    all += &d.write("/p/a", "two\n");
    all += &d.write("/p/b", "one\n");
    check(
        all,
        expect![[r#"
            tells BosunFileWritten /p/a
            answer 1: {}
            answer 2: {}
            answer 3: {}
        "#]],
    );
}

#[test]
fn the_same_text_as_unsaved_lines_still_has_to_be_saved() {
    let mut d = Desk::new();
    d.file("/p/a", "one\n").open(1, "/p/a", "one\n").change(1, 0, 1, &["two"]);
    check(
        [d.write("/p/a", "two\n"), d.allow(), d.land()].concat(),
        expect![[r#"
            ask /p/a Some("two\n") -> "two\n" in buf 1, saves unsaved lines
            edit 1
            tells BosunFileWritten /p/a
            answer 1: {}
        "#]],
    );
    d.open(2, "/p/new", "");
    check(
        [d.write("/p/new", ""), d.allow(), d.land(), d.write("/p/new", "")].concat(),
        expect![[r#"
            ask /p/new Some("") -> "" in buf 2
            edit 2 empty
            tells BosunFileWritten /p/new
            answer 2: {}
            answer 3: {}
        "#]],
    );
}

#[test]
fn outside_the_roots_nothing_is_written() {
    let mut d = Desk::new();
    d.links.push(("/p/link".into(), "/etc".into()));
    let all: String = ["/etc/x", "/p/link/x", "x"].map(|p| d.write(p, "x")).concat();
    check(
        all,
        expect![[r#"
        answer 1: -32603 /etc/x is outside the session's folders (/p); only files below them may be read or written. The setting `roots` adds a folder
        answer 2: -32603 /p/link/x is outside the session's folders (/p); only files below them may be read or written. The setting `roots` adds a folder
        answer 3: -32602 the path "x" is relative; send an absolute path
    "#]],
    );
    assert!(d.files.is_empty());
}

#[test]
fn what_landed_is_told_with_the_text_before_and_after_whichever_way_it_came() {
    let mut d = Desk::new();
    d.file("/p/a", "one\ntwo\n").file("/p/b", "b\n").open(1, "/p/a", "one\ntwo\n");
    d.change(1, 0, 1, &["mine"]);
    d.read("/p/a");
    d.write_through("/p/a", "mine\nTWO\n");
    d.read("/p/b");
    d.write("/p/b", "B\n");
    d.allow();
    d.write("/p/new", "new\n");
    d.allow();
    assert_eq!(
        d.landed,
        [
            r#"Agent /p/a Some("mine\ntwo\n") -> Some("mine\nTWO\n")"#,
            r#"Agent /p/b Some("b\n") -> Some("B\n")"#,
            r#"Agent /p/new None -> Some("new\n")"#,
        ]
    );
    d.write("/p/new", "no\n");
    d.verdict(false);
    assert_eq!(d.landed.len(), 3, "what a person rejects does not land");
}
