//! The candidates of a search: key spaces or a word list, and the part of it to try.

use std::fs;
use std::io::Read;
use std::ops::Range;
use std::path::Path;

use crossgrain::engine::text::{grouped, quoted};
use crossgrain_search::{
    Affix, BigUint, Changes, Decompressed, Form, Kdf, OWN_SETS, Part, Refused, Rule, Search, Sets, Side,
    Space, Spaces, Unknown, Words, key_mask, masks,
};

use super::args::Args;
use super::facts::{Facts, ListFacts};
use super::names::FormName;
use crate::error::{self, Error};
use crate::input::{Input, read_small, shown};
use crate::typed::AnyCipher;

/// Bytes read at a time when words are only counted.
const COUNT_BYTES: usize = 1 << 20;

/// The most bytes of a decompressed file of rules or masks.
const TEXT_BYTES_MAX: u64 = 256 << 20;

/// The candidates to try.
pub(super) struct Candidates {
    pub(super) source: Source,
    /// The facts that a session records; empty without a session.
    pub(super) facts: ListFacts,
}

/// Where candidates come from.
pub(super) enum Source {
    /// Those of spaces with these numbers.
    Spaces(Spaces, Range<BigUint>),
    /// Those of a list.
    Words(Box<List>),
}

/// A word list with its rules and affixes.
pub(super) struct List {
    pub(super) words: Words<Box<dyn Read + Send>>,
    /// Lists of rules. Each rule of one is followed by each of the next.
    pub(super) rules: Vec<Vec<Rule>>,
    pub(super) affixes: Vec<Affix>,
    /// The numbers of the candidates; ends at `u128::MAX` if the words were not counted.
    pub(super) range: Range<u128>,
}

/// The use of candidates.
#[derive(Clone, Copy)]
pub(super) struct Use {
    /// The length of candidates that are keys. `None` if they are passphrases of a file, or no target is known.
    key_bytes: Option<usize>,
    /// Bytes of a word list that a thread should take at a time.
    chunk_bytes: usize,
}

impl Candidates {
    /// The number of candidates, if it is known.
    pub(super) fn size(&self) -> Option<BigUint> {
        match &self.source {
            Source::Spaces(_, range) => Some(&range.end - &range.start),
            Source::Words(list) => {
                let is_counted = list.range.end != u128::MAX;
                is_counted.then(|| BigUint::from(list.range.end - list.range.start))
            }
        }
    }
}

impl Args {
    /// Whether candidates are text, rather than keys.
    pub(super) fn is_text(&self) -> bool {
        self.mask.is_some() && !self.hex || self.words.is_some() && self.form == FormName::Lines
    }

    /// The use of candidates in a search.
    pub(super) fn used_in(&self, search: &Search) -> Use {
        let are_keys = self.file.is_empty() || *search.kdf() == Kdf::Exact;
        Use { key_bytes: search.key_bytes().filter(|_| are_keys), chunk_bytes: search.chunk_bytes() }
    }

    /// The use of candidates that are only counted or printed.
    pub(super) fn unused(&self) -> Use {
        Use { key_bytes: self.cipher.map(AnyCipher::key_bytes), chunk_bytes: COUNT_BYTES }
    }

    /// The candidates.
    pub(super) fn candidates(&self, used: Use) -> Result<Candidates, Error> {
        let part = Part { skip: self.skip.clone(), limit: self.limit.clone(), shard: self.shard };
        let mut facts = Facts::new(self.session.is_some());
        let source = match &self.words {
            Some(path) => Source::Words(Box::new(self.list(path, used, &part, &mut facts)?)),
            None => self.spaces(used, &part, &mut facts)?,
        };
        Ok(Candidates { source, facts: facts.all() })
    }

