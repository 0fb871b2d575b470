//! The operation of a gate: a Boolean function, or an operation on 32-bit lanes.
//!
//! Some operations take two lanes as one 64-bit number.

use crate::arch::{Arithmetic, Lanes as _, U64};

/// The operation of a gate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Operation {
    /// A Boolean function of up to three bits. Bit Σ 2ʲ·xⱼ of the table is its value; the last input is x₀,
    /// and the first input has the highest weight.
    Table(u8),
    /// This value in every lane.
    Constant(u32),
    /// A word supplied at run time, by number, in every lane.
    Given(u32),
    /// Shifts lanes left.
    ShiftLeft(u32),
    /// Shifts lanes right.
    ShiftRight(u32),
    /// Rotates lanes left.
    RotateLeft(u32),
    /// The sum of two lanes, modulo 2³².
    Add,
    /// The product of two lanes, modulo 2³².
    Multiply,
    /// Selects bytes of two lanes, by one nibble per byte, lowest first. 0 to 3 is a byte of the first lane,
    /// 4 to 7 a byte of the second.
    Bytes(u16),
    /// The upper 32 bits of the product of two lanes.
    MultiplyHigh,
    /// The first lane shifted left by the low five bits of the second.
    ShiftLeftBy,
    /// The first lane shifted right by the low five bits of the second.
    ShiftRightBy,
    /// The number of leading zeros of a lane.
    LeadingZeros,
    /// The entry at index `lane` of the table with this number. The index must be within the table.
    LookUp(u32),
    /// Arithmetic on lanes as `f32`.
    Single(Arithmetic),
    /// Two lanes as one 64-bit number, the low lane first.
    Pair,
    /// The low lane of a 64-bit number.
    Low,
    /// The high lane of a 64-bit number.
    High,
    /// Arithmetic on 64-bit numbers as `f64`. The result is a 64-bit number, or a lane for comparisons.
    Double(Arithmetic),
}

impl Operation {
    /// The result for these operands. A pair's result contains both lanes.
    pub(super) fn evaluate(self, operands: &[u64]) -> u64 {
        let words: Vec<_> = operands.iter().map(|&word| word as u32).collect();
        let pair = |at: usize| U64::filled(0, operands.get(at).copied().unwrap_or(0));
        let whole = |[low, high]: [u32; 2]| u64::from(high) << 32 | u64::from(low);
        match self {
            Self::Pair => whole([words[0], words[1]]),
            Self::Low => operands[0],
            Self::High => operands[0] >> 32,
            Self::Double(operation) => whole(u32::double(operation, pair(0).words(), pair(1).words())),
            _ => u64::from(self.evaluate_lanes(&words)),
        }
    }

    /// The result of an operation that takes only lanes.
    fn evaluate_lanes(self, operands: &[u32]) -> u32 {
        let [first, second] = [0, 1].map(|at| operands.get(at).copied().unwrap_or(0));
        match self {
            Self::Table(table) => {
                let index = |bit: u32| operands.iter().fold(0, |index, word| 2 * index + (word >> bit & 1));
                (0..u32::BITS).fold(0, |word, bit| word | (u32::from(table) >> index(bit) & 1) << bit)
            }
            Self::Constant(value) => value,
            Self::Given(_) | Self::LookUp(_) | Self::Pair | Self::Low | Self::High | Self::Double(_) => 0,
            Self::ShiftLeft(count) => first << count,
            Self::ShiftRight(count) => first >> count,
            Self::RotateLeft(count) => first.rotate_left(count),
            Self::Add => first.wrapping_add(second),
            Self::Multiply => first.wrapping_mul(second),
            Self::Bytes(selector) => (0..4).fold(0, |word, to| {
                let from = usize::from(selector >> (4 * to) & 7);
                word | (operands[from / 4] >> (8 * (from % 4)) & 0xff) << (8 * to)
            }),
            Self::MultiplyHigh => first.multiply_lanes_high(second),
            Self::ShiftLeftBy => first.shift_lanes_left_by(second),
            Self::ShiftRightBy => first.shift_lanes_right_by(second),
            Self::LeadingZeros => first.leading_zeros(),
            Self::Single(operation) => u32::single(operation, first, second),
        }
    }
}
