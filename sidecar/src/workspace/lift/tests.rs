//! Contents as data: what the agent saw, what it wrote, what that means.

use super::*;

fn snap(bytes: &[u8]) -> Snapshot {
    Snapshot::from_bytes(bytes)
}

#[track_caller]
fn check(base: &[u8], content: &str, want: &[u8]) {
    let got = lift(&snap(base), content, false, false).map(|s| s.bytes());
    assert_eq!(
        got.map(|b| String::from_utf8_lossy(&b).into_owned()),
        Ok(String::from_utf8_lossy(want).into_owned())
    );
    assert_eq!(lift(&snap(base), content, false, false).map(|s| s.bytes()).as_deref(), Ok(want));
}

#[test]
fn plain_text_is_taken_as_it_is() {
    check(b"a\nb\n", "a\nB\n", b"a\nB\n");
    check(b"", "x", b"x");
    check(b"a\n", "", b"");
    check(b"a\n", "a", b"a");
}

// B29
#[test]
fn mixed_line_ends_stay_where_the_agent_wrote_all_with_lf() {
    check(b"a\r\nb\nc\r\n", "a\nB\nc\n", b"a\r\nB\nc\r\n");
    check(b"a\r\nb\nc\r\n", "A\nb\nc\n", b"A\r\nb\nc\r\n");
    check(b"a\r\nb\nc\r\n", "a\r\nB\r\nc\r\n", b"a\r\nB\nc\r\n");
    check(b"a\r\nb\nc\r\n", "a\r\nB\nc\r\n", b"a\r\nB\nc\r\n");
    // A new line takes the end of the one before it.
    check(b"a\r\nb\nc\r\n", "a\nb\nc\nd\n", b"a\r\nb\nc\r\nd\r\n");
    check(b"a\r\nb\nc\r\n", "a\nx\nb\nc\n", b"a\r\nx\r\nb\nc\r\n");
}

#[test]
fn a_file_with_lf_does_not_become_one_with_crlf_by_the_way() {
    check(b"a\nb\n", "a\r\nB\r\n", b"a\nB\n");
    // Unless nothing else is changed.
    check(b"a\nb\n", "a\r\nb\r\n", b"a\r\nb\r\n");
    check(b"a\r\nb\n", "a\nb\n", b"a\nb\n");
    // Or everything is.
    check(b"a\n", "x\r\ny\r\n", b"x\r\ny\r\n");
}

#[test]
fn a_dos_file_takes_both_line_ends_and_its_mark_once() {
    for content in ["a\nB\n", "a\r\nB\r\n", "a\r\nB\n", "\u{FEFF}a\nB\n"] {
        assert_eq!(lift(&snap(b"a\nb\n"), content, true, true).unwrap().bytes(), b"a\nB\n");
    }
}

// B34 B37
#[test]
fn bytes_that_are_not_utf8_come_back_in_lines_that_the_agent_left_alone() {
    check(b"caf\xe9\nx\n", "caf\u{FFFD}\ny\n", b"caf\xe9\ny\n");
    check(b"\xff\xfe\nx\n", "\u{FFFD}\u{FFFD}\nx\nz\n", b"\xff\xfe\nx\nz\n");
    check(b"x\ncaf\xe9 au lait\n", "x\ncaf\u{FFFD} au choix\n", b"x\ncaf\xe9 au choix\n");
    check(b"a\n\xe9\nb\n", "a\nb\n", b"a\nb\n");
    check(b"\xe9\r\nx\n", "\u{FFFD}\nX\n", b"\xe9\r\nX\n");
}

#[test]
fn a_change_at_such_bytes_is_not_guessed() {
    let odd = |base: &[u8], content: &str| lift(&snap(base), content, false, false).map(|s| s.bytes());
    assert_eq!(odd(b"x\xe9y\n", "X\u{FFFD}Y\n"), Err(OddBytes));
    // Taking them out is no guess.
    check(b"half \xc3\nx\n", "whole\nx\n", b"whole\nx\n");
    assert_eq!(odd(b"\xe9\n", "\u{FFFD}!\u{FFFD}\n"), Err(OddBytes));
}

#[test]
fn a_replacement_character_that_is_in_the_text_is_text() {
    check("\u{FFFD}\na\n".as_bytes(), "\u{FFFD}!\na\n", "\u{FFFD}!\na\n".as_bytes());
}
