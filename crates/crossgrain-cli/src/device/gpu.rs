//! Work on a GPU of this machine.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError, TryLockError};
use std::time::{Duration, Instant};

use crossgrain::BLOCK_BYTES;
use crossgrain::engine::device::{ALL, Kernel};
use crossgrain::plan::Place;
use crossgrain::plan::compose::Cost;
use crossgrain::wisdom::DeviceCosts;
use crossgrain::{Cipher, Key};
use crossgrain_gpu::parallel::Launch;
use crossgrain_gpu::{Cipher as Keyed, Copies, Gpu, Info, best_group, best_launch, choose};

use super::Wanted;
use crate::error::{self, Error, Exit};
use crate::wisdom;

/// Bytes per transfer to a device. Long enough to outweigh the overhead of a run; the few transfers in
/// progress fit any device memory.
const CHUNK_BYTES: usize = 8 << 20;

/// A job that a device computes.
pub(crate) struct OnDevice {
    id: String,
    /// `None` once the device has failed.
    cipher: Mutex<Option<Keyed>>,
    chunk_bytes: usize,
    /// Whether the user named this device, so that no other may do the work.
    is_demanded: bool,
    explain: bool,
}

/// Turns off Mesa's layer that orders devices by the screen that they drive. Without a window system, it prints
/// complaints on standard error. Call this before any thread starts.
pub(crate) fn quiet_drivers() {
    // SAFETY: no other thread reads or writes the environment.
    unsafe { std::env::set_var("NODEVICE_SELECT", "1") };
}

impl OnDevice {
    /// The device with this name.
    pub(super) fn named(id: &str, wanted: &Wanted<'_>) -> Result<Self, Error> {
        Self::open(id, wanted, true).map_err(|error| failed(id, &error))
    }

    /// The device that a plan chose; `None` if it has changed since it was measured.
    pub(super) fn of_plan(place: &Place, wanted: &Wanted<'_>) -> Option<Self> {
        match Self::open(&place.name, wanted, false) {
            Ok(device) => Some(device),
            Err(error) => wanted.on_cpu(&error.to_string()),
        }
    }

    fn open(id: &str, wanted: &Wanted<'_>, is_demanded: bool) -> Result<Self, crossgrain_gpu::Error> {
        let device = choose(id)?;
        let info = device.info().clone();
        let kept = kept(&info);
        let is_another = kept.is_none();
        if is_another && !is_demanded {
            let mend = "measure again by `crossgrain devices --measure`";
            let told = format!("{id} is not the device that was measured, or has another driver: {mend}");
            return Err(crossgrain_gpu::Error::NoDevice(told));
        }
        let kernel = wanted.kernel_on(&info.id).filter(|_| !is_another).or(wanted.kernels.first().copied());
        let kernel = kernel.ok_or_else(|| crossgrain_gpu::Error::Program("there is none".to_owned()))?;
        let group = group_threads(&device, kernel, kept);
        let cipher = Keyed::new(&device, kernel, group, wanted.key)?;
        if wanted.explain {
            let Info { id, name, .. } = &info;
            error::tell(&format!("device {id}: {} on {name}, groups of {group} threads", kernel.name()));
        }
        Ok(Self::new(info.id, cipher, is_demanded, wanted.explain))
    }

    fn new(id: String, cipher: Keyed, is_demanded: bool, explain: bool) -> Self {
        // Whole blocks, so that every chunk begins at a counter value.
        let chunk_bytes = CHUNK_BYTES.min(cipher.piece_bytes()).next_multiple_of(BLOCK_BYTES);
        Self { id, cipher: Mutex::new(Some(cipher)), chunk_bytes, is_demanded, explain }
    }

    /// The most bytes per call.
    pub(crate) fn chunk_bytes(&self) -> usize {
        self.chunk_bytes
    }

    /// Computes a chunk in place; `counter` is that of its first block in counter mode. Returns false if the
    /// CPU must compute the chunk, because the device failed or is busy. So work is divided by the speeds of
    /// both. A device that the user named is waited for, and its failure is an error.
    pub(crate) fn apply(&self, counter: u128, data: &mut [u8]) -> Result<bool, Error> {
        let mut cipher = match self.cipher.try_lock() {
            Ok(cipher) => cipher,
            Err(TryLockError::WouldBlock) if !self.is_demanded => return Ok(false),
            Err(_) => self.cipher.lock().unwrap_or_else(PoisonError::into_inner),
        };
        match cipher.as_mut().map(|cipher| cipher.apply(counter, data)) {
            None => Ok(false),
            Some(Ok(_)) => Ok(true),
            Some(Err(error)) if self.is_demanded => Err(failed(&self.id, &error)),
            Some(Err(error)) => {
                *cipher = None;
                if self.explain {
                    error::tell(&format!("device cpu from here on: {}: {error}", self.id));
                }
                Ok(false)
            }
        }
    }
}

