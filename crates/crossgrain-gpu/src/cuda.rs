//! NVIDIA GPUs through CUDA. Programs are CUDA C, which NVIDIA's run-time compiler (NVRTC) translates to
//! PTX.
//!
//! The driver and the compiler are loaded at run time. `count` first checks that both are present, because
//! the binding crate `cudarc` panics if they are missing.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use crossgrain::engine::circuit::emit::Language;
use crossgrain::engine::device::Listing;
use cudarc::driver::sys::{CUdevice_attribute, CUevent_flags, CUfunction_attribute, CUresult};
use cudarc::driver::{
    CudaContext, CudaFunction, CudaModule, CudaSlice, CudaStream, DeviceRepr, DriverError, LaunchConfig,
    PushKernelArg,
};
use cudarc::nvrtc::{CompileError, CompileOptions, Ptx, compile_ptx_with_opts};
use zeroize::Zeroizing;

use super::gpu::bytes_of;
use super::{Compiled, Device, Error, Info, Job, Memory, Units, cache};

/// Maximum number of blocks per run: 4 GiB.
const BLOCKS_MAX: usize = 1 << 28;

/// Maximum number of groups per run. CUDA allows far more, but these already suffice for a second of work.
const GROUPS_MAX: usize = 1 << 20;

/// A CUDA device.
pub struct CudaDevice {
    context: Arc<CudaContext>,
    stream: Arc<CudaStream>,
    info: Info,
    /// Staging buffer for downloads. The caller's buffer is written only when all data have arrived.
    landing: Mutex<Zeroizing<Vec<u8>>>,
}

/// A compiled program.
pub struct Program {
    module: Arc<CudaModule>,
    function: CudaFunction,
    group_threads: u32,
    dynamic_bytes: u32,
}

impl fmt::Debug for Program {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Program(secret)")
    }
}

impl fmt::Debug for CudaDevice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "CudaDevice({})", self.info.name)
    }
}

/// The words of a job, as the kernel parameter.
#[derive(Clone, Copy)]
#[repr(C)]
struct JobWords([u32; 6]);

// SAFETY: six words without padding, like the program's structure of six words.
unsafe impl DeviceRepr for JobWords {}

/// Number of devices, at least one.
fn count() -> Result<usize, Error> {
    let missing = |told: &str| Err(Error::NoDevice(told.to_owned()));
    // SAFETY: loading NVIDIA's driver has no preconditions.
    if !unsafe { cudarc::driver::sys::is_culib_present() } {
        return missing("no NVIDIA driver was found: install it, if there is an NVIDIA GPU");
    }
    // SAFETY: loading its compiler has no preconditions either.
    if !unsafe { cudarc::nvrtc::sys::is_culib_present() } {
        return missing("NVIDIA's run-time compiler was not found: install libnvrtc (CUDA 12)");
    }
    match CudaContext::device_count() {
        Ok(0) => missing("NVIDIA's driver knows no GPU"),
        Ok(count) => Ok(count as usize),
        Err(error) => Err(Error::NoDevice(format!("NVIDIA's driver finds no GPU: {}", told(error)))),
    }
}

/// Lists the CUDA devices.
///
/// # Errors
/// If no device, driver or compiler is found.
pub fn devices() -> Result<Vec<Info>, Error> {
    (0..count()?).map(|number| CudaDevice::open(number).map(|device| device.info)).collect()
}

fn told(error: DriverError) -> String {
    let text = error.error_string();
    text.map_or_else(|_| format!("{:?}", error.0), |text| text.to_string_lossy().into_owned())
}

/// Converts a driver error that occurred while handling `len_bytes` bytes.
fn failed(error: DriverError, len_bytes: usize) -> Error {
    match error.0 {
        CUresult::CUDA_ERROR_OUT_OF_MEMORY => Error::Memory { len_bytes },
        _ => Error::Lost(told(error)),
    }
}

/// The compiler's version.
fn compiler() -> Result<String, Error> {
    let (mut major, mut minor) = (0, 0);
    // SAFETY: both pointers refer to writable integers.
    let done = unsafe { cudarc::nvrtc::sys::nvrtcVersion(&raw mut major, &raw mut minor) };
    match done.result() {
        Ok(()) => Ok(format!("NVRTC {major}.{minor}")),
        Err(error) => Err(Error::Program(format!("{error:?}"))),
    }
}

/// Compiles a program to PTX.
fn translated(text: &str, architecture: String) -> Result<String, Error> {
    let options = CompileOptions { options: vec![architecture], ..CompileOptions::default() };
    let ptx = compile_ptx_with_opts(text, options).map_err(|error| {
        Error::Program(match error {
            CompileError::CompileError { log, .. } => log.to_string_lossy().into_owned(),
            error => format!("{error:?}"),
        })
    })?;
    Ok(ptx.to_src())
}

fn lost(error: DriverError) -> Error {
    failed(error, 0)
}

