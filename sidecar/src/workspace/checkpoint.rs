//! Checkpoints: the way back to the state before any prompt, and forward again.
//!
//! Owns the order of prompts and of the changes that agents made since; the texts of these are kept by the disk edge. It
//! never touches a file that no agent changed, and undoes changes one by one, by merges, so that what a person wrote
//! since stays. A way back is a change like any other, and can be undone too. Part of the room; called by the app.

use std::collections::{BTreeMap, VecDeque};
use std::path::PathBuf;

use crate::effect::{Author, Change, CheckpointState, Effect, KeepCmd, NvimCmd};
use crate::event::KeptTexts;
use crate::model::SessionKey;
use crate::workspace::review::Step;
use crate::workspace::text::Snapshot;
use crate::workspace::{Op, Workspace};

/// Prompts that are remembered, of all sessions.
const MARKS: usize = 500;
/// Changes that are remembered.
const CHANGES: usize = 20_000;

/// Before a prompt, or before a way back.
#[derive(Debug)]
struct Mark {
    number: u64,
    session: SessionKey,
    prompt: String,
    /// It is before a way back, not before a prompt.
    back: bool,
}

/// A change that is kept.
#[derive(Debug)]
struct Kept {
    number: u64,
    session: SessionKey,
    path: PathBuf,
}

/// A way back whose texts are being fetched.
#[derive(Debug)]
pub struct Restore {
    session: SessionKey,
    /// By file: numbers of changes, newest first.
    files: BTreeMap<PathBuf, Vec<u64>>,
}

/// See the module.
#[derive(Debug, Default)]
pub struct Checkpoints {
    marks: Vec<Mark>,
    changes: Vec<Kept>,
    /// The last number given to either: what comes later has a larger one.
    last: u64,
    /// Ways back that wait for the one that is under way: what that changes counts for them.
    waiting: VecDeque<(SessionKey, Option<u64>)>,
}

fn notify(level: &str, text: String) -> Effect {
    Effect::Nvim(NvimCmd::Notify { level: level.to_owned(), text })
}

impl Checkpoints {
    fn mint(&mut self) -> u64 {
        self.last += 1;
        self.last
    }

    fn mark(&mut self, session: &SessionKey, prompt: String, back: bool) -> u64 {
        let number = self.mint();
        self.marks.push(Mark { number, session: session.clone(), prompt, back });
        if self.marks.len() > MARKS {
            self.marks.remove(0);
        }
        number
    }

    /// A change is in its file: one of an agent's, or of a way back.
    pub fn keep(
        &mut self,
        session: &SessionKey,
        path: &std::path::Path,
        (before, after): (Option<Snapshot>, Option<Snapshot>),
        out: &mut Vec<Effect>,
    ) {
        let number = self.mint();
        self.changes.push(Kept { number, session: session.clone(), path: path.to_owned() });
        if self.changes.len() > CHANGES {
            let lost = self.changes.remove(0);
            // From before it there is only a part of the way back.
            self.marks.retain(|mark| mark.session != lost.session || mark.number > lost.number);
        }
        out.push(Effect::Keep(KeepCmd::Change { number, path: path.to_owned(), before, after }));
    }

    /// A change has landed.
    pub fn landed(&mut self, change: &Change, out: &mut Vec<Effect>) {
        if change.author == Author::Agent {
            self.keep(&change.session, &change.path, (change.before.clone(), change.after.clone()), out);
        }
    }

    /// The session is over: nobody goes back in it any more.
    pub fn close(&mut self, session: &SessionKey) {
        self.marks.retain(|mark| mark.session != *session);
        self.changes.retain(|kept| kept.session != *session);
        self.waiting.retain(|(of, _)| of != session);
    }

    fn since(&self, session: &SessionKey, number: u64) -> BTreeMap<PathBuf, Vec<u64>> {
        let mut files: BTreeMap<PathBuf, Vec<u64>> = BTreeMap::new();
        for kept in self.changes.iter().rev().filter(|c| c.session == *session && c.number > number) {
            files.entry(kept.path.clone()).or_default().push(kept.number);
        }
        files
    }

