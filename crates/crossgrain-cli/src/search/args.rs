//! The arguments of `search`.

use std::path::PathBuf;

use clap::{ArgGroup, Parser as _};
use crossgrain::mode::Mode;
use crossgrain_search::format::Format;
use crossgrain_search::{BigUint, Hash, Shard};

use super::EXIT_CODES;
use super::names::{FormName, HeaderName, KdfName, LookName, formats, hashes};
use super::session::{Session, State};
use crate::device::Asked;
use crate::error::Error;
use crate::typed::{AnyCipher, any_ciphers, memory_in_kib, modes};

/// Sources of candidates without words. Clap does not miss a required option if one that excludes it is given.
const NOT_WORDS: [&str; 3] = ["mask", "key_mask", "range"];

/// Arguments that a session's journal contains, so `--restore` excludes them. Arguments that require
/// another one are listed too, because clap does not enforce the requirement if the required argument is in
/// conflict.
#[rustfmt::skip] // a list
const SAID_BY_SESSIONS: [&str; 52] = [
    "cipher", "plain", "crypt", "hashcat", "file", "format", "hash", "pbkdf2", "slot", "header", "pim", "looks", "mode", "iv", "aad", "tag", "sector",
    "candidates", "hex", "set1", "set2", "set3", "set4", "mask_before", "mask_after", "words_after", "increment",
    "increment_min", "increment_max", "rule_right", "stdout", "form", "rule", "rules", "strict_rules", "kdf", "salt",
    "iterations", "log_n", "block_size", "lanes", "memory", "skip", "limit", "shard", "keyspace", "output",
    "all", "targets", "any_target", "pot", "show",
];

/// Search for a lost key by plaintext that is known.
///
/// For your own data: a key of which some digits are lost, or a passphrase that is in a list. A whole key
/// of 128 bits is out of reach of every machine. A search stops at the first key that fits, unless --all is
/// given.
#[derive(clap::Args)]
#[command(after_help = EXIT_CODES)]
#[command(group = ArgGroup::new("candidates").args(["key_mask", "mask", "words", "range"]))]
#[command(group = ArgGroup::new("masks").args(["mask", "mask_before", "mask_after"]).multiple(true))]
pub(crate) struct Args {
    /// The block cipher, with its key size in bits; for rijndael, the sizes of block and key
    #[arg(long, value_parser = any_ciphers())]
    pub(super) cipher: Option<AnyCipher>,

    /// Plaintext in hex, from its beginning on, with ? for every digit that is not known; may be repeated,
    /// each with its --crypt
    #[arg(long, value_name = "HEX")]
    pub(super) plain: Vec<String>,

    /// Ciphertext in hex
    #[arg(long, value_name = "HEX")]
    pub(super) crypt: Vec<String>,

    /// A pair as hashcat's modes 26401 to 26403 take it, the ciphertext first; may be repeated
    #[arg(long, value_name = "CT:PT", conflicts_with_all = ["plain", "crypt", "file"])]
    pub(super) hashcat: Vec<String>,

    /// An encrypted file or device: candidates are its passphrase. A file of `crossgrain encrypt` may have a
    /// key instead. May be repeated: the passphrase of each file is searched for
    #[arg(long, value_name = "FILE", conflicts_with_all = ["crypt", "hashcat", "kdf", "iv", "aad", "tag", "sector"])]
    pub(super) file: Vec<PathBuf>,

    /// A list of pairs as --hashcat takes them, one per line. Each is a target with a key of its own
    #[arg(long, value_name = "FILE", conflicts_with_all = ["plain", "crypt", "hashcat", "file", "looks"])]
    pub(super) targets: Option<PathBuf>,

    /// Stop when one of several targets is found, instead of all
    #[arg(long)]
    pub(super) any_target: bool,

    /// The format of the file; recognised by its first bytes unless given. VeraCrypt and TrueCrypt files are
    /// not recognised
    #[arg(long, value_parser = formats(), requires = "file")]
    pub(super) format: Option<&'static Format>,

    /// The hash of the file's key derivation: -md of openssl, the hash of VeraCrypt; all usual ones unless given
    #[arg(long, visible_alias = "md", value_parser = hashes(), requires = "file")]
    pub(super) hash: Option<Hash>,

    /// The file was made by openssl with -pbkdf2; --iterations is its -iter
    #[arg(long, requires = "file")]
    pub(super) pbkdf2: bool,

    /// The key slot of a LUKS device; all of them unless given
    #[arg(long, value_name = "N", requires = "file")]
    pub(super) slot: Option<u32>,

    /// The header of a VeraCrypt or TrueCrypt volume
    #[arg(long, requires = "file")]
    pub(super) header: Option<HeaderName>,

    /// The PIM of a VeraCrypt volume
    #[arg(long, value_name = "N", requires = "file")]
    pub(super) pim: Option<u32>,

    /// The form of the plaintext, if its bytes are not known; instead of --plain
    #[arg(long, conflicts_with = "hashcat")]
    pub(super) looks: Option<LookName>,

