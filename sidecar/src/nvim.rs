//! The Neovim edge: msgpack-RPC on standard input and output.
//!
//! Owns the channel, the order of what is sent and the window of unanswered calls. It never holds state of a session or
//! a buffer, and nothing here waits for Neovim with a time limit: a late call still lands. Called by the app, which gets
//! everything back through the lane as [`NvimEvent`]s.
//!
//! One pump task sends. A call is polled once, which puts it in its place on the wire, and what is left of it waits for
//! the answer in a task of its own.

mod backlog;
mod inbound;
mod outbound;
mod stdio;
mod table;
pub mod visit;
mod writer;

use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::sync::Arc;
use std::task::Poll;

use async_trait::async_trait;
use rmpv::Value;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc};
use tokio_util::compat::TokioAsyncReadCompatExt;

use crate::effect::NvimCmd;
use crate::event::{Event, NvimEvent};
use backlog::Backlog;
use outbound::{Call, Kind};
pub use stdio::Error;
use writer::Writer;

/// Number of the protocol between this file and `lua/bosun/rpc.lua`; both change together.
pub const PROTOCOL: u64 = 1;
/// Calls that Neovim may leave unanswered before more are held back.
const WINDOW: usize = 256;
/// Commands that one turn of the loop may give; the pump empties the lane before the next turn.
const LANE: usize = 65_536;

/// Handle for the app.
#[derive(Clone, Debug)]
pub struct Nvim {
    commands: mpsc::Sender<NvimCmd>,
}

impl Nvim {
    /// Takes standard input and output. Events go into the lane; the last is [`NvimEvent::Closed`]. `groups` are the
    /// highlight groups that patches may name.
    pub fn start(lane: mpsc::Sender<Event>, groups: &'static [&'static str]) -> Result<Self, Error> {
        let (input, output) = stdio::take()?;
        Ok(Self::on(input, output, lane, groups))
    }

    fn on(
        input: stdio::Input,
        output: stdio::Output,
        lane: mpsc::Sender<Event>,
        groups: &'static [&'static str],
    ) -> Self {
        let (writer, queue) = writer::queue();
        tokio::spawn(writer::drain(queue, output));
        let handler = Inbox { lane: lane.clone() };
        let (neovim, io) = nvim_rs::Neovim::new(input.compat(), writer, handler);
        let (commands, rx) = mpsc::channel(LANE);
        tokio::spawn(pump(rx, neovim, lane.clone(), groups));
        tokio::spawn(async move {
            if let Err(error) = io.await {
                tracing::info!(%error, "the channel to Neovim has ended");
            }
            let _ = lane.send(Event::Nvim(NvimEvent::Closed)).await;
        });
        Self { commands }
    }

    /// Sends, in order. Never blocks.
    pub fn command(&self, cmd: NvimCmd) {
        if let Err(error) = self.commands.try_send(cmd) {
            tracing::error!(%error, "a command for Neovim is lost");
        }
    }
}

/// Sends commands in order, as far as the window allows, and joins what has to wait.
async fn pump(
    mut commands: mpsc::Receiver<NvimCmd>,
    neovim: nvim_rs::Neovim<Writer>,
    lane: mpsc::Sender<Event>,
    groups: &'static [&'static str],
) {
    let window = Arc::new(Semaphore::new(WINDOW));
    let mut backlog = Backlog::default();
    loop {
        tokio::select! {
            biased;
            cmd = commands.recv() => match cmd {
                Some(cmd) => outbound::calls(cmd, groups).into_iter().for_each(|call| backlog.push(call)),
                None => return,
            },
            permit = window.clone().acquire_owned(), if !backlog.is_empty() => {
                if let (Ok(permit), Some(call)) = (permit, backlog.pop()) {
                    send(call, permit, &neovim, &lane).await;
                }
            }
        }
    }
}

/// Puts the call on the wire before it returns; the answer is awaited elsewhere.
async fn send(
    call: Call,
    permit: OwnedSemaphorePermit,
    neovim: &nvim_rs::Neovim<Writer>,
    lane: &mpsc::Sender<Event>,
) {
    tracing::debug!(kind = call.kind.name(), "to Neovim");
    let mut rest = Box::pin(answered(call, neovim.clone(), lane.clone(), permit));
    if !poll_once(&mut rest).await {
        tokio::spawn(rest);
    }
}

async fn poll_once<F: Future<Output = ()>>(future: &mut Pin<Box<F>>) -> bool {
    poll_fn(|cx| Poll::Ready(future.as_mut().poll(cx).is_ready())).await
}

/// The permit is given back with the answer, whatever it is.
async fn answered(
    call: Call,
    neovim: nvim_rs::Neovim<Writer>,
    lane: mpsc::Sender<Event>,
    _permit: OwnedSemaphorePermit,
) {
    let kind = call.kind;
    let refused = match neovim.call(call.method, call.args).await {
        Ok(Ok(value)) => value == Value::from(false),
        Ok(Err(error)) => {
            tracing::warn!(kind = kind.name(), %error, "Neovim answered with an error");
            true
        }
        Err(error) => {
            tracing::debug!(kind = kind.name(), %error, "no answer");
            false
        }
    };
    if let (Kind::Attach(buf), true) = (kind, refused) {
        let _ = lane.send(Event::Nvim(NvimEvent::BufClosed { buf })).await;
    }
}

/// Takes notifications in wire order. A full lane holds Neovim's events back, never the loop.
#[derive(Clone)]
struct Inbox {
    lane: mpsc::Sender<Event>,
}

#[async_trait]
impl nvim_rs::Handler for Inbox {
    type Writer = Writer;

    async fn handle_request(
        &self,
        name: String,
        _: Vec<Value>,
        _: nvim_rs::Neovim<Writer>,
    ) -> Result<Value, Value> {
        Err(Value::from(format!("bosun answers no requests, only notifications: {name}")))
    }

    async fn handle_notify(&self, name: String, args: Vec<Value>, _: nvim_rs::Neovim<Writer>) {
        let what = args.first().and_then(Value::as_str).unwrap_or_default().to_owned();
        match inbound::decode(&name, args) {
            Ok(event) => {
                let _ = self.lane.send(Event::Nvim(event)).await;
            }
            Err(error) => tracing::error!(name, what, %error, "a message of Neovim is passed over"),
        }
    }
}

#[cfg(test)]
mod tests;
