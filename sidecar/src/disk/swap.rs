//! Swap files: is a file open in another Neovim?
//!
//! Owns no state. It only reads; it never removes a swap file and never asks the other editor. Called by the disk edge.
//!
//! An editor that has a file open keeps a swap file, whose first block says who it is, which file, and whether there are
//! changes that are not on disk. Vim's have the same block.

use std::ffi::{OsStr, OsString};
use std::fs::{self, File, OpenOptions};
use std::io::Read;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use nix::errno::Errno;
use nix::fcntl::OFlag;
use nix::unistd::{Pid, User, gethostname, getpgid};

use super::resolve::resolve;
use crate::event::SwapOwner;

/// Bytes of the first block that matter. It holds: magic at 0, version at 2, page size at 12, time at 16, inode at 20,
/// process at 24 (all little endian), user at 28, host at 68, file name at 108, flags at 1006, changed or not at 1007.
const BLOCK: usize = 1008;
const MAGIC: &[u8] = b"b0";
const PID: usize = 24;
const HOST: std::ops::Range<usize> = 68..108;
const NAME: std::ops::Range<usize> = 108..1006;
const CHANGED: usize = 1007;
const CHANGED_MARK: u8 = 0x55;

/// Another editor that has the file `real` open; of several, one that runs before one that does not, one with changes
/// before one without. `dirs` are entries of 'directory'. Swap files of the process `own` do not count.
pub fn find(real: &Path, dirs: &[String], own: u32) -> Option<SwapOwner> {
    let mut best: Option<SwapOwner> = None;
    for dir in dirs {
        for path in candidates(real, dir) {
            let found = block(&path).and_then(|b| owner(&b, real, own));
            best = best.into_iter().chain(found).max_by_key(|o| (o.pid.is_some(), o.modified));
        }
    }
    best
}

/// Files in this entry of 'directory' that are named like swap files of `real`. Listed, because of those that several
/// editors made (`.swp`, `.swo`, ... `.saa`) the first may be gone, and because a full path in a name may be another than
/// `real`.
fn candidates(real: &Path, dir: &str) -> Vec<PathBuf> {
    let (Some(folder), Some(name)) = (real.parent(), real.file_name()) else { return Vec::new() };
    let full = dir.ends_with("//");
    let dir = match dir {
        "." => folder.to_owned(),
        // Relative to the file.
        _ => dir.strip_prefix("./").map_or_else(|| PathBuf::from(dir), |rest| folder.join(rest)),
    };
    let Ok(entries) = fs::read_dir(dir) else { return Vec::new() };
    entries.flatten().filter(|e| is_named(&e.file_name(), name, full)).map(|e| e.path()).collect()
}

/// `NAME.swp` or `.NAME.swp`; with `full`, `%path%of%NAME.swp`.
fn is_named(entry: &OsStr, name: &OsStr, full: bool) -> bool {
    let Some((stem, [b'.', b's', b'a'..=b'w', b'a'..=b'z'])) = entry.as_bytes().split_last_chunk::<4>()
    else {
        return false;
    };
    let Some(before) = stem.strip_suffix(name.as_bytes()) else { return false };
    if full { before.ends_with(b"%") } else { before.is_empty() || before == b"." }
}

fn block(path: &Path) -> Option<[u8; BLOCK]> {
    // The name may be that of a pipe, which would be waited for, or of a link to somewhere else.
    let flags = OFlag::O_NONBLOCK | OFlag::O_NOFOLLOW | OFlag::O_NOCTTY;
    let mut file: File = OpenOptions::new().read(true).custom_flags(flags.bits()).open(path).ok()?;
    if !file.metadata().ok()?.is_file() {
        return None;
    }
    let mut block = [0; BLOCK];
    file.read_exact(&mut block).ok()?;
    block.starts_with(MAGIC).then_some(block)
}

fn owner(block: &[u8; BLOCK], real: &Path, own: u32) -> Option<SwapOwner> {
    let pid = u32::from_le_bytes(*block[PID..].first_chunk()?);
    let here = is_here(text(&block[HOST]));
    if here && pid == own {
        return None;
    }
    let names = names(text(&block[NAME]));
    names.iter().any(|n| leads_to(n, real)).then(|| SwapOwner {
        pid: (here && runs(pid)).then_some(pid),
        modified: block[CHANGED] == CHANGED_MARK,
    })
}

/// Up to the first NUL.
fn text(bytes: &[u8]) -> &[u8] {
    bytes.split(|b| *b == 0).next().unwrap_or_default()
}

/// The host name there has at most 39 bytes.
fn is_here(host: &[u8]) -> bool {
    let Ok(ours) = gethostname() else { return false };
    let ours = ours.as_bytes();
    host == &ours[..ours.len().min(HOST.len() - 1)]
}

fn runs(pid: u32) -> bool {
    match i32::try_from(pid) {
        // 0 would be this process. Asking for its group sends nothing, as asking with a signal would.
        Ok(pid) if pid > 0 => matches!(getpgid(Some(Pid::from_raw(pid))), Ok(_) | Err(Errno::EPERM)),
        _ => false,
    }
}

/// The file's name in full. `~user` stands for what was that editor's home: mostly the user's, or what `$HOME` says.
fn names(name: &[u8]) -> Vec<PathBuf> {
    let path = |bytes: &[u8]| PathBuf::from(OsString::from_vec(bytes.to_owned()));
    let Some(rest) = name.strip_prefix(b"~") else { return vec![path(name)] };
    let user = rest.split(|b| *b == b'/').next().unwrap_or_default();
    let Some(below) = rest[user.len()..].strip_prefix(b"/") else { return Vec::new() };
    let known = std::str::from_utf8(user).ok().and_then(|u| User::from_name(u).ok().flatten());
    let homes = known.map(|u| u.dir).into_iter().chain(std::env::home_dir());
    homes.map(|home| home.join(path(below))).collect()
}

fn leads_to(name: &Path, real: &Path) -> bool {
    name == real || resolve(name, &[]).is_ok_and(|found| found.real == real)
}
