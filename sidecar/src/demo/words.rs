//! What a prompt means to the demo agent: a few fixed sentences, read without a model.
//!
//! Owns the reading of words and of the context blocks. Pure functions; does nothing.

use serde_json::Value;

/// What a person wants.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Wish {
    /// A change of a file; without a name, of the file the person was in.
    Edit { change: Change, file: Option<String> },
    /// Run a command in a terminal of the host's.
    Run(String),
    /// Show a plan of these steps.
    Plan(Vec<String>),
    /// Something it does not understand.
    Other,
}

/// A change of a text.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Change {
    /// Every occurrence of `from`.
    Replace { from: String, to: String },
    /// A line at the end.
    Append { text: String },
}

/// The person's words: the first text block of a prompt. What stands behind it is about what came along.
pub(crate) fn prompt_text(prompt: &Value) -> String {
    let blocks = prompt.as_array().map(Vec::as_slice).unwrap_or_default();
    let first = blocks.iter().find(|b| b["type"] == "text");
    first.and_then(|b| b["text"].as_str()).unwrap_or_default().to_owned()
}

/// The first file that came along as context, as a path.
pub(crate) fn context_file(prompt: &Value) -> Option<String> {
    let blocks = prompt.as_array().map(Vec::as_slice).unwrap_or_default();
    blocks.iter().find_map(|block| match block["type"].as_str() {
        Some("resource") => path_of_uri(block["resource"]["uri"].as_str()?),
        Some("resource_link") => path_of_uri(block["uri"].as_str()?),
        _ => None,
    })
}

/// `file:///a%20b#L3` is `/a b`.
fn path_of_uri(uri: &str) -> Option<String> {
    crate::uri::path_of(uri)?.into_os_string().into_string().ok().filter(|path| path.starts_with('/'))
}

/// Reads a prompt.
pub(crate) fn wish(text: &str) -> Wish {
    let text = keyword(text.trim(), "please").unwrap_or(text).trim();
    if let Some(rest) = keyword(text, "replace") {
        return replace(rest).unwrap_or(Wish::Other);
    }
    if let Some(rest) = keyword(text, "append") {
        return append(rest).unwrap_or(Wish::Other);
    }
    if let Some(line) =
        keyword(text, "run").map(|rest| rest.trim_matches('`')).filter(|line| !line.is_empty())
    {
        return Wish::Run(line.to_owned());
    }
    match keyword(text, "plan") {
        Some(rest) => Wish::Plan(steps(rest)),
        None => Wish::Other,
    }
}

/// What follows a word at the start, in any case; nothing unless the word stands alone.
fn keyword<'a>(text: &'a str, word: &str) -> Option<&'a str> {
    let head = text.get(..word.len())?;
    let rest = &text[word.len()..];
    let alone = rest.is_empty() || rest.starts_with(char::is_whitespace);
    (alone && head.eq_ignore_ascii_case(word)).then(|| rest.trim_start())
}

/// A quoted text or one word at the start, and what follows it.
fn item(text: &str) -> Option<(String, &str)> {
    let quote = text.chars().next()?;
    let close = match quote {
        '"' | '\'' | '`' => quote,
        '“' => '”',
        _ => {
            let end = text.find(char::is_whitespace).unwrap_or(text.len());
            return Some((text[..end].to_string(), text[end..].trim_start()));
        }
    };
    let inside = &text[quote.len_utf8()..];
    let end = inside.find(close)?;
    Some((inside[..end].to_string(), inside[end + close.len_utf8()..].trim_start()))
}

/// A file name at the end of a sentence.
fn file(text: &str) -> Option<String> {
    let (name, rest) = item(text)?;
    let name = name.strip_suffix(['.', ',', '!', '?']).unwrap_or(&name).to_string();
    (rest.is_empty() && !name.is_empty()).then_some(name)
}

fn replace(text: &str) -> Option<Wish> {
    let (from, rest) = item(text)?;
    let (to, rest) = item(keyword(rest, "with")?)?;
    let file = match rest.trim_matches(['.', '!']) {
        "" => None,
        _ => Some(file(keyword(rest, "in")?)?),
    };
    (!from.is_empty()).then_some(Wish::Edit { change: Change::Replace { from, to }, file })
}

fn append(text: &str) -> Option<Wish> {
    if text.starts_with(['"', '\'', '`', '“']) {
        let (text, rest) = item(text)?;
        let file = if rest.is_empty() {
            None
        } else {
            Some(file(keyword(rest, "to").or_else(|| keyword(rest, "in"))?)?)
        };
        return Some(Wish::Edit { change: Change::Append { text }, file });
    }
    // Without quotes, a last "to" or "in" names a file only if what follows looks like one: "append I want to go" does not.
    let named = [" to ", " in "].iter().filter_map(|word| text.rsplit_once(word)).find_map(|(text, name)| {
        let name = file(name.trim())?;
        (name.contains(['.', '/'])).then(|| (text.trim().to_string(), name))
    });
    let (text, file) = match named {
        Some((text, file)) => (text, Some(file)),
        None => (text.trim().to_string(), None),
    };
    (!text.is_empty()).then_some(Wish::Edit { change: Change::Append { text }, file })
}

/// Steps named with commas, semicolons or "then"; a plan of one step is made of the words themselves.
fn steps(text: &str) -> Vec<String> {
    let parts = text.split([',', ';', '\n']).flat_map(|part| part.split(" then "));
    let part = |part: &str| {
        let part = part.trim().trim_end_matches('.');
        let part = keyword(part, "then").or_else(|| keyword(part, "and")).unwrap_or(part);
        part.to_string()
    };
    let steps: Vec<String> = parts.map(part).filter(|p| !p.is_empty()).collect();
    if steps.is_empty() {
        vec!["Say what the plan is about: `plan first this, then that`".into()]
    } else {
        steps
    }
}
