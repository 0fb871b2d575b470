//! AES with the CPU's AES instructions: whole blocks in registers, eight registers in flight.
//!
//! An AES instruction takes three to five cycles, and one or two start per cycle. Eight independent registers
//! keep the unit busy.
//!
//! Layout: `Repr::Blocks`, with one, two or four blocks per register (AES-NI, VAES-256, VAES-512).
//! Needs `AesLanes`.
//! Source: Gueron, "Intel Advanced Encryption Standard (AES) New Instructions Set" (2012).
//! Invariant: in a remainder, a partly filled register loads and stores only its existing lanes or, in CTR,
//! bytes. Nothing past the end is read or written.

use std::any::Any;
use std::fmt;

use super::frames::{Begin, Frame, Plain, Previous, both_halves};
use super::gcm_siv::run as run_gcm_siv;
use super::key::WideKeys;
use super::masked::Masked;
use super::rounds::{MIDDLE_LEAST, Middle};
use super::serial::Runner;
use super::tweaked::Xts;
use super::{chains, gcm};
use crate::arch::{AesLanes, Buffers, Isa, Kernel, Line, Wiped, each};
use crate::block::{BLOCK_BYTES, Block, Direction, Family};
use crate::kernel::serial::{RunsSerially as _, Serial};
use crate::kernel::{Keys, Source, WholePart};
use crate::message::AeadMessage;
use crate::mode::chained::chain::{ChainKernel, ChainMessage, Rule, ShortChains};
use crate::mode::chained::serial::ChainJob;
use crate::mode::ctr::counter::Counter;
use crate::mode::gcm::ghash::Ghash;
use crate::mode::gcm::kernel::{GcmNonce, GcmParams};
use crate::mode::gcm_siv::kernel::GcmSivJob;
use crate::mode::ocb::kernel::OcbKernel;
use crate::mode::ocb::mask::LongMasks;
use crate::mode::xts::tweak::Tweaks;

/// Registers in flight.
pub(super) const IN_FLIGHT: usize = 8;

/// Blocks in the widest bundle: eight registers of four.
pub(super) const BUNDLE_BLOCKS_MAX: usize = Line::LANES * IN_FLIGHT;

/// The prefetch distance. Memory answers within the time that this many bytes take to process.
pub(super) const AHEAD_BYTES: usize = 4096;

/// The whole cipher with AES instructions, for every mode.
pub struct Cipher<W: AesLanes> {
    isa: W::Isa,
    direction: Direction,
    pub(super) keys: WideKeys,
    /// The round-1 tables of GCM, after `prepare_gcm`.
    round1: Option<Wiped<gcm::Round1Table>>,
}

impl<W: AesLanes> Cipher<W> {
    /// The cipher in one direction; `None` for keys of other ciphers.
    pub fn new(isa: W::Isa, direction: Direction, keys: &Keys<'_>) -> Option<Wiped<Self>> {
        let key = keys.key_of(Family::Aes)?;
        let none = WideKeys::none(key.cipher().rounds());
        let mut cipher = Wiped::new(Self::with_keys(isa, direction, none));
        cipher.take(key.bytes());
        Some(cipher)
    }

    /// Takes a key of 16, 24 or 32 bytes.
    #[inline(always)]
    pub(super) fn take(&mut self, key: &[u8]) {
        self.keys.take::<W>(self.isa, self.direction, key);
    }

    /// The same, with round keys in the order in which the direction uses them.
    pub(super) const fn with_keys(isa: W::Isa, direction: Direction, keys: WideKeys) -> Self {
        Self { isa, direction, keys, round1: None }
    }

    pub(super) const fn isa(&self) -> W::Isa {
        self.isa
    }

    /// The round-1 tables of GCM.
    #[inline(always)]
    pub(super) fn round1(&self) -> &gcm::Round1Table {
        self.round1.as_ref().expect("GCM is prepared before it is run")
    }
}

impl<W: AesLanes> fmt::Debug for Cipher<W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "instructions::Cipher({} bits, {:?})", W::BITS, self.direction)
    }
}

impl<W: AesLanes> Cipher<W> {
    /// Runs a job whose frame begins with this.
    #[inline(never)]
    fn run_framed<B: Begin<W>>(&self, begin: B, mut buffers: Buffers<'_>) {
        match self.direction {
            Direction::Encrypt => self.run_in_direction::<B, true>(begin, &mut buffers),
            Direction::Decrypt => self.run_in_direction::<B, false>(begin, &mut buffers),
        }
    }

