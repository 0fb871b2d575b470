//! Search for a Serpent key, a key a 32-bit lane: the schedule runs beside the cipher.
//!
//! Layout: words of the state and of the key as in `vsliced`. Source: the submission, §3 and §4.
//! Holds: of the result one word is compared. To encrypt, round keys are used as they come, so that none is kept; to decrypt,
//! all are.

use std::fmt;

use super::ROUNDS;
use super::schedule::{KeyLanes, Schedule};
use super::vsliced::{State, inv_transform, transform};
use crate::block::{BLOCK_BYTES, Block, Cipher, Direction, Family};
use crate::circuit::serpent_sbox;
use crate::part::search::{Known, Lanes, START_BLOCKS, Use};
use crate::repr::block_of_lane;
use crate::word::{Isa, Kernel, Lane32, each, unrolled};

/// A kernel for one known block.
#[derive(Clone)]
pub struct Search<W: Lane32> {
    isa: W::Isa,
    key_bytes: usize,
    direction: Direction,
    input: [u32; 4],
    /// The word that is compared, its value, and the bits of that which are known.
    word: usize,
    output: u32,
    mask: u32,
}

fn words(block: &Block) -> [u32; 4] {
    std::array::from_fn(|i| u32::from_le_bytes(std::array::from_fn(|byte| block[4 * i + byte])))
}

impl<W: Lane32> Search<W> {
    /// A kernel for keys of one of Serpent's lengths; `None` for other ciphers.
    pub fn new(isa: W::Isa, cipher: Cipher, known: &Known) -> Option<Self> {
        let masks = words(&known.mask);
        let word = (0..4).max_by_key(|&word| masks[word].count_ones())?;
        let (output, mask) = (words(&known.output)[word], masks[word]);
        let (key_bytes, input) = (cipher.key_bytes(), words(&known.input));
        let (fits, direction) = (cipher.family() == Family::Serpent, known.direction);
        fits.then_some(Self { isa, key_bytes, direction, input, word, output, mask })
    }

    const LANES: usize = W::BITS / 32;
}

/// The bytes that the schedule begins with: a short key ends in a one and zeros.
pub(crate) fn pad(key: &[u8], bytes: &mut [u8]) {
    bytes[..key.len()].copy_from_slice(key);
    if key.len() < 2 * BLOCK_BYTES {
        bytes[key.len()] = 1;
    }
}

impl<W: Lane32> fmt::Debug for Search<W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "serpent::Search({} bits)", W::BITS)
    }
}

impl<W: Lane32> Lanes for Search<W> {
    /// The words of a key.
    type Start = [W; 8];

    fn lanes(&self) -> usize {
        Self::LANES
    }

    fn key_bytes(&self) -> usize {
        self.key_bytes
    }

    fn start(&self, key: &[u8], _usage: Use, blocks: &mut [Block; START_BLOCKS]) {
        pad(key, blocks.as_flattened_mut());
    }

    fn load(&self, blocks: &[Vec<u8>; START_BLOCKS]) -> [W; 8] {
        self.isa.enter(Transposed(self.isa, [&blocks[0], &blocks[1]]))
    }

    fn run(&self, _usage: Use, bundles: &[[W; 8]], outer: &[Block; START_BLOCKS], found: &mut [u64]) -> bool {
        let outer = [words(&outer[0]), words(&outer[1])];
        match self.direction {
            Direction::Encrypt => self.isa.enter(Try::<W, false> { search: self, bundles, outer, found }),
            Direction::Decrypt => self.isa.enter(Try::<W, true> { search: self, bundles, outer, found }),
        }
    }

    fn key_of(&self, lane: usize) -> usize {
        block_of_lane(W::BITS, Self::LANES, lane)
    }
}

/// The halves of keys as words.
struct Transposed<'a, W: Lane32>(W::Isa, [&'a [u8]; 2]);

impl<W: Lane32> Kernel for Transposed<'_, W> {
    type Output = [W; 8];

    #[inline(always)]
    fn run(self) -> [W; 8] {
        let Self(isa, halves) = self;
        let [low, high]: [[W; 4]; 2] = each!(half < 2 => W::transpose_lanes(each!(i < 4 => {
            W::load(isa, &halves[half][i * W::BYTES..][..W::BYTES])
        })));
        each!(i < 8 => if i < 4 { low[i] } else { high[i - 4] })
    }
}

/// All bundles with one outer key, in the direction of encryption or `BACK`.
struct Try<'a, W: Lane32, const BACK: bool> {
    search: &'a Search<W>,
    bundles: &'a [[W; 8]],
    outer: [[u32; 4]; 2],
    found: &'a mut [u64],
}

impl<W: Lane32, const BACK: bool> Kernel for Try<'_, W, BACK> {
    type Output = bool;

    #[inline(always)]
    fn run(self) -> bool {
        let Self { search, bundles, outer, found } = self;
        let isa = search.isa;
        let outer: [W; 8] = each!(i < 8 => W::splat_lanes(isa, outer[i / 4][i % 4]));
        let input: State<W> = each!(i < 4 => W::splat_lanes(isa, search.input[i]));
        let output = W::splat_lanes(isa, search.output);
        let mask = W::splat_lanes(isa, search.mask);
        let mut any = 0;
        for (inner, found) in bundles.iter().zip(found) {
            let keys = each!(i < 8 => inner[i] ^ outer[i]);
            let state = if BACK { decrypt(isa, input, keys) } else { encrypt(isa, input, keys) };
            *found = ((state[search.word] ^ output) & mask).zero_lanes();
            any |= *found;
        }
        any != 0
    }
}

/// The cipher with a key a lane.
#[inline(always)]
pub(crate) fn encrypt<W: KeyLanes>(isa: W::Isa, mut state: State<W>, keys: [W; 8]) -> State<W> {
    let mut schedule = Schedule::new(isa, keys);
    for first in (0..ROUNDS).step_by(8) {
        unrolled!(index in [0 1 2 3 4 5 6 7] {
            let key = schedule.round_key_of(first, index);
            let substituted = serpent_sbox::forward(index, each!(i < 4 => state[i] ^ key[i]));
            state = if first + index < ROUNDS - 1 { transform(substituted) } else { substituted };
        });
    }
    let key = schedule.round_key_of(ROUNDS, 0);
    each!(i < 4 => state[i] ^ key[i])
}

/// The inverse cipher with a key a lane.
#[inline(always)]
fn decrypt<W: Lane32>(isa: W::Isa, mut state: State<W>, keys: [W; 8]) -> State<W> {
    let mut schedule = Schedule::new(isa, keys);
    let mut round_keys = [[W::splat_lanes(isa, 0); 4]; ROUNDS + 1];
    for first in (0..ROUNDS).step_by(8) {
        unrolled!(index in [0 1 2 3 4 5 6 7] {
            round_keys[first + index] = schedule.round_key_of(first, index);
        });
    }
    round_keys[ROUNDS] = schedule.round_key_of(ROUNDS, 0);
    state = each!(i < 4 => state[i] ^ round_keys[ROUNDS][i]);
    for first in (0..ROUNDS).step_by(8).rev() {
        unrolled!(index in [7 6 5 4 3 2 1 0] {
            if first + index < ROUNDS - 1 {
                state = inv_transform(state);
            }
            let substituted = serpent_sbox::inverse(index, state);
            state = each!(i < 4 => substituted[i] ^ round_keys[first + index][i]);
        });
    }
    state
}
