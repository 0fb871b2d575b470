//! The line protocol: a request in, an answer out, and what is kept between the two.

use std::collections::HashMap;
use std::hint::black_box;
use std::io::{self, BufRead, Write};
use std::time::Instant;

use crate::hex;
use crate::peer::{Job, Operation, Peer, Setup};
use crate::vectors;

/// The largest buffer served: far beyond any cache, and a length that C's `int` can hold.
const MAX_BYTES: usize = 1 << 30;

/// Timed buffers start on a page, so that no peer pays for loads that straddle cache lines.
const PAGE_BYTES: usize = 4096;

/// Fills fresh memory: writing it is what makes the system back each page with one of its own.
const FILL: u8 = 0x5a;

/// Answers requests until the input ends.
pub(crate) fn serve(mut session: Session, mut input: impl BufRead, mut output: impl Write) -> io::Result<()> {
    let mut line = Vec::new();
    while input.read_until(b'\n', &mut line)? > 0 {
        let answer = session.answer(&String::from_utf8_lossy(&line));
        writeln!(output, "{answer}")?;
        output.flush()?;
        line.clear();
    }
    Ok(())
}

/// One peer, with everything made for it so far.
pub(crate) struct Session {
    /// Or why it is not to be had: each request is then answered by the reason.
    peer: Result<Box<dyn Peer>, String>,
    /// Operations that gave the published answer. Only these are timed.
    checked: HashMap<Job, Box<dyn Operation>>,
    memory: Memory,
}

impl Session {
    pub(crate) fn new(peer: Result<Box<dyn Peer>, String>) -> Self {
        Self { peer, checked: HashMap::new(), memory: Memory::default() }
    }

    /// Answers one line by one line.
    pub(crate) fn answer(&mut self, line: &str) -> String {
        let words: Vec<&str> = line.split_whitespace().collect();
        self.request(&words).unwrap_or_else(|reason| format!("error {}", reason.replace(['\n', '\r'], " ")))
    }

    fn request(&mut self, words: &[&str]) -> Result<String, String> {
        match *words {
            ["name"] => Ok(self.peer()?.name()),
            ["run", cipher, mode, direction, key, iv, data] => {
                let job = Job::parse(cipher, mode, direction)?;
                self.run(job, key, iv, data)
            }
            ["time", cipher, mode, direction, bytes, repeats] => {
                let job = Job::parse(cipher, mode, direction)?;
                self.time(job, number("BYTES", bytes)?, number("REPEATS", repeats)?)
            }
            ["name", ..] => Err("usage: name".into()),
            ["run", ..] => Err("usage: run CIPHER MODE DIRECTION KEYHEX IVHEX DATAHEX".into()),
            ["time", ..] => Err("usage: time CIPHER MODE DIRECTION BYTES REPEATS".into()),
            [] => Err("empty request".into()),
            [other, ..] => Err(format!("no request {other:?}: name, run or time")),
        }
    }

    fn run(&self, job: Job, key: &str, iv: &str, data: &str) -> Result<String, String> {
        let setup = Setup::new(job, hex::decode(key)?, hex::decode(iv)?)?;
        let mut buffer = hex::decode(data)?;
        apply(self.peer()?.operation(&setup)?.as_mut(), &mut buffer, job.stride())?;
        Ok(hex::encode(&buffer))
    }

    fn time(&mut self, job: Job, bytes: usize, repeats: usize) -> Result<String, String> {
        if repeats == 0 {
            return Err("REPEATS starts at 1".into());
        }
        if !self.checked.contains_key(&job) {
            let operation = checked_operation(self.peer()?, job)?;
            self.checked.insert(job, operation);
        }
        let operation = self.checked.get_mut(&job).ok_or("operation was lost")?;
        let buffer = self.memory.buffer(bytes)?;

        let start = Instant::now();
        for _ in 0..repeats {
            apply(operation.as_mut(), black_box(&mut *buffer), job.stride())?;
        }
        Ok(start.elapsed().as_nanos().to_string())
    }

    fn peer(&self) -> Result<&dyn Peer, String> {
        self.peer.as_deref().map_err(String::clone)
    }
}

/// Runs an operation over a buffer, which is one message unless there is a stride from one to the next.
fn apply(operation: &mut dyn Operation, buffer: &mut [u8], stride: Option<usize>) -> Result<(), String> {
    match stride {
        Some(message_bytes) => operation.apply_many(buffer, message_bytes),
        None => operation.apply(buffer),
    }
}

/// Makes an operation and holds it against the published answer; the very same one is timed later.
fn checked_operation(peer: &dyn Peer, job: Job) -> Result<Box<dyn Operation>, String> {
    let mut operation = peer.operation(&vectors::setup(job)?)?;
    vectors::check(operation.as_mut(), job)?;
    Ok(operation)
}

fn number(what: &str, word: &str) -> Result<usize, String> {
    word.parse().map_err(|e| format!("{what} {word:?}: {e}"))
}

/// Memory for timed buffers: one piece, which only grows, and whose front serves every size.
#[derive(Default)]
struct Memory(Vec<u8>);

impl Memory {
    /// The first bytes of the first page, whatever they hold from earlier requests.
    fn buffer(&mut self, bytes: usize) -> Result<&mut [u8], String> {
        if bytes > MAX_BYTES {
            return Err(format!("BYTES is at most {MAX_BYTES}"));
        }
        let needed = bytes + PAGE_BYTES;
        if self.0.len() < needed {
            // The old piece goes first, so that both are never held together.
            self.0 = Vec::new();
            self.0.try_reserve_exact(needed).map_err(|e| e.to_string())?;
            self.0.resize(needed, FILL);
        }
        let start = self.0.as_ptr().align_offset(PAGE_BYTES);
        self.0.get_mut(start..start + bytes).ok_or_else(|| "memory cannot be aligned".into())
    }
}
