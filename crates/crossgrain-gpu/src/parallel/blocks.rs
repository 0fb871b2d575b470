//! What the kernels of random streams have in common: round keys, a counter, and how they begin.
//!
//! Block n is the cipher of the number n, little-endian, as [`crossgrain::stream`] has it. Bits lie in order: those of a block's first number, and so on.
//! Holds: keys are state, in no program's text, and wiped when the kernel is dropped.

use crossgrain::internal::device::{Form, Kernel, Task};
use crossgrain::internal::word::Lanes;
use crossgrain::{Cipher, Key};
use zeroize::Zeroizing;

use crate::Error;

/// A block's four numbers on bits.
pub(super) type State<W> = [[W; 32]; 4];

/// What a stream is made of.
pub(super) struct Blocks {
    /// A word of equal bits for each bit of the first block's number, and of each round key.
    first: Zeroizing<Vec<u32>>,
    keys: Zeroizing<Vec<u32>>,
}

impl Blocks {
    /// The stream of a key, if its cipher is of the family of another, from a block on.
    pub(super) fn new(cipher: Cipher, key: &Key, first: u128) -> Result<Self, Error> {
        let family = cipher.family();
        if key.cipher().family() != family {
            return Err(Error::Key);
        }
        let keys = Kernel { family, task: Task::Generate, form: Form::Bits }.keys(key);
        Ok(Self { first: spread(first), keys })
    }

    /// The words of a round's key, which are those of each number.
    #[inline(always)]
    pub(super) fn key(&self, round: usize) -> &[[u32; 32]] {
        self.keys[128 * round..][..128].as_chunks().0
    }

    /// Adds a round's key.
    #[inline(always)]
    pub(super) fn add_key<W: Lanes>(&self, round: usize, state: &mut State<W>) {
        for (bit, &key) in state.as_flattened_mut().iter_mut().zip(self.key(round).as_flattened()) {
            *bit = *bit ^ bit.uniform(key);
        }
    }

    /// The blocks' numbers, and the first key.
    #[inline(always)]
    pub(super) fn begin<W: Lanes>(&self, index: &[W; 32], state: &mut State<W>) {
        let zero = index[0].zero();
        let mut carry = zero;
        for (at, sum) in state.as_flattened_mut().iter_mut().enumerate() {
            let first = zero.uniform(self.first[at]);
            let index = if at < 32 { index[at] } else { zero };
            *sum = first ^ index ^ carry;
            carry = W::ternary::<0b1110_1000>(first, index, carry);
        }
        self.add_key(0, state);
    }
}

/// A word of equal bits for each bit of a number.
fn spread(number: u128) -> Zeroizing<Vec<u32>> {
    Zeroizing::new((0..128).map(|at| 0_u32.wrapping_sub((number >> at) as u32 & 1)).collect())
}
