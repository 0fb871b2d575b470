//! Word lists: candidates read from a stream, in chunks that end where a line or record ends.
//!
//! Words are numbered from 0. A line that gives no candidate keeps its number and is counted as refused, so
//! no word is skipped silently. A line ends in LF, in CR LF or at the end of the list. Every other byte, also
//! NUL, is part of the word. A word of the form `$HEX[6162]` has its bytes in hex, as hashcat and John write
//! words that are no text.
//!
//! The mark that some editors write in front of UTF-8 is not part of the first word. A list in UTF-16 is
//! refused, because no word in it would be the word that its reader sees. So is a list whose lines end in CR alone,
//! which would be a single word.
//!
//! Layout: a chunk holds the bytes of some lines as they were read. The thread that works on a chunk splits
//! it into words, so splitting runs in parallel.

use std::fmt;
use std::io::{self, Read};
use std::ops::Range;
use std::sync::Arc;

use memchr::{memchr, memchr_iter, memrchr};
use zeroize::Zeroizing;

use super::hex::decode;

/// The most bytes of a word: 1 MiB. Longer lines are refused.
pub const WORD_BYTES_MAX: usize = 1 << 20;

/// This many bytes prove that a line is too long, even if the last one is a CR that belongs to the line end.
const TOO_LONG_BYTES: usize = WORD_BYTES_MAX + 2;

/// Bytes at the beginning of a text that are looked at for UTF-16.
const BEGINNING_BYTES: usize = 16;

/// A list of this many bytes without LF whose lines end in CR has no LF further on.
const ENOUGH_BYTES: usize = 4096;

/// The format of a word list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// One word per line.
    Lines,
    /// One word per line, in hex.
    Hex,
    /// Words of a fixed length without separators.
    Records {
        /// The length of each, in bytes; not 0.
        len_bytes: usize,
    },
}

/// A reader of a word list.
pub struct Words<R> {
    input: R,
    form: Form,
    chunk_bytes: usize,
    /// Bytes that were read and belong to no chunk yet.
    rest: Zeroizing<Vec<u8>>,
    next: u64,
    is_begun: bool,
    is_at_end: bool,
    is_cut: bool,
    /// The rest of the last chunk, if a search has not taken all its candidates.
    pub(super) untaken: Option<Taken>,
}

/// Candidates of a chunk, by their numbers.
pub(super) struct Taken {
    pub(super) chunk: Arc<Chunk>,
    pub(super) numbers: Range<u128>,
}

/// Some consecutive words of a list. Overwritten when dropped.
pub struct Chunk {
    form: Form,
    first: u64,
    count: u64,
    bytes: Vec<u8>,
}

/// An iterator over the words of a chunk.
pub struct InChunk<'a> {
    form: Form,
    rest: &'a [u8],
}

/// The reason why a word gives no candidate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// It has more bytes than the key or [`WORD_BYTES_MAX`] allows.
    TooLong,
    /// It has fewer bytes than the key.
    TooShort,
    /// It does not consist of pairs of hex digits.
    NotHex,
}

/// The number of refused words and the first of them, for each reason.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Refused([Option<(u64, u64)>; Refusal::ALL.len()]);

impl<R: Read> Words<R> {
    /// A reader that reads about `chunk_bytes` at a time.
    pub fn new(input: R, form: Form, chunk_bytes: usize) -> Self {
        let chunk_bytes = chunk_bytes.max(1);
        Self {
            input,
            form,
            chunk_bytes,
            rest: Zeroizing::default(),
            next: 0,
            is_begun: false,
            is_at_end: false,
            is_cut: false,
            untaken: None,
        }
    }

    /// Changes the number of bytes read at a time.
    pub fn set_chunk_bytes(&mut self, chunk_bytes: usize) {
        self.chunk_bytes = chunk_bytes.max(1);
    }

    /// The number of the next word.
    pub const fn next(&self) -> u64 {
        self.next
    }

    /// Whether the list ended within a line or record. The incomplete word counts as a word.
    pub const fn is_cut(&self) -> bool {
        self.is_cut
    }

