//! Computes whole blocks on the CPU or on a device, in pieces that fit its memory.
//!
//! A device that the user names is used, or the program fails. If a device chosen by `auto` fails, the CPU
//! computes the current chunk and all later ones. This is possible because a device either replaces a chunk
//! or leaves it unchanged.

#[cfg(feature = "gpu")]
mod gpu;
#[cfg(not(feature = "gpu"))]
mod none;

use std::str::FromStr;

use crossgrain::Key;
use crossgrain::engine::device::Kernel;
use crossgrain::plan::Place;
use crossgrain::plan::compose::Cost;

#[cfg(feature = "gpu")]
pub(crate) use gpu::{OnDevice, costs, quiet_drivers, searcher};
#[cfg(not(feature = "gpu"))]
pub(crate) use none::{OnDevice, costs, quiet_drivers, searcher};

use crate::error::{self, Error};
use crate::wisdom;

/// The value of `--device`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Asked {
    /// The fastest place.
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
    /// Whether the user named a device.
    pub(crate) const fn is_device(&self) -> bool {
        matches!(self, Self::Device(_))
    }

    /// The device for some work; `None` if the CPU computes it.
    ///
    /// # Errors
    /// If the named device does not exist or does not support the work.
    pub(crate) fn find(&self, wanted: &Wanted<'_>) -> Result<Option<OnDevice>, Error> {
        match self {
            Self::Cpu => Ok(None),
            Self::Auto => Ok(wanted.best_place().and_then(|place| OnDevice::of_plan(&place, wanted))),
            Self::Device(id) => OnDevice::named(id, wanted).map(Some),
        }
    }
}

/// A job that may run on a device.
pub(crate) struct Wanted<'a> {
    /// The programs that compute it. The first is used unless another is known to be cheaper.
    pub(crate) kernels: Vec<Kernel>,
    pub(crate) key: &'a Key,
    /// The length in bytes, if it is known.
    pub(crate) len_bytes: Option<u64>,
    /// The cost on one CPU thread, and the number of threads.
    pub(crate) cpu: (Cost, usize),
    /// Whether to print where the work is computed.
    pub(crate) explain: bool,
}

impl Wanted<'_> {
    /// The known costs of each program on each device.
    fn known(&self) -> impl Iterator<Item = (Kernel, Place)> {
        let places = move |&kernel: &Kernel| {
            let places = wisdom::places(self.key.cipher(), kernel);
            places.into_iter().map(move |place| (kernel, place))
        };
        self.kernels.iter().flat_map(places)
    }

    /// The program for a device: the cheapest per byte if that is known.
    #[cfg(feature = "gpu")]
    fn kernel_on(&self, id: &str) -> Option<Kernel> {
        let known = self.known().filter(|(_, place)| place.name == id);
        let per_byte_ns = |(_, place): &(Kernel, Place)| place.total().per_byte_ns;
        let cheapest = known.min_by(|a, b| per_byte_ns(a).total_cmp(&per_byte_ns(b)));
        cheapest.map(|(kernel, _)| kernel).or_else(|| self.kernels.first().copied())
    }

    /// The device with the least cost, if it is less than that of the CPU.
    fn best_place(&self) -> Option<Place> {
        let Some(len_bytes) = self.len_bytes else {
            return self.on_cpu("nobody knows how much there is to do");
        };
        let device_ns = |place: &Place| place.total().at(len_bytes);
        let places = self.known().map(|(_, place)| place);
        let Some(best) = places.min_by(|a, b| device_ns(a).total_cmp(&device_ns(b))) else {
            return self.on_cpu("no device's costs are known: `crossgrain devices --measure` measures them");
        };
        let (cost, threads) = self.cpu;
        let [cpu_ms, device_ms] = [cost.at(len_bytes) / threads as f64, device_ns(&best)].map(|ns| ns / 1e6);
        if device_ms < cpu_ms {
            return Some(best);
        }
        let name = &best.name;
        self.on_cpu(&format!("about {cpu_ms:.3} ms on {threads} threads, on {name} {device_ms:.3} ms"))
    }

    /// Prints the reason for staying on the CPU.
    fn on_cpu<T>(&self, why: &str) -> Option<T> {
        if self.explain {
            error::tell(&format!("device cpu: {why}"));
        }
        None
    }
}
