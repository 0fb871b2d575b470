//! Modes without a tag, which process a stream in chunks.

use std::io::{Read, Write};
use std::num::NonZero;
use std::sync::{Mutex, PoisonError};

use crossgrain::Policy;
use crossgrain::engine::device::{Kernel, Task};
use crossgrain::mode::{self, Mode, Start};
use crossgrain::plan::compose::Cost;
use crossgrain::{BLOCK_BYTES, Buffers, Direction, Error as Refusal, Key};

use super::args::{Engine, Job, Plain};
use super::explain;
use super::padding::{Padded, Unpadded};
use crate::device::{OnDevice, Wanted};
use crate::error::{Error, Exit};
use crate::input::{Input, Name};
use crate::pipeline::{self, BEFORE_BYTES, Cut, Failure, Place};
use crate::progress::{Audience, Progress};

/// Computes a chunk in place.
pub(super) type Compute = Box<dyn Fn(Place, &mut [u8]) -> Result<(), Stop> + Sync>;

/// The reason why a chunk was not computed.
pub(super) enum Stop {
    /// The mode refused it.
    Refused(Refusal),
    /// The requested device failed.
    Device(Error),
    /// The input does not fit the records or their keys.
    Records(Error),
}

impl From<Refusal> for Stop {
    fn from(refusal: Refusal) -> Self {
        Self::Refused(refusal)
    }
}

/// A mode, ready to run.
pub(super) struct Work {
    pub(super) compute: Compute,
    pub(super) cut: Cut,
    /// Whether chunks must be computed one after another.
    pub(super) is_serial: bool,
    /// The predicted cost on one CPU thread, also if a device computes the mode.
    pub(super) cost: Cost,
}

/// Encrypts or decrypts. `padded_to` is the block size in bytes for padding, or `None` for no padding.
pub(super) fn run(job: &Job, work: &Work, padded_to: Option<usize>) -> Result<(), Error> {
    let mut input = Input::open(job.input.as_deref())?;
    let mut output = super::output(job)?;
    output.apart_from(&input, true)?;
    let from = input.name().clone();
    let len_bytes = input.len_bytes();
    let workers =
        if work.is_serial { NonZero::<usize>::MIN } else { work.cut.workers(job.workers, len_bytes) };
    let to = output.name().clone();
    let progress = Progress::new(&mut output, len_bytes, Audience::Auto);
    let ends = Ends { from: &from, to: &to };
    match (padded_to, job.direction) {
        (None, _) => ends.stream(workers, work, &mut input, progress)?,
        (Some(block_bytes), Direction::Encrypt) => {
            ends.stream(workers, work, Padded::new(&mut input, block_bytes), progress)?;
        }
        (Some(block_bytes), Direction::Decrypt) => {
            let mut unpadded = Unpadded::new(progress, block_bytes);
            ends.stream(workers, work, &mut input, &mut unpadded)?;
            unpadded.finish(&from, &to)?;
        }
    }
    input.stayed_whole()?;
    output.finish()
}

/// The names of the input and the output of a stream.
struct Ends<'a> {
    from: &'a Name,
    to: &'a Name,
}

impl Ends<'_> {
    fn stream(
        &self,
        workers: NonZero<usize>,
        work: &Work,
        input: impl Read + Send,
        output: impl Write + Send,
    ) -> Result<(), Error> {
        let from = self.from;
        let done = pipeline::run(workers, work.cut, input, output, &work.compute);
        done.map(drop).map_err(|failure| match failure {
            Failure::Read(error) => Error::read(from, &error),
            Failure::Compute(Stop::Device(error) | Stop::Records(error)) => error,
            Failure::Compute(Stop::Refused(refusal @ Refusal::ShortSector { .. })) => {
                Error::new(Exit::Truncated, format!("{from} ends within a sector: {refusal}"))
            }
            Failure::Compute(Stop::Refused(refusal)) => {
                Error::new(Exit::Truncated, format!("{from} ends within a block: {refusal}"))
            }
            Failure::Write(error) => Error::write(self.to, &error),
        })
    }
}

/// The device task for a mode, if devices support it.
pub(super) fn task(mode: Mode, direction: Direction) -> Option<Task> {
    match (mode, direction) {
        (Mode::Ecb, Direction::Encrypt) => Some(Task::Encrypt),
        (Mode::Ecb, Direction::Decrypt) => Some(Task::Decrypt),
        (Mode::Ctr, _) => Some(Task::Count),
        _ => None,
    }
}

/// The mode with its key.
pub(super) fn work(job: &Job, engine: &Engine, plain: &Plain) -> Result<Work, Error> {
    let work = on_cpu(job, engine, plain)?;
    let Some(task) = task(job.mode, job.direction) else {
        return Ok(work);
    };
    let first = u128::from_be_bytes(job.mode.initial_block(&plain.iv)?);
    let kernels = Kernel::within(engine.cipher.family(), task, engine.options.policy == Policy::Any);
    let cpu = (work.cost, job.workers.get());
    let (key, len_bytes) = (&Key::new(engine.cipher, &job.secret)?, job.len_bytes());
    let wanted = Wanted { kernels, key, len_bytes, cpu, explain: job.explain };
    Ok(match job.device.find(&wanted)? {
        Some(device) => placed(device, task, first, work),
        None => work,
    })
}

/// The same work, computed by the device where it supports it.
fn placed(device: OnDevice, task: Task, first: u128, work: Work) -> Work {
    let Work { compute: on_cpu, cut, is_serial, cost } = work;
    let cut = Cut { chunk_bytes: device.chunk_bytes(), ..cut };
    let compute: Compute = Box::new(move |place, chunk| {
        // Partial blocks go to the CPU, which refuses them.
        let takes = task.counts() || chunk.len().is_multiple_of(BLOCK_BYTES);
        let counter = first.wrapping_add(u128::from(place.position / BLOCK_BYTES as u64));
        if takes && device.apply(counter, chunk).map_err(Stop::Device)? {
            return Ok(());
        }
        on_cpu(place, chunk)
    });
    Work { compute, cut, is_serial, cost }
}

/// The mode on the CPU. Serial modes process pieces in order; others process each by its position.
fn on_cpu(job: &Job, engine: &Engine, plain: &Plain) -> Result<Work, Error> {
    let Plain { iv, first_sector, sector_bytes, .. } = plain;
    let start = Start { iv, sector: *first_sector, sector_bytes: *sector_bytes };
    let mode =
        job.mode.unauthenticated(engine.cipher, &job.secret, job.direction, &start, &engine.options)?;
    explain(job, mode.plans());
    let cost = mode.plans().first().map_or(Cost::FREE, |plan| plan.cost);
    let chunk_bytes = mode.grain_bytes() * (job.chunk_bytes / mode.grain_bytes()).max(1);
    let mut cut = Cut { chunk_bytes, ..Cut::default() };
    cut.before[BEFORE_BYTES - BLOCK_BYTES..].copy_from_slice(&job.mode.initial_block(iv)?);
    let is_serial = !job.mode.is_parallel(job.direction);
    let next = Mutex::new(mode.start());
    let compute: Compute = Box::new(move |place, chunk| {
        let buffers = Buffers::in_place(chunk);
        if is_serial {
            return Ok(mode.apply(&mut next.lock().unwrap_or_else(PoisonError::into_inner), buffers)?);
        }
        let mut before = [0; BLOCK_BYTES];
        before.copy_from_slice(&place.before[BEFORE_BYTES - BLOCK_BYTES..]);
        Ok(mode.apply(&mut mode::Place::at(place.position.into(), before), buffers)?)
    });
    Ok(Work { compute, cut, is_serial, cost })
}
