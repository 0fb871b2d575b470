//! The memory in which the parts of a cipher pass the state of a bundle to each other. It is small enough to
//! stay in L1.
//!
//! A tile holds one bundle of up to 128 words, or several narrower bundles in sequence. A part reads and
//! writes it as arrays of its own words. The tile keeps the length that was ever accessed for writing, so
//! that wiping it skips bytes that are still zero.

use std::fmt;
use std::mem::MaybeUninit;

use super::{Register, clear_registers};

/// Words of a bit-sliced bundle: one for each bit of a block.
pub const TILE_WORDS: usize = 128;

/// Bytes in a tile: 128 words of the widest register, or several narrower bundles in sequence.
pub const TILE_BYTES: usize = TILE_WORDS * 64;

/// The blocks that a plan computes at a time, as one or several bundles in any representation. Wiped when
/// dropped.
#[repr(C, align(64))]
pub struct Tile {
    bytes: [u8; TILE_BYTES],
    /// All bytes after these are zero.
    used_bytes: usize,
    /// ShiftRows operations that were done by renaming words, not by moving them, modulo 4: see
    /// `layout::repr`.
    pub phase: u8,
    /// Takes the place of padding. A tile that is moved from the stack into a box would copy old stack
    /// contents in its padding.
    rest: [u8; REST_BYTES],
}

const REST_BYTES: usize = 64 - size_of::<usize>() - 1;
const _: () = assert!(size_of::<Tile>() == TILE_BYTES + 64);

impl Tile {
    /// A tile of zeros.
    pub const fn new() -> Self {
        Self { bytes: [0; TILE_BYTES], used_bytes: 0, phase: 0, rest: [0; REST_BYTES] }
    }

    /// The tile as bytes: consecutive blocks.
    pub const fn bytes(&self) -> &[u8; TILE_BYTES] {
        &self.bytes
    }

    /// The tile as bytes: consecutive blocks. Afterwards the whole tile counts as used.
    pub const fn bytes_mut(&mut self) -> &mut [u8; TILE_BYTES] {
        self.used_bytes = TILE_BYTES;
        &mut self.bytes
    }

    /// The first `len_bytes` bytes of the tile. Only bytes that were accessed for writing need to be wiped.
    ///
    /// # Panics
    /// If the tile has fewer bytes.
    #[inline(always)]
    pub fn front_mut(&mut self, len_bytes: usize) -> &mut [u8] {
        let front = &mut self.bytes[..len_bytes];
        self.used_bytes = self.used_bytes.max(len_bytes);
        front
    }

    /// Overwrites the used bytes with zeros.
    pub fn wipe(&mut self) {
        wipe(&mut self.bytes[..self.used_bytes]);
        (self.used_bytes, self.phase) = (0, 0);
    }

    /// Bundle `index` of `N` words. The token proves that the instructions for these words exist.
    ///
    /// # Panics
    /// If the tile has no bundle with this index.
    #[inline(always)]
    pub fn bundle<W: Register, const N: usize>(&self, _isa: W::Isa, index: usize) -> &[W; N] {
        const { assert!(size_of::<W>() == W::BYTES && align_of::<W>() <= 64 && 64 % align_of::<W>() == 0) };
        let bytes = &self.bytes[index * N * W::BYTES..][..N * W::BYTES];
        // SAFETY: the slice is as long as N words and starts at a multiple of their size from a 64-byte
        // boundary. `Register` promises that any bytes are a valid W wherever its token exists.
        unsafe { &*bytes.as_ptr().cast() }
    }

    /// Bundle `index` of `N` words, mutable.
    ///
    /// # Panics
    /// If the tile has no bundle with this index.
    #[inline(always)]
    pub fn bundle_mut<W: Register, const N: usize>(&mut self, isa: W::Isa, index: usize) -> &mut [W; N] {
        &mut self.bundles_mut(isa, index + 1)[index]
    }

    /// The first `count` bundles of `N` words, mutable.
    ///
    /// # Panics
    /// If the tile has fewer bundles.
    #[inline(always)]
    pub fn bundles_mut<W: Register, const N: usize>(&mut self, _isa: W::Isa, count: usize) -> &mut [[W; N]] {
        const { assert!(size_of::<W>() == W::BYTES && align_of::<W>() <= 64 && 64 % align_of::<W>() == 0) };
        assert!(count <= const { TILE_BYTES / (N * W::BYTES) });
        let bytes = self.front_mut(count * N * W::BYTES);
        // SAFETY: the slice is as long as `count` bundles and starts at a 64-byte boundary. Any bytes are
        // valid words, as in `bundle`. The borrow is exclusive.
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

/// Overwrites secret bytes with zeros, in a way that the compiler cannot optimise away.
///
/// `Zeroize` would write byte by byte. For a tile, that takes as long as a short run takes to encrypt it.
#[inline(always)]
pub fn wipe(bytes: &mut [u8]) {
    bytes.fill(0);
    zeroize::optimization_barrier(bytes);
}

/// More stack than key set-up of AES instructions uses. `tests/stack.rs` measures it.
pub(crate) const SETUP_STACK_BYTES: usize = 3 * 1024;

/// Twice the stack that short messages use on AES instructions, plus the frames of callers above the drop of a
/// mode. `tests/stack.rs` measures it, and `tests/memory.rs` finds no secret.
pub(crate) const SHALLOW_STACK_BYTES: usize = 8 * 1024;

/// More stack than single messages of any length use on AES instructions, plus the same frames.
pub(crate) const LONGER_STACK_BYTES: usize = 16 * 1024;

/// More stack than single messages use on registers, plus the frames of callers above the drop of a mode. OCB with
/// Serpent on AVX2, four bundles side by side, uses most: 18.5 KiB. `tests/memory.rs` finds no secret.
pub(crate) const STACK_BYTES: usize = 24 * 1024;

/// More stack than runs over tiles use, and more than many messages run together use.
pub(crate) const DEEP_STACK_BYTES: usize = 97 * 1024;

/// Overwrites this many bytes of the stack below the caller, then clears the registers.
///
/// Functions that have returned may leave round keys in both. On the stack these are copies, and values for
/// which no register was free.
#[inline(never)]
pub(crate) fn wipe_stack<const BYTES: usize>() {
    let mut below = [const { MaybeUninit::<u8>::uninit() }; BYTES];
    for piece in below.chunks_mut(WIPED_TOGETHER_BYTES) {
        piece.fill(MaybeUninit::new(0));
        zeroize::optimization_barrier(piece);
    }
    clear_registers();
}

/// glibc fills up to this many bytes by stores of whole registers. For more it uses `rep stosb`, which takes twice as
/// long per byte for the lengths here (Zen 5).
const WIPED_TOGETHER_BYTES: usize = 2048;

/// Runs `work` in frames of its own, then overwrites them as deep as functions that work on registers use the stack.
/// If `work` overwrote the stack at its own end, its own frame would keep the values of inlined functions.
pub fn wiping_stack<T>(work: impl FnOnce() -> T) -> T {
    let done = deeper(work);
    wipe_stack::<STACK_BYTES>();
    done
}

/// [`wiping_stack`] for functions that work on tiles.
pub fn wiping_deep_stack<T>(work: impl FnOnce() -> T) -> T {
    let done = deeper(work);
    wipe_stack::<DEEP_STACK_BYTES>();
    done
}

#[inline(never)]
fn deeper<T>(work: impl FnOnce() -> T) -> T {
    work()
}
