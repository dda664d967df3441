//! Everything that can happen, as plain data: the one vocabulary of the loop's inbox.
//!
//! Owns no state. Edges make events, the app applies them. Wire types never appear here, nor do editor types. Positions
//! are zero-based lines and byte columns, ends exclusive, unless a field says otherwise.

use std::path::PathBuf;
use std::sync::Arc;

use crate::model::*;
use crate::reply::{Reply, WireId};
use crate::workspace::terminals::Create;

/// One thing that happened.
#[derive(Debug)]
pub enum Event {
    /// From Neovim. The first lane: never delayed by a flooding agent.
    Nvim(NvimEvent),
    /// From an agent, in wire order: notifications, requests and replies of one agent share one FIFO.
    Agent(AgentId, AgentEvent),
    /// A result of the disk edge.
    Disk(OpId, DiskResult),
    /// Something happened in a terminal.
    Pty(TerminalId, PtyEvent),
    /// Something happened to these paths on disk, as the watcher saw it: absolute, joined over some milliseconds, maybe
    /// more than what really changed. A folder's path stands for all that was in it. Empty: events were lost, anything may have changed.
    Watched(Vec<PathBuf>),
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
    /// `terminal/create`.
    CreateTerminal { session: String, create: Box<Create>, reply: Reply },
    /// Another request about a terminal, by the name it has for the agent.
    Terminal { session: String, terminal: String, ask: TerminalAsk, reply: Reply },
    /// `$/cancel_request` for a request that this agent made.
    CancelRequest { id: WireId },
    /// The agent does not read what we send: this many bytes wait. Said once per stall; 0 says it reads again.
    Stuck { bytes: usize },
    /// The connection is over. Last event of this agent.
    Exited(Exit),
}

/// What an agent wants of a terminal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TerminalAsk {
    /// `terminal/output`.
    Output,
    /// `terminal/wait_for_exit`.
    Wait,
    /// `terminal/kill`.
    Kill,
    /// `terminal/release`.
    Release,
}

/// What the PTY edge says of one terminal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PtyEvent {
    /// The command runs. `pgid` is its process group.
    Started { pgid: i32 },
    /// Bytes that it wrote, in order.
    Output(Vec<u8>),
    /// The command itself ended, or could not start (then its reason came as output). All that it wrote has come before.
    /// Descendants that live on may still write.
    Exited(CommandEnd),
    /// Nothing can come any more, and no descriptor is held. Last event of this terminal.
    Closed,
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
    /// A file was written, and this is its stamp now.
    Written(Result<Stamp, DiskError>),
    /// The texts of changes that were asked for.
    Kept(Vec<KeptTexts>),
    /// Another Neovim that holds the file, if any.
    Swap(Option<SwapOwner>),
    /// The bytes could not be written because the file is no longer what it was when the write was computed.
    Stale,
}

/// Another Neovim that has a file open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SwapOwner {
    /// Its process, when it runs on this machine; `None` for what a dead one left behind.
    pub pid: Option<u32>,
    /// It holds changes that are not on disk.
    pub modified: bool,
}

/// A path after links are followed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Resolved {
    /// Real absolute path. For a file that does not exist: its real nearest existing folder plus the rest.
    pub real: PathBuf,
    /// What is there.
    pub kind: PathKind,
    /// Of a regular file: its stamp.
    pub stamp: Option<Stamp>,
}

/// Which bytes a file held: equal stamps mean the same bytes for sure enough (`stat` of the file: modification time and
/// size).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stamp {
    /// Seconds since the epoch.
    pub sec: i64,
    /// And nanoseconds.
    pub nsec: u32,
    /// Bytes.
    pub size: u64,
}

/// How the bytes of a file differ from its text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Form {
    /// As Neovim names it in 'fileencoding'; empty for UTF-8.
    pub encoding: String,
    /// The bytes begin with a byte order mark.
    pub bom: bool,
    /// Every line ends in CRLF.
    pub crlf: bool,
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
    /// The text in UTF-8, as a buffer of Neovim would hold it: bytes that are no UTF-8 stay as they are, NUL is NUL.
    /// CRLF is turned into LF only when every line ends in it.
    pub text: Vec<u8>,
    /// What undoes that.
    pub form: Form,
    /// Of the bytes that were read.
    pub stamp: Stamp,
}

