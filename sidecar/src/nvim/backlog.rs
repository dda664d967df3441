//! Calls that wait for Neovim to answer earlier ones.
//!
//! Owns the queue while the editor is slow, at a prompt, or suspended for hours. It never sends. Used by [`super`].
//!
//! Bound: of each snapshot only the newest waits; news beyond [`NEWS`] drop the oldest; of the rest there is at most one
//! patch per transcript, one edit per open request of an agent, one attach, detach or slice per buffer, and the slices
//! of the diffs that a person asked for.

use std::collections::VecDeque;

use super::outbound::{Call, Kind};

/// News that may wait.
pub const NEWS: usize = 1000;

/// See the module.
#[derive(Debug, Default)]
pub struct Backlog {
    /// In order.
    calls: VecDeque<Call>,
    /// How many of them are news.
    news: usize,
}

impl Backlog {
    /// Whether nothing waits.
    pub fn is_empty(&self) -> bool {
        self.calls.is_empty()
    }

    /// Adds a call, and drops what it makes pointless.
    pub fn push(&mut self, call: Call) {
        match call.kind {
            Kind::Snapshot(_) => self.calls.retain(|c| c.kind != call.kind),
            Kind::News(_) if self.news == NEWS => {
                let oldest = self.calls.iter().position(|c| matches!(c.kind, Kind::News(_)));
                let dropped = oldest.and_then(|at| self.calls.remove(at));
                tracing::warn!(dropped = dropped.map(|c| c.kind.name()), "Neovim has been away for long");
            }
            Kind::News(_) => self.news += 1,
            _ => {}
        }
        self.calls.push_back(call);
    }

    /// The next to be sent.
    pub fn pop(&mut self) -> Option<Call> {
        let call = self.calls.pop_front()?;
        self.news -= usize::from(matches!(call.kind, Kind::News(_)));
        Some(call)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(kinds: &[Kind], expected: &[Kind]) {
        let mut backlog = Backlog::default();
        for kind in kinds {
            backlog.push(Call { kind: *kind, method: "x", args: Vec::new() });
        }
        let left: Vec<_> = std::iter::from_fn(|| backlog.pop()).map(|c| c.kind).collect();
        assert_eq!(left, expected);
        assert_eq!((backlog.news, backlog.is_empty()), (0, true));
    }

    #[test]
    fn of_each_snapshot_only_the_newest_waits_and_the_rest_keeps_its_order() {
        let (a, b, m) = (Kind::Snapshot("sessions"), Kind::Snapshot("questions"), Kind::Message("edit"));
        check(&[a, m, b, a, m, a], &[m, b, m, a]);
    }

    #[test]
    fn a_suspended_editor_is_told_the_last_thousand_news() {
        let mut kinds = vec![Kind::News("user_event"), Kind::Detach];
        kinds.extend([Kind::News("notify"); NEWS]);
        check(&kinds, &kinds[1..]);
    }
}
