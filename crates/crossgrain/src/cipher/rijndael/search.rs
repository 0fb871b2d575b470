//! Search for a key of Rijndael with blocks of 24 and 32 bytes.
//!
//! * [`OnLanes`]: bytes of many keys in registers, with one key per lane.
//! * [`OneByOne`]: one key after another, with a kernel that encrypts blocks. It runs on every machine.
//!
//! Layout of the first: byte i of a key, of its round keys and of the known block is in register i, as in
//! `Repr::Bytesliced`.
//!
//! Invariant: all known bits are compared. A start is the key itself, so the sums of `kernel::search` are correct
//! for both uses of a table.
//!
//! Source: as for `aes::description`, whose key expansion and rounds are used here.

use std::fmt;
use std::sync::Arc;

use zeroize::Zeroizing;

use super::WideBlocks;
use crate::arch::{ByteLanes, Isa, Kernel, Wiped, each, eight};
use crate::block::{Block, Direction};
use crate::cipher::aes::description::{Aes, WideRounds, expand_in_place};
use crate::cipher::key_lanes::{Byte, Constants, KeyLanes};
use crate::cipher::substitution::Substitution;
use crate::kernel::search::{Inner, Lanes, START_BLOCKS, SearchPart, TableReuse, transposed};
use crate::layout::repr::block_of_lane;

/// A block of any length before and after the cipher, with a mask of the known bits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Known {
    /// The direction that leads from `input` to `output`.
    pub direction: Direction,
    /// The block that entered the cipher.
    pub input: Vec<u8>,
    /// The cipher's result.
    pub output: Vec<u8>,
    /// The bits of `output` that are known.
    pub mask: Vec<u8>,
}

/// The same for blocks of `BYTES` bytes.
#[derive(Clone, Copy, Debug)]
pub struct KnownBlock<const BYTES: usize> {
    direction: Direction,
    input: [u8; BYTES],
    output: [u8; BYTES],
    mask: [u8; BYTES],
}

impl<const BYTES: usize> KnownBlock<BYTES> {
    /// `None` for blocks of another length.
    pub fn of(known: &Known) -> Option<Self> {
        let Known { direction, input, output, mask } = known;
        let block = |bytes: &[u8]| bytes.try_into().ok();
        Some(Self { direction: *direction, input: block(input)?, output: block(output)?, mask: block(mask)? })
    }

    /// The direction from the block that is known in full.
    pub const fn direction(&self) -> Direction {
        self.direction
    }
}

/// Bytes of the longest key, and of the round keys of the widest block.
const KEY_BYTES: usize = 32;
const ROUND_KEY_BYTES: usize = 32 * 15;

/// A kernel for one known block. `Y` is the method of substitution.
pub struct OnLanes<W: ByteLanes, Y: Substitution<W>, const BYTES: usize> {
    isa: W::Isa,
    constants: Arc<Constants<W, Y>>,
    key_bytes: usize,
    known: KnownBlock<BYTES>,
}

impl<W: ByteLanes, Y: Substitution<W>, const BYTES: usize> Clone for OnLanes<W, Y, BYTES> {
    fn clone(&self) -> Self {
        Self { constants: Arc::clone(&self.constants), ..*self }
    }
}

impl<W: ByteLanes, Y: Substitution<W>, const BYTES: usize> fmt::Debug for OnLanes<W, Y, BYTES> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "rijndael::search::OnLanes({BYTES} bytes, {} bits)", W::BITS)
    }
}

impl<W: ByteLanes, Y: Substitution<W>, const BYTES: usize> OnLanes<W, Y, BYTES> {
    /// A kernel for keys of this length. `None` if this form of substitution cannot compute the S-boxes.
    pub fn new(isa: W::Isa, key_bytes: usize, known: KnownBlock<BYTES>) -> Option<Self> {
        Some(Self { isa, constants: Arc::new(Constants::of::<Aes>()?), key_bytes, known })
    }
}

impl<W: ByteLanes, Y: Substitution<W>, const BYTES: usize> Lanes for OnLanes<W, Y, BYTES>
where
    Aes: WideRounds<BYTES>,
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
        blocks.as_flattened_mut()[..key.len()].copy_from_slice(key);
    }

    fn load(&self, blocks: &[Vec<u8>; START_BLOCKS]) -> [W; KEY_BYTES] {
        let [low, high] = [0, 1].map(|half| transposed(self.isa, &blocks[half]));
        each!(i < KEY_BYTES => if i < 16 { low[i] } else { high[i - 16] })
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
struct Try<'a, W: ByteLanes, Y: Substitution<W>, const BYTES: usize> {
    search: &'a OnLanes<W, Y, BYTES>,
    bundles: &'a [[W; KEY_BYTES]],
    outer: &'a [u8],
    found: &'a mut [u64],
}

