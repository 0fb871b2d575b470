//! The end of a GCM message, at most a bundle, and its tag.
//!
//! All registers but the last are full. Their number is a compile-time constant, so only the last register
//! needs a mask and a length.

use super::bundles::rounds_beside_stride;
use super::gaps::{Gaps, Rounds};
use super::round1::Counters;
use super::{With, admits, blocks_of, last_block, lengths, stitches_end};
use crate::arch::{AesLanes, Kernel, Line, each};
use crate::block::{BLOCK_BYTES, Block};
use crate::cipher::aes::instructions::IN_FLIGHT;
use crate::cipher::aes::key::WideKeys;
use crate::cipher::aes::rounds::Between;
use crate::message::AeadMessage;
use crate::mode::gcm::ghash::{Factors, STRIDE, ShortHash, Sums};
use crate::mode::gcm::kernel::GcmNonce;

/// The end of a message, beginning at byte `at`. The kernel returns whether the tag is correct.
pub(super) struct End<'a, 'b, 'c, W: AesLanes> {
    pub(super) with: With<'a, W>,
    pub(super) nonce: &'a GcmNonce,
    /// GHASH of the additional data, if it is known. Otherwise the end hashes that data, unless bundles come
    /// before the end.
    pub(super) hashed: Option<&'a Block>,
    pub(super) at: usize,
    pub(super) message: &'b mut AeadMessage<'c>,
}

/// The state before an end that is not the whole message.
pub(super) struct Before<'a, W: AesLanes> {
    pub(super) gaps: Gaps<'a>,
    /// The lane sums of GHASH over whole bundles, if there are any. When sealing, the last bundle is not
    /// included.
    pub(super) sums: Option<Sums<'a, W>>,
}

/// The kernel of a message that consists of an end only. `SHORT` limits the data to a register and the
/// additional data to a block.
pub(super) struct Alone<'a, 'b, 'c, W: AesLanes, const SHORT: bool> {
    pub(super) with: With<'a, W>,
    pub(super) nonce: &'a GcmNonce,
    pub(super) message: &'b mut AeadMessage<'c>,
}

impl<W: AesLanes, const SHORT: bool> Kernel for Alone<'_, '_, '_, W, SHORT> {
    type Output = bool;

    const SPILLS: bool = !SHORT;

    #[inline(always)]
    fn run(self) -> bool {
        let Self { with, nonce, message } = self;
        let end = End { with, nonce, hashed: None, at: 0, message };
        match (SHORT, with.params.opens) {
            (true, true) => end.finish::<1, true, true, true>(None),
            (true, false) => end.finish::<1, true, true, false>(None),
            (false, true) => end.by_registers::<true, true>(None),
            (false, false) => end.by_registers::<true, false>(None),
        }
    }
}

impl<'a, W: AesLanes> End<'a, '_, '_, W> {
    /// The end. `ALONE` means that nothing comes before it.
    #[inline(always)]
    pub(super) fn by_registers<const ALONE: bool, const OPENS: bool>(
        self,
        before: Option<Before<'a, W>>,
    ) -> bool {
        // The last register is empty only if it is the first.
        let at = if ALONE { 0 } else { self.at };
        match (self.message.buffers.len_bytes() - at).saturating_sub(1) / W::BYTES {
            0 => self.finish::<1, ALONE, false, OPENS>(before),
            1 => self.finish::<2, ALONE, false, OPENS>(before),
            2 => self.finish::<3, ALONE, false, OPENS>(before),
            3 => self.finish::<4, ALONE, false, OPENS>(before),
            4 => self.finish::<5, ALONE, false, OPENS>(before),
            5 => self.finish::<6, ALONE, false, OPENS>(before),
            6 => self.finish::<7, ALONE, false, OPENS>(before),
            _ => self.finish::<IN_FLIGHT, ALONE, false, OPENS>(before),
        }
    }

