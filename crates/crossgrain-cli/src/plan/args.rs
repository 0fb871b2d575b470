//! The arguments of `plan`, and the case made from them.

use std::path::{Path, PathBuf};

use clap::ValueEnum;
use crossgrain::Policy;
use crossgrain::internal::device::{Kernel, Task};
use crossgrain::internal::text::quoted;
use crossgrain::internal::tune::{Effort, Scope, confirm, measure_costs};
use crossgrain::plan::compose::CostFile;
use crossgrain::plan::graph::BULK_BYTES;
use crossgrain::plan::{Birth, Costs, Job, Limits, Place, Plans, Use};
use crossgrain::{BLOCK_BYTES, Cipher, Direction, Features};

use super::case::{Basis, Case, Facts};
use crate::device::Asked;
use crate::error::Error;
use crate::input::{read_small, shown};
use crate::progress::Countdown;
use crate::typed::{self, ciphers, clock_ns, efforts, policies};
use crate::wisdom;

/// The default size of a search. Keys of the slowest schedule take half a second.
const SEARCH_BYTES: u64 = 1 << 18;

/// Show the cheapest way to compute a job, and the costs of the alternatives
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The block cipher, with its key size in bits
    #[arg(long, value_parser = ciphers(), required_unless_present_any = ["costs", "plan"])]
    cipher: Option<Cipher>,

    /// The job to compute
    #[arg(long, required_unless_present_any = ["costs", "plan"])]
    job: Option<JobName>,

    /// The size to plan for [default: 1M, for a search 256K]; in a search each key counts as a block of 16
    /// bytes
    #[arg(long, value_name = "N", value_parser = some_bytes)]
    bytes: Option<u64>,

    /// For a search: the source of keys
    #[arg(long, value_name = "FROM", default_value = "mask")]
    keys: Keys,

    /// For a search: how many bits of the cipher's output block are known
    #[arg(long, value_name = "N", default_value_t = Birth::WHOLE_BLOCK, value_parser = clap::value_parser!(u32).range(1..=128))]
    known_bits: u32,

    /// The source of costs: those shipped, those measured now, or runs of the best paths end to end. Unless
    /// given, the costs that `wisdom measure` has stored, or else those shipped. Measured costs that choose
    /// a path slower than the shipped one are dropped
    #[arg(long, value_parser = efforts())]
    effort: Option<Effort>,

    /// About how long to measure, in milliseconds; 20 for each variant unless given
    #[arg(long, value_name = "MS")]
    budget_ms: Option<u64>,

    /// Which variants may be used: only those whose timing depends on neither key nor data, or any
    #[arg(long, value_name = "POLICY", default_value = "constant-time", value_parser = policies())]
    policy: Policy,

    /// Plan for devices too, by the costs that `crossgrain devices --measure` has stored: `auto` or `gpu`
    /// for all of them, or one by its name
    #[arg(long, value_name = "DEVICE", default_value = "cpu", conflicts_with_all = ["costs", "plan", "save"])]
    device: Asked,

    /// Plan with the costs in this JSON file instead, which may be in any unit
    #[arg(long, value_name = "FILE", conflicts_with_all = ["cipher", "job", "bytes", "effort", "budget_ms", "policy", "keys", "known_bits"])]
    costs: Option<PathBuf>,

    /// Show the plan in this file instead of choosing one
    #[arg(long, value_name = "FILE", conflicts_with_all = ["cipher", "job", "costs", "keys", "known_bits"])]
    plan: Option<PathBuf>,

    /// Write the plan to a file that --plan reads
    #[arg(long, value_name = "FILE", conflicts_with = "costs")]
    pub(super) save: Option<PathBuf>,

    /// Print one JSON object
    #[arg(long)]
    pub(super) json: bool,

    /// Draw the paths and their costs
    #[arg(long, value_name = "FILE")]
    pub(super) svg: Option<PathBuf>,

    /// Write a page with the picture and all costs. It is one file, which loads nothing
    #[arg(long, value_name = "FILE")]
    pub(super) html: Option<PathBuf>,

    /// Replace files that exist
    #[arg(long)]
    pub(super) force: bool,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(super) enum JobName {
    /// Counter mode, from a counter to bytes
    Ctr,
    /// Electronic codebook, encrypting
    Ecb,
    /// Electronic codebook, decrypting
    EcbDecrypt,
    /// Key search, encrypting a known plaintext
    Search,
    /// Key search, decrypting a known ciphertext
    SearchDecrypt,
}

