//! The cost of modes over that of the cipher: XTS, CBC and every mode with a tag, timed in turns with ECB and
//! CTR.

use crossgrain::engine::check;
use crossgrain::engine::cipher::rijndael::reference::rijndael;
use crossgrain::engine::reference;
use crossgrain::mode::{Aead as _, AeadMessage, Cbc, Cmac, Initial, Message, Mode, Options, Start, Tag};
use crossgrain::wide::{self, Rijndael};
use crossgrain::{BLOCK_BYTES, Block, Cipher, Direction, Features, Key};

use super::subject::{Candidate, Group, MODE_BYTES, measured};
use super::{Filter, Timed, wrong};
use crate::error::Error;

/// Messages per call, for sealing and for CBC encryption.
const MESSAGES: usize = 512;
const MESSAGE_BYTES: usize = 16 * 1024;

/// Tags that are compared with the reference first; more than there are lanes.
const CHECKED_TAGS: usize = 64;

/// Bytes that are compared with the reference first: a few bundles, in sectors of the timed sizes.
const CHECKED_BYTES: usize = 8192;

/// The initialisation vector and first counter. Nonces are its first bytes.
const IV: Block = *b"sixteen bytes iv";

/// A mode in place on bytes, which it may split into messages.
type Work = Box<dyn FnMut(&mut [u8])>;

/// The same by the reference on one message.
type Expected = Box<dyn Fn(&mut [u8])>;

type Made = Result<(Work, Expected), Error>;

/// A cipher and the options of its modes.
struct Setting {
    cipher: Cipher,
    options: Options,
}

/// A mode in one direction, over messages of one size.
#[derive(Clone, Copy)]
struct Job {
    mode: Mode,
    direction: Direction,
    messages: usize,
    message_bytes: usize,
    sector_bytes: usize,
}

impl Job {
    /// A mode on one message.
    const fn one(mode: Mode, direction: Direction) -> Self {
        Self { mode, direction, messages: 1, message_bytes: MODE_BYTES, sector_bytes: 512 }
    }
}

/// The timed jobs: a few modes without a tag, and every mode with one, on one message and on many.
fn jobs() -> Vec<(String, Job)> {
    let many = |job| Job { messages: MESSAGES, message_bytes: MESSAGE_BYTES, ..job };
    let encrypt = |mode| Job::one(mode, Direction::Encrypt);
    let mut jobs = vec![
        ("ecb".to_owned(), encrypt(Mode::Ecb)),
        ("ecb-decrypt".to_owned(), Job::one(Mode::Ecb, Direction::Decrypt)),
        ("ctr".to_owned(), encrypt(Mode::Ctr)),
    ];
    jobs.extend(in_sectors());
    jobs.extend([
        ("cbc-decrypt".to_owned(), Job::one(Mode::Cbc, Direction::Decrypt)),
        ("ctr-many".to_owned(), many(encrypt(Mode::Ctr))),
        ("cbc-many".to_owned(), many(encrypt(Mode::Cbc))),
    ]);
    for mode in Mode::ALL.into_iter().filter(|mode| mode.is_authenticated()) {
        jobs.push((mode.name().to_owned(), encrypt(mode)));
        jobs.push((format!("{mode}-many"), many(encrypt(mode))));
    }
    jobs
}

/// XTS with sectors of the usual sizes, and with a single sector.
fn in_sectors() -> [(String, Job); 3] {
    [512, 4096, MODE_BYTES].map(|sector_bytes| {
        let job = Job { sector_bytes, ..Job::one(Mode::Xts, Direction::Encrypt) };
        (format!("xts-{sector_bytes}"), job)
    })
}

/// The modes of a cipher.
pub(super) fn group(cipher: Cipher, features: Features, filter: Filter<'_>) -> Group {
    let mut group = of(jobs(), cipher, features, filter)?;
    let id = format!("modes/{cipher}/cmac-many");
    if filter.passes(&id) {
        let setting = Setting { cipher, options: measured(cipher, features) };
        group.push(setting.authenticating_many(id)?);
    }
    Ok(group)
}

/// XTS of ciphers whose other modes are not timed.
pub(super) fn sectors(features: Features, filter: Filter<'_>) -> Group {
    let mut group = Vec::new();
    for cipher in [Cipher::Sm4, Cipher::Camellia128, Cipher::Camellia256, Cipher::Aria128, Cipher::Aria256] {
        group.extend(of(in_sectors(), cipher, features, filter)?);
    }
    Ok(group)
}

