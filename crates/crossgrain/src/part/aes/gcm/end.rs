//! The end of a message of GCM, a bundle at most, and its tag.
//!
//! All of its registers but the last are full: how many there are is known when a kernel is compiled, so one mask is made and one length
//! looked at, for the last.

use super::bundles::rounds_beside_stride;
use super::{With, admits, blocks_of, halves, lengths, stitches_end};
use crate::block::{BLOCK_BYTES, Block};
use crate::message::{AeadMessage, Tag};
use crate::part::aes::instructions::{Gaps, IN_FLIGHT, Rounds, counters};
use crate::part::aes::key::{Wide, WideKeys};
use crate::part::ghash::{Factors, Few, Field, Kept, STRIDE, Sums};
use crate::word::{AesLanes, Kernel, each};

/// What comes before the end.
#[derive(Clone, Copy)]
pub(super) enum Before<'a> {
    /// Nothing: additional data is hashed with the end.
    Nothing,
    /// Additional data with this hash.
    Hashed(&'a Block),
    /// Additional data and whole bundles, with these sums; of those that were sealed, the last is not among them.
    Bundles(&'a Kept),
}

/// The kernel of the end of a message, which begins `at` this byte; it says whether the tag is right. `ALONE`: there is nothing before it.
pub(super) struct End<'a, 'b, 'c, W: AesLanes, const ALONE: bool> {
    pub(super) with: With<'a, W>,
    pub(super) first: u128,
    pub(super) before: Before<'a>,
    pub(super) at: usize,
    pub(super) message: &'b mut AeadMessage<'c>,
}

impl<W: AesLanes, const ALONE: bool> Kernel for End<'_, '_, '_, W, ALONE> {
    type Output = bool;

    #[inline(always)]
    fn run(self) -> bool {
        match self.with.way.opens {
            true => self.by_registers::<true>(),
            false => self.by_registers::<false>(),
        }
    }
}

