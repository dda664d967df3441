//! The room played on data: events in, effects and answers out.
//!
//! `Desk` is a room with a disk and an editor of paper around it. The disk answers at once unless it is held; the editor
//! keeps lines and ticks, and does an edit only when a test says so. Everything the room wants is logged as a line.

use std::collections::{BTreeMap, VecDeque};
use std::path::{Path, PathBuf};

use expect_test::Expect;
use tokio::sync::mpsc;

use super::*;
use lsp_types::TextEdit;

use crate::effect::{EditCall, NvimCmd};
use crate::event::{DiskText, Form, PathKind, Resolved, Stamp};
use crate::reply::Reply;

mod admitting;
mod attaching;
mod diffs;
mod following;
mod merging;
mod reading;
mod writing;
mod writing_odd;

/// A buffer of the paper editor.
#[derive(Default)]
struct Paper {
    lines: Vec<Vec<u8>>,
    tick: u64,
    meta: BufMeta,
}

pub(super) struct Desk {
    pub(super) ws: Workspace,
    pub(super) session: SessionKey,
    log: String,
    /// What landed, a line each.
    landed: Vec<String>,
    pub(super) clock: u64,
    /// What the disk edge is to keep.
    pub(super) kept: Vec<crate::effect::KeepCmd>,
    pub(super) files: BTreeMap<PathBuf, Result<DiskText, DiskError>>,
    links: Vec<(PathBuf, PathBuf)>,
    bufs: BTreeMap<i64, Paper>,
    pub(super) held: Option<VecDeque<(OpId, DiskCmd)>>,
    pub(super) edits: VecDeque<EditCall>,
    asked: VecDeque<OpId>,
    swap: Option<crate::event::SwapOwner>,
    answers: (mpsc::UnboundedSender<crate::reply::Answer>, mpsc::UnboundedReceiver<crate::reply::Answer>),
    calls: u32,
}

fn text(text: &str) -> DiskText {
    DiskText { text: text.into(), form: Form::default(), stamp: stamp(1) }
}

/// The `n`th stamp that a file had.
fn stamp(n: i64) -> Stamp {
    Stamp { sec: n, ..Stamp::default() }
}

fn lines_of(text: &str) -> Vec<Vec<u8>> {
    text.split_inclusive('\n')
        .map(|l| l.strip_suffix('\n').unwrap_or(l).replace('\0', "\n").into_bytes())
        .collect()
}

impl Desk {
    /// One session, `s`, whose root is `/p`.
    pub(super) fn new() -> Self {
        let session = SessionKey::new("s");
        let mut ws = Workspace::new(&Hello { max_buf_bytes: 1000, ..Hello::default() });
        assert!(ws.add_root(&session, "/p".into()).is_empty());
        Self {
            ws,
            session,
            log: String::new(),
            landed: Vec::new(),
            clock: 0,
            kept: Vec::new(),
            files: BTreeMap::new(),
            links: Vec::new(),
            bufs: BTreeMap::new(),
            held: None,
            edits: VecDeque::new(),
            asked: VecDeque::new(),
            swap: None,
            answers: mpsc::unbounded_channel(),
            calls: 0,
        }
    }

    pub(super) fn file(&mut self, path: &str, content: &str) -> &mut Self {
        let before = self.files.get(Path::new(path)).and_then(|f| Some(f.as_ref().ok()?.stamp.sec));
        let stamp = stamp(before.unwrap_or(0) + 1);
        self.files.insert(path.into(), Ok(DiskText { stamp, ..text(content) }));
        self
    }

    pub(super) fn on_disk(&self, path: &str) -> &str {
        std::str::from_utf8(&self.files[Path::new(path)].as_ref().unwrap().text).unwrap()
    }

    /// Loads a buffer, and answers all the room asks about it.
    pub(super) fn open(&mut self, buf: i64, path: &str, content: &str) -> &mut Self {
        self.announce(buf, path, content);
        self.fill();
        self.log.clear();
        self
    }

    /// Loads a buffer; slices are for the test to send.
    pub(super) fn announce(&mut self, buf: i64, path: &str, content: &str) -> &mut Self {
        let paper = self.bufs.entry(buf).or_default();
        paper.lines = lines_of(content);
        paper.tick += 3;
        paper.meta = BufMeta {
            buf,
            name: path.into(),
            tick: paper.tick,
            fileformat: "unix".into(),
            eol: content.is_empty() || content.ends_with('\n'),
            bytes: content.len() as u64,
            stamp: self.files.get(Path::new(path)).and_then(|f| Some(f.as_ref().ok()?.stamp)),
            ..BufMeta::default()
        };
        self.meta(buf, |_| ())
    }

