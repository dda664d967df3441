//! The loop: one task that takes events from two lanes, lets the app apply them, and hands its effects to the edges.
//!
//! Owns the edges' handles and the clock. It awaits nothing but its inbox: effects are handed over, never waited for.
//! Neovim's lane comes first, so a flooding agent never delays a key press.

use std::time::{Duration, Instant};

use tokio::sync::mpsc;

use crate::agent::Agents;
use crate::app::App;
use crate::disk::keep::Keep;
use crate::disk::spill::Spill;
use crate::disk::{Disk, Watch};
use crate::effect::Effect;
use crate::event::{Event, NvimEvent};
use crate::guard::GuardHandle;
use crate::model::Millis;
use crate::nvim::Nvim;
use crate::nvim::visit::editor_env;
use crate::pty::{self, Ptys};

/// Events that wait in each lane before its edges wait too.
const LANE: usize = 1024;
/// Events of one lane that are applied before the other lane and the frame clock are looked at again.
const BATCH: usize = 128;
/// Events of terminals that are applied in one turn of the loop: up to half a megabyte of text.
const PTY_BATCH: usize = 8;

/// Serves one Neovim on standard input and output until its channel closes. Returns the exit code.
pub async fn serve() -> i32 {
    let (nvim_lane, mut nvim_inbox) = mpsc::channel(LANE);
    let nvim = match Nvim::start(nvim_lane, crate::view::GROUPS) {
        Ok(nvim) => nvim,
        Err(error) => {
            eprintln!("bosun: {error}");
            return 1;
        }
    };
    // Nothing can be logged or started before the editor has said where logs go.
    let hello = loop {
        match nvim_inbox.recv().await {
            Some(Event::Nvim(NvimEvent::Hello(hello))) => break hello,
            Some(Event::Nvim(NvimEvent::Closed)) | None => return 0,
            Some(other) => tracing::warn!(?other, "before hello"),
        }
    };
    crate::trace::init(&hello.log_dir);
    let guard = GuardHandle::start();
    let (lane, mut inbox) = mpsc::channel(LANE);
    // A lane of its own: a command that floods holds up no agent.
    let (pty_lane, mut pty_inbox) = mpsc::channel(pty::LANE);
    let editor = std::env::current_exe().map(|exe| editor_env(&hello.server, &exe)).unwrap_or_default();
    let mut edges = Edges {
        agents: Agents::new(lane.clone(), hello.log_dir.clone(), guard.clone()),
        disk: Disk::new(lane.clone()),
        keep: Keep::new(&hello.log_dir, lane.clone()),
        watch: Watch::start(lane),
        ptys: Ptys::new(pty_lane, guard, editor),
        spill: Spill::new(&hello.log_dir),
        nvim,
    };
    let mut app = App::new(&hello);
    app.spill_into(edges.spill.folder());
    let mut term = tokio::signal::unix::signal(tokio::signal::unix::SignalKind::terminate()).ok();
    let started = Instant::now();
    let now = || -> Millis { started.elapsed().as_millis() as Millis };
    let mut effects = Vec::new();
    let mut batch = Vec::with_capacity(BATCH);
    app.apply(Event::Nvim(NvimEvent::Hello(hello)), now(), &mut effects);
    'serving: loop {
        let mut ptys = 0;
        app.settle(now(), &mut effects);
        for effect in effects.drain(..) {
            edges.carry_out(effect);
        }
        let deadline = app.next_deadline().map(|at| started + Duration::from_millis(at));
        let wake = tokio::time::sleep_until(deadline.unwrap_or_else(Instant::now).into());
        tokio::select! {
            biased;
            event = nvim_inbox.recv() => match event {
                Some(event) => {
                    batch.push(event);
                    fill(&mut batch, &mut nvim_inbox);
                }
                None => break 'serving,
            },
            Some(event) = inbox.recv() => {
                batch.push(event);
                fill(&mut batch, &mut inbox);
            }
            Some((terminal, event)) = pty_inbox.recv() => batch.push(Event::Pty(terminal, event)),
            _ = wake, if deadline.is_some() => {}
            _ = terminated(&mut term) => break 'serving,
        }
        // Neither of the two may keep the other waiting for ever.
        while ptys < PTY_BATCH
            && let Ok((terminal, event)) = pty_inbox.try_recv()
        {
            batch.push(Event::Pty(terminal, event));
            ptys += 1;
        }
        for event in batch.drain(..) {
            if matches!(event, Event::Nvim(NvimEvent::Closed)) {
                break 'serving;
            }
            app.apply(event, now(), &mut effects);
        }
    }
    tracing::info!("the editor's channel is closed; ending all agents");
    // Nobody takes events any more; agents that wait for room in the lane must not.
    drop((inbox, pty_inbox));
    tokio::join!(edges.agents.shutdown(), edges.ptys.end());
    0
}

/// Takes what waits in a lane already, up to a batch.
fn fill(batch: &mut Vec<Event>, lane: &mut mpsc::Receiver<Event>) {
    while batch.len() < BATCH {
        match lane.try_recv() {
            Ok(event) => batch.push(event),
            Err(_) => return,
        }
    }
}

async fn terminated(signal: &mut Option<tokio::signal::unix::Signal>) {
    match signal {
        Some(signal) => {
            signal.recv().await;
        }
        None => std::future::pending().await,
    }
}

/// The handles of everything outside.
struct Edges {
    agents: Agents,
    disk: Disk,
    watch: Watch,
    ptys: Ptys,
    spill: Spill,
    keep: Keep,
    nvim: Nvim,
}

impl Edges {
    fn carry_out(&mut self, effect: Effect) {
        match effect {
            Effect::Nvim(cmd) => self.nvim.command(cmd),
            Effect::Agent(agent, cmd) => self.agents.command(agent, cmd),
            Effect::Disk(op, cmd) => self.disk.command(op, cmd),
            Effect::Answer(reply, result) => reply.send(result),
            Effect::Watch(wish) => self.watch.wish(wish),
            Effect::Keep(cmd) => self.keep.push(cmd),
            Effect::Spill(terminal, bytes) => self.spill.push(terminal, bytes),
            Effect::Pty(terminal, cmd) => self.ptys.tell(terminal, cmd),
            Effect::Told { .. }
            | Effect::AskWrite(_)
            | Effect::AskWithdrawn { .. }
            | Effect::AskAccess(_)
            | Effect::AskCommand(_)
            | Effect::CommandDecided { .. }
            | Effect::CommandWithdrawn { .. }
            | Effect::Card { .. }
            | Effect::Landed(_)
            | Effect::AccessDecided { .. }
            | Effect::WriteDecided { .. }
            | Effect::PromptDue { .. }
            | Effect::PromptForgotten { .. } => {
                tracing::error!(?effect, "left over between the rooms");
            }
        }
    }
}
