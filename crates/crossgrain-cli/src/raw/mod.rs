//! `crossgrain raw`: a mode of operation on a stream, without a file format.
//!
//! Modes without a tag stream in constant memory (`stream`), and so do those of wider blocks (`wide`) and records
//! under their own keys (`records`), whose keys are held in memory. Modes
//! with a tag hold the message in memory, because no plaintext may be released before the tag has been
//! verified (`sealed`).

mod args;
mod padding;
mod records;
mod sealed;
mod stream;
mod wide;

pub(crate) use args::Args;

use crossgrain::plan::Plan;
use crossgrain::{BLOCK_BYTES, Direction};

use crate::error::{self, Error};
use crate::output::{Content, Output};
use crate::plan::summary;
use crate::profile;
use args::{Job, Kind};

/// Encrypts or decrypts.
pub(crate) fn run(args: Args) -> Result<(), Error> {
    profile::begin(args.profile);
    let job = args.check()?;
    match &job.kind {
        Kind::Plain(engine, plain) => {
            stream::run(&job, &stream::work(&job, engine, plain)?, plain.is_padded.then_some(BLOCK_BYTES))?;
        }
        Kind::Records(engine, settings) => stream::run(&job, &records::work(&job, engine, settings)?, None)?,
        Kind::Sealed(engine, sealed) => sealed::run(&job, engine, sealed)?,
        Kind::Wide(wide) => {
            stream::run(&job, &wide::work(&job, wide)?, wide.is_padded.then_some(wide.cipher.block_bytes()))?;
        }
    }
    profile::report();
    Ok(())
}

/// The output for the result.
fn output(job: &Job) -> Result<Output, Error> {
    let content = match job.direction {
        Direction::Encrypt => Content::Open,
        Direction::Decrypt => Content::Plaintext,
    };
    match &job.output {
        Some(path) => Output::file(path, job.force, content),
        None => Output::standard(),
    }
}

/// Prints the plans and their bundle sizes, if the user requested it.
fn explain(job: &Job, plans: &[Plan]) {
    for plan in plans.iter().filter(|_| job.explain) {
        let names: Vec<_> = plan.stages.iter().map(|stage| stage.variant.name.as_str()).collect();
        error::tell(&format!("plan, by {} blocks: {}", plan.bundle_blocks(), summary(&names)));
    }
}
