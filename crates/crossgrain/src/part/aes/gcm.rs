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

use std::ops::Range;

use super::instructions::{AHEAD_BYTES, Counted, Frame, IN_FLIGHT, MIDDLE_LEAST, Middle, both_halves, round};
use super::key::RoundKeys;
use super::walk::{TABLED, Table, Walker};
use crate::block::{BLOCK_BYTES, Block};
use crate::message::{AeadMessage, Tag};
use crate::part::GcmWay;
use crate::part::counter::Counter;
use crate::part::ghash::{Few, Field, LANES_MAX, Powers, Product, STRIDE, Sums};
use crate::word::{AesLanes, Isa, Kernel, each, unrolled};

/// What all messages are sealed or opened with.
#[derive(Clone, Copy)]
pub(super) struct With<'a, W: AesLanes> {
    isa: W::Isa,
    keys: &'a RoundKeys,
    way: GcmWay<'a>,
    powers: &'a Powers,
}

impl<'a, W: AesLanes> With<'a, W> {
    /// # Panics
    /// If GHASH is not by products.
    pub(super) fn new(isa: W::Isa, keys: &'a RoundKeys, way: GcmWay<'a>) -> Self {
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
        let hash = if bulk_bytes == 0 {
            Few::<W>::after(isa, powers, sum, blocks)
        } else {
            let lanes = if WALKS {
                let first = start.counter(0);
                let mut table = Table::new();
                table.fill::<W>(isa, start.with.keys, first);
                let begin = Walker::new(isa, start.with.keys, &table, first);
                bulk(&start, begin, message, bulk_bytes)
            } else {
                bulk(&start, Counted::from(isa, start.counter(0)), message, bulk_bytes)
            };
            Few::<W>::after_lanes(isa, powers, lanes, blocks)
        };
        // Registers of data, and one more for the mask of the tag.
        if len_bytes <= W::BYTES {
            finish::<W, 1>(&start, message, bulk_bytes, hash)
        } else if len_bytes <= SHORT_REGISTERS * W::BYTES {
            finish::<W, SHORT_REGISTERS>(&start, message, bulk_bytes, hash)
        } else {
            finish::<W, IN_FLIGHT>(&start, message, bulk_bytes, hash)
        }
    }
}

/// Short messages that go together.
const TOGETHER: usize = 4;

/// The kernel of short messages: [`WholePart::gcm_short`](crate::part::WholePart::gcm_short).
pub(super) struct Short<'a, 'b, 'c, W: AesLanes>(
    pub(super) With<'a, W>,
    pub(super) &'b mut [AeadMessage<'c>],
    pub(super) &'b mut [bool],
);

impl<W: AesLanes> Kernel for Short<'_, '_, '_, W> {
    type Output = usize;

    #[inline(always)]
    fn run(self) -> usize {
        let Self(with, messages, right) = self;
        let mut done = 0;
        for group in messages.as_chunks_mut::<TOGETHER>().0 {
            let (mut longest, mut are_usual) = (0, true);
            for message in group.iter() {
                longest = longest.max(message.buffers.len_bytes());
                are_usual &= message.nonce.len() == GcmWay::NONCE_BYTES
                    && message.aad.len() <= LONGEST_AAD_BYTES
                    && (!with.way.opens || message.tag.len() == with.way.tag_bytes);
            }
            if !are_usual || longest > SHORT_REGISTERS * W::BYTES {
                break;
            }
            let mut are_right = [true; TOGETHER];
            if longest <= W::BYTES {
                are_right = together::<W, TOGETHER, 1, TOGETHER>(with, group);
            } else {
                for (two, right) in group.as_chunks_mut().0.iter_mut().zip(are_right.as_chunks_mut().0) {
                    *right = together::<W, 2, SHORT_REGISTERS, { 2 * SHORT_REGISTERS }>(with, two);
                }
            }
            if with.way.opens {
                right[done..][..TOGETHER].copy_from_slice(&are_right);
            }
            done += TOGETHER;
        }
        done
    }
}

