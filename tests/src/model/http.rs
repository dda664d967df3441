//! The little of HTTP/1.1 that the scripted model needs: one request a connection, an answer whole or as events.
//!
//! Owns nothing. Every answer closes its connection, so that no length of a stream has to be known or chunked.

use std::io::{BufRead, BufReader, Error, Read, Write};
use std::net::TcpStream;

use serde_json::Value;

/// Larger requests are refused, in bytes.
const MAX_BODY: usize = 64 << 20;

/// One request.
pub struct Request {
    /// In capitals.
    pub method: String,
    /// Without the query; for a proxy's `CONNECT` it is a host and a port.
    pub path: String,
    /// `null` when there is none.
    pub body: Value,
}

/// Reads a request whose body, if any, has its length given.
pub fn read(stream: &TcpStream) -> std::io::Result<Request> {
    let mut lines = BufReader::new(stream);
    let mut line = String::new();
    lines.read_line(&mut line)?;
    let mut words = line.split_whitespace();
    let method = words.next().unwrap_or_default().to_string();
    let path = words.next().unwrap_or_default().split('?').next().unwrap_or_default().to_string();
    let mut length = 0;
    loop {
        line.clear();
        if lines.read_line(&mut line)? == 0 || line.trim().is_empty() {
            break;
        }
        let Some((name, value)) = line.split_once(':') else { continue };
        if name.eq_ignore_ascii_case("content-length") {
            length = value.trim().parse().map_err(Error::other)?;
        }
        if name.eq_ignore_ascii_case("transfer-encoding") {
            return Err(Error::other("a request of unknown length"));
        }
    }
    if length > MAX_BODY {
        return Err(Error::other("the request is too large"));
    }
    let mut bytes = vec![0; length];
    lines.read_exact(&mut bytes)?;
    let body = if bytes.is_empty() { Value::Null } else { serde_json::from_slice(&bytes)? };
    Ok(Request { method, path, body })
}

/// Answers with one JSON value.
pub fn json(mut stream: &TcpStream, status: u16, value: &Value) -> std::io::Result<()> {
    let text = value.to_string();
    write!(
        stream,
        "HTTP/1.1 {status} {}\r\nContent-Type: application/json\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{text}",
        if status == 200 { "OK" } else { "Not Found" },
        text.len(),
    )
}

/// A stream of server-sent events.
pub struct Events<'a> {
    stream: &'a TcpStream,
}

impl<'a> Events<'a> {
    /// Starts the answer.
    pub fn open(mut stream: &'a TcpStream) -> std::io::Result<Self> {
        stream.set_nodelay(true)?;
        write!(stream, "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n")?;
        Ok(Self { stream })
    }

    /// Sends one event without a name, as chat completions are streamed.
    pub fn send(&mut self, value: &Value) -> std::io::Result<()> {
        self.stream.write_all(format!("data: {value}\n\n").as_bytes())
    }

    /// Sends one event under the name that stands in its `type`, as the other two APIs are streamed.
    pub fn send_typed(&mut self, value: &Value) -> std::io::Result<()> {
        let name = value["type"].as_str().unwrap_or_default();
        self.stream.write_all(format!("event: {name}\ndata: {value}\n\n").as_bytes())
    }

    /// Ends the answer, as chat completions end.
    pub fn done(self) -> std::io::Result<()> {
        let mut stream = self.stream;
        stream.write_all(b"data: [DONE]\n\n")?;
        self.end()
    }

    /// Ends the answer without a word.
    pub fn end(self) -> std::io::Result<()> {
        self.stream.shutdown(std::net::Shutdown::Write)
    }
}