    /// The end in `N` registers of data.
    #[inline(always)]
    fn finish<const N: usize, const ALONE: bool, const SHORT: bool, const OPENS: bool>(
        self,
        before: Option<Before<'a, W>>,
    ) -> bool {
        let is_stitched = const { stitches_end::<W>() && !ALONE };
        let mut states = self.counters::<N, ALONE>();
        let Self { with, hashed, at, message, .. } = self;
        let (isa, keys, at) = (with.isa(), with.keys(), if ALONE { 0 } else { at });
        let (gaps, sums) = match before {
            Some(Before { gaps, sums }) => (Some(gaps), sums),
            None => (None, None),
        };
        let has_aad = ALONE || (!is_stitched && sums.is_none() && hashed.is_none());
        let aad = if has_aad { message.aad } else { &[] };
        let blocks = blocks_of(aad.len()) + blocks_of(message.buffers.len_bytes() - at) + 1;
        let mut hash = ShortHash::<W>::new(isa, with.powers(), blocks);
        // When sealing, all products of the last bundle are computed between the rounds.
        let gaps = if is_stitched { gaps } else { None };
        let is_encrypted = !OPENS && gaps.is_some() && sums.is_some();
        match (sums, hashed) {
            (Some(mut sums), _) => {
                if let (Some(gaps), true) = (gaps, is_encrypted) {
                    let sealed = &message.buffers.output_mut()[at - STRIDE * W::BYTES..at];
                    rounds_beside_stride(&mut states, gaps, &mut sums, sealed);
                }
                hash.after_lanes(isa, sums.lanes());
            }
            (None, Some(sum)) => hash.after(isa, sum),
            (None, None) => {}
        }
        let (aad, last_of_aad) = if SHORT { (&[][..], aad) } else { last_block(aad) };
        hash.add_all(isa, aad);
        let ends = hash.ends(isa, last_of_aad, lengths::<W>(isa, message).shift_left::<3>());
        let factors = hash.of_registers::<N>();
        let (whole, last) = message.buffers.input()[at..].split_at((N - 1) * W::BYTES);
        match gaps {
            Some(gaps) if OPENS => states.encrypt_beside_received(gaps, &mut hash, whole, factors),
            _ if is_encrypted => {}
            _ => states.encrypt_all(keys),
        }
        let input = each!(i < N => match i {
            _ if i == N - 1 && SHORT => W::load_part_just_stored(isa, last),
            _ if i == N - 1 => W::load_part(isa, last),
            _ => W::load(isa, &whole[i * W::BYTES..][..W::BYTES]),
        });
        let (mask, output) = states.encrypt_last(keys, input);
        let last_bytes = last.len();
        if !OPENS {
            write(message, at, output);
        }
        // The keystream past the end of the message must not be hashed.
        let sent = if OPENS { input } else { with_last(output, output[N - 1].first_bytes(last_bytes)) };
        if !OPENS || !is_stitched {
            add_all_but_last(isa, &mut hash, &sent, factors);
        }
        let made = hash.end((sent[N - 1], factors.load(isa, N - 1)), ends) ^ mask;
        let tag = made & W::broadcast(isa, with.params.tag_kept);
        let is_right = admits(OPENS, with.params, message, tag);
        if OPENS && is_right {
            write(message, at, output);
        }
        is_right
    }

    /// The counters of the tag's mask and of `N` registers of data, after round 1.
    #[inline(always)]
    fn counters<const N: usize, const ALONE: bool>(&self) -> States<W, N> {
        let Self { with, nonce, at, .. } = *self;
        let isa = with.isa();
        // J₀ has counter 1.
        let mut counters = Counters::<W>::from(with, nonce, 1);
        let mask = counters.one();
        if !ALONE {
            counters = Counters::from(with, nonce, 2 + at / BLOCK_BYTES);
        }
        States { isa, mask: Between::new(isa, [mask]), data: Between::new(isa, counters.states()) }
    }
}

/// Replaces the last register.
#[inline(always)]
const fn with_last<W: Copy, const N: usize>(mut registers: [W; N], last: W) -> [W; N] {
    registers[N - 1] = last;
    registers
}

