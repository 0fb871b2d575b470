//! Key search: a job as described by Python's half, and the search of one shard.
//!
//! The caller's thread only reports progress and checks whether Python wants to stop. Other threads search.

use std::fmt::Display;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use crossgrain::Cipher;
use crossgrain::mode::{Initial, Mode, Options};
use crossgrain::plan::TableReuse;
use crossgrain_search::{
    BigUint, BlockMode, BlockSearch, Data, Error as Refusal, Hash, Hit, Kdf, Known, Part, Plausible, Refused,
    Search, Shard, Tagged, Watch, XtsSector, pairs,
};
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::PyBytes;
use rayon::ThreadPoolBuilder;

use crate::device::searcher;
use crate::search_candidates::{Candidates, Growth, Masks, Set};
use crate::search_file::{Facts, Header, look};
use crate::search_targets::Goals;
use crate::{Error, refused, wisdom};

/// The interval at which the caller's thread wakes up.
const TICK: Duration = Duration::from_millis(100);

/// Plaintext, the mask of its known bits, and ciphertext.
pub(crate) type Texts = (Vec<u8>, Vec<u8>, Vec<u8>);

/// A hit: number, candidate, key, target.
type Found<'py> = (BigUint, Bound<'py, PyBytes>, Bound<'py, PyBytes>, usize);

/// Refused words: the reason, their count, and the number of the first.
type LeftOut = (&'static str, u64, u64);

/// The result of a check: the kernel, the candidates per word, the length of keys, and the refused words of the
/// second list.
type Checked = (String, u64, Option<usize>, Vec<LeftOut>);

/// The result of a part: the hits, the refused words, the reasons of failed devices, and the number of
/// candidates that were tried.
type Searched<'py> = (Vec<Found<'py>>, Vec<LeftOut>, Vec<String>, u64);

/// A search job, as passed by Python's half.
#[derive(FromPyObject)]
pub(crate) struct Job<'py> {
    #[pyo3(item)]
    cipher: Option<String>,
    #[pyo3(item)]
    pub(crate) known: Vec<Texts>,
    #[pyo3(item)]
    crypt: Vec<u8>,
    #[pyo3(item)]
    looks: Option<String>,
    #[pyo3(item)]
    pub(crate) headers: Vec<Header>,
    #[pyo3(item)]
    pub(crate) facts: Facts,
    #[pyo3(item)]
    pub(crate) targets: Vec<Texts>,
    #[pyo3(item)]
    any_target: bool,
    #[pyo3(item)]
    finished: Vec<usize>,
    #[pyo3(item)]
    mode: String,
    #[pyo3(item)]
    iv: Vec<u8>,
    #[pyo3(item)]
    aad: Vec<Vec<u8>>,
    #[pyo3(item)]
    tag: Vec<u8>,
    #[pyo3(item)]
    sector: u128,
    #[pyo3(item)]
    pub(crate) key_mask: Option<String>,
    #[pyo3(item)]
    pub(crate) mask: Option<Masks>,
    #[pyo3(item)]
    pub(crate) mask_before: Option<Masks>,
    #[pyo3(item)]
    pub(crate) mask_after: Option<Masks>,
    #[pyo3(item)]
    pub(crate) increment: Option<Growth>,
    #[pyo3(item)]
    pub(crate) hex: bool,
    #[pyo3(item)]
    pub(crate) sets: Vec<Set>,
    #[pyo3(item)]
    pub(crate) range: Option<(BigUint, BigUint)>,
    #[pyo3(item)]
    pub(crate) words: Option<Bound<'py, PyAny>>,
    #[pyo3(item)]
    pub(crate) words_after: Option<Bound<'py, PyAny>>,
    #[pyo3(item)]
    pub(crate) form: String,
    #[pyo3(item)]
    pub(crate) rules: Vec<Vec<u8>>,
    #[pyo3(item)]
    pub(crate) rule_files: Vec<PyBackedBytes>,
    #[pyo3(item)]
    pub(crate) rule_right: Option<Vec<u8>>,
    #[pyo3(item)]
    pub(crate) strict_rules: bool,
    #[pyo3(item)]
    kdf: String,
    #[pyo3(item)]
    salt: Option<Vec<u8>>,
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

