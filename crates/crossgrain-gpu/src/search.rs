//! Key search on a device. Tables of inner keys stay on the device; outer keys arrive with each call.
//!
//! A call is one run, timed by the device's clock. The number of outer keys grows until a run takes at
//! least 20 ms. Launch overhead is then small and the device still responds quickly. A list of keys is a table
//! that each call replaces, with one outer key of zeros.

use std::time::Duration;

use crossgrain::engine::device::search::{HIT_WORDS, ROW_WORDS, Search};
use crossgrain::engine::kernel::search::Known;
use crossgrain_search::{Derivation, Derive, Failure, KeyList, Table};
use zeroize::Zeroizing;

use super::derive::Deriver;
use super::gpu::{Gpu, Loaded, bytes_of};
use super::{Error, Job, Memory};

/// Number of keys in the first run.
const FIRST_KEYS: usize = 1 << 20;

/// The number of outer keys grows until a run takes this long.
const MOMENT: Duration = Duration::from_millis(20);

/// Maximum number of outer keys per run. A fast device processes this number in about 20 ms.
const OUTERS_MAX: usize = 1 << 20;

/// Minimum capacity for hits: 2³⁰ keys give this number if 16 bits are known.
const ROOM_MIN: usize = 1 << 14;

impl crossgrain_search::Device for Gpu {
    fn name(&self) -> String {
        self.info().id.clone()
    }

    fn table(&self, program: Search, known: &Known, keys: &[u8]) -> Result<Box<dyn Table>, Failure> {
        Ok(Box::new(OnDevice::new(self, program, known, keys, OUTERS_MAX)?))
    }

    fn list(&self, program: Search, known: &Known, keys_max: usize) -> Result<Box<dyn KeyList>, Failure> {
        let keys = vec![0; keys_max * program.cipher().key_bytes()];
        Ok(Box::new(Listed(OnDevice::new(self, program, known, &keys, 1)?)))
    }

    fn derive(&self, derivation: &Derivation) -> Result<Box<dyn Derive>, Failure> {
        Ok(Box::new(Deriver::new(self, derivation)?))
    }
}

/// Inner keys on a device, for one program.
struct OnDevice {
    gpu: Gpu,
    program: Search,
    compiled: Loaded,
    keys: usize,
    bundles: usize,
    /// Outer keys per run: the capacity, and the number currently preferred.
    outers_max: usize,
    outers: usize,
    /// The rows of outer keys, followed by the table.
    source: Memory,
    source_bytes: usize,
    hits: Memory,
    room: usize,
}

impl OnDevice {
    /// Uploads a table of keys, which are stored in sequence. A run takes at most `outers_max` outer keys.
    ///
    /// # Errors
    /// If the driver rejects the program, or the device has too little memory or is lost.
    fn new(gpu: &Gpu, program: Search, known: &Known, keys: &[u8], outers_max: usize) -> Result<Self, Error> {
        let count = keys.len() / program.cipher().key_bytes();
        let bundles = program.bundles(count);
        let listing = program.listing(gpu.language(), gpu.info().shared_bytes);
        let threads_max = gpu.info().max_groups.saturating_mul(listing.group_threads as usize);
        let outers_max = (threads_max / bundles).min(outers_max);
        if outers_max == 0 {
            return Err(Error::Program(format!("a table of {count} keys is more than a run takes")));
        }
        let room = bundles.max(ROOM_MIN);
        let source = source(program, known, keys, outers_max);
        let mut on_device = Self {
            compiled: gpu.compile(&listing)?,
            source: gpu.allocate(source.len())?,
            hits: gpu.allocate(4 * HIT_WORDS * (1 + room))?,
            gpu: gpu.clone(),
            program,
            keys: count,
            bundles,
            outers_max,
            outers: (FIRST_KEYS / count.max(1)).clamp(1, outers_max),
            source_bytes: source.len(),
            room,
        };
        on_device.gpu.device().upload(&source, &mut on_device.source)?;
        Ok(on_device)
    }

    /// Replaces the keys of the table. There may be at most as many as at first.
    fn refill(&mut self, known: &Known, keys: &[u8]) -> Result<(), Error> {
        self.keys = keys.len() / self.program.cipher().key_bytes();
        self.bundles = self.program.bundles(self.keys);
        let source = source(self.program, known, keys, self.outers_max);
        self.gpu.device().upload(&source, &mut self.source)
    }

