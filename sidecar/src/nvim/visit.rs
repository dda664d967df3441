//! The editor of commands (`bosun edit`): opens files in the Neovim that owns the terminal, and waits for the person.
//!
//! Owns one connection of its own to Neovim, the words of its command line, and the variables that make commands start
//! it. It never edits or reads a file, and waits without a limit: Neovim may sit at a prompt of its own. It ends when
//! Lua says how the files were left, when Neovim is gone, and when whoever started it is. Called by `main` and, for the
//! variables, by what starts terminals.
//!
//! It reads its messages itself: the RPC crate drops what came right before the end of a connection, and `:wq` in the
//! last window is just that.

mod starter;

use std::ffi::OsString;
use std::io::Cursor;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rmpv::Value;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpStream, UnixStream};

use starter::Starter;

/// The variable that names the Neovim: a socket, or `host:port` on this machine.
pub const ADDRESS: &str = "BOSUN_EDITOR_ADDRESS";

/// The variables that make commands open their files in the Neovim at `address`; none where there is no address. `exe`
/// is this program.
pub fn editor_env(address: &str, exe: &Path) -> Vec<(String, String)> {
    let Some(exe) = exe.to_str().filter(|_| !address.is_empty()) else { return Vec::new() };
    let line = format!("{} edit", quoted(exe));
    let editors = ["EDITOR", "VISUAL", "GIT_EDITOR", "GIT_SEQUENCE_EDITOR"];
    let mut env: Vec<_> = editors.into_iter().map(|name| (name.to_owned(), line.clone())).collect();
    env.push((ADDRESS.to_owned(), address.to_owned()));
    env
}

/// A word of a shell line. A plain word stays as it is: some programs split the line at blanks and know no quotes.
fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "_-./+,:@%".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

/// Opens the files that `args` (`[+LINE] FILE…`) name, waits, and returns the exit code: 0 when each was written or
/// closed, 1 when the person gave one up or nothing could be opened.
pub fn run(args: Vec<OsString>) -> i32 {
    match try_run(args) {
        Ok(code) => code,
        Err(why) => {
            eprintln!("bosun edit: {why}");
            1
        }
    }
}

fn try_run(args: Vec<OsString>) -> Result<i32, String> {
    let folder = std::env::current_dir().map_err(|error| format!("the working directory: {error}"))?;
    let wish = wish(args, &folder)?;
    let address = std::env::var(ADDRESS).unwrap_or_default();
    let address = address_of(&address)?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.map_err(|error| error.to_string())?.block_on(async {
        match address {
            Address::Socket(path) => match UnixStream::connect(&path).await {
                Ok(stream) => visit(stream, wish).await,
                Err(error) => Err(format!("no Neovim at {}: {error}", path.display())),
            },
            Address::Tcp(at) => match TcpStream::connect(at).await {
                Ok(stream) => visit(stream, wish).await,
                Err(error) => Err(format!("no Neovim at {at}: {error}")),
            },
        }
    })
}

/// What the command line asks for.
#[derive(Debug, PartialEq, Eq)]
struct Wish {
    /// One-based; -1 is the last line.
    line: Option<i64>,
    /// Absolute.
    files: Vec<PathBuf>,
}

fn wish(args: Vec<OsString>, folder: &Path) -> Result<Wish, String> {
    let (mut line, mut files, mut only_files) = (None, Vec::new(), false);
    for arg in args {
        let text = arg.to_string_lossy().into_owned();
        let is_file = only_files || text == "-" || !text.starts_with(['+', '-']);
        if is_file {
            files.push(folder.join(arg));
        } else if text == "--" {
            only_files = true;
        } else if text == "+" {
            line = Some(-1);
        } else if let Some(number) = text.strip_prefix('+').and_then(|n| n.parse().ok()).filter(|n| *n > 0) {
            line = Some(number);
        } else {
            return Err(format!("unknown argument {text}; usage: bosun edit [+LINE] [--] FILE..."));
        }
    }
    if files.is_empty() {
        return Err("which file? Usage: bosun edit [+LINE] [--] FILE...".into());
    }
    Ok(Wish { line, files })
}

#[derive(Debug, PartialEq, Eq)]
enum Address {
    Socket(PathBuf),
    Tcp(SocketAddr),
}

fn address_of(text: &str) -> Result<Address, String> {
    if text.is_empty() {
        return Err(format!("{ADDRESS} is not set: this program is the editor of commands that Bosun runs"));
    }
    if text.contains('/') {
        return Ok(Address::Socket(text.into()));
    }
    let wrong = || format!("{ADDRESS}={text} is neither a socket nor a port on this machine");
    let (host, port) = text.rsplit_once(':').ok_or_else(wrong)?;
    let port = port.parse().map_err(|_| wrong())?;
    let host = match host {
        "localhost" => IpAddr::from(Ipv4Addr::LOCALHOST),
        other => other.trim_start_matches('[').trim_end_matches(']').parse().map_err(|_| wrong())?,
    };
    if !host.is_loopback() {
        return Err(wrong());
    }
    Ok(Address::Tcp(SocketAddr::new(host, port)))
}

