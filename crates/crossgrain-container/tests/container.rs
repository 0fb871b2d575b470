//! Encrypted files: published vectors and worked examples, streams of every length, and files that were
//! changed in every way.
#![allow(missing_docs, clippy::unwrap_used, reason = "a test")]

mod common;

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Cursor, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use common::{File, encrypted, hex, key_of, options, painted};
use crossgrain::Direction;
use crossgrain::engine::check;
use crossgrain::mode::{Mode, Start};
use crossgrain_container::{
    Argon2id, CHUNK_BYTES, Damage, Decryptor, Encryptor, Error, Header, Kdf, Limits, PREFIX_BYTES, Payload,
    SEALED_CHUNK_BYTES, Secret, Suite, TAG_BYTES, plaintext_bytes, sealed_bytes,
};
use sha2::{Digest as _, Sha512};

fn opened(suite: Suite, file: Vec<u8>) -> Result<Decryptor<File>, Error> {
    Decryptor::new(Cursor::new(file), Secret::Key(&key_of(suite)), &Limits::default(), &options())
}

/// The readable part of a file, and the result at its end.
fn decrypted(suite: Suite, file: Vec<u8>) -> (Vec<u8>, Result<(), Error>) {
    match opened(suite, file) {
        Ok(file) => read(file),
        Err(error) => (Vec::new(), Err(error)),
    }
}

fn read(mut file: Decryptor<File>) -> (Vec<u8>, Result<(), Error>) {
    let mut plaintext = Vec::new();
    let done = file.read_to_end(&mut plaintext);
    if let Err(error) = &done {
        let again = file.read(&mut [0]).unwrap_err();
        assert_eq!(again.to_string(), error.to_string(), "a failed file keeps failing");
    }
    (plaintext, done.map(drop).map_err(|error| *error.into_inner().unwrap().downcast().unwrap()))
}

/// Lengths around the boundaries: 0, 1, 2 and 3 chunks, and the group of a stream.
fn lengths() -> impl Iterator<Item = usize> {
    let around = |chunks: usize| [0, 1, 15, 16, 17].map(move |more| chunks * CHUNK_BYTES + more);
    let below = |chunks: usize| [1, 15, 16, 17].map(move |less| chunks * CHUNK_BYTES - less);
    let ends = (0..=3).chain([64, 65]).flat_map(around);
    ends.chain([1, 2, 3, 64, 65].into_iter().flat_map(below)).filter(|&len| len <= 65 * CHUNK_BYTES + 1)
}

#[test]
fn every_length_comes_back_and_is_as_long_as_said() {
    for suite in Suite::ALL {
        for len in lengths() {
            let plaintext = painted(len, len as u64);
            let file = encrypted(suite, &plaintext);
            let chunks_bytes = (file.len() - Header::of_key(suite).to_bytes().len() - PREFIX_BYTES) as u64;
            assert_eq!(sealed_bytes(len as u64), chunks_bytes);
            assert_eq!(plaintext_bytes(chunks_bytes), Some(len as u64));
            let (got, done) = decrypted(suite, file);
            done.unwrap();
            assert!(got == plaintext, "{suite} {len}");
        }
    }
}

#[test]
fn no_payload_has_a_length_between() {
    for whole in 0..3 {
        for rest in 0..TAG_BYTES as u64 {
            assert_eq!(plaintext_bytes(whole * SEALED_CHUNK_BYTES as u64 + rest), None);
        }
    }
}

/// A stream gives the same plaintext, whatever the sizes of the reads and writes.
#[test]
fn pieces_of_any_size_make_the_same_plaintext() {
    let plaintext = painted(3 * CHUNK_BYTES + 5, 1);
    for piece in [1, 7, 4096, CHUNK_BYTES - 1, CHUNK_BYTES, 3 * CHUNK_BYTES] {
        let suite = Suite::Aes256Gcm;
        let key = key_of(suite);
        let mut file = Encryptor::bare(Vec::new(), suite, &key, b"context", &options()).unwrap();
        plaintext.chunks(piece).for_each(|piece| file.write_all(piece).unwrap());
        let file = Cursor::new(file.finish().unwrap());
        let mut file = Decryptor::bare(file, suite, &key, b"context", &options()).unwrap();
        let mut got: Vec<u8> = Vec::new();
        let mut buffer = vec![0; piece];
        while let count @ 1.. = file.read(&mut buffer).unwrap() {
            got.extend(&buffer[..count]);
        }
        assert!(got == plaintext, "{piece}");
    }
}

