//! The candidates of a search: key spaces, or the words of a list with rules and affixes.

use std::ops::Range;
use std::sync::{Mutex, PoisonError};

use crossgrain_search::{
    Affix, BigUint, Changes, Device, Error as Refusal, Form, Kdf, OWN_SETS, Part, Refused, Rule, Search,
    Sets, Side, Space, SpaceSearch, Spaces, Watch, WordDevice, WordSearch, key_mask, masks,
};
use pyo3::prelude::*;

use crate::Error;
use crate::search::{Job, told};
use crate::search_words::{COUNT_BYTES, List, form, rules};

/// The result of a part: the refused words and the reasons of failed devices.
type Shard = (Refused, Vec<String>);

/// A character set: text, or bytes.
#[derive(FromPyObject)]
pub(crate) enum Set {
    Text(String),
    Bytes(Vec<u8>),
}

/// Masks: the name of their file and its text, or no name and each mask.
#[derive(FromPyObject)]
pub(crate) struct Masks(Option<String>, Vec<Vec<u8>>);

/// The least and the largest number of places of growing masks.
pub(crate) type Growth = (usize, Option<usize>);

/// The candidates.
pub(crate) enum Candidates {
    /// Those of spaces with these numbers.
    Spaces(Spaces, Range<BigUint>),
    /// The words of a list under rules, with strings before and after them.
    Words { list: List, form: Form, rules: Vec<Vec<Rule>>, affixes: Vec<Affix> },
}

impl Job<'_> {
    /// All candidates. They depend on `search` only through the length of keys. Lines of the second list that
    /// are no words are counted in `refused`.
    pub(crate) fn candidates(&self, search: &Search, refused: &mut Refused) -> PyResult<Candidates> {
        if self.words.is_some() {
            let (list, form) = self.list(search)?;
            let rules = rules(&self.rules, &self.rule_files, self.strict_rules)?;
            let affixes = self.affixes(refused)?;
            Changes::combined(&rules, &affixes).map_err(told)?;
            return Ok(Candidates::Words { list, form, rules, affixes });
        }
        let (spaces, range) = self.spaces(search)?;
        spaces.spaces().iter().try_for_each(|space| search.takes_length(space.len_bytes())).map_err(told)?;
        let range = range.unwrap_or_else(|| BigUint::ZERO..spaces.size());
        Ok(Candidates::Spaces(spaces, range))
    }

    /// The spaces of a job without words, and the numbers of its candidates unless they are all.
    fn spaces(&self, search: &Search) -> PyResult<(Spaces, Option<Range<BigUint>>)> {
        if let Some((first, last)) = &self.range {
            let space = Space::every(self.key_bytes(search).ok_or_else(|| {
                Error::new_err("the file takes a passphrase, which no key is: give words or mask")
            })?);
            if first > last || *last >= space.size() {
                return Err(Error::new_err(
                    "the range takes keys of the cipher as integers, the lower first",
                ));
            }
            return Ok((space.into(), Some(first.clone()..last + 1_u8)));
        }
        match (&self.key_mask, &self.mask) {
            (Some(mask), _) => {
                Ok((key_mask(mask.as_bytes()).map_err(|why| named("key_mask", why))?.into(), None))
            }
            (_, Some(masks)) => Ok((self.masked(masks, "mask")?, None)),
            _ => Err(Error::new_err("there are no candidates: give key_mask, mask, range or words")),
        }
    }

    /// The spaces of masks, which are those of the argument `name`.
    fn masked(&self, Masks(file, texts): &Masks, name: &str) -> PyResult<Spaces> {
        let sets = self.sets()?;
        let masks = match file {
            Some(_) => masks(&texts.concat(), &sets),
            None => Ok(texts.iter().map(|mask| (sets.clone(), mask.clone())).collect()),
        };
        let growth = self.increment.map(|(least, most)| least..=most.unwrap_or(usize::MAX));
        let spaces = masks.and_then(|masks| Spaces::of_masks(&masks, growth.as_ref(), self.hex));
        spaces.map_err(|why| match file {
            Some(file) => named(&format!("{name}, file {file:?}"), why),
            None => named(name, why),
        })
    }

    /// The strings before and after each word, in the command line's order.
    fn affixes(&self, refused: &mut Refused) -> PyResult<Vec<Affix>> {
        let mut affixes = Vec::new();
        if let Some(masks) = &self.mask_before {
            let spaces = self.masked(masks, "mask_before")?;
            affixes.push(Affix::masks(Side::Before, spaces).map_err(|why| named("mask_before", why))?);
        }
        if let Some(words) = &self.words_after {
            let rule = self.rule_right.as_ref().map_or_else(|| Ok(Rule::nothing()), |rule| Rule::parse(rule));
            let (rule, list) = (rule.map_err(told)?, List::new(words, "words_after")?);
            let read = || {
                let words = list.words(Form::Lines, COUNT_BYTES)?;
                Affix::words(Side::After, words, &rule, refused).map_err(|why| named("words_after", why))
            };
            affixes.push(words.py().detach(read)?);
        }
        if let Some(masks) = &self.mask_after {
            let spaces = self.masked(masks, "mask_after")?;
            affixes.push(Affix::masks(Side::After, spaces).map_err(|why| named("mask_after", why))?);
        }
        Ok(affixes)
    }

    /// The length of candidates that are keys. `None` if they are passphrases of a file.
    pub(crate) fn key_bytes(&self, search: &Search) -> Option<usize> {
        search.key_bytes().filter(|_| self.headers.is_empty() || *search.kdf() == Kdf::Exact)
    }

    /// The word list and its form.
    pub(crate) fn list(&self, search: &Search) -> PyResult<(List, Form)> {
        let words = self.words.as_ref().ok_or_else(|| Error::new_err("there are no words: give words"))?;
        Ok((List::new(words, "words")?, form(&self.form, self.key_bytes(search))?))
    }

    fn sets(&self) -> PyResult<Sets> {
        if self.sets.len() > OWN_SETS {
            return Err(Error::new_err(format!("there are {OWN_SETS} own sets: give no more")));
        }
        let mut sets = Sets::default();
        for (number, set) in (1..).zip(&self.sets) {
            let defined = match set {
                Set::Text(text) => sets.define_text(number, text),
                Set::Bytes(bytes) => sets.define(number, bytes),
            };
            defined.map_err(|why| named("sets", why))?;
        }
        Ok(sets)
    }
}