impl<W: AesLanes, const ALONE: bool> End<'_, '_, '_, W, ALONE> {
    /// Whether products go between rounds.
    const STITCHED: bool = stitches_end::<W>() && !ALONE;

    #[inline(always)]
    fn by_registers<const OPENS: bool>(self) -> bool {
        // The last is empty only where it is the first.
        let at = if ALONE { 0 } else { self.at };
        match (self.message.buffers.len_bytes() - at).saturating_sub(1) / W::BYTES {
            0 => self.finish::<1, OPENS>(),
            1 => self.finish::<2, OPENS>(),
            2 => self.finish::<3, OPENS>(),
            3 => self.finish::<4, OPENS>(),
            4 => self.finish::<5, OPENS>(),
            5 => self.finish::<6, OPENS>(),
            6 => self.finish::<7, OPENS>(),
            _ => self.finish::<IN_FLIGHT, OPENS>(),
        }
    }

    /// The end in `N` registers of data.
    #[inline(always)]
    fn finish<const N: usize, const OPENS: bool>(self) -> bool {
        let Self { with, first, before, at, message } = self;
        let (before, at) = if ALONE { (Before::Nothing, 0) } else { (before, at) };
        let (With { isa, keys, way }, powers) = (with, with.powers());
        let aad = if matches!(before, Before::Nothing) { message.aad } else { &[] };
        let len_bytes = message.buffers.len_bytes() - at;
        let mut hash = Few::<W>::new(isa, powers, blocks_of(aad.len()) + blocks_of(len_bytes) + 1);
        let (first_key, middle, last_key) = keys.split();
        let (mask, state) = counter_blocks::<W, N>(isa, first, at / BLOCK_BYTES);
        let mut counters = Counters { isa, mask, state };
        counters.add(first_key);
        match before {
            Before::Nothing => {}
            Before::Hashed(sum) => hash.after(isa, sum),
            Before::Bundles(sums) => {
                let mut sums = Sums::<W>::load(isa, powers, sums);
                if !OPENS && Self::STITCHED {
                    let sealed = &message.buffers.output_mut()[at - STRIDE * W::BYTES..];
                    rounds_beside_stride(&mut counters, Gaps::new(middle), &mut sums, sealed);
                }
                hash.after_lanes(isa, sums.lanes());
            }
        }
        hash.add_all(isa, aad);
        let factors = hash.of_registers::<N>();
        let (whole, last) = message.buffers.input()[at..].split_at((N - 1) * W::BYTES);
        if OPENS && Self::STITCHED {
            counters.encrypt_beside_received(middle, &mut hash, whole, factors);
        } else if !Self::STITCHED || !matches!(before, Before::Bundles(_)) {
            counters.encrypt_all(keys);
        }
        let input = each!(i < N => match i {
            _ if i == N - 1 => W::load_part(isa, last),
            _ => W::load(isa, &whole[i * W::BYTES..][..W::BYTES]),
        });
        let (mask, output) = counters.encrypt_last(last_key, input);
        let last_bytes = last.len();
        let sent = if OPENS {
            input
        } else {
            write(message, at, output);
            // What the keystream has beyond the message is no part of it.
            each!(i < N => if i == N - 1 { output[i].first_bytes(last_bytes) } else { output[i] })
        };
        if !OPENS || !Self::STITCHED {
            for (place, register) in sent[..N - 1].iter().enumerate() {
                hash.add_by(*register, factors.load(isa, place));
            }
        }
        hash.add_by(sent[N - 1], factors.load(isa, N - 1));
        let made = hash.end(isa, lengths::<W>(isa, message).shift_left::<3>()) ^ mask;
        let tag = made & W::broadcast(isa, Tag::kept(way.tag_bytes));
        let is_right = admits(OPENS, way, message, tag);
        if OPENS && is_right {
            write(message, at, output);
        }
        is_right
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

/// The counter block J₀ in every lane, and the counter blocks of data from this block on.
#[inline(always)]
fn counter_blocks<W: AesLanes, const N: usize>(isa: W::Isa, first: u128, block: usize) -> (W, [W; N]) {
    let (field, first) = (Field::<W>::of_ghash(isa), halves::<W>(isa, first as u64, (first >> 64) as u64));
    let number = field.reversed(first).add_low_u64(halves(isa, block as u64, 0));
    let ahead = |register: usize| counters::<W>(isa, (1 + register * W::BLOCKS) as u128, 1);
    (first, each!(i < N => field.reversed(number.add_low_u64(ahead(i)))))
}

/// Counters of data and of the tag's mask on their way through the cipher.
struct Counters<W: AesLanes, const N: usize> {
    isa: W::Isa,
    mask: W,
    state: [W; N],
}

impl<W: AesLanes, const N: usize> Rounds for Counters<W, N> {
    #[inline(always)]
    fn round(&mut self, key: &Wide) {
        let key = key.load::<W>(self.isa);
        self.mask = self.mask.encrypt_round(key);
        self.state = each!(i < N => self.state[i].encrypt_round(key));
    }
}

impl<W: AesLanes, const N: usize> Counters<W, N> {
    #[inline(always)]
    fn add(&mut self, key: &Wide) {
        let key = key.load::<W>(self.isa);
        self.mask = self.mask ^ key;
        self.state = each!(i < N => self.state[i] ^ key);
    }

    /// All middle rounds.
    #[inline(always)]
    fn encrypt_all(&mut self, keys: &WideKeys) {
        let (least, more) = keys.middle_in_steps();
        for key in least {
            self.round(key);
        }
        for keys in more {
            let Some([one, other]) = keys else { break };
            self.round(one);
            self.round(other);
        }
    }

    /// All middle rounds, in whose gaps are the products of what is decrypted, but for its last register.
    #[inline(always)]
    fn encrypt_beside_received(
        &mut self,
        middle: &[Wide],
        hash: &mut Few<'_, W>,
        received: &[u8],
        factors: Factors<'_>,
    ) {
        let gaps = Gaps::new(middle);
        self.round(gaps.first);
        let mut place = 0;
        // One where there is an odd number, and then two by two.
        if const { N.is_multiple_of(2) } {
            hash.add_by(W::load(self.isa, &received[..W::BYTES]), factors.load(self.isa, 0));
            place = 1;
        }
        for keys in gaps.by_four {
            self.rounds(keys);
            place = self.add_two(hash, received, factors, place);
        }
        for keys in gaps.by_two {
            self.rounds(keys);
            place = self.add_two(hash, received, factors, place);
        }
    }

    #[inline(always)]
    fn rounds(&mut self, keys: &[Wide]) {
        for key in keys {
            self.round(key);
        }
    }

    /// Adds two registers from this place on, if so many are left before the last; gives the place after them.
    #[inline(always)]
    fn add_two(&self, hash: &mut Few<'_, W>, received: &[u8], factors: Factors<'_>, place: usize) -> usize {
        if place + 1 >= N {
            return place;
        }
        for place in [place, place + 1] {
            let register = &received[place * W::BYTES..][..W::BYTES];
            hash.add_by(W::load(self.isa, register), factors.load(self.isa, place));
        }
        place + 2
    }

    /// The last round, with what it adds to the counters of data.
    #[inline(always)]
    fn encrypt_last(self, last_key: &Wide, input: [W; N]) -> (W, [W; N]) {
        let key = last_key.load::<W>(self.isa);
        let Self { mask, state, .. } = self;
        (mask.encrypt_last_round(key), each!(i < N => state[i].encrypt_last_round(key ^ input[i])))
    }
}
