//! Search for a Serpent key, one key per 32-bit lane. The key schedule runs alongside the cipher.
//!
//! Layout: words of the state and of the key as in `vsliced`. One word of the result is compared.
//!
//! Round keys are used as soon as they are computed, and none is stored. For decryption, the schedule runs
//! from its end back to the key. The prekeys at the end are affine in the key, so a table that is used often
//! begins there.
//!
//! Source: the submission, §3 and §4.

use std::fmt;

use super::description::{Rounds, words_of};
use super::sbox_circuit;
use super::vsliced::State;
use crate::arch::{Isa, Kernel, Lane32, Portable, each};
use crate::block::{BLOCK_BYTES, Block, Cipher, Direction, Family};
use crate::cipher::serpent::schedule::{KeyLanes, Schedule};
use crate::kernel::search::{Known, Lanes, START_BLOCKS, TableReuse, copy_key};
use crate::layout::repr::block_of_lane;

/// A kernel for one known block.
#[derive(Clone)]
pub struct Search<W: Lane32> {
    isa: W::Isa,
    key_bytes: usize,
    direction: Direction,
    input: [u32; 4],
    /// The index of the compared word, its value, and the bits of the value that are known.
    word: usize,
    output: u32,
    mask: u32,
}

impl<W: Lane32> Search<W> {
    /// A kernel for keys of one of Serpent's lengths; `None` for other ciphers.
    pub fn new(isa: W::Isa, cipher: Cipher, known: &Known) -> Option<Self> {
        let masks = words_of(&known.mask);
        let word = (0..4).max_by_key(|&word| masks[word].count_ones())?;
        let (output, mask) = (words_of(&known.output)[word], masks[word]);
        let (key_bytes, input) = (cipher.key_bytes(), words_of(&known.input));
        let (fits, direction) = (cipher.family() == Family::Serpent, known.direction);
        fits.then_some(Self { isa, key_bytes, direction, input, word, output, mask })
    }

    const LANES: usize = W::BITS / 32;
}

/// The bytes with which the schedule begins. A one bit and zeros follow a short key.
fn pad(key: &[u8], bytes: &mut [u8]) {
    // These bytes may hold prekeys of another key.
    bytes[BLOCK_BYTES..2 * BLOCK_BYTES].fill(0);
    copy_key(key, bytes);
    if key.len() < 2 * BLOCK_BYTES {
        bytes[key.len()] = 1;
    }
}

/// Computes one key's start: its eight words, or, to decrypt with a table that is used often, the prekeys at
/// the end of its schedule.
pub(crate) fn start(direction: Direction, key: &[u8], usage: TableReuse, blocks: &mut [Block; START_BLOCKS]) {
    pad(key, blocks.as_flattened_mut());
    if (direction, usage) == (Direction::Decrypt, TableReuse::Often) {
        let [low, high] = [words_of(&blocks[0]), words_of(&blocks[1])];
        let last = Schedule::last_prekeys(Portable, each!(i < 8 => if i < 4 { low[i] } else { high[i - 4] }));
        for (bytes, word) in blocks.as_flattened_mut().as_chunks_mut::<4>().0.iter_mut().zip(last) {
            *bytes = word.to_le_bytes();
        }
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

    fn start(&self, key: &[u8], usage: TableReuse, blocks: &mut [Block; START_BLOCKS]) {
        start(self.direction, key, usage, blocks);
    }

    fn load(&self, blocks: &[Vec<u8>; START_BLOCKS]) -> [W; 8] {
        self.isa.enter(Transposed(self.isa, [&blocks[0], &blocks[1]]))
    }

    fn load_keys(&self, halves: [&[u8]; 2]) -> Option<[W; 8]> {
        Some(self.isa.enter(LoadedKeys(self.isa, halves)))
    }

    fn run(
        &self,
        usage: TableReuse,
        bundles: &[[W; 8]],
        outer: &[Block; START_BLOCKS],
        found: &mut [u64],
    ) -> bool {
        let outer = [words_of(&outer[0]), words_of(&outer[1])];
        match self.direction {
            Direction::Encrypt => {
                self.isa.enter(Try::<W, false> { search: self, usage, bundles, outer, found })
            }
            Direction::Decrypt => {
                self.isa.enter(Try::<W, true> { search: self, usage, bundles, outer, found })
            }
        }
    }

    fn key_of(&self, lane: usize) -> usize {
        block_of_lane(W::BITS, Self::LANES, lane)
    }
}

/// Loads keys of 16 or 32 bytes. A short key is padded.
struct LoadedKeys<'a, W: Lane32>(W::Isa, [&'a [u8]; 2]);

