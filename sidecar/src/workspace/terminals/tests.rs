//! The room of terminals: who is answered what, and what is kept.

use std::path::PathBuf;

use tokio::sync::mpsc;

use super::*;
use crate::event::Hello;
use crate::reply::{Answer, WireId};

/// A session `s` in `/p`, and what its agent is answered.
struct Room {
    ws: Workspace,
    session: SessionKey,
    answers: (mpsc::UnboundedSender<Answer>, mpsc::UnboundedReceiver<Answer>),
    asked: u32,
    told: Vec<(TerminalId, PtyCmd)>,
}

impl Room {
    fn new() -> Self {
        let session = SessionKey::new("s");
        let mut ws = Workspace::new(&Hello { max_terminal_bytes: 100, ..Hello::default() });
        ws.add_root(&session, PathBuf::from("/p"));
        Self { ws, session, answers: mpsc::unbounded_channel(), asked: 0, told: Vec::new() }
    }

    fn reply(&mut self) -> Reply {
        self.asked += 1;
        Reply::new(WireId(self.asked.to_string().into()), self.answers.0.clone())
    }

    /// Carries answers out; gives them as text, in order.
    fn take(&mut self, effects: Vec<Effect>) -> String {
        for effect in effects {
            match effect {
                Effect::Answer(reply, result) => reply.send(result),
                Effect::Pty(id, cmd) => self.told.push((id, cmd)),
                _ => {}
            }
        }
        let mut out = String::new();
        while let Ok(answer) = self.answers.1.try_recv() {
            out += &match answer.result {
                Ok(result) => format!("{}: {result}\n", answer.id.0),
                Err(error) => format!("{}: {} {}\n", answer.id.0, error.code, error.message),
            };
        }
        out
    }

    /// Runs a command; gives its name.
    fn run(&mut self) -> (TerminalId, String) {
        let (session, reply) = (self.session.clone(), self.reply());
        let create = Create { command: "x".into(), limit: Some(1000), ..Create::default() };
        let effects = self.ws.terminal_create(&session, create, reply, 0);
        let id = effects.iter().find_map(|e| match e {
            Effect::AskCommand(ask) => Some(ask.terminal),
            _ => None,
        });
        let id = id.expect("a question");
        let effects = self.ws.command_decided(id, CommandVerdict::Run, 0);
        let made = self.take(effects);
        assert!(made.contains(&wire(id)), "{made}");
        (id, wire(id))
    }

    fn pty(&mut self, id: TerminalId, event: PtyEvent) -> String {
        let effects = self.ws.pty(id, event, 5000);
        self.take(effects)
    }

    fn output(&mut self, name: &str) -> String {
        let (session, reply) = (self.session.clone(), self.reply());
        let effects = self.ws.terminal_output(&session, name, reply);
        self.take(effects)
    }
}

#[test]
fn a_setting_caps_what_an_agent_asks_for_and_the_end_is_kept() {
    let mut room = Room::new();
    let (id, name) = room.run();
    room.pty(id, PtyEvent::Output([b"x".repeat(200), b"end".to_vec()].concat()));
    let output = room.output(&name);
    assert!(
        output.contains(&format!("\"{}end\"", "x".repeat(97))) && output.contains("\"truncated\":true"),
        "{output}"
    );
}

// B118
#[test]
fn the_oldest_that_ended_go_first_those_that_were_released() {
    let mut room = Room::new();
    let names: Vec<_> = (0..KEPT + 20)
        .map(|n| {
            let (id, name) = room.run();
            if n == 100 {
                let (session, reply) = (room.session.clone(), room.reply());
                let effects = room.ws.terminal_release(&session, &name, reply);
                room.take(effects);
            }
            room.pty(id, PtyEvent::Exited(CommandEnd::default()));
            name
        })
        .collect();
    assert_eq!(room.ws.terminals.all.len(), KEPT);
    let forgotten = room.told.iter().filter(|(_, cmd)| *cmd == PtyCmd::Forget).count();
    assert_eq!(forgotten, 20 + 1, "one when it was released, and each that goes");
    assert!(room.output(&names[0]).contains("-32002"));
    assert!(room.output(&names[30]).contains("exitStatus"));
}

