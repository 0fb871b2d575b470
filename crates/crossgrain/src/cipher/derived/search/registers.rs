//! Search for the key of a described cipher in registers, with one key per lane.
//!
//! Layout: byte i of a key, of its round keys and of the known block is in register i, as in
//! `Repr::Bytesliced`. The round keys of a bundle are computed first, and stay in the first-level cache for
//! the rounds.
//!
//! Invariant: all known bits are compared. A start is the key itself, so the sums of `kernel::search` are
//! correct for both uses of a table.

use std::fmt;
use std::sync::Arc;

use crate::arch::{ByteLanes, Isa, Kernel, each, eight};
use crate::block::{BLOCK_BYTES, Block};
use crate::cipher::key_lanes::{Byte, Constants, KeyLanes};
use crate::cipher::substitution::Substitution;
use crate::cipher::under_keys::UnderKeys;
use crate::cipher::{Description, KeyBytes as _, Portion, Scheduled};
use crate::kernel::search::{Known, Lanes, START_BLOCKS, TableReuse, copy_key, transposed};
use crate::layout::repr::block_of_lane;

/// Bytes of the longest key, and of its round keys.
const KEY_BYTES: usize = 32;
pub(super) const ROUND_KEY_BYTES: usize = 272;

/// A cipher on blocks of `BYTES` bytes, under many keys. Implementations must be `#[inline(always)]`.
pub trait Tried<const BYTES: usize>: Send + Sync + 'static {
    /// The description.
    type Cipher: Scheduled;

    /// Bytes of the round keys of a key.
    fn round_key_bytes(key_bytes: usize) -> usize;

    /// Tries one key per lane: returns bytes that are zero in the lanes whose key may be right. `round_keys` has as
    /// many bytes as they take.
    fn differing<W: ByteLanes, Y: Substitution<W>>(
        lanes: KeyLanes<'_, Self::Cipher, W, Y>,
        known: &Known<BYTES>,
        key: &[Byte<W>],
        round_keys: &mut [Byte<W>],
    ) -> W;
}

impl<U: UnderKeys> Tried<BLOCK_BYTES> for U {
    type Cipher = U::Cipher;

    fn round_key_bytes(key_bytes: usize) -> usize {
        U::Cipher::round_key_bytes(key_bytes)
    }

    #[inline(always)]
    fn differing<W: ByteLanes, Y: Substitution<W>>(
        lanes: KeyLanes<'_, U::Cipher, W, Y>,
        known: &Known,
        key: &[Byte<W>],
        round_keys: &mut [Byte<W>],
    ) -> W {
        let direction = known.direction;
        U::Cipher::round_keys(lanes, key, direction, &mut |place, bytes: &[Byte<W>]| {
            // This closure only copies, so it need not be inlined.
            round_keys[place..][..bytes.len()].copy_from_slice(bytes);
        });
        let block = U::portion(lanes, direction, Portion::All, lanes.same(&known.input), round_keys);
        differing(lanes, known, &block)
    }
}

/// The OR of the differences between blocks and the known one.
#[inline(always)]
pub fn differing<C: Description, W: ByteLanes, Y: Substitution<W>, const BYTES: usize>(
    lanes: KeyLanes<'_, C, W, Y>,
    known: &Known<BYTES>,
    block: &[Byte<W>; BYTES],
) -> W {
    let mut differing = lanes.constant(0).0;
    for (i, byte) in block.iter().enumerate() {
        let (output, mask) = (lanes.constant(known.output[i]).0, lanes.constant(known.mask[i]).0);
        let difference = (byte.0 ^ output) & mask;
        differing = W::ternary::<0xfe>(differing, difference, difference);
    }
    differing
}

/// A kernel for one known block of `BYTES` bytes, with room for `ROOM` bytes of round keys.
pub struct Search<U: Tried<BYTES>, W: ByteLanes, Y: Substitution<W>, const BYTES: usize, const ROOM: usize> {
    isa: W::Isa,
    constants: Arc<Constants<W, Y>>,
    key_bytes: usize,
    known: Known<BYTES>,
    of: std::marker::PhantomData<fn() -> U>,
}

/// The same for ciphers with blocks of 16 bytes.
pub type Described<U, W, Y> = Search<U, W, Y, BLOCK_BYTES, ROUND_KEY_BYTES>;

impl<U: Tried<BYTES>, W: ByteLanes, Y: Substitution<W>, const BYTES: usize, const ROOM: usize> Clone
    for Search<U, W, Y, BYTES, ROOM>
{
    fn clone(&self) -> Self {
        Self { constants: Arc::clone(&self.constants), ..*self }
    }
}

