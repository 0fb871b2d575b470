//! Only the calling thread. This file replaces `threads.rs` if the feature `threads` is off.

/// The number of threads.
pub fn threads() -> usize {
    1
}

/// Does nothing: no pool is needed.
pub fn ready() {}

/// Runs `work` on the calling thread.
pub(crate) fn together(_count: usize, work: &(dyn Fn() + Sync)) {
    work();
}
