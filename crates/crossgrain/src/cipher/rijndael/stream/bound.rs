//! Variants bound to a key, and the modes on top of them. A variant only replaces blocks by their encryption
//! or decryption.
//!
//! Source: SP 800-38A §6, with other block sizes.
//!
//! Invariant: buffers with keystream or decrypted blocks are wiped.

use super::State;
use super::rows::{Row, Variant, rows};
use crate::arch::{Buffers, Features, Wiped, wipe};
use crate::block::{Direction, Error};
use crate::cipher::rijndael::WideBlocks;
use crate::mode::{Mode, SegmentWork};

/// The size of the scratch buffer, in blocks: whole bundles of every variant.
const CHUNK_BLOCKS: usize = 512;

/// The same for variants with short bundles. The buffer is created and wiped faster and leaves room in L1.
const SHORT_CHUNK_BLOCKS: usize = 128;

/// The minimum saving, in nanoseconds per single block, for which a second variant is worth its key schedule.
const SECOND_NS: f64 = 1_000.0;

/// A bound cipher, independent of its block size.
pub(super) trait Run: Send + Sync {
    /// The names of the variants, with the number of blocks in a bundle.
    fn variants(&self) -> Vec<(&str, usize)>;

    /// Runs a mode with independent blocks, starting from this state.
    fn parallel(&self, mode: Mode, state: &State, data: &mut [u8]);

    /// Runs a mode block by block and updates the state.
    fn serial(&self, mode: Mode, state: &mut State, data: &mut [u8]);
}

/// A variant bound to a key.
struct Kernel<const BYTES: usize> {
    variant: Variant,
    cipher: Wiped<dyn WideBlocks<BYTES>>,
}

impl<const BYTES: usize> Kernel<BYTES> {
    fn cost_ns(&self, blocks: usize) -> f64 {
        self.variant.cost_ns(blocks)
    }
}

/// The cheapest variant for bulk data, and the cheapest for a single block.
pub(super) struct Bound<const BYTES: usize> {
    bulk: Kernel<BYTES>,
    /// Only if it is a different variant and much cheaper.
    single: Option<Kernel<BYTES>>,
}

impl<const BYTES: usize> Bound<BYTES> {
    /// Chooses among the variants available with these features, or takes the named one.
    pub(super) fn new<const WORDS: usize>(
        key: &[u8],
        direction: Direction,
        features: Features,
        named: &[String],
    ) -> Result<Self, Error> {
        let mut rows = rows::<BYTES, WORDS>(direction);
        for name in named {
            if !super::variants().iter().any(|variant| variant.name == *name) {
                return Err(Error::UnknownVariant(name.clone()));
            }
            rows.retain(|row| row.variant.name == *name);
            if rows.is_empty() {
                let reason = format!(
                    "one variant is the whole cipher: name one for {} of {}-bit blocks",
                    direction.name(),
                    8 * BYTES
                );
                return Err(Error::Unavailable { variant: name.clone(), reason });
            }
        }
        let bind = |row: &Row<BYTES>| {
            let cipher = (row.bind)(features, direction, key)?;
            Some(Kernel { variant: row.variant.clone(), cipher: cipher.into() })
        };
        let cheapest = |blocks: usize| {
            let available = rows.iter().filter(|row| features.contains(row.variant.needs));
            available.min_by(|a, b| a.variant.cost_ns(blocks).total_cmp(&b.variant.cost_ns(blocks)))
        };
        let missing = || rows[0].variant.unavailable(features);
        let (bulk, single) = cheapest(CHUNK_BLOCKS).zip(cheapest(1)).ok_or_else(missing)?;
        let pays = single.variant.cost_ns(1) + SECOND_NS < bulk.variant.cost_ns(1);
        Ok(Self { bulk: bind(bulk).ok_or_else(missing)?, single: if pays { bind(single) } else { None } })
    }

    /// Replaces blocks: whole bundles and the remainder, each with its cheapest variant.
    fn run(&self, blocks: &mut [[u8; BYTES]]) {
        let bundle_blocks = self.bulk.variant.bundle_blocks;
        let whole = blocks.len() / bundle_blocks * bundle_blocks;
        let (whole, rest) = blocks.split_at_mut(whole);
        let single =
            self.single.as_ref().filter(|single| single.cost_ns(rest.len()) < self.bulk.cost_ns(rest.len()));
        match single {
            Some(single) => {
                self.bulk.cipher.run(whole);
                single.cipher.run(rest);
            }
            None => self.bulk.cipher.run(blocks),
        }
    }
}

impl<const BYTES: usize> Bound<BYTES> {
    /// CTR, and decryption with CBC, CFB, CFB-8 and CFB-1, through a buffer of `CHUNK` blocks.
    fn by_chunks<const CHUNK: usize>(&self, mode: Mode, previous: [u8; BYTES], data: &mut [u8]) {
        let mut scratch = [[0; BYTES]; CHUNK];
        match mode {
            Mode::Cfb8 => self.decrypt_segments::<8>(previous, data, &mut scratch),
            Mode::Cfb1 => self.decrypt_segments::<1>(previous, data, &mut scratch),
            _ => self.by_blocks(mode, previous, data, &mut scratch),
        }
        wipe(scratch.as_flattened_mut());
    }

