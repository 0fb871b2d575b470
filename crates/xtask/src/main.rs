//! crates/xtask
fn main() {}
