//! Where whole blocks are computed: on the CPU, or on a device, in pieces that fit its memory.
//!
//! Who asks for a device by name gets it or an error. Where `auto` chose one that then fails, the CPU computes the chunk in
//! hand and all that follow: a device replaces a chunk or leaves it as it was.

#[cfg(feature = "gpu")]
mod gpu;
#[cfg(not(feature = "gpu"))]
mod none;

use std::str::FromStr;

use crossgrain::Key;
use crossgrain::device::Kernel;

#[cfg(feature = "gpu")]
pub(crate) use gpu::OnDevice;
#[cfg(not(feature = "gpu"))]
pub(crate) use none::OnDevice;

use crate::error::Error;

/// What `--device` asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Asked {
    /// Whatever is fastest.
    Auto,
    /// The CPU.
    Cpu,
    /// A device by its name, or `gpu` for any.
    Device(String),
}

impl FromStr for Asked {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        let is_number = |text: &str| !text.is_empty() && text.chars().all(|digit| digit.is_ascii_digit());
        match (name, name.split_once(':')) {
            ("auto", _) => Ok(Self::Auto),
            ("cpu", _) => Ok(Self::Cpu),
            ("gpu", _) => Ok(Self::Device(name.to_owned())),
            (_, Some(("cuda" | "wgpu", number))) if is_number(number) => Ok(Self::Device(name.to_owned())),
            _ => Err("give auto, cpu, gpu, or a name that `crossgrain devices` lists".to_owned()),
        }
    }
}

impl Asked {
    /// Whether it is a device and nothing else.
    pub(crate) const fn is_device(&self) -> bool {
        matches!(self, Self::Device(_))
    }

    /// The device for some work; none where the CPU is to compute it.
    ///
    /// # Errors
    /// If a device was asked for that is not there, or does not take the work.
    pub(crate) fn find(&self, wanted: &Wanted<'_>) -> Result<Option<OnDevice>, Error> {
        match self {
            Self::Cpu => Ok(None),
            Self::Auto => Ok(OnDevice::fastest(wanted)),
            Self::Device(id) => OnDevice::named(id, wanted).map(Some),
        }
    }
}

/// Some work.
pub(crate) struct Wanted<'a> {
    pub(crate) kernel: Kernel,
    pub(crate) key: &'a Key,
    /// How much, if it is known.
    pub(crate) len_bytes: Option<u64>,
    /// Whether to tell where it is computed.
    pub(crate) explain: bool,
}
