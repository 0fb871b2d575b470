//! The arguments of `plan`, and the case made from them.

use std::fmt;
use std::path::{Path, PathBuf};

use clap::ValueEnum;
use crossgrain::Policy;
use crossgrain::engine::device::{Kernel, Task};
use crossgrain::engine::text::quoted;
use crossgrain::engine::tune::{Effort, Scope, confirm, measure_costs};
use crossgrain::mode::Mode;
use crossgrain::plan::compose::CostFile;
use crossgrain::plan::graph::BULK_BYTES;
use crossgrain::plan::{Costs, Job, JobSource, Limits, Place, Plans, TableReuse};
use crossgrain::wide::Rijndael;
use crossgrain::{BLOCK_BYTES, Cipher, Direction, Features};

use super::case::{Basis, Case, Facts};
use super::mixes::Mixes;
use crate::device::Asked;
use crate::error::Error;
use crate::input::{read_small, shown};
use crate::progress::Countdown;
use crate::typed::{self, AnyCipher, any_ciphers, clock_ns, efforts, policies};
use crate::wisdom;

/// The default size of a search. Keys of the slowest schedule take half a second.
const SEARCH_BYTES: u64 = 1 << 18;

/// Show the cheapest way to compute a job, and the costs of the alternatives
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Cipher and job in one word, such as aes-256-gcm. The rest of an id that `bench` prints is ignored
    #[arg(value_name = "ID", value_parser = CipherAndJob::parse, conflicts_with_all = ["cipher", "job", "costs", "plan"])]
    id: Option<CipherAndJob>,

    /// The block cipher, with its key size in bits; for rijndael, the sizes of block and key
    #[arg(long, value_parser = any_ciphers(), required_unless_present_any = ["id", "costs", "plan"])]
    cipher: Option<AnyCipher>,

    /// The job to compute: a mode, `chains` (CMAC), `own-keys` (32 records, each under its own key) or `search`.
    /// Add `-decrypt` if decrypting is another job
    #[arg(long, value_name = "JOB", value_parser = JobName::parse, required_unless_present_any = ["id", "costs", "plan"])]
    job: Option<JobName>,

    /// The size to plan for [default: 1M, for a search 256K]; in a search each key counts as a block of 16
    /// bytes
    #[arg(long, value_name = "N", value_parser = some_bytes)]
    bytes: Option<u64>,

    /// For a search: the source of keys
    #[arg(long, value_name = "FROM", default_value = "mask")]
    keys: Keys,

    /// For a search: how many bits of the cipher's output block are known
    #[arg(long, value_name = "N", default_value_t = JobSource::WHOLE_BLOCK, value_parser = clap::value_parser!(u32).range(1..=128))]
    known_bits: u32,

    /// The source of costs: those shipped, those measured now, or runs of the best paths end to end. Unless
    /// given, the costs that `wisdom measure` has stored, or else those shipped. Measured costs that choose
    /// a path slower than the shipped one are dropped
    #[arg(long, value_parser = efforts())]
    effort: Option<Effort>,

    /// About how long to measure, in milliseconds; 20 for each variant unless given
    #[arg(long, value_name = "MS")]
    budget_ms: Option<u64>,

    /// Run the best path of every representation and the best paths that mix them, next to the predictions, and
    /// predict a job whose conversions cost nothing. Costs are measured first
    #[arg(long, conflicts_with_all = ["costs", "plan", "device"])]
    mixes: bool,

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

/// The name of a job.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum JobName {
    /// A mode that plans one job.
    Mode(Mode, Direction),
    /// Chains of blocks, as in CMAC.
    Chains,
    /// Records that each have their own key.
    OwnKeys(Direction),
    /// A key search. Encryption starts from a known plaintext, decryption from a known ciphertext.
    Search(Direction),
}

/// A cipher and a job in one word.
#[derive(Clone, Copy, Debug)]
struct CipherAndJob(AnyCipher, JobName);

