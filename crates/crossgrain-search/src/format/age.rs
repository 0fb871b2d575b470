//! age files with a passphrase, raw or armored.
//!
//! The header has one recipient of the type `scrypt`: its salt, the logarithm of scrypt's cost, and the file key
//! sealed by ChaCha20-Poly1305 under the key that scrypt derives. A passphrase is right if it
//! opens the sealed key. Source: C2SP, "The age file encryption format" (age-encryption.org/v1).

use std::io::{Read as _, SeekFrom};

use base64ct::{Base64, Base64Unpadded, Encoding as _};
use chacha20poly1305::aead::{Aead as _, KeyInit as _};
use chacha20poly1305::{ChaCha20Poly1305, Nonce};
use zeroize::Zeroizing;

use super::{Details, Format, Locked, Source, damaged, unsupported};
use crate::{Error, Kdf, Test};

const VERSION: &str = "age-encryption.org/v1";
const ARMOR: &str = "-----BEGIN AGE ENCRYPTED FILE-----";

/// The beginning of the salt of scrypt.
const LABEL: &[u8] = b"age-encryption.org/v1/scrypt";

const SALT_BYTES: usize = 16;
const FILE_KEY_BYTES: usize = 16;
const TAG_BYTES: usize = 16;
const KEY_BYTES: usize = 32;

/// The highest logarithm of the cost, as in age itself: 4 GiB of memory.
const LOG_N_MAX: u8 = 22;

/// The most bytes of a file that are read: the header with one recipient has fewer than 200.
const READ_BYTES: u64 = 4096;

pub(super) const FORMAT: Format = Format {
    name: "age",
    about: "age files with a passphrase, also armored",
    takes: &[],
    is_it: |beginning| beginning.starts_with(VERSION.as_bytes()) || beginning.starts_with(ARMOR.as_bytes()),
    read,
};

/// The file key, sealed under the derived key.
#[derive(Clone)]
struct Age {
    log_n: u8,
    sealed: Vec<u8>,
}

fn read(mut source: Box<dyn Source>, _: &Details) -> Result<Locked, Error> {
    let mut bytes = Vec::new();
    source.seek(SeekFrom::Start(0)).map_err(Error::ReadFile)?;
    source.take(READ_BYTES).read_to_end(&mut bytes).map_err(Error::ReadFile)?;
    if bytes.starts_with(ARMOR.as_bytes()) {
        bytes = without_armor(&bytes)?;
    }
    let mut lines =
        bytes.split(|&byte| byte == b'\n').map(|line| std::str::from_utf8(line).unwrap_or_default());
    if lines.next() != Some(VERSION) {
        return Err(damaged("it does not begin as a file of age version 1 does"));
    }
    let words: Vec<_> = lines.next().unwrap_or_default().split(' ').collect();
    let (salt, log_n) = match words.as_slice() {
        ["->", "scrypt", salt, log_n] => (*salt, *log_n),
        ["->", kind, ..] if *kind != "scrypt" => {
            return Err(Error::Format {
                why: format!("it is encrypted to a key ({kind}), and no passphrase opens it: use the key"),
            });
        }
        _ => return Err(damaged("its first recipient cannot be read")),
    };
    let salt = unpadded(salt, SALT_BYTES)?;
    let log_n = log_n.parse::<u8>().ok().filter(|log_n| (1..64).contains(log_n));
    let log_n = log_n.ok_or_else(|| damaged("the cost of its scrypt"))?;
    if log_n > LOG_N_MAX {
        return Err(unsupported(format_args!("scrypt with N = 2^{log_n} in an age file")));
    }
    let sealed = unpadded(lines.next().unwrap_or_default(), FILE_KEY_BYTES + TAG_BYTES)?;
    let kdf = Kdf::Scrypt { salt: [LABEL, &salt].concat(), log_n, r: 8, p: 1 };
    Ok(Locked::certain(kdf, Age { log_n, sealed }))
}

/// The bytes of an armored file, as far as they were read: whole lines of base64.
fn without_armor(bytes: &[u8]) -> Result<Vec<u8>, Error> {
    let text = String::from_utf8_lossy(bytes);
    let lines = text.lines().skip(1).take_while(|line| !line.starts_with("-----"));
    let mut base64: String = lines.map(str::trim_end).collect();
    base64.truncate(base64.len() / 4 * 4);
    Base64::decode_vec(&base64).map_err(|_| damaged("its armor has bad base64"))
}

/// Bytes in base64 without padding, of this length.
fn unpadded(text: &str, len_bytes: usize) -> Result<Vec<u8>, Error> {
    let bytes = Base64Unpadded::decode_vec(text).ok().filter(|bytes| bytes.len() == len_bytes);
    bytes.ok_or_else(|| damaged("the base64 of its recipient"))
}

/// The cipher of the file key, under a derived key.
fn cipher(key: &[u8]) -> Result<ChaCha20Poly1305, Error> {
    ChaCha20Poly1305::new_from_slice(key).map_err(|_| damaged("a key that is not of 32 bytes"))
}

impl Test for Age {
    fn name(&self) -> String {
        format!("age, scrypt with N = 2^{}", self.log_n)
    }

    fn key_bytes(&self) -> Option<usize> {
        Some(KEY_BYTES)
    }

    fn holds(&self, key: &[u8]) -> Result<bool, Error> {
        let opened = cipher(key)?.decrypt(&Nonce::default(), &*self.sealed).map(Zeroizing::new);
        Ok(opened.is_ok())
    }

    fn planted(&self, key: &[u8]) -> Result<Box<dyn Test>, Error> {
        let sealed = cipher(key)?.encrypt(&Nonce::default(), &[0; FILE_KEY_BYTES][..]);
        let sealed = sealed.map_err(|_| damaged("its file key"))?;
        Ok(Box::new(Self { sealed, ..self.clone() }))
    }
}
