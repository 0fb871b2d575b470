//! Runs groups of chunks through the pipeline. They are read in order and computed by any thread. If the
//! output is a file, the computing thread writes them at their position; otherwise they are written in order.

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

/// Chunks in a group, enough to fill the lanes of EAX's tags.
const GROUP_CHUNKS: usize = 64;

/// The maximum total size of all buffers in bytes, for any number of threads.
const BUFFER_BYTES_MAX: usize = 32 << 20;

/// Computes chunks from the number `first` on, from one buffer into another. The flag says whether they
/// include the last chunk. Gives the bytes to write and an error that applies after them.
pub(super) type Step<'a> =
    dyn Fn(u64, bool, &[u8], &mut [u8]) -> (Range<usize>, Result<(), Refusal>) + Sync + 'a;

/// Writes the results of chunks, from a chunk number on, at their position in a file.
pub(super) type WriteAt<'a> = dyn Fn(&File, &[u8], u64) -> io::Result<()> + Sync + 'a;

/// A stream of chunks.
pub(super) struct Flow<'a> {
    pub(super) from: &'a Name,
    pub(super) to: &'a Name,
    pub(super) workers: NonZero<usize>,
    /// Lengths in bytes of a whole chunk as read and as written.
    pub(super) chunk_bytes: [usize; 2],
    /// The number of the first chunk.
    pub(super) first: u64,
    /// Whether the input includes the last chunk.
    pub(super) ends: bool,
    /// The length of the input, if that is known.
    pub(super) len_bytes: Option<u64>,
    pub(super) step: &'a Step<'a>,
    /// The file and the function that writes results at their position, if the output need not be written in
    /// order.
    pub(super) write_at: Option<(&'a File, &'a WriteAt<'a>)>,
}

/// The reason why a group failed.
enum Stop {
    Refused(Refusal),
    Write(io::Error),
}

impl Flow<'_> {
    /// Runs the whole stream. Output passes through `progress` in order. Bytes that `write_at` has written
    /// are already in the file by then.
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
        // The last chunk is shorter than a whole one. After whole groups it is still missing, so it is
        // computed from an empty input.
        if self.ends && read_bytes.is_multiple_of(in_bytes as u64) {
            let mut room = vec![0; self.chunk_bytes[1]];
            let chunks = read_bytes / self.chunk_bytes[0] as u64;
            let made = self.group(self.first + chunks, true, &[], &mut room);
            progress.write_all(&room[made.bytes]).map_err(|error| Error::write(self.to, &error))?;
            made.failure.map_or(Ok(()), |stop| Err(self.explained(Failure::Compute(stop))))?;
        }
        Ok(())
    }

    /// Computes a group, and writes it at its position if possible.
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
