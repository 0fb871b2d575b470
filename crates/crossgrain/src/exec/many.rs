//! Many chains of any lengths, side by side: as soon as one is at its end another takes its lane.

use std::sync::{Mutex, PoisonError};

use crate::block::BLOCK_BYTES;
use crate::part::chain::Strand;

/// Chains that wait for a lane. The longest go first, so that no long one is left alone at the end.
pub(super) struct Queue<'q, 'a>(Mutex<Vec<&'q mut Strand<'a>>>);

impl<'q, 'a> Queue<'q, 'a> {
    /// All chains that have anything to do.
    ///
    /// # Panics
    /// If one of them is no whole number of blocks long.
    pub(super) fn new(strands: &'q mut [Strand<'a>]) -> Self {
        let mut waiting: Vec<_> = strands.iter_mut().filter(|strand| strand.data.len_bytes() > 0).collect();
        assert!(waiting.iter().all(|strand| strand.data.len_bytes().is_multiple_of(BLOCK_BYTES)));
        waiting.sort_unstable_by_key(|strand| strand.data.len_bytes());
        Self(Mutex::new(waiting))
    }

    /// How much is to be done, in bytes.
    pub(super) fn len_bytes(&self) -> usize {
        let waiting = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        waiting.iter().map(|strand| strand.data.len_bytes()).sum()
    }

    /// Takes chains off the queue, at most `lanes` at a time, and to their ends, by steps of some blocks.
    pub(super) fn work(&self, lanes: usize, mut step: impl FnMut(&mut [&mut Strand<'a>], usize)) {
        let mut alive: Vec<&mut Strand<'a>> = Vec::with_capacity(lanes);
        loop {
            {
                let mut waiting = self.0.lock().unwrap_or_else(PoisonError::into_inner);
                let left = waiting.len() - (lanes - alive.len()).min(waiting.len());
                alive.extend(waiting.drain(left..));
            }
            let Some(len_bytes) = alive.iter().map(|strand| strand.data.len_bytes()).min() else {
                return;
            };
            step(&mut alive, len_bytes / BLOCK_BYTES);
            for strand in &mut alive {
                strand.data.advance(len_bytes);
            }
            alive.retain(|strand| strand.data.len_bytes() > 0);
        }
    }
}
