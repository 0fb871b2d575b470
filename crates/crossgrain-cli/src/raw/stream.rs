//! Modes without a tag, chunk by chunk.

use std::io::{Read, Write};
use std::num::NonZero;
use std::sync::{Mutex, PoisonError};

use crossgrain::mode::{Cbc, Cfb, Ctr, Ecb, Ofb, Xts, XtsKey};
use crossgrain::{Block, Buffers, Direction, Error as Refusal};

use super::args::{Job, Stream};
use super::explain;
use super::padding::{Padded, Unpadded};
use crate::error::{Error, Exit};
use crate::input::{Input, Name};
use crate::pipeline::{self, CHUNK_BYTES, Cut, Failure, Place};
use crate::progress::{Audience, Progress};

/// Replaces a chunk.
type Compute = Box<dyn Fn(Place, &mut [u8]) -> Result<(), Refusal> + Sync>;

/// A mode, ready to be run.
struct Work {
    compute: Compute,
    cut: Cut,
    /// Whether chunks must be computed one after another.
    is_serial: bool,
}

/// Encrypts or decrypts.
pub(super) fn run(job: &Job, mode: &Stream) -> Result<(), Error> {
    let work = work(job, mode)?;
    let input = Input::open(job.input.as_deref())?;
    let mut output = super::output(job)?;
    let from = input.name().clone();
    let len_bytes = input.len_bytes();
    let workers =
        if work.is_serial { NonZero::<usize>::MIN } else { work.cut.workers(job.workers, len_bytes) };
    let to = output.name().clone();
    let progress = Progress::new(&mut output, len_bytes, Audience::Auto);
    let ends = Ends { from: &from, to: &to };
    match (mode.is_padded(), job.direction) {
        (false, _) => ends.stream(workers, &work, input, progress)?,
        (true, Direction::Encrypt) => ends.stream(workers, &work, Padded::new(input), progress)?,
        (true, Direction::Decrypt) => {
            let mut unpadded = Unpadded::new(progress);
            ends.stream(workers, &work, input, &mut unpadded)?;
            unpadded.finish(&from, &to)?;
        }
    }
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
            Failure::Compute(refusal @ Refusal::ShortSector { .. }) => {
                Error::new(Exit::Truncated, format!("{from} ends within a sector: {refusal}"))
            }
            Failure::Compute(refusal) => {
                Error::new(Exit::Truncated, format!("{from} ends within a block: {refusal}"))
            }
            Failure::Write(error) => Error::write(self.to, &error),
        })
    }
}

fn work(job: &Job, mode: &Stream) -> Result<Work, Error> {
    let Job { direction, ref options, .. } = *job;
    let side_by_side = |compute| Work { compute, cut: Cut::default(), is_serial: false };
    Ok(match *mode {
        Stream::Ecb { .. } => {
            let ecb = Ecb::new(&job.key()?, direction, options)?;
            explain(job, ecb.plans());
            side_by_side(Box::new(move |place, chunk| whole(place, chunk, |buffers| ecb.apply(buffers))))
        }
        Stream::Ctr { initial } => {
            let ctr = Ctr::new(&job.key()?, &initial, options)?;
            explain(job, ctr.plans());
            side_by_side(Box::new(move |place, chunk| {
                ctr.apply_at(place.position.into(), Buffers::in_place(chunk));
                Ok(())
            }))
        }
        Stream::Cbc { iv, .. } => {
            let cbc = Cbc::new(&job.key()?, direction, options)?;
            explain(job, cbc.plans());
            let apply = move |iv: &mut Block, buffers: Buffers<'_>| cbc.apply(iv, buffers);
            chained(direction == Direction::Encrypt, iv, apply)
        }
        Stream::Cfb { iv } => {
            let cfb = Cfb::new(&job.key()?, direction, options)?;
            explain(job, cfb.plans());
            let apply = move |iv: &mut Block, buffers: Buffers<'_>| cfb.apply(iv, buffers);
            chained(direction == Direction::Encrypt, iv, apply)
        }
        Stream::Ofb { iv } => {
            let ofb = Ofb::new(&job.key()?, direction, options)?;
            explain(job, ofb.plans());
            chained(true, iv, move |iv: &mut Block, buffers: Buffers<'_>| ofb.apply(iv, buffers))
        }
        Stream::Xts { first_sector, sector_bytes } => {
            let key = XtsKey::new(job.cipher, &job.secret)?;
            xts(job, &key, first_sector, sector_bytes)?
        }
    })
}

/// A mode of chained blocks: serial, or each chunk by the block of input before it.
fn chained(
    is_serial: bool,
    iv: Block,
    apply: impl Fn(&mut Block, Buffers<'_>) -> Result<(), Refusal> + Send + Sync + 'static,
) -> Work {
    let cut = Cut { before: iv, ..Cut::default() };
    let chain = Mutex::new(iv);
    let compute: Compute = Box::new(move |place, chunk| {
        if is_serial {
            let mut chain = chain.lock().unwrap_or_else(PoisonError::into_inner);
            whole(place, chunk, |buffers| apply(&mut chain, buffers))
        } else {
            let mut before = place.before;
            whole(place, chunk, |buffers| apply(&mut before, buffers))
        }
    });
    Work { compute, cut, is_serial }
}

/// Chunks of whole sectors.
fn xts(job: &Job, key: &XtsKey, first_sector: u128, sector_bytes: usize) -> Result<Work, Error> {
    let xts = Xts::new(key, job.direction, sector_bytes, &job.options)?;
    explain(job, xts.plans());
    let chunk_bytes = sector_bytes * (CHUNK_BYTES / sector_bytes).max(1);
    let compute: Compute = Box::new(move |place, chunk| {
        let sector = first_sector.wrapping_add(u128::from(place.position / sector_bytes as u64));
        xts.apply(sector, Buffers::in_place(chunk))
    });
    Ok(Work { compute, cut: Cut { chunk_bytes, ..Cut::default() }, is_serial: false })
}

/// The library counts from the chunk's beginning, the user from the stream's.
fn whole(
    place: Place,
    chunk: &mut [u8],
    apply: impl FnOnce(Buffers<'_>) -> Result<(), Refusal>,
) -> Result<(), Refusal> {
    let so_far = place.position as usize + chunk.len();
    apply(Buffers::in_place(chunk)).map_err(|_| Refusal::PartialBlock { len_bytes: so_far })
}