/// Jobs of a cipher.
fn of(
    jobs: impl IntoIterator<Item = (String, Job)>,
    cipher: Cipher,
    features: Features,
    filter: Filter<'_>,
) -> Group {
    let setting = Setting { cipher, options: measured(cipher, features) };
    let mut group = Vec::new();
    for (name, job) in jobs {
        let id = format!("modes/{cipher}/{name}");
        if job.mode.admits(cipher).is_err() {
            continue;
        }
        if filter.passes(&id) {
            let work = match job {
                Job { mode, .. } if mode.is_authenticated() => setting.sealed(job)?,
                Job { mode: Mode::Cbc, messages: 2.., .. } => setting.chains(job.message_bytes)?,
                _ => setting.plain(job)?,
            };
            let expected = setting.by_reference(job);
            group.push(candidate(id, job.messages * job.message_bytes, work, &expected)?);
        }
    }
    Ok(group)
}

impl Setting {
    /// A key for the mode. If it consists of two keys, they differ.
    fn key(&self, mode: Mode) -> Vec<u8> {
        let mut key = vec![0x5a; mode.key_bytes(self.cipher)];
        key[self.cipher.key_bytes()..].fill(0xa5);
        key
    }

    fn start(job: Job) -> Start<'static> {
        let iv = match job.mode.entry().initial {
            Initial::Block => &IV[..],
            Initial::Nonce { usual, .. } => &IV[..usual],
            Initial::Nothing | Initial::Sector => &[],
        };
        Start { iv, sector: 0, sector_bytes: job.sector_bytes }
    }

    /// Messages one after another. The message lengths chosen above suit every mode, here and below.
    fn plain(&self, job: Job) -> Result<Work, Error> {
        let Job { mode, direction, message_bytes, .. } = job;
        let (start, key) = (Self::start(job), self.key(mode));
        let mode = mode.unauthenticated(self.cipher, &key, direction, &start, &self.options)?;
        Ok(Box::new(move |data| {
            for message in data.chunks_mut(message_bytes) {
                drop(mode.apply_whole(message));
            }
        }))
    }

    /// Messages in parallel lanes, each of which is serial.
    fn chains(&self, message_bytes: usize) -> Result<Work, Error> {
        let key = Key::new(self.cipher, &self.key(Mode::Cbc))?;
        let cbc = Cbc::with_options(&key, Direction::Encrypt, &self.options)?;
        Ok(Box::new(move |data| {
            let message = |data| Message::new(IV, data);
            let mut messages: Vec<_> = data.chunks_mut(message_bytes).map(message).collect();
            drop(cbc.apply_many(&mut messages));
        }))
    }

    /// Messages sealed in one call.
    fn sealed(&self, job: Job) -> Result<Work, Error> {
        let nonce = Self::start(job).iv;
        let mode = job.mode.aead(self.cipher, &self.key(job.mode), BLOCK_BYTES, &self.options)?;
        Ok(Box::new(move |data| {
            let message = |data| AeadMessage::new(nonce, &[], data);
            let mut messages: Vec<_> = data.chunks_mut(job.message_bytes).map(message).collect();
            drop(mode.seal_many(&mut messages));
        }))
    }

    /// Messages whose CMAC tags are computed in one call.
    fn authenticating_many(&self, id: String) -> Result<Candidate, Error> {
        let key = Key::new(self.cipher, &self.key(Mode::Cbc))?;
        let cmac = Cmac::with_options(&key, &self.options)?;
        let data: Vec<u8> = (0..MESSAGES * MESSAGE_BYTES).map(|i| ((i * i) >> 5) as u8).collect();
        let by_reference = reference::cipher(&key);
        let tags = cmac.tag_many(&messages(&data));
        let are_right = tags
            .iter()
            .zip(messages(&data))
            .take(CHECKED_TAGS)
            .all(|(tag, message)| *tag == Tag::from(reference::aead::cmac(&*by_reference, message)));
        if !are_right {
            return Err(wrong(&id));
        }
        let work = Timed(move || drop(cmac.tag_many(&messages(&data))));
        Ok(Candidate { id, bytes: MESSAGES * MESSAGE_BYTES, threads: 1, work: Box::new(work) })
    }

    fn by_reference(&self, job: Job) -> Expected {
        let (cipher, key) = (self.cipher, self.key(job.mode));
        Box::new(move |data| {
            let start = Self::start(job);
            let (by, tag) = ((cipher, &key[..]), &[0; BLOCK_BYTES]);
            for message in data.chunks_mut(job.message_bytes) {
                drop(check::mode_by_reference(job.mode, by, job.direction, &start, &[], tag, message));
            }
        })
    }
}

