//! What a peer must be able to do, and the words in which it is asked.

use std::str::FromStr;

/// Bytes in a block, and so in an initial counter.
pub(crate) const BLOCK_BYTES: usize = 16;

/// Bytes in a sector of XTS unless the mode's word gives another number.
const SECTOR_BYTES: usize = 4096;

/// The most that such a number may be: a tag behind each message fits as well.
const PIECE_BYTES_MAX: usize = 1 << 30;

/// Bytes in a tag, and in a nonce of GCM, OCB and CCM.
pub(crate) const TAG_BYTES: usize = 16;
pub(crate) const NONCE_BYTES: usize = 12;

/// Why an [`Operation`] over whole blocks turns a buffer down.
pub(crate) const PARTIAL_BLOCK: &str = "ecb takes whole blocks of 16 bytes";

/// Somebody's ciphers.
pub(crate) trait Peer {
    /// Name and version, and whatever decides which of its code runs.
    fn name(&self) -> String;

    /// Sets the key up, once, for any number of buffers; an error is a job the peer does not offer.
    fn operation(&self, setup: &Setup) -> Result<Box<dyn Operation>, String>;
}

/// A keyed cipher, ready to run: the part of a peer that is timed.
pub(crate) trait Operation {
    /// Encrypts or decrypts a message in place, counting from the initial counter each time.
    fn apply(&mut self, message: &mut [u8]) -> Result<(), String>;

    /// The same for a buffer that is messages one behind another, each of so many bytes and the last of what is left.
    fn apply_many(&mut self, buffer: &mut [u8], message_bytes: usize) -> Result<(), String> {
        buffer.chunks_mut(message_bytes).try_for_each(|message| self.apply(message))
    }
}

/// Cipher, mode and direction, as three words of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Job {
    pub(crate) cipher: Cipher,
    pub(crate) mode: Mode,
    pub(crate) direction: Direction,
    /// Bytes in each of many messages, or in a sector of XTS; `None` where the buffer is one message.
    piece_bytes: Option<usize>,
}

/// Ciphers by the size of the key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Cipher {
    Aes128,
    Aes192,
    Aes256,
    Serpent128,
    Serpent192,
    Serpent256,
    Sm4,
    Camellia128,
    Camellia192,
    Camellia256,
    Aria128,
    Aria192,
    Aria256,
    Kuznyechik,
}

/// How blocks are chained, or rather not chained.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Mode {
    /// Each block by itself.
    Ecb,
    /// The same, with the key set up anew for every block: what it costs to try a key.
    Rekey,
    /// All 128 bits of the counter block count.
    Ctr,
    /// The last 64 bits count, the first 64 stay.
    Ctr64,
    /// Each block added to the one before it; the initial counter is what the first is added to.
    Cbc,
    /// Sectors, numbered from the initial counter on, which is little-endian here.
    Xts,
    /// A message of which the last [`TAG_BYTES`] are its tag, which is made or compared; the initial counter is its nonce.
    Gcm,
    /// The same.
    Ocb,
    /// The same.
    Ccm,
    /// A message that stays as it is, of which the last [`TAG_BYTES`] are its tag, which is made.
    Cmac,
}

/// Which way the data goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Direction {
    Encrypt,
    Decrypt,
}

impl Job {
    /// Reads a job from its three words. The mode's may end in a colon and the bytes of a message, or of a sector.
    pub(crate) fn parse(cipher: &str, mode: &str, direction: &str) -> Result<Self, String> {
        let (mode, piece_bytes) = match mode.split_once(':') {
            Some((mode, bytes)) => (mode, Some(piece(bytes)?)),
            None => (mode, None),
        };
        Ok(Self { cipher: cipher.parse()?, mode: mode.parse()?, direction: direction.parse()?, piece_bytes })
    }

    /// Bytes from one message of a buffer to the next, tag included; `None` where it is one message.
    pub(crate) fn stride(self) -> Option<usize> {
        let tag_bytes = if self.mode.has_tag() { TAG_BYTES } else { 0 };
        let bytes = self.piece_bytes.filter(|_| self.mode != Mode::Xts)?;
        Some(bytes + tag_bytes)
    }

    /// Bytes in a sector of XTS.
    pub(crate) fn sector_bytes(self) -> usize {
        self.piece_bytes.unwrap_or(SECTOR_BYTES)
    }

    /// Bytes in all its keys.
    fn key_bytes(self) -> usize {
        self.mode.keys() * self.cipher.key_bytes()
    }
}

impl Cipher {
    /// Bytes in a key of the cipher.
    pub(crate) fn key_bytes(self) -> usize {
        match self {
            Self::Aes128 | Self::Serpent128 | Self::Sm4 | Self::Camellia128 | Self::Aria128 => 16,
            Self::Aes192 | Self::Serpent192 | Self::Camellia192 | Self::Aria192 => 24,
            Self::Aes256 | Self::Serpent256 | Self::Camellia256 | Self::Aria256 | Self::Kuznyechik => 32,
        }
    }
}

impl Mode {
    /// Bytes in an initial counter: none where nothing counts.
    pub(crate) fn iv_bytes(self) -> usize {
        match self {
            Self::Ecb | Self::Rekey | Self::Cmac => 0,
            Self::Ctr | Self::Ctr64 | Self::Cbc | Self::Xts => BLOCK_BYTES,
            Self::Gcm | Self::Ocb | Self::Ccm => NONCE_BYTES,
        }
    }

