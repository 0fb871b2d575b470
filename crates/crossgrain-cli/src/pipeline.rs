//! A stream cut into chunks: read in order, computed side by side, written in order.
//!
//! Every worker reads a chunk, computes it, and hands it in. One at a time reads, and one at a time
//! writes: who hands in the chunk that is due writes it, together with those after it that are there
//! already, while the others read on. So nobody waits for a turn to write.
//!
//! Memory is two buffers a worker, whatever the length of the stream; alone, a worker has one buffer
//! and is a plain loop.

use std::collections::BTreeMap;
use std::io::{self, Read, Write};
use std::iter;
use std::num::NonZero;
use std::ops::Range;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use crossgrain_container::fill;

use crate::profile::{self, Activity};

/// Bytes in a chunk, a multiple of the block: enough to outweigh a system call and a change of hands,
/// while the chunks under way stay in cache from reading to writing. The table that it was chosen by is in `docs/reproduction.md`.
pub(crate) const CHUNK_BYTES: usize = 1 << 20;

/// So many bytes before a chunk are kept: a block of any cipher.
pub(crate) const BEFORE_BYTES: usize = 32;

/// Where a chunk stands in the stream.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Place {
    /// The position of its first byte.
    pub(crate) position: u64,
    /// The input before it, behind what the stream was said to begin after.
    pub(crate) before: [u8; BEFORE_BYTES],
}

/// How a stream is cut up.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cut {
    /// Bytes in a chunk, a multiple of the block.
    pub(crate) chunk_bytes: usize,
    /// Bytes of a buffer behind the chunk, for what it becomes; none where it is replaced.
    pub(crate) room_bytes: usize,
    /// What the stream begins after, for chunks that need to know.
    pub(crate) before: [u8; BEFORE_BYTES],
}

impl Default for Cut {
    fn default() -> Self {
        Self { chunk_bytes: CHUNK_BYTES, room_bytes: 0, before: [0; BEFORE_BYTES] }
    }
}

impl Cut {
    /// No more workers than there are chunks.
    pub(crate) fn workers(&self, most: NonZero<usize>, len_bytes: Option<u64>) -> NonZero<usize> {
        let chunks = len_bytes.map_or(u64::MAX, |len_bytes| len_bytes.div_ceil(self.chunk_bytes as u64));
        let chunks = usize::try_from(chunks).unwrap_or(usize::MAX);
        NonZero::new(chunks).map_or(NonZero::<usize>::MIN, |chunks| chunks.min(most))
    }
}

/// How long to ask for a buffer again and again before sleeping until one is free: about the time in
/// which a chunk is written to memory. A sleeper is woken late, and often on the processor of the one
/// who woke it, where the two then take turns as if there were no other.
const PATIENCE: Duration = Duration::from_micros(500);

/// What a chunk became.
#[derive(Debug)]
pub(crate) struct Made<E> {
    /// Which bytes of its buffer are to be written.
    pub(crate) bytes: Range<usize>,
    /// What ends the stream behind them.
    pub(crate) failure: Option<E>,
}

/// What ended a stream early.
#[derive(Debug)]
pub(crate) enum Failure<E> {
    /// The input could not be read.
    Read(io::Error),
    /// The computation refused a chunk.
    Compute(E),
    /// The output could not be written.
    Write(io::Error),
}

/// Copies `input` to `output` through `compute`, which replaces a chunk, given its place in the stream.
/// As [`transform`] in all else.
pub(crate) fn run<E: Send>(
    workers: NonZero<usize>,
    cut: Cut,
    input: impl Read + Send,
    output: impl Write + Send,
    compute: impl Fn(Place, &mut [u8]) -> Result<(), E> + Sync,
) -> Result<u64, Failure<E>> {
    transform(workers, cut, input, output, |place, buffer, len_bytes| {
        let failure = compute(place, &mut buffer[..len_bytes]).err();
        Made { bytes: 0..if failure.is_none() { len_bytes } else { 0 }, failure }
    })
}