    /// The next words; `None` at the end.
    ///
    /// # Errors
    /// If the list cannot be read.
    pub fn chunk(&mut self) -> io::Result<Option<Chunk>> {
        let are_lines = self.form == Form::Lines || self.form == Form::Hex;
        let mut without_end = self.rest.len();
        if are_lines && !self.is_begun {
            self.skip_mark()?;
            without_end = 0;
        }
        let end = loop {
            if are_lines && self.next == 0 && (self.is_at_end || self.rest.len() >= ENOUGH_BYTES) {
                check_ends(&self.rest)?;
            }
            if self.is_at_end {
                break self.rest.len();
            }
            self.read(self.chunk_bytes)?;
            if let Some(end) = self.end(without_end) {
                break end;
            }
            if are_lines
                && self.shorten()?
                && let Some(end) = self.end(TOO_LONG_BYTES)
            {
                break end;
            }
            without_end = self.rest.len();
        };
        // Reserves enough for the next read, so that the vector does not reallocate and leave part of a word
        // in freed memory.
        let mut later = Vec::with_capacity(self.rest.len() - end + self.chunk_bytes);
        later.extend_from_slice(&self.rest[end..]);
        let bytes = std::mem::take(&mut *std::mem::replace(&mut self.rest, Zeroizing::new(later)));
        let mut chunk = Chunk { form: self.form, first: self.next, count: 0, bytes };
        chunk.bytes.truncate(end);
        chunk.count = self.words_in(&chunk.bytes);
        self.next += chunk.count;
        Ok(Some(chunk).filter(|chunk| chunk.count > 0))
    }

    /// Reads the first bytes of the list, and skips the mark of UTF-8.
    fn skip_mark(&mut self) -> io::Result<()> {
        // Enough for the next read, too: no part of a word is left in freed memory.
        self.rest.reserve_exact(BEGINNING_BYTES + self.chunk_bytes);
        self.read(BEGINNING_BYTES)?;
        let mark_bytes = mark_bytes(&self.rest)?;
        self.rest.drain(..mark_bytes);
        self.is_cut &= !self.rest.is_empty();
        self.is_begun = true;
        Ok(())
    }

    /// Reads this many bytes; fewer only at the end of the list.
    fn read(&mut self, len_bytes: usize) -> io::Result<()> {
        let from = self.rest.len();
        let mut full = from;
        self.rest.reserve_exact(len_bytes);
        self.rest.resize(from + len_bytes, 0);
        while full < self.rest.len() {
            match self.input.read(&mut self.rest[full..]) {
                Ok(0) => {
                    self.is_at_end = true;
                    break;
                }
                Ok(count) => full += count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => {
                    self.rest.truncate(full);
                    return Err(error);
                }
            }
        }
        self.rest.truncate(full);
        self.is_cut = self.is_at_end && self.end(0) != Some(full) && full > 0;
        Ok(())
    }

    /// The end of the last whole word, if a word ends in the bytes after `from`.
    fn end(&self, from: usize) -> Option<usize> {
        match self.form {
            Form::Lines | Form::Hex => memrchr(b'\n', &self.rest[from..]).map(|place| from + place + 1),
            Form::Records { len_bytes } => {
                Some(self.rest.len() / len_bytes * len_bytes).filter(|&end| end > 0)
            }
        }
    }

