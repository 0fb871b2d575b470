//! The memory in which parts of a cipher meet: one bundle's state, small enough to stay in L1.

use std::fmt;

use zeroize::Zeroize;

use super::Register;

/// Words in a tile: one for each bit of a block.
pub const TILE_WORDS: usize = 128;

/// Bytes in a tile: 128 words of the widest register.
const TILE_BYTES: usize = TILE_WORDS * 64;

/// One bundle of blocks in any representation, wiped when dropped.
#[repr(C, align(64))]
pub struct Tile {
    bytes: [u8; TILE_BYTES],
    /// How many ShiftRows the words' names are behind their places, modulo 4; see `repr`.
    pub phase: u8,
}

impl Tile {
    /// A tile of zeros.
    pub const fn new() -> Self {
        Self { bytes: [0; TILE_BYTES], phase: 0 }
    }

    /// The tile as bytes, blocks one after another.
    pub const fn bytes(&self) -> &[u8; TILE_BYTES] {
        &self.bytes
    }

    /// The tile as bytes, blocks one after another.
    pub const fn bytes_mut(&mut self) -> &mut [u8; TILE_BYTES] {
        &mut self.bytes
    }

    /// The first 128 words of the tile; the token stands for the right to have such words.
    #[inline(always)]
    pub fn words<W: Register>(&self, _isa: W::Isa) -> &[W; TILE_WORDS] {
        const { assert!(size_of::<W>() == W::BYTES && W::BYTES <= 64 && align_of::<W>() <= 64) };
        // SAFETY: 128 words of W fit (asserted above) and the tile is 64-byte aligned; `Register`
        // promises that any bytes are a valid W wherever its token is at hand.
        unsafe { &*self.bytes.as_ptr().cast() }
    }

    /// The first 128 words of the tile, to be changed.
    #[inline(always)]
    pub fn words_mut<W: Register>(&mut self, _isa: W::Isa) -> &mut [W; TILE_WORDS] {
        const { assert!(size_of::<W>() == W::BYTES && W::BYTES <= 64 && align_of::<W>() <= 64) };
        // SAFETY: as in `words`, and the borrow is exclusive.
        unsafe { &mut *self.bytes.as_mut_ptr().cast() }
    }
}

impl Default for Tile {
    fn default() -> Self {
        Self::new()
    }
}

impl Drop for Tile {
    fn drop(&mut self) {
        self.bytes.zeroize();
    }
}

impl fmt::Debug for Tile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Tile(phase {}, secret)", self.phase)
    }
}
