//! The words that rooms and edges share: what agents say, free of any protocol version.
//!
//! Owns plain data only. It never parses a wire, never touches the editor, never does I/O. The agent edge lifts its
//! wire into these types; the rooms store them. Shaped after where the protocol goes: entities keyed by session, kind
//! and id, three-state patches, `replace` and `append` as the two content operations. Raw JSON is kept where a type
//! cannot hold all that was said.

use std::path::PathBuf;
use std::sync::Arc;

/// Milliseconds since the sidecar started. Rooms have no clock; the loop puts this into every call that needs it.
pub type Millis = u64;

/// One agent process or connection; a restart gets a new id. Minted by the app, never reused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct AgentId(pub u32);

/// The local id of a session (`"s1"`), minted in the editor and stable over a restart of its agent.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SessionKey(pub Arc<str>);

impl SessionKey {
    /// Wraps the id that the editor minted.
    pub fn new(id: &str) -> Self {
        Self(id.into())
    }
}

impl std::fmt::Display for SessionKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

/// A Neovim buffer number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct BufId(pub i64);

/// A question that waits for a person. Unique over the life of the sidecar; shown to the editor as a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct QuestionId(pub u64);

/// A terminal in which a command runs, or one that an agent only shows. Unique over the life of the sidecar.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TerminalId(pub u64);

impl TerminalId {
    /// Name of the file that keeps its raw output.
    pub fn log_name(self) -> String {
        format!("{}.log", self.0)
    }
}

/// One read or write that the workspace carries through its stages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct OpId(pub u64);

/// A transcript entry of a session; stable for the life of the session, ascending in order of appearance.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct EntryId(pub u64);

/// How a command in a terminal ended.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CommandEnd {
    /// Exit code: 128 + n when signal n ended it, 127 when it could not start.
    pub code: u32,
    /// Name of the signal that ended it, as `SIGKILL`.
    pub signal: Option<String>,
}

impl CommandEnd {
    /// The code of one of which nobody told how it ended: only of commands that agents run themselves.
    pub const NOT_TOLD: u32 = u32::MAX;

    /// The exit code, if it is known.
    pub fn told(&self) -> Option<u32> {
        (self.code != Self::NOT_TOLD).then_some(self.code)
    }
}

/// A text as Neovim's API has it: lines, and whether the last one ends in a newline.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Text {
    /// Without line ends; a NUL is a byte like any other.
    pub lines: Vec<Vec<u8>>,
    /// The last line ends in a newline.
    pub eol: bool,
}

/// What a person made of a text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EditedText {
    /// As it was shown to them.
    pub from: Text,
    /// As they want it.
    pub to: Text,
}

/// When a write that no permission covers is asked about.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum WriteApproval {
    /// Always.
    #[default]
    Ask,
    /// Never, for the agent asks by itself; but where a person must decide.
    Agent,
    /// The same; what the agent asks about edits within the roots is allowed too, for it is reviewed once it has landed.
    Review,
}

/// Words as a shell would have to be given them, so that one with blanks cannot pass for several.
pub fn quoted<'a>(words: impl IntoIterator<Item = &'a str>) -> String {
    let one = |word: &str| {
        let plain = |c: char| c.is_ascii_alphanumeric() || "-_./=:,@%+".contains(c);
        match !word.is_empty() && word.chars().all(plain) {
            true => word.to_owned(),
            false => format!("'{}'", word.replace('\'', "'\\''")),
        }
    };
    words.into_iter().map(one).collect::<Vec<_>>().join(" ")
}

/// The line that a shell is to run, of `sh -c LINE` and the like; a program of that name in another place may be
/// anything.
pub fn shell_line<'a>(program: &str, args: &[&'a str]) -> Option<&'a str> {
    let folders = ["/bin/", "/usr/bin/", "/usr/local/bin/"];
    let name = folders.iter().find_map(|folder| program.strip_prefix(folder)).unwrap_or(program);
    match args {
        [flag, line] if flag.starts_with('-') && flag.ends_with('c') => {
            matches!(name, "sh" | "bash" | "zsh" | "dash" | "ksh" | "fish").then_some(*line)
        }
        _ => None,
    }
}

