//! VeraCrypt and TrueCrypt volumes.
//!
//! A header has 512 bytes: a salt, and 448 bytes encrypted by XTS as data unit 0. It says neither hash nor
//! cipher, so a passphrase is tried with each: PBKDF2 with each hash gives the keys for the longest cascade, and
//! shorter ones use the first bytes. A cascade encrypts by its ciphers one after the other. The keys are those of
//! all data ciphers in this order, and then those of all tweaks.
//!
//! The right passphrase decrypts the header to the magic `VERA` or `TRUE`, and to two checksums (CRC-32). Together
//! they have 96 bits. Source: VeraCrypt's documentation, "VeraCrypt Volume Format Specification".

use std::io::SeekFrom;

use zeroize::Zeroizing;

use super::{Details, Format, HeaderPlace, Locked, Source, damaged, read_at};
use crate::{Error, Hash, Kdf, Test};
use crossgrain::engine::reference::{self, xts};
use crossgrain::{BLOCK_BYTES, Cipher, Direction, Key};

/// Bytes of a header, of its salt, and of the rest.
const HEADER_BYTES: usize = 512;
const SALT_BYTES: usize = 64;
const BODY_BYTES: usize = HEADER_BYTES - SALT_BYTES;

/// Places of the hidden volume's header, from the beginning, and of both copies, from the end. The header of a
/// system drive is in its sector 62.
const HIDDEN: u64 = 65_536;
const BACKUP: u64 = 131_072;
const HIDDEN_BACKUP: u64 = 65_536;
const SYSTEM: u64 = 62 * 512;

/// Bytes of a cipher's key.
const KEY_BYTES: usize = 32;

/// Offsets in the body: the checksum of the keys, that of the fields before it, and the keys.
const KEYS_SUM: usize = 8;
const FIELDS_SUM: usize = 188;
const KEYS: usize = 192;

/// The ciphers and cascades without Twofish. Each lists its ciphers in the order in which they encrypt, which is
/// the reverse of its name.
const CASCADES: [&[Cipher]; 9] = [
    &[Cipher::Aes256],
    &[Cipher::Serpent256],
    &[Cipher::Camellia256],
    &[Cipher::Kuznyechik],
    &[Cipher::Aes256, Cipher::Serpent256],
    &[Cipher::Kuznyechik, Cipher::Camellia256],
    &[Cipher::Serpent256, Cipher::Camellia256],
    &[Cipher::Aes256, Cipher::Kuznyechik],
    &[Cipher::Camellia256, Cipher::Serpent256, Cipher::Kuznyechik],
];

/// The cascades of TrueCrypt, which are among them.
const TRUECRYPT_CASCADES: [&[Cipher]; 3] =
    [&[Cipher::Aes256], &[Cipher::Serpent256], &[Cipher::Aes256, Cipher::Serpent256]];

pub(super) const VERACRYPT: Format = Format {
    name: "veracrypt",
    about: "VeraCrypt volumes without Twofish",
    takes: &["--hash", "--cipher", "--pim", "--header"],
    is_it: |_| false,
    read: |source, details| read(Kind::VeraCrypt, source, details),
};

pub(super) const TRUECRYPT: Format = Format {
    name: "truecrypt",
    about: "TrueCrypt volumes without Twofish",
    takes: &["--hash", "--cipher", "--header"],
    is_it: |_| false,
    read: |source, details| read(Kind::TrueCrypt, source, details),
};

#[derive(Clone, Copy, PartialEq)]
enum Kind {
    VeraCrypt,
    TrueCrypt,
}

/// A header.
#[derive(Clone)]
struct Volume {
    kind: Kind,
    body: [u8; BODY_BYTES],
    cascades: Vec<&'static [Cipher]>,
    /// The number of hashes, each of which gives keys.
    hash_count: usize,
    /// Bytes of the keys that one hash gives.
    part_bytes: usize,
}

