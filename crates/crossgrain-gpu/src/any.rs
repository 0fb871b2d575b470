//! Devices of any kind behind one type, and how one is found by what was typed.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use crossgrain::Key;
use crossgrain::internal::circuit::emit::Language;
use crossgrain::internal::device::search::Search;
use crossgrain::internal::device::{Kernel, Listing};
use crossgrain::internal::part::search::Known;
use crossgrain_search::Table;

use super::measure::{self, Copies};
use super::parallel::{Grid, Launch, Programs};
use super::search::OnDevice;
use super::{Cipher, Device, Error, Info, devices};

/// A device of whatever kind.
pub trait Gpu: fmt::Debug + Send + Sync {
    /// What it is.
    fn info(&self) -> &Info;

    /// What it costs to bring so many bytes there and back.
    ///
    /// # Errors
    /// If the device has no room or is lost.
    fn measure_copies(&self, len_bytes: usize) -> Result<Copies, Error>;

    /// As a place for the vectors of [`parallel`](super::parallel), whose programs are started so.
    ///
    /// # Errors
    /// If they cannot be started so, or the device is lost.
    fn grid(self: Arc<Self>, launch: Launch) -> Result<Arc<dyn Grid>, Error>;

    /// A keyed cipher on it, by groups of so many threads.
    ///
    /// # Errors
    /// As [`Cipher::new`], and if the program or the device takes no such groups.
    fn cipher(
        self: Arc<Self>,
        kernel: Kernel,
        group_threads: u32,
        key: &Key,
    ) -> Result<Box<dyn Bulk>, Error> {
        let is_taken = kernel.takes_group(self.language(), group_threads);
        if !is_taken || group_threads > self.info().max_group_threads {
            return Err(Error::Group { threads: group_threads });
        }
        let listing = kernel.listing_in(self.language(), group_threads);
        // SAFETY: it is the program's own text.
        unsafe { self.cipher_listed(kernel, &listing, key) }
    }

    /// What its programs are written in.
    fn language(&self) -> Language;

    /// A keyed cipher by a program of which the text is somebody else's.
    ///
    /// # Errors
    /// As [`Cipher::listed`].
    ///
    /// # Safety
    /// As [`Cipher::listed`].
    unsafe fn cipher_listed(
        self: Arc<Self>,
        kernel: Kernel,
        listing: &Listing,
        key: &Key,
    ) -> Result<Box<dyn Bulk>, Error>;

    /// A table of keys on it, one after another, for a program that tries them.
    ///
    /// # Errors
    /// If the driver refuses the program, or the device has no room or is lost.
    fn search(self: Arc<Self>, program: Search, known: &Known, keys: &[u8]) -> Result<Box<dyn Table>, Error>;
}

/// A keyed cipher on a device of whatever kind.
pub trait Bulk: Send {
    /// As [`Cipher::piece_bytes`].
    fn piece_bytes(&self) -> usize;

    /// As [`Cipher::set_key`].
    ///
    /// # Errors
    /// As [`Cipher::set_key`].
    fn set_key(&mut self, key: &Key) -> Result<(), Error>;

    /// As [`Cipher::apply`].
    ///
    /// # Errors
    /// As [`Cipher::apply`].
    fn apply(&mut self, first: u128, data: &mut [u8]) -> Result<Duration, Error>;

    /// As [`Cipher::apply_at_once`].
    ///
    /// # Errors
    /// As [`Cipher::apply_at_once`].
    fn apply_at_once(&mut self, first: u128, data: &mut [u8]) -> Result<Duration, Error>;

    /// As [`Cipher::run`].
    ///
    /// # Errors
    /// As [`Cipher::run`].
    fn run(&mut self, first: u128, len_bytes: usize) -> Result<Duration, Error>;

    /// How long a run on so many bytes takes as the host sees it.
    ///
    /// # Errors
    /// As [`Cipher::run`].
    fn measure_run(&mut self, len_bytes: usize) -> Result<Duration, Error>;
}

impl<D> Gpu for D
where
    D: Device<Buffer: Send + Sync, Program: Send> + fmt::Debug + Send + Sync + 'static,
{
    fn info(&self) -> &Info {
        Device::info(self)
    }

    fn measure_copies(&self, len_bytes: usize) -> Result<Copies, Error> {
        measure::copies(self, len_bytes)
    }

    fn grid(self: Arc<Self>, launch: Launch) -> Result<Arc<dyn Grid>, Error> {
        Ok(Arc::new(Programs::new(self, launch)?))
    }

    fn language(&self) -> Language {
        D::LANGUAGE
    }

    unsafe fn cipher_listed(
        self: Arc<Self>,
        kernel: Kernel,
        listing: &Listing,
        key: &Key,
    ) -> Result<Box<dyn Bulk>, Error> {
        // SAFETY: as the caller says.
        Ok(Box::new(unsafe { Cipher::listed(&self, kernel, listing, key)? }))
    }

    fn search(self: Arc<Self>, program: Search, known: &Known, keys: &[u8]) -> Result<Box<dyn Table>, Error> {
        Ok(Box::new(OnDevice::new(&self, program, known, keys)?))
    }
}

impl<D> Bulk for Cipher<D>
where
    D: Device<Buffer: Send, Program: Send> + Send + Sync,
{
    fn piece_bytes(&self) -> usize {
        self.piece_bytes()
    }

    fn set_key(&mut self, key: &Key) -> Result<(), Error> {
        self.set_key(key)
    }

    fn apply(&mut self, first: u128, data: &mut [u8]) -> Result<Duration, Error> {
        self.apply(first, data)
    }

    fn apply_at_once(&mut self, first: u128, data: &mut [u8]) -> Result<Duration, Error> {
        self.apply_at_once(first, data)
    }

    fn run(&mut self, first: u128, len_bytes: usize) -> Result<Duration, Error> {
        self.run(first, len_bytes)
    }

    fn measure_run(&mut self, len_bytes: usize) -> Result<Duration, Error> {
        measure::fastest(|| self.run(0, len_bytes).map(drop))
    }
}

/// The device of this name (`cuda:0`), or for `gpu` the first that there is, one in software only if there is no other.
///
/// # Errors
/// If there is none, or it cannot be opened.
pub fn choose(id: &str) -> Result<Arc<dyn Gpu>, Error> {
    if id != "gpu" {
        return open(id);
    }
    let (mut found, mut missing) = (Vec::new(), Vec::new());
    for kind in devices() {
        match kind.devices {
            Ok(devices) => found.extend(devices),
            Err(error) => missing.push(format!("{}: {error}", kind.backend)),
        }
    }
    let first = found.iter().min_by_key(|info| info.is_software);
    first.map_or_else(|| Err(Error::NoDevice(missing.join("; "))), |info| open(&info.id))
}

/// The device of this name.
fn open(id: &str) -> Result<Arc<dyn Gpu>, Error> {
    let unknown = || {
        let told = "`crossgrain devices` lists those that are there";
        Error::NoDevice(format!("there is no device {id}: {told}"))
    };
    let (backend, number) = id.split_once(':').ok_or_else(unknown)?;
    #[cfg_attr(not(any(feature = "cuda", feature = "wgpu")), allow(unused_variables))]
    let number: usize = number.parse().map_err(|_| unknown())?;
    match backend {
        #[cfg(feature = "cuda")]
        "cuda" => Ok(Arc::new(super::cuda::CudaDevice::open(number)?)),
        #[cfg(feature = "wgpu")]
        "wgpu" => Ok(Arc::new(super::wgpu::WgpuDevice::open(number)?)),
        _ => Err(unknown()),
    }
}
