//! The steps of AES: their names and order for the planner, and the key schedule.

use super::key::RoundKeys;
use crate::block::{Cipher, Direction, Family};
use crate::kernel::{self, Parts, boxed};

/// A step of AES, or a run of steps that one variant computes.
///
/// In FIPS 197, encryption is `AddRoundKey(0)`, then rounds of SubBytes, ShiftRows, MixColumns and
/// AddRoundKey; the last round has no MixColumns. Decryption inverts the same steps in reverse order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// XOR with a round key (FIPS 197 §5.1.4).
    AddRoundKey,
    /// SubBytes, or InvSubBytes when decrypting (§5.1.1, §5.3.2).
    SubBytes,
    /// ShiftRows, or InvShiftRows when decrypting (§5.1.2, §5.3.1).
    ShiftRows,
    /// MixColumns, or InvMixColumns when decrypting (§5.1.3, §5.3.3).
    MixColumns,
    /// The four steps of a middle round: SubBytes to AddRoundKey, or their inverses from AddRoundKey on.
    Round,
    /// The whole cipher.
    Cipher,
}

impl Part {
    /// The steps, which a plan may take one by one.
    pub const STEPS: [Self; 4] = [Self::AddRoundKey, Self::SubBytes, Self::ShiftRows, Self::MixColumns];

    /// All parts, in the order in which tables list them.
    pub const ALL: [Self; 6] =
        [Self::AddRoundKey, Self::SubBytes, Self::ShiftRows, Self::MixColumns, Self::Round, Self::Cipher];

    /// The parts in the table, in its order. Only the published mix needs single steps and rounds, which the feature
    /// `steps` adds.
    pub(crate) const IN_TABLE: &[Self] = if cfg!(feature = "steps") { &Self::ALL } else { &[Self::Cipher] };

    /// The part itself, if it is in the table. A kernel of several parts asks for it, so that the compiler drops
    /// those that are not.
    #[inline(always)]
    pub(crate) const fn in_table(self) -> Self {
        if cfg!(feature = "steps") { self } else { Self::Cipher }
    }

    /// The phase of a tile after this part, in representations where ShiftRows is a renaming.
    pub(crate) const fn phase_after(self, direction: Direction, phase: usize) -> usize {
        match (self, direction) {
            (Self::ShiftRows | Self::Round, Direction::Encrypt) => (phase + 1) % 4,
            (Self::ShiftRows | Self::Round, Direction::Decrypt) => (phase + 3) % 4,
            _ => phase,
        }
    }

    /// The part as the planner names it.
    pub const fn planned(self) -> kernel::Part {
        let names = match self {
            Self::AddRoundKey => ["add-round-key"; 2],
            Self::SubBytes => ["sub-bytes", "inv-sub-bytes"],
            Self::ShiftRows => ["shift-rows", "inv-shift-rows"],
            Self::MixColumns => ["mix-columns", "inv-mix-columns"],
            Self::Round => ["aes-round", "inv-aes-round"],
            Self::Cipher => return kernel::Part::whole(Family::Aes),
        };
        kernel::Part { family: Family::Aes, names }
    }

    /// The AES part with this planner name.
    pub fn of(part: kernel::Part) -> Option<Self> {
        Self::ALL.into_iter().find(|own| own.planned() == part)
    }
}

/// The steps of a middle round in the order of encryption.
const ROUND: [kernel::Part; 4] = [
    Part::SubBytes.planned(),
    Part::ShiftRows.planned(),
    Part::MixColumns.planned(),
    Part::AddRoundKey.planned(),
];

/// The planner's entry for AES.
pub(crate) static PARTS: Parts = Parts {
    steps,
    runs: &[(Part::Round.planned(), &ROUND)],
    expand: |key, features| boxed(RoundKeys::expand(key, features)),
};

fn steps(cipher: Cipher) -> Vec<(kernel::Part, usize)> {
    let mut steps = vec![(Part::AddRoundKey.planned(), 0)];
    steps.extend((1..=cipher.rounds()).flat_map(|round| ROUND.map(|step| (step, round))));
    // The last round has no MixColumns.
    steps.remove(steps.len() - 2);
    steps
}
