//! Word lists: candidates read from a stream, in chunks that end where lines end.
//!
//! Words are numbered from 0 on, and none is passed over in silence: a line that is no candidate keeps its number and is
//! counted as refused. A line ends in LF or CR LF or with the list; NUL and every other byte are part of the word.
//!
//! Layout: a chunk is the bytes of some lines as they were read. Whoever works on it takes it apart, so that
//! this too is done by all threads.

use std::fmt;
use std::io::{self, Read};

use memchr::{memchr, memchr_iter, memrchr};
use zeroize::Zeroizing;

use super::hex::decode;

/// A longer line is no word: 1 MiB.
pub const WORD_BYTES_MAX: usize = 1 << 20;

/// So many bytes show that a line is longer, even if the last of them is taken for a part of its end.
const TOO_LONG_BYTES: usize = WORD_BYTES_MAX + 2;

/// How words stand in a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// One a line.
    Lines,
    /// One a line, in hex.
    Hex,
    /// One after the other without anything between them.
    Records {
        /// The length of each, in bytes; not 0.
        len_bytes: usize,
    },
}

/// A list that is being read.
pub struct Words<R> {
    input: R,
    form: Form,
    chunk_bytes: usize,
    /// What was read and is part of no chunk yet.
    rest: Zeroizing<Vec<u8>>,
    next: u64,
    is_at_end: bool,
    is_cut: bool,
}

/// Some words of a list. Wiped when dropped.
pub struct Chunk {
    form: Form,
    first: u64,
    count: u64,
    bytes: Vec<u8>,
}

/// The words of a chunk that were not taken yet.
pub struct InChunk<'a> {
    form: Form,
    rest: &'a [u8],
}

/// Why a line is no candidate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// It has more bytes than a key or a word may have.
    TooLong,
    /// It has less bytes than a key.
    TooShort,
    /// It is not made of pairs of hex digits.
    NotHex,
}

/// How many words were refused, by why, and which was the first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Refused([Option<(u64, u64)>; Refusal::ALL.len()]);

impl<R: Read> Words<R> {
    /// Reads a list by some `chunk_bytes` at a time.
    pub fn new(input: R, form: Form, chunk_bytes: usize) -> Self {
        let chunk_bytes = chunk_bytes.max(1);
        Self {
            input,
            form,
            chunk_bytes,
            rest: Zeroizing::default(),
            next: 0,
            is_at_end: false,
            is_cut: false,
        }
    }

    /// From now on by so many bytes at a time.
    pub fn set_chunk_bytes(&mut self, chunk_bytes: usize) {
        self.chunk_bytes = chunk_bytes.max(1);
    }

    /// The number of the next word.
    pub const fn next(&self) -> u64 {
        self.next
    }

    /// Whether the list ended within a line or record. It is one of the words all the same.
    pub const fn is_cut(&self) -> bool {
        self.is_cut
    }

    /// The next words; none at the end.
    ///
    /// # Errors
    /// If the list cannot be read.
    pub fn chunk(&mut self) -> io::Result<Option<Chunk>> {
        let end = loop {
            if self.is_at_end {
                break self.rest.len();
            }
            let from = self.rest.len();
            self.read()?;
            if let Some(end) = self.end(from) {
                break end;
            }
            let are_lines = self.form == Form::Lines || self.form == Form::Hex;
            if are_lines
                && self.shorten()?
                && let Some(end) = self.end(TOO_LONG_BYTES)
            {
                break end;
            }
        };
        // As much as will be read, so that no part of a word is left behind where a vector grew.
        let mut later = Vec::with_capacity(self.rest.len() - end + self.chunk_bytes);
        later.extend_from_slice(&self.rest[end..]);
        let bytes = std::mem::take(&mut *std::mem::replace(&mut self.rest, Zeroizing::new(later)));
        let mut chunk = Chunk { form: self.form, first: self.next, count: 0, bytes };
        chunk.bytes.truncate(end);
        chunk.count = self.words_in(&chunk.bytes);
        self.next += chunk.count;
        Ok(Some(chunk).filter(|chunk| chunk.count > 0))
    }

    /// Reads a chunk's length, less only at the end.
    fn read(&mut self) -> io::Result<()> {
        let from = self.rest.len();
        let mut full = from;
        self.rest.reserve_exact(self.chunk_bytes);
        self.rest.resize(from + self.chunk_bytes, 0);
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

    /// Where the last whole word ends, of which something was read `from` here on.
    fn end(&self, from: usize) -> Option<usize> {
        match self.form {
            Form::Lines | Form::Hex => memrchr(b'\n', &self.rest[from..]).map(|place| from + place + 1),
            Form::Records { len_bytes } => {
                Some(self.rest.len() / len_bytes * len_bytes).filter(|&end| end > 0)
            }
        }
    }

    /// Of a line that is too long keeps no more than shows that it is, and its end: whether that was found.
    fn shorten(&mut self) -> io::Result<bool> {
        while self.rest.len() > TOO_LONG_BYTES && !self.is_at_end {
            self.rest.truncate(TOO_LONG_BYTES);
            self.read()?;
            if let Some(end) = memchr(b'\n', &self.rest[TOO_LONG_BYTES..]) {
                self.rest.drain(TOO_LONG_BYTES..TOO_LONG_BYTES + end);
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// How many words there are, of which none was read yet: reads them all.
    ///
    /// # Errors
    /// If the list cannot be read.
    pub fn count(mut self) -> io::Result<u64> {
        while self.chunk()?.is_some() {}
        Ok(self.next)
    }

    /// How many words these bytes are.
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

impl Drop for Chunk {
    fn drop(&mut self) {
        // All the memory at once: `Zeroizing` would write it byte by byte, which takes longer than to try the keys in it.
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

    /// How many words it has.
    pub const fn count(&self) -> u64 {
        self.count
    }

    /// How long it is.
    pub(super) const fn len_bytes(&self) -> usize {
        self.bytes.len()
    }

    /// Its words as they stand there, without line ends.
    pub fn words(&self) -> InChunk<'_> {
        InChunk { form: self.form, rest: &self.bytes }
    }

    /// The bytes that a word stands for: itself, or what its hex digits say, which `scratch` then holds.
    pub(super) fn read<'a>(&self, word: &'a [u8], scratch: &'a mut Vec<u8>) -> Result<&'a [u8], Refusal> {
        match self.form {
            _ if word.len() > WORD_BYTES_MAX => Err(Refusal::TooLong),
            Form::Lines => Ok(word),
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
    /// Takes words as long as they are keys of so many bytes that stand one like the other, `most` of them, and appends the keys
    /// to `keys`. How many there are; what is no such key is left to be the next word.
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
    /// Every reason, in the order in which they are told.
    pub const ALL: [Self; 3] = [Self::TooLong, Self::TooShort, Self::NotHex];

    /// What is wrong with such a word.
    pub const fn reason(self) -> &'static str {
        match self {
            Self::TooLong => "too long",
            Self::TooShort => "too short",
            Self::NotHex => "not in hex",
        }
    }
}

impl Refused {
    /// Counts a word, by its number.
    pub(super) fn count(&mut self, refusal: Refusal, number: u64) {
        self.add(refusal, 1, number);
    }

    /// Counts what somebody else counted.
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

    /// What was refused: why, how many, and the number of the first.
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
