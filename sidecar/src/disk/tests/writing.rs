//! Writes, their stamps, and what they keep.

use super::*;

fn written(result: DiskResult) -> Stamp {
    match result {
        DiskResult::Written(Ok(stamp)) => stamp,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_write_keeps_the_mode_and_leaves_nothing_behind() {
    let f = Folder::new();
    let path = f.file("real.sh", "one\n");
    mode(&path, 0o755);
    let before = fs::metadata(&path).unwrap();
    let new = written(put(&path, "two\n", Some(stamp(&path))));
    let after = fs::metadata(&path).unwrap();
    assert_eq!(fs::read(&path).unwrap(), b"two\n");
    assert_eq!((after.mode(), after.uid()), (before.mode(), before.uid()));
    assert_ne!(after.ino(), before.ino(), "beside and renamed");
    assert_eq!(f.names(), ["real.sh"]);
    assert_eq!(new, stamp(&path));
}

#[test]
fn a_write_keeps_the_extended_attributes_and_the_access_list() {
    use rustix::fs::{XattrFlags, getxattr, setxattr};
    let f = Folder::new();
    let path = f.file("a", "one\n");
    // Entries: kind, rights, who. The file's user, user 12345, the group, the mask, all others.
    let mut list = 2_u32.to_le_bytes().to_vec();
    for (kind, rights, who) in
        [(1_u16, 6_u16, u32::MAX), (2, 6, 12345), (4, 4, u32::MAX), (16, 6, u32::MAX), (32, 0, u32::MAX)]
    {
        list.extend(kind.to_le_bytes().into_iter().chain(rights.to_le_bytes()).chain(who.to_le_bytes()));
    }
    const ACCESS: &str = "system.posix_acl_access";
    let get = |path: &Path, name: &str| {
        let mut room = vec![0; 1000];
        getxattr(path, name, &mut room).ok().map(|size| room[..size].to_vec())
    };
    if setxattr(&path, "user.note", b"kept", XattrFlags::empty()).is_err()
        || setxattr(&path, ACCESS, &list, XattrFlags::empty()).is_err()
    {
        // A file system that has no such thing cannot lose it.
        return;
    }
    let before = fs::metadata(&path).unwrap();
    written(put(&path, "two\n", Some(stamp(&path))));
    let after = fs::metadata(&path).unwrap();
    assert_eq!(get(&path, "user.note").as_deref(), Some(&b"kept"[..]));
    assert_eq!(get(&path, ACCESS).as_ref(), Some(&list));
    assert_eq!(after.mode(), before.mode());
    assert_ne!(after.ino(), before.ino(), "beside and renamed");
    // A folder whose new files get a list of their own does not give it to a file that had none.
    let plain = f.file("plain", "one\n");
    setxattr(&f.path, "system.posix_acl_default", &list, XattrFlags::empty()).unwrap();
    assert!(get(&f.file("other", ""), ACCESS).is_some());
    written(put(&plain, "two\n", Some(stamp(&plain))));
    assert_eq!(get(&plain, ACCESS), None);
}

#[test]
fn the_stamp_of_a_write_is_what_the_next_write_expects() {
    let f = Folder::new();
    let path = f.at("a");
    let mut last = written(put(&path, "0", None));
    for text in ["1", "22", "333"] {
        last = written(put(&path, text, Some(last)));
        assert_eq!(last, read(&path, 10, &[]).unwrap().stamp);
    }
    assert_eq!(fs::read(&path).unwrap(), b"333");
}

#[test]
fn hard_links_stay_together() {
    let f = Folder::new();
    let path = f.file("a", "a long text\n");
    fs::hard_link(&path, f.at("b")).unwrap();
    let new = written(put(&path, "short\n", Some(stamp(&path))));
    assert_eq!(fs::read(f.at("b")).unwrap(), b"short\n");
    assert_eq!(f.names(), ["a", "b"]);
    assert_eq!(new, stamp(&f.at("b")));
}

#[test]
fn a_file_that_is_not_what_was_expected_is_left_alone() {
    let f = Folder::new();
    let path = f.file("a", "one\n");
    let expect = Some(stamp(&path));
    f.file("a", "other\n");
    assert!(matches!(put(&path, "x", expect), DiskResult::Stale));
    assert!(matches!(put(&path, "x", None), DiskResult::Stale));
    assert!(matches!(put(&f.at("gone"), "x", expect), DiskResult::Stale));
    assert!(matches!(put(&f.at("gone/gone"), "x", expect), DiskResult::Stale));
    symlink("nowhere", f.at("dangling")).unwrap();
    assert!(matches!(put(&f.at("dangling"), "x", None), DiskResult::Stale));
    fs::create_dir(f.at("dir")).unwrap();
    assert!(matches!(put(&f.at("dir"), "x", None), DiskResult::Stale));
    assert!(matches!(put(&f.at("dir"), "x", expect), DiskResult::Written(Err(DiskError::IsDir))));
    assert_eq!(fs::read(&path).unwrap(), b"other\n");
    assert_eq!(f.names(), ["a", "dangling", "dir"]);
}

#[test]
fn the_same_size_at_another_time_is_another_file() {
    let f = Folder::new();
    let path = f.file("a", "one\n");
    let expect = stamp(&path);
    let file = fs::File::options().append(true).open(&path).unwrap();
    for (sec, nsec) in [(expect.sec, expect.nsec ^ 1), (expect.sec + 1, expect.nsec)] {
        let time = std::time::UNIX_EPOCH + std::time::Duration::new(sec as u64, nsec);
        file.set_modified(time).unwrap();
        assert!(matches!(put(&path, "two\n", Some(expect)), DiskResult::Stale));
    }
    let back = std::time::UNIX_EPOCH + std::time::Duration::new(expect.sec as u64, expect.nsec);
    file.set_modified(back).unwrap();
    written(put(&path, "two\n", Some(expect)));
}

#[test]
fn a_file_that_grows_while_it_is_read_is_served_with_a_stamp_that_is_no_longer_its_own() {
    let f = Folder::new();
    let path = f.file("log", vec![b'x'; 8 << 20]);
    let (stop, stopped) = std::sync::mpsc::channel::<()>();
    let log = path.clone();
    let (started, running) = std::sync::mpsc::channel();
    let writer = std::thread::spawn(move || {
        use std::io::Write;
        let mut file = fs::File::options().append(true).open(log).unwrap();
        while stopped.try_recv().is_err() {
            file.write_all(b"y").unwrap();
            let _ = started.send(());
        }
    });
    running.recv().unwrap();
    let text = read(&path, u64::MAX, &[]).unwrap();
    // At least one more byte, so that the file is another than the one that was read.
    running.try_iter().count();
    running.recv().unwrap();
    stop.send(()).unwrap();
    writer.join().unwrap();
    assert!(text.text.len() >= 8 << 20);
    assert!(matches!(put(&path, "short", Some(text.stamp)), DiskResult::Stale));
}

#[test]
fn parents_are_created_and_new_files_have_an_ordinary_mode() {
    let f = Folder::new();
    let path = f.at("x/y/new.txt");
    written(put(&path, "a\nb\n", None));
    f.file("ordinary", "");
    let mode = |p: &Path| fs::metadata(p).unwrap().mode();
    assert_eq!(mode(&path), mode(&f.at("ordinary")));
    fs::create_dir(f.at("plain")).unwrap();
    assert_eq!(mode(&f.at("x/y")), mode(&f.at("plain")));
    assert_eq!(fs::read_dir(f.at("x/y")).unwrap().count(), 1);
    assert_eq!(fs::metadata(&path).unwrap().nlink(), 1);
    f.file("file", "");
    let under_a_file = put(&f.at("file/new"), "x", None);
    assert!(matches!(under_a_file, DiskResult::Written(Err(DiskError::Io(_)))), "{under_a_file:?}");
}

#[test]
fn what_a_killed_sidecar_left_behind_is_in_nobodys_way() {
    let f = Folder::new();
    let path = f.file("a", "one\n");
    let pid = std::process::id();
    for n in 0..300 {
        f.file(&format!(".bosun-{pid}-{n}"), "old");
    }
    written(put(&path, "two\n", Some(stamp(&path))));
    assert_eq!(fs::read(&path).unwrap(), b"two\n");
    assert_eq!(f.names().len(), 301);
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
    let expect = Some(stamp(&path));
    mode(&path, 0o444);
    let result = put(&path, "two\n", expect);
    assert!(matches!(result, DiskResult::Written(Err(DiskError::Io(_)))), "{result:?}");
    mode(&path, 0o644);
    mode(&f.at("d"), 0o555);
    let result = put(&path, "two\n", expect);
    let new = put(&f.at("d/new"), "x", None);
    mode(&f.at("d"), 0o755);
    written(result);
    assert!(matches!(new, DiskResult::Written(Err(DiskError::Io(_)))), "{new:?}");
    assert_eq!(fs::read(&path).unwrap(), b"two\n");
    assert_eq!(fs::read_dir(f.at("d")).unwrap().count(), 1);
}

#[test]
fn only_the_very_file_that_was_meant_is_deleted() {
    let f = Folder::new();
    let path = f.file("a", "one\n");
    let old = stamp(&path);
    written(put(&path, "longer\n", Some(old)));
    assert!(matches!(delete(&path, old), DiskResult::Stale), "it is another text now");
    assert_eq!(f.names(), ["a"]);
    written(delete(&path, stamp(&path)));
    assert!(f.names().is_empty());
    assert!(matches!(delete(&path, old), DiskResult::Stale));
    fs::create_dir(&path).unwrap();
    assert!(!matches!(delete(&path, old), DiskResult::Written(Ok(_))));
    assert!(path.is_dir());
}