/// An error of an argument.
fn named(argument: &str, why: Refusal) -> PyErr {
    Error::new_err(format!("{argument}: {}", why.to_string().replace(" --", " ")))
}

impl Candidates {
    /// The number of candidates. The words of a list are counted.
    pub(crate) fn size(&self) -> PyResult<BigUint> {
        Ok(match self {
            Self::Spaces(_, all) => &all.end - &all.start,
            Self::Words { list, form, .. } => BigUint::from(list.count(*form)?) * self.per_word()?,
        })
    }

    /// The number of candidates of each word; 1 without words.
    pub(crate) fn per_word(&self) -> PyResult<u64> {
        match self {
            Self::Spaces(..) => Ok(1),
            Self::Words { rules, affixes, .. } => {
                Ok(Changes::combined(rules, affixes).map_err(told)?.per_word())
            }
        }
    }

    /// The numbers of a part of the candidates. Words are counted if they must be, or if `is_counted`;
    /// otherwise the part may end after the last one.
    pub(crate) fn part(&self, part: &Part, is_counted: bool) -> PyResult<Range<BigUint>> {
        Ok(match self {
            Self::Spaces(_, all) => part.within(all),
            Self::Words { .. } if is_counted || part.shard.is_some() => part.of(&self.size()?),
            Self::Words { .. } => part.of(&u128::MAX.into()),
        })
    }

    /// Tries the candidates with these numbers, on devices if any are given.
    pub(crate) fn shard(
        &self,
        search: &Search,
        devices: &[&dyn Device],
        range: &Range<BigUint>,
        watch: &Watch<'_>,
    ) -> PyResult<Shard> {
        match self {
            Self::Spaces(spaces, _) => in_spaces(spaces, search, devices, range, watch).map_err(told),
            Self::Words { list, form, rules, affixes } => {
                let number = |number: &BigUint| u128::try_from(number).unwrap_or(u128::MAX);
                let range = number(&range.start)..number(&range.end);
                let words = Mutex::new(list.words(*form, search.chunk_bytes())?);
                let devices = devices.iter().map(|device| WordDevice::new(search, *device));
                let devices = devices.collect::<Result<Vec<_>, _>>().map_err(told)?;
                let changes = Changes::combined(rules, affixes).map_err(told)?;
                let refused = Mutex::new(Refused::default());
                let words_of = WordSearch::changed(search, changes, range).on(&devices);
                words_of.chunks(&words, usize::MAX, &refused, watch).map_err(told)?;
                let failures = devices.iter().filter_map(WordDevice::failure).collect();
                Ok((refused.into_inner().unwrap_or_else(PoisonError::into_inner), failures))
            }
        }
    }
}

/// Tries the candidates of spaces with these numbers, space by space.
fn in_spaces(
    spaces: &Spaces,
    search: &Search,
    devices: &[&dyn Device],
    range: &Range<BigUint>,
    watch: &Watch<'_>,
) -> Result<Shard, Refusal> {
    let mut failures = Vec::new();
    // Before the first space is searched, so that no work is lost.
    let is_large = |count: BigUint| u64::try_from(count).is_err();
    if spaces.parts(range.clone()).any(|part| is_large(&part.numbers.end - &part.numbers.start)) {
        return Err(Refusal::LargeShard);
    }
    for part in spaces.parts(range.clone()) {
        watch.begin_at(part.first.clone());
        let prepared = SpaceSearch::on(search, part.space, devices)?;
        let is_done = prepared.shard(&part.numbers, watch)?;
        failures.extend(prepared.failures());
        if !is_done || watch.is_stopped() {
            break;
        }
    }
    failures.dedup();
    Ok((Refused::default(), failures))
}
