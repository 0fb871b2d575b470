//! Serpent from blocks to blocks in registers: transpose, encipher, transpose back, without a tile between.
//!
//! Layout: `Repr::Blocks` outside and `Repr::Vsliced` inside, several bundles at a time. The additions of a
//! mode also happen in registers: counters and tweaks are created as words, and neighbouring blocks are
//! loaded from the input.
//!
//! One or two blocks or chains are processed in integers. A round is one chain of dependent instructions, and
//! integer instructions have less latency than vector instructions.
//!
//! The last blocks, fewer than the bundles side by side, take the fewest bundles that hold them: one, two or
//! all. A partial bundle goes through a copy on the stack, which is wiped.

use std::fmt;

use super::chains;
use super::key::RoundKeys;
use super::vsliced::{Cipher, OnBundles as _, State};
use crate::arch::{Buffers, Isa, Kernel, Lane32, Portable, each, wipe};
use crate::block::{BLOCK_BYTES, Block, Direction};
use crate::kernel::{Source, WholePart};
use crate::mode::chained::chain::{ChainKernel, ChainMessage, Rule};
use crate::mode::ctr::counter::{Counter, CounterToWords, before_wrap};
use crate::mode::ocb::mask::Masks;
use crate::mode::xts::tweak::TweakWords;

/// The cipher in one direction, for every mode, with `N` bundles side by side.
pub struct Whole<W: Lane32, const N: usize> {
    many: OnWords<W, N>,
    few: OnWords<u32, FEW>,
}

/// Blocks or chains that are processed side by side in integers.
pub(super) const FEW: usize = 2;

impl<W: Lane32, const N: usize> Whole<W, N> {
    /// The cipher with these instructions.
    pub fn new(isa: W::Isa, direction: Direction, keys: &RoundKeys) -> Self {
        Self { many: OnWords::new(isa, direction, keys), few: OnWords::new(Portable, direction, keys) }
    }
}

/// The cipher on words of one kind, with `N` bundles side by side.
pub(super) struct OnWords<W: Lane32, const N: usize> {
    isa: W::Isa,
    cipher: Cipher<W>,
    counter: CounterToWords<W>,
}

/// Bytes in the widest bundle.
const BUNDLE_BYTES_MAX: usize = 4 * 64;

/// Room for `N` bundles: a copy of the last blocks, or the last entries of masks.
type Room<const N: usize> = [[u8; BUNDLE_BYTES_MAX]; N];

impl<W: Lane32, const N: usize> OnWords<W, N> {
    fn new(isa: W::Isa, direction: Direction, keys: &RoundKeys) -> Self {
        Self::of(isa, Cipher::new(isa, direction, keys))
    }

    /// The cipher with keys already set.
    pub(super) fn of(isa: W::Isa, cipher: Cipher<W>) -> Self {
        Self { isa, cipher, counter: CounterToWords::new(isa) }
    }

    /// Bytes in a bundle.
    const BUNDLE_BYTES: usize = 4 * W::BYTES;

    /// Blocks in a bundle.
    const BUNDLE_BLOCKS: usize = Self::BUNDLE_BYTES / BLOCK_BYTES;

    pub(super) fn run(&self, mut source: Source<'_>, mut rest: Buffers<'_>) {
        while !rest.is_empty() {
            let all = rest.len_bytes() / BLOCK_BYTES;
            let blocks = if let Source::Counter(first) = source { before_wrap(first, all) } else { all };
            let (now, later) = rest.split_at(blocks * BLOCK_BYTES);
            let next = source.after(now.input());
            self.run_by_bundles(source, now);
            (source, rest) = (next, later);
        }
    }

    fn run_by_bundles(&self, mut source: Source<'_>, mut rest: Buffers<'_>) {
        let step_bytes = N * Self::BUNDLE_BYTES;
        let stepped_bytes = rest.len_bytes() / step_bytes * step_bytes;
        if stepped_bytes > 0 {
            let (now, later) = rest.split_at(stepped_bytes);
            let next = source.after(now.input());
            self.isa.enter(Run::<W, N, N> { whole: self, source, buffers: now });
            (source, rest) = (next, later);
        }
        match rest.len_bytes().div_ceil(Self::BUNDLE_BYTES) {
            0 => {}
            1 => self.run_last::<1>(source, rest),
            2 => self.run_last::<2>(source, rest),
            _ => self.run_last::<N>(source, rest),
        }
    }

