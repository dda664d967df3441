//! JSON text that a strict parser refuses, made readable: halves of characters, and nesting without end.
//!
//! Owns nothing; pure functions, called where a parse has failed (`envelope`, `decode`), so that well-formed messages
//! never pay for it.

use std::borrow::Cow;

use serde_json::Value;

/// Containers nested deeper than this become a text that holds their JSON. Below the parser's own limit (128), so that
/// whoever parses a part of it again is safe too.
pub const DEPTH: usize = 100;

/// Parses raw JSON; where that fails, parses what can be made of it.
pub fn value(raw: &str) -> Result<Value, serde_json::Error> {
    serde_json::from_str(raw).or_else(|_| serde_json::from_str(&shallow(&surrogates(raw))))
}

/// Escapes of half a surrogate pair (a character split over two messages) become U+FFFD.
pub fn surrogates(text: &str) -> Cow<'_, str> {
    let bytes = text.as_bytes();
    let unit = |at: usize| -> Option<u16> {
        let hex = text.get(at..at + 6)?.strip_prefix("\\u")?;
        u16::from_str_radix(hex, 16).ok()
    };
    let mut out = String::new();
    let (mut at, mut from) = (0, 0);
    while at < bytes.len() {
        if bytes[at] != b'\\' {
            at += 1;
            continue;
        }
        match unit(at) {
            Some(0xD800..=0xDBFF) if matches!(unit(at + 6), Some(0xDC00..=0xDFFF)) => at += 12,
            Some(0xD800..=0xDFFF) => {
                out.push_str(&text[from..at]);
                out.push_str("\\ufffd");
                at += 6;
                from = at;
            }
            Some(_) => at += 6,
            None => at += 2,
        }
    }
    if from == 0 {
        return Cow::Borrowed(text);
    }
    out.push_str(&text[from..]);
    Cow::Owned(out)
}

/// What lies deeper than [`DEPTH`] becomes a text of itself: nothing is lost, and everything around it can be read.
pub fn shallow(text: &str) -> Cow<'_, str> {
    let bytes = text.as_bytes();
    let mut out = String::new();
    let (mut depth, mut from, mut deep) = (0usize, 0, 0);
    let (mut at, mut quoted) = (0, false);
    while at < bytes.len() {
        match bytes[at] {
            b'\\' if quoted => at += 1,
            b'"' => quoted = !quoted,
            b'{' | b'[' if !quoted => {
                if depth == DEPTH {
                    deep = at;
                }
                depth += 1;
            }
            b'}' | b']' if !quoted => {
                depth = depth.saturating_sub(1);
                if depth == DEPTH {
                    out.push_str(&text[from..deep]);
                    out.push_str(&Value::from(&text[deep..=at]).to_string());
                    from = at + 1;
                }
            }
            _ => {}
        }
        at += 1;
    }
    if from == 0 {
        return Cow::Borrowed(text);
    }
    out.push_str(&text[from..]);
    Cow::Owned(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_a_surrogate_pair_becomes_a_replacement_character() {
        assert_eq!(surrogates(r#""a\ud83db""#), r#""a\ufffdb""#);
        assert_eq!(surrogates(r#""\ud83d\ude00 \\ud83d""#), r#""\ud83d\ude00 \\ud83d""#);
        assert_eq!(surrogates(r#""\ude00\ud83d\ud83d\ude00""#), r#""\ufffd\ufffd\ud83d\ude00""#);
        assert_eq!(surrogates(r#""é\é\"#), r#""é\é\"#);
    }

    #[test]
    fn what_is_nested_too_deeply_is_kept_as_text_and_its_siblings_stay_readable() {
        let deep = format!("{}1{}", "[".repeat(300), "]".repeat(300));
        let json = format!(r#"{{"a":"]}}","deep":{deep},"b":2}}"#);
        let value = value(&json).unwrap();
        assert_eq!((value["a"].as_str(), value["b"].as_u64()), (Some("]}"), Some(2)));
        let text = value.to_string();
        assert_eq!(text.matches("[").count(), 300);
        assert!(serde_json::from_str::<Value>(&text).is_ok());
    }

    #[test]
    fn ordinary_text_is_not_copied() {
        let json = r#"{"a":["\\","\"[",{}]}"#;
        assert!(matches!(surrogates(json), Cow::Borrowed(_)) && matches!(shallow(json), Cow::Borrowed(_)));
    }

    #[test]
    fn text_that_is_no_json_stays_an_error() {
        for text in ["", "{", "]]]]", "\"", "\\", "{\"a\":}"] {
            assert!(value(text).is_err(), "{text}");
        }
    }
}
