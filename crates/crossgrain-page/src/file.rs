//! One file that is being sealed or opened, with the buffers that it shares with the page's script.

use std::fmt::Display;

use crossgrain::engine::wiping_stack;
use crossgrain::mode::{Mode, Options};
use crossgrain_container::{
    Argon2id, CHUNK_BYTES, Error, Header, Limits, Lock, Payload, SEALED_CHUNK_BYTES, Secret, Suite,
    key_from_file, prefix, sealed_bytes,
};
use zeroize::{Zeroize as _, Zeroizing};

/// The longest passphrase that the command line accepts, in bytes.
const PASSPHRASE_BYTES_MAX: usize = 4095;

/// The names of all suites, one a line.
pub(crate) fn suite_names() -> String {
    Suite::ALL.map(Suite::name).join("\n")
}

/// A file, and the bytes that are exchanged with the script.
pub(crate) struct OpenFile {
    /// Input of the next call.
    room: Vec<u8>,
    /// Output of the last call.
    answer: Vec<u8>,
    /// The content of a key file, or a passphrase.
    secret: Vec<u8>,
    is_key: bool,
    head_bytes: usize,
    payload: Option<Payload>,
    /// The key of the chunks, for WebCrypto.
    key: Vec<u8>,
    is_sealing: bool,
}

impl OpenFile {
    pub(crate) const NONE: Self = Self {
        room: Vec::new(),
        answer: Vec::new(),
        secret: Vec::new(),
        is_key: false,
        head_bytes: 0,
        payload: None,
        key: Vec::new(),
        is_sealing: false,
    };

    /// Overwrites the room and gives it this length.
    pub(crate) fn make_room(&mut self, len_bytes: usize) -> &mut [u8] {
        clear(&mut self.room, len_bytes)
    }

    pub(crate) fn answer(&self) -> &[u8] {
        &self.answer
    }

    pub(crate) fn set_answer(&mut self, answer: &[u8]) {
        clear(&mut self.answer, answer.len()).copy_from_slice(answer);
    }

    pub(crate) const fn head_bytes(&self) -> usize {
        self.head_bytes
    }

    pub(crate) fn take_secret(&mut self, is_key: bool) -> Result<(), String> {
        self.set_answer(&[]);
        self.secret.zeroize();
        (self.secret, self.is_key) = (std::mem::take(&mut self.room), is_key);
        match self.secret.len() {
            0 if !is_key => Err("the passphrase is empty: choose one".to_owned()),
            len_bytes if !is_key && len_bytes > PASSPHRASE_BYTES_MAX => {
                Err(format!("the passphrase is too long: {PASSPHRASE_BYTES_MAX} bytes are the most"))
            }
            _ => Ok(()),
        }
    }

    /// Begins a new file. Answers its header and the payload's prefix.
    pub(crate) fn begin_sealing(&mut self, suite: usize) -> Result<(), String> {
        let suite = Suite::ALL.get(suite).copied().ok_or("there is no suite of this number")?;
        let (header, input_key) = self.new_header(suite)?;
        let begun = Payload::fresh_with_key(suite, &input_key, &header.context(), &Options::default());
        let (payload, key) = begun.map_err(told)?;
        let mut head = header.to_bytes();
        head.extend(payload.prefix());
        self.begin(payload, key, head.len());
        self.is_sealing = true;
        self.set_answer(&head);
        Ok(())
    }

    /// Begins to open the file whose first bytes are in the room. Answers the name of its suite.
    pub(crate) fn begin_opening(&mut self) -> Result<(), String> {
        let mut rest = &self.room[..];
        let header = Header::read(&mut rest).map_err(refused)?;
        let prefix = prefix(&mut rest).map_err(refused)?;
        let head_bytes = self.room.len() - rest.len();
        let input_key = self.input_key(&header, &Limits::default())?;
        let begun = header.payload_with_key(&input_key, &prefix, &Options::default());
        let (payload, key) = begun.map_err(refused)?;
        self.begin(payload, key, head_bytes);
        self.is_sealing = false;
        self.set_answer(header.suite.name().as_bytes());
        Ok(())
    }

    /// The header of a new file and its input key: of version 1 under a key, of version 2 under a passphrase, as
    /// the command line writes them. Overwrites the secret.
    fn new_header(&mut self, suite: Suite) -> Result<(Header, Zeroizing<Vec<u8>>), String> {
        if self.is_key {
            let header = Header::of_key(suite);
            let input_key = self.input_key(&header, &Limits::NONE)?;
            return Ok((header, input_key));
        }
        let secret = Zeroizing::new(std::mem::take(&mut self.secret));
        let argon2id = Argon2id::fresh().map_err(told)?;
        Header::locked(suite, &[Lock::Passphrase(&secret, argon2id)]).map_err(told)
    }

