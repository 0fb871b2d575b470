//! Bit-sliced Serpent. Word `32·i + j` holds bit j of word i of every block in a bundle.
//!
//! Rotations move no data: they renumber words (`cipher::serpent::linear_circuit`). At the end of a kernel all words
//! are back in their own places.
//!
//! Layout: `Repr::Bitsliced`.
//! Needs any `Register`.
//! Source: the submission's bit-slice description, in which bit j of the four words enters S-box j; Biham, "A
//! fast new DES implementation in software" (1997).

use std::fmt;
use std::ops::Range;

use zeroize::Zeroize;

use super::description::{ROUNDS, RoundKey};
use super::key::RoundKeys;
use super::linear_circuit::Places;
use super::sbox_circuit;
use super::steps::Part;
use crate::arch::{Isa, Kernel, Register, TILE_WORDS, Tile, each};
use crate::block::Direction;
use crate::kernel::TilePart;

/// A bit-sliced round key: bit j of word i as a pattern of 64 equal bits at index `32·i + j`.
type BitKey = [u64; TILE_WORDS];

/// One part, with its round keys in this form. Wiped when dropped.
pub struct Sliced<W: Register> {
    isa: W::Isa,
    part: Part,
    direction: Direction,
    /// The number of the first key.
    first: usize,
    keys: Vec<BitKey>,
}

impl<W: Register> Sliced<W> {
    /// A step, a round or the whole cipher, with the key of `round` or all keys.
    pub fn new(isa: W::Isa, part: Part, direction: Direction, keys: &RoundKeys, round: usize) -> Self {
        let numbers = if part == Part::Cipher { 0..=ROUNDS } else { round..=round };
        let first = *numbers.start();
        Self { isa, part, direction, first, keys: keys.words()[numbers].iter().map(spread).collect() }
    }

    fn key(&self, round: usize) -> &BitKey {
        &self.keys[round - self.first]
    }

    /// The part on one bundle.
    #[inline(always)]
    fn on_bundle(&self, bundle: &mut Bundle<'_, W>) {
        let &Self { isa, part, direction, first, .. } = self;
        match part.in_table() {
            Part::KeyMixing => bundle.mix_key(isa, self.key(first)),
            Part::SBoxes => bundle.s_boxes::<false>(isa, direction, first, self.key(first)),
            Part::LinearTransform => bundle.transform(direction),
            // One call for both, since all S-boxes are inlined into it.
            Part::Round | Part::Cipher => {
                let whitens = part.in_table() == Part::Cipher;
                if whitens && direction == Direction::Decrypt {
                    bundle.mix_key(isa, self.key(ROUNDS));
                }
                self.rounds(bundle, if whitens { 0..ROUNDS } else { first..first + 1 });
                if whitens && direction == Direction::Encrypt {
                    bundle.mix_key(isa, self.key(ROUNDS));
                }
            }
        }
        bundle.places.settle(bundle.words);
    }

    /// Some rounds. The last of all rounds has no transformation.
    #[inline(always)]
    fn rounds(&self, bundle: &mut Bundle<'_, W>, rounds: Range<usize>) {
        for step in rounds.clone() {
            let encrypts = self.direction == Direction::Encrypt;
            let round = if encrypts { step } else { rounds.start + rounds.end - 1 - step };
            let transforms = round + 1 < ROUNDS;
            if transforms && !encrypts {
                bundle.transform(Direction::Decrypt);
            }
            bundle.s_boxes::<true>(self.isa, self.direction, round, self.key(round));
            if transforms && encrypts {
                bundle.transform(Direction::Encrypt);
            }
        }
    }
}

fn spread(key: &RoundKey) -> BitKey {
    std::array::from_fn(|place| 0_u64.wrapping_sub(u64::from(key[place / 32] >> (place % 32) & 1)))
}

impl<W: Register> Drop for Sliced<W> {
    fn drop(&mut self) {
        self.keys.as_flattened_mut().zeroize();
    }
}

impl<W: Register> fmt::Debug for Sliced<W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "bitsliced::{}({} bits, secret)", self.part.planned().name(self.direction), W::BITS)
    }
}

impl<W: Register> TilePart for Sliced<W> {
    fn run(&self, tile: &mut Tile, blocks: usize) {
        self.isa.enter(OnTile::<W>(self, tile, blocks));
    }
}