/// What was decided about a command that an agent wants to run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CommandVerdict {
    /// It runs.
    Run,
    /// A person said no, and maybe why.
    Rejected(Option<String>),
    /// Nobody decided, and nobody will: the turn, the session or the agent is over.
    Withdrawn,
}

/// Three-state field of a mergeable entity.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Patch<T> {
    /// Absent on the wire (in version 1 also `null`): leave what is there.
    #[default]
    Keep,
    /// Explicitly emptied.
    Clear,
    /// Replaced by this value.
    Set(T),
}

impl<T> Patch<T> {
    /// Applies the patch to a stored optional value.
    pub fn apply(self, slot: &mut Option<T>) {
        match self {
            Patch::Keep => {}
            Patch::Clear => *slot = None,
            Patch::Set(v) => *slot = Some(v),
        }
    }
    /// The new value, if one was set.
    pub fn set(&self) -> Option<&T> {
        match self {
            Patch::Set(v) => Some(v),
            _ => None,
        }
    }
}

/// Whose words a chunk carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Role {
    /// The person (echo or replay).
    User,
    /// The agent's answer.
    Agent,
    /// The agent's reasoning; never part of the answer text.
    Thought,
}

/// A content block, from or to an agent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Content {
    /// Markdown text.
    Text(String),
    /// A pointer to something the reader can fetch.
    Link { uri: String, name: String },
    /// Text that travels with the message.
    Resource { uri: String, text: String, mime: Option<String> },
    /// Anything else, with its type and raw JSON (images, audio, blobs, types of the future).
    Other { kind: String, raw: Arc<str> },
}

/// What a file would look like: whole file or fragment, the wire does not say which.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diff {
    /// As the agent wrote it; absolute by the protocol, but not by every agent.
    pub path: String,
    /// `None` and `Some("")` both occur for a new file.
    pub old: Option<String>,
    /// The proposed text.
    pub new: String,
}

/// One piece of a tool call's content.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ToolContent {
    /// An ordinary block.
    Block(Content),
    /// A proposed or done change.
    Diff(Diff),
    /// A terminal, of the host or display-only.
    Terminal(String),
    /// Unknown, kept raw.
    Other { kind: String, raw: Arc<str> },
}

/// A place a tool call touches. `line` is one-based, as on the wire.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Location {
    /// As the agent wrote it.
    pub path: String,
    /// One-based.
    pub line: Option<u32>,
}

/// How far a tool call is. Unknown words that look like an end are mapped to `Cancelled` or `Failed` at the edge.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ToolStatus {
    /// Not started.
    Pending,
    /// Running.
    InProgress,
    /// Ended well.
    Completed,
    /// Ended badly.
    Failed,
    /// Ended by a cancel, or left open when its turn ended.
    Cancelled,
    /// A word we do not know, taken as still going on.
    Other(String),
}

impl ToolStatus {
    /// Whether no further update is to be expected.
    pub fn is_final(&self) -> bool {
        matches!(self, ToolStatus::Completed | ToolStatus::Failed | ToolStatus::Cancelled)
    }
}

/// A change to a tool call, from `tool_call`, `tool_call_update` or a permission request.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ToolPatch {
    /// Agent-scoped id; agents reuse ids over turns, so a card is keyed by turn and id.
    pub id: String,
    /// Human title.
    pub title: Patch<String>,
    /// `read`, `edit`, `delete`, `move`, `search`, `execute`, `think`, `fetch`, `switch_mode`, `other`, or unknown.
    pub kind: Patch<String>,
    /// Progress.
    pub status: Patch<ToolStatus>,
    /// Replaces all content.
    pub content: Patch<Vec<ToolContent>>,
    /// Replaces all locations.
    pub locations: Patch<Vec<Location>>,
    /// Raw JSON of the tool's input.
    pub raw_input: Patch<Arc<str>>,
    /// Raw JSON of the tool's output.
    pub raw_output: Patch<Arc<str>>,
}

