//! Encrypted files: a header, and the payload of C2SP chunked-encryption (version 1).
//!
//! The payload is salt ‖ commitment ‖ chunks. The plaintext is split into chunks of 16 KiB; the last chunk is
//! always shorter and may be empty. Each chunk is authenticated separately and followed by its tag. The
//! position of chunk k is therefore known, any thread may encrypt or decrypt it, and it can be read without
//! the others. A missing short chunk at the end reveals a truncated file.
//!
//! Key, nonces and commitment are derived from the input key, a random salt and a *context*: the bytes of the
//! header, or those that never change. A changed header or a wrong key is therefore detected before anything
//! is decrypted.
//!
//! A header of version 1 has one key or passphrase. One of version 2 has *slots*: each holds the file's random
//! key under another key, passphrase or public key, and slots can be replaced while the payload stays.
//!
//! `docs/format.md` specifies every byte. [`Encryptor`] and [`Decryptor`] are streams. They are built on
//! [`Payload`], for programs that split and place the chunks themselves.
//!
//! Invariants: no plaintext is released before its tag was verified; a salt is never used twice under one
//! key.
//!
//! ```
//! use std::io::{Read as _, Seek as _, SeekFrom, Write as _};
//! use crossgrain_container::{Decryptor, Encryptor, Header, Limits, Secret, Suite};
//! use crossgrain::mode::Options;
//!
//! let (key, options) = ([7; 32], Options::default());
//! let header = Header::of_key(Suite::Aes256Gcm);
//! let mut file = Encryptor::new(Vec::new(), &header, Secret::Key(&key), &options)?;
//! file.write_all(b"some secret text")?;
//! let sealed = std::io::Cursor::new(file.finish()?);
//!
//! let mut file = Decryptor::new(sealed, Secret::Key(&key), &Limits::default(), &options)?;
//! file.seek(SeekFrom::Start(5))?;
//! let mut text = String::new();
//! file.read_to_string(&mut text)?;
//! assert_eq!(text, "secret text");
//! # Ok::<(), crossgrain_container::Error>(())
//! ```

#![deny(unsafe_code)]

mod bech32;
mod decryptor;
mod derive;
mod encryptor;
mod error;
mod header;
mod key_file;
mod payload;
mod shared_key;
mod slots;
mod x25519;

pub use decryptor::{Decryptor, prefix};
pub use derive::{Argon2id, Limits, Secret};
pub use encryptor::Encryptor;
pub use error::{Damage, Error};
pub use header::{HEADER_BYTES_MAX, Header, Kdf};
pub use key_file::{
    IDENTITY_FILE_BYTES_MAX, KEY_FILE_BYTES_MAX, decode_hex, identities_from_file, key_from_file,
    recipients_from_file,
};
pub use payload::{
    CHUNK_BYTES, CHUNKS_MAX, PREFIX_BYTES, Payload, SEALED_CHUNK_BYTES, Suite, TAG_BYTES, plaintext_bytes,
    sealed_bytes,
};
pub use slots::{Lock, PASSPHRASES_MAX, SLOTS_MAX, SlotKind, Slots};
pub use x25519::{Identity, Recipient};

use std::io::{self, Read};

use crossgrain::engine::wipe;

/// The most chunks that a stream holds: enough to fill all lanes of EAX's tag computation, and to occupy a
/// few threads.
const GROUP_CHUNKS: usize = 64;

/// A plaintext buffer of a stream. The part that was used is overwritten when it is dropped.
struct Held {
    bytes: Vec<u8>,
    used_bytes: usize,
}

impl Held {
    fn new() -> Self {
        Self { bytes: vec![0; GROUP_CHUNKS * CHUNK_BYTES], used_bytes: 0 }
    }

    /// The first `len_bytes`, for writing.
    fn front_mut(&mut self, len_bytes: usize) -> &mut [u8] {
        self.used_bytes = self.used_bytes.max(len_bytes);
        &mut self.bytes[..len_bytes]
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        wipe(&mut self.bytes[..self.used_bytes]);
    }
}

/// Reads until the buffer is full or the input ends. Returns the number of bytes read.
///
/// # Errors
/// Any error of the input except an interruption. The bytes read before the error are lost.
pub fn fill(input: &mut impl Read, buffer: &mut [u8]) -> io::Result<usize> {
    let mut len_bytes = 0;
    fill_from(input, buffer, &mut len_bytes)?;
    Ok(len_bytes)
}

/// The same for a buffer that already holds `len_bytes`. The count is updated, also if the input fails.
fn fill_from(input: &mut impl Read, buffer: &mut [u8], len_bytes: &mut usize) -> io::Result<()> {
    while *len_bytes < buffer.len() {
        match input.read(&mut buffer[*len_bytes..]) {
            Ok(0) => break,
            Ok(count) => *len_bytes += count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}
