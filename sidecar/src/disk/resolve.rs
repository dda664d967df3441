//! Where a path really leads.
//!
//! Owns no state. It never opens a file. Called by the disk edge.

use std::collections::VecDeque;
use std::ffi::OsString;
use std::fs::{self, Metadata};
use std::os::unix::fs::MetadataExt;
use std::path::{Component, Path, PathBuf};

use crate::event::{DiskError, PathKind, Resolved, Stamp};

/// As many links as the system follows.
const LINKS: usize = 40;

enum Part {
    Root,
    Up,
    Name(OsString),
}

fn parts(path: &Path) -> Vec<Part> {
    path.components()
        .filter_map(|c| match c {
            Component::RootDir | Component::Prefix(_) => Some(Part::Root),
            Component::CurDir => None,
            Component::ParentDir => Some(Part::Up),
            Component::Normal(name) => Some(Part::Name(name.to_owned())),
        })
        .collect()
}

/// Follows every link of an absolute path, as the system would: `..` is the parent of the *real* folder. What does not
/// exist is kept as it is below its nearest real folder; a link that leads nowhere leads to its target. `..` behind a
/// folder that does not exist is an error, as it is for the system: it could otherwise be made to lead anywhere.
///
/// A file that is also one of `twins` (real paths) is said to be that one: it is the same file under another name.
pub fn resolve(path: &Path, twins: &[PathBuf]) -> Result<Resolved, DiskError> {
    if !path.is_absolute() {
        return Err(DiskError::Io("not an absolute path".into()));
    }
    let mut todo: VecDeque<Part> = parts(path).into();
    let mut real = PathBuf::from("/");
    let (mut missing, mut links) = (false, 0);
    while let Some(part) = todo.pop_front() {
        let name = match part {
            Part::Root => {
                real = PathBuf::from("/");
                continue;
            }
            Part::Up if missing => return Err(DiskError::NotFound),
            Part::Up => {
                real.pop();
                continue;
            }
            Part::Name(name) => name,
        };
        let next = real.join(name);
        if missing {
            real = next;
            continue;
        }
        match fs::symlink_metadata(&next) {
            Ok(meta) if meta.is_symlink() => {
                links += 1;
                if links > LINKS {
                    return Err(DiskError::Io("too many levels of symbolic links".into()));
                }
                let target = fs::read_link(&next).map_err(|e| super::io(&e, &next))?;
                for part in parts(&target).into_iter().rev() {
                    todo.push_front(part);
                }
            }
            Ok(meta) => {
                if !meta.is_dir() && !todo.is_empty() {
                    return Err(DiskError::Io(format!("{} is not a directory", next.display())));
                }
                real = next;
            }
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => {
                missing = true;
                real = next;
            }
            Err(e) => return Err(super::io(&e, &next)),
        }
    }
    if missing {
        return Ok(Resolved { real, kind: PathKind::Missing, stamp: None });
    }
    let meta = fs::symlink_metadata(&real).map_err(|e| super::io(&e, &real))?;
    let kind = match meta.file_type() {
        t if t.is_file() => PathKind::File,
        t if t.is_dir() => PathKind::Dir,
        _ => PathKind::Special,
    };
    if kind != PathKind::File {
        return Ok(Resolved { real, kind, stamp: None });
    }
    let stamp = Stamp {
        sec: meta.mtime(),
        nsec: u32::try_from(meta.mtime_nsec()).unwrap_or_default(),
        size: meta.size(),
    };
    let real = if meta.nlink() > 1 { twin(real, &meta, twins) } else { real };
    Ok(Resolved { real, kind, stamp: Some(stamp) })
}

fn twin(real: PathBuf, meta: &Metadata, twins: &[PathBuf]) -> PathBuf {
    let same = |path: &&PathBuf| {
        fs::symlink_metadata(path).is_ok_and(|m| (m.dev(), m.ino()) == (meta.dev(), meta.ino()))
    };
    if twins.contains(&real) {
        return real;
    }
    twins.iter().find(same).cloned().unwrap_or(real)
}
