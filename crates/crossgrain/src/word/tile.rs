//! The memory in which parts of a cipher meet: one bundle's state, small enough to stay in L1.

use std::fmt;

use super::{Register, clear_registers};

/// Words of a bit-sliced bundle: one for each bit of a block.
pub const TILE_WORDS: usize = 128;

/// Bytes in a tile: 128 words of the widest register, or several narrower bundles one after another.
pub const TILE_BYTES: usize = TILE_WORDS * 64;

/// The blocks that a plan works on together, as one bundle or several of any representation. Wiped when dropped.
#[repr(C, align(64))]
pub struct Tile {
    bytes: [u8; TILE_BYTES],
    /// Beyond these there are zeros.
    used_bytes: usize,
    /// How many ShiftRows the words' names are behind their places, modulo 4; see `repr`.
    pub phase: u8,
    /// What would be a gap: a tile that is moved from the stack into a box must bring nothing along that lay there before.
    rest: [u8; REST_BYTES],
}

const REST_BYTES: usize = 64 - size_of::<usize>() - 1;
const _: () = assert!(size_of::<Tile>() == TILE_BYTES + 64);

impl Tile {
    /// A tile of zeros.
    pub const fn new() -> Self {
        Self { bytes: [0; TILE_BYTES], used_bytes: 0, phase: 0, rest: [0; REST_BYTES] }
    }

    /// The tile as bytes, blocks one after another.
    pub const fn bytes(&self) -> &[u8; TILE_BYTES] {
        &self.bytes
    }

    /// The tile as bytes, blocks one after another.
    pub const fn bytes_mut(&mut self) -> &mut [u8; TILE_BYTES] {
        self.used_bytes = TILE_BYTES;
        &mut self.bytes
    }

    /// The first bytes of the tile. What is never reached for need not be wiped.
    ///
    /// # Panics
    /// If the tile has fewer.
    #[inline(always)]
    pub fn front_mut(&mut self, len_bytes: usize) -> &mut [u8] {
        let front = &mut self.bytes[..len_bytes];
        self.used_bytes = self.used_bytes.max(len_bytes);
        front
    }

    /// Makes it a tile of zeros again.
    pub fn wipe(&mut self) {
        wipe(&mut self.bytes[..self.used_bytes]);
        (self.used_bytes, self.phase) = (0, 0);
    }

    /// Bundle `index` of `N` words; the token stands for the right to have such words.
    ///
    /// # Panics
    /// If the tile has no such bundle.
    #[inline(always)]
    pub fn bundle<W: Register, const N: usize>(&self, _isa: W::Isa, index: usize) -> &[W; N] {
        const { assert!(size_of::<W>() == W::BYTES && align_of::<W>() <= 64 && 64 % align_of::<W>() == 0) };
        let bytes = &self.bytes[index * N * W::BYTES..][..N * W::BYTES];
        // SAFETY: the slice is as long as N words, at a multiple of their size from a 64-byte boundary;
        // `Register` promises that any bytes are a valid W wherever its token is at hand.
        unsafe { &*bytes.as_ptr().cast() }
    }

    /// Bundle `index` of `N` words, to be changed.
    ///
    /// # Panics
    /// If the tile has no such bundle.
    #[inline(always)]
    pub fn bundle_mut<W: Register, const N: usize>(&mut self, isa: W::Isa, index: usize) -> &mut [W; N] {
        &mut self.bundles_mut(isa, index + 1)[index]
    }

    /// The first `count` bundles of `N` words, to be changed.
    ///
    /// # Panics
    /// If the tile has fewer.
    #[inline(always)]
    pub fn bundles_mut<W: Register, const N: usize>(&mut self, _isa: W::Isa, count: usize) -> &mut [[W; N]] {
        const { assert!(size_of::<W>() == W::BYTES && align_of::<W>() <= 64 && 64 % align_of::<W>() == 0) };
        assert!(count <= const { TILE_BYTES / (N * W::BYTES) });
        let bytes = self.front_mut(count * N * W::BYTES);
        // SAFETY: the slice is as long as `count` bundles, from a 64-byte boundary; any bytes are valid words, as in `bundle`. The borrow
        // is exclusive.
        unsafe { std::slice::from_raw_parts_mut(bytes.as_mut_ptr().cast(), count) }
    }
}

impl Default for Tile {
    fn default() -> Self {
        Self::new()
    }
}

impl Drop for Tile {
    fn drop(&mut self) {
        self.wipe();
    }
}

impl fmt::Debug for Tile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Tile(phase {}, secret)", self.phase)
    }
}

/// Overwrites secret bytes with zeros, so that it is not optimised away.
///
/// `Zeroize` would write byte by byte: for a tile, as long as a short run takes to encrypt it.
#[inline(always)]
pub fn wipe(bytes: &mut [u8]) {
    bytes.fill(0);
    zeroize::optimization_barrier(bytes);
}

/// Twice what makes a cipher of a key, or runs one on registers, has on the stack: `tests/memory.rs` finds nothing with half of it.
const STACK_BYTES: usize = 16 * 1024;

/// More than what runs a cipher on tiles has there, many chains side by side included.
const DEEP_STACK_BYTES: usize = 96 * 1024;

/// Overwrites the stack below the caller, then clears the registers.
///
/// Functions that have returned leave round keys in both: what they moved, and what they had no register for.
#[inline(never)]
pub fn wipe_stack() {
    wipe(&mut [0; STACK_BYTES]);
    clear_registers();
}

/// The same after functions that worked on tiles.
#[inline(never)]
pub fn wipe_deep_stack() {
    wipe(&mut [0; DEEP_STACK_BYTES]);
    clear_registers();
}
