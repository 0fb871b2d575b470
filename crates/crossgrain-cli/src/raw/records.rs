//! Records of one length, each under its own key, which follow one another in a file.

use crossgrain::mode::{Mode, OwnKeys, Record};
use crossgrain::{BLOCK_BYTES, Buffers, Cipher, Key};

use super::args::{Engine, Job, Records};
use super::explain;
use super::stream::{Compute, Stop, Work};
use crate::error::{Error, Exit};
use crate::pipeline::Cut;

/// The modes that records may have.
pub(super) const MODES: [Mode; 3] = [Mode::Ecb, Mode::Cbc, Mode::Ctr];

/// The modes of `OwnKeys` with the keys. Each chunk has whole records.
pub(super) fn work(job: &Job, engine: &Engine, settings: &Records) -> Result<Work, Error> {
    let Records { record_bytes, iv } = *settings;
    let (mode, direction) = (job.mode, job.direction);
    let own = OwnKeys::with_options(engine.cipher, &engine.options)?;
    explain(job, own.plans(direction));
    let cost = own.plans(direction).first().map(|plan| plan.cost).unwrap_or_default();
    let keys = split(engine.cipher, &job.secret)?;
    let compute: Compute = Box::new(move |place, chunk| {
        // The position is a multiple of the length of records.
        let first = usize::try_from(place.position / record_bytes as u64).unwrap_or(usize::MAX);
        let keys = keys.get(first..).unwrap_or_default();
        let mut records = records(chunk, record_bytes, keys, iv).map_err(Stop::Records)?;
        match mode {
            Mode::Ecb => own.ecb(direction, &mut records)?,
            Mode::Cbc => own.cbc(direction, &mut records)?,
            _ => own.ctr(&mut records)?,
        }
        Ok(())
    });
    let chunk_bytes = record_bytes * (job.chunk_bytes / record_bytes).max(1);
    Ok(Work { compute, cut: Cut { chunk_bytes, ..Cut::default() }, is_serial: false, cost })
}

/// The keys of a file, which follow one another.
fn split(cipher: Cipher, bytes: &[u8]) -> Result<Vec<Key>, Error> {
    let keys = bytes.chunks(cipher.key_bytes()).map(|key| Key::new(cipher, key));
    Ok(keys.collect::<Result<_, _>>()?)
}

/// The records of a chunk with their keys.
fn records<'a>(
    chunk: &'a mut [u8],
    record_bytes: usize,
    keys: &'a [Key],
    iv: [u8; BLOCK_BYTES],
) -> Result<Vec<Record<'a>>, Error> {
    if !chunk.len().is_multiple_of(record_bytes) {
        let rest = chunk.len() % record_bytes;
        let why = format!(
            "the input ends {rest} bytes into a record of {record_bytes}: give --record-size its length"
        );
        return Err(Error::new(Exit::Truncated, why));
    }
    if chunk.len() / record_bytes > keys.len() {
        return Err(Error::usage("the input has more records than --key-file has keys: give a key for each"));
    }
    let records = keys.iter().zip(chunk.chunks_exact_mut(record_bytes));
    Ok(records.map(|(key, data)| Record::new(key, iv, Buffers::in_place(data))).collect())
}