/// Where the keys of a search come from.
#[derive(Clone, Copy, Debug, PartialEq, ValueEnum)]
pub(super) enum Keys {
    /// A mask or a range: a table of keys is used again and again
    Mask,
    /// A list: every key is new
    List,
}

impl Args {
    /// The requested case, planned.
    pub(super) fn case(&self) -> Result<Case, Error> {
        match (&self.costs, &self.plan, self.cipher, self.job) {
            (Some(path), ..) => from_file(path),
            (_, Some(path), ..) => {
                let plans = typed::plans(path)?;
                let mut case = self.planned(plans.job(), Some(&plans))?;
                case.first = format!("path of {}", shown(path));
                Ok(case)
            }
            (.., Some(cipher), Some(job)) => self.planned(self.job(cipher, job)?, None),
            _ => Err(Error::usage("there is nothing to plan: give --cipher and --job, --plan, or --costs")),
        }
    }

    /// The job that the arguments name.
    fn job(&self, cipher: Cipher, name: JobName) -> Result<Job, Error> {
        let (direction, data) = match name {
            JobName::Ctr => (Direction::Encrypt, Some(Birth::Counter)),
            JobName::Ecb => (Direction::Encrypt, Some(Birth::Bytes)),
            JobName::EcbDecrypt => (Direction::Decrypt, Some(Birth::Bytes)),
            JobName::Search => (Direction::Encrypt, None),
            JobName::SearchDecrypt => (Direction::Decrypt, None),
        };
        let is_default = (self.keys, self.known_bits) == (Keys::Mask, Birth::WHOLE_BLOCK);
        if data.is_some() && !is_default {
            return Err(Error::usage("--keys and --known-bits are of a search: leave them out"));
        }
        let usage = if self.keys == Keys::Mask { Use::Often } else { Use::Once };
        let birth = data.unwrap_or(Birth::Keys { usage, known_bits: self.known_bits });
        Ok(Job { cipher, direction, birth })
    }

    fn planned(&self, job: Job, plans: Option<&Plans>) -> Result<Case, Error> {
        let usual = if job.birth.is_search() { SEARCH_BYTES } else { BULK_BYTES };
        let len_bytes = self.bytes.unwrap_or(usual);
        if job.birth != Birth::Counter && !len_bytes.is_multiple_of(BLOCK_BYTES as u64) {
            let mode = JobName::of(job).name();
            let told = format!("{mode} takes whole blocks: give --bytes a multiple of {BLOCK_BYTES}");
            return Err(Error::usage(told));
        }
        let Self { policy, effort, budget_ms, .. } = *self;
        let features = Features::from_environment()?;
        let scope = Scope { cipher: job.cipher, features, policy, budget_ms };
        let clock_ns = clock_ns();
        let (basis, costs) = match effort {
            None => Case::kept(job, wisdom::costs(job.cipher).as_deref()),
            Some(Effort::Estimate) => Case::kept(job, None),
            Some(effort) => {
                let costs = measured(scope, &clock_ns)?;
                let is_chosen = effort == Effort::Measure && plans.is_none();
                let costs =
                    if is_chosen { confirmed(job, scope, &costs, len_bytes, &clock_ns)? } else { costs };
                (Basis::Effort(effort), costs)
            }
        };
        let mode = JobName::of(job).name();
        let facts = Facts { job, mode, basis, policy, features, len_bytes };
        let mut case = Case::of_job(facts, &costs, self.places(job, len_bytes)?)?;
        if let Some(plans) = plans {
            case.put_first(plans)?;
        }
        match effort {
            None | Some(Effort::Estimate) => {}
            Some(Effort::Exhaustive) if plans.is_none() => {
                case.contend(&costs, scope.takes_ms(), &clock_ns)?;
            }
            Some(Effort::Measure | Effort::Exhaustive) => case.run_paths(&clock_ns)?,
        }
        Ok(case)
    }
}

