//! GCM of a message, in one pass by one kernel: AES instructions on counters, and between them carry-less products for GHASH.
//!
//! Rounds and products have ports of their own, so that the two take little longer together than the rounds alone. A bundle has as
//! many registers as GHASH reduces together, and one is hashed a round: to open, those that are decrypted; to seal, those of the bundle
//! before. The end, a bundle at most, has the mask of the tag as one more register beside those of its counters, and each of its blocks
//! is multiplied by a power of its own, so that the sum is reduced once: a short message takes little longer than a block.
//! Layout: `Repr::Blocks`, as in `instructions`. Needs: `AesLanes`. Source: SP 800-38D §7.1 and §7.2;
//! Gopal et al., "Fast Cryptographic Computation on Intel Architecture Processors Via Function Stitching" (2010).
//! Holds: what is branched on is public: lengths, and whether the tag is right.

use std::ops::Range;

use super::instructions::{
    AHEAD_BYTES, Bundle, Counted, Frame, FramedBundle, IN_FLIGHT, MIDDLE_LEAST, Middle, both_halves, round,
};
use super::key::RoundKeys;
use crate::block::BLOCK_BYTES;
use crate::part::GcmMessage;
use crate::part::counter::Counter;
use crate::part::ghash::{Few, Ghash, Powers, STRIDE, Sums};
use crate::word::{AesLanes, Isa, Kernel, each, unrolled};

/// Seals or opens a message, of which the low 32 bits of the counter do not wrap; says whether its tag is right.
///
/// Of a message whose tag is wrong, all but the end is decrypted.
///
/// # Panics
/// If GHASH is not by products.
pub(super) fn run<W: AesLanes>(
    isa: W::Isa,
    keys: &RoundKeys,
    ghash: &Ghash,
    message: &mut GcmMessage<'_, '_>,
) -> bool {
    let Some(powers) = ghash.powers() else { unreachable!("no CPU has AES instructions alone") };
    let (mut sum, mut aad) = ([0; BLOCK_BYTES], message.aad);
    let blocks = |bytes: usize| bytes.div_ceil(BLOCK_BYTES);
    let end_bytes = message.buffers.len_bytes() - bulk_bytes::<W>(message);
    if bulk_bytes::<W>(message) > 0 || blocks(aad.len()) + blocks(end_bytes) + 1 > Few::<W>::BLOCKS_MAX {
        ghash.absorb(&mut sum, aad);
        aad = &[];
    }
    let start = Start { isa, keys, powers, sum: &sum, aad };
    if message.opens.is_some() {
        isa.enter(Message::<W, true>(start, message))
    } else {
        isa.enter(Message::<W, false>(start, message))
    }
}

/// Whole bundles in front of the end.
#[inline(always)]
const fn bulk_bytes<W: AesLanes>(message: &GcmMessage<'_, '_>) -> usize {
    // The length of a bundle is a power of two.
    message.buffers.len_bytes().saturating_sub(1) & !(IN_FLIGHT * W::BYTES - 1)
}

/// What a message is begun with.
struct Start<'a, W: AesLanes> {
    isa: W::Isa,
    keys: &'a RoundKeys,
    powers: &'a Powers,
    /// GHASH so far.
    sum: &'a [u8; BLOCK_BYTES],
    /// Additional data that is not hashed yet, none where there is more than the end.
    aad: &'a [u8],
}

/// The kernel; `OPENS` says which direction.
struct Message<'a, 'b, 'c, W: AesLanes, const OPENS: bool>(Start<'a, W>, &'a mut GcmMessage<'b, 'c>);

impl<W: AesLanes, const OPENS: bool> Kernel for Message<'_, '_, '_, W, OPENS> {
    type Output = bool;

    #[inline(always)]
    fn run(self) -> bool {
        let Self(start, message) = self;
        let Start { isa, powers, sum, aad, .. } = start;
        let bulk_bytes = bulk_bytes::<W>(message);
        let len_bytes = message.buffers.len_bytes() - bulk_bytes;
        let blocks = aad.len().div_ceil(BLOCK_BYTES) + len_bytes.div_ceil(BLOCK_BYTES) + 1;
        let hash = if bulk_bytes == 0 {
            Few::<W>::after(isa, powers, sum, blocks)
        } else {
            Few::<W>::after_lanes(isa, powers, bulk::<W, OPENS>(&start, message, bulk_bytes), blocks)
        };
        // Registers of data, and one more for the mask of the tag.
        let end = bulk_bytes..bulk_bytes + len_bytes;
        if len_bytes <= W::BYTES {
            finish::<W, 1, 2, OPENS>(&start, message, end, hash)
        } else if len_bytes <= 4 * W::BYTES {
            finish::<W, 4, 5, OPENS>(&start, message, end, hash)
        } else {
            finish::<W, IN_FLIGHT, { IN_FLIGHT + 1 }, OPENS>(&start, message, end, hash)
        }
    }
}

const _: () = assert!(STRIDE == IN_FLIGHT);

