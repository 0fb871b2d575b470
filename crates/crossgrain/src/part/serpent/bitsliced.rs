//! Serpent across the grain: word `32·i + j` holds bit j of word i of every block of the bundle.
//!
//! Layout: `Repr::Bitsliced`. Needs: any `Register`. Source: the submission's bit-slice description, in which
//! bit j of the four words meets in S-box j.
//! Holds: rotations and shifts are renamings. Everything is done in place, and each of the four words keeps
//! count of where its bit 0 has come to; at the end the bits are put back where their names say.

use std::fmt;

use zeroize::Zeroize;

use super::key::{RoundKey, RoundKeys};
use super::{Part, ROUNDS};
use crate::block::Direction;
use crate::circuit::serpent_sbox;
use crate::part::TilePart;
use crate::word::{Isa, Kernel, Register, TILE_WORDS, Tile, each, unrolled};

/// A round key across the grain: each bit as a pattern of 64 equal bits.
type BitKey = [[u64; 32]; 4];

/// Round keys across the grain. Wiped when dropped.
struct BitKeys(Vec<BitKey>);

impl BitKeys {
    fn new(keys: &[RoundKey]) -> Self {
        let bit = |word: u32, place: usize| 0_u64.wrapping_sub(u64::from(word >> place & 1));
        Self(keys.iter().map(|key| key.map(|word| std::array::from_fn(|place| bit(word, place)))).collect())
    }
}

impl Drop for BitKeys {
    fn drop(&mut self) {
        self.0.as_flattened_mut().as_flattened_mut().zeroize();
    }
}

/// How far the transformation takes the bits of each word: what stands at place k is bit k + 18, and so on.
const CARRIED: [usize; 4] = [18, 1, 25, 7];

/// A bundle, and the place of each word's bit 0.
struct Bundle<'a, W: Register> {
    isa: W::Isa,
    words: &'a mut [W; TILE_WORDS],
    starts: [usize; 4],
}

impl<'a, W: Register> Bundle<'a, W> {
    #[inline(always)]
    fn of(isa: W::Isa, tile: &'a mut Tile, index: usize) -> Self {
        Self { isa, words: tile.bundle_mut(isa, index), starts: [0; 4] }
    }

    /// Where bit `place` modulo 32 of word `word` stands.
    #[inline(always)]
    const fn at(&self, word: usize, place: usize) -> usize {
        32 * word + (self.starts[word] + place) % 32
    }

    #[inline(always)]
    fn bit(&self, word: usize, place: usize) -> W {
        self.words[self.at(word, place)]
    }

    #[inline(always)]
    fn mix_key(&mut self, key: &BitKey) {
        for (word, bits) in key.iter().enumerate() {
            for (place, &bit) in bits.iter().enumerate() {
                let at = self.at(word, place);
                self.words[at] = self.words[at] ^ W::splat(self.isa, bit);
            }
        }
    }

    /// The S-box of this number or its inverse at every place, and then a key, which the S-box's last gates take
    /// along.
    #[inline(always)]
    fn substitute(&mut self, direction: Direction, index: usize, key: Option<&BitKey>) {
        for place in 0..32 {
            let bits = each!(word < 4 => self.bit(word, place));
            let mut bits = match direction {
                Direction::Encrypt => serpent_sbox::forward(index, bits),
                Direction::Decrypt => serpent_sbox::inverse(index, bits),
            };
            if let Some(key) = key {
                bits = each!(word < 4 => bits[word] ^ W::splat(self.isa, key[word][place]));
            }
            for (word, bit) in bits.into_iter().enumerate() {
                self.words[self.at(word, place)] = bit;
            }
        }
    }

    /// The linear transformation.
    #[inline(always)]
    fn transform(&mut self) {
        self.add_to_odd_words();
        self.add_to_even_words();
        for (start, carried) in self.starts.iter_mut().zip(CARRIED) {
            *start = (*start + 32 - carried) % 32;
        }
    }

    /// Its inverse: sums are their own inverses.
    #[inline(always)]
    fn inv_transform(&mut self) {
        for (start, carried) in self.starts.iter_mut().zip(CARRIED) {
            *start = (*start + carried) % 32;
        }
        self.add_to_even_words();
        self.add_to_odd_words();
    }

    /// The sums x₁ ⊕ (x₀ ⋘ 13) ⊕ (x₂ ⋘ 3) and x₃ ⊕ (x₂ ⋘ 3) ⊕ ((x₀ ⋘ 13) ≪ 3).
    #[inline(always)]
    fn add_to_odd_words(&mut self) {
        for place in 0..32 {
            let (x0, x2) = (self.bit(0, place + 32 - 13), self.bit(2, place + 32 - 3));
            let (b, d) = (self.at(1, place), self.at(3, place));
            self.words[b] = self.words[b] ^ x0 ^ x2;
            self.words[d] = self.words[d] ^ x2;
            if place >= 3 {
                self.words[d] = self.words[d] ^ self.bit(0, place + 32 - 16);
            }
        }
    }

