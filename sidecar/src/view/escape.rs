//! Makes a line of running text safe to show without changing what can be read of it.
//!
//! Owns the escape of messages, thoughts, prompts and tool output. Unlike the session room's `display`, which guards
//! what a person decides about, it keeps every visible character, blanks, joined emoji and U+2028: the text of an answer
//! is to be copied out as it came. Pure; called by the renderers.

use std::borrow::Cow;

/// Controls as `^X` or `<9b>`, characters that turn the direction of text as `<U+202E>`; all else as it is.
pub fn text(line: &str) -> Cow<'_, str> {
    if line.bytes().all(|b| matches!(b, b' '..=b'~' | b'\t')) || !line.chars().any(escaped) {
        return Cow::Borrowed(line);
    }
    let mut out = String::with_capacity(line.len() + 16);
    for c in line.chars() {
        match u32::from(c) {
            _ if !escaped(c) => out.push(c),
            code @ 0..0x20 => out.extend(['^', char::from(code as u8 ^ 0x40)]),
            0x7f => out.push_str("^?"),
            code @ 0x80..0xa0 => out.push_str(&format!("<{code:02x}>")),
            code => out.push_str(&format!("<U+{code:04X}>")),
        }
    }
    Cow::Owned(out)
}

fn escaped(c: char) -> bool {
    (c.is_control() && c != '\t')
        || matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

#[cfg(test)]
mod tests {
    use super::text;

    fn check(line: &str, expected: &str) {
        assert_eq!(text(line), expected);
    }

    #[test]
    fn what_can_be_read_stays_as_it_is() {
        for line in ["", "a\tb", "é 漢字", "a\u{2028}b", "👩\u{200d}💻", &" ".repeat(500)] {
            check(line, line);
        }
    }

    #[test]
    fn what_would_act_on_the_screen_is_spelled_out() {
        check("a\u{1b}[2K\rb\0c\u{7f}", "a^[[2K^Mb^@c^?");
        check("\u{85}\u{9b}é\u{202e}x\u{2066}\u{61c}", "<85><9b>é<U+202E>x<U+2066><U+061C>");
        check("one\ntwo", "one^Jtwo");
    }
}