impl<U: Tried<BYTES>, W: ByteLanes, Y: Substitution<W>, const BYTES: usize, const ROOM: usize> fmt::Debug
    for Search<U, W, Y, BYTES, ROOM>
{
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "registers::Search(blocks of {BYTES} bytes, {} bits)", W::BITS)
    }
}

impl<U: Tried<BYTES>, W: ByteLanes, Y: Substitution<W>, const BYTES: usize, const ROOM: usize>
    Search<U, W, Y, BYTES, ROOM>
{
    /// A kernel for keys of one of the cipher's lengths. `None` if this form of substitution cannot compute
    /// the S-boxes.
    ///
    /// # Panics
    /// If there is no room for its round keys.
    pub fn new(isa: W::Isa, key_bytes: usize, known: &Known<BYTES>) -> Option<Self> {
        assert!(U::round_key_bytes(key_bytes) <= ROOM, "more round keys than there is room for");
        let constants = Arc::new(Constants::of::<U::Cipher>()?);
        Some(Self { isa, constants, key_bytes, known: *known, of: std::marker::PhantomData })
    }

    fn loaded(&self, [low, high]: [&[u8]; 2]) -> [W; KEY_BYTES] {
        let low = transposed(self.isa, low);
        // Nothing reads more of a short key.
        let high = if self.key_bytes > 16 { transposed(self.isa, high) } else { low };
        each!(i < KEY_BYTES => if i < 16 { low[i] } else { high[i - 16] })
    }
}

impl<U: Tried<BYTES>, W: ByteLanes, Y: Substitution<W>, const BYTES: usize, const ROOM: usize> Lanes
    for Search<U, W, Y, BYTES, ROOM>
{
    /// The bytes of keys.
    type Start = [W; KEY_BYTES];

    fn lanes(&self) -> usize {
        W::BYTES
    }

    fn key_bytes(&self) -> usize {
        self.key_bytes
    }

    fn start(&self, key: &[u8], _: TableReuse, blocks: &mut [Block; START_BLOCKS]) {
        copy_key(key, blocks.as_flattened_mut());
    }

    fn load(&self, blocks: &[Vec<u8>; START_BLOCKS]) -> [W; KEY_BYTES] {
        self.loaded([&blocks[0], &blocks[1]])
    }

    fn load_keys(&self, halves: [&[u8]; 2]) -> Option<[W; KEY_BYTES]> {
        Some(self.loaded(halves))
    }

    fn run(
        &self,
        _: TableReuse,
        bundles: &[[W; KEY_BYTES]],
        outer: &[Block; START_BLOCKS],
        found: &mut [u64],
    ) -> bool {
        self.isa.enter(Try { search: self, bundles, outer: outer.as_flattened(), found })
    }

    fn key_of(&self, lane: usize) -> usize {
        block_of_lane(W::BITS, W::BYTES, lane)
    }
}

/// Tries all bundles with one outer key.
struct Try<'a, U: Tried<BYTES>, W: ByteLanes, Y: Substitution<W>, const BYTES: usize, const ROOM: usize> {
    search: &'a Search<U, W, Y, BYTES, ROOM>,
    bundles: &'a [[W; KEY_BYTES]],
    outer: &'a [u8],
    found: &'a mut [u64],
}

/// A byte in every lane.
#[inline(always)]
fn same<W: ByteLanes>(isa: W::Isa, byte: u8) -> W {
    W::splat(isa, eight(byte))
}

impl<U: Tried<BYTES>, W: ByteLanes, Y: Substitution<W>, const BYTES: usize, const ROOM: usize> Kernel
    for Try<'_, U, W, Y, BYTES, ROOM>
{
    type Output = bool;

    #[inline(always)]
    fn run(self) -> bool {
        let Self { search, bundles, outer, found } = self;
        let Search { isa, key_bytes, ref known, .. } = *search;
        let lanes = KeyLanes::<U::Cipher, W, Y>::new(isa, &search.constants);
        let mut round_keys = [Byte(W::splat(isa, 0)); ROOM];
        let round_keys = &mut round_keys[..U::round_key_bytes(key_bytes)];
        let mut any = 0;
        for (inner, found) in bundles.iter().zip(found) {
            let key = each!(i < KEY_BYTES => Byte(inner[i] ^ same(isa, outer[i])));
            *found = U::differing(lanes, known, &key[..key_bytes], round_keys).zero_bytes();
            any |= *found;
        }
        any != 0
    }
}
