//! Argument types that several commands share: ciphers, modes, policies, efforts, and plans in files.

use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use crossgrain::Cipher;
use crossgrain::Error as Refusal;
use crossgrain::Policy;
use crossgrain::engine::text::quoted;
use crossgrain::engine::tune::Effort;
use crossgrain::mode::Mode;
use crossgrain::plan::Plans;
use crossgrain::wide::Rijndael;

use crate::error::{Error, Exit};
use crate::input::{read_small, shown};

pub(crate) fn ciphers() -> impl TypedValueParser<Value = Cipher> {
    PossibleValuesParser::new(Cipher::ALL.map(Cipher::name)).try_map(|name| name.parse::<Cipher>())
}

/// A cipher with any block size.
#[derive(Clone, Copy, Debug)]
pub(crate) enum AnyCipher {
    /// Blocks of 16 bytes.
    Usual(Cipher),
    /// Wider ones.
    Wide(Rijndael),
}

impl AnyCipher {
    /// All ciphers, in the order of lists.
    pub(crate) fn all() -> impl DoubleEndedIterator<Item = Self> {
        Cipher::ALL.into_iter().map(Self::Usual).chain(Rijndael::ALL.into_iter().map(Self::Wide))
    }

    /// The name that users type.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Usual(cipher) => cipher.name(),
            Self::Wide(cipher) => cipher.name(),
        }
    }

    /// Bytes in a key.
    pub(crate) const fn key_bytes(self) -> usize {
        match self {
            Self::Usual(cipher) => cipher.key_bytes(),
            Self::Wide(cipher) => cipher.key_bytes(),
        }
    }
}

pub(crate) fn any_ciphers() -> impl TypedValueParser<Value = AnyCipher> {
    PossibleValuesParser::new(AnyCipher::all().map(AnyCipher::name)).try_map(|name| {
        let usual = name.parse().map(AnyCipher::Usual);
        usual.or_else(|_| name.parse().map(AnyCipher::Wide))
    })
}

pub(crate) fn modes() -> impl TypedValueParser<Value = Mode> {
    let modes = Mode::ALL.map(|mode| PossibleValue::new(mode.name()).help(mode.entry().summary));
    PossibleValuesParser::new(modes).try_map(|name| name.parse::<Mode>())
}

pub(crate) fn policies() -> impl TypedValueParser<Value = Policy> {
    PossibleValuesParser::new(Policy::ALL.map(Policy::name)).try_map(|name| name.parse::<Policy>())
}

pub(crate) fn efforts() -> impl TypedValueParser<Value = Effort> {
    PossibleValuesParser::new(Effort::ALL.map(Effort::name)).try_map(|name| name.parse::<Effort>())
}

/// The plans in a file that `plan --save` wrote.
pub(crate) fn plans(path: &Path) -> Result<Arc<Plans>, Error> {
    let bytes = read_small(path)?;
    let refused = |refusal: Refusal| {
        let exit = if matches!(refusal, Refusal::CorruptPlan(_)) { Exit::Corrupt } else { Exit::Usage };
        Error::new(exit, format!("{}: {refusal}", shown(path)))
    };
    let text = String::from_utf8(bytes).map_err(|_| refused(Refusal::CorruptPlan("it is no text".into())))?;
    text.parse::<Plans>().map(Arc::new).map_err(refused)
}

/// A number of bytes: digits, and K, M, G or T for powers of 1024 (also KiB), or KB, MB, GB or TB for powers
/// of 1000.
pub(crate) fn size<T: TryFrom<u128>>(text: &str) -> Result<T, String> {
    size_by(text, 1, "give a number of bytes such as 65536, 64K, 1M or 10GB")
}

/// An amount of memory in KiB, with the suffixes of [`size`]. A number alone counts MiB.
pub(crate) fn memory_in_mib(text: &str) -> Result<u32, String> {
    memory(text, 1 << 20, "give a size such as 64MiB, 512K or 1GiB, or a number of MiB")
}

/// The same, but a number alone counts KiB.
pub(crate) fn memory_in_kib(text: &str) -> Result<u32, String> {
    memory(text, 1 << 10, "give a size such as 64MiB, 512K or 1GiB, or a number of KiB")
}

fn memory(text: &str, bare: u128, how: &str) -> Result<u32, String> {
    let bytes: u64 = size_by(text, bare, how)?;
    match u32::try_from(bytes >> 10) {
        Ok(1..) if !bytes.is_multiple_of(1024) => Err(format!("it is no whole number of KiB: {how}")),
        Ok(memory_kib @ 1..) => Ok(memory_kib),
        Ok(0) => Err(format!("it is less than 1 KiB: {how}")),
        Err(_) => Err(format!("it is more than 4 TiB: {how}")),
    }
}

/// A size in bytes. A number without a suffix counts units of `bare` bytes; `how` is the remedy in messages.
fn size_by<T: TryFrom<u128>>(text: &str, bare: u128, how: &str) -> Result<T, String> {
    let end = text.find(|character: char| !character.is_ascii_digit()).unwrap_or(text.len());
    let (digits, unit) = text.split_at(end);
    let mut letters = unit.chars();
    let power = match letters.next().map(|letter| letter.to_ascii_uppercase()) {
        None => 0,
        Some(letter) => 1 + "KMGT".find(letter).ok_or(how)? as u32,
    };
    let step: u128 = match letters.as_str() {
        "" | "iB" => 1024,
        "B" => 1000,
        _ => return Err(how.to_owned()),
    };
    let unit = if power == 0 { bare } else { step.pow(power) };
    let count = digits.parse::<u128>().ok().and_then(|count| count.checked_mul(unit)).ok_or(how)?;
    T::try_from(count).map_err(|_| format!("{} is more than can be: {how}", quoted(text)))
}

/// Nanoseconds since this was called.
pub(crate) fn clock_ns() -> impl Fn() -> u64 {
    let start = Instant::now();
    move || u64::try_from(start.elapsed().as_nanos()).unwrap_or(u64::MAX)
}
