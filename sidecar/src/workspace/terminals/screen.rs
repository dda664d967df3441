//! What a person sees of terminals and does to them: views, cards, the list; typing and stopping.
//!
//! Owns no state of its own. It never answers an agent. Part of `terminals`; called by the app.

use super::{CARD_LINES, CARD_PAUSE, MUCH, STEP, STOP, Stage, Terminal, Terminals};
use std::path::Path;

use crate::effect::{Effect, NvimCmd, PtyCmd, TerminalCard, TerminalState};
use crate::model::*;
use crate::workspace::Workspace;

impl Workspace {
    /// The window that shows a terminal came, changed its size, or went.
    pub fn terminal_view(&mut self, id: TerminalId, shown: bool, rows: u16, cols: u16) -> Vec<Effect> {
        let Some(t) = self.terminals.all.get_mut(&id) else { return Vec::new() };
        match (shown, t.feed.is_shown()) {
            (true, false) => t.feed.show(t.tail.tail().0),
            (false, _) => t.feed.hide(),
            _ => {}
        }
        let resizes =
            shown && t.is_ours() && (t.run.rows, t.run.cols) != (rows, cols) && rows > 0 && cols > 0;
        if !resizes {
            return Vec::new();
        }
        (t.run.rows, t.run.cols) = (rows, cols);
        t.store.resize(rows, cols);
        vec![Effect::Pty(id, PtyCmd::Resize { rows, cols })]
    }

    /// The editor has taken a piece.
    pub fn terminal_ack(&mut self, id: TerminalId, seq: u64) {
        if let Some(t) = self.terminals.all.get_mut(&id) {
            t.feed.ack(seq);
        }
    }

    /// A person typed into it.
    pub fn terminal_input(&self, id: TerminalId, data: Vec<u8>) -> Vec<Effect> {
        let runs = self.terminals.all.get(&id).is_some_and(Terminal::is_ours);
        if runs { vec![Effect::Pty(id, PtyCmd::Input(data))] } else { Vec::new() }
    }

    /// A person stops it, by a key or by wiping its buffer: it is interrupted and may clean up. What does not end then, or
    /// is stopped once more, is ended with all that it started.
    pub fn terminal_stop(&mut self, id: TerminalId, now: Millis) -> Vec<Effect> {
        let Some(t) = self.terminals.all.get_mut(&id).filter(|t| t.is_ours()) else { return Vec::new() };
        if std::mem::replace(&mut t.stopped, true) {
            t.stop_due = None;
            return vec![Effect::Pty(id, PtyCmd::Kill)];
        }
        t.stop_due = Some(now + STOP);
        vec![Effect::Pty(id, PtyCmd::Interrupt)]
    }

    /// Pieces for the views, cards for the transcripts, and the list, as far as they are due.
    pub fn terminals_due(&mut self, now: Millis) -> Vec<Effect> {
        let mut out = Vec::new();
        if std::mem::take(&mut self.terminals.changed) {
            out.push(Effect::Nvim(NvimCmd::Terminals(self.terminals.states(now))));
        }
        let folder = self.terminals.folder.clone();
        for (id, t) in &mut self.terminals.all {
            if t.stop_due.is_some_and(|due| due <= now) {
                t.stop_due = None;
                out.push(Effect::Pty(*id, PtyCmd::Kill));
            }
            if let Some(piece) = t.feed.take(now) {
                out.push(Effect::Nvim(NvimCmd::TerminalFeed { terminal: *id, piece }));
            }
            t.stale |= t.runs() && t.step_due <= now;
            if t.stale && t.card_due <= now {
                (t.stale, t.card_due) = (false, now + CARD_PAUSE);
                if t.runs() {
                    t.took = in_steps(now.saturating_sub(t.started));
                    t.step_due = t.started + t.took + if t.took < MINUTE { STEP } else { MINUTE };
                }
                out.push(t.as_card(*id, folder.as_deref()));
            }
        }
        out
    }

    /// When [`Self::terminals_due`] has something even if nothing happens.
    pub fn terminals_deadline(&self) -> Option<Millis> {
        let due = |t: &Terminal| {
            let card = t.stale.then_some(t.card_due);
            let step = t.runs().then_some(t.step_due.max(t.card_due));
            t.feed.deadline().into_iter().chain(card).chain(step).chain(t.stop_due).min()
        };
        self.terminals.all.values().filter_map(due).min()
    }
}

const MINUTE: Millis = 60_000;

fn in_steps(time: Millis) -> Millis {
    time - time % if time < MINUTE { STEP } else { MINUTE }
}

impl Terminal {
    fn is_kept(&self) -> bool {
        self.shown.is_none() && self.store.total() > MUCH
    }

    /// Its card. `folder`: where raw output is kept.
    pub(super) fn as_card(&self, id: TerminalId, folder: Option<&Path>) -> Effect {
        let log = folder.filter(|_| self.is_kept()).map(|folder| folder.join(id.log_name()));
        let card = TerminalCard {
            terminal: id,
            line: self.line.clone(),
            lines: self.store.last_lines(CARD_LINES),
            end: self.end().cloned(),
            stopped: self.stopped,
            seconds: self.took / 1000,
            log,
            log_is_all: self.store.total() < super::SPILL,
        };
        Effect::Card { session: self.session.clone(), card }
    }
}

impl Terminals {
    fn states(&self, now: Millis) -> Vec<TerminalState> {
        let shown = |(id, t): (&TerminalId, &Terminal)| {
            let end = match &t.stage {
                Stage::Asked(_) => return None,
                Stage::Running => None,
                Stage::Ended(end) => Some(end.clone()),
            };
            let took = if end.is_some() { t.took } else { now.saturating_sub(t.started) };
            Some(TerminalState {
                terminal: *id,
                session: t.session.clone(),
                line: t.line.clone(),
                cwd: t.run.cwd.clone(),
                end,
                seconds: took / 1000,
                bytes: t.store.total(),
                agent_only: t.shown.is_some(),
            })
        };
        self.all.iter().filter_map(shown).collect()
    }
}
