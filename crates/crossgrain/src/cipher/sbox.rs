//! 8-bit S-boxes as tables, their structure, and their gates; linear maps of bytes.
//!
//! [`Sbox::new`] takes a table and searches it for structure: inversion in AES's field between two affine
//! maps. Most tables of this tree have it. A byte in gates is eight words, least significant bit first; each
//! lane of the words holds another byte. Gates compute everything in constant time: the choice of gates
//! depends on the table, which is public, and never on the substituted bytes.

use super::folded::FoldedConstants;
use super::nibbles::NibbleSbox;
use crate::arch::{Word, each};
use crate::circuit::affine::{Affine, INVERSES, Inversion, inverse_table};
use crate::circuit::pi_sbox::{self, Permutation};
use crate::circuit::{Bits, aes_sbox};

/// An S-box.
#[derive(Clone, Copy, Debug)]
pub struct Sbox {
    /// The output for each input.
    pub table: [u8; 256],
    /// The structure: inversion in AES's field between two affine maps; `None` if the table has none.
    pub inversion: Option<Inversion>,
    /// The linear parts of both maps in GFNI's format, or zeros without structure. Kernels use them as
    /// compile-time constants.
    pub galois: [u64; 2],
    /// Whether the table has structure and its input map only adds a constant.
    pub inverts_first: bool,
    /// The constants of both maps, which kernels may leave to the round keys; zeros without structure.
    pub folded: FoldedConstants,
    /// The nibble tables that compute it, if it has structure.
    pub nibbles: Option<NibbleSbox>,
    /// The maps around an AES instruction that compute it, if it has structure.
    pub around_aes: Option<AroundAes>,
    /// Whether the table is π or its inverse, which have circuits of their own.
    pub pi: Option<Permutation>,
}

/// An S-box as AES's S-box, or the inverse of that, between two affine maps.
#[derive(Clone, Copy, Debug)]
pub struct AroundAes {
    /// Whether the inverse of AES's S-box is in the middle.
    pub inverse: bool,
    /// The map before it.
    pub input: Affine,
    /// The map after it.
    pub output: Affine,
}

