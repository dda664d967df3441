//! Small things done to texts and JSON for the scripted agent. Pure functions.

use std::collections::BTreeMap;

use serde_json::Value;

/// Replaces `$NAME` in every string, longer names first.
pub fn substitute(value: &Value, names: &BTreeMap<String, String>) -> Value {
    match value {
        Value::String(text) if text.contains('$') => {
            let mut text = text.clone();
            let mut sorted: Vec<_> = names.iter().collect();
            sorted.sort_by_key(|(name, _)| std::cmp::Reverse(name.len()));
            for (name, with) in sorted {
                text = text.replace(&format!("${name}"), with);
            }
            text.into()
        }
        Value::Array(items) => items.iter().map(|item| substitute(item, names)).collect(),
        Value::Object(fields) => {
            fields.iter().map(|(key, field)| (key.clone(), substitute(field, names))).collect()
        }
        other => other.clone(),
    }
}

/// Does `whole` hold everything in `part`? Objects may have more fields, arrays must have the same length.
pub fn contains(whole: &Value, part: &Value) -> bool {
    match (whole, part) {
        (_, Value::Null) => true,
        (Value::Object(whole), Value::Object(part)) => {
            part.iter().all(|(key, part)| whole.get(key).is_some_and(|whole| contains(whole, part)))
        }
        (Value::Array(whole), Value::Array(part)) => {
            whole.len() == part.len() && whole.iter().zip(part).all(|(whole, part)| contains(whole, part))
        }
        _ => whole == part,
    }
}

/// `%06d` and `%d` in a pattern become the number.
pub fn numbered(pattern: &str, number: u64) -> String {
    let Some((before, rest)) = pattern.split_once('%') else { return pattern.into() };
    let Some((width, after)) = rest.split_once('d') else { return pattern.into() };
    match width.parse::<usize>() {
        Ok(digits) => format!("{before}{number:0digits$}{after}"),
        Err(_) if width.is_empty() => format!("{before}{number}{after}"),
        Err(_) => pattern.into(),
    }
}

/// The first 300 characters, for a message.
pub fn short(value: &Value) -> String {
    let text = value.to_string();
    match text.char_indices().nth(300) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}

/// Decodes base64.
pub fn base64(text: &str) -> Result<Vec<u8>, String> {
    const ALPHABET: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut bytes = Vec::with_capacity(text.len() / 4 * 3);
    let (mut bits, mut held) = (0u32, 0);
    for byte in text.bytes().filter(|b| *b != b'=' && !b.is_ascii_whitespace()) {
        let digit =
            ALPHABET.iter().position(|b| *b == byte).ok_or_else(|| format!("{byte:#x} is not base64"))?;
        bits = bits << 6 | digit as u32;
        held += 6;
        if held >= 8 {
            held -= 8;
            bytes.push((bits >> held & 0xff) as u8);
        }
    }
    Ok(bytes)
}
