//! Notifications of Neovim to events.
//!
//! Owns the decoding. It never sends, never panics and never drops a byte of a line. Called by the handler in [`super`]
//! for each notification, in wire order.

use rmpv::Value;

use super::table::{self, Malformed, Table};
use crate::event::*;
use crate::model::*;

/// What a notification says. `Err` is to be logged and passed over.
pub fn decode(method: &str, args: Vec<Value>) -> Result<NvimEvent, Malformed> {
    let mut args = args.into_iter();
    let mut next = || args.next().unwrap_or(Value::Nil);
    match method {
        "bosun" => {
            let (name, body) = (next(), next());
            let name = name.as_str().ok_or(Malformed::Wrong("name", "a string"))?;
            message(name, Table::from(body, "message")?)
        }
        "nvim_buf_lines_event" => Ok(NvimEvent::BufLines {
            buf: handle(next())?,
            tick: table::uint(&next()),
            first: index(&next(), "first")?,
            last: match next() {
                v if v.as_i64() == Some(-1) => None,
                v => Some(index(&v, "last")?),
            },
            lines: match next() {
                Value::Array(items) => table::lines(items, "lines")?,
                _ => return Err(Malformed::Wrong("lines", "a list")),
            },
            more: next().as_bool().unwrap_or(false),
        }),
        "nvim_buf_changedtick_event" => Ok(NvimEvent::BufTick {
            buf: handle(next())?,
            tick: table::uint(&next()).ok_or(Malformed::Wrong("tick", "a whole number"))?,
        }),
        "nvim_buf_detach_event" => Ok(NvimEvent::BufDetached { buf: handle(next())? }),
        _ => Err(Malformed::Unknown),
    }
}

/// A buffer in an event of Neovim's own: an extension type that holds a packed number.
fn handle(value: Value) -> Result<BufId, Malformed> {
    let number = match &value {
        Value::Ext(_, bytes) => rmpv::decode::read_value(&mut bytes.as_slice()).ok().and_then(|v| v.as_i64()),
        other => other.as_i64(),
    };
    number.map(BufId).ok_or(Malformed::Wrong("buf", "a buffer"))
}

fn index(value: &Value, name: &'static str) -> Result<usize, Malformed> {
    table::uint(value).and_then(|n| usize::try_from(n).ok()).ok_or(Malformed::Wrong(name, "a line number"))
}

fn message(name: &str, mut t: Table) -> Result<NvimEvent, Malformed> {
    let event = match name {
        "hello" => NvimEvent::Hello(Hello {
            protocol: t.uint("protocol")?,
            editor: t.text_or_empty("editor")?,
            log_dir: t.path("log_dir")?,
            max_buf_bytes: t.uint("max_buf_bytes")?,
            max_terminal_bytes: t.uint("max_terminal_bytes")?,
            encodings: t.texts("encodings")?,
            swap_dirs: t.texts("swap_dirs")?,
            server: t.text_or_empty("server")?,
            save: match t.text_or_empty("save")?.as_str() {
                "never" => Save::Never,
                "if_clean" => Save::IfClean,
                _ => Save::Always,
            },
        }),
        "buf_meta" => NvimEvent::BufMeta(buf_meta(t)?),
        "buf_closed" => NvimEvent::BufClosed { buf: buf(&mut t)? },
        "slice" => NvimEvent::Slice {
            buf: buf(&mut t)?,
            tick: t.uint("tick")?,
            start: t.index("start")?,
            total: t.index("total")?,
            lines: t.lines("lines")?,
            empty: t.flag("empty")?,
        },
        "edit_done" => NvimEvent::EditDone { op: OpId(t.uint("op")?), outcome: outcome(t)? },
        "safe" => NvimEvent::Safe { buf: buf(&mut t)? },
        "disk_changed" => NvimEvent::DiskChanged { buf: buf(&mut t)? },
        "typed" => NvimEvent::Typed,
        "saved" => saved(t)?,
        "terminal_view" => NvimEvent::TerminalView {
            terminal: terminal(&mut t)?,
            shown: t.flag("shown")?,
            rows: cells(&mut t, "rows")?,
            cols: cells(&mut t, "cols")?,
        },
        "terminal_ack" => NvimEvent::TerminalAck { terminal: terminal(&mut t)?, seq: t.uint("seq")? },
        "terminal_input" => NvimEvent::TerminalInput { terminal: terminal(&mut t)?, data: t.bytes("data")? },
        "terminal_stop" | "terminal_wiped" => NvimEvent::TerminalStop { terminal: terminal(&mut t)? },
        "view_ack" => NvimEvent::ViewAck { session: session(&mut t)?, version: t.uint("version")? },
        _ => NvimEvent::Action(action(name, t)?),
    };
    Ok(event)
}

