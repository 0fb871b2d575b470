//! Encrypts a stream.

use std::fmt;
use std::io::{self, Write};

use super::derive::{Limits, Secret};
use super::error::Error;
use super::header::Header;
use super::payload::{CHUNK_BYTES, Payload, SEALED_CHUNK_BYTES, Suite};
use super::slots::Lock;
use super::{GROUP_CHUNKS, Held};
use crossgrain::mode::Options;

/// Writes an encrypted file. It buffers 2 MiB.
///
/// Call [`Encryptor::finish`] at the end. Without it the file lacks its last chunk, and readers report a
/// truncated file.
///
/// After a write error, every further call fails with the same error. It is unknown how many sealed bytes
/// have reached the output, so nothing can be appended.
pub struct Encryptor<W> {
    output: W,
    payload: Payload,
    /// The number of the next chunk to seal.
    chunk: u64,
    /// The plaintext that is not yet sealed: the first `len_bytes`.
    plaintext: Held,
    len_bytes: usize,
    sealed: Vec<u8>,
    /// The first failure.
    failed: Option<(io::ErrorKind, String)>,
}

impl<W: Write> Encryptor<W> {
    /// Begins a file: writes header, salt and commitment.
    ///
    /// # Errors
    /// As [`Header::input_key`] and [`Payload::fresh`], and [`Error::Io`] if writing fails.
    pub fn new(output: W, header: &Header, secret: Secret<'_>, options: &Options) -> Result<Self, Error> {
        let key = header.input_key(secret, &Limits::NONE)?;
        Self::after(output, header, &key, options)
    }

    /// Begins a file that each of the locks opens: writes header, salt and commitment.
    ///
    /// # Errors
    /// As [`Header::locked`] and [`Payload::fresh`], and [`Error::Io`] if writing fails.
    pub fn locked(output: W, suite: Suite, locks: &[Lock<'_>], options: &Options) -> Result<Self, Error> {
        let (header, file_key) = Header::locked(suite, locks)?;
        Self::after(output, &header, &file_key, options)
    }

    fn after(mut output: W, header: &Header, input_key: &[u8], options: &Options) -> Result<Self, Error> {
        let payload = Payload::fresh(header.suite, input_key, &header.context(), options)?;
        output.write_all(&header.to_bytes())?;
        Self::begun(output, payload)
    }

    /// Begins a file without header, in the form that other programs read.
    ///
    /// # Errors
    /// As [`Payload::fresh`], and [`Error::Io`] if writing fails.
    pub fn bare(
        output: W,
        suite: Suite,
        input_key: &[u8],
        context: &[u8],
        options: &Options,
    ) -> Result<Self, Error> {
        Self::begun(output, Payload::fresh(suite, input_key, context, options)?)
    }

    fn begun(mut output: W, payload: Payload) -> Result<Self, Error> {
        output.write_all(payload.prefix())?;
        let plaintext = Held::new();
        let sealed = vec![0; GROUP_CHUNKS * SEALED_CHUNK_BYTES];
        Ok(Self { output, payload, chunk: 0, plaintext, len_bytes: 0, sealed, failed: None })
    }

    /// Seals the last chunk and returns the output.
    ///
    /// # Errors
    /// [`Error::Io`] if writing fails or has failed before; [`Error::TooLong`] if the plaintext exceeds the
    /// limit of a file.
    pub fn finish(mut self) -> Result<W, Error> {
        // A full group leaves no room in the buffer for the last chunk, so it is written first.
        if self.len_bytes == GROUP_CHUNKS * CHUNK_BYTES {
            self.seal(false)?;
        }
        self.seal(true)?;
        self.flush()?;
        Ok(self.output)
    }

    /// Seals and writes the buffered plaintext.
    fn seal(&mut self, is_last: bool) -> Result<(), Error> {
        self.standing()?;
        let written = self.write_sealed(is_last);
        self.noted(written)
    }

    fn write_sealed(&mut self, is_last: bool) -> Result<(), Error> {
        let plaintext = &self.plaintext.bytes[..self.len_bytes];
        let written_bytes = self.payload.seal(self.chunk, is_last, plaintext, &mut self.sealed)?;
        self.output.write_all(&self.sealed[..written_bytes])?;
        self.chunk += (self.len_bytes / CHUNK_BYTES) as u64;
        self.len_bytes = 0;
        Ok(())
    }

    /// Fails if a call has failed before.
    fn standing(&self) -> io::Result<()> {
        match &self.failed {
            Some((kind, reason)) => Err(io::Error::new(*kind, reason.clone())),
            None => Ok(()),
        }
    }

    /// Records a failure.
    fn noted(&mut self, done: Result<(), Error>) -> Result<(), Error> {
        done.inspect_err(|error| self.failed = Some((error.io_kind(), error.to_string())))
    }
}

impl<W: Write> Write for Encryptor<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.standing()?;
        if self.len_bytes == GROUP_CHUNKS * CHUNK_BYTES {
            self.seal(false)?;
        }
        let count = bytes.len().min(GROUP_CHUNKS * CHUNK_BYTES - self.len_bytes);
        let after_bytes = self.len_bytes + count;
        self.plaintext.front_mut(after_bytes)[self.len_bytes..].copy_from_slice(&bytes[..count]);
        self.len_bytes = after_bytes;
        Ok(count)
    }

    /// Flushes sealed chunks to the output. An incomplete chunk waits for more plaintext or for the end.
    fn flush(&mut self) -> io::Result<()> {
        self.standing()?;
        let flushed = self.output.flush();
        Ok(self.noted(flushed.map_err(Error::Io))?)
    }
}

impl<W> fmt::Debug for Encryptor<W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Encryptor")
            .field("payload", &self.payload)
            .field("chunk", &self.chunk)
            .finish_non_exhaustive()
    }
}
