//! ISA caps: names with which users limit the instructions that kernels may use.
//!
//! A cap is a base such as `avx2`, which allows all instructions of CPUs up to AVX2, followed by suffixes
//! such as `-aes`, which remove some.

use std::str::FromStr;
use std::sync::LazyLock;

use crate::arch::{CAP_VARIABLE, Features};
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
        let sse2 = Self::SSE2 | Self::AES | Self::GFNI | Self::CLMUL;
        let avx2 = sse2 | Self::AVX2 | Self::VAES | Self::VCLMUL;
        let mut words = cap.split('-');
        let mut features = match words.next() {
            Some("portable") => Self::NONE,
            Some("sse2") => sse2,
            Some("avx2") => avx2,
            Some("avx512") => avx2 | Self::AVX512 | Self::VBMI,
            _ => return Err(Error::BadIsaCap(cap.to_owned())),
        };
        for word in words {
            features = features.without(match word {
                "aes" => Self::AES | Self::VAES,
                "vaes" => Self::VAES,
                "gfni" => Self::GFNI,
                "vbmi" => Self::VBMI,
                "clmul" => Self::CLMUL | Self::VCLMUL,
                "vclmul" => Self::VCLMUL,
                _ => return Err(Error::BadIsaCap(cap.to_owned())),
            });
        }
        Ok(features)
    }
}
