//! The instructions that the CPU has, as a set, and the cap on those that may be used.
//!
//! Each machine has its own extensions. Its folder has a file `features.rs`: the extensions, their names and
//! the caps.

use std::fmt;
use std::ops::{BitAnd, BitOr};
use std::sync::LazyLock;

use super::named;

/// The environment variable that caps the instructions in use, for example `portable`.
pub const CAP_VARIABLE: &str = "CROSSGRAIN_ISA";

/// A set of instruction-set extensions.
///
/// [`Features::NONE`] and [`Features::AES`] exist on every machine, and each further constant on one. A cap parses
/// into a set. On x86-64, `avx2` means everything up to AVX2, AES instructions included, and
/// `avx512-aes-gfni` means AVX-512 without AES instructions and without GFNI.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Features(u16);

impl Features {
    /// No extension: only the language's integers.
    pub const NONE: Self = Self(0);

    /// The extension with this number, 0 to 15.
    pub(super) const fn numbered(number: u32) -> Self {
        Self(1 << number)
    }

    /// The union of two sets.
    pub const fn with(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// The extensions of `self` that are not in `other`.
    pub const fn without(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }

    /// Whether `self` contains all of `other`.
    pub const fn contains(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    /// The extensions that this CPU has, regardless of the cap.
    pub fn of_cpu() -> Self {
        static FOUND: LazyLock<Features> = LazyLock::new(super::machine::detect_features);
        *FOUND
    }

    /// The extensions among those given that were found.
    #[allow(dead_code, reason = "a machine without registers detects nothing")]
    pub(super) fn found<const N: usize>(tried: [(Self, bool); N]) -> Self {
        tried.into_iter().filter(|(_, is_there)| *is_there).fold(Self::NONE, |all, (one, _)| all | one)
    }
}

/// The name that the CPU reports, or the architecture's name if it reports none.
pub fn cpu_model() -> String {
    super::machine::cpu_model().unwrap_or_else(|| std::env::consts::ARCH.to_owned())
}

/// How to write a cap on this machine, for a message about one that it does not have.
pub(crate) fn known_caps() -> String {
    let bases = named::CAP_BASES.map(|(name, _)| name.to_owned());
    let removals = named::CAP_REMOVALS.map(|(name, _)| format!("-{name}"));
    let example = format!("{}{}", bases[bases.len() - 1], removals[0]);
    let (bases, removals) = (alternatives(&bases), alternatives(&removals));
    format!("give {bases}, then {removals} to leave those instructions out, as in {example}")
}

/// Words as a list: `a, b or c`.
fn alternatives(words: &[String]) -> String {
    match words.split_last() {
        Some((last, rest)) if !rest.is_empty() => format!("{} or {last}", rest.join(", ")),
        _ => words.concat(),
    }
}

impl BitOr for Features {
    type Output = Self;

    fn bitor(self, other: Self) -> Self {
        self.with(other)
    }
}

impl BitAnd for Features {
    type Output = Self;

    fn bitand(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }
}

impl fmt::Display for Features {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<_> = named::NAMES
            .into_iter()
            .filter(|(feature, _)| self.contains(*feature))
            .map(|(_, name)| name)
            .collect();
        f.pad(&if names.is_empty() { "portable".to_owned() } else { names.join(" ") })
    }
}

impl fmt::Debug for Features {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Features({self})")
    }
}
