//! Reads a stream in chunks, computes them in parallel, and writes them in order.
//!
//! Each worker repeats: take a free buffer, read the next chunk (one worker at a time), compute it, hand it
//! in. Chunks may be handed in out of order. The worker that hands in the chunk due next writes it and the
//! ready chunks that follow it, while the others go on. So no worker waits for its turn to write.
//!
//! Memory is two buffers per worker, whatever the length of the stream. A single worker has one buffer and is
//! a plain loop.

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

/// Bytes in a chunk, a multiple of the block. Long enough to outweigh a system call and a hand-over between
/// threads, short enough that the chunks in progress stay in cache from reading to writing.
/// `docs/reproduction.md` has the measurements.
pub(crate) const CHUNK_BYTES: usize = 1 << 20;

/// Bytes of input kept before a chunk: a block of any cipher.
pub(crate) const BEFORE_BYTES: usize = 32;

/// The position of a chunk in the stream.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Place {
    /// The position of its first byte.
    pub(crate) position: u64,
    /// The last bytes of input before it, preceded by `Cut::before` near the beginning of the stream.
    pub(crate) before: [u8; BEFORE_BYTES],
}

/// How a stream is divided into chunks.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cut {
    /// Bytes in a chunk, a multiple of the block.
    pub(crate) chunk_bytes: usize,
    /// Extra bytes in each buffer after the chunk, for output; 0 if the chunk is replaced in place.
    pub(crate) room_bytes: usize,
    /// The bytes that count as input before the stream, for modes that need them.
    pub(crate) before: [u8; BEFORE_BYTES],
}

impl Default for Cut {
    fn default() -> Self {
        Self { chunk_bytes: CHUNK_BYTES, room_bytes: 0, before: [0; BEFORE_BYTES] }
    }
}

impl Cut {
    /// The number of workers: at most the number of chunks.
    pub(crate) fn workers(&self, most: NonZero<usize>, len_bytes: Option<u64>) -> NonZero<usize> {
        let chunks = len_bytes.map_or(u64::MAX, |len_bytes| len_bytes.div_ceil(self.chunk_bytes as u64));
        let chunks = usize::try_from(chunks).unwrap_or(usize::MAX);
        NonZero::new(chunks).map_or(NonZero::<usize>::MIN, |chunks| chunks.min(most))
    }
}

/// Time to poll for a free buffer before sleeping: about the time in which a chunk is written to memory. A
/// sleeping thread is woken late, and often on the CPU of the thread that woke it. The two then share that
/// CPU even if others are idle.
const PATIENCE: Duration = Duration::from_micros(500);

/// The result of computing a chunk.
#[derive(Debug)]
pub(crate) struct Made<E> {
    /// The bytes of the buffer to write.
    pub(crate) bytes: Range<usize>,
    /// A failure that ends the stream after these bytes.
    pub(crate) failure: Option<E>,
}

/// The reason why a stream ended early.
#[derive(Debug)]
pub(crate) enum Failure<E> {
    /// The input could not be read.
    Read(io::Error),
    /// The computation refused a chunk.
    Compute(E),
    /// The output could not be written.
    Write(io::Error),
}

/// Copies `input` to `output` through `compute`, which replaces a chunk in place, given its position in the
/// stream. Otherwise like [`transform`].
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

/// Copies `input` to `output` through `compute`. It gets a chunk's position in the stream, the whole buffer
/// and the chunk's length, and gives the bytes of the buffer to write. Returns the length of the input. Every
/// chunk except the last has the length in `cut`. A single worker computes the chunks in order.
///
/// The failure that comes first in stream order ends the stream. Everything before it has been written by
/// then.
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
            // If a thread cannot be created, the other workers do its work.
            let _ = thread::Builder::new().spawn_scoped(scope, || pipeline.work(&compute));
        }
        pipeline.work(&compute);
    });
    let source = pipeline.source.into_inner().unwrap_or_else(PoisonError::into_inner);
    let sink = pipeline.sink.into_inner().unwrap_or_else(PoisonError::into_inner);
    sink.failure.map_or(Ok(source.next.position), Err)
}

/// The number of workers, at most `most`, for which memory can be allocated, and the number of their buffers:
/// two each, or one for a single worker.
fn affordable(most: usize, buffer_bytes: usize) -> Option<(usize, usize)> {
    let counts = iter::successors(Some(most), |count| Some(count / 2)).take_while(|&count| count > 0);
    let mut both = counts.map(|workers| (workers, if workers == 1 { 1 } else { 2 * workers }));
    both.find(|(_, buffers)| {
        // A trial allocation. Pages that are never written cost nothing.
        let all_bytes = buffers.checked_mul(buffer_bytes);
        all_bytes.is_some_and(|bytes| Vec::<u8>::new().try_reserve_exact(bytes).is_ok())
    })
}

/// The state that workers share. No worker holds both locks.
struct Pipeline<R, W, E> {
    source: Mutex<Source<R>>,
    sink: Mutex<Sink<W, E>>,
    /// Wakes workers that wait for a buffer, when one is free or the stream has ended.
    freed: Condvar,
}

/// The reading side.
struct Source<R> {
    input: R,
    chunk_bytes: usize,
    turn: u64,
    next: Place,
    ended: bool,
}

/// The writing side, with the buffers.
struct Sink<W, E> {
    /// `None` while a worker writes: it has taken the output.
    output: Option<W>,
    /// The turn of the chunk to write next.
    due: u64,
    /// Chunks handed in before their turn.
    ready: BTreeMap<u64, Computed<E>>,
    free: Vec<Vec<u8>>,
    ended: bool,
    failure: Option<Failure<E>>,
}

/// Consecutive bytes of the stream, at the start of a buffer.
struct Chunk {
    buffer: Vec<u8>,
    place: Place,
    len_bytes: usize,
}

/// The bytes of a buffer to write, and a failure that ends the stream after them.
struct Computed<E> {
    buffer: Vec<u8>,
    bytes: Range<usize>,
    failure: Option<Failure<E>>,
}

impl<R: Read, W: Write, E> Pipeline<R, W, E> {
    /// The loop of a worker, until the input ends or something fails.
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

    /// Waits for a free buffer to read into; `None` once something has failed.
    ///
    /// The wait ends. A worker has at most one buffer in use, so the missing buffers are waiting to be
    /// written, and there are more buffers than workers.
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

    /// Hands in a chunk to be written, and writes all chunks that are due unless another worker is writing.
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
    /// Reads the next chunk and gives its turn; `None` at the end.
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
    /// The next chunk to write, if it has been handed in.
    fn take_due(&mut self) -> Option<Computed<E>> {
        let chunk = self.ready.remove(&self.due)?;
        self.due += 1;
        Some(chunk)
    }
}

/// Ends the stream if a worker panics, because its chunk would never be handed in.
struct Alarm<'a, R, W, E>(&'a Pipeline<R, W, E>);

impl<R, W, E> Drop for Alarm<'_, R, W, E> {
    fn drop(&mut self) {
        if thread::panicking() {
            lock(&self.0.sink).ended = true;
            self.0.freed.notify_all();
        }
    }
}

/// Locks even if the last holder panicked: the value is still consistent, and the stream is ending.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests;