    fn spaces(&self, used: Use, part: &Part, facts: &mut Facts) -> Result<Source, Error> {
        let spaces = match (&self.key_mask, &self.mask, &self.range) {
            (Some(mask), ..) => key_mask(mask.as_bytes())?.into(),
            (_, Some(mask), _) => self.masked(mask, facts)?,
            (.., Some(range)) => {
                let key_bytes = used.key_bytes.ok_or_else(|| {
                    let why = if !self.file.is_empty() {
                        "the file takes a passphrase, and no range: give --words or --mask"
                    } else {
                        "the length of keys in the range is not known: give --cipher"
                    };
                    Error::usage(why)
                })?;
                let (first, end) = ends(range, key_bytes)?;
                return Ok(Source::Spaces(Space::every(key_bytes).into(), part.within(&(first..end))));
            }
            _ => {
                return Err(Error::usage(
                    "there are no candidates: give --key-mask, --mask, --words or --range",
                ));
            }
        };
        let range = part.of(&spaces.size());
        Ok(Source::Spaces(spaces, range))
    }

    /// The spaces of a mask, or of all masks of a file.
    fn masked(&self, mask: &str, facts: &mut Facts) -> Result<Spaces, Error> {
        let sets = self.own_sets(facts)?;
        let masks = match attached(mask, ".hcmask", facts)? {
            Some(text) => {
                let named = |error| Error::usage(format!("'{}': {error}", quoted(mask)));
                masks(&text, &sets).map_err(named)?
            }
            None => vec![(sets, mask.as_bytes().to_vec())],
        };
        let lengths = self.increment_min..=self.increment_max.unwrap_or(usize::MAX);
        if lengths.is_empty() {
            return Err(Error::usage("--increment-max is below --increment-min: exchange them"));
        }
        Ok(Spaces::of_masks(&masks, self.increment.then_some(&lengths), self.hex)?)
    }

    /// The sets `?1` to `?4`. The name of a file stands for its bytes, as in hashcat.
    fn own_sets(&self, facts: &mut Facts) -> Result<Sets, Error> {
        let mut sets = Sets::default();
        let typed: [_; OWN_SETS] = [&self.set1, &self.set2, &self.set3, &self.set4];
        for (number, set) in (1..).zip(typed) {
            let Some(set) = set else { continue };
            match attached(set, ".hcchr", facts)? {
                None => sets.define_text(number, set)?,
                Some(bytes) => {
                    let defined = sets.define_read(number, without_line_end(&bytes));
                    defined.map_err(|error| Error::usage(format!("'{}': {error}", quoted(set))))?;
                }
            }
        }
        Ok(sets)
    }

    fn list(&self, path: &Path, used: Use, part: &Part, facts: &mut Facts) -> Result<List, Error> {
        let is_standard = path == Path::new("-");
        let mut input = Input::open((!is_standard).then_some(path))?;
        let form = match (self.form, used.key_bytes) {
            (FormName::Lines, _) => Form::Lines,
            (FormName::Hex, _) => Form::Hex,
            (FormName::Raw, Some(len_bytes)) => Form::Records { len_bytes },
            (FormName::Raw, None) if self.file.is_empty() => {
                return Err(Error::usage("the length of keys in the list is not known: give --cipher"));
            }
            (FormName::Raw, None) => return Err(Error::usage("passphrases are lines: leave out --form")),
        };
        let texts = self.rules.iter().map(|path| read_text(path)).collect::<Result<Vec<_>, _>>()?;
        let rules = self.parse_rules(&texts)?;
        let affixes = self.affixes(facts)?;
        let per_word = Changes::combined(&rules, &affixes)?.per_word();
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
        facts.add_list((!is_standard).then_some(path), &input, &texts)?;
        Ok(List { words: Words::decompressed(input, form, used.chunk_bytes), rules, affixes, range })
    }

    /// The strings before and after each word.
    fn affixes(&self, facts: &mut Facts) -> Result<Vec<Affix>, Error> {
        let mut affixes = Vec::new();
        if let Some(mask) = &self.mask_before {
            affixes.push(Affix::masks(Side::Before, self.masked(mask, facts)?)?);
        }
        if let Some(path) = &self.words_after {
            if path == Path::new("-") {
                return Err(Error::usage("only --words reads standard input: give --words-after a file"));
            }
            let rule = self.rule_right.as_ref().map(|rule| Rule::parse(rule.as_bytes())).transpose()?;
            let input = Input::open(Some(path))?;
            facts.add_second(path, &input)?;
            let (mut refused, rule) = (Refused::default(), rule.unwrap_or_else(Rule::nothing));
            let words = Words::decompressed(input, Form::Lines, COUNT_BYTES);
            affixes.push(Affix::words(Side::After, words, &rule, &mut refused)?);
            tell_refused(&refused);
        }
        if let Some(mask) = &self.mask_after {
            affixes.push(Affix::masks(Side::After, self.masked(mask, facts)?)?);
        }
        Ok(affixes)
    }