    /// Shortens a line that is too long to the bytes that prove it, followed by its end. Returns whether the
    /// end was found.
    fn shorten(&mut self) -> io::Result<bool> {
        while self.rest.len() > TOO_LONG_BYTES && !self.is_at_end {
            self.rest.truncate(TOO_LONG_BYTES);
            self.read(self.chunk_bytes)?;
            if let Some(end) = memchr(b'\n', &self.rest[TOO_LONG_BYTES..]) {
                self.rest.drain(TOO_LONG_BYTES..TOO_LONG_BYTES + end);
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Reads the list to its end and returns the number of words. No word may have been read before.
    ///
    /// # Errors
    /// If the list cannot be read.
    pub fn count(mut self) -> io::Result<u64> {
        while self.chunk()?.is_some() {}
        Ok(self.next)
    }

    /// The number of words in these bytes.
    fn words_in(&self, bytes: &[u8]) -> u64 {
        match self.form {
            Form::Lines | Form::Hex => {
                memchr_iter(b'\n', bytes).count() as u64
                    + u64::from(bytes.last().is_some_and(|&last| last != b'\n'))
            }
            Form::Records { len_bytes } => bytes.len().div_ceil(len_bytes) as u64,
        }
    }
}

/// The bytes of the mark in front of a text: 3 for UTF-8, 0 without a mark.
///
/// # Errors
/// For the mark of UTF-16, and for a beginning of which every second byte is NUL, which UTF-16 has without a mark.
pub(super) fn mark_bytes(text: &[u8]) -> io::Result<usize> {
    let units = text[..text.len().min(BEGINNING_BYTES)].as_chunks::<2>().0;
    let are_ascii =
        |high: usize| units.len() > 1 && units.iter().all(|unit| unit[high] == 0 && unit[1 - high] != 0);
    let utf16 = match text {
        [0xef, 0xbb, 0xbf, ..] => return Ok(3),
        [0xff, 0xfe, ..] | [0xfe, 0xff, ..] => "UTF-16",
        _ if are_ascii(1) => "UTF-16LE",
        _ if are_ascii(0) => "UTF-16BE",
        _ => return Ok(0),
    };
    let told = format!("it is in UTF-16: convert it to UTF-8, by iconv -f {utf16} -t UTF-8 for example");
    Err(io::Error::new(io::ErrorKind::InvalidData, told))
}

/// Refuses a text whose lines end in CR alone.
pub(super) fn check_ends(text: &[u8]) -> io::Result<()> {
    let beginning = &text[..text.len().saturating_sub(1).min(ENOUGH_BYTES)];
    if memchr(b'\r', beginning).is_some() && memchr(b'\n', text).is_none() {
        let told = "its lines end in CR alone: convert them, by tr '\\r' '\\n' for example";
        return Err(io::Error::new(io::ErrorKind::InvalidData, told));
    }
    Ok(())
}

/// The bytes of a word that may have the form `$HEX[6162]`. Other words, also those with a digit too few, are
/// bytes themselves.
fn from_hex<'a>(word: &'a [u8], scratch: &'a mut Vec<u8>) -> &'a [u8] {
    let digits = word.strip_prefix(b"$HEX[").and_then(|rest| rest.strip_suffix(b"]"));
    let Some(digits) = digits.filter(|digits| digits.len().is_multiple_of(2)) else { return word };
    scratch.clear();
    scratch.resize(digits.len() / 2, 0);
    if decode(digits, scratch) { scratch } else { word }
}

impl Drop for Chunk {
    fn drop(&mut self) {
        // Overwrite all memory at once: `Zeroizing` would write byte by byte, which takes longer than trying
        // the keys in it.
        self.bytes.clear();
        self.bytes.resize(self.bytes.capacity(), 0);
        zeroize::optimization_barrier(&self.bytes[..]);
    }
}

impl Chunk {
    /// The number of its first word.
    pub const fn first(&self) -> u64 {
        self.first
    }

    /// The number of words.
    pub const fn count(&self) -> u64 {
        self.count
    }

    /// The number of bytes.
    pub(super) const fn len_bytes(&self) -> usize {
        self.bytes.len()
    }

    /// The lines as they were read, with their ends.
    pub fn lines(&self) -> &[u8] {
        &self.bytes
    }

    /// The words without line ends, not yet decoded.
    pub fn words(&self) -> InChunk<'_> {
        InChunk { form: self.form, rest: &self.bytes }
    }

    /// The bytes of a word. A word in hex is decoded into `scratch`.
    pub(super) fn read<'a>(&self, word: &'a [u8], scratch: &'a mut Vec<u8>) -> Result<&'a [u8], Refusal> {
        match self.form {
            _ if word.len() > WORD_BYTES_MAX => Err(Refusal::TooLong),
            Form::Lines => Ok(from_hex(word, scratch)),
            Form::Records { len_bytes } if word.len() < len_bytes => Err(Refusal::TooShort),
            Form::Records { .. } => Ok(word),
            Form::Hex => {
                scratch.clear();
                scratch.resize(word.len() / 2, 0);
                let is_hex = word.len().is_multiple_of(2) && decode(word, scratch);
                if is_hex { Ok(scratch) } else { Err(Refusal::NotHex) }
            }
        }
    }
}

impl InChunk<'_> {
    /// Takes up to `most` words and appends them to `keys`, as long as all are keys of `key_bytes` in the
    /// same format. Returns the number of keys. The first word that does not fit stays as the next word.
    pub(super) fn take_keys(&mut self, key_bytes: usize, most: usize, keys: &mut Vec<u8>) -> usize {
        let from = keys.len();
        let taken_bytes = match self.form {
            Form::Records { len_bytes } if len_bytes == key_bytes => {
                let end = (self.rest.len() / key_bytes).min(most) * key_bytes;
                keys.extend_from_slice(&self.rest[..end]);
                end
            }
            Form::Hex => {
                let digits_bytes = 2 * key_bytes;
                let is_crlf = self.rest.get(digits_bytes) == Some(&b'\r');
                let end: &[u8] = if is_crlf { b"\r\n" } else { b"\n" };
                let line_bytes = digits_bytes + end.len();
                let mut count = 0;
                for line in self.rest.chunks_exact(line_bytes).take(most) {
                    let at = keys.len();
                    keys.resize(at + key_bytes, 0);
                    if line[digits_bytes..] != *end || !decode(&line[..digits_bytes], &mut keys[at..]) {
                        keys.truncate(at);
                        break;
                    }
                    count += 1;
                }
                count * line_bytes
            }
            _ => 0,
        };
        self.rest = &self.rest[taken_bytes..];
        (keys.len() - from) / key_bytes
    }
}

impl<'a> Iterator for InChunk<'a> {
    type Item = &'a [u8];

