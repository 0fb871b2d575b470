//! GCM of a message, in one pass by one kernel: AES instructions on counters, and between them carry-less products for GHASH.
//!
//! Rounds and products have ports of their own, so that the two take little longer together than the rounds alone. A bundle has as
//! many registers as GHASH reduces together, and one is hashed a round: to open, those that are decrypted; to seal, those of the bundle
//! before. The end, a bundle at most, has the mask of the tag as one more register beside those of its counters, and each of its blocks
//! is multiplied by a power of its own, so that the sum is reduced once: a short message takes little longer than a block. Several short
//! messages go together: each step of one waits for the step before, and the others' fill the time.
//! Layout: `Repr::Blocks`, as in `instructions`. Needs: `AesLanes`. Source: SP 800-38D §7.1 and §7.2;
//! Gopal et al., "Fast Cryptographic Computation on Intel Architecture Processors Via Function Stitching" (2010).
//! Holds: what is branched on is public: lengths, and whether the tag is right.

use std::ops::Range;

use super::instructions::{
    AHEAD_BYTES, Bundle, Counted, Frame, FramedBundle, IN_FLIGHT, Middle, both_halves, round,
};
use super::key::RoundKeys;
use crate::block::{BLOCK_BYTES, ones_then_zeros};
use crate::part::ghash::{Few, Field, Ghash, Powers, STRIDE, Sums};
use crate::part::{GCM_TOGETHER, GcmMessage};
use crate::word::{AesLanes, Isa, Kernel, each, unrolled};

/// Seals or opens messages, of which the low 32 bits of the counters do not wrap, and says of each whether its tag is right.
///
/// Of a message whose tag is wrong, all but the end is decrypted.
///
/// # Panics
/// If GHASH is not by products.
pub(super) fn run<W: AesLanes>(
    (isa, keys, ghash): (W::Isa, &RoundKeys, &Ghash),
    opens: Option<usize>,
    messages: &mut [GcmMessage<'_, '_>],
) {
    let Some(powers) = ghash.powers() else { unreachable!("no CPU has AES instructions alone") };
    let (opens, tag_bytes) = (opens.is_some(), opens.unwrap_or(BLOCK_BYTES));
    let with = With { isa, keys, powers, opens, tag_bytes };
    match <&mut [_; GCM_TOGETHER]>::try_from(&mut *messages) {
        Ok(messages) if messages.iter().all(is_short::<W>) => isa.enter(Short::<W>(with, messages)),
        _ => messages.iter_mut().for_each(|message| one(with, ghash, message)),
    }
}

/// The most registers of data that a short message has.
const SHORT_REGISTERS: usize = 4;

fn is_short<W: AesLanes>(message: &GcmMessage<'_, '_>) -> bool {
    message.buffers.len_bytes() <= SHORT_REGISTERS * W::BYTES
        && blocks_of(message.aad.len()) + SHORT_REGISTERS * W::BLOCKS < Few::<W>::BLOCKS_MAX
}

const fn blocks_of(len_bytes: usize) -> usize {
    len_bytes.div_ceil(BLOCK_BYTES)
}

fn one<W: AesLanes>(with: With<'_, W>, ghash: &Ghash, message: &mut GcmMessage<'_, '_>) {
    let (mut sum, mut aad) = ([0; BLOCK_BYTES], message.aad);
    let end_bytes = message.buffers.len_bytes() - bulk_bytes::<W>(message);
    if bulk_bytes::<W>(message) > 0 || blocks_of(aad.len()) + blocks_of(end_bytes) + 1 > Few::<W>::BLOCKS_MAX
    {
        ghash.absorb(&mut sum, aad);
        aad = &[];
    }
    with.isa.enter(Message(Start { with, sum: &sum, aad }, message));
}

/// Whole bundles in front of the end.
#[inline(always)]
const fn bulk_bytes<W: AesLanes>(message: &GcmMessage<'_, '_>) -> usize {
    // The length of a bundle is a power of two.
    message.buffers.len_bytes().saturating_sub(1) & !(IN_FLIGHT * W::BYTES - 1)
}

/// What all messages are sealed or opened with.
#[derive(Clone, Copy)]
struct With<'a, W: AesLanes> {
    isa: W::Isa,
    keys: &'a RoundKeys,
    powers: &'a Powers,
    /// Whether they are opened. The kernels ask for it: their long text stands once in each.
    opens: bool,
    /// To open them, the bytes of tags.
    tag_bytes: usize,
}

