//! Decrypting a stream, from its beginning or from anywhere.

use std::fmt;
use std::io::{self, Read, Seek, SeekFrom};

use super::derive::{Limits, Secret};
use super::error::{Damage, Error};
use super::header::Header;
use super::payload::{CHUNK_BYTES, PREFIX_BYTES, Payload, SEALED_CHUNK_BYTES, Suite};
use super::{GROUP_CHUNKS, Held, fill, fill_from};
use crossgrain::mode::Options;

/// Reads an encrypted file: nothing but what is authentic. Where the input can seek, so can this.
///
/// A file that was changed or cut off is read up to there; then reading fails, again and again, with an
/// [`Error::Damaged`] inside the [`io::Error`]. Only who has read to the end knows that the file was whole. Where reading the
/// input fails, nothing is lost: reading again goes on there.
pub struct Decryptor<R> {
    input: R,
    payload: Payload,
    /// Where the chunks begin in the input, once that was asked for.
    start: Option<u64>,
    /// Bytes of chunks before the position of the input.
    taken_bytes: u64,
    /// Whether that is not known, for seeking failed.
    is_adrift: bool,
    sealed: Vec<u8>,
    /// How much of the chunks to be opened next is there.
    filled_bytes: usize,
    /// Plaintext that is authentic, `len_bytes` of it, from the chunk with the number `first` on.
    plaintext: Held,
    len_bytes: usize,
    first: u64,
    /// The number of the chunk to be opened next.
    next: u64,
    /// How many chunks to open then: few after a seek, more and more as reading goes on.
    ahead: usize,
    /// Where reading goes on, in bytes of plaintext.
    position: u64,
    ended: Option<Result<(), Damage>>,
}

impl<R: Read> Decryptor<R> {
    /// Reads header, salt and commitment.
    ///
    /// # Errors
    /// As [`Header::read`], [`Header::input_key`] and [`Payload::committed`]; and [`Error::TruncatedHeader`].
    pub fn new(mut input: R, secret: Secret<'_>, limits: &Limits, options: &Options) -> Result<Self, Error> {
        let header = Header::read(&mut input)?;
        let prefix = prefix(&mut input)?;
        let key = header.input_key(secret, limits)?;
        let payload = Payload::committed(header.suite, &key, &prefix, &header.to_bytes(), options)?;
        Ok(Self::begun(input, payload))
    }

    /// Reads salt and commitment of a file without header.
    ///
    /// # Errors
    /// As [`Payload::committed`]; [`Error::TruncatedHeader`], or [`Error::Io`] if nothing can be read.
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

    /// How the file is sealed.
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
            // What was read stays, and fails in the same way again.
            Err(other) => return Err(other),
        };
        (self.first, self.len_bytes, self.filled_bytes, self.ended) = (self.next, len_bytes, 0, ended);
        self.next += self.ahead as u64;
        self.ahead = (2 * self.ahead).min(GROUP_CHUNKS);
        Ok(())
    }

    /// Where the authentic bytes at hand begin and end.
    const fn window(&self) -> (u64, u64) {
        let from = self.first * CHUNK_BYTES as u64;
        (from, from + self.len_bytes as u64)
    }

    /// Authentic bytes from the position on.
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
    /// The length of the plaintext, once the last chunk is known to be authentic.
    ///
    /// # Errors
    /// [`Error::Damaged`] if it is not, or missing; [`Error::Io`] if it cannot be read.
    pub fn len_bytes(&mut self) -> Result<u64, Error> {
        let end = self.end();
        // What is read next is what would have been.
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

    /// Goes to a chunk, or to the last if there are less.
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
    /// Goes anywhere, also beyond the end, where nothing is to be read. What counts from the end opens the last
    /// chunk, whose authenticity is that of the end.
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

/// Reads what comes after a header: salt and commitment.
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
