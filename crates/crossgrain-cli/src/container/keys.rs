//! Secrets of files: keys, passphrases and identities from the places that the user named, overwritten when
//! dropped; and the recipients of files.

use std::collections::HashSet;
use std::ffi::OsString;
use std::fs::File;
use std::path::{Path, PathBuf};

use crossgrain::engine::wiping_stack;
use crossgrain_container::{
    Argon2id, Error as Refusal, IDENTITY_FILE_BYTES_MAX, Identity, Kdf, Limits, Lock, Recipient, Secret,
    SlotKind, Suite, fill, identities_from_file, recipients_from_file,
};
use zeroize::Zeroizing;

use super::passphrase::{self, Prompt};
use super::slot_kinds;
use crate::error::Error;
use crate::input::{read_small, shown, standard_input};
use crate::output::apart;
use crate::secret;
use crate::system;
use crate::typed::memory_in_mib;

/// The question for the passphrase of a file, and for its new one.
const USUAL: Prompt = Prompt { text: "Passphrase: ", options: "--passphrase-file or --key-file" };
const NEW: Prompt = Prompt { text: "New passphrase: ", options: "--new-passphrase-file or --new-key-file" };

/// A file that must not be overwritten, with the option that names it.
pub(super) type SecretFile<'a> = (&'static str, Option<&'a Path>);

/// Where the key comes from.
#[derive(clap::Args, Default)]
#[group(multiple = false)]
pub(super) struct KeyArgs {
    /// Ask for a passphrase (the default)
    #[arg(long)]
    passphrase: bool,

    /// A file whose first line is the passphrase
    #[arg(long, value_name = "FILE")]
    passphrase_file: Option<PathBuf>,

    /// An open file descriptor, the first line from which is the passphrase
    #[arg(long, value_name = "N")]
    passphrase_fd: Option<u32>,

    /// An environment variable whose value is the passphrase
    #[arg(long, value_name = "NAME")]
    passphrase_env: Option<OsString>,

    /// A command that prints the passphrase as its only line. Its words are separated by spaces and may be
    /// quoted; no shell runs it
    #[arg(long, value_name = "COMMAND")]
    passphrase_command: Option<String>,

    /// A file that holds the key, as it is or in hex, as made by `crossgrain keygen`
    #[arg(long, value_name = "FILE")]
    key_file: Option<PathBuf>,
}

/// Where the secret of an existing file comes from, and what deriving a key may cost.
#[derive(clap::Args)]
pub(super) struct OpenArgs {
    #[command(flatten)]
    keys: KeyArgs,

    /// A file of identities, as made by `crossgrain keygen --x25519` or `age-keygen`
    #[arg(short, long, value_name = "FILE", conflicts_with = "KeyArgs")]
    identity: Option<PathBuf>,

    /// Most memory that a file may demand for its passphrase: a size, or a number of MiB; 1GiB unless given,
    /// and no more than 4GiB in all passes
    #[arg(long = "kdf-memory-max", value_name = "SIZE", value_parser = memory_in_mib)]
    kdf_memory_max_kib: Option<u32>,

    /// Most passes that a file may demand; 16 unless given
    #[arg(long, value_name = "N")]
    kdf_passes_max: Option<u32>,
}

/// Where the new secret of an existing file comes from.
#[derive(clap::Args)]
#[group(multiple = false)]
pub(super) struct NewKeyArgs {
    /// Ask for the new passphrase
    #[arg(long)]
    new_passphrase: bool,

    /// A file whose first line is the new passphrase
    #[arg(long, value_name = "FILE")]
    new_passphrase_file: Option<PathBuf>,

    /// An open file descriptor, the first line from which is the new passphrase
    #[arg(long, value_name = "N")]
    new_passphrase_fd: Option<u32>,

    /// A file that holds the new key
    #[arg(long, value_name = "FILE")]
    new_key_file: Option<PathBuf>,
}

/// The recipients of a file.
#[derive(clap::Args)]
pub(super) struct RecipientArgs {
    /// Encrypt to the holder of an identity, by its public recipient (age1…); may be repeated
    #[arg(short, long, value_name = "RECIPIENT")]
    recipient: Vec<Recipient>,

