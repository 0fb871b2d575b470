//! Secrets of encrypted files as Python gives them, and what opens a new file. All copies are overwritten when
//! dropped; Python's own objects are not.

use std::collections::HashSet;
use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};

use crossgrain::engine::{auxiliary, wiping_stack};
use crossgrain::mode::Options;
use crossgrain_container::{
    Argon2id, Encryptor, Error as Refusal, Header, IDENTITY_FILE_BYTES_MAX, Identity, Lock, Recipient,
    Secret, Suite, fill, identities_from_file, recipients_from_file,
};
use pyo3::prelude::*;
use pyo3::types::PyString;
use zeroize::Zeroizing;

use crate::Error;
use crate::buffer::taken;
use crate::files::{refused, told};

/// The most bytes that are read of a file of recipients.
const RECIPIENTS_BYTES_MAX: u64 = 16 << 20;

/// The secret of a file.
pub(crate) enum Known {
    Key(Zeroizing<Vec<u8>>),
    Passphrase(Zeroizing<Vec<u8>>),
    Identities(Vec<Identity>),
}

impl Known {
    /// The secret in a pair of its kind and its value: bytes, or a list of identities.
    pub(crate) fn of(pair: &Bound<'_, PyAny>) -> PyResult<Self> {
        let (kind, value): (String, Bound<'_, PyAny>) = pair.extract()?;
        Ok(match &*kind {
            "key" => Self::Key(taken(&value, "key")?),
            "passphrase" => Self::Passphrase(taken(&value, "passphrase")?),
            _ => Self::Identities(identities(&value)?),
        })
    }

    pub(crate) fn secret(&self) -> Secret<'_> {
        match self {
            Self::Key(key) => Secret::Key(key),
            Self::Passphrase(passphrase) => Secret::Passphrase(passphrase),
            Self::Identities(identities) => Secret::Identities(identities),
        }
    }

    /// The threads for opening a file. Argon2id runs its lanes on threads whatever number the caller gave for
    /// the rest. They must be those of this process's pool: the threads of a parent that forked this process
    /// do not exist here.
    pub(crate) const fn deriving_threads(&self, threads: usize) -> usize {
        if let Self::Passphrase(_) = self { 0 } else { threads }
    }
}

/// The secrets that open a new file: a key or a passphrase, recipients, or both.
pub(crate) struct Locks {
    own: Option<Known>,
    recipients: Vec<Recipient>,
}

impl Locks {
    /// `own` is a pair as of [`Known::of`], or None; `recipients` is a list of texts and paths. Each recipient
    /// counts once.
    pub(crate) fn of(own: &Bound<'_, PyAny>, recipients: &Bound<'_, PyAny>) -> PyResult<Self> {
        let own = if own.is_none() { None } else { Some(Known::of(own)?) };
        if matches!(&own, Some(Known::Passphrase(passphrase)) if passphrase.is_empty()) {
            return Err(Error::new_err("the passphrase is empty: choose one"));
        }
        let mut all = Vec::new();
        for recipient in recipients.try_iter()? {
            let recipient = recipient?;
            match recipient.cast::<PyString>() {
                Ok(text) => all.push(text.to_str()?.parse().map_err(|refusal| refused(refusal, None))?),
                Err(_) => all.extend(recipients_of_file(recipient.extract()?)?),
            }
        }
        let mut known = HashSet::new();
        all.retain(|recipient| known.insert(*recipient));
        Ok(Self { own, recipients: all })
    }

    /// As [`Known::deriving_threads`].
    pub(crate) fn deriving_threads(&self, threads: usize) -> usize {
        self.own.as_ref().map_or(threads, |own| own.deriving_threads(threads))
    }

    /// Begins a file. One under a single key has version 1 of the format, every other version 2.
    pub(crate) fn begin<W: Write>(
        &self,
        output: W,
        suite: Suite,
        options: &Options,
    ) -> Result<Encryptor<W>, Refusal> {
        let own = match &self.own {
            Some(Known::Key(key)) if self.recipients.is_empty() => {
                return Encryptor::new(output, &Header::of_key(suite), Secret::Key(key), options);
            }
            Some(Known::Key(key)) => Some(Lock::Key(key)),
            Some(Known::Passphrase(passphrase)) => Some(Lock::Passphrase(passphrase, Argon2id::fresh()?)),
            Some(Known::Identities(_)) | None => None,
        };
        let recipients = self.recipients.iter().copied().map(Lock::Recipient);
        Encryptor::locked(output, suite, &own.into_iter().chain(recipients).collect::<Vec<_>>(), options)
    }
}

/// The identities in a list of texts and paths.
fn identities(list: &Bound<'_, PyAny>) -> PyResult<Vec<Identity>> {
    let mut all = Vec::new();
    for one in list.try_iter()? {
        let one = one?;
        match one.cast::<PyString>() {
            Ok(text) => all.push(identity(text)?),
            Err(_) => all.extend(identities_of_file(one.extract()?)?),
        }
    }
    Ok(all)
}

fn identity(text: &Bound<'_, PyString>) -> PyResult<Identity> {
    text.to_str()?.parse().map_err(|refusal| refused(refusal, None))
}

fn identities_of_file(path: PathBuf) -> PyResult<Vec<Identity>> {
    let mut buffer = Zeroizing::new(vec![0; IDENTITY_FILE_BYTES_MAX]);
    let read = File::open(&path).and_then(|mut file| fill(&mut file, &mut buffer));
    let len_bytes = read.map_err(|error| told(error, &path))?;
    wiping_stack(|| identities_from_file(&buffer[..len_bytes])).map_err(|why| of_file(&path, &why))
}

fn recipients_of_file(path: PathBuf) -> PyResult<Vec<Recipient>> {
    let content = auxiliary::read(&path, RECIPIENTS_BYTES_MAX).map_err(|error| told(error, &path))?;
    recipients_from_file(&content).map_err(|why| of_file(&path, &why))
}

fn of_file(path: &Path, why: &str) -> PyErr {
    Error::new_err(format!("{} {why}", path.display()))
}

/// A random identity, as text.
#[pyfunction]
pub(crate) fn generate_identity<'py>(py: Python<'py>) -> PyResult<Bound<'py, PyString>> {
    let identity = Identity::generate().map_err(|refusal| refused(refusal, None))?;
    Ok(PyString::new(py, &identity.to_text()))
}

/// The recipient of an identity.
#[pyfunction]
pub(crate) fn recipient_of(text: &Bound<'_, PyString>) -> PyResult<String> {
    Ok(identity(text)?.recipient().to_string())
}
