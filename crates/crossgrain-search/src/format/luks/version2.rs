//! The header of LUKS2: a binary part of 4096 bytes with a checksum, and JSON. A copy of both follows.

use base64ct::{Base64, Encoding as _};
use serde_json::Value;

use super::{Digest, KEY_BYTES_MAX, MAGIC, Slot, hash, iterations, read_stripes};
use crate::format::sectors::Encryption;
use crate::format::{Source, damaged, read_at, unsupported};
use crate::{Error, Hash, Kdf};

/// Bytes of the binary part.
const BINARY_BYTES: usize = 4096;

/// Lengths of a header: these powers of two, in bytes.
const HEADER_BITS: std::ops::RangeInclusive<u32> = 14..=22;

/// The first bytes of the second header.
const SECOND_MAGIC: &[u8; 6] = b"SKUL\xba\xbe";

/// The checksum and its algorithm in the binary part.
const ALGORITHM: std::ops::Range<usize> = 72..104;
const CHECKSUM: std::ops::Range<usize> = 448..512;

/// The most memory of Argon2, in KiB: the limit of cryptsetup, 4 GiB.
const MEMORY_KIB_MAX: u32 = 4 << 20;

/// The slots with a passphrase, or the given one of them.
pub(super) fn slots(source: &mut dyn Source, only: Option<u32>) -> Result<Vec<Slot>, Error> {
    let header = header(source)?;
    let end = header[BINARY_BYTES..].iter().position(|&byte| byte == 0);
    let json = &header[BINARY_BYTES..][..end.unwrap_or(header.len() - BINARY_BYTES)];
    let json: Value = serde_json::from_slice(json).map_err(|_| damaged("its JSON cannot be read"))?;
    let slots = json["keyslots"].as_object().ok_or_else(|| damaged("it has no list of key slots"))?;
    let mut found = Vec::new();
    for (name, slot) in slots {
        let is_meant = only.is_none_or(|only| *name == only.to_string());
        if is_meant && slot["type"] == "luks2" {
            found.push(read_slot(source, slot, digest(&json, name)?)?);
        }
    }
    Ok(found)
}

/// The first header, or the second if the first is damaged.
fn header(source: &mut dyn Source) -> Result<Vec<u8>, Error> {
    match header_at(source, 0, MAGIC) {
        Err(Error::Format { .. }) => {}
        first => return first,
    }
    for bits in HEADER_BITS {
        if let Ok(second) = header_at(source, 1 << bits, SECOND_MAGIC) {
            return Ok(second);
        }
    }
    let mut beginning = [0; MAGIC.len()];
    read_at(source, 0, &mut beginning)?;
    Err(damaged(if beginning == *MAGIC {
        "the checksums of both headers are wrong"
    } else {
        "it does not begin as a LUKS header does, and has no second header of LUKS2"
    }))
}

fn header_at(source: &mut dyn Source, from: u64, magic: &[u8]) -> Result<Vec<u8>, Error> {
    let mut binary = [0; BINARY_BYTES];
    read_at(source, from, &mut binary)?;
    let len_bytes = binary[8..16].iter().fold(0_u64, |number, &byte| number << 8 | u64::from(byte));
    if !binary.starts_with(magic) || !HEADER_BITS.map(|bits| 1 << bits).any(|usual| len_bytes == usual) {
        return Err(damaged("the length of a header"));
    }
    let mut header = vec![0; len_bytes as usize];
    read_at(source, from, &mut header)?;
    let name = binary[ALGORITHM].split(|&byte| byte == 0).next().unwrap_or_default();
    let hash = hash(std::str::from_utf8(name).unwrap_or("of no name"))?;
    let checksum = header[CHECKSUM].to_vec();
    header[CHECKSUM].fill(0);
    let computed = hash.digest(&[&header]);
    if checksum[..computed.len()] == computed[..] { Ok(header) } else { Err(damaged("a checksum")) }
}

/// A number that JSON holds as a number, or as a text of digits.
fn number(value: &Value) -> Result<u64, Error> {
    let number = value.as_u64().or_else(|| value.as_str()?.parse().ok());
    number.ok_or_else(|| damaged("a number in its JSON is missing"))
}

