//! CTR across the grain with its first two rounds cut to what differs between blocks.
//!
//! While only the low two bytes of the counter change (2¹⁶ blocks), 14 bytes of every block are the
//! same: their S-boxes are computed once in integers. Round 1 then needs two bit-sliced S-boxes of
//! sixteen (bytes 14 and 15, which ShiftRows and MixColumns spread over columns 1 and 0), round 2 needs
//! eight. Twenty-two of the 160 S-boxes of AES-128 are saved, with the counter's conversion, a key
//! addition and a MixColumns. A bundle in which the carry goes further takes the plain way.
//!
//! Layout: `Repr::Bitsliced`, as in `bitsliced`. Source: as in `walk`, carried over to slices.
//! Holds: what is left out of round 1's S-boxes, 0x63, is put into the constant bytes of its columns.

use std::fmt;

use zeroize::Zeroize;

use super::bitsliced::{Cipher, set_byte, spread_byte};
use super::key::RoundKeys;
use super::scalar;
use crate::block::{Block, Direction};
use crate::circuit::aes_linear::double;
use crate::circuit::{Bits, aes_sbox};
use crate::part::counter::CounterToBits;
use crate::part::{Count, Counting, TilePart};
use crate::word::{Isa, Kernel, Register, TILE_WORDS, Tile, each};

/// Bits of the counter that change within an epoch.
const EPOCH_BITS: u32 = 16;

/// Counter blocks born encrypted.
pub struct BitWalk<W: Register> {
    isa: W::Isa,
    keys: RoundKeys,
    counter: CounterToBits<W>,
    cipher: Cipher<W>,
}

impl<W: Register> BitWalk<W> {
    /// CTR's keystream with an expanded key.
    pub fn new(isa: W::Isa, keys: &RoundKeys) -> Self {
        let cipher = Cipher::new(isa, Direction::Encrypt, keys);
        Self { isa, keys: keys.clone(), counter: CounterToBits::new(isa), cipher }
    }
}

impl<W: Register> fmt::Debug for BitWalk<W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "BitWalk({} bits)", W::BITS)
    }
}

impl<W: Register> Count for BitWalk<W> {
    fn begin(&self) -> Box<dyn Counting + '_> {
        Box::new(Walking { walk: self, constants: None })
    }
}

/// A run, with the constants of the epoch it is in.
struct Walking<'a, W: Register> {
    walk: &'a BitWalk<W>,
    constants: Option<Constants>,
}

impl<W: Register> Counting for Walking<'_, W> {
    fn count(&mut self, first: u128, tile: &mut Tile, blocks: usize) {
        let epoch = first >> EPOCH_BITS;
        if first.wrapping_add(blocks as u128 - 1) >> EPOCH_BITS != epoch {
            (&self.walk.counter).count(first, tile, blocks);
            return self.walk.cipher.run(tile, blocks);
        }
        let &BitWalk { isa, ref keys, ref counter, ref cipher } = self.walk;
        let known = self.constants.take().filter(|constants| constants.epoch == epoch);
        let constants = self.constants.insert(known.unwrap_or_else(|| Constants::new(keys, epoch)));
        isa.enter(WalkTile { isa, counter, cipher, constants, first, tile, blocks });
    }
}

/// What all blocks of an epoch share. Wiped when dropped.
struct Constants {
    epoch: u128,
    /// The two last bytes of round key 0.
    key_14_15: [u8; 2],
    /// Columns 0 and 1 after round 1, without what bytes 15 and 14 add.
    round_1: [u8; 8],
    /// Columns 2 and 3 after the S-boxes of round 2, without their constant.
    sub_2: [u8; 8],
}

