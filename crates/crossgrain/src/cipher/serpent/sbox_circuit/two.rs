//! S-box circuits of two-input gates, each of which may complement either input. They omit the constant S(0).
//!
//! S₀ to S₇ take 14 13 13 16 14 13 14 16 gates and the inverses 13 15 12 17 14 15 14 15. The three-input
//! circuits, decomposed into two-input gates, would take 15 14 13 16 16 14 15 17 and 15 16 14 17 16 16 15 16,
//! complements not counted.
//! Source: our own search, starting from the decomposed circuits. It keeps all but a few gates of a circuit
//! and searches for the rest again, depth first. An output is taken as soon as one gate gives it.

use crate::arch::Word;

/// S(0) of S₀ to S₇.
pub(super) const FORWARD_CONSTANTS: [u8; 8] =
    [0b0011, 0b1111, 0b1000, 0b0000, 0b0001, 0b1111, 0b0111, 0b0001];

/// S⁻¹(0) of S₀ to S₇.
pub(super) const INVERSE_CONSTANTS: [u8; 8] =
    [0b1101, 0b0101, 0b1100, 0b0000, 0b0101, 0b1000, 0b1111, 0b0011];

#[inline(always)]
fn or<W: Word>(a: W, b: W) -> W {
    !(!a & !b)
}

#[inline(always)]
pub(super) fn s0<W: Word>([x0, x1, x2, x3]: [W; 4]) -> [W; 4] {
    let t0 = or(x3, x0);
    let t1 = t0 ^ x1;
    let t2 = x3 ^ x0;
    let y3 = t1 ^ x2;
    let t3 = x1 & x0;
    let t4 = x3 & !x1;
    let t5 = t4 ^ t3;
    let t6 = t5 ^ x2;
    let t7 = t2 ^ x2;
    let t8 = t7 & !t6;
    let y2 = t8 ^ t1;
    let t9 = t6 & !y3;
    let y0 = t9 ^ t7;
    let y1 = y0 ^ t6;
    [y0, y1, y2, y3]
}

#[inline(always)]
pub(super) fn s1<W: Word>([x0, x1, x2, x3]: [W; 4]) -> [W; 4] {
    let t0 = x1 & !x0;
    let t1 = x1 ^ x0;
    let t2 = t0 ^ x2;
    let t3 = t1 & !x3;
    let y2 = t2 ^ x3;
    let t4 = y2 ^ t1;
    let t5 = t3 ^ x1;
    let t6 = or(t5, t2);
    let y3 = t6 ^ t4;
    let t7 = t5 ^ t2;
    let y1 = t7 ^ y3;
    let t8 = t7 & !t4;
    let y0 = t8 ^ t5;
    [y0, y1, y2, y3]
}

#[inline(always)]
pub(super) fn s2<W: Word>([x0, x1, x2, x3]: [W; 4]) -> [W; 4] {
    let t0 = x3 & !x0;
    let t1 = t0 ^ x1;
    let t2 = x2 & x0;
    let t3 = t2 ^ x3;
    let t4 = x2 ^ x1;
    let y0 = t4 ^ t3;
    let t5 = t3 & t1;
    let t6 = t5 ^ x2;
    let t7 = t1 ^ x0;
    let y3 = t7 ^ t6;
    let t8 = t7 & !t6;
    let y2 = t8 ^ t3;
    let y1 = y2 ^ t6;
    [y0, y1, y2, y3]
}

#[inline(always)]
pub(super) fn s3<W: Word>([x0, x1, x2, x3]: [W; 4]) -> [W; 4] {
    let t0 = x3 & x0;
    let t1 = t0 ^ x1;
    let t2 = !x1 & x0;
    let t3 = x3 & !x0;
    let t4 = t3 ^ t2;
    let t5 = or(t4, x2);
    let y3 = t5 ^ t1;
    let t6 = t4 & !x1;
    let t7 = t6 ^ x2;
    let t8 = !y3 & x0;
    let y2 = t8 ^ t7;
    let t9 = or(y3, t4);
    let t10 = t9 ^ x0;
    let t11 = t10 & !y2;
    let y0 = t11 ^ t4;
    let y1 = t10 ^ y2;
    [y0, y1, y2, y3]
}

