//! Ways to put every byte of a register through the S-box in constant time, for `bytesliced`.
//!
//! * `Galois`: the CPU inverts in AES's field and applies the affine map (GFNI): one instruction, or two.
//! * `Permute`: the 256 bytes of the table lie in four registers (VBMI): four instructions.
//! * `Nibbles`: sixteen-entry tables by byte shuffle, inverting in GF(2⁴)²: about two dozen. Any CPU with
//!   a byte shuffle.
//!
//! Source: Hamburg, "Accelerating AES with vector permute instructions" (CHES 2009), for the inversion by
//! nibbles; the tables here are computed from the field, not taken from there.

use super::table::{INV_SUB, SUB};
use crate::circuit::affine::{Affine, multiply};
use crate::word::{ByteLanes, ByteTables, GaloisBytes, each};

/// A way to substitute bytes. It may hold constants in registers; making it is part of a kernel's start.
pub trait Substitute<W: ByteLanes>: Copy {
    /// What distinguishes this way in a variant's name; empty where the ISA says it.
    const NAME: &'static str;

    /// Loads the constants; everything here must be `#[inline(always)]`.
    fn new(isa: W::Isa, decrypt: bool) -> Self;

    /// The S-box of each byte, or the inverse S-box if made to decrypt.
    fn substitute(&self, isa: W::Isa, bytes: W) -> W;

    /// Each byte doubled in AES's field, plus `DOUBLE_ADDS` in every byte, for a caller to make good.
    fn double(&self, isa: W::Isa, bytes: W) -> W;

    /// See `double`.
    const DOUBLE_ADDS: u8;
}

/// By the CPU's field arithmetic.
#[derive(Clone, Copy, Debug)]
pub struct Galois {
    decrypt: bool,
}

/// The linear part of the S-box's affine map: a byte plus its rotations by 1 to 4 (FIPS 197 §5.1.1).
const fn spread(x: u8) -> u8 {
    x ^ x.rotate_left(1) ^ x.rotate_left(2) ^ x.rotate_left(3) ^ x.rotate_left(4)
}

/// Its inverse: the sum of rotations by 1, 3 and 6.
const fn unspread(x: u8) -> u8 {
    x.rotate_left(1) ^ x.rotate_left(3) ^ x.rotate_left(6)
}

macro_rules! images {
    ($map:ident) => {
        [$map(1), $map(2), $map(4), $map(8), $map(16), $map(32), $map(64), $map(128)]
    };
}

const AFFINE: u64 = Affine { matrix: images!(spread), constant: 0 }.galois();
const INV_AFFINE: u64 = Affine { matrix: images!(unspread), constant: 0 }.galois();
const IDENTITY: u64 = Affine { matrix: [1, 2, 4, 8, 16, 32, 64, 128], constant: 0 }.galois();

impl<W: GaloisBytes> Substitute<W> for Galois {
    const NAME: &'static str = "";
    const DOUBLE_ADDS: u8 = 0;

    #[inline(always)]
    fn new(_isa: W::Isa, decrypt: bool) -> Self {
        Self { decrypt }
    }

    #[inline(always)]
    fn substitute(&self, isa: W::Isa, bytes: W) -> W {
        if self.decrypt {
            // 0x05 is the image of 0x63 under the inverse map.
            bytes.affine::<0x05>(isa, INV_AFFINE).affine_of_inverse::<0>(isa, IDENTITY)
        } else {
            bytes.affine_of_inverse::<0x63>(isa, AFFINE)
        }
    }

    #[inline(always)]
    fn double(&self, isa: W::Isa, bytes: W) -> W {
        bytes.multiply_bytes(W::splat(isa, 0x0202_0202_0202_0202))
    }
}

/// Twice each byte, plus 0x1b: a byte shuffle reads zero where the top bit is set.
#[inline(always)]
fn double_by_shuffle<W: ByteLanes>(isa: W::Isa, bytes: W) -> W {
    let polynomial = W::splat(isa, 0x1b1b_1b1b_1b1b_1b1b);
    bytes.add_bytes(bytes) ^ polynomial.pick(bytes)
}

