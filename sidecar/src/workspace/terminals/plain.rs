//! What a person would have read of a terminal's bytes, as plain text, while they stream in.
//!
//! Owns the open lines, those that a program can still rewrite, and the text above them. It never drops text by itself
//! but what was rewritten: [`Plain::bound`] does, from the front. Part of the store.
//!
//! A program may move back to the last [`REACH`] lines and rewrite them, as progress bars do. Lines are not wrapped. A
//! tab is one cell. To clear the screen or to go to its top begins a new line: what was there was read. What is drawn on
//! the alternate screen (editors, pagers) is no text.

use unicode_width::UnicodeWidthChar;
use vte::{Params, Parser, Perform};

use super::line::Line;

/// Lines that can be gone back to.
pub const REACH: usize = 64;
/// The most cells that a cursor can be moved to the right of a line's end.
const FAR: usize = 1000;

/// See the module.
#[derive(Default)]
pub struct Plain {
    parser: Parser,
    page: Page,
    /// Bytes of a character whose rest has not come yet.
    partial: Vec<u8>,
}

impl std::fmt::Debug for Plain {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Plain").field("page", &self.page).finish_non_exhaustive()
    }
}

/// The text so far and the cursor in it.
#[derive(Debug)]
struct Page {
    /// Finished lines, each with its newline.
    done: String,
    /// The line with the cursor, and those below that a program went up from. Never empty.
    open: Vec<Line>,
    row: usize,
    col: usize,
    saved: (usize, usize),
    /// The alternate screen is shown.
    alternate: bool,
    /// No escape sequence is open.
    ground: bool,
    /// Something was dropped from the front.
    cut: bool,
}

impl Default for Page {
    fn default() -> Self {
        Self {
            done: String::new(),
            open: vec![Line::default()],
            row: 0,
            col: 0,
            saved: (0, 0),
            alternate: false,
            ground: true,
            cut: false,
        }
    }
}

impl Plain {
    /// More bytes.
    pub fn feed(&mut self, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            let taken = if self.page.ground {
                self.ground(bytes)
            } else {
                self.parser.advance_until_terminated(&mut self.page, bytes)
            };
            bytes = &bytes[taken..];
        }
    }

    /// Bytes outside escape sequences: how many were taken.
    fn ground(&mut self, bytes: &[u8]) -> usize {
        if !self.partial.is_empty() {
            return self.complete(bytes);
        }
        if bytes[0] == 0x1b {
            self.page.ground = false;
            return self.parser.advance_until_terminated(&mut self.page, bytes);
        }
        if let Some(taken) = self.page.lines(bytes) {
            return taken;
        }
        let end = bytes.iter().position(|b| *b < 0x20 || *b >= 0x7f).unwrap_or(bytes.len());
        if end > 0 {
            // ASCII by its bounds.
            self.page.ascii(std::str::from_utf8(&bytes[..end]).unwrap_or_default());
            return end;
        }
        if bytes[0] < 0x80 {
            self.page.execute(bytes[0]);
            return 1;
        }
        let end = bytes.iter().position(|b| *b < 0x80).unwrap_or(bytes.len());
        let mut taken = 0;
        for chunk in bytes[..end].utf8_chunks() {
            chunk.valid().chars().for_each(|c| self.page.put(c));
            let bad = chunk.invalid();
            taken += chunk.valid().len() + bad.len();
            if bad.is_empty() {
                continue;
            }
            // The rest of the character may come with the next bytes.
            if taken == bytes.len() && may_go_on(bad) {
                self.partial.extend_from_slice(bad);
            } else {
                self.page.put(char::REPLACEMENT_CHARACTER);
            }
        }
        end
    }

    /// One more byte for a character that was cut.
    fn complete(&mut self, bytes: &[u8]) -> usize {
        let goes_on = (0x80..0xc0).contains(&bytes[0]);
        if goes_on {
            self.partial.push(bytes[0]);
        }
        match std::str::from_utf8(&self.partial) {
            Ok(text) => {
                if let Some(c) = text.chars().next() {
                    self.page.put(c);
                }
                self.partial.clear();
            }
            Err(_) if goes_on && may_go_on(&self.partial) => {}
            Err(_) => {
                // A byte that does not belong to it begins something else.
                let own = goes_on && !may_go_on(&self.partial) && self.partial.len() > 1;
                self.partial.clear();
                self.page.put(char::REPLACEMENT_CHARACTER);
                return usize::from(goes_on && !own) + usize::from(own);
            }
        }
        usize::from(goes_on)
    }

    /// Bytes of text.
    pub fn size(&self) -> usize {
        let open: usize = self.page.open.iter().map(|line| line.text().len() + 1).sum();
        self.page.done.len() + open - 1 + if self.partial.is_empty() { 0 } else { 3 }
    }

    /// Drops text from the front once it is more than twice `limit`: at least the last `limit` bytes stay.
    pub fn bound(&mut self, limit: usize) {
        let page = &mut self.page;
        if page.done.len() > limit.saturating_mul(2).saturating_add(64 << 10) {
            let from = page.done.floor_char_boundary(page.done.len() - limit);
            page.done.drain(..from);
            page.cut = true;
        }
    }

    /// The last `limit` bytes of the text, from a character's start, and whether there is more.
    pub fn text(&self, limit: usize) -> (String, bool) {
        let len = self.size();
        let skip = len.saturating_sub(limit);
        let mut text = String::with_capacity(len.min(limit) + 4);
        let done = &self.page.done;
        text.push_str(&done[done.ceil_char_boundary(skip.min(done.len()))..]);
        for (n, line) in self.page.open.iter().enumerate() {
            if n > 0 {
                text.push('\n');
            }
            text.push_str(line.text());
        }
        if !self.partial.is_empty() {
            text.push(char::REPLACEMENT_CHARACTER);
        }
        let over = text.ceil_char_boundary(text.len().saturating_sub(limit));
        text.drain(..over);
        (text, self.page.cut || skip > 0)
    }

    /// The last lines, oldest first; without an empty one at the end.
    pub fn last_lines(&self, count: usize) -> Vec<String> {
        let open = self.page.open.iter().rev().map(Line::text);
        let done = self.page.done.strip_suffix('\n').map(|text| text.rsplit('\n')).into_iter().flatten();
        let lines = open.chain(done).skip_while(|line| line.is_empty()).take(count);
        let mut lines: Vec<String> = lines.map(str::to_owned).collect();
        lines.reverse();
        lines
    }
}

