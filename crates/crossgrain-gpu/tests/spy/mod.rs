//! A device that computes nothing, and writes down what it is told: texts, what they are known by, words of state and jobs.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use crossgrain::internal::circuit::emit::Language;
use crossgrain::internal::device::Listing;
use crossgrain_gpu::parallel::{Grid, Launch, Memory};
use crossgrain_gpu::{Device, Error, Gpu, Info, Job};

/// What was told.
#[derive(Clone, Debug, Default)]
pub(crate) struct Told {
    /// Texts of programs, and what they are known by.
    pub(crate) texts: Vec<String>,
    /// Words of state, in the order in which they were written.
    pub(crate) states: Vec<Vec<u32>>,
    /// Words of jobs.
    pub(crate) jobs: Vec<[u32; 6]>,
}

#[derive(Debug)]
pub(crate) struct Spy<const IS_CUDA: bool> {
    info: Info,
    /// Nothing of state is written down.
    is_deaf: bool,
    told: Arc<Mutex<Told>>,
}

impl<const IS_CUDA: bool> Device for Spy<IS_CUDA> {
    type Buffer = Vec<u8>;
    type Program = ();

    const LANGUAGE: Language = if IS_CUDA { Language::Cuda } else { Language::Wgsl };

    fn info(&self) -> &Info {
        &self.info
    }

    fn allocate(&self, len_bytes: usize) -> Result<Vec<u8>, Error> {
        Ok(vec![0; len_bytes])
    }

    fn upload(&self, bytes: &[u8], to: &mut Vec<u8>) -> Result<(), Error> {
        to[..bytes.len()].copy_from_slice(bytes);
        Ok(())
    }

    fn download(&self, from: &Vec<u8>, bytes: &mut [u8]) -> Result<(), Error> {
        bytes.copy_from_slice(&from[..bytes.len()]);
        Ok(())
    }

    fn compile(&self, listing: &Listing) -> Result<(), Error> {
        assert!(listing.reads_keys);
        self.told.lock().unwrap().texts.push(listing.text.clone());
        Ok(())
    }

    fn set_keys(&self, (): &mut (), keys: &[u32]) -> Result<(), Error> {
        if !self.is_deaf {
            self.told.lock().unwrap().states.push(keys.to_vec());
        }
        Ok(())
    }

    unsafe fn run(&self, (): &(), job: &Job, _: &Vec<u8>, _: &mut Vec<u8>) -> Result<Duration, Error> {
        self.told.lock().unwrap().jobs.push(job.words);
        Ok(Duration::ZERO)
    }
}

/// A grid of such a device that writes down by what its programs are known.
pub(crate) struct SpyGrid {
    inner: Arc<dyn Grid>,
    told: Arc<Mutex<Told>>,
}

impl SpyGrid {
    pub(crate) fn told(&self) -> Told {
        self.told.lock().unwrap().clone()
    }

    fn new<const IS_CUDA: bool>(is_deaf: bool, launch: Launch) -> Arc<Self> {
        let device = Spy::<IS_CUDA>::new(is_deaf);
        let told = device.told.clone();
        Arc::new(Self { inner: Arc::new(device).grid(launch).unwrap(), told })
    }
}

impl<const IS_CUDA: bool> Spy<IS_CUDA> {
    pub(crate) fn new(is_deaf: bool) -> Self {
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
        Self { info, is_deaf, told: Arc::default() }
    }

    pub(crate) fn told(&self) -> Told {
        self.told.lock().unwrap().clone()
    }
}

/// One for each language.
pub(crate) fn grids() -> [Arc<SpyGrid>; 2] {
    started(Launch::default())
}

/// The same, where programs are started so.
pub(crate) fn started(launch: Launch) -> [Arc<SpyGrid>; 2] {
    [SpyGrid::new::<true>(false, launch), SpyGrid::new::<false>(false, launch)]
}

/// The same where nothing of state is written down.
pub(crate) fn deaf_grids() -> [Arc<SpyGrid>; 2] {
    let launch = Launch::default();
    [SpyGrid::new::<true>(true, launch), SpyGrid::new::<false>(true, launch)]
}

/// Such devices themselves.
pub(crate) fn deaf_gpus() -> [Arc<dyn Gpu>; 2] {
    [Arc::new(Spy::<true>::new(true)), Arc::new(Spy::<false>::new(true))]
}

impl Grid for SpyGrid {
    fn info(&self) -> &Info {
        self.inner.info()
    }

    fn language(&self) -> Language {
        self.inner.language()
    }

    fn launch(&self) -> Launch {
        self.inner.launch()
    }

    fn allocate(&self, len_bytes: usize) -> Result<Memory, Error> {
        self.inner.allocate(len_bytes)
    }

    fn upload(&self, bytes: &[u8], to: &mut Memory) -> Result<(), Error> {
        self.inner.upload(bytes, to)
    }

    fn download(&self, from: &Memory, bytes: &mut [u8]) -> Result<(), Error> {
        self.inner.download(from, bytes)
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
        self.told.lock().unwrap().texts.push(key.to_owned());
        // SAFETY: nothing is computed.
        unsafe { self.inner.run(key, listing, job, state, source, goal) }
    }
}
