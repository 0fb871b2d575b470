//! Whole bundles of a message of GCM: between the rounds of one are products of another, or, to open, of its own ciphertext.

use super::{With, stitches_end};
use crate::block::{BLOCK_BYTES, Block};
use crate::message::AeadMessage;
use crate::part::aes::instructions::{
    AHEAD_BYTES, Counted, Frame, GAPS, Gaps, IN_FLIGHT, MIDDLE_LEAST, Middle, Rounds, round,
};
use crate::part::aes::key::{Wide, WideKeys};
use crate::part::aes::walk::{TABLED, Table, Walker};
use crate::part::counter::Counter;
use crate::part::ghash::{Kept, STRIDE, Sums};
use crate::word::{AesLanes, Kernel, each};

const _: () = assert!(STRIDE == IN_FLIGHT && STRIDE - 1 == GAPS && GAPS <= MIDDLE_LEAST - TABLED);

/// How the cipher begins on the counters of bundles that follow one another.
pub(super) trait Begin<W> {
    /// Rounds that are done by then.
    const ROUNDS: usize;

    /// The states of a bundle whose first counter is `block` blocks after the first of all.
    fn begin(&mut self, isa: W::Isa, keys: &WideKeys, block: usize) -> [W; IN_FLIGHT]
    where
        W: AesLanes;
}

impl<W: AesLanes> Begin<W> for Counted<W> {
    const ROUNDS: usize = 0;

    #[inline(always)]
    fn begin(&mut self, isa: W::Isa, keys: &WideKeys, _block: usize) -> [W; IN_FLIGHT] {
        let first = keys.split().0.load::<W>(isa);
        let (entering, _) = self.around::<IN_FLIGHT>(isa, [W::splat(isa, 0); IN_FLIGHT]);
        each!(i < IN_FLIGHT => entering[i] ^ first)
    }
}

impl<W: AesLanes> Begin<W> for Walker<'_, W> {
    const ROUNDS: usize = TABLED;

    #[inline(always)]
    fn begin(&mut self, _isa: W::Isa, _keys: &WideKeys, block: usize) -> [W; IN_FLIGHT] {
        self.after_round_2(block)
    }
}

/// The kernel of whole bundles in front of the end, which begins `at` this byte. `WALKS` as for [`one`](super::one).
pub(super) struct Bulk<'a, 'b, 'c, W: AesLanes, const WALKS: bool> {
    pub(super) with: With<'a, W>,
    pub(super) first: u128,
    /// GHASH of the additional data, unless that has no more bytes than a register.
    pub(super) sum: Option<&'a Block>,
    pub(super) at: usize,
    pub(super) message: &'b mut AeadMessage<'c>,
    /// Where GHASH's sums of lanes go; of those that are sealed, without the last bundle.
    pub(super) kept: &'b mut Kept,
}

impl<W: AesLanes, const WALKS: bool> Kernel for Bulk<'_, '_, '_, W, WALKS> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let With { isa, keys, .. } = self.with;
        // The first after J₀.
        let first = Counter::big_endian(self.first.swap_bytes() + 1);
        if WALKS {
            let mut table = Table::new();
            table.fill::<W>(isa, keys, first);
            self.run_from(Walker::new(isa, keys, &table, first));
        } else {
            self.run_from(Counted::from(isa, first));
        }
    }
}

impl<W: AesLanes, const WALKS: bool> Bulk<'_, '_, '_, W, WALKS> {
    #[inline(always)]
    fn run_from(self, begin: impl Begin<W>) {
        let Self { with, sum, at, message, kept, .. } = self;
        let made = match with.way.opens {
            true => bundles::<W, _, true>(with, sum, begin, message, at),
            false => bundles::<W, _, false>(with, sum, begin, message, at),
        };
        made.keep(kept);
    }
}

