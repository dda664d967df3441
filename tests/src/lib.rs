//! What the end-to-end tests share: a real Neovim with a screen, a scripted agent, and the record of what it saw.

pub mod agents;
pub mod editor;
pub mod hand;
pub mod model;
pub mod procs;
pub mod script;

pub use editor::{Editor, Scripted, Setup};
pub use hand::Hand;
pub use script::record::Recorded;
pub use script::relay::Relay;
pub use script::steps;
