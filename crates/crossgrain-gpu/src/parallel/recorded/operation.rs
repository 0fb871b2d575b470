//! The operations of recorded kernels: one table, from which device programs and loops over registers are
//! derived.
//!
//! A value has one or two words, the low one first. 32-bit numbers and masks have one word; `U64` and `F64`
//! have two. A table row gives the operation's name, the words of each operand, and the words of the
//! result. All rows are written over [`Lanes`], so every place gives the same bits.

use crossgrain::engine::arch::{Integer, Lane32, Lanes};

use super::super::U64;
use super::super::float::{F32, F64};

/// Number of elements per step on a CPU. The values of all steps then fit, or nearly fit, the first-level
/// cache.
pub(super) const ELEMENTS: usize = 256;

/// One word of `ELEMENTS` elements.
pub(super) type Row = [u8; 4 * ELEMENTS];

/// The first `N` words of a value.
#[inline(always)]
fn first<W: Lanes, const N: usize>(value: [W; 2]) -> [W; N] {
    let mut words = [value[0]; N];
    words[N - 1] = value[N - 1];
    words
}

/// Executes a step on the elements of a frame. `from` gives the first row of each operand, and `to` the
/// first row of the result. Two words of each operand are always read, so the frame has a spare row at the
/// end.
///
/// The operation is selected again for every register. The selection is the same each time, so the CPU
/// predicts it. A separate loop for each operation would take the compiler four times longer.
#[inline(always)]
pub(super) fn on_frame<W: Lane32>(
    isa: W::Isa,
    (operation, shift): (Operation, u32),
    frame: &mut [Row],
    (from, to): ([usize; 3], usize),
) {
    let mut at = 0;
    while at < 4 * ELEMENTS {
        let mut values = [[W::splat_lanes(isa, 0); 2]; 3];
        for (value, first) in values.iter_mut().zip(from) {
            for (p, word) in value.iter_mut().enumerate() {
                *word = W::load(isa, &frame[first + p][at..at + W::BYTES]);
            }
        }
        let made = operation.of(shift, values);
        for (p, word) in made.iter().enumerate().take(operation.words()) {
            word.store(&mut frame[to + p][at..at + W::BYTES]);
        }
        at += W::BYTES;
    }
}

macro_rules! operations {
    ($($Name:ident($($x:pat => $words:literal),*) -> $made:literal, |$count:ident| $result:expr;)*) => {
        /// An operation of a step.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub(super) enum Operation {
            $($Name),*
        }

        impl Operation {
            /// The operation with this name.
            pub(super) fn of_name(name: &str) -> Option<Self> {
                match name {
                    $(stringify!($Name) => Some(Self::$Name),)*
                    _ => None,
                }
            }

            /// Words per operand.
            pub(super) const fn operands(self) -> &'static [usize] {
                match self {
                    $(Self::$Name => &[$($words),*],)*
                }
            }

            /// Words of the result.
            pub(super) const fn words(self) -> usize {
                match self {
                    $(Self::$Name => $made,)*
                }
            }

            /// Applies the operation, on any words.
            #[inline(always)]
            #[allow(unused_variables, unused_assignments, reason = "rows differ in what they need")]
            pub(super) fn of<W: Lanes>(self, shift: u32, values: [[W; 2]; 3]) -> [W; 2] {
                match self {
                    $(Self::$Name => {
                        let ($count, mut operand) = (shift, 0);
                        $(
                            let $x: [W; $words] = first(values[operand]);
                            operand += 1;
                        )*
                        let made: [W; $made] = $result;
                        [made[0], made[$made - 1]]
                    })*
                }
            }
        }
    };
}

