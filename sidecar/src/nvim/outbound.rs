//! Commands for Neovim to calls of its API.
//!
//! Owns the encoding, as pure functions that build values. It never sends and never waits. Called by [`super`].
//!
//! Everything of ours is one call of `require('bosun.inbox').recv(NAME, TABLE)`; its return value is not used, because
//! results travel back as notifications, in order with the events of buffers.

use std::path::Path;

use lsp_types::TextEdit;
use rmpv::Value;

use crate::effect::*;
use crate::event::{Form, Stamp};
use crate::model::*;
use crate::workspace::text::push_raw;

/// What runs for each message of ours.
const RECV: &str = "return require('bosun.inbox').recv(...)";
/// Bytes of lines in one message: the RPC crate decodes a message again for each 80 KB of it, and so may others.
const SLICE_BYTES: usize = 64 * 1024;

/// What a call is for; the backlog sorts by it and logs name it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// `nvim_buf_attach`: a refusal means that the buffer is not loaded.
    Attach(BufId),
    /// `nvim_buf_detach`.
    Detach,
    /// A table that replaces the one before: of two that wait, the older says nothing any more.
    Snapshot(&'static str),
    /// Something a person may miss when the editor has been away for long.
    News(&'static str),
    /// Anything else.
    Message(&'static str),
}

impl Kind {
    /// For logs.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Attach(_) => "attach",
            Kind::Detach => "detach",
            Kind::Snapshot(name) | Kind::News(name) | Kind::Message(name) => name,
        }
    }
}

/// One request to Neovim.
#[derive(Clone, Debug, PartialEq)]
pub struct Call {
    /// What for.
    pub kind: Kind,
    /// API function.
    pub method: &'static str,
    /// Its arguments.
    pub args: Vec<Value>,
}

/// The calls that carry out a command, in order. `groups` are the names of the highlight groups that marks may use.
pub fn calls(cmd: NvimCmd, groups: &[&str]) -> Vec<Call> {
    vec![match cmd {
        NvimCmd::Attach { buf } => Call {
            kind: Kind::Attach(buf),
            method: "nvim_buf_attach",
            args: vec![Value::from(buf.0), Value::from(false), Value::Map(Vec::new())],
        },
        NvimCmd::Detach { buf } => {
            let detach =
                Call { kind: Kind::Detach, method: "nvim_buf_detach", args: vec![Value::from(buf.0)] };
            return vec![detach, message("unfollow", vec![("buf", buf.0.into())])];
        }
        NvimCmd::Unsaved { buf, tick } => {
            message("unsaved", vec![("buf", buf.0.into()), ("tick", tick.into())])
        }
        NvimCmd::Unfollow { buf } => message("unfollow", vec![("buf", buf.0.into())]),
        NvimCmd::Diff(texts) => return diff(&texts),
        NvimCmd::Welcome { protocol, version, log } => message(
            "welcome",
            vec![
                ("protocol", protocol.into()),
                ("version", version.into()),
                ("log", path(&log)),
                ("groups", list(groups, |g| Value::from(*g))),
            ],
        ),
        NvimCmd::Slice { buf, start, later } => {
            message("slice", vec![("buf", buf.0.into()), ("start", start.into()), ("later", later.into())])
        }
        NvimCmd::EditOff { buf } => message("edit_off", vec![("buf", buf.0.into())]),
        NvimCmd::Reload { buf } => message("reload", vec![("buf", buf.0.into())]),
        NvimCmd::Edit(call) => message("edit", edit(&call)),
        NvimCmd::Patch(p) => message("patch", patch(p, groups)),
        NvimCmd::Sessions(all) => snapshot("sessions", vec![("list", list(&all, session))]),
        NvimCmd::Questions(all) => snapshot("questions", vec![("list", list(&all, question))]),
        NvimCmd::Groups(pgids) => snapshot("groups", vec![("pgids", list(&pgids, |p| Value::from(*p)))]),
        NvimCmd::Review(file) => message("review", review(&file)),
        NvimCmd::ReviewCounts { files, hunks, sessions } => {
            let of = |(session, files, hunks): &(SessionKey, usize, usize)| {
                map(vec![("session", key(session)), ("files", (*files).into()), ("hunks", (*hunks).into())])
            };
            let fields =
                vec![("files", files.into()), ("hunks", hunks.into()), ("sessions", list(&sessions, of))];
            snapshot("review_counts", fields)
        }
        NvimCmd::Checkpoints { session, asked, list: all } => {
            let of = |c: &CheckpointState| {
                map(vec![
                    ("number", c.number.into()),
                    ("prompt", crate::session::display::one_line(&c.prompt).into()),
                    ("files", list(&c.files, |file| path(file))),
                ])
            };
            let fields = vec![("session", key(&session)), ("asked", asked.into()), ("list", list(&all, of))];
            message("checkpoints", fields)
        }
        NvimCmd::ReviewTexts(t) => message(
            "review_texts",
            vec![
                ("path", path(&t.path)),
                ("buf", optional(t.buf.map(|buf| buf.0))),
                ("base", list(&raw_lines(&t.base), |line| raw_line(line))),
                ("live", list(&raw_lines(&t.live), |line| raw_line(line))),
                ("created", t.created.into()),
            ],
        ),
        NvimCmd::Terminals(all) => snapshot("terminals", vec![("list", list(&all, terminal))]),
        NvimCmd::TerminalFeed { terminal, piece } => message(
            "terminal_feed",
            vec![
                ("terminal", terminal.0.into()),
                ("seq", piece.seq.into()),
                ("reset", piece.reset.into()),
                ("bytes", Value::Binary(piece.bytes)),
            ],
        ),
        NvimCmd::TerminalShow { terminal } => message("terminal_show", vec![("terminal", terminal.0.into())]),
        NvimCmd::UserEvent { name, data } => {
            news("user_event", vec![("name", name.into()), ("data", json(data))])
        }
        NvimCmd::Notify { level, text } => {
            news("notify", vec![("level", level.into()), ("text", text.into())])
        }
        NvimCmd::SaveBuffers { save, bufs } => {
            message("save_buffers", vec![("save", save.into()), ("bufs", list(&bufs, |b| Value::from(b.0)))])
        }
        NvimCmd::PromptReturned { session, text, why } => message(
            "prompt_returned",
            vec![("session", key(&session)), ("text", text.into()), ("why", why.into())],
        ),
    }]
}