#[test]
fn any_part_can_be_read_alone() {
    for len in [0, 5, CHUNK_BYTES, 5 * CHUNK_BYTES + 77] {
        let plaintext = painted(len, 2);
        let mut file = opened(Suite::Aes128Gcm, encrypted(Suite::Aes128Gcm, &plaintext)).unwrap();
        assert_eq!(file.len_bytes().unwrap(), len as u64);
        let mut after_asking = Vec::new();
        file.read_to_end(&mut after_asking).unwrap();
        assert!(after_asking == plaintext);
        let mut places =
            vec![0, 1, CHUNK_BYTES - 1, CHUNK_BYTES, CHUNK_BYTES + 1, 3 * CHUNK_BYTES + 9, len, len + 1];
        places.extend(painted(40, 3).into_iter().map(|byte| usize::from(byte) * 331));
        for at in places {
            file.seek(SeekFrom::Start(at as u64)).unwrap();
            let mut got = [0; 100];
            let want = &plaintext[at.min(len)..(at + 100).min(len)];
            let mut count = 0;
            while let more @ 1.. = file.read(&mut got[count..]).unwrap() {
                count += more;
            }
            assert!(got[..count] == *want, "{len} {at}");
            assert_eq!(file.stream_position().unwrap(), (at + count) as u64);
        }
        assert_eq!(file.seek(SeekFrom::End(0)).unwrap(), len as u64);
        assert_eq!(file.read(&mut [0]).unwrap(), 0);
        let before = file.seek(SeekFrom::Current(-(len as i64) - 1)).unwrap_err();
        assert_eq!(before.kind(), io::ErrorKind::InvalidInput);
    }
}

/// Seeking relative to the end fails if the file is truncated.
#[test]
fn the_end_of_a_file_cut_off_is_no_end() {
    let suite = Suite::Aes256Gcm;
    let whole = encrypted(suite, &painted(3 * CHUNK_BYTES + 1000, 4));
    for cut in [1, 500, 1016, 1016 + SEALED_CHUNK_BYTES] {
        let mut file = opened(suite, whole[..whole.len() - cut].to_vec()).unwrap();
        assert!(file.seek(SeekFrom::End(0)).is_err(), "{cut}");
        // Complete chunks can still be read.
        file.seek(SeekFrom::Start(10)).unwrap();
        file.read_exact(&mut [0; 50]).unwrap();
    }
}

/// A second implementation of the format from the reference's slow modes. For Serpent no other one exists.
fn by_reference(suite: Suite, key: &[u8], salt: &[u8], context: &[u8], plaintext: &[u8]) -> Vec<u8> {
    use hmac::{Hmac, KeyInit as _, Mac as _};
    let info = [b"c2sp.org/chunked-encryption@v1+", suite.aead_name().as_bytes(), &[0], salt, context];
    let (mut derived, mut hash) = (Vec::new(), Vec::new());
    for number in 1..=2 {
        let mut mac = Hmac::<Sha512>::new_from_slice(key).unwrap();
        mac.update(&[&hash[..], &info.concat(), &[number]].concat());
        hash = mac.finalize().into_bytes().to_vec();
        derived.extend(&hash);
    }
    let (key, derived) = derived.split_at(suite.key_bytes());
    let (nonce, derived) = derived.split_at(if suite.mode() == Mode::Eax { 16 } else { 12 });
    let mut file = [salt, &derived[..32]].concat();
    let mut pieces: Vec<_> = plaintext.chunks(CHUNK_BYTES).map(<[u8]>::to_vec).collect();
    if plaintext.len().is_multiple_of(CHUNK_BYTES) {
        pieces.push(Vec::new());
    }
    for (number, mut piece) in (0_u64..).zip(pieces) {
        let mut nonce = nonce.to_vec();
        let end = nonce.len() - 8;
        nonce[end..].iter_mut().zip(number.to_be_bytes()).for_each(|(a, b)| *a ^= b);
        let (by, start) = ((suite.cipher(), key), Start { iv: &nonce, ..Start::default() });
        let encrypt = Direction::Encrypt;
        let tag =
            check::mode_by_reference(suite.mode(), by, encrypt, &start, &[], &[0; TAG_BYTES], &mut piece);
        file.extend(piece);
        file.extend(tag.unwrap().unwrap());
    }
    file
}

