//! The states of counter blocks after round 1 of AES, from a table that depends only on the key.
//!
//! In round 1 the lowest byte of a counter, which is the last of its block, affects only column 0. There
//! MixColumns adds it to bytes 0, 5 and 10, which belong to the nonce. The state is therefore a sum:
//!
//! ```text
//! after_round_1[lowest byte] ⊕ rest
//! ```
//!
//! `rest` is common to a group of 256 counters. A register of counter blocks takes one XOR instead of three
//! and a round. The table is read in the order of counters, which begin with 1. Its indices are therefore
//! public, and the lookup is constant-time.
//!
//! Layout: `Repr::Blocks`, as in `instructions`.
//! Needs `AesLanes`.
//! Source: as in `cached_counter`, whose tables cover two rounds but belong to one nonce.
//! Invariant: an omitted byte is 0x52 when it enters SubBytes, which maps it to 0, so it adds nothing.

use std::sync::OnceLock;

use super::{With, halves, parts_of};
use crate::arch::{AesLanes, Isa, Kernel, Line, Wiped, each};
use crate::block::{BLOCK_BYTES, Block};
use crate::cipher::aes::cached_counter::FIRST_BLOCKS;
use crate::cipher::aes::head::GROUP_BLOCKS;
use crate::cipher::aes::instructions::BUNDLE_BLOCKS_MAX;
use crate::cipher::aes::key::WideKeys;
use crate::mode::gcm::kernel::GcmNonce;

/// The byte that SubBytes maps to 0.
const NO_BYTE: u8 = 0x52;

/// Bytes of the table entries of one group.
const GROUP_BYTES: usize = GROUP_BLOCKS * BLOCK_BYTES;

/// The index of a counter's lowest byte in its block.
const LOWEST: usize = BLOCK_BYTES - 1;

/// The tables of a key. `first` serves short messages. `all` has every entry and is computed for the first
/// longer message.
pub(in crate::cipher::aes) struct Round1Table {
    first: Table<FIRST_COUNTERS>,
    all: OnceLock<Wiped<Table<ALL_COUNTERS>>>,
}

/// The state after round 1 for each lowest byte of a counter.
#[repr(align(64))]
struct Table<const COUNTERS: usize> {
    /// Round key 0 with `NO_BYTE` as its last byte, so that the lowest byte of a counter adds nothing to
    /// `rest`.
    key: Line,
    /// Aligns the entry of counter 2, the first that encrypts data, to a cache line.
    _gap: [Block; 2],
    after_round_1: [Block; COUNTERS],
}

/// Entries of `first`: counter 0, that of the tag, and those of [`FIRST_BYTES_MAX`] bytes of data, rounded up to a whole
/// register.
const FIRST_COUNTERS: usize = 24;

/// The most bytes of data that the entries of `first` serve.
pub(super) const FIRST_BYTES_MAX: usize = 320;

const _: () = assert!(2 + FIRST_BYTES_MAX / BLOCK_BYTES <= FIRST_COUNTERS);

/// Entries of `all`: one for each lowest byte, then those from 0 on again, for registers that begin near the
/// end.
const ALL_COUNTERS: usize = GROUP_BLOCKS + BUNDLE_BLOCKS_MAX;

impl<const COUNTERS: usize> Table<COUNTERS> {
    /// Zeros, to be filled in place: a move would leave a copy.
    const NONE: Self =
        Self { key: Line::ZERO, _gap: [[0; BLOCK_BYTES]; 2], after_round_1: [[0; BLOCK_BYTES]; COUNTERS] };

    fn fill<W: AesLanes>(&mut self, isa: W::Isa, keys: &WideKeys) {
        let Self { key, after_round_1, .. } = self;
        isa.enter(Fill::<W> { isa, keys, key, after_round_1 });
    }
}

impl Round1Table {
    /// Zeros.
    pub(in crate::cipher::aes) const fn none() -> Self {
        Self { first: Table::NONE, all: OnceLock::new() }
    }

    /// Computes `first`, and `all` if a message of the key before needed it.
    pub(in crate::cipher::aes) fn begin<W: AesLanes>(&mut self, isa: W::Isa, keys: &WideKeys) {
        self.first.fill::<W>(isa, keys);
        if let Some(all) = self.all.get_mut() {
            all.fill::<W>(isa, keys);
        }
    }

    /// Computes `all`, unless it exists.
    #[inline]
    pub(super) fn fill<W: AesLanes>(&self, isa: W::Isa, keys: &WideKeys) {
        self.all.get_or_init(|| {
            let mut all = Wiped::new(Table::NONE);
            all.fill::<W>(isa, keys);
            all
        });
    }

    /// Round key 0 without its lowest byte, and the table entries: all of them if [`Round1Table::fill`] was
    /// called, otherwise the first ones.
    #[inline(always)]
    fn entries(&self) -> (&Line, &[Block]) {
        match self.all.get() {
            Some(table) => (&table.key, &table.after_round_1),
            None => (&self.first.key, &self.first.after_round_1),
        }
    }
}

