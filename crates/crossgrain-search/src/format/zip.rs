//! Zip archives with AES (WinZip's AE-1 and AE-2).
//!
//! Each entry has a salt, two bytes that check the passphrase, the ciphertext and a tag. PBKDF2 with HMAC-SHA1 and
//! 1000 iterations gives the key of AES, the key of the tag, and the two bytes. The tag is the beginning of an
//! HMAC-SHA1 of the ciphertext. It is computed only if the two bytes fit, which one wrong passphrase in 65,536
//! does, and it decides. On lanes, only the digest with the two bytes is derived before that.
//!
//! The search uses the smallest entry. A self-extracting archive begins with a program. The places in its directory
//! may be counted from the end of that program, which follows from the actual place of the directory. Sources: PKWARE's APPNOTE.TXT 6.3.10; "AES Encryption Information:
//! Encryption Specification AE-1 and AE-2", WinZip, version 1.04.

use std::fmt;
use std::io::{Read as _, SeekFrom};
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

use hmac::{Hmac, KeyInit as _, Mac as _};
use sha1::Sha1;

use super::{Details, Format, Locked, Source, damaged, read_at, unsupported};
use crate::{Error, Hash, Kdf, Test};

/// The signatures of an entry, of its row in the directory, and of the directory's end.
const LOCAL: &[u8; 4] = b"PK\x03\x04";
const CENTRAL: &[u8; 4] = b"PK\x01\x02";
const END: &[u8; 4] = b"PK\x05\x06";
const END_64: &[u8; 4] = b"PK\x06\x06";
const LOCATOR_64: &[u8; 4] = b"PK\x06\x07";

/// Bytes of these without texts.
const LOCAL_BYTES: usize = 30;
const CENTRAL_BYTES: usize = 46;
const END_BYTES: usize = 22;
const END_64_BYTES: usize = 56;
const LOCATOR_64_BYTES: usize = 20;

/// The most bytes of the comment after the directory.
const COMMENT_BYTES_MAX: usize = 65_535;

/// The most bytes of a directory.
const DIRECTORY_BYTES_MAX: u64 = 256 << 20;

/// The compression method of entries encrypted with AES, and the extra fields of them and of large archives.
const METHOD_AES: u16 = 99;
const EXTRA_AES: u16 = 0x9901;
const EXTRA_64: u16 = 1;

const ITERATIONS: u32 = 1000;
const CHECK_BYTES: usize = 2;
const TAG_BYTES: usize = 10;

pub(super) const FORMAT: Format = Format {
    name: "zip",
    about: "Zip archives encrypted with AES",
    takes: &[],
    is_it: |beginning| beginning.starts_with(LOCAL) || beginning.starts_with(END),
    read,
};

/// An entry of the directory that is encrypted with AES.
struct Entry {
    key_bytes: usize,
    /// The place of its local header, and the bytes of salt, check, ciphertext and tag.
    from: u64,
    len_bytes: u64,
}

/// An encrypted entry.
#[derive(Clone)]
struct Zip {
    key_bytes: usize,
    check: [u8; CHECK_BYTES],
    tag: [u8; TAG_BYTES],
    source: Arc<Mutex<Box<dyn Source>>>,
    /// The ciphertext in the source.
    ciphertext: Range<u64>,
}

fn read(mut source: Box<dyn Source>, _: &Details) -> Result<Locked, Error> {
    let (directory, begin) = directory(&mut *source)?;
    let mut entry = smallest(&directory)?;
    entry.from = entry.from.saturating_add(begin);
    let mut local = [0; LOCAL_BYTES];
    read_at(&mut *source, entry.from, &mut local)?;
    if !local.starts_with(LOCAL) {
        return Err(damaged("its directory names a place without an entry"));
    }
    let from =
        entry.from + (LOCAL_BYTES + usize::from(word(&local, 26)) + usize::from(word(&local, 28))) as u64;
    let mut salt = vec![0; entry.key_bytes / 2];
    let mut check = [0; CHECK_BYTES];
    let mut tag = [0; TAG_BYTES];
    let before_bytes = (salt.len() + CHECK_BYTES) as u64;
    let ciphertext_bytes = entry.len_bytes.checked_sub(before_bytes + TAG_BYTES as u64);
    let ciphertext_bytes =
        ciphertext_bytes.ok_or_else(|| damaged("an entry shorter than its salt and tag"))?;
    let ciphertext = from + before_bytes..from.saturating_add(before_bytes).saturating_add(ciphertext_bytes);
    read_at(&mut *source, from, &mut salt)?;
    read_at(&mut *source, from + salt.len() as u64, &mut check)?;
    read_at(&mut *source, ciphertext.end, &mut tag)?;
    let (key_bytes, source) = (entry.key_bytes, Arc::new(Mutex::new(source)));
    let kdf = Kdf::Pbkdf2 { hash: Hash::Sha1, salt, iterations: ITERATIONS };
    Ok(Locked::certain(kdf, Zip { key_bytes, check, tag, source, ciphertext }))
}

