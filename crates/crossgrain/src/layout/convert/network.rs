//! The transposition network for any word: seven layers, or (n/2)·log₂ n exchanges of two words.
//!
//! Layer k exchanges bit k of the word index with bit k of the index inside the word, on 64 pairs of words. A
//! register of 128 bits or more transposes one 128 × 128 matrix per 128-bit part. Words of 64 and 32 bits
//! hold a half and a quarter of a block: they transpose 2 and 4 square matrices with 6 and 5 layers.
//!
//! The network makes two passes over memory: layers 0 to 2 on eight consecutive words, the rest on up to
//! sixteen.
//! Source: delta swaps, Knuth, TAOCP 4A §7.1.3.

use super::{Reader, Transpose, Writer, matrices, pair_of};
use crate::arch::{Lanes, Register, Shift, TILE_WORDS, clear_positions, each, unrolled};

/// The plain network of shifts and masks.
#[derive(Debug)]
pub struct Network;

impl<W: Register> Transpose<W> for Network {
    const NAME: &'static str = "";

    #[inline(always)]
    fn transpose(
        isa: W::Isa,
        scratch: &mut [W; TILE_WORDS],
        read: impl Reader<W>,
        mut write: impl Writer<W>,
    ) {
        let matrices = matrices::<W>();
        let side = TILE_WORDS / matrices;
        for matrix in 0..matrices {
            for low in (0..side).step_by(8) {
                let mut group: [W; 8] = each!(i < 8 => read.read(matrix * side + low + i));
                exchange_low(isa, &mut group);
                for (i, word) in group.into_iter().enumerate() {
                    scratch[matrix * side + low + i] = word;
                }
            }
        }
        for matrix in 0..matrices {
            for low in 0..8 {
                let mut group: [W; 16] = each!(i < 16 => scratch[matrix * side + (8 * i) % side + low]);
                exchange_layer::<W, 3>(isa, &mut group[..side / 8], 0);
                exchange_layer::<W, 4>(isa, &mut group[..side / 8], 1);
                if W::BITS >= 64 {
                    exchange_layer::<W, 5>(isa, &mut group[..side / 8], 2);
                }
                if W::BITS >= 128 {
                    exchange_halves(&mut group);
                }
                for (i, word) in group.into_iter().take(side / 8).enumerate() {
                    write.write(matrix * side + 8 * i + low, word);
                }
            }
        }
    }
}

/// All layers on 32 words: in every 32-bit lane, bit b of word w becomes bit w of word b. To keep few words
/// live, it processes groups of eight consecutive words, then groups of four.
#[inline(always)]
pub fn transpose_square<W: Shift + Lanes>(words: &mut [W; 32]) {
    unrolled!(low in [0 8 16 24] {
        let mut group: [W; 8] = each!(i < 8 => words[low + i]);
        square_layer::<W, 0, 8>(&mut group, 0);
        square_layer::<W, 1, 8>(&mut group, 1);
        square_layer::<W, 2, 8>(&mut group, 2);
        words[low..low + 8].copy_from_slice(&group);
    });
    unrolled!(low in [0 1 2 3 4 5 6 7] {
        let mut group: [W; 4] = each!(i < 4 => words[8 * i + low]);
        square_layer::<W, 3, 4>(&mut group, 0);
        square_layer::<W, 4, 4>(&mut group, 1);
        [words[low], words[8 + low], words[16 + low], words[24 + low]] = group;
    });
}

/// The masks move no bit from one 32-bit lane to another, so the width of the shifts does not matter.
#[inline(always)]
fn square_layer<W: Shift + Lanes, const BIT: u32, const WORDS: usize>(group: &mut [W; WORDS], word_bit: u32) {
    let mask = group[0].filled(clear_positions(BIT) as u32);
    unrolled!(pair in [0 1 2 3] {
        if pair < WORDS / 2 {
            let (i, j) = pair_of(pair, word_bit);
            (group[i], group[j]) = group[i].exchange::<BIT>(group[j], mask);
        }
    });
}

/// Layers 0 to 2 on eight words.
#[inline(always)]
pub(super) fn exchange_low<W: Register>(isa: W::Isa, group: &mut [W; 8]) {
    exchange_layer::<W, 0>(isa, group, 0);
    exchange_layer::<W, 1>(isa, group, 1);
    exchange_layer::<W, 2>(isa, group, 2);
}

/// Exchanges index bit `BIT` inside the words with bit `word_bit` of the index in `group`.
#[inline(always)]
fn exchange_layer<W: Register, const BIT: u32>(isa: W::Isa, group: &mut [W], word_bit: u32) {
    let mask = W::splat(isa, clear_positions(BIT));
    unrolled!(pair in [0 1 2 3 4 5 6 7] {
        if pair < group.len() / 2 {
            let (i, j) = pair_of(pair, word_bit);
            (group[i], group[j]) = group[i].exchange::<BIT>(group[j], mask);
        }
    });
}

#[inline(always)]
fn exchange_halves<W: Register>(group: &mut [W; 16]) {
    unrolled!(i in [0 1 2 3 4 5 6 7] {
        (group[i], group[i + 8]) = W::exchange_halves(group[i], group[i + 8]);
    });
}
