//! The parts of AES: AddRoundKey, SubBytes, ShiftRows, MixColumns, their inverses, rounds and the whole
//! cipher, in every representation.
//!
//! `key` expands the key once; every representation makes its own form of the round keys from that.

pub mod bitsliced;
pub mod bytesliced;
mod chains;
mod gcm;
pub mod head;
pub mod hsliced;
pub mod instructions;
pub mod key;
#[cfg(any(feature = "own-keys", feature = "search"))]
pub(crate) mod lane_schedule;
mod masked;
#[cfg(feature = "own-keys")]
pub mod own_keys;
#[cfg(feature = "search")]
pub mod search;
pub mod table;
pub mod walk;

use crate::block::Direction;

/// A step of AES, or a run of steps that one variant computes.
///
/// In FIPS 197 encryption is `AddRoundKey(0)`, then rounds of SubBytes, ShiftRows, MixColumns and
/// AddRoundKey, the last without MixColumns; decryption undoes the same steps in reverse.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
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

    /// The steps of a middle round, as encryption has them.
    pub(super) const ROUND: [Self; 4] =
        [Self::SubBytes, Self::ShiftRows, Self::MixColumns, Self::AddRoundKey];

    /// The phase of a tile in which ShiftRows is renaming, after this part.
    pub(crate) const fn phase_after(self, direction: Direction, phase: usize) -> usize {
        match (self, direction) {
            (Self::ShiftRows | Self::Round, Direction::Encrypt) => (phase + 1) % 4,
            (Self::ShiftRows | Self::Round, Direction::Decrypt) => (phase + 3) % 4,
            _ => phase,
        }
    }

    /// The name in variant names.
    pub const fn name(self, direction: Direction) -> &'static str {
        match (self, direction) {
            (Self::AddRoundKey, _) => "add-round-key",
            (Self::SubBytes, Direction::Encrypt) => "sub-bytes",
            (Self::SubBytes, Direction::Decrypt) => "inv-sub-bytes",
            (Self::ShiftRows, Direction::Encrypt) => "shift-rows",
            (Self::ShiftRows, Direction::Decrypt) => "inv-shift-rows",
            (Self::MixColumns, Direction::Encrypt) => "mix-columns",
            (Self::MixColumns, Direction::Decrypt) => "inv-mix-columns",
            (Self::Round, Direction::Encrypt) => "aes-round",
            (Self::Round, Direction::Decrypt) => "inv-aes-round",
            (Self::Cipher, Direction::Encrypt) => "aes-encrypt",
            (Self::Cipher, Direction::Decrypt) => "aes-decrypt",
        }
    }
}

/// The steps of a cipher of `rounds` rounds in order, each with the round key it belongs to.
pub fn steps(direction: Direction, rounds: usize) -> Vec<(Part, usize)> {
    use Part::{AddRoundKey, MixColumns, ShiftRows, SubBytes};
    let mut steps = vec![(AddRoundKey, 0)];
    for round in 1..rounds {
        steps.extend([SubBytes, ShiftRows, MixColumns, AddRoundKey].map(|part| (part, round)));
    }
    steps.extend([SubBytes, ShiftRows, AddRoundKey].map(|part| (part, rounds)));
    if direction == Direction::Decrypt {
        steps.reverse();
    }
    steps
}
