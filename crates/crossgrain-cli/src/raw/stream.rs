//! Modes without a tag, chunk by chunk.

use std::io::{Read, Write};
use std::num::NonZero;
use std::sync::{Mutex, PoisonError};

use crossgrain::device::{Kernel, Task};
use crossgrain::mode::{Cbc, Cfb, Chain, Ctr, Ecb, Ofb, Xts, XtsKey};
use crossgrain::plan::Plan;
use crossgrain::plan::compose::Cost;
use crossgrain::variant::Policy;
use crossgrain::{BLOCK_BYTES, Block, Buffers, Direction, Error as Refusal};

use super::args::{Engine, Job, Stream};
use super::explain;
use super::padding::{Padded, Unpadded};
use crate::device::{OnDevice, Wanted};
use crate::error::{Error, Exit};
use crate::input::{Input, Name};
use crate::pipeline::{self, BEFORE_BYTES, CHUNK_BYTES, Cut, Failure, Place};
use crate::progress::{Audience, Progress};

/// Replaces a chunk.
pub(super) type Compute = Box<dyn Fn(Place, &mut [u8]) -> Result<(), Stop> + Sync>;

/// Why a chunk is not replaced.
pub(super) enum Stop {
    /// The mode does not take it.
    Refused(Refusal),
    /// The device that was asked for failed.
    Device(Error),
}

impl From<Refusal> for Stop {
    fn from(refusal: Refusal) -> Self {
        Self::Refused(refusal)
    }
}

/// A mode, ready to be run.
pub(super) struct Work {
    pub(super) compute: Compute,
    pub(super) cut: Cut,
    /// Whether chunks must be computed one after another.
    pub(super) is_serial: bool,
    /// What it is predicted to cost a thread; told of what devices compute too.
    pub(super) cost: Cost,
}

