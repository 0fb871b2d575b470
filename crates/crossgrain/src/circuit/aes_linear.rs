//! MixColumns and its inverse on one column, as XORs of bit slices.
//!
//! A column is four bytes of eight words. With uᵢ = aᵢ ⊕ aᵢ₊₁ (indices modulo 4),
//! MixColumns is bᵢ = 2·uᵢ ⊕ aᵢ₊₁ ⊕ uᵢ₊₂: 108 two-input gates, of which 32 pairs have the shape
//! x ⊕ y ⊕ z that one three-input gate takes. Fewer are known (92, Maximov 2019, as one long program);
//! with three-input gates and AddRoundKey this form takes 92, as many as the best published, and it can be
//! walked bit by bit with sixteen words alive, which none of the shorter ones can.
//! Source: FIPS 197 §5.1.3 and §5.3.3; the factorisation of the inverse from the Rijndael submission.

use super::Bits;
use crate::word::{Word, each};

/// Multiplication by x in GF(2⁸): three gates, the rest is renaming.
#[inline(always)]
pub(crate) fn double<W: Word>(a: Bits<W>) -> Bits<W> {
    let [a0, a1, a2, a3, a4, a5, a6, a7] = a;
    [a7, a0 ^ a7, a1, a2 ^ a7, a3 ^ a7, a4, a5, a6]
}

#[inline(always)]
pub(crate) fn add<W: Word>(a: Bits<W>, b: Bits<W>) -> Bits<W> {
    each!(i < 8 => a[i] ^ b[i])
}

/// Sums of neighbouring rows: uᵢ of one bit.
#[inline(always)]
pub fn neighbours<W: Word>(a: [W; 4]) -> [W; 4] {
    each!(row < 4 => a[row] ^ a[(row + 1) % 4])
}

/// Bit `bit` of a column after MixColumns, from that bit `a` of its rows and three of their
/// `neighbours`: of the same bit, of the bit below (of bit 7 for bit 0), and of bit 7.
#[inline(always)]
pub fn mix_bit<W: Word>(bit: usize, a: [W; 4], same: [W; 4], below: [W; 4], top: [W; 4]) -> [W; 4] {
    // Doubling moves each bit up one place, and bit 7 to the places of 0x1b.
    let doubled = if matches!(bit, 1 | 3 | 4) { each!(row < 4 => below[row] ^ top[row]) } else { below };
    if bit == 5 {
        // In this order the sum of three rows is one gate of three inputs, and `same` may be left out.
        each!(row < 4 => doubled[row] ^ (a[(row + 1) % 4] ^ same[(row + 2) % 4]))
    } else {
        each!(row < 4 => doubled[row] ^ a[(row + 1) % 4] ^ same[(row + 2) % 4])
    }
}

/// MixColumns on one column.
#[inline(always)]
pub fn mix_column<W: Word>(a: [Bits<W>; 4]) -> [Bits<W>; 4] {
    let mut mixed = a;
    let top = neighbours(each!(row < 4 => a[row][7]));
    let mut below = top;
    for bit in 0..8 {
        let rows = each!(row < 4 => a[row][bit]);
        let same = neighbours(rows);
        let bits = mix_bit(bit, rows, same, below, top);
        for row in 0..4 {
            mixed[row][bit] = bits[row];
        }
        below = same;
    }
    mixed
}

/// InvMixColumns on one column: MixColumns after adding 4·(a₀ ⊕ a₂) to bytes 0 and 2 and
/// 4·(a₁ ⊕ a₃) to bytes 1 and 3.
#[inline(always)]
pub fn inv_mix_column<W: Word>(a: [Bits<W>; 4]) -> [Bits<W>; 4] {
    let even = double(double(add(a[0], a[2])));
    let odd = double(double(add(a[1], a[3])));
    mix_column([add(a[0], even), add(a[1], odd), add(a[2], even), add(a[3], odd)])
}
