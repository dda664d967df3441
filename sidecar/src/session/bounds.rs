//! What a transcript may keep: the limits on what an agent sends, and the cuts that enforce them.
//!
//! Owns the numbers. A cut always says that it was made and how much is missing. Proposed texts (diffs) are never cut:
//! a person decides about them, so they are bounded by the size of a wire message only. Called by the transcript.

use std::sync::Arc;

use crate::model::{Content, ToolContent};

/// A tool call's raw input, and its raw output, each: bytes kept.
pub(super) const RAW: usize = 256 * 1024;

/// All text of a card's content together: bytes kept.
pub(super) const CARD_TEXT: usize = 1024 * 1024;

/// Raw JSON of an update of unknown kind: bytes kept.
pub(super) const UNKNOWN_RAW: usize = 16 * 1024;

/// Kinds of unknown updates that a transcript shows; further kinds are only logged.
pub(super) const UNKNOWN_KINDS: usize = 10_000;

/// Diffs of an answered question, in bytes; a larger sum is dropped (an agent's own stay on its card).
pub(super) const ANSWERED_DIFFS: usize = 256 * 1024;

/// The text of a question besides its command: bytes; the card shows the rest.
pub(super) const QUESTION_TEXT: usize = 64 * 1024;

/// Updates of a session whose id is not known yet: number and bytes kept per agent.
pub(super) const EARLY_UPDATES: usize = 1024;
/// See `EARLY_UPDATES`.
pub(super) const EARLY_BYTES: usize = 4 * 1024 * 1024;

/// The beginning of a text, cut at a character, with a note when something is missing.
pub(super) fn cut(text: &str, limit: usize) -> Option<String> {
    if text.len() <= limit {
        return None;
    }
    let mut end = limit;
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    Some(format!("{}\n[cut: {} more bytes]", &text[..end], text.len() - end))
}

/// `cut` for shared text.
pub(super) fn cut_shared(text: Arc<str>, limit: usize) -> Arc<str> {
    cut(&text, limit).map_or(text, Into::into)
}

/// Holds a card's content to `CARD_TEXT`, from its beginning.
pub(super) fn cut_content(mut content: Vec<ToolContent>) -> Vec<ToolContent> {
    let mut left = CARD_TEXT;
    for piece in &mut content {
        match piece {
            ToolContent::Block(Content::Text(text) | Content::Resource { text, .. }) => {
                let size = text.len();
                if let Some(shorter) = cut(text, left) {
                    *text = shorter;
                }
                left = left.saturating_sub(size);
            }
            ToolContent::Block(Content::Other { raw, .. }) | ToolContent::Other { raw, .. } => {
                let size = raw.len();
                *raw = cut_shared(raw.clone(), left);
                left = left.saturating_sub(size);
            }
            ToolContent::Block(Content::Link { .. }) | ToolContent::Diff(_) | ToolContent::Terminal(_) => {}
        }
    }
    content
}