#[inline(always)]
pub(super) fn s4<W: Word>([x0, x1, x2, x3]: [W; 4]) -> [W; 4] {
    let t0 = or(x3, x0);
    let t1 = t0 ^ x2;
    let t2 = x1 ^ x0;
    let t3 = or(t2, x2);
    let t4 = t2 ^ x3;
    let t5 = !t4 & t3;
    let y1 = t5 ^ t1;
    let t6 = t2 ^ t1;
    let t7 = !t6 & x0;
    let y2 = or(t7, t5);
    let t8 = t6 & !x1;
    let y3 = t8 ^ t4;
    let t9 = !t4 & x1;
    let y0 = t9 ^ t6;
    [y0, y1, y2, y3]
}

#[inline(always)]
pub(super) fn s5<W: Word>([x0, x1, x2, x3]: [W; 4]) -> [W; 4] {
    let t0 = x1 & !x0;
    let t1 = t0 ^ x2;
    let t2 = t1 ^ x0;
    let t3 = !t1 & x3;
    let t4 = t3 ^ x1;
    let y1 = t4 ^ t2;
    let t5 = !y1 & x0;
    let t6 = y1 & x3;
    let y0 = t6 ^ t1;
    let t7 = !t5 & t2;
    let y3 = t7 ^ x3;
    let t8 = !y3 & y0;
    let y2 = t8 ^ t4;
    [y0, y1, y2, y3]
}

#[inline(always)]
pub(super) fn s6<W: Word>([x0, x1, x2, x3]: [W; 4]) -> [W; 4] {
    let t0 = !x3 & x1;
    let t1 = t0 ^ x0;
    let t2 = t1 & !x3;
    let t3 = t2 ^ x2;
    let t4 = t3 ^ t1;
    let t5 = t3 & x1;
    let t6 = t5 ^ x3;
    let y1 = t4 ^ x1;
    let t7 = y1 & t6;
    let y2 = t7 ^ t3;
    let t8 = or(y2, t4);
    let y0 = t8 ^ t6;
    let t9 = y0 & !y2;
    let y3 = t9 ^ t4;
    [y0, y1, y2, y3]
}

#[inline(always)]
pub(super) fn s7<W: Word>([x0, x1, x2, x3]: [W; 4]) -> [W; 4] {
    let t0 = x2 ^ x1;
    let t1 = x1 & x0;
    let t2 = x3 & x1;
    let t3 = x3 ^ x2;
    let t4 = t2 ^ x0;
    let t5 = !t4 & x3;
    let t6 = t4 & !t3;
    let t7 = !t5 & t3;
    let y0 = t7 ^ t1;
    let t8 = !y0 & x1;
    let t9 = or(t8, t0);
    let y3 = t9 ^ t6;
    let t10 = or(t5, x0);
    let y2 = t10 ^ t9;
    let t11 = or(y2, y0);
    let y1 = t11 ^ t4;
    [y0, y1, y2, y3]
}

#[inline(always)]
pub(super) fn inv_s0<W: Word>([x0, x1, x2, x3]: [W; 4]) -> [W; 4] {
    let t0 = or(x1, x0);
    let t1 = t0 ^ x2;
    let y2 = t1 ^ x3;
    let t2 = x1 ^ x0;
    let t3 = !t2 & x3;
    let t4 = t2 ^ y2;
    let t5 = t3 ^ x1;
    let t6 = t5 ^ t1;
    let t7 = !t6 & t4;
    let y1 = t7 ^ t1;
    let t8 = t5 & !t1;
    let y0 = t8 ^ t4;
    let y3 = y0 ^ t6;
    [y0, y1, y2, y3]
}

#[inline(always)]
pub(super) fn inv_s1<W: Word>([x0, x1, x2, x3]: [W; 4]) -> [W; 4] {
    let t0 = x1 & x0;
    let t1 = x3 & !x1;
    let t2 = x2 ^ x0;
    let t3 = x3 & x0;
    let y3 = t2 ^ t1;
    let t4 = or(x1, x0);
    let t5 = t4 ^ t3;
    let t6 = x3 & !x0;
    let t7 = t5 & !x2;
    let t8 = t6 ^ t0;
    let y2 = t8 ^ t7;
    let t9 = t8 ^ t2;
    let t10 = t9 & !y3;
    let y0 = t10 ^ t5;
    let y1 = y0 ^ t9;
    [y0, y1, y2, y3]
}

