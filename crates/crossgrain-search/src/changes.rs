//! The changes that turn each word of a list into candidates: rules, and then [affixes](Affix).
//!
//! Candidates are numbered word by word, and within a word rule by rule. With several lists of rules, each rule of
//! one list is followed by each of the next, and the first list varies fastest. The product of the lists can be
//! larger than the memory, so it is never made: the number of a candidate selects one rule of each list. It is
//! enough to make the candidate again, so a range of numbers can be split at any place, also within a word.

use std::io::Read;
use std::ops::Range;

use zeroize::Zeroizing;

use super::affix::{Combination, PER_WORD_MAX};
use super::rule::apply_each;
use super::words::{Refusal, Refused, Words};
use super::{Affix, Chunk, Error, Rule};

/// Rules and affixes, which are applied to every word.
#[derive(Clone, Copy, Debug)]
pub struct Changes<'a> {
    rules: &'a [Rule],
    /// Further lists of rules, which follow the first.
    then: &'a [Vec<Rule>],
    affixes: &'a [Affix],
    /// The number of combinations of affixes.
    per_rule: u64,
    per_word: u64,
}

/// The list of rules if none is given.
static UNCHANGED: [Rule; 1] = [Rule::nothing()];

/// `of` times all counts, if that is a possible number of candidates of a word.
fn product(of: u64, mut counts: impl Iterator<Item = u64>) -> Result<u64, Error> {
    let product = counts.try_fold(of, u64::checked_mul);
    product.filter(|product| *product < PER_WORD_MAX).ok_or(Error::ManyAffixes)
}

/// Makes candidates on one thread. The buffers are reused from word to word.
pub(super) struct Maker<'a> {
    changes: Changes<'a>,
    rules: Vec<&'a Rule>,
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
        Self::following(rules, &[], affixes)
    }

    /// Each rule of one list followed by each of the next, with all combinations of affixes. Without a list, words
    /// are not changed.
    ///
    /// # Errors
    /// [`Error::ManyAffixes`] if a word has 2⁶³ candidates or more.
    pub fn combined(lists: &'a [Vec<Rule>], affixes: &'a [Affix]) -> Result<Self, Error> {
        match lists {
            [] => Self::new(&UNCHANGED, affixes),
            [first, then @ ..] => Self::following(first, then, affixes),
        }
    }

    fn following(rules: &'a [Rule], then: &'a [Vec<Rule>], affixes: &'a [Affix]) -> Result<Self, Error> {
        let per_rule = product(1, affixes.iter().map(Affix::count))?;
        let lists = [rules].into_iter().chain(then.iter().map(Vec::as_slice));
        let per_word = product(per_rule, lists.map(|list| list.len() as u64))?;
        Ok(Self { rules, then, affixes, per_rule, per_word })
    }

    /// Only rules.
    pub(super) const fn by_rules(rules: &'a [Rule]) -> Self {
        Self { rules, then: &[], affixes: &[], per_rule: 1, per_word: rules.len() as u64 }
    }

    /// Selects the combination of rules with this number, one rule of each list.
    fn select(&self, mut number: u64, selected: &mut Vec<&'a Rule>) {
        selected.clear();
        for list in [self.rules].into_iter().chain(self.then.iter().map(Vec::as_slice)) {
            let count = list.len() as u64;
            selected.push(&list[(number % count) as usize]);
            number /= count;
        }
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
        self.affixes.is_empty() && self.then.is_empty() && self.rules == UNCHANGED
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
            rules: Vec::new(),
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
        let Self { changes, rules, combination, bytes, changed, candidate } = self;
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
        let per_rule = changes.per_rule;
        while at < end {
            let place = at / per_rule;
            let end_of_rule = end.min((place + 1) * per_rule);
            changes.select(place, rules);
            let numbers = first + u128::from(at)..first + u128::from(end_of_rule);
            let from = at % per_rule;
            at = end_of_rule;
            let word = if rules.iter().all(|rule| rule.is_nothing()) {
                word
            } else if apply_each(rules, word, &mut *changed) {
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
