//! Messages with a separate key each, by AES instructions: the key schedules of all lanes side by side, then
//! rounds with each lane's keys.
//!
//! Layout: round key r of lane l is block l of row r. A register with blocks of several lanes loads
//! neighbouring keys of a row. A register with blocks of one message broadcasts one key. A register normally
//! holds consecutive blocks of one message, so nothing has to be gathered. If no message is longer than a
//! block, a register holds one block of each.
//!
//! Needs `AesLanes`.
//! Source: `lane_schedule`; FIPS 197 §5.1, and §5.3.5 for the equivalent inverse cipher.
//! Invariants: a message's block is read before it is replaced. Round keys are in memory that `run` wipes.

use std::fmt;

use super::chains;
use super::frames::counters_from;
use super::instructions::{Cipher, IN_FLIGHT};
use super::key::{ROUND_KEYS_MAX, WideKeys};
use super::lane_schedule::{LaneSchedule, group, round_key};
use super::rounds::{RoundKey, rounds, with_due, with_first};
use crate::arch::{AesLanes, Isa, Kernel, Lane32, each};
use crate::block::{BLOCK_BYTES, Block, Direction, Family, Key};
use crate::kernel::WholePart as _;
use crate::kernel::own_keys::{Keyed, LANES_MAX, RecordSource, by_steps, counter, run_alone};
use crate::message::Record;
use crate::mode::chained::chain::{ChainMessage, Rule};

/// Records of at least this length are run with the same round keys in all lanes of a register
/// (`examples/own_keys.rs`, Zen 5).
const fn long_bytes<W: AesLanes>() -> usize {
    if W::REGISTERS == 32 { 5 * W::BYTES } else { 4 * W::BYTES }
}

/// One round key of every lane.
#[repr(align(64))]
pub(super) struct Row([Block; LANES_MAX]);

impl Row {
    /// The keys of the lanes whose blocks are in this register.
    #[inline(always)]
    fn of_register<W: AesLanes>(&self, isa: W::Isa, register: usize) -> W {
        W::load(isa, &self.0.as_flattened()[register * W::BYTES..][..W::BYTES])
    }

    /// The key of one lane, in every lane of a register.
    #[inline(always)]
    fn of_lane<W: AesLanes>(&self, isa: W::Isa, lane: usize) -> W {
        W::broadcast(isa, &self.0[lane % LANES_MAX])
    }

    #[inline(always)]
    fn set<W: AesLanes>(&mut self, register: usize, keys: W) {
        keys.store(&mut self.0.as_flattened_mut()[register * W::BYTES..][..W::BYTES]);
    }
}

impl<W: AesLanes> RoundKey<W> for Row {
    #[inline(always)]
    fn load(&self, isa: W::Isa, register: usize) -> W {
        self.of_register(isa, register)
    }
}

/// The cipher in one direction with one key per lane.
pub struct OwnKeys<W: AesLanes> {
    isa: W::Isa,
    direction: Direction,
    key_bytes: usize,
    rows: [Row; ROUND_KEYS_MAX],
    /// For long records: the key of a single lane.
    alone: Cipher<W>,
}

impl<W: AesLanes> OwnKeys<W> {
    /// The cipher for keys of `key_bytes` bytes, without keys so far.
    pub fn new(isa: W::Isa, direction: Direction, key_bytes: usize) -> Self {
        const { assert!(IN_FLIGHT * W::BLOCKS <= LANES_MAX) };
        Self {
            isa,
            direction,
            key_bytes,
            rows: [const { Row([[0; BLOCK_BYTES]; LANES_MAX]) }; ROUND_KEYS_MAX],
            alone: Cipher::with_keys(isa, direction, WideKeys::none(key_bytes / 4 + 6)),
        }
    }

    const fn rows(&self) -> Rows<'_> {
        let (first, rest) = self.rows.split_at(1);
        let (middle, last) = rest.split_at(self.key_bytes / 4 + 5);
        Rows { first: &first[0], middle, last: &last[0] }
    }
}

/// Round keys in the order in which a direction uses them.
#[derive(Clone, Copy)]
pub(super) struct Rows<'a> {
    pub(super) first: &'a Row,
    pub(super) middle: &'a [Row],
    pub(super) last: &'a Row,
}

impl<W: AesLanes + Lane32> Keyed for OwnKeys<W> {
    fn lanes(&self) -> usize {
        IN_FLIGHT * W::BLOCKS
    }

