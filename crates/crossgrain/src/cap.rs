//! ISA caps: names with which users limit the instructions that kernels may use.
//!
//! A cap is a base such as `avx2`, which allows all instructions of CPUs up to AVX2, followed by suffixes
//! such as `-aes`, which remove some. Each machine has its own, in its folder under `arch`.

use std::str::FromStr;
use std::sync::LazyLock;

use crate::arch::{CAP_BASES, CAP_REMOVALS, CAP_VARIABLE, Features};
use crate::block::Error;

impl Features {
    /// The features of this CPU that were asked for. `None` asks for those that the environment allows.
    ///
    /// # Errors
    /// As [`Features::from_environment`].
    pub(crate) fn usable(asked: Option<Self>) -> Result<Self, Error> {
        asked.map_or_else(Self::from_environment, |asked| Ok(asked & Self::of_cpu()))
    }

    /// The features of this CPU that the environment variable `CROSSGRAIN_ISA` allows. A process reads it
    /// only once.
    ///
    /// # Errors
    /// [`Error::BadIsaCap`] if the variable cannot be parsed as a cap.
    pub fn from_environment() -> Result<Self, Error> {
        static ALLOWED: LazyLock<Result<Features, Error>> = LazyLock::new(|| {
            let cap = std::env::var_os(CAP_VARIABLE).filter(|cap| !cap.is_empty());
            let cap = cap.map(|cap| cap.to_string_lossy().parse::<Features>()).transpose()?;
            Ok(cap.map_or(Features::of_cpu(), |cap| cap & Features::of_cpu()))
        });
        match &*ALLOWED {
            Ok(allowed) => Ok(*allowed),
            Err(error) => Err(error.clone()),
        }
    }
}

impl FromStr for Features {
    type Err = Error;

    fn from_str(cap: &str) -> Result<Self, Error> {
        let unknown = || Error::BadIsaCap(cap.to_owned());
        let mut words = cap.split('-');
        let base = words.next().and_then(|word| meaning(&CAP_BASES, word)).ok_or_else(unknown)?;
        words.try_fold(base, |left, word| {
            meaning(&CAP_REMOVALS, word).map(|removed| left.without(removed)).ok_or_else(unknown)
        })
    }
}

/// The extensions that a word of a cap names.
fn meaning(known: &[(&str, Features)], word: &str) -> Option<Features> {
    known.iter().find(|(name, _)| *name == word).map(|(_, features)| *features)
}
