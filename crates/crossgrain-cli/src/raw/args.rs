//! `raw` as typed, and what it means.

use std::io::{self, IsTerminal};
use std::num::NonZero;
use std::path::PathBuf;
use std::thread;

use clap::{ArgGroup, ValueEnum};
use crossgrain::mode::Options;
use crossgrain::variant::Policy;
use crossgrain::{BLOCK_BYTES, Cipher, Direction, Key};
use zeroize::Zeroizing;

use crate::error::Error;
use crate::secret;
use crate::typed::{self, ciphers, policies};
use crate::wisdom;

/// Encrypt or decrypt by one mode of operation: no header, no padding, no authentication.
///
/// Bytes go in and as many come out, the same as from other software, so whoever changes them is not
/// found out: this is for use inside other formats and for tests.
// Without `Debug`: it holds a key.
#[derive(clap::Args)]
#[command(group = ArgGroup::new("secret").required(true).args(["key", "key_file"]))]
pub(crate) struct Args {
    /// The block cipher, with its key size in bits
    #[arg(long, value_parser = ciphers())]
    cipher: Cipher,

    /// The mode of operation
    #[arg(long)]
    mode: ModeName,

    /// The key in hex; others on this machine can see it while the program runs
    #[arg(long, value_name = "HEX", value_parser = |digits: &str| typed_secret(digits))]
    key: Option<Zeroizing<String>>,

    /// A file that holds the key, as it is or in hex
    #[arg(long, value_name = "FILE")]
    key_file: Option<PathBuf>,

    /// The initial counter block of ctr in hex; never use one twice with the same key
    #[arg(long, value_name = "HEX")]
    iv: Option<String>,

    /// Decrypt instead of encrypting
    #[arg(short, long)]
    decrypt: bool,

    /// The file to read; none or `-` for standard input
    #[arg(value_name = "IN")]
    input: Option<PathBuf>,

    /// The file to write, which appears when it is complete; none or `-` for standard output
    #[arg(short, long, value_name = "OUT")]
    output: Option<PathBuf>,

    /// Replace the output file if it exists
    #[arg(long)]
    force: bool,

    /// How many threads to use; all of the machine's unless given
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    threads: Option<u16>,

    /// A variant that must be used, as listed by `crossgrain variants`; may be repeated
    #[arg(long = "variant", value_name = "NAME")]
    variants: Vec<String>,

    /// A plan that must be used, as written by `crossgrain plan --save`
    #[arg(long, value_name = "FILE", conflicts_with = "variants")]
    plan: Option<PathBuf>,

    /// Tell on standard error what is run
    #[arg(long)]
    explain: bool,

    /// Which variants may be used: only those whose timing tells nothing of key or data, or any
    #[arg(long, default_value = "constant-time", value_parser = policies())]
    policy: Policy,
}

#[derive(Clone, Copy, ValueEnum)]
enum ModeName {
    /// Counter mode: any length, and encrypting is decrypting
    Ctr,
    /// Electronic codebook: whole blocks of 16 bytes; equal ones stay equal
    Ecb,
}

/// What `raw` is to do: checked, and nothing opened yet but the key file.
#[derive(Debug)]
pub(super) struct Job {
    pub(super) key: Key,
    pub(super) mode: Mode,
    pub(super) options: Options,
    pub(super) explain: bool,
    pub(super) workers: NonZero<usize>,
    /// `None` for standard input.
    pub(super) input: Option<PathBuf>,
    /// `None` for standard output.
    pub(super) output: Option<PathBuf>,
    pub(super) force: bool,
}

/// A mode with all that it needs.
#[derive(Debug)]
pub(super) enum Mode {
    Ctr { initial: [u8; BLOCK_BYTES] },
    Ecb { direction: Direction },
}

impl Args {
    /// Finds out whether what was typed makes sense.
    pub(super) fn check(self) -> Result<Job, Error> {
        let mode = mode(self.mode, self.iv.as_deref(), self.decrypt)?;
        if self.output.is_none() && io::stdout().is_terminal() {
            return Err(Error::usage(
                "the output is binary and does not belong on a terminal: give -o FILE, or -o - to insist",
            ));
        }
        let key = match (self.key, self.key_file) {
            (Some(digits), _) => secret::key_from_hex(self.cipher, &digits)?,
            (None, Some(path)) => secret::key_from_file(self.cipher, &path)?,
            (None, None) => return Err(Error::usage("there is no key: give --key or --key-file")),
        };
        let all = || thread::available_parallelism().unwrap_or(NonZero::<usize>::MIN);
        Ok(Job {
            key,
            mode,
            // Chunks go side by side, so each is the work of one thread.
            options: Options {
                policy: self.policy,
                variants: self.variants,
                plans: self.plan.map(|path| typed::plans(&path)).transpose()?.into_iter().collect(),
                threads: 1,
                costs: wisdom::costs(self.cipher),
                ..Options::default()
            },
            explain: self.explain,
            workers: self.threads.and_then(|count| NonZero::new(usize::from(count))).unwrap_or_else(all),
            input: unless_stream(self.input),
            output: unless_stream(self.output),
            force: self.force,
        })
    }
}

fn mode(name: ModeName, iv: Option<&str>, decrypt: bool) -> Result<Mode, Error> {
    match (name, iv) {
        (ModeName::Ctr, Some(iv)) => Ok(Mode::Ctr { initial: initial(iv)? }),
        (ModeName::Ctr, None) => Err(Error::usage("ctr starts from a counter block: give --iv HEX")),
        (ModeName::Ecb, Some(_)) => Err(Error::usage("ecb has no initial value: leave --iv out")),
        (ModeName::Ecb, None) => {
            Ok(Mode::Ecb { direction: if decrypt { Direction::Decrypt } else { Direction::Encrypt } })
        }
    }
}

fn initial(iv: &str) -> Result<[u8; BLOCK_BYTES], Error> {
    let bytes = secret::decode_hex("--iv", iv.as_bytes())?;
    bytes.as_slice().try_into().map_err(|_| {
        Error::usage(format!(
            "--iv is a block of {BLOCK_BYTES} bytes ({} hex digits), not {}",
            2 * BLOCK_BYTES,
            bytes.len()
        ))
    })
}

fn typed_secret(digits: &str) -> Result<Zeroizing<String>, std::convert::Infallible> {
    Ok(Zeroizing::new(digits.to_owned()))
}

/// A path, unless it is the `-` that stands for a standard stream.
fn unless_stream(path: Option<PathBuf>) -> Option<PathBuf> {
    path.filter(|path| path.as_os_str() != "-")
}
