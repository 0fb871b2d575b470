//! The work of modes on single blocks, compiled together with the rounds.
//!
//! It runs on registers of one block, whatever the kernel's own registers: each block waits for the one
//! before it, so wider registers would save nothing.
//!
//! Layout: `Repr::Blocks`, as in `instructions`.
//! Needs `AesLanes` of one block.
//! Invariant: no branch depends on blocks.

use super::frames::both_halves;
use super::instructions::Cipher;
use super::key::WideKeys;
use super::rounds::Between;
use crate::arch::{AesLanes, Buffers, Isa, Kernel, each};
use crate::block::Block;
use crate::kernel::serial::{Blocks, RunsSerially, SerialJob};
use crate::mode::chained::chain::Link;

/// The kernel, and the kernel for decryption if the job needs it.
pub(super) struct Runner<'a, W: AesLanes> {
    pub(super) cipher: &'a Cipher<W>,
    pub(super) inverse: Option<&'a WideKeys>,
}

impl<W: AesLanes> RunsSerially for Runner<'_, W> {
    fn run_job(&self, job: &mut impl SerialJob) {
        let keys = &self.cipher.keys;
        run_job::<W::OneBlock, _>(W::one_block(self.cipher.isa()), keys, self.inverse.unwrap_or(keys), job);
    }
}

/// The same for all widths of the kernel's own registers.
fn run_job<W: AesLanes, J: SerialJob>(isa: W::Isa, keys: &WideKeys, inverse: &WideKeys, job: &mut J) {
    isa.enter(Entered { cipher: InRegisters::<W> { isa, keys, inverse }, job });
}

struct Entered<'j, C, J> {
    cipher: C,
    job: &'j mut J,
}

impl<C: Blocks, J: SerialJob> Kernel for Entered<'_, C, J> {
    type Output = ();

    const SPILLS: bool = false;

    #[inline(always)]
    fn run(self) {
        self.job.run(self.cipher);
    }
}

/// The cipher on registers of one block.
#[derive(Clone, Copy)]
struct InRegisters<'a, W: AesLanes> {
    isa: W::Isa,
    keys: &'a WideKeys,
    inverse: &'a WideKeys,
}

impl<W: AesLanes> Blocks for InRegisters<'_, W> {
    type Block = W;

    #[inline(always)]
    fn load(self, block: &Block) -> W {
        W::load(self.isa, block)
    }

    #[inline(always)]
    fn load_part(self, bytes: &[u8]) -> W {
        W::load_part(self.isa, bytes)
    }

    #[inline(always)]
    fn of_number(self, number: u128) -> W {
        both_halves(self.isa, number.swap_bytes())
    }

    #[inline(always)]
    fn number(self, block: W) -> u128 {
        let mut bytes = [0; 16];
        block.store(&mut bytes);
        u128::from_be_bytes(bytes)
    }

    #[inline(always)]
    fn store(self, block: W, place: &mut Block) {
        block.store(place);
    }

    #[inline(always)]
    fn store_part(self, block: W, place: &mut [u8]) {
        block.store_part(place);
    }

    #[inline(always)]
    fn first_bytes(self, block: W, len_bytes: usize) -> W {
        block.first_bytes(len_bytes)
    }

    #[inline(always)]
    fn encrypt<const N: usize>(self, blocks: [W; N]) -> [W; N] {
        through::<W, N, true>(self.isa, self.keys, blocks)
    }

    /// The next block of the chain is added to the last round key, so that its rounds depend on nothing else.
    #[inline(always)]
    fn absorb(self, state: W, blocks: &[Block]) -> W {
        let Self { isa, keys, .. } = self;
        let [block, rest @ ..] = blocks else { return state };
        let (first, _, last) = keys.ends();
        let (first, last) = (first.load::<W>(isa), last.load::<W>(isa));
        let mut entering = state ^ W::load(isa, block) ^ first;
        for next in rest {
            let [state] = after_middle::<W, 1, true>(isa, keys, [entering]);
            entering = state.encrypt_last_round(last ^ first ^ W::load(isa, next));
        }
        let [state] = after_middle::<W, 1, true>(isa, keys, [entering]);
        state.encrypt_last_round(last)
    }

    /// As in [`Blocks::absorb`], the block that enters next is added to the last round key.
    #[inline(always)]
    fn link(self, link: Link, mut state: W, buffers: &mut Buffers<'_>, blocks: usize) -> W {
        let Self { isa, keys, .. } = self;
        let (first, _, last) = keys.ends();
        let (first, last) = (first.load::<W>(isa), last.load::<W>(isa));
        if blocks == 0 {
            return state;
        }
        let mut input = W::load(isa, buffers.input_block(0));
        let mut entering = state ^ first;
        if link == Link::Cbc {
            entering = entering ^ input;
        }
        for i in 0..blocks {
            let next =
                if i + 1 < blocks { W::load(isa, buffers.input_block(i + 1)) } else { W::splat(isa, 0) };
            let added = match link {
                Link::Cbc => first ^ next,
                Link::Cfb => first ^ input,
                Link::Ofb => first,
            };
            let [middle] = after_middle::<W, 1, true>(isa, keys, [entering]);
            entering = middle.encrypt_last_round(last ^ added);
            let result = entering ^ added;
            let output = if link == Link::Cbc { result } else { result ^ input };
            output.store(buffers.output_block(i));
            state = if link == Link::Cfb { output } else { result };
            input = next;
        }
        state
    }

    #[inline(always)]
    fn decrypt<const N: usize>(self, blocks: [W; N]) -> [W; N] {
        through::<W, N, false>(self.isa, self.inverse, blocks)
    }
}

/// Runs independent blocks through the cipher.
#[inline(always)]
pub(super) fn through<W: AesLanes, const N: usize, const ENCRYPT: bool>(
    isa: W::Isa,
    keys: &WideKeys,
    blocks: [W; N],
) -> [W; N] {
    let (first, _, last) = keys.ends();
    let (first, last) = (first.load::<W>(isa), last.load::<W>(isa));
    let state = after_middle::<W, N, ENCRYPT>(isa, keys, each!(i < N => blocks[i] ^ first));
    each!(i < N => if ENCRYPT { state[i].encrypt_last_round(last) } else { state[i].decrypt_last_round(last) })
}

/// The middle rounds, without a loop: its control would take longer than a round.
#[inline(always)]
fn after_middle<W: AesLanes, const N: usize, const ENCRYPT: bool>(
    isa: W::Isa,
    keys: &WideKeys,
    blocks: [W; N],
) -> [W; N] {
    let (nine, more) = keys.middle_in_steps();
    let mut state = Between::new(isa, blocks);
    for key in nine {
        state.round::<ENCRYPT>(key.load(isa));
    }
    for [one, other] in more.into_iter().flatten() {
        state.round::<ENCRYPT>(one.load(isa));
        state.round::<ENCRYPT>(other.load(isa));
    }
    state.end()
}