/// By a table of 256 bytes in registers.
#[derive(Clone, Copy, Debug)]
pub struct Permute<W> {
    table: [W; 4],
}

impl<W: ByteTables> Substitute<W> for Permute<W> {
    const NAME: &'static str = "";
    const DOUBLE_ADDS: u8 = 0x1b;

    #[inline(always)]
    fn new(isa: W::Isa, decrypt: bool) -> Self {
        let table = if decrypt { &*INV_SUB } else { &*SUB };
        Self { table: each!(i < 4 => W::load(isa, &table[i * W::BYTES..][..W::BYTES])) }
    }

    #[inline(always)]
    fn substitute(&self, _isa: W::Isa, bytes: W) -> W {
        bytes.look_up(&self.table)
    }

    #[inline(always)]
    fn double(&self, isa: W::Isa, bytes: W) -> W {
        double_by_shuffle(isa, bytes)
    }
}

/// By nibbles: x = a·ζ + b·ζ̄ with a, b in the subfield GF(2⁴), ζ + ζ̄ = 1 and n = ζ·ζ̄.
///
/// With k = a + b, the norm is N = ab + nk², and x⁻¹ = (b·ζ + a·ζ̄)/N. For y = N/(n·(k + a/n)) and
/// z = N/(n·(k + b/n)), the quotients 1/y and 1/z determine a/N and b/N linearly; and
/// y = 1/(1/a + (1/n)/k) + b where a zero divisor counts as infinite, which a byte with its top bit set
/// is to the shuffle: it reads zero, and stays infinite through additions.
#[derive(Clone, Copy, Debug)]
pub struct Nibbles<W> {
    /// Input to (b, a), by low and by high nibble.
    split: [W; 2],
    /// 1/x, and (1/n)/x.
    inverse: [W; 2],
    /// y and z to their contributions to the output.
    join: [W; 2],
    /// Added to the input, and to the output.
    constants: [W; 2],
}

impl<W: ByteLanes> Substitute<W> for Nibbles<W> {
    const NAME: &'static str = "nibbles";
    const DOUBLE_ADDS: u8 = 0x1b;

    #[inline(always)]
    fn new(isa: W::Isa, decrypt: bool) -> Self {
        let tables = if decrypt { &INV_TABLES } else { &TABLES };
        let pair = |table: &[[u8; 16]; 2]| [W::broadcast(isa, &table[0]), W::broadcast(isa, &table[1])];
        let constants = if decrypt { [0x6363_6363_6363_6363, 0] } else { [0, 0x6363_6363_6363_6363] };
        Self {
            split: pair(&tables.split),
            inverse: pair(&tables.inverse),
            join: pair(&tables.join),
            constants: [W::splat(isa, constants[0]), W::splat(isa, constants[1])],
        }
    }

    #[inline(always)]
    fn substitute(&self, isa: W::Isa, bytes: W) -> W {
        let Self { split, inverse, join, constants } = self;
        let nibble = W::splat(isa, 0x0f0f_0f0f_0f0f_0f0f);
        let bytes = bytes ^ constants[0];
        let pair = split[0].pick(bytes & nibble) ^ split[1].pick(bytes.shift_right::<4>() & nibble);
        let (a, b) = (pair & nibble, pair.shift_right::<4>() & nibble);
        let by_k = inverse[1].pick(a ^ b);
        let y = inverse[0].pick(inverse[0].pick(a) ^ by_k) ^ b;
        let z = inverse[0].pick(inverse[0].pick(b) ^ by_k) ^ a;
        join[0].pick(y) ^ join[1].pick(z) ^ constants[1]
    }

    #[inline(always)]
    fn double(&self, isa: W::Isa, bytes: W) -> W {
        double_by_shuffle(isa, bytes)
    }
}