#[test]
fn files_are_what_the_reference_makes_of_them() {
    for suite in Suite::ALL {
        for len in [0, 1, CHUNK_BYTES, 2 * CHUNK_BYTES + 100] {
            let plaintext = painted(len, 5);
            let file = encrypted(suite, &plaintext);
            let (header, payload) = file.split_at(Header::of_key(suite).to_bytes().len());
            assert!(
                payload == by_reference(suite, &key_of(suite), &payload[..24], header, &plaintext),
                "{suite} {len}"
            );
        }
    }
}

#[test]
fn no_two_files_share_a_salt() {
    let [a, b] = [0, 1].map(|_| encrypted(Suite::Aes256Gcm, b"the same"));
    assert_ne!(a[13..][..24], b[13..][..24]);
}

/// The worked examples of `docs/format.md` without slots, as maps from names to values.
fn worked() -> Vec<BTreeMap<String, String>> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/format.md");
    let text = fs::read_to_string(path).unwrap();
    let blocks = text.split("```text\n").skip(1).map(|block| block.split("```").next().unwrap());
    let values = |block: &str| -> BTreeMap<_, _> {
        block
            .lines()
            .filter_map(|line| line.split_once(" = "))
            .map(|(a, b)| (a.trim().into(), b.into()))
            .collect()
    };
    let is_one = |values: &BTreeMap<_, _>| values.contains_key("suite") && !values.contains_key("file key");
    blocks.map(values).filter(is_one).collect()
}

#[test]
fn the_worked_answers_of_the_format_are_right() {
    let all = worked();
    assert!(Suite::ALL.iter().all(|suite| all.iter().any(|values| values["suite"] == suite.name())));
    for values in all {
        let suite: Suite = values["suite"].parse().unwrap();
        let file = hex(&values["file"].replace(' ', ""));
        let key = values.get("key").map(|key| hex(key));
        let bare = values.contains_key("bare");
        let file = Cursor::new(file);
        let plaintext = match (&key, values.get("passphrase")) {
            (Some(key), None) if bare => {
                read(Decryptor::bare(file.clone(), suite, key, b"", &options()).unwrap())
            }
            (Some(key), None) => {
                read(Decryptor::new(file.clone(), Secret::Key(key), &Limits::default(), &options()).unwrap())
            }
            (_, passphrase) => {
                let secret = Secret::Passphrase(passphrase.unwrap().as_bytes());
                read(Decryptor::new(file.clone(), secret, &Limits::default(), &options()).unwrap())
            }
        };
        plaintext.1.unwrap();
        assert_eq!(plaintext.0, values["plaintext"].trim_matches('"').as_bytes());
        // The same salt gives the same bytes again.
        let header_bytes = if bare { 0 } else { 13 + usize::from(file.get_ref()[12]) };
        let (header, payload) = file.get_ref().split_at(header_bytes);
        let key = key.unwrap_or_else(|| hex(&values["input key"]));
        let salt = payload[..24].try_into().unwrap();
        let keys = Payload::with_salt(suite, &key, salt, header, &options()).unwrap();
        assert_eq!(keys.prefix()[..], payload[..PREFIX_BYTES]);
        let mut sealed = vec![0; payload.len() - PREFIX_BYTES];
        keys.seal(0, true, &plaintext.0, &mut sealed).unwrap();
        assert_eq!(sealed, payload[PREFIX_BYTES..]);
    }
}

/// The folder of published vectors that are not part of the repository.
fn published(name: &str) -> Option<PathBuf> {
    let beside = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/vectors");
    let folder = std::env::var_os("CROSSGRAIN_VECTORS").map_or(beside, PathBuf::from);
    Some(folder.join(name)).filter(|path| path.exists())
}