/// The numbers of our two requests.
const INFO: u64 = 0;
const OPEN: u64 = 1;

/// How often we look whether whoever started us still lives.
const LOOK: Duration = Duration::from_millis(500);

/// Asks for the number of our channel, then for the files, and waits for the word that they are done with.
async fn visit<S: AsyncRead + AsyncWrite + Unpin>(mut stream: S, wish: Wish) -> Result<i32, String> {
    let gone = |error: std::io::Error| format!("Neovim is gone: {error}");
    stream.write_all(&request(INFO, "nvim_get_api_info", Vec::new())).await.map_err(gone)?;
    let mut wish = Some(wish);
    let mut bytes = Vec::new();
    let mut look = tokio::time::interval(LOOK);
    // A command that was killed does not take us along; nobody would read the code.
    let starter = Starter::now();
    loop {
        while let Some(message) = next_message(&mut bytes)? {
            match message {
                Message::Visited(code) => return Ok(code),
                Message::Answer(INFO, Ok(info)) => {
                    let channel = info.as_array().and_then(|list| list.first()).and_then(Value::as_u64);
                    if let (Some(wish), Some(channel)) = (wish.take(), channel) {
                        stream.write_all(&open(wish, channel)).await.map_err(gone)?;
                    }
                }
                Message::Answer(_, Err(why)) => return Err(format!("Neovim does not open it: {why}")),
                Message::Answer(..) | Message::Other => {}
            }
        }
        tokio::select! {
            read = stream.read_buf(&mut bytes) => match read {
                Ok(0) => return Err("Neovim is gone".into()),
                Ok(_) => {}
                Err(error) => return Err(gone(error)),
            },
            _ = look.tick() => if starter.is_gone() {
                return Err("the command that wanted it edited is gone".into());
            },
        }
    }
}

fn open(wish: Wish, channel: u64) -> Vec<u8> {
    // A name that is not UTF-8 travels as bytes.
    let name = |path: PathBuf| match path.into_os_string().into_string() {
        Ok(text) => Value::from(text),
        Err(raw) => Value::Binary(raw.into_vec()),
    };
    let files = wish.files.into_iter().map(name).collect();
    let line = wish.line.unwrap_or_default();
    let args = vec![Value::Array(files), line.into(), channel.into()];
    request(OPEN, "nvim_exec_lua", vec!["return require('bosun.visit').open(...)".into(), Value::Array(args)])
}

fn request(id: u64, method: &str, args: Vec<Value>) -> Vec<u8> {
    let message = Value::Array(vec![0.into(), id.into(), method.into(), Value::Array(args)]);
    let mut bytes = Vec::new();
    rmpv::encode::write_value(&mut bytes, &message).expect("a vector takes all");
    bytes
}

#[derive(Debug, PartialEq)]
enum Message {
    /// The files are done with.
    Visited(i32),
    /// To the request of that number; an error in words.
    Answer(u64, Result<Value, String>),
    /// Not for us.
    Other,
}

/// Takes the first message off `bytes`; `None` when more must come first.
fn next_message(bytes: &mut Vec<u8>) -> Result<Option<Message>, String> {
    let mut cursor = Cursor::new(bytes.as_slice());
    let value = match rmpv::decode::read_value(&mut cursor) {
        Ok(value) => value,
        Err(error) if error.kind() == std::io::ErrorKind::UnexpectedEof => return Ok(None),
        Err(error) => return Err(format!("what answers there is no Neovim: {error}")),
    };
    let used = usize::try_from(cursor.position()).map_err(|error| error.to_string())?;
    bytes.drain(..used);
    Ok(Some(message(value)))
}

fn message(value: Value) -> Message {
    let Value::Array(parts) = value else { return Message::Other };
    match parts.as_slice() {
        [kind, id, error, result] if kind.as_u64() == Some(1) => {
            let result = if error.is_nil() { Ok(result.clone()) } else { Err(words(error)) };
            id.as_u64().map_or(Message::Other, |id| Message::Answer(id, result))
        }
        [kind, name, args] if kind.as_u64() == Some(2) && name.as_str() == Some("bosun_visited") => {
            let code = args.as_array().and_then(|args| args.first()).and_then(Value::as_i64);
            Message::Visited(code.and_then(|code| i32::try_from(code).ok()).unwrap_or(1))
        }
        _ => Message::Other,
    }
}

/// The first line of an error of Neovim: `[kind, message]`.
fn words(error: &Value) -> String {
    let text = error.as_array().and_then(|parts| parts.get(1)).and_then(Value::as_str).or(error.as_str());
    text.unwrap_or("for no reason it gives").lines().next().unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests;
