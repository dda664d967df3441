//! Scripted agent.
fn main() {}