    /// Tries outer keys and appends the positions of possible matches. `outer` must not exceed the
    /// capacity.
    fn run(&mut self, known: &Known, outer: &[u8], found: &mut Vec<(usize, usize)>) -> Result<(), Error> {
        let key_bytes = self.program.cipher().key_bytes();
        let outers = outer.len() / key_bytes;
        if outers == 0 {
            return Ok(());
        }
        let (device, constants) = (self.gpu.device(), self.program.constants(known));
        device.upload(&bytes_of(&self.program.rows(&known.input, outer)), &mut self.source)?;
        device.upload(&[0; 4 * HIT_WORDS], &mut self.hits)?;
        let table = (self.outers_max * ROW_WORDS / 4) as u32;
        let words = self.program.job(outers as u32, self.bundles as u32, table, self.room as u32);
        let job = Job { words, threads: self.program.threads(outers, self.bundles) as u32 };
        // SAFETY: the rows and the table are where the job says, and the buffer has the capacity that it
        // gives.
        let time =
            unsafe { self.gpu.run(&self.compiled, &job, &constants, Some(&self.source), &mut self.hits)? };
        let hits = self.download(1)?[0][0] as usize;
        if hits > self.room {
            // A single outer key gives at most one hit per bundle, and `room` is at least the number of
            // bundles.
            let half = outers / 2;
            let (first, second) = outer.split_at(half * key_bytes);
            self.run(known, first, found)?;
            let from = found.len();
            self.run(known, second, found)?;
            found[from..].iter_mut().for_each(|(outer, _)| *outer += half);
            return Ok(());
        }
        if hits > 0 {
            let places = self.download(1 + hits)?.into_iter().skip(1);
            let places = places.flat_map(|hit| self.program.places(self.bundles, hit));
            found.extend(places.filter(|&(_, inner)| inner < self.keys));
        }
        if time < MOMENT && outers == self.outers {
            self.outers = (2 * self.outers).min(self.outers_max);
        }
        Ok(())
    }

    /// Downloads the hit counter and the hits after it: `hits` entries in total.
    fn download(&self, hits: usize) -> Result<Vec<[u32; HIT_WORDS]>, Error> {
        let mut bytes = vec![0; 4 * HIT_WORDS * hits];
        self.gpu.device().download(&self.hits, &mut bytes)?;
        let words: Vec<_> = bytes.as_chunks().0.iter().map(|word| u32::from_le_bytes(*word)).collect();
        Ok(words.as_chunks().0.to_vec())
    }
}

impl Table for OnDevice {
    fn outers(&self) -> usize {
        self.outers
    }

    fn search(
        &mut self,
        known: &Known,
        outer: &[u8],
        found: &mut Vec<(usize, usize)>,
    ) -> Result<(), Failure> {
        let before = found.len();
        let key_bytes = self.program.cipher().key_bytes();
        for (at, outer) in outer.chunks(self.outers_max * key_bytes).enumerate() {
            let from = found.len();
            if let Err(error) = self.run(known, outer, found) {
                found.truncate(before);
                return Err(error.into());
            }
            found[from..].iter_mut().for_each(|(outer, _)| *outer += at * self.outers_max);
        }
        Ok(())
    }
}

/// A list of keys: a table with an outer key of zeros.
struct Listed(OnDevice);

impl KeyList for Listed {
    fn search(&mut self, known: &Known, keys: &[u8], found: &mut Vec<usize>) -> Result<(), Failure> {
        let mut places = Vec::new();
        if !keys.is_empty() {
            self.0.refill(known, keys)?;
            self.0.run(known, &vec![0; self.0.program.cipher().key_bytes()], &mut places)?;
        }
        found.extend(places.into_iter().map(|(_, place)| place));
        Ok(())
    }
}

/// The memory that a program reads: rows of zeros for outer keys, followed by a table of keys.
fn source(program: Search, known: &Known, keys: &[u8], outers_max: usize) -> Zeroizing<Vec<u8>> {
    let table = bytes_of(&program.table(&known.input, keys));
    Zeroizing::new([&vec![0; 4 * ROW_WORDS * outers_max][..], &table].concat())
}

impl Drop for OnDevice {
    fn drop(&mut self) {
        self.gpu.wipe(&mut self.source, self.source_bytes);
    }
}
