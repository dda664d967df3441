//! The card of a terminal: its command, how it goes, and its last lines.
//!
//! Owns no state. Text of commands is escaped so that it cannot hide. Part of `render`.

use super::{Line, short};
use crate::effect::TerminalCard;

/// The card's lines. The first one names the command and how it goes.
pub fn lines(card: &TerminalCard) -> Vec<Line> {
    let (status, group) = match &card.end {
        None => {
            let so_far = match card.seconds {
                0 => String::new(),
                seconds if seconds < 60 => format!(" for {seconds} s"),
                seconds => format!(" for {} min", seconds / 60),
            };
            (format!("runs{so_far}"), "BosunToolRunning")
        }
        Some(_) if card.stopped => (format!("stopped after {} s", card.seconds), "BosunToolCancelled"),
        Some(end) if end.code == 0 => (format!("done in {} s", card.seconds), "BosunToolDone"),
        Some(end) if end.told().is_none() && end.signal.is_none() => {
            ("ended; the agent does not say how".to_owned(), "BosunToolCancelled")
        }
        Some(end) => {
            let how = end.signal.as_ref().map_or_else(|| format!("exit {}", end.code), String::clone);
            (format!("{how} after {} s", card.seconds), "BosunToolFailed")
        }
    };
    let mut lines = vec![Line::of(format!("$ {} ({status}; <CR> opens it)", short(&card.line)), group)];
    lines.extend(card.lines.iter().map(|line| Line::of(format!("  {}", short(line)), "BosunCode")));
    if let Some(log) = &card.log {
        let what = if card.log_is_all { "all of it" } else { "its first 16 MiB" };
        lines.push(Line::of(format!("  {what}: {}", short(&log.to_string_lossy())), "BosunLink"));
    }
    lines
}