fn word(bytes: &[u8], from: usize) -> u16 {
    u16::from_le_bytes([bytes[from], bytes[from + 1]])
}

/// A little-endian number of `len_bytes`.
fn number(bytes: &[u8], from: usize, len_bytes: usize) -> u64 {
    bytes[from..from + len_bytes].iter().rev().fold(0, |number, &byte| number << 8 | u64::from(byte))
}

/// The directory at the end of the archive, and the place from which the archive counts.
fn directory(source: &mut dyn Source) -> Result<(Vec<u8>, u64), Error> {
    let file_bytes = source.seek(SeekFrom::End(0)).map_err(Error::ReadFile)?;
    let tail_bytes = file_bytes.min((COMMENT_BYTES_MAX + END_BYTES + LOCATOR_64_BYTES) as u64);
    let mut tail = vec![0; tail_bytes as usize];
    let tail_from = file_bytes - tail_bytes;
    read_at(source, tail_from, &mut tail)?;
    let ends = (0..(tail.len() + 1).saturating_sub(END_BYTES)).rev();
    let mut ends = ends.filter(|&at| tail[at..].starts_with(END));
    let at =
        ends.next().ok_or_else(|| damaged("its directory is missing: is it the last part of several?"))?;
    let (mut len_bytes, mut from) = (number(&tail, at + 12, 4), number(&tail, at + 16, 4));
    let mut end = tail_from + at as u64;
    if from == u64::from(u32::MAX) || len_bytes == u64::from(u32::MAX) {
        let locator = at.checked_sub(LOCATOR_64_BYTES).filter(|&at| tail[at..].starts_with(LOCATOR_64));
        let locator = locator.ok_or_else(|| damaged("the place of its directory is missing"))?;
        let row;
        (row, end) = end_64(source, [number(&tail, locator + 8, 8), tail_from + locator as u64])?;
        (len_bytes, from) = (number(&row, 40, 8), number(&row, 48, 8));
    }
    if len_bytes > DIRECTORY_BYTES_MAX.min(file_bytes) {
        return Err(damaged(format_args!("a directory of {len_bytes} bytes")));
    }
    let begin = end.saturating_sub(len_bytes).saturating_sub(from);
    let mut directory = vec![0; len_bytes as usize];
    read_at(source, from, &mut directory)?;
    if begin == 0 || directory.starts_with(CENTRAL) {
        return Ok((directory, 0));
    }
    read_at(source, from + begin, &mut directory)?;
    Ok((directory, begin))
}

/// The end of the directory of a large archive, and its place: the place that the locator names, or right before the
/// locator if a program precedes the archive.
fn end_64(source: &mut dyn Source, [named, locator]: [u64; 2]) -> Result<([u8; END_64_BYTES], u64), Error> {
    let mut end = [0; END_64_BYTES];
    for from in [named, locator.saturating_sub(END_64_BYTES as u64)] {
        read_at(source, from, &mut end)?;
        if end.starts_with(END_64) {
            return Ok((end, from));
        }
    }
    Err(damaged("the end of its directory is missing"))
}

/// The smallest entry that is encrypted with AES.
fn smallest(directory: &[u8]) -> Result<Entry, Error> {
    let (mut best, mut is_old) = (None::<Entry>, false);
    let mut rest = directory;
    while rest.len() >= CENTRAL_BYTES && rest.starts_with(CENTRAL) {
        let [name, extra, comment] = [28, 30, 32].map(|from| usize::from(word(rest, from)));
        let next = CENTRAL_BYTES + name + extra + comment;
        let extra = rest.get(CENTRAL_BYTES + name..CENTRAL_BYTES + name + extra);
        let (Some(extra), true) = (extra, next <= rest.len()) else {
            return Err(damaged("an entry of its directory is cut off"));
        };
        let (is_encrypted, is_aes) = (word(rest, 8) & 1 != 0, word(rest, 10) == METHOD_AES);
        is_old |= is_encrypted && !is_aes;
        if is_encrypted && is_aes {
            let entry = entry(rest, extra)?;
            if best.as_ref().is_none_or(|best| entry.len_bytes < best.len_bytes) {
                best = Some(entry);
            }
        }
        rest = &rest[next..];
    }
    best.ok_or_else(|| match is_old {
        true => unsupported("zip's old encryption (ZipCrypto)"),
        false => {
            Error::Format { why: "no entry of the archive is encrypted with AES: take another".to_owned() }
        }
    })
}

