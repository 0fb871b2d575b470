//! The commands `crossgrain encrypt`, `decrypt`, `verify`, `inspect`, `rekey` and `keygen` for encrypted files
//! (`docs/format.md`).
//!
//! Each command has its own file. `flow` runs chunks through the pipeline, `batch` works on several files,
//! `archive` packs and unpacks directories, and `resume` continues an interrupted decryption. `keys` and
//! `passphrase` read secrets, and `keyring` holds them.

#[cfg_attr(not(unix), path = "archive/none.rs")]
mod archive;
mod args;
mod batch;
mod decrypt;
mod encrypt;
mod flow;
mod inspect;
mod keygen;
mod keyring;
mod keys;
mod passphrase;
mod printable;
mod rekey;
mod resume;

pub(crate) use args::{DecryptArgs, EncryptArgs, InspectArgs, KeygenArgs, RekeyArgs, VerifyArgs};
pub(crate) use decrypt::{decrypt, verify};
pub(crate) use encrypt::encrypt;
pub(crate) use inspect::inspect;
pub(crate) use keygen::keygen;
pub(crate) use rekey::rekey;

use std::fmt::{self, Display};
use std::io::{Seek as _, Write as _};

use crossgrain::engine::text::grouped;
use crossgrain_container::{CHUNK_BYTES, Damage, Error as Refusal, Header, Kdf, SlotKind, Suite, fill};
use serde_json::{Value, json};

use crate::error::{Error, Exit, exit_of};
use crate::input::{Input, Name};
use crate::output::Output;

/// The first bytes of other programs' files, a description of these files, and the command that reads them.
const FOREIGN: [(&[u8], &str, &str); 11] = [
    (b"age-encryption.org/", AGE, "age --decrypt"),
    (b"-----BEGIN AGE ENCRYPTED", AGE, "age --decrypt"),
    (b"-----BEGIN PGP", PGP, "gpg --decrypt"),
    (b"Salted__", "a file of `openssl enc`, not of crossgrain", "openssl enc -d"),
    (b"PK\x03\x04", "a ZIP archive, not a file of crossgrain", "unzip"),
    // OpenPGP session-key packets, in the old and the new format, for passphrases and for keys.
    (b"\x8c\x0d\x04", PGP, "gpg --decrypt"),
    (b"\xc3\x0d\x04", PGP, "gpg --decrypt"),
    (b"\x84\x5e\x03", PGP, "gpg --decrypt"),
    (b"\x85\x01\x0c\x03", PGP, "gpg --decrypt"),
    (b"\x85\x01\x8c\x03", PGP, "gpg --decrypt"),
    (b"\x85\x02\x0c\x03", PGP, "gpg --decrypt"),
];
const AGE: &str = "a file of age, not of crossgrain";
const PGP: &str = "a file of OpenPGP, not of crossgrain";

/// The plaintext of a whole file: its length, and how it is encrypted.
struct Contents {
    suite: Suite,
    plaintext_bytes: u64,
}

impl Contents {
    /// The last chunk is shorter than the others, and may be empty.
    const fn chunks(&self) -> u64 {
        self.plaintext_bytes / CHUNK_BYTES as u64 + 1
    }

    /// The fields of a JSON object that names the file; null is a stream.
    fn json(&self, name: &Name) -> Value {
        let file = match name {
            Name::File(path) => Some(path.to_string_lossy()),
            Name::Stream(_) => None,
        };
        json!({
            "file": file, "suite": self.suite.name(), "plaintext_bytes": self.plaintext_bytes, "chunks": self.chunks(),
        })
    }
}

impl Display for Contents {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let counted = |count, unit| format!("{} {unit}{}", grouped(count), if count == 1 { "" } else { "s" });
        let (bytes, chunks) = (counted(self.plaintext_bytes, "byte"), counted(self.chunks(), "chunk"));
        write!(f, "{bytes} in {chunks}, {}", self.suite)
    }
}

/// The first of [`slots_json`].
fn kdf_json(kdf: &Kdf) -> Value {
    slots_json(kdf).into_iter().next().unwrap_or_default()
}

/// The kinds of secrets that open a file, in JSON. A file of version 1 has one.
fn slots_json(kdf: &Kdf) -> Vec<Value> {
    slot_kinds(kdf)
        .iter()
        .map(|kind| match kind {
            SlotKind::Key => json!("key"),
            SlotKind::Passphrase(costs) => json!({
                "name": "argon2id", "memory_kib": costs.memory_kib, "passes": costs.passes,
                "lanes": costs.lanes,
            }),
            SlotKind::X25519 { .. } => json!("x25519"),
        })
        .collect()
}

/// The kinds of secrets that open a file.
fn slot_kinds(kdf: &Kdf) -> Vec<SlotKind> {
    match kdf {
        Kdf::RawKey => vec![SlotKind::Key],
        Kdf::Argon2id(argon2id) => vec![SlotKind::Passphrase(*argon2id)],
        Kdf::Slots(slots) => slots.kinds().cloned().collect(),
    }
}

/// Prints a line on standard output.
fn print(line: impl Display) -> Result<(), Error> {
    let printed = Output::standard()?.write_all(format!("{line}\n").as_bytes());
    printed.map_err(|error| Error::print(&error))
}

/// Reads the header of a file. If the file has no header, the error names the program that wrote it, if
/// that program is recognised.
fn read_header(input: &mut Input) -> Result<Header, Error> {
    let refusal = match Header::read(&mut *input) {
        Ok(header) => return Ok(header),
        Err(refusal) => refusal,
    };
    let mut start = [0; 32];
    let foreign = match refusal {
        Refusal::NotEncrypted | Refusal::TruncatedHeader | Refusal::BadHeader(_) if input.is_file() => {
            let read = input.rewind().and_then(|()| fill(input, &mut start));
            FOREIGN.iter().find(|(first, ..)| read.is_ok() && start.starts_with(first))
        }
        _ => None,
    };
    Err(match foreign {
        Some((_, what, tool)) => {
            Error::new(Exit::Corrupt, format!("{} is {what}: use `{tool}`", input.name()))
        }
        None => refused(input.name(), refusal),
    })
}

/// The error message for a file that the library refused. Errors of the cipher do not depend on the file.
fn refused(name: impl Display, refusal: Refusal) -> Error {
    let exit = match &refusal {
        Refusal::Io(error) => return Error::read(name, error),
        Refusal::OutOfMemory { .. } => Exit::InputOutput,
        Refusal::Cipher(refusal) => return Error::new(exit_of(refusal), refusal.to_string()),
        Refusal::NotEncrypted | Refusal::Version(_) => Exit::Corrupt,
        Refusal::BadHeader(_) | Refusal::ForgedHeader => Exit::Corrupt,
        Refusal::Damaged(Damage::Corrupt { .. }) => Exit::Corrupt,
        Refusal::Damaged(Damage::Truncated { .. }) | Refusal::TruncatedHeader => Exit::Truncated,
        _ => Exit::Usage,
    };
    let how = match refusal {
        Refusal::TooDemanding { .. } => " (--kdf-memory-max, --kdf-passes-max)",
        Refusal::NotEncrypted => " (decrypt --bare --suite)",
        Refusal::WantsKey => " (--key-file)",
        Refusal::WantsPassphrase => " (--passphrase)",
        Refusal::WantsIdentity => " (--identity)",
        _ => "",
    };
    Error::new(exit, format!("{name}: {refusal}{how}"))
}
