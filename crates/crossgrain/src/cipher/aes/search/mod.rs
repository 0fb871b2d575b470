//! Search for an AES key with one key per lane. The same code serves bytes and bits of many keys.
//!
//! Layout: each byte of the state, and each byte of a schedule word, is one [`LaneByte`] for all lanes.
//!
//! Only two bytes of the result are computed. Both are in one column before the last ShiftRows. The last
//! round therefore needs 2 of 16 S-boxes and the round before it 4; MixColumns there needs one column.
//!
//! Decryption first runs through the whole schedule and then back along with the rounds. Each step of a word
//! is its own inverse, so only the last `NK` words are kept.
//!
//! Source: FIPS 197 §5.1 to §5.3.
//! Invariant: with a table that is used often, a lane begins after round 1. All S-boxes up to there have
//! single key bytes as inputs, and everything else is linear. A start is therefore affine in the key, as
//! `kernel::search` requires.

pub mod instructions;
mod lanes;
#[cfg(feature = "search-steps")]
pub mod steps;
pub mod substitute;

use std::fmt;

pub use lanes::{Byte, CipherByte, LaneByte};
pub(crate) use lanes::{are_zero, inv_sub_byte, sub_byte};

use crate::arch::{Isa, Kernel, each, unrolled};
use crate::block::{Block, Cipher, Direction, Family};
use crate::cipher::aes::scalar::{mix_column, sub_word};
use crate::kernel::search::{Known, Lanes, START_BLOCKS, SearchPart, TableReuse};

/// A kernel for keys of `NK` words.
#[derive(Clone)]
pub struct Search<B: LaneByte, const NK: usize> {
    isa: B::Isa,
    rounds: usize,
    direction: Direction,
    input: Block,
    target: Target<B, COMPARED>,
}

/// Bytes that a kernel compares.
const COMPARED: usize = 2;

/// An array of bytes that are all computed by the same expression. If bytes are in memory anyway, a loop
/// keeps the kernel small.
macro_rules! bytes {
    ($of:ident, $start:expr; $i:ident < $count:expr => $value:expr) => {
        if $of::IN_MEMORY {
            let mut bytes = [$start; $count];
            for $i in 0..$count {
                bytes[$i] = $value;
            }
            bytes
        } else {
            each!($i < $count => $value)
        }
    };
}

/// The bytes that are compared.
#[derive(Clone, Copy)]
pub(crate) struct Target<B: CipherByte, const N: usize> {
    /// Their column before the last ShiftRows or InvShiftRows.
    pub(crate) column: usize,
    /// Their rows, and their columns in the result.
    pub(crate) rows: [usize; N],
    pub(crate) columns: [usize; N],
    pub(crate) output: [B::Pattern; N],
    pub(crate) mask: [B::Pattern; N],
}

/// The column in the result of a byte that is in this column before the last ShiftRows or InvShiftRows.
pub(crate) const fn shifted(direction: Direction, column: usize, row: usize) -> usize {
    match direction {
        Direction::Encrypt => (column + 4 - row) % 4,
        Direction::Decrypt => (column + row) % 4,
    }
}

/// The index of the byte that ShiftRows or InvShiftRows moves to place `i`.
const fn from<const BACK: bool>(i: usize) -> usize {
    let (column, row) = (i / 4, i % 4);
    4 * ((column + if BACK { 4 - row } else { row }) % 4) + row
}

impl<B: LaneByte> Target<B, COMPARED> {
    /// The two bytes of one column with the most known bits.
    fn best(known: &Known) -> Self {
        let shifted = |column, row| shifted(known.direction, column, row);
        let bits = |column, row| known.mask[4 * shifted(column, row) + row].count_ones();
        let pairs = (0..4).flat_map(|column| (0..4).flat_map(move |a| (0..a).map(move |b| (column, [b, a]))));
        let best = pairs.max_by_key(|&(column, [a, b])| bits(column, a) + bits(column, b));
        let (column, rows) = best.unwrap_or((0, [0, 1]));
        let columns = rows.map(|row| shifted(column, row));
        let of = |block: &Block| rows.map(|row| B::pattern(block[4 * shifted(column, row) + row]));
        Self { column, rows, columns, output: of(&known.output), mask: of(&known.mask) }
    }
}

/// The start of a lane: the state that enters round `first`, and the last `NK` words of the schedule so far.
/// For decryption, it is the ciphertext and the key.
#[derive(Clone, Copy, Debug)]
pub struct Start<T, const NK: usize> {
    state: [T; 16],
    words: [[T; 4]; NK],
}

