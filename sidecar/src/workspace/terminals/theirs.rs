//! Terminals of commands that agents run themselves: they are only shown.
//!
//! Owns what was said of each so far. Agents say it in any order, late, and some of it again. Nothing here is run, typed
//! into or stopped. Part of `terminals`; called by the app.

use super::lf::Crlf;
use super::{LIMIT, STEP, Stage, Terminal, told};
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
    /// The beginning of the output so far, at most [`SEEN`], and the length of all: some agents say all of it again.
    seen: String,
    len: usize,
}

impl Shown {
    /// What is new in an output that may begin with all that was said before.
    fn news<'a>(&self, all: &'a str) -> &'a str {
        all.get(self.len..).filter(|_| all.starts_with(&self.seen)).unwrap_or(all)
    }

    fn saw(&mut self, text: &str) {
        if self.len == self.seen.len() {
            self.seen.push_str(&text[..text.floor_char_boundary(SEEN - self.seen.len())]);
        }
        self.len += text.len();
    }
}

impl Workspace {
    /// The agent says something of a terminal that it runs itself; in any order.
    pub fn agent_terminal(&mut self, session: &SessionKey, said: AgentTerminal, now: Millis) -> Vec<Effect> {
        let named = |t: &Terminal| t.shown.as_ref().is_some_and(|shown| shown.name == said.terminal);
        let known =
            self.terminals.all.iter().find(|(_, t)| t.session == *session && named(t)).map(|(id, _)| *id);
        let mut out = Vec::new();
        let id = known.unwrap_or_else(|| {
            self.terminals.last += 1;
            let id = TerminalId(self.terminals.last);
            let cwd = said.cwd.clone().or_else(|| self.roots.of(session).first().map(|p| p.to_path_buf()));
            let line = said.title.clone().unwrap_or_else(|| said.terminal.clone());
            let run = PtyRun {
                command: line.clone(),
                args: Vec::new(),
                env: Vec::new(),
                cwd: cwd.unwrap_or_default(),
                rows: 24,
                cols: 80,
            };
            let shown =
                Shown { name: said.terminal.clone(), crlf: Crlf::default(), seen: String::new(), len: 0 };
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
        } else if let Some(title) = said.title.filter(|_| t.line == said.terminal) {
            // It was spoken of before it was said what it is.
            (t.line, t.stale) = (title, true);
            self.terminals.changed = true;
        }
        match said.part {
            TerminalPart::Info => {}
            TerminalPart::Output(all) => {
                let new = t.shown.as_ref().map_or(&*all, |shown| shown.news(&all));
                t.said(new);
            }
            TerminalPart::Delta(new) => t.said(&new),
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
}

impl Terminal {
    /// The agent's own command wrote this.
    fn said(&mut self, text: &str) {
        let Some(shown) = &mut self.shown else { return };
        shown.saw(text);
        let bytes = shown.crlf.convert(text.as_bytes());
        self.wrote(&bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn output_that_is_said_again_is_new_only_behind_what_was_said_however_long_it_is() {
        for chunk in ["x".repeat(100), "é".repeat(SEEN / 3), "y".repeat(3 * SEEN)] {
            let mut shown = Shown { name: String::new(), crlf: Crlf::default(), seen: String::new(), len: 0 };
            let all: String = (0..5).map(|n| format!("{n}{chunk}")).collect();
            (0..5).for_each(|n| shown.saw(&format!("{n}{chunk}")));
            assert!(shown.seen.len() <= SEEN);
            assert_eq!(shown.news(&format!("{all}end")), "end");
            assert_eq!(shown.news(&all), "");
            assert_eq!(shown.news("other"), "other");
        }
    }
}