/// What a message is begun with.
struct Start<'a, W: AesLanes> {
    with: With<'a, W>,
    /// GHASH so far.
    sum: &'a [u8; BLOCK_BYTES],
    /// Additional data that is not hashed yet, none where there is more than the end.
    aad: &'a [u8],
}

/// The kernel of one message.
struct Message<'a, 'b, 'c, W: AesLanes>(Start<'a, W>, &'a mut GcmMessage<'b, 'c>);

impl<W: AesLanes> Kernel for Message<'_, '_, '_, W> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Self(start, message) = self;
        let Start { with: With { isa, powers, opens, .. }, sum, aad } = start;
        let bulk_bytes = bulk_bytes::<W>(message);
        let len_bytes = message.buffers.len_bytes() - bulk_bytes;
        let blocks = blocks_of(aad.len()) + blocks_of(len_bytes) + 1;
        let hash = if bulk_bytes == 0 {
            Few::<W>::after(isa, powers, sum, blocks)
        } else {
            let lanes = match opens {
                true => bulk::<W, true>(&start, message, bulk_bytes),
                false => bulk::<W, false>(&start, message, bulk_bytes),
            };
            Few::<W>::after_lanes(isa, powers, lanes, blocks)
        };
        let end = End { message, at: bulk_bytes, aad, hash };
        // Registers of data, and one more for the mask of the tag.
        if len_bytes <= W::BYTES {
            finish::<W, 1>(start.with, end);
        } else if len_bytes <= SHORT_REGISTERS * W::BYTES {
            finish::<W, SHORT_REGISTERS>(start.with, end);
        } else {
            finish::<W, IN_FLIGHT>(start.with, end);
        }
    }
}

/// The kernel of short messages.
struct Short<'a, 'b, 'c, W: AesLanes>(With<'a, W>, &'a mut [GcmMessage<'b, 'c>; GCM_TOGETHER]);

impl<W: AesLanes> Kernel for Short<'_, '_, '_, W> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Self(with, messages) = self;
        if messages.iter().all(|message| message.buffers.len_bytes() <= W::BYTES) {
            return together::<W, GCM_TOGETHER, 1, GCM_TOGETHER>(with, messages);
        }
        for two in messages.as_chunks_mut().0 {
            together::<W, 2, SHORT_REGISTERS, { 2 * SHORT_REGISTERS }>(with, two);
        }
    }
}

