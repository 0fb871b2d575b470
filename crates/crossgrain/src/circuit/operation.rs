//! What a gate computes: a function of bits, or something of lanes of 32 bits.
//!
//! Lanes are words; two of them are one number of 64 bits where an operation says so.

use crate::word::{Arithmetic, Lanes as _, U64};

/// What a gate computes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Operation {
    /// The function of up to three bits with these values: bit Σ 2ʲ·xⱼ, where the last input is x₀ and the
    /// first the highest.
    Table(u8),
    /// This value in every lane.
    Constant(u32),
    /// A word in every lane that is given when the circuit runs: the one of this number.
    Given(u32),
    /// Lanes shifted towards their high end.
    ShiftLeft(u32),
    /// Lanes shifted towards their low end.
    ShiftRight(u32),
    /// Lanes rotated towards their high end.
    RotateLeft(u32),
    /// The sum of two lanes, modulo 2³².
    Add,
    /// The product of two lanes, modulo 2³².
    Multiply,
    /// Bytes of two lanes, a nibble for each, the lowest byte's nibble lowest: 0 to 3 is a byte of the first lane, 4 to 7 one of
    /// the second.
    Bytes(u16),
    /// The upper 32 bits of the product of two lanes.
    MultiplyHigh,
    /// The first lane shifted towards its high end by the low five bits of the second.
    ShiftLeftBy,
    /// The first lane shifted towards its low end by the low five bits of the second.
    ShiftRightBy,
    /// How many zeros are above a lane's highest one.
    LeadingZeros,
    /// The entry of the table of this number that a lane says, which is within it.
    LookUp(u32),
    /// What is computed of lanes as `f32`.
    Single(Arithmetic),
    /// Two lanes as one number of 64 bits, the low one first.
    Pair,
    /// The lower lane of such a number.
    Low,
    /// The upper lane of such a number.
    High,
    /// What is computed of such numbers as `f64`: another, or of a comparison a lane.
    Double(Arithmetic),
}

impl Operation {
    /// The result for these operands; of a pair it is both lanes.
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

    /// The same of lanes alone.
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