impl AroundAes {
    /// Tries each of these structures of one S-box with both AES S-boxes. Returns the result with the fewest
    /// maps that do more than add a constant.
    const fn of(inversions: &[Inversion]) -> Option<Self> {
        let Some(aes) = Inversion::AES.inverse() else { return None };
        let (mut best, mut at) = (None, 0);
        while at < inversions.len() {
            let Inversion { input, output } = inversions[at];
            // AES's S-box adds its own output map after the inversion, so `output` must first undo that map.
            // The inverse S-box undoes AES's map before the inversion, so `input` must first apply it.
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

    /// Number of maps that do more than add a constant.
    pub const fn maps(&self) -> usize {
        !self.input.adds_constant() as usize + !self.output.adds_constant() as usize
    }
}

impl Sbox {
    /// Finds the structure of a table.
    pub const fn new(table: [u8; 256]) -> Self {
        let inversion = Inversion::of(&table);
        let (galois, inverts_first, folded, nibbles) = match &inversion {
            Some(found) => (
                [found.input.galois(), found.output.galois()],
                found.input.adds_constant(),
                FoldedConstants::of(found),
                Some(NibbleSbox::of(found)),
            ),
            None => ([0; 2], false, FoldedConstants::NOTHING, None),
        };
        let around_aes = around_aes(&table, inversion);
        let pi = if inversion.is_none() { pi_sbox::recognised(&table) } else { None };
        Self { table, inversion, galois, inverts_first, folded, nibbles, around_aes, pi }
    }

    /// The S-box with its input rotated left by `before` bits and its output by `after` bits.
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
    /// If the table is not a permutation.
    pub const fn inverse(&self) -> Self {
        let Some(table) = inverse_table(&self.table) else { panic!("no permutation") };
        Self::new(table)
    }

    /// Computes the S-box by gates, on one byte per lane.
    #[inline(always)]
    pub fn gates<W: Word>(&self, x: Bits<W>) -> Bits<W> {
        match &self.inversion {
            // `aes_sbox::forward` computes the inversion and then AES's linear map, which `after_aes` undoes.
            Some(Inversion { input, output }) => after_aes(output).gates(aes_sbox::forward(input.gates(x))),
            None => match self.pi {
                Some(permutation) => pi_sbox::gates(permutation, x),
                None => minterms(&self.table, x),
            },
        }
    }
}

/// The maps around an AES instruction that compute a table. The search also covers the inverse table: from it
/// follows a structure whose output map is the identity, if one exists.
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

/// The map that turns the result of AES's circuit into `output` of the inverse. The circuit's result is AES's
/// linear map of the inverse.
#[inline(always)]
fn after_aes(output: &Affine) -> Affine {
    let linear = Affine { constant: 0, ..*output };
    // The map "XOR of a byte and its rotations by 1 to 4" is undone by the XOR of the rotations by 1, 3 and
    // 6.
    let matrix = each!(bit < 8 => {
        let x = 1_u8 << bit;
        linear.apply(x.rotate_left(1) ^ x.rotate_left(3) ^ x.rotate_left(6))
    });
    Affine { matrix, constant: output.constant }
}

/// Computes any table. Each output bit is an XOR of one term per high nibble. A term is the high nibble's
/// minterm AND the XOR of the low nibbles' minterms that set the bit.
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

/// The 16 minterms of four bits: word v has ones in the lanes where the four bits are v.
#[inline(always)]
fn values<W: Word>([a, b, c, d]: [W; 4]) -> [W; 16] {
    let pairs = |a: W, b: W| [!a & !b, a & !b, !a & b, a & b];
    let (low, high) = (pairs(a, b), pairs(c, d));
    each!(value < 16 => low[value % 4] & high[value / 4])
}

/// A linear map of bytes.
#[derive(Clone, Copy, Debug)]
pub struct Linear {
    /// The image of each bit, lowest first.
    pub images: [u8; 8],
    /// The images of the low nibbles and of the high ones. The image of a byte is the XOR of two.
    pub nibbles: NibbleMap,
}

/// A map of bytes as two tables, one per nibble. The image of a byte is the XOR of the two entries.
pub type NibbleMap = [[u8; 16]; 2];

/// The tables of an affine map. Those of the low nibble include its constant.
pub const fn nibble_map(map: &Affine) -> NibbleMap {
    let (mut tables, mut x) = ([[0; 16]; 2], 0);
    while x < 16 {
        tables[0][x] = map.apply(x as u8);
        tables[1][x] = map.apply((x as u8) << 4) ^ map.constant;
        x += 1;
    }
    tables
}

impl Linear {
    /// The map with these images of the bits, lowest first.
    pub const fn new(images: [u8; 8]) -> Self {
        Self { images, nibbles: nibble_map(&Affine { matrix: images, constant: 0 }) }
    }

    /// The map to zero.
    pub const NOTHING: Self = Self::new([0; 8]);

    /// Multiplication by 2 in AES's field.
    pub const DOUBLE: Self = Self::product(2, 0x1b);

    /// Whether this is [`Linear::DOUBLE`].
    pub const fn doubles(&self) -> bool {
        u64::from_le_bytes(self.images) == u64::from_le_bytes(Self::DOUBLE.images)
    }

    /// Multiplication by `factor` in GF(2⁸) modulo x⁸ + the terms in `polynomial`.
    pub const fn product(factor: u8, polynomial: u8) -> Self {
        let (mut images, mut bit, mut product) = ([0; 8], 0, factor);
        while bit < 8 {
            images[bit] = product;
            product = (product << 1) ^ ((product >> 7) * polynomial);
            bit += 1;
        }
        Self::new(images)
    }

    /// Computes the map by gates.
    #[inline(always)]
    pub fn gates<W: Word>(&self, x: Bits<W>) -> Bits<W> {
        Affine { matrix: self.images, constant: 0 }.gates(x)
    }

    /// The image of a byte, in constant time.
    pub const fn of(&self, byte: u8) -> u8 {
        Affine { matrix: self.images, constant: 0 }.apply(byte)
    }
}