/// An entry of the directory, with its extra fields.
fn entry(row: &[u8], extra: &[u8]) -> Result<Entry, Error> {
    let aes = field(extra, EXTRA_AES).filter(|aes| aes.len() >= 7);
    let aes = aes.ok_or_else(|| damaged("an entry does not say how it is encrypted"))?;
    let key_bytes = match aes[4] {
        1 => 16,
        2 => 24,
        3 => 32,
        other => return Err(unsupported(format_args!("AES of strength {other} in a zip archive"))),
    };
    let mut large = field(extra, EXTRA_64).unwrap_or_default();
    // The extra field has the 64-bit numbers of those that the row leaves out, in this order.
    let mut number = |from: usize| {
        let short = number(row, from, 4);
        if short != u64::from(u32::MAX) {
            return Ok::<_, Error>(short);
        }
        let (long, after) = large.split_at_checked(8).ok_or_else(|| damaged("a length is missing"))?;
        large = after;
        Ok(number(long, 0, 8))
    };
    let (_, len_bytes, from) = (number(24)?, number(20)?, number(42)?);
    Ok(Entry { key_bytes, from, len_bytes })
}

/// The extra field of this kind.
fn field(mut extra: &[u8], kind: u16) -> Option<&[u8]> {
    while extra.len() >= 4 {
        let (head, rest) = extra.split_at(4);
        let (field, after) = rest.split_at_checked(usize::from(word(head, 2)))?;
        if word(head, 0) == kind {
            return Some(field);
        }
        extra = after;
    }
    None
}

impl Zip {
    /// The tag of the ciphertext. It is read in pieces, since it may be long.
    fn tag(&self, key: &[u8]) -> Result<[u8; TAG_BYTES], Error> {
        let mut mac = Hmac::<Sha1>::new_from_slice(key).map_err(|_| damaged("the key of its tag"))?;
        let mut source = self.source.lock().unwrap_or_else(PoisonError::into_inner);
        let (mut at, mut piece) = (self.ciphertext.start, vec![0; 1 << 16]);
        source.seek(SeekFrom::Start(at)).map_err(Error::ReadFile)?;
        while at < self.ciphertext.end {
            let len_bytes = (self.ciphertext.end - at).min(piece.len() as u64) as usize;
            source.read_exact(&mut piece[..len_bytes]).map_err(Error::ReadFile)?;
            mac.update(&piece[..len_bytes]);
            at += len_bytes as u64;
        }
        let mut tag = [0; TAG_BYTES];
        tag.copy_from_slice(&mac.finalize().into_bytes()[..TAG_BYTES]);
        Ok(tag)
    }

    /// The key of the tag, and the bytes that check the passphrase.
    fn parts<'a>(&self, key: &'a [u8]) -> (&'a [u8], &'a [u8]) {
        let (keys, check) = key.split_at(2 * self.key_bytes);
        (&keys[self.key_bytes..], check)
    }
}

impl Test for Zip {
    fn name(&self) -> String {
        format!(
            "zip, AES-{}, an entry of {} bytes",
            8 * self.key_bytes,
            self.ciphertext.end - self.ciphertext.start
        )
    }

    fn key_bytes(&self) -> Option<usize> {
        Some(2 * self.key_bytes + CHECK_BYTES)
    }

    /// The last two bytes, so one of up to four digests.
    fn first_bytes(&self) -> Option<Range<usize>> {
        Some(2 * self.key_bytes..2 * self.key_bytes + CHECK_BYTES)
    }

    fn may_hold(&self, key: &[u8]) -> Result<bool, Error> {
        Ok(self.parts(key).1 == self.check)
    }

    fn holds(&self, key: &[u8]) -> Result<bool, Error> {
        let (mac_key, check) = self.parts(key);
        Ok(check == self.check && self.tag(mac_key)? == self.tag)
    }

    fn reads_later(&self) -> Option<Range<u64>> {
        Some(self.ciphertext.clone())
    }

    /// An entry without bytes, so that a long one is not read for each planted key.
    fn planted(&self, key: &[u8]) -> Result<Box<dyn Test>, Error> {
        let (mac_key, check) = self.parts(key);
        let mut planted = Self { ciphertext: 0..0, ..self.clone() };
        planted.check.copy_from_slice(check);
        planted.tag = planted.tag(mac_key)?;
        Ok(Box::new(planted))
    }
}

impl fmt::Debug for Zip {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name())
    }
}
