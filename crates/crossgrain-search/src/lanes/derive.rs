//! PBKDF2 of many passphrases on the lanes of CPU registers.

use std::ops::Range;

use zeroize::Zeroizing;

use super::{HashWord, LaneHash, Narrow, Sha1, Sha2, Turns, Wide, first_turn, next_turn};
use crate::Hash;
use crossgrain::Features;
use crossgrain::engine::arch::{Lane32, Lane64, Work, Work64, hashes_best_in_lanes, on_widest, on_widest64};
use crossgrain::engine::wiping_deep_stack;

/// The padding byte after a message.
const END: u8 = 0x80;

/// PBKDF2 with one salt and cost, for keys of one length.
#[derive(Clone, Debug)]
pub(crate) struct OnLanes {
    hash: Hash,
    salt: Salt,
    /// The number of iterations after the first.
    turns: u32,
    /// The parts of the key that are derived.
    kept: Range<usize>,
    key_bytes: usize,
}

/// The padded salt blocks for each part of the key.
#[derive(Clone, Debug)]
enum Salt {
    Narrow(Vec<Vec<[u32; 16]>>),
    Wide(Vec<Vec<[u64; 16]>>),
}

/// The place of keys: key i begins at `from + i · stride`.
pub(crate) struct Keys<'a> {
    pub(crate) bytes: &'a mut [u8],
    pub(crate) stride: usize,
    pub(crate) from: usize,
}

impl OnLanes {
    /// The derivation, if lanes have the hash.
    pub(crate) fn new(hash: Hash, salt: &[u8], iterations: u32, key_bytes: usize) -> Option<Self> {
        let digest_bytes = digest_bytes(hash)?;
        let kept = 0..key_bytes.div_ceil(digest_bytes);
        let parts = 1..=kept.end as u32;
        let salt = if block_bytes(hash) == 64 {
            Salt::Narrow(
                parts.map(|part| padded(salt, part).as_chunks().0.iter().map(narrow).collect()).collect(),
            )
        } else {
            Salt::Wide(
                parts.map(|part| padded_wide(salt, part).as_chunks().0.iter().map(wide).collect()).collect(),
            )
        };
        let turns = iterations.checked_sub(1)?;
        (key_bytes > 0).then_some(Self { hash, salt, turns, kept, key_bytes })
    }

    /// Derives no other parts than those that contain these bytes of the key. Returns whether that is less.
    pub(crate) fn keep(&mut self, bytes: &Range<usize>) -> bool {
        let digest_bytes = digest_bytes(self.hash).unwrap_or(self.key_bytes);
        let all = self.kept.len();
        self.kept = bytes.start / digest_bytes..bytes.end.div_ceil(digest_bytes).min(self.kept.end);
        self.kept.len() < all
    }

