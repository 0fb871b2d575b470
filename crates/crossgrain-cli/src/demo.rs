//! `crossgrain demo`: a first demonstration. It encrypts real data, checks the result, and shows the speed.

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use crossgrain::engine::auxiliary;
use crossgrain::engine::reference::{self, modes};
use crossgrain::engine::text::grouped;
use crossgrain::mode::{Ctr, Options};
use crossgrain::plan::{Job, JobSource, Plan, Plans};
use crossgrain::{Block, Buffers, Cipher, Direction, Features, Key};

use crate::bench::machine;
use crate::error::{Error, Exit};
use crate::input::shown;
use crate::plan::{self, summary};
use crate::{typed, wisdom};

/// Encrypt real data with AES-256-CTR by the best kernels here, check it, and show how fast it went
#[derive(clap::Args)]
pub(crate) struct Args {
    /// A file to encrypt, in memory; without one, data is made
    file: Option<PathBuf>,
    /// How much data to make, in bytes
    #[arg(long, default_value = "256M", value_parser = typed::size::<usize>)]
    bytes: usize,
    /// A plan to run instead of those chosen, as written by `crossgrain plan --save`
    #[arg(long, value_name = "FILE")]
    plan: Option<PathBuf>,
    /// Where to draw how the plan was chosen; nowhere unless given
    #[arg(long, value_name = "FILE")]
    svg: Option<PathBuf>,
    /// Replace the picture if it exists
    #[arg(long)]
    force: bool,
}

/// The cipher of the demonstration.
const CIPHER: Cipher = Cipher::Aes256;

/// Bytes for the slow variants: enough to time, few enough for a short wait.
const SLOW_BYTES: usize = 1 << 20;

/// Runs the demonstration.
pub(crate) fn run(args: &Args) -> Result<(), Error> {
    let features = Features::from_environment()?;
    say(format_args!("crossgrain {} on {}: {features}", env!("CARGO_PKG_VERSION"), machine()))?;
    let plans = args.plan.as_deref().map(typed::plans).transpose()?;
    let plain = input(args)?;
    if plain.is_empty() {
        return Err(Error::usage("there is nothing to encrypt: give at least one byte"));
    }
    let key = Key::new(CIPHER, b"a key that everyone knows: demo!")?;
    let initial = *b"demo, not secret";
    let mut table = Table { plain_bytes: plain.len(), rows: Vec::new() };
    let mut output = vec![0; plain.len()];
    table.time(|| output.copy_from_slice(&plain));
    let copy = table.best("memcpy", || output.copy_from_slice(&plain));
    let without_aes = features.without(Features::AES);
    let with_aes = features.contains(Features::AES).then_some(("with the CPU's AES instructions", features));
    let chosen = || with_aes.into_iter().chain([("without AES instructions", without_aes)]).collect();
    let kinds: Vec<_> = if plans.is_some() { vec![("as planned", features)] } else { chosen() };
    for (title, features) in kinds {
        let kernel = Kernel { key: &key, initial, features, plans: &plans };
        say(format_args!("\n{title}: {}", told(&kernel.ctr(1)?.plans()[0])))?;
        kernel.show(&mut table, &plain, &mut output)?;
    }
    table.print(copy)?;
    args.svg.as_ref().map_or(Ok(()), |path| draw(path, args.force, features))
}

/// Draws how the best plan was chosen.
fn draw(path: &Path, replace: bool, features: Features) -> Result<(), Error> {
    let job = Job { cipher: CIPHER, direction: Direction::Encrypt, source: JobSource::Counter };
    plan::draw(job, features, wisdom::costs(CIPHER).as_deref(), path, replace)?;
    say(format_args!("\n{} shows how the plan was chosen", shown(path)))
}

/// A plan on one line with its predicted speed.
fn told(plan: &Plan) -> String {
    let names: Vec<_> = plan.stages.iter().map(|stage| stage.variant.name.as_str()).collect();
    let (names, cost_ns) = (summary(&names), plan.cost.at(1_000_000));
    if cost_ns == 0.0 {
        return names; // a stored plan that was forced predicts nothing
    }
    format!("{names}\n  predicted {:.2} GB/s from cache to cache", 1e6 / cost_ns)
}

fn say(text: impl std::fmt::Display) -> Result<(), Error> {
    writeln!(io::stdout(), "{text}").map_err(|error| Error::print(&error))
}

/// The file's bytes, or incompressible data.
fn input(args: &Args) -> Result<Vec<u8>, Error> {
    if let Some(file) = &args.file {
        let bytes = auxiliary::read(file, u64::MAX).map_err(|error| Error::read(shown(file), &error))?;
        say(format_args!("{} bytes of {}, AES-256-CTR", grouped(bytes.len()), shown(file)))?;
        return Ok(bytes);
    }
    let mut bytes = Vec::new();
    if bytes.try_reserve_exact(args.bytes).is_err() {
        return Err(Error::usage(format!(
            "{} bytes do not fit in memory: give --bytes less",
            grouped(args.bytes)
        )));
    }
    bytes.resize(args.bytes, 0);
    let key = Key::new(Cipher::Aes128, b"seed of the data")?;
    Ctr::with_options(&key, &[0; 16], &Options::default())?.apply(&mut bytes);
    say(format_args!("{} bytes of data made here, AES-256-CTR", grouped(bytes.len())))?;
    Ok(bytes)
}

