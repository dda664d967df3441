//! Questions about commands: may this agent run what it wants to run in a terminal?
//!
//! Owns which commands a person has allowed as permissions of this turn, and the words of the question. It never allows
//! by itself what no person saw: a permission says nothing of another folder, nor of variables. Part of `Sessions`; called by the app.

use serde_json::Value;

use crate::effect::{CommandAsk, Effect, TerminalCard};
use crate::model::*;

use super::entry::{Body, ToolCall};
use super::questions::{Ask, Wording};
use super::{Sessions, display};

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
            let same = |line: &String| {
                line == ask.line.trim() || ask.shell.as_ref().is_some_and(|s| line == s.trim())
            };
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

/// The commands that a person sees when they allow this card.
pub(super) fn shown(call: &ToolCall) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    let mut add = |text: &str| {
        let text = text.trim();
        // Allowed once is allowed once, however often it is named.
        if !text.is_empty() && !lines.iter().any(|line| line == text) {
            lines.push(text.to_owned());
        }
    };
    let input = call.raw_input.as_deref().and_then(|raw| serde_json::from_str::<Value>(raw).ok());
    for name in ["command", "cmd"] {
        match input.as_ref().and_then(|input| input.get(name)) {
            Some(Value::String(text)) => add(text),
            Some(Value::Array(words)) => {
                let words: Vec<&str> = words.iter().filter_map(Value::as_str).collect();
                add(&words.join(" "));
                // `sh -c LINE`: the line is what runs.
                if let [_, flag, line] = words[..]
                    && flag.starts_with('-')
                    && flag.ends_with('c')
                {
                    add(line);
                }
            }
            _ => {}
        }
    }
    if let Some(title) = &call.title {
        add(title.trim_matches('`'));
    }
    lines
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
