//! What a person would see: the cells that Neovim draws, kept as text.
//!
//! Owns the grid. Fed with `redraw` notifications by `rpc`; read by tests. Colours are not kept.

use nvim_rs::Value;

use crate::script::record::now_ms;

/// Called after each flush with the screen and the time in milliseconds since the epoch.
pub type Tap = Box<dyn FnMut(&Screen, f64) + Send>;

/// The grid as it was at the last event.
#[derive(Default)]
pub struct Screen {
    rows: Vec<Vec<String>>,
    /// Row and column of the cursor, zero-based.
    pub cursor: (usize, usize),
    /// How many times the editor finished a redraw.
    pub flushes: u64,
    tap: Option<Tap>,
}

impl Screen {
    /// All lines, without the blanks at their ends.
    pub fn text(&self) -> String {
        let lines = self.rows.iter().map(|row| row.concat().trim_end().to_string());
        lines.collect::<Vec<_>>().join("\n")
    }

    /// Watches every flush from now on.
    pub fn set_tap(&mut self, tap: Tap) {
        self.tap = Some(tap);
    }

    /// Applies the arguments of a `redraw` notification.
    pub fn redraw(&mut self, events: &[Value]) {
        for event in events {
            let Some((name, calls)) = event.as_array().and_then(|e| e.split_first()) else { continue };
            for call in calls {
                let args = call.as_array().map(Vec::as_slice).unwrap_or_default();
                self.event(name.as_str().unwrap_or_default(), args);
            }
        }
    }

    fn event(&mut self, name: &str, args: &[Value]) {
        let int = |at: usize| args.get(at).and_then(Value::as_i64).unwrap_or(0);
        let size = |at: usize| usize::try_from(int(at)).unwrap_or(0);
        match name {
            "grid_resize" => {
                self.rows.resize(size(2), Vec::new());
                self.rows.iter_mut().for_each(|row| row.resize(size(1), " ".into()));
            }
            "grid_clear" => self.rows.iter_mut().flatten().for_each(|cell| *cell = " ".into()),
            "grid_cursor_goto" => self.cursor = (size(1), size(2)),
            "grid_line" => self.line(size(1), size(2), args.get(3)),
            "grid_scroll" => self.scroll([size(1), size(2), size(3), size(4)], int(5)),
            "flush" => self.flush(),
            _ => {}
        }
    }

    fn line(&mut self, row: usize, mut col: usize, cells: Option<&Value>) {
        let Some(row) = self.rows.get_mut(row) else { return };
        for cell in cells.and_then(Value::as_array).into_iter().flatten() {
            let cell = cell.as_array().map(Vec::as_slice).unwrap_or_default();
            let text = cell.first().and_then(Value::as_str).unwrap_or_default();
            let repeat = cell.get(2).and_then(Value::as_u64).unwrap_or(1);
            for _ in 0..repeat {
                if let Some(slot) = row.get_mut(col) {
                    *slot = text.to_string();
                }
                col += 1;
            }
        }
    }

    fn scroll(&mut self, [top, bottom, left, right]: [usize; 4], by: i64) {
        let bottom = bottom.min(self.rows.len());
        let distance = usize::try_from(by.unsigned_abs()).unwrap_or(usize::MAX);
        if distance >= bottom.saturating_sub(top) {
            return;
        }
        let mut copy = |from: usize, to: usize| {
            let cells: Vec<String> = self.rows[from].get(left..right).unwrap_or_default().to_vec();
            if let Some(slots) = self.rows[to].get_mut(left..right) {
                slots.clone_from_slice(&cells);
            }
        };
        if by > 0 {
            (top..bottom - distance).for_each(|to| copy(to + distance, to));
        } else {
            (top + distance..bottom).rev().for_each(|to| copy(to - distance, to));
        }
    }

    fn flush(&mut self) {
        self.flushes += 1;
        if let Some(mut tap) = self.tap.take() {
            tap(self, now_ms());
            self.tap = Some(tap);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ints(values: &[i64]) -> Value {
        Value::Array(values.iter().map(|v| (*v).into()).collect())
    }

    fn event(name: &str, call: Value) -> Value {
        Value::Array(vec![name.into(), call])
    }

    fn draw(row: i64, text: &str) -> Value {
        let cells = text.chars().map(|c| Value::Array(vec![c.to_string().into()])).collect();
        event(
            "grid_line",
            Value::Array(vec![1.into(), row.into(), 0.into(), Value::Array(cells), false.into()]),
        )
    }

    fn screen() -> Screen {
        let mut screen = Screen::default();
        screen.redraw(&[
            event("grid_resize", ints(&[1, 4, 3])),
            draw(0, "one"),
            draw(1, "two"),
            draw(2, "six"),
        ]);
        screen
    }

    #[test]
    fn lines_are_drawn_and_cleared() {
        let mut screen = screen();
        assert_eq!(screen.text(), "one\ntwo\nsix");
        let cells = Value::Array(vec![Value::Array(vec!["x".into(), 0.into(), 3.into()])]);
        let line = Value::Array(vec![1.into(), 1.into(), 1.into(), cells, false.into()]);
        screen.redraw(&[event("grid_line", line), event("flush", ints(&[]))]);
        assert_eq!((screen.text().as_str(), screen.flushes), ("one\ntxxx\nsix", 1));
        screen.redraw(&[event("grid_clear", ints(&[1]))]);
        assert_eq!(screen.text(), "\n\n");
    }

    #[test]
    fn a_scroll_moves_a_part_of_the_lines() {
        let check = |by: i64, expected: &str| {
            let mut screen = screen();
            screen.redraw(&[event("grid_scroll", ints(&[1, 0, 3, 0, 2, by, 0]))]);
            assert_eq!(screen.text(), expected, "by {by}");
        };
        check(1, "twe\nsio\nsix");
        check(-1, "one\nono\ntwx");
        check(5, "one\ntwo\nsix");
    }
}
