//! A keyed cipher on a device: a host's blocks go there and come back in pieces.

use std::fmt;
use std::time::Duration;

use crossgrain::BLOCK_BYTES;
use crossgrain::internal::device::{Kernel, Listing};
use crossgrain::{Cipher as CipherName, Key};
use zeroize::Zeroizing;

use super::gpu::{Gpu, Loaded};
use super::{Error, Job, Memory, measure};

/// Most bytes of a piece.
const PIECE_BYTES: usize = 64 << 20;

/// A program, a key, and the device's memory for a piece.
pub struct Cipher {
    gpu: Gpu,
    kernel: Kernel,
    cipher: CipherName,
    program: Loaded,
    /// The round keys, which are the program's state.
    keys: Zeroizing<Vec<u32>>,
    room: Option<Room>,
}

/// Where a piece comes from, if it is read, and where it goes.
struct Room {
    source: Option<Memory>,
    goal: Memory,
    len_bytes: usize,
}

impl Cipher {
    /// A program with a key, by groups of so many threads.
    ///
    /// # Errors
    /// If the key is of another cipher, the program or the device takes no such groups, the driver refuses the program, or the
    /// device is lost.
    pub fn new(gpu: &Gpu, kernel: Kernel, group_threads: u32, key: &Key) -> Result<Self, Error> {
        let is_taken = kernel.takes_group(gpu.language(), group_threads);
        if !is_taken || group_threads > gpu.info().max_group_threads {
            return Err(Error::Group { threads: group_threads });
        }
        // SAFETY: it is the program's own text.
        unsafe { Self::listed(gpu, kernel, &kernel.listing_in(gpu.language(), group_threads), key) }
    }

    /// A program of which the text is somebody else's.
    ///
    /// # Errors
    /// As [`Cipher::new`].
    ///
    /// # Safety
    /// The program must take the job and the keys that `kernel` takes, and touch no more of the blocks.
    pub unsafe fn listed(gpu: &Gpu, kernel: Kernel, listing: &Listing, key: &Key) -> Result<Self, Error> {
        if key.cipher().family() != kernel.family {
            return Err(Error::Key);
        }
        if !gpu.info().takes(kernel, gpu.language()) {
            let needs = kernel.shared_bytes(gpu.language());
            return Err(Error::Program(format!("it needs {needs} bytes of shared memory")));
        }
        let (program, keys) = (gpu.compile(listing)?, kernel.keys(key));
        Ok(Self { gpu: gpu.clone(), kernel, cipher: key.cipher(), program, keys, room: None })
    }

    /// Goes on by another key, of any length that the cipher has: the program stays as it was compiled.
    ///
    /// # Errors
    /// If the key is of another cipher.
    pub fn set_key(&mut self, key: &Key) -> Result<(), Error> {
        if key.cipher().family() != self.kernel.family {
            return Err(Error::Key);
        }
        (self.cipher, self.keys) = (key.cipher(), self.kernel.keys(key));
        Ok(())
    }

    /// Most bytes that go to the device at once: a call with no more is done wholly, or not at all.
    pub fn piece_bytes(&self) -> usize {
        PIECE_BYTES.min(self.gpu.info().max_blocks * BLOCK_BYTES).max(BLOCK_BYTES)
    }

    /// Enciphers or deciphers in place. Counters begin at `first`, and then any number of bytes will do. Gives back the time
    /// that the device computed.
    ///
    /// # Errors
    /// If ECB is given no whole number of blocks, or the device has no room or is lost: then the pieces that were done
    /// stand, and the rest is as it was.
    pub fn apply(&mut self, first: u128, data: &mut [u8]) -> Result<Duration, Error> {
        if !self.kernel.task.counts() && !data.len().is_multiple_of(BLOCK_BYTES) {
            return Err(Error::Length { len_bytes: data.len() });
        }
        let (mut time, mut counter) = (Duration::ZERO, first);
        for piece in data.chunks_mut(self.piece_bytes()) {
            time += self.apply_at_once(counter, piece)?;
            counter = counter.wrapping_add((piece.len() / BLOCK_BYTES) as u128);
        }
        Ok(time)
    }

    /// The same with all the data on the device at once.
    ///
    /// # Errors
    /// As [`Cipher::apply`]; then nothing was done.
    pub fn apply_at_once(&mut self, counter: u128, piece: &mut [u8]) -> Result<Duration, Error> {
        if let Some(source) = &mut reserved(&self.gpu, &mut self.room, self.kernel, piece.len())?.source {
            self.gpu.device().upload(piece, source)?;
        }
        let time = self.run(counter, piece.len())?;
        let room = reserved(&self.gpu, &mut self.room, self.kernel, piece.len())?;
        self.gpu.device().download(&room.goal, piece)?;
        Ok(time)
    }

    /// Computes on what the device's memory holds, of which nothing is known unless it was copied there. Gives back the time
    /// that the device computed.
    ///
    /// # Errors
    /// If the device has no room for so many bytes, or is lost.
    pub fn run(&mut self, first: u128, len_bytes: usize) -> Result<Duration, Error> {
        let blocks = len_bytes.div_ceil(BLOCK_BYTES) as u32;
        let job =
            Job { words: self.kernel.job(self.cipher, blocks, first), threads: self.kernel.threads(blocks) };
        let room = reserved(&self.gpu, &mut self.room, self.kernel, len_bytes)?;
        // SAFETY: there is room for as many blocks as the job says.
        unsafe { self.gpu.run(&self.program, &job, &self.keys, room.source.as_ref(), &mut room.goal) }
    }

    /// How long a run on so many bytes takes as the host sees it.
    ///
    /// # Errors
    /// As [`Cipher::run`].
    pub fn measure_run(&mut self, len_bytes: usize) -> Result<Duration, Error> {
        measure::fastest(|| self.run(0, len_bytes).map(drop))
    }
}

/// Room for so many bytes at least, which stays.
fn reserved<'room>(
    gpu: &Gpu,
    room: &'room mut Option<Room>,
    kernel: Kernel,
    len_bytes: usize,
) -> Result<&'room mut Room, Error> {
    let large_enough = match room.take().filter(|room| room.len_bytes >= len_bytes) {
        Some(room) => room,
        None => {
            let source = kernel.task.reads_source().then(|| gpu.allocate(len_bytes)).transpose()?;
            Room { source, goal: gpu.allocate(len_bytes)?, len_bytes }
        }
    };
    Ok(room.insert(large_enough))
}

impl Drop for Cipher {
    fn drop(&mut self) {
        if let Some(Room { source, goal, len_bytes }) = &mut self.room {
            source.iter_mut().chain([goal]).for_each(|memory| self.gpu.wipe(memory, *len_bytes));
        }
    }
}

impl fmt::Debug for Cipher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Cipher({} on {}, secret)", self.kernel.name(), self.gpu.info().id)
    }
}
