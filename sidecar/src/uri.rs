//! Turns paths into `file://` URIs and back. Owns nothing else; used by rooms and edges.

use std::path::{Path, PathBuf};

/// The `file://` URI of an absolute path; every byte outside the unreserved set and `/` is percent-encoded (RFC 3986).
pub fn file_uri(path: &Path) -> String {
    use std::os::unix::ffi::OsStrExt;
    let mut uri = String::from("file://");
    for &byte in path.as_os_str().as_bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' | b'/' => {
                uri.push(byte as char)
            }
            _ => uri.push_str(&format!("%{byte:02X}")),
        }
    }
    uri
}

/// The path of a `file://` URI, fragment and query dropped; `None` for any other scheme.
pub fn path_of(uri: &str) -> Option<PathBuf> {
    use std::os::unix::ffi::OsStringExt;
    let rest = uri.strip_prefix("file://")?;
    let rest = rest.strip_prefix("localhost").unwrap_or(rest);
    let rest = rest.split(['#', '?']).next()?;
    let bytes = rest.as_bytes();
    let mut out = Vec::with_capacity(bytes.len());
    let mut index = 0;
    while index < bytes.len() {
        let hex = (bytes[index] == b'%').then(|| rest.get(index + 1..index + 3)).flatten();
        match hex.and_then(|hex| u8::from_str_radix(hex, 16).ok()) {
            Some(byte) => {
                out.push(byte);
                index += 3;
            }
            None => {
                out.push(bytes[index]);
                index += 1;
            }
        }
    }
    Some(PathBuf::from(std::ffi::OsString::from_vec(out)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn odd_names_come_back_as_they_were() {
        for name in ["/t/my próject [x] 'q' %#/a b.txt", "/t/[id]/page.tsx", "/t/a\nb", "/-n.txt"] {
            let uri = file_uri(Path::new(name));
            assert!(uri.is_ascii() && !uri.contains(' '), "{uri}");
            assert_eq!(path_of(&uri).unwrap(), Path::new(name));
        }
    }

    #[test]
    fn a_fragment_is_not_part_of_the_path() {
        assert_eq!(path_of("file:///a/b.rs#L3-9").unwrap(), Path::new("/a/b.rs"));
        assert_eq!(path_of("https://example.org/"), None);
    }
}
