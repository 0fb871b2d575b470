//! CTR with the first two rounds shared between blocks: the part common to all sliced representations.
//!
//! In round 1, the lowest counter byte mixes only with the other three of bytes 0, 5, 10 and 15, which are
//! constant for 2⁴⁰ blocks. The other three columns depend on bytes that are constant in a *group* of 256
//! blocks. After its SubBytes, round 2 is linear over columns. The state after round 2 is therefore a sum:
//!
//! ```text
//! column_0[lowest byte] ⊕ groups[counter / 256]
//! ```
//!
//! The first summand is a table of one tile, computed once per run in the run's representation. The second is
//! one block per group, from columns 1 to 3. A bundle begins at round 3 with one addition.
//!
//! Both are computed bit-sliced in 64-bit integers, whatever the representation: 256 counters or 64 groups at
//! a time. The table is read in counter order, so no lookup depends on a secret.
//!
//! Source: as in `cached_counter`, applied to slices.
//! Invariant: S-boxes are computed without their constant 0x63. Round key 2 includes it (`BitKeys::folded`).

use std::fmt;
use std::sync::{Mutex, PoisonError};

use zeroize::Zeroize;

use super::bitsliced::{BitKey, BitKeys, byte, set_byte, spread_byte, two_rounds_without_column_0};
use super::key::RoundKeys;
use super::linear_circuit::{add, double};
use crate::arch::{Buffers, Portable, Register, TILE_BYTES, TILE_WORDS, Tile, Wiped, each};
use crate::block::{BLOCK_BYTES, Block};
use crate::cipher::aes::scalar;
use crate::circuit::{Bits, aes_sbox};
use crate::kernel::{Count, Counting};
use crate::layout::convert::{BlocksToBits, Network, Store};
use crate::layout::repr::shifted;
use crate::mode::ctr::counter::{ByteOrder, Counter, CounterToBits};

/// Blocks that share all counter bytes but the lowest.
pub(super) const GROUP_BLOCKS: usize = 256;

/// Groups that are computed at once: one per lane.
const GROUPS: usize = u64::BITS as usize;

/// Counter bits below the second-lowest byte that the table depends on. This is byte 10 big-endian, 5
/// little-endian.
pub(super) const NONCE_BITS: u32 = 40;

/// Blocks in a tile.
const TILE_BLOCKS: usize = TILE_BYTES / BLOCK_BYTES;

/// The number of groups that a tile may refer to after its first: two that it may extend into, and two after
/// those.
const TILE_GROUPS: u128 = 4;

/// Column r of the MixColumns matrix: the factors of a byte in row r for each row of its column.
const MIX_ROWS: [[u8; 4]; 4] = [[2, 1, 1, 3], [3, 2, 1, 1], [1, 3, 2, 1], [1, 1, 3, 2]];

/// The rounds after the second, in one representation.
pub(super) trait Tail: Send + Sync {
    /// Blocks in a bundle: at most two groups.
    const BUNDLE_BLOCKS: usize;

    /// Bytes in a word.
    const WORD_BYTES: usize;

    /// Converts blocks to the representation.
    fn load(&self, blocks: &[u8; TILE_BYTES], tile: &mut Tile, scratch: &mut Tile);

    /// Computes rounds 3 to the last on the first `blocks` blocks.
    fn run(&self, start: &Start<'_>, tile: &mut Tile, blocks: usize);
}

/// The summands of the state after round 2, with which the tail begins.
pub(super) struct Start<'a> {
    /// The summand from column 0.
    pub(super) column_0: &'a Tile,
    /// One word per bundle. `later[0]` has ones for blocks in a later group than the bundle's first block.
    /// `later[1]` has ones for blocks at least two groups later.
    pub(super) later: &'a [[u8; LATER_BYTES]; 2],
    /// The summands from the other columns.
    pub(super) groups: &'a Groups,
    /// The index in `groups` of the group of the tile's first block, and the number of that block in its
    /// group.
    pub(super) group: usize,
    pub(super) within: usize,
}

