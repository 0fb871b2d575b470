//! Replaces the GPU benchmark in a program that is built without GPU support.

use super::Args;
use crate::error::Error;

/// Reports that GPU support is missing.
pub(super) fn run(_args: &Args) -> Result<(), Error> {
    Err(Error::usage("this program was built without GPUs: build it with `--features gpu`"))
}
