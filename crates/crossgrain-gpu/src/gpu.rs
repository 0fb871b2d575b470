//! A device of whatever kind with the programs that were compiled for it, and how one is found by what was typed.
//!
//! All that runs on a device runs by [`Gpu::run`]: ciphers, key search, and the algorithms of [`parallel`](super::parallel).
//! Holds: a program has its state only while it runs, and then zeros, as far as the device still listens. So round keys,
//! and whatever a kernel is given, are on a device no longer than a run takes.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use crossgrain::internal::circuit::emit::Language;
use crossgrain::internal::device::{KEY_WORDS_MAX, Listing};
use zeroize::Zeroizing;

use super::measure::{self, Copies};
use super::parallel::{Launch, Wording};
use super::{Compiled, Device, Error, Info, Job, Memory, devices};

/// Most words of a program's state: a bit a word, all round keys of a cipher and a counter.
pub(crate) const STATE_WORDS_MAX: usize = KEY_WORDS_MAX + 128;

/// A device that is open. Copies of it are the same device, and share programs.
#[derive(Clone)]
pub struct Gpu {
    open: Arc<Open>,
    launch: Launch,
}

struct Open {
    device: Box<dyn Device>,
    /// By all that their texts depend on: what two programs were written alike of is one.
    programs: Mutex<HashMap<Wording, Loaded>>,
    /// What is bound where nothing is read.
    nothing: Memory,
}

/// A program for a device. Runs of it wait for each other, since each has state of its own.
#[derive(Clone)]
pub(crate) struct Loaded(Arc<Mutex<Compiled>>);

impl Gpu {
    /// A device, for which nothing was compiled yet.
    ///
    /// # Errors
    /// If it has no room, is lost, or takes no groups of 64 threads.
    pub fn new(device: Box<dyn Device>) -> Result<Self, Error> {
        let nothing = device.allocate(16)?;
        let open = Arc::new(Open { device, programs: Mutex::default(), nothing });
        Self { open, launch: Launch::default() }.started(Launch::default())
    }

    /// The same device, on which kernels of [`parallel`](super::parallel) are started so.
    ///
    /// # Errors
    /// If they cannot be started so.
    pub fn started(&self, launch: Launch) -> Result<Self, Error> {
        launch.check(self.info())?;
        Ok(Self { launch, ..self.clone() })
    }

    /// The device itself.
    pub fn device(&self) -> &dyn Device {
        &*self.open.device
    }

    /// What it is.
    pub fn info(&self) -> &Info {
        self.device().info()
    }

    /// What its programs are written in.
    pub fn language(&self) -> Language {
        self.device().language()
    }

    /// What it costs to bring so many bytes there and back.
    ///
    /// # Errors
    /// If the device has no room or is lost.
    pub fn measure_copies(&self, len_bytes: usize) -> Result<Copies, Error> {
        measure::copies(self, len_bytes)
    }

    /// How kernels are started.
    pub(crate) const fn launch(&self) -> Launch {
        self.launch
    }

    /// Memory for so many bytes or a few more.
    pub(crate) fn allocate(&self, len_bytes: usize) -> Result<Memory, Error> {
        self.device().allocate(len_bytes.max(1).next_multiple_of(16))
    }

    /// A program that nobody else runs.
    pub(crate) fn compile(&self, listing: &Listing) -> Result<Loaded, Error> {
        Ok(Loaded(Arc::new(Mutex::new(self.device().compile(listing)?))))
    }

    /// The program that is written so, which is done only if it was not before.
    pub(crate) fn program(&self, wording: Wording) -> Result<Loaded, Error> {
        let mut programs = self.open.programs.lock().unwrap_or_else(PoisonError::into_inner);
        match programs.entry(wording) {
            Entry::Occupied(known) => Ok(known.get().clone()),
            Entry::Vacant(new) => {
                let program = self.compile(&new.key().listing(self.language()))?;
                Ok(new.insert(program).clone())
            }
        }
    }

    /// Runs a program with these words of state, which are overwritten after. Without a source it reads none.
    ///
    /// # Errors
    /// As [`Device::run`], and if a memory is of a device of another kind.
    ///
    /// # Safety
    /// As [`Device::run`].
    pub(crate) unsafe fn run(
        &self,
        program: &Loaded,
        job: &Job,
        state: &[u32],
        source: Option<&Memory>,
        goal: &mut Memory,
    ) -> Result<Duration, Error> {
        let (device, source) = (self.device(), source.unwrap_or(&self.open.nothing));
        let mut program = program.0.lock().unwrap_or_else(PoisonError::into_inner);
        if state.is_empty() {
            // SAFETY: as the caller says.
            return unsafe { device.run(&program, job, source, goal) };
        }
        device.set_state(&mut program, state)?;
        // SAFETY: as the caller says.
        let done = unsafe { device.run(&program, job, source, goal) };
        let wiped = device.set_state(&mut program, &vec![0; state.len()]);
        // Why a run failed says more than that a lost device could not be wiped.
        done.and_then(|time| wiped.map(|()| time))
    }

    /// Overwrites memory of so many bytes. A device that does not listen any more cannot be helped.
    pub(crate) fn wipe(&self, memory: &mut Memory, len_bytes: usize) {
        let _ = self.device().upload(&vec![0; len_bytes], memory);
    }
}

impl fmt::Debug for Gpu {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Gpu({}, {:?})", self.info().id, self.launch)
    }
}

/// Words as they lie in a device's memory.
pub(crate) fn bytes_of(words: &[u32]) -> Zeroizing<Vec<u8>> {
    Zeroizing::new(words.iter().flat_map(|word| word.to_le_bytes()).collect())
}

/// The device of this name (`cuda:0`), or for `gpu` the first that there is, one in software only if there is no other.
///
/// # Errors
/// If there is none, or it cannot be opened.
pub fn choose(id: &str) -> Result<Gpu, Error> {
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
fn open(id: &str) -> Result<Gpu, Error> {
    let unknown = || {
        let told = "`crossgrain devices` lists those that are there";
        Error::NoDevice(format!("there is no device {id}: {told}"))
    };
    let (backend, number) = id.split_once(':').ok_or_else(unknown)?;
    #[cfg_attr(not(any(feature = "cuda", feature = "wgpu")), allow(unused_variables))]
    let number: usize = number.parse().map_err(|_| unknown())?;
    match backend {
        #[cfg(feature = "cuda")]
        "cuda" => Gpu::new(Box::new(super::cuda::CudaDevice::open(number)?)),
        #[cfg(feature = "wgpu")]
        "wgpu" => Gpu::new(Box::new(super::wgpu::WgpuDevice::open(number)?)),
        _ => Err(unknown()),
    }
}
