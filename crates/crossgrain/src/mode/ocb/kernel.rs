//! The trait of kernels that compute OCB's masked blocks and its checksum in one pass.

use super::mask::LongMasks;
use crate::arch::Buffers;
use crate::block::Block;
use crate::kernel::WholePart;

/// A cipher that also sums the plaintext while it computes masked blocks.
pub trait OcbKernel: WholePart {
    /// Computes whole blocks under these masks, and returns the XOR of the plaintext blocks.
    ///
    /// # Panics
    /// If the buffers are not a whole number of blocks long.
    fn run_with_checksum(&self, masks: &LongMasks<'_>, buffers: Buffers<'_>) -> Block;
}
