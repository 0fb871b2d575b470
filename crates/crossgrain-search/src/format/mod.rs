//! Formats of encrypted files: how a passphrase becomes a key, and how the right key is recognised.
//!
//! A row of [`FORMATS`] describes one format, and each format has one file in this folder. A format reads the
//! header of a file and returns a [`Kdf`] and a [`Test`] for keys. The search treats them like any other
//! derivation and test, so derivations with lanes run on lanes.
//!
//! Files are hostile input: a format checks every length before it allocates or seeks, and limits the memory of
//! a derivation. Other errors than those of reading are one line with the problem and the remedy.

#[cfg(feature = "age")]
mod age;
#[cfg(feature = "luks")]
mod luks;
#[cfg(feature = "openssl")]
mod openssl;
mod own;
#[cfg(feature = "luks")]
mod sectors;
#[cfg(feature = "veracrypt")]
mod veracrypt;
#[cfg(feature = "zip")]
mod zip;

use std::fmt;
use std::io::{Read, Seek, SeekFrom};

use super::{Error, Hash, Kdf, Known, Look, Search, Test};
use crossgrain::Cipher;
use crossgrain::mode::Mode;

/// Bytes at the beginning of a file that are enough to recognise its format.
const BEGINNING_BYTES: usize = 64;

/// A file or device with random access.
pub trait Source: Read + Seek + Send {}

impl<T: Read + Seek + Send> Source for T {}

/// A format of encrypted files.
pub struct Format {
    /// Its name.
    pub name: &'static str,
    /// The files, in one line.
    pub about: &'static str,
    /// The names of the [`Details`] that it uses.
    takes: &'static [&'static str],
    /// Whether the first bytes of a file are those of the format. They are fewer if the file is shorter.
    is_it: fn(&[u8]) -> bool,
    read: fn(Box<dyn Source>, &Details) -> Result<Locked, Error>,
}

/// All formats of this build, in the order in which they are recognised.
pub const FORMATS: &[Format] = &[
    own::FORMAT,
    #[cfg(feature = "openssl")]
    openssl::FORMAT,
    #[cfg(feature = "luks")]
    luks::FORMAT,
    #[cfg(feature = "zip")]
    zip::FORMAT,
    #[cfg(feature = "age")]
    age::FORMAT,
    #[cfg(feature = "veracrypt")]
    veracrypt::VERACRYPT,
    #[cfg(feature = "veracrypt")]
    veracrypt::TRUECRYPT,
];

/// Facts about a file that its header does not contain. `None` and `false` mean that the user gave none.
#[derive(Clone, Debug, Default)]
pub struct Details {
    /// The cipher.
    pub cipher: Option<Cipher>,
    /// The mode of operation.
    pub mode: Option<Mode>,
    /// The hash of the key derivation.
    pub hash: Option<Hash>,
    /// Whether the key derivation is PBKDF2.
    pub is_pbkdf2: bool,
    /// Iterations of PBKDF2.
    pub iterations: Option<u32>,
    /// The personal iterations multiplier of VeraCrypt.
    pub pim: Option<u32>,
    /// The key slot.
    pub slot: Option<u32>,
    /// The header, if a file has several.
    pub header: Option<HeaderPlace>,
    /// The first bytes of the plaintext, and a mask of their known bits. Both have the same length.
    pub plaintext: Option<(Vec<u8>, Vec<u8>)>,
    /// The form of the plaintext.
    pub look: Option<Look>,
}

/// One of the headers of a VeraCrypt volume.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HeaderPlace {
    /// At the beginning.
    Outer,
    /// The header of a hidden volume.
    Hidden,
    /// The copy of the first header, near the end.
    Backup,
    /// The copy of a hidden volume's header.
    HiddenBackup,
    /// The header of an encrypted system drive.
    System,
}

/// A file whose header was read.
pub struct Locked {
    /// The derivation of a key from a passphrase.
    pub kdf: Kdf,
    /// The test that recognises the key.
    pub test: Box<dyn Test>,
    /// How often wrong passphrases fit, in one line, if that is often. The search should report all that fit.
    pub doubt: Option<String>,
    /// Advice if no passphrase fits, in one line.
    pub advice: Option<String>,
}

