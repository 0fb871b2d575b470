//! Names that arguments of `search` take.

use clap::ValueEnum;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use crossgrain_search::Hash;
use crossgrain_search::format::{FORMATS, Format};

#[derive(Clone, Copy, Debug, PartialEq, ValueEnum)]
pub(super) enum FormName {
    /// One word per line
    Lines,
    /// One key in hex per line
    Hex,
    /// Keys one after the other, as bytes
    Raw,
}

#[derive(Clone, Copy, Debug, PartialEq, ValueEnum)]
pub(super) enum KdfName {
    /// The candidate is the key
    Exact,
    /// The candidate, followed by zeros
    Zeros,
    /// The candidate, repeated
    Repeat,
    /// The first bytes of its SHA-256
    Sha256,
    /// PBKDF2 with SHA-1
    Pbkdf2Sha1,
    /// PBKDF2 with SHA-256
    Pbkdf2Sha256,
    /// PBKDF2 with SHA-512
    Pbkdf2Sha512,
    Scrypt,
    Argon2id,
}

#[derive(Clone, Copy, Debug, PartialEq, ValueEnum)]
pub(super) enum LookName {
    /// Any bytes; for a file of openssl, whose padding rejects 255 of 256 wrong passphrases
    Any,
    /// Printable ASCII throughout
    Printable,
    /// Text in UTF-8
    Text,
    /// Beginning as common files do: PNG, JPEG, GIF, PDF, ZIP, gzip, bzip2, xz, zstd, 7z, ELF, SQLite
    File,
}

#[derive(Clone, Copy, Debug, PartialEq, ValueEnum)]
pub(super) enum HeaderName {
    /// At the beginning
    Outer,
    /// The header of a hidden volume
    Hidden,
    /// The copy near the end
    Backup,
    /// The copy of a hidden volume's header
    HiddenBackup,
    /// The header of an encrypted system drive
    System,
}

/// The formats of files, by name.
pub(super) fn formats() -> impl TypedValueParser<Value = &'static Format> {
    let names = FORMATS.iter().map(|format| PossibleValue::new(format.name).help(format.about));
    PossibleValuesParser::new(names).try_map(|name| Format::named(&name).ok_or("no such format"))
}

/// The hashes of key derivations, by name.
pub(super) fn hashes() -> impl TypedValueParser<Value = Hash> {
    let names = PossibleValuesParser::new(Hash::ALL.iter().map(|hash| hash.name()));
    names.try_map(|name| Hash::named(&name).ok_or("no such hash"))
}
