//! The AES S-box and its inverse without their additive constant, 115 gates each.
//!
//! Both consist of three layers: a linear one of 23 XORs (`y`), the inversion in GF(2⁸), and a linear one of
//! 30 XORs. The inversion (32 AND, 30 XOR; products `z`) is the same for both. The constant 0x63, four NOTs,
//! is left to the caller, who can fold it into a round key:
//! `forward(x) = S(x) ⊕ 0x63`, and `inverse(x ⊕ 0x63) = S⁻¹(x)`.
//!
//! Source: forward and inversion from Boyar and Peralta, "A depth-16 circuit for the AES S-box" (2011), in
//! its 115-gate form. The linear layers of the inverse were searched for here by Boyar and Peralta's greedy
//! method with random ties. They take 23 and 30 XORs; the published inverse takes 121 gates in all. Not
//! chosen: the 113-gate forward circuit (Çalık, 2016) and the 128-gate one of depth 16. See docs/mistakes.md
//! for the measurements.
//! Invariant: equal to the table on all 256 inputs in every lane (`tests/laws.rs`).

use super::Bits;
use crate::arch::Word;

/// The omitted constant: bits 0, 1, 5 and 6.
pub const CONSTANT: u8 = 0x63;

/// The numbers of inputs and outputs of [`invert`].
pub(super) const FORMS: usize = 22;
pub(super) const PRODUCTS: usize = 18;

/// `S(x) ⊕ 0x63`.
#[inline(always)]
pub fn forward<W: Word>(x: Bits<W>) -> Bits<W> {
    forward_output(invert(forward_input(x)))
}

/// The linear forms of a byte that [`invert`] takes.
#[inline(always)]
pub(super) fn forward_input<W: Word>(x: Bits<W>) -> [W; FORMS] {
    // The publication numbers bits from the most significant one.
    let [x7, x6, x5, x4, x3, x2, x1, x0] = x;
    let y14 = x3 ^ x5;
    let y13 = x0 ^ x6;
    let y9 = x0 ^ x3;
    let y8 = x0 ^ x5;
    let t0 = x1 ^ x2;
    let y1 = t0 ^ x7;
    let y4 = y1 ^ x3;
    let y12 = y13 ^ y14;
    let y2 = y1 ^ x0;
    let y5 = y1 ^ x6;
    let y3 = y5 ^ y8;
    let t1 = x4 ^ y12;
    let y15 = t1 ^ x5;
    let y20 = t1 ^ x1;
    let y6 = y15 ^ x7;
    let y10 = y15 ^ t0;
    let y11 = y20 ^ y9;
    let y7 = x7 ^ y11;
    let y17 = y10 ^ y11;
    let y19 = y10 ^ y8;
    let y16 = t0 ^ y11;
    let y21 = y13 ^ y16;
    let y18 = x0 ^ y16;

    [x7, y1, y2, y3, y4, y5, y6, y7, y8, y9, y10, y11, y12, y13, y14, y15, y16, y17, y18, y19, y20, y21]
}

/// `S(x) ⊕ 0x63`, from the products of [`invert`] for x.
#[inline(always)]
pub(super) fn forward_output<W: Word>(z: [W; PRODUCTS]) -> Bits<W> {
    let t46 = z[15] ^ z[16];
    let t47 = z[10] ^ z[11];
    let t48 = z[5] ^ z[13];
    let t49 = z[9] ^ z[10];
    let t50 = z[2] ^ z[12];
    let t51 = z[2] ^ z[5];
    let t52 = z[7] ^ z[8];
    let t53 = z[0] ^ z[3];
    let t54 = z[6] ^ z[7];
    let t55 = z[16] ^ z[17];
    let t56 = z[12] ^ t48;
    let t57 = t50 ^ t53;
    let t58 = z[4] ^ t46;
    let t59 = z[3] ^ t54;
    let t60 = t46 ^ t57;
    let t61 = z[14] ^ t57;
    let t62 = t52 ^ t58;
    let t63 = t49 ^ t58;
    let t64 = z[4] ^ t59;
    let t65 = t61 ^ t62;
    let t66 = z[1] ^ t63;
    let s0 = t59 ^ t63;
    let s6 = t56 ^ t62;
    let s7 = t48 ^ t60;
    let t67 = t64 ^ t65;
    let s3 = t53 ^ t66;
    let s4 = t51 ^ t66;
    let s5 = t47 ^ t65;
    let s1 = t64 ^ s3;
    let s2 = t55 ^ t67;
    [s7, s6, s5, s4, s3, s2, s1, s0]
}

