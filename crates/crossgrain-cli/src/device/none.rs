//! A program without devices.

use crossgrain::Cipher;
use crossgrain::plan::Place;
use crossgrain::wisdom::DeviceCosts;
use crossgrain_search::Device;

use super::Wanted;
use crate::error::Error;

/// No work is on a device.
pub(crate) enum OnDevice {}

/// What was asked of a program without devices.
fn refused() -> Error {
    let mend = "build it with `--features gpu`, or leave --device out";
    Error::usage(format!("this program was built without GPUs: {mend}"))
}

/// Nothing can be measured.
pub(crate) fn costs(_id: &str, _ciphers: &[Cipher]) -> Result<DeviceCosts, Error> {
    Err(refused())
}

/// Nothing searches.
pub(crate) fn searcher(_id: &str) -> Result<Box<dyn Device>, Error> {
    Err(refused())
}

impl OnDevice {
    pub(super) fn named(_id: &str, _wanted: &Wanted<'_>) -> Result<Self, Error> {
        Err(refused())
    }

    pub(super) fn of_plan(_place: &Place, wanted: &Wanted<'_>) -> Option<Self> {
        wanted.on_cpu("this program was built without GPUs")
    }

    pub(crate) fn chunk_bytes(&self) -> usize {
        match *self {}
    }

    pub(crate) fn apply(&self, _counter: u128, _data: &mut [u8]) -> Result<bool, Error> {
        match *self {}
    }
}
