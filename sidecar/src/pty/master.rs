//! Our end of a terminal: bytes in and out without ever waiting, and the size of the window.
//!
//! Owns the descriptor. It keeps nothing of what it reads. Called by `live`.

use std::io;
use std::os::fd::{AsFd, RawFd};

use filedescriptor::FileDescriptor;
use rustix::buffer::spare_capacity;
use rustix::io::Errno;
use rustix::termios::{InputModes, OptionalActions, Winsize, tcgetattr, tcsetattr, tcsetwinsize};
use tokio::net::unix::pipe;

/// See the module.
#[derive(Debug)]
pub struct Master {
    // Tokio's pipes are its one safe way to wait for a descriptor of any kind. Each wants its own.
    reader: pipe::Receiver,
    writer: pipe::Sender,
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
    /// Takes descriptors of its own of the open terminal `raw`.
    pub fn new(raw: RawFd) -> io::Result<Self> {
        let mut fd = FileDescriptor::dup(&raw).map_err(io::Error::other)?;
        fd.set_non_blocking(true).map_err(io::Error::other)?;
        // So that the backspace key takes away whole characters.
        if let Ok(mut modes) = tcgetattr(&fd) {
            modes.input_modes |= InputModes::IUTF8;
            let _ = tcsetattr(&fd, OptionalActions::Now, &modes);
        }
        let file = || fd.as_file().map_err(io::Error::other);
        Ok(Self {
            reader: pipe::Receiver::from_file_unchecked(file()?)?,
            writer: pipe::Sender::from_file_unchecked(file()?)?,
        })
    }

    /// Waits until something can be read, and appends what is there until the capacity of `into` is used up. Nothing is
    /// lost when this is dropped.
    pub async fn read(&self, into: &mut Vec<u8>) -> Got {
        if self.reader.readable().await.is_err() {
            return Got::End;
        }
        let one = |into: &mut Vec<u8>| match self.reader.try_io(|| Ok(self.read_once(into)?)) {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Err(Errno::AGAIN),
            other => other.map_err(|_| Errno::IO),
        };
        fill(into, one)
    }

    /// Appends what is there, whatever is known of that, until the capacity of `into` is used up.
    pub fn read_now(&self, into: &mut Vec<u8>) -> Got {
        fill(into, |into| self.read_once(into))
    }

    fn read_once(&self, into: &mut Vec<u8>) -> rustix::io::Result<usize> {
        rustix::io::retry_on_intr(|| rustix::io::read(&self.reader, spare_capacity(into)))
    }

    /// Waits until something can be written, and gives back how many of `bytes` were taken. Nothing is lost when this is
    /// dropped.
    pub async fn write(&self, bytes: &[u8]) -> usize {
        if self.writer.writable().await.is_err() {
            return bytes.len();
        }
        match self.writer.try_write(bytes) {
            Ok(n) => n,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => 0,
            // Nobody reads it any more.
            Err(_) => bytes.len(),
        }
    }

    /// Sets the size in cells; programs in the foreground get WINCH.
    pub fn resize(&self, rows: u16, cols: u16) {
        let size = Winsize { ws_row: rows.max(1), ws_col: cols.max(1), ws_xpixel: 0, ws_ypixel: 0 };
        if let Err(error) = tcsetwinsize(self.reader.as_fd(), size) {
            tracing::warn!(%error, "a terminal keeps its size");
        }
    }
}

fn fill(into: &mut Vec<u8>, mut one: impl FnMut(&mut Vec<u8>) -> rustix::io::Result<usize>) -> Got {
    while into.len() < into.capacity() {
        match one(into) {
            Ok(0) => return Got::End,
            Ok(_) => {}
            Err(Errno::AGAIN) => return Got::Blocked,
            // Linux says EIO where others say end of file.
            Err(_) => return Got::End,
        }
    }
    Got::Full
}
