//! SHA-256 and PBKDF2 with SHA-256 on 32-bit lanes: one candidate per lane. The source serves registers of
//! every width and device programs.
//!
//! A lane holds a word of the standard, that is, four bytes in big-endian order. Messages are given as padded
//! blocks. HMAC's two states, after the inner and after the outer key block, are computed once. An iteration
//! of PBKDF2 then takes two compressions. Sources: FIPS 180-4, RFC 2104 (HMAC), RFC 8018 §5.2 (PBKDF2).
//! Constant-time: no branch and no index depends on a lane.

use crossgrain::engine::arch::Lanes;

/// Bytes of a block.
pub(super) const BLOCK_BYTES: usize = 64;

/// Bytes of a digest.
pub(super) const DIGEST_BYTES: usize = 32;

/// The padding bit after a message.
const END: u32 = 0x8000_0000;

/// The first 32 bits of the fractional parts of the square roots of the first eight primes.
const INITIAL: [u32; 8] =
    [0x6a09_e667, 0xbb67_ae85, 0x3c6e_f372, 0xa54f_f53a, 0x510e_527f, 0x9b05_688c, 0x1f83_d9ab, 0x5be0_cd19];

/// The first 32 bits of the fractional parts of the cube roots of the first 64 primes.
#[rustfmt::skip] // a table
const ROUNDS: [[u32; 16]; 4] = [
    [
        0x428a_2f98, 0x7137_4491, 0xb5c0_fbcf, 0xe9b5_dba5, 0x3956_c25b, 0x59f1_11f1, 0x923f_82a4, 0xab1c_5ed5,
        0xd807_aa98, 0x1283_5b01, 0x2431_85be, 0x550c_7dc3, 0x72be_5d74, 0x80de_b1fe, 0x9bdc_06a7, 0xc19b_f174,
    ],
    [
        0xe49b_69c1, 0xefbe_4786, 0x0fc1_9dc6, 0x240c_a1cc, 0x2de9_2c6f, 0x4a74_84aa, 0x5cb0_a9dc, 0x76f9_88da,
        0x983e_5152, 0xa831_c66d, 0xb003_27c8, 0xbf59_7fc7, 0xc6e0_0bf3, 0xd5a7_9147, 0x06ca_6351, 0x1429_2967,
    ],
    [
        0x27b7_0a85, 0x2e1b_2138, 0x4d2c_6dfc, 0x5338_0d13, 0x650a_7354, 0x766a_0abb, 0x81c2_c92e, 0x9272_2c85,
        0xa2bf_e8a1, 0xa81a_664b, 0xc24b_8b70, 0xc76c_51a3, 0xd192_e819, 0xd699_0624, 0xf40e_3585, 0x106a_a070,
    ],
    [
        0x19a4_c116, 0x1e37_6c08, 0x2748_774c, 0x34b0_bcb5, 0x391c_0cb3, 0x4ed8_aa4a, 0x5b9c_ca4f, 0x682e_6ff3,
        0x748f_82ee, 0x78a5_636f, 0x84c8_7814, 0x8cc7_0208, 0x90be_fffa, 0xa450_6ceb, 0xbef9_a3f7, 0xc671_78f2,
    ],
];

/// Sixteen rounds, unrolled so that the block can stay in registers.
macro_rules! sixteen {
    ($i:ident => $body:block) => { sixteen!(@ $i $body 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15) };
    (@ $i:ident $body:block $($at:literal)*) => {
        $({
            let $i: usize = $at;
            $body
        })*
    };
}

/// The compression function.
#[inline(always)]
fn compress<W: Lanes>(state: [W; 8], mut block: [W; 16]) -> [W; 8] {
    let mut now = state;
    for constants in &ROUNDS[..3] {
        sixteen!(i => {
            now = round(now, block[i], constants[i]);
            let expanded = block[i].add_lanes(low_sigma::<W, 25, 14, 3>(block[(i + 1) % 16]));
            block[i] = expanded.add_lanes(block[(i + 9) % 16]).add_lanes(low_sigma::<W, 15, 13, 10>(block[(i + 14) % 16]));
        });
    }
    sixteen!(i => { now = round(now, block[i], ROUNDS[3][i]); });
    for (word, before) in now.iter_mut().zip(&state) {
        *word = word.add_lanes(*before);
    }
    now
}

