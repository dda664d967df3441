//! What the RPC crate writes to: a queue of whole messages, so that writing never waits.
//!
//! Owns the queue, and the task that drains it into the socket. Because a write never waits, polling a call once puts it
//! in its place on the wire. Used by [`super`] only.
//!
//! Bound: each message of ours waits for its answer under a permit of the window (see [`super::WINDOW`]), so at most
//! that many are queued; the rest of the room is for refusals of requests that Neovim makes, which it never does.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use tokio::io::AsyncWriteExt;
use tokio::sync::mpsc;

use super::stdio::Output;

/// Messages that may wait in the queue.
const ROOM: usize = super::WINDOW + 64;
/// Messages joined into one write.
const JOIN: usize = 32;

/// See the module.
#[derive(Clone, Debug)]
pub struct Writer(mpsc::Sender<Vec<u8>>);

/// A writer, and the messages that go through it.
pub fn queue() -> (Writer, mpsc::Receiver<Vec<u8>>) {
    let (tx, rx) = mpsc::channel(ROOM);
    (Writer(tx), rx)
}

/// Writes all that is queued until the writer is gone or Neovim is.
pub async fn drain(mut queue: mpsc::Receiver<Vec<u8>>, mut output: Output) {
    let mut messages = Vec::new();
    while queue.recv_many(&mut messages, JOIN).await > 0 {
        let bytes = messages.concat();
        messages.clear();
        if let Err(error) = output.write_all(&bytes).await {
            // The end is noticed and reported by the reader.
            tracing::info!(%error, "Neovim does not read any more");
            return;
        }
    }
}

impl futures::io::AsyncWrite for Writer {
    fn poll_write(self: Pin<&mut Self>, _: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        Poll::Ready(match self.0.try_send(buf.to_vec()) {
            Ok(()) => Ok(buf.len()),
            Err(mpsc::error::TrySendError::Closed(_)) => Err(io::ErrorKind::BrokenPipe.into()),
            Err(mpsc::error::TrySendError::Full(_)) => Err(io::Error::other("too many unanswered messages")),
        })
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_close(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}