/// Adds the ciphertext except its last register to a hash, in pairs.
#[inline(always)]
fn add_all_but_last<W: AesLanes, const N: usize>(
    isa: W::Isa,
    hash: &mut ShortHash<'_, W>,
    sent: &[W; N],
    factors: Factors<'_>,
) {
    let (pairs, odd) = sent[..N - 1].as_chunks();
    for (i, [one, other]) in pairs.iter().enumerate() {
        hash.add_two_by((*one, factors.load(isa, 2 * i)), (*other, factors.load(isa, 2 * i + 1)));
    }
    if let [one] = odd {
        hash.add_by(*one, factors.load(isa, N - 2));
    }
}

/// Writes the end of a message, from byte `at` on.
#[inline(always)]
fn write<W: AesLanes, const N: usize>(message: &mut AeadMessage<'_>, at: usize, output: [W; N]) {
    let (whole, last) = message.buffers.output_mut()[at..].split_at_mut((N - 1) * W::BYTES);
    for (register, place) in output.iter().zip(whole.chunks_exact_mut(W::BYTES)) {
        register.store(place);
    }
    output[N - 1].store_part(last);
}

/// Counters of data and of the tag's mask in the cipher.
struct States<W: AesLanes, const N: usize> {
    isa: W::Isa,
    mask: Between<W, 1>,
    data: Between<W, N>,
}

impl<W: AesLanes, const N: usize> Rounds for States<W, N> {
    #[inline(always)]
    fn round(&mut self, key: &Line) {
        let key = key.load::<W>(self.isa);
        self.mask.round::<true>(key);
        self.data.round::<true>(key);
    }

    #[inline(always)]
    fn pin(&mut self) {
        self.data.pin();
    }
}

impl<W: AesLanes, const N: usize> States<W, N> {
    /// All middle rounds after the first.
    #[inline(always)]
    fn encrypt_all(&mut self, keys: &WideKeys) {
        let (least, more) = keys.middle_in_steps();
        for key in &least[1..] {
            self.round(key);
        }
        for keys in more {
            let Some([one, other]) = keys else { break };
            self.round(one);
            self.round(other);
        }
    }

    /// All middle rounds after the first, with the products of the received ciphertext in their gaps, except
    /// its last register.
    #[inline(always)]
    fn encrypt_beside_received(
        &mut self,
        gaps: Gaps<'_>,
        hash: &mut ShortHash<'_, W>,
        received: &[u8],
        factors: Factors<'_>,
    ) {
        let odd = usize::from(N.is_multiple_of(2));
        self.before_first(gaps);
        // One register if the number is odd, then pairs.
        if const { N.is_multiple_of(2) } {
            hash.add_by(W::load(self.isa, &received[..W::BYTES]), factors.load(self.isa, 0));
        }
        self.before_second(gaps);
        self.add_two(hash, received, factors, odd);
        self.before_third(gaps);
        self.add_two(hash, received, factors, odd + 2);
        self.before_fourth(gaps);
        self.add_two(hash, received, factors, odd + 4);
    }

    /// Adds two registers from this place on, if there are two before the last.
    #[inline(always)]
    fn add_two(&self, hash: &mut ShortHash<'_, W>, received: &[u8], factors: Factors<'_>, place: usize) {
        if place + 1 >= N {
            return;
        }
        let (first, second) = received[place * W::BYTES..][..2 * W::BYTES].split_at(W::BYTES);
        let first = (W::load(self.isa, first), factors.load(self.isa, place));
        let second = (W::load(self.isa, second), factors.load(self.isa, place + 1));
        hash.add_two_by(first, second);
    }

    /// The last round. It adds the input to the counters of data.
    #[inline(always)]
    fn encrypt_last(self, keys: &WideKeys, input: [W; N]) -> (W, [W; N]) {
        let (_, _, key) = keys.ends();
        let key = key.load::<W>(self.isa);
        let ([mask], data) = (self.mask.end(), self.data.end());
        (mask.encrypt_last_round(key), each!(i < N => data[i].encrypt_last_round(key ^ input[i])))
    }
}
