//! No GPUs to time.

use super::Args;
use crate::error::Error;

/// Says so.
pub(super) fn run(_args: &Args) -> Result<(), Error> {
    Err(Error::usage("this program was built without GPUs: build it with `--features gpu`"))
}
