//! Lenient access to the fields of a JSON object: the small words `decode` is written in.
//!
//! Owns nothing. `null` is absent; a number where a text is expected is its text.

use std::sync::Arc;

use serde_json::Value;

use crate::model::Patch;

/// The value of a key, unless absent or `null`.
pub fn present<'a>(value: &'a Value, key: &str) -> Option<&'a Value> {
    value.get(key).filter(|v| !v.is_null())
}

/// A text, or a number as its text.
pub fn text(value: &Value, key: &str) -> Option<String> {
    match value.get(key)? {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    }
}

/// A whole number, given as integer, float or text; negative ones count as 0.
pub fn whole(value: &Value) -> Option<u64> {
    let float = |n: f64| if n.is_finite() { Some(n.max(0.0) as u64) } else { None };
    match value {
        Value::Number(n) => n.as_u64().or_else(|| n.as_f64().and_then(float)),
        Value::String(text) => text.trim().parse::<f64>().ok().and_then(float),
        _ => None,
    }
}

/// Whether a number, or a text that is one, is below zero.
pub fn negative(value: &Value) -> bool {
    let number = value.as_f64().or_else(|| value.as_str().and_then(|text| text.trim().parse().ok()));
    number.is_some_and(|n: f64| n < 0.0)
}

/// `whole` of a key.
pub fn count(value: &Value, key: &str) -> Option<u64> {
    value.get(key).and_then(whole)
}

/// Only a plain `true` is true; anything that is not one means off, as for an absent capability.
pub fn flag(value: &Value, key: &str) -> bool {
    value.get(key).and_then(Value::as_bool).unwrap_or(false)
}

/// Raw JSON of a value.
pub fn raw(value: &Value) -> Arc<str> {
    value.to_string().into()
}

/// A field of which absent and `null` both mean unchanged.
pub fn keep<T>(value: Option<T>) -> Patch<T> {
    value.map_or(Patch::Keep, Patch::Set)
}

/// A field of which absent means unchanged and `null` means cleared.
pub fn three(value: &Value, key: &str) -> Patch<String> {
    match value.get(key) {
        None => Patch::Keep,
        Some(Value::Null) => Patch::Clear,
        Some(_) => keep(text(value, key)),
    }
}
