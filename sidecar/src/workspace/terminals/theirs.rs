//! Terminals of commands that agents run themselves: they are only shown.
//!
//! Owns what was said of each so far. Agents say it in any order, late, and some of it again. Nothing here is run, typed
//! into or stopped. Part of `terminals`; called by the app.

use serde_json::Value;

use super::lf::Crlf;
use super::{KEPT, LIMIT, STEP, Stage, Terminal, told};
use crate::effect::{Effect, PtyRun};
use crate::model::*;
use crate::workspace::Workspace;

/// Bytes of the beginning of an agent's own output that are compared with what it says again.
const SEEN: usize = 1 << 20;

/// A terminal that the agent runs itself.
#[derive(Debug)]
pub struct Shown {
    /// Its name for the agent.
    name: String,
    crlf: Crlf,
    /// The beginning of its output, at most [`SEEN`] bytes, for agents that say all of it again.
    seen: String,
    /// Bytes of its output.
    said: usize,
    /// Some of it came as what can only be the next piece.
    in_pieces: bool,
    /// What is known of its command is the command itself.
    is_certain: bool,
}

impl Shown {
    fn new(name: String) -> Self {
        Self {
            name,
            crlf: Crlf::default(),
            seen: String::new(),
            said: 0,
            in_pieces: false,
            is_certain: false,
        }
    }

    /// What is new in output that is the next piece for some agents (one that looks like all before it, too: a program
    /// may write the same again), and all of it so far for others. These send pieces as such beside it.
    fn new_of<'a>(&self, text: &'a str) -> &'a str {
        // Late, and of a moment before.
        if self.in_pieces && self.seen.starts_with(text) {
            return "";
        }
        let again = self.in_pieces && text.starts_with(&self.seen);
        text.get(self.said..).filter(|_| again).unwrap_or(text)
    }
}

impl Workspace {
    /// The agent says something of a terminal that it runs itself; in any order.
    pub fn agent_terminal(&mut self, session: &SessionKey, said: AgentTerminal, now: Millis) -> Vec<Effect> {
        let named = |t: &Terminal| t.shown.as_ref().is_some_and(|shown| shown.name == said.terminal);
        let known =
            self.terminals.all.iter().find(|(_, t)| t.session == *session && named(t)).map(|(id, _)| *id);
        let mut out = Vec::new();
        if known.is_none() {
            self.agent_terminals_bound(session, now, &mut out);
        }
        let id = known.unwrap_or_else(|| {
            self.terminals.last += 1;
            let id = TerminalId(self.terminals.last);
            let cwd = said.cwd.clone().or_else(|| self.roots.of(session).first().map(|p| p.to_path_buf()));
            let line = said.command.as_ref().or(said.title.as_ref()).unwrap_or(&said.terminal).clone();
            let run = PtyRun {
                command: line.clone(),
                args: Vec::new(),
                env: Vec::new(),
                cwd: cwd.unwrap_or_default(),
                rows: 24,
                cols: 80,
            };
            let shown = Shown::new(said.terminal.clone());
            let t = Terminal::new(session.clone(), run, line, Stage::Running, LIMIT, now);
            self.terminals
                .all
                .insert(id, Terminal { shown: Some(shown), released: true, step_due: now + STEP, ..t });
            self.terminals.changed = true;
            id
        });
        let Some(t) = self.terminals.all.get_mut(&id) else { return out };
        if known.is_none() {
            out.push(t.as_card(id, None));
            out.push(told(id, t));
        }
        self.terminals.changed |= t.called(said.command, said.title);
        match said.part {
            TerminalPart::Info => {}
            TerminalPart::Output(text) => {
                let new = t.shown.as_ref().map_or("", |shown| shown.new_of(&text)).to_owned();
                t.said(&new);
            }
            TerminalPart::Delta(new) => {
                t.said(&new);
                t.shown.iter_mut().for_each(|shown| shown.in_pieces = true);
            }
            TerminalPart::Exit(end) => {
                if t.runs() {
                    t.took = now.saturating_sub(t.started);
                }
                (t.stage, t.stale, t.card_due) = (Stage::Ended(end), true, 0);
                self.terminals.changed = true;
                out.push(told(id, t));
            }
        }
        self.terminals_bound(session, &mut out);
        out
    }

