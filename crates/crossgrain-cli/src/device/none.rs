//! Replaces the device module in a program that is built without GPU support.

use crossgrain::Cipher;
use crossgrain::plan::Place;
use crossgrain::wisdom::DeviceCosts;
use crossgrain_search::Device;

use super::Wanted;
use crate::error::Error;

/// Work on a device, which does not exist in this build.
pub(crate) enum OnDevice {}

/// The error for any request for a device.
fn refused() -> Error {
    let mend = "build it with `--features gpu`, or leave --device out";
    Error::usage(format!("this program was built without GPUs: {mend}"))
}

/// There are no drivers.
pub(crate) const fn quiet_drivers() {}

/// Measuring is not supported.
pub(crate) fn costs(_id: &str, _ciphers: &[Cipher]) -> Result<DeviceCosts, Error> {
    Err(refused())
}

/// Searching is not supported.
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
