//! A byte stream from one thread to another, in blocks of 1 MiB.
//!
//! The reader can distinguish the end of the stream from a writer that failed: only [`Sender::end`] ends the
//! stream. If the writer is dropped without it, the last read fails.

use std::io::{self, Read, Write};
use std::mem;
use std::sync::mpsc::{self, SyncSender};

/// Bytes in a block.
const BLOCK_BYTES: usize = 1 << 20;

/// Blocks that wait to be read.
const BLOCKS: usize = 2;

/// The writing end.
pub(in super::super) struct Sender {
    to: SyncSender<Vec<u8>>,
    block: Vec<u8>,
}

/// The reading end.
pub(in super::super) struct Receiver {
    from: mpsc::Receiver<Vec<u8>>,
    block: Vec<u8>,
    read_bytes: usize,
    state: State,
}

#[derive(PartialEq)]
enum State {
    Open,
    Ended,
    /// The writer was dropped before the end.
    Broken,
}

/// The two ends of a stream.
pub(in super::super) fn channel() -> (Sender, Receiver) {
    let (to, from) = mpsc::sync_channel(BLOCKS);
    let sender = Sender { to, block: Vec::with_capacity(BLOCK_BYTES) };
    (sender, Receiver { from, block: Vec::new(), read_bytes: 0, state: State::Open })
}

impl Sender {
    /// Ends the stream. The reader then knows that it is complete.
    pub(in super::super) fn end(mut self) -> io::Result<()> {
        if !self.block.is_empty() {
            self.send()?;
        }
        // An empty block is the end.
        self.send()
    }

    fn send(&mut self) -> io::Result<()> {
        let block = mem::replace(&mut self.block, Vec::with_capacity(BLOCK_BYTES));
        self.to.send(block).map_err(|_| io::ErrorKind::BrokenPipe.into())
    }
}

impl Write for Sender {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.block.len() == BLOCK_BYTES {
            self.send()?;
        }
        let count = bytes.len().min(BLOCK_BYTES - self.block.len());
        self.block.extend_from_slice(&bytes[..count]);
        Ok(count)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Receiver {
    /// Whether the writer failed: it knows the reason.
    pub(in super::super) fn is_broken(&self) -> bool {
        self.state == State::Broken
    }
}

impl Read for Receiver {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.read_bytes == self.block.len() && self.state == State::Open {
            self.read_bytes = 0;
            match self.from.recv() {
                Ok(block) if block.is_empty() => self.state = State::Ended,
                Ok(block) => self.block = block,
                Err(_) => self.state = State::Broken,
            }
            if self.state != State::Open {
                self.block = Vec::new();
            }
        }
        if self.state == State::Broken {
            return Err(io::Error::other("the other side ended early"));
        }
        let count = buffer.len().min(self.block.len() - self.read_bytes);
        buffer[..count].copy_from_slice(&self.block[self.read_bytes..][..count]);
        self.read_bytes += count;
        Ok(count)
    }
}
