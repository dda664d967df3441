//! Tool calls of a transcript: finding the card that an update means, and merging the update into it.
//!
//! Owns the rules: a card belongs to a turn and an id, because agents reuse ids in later turns; an update before its
//! `tool_call` makes the card; a final status is never taken back; cards left open are closed when their turn ends.
//! Part of `Transcript`; called by the session room.

use crate::model::*;

use super::bounds;
use super::entry::{Body, ToolCall, UNFINISHED};
use super::transcript::Transcript;

/// Where the newest card of an id is.
#[derive(Clone, Copy, Debug)]
pub(super) struct Card {
    /// Its entry.
    pub(super) entry: EntryId,
    /// Its turn.
    turn: u32,
    /// A `tool_call` has come for it; until then one only fills the card, afterwards one replaces it.
    announced: bool,
    /// Its present status is ours, not the agent's: the agent may still say how it really ended.
    closed_by_us: bool,
    /// A person refused it, so that a card left open counts as cancelled.
    refused: bool,
}

impl Transcript {
    /// `tool_call`: creates the card, fills the one that an earlier update or question made, or replaces a known one.
    pub(super) fn tool_call(&mut self, patch: ToolPatch) -> EntryId {
        self.close_message();
        let mut card = self.card_of_this_turn(&patch.id).unwrap_or_else(|| self.new_card(&patch.id));
        let replace = card.announced;
        card.announced = true;
        self.merge(card, patch, replace)
    }

    /// `tool_call_update`: patches, creates when unknown. One for a card of an earlier turn still reaches it, unless a
    /// new turn runs and the agent itself has finished that card: then the id is being used again.
    pub(super) fn tool_update(&mut self, patch: ToolPatch) -> EntryId {
        let known = self.cards.get(&patch.id).copied();
        let known =
            known.filter(|card| card.turn == self.turn || !self.live || !self.finished_by_agent(*card));
        let card = known.unwrap_or_else(|| {
            self.close_message();
            self.new_card(&patch.id)
        });
        self.merge(card, patch, false)
    }

    /// The tool call of a permission request: a patch for a card of this turn, never one of an earlier turn.
    pub(super) fn tool_asked(&mut self, patch: ToolPatch) -> EntryId {
        self.close_message();
        let card = self.card_of_this_turn(&patch.id).unwrap_or_else(|| self.new_card(&patch.id));
        self.merge(card, patch, false)
    }

    /// The card at this entry.
    pub(super) fn card_at(&self, id: EntryId) -> Option<&ToolCall> {
        match &self.get(id)?.body {
            Body::Tool(call) => Some(call),
            _ => None,
        }
    }

    /// A person refused what this card wants to do.
    pub(super) fn tool_refused(&mut self, entry: EntryId) {
        for card in self.cards.values_mut().filter(|card| card.entry == entry) {
            card.refused = true;
        }
    }

    /// The turn was cancelled: unfinished cards, and those that still come in this turn, are shown as cancelled at once.
    pub(super) fn cancel_cards(&mut self) {
        self.cancelled = true;
        self.end_cards(true);
    }

    /// Closes every open card. An open card of an ended turn is only there when it came after the end.
    pub(super) fn end_cards(&mut self, stopped: bool) {
        let open: Vec<(EntryId, bool)> = self
            .cards
            .values_mut()
            .filter(|card| match &self.entries[card.entry.0 as usize].body {
                Body::Tool(call) => !call.ended(),
                _ => false,
            })
            .map(|card| {
                card.closed_by_us = true;
                (card.entry, card.refused)
            })
            .collect();
        for (entry, refused) in open {
            if let Body::Tool(call) = &mut self.entry_mut(entry).body {
                call.status = Some(if stopped || refused {
                    ToolStatus::Cancelled
                } else {
                    ToolStatus::Other(UNFINISHED.to_owned())
                });
            }
        }
    }

    fn card_of_this_turn(&self, id: &str) -> Option<Card> {
        self.cards.get(id).copied().filter(|card| card.turn == self.turn)
    }

    fn finished_by_agent(&self, card: Card) -> bool {
        !card.closed_by_us && self.card_at(card.entry).is_some_and(ToolCall::ended)
    }

    fn new_card(&mut self, id: &str) -> Card {
        let entry = self.push(Body::Tool(ToolCall { id: id.to_owned(), ..ToolCall::default() }));
        Card { entry, turn: self.turn, announced: false, closed_by_us: false, refused: false }
    }

    fn merge(&mut self, mut card: Card, patch: ToolPatch, replace: bool) -> EntryId {
        let id = patch.id.clone();
        let Some(old) = self.card_at(card.entry) else { return card.entry };
        let mut call = if replace {
            ToolCall { id: id.clone(), status: old.status.clone(), ..ToolCall::default() }
        } else {
            old.clone()
        };
        patch.title.apply(&mut call.title);
        patch.kind.apply(&mut call.kind);
        if let Patch::Set(status) = patch.status
            && (!call.ended() || status.is_final())
        {
            call.status = Some(status);
            card.closed_by_us = false;
        }
        match patch.content {
            Patch::Keep => {}
            Patch::Clear => call.content.clear(),
            Patch::Set(content) => call.content = bounds::cut_content(content),
        }
        match patch.locations {
            Patch::Keep => {}
            Patch::Clear => call.locations.clear(),
            Patch::Set(locations) => call.locations = locations,
        }
        bounded(patch.raw_input).apply(&mut call.raw_input);
        bounded(patch.raw_output).apply(&mut call.raw_output);
        if self.cancelled && card.turn == self.turn && !call.ended() {
            call.status = Some(ToolStatus::Cancelled);
            card.closed_by_us = true;
        }
        // Agents send whole snapshots again and again; what did not change is not drawn again.
        if self.card_at(card.entry) != Some(&call) {
            self.entry_mut(card.entry).body = Body::Tool(call);
        }
        self.cards.insert(id, card);
        card.entry
    }
}

fn bounded(raw: Patch<std::sync::Arc<str>>) -> Patch<std::sync::Arc<str>> {
    match raw {
        Patch::Set(raw) => Patch::Set(bounds::cut_shared(raw, bounds::RAW)),
        other => other,
    }
}
