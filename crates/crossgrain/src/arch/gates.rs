//! Three-input gates from two-input gates, for words whose CPU has no instruction for them.
//!
//! Shannon's expansion is f(a, b, c) = f₀ ⊕ (t ∧ (f₀ ⊕ f₁)). Here t is one input, and f₀ and f₁ are
//! functions of the other two inputs: f with t = 0 and with t = 1. The input t that needs the fewest gates is
//! chosen at compile time.

use super::Word;

/// The truth table of a two-input gate: bit 2·a + b is the output.
type Table = i32;

/// The gate whose output is bit 4·a + 2·b + c of `TABLE`.
///
/// Each condition is a constant, so that the compiler drops the other branches before it optimises.
#[inline(always)]
pub(crate) fn ternary<W: Word, const TABLE: i32>(a: W, b: W, c: W) -> W {
    if const { Split::of(TABLE).top == 0 } {
        expanded::<W, TABLE>(a, b, c)
    } else if const { Split::of(TABLE).top == 1 } {
        expanded::<W, TABLE>(b, a, c)
    } else {
        expanded::<W, TABLE>(c, a, b)
    }
}

/// Shannon's expansion: t is the chosen input.
#[inline(always)]
fn expanded<W: Word, const TABLE: i32>(t: W, u: W, v: W) -> W {
    if const { Split::of(TABLE).zero == 0 } {
        t & binary(const { Split::of(TABLE).one }, u, v)
    } else if const { Split::of(TABLE).one == 0 } {
        !t & binary(const { Split::of(TABLE).zero }, u, v)
    } else if const { Split::of(TABLE).zero == 0b1111 } {
        !(t & binary(const { Split::of(TABLE).one ^ 0b1111 }, u, v))
    } else if const { Split::of(TABLE).one == 0b1111 } {
        !(!t & binary(const { Split::of(TABLE).zero ^ 0b1111 }, u, v))
    } else if const { Split::of(TABLE).zero ^ Split::of(TABLE).one == 0b1111 } {
        t ^ binary(const { Split::of(TABLE).zero }, u, v)
    } else {
        let difference = binary(const { Split::of(TABLE).zero ^ Split::of(TABLE).one }, u, v);
        binary(const { Split::of(TABLE).zero }, u, v) ^ (t & difference)
    }
}

/// The expansion of a gate.
struct Split {
    /// The number of the input t.
    top: usize,
    /// The gate of the other two inputs if t is 0.
    zero: Table,
    /// The gate of the other two inputs if t is 1.
    one: Table,
}

impl Split {
    const fn of(table: i32) -> Self {
        let top = cheapest_top(table);
        Self { top, zero: cofactor(table, top, 0), one: cofactor(table, top, 1) }
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