    fn set(&mut self, keys: &[&Key]) {
        assert!(keys.len() <= Keyed::lanes(self));
        let [low, high, ..] = &mut self.rows;
        for ((low, high), key) in low.0.iter_mut().zip(&mut high.0).zip(keys) {
            let (cipher, bytes) = (key.cipher(), key.bytes());
            assert!(
                cipher.family() == Family::Aes && bytes.len() == self.key_bytes,
                "a key of another cipher"
            );
            let (bytes, more) = bytes.split_at(BLOCK_BYTES);
            low.copy_from_slice(bytes);
            high[..more.len()].copy_from_slice(more);
        }
        let Self { isa, ref mut rows, .. } = *self;
        let count = keys.len();
        match (self.direction, self.key_bytes) {
            (Direction::Encrypt, 16) => isa.enter(Expand::<W, 4, true> { isa, rows, count }),
            (Direction::Encrypt, 24) => isa.enter(Expand::<W, 6, true> { isa, rows, count }),
            (Direction::Encrypt, _) => isa.enter(Expand::<W, 8, true> { isa, rows, count }),
            (Direction::Decrypt, 16) => isa.enter(Expand::<W, 4, false> { isa, rows, count }),
            (Direction::Decrypt, 24) => isa.enter(Expand::<W, 6, false> { isa, rows, count }),
            (Direction::Decrypt, _) => isa.enter(Expand::<W, 8, false> { isa, rows, count }),
        }
    }

    fn blocks(&self, blocks: &mut [Block; LANES_MAX], _count: usize) {
        let (isa, rows) = (self.isa, self.rows());
        match self.direction {
            Direction::Encrypt => isa.enter(Blocks::<W, true> { isa, rows, blocks }),
            Direction::Decrypt => isa.enter(Blocks::<W, false> { isa, rows, blocks }),
        }
    }

    fn run(&mut self, source: RecordSource, records: &mut [&mut Record<'_>]) {
        let (mut longest, isa) = (0, self.isa);
        for (lane, record) in records.iter_mut().enumerate() {
            if record.buffers.len_bytes() >= long_bytes::<W>() {
                for (round, row) in self.rows.iter().enumerate().take(self.key_bytes / 4 + 7) {
                    self.alone.keys.set(round, &row.0[lane]);
                }
                run_alone(source, record, &|source, buffers| self.alone.run(source, buffers));
            } else {
                longest = longest.max(record.buffers.len_bytes());
            }
        }
        let rows = self.rows();
        match self.direction {
            _ if longest <= BLOCK_BYTES => {
                by_steps(source, records, long_bytes::<W>(), &|blocks, count| self.blocks(blocks, count));
            }
            Direction::Encrypt => isa.enter(Run::<W, true> { isa, rows, source, records }),
            Direction::Decrypt => isa.enter(Run::<W, false> { isa, rows, source, records }),
        }
    }

    fn wants_alike(&self) -> bool {
        false
    }

    fn chain(&self, rule: Rule, chains: &mut [&mut ChainMessage<'_>], blocks: usize) {
        let Rows { first, middle, last } = self.rows();
        chains::run::<W, _>(self.isa, (first, middle, last), rule, chains, blocks);
    }
}

impl<W: AesLanes> fmt::Debug for OwnKeys<W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "aes::own_keys::OwnKeys({} bits, {:?}, secret)", W::BITS, self.direction)
    }
}

/// Computes the schedules of the first `count` lanes. The keys, of `NK` words each, are in the first rows.
struct Expand<'a, W: AesLanes, const NK: usize, const ENCRYPT: bool> {
    isa: W::Isa,
    rows: &'a mut [Row; ROUND_KEYS_MAX],
    count: usize,
}

/// Registers of round keys that one schedule produces.
const TOGETHER: usize = 4;

impl<W: AesLanes + Lane32, const NK: usize, const ENCRYPT: bool> Kernel for Expand<'_, W, NK, ENCRYPT> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Self { isa, rows, count } = self;
        let schedule = LaneSchedule::<W>::new(isa);
        let zero = W::splat(isa, 0);
        for register in (0..count.div_ceil(W::BLOCKS)).step_by(TOGETHER) {
            let low = W::transpose_lanes(each!(i < TOGETHER => rows[0].of_register(isa, register + i)));
            let high = W::transpose_lanes(each!(i < TOGETHER => rows[1].of_register(isa, register + i)));
            let start = each!(i < NK => if i < 4 { low[i] } else { high[i - 4] });
            let mut words = schedule.begun::<NK>(start, NK);
            for i in (NK..4 * (NK + 7)).step_by(group::<NK>()) {
                schedule.expand::<NK>(&mut words, i, NK);
            }
            for round in 0..NK + 7 {
                let keys = round_key(&words, 4 * round);
                let row = &mut rows[if ENCRYPT { round } else { NK + 6 - round }];
                let stays = ENCRYPT || round == 0 || round == NK + 6;
                for (i, key) in keys.into_iter().enumerate() {
                    // InvMixColumns: the other steps of the two instructions cancel.
                    let key = if stays { key } else { key.encrypt_last_round(zero).decrypt_round(zero) };
                    row.set(register + i, key);
                }
            }
        }
    }
}

/// One block per lane.
struct Blocks<'a, W: AesLanes, const ENCRYPT: bool> {
    isa: W::Isa,
    rows: Rows<'a>,
    blocks: &'a mut [Block; LANES_MAX],
}

