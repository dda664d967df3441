//! Paths that lead elsewhere by the time they are used.

use nix::fcntl::OFlag;
use nix::sys::stat::Mode;

use super::super::place::Place;
use super::*;

struct Scene {
    f: Folder,
    real: PathBuf,
    expect: Stamp,
}

/// `in/dir/a` was found; `out/a` is what nobody may touch or see.
fn scene() -> Scene {
    let f = Folder::new();
    fs::create_dir_all(f.at("in/dir/sub")).unwrap();
    fs::create_dir_all(f.at("out/sub")).unwrap();
    f.file("in/dir/a", "mine\n");
    f.file("in/dir/sub/a", "mine\n");
    f.file("out/a", "secret");
    f.file("out/sub/a", "secret");
    let real = resolve(&f.at("in/dir/a"), &[]).unwrap().real;
    let expect = stamp(&real);
    Scene { f, real, expect }
}

fn says_link<T: std::fmt::Debug>(result: Result<T, DiskError>, path: &Path) {
    match result {
        Err(DiskError::Io(why)) => {
            let want = format!("{} has become a symbolic link", path.display());
            assert!(why.contains(&want), "{why}");
        }
        other => panic!("{other:?}"),
    }
}

fn outcome(result: DiskResult) -> Result<Stamp, DiskError> {
    match result {
        DiskResult::Written(result) => result,
        other => panic!("{other:?}"),
    }
}

fn swap_for_link(path: &Path, target: &Path) {
    fs::rename(path, path.with_extension("moved")).unwrap();
    symlink(target, path).unwrap();
}

#[test]
fn a_folder_that_was_swapped_for_a_link_is_an_error_that_says_so() {
    let s = scene();
    let deep = s.f.at("in/dir/sub/a");
    let expect = stamp(&deep);
    let dir = s.f.at("in/dir");
    swap_for_link(&dir, &s.f.at("out"));
    // The file that the link leads to has the stamp that is expected, so that only the link stands in the way.
    let times = fs::FileTimes::new()
        .set_modified(fs::metadata(s.f.at("in/dir.moved/a")).unwrap().modified().unwrap());
    s.f.file("out/a", "12345");
    fs::File::options().write(true).open(s.f.at("out/a")).unwrap().set_times(times).unwrap();
    assert_eq!(stamp(&s.f.at("out/a")), s.expect);
    says_link(read(&s.real, 100, &[]), &dir);
    says_link(read(&deep, 100, &[]), &dir);
    says_link(outcome(put(&s.real, "evil\n", Some(s.expect))), &dir);
    says_link(outcome(put(&deep, "evil\n", Some(expect))), &dir);
    says_link(outcome(put(&s.f.at("in/dir/new"), "evil\n", None)), &dir);
    says_link(outcome(put(&s.f.at("in/dir/x/y/new"), "evil\n", None)), &dir);
    assert_eq!(fs::read(s.f.at("out/a")).unwrap(), b"12345");
    assert_eq!(fs::read_dir(s.f.at("out")).unwrap().count(), 2);
}

#[test]
fn a_file_that_was_swapped_for_a_link_is_an_error_that_says_so() {
    let s = scene();
    swap_for_link(&s.real, &s.f.at("out/a"));
    says_link(read(&s.real, 100, &[]), &s.real);
    says_link(outcome(put(&s.real, "evil\n", Some(s.expect))), &s.real);
    assert_eq!(fs::read(s.f.at("out/a")).unwrap(), b"secret");
}

#[test]
fn a_folder_that_is_swapped_in_the_middle_of_a_write_takes_the_write_with_it() {
    let s = scene();
    let place = Place::find(&s.real, false).unwrap();
    let mut temp = place.beside(Mode::S_IRUSR | Mode::S_IWUSR).unwrap();
    swap_for_link(&s.f.at("in/dir"), &s.f.at("out"));
    std::io::Write::write_all(&mut temp.file, b"new\n").unwrap();
    assert!(place.open(OFlag::O_RDONLY).is_ok());
    temp.replace().unwrap();
    drop(temp);
    assert_eq!(fs::read(s.f.at("in/dir.moved/a")).unwrap(), b"new\n");
    assert_eq!(fs::read(s.f.at("out/a")).unwrap(), b"secret");
    assert_eq!(fs::read_dir(s.f.at("in/dir.moved")).unwrap().count(), 2, "no file of ours is left");
}

/// Needs a system that can make two names change places at once.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
#[test]
fn however_a_folder_and_a_link_change_places_nothing_outside_is_touched_or_seen() {
    use nix::fcntl::{AT_FDCWD, RenameFlags, renameat2};
    let s = scene();
    let (dir, link) = (s.f.at("in/dir"), s.f.at("in/link"));
    symlink(s.f.at("out"), &link).unwrap();
    let (stop, stopped) = std::sync::mpsc::channel::<()>();
    let swapper = std::thread::spawn(move || {
        let mut turns = 0;
        while turns % 2 == 1 || stopped.try_recv().is_err() {
            renameat2(AT_FDCWD, &dir, AT_FDCWD, &link, RenameFlags::RENAME_EXCHANGE).unwrap();
            turns += 1;
        }
    });
    let (mut done, mut refused) = (0, 0);
    let mut n = 0;
    while n < 2000 || ((done == 0 || refused == 0) && n < 1_000_000) {
        match read(&s.real, 100, &[]) {
            Ok(text) => {
                assert_ne!(text.text, b"secret");
                let result = put(&s.real, "again\n", Some(text.stamp));
                done += usize::from(matches!(result, DiskResult::Written(Ok(_))));
            }
            Err(DiskError::Io(_)) => refused += 1,
            Err(e) => panic!("{e:?}"),
        }
        let _ = put(&s.f.at(&format!("in/dir/new{n}")), "x", None);
        n += 1;
    }
    stop.send(()).unwrap();
    swapper.join().unwrap();
    assert!(done > 0 && refused > 0, "{done} {refused}");
    assert_eq!(fs::read(s.f.at("out/a")).unwrap(), b"secret");
    assert_eq!(fs::read_dir(s.f.at("out")).unwrap().count(), 2);
}
