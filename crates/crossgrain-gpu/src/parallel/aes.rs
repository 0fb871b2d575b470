//! The library's AES generator as a kernel: the blocks of a random stream, bit-sliced, at any place.
//!
//! Block n is the cipher of the number n, little-endian, as [`crossgrain::stream`] has it. A column of a block is one of its numbers, and
//! bit 8 · row + i of it is that bit of a row. Steps are those of the library's other kernels; ShiftRows is a choice of names. As there,
//! the constant of the S-boxes is in the round keys.
//! Source: FIPS 197. Holds: keys are state, in no program's text, and wiped when the kernel is dropped.

use std::fmt;

use crossgrain::internal::circuit::{Bits, aes_linear, aes_sbox};
use crossgrain::internal::device::{Kernel, Task};
use crossgrain::internal::word::Lanes;
use crossgrain::{Cipher, Key};
use zeroize::Zeroizing;

use super::kernel::BitLoop;
use crate::Error;

/// The blocks of a random stream of AES: of index i, block `first + i`.
///
/// ```
/// use crossgrain::stream::{Seed, Stream};
/// use crossgrain::Cipher;
/// use crossgrain_gpu::parallel::{AesBlocks, Loop, Policy, generate};
///
/// let key = Seed::new(42).key(Cipher::Aes128);
/// let place = Policy::Auto.open()?;
/// let blocks = generate(&Loop(AesBlocks::new(&key, 5)?), &place, 100)?.to_vec()?;
/// let mut same = [0; 4];
/// Stream::new(&key)?.fill_bytes_at(16 * (5 + 99), &mut same);
/// assert_eq!(blocks[99][0], u32::from_le_bytes(same));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct AesBlocks {
    first: u128,
    /// A word of equal bits for each bit of each round key.
    keys: Zeroizing<Vec<u32>>,
    rounds: usize,
}

/// A block's four columns.
type State<W> = [[W; 32]; 4];

impl AesBlocks {
    /// The stream of this key from a block on.
    ///
    /// # Errors
    /// If the key is not one of AES.
    pub fn new(key: &Key, first: u128) -> Result<Self, Error> {
        let cipher = key.cipher();
        if cipher.family() != Cipher::Aes128.family() {
            return Err(Error::Key);
        }
        let keys = Kernel::gates(cipher.family(), Task::Generate).keys(key);
        Ok(Self { first, keys, rounds: cipher.rounds() })
    }

    /// A state and the key of a round.
    #[inline(always)]
    fn keyed<W: Lanes>(&self, round: usize, mut state: State<W>) -> State<W> {
        let key = &self.keys[128 * round..][..128];
        for (column, key) in state.iter_mut().zip(key.as_chunks::<32>().0) {
            for (bit, &key) in column.iter_mut().zip(key) {
                *bit = *bit ^ bit.uniform(key);
            }
        }
        state
    }
}

/// SubBytes and ShiftRows: a column's rows.
#[inline(always)]
fn substituted<W: Lanes>(state: &State<W>, column: usize) -> [Bits<W>; 4] {
    let mut rows = [[state[0][0]; 8]; 4];
    for (row, bits) in rows.iter_mut().enumerate() {
        bits.copy_from_slice(&state[(column + row) % 4][8 * row..][..8]);
        *bits = aes_sbox::forward(*bits);
    }
    rows
}

impl BitLoop<1, 4> for AesBlocks {
    fn rounds(&self) -> usize {
        self.rounds - 1
    }

    /// The counter, and the first key.
    #[inline(always)]
    fn first<W: Lanes>(&self, [index]: [[W; 32]; 1]) -> State<W> {
        let zero = index[0].zero();
        let (mut state, mut carry) = ([[zero; 32]; 4], zero);
        for (at, sum) in state.as_flattened_mut().iter_mut().enumerate() {
            let first = zero.uniform(0_u32.wrapping_sub((self.first >> at) as u32 & 1));
            let index = if at < 32 { index[at] } else { zero };
            *sum = first ^ index ^ carry;
            carry = W::ternary::<0b1110_1000>(first, index, carry);
        }
        self.keyed(0, state)
    }

    #[inline(always)]
    fn round<W: Lanes>(&self, number: usize, state: State<W>) -> State<W> {
        let mut next = state;
        for (at, column) in next.iter_mut().enumerate() {
            let mixed = aes_linear::mix_column(substituted(&state, at));
            column.copy_from_slice(mixed.as_flattened());
        }
        self.keyed(number + 1, next)
    }

    #[inline(always)]
    fn last<W: Lanes>(&self, state: State<W>) -> State<W> {
        let mut next = state;
        for (at, column) in next.iter_mut().enumerate() {
            column.copy_from_slice(substituted(&state, at).as_flattened());
        }
        self.keyed(self.rounds, next)
    }
}

impl fmt::Debug for AesBlocks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "AesBlocks({} rounds, secret)", self.rounds)
    }
}