operations! {
    // Masks are 32-bit words.
    AddU32([a] => 1, [b] => 1) -> 1, |count| [a.add_lanes(b)];
    SubU32([a] => 1, [b] => 1) -> 1, |count| [!(!a).add_lanes(b)];
    MulU32([a] => 1, [b] => 1) -> 1, |count| [a.multiply_lanes(b)];
    AndU32([a] => 1, [b] => 1) -> 1, |count| [a & b];
    OrU32([a] => 1, [b] => 1) -> 1, |count| [!(!a & !b)];
    XorU32([a] => 1, [b] => 1) -> 1, |count| [a ^ b];
    NotU32([a] => 1) -> 1, |count| [!a];
    ShlU32([a] => 1) -> 1, |count| [a.shift_lanes_up(count)];
    ShrU32([a] => 1) -> 1, |count| [a.shift_lanes_down(count)];
    LessU32([a] => 1, [b] => 1) -> 1, |count| [a.less_lanes(b)];
    EqualU32([a] => 1, [b] => 1) -> 1, |count| [a.equal_lanes(b)];
    SelectU32([mask] => 1, [a] => 1, [b] => 1) -> 1, |count| [mask.select(a, b)];

    AddU64(a => 2, b => 2) -> 2, |count| (U64::new(a) + U64::new(b)).words();
    SubU64(a => 2, b => 2) -> 2, |count| (U64::new(a) - U64::new(b)).words();
    MulU64(a => 2, b => 2) -> 2, |count| (U64::new(a) * U64::new(b)).words();
    AndU64([a, b] => 2, [c, d] => 2) -> 2, |count| [a & c, b & d];
    OrU64([a, b] => 2, [c, d] => 2) -> 2, |count| [!(!a & !c), !(!b & !d)];
    XorU64([a, b] => 2, [c, d] => 2) -> 2, |count| [a ^ c, b ^ d];
    NotU64([a, b] => 2) -> 2, |count| [!a, !b];
    ShlU64(a => 2) -> 2, |count| U64::new(a).shifted_left(count).words();
    ShrU64(a => 2) -> 2, |count| U64::new(a).shifted_right(count).words();
    LessU64(a => 2, b => 2) -> 1, |count| [U64::new(a).less(U64::new(b))];
    EqualU64(a => 2, b => 2) -> 1, |count| [U64::new(a).equal(U64::new(b))];
    SelectU64([mask] => 1, a => 2, b => 2) -> 2, |count| U64::select(mask, U64::new(a), U64::new(b)).words();

    AddF32(a => 1, b => 1) -> 1, |count| (F32::new(a) + F32::new(b)).raw();
    SubF32(a => 1, b => 1) -> 1, |count| (F32::new(a) - F32::new(b)).raw();
    MulF32(a => 1, b => 1) -> 1, |count| (F32::new(a) * F32::new(b)).raw();
    DivF32(a => 1, b => 1) -> 1, |count| (F32::new(a) / F32::new(b)).raw();
    MinF32(a => 1, b => 1) -> 1, |count| F32::new(a).min(F32::new(b)).raw();
    MaxF32(a => 1, b => 1) -> 1, |count| F32::new(a).max(F32::new(b)).raw();
    LessF32(a => 1, b => 1) -> 1, |count| [F32::new(a).less(F32::new(b))];
    EqualF32(a => 1, b => 1) -> 1, |count| [F32::new(a).equal(F32::new(b))];
    SqrtF32(a => 1) -> 1, |count| F32::new(a).sqrt().raw();
    FloorF32(a => 1) -> 1, |count| F32::new(a).floor().raw();
    RoundF32(a => 1) -> 1, |count| F32::new(a).round_ties_even().raw();
    KeyF32(a => 1) -> 1, |count| F32::new(a).key();
    // Replaces every NaN by the same one, for values that leave a kernel.
    LeaveF32(a => 1) -> 1, |count| F32::new(a).words();

    AddF64(a => 2, b => 2) -> 2, |count| (F64::new(a) + F64::new(b)).raw();
    SubF64(a => 2, b => 2) -> 2, |count| (F64::new(a) - F64::new(b)).raw();
    MulF64(a => 2, b => 2) -> 2, |count| (F64::new(a) * F64::new(b)).raw();
    DivF64(a => 2, b => 2) -> 2, |count| (F64::new(a) / F64::new(b)).raw();
    MinF64(a => 2, b => 2) -> 2, |count| F64::new(a).min(F64::new(b)).raw();
    MaxF64(a => 2, b => 2) -> 2, |count| F64::new(a).max(F64::new(b)).raw();
    LessF64(a => 2, b => 2) -> 1, |count| [F64::new(a).less(F64::new(b))];
    EqualF64(a => 2, b => 2) -> 1, |count| [F64::new(a).equal(F64::new(b))];
    SqrtF64(a => 2) -> 2, |count| F64::new(a).sqrt().raw();
    FloorF64(a => 2) -> 2, |count| F64::new(a).floor().raw();
    RoundF64(a => 2) -> 2, |count| F64::new(a).round_ties_even().raw();
    ExpF64(a => 2) -> 2, |count| F64::new(a).exp().raw();
    LnF64(a => 2) -> 2, |count| F64::new(a).ln().raw();
    // The cosine of 2π times a number, or the sine if the count is 1.
    TurnF64(a => 2) -> 2, |count| F64::new(a).turn()[(count & 1) as usize].raw();
    KeyF64(a => 2) -> 2, |count| F64::new(a).key();
    LeaveF64(a => 2) -> 2, |count| F64::new(a).words();

    U32OfU64([a, _] => 2) -> 1, |count| [a];
    U32OfF64(a => 2) -> 1, |count| [F64::new(a).to_u32()];
    U64OfU32([a] => 1) -> 2, |count| [a, a.zero()];
    F32OfU32([a] => 1) -> 1, |count| F32::from_u32(a).raw();
    F64OfU32([a] => 1) -> 2, |count| F64::from_u32(a).raw();
    F64OfI32([a] => 1) -> 2, |count| F64::from_i32(a).raw();
    F64OfU64(a => 2) -> 2, |count| F64::from_u64(U64::new(a)).raw();
    F64OfF32(a => 1) -> 2, |count| F64::from_f32(F32::new(a)).raw();
    UnitF32([a] => 1) -> 1, |count| F32::unit(a).raw();
    UnitF64(a => 2) -> 2, |count| F64::unit(U64::new(a)).raw();
}