    /// Its name.
    pub(crate) const fn name(&self) -> &'static str {
        match self.hash {
            Hash::Sha256 => "pbkdf2-sha256",
            Hash::Sha512 => "pbkdf2-sha512",
            #[cfg(feature = "hashes")]
            _ => "pbkdf2-sha1",
        }
    }

    pub(crate) const fn is_sha256(&self) -> bool {
        matches!(self.hash, Hash::Sha256)
    }

    /// The salt blocks for each part of a key, unless the words have 64 bits.
    pub(crate) fn parts(&self) -> &[Vec<[u32; 16]>] {
        match &self.salt {
            Salt::Narrow(parts) => parts,
            Salt::Wide(_) => &[],
        }
    }

    /// The number of iterations after the first.
    pub(crate) const fn turns(&self) -> u32 {
        self.turns
    }

    /// Whether lanes are faster than deriving one key after another.
    pub(crate) fn is_faster(&self, features: Features) -> bool {
        self.turns > 0 && hashes_best_in_lanes(features)
    }

    /// Bytes of a block.
    pub(crate) const fn block_bytes(&self) -> usize {
        block_bytes(self.hash)
    }

    /// Writes the key block of HMAC to `block`, which must be zeros. A passphrase longer than a block is replaced
    /// by its digest.
    pub(crate) fn pad(&self, word: &[u8], block: &mut [u8]) {
        if word.len() <= block.len() {
            block[..word.len()].copy_from_slice(word);
        } else {
            let digest = self.hash.digest(&[word]);
            block[..digest.len()].copy_from_slice(&digest);
        }
    }

    /// Derives the keys of passphrases.
    pub(crate) fn derive<'a>(
        &self,
        features: Features,
        words: impl ExactSizeIterator<Item = &'a [u8]>,
        keys: Keys<'_>,
    ) {
        let block_bytes = self.block_bytes();
        let mut blocks = Zeroizing::new(vec![0; block_bytes * words.len()]);
        for (word, block) in words.zip(blocks.chunks_exact_mut(block_bytes)) {
            self.pad(word, block);
        }
        self.derive_blocks(features, &blocks, keys);
    }

    /// Derives the keys of padded blocks, in the widest registers that `features` allows and the CPU has.
    pub(crate) fn derive_blocks(&self, features: Features, blocks: &[u8], keys: Keys<'_>) {
        let make = MakeKeys { derivation: self, blocks, keys };
        wiping_deep_stack(|| match &self.salt {
            Salt::Narrow(_) => on_widest(features, make),
            Salt::Wide(_) => on_widest64(features, make),
        });
    }
}

/// Bytes of a block of a hash that lanes have.
const fn block_bytes(hash: Hash) -> usize {
    if matches!(hash, Hash::Sha512) { 128 } else { 64 }
}

/// Bytes of a digest, if lanes have the hash.
const fn digest_bytes(hash: Hash) -> Option<usize> {
    match hash {
        Hash::Sha256 => Some(32),
        Hash::Sha512 => Some(64),
        #[cfg(feature = "hashes")]
        Hash::Sha1 => Some(20),
        #[cfg(feature = "hashes")]
        _ => None,
    }
}

/// The salt and the index of a part, padded as the end of a message that follows one block.
fn padded_in(salt: &[u8], part: u32, (block_bytes, len_bytes): (usize, usize)) -> Vec<u8> {
    let mut bytes = [salt, &part.to_be_bytes(), &[END]].concat();
    let len_bits = 8 * (block_bytes + salt.len() + 4) as u128;
    bytes.resize((bytes.len() + len_bytes).next_multiple_of(block_bytes) - len_bytes, 0);
    bytes.extend_from_slice(&len_bits.to_be_bytes()[16 - len_bytes..]);
    bytes
}

fn padded(salt: &[u8], part: u32) -> Vec<u8> {
    padded_in(salt, part, (64, 8))
}

fn padded_wide(salt: &[u8], part: u32) -> Vec<u8> {
    padded_in(salt, part, (128, 16))
}

fn narrow(block: &[u8; 64]) -> [u32; 16] {
    let mut words = [0; 16];
    for (word, bytes) in words.iter_mut().zip(block.as_chunks().0) {
        *word = u32::from_be_bytes(*bytes);
    }
    words
}

fn wide(block: &[u8; 128]) -> [u64; 16] {
    let mut words = [0; 16];
    for (word, bytes) in words.iter_mut().zip(block.as_chunks().0) {
        *word = u64::from_be_bytes(*bytes);
    }
    words
}

/// Derives a key from each block.
struct MakeKeys<'a> {
    derivation: &'a OnLanes,
    blocks: &'a [u8],
    keys: Keys<'a>,
}

/// Words that registers load and store.
pub(crate) trait Stored: HashWord {
    type Isa: Copy;

    /// Lanes of a register.
    const LANES: usize;

    fn load(isa: Self::Isa, bytes: &[u8]) -> Self;
    fn store(self, bytes: &mut [u8]);
}

impl<W: Lane32> Stored for Narrow<W> {
    type Isa = W::Isa;

    const LANES: usize = W::BYTES / 4;

    #[inline(always)]
    fn load(isa: W::Isa, bytes: &[u8]) -> Self {
        Self(W::load(isa, bytes))
    }

