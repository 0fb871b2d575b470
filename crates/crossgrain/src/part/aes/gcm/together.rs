//! Short messages of GCM, several together: each step of one waits for the step before, and the others' fill the time.

use std::ops::Range;

use super::{With, blocks_of, lengths};
use crate::block::{BLOCK_BYTES, Block};
use crate::message::{AeadMessage, Tag};
use crate::part::GcmWay;
use crate::part::aes::key::WideKeys;
use crate::part::ghash::{Few, Field, LANES_MAX, Product};
use crate::word::{AesLanes, Kernel, each, unrolled};

/// Short messages that go together.
const TOGETHER: usize = 4;

/// The most registers of data that a short message has.
const SHORT_REGISTERS: usize = 4;

/// The kernel of short messages: [`WholePart::gcm_short`](crate::part::WholePart::gcm_short).
pub(in crate::part::aes) struct Short<'a, 'b, 'c, W: AesLanes>(
    pub(in crate::part::aes) With<'a, W>,
    pub(in crate::part::aes) &'b mut [AeadMessage<'c>],
    pub(in crate::part::aes) &'b mut [bool],
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
    let (With { isa, keys, way }, powers) = (with, with.powers());
    let (field, none) = (Field::<W>::of_ghash(isa), W::splat(isa, 0));
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
            let (output, sent) = add_to::<W, N>(with, &messages[m], each!(i < N => state[m * N + i]));
            products[m] = products_of::<W, N>(with, &messages[m], sent);
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
            are_right[m] = close::<W, N>(way, &mut messages[m], output, tags[m]);
        }
    });
    are_right
}

/// The sum of the products of what lies in registers of a message's own: all but the last block of additional data, and the lengths.
#[inline(always)]
fn products_of<W: AesLanes, const N: usize>(
    with: With<'_, W>,
    message: &AeadMessage<'_>,
    sent: [W; N],
) -> Product<W> {
    let isa = with.isa;
    let (aad, _) = last_block(message.aad);
    let blocks = blocks_of(aad.len()) + blocks_of(message.buffers.len_bytes()) + 2;
    let mut hash = Few::<W>::new(isa, with.powers(), blocks);
    hash.add_all(isa, aad);
    hash.skip();
    for (i, sent) in sent.into_iter().enumerate() {
        hash.add(isa, sent, blocks_of(part::<W>(i, message).len()));
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

/// Additional data without its last block, and that.
#[inline(always)]
fn last_block(aad: &[u8]) -> (&[u8], &[u8]) {
    aad.split_at(aad.len().saturating_sub(1) & !(BLOCK_BYTES - 1))
}

/// Adds the keystream to `N` registers of data. Gives the output, and what is sent, with zeros behind the message.
#[inline(always)]
fn add_to<W: AesLanes, const N: usize>(
    With { isa, way, .. }: With<'_, W>,
    message: &AeadMessage<'_>,
    keystream: [W; N],
) -> ([W; N], [W; N]) {
    let (mut output, mut sent) = (keystream, keystream);
    for i in 0..N {
        let part = part::<W>(i, message);
        let len_bytes = part.len();
        let input = W::load_part(isa, &message.buffers.input()[part]);
        output[i] = input ^ keystream[i];
        // What the keystream has beyond the message is no part of it.
        sent[i] = if way.opens { input } else { output[i].first_bytes(len_bytes) };
    }
    (output, sent)
}

/// Writes the output, and the tag; to open, only if that is right.
#[inline(always)]
fn close<W: AesLanes, const N: usize>(
    &GcmWay { opens, tag_bytes, .. }: &GcmWay<'_>,
    message: &mut AeadMessage<'_>,
    output: [W; N],
    tag: Block,
) -> bool {
    if !opens {
        message.tag = Tag::of_padded(tag, tag_bytes);
    } else if u128::from_le_bytes(tag) != u128::from_le_bytes(message.tag.padded()) {
        return false;
    }
    for (i, output) in output.into_iter().enumerate() {
        let part = part::<W>(i, message);
        output.store_part(&mut message.buffers.output_mut()[part]);
    }
    true
}

/// The bytes of the message that register `i` has.
#[inline(always)]
fn part<W: AesLanes>(i: usize, message: &AeadMessage<'_>) -> Range<usize> {
    let len_bytes = message.buffers.len_bytes();
    (i * W::BYTES).min(len_bytes)..((i + 1) * W::BYTES).min(len_bytes)
}

/// Encrypts counters, those of data and those of masks.
#[inline(always)]
fn encrypt<W: AesLanes, const N: usize>(isa: W::Isa, keys: &WideKeys, data: &mut [W; N], masks: &mut [W]) {
    let (first, middle, last) = keys.split();
    let first = first.load::<W>(isa);
    for word in data.iter_mut().chain(&mut *masks) {
        *word = *word ^ first;
    }
    for key in middle {
        let key = key.load::<W>(isa);
        for word in data.iter_mut() {
            *word = word.encrypt_round(key);
        }
        for word in masks.iter_mut() {
            *word = word.encrypt_round(key);
        }
    }
    let last = last.load::<W>(isa);
    for word in data.iter_mut() {
        *word = word.encrypt_last_round(last);
    }
    for word in masks.iter_mut() {
        *word = word.encrypt_last_round(last);
    }
}
