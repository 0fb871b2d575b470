//! Random numbers of the browser. getrandom calls this function because of
//! `--cfg getrandom_backend="custom"`, which `cargo xtask page` sets.

#[link(wasm_import_module = "env")]
unsafe extern "C" {
    /// Writes `len_bytes` random bytes.
    fn random(at: *mut u8, len_bytes: usize);
}

/// Fills memory with random bytes.
///
/// # Safety
/// The bytes must be writable.
#[unsafe(no_mangle)]
unsafe extern "Rust" fn __getrandom_v03_custom(
    at: *mut u8,
    len_bytes: usize,
) -> Result<(), getrandom::Error> {
    // SAFETY: the caller provides memory of this length.
    unsafe { random(at, len_bytes) };
    Ok(())
}
