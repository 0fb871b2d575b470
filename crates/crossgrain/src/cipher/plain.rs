//! Descriptions on one block of plain bytes.
//!
//! The rounds use table look-ups: this is the reference. Key schedules, whose bytes are secret, substitute by
//! gates, unless the caller asks for look-ups.

use zeroize::Zeroizing;

use super::sbox::{Linear, Sbox};
use super::{Bytes, Description, KeyBytes, OnBytes, OnWords, Portion, RoundKeys, Scheduled, Words};
use crate::arch::each;
use crate::block::{Block, Direction};

/// Table look-ups. Not constant-time: only the reference may use them, for comparison with other variants.
#[derive(Clone, Copy, Debug)]
pub(super) struct Tables {
    boxes: &'static [Sbox],
    maps: &'static [Linear],
    /// Whether key schedules look up tables, too.
    on_keys: bool,
}

impl Tables {
    /// The tables of `C`.
    pub(super) fn of<C: Description>() -> Self {
        Self { boxes: C::BOXES, maps: C::MAPS, on_keys: false }
    }
}

impl Bytes for Tables {
    type Byte = u8;
    type Key = u8;

    #[inline(always)]
    fn add(self, a: u8, b: u8) -> u8 {
        a ^ b
    }

    fn add_key(self, byte: u8, key: &u8) -> u8 {
        byte ^ key
    }

    fn and_key(self, byte: u8, key: &u8) -> u8 {
        byte & key
    }

    fn or_key(self, byte: u8, key: &u8) -> u8 {
        byte | key
    }

    fn substitute_sum(self, byte: u8, key: &u8, sbox: usize) -> u8 {
        self.boxes[sbox].table[usize::from(byte ^ key)]
    }

    #[inline(always)]
    fn linear(self, byte: u8, map: usize) -> u8 {
        self.maps[map].of(byte)
    }
}

impl Words for Tables {
    type Word = u32;
    type Key = u32;

    fn add(self, a: u32, b: u32) -> u32 {
        a ^ b
    }

    fn substitute_sum(self, word: u32, key: &u32, sbox: usize) -> u32 {
        u32::from_ne_bytes((word ^ key).to_ne_bytes().map(|byte| self.boxes[sbox].table[usize::from(byte)]))
    }

    fn rotate_left<const COUNT: u32>(self, word: u32) -> u32 {
        word.rotate_left(COUNT)
    }
}

impl KeyBytes for Tables {
    #[inline(always)]
    fn constant(self, byte: u8) -> u8 {
        byte
    }

    #[inline(always)]
    fn substitute(self, choose: impl Fn(usize) -> usize, bytes: &mut [u8]) {
        if self.on_keys {
            for (at, byte) in bytes.iter_mut().enumerate() {
                *byte = self.boxes[choose(at)].table[usize::from(*byte)];
            }
        } else {
            substitute(self.boxes, choose, bytes);
        }
    }

    #[inline(always)]
    fn between(self, high: u8, low: u8, count: u32) -> u8 {
        high << count | low >> (8 - count)
    }
}

/// Computes the round keys of a key.
pub(super) fn schedule<C: Scheduled>(key: &[u8], direction: Direction) -> RoundKeys {
    schedule_by::<C>(Tables::of::<C>(), key, direction)
}

/// The same by table look-ups. Not constant-time in the key.
#[cfg(feature = "search")]
pub(super) fn schedule_by_tables<C: Scheduled>(key: &[u8], direction: Direction) -> RoundKeys {
    schedule_by::<C>(Tables { on_keys: true, ..Tables::of::<C>() }, key, direction)
}

fn schedule_by<C: Scheduled>(tables: Tables, key: &[u8], direction: Direction) -> RoundKeys {
    let mut keys = Zeroizing::new(vec![0; C::round_key_bytes(key.len())]);
    let mut keep = |place: usize, bytes: &[u8]| keys[place..][..bytes.len()].copy_from_slice(bytes);
    C::round_keys(tables, key, direction, &mut keep);
    keys
}

