//! The edge on a real folder.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use super::*;
use crate::event::{DiskText, PathKind, Resolved};

struct Folder {
    _temp: tempfile::TempDir,
    path: PathBuf,
}

impl Folder {
    fn new() -> Self {
        let temp = tempfile::tempdir().unwrap();
        let path = temp.path().canonicalize().unwrap();
        Self { _temp: temp, path }
    }

    fn at(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }

    fn file(&self, name: &str, bytes: impl AsRef<[u8]>) -> PathBuf {
        fs::write(self.at(name), bytes).unwrap();
        self.at(name)
    }

    fn resolved(&self, path: &str) -> (String, PathKind) {
        let Resolved { real, kind } = resolve(&self.at(path)).unwrap();
        (real.strip_prefix(&self.path).unwrap().to_string_lossy().into_owned(), kind)
    }

    fn names(&self) -> Vec<String> {
        let mut names: Vec<_> = fs::read_dir(&self.path)
            .unwrap()
            .map(|e| e.unwrap().file_name().to_string_lossy().into_owned())
            .collect();
        names.sort();
        names
    }
}

fn root(f: &Folder) -> bool {
    fs::metadata(&f.path).unwrap().uid() == 0
}

fn mode(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

fn check_read(bytes: &[u8], want: Result<(&str, bool, bool), DiskError>) {
    let f = Folder::new();
    let want = want.map(|(text, crlf, bom)| DiskText { text: text.into(), crlf, bom });
    assert_eq!(read(&f.file("a", bytes), 1000), want, "{bytes:?}");
    // What was read and is written back gives the same bytes.
    if let Ok(t) = want {
        let result = write(&f.at("a"), &t.text, t.crlf, t.bom, Some(&t.text));
        assert!(matches!(result, DiskResult::Written(Ok(()))), "{result:?}");
        assert_eq!(fs::read(f.at("a")).unwrap(), bytes);
    }
}

#[test]
fn texts_are_read_with_their_line_ends_and_bom_told_apart() {
    check_read(b"", Ok(("", false, false)));
    check_read(b"\n", Ok(("\n", false, false)));
    check_read(b"a\nb", Ok(("a\nb", false, false)));
    check_read(b"a\r\nb\r\n", Ok(("a\nb\n", true, false)));
    check_read(b"a\r\nb", Ok(("a\nb", true, false)));
    check_read(b"a\r\nb\n", Ok(("a\r\nb\n", false, false)));
    check_read(b"a\rb\r", Ok(("a\rb\r", false, false)));
    check_read(b"a\r\r\n", Ok(("a\r\n", true, false)));
    check_read(b"\xEF\xBB\xBFa\r\n", Ok(("a\n", true, true)));
    check_read("a\u{2028}ü\u{c}\n".as_bytes(), Ok(("a\u{2028}ü\u{c}\n", false, false)));
    check_read(b"caf\xe9\n", Err(DiskError::NotUtf8));
    check_read(b"a\0b", Err(DiskError::Binary));
    check_read(&[b'x'; 1001], Err(DiskError::TooLarge { size: 1001, cap: 1000 }));
}

#[test]
fn what_is_no_text_file_is_said_to_be_what_it_is() {
    let f = Folder::new();
    nix::unistd::mkfifo(&f.at("pipe"), nix::sys::stat::Mode::S_IRWXU).unwrap();
    assert_eq!(read(&f.path, 10), Err(DiskError::IsDir));
    assert_eq!(read(&f.at("pipe"), 10), Err(DiskError::Special));
    assert_eq!(read(&f.at("no"), 10), Err(DiskError::NotFound));
    assert_eq!(read(Path::new("/dev/null"), 10), Err(DiskError::Special));
}

#[test]
fn links_are_followed_also_those_that_lead_nowhere() {
    let f = Folder::new();
    fs::create_dir_all(f.at("real/sub")).unwrap();
    f.file("real/a", "x");
    symlink("real", f.at("dir")).unwrap();
    symlink("real/a", f.at("link")).unwrap();
    symlink("link", f.at("link2")).unwrap();
    symlink("real/none/x", f.at("dangling")).unwrap();
    symlink(f.at("real/sub"), f.at("deep")).unwrap();
    symlink("loop", f.at("loop")).unwrap();
    let got = |p: &str| f.resolved(p);
    assert_eq!(got("dir/a"), ("real/a".into(), PathKind::File));
    assert_eq!(got("link2"), ("real/a".into(), PathKind::File));
    assert_eq!(got("dangling"), ("real/none/x".into(), PathKind::Missing));
    assert_eq!(got("dir/new/b"), ("real/new/b".into(), PathKind::Missing));
    assert_eq!(got("dir/./sub/"), ("real/sub".into(), PathKind::Dir));
    // The parent of where the link leads, not of where it stands.
    assert_eq!(got("deep/../a"), ("real/a".into(), PathKind::File));
    assert_eq!(resolve(&f.at("none/../real/a")), Err(DiskError::NotFound));
    assert!(matches!(resolve(&f.at("loop")), Err(DiskError::Io(_))));
    assert!(matches!(resolve(&f.at("real/a/b")), Err(DiskError::Io(_))));
    assert!(matches!(resolve(Path::new("a")), Err(DiskError::Io(_))));
    assert_eq!(resolve(Path::new("/dev/null")).unwrap().kind, PathKind::Special);
    assert_eq!(resolve(Path::new("/..")).unwrap().real, Path::new("/"));
}

#[test]
fn odd_names_are_only_names() {
    let f = Folder::new();
    for name in ["a b", "[id]", "%#", "q'\"", "ü", "u\u{308}", "new\nline", "-rf", "~", "$HOME"] {
        let path = f.at(name);
        let result = write(&path, "x\n", false, false, None);
        assert!(matches!(result, DiskResult::Written(Ok(()))), "{name}: {result:?}");
        assert_eq!(resolve(&path).unwrap(), Resolved { real: path.clone(), kind: PathKind::File });
        assert_eq!(read(&path, 10).unwrap().text, "x\n");
    }
    let odd = f.path.join(OsStr::from_bytes(b"\xff"));
    assert!(matches!(write(&odd, "x", false, false, None), DiskResult::Written(Ok(()))));
    assert_eq!(f.names().len(), 11);
}

#[test]
fn a_write_keeps_the_mode_and_leaves_nothing_behind() {
    let f = Folder::new();
    let path = f.file("real.sh", "one\n");
    mode(&path, 0o755);
    let before = fs::metadata(&path).unwrap();
    assert!(matches!(write(&path, "two\n", false, false, Some("one\n")), DiskResult::Written(Ok(()))));
    let after = fs::metadata(&path).unwrap();
    assert_eq!(fs::read(&path).unwrap(), b"two\n");
    assert_eq!((after.mode(), after.uid()), (before.mode(), before.uid()));
    assert_ne!(after.ino(), before.ino(), "beside and renamed");
    assert_eq!(f.names(), ["real.sh"]);
}

#[test]
fn hard_links_stay_together() {
    let f = Folder::new();
    let path = f.file("a", "a long text\n");
    fs::hard_link(&path, f.at("b")).unwrap();
    assert!(matches!(
        write(&path, "short\n", false, false, Some("a long text\n")),
        DiskResult::Written(Ok(()))
    ));
    assert_eq!(fs::read(f.at("b")).unwrap(), b"short\n");
    assert_eq!(f.names(), ["a", "b"]);
}

#[test]
fn a_file_that_is_not_what_was_expected_is_left_alone() {
    let f = Folder::new();
    let path = f.file("a", "other\n");
    assert!(matches!(write(&path, "x", false, false, Some("one\n")), DiskResult::Stale));
    assert!(matches!(write(&path, "x", false, false, None), DiskResult::Stale));
    assert!(matches!(write(&f.at("gone"), "x", false, false, Some("one\n")), DiskResult::Stale));
    f.file("bin", b"\0");
    assert!(matches!(write(&f.at("bin"), "x", false, false, Some("one\n")), DiskResult::Stale));
    symlink("nowhere", f.at("dangling")).unwrap();
    assert!(matches!(write(&f.at("dangling"), "x", false, false, None), DiskResult::Stale));
    assert_eq!(fs::read(&path).unwrap(), b"other\n");
    assert_eq!(f.names(), ["a", "bin", "dangling"]);
}

#[test]
fn parents_are_created_and_new_files_have_an_ordinary_mode() {
    let f = Folder::new();
    let path = f.at("x/y/new.txt");
    assert!(matches!(write(&path, "a\nb\n", false, false, None), DiskResult::Written(Ok(()))));
    f.file("ordinary", "");
    let mode = |p: &Path| fs::metadata(p).unwrap().mode();
    assert_eq!(mode(&path), mode(&f.at("ordinary")));
    f.file("file", "");
    let under_a_file = write(&f.at("file/new"), "x", false, false, None);
    assert!(matches!(under_a_file, DiskResult::Written(Err(DiskError::Io(_)))), "{under_a_file:?}");
}

#[test]
fn a_read_only_file_is_an_error_and_a_read_only_folder_is_no_hindrance() {
    let f = Folder::new();
    if root(&f) {
        // Root may write everything; the rights that this is about do not bind it.
        return;
    }
    fs::create_dir(f.at("d")).unwrap();
    let path = f.file("d/a", "one\n");
    mode(&path, 0o444);
    let result = write(&path, "two\n", false, false, Some("one\n"));
    assert!(matches!(result, DiskResult::Written(Err(DiskError::Io(_)))), "{result:?}");
    mode(&path, 0o644);
    mode(&f.at("d"), 0o555);
    let result = write(&path, "two\n", false, false, Some("one\n"));
    let new = write(&f.at("d/new"), "x", false, false, None);
    mode(&f.at("d"), 0o755);
    assert!(matches!(result, DiskResult::Written(Ok(()))), "{result:?}");
    assert!(matches!(new, DiskResult::Written(Err(DiskError::Io(_)))), "{new:?}");
    assert_eq!(fs::read(&path).unwrap(), b"two\n");
    assert_eq!(fs::read_dir(f.at("d")).unwrap().count(), 1);
}

#[test]
fn results_come_into_the_lane_with_their_op() {
    let f = Folder::new();
    let path = f.file("a", "text");
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    runtime.block_on(async {
        let (tx, mut rx) = mpsc::channel(4);
        Disk::new(tx).command(OpId(7), DiskCmd::Read { real: path, cap: 100 });
        let Some(Event::Disk(OpId(7), DiskResult::Text(Ok(text)))) = rx.recv().await else { panic!() };
        assert_eq!(text.text, "text");
    });
}
