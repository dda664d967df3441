//! A line to JSON-RPC messages: who asks, who answers, who only tells.
//!
//! Owns the envelope only; what is inside stays raw. Lenient by design: real agents leave out `jsonrpc`, send results
//! beside a null error, echo our ids as text, and print logs between their messages. Pure functions.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::model::RpcError;
use crate::reply::WireId;

/// One message of an agent.
#[derive(Debug)]
pub enum Message {
    /// Owed an answer with exactly this id.
    Request { id: WireId, method: String, params: String },
    /// Never answered.
    Notification { method: String, params: String },
    /// To a call of ours. `id` is `None` when it cannot be one of ours.
    Reply { id: Option<i64>, result: Result<String, RpcError> },
}

/// What a line holds.
#[derive(Debug, Default)]
pub struct Parsed {
    /// In order.
    pub messages: Vec<Message>,
    /// The line, or a part of it, was no message.
    pub noise: bool,
}

#[derive(Deserialize)]
struct Envelope<'a> {
    #[serde(borrow, default, deserialize_with = "present")]
    id: Option<&'a RawValue>,
    #[serde(borrow, default)]
    method: Option<Cow<'a, str>>,
    #[serde(borrow, default, deserialize_with = "present")]
    params: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    result: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    error: Option<&'a RawValue>,
}

/// Tells an explicit `null` from an absent key: present is `Some`, also when it is `null`.
fn present<'de, D: serde::Deserializer<'de>>(d: D) -> Result<Option<&'de RawValue>, D::Error> {
    <&RawValue>::deserialize(d).map(Some)
}

/// Takes a line apart.
pub fn parse(line: &[u8]) -> Parsed {
    let text = String::from_utf8_lossy(line);
    let text = text.trim();
    let mut parsed = Parsed::default();
    if text.is_empty() {
        return parsed;
    }
    if take(text, &mut parsed) {
        return parsed;
    }
    parsed.noise = true;
    // Text that was printed without a line end before a message: the message is still there.
    for (at, _) in text.match_indices('{').take(64) {
        if at > 0 && take(&text[at..], &mut parsed) {
            break;
        }
    }
    parsed
}

fn take(text: &str, parsed: &mut Parsed) -> bool {
    if text.starts_with('[') {
        let Ok(items) = serde_json::from_str::<Vec<&RawValue>>(text) else { return false };
        let mut any = false;
        for item in items {
            any |= take(item.get(), parsed);
        }
        return any;
    }
    if !text.starts_with('{') {
        return false;
    }
    let repaired;
    let text = match serde_json::from_str::<Envelope>(text) {
        Ok(_) => text,
        Err(_) => {
            repaired = repair(text);
            &repaired
        }
    };
    let Ok(envelope) = serde_json::from_str::<Envelope>(text) else { return duplicate_keys(text, parsed) };
    match message(&envelope) {
        Some(message) => {
            parsed.messages.push(message);
            true
        }
        None => false,
    }
}

/// A key that occurs twice fails the typed parse; as a value, the last one wins.
fn duplicate_keys(text: &str, parsed: &mut Parsed) -> bool {
    let Ok(value) = serde_json::from_str::<serde_json::Value>(text) else { return false };
    let text = value.to_string();
    let Ok(envelope) = serde_json::from_str::<Envelope>(&text) else { return false };
    message(&envelope).map(|message| parsed.messages.push(message)).is_some()
}

fn message(e: &Envelope) -> Option<Message> {
    let raw = |value: Option<&RawValue>| value.map_or("null", RawValue::get).to_owned();
    let answers = e.result.is_some() || e.error.is_some();
    match (&e.method, e.id) {
        (Some(method), Some(id)) if !answers => Some(Message::Request {
            id: WireId(id.get().into()),
            method: method.clone().into_owned(),
            params: raw(e.params),
        }),
        (Some(method), None) => {
            Some(Message::Notification { method: method.clone().into_owned(), params: raw(e.params) })
        }
        (_, Some(id)) => Some(Message::Reply { id: number(id.get()), result: outcome(e) }),
        (None, None) => None,
    }
}

/// Our ids are integers; an agent may give them back as `"3"` or `3.0`.
fn number(raw: &str) -> Option<i64> {
    let text = raw.trim().trim_matches('"');
    let float = || text.parse::<f64>().ok().filter(|n| n.fract() == 0.0).map(|n| n as i64);
    text.parse().ok().or_else(float)
}

fn outcome(e: &Envelope) -> Result<String, RpcError> {
    match (e.result, e.error.map(RawValue::get)) {
        (_, Some(error)) if error != "null" => Err(rpc_error(error)),
        (Some(result), _) => Ok(result.get().to_owned()),
        (None, _) => Ok("null".to_owned()),
    }
}

/// An error of any shape: an object, a text, with or without code and message.
fn rpc_error(raw: &str) -> RpcError {
    let value: serde_json::Value = serde_json::from_str(raw).unwrap_or(serde_json::Value::Null);
    let code = match &value["code"] {
        serde_json::Value::String(text) => text.trim().parse().ok(),
        other => other.as_i64().or_else(|| other.as_f64().map(|n| n as i64)),
    };
    let message = match (&value, &value["message"]) {
        (serde_json::Value::String(text), _) => text.clone(),
        (_, serde_json::Value::String(text)) => text.clone(),
        (_, serde_json::Value::Null) => "the agent gave an error without a message".to_owned(),
        (_, other) => other.to_string(),
    };
    let data = &value["data"];
    RpcError {
        code: code.unwrap_or(RpcError::INTERNAL),
        message,
        data: (!data.is_null()).then(|| data.to_string().into()),
    }
}

/// Escapes of half a surrogate pair (a character split over two messages) become U+FFFD.
pub fn repair(text: &str) -> String {
    let bytes = text.as_bytes();
    let unit = |at: usize| -> Option<u16> {
        let hex = text.get(at..at + 6)?.strip_prefix("\\u")?;
        u16::from_str_radix(hex, 16).ok()
    };
    let mut out = String::with_capacity(text.len());
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
    out.push_str(&text[from..]);
    out
}

#[cfg(test)]
mod tests;
