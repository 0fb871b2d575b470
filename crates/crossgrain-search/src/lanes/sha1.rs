//! SHA-1 on lanes. Source: FIPS 180-4.

use super::{HashWord as _, LaneHash, Narrow, sixteen};
use crossgrain::engine::arch::Lanes;

/// The first state.
const INITIAL: [u32; 5] = [0x6745_2301, 0xefcd_ab89, 0x98ba_dcfe, 0x1032_5476, 0xc3d2_e1f0];

/// The constants of the rounds: each of twenty.
const CONSTANTS: [u32; 4] = [0x5a82_7999, 0x6ed9_eba1, 0x8f1b_bcdc, 0xca62_c1d6];

/// Tables of the functions choice, parity and majority, as [`HashWord::ternary`](super::HashWord::ternary)
/// takes them.
const CHOICE: i32 = 0b1100_1010;
const PARITY: i32 = 0b1001_0110;
const MAJORITY: i32 = 0b1110_1000;

/// SHA-1.
pub(crate) struct Sha1;

impl<W: Lanes> LaneHash<Narrow<W>, 5> for Sha1 {
    #[inline(always)]
    fn initial(like: Narrow<W>) -> [Narrow<W>; 5] {
        let mut state = [like; 5];
        for (word, value) in state.iter_mut().zip(INITIAL) {
            *word = like.constant(value);
        }
        state
    }

    #[inline(always)]
    fn compress(state: [Narrow<W>; 5], mut block: [Narrow<W>; 16]) -> [Narrow<W>; 5] {
        let mut now = state;
        // Round i of the standard uses word i modulo 16, which is expanded from round 16 on.
        sixteen!(i => { now = round::<_, CHOICE>(now, block[i], CONSTANTS[0]); });
        sixteen!(i => {
            block[i] = expanded(&block, i);
            now = match i {
                0..4 => round::<_, CHOICE>(now, block[i], CONSTANTS[0]),
                _ => round::<_, PARITY>(now, block[i], CONSTANTS[1]),
            };
        });
        sixteen!(i => {
            block[i] = expanded(&block, i);
            now = match i {
                0..8 => round::<_, PARITY>(now, block[i], CONSTANTS[1]),
                _ => round::<_, MAJORITY>(now, block[i], CONSTANTS[2]),
            };
        });
        sixteen!(i => {
            block[i] = expanded(&block, i);
            now = match i {
                0..12 => round::<_, MAJORITY>(now, block[i], CONSTANTS[2]),
                _ => round::<_, PARITY>(now, block[i], CONSTANTS[3]),
            };
        });
        sixteen!(i => {
            block[i] = expanded(&block, i);
            now = round::<_, PARITY>(now, block[i], CONSTANTS[3]);
        });
        for (word, before) in now.iter_mut().zip(&state) {
            *word = word.plus(*before);
        }
        now
    }
}

#[inline(always)]
fn expanded<W: Lanes>(block: &[Narrow<W>; 16], i: usize) -> Narrow<W> {
    let three = Narrow::ternary::<PARITY>(block[(i + 13) % 16], block[(i + 8) % 16], block[(i + 2) % 16]);
    (three ^ block[i]).rotated::<1>()
}

#[inline(always)]
fn round<W: Lanes, const FUNCTION: i32>(
    [a, b, c, d, e]: [Narrow<W>; 5],
    word: Narrow<W>,
    constant: u32,
) -> [Narrow<W>; 5] {
    let function = Narrow::ternary::<FUNCTION>(b, c, d);
    let given = e.plus(word.plus(word.constant(constant)));
    [a.rotated::<5>().plus(function).plus(given), a, b.rotated::<30>(), c, d]
}
