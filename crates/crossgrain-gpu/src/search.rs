//! Key search on a device: tables of inner keys stay there, outer keys come call by call.
//!
//! A call is one run, which the device's clock times: it grows until it lasts a moment, so that the start of a run counts
//! for little, and the device answers soon.

use std::time::Duration;

use crossgrain::internal::device::search::{HIT_WORDS, ROW_WORDS, Search};
use crossgrain::internal::part::search::Known;
use crossgrain_search::{Derivation, Derive, Failure, Table};
use zeroize::Zeroizing;

use super::derive::Deriver;
use super::gpu::{Gpu, Loaded, bytes_of};
use super::{Error, Job, Memory};

/// Keys of the first run.
const FIRST_KEYS: usize = 1 << 20;

/// Runs grow until they last as long.
const MOMENT: Duration = Duration::from_millis(20);

/// Most outer keys of a run: as many as a moment takes on a fast device.
const OUTERS_MAX: usize = 1 << 20;

/// Hits that there is room for at least: with 16 bits known 2³⁰ keys have as many.
const ROOM_MIN: usize = 1 << 14;

impl crossgrain_search::Device for Gpu {
    fn name(&self) -> String {
        self.info().id.clone()
    }

    fn table(&self, program: Search, known: &Known, keys: &[u8]) -> Result<Box<dyn Table>, Failure> {
        Ok(Box::new(OnDevice::new(self, program, known, keys)?))
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
    /// Outer keys of a run: that there is room for, and that are best taken.
    outers_max: usize,
    outers: usize,
    /// The rows, and the table.
    source: Memory,
    source_bytes: usize,
    hits: Memory,
    room: usize,
}

impl OnDevice {
    /// A table of keys, one after another.
    ///
    /// # Errors
    /// If the driver refuses the program, or the device has no room or is lost.
    fn new(gpu: &Gpu, program: Search, known: &Known, keys: &[u8]) -> Result<Self, Error> {
        let count = keys.len() / program.cipher().key_bytes();
        let bundles = program.bundles(count);
        let listing = program.listing(gpu.language(), gpu.info().shared_bytes);
        let threads_max = gpu.info().max_groups.saturating_mul(listing.group_threads as usize);
        let outers_max = (threads_max / bundles).min(OUTERS_MAX);
        if outers_max == 0 {
            return Err(Error::Program(format!("a table of {count} keys is more than a run takes")));
        }
        let room = bundles.max(ROOM_MIN);
        let table = bytes_of(&program.table(&known.input, keys));
        let source = Zeroizing::new([&vec![0; 4 * ROW_WORDS * outers_max][..], &table].concat());
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

    /// Tries outer keys; adds the places of those that may be right. They are no more than there is room for.
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
        // SAFETY: the rows and the table lie where the job says, and there is room for as many hits.
        let time =
            unsafe { self.gpu.run(&self.compiled, &job, &constants, Some(&self.source), &mut self.hits)? };
        let hits = self.download(1)?[0][0] as usize;
        if hits > self.room {
            // One outer key alone has no more hits than bundles, for which there is room.
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

    /// The beginning of what the program has written.
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

impl Drop for OnDevice {
    fn drop(&mut self) {
        self.gpu.wipe(&mut self.source, self.source_bytes);
    }
}