    /// The mode of operation [default: ecb; cbc for a file of openssl]
    #[arg(long, value_parser = modes())]
    pub(super) mode: Option<Mode>,

    /// The initial value in hex: the first counter block of ctr, the nonce of a mode with a tag, the
    /// initialisation vector of the others; siv needs none
    #[arg(long, visible_alias = "nonce", value_name = "HEX")]
    pub(super) iv: Option<String>,

    /// Associated data in hex: authenticated, but not encrypted. For siv, repeat the option to give a list
    /// of strings
    #[arg(long, value_name = "HEX")]
    pub(super) aad: Vec<String>,

    /// The tag in hex
    #[arg(long, value_name = "HEX")]
    pub(super) tag: Option<String>,

    /// The number of the sector of xts; 0 unless given
    #[arg(long, value_name = "N")]
    pub(super) sector: Option<u128>,

    /// Candidates: keys in hex with ? for every digit that is not known
    #[arg(long, value_name = "HEX")]
    pub(super) key_mask: Option<String>,

    /// Candidates: a character or a set for every byte, as in hashcat: ?l ?u ?d ?s ?a ?b ?h ?H, ?1 to ?4,
    /// ?? for ?. The name of a file stands for the masks in it, one per line. A name that ends in .hcmask must be
    /// that of a file
    #[arg(long, value_name = "MASK")]
    pub(super) mask: Option<String>,

    /// A mask whose strings are put before each word; each word with each string is a candidate
    #[arg(long, value_name = "MASK", requires = "words", conflicts_with_all = NOT_WORDS)]
    pub(super) mask_before: Option<String>,

    /// The same after each word
    #[arg(long, value_name = "MASK", requires = "words", conflicts_with_all = NOT_WORDS)]
    pub(super) mask_after: Option<String>,

    /// Masks also stand for their first places: for one place first, then for two, up to all of them
    #[arg(short, long, requires = "masks")]
    pub(super) increment: bool,

    /// The least number of places with --increment
    #[arg(long, value_name = "N", requires = "increment", default_value_t = 1)]
    pub(super) increment_min: usize,

    /// The largest number of places with --increment
    #[arg(long, value_name = "N", requires = "increment")]
    pub(super) increment_max: Option<usize>,

    /// The mask has a place for every hex digit of the key
    #[arg(long, requires = "masks")]
    pub(super) hex: bool,

    /// The set ?1: characters and sets, or the name of a file with them
    #[arg(short = '1', long, value_name = "SET", requires = "masks")]
    pub(super) set1: Option<String>,

    /// The set ?2
    #[arg(short = '2', long, value_name = "SET", requires = "masks")]
    pub(super) set2: Option<String>,

    /// The set ?3
    #[arg(short = '3', long, value_name = "SET", requires = "masks")]
    pub(super) set3: Option<String>,

    /// The set ?4
    #[arg(short = '4', long, value_name = "SET", requires = "masks")]
    pub(super) set4: Option<String>,

    /// Candidates: the words of a file, `-` for standard input. Lists may be compressed by gzip, xz or zstd
    #[arg(long, value_name = "FILE")]
    pub(super) words: Option<PathBuf>,

    /// The format of the word file
    #[arg(long, default_value = "lines", requires = "words", conflicts_with_all = NOT_WORDS)]
    pub(super) form: FormName,

    /// A second list: each of its words is put after each word of --words
    #[arg(long, value_name = "FILE", requires = "words", conflicts_with_all = NOT_WORDS)]
    pub(super) words_after: Option<PathBuf>,

