//! `crossgrain raw`: one mode of operation over a stream, with nothing around it.
//!
//! Blocks of 16 bytes and wider ones (`wide`) go the same way. Modes without a tag stream in constant memory (`stream`). Those with one hold the message in memory, for
//! nothing of it may be released before its tag is known to be right (`sealed`).

mod args;
mod padding;
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
        Kind::Sealed(engine, sealed) => sealed::run(&job, engine, sealed)?,
        Kind::Wide(wide) => {
            stream::run(&job, &wide::work(&job, wide)?, wide.is_padded.then_some(wide.cipher.block_bytes()))?;
        }
    }
    profile::report();
    Ok(())
}

/// Where the result goes.
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

/// Tells which plans run, and from how many blocks on, if it was asked for.
fn explain(job: &Job, plans: &[Plan]) {
    for plan in plans.iter().filter(|_| job.explain) {
        let names: Vec<_> = plan.stages.iter().map(|stage| stage.variant.name.as_str()).collect();
        error::tell(&format!("plan, by {} blocks: {}", plan.bundle_blocks(), summary(&names)));
    }
}
