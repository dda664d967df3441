//! The log file: bounded, line by line, level by `BOSUN_LOG`.
//!
//! Owns `bosun.log` in the log folder. It never writes to standard output (that is Neovim's channel). Two files are
//! kept: the current one and the one before it, each at most `CAP` bytes.

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};

use tracing_subscriber::EnvFilter;

/// File name within the log folder.
pub const LOG_NAME: &str = "bosun.log";
/// Bytes after which the log is turned over.
const CAP: u64 = 4 * 1024 * 1024;

/// Starts logging into `dir`. A folder that cannot be written means no log, never a failure.
#[expect(clippy::disallowed_types, reason = "the subscriber may be written to from any thread")]
pub fn init(dir: &Path) {
    let _ = std::fs::create_dir_all(dir);
    let filter = EnvFilter::try_from_env("BOSUN_LOG").unwrap_or_else(|_| EnvFilter::new("info"));
    let path = dir.join(LOG_NAME);
    let _ = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_ansi(false)
        .with_writer(std::sync::Mutex::new(Rolling { path, file: None, written: 0 }))
        .try_init();
}

/// A file that turns itself over when it is full.
struct Rolling {
    path: PathBuf,
    file: Option<File>,
    written: u64,
}

impl Rolling {
    fn open(&mut self) -> std::io::Result<&mut File> {
        if self.written > CAP {
            self.file = None;
            std::fs::rename(&self.path, self.path.with_extension("log.1"))?;
        }
        if self.file.is_none() {
            let file = OpenOptions::new().create(true).append(true).open(&self.path)?;
            self.written = file.metadata()?.len();
            self.file = Some(file);
        }
        self.file.as_mut().ok_or_else(|| std::io::Error::other("no log file"))
    }
}

impl Write for Rolling {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        let n = self.open()?.write(bytes)?;
        self.written += n as u64;
        Ok(n)
    }
    fn flush(&mut self) -> std::io::Result<()> {
        self.file.as_mut().map_or(Ok(()), Write::flush)
    }
}
