//! Typed access to the tables that Lua sends, without ever panicking.
//!
//! Owns the reading of one msgpack value as a table of named fields. It never knows what a field means. Used by
//! [`super::inbound`].
//!
//! Absent and nil are the same. An empty Lua table may come as a list or as a map; both are read as either.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::PathBuf;

use rmpv::Value;

/// What is wrong with a message.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum Malformed {
    /// A field that must be there is not.
    #[error("`{0}` is missing")]
    Missing(&'static str),
    /// A field has another type, or a value out of range.
    #[error("`{0}` is not {1}")]
    Wrong(&'static str, &'static str),
    /// No such message.
    #[error("there is no message of that name")]
    Unknown,
}

/// A table, spent field by field.
#[derive(Debug, Default)]
pub struct Table(Vec<(Value, Value)>);

impl Table {
    /// `name` is for the error.
    pub fn from(value: Value, name: &'static str) -> Result<Self, Malformed> {
        match value {
            Value::Map(pairs) => Ok(Self(pairs)),
            Value::Array(items) if items.is_empty() => Ok(Self::default()),
            _ => Err(Malformed::Wrong(name, "a table")),
        }
    }

    /// The field, if it is there and not nil. A second call finds nothing.
    pub fn take(&mut self, name: &'static str) -> Option<Value> {
        let (_, value) = self.0.iter_mut().find(|(k, _)| k.as_str() == Some(name))?;
        let value = std::mem::replace(value, Value::Nil);
        (!value.is_nil()).then_some(value)
    }

    fn need(&mut self, name: &'static str) -> Result<Value, Malformed> {
        self.take(name).ok_or(Malformed::Missing(name))
    }

    /// A whole number that is not negative.
    pub fn uint(&mut self, name: &'static str) -> Result<u64, Malformed> {
        uint(&self.need(name)?).ok_or(Malformed::Wrong(name, "a whole number"))
    }

    /// The same, or nothing.
    pub fn maybe_uint(&mut self, name: &'static str) -> Result<Option<u64>, Malformed> {
        self.take(name).map(|v| uint(&v).ok_or(Malformed::Wrong(name, "a whole number"))).transpose()
    }

    /// A count or an index.
    pub fn index(&mut self, name: &'static str) -> Result<usize, Malformed> {
        usize::try_from(self.uint(name)?).map_err(|_| Malformed::Wrong(name, "an index"))
    }

    /// A buffer number.
    pub fn buf(&mut self, name: &'static str) -> Result<i64, Malformed> {
        i64::try_from(self.uint(name)?).map_err(|_| Malformed::Wrong(name, "a buffer number"))
    }

    /// A boolean; absent is false.
    pub fn flag(&mut self, name: &'static str) -> Result<bool, Malformed> {
        match self.take(name) {
            None => Ok(false),
            Some(v) => v.as_bool().ok_or(Malformed::Wrong(name, "a boolean")),
        }
    }

    /// Raw bytes.
    pub fn bytes(&mut self, name: &'static str) -> Result<Vec<u8>, Malformed> {
        bytes(self.need(name)?).ok_or(Malformed::Wrong(name, "a string"))
    }

    /// Text for people: bytes that are not UTF-8 become U+FFFD.
    pub fn text(&mut self, name: &'static str) -> Result<String, Malformed> {
        Ok(into_text(self.bytes(name)?))
    }

    /// The same, empty when absent.
    pub fn text_or_empty(&mut self, name: &'static str) -> Result<String, Malformed> {
        self.maybe_text(name).map(Option::unwrap_or_default)
    }

    /// The same, or nothing.
    pub fn maybe_text(&mut self, name: &'static str) -> Result<Option<String>, Malformed> {
        self.take(name).map(|v| bytes(v).map(into_text).ok_or(Malformed::Wrong(name, "a string"))).transpose()
    }

    /// A path, byte for byte.
    pub fn path(&mut self, name: &'static str) -> Result<PathBuf, Malformed> {
        Ok(PathBuf::from(OsString::from_vec(self.bytes(name)?)))
    }

    /// A list; absent is empty.
    pub fn list(&mut self, name: &'static str) -> Result<Vec<Value>, Malformed> {
        match self.take(name) {
            None => Ok(Vec::new()),
            Some(Value::Array(items)) => Ok(items),
            Some(Value::Map(pairs)) if pairs.is_empty() => Ok(Vec::new()),
            Some(_) => Err(Malformed::Wrong(name, "a list")),
        }
    }

    /// A list of lines as [`lines`] gives them.
    pub fn lines(&mut self, name: &'static str) -> Result<Vec<Vec<u8>>, Malformed> {
        lines(self.list(name)?, name)
    }

    /// A list of strings.
    pub fn texts(&mut self, name: &'static str) -> Result<Vec<String>, Malformed> {
        self.list(name)?
            .into_iter()
            .map(|v| bytes(v).map(into_text).ok_or(Malformed::Wrong(name, "a list of strings")))
            .collect()
    }

    /// A nested table; absent is empty.
    pub fn table(&mut self, name: &'static str) -> Result<Self, Malformed> {
        self.take(name).map_or(Ok(Self::default()), |v| Self::from(v, name))
    }
}

/// Lines of a buffer as raw bytes. The remote API sends NUL as the byte 0, while the rooms know it as LF inside a line,
/// which is what Neovim itself stores.
pub fn lines(items: Vec<Value>, name: &'static str) -> Result<Vec<Vec<u8>>, Malformed> {
    let line = |v| {
        let mut line = bytes(v).ok_or(Malformed::Wrong(name, "a list of lines"))?;
        line.iter_mut().filter(|b| **b == 0).for_each(|b| *b = b'\n');
        Ok(line)
    };
    items.into_iter().map(line).collect()
}

/// A whole number that is not negative; Lua's numbers may come as floats.
pub fn uint(value: &Value) -> Option<u64> {
    const EXACT: f64 = 9_007_199_254_740_992.0;
    value.as_u64().or_else(|| match value {
        Value::F64(f) if f.fract() == 0.0 && (0.0..=EXACT).contains(f) => Some(*f as u64),
        _ => None,
    })
}

fn bytes(value: Value) -> Option<Vec<u8>> {
    match value {
        Value::String(s) => Some(s.into_bytes()),
        Value::Binary(b) => Some(b),
        _ => None,
    }
}

fn into_text(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes).unwrap_or_else(|e| String::from_utf8_lossy(e.as_bytes()).into_owned())
}
