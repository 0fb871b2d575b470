//! Sector encryption as Linux's dm-crypt names it: a cipher, a mode and how a sector's number becomes its
//! initial value, for example `aes-xts-plain64` or `aes-cbc-essiv:sha256`.
//!
//! Sectors have 512 bytes and are numbered from 0.

use super::unsupported;
use crate::{Error, Hash};
use crossgrain::engine::reference::{self, xts};
use crossgrain::mode::{Cbc, Chain, Options, Xts, XtsKey};
use crossgrain::{BLOCK_BYTES, Block, Cipher, Direction, Key};

/// Bytes of a sector.
pub(super) const SECTOR_BYTES: usize = 512;

/// The most bytes of a key: two keys of a cipher.
const KEY_BYTES_MAX: usize = 64;

/// Sector encryption with keys of one length.
#[derive(Clone, Debug)]
pub(super) struct Encryption {
    cipher: Cipher,
    mode: SectorMode,
}

#[derive(Clone, Debug)]
enum SectorMode {
    /// XTS. The number of a sector is its tweak.
    Xts,
    /// CBC. The number of a sector is its initialisation vector, in this number of bytes.
    CbcPlain(usize),
    /// CBC. The initialisation vector is the encrypted number of the sector. The key of this encryption is the
    /// hash of the key.
    CbcEssiv(Hash),
}

impl Encryption {
    /// The encryption of this name, for keys of `key_bytes`.
    ///
    /// # Errors
    /// [`Error::Format`] if this tree does not have it.
    pub(super) fn new(name: &str, key_bytes: usize) -> Result<Self, Error> {
        let not_there =
            || unsupported(format_args!("sector encryption by {name} with {key_bytes} bytes of key"));
        let (cipher, mode) = name.split_once('-').ok_or_else(not_there)?;
        let mode = match mode {
            "xts-plain64" | "xts-plain" => SectorMode::Xts,
            "cbc-plain" => SectorMode::CbcPlain(4),
            "cbc-plain64" => SectorMode::CbcPlain(8),
            "cbc-essiv:sha256" => SectorMode::CbcEssiv(Hash::Sha256),
            _ => return Err(not_there()),
        };
        if key_bytes > KEY_BYTES_MAX {
            return Err(not_there());
        }
        let cipher_bytes = if matches!(mode, SectorMode::Xts) { key_bytes / 2 } else { key_bytes };
        let is_it = |of: &Cipher| of.name() == format!("{cipher}-{}", 8 * cipher_bytes);
        let cipher = Cipher::ALL.into_iter().find(is_it).filter(|_| ["aes", "serpent"].contains(&cipher));
        Ok(Self { cipher: cipher.ok_or_else(not_there)?, mode })
    }

    /// Decrypts sectors from number 0 on. The last one may be shorter, in whole blocks.
    pub(super) fn decrypt(&self, key: &[u8], data: &mut [u8]) -> Result<(), Error> {
        match self.mode {
            SectorMode::Xts => self.decrypt_xts(key, data),
            SectorMode::CbcPlain(number_bytes) => self.decrypt_cbc(key, data, |number| {
                let mut iv = [0; BLOCK_BYTES];
                iv[..number_bytes].copy_from_slice(&number.to_le_bytes()[..number_bytes]);
                iv
            }),
            SectorMode::CbcEssiv(hash) => {
                let essiv_key = hash.digest(&[key]);
                let essiv = Cipher::ALL.into_iter().find(|cipher| {
                    cipher.key_bytes() == essiv_key.len() && family(*cipher) == family(self.cipher)
                });
                let essiv = essiv.ok_or_else(|| unsupported("an essiv with this hash"))?;
                let essiv = reference::cipher(&Key::new(essiv, &essiv_key)?);
                self.decrypt_cbc(key, data, |number| {
                    let mut iv = [0; BLOCK_BYTES];
                    iv[..8].copy_from_slice(&number.to_le_bytes());
                    essiv.encrypt(&mut iv);
                    iv
                })
            }
        }
    }

    fn decrypt_xts(&self, keys: &[u8], data: &mut [u8]) -> Result<(), Error> {
        let options = Options { threads: 1, ..Options::default() };
        match XtsKey::new(self.cipher, keys) {
            Ok(key) => {
                Ok(Xts::with_options(&key, Direction::Decrypt, SECTOR_BYTES, &options)?.apply(0, data)?)
            }
            // The library refuses equal keys. Linux does not, so such sectors may exist.
            Err(crossgrain::Error::EqualXtsKeys) => {
                let (key, _) = keys.split_at(self.cipher.key_bytes());
                let cipher = reference::cipher(&Key::new(self.cipher, key)?);
                for (number, sector) in (0..).zip(data.chunks_mut(SECTOR_BYTES)) {
                    xts::xts(&*cipher, &*cipher, Direction::Decrypt, number, sector);
                }
                Ok(())
            }
            Err(error) => Err(error.into()),
        }
    }

    fn decrypt_cbc(&self, key: &[u8], data: &mut [u8], iv: impl Fn(u64) -> Block) -> Result<(), Error> {
        let options = Options { threads: 1, ..Options::default() };
        let cbc = Cbc::with_options(&Key::new(self.cipher, key)?, Direction::Decrypt, &options)?;
        for (number, sector) in (0..).zip(data.chunks_mut(SECTOR_BYTES)) {
            cbc.apply(&mut Chain::from(iv(number)), sector)?;
        }
        Ok(())
    }
}

/// The name of a cipher without its key size.
fn family(cipher: Cipher) -> &'static str {
    cipher.name().split('-').next().unwrap_or_default()
}
