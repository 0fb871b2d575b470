//! S-boxes of eight bits as tables, what structure they turn out to have, and gates for them; linear maps of bytes.
//!
//! A byte in gates is eight words, least significant bit first; each lane of the words is another byte.
//! Needs: nothing but gates. Holds: which gates are run depends on the table, which is public, and on no byte that is substituted.

use crate::circuit::affine::{Affine, INVERSES, Inversion};
use crate::circuit::{Bits, aes_sbox};
use crate::word::{Word, each};

/// An S-box.
#[derive(Clone, Copy, Debug)]
pub struct Sbox {
    /// What each byte becomes.
    pub table: [u8; 256],
    /// How it is made of the inversion in AES's field, if it is.
    pub inversion: Option<Inversion>,
    /// Whether it is, and its input map adds a constant at most.
    pub inverts_first: bool,
}

impl Sbox {
    /// The S-box of a table, whose structure is looked for.
    pub const fn new(table: [u8; 256]) -> Self {
        let inversion = Inversion::of(&table);
        let inverts_first = match &inversion {
            Some(found) => found.input.adds_constant(),
            None => false,
        };
        Self { table, inversion, inverts_first }
    }

    /// The S-box with its input rotated left by `before` bits and its output by `after`.
    pub const fn rotated(&self, before: u32, after: u32) -> Self {
        let (mut table, mut x) = ([0; 256], 0);
        while x < 256 {
            table[x] = self.table[(x as u8).rotate_left(before) as usize].rotate_left(after);
            x += 1;
        }
        Self::new(table)
    }

    /// The inverse S-box.
    ///
    /// # Panics
    /// If it is no permutation.
    pub const fn inverse(&self) -> Self {
        let (mut table, mut x) = ([0; 256], 0);
        while x < 256 {
            table[self.table[x] as usize] = x as u8;
            x += 1;
        }
        x = 0;
        while x < 256 {
            assert!(table[self.table[x] as usize] == x as u8, "no permutation");
            x += 1;
        }
        Self::new(table)
    }

    /// The S-box by gates, on any number of bytes side by side.
    #[inline(always)]
    pub fn gates<W: Word>(&self, x: Bits<W>) -> Bits<W> {
        match &self.inversion {
            // AES's circuit is the inversion and then AES's own map, which the output map undoes.
            Some(Inversion { input, output }) => {
                gates_of(&after_aes(output), aes_sbox::forward(gates_of(input, x)))
            }
            None => minterms(&self.table, x),
        }
    }
}

/// The S-box of AES (FIPS 197 §5.1.1).
pub const AES: Sbox = {
    let (mut table, mut x) = ([0; 256], 0);
    while x < 256 {
        let y = INVERSES[x];
        table[x] = y
            ^ y.rotate_left(1)
            ^ y.rotate_left(2)
            ^ y.rotate_left(3)
            ^ y.rotate_left(4)
            ^ aes_sbox::CONSTANT;
        x += 1;
    }
    Sbox::new(table)
};

/// The map behind an inversion, for what comes out of AES's circuit: that is AES's linear map of the inverse.
#[inline(always)]
fn after_aes(output: &Affine) -> Affine {
    let linear = Affine { constant: 0, ..*output };
    // The inverse of "a byte plus its rotations by 1 to 4" is the sum of its rotations by 1, 3 and 6.
    let matrix = each!(bit < 8 => {
        let x = 1_u8 << bit;
        linear.apply(x.rotate_left(1) ^ x.rotate_left(3) ^ x.rotate_left(6))
    });
    Affine { matrix, constant: output.constant }
}

/// An affine map by gates.
#[inline(always)]
fn gates_of<W: Word>(map: &Affine, x: Bits<W>) -> Bits<W> {
    let mut y = linear_gates(&map.matrix, x);
    for (bit, y) in y.iter_mut().enumerate() {
        if map.constant >> bit & 1 == 1 {
            *y = !*y;
        }
    }
    y
}

/// A linear map by gates, given by the images of the eight bits.
#[inline(always)]
fn linear_gates<W: Word>(images: &[u8; 8], x: Bits<W>) -> Bits<W> {
    let mut y = [x[0].zero(); 8];
    for (bit, y) in y.iter_mut().enumerate() {
        for (x, image) in x.into_iter().zip(images) {
            if image >> bit & 1 == 1 {
                *y = *y ^ x;
            }
        }
    }
    y
}

/// Any table: of each output, for each value of the high four bits, the sum of the values of the low four that give one.
#[inline(always)]
fn minterms<W: Word>(table: &[u8; 256], x: Bits<W>) -> Bits<W> {
    let (low, high) = (values([x[0], x[1], x[2], x[3]]), values([x[4], x[5], x[6], x[7]]));
    let mut y = [x[0].zero(); 8];
    for (high, row) in high.into_iter().zip(table.as_chunks::<16>().0) {
        let mut sums = [x[0].zero(); 8];
        for (low, value) in low.into_iter().zip(row) {
            for (bit, sum) in sums.iter_mut().enumerate() {
                if value >> bit & 1 == 1 {
                    *sum = *sum ^ low;
                }
            }
        }
        for (y, sum) in y.iter_mut().zip(sums) {
            *y = *y ^ (sum & high);
        }
    }
    y
}

/// For each value of four bits, where they have it.
#[inline(always)]
fn values<W: Word>([a, b, c, d]: [W; 4]) -> [W; 16] {
    let pairs = |a: W, b: W| [!a & !b, a & !b, !a & b, a & b];
    let (low, high) = (pairs(a, b), pairs(c, d));
    each!(value < 16 => low[value % 4] & high[value / 4])
}

/// A linear map of bytes.
#[derive(Clone, Copy, Debug)]
pub struct Linear {
    /// What each bit becomes, the lowest first.
    pub images: [u8; 8],
}

impl Linear {
    /// What makes every byte zero.
    pub const NOTHING: Self = Self { images: [0; 8] };

    /// The product with `factor` in GF(2⁸) by the polynomial x⁸ + the bits of `polynomial`.
    pub const fn product(factor: u8, polynomial: u8) -> Self {
        let (mut images, mut bit, mut product) = ([0; 8], 0, factor);
        while bit < 8 {
            images[bit] = product;
            product = (product << 1) ^ ((product >> 7) * polynomial);
            bit += 1;
        }
        Self { images }
    }

    /// The map by gates.
    #[inline(always)]
    pub fn gates<W: Word>(&self, x: Bits<W>) -> Bits<W> {
        linear_gates(&self.images, x)
    }

    /// The image of a byte, by a branch on none of its bits.
    pub const fn of(&self, byte: u8) -> u8 {
        Affine { matrix: self.images, constant: 0 }.apply(byte)
    }
}
