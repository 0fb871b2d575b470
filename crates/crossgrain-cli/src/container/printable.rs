//! Plaintext on a terminal. Control characters can make a terminal run commands or show false text, and the sender of
//! a file chooses its content. So only text is printed, unless the user insists.

use std::io::{self, Write};

/// Writes text, and refuses control characters other than tabs and line ends.
pub(super) struct Printable<W> {
    inner: W,
    /// The last byte: a control character of two bytes in UTF-8 may be split.
    last: u8,
}

impl<W> Printable<W> {
    pub(super) const fn new(inner: W) -> Self {
        Self { inner, last: 0 }
    }

    fn admits(&mut self, bytes: &[u8]) -> bool {
        bytes.iter().all(|&byte| {
            let before = std::mem::replace(&mut self.last, byte);
            let is_of_two_bytes = before == 0xc2 && (0x80..0xa0).contains(&byte);
            let is_control = byte.is_ascii_control() && !b"\t\n\r".contains(&byte);
            !(is_control || is_of_two_bytes)
        })
    }
}

impl<W: Write> Write for Printable<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if !self.admits(bytes) {
            return Err(io::Error::other(
                "it is a terminal and the plaintext no text, give -o FILE, or -o - to insist",
            ));
        }
        self.inner.write_all(bytes)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}
