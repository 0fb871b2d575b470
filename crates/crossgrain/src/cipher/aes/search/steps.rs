//! The steps of a search for an AES key, in every representation: the key schedule, the rounds, the last two
//! rounds.
//!
//! A kernel for a complete search computes the schedule along with the rounds, and stores no round key. These
//! steps store them, so that each step may have another representation. Between two steps, the planner
//! converts the values that later steps need.
//!
//! * Bytes and bits of many keys: [`Schedule`], [`FirstRounds`] and [`LastRounds`], by the functions of the
//!   complete search. The last two rounds compute only the compared bytes.
//! * Schedule words of many keys (`vsliced`), with AES instructions: [`WordSchedule`].
//! * Blocks with AES instructions, each with its own round keys: [`BlockRounds`].
//! * Blocks by table look-ups: [`TableSchedule`] and [`TableRounds`].
//!
//! Layout: `kernel::search::Batch`. Round keys are in the order of FIPS 197 for both directions.
//! Source: FIPS 197 §5.1 to §5.3.

use std::fmt;

use super::lanes::LaneByte;
use super::{COMPARED, Rounds, Target, from};
use crate::arch::{AesLanes, Isa, Kernel, Lane32, TILE_BYTES, Tile, each};
use crate::block::{BLOCK_BYTES, Block, Cipher, Direction};
use crate::cipher::Description as _;
use crate::cipher::aes::description::{Aes, SubWord, expand};
use crate::cipher::aes::lane_schedule::{LaneSchedule, group};
use crate::cipher::aes::scalar::inv_mix_column;
use crate::cipher::aes::table::{shift_rows_from, sub_table, t_tables};
use crate::kernel::search::{Batch, KeyStep, Known};

/// The key schedule on bytes or bits of many keys.
pub struct Schedule<B: LaneByte> {
    isa: B::Isa,
    cipher: Cipher,
}

impl<B: LaneByte> Schedule<B> {
    /// The step for keys of this cipher.
    pub const fn new(isa: B::Isa, cipher: Cipher) -> Self {
        Self { isa, cipher }
    }
}

impl<B: LaneByte> fmt::Debug for Schedule<B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "aes::Schedule({}, {} lanes)", self.cipher, B::LANES)
    }
}

impl<B: LaneByte> KeyStep for Schedule<B> {
    fn run(&self, batch: &mut Batch) {
        let Self { isa, cipher } = *self;
        let rounds = cipher.rounds();
        match cipher.key_bytes() {
            16 => isa.enter(Expand::<B, 4> { isa, rounds, batch }),
            24 => isa.enter(Expand::<B, 6> { isa, rounds, batch }),
            _ => isa.enter(Expand::<B, 8> { isa, rounds, batch }),
        }
    }
}

struct Expand<'a, B: LaneByte, const NK: usize> {
    isa: B::Isa,
    rounds: usize,
    batch: &'a mut Batch,
}

impl<B: LaneByte, const NK: usize> Kernel for Expand<'_, B, NK> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Self { isa, rounds: count, batch: Batch { keys, key, round_keys, .. } } = self;
        let rounds = Rounds::<B>::of(isa, count, NK);
        for bundle in 0..*keys / B::LANES {
            let mut words: [[B; 4]; NK] = each!(i < NK => word(isa, &key[i / 4], bundle, i % 4));
            for i in 0..4 * (count + 1) {
                if i >= NK {
                    rounds.expand(&mut words, i);
                }
                for (row, byte) in words[i % NK].into_iter().enumerate() {
                    byte.write(isa, &mut round_keys[i / 4], bundle, i % 4 * 4 + row);
                }
            }
        }
    }
}

/// Word `i` of a bundle's blocks.
#[inline(always)]
fn word<B: LaneByte>(isa: B::Isa, tile: &Tile, bundle: usize, i: usize) -> [B; 4] {
    each!(row < 4 => B::read(isa, tile, bundle, 4 * i + row))
}

/// The four words of a bundle's blocks.
#[inline(always)]
fn words<B: LaneByte>(isa: B::Isa, tile: &Tile, bundle: usize) -> [[B; 4]; 4] {
    each!(i < 4 => word(isa, tile, bundle, i))
}

/// All rounds but the last two, on bytes or bits of the known block under many keys.
pub struct FirstRounds<B: LaneByte> {
    isa: B::Isa,
    rounds: usize,
    direction: Direction,
    input: [B::Pattern; 16],
}

