//! Word lists that are compressed by gzip, xz or zstd. Each format begins with a signature.
//!
//! Lists are often published in one of these formats. Files of several members (gzip), streams (xz) or frames
//! (zstd), which `cat` makes, are read to their end. Lists in other formats are refused by their signatures: their
//! bytes are no words.

use std::fmt;
use std::io::{self, Cursor, Read};

use flate2::read::MultiGzDecoder;
use lzma_rust2::XzReader;
use ruzstd::decoding::errors::FrameDecoderError;
use ruzstd::decoding::errors::ReadFrameHeaderError::SkipFrame;
use ruzstd::decoding::{BlockDecodingStrategy, FrameDecoder};

use super::{Form, Words};

type List<'a> = Box<dyn Read + Send + 'a>;

/// The beginning of a file: as many bytes as the longest of these signatures.
const BEGIN_BYTES: usize = 10;

const GZIP: &[u8] = &[0x1f, 0x8b, 8];
const XZ: &[u8] = &[0xfd, b'7', b'z', b'X', b'Z', 0];
const ZSTD: &[u8] = &[0x28, 0xb5, 0x2f, 0xfd];

/// The signatures of formats that are not decompressed, with their names and a program that does. For bzip2 see
/// [`is_bzip2`].
const OTHERS: [(&[u8], &str, &str); 8] = [
    (&[0x5d, 0, 0], "lzma", "unlzma"),
    (b"PK\x03\x04", "zip", "unzip"),
    (b"7z\xbc\xaf\x27\x1c", "7z", "7z x"),
    (&[0x04, 0x22, 0x4d, 0x18], "lz4", "unlz4"),
    (b"Rar!\x1a\x07", "rar", "unrar"),
    (b"LZIP\x01", "lzip", "lzip -d"),
    (&[0x1f, 0x9d], "compress", "gunzip"),
    (&[0x89, b'L', b'Z', b'O', 0, 0x0d, 0x0a, 0x1a, 0x0a], "lzop", "lzop -d"),
];

/// KiB that a decoder of xz may allocate: enough for `xz -9`.
const XZ_KIB_MAX: u32 = 128 * 1024;

/// A reader of a list that decompresses it if it is compressed. Nothing is read before the first call.
///
/// Reading reports damaged data as [`io::ErrorKind::InvalidData`] or [`io::ErrorKind::UnexpectedEof`].
///
/// ```
/// use std::io::Read as _;
///
/// let mut list = String::new();
/// crossgrain_search::Decompressed::new(&b"one\ntwo\n"[..]).read_to_string(&mut list)?;
/// assert_eq!(list, "one\ntwo\n");
/// # Ok::<(), std::io::Error>(())
/// ```
pub struct Decompressed<'a>(State<'a>);

enum State<'a> {
    /// Nothing was read.
    New(List<'a>),
    Open(List<'a>),
}

impl<'a> Decompressed<'a> {
    /// A reader of this list.
    pub fn new(input: impl Read + Send + 'a) -> Self {
        Self(State::New(Box::new(input)))
    }
}

impl<'a> Words<Box<dyn Read + Send + 'a>> {
    /// A reader of a list, as [`Words::new`], that decompresses it if it is compressed. Records are keys, which may
    /// begin with any bytes, so they are never decompressed.
    pub fn decompressed(input: impl Read + Send + 'a, form: Form, chunk_bytes: usize) -> Self {
        let list: List<'a> = match form {
            Form::Lines | Form::Hex => Box::new(Decompressed::new(input)),
            Form::Records { .. } => Box::new(input),
        };
        Self::new(list, form, chunk_bytes)
    }
}

impl Read for Decompressed<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if let State::New(input) = &mut self.0 {
            let input = std::mem::replace(input, Box::new(io::empty()));
            self.0 = State::Open(opened(input)?);
        }
        match &mut self.0 {
            State::New(list) | State::Open(list) => list.read(buffer),
        }
    }
}