fn read(kind: Kind, mut source: Box<dyn Source>, details: &Details) -> Result<Locked, Error> {
    let place = details.header.unwrap_or(HeaderPlace::Outer);
    let len_bytes = source.seek(SeekFrom::End(0)).map_err(Error::ReadFile)?;
    let from_end =
        |distance| len_bytes.checked_sub(distance).ok_or_else(|| damaged("it is too short for a copy"));
    let from = match place {
        HeaderPlace::Outer => 0,
        HeaderPlace::Hidden => HIDDEN,
        HeaderPlace::Backup => from_end(BACKUP)?,
        HeaderPlace::HiddenBackup => from_end(HIDDEN_BACKUP)?,
        HeaderPlace::System => SYSTEM,
    };
    let (mut salt, mut body) = ([0; SALT_BYTES], [0; BODY_BYTES]);
    read_at(&mut *source, from, &mut salt)?;
    read_at(&mut *source, from + SALT_BYTES as u64, &mut body)?;
    if salt == [0; SALT_BYTES] || body.iter().all(|&byte| byte == body[0]) {
        return Err(damaged("where its header should be are no random bytes"));
    }
    let all: &[&'static [Cipher]] = if kind == Kind::VeraCrypt { &CASCADES } else { &TRUECRYPT_CASCADES };
    let is_meant = |cascade: &&&[Cipher]| details.cipher.is_none_or(|cipher| ***cascade == [cipher]);
    let cascades: Vec<_> = all.iter().filter(is_meant).copied().collect();
    let longest = cascades.iter().map(|cascade| cascade.len()).max();
    let longest = longest.ok_or_else(|| Error::Format {
        why: "no volume is encrypted with this cipher: give --cipher aes-256, serpent-256, camellia-256 or kuznyechik, or leave it out for cascades".to_owned(),
    })?;
    let part_bytes = 2 * KEY_BYTES * longest;
    let mut kdfs = Vec::new();
    for hash in kind.hashes().iter().filter(|&&hash| details.hash.is_none_or(|only| only == hash)) {
        let iterations = kind.iterations(*hash, place == HeaderPlace::System, details.pim)?;
        kdfs.push((Kdf::Pbkdf2 { hash: *hash, salt: salt.to_vec(), iterations }, part_bytes));
    }
    let volume = Volume { kind, body, cascades, hash_count: kdfs.len(), part_bytes };
    let kdf = match kdfs.len() {
        0 => {
            let names = kind.hashes().iter().map(|hash| hash.name()).collect::<Vec<_>>().join(", ");
            return Err(Error::Format {
                why: format!("no volume has this hash: give --hash one of {names}"),
            });
        }
        1 => kdfs.swap_remove(0).0,
        _ => Kdf::Several(kdfs),
    };
    let advice = "a volume with Twofish, keyfiles or another PIM is not found: try --pim, or --header hidden, backup or system";
    Ok(Locked { advice: Some(advice.to_owned()), ..Locked::certain(kdf, volume) })
}

impl Kind {
    const fn magic(self) -> &'static [u8; 4] {
        match self {
            Self::VeraCrypt => b"VERA",
            Self::TrueCrypt => b"TRUE",
        }
    }

    /// The hashes of key derivations, the usual one first.
    const fn hashes(self) -> &'static [Hash] {
        match self {
            Self::VeraCrypt => {
                &[Hash::Sha512, Hash::Sha256, Hash::Whirlpool, Hash::Streebog, Hash::Blake2s, Hash::Ripemd160]
            }
            Self::TrueCrypt => &[Hash::Ripemd160, Hash::Sha512, Hash::Whirlpool],
        }
    }

    /// Iterations of PBKDF2 (VeraCrypt's documentation, "Header Key Derivation" and "PIM"). A system drive has fewer,
    /// except with SHA-512 and Whirlpool.
    fn iterations(self, hash: Hash, is_system: bool, pim: Option<u32>) -> Result<u32, Error> {
        let with_pim = |base: u32, factor: u32, pim: u32| {
            let iterations = pim.checked_mul(factor).and_then(|product| product.checked_add(base));
            iterations.filter(|&iterations| iterations > 0).ok_or_else(|| Error::Format {
                why: format!("a PIM of {pim} is not possible: give --pim from 1 to 2147468"),
            })
        };
        let has_fewer = is_system && !matches!(hash, Hash::Sha512 | Hash::Whirlpool);
        match (self, pim) {
            (Self::TrueCrypt, _) if hash == Hash::Ripemd160 => Ok(if is_system { 1000 } else { 2000 }),
            (Self::TrueCrypt, _) => Ok(1000),
            (Self::VeraCrypt, Some(pim)) if has_fewer => with_pim(0, 2048, pim),
            (Self::VeraCrypt, Some(pim)) => with_pim(15_000, 1000, pim),
            (Self::VeraCrypt, None) if hash == Hash::Ripemd160 => {
                Ok(if is_system { 327_661 } else { 655_331 })
            }
            (Self::VeraCrypt, None) => Ok(if has_fewer { 200_000 } else { 500_000 }),
        }
    }
}

