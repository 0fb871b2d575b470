//! GCM-SIV of a short message: the keys of its nonce, POLYVAL and CTR in one function.
//!
//! Between calls of separate kernels, the keys and blocks of a nonce would move through memory, which takes
//! longer than the rounds of a short message. Here the schedule of the message's key and the powers of the
//! hash key are computed side by side.
//!
//! Layout: `Repr::Blocks`, one block per register.
//! Needs `AesLanes` of one block.
//! Source: RFC 8452 §4.
//! Invariant: branches depend only on lengths. The message's keys are wiped.

use super::frames::halves;
use super::key::{ROUND_KEYS_MAX, WideKeys, in_lanes};
use super::rounds::Between;
use super::serial::through;
use crate::arch::{AesLanes, Isa, Kernel, WipedBytes, each};
use crate::block::{BLOCK_BYTES, Block};
use crate::mode::gcm::ghash::{Field, Product};
use crate::mode::gcm_siv::kernel::{GcmSivJob, GcmSivNonce};

/// Blocks that run together.
const GROUP: usize = 4;

/// Seals or opens a message under the key that derives the keys of nonces.
pub(super) fn run<W: AesLanes>(isa: W::Isa, keys: &WideKeys, job: &mut GcmSivJob<'_, '_>) {
    isa.enter(Message::<W> { isa, keys, job });
}

struct Message<'k, 'j, 'a, 'b, W: AesLanes> {
    isa: W::Isa,
    keys: &'k WideKeys,
    job: &'j mut GcmSivJob<'a, 'b>,
}

impl<W: AesLanes> Kernel for Message<'_, '_, '_, '_, W> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Self { isa, keys, job } = self;
        let mut schedule = WipedBytes([0; ROUND_KEYS_MAX * BLOCK_BYTES]);
        let (hash_key, message_key) = derived::<W>(isa, keys, job.nonce, &mut schedule);
        let mut hash = Polyval::new(isa, hash_key);
        hash.add_string(isa, job.message.aad);
        match job.opens {
            None => {
                hash.add_string(isa, job.message.buffers.input());
                let tag = tag(isa, hash, message_key, job);
                apply(isa, tag, message_key, job);
                tag.store(&mut job.tag);
            }
            Some(given) => {
                apply(isa, W::load(isa, given), message_key, job);
                hash.add_string(isa, job.message.buffers.output_mut());
                tag(isa, hash, message_key, job).store(&mut job.tag);
            }
        }
    }
}

/// The hash key of a nonce, and the key of its message, whose round keys are stored in `schedule`.
#[inline(always)]
fn derived<'s, W: AesLanes>(
    isa: W::Isa,
    keys: &WideKeys,
    nonce: &GcmSivNonce,
    schedule: &'s mut Schedule,
) -> (W, MessageKey<'s>) {
    let front = nonce.first_chunk().map_or(0, |front| u32::from_le_bytes(*front));
    let back = nonce.last_chunk().map_or(0, |back| u64::from_le_bytes(*back));
    // The first halves of the results are the keys: two halves for POLYVAL, and two or four for the cipher.
    let blocks = each!(i < 6 => halves(isa, u64::from(front) << 32 | i as u64, back));
    let made: [W; 6] = through::<W, 6, true>(isa, keys, blocks);
    let [hash_key, first, second] = each!(i < 3 => W::exchange_halves(made[2 * i], made[2 * i + 1]).0);
    let schedule = schedule.as_chunks_mut().0;
    let (before, after) = schedule.split_at_mut(keys.rounds() / 12 + 1);
    first.store(&mut before[0]);
    if let [_, place] = before {
        second.store(place);
        in_lanes(isa, [first, second], after.iter_mut().take(13), |place, key: W| key.store(place));
    } else {
        in_lanes(isa, [first], after.iter_mut().take(10), |place, key: W| key.store(place));
    }
    (hash_key, MessageKey(&schedule[..=keys.rounds()]))
}

/// The round keys of a message.
type Schedule = WipedBytes<{ ROUND_KEYS_MAX * BLOCK_BYTES }>;

/// The key of a message: its round keys.
#[derive(Clone, Copy)]
struct MessageKey<'s>(&'s [Block]);