/// Messages of the usual size.
fn messages(data: &[u8]) -> Vec<&[u8]> {
    data.chunks(MESSAGE_BYTES).collect()
}

/// Rijndael with wider blocks in the parallel modes, for comparison with AES at the same key sizes.
pub(super) fn wide(features: Features, filter: Filter<'_>) -> Group {
    let options = wide::Options { features: Some(features), threads: 1, ..wide::Options::default() };
    let mut group = Vec::new();
    for cipher in [Rijndael::Block192Key192, Rijndael::Block256Key256] {
        for (name, mode, direction) in [
            ("ecb", Mode::Ecb, Direction::Encrypt),
            ("ecb-decrypt", Mode::Ecb, Direction::Decrypt),
            ("ctr", Mode::Ctr, Direction::Encrypt),
        ] {
            let id = format!("modes/{cipher}/{name}");
            if filter.passes(&id) {
                let key = wide::Key::new(cipher, &[0x5a; 32][..cipher.key_bytes()])?;
                let stream = wide::Stream::with_options(&key, mode, direction, &options)?;
                let (work, expected) = wide_work(stream, cipher, mode, direction)?;
                group.push(candidate(id, MODE_BYTES, work, &expected)?);
            }
        }
    }
    Ok(group)
}

/// The whole blocks of the buffer, from the same counter in each call.
fn wide_work(stream: wide::Stream, cipher: Rijndael, mode: Mode, direction: Direction) -> Made {
    let block_bytes = cipher.block_bytes();
    let first = wide::State::new(cipher, &[0; 32][..block_bytes])?;
    let whole = move |data: &[u8]| data.len() / block_bytes * block_bytes;
    Ok((
        Box::new(move |data| {
            let whole = whole(data);
            drop(stream.apply(&mut first.clone(), &mut data[..whole]));
        }),
        Box::new(move |data| {
            let whole = whole(data);
            wide_reference(cipher, mode, direction, &mut data[..whole]);
        }),
    ))
}

/// The same by the reference. The counter values fit its last two bytes.
fn wide_reference(cipher: Rijndael, mode: Mode, direction: Direction, data: &mut [u8]) {
    let (key, block_bytes) = (&[0x5a; 32][..cipher.key_bytes()], cipher.block_bytes());
    let by = rijndael(block_bytes, key);
    for (number, block) in (0_u16..).zip(data.chunks_mut(block_bytes)) {
        match (mode, direction) {
            (Mode::Ctr, _) => {
                let mut keystream = vec![0; block_bytes];
                keystream[block_bytes - 2..].copy_from_slice(&number.to_be_bytes());
                by.encrypt(&mut keystream);
                block.iter_mut().zip(keystream).for_each(|(byte, key)| *byte ^= key);
            }
            (_, Direction::Encrypt) => by.encrypt(block),
            (_, Direction::Decrypt) => by.decrypt(block),
        }
    }
}

/// A candidate whose result equals the reference's.
fn candidate(
    id: String,
    bytes: usize,
    mut work: impl FnMut(&mut [u8]) + 'static,
    expected: &Expected,
) -> Result<Candidate, Error> {
    const PAGE: usize = 4096;
    let mut got: Vec<u8> = (0..CHECKED_BYTES).map(|i| ((i * i) >> 5) as u8).collect();
    let mut want = got.clone();
    work(&mut got);
    expected(&mut want);
    if got != want {
        return Err(wrong(&id));
    }
    let mut memory = vec![1_u8; bytes + PAGE];
    let page = memory.as_ptr().align_offset(PAGE).min(PAGE);
    let work = Box::new(Timed(move || work(&mut memory[page..][..bytes])));
    Ok(Candidate { id, bytes, threads: 1, work })
}
