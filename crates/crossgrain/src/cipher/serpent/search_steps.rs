//! The steps of a search for a Serpent key: the key schedule, the first 24 rounds and the last eight, each on words
//! (`vsliced`) or on bits of many keys (`bitsliced`).
//!
//! The kernel of a complete search computes round keys along with the rounds, and stores none. These steps store
//! them, so that each step may have another representation.
//!
//! Layout: `kernel::search::Batch`.
//! Source: the submission, §3 and §4.

use std::fmt;
use std::mem::ManuallyDrop;

use super::bitsliced::{Bundle, KeyBits};
use super::description::{ROUNDS, Rounds as _, rounds_of, words_of};
use super::linear_circuit::Places;
use super::sbox_circuit;
use super::schedule::{KeyWord, Schedule};
use super::vsliced::State;
use crate::arch::{Isa, Kernel, Lane32, Register, TILE_WORDS, Tile, each};
use crate::block::{Cipher, Direction};
use crate::cipher::Portion;
use crate::kernel::search::{Batch, KeyStep, Known};

/// The four words of a bundle's blocks in a tile.
pub trait InTile: KeyWord<Isa: Isa> + 'static {
    /// Blocks in a bundle.
    const LANES: usize;

    /// Reads them.
    fn read(isa: Self::Isa, tile: &Tile, bundle: usize) -> [Self; 4];

    /// Replaces them.
    fn write(words: [Self; 4], isa: Self::Isa, tile: &mut Tile, bundle: usize);
}

impl<W: Lane32> InTile for W {
    const LANES: usize = W::BITS / 32;

    #[inline(always)]
    fn read(isa: W::Isa, tile: &Tile, bundle: usize) -> [W; 4] {
        *tile.bundle(isa, bundle)
    }

    #[inline(always)]
    fn write(words: [W; 4], isa: W::Isa, tile: &mut Tile, bundle: usize) {
        *tile.bundle_mut(isa, bundle) = words;
    }
}

impl<W: Register> InTile for [W; 32] {
    const LANES: usize = W::BITS;

    #[inline(always)]
    fn read(isa: W::Isa, tile: &Tile, bundle: usize) -> [Self; 4] {
        let words: &[W; TILE_WORDS] = tile.bundle(isa, bundle);
        each!(word < 4 => each!(bit < 32 => words[32 * word + bit]))
    }

    #[inline(always)]
    fn write(words: [Self; 4], isa: W::Isa, tile: &mut Tile, bundle: usize) {
        tile.bundle_mut::<W, TILE_WORDS>(isa, bundle).copy_from_slice(words.as_flattened());
    }
}

/// The key schedule.
pub struct Expansion<T: InTile> {
    isa: T::Isa,
    key_words: usize,
}

impl<T: InTile> Expansion<T> {
    /// The step for keys of this cipher.
    pub const fn new(isa: T::Isa, cipher: Cipher) -> Self {
        Self { isa, key_words: cipher.key_bytes() / 4 }
    }
}

impl<T: InTile> fmt::Debug for Expansion<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "serpent::Expansion({} keys)", T::LANES)
    }
}

impl<T: InTile<Isa: Send + Sync>> KeyStep for Expansion<T> {
    fn run(&self, batch: &mut Batch) {
        self.isa.enter(Expand(self, batch));
    }
}

struct Expand<'a, T: InTile>(&'a Expansion<T>, &'a mut Batch);

impl<T: InTile> Kernel for Expand<'_, T> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Self(&Expansion { isa, key_words }, Batch { keys, key, round_keys, .. }) = self;
        for bundle in 0..*keys / T::LANES {
            let [low, high] = each!(half < 2 => T::read(isa, &key[half], bundle));
            let mut words: [T; 8] = each!(i < 8 => if i < 4 { low[i] } else { high[i - 4] });
            // A one bit and zeros follow a short key.
            if key_words < 8 {
                words[key_words] = T::constant(isa, 1);
            }
            let mut schedule = ManuallyDrop::new(Schedule::new(isa, words));
            for tile in round_keys.iter_mut() {
                T::write(schedule.round_key(), isa, tile, bundle);
            }
            schedule.wipe();
        }
    }
}

/// A portion of the rounds on words: the first rounds or, with `LAST`, the last ones.
pub struct WordRounds<W: Lane32, const LAST: bool> {
    isa: W::Isa,
    direction: Direction,
    input: [u32; 4],
}

impl<W: Lane32, const LAST: bool> WordRounds<W, LAST> {
    /// The step for this known block.
    pub fn new(isa: W::Isa, known: &Known) -> Self {
        Self { isa, direction: known.direction, input: words_of(&known.input) }
    }
}

