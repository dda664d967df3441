//! The agent processes that sessions run on, as far as the session room must know them.
//!
//! Owns one record per process, from start to exit, also when its sessions are closed before. It never starts or ends
//! anything itself. Used by the lifecycle and update parts of the room.

use std::collections::VecDeque;

use crate::model::*;

use super::bounds;
use super::transcript::shown;

/// A process, or one about to be.
#[derive(Debug)]
pub(super) struct Agent {
    /// Its id.
    pub(super) id: AgentId,
    /// Its process group, once it runs.
    pub(super) pgid: Option<i32>,
    /// What `initialize` said, once it was answered.
    pub(super) info: Option<AgentInfo>,
    /// It was told to stop; its exit follows.
    pub(super) stopping: bool,
    /// Sessions that were closed while it ran: their listeners still hear of its exit.
    pub(super) closed: Vec<SessionKey>,
    /// Updates for sessions whose `session/new` is not answered yet, oldest first.
    early: VecDeque<(String, Update)>,
    /// Rough size of `early`, in bytes.
    early_bytes: usize,
}

impl Agent {
    pub(super) fn new(id: AgentId) -> Self {
        Self {
            id,
            pgid: None,
            info: None,
            stopping: false,
            closed: Vec::new(),
            early: VecDeque::new(),
            early_bytes: 0,
        }
    }

    /// Keeps an update until its session is known. Beyond the bounds the newest are dropped, because later ones build
    /// on earlier ones.
    pub(super) fn hold(&mut self, acp: &str, update: Update) {
        let size = size(&update) + acp.len();
        if self.early.len() >= bounds::EARLY_UPDATES || self.early_bytes + size > bounds::EARLY_BYTES {
            tracing::warn!(agent = ?self.id, acp, "early update dropped: too many before session/new was answered");
            return;
        }
        self.early_bytes += size;
        self.early.push_back((acp.to_owned(), update));
    }

    /// Takes the updates held for a session that is now known. The rest stays while `others_wait`.
    pub(super) fn release(&mut self, acp: &str, others_wait: bool) -> Vec<Update> {
        let (mine, rest): (VecDeque<_>, VecDeque<_>) =
            std::mem::take(&mut self.early).into_iter().partition(|(id, _)| id == acp);
        if others_wait {
            self.early = rest;
        } else if !rest.is_empty() {
            tracing::warn!(agent = ?self.id, count = rest.len(), "updates for unknown sessions dropped");
        }
        self.early_bytes = self.early.iter().map(|(id, update)| size(update) + id.len()).sum();
        mine.into_iter().map(|(_, update)| update).collect()
    }
}

/// The bulk of an update, in bytes; small parts are counted as a flat hundred.
fn size(update: &Update) -> usize {
    let bulk = match update {
        Update::Chunk { content: Content::Resource { text, .. }, .. } => text.len(),
        Update::Chunk { content: Content::Other { raw, .. }, .. } => raw.len(),
        Update::Chunk { content, .. } => shown(content).0.len(),
        Update::ToolCall(patch) | Update::ToolCallUpdate(patch) => tool_size(patch),
        Update::ConfigOptions(raw) | Update::Unknown { raw, .. } => raw.len(),
        Update::CompactionChunk { text, .. } | Update::SessionMessageChunk { text, .. } => text.len(),
        _ => 0,
    };
    bulk + 100
}

fn tool_size(patch: &ToolPatch) -> usize {
    let raw = |raw: &Patch<std::sync::Arc<str>>| raw.set().map_or(0, |text| text.len());
    let content = patch.content.set().map_or(0, |pieces| {
        pieces
            .iter()
            .map(|piece| match piece {
                ToolContent::Block(Content::Text(text) | Content::Resource { text, .. }) => text.len(),
                ToolContent::Block(Content::Other { raw, .. }) | ToolContent::Other { raw, .. } => raw.len(),
                ToolContent::Diff(diff) => diff.new.len() + diff.old.as_ref().map_or(0, String::len),
                _ => 0,
            })
            .sum()
    });
    raw(&patch.raw_input) + raw(&patch.raw_output) + content
}
