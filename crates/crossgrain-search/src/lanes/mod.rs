//! PBKDF2 with SHA-1, SHA-256 and SHA-512 on lanes: one candidate per lane. One source serves registers of every
//! width and, for SHA-256, device programs.
//!
//! A lane holds a word of the hash, in big-endian order of its bytes. Messages are given as padded blocks of 16
//! words. HMAC's two states, after the inner and after the outer key block, are computed once. An iteration of
//! PBKDF2 then takes two compressions. Sources: RFC 2104 (HMAC), RFC 8018 §5.2 (PBKDF2). Constant-time: no branch
//! and no index depends on a lane.

mod derive;
mod sha1;
mod sha2;

use std::ops::BitXor;

pub(super) use derive::{Keys, OnLanes, loaded, store};
pub(super) use sha1::Sha1;
pub(super) use sha2::Sha2;

use crossgrain::engine::arch::{Lane64, Lanes, Register};

/// Sixteen steps, unrolled so that the block can stay in registers.
macro_rules! sixteen {
    ($i:ident => $body:block) => { sixteen!(@ $i $body 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15) };
    (@ $i:ident $body:block $($at:literal)*) => {
        $({
            let $i: usize = $at;
            $body
        })*
    };
}
use sixteen;

/// Words of a hash, one in each lane.
pub(super) trait HashWord: Copy + BitXor<Output = Self> {
    /// A word as an integer.
    type Bits: Copy + 'static;

    /// Bytes of a word.
    const BYTES: usize;

    /// The integer with the low bits of `value`.
    fn bits(value: u64) -> Self::Bits;

    /// The sum of each word with the other's.
    fn plus(self, other: Self) -> Self;

    /// Each word rotated towards its high end.
    fn rotated<const COUNT: u32>(self) -> Self;

    /// Each word shifted towards its low end.
    fn shifted_right<const COUNT: u32>(self) -> Self;

    /// Any function of three bits: for each position, bit 4·a + 2·b + c of `TABLE`.
    fn ternary<const TABLE: i32>(a: Self, b: Self, c: Self) -> Self;

    /// `bits` in every lane. `self` only proves that the instructions exist.
    fn constant(self, bits: Self::Bits) -> Self;

    /// The same for a value that is not part of a device program.
    fn uniform(self, bits: Self::Bits) -> Self;
}

/// Words of 32 bits.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub(super) struct Narrow<W>(pub(super) W);

/// Words of 64 bits, with the token of their register.
#[derive(Clone, Copy)]
pub(super) struct Wide<W: Register> {
    word: W,
    isa: W::Isa,
}

/// A hash with a state of this many words.
pub(super) trait LaneHash<W: HashWord, const STATE: usize> {
    /// The first state.
    fn initial(like: W) -> [W; STATE];

    /// The compression function.
    fn compress(state: [W; STATE], block: [W; 16]) -> [W; STATE];
}

/// PBKDF2 between two iterations.
#[derive(Clone, Copy)]
pub(super) struct Turns<W, const STATE: usize> {
    /// The XOR of all results so far.
    pub(super) sum: [W; STATE],
    /// The last result.
    pub(super) last: [W; STATE],
    /// The states after HMAC's inner and outer key block.
    pub(super) keyed: [[W; STATE]; 2],
}

/// The state after HMAC's key block: the key, padded with zeros, XOR `byte` in every byte.
#[inline(always)]
fn keyed<H: LaneHash<W, STATE>, W: HashWord, const STATE: usize>(mut key: [W; 16], byte: u8) -> [W; STATE] {
    let pad = W::bits(u64::from_ne_bytes([byte; 8]));
    for word in &mut key {
        *word = *word ^ word.constant(pad);
    }
    H::compress(H::initial(key[0]), key)
}

/// The last block of a message of one block and a digest, padded.
#[inline(always)]
fn last_block<W: HashWord, const STATE: usize>(digest: [W; STATE]) -> [W; 16] {
    let mut block = [digest[0].constant(W::bits(0)); 16];
    block[..STATE].copy_from_slice(&digest);
    block[STATE] = block[STATE].constant(W::bits(1 << (8 * W::BYTES - 1)));
    block[15] = block[15].constant(W::bits((8 * W::BYTES * (16 + STATE)) as u64));
    block
}

