//! crates/crossgrain-cli
fn main() {}