/// The longest additional data that goes with a short message.
const LONGEST_AAD_BYTES: usize = 256;

/// The counter blocks of a nonce of zeros, from this one on.
#[inline(always)]
fn counter_blocks<W: AesLanes>(isa: W::Isa, first: usize, stride: usize) -> W {
    let mut bytes = [0; LANES_MAX * BLOCK_BYTES];
    for lane in 0..W::BLOCKS {
        let counter = (first + lane * stride) as u32;
        bytes[lane * BLOCK_BYTES + GcmWay::NONCE_BYTES..][..4].copy_from_slice(&counter.to_be_bytes());
    }
    W::load(isa, &bytes[..W::BYTES])
}

/// What each of some messages has one block of, in lanes.
#[derive(Clone, Copy)]
struct Lanes<W> {
    /// Counters, then masks of tags.
    mask: W,
    /// The last blocks of additional data, zeros where there is none; and the powers for them.
    aad: W,
    power: W,
    /// The lengths in bytes.
    lengths: W,
}

/// Whole messages, `G` of them in `N` registers of data each, `ALL` registers in all; says whose tags are right.
///
/// Blocks of which each message has one lie in lanes beside each other: a register a message would cost as much as all of its data.
/// They are put together in registers: one of what was just written in parts would wait for all that was begun before.
#[inline(always)]
fn together<W: AesLanes, const G: usize, const N: usize, const ALL: usize>(
    with: With<'_, W>,
    messages: &mut [AeadMessage<'_>; G],
) -> [bool; G] {
    const { assert!(ALL == G * N && G <= TOGETHER) };
    let With { isa, keys, powers, way } = with;
    let (field, none) = (Field::<W>::of(isa, powers), W::splat(isa, 0));
    let ahead: [W; N] = each!(i < N => counter_blocks::<W>(isa, 2 + i * W::BLOCKS, 1));
    let mut lanes = [Lanes { mask: none, aad: none, power: none, lengths: none }; G];
    let mut state = [none; ALL];
    unrolled!(m in [3 2 1 0] {
        if m < G {
            let (message, lanes) = (&messages[m], &mut lanes[m / W::BLOCKS]);
            let nonce = nonce_in_lanes::<W>(isa, message.nonce);
            for i in 0..N {
                state[m * N + i] = nonce ^ ahead[i];
            }
            let (_, aad) = last_block(message.aad);
            let power = powers.one::<W>(isa, blocks_of(message.buffers.len_bytes()) + 2);
            lanes.mask = lanes.mask.preceded_by(nonce);
            lanes.aad = lanes.aad.preceded_by(W::load_part(isa, aad).lowest_in_all());
            lanes.power = lanes.power.preceded_by(power);
            lanes.lengths = lanes.lengths.preceded_by(lengths::<W>(isa, message));
        }
    });
    let registers = const { G.div_ceil(W::BLOCKS) };
    let mut masks = each!(i < G => lanes[i].mask ^ counter_blocks::<W>(isa, 1, 0));
    encrypt(isa, keys, &mut state, &mut masks[..registers]);
    let mut products = [field.none(); LANES_MAX * TOGETHER];
    unrolled!(m in [0 1 2 3] {
        if m < G {
            let (output, sent) = add_to::<W, N>(with, &messages[m], 0, each!(i < N => state[m * N + i]));
            products[m] = products_of::<W, N>(with, field, &messages[m], sent);
            for i in 0..N {
                state[m * N + i] = output[i];
            }
        }
    });
    let mut tags = [[0; BLOCK_BYTES]; TOGETHER];
    let kept = W::broadcast(isa, Tag::kept(way.tag_bytes));
    for i in 0..registers {
        let Lanes { aad, power, lengths, .. } = lanes[i];
        let last = Product::of(lengths.shift_left::<3>(), powers.one(isa, 1));
        let along = Product::of(field.reversed(aad), power).plus(last);
        let across = each!(lane < LANES_MAX => products[i * W::BLOCKS + lane]);
        let tag = (field.ends(across, along) ^ masks[i]) & kept;
        tag.store(&mut tags.as_flattened_mut()[i * W::BYTES..][..W::BYTES]);
    }
    let mut are_right = [true; G];
    unrolled!(m in [0 1 2 3] {
        if m < G {
            let output = each!(i < N => state[m * N + i]);
            are_right[m] = close::<W, N>(way, &mut messages[m], 0, output, tags[m]);
        }
    });
    are_right
}

/// The sum of the products of what lies in registers of a message's own: all but the last block of additional data, and the lengths.
#[inline(always)]
fn products_of<W: AesLanes, const N: usize>(
    With { isa, powers, .. }: With<'_, W>,
    field: Field<W>,
    message: &AeadMessage<'_>,
    sent: [W; N],
) -> Product<W> {
    let (aad, _) = last_block(message.aad);
    let blocks = blocks_of(aad.len()) + blocks_of(message.buffers.len_bytes()) + 2;
    let mut hash = Few::<W>::new(field, powers, blocks);
    for aad in aad.chunks(W::BYTES) {
        hash.add(isa, W::load_part(isa, aad), blocks_of(aad.len()));
    }
    hash.skip();
    for (i, sent) in sent.into_iter().enumerate() {
        hash.add(isa, sent, blocks_of(part::<W>(i, 0, message).len()));
    }
    hash.products
}

/// A nonce of [`GcmWay::NONCE_BYTES`] in every lane, and zeros behind it.
#[inline(always)]
fn nonce_in_lanes<W: AesLanes>(isa: W::Isa, nonce: &[u8]) -> W {
    // Both parts as they lie: what is put together in memory first waits to be written.
    let front = nonce.first_chunk().map_or(0, |front| u64::from_le_bytes(*front));
    let back = nonce.last_chunk().map_or(0, |back| u32::from_le_bytes(*back));
    W::exchange_halves(W::splat(isa, front), W::splat(isa, back.into())).0
}

const _: () = assert!(STRIDE == IN_FLIGHT);

/// How the cipher begins on the counters of bundles that follow one another.
trait Begin<W> {
    /// Rounds that are done by then.
    const ROUNDS: usize;

    /// The states of a bundle whose first counter is `block` blocks after the first of all.
    fn begin(&mut self, isa: W::Isa, keys: &RoundKeys, block: usize) -> [W; IN_FLIGHT]
    where
        W: AesLanes;
}

impl<W: AesLanes> Begin<W> for Counted<W> {
    const ROUNDS: usize = 0;

    #[inline(always)]
    fn begin(&mut self, isa: W::Isa, keys: &RoundKeys, _block: usize) -> [W; IN_FLIGHT] {
        let first = W::broadcast(isa, &keys.blocks()[0]);
        let (entering, _) = self.around::<IN_FLIGHT>(isa, [W::splat(isa, 0); IN_FLIGHT]);
        each!(i < IN_FLIGHT => entering[i] ^ first)
    }
}

impl<W: AesLanes> Begin<W> for Walker<'_, W> {
    const ROUNDS: usize = TABLED;

    #[inline(always)]
    fn begin(&mut self, _isa: W::Isa, _keys: &RoundKeys, block: usize) -> [W; IN_FLIGHT] {
        self.after_round_2(block)
    }
}

