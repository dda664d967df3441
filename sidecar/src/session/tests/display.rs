//! Untrusted text, made safe to show.

use crate::session::display::{block, lines, one_line, shorten};

#[track_caller]
fn check(text: &str, expected: &str) {
    assert_eq!(one_line(text), expected);
}

#[test]
fn controls_are_visible() {
    check("ls\x1b[2K\rrm -rf ~", "ls^[[2K^Mrm -rf ~");
    check("\0\x07\x7f", "^@^G^?");
    check("a\u{9b}31mb\u{85}", "a<9b>31mb<85>");
    check("a\tb", "a^Ib");
}

#[test]
fn a_line_end_is_a_sign_in_one_line() {
    check("a\nb\r\nc", "a⏎b⏎c");
}

#[test]
fn text_that_changes_direction_or_has_no_width_is_named() {
    check("a\u{202e}b\u{2066}c\u{200f}", "a<U+202E>b<U+2066>c<U+200F>");
    check("pay\u{200b}pal\u{feff}\u{ad}", "pay<U+200B>pal<U+FEFF><U+00AD>");
    check("\u{2028}\u{e0041}\u{3164}\u{2800}", "<U+2028><U+E0041><U+3164><U+2800>");
    check("a\u{fe0f}", "a<U+FE0F>");
}

#[test]
fn what_is_not_dangerous_stays_as_it_is() {
    check("%#=<CR>|{%\"'\\ Grüße 日本 ✔\u{fe0f}", "%#=<CR>|{%\"'\\ Grüße 日本 ✔\u{fe0f}");
    check("", "");
    check("  a  ", "  a  ");
}

#[test]
fn blanks_cannot_push_text_out_of_sight() {
    check(&format!("ls{}; rm", " ".repeat(5000)), "ls<5000 spaces>; rm");
    check(&format!("ls{}; rm", "\u{a0}\u{2003} ".repeat(20)), "ls<60 spaces>; rm");
    check(&format!("ls{}", " ".repeat(41)), "ls<41 spaces>");
    let some = " ".repeat(40);
    check(&format!("ls{some}x"), &format!("ls{some}x"));
    assert_eq!(lines(&format!("a{}b", "\t".repeat(50))), ["a<50 spaces>b"]);
    assert_eq!(block(&format!("a{}b", "\n".repeat(300))), "a\n<299 empty lines>\nb");
}

#[test]
fn several_lines_stay_lines() {
    assert_eq!(lines("a\n\n\tb\r\nc\x1b\n"), ["a", "", "\tb", "c^["]);
    assert_eq!(lines(""), [""]);
    assert_eq!(block("a\rb\n"), "a^Mb");
}

#[test]
fn shortening_says_that_it_cut() {
    assert_eq!(shorten("äöü", 3), ("äöü".into(), false));
    assert_eq!(shorten("äöüß", 3), ("äöü…".into(), true));
}