impl fmt::Debug for Decompressed<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Decompressed(secret)")
    }
}

/// The decoder for a list that begins with one of the signatures, or the list itself.
fn opened(mut input: List<'_>) -> io::Result<List<'_>> {
    let mut begin = Vec::with_capacity(BEGIN_BYTES);
    input.by_ref().take(BEGIN_BYTES as u64).read_to_end(&mut begin)?;
    let is = |signature: &[u8]| begin.starts_with(signature);
    if let Some((format, program)) = other(&begin) {
        let told = format!("it is in the format {format}: decompress it first, by {program} for example");
        return Err(io::Error::new(io::ErrorKind::InvalidData, told));
    }
    let (is_gzip, is_xz, is_zstd) = (is(GZIP), is(XZ), is(ZSTD));
    let whole = Cursor::new(begin).chain(input);
    Ok(match () {
        () if is_gzip => Box::new(MultiGzDecoder::new(whole)),
        () if is_xz => Box::new(XzReader::new_mem_limit(whole, true, XZ_KIB_MAX)),
        () if is_zstd => Box::new(Frames::new(Box::new(whole))?),
        () => Box::new(whole),
    })
}

/// The name of a format that is not decompressed and begins like this, and a program that decompresses it.
fn other(begin: &[u8]) -> Option<(&'static str, &'static str)> {
    if is_bzip2(begin) {
        return Some(("bzip2", "bunzip2"));
    }
    let (_, format, program) = OTHERS.iter().find(|(signature, ..)| begin.starts_with(signature))?;
    Some((format, program))
}

/// Whether a file of bzip2 begins like this: by `BZh`, a digit for the level, and the signature of the first block,
/// or of the end if there is no block.
fn is_bzip2(begin: &[u8]) -> bool {
    const BLOCK: &[u8] = b"1AY&SY";
    const END: &[u8] = &[0x17, 0x72, 0x45, 0x38, 0x50, 0x90];
    matches!(begin, [b'B', b'Z', b'h', b'0'..=b'9', rest @ ..] if rest.starts_with(BLOCK) || rest.starts_with(END))
}

/// The frames of a zstd file, one after another.
struct Frames<'a> {
    input: List<'a>,
    frame: FrameDecoder,
    is_at_end: bool,
}

impl<'a> Frames<'a> {
    fn new(input: List<'a>) -> io::Result<Self> {
        let mut frames = Self { input, frame: FrameDecoder::new(), is_at_end: false };
        frames.begin()?;
        Ok(frames)
    }

    /// Begins the next frame. Frames that hold no data are skipped.
    fn begin(&mut self) -> io::Result<()> {
        loop {
            let mut first = [0];
            if self.input.read(&mut first)? == 0 {
                self.is_at_end = true;
                return Ok(());
            }
            match self.frame.init((&first[..]).chain(&mut self.input)) {
                Ok(()) => return Ok(()),
                Err(FrameDecoderError::ReadFrameHeaderError(SkipFrame { length, .. })) => {
                    io::copy(&mut self.input.by_ref().take(length.into()), &mut io::sink())?;
                }
                Err(error) => return Err(damaged(error)),
            }
        }
    }

    /// Ends a frame, if its checksum is right or if it has none.
    fn end(&self) -> io::Result<()> {
        match self.frame.get_checksum_from_data() {
            Some(stored) if self.frame.get_calculated_checksum() != Some(stored) => {
                Err(damaged("its checksum is wrong"))
            }
            _ => Ok(()),
        }
    }
}

impl Read for Frames<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while !self.is_at_end && self.frame.can_collect() == 0 {
            if self.frame.is_finished() {
                self.end()?;
                self.begin()?;
            } else {
                let one = BlockDecodingStrategy::UptoBlocks(1);
                self.frame.decode_blocks(&mut self.input, one).map_err(damaged)?;
            }
        }
        if self.is_at_end { Ok(0) } else { self.frame.read(buffer) }
    }
}

fn damaged(error: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, error)
}
