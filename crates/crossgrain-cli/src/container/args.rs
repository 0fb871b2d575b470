//! The arguments of the commands for encrypted files.

use std::num::NonZero;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::thread;

use clap::builder::{PossibleValuesParser, TypedValueParser};
use crossgrain::mode::Options;
use crossgrain_container::{Argon2id, Error as Refusal, Suite};

use super::keys::{KeyArgs, NewKeyArgs, OpenArgs, RecipientArgs, SecretFile, apart_from};
use crate::error::Error;
use crate::output::{Content, Output};
use crate::progress::Audience;
use crate::typed::{memory_in_mib, size};
use crate::wisdom;

/// Encrypt files, so that any change to them is detected.
///
/// One input is written to standard output or to -o. Several inputs, or one with --suffix, --output-dir or
/// --recursive, are written to a file each: `a` becomes `a.cg`. A failure of one file does not stop the
/// others, and the exit code is that of the worst: 3, 4, 1, 2, 5.
#[derive(clap::Args)]
pub(crate) struct EncryptArgs {
    #[command(flatten)]
    pub(super) keys: KeyArgs,

    #[command(flatten)]
    pub(super) recipients: RecipientArgs,

    /// The cipher and its mode
    #[arg(long, default_value = "aes-256-gcm", value_parser = suites())]
    pub(super) suite: Suite,

    /// Write no header: for other programs, and with --key-file only
    #[arg(long)]
    pub(super) bare: bool,

    #[command(flatten)]
    pub(super) kdf: KdfArgs,

    /// Refused. In earlier versions, a resumed run continued under the salt that it found in the partial
    /// file. It could be made to encrypt two inputs under one key and nonce.
    #[arg(long, hide = true)]
    pub(super) resume: bool,

    /// Make a random passphrase of 120 bits, and print it on standard error
    #[arg(long, conflicts_with = "KeyArgs")]
    pub(super) generate_passphrase: bool,

    /// Pack the inputs, files or directories, into one file as a tar archive
    #[arg(long, conflicts_with_all = ["recursive", "suffix", "output_dir"])]
    pub(super) tar: bool,

    /// Print one JSON object about each file that was written
    #[arg(long)]
    pub(crate) json: bool,

    #[command(flatten)]
    pub(super) files: FileArgs,
}

/// Decrypt files; only authentic plaintext is written.
///
/// One input is written to standard output or to -o. Several inputs, or one with --suffix, --output-dir or
/// --recursive, are written to a file each: `a.cg` becomes `a`. A failure of one file does not stop the
/// others, and the exit code is that of the worst: 3, 4, 1, 2, 5.
///
/// The output file appears under its name only if all of it is authentic. Only its owner may read it,
/// unless it replaces a file that others may read. Standard output receives authentic plaintext chunk by
/// chunk; only exit code 0 means that it is complete.
#[derive(clap::Args)]
pub(crate) struct DecryptArgs {
    #[command(flatten)]
    pub(super) sealed: SealedArgs,

    /// Decrypt bytes A to B only, without B; either may be left out. Only the part that is read is
    /// authenticated: use `verify` for the whole file
    #[arg(long, value_name = "A..B", value_parser = Range::from_str, allow_hyphen_values = true, conflicts_with = "resume")]
    pub(super) range: Option<Range>,

    /// If the file is damaged, keep the authentic plaintext before the damage as OUT.part
    #[arg(long, requires = "output")]
    pub(super) keep_partial: bool,

    /// Keep an unfinished output as OUT.part, and if there is one, check it against the input and go on
    #[arg(long, requires = "output")]
    pub(super) resume: bool,

    /// Unpack a tar archive into the directory of --output-dir. Nothing appears there unless all of the input
    /// is authentic
    #[arg(long, requires = "output_dir", conflicts_with_all = ["recursive", "suffix", "range", "force"])]
    pub(super) tar: bool,

    /// Unpack symbolic links that lead out of the directory too
    #[arg(long, requires = "tar")]
    pub(super) outside_links: bool,

    #[command(flatten)]
    pub(super) files: FileArgs,
}

/// Check that files are authentic to their last byte, and print their sizes; the plaintext is not written.
#[derive(clap::Args)]
pub(crate) struct VerifyArgs {
    #[command(flatten)]
    pub(super) sealed: SealedArgs,

    #[command(flatten)]
    pub(super) inputs: InputArgs,

    /// Print the names in a tar archive. They are complete only if the exit code is 0
    #[arg(long, conflicts_with = "json")]
    pub(super) list: bool,

    /// Print one JSON object for each file
    #[arg(long)]
    pub(super) json: bool,

    #[command(flatten)]
    pub(super) work: WorkArgs,
}

