//! What a mode costs beside the cipher's bare speed: XTS, CBC, GCM and EAX in the same turns as ECB and CTR.

use crossgrain::mode::{Aead, AeadMessage, Cbc, Ctr, Eax, Ecb, Gcm, Message, Options, Xts, XtsKey};
use crossgrain::reference::{self, aead, chaining, modes, xts};
use crossgrain::wide::{self, Rijndael};
use crossgrain::{Block, Buffers, Cipher, Direction, Features, Key};

use super::peer::Peer;
use super::subject::{Candidate, Group, MODE_BYTES, arbitrary_key, measured, theirs};
use super::{Timed, wrong};
use crate::error::Error;

/// Messages that EAX seals, and CBC encrypts, together.
const MESSAGES: usize = 512;
const MESSAGE_BYTES: usize = 16 * 1024;

/// What is compared with the reference first: a few bundles, in sectors of the sizes timed.
const CHECKED_BYTES: usize = 8192;

/// Initialisation vector, first counter and nonce.
const IV: Block = *b"sixteen bytes iv";

/// A mode at work in place on bytes, which may be cut into messages.
type Work = Box<dyn FnMut(&mut [u8])>;

/// The same by the reference, on one message.
type Expected = Box<dyn Fn(&mut [u8])>;

/// A way to make a mode's work.
type Make = fn(&Setting) -> Made;
type Made = Result<(Work, Expected), Error>;

/// A cipher's keys and how its modes are to be run.
struct Setting {
    cipher: Cipher,
    key: Key,
    options: Options,
}

/// The modes of a cipher.
pub(super) fn group(cipher: Cipher, features: Features, peers: &[Peer], filter: &str) -> Group {
    let setting = Setting { cipher, key: arbitrary_key(cipher)?, options: measured(cipher, features) };
    let makers: [(&str, usize, Make); 10] = [
        ("ecb", MODE_BYTES, |setting| ecb(setting, Direction::Encrypt)),
        ("ecb-decrypt", MODE_BYTES, |setting| ecb(setting, Direction::Decrypt)),
        ("ctr", MODE_BYTES, |setting| ctr(setting, MODE_BYTES)),
        ("xts-512", MODE_BYTES, |setting| sectors(setting, 512)),
        ("xts-4096", MODE_BYTES, |setting| sectors(setting, 4096)),
        ("cbc-decrypt", MODE_BYTES, |setting| cbc(setting, Direction::Decrypt, MODE_BYTES)),
        ("gcm", MODE_BYTES, gcm),
        ("ctr-many", MESSAGES * MESSAGE_BYTES, |setting| ctr(setting, MESSAGE_BYTES)),
        ("cbc-many", MESSAGES * MESSAGE_BYTES, |setting| cbc(setting, Direction::Encrypt, MESSAGE_BYTES)),
        ("eax-many", MESSAGES * MESSAGE_BYTES, eax),
    ];
    let mut group = Vec::new();
    for (mode, bytes, make) in makers {
        let id = format!("modes/{cipher}/{mode}");
        if id.contains(filter) {
            let (work, expected) = make(&setting)?;
            group.push(candidate(id, bytes, work, &expected)?);
        }
    }
    let (id, job) = (format!("modes/{cipher}/xts-4096"), format!("{cipher} xts encrypt"));
    group.extend(theirs(peers, &id, &job, MODE_BYTES, filter));
    Ok(group)
}

/// Rijndael with wider blocks in the modes that are parallel, beside AES of the same keys above.
pub(super) fn wide(features: Features, filter: &str) -> Group {
    let options = wide::Options { features: Some(features), threads: 1, ..wide::Options::default() };
    let mut group = Vec::new();
    for cipher in [Rijndael::Block192Key192, Rijndael::Block256Key256] {
        for (name, mode, direction) in [
            ("ecb", wide::Mode::Ecb, Direction::Encrypt),
            ("ecb-decrypt", wide::Mode::Ecb, Direction::Decrypt),
            ("ctr", wide::Mode::Ctr, Direction::Encrypt),
        ] {
            let id = format!("modes/{cipher}/{name}");
            if id.contains(filter) {
                let key = wide::Key::new(cipher, &[0x5a; 32][..cipher.key_bytes()])?;
                let stream = wide::Stream::new(&key, mode, direction, &options)?;
                let (work, expected) = wide_work(stream, cipher, mode, direction)?;
                group.push(candidate(id, MODE_BYTES, work, &expected)?);
            }
        }
    }
    Ok(group)
}

