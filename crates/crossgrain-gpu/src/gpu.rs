//! An open device with its compiled programs, and the search for a device by its name.
//!
//! [`Gpu::run`] runs everything that a device executes: ciphers, key search, and the algorithms of
//! [`parallel`](super::parallel). It writes a program's state before the run and zeros after it, if the
//! device still responds. Round keys and kernel parameters are therefore on a device only during a run.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use crossgrain::engine::circuit::emit::Language;
use crossgrain::engine::device::{KEY_WORDS_MAX, Listing};
use zeroize::Zeroizing;

use super::measure::{self, Copies};
use super::parallel::{Launch, Wording};
use super::{Compiled, Device, Error, Info, Job, Memory, devices};

/// Maximum size of a program's state in words: all round keys with one word per bit, and a bit-sliced
/// counter.
pub(crate) const STATE_WORDS_MAX: usize = KEY_WORDS_MAX + 128;

/// An open device. Clones refer to the same device and share its programs.
#[derive(Clone)]
pub struct Gpu {
    open: Arc<Open>,
    launch: Launch,
}

struct Open {
    device: Box<dyn Device>,
    /// Compiled programs, by everything their texts depend on. Equal wordings share one program.
    programs: Mutex<HashMap<Wording, Loaded>>,
    /// A small buffer to bind for programs that read no source.
    nothing: Memory,
}

/// A program on a device. Runs of one program wait for each other because each run sets its state.
#[derive(Clone)]
pub(crate) struct Loaded(Arc<Mutex<Compiled>>);

impl Gpu {
    /// Wraps a device, with no compiled programs.
    ///
    /// # Errors
    /// If it has too little memory, is lost, or does not accept groups of 64 threads.
    pub fn new(device: Box<dyn Device>) -> Result<Self, Error> {
        let nothing = device.allocate(16)?;
        let open = Arc::new(Open { device, programs: Mutex::default(), nothing });
        Self { open, launch: Launch::default() }.started(Launch::default())
    }

    /// The same device with a different launch configuration for the kernels of
    /// [`parallel`](super::parallel).
    ///
    /// # Errors
    /// If the device does not accept this configuration.
    pub fn started(&self, launch: Launch) -> Result<Self, Error> {
        launch.check(self.info())?;
        Ok(Self { launch, ..self.clone() })
    }

    /// The underlying device.
    pub fn device(&self) -> &dyn Device {
        &*self.open.device
    }

    /// Properties of the device.
    pub fn info(&self) -> &Info {
        self.device().info()
    }

    /// The language of its programs.
    pub fn language(&self) -> Language {
        self.device().language()
    }

    /// Measures copies of `len_bytes` bytes to the device and back.
    ///
    /// # Errors
    /// If the device has too little memory or is lost.
    pub fn measure_copies(&self, len_bytes: usize) -> Result<Copies, Error> {
        measure::copies(self, len_bytes)
    }

    /// The launch configuration of kernels.
    pub(crate) const fn launch(&self) -> Launch {
        self.launch
    }

    /// Allocates at least `len_bytes` bytes, rounded up to a multiple of 16.
    pub(crate) fn allocate(&self, len_bytes: usize) -> Result<Memory, Error> {
        self.device().allocate(len_bytes.max(1).next_multiple_of(16))
    }

    /// Compiles a program that is not shared through the program table.
    pub(crate) fn compile(&self, listing: &Listing) -> Result<Loaded, Error> {
        Ok(Loaded(Arc::new(Mutex::new(self.device().compile(listing)?))))
    }

    /// The program with this wording. It is compiled at the first request.
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

    /// Runs a program with this state, which is overwritten with zeros afterwards. `source` is `None` for a
    /// program that reads none.
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
            // SAFETY: the caller meets the requirements of `Device::run`.
            return unsafe { device.run(&program, job, source, goal) };
        }
        device.set_state(&mut program, state)?;
        // SAFETY: the caller meets the requirements of `Device::run`.
        let done = unsafe { device.run(&program, job, source, goal) };
        let wiped = device.set_state(&mut program, &vec![0; state.len()]);
        // If both fail, the run's error is the more informative one.
        done.and_then(|time| wiped.map(|()| time))
    }

    /// Overwrites `len_bytes` bytes of memory with zeros. Errors are ignored: a lost device cannot be
    /// wiped.
    pub(crate) fn wipe(&self, memory: &mut Memory, len_bytes: usize) {
        let _ = self.device().upload(&vec![0; len_bytes], memory);
    }
}

impl fmt::Debug for Gpu {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Gpu({}, {:?})", self.info().id, self.launch)
    }
}

/// Words in the byte order of a device's memory: little-endian.
pub(crate) fn bytes_of(words: &[u32]) -> Zeroizing<Vec<u8>> {
    Zeroizing::new(words.iter().flat_map(|word| word.to_le_bytes()).collect())
}

/// Opens the device with this name (`cuda:0`). `gpu` opens the first one found, and a software device only
/// if there are no others.
///
/// # Errors
/// If the device does not exist, or cannot be opened.
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

/// Opens the device with this name.
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