struct OnTile<'a, W: Register>(&'a Sliced<W>, &'a mut Tile, usize);

impl<W: Register> Kernel for OnTile<'_, W> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Self(sliced, tile, blocks) = self;
        for bundle in 0..blocks / W::BITS {
            let words = tile.bundle_mut(sliced.isa, bundle);
            sliced.on_bundle(&mut Bundle { words, places: Places::OWN });
        }
    }
}

/// The bits of a round key, at their home positions.
pub(super) trait KeyPattern<W: Register>: Copy {
    /// The bit at a position, for every block.
    fn at(self, isa: W::Isa, place: usize) -> W;
}

/// One key for all blocks.
impl<W: Register> KeyPattern<W> for &BitKey {
    #[inline(always)]
    fn at(self, isa: W::Isa, place: usize) -> W {
        W::splat(isa, self[place])
    }
}

/// A key for each block.
#[cfg(feature = "search-steps")]
pub(super) struct KeyBits<'a, W>(pub(super) &'a [W; TILE_WORDS]);

#[cfg(feature = "search-steps")]
impl<W> Clone for KeyBits<'_, W> {
    #[inline(always)]
    fn clone(&self) -> Self {
        *self
    }
}

#[cfg(feature = "search-steps")]
impl<W> Copy for KeyBits<'_, W> {}

#[cfg(feature = "search-steps")]
impl<W: Register> KeyPattern<W> for KeyBits<'_, W> {
    #[inline(always)]
    fn at(self, _isa: W::Isa, place: usize) -> W {
        self.0[place]
    }
}

/// The state of one bundle.
pub(super) struct Bundle<'t, W> {
    pub(super) words: &'t mut [W; TILE_WORDS],
    pub(super) places: Places,
}

impl<W: Register> Bundle<'_, W> {
    #[inline(always)]
    pub(super) fn mix_key(&mut self, isa: W::Isa, key: impl KeyPattern<W>) {
        for bit in 0..32 {
            let bits = self.places.get(self.words, bit);
            let bits = each!(word < 4 => bits[word] ^ key.at(isa, 32 * word + bit));
            self.places.set(self.words, bit, bits);
        }
    }

    /// All S-boxes of a round. With `KEYED`, also the key addition before them, or after their inverses.
    #[inline(always)]
    pub(super) fn s_boxes<const KEYED: bool>(
        &mut self,
        isa: W::Isa,
        direction: Direction,
        round: usize,
        key: impl KeyPattern<W>,
    ) {
        match round % 8 {
            0 => self.s_box::<0, KEYED>(isa, direction, key),
            1 => self.s_box::<1, KEYED>(isa, direction, key),
            2 => self.s_box::<2, KEYED>(isa, direction, key),
            3 => self.s_box::<3, KEYED>(isa, direction, key),
            4 => self.s_box::<4, KEYED>(isa, direction, key),
            5 => self.s_box::<5, KEYED>(isa, direction, key),
            6 => self.s_box::<6, KEYED>(isa, direction, key),
            _ => self.s_box::<7, KEYED>(isa, direction, key),
        }
    }

    #[inline(always)]
    fn s_box<const INDEX: usize, const KEYED: bool>(
        &mut self,
        isa: W::Isa,
        direction: Direction,
        key: impl KeyPattern<W>,
    ) {
        for bit in 0..32 {
            let key: [W; 4] = each!(word < 4 => {
                if KEYED { key.at(isa, 32 * word + bit) } else { W::splat(isa, 0) }
            });
            let bits = self.places.get(self.words, bit);
            let bits = match direction {
                Direction::Encrypt => sbox_circuit::forward(INDEX, each!(word < 4 => bits[word] ^ key[word])),
                Direction::Decrypt => {
                    let bits = sbox_circuit::inverse(INDEX, bits);
                    each!(word < 4 => bits[word] ^ key[word])
                }
            };
            self.places.set(self.words, bit, bits);
        }
    }

    #[inline(always)]
    pub(super) fn transform(&mut self, direction: Direction) {
        match direction {
            Direction::Encrypt => self.places.transform(self.words),
            Direction::Decrypt => self.places.inv_transform(self.words),
        }
    }
}
