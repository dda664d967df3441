//! Plain text of terminals: rewritten lines, progress bars, cut pieces, the limit.

use proptest::prelude::*;

use super::super::store::Store;
use super::*;

fn text(bytes: &[u8]) -> String {
    let mut plain = Plain::default();
    plain.feed(bytes);
    let (text, cut) = plain.text(usize::MAX);
    assert!(!cut);
    assert_eq!(text.len(), plain.size());
    text
}

#[test]
fn what_is_seen_in_the_end_is_the_text() {
    for (bytes, want) in [
        (&b"one\r\ntwo\r\n"[..], "one\ntwo\n"),
        (b"no newline", "no newline"),
        (b"\x1b[31mred\x1b[0m \x1b[1;32mgreen\x1b[m\r\n", "red green\n"),
        (b"\x1b]0;title\x07text\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\", "textlink"),
        (b"\x1bPq#0;2;0;0;0\x1b\\after", "after"),
        (b" 10%\r 50%\r100%\r\n", "100%\n"),
        (b"long line\rshort\x1b[K\r\n", "short\n"),
        (b"abc\x08\x08X\r\n", "aXc\n"),
        (b"abcdef\x1b[3GX\x1b[2DY\r\n", "aYXdef\n"),
        (b"abcdef\r\x1b[2P\x1b[C\x1b[Xz", "czef"),
        (b"\xe6\xbc\xa2\xe5\xad\x97\rX", "X \u{5b57}"),
        (b"\xe6\xbc\xa2\xe5\xad\x97\r\x1b[CX", " X\u{5b57}"),
        (b"e\xcc\x81a\r\x1b[Cb", "e\u{301}b"),
        (b"a\tb\r\n", "a\tb\n"),
        (b"nul\0 bell\x07 del\x7f\r\n", "nul bell del\n"),
        (b"bad \xff\xfe and \xc3", "bad \u{fffd}\u{fffd} and \u{fffd}"),
        (b"one\r\ntwo\r\n\x1b[2A\x1b[Kuno\r\n\x1b[Kdue\r\n", "uno\ndue\n"),
        (b"one\r\ntwo\r\nthree\x1b[2F\x1b[Jonly", "only"),
        (b"before\r\n\x1b[?1049h\x1b[H\x1b[2Jeditor\x1b[?1049lafter\r\n", "before\nafter\n"),
        (b"old\r\n\x1b[H\x1b[2Jnew\r\n", "old\nnew\n"),
        (b"ab\x1b7cd\x1b8X", "abXd"),
        (b"cut \x1b[31", "cut "),
        (b"\x1b[31\x18plain", "plain"),
        (b"job\x1b[999C\x1b[3D[ok]", &format!("job{:193}[ok]", "")),
        // A control sequence that makes no sense ends where any does.
        (b"\x1b[1<m\xe6\xbc\xa2", "\u{6f22}"),
        (b"\x1b[1\x7f\xc31mred", "red"),
        (b"\x1b\x7f\xc3[1mred", "red"),
        (b"\xed\x82\xe0\x98\xac\xe2", "\u{fffd}\u{fffd}\u{fffd}\u{fffd}\u{fffd}"),
        (b"\xe6\xbc\x1b[31mred", "\u{fffd}red"),
    ] {
        assert_eq!(text(bytes), want, "{:?}", String::from_utf8_lossy(bytes));
    }
}

#[test]
fn the_bars_of_well_known_programs_are_what_was_seen_last() {
    for (bytes, want) in [
        // cargo
        (
            "   \x1b[1m\x1b[32mCompiling\x1b[0m a v1\r\n\x1b[1m\x1b[36m    Building\x1b[0m [==>   ] 1/3: a   \r\x1b[K   \x1b[1m\x1b[32mCompiling\x1b[0m b v1\r\n\x1b[1m\x1b[36m    Building\x1b[0m [====> ] 2/3: b   \r\x1b[K    \x1b[1m\x1b[32mFinished\x1b[0m\r\n",
            "   Compiling a v1\n   Compiling b v1\n    Finished\n",
        ),
        // docker: lines above the cursor are rewritten
        (
            "a: Waiting\r\nb: Waiting\r\n\x1b[2A\x1b[2K\ra: Pulling\x1b[2B\r\x1b[1A\x1b[2K\rb: Done\x1b[1B\r\x1b[2A\x1b[2K\ra: Done\x1b[2B\r",
            "a: Done\nb: Done\n",
        ),
        // npm
        (
            "\u{2819}\x1b[1G\x1b[0K\u{2839}\x1b[1G\x1b[0K\r\nadded 1 package in 2s\r\n",
            "\nadded 1 package in 2s\n",
        ),
        // curl
        ("\r  0  100    0     0\r 50  100   50    50\r100  100  100   100\r\n", "100  100  100   100\n"),
        // pip
        (
            "   \u{2501}\u{2501}\u{2501} 1/2\r\x1b[2K   \u{2501}\u{2501}\u{2501}\u{2501} 2/2\x1b[?25h\r\n",
            "   \u{2501}\u{2501}\u{2501}\u{2501} 2/2\n",
        ),
    ] {
        assert_eq!(text(bytes.as_bytes()), want);
    }
}

#[test]
fn the_limit_keeps_the_end_from_a_characters_start_and_stays_said() {
    let mut store = Store::new(10);
    store.feed("äöü".as_bytes());
    assert_eq!(store.text(), ("äöü".into(), false));
    store.feed("xyz\r\n漢字".as_bytes());
    assert_eq!(store.text(), ("xyz\n漢字".into(), true));
    assert_eq!(store.last_lines(5), ["äöüxyz", "漢字"]);
    store.feed("\r\x1b[K".as_bytes());
    assert_eq!(store.text().0, "äöüxyz\n");
    let mut none = Store::new(0);
    assert_eq!(none.text(), (String::new(), false));
    none.feed(b"a");
    assert_eq!(none.text(), (String::new(), true));
}

#[test]
fn last_lines_are_looked_for_near_the_end_only() {
    let mut plain = Plain::default();
    plain.feed(b"far\r\n");
    plain.feed("\r\n".repeat(1 << 20).as_bytes());
    assert!(plain.last_lines(5).is_empty());
    plain.feed(b"near\r\n\r\n");
    assert_eq!(plain.last_lines(2), ["", "near"]);
}

/// Bytes that are kept of it, roughly.
fn kept(plain: &Plain) -> usize {
    plain.page.done.capacity() + plain.page.open.iter().map(|line| line.cells() * 4).sum::<usize>()
}

#[test]
fn what_never_ends_is_kept_within_bounds_and_its_end_is_exact() {
    for piece in ["a", "漢", "é\u{301}", "ab\x1b[900C", "\x1b[1000@", "\u{301}", "x\x1b[63A", "\x1b]0;t"] {
        let (mut plain, mut whole) = (Plain::default(), Plain::default());
        let bytes = piece.repeat(1000);
        for _ in 0..50 {
            plain.feed(bytes.as_bytes());
            plain.bound(1000);
            whole.feed(bytes.as_bytes());
            assert!(kept(&plain) < 256 << 10, "{piece:?}");
        }
        assert_eq!(plain.text(1000).0, whole.text(1000).0, "{piece:?}");
        assert!(plain.last_lines(5).iter().all(|line| line.chars().count() <= WIDE + 1));
    }
}

#[test]
fn of_a_line_that_is_very_long_the_end_can_still_be_rewritten() {
    let long = "x".repeat(3 * LONG);
    let text = text(format!("{long} 10%\x1b[4D 20%\r\nnext\r\n\x1b[2Ayes\r\n").as_bytes());
    let (first, rest) = text.split_once('\n').unwrap();
    assert!(first.len() == long.len() + 4 && first.ends_with("x 20%") && rest == "next\n", "{rest:?}");
    assert!(first.contains("yes"), "it begins where the part that can be rewritten does");
}

#[test]
fn what_has_left_the_screen_cannot_be_taken_back() {
    let mut plain = Plain::default();
    plain.resize(24, 80);
    let lines: String = (0..300).map(|n| format!("{n}\r\n")).collect();
    plain.feed(lines.as_bytes());
    (0..4).for_each(|_| plain.feed(b"\x1b[63A\x1b[J"));
    assert_eq!(plain.text(usize::MAX).0.lines().count(), 277);
    plain.feed(b"new\r\n\x1b[2J\x1b[9Aold");
    assert!(plain.text(usize::MAX).0.ends_with("276\nnew\nold"), "nor what was there before it was cleared");
}

#[test]
fn a_flood_is_kept_within_bounds_and_its_end_is_exact() {
    let mut store = Store::new(1000);
    let mut all = String::new();
    let mut plain = Plain::default();
    for n in 0..200_000 {
        store.feed(format!("{n}\r\n").as_bytes());
        plain.feed(format!("{n}\r\n").as_bytes());
        plain.bound(1000);
        assert!(plain.size() < 70_000);
        all += &format!("{n}\n");
    }
    let (text, cut) = store.text();
    assert_eq!((text.as_str(), cut), (&all[all.len() - 1000..], true));
    assert_eq!(store.last_lines(2), ["199998", "199999"]);
}

/// A slow reading of lines with carriage returns, backspaces and erasing.
fn slowly(bytes: &str) -> String {
    let mut out = String::new();
    for line in bytes.split_inclusive('\n') {
        let (mut cells, mut col): (Vec<char>, usize) = (Vec::new(), 0);
        let mut rest = line;
        while let Some(c) = rest.chars().next() {
            if let Some(after) = rest.strip_prefix("\x1b[K") {
                cells.truncate(col);
                rest = after;
                continue;
            }
            rest = &rest[c.len_utf8()..];
            match c {
                '\r' => col = 0,
                '\x08' => col = col.saturating_sub(1),
                '\n' => {}
                c => {
                    while cells.len() <= col {
                        cells.push(' ');
                    }
                    cells[col] = c;
                    col += 1;
                }
            }
        }
        out.extend(cells);
        if line.ends_with('\n') {
            out.push('\n');
        }
    }
    out
}

fn stream() -> impl Strategy<Value = Vec<u8>> {
    let piece = prop::sample::select(vec![
        "a",
        "bc",
        "é",
        "漢",
        "\u{301}",
        "\r",
        "\n",
        "\r\n",
        "\x08",
        "\t",
        "\x1b[K",
        "\x1b[2K",
        "\x1b[A",
        "\x1b[3D",
        "\x1b[2C",
        "\x1b[5G",
        "\x1b[J",
        "\x1b[H",
        "\x1b[31m",
        "\x1b]0;t\x07",
        "\x1b]0;t\x1b\\",
        "\x1bM",
        "\x1b[2P",
        "\x1b[2@",
        "\x1b[2X",
        "\x1b[?1049h",
        "\x1b[?1049l",
        "\x1b7",
        "\x1b8",
        "\x18",
        "\x1b[B",
        "\x07",
        "\x1b[1<m",
        "\x1b[>1;2$p",
        "\x1b(B",
        "\x1bP1$r\x1b\\",
        "\x1b_a\x1b\\",
    ]);
    let odd = prop::sample::select(vec![
        &b"\xff"[..],
        b"\xc3",
        b"\xe6\xbc",
        b"\xed\x82",
        b"\xe0",
        b"\x98",
        b"\xf0\x9f",
        b"\x1b",
        b"\x1b[",
        b"\x1b]",
        b"\x1b[1<",
        b"\x1bP",
        b"\x7f",
        b"\x9d",
        b"\x18",
        b"\x1a",
    ]);
    let any = prop_oneof![3 => piece.prop_map(|p| p.as_bytes().to_vec()), 1 => odd.prop_map(<[u8]>::to_vec)];
    prop::collection::vec(any, 0..40).prop_map(|pieces| pieces.concat())
}

proptest! {
    #[test]
    fn rewritten_lines_are_read_as_a_slow_reader_reads_them(
        pieces in prop::collection::vec(prop::sample::select(vec!["a", "bcd", "é", "\r", "\r\n", "\x08", "\x1b[K"]), 0..40)
    ) {
        let bytes = pieces.concat();
        prop_assert_eq!(text(bytes.as_bytes()), slowly(&bytes));
    }

    #[test]
    fn it_does_not_matter_how_the_bytes_are_cut(bytes in stream(), cuts in prop::collection::vec(0usize..100, 0..5)) {
        let whole = text(&bytes);
        let mut plain = Plain::default();
        let mut cuts: Vec<usize> = cuts.into_iter().map(|c| c.min(bytes.len())).collect();
        cuts.extend([0, bytes.len()]);
        cuts.sort_unstable();
        for window in cuts.windows(2) {
            plain.feed(&bytes[window[0]..window[1]]);
        }
        prop_assert_eq!(&plain.text(usize::MAX).0, &whole);
        let mut slow = Plain::default();
        bytes.chunks(1).for_each(|byte| slow.feed(byte));
        prop_assert_eq!(slow.text(usize::MAX).0, whole);
    }

    #[test]
    fn bytes_that_are_no_text_read_as_everybody_reads_them(
        bytes in prop::collection::vec(prop_oneof![0x80u8.., 0x20u8..0x7f], 0..40)
    ) {
        let lossy = String::from_utf8_lossy(&bytes);
        let shown: String = lossy.chars().filter(|c| !c.is_control()).collect();
        prop_assert_eq!(text(&bytes), shown);
    }

    #[test]
    fn a_limited_text_is_the_end_of_the_whole(bytes in stream(), limit in 0usize..60) {
        let whole = text(&bytes);
        let mut store = Store::new(limit);
        store.feed(&bytes);
        let (text, cut) = store.text();
        prop_assert!(whole.ends_with(&text) && text.len() <= limit);
        prop_assert_eq!(cut, text.len() < whole.len());
        prop_assert!(whole.len() - text.len() == 0 || limit - text.len() < 4);
    }
}
