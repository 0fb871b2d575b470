//! Key search as GPU programs: a known block, and many keys, each the XOR of an outer key and a key of a
//! table.
//!
//! * `source`: first a *row* of three four-word vectors per outer key, then from vector `table` of the job
//!   the inner table. Vector q of bundle b is `table + q·bundles + b`, so neighbouring threads read
//!   neighbouring vectors.
//! * `keys`: the words of [`Search::constants`], the known data.
//! * `goal`: the hits. Word 0 is their count. From word 2 on there are two words per hit (the thread and its
//!   lanes), as long as there is room.
//!
//! A thread takes one outer key and one bundle, which is 32 keys, bit-sliced, or a single key of Serpent. The
//! start of a key is as in `kernel::search`. For AES encryption round 1 has been done, and for Serpent
//! decryption the schedule has been run to its end. For described ciphers the start is the key.
//!
//! Invariants: a hit may be a wrong key. No right key is missed if `goal` has room for all hits, and if outer
//! keys and the table vary different bytes.

pub(crate) mod begun;

use std::array;
use std::cmp::Reverse;
use std::ops::Range;

use rayon::prelude::*;
use zeroize::Zeroizing;

use super::Listing;
use super::text::{Goal, Text};
use crate::block::{Block, Cipher, Direction};
use crate::circuit::emit::Language;
use crate::kernel::search::{Known, START_BLOCKS};
use crate::pool;

/// The number of words in an outer key's row.
pub const ROW_WORDS: usize = 4 * START_BLOCKS;

/// The number of words of `goal` before the first hit, and of each hit.
pub const HIT_WORDS: usize = 2;

/// The number of bundles in a table is a multiple of this, so that threads of a warp share an outer key.
const BUNDLES_STEP: usize = 32;

/// The minimum number of rows that one host thread prepares.
const ROWS_AT_ONCE: usize = 256;

/// The number of threads in a group. Larger groups are not faster.
pub(crate) const GROUP_THREADS: u32 = 64;

/// The minimum number of known bits. With fewer, too many wrong keys would pass for a device to be useful.
const BITS_MIN: u32 = 16;

/// The number of known bits from which hardly any wrong key reaches the host. Comparing more bits is useless.
const BITS_ENOUGH: u32 = 24;

/// The words of a job.
const JOB: [&str; 6] = ["outers", "bundles", "table", "room", "end", "unused"];

/// A program that tries keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Search {
    pub(crate) cipher: Cipher,
    pub(crate) direction: Direction,
    /// Only for AES: the single column, before the last ShiftRows or InvShiftRows, whose bytes are compared.
    column: Option<usize>,
}

/// The description of a family's programs.
pub(crate) struct Programs {
    /// The number of columns that can be compared singly. Each has its own program, in addition to the one
    /// that compares all columns.
    pub(crate) columns: usize,
    /// The number of keys that a thread tries: 32, bit-sliced, or 1.
    pub(crate) lanes: usize,
    /// The number of start columns, or words, for a key of the given number of words.
    pub(crate) start_columns: fn(usize) -> usize,
    /// The bytes of the result that are compared.
    pub(crate) compared: fn(Search) -> Vec<usize>,
    /// The shared memory per thread, in bytes.
    pub(crate) thread_bytes: fn(Search, Language) -> usize,
    /// The text. The group size matters only if a group shares memory.
    pub(crate) text: fn(Search, Language, u32) -> String,
    /// The start of a key, for the given input.
    pub(crate) start: fn(Search, &Block, &[u8], &mut [Block; START_BLOCKS]),
    /// [`Search::constants`].
    pub(crate) constants: fn(Search, &Known) -> Vec<u32>,
    /// The end value of the first loop's variable, if the text uses it.
    pub(crate) end: fn(Cipher, Direction) -> u32,
}

