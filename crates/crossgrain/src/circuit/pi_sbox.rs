//! π, the S-box of Kuznyechik and of the hash function Streebog, and its inverse, by gates.
//!
//! Between two linear maps α and ω, π computes with nibbles, four bits each:
//!
//! ```text
//! l, r = α(x)
//! m = ν₁(l · I(r)), or ν₀(l) if r = 0
//! π(x) = ω(m, σ(r · φ(m)))
//! ```
//!
//! Products are those of GF(2⁴) modulo x⁴ + x³ + 1, and I(r) is 1/r, with I(0) = 0. The other functions are small
//! tables. Because φ is never 0, the steps can be undone:
//!
//! ```text
//! m, s = ω⁻¹(y)
//! r = σ⁻¹(s) · I(φ(m))
//! l = ν₁⁻¹(m) · r, or ν₀⁻¹(m) if r = 0
//! π⁻¹(y) = α⁻¹(l, r)
//! ```
//!
//! Each function of a nibble is a sum of products of its bits (its algebraic normal form). π takes 253 gates of two
//! inputs and its inverse 186. Sums of minterms of the whole table take about 1,300.
//!
//! Source: the structure is from Biryukov, Perrin and Udovenko, "Reverse-Engineering the S-Box of Streebog, Kuznyechik
//! and STRIBOBr1" (Eurocrypt 2016).
//! Invariant: equal to the table on all 256 inputs in every lane (`tests/laws.rs`).

use super::Bits;
use super::affine::Affine;
use crate::arch::{Word, unrolled, written_out};

/// One of the two permutations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Permutation {
    /// π.
    Pi,
    /// The inverse of π.
    Inverse,
}

/// The gates of π, to estimate costs.
pub const GATES: u32 = 253;

/// A nibble, least significant bit first.
type Nibble<W> = [W; 4];

/// A function of a nibble.
type Table = [u8; 16];

/// α, by the images of the bits. l is the high nibble.
const ALPHA: Affine = linear([0x70, 0x3a, 0x14, 0x9a, 0x02, 0x11, 0x74, 0x18]);
/// ω. m is the high nibble.
const OMEGA: Affine = linear([0x01, 0x92, 0x44, 0x98, 0x10, 0x20, 0x04, 0x12]);

const fn linear(matrix: [u8; 8]) -> Affine {
    Affine { matrix, constant: 0 }
}

/// The inverse of α or ω.
const fn undone(map: &Affine) -> Affine {
    let Some(inverse) = map.inverse() else { panic!("both maps are permutations") };
    inverse
}

const NU_0: Table = [2, 5, 3, 11, 6, 9, 14, 10, 0, 4, 15, 1, 8, 13, 12, 7];
const NU_1: Table = [7, 6, 12, 9, 0, 15, 8, 1, 4, 5, 11, 14, 13, 2, 3, 10];
const PHI: Table = [11, 2, 11, 8, 12, 4, 1, 12, 6, 3, 5, 8, 14, 3, 6, 11];
const SIGMA: Table = [12, 13, 0, 4, 8, 11, 10, 14, 3, 9, 5, 2, 15, 1, 6, 7];

/// I.
const INVERSE: Table = {
    let (mut inverse, mut a) = ([0; 16], 1);
    while a < 16 {
        let mut b = 1;
        while product(a, b) != 1 {
            b += 1;
        }
        inverse[a as usize] = b;
        a += 1;
    }
    inverse
};

/// A product in GF(2⁴).
const fn product(a: u8, b: u8) -> u8 {
    let (mut sum, mut multiple, mut bit) = (0, a, 0);
    while bit < 4 {
        if b >> bit & 1 == 1 {
            sum ^= multiple;
        }
        multiple = (multiple << 1) ^ ((multiple >> 3) * 0b11001);
        bit += 1;
    }
    sum
}

/// The inverse of a permutation.
const fn inverted(table: &Table) -> Table {
    let (mut inverse, mut x) = ([0; 16], 0);
    while x < 16 {
        inverse[table[x] as usize] = x as u8;
        x += 1;
    }
    inverse
}

/// A table after another.
const fn after(second: &Table, first: &Table) -> Table {
    let (mut table, mut x) = ([0; 16], 0);
    while x < 16 {
        table[x] = second[first[x] as usize];
        x += 1;
    }
    table
}

/// Which of the two permutations a table is.
pub const fn recognised(table: &[u8; 256]) -> Option<Permutation> {
    let (mut is_pi, mut is_inverse, mut x) = (true, true, 0);
    while x < 256 {
        let y = pi(x as u8);
        is_pi &= table[x] == y;
        is_inverse &= table[y as usize] == x as u8;
        x += 1;
    }
    match (is_pi, is_inverse) {
        (true, _) => Some(Permutation::Pi),
        (_, true) => Some(Permutation::Inverse),
        _ => None,
    }
}

/// π of a constant.
const fn pi(x: u8) -> u8 {
    let (l, r) = (ALPHA.apply(x) >> 4, ALPHA.apply(x) & 15);
    let m = if r == 0 { NU_0[l as usize] } else { NU_1[product(l, INVERSE[r as usize]) as usize] };
    OMEGA.apply(m << 4 | SIGMA[product(r, PHI[m as usize]) as usize])
}

