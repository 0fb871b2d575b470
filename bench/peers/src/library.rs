//! Libraries found at run time: opening them and looking their functions up.
//!
//! All `unsafe` of this program is here and in the peers that are such libraries.

use std::error::Error;

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
pub(crate) fn reason(error: &libloading::Error) -> String {
    match error.source() {
        Some(linker) => format!("{error}: {linker}"),
        None => error.to_string(),
    }
}