/// The tables of `Nibbles`.
struct NibbleTables {
    split: [[u8; 16]; 2],
    inverse: [[u8; 16]; 2],
    join: [[u8; 16]; 2],
}

static TABLES: NibbleTables = nibble_tables(false);
static INV_TABLES: NibbleTables = nibble_tables(true);

const fn power(x: u8, exponent: u8) -> u8 {
    let (mut product, mut i) = (1, 0);
    while i < exponent {
        product = multiply(product, x);
        i += 1;
    }
    product
}

/// The byte of the subfield GF(2⁴) that nibble `x` stands for: sums of 1, w, w², w³ for a generator w.
const fn subfield(x: u8) -> u8 {
    // 3 generates AES's field, so its 17th power generates the fifteen units of the subfield.
    let w = power(3, 17);
    let mut sum = 0;
    let mut i = 0;
    while i < 4 {
        sum ^= (x >> i & 1) * power(w, i);
        i += 1;
    }
    sum
}

/// The nibble for a byte of the subfield.
const fn nibble_of(byte: u8) -> u8 {
    let mut x = 0;
    while subfield(x) != byte {
        x += 1;
    }
    x
}

/// A byte ζ whose sum with its conjugate ζ¹⁶ is one.
const fn zeta() -> u8 {
    let mut x = 2;
    while x ^ power(x, 16) != 1 {
        x += 1;
    }
    x
}

/// Reads as zero in a byte shuffle.
const INFINITE: u8 = 0x80;

const fn nibble_tables(decrypt: bool) -> NibbleTables {
    let mut tables = NibbleTables { split: [[0; 16]; 2], inverse: [[INFINITE; 16]; 2], join: [[0; 16]; 2] };
    let zeta = zeta();
    let conjugate = zeta ^ 1;
    let over_n = power(multiply(zeta, conjugate), 254);
    let mut i = 0;
    while i < 16 {
        let mut half = 0;
        while half < 2 {
            let byte = (i as u8) << (4 * half);
            // x = aζ + bζ̄, so a + b = x + x¹⁶ and b = x + (a + b)ζ.
            let x = if decrypt { unspread(byte) } else { byte };
            let sum = x ^ power(x, 16);
            let b = x ^ multiply(sum, zeta);
            tables.split[half][i] = nibble_of(b ^ sum) | nibble_of(b) << 4;
            half += 1;
        }
        if i > 0 {
            let reciprocal = power(subfield(i as u8), 254);
            tables.inverse[0][i] = nibble_of(reciprocal);
            tables.inverse[1][i] = nibble_of(multiply(over_n, reciprocal));
            // n/N·(k + a/n) = 1/y and n/N·(k + b/n) = 1/z: solved for a/N and b/N, put into
            // x⁻¹ = (b/N)ζ + (a/N)ζ̄. The two solutions exchange with y and z.
            let (from_y, from_z) = solve(reciprocal, over_n, zeta, conjugate);
            tables.join[0][i] = if decrypt { from_y } else { spread(from_y) };
            tables.join[1][i] = if decrypt { from_z } else { spread(from_z) };
        }
        i += 1;
    }
    tables
}

/// What `1/y = r` and `1/z = r` each add to the inverse.
///
/// With A = a/N, B = b/N, m = 1/n: the reciprocals are r_y = (A + B) + mA and r_z = (A + B) + mB, up to
/// the factor that `y = N/n / (k + a/n)` hides. Their matrix [[1 + m, 1], [1, 1 + m]] has determinant m².
const fn solve(reciprocal: u8, m: u8, zeta: u8, conjugate: u8) -> (u8, u8) {
    let scaled = multiply(reciprocal, multiply(m, power(multiply(m, m), 254)));
    let (same, cross) = (multiply(scaled, 1 ^ m), scaled);
    // r_y gives A the share `same` and B the share `cross`; r_z the other way round.
    let from_y = multiply(cross, zeta) ^ multiply(same, conjugate);
    let from_z = multiply(same, zeta) ^ multiply(cross, conjugate);
    (from_y, from_z)
}
