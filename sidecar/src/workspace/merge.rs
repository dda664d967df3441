//! Three-way merge by lines: what one side changed and what the other changed since a common base.
//!
//! Owns the algorithm only: no buffers, no files, no decisions. Identical changes appear once, disjoint changes are both
//! taken, overlapping or touching ones are a conflict that a person decides. A change by one side is never lost and
//! never doubled. Called by `rebase`.

use crate::workspace::lines::{Span, changes, kept};

/// A stretch of the result, in order. Spans are of lines of the side they are named for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Piece {
    /// Both sides agree, or only we changed it.
    Ours { ours: Span },
    /// Only they changed it: `base` is what they replaced, `ours` what goes.
    Theirs { base: Span, ours: Span, theirs: Span },
    /// Both changed it, differently.
    Conflict { base: Span, ours: Span, theirs: Span },
}

/// The pieces that make up the merge of `ours` and `theirs`, both made from `base`. They cover `ours` from its first to
/// its last line, in order.
pub fn merge(base: &[&str], ours: &[&str], theirs: &[&str]) -> Vec<Piece> {
    let to_ours = kept(&changes(base, ours), base.len());
    let to_theirs = kept(&changes(base, theirs), base.len());
    let mut pieces = Vec::new();
    let (mut b, mut o, mut t) = (0, 0, 0);
    loop {
        // A run in which all three agree, starting here.
        let run = (0..base.len() - b)
            .take_while(|n| to_ours[b + n] == Some(o + n) && to_theirs[b + n] == Some(t + n))
            .count();
        if run > 0 {
            pieces.push(Piece::Ours { ours: o..o + run });
            (b, o, t) = (b + run, o + run, t + run);
        }
        if b == base.len() && o == ours.len() && t == theirs.len() {
            return pieces;
        }
        // The next base line that both sides kept ends the stretch in which they differ.
        let next = (b..base.len()).find_map(|i| Some((i, to_ours[i]?, to_theirs[i]?)));
        let (eb, eo, et) = next.unwrap_or((base.len(), ours.len(), theirs.len()));
        let (was, mine, other) = (&base[b..eb], &ours[o..eo], &theirs[t..et]);
        pieces.push(if mine == other || was == other {
            Piece::Ours { ours: o..eo }
        } else if was == mine {
            Piece::Theirs { base: b..eb, ours: o..eo, theirs: t..et }
        } else {
            Piece::Conflict { base: b..eb, ours: o..eo, theirs: t..et }
        });
        (b, o, t) = (eb, eo, et);
    }
}

#[cfg(test)]
mod tests;
