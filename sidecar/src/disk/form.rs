//! The bytes of a file to its text, and back: encoding, byte order mark, line ends.
//!
//! Owns no state. It never changes a byte on the way there and back: what cannot be given back the same is not read, and
//! what cannot be expressed is not written. Called by `read` and `write`.
//!
//! Encodings are tried as Neovim tries 'fileencodings', with one difference: where nothing fits, Neovim shows the file
//! with question marks and makes the buffer read-only; here that is an error.

use std::borrow::Cow;

use super::charset::{Charset, UTF8};
use crate::event::{DiskError, Form};

/// What is tried when nobody says.
const ENCODINGS: [&str; 3] = ["ucs-bom", "utf-8", "latin1"];

/// Text and form of a file's bytes. The first of `encodings` that gives the bytes back is taken. As in Neovim, those of
/// Unicode also find their own byte order mark. The name of an encoding that we do not have ends the search where it
/// stands: what Neovim would make of the bytes is then not known.
pub fn decode(bytes: Vec<u8>, encodings: &[String]) -> Result<(Vec<u8>, Form), DiskError> {
    if bytes.is_empty() {
        return Ok((bytes, Form::default()));
    }
    let binary = bytes.contains(&0) && std::str::from_utf8(&bytes).is_err();
    let given = encodings.iter().map(String::as_str);
    // At the end of the list Neovim takes the bytes for what it uses itself.
    let rest: &[&str] = if encodings.is_empty() { &ENCODINGS } else { &["utf-8"] };
    for name in given.chain(rest.iter().copied()) {
        let charset = match name {
            "ucs-bom" => Charset::marked(&bytes)?,
            _ => match Charset::named(name) {
                Some(charset) => Some(charset),
                None if binary => None,
                None => return Err(DiskError::Undecodable),
            },
        };
        let Some(charset) = charset.filter(|c| !binary || c.wide()) else { continue };
        let mark = charset.mark();
        let bom = !mark.is_empty() && bytes.starts_with(mark);
        let rest = if bom { &bytes[mark.len()..] } else { &bytes[..] };
        let Some(text) = charset.decode(rest) else { continue };
        let (text, crlf) = without_cr(text.into_owned());
        return Ok((text, Form { encoding: charset.name.to_owned(), bom, crlf }));
    }
    Err(if binary { DiskError::Binary } else { DiskError::Undecodable })
}

/// With LF for CRLF, if every line ends in that.
fn without_cr(text: String) -> (Vec<u8>, bool) {
    let breaks = text.bytes().filter(|b| *b == b'\n').count();
    let crlf = breaks > 0 && text.matches("\r\n").count() == breaks;
    (if crlf { text.replace("\r\n", "\n") } else { text }.into_bytes(), crlf)
}

/// Bytes of a text; what [`decode`] undoes. Bytes of `text` that are no UTF-8 go into a file of UTF-8 as they are, and
/// into no other.
pub fn encode(text: &[u8], form: &Form) -> Result<Vec<u8>, DiskError> {
    let charset = Charset::named(&form.encoding)
        .ok_or_else(|| DiskError::Io(format!("the encoding {} is not known here", form.encoding)))?;
    let text = if form.crlf { Cow::Owned(with_cr(text)) } else { Cow::Borrowed(text) };
    let mut bytes = if form.bom { charset.mark().to_vec() } else { Vec::new() };
    if charset.name == UTF8.name {
        bytes.extend_from_slice(&text);
        return Ok(bytes);
    }
    let result = match std::str::from_utf8(&text) {
        Ok(text) => charset.encode(text, &mut bytes),
        Err(_) => Err(char::REPLACEMENT_CHARACTER),
    };
    result.map_err(|what| DiskError::Unencodable { what, encoding: charset.name.to_owned() })?;
    Ok(bytes)
}

fn with_cr(text: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(text.len());
    for line in text.split_inclusive(|b| *b == b'\n') {
        match line.strip_suffix(b"\n") {
            Some(line) => {
                bytes.extend_from_slice(line);
                bytes.extend_from_slice(b"\r\n");
            }
            None => bytes.extend_from_slice(line),
        }
    }
    bytes
}