    /// Whether the end of a message is its tag's place.
    pub(crate) fn has_tag(self) -> bool {
        matches!(self, Self::Gcm | Self::Ocb | Self::Ccm | Self::Cmac)
    }

    /// Keys, one behind another: XTS has one for tweaks besides.
    fn keys(self) -> usize {
        if self == Self::Xts { 2 } else { 1 }
    }
}

impl FromStr for Cipher {
    type Err = String;

    fn from_str(word: &str) -> Result<Self, String> {
        match word {
            "aes-128" => Ok(Self::Aes128),
            "aes-192" => Ok(Self::Aes192),
            "aes-256" => Ok(Self::Aes256),
            "serpent-128" => Ok(Self::Serpent128),
            "serpent-192" => Ok(Self::Serpent192),
            "serpent-256" => Ok(Self::Serpent256),
            "sm4" => Ok(Self::Sm4),
            "camellia-128" => Ok(Self::Camellia128),
            "camellia-192" => Ok(Self::Camellia192),
            "camellia-256" => Ok(Self::Camellia256),
            "aria-128" => Ok(Self::Aria128),
            "aria-192" => Ok(Self::Aria192),
            "aria-256" => Ok(Self::Aria256),
            "kuznyechik" => Ok(Self::Kuznyechik),
            _ => Err(format!(
                "no cipher {word:?}: aes, serpent, camellia or aria, each with -128, -192 or -256, sm4 or kuznyechik"
            )),
        }
    }
}

impl FromStr for Mode {
    type Err = String;

    fn from_str(word: &str) -> Result<Self, String> {
        match word {
            "ecb" => Ok(Self::Ecb),
            "rekey" => Ok(Self::Rekey),
            "ctr" => Ok(Self::Ctr),
            "ctr64" => Ok(Self::Ctr64),
            "cbc" => Ok(Self::Cbc),
            "xts" => Ok(Self::Xts),
            "gcm" => Ok(Self::Gcm),
            "ocb" => Ok(Self::Ocb),
            "ccm" => Ok(Self::Ccm),
            "cmac" => Ok(Self::Cmac),
            _ => Err(format!("no mode {word:?}: ecb, rekey, ctr, ctr64, cbc, xts, gcm, ocb, ccm or cmac")),
        }
    }
}

impl FromStr for Direction {
    type Err = String;

    fn from_str(word: &str) -> Result<Self, String> {
        match word {
            "encrypt" => Ok(Self::Encrypt),
            "decrypt" => Ok(Self::Decrypt),
            _ => Err(format!("no direction {word:?}: encrypt or decrypt")),
        }
    }
}

/// A job with its key and initial counter.
///
/// The lengths were checked, so a peer may hand the bytes to code that reads them by pointer alone.
pub(crate) struct Setup {
    job: Job,
    key: Vec<u8>,
    iv: Vec<u8>,
}

impl Setup {
    /// Checks key and initial counter against what the job needs.
    pub(crate) fn new(job: Job, key: Vec<u8>, iv: Vec<u8>) -> Result<Self, String> {
        check_len("key", &key, job.key_bytes())?;
        check_len("iv", &iv, job.mode.iv_bytes())?;
        Ok(Self { job, key, iv })
    }

    pub(crate) fn job(&self) -> Job {
        self.job
    }

    /// [`Job::key_bytes`] bytes.
    pub(crate) fn key(&self) -> &[u8] {
        &self.key
    }

    /// [`Mode::iv_bytes`] bytes.
    pub(crate) fn iv(&self) -> &[u8] {
        &self.iv
    }
}

/// Sectors of so many bytes, with their numbers as XTS takes them, the first given; an error is the first of any.
pub(crate) fn each_sector(
    first: [u8; BLOCK_BYTES],
    sector_bytes: usize,
    buffer: &mut [u8],
    mut apply: impl FnMut([u8; BLOCK_BYTES], &mut [u8]) -> Result<(), String>,
) -> Result<(), String> {
    let numbers = (0..).map(|i| u128::from_le_bytes(first).wrapping_add(i).to_le_bytes());
    numbers.zip(buffer.chunks_mut(sector_bytes)).try_for_each(|(number, sector)| apply(number, sector))
}

/// A message and its tag.
pub(crate) fn with_tag(buffer: &mut [u8]) -> Result<(&mut [u8], &mut [u8; TAG_BYTES]), String> {
    buffer
        .split_last_chunk_mut()
        .ok_or_else(|| "a mode with a tag takes a message with room for it".to_owned())
}

/// The number behind the colon of a mode's word.
fn piece(word: &str) -> Result<usize, String> {
    match word.parse() {
        Ok(bytes @ 1..=PIECE_BYTES_MAX) => Ok(bytes),
        Ok(_) => Err(format!("a message has 1 to {PIECE_BYTES_MAX} bytes")),
        Err(error) => Err(format!("bytes of a message {word:?}: {error}")),
    }
}

fn check_len(what: &str, bytes: &[u8], wanted: usize) -> Result<(), String> {
    if bytes.len() == wanted {
        return Ok(());
    }
    Err(format!("{what} of {} bytes, not {wanted}", bytes.len()))
}
