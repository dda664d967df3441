//! Whose each line of a text is: what agents added and took out since it was last judged, and what was there before.
//!
//! Owns one item for each line that is there, and for each that an agent took out. A line is born of the base, or of an
//! agent's change; an agent may have taken it out since. What a person adds is base, also in the midst of an agent's
//! lines, and what they take out is gone: no verdict loses a line of theirs. It never holds the text of a line that is
//! there: whoever calls has that. Part of `review`.

use std::sync::Arc;

use crate::workspace::lines::Span;

/// A change of an agent's: its number in the review. Ascending.
pub type Origin = u32;

/// See the module.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Weave {
    items: Vec<Item>,
}

/// A line.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Item {
    /// The change that added it; `None`: it was there before.
    born: Option<Origin>,
    /// The change that took it out, and what it was.
    died: Option<(Origin, Arc<str>)>,
    /// The number of the verdict on it that is on its way; 0 for none.
    mark: u32,
}

impl Item {
    const BASE: Item = Item { born: None, died: None, mark: 0 };

    fn alive(&self) -> bool {
        self.died.is_none()
    }

    fn settled(&self) -> bool {
        self.born.is_none() && self.alive()
    }

    /// Some change that these are has to do with it.
    fn is_of(&self, of: &dyn Fn(Origin) -> bool) -> bool {
        self.born.is_some_and(of) || self.died.as_ref().is_some_and(|(by, _)| of(*by))
    }
}

/// Lines next to each other that are not settled.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hunk {
    /// The lines that are there now: zero-based, end exclusive; empty where lines were only taken out.
    pub live: Span,
    /// The lines of the base in their place, each with its newline.
    pub removed: Vec<Arc<str>>,
    /// The last change that has to do with it.
    pub origin: Origin,
    /// The changes that do, ascending.
    pub origins: Vec<Origin>,
}

impl Weave {
    /// A text of so many lines that no agent has changed.
    pub fn new(lines: usize) -> Self {
        Self { items: vec![Item::BASE; lines] }
    }

    /// Nothing is left to be judged.
    pub fn is_settled(&self) -> bool {
        self.items.iter().all(Item::settled)
    }

    /// How many lines it holds, of those that are there and of others.
    pub fn size(&self) -> usize {
        self.items.len()
    }

    /// Where the living line number `line` stands, or where one behind the last would.
    fn place(&self, line: usize) -> usize {
        let mut at = 0;
        for (place, item) in self.items.iter().enumerate() {
            if item.alive() {
                if at == line {
                    return place;
                }
                at += 1;
            }
        }
        self.items.len()
    }

    /// The places of the living lines of a span, and where new ones go: behind what was taken out before them.
    fn places(&self, span: &Span) -> (Vec<usize>, usize) {
        let end = self.place(span.end);
        let start = if span.is_empty() { end } else { self.place(span.start) };
        let mut places: Vec<usize> = (start..end).filter(|place| self.items[*place].alive()).collect();
        places.truncate(span.len());
        let behind = places.last().map_or(end, |last| last + 1);
        (places, behind)
    }

    /// An agent changed these spans of `old`, the lines as they were, to as many lines as the other span has.
    pub fn agent<T: AsRef<str>>(&mut self, origin: Origin, changes: &[(Span, Span)], old: &[T]) {
        for (was, is) in changes.iter().rev() {
            let (places, behind) = self.places(was);
            let new = Item { born: Some(origin), ..Item::BASE };
            self.items.splice(behind..behind, std::iter::repeat_n(new, is.len()));
            for (place, line) in places.into_iter().zip(was.clone()).rev() {
                match self.items[place].born == Some(origin) {
                    // It came and went within one change.
                    true => drop(self.items.remove(place)),
                    false => self.items[place].died = Some((origin, old[line].as_ref().into())),
                }
            }
        }
    }

    /// A person changed these spans to the lines of `new` that the other span has.
    pub fn person<T: AsRef<str>>(&mut self, changes: &[(Span, Span)], new: &[T]) {
        for (was, is) in changes.iter().rev() {
            let (places, behind) = self.places(was);
            self.items.splice(behind..behind, std::iter::repeat_n(Item::BASE, is.len()));
            places.iter().rev().for_each(|place| drop(self.items.remove(*place)));
            self.revive(behind - places.len(), &new[is.clone()]);
        }
    }

    /// Where a person put back just what an agent had taken out there, that is what it is again. `at`: where the new lines
    /// begin.
    fn revive<T: AsRef<str>>(&mut self, at: usize, new: &[T]) {
        let end = at + new.len();
        let alive = |item: &Item| item.alive();
        let low = self.items[..at].iter().rposition(alive).map_or(0, |place| place + 1);
        let high = self.items[end..].iter().position(alive).map_or(self.items.len(), |n| end + n);
        let same = |from: usize| {
            let texts = self.items[from..].iter().map(|item| item.died.as_ref().map(|(_, text)| &**text));
            new.iter().zip(texts).all(|(line, text)| text == Some(line.as_ref()))
        };
        let within = |low: usize, high: usize| low..(high + 1).saturating_sub(new.len()).max(low);
        let found = within(low, at).chain(within(end, high)).find(|from| !new.is_empty() && same(*from));
        if let Some(from) = found {
            self.items[from..from + new.len()].iter_mut().for_each(|item| item.died = None);
            self.items.drain(at..end);
        }
    }

