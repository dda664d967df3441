//! Standard input and output of the sidecar as the channel to Neovim.
//!
//! Owns the wrapping of the two descriptors, nothing of what travels on them. Neovim gives a job that speaks RPC
//! sockets; a test or a shell may give pipes. Both are wrapped without a thread per read: tokio's own `stdin()` reads on
//! a thread, which costs a hop per read and hangs at shutdown. Called once, by [`super::Nvim::start`].

use std::os::fd::{AsFd, OwnedFd};

use nix::sys::stat::{SFlag, fstat};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::UnixStream;
use tokio::net::unix::pipe;

/// Why the channel could not be set up.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Somebody started `bosun serve` by hand.
    #[error(
        "{side} is {what}, not a socket or a pipe: `bosun serve` is started by Neovim and speaks msgpack-RPC there. \
         Open Neovim and run :Bosun"
    )]
    NotAChannel {
        /// `standard input` or `standard output`.
        side: &'static str,
        /// What it is instead.
        what: &'static str,
    },
    /// The system refused.
    #[error("{side}: {source}")]
    Io {
        /// As above.
        side: &'static str,
        /// What it said.
        source: std::io::Error,
    },
}

/// What reads from Neovim.
pub type Input = Box<dyn AsyncRead + Send + Unpin>;
/// What writes to Neovim.
pub type Output = Box<dyn AsyncWrite + Send + Unpin>;

/// Both ends, from descriptors 0 and 1. Each is wrapped by itself: they may be the same socket or two.
pub fn take() -> Result<(Input, Output), Error> {
    let input = std::io::stdin().as_fd().try_clone_to_owned();
    let output = std::io::stdout().as_fd().try_clone_to_owned();
    Ok((wrap_input(owned(INPUT, input)?)?, wrap_output(owned(OUTPUT, output)?)?))
}

const INPUT: &str = "standard input";
const OUTPUT: &str = "standard output";

fn owned(side: &'static str, fd: std::io::Result<OwnedFd>) -> Result<OwnedFd, Error> {
    fd.map_err(|source| Error::Io { side, source })
}

fn wrap_input(fd: OwnedFd) -> Result<Input, Error> {
    Ok(match kind(INPUT, &fd)? {
        Kind::Socket => Box::new(socket(INPUT, fd)?),
        Kind::Pipe => {
            Box::new(pipe::Receiver::from_owned_fd(fd).map_err(|source| Error::Io { side: INPUT, source })?)
        }
    })
}

fn wrap_output(fd: OwnedFd) -> Result<Output, Error> {
    Ok(match kind(OUTPUT, &fd)? {
        Kind::Socket => Box::new(socket(OUTPUT, fd)?),
        Kind::Pipe => {
            Box::new(pipe::Sender::from_owned_fd(fd).map_err(|source| Error::Io { side: OUTPUT, source })?)
        }
    })
}

#[derive(Debug, PartialEq, Eq)]
enum Kind {
    Socket,
    Pipe,
}

fn kind(side: &'static str, fd: &OwnedFd) -> Result<Kind, Error> {
    let stat = fstat(fd).map_err(|e| Error::Io { side, source: e.into() })?;
    let what = match SFlag::from_bits_truncate(stat.st_mode & SFlag::S_IFMT.bits()) {
        SFlag::S_IFSOCK => return Ok(Kind::Socket),
        SFlag::S_IFIFO => return Ok(Kind::Pipe),
        SFlag::S_IFCHR => "a terminal or device",
        SFlag::S_IFREG => "a file",
        _ => "something else",
    };
    Err(Error::NotAChannel { side, what })
}

fn socket(side: &'static str, fd: OwnedFd) -> Result<UnixStream, Error> {
    let stream = std::os::unix::net::UnixStream::from(fd);
    stream
        .set_nonblocking(true)
        .and_then(|()| UnixStream::from_std(stream))
        .map_err(|source| Error::Io { side, source })
}

/// Both ends of a pipe, non-blocking; for tests.
#[cfg(test)]
fn pipe_pair() -> (OwnedFd, OwnedFd) {
    nix::unistd::pipe2(nix::fcntl::OFlag::O_CLOEXEC | nix::fcntl::OFlag::O_NONBLOCK).expect("a pipe")
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};

    use super::*;

    #[tokio::test]
    async fn sockets_and_pipes_carry_bytes_both_ways() {
        let (a, b) = std::os::unix::net::UnixStream::pair().unwrap();
        let (read, write) = pipe_pair();
        let (socket_a, socket_b): (OwnedFd, OwnedFd) = (a.into(), b.into());
        for (input, output) in [(socket_a, socket_b), (read, write)] {
            let (mut input, mut output) = (wrap_input(input).unwrap(), wrap_output(output).unwrap());
            output.write_all(b"hello").await.unwrap();
            let mut got = [0; 5];
            input.read_exact(&mut got).await.unwrap();
            assert_eq!(&got, b"hello");
            drop(output);
            assert_eq!(input.read(&mut got).await.unwrap(), 0, "the other side's end is seen");
        }
    }

    #[tokio::test]
    async fn a_terminal_or_a_file_is_refused_with_the_way_out() {
        let file: OwnedFd = tempfile::tempfile().unwrap().into();
        let error = wrap_input(file).map(drop).unwrap_err().to_string();
        assert!(error.contains("standard input is a file") && error.contains(":Bosun"), "{error}");
    }
}