#[test]
fn published_vectors_of_chunked_encryption() {
    let Some(path) = published("c2sp_chunked_encryption_aes_128_gcm_test.json") else {
        println!("skipped: chunked-encryption vectors (CROSSGRAIN_VECTORS names no folder that has them)");
        return;
    };
    let vectors: serde_json::Value = serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap();
    let mut count = 0;
    for test in
        vectors["testGroups"].as_array().unwrap().iter().flat_map(|group| group["tests"].as_array().unwrap())
    {
        let text = |name: &str| test[name].as_str().unwrap();
        let flag = |name: &str| test["flags"].as_array().unwrap().iter().any(|flag| flag == name);
        let file = miniz_oxide::inflate::decompress_to_vec_zlib(&hex(text("ct"))).unwrap();
        let (key, context) = (hex(text("key")), hex(text("ctx")));
        let opened = Decryptor::bare(Cursor::new(file), Suite::Aes128Gcm, &key, &context, &options());
        count += 1;
        assert_eq!(opened.is_err(), flag("HeaderFailure"), "{}", text("comment"));
        let Ok(mut file) = opened else { continue };
        assert_eq!(file.len_bytes().is_ok(), test["result"] == "valid" || flag("ValidFinalChunk"));
        file.rewind().unwrap();
        let (plaintext, done) = read(file);
        assert_eq!(done.is_ok(), test["result"] == "valid", "{}", text("comment"));
        if let Some(len_bytes) = test["msgLength"].as_u64() {
            assert_eq!(plaintext.len() as u64, len_bytes, "{}", text("comment"));
            assert_eq!(Sha512::digest(&plaintext)[..], hex(text("msgSha512"))[..], "{}", text("comment"));
        } else {
            assert!(plaintext.is_empty(), "{}", text("comment"));
        }
    }
    assert_eq!(count, 35);
}

/// Fails unless the modified file gives only a prefix of its plaintext, followed by an error.
#[track_caller]
fn refused(suite: Suite, file: Vec<u8>, plaintext: &[u8]) -> Error {
    let (got, done) = decrypted(suite, file);
    assert!(plaintext.starts_with(&got) && got.len().is_multiple_of(CHUNK_BYTES), "{} bytes", got.len());
    done.unwrap_err()
}

#[test]
fn every_flipped_bit_is_found() {
    let plaintext = painted(20, 6);
    for suite in Suite::ALL {
        let file = encrypted(suite, &plaintext);
        for bit in 0..8 * file.len() {
            let mut file = file.clone();
            file[bit / 8] ^= 1 << (bit % 8);
            let error = refused(suite, file, &plaintext);
            let right = match bit / 8 {
                0..10 => matches!(error, Error::NotEncrypted),
                10 => matches!(error, Error::Version(_)),
                11 => matches!(error, Error::BadHeader(_) | Error::WrongKey | Error::KeyLength { .. }),
                12 => matches!(error, Error::BadHeader(_) | Error::TruncatedHeader),
                13..69 => matches!(error, Error::WrongKey),
                _ => matches!(
                    error,
                    Error::Damaged(Damage::Corrupt { chunk: 0, range: (0, 20), is_last: true })
                ),
            };
            assert!(right, "{suite} bit {bit}: {error:?}");
        }
    }
}

#[test]
fn a_file_cut_off_anywhere_is_refused() {
    let suite = Suite::Aes256Gcm;
    let plaintext = painted(CHUNK_BYTES + 30, 7);
    let file = encrypted(suite, &plaintext);
    for len in 0..file.len() {
        let error = refused(suite, file[..len].to_vec(), &plaintext);
        let within_bytes = len.saturating_sub(13 + PREFIX_BYTES) % SEALED_CHUNK_BYTES;
        let right = match error {
            Error::TruncatedHeader => len < 13 + PREFIX_BYTES,
            Error::Damaged(Damage::Truncated { .. }) => within_bytes < TAG_BYTES,
            // The rest is long enough to be a short last chunk, so truncation cannot be distinguished from a
            // change.
            Error::Damaged(Damage::Corrupt { is_last, .. }) => is_last && within_bytes >= TAG_BYTES,
            _ => false,
        };
        assert!(right, "{len}: {error:?}");
    }
}

#[test]
fn trailing_bytes_are_refused() {
    let suite = Suite::Aes256Gcm;
    for len in [0, 30, CHUNK_BYTES - 20, CHUNK_BYTES] {
        let plaintext = painted(len, 8);
        for more in [1, 15, 16, 17, 36, SEALED_CHUNK_BYTES, 2 * SEALED_CHUNK_BYTES] {
            let file = [encrypted(suite, &plaintext), vec![0; more]].concat();
            assert!(matches!(refused(suite, file, &plaintext), Error::Damaged(Damage::Corrupt { .. })));
        }
    }
}

