//! The smallest change from one text to another, as edits that keep marks, folds and cursors where they belong.
//!
//! Owns no state. It never looks at a buffer or a tick. Called by writes.
//!
//! Positions are Neovim's: zero-based lines, byte columns of Neovim's line, ends exclusive. An edit is either of whole
//! lines, `(l, 0)` to `(m, 0)` with zero or more complete `"line\n"` pieces, or inside one line. New text breaks lines at
//! LF only, holds NUL as U+0000 and is escaped as a rope's (see `text`). A buffer without any line counts as one empty line, which an edit then replaces.

use lsp_types::{Position, Range, TextEdit};

use crate::workspace::lines::{changes, flat, split};
use crate::workspace::text::{self, Snapshot};

/// A replacement of so many lines by as many is refined line by line.
const REFINE_LINES: usize = 64;

/// Edits that turn `old` into `new`; ascending, disjoint, in coordinates of `old`.
pub fn edits(old: &Snapshot, new: &Snapshot) -> Vec<TextEdit> {
    if old.rope == new.rope {
        return Vec::new();
    }
    if old.is_empty() {
        return vec![whole(0, 1, &new.rope.chunks().collect::<String>())];
    }
    let (old_text, new_text) = (flat(&old.rope), flat(&new.rope));
    let (old_lines, new_lines) = (split(&old_text), split(&new_text));
    let mut out = Vec::new();
    for (o, n) in changes(&old_lines, &new_lines) {
        push_change(&mut out, o.start, &old_lines[o.clone()], &new_lines[n]);
    }
    out
}

fn push_change(out: &mut Vec<TextEdit>, at: usize, old: &[&str], new: &[&str]) {
    if old.len() == new.len() && old.len() <= REFINE_LINES {
        out.extend(old.iter().zip(new).enumerate().filter_map(|(i, (o, n))| within(at + i, o, n)));
    } else {
        out.push(whole(at, at + old.len(), &new.concat()));
    }
}

fn edit(start: (usize, usize), end: (usize, usize), new_text: String) -> TextEdit {
    let at = |(line, col)| Position::new(clip(line), clip(col));
    TextEdit { range: Range::new(at(start), at(end)), new_text }
}

/// Positions are 32 bits; no mirrored buffer comes near.
fn clip(n: usize) -> u32 {
    u32::try_from(n).unwrap_or(u32::MAX)
}

fn whole(first: usize, last: usize, new: &str) -> TextEdit {
    edit((first, 0), (last, 0), new.to_owned())
}

/// One line becomes one line: only what differs, at character boundaries.
fn within(line: usize, old: &str, new: &str) -> Option<TextEdit> {
    let (old, new) = (old.strip_suffix('\n').unwrap_or(old), new.strip_suffix('\n').unwrap_or(new));
    if old == new {
        return None;
    }
    // An escaped byte may be a part of a character; such a line is replaced from end to end.
    let (prefix, suffix) =
        if text::has_escapes(old) || text::has_escapes(new) { (0, 0) } else { common(old, new) };
    let (from, to) = (text::nvim_col(old, prefix), text::nvim_col(old, old.len() - suffix));
    Some(edit((line, from), (line, to), new[prefix..new.len() - suffix].to_owned()))
}

/// Bytes of the common prefix and of the common suffix behind it.
fn common(old: &str, new: &str) -> (usize, usize) {
    let same = |(a, b): &(char, char)| a == b;
    let prefix: usize = old.chars().zip(new.chars()).take_while(same).map(|(c, _)| c.len_utf8()).sum();
    let (old, new) = (&old[prefix..], &new[prefix..]);
    let suffix = old.chars().rev().zip(new.chars().rev()).take_while(same).map(|(c, _)| c.len_utf8()).sum();
    (prefix, suffix)
}

