//! Files of `openssl enc`, raw or in base64: `Salted__`, a salt of 8 bytes, and the ciphertext.
//!
//! The header says neither cipher nor key derivation. OpenSSL derives the key and the initialisation vector in
//! sequence, by `EVP_BytesToKey` or, with `-pbkdf2`, by PBKDF2.
//!
//! There is no tag. Under a wrong key, CBC and ECB give valid padding for one key in 256. So a passphrase is right
//! only if the plaintext also begins as the user says, or is text, or begins like a common file. The padding of a
//! file of two blocks or more depends on the key alone. So PBKDF2 on lanes derives the initialisation vector only
//! for keys with valid padding.

use std::io::{Cursor, Read as _, SeekFrom};
use std::ops::Range;

use base64ct::{Base64, Encoding as _};
use zeroize::Zeroizing;

use super::{Details, Format, Locked, Source, damaged, read_at, unsupported};
use crate::{BlockMode, Error, Hash, Kdf, Look, Plausible, Test};
use crossgrain::engine::reference;
use crossgrain::mode::{Initial, Mode, Options};
use crossgrain::{BLOCK_BYTES, Block, Cipher, Direction, Key};

const MAGIC: &[u8; 8] = b"Salted__";

/// The beginning of the magic in base64.
const MAGIC_BASE64: &[u8] = b"U2FsdGVkX1";

/// The most bytes of a file in base64: it is decoded in memory.
const BASE64_BYTES_MAX: u64 = 64 << 20;

/// Bytes of magic and salt.
const HEADER_BYTES: usize = 16;

/// The most bytes of ciphertext that are decrypted, in addition to the padding.
const LOOK_BYTES: u64 = 4096;

/// Iterations of PBKDF2 if `-iter` was not given.
const USUAL_ITERATIONS: u32 = 10_000;

pub(super) const FORMAT: Format = Format {
    name: "openssl",
    about: "Files of `openssl enc`, raw or in base64 (-a)",
    takes: &["--cipher", "--mode", "--hash", "--pbkdf2", "--iterations", "--plain", "--looks"],
    is_it: |beginning| beginning.starts_with(MAGIC) || beginning.starts_with(MAGIC_BASE64),
    read,
};

/// The ciphertext, as far as it is looked at.
#[derive(Clone)]
struct Enc {
    cipher: Cipher,
    mode: Mode,
    /// The first bytes.
    beginning: Vec<u8>,
    /// Whether that is all.
    is_whole: bool,
    /// The last block and the one before it, if the mode pads. The first may be missing.
    end: Option<(Option<Block>, Block)>,
    /// The first bytes of the plaintext and the mask of their known bits.
    known: (Vec<u8>, Vec<u8>),
    /// The plaintext has one of these forms.
    looks: Vec<Look>,
    /// The number of derivations whose keys are tried.
    key_count: usize,
}

fn read(mut source: Box<dyn Source>, details: &Details) -> Result<Locked, Error> {
    let mut header = [0; HEADER_BYTES];
    read_at(&mut *source, 0, &mut header)?;
    if header.starts_with(MAGIC_BASE64) {
        source = decoded(source)?;
        read_at(&mut *source, 0, &mut header)?;
    }
    let [magic, salt] = [&header[..8], &header[8..]];
    if magic != MAGIC {
        return Err(damaged("it does not begin with 'Salted__', as salted files of openssl enc do"));
    }
    let (cipher, mode) = (details.cipher.unwrap_or(Cipher::Aes256), details.mode.unwrap_or(Mode::Cbc));
    let is_padded = matches!(mode, Mode::Cbc | Mode::Ecb);
    if !is_padded && !matches!(mode, Mode::Ctr | Mode::Cfb | Mode::Cfb8 | Mode::Cfb1 | Mode::Ofb) {
        return Err(unsupported(format_args!("openssl enc with {}", mode.name())));
    }
    let kdfs = derivations(salt, details);
    let (beginning, len_bytes) = ciphertext(&mut *source)?;
    let end = if is_padded { Some(last_blocks(&mut *source, len_bytes)?) } else { None };
    let enc = Enc {
        cipher,
        mode,
        is_whole: beginning.len() as u64 == len_bytes,
        beginning,
        end,
        known: details.plaintext.clone().unwrap_or_default(),
        looks: looks(details),
        key_count: kdfs.len(),
    };
    let known_bits = enc.known_bits();
    if enc.looks == [Look::Anything] && !is_padded && known_bits == 0 {
        return Err(Error::NothingKnown);
    }
    if enc.known.0.len() > enc.beginning.len() {
        return Err(Error::ShortCiphertext { len_bytes: enc.beginning.len() });
    }
    let some_key = vec![0x5a; enc.key_count * enc.part_bytes()];
    if !enc.planted(&some_key)?.holds(&some_key)? {
        let why = "no text that begins as --plain says has the form that --looks says: leave one out";
        return Err(Error::Format { why: why.to_owned() });
    }
    let doubt = doubt(&enc, known_bits);
    let advice = "if the passphrase must be among them, try another --cipher, --hash, --pbkdf2 with --iterations, or --looks any if the plaintext is neither text nor a common file";
    let part_bytes = enc.part_bytes();
    let kdf = match <[Kdf; 1]>::try_from(kdfs) {
        Ok([kdf]) => kdf,
        Err(kdfs) => Kdf::Several(kdfs.into_iter().map(|kdf| (kdf, part_bytes)).collect()),
    };
    Ok(Locked { kdf, test: Box::new(enc), doubt, advice: Some(advice.to_owned()) })
}

