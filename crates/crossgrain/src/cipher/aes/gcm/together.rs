//! Several short GCM messages at a time. Each step of a message waits for the one before, and steps of the
//! other messages fill the time.

use super::{With, admits, blocks_of, halves, last_block, lengths, parts_of};
use crate::arch::{AesLanes, Kernel, each, unrolled};
use crate::block::BLOCK_BYTES;
use crate::cipher::aes::key::WideKeys;
use crate::message::AeadMessage;
use crate::mode::gcm::ghash::{Field, LANES_MAX, Product, ShortHash};
use crate::mode::gcm::kernel::GcmParams;

/// Short messages that run together.
pub(in crate::cipher::aes) const TOGETHER: usize = 4;

/// The kernel of short messages: [`GcmKernel::short`](crate::mode::gcm::kernel::GcmKernel::short).
pub(in crate::cipher::aes) struct Short<'a, 'b, 'c, W: AesLanes>(
    pub(in crate::cipher::aes) With<'a, W>,
    pub(in crate::cipher::aes) &'b mut [AeadMessage<'c>],
    pub(in crate::cipher::aes) &'b mut [bool],
);

impl<W: AesLanes> Kernel for Short<'_, '_, '_, W> {
    type Output = usize;

    #[inline(always)]
    fn run(self) -> usize {
        let Self(with, messages, right) = self;
        let mut done = 0;
        for group in messages.as_chunks_mut::<TOGETHER>().0 {
            if !group.iter().all(|message| with.takes(message)) {
                break;
            }
            let are_right = together::<W>(with, group);
            if with.params.opens {
                right[done..][..TOGETHER].copy_from_slice(&are_right);
            }
            done += TOGETHER;
        }
        done
    }
}

impl<W: AesLanes> With<'_, W> {
    /// Whether a message can run with others.
    #[inline(always)]
    fn takes(&self, message: &AeadMessage<'_>) -> bool {
        message.buffers.len_bytes() <= W::BYTES
            && message.nonce.len() == GcmParams::NONCE_BYTES
            && message.aad.len() <= LONGEST_AAD_BYTES
            && (!self.params.opens || message.tag.len_bytes() == self.params.tag_bytes)
    }
}

/// The longest additional data of a message that runs with others.
const LONGEST_AAD_BYTES: usize = 256;

/// Counter blocks of an all-zero nonce, from this counter on.
#[inline(always)]
fn counter_blocks<W: AesLanes>(isa: W::Isa, first: usize, stride: usize) -> W {
    let mut bytes = [0; LANES_MAX * BLOCK_BYTES];
    for lane in 0..W::BLOCKS {
        let counter = (first + lane * stride) as u32;
        bytes[lane * BLOCK_BYTES + GcmParams::NONCE_BYTES..][..4].copy_from_slice(&counter.to_be_bytes());
    }
    W::load(isa, &bytes[..W::BYTES])
}

/// Blocks of which each message has one, in lanes.
#[derive(Clone, Copy)]
struct Lanes<W> {
    /// Counters, then masks of tags.
    mask: W,
    /// The last blocks of additional data, or zeros if there is no such data, and the powers for them.
    aad: W,
    power: W,
    /// The lengths in bytes.
    lengths: W,
}