#[inline(always)]
pub(super) fn inv_s2<W: Word>([x0, x1, x2, x3]: [W; 4]) -> [W; 4] {
    let t0 = x2 ^ x1;
    let t1 = !t0 & x3;
    let t2 = t1 ^ x1;
    let t3 = x3 ^ x0;
    let t4 = t3 & !t2;
    let t5 = t4 ^ t0;
    let y1 = t5 ^ x0;
    let t6 = or(y1, t2);
    let y0 = t6 ^ t3;
    let y2 = t5 ^ t2;
    let t7 = or(y2, y0);
    let y3 = t7 ^ t5;
    [y0, y1, y2, y3]
}

#[inline(always)]
pub(super) fn inv_s3<W: Word>([x0, x1, x2, x3]: [W; 4]) -> [W; 4] {
    let t0 = x1 ^ x0;
    let t1 = !x1 & x0;
    let t2 = !t1 & x2;
    let t3 = t2 ^ t0;
    let t4 = t1 ^ x2;
    let t5 = t4 & x3;
    let y3 = t5 ^ t3;
    let t6 = or(t4, x3);
    let t7 = t6 ^ x0;
    let t8 = t7 & !y3;
    let y0 = t8 ^ t4;
    let t9 = !y3 & t4;
    let t10 = t9 ^ x1;
    let t11 = t10 & !y0;
    let y1 = t11 ^ t7;
    let t12 = y1 & !y0;
    let y2 = t12 ^ t10;
    [y0, y1, y2, y3]
}

#[inline(always)]
pub(super) fn inv_s4<W: Word>([x0, x1, x2, x3]: [W; 4]) -> [W; 4] {
    let t0 = x3 & !x0;
    let t1 = !x3 & x2;
    let t2 = t1 ^ x1;
    let t3 = t2 & x0;
    let t4 = t3 ^ x2;
    let y1 = t4 ^ t0;
    let t5 = !t4 & x0;
    let t6 = t5 ^ x3;
    let t7 = !t6 & t2;
    let t8 = t6 & !t4;
    let y2 = t8 ^ t7;
    let t9 = !t8 & x0;
    let y3 = t9 ^ t2;
    let y0 = y3 ^ t6;
    [y0, y1, y2, y3]
}

#[inline(always)]
pub(super) fn inv_s5<W: Word>([x0, x1, x2, x3]: [W; 4]) -> [W; 4] {
    let t0 = x1 ^ x0;
    let t1 = !x2 & x0;
    let t2 = x3 & x0;
    let t3 = t2 ^ x2;
    let t4 = !t3 & x1;
    let t5 = t4 ^ x3;
    let y0 = t5 ^ t0;
    let t6 = t5 ^ x2;
    let t7 = !t1 & x1;
    let t8 = !t7 & t6;
    let y3 = t7 ^ t3;
    let t9 = !y3 & x0;
    let y1 = t9 ^ t5;
    let t10 = or(t9, y0);
    let y2 = t10 ^ t8;
    [y0, y1, y2, y3]
}

#[inline(always)]
pub(super) fn inv_s6<W: Word>([x0, x1, x2, x3]: [W; 4]) -> [W; 4] {
    let t0 = x2 & !x0;
    let t1 = or(x2, x0);
    let t2 = x2 ^ x0;
    let t3 = t0 ^ x3;
    let t4 = t2 & x3;
    let t5 = t4 ^ t1;
    let t6 = t3 ^ t2;
    let t7 = t5 ^ x1;
    let y1 = t3 ^ x1;
    let t8 = t5 & x1;
    let y0 = t8 ^ t6;
    let y3 = y0 ^ t7;
    let t9 = or(y0, t7);
    let y2 = t9 ^ t3;
    [y0, y1, y2, y3]
}

#[inline(always)]
pub(super) fn inv_s7<W: Word>([x0, x1, x2, x3]: [W; 4]) -> [W; 4] {
    let t0 = x2 ^ x0;
    let t1 = !t0 & x3;
    let t2 = !x2 & x0;
    let t3 = t2 ^ x1;
    let t4 = or(x3, x2);
    let t5 = t4 & t3;
    let t6 = t5 ^ t0;
    let y1 = t6 ^ x3;
    let t7 = t1 ^ x2;
    let t8 = t7 & !y1;
    let y0 = t8 ^ t3;
    let t9 = or(t7, t3);
    let y2 = t9 ^ t6;
    let t10 = y2 & y1;
    let y3 = t10 ^ t7;
    [y0, y1, y2, y3]
}
