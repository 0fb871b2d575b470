//! Key search: a job as Python's side describes it, and one shard of it.
//!
//! The caller's thread only watches: it tells progress, and looks whether Python wants to stop. Other threads search.

use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use crossgrain::mode::Options;
use crossgrain::search::{
    BigUint, BlockMode, BlockSearch, Data, Error as Refusal, Form, Hash, Hit, Kdf, Known, OWN_SETS, Part,
    Refused, Rule, Search, Sets, Shard, Space, SpaceSearch, Watch, Words, key_mask, pairs,
};
use crossgrain::{BLOCK_BYTES, Block, Cipher};
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use rayon::ThreadPoolBuilder;

use crate::buffer::Lent;
use crate::{Error, refused};

/// How often the caller's thread looks up.
const TICK: Duration = Duration::from_millis(100);

/// Plaintext, the bits of it that are known, and ciphertext.
type Texts = (Vec<u8>, Vec<u8>, Vec<u8>);

/// What was found: number, candidate, key.
type Found<'py> = (BigUint, Bound<'py, PyBytes>, Bound<'py, PyBytes>);

/// Words that were left out: why, how many, and the number of the first.
type LeftOut = (&'static str, u64, u64);

/// What is sought and among what, as Python's side hands it on.
#[derive(FromPyObject)]
pub(crate) struct Job<'py> {
    #[pyo3(item)]
    cipher: String,
    #[pyo3(item)]
    known: Vec<Texts>,
    #[pyo3(item)]
    mode: String,
    #[pyo3(item)]
    iv: Vec<u8>,
    #[pyo3(item)]
    key_mask: Option<String>,
    #[pyo3(item)]
    mask: Option<Vec<u8>>,
    #[pyo3(item)]
    hex: bool,
    #[pyo3(item)]
    sets: Vec<Vec<u8>>,
    #[pyo3(item)]
    range: Option<(BigUint, BigUint)>,
    #[pyo3(item)]
    words: Option<Bound<'py, PyAny>>,
    #[pyo3(item)]
    form: String,
    #[pyo3(item)]
    rules: Vec<Vec<u8>>,
    #[pyo3(item)]
    kdf: String,
    #[pyo3(item)]
    salt: Vec<u8>,
    #[pyo3(item)]
    iterations: u32,
    #[pyo3(item)]
    log_n: u8,
    #[pyo3(item)]
    block_size: u32,
    #[pyo3(item)]
    lanes: u32,
    #[pyo3(item)]
    memory_kib: u32,
}

/// What is tried.
enum Candidates {
    /// Those of a space with these numbers.
    Space(Space, Range<BigUint>),
    /// Those of so many words under rules.
    Words { list: Lent, form: Form, rules: Vec<Rule>, count: u64 },
}

