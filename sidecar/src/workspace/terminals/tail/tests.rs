//! The filter of what reaches an editor's terminal, and the end that is kept.

use proptest::prelude::*;

use super::*;

fn filtered(pieces: &[&[u8]]) -> String {
    let mut tail = Tail::new(1 << 20);
    let out: Vec<u8> = pieces.iter().flat_map(|piece| tail.push(piece)).collect();
    assert_eq!(tail.tail(), (out.clone(), false));
    String::from_utf8_lossy(&out).into_owned()
}

#[test]
fn orders_to_the_owner_of_the_terminal_do_not_pass_and_all_else_does() {
    for (bytes, passes) in [
        (&b"a\x1b]52;c;aGk=\x07b"[..], "ab"),
        (b"a\x1b]52;c;aGk=\x1b\\b", "ab"),
        (b"a\xc2\x9d52;c;aGk=\xc2\x9cb", "ab"),
        (b"a\x1b\x07]52;c;aGk=\x07b", "ab"),
        (b"a\x1b\x7f]52;c;aGk=\x1b\\b", "ab"),
        ("a\x1bä]52;c;aGk=\x1b\\b".as_bytes(), "aä]52;c;aGk=\x1b\\b"),
        (b"\x1b]0;title\x07x\x07y", "xy"),
        (b"\x1b]8;;javascript:x\x1b\\no\x1b]8;;\x1b\\", "no\x1b]8;;\x1b\\"),
        (b"\x1b]8;id=1;MAILTO:a\x07m\x1b]8;x\x07", "\x1b]8;id=1;MAILTO:a\x1b\\m"),
        (b"\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\", "\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\"),
        (b"\x1bP+q544e\x1b\\x\x1b_apc\x1b\\\x1b^pm\x1b\\", "x"),
        (b"\x1b[31mred\x1b[0m\x1b[6n\x1b(B\xc3\xa9\xc2\xa9", "\x1b[31mred\x1b[0m\x1b[6n\x1b(Bé©"),
        (b"\x1b]52;\x1b[31mred", "\x1b[31mred"),
    ] {
        assert_eq!(filtered(&[bytes]), passes, "{bytes:?}");
        for at in 0..=bytes.len() {
            assert_eq!(filtered(&[&bytes[..at], &bytes[at..]]), passes, "{bytes:?} cut at {at}");
        }
    }
}

#[test]
fn the_end_begins_at_a_line_where_something_is_missing() {
    let mut tail = Tail::new(10);
    tail.push(b"one\ntwo\n");
    assert_eq!(tail.tail(), (b"one\ntwo\n".to_vec(), false));
    tail.push(b"three\nfour\nfive\n");
    assert_eq!(tail.tail(), (b"five\n".to_vec(), true));
    assert!(tail.bytes.len() <= 20);
}

proptest! {
    #[test]
    fn it_does_not_matter_how_the_bytes_are_cut(
        bytes in prop::collection::vec(prop::sample::select(b"\x1b]\x07\\8;P52a\n\xc2\x9d\x9c\x18\xe9".to_vec()), 0..60),
        cuts in prop::collection::vec(0usize..60, 0..4),
    ) {
        let whole = filtered(&[&bytes]);
        let mut cuts: Vec<usize> = cuts.into_iter().map(|c| c.min(bytes.len())).collect();
        cuts.extend([0, bytes.len()]);
        cuts.sort_unstable();
        let pieces: Vec<&[u8]> = cuts.windows(2).map(|w| &bytes[w[0]..w[1]]).collect();
        prop_assert_eq!(filtered(&pieces), whole);
    }
}

#[test]
fn a_part_begins_at_a_line_that_is_near_or_at_a_sequence_or_where_it_is() {
    for (bytes, want) in [
        (format!("abc\r\nline{}", "x".repeat(9000)), 5),
        (format!("20;228mAB\x1b[1mC{}", "x".repeat(9000)), 9),
        ("x".repeat(9000) + "\r\n", 0),
        (format!("8;2m漢{}", "x".repeat(9000)), 4),
    ] {
        assert_eq!(beginning(bytes.as_bytes()), want);
    }
    let mut tail = Tail::new(9000);
    tail.push("x".repeat(99_999).as_bytes());
    tail.push(b"\r\n");
    let (rest, skipped) = tail.tail();
    assert!(skipped && rest.len() == 9000, "a line that is too long is there all the same");
}
