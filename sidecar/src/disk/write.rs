//! Writing a text file that is not open in the editor.
//!
//! Owns no state. It never overwrites a text that nobody has compared, and never leaves a file of its own behind.
//! Called by the disk edge.
//!
//! The new text is written beside the file and renamed over it, so that nobody ever sees half of it; mode and owner are
//! kept. In place instead, where a rename would lose something: a file with more links than one, a file whose owner we
//! cannot give to the new one, a folder in which we may not create files. The path is real, so no link is replaced.

use std::fs::{self, File, Metadata, OpenOptions, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
use std::path::Path;

use tempfile::{Builder, NamedTempFile};

use super::read::{encode, read};
use crate::event::{DiskError, DiskResult, Stamp};

/// Writes `text` if the file still holds `expect` (`None`: does not exist), else says `Stale`.
pub fn write(real: &Path, text: &str, crlf: bool, bom: bool, expect: Option<&str>) -> DiskResult {
    let bytes = encode(text, crlf, bom);
    let result = match expect {
        Some(expect) => replace(real, &bytes, expect),
        None => create(real, &bytes),
    };
    match result {
        Ok(true) => DiskResult::Written(Ok(Stamp::default())),
        Ok(false) => DiskResult::Stale,
        Err(e) => DiskResult::Written(Err(e)),
    }
}

fn holds(real: &Path, expect: &str) -> Result<bool, DiskError> {
    match read(real, u64::MAX) {
        Ok(now) => Ok(now.text == expect.as_bytes()),
        Err(DiskError::NotFound | DiskError::Binary | DiskError::Undecodable) => Ok(false),
        Err(e) => Err(e),
    }
}

fn replace(real: &Path, bytes: &[u8], expect: &str) -> Result<bool, DiskError> {
    if !holds(real, expect)? {
        return Ok(false);
    }
    let meta = fs::metadata(real).map_err(|e| super::io(&e, real))?;
    // A rename needs no right to write to the file itself; a file that is read-only is meant to stay as it is.
    let file = OpenOptions::new().write(true).open(real).map_err(|e| super::io(&e, real))?;
    match beside(real, bytes, &meta)? {
        Some(temp) if holds(real, expect)? => {
            temp.persist(real).map_err(|e| super::io(&e.error, real))?;
            Ok(true)
        }
        Some(_) => Ok(false),
        None => in_place(file, bytes).map(|()| true).map_err(|e| super::io(&e, real)),
    }
}

fn in_place(mut file: File, bytes: &[u8]) -> io::Result<()> {
    // The length is cut last, so that no moment has less text than the shorter of both.
    file.write_all(bytes)?;
    file.set_len(bytes.len() as u64)
}

/// The new text in a file beside `real`, with its mode and owner; `None` when that cannot be had.
fn beside(real: &Path, bytes: &[u8], meta: &Metadata) -> Result<Option<NamedTempFile>, DiskError> {
    if meta.nlink() > 1 {
        return Ok(None);
    }
    let mut temp = match temp_in(folder(real), 0o600) {
        Ok(temp) => temp,
        Err(e) if matches!(e.kind(), io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem) => {
            return Ok(None);
        }
        Err(e) => return Err(super::io(&e, real)),
    };
    let own = temp.as_file().metadata().map_err(|e| super::io(&e, real))?;
    let same_owner = (own.uid(), own.gid()) == (meta.uid(), meta.gid());
    if !same_owner && chown(temp.path(), Some(meta.uid()), Some(meta.gid())).is_err() {
        return Ok(None);
    }
    temp.write_all(bytes).map_err(|e| super::io(&e, real))?;
    // After the owner, because a change of owner clears bits of the mode.
    temp.as_file().set_permissions(meta.permissions()).map_err(|e| super::io(&e, real))?;
    Ok(Some(temp))
}

fn folder(real: &Path) -> &Path {
    real.parent().unwrap_or(Path::new("/"))
}

fn temp_in(folder: &Path, mode: u32) -> io::Result<NamedTempFile> {
    Builder::new().prefix(".bosun-").permissions(Permissions::from_mode(mode)).tempfile_in(folder)
}

fn create(real: &Path, bytes: &[u8]) -> Result<bool, DiskError> {
    match fs::symlink_metadata(real) {
        Ok(_) => return Ok(false),
        Err(e) if e.kind() == io::ErrorKind::NotFound => {}
        Err(e) => return Err(super::io(&e, real)),
    }
    let error = |e: &io::Error| match e.kind() {
        // The file is missing by intent; what else is missing cannot be named by that.
        io::ErrorKind::NotFound => DiskError::Io(format!("{}: {e}", folder(real).display())),
        _ => super::io(e, real),
    };
    fs::create_dir_all(folder(real)).map_err(|e| error(&e))?;
    // The umask applies, as to any new file.
    let mut temp = temp_in(folder(real), 0o666).map_err(|e| error(&e))?;
    temp.write_all(bytes).map_err(|e| error(&e))?;
    match temp.persist_noclobber(real) {
        Ok(_) => Ok(true),
        Err(e) if e.error.kind() == io::ErrorKind::AlreadyExists => Ok(false),
        Err(e) => Err(error(&e.error)),
    }
}