    #[inline(always)]
    fn run_in_direction<B: Begin<W>, const ENCRYPT: bool>(&self, begin: B, buffers: &mut Buffers<'_>) {
        let Self { isa, ref keys, .. } = *self;
        match registers_for::<W>(buffers.len_bytes()) {
            0 => {}
            1 if B::IS_OFTEN_SHORT => isa.enter(Short::<W, B, ENCRYPT, 1> { isa, keys, begin, buffers }),
            2 if B::IS_OFTEN_SHORT => isa.enter(Short::<W, B, ENCRYPT, 2> { isa, keys, begin, buffers }),
            FEW_IN_FLIGHT if B::IS_OFTEN_SHORT => {
                isa.enter(Short::<W, B, ENCRYPT, FEW_IN_FLIGHT> { isa, keys, begin, buffers });
            }
            _ => isa.enter(Long::<W, B, ENCRYPT> { isa, keys, begin, buffers }),
        }
    }

    /// Runs CTR. The job is split where the low 64 bits of the counter wrap, so that the kernel needs no
    /// carry.
    #[inline(never)]
    fn run_counted(&self, first: Counter, mut buffers: Buffers<'_>) {
        let low = first.value as u64;
        if low.checked_add(buffers.len_bytes().div_ceil(BLOCK_BYTES) as u64).is_none() {
            return self.run_wrapping(first, buffers);
        }
        self.run_in_direction::<Counter, true>(first, &mut buffers);
    }

    /// Runs CTR where the low 64 bits of the counter wrap, perhaps right at the end.
    #[cold]
    #[inline(never)]
    fn run_wrapping(&self, first: Counter, mut buffers: Buffers<'_>) {
        let Self { isa, ref keys, .. } = *self;
        // The job has at least as many blocks as there are counters before the wrap.
        let left = (first.value as u64).wrapping_neg();
        let mut low = buffers.take_front((left as usize * BLOCK_BYTES).min(buffers.len_bytes()));
        isa.enter(Long::<W, Counter, true> { isa, keys, begin: first, buffers: &mut low });
        self.run_in_direction::<Counter, true>(first.skip(left.into()), &mut buffers);
    }

    #[inline(never)]
    fn run_tweaked(&self, tweaks: &Tweaks<'_>, mut buffers: Buffers<'_>) {
        let Self { isa, ref keys, direction, .. } = *self;
        let buffers = &mut buffers;
        match direction {
            Direction::Encrypt => isa.enter(Xts::<W, true> { isa, keys, tweaks, buffers }),
            Direction::Decrypt => isa.enter(Xts::<W, false> { isa, keys, tweaks, buffers }),
        }
    }
}

impl<W: AesLanes> WholePart for Cipher<W> {
    /// The functions called here are not inlined, so a short call does not save registers here.
    fn run(&self, source: Source<'_>, buffers: Buffers<'_>) {
        match source {
            Source::Bytes => self.run_framed(Plain, buffers),
            Source::Counter(first) => self.run_counted(first, buffers),
            Source::Tweaked(ref tweaks) => self.run_tweaked(tweaks, buffers),
            Source::Masked(masks) => self.run_framed(masks, buffers),
            Source::Chained(previous) => self.run_framed(Previous::<false>(previous), buffers),
            Source::Delayed(previous) => self.run_framed(Previous::<true>(previous), buffers),
        }
    }

    fn counts_bytes(&self) -> bool {
        true
    }

    fn rekey(&mut self, key: &[u8]) -> bool {
        self.take(key);
        if let Some(round1) = &mut self.round1 {
            round1.begin::<W>(self.isa, &self.keys);
        }
        true
    }

    fn block(&self, block: &mut Block) {
        let Self { isa, ref keys, direction, .. } = *self;
        match direction {
            Direction::Encrypt => isa.enter(One::<W, true> { isa, keys, block }),
            Direction::Decrypt => isa.enter(One::<W, false> { isa, keys, block }),
        }
    }

    fn is_shallow(&self) -> bool {
        true
    }

    #[allow(private_interfaces, reason = "only modes call it")]
    fn serial<'j, 'a, 'b>(
        &self,
        inverse: Option<&dyn WholePart>,
        job: Serial<'j, 'a, 'b>,
    ) -> Option<Serial<'j, 'a, 'b>> {
        let inverse = match inverse.map(|kernel| kernel.round_keys().and_then(<dyn Any>::downcast_ref)) {
            Some(None) => return Some(job), // another kind of kernel
            keys => keys.flatten(),
        };
        job.run_by(&Runner { cipher: self, inverse });
        None
    }

    #[allow(private_interfaces, reason = "only the mode calls it")]
    fn gcm_siv(&self, job: &mut GcmSivJob<'_, '_>) -> bool {
        run_gcm_siv::<W::OneBlock>(W::one_block(self.isa), &self.keys, job);
        true
    }

    fn round_keys(&self) -> Option<&dyn Any> {
        Some(&self.keys)
    }
}