    /// A rule for words, in hashcat's notation; may be repeated
    #[arg(
        short = 'j',
        long,
        visible_alias = "rule-left",
        value_name = "RULE",
        requires = "words",
        conflicts_with_all = ["rules", "mask", "key_mask", "range"]
    )]
    pub(super) rule: Vec<String>,

    /// A file of rules, one per line; if it is repeated, each rule of one file is followed by each of the next
    #[arg(long, value_name = "FILE", requires = "words", conflicts_with_all = NOT_WORDS)]
    pub(super) rules: Vec<PathBuf>,

    /// A rule for the words of --words-after
    #[arg(short = 'k', long, value_name = "RULE", requires = "words_after")]
    pub(super) rule_right: Option<String>,

    /// Refuse rules that have unknown functions, instead of skipping them with a warning
    #[arg(long, requires = "rules")]
    pub(super) strict_rules: bool,

    /// Candidates: all keys from A to B, both in hex and both included
    #[arg(long, value_name = "A..B")]
    pub(super) range: Option<String>,

    /// How a key is derived from a candidate; `zeros` for text and `exact` for keys unless given
    #[arg(long)]
    pub(super) kdf: Option<KdfName>,

    /// The salt of pbkdf2, scrypt and argon2id, in hex
    #[arg(long, value_name = "HEX", requires = "kdf")]
    pub(super) salt: Option<String>,

    /// Iterations of pbkdf2, passes of argon2id, -iter of openssl
    #[arg(long, visible_alias = "iter", value_name = "N")]
    pub(super) iterations: Option<u32>,

    /// The binary logarithm of the cost N of scrypt
    #[arg(long, value_name = "N", requires = "kdf")]
    pub(super) log_n: Option<u8>,

    /// The block size r of scrypt
    #[arg(long, value_name = "N", requires = "kdf", default_value_t = 8)]
    pub(super) block_size: u32,

    /// Lanes of argon2id, p of scrypt
    #[arg(long, value_name = "N", requires = "kdf", default_value_t = 1)]
    pub(super) lanes: u32,

    /// Memory of argon2id: a size such as 64MiB, 512K or 1GiB, or a number of KiB
    #[arg(long, value_name = "SIZE", requires = "kdf", value_parser = memory_in_kib)]
    pub(super) memory: Option<u32>,

    /// How many candidates to skip at the beginning
    #[arg(long, value_name = "N", default_value = "0")]
    pub(super) skip: BigUint,

    /// The maximum number of candidates to try
    #[arg(long, value_name = "N")]
    pub(super) limit: Option<BigUint>,

    /// Try one share of the candidates: share i of n, counted from 0
    #[arg(long, value_name = "i/n", value_parser = |text: &str| text.parse::<Shard>())]
    pub(super) shard: Option<Shard>,

    /// Print how many candidates there are, and try none. No target is needed
    #[arg(long)]
    pub(super) keyspace: bool,

    /// Print the candidates, one per line, and try none. No target is needed
    #[arg(long, conflicts_with_all = ["keyspace", "session", "json"])]
    pub(super) stdout: bool,

    /// Stop after this number of seconds, without those of pauses
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u32).range(1..))]
    pub(super) runtime: Option<u32>,

    /// Keep a journal in NAME.session and found keys in NAME.found, both in the current directory, so that
    /// the search can be continued
    #[arg(long, value_name = "NAME", value_parser = plain_name)]
    pub(super) session: Option<PathBuf>,

    /// Continue the session with the arguments in its journal; only --json, --threads, --device,
    /// --runtime and --explain may be given in addition
    #[arg(long, requires = "session", conflicts_with_all = SAID_BY_SESSIONS)]
    pub(super) restore: bool,

    /// A file to which found keys are appended
    #[arg(short, long, value_name = "OUT")]
    pub(super) output: Option<PathBuf>,

    /// A file of found keys for all searches, which contains secrets. A target whose key is in it is not searched
    /// again, and found keys are added
    #[arg(long, value_name = "POT")]
    pub(super) pot: Option<PathBuf>,

    /// Print the keys of the targets that --pot contains, and try none
    #[arg(long, requires = "pot", conflicts_with_all = ["session", "stdout", "keyspace"])]
    pub(super) show: bool,

    /// Go on after the first key that fits
    #[arg(long)]
    pub(super) all: bool,

    /// Print results as JSON, one object per line, and the status on standard error twice a second
    #[arg(long)]
    pub(super) json: bool,

    /// How many threads to use; all of the machine's unless given
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub(super) threads: Option<u16>,

    /// Where candidates are tried, or keys derived from them: `cpu`, `gpu`, a device by its name in
    /// `crossgrain devices`, `auto` for the fastest, or several devices, as in cuda:0,cuda:1 [default: cpu]
    #[arg(long, value_name = "DEVICE", value_delimiter = ',')]
    pub(super) device: Vec<Asked>,

    /// Print on standard error which kernel runs
    #[arg(long)]
    pub(super) explain: bool,
}

/// The name of a session: part of file names in the current directory.
fn plain_name(name: &str) -> Result<PathBuf, String> {
    let is_plain = |character: char| !character.is_control() && !"/\\:".contains(character);
    if name.is_empty() || [".", ".."].contains(&name) || !name.chars().all(is_plain) {
        return Err("give a plain name: sessions are kept in the current directory".to_owned());
    }
    Ok(name.into())
}

/// The command without a program name, to parse the arguments in a session's journal.
#[derive(clap::Parser)]
#[command(name = "crossgrain search", no_binary_name = true)]
struct Alone {
    #[command(flatten)]
    args: Args,
}

impl Args {
    /// Whether options leave some candidates out.
    pub(super) fn is_part(&self) -> bool {
        self.skip != BigUint::ZERO || self.limit.is_some() || self.shard.is_some()
    }

    /// These arguments, or with `--restore` those of the session, and the session itself.
    pub(super) fn resolved(self) -> Result<(Self, Option<(Session, State)>), Error> {
        let (true, Some(name)) = (self.restore, self.session.clone()) else {
            return Ok((self, None));
        };
        let (session, mut state) = Session::restore(&name)?;
        let kept = Alone::try_parse_from(std::mem::take(&mut state.arguments))?.args;
        let args = Self {
            restore: true,
            session: Some(name),
            json: self.json || kept.json,
            explain: self.explain || kept.explain,
            threads: self.threads.or(kept.threads),
            runtime: self.runtime.or(kept.runtime),
            device: if self.device.is_empty() { kept.device } else { self.device },
            ..kept
        };
        Ok((args, Some((session, state))))
    }
}
