//! Where paths lead.

use super::*;

fn found(f: &Folder, path: &str) -> (String, PathKind) {
    let Resolved { real, kind, .. } = resolve(&f.at(path), &[]).unwrap();
    (real.strip_prefix(&f.path).unwrap().to_string_lossy().into_owned(), kind)
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
    let got = |p: &str| found(&f, p);
    assert_eq!(got("dir/a"), ("real/a".into(), PathKind::File));
    assert_eq!(got("link2"), ("real/a".into(), PathKind::File));
    assert_eq!(got("dangling"), ("real/none/x".into(), PathKind::Missing));
    assert_eq!(got("dir/new/b"), ("real/new/b".into(), PathKind::Missing));
    assert_eq!(got("dir/./sub/"), ("real/sub".into(), PathKind::Dir));
    // The parent of where the link leads, not of where it stands.
    assert_eq!(got("deep/../a"), ("real/a".into(), PathKind::File));
    let error = |path: &Path| resolve(path, &[]).unwrap_err();
    assert_eq!(error(&f.at("none/../real/a")), DiskError::NotFound);
    assert!(matches!(error(&f.at("loop")), DiskError::Io(_)));
    assert!(matches!(error(&f.at("real/a/b")), DiskError::Io(_)));
    assert!(matches!(error(Path::new("a")), DiskError::Io(_)));
    assert_eq!(resolve(Path::new("/dev/null"), &[]).unwrap().kind, PathKind::Special);
    assert_eq!(resolve(Path::new("/.."), &[]).unwrap().real, Path::new("/"));
}

#[test]
fn only_a_regular_file_has_a_stamp_and_it_is_that_of_where_the_path_leads() {
    let f = Folder::new();
    let path = f.file("a", "12345");
    symlink("a", f.at("link")).unwrap();
    let meta = fs::metadata(&path).unwrap();
    let want = Stamp { sec: meta.mtime(), nsec: meta.mtime_nsec() as u32, size: 5 };
    assert_eq!(resolve(&f.at("link"), &[]).unwrap().stamp, Some(want));
    assert_eq!(read(&path, 10, &[]).unwrap().stamp, want);
    for path in [f.at("none"), f.path.clone(), "/dev/null".into()] {
        assert_eq!(resolve(&path, &[]).unwrap().stamp, None, "{path:?}");
    }
    f.file("a", "123456");
    assert_ne!(stamp(&path), want);
}

#[test]
fn a_hard_link_to_a_twin_is_that_twin() {
    let f = Folder::new();
    let (a, c) = (f.file("a", "x"), f.file("c", "x"));
    let b = f.at("b");
    fs::hard_link(&a, &b).unwrap();
    let real = |path: &Path, twins: &[PathBuf]| resolve(path, twins).unwrap().real;
    assert_eq!(real(&b, &[f.at("gone"), c.clone(), a.clone()]), a);
    assert_eq!(real(&b, &[]), b);
    assert_eq!(real(&b, std::slice::from_ref(&c)), b, "other files are no twins, however alike");
    assert_eq!(real(&b, &[a.clone(), b.clone()]), b, "a twin by its own name stays itself");
    symlink("a", f.at("link")).unwrap();
    assert_eq!(real(&b, &[f.at("link")]), b, "twins are real paths");
    assert_eq!(resolve(&b, &[a]).unwrap().stamp, Some(stamp(&b)));
}

#[test]
fn odd_names_are_only_names() {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;
    let f = Folder::new();
    for name in ["a b", "[id]", "%#", "q'\"", "ü", "u\u{308}", "new\nline", "-rf", "~", "$HOME"] {
        let path = f.at(name);
        let result = put(&path, "x\n", None);
        assert!(matches!(result, DiskResult::Written(Ok(_))), "{name}: {result:?}");
        let got = resolve(&path, &[]).unwrap();
        assert_eq!((&got.real, got.kind), (&path, PathKind::File));
        assert_eq!(read(&path, 10, &[]).unwrap().text, b"x\n");
    }
    let odd = f.path.join(OsStr::from_bytes(b"\xff"));
    assert!(matches!(put(&odd, "x", None), DiskResult::Written(Ok(_))));
    assert_eq!(f.names().len(), 11);
}
