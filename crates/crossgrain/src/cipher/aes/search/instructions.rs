//! Search for an AES key with AES instructions, four keys per 128 bits.
//!
//! Layout: the schedule has the layout of `lane_schedule`. A round key is transposed into the four blocks
//! that the round instruction needs.
//!
//! One word of the result is compared, so the words of the last round key after it are not computed.
//!
//! Needs `AesLanes`.
//! Source: FIPS 197 §5.1 and §5.2.

use std::fmt;

use super::{begins, column, start};
use crate::arch::{AesLanes, Isa, Kernel, Lane32, each, unrolled};
use crate::block::{Block, Cipher, Direction, Family};
use crate::cipher::aes::lane_schedule::{LaneSchedule, WORDS_MAX, group, round_key};
use crate::kernel::search::{Known, Lanes, START_BLOCKS, SearchPart, TableReuse};

/// A kernel for keys of `NK` words.
#[derive(Clone)]
pub struct Search<W: AesLanes, const NK: usize> {
    isa: W::Isa,
    direction: Direction,
    input: Block,
    target: Target,
}

/// The word that is compared.
#[derive(Clone, Copy)]
struct Target {
    column: usize,
    output: u32,
    mask: u32,
}

impl Target {
    /// The word with the most known bits.
    fn best(known: &Known) -> Self {
        let bits = |&i: &usize| column(&known.mask, i).count_ones();
        let best = (0..4).rev().max_by_key(bits).unwrap_or(0);
        Self { column: best, output: column(&known.output, best), mask: column(&known.mask, best) }
    }
}

/// The start of four keys per 128 bits: their states as blocks, and the last words of their schedules so far.
#[derive(Clone, Copy, Debug)]
pub struct Start<W, const NK: usize> {
    state: [W; 4],
    words: [W; NK],
}

impl<W: AesLanes + Lane32, const NK: usize> Search<W, NK> {
    const LANES: usize = W::BITS / 32;

    /// The use, as far as it matters: decryption always begins with the whole schedule.
    fn usage(&self, usage: TableReuse) -> TableReuse {
        if self.direction == Direction::Encrypt { usage } else { TableReuse::Once }
    }

    fn new(isa: W::Isa, known: &Known) -> Self {
        Self { isa, direction: known.direction, input: known.input, target: Target::best(known) }
    }
}

impl<W: AesLanes, const NK: usize> fmt::Debug for Search<W, NK> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "aes::search::instructions::Search({NK} words, {} bits)", W::BITS)
    }
}

impl<W: AesLanes + Lane32, const NK: usize> Lanes for Search<W, NK> {
    type Start = Start<W, NK>;

    fn lanes(&self) -> usize {
        Self::LANES
    }

    fn key_bytes(&self) -> usize {
        4 * NK
    }

    fn start(&self, key: &[u8], usage: TableReuse, blocks: &mut [Block; START_BLOCKS]) {
        start::<NK>(&self.input, self.direction, key, self.usage(usage), blocks);
    }

    fn load(&self, blocks: &[Vec<u8>; START_BLOCKS]) -> Start<W, NK> {
        self.isa.enter(Loaded(self.isa, blocks))
    }

    fn load_keys(&self, halves: [&[u8]; 2]) -> Option<Start<W, NK>> {
        Some(self.isa.enter(LoadedKeys { search: self, halves }))
    }

    fn run(
        &self,
        usage: TableReuse,
        bundles: &[Start<W, NK>],
        outer: &[Block; START_BLOCKS],
        found: &mut [u64],
    ) -> bool {
        let &Self { isa, target, .. } = self;
        match (self.direction, usage) {
            (Direction::Encrypt, TableReuse::Once) => {
                isa.enter(Try::<W, NK, ONCE> { isa, target, bundles, outer, found })
            }
            (Direction::Encrypt, TableReuse::Often) => {
                isa.enter(Try::<W, NK, OFTEN> { isa, target, bundles, outer, found })
            }
            (Direction::Decrypt, _) => isa.enter(Try::<W, NK, BACK> { isa, target, bundles, outer, found }),
        }
    }

