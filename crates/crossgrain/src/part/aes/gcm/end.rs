//! The end of a message of GCM, a bundle at most, and its tag.

use std::ops::Range;

use super::{Before, Start, With, blocks_of, in_gaps, lengths};
use crate::block::{BLOCK_BYTES, Block};
use crate::message::{AeadMessage, Tag};
use crate::part::GcmWay;
use crate::part::aes::instructions::{Counted, Frame, IN_FLIGHT, both_halves};
use crate::part::aes::key::{Wide, WideKeys};
use crate::part::ghash::{Few, Product, STRIDE, Sums};
use crate::word::AesLanes;

/// Adds the keystream to `N` registers of data from byte `at` on. Gives the output, and what is sent, with zeros behind the message.
#[inline(always)]
pub(super) fn add_to<W: AesLanes, const N: usize>(
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
pub(super) fn close<W: AesLanes, const N: usize>(
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
pub(super) fn part<W: AesLanes>(i: usize, at: usize, message: &AeadMessage<'_>) -> Range<usize> {
    let len_bytes = message.buffers.len_bytes();
    (at + i * W::BYTES).min(len_bytes)..(at + (i + 1) * W::BYTES).min(len_bytes)
}

/// The end of a message from byte `at` on, in `N` registers of data.
#[inline(always)]
pub(super) fn finish<W: AesLanes, const N: usize>(
    start: &Start<'_, W>,
    message: &mut AeadMessage<'_>,
    at: usize,
    before: Before<'_, W>,
) -> bool {
    let &Start { with, first, aad, .. } = start;
    let With { isa, keys, way, powers } = with;
    let counted = Counted::from(isa, start.counter(at / BLOCK_BYTES));
    let mut state = { counted }.around::<N>(isa, [W::splat(isa, 0); N]).0;
    let mut mask = [both_halves::<W>(isa, first.swap_bytes())];
    // Of few registers the products fit in what is left of the rounds anyway.
    let hides_products = N == IN_FLIGHT && way.opens;
    let mut hash = match before {
        Before::Nothing(hash) => hash,
        Before::Bundles(mut sums, blocks) => {
            if !way.opens {
                let stride = &message.buffers.output_mut()[at - IN_FLIGHT * W::BYTES..at];
                let mut sealed = Sealed { products: sums.begin_stride(), sums: &mut sums, stride };
                encrypt(isa, keys, &mut state, &mut mask, STRIDE - 1, &mut sealed);
                let Sealed { products, .. } = sealed;
                sums.end_stride(products, &stride[(STRIDE - 1) * W::BYTES..]);
            }
            Few::<W>::after_lanes(isa, powers, sums.lanes(), blocks)
        }
    };
    if hides_products {
        hash.add_all(isa, aad);
        encrypt(isa, keys, &mut state, &mut mask, N, &mut Received { isa, message, at, hash: &mut hash });
    } else if at == 0 || way.opens {
        encrypt(isa, keys, &mut state, &mut mask, 0, &mut ());
    }
    let (output, sent) = add_to::<W, N>(with, message, at, state);
    if !hides_products {
        hash.add_all(isa, aad);
        for (i, sent) in sent.into_iter().enumerate() {
            hash.add(isa, sent, blocks_of(part::<W>(i, at, message).len()));
        }
    }
    let mut tag = [0; BLOCK_BYTES];
    let made = hash.end(isa, lengths::<W>(isa, message).shift_left::<3>()) ^ mask[0];
    (made & W::broadcast(isa, Tag::kept(way.tag_bytes))).store_lowest(&mut tag);
    close::<W, N>(way, message, at, output, tag)
}

/// What is hashed while counters are encrypted.
pub(super) trait Beside {
    /// Hashes register `place` of it.
    fn hash(&mut self, place: usize);
}

impl Beside for () {
    #[inline(always)]
    fn hash(&mut self, _place: usize) {}
}

/// The last bundle that was sealed, but for its last register.
struct Sealed<'a, 'b, W: AesLanes> {
    sums: &'a mut Sums<'b, W>,
    products: Product<W>,
    stride: &'a [u8],
}

impl<W: AesLanes> Beside for Sealed<'_, '_, W> {
    #[inline(always)]
    fn hash(&mut self, place: usize) {
        self.sums.add_in_stride(&mut self.products, place, &self.stride[place * W::BYTES..][..W::BYTES]);
    }
}

/// The end of a message that is opened, from byte `at` on.
struct Received<'a, 'b, W: AesLanes> {
    isa: W::Isa,
    message: &'a AeadMessage<'a>,
    at: usize,
    hash: &'a mut Few<'b, W>,
}

impl<W: AesLanes> Beside for Received<'_, '_, W> {
    #[inline(always)]
    fn hash(&mut self, place: usize) {
        let part = part::<W>(place, self.at, self.message);
        let blocks = blocks_of(part.len());
        self.hash.add(self.isa, W::load_part(self.isa, &self.message.buffers.input()[part]), blocks);
    }
}

/// Encrypts counters, those of data and those of masks, and hashes some registers besides, one in each of the first rounds.
#[inline(always)]
pub(super) fn encrypt<W: AesLanes, const N: usize>(
    isa: W::Isa,
    keys: &WideKeys,
    data: &mut [W; N],
    masks: &mut [W],
    registers: usize,
    beside: &mut impl Beside,
) {
    let (first, middle, last) = keys.split();
    let first = first.load::<W>(isa);
    for word in data.iter_mut() {
        *word = *word ^ first;
    }
    for word in masks.iter_mut() {
        *word = *word ^ first;
    }
    let (early, late) = if registers > 0 { in_gaps(middle, registers) } else { (&[][..], middle) };
    for (place, key) in early.iter().enumerate() {
        round_of_both(isa, key, data, masks);
        beside.hash(place);
    }
    for key in late {
        round_of_both(isa, key, data, masks);
    }
    let last = last.load::<W>(isa);
    for word in data.iter_mut() {
        *word = word.encrypt_last_round(last);
    }
    for word in masks.iter_mut() {
        *word = word.encrypt_last_round(last);
    }
}

#[inline(always)]
fn round_of_both<W: AesLanes, const N: usize>(isa: W::Isa, key: &Wide, data: &mut [W; N], masks: &mut [W]) {
    let key = key.load::<W>(isa);
    for word in data.iter_mut() {
        *word = word.encrypt_round(key);
    }
    for word in masks.iter_mut() {
        *word = word.encrypt_round(key);
    }
}
