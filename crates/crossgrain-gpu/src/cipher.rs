//! A keyed cipher on a device: a host's blocks go there and come back in pieces.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use crossgrain::BLOCK_BYTES;
use crossgrain::internal::device::{KEY_WORDS_MAX, Kernel, Listing};
use crossgrain::{Cipher as CipherName, Key};

use super::{Device, Error, Job};

/// Most bytes of a piece.
const PIECE_BYTES: usize = 64 << 20;

/// A program, a key, and the device's memory for a piece.
pub struct Cipher<D: Device> {
    device: Arc<D>,
    kernel: Kernel,
    cipher: CipherName,
    program: D::Program,
    room: Option<Room<D::Buffer>>,
}

/// Where a piece comes from, and where it goes.
struct Room<Buffer> {
    source: Buffer,
    goal: Buffer,
    len_bytes: usize,
}

impl<D: Device> Cipher<D> {
    /// A program with a key.
    ///
    /// # Errors
    /// If the key is of another cipher, the driver refuses the program, or the device is lost.
    pub fn new(device: &Arc<D>, kernel: Kernel, key: &Key) -> Result<Self, Error> {
        // SAFETY: it is the program's own text.
        unsafe { Self::listed(device, kernel, &kernel.listing(D::LANGUAGE), key) }
    }

    /// A program of which the text is somebody else's.
    ///
    /// # Errors
    /// As [`Cipher::new`].
    ///
    /// # Safety
    /// The program must take the job and the keys that `kernel` takes, and touch no more of the blocks.
    pub unsafe fn listed(
        device: &Arc<D>,
        kernel: Kernel,
        listing: &Listing,
        key: &Key,
    ) -> Result<Self, Error> {
        if key.cipher().family() != kernel.family {
            return Err(Error::Key);
        }
        if !device.info().takes(kernel, D::LANGUAGE) {
            let needs = kernel.shared_bytes(D::LANGUAGE);
            return Err(Error::Program(format!("it needs {needs} bytes of shared memory")));
        }
        let program = device.compile(listing)?;
        let mut new = Self { device: device.clone(), kernel, cipher: key.cipher(), program, room: None };
        new.set_key(key)?;
        Ok(new)
    }

    /// Goes on by another key, of any length that the cipher has: the program stays as it was compiled.
    ///
    /// # Errors
    /// If the key is of another cipher, or the device is lost.
    pub fn set_key(&mut self, key: &Key) -> Result<(), Error> {
        if key.cipher().family() != self.kernel.family {
            return Err(Error::Key);
        }
        self.device.set_keys(&mut self.program, &self.kernel.keys(key))?;
        self.cipher = key.cipher();
        Ok(())
    }

    /// Most bytes that go to the device at once: a call with no more is done wholly, or not at all.
    pub fn piece_bytes(&self) -> usize {
        PIECE_BYTES.min(self.device.info().max_blocks * BLOCK_BYTES).max(BLOCK_BYTES)
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
        let len_bytes = piece.len().next_multiple_of(BLOCK_BYTES);
        let device = &*self.device;
        if self.kernel.task.reads_source() {
            device.upload(piece, &mut reserved(device, &mut self.room, len_bytes)?.source)?;
        }
        let time = self.run(counter, len_bytes)?;
        let device = &*self.device;
        device.download(&reserved(device, &mut self.room, len_bytes)?.goal, piece)?;
        Ok(time)
    }

    /// Computes on what the device's memory holds, of which nothing is known unless it was copied there. Gives back the time
    /// that the device computed.
    ///
    /// # Errors
    /// If the device has no room for so many bytes, or is lost.
    pub fn run(&mut self, first: u128, len_bytes: usize) -> Result<Duration, Error> {
        let len_bytes = len_bytes.next_multiple_of(BLOCK_BYTES);
        let blocks = (len_bytes / BLOCK_BYTES) as u32;
        let job =
            Job { words: self.kernel.job(self.cipher, blocks, first), threads: self.kernel.threads(blocks) };
        let room = reserved(&*self.device, &mut self.room, len_bytes)?;
        // SAFETY: there is room for as many blocks as the job says.
        unsafe { self.device.run(&self.program, &job, &room.source, &mut room.goal) }
    }
}

/// Room for so many bytes at least, which stays.
fn reserved<'room, D: Device>(
    device: &D,
    room: &'room mut Option<Room<D::Buffer>>,
    len_bytes: usize,
) -> Result<&'room mut Room<D::Buffer>, Error> {
    let large_enough = room.take().filter(|room| room.len_bytes >= len_bytes);
    let large_enough = match large_enough {
        Some(room) => room,
        None => Room { source: device.allocate(len_bytes)?, goal: device.allocate(len_bytes)?, len_bytes },
    };
    Ok(room.insert(large_enough))
}

impl<D: Device> Drop for Cipher<D> {
    fn drop(&mut self) {
        // A device that does not listen any more cannot be helped.
        if let Some(room) = &mut self.room {
            let zeros = vec![0; room.len_bytes];
            let _ = self.device.upload(&zeros, &mut room.source);
            let _ = self.device.upload(&zeros, &mut room.goal);
        }
        let _ = self.device.set_keys(&mut self.program, &[0; KEY_WORDS_MAX]);
    }
}

impl<D: Device> fmt::Debug for Cipher<D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Cipher({} on {}, secret)", self.kernel.name(), self.device.info().id)
    }
}
