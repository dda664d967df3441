//! What Neovim says, routed to the rooms.
//!
//! Part of the app: decides only which room an event belongs to.

use super::App;
use crate::effect::{Effect, NvimCmd};
use crate::event::NvimEvent;
use crate::model::Millis;

impl App {
    pub(super) fn editor_event(&mut self, event: NvimEvent, now: Millis) -> Vec<Effect> {
        match event {
            NvimEvent::Hello(hello) => {
                // A second hello can only come from a Lua side that started over; it is told the same again.
                tracing::info!(?hello, "hello");
                vec![Effect::Nvim(NvimCmd::Welcome {
                    protocol: crate::nvim::PROTOCOL,
                    version: env!("CARGO_PKG_VERSION").to_owned(),
                    log: self.log_dir.join(crate::trace::LOG_NAME),
                })]
            }
            NvimEvent::BufMeta(meta) => self.workspace.buf_meta(meta),
            NvimEvent::BufLines { buf, tick, first, last, lines, more } => {
                self.workspace.buf_lines(buf, tick, first, last, &lines, more)
            }
            NvimEvent::BufTick { buf, tick } => self.workspace.buf_tick(buf, tick),
            NvimEvent::BufDetached { buf } => self.workspace.buf_detached(buf),
            NvimEvent::BufClosed { buf } => self.workspace.buf_closed(buf),
            NvimEvent::Slice { buf, tick, start, total, lines, empty } => {
                self.workspace.slice(buf, tick, start, total, &lines, empty)
            }
            NvimEvent::EditDone { op, outcome } => self.workspace.edit_done(op, outcome),
            NvimEvent::Safe { buf } => {
                let mut effects = self.workspace.safe(buf);
                effects.extend(self.mode_over());
                effects
            }
            NvimEvent::Saved { save, failed, busy } => self.saved(save, &failed, busy),
            NvimEvent::DiskChanged { buf } => self.workspace.disk_changed(buf),
            NvimEvent::Typed => self.workspace.typed(),
            NvimEvent::TerminalView { terminal, shown, rows, cols } => {
                self.workspace.terminal_view(terminal, shown, rows, cols)
            }
            NvimEvent::TerminalAck { terminal, seq } => {
                self.workspace.terminal_ack(terminal, seq);
                Vec::new()
            }
            NvimEvent::TerminalInput { terminal, data } => self.workspace.terminal_input(terminal, data),
            NvimEvent::TerminalStop { terminal } => self.workspace.terminal_stop(terminal, now),
            NvimEvent::ViewAck { session, version } => {
                self.view.ack(&session, version);
                Vec::new()
            }
            NvimEvent::Action(action) => self.action(action, now),
            // The loop ends by itself; nothing is left to be told.
            NvimEvent::Closed => Vec::new(),
        }
    }
}