    /// The lists of rules in the texts of files, or the list given as arguments.
    fn parse_rules(&self, texts: &[Vec<u8>]) -> Result<Vec<Vec<Rule>>, Error> {
        if !self.rule.is_empty() {
            let rules = self.rule.iter().map(|rule| Rule::parse(rule.as_bytes()));
            return Ok(vec![rules.collect::<Result<_, _>>()?]);
        }
        let mut lists = Vec::new();
        for (text, path) in texts.iter().zip(&self.rules) {
            let path = shown(path);
            let named = |error| Error::usage(format!("'{path}': {error}"));
            let (known, unknown) = Rule::parse_known(text).map_err(named)?;
            if let Some(Unknown { lines, first, rule }) = unknown {
                let (lines, rule) = (grouped(lines), quoted(&rule));
                if self.strict_rules {
                    return Err(Error::usage(format!(
                        "'{path}': {lines} rules have unknown functions, the first in line {first}: '{rule}': mend them, or leave out --strict-rules"
                    )));
                }
                error::tell(&format!(
                    "{path}: {lines} rules have unknown functions and are skipped, the first in line {first}: '{rule}'"
                ));
            }
            lists.push(known);
        }
        Ok(lists)
    }
}

/// The bytes of the file that a mask or set names. A name with the usual end must be that of a file. Other text is
/// taken as the name of a file if there is one, and the program prints that.
fn attached(name: &str, usual_end: &str, facts: &mut Facts) -> Result<Option<Vec<u8>>, Error> {
    let lower = name.to_ascii_lowercase();
    let is_usual = ["", ".gz", ".xz", ".zst"].iter().any(|end| lower.ends_with(&format!("{usual_end}{end}")));
    if !is_usual && !fs::metadata(name).is_ok_and(|metadata| !metadata.is_dir()) {
        return Ok(None);
    }
    let text = read_text(Path::new(name))?;
    if !is_usual {
        error::tell(&format!("there is a file '{0}': '{0}' stands for its contents", quoted(name)));
    }
    facts.add_attached(&text);
    Ok(Some(text))
}

fn without_line_end(text: &[u8]) -> &[u8] {
    let text = text.strip_suffix(b"\n").unwrap_or(text);
    text.strip_suffix(b"\r").unwrap_or(text)
}

/// Reads a complete file of rules or masks, which may be compressed.
fn read_text(path: &Path) -> Result<Vec<u8>, Error> {
    let file = read_small(path)?;
    let mut text = Vec::with_capacity(file.len() + 1);
    let read = Decompressed::new(&file[..]).take(TEXT_BYTES_MAX + 1).read_to_end(&mut text);
    read.map_err(|error| Error::read(format_args!("'{}'", shown(path)), &error))?;
    if text.len() as u64 > TEXT_BYTES_MAX {
        let told = format!("'{}' has more than 256 MiB when it is decompressed: split it", shown(path));
        return Err(Error::usage(told));
    }
    Ok(text)
}

/// The number of words in a list.
fn count(input: Input, form: Form) -> Result<u64, Error> {
    let name = input.name().clone();
    Words::decompressed(input, form, COUNT_BYTES).count().map_err(|error| Error::read(&name, &error))
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

/// Prints one line for each kind of word that was rejected.
pub(super) fn tell_refused(refused: &Refused) {
    for (refusal, count, first) in refused.iter() {
        let reason = refusal.reason();
        error::tell(&format!(
            "{} candidates were left out, being {reason} for a key (the first is of word {first})",
            grouped(count)
        ));
    }
}