#[test]
fn every_way_out_answers_who_waits() {
    for how in 0..4 {
        let mut room = Room::new();
        let (id, name) = room.run();
        let session = room.session.clone();
        let (wait, kill) = (room.reply(), room.reply());
        let mut effects = room.ws.terminal_wait(&session, &name, wait);
        effects.extend(room.ws.terminal_kill(&session, &name, kill));
        assert_eq!(room.take(effects), "");
        let end = CommandEnd { code: 143, signal: Some("SIGTERM".into()) };
        let answers = match how {
            0 => room.pty(id, PtyEvent::Exited(end)),
            1 => {
                let effects = room.ws.remove_session(&session);
                room.take(effects)
            }
            2 => {
                let mut all = Vec::new();
                for id in ["2", "3"] {
                    all.extend(room.ws.cancel_request(std::slice::from_ref(&session), &WireId(id.into())));
                }
                room.take(all)
            }
            _ => {
                // The agent is gone; its command ends because of that.
                let effects = room.ws.forget_agent(&session);
                room.take(effects) + &room.pty(id, PtyEvent::Exited(end))
            }
        };
        assert_eq!(answers.lines().count(), 2, "{how}: {answers}");
        assert!(answers.contains("2: ") && answers.contains("3: "), "{how}: {answers}");
    }
}

#[test]
fn a_card_says_how_long_its_command_has_run_in_steps_that_get_longer() {
    let mut room = Room::new();
    let (id, _) = room.run();
    let mut said = Vec::new();
    let mut now = 0;
    while let Some(at) = room.ws.terminals_deadline().filter(|at| *at <= 200_000) {
        assert!(at > now || now == 0, "it does not spin");
        now = at.max(now + 1);
        for effect in room.ws.terminals_due(now) {
            if let Effect::Card { card, .. } = effect {
                said.push(card.seconds);
            }
        }
    }
    assert_eq!(said, [5, 10, 15, 20, 25, 30, 35, 40, 45, 50, 55, 60, 120, 180]);
    room.pty(id, PtyEvent::Exited(CommandEnd::default()));
    room.ws.terminals_due(now + 1000);
    assert_eq!(room.ws.terminals_deadline(), None, "nothing is due of one that ended");
}

#[test]
fn what_a_person_stops_may_clean_up_and_is_ended_after_a_while_or_at_the_second_stop() {
    let mut room = Room::new();
    let (id, _) = room.run();
    room.told.clear();
    let effects = room.ws.terminal_stop(id, 1000);
    room.take(effects);
    assert_eq!(room.told, [(id, PtyCmd::Interrupt)]);
    let effects = room.ws.terminals_due(1000 + STOP - 1);
    room.take(effects);
    assert_eq!(room.told.len(), 1);
    assert_eq!(room.ws.terminals_deadline().map(|due| due <= 1000 + STOP), Some(true));
    let effects = room.ws.terminals_due(1000 + STOP);
    room.take(effects);
    assert_eq!(room.told[1..], [(id, PtyCmd::Kill)]);
    let (other, _) = room.run();
    room.told.clear();
    for _ in 0..2 {
        let effects = room.ws.terminal_stop(other, 0);
        room.take(effects);
    }
    assert_eq!(room.told, [(other, PtyCmd::Interrupt), (other, PtyCmd::Kill)]);
}

#[test]
fn that_a_person_stopped_it_is_said_whatever_the_command_left_open_and_below_what_it_wrote() {
    for open in ["", "\x1b[?1049heditor", "\x1b]0;title", "\x1bPq", "\x1b["] {
        let mut room = Room::new();
        let (id, name) = room.run();
        room.pty(id, PtyEvent::Output(format!("one\r\ntwo{open}").into_bytes()));
        let effects = room.ws.terminal_stop(id, 0);
        room.take(effects);
        room.pty(id, PtyEvent::Exited(CommandEnd { code: 130, signal: Some("SIGINT".into()) }));
        let output = room.output(&name);
        assert!(output.contains(r"one\ntwo\n[stopped by the user]\n"), "{open:?}: {output}");
        let view = room.ws.terminals.all[&id].tail.tail().0;
        let view = String::from_utf8_lossy(&view).into_owned();
        assert!(view.ends_with("[stopped by the user]\r\n") && !view.contains("1049l"), "{open:?}: {view:?}");
    }
}
