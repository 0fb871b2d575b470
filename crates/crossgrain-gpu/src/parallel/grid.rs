//! A device of whatever kind as the algorithms see it: memory, and programs that are compiled once.

use std::any::Any;
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::{Arc, Mutex, PoisonError};

use crossgrain::internal::circuit::emit::Language;
use crossgrain::internal::device::Listing;

use super::launch::Launch;
use crate::{Device, Error, Info, Job};

/// Memory of some device.
pub type Memory = Box<dyn Any + Send + Sync>;

/// A device of whatever kind.
pub trait Grid: Send + Sync {
    /// What it is.
    fn info(&self) -> &Info;

    /// What its programs are written in.
    fn language(&self) -> Language;

    /// How they are started.
    fn launch(&self) -> Launch;

    /// Memory for so many bytes.
    ///
    /// # Errors
    /// As [`Device::allocate`].
    fn allocate(&self, len_bytes: usize) -> Result<Memory, Error>;

    /// As [`Device::upload`].
    ///
    /// # Errors
    /// As [`Device::upload`], and if the memory is another device's.
    fn upload(&self, bytes: &[u8], to: &mut Memory) -> Result<(), Error>;

    /// As [`Device::download`].
    ///
    /// # Errors
    /// As [`Device::download`], and if the memory is another device's.
    fn download(&self, from: &Memory, bytes: &mut [u8]) -> Result<(), Error>;

    /// Runs the program that is known by `key`, or else `listing` makes. Without a source it reads none. The words of its state are
    /// overwritten when it has run.
    ///
    /// # Errors
    /// As [`Device::compile`] and [`Device::run`], and if a memory is another device's.
    ///
    /// # Safety
    /// As [`Device::run`]; what is known by `key` must be what `listing` makes.
    unsafe fn run(
        &self,
        key: &str,
        listing: &dyn Fn() -> Listing,
        job: &Job,
        state: &[u32],
        source: Option<&Memory>,
        goal: &mut Memory,
    ) -> Result<(), Error>;
}

/// A device and what was compiled for it.
pub(crate) struct Programs<D: Device> {
    device: Arc<D>,
    launch: Launch,
    programs: Mutex<HashMap<String, D::Program>>,
    /// What is bound where nothing is read.
    nothing: D::Buffer,
}

impl<D: Device> Programs<D> {
    pub(crate) fn new(device: Arc<D>, launch: Launch) -> Result<Self, Error> {
        launch.check(device.info())?;
        let nothing = device.allocate(16)?;
        Ok(Self { device, launch, programs: Mutex::default(), nothing })
    }
}

impl<D> Grid for Programs<D>
where
    D: Device<Buffer: Send + Sync + 'static, Program: Send> + Send + Sync,
{
    fn info(&self) -> &Info {
        self.device.info()
    }

    fn language(&self) -> Language {
        D::LANGUAGE
    }

    fn launch(&self) -> Launch {
        self.launch
    }

    fn allocate(&self, len_bytes: usize) -> Result<Memory, Error> {
        let len_bytes = len_bytes.max(1).next_multiple_of(16);
        Ok(Box::new(self.device.allocate(len_bytes)?))
    }

    fn upload(&self, bytes: &[u8], to: &mut Memory) -> Result<(), Error> {
        self.device.upload(bytes, to.downcast_mut().ok_or(Error::Place)?)
    }

    fn download(&self, from: &Memory, bytes: &mut [u8]) -> Result<(), Error> {
        self.device.download(from.downcast_ref().ok_or(Error::Place)?, bytes)
    }

    unsafe fn run(
        &self,
        key: &str,
        listing: &dyn Fn() -> Listing,
        job: &Job,
        state: &[u32],
        source: Option<&Memory>,
        goal: &mut Memory,
    ) -> Result<(), Error> {
        let source = match source {
            Some(source) => source.downcast_ref().ok_or(Error::Place)?,
            None => &self.nothing,
        };
        let goal = goal.downcast_mut().ok_or(Error::Place)?;
        let mut programs = self.programs.lock().unwrap_or_else(PoisonError::into_inner);
        let program = match programs.entry(key.to_owned()) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(new) => new.insert(self.device.compile(&listing())?),
        };
        if !state.is_empty() {
            self.device.set_keys(program, state)?;
        }
        // SAFETY: as the caller says.
        let done = unsafe { self.device.run(program, job, source, goal) };
        if !state.is_empty() {
            self.device.set_keys(program, &vec![0; state.len()])?;
        }
        done.map(drop)
    }
}
