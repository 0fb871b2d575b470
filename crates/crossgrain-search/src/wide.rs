//! Known blocks of any length, and the search for keys of Rijndael with blocks of 24 and 32 bytes.

use crossgrain::Direction;

#[cfg(feature = "wide")]
use crossgrain::engine::cipher::rijndael::{reference, search};
#[cfg(feature = "wide")]
use crossgrain::wide::Rijndael;

/// A block of any length before and after the cipher.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WidePair {
    /// The direction of the cipher from `input` to `output`.
    pub direction: Direction,
    /// The input of the cipher. All its bits are known.
    pub input: Vec<u8>,
    /// The output of the cipher.
    pub output: Vec<u8>,
    /// The bits of `output` that are known.
    pub mask: Vec<u8>,
}

impl WidePair {
    /// The number of known bits of the output.
    pub fn known_bits(&self) -> u32 {
        self.mask.iter().map(|mask| mask.count_ones()).sum()
    }
}

#[cfg(feature = "wide")]
impl WidePair {
    /// The same pair with the output that `key` gives for this input.
    pub(super) fn planted(&self, cipher: Rijndael, key: &[u8]) -> Self {
        let (mut output, cipher) = (self.input.clone(), reference::rijndael(cipher.block_bytes(), key));
        match self.direction {
            Direction::Encrypt => cipher.encrypt(&mut output),
            Direction::Decrypt => cipher.decrypt(&mut output),
        }
        Self { output, ..self.clone() }
    }

    /// Whether the cipher under `key` gives this output, computed by the reference.
    pub(super) fn holds(&self, cipher: Rijndael, key: &[u8]) -> bool {
        let computed = self.planted(cipher, key).output;
        computed.iter().zip(&self.output).zip(&self.mask).all(|((a, b), mask)| (a ^ b) & mask == 0)
    }
}

#[cfg(feature = "wide")]
impl From<WidePair> for search::Known {
    fn from(WidePair { direction, input, output, mask }: WidePair) -> Self {
        Self { direction, input, output, mask }
    }
}
