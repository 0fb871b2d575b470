//! Transposition by byte interleaving and 8 × 8 bit matrices (GFNI), without shifts and masks.
//!
//! Three rotations move word bits 2, 1, 0 into the byte index: (p0 w2 w1 w0 | i2 i1 i0). Byte bits p3 p2 p1
//! take their places. The matrix instruction exchanges the low three byte bits with the bit index: (p0 i2 i1
//! i0 | w2 w1 w0). Four rotations with word bits 6 to 3 then move p0 i2 i1 i0 into the word index. So word
//! index (w6 … w0) ends as (p0 i2 i1 i0 p3 p2 p1), which the write corrects by renaming. The instruction
//! reverses the order of rows, so the first three rotations take their inputs in reverse order too.

use super::interleave::interleave_high;
use super::{Reader, Transpose, Writer, pair_of};
use crate::arch::{BitMatrices, TILE_WORDS, each, unrolled};

/// Byte layers by interleaving, bit layers by matrices.
#[derive(Debug)]
pub struct Matrices;

impl<W: BitMatrices> Transpose<W> for Matrices {
    const NAME: &'static str = "matrices";

    #[inline(always)]
    fn transpose(
        _isa: W::Isa,
        scratch: &mut [W; TILE_WORDS],
        read: impl Reader<W>,
        mut write: impl Writer<W>,
    ) {
        for low in (0..TILE_WORDS).step_by(8) {
            let mut group: [W; 8] = each!(i < 8 => read.read(low + i));
            interleave_backwards(&mut group, 2);
            interleave_backwards(&mut group, 1);
            interleave_backwards(&mut group, 0);
            for (i, word) in group.into_iter().enumerate() {
                scratch[low + i] = word.transpose_8x8_reversed();
            }
        }
        for low in 0..8 {
            let mut group: [W; 16] = each!(i < 16 => scratch[8 * i + low]);
            interleave_high(&mut group);
            for (i, word) in group.into_iter().enumerate() {
                // i = (p0 i2 i1 i0), low = (p3 p2 p1).
                write.write((low << 1 | i >> 3) << 3 | i & 7, word);
            }
        }
    }
}

/// As `interleave_layer`, with the word bit complemented on its way into the byte index.
#[inline(always)]
fn interleave_backwards<W: BitMatrices>(group: &mut [W; 8], word_bit: u32) {
    unrolled!(pair in [0 1 2 3] {
        let (i, j) = pair_of(pair, word_bit);
        (group[i], group[j]) = W::interleave(group[j], group[i]);
    });
}
