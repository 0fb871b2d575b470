//! From data encrypted in a mode of operation to block pairs under the key itself.
//!
//! The modes of SP 800-38A surround the cipher with public data. The initial value and the ciphertext give
//! the counter block or the previous ciphertext block. The XOR of plaintext and ciphertext gives the
//! keystream. A pair therefore needs only a known block of plaintext, or some known bits of one. In CFB-8 and CFB-1
//! a pair has only 8 known bits, or one.

use super::wide::WidePair;
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
    let block = |bytes: &[u8]| padded(bytes, BLOCK_BYTES).try_into().unwrap_or([0; BLOCK_BYTES]);
    let pairs = pairs_of(BLOCK_BYTES, mode.mode, &mode.iv, data)?.into_iter().map(|pair| Pair {
        direction: pair.direction,
        input: block(&pair.input),
        output: block(&pair.output),
        mask: block(&pair.mask),
    });
    Ok(pairs.collect())
}

/// The pairs in data of a cipher with wide blocks, in a mode of [`crossgrain::wide`]. `iv` is a block, also in ECB,
/// which ignores it.
///
/// # Errors
/// As [`pairs`]; [`crossgrain::Error::UnfitMode`] for a mode that is defined only for blocks of 16 bytes, as
/// [`Error::Block`].
#[cfg(feature = "wide")]
pub fn wide_pairs(mode: Mode, iv: &[u8], data: Data<'_>) -> Result<Vec<WidePair>, Error> {
    let fits = |mode: Mode| mode.entry().any_block_size;
    if !fits(mode) {
        return Err(mode.unfit(fits).into());
    }
    pairs_of(iv.len(), mode, iv, data)
}

/// The pairs in data, for blocks of any length.
fn pairs_of(block_bytes: usize, mode: Mode, iv: &[u8], data: Data<'_>) -> Result<Vec<WidePair>, Error> {
    let short = || Error::ShortCiphertext { len_bytes: data.ciphertext.len() };
    if data.ciphertext.len() < data.plaintext.len() || data.mask.len() != data.plaintext.len() {
        return Err(short());
    }
    if let Some(bits) = mode.segment_bits() {
        return Ok(segment_pairs(bits, iv.to_vec(), data));
    }
    let mut pairs = Vec::new();
    let texts = data.plaintext.chunks(block_bytes).zip(data.mask.chunks(block_bytes));
    // The block that chains into the next one: the counter block, or the previous output or ciphertext.
    // `None` if it is not known.
    let mut before = Some(iv.to_vec());
    for ((plaintext, mask), ciphertext) in texts.zip(data.ciphertext.chunks(block_bytes)) {
        let block = |bytes: &[u8]| padded(bytes, block_bytes);
        let (plain, mask, is_whole) = (block(plaintext), block(mask), ciphertext.len() == block_bytes);
        let cipher = block(ciphertext);
        let keystream = sum(&plain, &cipher);
        let is_known = mask.iter().all(|&byte| byte == 0xff);
        let pair = match mode {
            Mode::Ecb | Mode::Cbc if !is_whole => return Err(short()),
            Mode::Ecb => Some(texts_pair(plain, mask, &cipher)),
            Mode::Cbc => before.as_ref().map(|before| texts_pair(sum(&plain, before), mask, &cipher)),
            _ => before.clone().map(|input| {
                let output = keystream.clone();
                WidePair { direction: Direction::Encrypt, input, output, mask }
            }),
        };
        before = match mode {
            Mode::Ctr => before.map(incremented),
            Mode::Ofb => is_known.then_some(keystream),
            _ => Some(cipher),
        };
        pairs.extend(pair.filter(|pair| pair.known_bits() > 0));
    }
    Ok(pairs)
}

/// The pairs in data of CFB with segments of `bits` bits. Each block of the cipher gives as many bits of keystream.
fn segment_pairs(bits: usize, mut register: Vec<u8>, data: Data<'_>) -> Vec<WidePair> {
    let mut pairs = Vec::new();
    for ((plaintext, mask), ciphertext) in data.plaintext.iter().zip(data.mask).zip(data.ciphertext) {
        for step in 0..8 / bits {
            let segment = |byte: u8| byte << (bits * step) >> (8 - bits);
            let first = |byte: u8| padded(&[segment(byte) << (8 - bits)], register.len());
            let (input, output, mask) = (register.clone(), first(plaintext ^ ciphertext), first(*mask));
            pairs.push(WidePair { direction: Direction::Encrypt, input, output, mask });
            let mut entering = segment(*ciphertext);
            for byte in register.iter_mut().rev() {
                let shifted = u16::from(*byte) << bits | u16::from(entering);
                (*byte, entering) = (shifted as u8, (shifted >> 8) as u8);
            }
        }
    }
    pairs.retain(|pair| pair.known_bits() > 0);
    pairs
}

/// A pair of a plaintext, to which the mode has added a block, and ciphertext. Encryption is faster to try, but only a
/// decryption can be compared with part of a plaintext.
fn texts_pair(entered: Vec<u8>, mask: Vec<u8>, ciphertext: &[u8]) -> WidePair {
    let ciphertext = ciphertext.to_vec();
    if mask.iter().all(|&byte| byte == 0xff) {
        return WidePair { direction: Direction::Encrypt, input: entered, output: ciphertext, mask };
    }
    WidePair { direction: Direction::Decrypt, input: ciphertext, output: entered, mask }
}

fn sum(a: &[u8], b: &[u8]) -> Vec<u8> {
    a.iter().zip(b).map(|(a, b)| a ^ b).collect()
}

/// The counter block after this one.
fn incremented(mut counter: Vec<u8>) -> Vec<u8> {
    for byte in counter.iter_mut().rev() {
        *byte = byte.wrapping_add(1);
        if *byte != 0 {
            break;
        }
    }
    counter
}

/// A block, padded with zeros.
fn padded(bytes: &[u8], block_bytes: usize) -> Vec<u8> {
    let mut block = bytes.to_vec();
    block.resize(block_bytes, 0);
    block
}
