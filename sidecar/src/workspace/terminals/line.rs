//! One line that a program can still rewrite, by cells.
//!
//! Owns its characters. A wide character takes two cells; where half of one is overwritten, the other half becomes a
//! blank. It never grows beyond its bounds. Part of `plain`.

use unicode_width::UnicodeWidthChar;

/// Cells that a line has room for; what is pushed further to the right is gone.
pub const LONG: usize = 2 << 10;
/// Characters without a cell of their own that one cell holds; Unicode's own limit for text in streams is 30.
const MARKS: usize = 64;
/// One cell.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Cell {
    /// What stands in it; `None` in the second cell of a wide character.
    c: Option<char>,
    /// What joins that character.
    marks: Vec<char>,
}

const BLANK: Cell = Cell { c: Some(' '), marks: Vec::new() };
const HALF: Cell = Cell { c: None, marks: Vec::new() };

impl Cell {
    fn chars(&self) -> impl Iterator<Item = char> {
        self.c.into_iter().chain(self.marks.iter().copied())
    }
}

/// See the module.
#[derive(Clone, Debug, Default)]
pub struct Line {
    cells: Vec<Cell>,
}

impl From<&str> for Line {
    fn from(text: &str) -> Self {
        let mut line = Self::default();
        for c in text.chars() {
            line.write(line.cells(), c);
        }
        line
    }
}

impl Line {
    /// Appends what stands in it to `out`.
    pub fn push_to(&self, out: &mut String) {
        out.extend(self.cells.iter().flat_map(Cell::chars));
    }

    /// What stands in it.
    pub fn text(&self) -> String {
        let mut text = String::with_capacity(self.cells.len());
        self.push_to(&mut text);
        text
    }

    /// Bytes of its text.
    pub fn size(&self) -> usize {
        self.cells.iter().flat_map(Cell::chars).map(char::len_utf8).sum()
    }

    /// Nothing stands in it.
    pub fn is_empty(&self) -> bool {
        self.cells.is_empty()
    }

    /// How many cells are used.
    pub fn cells(&self) -> usize {
        self.cells.len()
    }

    /// Printable ASCII at a cell.
    pub fn ascii(&mut self, col: usize, text: &str) {
        let end = col + text.len();
        self.part(col);
        self.part(end);
        for (cell, c) in self.cells[col..end].iter_mut().zip(text.chars()) {
            *cell = Cell { c: Some(c), marks: Vec::new() };
        }
    }

    /// A character of one or two cells at a cell.
    pub fn put(&mut self, col: usize, c: char, cells: usize) {
        let end = col + cells;
        self.part(col);
        self.part(end);
        self.cells[col] = Cell { c: Some(c), marks: Vec::new() };
        self.cells[col + 1..end].fill(HALF);
    }

    /// A character where the cursor is: joins the one before where it has no cell of its own. Gives the cells that the
    /// cursor moves by.
    pub fn write(&mut self, col: usize, c: char) -> usize {
        let cells = if c == '\t' { 1 } else { c.width().unwrap_or(0) };
        match (cells, col) {
            // Nothing is there to be joined.
            (0, 0) if self.cells.is_empty() => self.put(col, c, 1),
            (0, 0) => return 0,
            (0, _) => {
                self.join(col - 1, c);
                return 0;
            }
            _ => self.put(col, c, cells),
        }
        cells.max(1)
    }

    /// A character without a cell of its own joins the one in this cell.
    pub fn join(&mut self, col: usize, c: char) {
        self.cells.resize(self.cells.len().max(col + 1), BLANK);
        let col = if self.cells[col] == HALF { col.saturating_sub(1) } else { col };
        let marks = &mut self.cells[col].marks;
        if marks.len() < MARKS {
            marks.push(c);
        }
    }

    /// What comes before this cell and what comes from it on are apart: a wide character in between becomes blanks. The
    /// line reaches up to it.
    fn part(&mut self, col: usize) {
        if self.cells.len() < col {
            self.cells.resize(col, BLANK);
        } else if self.cells.get(col) == Some(&HALF) {
            self.cells[col - 1..=col].fill(BLANK);
        }
    }