/// Whole bundles in front of the end, this many bytes; gives the sums of GHASH's lanes after them.
#[inline(always)]
fn bulk<W: AesLanes, B: Begin<W>>(
    start: &Start<'_, W>,
    begin: B,
    message: &mut AeadMessage<'_>,
    bulk_bytes: usize,
) -> W {
    match start.with.way.opens {
        true => bundles::<W, B, true>(start, begin, message, bulk_bytes),
        false => bundles::<W, B, false>(start, begin, message, bulk_bytes),
    }
}

#[inline(always)]
fn bundles<W: AesLanes, B: Begin<W>, const OPENS: bool>(
    start: &Start<'_, W>,
    mut begin: B,
    message: &mut AeadMessage<'_>,
    bulk_bytes: usize,
) -> W {
    let &Start { with: With { isa, keys, powers, .. }, sum, .. } = start;
    let bundle_bytes = IN_FLIGHT * W::BYTES;
    // Here, where its parts lie in registers.
    let mut buffers = message.buffers.reborrow();
    let mut sums = Sums::<W>::from(isa, powers, sum);
    let mut at = 0;
    if !OPENS {
        let output = encrypt_bundle(isa, keys, &mut begin, buffers.load_all(isa, 0));
        buffers.store_all(0, output);
        at = bundle_bytes;
    }
    while at < bulk_bytes {
        let input = buffers.load_all(isa, at);
        let sent = if OPENS {
            &buffers.input()[at..][..bundle_bytes]
        } else {
            &buffers.output_mut()[at - bundle_bytes..][..bundle_bytes]
        };
        let state = begin.begin(isa, keys, at / BLOCK_BYTES);
        let output = encrypt_and_hash::<W, B>(isa, keys, state, &mut sums, input, sent);
        buffers.store_all(at, output);
        buffers.expect(at + AHEAD_BYTES, bundle_bytes);
        at += bundle_bytes;
    }
    if !OPENS {
        sums.add_stride(&buffers.output_mut()[bulk_bytes - bundle_bytes..][..bundle_bytes]);
    }
    sums.lanes()
}

