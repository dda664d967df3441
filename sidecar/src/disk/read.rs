//! Reading a text file, open in the editor or not.
//!
//! Owns no state. It never follows a link. Called by the disk edge.

use std::fs::File;
use std::io::Read;
use std::path::Path;
use std::time::{Duration, SystemTime};

use nix::fcntl::OFlag;

use super::form::decode;
use super::place::{Place, facts, stamp};
use crate::event::{DiskError, DiskText, Stamp};

/// How often a file is read that changes meanwhile.
const TRIES: usize = 3;
/// How long a file must have been left alone. Most programs empty a file before they write it, and what lies between
/// the two is nobody's text.
pub(super) const QUIET: Duration = Duration::from_millis(20);
/// How often that is waited for.
const WAITS: usize = 5;

/// Reads at most `cap` bytes. `encodings` as in `form::decode`.
///
/// The stamp belongs to the bytes: a file that changes while it is read is read again. One that does so every time (a
/// log that grows) comes as it is, with the stamp of before: that is no longer the file's, so nothing is ever written
/// over it for a text that may be torn.
pub fn read(real: &Path, cap: u64, encodings: &[String]) -> Result<DiskText, DiskError> {
    let place = Place::find(real, false)?;
    let (mut tries, mut waits) = (0, 0);
    loop {
        // Opened anew, because what replaced the file by a rename is the file now.
        let file = place.open(OFlag::O_RDONLY)?;
        let before = stamp(&facts(&file, real)?);
        // A file may lose its bytes a moment before it gets a new time.
        let emptied = before.size == 0 && waits == 0;
        if waits < WAITS && (emptied || is_fresh(&file)) {
            waits += 1;
            leave_alone();
            continue;
        }
        tries += 1;
        let bytes = bytes(&file, before, cap, real)?;
        let same = stamp(&facts(&file, real)?) == before;
        if same || tries == TRIES {
            let (text, form) = decode(bytes, encodings)?;
            return Ok(DiskText { text, form, stamp: before });
        }
    }
}

/// Waits: in a job of the blocking pool, which shares no thread with the loop.
#[expect(clippy::disallowed_methods, reason = "the loop's thread is another one")]
fn leave_alone() {
    std::thread::sleep(QUIET);
}

/// Whether it was written to just now. The file system's clock may be a little ahead of ours.
pub(super) fn is_fresh(file: &File) -> bool {
    let Ok(time) = file.metadata().and_then(|m| m.modified()) else { return false };
    let age = SystemTime::now().duration_since(time).unwrap_or_else(|ahead| ahead.duration());
    age < QUIET
}

fn bytes(file: &File, stamp: Stamp, cap: u64, real: &Path) -> Result<Vec<u8>, DiskError> {
    if stamp.size > cap {
        return Err(DiskError::TooLarge { size: stamp.size, cap });
    }
    let mut bytes = Vec::new();
    file.take(cap.saturating_add(1)).read_to_end(&mut bytes).map_err(|e| super::io(&e, real))?;
    // Files of the kernel say that they have no bytes.
    let size = bytes.len() as u64;
    if size > cap {
        return Err(DiskError::TooLarge { size, cap });
    }
    Ok(bytes)
}
