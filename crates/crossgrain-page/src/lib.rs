//! The WebAssembly part of the browser page (`docs/browser.md`).
//!
//! The page's worker calls these functions for one file at a time. It writes bytes to the address that
//! [`room`] returns, calls a function, and reads the bytes of [`answer_address`]. Functions that can fail
//! return the number of bytes of the answer, or −1 after an error. The answer is then the error message.
//!
//! The order of calls for a file: [`take_secret`], [`seal_file`] or [`open_file`], and [`seal`] or [`open`]
//! for groups of chunks. For the AES-GCM suites, other workers compute whole chunks by WebCrypto instead.
//! Their key comes from [`take_key`] and their nonces from [`nonces`]. The last, short chunk always comes
//! here, so that this crate decides whether a file is complete. [`close`] overwrites all secrets.
//!
//! Numbers of chunks are `f64`, because scripts have no 64-bit integers without conversion. They are exact:
//! a file has at most 2³⁸ chunks.

mod file;
#[cfg(all(target_family = "wasm", target_os = "unknown"))]
mod random;

use std::sync::{Mutex, MutexGuard, PoisonError};

use crossgrain_container::{
    CHUNK_BYTES, HEADER_BYTES_MAX, KEY_FILE_BYTES_MAX, PREFIX_BYTES, SEALED_CHUNK_BYTES,
};

use file::{OpenFile, suite_names};

/// The only file. A worker has one instance of this program, and ends with its file.
static FILE: Mutex<OpenFile> = Mutex::new(OpenFile::NONE);

fn file() -> MutexGuard<'static, OpenFile> {
    FILE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Runs a function and returns the number of bytes of its answer, or −1 after an error.
fn answered(work: impl FnOnce(&mut OpenFile) -> Result<(), String>) -> isize {
    let mut file = file();
    match work(&mut file) {
        Ok(()) => file.answer().len().cast_signed(),
        Err(message) => {
            file.set_answer(message.as_bytes());
            -1
        }
    }
}

/// Allocates `len_bytes` for the input of the next call. Returns their address. The previous input is
/// overwritten.
#[unsafe(no_mangle)]
pub extern "C" fn room(len_bytes: usize) -> *mut u8 {
    file().make_room(len_bytes).as_mut_ptr()
}

/// The address of the last answer.
#[unsafe(no_mangle)]
pub extern "C" fn answer_address() -> *const u8 {
    file().answer().as_ptr()
}

/// The length of the last answer in bytes.
#[unsafe(no_mangle)]
pub extern "C" fn answer_bytes() -> usize {
    file().answer().len()
}

/// Overwrites the last answer.
#[unsafe(no_mangle)]
pub extern "C" fn wipe_answer() {
    file().set_answer(&[]);
}

/// Bytes of plaintext in a whole chunk.
#[unsafe(no_mangle)]
pub extern "C" fn chunk_bytes() -> usize {
    CHUNK_BYTES
}

/// Bytes of a whole chunk with its tag.
#[unsafe(no_mangle)]
pub extern "C" fn sealed_chunk_bytes() -> usize {
    SEALED_CHUNK_BYTES
}

/// The most bytes before the first chunk of a file.
#[unsafe(no_mangle)]
pub extern "C" fn head_bytes_max() -> usize {
    HEADER_BYTES_MAX + PREFIX_BYTES
}

/// Key files are shorter than this.
#[unsafe(no_mangle)]
pub extern "C" fn key_file_bytes_max() -> usize {
    KEY_FILE_BYTES_MAX
}

/// Answers the names of all suites, one a line. Their order gives the numbers for [`seal_file`].
#[unsafe(no_mangle)]
pub extern "C" fn suites() -> isize {
    answered(|file| {
        file.set_answer(suite_names().as_bytes());
        Ok(())
    })
}

/// Takes the secret of the next file from the room: the content of a key file, or a passphrase.
#[unsafe(no_mangle)]
pub extern "C" fn take_secret(is_key: u32) -> isize {
    answered(|file| file.take_secret(is_key != 0))
}

/// Begins a new file under the suite of this number. Answers the bytes before the first chunk.
#[unsafe(no_mangle)]
pub extern "C" fn seal_file(suite: usize) -> isize {
    answered(|file| file.begin_sealing(suite))
}

/// Begins to open the file whose first bytes are in the room, at least [`head_bytes_max`] if it has as many.
/// Answers the name of its suite.
#[unsafe(no_mangle)]
pub extern "C" fn open_file() -> isize {
    answered(OpenFile::begin_opening)
}

/// The number of bytes before the first chunk of the file.
#[unsafe(no_mangle)]
pub extern "C" fn head_bytes() -> usize {
    file().head_bytes()
}

/// Answers the key of the file's chunks if WebCrypto has their cipher, and otherwise nothing. The key is
/// overwritten here. Call [`wipe_answer`] after it was imported.
#[unsafe(no_mangle)]
pub extern "C" fn take_key() -> isize {
    answered(OpenFile::take_key)
}

/// Answers the nonces of consecutive chunks, one after another. When sealing, these chunks count as sealed.
#[unsafe(no_mangle)]
pub extern "C" fn nonces(first: f64, chunks: usize) -> isize {
    answered(|file| file.nonces(first as u64, chunks))
}

/// Seals the plaintext in the room, from chunk `first` on. Answers the sealed chunks.
#[unsafe(no_mangle)]
pub extern "C" fn seal(first: f64, is_last: u32) -> isize {
    answered(|file| file.seal(first as u64, is_last != 0))
}

/// Opens the sealed chunks in the room, from chunk `first` on. Answers the plaintext if all are authentic.
#[unsafe(no_mangle)]
pub extern "C" fn open(first: f64, is_last: u32) -> isize {
    answered(|file| file.open(first as u64, is_last != 0))
}

/// Overwrites everything.
#[unsafe(no_mangle)]
pub extern "C" fn close() {
    file().close();
}
