//! Key search on a device: tables of inner keys stay there, outer keys come call by call.
//!
//! A call is one run, which the device's clock times: it grows until it lasts a moment, so that the start of a run counts
//! for little, and the device answers soon.

use std::sync::Arc;
use std::time::Duration;

use crossgrain::BLOCK_BYTES;
use crossgrain::internal::device::KEY_WORDS_MAX;
use crossgrain::internal::device::search::{HIT_WORDS, ROW_WORDS, Search};
use crossgrain::internal::part::search::Known;
use crossgrain_search::{Derivation, Derive, Failure, Table};
use zeroize::Zeroizing;

use super::derive::Deriver;
use super::parallel::Launch;
use super::{Device, Error, Gpu, Job};

/// Keys of the first run.
const FIRST_KEYS: usize = 1 << 20;

/// Runs grow until they last as long.
const MOMENT: Duration = Duration::from_millis(20);

/// Most outer keys of a run: as many as a moment takes on a fast device.
const OUTERS_MAX: usize = 1 << 20;

/// Hits that there is room for at least: with 16 bits known 2³⁰ keys have as many.
const ROOM_MIN: usize = 1 << 14;

/// A device that searches, and how programs that make keys of words are started there.
#[derive(Debug)]
pub struct Searcher(pub Arc<dyn Gpu>, pub Launch);

impl crossgrain_search::Device for Searcher {
    fn name(&self) -> String {
        self.0.info().id.clone()
    }

    fn table(&self, program: Search, known: &Known, keys: &[u8]) -> Result<Box<dyn Table>, Failure> {
        Ok(self.0.clone().search(program, known, keys)?)
    }

    fn derive(&self, derivation: &Derivation) -> Result<Box<dyn Derive>, Failure> {
        Ok(Box::new(Deriver::new(self.0.clone().grid(self.1)?, derivation)?))
    }
}

/// Inner keys on a device, for one program.
pub(super) struct OnDevice<D: Device> {
    device: Arc<D>,
    program: Search,
    compiled: D::Program,
    /// What is known to the program, once it is told.
    told: Option<Known>,
    keys: usize,
    bundles: usize,
    /// Outer keys of a run: that there is room for, and that are best taken.
    outers_max: usize,
    outers: usize,
    /// The rows, and the table.
    source: D::Buffer,
    source_bytes: usize,
    hits: D::Buffer,
    room: usize,
}

impl<D: Device> OnDevice<D> {
    /// A table of keys, one after another.
    ///
    /// # Errors
    /// If the driver refuses the program, or the device has no room or is lost.
    pub(super) fn new(device: &Arc<D>, program: Search, known: &Known, keys: &[u8]) -> Result<Self, Error> {
        let count = keys.len() / program.cipher().key_bytes();
        let bundles = program.bundles(count);
        let listing = program.listing(D::LANGUAGE, device.info().shared_bytes);
        let threads_max = device.info().max_groups.saturating_mul(listing.group_threads as usize);
        let outers_max = (threads_max / bundles).min(OUTERS_MAX);
        if outers_max == 0 {
            return Err(Error::Program(format!("a table of {count} keys is more than a run takes")));
        }
        let room = bundles.max(ROOM_MIN);
        let mut source = vec![0; 4 * ROW_WORDS * outers_max];
        append(&mut source, &program.table(&known.input, keys));
        let source = Zeroizing::new(source);
        let hits_bytes = 4 * HIT_WORDS * (1 + room);
        let mut on_device = Self {
            compiled: device.compile(&listing)?,
            source: device.allocate(source.len())?,
            hits: device.allocate(hits_bytes.next_multiple_of(BLOCK_BYTES))?,
            device: device.clone(),
            program,
            told: None,
            keys: count,
            bundles,
            outers_max,
            outers: (FIRST_KEYS / count.max(1)).clamp(1, outers_max),
            source_bytes: source.len(),
            room,
        };
        on_device.device.upload(&source, &mut on_device.source)?;
        Ok(on_device)
    }

    /// Tries outer keys; adds the places of those that may be right. They are no more than there is room for.
    fn run(&mut self, known: &Known, outer: &[u8], found: &mut Vec<(usize, usize)>) -> Result<(), Error> {
        let key_bytes = self.program.cipher().key_bytes();
        let outers = outer.len() / key_bytes;
        if outers == 0 {
            return Ok(());
        }
        if self.told.replace(*known) != Some(*known) {
            self.device.set_keys(&mut self.compiled, &self.program.constants(known))?;
        }
        let mut rows = Zeroizing::new(Vec::with_capacity(4 * ROW_WORDS * outers));
        append(&mut rows, &self.program.rows(&known.input, outer));
        self.device.upload(&rows, &mut self.source)?;
        self.device.upload(&[0; 4 * HIT_WORDS], &mut self.hits)?;
        let table = (self.outers_max * ROW_WORDS / 4) as u32;
        let words = self.program.job(outers as u32, self.bundles as u32, table, self.room as u32);
        let job = Job { words, threads: self.program.threads(outers, self.bundles) as u32 };
        // SAFETY: the rows and the table lie where the job says, and there is room for as many hits.
        let time = unsafe { self.device.run(&self.compiled, &job, &self.source, &mut self.hits)? };
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
        self.device.download(&self.hits, &mut bytes)?;
        let words: Vec<_> = bytes.as_chunks().0.iter().map(|word| u32::from_le_bytes(*word)).collect();
        Ok(words.as_chunks().0.to_vec())
    }
}

impl<D> Table for OnDevice<D>
where
    D: Device<Buffer: Send, Program: Send> + Send + Sync,
{
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

/// Adds words as they lie in the device's memory.
fn append(bytes: &mut Vec<u8>, words: &[u32]) {
    bytes.extend(words.iter().flat_map(|word| word.to_le_bytes()));
}

impl<D: Device> Drop for OnDevice<D> {
    fn drop(&mut self) {
        // A device that does not listen any more cannot be helped.
        let _ = self.device.set_keys(&mut self.compiled, &[0; KEY_WORDS_MAX]);
        let _ = self.device.upload(&vec![0; self.source_bytes], &mut self.source);
    }
}