    /// Those of them that nobody ended: the oldest do not run any more once there are too many.
    fn agent_terminals_bound(&mut self, session: &SessionKey, now: Millis, out: &mut Vec<Effect>) {
        let all = self.agent_terminals_running(session);
        for id in &all[..all.len().saturating_sub(KEPT - 1)] {
            self.not_told(*id, now, out);
        }
    }

    /// The turn is over: what the agent ran in it has ended, whether it said so or not. It may still say how.
    pub(in crate::workspace) fn agent_terminals_over(
        &mut self,
        session: &SessionKey,
        now: Millis,
        out: &mut Vec<Effect>,
    ) {
        for id in self.agent_terminals_running(session) {
            self.not_told(id, now, out);
        }
    }

    fn agent_terminals_running(&self, session: &SessionKey) -> Vec<TerminalId> {
        let runs = |t: &Terminal| t.session == *session && t.shown.is_some() && t.runs();
        self.terminals.all.iter().filter(|(_, t)| runs(t)).map(|(id, _)| *id).collect()
    }

    fn not_told(&mut self, id: TerminalId, now: Millis, out: &mut Vec<Effect>) {
        let Some(t) = self.terminals.all.get_mut(&id) else { return };
        t.took = now.saturating_sub(t.started);
        let end = CommandEnd { code: CommandEnd::NOT_TOLD, signal: None };
        (t.stage, t.stale, t.card_due) = (Stage::Ended(end), true, 0);
        self.terminals.changed = true;
        out.push(told(id, t));
    }

    /// A tool call says what it does: some agents show a terminal before they say what runs in it. Such a terminal has
    /// the tool call's name, or is part of what the tool call shows.
    pub fn agent_terminal_called(&mut self, session: &SessionKey, tool: &ToolPatch) {
        let embeds = |name: &str| {
            let all = tool.content.set().into_iter().flatten();
            all.into_iter().any(|c| matches!(c, ToolContent::Terminal(id) if id == name))
        };
        for t in self.terminals.all.values_mut().filter(|t| t.session == *session) {
            let Some(shown) = t.shown.as_ref().filter(|shown| !shown.is_certain) else { continue };
            if shown.name != tool.id && !embeds(&shown.name) {
                continue;
            }
            let input = tool.raw_input.set().and_then(|raw| serde_json::from_str::<Value>(raw).ok());
            let command = input.and_then(|input| input["command"].as_str().map(str::to_owned));
            self.terminals.changed |= t.called(command, tool.title.set().cloned());
        }
    }
}

impl Terminal {
    /// What runs in it, if that was not known better before: whether this is news.
    fn called(&mut self, command: Option<String>, title: Option<String>) -> bool {
        let Some(shown) = self.shown.as_mut().filter(|shown| !shown.is_certain) else { return false };
        shown.is_certain = command.is_some();
        let Some(line) = command.or(title).filter(|line| *line != self.line) else { return false };
        (self.line, self.stale) = (line, true);
        true
    }

