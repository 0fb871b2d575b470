//! Tests for conditions that a block pair cannot express: two keys at once, tags, files with passphrases, and
//! plaintext that is known only by its look. Each key is tried separately, through the public modes or the
//! reference.

use std::io::Read;

use super::job::Test;
use super::{BlockMode, Error};
use crossgrain::Buffers;
use crossgrain::engine::block::{self, BLOCK_BYTES, Cipher, Direction, Key};
use crossgrain::engine::reference::{self, xts};
use crossgrain::mode::{Aead as _, Initial, Mode, Options, Start, Tag};
use crossgrain_container::{
    self as container, Argon2id, Header, Limits, Lock, PREFIX_BYTES, Payload, Secret, SlotKind,
};

/// A disk sector under XTS. The key is the concatenation of the two XTS keys.
#[derive(Clone, Debug)]
pub struct XtsSector {
    /// The cipher of both keys.
    pub cipher: Cipher,
    /// The number of the sector.
    pub sector: u128,
    /// The plaintext as far as it is known, from the first byte on.
    pub plaintext: Vec<u8>,
    /// The known bits of the plaintext.
    pub mask: Vec<u8>,
    /// The whole ciphertext.
    pub ciphertext: Vec<u8>,
}

/// A message and its tag.
#[derive(Clone, Debug)]
pub struct Tagged {
    /// The cipher.
    pub cipher: Cipher,
    /// The mode, which must be authenticated.
    pub mode: Mode,
    /// The nonce.
    pub nonce: Vec<u8>,
    /// The associated data: at most one string, or a list for a mode that takes one.
    pub aads: Vec<Vec<u8>>,
    /// The whole ciphertext.
    pub ciphertext: Vec<u8>,
    /// The tag.
    pub tag: Vec<u8>,
    /// Options of the mode.
    pub options: Options,
}

/// The beginning of an encrypted file. Candidates are passphrases if one opens the file, otherwise keys. A file
/// with several passphrases is opened by each of them.
#[derive(Clone, Debug)]
pub struct File {
    /// Its header.
    pub header: Header,
    /// The bytes after the header: salt and commitment.
    pub prefix: [u8; PREFIX_BYTES],
    /// The most that deriving a key may cost.
    pub limits: Limits,
    /// Options of the mode.
    pub options: Options,
}

/// Conditions on a plaintext.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Look {
    /// Any bytes.
    Anything,
    /// Every byte is printable ASCII, a tab or a line end.
    Printable,
    /// Text in UTF-8 without control characters other than white space. It may end within a character.
    Text,
    /// It begins with one of these strings.
    Magic(Vec<Vec<u8>>),
}

/// Ciphertext of which only the look of the plaintext is known.
#[derive(Clone, Debug)]
pub struct Plausible {
    /// The cipher.
    pub cipher: Cipher,
    /// The mode and its initial value.
    pub mode: BlockMode,
    /// The ciphertext, from its first byte on.
    pub ciphertext: Vec<u8>,
    /// The condition on the plaintext.
    pub look: Look,
    /// Options of the mode.
    pub options: Options,
}

impl XtsSector {
    /// Uses the reference because it accepts equal keys, under which existing data may have been encrypted.
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

    /// The ciphertext that determines the known beginning: whole blocks, or the whole sector if ciphertext
    /// stealing reaches them.
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
    /// Reads the beginning of an encrypted file. The cost of deriving a key is limited to the default.
    ///
    /// # Errors
    /// [`Header::read`]'s errors; [`container::Error::TruncatedHeader`] if salt or commitment is incomplete.
    pub fn read(input: &mut impl Read, options: Options) -> Result<Self, container::Error> {
        let (header, prefix) = (Header::read(input)?, container::prefix(input)?);
        Ok(Self { header, prefix, limits: Limits::default(), options })
    }

    /// Whether candidates are passphrases.
    pub fn is_by_passphrase(&self) -> bool {
        self.argon2id().is_some()
    }

    /// The parameters of the first passphrase.
    fn argon2id(&self) -> Option<Argon2id> {
        match &self.header.kdf {
            container::Kdf::RawKey => None,
            container::Kdf::Argon2id(argon2id) => Some(*argon2id),
            container::Kdf::Slots(slots) => slots.kinds().find_map(|kind| match kind {
                SlotKind::Passphrase(argon2id) => Some(*argon2id),
                _ => None,
            }),
        }
    }

