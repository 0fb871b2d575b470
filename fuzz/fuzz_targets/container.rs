//! Encrypted files from untrusted sources: the parser of headers, and the decryptor on a file that was changed.
//!
//! Holds: nothing panics. A header survives a round trip. Plaintext read from a changed file is the original plaintext, and only the
//! unchanged file can be read to its end. Both versions of the format are read.

#![no_main]

use std::io::{Cursor, Read as _, Seek as _, SeekFrom, Write as _};
use std::sync::OnceLock;

use crossgrain::mode::Options;
use crossgrain_container::{Argon2id, Decryptor, Encryptor, Header, Identity, Limits, Lock, Secret, Suite};
use libfuzzer_sys::fuzz_target;

const KEY: [u8; 32] = [7; 32];
const LIMITS: Limits = Limits { memory_kib: 64, passes: 1, lanes: 1, work_kib: 64 };

/// The identity of the worked examples in `docs/format.md`, which are among the seeds.
const IDENTITY: &str = "AGE-SECRET-KEY-1GPQ5YS6YG4RYWJZFFF95CN2WFAG9Z5JN2324V46CT9D9KHZATE0S5FAZ64";

fn identities() -> &'static [Identity] {
    static IDENTITIES: OnceLock<[Identity; 1]> = OnceLock::new();
    IDENTITIES.get_or_init(|| [IDENTITY.parse().unwrap()])
}

/// A file of two whole chunks and a short one, and its plaintext.
type Whole = (Vec<u8>, Vec<u8>);

/// Such files of both versions.
fn wholes() -> &'static [Whole; 2] {
    static WHOLES: OnceLock<[Whole; 2]> = OnceLock::new();
    WHOLES.get_or_init(|| {
        let plaintext: Vec<u8> = (0..2 * 16384 + 100).map(|i| (i % 251) as u8).collect();
        let suite = Suite::Aes256Gcm;
        let header = Header::of_key(suite);
        let one_key = Encryptor::new(Vec::new(), &header, Secret::Key(&KEY), &options()).unwrap();
        let argon2id = Argon2id { memory_kib: 64, passes: 1, lanes: 1, salt: [9; 16] };
        let recipient = identities()[0].recipient();
        let locks = [Lock::Recipient(recipient), Lock::Key(&KEY), Lock::Passphrase(b"x", argon2id)];
        let with_slots = Encryptor::locked(Vec::new(), suite, &locks, &options()).unwrap();
        [one_key, with_slots].map(|mut file| {
            file.write_all(&plaintext).unwrap();
            (file.finish().unwrap(), plaintext.clone())
        })
    })
}

fn options() -> Options {
    Options { threads: 1, ..Options::default() }
}

/// Reads a header, and the payload after a valid one.
fn foreign(file: &[u8]) {
    let mut rest = file;
    if let Ok(header) = Header::read(&mut rest) {
        assert!(file.starts_with(&header.to_bytes()));
        assert_eq!(file.len() - rest.len(), header.to_bytes().len());
    }
    for secret in [Secret::Key(&KEY), Secret::Passphrase(b"x"), Secret::Identities(identities())] {
        if let Ok(mut file) = Decryptor::new(file, secret, &LIMITS, &options()) {
            let _ = file.read_to_end(&mut Vec::new());
        }
    }
}

/// Changes a file as four bytes say.
fn edit(file: &mut Vec<u8>, [what, high, low, value]: [u8; 4]) {
    let at = usize::from(u16::from_be_bytes([high, low])) % (file.len() + 1);
    match what % 5 {
        0 => file.truncate(at),
        1 => file.insert(at, value),
        2 => file.extend_from_within(at.saturating_sub(usize::from(value))..at),
        3 => drop(file.drain(at.saturating_sub(usize::from(value))..at)),
        _ => file.iter_mut().skip(at).take(1).for_each(|byte| *byte ^= value),
    }
}

/// Seeks and reads in a file that was edited.
fn tampered((file, plaintext): &Whole, script: &[u8]) {
    let (edits, reads) = script.split_at(script.len() / 2);
    let mut edited = file.clone();
    edits.as_chunks().0.iter().for_each(|step| edit(&mut edited, *step));
    let is_whole = edited == *file;
    let Ok(mut file) = Decryptor::new(Cursor::new(edited), Secret::Key(&KEY), &LIMITS, &options()) else {
        return assert!(!is_whole);
    };
    for [how, high, low, count] in reads.as_chunks().0 {
        let distance = i64::from(u16::from_be_bytes([*high, *low]));
        let sought = match how % 3 {
            0 => file.seek(SeekFrom::Start(distance as u64)),
            1 => file.seek(SeekFrom::Current(distance - 20_000)),
            _ => file.seek(SeekFrom::End(-distance)),
        };
        let mut buffer = vec![0; usize::from(*count) * 100];
        if let (Ok(position), Ok(count)) = (sought, file.read(&mut buffer)) {
            let from = usize::try_from(position).unwrap_or(usize::MAX).min(plaintext.len());
            assert_eq!(buffer[..count], plaintext[from..][..count]);
        }
    }
    let mut read = Vec::new();
    let done = file.rewind().and_then(|()| file.read_to_end(&mut read));
    assert!(plaintext.starts_with(&read));
    assert_eq!(done.is_ok(), is_whole);
}

fuzz_target!(|data: &[u8]| {
    match data.split_first() {
        Some((0..128, file)) => foreign(file),
        Some((128..192, script)) => tampered(&wholes()[0], script),
        Some((_, script)) => tampered(&wholes()[1], script),
        None => {}
    }
});