#[test]
fn chunks_moved_repeated_dropped_or_foreign_are_found() {
    for suite in Suite::ALL {
        let plaintext = painted(3 * CHUNK_BYTES + 30, 9);
        let file = encrypted(suite, &plaintext);
        let foreign = encrypted(suite, &plaintext);
        let pieces = |file: &[u8]| -> Vec<Vec<u8>> {
            let (head, chunks) = file.split_at(13 + PREFIX_BYTES);
            [head.to_vec()].into_iter().chain(chunks.chunks(SEALED_CHUNK_BYTES).map(<[u8]>::to_vec)).collect()
        };
        let (own, other) = (pieces(&file), pieces(&foreign));
        let arranged = |order: &[usize]| order.iter().flat_map(|&i| own[i].clone()).collect::<Vec<u8>>();
        // The number of the chunk at which the error must be reported.
        let arrangements: [(&[usize], u64); 6] = [
            (&[0, 2, 1, 3, 4], 0),
            (&[0, 1, 2, 2, 3, 4], 2),
            (&[0, 1, 3, 4], 1),
            (&[0, 1, 2, 4], 2),
            (&[0, 4], 0),
            (&[0, 1, 2, 3, 4, 4], 3),
        ];
        for (order, bad) in arrangements {
            match refused(suite, arranged(order), &plaintext) {
                Error::Damaged(Damage::Corrupt { chunk, .. }) => assert_eq!(chunk, bad, "{order:?}"),
                error => panic!("{order:?}: {error}"),
            }
        }
        for at in 0..4 {
            let mut mixed = own.clone();
            mixed[at + 1].clone_from(&other[at + 1]);
            let error = refused(suite, mixed.concat(), &plaintext);
            assert!(matches!(error, Error::Damaged(Damage::Corrupt { chunk, .. }) if chunk == at as u64));
        }
        let mut mixed = own.clone();
        mixed[0].clone_from(&other[0]);
        assert!(matches!(
            refused(suite, mixed.concat(), &plaintext),
            Error::Damaged(Damage::Corrupt { chunk: 0, .. })
        ));
    }
}

#[test]
fn another_suite_another_context_or_another_key_is_refused() {
    let (suite, other) = (Suite::Aes256Gcm, Suite::Aes256Eax);
    let mut file = encrypted(suite, b"data");
    file[11] = encrypted(other, b"data")[11];
    assert!(matches!(decrypted(suite, file.clone()).1, Err(Error::WrongKey)));
    // Without its header, the same bytes are a different payload.
    let bare = file.split_off(13);
    let opened = Decryptor::bare(&bare[..], suite, &key_of(suite), b"", &options());
    assert!(matches!(opened, Err(Error::WrongKey)));
    let opened = Decryptor::bare(&bare[..], suite, &[1; 32], &Header::of_key(suite).to_bytes(), &options());
    assert!(matches!(opened, Err(Error::WrongKey)));
    let opened = Decryptor::bare(&bare[..], suite, &[1; 31], b"", &options());
    assert!(matches!(opened, Err(Error::KeyLength { len_bytes: 31, .. })));
}

fn cheap() -> Argon2id {
    Argon2id { memory_kib: 64, passes: 1, lanes: 2, salt: [9; 16] }
}

#[test]
fn a_passphrase_makes_the_key() {
    let header = Header::of_passphrase(Suite::Aes256Gcm, cheap());
    let right = Secret::Passphrase(b"correct horse");
    let mut file = Encryptor::new(Vec::new(), &header, right, &options()).unwrap();
    file.write_all(b"data").unwrap();
    let file = file.finish().unwrap();
    let open = |secret| Decryptor::new(&file[..], secret, &Limits::default(), &options());
    assert_eq!(io::read_to_string(open(right).unwrap()).unwrap(), "data");
    assert!(matches!(open(Secret::Passphrase(b"battery staple")), Err(Error::WrongKey)));
    assert!(matches!(open(Secret::Key(&[0; 32])), Err(Error::WantsPassphrase)));
    let by_key = encrypted(Suite::Aes256Gcm, b"data");
    let opened = Decryptor::new(&by_key[..], right, &Limits::default(), &options());
    assert!(matches!(opened, Err(Error::WantsKey)));
}

/// Refused before any memory is allocated, for any parameters.
#[test]
fn argon2_of_a_tebibyte_is_refused() {
    let demands = [
        (1 << 20, 5, 1),
        (300 << 10, 14, 4),
        (u32::MAX, u32::MAX, 1),
        (1 << 30, 3, 4),
        (u32::MAX, 3, 4),
        (64, u32::MAX, 1),
        (1 << 20, 1, u32::MAX),
        ((1 << 20) + 1, 1, 1),
    ];
    for (memory_kib, passes, lanes) in demands {
        let header =
            Header::of_passphrase(Suite::Aes256Gcm, Argon2id { memory_kib, passes, lanes, salt: [0; 16] });
        let file = [header.to_bytes(), vec![0; 100]].concat();
        let opened = Decryptor::new(&file[..], Secret::Passphrase(b"x"), &Limits::default(), &options());
        assert!(matches!(opened, Err(Error::TooDemanding { .. })), "{memory_kib} {passes} {lanes}");
    }
    for (memory_kib, passes, lanes) in [(0, 1, 1), (64, 0, 1), (64, 1, 0), (64, 1, 9), (64, 1, u32::MAX)] {
        let header =
            Header::of_passphrase(Suite::Aes256Gcm, Argon2id { memory_kib, passes, lanes, salt: [0; 16] });
        let made = header.input_key(Secret::Passphrase(b"x"), &Limits::NONE);
        assert!(matches!(made, Err(Error::BadArgon2(_))), "{memory_kib} {passes} {lanes}");
    }
}

