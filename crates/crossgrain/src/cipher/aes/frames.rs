//! The work of modes around the cipher with AES instructions: ECB, CBC and CFB decryption, OCB and CTR.
//!
//! A frame prepares the registers that enter the cipher and those that are added to its result.
//! [`FramedBundle`](super::instructions::FramedBundle) is the cipher with a frame. The counters of CTR are also
//! those of other kernels.
//!
//! Layout and requirements: as in `instructions`.

use super::instructions::{BUNDLE_BLOCKS_MAX, IN_FLIGHT};
use crate::arch::{AesLanes, each};
use crate::block::{BLOCK_BYTES, Block};
use crate::mode::ctr::counter::Counter;
use crate::mode::ocb::mask::Masks;

/// The part of a mode around the cipher.
pub(super) trait Frame<W: AesLanes> {
    /// For the next `N` registers of input: the registers that enter the cipher, and those that are added to
    /// its result.
    fn around<const N: usize>(&mut self, isa: W::Isa, input: [W; N]) -> ([W; N], [W; N]);
}

/// A mode and its first value. The kernel makes the frame of a job from them.
pub(super) trait Begin<W: AesLanes>: Copy {
    type Frame: Frame<W>;

    /// Whether the last block may be partial.
    const TAKES_BYTES: bool = false;

    /// Whether kernels for short messages are worth their code.
    const IS_OFTEN_SHORT: bool = true;

    fn frame(self, isa: W::Isa) -> Self::Frame;
}

/// ECB: the input enters, and nothing is added.
#[derive(Clone, Copy)]
pub(super) struct Plain;

impl<W: AesLanes> Begin<W> for Plain {
    type Frame = Self;

    #[inline(always)]
    fn frame(self, _isa: W::Isa) -> Self {
        self
    }
}

impl<W: AesLanes> Frame<W> for Plain {
    #[inline(always)]
    fn around<const N: usize>(&mut self, isa: W::Isa, input: [W; N]) -> ([W; N], [W; N]) {
        (input, [W::splat(isa, 0); N])
    }
}

/// The block before the first one of [`Neighbours`].
#[derive(Clone, Copy)]
pub(super) struct Previous<const DELAYED: bool>(pub(super) Block);

impl<W: AesLanes, const DELAYED: bool> Begin<W> for Previous<DELAYED> {
    type Frame = Neighbours<W, DELAYED>;

    const IS_OFTEN_SHORT: bool = !DELAYED;

    #[inline(always)]
    fn frame(self, isa: W::Isa) -> Self::Frame {
        Neighbours { previous: W::broadcast(isa, &self.0) }
    }
}

/// Uses each input block and the one before it: one enters, the other is added. In CFB decryption (`DELAYED`)
/// the earlier block enters; in CBC decryption the current one does.
pub(super) struct Neighbours<W, const DELAYED: bool> {
    /// The last input block so far, in the last lane.
    previous: W,
}

impl<W: AesLanes, const DELAYED: bool> Frame<W> for Neighbours<W, DELAYED> {
    #[inline(always)]
    fn around<const N: usize>(&mut self, _isa: W::Isa, input: [W; N]) -> ([W; N], [W; N]) {
        let earlier = each!(i < N => input[i].preceded_by(if i == 0 { self.previous } else { input[i - 1] }));
        self.previous = input[N - 1];
        if DELAYED { (earlier, input) } else { (input, earlier) }
    }
}

/// OCB without its checksum.
impl<W: AesLanes> Begin<W> for Masks<'_> {
    type Frame = Self;

    const IS_OFTEN_SHORT: bool = false;

    #[inline(always)]
    fn frame(self, _isa: W::Isa) -> Self {
        self
    }
}

/// A mask is added before the cipher and after it.
impl<W: AesLanes> Frame<W> for Masks<'_> {
    #[inline(always)]
    fn around<const N: usize>(&mut self, isa: W::Isa, input: [W; N]) -> ([W; N], [W; N]) {
        let mut copy = [0; BUNDLE_BLOCKS_MAX * BLOCK_BYTES];
        let shared = W::broadcast(isa, self.shared());
        let entries = self.next_entries(N * W::BLOCKS, &mut copy);
        let masks = each!(i < N => W::load(isa, &entries[i * W::BYTES..][..W::BYTES]) ^ shared);
        *self = self.skip(N * W::BLOCKS);
        (each!(i < N => input[i] ^ masks[i]), masks)
    }
}

/// CTR while the low 64 bits of the counter do not wrap.
impl<W: AesLanes> Begin<W> for Counter {
    type Frame = Counted<W>;

    const TAKES_BYTES: bool = true;

    #[inline(always)]
    fn frame(self, isa: W::Isa) -> Self::Frame {
        Counted::from(isa, self)
    }
}

/// CTR: counters enter, and the input is added.
pub(super) struct Counted<W> {
    /// The counters of the next register.
    next: W,
    /// The distance of each register's counters from the first register's, and of the next bundle's from this
    /// one's.
    steps: [W; IN_FLIGHT],
    bundle: W,
    /// Shuffle from a number's bytes to a block's.
    places: W,
}

impl<W: AesLanes> Counted<W> {
    #[inline(always)]
    pub(super) fn from(isa: W::Isa, first: Counter) -> Self {
        Self {
            next: both_halves::<W>(isa, first.value).add_low_u64(counters(isa, 0, 1)),
            steps: each!(i < IN_FLIGHT => counters(isa, (i * W::BLOCKS) as u128, 0)),
            bundle: counters(isa, (IN_FLIGHT * W::BLOCKS) as u128, 0),
            places: W::broadcast(isa, &first.order.places()),
        }
    }
}

impl<W: AesLanes> Frame<W> for Counted<W> {
    #[inline(always)]
    fn around<const N: usize>(&mut self, _isa: W::Isa, input: [W; N]) -> ([W; N], [W; N]) {
        let counters = each!(i < N => self.next.add_low_u64(self.steps[i]));
        // Only the last call can have less than a whole bundle.
        self.next = self.next.add_low_u64(self.bundle);
        (each!(i < N => counters[i].shuffle_bytes(self.places)), input)
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

/// Two numbers in general registers, as the halves of every lane.
#[inline(always)]
pub(super) fn halves<W: AesLanes>(isa: W::Isa, low: u64, high: u64) -> W {
    W::exchange_halves(W::splat(isa, low), W::splat(isa, high)).0
}

/// Broadcasts a value to every lane. It is assembled in registers: through memory, it would be stored as two
/// halves and loaded as a whole, which defeats store forwarding. An exchange of halves does not help, because
/// the compiler replaces it by a load of the whole.
#[inline(always)]
pub(super) fn both_halves<W: AesLanes>(isa: W::Isa, value: u128) -> W {
    let low = W::broadcast(isa, &u128::from(u64::MAX).to_le_bytes());
    (W::splat(isa, value as u64) & low) ^ (W::splat(isa, (value >> 64) as u64) & !low)
}

/// The blocks of consecutive counters, beginning with this one.
#[inline(always)]
pub(super) fn counters_from<W: AesLanes>(isa: W::Isa, first: Counter) -> W {
    let places = W::broadcast(isa, &first.order.places());
    let wraps = (first.value as u64).checked_add(W::BLOCKS as u64 - 1).is_none();
    if wraps {
        return counters::<W>(isa, first.value, 1).shuffle_bytes(places);
    }
    both_halves::<W>(isa, first.value).add_low_u64(counters(isa, 0, 1)).shuffle_bytes(places)
}