impl MessageKey<'_> {
    /// Encrypts independent blocks.
    #[inline(always)]
    fn encrypt<W: AesLanes, const N: usize>(self, isa: W::Isa, blocks: [W; N]) -> [W; N] {
        let [first, middle @ .., last] = self.0 else { return blocks };
        let (first, last) = (W::load(isa, first), W::load(isa, last));
        let mut state = Between::new(isa, each!(i < N => blocks[i] ^ first));
        for key in middle {
            state.round::<true>(W::load(isa, key));
        }
        let state = state.end();
        each!(i < N => state[i].encrypt_last_round(last))
    }
}

/// The tag of a message that was hashed.
#[inline(always)]
fn tag<W: AesLanes>(isa: W::Isa, mut hash: Polyval<W>, key: MessageKey<'_>, job: &GcmSivJob<'_, '_>) -> W {
    let bits = |bytes: usize| 8 * bytes as u64;
    hash.add([halves(isa, bits(job.message.aad.len()), bits(job.message.buffers.len_bytes()))]);
    let without_top = W::load(isa, &TOP_BIT_CLEAR);
    let sum = (hash.sum ^ W::load_part(isa, job.nonce)) & without_top;
    let [tag] = key.encrypt(isa, [sum]);
    tag
}

/// Ones, except in the top bit of the last byte.
const TOP_BIT_CLEAR: Block = (u128::MAX >> 1).to_le_bytes();

/// CTR from a tag on. Only the first 32 bits of the counter count.
#[inline(always)]
fn apply<W: AesLanes>(isa: W::Isa, tag: W, key: MessageKey<'_>, job: &mut GcmSivJob<'_, '_>) {
    let mut bytes = [0; BLOCK_BYTES];
    tag.store(&mut bytes);
    let number = u128::from_le_bytes(bytes) | 1 << 127;
    let (low, high) = (number as u64, (number >> 64) as u64);
    let buffers = &mut job.message.buffers;
    let len_bytes = buffers.len_bytes();
    let mut at = 0;
    while at < len_bytes {
        let first = (low as u32).wrapping_add((at / BLOCK_BYTES) as u32);
        let above = low & !u64::from(u32::MAX);
        let counters = each!(i < GROUP => {
            halves::<W>(isa, above | u64::from(first.wrapping_add(i as u32)), high)
        });
        let stream = key.encrypt(isa, counters);
        for word in stream {
            let end = (at + BLOCK_BYTES).min(len_bytes);
            if at < end {
                let input = W::load_part(isa, &buffers.input()[at..end]);
                (input ^ word).store_part(&mut buffers.output_mut()[at..end]);
                at = end;
            }
        }
    }
}

/// POLYVAL (RFC 8452 §3).
struct Polyval<W> {
    field: Field<W>,
    /// The key, and its next powers.
    powers: [W; GROUP],
    sum: W,
}

impl<W: AesLanes> Polyval<W> {
    #[inline(always)]
    fn new(isa: W::Isa, key: W) -> Self {
        let field = Field::<W>::of_polyval(isa);
        let square = field.reduced(Product::of(key, key));
        let cube = field.reduced(Product::of(square, key));
        let powers = [key, square, cube, field.reduced(Product::of(square, square))];
        Self { field, powers, sum: W::splat(isa, 0) }
    }

    /// Adds blocks.
    #[inline(always)]
    fn add<const N: usize>(&mut self, blocks: [W; N]) {
        let mut products = Product::of(self.sum ^ blocks[0], self.powers[N - 1]);
        for (block, power) in blocks[1..].iter().zip(self.powers[..N - 1].iter().rev()) {
            products = products.plus(Product::of(*block, *power));
        }
        self.sum = self.field.reduced(products);
    }

    /// Adds a string, padded with zeros to a whole block.
    #[inline(always)]
    fn add_string(&mut self, isa: W::Isa, string: &[u8]) {
        let (groups, rest) = string.as_chunks::<{ GROUP * BLOCK_BYTES }>();
        for group in groups {
            self.add::<GROUP>(each!(i < GROUP => W::load(isa, &group.as_chunks::<BLOCK_BYTES>().0[i])));
        }
        for block in rest.chunks(BLOCK_BYTES) {
            self.add([W::load_part(isa, block)]);
        }
    }
}
