//! The parts of Serpent: key mixing, S-boxes, linear transformation, their inverses, rounds and the whole
//! cipher, in every representation.
//!
//! In the submission's bit-slice description: four words of 32 bits, bit j of which are the four bits that
//! meet in S-box j. Bytes are taken in NESSIE's order: word i is bytes 4i to 4i + 3, little-endian.
//! Source: Anderson, Biham and Knudsen, "Serpent: a proposal for the Advanced Encryption Standard" (1998).

pub mod bitsliced;
mod chains;
pub mod key;
#[cfg(feature = "own-keys")]
pub mod own_keys;
#[cfg(feature = "search")]
pub mod search;
pub mod vsliced;
pub mod whole;

use crate::block::Direction;
use crate::cipher::serpent::ROUNDS;

/// A step of Serpent, or a run of steps that one variant computes.
///
/// Round i, counted from 0, mixes key i in, passes the S-boxes S₍ᵢ mod 8₎ and the linear transformation; the
/// last one has key 32 in place of the transformation. Decryption undoes the same steps in reverse.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Part {
    /// XOR with a round key.
    KeyMixing,
    /// The round's S-box on all 32 places, or its inverse when decrypting.
    SBoxes,
    /// The linear transformation, or its inverse when decrypting.
    LinearTransform,
    /// The three steps of a round that is not the last, or their inverses.
    Round,
    /// The whole cipher.
    Cipher,
}

impl Part {
    /// The steps, which a plan may take one by one.
    pub const STEPS: [Self; 3] = [Self::KeyMixing, Self::SBoxes, Self::LinearTransform];

    /// The steps of a round that is not the last, as encryption has them.
    pub(super) const ROUND: [Self; 3] = Self::STEPS;

    /// The name in variant names.
    pub const fn name(self, direction: Direction) -> &'static str {
        match (self, direction) {
            (Self::KeyMixing, _) => "key-mixing",
            (Self::SBoxes, Direction::Encrypt) => "s-boxes",
            (Self::SBoxes, Direction::Decrypt) => "inv-s-boxes",
            (Self::LinearTransform, Direction::Encrypt) => "linear-transform",
            (Self::LinearTransform, Direction::Decrypt) => "inv-linear-transform",
            (Self::Round, Direction::Encrypt) => "serpent-round",
            (Self::Round, Direction::Decrypt) => "inv-serpent-round",
            (Self::Cipher, Direction::Encrypt) => "serpent-encrypt",
            (Self::Cipher, Direction::Decrypt) => "serpent-decrypt",
        }
    }
}

/// The steps of the cipher in order, each with its round; the last key is that of round 32.
pub fn steps(direction: Direction) -> Vec<(Part, usize)> {
    let mut steps: Vec<_> = (0..ROUNDS).flat_map(|round| Part::STEPS.map(|step| (step, round))).collect();
    if let Some(last) = steps.last_mut() {
        *last = (Part::KeyMixing, ROUNDS);
    }
    if direction == Direction::Decrypt {
        steps.reverse();
    }
    steps
}