    fn secret<'a>(&self, secret: &'a [u8]) -> Secret<'a> {
        if self.is_by_passphrase() { Secret::Passphrase(secret) } else { Secret::Key(secret) }
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
        let key = self.header.input_key(self.secret(key), &self.limits);
        match key.and_then(|key| self.header.payload(&key, &self.prefix, &self.options)) {
            Ok(_) => Ok(true),
            // It opens a slot of a header that was changed in another place.
            Err(container::Error::ForgedHeader) => Ok(true),
            Err(container::Error::WrongKey) => Ok(false),
            Err(refusal) => Err(refusal.into()),
        }
    }

    fn planted(&self, key: &[u8]) -> Result<Box<dyn Test>, Error> {
        let (header, input_key) = match (&self.header.kdf, self.argon2id()) {
            (container::Kdf::Slots(_), argon2id) => {
                let lock = argon2id.map_or(Lock::Key(key), |argon2id| Lock::Passphrase(key, argon2id));
                Header::locked(self.header.suite, &[lock])?
            }
            _ => (self.header.clone(), self.header.input_key(self.secret(key), &self.limits)?),
        };
        let payload = Payload::fresh(header.suite, &input_key, &header.context(), &self.options)?;
        Ok(Box::new(Self { header, prefix: *payload.prefix(), ..self.clone() }))
    }
}

impl Plausible {
    fn run(&self, direction: Direction, key: &[u8], data: &mut [u8]) -> Result<(), Error> {
        Self::run_mode(self.cipher, self.mode, &self.options, direction, key, data)
    }

    /// Encrypts or decrypts a message.
    pub(super) fn run_mode(
        cipher: Cipher,
        BlockMode { mode, iv }: BlockMode,
        options: &Options,
        direction: Direction,
        key: &[u8],
        data: &mut [u8],
    ) -> Result<(), Error> {
        let iv = if mode.entry().initial == Initial::Block { &iv[..] } else { &[] };
        let start = Start { iv, ..Start::default() };
        let mode = mode.unauthenticated(cipher, key, direction, &start, options)?;
        Ok(mode.apply_whole(data)?)
    }
}

/// The first bytes of common file formats, from their specifications.
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
    /// The plaintext begins like a common file format: a picture, document, archive, program or database.
    pub fn file() -> Self {
        Self::Magic(MAGICS.map(<[u8]>::to_vec).to_vec())
    }

    /// Whether a plaintext, or the beginning of one, has this look.
    pub(super) fn fits(&self, text: &[u8]) -> bool {
        match self {
            Self::Anything => true,
            Self::Text => is_text(text),
            Self::Printable => text.iter().all(|byte| matches!(byte, b' '..=b'~' | b'\t' | b'\n' | b'\r')),
            Self::Magic(beginnings) => beginnings.iter().any(|beginning| text.starts_with(beginning)),
        }
    }
}

/// Whether bytes are text in UTF-8, which may end within a character.
fn is_text(bytes: &[u8]) -> bool {
    let text = match std::str::from_utf8(bytes) {
        Ok(text) => text,
        Err(error) if error.error_len().is_none() => {
            std::str::from_utf8(&bytes[..error.valid_up_to()]).unwrap_or_default()
        }
        Err(_) => return false,
    };
    !text.chars().any(|character| character.is_control() && !"\t\n\u{c}\r".contains(character))
}

impl Look {
    /// A plaintext of this look and length.
    pub(super) fn example(&self, len_bytes: usize) -> Result<Vec<u8>, Error> {
        let mut text = vec![b' '; len_bytes];
        if let Self::Magic(beginnings) = self {
            let beginning = beginnings.iter().find(|beginning| beginning.len() <= len_bytes);
            let beginning = beginning.ok_or(Error::ShortCiphertext { len_bytes })?;
            text[..beginning.len()].copy_from_slice(beginning);
        }
        Ok(text)
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
        if self.ciphertext.is_empty() || self.look == Look::Anything {
            return Err(Error::NothingKnown);
        }
        let mut text = self.look.example(self.ciphertext.len())?;
        self.run(Direction::Encrypt, key, &mut text)?;
        Ok(Box::new(Self { ciphertext: text, ..self.clone() }))
    }
}
