//! The candidates of a search: a key space or a word list, and the part of it to try.

use std::io::{self, Read, Seek as _, SeekFrom};
use std::ops::Range;
use std::path::Path;

use crossgrain::engine::text::{grouped, quoted};
use crossgrain_search::{
    BigUint, Decompressed, Form, Kdf, OWN_SETS, Part, Rule, Search, Sets, Space, Unknown, Words, key_mask,
};
use sha2::{Digest as _, Sha256};
use zeroize::Zeroizing;

use super::args::{Args, FormName};
use super::session::ListFacts;
use crate::error::{self, Error};
use crate::input::{Input, read_small, shown};

/// Bytes read at a time when words are only counted.
const COUNT_BYTES: usize = 1 << 20;

/// Bytes at either end of a list that go into the digest that a session records.
const ENDS_BYTES: u64 = 1 << 20;

/// The candidates to try.
pub(super) enum Candidates {
    /// Those of a space with these numbers.
    Space(Space, Range<BigUint>),
    /// Those of a list.
    Words(Box<List>),
}

/// A word list with its rules.
pub(super) struct List {
    pub(super) words: Words<Box<dyn Read + Send>>,
    pub(super) rules: Vec<Rule>,
    /// The numbers of the candidates; ends at `u128::MAX` if the words were not counted.
    pub(super) range: Range<u128>,
    /// The facts that a session records; empty without a session.
    pub(super) facts: ListFacts,
}

impl List {
    /// The number of candidates, if it is known.
    pub(super) fn size(&self) -> Option<BigUint> {
        let is_counted = self.range.end != u128::MAX;
        is_counted.then(|| BigUint::from(self.range.end - self.range.start))
    }
}

impl Args {
    /// Whether candidates are text, rather than keys.
    pub(super) fn is_text(&self) -> bool {
        self.mask.is_some() && !self.hex || self.words.is_some() && self.form == FormName::Lines
    }

    /// The candidates for this search.
    pub(super) fn candidates(&self, search: &Search) -> Result<Candidates, Error> {
        let part = Part { skip: self.skip.clone(), limit: self.limit.clone(), shard: self.shard };
        if let Some(path) = &self.words {
            return Ok(Candidates::Words(Box::new(self.list(path, search, &part)?)));
        }
        let key_bytes = self.candidate_bytes(search);
        if let (Some(range), Some(key_bytes)) = (&self.range, key_bytes) {
            let (first, end) = ends(range, key_bytes)?;
            let within = part.of(&(end - &first));
            return Ok(Candidates::Space(
                Space::every(key_bytes),
                &first + within.start..&first + within.end,
            ));
        }
        let space = match (&self.key_mask, &self.mask) {
            (Some(mask), _) => key_mask(mask.as_bytes())?,
            (None, Some(mask)) => self.masked(mask)?,
            (None, None) if self.range.is_some() => {
                return Err(Error::usage(
                    "the file takes a passphrase, and no range: give --words or --mask",
                ));
            }
            (None, None) => {
                return Err(Error::usage(
                    "there are no candidates: give --key-mask, --mask, --words or --range",
                ));
            }
        };
        let range = part.of(&space.size());
        Ok(Candidates::Space(space, range))
    }

    /// The length of candidates that are keys. `None` if they are passphrases of a file.
    fn candidate_bytes(&self, search: &Search) -> Option<usize> {
        search.key_bytes().filter(|_| self.file.is_none() || *search.kdf() == Kdf::Exact)
    }

    fn masked(&self, mask: &str) -> Result<Space, Error> {
        if mask.ends_with(".hcmask") {
            let why =
                "is the name of a file of masks: give --mask one of its lines, and run a search for each";
            return Err(Error::usage(format!("'{}' {why}", quoted(mask))));
        }
        let mut sets = Sets::default();
        let typed: [_; OWN_SETS] = [&self.set1, &self.set2, &self.set3, &self.set4];
        for (number, set) in (1..).zip(typed) {
            if let Some(set) = set {
                sets.define_text(number, set)?;
            }
        }
        Ok(if self.hex { sets.hex(mask.as_bytes())? } else { sets.bytes(mask.as_bytes())? })
    }

    fn list(&self, path: &Path, search: &Search, part: &Part) -> Result<List, Error> {
        let is_standard = path == Path::new("-");
        let mut input = Input::open((!is_standard).then_some(path))?;
        let form = match (self.form, self.candidate_bytes(search)) {
            (FormName::Lines, _) => Form::Lines,
            (FormName::Hex, _) => Form::Hex,
            (FormName::Raw, Some(len_bytes)) => Form::Records { len_bytes },
            (FormName::Raw, None) => return Err(Error::usage("passphrases are lines: leave out --form")),
        };
        let texts = self.rules.iter().map(|path| read_small(path)).collect::<Result<Vec<_>, _>>()?;
        let rules = self.parse_rules(&texts)?;
        let per_word = rules.len() as u128;
        let range = if self.shard.is_none() && !self.keyspace {
            let skip = u128::try_from(&part.skip).unwrap_or(u128::MAX);
            let limit = part.limit.as_ref().and_then(|limit| u128::try_from(limit).ok()).unwrap_or(u128::MAX);
            skip..skip.saturating_add(limit)
        } else {
            // An input that cannot be reopened can be read only once, and counting consumes it. This includes
            // standard input from a file.
            let is_stream = is_standard || !input.is_file();
            if is_stream && self.shard.is_some() {
                return Err(Error::usage(
                    "a share of standard input or a pipe cannot be known: give --words a file",
                ));
            }
            let words = count(input, form)?;
            input = if is_stream { Input::open(None)? } else { Input::open_regular(path)? };
            let range = part.of(&(BigUint::from(words) * per_word));
            let number = |bound: BigUint| u128::try_from(bound).unwrap_or(u128::MAX);
            number(range.start)..number(range.end)
        };
        let facts = if self.session.is_some() { self.facts(&input, &texts)? } else { ListFacts::default() };
        Ok(List { words: words(input, form, search.chunk_bytes()), rules, range, facts })
    }