/// The first bundle of CTR.
#[inline(always)]
fn encrypt_bundle<W: AesLanes, B: Begin<W>>(
    isa: W::Isa,
    keys: &RoundKeys,
    begin: &mut B,
    input: [W; IN_FLIGHT],
) -> [W; IN_FLIGHT] {
    let (_, middle, last) = keys.split();
    let last = W::broadcast(isa, last);
    let mut state = begin.begin(isa, keys, 0);
    let last_keys = each!(i < IN_FLIGHT => last ^ input[i]);
    Middle::in_memory(&middle[B::ROUNDS..]).rounds::<IN_FLIGHT, true>(isa, &mut state, last_keys);
    state
}

/// A bundle of CTR that has begun, whose first middle rounds have products of what is `sent` between them.
#[inline(always)]
fn encrypt_and_hash<W: AesLanes, B: Begin<W>>(
    isa: W::Isa,
    keys: &RoundKeys,
    mut state: [W; IN_FLIGHT],
    sums: &mut Sums<'_, W>,
    input: [W; IN_FLIGHT],
    sent: &[u8],
) -> [W; IN_FLIGHT] {
    let (_, middle, last) = keys.split();
    let last = W::broadcast(isa, last);
    // All that the shortest key has left, if that is no more than there are products.
    let (early, late) = middle[B::ROUNDS..].split_at(STRIDE.min(MIDDLE_LEAST - B::ROUNDS));
    let mut products = sums.begin_stride();
    unrolled!(i in [0 1 2 3 4 5 6 7] {
        if i < early.len() {
            round::<W, IN_FLIGHT, true>(isa, &mut state, &early[i]);
        }
        sums.add_in_stride(&mut products, i, &sent[i * W::BYTES..][..W::BYTES]);
    });
    let last_keys = each!(i < IN_FLIGHT => last ^ input[i]);
    Middle::in_memory(late).rounds::<IN_FLIGHT, true>(isa, &mut state, last_keys);
    state
}

