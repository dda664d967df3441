//! Bytes to text and back.

use proptest::prelude::*;

use super::super::form::{decode, encode};
use super::*;

fn list(encodings: &str) -> Vec<String> {
    encodings.split(',').filter(|e| !e.is_empty()).map(str::to_owned).collect()
}

fn form(encoding: &str, bom: bool, crlf: bool) -> Form {
    Form { encoding: encoding.into(), bom, crlf }
}

/// Reads the bytes, and writes back what was read: the same bytes must come out.
fn check(bytes: &[u8], encodings: &str, text: &str, want: Form) {
    let f = Folder::new();
    let path = f.file("a", bytes);
    let got = read(&path, 1000, &list(encodings));
    let stamp = stamp(&path);
    assert_eq!(
        got,
        Ok(DiskText { text: text.into(), form: want.clone(), stamp }),
        "{bytes:x?} as {encodings}"
    );
    let result = write(&path, text.as_bytes(), &want, Some(stamp));
    assert!(matches!(result, DiskResult::Written(Ok(_))), "{result:?}");
    assert_eq!(fs::read(&path).unwrap(), bytes);
}

fn refused(bytes: &[u8], encodings: &str) -> DiskError {
    decode(bytes.to_vec(), &list(encodings)).unwrap_err()
}

const USUAL: &str = "ucs-bom,utf-8,default,latin1";

#[test]
fn texts_are_read_with_their_line_ends_and_bom_told_apart() {
    check(b"", USUAL, "", form("", false, false));
    check(b"\n", USUAL, "\n", form("", false, false));
    check(b"a\nb", USUAL, "a\nb", form("", false, false));
    check(b"a\r\nb\r\n", USUAL, "a\nb\n", form("", false, true));
    check(b"a\r\nb", USUAL, "a\nb", form("", false, true));
    check(b"a\r\nb\n", USUAL, "a\r\nb\n", form("", false, false));
    check(b"a\rb\r", USUAL, "a\rb\r", form("", false, false));
    check(b"a\r\r\n", USUAL, "a\r\n", form("", false, true));
    check(b"\xEF\xBB\xBFa\r\n", USUAL, "a\n", form("", true, true));
    check(b"\xEF\xBB\xBF\xEF\xBB\xBFa", USUAL, "\u{feff}a", form("", true, false));
    check("a\u{2028}ü\u{c}\n".as_bytes(), USUAL, "a\u{2028}ü\u{c}\n", form("", false, false));
}

#[test]
fn encodings_are_tried_in_order_and_named_as_neovim_names_them() {
    check("é\n".as_bytes(), USUAL, "é\n", form("", false, false));
    check(b"caf\xe9\r\n", USUAL, "café\n", form("latin1", false, true));
    // Without a list, as with the usual one.
    check(b"caf\xe9", "", "café", form("latin1", false, false));
    check(b"\xEF\xBB\xBFa", "", "a", form("", true, false));
    check(b"\x80\x81\xff", "latin1", "\u{80}\u{81}ÿ", form("latin1", false, false));
    check(b"\x80", "utf-8,cp1252,latin1", "€", form("cp1252", false, false));
    // A byte that the code page leaves free: Neovim goes on to the next.
    check(b"\x80\x81", "utf-8,cp1252,latin1", "\u{80}\u{81}", form("latin1", false, false));
    check(b"\xa4\xd0", "utf-8,latin9", "€Ð", form("iso-8859-15", false, false));
    check(b"\x80\xd0\xe9", "iso8859_9", "\u{80}Ğé", form("iso-8859-9", false, false));
    check(b"\xd6\xd0\xce\xc4", "utf-8,gbk,latin1", "中文", form("cp936", false, false));
    check(b"\xd6\xd0\xce\xc4", "utf-8,gb2312,latin1", "中文", form("euc-cn", false, false));
    // In GBK, not in GB 2312.
    check(b"\x8e\x40", "euc-cn,cp936", "嶡", form("cp936", false, false));
    check(b"\x93\xfa\x96\x7b", "utf-8,euc-jp,cp932,latin1", "日本", form("cp932", false, false));
    check(b"\xc6\xfc\xcb\xdc", "utf-8,ujis,cp932,latin1", "日本", form("euc-jp", false, false));
    check(b"\x1b$BF|K\\\x1b(B\n", "iso-2022-jp,utf-8", "日本\n", form("iso-2022-jp", false, false));
    check(b"\xc7\xd1", "utf-8,cp949", "한", form("cp949", false, false));
    check(b"\xa4\xa4", "utf-8,big5,latin1", "中", form("big5", false, false));
    check(b"\xf0\xd2", "utf-8,KOI8-R,latin1", "Пр", form("koi8-r", false, false));
    check(b"\x8f", "utf-8,cp866,latin1", "П", form("cp866", false, false));
    check(b"\x8a", "utf-8,macintosh", "ä", form("macintosh", false, false));
}