impl<W: Lane32> Kernel for LoadedKeys<'_, W> {
    type Output = [W; 8];

    #[inline(always)]
    fn run(self) -> [W; 8] {
        let Self(isa, [low, high]) = self;
        if !high.is_empty() {
            return Transposed(isa, [low, high]).run();
        }
        let low: [W; 4] = W::transpose_lanes(each!(i < 4 => W::load(isa, &low[i * W::BYTES..][..W::BYTES])));
        each!(i < 8 => if i < 4 { low[i] } else { W::splat_lanes(isa, u32::from(i == 4)) })
    }
}

/// Transposes the halves of keys into words.
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

/// Tries all bundles with one outer key, in the direction of encryption or, with `BACK`, of decryption.
struct Try<'a, W: Lane32, const BACK: bool> {
    search: &'a Search<W>,
    usage: TableReuse,
    bundles: &'a [[W; 8]],
    outer: [[u32; 4]; 2],
    found: &'a mut [u64],
}

impl<W: Lane32, const BACK: bool> Kernel for Try<'_, W, BACK> {
    type Output = bool;

    #[inline(always)]
    fn run(self) -> bool {
        let Self { search, usage, bundles, outer, found } = self;
        let isa = search.isa;
        let outer: [W; 8] = each!(i < 8 => W::splat_lanes(isa, outer[i / 4][i % 4]));
        let input: State<W> = each!(i < 4 => W::splat_lanes(isa, search.input[i]));
        let output = W::splat_lanes(isa, search.output);
        let mask = W::splat_lanes(isa, search.mask);
        let mut any = 0;
        for (inner, found) in bundles.iter().zip(found) {
            let mut start = each!(i < 8 => inner[i] ^ outer[i]);
            if BACK && usage == TableReuse::Once {
                start = Schedule::last_prekeys(isa, start);
            }
            let state = if BACK { decrypt(isa, input, start) } else { encrypt(isa, input, start) };
            *found = ((state[search.word] ^ output) & mask).zero_lanes();
            any |= *found;
        }
        any != 0
    }
}

/// The cipher with one key per lane, whose schedule runs alongside it, forwards or `BACK`.
struct Beside<W: KeyLanes, const BACK: bool>(Schedule<W>);

impl<W: KeyLanes, const BACK: bool> Rounds for Beside<W, BACK> {
    type Word = W;

    #[inline(always)]
    fn add_key(&mut self, words: State<W>, eight: usize, index: usize) -> State<W> {
        let Self(schedule) = self;
        let key =
            if BACK { schedule.round_key_back_of(eight, index) } else { schedule.round_key_of(eight, index) };
        each!(i < 4 => words[i] ^ key[i])
    }

    #[inline(always)]
    fn substitute(direction: Direction, index: usize, words: State<W>) -> State<W> {
        match direction {
            Direction::Encrypt => sbox_circuit::forward(index, words),
            Direction::Decrypt => sbox_circuit::inverse(index, words),
        }
    }
}

/// The cipher with one key per lane.
#[inline(always)]
pub(crate) fn encrypt<W: KeyLanes>(isa: W::Isa, state: State<W>, keys: [W; 8]) -> State<W> {
    Beside::<W, false>(Schedule::new(isa, keys)).encrypt(state)
}

/// The inverse cipher. Each lane has the prekeys at the end of its key's schedule.
#[inline(always)]
pub(crate) fn decrypt<W: KeyLanes>(isa: W::Isa, state: State<W>, last_prekeys: [W; 8]) -> State<W> {
    Beside::<W, true>(Schedule::at_end(isa, last_prekeys)).decrypt(state)
}