/// Gives the sums of GHASH's lanes after so many bytes, or before the last bundle that was sealed.
#[inline(always)]
fn bundles<'a, W: AesLanes, B: Begin<W>, const OPENS: bool>(
    with: With<'a, W>,
    sum: Option<&Block>,
    mut begin: B,
    message: &mut AeadMessage<'_>,
    bulk_bytes: usize,
) -> Sums<'a, W> {
    let (With { isa, keys, .. }, powers) = (with, with.powers());
    let bundle_bytes = IN_FLIGHT * W::BYTES;
    // Here, where its parts lie in registers.
    let mut buffers = message.buffers.reborrow();
    let mut sums = match sum {
        Some(sum) => Sums::<W>::from(isa, powers, sum),
        None => Sums::<W>::begun(isa, powers, message.aad),
    };
    let (_, middle, last) = keys.split();
    let (gaps, last) = (Gaps::new(&middle[B::ROUNDS..]), last.load::<W>(isa));
    let mut at = 0;
    if !OPENS {
        let output = encrypt_bundle(isa, keys, &mut begin, buffers.load_all(isa, 0));
        buffers.store_all(0, output);
        at = bundle_bytes;
    }
    while at < bulk_bytes {
        let input: [W; IN_FLIGHT] = buffers.load_all(isa, at);
        // Not cut at the bundle's end: so the compiler does not see how often its loops turn.
        let sent = if OPENS { &buffers.input()[at..] } else { &buffers.output_mut()[at - bundle_bytes..] };
        let mut bundle = InFlight { isa, state: begin.begin(isa, keys, at / BLOCK_BYTES) };
        rounds_beside_stride(&mut bundle, gaps, &mut sums, sent);
        let last_keys = each!(i < IN_FLIGHT => last ^ input[i]);
        buffers.store_all(at, each!(i < IN_FLIGHT => bundle.state[i].encrypt_last_round(last_keys[i])));
        buffers.expect(at + AHEAD_BYTES, bundle_bytes);
        at += bundle_bytes;
    }
    if const { !OPENS && !stitches_end::<W>() } {
        sums.add_stride(&buffers.output_mut()[at - bundle_bytes..][..bundle_bytes]);
    }
    sums
}

/// The first bundle of CTR.
#[inline(always)]
fn encrypt_bundle<W: AesLanes, B: Begin<W>>(
    isa: W::Isa,
    keys: &WideKeys,
    begin: &mut B,
    input: [W; IN_FLIGHT],
) -> [W; IN_FLIGHT] {
    let (_, middle, last) = keys.split();
    let last = last.load::<W>(isa);
    let mut state = begin.begin(isa, keys, 0);
    let last_keys = each!(i < IN_FLIGHT => last ^ input[i]);
    Middle::in_memory(&middle[B::ROUNDS..]).rounds::<IN_FLIGHT, true>(isa, &mut state, last_keys);
    state
}

/// A bundle in the cipher.
struct InFlight<W: AesLanes> {
    isa: W::Isa,
    state: [W; IN_FLIGHT],
}

impl<W: AesLanes> Rounds for InFlight<W> {
    #[inline(always)]
    fn round(&mut self, key: &Wide) {
        round::<W, IN_FLIGHT, true>(self.isa, &mut self.state, key);
    }
}

/// All middle rounds, in whose gaps are the products of the first [`STRIDE`] registers that were sent.
#[inline(always)]
pub(super) fn rounds_beside_stride<W: AesLanes>(
    cipher: &mut impl Rounds,
    gaps: Gaps<'_>,
    sums: &mut Sums<'_, W>,
    sent: &[u8],
) {
    cipher.round(gaps.first);
    let mut products = sums.begin_stride(&sent[..W::BYTES]);
    let mut pairs = sums.pairs(sent);
    for (keys, pair) in gaps.by_four.iter().zip(&mut pairs) {
        cipher.round(&keys[0]);
        cipher.round(&keys[1]);
        let front = sums.front(pair);
        cipher.round(&keys[2]);
        cipher.round(&keys[3]);
        products = products.plus(front).plus(sums.back(pair));
    }
    for (keys, pair) in gaps.by_two.iter().zip(&mut pairs) {
        cipher.round(&keys[0]);
        let front = sums.front(pair);
        cipher.round(&keys[1]);
        products = products.plus(front).plus(sums.back(pair));
    }
    drop(pairs);
    sums.end_stride(products, &sent[(STRIDE - 1) * W::BYTES..][..W::BYTES]);
}