#[test]
fn utf_16_is_found_by_its_mark_or_by_its_name() {
    let le = b"\xff\xfea\0\r\0\n\0\x3d\xd8\x00\xde\r\0\n\0";
    check(le, USUAL, "a\n😀\n", form("utf-16le", true, true));
    check(b"\xfe\xff\0a\0\n", USUAL, "a\n", form("utf-16", true, false));
    check(b"\0a", "utf-16", "a", form("utf-16", false, false));
    check(b"\xff\xfea\0", "ucs-2le,latin1", "a", form("ucs-2le", true, false));
    // A NUL character, and a character whose bytes look like ends of lines.
    check(
        b"\xff\xfe\0\0a\0"[..2].iter().chain(b"a\0\0\0\n\r").copied().collect::<Vec<_>>().as_slice(),
        USUAL,
        "a\0\u{d0a}",
        form("utf-16le", true, false),
    );
    // No pairs in UCS-2, no halves of them in UTF-16, no half units.
    assert_eq!(refused(b"\x3d\xd8\x01\xde", "ucs-2le"), DiskError::Undecodable);
    assert_eq!(refused(b"\xff\xfe\x00\xde", "ucs-bom,utf-8"), DiskError::Binary);
    assert_eq!(refused(b"\xff\xfea\0b", "ucs-bom,utf-8,latin1"), DiskError::Binary);
    assert_eq!(refused(b"\xff\xfe\0\0a\0\0\0", USUAL), DiskError::Undecodable, "UTF-32");
}

#[test]
fn a_utf_8_mark_is_found_by_unicode_names_only() {
    // As Neovim does it.
    check(b"\xEF\xBB\xBFa", "utf-8", "a", form("", true, false));
    check(b"\xEF\xBB\xBFa", "latin1", "ï»¿a", form("latin1", false, false));
    check(b"\xEF\xBB\xBFa\xe9", USUAL, "ï»¿aé", form("latin1", false, false));
}

#[test]
fn what_no_encoding_gives_back_is_refused_and_nul_is_text_only_in_utf_8() {
    // Neovim shows question marks and makes the buffer read-only.
    for encodings in ["utf-8", "ucs-bom,utf-8,default", "ucs-bom"] {
        assert_eq!(refused(b"caf\xe9\n", encodings), DiskError::Undecodable, "{encodings}");
    }
    check(b"a\0b\n", USUAL, "a\0b\n", form("", false, false));
    assert_eq!(refused(b"a\0b\xe9\n", USUAL), DiskError::Binary);
    assert_eq!(refused(b"\x89PNG\r\n\0", "utf-8,cp437"), DiskError::Binary);
    // What Neovim would make of it cannot be known without the table.
    assert_eq!(refused(b"caf\xe9", "utf-8,cp437,latin1"), DiskError::Undecodable);
    check(b"cafe", "utf-8,cp437,latin1", "cafe", form("", false, false));
}

#[test]
fn a_character_that_the_encoding_lacks_is_named_and_nothing_is_written() {
    let f = Folder::new();
    let path = f.file("a", b"caf\xe9\n");
    let expect = Some(stamp(&path));
    let lacks = |encoding: &str, text: &str| match write(
        &path,
        text.as_bytes(),
        &form(encoding, false, false),
        expect,
    ) {
        DiskResult::Written(Err(DiskError::Unencodable { what, encoding: said })) => {
            assert_eq!(said, encoding);
            what
        }
        other => panic!("{encoding}: {other:?}"),
    };
    assert_eq!(lacks("latin1", "é€ä\n"), '€');
    assert_eq!(lacks("cp1252", "€\u{81}"), '\u{81}');
    assert_eq!(lacks("iso-8859-9", "ğÐ"), 'Ð');
    assert_eq!(lacks("cp936", "中😀"), '😀');
    assert_eq!(lacks("euc-cn", "中嶡"), '嶡');
    // The table writes these as a backslash and a wave, and would read them as those.
    assert_eq!(lacks("cp932", "日¥"), '¥');
    assert_eq!(lacks("euc-jp", "日\u{2212}"), '\u{2212}');
    assert_eq!(lacks("iso-2022-jp", "日\u{1b}"), '\u{1b}');
    assert_eq!(lacks("ucs-2le", "a😀"), '😀');
    assert_eq!(fs::read(&path).unwrap(), b"caf\xe9\n");
    assert_eq!(f.names(), ["a"]);
    let broken = encode(b"a\xff", &form("latin1", false, false));
    assert!(matches!(broken, Err(DiskError::Unencodable { what: '\u{fffd}', .. })), "{broken:?}");
    assert_eq!(encode(b"a\xff\n", &form("", true, true)), Ok(b"\xEF\xBB\xBFa\xff\r\n".to_vec()));
    assert!(matches!(encode(b"a", &form("cp437", false, false)), Err(DiskError::Io(_))));
}

