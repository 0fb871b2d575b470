//! [`Buffers`] from the types of the crate `inout`, which the traits of the crate `cipher` take.
//!
//! These types have the invariant of [`Buffers`]: input and output are either the very same bytes or
//! disjoint. They borrow for two lifetimes.

use cipher::Array;
use cipher::consts::U16;
use cipher::inout::InOutBuf;

use super::Buffers;

impl<'a, 'i: 'a, 'o: 'a> From<InOutBuf<'i, 'o, u8>> for Buffers<'a> {
    fn from(bytes: InOutBuf<'i, 'o, u8>) -> Self {
        let len_bytes = bytes.len();
        let (input, output) = bytes.into_raw();
        Self::over(input, output, len_bytes)
    }
}

/// Blocks are consecutive arrays of bytes.
impl<'a, 'i: 'a, 'o: 'a> From<InOutBuf<'i, 'o, Array<u8, U16>>> for Buffers<'a> {
    fn from(blocks: InOutBuf<'i, 'o, Array<u8, U16>>) -> Self {
        let len_bytes = size_of::<Array<u8, U16>>() * blocks.len();
        let (input, output) = blocks.into_raw();
        Self::over(input.cast(), output.cast(), len_bytes)
    }
}
