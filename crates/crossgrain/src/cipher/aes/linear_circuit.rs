//! MixColumns and its inverse on one column, as XORs of bit slices.
//!
//! A column is four bytes of eight words. With uᵢ = aᵢ ⊕ aᵢ₊₁ (indices modulo 4), MixColumns is bᵢ = 2·uᵢ ⊕
//! aᵢ₊₁ ⊕ uᵢ₊₂: 108 two-input gates. 32 pairs of these gates have the form x ⊕ y ⊕ z and become one
//! three-input gate each. A circuit of 92 two-input gates is known (Maximov 2019), as one long program. With
//! three-input gates and AddRoundKey the form here takes 92 gates, equal to the best published. It can also
//! be computed bit by bit with sixteen live words; none of the shorter circuits can.
//! Source: FIPS 197 §5.1.3 and §5.3.3; the factorisation of the inverse from the Rijndael submission.

use crate::arch::{Word, each};
use crate::circuit::Bits;

/// Multiplication by x in GF(2⁸): three gates; the rest is renaming.
#[inline(always)]
pub(crate) fn double<W: Word>(a: Bits<W>) -> Bits<W> {
    let [a0, a1, a2, a3, a4, a5, a6, a7] = a;
    [a7, a0 ^ a7, a1, a2 ^ a7, a3 ^ a7, a4, a5, a6]
}

#[inline(always)]
pub(crate) fn add<W: Word>(a: Bits<W>, b: Bits<W>) -> Bits<W> {
    each!(i < 8 => a[i] ^ b[i])
}

/// XORs of neighbouring rows: uᵢ of one bit.
#[inline(always)]
pub fn neighbours<W: Word>(a: [W; 4]) -> [W; 4] {
    each!(row < 4 => a[row] ^ a[(row + 1) % 4])
}

/// Bit `bit` of a column after MixColumns. `a` is this bit of the four rows. The other arguments are
/// `neighbours` of the same bit, of the bit below (of bit 7 for bit 0), and of bit 7.
#[inline(always)]
pub fn mix_bit<W: Word>(bit: usize, a: [W; 4], same: [W; 4], below: [W; 4], top: [W; 4]) -> [W; 4] {
    // Doubling shifts each bit up one place and adds bit 7 at the places of 0x1b.
    let doubled = if matches!(bit, 1 | 3 | 4) { each!(row < 4 => below[row] ^ top[row]) } else { below };
    if bit == 5 {
        // In this order, the XOR of three rows is one three-input gate, and `same` need not be computed.
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

/// InvMixColumns on one column: MixColumns after adding 4·(a₀ ⊕ a₂) to bytes 0 and 2 and 4·(a₁ ⊕ a₃) to bytes
/// 1 and 3.
#[inline(always)]
pub fn inv_mix_column<W: Word>(a: [Bits<W>; 4]) -> [Bits<W>; 4] {
    let even = double(double(add(a[0], a[2])));
    let odd = double(double(add(a[1], a[3])));
    mix_column([add(a[0], even), add(a[1], odd), add(a[2], even), add(a[3], odd)])
}
