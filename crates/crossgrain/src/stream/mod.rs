//! Reproducible random streams: the keystream of a cipher in counter mode.
//!
//! Block n of a stream is the encryption of the 128-bit number n, little-endian, and n wraps at 2¹²⁸. Every
//! position is therefore available directly, and every machine computes the same bytes. Neither the bytes nor
//! the cache reveal the key. Words are little-endian: a `u64` is eight consecutive bytes of the stream. With
//! AES-128 the stream equals randomgen's `AESCounter`. Published examples are in docs/streams.md; they will
//! never change.
//!
//! [`Stream`] is all bytes under a key, or a part of them, with access at any position. [`StreamRng`] reads
//! them in order, with a buffer for small draws. [`Seed`] derives keys from numbers.
//!
//! ```
//! use crossgrain::stream::{Seed, Stream};
//! use crossgrain::Cipher;
//!
//! let seed = Seed::new(42);
//! let stream = Stream::new(&seed.key(Cipher::Aes128))?;
//! let mut uniform = vec![0.0; 1000];
//! stream.rng().fill_f64(&mut uniform);
//! let mut same = [0.0; 10];
//! stream.rng_at(8 * 990).fill_f64(&mut same);
//! assert_eq!(same, uniform[990..]);
//! # Ok::<(), crossgrain::Error>(())
//! ```

mod rng;
mod seed;
#[cfg(feature = "rustcrypto")]
mod traits;
#[cfg(feature = "rustcrypto")]
mod typed;

pub use rng::{StreamRng, uniform};
pub use seed::Seed;
#[cfg(feature = "rustcrypto")]
pub use traits::Blocks;
#[cfg(feature = "rustcrypto")]
pub use typed::KeyedRng;

use std::sync::Arc;

use crate::arch::wipe;
use crate::block::{BLOCK_BYTES, Block, Error, Key};
use crate::mode::{Ctr, Finish, Options};
use crate::plan::Plan;

/// The bytes under one key: 2¹²⁸ blocks, or a part of them that overlaps no other part.
///
/// Clones share the expanded key, which is wiped when the last clone is dropped.
#[derive(Clone, Debug)]
pub struct Stream {
    /// The keystream from counter 0 on.
    keystream: Arc<Ctr>,
    /// The counter of the first block.
    first: u128,
    /// Log₂ of the number of blocks, at most 128. After the last block the stream starts again.
    log_blocks: u32,
}

impl Stream {
    /// All bytes under a key, with the default options.
    ///
    /// # Errors
    /// [`Error::BadIsaCap`] for an unreadable `CROSSGRAIN_ISA`.
    pub fn new(key: &Key) -> Result<Self, Error> {
        Self::with_options(key, &Options::default())
    }

    /// All bytes under a key, with these options.
    ///
    /// # Errors
    /// As [`Ctr::with_options`].
    pub fn with_options(key: &Key, options: &Options) -> Result<Self, Error> {
        let keystream = Arc::new(Ctr::little_endian(key, options)?);
        Ok(Self { keystream, first: 0, log_blocks: u128::BITS })
    }

    /// Part number `index` of 2^`log_parts` equal parts, in order. Parts do not overlap: each starts again at
    /// its end. For example, `part(64, n)` is stream n of 2⁶⁴, and the upper half of the counter is n.
    ///
    /// # Errors
    /// [`Error::NoSuchPart`] if `index` is too large, or if the stream has fewer than 2^`log_parts` blocks.
    pub fn part(&self, log_parts: u32, index: u128) -> Result<Self, Error> {
        let too_many = log_parts > self.log_blocks;
        if too_many || index.checked_shr(log_parts).is_some_and(|above| above > 0) {
            return Err(Error::NoSuchPart { log_parts, index });
        }
        let log_blocks = self.log_blocks - log_parts;
        let first = self.counter(index.checked_shl(log_blocks).unwrap_or(0));
        Ok(Self { first, log_blocks, ..self.clone() })
    }

    /// A generator that reads the stream from its start.
    pub fn rng(&self) -> StreamRng {
        StreamRng::new(self.clone())
    }

    /// A generator that reads the stream from byte `position_bytes` on.
    pub fn rng_at(&self, position_bytes: u128) -> StreamRng {
        let mut rng = self.rng();
        rng.seek(position_bytes);
        rng
    }

    /// Fills `output` with the bytes from `position_bytes` on.
    pub fn fill_bytes_at(&self, position_bytes: u128, output: &mut [u8]) {
        let block = position_bytes / BLOCK_BYTES as u128;
        let within = (position_bytes % BLOCK_BYTES as u128) as usize;
        if within == 0 {
            return self.fill_blocks(block, output, None);
        }
        let mut copy: Block = [0; BLOCK_BYTES];
        self.fill_blocks(block, &mut copy, None);
        let (head, rest) = output.split_at_mut(output.len().min(BLOCK_BYTES - within));
        head.copy_from_slice(&copy[within..][..head.len()]);
        wipe(&mut copy);
        self.fill_blocks(block.wrapping_add(1), rest, None);
    }

    /// The plans in use, widest bundle first.
    pub fn plans(&self) -> &[Plan] {
        self.keystream.plans()
    }

    /// The counter of block number `block`.
    const fn counter(&self, block: u128) -> u128 {
        self.first.wrapping_add(block & self.last_block())
    }

    /// The number of the last block.
    const fn last_block(&self) -> u128 {
        match u128::MAX.checked_shr(u128::BITS - self.log_blocks) {
            Some(last) => last,
            None => 0,
        }
    }

    /// Fills `output` from the start of a block on. Each thread calls `finish` on the whole blocks that it
    /// has written.
    fn fill_blocks(&self, mut block: u128, mut output: &mut [u8], finish: Finish<'_>) {
        while !output.is_empty() {
            // At the end of a part the counter jumps back to its first block.
            let left = (self.last_block() - (block & self.last_block())).saturating_add(1);
            let left_bytes = usize::try_from(left.saturating_mul(BLOCK_BYTES as u128)).unwrap_or(usize::MAX);
            let (now, later) = output.split_at_mut(output.len().min(left_bytes));
            self.keystream.keystream(self.counter(block), now, finish);
            (block, output) = (block.wrapping_add(left), later);
        }
    }
}
