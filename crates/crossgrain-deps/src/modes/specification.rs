//! Executable specifications of the modes of operation, each in a few lines over the block algebra.
//!
//! Messages are whole blocks, at least one. Headers are whole blocks as well, and CCM's include their
//! encoded length. The handling of a partial last block, by truncation or ciphertext stealing, changes no
//! dependence between the other blocks. The loop that turns input into output is called [`BLOCKS`].
//! Variables have the names that the standards use.
//!
//! Sources: SP 800-38A (ECB, CBC, CFB, OFB, CTR), SP 800-38B (OMAC), SP 800-38D (GCM), IEEE 1619-2018
//! (XTS), Bellare, Rogaway and Wagner, "The EAX mode of operation" (FSE 2004), RFC 7253 (OCB), RFC 8452
//! (GCM-SIV), SP 800-38C (CCM), RFC 5297 (SIV).

use super::algebra::{Algebra, GIVEN, IV, Op, Place, TAG};
use crossgrain::mode::Mode;
use crossgrain::{Block, Direction};

use Place::{Header, Input, Output, Scalar};

/// The name of the loop over the message, in every mode.
pub const BLOCKS: &str = "blocks";

/// The lengths of a message and its header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lengths {
    /// Blocks of header, only for modes with a tag. In SIV, 0 means that the message has no associated data
    /// string.
    pub header_blocks: usize,
    /// Blocks of message, at least one.
    pub blocks: usize,
}

/// Runs a mode over an algebra.
///
/// The contents of [`IV`] depend on the mode: the initialisation vector, XTS's data unit number, EAX's
/// one-block nonce, GCM's pre-counter block, CCM's first counter block, the block that contains OCB's
/// nonce, GCM-SIV's nonce followed by zeros, or SIV's one-block nonce.
pub fn run<A: Algebra>(a: &A, mode: Mode, direction: Direction, lengths: Lengths) {
    let n = lengths.blocks;
    match (mode, direction) {
        (Mode::Ecb, _) => ecb(a, direction, n),
        (Mode::Cbc, Direction::Encrypt) => cbc_encrypt(a, n),
        (Mode::Cbc, Direction::Decrypt) => cbc_decrypt(a, n),
        (Mode::Cfb, _) => cfb(a, direction, n),
        (Mode::Cfb8, _) => cfb_segments(a, direction, n, 8),
        (Mode::Cfb1, _) => cfb_segments(a, direction, n, 1),
        (Mode::Ofb, _) => ofb(a, n),
        (Mode::Ctr, _) => {
            a.write(COUNTER, a.read(IV));
            count(a, Op::Increment, n);
        }
        (Mode::Xts, _) => xts(a, direction, n),
        (Mode::Eax, _) => eax(a, direction, lengths),
        (Mode::Gcm, _) => gcm(a, direction, lengths),
        (Mode::Ccm, _) => ccm(a, direction, lengths),
        (Mode::Siv, _) => siv(a, direction, lengths),
        (Mode::GcmSiv, _) => gcm_siv(a, direction, lengths),
        (Mode::Ocb, _) => ocb(a, direction, lengths),
    }
}

const COUNTER: Place = Scalar("counter");
const KEYSTREAM: Place = Scalar("keystream");

/// The cipher in the given direction.
fn cipher<A: Algebra>(a: &A, direction: Direction, block: A::Value) -> A::Value {
    match direction {
        Direction::Encrypt => a.encipher(block),
        Direction::Decrypt => a.decipher(block),
    }
}

/// The array that holds the ciphertext.
fn ciphertext(direction: Direction) -> fn(usize) -> Place {
    match direction {
        Direction::Encrypt => Output,
        Direction::Decrypt => Input,
    }
}

/// The array that holds the plaintext.
fn plaintext(direction: Direction) -> fn(usize) -> Place {
    match direction {
        Direction::Encrypt => Input,
        Direction::Decrypt => Output,
    }
}

/// Block i − 1 of an array. The initialisation vector precedes the first block.
fn before(array: fn(usize) -> Place, i: usize) -> Place {
    i.checked_sub(1).map_or(IV, array)
}

/// SP 800-38A §6.1.
fn ecb<A: Algebra>(a: &A, direction: Direction, n: usize) {
    a.each(BLOCKS, n, &|i| a.write(Output(i), cipher(a, direction, a.read(Input(i)))));
}

/// SP 800-38A §6.2: C_i = E(P_i + C_{i−1}).
fn cbc_encrypt<A: Algebra>(a: &A, n: usize) {
    a.each(BLOCKS, n, &|i| {
        let sum = a.xor(a.read(Input(i)), a.read(before(Output, i)));
        a.write(Output(i), a.encipher(sum));
    });
}

