//! The calling thread alone: what takes the place of `threads.rs` without the feature of that name.

/// Threads there are.
pub fn threads() -> usize {
    1
}

/// There is nothing to wait for.
pub fn ready() {}

/// Runs `work` on the calling thread.
pub(crate) fn together(_count: usize, work: &(dyn Fn() + Sync)) {
    work();
}