/// Whether more bytes could make a character of these.
fn may_go_on(bytes: &[u8]) -> bool {
    std::str::from_utf8(bytes).is_err_and(|e| e.valid_up_to() == 0 && e.error_len().is_none())
}

impl Page {
    /// Whole lines of ASCII, where nothing is open: how many bytes.
    fn lines(&mut self, bytes: &[u8]) -> Option<usize> {
        if self.alternate || self.open.len() > 1 || !self.open[0].is_empty() || self.col > 0 {
            return None;
        }
        let mut taken = 0;
        while let Some(end) = memchr::memchr(b'\n', &bytes[taken..]) {
            let line = &bytes[taken..taken + end];
            let line = line.strip_suffix(b"\r").unwrap_or(line);
            if !line.iter().all(|b| (0x20..0x7f).contains(b) || *b == b'\t') {
                break;
            }
            self.done.push_str(std::str::from_utf8(line).unwrap_or_default());
            self.done.push('\n');
            taken += end + 1;
        }
        (taken > 0).then_some(taken)
    }

    fn ascii(&mut self, text: &str) {
        if !self.alternate {
            self.open[self.row].ascii(self.col, text);
            self.col += text.len();
        }
    }

    fn put(&mut self, c: char) {
        if self.alternate || c.is_control() && c != '\t' {
            return;
        }
        let width = if c == '\t' { 1 } else { c.width().unwrap_or(0) };
        self.open[self.row].put(self.col, c, width);
        self.col += width;
    }

    fn newline(&mut self) {
        self.col = 0;
        if self.row + 1 < self.open.len() {
            self.row += 1;
            return;
        }
        for line in self.open.drain(..) {
            self.done.push_str(line.text());
            self.done.push('\n');
        }
        self.open.push(Line::default());
        self.row = 0;
    }

    /// What comes stands below what is there.
    fn new_screen(&mut self) {
        self.row = self.open.len() - 1;
        if !self.open[self.row].is_empty() {
            self.newline();
        }
        self.col = 0;
    }