impl CudaDevice {
    /// Opens the device with this number.
    ///
    /// # Errors
    /// If it does not exist, or no driver or compiler is found.
    pub fn open(number: usize) -> Result<Self, Error> {
        let count = count()?;
        if number >= count {
            let told = format!("there is no device cuda:{number}: the last is cuda:{}", count - 1);
            return Err(Error::NoDevice(told));
        }
        let context = CudaContext::new(number).map_err(|error| Error::NoDevice(told(error)))?;
        let (major, minor) = context.compute_capability().map_err(lost)?;
        let attribute = |attribute| context.attribute(attribute).map_err(lost);
        let shared_bytes =
            attribute(CUdevice_attribute::CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN)?;
        let group_threads = attribute(CUdevice_attribute::CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK)?;
        let count = attribute(CUdevice_attribute::CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT)?;
        let clock_khz = attribute(CUdevice_attribute::CU_DEVICE_ATTRIBUTE_CLOCK_RATE)?;
        let units = Units { count: count.unsigned_abs(), clock_khz: clock_khz.unsigned_abs() };
        let info = Info {
            id: format!("cuda:{number}"),
            name: context.name().map_err(lost)?,
            driver: format!("CUDA, compute capability {major}.{minor}"),
            is_software: false,
            max_blocks: BLOCKS_MAX,
            max_groups: GROUPS_MAX,
            max_group_threads: group_threads.unsigned_abs(),
            shared_bytes: usize::try_from(shared_bytes).unwrap_or(0),
            units: Some(units),
        };
        Ok(Self { stream: context.default_stream(), context, info, landing: Mutex::default() })
    }
}

impl Device for CudaDevice {
    fn info(&self) -> &Info {
        &self.info
    }

    fn language(&self) -> Language {
        Language::Cuda
    }

    fn allocate(&self, len_bytes: usize) -> Result<Memory, Error> {
        let memory = self.stream.alloc_zeros(len_bytes).map_err(|error| failed(error, len_bytes))?;
        Ok(Box::<CudaSlice<u8>>::new(memory))
    }

    fn upload(&self, bytes: &[u8], to: &mut Memory) -> Result<(), Error> {
        let to: &mut CudaSlice<u8> = to.downcast_mut().ok_or(Error::Place)?;
        self.stream.memcpy_htod(bytes, &mut to.slice_mut(..bytes.len())).map_err(lost)
    }

    fn download(&self, from: &Memory, bytes: &mut [u8]) -> Result<(), Error> {
        let from: &CudaSlice<u8> = from.downcast_ref().ok_or(Error::Place)?;
        let mut landing = self.landing.lock().unwrap_or_else(PoisonError::into_inner);
        if landing.len() < bytes.len() {
            *landing = Zeroizing::new(vec![0; bytes.len()]);
        }
        let landed = &mut landing[..bytes.len()];
        self.stream.memcpy_dtoh(&from.slice(..landed.len()), landed).map_err(lost)?;
        self.stream.synchronize().map_err(lost)?;
        bytes.copy_from_slice(landed);
        Ok(())
    }

    fn compile(&self, listing: &Listing) -> Result<Compiled, Error> {
        let (major, minor) = self.context.compute_capability().map_err(lost)?;
        let architecture = format!("--gpu-architecture=compute_{major}{minor}");
        let Listing { ref entry, ref text, group_threads, dynamic_bytes, .. } = *listing;
        let compiler = compiler()?;
        let parts = [text, &architecture, &compiler].map(String::as_str);
        let ptx = cache::kept(cache::folder().as_deref(), &parts, || translated(text, architecture.clone()))?;
        let refused = |error| Error::Program(told(error));
        let module = self.context.load_module(Ptx::from_src(ptx)).map_err(refused)?;
        let function = module.load_function(entry).map_err(refused)?;
        if dynamic_bytes > 0 {
            let wanted = CUfunction_attribute::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES;
            function.set_attribute(wanted, dynamic_bytes as i32).map_err(refused)?;
        }
        Ok(Box::new(Program { module, function, group_threads, dynamic_bytes }))
    }

    fn set_state(&self, program: &mut Compiled, words: &[u32]) -> Result<(), Error> {
        let program: &Program = program.downcast_ref().ok_or(Error::Place)?;
        let mut symbol = program.module.get_global("keys", &self.stream).map_err(lost)?;
        let (bytes, none) = (bytes_of(words), || Error::Program("it has no room for its state".to_owned()));
        let mut place = symbol.try_slice_mut(..bytes.len()).ok_or_else(none)?;
        self.stream.memcpy_htod(&bytes[..], &mut place).map_err(lost)?;
        self.stream.synchronize().map_err(lost)
    }

    unsafe fn run(
        &self,
        program: &Compiled,
        job: &Job,
        source: &Memory,
        goal: &mut Memory,
    ) -> Result<Duration, Error> {
        let program: &Program = program.downcast_ref().ok_or(Error::Place)?;
        let source: &CudaSlice<u8> = source.downcast_ref().ok_or(Error::Place)?;
        let goal: &mut CudaSlice<u8> = goal.downcast_mut().ok_or(Error::Place)?;
        if job.threads == 0 {
            return Ok(Duration::ZERO);
        }
        let groups = LaunchConfig {
            grid_dim: (job.threads.div_ceil(program.group_threads), 1, 1),
            block_dim: (program.group_threads, 1, 1),
            shared_mem_bytes: program.dynamic_bytes,
        };
        let words = JobWords(job.words);
        let clock = Some(CUevent_flags::CU_EVENT_DEFAULT);
        let start = self.stream.record_event(clock).map_err(lost)?;
        let mut launch = self.stream.launch_builder(&program.function);
        launch.arg(source).arg(goal).arg(&words);
        // SAFETY: the program takes these three arguments. The caller ensures that it stays within the
        // buffers.
        unsafe { launch.launch(groups) }.map_err(lost)?;
        let end = self.stream.record_event(clock).map_err(lost)?;
        end.synchronize().map_err(lost)?;
        Ok(Duration::from_secs_f32(start.elapsed_ms(&end).map_err(lost)?.max(0.0) / 1e3))
    }
}
