//! From what an agent wrote to what the file shall be: which text it started from, and the merge with the text as it is.
//!
//! Owns the choice of the base and what counts as a conflict. It never writes and never asks. Called by writes, and for
//! changes that come from the disk.

use ropey::Rope;

use crate::workspace::known::Belief;
use crate::workspace::lift::{OddBytes, lift};
use crate::workspace::lines::{Span, changes, flat, split};
use crate::workspace::merge::{Piece, merge};
use crate::workspace::text::Snapshot;

/// What came of a merge.
#[derive(Clone, Debug, PartialEq)]
pub struct Rebased {
    /// What the file shall be. At conflicts our lines stand.
    pub text: Snapshot,
    /// The same with the other side's lines at conflicts.
    pub with_theirs: Snapshot,
    /// The other side's text: what the agent wrote, with the bytes of lines it left alone.
    pub theirs: Snapshot,
    /// What both sides started from.
    pub base: Snapshot,
    /// Lines of `text` that are in conflict, ascending; an empty span where ours has no line there.
    pub conflicts: Vec<Span>,
}

/// What an agent's content makes of the live text. `disk` is the text on disk, where there is a file; `bom` and `crlf`
/// are beside the file's text.
pub fn rebase(
    belief: Option<&Belief>,
    disk: Option<&Snapshot>,
    live: &Snapshot,
    content: &str,
    (bom, crlf): (bool, bool),
) -> Result<Rebased, OddBytes> {
    let empty = Snapshot::from_wire("");
    let disk = disk.unwrap_or(&empty);
    let from = |base: &Snapshot| lift(base, content, bom, crlf);
    match belief {
        Some(Belief::Text(known)) if known.read => {
            let newest = merged(&known.text, live, from(&known.text)?, known.served.as_deref());
            let mut near = distance(&known.text, &newest.theirs);
            let mut older = None;
            for text in known.older.iter().rev() {
                let theirs = from(text)?;
                let far = distance(text, &theirs);
                if far < near || known.glimpsed && far == near {
                    near = far;
                    older = Some((text, theirs));
                }
            }
            Ok(match older {
                Some((text, theirs)) => newest.or(merged(text, live, theirs, None)),
                None => newest,
            })
        }
        // It wrote the file and has not read it since, through us: it goes on from its own text, or from the disk.
        Some(Belief::Text(known)) => {
            let (own, other) = (from(&known.text)?, from(disk)?);
            Ok(match distance(&known.text, &own) <= distance(disk, &other) {
                true => merged(&known.text, live, own, None),
                false => merged(disk, live, other, None),
            })
        }
        Some(Belief::Missing) => Ok(merged(&empty, live, from(live)?, None)),
        // Never seen through us: it can only have seen the disk.
        None => Ok(merged(disk, live, from(disk)?, None)),
    }
}

/// What a change on disk makes of the live text. `was` is the text last known on disk, `is` what is there now. An agent
/// that writes the disk from what it wrote before (`own`) does not take out what others added meanwhile.
pub fn follow(was: &Snapshot, live: &Snapshot, is: &Snapshot, own: &[Snapshot]) -> Rebased {
    let mut base = (was, distance(was, is));
    // What only grew was seen before it was written to its end; nobody took the rest out.
    let grew = flat(&is.rope).starts_with(&flat(&was.rope));
    for text in own.iter().filter(|_| !grew) {
        let far = distance(text, is);
        if far < base.1 {
            base = (text, far);
        }
    }
    merged(base.0, live, is.clone(), None)
}

/// A merge of two texts made from the same base, with no doubt about that.
pub fn plain(base: &Snapshot, live: &Snapshot, theirs: Snapshot) -> Rebased {
    merged(base, live, theirs, None)
}

impl Rebased {
    /// The agent may have started from either of two texts; `self` takes the newer one. Where it matters which, a person
    /// decides.
    fn or(self, older: Rebased) -> Rebased {
        let (ours, theirs) = (flat(&older.text.rope), flat(&self.with_theirs.rope));
        let conflicts = changes(&split(&ours), &split(&theirs)).into_iter().map(|(span, _)| span).collect();
        Rebased { text: older.text, conflicts, ..self }
    }
}

/// Number of lines that differ.
fn distance(a: &Snapshot, b: &Snapshot) -> usize {
    let (a, b) = (flat(&a.rope), flat(&b.rope));
    changes(&split(&a), &split(&b)).into_iter().map(|(o, n)| o.len().max(n.len())).sum()
}

/// Whether a span of the base is made of lines that the agent was given, or lies beside one.
fn was_served(served: Option<&[Span]>, base: &Span) -> bool {
    let Some(spans) = served else { return true };
    spans.iter().any(|s| s.start <= base.start && base.end <= s.end)
}

/// The merge. A change of theirs to lines of the base that they were not given (`served`; `None`: all were) is a
/// conflict.
fn merged(base: &Snapshot, live: &Snapshot, theirs: Snapshot, served: Option<&[Span]>) -> Rebased {
    let (b, o, t) = (flat(&base.rope), flat(&live.rope), flat(&theirs.rope));
    let (b, o, t) = (split(&b), split(&o), split(&t));
    let (mut text, mut with_theirs) = (String::new(), String::new());
    let (mut conflicts, mut at) = (Vec::new(), 0);
    for piece in merge(&b, &o, &t) {
        let conflict = match &piece {
            Piece::Ours { .. } => false,
            Piece::Theirs { base, .. } => !was_served(served, base),
            Piece::Conflict { .. } => true,
        };
        let (ours, other) = match piece {
            Piece::Ours { ours } => (&o[ours.clone()], &o[ours]),
            Piece::Theirs { ours, theirs, .. } | Piece::Conflict { ours, theirs, .. } => {
                (&o[ours], &t[theirs])
            }
        };
        let taken = if conflict { ours } else { other };
        if conflict {
            conflicts.push(at..at + taken.len());
        }
        at += taken.len();
        taken.iter().for_each(|l| text.push_str(l));
        other.iter().for_each(|l| with_theirs.push_str(l));
    }
    // The newline at the end is a change of its own, which two sides cannot make differently.
    let eol = if live.eol == base.eol || live.is_empty() { theirs.eol } else { live.eol };
    let snapshot = |text: &str| Snapshot { rope: Rope::from_str(text), eol };
    Rebased {
        text: snapshot(&text),
        with_theirs: snapshot(&with_theirs),
        theirs,
        base: base.clone(),
        conflicts,
    }
}

#[cfg(test)]
// A list of one span is what is meant.
#[expect(clippy::single_range_in_vec_init)]
mod tests;
