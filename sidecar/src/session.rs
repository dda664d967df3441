//! Sessions (skeleton).
pub mod entry;