/// The names of the device and its driver.
fn model(info: &Info) -> String {
    format!("{} ({})", info.name, info.driver)
}

/// The costs in wisdom for this device, if device and driver are still the same.
fn kept(info: &Info) -> Option<&'static DeviceCosts> {
    wisdom::device(&info.id).filter(|kept| kept.model == model(info))
}

/// Threads per group for a program: the number in wisdom, if it is valid.
fn group_threads(device: &Gpu, kernel: Kernel, kept: Option<&DeviceCosts>) -> u32 {
    let (info, usual) = (device.info(), kernel.group_threads(device.language()));
    let Some(&threads) = kept.and_then(|kept| kept.threads.get(kernel.name())) else { return usual };
    if kernel.takes_group(device.language(), threads) && threads <= info.max_group_threads {
        return threads;
    }
    doubtful(&info.id, &format!("{threads} threads in a group of {}", kernel.name()));
    usual
}

/// Launch parameters for programs that are generated at run time: those in wisdom, if they are valid.
fn launch(info: &Info) -> Launch {
    let usual = Launch::default();
    let Some(kept) = kept(info) else { return usual };
    let of = |name: &str, usual| kept.threads.get(name).copied().unwrap_or(usual);
    let launch =
        Launch { group_threads: of(GROUP, usual.group_threads), run_threads: of(RUN, usual.run_threads) };
    if launch.check(info).is_ok() {
        return launch;
    }
    let Launch { group_threads, run_threads } = launch;
    doubtful(&info.id, &format!("{run_threads} threads in groups of {group_threads}"));
    usual
}

/// Warns that part of the wisdom is ignored.
fn doubtful(id: &str, told: &str) {
    let mend = "measure again by `crossgrain devices --measure`";
    error::tell(&format!("wisdom ignored: {id} cannot run {told}: {mend}"));
}

/// The names in wisdom of the thread counts for programs that are generated at run time.
const GROUP: &str = "parallel/group";
const RUN: &str = "parallel/run";

/// A device for key search with this name. For `auto`, any device that is not a software renderer.
pub(crate) fn searcher(id: &str) -> Result<Box<dyn crossgrain_search::Device>, Error> {
    let device = choose(if id == "auto" { "gpu" } else { id }).map_err(|error| failed(id, &error))?;
    if id == "auto" && device.info().is_software {
        return Err(Error::usage(format!("{} is the CPU in disguise", device.info().name)));
    }
    let started = device.started(launch(device.info())).map_err(|error| failed(id, &error))?;
    Ok(Box::new(started))
}

/// Measures the costs of copies and programs on a device. The cost per byte is that of a whole transfer, and
/// the fixed cost that of the smallest one.
pub(crate) fn costs(id: &str, ciphers: &[Cipher]) -> Result<DeviceCosts, Error> {
    measured(id, ciphers).map_err(|error| failed(id, &error))
}

fn measured(id: &str, ciphers: &[Cipher]) -> Result<DeviceCosts, crossgrain_gpu::Error> {
    let start = Instant::now();
    let device = choose(id)?;
    let opened = start.elapsed();
    let [few, many] = [BLOCK_BYTES, CHUNK_BYTES].map(|len_bytes| device.measure_copies(len_bytes));
    let (few, many) = (few?, many?);
    let copies = |part: fn(Copies) -> Duration| affine(part(few), part(many));
    let mut costs = vec![
        ("upload".to_owned(), copies(|copies| copies.upload)),
        ("download".to_owned(), copies(|copies| copies.download)),
    ];
    let mut threads = BTreeMap::new();
    // Software drivers compile slowly and gain nothing from group sizes.
    let is_tuned = !device.info().is_software;
    if is_tuned {
        let Launch { group_threads, run_threads } = best_launch(&device)?;
        threads.extend([(GROUP.to_owned(), group_threads), (RUN.to_owned(), run_threads)]);
    }
    for kernel in ALL.iter().copied().filter(|&kernel| device.info().takes(kernel, device.language())) {
        let mut group = kernel.group_threads(device.language());
        for (at, &cipher) in ciphers.iter().filter(|cipher| cipher.family() == kernel.family).enumerate() {
            let key = Key::new(cipher, &vec![0; cipher.key_bytes()]);
            let Ok(key) = key else { continue };
            if at == 0 && is_tuned {
                group = best_group(&device, kernel, &key, CHUNK_BYTES)?;
                threads.insert(kernel.name().to_owned(), group);
            }
            let start = Instant::now();
            let mut on_device = Keyed::new(&device, kernel, group, &key)?;
            on_device.run(0, BLOCK_BYTES)?;
            let open = Cost::fixed((opened + start.elapsed()).as_nanos() as f64);
            let run = affine(on_device.measure_run(BLOCK_BYTES)?, on_device.measure_run(CHUNK_BYTES)?);
            costs.push((format!("open/{}", kernel.name()), open));
            costs.push((format!("{cipher}/{}", kernel.name()), run));
        }
    }
    Ok(DeviceCosts { model: model(device.info()), costs: costs.into_iter().collect(), threads })
}

