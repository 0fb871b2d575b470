//! AES by the CPU's own instructions: whole blocks in registers, eight registers in flight.
//!
//! Layout: `Repr::Blocks`, one, two or four blocks a register (AES-NI, VAES-256, VAES-512).
//! Needs: `AesLanes`. An AES instruction takes three to five cycles and one or two start each cycle:
//! eight independent registers keep the unit full.
//! Source: Gueron, "Intel Advanced Encryption Standard (AES) New Instructions Set" (2012).
//! Holds: a remainder of less than eight registers goes through a scratch copy; nothing is read or
//! written past the end.

use std::fmt;
use std::marker::PhantomData;

use super::chains;
use super::key::RoundKeys;
use crate::block::{BLOCK_BYTES, Block, Direction};
use crate::part::chain::{Absorb, Cbc, Cfb, Link, Ofb, Strand};
use crate::part::counter::Counter;
use crate::part::tweak::{IN_STEP, Stepping, Tweaks};
use crate::part::{Source, WholePart};
use crate::word::{AesLanes, Buffers, Isa, Kernel, each};

/// Registers in flight.
pub(super) const IN_FLIGHT: usize = 8;

/// Blocks in the widest bundle: eight registers of four.
pub(super) const BUNDLE_BLOCKS_MAX: usize = 4 * IN_FLIGHT;

/// The whole cipher by AES instructions, in every mode's frame.
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

impl<W: AesLanes> Cipher<W> {
    fn run_framed<F: From<Before<W>> + Frame<W>>(&self, before: Block, buffers: Buffers<'_>) {
        let Self { isa, ref keys, direction } = *self;
        let frame = PhantomData::<F>;
        match direction {
            Direction::Encrypt => isa.enter(Framed::<W, F, true> { isa, keys, before, frame, buffers }),
            Direction::Decrypt => isa.enter(Framed::<W, F, false> { isa, keys, before, frame, buffers }),
        }
    }
}

impl<W: AesLanes> WholePart for Cipher<W> {
    fn run(&self, source: Source<'_>, buffers: Buffers<'_>) {
        let Self { isa, ref keys, direction } = *self;
        match source {
            Source::Bytes => self.run_framed::<Plain>([0; BLOCK_BYTES], buffers),
            Source::Counter(first) => {
                let (low, high) = split_at_carry(first, buffers);
                isa.enter(Ctr::<W> { isa, keys, first, buffers: low });
                let value = first.value.wrapping_add(u128::from(u64::MAX)) >> 64 << 64;
                let first = Counter { value, ..first };
                if !high.is_empty() {
                    isa.enter(Ctr::<W> { isa, keys, first, buffers: high });
                }
            }
            Source::Tweaked(tweaks) => match direction {
                Direction::Encrypt => isa.enter(Xts::<W, true> { isa, keys, tweaks, buffers }),
                Direction::Decrypt => isa.enter(Xts::<W, false> { isa, keys, tweaks, buffers }),
            },
            Source::Chained(previous) => self.run_framed::<Neighbours<W, false>>(previous, buffers),
            Source::Delayed(previous) => self.run_framed::<Neighbours<W, true>>(previous, buffers),
        }
    }

    fn lanes(&self) -> usize {
        IN_FLIGHT * W::BLOCKS
    }

    fn absorb(&self, strands: &mut [&mut Strand<&[u8]>], blocks: usize) {
        chains::run::<W, Absorb, _>(self.isa, &self.keys, strands, blocks);
    }

    fn chain(&self, link: Link, strands: &mut [&mut Strand<Buffers<'_>>], blocks: usize) {
        let Self { isa, ref keys, .. } = *self;
        match link {
            Link::Cbc => chains::run::<W, Cbc, _>(isa, keys, strands, blocks),
            Link::Cfb => chains::run::<W, Cfb, _>(isa, keys, strands, blocks),
            Link::Ofb => chains::run::<W, Ofb, _>(isa, keys, strands, blocks),
        }
    }
}

/// Cuts a counter job where the low 64 bits of the counter wrap, so that a kernel need not carry.
fn split_at_carry(first: Counter, buffers: Buffers<'_>) -> (Buffers<'_>, Buffers<'_>) {
    let blocks_left = (1_u128 << 64) - (first.value & u128::from(u64::MAX));
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

/// What a mode puts around the cipher: what enters it for `N` registers of input that begin at block
/// `block` of the job, and what is added to the result.
pub(super) trait Frame<W: AesLanes> {
    /// What enters, and what is added.
    fn around<const N: usize>(&mut self, isa: W::Isa, input: [W; N], block: usize) -> ([W; N], [W; N]);
}

/// What a frame begins with: the block before the first, in every lane.
struct Before<W>(W);

/// ECB: the input enters, nothing is added.
struct Plain;

impl<W> From<Before<W>> for Plain {
    #[inline(always)]
    fn from(_: Before<W>) -> Self {
        Self
    }
}

impl<W: AesLanes> Frame<W> for Plain {
    #[inline(always)]
    fn around<const N: usize>(&mut self, isa: W::Isa, input: [W; N], _block: usize) -> ([W; N], [W; N]) {
        (input, [W::splat(isa, 0); N])
    }
}

/// The input and the input one block earlier: one enters, the other is added. The earlier one enters in CFB
/// decryption (`DELAYED`), the input itself in CBC decryption.
struct Neighbours<W, const DELAYED: bool> {
    /// The last block of the input so far, in the last lane.
    previous: W,
}

impl<W, const DELAYED: bool> From<Before<W>> for Neighbours<W, DELAYED> {
    #[inline(always)]
    fn from(Before(previous): Before<W>) -> Self {
        Self { previous }
    }
}

impl<W: AesLanes, const DELAYED: bool> Frame<W> for Neighbours<W, DELAYED> {
    #[inline(always)]
    fn around<const N: usize>(&mut self, _isa: W::Isa, input: [W; N], _block: usize) -> ([W; N], [W; N]) {
        let earlier = each!(i < N => input[i].preceded_by(if i == 0 { self.previous } else { input[i - 1] }));
        self.previous = input[N - 1];
        if DELAYED { (earlier, input) } else { (input, earlier) }
    }
}

/// XTS within a sector: the tweak is added before and after.
impl<W: AesLanes> Frame<W> for Stepping<W> {
    #[inline(always)]
    fn around<const N: usize>(&mut self, isa: W::Isa, input: [W; N], block: usize) -> ([W; N], [W; N]) {
        // Not ahead of time: many sectors are a bundle long.
        if block > 0 {
            self.step(isa);
        }
        let tweaks = self.0;
        (each!(i < N => input[i] ^ tweaks[i]), each!(i < N => tweaks[i]))
    }
}

/// A job in a frame.
struct Framed<'a, W: AesLanes, F, const ENCRYPT: bool> {
    isa: W::Isa,
    keys: &'a RoundKeys,
    /// The block before the first.
    before: Block,
    frame: PhantomData<F>,
    buffers: Buffers<'a>,
}

impl<W: AesLanes, F: From<Before<W>> + Frame<W>, const ENCRYPT: bool> Kernel for Framed<'_, W, F, ENCRYPT> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Self { isa, keys, before, buffers, .. } = self;
        let frame = F::from(Before(W::broadcast(isa, &before)));
        over_bundles(&mut FramedBundle::<W, F, ENCRYPT> { isa, keys, frame }, buffers);
    }
}

