//! AES by the CPU's own instructions: whole blocks in registers, eight registers in flight.
//!
//! Layout: `Repr::Blocks`, one, two or four blocks a register (AES-NI, VAES-256, VAES-512).
//! Needs: `AesLanes`. An AES instruction takes three to five cycles and one or two start each cycle:
//! eight independent registers keep the unit full.
//! Source: Gueron, "Intel Advanced Encryption Standard (AES) New Instructions Set" (2012).
//! Holds: a remainder of less than eight registers goes through a scratch copy; nothing is read or
//! written past the end.

use std::fmt;

use super::key::RoundKeys;
use crate::block::{BLOCK_BYTES, Block, Direction};
use crate::part::{Source, WholePart};
use crate::word::{AesLanes, Buffers, Isa, Kernel, each};

/// Registers in flight.
pub(super) const IN_FLIGHT: usize = 8;

/// Blocks in the widest bundle: eight registers of four.
pub(super) const BUNDLE_BLOCKS_MAX: usize = 4 * IN_FLIGHT;

/// The whole cipher, ECB or CTR, by AES instructions.
pub struct Cipher<W: AesLanes> {
    isa: W::Isa,
    direction: Direction,
    keys: RoundKeys,
}

impl<W: AesLanes> Cipher<W> {
    /// The cipher in one direction.
    pub fn new(isa: W::Isa, direction: Direction, keys: &RoundKeys) -> Self {
        let keys = match direction {
            Direction::Encrypt => keys.clone(),
            Direction::Decrypt => keys.equivalent_inverse(),
        };
        Self { isa, direction, keys }
    }
}

impl<W: AesLanes> fmt::Debug for Cipher<W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "instructions::Cipher({} bits, {:?})", W::BITS, self.direction)
    }
}

impl<W: AesLanes> WholePart for Cipher<W> {
    fn run(&self, source: Source, buffers: Buffers<'_>) {
        let Self { isa, ref keys, direction } = *self;
        match (source, direction) {
            (Source::Bytes, Direction::Encrypt) => {
                isa.enter(Ecb::<W, true> { isa, keys, buffers });
            }
            (Source::Bytes, Direction::Decrypt) => {
                isa.enter(Ecb::<W, false> { isa, keys, buffers });
            }
            (Source::Counter(first), _) => {
                let (low, high) = split_at_carry(first, buffers);
                isa.enter(Ctr::<W> { isa, keys, first, buffers: low });
                let first = first.wrapping_add(u128::from(u64::MAX)) >> 64 << 64;
                if !high.is_empty() {
                    isa.enter(Ctr::<W> { isa, keys, first, buffers: high });
                }
            }
        }
    }
}

/// Cuts a counter job where the low 64 bits of the counter wrap, so that a kernel need not carry.
fn split_at_carry(first: u128, buffers: Buffers<'_>) -> (Buffers<'_>, Buffers<'_>) {
    let blocks_left = (1_u128 << 64) - (first & u128::from(u64::MAX));
    let blocks = buffers.len_bytes() / BLOCK_BYTES;
    let at = usize::try_from(blocks_left).map_or(blocks, |left| left.min(blocks));
    buffers.split_at(at * BLOCK_BYTES)
}

/// The middle rounds with `keys` on every register, and the last with its own keys.
///
/// A loop over rounds, with each key broadcast from memory when its turn comes: written out, sixteen
/// registers do not hold all keys, and LLVM then runs the registers one after another.
#[inline(always)]
pub(super) fn rounds<W: AesLanes, const N: usize, const ENCRYPT: bool>(
    isa: W::Isa,
    state: &mut [W; N],
    keys: &[Block],
    last_keys: [W; N],
) {
    for key in keys {
        let key = W::broadcast(isa, key);
        for word in state.iter_mut() {
            *word = if ENCRYPT { word.encrypt_round(key) } else { word.decrypt_round(key) };
        }
    }
    for (word, key) in state.iter_mut().zip(last_keys) {
        *word = if ENCRYPT { word.encrypt_last_round(key) } else { word.decrypt_last_round(key) };
    }
}

