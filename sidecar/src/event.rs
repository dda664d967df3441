//! Everything that can happen, as plain data: the one vocabulary of the loop's inbox.
//!
//! Owns no state. Edges make events, the app applies them. Wire types never appear here, nor do editor types. Positions
//! are zero-based lines and byte columns, ends exclusive, unless a field says otherwise.

use std::path::PathBuf;
use std::sync::Arc;

use crate::model::*;
use crate::reply::{Reply, WireId};

/// One thing that happened.
#[derive(Debug)]
pub enum Event {
    /// From Neovim. The first lane: never delayed by a flooding agent.
    Nvim(NvimEvent),
    /// From an agent, in wire order: notifications, requests and replies of one agent share one FIFO.
    Agent(AgentId, AgentEvent),
    /// A result of the disk edge.
    Disk(OpId, DiskResult),
}

/// What an agent's connection says.
#[derive(Debug)]
pub enum AgentEvent {
    /// The process runs. `pgid` is its process group.
    Started { pgid: i32 },
    /// `initialize` was answered.
    Initialized(Box<AgentInfo>),
    /// A call of ours was answered or failed. `call` is the number the app gave it.
    Reply { call: u64, result: Result<CallResult, RpcError> },
    /// `session/update`.
    Update { session: String, update: Update },
    /// `session/request_permission`. `tool` is applied to the card first.
    Permission { session: String, tool: Box<ToolPatch>, options: Vec<PermissionOption>, reply: Reply },
    /// `fs/read_text_file`. `line` is one-based; 0 counts as 1.
    ReadFile { session: String, path: String, line: Option<u64>, limit: Option<u64>, reply: Reply },
    /// `fs/write_text_file`.
    WriteFile { session: String, path: String, content: String, reply: Reply },
    /// `$/cancel_request` for a request that this agent made.
    CancelRequest { id: WireId },
    /// The agent does not read what we send: this many bytes wait. Said once per stall; 0 says it reads again.
    Stuck { bytes: usize },
    /// The connection is over. Last event of this agent.
    Exited(Exit),
}

/// The result of a call of ours.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CallResult {
    /// `session/new`: the agent's id, and the raw result beside it.
    NewSession { session: String, raw: Arc<str> },
    /// `session/prompt`: the stop reason as it came (a missing one is `"end_turn"`), and the raw result.
    Prompt { stop_reason: String, raw: Arc<str> },
}

/// What the disk edge found.
#[derive(Debug)]
pub enum DiskResult {
    /// Where a path really leads.
    Resolved(Result<Resolved, DiskError>),
    /// The text of a file.
    Text(Result<DiskText, DiskError>),
    /// A file was written.
    Written(Result<(), DiskError>),
    /// The bytes could not be written because the file is no longer what it was when the write was computed.
    Stale,
}

/// A path after links are followed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Resolved {
    /// Real absolute path. For a file that does not exist: its real nearest existing folder plus the rest.
    pub real: PathBuf,
    /// What is there.
    pub kind: PathKind,
}

/// What a path leads to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PathKind {
    /// A regular file.
    File,
    /// A directory.
    Dir,
    /// Nothing.
    Missing,
    /// A device, socket, pipe.
    Special,
}

/// A file's text: LF only, without BOM, and how its bytes differ from that.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DiskText {
    /// Text as the wire carries it. CRLF is turned into LF only when every line ends in it.
    pub text: String,
    /// Every line ends in CRLF.
    pub crlf: bool,
    /// The bytes begin with a UTF-8 BOM.
    pub bom: bool,
}

/// Why the disk edge could not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DiskError {
    /// Nothing there.
    NotFound,
    /// A directory where a file was meant.
    IsDir,
    /// Not a regular file.
    Special,
    /// NUL bytes.
    Binary,
    /// Not UTF-8.
    NotUtf8,
    /// Over the cap; size and cap in bytes.
    TooLarge { size: u64, cap: u64 },
    /// Anything else, as the system says it.
    Io(String),
}

