//! Modes of ciphers with wider blocks, in chunks.

use std::sync::{Mutex, PoisonError};

use crossgrain::Error as Refusal;
use crossgrain::mode::Mode;
use crossgrain::plan::compose::Cost;
use crossgrain::wide::{Key, Options, State, Stream};

use super::args::{Job, Wide};
use super::stream::{Compute, Work};
use crate::error::{self, Error};
use crate::pipeline::{BEFORE_BYTES, Cut, Place};

/// Blocks per chunk are a multiple of this, so that chunks are whole bundles of every variant.
const BUNDLE_BLOCKS: usize = 512;

/// The mode with its key.
pub(super) fn work(job: &Job, wide: &Wide) -> Result<Work, Error> {
    let (cipher, mode) = (wide.cipher, job.mode);
    let key = Key::new(cipher, &job.secret)?;
    // Chunks run in parallel, so each is computed by one thread.
    let options = Options { variants: wide.variants.clone(), threads: 1, ..Options::default() };
    let stream = Stream::with_options(&key, mode, job.direction, &options)?;
    for (name, bundle_blocks) in stream.variants().into_iter().filter(|_| job.explain) {
        error::tell(&format!("plan, by {bundle_blocks} blocks: {name}"));
    }
    let block_bytes = cipher.block_bytes();
    let bundle_bytes = BUNDLE_BLOCKS * block_bytes;
    let mut cut =
        Cut { chunk_bytes: bundle_bytes * (job.chunk_bytes / bundle_bytes).max(1), ..Cut::default() };
    cut.before[BEFORE_BYTES - block_bytes..].copy_from_slice(wide.initial.block());
    let is_serial = !mode.is_parallel(job.direction);
    let (initial, chain) = (wide.initial.clone(), Mutex::new(wide.initial.clone()));
    let compute: Compute = Box::new(move |place: Place, chunk| {
        let so_far = (place.position as usize).wrapping_add(chunk.len());
        let done = if is_serial {
            stream.apply(&mut chain.lock().unwrap_or_else(PoisonError::into_inner), chunk)
        } else {
            let mut state = initial.clone();
            match mode {
                Mode::Ctr => state.count(place.position / block_bytes as u64),
                _ => state = State::new(cipher, &place.before[BEFORE_BYTES - block_bytes..])?,
            }
            stream.apply(&mut state, chunk)
        };
        // The library's length counts from the start of the chunk, the message's from the start of the
        // stream.
        let partial = Refusal::PartialWideBlock { cipher: cipher.name(), block_bytes, len_bytes: so_far };
        Ok(done.map_err(|_| partial)?)
    });
    Ok(Work { compute, cut, is_serial, cost: Cost::FREE })
}
