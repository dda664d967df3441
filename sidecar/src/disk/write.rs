//! Writing a text file that is not open in the editor.
//!
//! Owns no state. It never overwrites a text that nobody has compared, never follows a link, and never leaves a file of
//! its own behind. Called by the disk edge.
//!
//! The new text is written beside the file and renamed over it, so that nobody ever sees half of it; mode, owner and
//! attributes are kept. In place instead, where a rename would lose something: a file with more links than one, a file
//! whose owner or attributes we cannot give to the new one, a folder in which we may not create files.

use std::fs::File;
use std::io::{self, Write};
use std::os::unix::fs::fchown;
use std::path::Path;

use nix::errno::Errno;
use nix::fcntl::OFlag;
use nix::sys::stat::{FileStat, Mode, fchmod};

use super::attributes;
use super::form::encode;
use super::place::{Place, Temp, facts, failed, stamp};
use crate::event::{DiskError, DiskResult, Form, Stamp};

/// Writes `text` in `form` if the file still has the stamp `expect` (`None`: does not exist), else says `Stale`.
pub fn write(real: &Path, text: &[u8], form: &Form, expect: Option<Stamp>) -> DiskResult {
    let result = encode(text, form).and_then(|bytes| match expect {
        Some(expect) => replace(real, &bytes, expect),
        None => create(real, &bytes),
    });
    match result {
        Ok(Some(stamp)) => DiskResult::Written(Ok(stamp)),
        Ok(None) => DiskResult::Stale,
        Err(e) => DiskResult::Written(Err(e)),
    }
}

/// Deletes a regular file that still has this stamp, else says `Stale`. Gives that stamp back.
pub fn delete(real: &Path, expect: Stamp) -> DiskResult {
    let deleted = || -> Result<bool, DiskError> {
        let place = Place::find(real, false)?;
        if place.file()?.is_none_or(|now| stamp(&now) != expect) {
            return Ok(false);
        }
        place.remove();
        match place.look()? {
            None => Ok(true),
            Some(_) => Err(DiskError::Io(format!("{} could not be deleted", real.display()))),
        }
    };
    match deleted() {
        Ok(true) => DiskResult::Written(Ok(expect)),
        Ok(false) | Err(DiskError::NotFound) => DiskResult::Stale,
        Err(e) => DiskResult::Written(Err(e)),
    }
}

fn replace(real: &Path, bytes: &[u8], expect: Stamp) -> Result<Option<Stamp>, DiskError> {
    let place = match Place::find(real, false) {
        Err(DiskError::NotFound) => return Ok(None),
        place => place?,
    };
    if place.file()?.is_none_or(|now| stamp(&now) != expect) {
        return Ok(None);
    }
    // A rename needs no right to write to the file itself; a file that is read-only is meant to stay as it is.
    let mut file = match place.open(OFlag::O_WRONLY) {
        Err(DiskError::NotFound) => return Ok(None),
        file => file?,
    };
    let old = facts(&file, real)?;
    let temp = beside(&place, bytes, &file, &old)?;
    // The last look, as near to the change as can be.
    let same = |now: &FileStat| stamp(now) == expect && (now.st_dev, now.st_ino) == (old.st_dev, old.st_ino);
    if !place.look()?.is_some_and(|now| same(&now)) {
        return Ok(None);
    }
    let file = match temp {
        Some(temp) => {
            temp.replace().map_err(|e| failed(e, real))?;
            return facts(&temp.file, real).map(|new| Some(stamp(&new)));
        }
        None => {
            in_place(&mut file, bytes).map_err(|e| super::io(&e, real))?;
            file
        }
    };
    Ok(Some(stamp(&facts(&file, real)?)))
}

fn in_place(file: &mut File, bytes: &[u8]) -> io::Result<()> {
    // The length is cut last, so that no moment has less text than the shorter of both.
    file.write_all(bytes)?;
    file.set_len(bytes.len() as u64)
}

/// The new text in a file beside the old one, with its mode, owner and attributes; `None` when that cannot be had.
fn beside<'a>(
    place: &'a Place,
    bytes: &[u8],
    file: &File,
    old: &FileStat,
) -> Result<Option<Temp<'a>>, DiskError> {
    let path = place.path();
    if old.st_nlink > 1 {
        return Ok(None);
    }
    let mut temp = match place.beside(Mode::from_bits_truncate(0o600)) {
        Ok(temp) => temp,
        Err(Errno::EACCES | Errno::EPERM | Errno::EROFS) => return Ok(None),
        Err(e) => return Err(failed(e, path)),
    };
    let own = facts(&temp.file, path)?;
    let same_owner = (own.st_uid, own.st_gid) == (old.st_uid, old.st_gid);
    if !same_owner && fchown(&temp.file, Some(old.st_uid), Some(old.st_gid)).is_err() {
        return Ok(None);
    }
    temp.file.write_all(bytes).map_err(|e| super::io(&e, path))?;
    // After the owner, because a change of owner clears bits of the mode.
    fchmod(&temp.file, Mode::from_bits_truncate(old.st_mode)).map_err(|e| failed(e, path))?;
    Ok(attributes::keep(file, &temp.file).then_some(temp))
}

fn create(real: &Path, bytes: &[u8]) -> Result<Option<Stamp>, DiskError> {
    // The file is missing by intent; what else is missing cannot be named by that.
    let named = |e: DiskError| match e {
        DiskError::NotFound => DiskError::Io(format!("the folder of {} has gone", real.display())),
        e => e,
    };
    let place = Place::find(real, true).map_err(named)?;
    if place.look()?.is_some() {
        return Ok(None);
    }
    // The umask applies, as to any new file.
    let mut temp = place.beside(Mode::from_bits_truncate(0o666)).map_err(|e| named(failed(e, real)))?;
    temp.file.write_all(bytes).map_err(|e| super::io(&e, real))?;
    match temp.settle() {
        Ok(()) => facts(&temp.file, real).map(|new| Some(stamp(&new))),
        Err(Errno::EEXIST) => Ok(None),
        // A file system without hard links.
        Err(Errno::EPERM | Errno::ENOTSUP | Errno::ENOSYS | Errno::EMLINK) => create_at(&place, bytes),
        Err(e) => Err(named(failed(e, real))),
    }
}

fn create_at(place: &Place, bytes: &[u8]) -> Result<Option<Stamp>, DiskError> {
    let mut file = match place.create(Mode::from_bits_truncate(0o666)) {
        Ok(file) => file,
        Err(Errno::EEXIST) => return Ok(None),
        Err(e) => return Err(failed(e, place.path())),
    };
    if let Err(e) = file.write_all(bytes) {
        place.remove();
        return Err(super::io(&e, place.path()));
    }
    Ok(Some(stamp(&facts(&file, place.path())?)))
}