type Fields = Vec<(&'static str, Value)>;

fn recv(kind: Kind, fields: Fields) -> Call {
    let args = Value::Array(vec![Value::from(kind.name()), map(fields)]);
    Call { kind, method: "nvim_exec_lua", args: vec![Value::from(RECV), args] }
}

fn message(name: &'static str, fields: Fields) -> Call {
    recv(Kind::Message(name), fields)
}

fn snapshot(name: &'static str, fields: Fields) -> Call {
    recv(Kind::Snapshot(name), fields)
}

fn news(name: &'static str, fields: Fields) -> Call {
    recv(Kind::News(name), fields)
}

fn map(fields: Fields) -> Value {
    // A nil would come as `vim.NIL`, which is true in Lua.
    let there = fields.into_iter().filter(|(_, v)| !v.is_nil());
    Value::Map(there.map(|(k, v)| (Value::from(k), v)).collect())
}

fn list<T>(items: &[T], value: impl Fn(&T) -> Value) -> Value {
    Value::Array(items.iter().map(value).collect())
}

fn strings(items: &[String]) -> Value {
    list(items, |s| Value::from(s.as_str()))
}

/// Nil fields are simply absent in a Lua table.
fn optional<T: Into<Value>>(value: Option<T>) -> Value {
    value.map_or(Value::Nil, Into::into)
}

fn terminal(t: &TerminalState) -> Value {
    map(vec![
        ("id", t.terminal.0.into()),
        ("session", key(&t.session)),
        ("command", crate::session::display::one_line(&t.line).into()),
        ("cwd", path(&t.cwd)),
        ("state", if t.end.is_some() { "exited" } else { "running" }.into()),
        ("code", optional(t.end.as_ref().and_then(CommandEnd::told).map(Value::from))),
        ("signal", optional(t.end.as_ref().and_then(|end| end.signal.clone()).map(Value::from))),
        ("seconds", t.seconds.into()),
        ("bytes", t.bytes.into()),
        ("agent_only", t.agent_only.into()),
    ])
}

fn key(session: &SessionKey) -> Value {
    Value::from(&*session.0)
}

/// Byte for byte: Neovim takes msgpack's binary type for a string.
fn path(path: &Path) -> Value {
    use std::os::unix::ffi::OsStrExt;
    match path.to_str() {
        Some(text) => text.into(),
        None => Value::Binary(path.as_os_str().as_bytes().to_vec()),
    }
}

fn json(value: serde_json::Value) -> Value {
    use serde_json::Value as Json;
    match value {
        Json::Null => Value::Nil,
        Json::Bool(b) => b.into(),
        Json::Number(n) => match (n.as_u64(), n.as_i64()) {
            (Some(u), _) => u.into(),
            (_, Some(i)) => i.into(),
            _ => n.as_f64().unwrap_or_default().into(),
        },
        Json::String(s) => s.into(),
        Json::Array(items) => Value::Array(items.into_iter().map(json).collect()),
        Json::Object(fields) => {
            Value::Map(fields.into_iter().map(|(k, v)| (Value::from(k), json(v))).collect())
        }
    }
}

fn edit(call: &EditCall) -> Fields {
    vec![
        ("op", call.op.0.into()),
        ("buf", call.buf.0.into()),
        ("tick", call.tick.into()),
        ("through", list(&call.through, text_edit)),
        ("edits", list(&call.edits, text_edit)),
        ("eol", call.eol.into()),
        ("empty", call.empty.into()),
        ("save", call.save.into()),
        ("disk", optional(call.disk.map(stamp))),
        ("clean", optional(call.clean.as_ref().map(form))),
        ("recreate", call.recreate.into()),
    ]
}

fn stamp(s: Stamp) -> Value {
    map(vec![("sec", s.sec.into()), ("nsec", s.nsec.into()), ("size", s.size.into())])
}

/// What a buffer's options say of it.
fn form(f: &Form) -> Value {
    let format = if f.crlf { "dos" } else { "unix" };
    map(vec![("fileformat", format.into()), ("bomb", f.bom.into())])
}

/// An edit of whole lines says so: without that, inserting the line `x` and inserting the text `x` at the start of a
/// line would look the same. NUL stays NUL: that is how Neovim's API takes it. The text comes escaped as a rope's.
fn text_edit(edit: &TextEdit) -> Value {
    let (start, end) = (edit.range.start, edit.range.end);
    let whole = start.character == 0
        && end.character == 0
        && if edit.new_text.is_empty() { start.line != end.line } else { edit.new_text.ends_with('\n') };
    // A line may hold bytes that are not UTF-8; msgpack's binary type is a string for Neovim too.
    let raw = |line: &str| {
        let mut bytes = Vec::with_capacity(line.len());
        push_raw(&mut bytes, line);
        String::from_utf8(bytes).map_or_else(|e| Value::Binary(e.into_bytes()), Value::from)
    };
    let lines = if whole {
        list(&lines(&edit.new_text), |l| raw(l))
    } else {
        Value::Array(edit.new_text.split('\n').map(raw).collect())
    };
    map(vec![
        ("whole", whole.into()),
        ("sl", start.line.into()),
        ("sc", start.character.into()),
        ("el", end.line.into()),
        ("ec", end.character.into()),
        ("lines", lines),
    ])
}

/// Lines of a text whose last newline ends its last line.
fn lines(text: &str) -> Vec<&str> {
    if text.is_empty() { Vec::new() } else { text.strip_suffix('\n').unwrap_or(text).split('\n').collect() }
}

fn patch(patch: ViewPatch, groups: &[&str]) -> Fields {
    // A line with a break in it would make Neovim refuse the whole patch, and the transcript would stand still.
    let line = |l: &String| match l.contains('\n') {
        false => Value::from(l.as_str()),
        true => Value::from(l.replace('\n', " ")),
    };
    let marks = patch.marks.iter().filter_map(|m| {
        let group = groups.iter().position(|g| *g == m.group)? + 1;
        Some([m.row, m.col, m.end, group])
    });
    let question = |(id, first, last): &(QuestionId, usize, usize)| {
        map(vec![("id", id.0.into()), ("first", (*first).into()), ("last", (*last).into())])
    };
    vec![
        ("session", key(&patch.session)),
        ("buf", patch.buf.0.into()),
        ("version", patch.version.into()),
        ("first", patch.first.into()),
        ("last", patch.last.into()),
        ("lines", list(&patch.lines, line)),
        ("marks", Value::Array(marks.flatten().map(Value::from).collect())),
        ("questions", list(&patch.questions, question)),
    ]
}

fn session(s: &SessionState) -> Value {
    let command = |(name, description, hint): &(String, String, Option<String>)| {
        map(vec![
            ("name", name.as_str().into()),
            ("description", description.as_str().into()),
            ("hint", optional(hint.as_deref())),
        ])
    };
    let usage = s.usage.map(|(used, size)| map(vec![("used", used.into()), ("size", size.into())]));
    map(vec![
        ("id", key(&s.id)),
        ("agent", s.agent.as_str().into()),
        ("agent_info", s.agent_info.as_str().into()),
        ("title", s.title.as_str().into()),
        ("cwd", path(&s.cwd)),
        ("state", s.state.into()),
        ("queue", strings(&s.queue)),
        ("usage", optional(usage)),
        ("cost", optional(s.cost.as_deref())),
        ("mode", optional(s.mode.as_deref())),
        ("commands", list(&s.commands, command)),
        ("turn", s.turn.into()),
        ("cause", optional(s.cause.as_deref())),
    ])
}

fn question(q: &QuestionState) -> Value {
    let option = |o: &PermissionOption| {
        map(vec![
            ("id", o.id.as_str().into()),
            ("name", o.name.as_str().into()),
            ("kind", o.kind.as_str().into()),
        ])
    };
    map(vec![
        ("id", q.id.0.into()),
        ("session", key(&q.session)),
        ("title", q.title.as_str().into()),
        ("body", strings(&q.body)),
        ("options", list(&q.options, option)),
        ("files", strings(&q.files)),
        ("merge", q.merge.into()),
        ("write", optional(q.write.map(|op| op.0))),
    ])
}

/// The head, each side in slices, and the end. A side that an open buffer shows is not sent. In a merge `new` is the
/// result, and what both sides started from and the other side are sent too.
fn diff(d: &DiffTexts) -> Vec<Call> {
    let merge = d.merge.as_ref();
    let ours = merge.map_or(d.old.as_bytes(), |merge| &merge.ours);
    let result = merge.map_or(d.new.as_bytes(), |merge| &merge.result);
    let old = if d.buf.is_some() { Vec::new() } else { raw_lines(ours) };
    let new = raw_lines(result);
    let id = || vec![("question", Value::from(d.question.0)), ("index", Value::from(d.index))];
    let mut head = id();
    head.extend([
        ("count", d.count.into()),
        ("path", d.path.as_str().into()),
        ("buf", optional(d.buf.map(|b| b.0))),
        ("old_total", old.len().into()),
        ("new_total", new.len().into()),
        ("note", optional(d.note.as_deref())),
        ("editable", d.editable.into()),
        ("eol", (result.is_empty() || result.ends_with(b"\n")).into()),
    ]);
    let mut sides = vec![("old", old)];
    if let Some(merge) = merge {
        let span = |(first, last): &(usize, usize)| Value::Array(vec![(*first).into(), (*last).into()]);
        head.extend([
            ("merge", true.into()),
            ("from_disk", merge.from_disk.into()),
            ("conflicts", list(&merge.conflicts, span)),
        ]);
        sides.push(("base", raw_lines(&merge.base)));
        sides.push(("theirs", raw_lines(&merge.theirs)));
    }
    sides.push(("new", new));
    let mut out = vec![message("diff", head)];
    for (side, lines) in &sides {
        let mut start = 0;
        while start < lines.len() {
            let slice = slice(&lines[start..]);
            let mut fields = id();
            fields.extend([
                ("side", (*side).into()),
                ("start", start.into()),
                ("lines", list(slice, |l| raw_line(l))),
            ]);
            out.push(message("diff_lines", fields));
            start += slice.len();
        }
    }
    out.push(message("diff_done", id()));
    out
}

fn review(file: &ReviewFile) -> Vec<(&'static str, Value)> {
    let words = |words: &[(usize, usize, usize)]| {
        list(words, |(line, from, to)| Value::Array(vec![(*line).into(), (*from).into(), (*to).into()]))
    };
    let hunk = |h: &ReviewHunk| {
        map(vec![
            ("id", h.id.into()),
            ("session", h.session.as_str().into()),
            ("turn", h.turn.into()),
            ("author", if h.unknown { "unknown" } else { "agent" }.into()),
            ("first", h.first.into()),
            ("last", h.last.into()),
            ("removed", list(&h.removed, |line| raw_line(line))),
            ("live_words", words(&h.live_words)),
            ("removed_words", words(&h.removed_words)),
        ])
    };
    vec![
        ("path", path(&file.path)),
        ("buf", optional(file.buf.map(|(buf, _)| buf.0))),
        ("tick", file.buf.map_or(0, |(_, tick)| tick).into()),
        ("created", file.created.into()),
        ("gone", file.hunks.is_empty().into()),
        ("hunks", list(&file.hunks, hunk)),
    ]
}

/// Like [`lines`], of a text that may not be UTF-8.
fn raw_lines(text: &[u8]) -> Vec<&[u8]> {
    if text.is_empty() {
        return Vec::new();
    }
    text.strip_suffix(b"\n").unwrap_or(text).split(|byte| *byte == b'\n').collect()
}

/// Neovim takes msgpack's binary type for a string.
fn raw_line(line: &[u8]) -> Value {
    std::str::from_utf8(line).map_or_else(|_| Value::Binary(line.to_vec()), Value::from)
}

/// As many lines as fit, at least one.
fn slice<'a, 'b>(lines: &'a [&'b [u8]]) -> &'a [&'b [u8]] {
    let mut bytes = 0;
    let fit = lines.iter().take_while(|l| {
        bytes += l.len() + 1;
        bytes <= SLICE_BYTES
    });
    let count = fit.count().max(1).min(lines.len());
    &lines[..count]
}

#[cfg(test)]
mod tests;