/// A cost from the times of the smallest transfer and of a whole one. A job consists of whole transfers, so
/// their overhead counts per byte.
fn affine(few: Duration, many: Duration) -> Cost {
    Cost { fixed_ns: few.as_nanos() as f64, per_byte_ns: many.as_nanos() as f64 / CHUNK_BYTES as f64 }
}

fn failed(id: &str, error: &crossgrain_gpu::Error) -> Error {
    Error::new(Exit::InputOutput, format!("{id}: {error}"))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test")]

    use std::sync::atomic::{AtomicUsize, Ordering};

    use crossgrain::engine::circuit::emit::Language;
    use crossgrain::engine::device::Listing;
    use crossgrain_gpu::{Compiled, Device, Error, Job, Memory};

    use super::*;

    /// A device whose programs add one to every byte. It is lost after a number of runs.
    struct Fragile {
        info: Info,
        runs: AtomicUsize,
    }

    fn bytes(memory: &mut Memory) -> Result<&mut Vec<u8>, Error> {
        memory.downcast_mut().ok_or(Error::Place)
    }

    impl Device for Fragile {
        fn info(&self) -> &Info {
            &self.info
        }

        fn language(&self) -> Language {
            Language::Wgsl
        }

        fn allocate(&self, len_bytes: usize) -> Result<Memory, Error> {
            Ok(Box::new(vec![0_u8; len_bytes]))
        }

        fn upload(&self, from: &[u8], to: &mut Memory) -> Result<(), Error> {
            bytes(to)?[..from.len()].copy_from_slice(from);
            Ok(())
        }

        fn download(&self, from: &Memory, to: &mut [u8]) -> Result<(), Error> {
            to.copy_from_slice(&from.downcast_ref::<Vec<u8>>().ok_or(Error::Place)?[..to.len()]);
            Ok(())
        }

        fn compile(&self, _listing: &Listing) -> Result<Compiled, Error> {
            Ok(Box::new(()))
        }

        fn set_state(&self, _program: &mut Compiled, _words: &[u32]) -> Result<(), Error> {
            Ok(())
        }

        unsafe fn run(
            &self,
            _: &Compiled,
            _: &Job,
            from: &Memory,
            to: &mut Memory,
        ) -> Result<Duration, Error> {
            if self.runs.fetch_sub(1, Ordering::Relaxed) == 0 {
                self.runs.store(0, Ordering::Relaxed);
                return Err(Error::Lost("unplugged".to_owned()));
            }
            let from = from.downcast_ref::<Vec<u8>>().ok_or(Error::Place)?;
            *bytes(to)? = from.iter().map(|byte| byte + 1).collect();
            Ok(Duration::ZERO)
        }
    }

    fn fragile(is_demanded: bool) -> OnDevice {
        let info = Info {
            id: "cuda:7".to_owned(),
            name: String::new(),
            driver: String::new(),
            is_software: false,
            max_blocks: 64,
            max_groups: 1 << 16,
            max_group_threads: 1024,
            shared_bytes: 0,
            units: None,
        };
        let gpu = Gpu::new(Box::new(Fragile { info, runs: AtomicUsize::new(2) })).unwrap();
        let (kernel, key) = (ALL[0], Key::new(Cipher::Aes128, &[7; 16]).unwrap());
        let cipher = Keyed::new(&gpu, kernel, kernel.group_threads(Language::Wgsl), &key).unwrap();
        OnDevice::new("cuda:7".to_owned(), cipher, is_demanded, false)
    }

    #[test]
    fn what_a_lost_device_leaves_is_the_cpu_s() {
        let (device, mut data) = (fragile(false), [0; 64]);
        assert_eq!(device.chunk_bytes(), 1 << 10);
        for is_done in [true, true, false, false] {
            assert_eq!(device.apply(0, &mut data).unwrap(), is_done);
        }
        assert_eq!(data, [2; 64]);
    }

    #[test]
    fn a_lost_device_that_was_asked_for_is_an_error() {
        let (device, mut data) = (fragile(true), [0; 64]);
        assert!(device.apply(0, &mut data).unwrap() && device.apply(0, &mut data).unwrap());
        let told = format!("{:?}", device.apply(0, &mut data).unwrap_err());
        assert!(told.contains("cuda:7: the device was lost (unplugged)"), "{told}");
        assert_eq!(data, [2; 64]);
    }
}
