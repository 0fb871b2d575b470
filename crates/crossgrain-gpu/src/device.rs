//! The interface to a GPU, and the list of those that this machine has.

use std::any::Any;
use std::time::Duration;

use crossgrain::engine::circuit::emit::Language;
use crossgrain::engine::device::{Kernel, Listing, Work};

use super::Error;

/// Properties of a device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Info {
    /// Its identifier on the command line: `wgpu:0`, `cuda:1`.
    pub id: String,
    /// The device's name.
    pub name: String,
    /// The driver, in words.
    pub driver: String,
    /// Whether the CPU emulates this device in software.
    pub is_software: bool,
    /// Maximum number of blocks per run.
    pub max_blocks: usize,
    /// Maximum number of thread groups per run.
    pub max_groups: usize,
    /// Maximum number of threads per group.
    pub max_group_threads: u32,
    /// Shared memory of a thread group, in bytes.
    pub shared_bytes: usize,
    /// Its multiprocessors, if the driver reports them.
    pub units: Option<Units>,
}

/// The multiprocessors of a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Units {
    /// Number of multiprocessors.
    pub count: u32,
    /// Highest clock, in kilohertz.
    pub clock_khz: u32,
}

impl Units {
    /// Upper bound on throughput in bits per second, for a program whose cost per block is `work`.
    ///
    /// A multiprocessor is assumed to execute 64 three-input gates and 32 shared-memory look-ups per clock.
    /// NVIDIA GPUs of compute capability 8.0 and some older ones have these rates.
    pub fn limit_bits_per_s(self, work: Work) -> f64 {
        let clocks = (work.gates / 64.0).max(work.look_ups / 32.0);
        128.0 * f64::from(self.count) * f64::from(self.clock_khz) * 1e3 / clocks
    }
}

impl Info {
    /// Whether the device has the shared memory that the kernel needs in this language.
    pub const fn takes(&self, kernel: Kernel, language: Language) -> bool {
        kernel.shared_bytes(language) <= self.shared_bytes
    }
}

/// A buffer in the memory of a device.
pub type Memory = Box<dyn Any + Send + Sync>;

/// A program compiled for a device, with memory for its state.
pub type Compiled = Box<dyn Any + Send + Sync>;

/// A kind of GPU.
///
/// Methods identify their own memory and programs by type. They return [`Error::Place`] for those of
/// another kind.
pub trait Device: Send + Sync {
    /// Properties of the device.
    fn info(&self) -> &Info;

    /// The language of its programs.
    fn language(&self) -> Language;

    /// Allocates `len_bytes` bytes, which must be a multiple of 16.
    ///
    /// # Errors
    /// If the device has too little memory, or is lost.
    fn allocate(&self, len_bytes: usize) -> Result<Memory, Error>;

    /// Copies `bytes` to the start of a buffer, which must be at least as long.
    ///
    /// # Errors
    /// If the device is lost.
    fn upload(&self, bytes: &[u8], to: &mut Memory) -> Result<(), Error>;

    /// Copies the start of a buffer, which must be at least as long, to `bytes`. On failure `bytes` is
    /// unchanged.
    ///
    /// # Errors
    /// If the device is lost, or has too little memory for a copy.
    fn download(&self, from: &Memory, bytes: &mut [u8]) -> Result<(), Error>;

    /// Compiles a program in the device's language.
    ///
    /// # Errors
    /// If the driver rejects it, or the device is lost.
    fn compile(&self, listing: &Listing) -> Result<Compiled, Error>;

    /// Writes the first words of a program's state: round keys ([`Kernel::keys`]) or a kernel's parameters.
    ///
    /// # Errors
    /// If the device is lost.
    fn set_state(&self, program: &mut Compiled, words: &[u32]) -> Result<(), Error>;

    /// Runs a program from `source` to `goal` and returns its duration. The device's clock measures it
    /// where that is readable. Otherwise the host's clock does, and the duration includes launch and wait.
    ///
    /// # Errors
    /// If the device is lost.
    ///
    /// # Safety
    /// With this job the program must not read beyond the end of `source` or write beyond the end of
    /// `goal`. The listing must state the program's group size and shared memory correctly. The core's
    /// programs meet both if the buffers hold the number of blocks that the job gives. Authors of other
    /// programs must ensure it. A GPU does not check bounds.
    unsafe fn run(
        &self,
        program: &Compiled,
        job: &Job,
        source: &Memory,
        goal: &mut Memory,
    ) -> Result<Duration, Error>;
}

/// The parameters of one run.
#[derive(Clone, Copy, Debug)]
pub struct Job {
    /// The parameter words ([`Kernel::job`]).
    pub words: [u32; 6],
    /// Number of threads. The last groups may have more; the surplus threads do nothing.
    pub threads: u32,
}

/// A backend with its devices, or the reason why it has none.
#[derive(Debug)]
pub struct Found {
    /// `wgpu` or `cuda`.
    pub backend: &'static str,
    /// The devices.
    pub devices: Result<Vec<Info>, Error>,
}

/// Lists the devices of all backends.
pub fn devices() -> Vec<Found> {
    vec![
        #[cfg(feature = "cuda")]
        Found { backend: "cuda", devices: crate::cuda::devices() },
        #[cfg(feature = "wgpu")]
        Found { backend: "wgpu", devices: crate::wgpu::devices() },
    ]
}

#[cfg(test)]
mod tests {
    use crossgrain::Cipher as CipherName;
    use crossgrain::engine::device::{Form, Task};

    use super::*;

    /// An H200 on paper: 8.36e12 shared-memory words and 16.7e12 gates per second.
    #[test]
    fn limits_are_the_scarcer_of_gates_and_look_ups() {
        let h200 = Units { count: 132, clock_khz: 1_980_000 };
        let limit = |task, form, cipher: CipherName| {
            let work = Kernel { family: cipher.family(), task, form }.work(cipher);
            h200.limit_bits_per_s(work) / 1e12
        };
        let tables = limit(Task::Encrypt, Form::FourTables, CipherName::Aes128);
        assert!((tables - 6.69).abs() < 0.01, "{tables}");
        let counted = limit(Task::Count, Form::FourTables, CipherName::Aes128);
        assert!((counted - 7.99).abs() < 0.01, "{counted}");
        let aes = limit(Task::Encrypt, Form::Bits, CipherName::Aes128);
        let [words, bits] =
            [Form::Words, Form::Bits].map(|form| limit(Task::Encrypt, form, CipherName::Serpent256));
        assert!(2.5 < words && words < bits && bits < 4.8, "{words} {bits}");
        assert!((3.0..4.8).contains(&aes), "{aes}");
        let [whole, cached] =
            [Form::Bits, Form::CachedCounter].map(|form| limit(Task::Generate, form, CipherName::Aes128));
        assert!(aes < whole && whole < cached && cached < 5.2, "{whole} {cached}");
        println!(
            "AES-128 {aes:.2}, its counters {whole:.2} and {cached:.2}, Serpent {words:.2} and {bits:.2} Tbit/s"
        );
    }
}