    fn meta(&mut self, buf: i64, change: impl FnOnce(&mut BufMeta)) -> &mut Self {
        let paper = self.bufs.get_mut(&buf).unwrap();
        change(&mut paper.meta);
        paper.meta.tick = paper.tick;
        let effects = self.ws.buf_meta(paper.meta.clone());
        self.run(effects);
        self
    }

    /// Sends slices of two lines until the room is content.
    fn fill(&mut self) {
        for _ in 0..200 {
            let last = std::mem::take(&mut self.log);
            let wanted: Vec<(i64, usize)> = last
                .lines()
                .filter_map(|l| l.strip_prefix("slice "))
                .map(|l| {
                    let mut words = l.split(' ');
                    (words.next().unwrap().parse().unwrap(), words.nth(1).unwrap().parse().unwrap())
                })
                .collect();
            for line in last.lines().filter(|l| !l.starts_with("slice ")) {
                self.log += &format!("{line}\n");
            }
            if wanted.is_empty() {
                return;
            }
            for (buf, start) in wanted {
                self.slice(buf, start);
            }
        }
        panic!("the fill does not end");
    }

    fn slice(&mut self, buf: i64, start: usize) -> &mut Self {
        let Some(p) = self.bufs.get(&buf) else { return self };
        let id = BufId(buf);
        let effects = if p.lines.is_empty() {
            self.ws.slice(id, p.tick, start, 1, &[vec![]], true)
        } else {
            let end = p.lines.len().min(start + 2);
            self.ws.slice(id, p.tick, start, p.lines.len(), &p.lines[start.min(end)..end], false)
        };
        self.run(effects);
        self
    }

    /// The person, or a formatter, changes lines.
    pub(super) fn change(&mut self, buf: i64, first: usize, last: usize, lines: &[&str]) -> &mut Self {
        let lines = lines.iter().map(|l| l.as_bytes().to_vec()).collect();
        self.change_bytes(buf, first, last, lines)
    }

    fn change_bytes(&mut self, buf: i64, first: usize, last: usize, lines: Vec<Vec<u8>>) -> &mut Self {
        let p = self.bufs.get_mut(&buf).unwrap();
        if p.lines.is_empty() {
            p.lines.push(vec![]);
        }
        p.lines.splice(first..last, lines.iter().cloned());
        p.tick += 1;
        let tick = Some(p.tick);
        let effects = self.ws.buf_lines(BufId(buf), tick, first, Some(last), &lines, false);
        self.run(effects);
        self
    }

    /// The editor carries out the oldest edit it was given, and saves.
    pub(super) fn land(&mut self) -> String {
        let call = self.edit_without_answer();
        let p = self.bufs.get_mut(&call.buf.0).unwrap();
        p.tick += 1;
        let (tick, name) = (p.tick, PathBuf::from(&p.meta.name));
        let stamp = match call.save {
            true => self.files.get(&name).map(|f| f.as_ref().unwrap().stamp),
            false => call.disk,
        };
        let modified = !call.save && call.clean.is_none();
        self.outcome(call.op, EditOutcome::Done { tick, saved: call.save, modified, stamp })
    }

    fn edit_without_answer(&mut self) -> EditCall {
        let call = self.edits.pop_front().expect("an edit");
        let buf = call.buf.0;
        assert_eq!(call.tick, self.bufs[&buf].tick, "the tick it was computed for");
        for e in call.through.iter().rev().chain(call.edits.iter().rev()) {
            let (s, t) = (e.range.start, e.range.end);
            let (first, last) = (s.line as usize, t.line as usize);
            let raw = |text: &str| text::line_bytes(text);
            if e.new_text.ends_with('\n') || first != last {
                let lines = e.new_text.split_inclusive('\n').map(|l| raw(l.trim_end_matches('\n'))).collect();
                self.change_bytes(buf, first, last, lines);
            } else {
                let mut line = self.bufs[&buf].lines[first].clone();
                line.splice(s.character as usize..t.character as usize, raw(&e.new_text));
                self.change_bytes(buf, first, first + 1, vec![line]);
            }
        }
        let p = &self.bufs[&buf];
        assert_eq!(p.lines.is_empty(), call.empty);
        if let Ok(file) = self.files.entry(p.meta.name.clone().into()).or_insert(Ok(text(""))) {
            let lines: Vec<_> =
                p.lines.iter().map(|l| String::from_utf8_lossy(l).replace('\n', "\0")).collect();
            if call.save {
                let text = lines.join("\n") + if call.eol && !lines.is_empty() { "\n" } else { "" };
                file.text = text.into_bytes();
                file.stamp.sec += 1;
            }
        }
        call
    }

