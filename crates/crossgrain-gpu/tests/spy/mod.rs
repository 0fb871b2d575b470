//! A device that computes nothing and records its inputs: texts, words of state, and jobs.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use crossgrain::engine::circuit::emit::Language;
use crossgrain::engine::device::Listing;
use crossgrain_gpu::parallel::Launch;
use crossgrain_gpu::{Compiled, Device, Error, Gpu, Info, Job, Memory};

/// The record of a device.
#[derive(Clone, Debug, Default)]
pub(crate) struct Told {
    /// Texts of compiled programs.
    pub(crate) texts: Vec<String>,
    /// Words of state, in the order of writing.
    pub(crate) states: Vec<Vec<u32>>,
    /// Words of jobs.
    pub(crate) jobs: Vec<[u32; 6]>,
}

/// A recording device, with its record.
#[derive(Clone)]
pub(crate) struct Spy {
    pub(crate) gpu: Gpu,
    told: Arc<Mutex<Told>>,
}

impl Spy {
    fn new(language: Language, is_deaf: bool, launch: Launch) -> Self {
        let info = Info {
            id: "spy:0".to_owned(),
            name: "spy".to_owned(),
            driver: String::new(),
            is_software: true,
            max_blocks: 1 << 20,
            max_groups: 1 << 16,
            max_group_threads: 1024,
            shared_bytes: 0,
            units: None,
        };
        let told: Arc<Mutex<Told>> = Arc::default();
        let gpu = Gpu::new(Box::new(Listener { info, language, is_deaf, told: told.clone() })).unwrap();
        Self { gpu: gpu.started(launch).unwrap(), told }
    }

    pub(crate) fn told(&self) -> Told {
        self.told.lock().unwrap().clone()
    }
}

/// A recording device for each language.
pub(crate) fn spies() -> [Spy; 2] {
    started(Launch::default())
}

/// As `spies`, with this launch configuration.
pub(crate) fn started(launch: Launch) -> [Spy; 2] {
    [Language::Cuda, Language::Wgsl].map(|language| Spy::new(language, false, launch))
}

/// As `spies`, without recording state.
pub(crate) fn deaf() -> [Gpu; 2] {
    [Language::Cuda, Language::Wgsl].map(|language| Spy::new(language, true, Launch::default()).gpu)
}

struct Listener {
    info: Info,
    language: Language,
    /// Whether state is not recorded.
    is_deaf: bool,
    told: Arc<Mutex<Told>>,
}

/// The bytes of this device's memory.
fn bytes(memory: &Memory) -> Result<&Vec<u8>, Error> {
    memory.downcast_ref().ok_or(Error::Place)
}

impl Device for Listener {
    fn info(&self) -> &Info {
        &self.info
    }

    fn language(&self) -> Language {
        self.language
    }

    fn allocate(&self, len_bytes: usize) -> Result<Memory, Error> {
        Ok(Box::new(vec![0_u8; len_bytes]))
    }

    fn upload(&self, from: &[u8], to: &mut Memory) -> Result<(), Error> {
        let to: &mut Vec<u8> = to.downcast_mut().ok_or(Error::Place)?;
        to[..from.len()].copy_from_slice(from);
        Ok(())
    }

    fn download(&self, from: &Memory, to: &mut [u8]) -> Result<(), Error> {
        to.copy_from_slice(&bytes(from)?[..to.len()]);
        Ok(())
    }

    fn compile(&self, listing: &Listing) -> Result<Compiled, Error> {
        assert!(listing.reads_keys);
        self.told.lock().unwrap().texts.push(listing.text.clone());
        Ok(Box::new(()))
    }

    fn set_state(&self, _: &mut Compiled, words: &[u32]) -> Result<(), Error> {
        if !self.is_deaf {
            self.told.lock().unwrap().states.push(words.to_vec());
        }
        Ok(())
    }

    unsafe fn run(&self, _: &Compiled, job: &Job, from: &Memory, to: &mut Memory) -> Result<Duration, Error> {
        bytes(from).and(bytes(to))?;
        self.told.lock().unwrap().jobs.push(job.words);
        Ok(Duration::ZERO)
    }
}