    /// The facts that a session records about this list, and about its files of rules.
    fn facts(&self, input: &Input, rules: &[Vec<u8>]) -> Result<ListFacts, Error> {
        let ends = match (&self.words, input.len_bytes()) {
            (Some(path), Some(len_bytes)) if path != Path::new("-") => {
                Some(digest_of_ends(Input::open_regular(path)?, len_bytes)?)
            }
            _ => None,
        };
        let rules = (!rules.is_empty()).then(|| short(Sha256::new_with_prefix(rules.join(&0))));
        Ok(ListFacts { len_bytes: input.len_bytes(), ends, rules })
    }

    /// The rules in the texts of files, combined, or those given as arguments.
    fn parse_rules(&self, texts: &[Vec<u8>]) -> Result<Vec<Rule>, Error> {
        if !self.rule.is_empty() {
            return Ok(self
                .rule
                .iter()
                .map(|rule| Rule::parse(rule.as_bytes()))
                .collect::<Result<_, _>>()?);
        }
        let mut rules = vec![Rule::nothing()];
        for (text, path) in texts.iter().zip(&self.rules) {
            let of_file = if self.strict_rules {
                Rule::parse_all(text)?
            } else {
                let (known, unknown) = Rule::parse_known(text)?;
                if let Some(Unknown { lines, first, rule }) = unknown {
                    error::tell(&format!(
                        "{}: {} rules have unknown functions and are skipped, the first in line {first}: '{}'",
                        shown(path),
                        grouped(lines),
                        quoted(&rule)
                    ));
                }
                known
            };
            rules = Rule::combined(&rules, &of_file);
        }
        Ok(rules)
    }
}

/// The number of words in a list.
fn count(input: Input, form: Form) -> Result<u64, Error> {
    let name = input.name().clone();
    words(input, form, COUNT_BYTES).count().map_err(|error| Error::read(&name, &error))
}

/// The words of a list, which may be compressed unless they are keys as bytes.
fn words(input: Input, form: Form, chunk_bytes: usize) -> Words<Box<dyn Read + Send>> {
    let list: Box<dyn Read + Send> = match form {
        Form::Lines | Form::Hex => Box::new(Decompressed::new(input)),
        Form::Records { .. } => Box::new(input),
    };
    Words::new(list, form, chunk_bytes)
}

/// The first key of a range, and the key after the last.
fn ends(range: &str, key_bytes: usize) -> Result<(BigUint, BigUint), Error> {
    let bad = || {
        let digits = 2 * key_bytes;
        Error::usage(format!("--range takes A..B, keys of up to {digits} hex digits, the lower first"))
    };
    let number = |digits: &str| {
        let is_hex =
            (1..=2 * key_bytes).contains(&digits.len()) && digits.bytes().all(|d| d.is_ascii_hexdigit());
        is_hex.then(|| BigUint::parse_bytes(digits.as_bytes(), 16)).flatten().ok_or_else(bad)
    };
    let (first, last) = range.split_once("..").ok_or_else(bad)?;
    let (first, last) = (number(first)?, number(last)?);
    if first > last { Err(bad()) } else { Ok((first, last + 1_u8)) }
}

/// The digest of a file's first and last [`ENDS_BYTES`]: enough to distinguish lists, and quick.
fn digest_of_ends(mut input: Input, len_bytes: u64) -> Result<u64, Error> {
    let mut digest = Sha256::new();
    let read: io::Result<()> = [0, len_bytes.saturating_sub(ENDS_BYTES)].into_iter().try_for_each(|from| {
        let mut end = Zeroizing::new(Vec::with_capacity(ENDS_BYTES.min(len_bytes) as usize));
        input.seek(SeekFrom::Start(from))?;
        input.by_ref().take(ENDS_BYTES).read_to_end(&mut end)?;
        digest.update(&end);
        Ok(())
    });
    read.map_err(|error| Error::read(input.name(), &error))?;
    Ok(short(digest))
}

/// 64 bits of SHA-256. They detect accidental changes; an attacker would gain nothing from a collision.
fn short(digest: Sha256) -> u64 {
    digest.finalize().iter().take(8).fold(0, |number, &byte| number << 8 | u64::from(byte))
}
