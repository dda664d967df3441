//! Our end of a terminal: bytes in and out without ever waiting, and the size of the window.
//!
//! Owns the descriptor. It keeps nothing of what it reads. Called by `live`.

use std::io;
use std::os::fd::RawFd;

use filedescriptor::FileDescriptor;
use rustix::buffer::spare_capacity;
use rustix::io::Errno;
use rustix::termios::{InputModes, OptionalActions, Winsize, tcgetattr, tcsetattr, tcsetwinsize};
use tokio::io::unix::{AsyncFd, AsyncFdReadyGuard};

/// See the module.
#[derive(Debug)]
pub struct Master {
    fd: AsyncFd<FileDescriptor>,
}

/// What came of reading.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Got {
    /// The buffer is full; there may be more.
    Full,
    /// There is nothing more now.
    Blocked,
    /// Nobody holds the other end any more, and all was read.
    End,
}

impl Master {
    /// Takes a descriptor of its own of the open terminal `raw`.
    pub fn new(raw: RawFd) -> io::Result<Self> {
        let mut fd = FileDescriptor::dup(&raw).map_err(io::Error::other)?;
        fd.set_non_blocking(true).map_err(io::Error::other)?;
        // So that the backspace key takes away whole characters.
        if let Ok(mut modes) = tcgetattr(&fd) {
            modes.input_modes |= InputModes::IUTF8;
            let _ = tcsetattr(&fd, OptionalActions::Now, &modes);
        }
        Ok(Self { fd: AsyncFd::new(fd)? })
    }

    /// Waits until something can be read. The guard must be cleared when reading would block.
    pub async fn readable(&self) -> io::Result<AsyncFdReadyGuard<'_, FileDescriptor>> {
        self.fd.readable().await
    }

    /// Waits until something can be written. The guard must be cleared when writing would block.
    pub async fn writable(&self) -> io::Result<AsyncFdReadyGuard<'_, FileDescriptor>> {
        self.fd.writable().await
    }

    /// Appends what is there, until the capacity of `into` is used up.
    pub fn read(&self, into: &mut Vec<u8>) -> Got {
        while into.len() < into.capacity() {
            match rustix::io::read(self.fd.get_ref(), spare_capacity(into)) {
                Ok(0) => return Got::End,
                Ok(_) | Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => return Got::Blocked,
                // Linux says EIO where others say end of file.
                Err(_) => return Got::End,
            }
        }
        Got::Full
    }

    /// How many of `bytes` were taken; `None` if none can be now.
    pub fn write(&self, bytes: &[u8]) -> Option<usize> {
        match rustix::io::write(self.fd.get_ref(), bytes) {
            Ok(n) => Some(n),
            Err(Errno::INTR) => Some(0),
            Err(Errno::AGAIN) => None,
            // Nobody reads it any more.
            Err(_) => Some(bytes.len()),
        }
    }

    /// Sets the size in cells; programs in the foreground get WINCH.
    pub fn resize(&self, rows: u16, cols: u16) {
        let size = Winsize { ws_row: rows.max(1), ws_col: cols.max(1), ws_xpixel: 0, ws_ypixel: 0 };
        if let Err(error) = tcsetwinsize(self.fd.get_ref(), size) {
            tracing::warn!(%error, "a terminal keeps its size");
        }
    }
}
