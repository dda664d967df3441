//! Reads.

use expect_test::expect;

use super::*;

fn ten() -> String {
    (1..=10).map(|i| format!("{i}\n")).collect()
}

#[test]
fn an_open_buffer_is_served_from_its_mirror_without_a_call_to_the_editor() {
    let mut d = Desk::new();
    d.file("/p/a", "disk\n").open(1, "/p/a", "disk\n").change(1, 0, 1, &["typed", "more"]);
    check(
        d.read("/p/a"),
        expect![[r#"
        answer 1: {"content":"typed\nmore\n"}
    "#]],
    );
}

#[test]
fn line_and_limit_slice_the_buffer_and_never_the_disk() {
    let mut d = Desk::new();
    d.file("/p/a", "disk\n").open(1, "/p/a", &ten()).change(1, 0, 1, &["one"]);
    let mut all = String::new();
    for (line, limit) in [
        (Some(1), None),
        (Some(3), Some(2)),
        (None, Some(2)),
        (Some(10), Some(99)),
        (Some(11), None),
        (None, None),
        (Some(0), None),
        (None, Some(0)),
        (Some(u64::MAX), Some(u64::MAX)),
        (Some(2), Some(u64::MAX)),
    ] {
        all += &format!("{line:?} {limit:?} {}", d.read_part("/p/a", line, limit));
    }
    check(
        all,
        expect![[r#"
        Some(1) None answer 1: {"content":"one\n2\n3\n4\n5\n6\n7\n8\n9\n10\n"}
        Some(3) Some(2) answer 2: {"content":"3\n4\n"}
        None Some(2) answer 3: {"content":"one\n2\n"}
        Some(10) Some(99) answer 4: {"content":"10\n"}
        Some(11) None answer 5: {"content":""}
        None None answer 6: {"content":"one\n2\n3\n4\n5\n6\n7\n8\n9\n10\n"}
        Some(0) None answer 7: {"content":"one\n2\n3\n4\n5\n6\n7\n8\n9\n10\n"}
        None Some(0) answer 8: {"content":""}
        Some(18446744073709551615) Some(18446744073709551615) answer 9: {"content":""}
        Some(2) Some(18446744073709551615) answer 10: {"content":"2\n3\n4\n5\n6\n7\n8\n9\n10\n"}
    "#]],
    );
}

#[test]
fn the_last_line_keeps_its_newline_only_where_the_text_has_it() {
    let mut d = Desk::new();
    d.file("/p/noeol", "a\nb").file("/p/open", "a\nb").open(1, "/p/open", "a\nb").file("/p/empty", "");
    let mut all = d.read_part("/p/noeol", Some(1), Some(1));
    all += &d.read_part("/p/noeol", Some(2), None);
    all += &d.read_part("/p/open", Some(2), Some(1));
    all += &d.read_part("/p/open", None, None);
    all += &d.read_part("/p/empty", Some(1), Some(5));
    check(
        all,
        expect![[r#"
        answer 1: {"content":"a\n"}
        answer 2: {"content":"b"}
        answer 3: {"content":"b"}
        answer 4: {"content":"a\nb"}
        answer 5: {"content":""}
    "#]],
    );
}

#[test]
fn no_byte_and_one_newline_are_different_files_open_or_not() {
    let mut d = Desk::new();
    d.file("/p/e0", "").file("/p/e1", "\n").open(1, "/p/o0", "").open(2, "/p/o1", "\n");
    let all: String = ["/p/e0", "/p/e1", "/p/o0", "/p/o1"].map(|p| d.read(p)).concat();
    check(
        all,
        expect![[r#"
        answer 1: {"content":""}
        answer 2: {"content":"\n"}
        answer 3: {"content":""}
        answer 4: {"content":"\n"}
    "#]],
    );
}

#[test]
fn each_error_names_the_file_and_the_way_out() {
    let mut d = Desk::new();
    d.files.insert("/p/dir".into(), Err(DiskError::IsDir));
    d.files.insert("/p/pipe".into(), Err(DiskError::Special));
    d.files.insert("/p/bin".into(), Err(DiskError::Binary));
    d.files.insert("/p/latin".into(), Err(DiskError::Undecodable));
    d.files.insert("/p/huge".into(), Err(DiskError::TooLarge { size: 100, cap: 10 }));
    d.files.insert("/p/secret".into(), Err(DiskError::Io("Permission denied (os error 13)".into())));
    d.links.push(("/p/link".into(), "/etc".into()));
    d.announce(9, "/p/bigbuf", &"x".repeat(2000));
    let all: String = [
        "/p/no [id]/%#.txt",
        "/p/dir",
        "/p/pipe",
        "/p/bin",
        "/p/latin",
        "/p/huge",
        "/p/secret",
        "/etc/passwd",
        "/p2/a",
        "/p/link/passwd",
        "/p/bigbuf",
        "src/a.rs",
        "",
        "file:///p/a",
    ]
    .map(|p| d.read(p))
    .concat();
    check(
        all,
        expect![[r#"
            answer 1: -32002 /p/no [id]/%#.txt: no such file {"uri":"file:///p/no%20%5Bid%5D/%25%23.txt"}
            answer 2: -32603 /p/dir is a directory; name a file in it
            answer 3: -32603 /p/pipe is not a regular file; only regular files can be read or written
            answer 4: -32603 /p/bin is a binary file (it holds NUL bytes); only text is served
            answer 5: -32603 /p/latin is in none of the encodings that Neovim would try ('fileencodings')
            answer 6: -32603 /p/huge is too large: 100 bytes, and at most 10 are read; use a command that reads a part of it
            answer 7: -32603 /p/secret: Permission denied (os error 13)
            answer 8: -32603 /etc/passwd is outside the session's folders (/p); only files below them may be read or written. The setting `roots` adds a folder
            answer 9: -32603 /p2/a is outside the session's folders (/p); only files below them may be read or written. The setting `roots` adds a folder
            answer 10: -32603 /p/link/passwd is outside the session's folders (/p); only files below them may be read or written. The setting `roots` adds a folder
            answer 11: -32603 /p/bigbuf is too large: it is open with 2000 bytes, and buffers over 1000 bytes are not mirrored; the setting max_buffer_bytes raises this limit
            answer 12: -32602 the path "src/a.rs" is relative; send an absolute path
            answer 13: -32602 the path "" is relative; send an absolute path
            answer 14: -32602 the path "file:///p/a" is relative; send an absolute path
        "#]],
    );
}

#[test]
fn a_named_buffer_that_was_never_saved_serves_its_text() {
    let mut d = Desk::new();
    d.open(1, "/p/new.txt", "").change(1, 0, 1, &["draft"]).meta(1, |m| m.modified = true);
    check(
        d.read("/p/new.txt"),
        expect![[r#"
        answer 1: {"content":"draft\n"}
    "#]],
    );
}

#[test]
fn a_read_waits_for_the_mirror_and_makes_it_go_first() {
    let mut d = Desk::new();
    d.file("/p/a", "disk\n").announce(1, "/p/a", "1\n2\n3\n");
    d.slice(1, 0);
    d.log.clear();
    let first = d.read("/p/a");
    d.slice(1, 2);
    check(
        first + "--\n" + &std::mem::take(&mut d.log),
        expect![[r#"
        slice 1 from 2
        --
        answer 1: {"content":"1\n2\n3\n"}
    "#]],
    );
}

#[test]
fn a_read_waits_until_the_names_of_all_buffers_are_known() {
    let mut d = Desk::new();
    d.file("/p/a", "disk\n");
    d.held = Some(VecDeque::new());
    d.announce(1, "/p/a", "typed\n");
    let first = d.read("/p/a");
    // The read's path is known before the buffer's.
    let second = d.release(&[1, 0]);
    d.log = second.clone();
    d.fill();
    check(
        format!("{first}--\n{second}--\n{}", d.log),
        expect![[r#"
        --
        attach 1
        slice 1 from 0 later
        slice 1 from 0
        --
        attach 1
        answer 1: {"content":"typed\n"}
    "#]],
    );
}

#[test]
fn a_link_to_an_open_file_is_served_from_its_buffer() {
    let mut d = Desk::new();
    d.links.push(("/p/link".into(), "/p/real".into()));
    d.file("/p/real/a", "disk\n").open(1, "/p/real/a", "typed\n");
    check(
        d.read("/p/link/a"),
        expect![[r#"
        answer 1: {"content":"typed\n"}
    "#]],
    );
}

#[test]
fn a_buffer_in_another_encoding_and_odd_bytes_are_served() {
    let mut d = Desk::new();
    d.open(1, "/p/latin", "caf\u{e9}\n").meta(1, |m| m.fileencoding = "latin1".into());
    d.open(2, "/p/odd", "a\nb\n").change_bytes(2, 0, 1, vec![b"\xffx\n\xfe".to_vec()]);
    check(
        d.read("/p/latin") + &d.read("/p/odd"),
        expect![[r#"
        answer 1: {"content":"café\n"}
        answer 2: {"content":"�x\u0000�\nb\n"}
    "#]],
    );
}

#[test]
fn buffers_that_are_no_files_never_answer_for_one() {
    let mut d = Desk::new();
    d.file("/p/a", "disk\n");
    d.open(1, "fugitive:///p/.git//0/a", "blob\n");
    d.open(2, "/p/a", "tree view\n").meta(2, |m| m.buftype = "nofile".into());
    check(
        d.read("/p/a"),
        expect![[r#"
        answer 1: {"content":"disk\n"}
    "#]],
    );
}

#[test]
fn a_closed_buffer_leaves_the_disk_to_answer() {
    let mut d = Desk::new();
    d.file("/p/a", "disk\n").open(1, "/p/a", "typed\n");
    let effects = d.ws.buf_closed(BufId(1));
    assert!(effects.is_empty());
    check(
        d.read("/p/a"),
        expect![[r#"
        answer 1: {"content":"disk\n"}
    "#]],
    );
}

#[test]
fn a_cancelled_read_is_answered_so() {
    let mut d = Desk::new();
    d.announce(1, "/p/a", "1\n2\n3\n");
    d.read("/p/a");
    let sessions = [d.session.clone()];
    let effects = d.ws.cancel_request(&sessions, &WireId("1".into()));
    check(
        d.take(effects),
        expect![[r#"
        answer 1: -32800 cancelled
    "#]],
    );
}

#[test]
fn a_buffer_whose_name_leads_elsewhere_by_now_is_still_the_text_of_that_name() {
    let mut d = Desk::new();
    d.file("/p/a", "disk\n").open(1, "/p/a", "disk\n").change(1, 0, 1, &["unsaved"]);
    // The file was moved and a link put in its place.
    d.file("/p/b", "disk\n");
    d.links.push(("/p/a".into(), "/p/b".into()));
    check(
        d.read("/p/a"),
        expect![[r#"
            answer 1: {"content":"unsaved\n"}
        "#]],
    );
}