fn action(name: &str, mut t: Table) -> Result<Action, Malformed> {
    Ok(match name {
        "new_session" => Action::NewSession {
            session: session(&mut t)?,
            cwd: t.path("cwd")?,
            launch: launch(t.table("launch")?)?,
            access: access(t.table("access")?)?,
        },
        "prompt" => {
            let context = t.list("context")?.into_iter().map(context_item).collect::<Result<_, _>>()?;
            Action::Prompt { session: session(&mut t)?, text: t.text("text")?, context }
        }
        "cancel" => Action::Cancel { session: session(&mut t)? },
        "close" => Action::Close { session: session(&mut t)? },
        "answer" => Action::Answer {
            question: question(&mut t)?,
            option: t.text("option")?,
            why: t.maybe_text("why")?.unwrap_or_default(),
        },
        "answer_edited" => {
            let files = t.list("files")?.into_iter().map(edited_file).collect::<Result<_, _>>()?;
            Action::AnswerEdited { question: question(&mut t)?, files }
        }
        "answer_text" => {
            Action::AnswerText { question: question(&mut t)?, lines: t.lines("lines")?, eol: t.flag("eol")? }
        }
        "review_verdict" => Action::Review(verdict(&mut t)?),
        "checkpoints" => Action::Checkpoints { session: session(&mut t)? },
        "restore" => Action::Restore { session: session(&mut t)?, number: t.maybe_uint("number")? },
        "review_undo" => Action::ReviewUndo,
        "review_texts" => Action::ReviewTexts { path: t.path("path")? },
        "review_committed" => Action::ReviewCommitted { path: t.path("path")?, text: t.bytes("text")? },
        "show_diff" => Action::ShowDiff { question: question(&mut t)?, index: t.index("index")? },
        "view_open" => Action::ViewOpen { session: session(&mut t)?, buf: buf(&mut t)? },
        "view_close" => Action::ViewClose { session: session(&mut t)? },
        "view_toggle" => Action::ViewToggle { session: session(&mut t)?, line: t.index("line")? },
        _ => return Err(Malformed::Unknown),
    })
}

fn verdict(t: &mut Table) -> Result<ReviewVerdict, Malformed> {
    let keep = match t.text("verdict")?.as_str() {
        "keep" => true,
        "reject" => false,
        _ => return Err(Malformed::Wrong("verdict", "keep or reject")),
    };
    let scope = match t.text("scope")?.as_str() {
        "hunk" => match t.maybe_uint("id")? {
            Some(id) => ReviewScope::Hunk { path: t.path("path")?, id },
            None => {
                ReviewScope::Lines { path: t.path("path")?, first: t.index("first")?, last: t.index("last")? }
            }
        },
        "file" => ReviewScope::File { path: t.path("path")? },
        "turn" => {
            let turn = t.maybe_uint("turn")?.and_then(|turn| u32::try_from(turn).ok());
            ReviewScope::Turn { session: session(t)?, turn }
        }
        "session" => ReviewScope::Session { session: session(t)? },
        "all" => ReviewScope::All,
        _ => return Err(Malformed::Wrong("scope", "hunk, file, turn, session or all")),
    };
    Ok(ReviewVerdict { keep, scope })
}

fn edited_file(value: Value) -> Result<(usize, EditedText), Malformed> {
    let mut t = Table::from(value, "file")?;
    let mut text = |lines, eol| Ok(Text { lines: t.lines(lines)?, eol: t.flag(eol)? });
    let edit = EditedText { from: text("from", "from_eol")?, to: text("to", "to_eol")? };
    Ok((t.index("index")?, edit))
}

fn buf(t: &mut Table) -> Result<BufId, Malformed> {
    t.buf("buf").map(BufId)
}

fn session(t: &mut Table) -> Result<SessionKey, Malformed> {
    Ok(SessionKey::new(&t.text("session")?))
}

fn terminal(t: &mut Table) -> Result<TerminalId, Malformed> {
    t.uint("terminal").map(TerminalId)
}

fn cells(t: &mut Table, name: &'static str) -> Result<u16, Malformed> {
    Ok(u16::try_from(t.uint(name)?).unwrap_or(u16::MAX))
}

fn question(t: &mut Table) -> Result<QuestionId, Malformed> {
    t.uint("question").map(QuestionId)
}

fn buf_meta(mut t: Table) -> Result<BufMeta, Malformed> {
    Ok(BufMeta {
        buf: t.buf("buf")?,
        // No agent can say a name that is not UTF-8, and a similar name would be another file: it counts as unnamed.
        name: String::from_utf8(t.bytes("name")?).unwrap_or_default(),
        tick: t.uint("tick")?,
        modified: t.flag("modified")?,
        visible: t.flag("visible")?,
        fileformat: t.text_or_empty("fileformat")?,
        fileencoding: t.text_or_empty("fileencoding")?,
        bomb: t.flag("bomb")?,
        eol: t.flag("eol")?,
        buftype: t.text_or_empty("buftype")?,
        stamp: stamp(&mut t)?,
        lines: t.uint("lines")?,
        bytes: t.uint("bytes")?,
    })
}

