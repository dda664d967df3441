//! Paths as `file://` addresses.
//!
//! Owns the one percent-encoder. It never resolves anything. Called where an error or a prompt names a file.

use std::fmt::Write;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// An absolute path as a URI; bytes outside the unreserved set and `/` are percent-encoded.
pub fn file_uri(path: &Path) -> String {
    let mut out = String::from("file://");
    for &b in path.as_os_str().as_bytes() {
        if b.is_ascii_alphanumeric() || b"/-._~".contains(&b) {
            out.push(char::from(b));
        } else {
            // Writing to a string cannot fail.
            let _ = write!(out, "%{b:02X}");
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn odd_names_are_encoded_byte_by_byte() {
        assert_eq!(
            file_uri(Path::new("/p/a b/[id]/%#\"ü\n-x.rs")),
            "file:///p/a%20b/%5Bid%5D/%25%23%22%C3%BC%0A-x.rs"
        );
    }
}