/// A choice of instruction sets.
struct Kernel<'a> {
    key: &'a Key,
    initial: Block,
    features: Features,
    plans: &'a Option<Arc<Plans>>,
}

impl Kernel<'_> {
    fn ctr(&self, threads: usize) -> Result<Ctr, Error> {
        let costs = wisdom::costs(self.key.cipher());
        let plans = self.plans.iter().cloned().collect();
        let options = Options { features: Some(self.features), plans, threads, costs, ..Options::default() };
        Ok(Ctr::with_options(self.key, &self.initial, &options)?)
    }

    /// Encrypts, decrypts and checks, then times single blocks, one thread and all threads.
    fn show(&self, table: &mut Table, plain: &[u8], output: &mut [u8]) -> Result<(), Error> {
        let one = self.ctr(1)?;
        let all = self.ctr(0)?;
        let slow = plain.len().min(SLOW_BYTES);
        let blocks = self.block_at_a_time(&plain[..slow], &mut output[..slow])?;
        encrypt(&one, plain, output)?;
        let threads = std::thread::available_parallelism().map_or(1, usize::from);
        let name = cipher_of(&one.plans()[0]);
        let single = table.best(&format!("{name}, 1 thread"), || encrypt_quietly(&one, plain, output));
        let together =
            table.best(&format!("{name}, {threads} threads"), || encrypt_quietly(&all, plain, output));
        self.check(&all, plain, output)?;
        say(format_args!(
            "  encrypted and decrypted {} bytes, every byte back; samples equal the reference\n  \
             all threads: {:.2} times the speed of one, {:.0} times that of one thread a block at a time",
            grouped(plain.len()),
            together / single,
            together / blocks
        ))
    }

    /// GB/s with one call per block.
    fn block_at_a_time(&self, plain: &[u8], output: &mut [u8]) -> Result<f64, Error> {
        let ctr = self.ctr(1)?;
        let start = Instant::now();
        for (i, (block, out)) in plain.chunks(16).zip(output.chunks_mut(16)).enumerate() {
            ctr.apply_at(16 * i as u128, Buffers::apart(block, out)?);
            // Bit-sliced, a block costs the same as a bundle, so this stops early.
            if start.elapsed().as_millis() > 300 {
                return Ok(16.0 * (i + 1) as f64 / start.elapsed().as_nanos() as f64);
            }
        }
        Ok(plain.len() as f64 / start.elapsed().as_nanos() as f64)
    }

    /// Compares samples with the reference, then decrypts in place and compares everything.
    fn check(&self, ctr: &Ctr, plain: &[u8], output: &mut [u8]) -> Result<(), Error> {
        let wrong =
            || Error::new(Exit::InputOutput, "a kernel gave a wrong answer: please report this machine");
        let aes = reference::cipher(self.key);
        for sample in 0..64 {
            let at = (plain.len() / 64 * sample) & !15;
            let end = plain.len().min(at + 256);
            let mut want = plain[at..end].to_vec();
            let first = u128::from_be_bytes(self.initial).wrapping_add(at as u128 / 16);
            modes::ctr(&*aes, first.to_be_bytes(), &mut want);
            if want != output[at..end] {
                return Err(wrong());
            }
        }
        ctr.apply_at(0, &mut *output);
        if plain == output { Ok(()) } else { Err(wrong()) }
    }
}

/// The variant that does most of a plan's work, which is neither a conversion nor a counter.
fn cipher_of(plan: &Plan) -> String {
    let mut names = plan.stages.iter().map(|stage| &stage.variant.name);
    names
        .clone()
        .find(|name| name.starts_with("aes-"))
        .or_else(|| names.next_back())
        .cloned()
        .unwrap_or_default()
}

fn encrypt(ctr: &Ctr, plain: &[u8], output: &mut [u8]) -> Result<(), Error> {
    ctr.apply_at(0, Buffers::apart(plain, output)?);
    Ok(())
}

/// The same if the lengths were checked before.
fn encrypt_quietly(ctr: &Ctr, plain: &[u8], output: &mut [u8]) {
    let _ = encrypt(ctr, plain, output);
}

/// GB/s by name.
struct Table {
    plain_bytes: usize,
    rows: Vec<(String, f64)>,
}

impl Table {
    fn time(&self, mut work: impl FnMut()) -> f64 {
        let start = Instant::now();
        work();
        self.plain_bytes as f64 / start.elapsed().as_nanos() as f64
    }

    /// The best of three, stored as a row.
    fn best(&mut self, name: &str, mut work: impl FnMut()) -> f64 {
        let best = (0..3).map(|_| self.time(&mut work)).fold(0.0, f64::max);
        self.rows.push((name.to_owned(), best));
        best
    }

    fn print(&self, copy: f64) -> Result<(), Error> {
        say(format_args!("\n{:52} {:>8} {:>9}", "kernel", "GB/s", "/ memcpy"))?;
        for (name, gb_per_s) in &self.rows {
            say(format_args!("{name:52} {gb_per_s:>8.2} {:>9.2}", gb_per_s / copy))?;
        }
        Ok(())
    }
}
