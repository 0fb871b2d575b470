//! The changes that turn each word of a list into candidates: rules, and then [affixes](Affix).
//!
//! Candidates are numbered word by word, and within a word rule by rule. The number of a candidate is enough to
//! make it again, so a range of numbers can be split at any place, also within a word.

use std::io::Read;
use std::ops::Range;

use zeroize::Zeroizing;

use super::affix::Combination;
use super::words::{Refusal, Refused, Words};
use super::{Affix, Chunk, Error, Rule};

/// Rules and affixes, which are applied to every word.
#[derive(Clone, Copy, Debug)]
pub struct Changes<'a> {
    rules: &'a [Rule],
    affixes: &'a [Affix],
    per_word: u64,
}

/// Makes candidates on one thread. The buffers are reused from word to word.
pub(super) struct Maker<'a> {
    changes: Changes<'a>,
    combination: Combination<'a>,
    bytes: Zeroizing<Vec<u8>>,
    changed: Zeroizing<Vec<u8>>,
    candidate: Zeroizing<Vec<u8>>,
}

impl<'a> Changes<'a> {
    /// All rules, each with all combinations of affixes.
    ///
    /// # Errors
    /// [`Error::ManyAffixes`] if a word has 2⁶³ candidates or more.
    pub fn new(rules: &'a [Rule], affixes: &'a [Affix]) -> Result<Self, Error> {
        Ok(Self { rules, affixes, per_word: Affix::combined(affixes, rules.len())? })
    }

    /// Only rules.
    pub(super) const fn by_rules(rules: &'a [Rule]) -> Self {
        Self { rules, affixes: &[], per_word: rules.len() as u64 }
    }

    /// The number of candidates of each word.
    pub const fn per_word(&self) -> u64 {
        self.per_word
    }

    /// The number of the first candidate of a word.
    pub fn first(&self, line: u64) -> u128 {
        u128::from(line) * u128::from(self.per_word)
    }

    /// The numbers of the candidates of a chunk.
    pub(super) fn numbers(&self, chunk: &Chunk) -> Range<u128> {
        self.first(chunk.first())..self.first(chunk.first() + chunk.count())
    }

    /// Whether words are candidates without a change.
    pub(super) fn are_none(&self) -> bool {
        self.affixes.is_empty() && self.rules == [Rule::nothing()]
    }

    /// Calls `each` with every candidate of a list that has a number in `range`, in order, until it fails.
    ///
    /// # Errors
    /// [`Error::Words`] if the list cannot be read; the error of `each`.
    pub fn each<R: Read, E: From<Error>>(
        self,
        list: &mut Words<R>,
        range: &Range<u128>,
        refused: &mut Refused,
        mut each: impl FnMut(&[u8]) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut maker = Maker::new(self);
        while self.first(list.next()) < range.end {
            let Some(chunk) = list.chunk().map_err(Error::Words)? else { break };
            for (line, word) in (chunk.first()..).zip(chunk.words()) {
                maker.each(&chunk, (line, word), range, |_, made| match made {
                    Ok(candidate) => each(candidate),
                    Err(refusal) => {
                        refused.count(refusal, line);
                        Ok(())
                    }
                })?;
            }
        }
        Ok(())
    }
}

impl<'a> Maker<'a> {
    pub(super) fn new(changes: Changes<'a>) -> Self {
        Self {
            changes,
            combination: Combination::new(changes.affixes),
            bytes: Zeroizing::default(),
            changed: Zeroizing::default(),
            candidate: Zeroizing::default(),
        }
    }

    /// Calls `each` with the candidates of a word that have a number in `range`. The number of a word that is
    /// refused is that of its first candidate.
    pub(super) fn each<E>(
        &mut self,
        chunk: &Chunk,
        (line, word): (u64, &[u8]),
        range: &Range<u128>,
        mut each: impl FnMut(u128, Result<&[u8], Refusal>) -> Result<(), E>,
    ) -> Result<(), E> {
        let Self { changes, combination, bytes, changed, candidate } = self;
        let (first, end) = (changes.first(line), changes.first(line + 1));
        let numbers = range.start.max(first)..range.end.min(end);
        if numbers.is_empty() {
            return Ok(());
        }
        let word = match chunk.read(word, bytes) {
            Ok(word) => word,
            Err(_) if numbers.start > first => return Ok(()),
            Err(refusal) => return each(first, Err(refusal)),
        };
        // Candidates of a word are less than 2⁶³.
        let (mut at, end) = ((numbers.start - first) as u64, (numbers.end - first) as u64);
        let per_rule = changes.per_word / changes.rules.len() as u64;
        while at < end {
            let place = at / per_rule;
            let (rule, end_of_rule) = (&changes.rules[place as usize], end.min((place + 1) * per_rule));
            let numbers = first + u128::from(at)..first + u128::from(end_of_rule);
            let from = at % per_rule;
            at = end_of_rule;
            let word = if rule.is_nothing() {
                word
            } else if rule.apply(word, &mut *changed) {
                &changed[..]
            } else {
                continue;
            };
            if changes.affixes.is_empty() {
                each(numbers.start, Ok(word))?;
                continue;
            }
            combination.select(from);
            for number in numbers {
                if combination.attach(word, candidate) {
                    each(number, Ok(candidate))?;
                }
                combination.step();
            }
        }
        Ok(())
    }
}
