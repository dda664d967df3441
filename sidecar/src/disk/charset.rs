//! Encodings by the names that Neovim has for them: their bytes to text, and text back to their bytes.
//!
//! Owns no state. It never puts a replacement in place of what it cannot express, and accepts no bytes that it would not
//! give back the same. Called by `form`.
//!
//! The tables are those of the web's standard. Where Neovim's own conversion differs in a way that shows (true Latin-1,
//! bytes that a code page leaves free, plain GB 2312), ours is bent to it; what is left are a few signs of the Asian
//! encodings, in which systems differ among themselves. Byte for byte that changes nothing.

use std::borrow::Cow;

use encoding_rs::{EncoderResult, Encoding};

use crate::event::DiskError;

/// One encoding.
#[derive(Clone, Copy, Debug)]
pub struct Charset {
    /// As Neovim shows it in 'fileencoding'; empty for UTF-8.
    pub name: &'static str,
    kind: Kind,
}

#[derive(Clone, Copy, Debug)]
enum Kind {
    Utf8,
    /// A byte is the character of that number; but these are others.
    Latin(&'static [(u8, char)]),
    /// `pairs`: characters above U+FFFF exist, as pairs of surrogates.
    Wide {
        little: bool,
        pairs: bool,
    },
    Table(&'static Encoding, Only),
}

/// What a table of the web accepts and Neovim does not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Only {
    All,
    /// No C1 controls: the web gives them to bytes that the code page leaves free.
    Assigned,
    /// No two-byte character with a byte below 0xa1.
    HighBytes,
}

/// UTF-8.
pub const UTF8: Charset = Charset { name: "", kind: Kind::Utf8 };
const UTF16: Charset = Charset { name: "utf-16", kind: Kind::Wide { little: false, pairs: true } };
const UTF16LE: Charset = Charset { name: "utf-16le", kind: Kind::Wide { little: true, pairs: true } };

const TURKISH: &[(u8, char)] =
    &[(0xd0, 'Ğ'), (0xdd, 'İ'), (0xde, 'Ş'), (0xf0, 'ğ'), (0xfd, 'ı'), (0xfe, 'ş')];

/// Name, other names, what it is. Names that Neovim does not make one of are rows of their own.
const NAMES: &[(&str, &[&str], Kind)] = &[
    ("", &["utf-8", "utf8", "default"], Kind::Utf8),
    ("latin1", &["iso-8859-1", "ansi"], Kind::Latin(&[])),
    ("iso-8859-9", &["latin5", "turkish"], Kind::Latin(TURKISH)),
    ("utf-16", &["utf16", "utf-16be", "utf16be"], UTF16.kind),
    ("utf-16le", &["utf16le"], UTF16LE.kind),
    ("ucs-2", &["ucs2", "ucs-2be", "ucs2be", "unicode"], Kind::Wide { little: false, pairs: false }),
    ("ucs-2le", &["ucs2le"], Kind::Wide { little: true, pairs: false }),
];

/// The same, for what is in a table; the third is the web's name, if it has another.
const TABLES: &[(&str, &[&str], &str)] = &[
    ("iso-8859-2", &["latin2"], ""),
    ("iso-8859-3", &["latin3"], ""),
    ("iso-8859-4", &["latin4"], ""),
    ("iso-8859-5", &["cyrillic"], ""),
    ("iso-8859-6", &["arabic"], ""),
    ("iso-8859-7", &["greek"], ""),
    ("iso-8859-8", &["hebrew"], ""),
    ("iso-8859-10", &["latin6", "nordic"], ""),
    ("iso-8859-13", &["latin7"], ""),
    ("iso-8859-14", &["latin8"], ""),
    ("iso-8859-15", &["latin9"], ""),
    ("iso-8859-16", &[], ""),
    ("cp1250", &[], ""),
    ("cp1251", &[], ""),
    ("cp1252", &[], ""),
    ("cp1253", &[], ""),
    ("cp1254", &[], ""),
    ("cp1255", &[], ""),
    ("cp1256", &[], ""),
    ("cp1257", &[], ""),
    ("cp1258", &[], ""),
    ("windows-1250", &[], ""),
    ("windows-1251", &[], ""),
    ("windows-1252", &[], ""),
    ("windows-1253", &[], ""),
    ("windows-1254", &[], ""),
    ("windows-1255", &[], ""),
    ("windows-1256", &[], ""),
    ("windows-1257", &[], ""),
    ("windows-1258", &[], ""),
    ("cp874", &["874"], "windows-874"),
    ("cp866", &[], ""),
    ("koi8-r", &[], ""),
    ("koi8-u", &[], ""),
    ("macintosh", &[], ""),
    ("cp932", &["932"], "shift_jis"),
    ("sjis", &["shift-jis", "pck"], "shift_jis"),
    ("euc-jp", &["eucjp", "ujis", "unix-jis", "japan"], ""),
    ("iso-2022-jp", &[], ""),
    ("cp936", &["936", "gbk"], "gbk"),
    ("euc-cn", &["euccn", "gb2312", "prc", "zh-cn", "chinese"], "gbk"),
    ("gb18030", &[], ""),
    ("cp949", &["949"], "euc-kr"),
    ("euc-kr", &["euckr", "5601", "korea"], ""),
    ("big5", &[], ""),
    ("cp950", &["950"], "big5"),
];

/// A name as Neovim compares it.
fn canonical(name: &str) -> String {
    let name = name.to_ascii_lowercase().replace('_', "-");
    let name = name.strip_prefix("8bit-").or(name.strip_prefix("2byte-")).unwrap_or(&name);
    if let Some(part) = name.strip_prefix("iso8859").or(name.strip_prefix("iso-8859")) {
        return format!("iso-8859-{}", part.trim_start_matches('-'));
    }
    match name.strip_prefix("latin-") {
        Some(part) => format!("latin{part}"),
        None => name.to_owned(),
    }
}

impl Charset {
    /// By any of its names.
    pub fn named(name: &str) -> Option<Self> {
        let name = canonical(name);
        let is = |own: &str, others: &[&str]| own == name || others.contains(&name.as_str());
        if let Some(&(name, _, kind)) = NAMES.iter().find(|row| is(row.0, row.1)) {
            return Some(Self { name, kind });
        }
        let &(name, _, label) = TABLES.iter().find(|row| is(row.0, row.1))?;
        let label = if label.is_empty() { name } else { label };
        let only = match name {
            "euc-cn" => Only::HighBytes,
            _ if label.starts_with("cp125") || label.starts_with("windows") => Only::Assigned,
            _ => Only::All,
        };
        Some(Self { name, kind: Kind::Table(Encoding::for_label(label.as_bytes())?, only) })
    }