/// One line of a plan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlanEntry {
    /// What is to be done.
    pub content: String,
    /// `high`, `medium`, `low`; anything else or absent is `medium`.
    pub priority: String,
    /// `pending`, `in_progress`, `completed`, or another word as it came.
    pub status: String,
}

/// The body of a plan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PlanBody {
    /// A list.
    Items(Vec<PlanEntry>),
    /// Free text.
    Markdown(String),
    /// A plan type we do not know, raw.
    Other(Arc<str>),
}

/// A slash command that the agent offers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Command {
    /// Without the slash; may hold spaces.
    pub name: String,
    /// One line.
    pub description: String,
    /// What to type after it.
    pub hint: Option<String>,
}

/// What an agent says of a terminal that it runs itself and that the host only shows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AgentTerminal {
    /// Its name for the agent.
    pub terminal: String,
    /// The command itself.
    pub command: Option<String>,
    /// What the tool call says that it is.
    pub title: Option<String>,
    /// Where it runs.
    pub cwd: Option<PathBuf>,
    /// What happened.
    pub part: TerminalPart,
}

/// See [`AgentTerminal`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TerminalPart {
    /// It is there.
    Info,
    /// Output: the next piece, or all of it so far where the agent sends [`Self::Delta`] as well.
    Output(String),
    /// The next piece of output.
    Delta(String),
    /// It ended.
    Exit(CommandEnd),
}

/// `session/update` of any protocol version, lifted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Update {
    /// Appends to a message.
    Chunk { role: Role, message_id: Option<String>, content: Content },
    /// `tool_call`: creates the card, or replaces it when known.
    ToolCall(ToolPatch),
    /// `tool_call_update`: patches, creates when unknown.
    ToolCallUpdate(ToolPatch),
    /// A terminal that the agent runs itself.
    Terminal(AgentTerminal),
    /// Replaces the plan with that id (`None` is version 1's only plan).
    Plan { id: Option<String>, body: PlanBody },
    /// Removes the plan with that id.
    PlanRemoved { id: String },
    /// Replaces the list of slash commands.
    Commands(Vec<Command>),
    /// The current mode.
    Mode(String),
    /// The complete list of config options, raw JSON array.
    ConfigOptions(Arc<str>),
    /// Session title and the like.
    Info { title: Patch<String> },
    /// Context tokens in use, window size, cost as shown text.
    Usage { used: u64, size: u64, cost: Option<String> },
    /// A live event, not history.
    Notice { severity: String, title: String, description: Option<String> },
    /// A compaction of the context, by id.
    Compaction { id: String, status: Patch<String>, summary: Patch<String>, error: Patch<String> },
    /// Appends to a compaction's summary; creates it when unknown.
    CompactionChunk { id: String, text: String },
    /// A child session's card on its parent.
    Subagent { session: String, title: Patch<String>, description: Patch<String>, state: Patch<String> },
    /// A message between sessions, upserted.
    SessionMessage { id: String, sender: Patch<String>, recipient: Patch<String>, text: Patch<String> },
    /// Appends to a message between sessions.
    SessionMessageChunk { id: String, text: String },
    /// A kind, or a shape of a known kind, that we cannot read: its name and raw JSON.
    Unknown { kind: String, raw: Arc<str> },
}

/// What an option of a permission request would do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OptionKind {
    /// Allow this one.
    AllowOnce,
    /// Allow and remember.
    AllowAlways,
    /// Refuse this one.
    RejectOnce,
    /// Refuse and remember.
    RejectAlways,
    /// Unknown or missing: shown neutrally, never chosen automatically.
    Other(String),
}

impl OptionKind {
    /// The word of the wire and of the Lua API.
    pub fn as_str(&self) -> &str {
        match self {
            OptionKind::AllowOnce => "allow_once",
            OptionKind::AllowAlways => "allow_always",
            OptionKind::RejectOnce => "reject_once",
            OptionKind::RejectAlways => "reject_always",
            OptionKind::Other(s) => s,
        }
    }
    /// Whether choosing it lets the agent go on.
    pub fn allows(&self) -> bool {
        matches!(self, OptionKind::AllowOnce | OptionKind::AllowAlways)
    }
    /// Whether choosing it refuses.
    pub fn rejects(&self) -> bool {
        matches!(self, OptionKind::RejectOnce | OptionKind::RejectAlways)
    }
}

