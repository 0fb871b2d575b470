//! A stub for systems other than x86-64 Linux, on which tracing is not supported.

use std::process::Command;

use super::Run;
use crate::Result;

/// Returns an error.
///
/// # Errors
/// Always.
pub(super) fn trace(_program: Command, _entry: u64, _each: impl FnMut(Run)) -> Result<()> {
    Err("instructions are counted on x86-64 under Linux only".into())
}
