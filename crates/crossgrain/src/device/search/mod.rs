//! Key search as programs for GPUs: a known block, and many sums of an outer key and a key of a table.
//!
//! `source` holds a *row* for each outer key, three vectors of four words, and from vector `table` of the job on the
//! inner table: vector q of bundle b is `table + q·bundles + b`, so that neighbouring threads read neighbouring vectors. A
//! thread takes an outer key and a bundle, which is 32 keys, bit-sliced, or one of Serpent. What a key begins from is
//! that of `part::search`: of AES by encryption, round 1 has been done; of Serpent by decryption, the schedule has come to its
//! end. Of ciphers that are described once it is the key. `keys` are the words of [`Search::constants`], what is known.
//! `goal` takes hits: word 0 counts them, and from word 2 on stand a thread and its lanes for each, as many as there is
//! room for.
//! Holds: a hit may be wrong, but none is missed as long as there is room, and as no byte of a key is varied by both an
//! outer key and the table.

mod aes;
mod begun;
mod described;
mod serpent;

use std::array;
use std::cmp::Reverse;
use std::ops::Range;

use rayon::prelude::*;
use zeroize::Zeroizing;

use super::Listing;
use super::text::{Goal, Text};
use crate::block::{Block, Cipher, Direction};
use crate::circuit::emit::Language;
use crate::part::search::{Known, START_BLOCKS};
use crate::pool;

/// Words of an outer key's row.
pub const ROW_WORDS: usize = 4 * START_BLOCKS;

/// Words of `goal` before the first hit, and of each hit.
pub const HIT_WORDS: usize = 2;

/// A table has a multiple of so many bundles, so that threads that run together share an outer key.
const BUNDLES_STEP: usize = 32;

/// Rows that a thread of the host makes at least.
const ROWS_AT_ONCE: usize = 256;

/// Threads in a group, which needs no more of them to be fast.
const GROUP_THREADS: u32 = 64;

/// With fewer bits known more wrong keys would pass than a device is worth.
const BITS_MIN: u32 = 16;

/// With as many known the host has hardly a wrong key to try: more need not be compared.
const BITS_ENOUGH: u32 = 24;

/// The words of a job.
const JOB: [&str; 6] = ["outers", "bundles", "table", "room", "end", "unused"];

/// A program that tries keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Search {
    cipher: Cipher,
    direction: Direction,
    /// Of AES, the column before the last ShiftRows or InvShiftRows whose bytes alone are compared.
    column: Option<usize>,
}

/// What is known of a family's programs.
struct Programs {
    /// Columns whose bytes alone may be compared, by a program each beside the one that compares all.
    columns: usize,
    /// Keys that a thread tries: 32, bit-sliced, or one.
    lanes: usize,
    /// Columns, or words, that a key of so many begins from.
    start_columns: fn(usize) -> usize,
    /// The bytes of the result that are compared.
    compared: fn(Search) -> Vec<usize>,
    /// Bytes of shared memory that a thread takes.
    thread_bytes: fn(Search, Language) -> usize,
    /// The text, for groups of so many threads if these share memory.
    text: fn(Search, Language, u32) -> String,
    /// What a key begins from, by the input.
    start: fn(Search, &Block, &[u8], &mut [Block; START_BLOCKS]),
    /// [`Search::constants`].
    constants: fn(Search, &Known) -> Vec<u32>,
    /// Where the variable of the first loop ends, if the text asks for it.
    end: fn(Cipher, Direction) -> u32,
}

ciphers!(by_folder PROGRAMS: Programs);

/// All programs.
pub fn all() -> impl Iterator<Item = Search> {
    let both = [Direction::Encrypt, Direction::Decrypt];
    Cipher::ALL.into_iter().flat_map(move |cipher| both.map(move |direction| (cipher, direction))).flat_map(
        |(cipher, direction)| {
            let columns = (0..of_family(cipher.family()).columns).map(Some).chain([None]);
            columns.map(move |column| Search { cipher, direction, column })
        },
    )
}

