//! The backend that mode crates see: single blocks, batches of blocks, and a remainder of less than a batch.
//!
//! The size of a batch is a type, so there are two. Plans that keep whole blocks in registers have cheap
//! calls and get a smaller batch. For plans on tiles a batch fills a tile.

use std::marker::PhantomData;

use cipher::array::ArraySize;
use cipher::consts::{U16, U128, U512};
use cipher::inout::{InOut, InOutBuf};
use cipher::{
    Array, BlockCipherDecBackend, BlockCipherDecClosure, BlockCipherEncBackend, BlockCipherEncClosure,
    BlockSizeUser, ParBlocks, ParBlocksSizeUser,
};

use crate::arch::Buffers;
use crate::mode::Ecb;

/// Blocks per batch if the plan takes any number of whole blocks (AES instructions), as a type.
pub type BatchOfBlocks = U128;

/// Blocks per batch if the plan works on tiles, as a type.
pub type BatchOfTile = U512;

/// A block as the traits define it.
pub(super) type BlockArray = Array<u8, U16>;

/// One direction of a cipher, in batches of `N` blocks.
struct Backend<'a, N> {
    program: &'a Ecb,
    batch: PhantomData<N>,
}

/// Runs a mode crate's work on the encryption backend for the plan.
pub(super) fn encrypt(program: &Ecb, work: impl BlockCipherEncClosure<BlockSize = U16>) {
    if is_on_tiles(program) {
        work.call(&Backend::<BatchOfTile>::new(program));
    } else {
        work.call(&Backend::<BatchOfBlocks>::new(program));
    }
}

/// Runs a mode crate's work on the decryption backend for the plan.
pub(super) fn decrypt(program: &Ecb, work: impl BlockCipherDecClosure<BlockSize = U16>) {
    if is_on_tiles(program) {
        work.call(&Backend::<BatchOfTile>::new(program));
    } else {
        work.call(&Backend::<BatchOfBlocks>::new(program));
    }
}

fn is_on_tiles(program: &Ecb) -> bool {
    program.plans()[0].bundle_blocks() > 1
}

/// Runs a program over whole blocks.
#[inline]
pub(super) fn run(program: &Ecb, blocks: Buffers<'_>) {
    program.apply(blocks).expect("blocks are whole");
}

impl<'a, N> Backend<'a, N> {
    const fn new(program: &'a Ecb) -> Self {
        Self { program, batch: PhantomData }
    }
}

impl<N> BlockSizeUser for Backend<'_, N> {
    type BlockSize = U16;
}

impl<N: ArraySize> ParBlocksSizeUser for Backend<'_, N> {
    type ParBlocksSize = N;
}

impl<N: ArraySize> BlockCipherEncBackend for Backend<'_, N> {
    fn encrypt_block(&self, block: InOut<'_, '_, BlockArray>) {
        self.program.block(&mut block.into_out_with_copied_in().0);
    }

    fn encrypt_par_blocks(&self, blocks: InOut<'_, '_, ParBlocks<Self>>) {
        run(self.program, blocks.into_buf().into());
    }

    fn encrypt_tail_blocks(&self, blocks: InOutBuf<'_, '_, BlockArray>) {
        run(self.program, blocks.into());
    }
}

impl<N: ArraySize> BlockCipherDecBackend for Backend<'_, N> {
    fn decrypt_block(&self, block: InOut<'_, '_, BlockArray>) {
        self.program.block(&mut block.into_out_with_copied_in().0);
    }

    fn decrypt_par_blocks(&self, blocks: InOut<'_, '_, ParBlocks<Self>>) {
        run(self.program, blocks.into_buf().into());
    }

    fn decrypt_tail_blocks(&self, blocks: InOutBuf<'_, '_, BlockArray>) {
        run(self.program, blocks.into());
    }
}
