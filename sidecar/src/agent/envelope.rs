//! A line to JSON-RPC messages: who asks, who answers, who only tells.
//!
//! Owns the envelope only; what is inside stays raw. Lenient by design: real agents leave out `jsonrpc`, send results
//! beside a null error, echo our ids as text, and print logs between their messages. Pure functions.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::value::RawValue;

use super::repair;
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
    /// The line held bytes that are not UTF-8; they have become U+FFFD.
    pub lossy: bool,
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

/// Places in a line where a message is looked for behind other text. Bounds the work that one broken line can cost.
const TRIES: usize = 64;

/// Takes a line apart.
pub fn parse(line: &[u8]) -> Parsed {
    let text = String::from_utf8_lossy(line);
    let mut parsed = Parsed { lossy: matches!(text, Cow::Owned(_)), ..Parsed::default() };
    let text = text.trim();
    if text.is_empty() || take(text, &mut parsed) {
        return parsed;
    }
    parsed.noise = true;
    // Text that was printed without a line end before a message: the message is still there. Messages that were
    // printed without a line end between them are all there.
    let mut from = 0;
    for (at, _) in text.match_indices('{').take(TRIES) {
        if at < from {
            continue;
        }
        let mut values = serde_json::Deserializer::from_str(&text[at..]).into_iter::<&RawValue>();
        if let Some(Ok(object)) = values.next() {
            take(object.get(), &mut parsed);
            // What stands inside an object was not said to us: a log line may well quote a message.
            from = at + values.byte_offset();
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
    let found = match serde_json::from_str::<Envelope>(text) {
        Ok(envelope) => message(&envelope),
        // A key that occurs twice fails the typed parse; as a value, the last one wins.
        Err(_) => repair::value(text).ok().and_then(|value| {
            let text = value.to_string();
            serde_json::from_str::<Envelope>(&text).ok().and_then(|envelope| message(&envelope))
        }),
    };
    found.map(|message| parsed.messages.push(message)).is_some()
}

fn message(e: &Envelope) -> Option<Message> {
    let raw = |value: Option<&RawValue>| value.map_or("null", RawValue::get).to_owned();
    let says = |value: Option<&RawValue>| value.is_some_and(|v| v.get() != "null");
    // Some serializers write every field of the envelope: a call with `"result":null,"error":null` is still a call.
    let answers =
        says(e.result) || says(e.error) || (e.params.is_none() && (e.result.is_some() || e.error.is_some()));
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
    let value = repair::value(raw).unwrap_or(serde_json::Value::Null);
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

#[cfg(test)]
mod tests;
