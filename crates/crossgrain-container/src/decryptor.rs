//! Decrypts a stream, from its beginning or from any position.

use std::fmt;
use std::io::{self, Read, Seek, SeekFrom};

use super::derive::{Limits, Secret};
use super::error::{Damage, Error};
use super::header::Header;
use super::payload::{CHUNK_BYTES, PREFIX_BYTES, Payload, SEALED_CHUNK_BYTES, Suite};
use super::{GROUP_CHUNKS, Held, fill, fill_from};
use crossgrain::mode::Options;

/// Reads an encrypted file and returns only authentic plaintext. It can seek if the input can.
///
/// If the file was changed or truncated, reading succeeds up to that place. Every read after it fails with an
/// [`Error::Damaged`] inside the [`io::Error`]. The file is known to be complete only when reading has
/// reached the end. If the input fails, no data is lost: the next read continues at the same place.
pub struct Decryptor<R> {
    input: R,
    payload: Payload,
    /// The position of the first chunk in the input, once it was determined.
    start: Option<u64>,
    /// Bytes of chunks before the position of the input.
    taken_bytes: u64,
    /// Whether the position of the input is unknown because seeking failed.
    is_adrift: bool,
    sealed: Vec<u8>,
    /// Bytes already read of the chunks to be opened next.
    filled_bytes: usize,
    /// Authentic plaintext: `len_bytes`, from chunk `first` on.
    plaintext: Held,
    len_bytes: usize,
    first: u64,
    /// The number of the next chunk to open.
    next: u64,
    /// The number of chunks to open then: one after a seek, doubled as reading continues.
    ahead: usize,
    /// The position of the next read, in bytes of plaintext.
    position: u64,
    ended: Option<Result<(), Damage>>,
}

impl<R: Read> Decryptor<R> {
    /// Reads header, salt and commitment.
    ///
    /// # Errors
    /// As [`Header::read`], [`Header::input_key`] and [`Header::payload`]; and [`Error::TruncatedHeader`].
    pub fn new(mut input: R, secret: Secret<'_>, limits: &Limits, options: &Options) -> Result<Self, Error> {
        let header = Header::read(&mut input)?;
        let prefix = prefix(&mut input)?;
        let key = header.input_key(secret, limits)?;
        Ok(Self::begun(input, header.payload(&key, &prefix, options)?))
    }

    /// Reads salt and commitment after a header, whose input key is known.
    ///
    /// # Errors
    /// As [`Header::payload`]; [`Error::TruncatedHeader`], or [`Error::Io`] if reading fails.
    pub fn after(mut input: R, header: &Header, input_key: &[u8], options: &Options) -> Result<Self, Error> {
        let prefix = prefix(&mut input)?;
        Ok(Self::begun(input, header.payload(input_key, &prefix, options)?))
    }

    /// Reads salt and commitment of a file without header.
    ///
    /// # Errors
    /// As [`Payload::committed`]; [`Error::TruncatedHeader`], or [`Error::Io`] if reading fails.
    pub fn bare(
        mut input: R,
        suite: Suite,
        input_key: &[u8],
        context: &[u8],
        options: &Options,
    ) -> Result<Self, Error> {
        let prefix = prefix(&mut input)?;
        Ok(Self::begun(input, Payload::committed(suite, input_key, &prefix, context, options)?))
    }

    fn begun(input: R, payload: Payload) -> Self {
        Self {
            input,
            payload,
            start: None,
            taken_bytes: 0,
            is_adrift: false,
            sealed: vec![0; GROUP_CHUNKS * SEALED_CHUNK_BYTES],
            filled_bytes: 0,
            plaintext: Held::new(),
            len_bytes: 0,
            first: 0,
            next: 0,
            ahead: 1,
            position: 0,
            ended: None,
        }
    }

    /// The suite of the file.
    pub const fn suite(&self) -> Suite {
        self.payload.suite()
    }

    /// Reads and opens the next chunks.
    fn open(&mut self) -> Result<(), Error> {
        if self.is_adrift {
            return Err(io::Error::other(
                "seeking failed, and where the input stands is not known: seek again",
            )
            .into());
        }
        let sealed = &mut self.sealed[..self.ahead * SEALED_CHUNK_BYTES];
        let before_bytes = self.filled_bytes;
        let filled = fill_from(&mut self.input, sealed, &mut self.filled_bytes);
        self.taken_bytes += (self.filled_bytes - before_bytes) as u64;
        filled?;
        let is_last = self.filled_bytes < sealed.len();
        let sealed = &sealed[..self.filled_bytes];
        let plaintext = self.plaintext.front_mut(sealed.len().min(self.ahead * CHUNK_BYTES));
        let (len_bytes, opened) = self.payload.open(self.next, is_last, sealed, plaintext);
        let ended = match opened {
            Ok(()) => is_last.then_some(Ok(())),
            Err(Error::Damaged(damage)) => Some(Err(damage)),
            // The sealed bytes stay in the buffer, and the next call fails in the same way.
            Err(other) => return Err(other),
        };
        (self.first, self.len_bytes, self.filled_bytes, self.ended) = (self.next, len_bytes, 0, ended);
        self.next += self.ahead as u64;
        self.ahead = (2 * self.ahead).min(GROUP_CHUNKS);
        Ok(())
    }

