//! Continues an interrupted decryption.
//!
//! The run decrypts everything again. Where the partial file already has data, it compares instead of
//! writing. The result is therefore the same as without the interruption, and never a mix of two inputs,
//! whatever the partial file holds. Encryption is not resumed, because the salt in a partial file may have
//! been used for another plaintext.

use std::fs::File;
use std::io::{self, Read, Seek, Write};

/// A file that is compared up to its end and appended to from there.
#[derive(Debug)]
pub(super) struct Resumed<'a> {
    file: &'a File,
    left_bytes: u64,
    there: Vec<u8>,
}

impl<'a> Resumed<'a> {
    /// Starts at the beginning of a file.
    pub(super) fn new(mut file: &'a File) -> io::Result<Self> {
        file.rewind()?;
        Ok(Self { file, left_bytes: file.metadata()?.len(), there: Vec::new() })
    }

    /// Fails if the file is longer than the output.
    pub(super) fn finish(self) -> io::Result<()> {
        if self.left_bytes > 0 { Err(differs()) } else { Ok(()) }
    }
}

impl Write for Resumed<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.left_bytes == 0 {
            return self.file.write(bytes);
        }
        let count = bytes.len().min(usize::try_from(self.left_bytes).unwrap_or(usize::MAX));
        self.there.resize(count, 0);
        self.file.read_exact(&mut self.there)?;
        if self.there != bytes[..count] {
            return Err(differs());
        }
        self.left_bytes -= count as u64;
        Ok(count)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

fn differs() -> io::Error {
    io::Error::new(
        io::ErrorKind::InvalidData,
        "what an earlier run left as .part is not what comes of this input: remove that to begin anew",
    )
}