/// Show the header of a file and the lengths that follow from it, without a key; nothing is authenticated.
#[derive(clap::Args)]
pub(crate) struct InspectArgs {
    /// The file to read; none or `-` for standard input
    #[arg(value_name = "IN")]
    pub(super) input: Option<PathBuf>,

    /// Print JSON
    #[arg(long)]
    pub(super) json: bool,
}

/// Make a random key, in hex, or an identity, whose public recipient others encrypt to.
#[derive(clap::Args)]
pub(crate) struct KeygenArgs {
    /// The suite that the key is made for
    #[arg(long, default_value = "aes-256-gcm", value_parser = suites())]
    pub(super) suite: Suite,

    /// Make an identity of X25519, as `age-keygen` does; with -o, its recipient is printed
    #[arg(long, conflicts_with = "suite")]
    pub(super) x25519: bool,

    /// Make nothing, and print the recipients of the identities in a file
    #[arg(long, value_name = "IDENTITY", conflicts_with_all = ["suite", "x25519", "output", "force"])]
    pub(super) recipient_of: Option<PathBuf>,

    /// The file to write, readable only by its owner; none or `-` for standard output
    #[arg(short, long, value_name = "OUT")]
    pub(super) output: Option<PathBuf>,

    /// Replace the output file if it exists
    #[arg(long)]
    pub(super) force: bool,
}

/// Change the passphrase, key or recipients of a file without encrypting its data again.
///
/// The new passphrase, key and recipients take the place of the one that opened the file. Without any of
/// them and without --remove, a new passphrase is asked for. The data is copied as it is, so earlier copies
/// of the file still open as before: if a passphrase became known to others, encrypt the data again.
#[derive(clap::Args)]
pub(crate) struct RekeyArgs {
    #[command(flatten)]
    pub(super) keys: OpenArgs,

    #[command(flatten)]
    pub(super) new: NewKeyArgs,

    #[command(flatten)]
    pub(super) recipients: RecipientArgs,

    /// Also keep the passphrase, key or recipient that opened the file
    #[arg(long)]
    pub(super) keep: bool,

    /// Remove this slot of the file, as `inspect` numbers them; may be repeated
    #[arg(long, value_name = "SLOT", value_parser = clap::value_parser!(u16).range(1..))]
    pub(super) remove: Vec<u16>,

    #[command(flatten)]
    pub(super) kdf: KdfArgs,

    /// The file to read
    #[arg(value_name = "IN")]
    pub(super) input: PathBuf,

    /// The file to write, which appears when it is complete; IN is replaced unless given
    #[arg(short, long, value_name = "OUT")]
    pub(super) output: Option<PathBuf>,

    /// Replace the output file if it exists
    #[arg(long, requires = "output")]
    pub(super) force: bool,
}

/// The cost of a new passphrase.
#[derive(clap::Args)]
pub(super) struct KdfArgs {
    /// Memory that each try of a passphrase takes: a size such as 64MiB, 512K or 1GiB, or a number of MiB
    #[arg(long = "kdf-memory", value_name = "SIZE", default_value = "64MiB", value_parser = memory_in_mib)]
    memory_kib: u32,

    /// Passes over that memory
    #[arg(long = "kdf-passes", value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..))]
    passes: u32,
}

impl KdfArgs {
    /// The parameters for a passphrase, with a fresh salt.
    pub(super) fn fresh(&self) -> Result<Argon2id, Refusal> {
        Ok(Argon2id { memory_kib: self.memory_kib, passes: self.passes, ..Argon2id::fresh()? })
    }
}

/// How an encrypted file is opened.
#[derive(clap::Args)]
pub(super) struct SealedArgs {
    #[command(flatten)]
    pub(super) keys: OpenArgs,

    /// The file has no header: with --suite and --key-file
    #[arg(long, requires = "suite")]
    pub(super) bare: bool,

    /// The cipher and its mode, of a file without header
    #[arg(long, requires = "bare", value_parser = suites())]
    pub(super) suite: Option<Suite>,
}

/// The input files.
#[derive(clap::Args)]
pub(super) struct InputArgs {
    /// The files to read; none or `-` for standard input
    #[arg(value_name = "IN")]
    pub(super) inputs: Vec<PathBuf>,

    /// Take the files in directories and below, one by one; links are left out
    #[arg(long)]
    pub(super) recursive: bool,

    /// The end of the names of encrypted files; .cg unless given
    #[arg(long, value_name = "END", value_parser = suffix)]
    suffix: Option<String>,
}

impl InputArgs {
    /// Whether the options ask for one output per input, even if there is one input.
    pub(super) fn is_many(&self) -> bool {
        self.inputs.len() > 1 || self.recursive || self.suffix.is_some()
    }

    /// The only input; `None` for standard input.
    pub(super) fn single(&self) -> Option<&Path> {
        self.inputs.first().map(PathBuf::as_path).filter(|path| path.as_os_str() != "-")
    }

