//! Runs crossgrain's ciphers on GPUs, as programs that the core generates as text.
//!
//! * [`Device`] is the interface to a GPU: allocate, copy, compile, run, time. It has two implementations.
//!   [`wgpu`] uses Vulkan, Metal or Direct3D 12. [`cuda`] uses NVIDIA's driver and run-time compiler. Both
//!   look for their libraries at run time.
//! * [`Gpu`] is an open device of either kind, with its compiled programs. Everything else runs on it:
//!   [`Cipher`], key search and [`parallel`]. A [`Cipher`] is a keyed cipher from host buffer to host
//!   buffer.
//!
//! Without the feature `device`, which `cuda` and `wgpu` include, only [`parallel`] is left, and it runs on
//! CPUs.
//!
//! A missing or lost device is an [`Error`], never a panic. This crate does not check a device's results.
//! Code that chooses a device by its speed must check it first, as `tests/agree.rs` does.
//!
//! Round keys on the device are overwritten after each run, and blocks when a [`Cipher`] is dropped, if the
//! device still responds. Copies that the driver makes cannot be controlled.

#[cfg(feature = "cuda")]
mod cache;
#[cfg(feature = "device")]
mod cipher;
#[cfg(feature = "cuda")]
pub mod cuda;
#[cfg(feature = "device")]
mod derive;
#[cfg(feature = "device")]
mod device;
mod error;
#[cfg(feature = "device")]
mod gpu;
#[cfg(feature = "device")]
mod measure;
pub mod parallel;
#[cfg(feature = "device")]
mod search;
#[cfg(feature = "device")]
mod tune;
#[cfg(feature = "wgpu")]
pub mod wgpu;

#[cfg(feature = "device")]
pub use cipher::Cipher;
#[cfg(feature = "device")]
pub use device::{Compiled, Device, Found, Info, Job, Memory, Units, devices};
pub use error::Error;
#[cfg(feature = "device")]
pub use gpu::{Gpu, choose};
#[cfg(feature = "device")]
pub use measure::Copies;
#[cfg(feature = "device")]
pub use tune::{best_group, best_launch};
