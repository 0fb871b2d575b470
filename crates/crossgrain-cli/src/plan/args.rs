//! `plan` as typed, and what is to be planned.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Instant;

use clap::ValueEnum;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use crossgrain::plan::compose::CostFile;
use crossgrain::plan::{Birth, Costs, Job};
use crossgrain::tune::{Scope, measure_costs};
use crossgrain::variant::Policy;
use crossgrain::{BLOCK_BYTES, Cipher, Direction, Features};

use super::case::{Case, Facts};
use super::retime;
use crate::error::Error;

/// Show the cheapest way to compute a job, and what the other ways would cost
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The block cipher, with its key size in bits
    #[arg(long, value_parser = ciphers(), required_unless_present = "costs")]
    cipher: Option<Cipher>,

    /// What to compute
    #[arg(long, required_unless_present = "costs")]
    job: Option<JobName>,

    /// The size to plan for
    #[arg(long, value_name = "N", default_value_t = 1 << 20, value_parser = clap::value_parser!(u64).range(1..))]
    bytes: u64,

    /// Where costs come from
    #[arg(long, default_value = "estimate")]
    effort: Effort,

    /// About how long to measure, in milliseconds
    #[arg(long, value_name = "MS", default_value_t = 2000)]
    budget_ms: u64,

    /// Which variants may be used: only those whose timing tells nothing of key or data, or any
    #[arg(long, value_name = "POLICY", default_value = "constant-time", value_parser = policies())]
    policy: Policy,

    /// Plan the costs in this JSON file instead, in whatever unit they are
    #[arg(long, value_name = "FILE", conflicts_with_all = ["cipher", "job", "bytes", "effort", "budget_ms", "policy"])]
    costs: Option<PathBuf>,

    /// Print one JSON object
    #[arg(long)]
    pub(super) json: bool,

    /// Draw the paths and their costs
    #[arg(long, value_name = "FILE")]
    pub(super) svg: Option<PathBuf>,

    /// Write a page, DIR/index.html, with the picture and all costs
    #[arg(long, value_name = "DIR")]
    pub(super) html: Option<PathBuf>,

    /// Replace files that exist
    #[arg(long)]
    pub(super) force: bool,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum JobName {
    /// Counter mode, from a counter to bytes
    Ctr,
    /// Electronic codebook, encrypting
    Ecb,
    /// Electronic codebook, decrypting
    EcbDecrypt,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Effort {
    /// Costs shipped with the library; nothing is timed
    Estimate,
    /// Costs timed here and now
    Measure,
}

impl Args {
    /// The case that was asked for, planned.
    pub(super) fn case(&self) -> Result<Case, Error> {
        match (&self.costs, self.cipher, self.job) {
            (Some(path), ..) => from_file(path),
            (None, Some(cipher), Some(job)) => self.planned(cipher, job),
            _ => Err(Error::usage("there is nothing to plan: give --cipher and --job, or --costs")),
        }
    }

    fn planned(&self, cipher: Cipher, name: JobName) -> Result<Case, Error> {
        let whole_blocks = self.bytes.is_multiple_of(BLOCK_BYTES as u64);
        if name.job(cipher).birth == Birth::Bytes && !whole_blocks {
            let told = format!("ecb takes whole blocks: give --bytes a multiple of {BLOCK_BYTES}");
            return Err(Error::usage(told));
        }
        let features = Features::from_environment()?;
        let costs = match self.effort {
            Effort::Estimate => Costs::estimates(cipher),
            Effort::Measure => {
                let scope = Scope { cipher, features, policy: self.policy, budget_ms: self.budget_ms };
                let start = Instant::now();
                let clock_ns = move || u64::try_from(start.elapsed().as_nanos()).unwrap_or(u64::MAX);
                measure_costs(scope, &clock_ns)?
            }
        };
        let facts = Facts {
            job: name.job(cipher),
            mode: typed(name),
            effort: typed(self.effort),
            policy: self.policy,
            features,
            len_bytes: self.bytes,
        };
        let mut case = Case::of_job(facts, &costs)?;
        if let (Effort::Measure, Some(facts)) = (self.effort, &case.facts) {
            case.measured = retime::measured(&case, facts)?;
        }
        Ok(case)
    }
}

impl JobName {
    const fn job(self, cipher: Cipher) -> Job {
        let (direction, birth) = match self {
            Self::Ctr => (Direction::Encrypt, Birth::Counter),
            Self::Ecb => (Direction::Encrypt, Birth::Bytes),
            Self::EcbDecrypt => (Direction::Decrypt, Birth::Bytes),
        };
        Job { cipher, direction, birth }
    }
}

/// Costs that somebody wrote down. A file that cannot be understood is wrong usage.
fn from_file(path: &Path) -> Result<Case, Error> {
    let bytes = fs::read(path).map_err(|error| Error::read(path.display(), &error))?;
    let refused = |reason: &dyn std::fmt::Display| Error::usage(format!("{}: {reason}", path.display()));
    let text = String::from_utf8(bytes).map_err(|_| refused(&"the cost file is no text"))?;
    let file: CostFile = text.parse().map_err(|error| refused(&error))?;
    let flow = file.flow().map_err(|error| refused(&error))?;
    let name = path.file_name().unwrap_or(path.as_os_str());
    Case::of_costs(name.to_string_lossy().into_owned(), flow).map_err(|error| refused(&error))
}

/// The name by which a value is typed.
fn typed(value: impl ValueEnum) -> String {
    value.to_possible_value().map_or_else(String::new, |value| value.get_name().to_owned())
}

fn ciphers() -> impl TypedValueParser<Value = Cipher> {
    PossibleValuesParser::new(Cipher::ALL.map(Cipher::name)).try_map(|name| name.parse::<Cipher>())
}

fn policies() -> impl TypedValueParser<Value = Policy> {
    PossibleValuesParser::new(["constant-time", "any"])
        .map(|name| if name == "any" { Policy::Any } else { Policy::ConstantTime })
}