#[inline(always)]
fn round<W: Lanes>([a, b, c, d, e, f, g, h]: [W; 8], word: W, constant: u32) -> [W; 8] {
    let choice = W::ternary::<0b1100_1010>(e, f, g);
    let majority = W::ternary::<0b1110_1000>(a, b, c);
    let given = h.add_lanes(word.add_lanes(word.filled(constant)));
    let one = given.add_lanes(choice).add_lanes(high_sigma::<W, 26, 21, 7>(e));
    let two = majority.add_lanes(high_sigma::<W, 30, 19, 10>(a));
    [one.add_lanes(two), a, b, c, d.add_lanes(one), e, f, g]
}

/// The XOR of three rotations. They go left where the standard's go right.
#[inline(always)]
fn high_sigma<W: Lanes, const A: u32, const B: u32, const C: u32>(x: W) -> W {
    sum(x.rotate_lanes_left::<A>(), x.rotate_lanes_left::<B>(), x.rotate_lanes_left::<C>())
}

/// The same with a right shift in place of the third rotation.
#[inline(always)]
fn low_sigma<W: Lanes, const A: u32, const B: u32, const SHIFT: u32>(x: W) -> W {
    sum(x.rotate_lanes_left::<A>(), x.rotate_lanes_left::<B>(), x.shift_lanes_right::<SHIFT>())
}

#[inline(always)]
fn sum<W: Lanes>(a: W, b: W, c: W) -> W {
    W::ternary::<0b1001_0110>(a, b, c)
}

#[inline(always)]
fn initial<W: Lanes>(like: W) -> [W; 8] {
    let mut state = [like; 8];
    for (word, value) in state.iter_mut().zip(INITIAL) {
        *word = like.filled(value);
    }
    state
}

/// The digest of a message of one block.
#[inline(always)]
pub(super) fn digest<W: Lanes>(block: [W; 16]) -> [W; 8] {
    compress(initial(block[0]), block)
}

/// The state after HMAC's key block: the key, padded with zeros, XOR `byte` in every byte.
#[inline(always)]
fn keyed<W: Lanes>(mut key: [W; 16], byte: u8) -> [W; 8] {
    for word in &mut key {
        *word = *word ^ word.filled(u32::from_ne_bytes([byte; 4]));
    }
    digest(key)
}

/// The last block of a message of one block and a digest, padded.
#[inline(always)]
fn last_block<W: Lanes>(digest: [W; 8]) -> [W; 16] {
    let mut block = [digest[0].zero(); 16];
    block[..8].copy_from_slice(&digest);
    block[8] = block[8].filled(END);
    block[15] = block[15].filled(8 * (BLOCK_BYTES + DIGEST_BYTES) as u32);
    block
}

/// The first iteration of PBKDF2. Returns the XOR of all results so far, the last result, and the inner and
/// outer state of the key. The blocks hold the salt and the part index, padded as the end of a message that
/// follows one block.
///
/// The loops compile to one copy of the compression function each. A copy is up to 14 KB of code.
#[inline(always)]
pub(super) fn first_turn<W: Lanes>(key: [W; 16], blocks: &[[u32; 16]]) -> [W; 32] {
    let mut states = [[key[0]; 8]; 2];
    for (state, byte) in states.iter_mut().zip([0x36, 0x5c]) {
        *state = keyed(key, byte);
    }
    let [inner, outer] = states;
    let mut result = inner;
    for at in 0..=blocks.len() {
        let (state, words) = match blocks.get(at) {
            Some(block) => (result, uniform(key, block)),
            None => (outer, last_block(result)),
        };
        result = compress(state, words);
    }
    let mut made = [key[0]; 32];
    for (at, words) in [result, result, inner, outer].iter().enumerate() {
        made[8 * at..8 * at + 8].copy_from_slice(words);
    }
    made
}

/// A block with the same words in all lanes.
#[inline(always)]
fn uniform<W: Lanes>(like: [W; 16], block: &[u32; 16]) -> [W; 16] {
    let mut words = like;
    for (word, value) in words.iter_mut().zip(block) {
        *word = word.uniform(*value);
    }
    words
}

/// One further iteration.
#[inline(always)]
pub(super) fn next_turn<W: Lanes>(mut y: [W; 32]) -> [W; 32] {
    let [mut result, mut inner, mut outer] = [[y[0]; 8]; 3];
    result.copy_from_slice(&y[8..16]);
    inner.copy_from_slice(&y[16..24]);
    outer.copy_from_slice(&y[24..]);
    for state in [inner, outer] {
        result = compress(state, last_block(result));
    }
    for (at, word) in result.iter().enumerate() {
        y[at] = y[at] ^ *word;
        y[8 + at] = *word;
    }
    y
}