impl<B: LaneByte> FirstRounds<B> {
    /// The step for this known block.
    pub fn new(isa: B::Isa, cipher: Cipher, known: &Known) -> Self {
        let Known { direction, input, .. } = *known;
        Self { isa, rounds: cipher.rounds(), direction, input: input.map(B::pattern) }
    }
}

impl<B: LaneByte> fmt::Debug for FirstRounds<B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "aes::FirstRounds({} lanes)", B::LANES)
    }
}

impl<B: LaneByte> KeyStep for FirstRounds<B> {
    fn run(&self, batch: &mut Batch) {
        match self.direction {
            Direction::Encrypt => self.isa.enter(First::<B, false>(self, batch)),
            Direction::Decrypt => self.isa.enter(First::<B, true>(self, batch)),
        }
    }
}

struct First<'a, B: LaneByte, const BACK: bool>(&'a FirstRounds<B>, &'a mut Batch);

impl<B: LaneByte, const BACK: bool> Kernel for First<'_, B, BACK> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Self(FirstRounds { isa, rounds: count, input, .. }, batch) = self;
        let (isa, count) = (*isa, *count);
        let Batch { keys, round_keys, state: tile, .. } = batch;
        let rounds = Rounds::<B>::of(isa, count, 4);
        for bundle in 0..*keys / B::LANES {
            let key = words::<B>(isa, &round_keys[if BACK { count } else { 0 }], bundle);
            let mut state: [B; 16] = each!(i < 16 => B::of(isa, &input[i]).sum(key[i / 4][i % 4]));
            for turn in 1..=count - Aes::LAST_KEYS {
                let round = if BACK { count - turn } else { turn };
                state = rounds.round::<4, BACK>(state, &words(isa, &round_keys[round], bundle), round);
            }
            for (i, byte) in state.into_iter().enumerate() {
                byte.write(isa, tile, bundle, i);
            }
        }
    }
}

/// The last two rounds, for the bytes that are compared. All others get their known values.
pub struct LastRounds<B: LaneByte> {
    isa: B::Isa,
    rounds: usize,
    direction: Direction,
    /// The column of the compared bytes before the last round's shift of rows.
    column: usize,
    /// The places of the compared bytes in the result. As bytes, because several longer numbers would be loaded into a vector
    /// register, where `cargo xtask asm` takes them for data.
    places: [u8; COMPARED],
    output: [B::Pattern; 16],
}

impl<B: LaneByte> LastRounds<B> {
    /// The step for this known block.
    pub fn new(isa: B::Isa, cipher: Cipher, known: &Known) -> Self {
        let Known { direction, output, .. } = *known;
        let Target { column, rows, columns, .. } = Target::<B, COMPARED>::best(known);
        Self {
            isa,
            rounds: cipher.rounds(),
            direction,
            column,
            places: each!(i < COMPARED => (4 * columns[i] + rows[i]) as u8),
            output: output.map(B::pattern),
        }
    }
}

impl<B: LaneByte> fmt::Debug for LastRounds<B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "aes::LastRounds({} lanes)", B::LANES)
    }
}

impl<B: LaneByte> KeyStep for LastRounds<B> {
    fn run(&self, batch: &mut Batch) {
        match self.direction {
            Direction::Encrypt => self.isa.enter(Last::<B, false>(self, batch)),
            Direction::Decrypt => self.isa.enter(Last::<B, true>(self, batch)),
        }
    }
}

struct Last<'a, B: LaneByte, const BACK: bool>(&'a LastRounds<B>, &'a mut Batch);

impl<B: LaneByte, const BACK: bool> Kernel for Last<'_, B, BACK> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Self(&LastRounds { isa, rounds: count, column, places, ref output, .. }, batch) = self;
        let Batch { keys, round_keys, state: tile, .. } = batch;
        let rounds = Rounds::<B>::of(isa, count, 4);
        let (before, last) = if BACK { (1, 0) } else { (count - 1, count) };
        let place = |i: usize| usize::from(places[i] % 16);
        for bundle in 0..*keys / B::LANES {
            let byte = |tile: &Tile, at: usize| B::read(isa, tile, bundle, at);
            let entering = each!(row < 4 => byte(tile, from::<BACK>(4 * column + row)));
            let key = word(isa, &round_keys[before], bundle, column);
            // In the tile, because the compared rows are known only at run time.
            for (row, byte) in rounds.column::<BACK>(entering, key).into_iter().enumerate() {
                byte.write(isa, tile, bundle, row);
            }
            let compared: [B; COMPARED] = each!(i < COMPARED => {
                let out = rounds.sub_in::<BACK>(byte(tile, place(i) % 4));
                out.sum(B::read(isa, &round_keys[last], bundle, place(i)))
            });
            for (i, pattern) in output.iter().enumerate() {
                B::of(isa, pattern).write(isa, tile, bundle, i);
            }
            for (i, out) in compared.into_iter().enumerate() {
                out.write(isa, tile, bundle, place(i));
            }
        }
    }
}

