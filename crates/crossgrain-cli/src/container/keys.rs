//! Secrets of files: prompted for at the terminal or read from a file, and overwritten when dropped.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use crossgrain::engine::wiping_stack;
use crossgrain_container::{Secret, Suite, fill};
use zeroize::Zeroizing;

use crate::error::Error;
use crate::input::{shown, standard_input};
use crate::output::apart;
use crate::secret;
use crate::system;

/// The maximum length of a passphrase in bytes.
const PASSPHRASE_BYTES_MAX: usize = 4096;

/// Where the key comes from.
#[derive(clap::Args)]
#[group(multiple = false)]
pub(super) struct KeyArgs {
    /// Ask for a passphrase, as is done unless another way is chosen
    #[arg(long)]
    passphrase: bool,

    /// A file whose first line is the passphrase
    #[arg(long, value_name = "FILE")]
    passphrase_file: Option<PathBuf>,

    /// An open file descriptor, the first line from which is the passphrase
    #[arg(long, value_name = "N")]
    passphrase_fd: Option<u32>,

    /// A file that holds the key, as it is or in hex, as made by `crossgrain keygen`
    #[arg(long, value_name = "FILE")]
    key_file: Option<PathBuf>,
}

/// A secret from the user.
pub(super) enum Known {
    Key(Zeroizing<Vec<u8>>),
    Passphrase(Zeroizing<String>),
}

impl Known {
    pub(super) fn secret(&self) -> Secret<'_> {
        match self {
            Self::Key(key) => Secret::Key(key),
            Self::Passphrase(passphrase) => Secret::Passphrase(passphrase.as_bytes()),
        }
    }
}

impl KeyArgs {
    /// Whether the secret is a key rather than a passphrase.
    pub(super) const fn is_key(&self) -> bool {
        self.key_file.is_some()
    }

    /// Refuses to overwrite the file that holds the secret.
    pub(super) fn apart_from(&self, output: &Path) -> Result<(), Error> {
        for (option, path) in [("--key-file", &self.key_file), ("--passphrase-file", &self.passphrase_file)] {
            apart((option, path.as_deref()), ("--output", Some(output)))?;
        }
        Ok(())
    }

    /// The key or passphrase for a file of this suite. A new passphrase is prompted for `twice`.
    ///
    /// Copies in registers and on the stack are overwritten. Libraries would otherwise take old stack contents into
    /// memory that they never wipe.
    pub(super) fn known(&self, suite: Suite, twice: bool) -> Result<Known, Error> {
        wiping_stack(|| self.read(suite, twice))
    }

    fn read(&self, suite: Suite, twice: bool) -> Result<Known, Error> {
        if let Some(path) = &self.key_file {
            let key = secret::key_from_file(&suite.to_string(), suite.key_bytes(), path)?;
            return Ok(Known::Key(key));
        }
        let passphrase = match (&self.passphrase_file, self.passphrase_fd) {
            (Some(path), _) => {
                first_line_of(File::open(path), &format!("passphrase file '{}'", shown(path)))?
            }
            // Opening it by name would read from the start of the file, and a later reader would read the
            // same bytes again.
            (None, Some(0)) => first_line_of(standard_input(), "file descriptor 0")?,
            (None, Some(number)) => {
                first_line_of(File::open(format!("/dev/fd/{number}")), &format!("file descriptor {number}"))?
            }
            (None, None) => asked(twice)?,
        };
        if passphrase.is_empty() {
            return Err(Error::usage("the passphrase is empty: choose one"));
        }
        Ok(Known::Passphrase(passphrase))
    }
}

/// Prompts at the terminal, even if standard input and output are redirected.
fn asked(twice: bool) -> Result<Zeroizing<String>, Error> {
    let ask = |prompt| {
        let answer = system::ask(prompt, |terminal| first_line(terminal, "the terminal"));
        answer.map_err(|_| {
            Error::usage(
                "there is no terminal to ask for a passphrase at: give --passphrase-file or --key-file",
            )
        })?
    };
    let passphrase = ask("Passphrase: ")?;
    if passphrase.is_empty() {
        return Err(Error::usage(
            "no passphrase was given: type one, or give --passphrase-file or --key-file",
        ));
    }
    if twice && *ask("The same again: ")? != *passphrase {
        return Err(Error::usage("the two passphrases differ: try again"));
    }
    Ok(passphrase)
}

/// The first line from a file, without its end.
fn first_line_of(file: io::Result<File>, name: &str) -> Result<Zeroizing<String>, Error> {
    let mut file = file.map_err(|error| Error::read(name, &error))?;
    let line = first_line(&mut file, name);
    system::leave(file);
    line
}

/// The first line, without its end.
fn first_line(input: &mut impl Read, name: &str) -> Result<Zeroizing<String>, Error> {
    let mut buffer = Zeroizing::new([0; PASSPHRASE_BYTES_MAX]);
    let mut len_bytes = 0;
    // Reads byte by byte up to the line end, because the bytes after it may be the data.
    while len_bytes < buffer.len() {
        let got =
            fill(input, &mut buffer[len_bytes..=len_bytes]).map_err(|error| Error::read(name, &error))?;
        if got == 0 || buffer[len_bytes] == b'\n' {
            break;
        }
        len_bytes += 1;
    }
    if len_bytes == buffer.len() {
        return Err(Error::usage(format!("the first line of {name} is no passphrase: it is too long")));
    }
    let line = &buffer[..len_bytes];
    // Some editors write a mark in front of UTF-8. It is not part of the passphrase.
    let line = line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(line);
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    let line = std::str::from_utf8(line).map_err(|_| {
        Error::usage(format!("the first line of {name} is no text: give a passphrase in UTF-8"))
    })?;
    Ok(Zeroizing::new(line.to_owned()))
}
