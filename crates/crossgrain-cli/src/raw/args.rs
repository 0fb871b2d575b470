//! The arguments of `raw`, and the validated job made from them.

use std::fs;
use std::io::{self, IsTerminal};
use std::num::NonZero;
use std::path::PathBuf;
use std::thread;

use clap::{ArgGroup, ValueEnum};
use crossgrain::Policy;
use crossgrain::engine::wiping_stack;
use crossgrain::mode::{Initial, Lengths, Mode, Options, Start};
use crossgrain::wide::{Rijndael, State};
use crossgrain::{BLOCK_BYTES, Cipher, Direction};
use zeroize::Zeroizing;

use super::records;
use super::stream::task;
use crate::device::Asked;
use crate::error::Error;
use crate::output::apart;
use crate::pipeline::CHUNK_BYTES;
use crate::secret;
use crate::typed::{self, AnyCipher, any_ciphers, modes, policies};
use crate::wisdom;

/// Encrypt or decrypt by one mode of operation, with no header.
///
/// The output is byte for byte the same as that of other software. Only modes with a tag detect changes to
/// the data, and they hold all of it in memory. The other modes are for use inside other formats and for
/// tests.
// Without `Debug`: it holds a key.
#[derive(clap::Args)]
#[command(group = ArgGroup::new("secret").required(true).args(["key", "key_file"]))]
pub(crate) struct Args {
    /// The block cipher, with its key size in bits; for rijndael, the sizes of block and key
    #[arg(long, value_parser = any_ciphers())]
    cipher: AnyCipher,

    /// The mode of operation
    #[arg(long, value_parser = modes())]
    mode: Mode,

    /// The key in hex; others on this machine can see it while the program runs
    #[arg(long, value_name = "HEX", value_parser = |digits: &str| typed_secret(digits))]
    key: Option<Zeroizing<String>>,

    /// A file that holds the key, as raw bytes or in hex
    #[arg(long, value_name = "FILE")]
    key_file: Option<PathBuf>,

    /// The initial value in hex: the first counter block of ctr, the nonce of a mode with a tag, the
    /// initialisation vector of the others; never use one twice with the same key. siv needs no nonce; an
    /// empty one is the same as no nonce
    #[arg(long, visible_alias = "nonce", value_name = "HEX")]
    iv: Option<String>,

    /// Associated data in hex: authenticated, but not encrypted. For siv, repeat the option to give a list of
    /// strings; no string and one empty string differ
    #[arg(long = "aad", value_name = "HEX")]
    aads: Vec<String>,

    /// The tag in hex, when decrypting data that has none at its end
    #[arg(long, value_name = "HEX", conflicts_with = "tag_file")]
    tag: Option<String>,

    /// A file for the tag, instead of the end of the data
    #[arg(long, value_name = "FILE")]
    tag_file: Option<PathBuf>,

    /// The length of the tag in bytes; 16 unless given
    #[arg(long, value_name = "N")]
    tag_bytes: Option<usize>,

    /// The length of a sector of xts in bytes, such as 4096 or 4K; 512 unless given
    #[arg(long, value_name = "N", value_parser = typed::size::<usize>)]
    sector_size: Option<usize>,

    /// The number of the first sector of xts; 0 unless given
    #[arg(long, value_name = "N")]
    sector: Option<u128>,

    /// The length of records that follow one another, each under its own key, in ecb, cbc or ctr; the key file
    /// has a key for each record, as raw bytes one after another. All records start from the same --iv, so each
    /// key must be used once
    #[arg(long, value_name = "N", value_parser = typed::size::<usize>, requires = "key_file", conflicts_with_all = ["key", "padding", "device"])]
    record_size: Option<usize>,

    /// The padding of data of ecb and cbc to whole blocks; none unless given
    #[arg(long)]
    padding: Option<PaddingName>,

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

    /// How many bytes are read, computed and written at a time, 4K to 256M; 1M unless given
    #[arg(long, value_name = "N", value_parser = chunk_size)]
    chunk_size: Option<usize>,

    /// A variant that must be used, as listed by `crossgrain variants`; may be repeated
    #[arg(long = "variant", value_name = "NAME")]
    variants: Vec<String>,

    /// A plan that must be used, as written by `crossgrain plan --save`
    #[arg(long, value_name = "FILE", conflicts_with = "variants")]
    plan: Option<PathBuf>,

    /// Print on standard error which plan, kernel or variant runs
    #[arg(long)]
    explain: bool,

    /// Print on standard error, at the end, how the time was divided
    #[arg(long)]
    pub(super) profile: bool,

    /// Which variants may be used: only those whose timing depends on neither key nor data, or any
    #[arg(long, default_value = "constant-time", value_parser = policies())]
    policy: Policy,

