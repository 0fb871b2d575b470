//! `crossgrain encrypt`, `decrypt`, `verify`, `inspect` and `keygen`: encrypted files, by `docs/format.md`.
//!
//! `flow` drives chunks through the pipeline, `keys` has the secrets and asks for them, `resume` goes on where an
//! earlier decryption ended; each command is a file.

mod args;
mod decrypt;
mod encrypt;
mod flow;
mod inspect;
mod keygen;
mod keys;
mod resume;

pub(crate) use args::{DecryptArgs, EncryptArgs, InspectArgs, KeygenArgs, VerifyArgs};
pub(crate) use decrypt::{decrypt, verify};
pub(crate) use encrypt::encrypt;
pub(crate) use inspect::inspect;
pub(crate) use keygen::keygen;

use std::fmt::Display;

use crossgrain_container::{Damage, Error as Refusal};

use crate::error::{Error, Exit, exit_of};

/// What the library refused of a file, as the user is told it. What the cipher refuses has nothing to do with the file.
fn refused(name: impl Display, refusal: Refusal) -> Error {
    let exit = match &refusal {
        Refusal::Io(error) => return Error::read(name, error),
        Refusal::OutOfMemory { .. } => Exit::InputOutput,
        Refusal::Cipher(refusal) => return Error::new(exit_of(refusal), refusal.to_string()),
        Refusal::NotEncrypted | Refusal::Version(_) | Refusal::BadHeader(_) => Exit::Corrupt,
        Refusal::Damaged(Damage::Corrupt { .. }) => Exit::Corrupt,
        Refusal::Damaged(Damage::Truncated { .. }) | Refusal::TruncatedHeader => Exit::Truncated,
        _ => Exit::Usage,
    };
    let how = match refusal {
        Refusal::TooDemanding { .. } => " (--kdf-memory-max, --kdf-passes-max)",
        Refusal::NotEncrypted => " (--bare --suite)",
        Refusal::WantsKey => " (--key-file)",
        Refusal::WantsPassphrase => " (--passphrase)",
        _ => "",
    };
    Error::new(exit, format!("{name}: {refusal}{how}"))
}