    /// Blanks in these cells, as far as there are any.
    pub fn blank(&mut self, from: usize, to: usize) {
        let to = to.min(self.cells.len());
        if from < to {
            self.part(from);
            self.part(to);
            self.cells[from..to].fill(BLANK);
        }
    }

    /// Nothing from this cell on.
    pub fn cut(&mut self, col: usize) {
        if col < self.cells.len() {
            self.part(col);
            self.cells.truncate(col);
        }
    }

    /// These cells go, and what stands behind them moves up.
    pub fn delete(&mut self, col: usize, count: usize) {
        let end = col.saturating_add(count).min(self.cells.len());
        if col < end {
            self.part(col);
            self.part(end);
            self.cells.drain(col..end);
        }
    }

    /// Blanks before this cell.
    pub fn insert(&mut self, col: usize, count: usize) {
        if col < self.cells.len() {
            self.part(col);
            self.cells.splice(col..col, std::iter::repeat_n(BLANK, count));
            self.cut(LONG);
        }
    }

    /// Takes the first cells away, at most `count`, and appends their text to `out`. Gives how many.
    pub fn take_front(&mut self, count: usize, out: &mut String) -> usize {
        let whole = |at: &usize| self.cells.get(*at) != Some(&HALF);
        let count = (0..=count.min(self.cells.len())).rev().find(whole).unwrap_or(0);
        out.extend(self.cells.drain(..count).flat_map(|cell| cell.chars().collect::<Vec<_>>()));
        count
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(text: &str) -> Line {
        Line::from(text)
    }

    fn check(mut from: Line, change: impl FnOnce(&mut Line), want: &str) {
        change(&mut from);
        assert_eq!(from.text(), want);
        assert_eq!(from.size(), want.len());
    }

    #[test]
    fn half_of_a_wide_character_that_is_overwritten_takes_the_other_half_along() {
        check(line("漢字"), |l| l.put(1, 'x', 1), " x字");
        check(line("漢字"), |l| l.put(1, '漢', 2), " 漢 ");
        check(line("漢字"), |l| l.ascii(1, "ab"), " ab ");
        check(line("漢字"), |l| l.cut(3), "漢 ");
        check(line("漢字"), |l| l.delete(1, 1), " 字");
        check(line("漢字"), |l| l.insert(1, 2), "    字");
        check(line("漢字"), |l| l.blank(0, 1), "  字");
    }

    #[test]
    fn marks_stay_with_their_character_and_go_with_it() {
        check(line("ae\u{301}b"), |l| l.delete(0, 1), "e\u{301}b");
        check(line("ae\u{301}b"), |l| l.insert(0, 2), "  ae\u{301}b");
        check(line("ae\u{301}b"), |l| l.put(1, 'x', 1), "axb");
        check(line("漢\u{301}b"), |l| l.put(1, 'x', 1), " xb");
        check(line("漢b"), |l| l.join(1, '\u{301}'), "漢\u{301}b");
        check(
            line("ab"),
            |l| (0..1000).for_each(|_| l.join(1, '\u{301}')),
            &("ab".to_owned() + &"\u{301}".repeat(MARKS)),
        );
    }

    #[test]
    fn what_is_written_beyond_the_end_stands_there() {
        check(line("a"), |l| l.put(3, 'x', 1), "a  x");
        check(line("a"), |l| l.ascii(3, "xy"), "a  xy");
        check(line("a"), |l| l.join(3, '\u{301}'), "a   \u{301}");
    }

    #[test]
    fn the_front_that_is_taken_ends_between_characters() {
        for (count, taken, rest) in [
            (0, "", "漢e\u{301}字"),
            (1, "", "漢e\u{301}字"),
            (2, "漢", "e\u{301}字"),
            (4, "漢e\u{301}", "字"),
        ] {
            let (mut line, mut out) = (line("漢e\u{301}字"), String::new());
            line.take_front(count, &mut out);
            assert_eq!((out.as_str(), line.text().as_str()), (taken, rest));
        }
    }

    #[test]
    fn it_does_not_grow_by_what_is_pushed_to_the_right() {
        let mut line = line("ab");
        (0..100).for_each(|_| line.insert(0, 1000));
        assert_eq!(line.cells(), LONG);
    }
}