/// SP 800-38A §6.2: P_i = D(C_i) + C_{i−1}.
fn cbc_decrypt<A: Algebra>(a: &A, n: usize) {
    a.each(BLOCKS, n, &|i| {
        let sum = a.xor(a.decipher(a.read(Input(i))), a.read(before(Input, i)));
        a.write(Output(i), sum);
    });
}

/// SP 800-38A §6.3 with one-block segments: the keystream is E(C_{i−1}).
fn cfb<A: Algebra>(a: &A, direction: Direction, n: usize) {
    a.each(BLOCKS, n, &|i| {
        a.write(KEYSTREAM, a.encipher(a.read(before(ciphertext(direction), i))));
        a.write(Output(i), a.xor(a.read(Input(i)), a.read(KEYSTREAM)));
    });
}

/// SP 800-38A §6.3 with segments of `bits` bits. Each segment of a block has its own keystream: the first bits of
/// the enciphered register, which holds the last 128 bits of ciphertext before the segment.
fn cfb_segments<A: Algebra>(a: &A, direction: Direction, n: usize, bits: u32) {
    a.each(BLOCKS, n, &|i| {
        let (previous, input) = (a.read(before(ciphertext(direction), i)), a.read(Input(i)));
        // The result up to this segment; the other bits are zeros.
        let mut output = a.constant([0; 16]);
        for at in (0..128).step_by(bits as usize) {
            let ciphertext = if direction == Direction::Encrypt { output } else { input };
            let register = match at {
                0 => previous,
                _ => a.xor(
                    a.apply(Op::ShiftLeft(at), previous, None),
                    a.apply(Op::ShiftRight(128 - at), ciphertext, None),
                ),
            };
            let keystream = a.apply(Op::ShiftRight(at), a.encipher(register), None);
            let segment = (u128::MAX << (128 - bits) >> at).to_be_bytes();
            output = a.xor(output, a.apply(Op::Keep(segment), a.xor(input, keystream), None));
        }
        a.write(Output(i), output);
    });
}

/// SP 800-38A §6.4: each keystream block is the encryption of the previous one.
fn ofb<A: Algebra>(a: &A, n: usize) {
    a.write(KEYSTREAM, a.read(IV));
    a.each(BLOCKS, n, &|i| {
        a.write(KEYSTREAM, a.encipher(a.read(KEYSTREAM)));
        a.write(Output(i), a.xor(a.read(Input(i)), a.read(KEYSTREAM)));
    });
}

/// SP 800-38A §6.5, starting from the block in [`COUNTER`].
fn count<A: Algebra>(a: &A, increment: Op, n: usize) {
    count_by(a, Op::Encipher, increment, n);
}

/// As `count`, with a choice of the key.
fn count_by<A: Algebra>(a: &A, encipher: Op, increment: Op, n: usize) {
    a.each(BLOCKS, n, &|i| {
        a.write(KEYSTREAM, a.apply(encipher, a.read(COUNTER), None));
        a.write(Output(i), a.xor(a.read(Input(i)), a.read(KEYSTREAM)));
        a.write(COUNTER, a.apply(increment, a.read(COUNTER), None));
    });
}

/// IEEE 1619-2018 §5.3.2 and §5.4.2, without ciphertext stealing: each block doubles the tweak.
fn xts<A: Algebra>(a: &A, direction: Direction, n: usize) {
    let tweak = Scalar("tweak");
    a.write(tweak, a.apply(Op::EncipherOther, a.read(IV), None));
    a.each(BLOCKS, n, &|i| {
        let masked = a.xor(a.read(Input(i)), a.read(tweak));
        a.write(Output(i), a.xor(cipher(a, direction, masked), a.read(tweak)));
        a.write(tweak, a.apply(Op::DoubleLittle, a.read(tweak), None));
    });
}

/// EAX, figure 3 of the paper. Decryption computes the tag before the message.
fn eax<A: Algebra>(a: &A, direction: Direction, lengths: Lengths) {
    let Lengths { header_blocks, blocks } = lengths;
    let mask = a.apply(Op::Double, a.encipher(a.constant([0; 16])), None);
    let nonce = omac(a, mask, "nonce", (0, 1), |_| IV);
    let header = omac(a, mask, "header", (1, header_blocks), Header);
    let mac = || omac(a, mask, "mac", (2, blocks), ciphertext(direction));
    let counting = || {
        a.write(COUNTER, nonce);
        count(a, Op::Increment, blocks);
    };
    let message = match direction {
        Direction::Encrypt => {
            counting();
            mac()
        }
        Direction::Decrypt => {
            let message = mac();
            counting();
            message
        }
    };
    a.write(TAG, a.xor(a.xor(nonce, header), message));
}