    pub(super) fn outcome(&mut self, op: OpId, outcome: EditOutcome) -> String {
        let effects = self.ws.edit_done(op, outcome);
        self.take(effects)
    }

    fn reply(&mut self) -> Reply {
        self.calls += 1;
        Reply::new(WireId(self.calls.to_string().into()), self.answers.0.clone())
    }

    fn read_part(&mut self, path: &str, line: Option<u64>, limit: Option<u64>) -> String {
        let (session, reply) = (self.session.clone(), self.reply());
        let effects = self.ws.read(&session, path.into(), line, limit, reply);
        self.take(effects)
    }

    pub(super) fn read(&mut self, path: &str) -> String {
        self.read_part(path, None, None)
    }

    pub(super) fn write(&mut self, path: &str, content: &str) -> String {
        let (session, reply) = (self.session.clone(), self.reply());
        let effects = self.ws.write(&session, path.into(), content.into(), reply);
        self.take(effects)
    }

    fn verdict(&mut self, allow: bool) -> String {
        let op = self.asked.pop_front().expect("a question");
        let verdict = if allow { Verdict::Allow } else { Verdict::Reject };
        let effects = self.ws.decide(op, verdict);
        self.take(effects)
    }

    pub(super) fn allow(&mut self) -> String {
        self.verdict(true)
    }

    /// Write, allow, land: what was answered.
    pub(super) fn write_through(&mut self, path: &str, content: &str) -> String {
        self.write(path, content);
        self.allow();
        self.land()
    }

    pub(super) fn take(&mut self, effects: Vec<Effect>) -> String {
        self.log.clear();
        self.run(effects);
        std::mem::take(&mut self.log)
    }

    /// The held disk commands, in the given order.
    pub(super) fn release(&mut self, order: &[usize]) -> String {
        let held: Vec<_> = self.held.take().unwrap().into();
        for i in order {
            let (op, cmd) = held[*i].clone();
            let effects = self.disk_now(op, cmd);
            self.run(effects);
        }
        std::mem::take(&mut self.log)
    }

    fn run(&mut self, effects: Vec<Effect>) {
        for effect in effects {
            match effect {
                Effect::Disk(op, cmd) => match &mut self.held {
                    Some(held) => held.push_back((op, cmd)),
                    None => {
                        let effects = self.disk_now(op, cmd);
                        self.run(effects);
                    }
                },
                Effect::Answer(reply, result) => {
                    let id = reply.id().0.clone();
                    self.log += &match &result {
                        Ok(ok) => format!("answer {id}: {ok}\n"),
                        Err(e) => {
                            let data = e.data.as_deref().map(|d| format!(" {d}")).unwrap_or_default();
                            format!("answer {id}: {} {}{data}\n", e.code, e.message)
                        }
                    };
                    reply.send(result);
                    while self.answers.1.try_recv().is_ok() {}
                }
                Effect::Keep(cmd) => self.kept.push(cmd),
                Effect::Landed(change) => {
                    let text = |s: &Option<text::Snapshot>| s.as_ref().map(|s| s.wire().text);
                    self.landed.push(format!(
                        "{:?} {} {:?} -> {:?}",
                        change.author,
                        change.path.display(),
                        text(&change.before),
                        text(&change.after),
                    ));
                }
                Effect::AskWrite(ask) => {
                    self.asked.push_back(ask.op);
                    self.log += &format!(
                        "ask {} {:?} -> {:?}{}{}{}\n{}",
                        ask.path.display(),
                        ask.live,
                        ask.content,
                        ask.buf.map(|b| format!(" in buf {}", b.0)).unwrap_or_default(),
                        if ask.saves_unsaved { ", saves unsaved lines" } else { "" },
                        ask.merge.map(|m| format!(", conflicts {:?}", m.conflicts)).unwrap_or_default(),
                        ask.notes.iter().map(|n| format!("  note: {n}\n")).collect::<String>(),
                    );
                }
                Effect::Nvim(cmd) => self.nvim(cmd),
                Effect::AskAccess(ask) => {
                    self.asked.push_back(ask.op);
                    let verb = if ask.write { "write" } else { "read" };
                    self.log += &format!("access: {verb} {:?}? {}\n", ask.path, ask.notes.join(" | "));
                }
                Effect::Told { text, .. } => self.log += &format!("told {text}\n"),
                Effect::AskWithdrawn { .. } => self.log += "question withdrawn\n",
                other => panic!("{other:?}"),
            }
        }
    }

