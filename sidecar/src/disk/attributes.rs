//! What a file has besides bytes, mode and owner: extended attributes, and among them the access control list.
//!
//! Owns no state. It never touches bytes. Called by `write`, for a new file that is to take an old one's place.

use std::ffi::{CStr, CString};
use std::fs::File;

use rustix::fs::{XattrFlags, fgetxattr, flistxattr, fremovexattr, fsetxattr};
use rustix::io::Errno;

/// The access control list on Linux, which a new file may have from its folder.
const ACCESS: &CStr = c"system.posix_acl_access";

/// More than any system allows for one value, or for all names.
const ROOM: usize = 64 * 1024;

/// Gives `new` the attributes of `old`; false when that cannot be had. The mode of `new` must be set before.
pub fn keep(old: &File, new: &File) -> bool {
    let Some(names) = names(old) else { return false };
    for name in &names {
        let Some(value) = value(old, name) else { return false };
        if self::value(new, name).as_ref() == Some(&value) {
            continue;
        }
        if fsetxattr(new, name.as_c_str(), &value, XattrFlags::empty()).is_err() {
            return false;
        }
    }
    names.iter().any(|n| n.as_c_str() == ACCESS)
        || value(new, ACCESS).is_none()
        || fremovexattr(new, ACCESS).is_ok()
}

fn names(file: &File) -> Option<Vec<CString>> {
    let mut room = vec![0; ROOM];
    let size = match flistxattr(file, &mut room) {
        Ok(size) => size,
        // A file system without attributes.
        Err(Errno::NOTSUP) => 0,
        Err(_) => return None,
    };
    room[..size]
        .split_inclusive(|b| *b == 0)
        .map(|n| CStr::from_bytes_with_nul(n).ok().map(CStr::to_owned))
        .collect()
}

fn value(file: &File, name: &CStr) -> Option<Vec<u8>> {
    let mut room = vec![0; ROOM];
    let size = fgetxattr(file, name, &mut room).ok()?;
    room.truncate(size);
    Some(room)
}