    /// Processes the last blocks in `M` bundles, which they may fill only in part.
    fn run_last<const M: usize>(&self, source: Source<'_>, mut buffers: Buffers<'_>) {
        let len_bytes = buffers.len_bytes();
        if len_bytes == M * Self::BUNDLE_BYTES {
            return self.isa.enter(Run::<W, N, M> { whole: self, source, buffers });
        }
        let mut copy: Room<M> = [[0; _]; _];
        let copy = &mut copy.as_flattened_mut()[..M * Self::BUNDLE_BYTES];
        copy[..len_bytes].copy_from_slice(buffers.input());
        self.isa.enter(Run::<W, N, M> { whole: self, source, buffers: Buffers::in_place(copy) });
        buffers.output_mut().copy_from_slice(&copy[..len_bytes]);
        wipe(copy);
    }

    /// Processes `M` bundles from byte `at` on.
    ///
    /// The mode is tested before and after the cipher, so that the long code of the cipher occurs only once.
    #[inline(always)]
    fn on_bundles<const M: usize>(
        &self,
        frame: &mut Frame<'_, W>,
        buffers: &mut Buffers<'_>,
        at: usize,
        copy: &mut Room<M>,
    ) {
        let mut tweaks = [[W::splat(self.isa, 0); 4]; M];
        let mut states = match frame {
            Frame::Counter(next) => {
                let first = *next;
                *next = first.skip((M * Self::BUNDLE_BLOCKS) as u128);
                self.counter.bundles(first)
            }
            Frame::Delayed(previous) => transposed(Self::delayed::<M>(self.isa, buffers, at, previous)),
            Frame::Masked(masks) => {
                let input = Self::input::<M>(self.isa, buffers, at);
                transposed(sums(input, self.masks(masks, copy)))
            }
            Frame::Plain | Frame::Chained(_) | Frame::Tweaked(_) => {
                transposed(Self::input::<M>(self.isa, buffers, at))
            }
        };
        if let Frame::Tweaked(next) = frame {
            for words in &mut tweaks {
                *words = next.bundle(self.isa);
            }
            states = sums(states, tweaks);
        }
        states = self.cipher.on_bundles(states);
        if let Frame::Tweaked(_) = frame {
            states = sums(states, tweaks);
        }
        let mut output = transposed(states);
        match frame {
            Frame::Plain | Frame::Tweaked(_) => {}
            Frame::Masked(masks) => {
                output = sums(output, self.masks(masks, copy));
                *masks = masks.skip(M * Self::BUNDLE_BLOCKS);
            }
            Frame::Counter(_) | Frame::Delayed(_) => {
                output = sums(output, Self::input::<M>(self.isa, buffers, at));
            }
            Frame::Chained(previous) => {
                output = sums(output, Self::delayed::<M>(self.isa, buffers, at, previous));
            }
        }
        for (n, words) in output.into_iter().enumerate() {
            buffers.store_all(at + n * Self::BUNDLE_BYTES, words);
        }
    }

    /// The masks of the next `M` bundles, as blocks. As words they would have to be transposed, and kept
    /// while the cipher runs.
    #[inline(always)]
    fn masks<const M: usize>(&self, masks: &Masks<'_>, copy: &mut Room<M>) -> [[W; 4]; M] {
        let bytes = masks.next_entries(M * Self::BUNDLE_BLOCKS, copy.as_flattened_mut());
        let shared = [*masks.shared(); 4];
        let shared = shared.as_flattened();
        each!(n < M => each!(i < 4 => {
            let entries = &bytes[n * Self::BUNDLE_BYTES + i * W::BYTES..][..W::BYTES];
            W::load(self.isa, entries) ^ W::load(self.isa, &shared[i * W::BYTES % BLOCK_BYTES..][..W::BYTES])
        }))
    }

    #[inline(always)]
    fn input<const M: usize>(isa: W::Isa, buffers: &Buffers<'_>, at: usize) -> [State<W>; M] {
        each!(n < M => buffers.load_all(isa, at + n * Self::BUNDLE_BYTES))
    }