/// Copies `input` to `output` through `compute`, which is given a chunk's place in the stream, the whole buffer
/// and the chunk's length, and says which bytes of the buffer to write. Gives the length of the input.
/// Every chunk but the last is as long as the cut says. One worker computes chunks in order.
///
/// The failure that is first in the order of the stream ends it; all before it has been written then.
pub(crate) fn transform<E: Send>(
    workers: NonZero<usize>,
    cut: Cut,
    input: impl Read + Send,
    output: impl Write + Send,
    compute: impl Fn(Place, &mut [u8], usize) -> Made<E> + Sync,
) -> Result<u64, Failure<E>> {
    let buffer_bytes = cut.chunk_bytes + cut.room_bytes;
    let Some((workers, buffers)) = affordable(workers.get(), buffer_bytes) else {
        return Err(Failure::Read(io::ErrorKind::OutOfMemory.into()));
    };
    let pipeline = Pipeline {
        source: Mutex::new(Source {
            input,
            chunk_bytes: cut.chunk_bytes,
            turn: 0,
            next: Place { position: 0, before: cut.before },
            ended: false,
        }),
        sink: Mutex::new(Sink {
            output: Some(output),
            due: 0,
            ready: BTreeMap::new(),
            free: (0..buffers).map(|_| vec![0; buffer_bytes]).collect(),
            ended: false,
            failure: None,
        }),
        freed: Condvar::new(),
    };
    thread::scope(|scope| {
        for _ in 1..workers {
            // A thread that cannot be had leaves its work to the others.
            let _ = thread::Builder::new().spawn_scoped(scope, || pipeline.work(&compute));
        }
        pipeline.work(&compute);
    });
    let source = pipeline.source.into_inner().unwrap_or_else(PoisonError::into_inner);
    let sink = pipeline.sink.into_inner().unwrap_or_else(PoisonError::into_inner);
    sink.failure.map_or(Ok(source.next.position), Err)
}

/// How many workers, of at most so many, there is memory for, and their buffers: two each, but one for one that is alone.
fn affordable(most: usize, buffer_bytes: usize) -> Option<(usize, usize)> {
    let counts = iter::successors(Some(most), |count| Some(count / 2)).take_while(|&count| count > 0);
    let mut both = counts.map(|workers| (workers, if workers == 1 { 1 } else { 2 * workers }));
    both.find(|(_, buffers)| {
        // Asked for and given back: zeros that nobody has written to cost nothing.
        let all_bytes = buffers.checked_mul(buffer_bytes);
        all_bytes.is_some_and(|bytes| Vec::<u8>::new().try_reserve_exact(bytes).is_ok())
    })
}

/// What the workers share. No worker holds both locks.
struct Pipeline<R, W, E> {
    source: Mutex<Source<R>>,
    sink: Mutex<Sink<W, E>>,
    /// Tells those who want a buffer that one is free, or that nothing more is to be done.
    freed: Condvar,
}

/// The end that is read.
struct Source<R> {
    input: R,
    chunk_bytes: usize,
    turn: u64,
    next: Place,
    ended: bool,
}

/// The end that is written, and the buffers.
struct Sink<W, E> {
    /// With the worker that writes, while one does.
    output: Option<W>,
    /// The turn of the chunk to be written next.
    due: u64,
    /// Chunks handed in before their turn.
    ready: BTreeMap<u64, Computed<E>>,
    free: Vec<Vec<u8>>,
    ended: bool,
    failure: Option<Failure<E>>,
}

/// Some consecutive bytes of the stream: the first of a buffer.
struct Chunk {
    buffer: Vec<u8>,
    place: Place,
    len_bytes: usize,
}

/// What is to be written of a buffer, and what ends the stream behind it.
struct Computed<E> {
    buffer: Vec<u8>,
    bytes: Range<usize>,
    failure: Option<Failure<E>>,
}