impl<W: AesLanes, const ENCRYPT: bool> Kernel for Blocks<'_, W, ENCRYPT> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Self { isa, rows: Rows { first, middle, last }, blocks } = self;
        let bytes = &mut blocks.as_flattened_mut()[..IN_FLIGHT * W::BYTES];
        let state: [W; IN_FLIGHT] = each!(i < IN_FLIGHT => W::load(isa, &bytes[i * W::BYTES..][..W::BYTES]));
        let mut state = with_first(isa, state, first);
        let due = rounds::<_, _, IN_FLIGHT, ENCRYPT>(isa, &mut state, first, middle);
        for (i, word) in with_due(isa, state, due).into_iter().enumerate() {
            let word = last_round::<W, ENCRYPT>(word, last.of_register(isa, i));
            word.store(&mut bytes[i * W::BYTES..][..W::BYTES]);
        }
    }
}

#[inline(always)]
fn round<W: AesLanes, const ENCRYPT: bool>(word: W, key: W) -> W {
    if ENCRYPT { word.encrypt_round(key) } else { word.decrypt_round(key) }
}

#[inline(always)]
fn last_round<W: AesLanes, const ENCRYPT: bool>(word: W, key: W) -> W {
    if ENCRYPT { word.encrypt_last_round(key) } else { word.decrypt_last_round(key) }
}

/// Runs the records that are not long. All registers in flight are used, and they may belong to different
/// records.
struct Run<'a, 'b, 'c, W: AesLanes, const ENCRYPT: bool> {
    isa: W::Isa,
    rows: Rows<'a>,
    source: RecordSource,
    records: &'a mut [&'b mut Record<'c>],
}

impl<W: AesLanes, const ENCRYPT: bool> Kernel for Run<'_, '_, '_, W, ENCRYPT> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Self { isa, rows, source, records } = self;
        let (mut lane, mut at) = (0, 0);
        let mut before = W::splat(isa, 0);
        while lane < records.len() {
            let zero = W::splat(isa, 0);
            let (mut state, mut added) = ([zero; IN_FLIGHT], [zero; IN_FLIGHT]);
            let mut places = [(0, 0); IN_FLIGHT];
            let mut count = 0;
            while count < IN_FLIGHT && lane < records.len() {
                let record = &records[lane];
                let len_bytes = record.buffers.len_bytes();
                if at >= len_bytes || len_bytes >= long_bytes::<W>() {
                    (lane, at) = (lane + 1, 0);
                    continue;
                }
                assert!(source == RecordSource::Counter || len_bytes.is_multiple_of(BLOCK_BYTES));
                let input = loaded::<W>(isa, &record.buffers.input()[at..]);
                (state[count], added[count]) = around(isa, source, &record.iv, input, at, &mut before);
                places[count] = (lane, at);
                (count, at) = (count + 1, at + W::BYTES);
            }
            let lanes = each!(i < IN_FLIGHT => places[i].0);
            all_rounds::<W, ENCRYPT>(isa, rows, &mut state, added, lanes);
            for (word, (lane, at)) in state.into_iter().zip(places).take(count) {
                stored(word, &mut records[lane].buffers.output_mut()[at..]);
            }
        }
    }
}

/// The cipher on registers, each with the key of its lane. `added` is added to the results.
#[inline(always)]
fn all_rounds<W: AesLanes, const ENCRYPT: bool>(
    isa: W::Isa,
    Rows { first, middle, last }: Rows<'_>,
    state: &mut [W; IN_FLIGHT],
    added: [W; IN_FLIGHT],
    lanes: [usize; IN_FLIGHT],
) {
    for (word, lane) in state.iter_mut().zip(lanes) {
        *word = *word ^ first.of_lane(isa, lane);
    }
    for row in middle {
        for (word, lane) in state.iter_mut().zip(lanes) {
            *word = round::<W, ENCRYPT>(*word, row.of_lane(isa, lane));
        }
    }
    for (i, word) in state.iter_mut().enumerate() {
        *word = last_round::<W, ENCRYPT>(*word, last.of_lane::<W>(isa, lanes[i]) ^ added[i]);
    }
}

/// The first register of the rest of a message, with zeros after its end.
#[inline(always)]
fn loaded<W: AesLanes>(isa: W::Isa, left: &[u8]) -> W {
    match left.get(..W::BYTES) {
        Some(bytes) => W::load(isa, bytes),
        None => W::load_part(isa, left),
    }
}

#[inline(always)]
fn stored<W: AesLanes>(word: W, left: &mut [u8]) {
    match left.get_mut(..W::BYTES) {
        Some(bytes) => word.store(bytes),
        None => word.store_part(left),
    }
}

/// For the register of input at byte `at` of a record: the register that enters the cipher, and the one that
/// is added to the result. `before` is the previous register of input.
#[inline(always)]
fn around<W: AesLanes>(
    isa: W::Isa,
    source: RecordSource,
    iv: &Block,
    input: W,
    at: usize,
    before: &mut W,
) -> (W, W) {
    match source {
        RecordSource::Bytes => (input, W::splat(isa, 0)),
        RecordSource::Counter => (counters_from(isa, counter(iv).skip((at / BLOCK_BYTES) as u128)), input),
        RecordSource::Chained => {
            let earlier = input.preceded_by(if at == 0 { W::broadcast(isa, iv) } else { *before });
            *before = input;
            (input, earlier)
        }
    }
}
