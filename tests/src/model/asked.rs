//! One call of the model, free of the API it came by, and what the script says to it.
//!
//! Owns the choice of a rule and a turn; it keeps nothing between calls. The last user message that holds a rule's marker
//! picks the rule, the number of answers after it picks the turn. Filled by `chat`, `responses` and `messages`.

use super::{Rule, Said};
use serde_json::Value;

/// Who said something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Who {
    /// The person, or the agent in the person's name.
    User,
    /// The model itself.
    Model,
    /// A tool's result.
    Tool,
}

/// One call of the model.
#[derive(Clone, Debug, Default)]
pub struct Asked {
    /// Whether the model may call tools: without any it is a side question of the agent's own, such as a title.
    pub tools: bool,
    /// What was said, oldest first. What the model said in one answer is one entry, however many pieces it came in.
    pub said: Vec<(Who, String)>,
}

impl Asked {
    /// Adds what was said next.
    pub fn push(&mut self, who: Who, text: &str) {
        match self.said.last_mut() {
            Some((Who::Model, before)) if who == Who::Model => before.push_str(text),
            _ => self.said.push((who, text.into())),
        }
    }

    /// Texts of the tools' results, oldest first.
    pub fn tool_results(&self) -> impl DoubleEndedIterator<Item = &str> {
        self.said.iter().filter(|(who, _)| *who == Who::Tool).map(|(_, text)| text.as_str())
    }

    /// What the script says to this.
    pub fn answer(&self, rules: &[Rule]) -> Said {
        if !self.tools {
            return Said::text("Scripted title");
        }
        let found = self.said.iter().enumerate().rev().filter(|(_, (who, _))| *who == Who::User);
        let mut found = found
            .filter_map(|(at, (_, text))| rules.iter().find(|r| text.contains(&r.marker)).map(|r| (at, r)));
        let Some((at, rule)) = found.next() else {
            return Said::text("The script has no rule for this prompt.");
        };
        let turn = self.said[at..].iter().filter(|(who, _)| *who == Who::Model).count();
        let Some(said) = rule.turns.get(turn) else { return Said::text("The script is at its end.") };
        let last = self.tool_results().next_back().unwrap_or_default();
        Said { text: said.text.replace("{last_tool}", last), ..said.clone() }
    }
}

/// The text of a message's content, which is a string or a list of parts.
pub fn plain(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        Value::Array(parts) => parts.iter().filter_map(|p| p["text"].as_str()).collect::<Vec<_>>().join("\n"),
        _ => String::new(),
    }
}

/// Pieces of a few characters, as a model streams them.
pub fn pieces(text: &str) -> Vec<String> {
    let letters: Vec<char> = text.chars().collect();
    letters.chunks(7).map(|c| c.iter().collect()).collect()
}
