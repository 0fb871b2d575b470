//! Rayon's pool, where threads can be had; else the calling thread alone.
//!
//! Rayon panics where its global pool cannot start, for want of processes or of memory for stacks. So whatever uses rayon
//! asks here first: a thread that finds no pool becomes a pool of one, in which all that rayon offers runs in order.

use std::error::Error as _;
use std::mem;
use std::sync::OnceLock;

use rayon::ThreadPoolBuilder;

/// Threads of the current pool, which is started if need be.
pub fn threads() -> usize {
    ready();
    rayon::current_num_threads()
}

/// Sees to it that what uses rayon on this thread finds a pool.
pub fn ready() {
    static STARTS: OnceLock<bool> = OnceLock::new();
    if rayon::current_thread_index().is_none() && !*STARTS.get_or_init(global_starts) {
        alone();
    }
}

/// Runs `work` on so many threads of the current pool, of which the calling one is the first.
pub(crate) fn together(count: usize, work: &(dyn Fn() + Sync)) {
    // The caller may be another thread than the one that counted.
    ready();
    // In place: the caller works from the first moment on, while the others are still waking.
    rayon::in_place_scope(|scope| {
        for _ in 1..count {
            scope.spawn(|_| work());
        }
        work();
    });
}

/// Whether there is a global pool, started now or before.
fn global_starts() -> bool {
    match ThreadPoolBuilder::new().build_global() {
        Ok(()) => true,
        // A pool that was there already has no cause; one that cannot start has the system's.
        Err(error) => error.source().is_none(),
    }
}

/// Makes this thread a pool of its own, for as long as it lives.
fn alone() {
    if let Ok(pool) = ThreadPoolBuilder::new().num_threads(1).use_current_thread().build() {
        // The thread works for the pool until it ends, and cannot wait for itself.
        mem::forget(pool);
    }
}