    /// Where ctr and ecb are computed: `cpu`, `gpu`, a device by its name in `crossgrain devices`, or `auto`
    /// for the fastest
    #[arg(long, value_name = "DEVICE", default_value = "cpu", conflicts_with_all = ["variants", "plan"])]
    device: Asked,
}

#[derive(Clone, Copy, PartialEq, ValueEnum)]
enum PaddingName {
    /// No padding: the data must be whole blocks
    None,
    /// Up to a block of bytes, each of which equals the number of bytes added, as in openssl
    Pkcs7,
}

/// A job with checked arguments. Neither the input nor the output has been opened yet.
pub(super) struct Job {
    /// The key, or both keys of xts or siv.
    pub(super) secret: Zeroizing<Vec<u8>>,
    pub(super) direction: Direction,
    pub(super) mode: Mode,
    pub(super) kind: Kind,
    pub(super) explain: bool,
    /// The approximate number of bytes that are read, computed and written at a time.
    pub(super) chunk_bytes: usize,
    pub(super) workers: NonZero<usize>,
    pub(super) device: Asked,
    /// `None` for standard input.
    pub(super) input: Option<PathBuf>,
    /// `None` for standard output.
    pub(super) output: Option<PathBuf>,
    pub(super) force: bool,
}

/// The longest record.
const RECORD_BYTES_MAX: usize = 1 << 28;

/// The size of a chunk.
fn chunk_size(text: &str) -> Result<usize, String> {
    let bytes = typed::size(text)?;
    if (1 << 12..=1 << 28).contains(&bytes) { Ok(bytes) } else { Err("give 4K to 256M".to_owned()) }
}

impl Job {
    /// The length of the input, if it is a regular file.
    pub(super) fn len_bytes(&self) -> Option<u64> {
        let metadata = fs::metadata(self.input.as_ref()?).ok()?;
        metadata.is_file().then_some(metadata.len())
    }
}

/// A cipher with blocks of 16 bytes, and how to run it.
pub(super) struct Engine {
    pub(super) cipher: Cipher,
    pub(super) options: Options,
}

/// The settings of a mode, except for the key.
pub(super) enum Kind {
    Plain(Engine, Plain),
    Records(Engine, Records),
    Sealed(Engine, Sealed),
    Wide(Wide),
}

/// Settings for a cipher with wider blocks.
pub(super) struct Wide {
    pub(super) cipher: Rijndael,
    pub(super) initial: State,
    pub(super) is_padded: bool,
    pub(super) variants: Vec<String>,
}

/// Settings for a mode without a tag.
pub(super) struct Plain {
    pub(super) iv: Vec<u8>,
    pub(super) first_sector: u128,
    pub(super) sector_bytes: usize,
    pub(super) is_padded: bool,
}

/// Settings for records that each have their own key.
pub(super) struct Records {
    pub(super) record_bytes: usize,
    /// The initial value of each.
    pub(super) iv: [u8; BLOCK_BYTES],
}

/// Settings for a mode with a tag.
pub(super) struct Sealed {
    pub(super) nonce: Vec<u8>,
    pub(super) aads: Vec<Zeroizing<Vec<u8>>>,
    pub(super) tag: TagPlace,
    pub(super) tag_bytes: usize,
}

impl Sealed {
    /// The strings of associated data.
    pub(super) fn strings(&self) -> Vec<&[u8]> {
        self.aads.iter().map(|aad| &aad[..]).collect()
    }
}

/// The place of the tag.
pub(super) enum TagPlace {
    End,
    Given(Vec<u8>),
    File(PathBuf),
}

impl Args {
    /// Checks the arguments, and makes a job from them.
    pub(super) fn check(self) -> Result<Job, Error> {
        self.refuse_options_without_use()?;
        let all = || thread::available_parallelism().unwrap_or(NonZero::<usize>::MIN);
        let workers = self.threads.and_then(|count| NonZero::new(usize::from(count))).unwrap_or_else(all);
        let kind = self.kind(workers)?;
        if self.output.is_none() && io::stdout().is_terminal() {
            return Err(Error::usage(
                "the output is binary and does not belong on a terminal: give -o FILE, or -o - to insist",
            ));
        }
        let secret = self.secret()?;
        Ok(Job {
            secret,
            direction: if self.decrypt { Direction::Decrypt } else { Direction::Encrypt },
            explain: self.explain,
            device: self.device,
            mode: self.mode,
            kind,
            chunk_bytes: self.chunk_size.unwrap_or(CHUNK_BYTES),
            workers,
            input: unless_stream(self.input),
            output: unless_stream(self.output),
            force: self.force,
        })
    }

