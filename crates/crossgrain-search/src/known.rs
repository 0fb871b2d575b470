//! From data encrypted in a mode of operation to block pairs under the key itself.
//!
//! The modes of SP 800-38A surround the cipher with public data. The initial value and the ciphertext give
//! the counter block or the previous ciphertext block. The XOR of plaintext and ciphertext gives the
//! keystream. A pair therefore needs only a known block of plaintext, or some known bits of one. In CFB-8 and CFB-1
//! a pair has only 8 known bits, or one.

use super::{Error, Pair};
use crossgrain::mode::{Initial, Mode};
use crossgrain::{BLOCK_BYTES, Block, Direction};

/// Data before and after encryption.
#[derive(Clone, Copy, Debug)]
pub struct Data<'a> {
    /// The plaintext as far as it is known, from the first byte on.
    pub plaintext: &'a [u8],
    /// The known bits of the plaintext; of the same length.
    pub mask: &'a [u8],
    /// The ciphertext, at least as long as the plaintext.
    pub ciphertext: &'a [u8],
}

/// A mode whose blocks give pairs under the key itself, with its initial value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlockMode {
    pub(super) mode: Mode,
    /// Zeros if the mode has none.
    pub(super) iv: Block,
}

impl BlockMode {
    /// A mode without a tag, other than the sector modes, and its initial value. ECB takes an empty one.
    ///
    /// # Errors
    /// [`crossgrain::Error::UnfitMode`] and [`crossgrain::Error::InitialBytes`], as [`Error::Block`].
    pub fn new(mode: Mode, iv: &[u8]) -> Result<Self, Error> {
        let fits = |mode: Mode| matches!(mode.entry().initial, Initial::Nothing | Initial::Block);
        if !fits(mode) {
            return Err(mode.unfit(fits).into());
        }
        Ok(Self { mode, iv: mode.initial_block(iv)? })
    }
}

/// The pairs in data. Blocks without known bits give none.
///
/// # Errors
/// [`Error::ShortCiphertext`] if there is less ciphertext than plaintext, or a block of ECB or CBC is
/// incomplete.
pub fn pairs(mode: BlockMode, data: Data<'_>) -> Result<Vec<Pair>, Error> {
    let short = || Error::ShortCiphertext { len_bytes: data.ciphertext.len() };
    if data.ciphertext.len() < data.plaintext.len() || data.mask.len() != data.plaintext.len() {
        return Err(short());
    }
    if let Some(bits) = mode.mode.segment_bits() {
        return Ok(segment_pairs(bits, mode.iv, data));
    }
    let mut pairs = Vec::new();
    let texts = data.plaintext.chunks(BLOCK_BYTES).zip(data.mask.chunks(BLOCK_BYTES));
    // The block that chains into the next one: the counter block, or the previous output or ciphertext.
    // `None` if it is not known.
    let mut before = Some(mode.iv);
    for ((plaintext, mask), ciphertext) in texts.zip(data.ciphertext.chunks(BLOCK_BYTES)) {
        let (plain, mask, is_whole) = (block(plaintext), block(mask), ciphertext.len() == BLOCK_BYTES);
        let cipher = block(ciphertext);
        let keystream = sum(plain, cipher);
        let pair = match mode.mode {
            Mode::Ecb | Mode::Cbc if !is_whole => return Err(short()),
            Mode::Ecb => Some(texts_pair([0; BLOCK_BYTES], plain, mask, cipher)),
            Mode::Cbc => before.map(|before| texts_pair(before, plain, mask, cipher)),
            _ => before.map(|input| Pair { direction: Direction::Encrypt, input, output: keystream, mask }),
        };
        before = match mode.mode {
            Mode::Ctr => before.map(|counter| u128::from_be_bytes(counter).wrapping_add(1).to_be_bytes()),
            Mode::Ofb => (mask == [0xff; BLOCK_BYTES]).then_some(keystream),
            _ => Some(cipher),
        };
        pairs.extend(pair.filter(|pair| pair.known_bits() > 0));
    }
    Ok(pairs)
}

/// The pairs in data of CFB with segments of `bits` bits. Each block of the cipher gives as many bits of keystream.
fn segment_pairs(bits: usize, iv: Block, data: Data<'_>) -> Vec<Pair> {
    let mut register = u128::from_be_bytes(iv);
    let mut pairs = Vec::new();
    for ((plaintext, mask), ciphertext) in data.plaintext.iter().zip(data.mask).zip(data.ciphertext) {
        for step in 0..8 / bits {
            let segment = |byte: u8| byte << (bits * step) >> (8 - bits);
            let first = |byte: u8| block(&[segment(byte) << (8 - bits)]);
            let (input, output) = (register.to_be_bytes(), first(plaintext ^ ciphertext));
            pairs.push(Pair { direction: Direction::Encrypt, input, output, mask: first(*mask) });
            register = register << bits | u128::from(segment(*ciphertext));
        }
    }
    pairs.retain(|pair| pair.known_bits() > 0);
    pairs
}

/// A pair of plaintext and ciphertext, with a block XORed to the plaintext. Encryption is faster to try, but
/// only a decryption can be compared with part of a plaintext.
fn texts_pair(added: Block, plaintext: Block, mask: Block, ciphertext: Block) -> Pair {
    let entered = sum(plaintext, added);
    if mask == [0xff; BLOCK_BYTES] {
        return Pair::whole(Direction::Encrypt, entered, ciphertext);
    }
    Pair { direction: Direction::Decrypt, input: ciphertext, output: entered, mask }
}

fn sum(a: Block, b: Block) -> Block {
    (u128::from_ne_bytes(a) ^ u128::from_ne_bytes(b)).to_ne_bytes()
}

/// A block, padded with zeros.
fn block(bytes: &[u8]) -> Block {
    let mut block = [0; BLOCK_BYTES];
    block[..bytes.len()].copy_from_slice(bytes);
    block
}
