//! A keyed cipher on a device. The host's blocks are uploaded, encrypted and downloaded in pieces.

use std::fmt;
use std::time::Duration;

use crossgrain::BLOCK_BYTES;
use crossgrain::engine::device::{Kernel, Listing};
use crossgrain::{Cipher as CipherName, Key};
use zeroize::Zeroizing;

use super::gpu::{Gpu, Loaded};
use super::{Error, Job, Memory, measure};

/// Maximum size of a piece in bytes.
const PIECE_BYTES: usize = 64 << 20;

/// A program, a key, and device memory for one piece.
pub struct Cipher {
    gpu: Gpu,
    kernel: Kernel,
    cipher: CipherName,
    program: Loaded,
    /// The round keys, as the program's state.
    keys: Zeroizing<Vec<u32>>,
    room: Option<Room>,
}

/// Device memory of one piece: the input, if the program reads any, and the output.
struct Room {
    source: Option<Memory>,
    goal: Memory,
    len_bytes: usize,
}

impl Cipher {
    /// Compiles a kernel for groups of `group_threads` threads and sets its key.
    ///
    /// # Errors
    /// If the key belongs to another cipher, if the program or the device does not accept this group size,
    /// if the driver rejects the program, or if the device is lost.
    pub fn new(gpu: &Gpu, kernel: Kernel, group_threads: u32, key: &Key) -> Result<Self, Error> {
        let is_taken = kernel.takes_group(gpu.language(), group_threads);
        if !is_taken || group_threads > gpu.info().max_group_threads {
            return Err(Error::Group { threads: group_threads });
        }
        // SAFETY: the listing is the kernel's own.
        unsafe { Self::listed(gpu, kernel, &kernel.listing_in(gpu.language(), group_threads), key) }
    }

    /// Compiles a listing that the caller supplies.
    ///
    /// # Errors
    /// As [`Cipher::new`].
    ///
    /// # Safety
    /// The program must accept the job and keys of `kernel`, and must access only the blocks that `kernel`
    /// accesses.
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

    /// Replaces the key, without compiling again. The new key may have any length that the cipher supports.
    ///
    /// # Errors
    /// If the key belongs to another cipher.
    pub fn set_key(&mut self, key: &Key) -> Result<(), Error> {
        if key.cipher().family() != self.kernel.family {
            return Err(Error::Key);
        }
        (self.cipher, self.keys) = (key.cipher(), self.kernel.keys(key));
        Ok(())
    }

    /// Maximum size in bytes of one upload. A call with at most this size either completes or leaves its
    /// data unchanged.
    pub fn piece_bytes(&self) -> usize {
        PIECE_BYTES.min(self.gpu.info().max_blocks * BLOCK_BYTES).max(BLOCK_BYTES)
    }

    /// Encrypts or decrypts in place. In counter mode, counters start at `first` and any length is
    /// accepted. Returns the device's computing time.
    ///
    /// # Errors
    /// If the length in ECB is not a multiple of the block size, the device has too little memory, or it is
    /// lost. In the last two cases, completed pieces keep their results and the rest is unchanged.
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

    /// As [`Cipher::apply`], with all data on the device at once.
    ///
    /// # Errors
    /// As [`Cipher::apply`], but `piece` is then unchanged.
    pub fn apply_at_once(&mut self, counter: u128, piece: &mut [u8]) -> Result<Duration, Error> {
        if let Some(source) = &mut reserved(&self.gpu, &mut self.room, self.kernel, piece.len())?.source {
            self.gpu.device().upload(piece, source)?;
        }
        let time = self.run(counter, piece.len())?;
        let room = reserved(&self.gpu, &mut self.room, self.kernel, piece.len())?;
        self.gpu.device().download(&room.goal, piece)?;
        Ok(time)
    }

    /// Runs the program on the present contents of the device's memory, which are unspecified unless data
    /// were uploaded. Returns the device's computing time.
    ///
    /// # Errors
    /// If the device has too little memory, or is lost.
    pub fn run(&mut self, first: u128, len_bytes: usize) -> Result<Duration, Error> {
        let blocks = len_bytes.div_ceil(BLOCK_BYTES) as u32;
        let job =
            Job { words: self.kernel.job(self.cipher, blocks, first), threads: self.kernel.threads(blocks) };
        let room = reserved(&self.gpu, &mut self.room, self.kernel, len_bytes)?;
        // SAFETY: `reserved` allocates at least as many blocks as the job gives.
        unsafe { self.gpu.run(&self.program, &job, &self.keys, room.source.as_ref(), &mut room.goal) }
    }

    /// Duration of a run on `len_bytes` bytes, measured by the host.
    ///
    /// # Errors
    /// As [`Cipher::run`].
    pub fn measure_run(&mut self, len_bytes: usize) -> Result<Duration, Error> {
        measure::fastest(|| self.run(0, len_bytes).map(drop))
    }
}

/// Returns memory for at least `len_bytes` bytes. It is kept for later calls.
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