/// The first round of a lane, and the number of schedule words that exist by then.
pub(crate) const fn begins<const NK: usize>(usage: TableReuse) -> (usize, usize) {
    match usage {
        TableReuse::Once => (1, NK),
        // The schedule words whose S-boxes have bytes of the key itself as inputs.
        TableReuse::Often => (2, if NK == 4 { 8 } else { 12 }),
    }
}

impl<B: LaneByte, const NK: usize> Search<B, NK> {
    fn new(isa: B::Isa, cipher: Cipher, known: &Known) -> Self {
        let Known { direction, input, .. } = *known;
        Self { isa, rounds: cipher.rounds(), direction, input, target: Target::best(known) }
    }

    /// The use, as far as it matters: decryption always begins with the whole schedule.
    fn usage(&self, usage: TableReuse) -> TableReuse {
        if self.direction == Direction::Encrypt { usage } else { TableReuse::Once }
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

    fn start(&self, key: &[u8], usage: TableReuse, blocks: &mut [Block; START_BLOCKS]) {
        start::<NK>(&self.input, self.direction, key, self.usage(usage), blocks);
    }

    fn load(&self, blocks: &[Vec<u8>; START_BLOCKS]) -> Start<B, NK> {
        let [state, words] = [0, 1].map(|part| B::load(self.isa, &blocks[part]));
        // A key of four words has nothing in the last block.
        let more = if NK > 4 { B::load(self.isa, &blocks[2]) } else { words };
        Self::blocks_of(&[state, words, more])
    }

    fn run(
        &self,
        usage: TableReuse,
        bundles: &[Start<B, NK>],
        outer: &[Block; START_BLOCKS],
        found: &mut [u64],
    ) -> bool {
        let begins = begins::<NK>(self.usage(usage));
        let outer = &Self::blocks_of(&outer.map(|block| block.map(B::pattern)));
        let Self { isa, rounds, ref target, .. } = *self;
        match self.direction {
            Direction::Encrypt => {
                isa.enter(Try::<B, NK, false> { isa, rounds, begins, target, bundles, outer, found })
            }
            Direction::Decrypt => {
                isa.enter(Try::<B, NK, true> { isa, rounds, begins, target, bundles, outer, found })
            }
        }
    }

    fn key_of(&self, lane: usize) -> usize {
        B::key_of(lane)
    }
}

/// The kernel for a cipher's keys on one known block. `None` for ciphers other than AES.
pub fn search<B: LaneByte>(isa: B::Isa, cipher: Cipher, known: &Known) -> Option<Box<dyn SearchPart>> {
    if cipher.family() != Family::Aes {
        return None;
    }
    Some(match cipher.key_bytes() {
        16 => Box::new(Search::<B, 4>::new(isa, cipher, known)),
        24 => Box::new(Search::<B, 6>::new(isa, cipher, known)),
        _ => Box::new(Search::<B, 8>::new(isa, cipher, known)),
    })
}

/// Computes one key's start: the state, then the words of the schedule.
pub(crate) fn start<const NK: usize>(
    input: &Block,
    direction: Direction,
    key: &[u8],
    usage: TableReuse,
    blocks: &mut [Block; START_BLOCKS],
) {
    let [state, ring @ ..] = blocks;
    let ring = ring.as_flattened_mut();
    // A length known at compile time avoids a call for each key of a list.
    ring[..4 * NK].copy_from_slice(&key[..4 * NK]);
    *state = *input;
    if direction == Direction::Encrypt {
        *state = each!(i < 16 => state[i] ^ key[i]);
    }
    if usage == TableReuse::Often {
        first_round::<NK>(state, ring);
    }
}

/// Round 1, from the state and key that enter it. Also extends the schedule as far as its S-boxes have bytes
/// of the key as inputs.
fn first_round<const NK: usize>(state: &mut Block, ring: &mut [u8]) {
    let mut words: [u32; NK] = each!(i < NK => column(ring, i));
    let columns: [u32; 4] = each!(i < 4 => sub_word(column(state, i)));
    let bytes: [[u8; 4]; 4] = each!(i < 4 => columns[i].to_le_bytes());
    let mixed: [u32; 4] =
        each!(i < 4 => mix_column(u32::from_le_bytes(each!(row < 4 => bytes[(i + row) % 4][row]))));
    let (_, end) = begins::<NK>(TableReuse::Often);
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

/// The word with index `i`.
fn column(bytes: &[u8], i: usize) -> u32 {
    u32::from_le_bytes([bytes[4 * i], bytes[4 * i + 1], bytes[4 * i + 2], bytes[4 * i + 3]])
}

/// Tries all bundles with one outer key, in the direction of encryption or, with `BACK`, of decryption.
struct Try<'a, B: LaneByte, const NK: usize, const BACK: bool> {
    isa: B::Isa,
    rounds: usize,
    begins: (usize, usize),
    target: &'a Target<B, COMPARED>,
    bundles: &'a [Start<B, NK>],
    outer: &'a Start<B::Pattern, NK>,
    found: &'a mut [u64],
}

impl<B: LaneByte, const NK: usize, const BACK: bool> Kernel for Try<'_, B, NK, BACK> {
    type Output = bool;