impl Format {
    /// The format of this name.
    pub fn named(name: &str) -> Option<&'static Self> {
        FORMATS.iter().find(|format| format.name == name)
    }

    /// The names of all formats, for messages.
    pub fn names() -> String {
        FORMATS.iter().map(|format| format.name).collect::<Vec<_>>().join(", ")
    }

    /// The format of a file, by its first bytes. The position of the file is its beginning afterwards.
    ///
    /// VeraCrypt and TrueCrypt headers look like random data, so they are not recognised.
    ///
    /// # Errors
    /// [`Error::Format`] if no format is recognised, [`Error::ReadFile`] if the file cannot be read.
    pub fn detect(source: &mut dyn Source) -> Result<&'static Self, Error> {
        let mut beginning = Vec::new();
        source.take(BEGINNING_BYTES as u64).read_to_end(&mut beginning).map_err(Error::ReadFile)?;
        source.seek(SeekFrom::Start(0)).map_err(Error::ReadFile)?;
        let found = FORMATS.iter().find(|format| (format.is_it)(&beginning));
        found.ok_or_else(|| Error::Format {
            why: format!("its first bytes tell no known format: name it ({})", Self::names()),
        })
    }

    /// Reads the header of a file of this format.
    ///
    /// # Errors
    /// [`Error::Format`] if the file has another format, is damaged or not supported, or if the format has no
    /// use for one of the details; [`Error::ReadFile`] if the file cannot be read.
    pub fn read(&self, source: impl Source + 'static, details: &Details) -> Result<Locked, Error> {
        if let Some(extra) = details.given().find(|name| !self.takes.contains(name)) {
            let why = format!("a file of the format {} has no use for {extra}: leave it out", self.name);
            return Err(Error::Format { why });
        }
        (self.read)(Box::new(source), details)
    }
}

impl Details {
    /// The names of the details that are given: those of the options of the command line.
    fn given(&self) -> impl Iterator<Item = &'static str> {
        let given = [
            ("--cipher", self.cipher.is_some()),
            ("--mode", self.mode.is_some()),
            ("--hash", self.hash.is_some()),
            ("--pbkdf2", self.is_pbkdf2),
            ("--iterations", self.iterations.is_some()),
            ("--pim", self.pim.is_some()),
            ("--slot", self.slot.is_some()),
            ("--header", self.header.is_some()),
            ("--plain", self.plaintext.is_some()),
            ("--looks", self.look.is_some()),
        ];
        given.into_iter().filter(|(_, is_given)| *is_given).map(|(name, _)| name)
    }
}

impl Locked {
    /// A file whose key is recognised with certainty.
    fn certain(kdf: Kdf, test: impl Test + 'static) -> Self {
        Self { kdf, test: Box::new(test), doubt: None, advice: None }
    }

    /// The search for the passphrase.
    ///
    /// # Errors
    /// As [`Search::new`].
    pub fn search(self) -> Result<Search, Error> {
        Search::new(Known::Test(self.test), self.kdf)
    }
}

/// The header is damaged.
#[cfg(any(feature = "age", feature = "luks", feature = "openssl", feature = "veracrypt", feature = "zip"))]
fn damaged(what: impl fmt::Display) -> Error {
    Error::Format { why: format!("the file is damaged ({what}): take another copy of it") }
}

/// The file uses something that this tree does not have.
#[cfg(any(feature = "age", feature = "luks", feature = "openssl", feature = "veracrypt", feature = "zip"))]
fn unsupported(what: impl fmt::Display) -> Error {
    Error::Format { why: format!("{what} is not supported: use another tool for this file") }
}

/// Reads bytes at an offset. A file that ends earlier is damaged.
#[cfg(any(feature = "luks", feature = "openssl", feature = "veracrypt", feature = "zip"))]
fn read_at(source: &mut dyn Source, from: u64, bytes: &mut [u8]) -> Result<(), Error> {
    if i64::try_from(from).is_err() {
        return Err(damaged("it names a place that no file has"));
    }
    let read = source.seek(SeekFrom::Start(from)).and_then(|_| source.read_exact(bytes));
    read.map_err(|error| match error.kind() {
        std::io::ErrorKind::UnexpectedEof => damaged("it ends too early"),
        _ => Error::ReadFile(error),
    })
}

impl fmt::Debug for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Format({})", self.name)
    }
}

impl fmt::Debug for Locked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Locked({:?}, {})", self.kdf, self.test.name())
    }
}
