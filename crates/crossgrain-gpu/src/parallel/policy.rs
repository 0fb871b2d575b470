//! Execution policies and places.

use std::fmt;
use std::ops::Range;
use std::str::FromStr;
use std::sync::Arc;

use crossgrain::Features;

use super::vector::{LEN_MAX, View};
use crate::Error;
#[cfg(feature = "device")]
use crate::{Gpu, choose};

/// An execution policy: where algorithms run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Policy {
    /// One thread of the CPU.
    Seq,
    /// All threads of rayon's current pool.
    Par,
    /// The CUDA device with this number.
    Cuda(usize),
    /// The Vulkan, Metal or Direct3D 12 device with this number.
    Wgpu(usize),
    /// The first hardware GPU. Without one, the same as [`Policy::Par`].
    #[default]
    Auto,
}

impl Policy {
    /// Opens a place for vectors.
    ///
    /// # Errors
    /// If the device does not exist, or `CROSSGRAIN_ISA` is invalid.
    pub fn open(self) -> Result<Place, Error> {
        let kind = match self {
            Self::Seq | Self::Par => {
                let features = Features::from_environment();
                let features = features.map_err(|error| Error::NoDevice(error.to_string()))?;
                Kind::Host { features, is_parallel: self == Self::Par }
            }
            #[cfg(feature = "device")]
            Self::Cuda(_) | Self::Wgpu(_) => return Ok(Place::on(choose(&self.to_string())?)),
            #[cfg(not(feature = "device"))]
            Self::Cuda(_) | Self::Wgpu(_) => {
                return Err(Error::NoDevice("this build has no GPU support: choose seq or par".to_owned()));
            }
            #[cfg(feature = "device")]
            Self::Auto => match choose("gpu").ok().filter(|gpu| !gpu.info().is_software) {
                Some(gpu) => return Ok(Place::on(gpu)),
                None => return Self::Par.open(),
            },
            #[cfg(not(feature = "device"))]
            Self::Auto => return Self::Par.open(),
        };
        Ok(Place(Arc::new(kind)))
    }
}

impl fmt::Display for Policy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Seq => f.write_str("seq"),
            Self::Par => f.write_str("par"),
            Self::Cuda(number) => write!(f, "cuda:{number}"),
            Self::Wgpu(number) => write!(f, "wgpu:{number}"),
            Self::Auto => f.write_str("auto"),
        }
    }
}

impl FromStr for Policy {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self, Error> {
        let number = |prefix| name.strip_prefix(prefix).and_then(|number: &str| number.parse().ok());
        match name {
            "seq" => Ok(Self::Seq),
            "par" => Ok(Self::Par),
            "auto" => Ok(Self::Auto),
            _ => match (number("cuda:"), number("wgpu:")) {
                (Some(number), _) => Ok(Self::Cuda(number)),
                (_, Some(number)) => Ok(Self::Wgpu(number)),
                _ => {
                    let told = "give seq, par, auto, cuda:N or wgpu:N";
                    Err(Error::NoDevice(format!("{name:?} is no execution policy: {told}")))
                }
            },
        }
    }
}

/// A CPU or device that holds vectors and runs algorithms on them.
#[derive(Clone)]
pub struct Place(Arc<Kind>);

pub(super) enum Kind {
    Host {
        features: Features,
        is_parallel: bool,
    },
    #[cfg(feature = "device")]
    Device(Gpu),
}

impl Place {
    /// A place on an open device ([`choose`]).
    #[cfg(feature = "device")]
    pub fn on(gpu: Gpu) -> Self {
        Self(Arc::new(Kind::Device(gpu)))
    }

    /// The numbers of a range. They are computed and not stored. [`generate`](super::generate) uses them,
    /// and every other algorithm accepts them.
    ///
    /// # Errors
    /// If the range's end is less than its start, or greater than 2³¹.
    pub fn indices(&self, range: Range<usize>) -> Result<View<'_, 1>, Error> {
        if range.start > range.end || range.end > LEN_MAX {
            return Err(Error::Range { start: range.start, end: range.end, len: LEN_MAX });
        }
        Ok(View { place: self, stored: None, first: range.start, len: range.len() })
    }

    pub(super) fn kind(&self) -> &Kind {
        &self.0
    }

    pub(super) fn is(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl fmt::Debug for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.kind() {
            Kind::Host { features, is_parallel } => {
                write!(f, "Place(CPU, {features}, parallel: {is_parallel})")
            }
            #[cfg(feature = "device")]
            Kind::Device(gpu) => write!(f, "Place({})", gpu.info().id),
        }
    }
}
