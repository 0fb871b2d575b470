//! Systems without Unix's files: archives are not packed or unpacked.

use super::args::{DecryptArgs, EncryptArgs, WorkArgs};
use super::decrypt::Sealed;
use crate::error::Error;

pub(super) fn encrypt(_args: &EncryptArgs) -> Result<(), Error> {
    Err(refused())
}

pub(super) fn decrypt(_args: &DecryptArgs) -> Result<(), Error> {
    Err(refused())
}

pub(super) fn list(_sealed: &mut Sealed, _work: &WorkArgs) -> Result<u64, Error> {
    Err(refused())
}

fn refused() -> Error {
    Error::usage("this system has no archives: pack and unpack with tar, and encrypt its output")
}
