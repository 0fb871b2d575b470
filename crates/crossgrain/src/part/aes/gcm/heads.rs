//! Counters of a message after round 1 of AES, by a table of the key.
//!
//! In round 1 the lowest byte of a counter, the last of its block, comes to column 0 alone, where MixColumns adds it to what bytes 0, 5
//! and 10 of the nonce come to. So the state is a sum: what the lowest byte comes to, in a table of the key alone, and what all else
//! does, which is the same for a group of 256 counters. A register of counters takes one addition, where it took three and a round.
//! The table is read at public places, in the order of counters, which begin with 1: constant-time.
//!
//! Layout: `Repr::Blocks`, as in `instructions`. Needs: `AesLanes`.
//! Source: as in `walk`, whose tables, of two rounds, are of a nonce.
//! Holds: a byte that is left out is 0x52 when it comes to SubBytes, which makes 0 of it: it adds nothing.

use super::{With, halves, parts_of};
use crate::block::{BLOCK_BYTES, Block};
use crate::part::GcmNonce;
use crate::part::aes::head::GROUP_BLOCKS;
use crate::part::aes::instructions::BUNDLE_BLOCKS_MAX;
use crate::part::aes::key::{Wide, WideKeys};
use crate::part::aes::walk::FIRST_BLOCKS;
use crate::word::{AesLanes, Isa, Kernel, Wiped, each};

/// What SubBytes makes 0 of.
const NO_BYTE: u8 = 0x52;

/// Bytes in the part of the table that a group goes through.
const GROUP_BYTES: usize = GROUP_BLOCKS * BLOCK_BYTES;

/// Where a counter's lowest byte is in its block.
const LOWEST: usize = BLOCK_BYTES - 1;

/// The table of a key.
#[repr(align(64))]
pub(in crate::part::aes) struct Heads {
    /// Round key 0, which leaves out the lowest byte of a counter where that is 0.
    key: Wide,
    /// So that what data begin with, the block of counter 2, begins a line.
    _gap: [Block; 2],
    /// What each lowest byte comes to, and again from 0 on for registers that begin near the end.
    after_round_1: [Block; GROUP_BLOCKS + BUNDLE_BLOCKS_MAX],
}

impl Heads {
    /// The table, filled where it stays: what is moved leaves a copy.
    pub(in crate::part::aes) fn of<W: AesLanes>(isa: W::Isa, keys: &WideKeys) -> Wiped<Self> {
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

/// Counters that follow one another.
pub(super) struct Counters<'a, W: AesLanes> {
    isa: W::Isa,
    heads: &'a Heads,
    /// Round key 1.
    key: &'a Wide,
    nonce: &'a GcmNonce,
    /// The next counter without its lowest byte.
    group: u32,
    /// Where in the table is what its lowest byte comes to.
    at: usize,
    /// What all else comes to, in every lane.
    rest: W,
}

impl<'a, W: AesLanes> Counters<'a, W> {
    /// From this counter on.
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

    /// What all but the lowest byte of the next counter comes to.
    #[inline(always)]
    fn rest(&self) -> W {
        let (front, back) = parts_of(self.nonce);
        let back = u64::from(back) | u64::from(self.group.swap_bytes()) << 32;
        let block = halves::<W>(self.isa, front, back) ^ self.heads.key.load(self.isa);
        block.encrypt_round(self.key.load(self.isa))
    }

    /// Goes on by so many bytes of the table; gives what was said of all but the lowest byte, if that has changed.
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

    /// The states of the next counters, `N` registers of them.
    #[inline(always)]
    pub(super) fn states<const N: usize>(&mut self) -> [W; N] {
        let Self { isa, heads, rest, .. } = *self;
        // No more than it is already, as the compiler does not know.
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
