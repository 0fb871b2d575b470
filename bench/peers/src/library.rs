//! Libraries found at run time: opening them and looking their functions up.
//!
//! All `unsafe` of this program is here and in the peers that are such libraries.

use std::error::Error;
use std::fmt::Display;

/// The first of some files that can be opened, or why none can.
pub(crate) fn open_first<L>(
    what: &str,
    files: &[&str],
    open: impl Fn(&str) -> Result<L, String>,
) -> Result<L, String> {
    let mut reasons = Vec::new();
    for file in files {
        match open(file) {
            Ok(library) => return Ok(library),
            Err(reason) => reasons.push(reason),
        }
    }
    Err(format!("no {what}: {}", reasons.join("; ")))
}

/// Opens one.
pub(crate) fn open(file: &str) -> Result<libloading::Library, String> {
    // SAFETY: loading runs the library's own start-up code, which asks nothing of its caller.
    unsafe { libloading::Library::new(file) }.map_err(|e| reason(&e))
}

/// Looks a function up.
///
/// # Safety
///
/// `F` must be a function pointer of the type the function has in C, not called after `handle` is
/// dropped.
pub(crate) unsafe fn symbol<F: Copy>(handle: &libloading::Library, name: &str) -> Result<F, String> {
    // SAFETY: the caller vouches for the type.
    unsafe { handle.get::<F>(name) }.map(|symbol| *symbol).map_err(|e| reason(&e))
}

/// What the dynamic linker said, which an error of `libloading` keeps one level down.
fn reason(error: &libloading::Error) -> String {
    match error.source() {
        Some(linker) => format!("{error}: {linker}"),
        None => error.to_string(),
    }
}

/// A call's answer, given that it is `success` when all went well.
pub(crate) fn succeeded<A: PartialEq + Display>(answer: A, success: A, function: &str) -> Result<(), String> {
    if answer == success {
        return Ok(());
    }
    Err(format!("{function} failed ({answer})"))
}
