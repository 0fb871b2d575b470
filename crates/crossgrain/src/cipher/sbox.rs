//! S-boxes of eight bits as tables, what structure they turn out to have, and gates for them; linear maps of bytes.
//!
//! A byte in gates is eight words, least significant bit first; each lane of the words is another byte.
//! Needs: nothing but gates. Holds: which gates are run depends on the table, which is public, and on no byte that is substituted.

use super::nibbles::NibbleSbox;
use crate::circuit::affine::{Affine, INVERSES, Inversion, inverse_table};
use crate::circuit::{Bits, aes_sbox};
use crate::word::{Word, each};

/// An S-box.
#[derive(Clone, Copy, Debug)]
pub struct Sbox {
    /// What each byte becomes.
    pub table: [u8; 256],
    /// How it is made of the inversion in AES's field, if it is.
    pub inversion: Option<Inversion>,
    /// The linear parts of the two maps as GFNI takes them, if it is: numbers that a kernel knows when it is compiled.
    pub galois: [u64; 2],
    /// Whether it is, and its input map adds a constant at most.
    pub inverts_first: bool,
    /// The tables of nibbles that give it, if it is.
    pub nibbles: Option<NibbleSbox>,
    /// How an AES instruction gives it, if it is.
    pub around_aes: Option<AroundAes>,
}

/// An S-box as AES's, or the inverse of that, between two maps.
#[derive(Clone, Copy, Debug)]
pub struct AroundAes {
    /// Whether it is the inverse.
    pub inverse: bool,
    /// The map before.
    pub input: Affine,
    /// The map behind.
    pub output: Affine,
}

impl AroundAes {
    /// What comes to these inversions, which are of one S-box: the way with the fewest maps that do more than add a constant.
    const fn of(inversions: &[Inversion]) -> Option<Self> {
        let Some(aes) = Inversion::AES.inverse() else { return None };
        let (mut best, mut at) = (None, 0);
        while at < inversions.len() {
            let Inversion { input, output } = inversions[at];
            // Inversion and AES's map, which the inverse of it undoes; or that map undone, and inversion.
            let forward = Self { inverse: false, input, output: aes.input.then(&output) };
            let back = Self { inverse: true, input: input.then(&Inversion::AES.output), output };
            best = Some(forward.or(best));
            best = Some(back.or(best));
            at += 1;
        }
        best
    }

    const fn or(self, other: Option<Self>) -> Self {
        match other {
            Some(other) if other.maps() <= self.maps() => other,
            _ => self,
        }
    }

    /// Maps that do more than add a constant.
    pub const fn maps(&self) -> usize {
        !self.input.adds_constant() as usize + !self.output.adds_constant() as usize
    }
}

impl Sbox {
    /// The S-box of a table, whose structure is looked for.
    pub const fn new(table: [u8; 256]) -> Self {
        let inversion = Inversion::of(&table);
        let (galois, inverts_first, nibbles) = match &inversion {
            Some(found) => (
                [found.input.galois(), found.output.galois()],
                found.input.adds_constant(),
                Some(NibbleSbox::of(found)),
            ),
            None => ([0; 2], false, None),
        };
        Self { table, inversion, galois, inverts_first, nibbles, around_aes: around_aes(&table, inversion) }
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
        let Some(table) = inverse_table(&self.table) else { panic!("no permutation") };
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

/// How an AES instruction gives a table. The structure of the inverse table is asked for too: of all pairs of maps, that has one whose output
/// map does nothing, if there is one.
const fn around_aes(table: &[u8; 256], inversion: Option<Inversion>) -> Option<AroundAes> {
    let Some(found) = inversion else { return None };
    let Some(inverse) = inverse_table(table) else { return None };
    let Some(of_inverse) = Inversion::of(&inverse) else { return None };
    let Some(other) = of_inverse.inverse() else { return None };
    AroundAes::of(&[found, other])
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

    /// The product with 2 in AES's field.
    pub const DOUBLE: Self = Self::product(2, 0x1b);

    /// Whether it is [`Linear::DOUBLE`].
    pub const fn doubles(&self) -> bool {
        u64::from_le_bytes(self.images) == u64::from_le_bytes(Self::DOUBLE.images)
    }

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
