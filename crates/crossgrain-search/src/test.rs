//! Tests of keys that a block pair cannot express: two keys at once, tags, files with passphrases, texts that only look
//! right. Each key is set up and tried by itself, through the modes that everything else is encrypted by or the reference.

use std::io::Read;

use zeroize::Zeroizing;

use super::job::Test;
use super::{BlockMode, Error};
use crossgrain::Buffers;
use crossgrain::internal::block::{self, BLOCK_BYTES, Cipher, Direction, Key};
use crossgrain::internal::reference::{self, xts};
use crossgrain::mode::{Aead as _, Initial, Mode, Options, Start, Tag};
use crossgrain_container::{self as container, Header, Limits, PREFIX_BYTES, Payload, Secret};

/// A sector of a disk, by the two keys of XTS, one after the other.
#[derive(Clone, Debug)]
pub struct XtsSector {
    /// The cipher of both keys.
    pub cipher: Cipher,
    /// The number of the sector.
    pub sector: u128,
    /// Its plaintext as far as known, from its first byte on.
    pub plaintext: Vec<u8>,
    /// The bits of that which are known.
    pub mask: Vec<u8>,
    /// All its ciphertext.
    pub ciphertext: Vec<u8>,
}

/// A message with its tag.
#[derive(Clone, Debug)]
pub struct Tagged {
    /// The cipher.
    pub cipher: Cipher,
    /// The mode, one with a tag.
    pub mode: Mode,
    /// The nonce.
    pub nonce: Vec<u8>,
    /// The strings of associated data: one at most, or a list for a mode that takes one.
    pub aads: Vec<Vec<u8>>,
    /// The ciphertext, whole.
    pub ciphertext: Vec<u8>,
    /// The tag.
    pub tag: Vec<u8>,
    /// How it is to be run.
    pub options: Options,
}

/// An encrypted file, by its beginning: candidates are passphrases, or keys where it was encrypted by a key.
#[derive(Clone, Debug)]
pub struct File {
    /// Its header.
    pub header: Header,
    /// What comes after that: salt and commitment.
    pub prefix: [u8; PREFIX_BYTES],
    /// What deriving a key may cost.
    pub limits: Limits,
    /// How it is to be run.
    pub options: Options,
}

/// What a plaintext may look like.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Look {
    /// Printable ASCII, tabs and line ends, all of it.
    Printable,
    /// It begins with one of these.
    Magic(Vec<Vec<u8>>),
}

/// Ciphertext of which it is known only what its plaintext looks like.
#[derive(Clone, Debug)]
pub struct Plausible {
    /// The cipher.
    pub cipher: Cipher,
    /// The mode, and its initial value.
    pub mode: BlockMode,
    /// The ciphertext, from its beginning on.
    pub ciphertext: Vec<u8>,
    /// What the plaintext looks like.
    pub look: Look,
    /// How it is to be run.
    pub options: Options,
}

impl XtsSector {
    /// By the reference: it does not refuse equal keys, which data at hand may have been encrypted by.
    fn run(&self, direction: Direction, keys: &[u8], sector: &mut [u8]) -> Result<(), Error> {
        let (data_key, tweak_key) = keys.split_at(self.cipher.key_bytes().min(keys.len()));
        let [data_key, tweak_key] = [data_key, tweak_key].map(|key| Key::new(self.cipher, key));
        let (data_cipher, tweak_cipher) = (reference::cipher(&data_key?), reference::cipher(&tweak_key?));
        if sector.len() < BLOCK_BYTES {
            return Err(block::Error::ShortSector { len_bytes: sector.len() }.into());
        }
        xts::xts(&*data_cipher, &*tweak_cipher, direction, self.sector, sector);
        Ok(())
    }

    /// As much of a sector as tells what its known beginning is: all where ciphertext was stolen from there.
    fn needed(&self) -> &[u8] {
        let needed_bytes = self.plaintext.len().next_multiple_of(BLOCK_BYTES);
        let is_apart = needed_bytes + 2 * BLOCK_BYTES <= self.ciphertext.len();
        &self.ciphertext[..if is_apart { needed_bytes } else { self.ciphertext.len() }]
    }
}