    #[inline(always)]
    fn run(self) -> bool {
        let Self { isa, rounds, begins: (first, words), target, bundles, outer, found } = self;
        // Created here, because registers must be made inside code that is compiled for their instructions.
        let (way, back) = (B::way(isa, Direction::Encrypt), B::way(isa, Direction::Decrypt));
        let rounds = Rounds::<B> { isa, way, back, rounds, first, words };
        let mut any = 0;
        for (inner, found) in bundles.iter().zip(found.chunks_exact_mut(B::LANES.div_ceil(64))) {
            let state = each!(i < 16 => inner.state[i].sum(B::of(isa, &outer.state[i])));
            let words =
                each!(i < NK => each!(row < 4 => inner.words[i][row].sum(B::of(isa, &outer.words[i][row]))));
            let differences = if BACK {
                rounds.compared_back(state, words, target)
            } else {
                rounds.compared(state, words, target)
            };
            differences.zeros(found);
            any |= found.iter().fold(0, |any, word| any | word);
        }
        any != 0
    }
}

/// The constants of a run.
#[derive(Clone, Copy)]
pub(crate) struct Rounds<B: CipherByte> {
    pub(crate) isa: B::Isa,
    pub(crate) way: B::Substitution,
    /// The constants of the inverse steps.
    pub(crate) back: B::Substitution,
    /// Rounds of the cipher.
    pub(crate) rounds: usize,
    /// The round that states enter.
    pub(crate) first: usize,
    /// Schedule words that exist by then.
    pub(crate) words: usize,
}

#[cfg(feature = "search-steps")]
impl<B: LaneByte> Rounds<B> {
    /// The constants of a cipher with `rounds` rounds and keys of `words` words. Call it inside code that is
    /// compiled for the instructions of `isa`.
    #[inline(always)]
    fn of(isa: B::Isa, rounds: usize, words: usize) -> Self {
        let (way, back) = (B::way(isa, Direction::Encrypt), B::way(isa, Direction::Decrypt));
        Self { isa, way, back, rounds, first: 1, words }
    }

    /// A column after a middle round, from the bytes that ShiftRows, or its inverse, moves to it.
    #[inline(always)]
    fn column<const BACK: bool>(&self, entering: [B; 4], key: [B; 4]) -> [B; 4] {
        let rows = bytes!(B, entering[0]; row < 4 => self.sub_in::<BACK>(entering[row]));
        let words = [key; 4];
        self.mix_and_add::<4, BACK>(rows, &words, 0)
    }
}

impl<B: CipherByte> Rounds<B> {
    /// The differences of the compared bytes from the known ones.
    #[inline(always)]
    fn compared<const NK: usize, const N: usize>(
        &self,
        mut state: [B; 16],
        mut words: [[B; 4]; NK],
        target: &Target<B, N>,
    ) -> Differences<B, N> {
        let mut round = self.first;
        loop {
            self.schedule(&mut words, round);
            if round == self.rounds - 1 {
                break;
            }
            state = self.round::<NK, false>(state, &words, round);
            round += 1;
        }
        // Copies, because indices unknown at compile time would keep the arrays out of registers everywhere.
        let (state, words): ([B; 16], [[B; 4]; NK]) = (each!(i < 16 => state[i]), each!(i < NK => words[i]));
        self.last_rounds(&state, words, target)
    }