impl Constants {
    fn new(keys: &RoundKeys, epoch: u128) -> Self {
        let keys = keys.blocks();
        let counter = (epoch << EPOCH_BITS).to_be_bytes();
        let input: Block = std::array::from_fn(|i| counter[i] ^ keys[0][i]);
        let mut sub = scalar::sub_bytes(&input);
        [sub[14], sub[15]] = [aes_sbox::CONSTANT; 2];
        let after: Block = {
            let column = |c: usize| {
                let shifted = std::array::from_fn(|row| sub[(4 * (c + row) + row) % 16]);
                scalar::mix_column(u32::from_le_bytes(shifted)).to_le_bytes()
            };
            std::array::from_fn(|i| column(i / 4)[i % 4] ^ keys[1][i])
        };
        let sub_2 = scalar::sub_bytes(&after).map(|byte| byte ^ aes_sbox::CONSTANT);
        Self {
            epoch,
            key_14_15: [keys[0][14], keys[0][15]],
            round_1: std::array::from_fn(|i| after[i]),
            sub_2: std::array::from_fn(|i| sub_2[8 + i]),
        }
    }
}

impl Drop for Constants {
    fn drop(&mut self) {
        self.key_14_15.zeroize();
        self.round_1.zeroize();
        self.sub_2.zeroize();
    }
}

struct WalkTile<'a, W: Register> {
    isa: W::Isa,
    counter: &'a CounterToBits<W>,
    cipher: &'a Cipher<W>,
    constants: &'a Constants,
    first: u128,
    tile: &'a mut Tile,
    blocks: usize,
}

impl<W: Register> Kernel for WalkTile<'_, W> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Self { isa, counter, cipher, constants, first, tile, blocks } = self;
        for bundle in 0..blocks / W::BITS {
            let low = counter.low_16(first.wrapping_add((bundle * W::BITS) as u128));
            let state = tile.bundle_mut::<W, TILE_WORDS>(isa, bundle);
            after_round_1(isa, state, low, constants);
            cipher.encrypt_from_half_round_2(isa, state);
        }
        tile.phase = cipher.phase_from_round_2() as u8;
    }
}

/// The state after round 1, and after the S-boxes of round 2 where that is the same in all blocks.
#[inline(always)]
fn after_round_1<W: Register>(isa: W::Isa, state: &mut [W; TILE_WORDS], low: [W; 16], constants: &Constants) {
    let [key_14, key_15] = constants.key_14_15;
    let byte_15: Bits<W> = each!(bit < 8 => low[bit]);
    let byte_14: Bits<W> = each!(bit < 8 => low[8 + bit]);
    let sub_15 = aes_sbox::forward(add_byte(isa, byte_15, key_15));
    let sub_14 = aes_sbox::forward(add_byte(isa, byte_14, key_14));
    // The columns of MixColumns' matrix that rows 3 and 2 meet.
    let column_0 = times_rows(sub_15, [1, 1, 3, 2]);
    let column_1 = times_rows(sub_14, [1, 3, 2, 1]);
    for row in 0..4 {
        set_byte(state, row, add_byte(isa, column_0[row], constants.round_1[row]));
        set_byte(state, 4 + row, add_byte(isa, column_1[row], constants.round_1[4 + row]));
    }
    for byte in 0..8 {
        set_byte(state, 8 + byte, spread_byte(isa, constants.sub_2[byte]));
    }
}

#[inline(always)]
fn add_byte<W: Register>(isa: W::Isa, bits: Bits<W>, byte: u8) -> Bits<W> {
    let constant = spread_byte::<W>(isa, byte);
    each!(bit < 8 => bits[bit] ^ constant[bit])
}

/// A byte times 1, 2 or 3 in GF(2⁸), for each row.
#[inline(always)]
fn times_rows<W: Register>(bits: Bits<W>, factors: [u8; 4]) -> [Bits<W>; 4] {
    let twice = double(bits);
    let thrice: Bits<W> = each!(bit < 8 => twice[bit] ^ bits[bit]);
    each!(row < 4 => match factors[row] { 1 => bits, 2 => twice, _ => thrice })
}