/// The key schedule with AES instructions, on words of many keys.
pub struct WordSchedule<W: AesLanes> {
    isa: W::Isa,
    cipher: Cipher,
}

impl<W: AesLanes> WordSchedule<W> {
    /// The step for keys of this cipher.
    pub const fn new(isa: W::Isa, cipher: Cipher) -> Self {
        Self { isa, cipher }
    }
}

impl<W: AesLanes> fmt::Debug for WordSchedule<W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "aes::WordSchedule({}, {} bits)", self.cipher, W::BITS)
    }
}

impl<W: AesLanes + Lane32> KeyStep for WordSchedule<W> {
    fn run(&self, batch: &mut Batch) {
        let Self { isa, cipher } = *self;
        match cipher.key_bytes() {
            16 => isa.enter(ExpandWords::<W, 4>(isa, cipher.rounds(), batch)),
            24 => isa.enter(ExpandWords::<W, 6>(isa, cipher.rounds(), batch)),
            _ => isa.enter(ExpandWords::<W, 8>(isa, cipher.rounds(), batch)),
        }
    }
}

struct ExpandWords<'a, W: AesLanes, const NK: usize>(W::Isa, usize, &'a mut Batch);

impl<W: AesLanes + Lane32, const NK: usize> Kernel for ExpandWords<'_, W, NK> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Self(isa, rounds, Batch { keys, key, round_keys, .. }) = self;
        let schedule = LaneSchedule::<W>::new(isa);
        for bundle in 0..*keys / (W::BITS / 32) {
            let [low, high]: [&[W; 4]; 2] = each!(half < 2 => key[half].bundle(isa, bundle));
            let start: [W; NK] = each!(i < NK => if i < 4 { low[i] } else { high[i - 4] });
            let mut words = schedule.begun(start, NK);
            for i in (NK..4 * (rounds + 1)).step_by(group::<NK>()) {
                schedule.expand::<NK>(&mut words, i, NK);
            }
            for (tile, words) in round_keys.iter_mut().zip(words.as_chunks::<4>().0) {
                *tile.bundle_mut(isa, bundle) = *words;
            }
        }
    }
}

/// All rounds with AES instructions, each block with its own round keys.
pub struct BlockRounds<W: AesLanes> {
    isa: W::Isa,
    rounds: usize,
    direction: Direction,
    input: Block,
}

impl<W: AesLanes> BlockRounds<W> {
    /// The step for this known block.
    pub const fn new(isa: W::Isa, cipher: Cipher, known: &Known) -> Self {
        let Known { direction, input, .. } = *known;
        Self { isa, rounds: cipher.rounds(), direction, input }
    }
}

impl<W: AesLanes> fmt::Debug for BlockRounds<W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "aes::BlockRounds({} bits)", W::BITS)
    }
}

impl<W: AesLanes> KeyStep for BlockRounds<W> {
    fn run(&self, batch: &mut Batch) {
        self.isa.enter(OnBlocks(self, batch));
    }
}

/// Registers whose rounds overlap, so that none waits for an instruction's result.
const AT_ONCE: usize = 8;

struct OnBlocks<'a, W: AesLanes>(&'a BlockRounds<W>, &'a mut Batch);

impl<W: AesLanes> Kernel for OnBlocks<'_, W> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Self(&BlockRounds { isa, rounds, direction, ref input }, batch) = self;
        let Batch { keys, round_keys, state: tile, .. } = batch;
        let (input, zero) = (W::broadcast(isa, input), W::splat(isa, 0));
        for group in 0..(*keys * BLOCK_BYTES).div_ceil(AT_ONCE * W::BYTES) {
            let key = |round: usize| -> &[W; AT_ONCE] { round_keys[round].bundle(isa, group) };
            let state = match direction {
                Direction::Encrypt => {
                    let mut state = each!(i < AT_ONCE => input ^ key(0)[i]);
                    for round in 1..rounds {
                        state = each!(i < AT_ONCE => state[i].encrypt_round(key(round)[i]));
                    }
                    each!(i < AT_ONCE => state[i].encrypt_last_round(key(rounds)[i]))
                }
                Direction::Decrypt => {
                    let mut state = each!(i < AT_ONCE => input ^ key(rounds)[i]);
                    for round in (1..rounds).rev() {
                        // InvMixColumns: the other steps of the last two instructions cancel.
                        state = each!(i < AT_ONCE => {
                            let keyed = state[i].decrypt_last_round(key(round)[i]);
                            keyed.encrypt_last_round(zero).decrypt_round(zero)
                        });
                    }
                    each!(i < AT_ONCE => state[i].decrypt_last_round(key(0)[i]))
                }
            };
            *tile.bundle_mut(isa, group) = state;
        }
    }
}

