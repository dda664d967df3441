//! Makes untrusted text safe to show: nothing in it can hide, reorder or imitate another part of the screen.
//!
//! Owns the one escape that titles, commands, paths and option names go through before a person decides about them.
//! Nothing is ever cut here, so the full text stays reachable. Pure; called by the session room (questions, states,
//! notices) and by whoever shows an agent's words outside of running text.
//!
//! Controls become `^X` (C0, DEL) or `<9b>` (C1), invisible and bidirectional format characters `<U+202E>`, a line end
//! `⏎` where only one line is shown, and blanks that could push text out of sight `<5000 spaces>` or
//! `<300 empty lines>`.

/// A run of blanks longer than this is shown as its length.
const MAX_BLANKS: usize = 40;

/// More empty lines in a row than this are shown as their number.
const MAX_EMPTY_LINES: usize = 10;

/// One line: line ends as `⏎`, tabs as `^I`.
pub fn one_line(text: &str) -> String {
    escape(&text.replace("\r\n", "\n"), true)
}

/// Real lines, each escaped; tabs stay, a single final line end makes no empty line.
pub fn lines(text: &str) -> Vec<String> {
    let text = text.replace("\r\n", "\n");
    let text = text.strip_suffix('\n').unwrap_or(&text);
    let mut out: Vec<String> = Vec::new();
    let mut empty = 0;
    for line in text.split('\n') {
        if line.is_empty() {
            empty += 1;
            continue;
        }
        push_empty(&mut out, empty);
        empty = 0;
        out.push(escape(line, false));
    }
    push_empty(&mut out, empty);
    out
}

/// `lines`, as one text with real line ends.
pub fn block(text: &str) -> String {
    lines(text).join("\n")
}

/// At most `max` characters of already escaped text, with `…` where the rest is missing; says whether it cut. For
/// places whose full text is shown elsewhere.
pub fn shorten(text: &str, max: usize) -> (String, bool) {
    match text.char_indices().nth(max) {
        Some((at, _)) => (format!("{}…", &text[..at]), true),
        None => (text.to_owned(), false),
    }
}

fn push_empty(out: &mut Vec<String>, count: usize) {
    if count > MAX_EMPTY_LINES {
        out.push(format!("<{count} empty lines>"));
    } else {
        out.extend(std::iter::repeat_n(String::new(), count));
    }
}

fn escape(text: &str, single: bool) -> String {
    let mut out = String::with_capacity(text.len());
    let mut blanks = 0;
    let mut run_start = 0;
    let mut previous = ' ';
    for c in text.chars() {
        if is_blank(c, single) {
            if blanks == 0 {
                run_start = out.len();
            }
            blanks += 1;
            out.push(c);
        } else {
            collapse(&mut out, run_start, blanks);
            blanks = 0;
            push(&mut out, c, previous);
        }
        previous = c;
    }
    collapse(&mut out, run_start, blanks);
    out
}

fn collapse(out: &mut String, start: usize, blanks: usize) {
    if blanks > MAX_BLANKS {
        out.truncate(start);
        out.push_str(&format!("<{blanks} spaces>"));
    }
}

fn push(out: &mut String, c: char, previous: char) {
    let code = u32::from(c);
    match code {
        0x0a => out.push('⏎'),
        0x00..=0x1f => {
            out.push('^');
            out.push(char::from(u8::try_from(code).unwrap_or(0) ^ 0x40));
        }
        0x7f => out.push_str("^?"),
        0x80..=0x9f => out.push_str(&format!("<{code:02x}>")),
        // The presentation selectors of an emoji change its looks only; behind plain text they would be hidden.
        0xfe0e | 0xfe0f if !previous.is_ascii() && !is_invisible(u32::from(previous)) => out.push(c),
        _ if is_invisible(code) => out.push_str(&format!("<U+{code:04X}>")),
        _ => out.push(c),
    }
}

/// Shown as nothing but width. A tab counts where it is not escaped anyway.
fn is_blank(c: char, single: bool) -> bool {
    matches!(c, ' ' | '\u{a0}' | '\u{1680}' | '\u{2000}'..='\u{200a}' | '\u{202f}' | '\u{205f}' | '\u{3000}')
        || (c == '\t' && !single)
}

/// Format characters, fillers and selectors: no width, or a change of direction.
fn is_invisible(code: u32) -> bool {
    matches!(code,
        0xad | 0x34f | 0x61c | 0x115f | 0x1160 | 0x17b4 | 0x17b5 | 0x180b..=0x180f
        | 0x200b..=0x200f | 0x2028..=0x202e | 0x2060..=0x206f | 0x2800 | 0x3164
        | 0xfe00..=0xfe0f | 0xfeff | 0xffa0 | 0xfff0..=0xfffb
        | 0x1bca0..=0x1bca3 | 0x1d173..=0x1d17a | 0xe0000..=0xe0fff)
}
