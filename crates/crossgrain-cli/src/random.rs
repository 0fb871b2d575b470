//! `crossgrain random`: the bytes of a random stream (docs/streams.md).

use std::io::{self, IsTerminal, Read};
use std::num::NonZero;
use std::path::{Path, PathBuf};
use std::thread;

use crossgrain::engine::device::{Kernel, Task};
use crossgrain::mode::Options;
use crossgrain::plan::compose::Cost;
use crossgrain::stream::{Seed, Stream};
use crossgrain::{BLOCK_BYTES, Cipher};

use crate::device::{Asked, OnDevice, Wanted};
use crate::error::Error;
use crate::output::{Content, Output};
use crate::pipeline::{self, Cut, Failure, Place};
use crate::progress::{Audience, Progress};
use crate::typed::{ciphers, size};

fn seed(text: &str) -> Result<u128, &'static str> {
    let number = match text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")) {
        Some(digits) if !digits.starts_with('+') => u128::from_str_radix(digits, 16),
        _ => text.parse(),
    };
    number.map_err(|_| "give a number, or hex digits after 0x")
}

/// Write random bytes, the same for the same seed everywhere.
///
/// They are those of the Python generators and of the Rust type `Stream`. A seed that can be guessed is no
/// secret.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Where the stream begins from: any number, or hex digits after 0x
    #[arg(long, value_name = "N", value_parser = seed)]
    seed: u128,

    /// Which of the seed's 2^64 streams; none overlaps another
    #[arg(long, value_name = "N", default_value_t = 0)]
    stream: u64,

    /// The byte of the stream to begin at
    #[arg(long, value_name = "BYTES", default_value = "0", value_parser = size::<u128>)]
    offset: u128,

    /// How many bytes, such as 1000000 or 1M; without end unless given
    #[arg(long, value_name = "N", value_parser = size::<u64>)]
    bytes: Option<u64>,

    /// The block cipher, with its key size in bits
    #[arg(long, value_parser = ciphers(), default_value = "aes-128")]
    cipher: Cipher,

    /// The file to write, which appears when it is complete; none or `-` for standard output
    #[arg(short, long, value_name = "OUT", requires = "bytes")]
    output: Option<PathBuf>,

    /// Replace the output file if it exists
    #[arg(long)]
    force: bool,

    /// How many threads to use; all of the machine's unless given
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    threads: Option<u16>,

    /// Where they are computed: `cpu`, `gpu`, a device by its name in `crossgrain devices`, or `auto` for the
    /// fastest
    #[arg(long, value_name = "DEVICE", default_value = "cpu")]
    device: Asked,

    /// Print on standard error where they are computed
    #[arg(long)]
    explain: bool,
}

/// Writes the stream. If the reader of standard output closes it early, that is not an error.
pub(crate) fn run(args: &Args) -> Result<(), Error> {
    let path = args.output.as_deref().filter(|path| *path != Path::new("-"));
    if args.output.is_none() && io::stdout().is_terminal() {
        return Err(Error::usage(
            "the output is binary and does not belong on a terminal: give -o FILE, or -o - to insist",
        ));
    }
    let random = Random::new(args)?;
    let mut output = match path {
        Some(path) => Output::file(path, args.force, Content::Open)?,
        None => Output::standard()?,
    };
    let name = output.name().clone();
    let progress = Progress::new(&mut output, args.bytes, Audience::Auto);
    let places = Places { left_bytes: args.bytes.unwrap_or(u64::MAX) };
    let cut = random.cut();
    let write = pipeline::run(args.workers(&cut), cut, places, progress, |Place { position, .. }, chunk| {
        random.fill(args.offset.wrapping_add(position.into()), chunk)
    });
    match write {
        Ok(_) => output.finish(),
        Err(Failure::Write(error)) if path.is_none() => Err(Error::print(&error)),
        Err(Failure::Read(error) | Failure::Write(error)) => Err(Error::write(&name, &error)),
        Err(Failure::Compute(error)) => Err(error),
    }
}

impl Args {
    /// The number of threads: the requested number, but no more than there are chunks.
    fn workers(&self, cut: &Cut) -> NonZero<usize> {
        let asked = self.threads.and_then(|count| NonZero::new(usize::from(count)));
        let all = asked.unwrap_or_else(|| thread::available_parallelism().unwrap_or(NonZero::<usize>::MIN));
        cut.workers(all, self.bytes)
    }
}

/// The stream, and the device that computes it, if any.
struct Random {
    stream: Stream,
    number: u64,
    on_device: Option<OnDevice>,
}

impl Random {
    fn new(args: &Args) -> Result<Self, Error> {
        let key = Seed::new(args.seed).key(args.cipher);
        let kernels =
            Kernel::within(args.cipher.family(), Task::Generate, false).into_iter().take(1).collect();
        let options = Options { threads: 1, ..Options::default() };
        let stream = Stream::with_options(&key, &options)?.part(64, args.stream.into())?;
        let cost = stream.plans().first().map_or(Cost::FREE, |plan| plan.cost);
        let cpu = (cost, args.workers(&Cut::default()).get());
        // An unlimited stream counts as very long.
        let len_bytes = args.bytes.or(Some(u64::MAX));
        let on_device =
            args.device.find(&Wanted { kernels, key: &key, len_bytes, cpu, explain: args.explain })?;
        Ok(Self { stream, number: args.stream, on_device })
    }

    fn cut(&self) -> Cut {
        let cut = Cut::default();
        let chunk_bytes = self.on_device.as_ref().map_or(cut.chunk_bytes, OnDevice::chunk_bytes);
        Cut { chunk_bytes, ..cut }
    }

    /// Computes the bytes from this position on.
    fn fill(&self, position: u128, chunk: &mut [u8]) -> Result<(), Error> {
        let Some(device) = &self.on_device else {
            self.stream.fill_bytes_at(position, chunk);
            return Ok(());
        };
        // A device starts at a block boundary. At the end of the stream the counter jumps back, so these
        // chunks go to the CPU.
        let head_bytes = (position.wrapping_neg() % BLOCK_BYTES as u128) as usize;
        let first = position.wrapping_add(head_bytes as u128);
        let (head, rest) = chunk.split_at_mut(head_bytes.min(chunk.len()));
        let block = (first / BLOCK_BYTES as u128) as u64;
        let ends_before = block.checked_add(rest.len().div_ceil(BLOCK_BYTES) as u64).is_some();
        let counter = u128::from(self.number) << 64 | u128::from(block);
        if !(ends_before && device.apply(counter, rest)?) {
            self.stream.fill_bytes_at(first, rest);
        }
        self.stream.fill_bytes_at(position, head);
        Ok(())
    }
}

/// An input of `left_bytes` placeholder bytes, to be overwritten.
struct Places {
    left_bytes: u64,
}

impl Read for Places {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let len_bytes = usize::try_from(self.left_bytes).unwrap_or(usize::MAX).min(buffer.len());
        self.left_bytes -= len_bytes as u64;
        Ok(len_bytes)
    }
}
