//! Search for an AES key, a key a lane: one text for bytes and for bits of many keys.
//!
//! Layout: byte i of the state, and byte i of every word of the key schedule, of all lanes are one [`LaneByte`].
//! Source: FIPS 197 §5.1 and §5.2. Only two bytes of the result are computed, which lie in one column before the last
//! ShiftRows: so the last round has 2 of 16 S-boxes and the one before it 4, and both MixColumns of one column.
//! Holds: with a table used often, a lane begins after round 1. All S-boxes up to there have single bytes of the key as
//! inputs, and all else is linear, so a start is affine in the key as `part::search` needs it.

pub mod instructions;
mod lanes;

use std::fmt;

pub use lanes::{Byte, LaneByte};

use super::scalar::{mix_column, sub_word};
use crate::block::{Block, Cipher, Direction};
use crate::part::search::{Inner, Known, Lanes, START_BLOCKS, SearchPart, Use, table};
use crate::word::{Isa, Kernel, each, unrolled};

/// A kernel for keys of `NK` words.
#[derive(Clone)]
pub struct Search<B: LaneByte, const NK: usize> {
    isa: B::Isa,
    rounds: usize,
    input: Block,
    target: Target<B>,
}

/// The two bytes that are compared.
#[derive(Clone, Copy)]
struct Target<B: LaneByte> {
    /// Their column before the last ShiftRows.
    column: usize,
    /// Their rows.
    rows: [usize; 2],
    output: [B::Pattern; 2],
    mask: [B::Pattern; 2],
}

impl<B: LaneByte> Target<B> {
    /// Of all two bytes from one column, those of which the most is known.
    fn best(known: &Known) -> Self {
        let place = |column: usize, row: usize| 4 * ((column + 4 - row) % 4) + row;
        let bits = |column, row| known.mask[place(column, row)].count_ones();
        let pairs = (0..4).flat_map(|column| (0..4).flat_map(move |a| (0..a).map(move |b| (column, [b, a]))));
        let best = pairs.max_by_key(|&(column, [a, b])| bits(column, a) + bits(column, b));
        let (column, rows) = best.unwrap_or((0, [0, 1]));
        let of = |block: &Block| rows.map(|row| B::pattern(block[place(column, row)]));
        Self { column, rows, output: of(&known.output), mask: of(&known.mask) }
    }
}

/// What a lane begins from: the state that enters round `first`, and the last `NK` words of the schedule so far.
#[derive(Clone, Copy, Debug)]
pub struct Start<T, const NK: usize> {
    state: [T; 16],
    words: [[T; 4]; NK],
}

/// The round that a lane's state enters, and how many words of the schedule it has by then.
const fn begins<const NK: usize>(usage: Use) -> (usize, usize) {
    match usage {
        Use::Once => (1, NK),
        // Words of the schedule whose S-boxes have bytes of the key itself as inputs.
        Use::Often => (2, if NK == 4 { 8 } else { 12 }),
    }
}

impl<B: LaneByte, const NK: usize> Search<B, NK> {
    fn new(isa: B::Isa, cipher: Cipher, known: &Known) -> Self {
        Self { isa, rounds: cipher.rounds(), input: known.input, target: Target::best(known) }
    }

    fn blocks_of<T: Copy>(blocks: &[[T; 16]; START_BLOCKS]) -> Start<T, NK> {
        let words = &blocks.as_flattened()[16..];
        Start { state: blocks[0], words: each!(i < NK => each!(row < 4 => words[4 * i + row])) }
    }
}

impl<B: LaneByte, const NK: usize> fmt::Debug for Search<B, NK> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "aes::Search({NK} words, {} lanes)", B::LANES)
    }
}

impl<B: LaneByte, const NK: usize> Lanes for Search<B, NK> {
    type Start = Start<B, NK>;

    fn lanes(&self) -> usize {
        B::LANES
    }

    fn key_bytes(&self) -> usize {
        4 * NK
    }

    fn start(&self, key: &[u8], usage: Use, blocks: &mut [Block; START_BLOCKS]) {
        start::<NK>(&self.input, key, usage, blocks);
    }

    fn load(&self, blocks: &[Vec<u8>; START_BLOCKS]) -> Start<B, NK> {
        let [state, words] = [0, 1].map(|part| B::load(self.isa, &blocks[part]));
        // Of a short key nothing lies in the last block.
        let more = if NK > 4 { B::load(self.isa, &blocks[2]) } else { words };
        Self::blocks_of(&[state, words, more])
    }

    fn run(
        &self,
        usage: Use,
        bundles: &[Start<B, NK>],
        outer: &[Block; START_BLOCKS],
        found: &mut [u64],
    ) -> bool {
        let (first, words) = begins::<NK>(usage);
        let outer = Self::blocks_of(&outer.map(|block| block.map(B::pattern)));
        let Self { isa, rounds, target, .. } = self;
        self.isa.enter(Try::<B, NK> {
            rounds: Rounds { isa: *isa, way: B::way(*isa), words, rounds: *rounds, first },
            target,
            bundles,
            outer: &outer,
            found,
        })
    }

