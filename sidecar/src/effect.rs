//! Everything the core wants done, as plain data: rooms return effects, the app hands them to the edges.
//!
//! Owns no state and does nothing. Positions are zero-based lines and byte columns, ends exclusive.

use std::path::PathBuf;
use std::sync::Arc;

use lsp_types::TextEdit;

use crate::event::{Form, Stamp};
use crate::model::*;
use crate::reply::Reply;
use crate::workspace::terminals::feed::Piece;
use crate::workspace::text::Snapshot;

/// One thing to be done outside the core, or by another room.
#[derive(Debug)]
pub enum Effect {
    /// Tell Neovim.
    Nvim(NvimCmd),
    /// Tell an agent, or do something to its process.
    Agent(AgentId, AgentCmd),
    /// Ask the disk; the result comes as `Event::Disk` with the same op.
    Disk(OpId, DiskCmd),
    /// Answer a request of an agent.
    Answer(Reply, Result<Arc<str>, RpcError>),
    /// Workspace to session room: may this write land? Decided with `Workspace::decide`.
    AskWrite(WriteAsk),
    /// Workspace to session room: may this path be read or written at all? Decided with `Workspace::access_decided`.
    AskAccess(AccessAsk),
    /// Session room to workspace: what was decided about a path that was asked about.
    AccessDecided { op: OpId, access: Access },
    /// Workspace to session room: the question about this write, or about its path, is moot (withdrawn or cancelled by
    /// the agent).
    AskWithdrawn { op: OpId },
    /// Session room to workspace: a question about a write has been answered.
    WriteDecided { op: OpId, verdict: Verdict },
    /// Workspace to session room: something that a person should find in the transcript.
    Told { session: SessionKey, text: String },
    /// Session room to app: the next prompt may go once what goes along is put together, with `Sessions::go`.
    PromptDue { session: SessionKey },
    /// Session room to workspace: the agent does not remember what came with the last prompt.
    PromptForgotten { session: SessionKey },
    /// Tell the PTY edge.
    Pty(TerminalId, PtyCmd),
    /// Keep what a file was before and after a change, or give it back.
    Keep(KeepCmd),
    /// Keep this raw output of a terminal; nothing at all: it has ended.
    Spill(TerminalId, Vec<u8>),
    /// Workspace to session room: may this command run? Decided with `Workspace::command_decided`.
    AskCommand(CommandAsk),
    /// Workspace to session room: the agent takes a command back that is being asked about.
    CommandWithdrawn { terminal: TerminalId },
    /// Session room to workspace: what was decided about a command.
    CommandDecided { terminal: TerminalId, verdict: CommandVerdict },
    /// Workspace to session room: the card of a terminal, new or changed.
    Card { session: SessionKey, card: TerminalCard },
    /// Tell the watcher what to watch, in place of what it watched before.
    Watch(WatchWish),
    /// Workspace to those that keep account: a file was changed, by an agent or behind our back.
    Landed(Box<Change>),
}

/// A change of a file that has landed, whichever way it came there. All texts are those of the buffer that holds the
/// file, with its unsaved lines, else those of the disk.
#[derive(Clone, Debug, PartialEq)]
pub struct Change {
    /// The session whose agent wrote; of a change on disk, the one in which it is spoken of.
    pub session: SessionKey,
    /// Real path.
    pub path: PathBuf,
    /// The buffer that holds it, if one does.
    pub buf: Option<BufId>,
    /// The text before; `None` when there was no file.
    pub before: Option<Snapshot>,
    /// The text after it, with what a formatter made of it at the save; `None` when there is no file any more.
    pub after: Option<Snapshot>,
    /// Whose it is.
    pub author: Author,
    /// It came from the disk, not as a request.
    pub on_disk: bool,
}

/// Whose a change is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Author {
    /// The session's agent: it asked for it, or a tool call of its running turn names the file.
    Agent,
    /// A turn runs, and nothing says that its agent did it.
    Unknown,
    /// No turn runs: a person or a program of theirs.
    Person,
}

/// A path that a session may touch only if a person says so.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AccessAsk {
    /// The request that waits.
    pub op: OpId,
    /// Whose.
    pub session: SessionKey,
    /// Real path.
    pub path: PathBuf,
    /// To be written, else to be read.
    pub write: bool,
    /// Why it is asked about and what a person should know, a line each; not escaped.
    pub notes: Vec<String>,
}

