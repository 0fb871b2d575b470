//! Rayon's pool if it can start, otherwise only the calling thread.
//!
//! Rayon panics if its global pool cannot start because the system limits processes or memory for stacks.
//! Code that uses rayon must therefore call [`ready`] first. If no pool can start, the calling thread becomes
//! a pool of one thread, in which all of rayon's operations run in order.
//!
//! A pool that starts moves its parts from the stack into memory that it keeps, with the gaps between their fields.
//! Earlier calls may have left parts of keys there, so the stack is wiped first.

use std::error::Error as _;
use std::hint::black_box;
use std::mem;
use std::sync::OnceLock;

use rayon::ThreadPoolBuilder;

use crate::arch::{DEEP_STACK_BYTES, wipe_stack};

/// The number of threads in the current pool. Starts the global pool if necessary.
pub fn threads() -> usize {
    ready();
    rayon::current_num_threads()
}

/// Ensures that rayon finds a pool on this thread.
pub fn ready() {
    static STARTS: OnceLock<bool> = OnceLock::new();
    if rayon::current_thread_index().is_none() && !*STARTS.get_or_init(on_clean_stack(global_starts)) {
        on_clean_stack(alone)();
    }
}

/// Runs `work` on `count` threads of the current pool, the calling thread being one of them.
pub(crate) fn together(count: usize, work: &(dyn Fn() + Sync)) {
    // The caller may be on another thread than the one that counted the threads.
    ready();
    // In place, so the caller starts at once, while the other threads are still waking up.
    rayon::in_place_scope(|scope| {
        for _ in 1..count {
            scope.spawn(|_| work());
        }
        work();
    });
}

/// Wipes the stack before it calls a function. That must not be inlined: it would start with old bytes in the
/// caller's frame.
fn on_clean_stack<T>(call: fn() -> T) -> impl FnOnce() -> T {
    move || {
        wipe_stack::<DEEP_STACK_BYTES>();
        black_box(call)()
    }
}

/// Whether a global pool exists, or could be started now.
fn global_starts() -> bool {
    match ThreadPoolBuilder::new().build_global() {
        Ok(()) => true,
        // The error has a source if the system refused threads. It has none if a global pool existed already.
        Err(error) => error.source().is_none(),
    }
}

/// Makes this thread a pool of one thread until it ends.
fn alone() {
    if let Ok(pool) = ThreadPoolBuilder::new().num_threads(1).use_current_thread().build() {
        // The thread works for the pool until it ends, so it must not wait for the pool in `drop`.
        mem::forget(pool);
    }
}
