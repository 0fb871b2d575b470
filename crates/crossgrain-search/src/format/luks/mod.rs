//! LUKS devices, versions 1 and 2. A passphrase opens a *key slot*, which holds the volume key.
//!
//! The volume key is split into stripes that together are its sum with a chain of hashes, so that one
//! destroyed stripe destroys it (the "anti-forensic splitter"). The stripes are encrypted under the key that is
//! derived from the passphrase. A digest of the volume key, by PBKDF2, decides whether a passphrase is right.
//!
//! Sources: "LUKS1 On-Disk Format Specification" version 1.2.3, "LUKS2 On-Disk Format Specification" version
//! 1.1.2.

mod version1;
mod version2;

use zeroize::Zeroizing;

use super::sectors::{Encryption, SECTOR_BYTES};
use super::{Details, Format, Locked, Source, damaged, read_at, unsupported};
use crate::{Error, Hash, Kdf, Test};

/// The first bytes of a header; the version follows.
const MAGIC: &[u8; 6] = b"LUKS\xba\xbe";

/// The most bytes of a volume key.
const KEY_BYTES_MAX: usize = 64;

/// The most stripes. Both versions use 4000.
const STRIPES_MAX: usize = 65_536;

/// The most iterations of PBKDF2. Each candidate would take minutes.
const ITERATIONS_MAX: u32 = 100_000_000;

/// Why a header may have no slot to try.
const NO_SLOT: &str = "it has no key slot of this number with a passphrase";

pub(super) const FORMAT: Format = Format {
    name: "luks",
    about: "LUKS1 and LUKS2 devices, their images and backups of their headers",
    takes: &["--slot"],
    is_it: |beginning| beginning.starts_with(MAGIC),
    read,
};

/// A key slot.
#[derive(Clone)]
struct Slot {
    kdf: Kdf,
    /// The encryption of the stripes, and the length of its key in bytes.
    encryption: Encryption,
    area_key_bytes: usize,
    /// The length of the volume key, in bytes.
    key_bytes: usize,
    /// The hash of the splitter.
    split_hash: Hash,
    /// The sectors with the encrypted stripes, and the bytes of the stripes in them.
    sectors: Vec<u8>,
    stripes_bytes: usize,
    digest: Digest,
}

/// The digest of a volume key.
#[derive(Clone, PartialEq)]
struct Digest {
    hash: Hash,
    salt: Vec<u8>,
    iterations: u32,
    value: Vec<u8>,
}

/// The key slots of a device.
#[derive(Clone)]
struct Luks {
    version: u16,
    slots: Vec<Slot>,
}

fn read(mut source: Box<dyn Source>, details: &Details) -> Result<Locked, Error> {
    let mut beginning = [0; 8];
    read_at(&mut *source, 0, &mut beginning)?;
    let version = u16::from_be_bytes([beginning[6], beginning[7]]);
    let (version, slots) = match version {
        1 if beginning.starts_with(MAGIC) => (1, version1::slots(&mut *source, details.slot)?),
        3.. | 0 if beginning.starts_with(MAGIC) => {
            return Err(unsupported(format_args!("version {version} of LUKS")));
        }
        // The second header of version 2 may be whole if the first is not.
        _ => (2, version2::slots(&mut *source, details.slot)?),
    };
    if slots.is_empty() {
        return Err(Error::Format { why: format!("{NO_SLOT}: leave out --slot, or take another file") });
    }
    let kdf = match slots.as_slice() {
        [slot] => slot.kdf.clone(),
        _ => Kdf::Several(slots.iter().map(|slot| (slot.kdf.clone(), slot.area_key_bytes)).collect()),
    };
    Ok(Locked::certain(kdf, Luks { version, slots }))
}

/// Checks a number of iterations.
fn iterations(count: u32) -> Result<u32, Error> {
    if (1..=ITERATIONS_MAX).contains(&count) {
        Ok(count)
    } else {
        Err(damaged(format_args!("{count} iterations")))
    }
}