    /// The same for decryption: the whole schedule forwards, then backwards along with the rounds.
    #[inline(always)]
    fn compared_back<const NK: usize, const N: usize>(
        &self,
        mut state: [B; 16],
        key: [[B; 4]; NK],
        target: &Target<B, N>,
    ) -> Differences<B, N> {
        let mut words = key;
        for round in 1..=self.rounds {
            self.schedule(&mut words, round);
        }
        state = self.with_last_key(state, &words);
        let mut round = self.rounds - 1;
        loop {
            self.schedule_back(&mut words, round);
            if round == 1 {
                break;
            }
            state = self.round::<NK, true>(state, &words, round);
            round -= 1;
        }
        let (state, words): ([B; 16], [[B; 4]; NK]) = (each!(i < 16 => state[i]), each!(i < NK => words[i]));
        self.last_rounds_back(&state, words, key, target)
    }

    /// The state with the last round key added.
    #[inline(always)]
    pub(crate) fn with_last_key<const NK: usize>(&self, state: [B; 16], words: &[[B; 4]; NK]) -> [B; 16] {
        each!(i < 16 => state[i].sum(words[(4 * self.rounds + i / 4) % NK][i % 4]))
    }

    #[inline(always)]
    fn sub(&self, byte: B) -> B {
        byte.substituted(self.isa, self.way)
    }

    #[inline(always)]
    fn sub_back(&self, byte: B) -> B {
        byte.inv_substituted(self.isa, self.back)
    }

    /// Computes the words of round key `round`. They replace the words `NK` places before them.
    #[inline(always)]
    pub(crate) fn schedule<const NK: usize>(&self, words: &mut [[B; 4]; NK], round: usize) {
        if NK == 4 && !B::IN_MEMORY {
            unrolled!(i in [0 1 2 3] { self.expand(words, 4 * round + i); });
        } else {
            for i in (4 * round).max(self.words)..4 * round + 4 {
                self.expand(words, i);
            }
        }
    }

    /// Steps the words back from round key `round + 1` to round key `round`.
    #[inline(always)]
    pub(crate) fn schedule_back<const NK: usize>(&self, words: &mut [[B; 4]; NK], round: usize) {
        if NK == 4 && !B::IN_MEMORY {
            unrolled!(i in [7 6 5 4] { self.expand(words, 4 * round + i); });
        } else {
            let end = (4 * round + 4 + NK).min(4 * self.rounds + 4);
            for i in (4 * round + NK..end).rev() {
                self.expand(words, i);
            }
        }
    }

    /// Replaces word `i - NK` by word `i` of the schedule, or word `i` by word `i - NK`.
    #[inline(always)]
    pub(crate) fn expand<const NK: usize>(&self, words: &mut [[B; 4]; NK], i: usize) {
        let mut added = words[(i + NK - 1) % NK];
        let place = i % NK;
        if place == 0 {
            added = [added[1], added[2], added[3], added[0]];
        }
        if place == 0 || NK == 8 && place == 4 {
            added = bytes!(B, added[0]; row < 4 => self.sub(added[row]));
        }
        if place == 0 {
            added[0] = added[0].sum(B::round_constant(self.isa, i / NK));
        }
        words[place] = each!(row < 4 => words[place][row].sum(added[row]));
    }

    /// A middle round, or its inverse.
    #[inline(always)]
    pub(crate) fn round<const NK: usize, const BACK: bool>(
        &self,
        mut state: [B; 16],
        words: &[[B; 4]; NK],
        round: usize,
    ) -> [B; 16] {
        if B::IN_MEMORY {
            let before = state;
            for column in 0..4 {
                let rows = each!(row < 4 => self.sub_in::<BACK>(before[from::<BACK>(4 * column + row)]));
                let rows = self.mix_and_add::<NK, BACK>(rows, words, 4 * round + column);
                state[4 * column..][..4].copy_from_slice(&rows);
            }
        } else {
            self.sub_and_shift::<BACK>(&mut state);
            unrolled!(column in [0 1 2 3] {
                let at = 4 * column;
                let rows = each!(row < 4 => state[at + row]);
                let rows = self.mix_and_add::<NK, BACK>(rows, words, 4 * round + column);
                [state[at], state[at + 1], state[at + 2], state[at + 3]] = rows;
            });
        }
        state
    }

    /// MixColumns of one column and the addition of a schedule word, or their inverses.
    #[inline(always)]
    fn mix_and_add<const NK: usize, const BACK: bool>(
        &self,
        rows: [B; 4],
        words: &[[B; 4]; NK],
        word: usize,
    ) -> [B; 4] {
        let key = words[word % NK];
        if BACK {
            return B::inv_mixed(self.isa, self.back, each!(row < 4 => rows[row].sum(key[row])));
        }
        let rows = B::mixed(self.isa, self.way, rows);
        each!(row < 4 => rows[row].sum(key[row]))
    }

