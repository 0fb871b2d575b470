//! The whole bundles of a GCM message. Between the rounds of a bundle are the products of the previous one
//! or, when opening, of its own ciphertext.

use super::end::{Before, End};
use super::gaps::{Gaps, Rounds};
use super::round1::Counters;
use super::stitches_end;
use crate::arch::{AesLanes, Buffers, Kernel, Line, each};
use crate::block::Block;
use crate::cipher::aes::instructions::{AHEAD_BYTES, IN_FLIGHT};
use crate::cipher::aes::rounds::Between;
use crate::mode::gcm::ghash::{STRIDE, Sums};

const _: () = assert!(STRIDE == IN_FLIGHT);

/// The kernel of whole bundles, if there are any, and of the end after them.
pub(super) struct Longer<'a, 'b, 'c, W: AesLanes> {
    pub(super) end: End<'a, 'b, 'c, W>,
    /// GHASH of the additional data except `aad`, its last part, which is at most as long as a register.
    pub(super) sum: &'a Block,
    pub(super) aad: &'a [u8],
}

impl<W: AesLanes> Kernel for Longer<'_, '_, '_, W> {
    type Output = bool;

    #[inline(always)]
    fn run(self) -> bool {
        match self.end.with.params.opens {
            true => self.all::<true>(),
            false => self.all::<false>(),
        }
    }
}

impl<'a, W: AesLanes> Longer<'a, '_, '_, W> {
    #[inline(always)]
    fn all<const OPENS: bool>(mut self) -> bool {
        let gaps = Gaps::new(self.end.with.keys());
        let sums = if self.end.at > 0 { Some(self.bundles::<OPENS>(gaps)) } else { None };
        self.end.by_registers::<false, OPENS>(Some(Before { gaps, sums }))
    }

    /// The lane sums of GHASH after the bundles. When sealing, the last bundle may be missing from them.
    #[inline(always)]
    fn bundles<const OPENS: bool>(&mut self, gaps: Gaps<'_>) -> Sums<'a, W> {
        let Self { end: End { with, nonce, at: bulk_bytes, ref mut message, .. }, sum, aad } = *self;
        let (isa, bundle_bytes) = (with.isa(), IN_FLIGHT * W::BYTES);
        let (mut buffers, _) = message.buffers.reborrow().split_at(bulk_bytes);
        let mut sums = Sums::<W>::begun(isa, with.powers(), sum, aad);
        let mut counters = Counters::<W>::from(with, nonce, 2);
        let last = with.keys().ends().2.load::<W>(isa);
        let mut at = 0;
        if !OPENS {
            let mut bundle = InFlight { isa, state: Between::new(isa, counters.states()) };
            all_rounds(&mut bundle, gaps);
            bundle.end(last, &mut buffers, at);
            at = bundle_bytes;
        }
        while bulk_bytes - at >= bundle_bytes {
            let mut bundle = InFlight { isa, state: Between::new(isa, counters.states()) };
            let sent = match OPENS {
                true => &buffers.input()[at..][..bundle_bytes],
                false => &buffers.output_mut()[..at][at - bundle_bytes..],
            };
            rounds_beside_stride(&mut bundle, gaps, &mut sums, sent);
            bundle.end(last, &mut buffers, at);
            buffers.prefetch_steadily(at + AHEAD_BYTES, bundle_bytes);
            at += bundle_bytes;
        }
        if const { !OPENS && !stitches_end::<W>() } {
            sums.add_stride(&buffers.output_mut()[at - bundle_bytes..][..bundle_bytes]);
        }
        sums
    }
}

/// A bundle in the cipher.
struct InFlight<W: AesLanes> {
    isa: W::Isa,
    state: Between<W, IN_FLIGHT>,
}

impl<W: AesLanes> InFlight<W> {
    /// Computes the last round with this key and writes the bundle that begins at this byte.
    #[inline(always)]
    fn end(self, last: W, buffers: &mut Buffers<'_>, at: usize) {
        let Self { isa, state } = self;
        let (input, state) = (&buffers.input()[at..][..IN_FLIGHT * W::BYTES], state.end());
        let output: [W; IN_FLIGHT] = each!(i < IN_FLIGHT => {
            let input = W::load(isa, &input[i * W::BYTES..][..W::BYTES]);
            state[i].encrypt_last_round(last ^ input)
        });
        buffers.store_all(at, output);
    }
}

impl<W: AesLanes> Rounds for InFlight<W> {
    #[inline(always)]
    fn round(&mut self, key: &Line) {
        self.state.round::<true>(key.load(self.isa));
    }

    #[inline(always)]
    fn pin(&mut self) {
        self.state.pin();
    }
}

/// All middle rounds after the first.
#[inline(always)]
fn all_rounds(cipher: &mut impl Rounds, gaps: Gaps<'_>) {
    cipher.before_first(gaps);
    cipher.before_second(gaps);
    cipher.before_third(gaps);
    cipher.before_fourth(gaps);
}

/// All middle rounds after the first, with the products of the first [`STRIDE`] registers of ciphertext in
/// their gaps.
#[inline(always)]
pub(super) fn rounds_beside_stride<W: AesLanes>(
    cipher: &mut impl Rounds,
    gaps: Gaps<'_>,
    sums: &mut Sums<'_, W>,
    sent: &[u8],
) {
    cipher.before_first(gaps);
    let mut products = sums.begin_stride(sent).pinned();
    cipher.before_second(gaps);
    products = products.plus(sums.two_of_stride(sent, 1)).pinned();
    cipher.before_third(gaps);
    products = products.plus(sums.two_of_stride(sent, 3)).pinned();
    cipher.before_fourth(gaps);
    products = products.plus(sums.two_of_stride(sent, 5)).pinned();
    cipher.pin();
    sums.end_stride(products, sent);
}