/// Bytes of one word per bundle of a tile: at most one byte per block.
const LATER_BYTES: usize = TILE_BLOCKS;

impl Start<'_> {
    /// Word `bundle` of `later[more]`.
    #[inline(always)]
    pub(super) fn later<W: Register>(&self, isa: W::Isa, more: usize, bundle: usize) -> W {
        W::load(isa, &self.later[more][bundle * W::BYTES..][..W::BYTES])
    }

    /// The group of block `block` of the tile.
    #[inline(always)]
    pub(super) const fn group_of(&self, block: usize) -> usize {
        self.group + (self.within + block) / GROUP_BLOCKS
    }
}

/// The summands from columns 1 to 3 of the state after round 2, for `GROUPS` groups. Wiped when dropped.
pub(super) struct Groups {
    first: Option<Counter>,
    /// Bit-sliced: bit g of word `8·byte + bit` belongs to group g.
    bits: [u64; TILE_WORDS],
    blocks: [Block; GROUPS],
}

impl Groups {
    const fn none() -> Self {
        Self { first: None, bits: [0; TILE_WORDS], blocks: [[0; BLOCK_BYTES]; GROUPS] }
    }

    /// A group's summand as a block.
    pub(super) const fn block(&self, group: usize) -> &Block {
        &self.blocks[group]
    }

    /// A group's summand, with each bit repeated over a word.
    #[inline(always)]
    pub(super) fn patterns(&self, group: usize) -> BitKey {
        let up = 63 - group;
        let mut patterns = self.bits;
        for word in &mut patterns {
            *word = ((*word << up).cast_signed() >> 63).cast_unsigned();
        }
        patterns
    }
}

impl Drop for Groups {
    fn drop(&mut self) {
        self.bits.zeroize();
        self.blocks.as_flattened_mut().zeroize();
    }
}

/// The key, for the first two rounds.
struct Head {
    keys: RoundKeys,
    bits: BitKeys,
    counter: CounterToBits<u64>,
    store: BlocksToBits<u64, Network>,
}

impl Head {
    fn new(keys: &RoundKeys) -> Self {
        Self {
            keys: keys.clone(),
            bits: BitKeys::all_folded(keys),
            counter: CounterToBits::new(Portable),
            store: BlocksToBits::new(Portable),
        }
    }

    /// Computes the summands from column 0 for 256 counters. Their lowest bytes begin with that of `first`,
    /// and the other bytes are those of `nonce`.
    fn column_0(&self, first: u128, nonce: Counter, blocks: &mut [u8], scratch: &mut [Tile; 2]) {
        let keys = self.keys.blocks();
        let counter = nonce.block();
        // The row of column 0 that holds the lowest byte.
        let counting = match nonce.order {
            ByteOrder::Big => 3,
            ByteOrder::Little => 0,
        };
        let constant = {
            let column = u32::from_le_bytes(each!(row < 4 => counter[5 * row] ^ keys[0][5 * row]));
            let mut column = scalar::sub_word(column).to_le_bytes();
            column[counting] = aes_sbox::CONSTANT;
            scalar::mix_column(u32::from_le_bytes(column))
                ^ u32::from_le_bytes(each!(row < 4 => keys[1][row]))
        };
        let constant: [Bits<u64>; 4] = constant.to_le_bytes().map(|byte| spread_byte(Portable, byte));
        let key = spread_byte(Portable, keys[0][5 * counting]);
        let [tile, spare] = scratch;
        tile.phase = 0;
        for (part, place) in blocks.chunks_exact_mut(GROUPS * BLOCK_BYTES).enumerate() {
            let low = self.counter.low_16(first.wrapping_add((GROUPS * part) as u128));
            let state = tile.bundle_mut::<u64, TILE_WORDS>(Portable, 0);
            let sub = aes_sbox::forward(add(each!(bit < 8 => low[bit]), key));
            let column = times(sub, MIX_ROWS[counting]);
            for row in 0..4 {
                let sub = aes_sbox::forward(add(column[row], constant[row]));
                // ShiftRows moves the byte to column −row.
                for (i, product) in times(sub, MIX_ROWS[row]).into_iter().enumerate() {
                    set_byte(state, 4 * ((4 - row) % 4) + i, product);
                }
            }
            self.store.store(tile, spare, false, Buffers::in_place(place));
        }
    }

