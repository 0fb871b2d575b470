//! GCM from the last whole bundle to the tag, by AES instructions and carry-less products: all of it for a short message.
//!
//! The mask of the tag is one more register beside those of the counters, and no block of GHASH waits for the one before it: each is
//! multiplied by the power that its place asks for, and the sum is reduced once. So a short message takes as long as one block's rounds
//! and one reduction. To open, plaintext stays in registers until the tag has proved right.
//! Layout: `Repr::Blocks`, as in `instructions`. Needs: `AesLanes`. Source: SP 800-38D §7.1 and §7.2.
//! Holds: what is branched on is public: lengths, and whether the tag is right.

use super::instructions::{Counted, Frame, IN_FLIGHT, MIDDLE_LEAST, Middle, both_halves};
use super::key::RoundKeys;
use crate::block::BLOCK_BYTES;
use crate::part::GcmEnd;
use crate::part::ghash::{Few, Powers};
use crate::word::{AesLanes, Kernel, each};

/// The end of a message, a bundle at most; `OPENS` it if its tag is right.
pub(super) struct Finish<'a, 'b, 'c, W: AesLanes, const OPENS: bool> {
    pub(super) isa: W::Isa,
    pub(super) keys: &'a RoundKeys,
    pub(super) powers: &'a Powers,
    pub(super) end: &'a mut GcmEnd<'b, 'c>,
}

impl<W: AesLanes, const OPENS: bool> Kernel for Finish<'_, '_, '_, W, OPENS> {
    /// Whether the tag is right; always, where it is made.
    type Output = bool;

    #[inline(always)]
    fn run(self) -> bool {
        let Self { isa, keys, powers, end } = self;
        let len_bytes = end.buffers.len_bytes();
        assert!(len_bytes <= IN_FLIGHT * W::BYTES);
        // Registers of data, and one more for the mask of the tag.
        if len_bytes <= W::BYTES {
            finish::<W, 1, 2, OPENS>(isa, keys, powers, end)
        } else if len_bytes <= 4 * W::BYTES {
            finish::<W, 4, 5, OPENS>(isa, keys, powers, end)
        } else {
            finish::<W, IN_FLIGHT, { IN_FLIGHT + 1 }, OPENS>(isa, keys, powers, end)
        }
    }
}

/// The same in `N` registers of data.
#[inline(always)]
fn finish<W: AesLanes, const N: usize, const M: usize, const OPENS: bool>(
    isa: W::Isa,
    keys: &RoundKeys,
    powers: &Powers,
    end: &mut GcmEnd<'_, '_>,
) -> bool {
    let len_bytes = end.buffers.len_bytes();
    let input: [W; N] = each!(i < N => {
        W::load_part(isa, &end.buffers.input()[part::<W>(i, len_bytes)])
    });
    let keystream = keystream::<W, N, M>(isa, keys, end);
    let output = each!(i < N => input[i] ^ keystream[i]);
    let (data_blocks, aad_blocks) = (len_bytes.div_ceil(BLOCK_BYTES), end.aad.len().div_ceil(BLOCK_BYTES));
    let mut hash = Few::<W>::after(isa, powers, &end.sum, aad_blocks + data_blocks + 1);
    for aad in end.aad.chunks(W::BYTES) {
        hash.add(isa, W::load_part(isa, aad), aad.len().div_ceil(BLOCK_BYTES));
    }
    for i in 0..N {
        let part = part::<W>(i, len_bytes);
        // What the keystream has beyond the message is no part of it.
        let sent = if OPENS {
            input[i]
        } else {
            output[i] & W::load(isa, &FIRST_BYTES[64 - part.len()..][..W::BYTES])
        };
        hash.add(isa, sent, part.len().div_ceil(BLOCK_BYTES));
    }
    hash.add(isa, both_halves::<W>(isa, end.lengths), 1);
    let mut tag = [0; BLOCK_BYTES];
    (hash.end() ^ keystream[N]).store_lowest(&mut tag);
    if OPENS && (u128::from_le_bytes(tag) ^ u128::from_le_bytes(end.tag)) & end.opens.unwrap_or(0) != 0 {
        return false;
    }
    for (i, output) in output.into_iter().enumerate() {
        output.store_part(&mut end.buffers.output_mut()[part::<W>(i, len_bytes)]);
    }
    end.tag = tag;
    true
}

/// The encrypted counters, and behind them the mask of the tag in every lane.
#[inline(always)]
fn keystream<W: AesLanes, const N: usize, const M: usize>(
    isa: W::Isa,
    keys: &RoundKeys,
    end: &GcmEnd<'_, '_>,
) -> [W; M] {
    const { assert!(M == N + 1) };
    let (first, middle, last) = keys.split();
    let (first, last) = (W::broadcast(isa, first), W::broadcast(isa, last));
    let (counters, _) = Counted::from(isa, end.first).around::<N>(isa, [first; N]);
    let mask = both_halves::<W>(isa, end.counter);
    let mut state = each!(i < M => if i < N { counters[i % N] ^ first } else { mask ^ first });
    Middle::<W, MIDDLE_LEAST>::new(isa, middle).rounds::<M, true>(isa, &mut state, [last; M]);
    state
}

/// The bytes of a message that register `i` has.
#[inline(always)]
fn part<W: AesLanes>(i: usize, len_bytes: usize) -> std::ops::Range<usize> {
    (i * W::BYTES).min(len_bytes)..((i + 1) * W::BYTES).min(len_bytes)
}

/// 64 bytes of ones, and 64 of zeros.
static FIRST_BYTES: [u8; 128] = {
    let (mut bytes, mut at) = ([0; 128], 0);
    while at < 64 {
        bytes[at] = 0xff;
        at += 1;
    }
    bytes
};
