//! Parallel algorithms over kernels that are written once and run on CPUs and GPUs: [`transform`],
//! [`generate`], [`for_each_bundle`], [`reduce`], [`transform_reduce`], [`find`], [`count_if`],
//! [`min_element`], [`max_element`], [`copy_if`], [`inclusive_scan`], [`transform_scan`], [`gather`] and
//! [`sort_by_key`].
//!
//! A kernel is a function of elements ([`Map`]) or of their bits ([`BitMap`] in [`Bits`]), generic over
//! words. On a CPU it is compiled for each register width and runs in the widest registers available. On a
//! device its gates are traced and become a program.
//!
//! A [`Policy`] opens a [`Place`], which holds [`DeviceVec`]s. An algorithm runs where its elements are.
//! [`spread`] uses several places at once.
//!
//! An element is one or more 32-bit numbers. [`Element`] maps other types to them, and kernels use [`U64`],
//! [`F32`] and [`F64`] for 64-bit integers and floating-point numbers.
//!
//! An algorithm gives the same result at every place. A kernel that a device rejects is an
//! [`Error`](crate::Error).
//!
//! ```
//! use crossgrain_gpu::parallel::{DeviceVec, Lanes, Map, Policy, Sum, find, transform, transform_reduce};
//!
//! struct Square;
//!
//! impl Map<1, 1> for Square {
//!     #[inline(always)]
//!     fn map<W: Lanes>(&self, [x]: [W; 1]) -> [W; 1] {
//!         [x.multiply_lanes(x)]
//!     }
//! }
//!
//! let place = Policy::Auto.open()?;
//! let numbers = DeviceVec::from_slice(&place, &[[3], [4], [5]])?;
//! assert_eq!(transform(&Square, &numbers)?.to_vec()?, [[9], [16], [25]]);
//! assert_eq!(transform_reduce(&Square, &Sum, &numbers)?, [50]);
//! assert_eq!(find(&Square, place.indices(0..100)?)?, Some(1));
//! # Ok::<(), crossgrain_gpu::Error>(())
//! ```

#[cfg(feature = "device")]
mod aes;
mod algorithm;
#[cfg(feature = "device")]
mod blocks;
mod element;
mod elementary;
mod float;
#[cfg(feature = "device")]
mod functions;
mod host;
mod kernel;
mod launch;
#[cfg(feature = "device")]
mod on_device;
mod order;
mod ordered;
mod own;
mod policy;
#[cfg(feature = "recorded")]
mod recorded;
mod room;
mod scan;
#[cfg(feature = "device")]
mod serpent;
#[cfg(feature = "device")]
mod shape;
mod spread;
mod table;
#[cfg(feature = "device")]
mod text;
mod vector;
#[cfg(feature = "device")]
mod written;

pub use crossgrain::engine::arch::{Lanes, U64, Word};

#[cfg(feature = "device")]
pub use aes::AesBlocks;
pub use algorithm::{
    count_if, find, for_each_bundle, generate, reduce, transform, transform_into, transform_reduce,
};
pub use element::{Element, Of};
pub use float::{F32, F64, Float};
pub use kernel::{BitLoop, BitMap, Bits, Bundle, Combine, Loop, Map, MapLoop, Max, Min, Rounds, Sum};
pub use launch::Launch;
#[cfg(feature = "device")]
pub(crate) use launch::Span;
pub use order::{copy_if, gather, max_element, min_element, sort_by_key};
pub use policy::{Place, Policy};
#[cfg(feature = "recorded")]
pub use recorded::{Column, Recorded};
pub use scan::{inclusive_scan, transform_scan};
#[cfg(feature = "device")]
pub use serpent::SerpentBlocks;
#[cfg(feature = "device")]
pub(crate) use shape::Wording;
pub use spread::spread;
pub use table::look_up;
#[cfg(feature = "device")]
pub(crate) use text::{Part, Program, Reads, Sink};
pub use vector::{DeviceVec, View, zip};
#[cfg(feature = "device")]
pub(crate) use written::Written;
