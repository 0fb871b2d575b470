//! The cipher on single blocks in registers, for modes in which each result decides the next input.
//!
//! A message of CCM is a chain: every block waits for the block before it. A short message of OCB passes
//! through the cipher twice, first its nonce, then its data. If each pass were a call of a kernel, blocks
//! would move through memory between calls, and the calls of a short message would cost more than its rounds.
//! A mode therefore writes this work as a [`SerialJob`], generic over [`Blocks`], and a kernel compiles it
//! together with its rounds.
//!
//! Kernels that cannot do so run the same job through memory: see `run::serial`.
//!
//! Layout: a block is one 128-bit value, in the cipher's byte order.

use std::ops::BitXor;

use crate::arch::Buffers;
use crate::block::{BLOCK_BYTES, Block, part_number};
use crate::mode::ccm::serial::CcmJob;
use crate::mode::chained::chain::Link;
use crate::mode::chained::serial::ChainJob;
use crate::mode::cmac::serial::CmacJob;
use crate::mode::eax::serial::EaxJob;
use crate::mode::ocb::serial::{OcbBegin, OcbEnd, OcbShort};
use crate::mode::siv::serial::S2vJob;

/// A cipher on blocks in registers.
pub(crate) trait Blocks: Copy {
    /// A block.
    type Block: BitXor<Output = Self::Block> + Copy;

    /// Whether each call is a run of a program, which computes many blocks at the cost of one.
    const RUNS_MANY: bool = false;

    /// Reads a block.
    fn load(self, block: &Block) -> Self::Block;

    /// Reads at most a block. The other bytes are zero.
    fn load_part(self, bytes: &[u8]) -> Self::Block;

    /// The block of a big-endian number.
    fn of_number(self, number: u128) -> Self::Block;

    /// A block as a big-endian number.
    fn number(self, block: Self::Block) -> u128;

    /// Writes a block.
    fn store(self, block: Self::Block, place: &mut Block);

    /// Writes the first bytes of a block.
    fn store_part(self, block: Self::Block, place: &mut [u8]);

    /// The first bytes of a block. The others are zero.
    fn first_bytes(self, block: Self::Block, len_bytes: usize) -> Self::Block;

    /// Encrypts independent blocks.
    fn encrypt<const N: usize>(self, blocks: [Self::Block; N]) -> [Self::Block; N];

    /// Decrypts independent blocks. Only for jobs that a kernel runs [with another](RunsSerially::run_job)
    /// for this direction.
    fn decrypt<const N: usize>(self, blocks: [Self::Block; N]) -> [Self::Block; N];

    /// Encrypts one block.
    #[inline(always)]
    fn encrypt_one(self, block: Self::Block) -> Self::Block {
        let [block] = self.encrypt([block]);
        block
    }

    /// The state of a chain after more blocks: each is added to the state, which is then encrypted.
    #[inline(always)]
    fn absorb(self, mut state: Self::Block, blocks: &[Block]) -> Self::Block {
        for block in blocks {
            state = self.encrypt_one(state ^ self.load(block));
        }
        state
    }

    /// Replaces blocks of a chain in CBC, CFB or OFB. Returns the chain's state after them.
    #[inline(always)]
    fn link(
        self,
        link: Link,
        mut state: Self::Block,
        buffers: &mut Buffers<'_>,
        blocks: usize,
    ) -> Self::Block {
        for i in 0..blocks {
            let input = self.load(buffers.input_block(i));
            let entering = if link == Link::Cbc { state ^ input } else { state };
            state = self.encrypt_one(entering);
            let output = if link == Link::Cbc { state } else { state ^ input };
            self.store(output, buffers.output_block(i));
            if link == Link::Cfb {
                state = output;
            }
        }
        state
    }

    /// A block of zeros.
    #[inline(always)]
    fn zero(self) -> Self::Block {
        self.of_number(0)
    }

    /// The one bit that pads a block after this many bytes, at most 15.
    #[inline(always)]
    fn one_after(self, len_bytes: usize) -> Self::Block {
        self.of_number(0x80 << (8 * (BLOCK_BYTES - 1 - len_bytes)))
    }

    /// At most 15 bytes, padded with a one bit and zeros to a block.
    #[inline(always)]
    fn padded(self, bytes: &[u8]) -> Self::Block {
        let number = part_number(bytes) | 0x80 << (8 * bytes.len());
        self.of_number(number.swap_bytes())
    }
}

/// Work of a mode on single blocks.
pub(crate) trait SerialJob {
    /// Does the work. Implementations and all functions that they call must be `#[inline(always)]`.
    fn run<C: Blocks>(&mut self, cipher: C);
}

/// The work of any mode.
pub(crate) enum Serial<'j, 'a, 'b> {
    /// Blocks of a chain.
    Chain(&'j mut ChainJob<'a, 'b>),
    /// CMAC of a message.
    Cmac(&'j mut CmacJob<'a>),
    /// A whole message of CCM.
    Ccm(&'j mut CcmJob<'a, 'b>),
    /// EAX up to the tag, and the ciphertext when sealing.
    Eax(&'j mut EaxJob<'a, 'b>),
    /// S2V of a message.
    S2v(&'j mut S2vJob<'a>),
    /// The nonce and the associated data of OCB.
    OcbBegin(&'j mut OcbBegin<'a, 'b>),
    /// The incomplete last block and the tag of OCB.
    OcbEnd(&'j mut OcbEnd<'a, 'b>),
    /// A short message of OCB. It needs the cipher in both directions.
    OcbShort(&'j mut OcbShort<'a, 'b>),
}

/// A cipher that runs the jobs of all modes.
pub(crate) trait RunsSerially {
    /// Runs one.
    fn run_job(&self, job: &mut impl SerialJob);
}

impl Serial<'_, '_, '_> {
    /// Runs the job.
    pub(crate) fn run_by(self, runner: &impl RunsSerially) {
        match self {
            Self::Chain(job) => runner.run_job(job),
            Self::Cmac(job) => runner.run_job(job),
            Self::Ccm(job) => runner.run_job(job),
            Self::Eax(job) => runner.run_job(job),
            Self::S2v(job) => runner.run_job(job),
            Self::OcbBegin(job) => runner.run_job(job),
            Self::OcbEnd(job) => runner.run_job(job),
            Self::OcbShort(job) => runner.run_job(job),
        }
    }
}
