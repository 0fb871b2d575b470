//! Buffers from those of the crate `inout`, by which the traits of ciphers hand over data.
//!
//! Its types promise what [`Buffers`] does: either the very same bytes or disjoint ones, borrowed for their two lifetimes.

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

/// Blocks are arrays of bytes, one after another.
impl<'a, 'i: 'a, 'o: 'a> From<InOutBuf<'i, 'o, Array<u8, U16>>> for Buffers<'a> {
    fn from(blocks: InOutBuf<'i, 'o, Array<u8, U16>>) -> Self {
        let len_bytes = size_of::<Array<u8, U16>>() * blocks.len();
        let (input, output) = blocks.into_raw();
        Self::over(input.cast(), output.cast(), len_bytes)
    }
}