/// What a file was before and after a change, as `DiskText::text`; `None` where there was no file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeptTexts {
    /// The change.
    pub number: u64,
    /// See the type.
    pub before: Option<Vec<u8>>,
    /// See the type.
    pub after: Option<Vec<u8>>,
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
    /// None of the encodings that were to be tried gives the bytes back.
    Undecodable,
    /// The file's encoding has no bytes for this character.
    Unencodable { what: char, encoding: String },
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
    /// The buffers of a `SaveBuffers` are saved, but for those in `failed`, each with the reason in words. `busy`: none
    /// was touched, because the mode stands in the way; a `Safe` follows.
    Saved { save: u64, failed: Vec<(BufId, String)>, busy: bool },
    /// The editor noticed that the file of this buffer changed on disk, and left the buffer alone.
    DiskChanged { buf: BufId },
    /// A person typed something, for the first time since our last save: what changes from now on may be theirs.
    Typed,
    /// A window shows this terminal, of this size in cells, or none does any more.
    TerminalView { terminal: TerminalId, shown: bool, rows: u16, cols: u16 },
    /// The terminal's buffer has taken this piece.
    TerminalAck { terminal: TerminalId, seq: u64 },
    /// A person typed into a terminal.
    TerminalInput { terminal: TerminalId, data: Vec<u8> },
    /// A person stops a terminal's command, or wiped its buffer.
    TerminalStop { terminal: TerminalId },
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
    /// Most bytes of text that are kept of a command for its agent.
    pub max_terminal_bytes: u64,
    /// 'fileencodings': what Neovim tries for a file that it opens, in order.
    pub encodings: Vec<String>,
    /// The setting `save`.
    pub save: Save,
    /// 'directory': where swap files of other Neovims may be, absolute; `.` is the file's own folder.
    pub swap_dirs: Vec<String>,
    /// Where commands reach this Neovim as their editor: a socket's path; empty when they must not (the setting
    /// `terminal_editor`) or cannot.
    pub server: String,
}

/// When a change of an agent's is also saved: the setting `save`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Save {
    /// Always: agents run commands on the disk. This saves the person's own unsaved lines too.
    #[default]
    Always,
    /// When the buffer was not modified before.
    IfClean,
    /// Never.
    Never,
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
    /// Of the file as the buffer was last read from it or written to it; `None` when it did not exist then, or when that
    /// is not known.
    pub stamp: Option<Stamp>,
    /// Number of lines.
    pub lines: u64,
    /// Bytes, as `nvim_buf_get_offset` counts them.
    pub bytes: u64,
}

/// What came of an edit call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EditOutcome {
    /// Edited, and saved if that was asked. `tick` is the tick after all of it, `modified` the state after it, `stamp`
    /// that of the file the buffer is now like.
    Done { tick: u64, saved: bool, modified: bool, stamp: Option<Stamp> },
    /// The file on disk is neither what the buffer came from nor what the call named, or is `gone`; nothing was done.
    Disk { gone: bool },
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
    /// Start a session; the id was minted in Lua. `cwd` is absolute and its first root.
    NewSession { session: SessionKey, launch: Launch, cwd: PathBuf, access: AccessRules },
    /// Send a prompt, or queue it while a turn runs.
    Prompt { session: SessionKey, text: String, context: Vec<ContextItem> },
    /// Cancel the running turn.
    Cancel { session: SessionKey },
    /// End the session and, with its last session, the agent.
    Close { session: SessionKey },
    /// Answer a question by option id, or by kind (`allow_once`), or `cancelled`. `why` is for the agent, where it is
    /// refused; may be empty.
    Answer { question: QuestionId, option: String, why: String },
    /// Allow the changes of a question once, those files edited: by index of the diff, zero-based.
    AnswerEdited { question: QuestionId, files: Vec<(usize, EditedText)> },
    /// Answer a question about a merge with the text that shall be: lines as the API gives them, and whether the last
    /// one ends in a newline.
    AnswerText { question: QuestionId, lines: Vec<Vec<u8>>, eol: bool },
    /// Keep or reject what agents changed.
    Review(ReviewVerdict),
    /// Send the checkpoints of a session, for a person to choose one.
    Checkpoints { session: SessionKey },
    /// Go back to before the prompt of that checkpoint; `None`: take the last way back back.
    Restore { session: SessionKey, number: Option<u64> },
    /// Take the last verdict of a review back.
    ReviewUndo,
    /// Send what a file was before any change that is to be judged.
    ReviewTexts { path: PathBuf },
    /// A commit holds this file with this text: what is in it is kept.
    ReviewCommitted { path: PathBuf, text: Vec<u8> },
    /// Send the texts of a question's diff number `index` (zero-based).
    ShowDiff { question: QuestionId, index: usize },
    /// This buffer shows this session's transcript. Everything is sent again from the first line.
    ViewOpen { session: SessionKey, buf: BufId },
    /// No buffer shows it any more.
    ViewClose { session: SessionKey },
    /// Fold or unfold the entry at this line (zero-based) of the transcript.
    ViewToggle { session: SessionKey, line: usize },
}

/// What a person decides about changes that have landed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReviewVerdict {
    /// They stay, else they go.
    pub keep: bool,
    /// Which.
    pub scope: ReviewScope,
}

/// Which changes a verdict is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ReviewScope {
    /// Hunks of a file that touch these lines of its text as it is now: zero-based, end exclusive.
    Lines { path: PathBuf, first: usize, last: usize },
    /// A hunk by its id.
    Hunk { path: PathBuf, id: u64 },
    /// All of a file.
    File { path: PathBuf },
    /// All of a turn of a session; without a number, of its last one that left anything.
    Turn { session: SessionKey, turn: Option<u32> },
    /// All of a session.
    Session { session: SessionKey },
    /// Everything.
    All,
}

/// Something that goes along with a prompt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ContextItem {
    /// The file in a buffer; cursor line zero-based.
    File { buf: BufId, path: String, line: Option<u64> },
    /// Lines `[first, last)`, zero-based, of a buffer, with their text as the person sees it.
    Selection { buf: BufId, path: String, first: u64, last: u64, text: String },
}