/// Whole bundles in front of the end, this many bytes; gives the sums of GHASH's lanes after them.
#[inline(always)]
fn bulk<W: AesLanes, const OPENS: bool>(
    start: &Start<'_, W>,
    message: &mut GcmMessage<'_, '_>,
    bulk_bytes: usize,
) -> W {
    let &Start { isa, keys, powers, sum, .. } = start;
    let bundle_bytes = IN_FLIGHT * W::BYTES;
    let first = message.first(0);
    // Here, where its parts lie in registers.
    let mut buffers = message.buffers.reborrow();
    let mut sums = Sums::<W>::from(isa, powers, sum);
    let mut counted = FramedBundle::<W, _, true>::new(isa, keys, Counted::from(isa, first));
    let mut at = 0;
    if !OPENS {
        buffers.store_all(0, counted.run::<IN_FLIGHT>(buffers.load_all(isa, 0), 0));
        at = bundle_bytes;
    }
    let mut frame = counted.frame;
    while at < bulk_bytes {
        let input = buffers.load_all(isa, at);
        let sent = if OPENS {
            &buffers.input()[at..][..bundle_bytes]
        } else {
            &buffers.output_mut()[at - bundle_bytes..][..bundle_bytes]
        };
        let output = encrypt_and_hash(isa, keys, (&mut frame, &mut sums), input, sent);
        buffers.store_all(at, output);
        buffers.expect(at + AHEAD_BYTES, bundle_bytes);
        at += bundle_bytes;
    }
    if !OPENS {
        sums.add_stride(&buffers.output_mut()[bulk_bytes - bundle_bytes..][..bundle_bytes]);
    }
    sums.lanes()
}

/// A bundle of CTR whose first middle rounds have products of what is `sent` between them.
#[inline(always)]
fn encrypt_and_hash<W: AesLanes>(
    isa: W::Isa,
    keys: &RoundKeys,
    (frame, sums): (&mut Counted<W>, &mut Sums<'_, W>),
    input: [W; IN_FLIGHT],
    sent: &[u8],
) -> [W; IN_FLIGHT] {
    let (first, middle, last) = keys.split();
    let (first, last) = (W::broadcast(isa, first), W::broadcast(isa, last));
    let (entering, added) = frame.around::<IN_FLIGHT>(isa, input);
    let mut state = each!(i < IN_FLIGHT => entering[i] ^ first);
    let (early, late) = middle.split_at(STRIDE);
    let mut products = sums.begin_stride();
    unrolled!(i in [0 1 2 3 4 5 6 7] {
        round::<W, IN_FLIGHT, true>(isa, &mut state, &early[i]);
        sums.add_in_stride(&mut products, i, &sent[i * W::BYTES..][..W::BYTES]);
    });
    let last_keys = each!(i < IN_FLIGHT => last ^ added[i]);
    Middle::in_memory(late).rounds::<IN_FLIGHT, true>(isa, &mut state, last_keys);
    state
}

/// The end, in `N` registers of data.
#[inline(always)]
fn finish<W: AesLanes, const N: usize, const M: usize, const OPENS: bool>(
    start: &Start<'_, W>,
    message: &mut GcmMessage<'_, '_>,
    end: Range<usize>,
    mut hash: Few<'_, W>,
) -> bool {
    let &Start { isa, keys, aad, .. } = start;
    let lengths = message.lengths();
    let input: [W; N] = each!(i < N => W::load_part(isa, &message.buffers.input()[part::<W>(i, &end)]));
    let first = message.first(end.start / BLOCK_BYTES);
    let keystream = keystream::<W, N, M>(isa, keys, first, message.counter);
    let output = each!(i < N => input[i] ^ keystream[i]);
    for aad in aad.chunks(W::BYTES) {
        hash.add(isa, W::load_part(isa, aad), aad.len().div_ceil(BLOCK_BYTES));
    }
    for i in 0..N {
        let len_bytes = part::<W>(i, &end).len();
        // What the keystream has beyond the message is no part of it.
        let kept = W::load(isa, &FIRST_BYTES[64 - len_bytes..][..W::BYTES]);
        let sent = if OPENS { input[i] } else { output[i] & kept };
        hash.add(isa, sent, len_bytes.div_ceil(BLOCK_BYTES));
    }
    hash.add(isa, both_halves::<W>(isa, lengths), 1);
    let mut tag = [0; BLOCK_BYTES];
    (hash.end() ^ keystream[N]).store_lowest(&mut tag);
    if OPENS {
        let difference = u128::from_le_bytes(tag) ^ u128::from_le_bytes(message.tag);
        if difference & message.opens.unwrap_or(u128::MAX) != 0 {
            return false;
        }
    }
    for (i, output) in output.into_iter().enumerate() {
        output.store_part(&mut message.buffers.output_mut()[part::<W>(i, &end)]);
    }
    message.tag = tag;
    true
}

/// The encrypted counters, and behind them the mask of the tag in every lane.
#[inline(always)]
fn keystream<W: AesLanes, const N: usize, const M: usize>(
    isa: W::Isa,
    keys: &RoundKeys,
    counter: Counter,
    mask: u128,
) -> [W; M] {
    const { assert!(M == N + 1) };
    let (first, middle, last) = keys.split();
    let (first, last) = (W::broadcast(isa, first), W::broadcast(isa, last));
    let (counters, _) = Counted::from(isa, counter).around::<N>(isa, [first; N]);
    let mask = both_halves::<W>(isa, mask.swap_bytes());
    let mut state = each!(i < M => if i < N { counters[i % N] ^ first } else { mask ^ first });
    Middle::<W, MIDDLE_LEAST>::new(isa, middle).rounds::<M, true>(isa, &mut state, [last; M]);
    state
}

/// The bytes of the end that register `i` has.
#[inline(always)]
fn part<W: AesLanes>(i: usize, end: &Range<usize>) -> Range<usize> {
    let at = |i: usize| (end.start + i * W::BYTES).min(end.end);
    at(i)..at(i + 1)
}

/// 64 bytes of ones, and 64 of zeros.
static FIRST_BYTES: [u8; 128] = {
    let (mut bytes, mut at) = ([0; 128], 0);
    while at < 64 {
        bytes[at] = 0xff;
        at += 1;
    }
    bytes
};