/// What was decided about a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// This request may go on.
    Allow,
    /// A person said no: for the rest of the turn, or of the session.
    Rejected { for_session: bool },
    /// Nobody decided, and nobody will: the turn, the session or the agent is over.
    Withdrawn,
}

/// A command that an agent wants to run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommandAsk {
    /// Its terminal.
    pub terminal: TerminalId,
    /// Whose.
    pub session: SessionKey,
    /// The whole command as one line; not escaped.
    pub line: String,
    /// Where it is a shell that runs a line: that line.
    pub shell: Option<String>,
    /// Where it would run.
    pub cwd: PathBuf,
    /// Variables that the agent sets for it, each as `NAME=value`; not escaped.
    pub env: Vec<String>,
    /// What a person should know; no approval that was given before covers it then.
    pub note: Option<String>,
}

/// What the transcript shows of a terminal.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TerminalCard {
    /// Which.
    pub terminal: TerminalId,
    /// The command as one line; not escaped.
    pub line: String,
    /// The last lines of its text; not escaped.
    pub lines: Vec<String>,
    /// How it ended; `None` while it runs.
    pub end: Option<CommandEnd>,
    /// A person stopped it.
    pub stopped: bool,
    /// How long it ran; while it runs, how long it has by now, in steps of 5 s and later of a minute.
    pub seconds: u64,
    /// Where more of its output is than the lines show.
    pub log: Option<PathBuf>,
    /// All of it is there.
    pub log_is_all: bool,
}

/// What queries see of a terminal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TerminalState {
    /// Which.
    pub terminal: TerminalId,
    /// Whose.
    pub session: SessionKey,
    /// The command as one line; not escaped.
    pub line: String,
    /// Where it runs.
    pub cwd: PathBuf,
    /// How it ended; `None` while it runs.
    pub end: Option<CommandEnd>,
    /// How long it has run, or ran.
    pub seconds: u64,
    /// Bytes written so far.
    pub bytes: u64,
    /// The agent runs it; it is only shown.
    pub agent_only: bool,
}

/// What is to be watched on disk. All paths are real and absolute.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WatchWish {
    /// Folders whose own files matter: those of open files, and of files that a running turn names.
    pub folders: Vec<PathBuf>,
    /// Roots of running turns: all below matters that no ignore file hides.
    pub trees: Vec<PathBuf>,
}

/// What was decided about a write.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It may land; where both sides changed the same lines, the person's stay.
    Allow,
    /// Nothing is written.
    Reject,
    /// The same; why, the agent is told.
    Refuse { why: String },
    /// It may land; where both sides changed the same lines, the agent's are taken.
    Theirs,
    /// This is what shall be: lines as Neovim's API gives them, and whether the last one ends in a newline.
    Text { lines: Vec<Vec<u8>>, eol: bool },
    /// It may land with what a person made of it.
    Edited(EditedText),
}

/// What a person needs to decide where both sides changed the same lines. Texts are bytes with LF: what a person leaves
/// as it is must come back as it was, also where it is not UTF-8.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MergeAsk {
    /// What both sides started from.
    pub base: Vec<u8>,
    /// The person's text.
    pub ours: Vec<u8>,
    /// The other side's text.
    pub theirs: Vec<u8>,
    /// What would land: `WriteAsk::content`, byte for byte.
    pub result: Vec<u8>,
    /// Lines of the result that are in conflict: zero-based, end exclusive, ascending. An empty
    /// span stands where the person deleted lines.
    pub conflicts: Vec<(usize, usize)>,
    /// The change came from the disk, not as a request of an agent: the question outlives the turn.
    pub from_disk: bool,
}

/// Said with a question about a file that has unsaved lines.
pub const SAVES_UNSAVED: &str = "Saving it also writes your own unsaved lines.";
/// Said with a question about a file that no buffer holds.
pub const NOT_OPEN: &str = "It is not open here: it is written to the disk, and `u` cannot take it back.";

/// A write that waits for a verdict.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WriteAsk {
    /// The write.
    pub op: OpId,
    /// Whose.
    pub session: SessionKey,
    /// Real path.
    pub path: PathBuf,
    /// The path as the agent named it.
    pub told: PathBuf,
    /// Text that would be replaced; `None` when the file does not exist yet.
    pub live: Option<String>,
    /// What would land. In a merge with conflicts the person's lines stand at their places.
    pub content: String,
    /// There are conflicts to be decided.
    pub merge: Option<MergeAsk>,
    /// The agent's own view, where the person changed the text meanwhile: what it started from and what it wrote. An
    /// approval of exactly that covers the write.
    pub sides: Option<(String, String)>,
    /// More that a person should know, a line each.
    pub notes: Vec<String>,
    /// No approval that was given before covers it.
    pub must_ask: bool,
    /// The buffer that holds the file, if it is open, and whether it has unsaved lines of the person that a save
    /// would write too.
    pub buf: Option<BufId>,
    /// See `buf`.
    pub saves_unsaved: bool,
}

