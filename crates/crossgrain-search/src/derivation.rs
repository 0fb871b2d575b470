//! Derives keys from many words at a time, one word in each 32-bit lane, by SHA-256 or PBKDF2 with SHA-256.
//!
//! The host pads each word to a block of 64 bytes. The step from blocks to keys is one generic source over
//! lanes ([`sha256`]). It runs in CPU registers here, and on devices through [`Derive`]. Apart from the
//! blocks, its inputs (salt and iteration count) are public. Invariant: no secret remains on the stack. The
//! caller wipes blocks and keys.

use sha2::{Digest as _, Sha256};
use zeroize::Zeroize as _;

use super::counted::Counted;
use super::device::Failure;
use super::kdf::{Hash, Kdf};
pub(super) use super::sha256::BLOCK_BYTES;
use super::sha256::{self, DIGEST_BYTES};
use crossgrain::Features;
use crossgrain::engine::arch::{Lane32, Lanes, Work, on_widest};
use crossgrain::engine::wiping_deep_stack;

/// The padding byte after a message.
const END: u8 = 0x80;

/// Bytes of the message length, in bits, at the end of the last block.
const LEN_BYTES: usize = 8;

/// The most blocks of a salt. A device program contains code for each block.
const SALT_BLOCKS_MAX: usize = 4;

/// A key derivation that runs on lanes.
#[derive(Clone, Debug)]
pub struct Derivation {
    way: Way,
    key_bytes: usize,
}

#[derive(Clone, Debug)]
enum Way {
    Sha256,
    /// The padded salt blocks for each part of the key, and the number of iterations after the first.
    Pbkdf2(Vec<Vec<[u32; 16]>>, u32),
}

/// Derives keys from many words at a time.
pub trait Derive: Send {
    /// The best number of words for one call.
    fn words(&self) -> usize;

    /// Derives a key from each block. If the call fails, no key is valid.
    ///
    /// # Errors
    /// If a device is lost.
    fn derive(&mut self, blocks: &[u8], keys: &mut [u8]) -> Result<(), Failure>;

    /// The same for candidates that the device generates. `keys` sets their number, at most
    /// [`Counted::MOST`].
    ///
    /// # Errors
    /// As [`Derive::derive`].
    fn derive_counted(&mut self, candidates: &Counted, keys: &mut [u8]) -> Result<(), Failure>;
}

impl Derivation {
    /// The derivation of keys of `key_bytes` by `kdf`, if it can run on lanes.
    pub fn new(kdf: &Kdf, key_bytes: usize) -> Option<Self> {
        let way = match kdf {
            _ if key_bytes == 0 => return None,
            Kdf::Sha256 if key_bytes <= DIGEST_BYTES => Way::Sha256,
            Kdf::Pbkdf2 { hash: Hash::Sha256, salt, iterations: iterations @ 1.. } => {
                let parts = 1..=key_bytes.div_ceil(DIGEST_BYTES) as u32;
                let parts: Vec<_> = parts.map(|part| salt_blocks(salt, part)).collect();
                if parts.iter().any(|blocks| blocks.len() > SALT_BLOCKS_MAX) {
                    return None;
                }
                Way::Pbkdf2(parts, iterations - 1)
            }
            _ => return None,
        };
        Some(Self { way, key_bytes })
    }