/// Costs measured here and now, with a bar that shows the time left.
fn measured(scope: Scope, clock_ns: &dyn Fn() -> u64) -> Result<Costs, Error> {
    let countdown = Countdown::new(scope.takes_ms());
    countdown.begin(scope.cipher.name(), scope.takes_ms());
    Ok(measure_costs(scope, clock_ns, &|| countdown.tick())?)
}

/// Measured costs by which the job's path is not slower than the shipped one.
fn confirmed(
    job: Job,
    scope: Scope,
    costs: &Costs,
    len_bytes: u64,
    clock_ns: &dyn Fn() -> u64,
) -> Result<Costs, Error> {
    let limits = Limits::of(scope.features, scope.policy);
    let found = confirm(&[job], &limits, costs, len_bytes, scope.takes_ms(), clock_ns)?;
    wisdom::tell_contradictions(&found.contradictions);
    Ok(found.costs.filled(job.cipher))
}

impl Args {
    /// The requested devices, each with the cheapest program that the policy allows.
    fn places(&self, job: Job, len_bytes: u64) -> Result<Vec<Place>, Error> {
        let is_cpu = self.device == Asked::Cpu;
        let Some(task) = task(job) else {
            let refused = || Error::usage("a search is planned for the CPU: leave --device out");
            return if is_cpu { Ok(Vec::new()) } else { Err(refused()) };
        };
        let kernels = Kernel::within(job.cipher.family(), task, self.policy == Policy::Any);
        let mut places: Vec<_> =
            kernels.into_iter().flat_map(|kernel| wisdom::places(job.cipher, kernel)).collect();
        let ns = |place: &Place| place.total().at(len_bytes);
        places.sort_by(|a, b| a.name.cmp(&b.name).then(ns(a).total_cmp(&ns(b))));
        places.dedup_by(|a, b| a.name == b.name);
        match &self.device {
            Asked::Cpu => places.clear(),
            Asked::Device(id) if id != "gpu" => places.retain(|place| place.name == *id),
            Asked::Auto | Asked::Device(_) => {}
        }
        if let (true, Asked::Device(id)) = (places.is_empty(), &self.device) {
            let mend = "measure them by `crossgrain devices --measure`";
            return Err(Error::usage(format!(
                "nothing is known of what this costs on {}: {mend}",
                quoted(id)
            )));
        }
        Ok(places)
    }
}

/// The task of a device that computes this job. Devices have none for a search.
const fn task(job: Job) -> Option<Task> {
    match (job.birth, job.direction) {
        (Birth::Counter, _) => Some(Task::Count),
        (Birth::Bytes, Direction::Encrypt) => Some(Task::Encrypt),
        (Birth::Bytes, Direction::Decrypt) => Some(Task::Decrypt),
        (Birth::Keys { .. }, _) => None,
    }
}

impl JobName {
    /// The name on the command line.
    pub(super) fn name(self) -> String {
        self.to_possible_value().map_or_else(String::new, |value| value.get_name().to_owned())
    }

    pub(super) const fn of(job: Job) -> Self {
        match (job.birth, job.direction) {
            (Birth::Counter, _) => Self::Ctr,
            (Birth::Bytes, Direction::Encrypt) => Self::Ecb,
            (Birth::Bytes, Direction::Decrypt) => Self::EcbDecrypt,
            (Birth::Keys { .. }, Direction::Encrypt) => Self::Search,
            (Birth::Keys { .. }, Direction::Decrypt) => Self::SearchDecrypt,
        }
    }
}

/// Parses a size of at least one byte.
fn some_bytes(text: &str) -> Result<u64, String> {
    typed::size(text).and_then(|bytes| if bytes > 0 { Ok(bytes) } else { Err("give a byte at least".into()) })
}

/// A case from a file of costs. A file that cannot be parsed is a usage error.
fn from_file(path: &Path) -> Result<Case, Error> {
    let bytes = read_small(path)?;
    let refused = |reason: &dyn std::fmt::Display| Error::usage(format!("{}: {reason}", shown(path)));
    let text = String::from_utf8(bytes).map_err(|_| refused(&"the cost file is no text"))?;
    let file: CostFile = text.parse().map_err(|error| refused(&error))?;
    let flow = file.flow().map_err(|error| refused(&error))?;
    let name = path.file_name().unwrap_or(path.as_os_str());
    Case::of_costs(name.to_string_lossy().into_owned(), flow).map_err(|error| refused(&error))
}
