//! Chunks through the pipeline, in groups: read in order, computed by any thread, and written by it at once where
//! the output is a file, in order elsewhere.

use std::fs::File;
use std::io::{self, Read, Write};
use std::num::NonZero;
use std::ops::Range;

use crossgrain_container::{CHUNK_BYTES, Error as Refusal};

use super::refused;
use crate::error::Error;
use crate::input::Name;
use crate::pipeline::{self, Cut, Failure, Made};
use crate::profile::{self, Activity};
use crate::progress::Progress;

/// Chunks in a group: enough to fill the lanes of EAX's tags.
const GROUP_CHUNKS: usize = 64;

/// What all buffers together may hold, whatever the number of threads.
const BUFFER_BYTES_MAX: usize = 32 << 20;

/// Chunks from the number `first` on, from one buffer into another: which bytes of that to write, and what is
/// wrong behind them. The flag tells that they are the last.
pub(super) type Step<'a> =
    dyn Fn(u64, bool, &[u8], &mut [u8]) -> (Range<usize>, Result<(), Refusal>) + Sync + 'a;

/// Writes into a file what comes of the chunks from a number on.
pub(super) type WriteAt<'a> = dyn Fn(&File, &[u8], u64) -> io::Result<()> + Sync + 'a;

/// A stream of chunks.
pub(super) struct Flow<'a> {
    pub(super) from: &'a Name,
    pub(super) to: &'a Name,
    pub(super) workers: NonZero<usize>,
    /// Bytes of a whole chunk, read and written.
    pub(super) chunk_bytes: [usize; 2],
    /// The number of the first chunk.
    pub(super) first: u64,
    /// Whether the input reaches to the last chunk.
    pub(super) ends: bool,
    /// The length of the input, if that is known.
    pub(super) len_bytes: Option<u64>,
    pub(super) step: &'a Step<'a>,
    /// How to write what comes of the chunks from a number on, for a file that need not be written in order.
    pub(super) write_at: Option<(&'a File, &'a WriteAt<'a>)>,
}

/// Why a group could not be done.
enum Stop {
    Refused(Refusal),
    Write(io::Error),
}

impl Flow<'_> {
    /// Runs it all. What is written goes through `progress` in order, and is there already where it was written at once.
    pub(super) fn run<W: Write + Send>(
        &self,
        input: impl Read + Send,
        progress: &mut Progress<W>,
    ) -> Result<(), Error> {
        let most = BUFFER_BYTES_MAX / (4 * self.workers.get() * CHUNK_BYTES);
        let group_chunks = GROUP_CHUNKS.min(most).max(1);
        let [in_bytes, out_bytes] = self.chunk_bytes.map(|chunk_bytes| group_chunks * chunk_bytes);
        let cut = Cut { chunk_bytes: in_bytes, room_bytes: out_bytes, ..Cut::default() };
        let workers = cut.workers(self.workers, self.len_bytes);
        let done = pipeline::transform(workers, cut, input, &mut *progress, |place, buffer, len_bytes| {
            let group = place.position / in_bytes as u64;
            let (read, room) = buffer.split_at_mut(in_bytes);
            let is_last = self.ends && len_bytes < in_bytes;
            let made =
                self.group(self.first + group * group_chunks as u64, is_last, &read[..len_bytes], room);
            Made { bytes: in_bytes + made.bytes.start..in_bytes + made.bytes.end, failure: made.failure }
        });
        let read_bytes = done.map_err(|failure| self.explained(failure))?;
        // The last chunk is short: behind whole groups it is still to come, or missing.
        if self.ends && read_bytes.is_multiple_of(in_bytes as u64) {
            let mut room = vec![0; self.chunk_bytes[1]];
            let chunks = read_bytes / self.chunk_bytes[0] as u64;
            let made = self.group(self.first + chunks, true, &[], &mut room);
            progress.write_all(&room[made.bytes]).map_err(|error| Error::write(self.to, &error))?;
            made.failure.map_or(Ok(()), |stop| Err(self.explained(Failure::Compute(stop))))?;
        }
        Ok(())
    }

    /// A group, written at once where that can be.
    fn group(&self, first: u64, is_last: bool, read: &[u8], room: &mut [u8]) -> Made<Stop> {
        let (bytes, done) = (self.step)(first, is_last, read, room);
        if let Some((file, write_at)) = self.write_at {
            profile::turn_to(Activity::Write);
            let written = write_at(file, &room[bytes.clone()], first);
            profile::turn_to(Activity::Wait);
            if let Err(error) = written {
                return Made { bytes: 0..0, failure: Some(Stop::Write(error)) };
            }
        }
        Made { bytes, failure: done.err().map(Stop::Refused) }
    }

    fn explained(&self, failure: Failure<Stop>) -> Error {
        match failure {
            Failure::Read(error) => Error::read(self.from, &error),
            Failure::Compute(Stop::Refused(refusal)) => refused(self.from, refusal),
            Failure::Compute(Stop::Write(error)) | Failure::Write(error) => Error::write(self.to, &error),
        }
    }
}
