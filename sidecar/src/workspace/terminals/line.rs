//! One line that a program can still rewrite, by cells.
//!
//! Owns its text. A wide character takes two cells; where half of one is overwritten, the other half becomes a blank.
//! Part of `plain`.

use unicode_width::UnicodeWidthChar;

/// See the module.
#[derive(Clone, Debug, Default)]
pub struct Line {
    text: String,
    /// Cells of the text.
    cells: usize,
    /// Some character is not one byte and one cell.
    odd: bool,
}

impl From<String> for Line {
    fn from(text: String) -> Self {
        let odd = !text.is_ascii();
        let cells = if odd { text.chars().map(width).sum() } else { text.len() };
        Self { text, cells, odd }
    }
}

fn width(c: char) -> usize {
    if c == '\t' { 1 } else { c.width().unwrap_or(0) }
}

impl Line {
    /// What stands in it.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Nothing stands in it.
    pub fn is_empty(&self) -> bool {
        self.text.is_empty()
    }

    /// How many cells are used.
    pub fn cells(&self) -> usize {
        self.cells
    }

    fn pad(&mut self, col: usize) {
        while self.cells < col {
            self.text.push(' ');
            self.cells += 1;
        }
    }

    /// Printable ASCII at a cell.
    pub fn ascii(&mut self, col: usize, text: &str) {
        self.pad(col);
        if col == self.cells {
            self.text.push_str(text);
            self.cells += text.len();
        } else if self.odd {
            text.chars().enumerate().for_each(|(n, c)| self.put(col + n, c, 1));
        } else {
            let end = (col + text.len()).min(self.cells);
            self.text.replace_range(col..end, text);
            self.cells = self.text.len();
        }
    }

    /// A character of this many cells at a cell. One without a cell of its own joins the one before.
    pub fn put(&mut self, col: usize, c: char, cells: usize) {
        self.pad(col);
        self.odd |= !c.is_ascii();
        if cells == 0 {
            let at = self.byte(col);
            return self.text.insert(at, c);
        }
        if col < self.cells {
            self.blank(col, (col + cells).min(self.cells));
            let end = (col + cells).min(self.cells);
            let (from, to) = (self.byte(col), self.byte(end));
            self.text.replace_range(from..to, c.encode_utf8(&mut [0; 4]));
            self.cells += cells - (end - col);
        } else {
            self.text.push(c);
            self.cells += cells;
        }
    }

    /// Where a cell begins, in bytes; characters without a cell belong to the one before.
    fn byte(&self, col: usize) -> usize {
        if !self.odd {
            return col.min(self.text.len());
        }
        let mut cell = 0;
        for (at, c) in self.text.char_indices() {
            let own = width(c);
            if cell >= col && own > 0 {
                return at;
            }
            cell += own;
        }
        self.text.len()
    }

    /// Blanks in these cells, as far as there are any.
    pub fn blank(&mut self, from: usize, to: usize) {
        let to = to.min(self.cells);
        if from >= to {
            return;
        }
        if !self.odd {
            return self.text.replace_range(from..to, &" ".repeat(to - from));
        }
        let mut out = String::with_capacity(self.text.len());
        let mut cell = 0;
        for c in self.text.chars() {
            let own = width(c);
            // Without a cell it goes with the one before.
            let hit = if own == 0 { cell > from && cell <= to } else { cell < to && cell + own > from };
            match hit {
                true => out.extend(std::iter::repeat_n(' ', own)),
                false => out.push(c),
            }
            cell += own;
        }
        self.text = out;
    }

    /// Nothing from this cell on.
    pub fn cut(&mut self, col: usize) {
        if col < self.cells {
            self.blank(col, col + 1);
            let at = self.byte(col);
            self.text.truncate(at);
            self.cells = col;
        }
    }

    /// These cells go, and what stands behind them moves up.
    pub fn delete(&mut self, col: usize, count: usize) {
        if col < self.cells {
            let end = col.saturating_add(count).min(self.cells);
            self.blank(col, end);
            let (from, to) = (self.byte(col), self.byte(end));
            self.text.replace_range(from..to, "");
            self.cells -= end - col;
        }
    }

    /// Blanks before this cell.
    pub fn insert(&mut self, col: usize, count: usize) {
        if col < self.cells {
            let at = self.byte(col);
            self.text.insert_str(at, &" ".repeat(count));
            self.cells += count;
        }
    }
}
