//! Reading a text file that is not open in the editor.
//!
//! Owns no state. It never guesses an encoding: UTF-8, with or without BOM, or an error. Called by the disk edge.

use std::fs::{self, File};
use std::io::Read;
use std::path::Path;

use crate::event::{DiskError, DiskText, Form, Stamp};

const BOM: &[u8] = b"\xEF\xBB\xBF";

/// Reads at most `cap` bytes of text.
pub fn read(real: &Path, cap: u64) -> Result<DiskText, DiskError> {
    let meta = fs::metadata(real).map_err(|e| super::io(&e, real))?;
    if meta.is_dir() {
        return Err(DiskError::IsDir);
    }
    // Before it is opened: opening a pipe waits for its writer.
    if !meta.is_file() {
        return Err(DiskError::Special);
    }
    if meta.len() > cap {
        return Err(DiskError::TooLarge { size: meta.len(), cap });
    }
    let mut bytes = Vec::new();
    let file = File::open(real).map_err(|e| super::io(&e, real))?;
    file.take(cap.saturating_add(1)).read_to_end(&mut bytes).map_err(|e| super::io(&e, real))?;
    // Files of the kernel say that they have no bytes.
    let size = bytes.len() as u64;
    if size > cap {
        return Err(DiskError::TooLarge { size, cap });
    }
    decode(bytes)
}

fn decode(bytes: Vec<u8>) -> Result<DiskText, DiskError> {
    if bytes.contains(&0) {
        return Err(DiskError::Binary);
    }
    let bom = bytes.starts_with(BOM);
    let mut text = String::from_utf8(bytes).map_err(|_| DiskError::Undecodable)?;
    if bom {
        text.drain(..BOM.len());
    }
    let breaks = text.bytes().filter(|b| *b == b'\n').count();
    let crlf = breaks > 0 && text.matches("\r\n").count() == breaks;
    if crlf {
        text = text.replace("\r\n", "\n");
    }
    let form = Form { encoding: String::new(), bom, crlf };
    Ok(DiskText { text: text.into_bytes(), form, stamp: Stamp::default() })
}

/// Bytes of a text; what [`decode`] undoes.
pub fn encode(text: &str, crlf: bool, bom: bool) -> Vec<u8> {
    let mut bytes = if bom { BOM.to_vec() } else { Vec::new() };
    if crlf {
        bytes.extend_from_slice(text.replace('\n', "\r\n").as_bytes());
    } else {
        bytes.extend_from_slice(text.as_bytes());
    }
    bytes
}