    /// SubBytes and ShiftRows, or their inverses, byte by byte, so that each value is needed only briefly.
    #[inline(always)]
    fn sub_and_shift<const BACK: bool>(&self, s: &mut [B; 16]) {
        // The rows that rotate left and right by one.
        let (left, right) = if BACK { (3, 1) } else { (1, 3) };
        unrolled!(column in [0 1 2 3] { s[4 * column] = self.sub_in::<BACK>(s[4 * column]); });
        let first = self.sub_in::<BACK>(s[left]);
        unrolled!(column in [0 1 2] {
            s[4 * column + left] = self.sub_in::<BACK>(s[4 * column + 4 + left]);
        });
        s[12 + left] = first;
        (s[2], s[10]) = (self.sub_in::<BACK>(s[10]), self.sub_in::<BACK>(s[2]));
        (s[6], s[14]) = (self.sub_in::<BACK>(s[14]), self.sub_in::<BACK>(s[6]));
        let last = self.sub_in::<BACK>(s[12 + right]);
        unrolled!(column in [2 1 0] {
            s[4 * column + 4 + right] = self.sub_in::<BACK>(s[4 * column + right]);
        });
        s[right] = last;
    }

    #[inline(always)]
    fn sub_in<const BACK: bool>(&self, byte: B) -> B {
        if BACK { self.sub_back(byte) } else { self.sub(byte) }
    }

    /// The last two rounds for the compared bytes. `words` are those of the last key but one.
    #[inline(always)]
    pub(crate) fn last_rounds<const NK: usize, const N: usize>(
        &self,
        state: &[B; 16],
        words: [[B; 4]; NK],
        target: &Target<B, N>,
    ) -> Differences<B, N> {
        let &Target { column, rows, columns, .. } = target;
        let last = 4 * self.rounds;
        let key = words[(last - 4 + column) % NK];
        let entering = bytes!(B, state[0]; row < 4 => self.sub(state[from::<false>(4 * column + row)]));
        let mixed = B::mixed(self.isa, self.way, entering);
        // Word 4·rounds is the only word of the last key with S-boxes.
        let before = words[(last + NK - 1) % NK];
        Differences(bytes!(B, mixed[0]; i < N => {
            let row = rows[i];
            let out = self.sub(mixed[row].sum(key[row]));
            let mut sum = self.sub(before[(row + 1) % 4]);
            if row == 0 {
                sum = sum.sum(B::round_constant(self.isa, last / NK));
            }
            for word in 0..=columns[i] {
                sum = sum.sum(words[(last + word) % NK][row]);
            }
            self.difference(out.sum(sum), target, i)
        }))
    }

    /// The same for the inverse cipher. `words` are those of key 1; some of them may still be words of `key`.
    #[inline(always)]
    pub(crate) fn last_rounds_back<const NK: usize, const N: usize>(
        &self,
        state: &[B; 16],
        words: [[B; 4]; NK],
        key: [[B; 4]; NK],
        target: &Target<B, N>,
    ) -> Differences<B, N> {
        let &Target { column, rows, columns, .. } = target;
        let added = words[(4 + column) % NK];
        let mixed = B::inv_mixed(
            self.isa,
            self.back,
            bytes!(B, state[0]; row < 4 => {
                self.sub_back(state[from::<true>(4 * column + row)]).sum(added[row])
            }),
        );
        Differences(bytes!(B, mixed[0]; i < N => {
            let row = rows[i];
            self.difference(self.sub_back(mixed[row]).sum(key[columns[i]][row]), target, i)
        }))
    }

    /// The difference of compared byte `i` from its known bits.
    #[inline(always)]
    fn difference<const N: usize>(&self, byte: B, target: &Target<B, N>, i: usize) -> B {
        byte.sum(B::of(self.isa, &target.output[i])).kept(B::of(self.isa, &target.mask[i]))
    }
}

/// The bits of the compared bytes that differ from the known ones.
pub(crate) struct Differences<B, const N: usize>(pub(crate) [B; N]);

impl<B: LaneByte> Differences<B, COMPARED> {
    #[inline(always)]
    fn zeros(self, found: &mut [u64]) {
        B::zeros(self.0, found);
    }
}
