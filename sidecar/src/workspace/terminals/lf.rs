//! Line ends for programs that never saw a terminal: an editor's terminal wants CR before each LF.
//!
//! Owns whether the last byte was a CR. Part of `terminals`.

/// See the module.
#[derive(Debug, Default)]
pub struct Crlf {
    cr: bool,
}

impl Crlf {
    /// The bytes with a CR before each LF that has none, also where the two were cut apart.
    pub fn convert(&mut self, bytes: &[u8]) -> Vec<u8> {
        let mut out = Vec::with_capacity(bytes.len() + bytes.len() / 16);
        for byte in bytes {
            if *byte == b'\n' && !self.cr {
                out.push(b'\r');
            }
            self.cr = *byte == b'\r';
            out.push(*byte);
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_lone_lf_gets_its_cr_however_it_is_cut() {
        for pieces in [
            &["a\nb\r\nc\n\n"][..],
            &["a\nb\r", "\nc\n", "\n"],
            &["a", "\n", "b", "\r", "\n", "c", "\n", "\n"],
        ] {
            let mut crlf = Crlf::default();
            let out: Vec<u8> = pieces.iter().flat_map(|piece| crlf.convert(piece.as_bytes())).collect();
            assert_eq!(String::from_utf8_lossy(&out), "a\r\nb\r\nc\r\n\r\n");
        }
    }
}
