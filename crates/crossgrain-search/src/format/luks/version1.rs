//! The header of LUKS1: fields at fixed offsets, numbers big-endian, and eight key slots.

use super::{Digest, Slot, hash, iterations, read_stripes};
use crate::format::sectors::{Encryption, SECTOR_BYTES};
use crate::format::{Source, damaged, read_at};
use crate::{Error, Kdf};

/// Bytes of the header.
const HEADER_BYTES: usize = 592;

const SLOT_COUNT: usize = 8;
const SLOTS_FROM: usize = 208;
const SLOT_BYTES: usize = 48;
const SALT_BYTES: usize = 32;

/// The bytes of a digest.
const DIGEST_BYTES: usize = 20;

/// The state of a slot that has a passphrase.
const ACTIVE: u32 = 0x00ac_71f3;

/// The slots with a passphrase, or the given one of them.
pub(super) fn slots(source: &mut dyn Source, only: Option<u32>) -> Result<Vec<Slot>, Error> {
    let mut header = [0; HEADER_BYTES];
    read_at(source, 0, &mut header)?;
    let [cipher, mode, hash_name] = [8, 40, 72].map(|from| text(&header[from..from + 32]));
    let (cipher, mode, hash) = (cipher?, mode?, hash(hash_name?)?);
    let key_bytes = number(&header, 108) as usize;
    let digest = Digest {
        hash,
        salt: header[132..132 + SALT_BYTES].to_vec(),
        iterations: iterations(number(&header, 164))?,
        value: header[112..112 + DIGEST_BYTES].to_vec(),
    };
    let mut slots = Vec::new();
    for index in 0..SLOT_COUNT {
        let slot = &header[SLOTS_FROM + index * SLOT_BYTES..][..SLOT_BYTES];
        if number(slot, 0) != ACTIVE || only.is_some_and(|only| only as usize != index) {
            continue;
        }
        let from = u64::from(number(slot, 40)) * SECTOR_BYTES as u64;
        let (sectors, stripes_bytes) = read_stripes(source, from, (key_bytes, number(slot, 44) as usize))?;
        slots.push(Slot {
            kdf: Kdf::Pbkdf2 {
                hash,
                salt: slot[8..8 + SALT_BYTES].to_vec(),
                iterations: iterations(number(slot, 4))?,
            },
            encryption: Encryption::new(&format!("{cipher}-{mode}"), key_bytes)?,
            area_key_bytes: key_bytes,
            key_bytes,
            split_hash: hash,
            sectors,
            stripes_bytes,
            digest: digest.clone(),
        });
    }
    Ok(slots)
}

fn number(bytes: &[u8], from: usize) -> u32 {
    bytes[from..from + 4].iter().fold(0, |number, &byte| number << 8 | u32::from(byte))
}

/// A text that ends at its first zero byte.
fn text(bytes: &[u8]) -> Result<&str, Error> {
    let end = bytes.iter().position(|&byte| byte == 0).unwrap_or(bytes.len());
    let is_name = bytes[..end].iter().all(|byte| byte.is_ascii_graphic());
    let text = std::str::from_utf8(&bytes[..end]).ok().filter(|_| is_name && end > 0);
    text.ok_or_else(|| damaged("the name of its cipher or hash is no text"))
}
