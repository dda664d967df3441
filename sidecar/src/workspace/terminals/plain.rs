//! What a person would have read of a terminal's bytes, as plain text, while they stream in.
//!
//! Owns the open lines, those that a program can still rewrite, and the text above them. It never drops text by itself
//! but what was rewritten: [`Plain::bound`] does, from the front. Part of the store.
//!
//! A program may move back over the lines that its screen shows, at most [`REACH`], and rewrite them, as progress bars
//! do. Lines are not wrapped; of one that is longer than a screen is wide by far, only the end can be rewritten. A tab is
//! one cell. To clear the screen or to go to its top begins a new line: what was there was read. What is drawn on the
//! alternate screen (editors, pagers) is no text.

use vte::{Params, Parser, Perform};

use super::line::{LONG, Line};

/// Lines that can be gone back to.
pub const REACH: usize = 64;
/// Cells of a line of the screen, until it is said how many there are.
const COLS: usize = 200;
/// Characters of a line among the last lines; of a longer one, the end.
const WIDE: usize = 500;
/// Bytes at the end in which last lines are looked for: more of them than that may be empty.
const LAST: usize = 64 << 10;

/// See the module.
#[derive(Default)]
pub struct Plain {
    parser: Parser,
    page: Page,
    /// Bytes of a character whose rest has not come yet.
    partial: Vec<u8>,
    /// The escape sequence that is open.
    sequence: Sequence,
}

/// How far an escape sequence is. The parser says when one ends, but for a CSI that it takes for nonsense.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Sequence {
    /// None is open, or one whose end the parser tells.
    #[default]
    Other,
    /// After ESC.
    Escape,
    /// A control sequence.
    Csi,
}

impl std::fmt::Debug for Plain {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Plain").field("page", &self.page).finish_non_exhaustive()
    }
}

/// The text so far and the cursor in it.
#[derive(Debug)]
struct Page {
    /// Finished lines, each with its newline, and then the beginning of the first open one where that is too long.
    done: String,
    /// The line with the cursor, and those below that a program went up from. Never empty.
    open: Vec<Line>,
    row: usize,
    col: usize,
    saved: (usize, usize),
    /// Lines before the first open one.
    first: usize,
    /// Lines above the screen, which no program can reach.
    top: usize,
    /// Lines that the screen shows, and the cells of each.
    rows: usize,
    cols: usize,
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
            first: 0,
            top: 0,
            rows: REACH,
            cols: COLS,
            alternate: false,
            ground: true,
            cut: false,
        }
    }
}

impl Plain {
    /// More bytes.
    pub fn feed(&mut self, mut bytes: &[u8]) {
        while let Some(first) = bytes.first() {
            let taken =
                if self.page.ground && *first != 0x1b { self.ground(bytes) } else { self.inside(*first) };
            bytes = &bytes[taken..];
        }
    }

    /// The screen shows so many lines now, each of so many cells.
    pub fn resize(&mut self, rows: u16, cols: u16) {
        (self.page.rows, self.page.cols) = (usize::from(rows.max(1)), usize::from(cols.max(1)));
    }

    /// A byte of an escape sequence: always taken, unless it ends a character that was cut.
    fn inside(&mut self, byte: u8) -> usize {
        if !self.partial.is_empty() {
            return self.complete(byte);
        }
        self.page.ground = false;
        self.parser.advance(&mut self.page, &[byte]);
        self.sequence = match (self.sequence, byte) {
            (_, 0x1b) => Sequence::Escape,
            (Sequence::Escape, b'[') => Sequence::Csi,
            // Ignored inside a sequence.
            (same, 0..=0x1f | 0x7f..) => same,
            (Sequence::Csi, b'@'..=b'~') => {
                self.page.ground = true;
                Sequence::Other
            }
            (Sequence::Csi, _) => Sequence::Csi,
            _ => Sequence::Other,
        };
        // These two end any.
        self.page.ground |= matches!(byte, 0x18 | 0x1a);
        if self.page.ground {
            self.sequence = Sequence::Other;
        }
        1
    }