    /// A file of recipients, one a line; lines that begin with # are comments
    #[arg(short = 'R', long, value_name = "FILE")]
    recipients_file: Vec<PathBuf>,
}

/// A secret from the user.
pub(super) enum Known {
    Key(Zeroizing<Vec<u8>>),
    Passphrase(Zeroizing<String>),
    Identities(Vec<Identity>),
}

impl Known {
    pub(super) fn secret(&self) -> Secret<'_> {
        match self {
            Self::Key(key) => Secret::Key(key),
            Self::Passphrase(passphrase) => Secret::Passphrase(passphrase.as_bytes()),
            Self::Identities(identities) => Secret::Identities(identities),
        }
    }

    /// A lock that this secret opens, if it is one that files are encrypted with.
    pub(super) fn lock(&self, argon2id: Argon2id) -> Option<Lock<'_>> {
        match self {
            Self::Key(key) => Some(Lock::Key(key)),
            Self::Passphrase(passphrase) => Some(Lock::Passphrase(passphrase.as_bytes(), argon2id)),
            Self::Identities(_) => None,
        }
    }
}

impl OpenArgs {
    /// Whether the secret is a key of one suite's length.
    pub(super) const fn is_key(&self) -> bool {
        self.keys.is_key()
    }

    /// The files that hold the secret.
    pub(super) fn files(&self) -> Vec<SecretFile<'_>> {
        let identity = ("--identity", self.identity.as_deref());
        self.keys.files().into_iter().chain([identity]).collect()
    }

    /// Refuses to ask for a passphrase that would not open the file.
    pub(super) fn suits(&self, kdf: &Kdf) -> Result<(), Refusal> {
        let kinds = slot_kinds(kdf);
        let has = |wanted: fn(&SlotKind) -> bool| kinds.iter().any(wanted);
        if self.identity.is_some()
            || self.keys.is_given()
            || has(|kind| matches!(kind, SlotKind::Passphrase(_)))
        {
            return Ok(());
        }
        Err(if has(|kind| *kind == SlotKind::Key) { Refusal::WantsKey } else { Refusal::WantsIdentity })
    }

    /// The secret for a file of this suite.
    pub(super) fn known(&self, suite: Suite) -> Result<Known, Error> {
        match &self.identity {
            Some(path) => wiping_stack(|| identities(path)).map(Known::Identities),
            None => self.keys.known(suite, false),
        }
    }

    pub(super) fn limits(&self) -> Limits {
        let Self { kdf_memory_max_kib, kdf_passes_max, .. } = *self;
        let usual = Limits::default();
        let memory_kib = kdf_memory_max_kib.unwrap_or(usual.memory_kib);
        let passes = kdf_passes_max.unwrap_or(usual.passes);
        // If the user raises either limit, the limit on work becomes the product of both.
        let is_raised = memory_kib > usual.memory_kib || passes > usual.passes;
        let work_kib = if is_raised { u64::from(memory_kib) * u64::from(passes) } else { usual.work_kib };
        Limits { memory_kib, passes, work_kib, ..usual }
    }
}

impl NewKeyArgs {
    /// The same arguments under their usual names.
    fn named(&self) -> KeyArgs {
        KeyArgs {
            passphrase: self.new_passphrase,
            passphrase_file: self.new_passphrase_file.clone(),
            passphrase_fd: self.new_passphrase_fd,
            key_file: self.new_key_file.clone(),
            ..KeyArgs::default()
        }
    }

    /// The files that hold the secret.
    pub(super) fn files(&self) -> [SecretFile<'_>; 2] {
        let passphrase = ("--new-passphrase-file", self.new_passphrase_file.as_deref());
        [passphrase, ("--new-key-file", self.new_key_file.as_deref())]
    }

    /// The new secret, if an option names it or it `is_needed`. It is prompted for unless an option says
    /// otherwise.
    pub(super) fn known(&self, suite: Suite, is_needed: bool) -> Result<Option<Known>, Error> {
        let named = self.named();
        if !is_needed && !named.is_given() {
            return Ok(None);
        }
        wiping_stack(|| named.read(suite, NEW, true)).map(Some)
    }
}

