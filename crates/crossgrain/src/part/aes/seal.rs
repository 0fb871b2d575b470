//! GCM in one pass: rounds by AES instructions on counters, and between them GHASH of what they gave before.
//!
//! Rounds and carry-less products have ports of their own, so that the two take little longer together than the rounds alone. The
//! registers of a bundle are as many as GHASH reduces together, and are hashed a register a round, one bundle late.
//! Layout: `Repr::Blocks`, as in `instructions`. Needs: `AesLanes`.
//! Source: Gopal et al., "Fast Cryptographic Computation on Intel Architecture Processors Via Function Stitching" (2010).

use super::instructions::{AHEAD_BYTES, Bundle, Counted, Frame, FramedBundle, IN_FLIGHT, Middle, round};
use super::key::RoundKeys;
use crate::block::Block;
use crate::part::counter::Counter;
use crate::part::ghash::{Powers, STRIDE, Sums};
use crate::word::{AesLanes, Buffers, Kernel, each, unrolled};

/// CTR of whole bundles, and GHASH of their output on top of `sum`.
///
/// Holds: the low 64 bits of the counter do not wrap.
pub(super) struct Seal<'a, 'b, W: AesLanes> {
    pub(super) isa: W::Isa,
    pub(super) keys: &'a RoundKeys,
    pub(super) first: Counter,
    pub(super) powers: &'a Powers,
    pub(super) sum: &'a mut Block,
    pub(super) buffers: &'a mut Buffers<'b>,
}

const _: () = assert!(STRIDE == IN_FLIGHT);

impl<W: AesLanes> Kernel for Seal<'_, '_, W> {
    /// Bytes taken from the front.
    type Output = usize;

    #[inline(always)]
    fn run(self) -> usize {
        let Self { isa, keys, first, powers, sum, buffers } = self;
        let mut buffers = buffers.reborrow();
        let bundle_bytes = IN_FLIGHT * W::BYTES;
        let len_bytes = buffers.len_bytes() / bundle_bytes * bundle_bytes;
        if len_bytes == 0 {
            return 0;
        }
        let mut counted = FramedBundle::<W, _, true>::new(isa, keys, Counted::from(isa, first));
        buffers.store_all(0, counted.run::<IN_FLIGHT>(buffers.load_all(isa, 0), 0));
        let mut frame = counted.frame;
        let mut sums = Sums::<W>::from(isa, powers, sum);
        let mut at = bundle_bytes;
        while at < len_bytes {
            let input = buffers.load_all(isa, at);
            let before = &buffers.output_mut()[at - bundle_bytes..][..bundle_bytes];
            let output = encrypt_and_hash(isa, keys, (&mut frame, &mut sums), input, before);
            buffers.store_all(at, output);
            buffers.expect(at + AHEAD_BYTES, bundle_bytes);
            at += bundle_bytes;
        }
        sums.add_stride(&buffers.output_mut()[len_bytes - bundle_bytes..][..bundle_bytes]);
        *sum = sums.end();
        len_bytes
    }
}

/// A bundle of CTR whose first middle rounds have products of the bundle before between them.
#[inline(always)]
fn encrypt_and_hash<W: AesLanes>(
    isa: W::Isa,
    keys: &RoundKeys,
    (frame, sums): (&mut Counted<W>, &mut Sums<'_, W>),
    input: [W; IN_FLIGHT],
    before: &[u8],
) -> [W; IN_FLIGHT] {
    let (first, middle, last) = keys.split();
    let (first, last) = (W::broadcast(isa, first), W::broadcast(isa, last));
    let (entering, added) = frame.around::<IN_FLIGHT>(isa, input);
    let mut state = each!(i < IN_FLIGHT => entering[i] ^ first);
    let (early, late) = middle.split_at(STRIDE);
    let mut products = sums.begin_stride();
    unrolled!(i in [0 1 2 3 4 5 6 7] {
        round::<W, IN_FLIGHT, true>(isa, &mut state, &early[i]);
        sums.add_in_stride(&mut products, i, &before[i * W::BYTES..][..W::BYTES]);
    });
    let last_keys = each!(i < IN_FLIGHT => last ^ added[i]);
    Middle::in_memory(late).rounds::<IN_FLIGHT, true>(isa, &mut state, last_keys);
    state
}
