//! Serpent: key mixing, S-boxes, linear transformation, their inverses, rounds and the whole cipher, in every
//! representation.
//!
//! The code follows the bit-slice description of the submission. The state is four words of 32 bits, and bit
//! j of the four words enters S-box j. Bytes are in NESSIE order: word i is bytes 4i to 4i + 3,
//! little-endian.
//!
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

use self::key::RoundKeys;
use super::{Keys, Parts};
use crate::block::{Cipher, Family};
use crate::cipher::serpent::ROUNDS;

/// A step of Serpent, or a run of steps that one variant computes.
///
/// Round i, counted from 0, adds key i, applies the S-boxes S₍ᵢ mod 8₎ and then the linear transformation.
/// The last round has key 32 instead of the transformation. Decryption inverts the same steps in reverse
/// order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// XOR with a round key.
    KeyMixing,
    /// The round's S-box on all 32 places, or its inverse when decrypting.
    SBoxes,
    /// The linear transformation, or its inverse when decrypting.
    LinearTransform,
    /// The three steps of a round other than the last, or their inverses.
    Round,
    /// The whole cipher.
    Cipher,
}

impl Part {
    /// All parts, in the order in which tables list them.
    pub const ALL: [Self; 5] =
        [Self::KeyMixing, Self::SBoxes, Self::LinearTransform, Self::Round, Self::Cipher];

    /// The part as the planner names it.
    pub const fn planned(self) -> super::Part {
        let names = match self {
            Self::KeyMixing => ["key-mixing"; 2],
            Self::SBoxes => ["s-boxes", "inv-s-boxes"],
            Self::LinearTransform => ["linear-transform", "inv-linear-transform"],
            Self::Round => ["serpent-round", "inv-serpent-round"],
            Self::Cipher => return super::Part::whole(Family::Serpent),
        };
        super::Part { family: Family::Serpent, names }
    }

    /// The Serpent part with this planner name.
    pub fn of(part: super::Part) -> Option<Self> {
        Self::ALL.into_iter().find(|own| own.planned() == part)
    }
}

/// The steps of a round other than the last, in the order of encryption.
const ROUND: [super::Part; 3] =
    [Part::KeyMixing.planned(), Part::SBoxes.planned(), Part::LinearTransform.planned()];

/// The planner's entry for Serpent.
pub(super) static PARTS: Parts = Parts {
    steps,
    runs: &[(Part::Round.planned(), &ROUND)],
    expand: |key, _| Keys::new(RoundKeys::expand(key)),
};

fn steps(_: Cipher) -> Vec<(super::Part, usize)> {
    let mut steps: Vec<_> = (0..ROUNDS).flat_map(|round| ROUND.map(|step| (step, round))).collect();
    // The last round has a key instead of the transformation.
    if let Some(last) = steps.last_mut() {
        *last = (Part::KeyMixing.planned(), ROUNDS);
    }
    steps
}
