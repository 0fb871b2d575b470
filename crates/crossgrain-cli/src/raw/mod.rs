//! `crossgrain raw`: one mode of operation over a stream, with nothing around it.

mod args;

pub(crate) use args::Args;

use std::num::NonZero;

use crossgrain::mode::{Ctr, Ecb};
use crossgrain::plan::Plan;
use crossgrain::{Buffers, Error as Refusal};

use crate::error::{self, Error, Exit};
use crate::input::Input;
use crate::output::Output;
use crate::pipeline::{self, CHUNK_BYTES, Failure};
use crate::plan::summary;
use crate::progress::Progress;
use args::{Job, Mode};

/// Replaces a chunk, given its first byte's position in the stream.
type Compute = Box<dyn Fn(u64, &mut [u8]) -> Result<(), Refusal> + Sync>;

/// Encrypts or decrypts.
pub(crate) fn run(args: Args) -> Result<(), Error> {
    let job = args.check()?;
    let compute = compute(&job)?;
    let input = Input::open(job.input.as_deref())?;
    let mut output = match &job.output {
        Some(path) => Output::file(path, job.force)?,
        None => Output::standard()?,
    };
    let from = input.name().clone();
    let workers = workers(job.workers, input.len_bytes());
    let progress = Progress::new(&mut output, input.len_bytes());
    let done = pipeline::run(workers, input, progress, compute);
    done.map_err(|failure| match failure {
        Failure::Read(error) => Error::read(&from, &error),
        Failure::Compute(refusal) => {
            Error::new(Exit::Truncated, format!("{from} ends within a block: {refusal}"))
        }
        Failure::Write(error) => Error::write(output.name(), &error),
    })?;
    output.finish()
}

/// No more workers than there are chunks.
fn workers(most: NonZero<usize>, len_bytes: Option<u64>) -> NonZero<usize> {
    let chunks = len_bytes.map_or(u64::MAX, |len_bytes| len_bytes.div_ceil(CHUNK_BYTES as u64));
    let chunks = usize::try_from(chunks).unwrap_or(usize::MAX);
    NonZero::new(chunks).map_or(NonZero::<usize>::MIN, |chunks| chunks.min(most))
}

/// Tells which plans run, and from how many blocks on, if it was asked for.
fn explain(job: &Job, plans: &[Plan]) {
    for plan in plans.iter().filter(|_| job.explain) {
        let names: Vec<_> = plan.stages.iter().map(|stage| stage.variant.name.as_str()).collect();
        error::tell(&format!("plan, by {} blocks: {}", plan.bundle_blocks(), summary(&names)));
    }
}

fn compute(job: &Job) -> Result<Compute, Error> {
    Ok(match &job.mode {
        Mode::Ctr { initial } => {
            let ctr = Ctr::new(&job.key, initial, &job.options)?;
            explain(job, ctr.plans());
            Box::new(move |position, chunk| {
                ctr.apply_at(position.into(), Buffers::in_place(chunk));
                Ok(())
            })
        }
        Mode::Ecb { direction } => {
            let ecb = Ecb::new(&job.key, *direction, &job.options)?;
            explain(job, ecb.plans());
            Box::new(move |position, chunk| {
                let so_far = position as usize + chunk.len();
                // The library counts from the chunk's beginning, the user from the stream's.
                let whole = |_| Refusal::PartialBlock { len_bytes: so_far };
                ecb.apply(Buffers::in_place(chunk)).map_err(whole)
            })
        }
    })
}
