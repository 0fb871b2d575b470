//! The steps of Serpent: their names and order for the planner, and the key schedule.

use super::description::ROUNDS;
use super::key::RoundKeys;
use crate::block::{Cipher, Family};
use crate::kernel::{self, Parts, boxed};

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

    /// The parts in the table, in its order. Only the published mix needs single steps and rounds, which the feature
    /// `steps` adds.
    pub(crate) const IN_TABLE: &[Self] = if cfg!(feature = "steps") { &Self::ALL } else { &[Self::Cipher] };

    /// The part itself, if it is in the table. A kernel of several parts asks for it, so that the compiler drops
    /// those that are not.
    #[inline(always)]
    pub(crate) const fn in_table(self) -> Self {
        if cfg!(feature = "steps") { self } else { Self::Cipher }
    }

    /// The part as the planner names it.
    pub const fn planned(self) -> kernel::Part {
        let names = match self {
            Self::KeyMixing => ["key-mixing"; 2],
            Self::SBoxes => ["s-boxes", "inv-s-boxes"],
            Self::LinearTransform => ["linear-transform", "inv-linear-transform"],
            Self::Round => ["serpent-round", "inv-serpent-round"],
            Self::Cipher => return kernel::Part::whole(Family::Serpent),
        };
        kernel::Part { family: Family::Serpent, names }
    }

    /// The Serpent part with this planner name.
    pub fn of(part: kernel::Part) -> Option<Self> {
        Self::ALL.into_iter().find(|own| own.planned() == part)
    }
}

/// The steps of a round other than the last, in the order of encryption.
const ROUND: [kernel::Part; 3] =
    [Part::KeyMixing.planned(), Part::SBoxes.planned(), Part::LinearTransform.planned()];

/// The planner's entry for Serpent.
pub(crate) static PARTS: Parts =
    Parts { steps, runs: &[(Part::Round.planned(), &ROUND)], expand: |key, _| boxed(RoundKeys::expand(key)) };

fn steps(_: Cipher) -> Vec<(kernel::Part, usize)> {
    let mut steps: Vec<_> = (0..ROUNDS).flat_map(|round| ROUND.map(|step| (step, round))).collect();
    // The last round has a key instead of the transformation.
    if let Some(last) = steps.last_mut() {
        *last = (Part::KeyMixing.planned(), ROUNDS);
    }
    steps
}
