//! XOR of blocks: of two, and of a whole buffer, as in OCB's checksum.
//!
//! The widest available registers are used.
//! Source: RFC 7253 §4.2, the checksum.

use crate::arch::{Features, Isa, Kernel, Register, for_each_register};
use crate::block::{BLOCK_BYTES, Block};

/// The sum of two blocks.
#[inline(always)]
pub(crate) fn sum(a: Block, b: Block) -> Block {
    (u128::from_ne_bytes(a) ^ u128::from_ne_bytes(b)).to_ne_bytes()
}

/// Registers that accumulate side by side.
const SIDE_BY_SIDE: usize = 4;

/// Bytes in the widest register of any machine.
const LANES_BYTES: usize = 64;

/// The sum of whole blocks.
pub(crate) fn total(features: Features, blocks: &[u8]) -> Block {
    let stride_bytes = SIDE_BY_SIDE * LANES_BYTES;
    let (strides, rest) = blocks.split_at(blocks.len() / stride_bytes * stride_bytes);
    let sum = added(0, rest);
    if strides.is_empty() {
        return sum.to_le_bytes();
    }
    for_each_register!(all_from_widest, W => {
        if let Some(isa) = <W as Register>::Isa::detect(features) {
            return added(sum, &isa.enter(Total::<W> { isa, strides })).to_le_bytes();
        }
    });
    added(sum, strides).to_le_bytes()
}

/// Adds some blocks to a sum; blocks are little-endian numbers.
fn added(sum: u128, blocks: &[u8]) -> u128 {
    blocks.as_chunks::<BLOCK_BYTES>().0.iter().fold(sum, |sum, block| sum ^ u128::from_le_bytes(*block))
}

/// Adds up blocks lane by lane: each block goes to the lane at its position in a register.
struct Total<'a, W: Register> {
    isa: W::Isa,
    strides: &'a [u8],
}

impl<W: Register> Kernel for Total<'_, W> {
    type Output = [u8; LANES_BYTES];

    #[inline(always)]
    fn run(self) -> [u8; LANES_BYTES] {
        let Self { isa, strides } = self;
        let mut sums = [W::splat(isa, 0); SIDE_BY_SIDE];
        for stride in strides.chunks_exact(SIDE_BY_SIDE * W::BYTES) {
            for (i, sum) in sums.iter_mut().enumerate() {
                *sum = *sum ^ W::load(isa, &stride[i * W::BYTES..][..W::BYTES]);
            }
        }
        let mut lanes = [0; LANES_BYTES];
        let [a, b, c, d] = sums;
        ((a ^ b) ^ (c ^ d)).store(&mut lanes[..W::BYTES]);
        lanes
    }
}