    /// The agent's own command wrote this.
    fn said(&mut self, text: &str) {
        let Some(shown) = &mut self.shown else { return };
        if shown.seen.len() == shown.said {
            shown.seen.push_str(&text[..text.floor_char_boundary(SEEN - shown.seen.len())]);
        }
        shown.said += text.len();
        let bytes = shown.crlf.convert(text.as_bytes());
        self.wrote(&bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::Hello;

    /// What is shown after an agent said all of this.
    fn shown(parts: &[TerminalPart]) -> String {
        let session = SessionKey::new("s");
        let mut ws = Workspace::new(&Hello::default());
        ws.add_root(&session, "/p".into());
        for part in parts {
            ws.agent_terminal(&session, said(None, None, part.clone()), 0);
        }
        let terminal = ws.terminals.all.values().next().expect("a terminal");
        String::from_utf8(terminal.tail.tail().0).expect("text")
    }

    fn said(command: Option<&str>, title: Option<&str>, part: TerminalPart) -> AgentTerminal {
        let [command, title] = [command, title].map(|text| text.map(str::to_owned));
        AgentTerminal { terminal: "x".into(), command, title, cwd: None, part }
    }

    #[test]
    fn a_command_whose_end_nobody_tells_has_ended_with_its_turn_and_the_end_may_come_late() {
        let session = SessionKey::new("s");
        let mut ws = Workspace::new(&Hello::default());
        ws.add_root(&session, "/p".into());
        ws.agent_terminal(&session, said(None, None, delta("a")), 0);
        let end = |ws: &Workspace| ws.terminals.all.values().next().and_then(|t| t.end().cloned());
        let mut out = Vec::new();
        ws.agent_terminals_over(&session, 5, &mut out);
        assert_eq!(end(&ws).map(|end| end.told()), Some(None));
        assert_eq!(out.len(), 1);
        let late = CommandEnd { code: 3, signal: None };
        ws.agent_terminal(&session, said(None, None, TerminalPart::Exit(late.clone())), 9);
        assert_eq!(end(&ws), Some(late));
    }

    #[test]
    fn terminals_that_an_agent_never_ends_are_bounded() {
        let session = SessionKey::new("s");
        let mut ws = Workspace::new(&Hello::default());
        ws.add_root(&session, "/p".into());
        for n in 0..2 * KEPT {
            let new = AgentTerminal { terminal: format!("t{n}"), ..said(None, None, TerminalPart::Info) };
            ws.agent_terminal(&session, new, 0);
        }
        assert_eq!(ws.terminals.all.len(), KEPT);
    }

    #[test]
    fn a_terminal_is_called_what_is_known_best_of_its_command() {
        let session = SessionKey::new("s");
        let mut ws = Workspace::new(&Hello::default());
        let line = |ws: &Workspace| ws.terminals.all.values().next().expect("a terminal").line.clone();
        ws.agent_terminal(&session, said(None, None, TerminalPart::Info), 0);
        assert_eq!(line(&ws), "x");
        ws.agent_terminal(&session, said(None, Some("Terminal"), delta("a")), 0);
        assert_eq!(line(&ws), "Terminal");
        let mut tool = ToolPatch { id: "other".into(), ..ToolPatch::default() };
        tool.title = Patch::Set("not this one".into());
        ws.agent_terminal_called(&session, &tool);
        assert_eq!(line(&ws), "Terminal");
        tool.content = Patch::Set(vec![ToolContent::Terminal("x".into())]);
        tool.title = Patch::Set("Builds it".into());
        ws.agent_terminal_called(&session, &tool);
        assert_eq!(line(&ws), "Builds it");
        tool = ToolPatch { id: "x".into(), title: Patch::Set("Building".into()), ..ToolPatch::default() };
        tool.raw_input = Patch::Set(r#"{"command": "make all"}"#.into());
        ws.agent_terminal_called(&session, &tool);
        assert_eq!(line(&ws), "make all");
        tool.raw_input = Patch::Keep;
        ws.agent_terminal_called(&session, &tool);
        ws.agent_terminal(&session, said(None, Some("Terminal"), delta("b")), 0);
        assert_eq!(line(&ws), "make all");
    }

    fn output(text: &str) -> TerminalPart {
        TerminalPart::Output(text.into())
    }

    fn delta(text: &str) -> TerminalPart {
        TerminalPart::Delta(text.into())
    }

    #[test]
    fn pieces_that_repeat_what_came_before_are_output_too() {
        assert_eq!(
            shown(&[output("tick\n"), output("tick\n"), output("tick\ntock\n")]),
            "tick\r\ntick\r\ntick\r\ntock\r\n"
        );
        assert_eq!(shown(&[output("."), output("."), output("...")]), ".....");
        assert_eq!(shown(&[delta("tick\n"), delta("tick\n")]), "tick\r\ntick\r\n");
    }

    #[test]
    fn all_of_it_after_its_pieces_adds_only_what_is_new() {
        assert_eq!(shown(&[delta("one\n"), delta("two\n"), output("one\ntwo\n")]), "one\r\ntwo\r\n");
        assert_eq!(shown(&[delta("one\n"), output("one\ntwo\n"), delta("late\n")]), "one\r\ntwo\r\nlate\r\n");
        assert_eq!(shown(&[delta("one\n"), output("other\n")]), "one\r\nother\r\n");
        // Where a character would be cut, it is other text.
        assert_eq!(shown(&[delta("e"), output("é")]), "eé");
    }

    #[test]
    fn all_of_more_than_is_compared_is_not_shown_twice() {
        let most = "0123456789abcdef".repeat(SEEN / 16);
        let end = shown(&[delta(&most), delta("more"), output(&(most + "more and new"))]);
        assert!(end.ends_with("defmore and new"), "{}", &end[end.len() - 40..]);
    }
}