/// What a kernel does with `N` registers at byte `at` of its buffers.
pub(super) trait Bundle<W: AesLanes> {
    /// `N` whole registers, of which the first block is block `block` of the job.
    fn run<const N: usize>(&mut self, buffers: &mut Buffers<'_>, at: usize, block: usize);
}

/// Runs a bundle kernel over any number of blocks: eight registers at a time, then the remainder by
/// way of a scratch copy, as one register or as eight.
#[inline(always)]
pub(super) fn over_bundles<W: AesLanes>(kernel: &mut impl Bundle<W>, mut buffers: Buffers<'_>) {
    let len_bytes = buffers.len_bytes();
    assert!(len_bytes.is_multiple_of(BLOCK_BYTES));
    let bundle_bytes = IN_FLIGHT * W::BYTES;
    let mut at = 0;
    while len_bytes - at >= bundle_bytes {
        kernel.run::<IN_FLIGHT>(&mut buffers, at, at / BLOCK_BYTES);
        at += bundle_bytes;
    }
    let (block, (_, rest)) = (at / BLOCK_BYTES, buffers.split_at(at));
    match rest.len_bytes() {
        0 => {}
        rest_bytes if rest_bytes <= W::BYTES => {
            padded::<W, 1, { size_of::<[Block; 4]>() }>(kernel, rest, block)
        }
        _ => padded::<W, IN_FLIGHT, { BUNDLE_BLOCKS_MAX * BLOCK_BYTES }>(kernel, rest, block),
    }
}

/// Runs a kernel over no more than `N` registers, by way of a scratch copy unless they are whole.
#[inline(always)]
fn padded<W: AesLanes, const N: usize, const SCRATCH_BYTES: usize>(
    kernel: &mut impl Bundle<W>,
    mut rest: Buffers<'_>,
    block: usize,
) {
    // Places count from the beginning of the buffers, blocks from that of the job.
    if rest.len_bytes() == N * W::BYTES {
        return kernel.run::<N>(&mut rest, 0, block);
    }
    let (mut scratch, rest_bytes) = ([0; SCRATCH_BYTES], rest.len_bytes());
    scratch[..rest_bytes].copy_from_slice(rest.input());
    kernel.run::<N>(&mut Buffers::in_place(&mut scratch), 0, block);
    rest.output_mut().copy_from_slice(&scratch[..rest_bytes]);
}

struct Ecb<'a, W: AesLanes, const ENCRYPT: bool> {
    isa: W::Isa,
    keys: &'a RoundKeys,
    buffers: Buffers<'a>,
}

impl<W: AesLanes, const ENCRYPT: bool> Kernel for Ecb<'_, W, ENCRYPT> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Self { isa, keys, buffers } = self;
        over_bundles(&mut EcbBundle::<W, ENCRYPT>(isa, keys), buffers);
    }
}

struct EcbBundle<'a, W: AesLanes, const ENCRYPT: bool>(W::Isa, &'a RoundKeys);

impl<W: AesLanes, const ENCRYPT: bool> Bundle<W> for EcbBundle<'_, W, ENCRYPT> {
    #[inline(always)]
    fn run<const N: usize>(&mut self, buffers: &mut Buffers<'_>, at: usize, _block: usize) {
        let &mut Self(isa, keys) = self;
        let (first, middle, last) = keys.split();
        let first = W::broadcast(isa, first);
        let input: [W; N] = buffers.load_all(isa, at);
        let mut state: [W; N] = each!(i < N => input[i] ^ first);
        rounds::<W, N, ENCRYPT>(isa, &mut state, middle, [W::broadcast(isa, last); N]);
        buffers.store_all(at, state);
    }
}

/// CTR while the low 64 bits of the counter do not wrap.
struct Ctr<'a, W: AesLanes> {
    isa: W::Isa,
    keys: &'a RoundKeys,
    first: u128,
    buffers: Buffers<'a>,
}

impl<W: AesLanes> Kernel for Ctr<'_, W> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Self { isa, keys, first, buffers } = self;
        let base = counters(isa, first, 1);
        let steps = each!(i < IN_FLIGHT => counters(isa, (i * W::BLOCKS) as u128, 0));
        over_bundles(&mut CtrBundle::<W> { isa, keys, base, steps }, buffers);
    }
}

/// Lane j holds `first + j·stride` as a little-endian integer.
#[inline(always)]
pub(super) fn counters<W: AesLanes>(isa: W::Isa, first: u128, stride: usize) -> W {
    let mut bytes = [0; 64];
    for lane in 0..W::BLOCKS {
        let counter = first.wrapping_add((lane * stride) as u128);
        bytes[lane * BLOCK_BYTES..][..BLOCK_BYTES].copy_from_slice(&counter.to_le_bytes());
    }
    W::load(isa, &bytes[..W::BYTES])
}

struct CtrBundle<'a, W: AesLanes> {
    isa: W::Isa,
    keys: &'a RoundKeys,
    base: W,
    steps: [W; IN_FLIGHT],
}

impl<W: AesLanes> Bundle<W> for CtrBundle<'_, W> {
    #[inline(always)]
    fn run<const N: usize>(&mut self, buffers: &mut Buffers<'_>, at: usize, block: usize) {
        let &mut Self { isa, keys, base, ref steps } = self;
        let (first, middle, last) = keys.split();
        let (first, last) = (W::broadcast(isa, first), W::broadcast(isa, last));
        let base = base.add_low_u64(W::broadcast(isa, &(block as u128).to_le_bytes()));
        let mut state: [W; N] = each!(i < N => base.add_low_u64(steps[i]).reverse_bytes() ^ first);
        let input: [W; N] = buffers.load_all(isa, at);
        rounds::<W, N, true>(isa, &mut state, middle, each!(i < N => last ^ input[i]));
        buffers.store_all(at, state);
    }
}