impl Job<'_> {
    /// The search for a key by texts.
    pub(crate) fn known_search(&self, known: &[Texts]) -> PyResult<Search> {
        Search::new(self.what_is_known(known)?, self.kdf()?).map_err(told)
    }

    fn what_is_known(&self, texts: &[Texts]) -> PyResult<Known> {
        let options = Options { threads: 1, short_nonces: true, ..Options::default() };
        let cipher = self.cipher.as_deref().ok_or_else(|| Error::new_err("there is no cipher: give it"))?;
        let cipher: Cipher = cipher.parse().map_err(refused)?;
        let mode: Mode = self.mode.parse().map_err(refused)?;
        self.refuse_useless(mode, texts)?;
        Ok(match (mode.entry().initial, &self.looks) {
            (Initial::Nonce { .. }, _) => Known::Test(Box::new(Tagged {
                cipher,
                mode,
                nonce: self.iv.clone(),
                aads: self.aad.clone(),
                ciphertext: self.crypt.clone(),
                tag: self.tag.clone(),
                options,
            })),
            (Initial::Sector, _) => Known::Test(Box::new(self.sector(cipher, texts)?)),
            (_, Some(name)) => Known::Test(Box::new(Plausible {
                cipher,
                mode: BlockMode::new(mode, &self.iv).map_err(told)?,
                ciphertext: self.crypt.clone(),
                look: look(name)?,
                options,
            })),
            _ => {
                let mode = BlockMode::new(mode, &self.iv).map_err(told)?;
                let mut known = Vec::new();
                for (plaintext, mask, ciphertext) in texts {
                    known.extend(pairs(mode, Data { plaintext, mask, ciphertext }).map_err(told)?);
                }
                // Tests of a mode plan for every key, so they use the estimates. A search of blocks plans once.
                let costs = Python::attach(|py| wisdom::costs(py, cipher))?;
                let options = Options { costs, ..options };
                Known::Blocks(BlockSearch::new(cipher, &known, &options).map_err(told)?)
            }
        })
    }

    /// Refuses arguments that the mode does not use, and reports those that it needs.
    fn refuse_useless(&self, mode: Mode, texts: &[Texts]) -> PyResult<()> {
        let (is_tagged, has_sectors) = (mode.is_authenticated(), mode.entry().initial == Initial::Sector);
        let takes_iv = matches!(mode.entry().initial, Initial::Block | Initial::Nonce { .. });
        let is_by_crypt = is_tagged || self.looks.is_some();
        let given = [
            ("iv", !self.iv.is_empty(), takes_iv),
            ("aad", !self.aad.is_empty(), is_tagged),
            ("tag", !self.tag.is_empty(), is_tagged),
            ("sector", self.sector != 0, has_sectors),
            ("looks", self.looks.is_some(), !is_tagged && !has_sectors),
            ("crypt without looks", !self.crypt.is_empty(), is_by_crypt),
        ];
        if let Some((name, ..)) = given.iter().find(|(_, is_given, is_used)| *is_given && !is_used) {
            return Err(Error::new_err(format!("{mode} takes no {name}: leave it out")));
        }
        if is_tagged && !self.targets.is_empty() {
            return Err(Error::new_err(format!(
                "{mode} has tags, and targets have plaintexts: choose another mode"
            )));
        }
        if is_by_crypt == texts.is_empty() {
            return Ok(());
        }
        let why = if is_by_crypt {
            "the key is known by its tag or by looks: give crypt, and leave known out"
        } else {
            "nothing is known: give known, pairs of plaintext and ciphertext"
        };
        Err(Error::new_err(why))
    }

    fn sector(&self, cipher: Cipher, texts: &[Texts]) -> PyResult<XtsSector> {
        let [(plaintext, mask, ciphertext)] = texts else {
            return Err(Error::new_err("a sector of xts is one text: give one pair in known"));
        };
        let (plaintext, mask, ciphertext) = (plaintext.clone(), mask.clone(), ciphertext.clone());
        Ok(XtsSector { cipher, sector: self.sector, plaintext, mask, ciphertext })
    }

    fn kdf(&self) -> PyResult<Kdf> {
        let (kdf, iterations) = (self.kdf.as_str(), self.iterations);
        let salt = || {
            let why = || Error::new_err(format!("{kdf} takes a salt: give it, b\"\" if it is empty"));
            self.salt.clone().ok_or_else(why)
        };
        let pbkdf2 = |hash| Ok::<_, PyErr>(Kdf::Pbkdf2 { hash, salt: salt()?, iterations });
        Ok(match kdf {
            "exact" => Kdf::Exact,
            "zeros" => Kdf::Zeros,
            "repeat" => Kdf::Repeat,
            "sha256" => Kdf::Sha256,
            "pbkdf2-sha1" => pbkdf2(Hash::Sha1)?,
            "pbkdf2-sha256" => pbkdf2(Hash::Sha256)?,
            "pbkdf2-sha512" => pbkdf2(Hash::Sha512)?,
            "scrypt" => Kdf::Scrypt { salt: salt()?, log_n: self.log_n, r: self.block_size, p: self.lanes },
            "argon2id" => Kdf::Argon2id {
                salt: salt()?,
                memory_kib: self.memory_kib,
                passes: iterations,
                lanes: self.lanes,
            },
            kdf => {
                let all = "exact, zeros, repeat, sha256, pbkdf2-sha1, pbkdf2-sha256, pbkdf2-sha512, scrypt or \
                           argon2id";
                return Err(unknown("kdf", kdf, all));
            }
        })
    }
}