    fn key_of(&self, lane: usize) -> usize {
        B::key_of(lane)
    }
}

impl<B: LaneByte, const NK: usize> SearchPart for Search<B, NK> {
    fn lanes(&self) -> usize {
        B::LANES
    }

    fn inner(&self, keys: &[u8], usage: Use) -> Box<dyn Inner> {
        table(self.clone(), keys, usage)
    }
}

/// The kernel for a cipher's keys on one known block; `None` for other ciphers than AES, and for decryption.
pub fn search<B: LaneByte>(isa: B::Isa, cipher: Cipher, known: &Known) -> Option<Box<dyn SearchPart>> {
    Some(match cipher {
        _ if known.direction == Direction::Decrypt => return None,
        Cipher::Aes128 => Box::new(Search::<B, 4>::new(isa, cipher, known)),
        Cipher::Aes192 => Box::new(Search::<B, 6>::new(isa, cipher, known)),
        Cipher::Aes256 => Box::new(Search::<B, 8>::new(isa, cipher, known)),
        _ => return None,
    })
}

/// What one key begins from: the state, and words of the schedule one after another.
fn start<const NK: usize>(input: &Block, key: &[u8], usage: Use, blocks: &mut [Block; START_BLOCKS]) {
    let [state, ring @ ..] = blocks;
    let ring = ring.as_flattened_mut();
    ring[..key.len()].copy_from_slice(key);
    *state = each!(i < 16 => input[i] ^ key[i]);
    if usage == Use::Often {
        first_round::<NK>(state, ring);
    }
}

/// Round 1, given the state and key that enter it, and the schedule as far as its S-boxes have bytes of the key as inputs.
fn first_round<const NK: usize>(state: &mut Block, ring: &mut [u8]) {
    let mut words: [u32; NK] = each!(i < NK => column(ring, i));
    let columns: [u32; 4] = each!(i < 4 => sub_word(column(state, i)));
    let bytes: [[u8; 4]; 4] = each!(i < 4 => columns[i].to_le_bytes());
    let mixed: [u32; 4] =
        each!(i < 4 => mix_column(u32::from_le_bytes(each!(row < 4 => bytes[(i + row) % 4][row]))));
    let (_, end) = begins::<NK>(Use::Often);
    let mut round_key = [0; 4];
    for i in 4..end {
        if i >= NK {
            let previous = words[(i - 1) % NK];
            let added = if i == NK { sub_word(previous.rotate_right(8)) ^ 1 } else { previous };
            words[i % NK] ^= added;
        }
        if i < 8 {
            round_key[i - 4] = words[i % NK];
        }
    }
    for (i, bytes) in state.as_chunks_mut::<4>().0.iter_mut().enumerate() {
        *bytes = (mixed[i] ^ round_key[i]).to_le_bytes();
    }
    for (bytes, word) in ring.as_chunks_mut::<4>().0.iter_mut().zip(words) {
        *bytes = word.to_le_bytes();
    }
}

/// Word `i` of some.
fn column(bytes: &[u8], i: usize) -> u32 {
    u32::from_le_bytes([bytes[4 * i], bytes[4 * i + 1], bytes[4 * i + 2], bytes[4 * i + 3]])
}

/// All bundles with one outer key.
struct Try<'a, B: LaneByte, const NK: usize> {
    rounds: Rounds<B>,
    target: &'a Target<B>,
    bundles: &'a [Start<B, NK>],
    outer: &'a Start<B::Pattern, NK>,
    found: &'a mut [u64],
}

impl<B: LaneByte, const NK: usize> Kernel for Try<'_, B, NK> {
    type Output = bool;

    #[inline(always)]
    fn run(self) -> bool {
        let Self { rounds, target, bundles, outer, found } = self;
        let isa = rounds.isa;
        let mut any = 0;
        for (inner, found) in bundles.iter().zip(found.chunks_exact_mut(B::LANES.div_ceil(64))) {
            let state = each!(i < 16 => inner.state[i].sum(B::of(isa, &outer.state[i])));
            let words =
                each!(i < NK => each!(row < 4 => inner.words[i][row].sum(B::of(isa, &outer.words[i][row]))));
            rounds.compared(state, words, target).zeros(found);
            any |= found.iter().fold(0, |any, word| any | word);
        }
        any != 0
    }
}

/// The constants of a run.
#[derive(Clone, Copy)]
struct Rounds<B: LaneByte> {
    isa: B::Isa,
    way: B::Way,
    /// Rounds of the cipher.
    rounds: usize,
    /// The round that states enter.
    first: usize,
    /// Words of the schedule that are there by then.
    words: usize,
}

/// The constants of the key schedule (FIPS 197 §5.2).
const ROUND_CONSTANTS: [u8; 11] = [0, 1, 2, 4, 8, 16, 32, 64, 128, 0x1b, 0x36];

