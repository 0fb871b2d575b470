//! crossgrain's ciphers on GPUs, as programs that the core writes.
//!
//! [`Device`] is one face for every kind of GPU: allocate, copy, compile, run, time. [`wgpu`] goes through Vulkan, Metal or
//! Direct3D 12, [`cuda`] through NVIDIA's driver and run-time compiler. Both are looked for when the program runs.
//! [`Gpu`] is any of them with its programs, by which all that follows is run: [`Cipher`], a keyed cipher from a host's buffer to
//! a host's buffer, key search, and [`parallel`].
//! Holds: whatever is missing or lost is an [`Error`], never a panic; nothing here judges an answer, so whoever
//! chooses a device by its speed checks it first (`tests/agree.rs`).
//!
//! A GPU's memory and the copies that its driver makes are out of our hands: round keys are overwritten after each run, and blocks
//! when a [`Cipher`] is dropped, as far as the device still listens.

#[cfg(feature = "cuda")]
mod cache;
mod cipher;
#[cfg(feature = "cuda")]
pub mod cuda;
mod derive;
mod error;
mod gpu;
mod measure;
pub mod parallel;
mod search;
mod tune;
#[cfg(feature = "wgpu")]
pub mod wgpu;

use std::any::Any;
use std::time::Duration;

use crossgrain::internal::circuit::emit::Language;
use crossgrain::internal::device::{Kernel, Listing, Work};

pub use cipher::Cipher;
pub use error::Error;
pub use gpu::{Gpu, choose};
pub use measure::Copies;
pub use tune::{best_group, best_launch};

/// What a device is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Info {
    /// What it is called on a command line: `wgpu:0`, `cuda:1`.
    pub id: String,
    /// Its name.
    pub name: String,
    /// What drives it.
    pub driver: String,
    /// Whether it is the CPU in disguise.
    pub is_software: bool,
    /// Most blocks of a run.
    pub max_blocks: usize,
    /// Most groups of threads of a run.
    pub max_groups: usize,
    /// Most threads of a group.
    pub max_group_threads: u32,
    /// Bytes of memory that a group of threads may share.
    pub shared_bytes: usize,
    /// How much it computes, where its driver tells.
    pub units: Option<Units>,
}

/// The multiprocessors of a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Units {
    /// How many.
    pub count: u32,
    /// Their highest clock, in kilohertz.
    pub clock_khz: u32,
}

impl Units {
    /// The most bits a second that a program may take, a block at a cost of `work`: 64 gates of three inputs and 32 words
    /// of shared memory a clock, as NVIDIA's GPUs have them since compute capability 8.0 or longer.
    pub fn limit_bits_per_s(self, work: Work) -> f64 {
        let clocks = (work.gates / 64.0).max(work.look_ups / 32.0);
        128.0 * f64::from(self.count) * f64::from(self.clock_khz) * 1e3 / clocks
    }
}

impl Info {
    /// Whether the device has what a program in its language needs.
    pub const fn takes(&self, kernel: Kernel, language: Language) -> bool {
        kernel.shared_bytes(language) <= self.shared_bytes
    }
}

/// Memory of some device.
pub type Memory = Box<dyn Any + Send + Sync>;

/// A program compiled for some device, with room for its state.
pub type Compiled = Box<dyn Any + Send + Sync>;

/// A kind of GPU. Its memory and programs are known by their types: [`Error::Place`] if they are another's.
pub trait Device: Send + Sync {
    /// What it is.
    fn info(&self) -> &Info;

    /// What its programs are written in.
    fn language(&self) -> Language;

    /// Memory for so many bytes, a multiple of 16.
    ///
    /// # Errors
    /// If the device has no room, or is lost.
    fn allocate(&self, len_bytes: usize) -> Result<Memory, Error>;

    /// Copies bytes to the beginning of a buffer, which is as long or longer.
    ///
    /// # Errors
    /// If the device is lost.
    fn upload(&self, bytes: &[u8], to: &mut Memory) -> Result<(), Error>;

    /// Copies bytes from the beginning of a buffer, which is as long or longer: all of them, or none where that fails.
    ///
    /// # Errors
    /// If the device is lost, or has no room for a copy.
    fn download(&self, from: &Memory, bytes: &mut [u8]) -> Result<(), Error>;

    /// Compiles a program in the device's language.
    ///
    /// # Errors
    /// If the driver refuses it, or the device is lost.
    fn compile(&self, listing: &Listing) -> Result<Compiled, Error>;

    /// Writes the first words of a program's state: round keys ([`Kernel::keys`]), or what a kernel is given.
    ///
    /// # Errors
    /// If the device is lost.
    fn set_state(&self, program: &mut Compiled, words: &[u32]) -> Result<(), Error>;

    /// Runs a program from `source` to `goal`, and gives back how long that took: by the device's clock where it has one
    /// that can be read, otherwise by the host's, with the start and the wait.
    ///
    /// # Errors
    /// If the device is lost.
    ///
    /// # Safety
    /// The program must read nothing of `source` and write nothing of `goal` beyond their ends when it is told this job, and its
    /// listing must say truly how many threads a group has and how much memory they share. The core's programs keep
    /// to that if the buffers hold as many blocks as the job says; other texts are their authors' word. A GPU checks nothing.
    unsafe fn run(
        &self,
        program: &Compiled,
        job: &Job,
        source: &Memory,
        goal: &mut Memory,
    ) -> Result<Duration, Error>;
}

/// What a program is told.
#[derive(Clone, Copy, Debug)]
pub struct Job {
    /// Its words ([`Kernel::job`]).
    pub words: [u32; 6],
    /// Threads; a group may have more, which do nothing.
    pub threads: u32,
}

/// A kind of devices, and those that are there or why there are none.
#[derive(Debug)]
pub struct Found {
    /// `wgpu` or `cuda`.
    pub backend: &'static str,
    /// The devices.
    pub devices: Result<Vec<Info>, Error>,
}

/// All devices.
pub fn devices() -> Vec<Found> {
    vec![
        #[cfg(feature = "cuda")]
        Found { backend: "cuda", devices: cuda::devices() },
        #[cfg(feature = "wgpu")]
        Found { backend: "wgpu", devices: wgpu::devices() },
    ]
}

#[cfg(test)]
mod tests {
    use crossgrain::Cipher as CipherName;
    use crossgrain::internal::device::{Form, Task};

    use super::*;

    /// An H200's, on paper: 8.36e12 words of shared memory a second, and 16.7e12 gates.
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
        let [whole, walk] =
            [Form::Bits, Form::Walk].map(|form| limit(Task::Generate, form, CipherName::Aes128));
        assert!(aes < whole && whole < walk && walk < 5.2, "{whole} {walk}");
        println!(
            "AES-128 {aes:.2}, its counters {whole:.2} and {walk:.2}, Serpent {words:.2} and {bits:.2} Tbit/s"
        );
    }
}
