//! Serpent's eight S-boxes and their inverses: in three-input gates for words that have them, in two-input
//! gates for all others.
//!
//! Word i of the input is bit i of it, word 0 least significant. The two-input circuits omit the constant
//! S(0). A function with f(0) = 0 needs no complement, since each gate can complement either input at no cost
//! (`pandn`). If a round key is added next, the caller adds the constant to the round key, once.
//! Invariant: equal to the tables on all 16 inputs in every lane (`tests/laws.rs`).

mod three;
mod two;

use crate::arch::{Word, each};

/// Calls the circuit with number `$index` modulo 8.
macro_rules! numbered {
    ($index:ident, $x:ident, $texts:ident, $s0:ident $s1:ident $s2:ident $s3:ident $s4:ident $s5:ident $s6:ident $s7:ident) => {
        match $index % 8 {
            0 => $texts::$s0($x),
            1 => $texts::$s1($x),
            2 => $texts::$s2($x),
            3 => $texts::$s3($x),
            4 => $texts::$s4($x),
            5 => $texts::$s5($x),
            6 => $texts::$s6($x),
            _ => $texts::$s7($x),
        }
    };
}

/// S-box `index` modulo 8.
#[inline(always)]
pub fn forward<W: Word>(index: usize, x: [W; 4]) -> [W; 4] {
    complemented(forward_but_constant(index, x), forward_constant::<W>(index))
}

/// The inverse of S-box `index` modulo 8.
#[inline(always)]
pub fn inverse<W: Word>(index: usize, x: [W; 4]) -> [W; 4] {
    complemented(inverse_but_constant(index, x), inverse_constant::<W>(index))
}

#[inline(always)]
fn complemented<W: Word>(y: [W; 4], constant: u8) -> [W; 4] {
    each!(i < 4 => if constant >> i & 1 == 1 { !y[i] } else { y[i] })
}

/// S-box `index` modulo 8, without [`forward_constant`].
#[inline(always)]
pub(crate) fn forward_but_constant<W: Word>(index: usize, x: [W; 4]) -> [W; 4] {
    if W::has_ternary() {
        numbered!(index, x, three, s0 s1 s2 s3 s4 s5 s6 s7)
    } else {
        numbered!(index, x, two, s0 s1 s2 s3 s4 s5 s6 s7)
    }
}

/// The inverse of S-box `index` modulo 8, without [`inverse_constant`].
#[inline(always)]
pub(crate) fn inverse_but_constant<W: Word>(index: usize, x: [W; 4]) -> [W; 4] {
    if W::has_ternary() {
        numbered!(index, x, three, inv_s0 inv_s1 inv_s2 inv_s3 inv_s4 inv_s5 inv_s6 inv_s7)
    } else {
        numbered!(index, x, two, inv_s0 inv_s1 inv_s2 inv_s3 inv_s4 inv_s5 inv_s6 inv_s7)
    }
}

/// The constant that [`forward_but_constant`] omits: if bit i is set, word i must be complemented.
#[inline(always)]
pub(crate) fn forward_constant<W: Word>(index: usize) -> u8 {
    if W::has_ternary() { 0 } else { two::FORWARD_CONSTANTS[index % 8] }
}

/// The constant that [`inverse_but_constant`] omits, in the same form.
#[inline(always)]
pub(crate) fn inverse_constant<W: Word>(index: usize) -> u8 {
    if W::has_ternary() { 0 } else { two::INVERSE_CONSTANTS[index % 8] }
}