/// A hash by the name that LUKS uses.
fn hash(name: &str) -> Result<Hash, Error> {
    let is_used = |hash: &Hash| !matches!(hash, Hash::Md5 | Hash::Blake2s | Hash::Streebog);
    Hash::named(name).filter(is_used).ok_or_else(|| unsupported(format_args!("LUKS with the hash {name}")))
}

/// Reads the stripes of a slot. Returns their sectors and the bytes of the stripes in them.
fn read_stripes(
    source: &mut dyn Source,
    from: u64,
    (key_bytes, stripes): (usize, usize),
) -> Result<(Vec<u8>, usize), Error> {
    let is_usual = (1..=KEY_BYTES_MAX).contains(&key_bytes) && (1..=STRIPES_MAX).contains(&stripes);
    if !is_usual {
        return Err(damaged(format_args!("a key of {key_bytes} bytes in {stripes} stripes")));
    }
    let stripes_bytes = key_bytes * stripes;
    let mut sectors = vec![0; stripes_bytes.next_multiple_of(SECTOR_BYTES)];
    read_at(source, from, &mut sectors)?;
    Ok((sectors, stripes_bytes))
}

impl Slot {
    /// The volume key, if `key` opens the slot; otherwise some bytes.
    fn volume_key(&self, key: &[u8]) -> Result<Zeroizing<Vec<u8>>, Error> {
        let mut sectors = Zeroizing::new(self.sectors.clone());
        self.encryption.decrypt(key, &mut sectors)?;
        Ok(merged(&sectors[..self.stripes_bytes], self.key_bytes, self.split_hash))
    }

    fn opens(&self, key: &[u8]) -> Result<bool, Error> {
        Ok(*self.digest.of(&self.volume_key(key)?) == self.digest.value)
    }
}

/// Undoes the splitter (LUKS1 specification, section 2.4): adds each stripe but the last to a sum that is hashed
/// after each, and then adds the last.
fn merged(stripes: &[u8], key_bytes: usize, hash: Hash) -> Zeroizing<Vec<u8>> {
    let mut sum = Zeroizing::new(vec![0; key_bytes]);
    let count = stripes.len() / key_bytes;
    for (number, stripe) in (1..).zip(stripes.chunks_exact(key_bytes)) {
        sum.iter_mut().zip(stripe).for_each(|(sum, byte)| *sum ^= byte);
        if number < count {
            diffuse(&mut sum, hash);
        }
    }
    sum
}

/// Replaces each piece of a digest's length by the hash of its index and itself.
fn diffuse(bytes: &mut [u8], hash: Hash) {
    for (index, piece) in (0_u32..).zip(bytes.chunks_mut(hash.digest_bytes())) {
        let digest = hash.digest(&[&index.to_be_bytes(), piece]);
        piece.copy_from_slice(&digest[..piece.len()]);
    }
}

impl Digest {
    fn of(&self, key: &[u8]) -> Zeroizing<Vec<u8>> {
        let mut digest = Zeroizing::new(vec![0; self.value.len()]);
        self.hash.pbkdf2(key, &self.salt, self.iterations, &mut digest);
        digest
    }
}

impl Test for Luks {
    fn name(&self) -> String {
        format!("LUKS{}, {} key slots", self.version, self.slots.len())
    }

    fn key_bytes(&self) -> Option<usize> {
        Some(self.slots.iter().map(|slot| slot.area_key_bytes).sum())
    }

    fn holds(&self, key: &[u8]) -> Result<bool, Error> {
        let mut rest = key;
        for slot in &self.slots {
            let (part, after) = rest.split_at(slot.area_key_bytes.min(rest.len()));
            if slot.opens(part)? {
                return Ok(true);
            }
            rest = after;
        }
        Ok(false)
    }

    /// The first slot, with the digest of the volume key that `key` opens.
    fn planted(&self, key: &[u8]) -> Result<Box<dyn Test>, Error> {
        let mut planted = self.clone();
        if let Some(slot) = planted.slots.first_mut() {
            let volume_key = slot.volume_key(&key[..slot.area_key_bytes.min(key.len())])?;
            slot.digest.value = slot.digest.of(&volume_key).to_vec();
        }
        Ok(Box::new(planted))
    }
}