#[test]
fn the_cap_is_kept_and_what_is_no_text_file_is_said_to_be_what_it_is() {
    let f = Folder::new();
    nix::unistd::mkfifo(&f.at("pipe"), nix::sys::stat::Mode::S_IRWXU).unwrap();
    let read = |path: &Path, cap| read(path, cap, &[]).unwrap_err();
    assert_eq!(read(&f.file("a", [b'x'; 1001]), 1000), DiskError::TooLarge { size: 1001, cap: 1000 });
    assert_eq!(read(&f.path, 10), DiskError::IsDir);
    assert_eq!(read(Path::new("/"), 10), DiskError::IsDir);
    assert_eq!(read(&f.at("pipe"), 10), DiskError::Special);
    assert_eq!(read(&f.at("no"), 10), DiskError::NotFound);
    assert_eq!(read(&f.at("no/no"), 10), DiskError::NotFound);
    assert_eq!(read(Path::new("/dev/null"), 10), DiskError::Special);
    assert!(matches!(read(Path::new("a"), 10), DiskError::Io(_)));
}

/// What Neovim says of files opened with a list of encodings: one line each, with 'fileencoding', 'bomb', 'fileformat',
/// whether it could not make all of it out ('readonly'), and the text in hexadecimal.
fn neovim_opens(files: &[(PathBuf, &str)]) -> Vec<String> {
    let mut lua = String::from("vim.o.swapfile = false\n");
    for (path, encodings) in files {
        lua += &format!("vim.o.fileencodings = '{encodings}'\nvim.cmd.edit('{}')\n", path.display());
        lua += "local text = table.concat(vim.api.nvim_buf_get_lines(0, 0, -1, true), '\\n') \
                .. (vim.bo.endofline and '\\n' or '')\n\
                local o = vim.bo\n\
                print(o.fileencoding, o.bomb, o.fileformat, o.readonly, vim.text.hexencode(text))\n";
    }
    let f = Folder::new();
    let script = f.file(
        "ask.lua",
        lua.replace("\nlocal text", "\ndo local text").replace("(text))\n", "(text)) end\n"),
    );
    let said = std::process::Command::new(neovim())
        // Neovim's `default` is the encoding of its surroundings; ours is UTF-8.
        .env("LC_ALL", "C.UTF-8")
        .args(["--clean", "--headless", "-i", "NONE", "-l"])
        .arg(script)
        .output()
        .unwrap_or_else(|e| panic!("{}: {e}; `make setup` fetches Neovim", neovim().display()));
    // `print` of a script goes to standard error.
    String::from_utf8_lossy(&said.stderr).lines().map(str::to_owned).collect()
}