    /// The one whose byte order mark these bytes begin with. UTF-32 is said to be what we cannot read.
    pub fn marked(bytes: &[u8]) -> Result<Option<Self>, DiskError> {
        // Before UTF-16, whose mark is the beginning of the other.
        if bytes.starts_with(&[0xff, 0xfe, 0, 0]) || bytes.starts_with(&[0, 0, 0xfe, 0xff]) {
            return Err(DiskError::Undecodable);
        }
        Ok([UTF8, UTF16, UTF16LE].into_iter().find(|c| bytes.starts_with(c.mark())))
    }

    /// Its byte order mark; empty when there is none.
    pub fn mark(self) -> &'static [u8] {
        match self.kind {
            Kind::Utf8 => b"\xEF\xBB\xBF",
            Kind::Wide { little: false, .. } => b"\xFE\xFF",
            Kind::Wide { little: true, .. } => b"\xFF\xFE",
            Kind::Latin(_) | Kind::Table(..) => b"",
        }
    }

    /// A NUL byte is nothing special in it.
    pub fn wide(self) -> bool {
        matches!(self.kind, Kind::Wide { .. })
    }

    /// Text of these bytes; `None` unless `encode` gives them back. Byte order marks are characters here.
    pub fn decode(self, bytes: &[u8]) -> Option<Cow<'_, str>> {
        match self.kind {
            Kind::Utf8 => std::str::from_utf8(bytes).ok().map(Cow::Borrowed),
            Kind::Latin(other) => Some(Cow::Owned(bytes.iter().map(|b| latin(*b, other)).collect())),
            Kind::Wide { little, pairs } => wide(bytes, little, pairs).map(Cow::Owned),
            Kind::Table(table, only) => {
                let text = from_table(table, only, bytes)?;
                let mut back = Vec::with_capacity(bytes.len());
                let same = into_table(table, &text, &mut back).is_ok() && back == bytes;
                same.then_some(text)
            }
        }
    }

    /// Appends the bytes of a text, or names the first character that has none.
    pub fn encode(self, text: &str, out: &mut Vec<u8>) -> Result<(), char> {
        match self.kind {
            Kind::Utf8 => out.extend_from_slice(text.as_bytes()),
            Kind::Latin(other) => {
                for c in text.chars() {
                    out.push(byte(c, other).ok_or(c)?);
                }
            }
            Kind::Wide { little, pairs } => {
                for c in text.chars() {
                    if !pairs && c.len_utf16() > 1 {
                        return Err(c);
                    }
                    for unit in c.encode_utf16(&mut [0; 2]) {
                        out.extend(if little { unit.to_le_bytes() } else { unit.to_be_bytes() });
                    }
                }
            }
            Kind::Table(table, only) => {
                let start = out.len();
                // The web's tables also write characters that they do not read back: the yen sign as a backslash.
                let written = into_table(table, text, out).is_ok();
                if !written || from_table(table, only, &out[start..]).as_deref() != Some(text) {
                    return Err(misfit(table, only, text));
                }
            }
        }
        Ok(())
    }
}

