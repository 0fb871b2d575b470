//! Constant-time S-boxes on every byte of a register, for key schedules, in which no round key can bring
//! constants.
//!
//! * `Galois`: GFNI inverts in AES's field and applies the affine map. One instruction, or two.
//! * `Permute`: VBMI looks up the 256 bytes of the table in four registers. Four instructions.
//! * `Nibbles`: sixteen-entry tables by byte shuffle, with inversion in GF(2⁴)². About two dozen instructions
//!   on any CPU with a byte shuffle.

use crate::arch::{ByteLanes, ByteTables, GaloisBytes, each};
use crate::block::Direction;
use crate::cipher::Description as _;
use crate::cipher::aes::description::Aes;
use crate::cipher::nibbles::NibbleSbox;
use crate::cipher::sbox::Sbox;
use crate::circuit::affine::{Affine, Inversion};

/// A form of byte substitution. It may hold constants in registers, which are loaded at the start of a
/// kernel.
pub trait Substitute<W: ByteLanes>: Copy {
    /// This form's part of a variant's name. Empty if the instruction set determines it.
    const NAME: &'static str;

    /// Loads the constants. All methods must be `#[inline(always)]`.
    fn new(isa: W::Isa, decrypt: bool) -> Self;

    /// The S-box of each byte, or the inverse S-box if created with `decrypt`.
    fn substitute(&self, isa: W::Isa, bytes: W) -> W;

    /// Each byte doubled in AES's field, plus `DOUBLE_ADDS` in every byte. The caller must correct for that.
    fn double(&self, isa: W::Isa, bytes: W) -> W;

    /// See `double`.
    const DOUBLE_ADDS: u8;
}

/// Substitution with the CPU's field arithmetic.
#[derive(Clone, Copy, Debug)]
pub struct Galois {
    decrypt: bool,
}

/// The linear part of the S-box's affine map: a byte plus its rotations by 1 to 4 (FIPS 197 §5.1.1).
const fn spread(x: u8) -> u8 {
    x ^ x.rotate_left(1) ^ x.rotate_left(2) ^ x.rotate_left(3) ^ x.rotate_left(4)
}

/// The inverse of `spread`: the sum of rotations by 1, 3 and 6.
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

/// Twice each byte in AES's field, plus 0x1b: the reduction is added exactly where it is not due.
#[inline(always)]
fn double_by_shuffle<W: ByteLanes>(isa: W::Isa, bytes: W) -> W {
    bytes.add_bytes(bytes) ^ W::byte_where_top_bit_is_clear(isa, 0x1b, bytes)
}

/// Substitution with a table of 256 bytes in registers.
#[derive(Clone, Copy, Debug)]
pub struct Permute<W> {
    table: [W; 4],
}

impl<W: ByteTables> Substitute<W> for Permute<W> {
    const NAME: &'static str = "";
    const DOUBLE_ADDS: u8 = 0x1b;

    #[inline(always)]
    fn new(isa: W::Isa, decrypt: bool) -> Self {
        let table = &Aes::BOXES[usize::from(decrypt)].table;
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

/// Substitution with tables of nibbles (`cipher::nibbles`).
#[derive(Clone, Copy, Debug)]
pub struct Nibbles<W> {
    /// Input to (b, a), by low and by high nibble.
    split: [W; 2],
    /// 1/x, and (1/n)/x.
    inverse: [W; 2],
    /// y and z to their contributions to the output.
    join: [W; 2],
    /// Added to the output.
    constant: W,
}

impl<W: ByteLanes> Substitute<W> for Nibbles<W> {
    const NAME: &'static str = "nibbles";
    const DOUBLE_ADDS: u8 = 0x1b;

    #[inline(always)]
    fn new(isa: W::Isa, decrypt: bool) -> Self {
        let (tables, inversion) = if decrypt { &INV_TABLES } else { &TABLES };
        let pair = |table: &[[u8; 16]; 2]| [W::broadcast(isa, &table[0]), W::broadcast(isa, &table[1])];
        Self {
            split: pair(&tables.split),
            inverse: pair(&tables.inverse),
            join: pair(&tables.join),
            constant: W::splat(isa, u64::from_ne_bytes([inversion.output.constant; 8])),
        }
    }

    #[inline(always)]
    fn substitute(&self, isa: W::Isa, bytes: W) -> W {
        let Self { split, inverse, join, constant } = *self;
        let nibble = W::splat(isa, 0x0f0f_0f0f_0f0f_0f0f);
        let pair = split[0].shuffle_bytes(bytes & nibble)
            ^ split[1].shuffle_bytes(bytes.shift_right::<4>() & nibble);
        let (a, b) = (pair & nibble, pair.shift_right::<4>() & nibble);
        let by_k = inverse[1].shuffle_bytes(a ^ b);
        let y = inverse[0].shuffle_bytes(inverse[0].shuffle_bytes(a) ^ by_k) ^ b;
        let z = inverse[0].shuffle_bytes(inverse[0].shuffle_bytes(b) ^ by_k) ^ a;
        join[0].shuffle_bytes(y) ^ join[1].shuffle_bytes(z) ^ constant
    }

    #[inline(always)]
    fn double(&self, isa: W::Isa, bytes: W) -> W {
        double_by_shuffle(isa, bytes)
    }
}

/// The tables of the S-box and of its inverse, and the inversions that give their constants.
static TABLES: (NibbleSbox, Inversion) = tables(false);
static INV_TABLES: (NibbleSbox, Inversion) = tables(true);

const fn tables(decrypt: bool) -> (NibbleSbox, Inversion) {
    match &Aes::BOXES[decrypt as usize] {
        Sbox { nibbles: Some(tables), inversion: Some(inversion), .. } => (*tables, *inversion),
        _ => panic!("AES's S-box is an inversion"),
    }
}

/// The constant that MixColumns or its inverse adds to every byte.
pub(super) const fn mixing_adds<W: ByteLanes, S: Substitute<W>>(direction: Direction) -> u8 {
    match direction {
        Direction::Encrypt => S::DOUBLE_ADDS,
        Direction::Decrypt => S::DOUBLE_ADDS << 1,
    }
}

/// MixColumns on a column, plus the constant from doubling.
#[inline(always)]
pub(super) fn mix_column<W: ByteLanes, S: Substitute<W>>(isa: W::Isa, substitute: S, a: [W; 4]) -> [W; 4] {
    let u: [W; 4] = each!(row < 4 => a[row] ^ a[(row + 1) % 4]);
    each!(row < 4 => substitute.double(isa, u[row]) ^ a[(row + 1) % 4] ^ u[(row + 2) % 4])
}

/// InvMixColumns on a column, plus the constants from doubling.
#[inline(always)]
pub(super) fn inv_mix_column<W: ByteLanes, S: Substitute<W>>(
    isa: W::Isa,
    substitute: S,
    a: [W; 4],
) -> [W; 4] {
    let even = substitute.double(isa, substitute.double(isa, a[0] ^ a[2]));
    let odd = substitute.double(isa, substitute.double(isa, a[1] ^ a[3]));
    mix_column(isa, substitute, [a[0] ^ even, a[1] ^ odd, a[2] ^ even, a[3] ^ odd])
}