    /// Decryption with CFB-8 and CFB-1.
    fn decrypt_segments<const BITS: usize>(
        &self,
        mut register: [u8; BYTES],
        data: &mut [u8],
        scratch: &mut [[u8; BYTES]],
    ) {
        let buffers = Buffers::in_place(data);
        SegmentWork::<BITS, BYTES>::decrypt(&mut register, buffers, scratch, |blocks| self.run(blocks));
    }

    fn by_blocks(&self, mode: Mode, mut previous: [u8; BYTES], data: &mut [u8], scratch: &mut [[u8; BYTES]]) {
        let mut counter = Counter::from(previous);
        for chunk in data.chunks_mut(scratch.len() * BYTES) {
            let blocks = &mut scratch[..chunk.len().div_ceil(BYTES)];
            if mode == Mode::Ctr {
                counter.fill(blocks);
            } else {
                previous = delay(previous, chunk, blocks);
            }
            // The blocks to XOR to the data: in CBC the previous ciphertext blocks, in CFB their encryption.
            self.run(if mode == Mode::Cbc { chunk.as_chunks_mut().0 } else { &mut *blocks });
            add(chunk, blocks.as_flattened());
        }
    }

    /// Encryption with CFB-8 and CFB-1.
    fn encrypt_segments<const BITS: usize>(&self, state: &mut State, data: &mut [u8]) {
        let mut register = block_of::<BYTES>(state);
        let buffers = Buffers::in_place(data);
        SegmentWork::<BITS, BYTES>::encrypt(&mut register, buffers, |block| {
            self.run(std::slice::from_mut(block))
        });
        state.block[..BYTES].copy_from_slice(&register);
    }
}

impl<const BYTES: usize> Run for Bound<BYTES> {
    fn variants(&self) -> Vec<(&str, usize)> {
        let kernels = [Some(&self.bulk), self.single.as_ref()].into_iter().flatten();
        kernels.map(|kernel| (kernel.variant.name.as_str(), kernel.variant.bundle_blocks)).collect()
    }

    fn parallel(&self, mode: Mode, state: &State, data: &mut [u8]) {
        if mode == Mode::Ecb {
            self.run(data.as_chunks_mut().0);
        } else if self.bulk.variant.bundle_blocks <= SHORT_CHUNK_BLOCKS {
            self.by_chunks::<SHORT_CHUNK_BLOCKS>(mode, block_of(state), data);
        } else {
            self.by_chunks::<CHUNK_BLOCKS>(mode, block_of(state), data);
        }
    }

    fn serial(&self, mode: Mode, state: &mut State, data: &mut [u8]) {
        match mode {
            Mode::Cfb8 => return self.encrypt_segments::<8>(state, data),
            Mode::Cfb1 => return self.encrypt_segments::<1>(state, data),
            _ => {}
        }
        let mut block = block_of::<BYTES>(state);
        for chunk in data.chunks_mut(BYTES) {
            if mode == Mode::Cbc {
                add(&mut block, chunk);
            }
            self.run(std::slice::from_mut(&mut block));
            match mode {
                Mode::Cbc => chunk.copy_from_slice(&block),
                Mode::Cfb => {
                    add(chunk, &block);
                    block[..chunk.len()].copy_from_slice(chunk);
                }
                _ => add(chunk, &block),
            }
        }
        state.block[..BYTES].copy_from_slice(&block);
    }
}

fn block_of<const BYTES: usize>(state: &State) -> [u8; BYTES] {
    let mut block = [0; BYTES];
    block.copy_from_slice(state.block());
    block
}

/// XORs `bytes` to `to`, up to the shorter length.
fn add(to: &mut [u8], bytes: &[u8]) {
    for (to, byte) in to.iter_mut().zip(bytes) {
        *to ^= byte;
    }
}

/// The blocks of `data` shifted by one block, with `previous` first. Returns the last whole block.
fn delay<const BYTES: usize>(previous: [u8; BYTES], data: &[u8], later: &mut [[u8; BYTES]]) -> [u8; BYTES] {
    let blocks = data.as_chunks().0;
    for (later, block) in later.iter_mut().zip([&previous].into_iter().chain(blocks)) {
        *later = *block;
    }
    blocks.last().copied().unwrap_or(previous)
}

/// A big-endian counter as wide as the block.
struct Counter<const BYTES: usize> {
    /// All but the lowest 64 bits.
    high: [u8; BYTES],
    low: u64,
}

impl<const BYTES: usize> From<[u8; BYTES]> for Counter<BYTES> {
    fn from(block: [u8; BYTES]) -> Self {
        let mut low = [0; 8];
        low.copy_from_slice(&block[BYTES - 8..]);
        Self { high: block, low: u64::from_be_bytes(low) }
    }
}

impl<const BYTES: usize> Counter<BYTES> {
    /// Writes the next counter blocks.
    fn fill(&mut self, blocks: &mut [[u8; BYTES]]) {
        for block in blocks {
            *block = self.high;
            block[BYTES - 8..].copy_from_slice(&self.low.to_be_bytes());
            self.low = self.low.wrapping_add(1);
            if self.low == 0 {
                self.carry();
            }
        }
    }

    /// Increments the bits above the lowest 64.
    #[cold]
    fn carry(&mut self) {
        for byte in self.high[..BYTES - 8].iter_mut().rev() {
            *byte = byte.wrapping_add(1);
            if *byte != 0 {
                return;
            }
        }
    }
}