    /// The sums for x₀ and x₂, to whose bit k comes what x₁ and x₃, rotated by 1 and 7, add to x₀ ⋘ 13 and x₂ ⋘ 3 at
    /// places k + 13 and k + 3.
    #[inline(always)]
    fn add_to_even_words(&mut self) {
        for place in 0..32 {
            let (a, c) = (self.at(0, place), self.at(2, place));
            self.words[a] = self.words[a] ^ self.bit(1, place + 12) ^ self.bit(3, place + 6);
            self.words[c] = self.words[c] ^ self.bit(3, place + 32 - 4);
            // The shift by 7 leaves nothing at places 0 to 6, where k is 29 to 35.
            if (place + 3) % 32 >= 7 {
                self.words[c] = self.words[c] ^ self.bit(1, place + 32 - 5);
            }
        }
    }

    /// Puts every bit where its name says.
    #[inline(always)]
    fn settle(mut self) {
        for word in 0..4 {
            let bits = each!(place < 32 => self.bit(word, place));
            self.words[32 * word..][..32].copy_from_slice(&bits);
        }
        self.starts = [0; 4];
    }

    /// By keys that are mixed in before the linear transformation ([`RoundKeys::before_transform`]).
    #[inline(always)]
    fn encrypt(mut self, keys: &[BitKey]) {
        self.mix_key(&keys[0]);
        for first in (0..ROUNDS).step_by(8) {
            unrolled!(index in [0 1 2 3 4 5 6 7] {
                self.substitute(Direction::Encrypt, index, Some(&keys[first + index + 1]));
                if first + index < ROUNDS - 1 {
                    self.transform();
                }
            });
        }
        self.settle();
    }

    #[inline(always)]
    fn decrypt(mut self, keys: &[BitKey]) {
        self.mix_key(&keys[ROUNDS]);
        for first in (0..ROUNDS).step_by(8).rev() {
            unrolled!(index in [7 6 5 4 3 2 1 0] {
                if first + index < ROUNDS - 1 {
                    self.inv_transform();
                }
                self.substitute(Direction::Decrypt, index, Some(&keys[first + index]));
            });
        }
        self.settle();
    }
}

/// The whole cipher, or one of its steps or rounds, with the keys as that needs them.
pub struct Sliced<W: Register> {
    isa: W::Isa,
    part: Part,
    direction: Direction,
    round: usize,
    /// All of them for the whole cipher, else the round's.
    keys: BitKeys,
}

impl<W: Register> Sliced<W> {
    /// A part; the round counts for a step or a round.
    pub fn new(isa: W::Isa, part: Part, direction: Direction, keys: &RoundKeys, round: usize) -> Self {
        let keys = match (part, direction) {
            (Part::Cipher, Direction::Encrypt) => BitKeys::new(keys.before_transform().words()),
            (Part::Cipher, Direction::Decrypt) => BitKeys::new(keys.words()),
            _ => BitKeys::new(&keys.words()[round..=round]),
        };
        Self { isa, part, direction, round, keys }
    }

    #[inline(always)]
    fn on_bundle(&self, mut bundle: Bundle<'_, W>) {
        let &Self { part, direction, round, keys: BitKeys(ref keys), .. } = self;
        match (part, direction) {
            (Part::Cipher, Direction::Encrypt) => return bundle.encrypt(keys),
            (Part::Cipher, Direction::Decrypt) => return bundle.decrypt(keys),
            (Part::KeyMixing, _) => bundle.mix_key(&keys[0]),
            (Part::SBoxes, _) => bundle.substitute(direction, round, None),
            (Part::LinearTransform, Direction::Encrypt) => bundle.transform(),
            (Part::LinearTransform, Direction::Decrypt) => bundle.inv_transform(),
            (Part::Round, Direction::Encrypt) => {
                bundle.mix_key(&keys[0]);
                bundle.substitute(direction, round, None);
                bundle.transform();
            }
            (Part::Round, Direction::Decrypt) => {
                bundle.inv_transform();
                bundle.substitute(direction, round, Some(&keys[0]));
            }
        }
        bundle.settle();
    }
}

impl<W: Register> fmt::Debug for Sliced<W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Sliced({} bits, {:?}, {:?}, secret)", W::BITS, self.part, self.direction)
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
        for index in 0..blocks / W::BITS {
            sliced.on_bundle(Bundle::of(sliced.isa, tile, index));
        }
    }
}
