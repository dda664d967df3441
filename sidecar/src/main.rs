//! Command line of the sidecar.
fn main() {}