/// The whole blocks there are, from the same counter every time.
fn wide_work(stream: wide::Stream, cipher: Rijndael, mode: wide::Mode, direction: Direction) -> Made {
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

/// The same by the reference. Counters of so few blocks are their last two bytes.
fn wide_reference(cipher: Rijndael, mode: wide::Mode, direction: Direction, data: &mut [u8]) {
    let (key, block_bytes) = (&[0x5a; 32][..cipher.key_bytes()], cipher.block_bytes());
    let by = reference::aes::rijndael(block_bytes, key);
    for (number, block) in (0_u16..).zip(data.chunks_mut(block_bytes)) {
        match (mode, direction) {
            (wide::Mode::Ctr, _) => {
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

/// A mode that has given the reference's bytes.
fn candidate(id: String, bytes: usize, mut work: Work, expected: &Expected) -> Result<Candidate, Error> {
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

fn ecb(setting: &Setting, direction: Direction) -> Made {
    let ecb = Ecb::new(&setting.key, direction, &setting.options)?;
    let key = setting.key.clone();
    Ok((
        // Whole blocks, by the constants above; so below.
        Box::new(move |data| drop(ecb.apply(Buffers::in_place(data)))),
        Box::new(move |data| modes::ecb(&*reference::cipher(&key), direction, data)),
    ))
}

/// Messages one after another.
fn ctr(setting: &Setting, message_bytes: usize) -> Made {
    let (ctr, key) = (Ctr::new(&setting.key, &IV, &setting.options)?, setting.key.clone());
    Ok((
        Box::new(move |data| {
            data.chunks_mut(message_bytes).for_each(|data| ctr.apply_at(0, Buffers::in_place(data)));
        }),
        Box::new(move |data| modes::ctr(&*reference::cipher(&key), IV, data)),
    ))
}

fn sectors(setting: &Setting, sector_bytes: usize) -> Made {
    let Setting { cipher, key, options } = setting;
    let tweak_bytes = &[0xa5; 32][..cipher.key_bytes()];
    let both = XtsKey::new(*cipher, &[&[0x5a; 32][..cipher.key_bytes()], tweak_bytes].concat())?;
    let xts = Xts::new(&both, Direction::Encrypt, sector_bytes, options)?;
    let (key, tweak_key) = (key.clone(), Key::new(*cipher, tweak_bytes)?);
    Ok((
        Box::new(move |data| drop(xts.apply(0, Buffers::in_place(data)))),
        Box::new(move |data| {
            let (data_cipher, tweak_cipher) = (reference::cipher(&key), reference::cipher(&tweak_key));
            for (number, sector) in (0..).zip(data.chunks_mut(sector_bytes)) {
                xts::xts(&*data_cipher, &*tweak_cipher, Direction::Encrypt, number, sector);
            }
        }),
    ))
}

/// Messages side by side.
fn cbc(setting: &Setting, direction: Direction, message_bytes: usize) -> Made {
    let cbc = Cbc::new(&setting.key, direction, &setting.options)?;
    let key = setting.key.clone();
    Ok((
        Box::new(move |data| {
            let message = |data| Message { chain: IV.into(), buffers: Buffers::in_place(data) };
            let mut messages: Vec<_> = data.chunks_mut(message_bytes).map(message).collect();
            drop(cbc.apply_many(&mut messages));
        }),
        Box::new(move |data| chaining::cbc(&*reference::cipher(&key), direction, IV, data)),
    ))
}

fn gcm(setting: &Setting) -> Made {
    let (gcm, key) = (Gcm::new(&setting.key, 16, &setting.options)?, setting.key.clone());
    Ok((
        Box::new(move |data| drop(gcm.seal(&IV[..12], &[], Buffers::in_place(data)))),
        Box::new(move |data| {
            aead::gcm(&*reference::cipher(&key), Direction::Encrypt, &IV[..12], &[], data);
        }),
    ))
}

/// Messages of [`MESSAGE_BYTES`], sealed together; one where there are fewer bytes.
fn eax(setting: &Setting) -> Made {
    let (eax, key) = (Eax::new(&setting.key, 16, &setting.options)?, setting.key.clone());
    Ok((
        Box::new(move |data| {
            let message =
                |data| AeadMessage { nonce: &IV, aad: &[], buffers: Buffers::in_place(data), tag: IV };
            let mut messages: Vec<_> = data.chunks_mut(MESSAGE_BYTES).map(message).collect();
            drop(eax.seal_many(&mut messages));
        }),
        Box::new(move |data| {
            aead::eax(&*reference::cipher(&key), Direction::Encrypt, &IV, &[], data);
        }),
    ))
}
