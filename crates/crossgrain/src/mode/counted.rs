//! CTR over many messages, each from a counter of its own: CCM and EAX.
//!
//! A call of a program costs a short message more than its blocks do, and a second one where it ends within a block. So the counters of
//! short messages are encrypted as one string of bytes.

use super::few::{Lists, take_front};
use crate::block::{BLOCK_BYTES, Block};
use crate::exec::{Program, Threads};
use crate::message::AeadMessage;
use crate::part::Source;
use crate::part::counter::Counter;
use crate::word::Buffers;

/// Messages of more bytes are encrypted one by one.
const TOGETHER_BYTES_MAX: usize = 2 * BLOCK_BYTES;

/// Encrypts or decrypts messages by counters, big-endian from each one's own on: one by one by a program that counts, or, where all are short,
/// together by a program that encrypts bytes.
pub(super) fn apply_counters(
    [counting, plain]: [&Program; 2],
    threads: Threads,
    counters: &[Block],
    messages: &mut [AeadMessage<'_>],
) {
    let counters = counters.iter().map(|first| Counter::big_endian(u128::from_be_bytes(*first)));
    let most_bytes = messages.iter().map(|message| message.buffers.len_bytes()).max();
    if messages.len() == 1 || most_bytes > Some(TOGETHER_BYTES_MAX) {
        for (message, first) in messages.iter_mut().zip(counters) {
            counting.run_by(threads, Source::Counter(first), message.buffers.reborrow());
        }
        return;
    }
    let count = |message: &AeadMessage<'_>| message.buffers.len_bytes().div_ceil(BLOCK_BYTES);
    let mut keys = Lists::new(messages.iter().map(count).sum());
    let [keys] = keys.each();
    let places = messages
        .iter()
        .zip(counters)
        .flat_map(|(message, first)| (0..count(message)).map(move |at| first.skip(at as u128)));
    keys.iter_mut().zip(places).for_each(|(key, counter)| *key = counter.block());
    plain.run_by(threads, Source::Bytes, Buffers::in_place(keys.as_flattened_mut()));
    let mut rest = keys;
    for message in messages {
        let key =
            &mut take_front(&mut rest, count(message)).as_flattened_mut()[..message.buffers.len_bytes()];
        key.iter_mut().zip(message.buffers.input()).for_each(|(key, input)| *key ^= input);
        message.buffers.output_mut().copy_from_slice(key);
    }
}