struct Fill<'a, W: AesLanes> {
    isa: W::Isa,
    keys: &'a WideKeys,
    key: &'a mut Line,
    after_round_1: &'a mut [Block],
}

impl<W: AesLanes> Kernel for Fill<'_, W> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Self { isa, keys, key, after_round_1 } = self;
        let (first, ..) = keys.ends();
        let mut without_lowest = *first.block();
        let of_lowest = without_lowest[LOWEST];
        without_lowest[LOWEST] = NO_BYTE;
        *key = Line::of(&without_lowest);
        let mut lanes = Line::of(&[NO_BYTE; BLOCK_BYTES]);
        for (lane, block) in lanes.0.iter_mut().enumerate() {
            block[LOWEST] = lane as u8 ^ of_lowest;
        }
        let lanes = lanes.load::<W>(isa);
        let places = after_round_1.as_flattened_mut().chunks_exact_mut(W::BYTES);
        for (i, place) in places.enumerate() {
            let mut register = [0; BLOCK_BYTES];
            register[LOWEST] = (i * W::BLOCKS) as u8;
            (lanes ^ W::broadcast(isa, &register)).encrypt_round(W::splat(isa, 0)).store(place);
        }
    }
}

/// Consecutive counters.
pub(super) struct Counters<'a, W: AesLanes> {
    isa: W::Isa,
    /// Round key 0 without the lowest byte.
    first_key: &'a Line,
    /// The states after round 1.
    entries: &'a [Block],
    /// Round key 1.
    key: &'a Line,
    nonce: &'a GcmNonce,
    /// The next counter without its lowest byte.
    group: u32,
    /// The offset in the table of the entry for its lowest byte.
    at: usize,
    /// `rest` of the group, in every lane.
    rest: W,
}

impl<'a, W: AesLanes> Counters<'a, W> {
    /// Begins at this counter.
    #[inline(always)]
    pub(super) fn from(with: With<'a, W>, nonce: &'a GcmNonce, next: usize) -> Self {
        let (isa, (first_key, entries)) = (with.isa(), with.round1().entries());
        let (_, key, _) = with.keys().ends();
        let (low, group) = (next % GROUP_BLOCKS, (next - next % GROUP_BLOCKS) as u32);
        let mut counters = Self {
            isa,
            first_key,
            entries,
            key,
            nonce,
            group,
            at: low * BLOCK_BYTES,
            rest: W::splat(isa, 0),
        };
        counters.rest = counters.rest();
        counters
    }

    /// `rest` for the group of the next counter: the part of the state that its lowest byte does not affect.
    #[inline(always)]
    fn rest(&self) -> W {
        let (front, back) = parts_of(self.nonce);
        let back = u64::from(back) | u64::from(self.group.swap_bytes()) << 32;
        let block = halves::<W>(self.isa, front, back) ^ self.first_key.load(self.isa);
        block.encrypt_round(self.key.load(self.isa))
    }

    /// Advances by this many bytes of the table. If that begins a new group, returns the previous `rest`.
    #[inline(always)]
    fn go_on(&mut self, bytes: usize) -> Option<W> {
        self.at += bytes;
        if self.at < GROUP_BYTES {
            return None;
        }
        self.at -= GROUP_BYTES;
        self.group = self.group.wrapping_add(GROUP_BLOCKS as u32);
        let before = self.rest;
        self.rest = self.rest();
        Some(before)
    }

    /// The state of the next counter, in every lane.
    #[inline(always)]
    pub(super) fn one(&mut self) -> W {
        let entry = self.entries[self.at / BLOCK_BYTES % GROUP_BLOCKS];
        let state = W::broadcast(self.isa, &entry) ^ self.rest;
        self.go_on(BLOCK_BYTES);
        state
    }

    /// The states of the next counters, in `N` registers.
    #[inline(always)]
    pub(super) fn states<const N: usize>(&mut self) -> [W; N] {
        let Self { isa, entries, rest, .. } = *self;
        // The remainder does not change the value, because `at` is always less. The compiler does not know
        // that.
        let at = self.at % GROUP_BYTES;
        let entries = &entries.as_flattened()[at..][..N * W::BYTES];
        let mut states = each!(i < N => W::load(isa, &entries[i * W::BYTES..][..W::BYTES]) ^ rest);
        if let Some(before) = self.go_on(N * W::BYTES) {
            let change = before ^ self.rest;
            let mask = &FIRST_BLOCKS[BUNDLE_BLOCKS_MAX * BLOCK_BYTES + at - GROUP_BYTES..];
            for (i, state) in states.iter_mut().enumerate() {
                let kept = W::load(isa, &mask[i * W::BYTES..][..W::BYTES]);
                *state = *state ^ (change & !kept);
            }
        }
        states
    }
}