/// Adds the keystream to `N` registers of data from byte `at` on. Gives the output, and what is sent, with zeros behind the message.
#[inline(always)]
fn add_to<W: AesLanes, const N: usize>(
    With { isa, way, .. }: With<'_, W>,
    message: &AeadMessage<'_>,
    at: usize,
    keystream: [W; N],
) -> ([W; N], [W; N]) {
    let (mut output, mut sent) = (keystream, keystream);
    for i in 0..N {
        let part = part::<W>(i, at, message);
        let len_bytes = part.len();
        let input = W::load_part(isa, &message.buffers.input()[part]);
        output[i] = input ^ keystream[i];
        // What the keystream has beyond the message is no part of it.
        sent[i] = if way.opens { input } else { output[i].first_bytes(len_bytes) };
    }
    (output, sent)
}

/// Writes the output from byte `at` on, and the tag; to open, only if that is right.
#[inline(always)]
fn close<W: AesLanes, const N: usize>(
    GcmWay { opens, tag_bytes, .. }: GcmWay<'_>,
    message: &mut AeadMessage<'_>,
    at: usize,
    output: [W; N],
    tag: Block,
) -> bool {
    if !opens {
        message.tag = Tag::of_padded(tag, tag_bytes);
    } else if u128::from_le_bytes(tag) != u128::from_le_bytes(message.tag.padded()) {
        return false;
    }
    for (i, output) in output.into_iter().enumerate() {
        let part = part::<W>(i, at, message);
        output.store_part(&mut message.buffers.output_mut()[part]);
    }
    true
}

/// The bytes of the message that register `i` has, if the first begins at `at`.
#[inline(always)]
fn part<W: AesLanes>(i: usize, at: usize, message: &AeadMessage<'_>) -> Range<usize> {
    let len_bytes = message.buffers.len_bytes();
    (at + i * W::BYTES).min(len_bytes)..(at + (i + 1) * W::BYTES).min(len_bytes)
}

/// The end of a message from byte `at` on, in `N` registers of data, and its hash so far.
#[inline(always)]
fn finish<W: AesLanes, const N: usize>(
    start: &Start<'_, W>,
    message: &mut AeadMessage<'_>,
    at: usize,
    mut hash: Few<'_, W>,
) -> bool {
    let &Start { with, first, aad, .. } = start;
    let With { isa, keys, way, .. } = with;
    let counted = Counted::from(isa, start.counter(at / BLOCK_BYTES));
    let mut state = { counted }.around::<N>(isa, [W::splat(isa, 0); N]).0;
    let mut mask = [both_halves::<W>(isa, first.swap_bytes())];
    encrypt(isa, keys, &mut state, &mut mask);
    for aad in aad.chunks(W::BYTES) {
        hash.add(isa, W::load_part(isa, aad), blocks_of(aad.len()));
    }
    let (output, sent) = add_to::<W, N>(with, message, at, state);
    for (i, sent) in sent.into_iter().enumerate() {
        hash.add(isa, sent, blocks_of(part::<W>(i, at, message).len()));
    }
    let mut tag = [0; BLOCK_BYTES];
    let made = hash.end(isa, lengths::<W>(isa, message).shift_left::<3>()) ^ mask[0];
    (made & W::broadcast(isa, Tag::kept(way.tag_bytes))).store_lowest(&mut tag);
    close::<W, N>(way, message, at, output, tag)
}

/// Encrypts counters: those of data, and those of masks.
#[inline(always)]
fn encrypt<W: AesLanes, const N: usize>(isa: W::Isa, keys: &RoundKeys, data: &mut [W; N], masks: &mut [W]) {
    let (first, middle, last) = keys.split();
    let (first, last) = (W::broadcast(isa, first), W::broadcast(isa, last));
    for word in data.iter_mut() {
        *word = *word ^ first;
    }
    for word in masks.iter_mut() {
        *word = *word ^ first;
    }
    for key in middle {
        let key = W::broadcast(isa, key);
        for word in data.iter_mut() {
            *word = word.encrypt_round(key);
        }
        for word in masks.iter_mut() {
            *word = word.encrypt_round(key);
        }
    }
    for word in data.iter_mut() {
        *word = word.encrypt_last_round(last);
    }
    for word in masks.iter_mut() {
        *word = word.encrypt_last_round(last);
    }
}
