//! Questions about commands: may this agent run what it wants to run in a terminal?
//!
//! Owns which commands a person has allowed as permissions of this turn, and the words of the question. It never allows
//! by itself what no person saw: a permission says nothing of another folder, nor of variables. Part of `Sessions`; called
//! by the app.

use crate::effect::{CommandAsk, Effect, TerminalCard};
use crate::model::*;

use super::entry::{Body, ToolCall};
use super::questions::{Ask, Wording};
use super::{Sessions, details, display};

/// A command that a person was shown, and has allowed: the very line, and what a shell runs where that is all of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Approved {
    line: String,
    inner: Option<String>,
}

impl Approved {
    /// What a card shows as its command: from its input, else its title where it says no more.
    pub(super) fn of(shown: Option<details::Shown>, call: &ToolCall) -> Option<Self> {
        let by_title = || {
            let title = call.title.as_deref().filter(|_| call.kind.as_deref() == Some("execute"))?;
            Some(Self { line: title.trim().trim_matches('`').to_owned(), inner: None })
        };
        let of = |shown: details::Shown| Self { line: shown.line.trim().to_owned(), inner: shown.inner };
        shown.map(of).or_else(by_title).filter(|approved| !approved.line.is_empty())
    }

    fn is(&self, line: &str) -> bool {
        self.line == line || self.inner.as_deref().is_some_and(|inner| inner.trim() == line)
    }
}

/// Characters of a variable in a question.
const VARIABLE: usize = 200;

impl Sessions {
    /// The workspace asks about a command. A permission of this turn for that very command covers it, once.
    pub fn ask_command(&mut self, ask: CommandAsk) -> Vec<Effect> {
        let decided = |verdict| vec![Effect::CommandDecided { terminal: ask.terminal, verdict }];
        let open = |i: &usize| !self.list[*i].dead && !self.list[*i].cancelling();
        let Some(i) = self.index(&ask.session).filter(open) else {
            return decided(CommandVerdict::Withdrawn);
        };
        let session = &mut self.list[i];
        if ask.note.is_none() {
            if !session.ask_commands {
                return decided(CommandVerdict::Run);
            }
            let shell = ask.shell.as_deref().map(str::trim);
            let same =
                |line: &Approved| line.is(ask.line.trim()) || shell.is_some_and(|shell| line.is(shell));
            // The same words mean another program elsewhere, or with another PATH.
            let plain = ask.cwd == session.cwd && ask.env.is_empty();
            if let Some(at) = session.approved_commands.iter().position(same).filter(|_| plain) {
                session.approved_commands.remove(at);
                return decided(CommandVerdict::Run);
            }
        }
        let (short, cut) = display::shorten(&display::one_line(&ask.line), 120);
        let mut body = Vec::new();
        // The whole of it is in the title where that has room.
        if cut || ask.line.contains('\n') {
            body.extend(display::lines(&ask.line).into_iter().map(|line| format!("  {line}")));
        }
        if ask.cwd != session.cwd {
            body.push(format!("In {}.", display::one_line(&ask.cwd.to_string_lossy())));
        }
        for variable in &ask.env {
            body.push(format!("With {}", display::shorten(&display::one_line(variable), VARIABLE).0));
        }
        body.extend(ask.note.iter().map(|note| format!("! {note}")));
        let option = |kind: OptionKind, name: &str| PermissionOption {
            id: kind.as_str().to_owned(),
            name: name.to_owned(),
            kind,
        };
        let wording = Wording {
            title: format!("run {short}"),
            body,
            options: vec![option(OptionKind::AllowOnce, "Run it"), option(OptionKind::RejectOnce, "Reject")],
            diffs: Vec::new(),
        };
        let in_turn = session.turn.is_some();
        self.put(i, Ask::Command(ask.terminal), in_turn, wording)
    }

    /// The agent takes a command back: nobody has to decide any more, and it does not run.
    pub fn withdraw_command(&mut self, terminal: TerminalId) -> Vec<Effect> {
        let mut effects = Vec::new();
        let about = |q: &super::questions::Question| matches!(q.ask, Ask::Command(t) if t == terminal);
        self.withdraw(about, "withdrawn: the agent took it back", &mut effects);
        self.settle(effects)
    }

    /// Whether commands and writes that no permission covers are asked about.
    pub fn set_approval(&mut self, session: &SessionKey, commands: bool, writes: WriteApproval) {
        if let Some(i) = self.index(session) {
            (self.list[i].ask_commands, self.list[i].write_approval) = (commands, writes);
        }
    }

    /// A terminal's card is new, or shows something else now.
    pub fn terminal_card(&mut self, session: &SessionKey, card: TerminalCard) {
        let Some(i) = self.index(session) else { return };
        let card = TerminalCard {
            line: display::one_line(&card.line),
            lines: card.lines.iter().map(|line| display::one_line(line)).collect(),
            ..card
        };
        self.list[i].transcript.terminal(card);
    }
}

impl super::Transcript {
    /// The card of a terminal; stands where the command began.
    fn terminal(&mut self, card: TerminalCard) {
        match self.terminals.get(&card.terminal).copied() {
            Some(entry) => self.entry_mut(entry).body = Body::Terminal(card),
            None => {
                self.close_message();
                let terminal = card.terminal;
                let entry = self.push(Body::Terminal(card));
                self.terminals.insert(terminal, entry);
            }
        }
    }
}
