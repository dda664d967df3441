//! End-to-end harness.

pub mod model;