/// `sec`, `nsec` and `size`, all or none.
fn stamp(t: &mut Table) -> Result<Option<Stamp>, Malformed> {
    let Some(sec) = t.maybe_uint("sec")? else { return Ok(None) };
    let nsec = u32::try_from(t.uint("nsec")?).map_err(|_| Malformed::Wrong("nsec", "nanoseconds"))?;
    Ok(Some(Stamp { sec: sec.cast_signed(), nsec, size: t.uint("size")? }))
}

fn outcome(mut t: Table) -> Result<EditOutcome, Malformed> {
    Ok(match t.text("kind")?.as_str() {
        "done" => EditOutcome::Done {
            tick: t.uint("tick")?,
            saved: t.flag("saved")?,
            modified: t.flag("modified")?,
            stamp: stamp(&mut t)?,
        },
        "disk" => EditOutcome::Disk { gone: t.flag("gone")? },
        "stale" => EditOutcome::Stale { tick: t.uint("tick")? },
        "busy" => EditOutcome::Busy { mode: t.text_or_empty("mode")? },
        "not_saved" => EditOutcome::NotSaved { tick: t.uint("tick")?, message: t.text_or_empty("message")? },
        "failed" => EditOutcome::Failed { message: t.text_or_empty("message")? },
        _ => return Err(Malformed::Wrong("kind", "an outcome of an edit")),
    })
}

fn launch(mut t: Table) -> Result<Launch, Malformed> {
    let variable = |v| {
        let mut t = Table::from(v, "env")?;
        Ok((t.text("name")?, t.maybe_text("value")?))
    };
    Ok(Launch {
        name: t.text("name")?,
        command: t.text("command")?,
        args: t.texts("args")?,
        env: t.list("env")?.into_iter().map(variable).collect::<Result<_, _>>()?,
        cwd: t.path("cwd")?,
        start_timeout_ms: t.uint("start_timeout_ms")?,
        unsaved: unsaved(t.maybe_text("unsaved")?.as_deref())?,
    })
}

fn unsaved(word: Option<&str>) -> Result<UnsavedPolicy, Malformed> {
    Ok(match word {
        None | Some("auto") => UnsavedPolicy::Auto,
        Some("embed") => UnsavedPolicy::Embed,
        Some("save") => UnsavedPolicy::Save,
        Some("leave") => UnsavedPolicy::Leave,
        Some("ask") => UnsavedPolicy::Ask,
        Some(_) => return Err(Malformed::Wrong("unsaved", "a setting for unsaved text")),
    })
}

/// What came of a wish to save: `failed` holds a buffer and a message each.
fn saved(mut t: Table) -> Result<NvimEvent, Malformed> {
    let failure = |v| {
        let mut t = Table::from(v, "failed")?;
        Ok((buf(&mut t)?, t.text_or_empty("message")?))
    };
    let failed = t.list("failed")?.into_iter().map(failure).collect::<Result<_, _>>()?;
    Ok(NvimEvent::Saved { save: t.uint("save")?, failed, busy: t.flag("busy")? })
}

/// What is absent allows nothing.
fn access(mut t: Table) -> Result<AccessRules, Malformed> {
    let root = |v| {
        let mut t = Table::from(v, "roots")?;
        Ok(RootRule { path: t.path("path")?, write: t.flag("write")? })
    };
    Ok(AccessRules {
        roots: t.list("roots")?.into_iter().map(root).collect::<Result<_, _>>()?,
        ask_outside: t.flag("ask_outside")?,
        ask_commands: t.flag("ask_commands")?,
        write_approval: match t.text("write_approval")?.as_str() {
            "agent" => WriteApproval::Agent,
            "review" => WriteApproval::Review,
            _ => WriteApproval::Ask,
        },
        always_ask: t.texts("always_ask")?,
        ask_read: t.texts("ask_read")?,
    })
}

fn context_item(value: Value) -> Result<ContextItem, Malformed> {
    let mut t = Table::from(value, "context")?;
    match t.text("kind")?.as_str() {
        "file" => {
            Ok(ContextItem::File { buf: buf(&mut t)?, path: t.text("path")?, line: t.maybe_uint("line")? })
        }
        "selection" => Ok(ContextItem::Selection {
            buf: buf(&mut t)?,
            path: t.text("path")?,
            first: t.uint("first")?,
            last: t.uint("last")?,
            text: t.text("text")?,
        }),
        _ => Err(Malformed::Wrong("kind", "`file` or `selection`")),
    }
}

#[cfg(test)]
mod tests;