/// The first iteration of PBKDF2. The blocks hold the salt and the part index, padded as the end of a message that
/// follows one block.
///
/// The loops compile to one copy of the compression function each. A copy is up to 14 KB of code.
#[inline(always)]
pub(super) fn first_turn<H: LaneHash<W, STATE>, W: HashWord, const STATE: usize>(
    key: [W; 16],
    blocks: &[[W::Bits; 16]],
) -> Turns<W, STATE> {
    let mut states = [[key[0]; STATE]; 2];
    for (state, byte) in states.iter_mut().zip([0x36, 0x5c]) {
        *state = keyed::<H, W, STATE>(key, byte);
    }
    let [inner, outer] = states;
    let mut result = inner;
    for at in 0..=blocks.len() {
        let (state, words) = match blocks.get(at) {
            Some(block) => (result, uniform(key, block)),
            None => (outer, last_block(result)),
        };
        result = H::compress(state, words);
    }
    Turns { sum: result, last: result, keyed: [inner, outer] }
}

/// A block with the same words in all lanes.
#[inline(always)]
fn uniform<W: HashWord>(like: [W; 16], block: &[W::Bits; 16]) -> [W; 16] {
    let mut words = like;
    for (word, value) in words.iter_mut().zip(block) {
        *word = word.uniform(*value);
    }
    words
}

/// One further iteration.
#[inline(always)]
pub(super) fn next_turn<H: LaneHash<W, STATE>, W: HashWord, const STATE: usize>(
    mut turns: Turns<W, STATE>,
) -> Turns<W, STATE> {
    for state in turns.keyed {
        turns.last = H::compress(state, last_block(turns.last));
    }
    for (sum, word) in turns.sum.iter_mut().zip(turns.last) {
        *sum = *sum ^ word;
    }
    turns
}

impl<W: Lanes> BitXor for Narrow<W> {
    type Output = Self;

    #[inline(always)]
    fn bitxor(self, other: Self) -> Self {
        Self(self.0 ^ other.0)
    }
}

impl<W: Lanes> HashWord for Narrow<W> {
    type Bits = u32;

    const BYTES: usize = 4;

    #[inline(always)]
    fn bits(value: u64) -> u32 {
        value as u32
    }

    #[inline(always)]
    fn plus(self, other: Self) -> Self {
        Self(self.0.add_lanes(other.0))
    }

    #[inline(always)]
    fn rotated<const COUNT: u32>(self) -> Self {
        Self(self.0.rotate_lanes_left::<COUNT>())
    }

    #[inline(always)]
    fn shifted_right<const COUNT: u32>(self) -> Self {
        Self(self.0.shift_lanes_right::<COUNT>())
    }

    #[inline(always)]
    fn ternary<const TABLE: i32>(a: Self, b: Self, c: Self) -> Self {
        Self(W::ternary::<TABLE>(a.0, b.0, c.0))
    }

    #[inline(always)]
    fn constant(self, bits: u32) -> Self {
        Self(self.0.filled(bits))
    }

    #[inline(always)]
    fn uniform(self, bits: u32) -> Self {
        Self(self.0.uniform(bits))
    }
}

impl<W: Lane64> BitXor for Wide<W> {
    type Output = Self;

    #[inline(always)]
    fn bitxor(self, other: Self) -> Self {
        Self { word: self.word ^ other.word, isa: self.isa }
    }
}

impl<W: Lane64> HashWord for Wide<W> {
    type Bits = u64;

    const BYTES: usize = 8;

    #[inline(always)]
    fn bits(value: u64) -> u64 {
        value
    }

    #[inline(always)]
    fn plus(self, other: Self) -> Self {
        Self { word: self.word.add_lanes64(other.word), isa: self.isa }
    }

    #[inline(always)]
    fn rotated<const COUNT: u32>(self) -> Self {
        Self { word: self.word.rotate_lanes64_left::<COUNT>(), isa: self.isa }
    }

    #[inline(always)]
    fn shifted_right<const COUNT: u32>(self) -> Self {
        Self { word: self.word.shift_right::<COUNT>(), isa: self.isa }
    }

    #[inline(always)]
    fn ternary<const TABLE: i32>(a: Self, b: Self, c: Self) -> Self {
        Self { word: W::ternary::<TABLE>(a.word, b.word, c.word), isa: a.isa }
    }

    #[inline(always)]
    fn constant(self, bits: u64) -> Self {
        Self { word: W::splat(self.isa, bits), isa: self.isa }
    }

    #[inline(always)]
    fn uniform(self, bits: u64) -> Self {
        self.constant(bits)
    }
}