impl CipherAndJob {
    /// Reads `aes-256-gcm`, or an id of the benchmark that contains a cipher and a job: `modes/aes-256/gcm-many`,
    /// `lengths/aes-128-ctr/best/16`.
    fn parse(id: &str) -> Result<Self, String> {
        let mut words = id.split('/');
        let begins = |word: &&str| AnyCipher::all().rfind(|cipher| word.starts_with(cipher.name()));
        let Some((word, cipher)) = words.find_map(|word| Some((word, begins(&word)?))) else {
            return Err("it names no cipher: give aes-256-gcm, say".to_owned());
        };
        let job = match word[cipher.name().len()..].strip_prefix('-') {
            Some(job) => job,
            None => words.next().unwrap_or_default(),
        };
        // The benchmark appends the number or the length of messages.
        let known = JobName::parse(job).or_else(|told| {
            let is_number = |word: &str| word.bytes().all(|byte| byte.is_ascii_digit());
            let shorter = job.rsplit_once('-').filter(|(_, end)| *end == "many" || is_number(end));
            shorter.and_then(|(job, _)| JobName::parse(job).ok()).ok_or(told)
        });
        known.map(|job| Self(cipher, job))
    }
}

/// The suffix of a job that decrypts.
const DECRYPT: &str = "-decrypt";

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
        let id = self.id.map(|CipherAndJob(cipher, job)| (Some(cipher), Some(job)));
        let (cipher, job) = id.unwrap_or((self.cipher, self.job));
        match (&self.costs, &self.plan, cipher, job) {
            (Some(path), ..) => from_file(path),
            (_, Some(path), ..) => {
                let plans = typed::plans(path)?;
                let mut case = self.planned(plans.job(), JobName::of(plans.job()), Some(&plans))?;
                case.first = format!("path of {}", shown(path));
                Ok(case)
            }
            (.., Some(AnyCipher::Usual(cipher)), Some(job)) => {
                self.planned(self.job(cipher, job)?, job, None)
            }
            (.., Some(AnyCipher::Wide(cipher)), Some(job)) => self.wide(cipher, job),
            _ => Err(Error::usage("there is nothing to plan: give --cipher and --job, --plan, or --costs")),
        }
    }

    /// A job of a cipher with wide blocks. One variant computes all of it, and its costs are those shipped.
    fn wide(&self, cipher: Rijndael, name: JobName) -> Result<Case, Error> {
        self.check_search_options(name)?;
        let is_measured = !matches!(self.effort, None | Some(Effort::Estimate)) || self.budget_ms.is_some();
        for (option, is_given) in [
            ("--effort", is_measured),
            ("--device", self.device != Asked::Cpu),
            ("--save", self.save.is_some()),
            ("--mixes", self.mixes),
        ] {
            if is_given {
                let told = format!(
                    "{cipher} has one variant in each plan, by the costs shipped: leave {option} out"
                );
                return Err(Error::usage(told));
            }
        }
        let is_wide = match name {
            JobName::Mode(mode, _) => mode.entry().any_block_size,
            JobName::Search(_) => true,
            JobName::Chains | JobName::OwnKeys(_) => false,
        };
        if !is_wide {
            let modes = Mode::names(|mode| mode.entry().any_block_size);
            return Err(Error::usage(format!(
                "{name} needs blocks of 16 bytes: give search, or one of {modes}"
            )));
        }
        let usual = if matches!(name, JobName::Search(_)) { SEARCH_BYTES } else { BULK_BYTES };
        let facts = Facts {
            cipher: cipher.name(),
            job: None,
            mode: name.to_string(),
            basis: Basis::Effort(Effort::Estimate),
            policy: self.policy,
            features: Features::from_environment()?,
            len_bytes: self.bytes.unwrap_or(usual),
            secret_counter: false,
            is_search: matches!(name, JobName::Search(_)),
            is_of_many: false,
        };
        Case::of_wide(facts, cipher, name)
    }

    /// Refuses the options of a search for other jobs.
    fn check_search_options(&self, name: JobName) -> Result<(), Error> {
        let is_default = (self.keys, self.known_bits) == (Keys::Mask, JobSource::WHOLE_BLOCK);
        match name {
            JobName::Search(_) => Ok(()),
            _ if is_default => Ok(()),
            _ => Err(Error::usage("--keys and --known-bits are of a search: leave them out")),
        }
    }

    /// The job that the arguments name.
    fn job(&self, cipher: Cipher, name: JobName) -> Result<Job, Error> {
        self.check_search_options(name)?;
        match name {
            JobName::Search(direction) => {
                let usage = if self.keys == Keys::Mask { TableReuse::Often } else { TableReuse::Once };
                Ok(Job { cipher, direction, source: JobSource::Keys { usage, known_bits: self.known_bits } })
            }
            JobName::Chains => Ok(Job::of_chains(cipher)),
            JobName::OwnKeys(direction) => Ok(Job::of_own_keys(cipher, direction)),
            JobName::Mode(mode, direction) => {
                mode.admits(cipher)?;
                Ok(mode.job(cipher, direction))
            }
        }
    }

    fn planned(&self, job: Job, name: JobName, plans: Option<&Plans>) -> Result<Case, Error> {
        let usual = if job.source.is_search() { SEARCH_BYTES } else { BULK_BYTES };
        let len_bytes = self.bytes.unwrap_or(usual);
        if !job.source.counts() && !len_bytes.is_multiple_of(BLOCK_BYTES as u64) {
            let told =
                format!("{name} is planned for whole blocks: give --bytes a multiple of {BLOCK_BYTES}");
            return Err(Error::usage(told));
        }
        let Self { policy, effort, budget_ms, mixes, .. } = *self;
        let effort = if mixes { Some(effort.unwrap_or(Effort::Measure)) } else { effort };
        if mixes && effort == Some(Effort::Estimate) {
            return Err(Error::usage("--mixes compares measured costs: leave --effort estimate out"));
        }
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
        let mode = name.to_string();
        let secret_counter = matches!(name, JobName::Mode(mode, _) if mode.has_secret_counter());
        let (cipher, is_search) = (job.cipher.name(), job.source.is_search());
        let is_of_many = match name {
            JobName::Mode(mode, direction) => !mode.is_parallel(direction),
            name => name == JobName::Chains,
        };
        let job_of = Some(job);
        let facts = Facts {
            cipher,
            job: job_of,
            mode,
            basis,
            policy,
            features,
            len_bytes,
            secret_counter,
            is_search,
            is_of_many,
        };
        let task = if matches!(name, JobName::Mode(Mode::Ctr | Mode::Ecb, _)) { task(job) } else { None };
        let mut case = Case::of_job(facts, job, &costs, self.places(job, task, len_bytes)?)?;
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
        if mixes {
            case.mixes = Some(Mixes::of(&case, budget_ms, &clock_ns)?);
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
    fn places(&self, job: Job, task: Option<Task>, len_bytes: u64) -> Result<Vec<Place>, Error> {
        let is_cpu = self.device == Asked::Cpu;
        let Some(task) = task else {
            let refused = || Error::usage("devices run ctr and ecb: leave --device out");
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

/// The task of a device that computes this job. Devices have none for a search, and none for whole modes.
const fn task(job: Job) -> Option<Task> {
    match (job.source, job.direction) {
        (JobSource::Counter, _) => Some(Task::Count),
        (JobSource::Bytes, Direction::Encrypt) => Some(Task::Encrypt),
        (JobSource::Bytes, Direction::Decrypt) => Some(Task::Decrypt),
        (JobSource::Mode(_) | JobSource::Keys { .. }, _) => None,
    }
}

impl JobName {
    /// All names, in the order of lists.
    fn all() -> impl Iterator<Item = Self> {
        let modes = Mode::ALL.into_iter().flat_map(|mode| {
            let [encrypt, decrypt] = Direction::ALL.map(|direction| mode.jobs(Cipher::Aes128, direction));
            let named = |direction| Self::Mode(mode, direction);
            let differs = (encrypt != decrypt).then(|| named(Direction::Decrypt));
            let one_job = (encrypt.len() == 1).then(|| named(Direction::Encrypt));
            one_job.into_iter().chain(differs)
        });
        let [own_keys, search] = [Self::OwnKeys, Self::Search].map(|of| Direction::ALL.map(of));
        modes.chain([Self::Chains]).chain(own_keys).chain(search)
    }

    fn parse(name: &str) -> Result<Self, String> {
        if let Some(found) = Self::all().find(|job| job.to_string() == name) {
            return Ok(found);
        }
        if name == "cmac" {
            return Ok(Self::Chains);
        }
        // Decryption that is the same job as encryption has a name, too.
        if let Some(Ok(mode)) = name.strip_suffix(DECRYPT).map(str::parse::<Mode>)
            && mode.jobs(Cipher::Aes128, Direction::Decrypt).len() == 1
        {
            return Ok(Self::Mode(mode, Direction::Decrypt));
        }
        if let Some(jobs) = name.parse().ok().map(|mode: Mode| mode.jobs(Cipher::Aes128, Direction::Encrypt))
            && jobs.len() > 1
        {
            let jobs: Vec<_> = jobs.into_iter().map(|job| Self::of(job).to_string()).collect();
            return Err(format!("it has the jobs {}: plan each of them", jobs.join(" and ")));
        }
        let names: Vec<_> = Self::all().map(|job| job.to_string()).collect();
        Err(format!("give one of {}", names.join(", ")))
    }

    /// A name of a job. Modes share jobs: the first mode in the list that has the job names it.
    pub(super) fn of(job: Job) -> Self {
        let is_its = |name: &Self| match *name {
            Self::Mode(mode, direction) => mode.job(job.cipher, direction) == job,
            Self::Chains => job == Job::of_chains(job.cipher),
            Self::OwnKeys(direction) => job == Job::of_own_keys(job.cipher, direction),
            Self::Search(direction) => job.source.is_search() && direction == job.direction,
        };
        let chains = Some(Self::Chains).filter(is_its);
        chains.or_else(|| Self::all().find(is_its)).unwrap_or(Self::Chains)
    }
}

/// The name on the command line.
impl fmt::Display for JobName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (name, direction) = match *self {
            Self::Mode(mode, direction) => (mode.name(), direction),
            Self::Chains => ("chains", Direction::Encrypt),
            Self::OwnKeys(direction) => ("own-keys", direction),
            Self::Search(direction) => ("search", direction),
        };
        f.write_str(name)?;
        if direction == Direction::Decrypt { f.write_str(DECRYPT) } else { Ok(()) }
    }
}

/// Parses a size of at least one byte.
fn some_bytes(text: &str) -> Result<u64, String> {
    typed::size(text).and_then(|bytes| if bytes > 0 { Ok(bytes) } else { Err("give a byte at least".into()) })
}

/// A case from a file of costs. A file that cannot be parsed is a usage error.
fn from_file(path: &Path) -> Result<Case, Error> {
    let bytes = read_small(path)?;
    let refused = |reason: &dyn fmt::Display| Error::usage(format!("{}: {reason}", shown(path)));
    let text = String::from_utf8(bytes).map_err(|_| refused(&"the cost file is no text"))?;
    let file: CostFile = text.parse().map_err(|error| refused(&error))?;
    let flow = file.flow().map_err(|error| refused(&error))?;
    let name = path.file_name().unwrap_or(path.as_os_str());
    Case::of_costs(name.to_string_lossy().into_owned(), flow).map_err(|error| refused(&error))
}
