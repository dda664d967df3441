//! Questions about paths: may this session read, or write, a file that its rules do not let it at by themselves?
//!
//! Owns what a person said about paths, per session, and what waits for an answer about one. The same path has at most
//! one question at a time: what is asked again meanwhile joins it, and after a refusal nothing is asked until the turn,
//! or the session, is over. It never decides by itself that something is allowed. Part of `Sessions`; called by the app.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use crate::effect::{Access, AccessAsk, Effect};
use crate::model::*;

use super::questions::{Ask, Wording};
use super::{Sessions, display};

/// What a person said about paths; dropped with the session.
#[derive(Debug, Default)]
pub(super) struct Decided {
    /// To be read (`false`) or written (`true`) for the rest of the session.
    allowed: BTreeSet<(PathBuf, bool)>,
    /// Refused for the rest of the session, whatever is wanted of them.
    refused: BTreeSet<PathBuf>,
    /// The same, for the rest of the turn.
    refused_in_turn: BTreeSet<PathBuf>,
}

impl Decided {
    /// A turn begins or is over.
    pub(super) fn turn_over(&mut self) {
        self.refused_in_turn.clear();
    }

    fn about(&self, path: &Path, write: bool) -> Option<Access> {
        if self.refused.contains(path) || self.refused_in_turn.contains(path) {
            return Some(Access::Rejected { for_session: self.refused.contains(path) });
        }
        self.allowed.contains(&(path.to_owned(), write)).then_some(Access::Allow)
    }
}

/// What waits for the answer to one question.
#[derive(Debug)]
pub(super) struct Waiting {
    path: PathBuf,
    write: bool,
    /// Those that want what the question is about, in order of arrival.
    ops: Vec<OpId>,
    /// Those that want something else of the same path: a refusal is for them too, an allowance is not.
    others: Vec<AccessAsk>,
}

impl Waiting {
    /// The same decision for all that wait.
    pub(super) fn decided(self, access: Access) -> impl Iterator<Item = Effect> {
        let others = self.others.into_iter().map(|ask| ask.op);
        self.ops.into_iter().chain(others).map(move |op| Effect::AccessDecided { op, access })
    }
}

impl Sessions {
    /// The workspace asks about a path. Answered at once where a person has decided already.
    pub fn ask_access(&mut self, ask: AccessAsk) -> Vec<Effect> {
        // Nobody can answer for a session that is gone or going.
        let open = |i: &usize| !self.list[*i].dead && !self.list[*i].cancelling();
        let Some(i) = self.index(&ask.session).filter(open) else {
            return vec![Effect::AccessDecided { op: ask.op, access: Access::Withdrawn }];
        };
        let session = &self.list[i];
        if let Some(access) = session.access.about(&ask.path, ask.write) {
            return vec![Effect::AccessDecided { op: ask.op, access }];
        }
        let same = self.questions.iter_mut().find_map(|q| match &mut q.ask {
            Ask::Access(waiting) if q.session == ask.session && waiting.path == ask.path => Some(waiting),
            _ => None,
        });
        if let Some(waiting) = same {
            if waiting.write == ask.write {
                waiting.ops.push(ask.op);
            } else {
                waiting.others.push(ask);
            }
            return Vec::new();
        }
        let shown = ask.path.strip_prefix(&session.cwd).unwrap_or(&ask.path).to_string_lossy();
        let title = format!("{} {}", if ask.write { "write" } else { "read" }, display::one_line(&shown));
        let body = ask.notes.iter().map(|note| display::one_line(note)).collect();
        let option = |kind: OptionKind, name: &str| PermissionOption {
            id: kind.as_str().to_owned(),
            name: name.to_owned(),
            kind,
        };
        let options = vec![
            option(OptionKind::AllowOnce, "Allow once"),
            option(OptionKind::AllowAlways, "Allow for this session"),
            option(OptionKind::RejectOnce, "Reject"),
            option(OptionKind::RejectAlways, "Reject for this session"),
        ];
        let AccessAsk { op, path, write, .. } = ask;
        let waiting = Box::new(Waiting { path, write, ops: vec![op], others: Vec::new() });
        let in_turn = self.list[i].turn.is_some();
        let wording = Wording { title, body, options, diffs: Vec::new() };
        self.put(i, Ask::Access(waiting), in_turn, wording)
    }

    /// A person answered; no option is a refusal.
    pub(super) fn access_answered(
        &mut self,
        session: &SessionKey,
        mut waiting: Waiting,
        chosen: Option<OptionKind>,
        effects: &mut Vec<Effect>,
    ) {
        let Some(i) = self.index(session) else { return effects.extend(waiting.decided(Access::Withdrawn)) };
        let decided = &mut self.list[i].access;
        let path = waiting.path.clone();
        let access = match chosen {
            Some(OptionKind::AllowAlways) => {
                decided.allowed.insert((path, waiting.write));
                Access::Allow
            }
            Some(OptionKind::AllowOnce) => Access::Allow,
            Some(OptionKind::RejectAlways) => {
                decided.refused.insert(path);
                Access::Rejected { for_session: true }
            }
            Some(OptionKind::RejectOnce | OptionKind::Other(_)) | None => {
                decided.refused_in_turn.insert(path);
                Access::Rejected { for_session: false }
            }
        };
        let again = if access == Access::Allow { std::mem::take(&mut waiting.others) } else { Vec::new() };
        effects.extend(waiting.decided(access));
        effects.extend(again.into_iter().map(Effect::AskAccess));
    }

    /// The request that a question is about is off; nothing is decided. The question goes with the last request that
    /// wants the same. `why` is shown.
    pub fn withdraw_access(&mut self, op: OpId, why: &str) -> Vec<Effect> {
        let mut effects = Vec::new();
        let mut empty = None;
        for (at, question) in self.questions.iter_mut().enumerate() {
            if let Ask::Access(waiting) = &mut question.ask {
                waiting.ops.retain(|waits| *waits != op);
                waiting.others.retain(|ask| ask.op != op);
                if waiting.ops.is_empty() {
                    empty = Some(at);
                }
            }
        }
        if let Some(at) = empty {
            let question = self.questions.remove(at);
            self.questions_changed = true;
            self.record(&question, why.to_owned());
            if let Ask::Access(waiting) = question.ask {
                effects.extend(waiting.others.into_iter().map(Effect::AskAccess));
            }
        }
        self.settle(effects)
    }
}