    fn next(&mut self) -> Option<&'a [u8]> {
        let rest = self.rest;
        if rest.is_empty() {
            return None;
        }
        let (word, taken_bytes) = match self.form {
            Form::Records { len_bytes } => {
                let end = len_bytes.min(rest.len());
                (&rest[..end], end)
            }
            Form::Lines | Form::Hex => {
                let (line, taken_bytes) = match memchr(b'\n', rest) {
                    Some(end) => (&rest[..end], end + 1),
                    None => (rest, rest.len()),
                };
                (line.strip_suffix(b"\r").unwrap_or(line), taken_bytes)
            }
        };
        self.rest = &rest[taken_bytes..];
        Some(word)
    }
}

impl Refusal {
    /// All reasons, in the order in which they are reported.
    pub const ALL: [Self; 3] = [Self::TooLong, Self::TooShort, Self::NotHex];

    /// The reason as text.
    pub const fn reason(self) -> &'static str {
        match self {
            Self::TooLong => "too long",
            Self::TooShort => "too short",
            Self::NotHex => "not in hex",
        }
    }
}

impl Refused {
    /// Counts one refused word, by its number.
    pub(super) fn count(&mut self, refusal: Refusal, number: u64) {
        self.add(refusal, 1, number);
    }

    /// Adds the counts of another thread.
    pub fn merge(&mut self, other: &Self) {
        for (refusal, counted) in Refusal::ALL.into_iter().zip(other.0) {
            if let Some((count, first)) = counted {
                self.add(refusal, count, first);
            }
        }
    }

    fn add(&mut self, refusal: Refusal, count: u64, first: u64) {
        let (old, old_first) = self.0[refusal as usize].unwrap_or((0, first));
        self.0[refusal as usize] = Some((old + count, old_first.min(first)));
    }

    /// The refused words: the reason, their count, and the number of the first.
    pub fn iter(&self) -> impl Iterator<Item = (Refusal, u64, u64)> {
        let counted = Refusal::ALL.into_iter().zip(self.0);
        counted.filter_map(|(refusal, counted)| counted.map(|(count, first)| (refusal, count, first)))
    }
}

impl<R> fmt::Debug for Words<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Words({:?}, read up to {}, secret)", self.form, self.next)
    }
}

impl fmt::Debug for InChunk<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "InChunk({} bytes, secret)", self.rest.len())
    }
}

impl fmt::Debug for Chunk {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Chunk({} words from {}, secret)", self.count, self.first)
    }
}