/// Encrypts or decrypts a block in place, for a byte-oriented cipher.
pub(super) fn on_bytes<C: OnBytes>(keys: &[u8], direction: Direction, block: &mut Block) {
    portion_on_bytes::<C>(Portion::All, keys, direction, block);
}

/// Computes a portion of the rounds in place.
#[inline(always)]
pub(super) fn portion_on_bytes<C: OnBytes>(
    portion: Portion,
    keys: &[u8],
    direction: Direction,
    block: &mut Block,
) {
    *block = C::portion(Tables::of::<C>(), direction, portion, *block, keys);
}

/// Encrypts or decrypts a block in place, for a word-oriented cipher.
pub(super) fn on_words<C: OnWords>(keys: &[u8], direction: Direction, block: &mut Block) {
    portion_on_words::<C>(Portion::All, keys, direction, block);
}

/// Computes a portion of the rounds in place.
#[inline(always)]
pub(super) fn portion_on_words<C: OnWords>(
    portion: Portion,
    keys: &[u8],
    direction: Direction,
    block: &mut Block,
) {
    let words = each!(i < 4 => word(&block[4 * i..]));
    let keys: Vec<_> = keys.as_chunks::<4>().0.iter().map(|key| word(key)).collect();
    for (bytes, word) in block.as_chunks_mut().0.iter_mut().zip(C::portion(
        Tables::of::<C>(),
        direction,
        portion,
        words,
        &keys,
    )) {
        *bytes = word.to_be_bytes();
    }
}

/// The first four bytes as a big-endian number.
fn word(bytes: &[u8]) -> u32 {
    u32::from_be_bytes([bytes[0], bytes[1], bytes[2], bytes[3]])
}

/// Substitutes up to 32 secret bytes by gates, byte i through `boxes[choose(i)]`.
fn substitute(boxes: &[Sbox], choose: impl Fn(usize) -> usize, bytes: &mut [u8]) {
    assert!(bytes.len() <= 32, "a word has 32 lanes");
    let bits = bits_of(bytes);
    for (number, sbox) in boxes.iter().enumerate() {
        if !(0..bytes.len()).any(|lane| choose(lane) == number) {
            continue;
        }
        let outputs = bytes_of(sbox.gates(bits));
        for (lane, (byte, output)) in bytes.iter_mut().zip(outputs).enumerate() {
            if choose(lane) == number {
                *byte = output;
            }
        }
    }
}

/// Bit i of each byte, in word i. Each byte has a lane.
fn bits_of(bytes: &[u8]) -> [u32; 8] {
    let mut bits = [0; 8];
    for (at, group) in bytes.chunks(8).enumerate() {
        let group = group.iter().rev().fold(0, |group, byte| group << 8 | u64::from(*byte));
        for (bits, of_group) in bits.iter_mut().zip(transposed(group).to_le_bytes()) {
            *bits |= u32::from(of_group) << (8 * at);
        }
    }
    bits
}

/// The bytes in the lanes.
fn bytes_of(bits: [u32; 8]) -> [u8; 32] {
    let mut bytes = [0; 32];
    for (at, group) in bytes.as_chunks_mut::<8>().0.iter_mut().enumerate() {
        let of_group = bits.map(|bits| bits.to_le_bytes()[at]);
        *group = transposed(u64::from_le_bytes(of_group)).to_le_bytes();
    }
    bytes
}

/// Eight rows of eight bits as columns, by exchanges of blocks of one, two and four bits.
fn transposed(rows: u64) -> u64 {
    let exchanged = |x: u64, upper_right: u64, distance: u32| {
        let change = (x ^ x >> distance) & upper_right;
        x ^ change ^ change << distance
    };
    let rows = exchanged(rows, 0x00aa_00aa_00aa_00aa, 7);
    let rows = exchanged(rows, 0x0000_cccc_0000_cccc, 14);
    exchanged(rows, 0x0000_0000_f0f0_f0f0, 28)
}
