//! A stream cut into chunks: read in order, computed side by side, written in order.
//!
//! Every worker reads a chunk, computes it, and hands it in. Reading is one worker's at a time, and so
//! is writing: who hands in the chunk that is due writes it, and those after it that are there already.
//! Nobody waits for a turn, which on the way from chunk to chunk would cost more than the ciphers do.
//! One worker waits only where all buffers hold chunks that others are to write; alone, it is a plain
//! loop.

use std::collections::BTreeMap;
use std::io::{self, Read, Write};
use std::num::NonZero;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;

/// Bytes in a chunk, a multiple of the block: enough to outweigh a system call and a change of hands,
/// while the chunks under way stay in cache from reading to writing.
pub(crate) const CHUNK_BYTES: usize = 1 << 20;

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

/// Copies `input` to `output` through `compute`, which replaces a chunk, given its first byte's
/// position in the stream. Every chunk but the last has [`CHUNK_BYTES`].
///
/// The failure that is first in the order of the stream ends it; all before it has been written then.
pub(crate) fn run<E: Send>(
    workers: NonZero<usize>,
    input: impl Read + Send,
    output: impl Write + Send,
    compute: impl Fn(u64, &mut [u8]) -> Result<(), E> + Sync,
) -> Result<(), Failure<E>> {
    let workers = workers.get();
    // One more for each, so that it can read on while its last chunk waits to be written.
    let buffers = if workers == 1 {
        1
    } else {
        std::env::var("NB").map_or(2, |v| v.parse::<usize>().unwrap()) * workers
    };
    let chunk = std::env::var("CH").map_or(CHUNK_BYTES, |v| v.parse::<usize>().unwrap() << 10);
    let pipeline = Pipeline {
        source: Mutex::new(Source { input, turn: 0, position: 0, ended: false }),
        sink: Mutex::new(Sink {
            due: 0,
            output: Some(output),
            ended: false,
            failure: None,
            ready: BTreeMap::new(),
            free: (0..buffers).map(|_| vec![0; chunk]).collect(),
        }),
        freed: Condvar::new(),
    };
    thread::scope(|scope| {
        for _ in 1..workers {
            let _ = thread::Builder::new().spawn_scoped(scope, || pipeline.work(&compute));
        }
        pipeline.work(&compute);
    });
    let sink = pipeline.sink.into_inner().unwrap_or_else(PoisonError::into_inner);
    sink.failure.map_or(Ok(()), Err)
}

/// What the workers share. No worker holds both locks.
struct Pipeline<R, W, E> {
    source: Mutex<Source<R>>,
    sink: Mutex<Sink<W, E>>,
    freed: Condvar,
}

/// The end that is read.
struct Source<R> {
    input: R,
    turn: u64,
    position: u64,
    ended: bool,
}

/// The end that is written.
struct Sink<W, E> {
    /// Away while a worker writes.
    output: Option<W>,
    due: u64,
    ready: BTreeMap<u64, Result<(Vec<u8>, usize), Failure<E>>>,
    free: Vec<Vec<u8>>,
    ended: bool,
    failure: Option<Failure<E>>,
}

impl<R: Read, W: Write, E> Pipeline<R, W, E> {
    fn work(&self, compute: impl Fn(u64, &mut [u8]) -> Result<(), E>) {
        while let Some(mut buffer) = self.free_buffer() {
            let Some((turn, position, filled)) = lock(&self.source).next(&mut buffer) else { return };
            let r = filled.map_err(Failure::Read).and_then(|len| {
                compute(position, &mut buffer[..len]).map_err(Failure::Compute)?;
                Ok((buffer, len))
            });
            self.hand_in(turn, r);
        }
    }

    fn free_buffer(&self) -> Option<Vec<u8>> {
        let waiting = self.freed.wait_while(lock(&self.sink), |sink| sink.free.is_empty() && !sink.ended);
        let mut sink = waiting.unwrap_or_else(PoisonError::into_inner);
        if sink.ended { None } else { sink.free.pop() }
    }

    fn hand_in(&self, turn: u64, r: Result<(Vec<u8>, usize), Failure<E>>) {
        let mut sink = lock(&self.sink);
        sink.ready.insert(turn, r);
        let Some(mut output) = sink.output.take() else { return };
        loop {
            let due = sink.due;
            let Some(r) = sink.ready.remove(&due) else { break };
            drop(sink);
            let r = r.and_then(|(buffer, len)| {
                output.write_all(&buffer[..len]).map_err(Failure::Write)?;
                Ok(buffer)
            });
            sink = lock(&self.sink);
            sink.due += 1;
            match r {
                Ok(b) => {
                    sink.free.push(b);
                    self.freed.notify_one();
                }
                Err(f) => {
                    sink.failure = Some(f);
                    sink.ended = true;
                    self.freed.notify_all();
                    return;
                }
            }
        }
        sink.output = Some(output);
    }
}

impl<R: Read> Source<R> {
    fn next(&mut self, buffer: &mut [u8]) -> Option<(u64, u64, io::Result<usize>)> {
        if self.ended {
            return None;
        }
        let filled = fill(&mut self.input, buffer);
        let len_bytes = *filled.as_ref().unwrap_or(&0);
        self.ended = len_bytes < buffer.len();
        if matches!(filled, Ok(0)) {
            return None;
        }
        let (turn, position) = (self.turn, self.position);
        self.turn += 1;
        self.position += len_bytes as u64;
        Some((turn, position, filled))
    }
}

/// Reads until the buffer is full or the input ends.
fn fill(input: &mut impl Read, buffer: &mut [u8]) -> io::Result<usize> {
    let mut len_bytes = 0;
    while len_bytes < buffer.len() {
        match input.read(&mut buffer[len_bytes..]) {
            Ok(0) => break,
            Ok(count) => len_bytes += count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(len_bytes)
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