    /// Bytes outside escape sequences: how many were taken.
    fn ground(&mut self, bytes: &[u8]) -> usize {
        if !self.partial.is_empty() {
            return self.complete(bytes[0]);
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

    /// The next byte after a character that was cut: 1 if it belongs to it, 0 if it begins something else.
    fn complete(&mut self, byte: u8) -> usize {
        self.partial.push(byte);
        let text = std::str::from_utf8(&self.partial).map(|text| text.chars().next());
        match text {
            Err(_) if may_go_on(&self.partial) => 1,
            Ok(c) => {
                c.into_iter().for_each(|c| self.page.put(c));
                self.partial.clear();
                1
            }
            Err(_) => {
                self.page.put(char::REPLACEMENT_CHARACTER);
                self.partial.clear();
                0
            }
        }
    }

    /// Bytes of text.
    pub fn size(&self) -> usize {
        let open: usize = self.page.open.iter().map(|line| line.size() + 1).sum();
        self.page.done.len() + open - 1 + if self.partial.is_empty() { 0 } else { 3 }
    }

    /// Drops text from the front once it is more than twice `limit`: at least the last `limit` bytes stay.
    pub fn bound(&mut self, limit: usize) {
        let page = &mut self.page;
        if page.done.len() > limit.saturating_mul(2).saturating_add(64 << 10) {
            // More than the limit: a program that goes up finds its lines, whatever the agent wants of them.
            let from = page.done.floor_char_boundary(page.done.len() - limit - (32 << 10));
            page.done.drain(..from);
            page.cut = true;
        }
    }

    /// Nothing more comes: what is beyond the limit is not needed.
    pub fn settle(&mut self, limit: usize) {
        let page = &mut self.page;
        if page.done.len() > limit.max(LAST) {
            let from = page.done.floor_char_boundary(page.done.len() - limit.max(LAST));
            page.done.drain(..from);
            page.cut = true;
        }
        page.done.shrink_to_fit();
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
            line.push_to(&mut text);
        }
        if !self.partial.is_empty() {
            text.push(char::REPLACEMENT_CHARACTER);
        }
        let over = text.ceil_char_boundary(text.len().saturating_sub(limit));
        text.drain(..over);
        (text, self.page.cut || skip > 0)
    }

    /// The last lines, oldest first, without an empty one at the end. Long ones are cut.
    pub fn last_lines(&self, count: usize) -> Vec<String> {
        let done = &self.page.done;
        let mut done = done[done.ceil_char_boundary(done.len().saturating_sub(LAST))..].split('\n').rev();
        // What the first open line begins with.
        let head = done.next().unwrap_or_default();
        let open = self.page.open.iter().enumerate().rev().map(|(n, line)| match n {
            0 => cut(head) + &line.text(),
            _ => line.text(),
        });
        let lines = open.map(|line| cut(&line)).chain(done.map(cut));
        let mut lines: Vec<String> = lines.skip_while(String::is_empty).take(count).collect();
        lines.reverse();
        lines
    }
}

/// The end of a line that is too long.
fn cut(line: &str) -> String {
    match line.char_indices().nth_back(WIDE) {
        Some((at, c)) => format!("…{}", &line[at + c.len_utf8()..]),
        None => line.to_owned(),
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
        // Not farther than a line is long: where there is none, each byte would be looked at again and again.
        while let Some(end) = memchr::memchr(b'\n', &bytes[taken..bytes.len().min(taken + LONG)]) {
            let line = &bytes[taken..taken + end];
            let line = line.strip_suffix(b"\r").unwrap_or(line);
            if !line.iter().all(|b| (0x20..0x7f).contains(b) || *b == b'\t') {
                break;
            }
            self.done.push_str(std::str::from_utf8(line).unwrap_or_default());
            self.done.push('\n');
            self.first += 1;
            taken += end + 1;
        }
        self.scroll();
        (taken > 0).then_some(taken)
    }

    fn ascii(&mut self, mut text: &str) {
        while !self.alternate && !text.is_empty() {
            // As if it came letter by letter.
            let (now, rest) = text.split_at(LONG.saturating_sub(self.col).clamp(1, text.len()));
            self.open[self.row].ascii(self.col, now);
            self.col += now.len();
            self.shorten();
            text = rest;
        }
    }

    fn put(&mut self, c: char) {
        if !self.alternate && (c == '\t' || !c.is_control()) {
            self.col += self.open[self.row].write(self.col, c);
            self.shorten();
        }
    }

    /// The beginning of a line that does not end is finished text.
    fn shorten(&mut self) {
        let cells = self.open[self.row].cells();
        if cells >= LONG && self.col >= cells {
            self.finish(self.row);
            self.col -= self.open[0].take_front(LONG / 2, &mut self.done);
        }
    }

    /// The first open lines are open no more.
    fn finish(&mut self, count: usize) {
        for line in self.open.drain(..count) {
            line.push_to(&mut self.done);
            self.done.push('\n');
        }
        self.first += count;
        self.row = self.row.saturating_sub(count);
    }

    fn newline(&mut self) {
        self.col = 0;
        if self.row + 1 < self.open.len() {
            self.row += 1;
        } else {
            self.finish(self.open.len());
            self.open.push(Line::default());
        }
        self.scroll();
    }

    /// The screen shows the cursor.
    fn scroll(&mut self) {
        self.top = self.top.max((self.first + self.row + 1).saturating_sub(self.rows));
    }

    /// As far to the right as a cursor goes: to the edge of the screen, or of a line that is not wrapped there.
    fn clamp(&self, col: usize) -> usize {
        col.min(self.open[self.row].cells().max(self.cols - 1))
    }

    /// What comes stands below what is there.
    fn new_screen(&mut self) {
        self.row = self.open.len() - 1;
        if !self.open[self.row].is_empty() {
            self.newline();
        }
        self.col = 0;
        self.top = self.first + self.row;
    }

    fn up(&mut self, count: usize) {
        for _ in 0..count {
            if self.row > 0 {
                self.row -= 1;
            } else if !self.reopen() {
                return;
            }
        }
    }

    /// The last finished line can be rewritten again.
    fn reopen(&mut self) -> bool {
        if self.first <= self.top || self.open.len() >= REACH || !self.done.ends_with('\n') {
            return false;
        }
        self.done.pop();
        let from = self.done.floor_char_boundary(self.done.len().saturating_sub(LONG / 2));
        let start = self.done[from..].rfind('\n').map_or(from, |at| from + at + 1);
        self.open.insert(0, Line::from(&self.done[start..]));
        self.done.truncate(start);
        self.first -= 1;
        true
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
            'C' | 'a' => self.col = self.clamp(self.col + n),
            'D' => self.col = self.col.saturating_sub(n),
            'G' | '`' => self.col = self.clamp(n - 1),
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
            '@' => self.open[self.row].insert(self.col, n.min(self.cols)),
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
}

impl Page {
    fn restore(&mut self) {
        let (from_end, col) = self.saved;
        if from_end > 0 {
            self.row = self.open.len().saturating_sub(from_end);
            self.col = self.clamp(col);
        }
    }
}

#[cfg(test)]
mod tests;