/// An option of a permission request, in the order given.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PermissionOption {
    /// Sent back exactly as given.
    pub id: String,
    /// Shown (escaped).
    pub name: String,
    /// Its meaning.
    pub kind: OptionKind,
}

/// What a session may read and write, as the settings say. Its working directory is a root that can be written.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AccessRules {
    /// Folders beside the working directory.
    pub roots: Vec<RootRule>,
    /// A path outside all roots is asked about; else it is refused.
    pub ask_outside: bool,
    /// Globs of files whose writes are always asked about.
    pub always_ask: Vec<String>,
    /// Globs of files whose reads are asked about.
    pub ask_read: Vec<String>,
    /// A command that no permission covers is asked about; else the agent is trusted to have asked.
    pub ask_commands: bool,
    /// The same for writes.
    pub write_approval: WriteApproval,
}

/// A folder that a session may see.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RootRule {
    /// Absolute.
    pub path: PathBuf,
    /// It may be written too.
    pub write: bool,
}

/// How a process ended, and what it last said on stderr.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Exit {
    /// Exit code, when it exited.
    pub code: Option<i32>,
    /// Signal number, when a signal ended it.
    pub signal: Option<i32>,
    /// Last lines of stderr, oldest first.
    pub stderr: Vec<String>,
    /// Why it could not start, or why we closed it; for a person.
    pub reason: Option<String>,
}

/// What `initialize` told us. An absent capability is off.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AgentInfo {
    /// Title, else name, else empty.
    pub name: String,
    /// As given.
    pub version: String,
    /// The version the agent wants to speak.
    pub protocol_version: u64,
    /// `promptCapabilities.embeddedContext`.
    pub embedded_context: bool,
    /// `promptCapabilities.image`.
    pub image: bool,
    /// `loadSession`.
    pub load_session: bool,
    /// The whole raw `agentCapabilities` object (`"null"` when absent).
    pub capabilities: Arc<str>,
    /// The whole raw `authMethods` array (`"[]"` when absent).
    pub auth_methods: Arc<str>,
}

/// An error as JSON-RPC carries it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RpcError {
    /// JSON-RPC or ACP code.
    pub code: i64,
    /// For a person.
    pub message: String,
    /// Raw JSON.
    pub data: Option<Arc<str>>,
}

impl RpcError {
    /// No such method.
    pub const METHOD_NOT_FOUND: i64 = -32601;
    /// Bad parameters.
    pub const INVALID_PARAMS: i64 = -32602;
    /// Internal error.
    pub const INTERNAL: i64 = -32603;
    /// Request cancelled.
    pub const CANCELLED: i64 = -32800;
    /// Authentication required.
    pub const AUTH_REQUIRED: i64 = -32000;
    /// Resource not found.
    pub const NOT_FOUND: i64 = -32002;

    /// An error without data.
    pub fn new(code: i64, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), data: None }
    }
}

/// What becomes of unsaved text in a session's roots before a prompt.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum UnsavedPolicy {
    /// It goes along where the agent takes embedded text; else the person is asked once.
    #[default]
    Auto,
    /// It goes along with the prompt.
    Embed,
    /// It is saved first.
    Save,
    /// Nothing: agents that read the disk see the older text.
    Leave,
    /// The person is asked once.
    Ask,
}

/// How to start an agent; what a preset comes down to once the editor has resolved it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Launch {
    /// Preset name, shown and logged.
    pub name: String,
    /// Program.
    pub command: String,
    /// Arguments, literal.
    pub args: Vec<String>,
    /// Laid over the inherited environment; `None` removes the variable.
    pub env: Vec<(String, Option<String>)>,
    /// Working directory of the process.
    pub cwd: PathBuf,
    /// How long `initialize` and session setup may take before the person is told.
    pub start_timeout_ms: u64,
    /// What becomes of unsaved text before a prompt.
    pub unsaved: UnsavedPolicy,
}
