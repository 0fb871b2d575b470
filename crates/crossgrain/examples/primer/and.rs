//! Lesson 1: AND of booleans. Along the grain a bool takes a byte, in which seven bits carry no information.
//!
//! Both forms use the same instruction. Across the grain, each of its bits is a value.

use crossgrain::engine::arch::{Register, TILE_BYTES};

use crate::lesson::{Lesson, Memory, keep_width};

pub(crate) struct And;

/// The bits that a bool, as a byte, can have.
const TRUE_BYTES: u64 = 0x0101_0101_0101_0101;

impl Lesson<8, 1, 1> for And {
    const TITLE: &'static str = "1. AND of two booleans: a byte each along the grain, a bit each across";

    fn plain(a: u32, b: u32) -> u32 {
        u32::from(a == 1 && b == 1)
    }

    #[inline(always)]
    fn along<W: Register>(isa: W::Isa, memory: &mut Memory) {
        let (a, b, out) = memory.tiles();
        for i in 0..TILE_BYTES / W::BYTES {
            let ([a], [b]) = (a.bundle::<W, 1>(isa, i), b.bundle::<W, 1>(isa, i));
            *out.bundle_mut(isa, i) = [*a & *b];
            keep_width::<W>();
        }
    }

    #[inline(always)]
    fn circuit<W: Register>(_isa: W::Isa, [a]: &[W; 1], [b]: &[W; 1], out: &mut [W; 1]) {
        *out = [*a & *b];
    }

    /// Packs eight words of bytes into one word of bits: word j becomes bit j of every byte.
    #[inline(always)]
    fn lay_across<W: Register>(_isa: W::Isa, along: &[W; 8], across: &mut [W; 1]) {
        let mut packed = along[7];
        for j in (0..7).rev() {
            packed = packed.shift_left::<1>() ^ along[j];
        }
        *across = [packed];
    }

    #[inline(always)]
    fn lay_along<W: Register>(isa: W::Isa, [packed]: &mut [W; 1], along: &mut [W; 8]) {
        let (ones, mut packed) = (W::splat(isa, TRUE_BYTES), *packed);
        for word in along {
            *word = packed & ones;
            packed = packed.shift_right::<1>();
        }
    }
}