#[test]
fn a_header_has_one_spelling() {
    let header = Header::of_passphrase(Suite::Serpent256Eax, cheap());
    let bytes = header.to_bytes();
    assert_eq!(Header::read(&mut &bytes[..]).unwrap(), header);
    for spelling in [
        "$argon2id$v=19$m=064,t=1,p=2$CQkJCQkJCQkJCQkJCQkJCQ",
        "$argon2id$v=19$m=+64,t=1,p=2$CQkJCQkJCQkJCQkJCQkJCQ",
        "$argon2id$v=19$m=64,t=1,p=2$CQkJCQkJCQkJCQkJCQkJCQ==",
        "$argon2id$v=19$m=64,t=1,p=2$CQkJCQkJCQkJCQkJCQkJCR",
        "$argon2id$v=19$m=64,t=1,p=2$CQkJ",
        "$argon2id$v=16$m=64,t=1,p=2$CQkJCQkJCQkJCQkJCQkJCQ",
        "$argon2i$v=19$m=64,t=1,p=2$CQkJCQkJCQkJCQkJCQkJCQ",
        "$argon2id$v=19$t=1,m=64,p=2$CQkJCQkJCQkJCQkJCQkJCQ",
        "$argon2id$v=19$m=4294967296,t=1,p=2$CQkJCQkJCQkJCQkJCQkJCQ",
        "$",
        "\u{1b}[31m",
    ] {
        let bytes = [&bytes[..12], &[spelling.len() as u8], spelling.as_bytes()].concat();
        let error = Header::read(&mut &bytes[..]).unwrap_err();
        assert!(matches!(error, Error::BadHeader(_)), "{spelling:?}: {error:?}");
        assert!(!error.to_string().contains(char::is_control), "{error}");
    }
    assert_eq!(header.kdf, Kdf::Argon2id(cheap()));
}

/// Measures the longest time that a file may demand, on one thread as on a slow machine. The time is not
/// asserted; `docs/format.md` has it.
#[test]
#[ignore = "takes a gigabyte, and half a minute"]
fn the_most_that_a_file_may_demand() {
    let Limits { memory_kib, passes, work_kib, .. } = Limits::default();
    let most = (memory_kib, (work_kib / u64::from(memory_kib)) as u32);
    let longest = ((work_kib / u64::from(passes)) as u32, passes);
    for (memory_kib, passes) in [most, longest, (64 * 1024, 3)] {
        let argon2id = Argon2id { memory_kib, passes, lanes: 4, salt: [0; 16] };
        let header = Header::of_passphrase(Suite::Aes256Gcm, argon2id);
        let begun = std::time::Instant::now();
        rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap().install(|| {
            drop(header.input_key(Secret::Passphrase(b"x"), &Limits::NONE).unwrap());
        });
        println!("{memory_kib} KiB, {passes} passes: {:.1} s", begun.elapsed().as_secs_f64());
    }
}

/// An error of the engine passes through `?` unchanged, and readers see its I/O error kind.
#[test]
fn errors_have_a_kind_and_a_source() {
    use std::error::Error as _;
    let of_engine = Error::from(crossgrain::Error::BadIsaCap("z80".to_owned()));
    assert_eq!(of_engine.source().unwrap().to_string(), of_engine.to_string());
    assert_eq!(io::Error::from(of_engine).kind(), io::ErrorKind::InvalidInput);
    assert_eq!(io::Error::from(Error::WrongKey).kind(), io::ErrorKind::InvalidData);
    assert!(Error::WrongKey.source().is_none());
    let full = Error::from(io::Error::from(io::ErrorKind::StorageFull));
    assert!(full.source().is_some());
    assert_eq!(io::Error::from(full).kind(), io::ErrorKind::StorageFull);
}
