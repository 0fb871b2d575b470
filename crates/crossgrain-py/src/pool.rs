//! The threads, one pool a process: the threads of a parent are not there in a child that it forked.

use std::sync::{Arc, Mutex, PoisonError};

use pyo3::prelude::*;
use rayon::{ThreadPool, ThreadPoolBuilder};

use crate::Error;

static POOL: Mutex<Option<(u32, Arc<ThreadPool>)>> = Mutex::new(None);

/// This process' pool.
///
/// Whoever asks holds Python's global lock, and so does whoever forks: the mutex is free in a child.
fn pool(_: Python<'_>) -> PyResult<Arc<ThreadPool>> {
    let mut pool = POOL.lock().unwrap_or_else(PoisonError::into_inner);
    let process = std::process::id();
    if let Some((_, pool)) = pool.as_ref().filter(|(of, _)| *of == process) {
        return Ok(Arc::clone(pool));
    }
    let built = ThreadPoolBuilder::new().build();
    let new = Arc::new(built.map_err(|error| Error::new_err(format!("no threads can be had: {error}")))?);
    // The old pool's threads are the parent's: nothing is left that could end.
    std::mem::forget(pool.replace((process, Arc::clone(&new))));
    Ok(new)
}

/// Less than the engine spreads over threads: not worth asking the pool.
const SHORT_BYTES: usize = 512 * 1024;

/// How many threads so much is worth, where so many may be used.
pub(crate) const fn worth(threads: usize, len_bytes: usize) -> usize {
    if len_bytes < SHORT_BYTES { 1 } else { threads }
}

/// Runs work without the global lock, and with this process' threads if it asks for more than one.
pub(crate) fn run<T: Send>(py: Python<'_>, threads: usize, work: impl FnOnce() -> T + Send) -> PyResult<T> {
    if threads == 1 {
        return Ok(py.detach(work));
    }
    let pool = pool(py)?;
    Ok(py.detach(|| pool.install(work)))
}
