//! Whole jobs timed end to end, to check predictions and to find the fastest plan.
//!
//! The sum of a path's costs is a prediction, because each part was timed separately. Here the plans with the
//! best predictions run the whole job in turns, on one thread and in the same memory. Each is first compared
//! with the reference.

use std::cell::RefCell;

use super::elapsed_ns;
use crate::block::{BLOCK_BYTES, Cipher, Direction, Error, Key};
use crate::check;
use crate::mode::{Aead, AeadMessage, Cbc, Ctr, Ecb, Gcm, Message, Ocb, Options};
#[cfg(feature = "own-keys")]
use crate::mode::{OwnKeys, Record};
use crate::plan::compose::Path;
use crate::plan::graph::{BULK_BYTES, JobFlow};
use crate::plan::measure::{Measured, Sampling, Subject, measure, race};
use crate::plan::{Costs, Fused, Job, JobSource, Limits, Plan, Plans, Searching};
use crate::run::search;

/// The number of turns that are counted.
const TURNS: usize = 15;

/// A path of a job's flow, with its measured time.
#[derive(Clone, Debug)]
pub struct Contender {
    /// The path, with its predicted costs.
    pub path: Path,
    /// The path as a plan.
    pub plan: Plan,
    /// The measured time.
    pub measured: Measured,
}

/// The choice of paths, the amount of data, and the duration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Field {
    /// The number of paths with the best predictions. The best path of every pure form runs in addition.
    pub best: usize,
    /// The number of paths that mix representations.
    pub mixed: usize,
    /// The length of a run, in bytes. For jobs on bytes it must be a multiple of 16.
    pub len_bytes: usize,
    /// The approximate duration of the measurement, in milliseconds. Checks take additional time.
    pub budget_ms: u64,
}

impl Default for Field {
    fn default() -> Self {
        Self { best: 16, mixed: 4, len_bytes: BULK_BYTES as usize, budget_ms: 500 }
    }
}

impl Field {
    /// The paths to run, best prediction first, without duplicates.
    ///
    /// # Errors
    /// [`Error::NoPlan`] if no path exists.
    pub fn paths(&self, flow: &JobFlow) -> Result<Vec<Path>, Error> {
        let graph = flow.flow().at(self.len_bytes as u64);
        let mut paths = graph.k_best(self.best.max(1)).map_err(|error| Error::NoPlan(error.to_string()))?;
        let pure = graph.pure_forms().into_iter().filter_map(|form| form.whole);
        for path in pure.chain(graph.mixed(self.mixed)) {
            if !paths.contains(&path) {
                paths.push(path);
            }
        }
        Ok(paths)
    }
}

/// Runs the best paths of a job. The fastest comes first.
///
/// # Errors
/// [`Error::NoPlan`] if no path exists; [`Error::Unavailable`] for a plan that disagrees with the reference.
pub fn contend(
    job: Job,
    limits: &Limits,
    costs: &Costs,
    field: Field,
    clock_ns: &dyn Fn() -> u64,
) -> Result<Vec<Contender>, Error> {
    let flow = JobFlow::new(job, limits, costs)?;
    let paths = field.paths(&flow)?;
    contend_on(job, limits, (&flow, paths), field, clock_ns)
}

/// Runs these paths of a job's flow, whatever `field` chooses. The fastest comes first. Paths that are twice as slow as
/// another run only a few times.
///
/// # Errors
/// As [`contend`].
pub fn contend_on(
    job: Job,
    limits: &Limits,
    (flow, paths): (&JobFlow, Vec<Path>),
    Field { len_bytes, budget_ms, .. }: Field,
    clock_ns: &dyn Fn() -> u64,
) -> Result<Vec<Contender>, Error> {
    let plans = paths.iter().map(|path| flow.plan(path)).collect::<Result<Vec<_>, _>>()?;
    let samples = (plans.len() * (TURNS + 3)).max(1);
    let sampling = Sampling { turns: TURNS, sample_ns: budget_ms * 1_000_000 / samples as u64 };
    let data = RefCell::new(vec![0; len_bytes]);
    let mut runners = runners(job, limits, &plans, &data, clock_ns)?;
    let measured = race(&mut subjects(&mut runners), sampling);
    let contender = |((path, plan), measured)| Contender { path, plan, measured };
    let mut contenders: Vec<_> = paths.into_iter().zip(plans).zip(measured).map(contender).collect();
    contenders.sort_by(|a, b| a.measured.fastest_ns.total_cmp(&b.measured.fastest_ns));
    Ok(contenders)
}

/// Times plans of one job in turns.
///
/// # Errors
/// [`Error::CorruptPlan`] and [`Error::Unavailable`] for a plan that cannot be used, does not compute the
/// job, or disagrees with the reference.
pub fn end_to_end(
    job: Job,
    limits: &Limits,
    plans: &[Plan],
    len_bytes: usize,
    sampling: Sampling,
    clock_ns: &dyn Fn() -> u64,
) -> Result<Vec<Measured>, Error> {
    let data = RefCell::new(vec![0; len_bytes]);
    let mut runners = runners(job, limits, plans, &data, clock_ns)?;
    Ok(measure(&mut subjects(&mut runners), sampling))
}

