//! Bytes that wait for an agent to read them.
//!
//! Owns the queue, its bound, and what is known of the agent's reading. It never writes anything (`conn` does) and has
//! no clock.

use std::time::Duration;

use tokio::time::Instant;

/// Bytes that may wait for an agent that does not read. A message that would go beyond it while others wait is refused.
pub const CAP: usize = 64 << 20;
/// An agent that has not read for this long while bytes wait is reported as stuck.
pub const STALL: Duration = Duration::from_secs(5);
/// Room that an empty queue keeps.
const ROOM: usize = 1 << 20;

/// The queue would grow beyond [`CAP`].
#[derive(Debug, PartialEq, Eq)]
pub struct Full;

/// What waits for one agent.
#[derive(Debug)]
pub struct Outbox {
    /// Waiting from `sent` on.
    bytes: Vec<u8>,
    sent: usize,
    /// When the agent last took bytes, or the queue was last empty.
    moved: Instant,
    /// The stall has been reported.
    stuck: bool,
}

impl Outbox {
    /// An empty queue.
    pub fn new(now: Instant) -> Self {
        Self { bytes: Vec::new(), sent: 0, moved: now, stuck: false }
    }

    /// Puts a message in line. One message of any size is taken when nothing else waits.
    pub fn push(&mut self, message: &[u8], now: Instant) -> Result<(), Full> {
        if self.is_empty() {
            self.moved = now;
        } else if self.waiting().len() + message.len() > CAP {
            return Err(Full);
        }
        self.bytes.extend_from_slice(message);
        Ok(())
    }

    /// What the agent has not taken yet.
    pub fn waiting(&self) -> &[u8] {
        &self.bytes[self.sent..]
    }

    /// Nothing waits.
    pub fn is_empty(&self) -> bool {
        self.sent == self.bytes.len()
    }

    /// The agent took `n` bytes. True when that ends a stall that was reported.
    pub fn took(&mut self, n: usize, now: Instant) -> bool {
        self.sent += n;
        self.moved = now;
        if self.is_empty() {
            self.clear();
        } else if self.sent > ROOM && self.sent > self.bytes.len() / 2 {
            // Half of it at a time, so that each byte is moved a bounded number of times.
            self.bytes.drain(..self.sent);
            self.sent = 0;
        }
        std::mem::take(&mut self.stuck)
    }

    /// Drops what waits: nobody will read it.
    pub fn clear(&mut self) {
        self.bytes.clear();
        self.bytes.shrink_to(ROOM);
        self.sent = 0;
    }

    /// When the agent counts as stuck, unless it reads until then.
    pub fn stalls_at(&self) -> Option<Instant> {
        (!self.is_empty() && !self.stuck).then(|| self.moved + STALL)
    }

    /// The bytes that wait, when a stall is to be reported at `now`. Once per stall.
    pub fn stalled(&mut self, now: Instant) -> Option<usize> {
        let due = self.stalls_at().is_some_and(|at| at <= now);
        self.stuck |= due;
        due.then(|| self.waiting().len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_leave_in_the_order_they_came_however_they_are_taken() {
        let now = Instant::now();
        let mut out = Outbox::new(now);
        let (mut given, mut taken) = (Vec::new(), Vec::new());
        for n in 0..300_u32 {
            let message = vec![n as u8; 20_000];
            out.push(&message, now).unwrap();
            given.extend(message);
            let n = out.waiting().len().min(15_000 + n as usize);
            taken.extend_from_slice(&out.waiting()[..n]);
            out.took(n, now);
        }
        taken.extend_from_slice(out.waiting());
        assert!(given == taken);
    }

    #[test]
    fn the_bound_counts_what_waits_but_one_message_always_fits() {
        let now = Instant::now();
        let mut out = Outbox::new(now);
        let huge = vec![b'x'; CAP + 1];
        out.push(&huge, now).unwrap();
        assert_eq!(out.push(b"y", now), Err(Full));
        assert_eq!(out.waiting().len(), CAP + 1);
        out.took(10, now);
        assert_eq!(out.push(b"y", now), Ok(()));
        out.took(out.waiting().len(), now);
        assert!(out.is_empty() && out.bytes.capacity() <= ROOM);
    }

    #[test]
    fn a_stall_is_told_once_and_its_end_once() {
        let start = Instant::now();
        let mut out = Outbox::new(start);
        assert_eq!(out.stalls_at(), None);
        let later = start + Duration::from_secs(60);
        out.push(b"abc", later).unwrap();
        assert_eq!(out.stalled(later + STALL / 2), None);
        assert_eq!(out.stalled(later + STALL), Some(3));
        assert_eq!((out.stalled(later + STALL * 2), out.stalls_at()), (None, None));
        assert!(out.took(1, later + STALL * 3));
        assert!(!out.took(1, later + STALL * 3));
        assert_eq!(out.stalls_at(), Some(later + STALL * 4));
    }
}
