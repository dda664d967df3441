//! The end of what a program wrote, for a view that is opened later, without what must not reach an editor's terminal.
//!
//! Owns the filter: orders to the terminal's owner (OSC, but for links), strings for devices (DCS, APC, PM, SOS) and bells
//! are left out, also where they are cut into pieces. All else, queries included, passes as it came. Part of `terminals`.

/// Bytes of an order that is looked at; a longer one is left out.
const ORDER: usize = 4 << 10;

/// Where no line begins within so many bytes, a part begins elsewhere.
const NEAR: usize = 4 << 10;
/// What links may lead to; others could start a program with what a command chose.
const SCHEMES: [&[u8]; 4] = [b"http", b"https", b"file", b"mailto"];

const ESC: u8 = 0x1b;
const BEL: u8 = 0x07;

/// Where the filter stands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum State {
    #[default]
    Ground,
    /// After ESC.
    Escape,
    /// After the first byte of a control in two bytes.
    Wide,
    /// In an OSC; in its end after ESC.
    Order { ending: bool },
    /// In a string that nobody needs; in its end after ESC.
    Device { ending: bool },
}

/// See the module.
#[derive(Debug)]
pub struct Tail {
    cap: usize,
    bytes: Vec<u8>,
    skipped: bool,
    state: State,
    /// The OSC so far.
    order: Vec<u8>,
}

impl Tail {
    /// Keeps the last `cap` bytes.
    pub fn new(cap: usize) -> Self {
        Self { cap, bytes: Vec::new(), skipped: false, state: State::Ground, order: Vec::new() }
    }

    /// More bytes; gives what passed of them.
    pub fn push(&mut self, bytes: &[u8]) -> Vec<u8> {
        let passed = self.filter(bytes);
        self.bytes.extend_from_slice(&passed[passed.len().saturating_sub(2 * self.cap)..]);
        if self.bytes.len() > 2 * self.cap {
            self.skipped = true;
            self.bytes.drain(..self.bytes.len() - self.cap);
        }
        passed
    }

    /// The last bytes that passed, from a line's start where something is missing, and whether that is so.
    pub fn tail(&self) -> (Vec<u8>, bool) {
        let from = self.bytes.len().saturating_sub(self.cap);
        let skipped = self.skipped || from > 0;
        let rest = &self.bytes[from..];
        (rest[if skipped { beginning(rest) } else { 0 }..].to_vec(), skipped)
    }

    fn filter(&mut self, bytes: &[u8]) -> Vec<u8> {
        let mut out = Vec::with_capacity(bytes.len() + 2);
        let mut at = 0;
        while at < bytes.len() {
            if self.state == State::Ground {
                let next = memchr::memchr3(ESC, BEL, 0xc2, &bytes[at..]).map_or(bytes.len(), |n| at + n);
                out.extend_from_slice(&bytes[at..next]);
                at = next;
                if at == bytes.len() {
                    break;
                }
            }
            self.byte(bytes[at], &mut out);
            at += 1;
        }
        out
    }

    fn byte(&mut self, byte: u8, out: &mut Vec<u8>) {
        self.state = match (self.state, byte) {
            (State::Ground, ESC) => State::Escape,
            (State::Ground, 0xc2) => State::Wide,
            (State::Ground, BEL) => State::Ground,
            (State::Ground, _) => {
                out.push(byte);
                State::Ground
            }
            // The controls of the second half, as UTF-8.
            (State::Wide, 0x9d) => self.begin(),
            (State::Wide, 0x90 | 0x98 | 0x9e | 0x9f) => State::Device { ending: false },
            (State::Wide, _) => {
                out.push(0xc2);
                // It may begin something else.
                self.state = State::Ground;
                return self.byte(byte, out);
            }
            (State::Escape, b']') => self.begin(),
            (State::Escape, b'P' | b'X' | b'^' | b'_') => State::Device { ending: false },
            (State::Escape, ESC) => State::Escape,
            // A control inside a sequence does not end it.
            (State::Escape, 0x18 | 0x1a) => State::Ground,
            (State::Escape, 0..=0x1f | 0x7f) => State::Escape,
            // The editor's terminal would still wait for the rest: the ESC is left out.
            (State::Escape, 0x80..) => {
                self.state = State::Ground;
                return self.byte(byte, out);
            }
            (State::Escape, _) => {
                out.extend([ESC, byte]);
                State::Ground
            }
            (State::Order { ending: true }, b'\\') | (State::Order { .. }, BEL) => self.ordered(out),
            (State::Device { ending: true }, b'\\') => State::Ground,
            (State::Order { .. } | State::Device { .. }, 0x18 | 0x1a) => State::Ground,
            (State::Order { ending: false }, ESC) => State::Order { ending: true },
            (State::Device { ending: false }, ESC) => State::Device { ending: true },
            // Another sequence begins where the end was due.
            (State::Order { ending: true } | State::Device { ending: true }, _) => {
                self.state = State::Escape;
                return self.byte(byte, out);
            }
            (State::Order { ending: false }, _) => {
                if self.order.len() <= ORDER {
                    self.order.push(byte);
                }
                if self.order.ends_with(&[0xc2, 0x9c]) {
                    self.order.truncate(self.order.len() - 2);
                    self.ordered(out)
                } else {
                    State::Order { ending: false }
                }
            }
            (State::Device { ending: false }, _) => State::Device { ending: false },
        };
    }

    fn begin(&mut self) -> State {
        self.order.clear();
        State::Order { ending: false }
    }

    /// An OSC has ended: a link passes.
    fn ordered(&mut self, out: &mut Vec<u8>) -> State {
        if self.order.len() <= ORDER && is_link(&self.order) {
            out.extend(b"\x1b]");
            out.extend_from_slice(&self.order);
            out.extend(b"\x1b\\");
        }
        State::Ground
    }
}

/// Where a part of what a program wrote may begin without a piece of an escape sequence, or of a character: at a line
/// where one is near, else at a sequence of its own, else at a character that no sequence has.
pub fn beginning(bytes: &[u8]) -> usize {
    let near = &bytes[..bytes.len().min(NEAR)];
    let line = near.iter().position(|b| *b == b'\n').map(|at| at + 1);
    let sequence = || near.iter().position(|b| *b == ESC);
    // Blanks, letters of words and numbers may all be in one; a whole character beyond ASCII never is.
    let character = || near.iter().position(|b| *b >= 0xc2);
    line.or_else(sequence).or_else(character).unwrap_or(0)
}

/// Whether an order is a link, to what a person may well open, or the end of one.
fn is_link(order: &[u8]) -> bool {
    let target = order.strip_prefix(b"8;").and_then(|rest| rest.splitn(2, |b| *b == b';').nth(1));
    target.is_some_and(|target| {
        let scheme = target.split(|b| *b == b':').next().unwrap_or_default().to_ascii_lowercase();
        target.is_empty() || SCHEMES.contains(&scheme.as_slice())
    })
}

#[cfg(test)]
mod tests;
