//! Tests of the channel as a whole, against the other end of a socket.

use std::time::Duration;

use rmpv::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::UnixStream;
use tokio::sync::mpsc;

use super::*;
use crate::model::BufId;

/// Neovim's end of the channel.
struct Editor {
    stream: UnixStream,
    bytes: Vec<u8>,
}

impl Editor {
    async fn send(&mut self, message: Vec<Value>) {
        let mut bytes = Vec::new();
        rmpv::encode::write_value(&mut bytes, &Value::Array(message)).unwrap();
        self.stream.write_all(&bytes).await.unwrap();
    }

    /// The next request: id and method.
    async fn request(&mut self) -> (u64, String, Vec<Value>) {
        loop {
            let mut rest = self.bytes.as_slice();
            if let Ok(Value::Array(m)) = rmpv::decode::read_value(&mut rest) {
                self.bytes = rest.to_vec();
                let method = m[2].as_str().unwrap().to_owned();
                return (m[1].as_u64().unwrap(), method, m[3].as_array().unwrap().clone());
            }
            let mut chunk = [0; 4096];
            let n = self.stream.read(&mut chunk).await.unwrap();
            assert!(n > 0, "the sidecar closed the channel");
            self.bytes.extend_from_slice(&chunk[..n]);
        }
    }

    async fn answer(&mut self, id: u64, error: Value, result: Value) {
        self.send(vec![1.into(), id.into(), error, result]).await;
    }
}

fn start() -> (Editor, Nvim, mpsc::Receiver<Event>) {
    let (ours, theirs) = UnixStream::pair().unwrap();
    let (input, output) = ours.into_split();
    let (lane, rx) = mpsc::channel(16);
    let nvim = Nvim::on(Box::new(input), Box::new(output), lane, &["BosunUser"]);
    (Editor { stream: theirs, bytes: Vec::new() }, nvim, rx)
}

async fn next(lane: &mut mpsc::Receiver<Event>) -> NvimEvent {
    match tokio::time::timeout(Duration::from_secs(10), lane.recv()).await.expect("an event").unwrap() {
        Event::Nvim(event) => event,
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn commands_reach_neovim_in_order_without_an_answer_to_any() {
    let (mut editor, nvim, _lane) = start();
    for n in 1..=200 {
        nvim.command(NvimCmd::Attach { buf: BufId(n) });
    }
    for n in 1..=200 {
        let (_, method, args) = editor.request().await;
        assert_eq!((method.as_str(), args[0].as_i64()), ("nvim_buf_attach", Some(n)));
    }
}

#[tokio::test]
async fn beyond_the_window_snapshots_are_joined_and_nothing_else_is_lost() {
    let (mut editor, nvim, _lane) = start();
    for n in 0..WINDOW as i64 {
        nvim.command(NvimCmd::Attach { buf: BufId(n) });
    }
    let mut ids = Vec::new();
    for _ in 0..WINDOW {
        ids.push(editor.request().await.0);
    }
    for n in 0..100 {
        nvim.command(NvimCmd::Groups(vec![n]));
    }
    nvim.command(NvimCmd::Attach { buf: BufId(7777) });
    tokio::task::yield_now().await;
    for id in ids {
        editor.answer(id, Value::Nil, true.into()).await;
    }
    let (_, method, args) = editor.request().await;
    assert_eq!(method, "nvim_exec_lua");
    assert!(args[1].to_string().contains("[99]"), "the newest: {}", args[1]);
    assert_eq!(editor.request().await.1, "nvim_buf_attach");
}

#[tokio::test]
async fn a_buffer_that_cannot_be_attached_is_reported_as_closed() {
    let refusals = [(Value::Nil, Value::from(false)), (Value::from("Invalid buffer id: 5"), Value::Nil)];
    for (error, result) in refusals {
        let (mut editor, nvim, mut lane) = start();
        nvim.command(NvimCmd::Attach { buf: BufId(4) });
        nvim.command(NvimCmd::Attach { buf: BufId(5) });
        let (good, bad) = (editor.request().await.0, editor.request().await.0);
        editor.answer(good, Value::Nil, true.into()).await;
        editor.answer(bad, error, result).await;
        let event = next(&mut lane).await;
        assert!(matches!(event, NvimEvent::BufClosed { buf: BufId(5) }), "{event:?}");
    }
}

#[tokio::test]
async fn garbage_between_messages_stops_nothing_and_the_end_is_the_last_event() {
    let (mut editor, _nvim, mut lane) = start();
    let notify = |method: &str, args: Vec<Value>| vec![2.into(), method.into(), Value::Array(args)];
    let safe = Value::Map(vec![("buf".into(), 3.into())]);
    editor.send(notify("bosun", vec!["dance".into(), safe.clone()])).await;
    editor.send(notify("redraw", vec![])).await;
    editor.send(notify("bosun", vec!["safe".into(), safe])).await;
    assert!(matches!(next(&mut lane).await, NvimEvent::Safe { buf: BufId(3) }));
    editor.send(vec![0.into(), 1.into(), "hello?".into(), Value::Array(vec![])]).await;
    let mut reply = [0; 256];
    let n = editor.stream.read(&mut reply).await.unwrap();
    let reply = rmpv::decode::read_value(&mut &reply[..n]).unwrap();
    assert!(reply[2].to_string().contains("only notifications"), "{reply}");
    drop(editor);
    assert!(matches!(next(&mut lane).await, NvimEvent::Closed));
}