/// What an agent edge is told.
#[derive(Clone, Debug, PartialEq)]
pub enum AgentCmd {
    /// Start the process and send `initialize`.
    Start(Box<Launch>),
    /// `session/new`; `call` comes back in `AgentEvent::Reply`.
    NewSession { call: u64, cwd: PathBuf },
    /// `session/prompt`.
    Prompt { call: u64, session: String, blocks: Vec<Content> },
    /// `session/cancel`, a notification.
    Cancel { session: String },
    /// Close stdin, TERM, KILL, in bounded time; `Exited` follows.
    Stop,
}

/// What the PTY edge is told about one terminal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PtyCmd {
    /// Run a command.
    Run(Box<PtyRun>),
    /// Bytes that a person types into it.
    Input(Vec<u8>),
    /// The window that shows it has this size now, in cells.
    Resize { rows: u16, cols: u16 },
    /// Interrupt it as the key would: INT to its process group. It may end, or not.
    Interrupt,
    /// End the command and all that descends from it, at once. `Exited` follows.
    Kill,
    /// Nobody asks for it any more: end what is left and free everything. `Closed` follows.
    Forget,
}

/// A command to run in a terminal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PtyRun {
    /// A program, or a whole line for `sh -c` where `args` is empty and it is not the name of a program.
    pub command: String,
    /// Literal arguments.
    pub args: Vec<String>,
    /// Set over the inherited environment, in order.
    pub env: Vec<(String, String)>,
    /// Absolute working directory.
    pub cwd: PathBuf,
    /// Size in cells.
    pub rows: u16,
    /// See `rows`.
    pub cols: u16,
}

/// What is done about the texts of changes.
#[derive(Clone, Debug)]
pub enum KeepCmd {
    /// A prompt goes to its agent.
    Mark { number: u64, session: SessionKey, prompt: String },
    /// A change; `None` where there is no file.
    Change { number: u64, path: PathBuf, before: Option<Snapshot>, after: Option<Snapshot> },
    /// Answered by `DiskResult::Kept`, without those that are not there any more.
    Load { op: OpId, numbers: Vec<u64> },
}

/// What queries see of a checkpoint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CheckpointState {
    /// Ascending.
    pub number: u64,
    /// First line of the prompt that it is before.
    pub prompt: String,
    /// What the agent has changed since.
    pub files: Vec<PathBuf>,
}

/// What the disk edge is asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DiskCmd {
    /// Where does this absolute path lead? A file that is one of `twins` under another name (a hard link) is said to be
    /// that one.
    Resolve { path: PathBuf, twins: Vec<PathBuf> },
    /// Read a text file; `cap` in bytes. `encodings` are tried in order, by Neovim's names (`ucs-bom`, `utf-8`,
    /// `latin1`, …); the first that gives the same bytes back is taken.
    Read { real: PathBuf, cap: u64, encodings: Vec<String> },
    /// Is the file open in another Neovim? `dirs` as in `Hello::swap_dirs`.
    Swap { real: PathBuf, dirs: Vec<String> },
    /// Write a file that is not open: beside and renamed (in place when it has more links than one), parents created,
    /// mode kept. `text` as in `DiskText`. `expect` is the stamp the file must still have (`None`: must not exist), else
    /// `Stale`.
    Write { real: PathBuf, text: Vec<u8>, form: Form, expect: Option<Stamp> },
    /// Delete a regular file that still has this stamp, else `Stale`. Answered by `Written` with that stamp.
    Delete { real: PathBuf, expect: Stamp },
}

