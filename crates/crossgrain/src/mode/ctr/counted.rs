//! CTR over many messages, each from its own counter block on, for CCM and EAX.
//!
//! A call of a program costs more than the blocks of a short message, and a message that ends within a block
//! needs a second call. The counter blocks of short messages are therefore encrypted together, as one string
//! of bytes.

use super::counter::Counter;
use crate::arch::Buffers;
use crate::block::{BLOCK_BYTES, Block};
use crate::kernel::Source;
use crate::message::AeadMessage;
use crate::mode::lists::{Lists, take_front};
use crate::run::{Program, Threads};

/// Longer messages are encrypted one by one.
const TOGETHER_BYTES_MAX: usize = 2 * BLOCK_BYTES;

/// Encrypts or decrypts messages, each with a big-endian counter that starts from its own block. `counting`
/// runs messages one by one. If all are short, `plain` encrypts all their counter blocks together.
pub(crate) fn apply_counters(
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