    fn nvim(&mut self, cmd: NvimCmd) {
        self.log += &match cmd {
            NvimCmd::Attach { buf } => format!("attach {}\n", buf.0),
            NvimCmd::Unsaved { buf, .. } => format!("unsaved {}\n", buf.0),
            NvimCmd::Unfollow { buf } => format!("unfollow {}\n", buf.0),
            NvimCmd::EditOff { buf } => format!("edit off {}\n", buf.0),
            NvimCmd::Reload { buf } => format!("reload {}\n", buf.0),
            NvimCmd::Detach { buf } => format!("detach {}\n", buf.0),
            NvimCmd::Slice { buf, start, later } => {
                format!("slice {} from {start}{}\n", buf.0, if later { " later" } else { "" })
            }
            NvimCmd::Edit(call) => {
                let edit = |e: &TextEdit| {
                    let (s, t) = (e.range.start, e.range.end);
                    format!(" {}:{}-{}:{}={:?}", s.line, s.character, t.line, t.character, e.new_text)
                };
                let line = format!(
                    "edit {}{}{}{}{}{}{}{}\n",
                    call.buf.0,
                    call.through.iter().map(edit).collect::<String>(),
                    if call.through.is_empty() { "" } else { " then" },
                    call.edits.iter().map(edit).collect::<String>(),
                    if call.eol { "" } else { " noeol" },
                    if call.empty { " empty" } else { "" },
                    if call.save { "" } else { " unsaved" },
                    if call.clean.is_some() { " clean" } else { "" },
                );
                self.edits.push_back(call);
                line
            }
            NvimCmd::Diff(d) => format!(
                "diff {}/{} {} buf={:?} {:?} -> {:?} {:?}\n",
                d.index,
                d.count,
                d.path,
                d.buf.map(|b| b.0),
                d.old,
                d.new,
                d.note
            ),
            NvimCmd::UserEvent { name, data } => {
                format!("tells {name} {}\n", data["path"].as_str().unwrap_or_default())
            }
            NvimCmd::Notify { text, .. } => format!("says {text}\n"),
            other => panic!("{other:?}"),
        };
    }

    fn disk_now(&mut self, op: OpId, cmd: DiskCmd) -> Vec<Effect> {
        let result = match cmd {
            DiskCmd::Resolve { path, .. } => {
                let link =
                    self.links.iter().find_map(|(from, to)| Some(to.join(path.strip_prefix(from).ok()?)));
                let real = link.map_or(path, |p| p.components().collect());
                let kind = match self.files.get(&real) {
                    Some(Err(DiskError::IsDir)) => PathKind::Dir,
                    Some(Err(DiskError::Special)) => PathKind::Special,
                    Some(_) => PathKind::File,
                    None => PathKind::Missing,
                };
                let stamp = self.files.get(&real).and_then(|f| Some(f.as_ref().ok()?.stamp));
                DiskResult::Resolved(Ok(Resolved { real, kind, stamp }))
            }
            DiskCmd::Read { real, .. } => {
                DiskResult::Text(self.files.get(&real).cloned().unwrap_or(Err(DiskError::NotFound)))
            }
            DiskCmd::Swap { .. } => DiskResult::Swap(self.swap),
            DiskCmd::Delete { real, expect } => {
                let now = self.files.get(&real).map(|f| f.as_ref().unwrap().stamp);
                if now == Some(expect) {
                    self.log += &format!("delete {}\n", real.display());
                    self.files.remove(&real);
                    DiskResult::Written(Ok(expect))
                } else {
                    DiskResult::Stale
                }
            }
            DiskCmd::Write { real, text, form, expect } => {
                let now = self.files.get(&real).map(|f| f.as_ref().unwrap().stamp);
                if now == expect {
                    self.log += &format!(
                        "write {} {:?}{}{}\n",
                        real.display(),
                        String::from_utf8_lossy(&text),
                        if form.crlf { " crlf" } else { "" },
                        if form.bom { " bom" } else { "" }
                    );
                    let stamp = stamp(now.map_or(1, |s| s.sec + 1));
                    self.files.insert(real, Ok(DiskText { text, form, stamp }));
                    DiskResult::Written(Ok(stamp))
                } else {
                    DiskResult::Stale
                }
            }
        };
        self.ws.disk(op, result)
    }
}

fn check(actual: String, expect: Expect) {
    expect.assert_eq(&actual);
}