impl RecipientArgs {
    /// Whether there are any.
    pub(super) const fn is_empty(&self) -> bool {
        self.recipient.is_empty() && self.recipients_file.is_empty()
    }

    /// All recipients, each once.
    pub(super) fn all(&self) -> Result<Vec<Recipient>, Error> {
        let mut all = self.recipient.clone();
        for path in &self.recipients_file {
            let found = recipients_from_file(&read_small(path)?)
                .map_err(|why| Error::usage(format!("recipients file '{}' {why}", shown(path))));
            all.extend(found?);
        }
        let mut known = HashSet::new();
        all.retain(|recipient| known.insert(*recipient));
        Ok(all)
    }
}

/// Refuses to overwrite a file that holds a secret.
pub(super) fn apart_from(secrets: &[SecretFile<'_>], output: &Path) -> Result<(), Error> {
    secrets.iter().try_for_each(|&secret| apart(secret, ("--output", Some(output))))
}

/// The identities in a file.
pub(super) fn identities(path: &Path) -> Result<Vec<Identity>, Error> {
    if path == Path::new("-") {
        return Err(Error::usage("--identity wants the name of a file: standard input is for the data"));
    }
    let name = format!("identity file '{}'", shown(path));
    let mut buffer = Zeroizing::new(vec![0; IDENTITY_FILE_BYTES_MAX]);
    let read = File::open(path).and_then(|mut file| fill(&mut file, &mut buffer));
    let len_bytes = read.map_err(|error| Error::read(&name, &error))?;
    identities_from_file(&buffer[..len_bytes]).map_err(|why| Error::usage(format!("{name} {why}")))
}

impl KeyArgs {
    /// Whether the secret is a key rather than a passphrase.
    pub(super) const fn is_key(&self) -> bool {
        self.key_file.is_some()
    }

    /// Whether an option names the source.
    pub(super) const fn is_given(&self) -> bool {
        self.passphrase
            || self.passphrase_file.is_some()
            || self.passphrase_fd.is_some()
            || self.passphrase_env.is_some()
            || self.passphrase_command.is_some()
            || self.is_key()
    }

    /// The files that hold the secret.
    pub(super) fn files(&self) -> [SecretFile<'_>; 2] {
        let passphrase = ("--passphrase-file", self.passphrase_file.as_deref());
        [("--key-file", self.key_file.as_deref()), passphrase]
    }

    /// The key or passphrase for a file of this suite. A new passphrase is prompted for `twice`.
    ///
    /// Copies in registers and on the stack are overwritten. Libraries would otherwise take old stack contents into
    /// memory that they never wipe.
    pub(super) fn known(&self, suite: Suite, twice: bool) -> Result<Known, Error> {
        wiping_stack(|| self.read(suite, USUAL, twice))
    }

    fn read(&self, suite: Suite, prompt: Prompt, twice: bool) -> Result<Known, Error> {
        if let Some(path) = &self.key_file {
            let key = secret::key_from_file(&suite.to_string(), suite.key_bytes(), path)?;
            return Ok(Known::Key(key));
        }
        let passphrase = self.passphrase(prompt, twice)?;
        if passphrase.is_empty() {
            return Err(Error::usage("the passphrase is empty: choose one"));
        }
        Ok(Known::Passphrase(passphrase))
    }

    fn passphrase(&self, prompt: Prompt, twice: bool) -> Result<Zeroizing<String>, Error> {
        if let Some(path) = &self.passphrase_file {
            let name = format!("passphrase file '{}'", shown(path));
            return passphrase::first_line_of(File::open(path), &name);
        }
        if let Some(number) = self.passphrase_fd {
            let file = if number == 0 { standard_input() } else { system::descriptor(number) };
            return passphrase::first_line_of(file, &format!("file descriptor {number}"));
        }
        if let Some(variable) = &self.passphrase_env {
            return passphrase::from_environment(variable);
        }
        if let Some(command) = &self.passphrase_command {
            return passphrase::from_command(command);
        }
        passphrase::asked(prompt, twice)
    }
}
