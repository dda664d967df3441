//! The edge on a real folder.

mod forms;
mod resolving;
mod swapped;
mod swaps;
mod writing;

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use super::*;
use crate::event::{DiskText, Form, PathKind, Resolved, Stamp};

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

/// The real editor, which `make setup` fetches.
fn neovim() -> PathBuf {
    let ours = Path::new(env!("CARGO_MANIFEST_DIR")).join("../.deps/bin/nvim");
    let named = std::env::var_os("BOSUN_NVIM").map(PathBuf::from);
    named.unwrap_or(if ours.exists() { ours } else { "nvim".into() })
}

/// The stamp that a file has now, as an agent's read or the look before it would find it.
fn stamp(path: &Path) -> Stamp {
    resolve(path, &[]).unwrap().stamp.unwrap()
}

/// Writes plain text over a file, or where none is.
fn put(path: &Path, text: &str, expect: Option<Stamp>) -> DiskResult {
    write(path, text.as_bytes(), &Form::default(), expect)
}

#[test]
fn results_come_into_the_lane_with_their_op() {
    let f = Folder::new();
    let path = f.file("a", "text");
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    runtime.block_on(async {
        let (tx, mut rx) = mpsc::channel(4);
        Disk::new(tx).command(OpId(7), DiskCmd::Read { real: path, cap: 100, encodings: Vec::new() });
        let Some(Event::Disk(OpId(7), DiskResult::Text(Ok(text)))) = rx.recv().await else { panic!() };
        assert_eq!(text.text, b"text");
    });
}

#[test]
fn a_file_that_is_being_written_is_read_when_it_is_left_alone() {
    let f = Folder::new();
    let path = f.file("a", "new\n");
    let file = fs::File::options().write(true).open(&path).unwrap();
    let now = std::time::SystemTime::now;
    let hour = std::time::Duration::from_secs(3600);
    // A time to come says nothing of when it was written.
    for (time, fresh) in [(now(), true), (now() - hour, false), (now() + hour, false)] {
        file.set_modified(time).unwrap();
        assert_eq!(super::read::is_fresh(&fs::File::open(&path).unwrap()), fresh);
    }
    file.set_modified(now()).unwrap();
    let begin = std::time::Instant::now();
    assert_eq!(read(&path, 100, &[]).unwrap().text, b"new\n");
    assert!(begin.elapsed() >= super::read::QUIET / 2, "it was not waited for");
}

#[test]
fn an_empty_file_is_looked_at_twice_whatever_its_time_says() {
    let f = Folder::new();
    let path = f.file("a", "");
    let old = std::time::SystemTime::now() - std::time::Duration::from_secs(60);
    fs::File::options().write(true).open(&path).unwrap().set_modified(old).unwrap();
    let begin = std::time::Instant::now();
    assert_eq!(read(&path, 100, &[]).unwrap().text, b"");
    assert!(begin.elapsed() >= super::read::QUIET, "it was not waited for");
}

#[test]
fn a_file_that_is_written_all_the_time_is_read_all_the_same() {
    let f = Folder::new();
    let path = f.file("a", "x");
    let (stop, stopped) = std::sync::mpsc::channel::<()>();
    let writer = std::thread::spawn({
        let path = path.clone();
        move || {
            while stopped.recv_timeout(std::time::Duration::from_millis(1)).is_err() {
                fs::write(&path, "x").unwrap();
            }
        }
    });
    let text = read(&path, 100, &[]);
    stop.send(()).unwrap();
    writer.join().unwrap();
    assert!(text.is_ok_and(|t| t.text.len() <= 1));
}
