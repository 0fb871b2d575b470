//! S-box circuits of three-input gates.
//!
//! S₀ to S₇ take 7 8 7 8 7 7 8 8 gates and the inverses 7 8 7 8 8 8 7 8. If a round key is added next, a
//! final two-input XOR takes the key as its third input. Not counting the key addition, 6 6 6 7 7 7 7 8 and 6
//! 7 6 8 7 7 6 7 gates then remain.
//! Source: our own depth-first search over sets of three-input gates, in which an output is taken as soon as
//! one gate gives it. Among the circuits found, we chose the one with the fewest gates apart from the key
//! addition, then the one with the fewest two-input gates. Published for AVX-512: 8 8 9 9 9 9 9 9 and 8 8 8 9
//! 9 9 9 9 (Botan).

use crate::arch::Word;

#[inline(always)]
pub(super) fn s0<W: Word>([x0, x1, x2, x3]: [W; 4]) -> [W; 4] {
    let t0 = W::ternary::<0x36>(x3, x1, x0);
    let t1 = W::ternary::<0xb8>(x3, x1, x0);
    let t2 = W::ternary::<0xe8>(t1, t0, x2);
    let y1 = W::ternary::<0x69>(t2, x3, x0);
    let y0 = W::ternary::<0x96>(y1, t1, x2);
    let y2 = W::ternary::<0xa9>(y0, y1, t0);
    let y3 = t0 ^ x2;
    [y0, y1, y2, y3]
}

#[inline(always)]
pub(super) fn s1<W: Word>([x0, x1, x2, x3]: [W; 4]) -> [W; 4] {
    let t0 = W::ternary::<0x06>(x3, x1, x0);
    let t1 = W::ternary::<0xb4>(x2, x1, x0);
    let t2 = W::ternary::<0xac>(t1, t0, x1);
    let y3 = W::ternary::<0x69>(t2, x3, x0);
    let t3 = W::ternary::<0x96>(t1, t0, x1);
    let y0 = W::ternary::<0x95>(t3, y3, t1);
    let y2 = !(t1 ^ x3);
    let y1 = t3 ^ y3;
    [y0, y1, y2, y3]
}

#[inline(always)]
pub(super) fn s2<W: Word>([x0, x1, x2, x3]: [W; 4]) -> [W; 4] {
    let t0 = W::ternary::<0x9c>(x3, x1, x0);
    let t1 = W::ternary::<0x78>(x3, x2, x0);
    let y0 = W::ternary::<0x96>(t1, x2, x1);
    let t2 = W::ternary::<0x6a>(t1, t0, x2);
    let y3 = W::ternary::<0x69>(t2, t0, x0);
    let y2 = W::ternary::<0xa9>(y3, t2, t1);
    let y1 = y2 ^ t2;
    [y0, y1, y2, y3]
}

#[inline(always)]
pub(super) fn s3<W: Word>([x0, x1, x2, x3]: [W; 4]) -> [W; 4] {
    let t0 = W::ternary::<0x6c>(x3, x1, x0);
    let t1 = W::ternary::<0x72>(x3, x1, x0);
    let y3 = W::ternary::<0x36>(t1, t0, x2);
    let t2 = W::ternary::<0x9c>(t1, x2, x1);
    let y2 = W::ternary::<0xd2>(t2, y3, x0);
    let t3 = W::ternary::<0x56>(y3, t1, x0);
    let y0 = W::ternary::<0x9a>(t3, y2, t1);
    let y1 = t3 ^ y2;
    [y0, y1, y2, y3]
}

#[inline(always)]
pub(super) fn s4<W: Word>([x0, x1, x2, x3]: [W; 4]) -> [W; 4] {
    let t0 = W::ternary::<0x36>(x3, x2, x0);
    let t1 = W::ternary::<0xe2>(x3, x1, x0);
    let y0 = W::ternary::<0x69>(t1, t0, x1);
    let t2 = W::ternary::<0x96>(x3, x1, x0);
    let y2 = W::ternary::<0x8b>(t2, y0, t1);
    let y3 = W::ternary::<0xe1>(t2, y0, x1);
    let y1 = W::ternary::<0x9a>(y2, t2, t0);
    [y0, y1, y2, y3]
}