/// Runs whole messages with one register of data each. Returns whose tags are correct.
///
/// Blocks of which each message has one share registers, one per lane. A register per message would cost as
/// much as all data. They are assembled in registers: a register loaded right after its parts were stored
/// would wait for all earlier work.
#[inline(always)]
fn together<W: AesLanes>(with: With<'_, W>, messages: &mut [AeadMessage<'_>; TOGETHER]) -> [bool; TOGETHER] {
    let (isa, keys, params, powers) = (with.isa(), with.keys(), with.params, with.powers());
    let (field, none) = (Field::<W>::of_ghash(isa), W::splat(isa, 0));
    let ahead = counter_blocks::<W>(isa, 2, 1);
    let mut lanes = [Lanes { mask: none, aad: none, power: none, lengths: none }; TOGETHER];
    let mut state = [none; TOGETHER];
    unrolled!(m in [3 2 1 0] {
        let (message, lanes) = (&messages[m], &mut lanes[m / W::BLOCKS]);
        let nonce = nonce_in_lanes::<W>(isa, message.nonce);
        state[m] = nonce ^ ahead;
        let (_, aad) = last_block(message.aad);
        let power = powers.one::<W>(isa, blocks_of(message.buffers.len_bytes()) + 2);
        lanes.mask = lanes.mask.preceded_by(nonce);
        lanes.aad = lanes.aad.preceded_by(W::load_part(isa, aad).lowest_in_all());
        lanes.power = lanes.power.preceded_by(power);
        lanes.lengths = lanes.lengths.preceded_by(lengths::<W>(isa, message));
    });
    let registers = const { TOGETHER.div_ceil(W::BLOCKS) };
    let mut masks = each!(i < TOGETHER => lanes[i].mask ^ counter_blocks::<W>(isa, 1, 0));
    encrypt(isa, keys, &mut state, &mut masks[..registers]);
    let mut products = [field.none(); LANES_MAX * TOGETHER];
    unrolled!(m in [0 1 2 3] {
        let sent;
        (state[m], sent) = add_to(with, &messages[m], state[m]);
        products[m] = products_of(with, &messages[m], sent);
    });
    let mut tags = [[0; BLOCK_BYTES]; TOGETHER];
    let kept = W::broadcast(isa, params.tag_kept);
    for i in 0..registers {
        let Lanes { aad, power, lengths, .. } = lanes[i];
        let last = Product::of(lengths.shift_left::<3>(), powers.one(isa, 1));
        let along = Product::of(field.reversed(aad), power).plus(last);
        let across = each!(lane < LANES_MAX => products[i * W::BLOCKS + lane]);
        let tag = (field.ends(across, along) ^ masks[i]) & kept;
        tag.store(&mut tags.as_flattened_mut()[i * W::BYTES..][..W::BYTES]);
    }
    let mut are_right = [true; TOGETHER];
    unrolled!(m in [0 1 2 3] {
        let message = &mut messages[m];
        are_right[m] = admits(params.opens, params, message, W::broadcast(isa, &tags[m]));
        if are_right[m] {
            state[m].store_part(message.buffers.output_mut());
        }
    });
    are_right
}

/// The sum of the products of blocks in a message's own registers: all except the last block of additional
/// data and the lengths.
#[inline(always)]
fn products_of<W: AesLanes>(with: With<'_, W>, message: &AeadMessage<'_>, sent: W) -> Product<W> {
    let (isa, powers, blocks) = (with.isa(), with.powers(), blocks_of(message.buffers.len_bytes()));
    let reversed = Field::<W>::of_ghash(isa).reversed(sent);
    let products = Product::of(reversed, powers.from(isa, blocks + 1));
    let (aad, _) = last_block(message.aad);
    if aad.is_empty() {
        return products;
    }
    let mut hash = ShortHash::<W>::new(isa, powers, blocks_of(aad.len()) + blocks + 2);
    hash.add_all(isa, aad);
    products.plus(hash.products.product())
}

/// A nonce of [`GcmParams::NONCE_BYTES`] in every lane, with zeros after it.
#[inline(always)]
fn nonce_in_lanes<W: AesLanes>(isa: W::Isa, nonce: &[u8]) -> W {
    let (front, back) = nonce.first_chunk().map_or((0, 0), parts_of);
    halves(isa, front, back.into())
}

/// Adds the keystream to a message. Returns the output and the ciphertext with zeros after the message.
#[inline(always)]
fn add_to<W: AesLanes>(with: With<'_, W>, message: &AeadMessage<'_>, keystream: W) -> (W, W) {
    let input = W::load_part(with.isa(), message.buffers.input());
    let output = input ^ keystream;
    // The keystream past the end of the message must not be hashed.
    (output, if with.params.opens { input } else { output.first_bytes(message.buffers.len_bytes()) })
}

/// Encrypts the counters of data and of masks.
#[inline(always)]
fn encrypt<W: AesLanes, const N: usize>(isa: W::Isa, keys: &WideKeys, data: &mut [W; N], masks: &mut [W]) {
    // Two loops: if one loop takes words from both arrays in turn, the compiler keeps them in memory.
    macro_rules! each_word {
        ($key:expr, |$word:ident, $loaded:ident| $step:expr) => {
            let $loaded = $key.load::<W>(isa);
            for $word in data.iter_mut() {
                *$word = $step;
            }
            for $word in masks.iter_mut() {
                *$word = $step;
            }
        };
    }
    let (first, middle, last) = keys.split();
    if W::ADDS_KEY_FIRST {
        let mut due = first;
        for next in middle {
            each_word!(due, |word, key| word.encrypt_after(key));
            due = next;
        }
        each_word!(due, |word, key| *word ^ key);
    } else {
        each_word!(first, |word, key| *word ^ key);
        for key in middle {
            each_word!(key, |word, key| word.encrypt_round(key));
        }
    }
    each_word!(last, |word, key| word.encrypt_last_round(key));
}
