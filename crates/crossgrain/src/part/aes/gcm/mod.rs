//! GCM of a message, in one pass by one kernel: AES instructions on counters, and between them carry-less products for GHASH.
//!
//! Rounds and products have ports of their own, so that the two take little longer together than the rounds alone. A bundle has as
//! many registers as GHASH reduces together, and one is hashed a round: to open, those that are decrypted; to seal, those of the bundle
//! before. The end, a bundle at most, has the mask of the tag as one more register beside those of its counters, and each of its blocks
//! is multiplied by a power of its own, so that the sum is reduced once: a short message takes little longer than a block. Several short
//! messages go together: each step of one waits for the step before, and the others' fill the time. Of long ones, the first two rounds
//! come from the table of `walk`.
//! Layout: `Repr::Blocks`, as in `instructions`. Needs: `AesLanes`. Source: SP 800-38D §7.1 and §7.2;
//! Gopal et al., "Fast Cryptographic Computation on Intel Architecture Processors Via Function Stitching" (2010).
//! Holds: what is branched on is public: lengths, and whether the tag is right.

mod bundles;
mod end;
mod together;

use std::hint::black_box;

use self::bundles::bulk;
use self::end::finish;
pub(super) use self::together::Short;
use super::instructions::{Counted, IN_FLIGHT};
use super::key::{Wide, WideKeys};
use super::walk::{Table, Walker};
use crate::block::{BLOCK_BYTES, Block};
use crate::message::AeadMessage;
use crate::part::GcmWay;
use crate::part::counter::Counter;
use crate::part::ghash::{Few, Powers, Sums};
use crate::word::{AesLanes, Isa, Kernel};

/// What all messages are sealed or opened with.
#[derive(Clone, Copy)]
pub(super) struct With<'a, W: AesLanes> {
    isa: W::Isa,
    keys: &'a WideKeys,
    way: GcmWay<'a>,
    powers: &'a Powers,
}

impl<'a, W: AesLanes> With<'a, W> {
    /// # Panics
    /// If GHASH is not by products.
    pub(super) fn new(isa: W::Isa, keys: &'a WideKeys, way: GcmWay<'a>) -> Self {
        let Some(powers) = way.ghash.powers() else { unreachable!("no CPU has AES instructions alone") };
        Self { isa, keys, way, powers }
    }
}

/// Seals or opens a message, and says whether its tag is right: [`WholePart::gcm`](crate::part::WholePart::gcm). `WALKS` says whether two
/// rounds of what comes before the end are taken from a table.
pub(super) fn one<W: AesLanes, const WALKS: bool>(
    with: With<'_, W>,
    first: u128,
    message: &mut AeadMessage<'_>,
) -> bool {
    let (mut sum, mut aad) = ([0; BLOCK_BYTES], message.aad);
    let bulk_bytes = bulk_bytes::<W>(message);
    let end_bytes = message.buffers.len_bytes() - bulk_bytes;
    if bulk_bytes > 0 || blocks_of(aad.len()) + blocks_of(end_bytes) + 1 > Few::<W>::BLOCKS_MAX {
        with.way.ghash.absorb(&mut sum, aad);
        aad = &[];
    }
    with.isa.enter(Message::<W, WALKS>(Start { with, first, sum: &sum, aad }, message))
}

/// The most registers of data that a short message has.
const SHORT_REGISTERS: usize = 4;

#[allow(
    clippy::manual_div_ceil,
    reason = "which takes three times the instructions, in case the sum overflows"
)]
const fn blocks_of(len_bytes: usize) -> usize {
    (len_bytes + BLOCK_BYTES - 1) / BLOCK_BYTES
}

/// Whole bundles in front of the end.
#[inline(always)]
const fn bulk_bytes<W: AesLanes>(message: &AeadMessage<'_>) -> usize {
    // The length of a bundle is a power of two.
    message.buffers.len_bytes().saturating_sub(1) & !(IN_FLIGHT * W::BYTES - 1)
}

/// GHASH's last block, but in bytes where it has bits: the big-endian number that it is, in every lane.
#[inline(always)]
fn lengths<W: AesLanes>(isa: W::Isa, message: &AeadMessage<'_>) -> W {
    let (data, aad) = (message.buffers.len_bytes() as u64, message.aad.len() as u64);
    W::exchange_halves(W::splat(isa, data), W::splat(isa, aad)).0
}

/// Additional data without its last block, and that.
#[inline(always)]
fn last_block(aad: &[u8]) -> (&[u8], &[u8]) {
    aad.split_at(aad.len().saturating_sub(1) & !(BLOCK_BYTES - 1))
}

/// What a message is begun with.
struct Start<'a, W: AesLanes> {
    with: With<'a, W>,
    /// The counter block J₀.
    first: u128,
    /// GHASH so far.
    sum: &'a Block,
    /// Additional data that is not hashed yet, none where there is more than the end.
    aad: &'a [u8],
}

impl<W: AesLanes> Start<'_, W> {
    /// The counter of a block of the data.
    #[inline(always)]
    const fn counter(&self, block: usize) -> Counter {
        // Before an empty message it may be all ones.
        Counter::big_endian(self.first.wrapping_add(1).wrapping_add(block as u128))
    }
}

/// The kernel of one message.
struct Message<'a, 'b, 'c, W: AesLanes, const WALKS: bool>(Start<'a, W>, &'b mut AeadMessage<'c>);

impl<W: AesLanes, const WALKS: bool> Kernel for Message<'_, '_, '_, W, WALKS> {
    type Output = bool;

    #[inline(always)]
    fn run(self) -> bool {
        let Self(start, message) = self;
        let Start { with: With { isa, powers, .. }, sum, aad, .. } = start;
        let bulk_bytes = bulk_bytes::<W>(message);
        let len_bytes = message.buffers.len_bytes() - bulk_bytes;
        let blocks = blocks_of(aad.len()) + blocks_of(len_bytes) + 1;
        let before = if bulk_bytes == 0 {
            Before::Nothing(Few::<W>::after(isa, powers, sum, blocks))
        } else if WALKS {
            let first = start.counter(0);
            let mut table = Table::new();
            table.fill::<W>(isa, start.with.keys, first);
            let begin = Walker::new(isa, start.with.keys, &table, first);
            Before::Bundles(bulk(&start, begin, message, bulk_bytes), blocks)
        } else {
            let begin = Counted::from(isa, start.counter(0));
            Before::Bundles(bulk(&start, begin, message, bulk_bytes), blocks)
        };
        // Registers of data, and one more for the mask of the tag.
        if len_bytes <= W::BYTES {
            finish::<W, 1>(&start, message, bulk_bytes, before)
        } else if len_bytes <= SHORT_REGISTERS * W::BYTES {
            finish::<W, SHORT_REGISTERS>(&start, message, bulk_bytes, before)
        } else {
            finish::<W, IN_FLIGHT>(&start, message, bulk_bytes, before)
        }
    }
}

/// What comes before the end of a message.
enum Before<'a, W: AesLanes> {
    /// No data, and this hash.
    Nothing(Few<'a, W>),
    /// Whole bundles, of which the last is not hashed yet if they were sealed, and this many blocks that are still to be hashed behind
    /// them.
    Bundles(Sums<'a, W>, usize),
}

/// The keys of so many rounds in whose gaps something is computed, and of the others. How many that is the compiler must not see: it
/// would write their loop out, and move what is computed behind all rounds, where it fills no gap.
#[inline(always)]
fn in_gaps(keys: &[Wide], rounds: usize) -> (&[Wide], &[Wide]) {
    keys.split_at(black_box(rounds).min(keys.len()))
}
