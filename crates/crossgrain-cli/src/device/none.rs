//! A program without devices.

use super::Wanted;
use crate::error::Error;

/// No work is on a device.
pub(crate) enum OnDevice {}

impl OnDevice {
    pub(super) fn named(_id: &str, _wanted: &Wanted<'_>) -> Result<Self, Error> {
        Err(Error::usage(
            "this program was built without GPUs: build it with `--features gpu`, or leave --device out",
        ))
    }

    pub(super) fn fastest(wanted: &Wanted<'_>) -> Option<Self> {
        if wanted.explain {
            crate::error::tell("device cpu: this program was built without GPUs");
        }
        None
    }

    pub(crate) fn chunk_bytes(&self) -> usize {
        match *self {}
    }

    pub(crate) fn apply(&self, _counter: u128, _data: &mut [u8]) -> Result<bool, Error> {
        match *self {}
    }
}