impl Job<'_> {
    fn search(&self) -> PyResult<Search> {
        let cipher: Cipher = self.cipher.parse().map_err(refused)?;
        let mode = self.block_mode()?;
        let mut known = Vec::new();
        for (plaintext, mask, ciphertext) in &self.known {
            known.extend(pairs(mode, Data { plaintext, mask, ciphertext }).map_err(told)?);
        }
        let blocks = BlockSearch::new(cipher, &known, &Options::default()).map_err(told)?;
        Search::new(Known::Blocks(blocks), self.kdf()?).map_err(told)
    }

    fn block_mode(&self) -> PyResult<BlockMode> {
        let iv = || {
            let len_bytes = self.iv.len();
            let wrong = |_| format!("{} takes an iv of {BLOCK_BYTES} bytes, not {len_bytes}", self.mode);
            Block::try_from(self.iv.as_slice()).map_err(wrong).map_err(Error::new_err)
        };
        match self.mode.as_str() {
            "ecb" if self.iv.is_empty() => Ok(BlockMode::Ecb),
            "ecb" => Err(Error::new_err("ecb takes no iv: leave it out")),
            "ctr" => Ok(BlockMode::Ctr(iv()?)),
            "cbc" => Ok(BlockMode::Cbc(iv()?)),
            "cfb" => Ok(BlockMode::Cfb(iv()?)),
            "ofb" => Ok(BlockMode::Ofb(iv()?)),
            mode => Err(unknown("mode", mode, "ecb, ctr, cbc, cfb or ofb")),
        }
    }

    fn kdf(&self) -> PyResult<Kdf> {
        let (salt, iterations) = (self.salt.clone(), self.iterations);
        Ok(match self.kdf.as_str() {
            "exact" => Kdf::Exact,
            "zeros" => Kdf::Zeros,
            "repeat" => Kdf::Repeat,
            "sha256" => Kdf::Sha256,
            "pbkdf2-sha256" => Kdf::Pbkdf2 { hash: Hash::Sha256, salt, iterations },
            "pbkdf2-sha512" => Kdf::Pbkdf2 { hash: Hash::Sha512, salt, iterations },
            "scrypt" => Kdf::Scrypt { salt, log_n: self.log_n, r: self.block_size, p: self.lanes },
            "argon2id" => {
                Kdf::Argon2id { salt, memory_kib: self.memory_kib, passes: iterations, lanes: self.lanes }
            }
            kdf => {
                let all = "exact, zeros, repeat, sha256, pbkdf2-sha256, pbkdf2-sha512, scrypt or argon2id";
                return Err(unknown("kdf", kdf, all));
            }
        })
    }

    /// All candidates. What `search` says of keys is all that they depend on.
    fn candidates(&self, search: &Search) -> PyResult<Candidates> {
        let key_bytes = search.key_bytes().unwrap_or(0);
        let space = match self {
            Self { words: Some(words), .. } => return self.list(words, key_bytes),
            Self { range: Some((first, last)), .. } => {
                let space = Space::every(key_bytes);
                if first > last || *last >= space.size() {
                    let why = "the range takes keys of the cipher as integers, the lower first";
                    return Err(Error::new_err(why));
                }
                return Ok(Candidates::Space(space, first.clone()..last + 1_u8));
            }
            Self { key_mask: Some(mask), .. } => key_mask(mask.as_bytes()),
            Self { mask: Some(mask), hex, .. } => {
                let sets = self.sets()?;
                if *hex { sets.hex(mask) } else { sets.bytes(mask) }
            }
            _ => {
                let why = "there are no candidates: give key_mask, mask, range or words";
                return Err(Error::new_err(why));
            }
        };
        let space = space.map_err(told)?;
        let all = BigUint::ZERO..space.size();
        Ok(Candidates::Space(space, all))
    }

    fn sets(&self) -> PyResult<Sets> {
        if self.sets.len() > OWN_SETS {
            return Err(Error::new_err(format!("there are {OWN_SETS} own sets: give no more")));
        }
        let mut sets = Sets::default();
        for (number, set) in (1..).zip(&self.sets) {
            sets.define(number, set).map_err(told)?;
        }
        Ok(sets)
    }

    fn list(&self, words: &Bound<'_, PyAny>, key_bytes: usize) -> PyResult<Candidates> {
        let form = match self.form.as_str() {
            "lines" => Form::Lines,
            "hex" => Form::Hex,
            "raw" => Form::Records { len_bytes: key_bytes },
            form => return Err(unknown("form", form, "lines, hex or raw")),
        };
        let rules = self.rules.iter().map(|rule| Rule::parse(rule));
        let mut rules: Vec<Rule> = rules.collect::<Result<_, _>>().map_err(told)?;
        if rules.is_empty() {
            rules.push(Rule::nothing());
        }
        let list = Lent::to_read(words, "words")?;
        let count = Words::new(list.bytes(), form, 1 << 20).count()?;
        Ok(Candidates::Words { list, form, rules, count })
    }
}

impl Candidates {
    /// The numbers of a part of them.
    fn part(&self, part: &Part) -> Range<BigUint> {
        match self {
            Self::Space(_, all) => {
                let within = part.of(&(&all.end - &all.start));
                &all.start + within.start..&all.start + within.end
            }
            Self::Words { rules, count, .. } => part.of(&(BigUint::from(*count) * rules.len())),
        }
    }

