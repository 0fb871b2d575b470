//! The round keys of one Serpent key. They are wiped when dropped.

use std::fmt;

use zeroize::Zeroize;

use super::description::{ROUNDS, RoundKey, expand, inv_transform};
use crate::block::Key;

/// The round keys of one key.
#[derive(Clone)]
pub struct RoundKeys([RoundKey; ROUNDS + 1]);

impl RoundKeys {
    /// The key schedule.
    pub fn expand(key: &Key) -> Self {
        let mut keys = Self([[0; 4]; ROUNDS + 1]);
        expand(key.bytes(), &mut keys.0);
        keys
    }

    /// Round keys 0 to 32, in any form.
    pub(super) const fn from_words(words: [RoundKey; ROUNDS + 1]) -> Self {
        Self(words)
    }

    /// The keys in the form that is added directly after the S-boxes: those of rounds 1 to 31 go back through
    /// the linear transformation. Their addition can then be part of an S-box's last gates.
    #[must_use]
    pub fn before_transform(&self) -> Self {
        let mut keys = self.clone();
        for key in &mut keys.0[1..ROUNDS] {
            *key = inv_transform(*key);
        }
        keys
    }

    /// Keys for S-boxes that omit `constant(round)`. If bit i of it is set, word i of the key that follows
    /// the S-boxes, number `first + round`, is complemented.
    #[must_use]
    pub fn with_constants(mut self, first: usize, constant: fn(usize) -> u8) -> Self {
        for (round, key) in self.0[first..first + ROUNDS].iter_mut().enumerate() {
            for (i, word) in key.iter_mut().enumerate() {
                *word ^= 0_u32.wrapping_sub(u32::from(constant(round) >> i & 1));
            }
        }
        self
    }

    /// Round keys 0 to 32.
    pub const fn words(&self) -> &[RoundKey; ROUNDS + 1] {
        &self.0
    }
}

impl Drop for RoundKeys {
    fn drop(&mut self) {
        self.0.as_flattened_mut().zeroize();
    }
}

impl fmt::Debug for RoundKeys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("serpent::RoundKeys(33, secret)")
    }
}