    /// The end of the names of encrypted files.
    pub(super) fn suffix(&self) -> &str {
        self.suffix.as_deref().unwrap_or(".cg")
    }
}

/// The input and output files.
#[derive(clap::Args)]
pub(super) struct FileArgs {
    #[command(flatten)]
    pub(super) inputs: InputArgs,

    /// The file to write, which appears when it is complete; none or `-` for standard output
    #[arg(short, long, value_name = "OUT", conflicts_with_all = ["recursive", "suffix", "output_dir"])]
    pub(super) output: Option<PathBuf>,

    /// The directory to write to, which is created if it does not exist
    #[arg(short = 'C', long, value_name = "DIR")]
    pub(super) output_dir: Option<PathBuf>,

    /// Replace the output file if it exists
    #[arg(long)]
    pub(super) force: bool,

    #[command(flatten)]
    pub(super) work: WorkArgs,
}

impl FileArgs {
    /// Whether each input gets an output of its own, named after it.
    pub(super) fn is_many(&self) -> Result<bool, Error> {
        let is_many = self.inputs.is_many() || self.output_dir.is_some();
        match &self.output {
            Some(_) if is_many => Err(Error::usage(
                "-o is for one input: give --output-dir, or none to write beside the inputs",
            )),
            _ => Ok(is_many),
        }
    }

    /// Opens an output, before the input is read and before a passphrase is prompted for. Refuses to
    /// overwrite the files that hold secrets.
    pub(super) fn open(
        &self,
        path: Option<&Path>,
        secrets: &[SecretFile<'_>],
        content: Content,
    ) -> Result<Output, Error> {
        match path {
            Some(path) => {
                apart_from(secrets, path)?;
                Output::file(path, self.force, content)
            }
            None => Output::standard(),
        }
    }

    /// The file to write, if it is not standard output.
    pub(super) fn output_path(&self) -> Option<&Path> {
        self.output.as_deref().filter(|path| path.as_os_str() != "-")
    }

    /// Whether the output goes to a terminal, and the user did not insist on that by `-o -`.
    pub(super) fn is_shown(&self) -> bool {
        use std::io::IsTerminal as _;
        self.output.is_none() && std::io::stdout().is_terminal()
    }

    /// Refuses to write binary data to a terminal, unless the user gave `-o -`.
    pub(super) fn refuse_terminal(&self) -> Result<(), Error> {
        if self.is_shown() {
            return Err(Error::usage(
                "the output is binary and does not belong on a terminal: give -o FILE, or -o - to insist",
            ));
        }
        Ok(())
    }
}

/// How the work is done.
#[derive(clap::Args)]
pub(super) struct WorkArgs {
    /// How many threads to use; all of the machine's unless given
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    threads: Option<u16>,

    /// The audience of progress messages
    #[arg(long, value_enum, default_value_t)]
    pub(super) progress: Audience,

    /// Print on standard error, at the end, how the time was divided
    #[arg(long)]
    pub(super) profile: bool,
}

impl WorkArgs {
    pub(super) fn workers(&self) -> NonZero<usize> {
        let all = || thread::available_parallelism().unwrap_or(NonZero::<usize>::MIN);
        self.threads.and_then(|count| NonZero::new(usize::from(count))).unwrap_or_else(all)
    }

    /// Groups of chunks are computed in parallel, so each uses one thread.
    pub(super) fn options(&self, suite: Suite) -> Options {
        Options { threads: 1, costs: wisdom::costs(suite.cipher()), ..Options::default() }
    }
}

/// A range of plaintext bytes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Range {
    pub(super) from: u64,
    /// `None` for the end.
    pub(super) to: Option<u64>,
}

impl FromStr for Range {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        const HOW: &str = "give two numbers of bytes, such as 4096..8192 or 1M..2M, or leave one out";
        let (from, to) = text.split_once("..").ok_or(HOW)?;
        let number = |digits: &str| size::<u64>(digits).map_err(|_| HOW);
        let from = if from.is_empty() { 0 } else { number(from)? };
        let to = if to.is_empty() { None } else { Some(number(to)?) };
        if to.is_some_and(|to| to < from) {
            Err("the end is before the beginning")
        } else {
            Ok(Self { from, to })
        }
    }
}

/// A suffix of file names.
fn suffix(text: &str) -> Result<String, &'static str> {
    match text {
        "" => Err("give an end such as .cg"),
        _ if text.contains(['/', '\\', '\0']) => Err("an end of a name has no slash"),
        _ => Ok(text.to_owned()),
    }
}

fn suites() -> impl TypedValueParser<Value = Suite> {
    PossibleValuesParser::new(Suite::ALL.map(Suite::name)).try_map(|name| name.parse::<Suite>())
}