/// What Neovim says. All of it arrives in the order it happened in the editor, because all of it (also the results of
/// edits and slices) travels as notifications on one channel.
#[derive(Debug)]
pub enum NvimEvent {
    /// First message: protocol number and settings.
    Hello(Hello),
    /// A buffer is loaded, or its facts changed.
    BufMeta(BufMeta),
    /// Lines changed: `[first, last)` became `lines`. `tick` is `None` for a preview, which is no change.
    BufLines {
        buf: BufId,
        tick: Option<u64>,
        first: usize,
        last: Option<usize>,
        lines: Vec<Vec<u8>>,
        more: bool,
    },
    /// The tick moved without a change of text.
    BufTick { buf: BufId, tick: u64 },
    /// The attachment ended (reload, unload). Not a close.
    BufDetached { buf: BufId },
    /// The buffer was unloaded, deleted or wiped.
    BufClosed { buf: BufId },
    /// A slice of lines from `start`, taken at `tick`; `total` lines in all. `empty` when the buffer holds no line at all.
    Slice { buf: BufId, tick: u64, start: usize, total: usize, lines: Vec<Vec<u8>>, empty: bool },
    /// An edit call came back.
    EditDone { op: OpId, outcome: EditOutcome },
    /// The buffer may be edited again (the mode that stood in the way has ended).
    Safe { buf: BufId },
    /// The transcript buffer shows this version.
    ViewAck { session: SessionKey, version: u64 },
    /// A person or a script wants something.
    Action(Action),
    /// The channel is closed. Last event.
    Closed,
}

/// The opening message of the editor.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Hello {
    /// Protocol number of the Lua side; see `nvim::PROTOCOL`.
    pub protocol: u64,
    /// `nvim-0.11.4`.
    pub editor: String,
    /// Folder for logs.
    pub log_dir: PathBuf,
    /// Buffers larger than this many bytes are not mirrored.
    pub max_buf_bytes: u64,
}

/// Facts about a buffer that line events do not carry.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BufMeta {
    /// Which.
    pub buf: i64,
    /// Full name; empty for an unnamed buffer.
    pub name: String,
    /// `changedtick` when this was read.
    pub tick: u64,
    /// 'modified'.
    pub modified: bool,
    /// Shown in a window.
    pub visible: bool,
    /// 'fileformat': `unix`, `dos`, `mac`.
    pub fileformat: String,
    /// 'fileencoding', empty means UTF-8.
    pub fileencoding: String,
    /// 'bomb'.
    pub bomb: bool,
    /// Whether the last line ends in a newline on disk: 'endofline', corrected after a save with 'fixendofline'.
    pub eol: bool,
    /// 'buftype'; only `""` (and `acwrite`, which is never written to) take part.
    pub buftype: String,
    /// Number of lines.
    pub lines: u64,
    /// Bytes, as `nvim_buf_get_offset` counts them.
    pub bytes: u64,
}

/// What came of an edit call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EditOutcome {
    /// Edited, and saved if that was asked. `tick` is the tick after all of it, `modified` the state after it.
    Done { tick: u64, saved: bool, modified: bool },
    /// The text moved on; nothing was done. `tick` is the present one; all events up to it have been sent before.
    Stale { tick: u64 },
    /// The mode stands in the way; nothing was done. A `Safe` follows.
    Busy { mode: String },
    /// Edited, but the save failed: the text is in the buffer only.
    NotSaved { tick: u64, message: String },
    /// Could not be edited (readonly, not modifiable, gone); nothing was done.
    Failed { message: String },
}

/// What a person, or a script through the Lua API, asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// Start a session; the id was minted in Lua. `cwd` is absolute and its only root.
    NewSession { session: SessionKey, launch: Launch, cwd: PathBuf },
    /// Send a prompt, or queue it while a turn runs.
    Prompt { session: SessionKey, text: String, context: Vec<ContextItem> },
    /// Cancel the running turn.
    Cancel { session: SessionKey },
    /// End the session and, with its last session, the agent.
    Close { session: SessionKey },
    /// Answer a question by option id, or by kind (`allow_once`), or `cancelled`.
    Answer { question: QuestionId, option: String },
    /// Send the texts of a question's diff number `index` (zero-based).
    ShowDiff { question: QuestionId, index: usize },
    /// This buffer shows this session's transcript. Everything is sent again from the first line.
    ViewOpen { session: SessionKey, buf: BufId },
    /// No buffer shows it any more.
    ViewClose { session: SessionKey },
    /// Fold or unfold the entry at this line (zero-based) of the transcript.
    ViewToggle { session: SessionKey, line: usize },
}

/// Something that goes along with a prompt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ContextItem {
    /// The file in a buffer; cursor line zero-based.
    File { buf: BufId, path: String, line: Option<u64> },
    /// Lines `[first, last)`, zero-based, of a buffer, with their text as the person sees it.
    Selection { buf: BufId, path: String, first: u64, last: u64, text: String },
}