impl Test for XtsSector {
    fn name(&self) -> String {
        format!("{} xts, a sector", self.cipher)
    }

    fn key_bytes(&self) -> Option<usize> {
        Some(2 * self.cipher.key_bytes())
    }

    fn holds(&self, key: &[u8]) -> Result<bool, Error> {
        let mut data = self.needed().to_vec();
        self.run(Direction::Decrypt, key, &mut data)?;
        let known = self.plaintext.iter().zip(&self.mask);
        Ok(data.iter().zip(known).all(|(a, (b, mask))| (a ^ b) & mask == 0))
    }

    fn planted(&self, key: &[u8]) -> Result<Box<dyn Test>, Error> {
        if self.mask.iter().all(|&mask| mask == 0) {
            return Err(Error::NothingKnown);
        }
        let mut ciphertext = self.ciphertext.clone();
        let short = Error::ShortCiphertext { len_bytes: ciphertext.len() };
        ciphertext.get_mut(..self.plaintext.len()).ok_or(short)?.copy_from_slice(&self.plaintext);
        self.run(Direction::Encrypt, key, &mut ciphertext)?;
        Ok(Box::new(Self { ciphertext, ..self.clone() }))
    }
}

impl Tagged {
    fn strings(&self) -> Vec<&[u8]> {
        self.aads.iter().map(Vec::as_slice).collect()
    }

    fn open(&self, key: &[u8], data: &mut [u8]) -> Result<(), Error> {
        let mode = self.mode.aead(self.cipher, key, self.tag.len(), &self.options)?;
        Ok(mode.open_with(&self.nonce, &self.strings(), &self.tag, Buffers::in_place(data))?)
    }

    fn seal(&self, key: &[u8], data: &mut [u8]) -> Result<Tag, Error> {
        let mode = self.mode.aead(self.cipher, key, self.tag.len(), &self.options)?;
        Ok(mode.seal_with(&self.nonce, &self.strings(), Buffers::in_place(data))?)
    }
}

impl Test for Tagged {
    fn name(&self) -> String {
        format!("{} {}, a tag", self.cipher, self.mode)
    }

    fn key_bytes(&self) -> Option<usize> {
        Some(self.mode.key_bytes(self.cipher))
    }

    fn holds(&self, key: &[u8]) -> Result<bool, Error> {
        match self.open(key, &mut self.ciphertext.clone()) {
            Ok(()) => Ok(true),
            Err(Error::Block(block::Error::Forged)) => Ok(false),
            Err(refusal) => Err(refusal),
        }
    }

    fn planted(&self, key: &[u8]) -> Result<Box<dyn Test>, Error> {
        let mut planted = self.clone();
        let tag = self.seal(key, &mut planted.ciphertext)?;
        planted.tag.copy_from_slice(&tag[..self.tag.len()]);
        Ok(Box::new(planted))
    }
}

impl File {
    /// Reads the beginning of an encrypted file, to be run with these options; deriving a key may cost what it
    /// may by default.
    ///
    /// # Errors
    /// As [`Header::read`]; [`container::Error::TruncatedHeader`] if salt and commitment are not whole.
    pub fn read(input: &mut impl Read, options: Options) -> Result<Self, container::Error> {
        let (header, prefix) = (Header::read(input)?, container::prefix(input)?);
        Ok(Self { header, prefix, limits: Limits::default(), options })
    }

    /// Whether candidates are passphrases.
    pub fn is_by_passphrase(&self) -> bool {
        matches!(self.header.kdf, container::Kdf::Argon2id(_))
    }

    fn input_key(&self, secret: &[u8]) -> Result<Zeroizing<Vec<u8>>, Error> {
        let secret = if self.is_by_passphrase() { Secret::Passphrase(secret) } else { Secret::Key(secret) };
        Ok(self.header.input_key(secret, &self.limits)?)
    }
}

