//! Transposition by byte interleaving: two instructions per pair of words instead of four to six.
//!
//! In a 128-bit part the index is (p3 p2 p1 p0 | i2 i1 i0): byte, then bit. Layers 0 to 2 exchange the low
//! word bits with i, by shifts and masks as in the plain network. The four byte layers are four rotations (w;
//! p3 p2 p1 p0) → (p3; p2 p1 p0 w), with word bits 6, 5, 4, 3 as w. After four rotations every p is a word
//! bit, and the word bits are where the exchanges would have moved them.
//! Source: punpcklbw matrix transposition, folklore.

use super::network::exchange_low;
use super::{Reader, Transpose, Writer, pair_of};
use crate::arch::{ByteLanes, TILE_WORDS, each, unrolled};

/// Byte layers by interleaving, bit layers by shifts and masks.
#[derive(Debug)]
pub struct Interleave;

impl<W: ByteLanes> Transpose<W> for Interleave {
    const NAME: &'static str = "interleave";

    #[inline(always)]
    fn transpose(
        isa: W::Isa,
        scratch: &mut [W; TILE_WORDS],
        read: impl Reader<W>,
        mut write: impl Writer<W>,
    ) {
        for low in (0..TILE_WORDS).step_by(8) {
            let mut group: [W; 8] = each!(i < 8 => read.read(low + i));
            exchange_low(isa, &mut group);
            scratch[low..][..8].copy_from_slice(&group);
        }
        for low in 0..8 {
            let mut group: [W; 16] = each!(i < 16 => scratch[8 * i + low]);
            interleave_high(&mut group);
            for (i, word) in group.into_iter().enumerate() {
                write.write(8 * i + low, word);
            }
        }
    }
}

/// Rotates word bits 3, 2, 1, 0 of the group, in this order, through the byte index.
#[inline(always)]
pub(super) fn interleave_high<W: ByteLanes>(group: &mut [W; 16]) {
    interleave_layer(group, 3);
    interleave_layer(group, 2);
    interleave_layer(group, 1);
    interleave_layer(group, 0);
}

/// One rotation with bit `word_bit` of the index in `group`.
#[inline(always)]
fn interleave_layer<W: ByteLanes>(group: &mut [W; 16], word_bit: u32) {
    unrolled!(pair in [0 1 2 3 4 5 6 7] {
        let (i, j) = pair_of(pair, word_bit);
        (group[i], group[j]) = W::interleave(group[i], group[j]);
    });
}