/// XTS over sectors, each a job in its own frame.
struct Xts<'a, W: AesLanes, const ENCRYPT: bool> {
    isa: W::Isa,
    keys: &'a RoundKeys,
    tweaks: Tweaks<'a>,
    buffers: Buffers<'a>,
}

impl<W: AesLanes, const ENCRYPT: bool> Kernel for Xts<'_, W, ENCRYPT> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Self { isa, keys, mut tweaks, mut buffers } = self;
        let (first, mut blocks) = tweaks.next_sector();
        let mut frame = Stepping::<W>::from(isa, first);
        while !buffers.is_empty() {
            // Begun before this sector's rounds, the next one's tweaks are made beside them.
            let (first, next_blocks) = tweaks.next_sector();
            let next = Stepping::<W>::from(isa, first);
            let at = blocks.min(buffers.len_bytes() / BLOCK_BYTES) * BLOCK_BYTES;
            let (sector, later) = buffers.split_at(at);
            over_bundles(&mut FramedBundle::<W, _, ENCRYPT> { isa, keys, frame }, sector);
            (buffers, frame, blocks) = (later, next, next_blocks);
        }
    }
}

struct FramedBundle<'a, W: AesLanes, F, const ENCRYPT: bool> {
    isa: W::Isa,
    keys: &'a RoundKeys,
    frame: F,
}

impl<W: AesLanes, F: Frame<W>, const ENCRYPT: bool> Bundle<W> for FramedBundle<'_, W, F, ENCRYPT> {
    #[inline(always)]
    fn run<const N: usize>(&mut self, buffers: &mut Buffers<'_>, at: usize, block: usize) {
        let Self { isa, keys, ref mut frame } = *self;
        let (first, middle, last) = keys.split();
        let (first, last) = (W::broadcast(isa, first), W::broadcast(isa, last));
        let (entering, added) = frame.around::<N>(isa, buffers.load_all(isa, at), block);
        let mut state: [W; N] = each!(i < N => entering[i] ^ first);
        rounds::<W, N, ENCRYPT>(isa, &mut state, middle, each!(i < N => last ^ added[i]));
        buffers.store_all(at, state);
    }
}

/// CTR while the low 64 bits of the counter do not wrap.
struct Ctr<'a, W: AesLanes> {
    isa: W::Isa,
    keys: &'a RoundKeys,
    first: Counter,
    buffers: Buffers<'a>,
}

impl<W: AesLanes> Kernel for Ctr<'_, W> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Self { isa, keys, first, buffers } = self;
        let base = counters(isa, first.value, 1);
        let steps = each!(i < IN_FLIGHT => counters(isa, (i * W::BLOCKS) as u128, 0));
        let frame = Counted { base, steps, places: W::broadcast(isa, &first.order.places()) };
        over_bundles(&mut FramedBundle::<W, _, true> { isa, keys, frame }, buffers);
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

/// CTR: counters enter, the input is added.
struct Counted<W> {
    base: W,
    steps: [W; IN_FLIGHT],
    /// Which byte of the number stands where in a block.
    places: W,
}

impl<W: AesLanes> Frame<W> for Counted<W> {
    #[inline(always)]
    fn around<const N: usize>(&mut self, isa: W::Isa, input: [W; N], block: usize) -> ([W; N], [W; N]) {
        let base = self.base.add_low_u64(W::broadcast(isa, &(block as u128).to_le_bytes()));
        (each!(i < N => base.add_low_u64(self.steps[i]).pick(self.places)), input)
    }
}

const _: () = assert!(IN_STEP == IN_FLIGHT);