    /// Marks what the verdict of that number is about: all that changes for which `of` holds have to do with, in the hunks
    /// that touch these living lines (`None`: in all). Gives whether that is anything.
    pub fn mark(&mut self, number: u32, lines: Option<&Span>, of: &dyn Fn(Origin) -> bool) -> bool {
        let mut any = false;
        for (places, live) in self.runs() {
            let hit = lines.is_none_or(|lines| touches(lines, &live));
            for item in self.items[places].iter_mut().filter(|item| hit && item.is_of(of)) {
                item.mark = number;
                any = true;
            }
        }
        any
    }

    /// What is marked with that number is the base now.
    pub fn keep(&mut self, number: u32, of: &dyn Fn(Origin) -> bool) {
        self.items.retain_mut(|item| {
            if item.mark != number {
                return true;
            }
            item.mark = 0;
            if item.born.is_some_and(of) {
                item.born = None;
            }
            !item.died.as_ref().is_some_and(|(by, _)| of(*by))
        });
    }

    /// What is marked with that number is undone. Gives the lines that are left, of the living ones `live`.
    pub fn reject<T: AsRef<str>>(&mut self, number: u32, of: &dyn Fn(Origin) -> bool, live: &[T]) -> String {
        let mut lines = live.iter();
        let mut out = String::new();
        self.items.retain_mut(|item| {
            let line = if item.alive() { lines.next().map(AsRef::as_ref) } else { None };
            let marked = item.mark == number;
            if marked && item.born.is_some_and(of) {
                return false;
            }
            match &item.died {
                None => out.push_str(line.unwrap_or_default()),
                Some((by, text)) if marked && of(*by) => {
                    out.push_str(text);
                    item.died = None;
                }
                Some(_) => {}
            }
            true
        });
        out
    }

    /// The text as it would be without any agent's change, of the living lines `live`.
    pub fn base<T: AsRef<str>>(&self, live: &[T]) -> String {
        let mut lines = live.iter();
        let mut out = String::new();
        for item in &self.items {
            let line = if item.alive() { lines.next().map(AsRef::as_ref) } else { None };
            if item.born.is_none() {
                out.push_str(line.or(item.died.as_ref().map(|(_, text)| &**text)).unwrap_or_default());
            }
        }
        out
    }

    /// All that is left of it was written by agents.
    pub fn is_agents(&self) -> bool {
        !self.items.iter().any(|item| item.born.is_none())
    }

    /// Runs of items that are not settled, with the living lines that they are.
    fn runs(&self) -> Vec<(Span, Span)> {
        let (mut out, mut line, mut start) = (Vec::new(), 0, None);
        for (place, item) in self.items.iter().enumerate() {
            match (item.settled(), start) {
                (false, None) => start = Some((place, line)),
                (true, Some((place_from, line_from))) => {
                    out.push((place_from..place, line_from..line));
                    start = None;
                }
                _ => {}
            }
            line += usize::from(item.alive());
        }
        if let Some((place, from)) = start {
            out.push((place..self.items.len(), from..line));
        }
        out
    }

    /// What is to be judged, in order.
    pub fn hunks(&self) -> Vec<Hunk> {
        let hunk = |(places, live): (Span, Span)| {
            let items = &self.items[places];
            let died = items.iter().filter_map(|item| item.died.as_ref().map(|(by, _)| *by));
            let mut origins: Vec<Origin> = items.iter().filter_map(|item| item.born).chain(died).collect();
            origins.sort_unstable();
            origins.dedup();
            let removed =
                items.iter().filter(|item| item.born.is_none()).filter_map(|item| item.died.as_ref());
            let removed = removed.map(|(_, text)| text.clone()).collect();
            Hunk { live, removed, origin: origins.last().copied().unwrap_or(0), origins }
        };
        self.runs().into_iter().map(hunk).collect()
    }

    /// Keeps the hunks that another text, a commit, holds as they are: `differs` are the spans of the living lines in which
    /// it is another. Gives whether that was any.
    pub fn keep_contained(&mut self, differs: &[Span]) -> bool {
        for (places, lines) in self.runs() {
            let apart = |d: &Span| d.end < lines.start || d.start > lines.end;
            if differs.iter().all(apart) {
                self.items[places].iter_mut().for_each(|item| item.mark = u32::MAX);
            }
        }
        let any = self.items.iter().any(|item| item.mark == u32::MAX);
        self.keep(u32::MAX, &|_| true);
        any
    }
}

/// Whether a span of lines and a hunk have lines in common; a hunk without lines stands above its first one.
fn touches(lines: &Span, hunk: &Span) -> bool {
    match (lines.is_empty(), hunk.is_empty()) {
        (false, false) => lines.start < hunk.end && hunk.start < lines.end,
        // Lines that were taken out stand between two: either of these stands for them.
        (false, true) => lines.start <= hunk.start && hunk.start <= lines.end,
        (true, _) => hunk.start <= lines.start && lines.start <= hunk.end,
    }
}

#[cfg(test)]
mod tests;