    /// Refuses options that the mode does not use, too many strings of associated data, and conflicting
    /// files.
    fn refuse_options_without_use(&self) -> Result<(), Error> {
        let entry = self.mode.entry();
        let (has_tag, has_sectors) = (self.mode.is_authenticated(), entry.initial == Initial::Sector);
        let has_records = records::MODES.contains(&self.mode) && matches!(self.cipher, AnyCipher::Usual(_));
        let takes_iv = matches!(entry.initial, Initial::Block | Initial::Nonce { .. });
        let is_on_devices = task(self.mode, Direction::Encrypt).is_some();
        let given = [
            ("--device", self.device.is_device(), is_on_devices),
            ("--iv", self.iv.is_some(), takes_iv),
            ("--padding", self.padding.is_some(), entry.lengths == Lengths::WholeBlocks),
            ("--sector-size", self.sector_size.is_some(), has_sectors),
            ("--sector", self.sector.is_some(), has_sectors),
            ("--record-size", self.record_size.is_some(), has_records),
            ("--chunk-size", self.chunk_size.is_some(), !has_tag),
            ("--aad", !self.aads.is_empty(), has_tag),
            ("--tag", self.tag.is_some(), has_tag),
            ("--tag-file", self.tag_file.is_some(), has_tag),
            ("--tag-bytes", self.tag_bytes.is_some(), has_tag),
        ];
        if let Some((option, ..)) = given.iter().find(|(_, is_given, is_used)| *is_given && !is_used) {
            return Err(Error::usage(format!("{} has no use for {option}: leave it out", self.mode)));
        }
        if has_tag && self.aads.len() > entry.aad_strings_max {
            let why = match entry.aad_strings_max {
                1 => "takes --aad once: give all of it as one string, or use siv".to_owned(),
                most => format!("takes --aad {most} times at most: join some of them"),
            };
            return Err(Error::usage(format!("{} {why}", self.mode)));
        }
        self.refuse_one_file_for_two()
    }

    /// Refuses one file in two roles. The output must be neither the key file nor the tag file. The tag
    /// file must be neither the input nor the key file.
    fn refuse_one_file_for_two(&self) -> Result<(), Error> {
        let named = |path: &Option<PathBuf>| unless_stream(path.clone());
        if self.tag_file.is_some() && named(&self.tag_file).is_none() {
            return Err(Error::usage("the tag goes to a file of its own: give --tag-file a name"));
        }
        let (tag, key) = (("--tag-file", self.tag_file.as_deref()), ("--key-file", self.key_file.as_deref()));
        let (input, output) = (named(&self.input), named(&self.output));
        apart(key, ("--output", output.as_deref()))?;
        apart(tag, ("--output", output.as_deref()))?;
        apart(tag, ("the input", input.as_deref()))?;
        apart(tag, key)
    }

    /// The settings of the mode. A mode with a tag uses `workers` threads.
    fn kind(&self, workers: NonZero<usize>) -> Result<Kind, Error> {
        let cipher = match self.cipher {
            AnyCipher::Usual(cipher) => cipher,
            AnyCipher::Wide(cipher) => return self.wide(cipher).map(Kind::Wide),
        };
        if self.mode.is_authenticated() {
            return Ok(Kind::Sealed(self.engine(cipher, workers.get())?, self.sealed()?));
        }
        if let Some(record_bytes) = self.record_size {
            return Ok(Kind::Records(self.engine(cipher, 1)?, self.records(record_bytes)?));
        }
        // Chunks are computed in parallel, so each uses one thread.
        Ok(Kind::Plain(self.engine(cipher, 1)?, self.plain()?))
    }

    fn is_padded(&self) -> bool {
        self.padding == Some(PaddingName::Pkcs7)
    }

    fn engine(&self, cipher: Cipher, threads: usize) -> Result<Engine, Error> {
        let plans = self.plan.as_deref().map(typed::plans).transpose()?;
        let options = Options {
            policy: self.policy,
            variants: self.variants.clone(),
            plans: plans.into_iter().collect(),
            threads,
            costs: wisdom::costs(cipher),
            short_nonces: self.decrypt, // data of other programs may have them
            ..Options::default()
        };
        Ok(Engine { cipher, options })
    }

    /// Settings for a cipher with wider blocks. Fails if the mode is not defined for them.
    fn wide(&self, cipher: Rijndael) -> Result<Wide, Error> {
        if !self.mode.entry().any_block_size {
            return Err(Error::usage(format!(
                "{} is defined for blocks of {BLOCK_BYTES} bytes, and those of {cipher} have {}: \
                 choose one of {}, or another cipher",
                self.mode,
                cipher.block_bytes(),
                Mode::names(|mode| mode.entry().any_block_size)
            )));
        }
        if self.device.is_device() {
            let why = format!("devices take ciphers with blocks of {BLOCK_BYTES} bytes: leave --device out");
            return Err(Error::usage(why));
        }
        if self.plan.is_some() {
            let why = format!("--plan is for ciphers with blocks of {BLOCK_BYTES} bytes: leave it out");
            return Err(Error::usage(why));
        }
        let initial = match self.mode.entry().initial {
            Initial::Nothing => vec![0; cipher.block_bytes()],
            _ => self.initial(&format!("block of {} bytes", cipher.block_bytes()))?,
        };
        let initial = State::new(cipher, &initial)?;
        Ok(Wide { cipher, initial, is_padded: self.is_padded(), variants: self.variants.clone() })
    }

