//! Encrypted files in a web page, without WASI and without wasm-bindgen.
//!
//! A page calls [`make_room`], writes a key of 32 bytes and the data to that address, and calls [`seal_file`], [`open_file`] or
//! [`encrypt_ctr`].
//! Each returns the length of its result, which begins at [`result_address`], or −1 if it refuses the data.
//! `crates/xtask/src/wasm/page.mjs` is such a page.
//!
//! Random numbers come from the page, by its function `random`. This needs
//! `RUSTFLAGS='--cfg getrandom_backend="custom"'`. Pages by wasm-bindgen use the feature `wasm_js` instead.
//!
//! ```text
//! RUSTFLAGS='-C target-feature=+simd128 --cfg getrandom_backend="custom"' \
//!     cargo build --release --target wasm32-unknown-unknown -p crossgrain-container --example page
//! ```

use std::io::{Cursor, Read as _, Write as _};
use std::sync::{Mutex, MutexGuard, PoisonError};

use crossgrain::mode::{Ctr, Options};
use crossgrain::{Cipher, Key};
use crossgrain_container::{Decryptor, Encryptor, Error, Header, Limits, Secret, Suite};
use zeroize::Zeroize as _;

const KEY_BYTES: usize = 32;

/// The key and the data, and afterwards the result.
static ROOM: Mutex<Vec<u8>> = Mutex::new(Vec::new());

fn held() -> MutexGuard<'static, Vec<u8>> {
    ROOM.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Makes room for a key and data of `len_bytes` in all. Returns its address.
#[unsafe(no_mangle)]
pub extern "C" fn make_room(len_bytes: usize) -> *mut u8 {
    let mut room = held();
    room.zeroize();
    room.resize(len_bytes, 0);
    room.as_mut_ptr()
}

/// The address of the last result.
#[unsafe(no_mangle)]
pub extern "C" fn result_address() -> *const u8 {
    held().as_ptr()
}

/// Encrypts the data as a file.
#[unsafe(no_mangle)]
pub extern "C" fn seal_file() -> isize {
    replaced(|key, data| {
        let header = Header::of_key(Suite::Aes256Gcm);
        let mut file = Encryptor::new(Vec::new(), &header, Secret::Key(key), &Options::default())?;
        file.write_all(data).map_err(Error::from)?;
        file.finish()
    })
}

/// Decrypts a file.
#[unsafe(no_mangle)]
pub extern "C" fn open_file() -> isize {
    replaced(|key, data| {
        let mut file =
            Decryptor::new(Cursor::new(data), Secret::Key(key), &Limits::default(), &Options::default())?;
        let mut plain = Vec::new();
        file.read_to_end(&mut plain).map_err(Error::from)?;
        Ok(plain)
    })
}

/// Encrypts the data by AES-256-CTR, from a counter of zero. A real page must never use a counter twice with one key.
#[unsafe(no_mangle)]
pub extern "C" fn encrypt_ctr() -> isize {
    replaced(|key, data| {
        let mut data = data.to_vec();
        let key = Key::new(Cipher::Aes256, key)?;
        Ctr::new(&key, &[0; 16])?.apply(&mut data[..]);
        Ok(data)
    })
}

/// Replaces key and data by the result.
fn replaced(work: impl FnOnce(&[u8], &[u8]) -> Result<Vec<u8>, Error>) -> isize {
    let mut room = held();
    let Some((key, data)) = room.split_at_checked(KEY_BYTES) else { return -1 };
    let made = work(key, data);
    room.zeroize();
    match made {
        Ok(result) => {
            *room = result;
            room.len().cast_signed()
        }
        Err(_) => -1,
    }
}

/// Random numbers of the page.
#[cfg(all(target_family = "wasm", target_os = "unknown"))]
mod random {
    #[link(wasm_import_module = "env")]
    unsafe extern "C" {
        /// Writes `len_bytes` random bytes.
        fn random(at: *mut u8, len_bytes: usize);
    }

    /// The function that getrandom calls.
    ///
    /// # Safety
    /// The bytes must be writable.
    #[unsafe(no_mangle)]
    unsafe extern "Rust" fn __getrandom_v03_custom(
        at: *mut u8,
        len_bytes: usize,
    ) -> Result<(), getrandom::Error> {
        // SAFETY: getrandom gives memory of this length.
        unsafe { random(at, len_bytes) };
        Ok(())
    }
}