/// What Neovim is told. Each is one request to the editor unless it says otherwise; none is waited for by the loop.
#[derive(Clone, Debug, PartialEq)]
pub enum NvimCmd {
    /// Answer to `Hello`.
    Welcome { protocol: u64, version: String, log: PathBuf },
    /// Attach to a buffer without its text (`nvim_buf_attach`), then ask for the first slice.
    Attach { buf: BufId },
    /// Stop its events. Its file is followed no more.
    Detach { buf: BufId },
    /// The text of that tick is not what is on disk: the buffer is modified, whatever undoing made Neovim think.
    Unsaved { buf: BufId, tick: u64 },
    /// We do not follow the file of this buffer: it is Neovim's own again.
    Unfollow { buf: BufId },
    /// Ask for lines from `start`, at most 64 KiB of them. `later`: only when the editor is idle.
    Slice { buf: BufId, start: usize, later: bool },
    /// The atomic edit: compare tick and mode, edit as one undo step, save.
    Edit(EditCall),
    /// An edit of this buffer that waited for a mode to end does not come any more.
    EditOff { buf: BufId },
    /// The file of this buffer, which has no unsaved text, holds what is no text in the buffer's encoding, or has only
    /// now come into being: the editor loads it as it would open it.
    Reload { buf: BufId },
    /// Replace lines of a transcript buffer; acknowledged by `ViewAck`.
    Patch(ViewPatch),
    /// State of all sessions, for tables that queries read.
    Sessions(Vec<SessionState>),
    /// All pending questions, in order.
    Questions(Vec<QuestionState>),
    /// A `User` autocmd with data (JSON object).
    UserEvent { name: String, data: serde_json::Value },
    /// Something a person should read; level is `info`, `warn` or `error`.
    Notify { level: String, text: String },
    /// The process groups that must end with the editor's channel.
    Groups(Vec<i32>),
    /// The texts of a diff. Left side: `buf` when the file is open, else `old`. Sent whole; the edge slices.
    Diff(DiffTexts),
    /// Save these buffers through `:write`; answered by `Saved` with the same number.
    SaveBuffers { save: u64, bufs: Vec<BufId> },
    /// All terminals, in order of creation.
    Terminals(Vec<TerminalState>),
    /// Bytes for the buffer that shows a terminal; acknowledged by `TerminalAck`.
    TerminalFeed { terminal: TerminalId, piece: Piece },
    /// A person wants to see a terminal.
    TerminalShow { terminal: TerminalId },
    /// What is to be judged in a file, in place of what was.
    Review(ReviewFile),
    /// How much is to be judged, in all and by session.
    ReviewCounts { files: usize, hunks: usize, sessions: Vec<(SessionKey, usize, usize)> },
    /// A file as it was before any change that is to be judged.
    ReviewTexts(ReviewTexts),
    /// The checkpoints of a session, oldest first. `asked`: a person wants to choose one.
    Checkpoints { session: SessionKey, asked: bool, list: Vec<CheckpointState> },
    /// A prompt could not be sent; its text goes back to the person.
    PromptReturned { session: SessionKey, text: String, why: String },
}

/// What is to be judged in a file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReviewFile {
    /// Real path.
    pub path: PathBuf,
    /// The buffer that holds it, and the tick that the lines are of.
    pub buf: Option<(BufId, u64)>,
    /// An agent made the file.
    pub created: bool,
    /// In order; none: nothing is left to be judged.
    pub hunks: Vec<ReviewHunk>,
}

/// Lines next to each other that agents changed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReviewHunk {
    /// The same as long as the hunk is the same.
    pub id: u64,
    /// Whose change it was last, and in which of its turns.
    pub session: String,
    /// Counts from 1.
    pub turn: u32,
    /// It changed on disk during the turn, and nothing says by whom.
    pub unknown: bool,
    /// Zero-based lines of the live text, end exclusive; the same where lines were only taken out.
    pub first: usize,
    /// See `first`.
    pub last: usize,
    /// Lines that were taken out, as Neovim has them.
    pub removed: Vec<Vec<u8>>,
    /// Words that differ: line of the live text, first byte, end byte.
    pub live_words: Vec<(usize, usize, usize)>,
    /// The same, by index into `removed`.
    pub removed_words: Vec<(usize, usize, usize)>,
}

/// The texts of a file that is reviewed. Bytes with LF.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReviewTexts {
    /// Real path.
    pub path: PathBuf,
    /// The buffer that holds the live text.
    pub buf: Option<BufId>,
    /// As it was before any change that is to be judged.
    pub base: Vec<u8>,
    /// As it is, where no buffer holds it.
    pub live: Vec<u8>,
    /// An agent made the file.
    pub created: bool,
}