    /// Computes the summands from columns 1 to 3, including round key 2, for the groups from `first` on.
    fn groups(&self, first: Counter, groups: &mut Groups, scratch: &mut [Tile; 2]) {
        let [tile, spare] = scratch;
        self.counter.count_tile(first, tile, GROUPS);
        let state = tile.bundle_mut::<u64, TILE_WORDS>(Portable, 0);
        // A group's number is its counters without their lowest byte, which affects only column 0.
        match first.order {
            ByteOrder::Big => state.copy_within(8.., 0),
            ByteOrder::Little => state.copy_within(..TILE_WORDS - 8, 8),
        }
        two_rounds_without_column_0(Portable, state, &self.bits);
        for index in 0..16 {
            set_byte(&mut groups.bits, index, byte(state, shifted(index, 2)));
        }
        tile.phase = 2;
        self.store.store(tile, spare, false, Buffers::in_place(groups.blocks.as_flattened_mut()));
        groups.first = Some(first);
    }
}

/// A byte times 1, 2 or 3 in GF(2⁸), for each row.
fn times(bits: Bits<u64>, factors: [u8; 4]) -> [Bits<u64>; 4] {
    let twice = double(bits);
    factors.map(|factor| match factor {
        1 => bits,
        2 => twice,
        _ => add(bits, twice),
    })
}

/// A source of counter blocks that are already encrypted; `T` computes the rounds after the second.
pub struct CachedCount<T> {
    head: Head,
    tail: T,
    /// Tables of finished runs. Later runs reuse them, because most continue where another ended.
    kept: Mutex<Vec<Wiped<Tables>>>,
}

impl<T> CachedCount<T> {
    pub(super) fn with(keys: &RoundKeys, tail: T) -> Self {
        Self { head: Head::new(keys), tail, kept: Mutex::default() }
    }
}

impl<T> fmt::Debug for CachedCount<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("CachedCount(secret)")
    }
}

impl<T: Tail> Count for CachedCount<T> {
    fn begin(&self) -> Box<dyn Counting + '_> {
        let kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner).pop();
        Box::new(CachedCounting { cached: self, tables: kept })
    }
}

/// A run, with its tables once it has begun.
struct CachedCounting<'a, T> {
    cached: &'a CachedCount<T>,
    tables: Option<Wiped<Tables>>,
}

impl<T> Drop for CachedCounting<'_, T> {
    fn drop(&mut self) {
        let mut kept = self.cached.kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.extend(self.tables.take());
    }
}

impl<T: Tail> Counting for CachedCounting<'_, T> {
    fn count(&mut self, first: Counter, tile: &mut Tile, scratch: &mut [Tile; 2], blocks: usize) {
        let Self { cached, tables } = self;
        let tables = tables.get_or_insert_with(|| Box::new(Tables::new()).into());
        let within = first.value as usize % GROUP_BLOCKS;
        // The table covers a whole tile, even if this run uses fewer blocks of it.
        let last = first.skip(TILE_BLOCKS as u128 - 1);
        let nonce =
            Some(first.without_low(NONCE_BITS)).filter(|&nonce| nonce == last.without_low(NONCE_BITS));
        if nonce.is_none() || nonce != tables.nonce || within != tables.within {
            tables.make_table(cached, first, tile, scratch);
            tables.mark_groups(&cached.tail, within, tile, scratch);
            (tables.nonce, tables.within) = (nonce, within);
        }
        let group = tables.group(&cached.head, first.without_low(GROUP_BLOCKS.ilog2()), scratch);
        let Tables { column_0, later, groups, .. } = &**tables;
        cached.tail.run(&Start { column_0, later, groups, group, within }, tile, blocks);
    }
}

