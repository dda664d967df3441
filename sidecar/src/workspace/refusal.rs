//! Why a read or a write cannot be, in words that name the way out.
//!
//! Owns the messages and their codes. It never decides. Called by reads and writes.

use std::path::Path;

use crate::event::DiskError;
use crate::model::RpcError;
use crate::uri::file_uri;

fn internal(message: String) -> RpcError {
    RpcError::new(RpcError::INTERNAL, message)
}

/// For a person, with a question about a path where nothing is.
pub const ASKED_MISSING: &str = "There is no such file.";
/// For a person, with a question about a file that may hold secrets.
pub const SECRET: &str = "The setting `ask_read` names it as a file that may hold secrets.";
/// The same rule, to go on after a path.
pub const SECRET_RULE: &str = "is a file that may hold secrets (setting `ask_read`)";

/// Paths may hold newlines and worse; messages are one line.
fn shown(path: &Path) -> String {
    path.to_string_lossy().escape_debug().to_string().replace("\\'", "'").replace("\\\"", "\"")
}

/// The protocol wants absolute paths.
pub fn relative(path: &str) -> RpcError {
    let message = format!("the path \"{}\" is relative; send an absolute path", path.escape_debug());
    RpcError::new(RpcError::INVALID_PARAMS, message)
}

/// Nothing there.
pub fn missing(path: &Path) -> RpcError {
    let data = serde_json::json!({ "uri": file_uri(path) }).to_string();
    RpcError {
        code: RpcError::NOT_FOUND,
        message: format!("{}: no such file", shown(path)),
        data: Some(data.into()),
    }
}

fn listed(roots: &[&Path]) -> String {
    let roots = roots.iter().map(|r| shown(r)).collect::<Vec<_>>().join(", ");
    if roots.is_empty() { "none".to_owned() } else { roots }
}

/// The root rule.
pub fn outside(path: &Path, roots: &[&Path]) -> RpcError {
    internal(format!(
        "{} {}; only files below them may be read or written. The setting `roots` adds a folder",
        shown(path),
        outside_rule(roots)
    ))
}

/// The root rule, to go on after a path.
pub fn outside_rule(roots: &[&Path]) -> String {
    format!("is outside the session's folders ({})", listed(roots))
}

/// For a person, with a question about a path outside.
pub fn asked_outside(roots: &[&Path]) -> String {
    format!("It {}.", outside_rule(roots))
}

/// For a person, with a question about a path that leads elsewhere than its name says.
pub fn asked_as(told: &Path) -> String {
    format!("The agent named it {}.", shown(told))
}

/// A person said no to a path. `why` is the rule by which it was asked about, to go on after the path.
pub fn access_rejected(path: &Path, why: &str, for_session: bool) -> RpcError {
    let how_long = if for_session { "for this session" } else { "for this turn" };
    internal(format!(
        "{} {why}, and the user rejected access to it {how_long}; do not try it again",
        shown(path)
    ))
}

/// A folder that may only be read.
pub fn read_only(path: &Path, root: &Path) -> RpcError {
    internal(format!(
        "{} is in {}, which this session may only read; nothing was written",
        shown(path),
        shown(root)
    ))
}

/// Not a file.
pub fn directory(path: &Path) -> RpcError {
    internal(format!("{} is a directory; name a file in it", shown(path)))
}

/// A pipe, a device.
pub fn special(path: &Path) -> RpcError {
    internal(format!("{} is not a regular file; only regular files can be read or written", shown(path)))
}

/// A buffer over the cap.
pub fn buf_too_large(path: &Path, bytes: u64, cap: u64) -> RpcError {
    internal(format!(
        "{} is too large: it is open with {bytes} bytes, and buffers over {cap} bytes are not mirrored; \
         the setting max_buffer_bytes raises this limit",
        shown(path)
    ))
}

/// The editor does not let us see the buffer's text.
pub fn unavailable(path: &Path) -> RpcError {
    internal(format!("{} is open, but its buffer keeps being reloaded; try again later", shown(path)))
}

/// What the disk edge said.
pub fn disk(path: &Path, error: &DiskError) -> RpcError {
    let p = shown(path);
    match error {
        DiskError::NotFound => missing(path),
        DiskError::IsDir => directory(path),
        DiskError::Special => special(path),
        DiskError::Binary => {
            internal(format!("{p} is a binary file (it holds NUL bytes); only text is served"))
        }
        DiskError::Undecodable => {
            internal(format!("{p} is in none of the encodings that Neovim would try ('fileencodings')"))
        }
        DiskError::Unencodable { what, encoding } => internal(format!(
            "{p} is in the encoding {encoding}, which has no {what:?}; nothing was written. Write it without that \
             character, or let a person change the file's encoding"
        )),
        DiskError::TooLarge { size, cap } => internal(format!(
            "{p} is too large: {size} bytes, and at most {cap} are read; use a command that reads a part of it"
        )),
        DiskError::Io(e) => internal(format!("{p}: {e}")),
    }
}

/// The text moved on between the question and the answer.
pub fn changed_meanwhile(path: &Path) -> RpcError {
    internal(format!(
        "the text of {} changed while this write waited; nothing was written. \
         Read the file again and make the change to the new text",
        shown(path)
    ))
}

/// Bytes that text cannot carry.
pub fn odd_bytes(path: &Path) -> RpcError {
    internal(format!(
        "{} holds bytes that are not UTF-8 and would be destroyed; nothing was written. \
         It can only be changed in the editor",
        shown(path)
    ))
}

/// A person said no.
pub fn rejected() -> RpcError {
    internal("the user rejected this write".into())
}

/// The same, with what they said about it.
pub fn rejected_because(why: &str) -> RpcError {
    internal(format!("the user rejected this write: {why}"))
}

/// Cancelled, by turn or by request.
pub fn cancelled() -> RpcError {
    RpcError::new(RpcError::CANCELLED, "cancelled")
}

/// The session ended.
pub fn closed() -> RpcError {
    internal("the session was closed".into())
}

/// In the buffer but not on disk.
pub fn not_saved(path: &Path, why: &str) -> RpcError {
    internal(format!(
        "the new text of {} is in the editor's buffer, but it could not be saved to disk: {why}",
        shown(path)
    ))
}

/// The buffer takes no edit.
pub fn failed(path: &Path, why: &str) -> RpcError {
    internal(format!("{} could not be changed in the editor: {why}", shown(path)))
}