    fn up(&mut self, count: usize) {
        for _ in 0..count {
            if self.row > 0 {
                self.row -= 1;
            } else if self.open.len() < REACH && self.done.pop().is_some() {
                // The newline is gone; the line before it is open again.
                let start = self.done.rfind('\n').map_or(0, |at| at + 1);
                let line = Line::from(self.done.split_off(start));
                self.open.insert(0, line);
            }
        }
    }

    fn control(&mut self, byte: u8) {
        match byte {
            b'\n' | 0x0b | 0x0c => self.newline(),
            b'\r' => self.col = 0,
            0x08 => self.col = self.col.saturating_sub(1),
            b'\t' => self.put('\t'),
            _ => {}
        }
    }
}

/// A parameter; absent or 0 is 1.
fn count(params: &Params) -> usize {
    usize::from(params.iter().next().and_then(|p| p.first().copied()).unwrap_or(0).max(1))
}

/// A parameter; absent is 0.
fn kind(params: &Params) -> u16 {
    params.iter().next().and_then(|p| p.first().copied()).unwrap_or(0)
}

impl Perform for Page {
    fn print(&mut self, c: char) {
        self.ground = true;
        self.put(c);
    }

    fn execute(&mut self, byte: u8) {
        // CAN and SUB end a sequence; other controls may stand inside one.
        self.ground |= matches!(byte, 0x18 | 0x1a);
        if !self.alternate {
            self.control(byte);
        }
    }

    fn csi_dispatch(&mut self, params: &Params, intermediates: &[u8], _ignore: bool, action: char) {
        self.ground = true;
        if intermediates == b"?" {
            let screens = params.iter().any(|p| matches!(p.first(), Some(47 | 1047 | 1049)));
            match action {
                'h' if screens => self.alternate = true,
                'l' if screens => self.alternate = false,
                _ => {}
            }
            return;
        }
        if self.alternate || !intermediates.is_empty() {
            return;
        }
        let n = count(params);
        match action {
            'A' => self.up(n),
            'F' => {
                self.up(n);
                self.col = 0;
            }
            'B' | 'e' => self.row = (self.row + n).min(self.open.len() - 1),
            'E' => {
                self.row = (self.row + n).min(self.open.len() - 1);
                self.col = 0;
            }
            'C' | 'a' => self.col = (self.col + n).min(self.open[self.row].cells() + FAR),
            'D' => self.col = self.col.saturating_sub(n),
            'G' | '`' => self.col = (n - 1).min(self.open[self.row].cells() + FAR),
            'H' | 'f' => self.new_screen(),
            'J' => match kind(params) {
                0 => {
                    self.open.truncate(self.row + 1);
                    self.open[self.row].cut(self.col);
                }
                1 => {}
                _ => self.new_screen(),
            },
            'K' => match kind(params) {
                0 => self.open[self.row].cut(self.col),
                1 => self.open[self.row].blank(0, self.col + 1),
                _ => self.open[self.row].cut(0),
            },
            'X' => self.open[self.row].blank(self.col, self.col + n),
            'P' => self.open[self.row].delete(self.col, n),
            '@' => self.open[self.row].insert(self.col, n.min(FAR)),
            's' => self.saved = (self.open.len() - self.row, self.col),
            'u' => self.restore(),
            _ => {}
        }
    }

    fn esc_dispatch(&mut self, intermediates: &[u8], _ignore: bool, byte: u8) {
        self.ground = true;
        if self.alternate || !intermediates.is_empty() {
            return;
        }
        match byte {
            b'M' => self.up(1),
            b'D' | b'E' => self.newline(),
            b'c' => self.new_screen(),
            b'7' => self.saved = (self.open.len() - self.row, self.col),
            b'8' => self.restore(),
            _ => {}
        }
    }

    fn osc_dispatch(&mut self, _params: &[&[u8]], bell_terminated: bool) {
        // Otherwise its end, ESC and a backslash, is still to come.
        self.ground |= bell_terminated;
    }

    fn terminated(&self) -> bool {
        self.ground
    }
}

impl Page {
    fn restore(&mut self) {
        let (from_end, col) = self.saved;
        if from_end > 0 {
            self.row = self.open.len().saturating_sub(from_end);
            self.col = col.min(self.open[self.row].cells() + FAR);
        }
    }
}

#[cfg(test)]
mod tests;
