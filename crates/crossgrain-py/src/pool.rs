//! The thread pool, one per process. A forked child does not have the threads of its parent.

use std::sync::{Arc, Mutex, PoisonError};

use pyo3::prelude::*;
use rayon::{ThreadPool, ThreadPoolBuilder};

use crate::Error;

static POOL: Mutex<Option<(u32, Arc<ThreadPool>)>> = Mutex::new(None);

/// This process's pool.
///
/// The caller holds Python's global lock, and so does a thread that forks. The mutex is therefore unlocked in
/// a child.
fn pool(_: Python<'_>) -> PyResult<Arc<ThreadPool>> {
    let mut pool = POOL.lock().unwrap_or_else(PoisonError::into_inner);
    let process = std::process::id();
    if let Some((_, pool)) = pool.as_ref().filter(|(of, _)| *of == process) {
        return Ok(Arc::clone(pool));
    }
    let built = ThreadPoolBuilder::new().build();
    let new = Arc::new(built.map_err(|error| Error::new_err(format!("no threads can be had: {error}")))?);
    // The old pool's threads exist only in the parent, so the pool cannot be shut down here.
    std::mem::forget(pool.replace((process, Arc::clone(&new))));
    Ok(new)
}

/// For shorter data the engine uses one thread, so the pool is not needed.
const SHORT_BYTES: usize = 512 * 1024;

/// The number of threads to use for data of this length, at most `threads`.
pub(crate) const fn worth(threads: usize, len_bytes: usize) -> usize {
    if len_bytes < SHORT_BYTES { 1 } else { threads }
}

/// Runs work without the global lock. If `threads` is not 1, it runs in this process's pool.
pub(crate) fn run<T: Send>(py: Python<'_>, threads: usize, work: impl FnOnce() -> T + Send) -> PyResult<T> {
    if threads == 1 {
        return Ok(py.detach(work));
    }
    let pool = pool(py)?;
    Ok(py.detach(|| pool.install(work)))
}