/// OMAC with tweak t: CMAC of the block t followed by an array (SP 800-38B §6.2). All blocks are whole, so
/// the last one is masked with L·x.
fn omac<A: Algebra>(
    a: &A,
    mask: A::Value,
    name: &'static str,
    (t, blocks): (u8, usize),
    array: fn(usize) -> Place,
) -> A::Value {
    let tweak = a.constant(u128::from(t).to_be_bytes());
    if blocks == 0 {
        return a.encipher(a.xor(tweak, mask));
    }
    chained(a, (name, blocks), a.encipher(tweak), array, Some(mask))
}

const CHAIN: Place = Scalar("chain");

/// CBC-MAC over an array, starting from the block `first`. `added` is XORed into the last block, if
/// present.
fn chained<A: Algebra>(
    a: &A,
    (name, blocks): (&'static str, usize),
    first: A::Value,
    array: fn(usize) -> Place,
    added: Option<A::Value>,
) -> A::Value {
    a.write(CHAIN, first);
    a.each(name, blocks, &|i| {
        let sum = a.xor(a.read(CHAIN), a.read(array(i)));
        let sum = added.filter(|_| i + 1 == blocks).map_or(sum, |added| a.xor(sum, added));
        a.write(CHAIN, a.encipher(sum));
    });
    a.read(CHAIN)
}

/// SP 800-38D §7.1 and §7.2. Decryption computes the tag before the message.
fn gcm<A: Algebra>(a: &A, direction: Direction, lengths: Lengths) {
    let Lengths { header_blocks, blocks } = lengths;
    let (hash, key) = (Scalar("hash"), a.encipher(a.constant([0; 16])));
    let add = |place: Place| {
        a.write(hash, a.apply(Op::Multiply, a.xor(a.read(hash), a.read(place)), Some(key)));
    };
    let counting = || {
        a.write(COUNTER, a.apply(Op::Increment32, a.read(IV), None));
        count(a, Op::Increment32, blocks);
    };
    a.write(hash, a.constant([0; 16]));
    a.each("header", header_blocks, &|i| add(Header(i)));
    if direction == Direction::Encrypt {
        counting();
    }
    a.each("mac", blocks, &|i| add(ciphertext(direction)(i)));
    if direction == Direction::Decrypt {
        counting();
    }
    let lengths = a.xor(a.read(hash), a.constant(lengths_in_bits(header_blocks, blocks)));
    let digest = a.apply(Op::Multiply, lengths, Some(key));
    a.write(TAG, a.xor(digest, a.encipher(a.read(IV))));
}

/// The last block of GHASH: both lengths in bits, eight bytes each.
fn lengths_in_bits(header_blocks: usize, blocks: usize) -> Block {
    let bits = |blocks: usize| 128 * blocks as u128;
    (bits(header_blocks) << 64 | bits(blocks)).to_be_bytes()
}

/// SP 800-38C §6.1 and §6.2, with 16-byte tags. B₀ is the first counter block with flags and a length.
fn ccm<A: Algebra>(a: &A, direction: Direction, lengths: Lengths) {
    let Lengths { header_blocks, blocks } = lengths;
    let mut fields = (16 * blocks as u128).to_be_bytes();
    fields[0] = 7 << 3 | u8::from(header_blocks > 0) << 6;
    let counting = || {
        a.write(COUNTER, a.apply(Op::Increment, a.read(IV), None));
        count(a, Op::Increment, blocks);
    };
    if direction == Direction::Decrypt {
        counting();
    }
    let first = a.encipher(a.xor(a.read(IV), a.constant(fields)));
    let header = chained(a, ("header", header_blocks), first, Header, None);
    let mac = chained(a, ("mac", blocks), header, plaintext(direction), None);
    if direction == Direction::Encrypt {
        counting();
    }
    a.write(TAG, a.xor(mac, a.encipher(a.read(IV))));
}

/// RFC 5297 §2.6 and §2.7, with a header and a nonce. Decryption starts from the received tag.
fn siv<A: Algebra>(a: &A, direction: Direction, lengths: Lengths) {
    let Lengths { header_blocks, blocks } = lengths;
    let zero = a.constant([0; 16]);
    let double = |block| a.apply(Op::Double, block, None);
    let mask = double(a.encipher(zero));
    let mut counted = [0xff; 16];
    (counted[8], counted[12]) = (0x7f, 0x7f);
    let counting = |tag: A::Value| {
        a.write(COUNTER, a.apply(Op::Keep(counted), tag, None));
        count_by(a, Op::EncipherOther, Op::Increment, blocks);
    };
    if direction == Direction::Decrypt {
        counting(a.read(GIVEN));
    }
    let mut sum = a.encipher(mask);
    let header = chained(a, ("header", header_blocks), zero, Header, Some(mask));
    if header_blocks > 0 {
        sum = a.xor(double(sum), header);
    }
    sum = a.xor(double(sum), a.encipher(a.xor(a.read(IV), mask)));
    let tag = chained(a, ("mac", blocks), zero, plaintext(direction), Some(a.xor(sum, mask)));
    a.write(TAG, tag);
    if direction == Direction::Encrypt {
        counting(tag);
    }
}

/// RFC 8452 §4 and §5. Decryption starts from the received tag.
fn gcm_siv<A: Algebra>(a: &A, direction: Direction, lengths: Lengths) {
    let Lengths { header_blocks, blocks } = lengths;
    let (hash, key) = (Scalar("hash"), a.apply(Op::EncipherOther, a.read(IV), None));
    let add = |place: Place| {
        a.write(hash, a.apply(Op::MultiplyLittle, a.xor(a.read(hash), a.read(place)), Some(key)));
    };
    let mut last_bit = [0; 16];
    last_bit[15] = 0x80;
    let counting = |tag: A::Value| {
        a.write(COUNTER, a.apply(Op::Set(last_bit), tag, None));
        count(a, Op::IncrementLittle32, blocks);
    };
    if direction == Direction::Decrypt {
        counting(a.read(GIVEN));
    }
    a.write(hash, a.constant([0; 16]));
    a.each("header", header_blocks, &|i| add(Header(i)));
    a.each("mac", blocks, &|i| add(plaintext(direction)(i)));
    let mut lengths = lengths_in_bits(header_blocks, blocks);
    lengths[..8].reverse();
    lengths[8..].reverse();
    let lengths = a.xor(a.read(hash), a.constant(lengths));
    let digest = a.xor(a.apply(Op::MultiplyLittle, lengths, Some(key)), a.read(IV));
    let tag = a.encipher(a.apply(Op::Keep(last_bit.map(|byte| !byte)), digest, None));
    a.write(TAG, tag);
    if direction == Direction::Encrypt {
        counting(tag);
    }
}

/// RFC 7253 §4.2 and §4.3. A block's offset is the initial offset XOR one step for each set bit in the Gray
/// code of the block's number. This is the closed form of the RFC's recurrence, which adds one step per
/// block.
fn ocb<A: Algebra>(a: &A, direction: Direction, lengths: Lengths) {
    let Lengths { header_blocks, blocks } = lengths;
    let sum = a.apply(Op::Double, a.encipher(a.constant([0; 16])), None);
    let bits = usize::BITS - (header_blocks.max(blocks)).leading_zeros();
    let mut steps = vec![a.apply(Op::Double, sum, None)];
    (1..bits as usize).for_each(|bit| steps.push(a.apply(Op::Double, steps[bit - 1], None)));
    let offset = |first: A::Value, number: usize| {
        let ones = (0..steps.len()).filter(|bit| (number ^ number >> 1) >> bit & 1 == 1);
        ones.fold(first, |offset, bit| a.xor(offset, steps[bit]))
    };
    let mut all_but_six = [0xff; 16];
    all_but_six[15] = 0xc0;
    let top = a.encipher(a.apply(Op::Keep(all_but_six), a.read(IV), None));
    let first = a.apply(Op::Stretch, top, Some(a.read(IV)));
    let (hash, checksum) = (Scalar("hash"), Scalar("checksum"));
    a.write(hash, a.constant([0; 16]));
    a.each("header", header_blocks, &|i| {
        let masked = a.xor(a.read(Header(i)), offset(a.constant([0; 16]), i + 1));
        a.write(hash, a.xor(a.read(hash), a.encipher(masked)));
    });
    let replace = || {
        a.each(BLOCKS, blocks, &|i| {
            let offset = offset(first, i + 1);
            let masked = a.xor(a.read(Input(i)), offset);
            a.write(Output(i), a.xor(cipher(a, direction, masked), offset));
        });
    };
    a.write(checksum, a.constant([0; 16]));
    if direction == Direction::Decrypt {
        replace();
    }
    a.each("checksum", blocks, &|i| {
        a.write(checksum, a.xor(a.read(checksum), a.read(plaintext(direction)(i))));
    });
    if direction == Direction::Encrypt {
        replace();
    }
    let last = a.xor(a.xor(a.read(checksum), offset(first, blocks)), sum);
    a.write(TAG, a.xor(a.encipher(last), a.read(hash)));
}