/// What Neovim makes of `edits`; for tests.
#[cfg(test)]
pub fn apply(old: &Snapshot, edits: &[TextEdit], eol: bool, empty: bool) -> Snapshot {
    let mut lines: Vec<Vec<u8>> = (0..old.lines())
        .map(|i| text::line_bytes(old.rope.line(i).to_string().trim_end_matches('\n')))
        .collect();
    if lines.is_empty() {
        lines.push(Vec::new());
    }
    let neovim = |s: &str| -> Vec<Vec<u8>> { s.split('\n').map(text::line_bytes).collect() };
    for e in edits.iter().rev() {
        let (s, t) = (e.range.start, e.range.end);
        let mut new = neovim(&e.new_text);
        let (sl, tl) = (s.line as usize, t.line as usize);
        if s.character == 0 && t.character == 0 && (sl != tl || e.new_text.ends_with('\n')) {
            assert_eq!(new.pop(), Some(vec![]), "whole lines end in a newline");
            lines.splice(sl..tl, new);
        } else {
            assert_eq!((sl, new.len()), (tl, 1));
            lines[sl].splice(s.character as usize..t.character as usize, new.remove(0));
        }
    }
    assert!(empty || !lines.is_empty(), "only an empty text leaves no line");
    if empty {
        assert!(lines.iter().all(Vec::is_empty) && lines.len() <= 1);
        lines.clear();
    }
    Snapshot { rope: ropey::Rope::from_str(&text::from_lines(&lines)), eol }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn check(old: &str, new: &str) -> Vec<(u32, u32, u32, u32, String)> {
        let (old, new) = (Snapshot::from_wire(old), Snapshot::from_wire(new));
        let edits = edits(&old, &new);
        for pair in edits.windows(2) {
            assert!(pair[0].range.end <= pair[1].range.start, "ascending and disjoint: {edits:?}");
        }
        assert_eq!(apply(&old, &edits, new.eol, new.is_empty()), new, "{edits:?}");
        edits
            .into_iter()
            .map(|e| {
                let (s, t) = (e.range.start, e.range.end);
                (s.line, s.character, t.line, t.character, e.new_text)
            })
            .collect()
    }

    #[test]
    fn a_changed_word_is_an_edit_inside_its_line() {
        assert_eq!(check("a\nlet x = 1;\nb\n", "a\nlet xy = 1;\nb\n"), [(1, 5, 1, 5, "y".into())]);
        assert_eq!(check("grün\n", "grøn\n"), [(0, 2, 0, 4, "ø".into())]);
        assert_eq!(check("aaa\n", "aa\n"), [(0, 2, 0, 3, String::new())]);
    }

    #[test]
    fn lines_added_at_the_top_and_a_line_changed_below_are_two_small_edits() {
        let old: String = (1..=40).map(|i| format!("line {i}\n")).collect();
        let new = format!("x\ny\nz\n{}", old.replace("line 18\n", "line eighteen\n"));
        assert_eq!(check(&old, &new), [(0, 0, 0, 0, "x\ny\nz\n".into()), (17, 5, 17, 7, "eighteen".into())]);
    }

    #[test]
    fn lines_appended_and_lines_deleted_are_whole_lines() {
        assert_eq!(check("a\n", "a\nb\nc\n"), [(1, 0, 1, 0, "b\nc\n".into())]);
        assert_eq!(check("a\nb\nc\n", "a\n"), [(1, 0, 3, 0, String::new())]);
    }

    #[test]
    fn a_buffer_without_lines_has_its_one_shown_line_replaced() {
        assert_eq!(check("", "a\n"), [(0, 0, 1, 0, "a\n".into())]);
        assert_eq!(check("a\nb\n", ""), [(0, 0, 2, 0, String::new())]);
        assert_eq!(check("", "\n"), [(0, 0, 1, 0, "\n".into())]);
    }

    #[test]
    fn only_the_final_newline_differs_needs_no_edit() {
        assert!(check("a\n", "a").is_empty());
    }

    #[test]
    fn nul_and_odd_line_breaks_stay_inside_their_line() {
        assert_eq!(check("a\0b\n", "a\0c\n"), [(0, 2, 0, 3, "c".into())]);
        check("a\u{2028}b\rc\u{c}\n", "a\u{2028}\0b\rc\u{85}\n");
        check("x\u{10FE01}y\n", "x\u{10FE02}y\n");
    }

    #[test]
    fn a_large_rewrite_is_still_right() {
        let old: String = (0..30_000).map(|i: u64| format!("{}\n", i * 7919 % 10_007)).collect();
        let new: String = (0..30_000).map(|i: u64| format!("{}\n", i * 104_729 % 10_007)).collect();
        check(&old, &new);
    }

    fn texts() -> impl Strategy<Value = String> {
        let line = prop::sample::select(vec![
            "",
            "a",
            "b",
            "ab",
            "aab",
            "grün",
            "grøn",
            "a\0b",
            "\u{10FE01}",
            "x\u{10FE02}",
            "\r",
            "same",
            "same same",
        ]);
        (prop::collection::vec(line, 0..14), any::<bool>()).prop_map(|(lines, eol)| {
            let text = lines.join("\n");
            if eol { text + "\n" } else { text }
        })
    }

    proptest! {
        #[test]
        fn applied_edits_give_exactly_the_new_text(old in texts(), new in texts()) {
            check(&old, &new);
        }
    }
}
