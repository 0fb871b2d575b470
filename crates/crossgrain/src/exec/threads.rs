//! Cutting a job into pieces for several threads.

use std::sync::{Mutex, PoisonError};

use crate::block::BLOCK_BYTES;
use crate::part::Source;
use crate::pool;
use crate::word::{Buffers, wipe_deep_stack};

/// The least piece of a job: large enough to outweigh handing it over.
const PIECE_BYTES_MIN: usize = 64 * 1024;

/// The largest: small enough to stay in L2.
const PIECE_BYTES_MAX: usize = 1024 * 1024;

/// How many threads of rayon's current pool a job may use: the calling thread alone where no pool can start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Threads(usize);

impl Threads {
    /// A job that is worth waking threads for.
    pub(crate) const JOB_BYTES_MIN: usize = 512 * 1024;

    /// The calling thread alone.
    pub const ONE: Self = Self(1);

    /// At most `count`; 0 means as many as rayon's current pool has.
    pub fn at_most(count: usize) -> Self {
        if count == 1 {
            // Asking for the pool's size would start the pool.
            return Self::ONE;
        }
        let all = pool::threads();
        Self(if count == 0 { all } else { count.min(all) })
    }

    /// How many that is.
    pub const fn count(self) -> usize {
        self.0
    }

    /// Runs `work` over all pieces of a job that pays. Pieces begin at multiples of `grain_blocks`.
    pub(crate) fn split(
        self,
        source: Source<'_>,
        buffers: Buffers<'_>,
        grain_blocks: usize,
        work: &(dyn Fn(Source<'_>, Buffers<'_>) + Sync),
    ) {
        let len_bytes = buffers.len_bytes();
        let queue = Mutex::new((source, buffers));
        self.together(len_bytes, &|| {
            while let Some((source, piece)) = self.next_piece(&queue, grain_blocks) {
                work(source, piece);
            }
        });
    }

    /// Runs `work`, which takes what it does from a queue, on every thread; on this one alone where there is
    /// too little to do.
    pub(crate) fn together(self, len_bytes: usize, work: &(dyn Fn() + Sync)) {
        if !self.pays(len_bytes) {
            return work();
        }
        // What spilled of keys is wiped where it spilled: the keys are dropped on another thread.
        let work_and_wipe = || {
            work();
            wipe_deep_stack();
        };
        pool::together(self.0, &work_and_wipe);
    }

    /// Runs `work` on every job, side by side where `len_bytes` in all are worth that.
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

    /// Takes the next piece off the queue: less and less as the end comes near, so that threads end together.
    fn next_piece<'a, 's>(
        self,
        queue: &Mutex<(Source<'s>, Buffers<'a>)>,
        grain_blocks: usize,
    ) -> Option<(Source<'s>, Buffers<'a>)> {
        let mut rest = queue.lock().unwrap_or_else(PoisonError::into_inner);
        let rest_bytes = rest.1.len_bytes();
        if rest_bytes == 0 {
            return None;
        }
        let share_bytes = (rest_bytes / (4 * self.0)).clamp(PIECE_BYTES_MIN, PIECE_BYTES_MAX);
        let piece_bytes = (share_bytes / BLOCK_BYTES).next_multiple_of(grain_blocks) * BLOCK_BYTES;
        let (source, piece) = (rest.0, rest.1.take_front(piece_bytes.min(rest_bytes)));
        // Before the piece is worked on, which may overwrite what the next one needs of it.
        rest.0 = source.after(piece.input());
        Some((source, piece))
    }

    /// Whether so much work is worth waking threads.
    pub(crate) const fn pays(self, len_bytes: usize) -> bool {
        len_bytes as u64 >= self.pays_from_bytes()
    }

    /// From how much work on that is.
    pub(crate) const fn pays_from_bytes(self) -> u64 {
        if self.0 > 1 { Self::JOB_BYTES_MIN as u64 } else { u64::MAX }
    }
}

impl Default for Threads {
    fn default() -> Self {
        Self::at_most(0)
    }
}