#[inline(always)]
pub(super) fn s5<W: Word>([x0, x1, x2, x3]: [W; 4]) -> [W; 4] {
    let t0 = W::ternary::<0xb4>(x2, x1, x0);
    let t1 = W::ternary::<0xa6>(t0, x3, x1);
    let y1 = W::ternary::<0x69>(t1, t0, x0);
    let y0 = W::ternary::<0x39>(y1, t0, x3);
    let t2 = W::ternary::<0x9c>(t0, x3, x2);
    let y3 = W::ternary::<0x1e>(t2, y1, t1);
    let y2 = W::ternary::<0x65>(y3, y0, t1);
    [y0, y1, y2, y3]
}

#[inline(always)]
pub(super) fn s6<W: Word>([x0, x1, x2, x3]: [W; 4]) -> [W; 4] {
    let t0 = W::ternary::<0xa6>(x3, x1, x0);
    let t1 = W::ternary::<0x9a>(t0, x3, x2);
    let y1 = W::ternary::<0x69>(t1, t0, x1);
    let t2 = W::ternary::<0x6c>(t1, x3, x1);
    let y2 = W::ternary::<0x65>(t2, y1, t1);
    let t3 = W::ternary::<0x6a>(t2, t1, t0);
    let y3 = W::ternary::<0xa9>(t3, y2, t2);
    let y0 = !(y3 ^ t3);
    [y0, y1, y2, y3]
}

#[inline(always)]
pub(super) fn s7<W: Word>([x0, x1, x2, x3]: [W; 4]) -> [W; 4] {
    let t0 = W::ternary::<0x90>(x3, x1, x0);
    let t1 = W::ternary::<0x06>(t0, x3, x2);
    let y0 = W::ternary::<0x87>(t1, x1, x0);
    let t2 = W::ternary::<0xe6>(y0, x2, x1);
    let y2 = W::ternary::<0x1e>(t2, t0, x0);
    let t3 = W::ternary::<0x6a>(x3, x1, x0);
    let y1 = W::ternary::<0x2d>(t3, y2, y0);
    let y3 = W::ternary::<0x9c>(t3, t2, t1);
    [y0, y1, y2, y3]
}

#[inline(always)]
pub(super) fn inv_s0<W: Word>([x0, x1, x2, x3]: [W; 4]) -> [W; 4] {
    let t0 = W::ternary::<0xda>(x3, x1, x0);
    let t1 = W::ternary::<0x1e>(x2, x1, x0);
    let t2 = W::ternary::<0x5c>(x3, x1, x0);
    let y3 = W::ternary::<0x93>(t2, t0, x2);
    let y0 = W::ternary::<0x96>(y3, t2, t1);
    let y1 = W::ternary::<0xa9>(y0, y3, t1);
    let y2 = !(t1 ^ x3);
    [y0, y1, y2, y3]
}

#[inline(always)]
pub(super) fn inv_s1<W: Word>([x0, x1, x2, x3]: [W; 4]) -> [W; 4] {
    let t0 = W::ternary::<0x9c>(x3, x2, x1);
    let y3 = W::ternary::<0x5a>(t0, x1, x0);
    let t1 = W::ternary::<0xd8>(x3, x1, x0);
    let t2 = W::ternary::<0x4e>(x3, x1, x0);
    let y2 = W::ternary::<0x63>(t2, t1, x2);
    let t3 = W::ternary::<0x96>(t1, x2, x0);
    let y1 = W::ternary::<0x6c>(t3, t2, y3);
    let y0 = !(y1 ^ t3);
    [y0, y1, y2, y3]
}