/// The file without base64.
fn decoded(mut source: Box<dyn Source>) -> Result<Box<dyn Source>, Error> {
    let mut text = Vec::new();
    source.seek(SeekFrom::Start(0)).map_err(Error::ReadFile)?;
    source.take(BASE64_BYTES_MAX + 1).read_to_end(&mut text).map_err(Error::ReadFile)?;
    if text.len() as u64 > BASE64_BYTES_MAX {
        return Err(Error::Format {
            why: "the file in base64 is larger than 64 MiB: decode it first, by openssl base64 -d".to_owned(),
        });
    }
    text.retain(|byte| !byte.is_ascii_whitespace());
    let text = String::from_utf8(text).map_err(|_| damaged("its base64 has other characters"))?;
    let bytes = Base64::decode_vec(&text).map_err(|_| damaged("its base64 is not whole"))?;
    Ok(Box::new(Cursor::new(bytes)))
}

/// The derivations to try. Without `-pbkdf2` and `-md` these are the defaults of OpenSSL since 1.1 and before.
fn derivations(salt: &[u8], details: &Details) -> Vec<Kdf> {
    let salt = salt.to_vec();
    if details.is_pbkdf2 || details.iterations.is_some() {
        let iterations = details.iterations.unwrap_or(USUAL_ITERATIONS);
        return vec![Kdf::Pbkdf2 { hash: details.hash.unwrap_or(Hash::Sha256), salt, iterations }];
    }
    let hashes = details.hash.map_or(vec![Hash::Sha256, Hash::Md5], |hash| vec![hash]);
    hashes.into_iter().map(|hash| Kdf::BytesToKey { hash, salt: salt.clone() }).collect()
}

/// The first bytes of ciphertext, and the length of all of it.
fn ciphertext(source: &mut dyn Source) -> Result<(Vec<u8>, u64), Error> {
    let end = source.seek(SeekFrom::End(0)).map_err(Error::ReadFile)?;
    let len_bytes = end.saturating_sub(HEADER_BYTES as u64);
    if len_bytes == 0 {
        return Err(damaged("nothing follows its salt"));
    }
    let mut beginning = vec![0; len_bytes.min(LOOK_BYTES) as usize];
    read_at(source, HEADER_BYTES as u64, &mut beginning)?;
    Ok((beginning, len_bytes))
}

/// The last block, and the one before it if there is one.
fn last_blocks(source: &mut dyn Source, len_bytes: u64) -> Result<(Option<Block>, Block), Error> {
    if !len_bytes.is_multiple_of(BLOCK_BYTES as u64) {
        let why = format!(
            "{len_bytes} bytes follow its salt, and cbc and ecb have whole blocks of 16: give --mode ctr, cfb, cfb8, cfb1 or ofb if it was made so, or take another copy of the file"
        );
        return Err(Error::Format { why });
    }
    let mut block = |from: u64| {
        let mut block = [0; BLOCK_BYTES];
        read_at(source, HEADER_BYTES as u64 + from, &mut block).map(|()| block)
    };
    let last = len_bytes - BLOCK_BYTES as u64;
    let before = last.checked_sub(BLOCK_BYTES as u64).map(&mut block).transpose()?;
    Ok((before, block(last)?))
}

fn looks(details: &Details) -> Vec<Look> {
    match (&details.look, &details.plaintext) {
        (Some(look), _) => vec![look.clone()],
        (None, Some(_)) => vec![Look::Anything],
        (None, None) => vec![Look::Text, Look::file()],
    }
}

/// How often wrong passphrases fit, if that is once in 2³² or more.
fn doubt(enc: &Enc, known_bits: u32) -> Option<String> {
    let bits = known_bits + if enc.end.is_some() { 8 } else { 0 };
    let text_bits = (enc.beginning.len() as u32).saturating_sub(BLOCK_BYTES as u32);
    match enc.looks.as_slice() {
        [Look::Anything] if bits < 32 => {
            Some(format!("one wrong passphrase in 2^{bits} fits too, so all that fit are printed"))
        }
        [Look::Printable | Look::Text] | [Look::Text, _] if enc.end.is_none() && text_bits + bits < 8 => {
            Some("so short a text fits by chance often, so all that fit are printed".to_owned())
        }
        _ => None,
    }
}

