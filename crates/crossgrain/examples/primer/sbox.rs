//! Lesson 4: a constant table designed to have as little structure as possible: the AES S-box.
//!
//! Across the grain it is the library's circuit of 115 gates, and four NOTs for the constant.

use crossgrain::engine::arch::Register;
use crossgrain::engine::circuit::aes_sbox;
use crossgrain::engine::layout::convert::{BitGroup, Group};

use crate::lesson::{Lesson, Memory};
use crate::popcount::look_up;

pub(crate) struct Sbox;

/// The S-box (FIPS 197 §5.1.1).
static TABLE: [u8; 256] = table();

impl Lesson<8, 8, 8> for Sbox {
    const TITLE: &'static str = "4. AES S-box: a table along the grain, 119 gates across";

    fn plain(a: u32, _b: u32) -> u32 {
        u32::from(substitute(inverse(a as u8)))
    }

    #[inline(always)]
    fn along<W: Register>(_isa: W::Isa, memory: &mut Memory) {
        look_up(&TABLE, memory);
    }

    #[inline(always)]
    fn circuit<W: Register>(_isa: W::Isa, x: &[W; 8], _b: &[W; 8], out: &mut [W; 8]) {
        *out = aes_sbox::forward(*x);
        for (bit, word) in out.iter_mut().enumerate() {
            if aes_sbox::CONSTANT >> bit & 1 == 1 {
                *word = !*word;
            }
        }
    }

    #[inline(always)]
    fn lay_across<W: Register>(isa: W::Isa, along: &[W; 8], across: &mut [W; 8]) {
        let mut group = *along;
        BitGroup::transpose(isa, &mut group);
        *across = group;
    }

    #[inline(always)]
    fn lay_along<W: Register>(isa: W::Isa, across: &mut [W; 8], along: &mut [W; 8]) {
        BitGroup::transpose(isa, across);
        *along = *across;
    }
}

const fn table() -> [u8; 256] {
    let mut table = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        table[byte] = substitute(inverse(byte as u8));
        byte += 1;
    }
    table
}

/// The inverse in AES's field as the power 254, with 0 for 0.
const fn inverse(byte: u8) -> u8 {
    let (mut power, mut product, mut i) = (byte, 1, 1);
    while i < 8 {
        power = multiply(power, power);
        product = multiply(product, power);
        i += 1;
    }
    product
}

const fn multiply(a: u8, b: u8) -> u8 {
    let (mut product, mut bit) = (0_u8, 8);
    while bit > 0 {
        bit -= 1;
        let reduction = (product >> 7) * 0x1b;
        product = (product << 1) ^ reduction ^ ((b >> bit & 1) * a);
    }
    product
}

/// The affine map after the inversion.
const fn substitute(x: u8) -> u8 {
    x ^ x.rotate_left(1) ^ x.rotate_left(2) ^ x.rotate_left(3) ^ x.rotate_left(4) ^ aes_sbox::CONSTANT
}