impl<W: AesLanes> Cipher<W> {
    /// [`GcmKernel::prepare`](crate::mode::gcm::kernel::GcmKernel::prepare).
    pub(super) fn prepare_gcm(&mut self, h: &Block) -> Ghash {
        self.round1.insert(Wiped::new(gcm::Round1Table::none())).begin::<W>(self.isa, &self.keys);
        let ghash = Ghash::new(h, W::Isa::NEEDS);
        debug_assert!(ghash.is_bound_to::<W>());
        ghash
    }

    /// [`GcmKernel::one`](crate::mode::gcm::kernel::GcmKernel::one).
    #[inline(always)]
    pub(super) fn gcm(
        &self,
        params: &GcmParams<'_>,
        nonce: &GcmNonce,
        message: &mut AeadMessage<'_>,
    ) -> bool {
        debug_assert!(params.ghash.is_bound_to::<W>());
        gcm::one(gcm::With { cipher: self, params }, nonce, message)
    }

    /// [`GcmKernel::short`](crate::mode::gcm::kernel::GcmKernel::short).
    #[inline(always)]
    pub(super) fn gcm_short(
        &self,
        params: &GcmParams<'_>,
        messages: &mut [AeadMessage<'_>],
        right: &mut [bool],
    ) -> usize {
        debug_assert!(params.ghash.is_bound_to::<W>());
        if messages.len() < gcm::TOGETHER {
            return 0;
        }
        let with = gcm::With { cipher: self, params };
        with.prepare();
        self.isa.enter(gcm::Short(with, messages, right))
    }
}

impl<W: AesLanes> OcbKernel for Cipher<W> {
    fn run_with_checksum(&self, masks: &LongMasks<'_>, mut buffers: Buffers<'_>) -> Block {
        let Self { isa, ref keys, direction, .. } = *self;
        let buffers = &mut buffers;
        match direction {
            Direction::Encrypt => isa.enter(Masked::<W, true> { isa, keys, masks, buffers }),
            Direction::Decrypt => isa.enter(Masked::<W, false> { isa, keys, masks, buffers }),
        }
    }
}

impl<W: AesLanes> ChainKernel for Cipher<W> {
    fn lanes(&self) -> usize {
        IN_FLIGHT * W::BLOCKS
    }

    fn advance(&self, rule: Rule, chains: &mut [&mut ChainMessage<'_>], blocks: usize) {
        if let [chain] = chains {
            let mut job = ChainJob { rule, chain, blocks };
            return Runner { cipher: self, inverse: None }.run_job(&mut job);
        }
        chains::run::<W, _>(self.isa, self.keys.split(), rule, chains, blocks);
    }

    fn run_short(&self, rule: Rule, chains: &mut ShortChains<'_>) -> bool {
        chains::run_short::<W, _>(self.isa, self.keys.split(), rule, chains);
        true
    }
}

/// A kernel on `N` registers.
pub(super) trait Bundle<W: AesLanes> {
    /// Computes output registers from input registers. The first block of input is block `block` of the job.
    fn run<const N: usize>(&mut self, input: [W; N], block: usize) -> [W; N];
}

/// Runs a bundle kernel over any number of bytes: eight registers at a time, then the remainder as one register
/// or as eight. The last register may be incomplete.
///
/// Kernels take a job's buffers by reference. A copy would read pairs of words right after they were stored
/// one by one, which defeats store forwarding.
#[inline(always)]
pub(super) fn over_bundles<W: AesLanes>(isa: W::Isa, kernel: &mut impl Bundle<W>, buffers: &mut Buffers<'_>) {
    let mut buffers = buffers.reborrow();
    let len_bytes = buffers.len_bytes();
    let bundle_bytes = IN_FLIGHT * W::BYTES;
    let mut at = 0;
    let mut run = buffers.run();
    while len_bytes - at >= bundle_bytes {
        let output = kernel.run::<IN_FLIGHT>(run.load_all(isa, at), at / BLOCK_BYTES);
        run.store(at, output);
        run.prefetch_steadily(at + AHEAD_BYTES, bundle_bytes);
        at += bundle_bytes;
    }
    drop(run);
    match len_bytes - at {
        0 => {}
        rest_bytes if rest_bytes <= W::BYTES => run_rest::<W, _, 1>(isa, kernel, &mut buffers, at),
        _ => run_rest::<W, _, IN_FLIGHT>(isa, kernel, &mut buffers, at),
    }
}

/// Runs the bytes from byte `at` on, which `N` registers hold.
#[inline(always)]
fn run_rest<W: AesLanes, K: Bundle<W>, const N: usize>(
    isa: W::Isa,
    kernel: &mut K,
    buffers: &mut Buffers<'_>,
    at: usize,
) {
    let output = kernel.run::<N>(buffers.load_rest(isa, at), at / BLOCK_BYTES);
    buffers.store_rest(at, output);
}

/// Registers of short messages. An AES instruction takes three or four cycles, so two registers take hardly longer
/// than one. On CPUs that start one such instruction in each cycle, four take longer, and eight take twice as long
/// as four.
const FEW_IN_FLIGHT: usize = 4;

/// The least number of registers for a message, of 0, 1, 2, [`FEW_IN_FLIGHT`] and [`IN_FLIGHT`]. Longer messages also
/// get the last.
const fn registers_for<W: AesLanes>(len_bytes: usize) -> usize {
    if len_bytes == 0 {
        0
    } else if len_bytes <= W::BYTES {
        1
    } else if len_bytes <= 2 * W::BYTES {
        2
    } else if len_bytes <= FEW_IN_FLIGHT * W::BYTES {
        FEW_IN_FLIGHT
    } else {
        IN_FLIGHT
    }
}

/// A job of any length.
struct Long<'a, 'b, W: AesLanes, B, const ENCRYPT: bool> {
    isa: W::Isa,
    keys: &'a WideKeys,
    begin: B,
    buffers: &'a mut Buffers<'b>,
}

impl<W: AesLanes, B: Begin<W>, const ENCRYPT: bool> Kernel for Long<'_, '_, W, B, ENCRYPT> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Self { isa, keys, begin, buffers } = self;
        assert!(B::TAKES_BYTES || buffers.len_bytes().is_multiple_of(BLOCK_BYTES));
        over_bundles(isa, &mut FramedBundle::<W, _, ENCRYPT>::new(isa, keys, begin.frame(isa)), buffers);
    }
}

