//! Chains of blocks, each of which needs the result of the one before it: CBC and CFB encryption, OFB, CMAC.
//!
//! One chain is serial, but many run side by side, a chain a lane. How a chain goes on is two lines a
//! mode ([`Rule`]), the same on registers of several chains and on single blocks.
//! Source: SP 800-38A §6.2 to 6.4; SP 800-38B §6.2 for what is only absorbed.

use std::fmt;
use std::ops::BitXor;

use zeroize::Zeroizing;

use crate::block::{BLOCK_BYTES, Block};
use crate::word::{Buffers, TILE_BYTES};

/// A chain that replaces its blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Link {
    /// CBC encryption.
    Cbc,
    /// CFB encryption, whole blocks fed back.
    Cfb,
    /// OFB, in either direction.
    Ofb,
}

/// How a chain goes on, on single blocks or on registers of them.
pub(crate) trait Rule: 'static {
    /// Whether there is any output.
    const WRITES: bool = true;

    /// What goes into the cipher.
    fn enter<T: BitXor<Output = T>>(state: T, input: T) -> T;

    /// The state that follows, and the output, from what comes out of the cipher.
    fn leave<T: Copy + BitXor<Output = T>>(result: T, input: T) -> (T, T);
}

/// CBC-MAC: as CBC, and nothing is written.
pub(crate) struct Absorb;
pub(crate) struct Cbc;
pub(crate) struct Cfb;
pub(crate) struct Ofb;

impl Rule for Absorb {
    const WRITES: bool = false;

    #[inline(always)]
    fn enter<T: BitXor<Output = T>>(state: T, input: T) -> T {
        Cbc::enter(state, input)
    }
    #[inline(always)]
    fn leave<T: Copy + BitXor<Output = T>>(result: T, input: T) -> (T, T) {
        Cbc::leave(result, input)
    }
}

impl Rule for Cbc {
    #[inline(always)]
    fn enter<T: BitXor<Output = T>>(state: T, input: T) -> T {
        state ^ input
    }
    #[inline(always)]
    fn leave<T: Copy + BitXor<Output = T>>(result: T, _input: T) -> (T, T) {
        (result, result)
    }
}

impl Rule for Cfb {
    #[inline(always)]
    fn enter<T: BitXor<Output = T>>(state: T, _input: T) -> T {
        state
    }
    #[inline(always)]
    fn leave<T: Copy + BitXor<Output = T>>(result: T, input: T) -> (T, T) {
        (result ^ input, result ^ input)
    }
}

impl Rule for Ofb {
    #[inline(always)]
    fn enter<T: BitXor<Output = T>>(state: T, _input: T) -> T {
        state
    }
    #[inline(always)]
    fn leave<T: Copy + BitXor<Output = T>>(result: T, input: T) -> (T, T) {
        (result, result ^ input)
    }
}

/// A message on its way through a chain.
pub struct Strand<D> {
    /// What the next block is chained to: the initialisation vector at first.
    pub state: Block,
    /// What is left of the message, whole blocks.
    pub data: D,
}

impl<D: Data> fmt::Debug for Strand<D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Strand({} bytes left, secret)", self.data.len_bytes())
    }
}

/// What a chain goes along: bytes to be absorbed, or buffers to be worked through.
pub trait Data: Send {
    /// How much is left, in bytes.
    fn len_bytes(&self) -> usize;

    /// The block at byte `at`.
    ///
    /// # Panics
    /// If it would reach past the end.
    fn block(&self, at: usize) -> &Block;

    /// Replaces the block at byte `at`, where blocks are replaced.
    ///
    /// # Panics
    /// If it would reach past the end.
    fn replace(&mut self, at: usize, block: &Block);

    /// Leaves `count_bytes` behind.
    ///
    /// # Panics
    /// If that is more than there is.
    fn advance(&mut self, count_bytes: usize);
}

/// The block that `bytes` begin with.
#[inline(always)]
fn first_block(bytes: &[u8]) -> &Block {
    match bytes.first_chunk() {
        Some(block) => block,
        None => unreachable!("chains go along whole blocks"),
    }
}

impl Data for &[u8] {
    #[inline(always)]
    fn len_bytes(&self) -> usize {
        self.len()
    }
    #[inline(always)]
    fn block(&self, at: usize) -> &Block {
        first_block(&self[at..])
    }
    #[inline(always)]
    fn replace(&mut self, _at: usize, _block: &Block) {}
    fn advance(&mut self, count_bytes: usize) {
        *self = &self[count_bytes..];
    }
}

impl Data for Buffers<'_> {
    #[inline(always)]
    fn len_bytes(&self) -> usize {
        Buffers::len_bytes(self)
    }
    #[inline(always)]
    fn block(&self, at: usize) -> &Block {
        first_block(&self.input()[at..])
    }
    #[inline(always)]
    fn replace(&mut self, at: usize, block: &Block) {
        self.output_mut()[at..][..BLOCK_BYTES].copy_from_slice(block);
    }
    fn advance(&mut self, count_bytes: usize) {
        *self = std::mem::replace(self, Buffers::in_place(&mut [])).split_at(count_bytes).1;
    }
}

/// Chains that are run together by a cipher that takes blocks from memory: a tile's worth of states.
const SIDE_BY_SIDE: usize = TILE_BYTES / BLOCK_BYTES;

/// Takes every chain `blocks` blocks further by a cipher on whole bundles of blocks, in place.
pub(crate) fn by_blocks<R: Rule, D: Data>(
    cipher: &mut dyn FnMut(Buffers<'_>),
    bundle_blocks: usize,
    strands: &mut [&mut Strand<D>],
    blocks: usize,
) {
    let mut states = Zeroizing::new([[0; BLOCK_BYTES]; SIDE_BY_SIDE]);
    for strands in strands.chunks_mut(SIDE_BY_SIDE) {
        let states = &mut states[..strands.len().next_multiple_of(bundle_blocks)];
        for (state, strand) in states.iter_mut().zip(&*strands) {
            *state = strand.state;
        }
        for at in (0..blocks * BLOCK_BYTES).step_by(BLOCK_BYTES) {
            for (state, strand) in states.iter_mut().zip(&*strands) {
                let input = u128::from_ne_bytes(*strand.data.block(at));
                *state = R::enter(u128::from_ne_bytes(*state), input).to_ne_bytes();
            }
            cipher(Buffers::in_place(states.as_flattened_mut()));
            for (state, strand) in states.iter_mut().zip(&mut *strands) {
                let input = u128::from_ne_bytes(*strand.data.block(at));
                let (next, output) = R::leave(u128::from_ne_bytes(*state), input);
                *state = next.to_ne_bytes();
                strand.data.replace(at, &output.to_ne_bytes());
            }
        }
        for (state, strand) in states.iter().zip(strands) {
            strand.state = *state;
        }
    }
}

/// The same, replacing blocks as a link says.
pub(crate) fn chain_by_blocks(
    link: Link,
    cipher: &mut dyn FnMut(Buffers<'_>),
    bundle_blocks: usize,
    strands: &mut [&mut Strand<Buffers<'_>>],
    blocks: usize,
) {
    match link {
        Link::Cbc => by_blocks::<Cbc, _>(cipher, bundle_blocks, strands, blocks),
        Link::Cfb => by_blocks::<Cfb, _>(cipher, bundle_blocks, strands, blocks),
        Link::Ofb => by_blocks::<Ofb, _>(cipher, bundle_blocks, strands, blocks),
    }
}
