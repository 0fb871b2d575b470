//! Derives keys from many words at a time, one word in each lane, by SHA-256 or by PBKDF2 with SHA-1, SHA-256 or
//! SHA-512.
//!
//! The host pads each word to a block. The step from blocks to keys is one generic source over
//! lanes ([`lanes`](super::lanes)). It runs in CPU registers here, and on devices through [`Derive`]. Apart from the
//! blocks, its inputs (salt and iteration count) are public. Invariant: no secret remains on the stack. The
//! caller wipes blocks and keys.

use super::counted::Counted;
use super::device::Failure;
use super::kdf::Kdf;
use super::lanes::{Keys, LaneHash as _, Narrow, OnLanes, Sha2, Turns, first_turn, loaded, next_turn, store};
use crossgrain::Features;
use crossgrain::engine::arch::{Lane32, Lanes, Work, on_widest};
use crossgrain::engine::wiping_deep_stack;

/// Bytes of a block.
pub(super) const BLOCK_BYTES: usize = 64;

/// Bytes of a digest.
const DIGEST_BYTES: usize = 32;

/// The padding byte after a message.
const END: u8 = 0x80;

/// Bytes of the message length, in bits, at the end of the last block.
const LEN_BYTES: usize = 8;

/// The most blocks of a salt. A device program contains code for each block.
const SALT_BLOCKS_MAX: usize = 4;

/// A key derivation that runs on lanes. Devices have [some](Self::is_for_devices) of them.
#[derive(Clone, Debug)]
pub struct Derivation {
    way: Way,
    key_bytes: usize,
}

#[derive(Clone, Debug)]
enum Way {
    Sha256,
    Pbkdf2(OnLanes),
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
            Kdf::Pbkdf2 { hash, salt, iterations } => {
                Way::Pbkdf2(OnLanes::new(*hash, salt, *iterations, key_bytes)?)
            }
            _ => return None,
        };
        Some(Self { way, key_bytes })
    }

    /// Its name.
    pub const fn name(&self) -> &'static str {
        match &self.way {
            Way::Sha256 => "sha256",
            Way::Pbkdf2(derivation) => derivation.name(),
        }
    }

    /// Whether devices have it: SHA-256, and a salt of few blocks.
    pub fn is_for_devices(&self) -> bool {
        match &self.way {
            Way::Sha256 => true,
            Way::Pbkdf2(derivation) => {
                let parts = derivation.parts();
                derivation.is_sha256() && parts.iter().all(|blocks| blocks.len() <= SALT_BLOCKS_MAX)
            }
        }
    }

    /// The length of a block in bytes.
    pub const fn block_bytes(&self) -> usize {
        match &self.way {
            Way::Sha256 => BLOCK_BYTES,
            Way::Pbkdf2(derivation) => derivation.block_bytes(),
        }
    }

    /// The length of a key in bytes.
    pub const fn key_bytes(&self) -> usize {
        self.key_bytes
    }

    /// The salt blocks for each part of the key. Empty if the KDF has no salt, or words of 64 bits.
    pub fn parts(&self) -> &[Vec<[u32; 16]>] {
        match &self.way {
            Way::Sha256 => &[],
            Way::Pbkdf2(derivation) => derivation.parts(),
        }
    }

    /// The number of iterations after the first.
    pub const fn turns(&self) -> u32 {
        match &self.way {
            Way::Sha256 => 0,
            Way::Pbkdf2(derivation) => derivation.turns(),
        }
    }

    /// The SHA-256 digest of one padded block, on lanes.
    #[inline(always)]
    pub fn digest<W: Lanes>(block: [W; 16]) -> [W; 8] {
        let block = narrow::<W, 16>(&block);
        plain(&Sha2::compress(Sha2::initial(block[0]), block))
    }

    /// The first iteration for a part of the key, from the salt's blocks. The first eight of the 32 words are
    /// the part so far.
    #[inline(always)]
    pub fn first_turn<W: Lanes>(block: [W; 16], salt: &[[u32; 16]]) -> [W; 32] {
        flat(first_turn::<Sha2, _, 8>(narrow(&block), salt))
    }

    /// An iteration after the first.
    #[inline(always)]
    pub fn next_turn<W: Lanes>(y: [W; 32]) -> [W; 32] {
        let [sum, last, inner, outer] = [0, 8, 16, 24].map(|from| from..from + 8);
        let turns = Turns {
            sum: narrow(&y[sum]),
            last: narrow(&y[last]),
            keyed: [narrow(&y[inner]), narrow(&y[outer])],
        };
        flat(next_turn::<Sha2, _, 8>(turns))
    }

    /// Whether the block of a word of this length begins with the word, and otherwise depends only on its
    /// length.
    pub(super) const fn begins_with(&self, len_bytes: usize) -> bool {
        match self.way {
            Way::Sha256 => len_bytes + 1 + LEN_BYTES <= BLOCK_BYTES,
            Way::Pbkdf2(..) => len_bytes <= BLOCK_BYTES,
        }
    }

    /// Writes the padded block of a word to `block`, which must be [`Self::block_bytes`] zeros. Returns false if the word does not
    /// fit one block.
    pub fn pad(&self, word: &[u8], block: &mut [u8]) -> bool {
        match &self.way {
            Way::Sha256 if !self.begins_with(word.len()) => return false,
            Way::Sha256 => {
                block[..word.len()].copy_from_slice(word);
                block[word.len()] = END;
                block[BLOCK_BYTES - LEN_BYTES..].copy_from_slice(&(8 * word.len() as u64).to_be_bytes());
            }
            Way::Pbkdf2(derivation) => derivation.pad(word, block),
        }
        true
    }

    /// Derives a key from each block, in the widest registers that `features` allows and the CPU has.
    pub fn on_cpu(&self, features: Features, blocks: &[u8], keys: &mut [u8]) {
        let key_bytes = self.key_bytes;
        match &self.way {
            Way::Sha256 => {
                wiping_deep_stack(|| on_widest(features, Digests { blocks, keys, key_bytes }));
            }
            Way::Pbkdf2(derivation) => {
                let keys = Keys { bytes: keys, stride: key_bytes, from: 0 };
                derivation.derive_blocks(features, blocks, keys);
            }
        }
    }
}

