//! Random streams that are the same everywhere: the keystream of a cipher in counter mode.
//!
//! Block n of a stream is the cipher of the 128-bit number n, little-endian, and n wraps at 2¹²⁸. So every position is
//! reached at once, whoever computes it gets the same bytes, and they do not tell, through the cache or otherwise,
//! what the key is. Words are little-endian: a `u64` is eight bytes of the stream in order. With AES-128 that is
//! randomgen's `AESCounter`. Published examples are in docs/streams.md, and hold for ever.
//!
//! [`Stream`] is all the bytes under a key, or a part of them, at any place. [`StreamRng`] goes through them in order, with
//! a buffer for small draws. [`Seed`] makes keys from numbers.
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
pub use typed::{Aes128Rng, Aes192Rng, Aes256Rng, KeyedRng, Serpent128Rng, Serpent192Rng, Serpent256Rng};

use std::sync::Arc;

use crate::block::{BLOCK_BYTES, Block, Error, Key};
use crate::mode::{Ctr, Finish, Options};
use crate::plan::Plan;
use crate::word::wipe;

/// The bytes under one key: 2¹²⁸ blocks, or a part of them that overlaps no other.
///
/// Clones share the expanded key, which is wiped when the last of them is dropped.
#[derive(Clone, Debug)]
pub struct Stream {
    /// From counter 0 on.
    keystream: Arc<Ctr>,
    /// The counter of the first block.
    first: u128,
    /// The binary logarithm of the number of blocks, after which the first comes again: 128 at most.
    log_blocks: u32,
}

impl Stream {
    /// All the bytes under a key, by the default options.
    ///
    /// # Errors
    /// [`Error::BadIsaCap`] for an unreadable `CROSSGRAIN_ISA`.
    pub fn new(key: &Key) -> Result<Self, Error> {
        Self::with_options(key, &Options::default())
    }

    /// The same by these options.
    ///
    /// # Errors
    /// As [`Ctr::with_options`].
    pub fn with_options(key: &Key, options: &Options) -> Result<Self, Error> {
        let keystream = Arc::new(Ctr::little_endian(key, options)?);
        Ok(Self { keystream, first: 0, log_blocks: u128::BITS })
    }

    /// Part number `index` of 2^`log_parts` equal ones, in order. Parts do not overlap: each begins
    /// again at its end. `part(64, n)` is stream n of 2⁶⁴, told apart by the upper half of the counter.
    ///
    /// # Errors
    /// [`Error::NoSuchPart`] if there are not so many parts, or not so many blocks.
    pub fn part(&self, log_parts: u32, index: u128) -> Result<Self, Error> {
        let too_many = log_parts > self.log_blocks;
        if too_many || index.checked_shr(log_parts).is_some_and(|above| above > 0) {
            return Err(Error::NoSuchPart { log_parts, index });
        }
        let log_blocks = self.log_blocks - log_parts;
        let first = self.counter(index.checked_shl(log_blocks).unwrap_or(0));
        Ok(Self { first, log_blocks, ..self.clone() })
    }

    /// Goes through the stream in order.
    pub fn rng(&self) -> StreamRng {
        StreamRng::new(self.clone())
    }

    /// The same from byte `position_bytes` on.
    pub fn rng_at(&self, position_bytes: u128) -> StreamRng {
        let mut rng = self.rng();
        rng.seek(position_bytes);
        rng
    }

    /// The bytes from `position_bytes` on.
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

    /// The plans that run, widest bundle first.
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

    /// The bytes from the beginning of a block on, each piece of whole blocks finished by who wrote it.
    fn fill_blocks(&self, mut block: u128, mut output: &mut [u8], finish: Finish<'_>) {
        while !output.is_empty() {
            // Where a part ends and begins again the counter jumps.
            let left = (self.last_block() - (block & self.last_block())).saturating_add(1);
            let left_bytes = usize::try_from(left.saturating_mul(BLOCK_BYTES as u128)).unwrap_or(usize::MAX);
            let (now, later) = output.split_at_mut(output.len().min(left_bytes));
            self.keystream.keystream(self.counter(block), now, finish);
            (block, output) = (block.wrapping_add(left), later);
        }
    }
}