    /// The plaintext positions at which the authentic bytes in the buffer begin and end.
    const fn window(&self) -> (u64, u64) {
        let from = self.first * CHUNK_BYTES as u64;
        (from, from + self.len_bytes as u64)
    }

    /// The authentic bytes in the buffer, from the position on.
    fn unread(&self) -> &[u8] {
        let (from, to) = self.window();
        if (from..to).contains(&self.position) {
            &self.plaintext.bytes[(self.position - from) as usize..self.len_bytes]
        } else {
            &[]
        }
    }
}

impl<R: Read> Read for Decryptor<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while self.unread().is_empty() {
            match self.ended {
                None => self.open()?,
                Some(Ok(())) => return Ok(0),
                Some(Err(damage)) => return Err(Error::from(damage).into()),
            }
        }
        let unread = self.unread();
        let count = unread.len().min(buffer.len());
        buffer[..count].copy_from_slice(&unread[..count]);
        self.position += count as u64;
        Ok(count)
    }
}

impl<R: Read + Seek> Decryptor<R> {
    /// The length of the plaintext, after the last chunk was authenticated.
    ///
    /// # Errors
    /// [`Error::Damaged`] if the last chunk is not authentic or is missing; [`Error::Io`] if reading fails.
    pub fn len_bytes(&mut self) -> Result<u64, Error> {
        let end = self.end();
        // Returns to the current position, so that the next read is unaffected.
        self.go_to(self.position / CHUNK_BYTES as u64)?;
        end
    }

    /// Opens the last chunk.
    fn end(&mut self) -> Result<u64, Error> {
        self.go_to(u64::MAX)?;
        self.open()?;
        let (_, end) = self.window();
        match self.ended {
            Some(Ok(())) => Ok(end),
            Some(Err(damage)) => Err(damage.into()),
            None => Err(io::Error::other("the file grew while it was read: try again").into()),
        }
    }

    /// Seeks to a chunk, or to the last one if there are fewer.
    fn go_to(&mut self, chunk: u64) -> io::Result<()> {
        let start = match self.start {
            Some(start) => start,
            None => self.input.stream_position()?.saturating_sub(self.taken_bytes),
        };
        self.start = Some(start);
        self.is_adrift = true;
        let chunks_bytes = self.input.seek(SeekFrom::End(0))?.saturating_sub(start);
        let chunk = chunk.min(chunks_bytes / SEALED_CHUNK_BYTES as u64);
        let chunk_start_bytes = chunk * SEALED_CHUNK_BYTES as u64;
        self.input.seek(SeekFrom::Start(start + chunk_start_bytes))?;
        (self.taken_bytes, self.is_adrift, self.filled_bytes) = (chunk_start_bytes, false, 0);
        (self.first, self.next, self.len_bytes, self.ahead, self.ended) = (chunk, chunk, 0, 1, None);
        Ok(())
    }
}

impl<R: Read + Seek> Seek for Decryptor<R> {
    /// Seeks to any position, also beyond the end, where reads return nothing. A position relative to the end
    /// requires the last chunk: it is opened, and must be authentic.
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        let sought = match to {
            SeekFrom::Start(position) => Some(position),
            SeekFrom::Current(distance) => self.position.checked_add_signed(distance),
            SeekFrom::End(distance) => self.len_bytes()?.checked_add_signed(distance),
        };
        let position = sought
            .ok_or_else(|| io::Error::new(io::ErrorKind::InvalidInput, "a position before the beginning"))?;
        let (from, to) = self.window();
        if self.is_adrift || !(from..to).contains(&position) {
            self.go_to(position / CHUNK_BYTES as u64)?;
        }
        self.position = position;
        Ok(position)
    }
}

/// Reads the bytes after a header: salt and commitment.
///
/// # Errors
/// [`Error::TruncatedHeader`] if the input ends within them, [`Error::Io`].
pub fn prefix(input: &mut impl Read) -> Result<[u8; PREFIX_BYTES], Error> {
    let mut prefix = [0; PREFIX_BYTES];
    if fill(input, &mut prefix)? < PREFIX_BYTES {
        return Err(Error::TruncatedHeader);
    }
    Ok(prefix)
}

impl<R> fmt::Debug for Decryptor<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("Decryptor");
        shown.field("payload", &self.payload).field("position", &self.position).finish_non_exhaustive()
    }
}