/// A byte in every lane.
#[inline(always)]
fn same<W: ByteLanes>(isa: W::Isa, byte: u8) -> W {
    W::splat(isa, eight(byte))
}

impl<W: ByteLanes, Y: Substitution<W>, const BYTES: usize> Kernel for Try<'_, W, Y, BYTES>
where
    Aes: WideRounds<BYTES>,
{
    type Output = bool;

    #[inline(always)]
    fn run(self) -> bool {
        let Self { search, bundles, outer, found } = self;
        let OnLanes { isa, key_bytes, known, .. } = *search;
        let KnownBlock { direction, input, output, mask } = known;
        let lanes = KeyLanes::<Aes, W, Y>::new(isa, &search.constants);
        let mut round_keys = [Byte(W::splat(isa, 0)); ROUND_KEY_BYTES];
        let mut any = 0;
        for (inner, found) in bundles.iter().zip(found) {
            for (at, byte) in round_keys[..key_bytes].iter_mut().enumerate() {
                *byte = Byte(inner[at] ^ same(isa, outer[at]));
            }
            let used = expand_in_place::<_, BYTES>(lanes, key_bytes, direction, &mut round_keys);
            let mut block = [Byte(W::splat(isa, 0)); BYTES];
            for (byte, input) in block.iter_mut().zip(input) {
                *byte = Byte(same(isa, input));
            }
            let block = Aes::wide_rounds(lanes, direction, block, &round_keys[..used]);
            let mut differing = W::splat(isa, 0);
            for at in 0..BYTES {
                let difference = (block[at].0 ^ same(isa, output[at])) & same(isa, mask[at]);
                differing = W::ternary::<0xfe>(differing, difference, difference);
            }
            *found = differing.zero_bytes();
            any |= *found;
        }
        any != 0
    }
}

/// Binds a kernel for blocks to a key; `None` if its instructions are missing.
pub type BindBlocks<const BYTES: usize> =
    Arc<dyn Fn(&[u8]) -> Option<Wiped<dyn WideBlocks<BYTES>>> + Send + Sync>;

/// One key after another.
pub struct OneByOne<const BYTES: usize> {
    bind: BindBlocks<BYTES>,
    key_bytes: usize,
    known: KnownBlock<BYTES>,
}

impl<const BYTES: usize> OneByOne<BYTES> {
    /// A search for keys of this length, by a kernel in the direction of the known block.
    pub const fn new(bind: BindBlocks<BYTES>, key_bytes: usize, known: KnownBlock<BYTES>) -> Self {
        Self { bind, key_bytes, known }
    }
}

impl<const BYTES: usize> fmt::Debug for OneByOne<BYTES> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "rijndael::search::OneByOne({BYTES} bytes)")
    }
}

impl<const BYTES: usize> SearchPart for OneByOne<BYTES> {
    fn lanes(&self) -> usize {
        1
    }

    fn inner(&self, keys: &[u8], _: TableReuse) -> Box<dyn Inner> {
        let Self { bind, key_bytes, known } = self;
        let (bind, key_bytes, known) = (Arc::clone(bind), *key_bytes, *known);
        let mut listed = Listed { bind, key_bytes, known, keys: Zeroizing::new(Vec::new()) };
        listed.refill(keys, TableReuse::Once);
        Box::new(listed)
    }
}

/// A list of keys.
struct Listed<const BYTES: usize> {
    bind: BindBlocks<BYTES>,
    key_bytes: usize,
    known: KnownBlock<BYTES>,
    keys: Zeroizing<Vec<u8>>,
}

impl<const BYTES: usize> Inner for Listed<BYTES> {
    fn keys(&self) -> usize {
        self.keys.len() / self.key_bytes
    }

    fn refill(&mut self, keys: &[u8], _: TableReuse) {
        assert!(keys.len().is_multiple_of(self.key_bytes));
        self.keys = Zeroizing::new(keys.to_vec());
    }

    fn search(&self, outer: &[u8], _: &mut Vec<u64>, found: &mut Vec<usize>) {
        assert_eq!(outer.len(), self.key_bytes);
        let KnownBlock { input, output, mask, .. } = self.known;
        let mut key = Zeroizing::new([0; KEY_BYTES]);
        let key = &mut key[..self.key_bytes];
        for (number, inner) in self.keys.chunks_exact(self.key_bytes).enumerate() {
            for ((key, outer), inner) in key.iter_mut().zip(outer).zip(inner) {
                *key = outer ^ inner;
            }
            let mut block = [input];
            let Some(cipher) = (self.bind)(key) else { return };
            cipher.run(&mut block);
            let bytes = block[0].iter().zip(output).zip(mask);
            let differing =
                bytes.fold(0, |differing, ((byte, wanted), mask)| differing | (byte ^ wanted) & mask);
            if differing == 0 {
                found.push(number);
            }
        }
    }
}