const _: () = assert!(TILE_BYTES.is_multiple_of(AT_ONCE * 64));

/// The key schedule, one key after another, by table look-ups. The addresses depend on the keys.
#[derive(Clone, Copy, Debug)]
pub struct TableSchedule(pub Cipher);

/// SubWord by table look-up.
#[derive(Clone, Copy)]
struct ByTable;

impl SubWord for ByTable {
    fn sub_word(self, word: u32) -> u32 {
        let table = sub_table(Direction::Encrypt);
        u32::from_le_bytes(word.to_le_bytes().map(|byte| table[usize::from(byte)]))
    }
}

/// Bytes of the longest schedule.
const SCHEDULE_BYTES: usize = 240;

impl KeyStep for TableSchedule {
    fn run(&self, batch: &mut Batch) {
        let Batch { keys, key: [low, high], round_keys, .. } = batch;
        let key_bytes = self.0.key_bytes();
        let mut words = zeroize::Zeroizing::new([0; SCHEDULE_BYTES]);
        let words = &mut words[..BLOCK_BYTES * round_keys.len()];
        for number in 0..*keys {
            let place = number * BLOCK_BYTES..(number + 1) * BLOCK_BYTES;
            words[..BLOCK_BYTES].copy_from_slice(&low.bytes()[place.clone()]);
            words[BLOCK_BYTES..2 * BLOCK_BYTES].copy_from_slice(&high.bytes()[place.clone()]);
            expand(words, key_bytes / 4, ByTable);
            for (tile, round_key) in round_keys.iter_mut().zip(words.chunks_exact(BLOCK_BYTES)) {
                tile.bytes_mut()[place.clone()].copy_from_slice(round_key);
            }
        }
    }
}

/// All rounds by table look-ups, one key after another. The addresses depend on the keys.
#[derive(Clone, Copy)]
pub struct TableRounds {
    direction: Direction,
    input: Block,
}

impl TableRounds {
    /// The step for this known block.
    pub const fn new(known: &Known) -> Self {
        Self { direction: known.direction, input: known.input }
    }

    /// The block under one key. `key` returns round keys.
    fn block(self, last: usize, key: impl Fn(usize) -> Block) -> Block {
        let Self { direction, input } = self;
        let (table, sub) = (t_tables(Direction::Encrypt), sub_table(direction));
        let sum = |a: &Block, b: &Block| -> Block { each!(i < 16 => a[i] ^ b[i]) };
        let moved = |state: &Block, to: usize| usize::from(state[shift_rows_from(direction, to)]);
        let order = |turn: usize| if direction == Direction::Encrypt { turn } else { last - turn };
        let mut state = sum(&input, &key(order(0)));
        for turn in 1..last {
            let mut next = key(order(turn));
            for (column, word) in next.as_chunks_mut::<4>().0.iter_mut().enumerate() {
                let place = |row: usize| moved(&state, 4 * column + row);
                *word = match direction {
                    Direction::Encrypt => (0..4).fold(*word, |sum, row| {
                        (u32::from_le_bytes(sum) ^ table[row][place(row)]).to_le_bytes()
                    }),
                    Direction::Decrypt => {
                        let keyed: [u8; 4] = each!(row < 4 => sub[place(row)] ^ word[row]);
                        inv_mix_column(u32::from_le_bytes(keyed)).to_le_bytes()
                    }
                };
            }
            state = next;
        }
        let last = key(order(last));
        each!(to < 16 => sub[moved(&state, to)] ^ last[to])
    }
}

impl fmt::Debug for TableRounds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("aes::TableRounds")
    }
}

impl KeyStep for TableRounds {
    fn run(&self, batch: &mut Batch) {
        let Batch { keys, round_keys, state, .. } = batch;
        let state = state.bytes_mut().as_chunks_mut().0;
        for (number, block) in state.iter_mut().enumerate().take(*keys) {
            let key = |round: usize| round_keys[round].bytes().as_chunks().0[number];
            *block = self.block(round_keys.len() - 1, key);
        }
    }
}