    /// Derives the input key and overwrites the secret.
    fn input_key(&mut self, header: &Header, limits: &Limits) -> Result<Zeroizing<Vec<u8>>, String> {
        let secret = Zeroizing::new(std::mem::take(&mut self.secret));
        if !self.is_key {
            return header.input_key(Secret::Passphrase(&secret), limits).map_err(refused);
        }
        let (suite, want) = (header.suite.name(), header.suite.key_bytes());
        let key = wiping_stack(|| key_from_file(suite, want, &secret))
            .map_err(|why| format!("the key file {why}"))?;
        header.input_key(Secret::Key(&key), limits).map_err(refused)
    }

    fn begin(&mut self, payload: Payload, mut key: Zeroizing<Vec<u8>>, head_bytes: usize) {
        self.key.zeroize();
        if has_webcrypto(payload.suite()) {
            self.key = std::mem::take(&mut *key);
        }
        (self.payload, self.head_bytes) = (Some(payload), head_bytes);
    }

    /// Answers the key of the chunks, and keeps none.
    pub(crate) fn take_key(&mut self) -> Result<(), String> {
        let key = Zeroizing::new(std::mem::take(&mut self.key));
        self.set_answer(&key);
        Ok(())
    }

    /// Answers the nonces of consecutive chunks.
    pub(crate) fn nonces(&mut self, first: u64, chunks: usize) -> Result<(), String> {
        let payload = begun(self.payload.as_ref())?;
        let nonces = match self.is_sealing {
            true => payload.nonces_to_seal(first, chunks),
            false => payload.nonces_to_open(first, chunks),
        };
        let nonces = nonces.map_err(told)?;
        self.set_answer(&nonces);
        Ok(())
    }

    /// Seals the room.
    pub(crate) fn seal(&mut self, first: u64, is_last: bool) -> Result<(), String> {
        whole(self.room.len(), CHUNK_BYTES, is_last)?;
        let payload = begun(self.payload.as_ref())?;
        let sealed = clear(&mut self.answer, sealed_bytes(self.room.len() as u64) as usize);
        let written_bytes = payload.seal(first, is_last, &self.room, sealed).map_err(told)?;
        self.answer.truncate(written_bytes);
        self.room.zeroize();
        Ok(())
    }

    /// Opens the room.
    pub(crate) fn open(&mut self, first: u64, is_last: bool) -> Result<(), String> {
        whole(self.room.len(), SEALED_CHUNK_BYTES, is_last)?;
        let payload = begun(self.payload.as_ref())?;
        let plaintext = clear(&mut self.answer, self.room.len());
        let (len_bytes, opened) = payload.open(first, is_last, &self.room, plaintext);
        opened.map_err(told)?;
        self.answer.truncate(len_bytes);
        Ok(())
    }

    /// Overwrites and drops everything.
    pub(crate) fn close(&mut self) {
        for bytes in [&mut self.room, &mut self.answer, &mut self.secret, &mut self.key] {
            bytes.zeroize();
        }
        self.payload = None;
    }
}

/// Whether browsers have the suite's cipher. They have AES in GCM, but neither OCB, EAX, GCM-SIV nor Serpent.
fn has_webcrypto(suite: Suite) -> bool {
    suite.mode() == Mode::Gcm
}

/// Overwrites a buffer and gives it this length. A larger buffer is allocated anew, because a reallocation
/// would leave a copy.
fn clear(bytes: &mut Vec<u8>, len_bytes: usize) -> &mut [u8] {
    bytes.zeroize();
    if bytes.capacity() < len_bytes {
        *bytes = Vec::with_capacity(len_bytes);
    }
    bytes.resize(len_bytes, 0);
    bytes
}

/// Refuses a group that ends within a chunk before the end of the file.
fn whole(len_bytes: usize, chunk_bytes: usize, is_last: bool) -> Result<(), String> {
    if is_last || len_bytes.is_multiple_of(chunk_bytes) {
        return Ok(());
    }
    Err("a group of chunks ends within a chunk".to_owned())
}

fn begun(payload: Option<&Payload>) -> Result<&Payload, String> {
    payload.ok_or_else(|| "no file was begun".to_owned())
}

fn told(error: impl Display) -> String {
    error.to_string()
}

/// The message for a file that cannot be opened. It names the remedy: a choice in the page's form, or options of
/// the command line.
fn refused(error: Error) -> String {
    let remedy = match error {
        Error::WantsPassphrase => " (under Secret, choose Passphrase)",
        Error::WantsKey => " (under Secret, choose Key file)",
        Error::WantsIdentity => " (on the command line: crossgrain decrypt --identity)",
        Error::NotEncrypted => " (on the command line: crossgrain decrypt --bare --suite)",
        Error::TooDemanding { .. } => {
            " (on the command line: crossgrain decrypt --kdf-memory-max, --kdf-passes-max)"
        }
        _ => "",
    };
    format!("{error}{remedy}")
}
