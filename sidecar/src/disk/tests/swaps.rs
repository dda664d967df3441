//! Swap files, of a real Neovim where it matters.

use std::io::{BufRead, BufReader};
use std::os::unix::ffi::OsStrExt;
use std::process::{Child, Command, Stdio};

use nix::unistd::{User, gethostname, getuid};

use super::super::swap::find;
use super::*;
use crate::event::SwapOwner;

/// Another Neovim, which ends with this handle.
struct Other {
    child: Child,
}

impl Other {
    /// Opens `file` with 'directory' as given, and does `then` before this returns.
    fn open(file: &Path, directory: &str, then: &str) -> Self {
        let mut child = Command::new(neovim())
            .args(["--clean", "--headless", "-i", "NONE"])
            .args(["--cmd", &format!("set directory={directory} swapfile updatecount=200 shortmess+=A")])
            .arg(file)
            .args(["-c", then, "-c", "lua io.stdout:write('ready\\n'):flush()"])
            // Held open: at its end the editor would leave.
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap_or_else(|e| panic!("{}: {e}; `make setup` fetches Neovim", neovim().display()));
        let mut said = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut said).unwrap();
        assert_eq!(said, "ready\n");
        Self { child }
    }

    fn held(&self, modified: bool) -> Option<SwapOwner> {
        Some(SwapOwner { pid: Some(self.child.id()), modified })
    }

    /// Without a chance to tidy up.
    fn die(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

impl Drop for Other {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

const CHANGE: &str = "call setline(1, 'changed')";

fn dirs(dirs: &[&str]) -> Vec<String> {
    dirs.iter().map(|d| (*d).to_owned()).collect()
}

#[test]
fn a_file_that_another_neovim_has_open_is_held_by_it_until_it_dies() {
    let f = Folder::new();
    fs::create_dir(f.at("swap")).unwrap();
    let (file, neighbour) = (f.file("a.txt", "one\n"), f.file("aa.txt", "one\n"));
    let full = format!("{}//", f.at("swap").display());
    let ask = |file: &Path, own: u32| find(file, &dirs(&["/nowhere", &full]), own);
    assert_eq!(ask(&file, 0), None);
    let other = Other::open(&file, &full, "");
    assert_eq!(ask(&file, 0), other.held(false));
    assert_eq!(ask(&neighbour, 0), None);
    assert_eq!(ask(&f.file("swap/a.txt", ""), 0), None);
    // The editor that started the sidecar.
    assert_eq!(ask(&file, other.child.id()), None);
    let second = Other::open(&file, &full, CHANGE);
    assert_eq!(ask(&file, other.child.id()), second.held(true));
    assert_eq!(ask(&file, second.child.id()), other.held(false));
    assert_eq!(ask(&file, 0), second.held(true), "the one with changes first");
    // Who runs comes before what is left behind, and that is still said when nobody else is there.
    second.die();
    assert_eq!(ask(&file, 0), other.held(false));
    let left = Some(SwapOwner { pid: None, modified: true });
    assert_eq!(ask(&file, other.child.id()), left);
    other.die();
    assert_eq!(ask(&file, 0), left);
}

#[test]
fn swap_files_are_found_wherever_directory_puts_them() {
    let f = Folder::new();
    fs::create_dir_all(f.at("dir/swap")).unwrap();
    fs::create_dir_all(f.at("shared")).unwrap();
    symlink("dir", f.at("link")).unwrap();
    let shared = f.at("shared").display().to_string();
    let full = format!("{shared}//");
    let (file, dot) = (f.file("dir/a b%c.txt", "one\n"), f.file("dir/.hidden", "one\n"));
    for directory in [".", "./swap", &shared, &full] {
        for file in [&file, &dot] {
            let ask = |own| find(file, &dirs(&[directory]), own);
            let first = Other::open(file, directory, CHANGE);
            assert_eq!(ask(0), first.held(true), "{directory} {file:?}");
            let second = Other::open(file, directory, "");
            assert_eq!(ask(first.child.id()), second.held(false), "{directory} {file:?}");
            // The first name is free again, the second is still taken; and both are gone after an orderly end.
            drop(first);
            assert_eq!(ask(0), second.held(false), "{directory} {file:?}");
            second.die();
            for folder in [f.at("dir"), f.at("dir/swap"), f.at("shared")] {
                for entry in fs::read_dir(folder).unwrap().flatten() {
                    if entry.file_name().as_bytes().ends_with(b".swp")
                        || entry.file_name().as_bytes().ends_with(b".swo")
                    {
                        fs::remove_file(entry.path()).unwrap();
                    }
                }
            }
        }
    }
    // By another way to the same file.
    for directory in [".", &full] {
        let other = Other::open(&f.at("link/a b%c.txt"), directory, "");
        assert_eq!(find(&file, &dirs(&[directory]), 0), other.held(false), "{directory}");
    }
}

/// The first block of a swap file.
fn block(pid: u32, host: &[u8], name: &[u8], changed: u8) -> Vec<u8> {
    let mut block = vec![0; 4096];
    block[..12].copy_from_slice(b"b0VIM 9.1\0\0\0");
    block[24..28].copy_from_slice(&pid.to_le_bytes());
    block[68..68 + host.len()].copy_from_slice(host);
    block[108..108 + name.len()].copy_from_slice(name);
    block[1007] = changed;
    block
}

#[test]
fn what_is_no_swap_file_of_this_file_here_and_now_holds_nothing() {
    let f = Folder::new();
    let file = f.file("a", "x");
    let name = file.as_os_str().as_bytes().to_vec();
    let host = gethostname().unwrap();
    let host = &host.as_bytes()[..host.len().min(39)];
    let me = std::process::id();
    let ask = |bytes: &[u8]| {
        f.file(".a.swp", bytes);
        find(&file, &dirs(&["."]), 1)
    };
    let good = block(me, host, &name, 0x55);
    assert_eq!(ask(&good), Some(SwapOwner { pid: Some(me), modified: true }));
    assert_eq!(ask(&block(me, host, &name, 0)), Some(SwapOwner { pid: Some(me), modified: false }));
    // On another machine that shares the folder: it cannot be seen from here whether it runs.
    assert_eq!(ask(&block(me, b"elsewhere", &name, 0x55)), Some(SwapOwner { pid: None, modified: true }));
    assert_eq!(ask(&block(0, host, &name, 0)), Some(SwapOwner { pid: None, modified: false }));
    assert_eq!(ask(&block(u32::MAX, host, &name, 0)), Some(SwapOwner { pid: None, modified: false }));
    assert_eq!(ask(&block(me, host, f.at("b").as_os_str().as_bytes(), 0)), None);
    assert_eq!(ask(&block(me, host, b"", 0)), None);
    assert_eq!(ask(&good[..1000]), None);
    assert_eq!(ask(b"text"), None);
    assert_eq!(ask(b""), None);
    fs::remove_file(f.at(".a.swp")).unwrap();
    nix::unistd::mkfifo(&f.at(".a.swo"), nix::sys::stat::Mode::S_IRWXU).unwrap();
    symlink(f.file("good", &good), f.at(".a.swn")).unwrap();
    for odd in [".a.swpx", ".a.sxa", ".b.swp", "xa.swp", ".a.swP", "a"] {
        f.file(odd, &good);
    }
    assert_eq!(find(&file, &dirs(&["."]), 0), None);
    f.file(".a.saa", &good);
    assert!(find(&file, &dirs(&["."]), 0).is_some());
}

#[test]
fn a_name_below_somebodys_home_is_spelled_out() {
    let f = Folder::new();
    let user = User::from_uid(getuid()).unwrap().unwrap();
    let host = gethostname().unwrap();
    let host = &host.as_bytes()[..host.len().min(39)];
    let ask = |name: &str, real: &Path| {
        let base = real.file_name().unwrap().to_string_lossy().into_owned();
        f.file(&format!("{base}.swp"), block(7, host, name.as_bytes(), 0));
        find(real, &dirs(&[&f.path.display().to_string()]), 0).is_some()
    };
    let home = fs::canonicalize(&user.dir).unwrap();
    let (real, name) = (home.join("no/such/file"), &user.name);
    assert!(ask(&format!("~{name}/no/such/file"), &real));
    assert!(ask(
        "~/no/such/file",
        &fs::canonicalize(std::env::home_dir().unwrap()).unwrap().join("no/such/file")
    ));
    assert!(!ask(&format!("~{name}/no/such/other/file"), &real));
    assert!(!ask(&format!("~{name}"), &real));
    assert!(!ask("~/../no/such/file", &home.join("other/file")));
}