/// Encrypts or decrypts, padded to blocks of so many bytes if at all.
pub(super) fn run(job: &Job, work: &Work, padded_to: Option<usize>) -> Result<(), Error> {
    let mut input = Input::open(job.input.as_deref())?;
    let mut output = super::output(job)?;
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

/// What to call the ends of a stream.
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
            Failure::Compute(Stop::Device(error)) => error,
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

/// The mode, bound to its key.
pub(super) fn work(job: &Job, engine: &Engine, mode: &Stream) -> Result<Work, Error> {
    let work = on_cpu(job, engine, mode)?;
    let (task, first) = match (mode, job.direction) {
        (Stream::Ecb { .. }, Direction::Encrypt) => (Task::Encrypt, 0),
        (Stream::Ecb { .. }, Direction::Decrypt) => (Task::Decrypt, 0),
        (Stream::Ctr { initial }, _) => (Task::Count, u128::from_be_bytes(*initial)),
        _ => return Ok(work),
    };
    let kernels = Kernel::within(engine.cipher.family(), task, engine.options.policy == Policy::Any);
    let cpu = (work.cost, job.workers.get());
    let (key, len_bytes) = (&engine.key(job)?, job.len_bytes());
    let wanted = Wanted { kernels, key, len_bytes, cpu, explain: job.explain };
    Ok(match job.device.find(&wanted)? {
        Some(device) => placed(device, task, first, work),
        None => work,
    })
}

/// The same work, but of the device whatever it takes.
fn placed(device: OnDevice, task: Task, first: u128, work: Work) -> Work {
    let Work { compute: on_cpu, cut, is_serial, cost } = work;
    let cut = Cut { chunk_bytes: device.chunk_bytes(), ..cut };
    let compute: Compute = Box::new(move |place, chunk| {
        // The CPU refuses what is no whole block.
        let takes = task.counts() || chunk.len().is_multiple_of(BLOCK_BYTES);
        let counter = first.wrapping_add(u128::from(place.position / BLOCK_BYTES as u64));
        if takes && device.apply(counter, chunk).map_err(Stop::Device)? {
            return Ok(());
        }
        on_cpu(place, chunk)
    });
    Work { compute, cut, is_serial, cost }
}

/// What most of a job is predicted to cost.
fn cost_of(plans: &[Plan]) -> Cost {
    plans.first().map_or(Cost::FREE, |plan| plan.cost)
}

/// The mode, computed by the CPU.
fn on_cpu(job: &Job, engine: &Engine, mode: &Stream) -> Result<Work, Error> {
    let (direction, options) = (job.direction, &engine.options);
    let side_by_side = |compute, cost| Work { compute, cut: Cut::default(), is_serial: false, cost };
    Ok(match *mode {
        Stream::Ecb { .. } => {
            let ecb = Ecb::new(&engine.key(job)?, direction, options)?;
            explain(job, ecb.plans());
            let cost = cost_of(ecb.plans());
            let apply = move |place, chunk: &mut [u8]| whole(place, chunk, |buffers| ecb.apply(buffers));
            side_by_side(Box::new(apply), cost)
        }
        Stream::Ctr { initial } => {
            let ctr = Ctr::new(&engine.key(job)?, &initial, options)?;
            explain(job, ctr.plans());
            let cost = cost_of(ctr.plans());
            let apply = move |place: Place, chunk: &mut [u8]| {
                ctr.apply_at(place.position.into(), Buffers::in_place(chunk));
                Ok(())
            };
            side_by_side(Box::new(apply), cost)
        }
        Stream::Cbc { iv, .. } => {
            let cbc = Cbc::new(&engine.key(job)?, direction, options)?;
            explain(job, cbc.plans());
            let apply = move |chain: &mut Chain, buffers: Buffers<'_>| cbc.apply(chain, buffers);
            chained(direction == Direction::Encrypt, iv, apply)
        }
        Stream::Cfb { iv } => {
            let cfb = Cfb::new(&engine.key(job)?, direction, options)?;
            explain(job, cfb.plans());
            let apply = move |chain: &mut Chain, buffers: Buffers<'_>| cfb.apply(chain, buffers);
            chained(direction == Direction::Encrypt, iv, apply)
        }
        Stream::Ofb { iv } => {
            let ofb = Ofb::new(&engine.key(job)?, direction, options)?;
            explain(job, ofb.plans());
            chained(true, iv, move |chain: &mut Chain, buffers: Buffers<'_>| ofb.apply(chain, buffers))
        }
        Stream::Xts { first_sector, sector_bytes } => {
            let key = XtsKey::new(engine.cipher, &job.secret)?;
            let xts = Xts::new(&key, direction, sector_bytes, options)?;
            explain(job, xts.plans());
            sectors(xts, first_sector, sector_bytes)
        }
    })
}

/// A mode of chained blocks: serial, or each chunk by the block of input before it.
fn chained(
    is_serial: bool,
    iv: Block,
    apply: impl Fn(&mut Chain, Buffers<'_>) -> Result<(), Refusal> + Send + Sync + 'static,
) -> Work {
    let mut cut = Cut::default();
    cut.before[BEFORE_BYTES - BLOCK_BYTES..].copy_from_slice(&iv);
    let chain = Mutex::new(Chain::from(iv));
    let compute: Compute = Box::new(move |place, chunk| {
        if is_serial {
            let mut chain = chain.lock().unwrap_or_else(PoisonError::into_inner);
            whole(place, chunk, |buffers| apply(&mut chain, buffers))
        } else {
            let mut before = [0; BLOCK_BYTES];
            before.copy_from_slice(&place.before[BEFORE_BYTES - BLOCK_BYTES..]);
            whole(place, chunk, |buffers| apply(&mut before.into(), buffers))
        }
    });
    Work { compute, cut, is_serial, cost: Cost::FREE }
}

/// Chunks of whole sectors.
fn sectors(xts: Xts, first_sector: u128, sector_bytes: usize) -> Work {
    let chunk_bytes = sector_bytes * (CHUNK_BYTES / sector_bytes).max(1);
    let compute: Compute = Box::new(move |place, chunk| {
        let sector = first_sector.wrapping_add(u128::from(place.position / sector_bytes as u64));
        Ok(xts.apply(sector, Buffers::in_place(chunk))?)
    });
    let cut = Cut { chunk_bytes, ..Cut::default() };
    Work { compute, cut, is_serial: false, cost: Cost::FREE }
}

/// The library counts from the chunk's beginning, the user from the stream's.
fn whole(
    place: Place,
    chunk: &mut [u8],
    apply: impl FnOnce(Buffers<'_>) -> Result<(), Refusal>,
) -> Result<(), Stop> {
    let so_far = place.position as usize + chunk.len();
    Ok(apply(Buffers::in_place(chunk)).map_err(|_| Refusal::PartialBlock { len_bytes: so_far })?)
}