/// The tables of a run.
struct Tables {
    /// The high bits of the counters of `column_0`, if all of them share these bits.
    nonce: Option<Counter>,
    /// The number, in its group, of the first block of `column_0` and `later`.
    within: usize,
    column_0: Tile,
    later: [[u8; LATER_BYTES]; 2],
    groups: Groups,
}

impl Tables {
    const fn new() -> Self {
        let later = [[0; LATER_BYTES]; 2];
        Self { nonce: None, within: 0, column_0: Tile::new(), later, groups: Groups::none() }
    }

    /// Computes `column_0` for a tile that begins with counter `first`. `blocks` is scratch space.
    fn make_table<T: Tail>(
        &mut self,
        cached: &CachedCount<T>,
        first: Counter,
        blocks: &mut Tile,
        scratch: &mut [Tile; 2],
    ) {
        let CachedCount { head, tail, .. } = cached;
        let half = GROUP_BLOCKS * BLOCK_BYTES;
        let (low, high) = blocks.bytes_mut().split_at_mut(half);
        head.column_0(first.value, first, low, scratch);
        let end = first.skip(TILE_BLOCKS as u128 - 1);
        let left = first.left_in_low(NONCE_BITS);
        if left < TILE_BLOCKS as u64 {
            head.column_0(first.value, end, high, scratch);
            let (left, both) = (left as usize * BLOCK_BYTES, blocks.bytes_mut());
            if left < half {
                both.copy_within(half + left.., left);
            } else {
                both.copy_within(..left - half, half);
            }
        } else {
            high.copy_from_slice(low);
        }
        tail.load(blocks.bytes(), &mut self.column_0, &mut scratch[0]);
    }

    /// Computes `later` for a tile whose first block is number `within` of its group. `blocks` is scratch
    /// space.
    fn mark_groups<T: Tail>(&mut self, tail: &T, within: usize, blocks: &mut Tile, scratch: &mut [Tile; 2]) {
        let [tile, spare] = scratch;
        let ones = [[0; BLOCK_BYTES], [0xff; BLOCK_BYTES]];
        let group = |block: usize| (within + block) / GROUP_BLOCKS;
        for (more, later) in self.later.iter_mut().enumerate() {
            let reaches = |bundle: usize| group(bundle + T::BUNDLE_BLOCKS - 1) > group(bundle) + more;
            if !(0..TILE_BLOCKS).step_by(T::BUNDLE_BLOCKS).any(reaches) {
                later.fill(0);
                continue;
            }
            for (number, block) in blocks.bytes_mut().as_chunks_mut().0.iter_mut().enumerate() {
                let bundle = number - number % T::BUNDLE_BLOCKS;
                *block = ones[usize::from(group(number) > group(bundle) + more)];
            }
            tail.load(blocks.bytes(), tile, spare);
            let bundles = tile.bytes().chunks_exact(T::BUNDLE_BLOCKS * BLOCK_BYTES);
            for (bundle, word) in bundles.zip(later.chunks_exact_mut(T::WORD_BYTES)) {
                word.copy_from_slice(&bundle[..T::WORD_BYTES]);
            }
        }
    }

    /// The index of a group in `groups`. The groups that a tile may refer to after it are present too.
    fn group(&mut self, head: &Head, group: Counter, scratch: &mut [Tile; 2]) -> usize {
        let first = self.groups.first.filter(|first| first.order == group.order);
        let known = first.map(|first| group.value.wrapping_sub(first.value));
        match known.filter(|&at| at < GROUPS as u128 - TILE_GROUPS) {
            Some(at) => at as usize,
            None => {
                head.groups(group, &mut self.groups, scratch);
                0
            }
        }
    }
}