impl Enc {
    fn known_bits(&self) -> u32 {
        self.known.1.iter().map(|mask| mask.count_ones()).sum()
    }

    fn iv_bytes(&self) -> usize {
        if self.mode.entry().initial == Initial::Block { BLOCK_BYTES } else { 0 }
    }

    /// Bytes of a key and its initialisation vector.
    fn part_bytes(&self) -> usize {
        self.cipher.key_bytes() + self.iv_bytes()
    }

    /// The key of a part, and its initialisation vector; zeros if the mode has none.
    fn split<'a>(&self, part: &'a [u8]) -> (&'a [u8], Block) {
        let (key, bytes) = part.split_at(self.cipher.key_bytes().min(part.len()));
        let mut iv = [0; BLOCK_BYTES];
        iv[..bytes.len()].copy_from_slice(bytes);
        (key, iv)
    }

    fn run(&self, direction: Direction, part: &[u8], data: &mut [u8]) -> Result<(), Error> {
        let (key, iv) = self.split(part);
        let iv = &iv[..self.iv_bytes()];
        let options = Options { threads: 1, ..Options::default() };
        Plausible::run_mode(self.cipher, BlockMode::new(self.mode, iv)?, &options, direction, key, data)
    }

    /// The length of the padding; `None` if it is not valid, 0 if the mode has none.
    fn padding_bytes(&self, part: &[u8]) -> Result<Option<usize>, Error> {
        let Some((before, mut last)) = self.end else { return Ok(Some(0)) };
        let (key, iv) = self.split(part);
        // One block, for all candidates: the reference starts faster than a plan.
        reference::cipher(&Key::new(self.cipher, key)?).decrypt(&mut last);
        if self.mode == Mode::Cbc {
            let before = before.unwrap_or(iv);
            last.iter_mut().zip(before).for_each(|(byte, before)| *byte ^= before);
        }
        let last = Zeroizing::new(last);
        let len_bytes = usize::from(last[BLOCK_BYTES - 1]);
        let is_valid = (1..=BLOCK_BYTES).contains(&len_bytes)
            && last[BLOCK_BYTES - len_bytes..].iter().all(|&byte| usize::from(byte) == len_bytes);
        Ok(is_valid.then_some(len_bytes))
    }

    fn opens(&self, part: &[u8]) -> Result<bool, Error> {
        let Some(padding_bytes) = self.padding_bytes(part)? else { return Ok(false) };
        let mut text = Zeroizing::new(self.beginning.clone());
        self.run(Direction::Decrypt, part, &mut text)?;
        let end = if self.is_whole { text.len().saturating_sub(padding_bytes) } else { text.len() };
        let (text, (bytes, mask)) = (&text[..end], &self.known);
        let begins = text.len() >= bytes.len()
            && text.iter().zip(bytes).zip(mask).all(|((text, byte), mask)| (text ^ byte) & mask == 0);
        Ok(begins && self.looks.iter().any(|look| look.fits(text)))
    }
}

impl Test for Enc {
    fn name(&self) -> String {
        format!("openssl enc, {} {}", self.cipher, self.mode)
    }

    fn key_bytes(&self) -> Option<usize> {
        Some(self.key_count * self.part_bytes())
    }

    /// The key without the initialisation vector, which the padding of a second block does not need.
    fn first_bytes(&self) -> Option<Range<usize>> {
        let has_two_blocks = matches!(self.end, Some((Some(_), _)));
        (has_two_blocks && self.key_count == 1).then(|| 0..self.cipher.key_bytes())
    }

    fn may_hold(&self, key: &[u8]) -> Result<bool, Error> {
        Ok(self.first_bytes().is_none() || self.padding_bytes(key)?.is_some())
    }

    fn holds(&self, key: &[u8]) -> Result<bool, Error> {
        for part in key.chunks_exact(self.part_bytes()) {
            if self.opens(part)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn planted(&self, key: &[u8]) -> Result<Box<dyn Test>, Error> {
        let part = &key[..self.part_bytes().min(key.len())];
        let mut text = self.looks.first().unwrap_or(&Look::Anything).example(2 * BLOCK_BYTES - 1)?;
        text.resize(text.len().max(self.known.0.len()), b' ');
        for (text, (byte, mask)) in text.iter_mut().zip(self.known.0.iter().zip(&self.known.1)) {
            *text = *text & !mask | byte & mask;
        }
        if self.end.is_some() {
            let padding_bytes = BLOCK_BYTES - text.len() % BLOCK_BYTES;
            text.resize(text.len() + padding_bytes, padding_bytes as u8);
        }
        self.run(Direction::Encrypt, part, &mut text)?;
        let blocks = text.as_chunks().0;
        let end = match (self.end, blocks) {
            (Some(_), [.., before, last]) => Some((Some(*before), *last)),
            (Some(_), [last]) => Some((None, *last)),
            _ => None,
        };
        Ok(Box::new(Self { beginning: text, is_whole: true, end, ..self.clone() }))
    }
}
