//! Counters of a message after round 1 of AES, from a table of the key.
//!
//! In round 1 the lowest byte of a counter, which is the last of its block, affects only column 0. There
//! MixColumns adds it to bytes 0, 5 and 10, which belong to the nonce. The state is therefore a sum:
//!
//! ```text
//! after_round_1[lowest byte] ⊕ rest
//! ```
//!
//! The table depends only on the key. `rest` is common to a group of 256 counters. A register of counters
//! takes one addition instead of three and a round. The table is read at public places, in the order of
//! counters, which begin with 1: constant-time.
//!
//! Layout: `Repr::Blocks`, as in `instructions`.
//! Needs `AesLanes`.
//! Source: as in `walk`, whose tables cover two rounds but belong to one nonce.
//! Invariant: an omitted byte is 0x52 when it enters SubBytes, which maps it to 0, so it adds nothing.

use super::{With, halves, parts_of};
use crate::arch::{AesLanes, Isa, Kernel, Wiped, each};
use crate::block::{BLOCK_BYTES, Block};
use crate::cipher::aes::head::GROUP_BLOCKS;
use crate::cipher::aes::instructions::BUNDLE_BLOCKS_MAX;
use crate::cipher::aes::key::{Wide, WideKeys};
use crate::cipher::aes::walk::FIRST_BLOCKS;
use crate::mode::gcm::params::GcmNonce;

/// The byte that SubBytes maps to 0.
const NO_BYTE: u8 = 0x52;

/// Bytes of the table entries of one group.
const GROUP_BYTES: usize = GROUP_BLOCKS * BLOCK_BYTES;

/// The index of a counter's lowest byte in its block.
const LOWEST: usize = BLOCK_BYTES - 1;

/// The table of a key.
#[repr(align(64))]
pub(in crate::cipher::aes) struct Heads {
    /// Round key 0 with another last byte: a lowest counter byte of 0 then enters SubBytes as [`NO_BYTE`].
    key: Wide,
    /// Aligns the entry of counter 2, the first counter of data, to a cache line.
    _gap: [Block; 2],
    /// The summand of each lowest byte. The first entries are repeated at the end for registers that begin
    /// near the end.
    after_round_1: [Block; GROUP_BLOCKS + BUNDLE_BLOCKS_MAX],
}

impl Heads {
    /// The table, filled in place: a move would leave a copy.
    pub(in crate::cipher::aes) fn of<W: AesLanes>(isa: W::Isa, keys: &WideKeys) -> Wiped<Self> {
        let none = [0; BLOCK_BYTES];
        let mut heads = Wiped::from(Box::new(Self {
            key: Wide::of(&none),
            _gap: [none; 2],
            after_round_1: [none; GROUP_BLOCKS + BUNDLE_BLOCKS_MAX],
        }));
        isa.enter(Fill::<W> { isa, keys, heads: &mut heads });
        heads
    }
}

struct Fill<'a, W: AesLanes> {
    isa: W::Isa,
    keys: &'a WideKeys,
    heads: &'a mut Heads,
}

impl<W: AesLanes> Kernel for Fill<'_, W> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Self { isa, keys, heads } = self;
        let (first, ..) = keys.ends();
        let mut key = *first.block();
        let of_lowest = key[LOWEST];
        key[LOWEST] = NO_BYTE;
        heads.key.set(&key);
        let mut lanes = [[NO_BYTE; BLOCK_BYTES]; 4];
        for (lane, block) in lanes.iter_mut().enumerate() {
            block[LOWEST] = lane as u8 ^ of_lowest;
        }
        let lanes = W::load(isa, &lanes.as_flattened()[..W::BYTES]);
        let places = heads.after_round_1.as_flattened_mut().chunks_exact_mut(W::BYTES);
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
    heads: &'a Heads,
    /// Round key 1.
    key: &'a Wide,
    nonce: &'a GcmNonce,
    /// The next counter without its lowest byte.
    group: u32,
    /// The offset in the table of the entry for its lowest byte.
    at: usize,
    /// The other summand, in every lane.
    rest: W,
}

impl<'a, W: AesLanes> Counters<'a, W> {
    /// Begins at this counter.
    #[inline(always)]
    pub(super) fn from(with: With<'a, W>, nonce: &'a GcmNonce, next: usize) -> Self {
        let (isa, heads) = (with.isa(), with.heads());
        let (_, key, _) = with.keys().ends();
        let (low, group) = (next % GROUP_BLOCKS, (next - next % GROUP_BLOCKS) as u32);
        let mut counters =
            Self { isa, heads, key, nonce, group, at: low * BLOCK_BYTES, rest: W::splat(isa, 0) };
        counters.rest = counters.rest();
        counters
    }

    /// The summand of all bytes of the next counter but the lowest.
    #[inline(always)]
    fn rest(&self) -> W {
        let (front, back) = parts_of(self.nonce);
        let back = u64::from(back) | u64::from(self.group.swap_bytes()) << 32;
        let block = halves::<W>(self.isa, front, back) ^ self.heads.key.load(self.isa);
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
        let entry = self.heads.after_round_1[self.at / BLOCK_BYTES % GROUP_BLOCKS];
        let state = W::broadcast(self.isa, &entry) ^ self.rest;
        self.go_on(BLOCK_BYTES);
        state
    }

    /// The states of the next counters, in `N` registers.
    #[inline(always)]
    pub(super) fn states<const N: usize>(&mut self) -> [W; N] {
        let Self { isa, heads, rest, .. } = *self;
        // This does not change the value, but the compiler does not know that.
        let at = self.at % GROUP_BYTES;
        let entries = &heads.after_round_1.as_flattened()[at..][..N * W::BYTES];
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