/// Whole messages, `G` of them in `N` registers of data each, `ALL` registers in all, beside which the masks of the tags have a lane
/// each.
#[inline(always)]
fn together<W: AesLanes, const G: usize, const N: usize, const ALL: usize>(
    with: With<'_, W>,
    messages: &mut [GcmMessage<'_, '_>; G],
) {
    const { assert!(ALL == G * N && G <= GCM_TOGETHER) };
    let With { isa, keys, powers, .. } = with;
    let mut state = [W::splat(isa, 0); ALL];
    for (m, message) in messages.iter().enumerate() {
        let counters = counters::<W, N>(isa, message, 0);
        for i in 0..N {
            state[m * N + i] = counters[i];
        }
    }
    let mut masks = [W::splat(isa, 0); G];
    let masks = &mut masks[..G.div_ceil(W::BLOCKS)];
    // Lane by lane in registers: a register of what was just written in halves would wait for all that was begun before.
    for (mask, messages) in masks.iter_mut().zip(messages.chunks(W::BLOCKS)) {
        for message in messages.iter().rev() {
            *mask = mask.preceded_by(both_halves::<W>(isa, message.counter.swap_bytes()));
        }
    }
    encrypt(isa, keys, &mut state, masks);
    let mut lanes = [[0; BLOCK_BYTES]; GCM_TOGETHER];
    for (mask, lanes) in masks.iter().zip(lanes.as_flattened_mut().chunks_exact_mut(W::BYTES)) {
        mask.store(lanes);
    }
    // All are hashed before the first sum is reduced: so the reductions wait for each other no more than the rounds did.
    let field = Field::<W>::of(isa, powers);
    let mut products = [field.none(); G];
    for (m, message) in messages.iter_mut().enumerate() {
        let mut end = End::whole(with, message);
        let output = end.add_to::<N>(with, each!(i < N => state[m * N + i]));
        for i in 0..N {
            state[m * N + i] = output[i];
        }
        products[m] = end.hash.products;
    }
    for (m, message) in messages.iter_mut().enumerate() {
        let tag = field.end(products[m]) ^ W::load_lowest(isa, &lanes[m]);
        close::<W, N>(with, message, 0, each!(i < N => state[m * N + i]), tag);
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
    let &Start { with: With { isa, keys, powers, .. }, sum, .. } = start;
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

/// What is left of a message, with GHASH so far.
struct End<'a, 'b, 'c, W> {
    message: &'a mut GcmMessage<'b, 'c>,
    /// Where it begins.
    at: usize,
    aad: &'a [u8],
    hash: Few<'a, W>,
}

impl<'a, 'b, 'c, W: AesLanes> End<'a, 'b, 'c, W> {
    /// A message that is nothing but an end.
    #[inline(always)]
    fn whole(with: With<'a, W>, message: &'a mut GcmMessage<'b, 'c>) -> Self {
        let aad = message.aad;
        let blocks = blocks_of(aad.len()) + blocks_of(message.buffers.len_bytes()) + 1;
        let hash = Few::<W>::after(with.isa, with.powers, &[0; BLOCK_BYTES], blocks);
        Self { message, at: 0, aad, hash }
    }

    #[inline(always)]
    fn part(&self, i: usize) -> Range<usize> {
        part::<W>(i, self.at, self.message)
    }

    /// Adds the keystream to `N` registers of data, and hashes all.
    #[inline(always)]
    fn add_to<const N: usize>(&mut self, With { isa, opens, .. }: With<'_, W>, keystream: [W; N]) -> [W; N] {
        let input: [W; N] = each!(i < N => W::load_part(isa, &self.message.buffers.input()[self.part(i)]));
        let output = each!(i < N => input[i] ^ keystream[i]);
        for aad in self.aad.chunks(W::BYTES) {
            self.hash.add(isa, W::load_part(isa, aad), blocks_of(aad.len()));
        }
        for i in 0..N {
            let len_bytes = self.part(i).len();
            // What the keystream has beyond the message is no part of it.
            let kept = W::load(isa, &FIRST_BYTES[64 - len_bytes..][..W::BYTES]);
            let sent = if opens { input[i] } else { output[i] & kept };
            self.hash.add(isa, sent, blocks_of(len_bytes));
        }
        self.hash.add(isa, both_halves::<W>(isa, self.message.lengths()), 1);
        output
    }
}

/// Writes the output from byte `at` on, and the tag; to open, only if that is right.
#[inline(always)]
fn close<W: AesLanes, const N: usize>(
    With { opens, tag_bytes, .. }: With<'_, W>,
    message: &mut GcmMessage<'_, '_>,
    at: usize,
    output: [W; N],
    made: W,
) {
    let mut tag = [0; BLOCK_BYTES];
    made.store_lowest(&mut tag);
    if opens {
        let difference = u128::from_le_bytes(tag) ^ u128::from_le_bytes(message.tag);
        message.right = difference << (128 - 8 * tag_bytes) == 0;
        if !message.right {
            return;
        }
    }
    for (i, output) in output.into_iter().enumerate() {
        let part = part::<W>(i, at, message);
        output.store_part(&mut message.buffers.output_mut()[part]);
    }
    message.tag = tag;
}

/// The bytes of the message that register `i` has, if the first begins at `at`.
#[inline(always)]
fn part<W: AesLanes>(i: usize, at: usize, message: &GcmMessage<'_, '_>) -> Range<usize> {
    let len_bytes = message.buffers.len_bytes();
    (at + i * W::BYTES).min(len_bytes)..(at + (i + 1) * W::BYTES).min(len_bytes)
}

/// The end of a message, in `N` registers of data.
#[inline(always)]
fn finish<W: AesLanes, const N: usize>(with: With<'_, W>, mut end: End<'_, '_, '_, W>) {
    let With { isa, keys, .. } = with;
    let mut state = counters::<W, N>(isa, end.message, end.at / BLOCK_BYTES);
    let mut mask = [both_halves::<W>(isa, end.message.counter.swap_bytes())];
    encrypt(isa, keys, &mut state, &mut mask);
    let output = end.add_to::<N>(with, state);
    close::<W, N>(with, end.message, end.at, output, end.hash.end() ^ mask[0]);
}

/// The counters of a message from a block on.
#[inline(always)]
fn counters<W: AesLanes, const N: usize>(isa: W::Isa, message: &GcmMessage<'_, '_>, block: usize) -> [W; N] {
    Counted::from(isa, message.first(block)).around::<N>(isa, [W::splat(isa, 0); N]).0
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

/// 64 bytes of ones, and 64 of zeros.
static FIRST_BYTES: [u8; 128] = ones_then_zeros();