impl Search {
    /// The program for a known block; `None` where too little is known.
    pub fn new(cipher: Cipher, known: &Known) -> Option<Self> {
        let bits = |search: &Self| -> u32 {
            let compared = (search.programs().compared)(*search);
            compared.into_iter().map(|place| known.mask[place].count_ones()).sum()
        };
        // The first of those that are as good.
        let programs = all().filter(|search| (search.cipher, search.direction) == (cipher, known.direction));
        let best = programs.min_by_key(|search| Reverse(bits(search).min(BITS_ENOUGH)))?;
        (bits(&best) >= BITS_MIN).then_some(best)
    }

    /// The columns before the last ShiftRows or InvShiftRows that are compared.
    fn columns(self) -> Range<usize> {
        self.column.map_or(0..4, |column| column..column + 1)
    }

    const fn programs(self) -> &'static Programs {
        of_family(self.cipher.family())
    }

    /// The cipher whose keys it tries.
    pub const fn cipher(self) -> Cipher {
        self.cipher
    }

    /// Which way it goes.
    pub const fn direction(self) -> Direction {
        self.direction
    }

    /// Its name; its entry point has `_` for `-`.
    pub fn name(self) -> String {
        let back = if self.direction == Direction::Decrypt { "-back" } else { "" };
        let compared = match self.column {
            Some(column @ 1..) => format!("-{column}"),
            None if self.programs().columns > 0 => "-all".to_owned(),
            _ => String::new(),
        };
        format!("{}-search{back}{compared}", self.cipher)
    }

    /// Its text, and how it is started, on a device of which a group of threads may share so many bytes.
    pub fn listing(self, language: Language, shared_bytes: usize) -> Listing {
        let thread_bytes = (self.programs().thread_bytes)(self, language);
        let group_threads = match thread_bytes {
            0 => GROUP_THREADS,
            // In whole warps.
            _ => ((shared_bytes / thread_bytes) as u32 / 32 * 32).clamp(32, self.sharing_threads_max()),
        };
        Listing {
            entry: self.entry(),
            text: (self.programs().text)(self, language, group_threads),
            group_threads,
            dynamic_bytes: group_threads * thread_bytes as u32,
            reads_source: true,
            reads_keys: true,
        }
    }

    fn entry(self) -> String {
        self.name().replace('-', "_")
    }

    /// Keys that a thread tries.
    pub const fn lanes(self) -> usize {
        self.programs().lanes
    }

    /// Bundles of a table of so many keys.
    pub const fn bundles(self, keys: usize) -> usize {
        if keys == 0 { BUNDLES_STEP } else { keys.div_ceil(self.lanes()).next_multiple_of(BUNDLES_STEP) }
    }

    /// Most threads of a group that shares memory. With keys of eight words a turn of the loop is two rounds, more instructions than
    /// are cached: a large group shares what it fetches. Otherwise small groups are faster (measured on an H100).
    const fn sharing_threads_max(self) -> u32 {
        if self.cipher.key_bytes() == 32 { 256 } else { GROUP_THREADS }
    }

    /// Threads for so many outer keys and bundles.
    pub const fn threads(self, outers: usize, bundles: usize) -> usize {
        outers * bundles
    }

    /// A table of whole keys, one after another, as the program reads it.
    pub fn table(self, input: &Block, keys: &[u8]) -> Zeroizing<Vec<u32>> {
        let key_bytes = self.cipher.key_bytes();
        let (bundles, columns) =
            (self.bundles(keys.len() / key_bytes), (self.programs().start_columns)(key_bytes / 4));
        let mut table = Zeroizing::new(Vec::new());
        for (at, bundle) in keys.chunks(self.lanes() * key_bytes).enumerate() {
            let starts = bundle.chunks_exact(key_bytes).map(|key| self.start(input, key));
            let starts = Zeroizing::new(starts.collect::<Vec<_>>());
            let words = match self.lanes() {
                1 => Zeroizing::new(words(&starts[0])[..columns].to_vec()),
                _ => begun::sliced(&starts, columns),
            };
            table.resize(words.len() * bundles, 0);
            for (vector, words) in words.as_chunks::<4>().0.iter().enumerate() {
                table[4 * (vector * bundles + at)..][..4].copy_from_slice(words);
            }
        }
        table
    }

    /// The rows of outer keys, one after another: what their starts differ by from that of a key of zeros.
    pub fn rows(self, input: &Block, outer: &[u8]) -> Zeroizing<Vec<u32>> {
        let key_bytes = self.cipher.key_bytes();
        let zero = words(&self.start(input, &[0; 32][..key_bytes]));
        let mut rows = Zeroizing::new(vec![0; outer.len() / key_bytes * ROW_WORDS]);
        // On all threads: a fast device waits for them.
        pool::ready();
        let both = rows.par_chunks_exact_mut(ROW_WORDS).zip(outer.par_chunks_exact(key_bytes));
        both.with_min_len(ROWS_AT_ONCE).for_each(|(row, key)| {
            let start = Zeroizing::new(self.start(input, key));
            row.copy_from_slice(&words(&start));
            row.iter_mut().zip(zero).for_each(|(word, zero)| *word ^= zero);
        });
        rows
    }

    /// What a key begins from.
    fn start(self, input: &Block, key: &[u8]) -> [Block; START_BLOCKS] {
        let mut start = [[0; 16]; START_BLOCKS];
        (self.programs().start)(self, input, key, &mut start);
        start
    }

    /// What is known, as the program reads it.
    pub fn constants(self, known: &Known) -> Vec<u32> {
        (self.programs().constants)(self, known)
    }

    /// What a run is told: how many outer keys and bundles there are, the vector at which the table begins, and the
    /// number of hits that there is room for.
    pub fn job(self, outers: u32, bundles: u32, table: u32, room: u32) -> [u32; 6] {
        [outers, bundles, table, room, (self.programs().end)(self.cipher, self.direction), 0]
    }

    /// The places of the outer and the inner keys that a hit tells.
    pub fn places(self, bundles: usize, [thread, lanes]: [u32; 2]) -> impl Iterator<Item = (usize, usize)> {
        let (outer, bundle) = (thread as usize / bundles, thread as usize % bundles);
        let hits = (0..self.lanes()).filter(move |lane| lanes >> lane & 1 == 1);
        hits.map(move |lane| (outer, bundle * self.lanes() + lane))
    }

    /// The beginning of its text.
    fn headed(self, language: Language) -> Text {
        let mut text = Text::headed(&self.name(), JOB, Goal::Words, language);
        if language == Language::Cuda {
            text.push("__device__ __forceinline__ void atomicStore(u32 *to, u32 v) {\n    *to = v;\n}\n\n");
        }
        text
    }

    /// The end, around what a thread of a group does to know its `hits` by the vectors `o0` to `o2` of its outer key and those
    /// of its bundle, the first of which is at `at`.
    fn ended(self, text: Text, group_threads: u32, body: &str) -> String {
        let body = format!(
            "    let outer = thread / job.bundles;
    if (outer >= job.outers) {{
        return;
    }}
    let at = job.table + thread % job.bundles;
    let o0 = source[3u * outer];
    let o1 = source[3u * outer + 1u];
    let o2 = source[3u * outer + 2u];
{body}    if (hits != 0u) {{
        let place = atomicAdd(&goal[0], 1u);
        if (place < job.room) {{
            atomicStore(&goal[2u * place + 2u], thread);
            atomicStore(&goal[2u * place + 3u], hits);
        }}
    }}
"
        );
        text.entry_named(&self.entry(), group_threads, false, &body)
    }
}

/// Blocks as words.
fn words(blocks: &[Block; START_BLOCKS]) -> [u32; ROW_WORDS] {
    array::from_fn(|at| u32::from_le_bytes(array::from_fn(|byte| blocks.as_flattened()[4 * at + byte])))
}