ciphers!(by_folder gpu::search::PROGRAMS: Programs);

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
    /// The best program for a known block; `None` if too few bits are known.
    pub fn new(cipher: Cipher, known: &Known) -> Option<Self> {
        let bits = |search: &Self| -> u32 {
            let compared = (search.programs().compared)(*search);
            compared.into_iter().map(|place| known.mask[place].count_ones()).sum()
        };
        // Among equally good programs the first one is used.
        let programs = all().filter(|search| (search.cipher, search.direction) == (cipher, known.direction));
        let best = programs.min_by_key(|search| Reverse(bits(search).min(BITS_ENOUGH)))?;
        (bits(&best) >= BITS_MIN).then_some(best)
    }

    /// The columns before the last ShiftRows or InvShiftRows that are compared.
    pub(crate) fn columns(self) -> Range<usize> {
        self.column.map_or(0..4, |column| column..column + 1)
    }

    const fn programs(self) -> &'static Programs {
        of_family(self.cipher.family())
    }

    /// The cipher whose keys it tries.
    pub const fn cipher(self) -> Cipher {
        self.cipher
    }

    /// The direction in which it runs the cipher.
    pub const fn direction(self) -> Direction {
        self.direction
    }

    /// The program's name. The entry point has `_` in place of `-`.
    pub fn name(self) -> String {
        let back = if self.direction == Direction::Decrypt { "-back" } else { "" };
        let compared = match self.column {
            Some(column @ 1..) => format!("-{column}"),
            None if self.programs().columns > 0 => "-all".to_owned(),
            _ => String::new(),
        };
        format!("{}-search{back}{compared}", self.cipher)
    }

    /// Its text, with the facts needed to start it on a device with `shared_bytes` bytes of shared memory per
    /// group.
    pub fn listing(self, language: Language, shared_bytes: usize) -> Listing {
        let thread_bytes = (self.programs().thread_bytes)(self, language);
        let group_threads = match thread_bytes {
            0 => GROUP_THREADS,
            // Whole warps.
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

    /// The number of keys that a thread tries.
    pub const fn lanes(self) -> usize {
        self.programs().lanes
    }

    /// The number of bundles in a table of `keys` keys.
    pub const fn bundles(self, keys: usize) -> usize {
        if keys == 0 { BUNDLES_STEP } else { keys.div_ceil(self.lanes()).next_multiple_of(BUNDLES_STEP) }
    }

    /// The maximum number of threads in a group that shares memory. With keys of eight words, a turn of the
    /// loop is two rounds, more instructions than the cache holds, and a large group shares fetched
    /// instructions. For other keys small groups are faster (measured on an H100).
    const fn sharing_threads_max(self) -> u32 {
        if self.cipher.key_bytes() == 32 { 256 } else { GROUP_THREADS }
    }

    /// The number of threads for the given numbers of outer keys and bundles.
    pub const fn threads(self, outers: usize, bundles: usize) -> usize {
        outers * bundles
    }

    /// A table of concatenated keys, in the layout that the program reads.
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

    /// The rows of concatenated outer keys. A row is the XOR of the key's start and the start of a zero key.
    pub fn rows(self, input: &Block, outer: &[u8]) -> Zeroizing<Vec<u32>> {
        let key_bytes = self.cipher.key_bytes();
        let zero = words(&self.start(input, &[0; 32][..key_bytes]));
        let mut rows = Zeroizing::new(vec![0; outer.len() / key_bytes * ROW_WORDS]);
        // This uses all threads, since a fast device waits for the rows.
        pool::ready();
        let both = rows.par_chunks_exact_mut(ROW_WORDS).zip(outer.par_chunks_exact(key_bytes));
        both.with_min_len(ROWS_AT_ONCE).for_each(|(row, key)| {
            let start = Zeroizing::new(self.start(input, key));
            row.copy_from_slice(&words(&start));
            row.iter_mut().zip(zero).for_each(|(word, zero)| *word ^= zero);
        });
        rows
    }

    /// The start of a key.
    fn start(self, input: &Block, key: &[u8]) -> [Block; START_BLOCKS] {
        let mut start = [[0; 16]; START_BLOCKS];
        (self.programs().start)(self, input, key, &mut start);
        start
    }

    /// The known data, in the layout that the program reads.
    pub fn constants(self, known: &Known) -> Vec<u32> {
        (self.programs().constants)(self, known)
    }

    /// The job words of a run: the numbers of outer keys and bundles, the first vector of the table, and the
    /// maximum number of hits.
    pub fn job(self, outers: u32, bundles: u32, table: u32, room: u32) -> [u32; 6] {
        [outers, bundles, table, room, (self.programs().end)(self.cipher, self.direction), 0]
    }

    /// The indices of the outer and inner keys of a hit.
    pub fn places(self, bundles: usize, [thread, lanes]: [u32; 2]) -> impl Iterator<Item = (usize, usize)> {
        let (outer, bundle) = (thread as usize / bundles, thread as usize % bundles);
        let hits = (0..self.lanes()).filter(move |lane| lanes >> lane & 1 == 1);
        hits.map(move |lane| (outer, bundle * self.lanes() + lane))
    }

    /// Begins the program's text.
    pub(crate) fn headed(self, language: Language) -> Text {
        let mut text = Text::headed(&self.name(), JOB, Goal::Words, language);
        if language == Language::Cuda {
            text.push("__device__ __forceinline__ void atomicStore(u32 *to, u32 v) {\n    *to = v;\n}\n\n");
        }
        text
    }

    /// Ends the program's text. `body` computes `hits` from the vectors `o0` to `o2` of the thread's outer
    /// key and the vectors of its bundle. The first of these is at index `at`.
    pub(crate) fn ended(self, text: Text, group_threads: u32, body: &str) -> String {
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

/// The words of these blocks.
pub(crate) fn words(blocks: &[Block; START_BLOCKS]) -> [u32; ROW_WORDS] {
    array::from_fn(|at| u32::from_le_bytes(array::from_fn(|byte| blocks.as_flattened()[4 * at + byte])))
}
