//! A queue of serial messages (chains) of any lengths. When a chain ends, the next one takes its lane.

use std::sync::{Mutex, PoisonError};

use crate::block::BLOCK_BYTES;
use crate::mode::chained::chain::ChainMessage;

/// Chains that wait for a lane. The longest are taken first, so that a long one is not left to run by itself
/// at the end.
pub(super) struct Queue<'q, 'a>(Mutex<Vec<&'q mut ChainMessage<'a>>>);

impl<'q, 'a> Queue<'q, 'a> {
    /// All chains that are not empty.
    ///
    /// # Panics
    /// If the length of a chain is not a whole number of blocks.
    pub(super) fn new(chains: &'q mut [ChainMessage<'a>]) -> Self {
        let mut waiting: Vec<_> = chains.iter_mut().filter(|chain| chain.data.len_bytes() > 0).collect();
        assert!(waiting.iter().all(|chain| chain.data.len_bytes().is_multiple_of(BLOCK_BYTES)));
        waiting.sort_unstable_by_key(|chain| chain.data.len_bytes());
        Self(Mutex::new(waiting))
    }

    /// Takes chains off the queue, at most `lanes` at a time, and runs them to their ends. Each call of
    /// `step` advances all of them by the same number of blocks, up to the end of the shortest.
    pub(super) fn work(&self, lanes: usize, mut step: impl FnMut(&mut [&mut ChainMessage<'a>], usize)) {
        let mut alive: Vec<&mut ChainMessage<'a>> = Vec::with_capacity(lanes);
        loop {
            {
                let mut waiting = self.0.lock().unwrap_or_else(PoisonError::into_inner);
                let left = waiting.len() - (lanes - alive.len()).min(waiting.len());
                alive.extend(waiting.drain(left..));
            }
            let Some(len_bytes) = alive.iter().map(|chain| chain.data.len_bytes()).min() else {
                return;
            };
            step(&mut alive, len_bytes / BLOCK_BYTES);
            for chain in &mut alive {
                chain.data.advance(len_bytes);
            }
            alive.retain(|chain| chain.data.len_bytes() > 0);
        }
    }
}