    fn plain(&self) -> Result<Plain, Error> {
        let iv = match self.mode.entry().initial {
            Initial::Block => self.initial("block of 16 bytes")?,
            _ => Vec::new(),
        };
        let Start { sector, sector_bytes, .. } = Start::default();
        Ok(Plain {
            iv,
            first_sector: self.sector.unwrap_or(sector),
            sector_bytes: self.sector_size.unwrap_or(sector_bytes),
            is_padded: self.is_padded(),
        })
    }

    fn records(&self, record_bytes: usize) -> Result<Records, Error> {
        if record_bytes == 0 || record_bytes > RECORD_BYTES_MAX {
            return Err(Error::usage("a record has 1 byte to 256M: give --record-size another length"));
        }
        let iv = self.mode.initial_block(&self.plain()?.iv)?;
        Ok(Records { record_bytes, iv })
    }

    fn initial(&self, what: &str) -> Result<Vec<u8>, Error> {
        let Some(iv) = &self.iv else {
            let why = format!("{} starts from a {what}: give --iv HEX", self.mode);
            return Err(Error::usage(why));
        };
        Ok(secret::decode_hex("--iv", iv.as_bytes())?.to_vec())
    }

    fn sealed(&self) -> Result<Sealed, Error> {
        let decoded = |name, digits: &Option<String>| {
            digits.as_ref().map(|digits| secret::decode_hex(name, digits.as_bytes())).transpose()
        };
        let tag = match (decoded("--tag", &self.tag)?, &self.tag_file) {
            (Some(_), _) if !self.decrypt => {
                return Err(Error::usage("a tag is made when encrypting: leave --tag out, or decrypt by -d"));
            }
            (Some(tag), _) => TagPlace::Given(tag.to_vec()),
            (None, Some(path)) => TagPlace::File(path.clone()),
            (None, None) => TagPlace::End,
        };
        let aads = self.aads.iter().map(|digits| secret::decode_hex("--aad", digits.as_bytes()));
        Ok(Sealed {
            nonce: self.nonce()?,
            aads: aads.collect::<Result<_, _>>()?,
            tag,
            tag_bytes: self.tag_bytes.unwrap_or(BLOCK_BYTES),
        })
    }

    /// The nonce. It is empty if it is not given and the mode needs none.
    fn nonce(&self) -> Result<Vec<u8>, Error> {
        let options = Options { short_nonces: self.decrypt, ..Options::default() };
        match self.mode.nonce_bytes_min(&options) {
            0 if self.iv.is_none() => Ok(Vec::new()),
            _ => self.initial(&self.usual_nonce()),
        }
    }

    /// The recommended nonce, as part of a sentence.
    fn usual_nonce(&self) -> String {
        match self.mode.entry().initial {
            Initial::Nonce { least, usual, most } if least < most => format!("nonce, best of {usual} bytes"),
            Initial::Nonce { usual, .. } => format!("nonce of {usual} bytes"),
            _ => "nonce".to_owned(),
        }
    }

    /// The key, or both keys of a mode with two. The length of a key from a file is checked here; the mode
    /// checks the length of a key in hex.
    fn secret(&self) -> Result<Zeroizing<Vec<u8>>, Error> {
        let (mut whose, key_bytes) = match self.cipher {
            AnyCipher::Usual(cipher) => (cipher.to_string(), self.mode.key_bytes(cipher)),
            AnyCipher::Wide(cipher) => (cipher.to_string(), cipher.key_bytes()),
        };
        if self.mode.entry().keys > 1 {
            whose = format!("{} by {whose}", self.mode);
        }
        wiping_stack(|| match (&self.key, &self.key_file) {
            (Some(digits), _) => secret::key_from_hex(digits),
            (None, Some(path)) if self.record_size.is_some() => {
                secret::keys_from_file(&whose, key_bytes, path)
            }
            (None, Some(path)) => secret::key_from_file(&whose, key_bytes, path),
            (None, None) => Err(Error::usage("there is no key: give --key or --key-file")),
        })
    }
}

fn typed_secret(digits: &str) -> Result<Zeroizing<String>, std::convert::Infallible> {
    Ok(Zeroizing::new(digits.to_owned()))
}

/// A path, unless it is `-`, which means a standard stream.
fn unless_stream(path: Option<PathBuf>) -> Option<PathBuf> {
    path.filter(|path| path.as_os_str() != "-")
}