impl Test for File {
    fn name(&self) -> String {
        format!("{}, a file's commitment to its key", self.header.suite)
    }

    fn key_bytes(&self) -> Option<usize> {
        (!self.is_by_passphrase()).then(|| self.header.suite.key_bytes())
    }

    fn holds(&self, key: &[u8]) -> Result<bool, Error> {
        let (suite, key) = (self.header.suite, self.input_key(key)?);
        match Payload::committed(suite, &key, &self.prefix, &self.header.to_bytes(), &self.options) {
            Ok(_) => Ok(true),
            Err(container::Error::WrongKey) => Ok(false),
            Err(refusal) => Err(refusal.into()),
        }
    }

    fn planted(&self, key: &[u8]) -> Result<Box<dyn Test>, Error> {
        let (suite, key) = (self.header.suite, self.input_key(key)?);
        let payload = Payload::fresh(suite, &key, &self.header.to_bytes(), &self.options)?;
        Ok(Box::new(Self { prefix: *payload.prefix(), ..self.clone() }))
    }
}

impl Plausible {
    fn run(&self, direction: Direction, key: &[u8], data: &mut [u8]) -> Result<(), Error> {
        let BlockMode { mode, iv } = self.mode;
        let iv = if mode.entry().initial == Initial::Block { &iv[..] } else { &[] };
        let start = Start { iv, ..Start::default() };
        let mode = mode.unauthenticated(self.cipher, key, direction, &start, &self.options)?;
        Ok(mode.apply_whole(data)?)
    }
}

/// What files of common kinds begin with, as their specifications have it.
const MAGICS: [&[u8]; 12] = [
    b"\x89PNG\r\n\x1a\n",
    b"\xff\xd8\xff",
    b"GIF8",
    b"%PDF-",
    b"PK\x03\x04",
    b"\x1f\x8b\x08",
    b"BZh",
    b"\xfd7zXZ\0",
    b"\x28\xb5\x2f\xfd",
    b"7z\xbc\xaf\x27\x1c",
    b"\x7fELF",
    b"SQLite format 3\0",
];

impl Look {
    /// It begins as files of common kinds do: pictures, documents, archives, programs, databases.
    pub fn file() -> Self {
        Self::Magic(MAGICS.map(<[u8]>::to_vec).to_vec())
    }

    fn fits(&self, text: &[u8]) -> bool {
        match self {
            Self::Printable => text.iter().all(|byte| matches!(byte, b' '..=b'~' | b'\t' | b'\n' | b'\r')),
            Self::Magic(beginnings) => beginnings.iter().any(|beginning| text.starts_with(beginning)),
        }
    }
}

impl Test for Plausible {
    fn name(&self) -> String {
        format!("{}, what the plaintext looks like", self.cipher)
    }

    fn key_bytes(&self) -> Option<usize> {
        Some(self.cipher.key_bytes())
    }

    fn holds(&self, key: &[u8]) -> Result<bool, Error> {
        let mut data = self.ciphertext.clone();
        self.run(Direction::Decrypt, key, &mut data)?;
        Ok(self.look.fits(&data))
    }

    fn planted(&self, key: &[u8]) -> Result<Box<dyn Test>, Error> {
        if self.ciphertext.is_empty() {
            return Err(Error::NothingKnown);
        }
        let mut text = vec![b' '; self.ciphertext.len()];
        if let Look::Magic(beginnings) = &self.look {
            let beginning = beginnings.iter().find(|beginning| beginning.len() <= text.len());
            let beginning = beginning.ok_or(Error::ShortCiphertext { len_bytes: text.len() })?;
            text[..beginning.len()].copy_from_slice(beginning);
        }
        self.run(Direction::Encrypt, key, &mut text)?;
        Ok(Box::new(Self { ciphertext: text, ..self.clone() }))
    }
}
