//! Neovim's values as JSON and back: tests speak JSON.

use nvim_rs::Value;
use serde_json::{Map, Number};

/// From Neovim. Handles of buffers and windows become their numbers; bytes that are not UTF-8 become U+FFFD.
pub fn to_json(value: &Value) -> serde_json::Value {
    match value {
        Value::Nil => serde_json::Value::Null,
        Value::Boolean(b) => (*b).into(),
        Value::Integer(i) => match (i.as_i64(), i.as_u64()) {
            (Some(i), _) => i.into(),
            (None, Some(u)) => u.into(),
            (None, None) => serde_json::Value::Null,
        },
        Value::F32(f) => Number::from_f64(f64::from(*f)).into(),
        Value::F64(f) => Number::from_f64(*f).into(),
        Value::String(text) => String::from_utf8_lossy(text.as_bytes()).into_owned().into(),
        Value::Binary(bytes) => String::from_utf8_lossy(bytes).into_owned().into(),
        Value::Array(items) => items.iter().map(to_json).collect(),
        Value::Map(fields) => {
            let name = |key: &Value| key.as_str().map_or_else(|| key.to_string(), String::from);
            fields.iter().map(|(key, field)| (name(key), to_json(field))).collect::<Map<_, _>>().into()
        }
        Value::Ext(_, bytes) => {
            rmpv::decode::read_value(&mut bytes.as_slice()).map_or(serde_json::Value::Null, |v| to_json(&v))
        }
    }
}

/// To Neovim.
pub fn from_json(value: &serde_json::Value) -> Value {
    match value {
        serde_json::Value::Null => Value::Nil,
        serde_json::Value::Bool(b) => (*b).into(),
        serde_json::Value::Number(n) => match (n.as_i64(), n.as_u64()) {
            (Some(i), _) => i.into(),
            (None, Some(u)) => u.into(),
            (None, None) => n.as_f64().unwrap_or_default().into(),
        },
        serde_json::Value::String(text) => text.as_str().into(),
        serde_json::Value::Array(items) => Value::Array(items.iter().map(from_json).collect()),
        serde_json::Value::Object(fields) => {
            Value::Map(fields.iter().map(|(key, field)| (key.as_str().into(), from_json(field))).collect())
        }
    }
}
