//! Common code of the random-stream kernels: round keys, the counter, and the first key addition.
//!
//! Block n is the encryption of the number n, little-endian, as in [`crossgrain::stream`]. Bits are in
//! order, starting with those of a block's first number. Keys are program state: they are in no program's
//! text, and are wiped when the kernel is dropped.

use crossgrain::engine::arch::Lanes;
use crossgrain::engine::device::{Form, Kernel, Task};
use crossgrain::{Cipher, Key};
use zeroize::Zeroizing;

use crate::Error;

/// The four numbers of a block, as bits.
pub(super) type State<W> = [[W; 32]; 4];

/// The key and start of a stream.
pub(super) struct Blocks {
    /// One word per bit, with all bits equal, for the first block's number and for each round key.
    first: Zeroizing<Vec<u32>>,
    keys: Zeroizing<Vec<u32>>,
}

impl Blocks {
    /// The stream of `key` from block `first`. The key must be of the same family as `cipher`.
    pub(super) fn new(cipher: Cipher, key: &Key, first: u128) -> Result<Self, Error> {
        let family = cipher.family();
        if key.cipher().family() != family {
            return Err(Error::Key);
        }
        let keys = Kernel { family, task: Task::Generate, form: Form::Bits }.keys(key);
        Ok(Self { first: spread(first), keys })
    }

    /// The words of a round key, number by number.
    #[inline(always)]
    pub(super) fn key(&self, round: usize) -> &[[u32; 32]] {
        self.keys[128 * round..][..128].as_chunks().0
    }

    /// Adds a round key.
    #[inline(always)]
    pub(super) fn add_key<W: Lanes>(&self, round: usize, state: &mut State<W>) {
        for (bit, &key) in state.as_flattened_mut().iter_mut().zip(self.key(round).as_flattened()) {
            *bit = *bit ^ bit.uniform(key);
        }
    }

    /// Adds `first` to the index, which gives the blocks' numbers, and adds the first round key.
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

/// One word per bit of a number, with all bits equal.
fn spread(number: u128) -> Zeroizing<Vec<u32>> {
    Zeroizing::new((0..128).map(|at| 0_u32.wrapping_sub((number >> at) as u32 & 1)).collect())
}