/// One atomic edit.
#[derive(Clone, Debug, PartialEq)]
pub struct EditCall {
    /// Comes back in `EditDone`.
    pub op: OpId,
    /// Target.
    pub buf: BufId,
    /// The tick the edits were computed for.
    pub tick: u64,
    /// Edits that come before, an undo step of their own: a text that is given up but can be had back. Like `edits`.
    pub through: Vec<TextEdit>,
    /// Whole-line or within-line replacements in ascending order, not overlapping, all in coordinates of the text at
    /// `tick`, or of that after `through`. Positions are zero-based lines and UTF-8 byte columns; new text uses LF. Columns are byte offsets into
    /// Neovim's line.
    pub edits: Vec<TextEdit>,
    /// Whether the text ends in a newline once edited.
    pub eol: bool,
    /// The text once edited is empty (no line at all).
    pub empty: bool,
    /// Save through `:write`.
    pub save: bool,
    /// The file may have this stamp, which is not the one the buffer came from: what it holds is in the edit already.
    pub disk: Option<Stamp>,
    /// Once edited the buffer is like the file of that stamp, which has this form: it is not modified any more.
    pub clean: Option<Form>,
    /// The file is gone, and a person agreed to make it anew.
    pub recreate: bool,
}

/// New lines for a transcript.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ViewPatch {
    /// Whose transcript.
    pub session: SessionKey,
    /// Where it is shown.
    pub buf: BufId,
    /// Ascending; acknowledged with `ViewAck`.
    pub version: u64,
    /// `[first, last)` is replaced.
    pub first: usize,
    /// End, exclusive, in lines of the version before.
    pub last: usize,
    /// The new lines.
    pub lines: Vec<String>,
    /// Highlights on the new lines.
    pub marks: Vec<ViewMark>,
    /// Line ranges (in the new buffer) of questions, so that keys know where they are: (question, first, last).
    pub questions: Vec<(QuestionId, usize, usize)>,
}

/// A highlight: bytes `[col, end)` of line `row` (relative to the patch's first line).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ViewMark {
    /// Line, relative to `first`.
    pub row: usize,
    /// Byte column.
    pub col: usize,
    /// Byte column, exclusive.
    pub end: usize,
    /// Name of the highlight group, one of `view::GROUPS`.
    pub group: &'static str,
}

/// What queries see of a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionState {
    /// Local id.
    pub id: SessionKey,
    /// Preset name.
    pub agent: String,
    /// The agent's own name and version, once known.
    pub agent_info: String,
    /// Title from the agent, else from the first prompt, else empty.
    pub title: String,
    /// Working directory.
    pub cwd: PathBuf,
    /// `starting`, `idle`, `running`, `waiting`, `cancelling`, `dead`.
    pub state: &'static str,
    /// Texts of queued prompts.
    pub queue: Vec<String>,
    /// Tokens used and window size, once the agent told.
    pub usage: Option<(u64, u64)>,
    /// Cost as shown text.
    pub cost: Option<String>,
    /// Current mode id.
    pub mode: Option<String>,
    /// Slash commands: name, description, hint.
    pub commands: Vec<(String, String, Option<String>)>,
    /// Number of turns so far.
    pub turn: u32,
    /// The cause, when dead.
    pub cause: Option<String>,
}

/// What the editor sees of a question. All text is already escaped for display.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QuestionState {
    /// Id for `answer`.
    pub id: QuestionId,
    /// Whose.
    pub session: SessionKey,
    /// One line.
    pub title: String,
    /// More lines: command, details, preview, or "details not provided".
    pub body: Vec<String>,
    /// In the order given.
    pub options: Vec<PermissionOption>,
    /// Paths of the diffs that can be shown, in order.
    pub files: Vec<String>,
    /// It is about a merge: its diff has a result that can be edited, and saving that answers.
    pub merge: bool,
    /// The write it is about: a question that takes the place of another is about the same one.
    pub write: Option<OpId>,
}

/// Both sides of a diff.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DiffTexts {
    /// Which question, and which of its diffs.
    pub question: QuestionId,
    /// Zero-based.
    pub index: usize,
    /// How many diffs the question has.
    pub count: usize,
    /// Shown name (escaped).
    pub path: String,
    /// The open buffer that is the left side.
    pub buf: Option<BufId>,
    /// Left side where no buffer holds it.
    pub old: String,
    /// Right side.
    pub new: String,
    /// A fragment that was not found in the file is shown by itself, and this says so.
    pub note: Option<String>,
    /// The right side is what the whole file would be: a person may make something else of it.
    pub editable: bool,
    /// A merge to be decided: `old` is the person's text, `new` the result as it stands.
    pub merge: Option<MergeAsk>,
}