    /// Those of a session, oldest first.
    fn states(&self, session: &SessionKey) -> Vec<CheckpointState> {
        let of = self.marks.iter().filter(|mark| mark.session == *session);
        of.map(|mark| CheckpointState {
            number: mark.number,
            prompt: mark.prompt.clone(),
            files: self.since(session, mark.number).into_keys().collect(),
        })
        .collect()
    }
}

impl Workspace {
    /// A prompt goes to its agent.
    pub fn checkpoint(&mut self, session: &SessionKey, prompt: &str) -> Vec<Effect> {
        let line = prompt.lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
        let number = self.checkpoints.mark(session, line.chars().take(200).collect(), false);
        let mut out =
            vec![Effect::Keep(KeepCmd::Mark { number, session: session.clone(), prompt: line.to_owned() })];
        out.push(self.checkpoint_list(session, false));
        out
    }

    /// The checkpoints of a session, for the editor. `asked`: a person wants to choose one.
    pub fn checkpoint_list(&self, session: &SessionKey, asked: bool) -> Effect {
        let list = self.checkpoints.states(session);
        Effect::Nvim(NvimCmd::Checkpoints { session: session.clone(), asked, list })
    }

    /// Back to the state before the prompt, or the way back, of that number; `None`: before the last way back. One after the
    /// other, in [`Self::restores_due`].
    pub fn restore(&mut self, session: &SessionKey, number: Option<u64>) {
        self.checkpoints.waiting.push_back((session.clone(), number));
    }

    /// Begins the next way back, unless one is under way.
    pub fn restores_due(&mut self) -> Vec<Effect> {
        let under_way = |op: &Op| match op {
            Op::Restore(_) => true,
            Op::Write(w) => w.as_verdict().is_some(),
            _ => false,
        };
        if self.checkpoints.waiting.is_empty() || self.ops.values().any(under_way) {
            return Vec::new();
        }
        match self.checkpoints.waiting.pop_front() {
            Some((session, number)) => self.restore_now(&session, number),
            None => Vec::new(),
        }
    }

    fn restore_now(&mut self, session: &SessionKey, number: Option<u64>) -> Vec<Effect> {
        let mut marks = self.checkpoints.marks.iter().filter(|mark| mark.session == *session);
        let mark = match number {
            Some(number) => marks.rfind(|mark| mark.number == number),
            None => marks.rfind(|mark| mark.back),
        };
        let Some((number, prompt)) = mark.map(|mark| (mark.number, mark.prompt.clone())) else {
            let what = if number.is_some() { "there is no such checkpoint" } else { "nothing was restored" };
            return vec![notify("warn", what.to_owned())];
        };
        let files = self.checkpoints.since(session, number);
        if files.is_empty() {
            return vec![notify("info", "no agent has changed a file since then".to_owned())];
        }
        let count = files.len();
        let numbers = files.values().flatten().copied().collect();
        self.checkpoints.mark(session, format!("(before going back to: {prompt})"), true);
        let id = self.mint();
        self.ops.insert(id, Op::Restore(Box::new(Restore { session: session.clone(), files })));
        let files = if count == 1 { "1 file goes".to_owned() } else { format!("{count} files go") };
        let text = format!("{files} back to before: {prompt} (:Bosun checkpoint undo takes that back)");
        vec![Effect::Keep(KeepCmd::Load { op: id, numbers }), notify("info", text)]
    }

    /// The texts of the changes are there.
    pub(super) fn restore_loaded(&mut self, restore: Restore, texts: &[KeptTexts], out: &mut Vec<Effect>) {
        let by: BTreeMap<u64, &KeptTexts> = texts.iter().map(|texts| (texts.number, texts)).collect();
        for (path, numbers) in restore.files {
            let found: Option<Vec<&KeptTexts>> = numbers.iter().map(|n| by.get(n).copied()).collect();
            let Some(found) = found else {
                let text =
                    format!("{} stays as it is: its older texts are not kept any more", path.display());
                out.push(notify("warn", text));
                continue;
            };
            let text = |bytes: &Option<Vec<u8>>| Snapshot::from_bytes(bytes.as_deref().unwrap_or_default());
            let steps = found.iter().map(|k| Step { from: text(&k.after), to: text(&k.before) }).collect();
            let deletes = found.last().is_some_and(|first| first.before.is_none());
            self.rewind(&restore.session, &path, steps, deletes);
        }
    }
}

#[cfg(test)]
mod tests;