    /// Lane i of 128-bit part p has the key that was in part p of register i.
    fn key_of(&self, lane: usize) -> usize {
        lane % 4 * W::BLOCKS + lane / 4
    }
}

/// The kernel for a cipher's keys on one known block. `None` for ciphers other than AES.
pub fn search<W: AesLanes + Lane32>(
    isa: W::Isa,
    cipher: Cipher,
    known: &Known,
) -> Option<Box<dyn SearchPart>> {
    if cipher.family() != Family::Aes {
        return None;
    }
    Some(match cipher.key_bytes() {
        16 => Box::new(Search::<W, 4>::new(isa, known)),
        24 => Box::new(Search::<W, 6>::new(isa, known)),
        _ => Box::new(Search::<W, 8>::new(isa, known)),
    })
}

/// Loads starts: states in block order, schedule words transposed.
struct Loaded<'a, W: AesLanes, const NK: usize>(W::Isa, &'a [Vec<u8>; START_BLOCKS]);

impl<W: AesLanes + Lane32, const NK: usize> Kernel for Loaded<'_, W, NK> {
    type Output = Start<W, NK>;

    #[inline(always)]
    fn run(self) -> Start<W, NK> {
        let Self(isa, blocks) = self;
        let [state, low, high]: [[W; 4]; START_BLOCKS] = each!(part < START_BLOCKS => each!(i < 4 => W::load(isa, &blocks[part][i * W::BYTES..][..W::BYTES])));
        let (low, high) = (W::transpose_lanes(low), W::transpose_lanes(high));
        Start { state, words: each!(i < NK => if i < 4 { low[i] } else { high[i - 4] }) }
    }
}

/// Loads keys of four or eight words.
struct LoadedKeys<'a, W: AesLanes + Lane32, const NK: usize> {
    search: &'a Search<W, NK>,
    halves: [&'a [u8]; 2],
}

impl<W: AesLanes + Lane32, const NK: usize> Kernel for LoadedKeys<'_, W, NK> {
    type Output = Start<W, NK>;

    #[inline(always)]
    fn run(self) -> Start<W, NK> {
        let Self { search: &Search { isa, direction, ref input, .. }, halves } = self;
        let [first, second] = halves;
        // The second half of a short key is missing.
        let second = if NK > 4 { second } else { first };
        let input = W::broadcast(isa, input);
        let low: [W; 4] = each!(i < 4 => W::load(isa, &first[i * W::BYTES..][..W::BYTES]));
        let high: [W; 4] = each!(i < 4 => W::load(isa, &second[i * W::BYTES..][..W::BYTES]));
        let state = each!(i < 4 => if direction == Direction::Encrypt { input ^ low[i] } else { input });
        let (low, high) = (W::transpose_lanes(low), W::transpose_lanes(high));
        Start { state, words: each!(i < NK => if i < 4 { low[i] } else { high[i - 4] }) }
    }
}

/// The modes of the kernel: encryption with a table that is used once or often, and decryption.
const ONCE: u8 = 0;
const OFTEN: u8 = 1;
const BACK: u8 = 2;

/// Tries all bundles with one outer key.
struct Try<'a, W: AesLanes, const NK: usize, const WAY: u8> {
    isa: W::Isa,
    target: Target,
    bundles: &'a [Start<W, NK>],
    outer: &'a [Block; START_BLOCKS],
    found: &'a mut [u64],
}

impl<W: AesLanes + Lane32, const NK: usize, const WAY: u8> Kernel for Try<'_, W, NK, WAY> {
    type Output = bool;

    #[inline(always)]
    fn run(self) -> bool {
        let Self { isa, target, bundles, outer: [state, ring @ ..], found } = self;
        let ring = ring.as_flattened();
        let state = W::broadcast(isa, state);
        let words: [W; NK] = each!(i < NK => W::splat_lanes(isa, column(ring, i)));
        let rounds = Rounds::new(isa, target);
        let mut any = 0;
        for (inner, found) in bundles.iter().zip(found) {
            let state = each!(i < 4 => inner.state[i] ^ state);
            let words = each!(i < NK => inner.words[i] ^ words[i]);
            let differences = match WAY {
                BACK => rounds.differences_back::<NK>(state, words),
                _ => rounds.differences::<NK, WAY>(state, words),
            };
            *found = differences.zero_lanes();
            any |= *found;
        }
        any != 0
    }
}