/// Digests each block.
struct Digests<'a> {
    blocks: &'a [u8],
    keys: &'a mut [u8],
    key_bytes: usize,
}

impl Work for Digests<'_> {
    type Output = ();

    #[inline(always)]
    fn run<W: Lane32>(self, isa: W::Isa) {
        let lanes = W::BYTES / 4;
        let bundles =
            self.blocks.chunks(BLOCK_BYTES * lanes).zip(self.keys.chunks_mut(self.key_bytes * lanes));
        for (blocks, keys) in bundles {
            let block = loaded::<Narrow<W>>(isa, blocks);
            let digest = Sha2::compress(Sha2::initial(block[0]), block);
            store(&digest, keys, self.key_bytes, 0..self.key_bytes);
        }
    }
}

/// Words as lanes of 32 bits.
#[inline(always)]
fn narrow<W: Lanes, const COUNT: usize>(words: &[W]) -> [Narrow<W>; COUNT] {
    let mut all = [Narrow(words[0]); COUNT];
    for (to, word) in all.iter_mut().zip(words) {
        *to = Narrow(*word);
    }
    all
}

/// The inverse of [`narrow`].
#[inline(always)]
fn plain<W: Lanes, const COUNT: usize>(words: &[Narrow<W>]) -> [W; COUNT] {
    let mut all = [words[0].0; COUNT];
    for (to, word) in all.iter_mut().zip(words) {
        *to = word.0;
    }
    all
}

/// The parts of a state of PBKDF2, in sequence.
#[inline(always)]
fn flat<W: Lanes>(turns: Turns<Narrow<W>, 8>) -> [W; 32] {
    let mut words = [turns.sum[0].0; 32];
    let parts = [turns.sum, turns.last, turns.keyed[0], turns.keyed[1]];
    for (to, part) in words.chunks_exact_mut(8).zip(&parts) {
        to.copy_from_slice(&plain::<W, 8>(part));
    }
    words
}
