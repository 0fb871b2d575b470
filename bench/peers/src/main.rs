//! bench/peers
fn main() {}
