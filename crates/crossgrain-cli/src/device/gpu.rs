//! Work on a device that this machine has.

use std::sync::{Mutex, PoisonError};

use crossgrain::block::BLOCK_BYTES;
use crossgrain_gpu::{Bulk, choose};

use super::Wanted;
use crate::error::{self, Error, Exit};

/// Bytes that go to a device at once: enough to outweigh what a run costs by itself, while the few pieces that are under
/// way fit any memory.
const CHUNK_BYTES: usize = 8 << 20;

/// Work that a device does.
pub(crate) struct OnDevice {
    id: String,
    /// Nothing once the device has failed.
    bulk: Mutex<Option<Box<dyn Bulk>>>,
    chunk_bytes: usize,
    /// Whether no other will do.
    is_demanded: bool,
    explain: bool,
}

impl OnDevice {
    /// The device of this name.
    pub(super) fn named(id: &str, wanted: &Wanted<'_>) -> Result<Self, Error> {
        Self::open(id, wanted, true).map_err(|error| failed(id, &error))
    }

    /// The fastest device, if any is faster than the CPU.
    pub(super) fn fastest(wanted: &Wanted<'_>) -> Option<Self> {
        Self::open("gpu", wanted, false)
            .inspect_err(|error| {
                if wanted.explain {
                    error::tell(&format!("device cpu: {error}"));
                }
            })
            .ok()
    }

    fn open(id: &str, wanted: &Wanted<'_>, is_demanded: bool) -> Result<Self, crossgrain_gpu::Error> {
        let device = choose(id)?;
        let info = device.info().clone();
        let bulk = device.cipher(wanted.kernel, wanted.key)?;
        if wanted.explain {
            error::tell(&format!("device {}: {} on {}", info.id, wanted.kernel.name(), info.name));
        }
        Ok(Self::new(info.id, bulk, is_demanded, wanted.explain))
    }

    fn new(id: String, bulk: Box<dyn Bulk>, is_demanded: bool, explain: bool) -> Self {
        // Blocks, so that counters stand where chunks begin.
        let chunk_bytes = CHUNK_BYTES.min(bulk.piece_bytes()).next_multiple_of(BLOCK_BYTES);
        Self { id, bulk: Mutex::new(Some(bulk)), chunk_bytes, is_demanded, explain }
    }

    /// Most bytes of a call.
    pub(crate) fn chunk_bytes(&self) -> usize {
        self.chunk_bytes
    }

    /// Replaces a chunk, whose first block has this counter, if it has any. False if the CPU has to do it.
    pub(crate) fn apply(&self, counter: u128, data: &mut [u8]) -> Result<bool, Error> {
        let mut bulk = self.bulk.lock().unwrap_or_else(PoisonError::into_inner);
        match bulk.as_mut().map(|bulk| bulk.apply(counter, data)) {
            None => Ok(false),
            Some(Ok(_)) => Ok(true),
            Some(Err(error)) if self.is_demanded => Err(failed(&self.id, &error)),
            Some(Err(error)) => {
                *bulk = None;
                if self.explain {
                    error::tell(&format!("device cpu from here on: {}: {error}", self.id));
                }
                Ok(false)
            }
        }
    }
}

fn failed(id: &str, error: &crossgrain_gpu::Error) -> Error {
    Error::new(Exit::InputOutput, format!("{id}: {error}"))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test")]

    use std::time::Duration;

    use super::*;

    /// A device that adds one to every byte, so many times.
    struct Fragile(usize);

    impl Bulk for Fragile {
        fn piece_bytes(&self) -> usize {
            1 << 10
        }

        fn apply(&mut self, _first: u128, data: &mut [u8]) -> Result<Duration, crossgrain_gpu::Error> {
            self.0 = self.0.checked_sub(1).ok_or(crossgrain_gpu::Error::Lost("unplugged".to_owned()))?;
            data.iter_mut().for_each(|byte| *byte += 1);
            Ok(Duration::ZERO)
        }
    }

    fn fragile(is_demanded: bool) -> OnDevice {
        OnDevice::new("cuda:7".to_owned(), Box::new(Fragile(2)), is_demanded, false)
    }

    #[test]
    fn what_a_lost_device_leaves_is_the_cpu_s() {
        let (device, mut data) = (fragile(false), [0; 64]);
        assert_eq!(device.chunk_bytes(), 1 << 10);
        for is_done in [true, true, false, false] {
            assert_eq!(device.apply(0, &mut data).unwrap(), is_done);
        }
        assert_eq!(data, [2; 64]);
    }

    #[test]
    fn a_lost_device_that_was_asked_for_is_an_error() {
        let (device, mut data) = (fragile(true), [0; 64]);
        assert!(device.apply(0, &mut data).unwrap() && device.apply(0, &mut data).unwrap());
        let told = format!("{:?}", device.apply(0, &mut data).unwrap_err());
        assert!(told.contains("cuda:7: the device was lost (unplugged)"), "{told}");
        assert_eq!(data, [2; 64]);
    }
}