impl<B: LaneByte> Rounds<B> {
    /// What the two bytes compared differ by.
    #[inline(always)]
    fn compared<const NK: usize>(
        &self,
        mut state: [B; 16],
        mut words: [[B; 4]; NK],
        target: &Target<B>,
    ) -> Differences<B> {
        for round in self.first..self.rounds - 1 {
            self.schedule(&mut words, round);
            state = self.round(state, &words, round);
        }
        self.schedule(&mut words, self.rounds - 1);
        // Copies: indices that are not known when compiled would keep the arrays out of registers all the way.
        let (state, words): ([B; 16], [[B; 4]; NK]) = (each!(i < 16 => state[i]), each!(i < NK => words[i]));
        self.last_rounds(&state, words, target)
    }

    #[inline(always)]
    fn sub(&self, byte: B) -> B {
        byte.substituted(self.isa, self.way)
    }

    /// The words of round key `round`, into the places of those `NK` words before.
    #[inline(always)]
    fn schedule<const NK: usize>(&self, words: &mut [[B; 4]; NK], round: usize) {
        if NK == 4 {
            unrolled!(i in [0 1 2 3] { self.expand(words, 4 * round + i); });
        } else {
            for i in (4 * round).max(self.words)..4 * round + 4 {
                self.expand(words, i);
            }
        }
    }

    /// Word `i` of the schedule.
    #[inline(always)]
    fn expand<const NK: usize>(&self, words: &mut [[B; 4]; NK], i: usize) {
        let mut added = words[(i + NK - 1) % NK];
        let place = i % NK;
        if place == 0 {
            added = each!(row < 4 => self.sub(added[(row + 1) % 4]));
            added[0] = added[0].sum(B::of(self.isa, &B::pattern(ROUND_CONSTANTS[i / NK])));
        } else if NK == 8 && place == 4 {
            added = each!(row < 4 => self.sub(added[row]));
        }
        words[place] = each!(row < 4 => words[place][row].sum(added[row]));
    }

    /// A middle round.
    #[inline(always)]
    fn round<const NK: usize>(&self, mut state: [B; 16], words: &[[B; 4]; NK], round: usize) -> [B; 16] {
        self.sub_and_shift(&mut state);
        unrolled!(column in [0 1 2 3] {
            let at = 4 * column;
            let rows = B::mixed(self.isa, self.way, each!(row < 4 => state[at + row]));
            let key = words[(4 * round + column) % NK];
            for row in 0..4 {
                state[at + row] = rows[row].sum(key[row]);
            }
        });
        state
    }

    /// SubBytes and ShiftRows: byte by byte, so that none has to be kept for long.
    #[inline(always)]
    fn sub_and_shift(&self, s: &mut [B; 16]) {
        unrolled!(column in [0 1 2 3] { s[4 * column] = self.sub(s[4 * column]); });
        let first = self.sub(s[1]);
        unrolled!(column in [0 1 2] { s[4 * column + 1] = self.sub(s[4 * column + 5]); });
        s[13] = first;
        (s[2], s[10]) = (self.sub(s[10]), self.sub(s[2]));
        (s[6], s[14]) = (self.sub(s[14]), self.sub(s[6]));
        let last = self.sub(s[15]);
        unrolled!(column in [2 1 0] { s[4 * column + 7] = self.sub(s[4 * column + 3]); });
        s[3] = last;
    }

    /// The last two rounds of the bytes compared; the words are those of the last key but one.
    #[inline(always)]
    fn last_rounds<const NK: usize>(
        &self,
        state: &[B; 16],
        words: [[B; 4]; NK],
        target: &Target<B>,
    ) -> Differences<B> {
        let &Target { column, rows, .. } = target;
        let last = 4 * self.rounds;
        let key = words[(last - 4 + column) % NK];
        let mixed =
            B::mixed(self.isa, self.way, each!(row < 4 => self.sub(state[4 * ((column + row) % 4) + row])));
        // Word 4·rounds is the only one of the last key with S-boxes.
        let before = words[(last + NK - 1) % NK];
        Differences(each!(i < 2 => {
            let row = rows[i];
            let out = self.sub(mixed[row].sum(key[row]));
            let mut sum = self.sub(before[(row + 1) % 4]);
            if row == 0 {
                sum = sum.sum(B::of(self.isa, &B::pattern(ROUND_CONSTANTS[last / NK])));
            }
            for word in 0..=(column + 4 - row) % 4 {
                sum = sum.sum(words[(last + word) % NK][row]);
            }
            let output = B::of(self.isa, &target.output[i]);
            out.sum(sum).sum(output).kept(B::of(self.isa, &target.mask[i]))
        }))
    }
}

/// Bits of two bytes that are not as they are known to be.
struct Differences<B>([B; 2]);

impl<B: LaneByte> Differences<B> {
    #[inline(always)]
    fn zeros(self, found: &mut [u64]) {
        B::zeros(self.0, found);
    }
}
