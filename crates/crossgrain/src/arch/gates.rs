//! Three-input gates from two-input gates, for words whose CPU has no instruction for them.
//!
//! Shannon's expansion is f(a, b, c) = f₀ ⊕ (t ∧ (f₀ ⊕ f₁)). Here t is one input, and f₀ and f₁ are
//! functions of the other two inputs: f with t = 0 and with t = 1. The input t that needs the fewest gates is
//! chosen at compile time.

use super::Word;

/// The truth table of a two-input gate: bit 2·a + b is the output.
type Table = i32;

/// The gate whose output is bit 4·a + 2·b + c of `TABLE`.
#[inline(always)]
pub(crate) fn ternary<W: Word, const TABLE: i32>(a: W, b: W, c: W) -> W {
    let top = const { cheapest_top(TABLE) };
    let (zero, one) =
        const { (cofactor(TABLE, cheapest_top(TABLE), 0), cofactor(TABLE, cheapest_top(TABLE), 1)) };
    let (t, u, v) = match top {
        0 => (a, b, c),
        1 => (b, a, c),
        _ => (c, a, b),
    };
    match (zero, one) {
        (0b0000, one) => t & binary(one, u, v),
        (zero, 0b0000) => !t & binary(zero, u, v),
        (0b1111, one) => !(t & binary(one ^ 0b1111, u, v)),
        (zero, 0b1111) => !(!t & binary(zero ^ 0b1111, u, v)),
        (zero, one) if zero ^ one == 0b1111 => t ^ binary(zero, u, v),
        (zero, one) => binary(zero, u, v) ^ (t & binary(zero ^ one, u, v)),
    }
}

/// The truth table that remains if input `top` (0 for a, 2 for c) has `value`.
const fn cofactor(table: i32, top: usize, value: usize) -> Table {
    let (mut rest, mut at) = (0, 0);
    while at < 4 {
        let (u, v) = (at >> 1, at & 1);
        let index = match top {
            0 => 4 * value + 2 * u + v,
            1 => 4 * u + 2 * value + v,
            _ => 4 * u + 2 * v + value,
        };
        rest |= (table >> index & 1) << at;
        at += 1;
    }
    rest
}

const fn cheapest_top(table: i32) -> usize {
    let (mut best, mut top) = (0, 1);
    while top < 3 {
        if cost(table, top) < cost(table, best) {
            best = top;
        }
        top += 1;
    }
    best
}

/// The number of two-input gates if input `top` is t, complements not counted.
const fn cost(table: i32, top: usize) -> usize {
    let (zero, one) = (cofactor(table, top, 0), cofactor(table, top, 1));
    if zero == one {
        gates(zero)
    } else if zero == 0 || zero == 0b1111 {
        1 + gates(one)
    } else if one == 0 || one == 0b1111 || zero ^ one == 0b1111 {
        1 + gates(zero)
    } else {
        2 + gates(zero) + gates(zero ^ one)
    }
}

/// 0 for a constant or an input or its complement, else 1.
const fn gates(table: Table) -> usize {
    !matches!(table, 0b0000 | 0b1111 | 0b1100 | 0b0011 | 0b1010 | 0b0101) as usize
}

/// The two-input gate with this truth table.
#[inline(always)]
fn binary<W: Word>(table: Table, a: W, b: W) -> W {
    match table {
        0b0000 => a & !a,
        0b0001 => !a & !b,
        0b0010 => !a & b,
        0b0100 => a & !b,
        0b0110 => a ^ b,
        0b1000 => a & b,
        0b1010 => b,
        0b1100 => a,
        0b0011 => !a,
        0b0101 => !b,
        0b0111 => !(a & b),
        0b1001 => !(a ^ b),
        0b1011 => !(a & !b),
        0b1101 => !(!a & b),
        0b1110 => !(!a & !b),
        _ => !(a & !a),
    }
}