/// `S⁻¹(x ⊕ 0x63)`.
#[inline(always)]
pub fn inverse<W: Word>(x: Bits<W>) -> Bits<W> {
    let [u0, u1, u2, u3, u4, u5, u6, u7] = x;
    let y19 = u0 ^ u3;
    let y9 = u3 ^ u4;
    let y1 = u0 ^ y9;
    let y13 = u1 ^ y1;
    let y5 = u4 ^ u6;
    let y3 = u4 ^ u7;
    let y18 = u5 ^ y9;
    let y8 = u6 ^ u7;
    let y6 = u4 ^ y8;
    let y14 = u3 ^ y6;
    let y10 = y19 ^ y8;
    let y2 = y13 ^ y5;
    let y4 = y9 ^ y2;
    let y7 = u5 ^ y4;
    let y21 = u1 ^ y7;
    let y16 = y1 ^ y7;
    let y12 = y13 ^ y14;
    let a0 = u2 ^ u7;
    let x7 = u5 ^ a0;
    let y15 = y6 ^ x7;
    let y20 = y2 ^ a0;
    let y11 = y9 ^ y20;
    let y17 = y10 ^ y11;

    let z = invert([
        x7, y1, y2, y3, y4, y5, y6, y7, y8, y9, y10, y11, y12, y13, y14, y15, y16, y17, y18, y19, y20, y21,
    ]);

    let b0 = z[6] ^ z[15];
    let b1 = z[12] ^ b0;
    let b2 = z[13] ^ b1;
    let b3 = z[16] ^ b2;
    let b4 = z[8] ^ b3;
    let b5 = z[3] ^ b4;
    let v7 = z[5] ^ b5;
    let b6 = z[4] ^ b5;
    let b7 = z[1] ^ b6;
    let b8 = z[2] ^ z[10];
    let b9 = z[11] ^ z[17];
    let b10 = z[0] ^ b4;
    let v4 = z[2] ^ b10;
    let b11 = z[7] ^ b6;
    let v1 = z[8] ^ b11;
    let b12 = v7 ^ b10;
    let v2 = b7 ^ b12;
    let b13 = z[14] ^ b8;
    let b14 = b7 ^ b13;
    let b15 = z[16] ^ v1;
    let b16 = b8 ^ b15;
    let b17 = b12 ^ b16;
    let v3 = b9 ^ b17;
    let b18 = z[11] ^ z[13];
    let v5 = b14 ^ b18;
    let b19 = z[9] ^ b9;
    let v0 = z[15] ^ b19;
    let b20 = b0 ^ b3;
    let b21 = v5 ^ b20;
    let v6 = b19 ^ b21;
    [v0, v1, v2, v3, v4, v5, v6, v7]
}

/// Inversion in GF(2⁸) as a tower over GF(2⁴). The inputs are 22 XORs of input bits (y₀ is the publication's
/// x₇). The bits of the inverse are XORs of the 18 products that it returns.
#[inline(always)]
pub(super) fn invert<W: Word>(y: [W; FORMS]) -> [W; PRODUCTS] {
    let t2 = y[12] & y[15];
    let t3 = y[3] & y[6];
    let t4 = t3 ^ t2;
    let t5 = y[4] & y[0];
    let t6 = t5 ^ t2;
    let t7 = y[13] & y[16];
    let t8 = y[5] & y[1];
    let t9 = t8 ^ t7;
    let t10 = y[2] & y[7];
    let t11 = t10 ^ t7;
    let t12 = y[9] & y[11];
    let t13 = y[14] & y[17];
    let t14 = t13 ^ t12;
    let t15 = y[8] & y[10];
    let t16 = t15 ^ t12;
    let t17 = t4 ^ t14;
    let t18 = t6 ^ t16;
    let t19 = t9 ^ t14;
    let t20 = t11 ^ t16;
    let t21 = t17 ^ y[20];
    let t22 = t18 ^ y[19];
    let t23 = t19 ^ y[21];
    let t24 = t20 ^ y[18];

    let t25 = t21 ^ t22;
    let t26 = t21 & t23;
    let t27 = t24 ^ t26;
    let t28 = t25 & t27;
    let t29 = t28 ^ t22;
    let t30 = t23 ^ t24;
    let t31 = t22 ^ t26;
    let t32 = t31 & t30;
    let t33 = t32 ^ t24;
    let t34 = t23 ^ t33;
    let t35 = t27 ^ t33;
    let t36 = t24 & t35;
    let t37 = t36 ^ t34;
    let t38 = t27 ^ t36;
    let t39 = t29 & t38;
    let t40 = t25 ^ t39;

    let t41 = t40 ^ t37;
    let t42 = t29 ^ t33;
    let t43 = t29 ^ t40;
    let t44 = t33 ^ t37;
    let t45 = t42 ^ t41;
    [
        t44 & y[15],
        t37 & y[6],
        t33 & y[0],
        t43 & y[16],
        t40 & y[1],
        t29 & y[7],
        t42 & y[11],
        t45 & y[17],
        t41 & y[10],
        t44 & y[12],
        t37 & y[3],
        t33 & y[4],
        t43 & y[13],
        t40 & y[5],
        t29 & y[2],
        t42 & y[9],
        t45 & y[14],
        t41 & y[8],
    ]
}