/// A message that `N` registers hold. A separate kernel: one that also has the loop of longer messages prepares
/// the loop's registers first.
struct Short<'a, 'b, W: AesLanes, B, const ENCRYPT: bool, const N: usize> {
    isa: W::Isa,
    keys: &'a WideKeys,
    begin: B,
    buffers: &'a mut Buffers<'b>,
}

impl<W: AesLanes, B: Begin<W>, const ENCRYPT: bool, const N: usize> Kernel
    for Short<'_, '_, W, B, ENCRYPT, N>
{
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Self { isa, keys, begin, buffers } = self;
        assert!(B::TAKES_BYTES || buffers.len_bytes().is_multiple_of(BLOCK_BYTES));
        let mut bundle = FramedBundle::<W, _, ENCRYPT>::new(isa, keys, begin.frame(isa));
        run_rest::<W, _, N>(isa, &mut bundle, buffers, 0);
    }
}

/// A single block.
struct One<'a, W: AesLanes, const ENCRYPT: bool> {
    isa: W::Isa,
    keys: &'a WideKeys,
    block: &'a mut Block,
}

impl<W: AesLanes, const ENCRYPT: bool> Kernel for One<'_, W, ENCRYPT> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Self { isa, keys, block } = self;
        let mut bundle = FramedBundle::<W, _, ENCRYPT>::new(isa, keys, Plain);
        // Callers may have stored it in halves.
        let block_in_lanes = both_halves::<W>(isa, u128::from_le_bytes(*block));
        let [result] = bundle.run::<1>([block_in_lanes], 0);
        result.store_lowest(block);
    }
}

/// The cipher with a frame.
pub(super) struct FramedBundle<'a, W: AesLanes, F, const ENCRYPT: bool> {
    isa: W::Isa,
    first: W,
    middle: Middle<'a, W, MIDDLE_LEAST>,
    last: W,
    pub(super) frame: F,
}

impl<'a, W: AesLanes, F, const ENCRYPT: bool> FramedBundle<'a, W, F, ENCRYPT> {
    #[inline(always)]
    pub(super) fn new(isa: W::Isa, keys: &'a WideKeys, frame: F) -> Self {
        let (first, middle, last) = keys.split();
        let (first, last) = (first.load::<W>(isa), last.load::<W>(isa));
        Self { isa, first, middle: Middle::new(isa, middle), last, frame }
    }
}

impl<W: AesLanes, F: Frame<W>, const ENCRYPT: bool> Bundle<W> for FramedBundle<'_, W, F, ENCRYPT> {
    #[inline(always)]
    fn run<const N: usize>(&mut self, input: [W; N], _block: usize) -> [W; N] {
        let Self { isa, first, ref middle, last, ref mut frame } = *self;
        let (entering, added) = frame.around::<N>(isa, input);
        let mut state: [W; N] = each!(i < N => entering[i] ^ first);
        middle.rounds::<N, ENCRYPT>(isa, &mut state, each!(i < N => last ^ added[i]));
        state
    }
}
