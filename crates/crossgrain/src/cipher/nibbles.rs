//! Nibble tables for an S-box with structure: inversion in GF(2⁴)² between two maps, for byte shuffles.
//!
//! Let x = a·ζ + b·ζ̄ with a, b in the subfield GF(2⁴), ζ + ζ̄ = 1 and n = ζ·ζ̄. With k = a + b, the norm is
//! N = ab + nk², and x⁻¹ = (b·ζ + a·ζ̄)/N. For y = N/(n·(k + a/n)) and z = N/(n·(k + b/n)), a/N and b/N are
//! linear in 1/y and 1/z. The kernel computes y = 1/(1/a + (1/n)/k) + b, and z with a and b exchanged. 1/0
//! counts as infinity. A byte with its top bit set represents infinity: XORs with nibbles keep the bit, and a
//! shuffle reads zero for it.
//! Source: Hamburg, "Accelerating AES with vector permute instructions" (CHES 2009). The tables are computed
//! from the field, not taken from there.

use crate::circuit::affine::{INVERSES, Inversion, multiply};

/// The tables of an S-box.
#[derive(Clone, Copy, Debug)]
pub struct NibbleSbox {
    /// The pair (b, a) of the image under the input map, by low and by high nibble.
    pub split: [[u8; 16]; 2],
    /// 1/x, and (1/n)/x.
    pub inverse: [[u8; 16]; 2],
    /// The contributions of y and z to the output, without its constant. The tables cannot include the
    /// constant, because a shuffle reads zero for infinite y.
    pub join: [[u8; 16]; 2],
}

/// A byte shuffle reads zero at this index.
const INFINITE: u8 = 0x80;

/// ζ, a byte whose XOR with its conjugate is one; and 1/n.
const ZETA: u8 = {
    let mut x = 2;
    while x ^ conjugate(x) != 1 {
        x += 1;
    }
    x
};
const OVER_N: u8 = INVERSES[multiply(ZETA, ZETA ^ 1) as usize];

impl NibbleSbox {
    /// The tables for an inversion between two maps.
    pub const fn of(Inversion { input, output }: &Inversion) -> Self {
        let mut sbox = Self { split: [[0; 16]; 2], inverse: [[INFINITE; 16]; 2], join: [[0; 16]; 2] };
        let mut i = 0;
        while i < 16 {
            sbox.split[0][i] = pair(input.apply(i as u8));
            sbox.split[1][i] = pair(input.apply((i as u8) << 4) ^ input.constant);
            if i > 0 {
                let reciprocal = INVERSES[subfield(i as u8) as usize];
                sbox.inverse[0][i] = nibble_of(reciprocal);
                sbox.inverse[1][i] = nibble_of(multiply(OVER_N, reciprocal));
                let (from_y, from_z) = solve(reciprocal);
                sbox.join[0][i] = output.apply(from_y) ^ output.constant;
                sbox.join[1][i] = output.apply(from_z) ^ output.constant;
            }
            i += 1;
        }
        sbox
    }
}

/// x¹⁶.
const fn conjugate(x: u8) -> u8 {
    let (mut power, mut squarings) = (x, 0);
    while squarings < 4 {
        power = multiply(power, power);
        squarings += 1;
    }
    power
}

/// The byte of the subfield GF(2⁴) for nibble `x`: bit i selects wⁱ, for a generator w.
const fn subfield(x: u8) -> u8 {
    // 3 generates the units of AES's field. Its 17th power, 3¹⁶ times 3, therefore generates the fifteen
    // units of the subfield.
    let w = multiply(conjugate(3), 3);
    let (mut sum, mut power, mut bit) = (0, 1, 0);
    while bit < 4 {
        sum ^= (x >> bit & 1) * power;
        power = multiply(power, w);
        bit += 1;
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

/// (b, a) of a byte: since x = aζ + bζ̄, a + b = x + x¹⁶ and b = x + (a + b)ζ.
const fn pair(x: u8) -> u8 {
    let sum = x ^ conjugate(x);
    let b = x ^ multiply(sum, ZETA);
    nibble_of(b ^ sum) | nibble_of(b) << 4
}

/// The contributions of `1/y = r` and of `1/z = r` to the inverse. They follow from n/N·(k + a/n) = 1/y and
/// n/N·(k + b/n) = 1/z. These are solved for a/N and b/N and inserted into x⁻¹ = (b/N)ζ + (a/N)ζ̄. Exchanging
/// y and z exchanges a/N and b/N.
///
/// Let A = a/N, B = b/N and m = 1/n. The reciprocals are r_y = (A + B) + mA and r_z = (A + B) + mB, up to the
/// factor in `y = N/n / (k + a/n)`. Their matrix [[1 + m, 1], [1, 1 + m]] has determinant m².
const fn solve(reciprocal: u8) -> (u8, u8) {
    let m = OVER_N;
    let scaled = multiply(reciprocal, multiply(m, INVERSES[multiply(m, m) as usize]));
    let (same, cross) = (multiply(scaled, 1 ^ m), scaled);
    // A gets `same` from r_y and `cross` from r_z; B gets the reverse.
    let from_y = multiply(cross, ZETA) ^ multiply(same, ZETA ^ 1);
    let from_z = multiply(same, ZETA) ^ multiply(cross, ZETA ^ 1);
    (from_y, from_z)
}
