//! Padding to whole blocks (PKCS #7; RFC 5652 §6.3): n bytes are added, each with the value n.

use std::io::{self, Read, Write};

use zeroize::Zeroizing;

use crate::error::{Error, Exit};
use crate::input::Name;

/// An input with padding at its end.
pub(super) struct Padded<R> {
    input: R,
    block_bytes: usize,
    /// Bytes read, modulo the block.
    within: usize,
    /// Bytes of padding still to be read, once the input has ended.
    left: Option<usize>,
}

impl<R> Padded<R> {
    pub(super) const fn new(input: R, block_bytes: usize) -> Self {
        Self { input, block_bytes, within: 0, left: None }
    }
}

impl<R: Read> Read for Padded<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if buffer.is_empty() {
            return Ok(0);
        }
        if self.left.is_none() {
            let count = self.input.read(buffer)?;
            self.within = (self.within + count) % self.block_bytes;
            if count > 0 {
                return Ok(count);
            }
        }
        let padding = self.block_bytes - self.within;
        let left = self.left.unwrap_or(padding);
        let count = left.min(buffer.len());
        buffer[..count].fill(padding as u8);
        self.left = Some(left - count);
        Ok(count)
    }
}

/// An output that removes the padding at its end. It holds the last block back until the input has ended.
pub(super) struct Unpadded<W> {
    output: W,
    block_bytes: usize,
    held: Zeroizing<Vec<u8>>,
}

impl<W: Write> Unpadded<W> {
    pub(super) fn new(output: W, block_bytes: usize) -> Self {
        Self { output, block_bytes, held: Zeroizing::new(Vec::with_capacity(block_bytes)) }
    }

    /// Writes the last block without its padding.
    pub(super) fn finish(mut self, from: &Name, to: &Name) -> Result<(), Error> {
        if self.held.is_empty() {
            let why = format!("{from} is empty, and padded data has a block at least: is it cut off?");
            return Err(Error::new(Exit::Truncated, why));
        }
        let Some(len_bytes) = unpadded_bytes(&self.held) else {
            let why =
                format!("{from} does not end in padding: the key, the iv or the data is not the right one");
            return Err(Error::new(Exit::Corrupt, why));
        };
        self.output.write_all(&self.held[..len_bytes]).map_err(|error| Error::write(to, &error))
    }
}

/// The number of bytes of a last block before its padding.
fn unpadded_bytes(block: &[u8]) -> Option<usize> {
    let padding = usize::from(*block.last()?);
    let (_, end) = block.split_at_checked(block.len().checked_sub(padding)?)?;
    let is_padding = padding > 0 && end.iter().all(|&byte| usize::from(byte) == padding);
    is_padding.then_some(block.len() - padding)
}

impl<W: Write> Write for Unpadded<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let Some((_, kept)) = bytes.split_at_checked(bytes.len().saturating_sub(self.block_bytes)) else {
            return Ok(0);
        };
        // The held block and all new bytes except the new held block can be written.
        self.output.write_all(&self.held)?;
        self.output.write_all(&bytes[..bytes.len() - kept.len()])?;
        self.held.clear();
        self.held.extend_from_slice(kept);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.output.flush()
    }
}