/// Checks a job. Returns the name of the kernel, the number of candidates per word, the length of keys if
/// candidates are keys, and the refused words of the second list.
#[pyfunction]
pub(crate) fn search_check(py: Python<'_>, job: Job<'_>) -> PyResult<Checked> {
    let search = job.search(py)?;
    let mut refused = Refused::default();
    let candidates = job.candidates(&search, &mut refused)?;
    let usage = if let Candidates::Words { .. } = &candidates { TableReuse::Once } else { TableReuse::Often };
    Ok((search.kernel(usage), candidates.per_word()?, job.key_bytes(&search), left_out(&refused)))
}

/// The number of candidates of a job. The words of a list are counted.
#[pyfunction]
pub(crate) fn search_size(py: Python<'_>, job: Job<'_>) -> PyResult<BigUint> {
    let candidates = job.candidates(&job.search(py)?, &mut Refused::default())?;
    py.detach(|| candidates.size())
}

fn left_out(refused: &Refused) -> Vec<LeftOut> {
    refused.iter().map(|(refusal, count, first)| (refusal.reason(), count, first)).collect()
}

/// Searches a part of a job's candidates.
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
    devices: Vec<String>,
) -> PyResult<Searched<'py>> {
    let sought = job.sought(py)?;
    let (search, goals) = (&sought.search, Goals::new(&sought, goes_on, job.any_target, &job.finished));
    let candidates = job.candidates(search, &mut Refused::default())?;
    let shard = shard.map(|(index, count)| Shard::new(index, count)).transpose().map_err(told)?;
    let (part, is_counted) = (Part { skip, limit, shard }, progress.is_some());
    let range = py.detach(|| candidates.part(&part, is_counted))?;
    let devices = devices.iter().map(|id| py.detach(|| searcher(id))).collect::<PyResult<Vec<_>>>()?;
    let devices: Vec<_> = devices.iter().map(|device| &**device).collect();
    let total = &range.end - &range.start;
    let (hits, is_over, caller) = (Mutex::new(Vec::new()), AtomicBool::new(false), thread::current());
    let end = || {
        is_over.store(true, Ordering::Release);
        caller.unpark();
    };
    let on_hit = |hit: Hit| {
        let target = hit.target;
        if !goals.find(target) {
            return;
        }
        hits.lock().unwrap_or_else(PoisonError::into_inner).push(hit);
        if !goals.is_open(target) {
            search.finish(target);
        }
        if goals.are_over() {
            end();
        }
    };
    let watch = Watch::new(&on_hit);
    let pool = ThreadPoolBuilder::new().num_threads(threads).build();
    let pool = pool.map_err(without_threads)?;
    let progress = progress.map(Bound::unbind);
    let tell = || {
        Python::attach(|py| {
            py.check_signals()?;
            let at = (watch.tried(), total.clone());
            progress.as_ref().map_or(Ok(()), |progress| progress.call1(py, at).map(drop))
        })
    };
    let (refused, failures) = watched(py, &watch, &is_over, &tell, || {
        let searched = pool.install(|| candidates.shard(search, &devices, &range, &watch));
        end();
        searched
    })?;
    let tried = watch.tried();
    let hits = hits.into_inner().unwrap_or_else(PoisonError::into_inner);
    let bytes = |bytes: &[u8]| PyBytes::new(py, bytes);
    let found =
        hits.iter().map(|hit| (hit.number.clone(), bytes(&hit.candidate), bytes(&hit.key), hit.target));
    Ok((found.collect(), left_out(&refused), failures, tried))
}

/// Searches on another thread. Meanwhile, this thread calls `tell` from time to time, and ends the search if that
/// fails.
fn watched<T: Send>(
    py: Python<'_>,
    watch: &Watch<'_>,
    is_over: &AtomicBool,
    tell: &(dyn Fn() -> PyResult<()> + Sync),
    search: impl FnOnce() -> PyResult<T> + Send,
) -> PyResult<T> {
    let (searched, watched) = py.detach(|| {
        thread::scope(|scope| {
            let searching = thread::Builder::new().spawn_scoped(scope, search);
            let searching = searching.map_err(without_threads)?;
            let watched = loop {
                thread::park_timeout(TICK);
                // Read before the report, so that the last report is complete.
                let is_over = is_over.load(Ordering::Acquire) || searching.is_finished();
                let watched = tell();
                if is_over || watched.is_err() {
                    break watched;
                }
            };
            watch.stop();
            Ok::<_, PyErr>((searching.join(), watched))
        })
    })?;
    let broken = |_| Error::new_err("the search broke down: this is worth a report");
    let searched = searched.map_err(broken)??;
    watched.map(|()| searched)
}

/// An error of the search as a Python exception. Names of options are those of arguments.
pub(crate) fn told(refusal: Refusal) -> PyErr {
    match refusal {
        Refusal::Block(error) => refused(error),
        refusal => Error::new_err(refusal.to_string().replace(" --", " ")),
    }
}

fn without_threads(error: impl Display) -> PyErr {
    Error::new_err(format!("no threads can be had: {error}"))
}

/// The error for a name that is not known.
pub(crate) fn unknown(what: &str, name: &str, all: &str) -> PyErr {
    Error::new_err(format!("no {what} is called {name:?}: choose {all}"))
}
