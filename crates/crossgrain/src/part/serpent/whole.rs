//! Serpent from blocks to blocks in registers: transposed, enciphered, transposed back, no tile between.
//!
//! Layout: `Repr::Blocks` outside; inside `Repr::Vsliced`, several bundles at a time.
//! Holds: the last blocks, less than a bundle, go through a copy on the stack, which is wiped.

use std::fmt;

use zeroize::Zeroizing;

use super::key::RoundKeys;
use super::vsliced::{Cipher, at_once};
use crate::block::{BLOCK_BYTES, Direction};
use crate::part::counter::{Counter, CounterToWords, before_wrap};
use crate::part::{Source, WholePart};
use crate::word::{Buffers, Isa, Kernel, Lane32, each};

/// The cipher in one direction, from blocks or from a counter.
pub struct Whole<W: Lane32> {
    isa: W::Isa,
    cipher: Cipher<W>,
    counter: CounterToWords<W>,
}

impl<W: Lane32> Whole<W> {
    /// The cipher by these instructions.
    pub fn new(isa: W::Isa, direction: Direction, keys: &RoundKeys) -> Self {
        Self { isa, cipher: Cipher::new(isa, direction, keys), counter: CounterToWords::new(isa) }
    }

    /// Bytes in a bundle.
    const BUNDLE_BYTES: usize = 4 * W::BYTES;

    /// Blocks in a bundle.
    const BUNDLE_BLOCKS: usize = Self::BUNDLE_BYTES / BLOCK_BYTES;

    #[inline(always)]
    fn on_bundles<const N: usize>(&self, source: Born, buffers: &mut Buffers<'_>, at: usize) {
        let input = each!(n < N => buffers.load_all::<W, 4>(self.isa, at + n * Self::BUNDLE_BYTES));
        let output = match source {
            Born::InBytes => {
                let states = each!(n < N => W::transpose_lanes(input[n]));
                let states = self.cipher.on_bundles(states);
                each!(n < N => W::transpose_lanes(states[n]))
            }
            Born::InCounter(first) => {
                let first = first.skip((at / BLOCK_BYTES) as u128);
                let states =
                    each!(n < N => self.counter.bundle(first.skip((n * Self::BUNDLE_BLOCKS) as u128)));
                let states = self.cipher.on_bundles(states);
                let keystream = each!(n < N => W::transpose_lanes(states[n]));
                each!(n < N => each!(i < 4 => keystream[n][i] ^ input[n][i]))
            }
        };
        for (n, words) in output.into_iter().enumerate() {
            buffers.store_all(at + n * Self::BUNDLE_BYTES, words);
        }
    }
}

impl<W: Lane32> fmt::Debug for Whole<W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Whole({} bits, secret)", W::BITS)
    }
}

impl<W: Lane32> WholePart for Whole<W> {
    fn run(&self, source: Source<'_>, buffers: Buffers<'_>) {
        assert!(buffers.len_bytes().is_multiple_of(BLOCK_BYTES));
        let mut source = match source {
            Source::Counter(first) => Born::InCounter(first),
            _ => Born::InBytes,
        };
        let mut rest = buffers;
        while !rest.is_empty() {
            let all = rest.len_bytes() / BLOCK_BYTES;
            let blocks = match source {
                Born::InBytes => all,
                Born::InCounter(first) => before_wrap(first, all),
            };
            let (now, later) = rest.split_at(blocks * BLOCK_BYTES);
            self.isa.enter(Run { whole: self, source, buffers: now });
            (source, rest) = (source.skip(blocks), later);
        }
    }

    fn frames_itself(&self) -> bool {
        false
    }

    fn lanes(&self) -> usize {
        at_once::<W>() * Self::BUNDLE_BLOCKS
    }
}

/// The sources that need no frame.
#[derive(Clone, Copy)]
enum Born {
    InBytes,
    InCounter(Counter),
}

impl Born {
    fn skip(self, blocks: usize) -> Self {
        match self {
            Self::InBytes => Self::InBytes,
            Self::InCounter(first) => Self::InCounter(first.skip(blocks as u128)),
        }
    }
}

struct Run<'a, W: Lane32> {
    whole: &'a Whole<W>,
    source: Born,
    buffers: Buffers<'a>,
}

impl<W: Lane32> Kernel for Run<'_, W> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Self { whole, source, mut buffers } = self;
        let (bundle_bytes, len_bytes) = (Whole::<W>::BUNDLE_BYTES, buffers.len_bytes());
        let mut at = 0;
        let at_once = at_once::<W>();
        while at + at_once * bundle_bytes <= len_bytes {
            match at_once {
                4 => whole.on_bundles::<4>(source, &mut buffers, at),
                2 => whole.on_bundles::<2>(source, &mut buffers, at),
                _ => whole.on_bundles::<1>(source, &mut buffers, at),
            }
            at += at_once * bundle_bytes;
        }
        // A few bundles, and less than another, are left: by way of one text.
        let mut copy = Zeroizing::new([0; 4 * 64]);
        while at < len_bytes {
            let rest = (len_bytes - at).min(bundle_bytes);
            copy[..rest].copy_from_slice(&buffers.input()[at..][..rest]);
            let source = source.skip(at / BLOCK_BYTES);
            whole.on_bundles::<1>(source, &mut Buffers::in_place(&mut copy[..bundle_bytes]), 0);
            buffers.output_mut()[at..][..rest].copy_from_slice(&copy[..rest]);
            at += rest;
        }
    }
}