    #[inline(always)]
    fn store(self, bytes: &mut [u8]) {
        self.0.store(bytes);
    }
}

impl<W: Lane64> Stored for Wide<W> {
    type Isa = W::Isa;

    const LANES: usize = W::BYTES / 8;

    #[inline(always)]
    fn load(isa: W::Isa, bytes: &[u8]) -> Self {
        Self { word: W::load(isa, bytes), isa }
    }

    #[inline(always)]
    fn store(self, bytes: &mut [u8]) {
        self.word.store(bytes);
    }
}

impl Work for MakeKeys<'_> {
    type Output = ();

    #[inline(always)]
    fn run<W: Lane32>(self, isa: W::Isa) {
        let Salt::Narrow(parts) = &self.derivation.salt else { return };
        match self.derivation.hash {
            Hash::Sha256 => self.bundles::<Sha2, Narrow<W>, 8>(isa, parts),
            _ => self.bundles::<Sha1, Narrow<W>, 5>(isa, parts),
        }
    }
}

impl Work64 for MakeKeys<'_> {
    type Output = ();

    #[inline(always)]
    fn run<W: Lane64>(self, isa: W::Isa) {
        let Salt::Wide(parts) = &self.derivation.salt else { return };
        self.bundles::<Sha2, Wide<W>, 8>(isa, parts);
    }
}

impl MakeKeys<'_> {
    /// Derives the keys, as many at a time as a register has lanes.
    #[inline(always)]
    fn bundles<H: LaneHash<W, STATE>, W: Stored, const STATE: usize>(
        self,
        isa: W::Isa,
        parts: &[Vec<[W::Bits; 16]>],
    ) {
        let Keys { bytes, stride, from } = self.keys;
        let bundles = self.blocks.chunks(16 * W::BYTES * W::LANES).zip(bytes.chunks_mut(stride * W::LANES));
        for (blocks, keys) in bundles {
            let block = loaded::<W>(isa, blocks);
            for (part, salt) in self.derivation.kept.clone().zip(&parts[self.derivation.kept.clone()]) {
                let mut turns: Turns<W, STATE> = first_turn::<H, W, STATE>(block, salt);
                for _ in 0..self.derivation.turns {
                    turns = next_turn::<H, W, STATE>(turns);
                }
                let within = part * W::BYTES * STATE..self.derivation.key_bytes;
                store(&turns.sum, keys, stride, from + within.start..from + within.end);
            }
        }
    }
}

/// Loads one block per lane.
#[inline(always)]
pub(crate) fn loaded<W: Stored>(isa: W::Isa, blocks: &[u8]) -> [W; 16] {
    let mut bytes = [0; 64];
    let mut words = [W::load(isa, &bytes[..W::BYTES * W::LANES]); 16];
    for (at, word) in words.iter_mut().enumerate() {
        for (lane, block) in bytes.chunks_exact_mut(W::BYTES).zip(blocks.chunks_exact(16 * W::BYTES)) {
            lane.copy_from_slice(&block[W::BYTES * at..W::BYTES * (at + 1)]);
            lane.reverse();
        }
        *word = W::load(isa, &bytes[..W::BYTES * W::LANES]);
    }
    words
}

/// Stores one part of the key of each lane: as much of the digest as fits `within`.
#[inline(always)]
pub(crate) fn store<W: Stored>(digest: &[W], keys: &mut [u8], stride: usize, within: Range<usize>) {
    for (at, word) in digest.iter().enumerate() {
        let mut bytes = [0; 64];
        word.store(&mut bytes[..W::BYTES * W::LANES]);
        let from = within.start + W::BYTES * at;
        let len_bytes = within.end.saturating_sub(from).min(W::BYTES);
        if len_bytes == 0 {
            break;
        }
        for (lane, key) in bytes.chunks_exact_mut(W::BYTES).zip(keys.chunks_exact_mut(stride)) {
            lane.reverse();
            key[from..from + len_bytes].copy_from_slice(&lane[..len_bytes]);
        }
    }
}