    /// Tries those with these numbers.
    fn shard(&self, search: &Search, range: &Range<BigUint>, watch: &Watch<'_>) -> Result<Refused, Refusal> {
        let refused = Mutex::new(Refused::default());
        match self {
            Self::Space(space, _) => SpaceSearch::new(search, space)?.shard(range, watch)?,
            Self::Words { list, form, rules, .. } => {
                let number = |number: &BigUint| u128::try_from(number).unwrap_or(u128::MAX);
                let range = number(&range.start)..number(&range.end);
                let words = Mutex::new(Words::new(list.bytes(), *form, search.chunk_bytes()));
                search.words(&words, usize::MAX, rules, &range, &refused, watch)?
            }
        };
        Ok(refused.into_inner().unwrap_or_else(PoisonError::into_inner))
    }
}

/// How many candidates a job has, and which kernel tries them.
#[pyfunction]
pub(crate) fn search_size(py: Python<'_>, job: Job<'_>) -> PyResult<(BigUint, String)> {
    let search = job.search()?;
    let candidates = job.candidates(&search)?;
    let all = py.detach(|| candidates.part(&Part::default()));
    Ok((all.end - all.start, search.kernel()))
}

/// Searches a part of a job's candidates: what was found, and what words were left out.
#[pyfunction]
#[allow(clippy::too_many_arguments, reason = "Python's side names them")]
pub(crate) fn search_shard<'py>(
    py: Python<'py>,
    job: Job<'py>,
    skip: BigUint,
    limit: Option<BigUint>,
    shard: Option<(u64, u64)>,
    goes_on: bool,
    progress: Option<Bound<'py, PyAny>>,
    threads: usize,
) -> PyResult<(Vec<Found<'py>>, Vec<LeftOut>)> {
    let search = job.search()?;
    let candidates = job.candidates(&search)?;
    let shard = shard.map(|(index, count)| Shard::new(index, count)).transpose().map_err(told)?;
    let range = candidates.part(&Part { skip, limit, shard });
    let total = &range.end - &range.start;
    let (hits, is_over, caller) = (Mutex::new(Vec::new()), AtomicBool::new(false), thread::current());
    let end = || {
        is_over.store(true, Ordering::Release);
        caller.unpark();
    };
    let on_hit = |hit: Hit| {
        hits.lock().unwrap_or_else(PoisonError::into_inner).push(hit);
        if !goes_on {
            end();
        }
    };
    let watch = Watch::new(&on_hit);
    let pool = ThreadPoolBuilder::new().num_threads(threads).build();
    let pool = pool.map_err(|error| Error::new_err(format!("no threads can be had: {error}")))?;
    let progress = progress.map(Bound::unbind);
    let tell = || {
        Python::attach(|py| {
            py.check_signals()?;
            let at = (watch.tried(), total.clone());
            progress.as_ref().map_or(Ok(()), |progress| progress.call1(py, at).map(drop))
        })
    };
    let (searched, watched) = py.detach(|| {
        thread::scope(|scope| {
            let searching = scope.spawn(|| {
                let searched = pool.install(|| candidates.shard(&search, &range, &watch));
                end();
                searched
            });
            let watched = loop {
                thread::park_timeout(TICK);
                // Asked before it is told, so that the last one told is the end.
                let is_over = is_over.load(Ordering::Acquire) || searching.is_finished();
                let watched = tell();
                if is_over || watched.is_err() {
                    break watched;
                }
            };
            watch.stop();
            (searching.join(), watched)
        })
    });
    let refused = match searched {
        Ok(searched) => searched.map_err(told)?,
        Err(_) => return Err(Error::new_err("the search broke down: this is worth a report")),
    };
    watched?;
    let hits = hits.into_inner().unwrap_or_else(PoisonError::into_inner);
    let bytes = |bytes: &[u8]| PyBytes::new(py, bytes);
    let found = hits.iter().map(|hit| (hit.number.clone(), bytes(&hit.candidate), bytes(&hit.key)));
    let left_out = refused.iter().map(|(refusal, count, first)| (refusal.reason(), count, first));
    Ok((found.collect(), left_out.collect()))
}

/// What a search refuses, as an exception of Python's.
fn told(refusal: Refusal) -> PyErr {
    match refusal {
        Refusal::Block(error) => refused(error),
        refusal => Error::new_err(refusal.to_string()),
    }
}

fn unknown(what: &str, name: &str, all: &str) -> PyErr {
    Error::new_err(format!("no {what} is called {name:?}: choose {all}"))
}