fn number_u32(value: &Value) -> Result<u32, Error> {
    u32::try_from(number(value)?).map_err(|_| damaged("a number in its JSON is too large"))
}

fn text(value: &Value) -> Result<&str, Error> {
    value.as_str().ok_or_else(|| damaged("a text in its JSON is missing"))
}

fn bytes(value: &Value) -> Result<Vec<u8>, Error> {
    Base64::decode_vec(text(value)?).map_err(|_| damaged("its JSON has bad base64"))
}

fn named_hash(value: &Value) -> Result<Hash, Error> {
    hash(text(value)?)
}

/// The digest of the key in this slot.
fn digest(json: &Value, slot: &str) -> Result<Digest, Error> {
    let digests = json["digests"].as_object().ok_or_else(|| damaged("it has no digests of keys"))?;
    let has_slot = |digest: &&Value| {
        digest["keyslots"]
            .as_array()
            .is_some_and(|slots| slots.iter().any(|name| name.as_str() == Some(slot)))
    };
    let digest = digests.values().find(has_slot).ok_or_else(|| damaged("a key slot has no digest"))?;
    if digest["type"] != "pbkdf2" {
        return Err(unsupported(format_args!("a LUKS2 digest by {}", digest["type"])));
    }
    let value = bytes(&digest["digest"])?;
    let is_usual = (16..=KEY_BYTES_MAX).contains(&value.len());
    let iterations = iterations(number_u32(&digest["iterations"])?)?;
    if !is_usual {
        return Err(damaged("the digest of its key"));
    }
    Ok(Digest { hash: named_hash(&digest["hash"])?, salt: bytes(&digest["salt"])?, iterations, value })
}

fn read_slot(source: &mut dyn Source, slot: &Value, digest: Digest) -> Result<Slot, Error> {
    let (area, splitter) = (&slot["area"], &slot["af"]);
    if splitter["type"] != "luks1" || area["type"] != "raw" {
        return Err(unsupported("another splitter or key area than LUKS2 defines"));
    }
    let length = |value: &Value| Ok::<_, Error>(usize::try_from(number(value)?).unwrap_or(usize::MAX));
    let (key_bytes, area_key_bytes) = (length(&slot["key_size"])?, length(&area["key_size"])?);
    let encryption = Encryption::new(text(&area["encryption"])?, area_key_bytes)?;
    let stripes = length(&splitter["stripes"])?;
    let (sectors, stripes_bytes) = read_stripes(source, number(&area["offset"])?, (key_bytes, stripes))?;
    Ok(Slot {
        kdf: kdf(&slot["kdf"])?,
        encryption,
        area_key_bytes,
        key_bytes,
        split_hash: named_hash(&splitter["hash"])?,
        sectors,
        stripes_bytes,
        digest,
    })
}

fn kdf(kdf: &Value) -> Result<Kdf, Error> {
    let salt = bytes(&kdf["salt"])?;
    let costs = || {
        let [memory_kib, passes, lanes] = [&kdf["memory"], &kdf["time"], &kdf["cpus"]].map(number_u32);
        let memory_kib = memory_kib?;
        if memory_kib > MEMORY_KIB_MAX {
            return Err(damaged(format_args!("argon2 with {memory_kib} KiB of memory")));
        }
        Ok((memory_kib, passes?, lanes?))
    };
    match text(&kdf["type"])? {
        "pbkdf2" => {
            let iterations = iterations(number_u32(&kdf["iterations"])?)?;
            Ok(Kdf::Pbkdf2 { hash: named_hash(&kdf["hash"])?, salt, iterations })
        }
        "argon2id" => {
            costs().map(|(memory_kib, passes, lanes)| Kdf::Argon2id { salt, memory_kib, passes, lanes })
        }
        "argon2i" => {
            costs().map(|(memory_kib, passes, lanes)| Kdf::Argon2i { salt, memory_kib, passes, lanes })
        }
        other => Err(unsupported(format_args!("the LUKS2 key derivation {other}"))),
    }
}
