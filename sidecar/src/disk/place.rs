//! What a real path names, reached without following any link.
//!
//! Owns an open folder at a time. A real path was found earlier, and may since lead elsewhere: here every folder of it is
//! opened from the one above, and everything happens relative to the last. So a folder that has been swapped for a link
//! is an error, and one that is swapped later takes what we do with it. Called by `read` and `write`.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::os::fd::OwnedFd;
use std::path::{Component, Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use nix::errno::Errno;
use nix::fcntl::{AtFlags, OFlag, open, openat, renameat};
use nix::sys::stat::{FileStat, Mode, SFlag, fstat, fstatat, mkdirat};
use nix::unistd::{UnlinkatFlags, linkat, unlinkat};

use crate::event::{DiskError, Stamp};

/// A name in a folder that is held open.
#[derive(Debug)]
pub struct Place {
    folder: OwnedFd,
    name: OsString,
    path: PathBuf,
}

/// What a stamp is made of.
pub fn stamp(stat: &FileStat) -> Stamp {
    Stamp {
        sec: stat.st_mtime,
        nsec: u32::try_from(stat.st_mtime_nsec).unwrap_or_default(),
        size: u64::try_from(stat.st_size).unwrap_or_default(),
    }
}

/// The type bits of a mode.
pub fn kind(stat: &FileStat) -> SFlag {
    SFlag::from_bits_truncate(stat.st_mode) & SFlag::S_IFMT
}

/// The facts about an open file.
pub fn facts(file: &File, path: &Path) -> Result<FileStat, DiskError> {
    fstat(file).map_err(|e| failed(e, path))
}

/// The system's error about `path`.
pub fn failed(errno: Errno, path: &Path) -> DiskError {
    super::io(&errno.into(), path)
}

/// How a folder is held: for its names alone where the system knows that, which needs no right to read it.
fn hold() -> OFlag {
    let hold = OFlag::O_DIRECTORY | OFlag::O_NOFOLLOW | OFlag::O_CLOEXEC;
    #[cfg(target_os = "linux")]
    let hold = hold | OFlag::O_PATH;
    hold
}

fn swapped(path: &Path) -> DiskError {
    DiskError::Io(format!("{} has become a symbolic link meanwhile; nothing was done", path.display()))
}

/// Opens one folder below another.
fn enter(above: &OwnedFd, name: &OsStr, path: &Path, make: bool) -> Result<OwnedFd, DiskError> {
    match openat(above, name, hold(), Mode::empty()) {
        Ok(folder) => Ok(folder),
        Err(Errno::ENOENT) if make => match mkdirat(above, name, Mode::from_bits_truncate(0o777)) {
            Ok(()) | Err(Errno::EEXIST) => enter(above, name, path, false),
            Err(e) => Err(failed(e, path)),
        },
        // Systems disagree on which of the two a link gives.
        Err(Errno::ENOTDIR | Errno::ELOOP) => match fstatat(above, name, AtFlags::AT_SYMLINK_NOFOLLOW) {
            Ok(stat) if kind(&stat) == SFlag::S_IFLNK => Err(swapped(path)),
            _ => Err(DiskError::Io(format!("{} is not a directory", path.display()))),
        },
        Err(e) => Err(failed(e, path)),
    }
}

impl Place {
    /// Reaches `real`, an absolute path without `.`, `..` and links; its folders are made where `make` is set. Whether
    /// anything has that name is not looked at.
    pub fn find(real: &Path, make: bool) -> Result<Self, DiskError> {
        let mut path = PathBuf::from("/");
        let mut folder = open(&path, hold(), Mode::empty()).map_err(|e| failed(e, &path))?;
        let mut parts = real.components();
        if parts.next() != Some(Component::RootDir) {
            return Err(DiskError::Io("not an absolute path".into()));
        }
        let mut last: Option<&OsStr> = None;
        for part in parts {
            let Component::Normal(name) = part else {
                return Err(DiskError::Io("not a real path".into()));
            };
            if let Some(above) = last.replace(name) {
                path.push(above);
                folder = enter(&folder, above, &path, make)?;
            }
        }
        let name = last.ok_or(DiskError::IsDir)?.to_owned();
        path.push(&name);
        Ok(Self { folder, name, path })
    }

    /// The path that it was found by.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// What is there now; `None` for nothing.
    pub fn look(&self) -> Result<Option<FileStat>, DiskError> {
        match fstatat(&self.folder, self.name.as_os_str(), AtFlags::AT_SYMLINK_NOFOLLOW) {
            Ok(stat) => Ok(Some(stat)),
            Err(Errno::ENOENT) => Ok(None),
            Err(e) => Err(failed(e, &self.path)),
        }
    }

    /// The same, where anything but a regular file is an error.
    pub fn file(&self) -> Result<Option<FileStat>, DiskError> {
        let stat = self.look()?;
        stat.map_or(Ok(()), |stat| self.regular(&stat))?;
        Ok(stat)
    }

    /// Opens the regular file that is there; anything else is an error.
    pub fn open(&self, how: OFlag) -> Result<File, DiskError> {
        // Before it is opened, because opening a device may do something to it.
        self.file()?.ok_or(DiskError::NotFound)?;
        // Were it a pipe by now, opening it would wait for its other end.
        let how = how | OFlag::O_NOFOLLOW | OFlag::O_NONBLOCK | OFlag::O_NOCTTY | OFlag::O_CLOEXEC;
        let file = openat(&self.folder, self.name.as_os_str(), how, Mode::empty());
        let file = File::from(file.map_err(|e| match e {
            Errno::ELOOP => swapped(&self.path),
            e => failed(e, &self.path),
        })?);
        self.regular(&facts(&file, &self.path)?)?;
        Ok(file)
    }

    fn regular(&self, stat: &FileStat) -> Result<(), DiskError> {
        match kind(stat) {
            SFlag::S_IFREG => Ok(()),
            SFlag::S_IFDIR => Err(DiskError::IsDir),
            SFlag::S_IFLNK => Err(swapped(&self.path)),
            _ => Err(DiskError::Special),
        }
    }

    /// A new file in the same folder, which is gone with its handle. The umask applies to `mode`.
    pub fn beside(&self, mode: Mode) -> Result<Temp<'_>, Errno> {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let how = OFlag::O_WRONLY | OFlag::O_CREAT | OFlag::O_EXCL | OFlag::O_NOFOLLOW | OFlag::O_CLOEXEC;
        let mut tries = 0;
        loop {
            let next = NEXT.fetch_add(1, Ordering::Relaxed);
            let name = OsString::from(format!(".bosun-{}-{next}", std::process::id()));
            match openat(&self.folder, name.as_os_str(), how, mode) {
                Ok(file) => return Ok(Temp { place: self, name, file: File::from(file) }),
                // What a killed process of the same number left behind.
                Err(Errno::EEXIST) if tries < 1000 => tries += 1,
                Err(e) => return Err(e),
            }
        }
    }

    /// Creates the file itself; nothing may be there.
    pub fn create(&self, mode: Mode) -> Result<File, Errno> {
        let how = OFlag::O_WRONLY | OFlag::O_CREAT | OFlag::O_EXCL | OFlag::O_NOFOLLOW | OFlag::O_CLOEXEC;
        openat(&self.folder, self.name.as_os_str(), how, mode).map(File::from)
    }

    /// Removes it, if it can.
    pub fn remove(&self) {
        let _ = unlinkat(&self.folder, self.name.as_os_str(), UnlinkatFlags::NoRemoveDir);
    }
}

/// A file that is going to be at a place.
#[derive(Debug)]
pub struct Temp<'a> {
    place: &'a Place,
    name: OsString,
    /// Open for writing.
    pub file: File,
}

impl Temp<'_> {
    /// Puts it where the place is, over what is there.
    pub fn replace(&self) -> Result<(), Errno> {
        let folder = &self.place.folder;
        renameat(folder, self.name.as_os_str(), folder, self.place.name.as_os_str())
    }

    /// Puts it where the place is, if nothing is there (else `EEXIST`).
    pub fn settle(&self) -> Result<(), Errno> {
        let folder = &self.place.folder;
        let flags = AtFlags::empty();
        linkat(folder, self.name.as_os_str(), folder, self.place.name.as_os_str(), flags)
    }
}

impl Drop for Temp<'_> {
    fn drop(&mut self) {
        // After a rename nothing has that name any more.
        let _ = unlinkat(&self.place.folder, self.name.as_os_str(), UnlinkatFlags::NoRemoveDir);
    }
}
