//! Events of one terminal on their way to the lane: output joined into chunks, and everything in order.
//!
//! Owns what waits. It never waits itself. Called by `live`.

use std::collections::VecDeque;

use super::CHUNK;
use crate::event::PtyEvent;

/// See the module.
#[derive(Debug, Default)]
pub struct Outgoing {
    /// Before `tail`.
    queue: VecDeque<PtyEvent>,
    /// The last output; kept apart so that its memory is used again.
    tail: Vec<u8>,
}

impl Outgoing {
    /// Whether nothing waits.
    pub fn is_empty(&self) -> bool {
        self.queue.is_empty() && self.tail.is_empty()
    }

    /// Whether more output may be read: no more than one chunk waits.
    pub fn has_room(&self) -> bool {
        self.queue.is_empty() && self.tail.len() < CHUNK
    }

    /// Where output is appended, with capacity for the rest of a chunk.
    pub fn tail(&mut self) -> &mut Vec<u8> {
        if self.tail.len() >= CHUNK {
            self.close_chunk();
        }
        self.tail.reserve_exact(CHUNK - self.tail.len());
        &mut self.tail
    }

    /// Puts an event after all that waits.
    pub fn push(&mut self, event: PtyEvent) {
        self.close_chunk();
        self.queue.push_back(event);
    }

    /// The next event. `None` if nothing waits.
    pub fn pop(&mut self) -> Option<PtyEvent> {
        self.queue.pop_front().or_else(|| {
            let bytes = self.tail.as_slice().to_vec();
            self.tail.clear();
            (!bytes.is_empty()).then_some(PtyEvent::Output(bytes))
        })
    }

    /// Nobody takes events any more.
    pub fn clear(&mut self) {
        *self = Self::default();
    }

    fn close_chunk(&mut self) {
        if !self.tail.is_empty() {
            self.queue.push_back(PtyEvent::Output(std::mem::take(&mut self.tail)));
        }
    }
}