impl<W: Lane32, const LAST: bool> fmt::Debug for WordRounds<W, LAST> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "serpent::WordRounds({} bits)", W::BITS)
    }
}

impl<W: Lane32, const LAST: bool> KeyStep for WordRounds<W, LAST> {
    fn run(&self, batch: &mut Batch) {
        match self.direction {
            Direction::Encrypt => self.isa.enter(OnWords::<W, LAST, false>(self, batch)),
            Direction::Decrypt => self.isa.enter(OnWords::<W, LAST, true>(self, batch)),
        }
    }
}

struct OnWords<'a, W: Lane32, const LAST: bool, const BACK: bool>(&'a WordRounds<W, LAST>, &'a mut Batch);

impl<W: Lane32, const LAST: bool, const BACK: bool> Kernel for OnWords<'_, W, LAST, BACK> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Self(&WordRounds { isa, input, .. }, Batch { keys, round_keys, state: tile, .. }) = self;
        for bundle in 0..*keys / <W as InTile>::LANES {
            let input: State<W> =
                if LAST { W::read(isa, tile, bundle) } else { each!(i < 4 => W::splat_lanes(isa, input[i])) };
            let mut rounds = UnderKeys::<W> { isa, bundle, round_keys };
            let portion = if LAST { Portion::Last } else { Portion::First };
            let state = if BACK {
                rounds.decrypt_portion(portion, input)
            } else {
                rounds.encrypt_portion(portion, input)
            };
            W::write(state, isa, tile, bundle);
        }
    }
}

/// The rounds of a bundle with stored round keys.
struct UnderKeys<'a, W: Lane32> {
    isa: W::Isa,
    bundle: usize,
    round_keys: &'a [Box<Tile>],
}

impl<W: Lane32> super::description::Rounds for UnderKeys<'_, W> {
    type Word = W;

    #[inline(always)]
    fn add_key(&mut self, words: State<W>, eight: usize, index: usize) -> State<W> {
        let key = W::read(self.isa, &self.round_keys[eight + index], self.bundle);
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

/// A portion of the rounds on bits.
pub struct BitRounds<W: Register> {
    isa: W::Isa,
    portion: Portion,
    direction: Direction,
    input: [u32; 4],
}

impl<W: Register> BitRounds<W> {
    /// The step for this known block.
    pub fn new(isa: W::Isa, portion: Portion, known: &Known) -> Self {
        Self { isa, portion, direction: known.direction, input: words_of(&known.input) }
    }
}

impl<W: Register> fmt::Debug for BitRounds<W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "serpent::BitRounds({} lanes)", W::BITS)
    }
}

impl<W: Register> KeyStep for BitRounds<W> {
    fn run(&self, batch: &mut Batch) {
        self.isa.enter(OnBits(self, batch));
    }
}

struct OnBits<'a, W: Register>(&'a BitRounds<W>, &'a mut Batch);

impl<W: Register> Kernel for OnBits<'_, W> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Self(&BitRounds { isa, portion, direction, input }, batch) = self;
        let Batch { keys, round_keys, state, .. } = batch;
        let is_encrypting = direction == Direction::Encrypt;
        let rounds = rounds_of(direction, portion);
        for number in 0..*keys / W::BITS {
            let words: &mut [W; TILE_WORDS] = state.bundle_mut(isa, number);
            if portion == Portion::First {
                for (at, word) in words.iter_mut().enumerate() {
                    *word = W::splat(isa, 0_u64.wrapping_sub(u64::from(input[at / 32] >> (at % 32) & 1)));
                }
            }
            let key = |round: usize| KeyBits::<W>(round_keys[round].bundle(isa, number));
            let mut bundle = Bundle { words, places: Places::OWN };
            if portion == Portion::First && !is_encrypting {
                bundle.mix_key(isa, key(ROUNDS));
            }
            for turn in 0..rounds.len() {
                let round = if is_encrypting { rounds.start + turn } else { rounds.end - 1 - turn };
                let transforms = round + 1 < ROUNDS;
                if transforms && !is_encrypting {
                    bundle.transform(direction);
                }
                bundle.s_boxes::<true>(isa, direction, round, key(round));
                if transforms && is_encrypting {
                    bundle.transform(direction);
                }
            }
            if portion == Portion::Last && is_encrypting {
                bundle.mix_key(isa, key(ROUNDS));
            }
            bundle.places.settle(bundle.words);
        }
    }
}
