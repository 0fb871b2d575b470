//! Constants of kernels, one for each lane of the widest register.

use std::fmt;
use std::slice;

use super::{Register, Wiped};

/// A block in a lane.
type Block = [u8; 16];

/// A cache line, which is as long as the widest register: one block for each of its lanes.
#[derive(Clone, Copy)]
#[repr(align(64))]
pub struct Line(pub [Block; Line::LANES]);

const _: () = assert!(size_of::<Line>() == 64);

impl Line {
    /// Lanes of the widest register.
    pub const LANES: usize = 4;

    /// Zeros.
    pub const ZERO: Self = Self([[0; _]; Self::LANES]);

    /// A block, repeated for each lane.
    #[inline(always)]
    pub const fn of(block: &Block) -> Self {
        Self([*block; Self::LANES])
    }

    /// The block of the first lane.
    #[inline(always)]
    pub const fn block(&self) -> &Block {
        &self.0[0]
    }

    /// The bytes.
    #[inline(always)]
    pub const fn bytes(&self) -> &[u8] {
        self.0.as_flattened()
    }

    /// The bytes, mutable.
    #[inline(always)]
    pub const fn bytes_mut(&mut self) -> &mut [u8] {
        self.0.as_flattened_mut()
    }

    /// The bytes of neighbouring lines.
    #[inline(always)]
    pub const fn all_bytes(lines: &[Self]) -> &[u8] {
        // SAFETY: lines are bytes without gaps.
        unsafe { slice::from_raw_parts(lines.as_ptr().cast(), size_of_val(lines)) }
    }

    /// [`Line::all_bytes`], mutable.
    #[inline(always)]
    pub const fn all_bytes_mut(lines: &mut [Self]) -> &mut [u8] {
        // SAFETY: as above, and any bytes are lines. The borrow is exclusive.
        unsafe { slice::from_raw_parts_mut(lines.as_mut_ptr().cast(), size_of_val(lines)) }
    }

    /// The first lanes, as many as a register has.
    #[inline(always)]
    pub fn load<W: Register>(&self, isa: W::Isa) -> W {
        W::load(isa, &self.bytes()[..W::BYTES])
    }
}

impl fmt::Debug for Line {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Line(secret)")
    }
}

impl<const N: usize> Wiped<[Line; N]> {
    /// Lines of zeros. They are never on the stack.
    pub fn zeros() -> Self {
        Self::in_place(|place| {
            // SAFETY: the place has room for the lines, and zeros are valid bytes.
            unsafe { place.write_bytes(0, 1) };
        })
    }
}