/// Prepares plans for timing on this data. Each has given the reference's bytes.
fn runners<'a>(
    job: Job,
    limits: &Limits,
    plans: &[Plan],
    data: &'a RefCell<Vec<u8>>,
    clock_ns: &'a dyn Fn() -> u64,
) -> Result<Vec<Runner<'a>>, Error> {
    let len_bytes = data.borrow().len();
    let runner = |plan: &Plan| {
        let options = Options {
            policy: limits.policy,
            features: Some(limits.features),
            plans: vec![Plans::new(job, vec![plan.clone()])?.into()],
            threads: 1,
            ..Options::default()
        };
        if !check::job_agrees(job.cipher, job.direction, job.source, &options)? {
            return Err(check::disagrees(&plan.stages[0].variant.name));
        }
        Ok(Runner { mode: Mode::of(job, &options, len_bytes)?, data, clock_ns })
    };
    plans.iter().map(runner).collect()
}

fn subjects<'a>(runners: &'a mut [Runner<'_>]) -> Vec<&'a mut dyn Subject> {
    runners.iter_mut().map(|runner| runner as &mut dyn Subject).collect()
}

/// Records that each have their own key.
#[cfg(feature = "own-keys")]
const RECORDS: usize = 32;

/// Bytes in a message, for chains.
const CHAIN_BYTES: usize = 4096;

/// A plan prepared for timing. All plans use the same memory, so none has a better placement than another.
struct Runner<'a> {
    mode: Mode,
    data: &'a RefCell<Vec<u8>>,
    clock_ns: &'a dyn Fn() -> u64,
}

/// The simplest mode that runs a job, or a search, where each key counts as a block.
enum Mode {
    Ecb(Ecb),
    Ctr(Ctr),
    Sealed(Box<dyn Aead>),
    Opened(Box<dyn Aead>),
    Chains(Cbc),
    #[cfg(feature = "own-keys")]
    OwnKeys(Box<OwnKeys>, Direction, Vec<Key>),
    Search(Searching),
}

impl Mode {
    fn of(job: Job, options: &Options, len_bytes: usize) -> Result<Self, Error> {
        let key = arbitrary_key(job.cipher)?;
        Ok(match job.source {
            JobSource::Keys { usage, .. } => {
                let (plans, known) = (options.plans_of(job)?, Searching::anything(job.direction));
                let part = search(&plans[0], options.limits()?.features, job.cipher, &known)?;
                Self::Search(Searching::new(&*part, job.cipher, usage, len_bytes / BLOCK_BYTES))
            }
            JobSource::Bytes => Self::Ecb(Ecb::with_options(&key, job.direction, options)?),
            JobSource::Counter => Self::Ctr(Ctr::with_options(&key, &[1; 16], options)?),
            JobSource::Mode(Fused::Gcm) => {
                Self::Sealed(Box::new(Gcm::with_options(&key, BLOCK_BYTES, options)?))
            }
            JobSource::Mode(Fused::Ocb) => {
                let ocb = Box::new(Ocb::with_options(&key, BLOCK_BYTES, options)?);
                if job.direction == Direction::Encrypt { Self::Sealed(ocb) } else { Self::Opened(ocb) }
            }
            JobSource::Mode(Fused::Chains) => {
                Self::Chains(Cbc::with_options(&key, Direction::Encrypt, options)?)
            }
            #[cfg(feature = "own-keys")]
            JobSource::Mode(Fused::OwnKeys) => {
                let own = Box::new(OwnKeys::with_options(job.cipher, options)?);
                Self::OwnKeys(own, job.direction, vec![key; RECORDS])
            }
        })
    }
}

fn arbitrary_key(cipher: Cipher) -> Result<Key, Error> {
    Key::new(cipher, &[0x5a; 32][..cipher.key_bytes()])
}

impl Subject for Runner<'_> {
    fn time_ns(&mut self, repeats: u32) -> u64 {
        let mut data = self.data.borrow_mut();
        elapsed_ns(self.clock_ns, || {
            for _ in 0..repeats {
                match &mut self.mode {
                    Mode::Search(search) => search.run(),
                    Mode::Ctr(ctr) => ctr.apply_at(0, &mut data[..]),
                    Mode::Sealed(aead) => {
                        let mut message = AeadMessage::new(&[1; 12], &[], &mut data[..]);
                        drop(aead.as_ref().seal_message(&mut message));
                    }
                    // The tag is wrong. The time is that of a right one, and of overwriting the output.
                    Mode::Opened(aead) => {
                        let message = AeadMessage::new(&[1; 12], &[], &mut data[..]);
                        let mut message = AeadMessage { tag: [0; BLOCK_BYTES].into(), ..message };
                        drop(aead.as_ref().open_message(&mut message));
                    }
                    Mode::Chains(cbc) => {
                        let messages = data.chunks_mut(CHAIN_BYTES).map(|data| Message::new([1; 16], data));
                        drop(cbc.apply_many(&mut messages.collect::<Vec<_>>()));
                    }
                    #[cfg(feature = "own-keys")]
                    Mode::OwnKeys(own, direction, keys) => {
                        let record_bytes = data.len() / BLOCK_BYTES / keys.len() * BLOCK_BYTES;
                        let records = keys.iter().zip(data.chunks_exact_mut(record_bytes.max(BLOCK_BYTES)));
                        let records = records.map(|(key, data)| Record::new(key, [0; BLOCK_BYTES], data));
                        drop(own.ecb(*direction, &mut records.collect::<Vec<_>>()));
                    }
                    // The data is whole blocks; otherwise no plan would exist for this length.
                    Mode::Ecb(ecb) => drop(ecb.apply(&mut data[..])),
                }
            }
        })
    }
}
