//! Cuts a job into pieces for several threads.
//!
//! Threads take pieces from a queue. A piece is a quarter of a thread's share of the rest, between 64 KiB and
//! 1 MiB. Pieces thus get smaller towards the end, and the threads finish at about the same time.

use std::sync::{Mutex, PoisonError};

use crate::arch::{Buffers, wiping_deep_stack};
use crate::block::BLOCK_BYTES;
use crate::kernel::Source;
use crate::pool;

/// The smallest piece. It is large enough to outweigh the cost of passing it to a thread.
const PIECE_BYTES_MIN: usize = 64 * 1024;

/// The largest piece. It is small enough to stay in L2.
const PIECE_BYTES_MAX: usize = 1024 * 1024;

/// How many threads of rayon's current pool a job may use: at most this many, or all if it is 0.
///
/// The pool is asked, and thereby started, only for jobs that are long enough to use it. If no pool can start,
/// only the calling thread is used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Threads(usize);

impl Threads {
    /// Jobs of at least this many bytes are worth waking threads for.
    pub(crate) const JOB_BYTES_MIN: usize = 512 * 1024;

    /// Only the calling thread.
    pub const ONE: Self = Self(1);

    /// At most `count` threads. 0 means all threads of rayon's current pool.
    pub const fn at_most(count: usize) -> Self {
        Self(count)
    }

    /// The number of threads. Starts the pool, unless it is certainly one.
    pub fn count(self) -> usize {
        match self.0 {
            1 => 1,
            0 => pool::threads(),
            most => most.min(pool::threads()),
        }
    }

    /// These threads if `len_bytes` of work are worth waking them, otherwise only the calling thread.
    #[must_use]
    pub(crate) fn for_bytes(self, len_bytes: usize) -> Self {
        if self.pays(len_bytes) { self } else { Self::ONE }
    }

    /// How many small pieces a mode with two passes takes at once, so that all threads have work.
    pub(crate) fn pieces_at_once(self) -> usize {
        match self.count() {
            1 => 1,
            several => 8 * several,
        }
    }

    /// Runs `work` on all pieces of a job, on several threads if the job is long enough. Pieces start at
    /// multiples of `grain_blocks`.
    pub(crate) fn split(
        self,
        source: Source<'_>,
        buffers: Buffers<'_>,
        grain_blocks: usize,
        work: &(dyn Fn(Source<'_>, Buffers<'_>) + Sync),
    ) {
        let (len_bytes, count) = (buffers.len_bytes(), self.count());
        let queue = Mutex::new((source, buffers));
        self.together(len_bytes, &|| {
            while let Some((source, piece)) = next_piece(count, &queue, grain_blocks) {
                work(source, piece);
            }
        });
    }

    /// Runs `work` on every thread, or only on this one if `len_bytes` is too little. `work` takes its items
    /// from a queue.
    pub(crate) fn together(self, len_bytes: usize, work: &(dyn Fn() + Sync)) {
        if !self.pays(len_bytes) {
            return work();
        }
        // Each thread wipes its own stack, to which it may have spilled parts of keys. The keys are dropped
        // on another thread.
        pool::together(self.count(), &|| wiping_deep_stack(work));
    }

    /// Runs `work` on each of `jobs`, on several threads if `len_bytes` in total are enough.
    pub(crate) fn each<T>(
        self,
        len_bytes: usize,
        jobs: impl Iterator<Item = T> + Send,
        work: &(dyn Fn(T) + Sync),
    ) {
        if !self.pays(len_bytes) {
            return jobs.for_each(work);
        }
        let jobs = Mutex::new(jobs);
        let next = || jobs.lock().unwrap_or_else(PoisonError::into_inner).next();
        self.together(len_bytes, &|| {
            while let Some(job) = next() {
                work(job);
            }
        });
    }

    /// Whether `len_bytes` of work are worth waking threads for.
    pub(crate) fn pays(self, len_bytes: usize) -> bool {
        len_bytes as u64 >= self.pays_from_bytes() && self.count() > 1
    }

    /// Shorter work is not worth waking threads for.
    pub(crate) const fn pays_from_bytes(self) -> u64 {
        if self.0 == 1 { u64::MAX } else { Self::JOB_BYTES_MIN as u64 }
    }
}

/// Takes the next piece for one of `count` threads off the queue. Pieces get smaller towards the end, so that
/// threads finish together.
fn next_piece<'a, 's>(
    count: usize,
    queue: &Mutex<(Source<'s>, Buffers<'a>)>,
    grain_blocks: usize,
) -> Option<(Source<'s>, Buffers<'a>)> {
    let mut rest = queue.lock().unwrap_or_else(PoisonError::into_inner);
    let rest_bytes = rest.1.len_bytes();
    if rest_bytes == 0 {
        return None;
    }
    let share_bytes = (rest_bytes / (4 * count)).clamp(PIECE_BYTES_MIN, PIECE_BYTES_MAX);
    let piece_bytes = (share_bytes / BLOCK_BYTES).next_multiple_of(grain_blocks) * BLOCK_BYTES;
    let (source, piece) = (rest.0, rest.1.take_front(piece_bytes.min(rest_bytes)));
    // This must precede work on the piece, which may overwrite input that the next piece's source needs.
    rest.0 = source.after(piece.input());
    Some((source, piece))
}