/// Encrypts or decrypts bytes as data unit 0 under a cascade.
fn run(cascade: &[Cipher], keys: &[u8], direction: Direction, data: &mut [u8]) -> Result<(), Error> {
    let key = |at: usize| keys[at * KEY_BYTES..][..KEY_BYTES].to_vec();
    let layers = cascade.iter().enumerate();
    let mut order: Vec<_> = layers.collect();
    if direction == Direction::Decrypt {
        order.reverse();
    }
    for (at, &cipher) in order {
        let [data_key, tweak_key] = [at, cascade.len() + at].map(|at| Zeroizing::new(key(at)));
        let data_cipher = reference::cipher(&Key::new(cipher, &data_key)?);
        let tweak_cipher = reference::cipher(&Key::new(cipher, &tweak_key)?);
        xts::xts(&*data_cipher, &*tweak_cipher, direction, 0, data);
    }
    Ok(())
}

fn sum(bytes: &[u8]) -> [u8; 4] {
    crc32fast::hash(bytes).to_be_bytes()
}

impl Volume {
    /// Whether a body in plaintext is that of a header.
    fn is_header(&self, body: &[u8]) -> bool {
        body.starts_with(self.kind.magic())
            && body[KEYS_SUM..KEYS_SUM + 4] == sum(&body[KEYS..])
            && body[FIELDS_SUM..FIELDS_SUM + 4] == sum(&body[..FIELDS_SUM])
    }

    fn opens(&self, cascade: &[Cipher], keys: &[u8]) -> Result<bool, Error> {
        // The first block has the magic, so other blocks are decrypted for one wrong key in 2³².
        let mut first = Zeroizing::new([0; BLOCK_BYTES]);
        first.copy_from_slice(&self.body[..BLOCK_BYTES]);
        run(cascade, keys, Direction::Decrypt, &mut *first)?;
        if !first.starts_with(self.kind.magic()) {
            return Ok(false);
        }
        let mut body = Zeroizing::new(self.body);
        run(cascade, keys, Direction::Decrypt, &mut *body)?;
        Ok(self.is_header(&*body))
    }
}

impl Test for Volume {
    fn name(&self) -> String {
        let name = if self.kind == Kind::VeraCrypt { "VeraCrypt" } else { "TrueCrypt" };
        format!("{name}, {} hashes and {} ciphers", self.hash_count, self.cascades.len())
    }

    fn key_bytes(&self) -> Option<usize> {
        Some(self.hash_count * self.part_bytes)
    }

    fn holds(&self, key: &[u8]) -> Result<bool, Error> {
        for keys in key.chunks_exact(self.part_bytes) {
            for cascade in &self.cascades {
                if self.opens(cascade, keys)? {
                    return Ok(true);
                }
            }
        }
        Ok(false)
    }

    /// A header under the keys of the last hash and the longest cascade.
    fn planted(&self, key: &[u8]) -> Result<Box<dyn Test>, Error> {
        let mut body = [0; BODY_BYTES];
        body[..4].copy_from_slice(self.kind.magic());
        let keys_sum = sum(&body[KEYS..]);
        body[KEYS_SUM..KEYS_SUM + 4].copy_from_slice(&keys_sum);
        let fields_sum = sum(&body[..FIELDS_SUM]);
        body[FIELDS_SUM..FIELDS_SUM + 4].copy_from_slice(&fields_sum);
        let keys = key.chunks_exact(self.part_bytes).next_back().unwrap_or_default();
        if let Some(cascade) = self.cascades.last() {
            run(cascade, keys, Direction::Encrypt, &mut body)?;
        }
        Ok(Box::new(Self { body, ..self.clone() }))
    }
}