    /// Its name.
    pub const fn name(&self) -> &'static str {
        match self.way {
            Way::Sha256 => "sha256",
            Way::Pbkdf2(..) => "pbkdf2-sha256",
        }
    }

    /// The length of a key in bytes.
    pub const fn key_bytes(&self) -> usize {
        self.key_bytes
    }

    /// The salt blocks for each part of the key. Empty if the KDF has no salt.
    pub fn parts(&self) -> &[Vec<[u32; 16]>] {
        match &self.way {
            Way::Sha256 => &[],
            Way::Pbkdf2(parts, _) => parts,
        }
    }

    /// The number of iterations after the first.
    pub const fn turns(&self) -> u32 {
        match self.way {
            Way::Sha256 => 0,
            Way::Pbkdf2(_, turns) => turns,
        }
    }

    /// The SHA-256 digest of one padded block, on lanes.
    #[inline(always)]
    pub fn digest<W: Lanes>(block: [W; 16]) -> [W; 8] {
        sha256::digest(block)
    }

    /// The first iteration for a part of the key, from the salt's blocks. The first eight of the 32 words are
    /// the part so far.
    #[inline(always)]
    pub fn first_turn<W: Lanes>(block: [W; 16], salt: &[[u32; 16]]) -> [W; 32] {
        sha256::first_turn(block, salt)
    }

    /// An iteration after the first.
    #[inline(always)]
    pub fn next_turn<W: Lanes>(y: [W; 32]) -> [W; 32] {
        sha256::next_turn(y)
    }

    /// Whether the block of a word of this length begins with the word, and otherwise depends only on its
    /// length.
    pub(super) const fn begins_with(&self, len_bytes: usize) -> bool {
        match self.way {
            Way::Sha256 => len_bytes + 1 + LEN_BYTES <= BLOCK_BYTES,
            Way::Pbkdf2(..) => len_bytes <= BLOCK_BYTES,
        }
    }

    /// Writes the padded block of a word to `block`, which must be zeros. Returns false if the word does not
    /// fit one block.
    pub fn pad(&self, word: &[u8], block: &mut [u8]) -> bool {
        match &self.way {
            Way::Sha256 if !self.begins_with(word.len()) => return false,
            Way::Sha256 => {
                block[..word.len()].copy_from_slice(word);
                block[word.len()] = END;
                block[BLOCK_BYTES - LEN_BYTES..].copy_from_slice(&(8 * word.len() as u64).to_be_bytes());
            }
            // The key of HMAC. A key longer than a block is replaced by its digest.
            Way::Pbkdf2(..) if !self.begins_with(word.len()) => {
                let mut digest = Sha256::digest(word);
                block[..DIGEST_BYTES].copy_from_slice(&digest);
                digest.as_mut_slice().zeroize();
            }
            Way::Pbkdf2(..) => block[..word.len()].copy_from_slice(word),
        }
        true
    }

    /// Derives a key from each block, in the widest registers that `features` allows and the CPU has.
    pub fn on_cpu(&self, features: Features, blocks: &[u8], keys: &mut [u8]) {
        wiping_deep_stack(|| on_widest(features, MakeKeys { derivation: self, blocks, keys }));
    }
}

/// The salt and the index of a part, padded as the end of a message that follows one block.
fn salt_blocks(salt: &[u8], part: u32) -> Vec<[u32; 16]> {
    let mut bytes = [salt, &part.to_be_bytes(), &[END]].concat();
    let len_bits = 8 * (BLOCK_BYTES + salt.len() + 4) as u64;
    bytes.resize((bytes.len() + LEN_BYTES).next_multiple_of(BLOCK_BYTES) - LEN_BYTES, 0);
    bytes.extend_from_slice(&len_bits.to_be_bytes());
    let words: Vec<_> = bytes.as_chunks().0.iter().map(|&word| u32::from_be_bytes(word)).collect();
    words.as_chunks().0.to_vec()
}

/// Derives a key from each block.
struct MakeKeys<'a> {
    derivation: &'a Derivation,
    blocks: &'a [u8],
    keys: &'a mut [u8],
}

impl Work for MakeKeys<'_> {
    type Output = ();

    #[inline(always)]
    fn run<W: Lane32>(self, isa: W::Isa) {
        let (lanes, key_bytes) = (W::BYTES / 4, self.derivation.key_bytes);
        let bundles = self.blocks.chunks(BLOCK_BYTES * lanes).zip(self.keys.chunks_mut(key_bytes * lanes));
        for (blocks, keys) in bundles {
            let block = loaded::<W>(isa, blocks);
            match &self.derivation.way {
                Way::Sha256 => store(&sha256::digest(block), keys, key_bytes, 0),
                Way::Pbkdf2(parts, turns) => {
                    for (part, salt) in parts.iter().enumerate() {
                        let mut y = sha256::first_turn(block, salt);
                        for _ in 0..*turns {
                            y = sha256::next_turn(y);
                        }
                        store(&y[..8], keys, key_bytes, part);
                    }
                }
            }
        }
    }
}

/// Loads one block per lane.
#[inline(always)]
fn loaded<W: Lane32>(isa: W::Isa, blocks: &[u8]) -> [W; 16] {
    let mut words = [W::splat_lanes(isa, 0); 16];
    for (at, word) in words.iter_mut().enumerate() {
        let mut bytes = [0; 64];
        for (lane, block) in bytes.chunks_exact_mut(4).zip(blocks.chunks_exact(BLOCK_BYTES)) {
            lane.copy_from_slice(&block[4 * at..4 * at + 4]);
        }
        *word = W::load(isa, &bytes[..W::BYTES]).reverse_lane_bytes();
    }
    words
}

/// Stores one part of the key of each lane.
#[inline(always)]
fn store<W: Lane32>(words: &[W], keys: &mut [u8], key_bytes: usize, part: usize) {
    for (at, word) in words.iter().enumerate() {
        let mut bytes = [0; 64];
        word.reverse_lane_bytes().store(&mut bytes[..W::BYTES]);
        let from = part * DIGEST_BYTES + 4 * at;
        for (lane, key) in bytes.chunks_exact(4).zip(keys.chunks_exact_mut(key_bytes)) {
            if let Some(goal) = key.get_mut(from..) {
                let len_bytes = goal.len().min(4);
                goal[..len_bytes].copy_from_slice(&lane[..len_bytes]);
            }
        }
    }
}