fn latin(byte: u8, other: &[(u8, char)]) -> char {
    other.iter().find(|(b, _)| *b == byte).map_or(char::from(byte), |(_, c)| *c)
}

fn byte(c: char, other: &[(u8, char)]) -> Option<u8> {
    match other.iter().find(|(_, o)| *o == c) {
        Some((byte, _)) => Some(*byte),
        None => u8::try_from(c).ok().filter(|b| other.iter().all(|(taken, _)| taken != b)),
    }
}

fn wide(bytes: &[u8], little: bool, pairs: bool) -> Option<String> {
    let (units, rest) = bytes.as_chunks::<2>();
    if !rest.is_empty() {
        return None;
    }
    let units = units.iter().map(|u| if little { u16::from_le_bytes(*u) } else { u16::from_be_bytes(*u) });
    char::decode_utf16(units).map(|c| c.ok().filter(|c| pairs || c.len_utf16() == 1)).collect()
}

fn from_table<'a>(table: &'static Encoding, only: Only, bytes: &'a [u8]) -> Option<Cow<'a, str>> {
    let text = table.decode_without_bom_handling_and_without_replacement(bytes)?;
    let fits = match only {
        Only::All => true,
        Only::Assigned => !text.chars().any(|c| ('\u{80}'..='\u{9f}').contains(&c)),
        Only::HighBytes => {
            let mut high = bytes.iter().filter(|b| !b.is_ascii());
            let characters = text.chars().filter(|c| !c.is_ascii()).count();
            high.clone().count() == characters * 2 && high.all(|b| *b > 0xa0)
        }
    };
    fits.then_some(text)
}

/// The first character of a text that is not read back as it is written.
fn misfit(table: &'static Encoding, only: Only, text: &str) -> char {
    let fits = |c: char| {
        let (mut bytes, mut buffer) = (Vec::new(), [0; 4]);
        let alone = c.encode_utf8(&mut buffer);
        into_table(table, alone, &mut bytes).is_ok()
            && from_table(table, only, &bytes).as_deref() == Some(alone)
    };
    text.chars().find(|c| !fits(*c)).unwrap_or(char::REPLACEMENT_CHARACTER)
}

fn into_table(table: &'static Encoding, text: &str, out: &mut Vec<u8>) -> Result<(), char> {
    let mut encoder = table.new_encoder();
    let mut rest = text;
    loop {
        // Room for all that is left; more than enough is no matter, too little is asked for again.
        out.reserve(
            encoder.max_buffer_length_from_utf8_without_replacement(rest.len()).unwrap_or(rest.len()),
        );
        let (result, read) = encoder.encode_from_utf8_to_vec_without_replacement(rest, out, true);
        rest = &rest[read..];
        match result {
            EncoderResult::InputEmpty => return Ok(()),
            EncoderResult::OutputFull => {}
            EncoderResult::Unmappable(c) => return Err(c),
        }
    }
}
