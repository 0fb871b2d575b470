//! crossgrain's AES generator as a kernel: the blocks of a random stream, bit-sliced, at any place.
//!
//! Number c of a block is its column c, and bit 8 · row + i of the number is bit i of that row's byte.
//! ShiftRows only renumbers words. As in the other bit-sliced kernels, the round keys include the constant
//! of the S-box.
//!
//! Source: FIPS 197. Keys are program state: they are in no program's text, and are wiped when the kernel
//! is dropped.

use std::fmt;

use crossgrain::engine::arch::Lanes;
use crossgrain::engine::cipher::aes::linear_circuit::{mix_bit, neighbours};
use crossgrain::engine::circuit::aes_sbox;
use crossgrain::{Cipher, Key};

use super::blocks::{Blocks, State};
use super::kernel::BitLoop;
use crate::Error;

/// The blocks of a random AES stream. Index i gives block `first + i`.
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
    blocks: Blocks,
    rounds: usize,
}

impl AesBlocks {
    /// The stream of this key, from block `first`.
    ///
    /// # Errors
    /// If it is not an AES key.
    pub fn new(key: &Key, first: u128) -> Result<Self, Error> {
        Ok(Self { blocks: Blocks::new(Cipher::Aes128, key, first)?, rounds: key.cipher().rounds() })
    }
}

/// SubBytes and ShiftRows, byte by byte.
#[inline(always)]
fn substituted<W: Lanes>(state: &State<W>, next: &mut State<W>) {
    let next = next.as_flattened_mut().as_chunks_mut().0;
    for (at, byte) in state.as_flattened().as_chunks().0.iter().enumerate() {
        next[(at + 16 - 4 * (at % 4)) % 16] = aes_sbox::forward(*byte);
    }
}

/// One bit of the four rows of a column.
#[inline(always)]
fn rows<W: Lanes>(column: &[W; 32], bit: usize) -> [W; 4] {
    [column[bit], column[8 + bit], column[16 + bit], column[24 + bit]]
}

impl BitLoop<1, 4> for AesBlocks {
    fn rounds(&self) -> usize {
        self.rounds - 1
    }

    #[inline(always)]
    fn first<W: Lanes>(&self, [index]: &[[W; 32]; 1], state: &mut State<W>) {
        self.blocks.begin(index, state);
    }

    #[inline(always)]
    fn round<W: Lanes>(&self, number: usize, state: &State<W>, next: &mut State<W>) {
        substituted(state, next);
        for (column, key) in next.iter_mut().zip(self.blocks.key(number + 1)) {
            let top = neighbours(rows(column, 7));
            let mut below = top;
            for bit in 0..8 {
                let (a, same) = (rows(column, bit), neighbours(rows(column, bit)));
                for (row, mixed) in mix_bit(bit, a, same, below, top).into_iter().enumerate() {
                    column[8 * row + bit] = mixed ^ mixed.uniform(key[8 * row + bit]);
                }
                below = same;
            }
        }
    }

    #[inline(always)]
    fn last<W: Lanes>(&self, state: &State<W>, made: &mut State<W>) {
        substituted(state, made);
        self.blocks.add_key(self.rounds, made);
    }
}

impl fmt::Debug for AesBlocks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "AesBlocks({} rounds, secret)", self.rounds)
    }
}