    /// The input one block earlier, beginning with `previous`. The last block of this input then becomes
    /// `previous`.
    #[inline(always)]
    fn delayed<const M: usize>(
        isa: W::Isa,
        buffers: &Buffers<'_>,
        at: usize,
        previous: &mut Block,
    ) -> [State<W>; M] {
        let input = &buffers.input()[at..][..M * Self::BUNDLE_BYTES];
        // Only the first bundle needs a block from before this input. Its place may already be overwritten.
        let mut first = [0; BUNDLE_BYTES_MAX];
        let first = &mut first[..Self::BUNDLE_BYTES];
        first[..BLOCK_BYTES].copy_from_slice(previous);
        first[BLOCK_BYTES..].copy_from_slice(&input[..Self::BUNDLE_BYTES - BLOCK_BYTES]);
        previous.copy_from_slice(&input[M * Self::BUNDLE_BYTES - BLOCK_BYTES..]);
        let first = Buffers::in_place(first).load_all(isa, 0);
        each!(n < M => if n == 0 {
            first
        } else {
            buffers.load_all(isa, at + n * Self::BUNDLE_BYTES - BLOCK_BYTES)
        })
    }
}

#[inline(always)]
fn transposed<W: Lane32, const N: usize>(bundles: [[W; 4]; N]) -> [[W; 4]; N] {
    each!(n < N => W::transpose_lanes(bundles[n]))
}

#[inline(always)]
pub(super) fn sums<W: Lane32, const N: usize>(a: [[W; 4]; N], b: [[W; 4]; N]) -> [[W; 4]; N] {
    each!(n < N => each!(i < 4 => a[n][i] ^ b[n][i]))
}

impl<W: Lane32, const N: usize> fmt::Debug for Whole<W, N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Whole({N} bundles of {} bits, secret)", W::BITS)
    }
}

impl<W: Lane32, const N: usize> OnWords<W, N> {
    fn chain(&self, rule: Rule, chains: &mut [&mut ChainMessage<'_>], blocks: usize) {
        chains::run::<W, N>(self.isa, &self.cipher, rule, chains, blocks);
    }
}

impl<W: Lane32, const N: usize> WholePart for Whole<W, N> {
    fn run(&self, source: Source<'_>, buffers: Buffers<'_>) {
        assert!(buffers.len_bytes().is_multiple_of(BLOCK_BYTES));
        if buffers.len_bytes() <= FEW * BLOCK_BYTES {
            self.few.run(source, buffers);
        } else {
            self.many.run(source, buffers);
        }
    }
}

impl<W: Lane32, const N: usize> ChainKernel for Whole<W, N> {
    fn lanes(&self) -> usize {
        N * OnWords::<W, N>::BUNDLE_BLOCKS
    }

    fn advance(&self, rule: Rule, chains: &mut [&mut ChainMessage<'_>], blocks: usize) {
        if chains.len() <= FEW {
            self.few.chain(rule, chains, blocks);
        } else {
            self.many.chain(rule, chains, blocks);
        }
    }
}

/// The part of a mode around the cipher, from the next bundle on.
enum Frame<'a, W: Lane32> {
    /// Nothing is added.
    Plain,
    /// The counter of the next block enters, and the input is added.
    Counter(Counter),
    /// Tweaks are added before and after.
    Tweaked(TweakWords<'a, W>),
    /// Masks are added before and after.
    Masked(Masks<'a>),
    /// The previous input block is added; for the first block, that is this value.
    Chained(Block),
    /// The previous input block enters; for the first block, that is this value. The input is added.
    Delayed(Block),
}

impl<'a, W: Lane32> Frame<'a, W> {
    #[inline(always)]
    fn of(isa: W::Isa, source: Source<'a>) -> Self {
        match source {
            Source::Bytes => Self::Plain,
            Source::Counter(first) => Self::Counter(first),
            Source::Tweaked(tweaks) => Self::Tweaked(TweakWords::new(isa, tweaks)),
            Source::Masked(masks) => Self::Masked(masks),
            Source::Chained(previous) => Self::Chained(previous),
            Source::Delayed(previous) => Self::Delayed(previous),
        }
    }
}

/// The cipher on whole steps of `M` bundles.
struct Run<'a, W: Lane32, const N: usize, const M: usize> {
    whole: &'a OnWords<W, N>,
    source: Source<'a>,
    buffers: Buffers<'a>,
}

impl<W: Lane32, const N: usize, const M: usize> Kernel for Run<'_, W, N, M> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Self { whole, source, mut buffers } = self;
        let mut frame = Frame::of(whole.isa, source);
        let mut entries: Room<M> = [[0; _]; _];
        for at in (0..buffers.len_bytes()).step_by(M * OnWords::<W, N>::BUNDLE_BYTES) {
            whole.on_bundles::<M>(&mut frame, &mut buffers, at, &mut entries);
        }
    }
}