impl<R: Read, W: Write, E> Pipeline<R, W, E> {
    /// What a worker does until the input ends or something fails.
    fn work(&self, compute: impl Fn(Place, &mut [u8], usize) -> Made<E>) {
        let _alarm = Alarm(self);
        let _thread = profile::thread();
        while let Some(buffer) = self.free_buffer() {
            let Some((turn, read)) = lock(&self.source).next(buffer) else {
                return;
            };
            let computed = match read {
                Ok(Chunk { mut buffer, place, len_bytes }) => {
                    profile::turn_to(Activity::Compute);
                    let Made { bytes, failure } = compute(place, &mut buffer, len_bytes);
                    Computed { buffer, bytes, failure: failure.map(Failure::Compute) }
                }
                Err(error) => {
                    Computed { buffer: Vec::new(), bytes: 0..0, failure: Some(Failure::Read(error)) }
                }
            };
            profile::turn_to(Activity::Wait);
            self.hand_in(turn, computed);
        }
    }

    /// A buffer to read into, as soon as there is one; `None` once something has failed.
    ///
    /// It comes: no worker has more than one in hand, so those that are missing are waiting to be
    /// written, and more of them than there are workers.
    fn free_buffer(&self) -> Option<Vec<u8>> {
        let asked = Instant::now();
        let mut sink = lock(&self.sink);
        while sink.free.is_empty() && !sink.ended {
            sink = if asked.elapsed() < PATIENCE {
                drop(sink);
                thread::yield_now();
                lock(&self.sink)
            } else {
                self.freed.wait(sink).unwrap_or_else(PoisonError::into_inner)
            };
        }
        if sink.ended { None } else { sink.free.pop() }
    }

    /// Leaves a chunk to be written, and writes what is due unless another worker is at it.
    fn hand_in(&self, turn: u64, computed: Computed<E>) {
        let mut sink = lock(&self.sink);
        sink.ready.insert(turn, computed);
        let Some(mut output) = sink.output.take() else {
            return;
        };
        while let Some(Computed { buffer, bytes, failure }) = sink.take_due() {
            drop(sink);
            profile::turn_to(Activity::Write);
            let written = output.write_all(&buffer[bytes]);
            profile::turn_to(Activity::Wait);
            sink = lock(&self.sink);
            if let Some(failure) = written.err().map(Failure::Write).or(failure) {
                sink.failure = Some(failure);
                sink.ended = true;
                self.freed.notify_all();
                return;
            }
            sink.free.push(buffer);
            self.freed.notify_one();
        }
        sink.output = Some(output);
    }
}

impl<R: Read> Source<R> {
    /// Reads the next chunk, whose turn comes with it; `None` at the end.
    fn next(&mut self, mut buffer: Vec<u8>) -> Option<(u64, io::Result<Chunk>)> {
        if self.ended {
            return None;
        }
        profile::turn_to(Activity::Read);
        let filled = fill(&mut self.input, &mut buffer[..self.chunk_bytes]);
        profile::turn_to(Activity::Wait);
        let len_bytes = *filled.as_ref().unwrap_or(&0);
        self.ended = len_bytes < self.chunk_bytes;
        if matches!(filled, Ok(0)) {
            return None;
        }
        let (turn, place) = (self.turn, self.next);
        self.turn += 1;
        self.next.position += len_bytes as u64;
        let kept = len_bytes.min(BEFORE_BYTES);
        self.next.before.rotate_left(kept);
        self.next.before[BEFORE_BYTES - kept..].copy_from_slice(&buffer[len_bytes - kept..len_bytes]);
        Some((turn, filled.map(|len_bytes| Chunk { buffer, place, len_bytes })))
    }
}

impl<W, E> Sink<W, E> {
    /// The chunk to be written next, if it has been handed in.
    fn take_due(&mut self) -> Option<Computed<E>> {
        let chunk = self.ready.remove(&self.due)?;
        self.due += 1;
        Some(chunk)
    }
}

/// Sends everyone home if its worker panics: the chunk it had in hand would never be handed in.
struct Alarm<'a, R, W, E>(&'a Pipeline<R, W, E>);

impl<R, W, E> Drop for Alarm<'_, R, W, E> {
    fn drop(&mut self) {
        if thread::panicking() {
            lock(&self.0.sink).ended = true;
            self.0.freed.notify_all();
        }
    }
}

/// A lock whose last holder panicked still holds a whole value: everyone is on the way home then.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests;