#[inline(always)]
pub(super) fn inv_s2<W: Word>([x0, x1, x2, x3]: [W; 4]) -> [W; 4] {
    let t0 = W::ternary::<0x9c>(x3, x2, x1);
    let t1 = W::ternary::<0x3a>(x3, x2, x1);
    let y1 = W::ternary::<0x9c>(t1, t0, x0);
    let y2 = W::ternary::<0x39>(t1, t0, x0);
    let t2 = W::ternary::<0x6a>(y1, t1, x3);
    let y3 = W::ternary::<0x95>(t2, y2, t1);
    let y0 = !(t2 ^ y2);
    [y0, y1, y2, y3]
}

#[inline(always)]
pub(super) fn inv_s3<W: Word>([x0, x1, x2, x3]: [W; 4]) -> [W; 4] {
    let t0 = W::ternary::<0xb6>(x2, x1, x0);
    let t1 = W::ternary::<0xd2>(x2, x1, x0);
    let y3 = W::ternary::<0x6c>(t1, t0, x3);
    let t2 = W::ternary::<0x56>(t1, x3, x0);
    let y0 = W::ternary::<0x9a>(t2, y3, t1);
    let t3 = W::ternary::<0xa6>(y3, t1, x1);
    let y1 = W::ternary::<0x9a>(t3, y0, t2);
    let y2 = W::ternary::<0x9c>(y1, t3, y0);
    [y0, y1, y2, y3]
}

#[inline(always)]
pub(super) fn inv_s4<W: Word>([x0, x1, x2, x3]: [W; 4]) -> [W; 4] {
    let t0 = W::ternary::<0x12>(x3, x1, x0);
    let t1 = W::ternary::<0xa6>(x3, x2, x1);
    let y3 = W::ternary::<0xd2>(t1, t0, x0);
    let t2 = W::ternary::<0x6c>(t1, x2, x0);
    let y1 = W::ternary::<0xb4>(t2, x3, x0);
    let t3 = W::ternary::<0xc6>(t2, x3, x0);
    let y2 = W::ternary::<0xc5>(t3, t2, t1);
    let y0 = !(t3 ^ y3);
    [y0, y1, y2, y3]
}

#[inline(always)]
pub(super) fn inv_s5<W: Word>([x0, x1, x2, x3]: [W; 4]) -> [W; 4] {
    let t0 = W::ternary::<0x0a>(x2, x1, x0);
    let t1 = W::ternary::<0x6c>(x3, x2, x0);
    let y3 = W::ternary::<0x2d>(t1, t0, x1);
    let t2 = W::ternary::<0xc6>(t1, x3, x1);
    let y0 = W::ternary::<0x96>(t2, x1, x0);
    let y1 = W::ternary::<0x78>(t2, y3, x0);
    let t3 = W::ternary::<0x4d>(y1, y0, y3);
    let y2 = t3 ^ x0;
    [y0, y1, y2, y3]
}

#[inline(always)]
pub(super) fn inv_s6<W: Word>([x0, x1, x2, x3]: [W; 4]) -> [W; 4] {
    let t0 = W::ternary::<0x8e>(x3, x2, x0);
    let t1 = W::ternary::<0xb4>(x3, x2, x0);
    let t2 = W::ternary::<0xd2>(x3, x2, x0);
    let y0 = W::ternary::<0x87>(t2, t0, x1);
    let y3 = W::ternary::<0xe1>(t2, t0, x1);
    let y2 = W::ternary::<0x6a>(y3, y0, t1);
    let y1 = !(t1 ^ x1);
    [y0, y1, y2, y3]
}

#[inline(always)]
pub(super) fn inv_s7<W: Word>([x0, x1, x2, x3]: [W; 4]) -> [W; 4] {
    let t0 = W::ternary::<0xc6>(x2, x1, x0);
    let t1 = W::ternary::<0x2c>(t0, x3, x2);
    let y1 = W::ternary::<0x69>(t1, x2, x0);
    let t2 = W::ternary::<0x5c>(x3, x2, x0);
    let y0 = W::ternary::<0x95>(t2, y1, t0);
    let t3 = W::ternary::<0x56>(t2, t0, x3);
    let y3 = W::ternary::<0xc9>(t3, t2, y1);
    let y2 = !(t3 ^ y1);
    [y0, y1, y2, y3]
}