/// The constants of a run.
#[derive(Clone, Copy)]
struct Rounds<W: AesLanes> {
    isa: W::Isa,
    schedule: LaneSchedule<W>,
    column: usize,
    output: W,
    mask: W,
}

impl<W: AesLanes + Lane32> Rounds<W> {
    #[inline(always)]
    fn new(isa: W::Isa, target: Target) -> Self {
        Self {
            isa,
            schedule: LaneSchedule::new(isa),
            column: target.column,
            output: W::splat_lanes(isa, target.output),
            mask: W::splat_lanes(isa, target.mask),
        }
    }

    /// The differences of the compared word from the known one.
    #[inline(always)]
    fn differences<const NK: usize, const WAY: u8>(self, mut state: [W; 4], start: [W; NK]) -> W {
        let (first, ready) = begins::<NK>(if WAY == OFTEN { TableReuse::Often } else { TableReuse::Once });
        let mut words = self.schedule.begun(start, ready);
        let last = 4 * (NK + 6);
        unrolled!(i in [4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31 32 33 34 35 36 37
            38 39 40 41 42 43 44 45 46 47 48 49 50 51 52 53 54 55] {
            if i >= ready && i < last && i.is_multiple_of(group::<NK>()) {
                self.schedule.expand::<NK>(&mut words, i, ready);
            }
            if i % 4 == 3 && i / 4 >= first && i < last {
                let keys = round_key(&words, i - 3);
                state = each!(block < 4 => state[block].encrypt_round(keys[block]));
            }
        });
        // The column is the same for all keys of a search and not secret.
        match self.column {
            0 => self.last::<NK, 0>(state, words),
            1 => self.last::<NK, 1>(state, words),
            2 => self.last::<NK, 2>(state, words),
            _ => self.last::<NK, 3>(state, words),
        }
    }

    /// The same for decryption: the whole schedule forwards, then the rounds with its keys in reverse (FIPS
    /// 197 §5.3).
    #[inline(always)]
    fn differences_back<const NK: usize>(self, state: [W; 4], start: [W; NK]) -> W {
        let mut words = self.schedule.begun(start, NK);
        for i in (NK..4 * (NK + 7)).step_by(group::<NK>()) {
            self.schedule.expand::<NK>(&mut words, i, NK);
        }
        let zero = W::splat(self.isa, 0);
        let keys = round_key(&words, 4 * (NK + 6));
        let mut state = each!(block < 4 => state[block] ^ keys[block]);
        for round in (1..NK + 6).rev() {
            let keys = round_key(&words, 4 * round);
            // InvMixColumns: the other steps of the two instructions cancel.
            state = each!(block < 4 => {
                state[block].decrypt_last_round(keys[block]).encrypt_last_round(zero).decrypt_round(zero)
            });
        }
        let columns = W::transpose_lanes(each!(block < 4 => state[block].decrypt_last_round(zero)));
        (columns[self.column] ^ words[self.column] ^ self.output) & self.mask
    }

    /// The last round of one column.
    #[inline(always)]
    fn last<const NK: usize, const COLUMN: usize>(&self, state: [W; 4], words: [W; WORDS_MAX]) -> W {
        let last = 4 * (NK + 6);
        let mut word = self.schedule.substituted::<NK>(&words, last, words[last - NK]);
        unrolled!(k in [1 2 3] {
            if k <= COLUMN {
                word = word ^ words[last - NK + k];
            }
        });
        let zero = W::splat(self.isa, 0);
        let columns = W::transpose_lanes(each!(block < 4 => state[block].encrypt_last_round(zero)));
        (columns[COLUMN] ^ word ^ self.output) & self.mask
    }
}
