//! No GPUs to time.

use super::Args;
use crate::error::Error;

/// Says so.
pub(super) fn run(args: &Args) -> Result<(), Error> {
    let device = &args.device;
    Err(Error::usage(format!(
        "this program was built without GPUs, {device} among them: build it with `--features gpu`"
    )))
}
