//! Serpent's key schedule in constant time: the S-boxes are circuits, and nothing branches on the key.
//!
//! Source: the submission, §4. Round keys are wiped when dropped.

use std::fmt;

use zeroize::{Zeroize, Zeroizing};

use super::ROUNDS;
use super::vsliced::inv_transform;
use crate::block::Key;
use crate::circuit::serpent_sbox;
use crate::word::each;

/// The fractional part of the golden ratio.
const PHI: u32 = 0x9e37_79b9;

/// A round key: one word for each word of the state.
pub type RoundKey = [u32; 4];

/// Prekeys, from w₋₈ on.
const PREKEYS: usize = 8 + 4 * (ROUNDS + 1);

/// The round keys of one key.
#[derive(Clone)]
pub struct RoundKeys(Box<[RoundKey; ROUNDS + 1]>);

impl RoundKeys {
    /// The key schedule.
    pub fn expand(key: &Key) -> Self {
        let mut prekeys = Zeroizing::new([0_u32; PREKEYS]);
        let words = key.bytes().as_chunks().0;
        for (prekey, word) in prekeys.iter_mut().zip(words) {
            *prekey = u32::from_le_bytes(*word);
        }
        if words.len() < 8 {
            // Shorter keys are made 256 bits long by a one and zeros.
            prekeys[words.len()] = 1;
        }
        for i in 8..PREKEYS {
            let sum = prekeys[i - 8] ^ prekeys[i - 5] ^ prekeys[i - 3] ^ prekeys[i - 1];
            prekeys[i] = (sum ^ PHI ^ (i - 8) as u32).rotate_left(11);
        }
        let mut keys = Self(Box::new([[0; 4]; ROUNDS + 1]));
        for (round, key) in keys.0.iter_mut().enumerate() {
            let prekey = each!(i < 4 => prekeys[8 + 4 * round + i]);
            *key = serpent_sbox::forward((ROUNDS + 3 - round) % 8, prekey);
        }
        keys
    }

    /// The keys as they are mixed in right after the S-boxes: those of rounds 1 to 31 back through the linear
    /// transformation, so that adding one can be part of an S-box's last gates.
    #[must_use]
    pub fn before_transform(&self) -> Self {
        let mut keys = self.clone();
        for key in &mut keys.0[1..ROUNDS] {
            *key = inv_transform(*key);
        }
        keys
    }

    /// Round keys 0 to 32.
    pub fn words(&self) -> &[RoundKey; ROUNDS + 1] {
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