/// One of the permutations by gates.
#[inline(always)]
pub fn gates<W: Word>(permutation: Permutation, x: Bits<W>) -> Bits<W> {
    match permutation {
        Permutation::Pi => forward(x),
        Permutation::Inverse => inverse(x),
    }
}

#[inline(always)]
fn forward<W: Word>(x: Bits<W>) -> Bits<W> {
    let (r, l) = nibbles(ALPHA.gates(x));
    let m = function(const { &form_of(&NU_1, 0) }, multiply(l, function(const { &form_of(&INVERSE, 0) }, r)));
    // If r is 0, the product is 0, so ν₁(0) is already in m.
    let m = add_if_zero(r, m, function(const { &form_of(&NU_0, NU_1[0]) }, l));
    let s = function(const { &form_of(&SIGMA, 0) }, multiply(r, function(const { &form_of(&PHI, 0) }, m)));
    OMEGA.gates(byte(s, m))
}

#[inline(always)]
fn inverse<W: Word>(y: Bits<W>) -> Bits<W> {
    let (s, m) = nibbles(const { undone(&OMEGA) }.gates(y));
    let quotient = function(const { &form_of(&after(&INVERSE, &PHI), 0) }, m);
    let r = multiply(function(const { &form_of(&inverted(&SIGMA), 0) }, s), quotient);
    let l = multiply(function(const { &form_of(&inverted(&NU_1), 0) }, m), r);
    // If r is 0, the product is 0.
    let l = add_if_zero(r, l, function(const { &form_of(&inverted(&NU_0), 0) }, m));
    const { undone(&ALPHA) }.gates(byte(r, l))
}

/// The low and the high nibble of a byte.
#[inline(always)]
fn nibbles<W: Word>([a, b, c, d, e, f, g, h]: Bits<W>) -> (Nibble<W>, Nibble<W>) {
    ([a, b, c, d], [e, f, g, h])
}

/// A byte of two nibbles.
#[inline(always)]
fn byte<W: Word>([a, b, c, d]: Nibble<W>, [e, f, g, h]: Nibble<W>) -> Bits<W> {
    [a, b, c, d, e, f, g, h]
}

/// Adds `sum` to `to` in the lanes where `r` is 0.
#[inline(always)]
fn add_if_zero<W: Word>([a, b, c, d]: Nibble<W>, to: Nibble<W>, sum: Nibble<W>) -> Nibble<W> {
    let is_zero = !a & !b & !c & !d;
    written_out!(bit < 4 => to[bit] ^ (is_zero & sum[bit]))
}

/// The product in GF(2⁴): that of polynomials, with x⁴ = x³ + 1, x⁵ = x³ + x + 1 and x⁶ = x³ + x² + x + 1.
#[inline(always)]
fn multiply<W: Word>(a: Nibble<W>, b: Nibble<W>) -> Nibble<W> {
    let c0 = a[0] & b[0];
    let c1 = (a[0] & b[1]) ^ (a[1] & b[0]);
    let c2 = (a[0] & b[2]) ^ (a[1] & b[1]) ^ (a[2] & b[0]);
    let c3 = (a[0] & b[3]) ^ (a[1] & b[2]) ^ (a[2] & b[1]) ^ (a[3] & b[0]);
    let c4 = (a[1] & b[3]) ^ (a[2] & b[2]) ^ (a[3] & b[1]);
    let c5 = (a[2] & b[3]) ^ (a[3] & b[2]);
    let c6 = a[3] & b[3];
    let high = c5 ^ c6;
    let all = c4 ^ high;
    [c0 ^ all, c1 ^ high, c2 ^ c6, c3 ^ all]
}

/// The algebraic normal form of a function: entry m has the results' bits in which the product of the bits of m
/// occurs.
type Form = [u8; 16];

/// The form of a table's XOR with a constant.
const fn form_of(table: &Table, constant: u8) -> Form {
    let (mut form, mut bit) = (*table, 0);
    while bit < 4 {
        let mut m = 0;
        while m < 16 {
            if m >> bit & 1 == 1 {
                form[m] ^= form[m ^ 1 << bit];
            }
            m += 1;
        }
        bit += 1;
    }
    form[0] ^= constant;
    form
}

/// A function of a nibble.
#[inline(always)]
fn function<W: Word>(form: &Form, [a, b, c, d]: Nibble<W>) -> Nibble<W> {
    let (ab, ac, bc, cd) = (a & b, a & c, b & c, c & d);
    let products = [a, b, ab, c, ac, bc, ab & c, d, a & d, b & d, ab & d, cd, a & cd, b & cd, ab & cd];
    written_out!(bit < 4 => {
        let mut sum = a.zero();
        unrolled!(m in [1 2 3 4 5 6 7 8 9 10 11 12 13 14 15] {
            if form[m] >> bit & 1 == 1 {
                sum = sum ^ products[m - 1];
            }
        });
        if form[0] >> bit & 1 == 1 { !sum } else { sum }
    })
}
