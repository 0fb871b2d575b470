//! Affixes: strings that are put before or after each word. They are the candidates of masks, or the words of
//! a second list.
//!
//! An affix with *n* strings makes *n* candidates of a word. With several affixes, each string of one is
//! combined with each of the next, and the last affix varies fastest. The number of a candidate is therefore
//!
//! ```text
//! ((word * rules + rule) * strings of the first affix + string) * strings of the second affix + …
//! ```
//!
//! A string that a rule rejects, or a line that is no word, keeps its number and gives no candidate.
//!
//! Layout: the words of a second list are held in memory. The strings of masks are generated in blocks of
//! [`BLOCK`], on each thread ([`Cursor`]).

use std::fmt;
use std::io::Read;

use num_bigint::BigUint;
use zeroize::Zeroizing;

use super::{Error, InSpace, Refused, Rule, Spaces, Words};

/// The most bytes of a second list, whose words are held in memory.
const LIST_BYTES_MAX: usize = 1 << 30;

/// The most candidates of one word. A list has less than 2⁶⁴ lines, so numbers fit into 128 bits.
pub(super) const PER_WORD_MAX: u64 = 1 << 63;

/// Strings of masks that a thread generates at a time.
const BLOCK: u64 = 1024;

/// The place of an affix.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// Before the word. Of several, a later one is nearer to the word.
    Before,
    /// After the word. Of several, a later one is further from the word.
    After,
}

/// Strings that are put before or after each word.
pub struct Affix {
    side: Side,
    count: u64,
    source: Source,
}

enum Source {
    Masks(Spaces),
    List(Strings),
}

/// Strings back to back.
#[derive(Default)]
struct Strings {
    bytes: Zeroizing<Vec<u8>>,
    /// The end of each string.
    ends: Vec<usize>,
    /// Sorted indices of strings that give no candidate.
    refused: Vec<u64>,
}

impl Affix {
    /// The candidates of masks.
    ///
    /// # Errors
    /// [`Error::ManyAffixes`] if there are 2⁶³ or more.
    pub fn masks(side: Side, spaces: Spaces) -> Result<Self, Error> {
        let count = u64::try_from(spaces.size()).map_err(|_| Error::ManyAffixes)?;
        if count >= PER_WORD_MAX {
            Err(Error::ManyAffixes)
        } else {
            Ok(Self { side, count, source: Source::Masks(spaces) })
        }
    }

    /// The words of a list, changed by a rule. All are held in memory. Lines that are no words are counted in
    /// `refused`.
    ///
    /// # Errors
    /// [`Error::Words`] if the list cannot be read; [`Error::LongList`] if it has more than 1 GiB.
    pub fn words<R: Read>(
        side: Side,
        mut words: Words<R>,
        rule: &Rule,
        refused: &mut Refused,
    ) -> Result<Self, Error> {
        let mut strings = Strings::default();
        let (mut scratch, mut changed) = (Zeroizing::default(), Zeroizing::default());
        while let Some(chunk) = words.chunk().map_err(Error::Words)? {
            for (number, word) in (chunk.first()..).zip(chunk.words()) {
                match chunk.read(word, &mut scratch) {
                    Ok(word) if rule.apply(word, &mut changed) => strings.push(&changed),
                    Ok(_) => strings.refuse(),
                    Err(refusal) => {
                        refused.count(refusal, number);
                        strings.refuse();
                    }
                }
            }
            if strings.bytes.len() > LIST_BYTES_MAX {
                return Err(Error::LongList);
            }
        }
        Ok(Self { side, count: strings.ends.len() as u64, source: Source::List(strings) })
    }

    /// The number of strings.
    pub const fn count(&self) -> u64 {
        self.count
    }
}

impl Strings {
    /// Appends a string. A vector that reallocates would leave a copy in freed memory, so this function moves and
    /// wipes the bytes.
    fn push(&mut self, string: &[u8]) {
        super::batch::append(&mut self.bytes, string);
        self.ends.push(self.bytes.len());
    }

    fn refuse(&mut self) {
        self.refused.push(self.ends.len() as u64);
        self.ends.push(self.bytes.len());
    }

    fn get(&self, at: usize) -> Option<&[u8]> {
        let from = if at == 0 { 0 } else { self.ends[at - 1] };
        let is_refused = !self.refused.is_empty() && self.refused.binary_search(&(at as u64)).is_ok();
        (!is_refused).then(|| &self.bytes[from..self.ends[at]])
    }
}

/// The affixes of a thread, at one combination of their strings.
pub(super) struct Combination<'a> {
    cursors: Vec<Cursor<'a>>,
}

/// Reads the strings of an affix. Those of masks are generated in blocks.
struct Cursor<'a> {
    affix: &'a Affix,
    /// The index of the string.
    at: u64,
    /// The index of the first string in the block.
    first: u64,
    block: Strings,
}

impl<'a> Combination<'a> {
    pub(super) fn new(affixes: &'a [Affix]) -> Self {
        let cursor = |affix| Cursor { affix, at: 0, first: 0, block: Strings::default() };
        Self { cursors: affixes.iter().map(cursor).collect() }
    }

    /// Selects the combination with this number.
    pub(super) fn select(&mut self, mut number: u64) {
        for cursor in self.cursors.iter_mut().rev() {
            cursor.at = number % cursor.affix.count;
            number /= cursor.affix.count;
        }
        self.cursors.iter_mut().for_each(Cursor::load);
    }

    /// Selects the next combination; after the last one, the first.
    pub(super) fn step(&mut self) {
        for cursor in self.cursors.iter_mut().rev() {
            cursor.at += 1;
            if cursor.at < cursor.affix.count {
                cursor.load();
                return;
            }
            cursor.at = 0;
            cursor.load();
        }
    }

    /// Writes the word with its affixes to `candidate`. Returns false if the combination gives no candidate.
    pub(super) fn attach(&self, word: &[u8], candidate: &mut Zeroizing<Vec<u8>>) -> bool {
        candidate.clear();
        let sides = [Side::Before, Side::After];
        sides.into_iter().all(|side| {
            if side == Side::After {
                super::batch::append(candidate, word);
            }
            let mut ends = self.cursors.iter().filter(|cursor| cursor.affix.side == side);
            ends.all(|cursor| {
                cursor.string().is_some_and(|string| {
                    super::batch::append(candidate, string);
                    true
                })
            })
        })
    }
}

impl Cursor<'_> {
    /// Generates the block that contains the string.
    fn load(&mut self) {
        let Source::Masks(spaces) = &self.affix.source else { return };
        let len = self.block.ends.len() as u64;
        if (self.first..self.first + len).contains(&self.at) {
            return;
        }
        self.first = self.at / BLOCK * BLOCK;
        self.block.bytes.clear();
        self.block.ends.clear();
        let numbers = BigUint::from(self.first)..BigUint::from(self.affix.count.min(self.first + BLOCK));
        for InSpace { space, numbers, .. } in spaces.parts(numbers) {
            // A block has few strings.
            let count = usize::try_from(&numbers.end - &numbers.start).unwrap_or_default();
            let strings = space.candidates(&numbers.start, count);
            strings.chunks_exact(space.len_bytes()).for_each(|string| self.block.push(string));
        }
    }

    fn string(&self) -> Option<&[u8]> {
        match &self.affix.source {
            Source::Masks(_) => self.block.get((self.at - self.first) as usize),
            Source::List(strings) => strings.get(self.at as usize),
        }
    }
}

impl fmt::Debug for Affix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Affix({:?}, {} strings, secret)", self.side, self.count)
    }
}
