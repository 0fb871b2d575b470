//! Implements the generator traits of the crate `rand_core` for streams.

use std::convert::Infallible;

use rand_core::block::Generator;
use rand_core::{TryCryptoRng, TryRng};

use super::rng::{BUFFER_BLOCKS, BUFFER_BYTES};
use super::{Stream, StreamRng};
use crate::arch::{bytes_of_mut, wipe};

/// Words that [`Blocks`] generates per call.
const WORDS: usize = BUFFER_BYTES / size_of::<u64>();

/// A stream as a block generator, for callers with their own buffer (`rand_core::block::BlockRng`).
#[derive(Clone, Debug)]
pub struct Blocks {
    stream: Stream,
    /// The number of the next block.
    next: u128,
}

impl Blocks {
    /// The stream from its block number `next` on.
    pub const fn new(stream: Stream, next: u128) -> Self {
        Self { stream, next }
    }
}

impl Generator for Blocks {
    type Output = [u64; WORDS];

    fn generate(&mut self, output: &mut Self::Output) {
        self.stream.fill_blocks(self.next, bytes_of_mut(output), None);
        self.next = self.next.wrapping_add(BUFFER_BLOCKS);
        for word in output {
            *word = u64::from_le(*word);
        }
    }

    fn drop(&mut self, output: &mut Self::Output) {
        wipe(bytes_of_mut(output));
    }
}

impl TryRng for StreamRng {
    type Error = Infallible;

    #[inline]
    fn try_next_u32(&mut self) -> Result<u32, Infallible> {
        Ok(self.next_u32())
    }

    #[inline]
    fn try_next_u64(&mut self) -> Result<u64, Infallible> {
        Ok(self.next_u64())
    }

    fn try_fill_bytes(&mut self, output: &mut [u8]) -> Result<(), Infallible> {
        self.fill_bytes(output);
        Ok(())
    }
}

/// Holds only if the key is secret. Anyone who learns the key later can compute all earlier output.
impl TryCryptoRng for StreamRng {}
