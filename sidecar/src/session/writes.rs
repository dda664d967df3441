//! Questions of the host's own about writes: how they are worded, and what their answers decide.
//!
//! Owns the words and the options of those questions, and the rule which option means which verdict. It never decides
//! by itself that a write may land, and never looks at a text but to hand it on. Part of `Sessions`; called by the app.

use crate::effect::{Effect, MergeAsk, NOT_OPEN, SAVES_UNSAVED, Verdict, WriteAsk};
use crate::model::*;

use super::questions::{Ask, Wording};
use super::{Sessions, display, notify};

/// Option ids of a question about a merge.
const OURS: &str = "ours";
const THEIRS: &str = "theirs";
const REJECT: &str = "reject";

impl Sessions {
    /// The host asks about a write. A second question about the same write takes the place of the first.
    pub fn ask_write(&mut self, ask: WriteAsk, _now: Millis) -> Vec<Effect> {
        let mut effects = self.withdraw_write(ask.op, "withdrawn: the text changed");
        // Nobody can answer for a session that is gone or going; the write must not land. What the disk did concerns
        // the person's text whatever the agent does.
        let outlives = outlives_turn(&ask);
        let Some(i) = self
            .index(&ask.session)
            .filter(|i| outlives || !self.list[*i].dead && !self.list[*i].cancelling())
        else {
            effects.push(Effect::WriteDecided { op: ask.op, verdict: Verdict::Reject });
            return effects;
        };
        let session = &self.list[i];
        if session.write_approval != WriteApproval::Ask && !ask.must_ask && ask.merge.is_none() {
            effects.push(Effect::WriteDecided { op: ask.op, verdict: Verdict::Allow });
            return effects;
        }
        let shown = ask.path.strip_prefix(&session.cwd).unwrap_or(&ask.path);
        let shown = display::one_line(&shown.to_string_lossy());
        let diff = Diff {
            path: ask.path.to_string_lossy().into_owned(),
            old: ask.live.clone(),
            new: ask.content.clone(),
        };
        let wording = Wording {
            title: title(&ask, &shown),
            body: body(&ask),
            options: options(ask.merge.as_ref()),
            diffs: vec![diff],
        };
        let in_turn = session.turn.is_some() && !outlives;
        effects.extend(self.put(i, Ask::Write(Box::new(ask)), in_turn, wording));
        effects
    }

    /// The write that a question is about is off; nothing is decided, the question just goes. `why` is shown.
    pub fn withdraw_write(&mut self, op: OpId, why: &str) -> Vec<Effect> {
        let at = self.questions.iter().position(|q| matches!(&q.ask, Ask::Write(ask) if ask.op == op));
        if let Some(at) = at {
            let question = self.questions.remove(at);
            self.questions_changed = true;
            self.record(&question, why.to_owned());
        }
        self.settle(Vec::new())
    }

    /// A person answers a question about a merge with the text that shall be: lines as the API gives them, and whether
    /// the last one ends in a newline. Any other question stays, and the person is told.
    pub fn answer_text(
        &mut self,
        id: QuestionId,
        lines: Vec<Vec<u8>>,
        eol: bool,
        _now: Millis,
    ) -> Vec<Effect> {
        let Some(at) = self.questions.iter().position(|q| q.id == id) else {
            return vec![notify("warn", format!("Question {} is not open (any more).", id.0))];
        };
        let op = match &self.questions[at].ask {
            Ask::Write(ask) if ask.merge.is_some() => ask.op,
            _ => return vec![notify("warn", format!("Question {} is no merge: choose an option.", id.0))],
        };
        let question = self.questions.remove(at);
        self.questions_changed = true;
        self.record(&question, "allowed: merged by hand".to_owned());
        self.settle(vec![Effect::WriteDecided { op, verdict: Verdict::Text { lines, eol } }])
    }
}

/// Whether the question stays when the turn ends or is cancelled, and when the agent ends.
pub(super) fn outlives_turn(ask: &WriteAsk) -> bool {
    ask.merge.as_ref().is_some_and(|merge| merge.from_disk)
}

/// What the chosen option means for the write; `None`: nothing was chosen. `why`: for the agent, if it is refused.
pub(super) fn verdict(ask: &WriteAsk, chosen: Option<&PermissionOption>, why: Option<String>) -> Verdict {
    match (chosen, why) {
        (Some(option), _) if option.kind.allows() => Verdict::Allow,
        (Some(option), _) if ask.merge.is_some() && option.id == THEIRS => Verdict::Theirs,
        (_, Some(why)) => Verdict::Refuse { why },
        (_, None) => Verdict::Reject,
    }
}

fn title(ask: &WriteAsk, shown: &str) -> String {
    let title = match &ask.merge {
        None => format!("write {shown}"),
        Some(merge) if merge.from_disk => format!("merge {shown}: it changed on disk and here"),
        Some(merge) => match merge.conflicts.len() {
            1 => format!("merge {shown}: 1 place changed on both sides"),
            count => format!("merge {shown}: {count} places changed on both sides"),
        },
    };
    if ask.must_ask { format!("! {title}") } else { title }
}

fn body(ask: &WriteAsk) -> Vec<String> {
    let mut body = Vec::new();
    let mut say = |line: &str| body.push(line.to_owned());
    if ask.must_ask {
        say("! Nothing that was allowed before covers this: look at it before you answer.");
    }
    for note in &ask.notes {
        say(&display::one_line(note));
    }
    if ask.live.is_none() {
        say("This is a new file.");
    }
    if ask.buf.is_none() {
        say(NOT_OPEN);
    }
    if ask.saves_unsaved {
        say(SAVES_UNSAVED);
    }
    if let Some(merge) = &ask.merge {
        say(if merge.from_disk {
            "The file and your text were both changed; yours is as it was until you decide."
        } else {
            "You and the agent changed the same lines; nothing is written until you decide."
        });
        say("To decide place by place, open the diff: `:w` in its result answers with that text.");
    }
    body
}

fn options(merge: Option<&MergeAsk>) -> Vec<PermissionOption> {
    let option = |id: &str, name: &str, kind| PermissionOption { id: id.into(), name: name.into(), kind };
    let Some(merge) = merge else {
        return vec![
            option("allow", "Allow", OptionKind::AllowOnce),
            option(REJECT, "Reject", OptionKind::RejectOnce),
        ];
    };
    // A kind of its own: an answer that names only a kind must never give up the person's lines.
    let theirs = OptionKind::Other(THEIRS.to_owned());
    let (ours_name, theirs_name, reject_name) = if merge.from_disk {
        (
            "Keep my lines there, take the rest from the disk",
            "Take the lines of the disk there",
            "Keep my text as it is",
        )
    } else {
        (
            "Keep my lines there, take the rest of the agent's",
            "Take the agent's lines there",
            "Reject the agent's change",
        )
    };
    vec![
        option(OURS, ours_name, OptionKind::AllowOnce),
        option(THEIRS, theirs_name, theirs),
        option(REJECT, reject_name, OptionKind::RejectOnce),
    ]
}