#[test]
fn files_are_made_out_as_neovim_makes_them_out() {
    let lists = [
        USUAL,
        "utf-8",
        "ucs-bom",
        "latin1",
        "ucs-bom,utf-8,cp1252,latin1",
        "utf-8,latin2",
        "default,iso8859_9",
        "ucs-bom,utf-16le,latin1",
        "utf-16,latin1",
        "ucs-2le,latin1",
        "ucs-bom,utf-8,gbk,latin1",
        "euc-cn,cp936,latin1",
        "ucs-bom,iso-2022-jp,euc-jp,cp932,latin1",
        "utf-8,cp949,latin1",
        "utf-8,koi8-r",
        "utf-8,big5,latin1",
        "cp1251",
        "utf-8,cp866",
        "utf-8,macintosh",
        "utf-8,Windows-1252",
        "8bit-iso8859-15",
        "unicode,latin1",
    ];
    let bytes = [
        &b"plain\n"[..],
        b"no end",
        b"dos\r\nlines\r\n",
        b"caf\xe9\n",
        "caf\u{e9} \u{4e2d}\n".as_bytes(),
        b"\x81\x9d free\n",
        b"\xEF\xBB\xBFmarked\n",
        b"\xEF\xBB\xBFno\xe9\n",
        b"\xff\xfea\0\n\0",
        b"\xfe\xff\0a\0\n",
        b"\xd6\xd0\xce\xc4\n",
        b"\x8e\x40\x41\n",
        b"\x93\xfa\x96\x7b\n",
        b"\x1b$BF|K\\\x1b(B\n",
        b"\xb0\xa1\xb1\xdb\n",
        b"\xd0\xd2\xc9\n",
    ];
    let f = Folder::new();
    let mut files = Vec::new();
    for (n, bytes) in bytes.into_iter().enumerate() {
        files.extend(lists.map(|list| (f.file(&format!("{n}"), bytes), list)));
    }
    let said = neovim_opens(&files);
    assert_eq!(said.len(), files.len(), "{said:#?}");
    for ((path, encodings), said) in files.iter().zip(said) {
        let bytes = fs::read(path).unwrap();
        if bytes.starts_with(b"\x81\x9d") && encodings.contains("euc-jp") {
            // C1 controls in EUC-JP: systems differ among themselves.
            continue;
        }
        let ours = match read(path, 1000, &list(encodings)) {
            Ok(DiskText { text, form, .. }) => {
                let hex: String = text.iter().map(|b| format!("{b:02X}")).collect();
                let format = if form.crlf { "dos" } else { "unix" };
                format!("{} {} {format} false {hex}", form.encoding, form.bom)
            }
            // Neovim puts question marks into the text.
            Err(DiskError::Undecodable) if said.contains(" true ") => continue,
            // Neovim shows it, whatever it is.
            Err(DiskError::Binary) if bytes.contains(&0) => continue,
            Err(e) => format!("{e:?}"),
        };
        // Both names of UTF-8 say the same.
        let said = said.strip_prefix("utf-8").unwrap_or(&said);
        assert_eq!(ours, said, "{bytes:x?} as {encodings}");
    }
}

const NAMES: &[&str] = &[
    "ucs-bom",
    "utf-8",
    "default",
    "latin1",
    "iso-8859-2",
    "iso-8859-6",
    "iso-8859-9",
    "cp1250",
    "cp1252",
    "cp1255",
    "cp1258",
    "cp874",
    "cp866",
    "koi8-u",
    "macintosh",
    "utf-16",
    "utf-16le",
    "ucs-2",
    "ucs-2le",
    "cp932",
    "sjis",
    "euc-jp",
    "iso-2022-jp",
    "cp936",
    "euc-cn",
    "gb18030",
    "cp949",
    "euc-kr",
    "big5",
    "cp950",
    "cp437",
];

fn bytes() -> impl Strategy<Value = Vec<u8>> {
    let odd = [
        &b"\r\n"[..],
        b"\n",
        b"\r",
        b"\xEF\xBB\xBF",
        b"\xff\xfe",
        b"\xfe\xff",
        b"\0",
        b"\x1b$B",
        b"\x1b(B",
        b"\x0e",
        b"\x8e\xa2\xa1\xa1",
        b"\x81\x30\x81\x30",
        b"\xc3\xa9",
        b"\xd6\xd0",
        b"a",
        b"\0\n",
        b"\n\0",
        b"\xa1\x5c",
        b"~",
    ];
    let piece = prop_oneof![
        3 => prop::sample::select(odd.to_vec()).prop_map(<[u8]>::to_vec),
        2 => prop::collection::vec(any::<u8>(), 1..4),
        1 => prop::collection::vec(0x80u8.., 1..4),
    ];
    prop::collection::vec(piece, 0..12).prop_map(|pieces| pieces.concat())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(20_000))]

    #[test]
    fn any_bytes_that_are_read_come_back_the_same(
        bytes in bytes(),
        encodings in prop::collection::vec(prop::sample::select(NAMES.to_vec()), 0..4),
    ) {
        let encodings: Vec<String> = encodings.iter().map(|e| (*e).to_owned()).collect();
        if let Ok((text, form)) = decode(bytes.clone(), &encodings) {
            prop_assert!(std::str::from_utf8(&text).is_ok());
            prop_assert_eq!(encode(&text, &form), Ok(bytes));
        }
    }

    #[test]
    fn any_text_that_is_written_is_read_back_the_same(
        text in "[a-z\\n¥‾−～é€Ğğ中文嶡日本한П\u{1b}\u{e}\u{80}\u{9f}\u{f8ff}\u{2206}\u{1f600}\\\\~]{0,12}|\\PC{0,6}",
        name in prop::sample::select(NAMES.to_vec()),
    ) {
        if let Some(charset) = super::super::charset::Charset::named(name) {
            let mut bytes = Vec::new();
            if charset.encode(&text, &mut bytes).is_ok() {
                let back = charset.decode(&bytes);
                prop_assert_eq!(back.as_deref(), Some(text.as_str()), "{:x?}", bytes);
            }
        }
    }
}
