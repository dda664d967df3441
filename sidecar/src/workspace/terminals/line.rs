//! One line that a program can still rewrite, by cells.
//!
//! Owns its characters. A wide character takes two cells; where half of one is overwritten, the other half becomes a
//! blank. It never grows beyond its bounds. Part of `plain`.

use std::collections::BTreeMap;

use unicode_width::UnicodeWidthChar;

/// Cells that a line has room for; what is pushed further to the right is gone.
pub const LONG: usize = 2 << 10;
/// Characters without a cell of their own that one cell holds; Unicode's own limit for text in streams is 30.
const MARKS: usize = 64;
/// In the second cell of a wide character.
const HALF: char = '\0';

/// See the module.
#[derive(Clone, Debug, Default)]
pub struct Line {
    cells: Vec<char>,
    /// By cell: what joins its character.
    marks: BTreeMap<usize, Vec<char>>,
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
    /// Appends what stands in it, from this cell on, to `out`.
    pub fn push_to(&self, from: usize, out: &mut String) {
        if self.marks.is_empty() {
            return out.extend(self.cells[from..].iter().filter(|c| **c != HALF));
        }
        for (at, c) in self.cells.iter().enumerate().skip(from) {
            if *c != HALF {
                out.push(*c);
            }
            out.extend(self.marks.get(&at).into_iter().flatten());
        }
    }

    /// What stands in it.
    pub fn text(&self) -> String {
        let mut text = String::with_capacity(self.cells.len());
        self.push_to(0, &mut text);
        text
    }

    /// Bytes of its text.
    pub fn size(&self) -> usize {
        let marks = self.marks.values().flatten();
        self.cells.iter().filter(|c| **c != HALF).chain(marks).map(|c| c.len_utf8()).sum()
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
        self.unmark(col, end);
        for (cell, c) in self.cells[col..end].iter_mut().zip(text.chars()) {
            *cell = c;
        }
    }

    /// A character of one or two cells at a cell.
    pub fn put(&mut self, col: usize, c: char, cells: usize) {
        let end = col + cells;
        self.part(col);
        self.part(end);
        self.unmark(col, end);
        self.cells[col] = c;
        self.cells[col + 1..end].fill(HALF);
    }

    /// A character where the cursor is: joins the one before where it has no cell of its own. Gives the cells that the
    /// cursor moves by.
    pub fn write(&mut self, col: usize, c: char) -> usize {
        let cells = if c == '\t' { 1 } else { c.width().unwrap_or(0) };
        match (cells, col) {
            // Nothing is there to be joined.
            (0, 0) => self.put(col, c, 1),
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
        self.cells.resize(self.cells.len().max(col + 1), ' ');
        let col = if self.cells[col] == HALF { col.saturating_sub(1) } else { col };
        let marks = self.marks.entry(col).or_default();
        if marks.len() < MARKS {
            marks.push(c);
        }
    }

    /// What comes before this cell and what comes from it on are apart: a wide character in between becomes blanks. The
    /// line reaches up to it.
    fn part(&mut self, col: usize) {
        if self.cells.len() < col {
            self.cells.resize(col, ' ');
        } else if self.cells.get(col) == Some(&HALF) {
            self.cells[col] = ' ';
            self.cells[col - 1] = ' ';
            self.marks.remove(&(col - 1));
        }
    }

    fn unmark(&mut self, from: usize, to: usize) {
        if !self.marks.is_empty() {
            self.marks.retain(|at, _| *at < from || *at >= to);
        }
    }

    /// The marks from this cell on move by so many cells.
    fn move_marks(&mut self, from: usize, by: isize) {
        for (at, marks) in self.marks.split_off(&from) {
            self.marks.insert(at.saturating_add_signed(by), marks);
        }
    }

    /// Blanks in these cells, as far as there are any.
    pub fn blank(&mut self, from: usize, to: usize) {
        let to = to.min(self.cells.len());
        if from < to {
            self.part(from);
            self.part(to);
            self.unmark(from, to);
            self.cells[from..to].fill(' ');
        }
    }

    /// Nothing from this cell on.
    pub fn cut(&mut self, col: usize) {
        if col < self.cells.len() {
            self.part(col);
            self.cells.truncate(col);
            self.marks.split_off(&col);
        }
    }

    /// These cells go, and what stands behind them moves up.
    pub fn delete(&mut self, col: usize, count: usize) {
        let end = col.saturating_add(count).min(self.cells.len());
        if col < end {
            self.part(col);
            self.part(end);
            self.unmark(col, end);
            self.cells.drain(col..end);
            self.move_marks(end, -((end - col) as isize));
        }
    }

    /// Blanks before this cell.
    pub fn insert(&mut self, col: usize, count: usize) {
        if col < self.cells.len() {
            self.part(col);
            self.cells.splice(col..col, std::iter::repeat_n(' ', count));
            self.move_marks(col, count as isize);
            self.cut(LONG);
        }
    }

    /// Takes the first cells away, at most `count`, and appends their text to `out`. Gives how many.
    pub fn take_front(&mut self, count: usize, out: &mut String) -> usize {
        let whole = |at: &usize| self.cells.get(*at) != Some(&HALF);
        let count = (0..=count.min(self.cells.len())).rev().find(whole).unwrap_or(0);
        let rest = self.cells.split_off(count);
        let marks = self.marks.split_off(&count);
        self.push_to(0, out);
        (self.cells, self.marks) = (rest, marks);
        self.move_marks(0, -(count as isize));
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
