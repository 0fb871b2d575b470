//! Headers of version 2: published answers, every way to open a file, and headers that were changed.
#![allow(missing_docs, clippy::unwrap_used, reason = "a test")]

mod common;

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Read as _, Write as _};
use std::path::Path;

use common::{hex, options, painted};
use crossgrain_container::{
    Argon2id, Decryptor, Encryptor, Error, HEADER_BYTES_MAX, Header, Identity, Kdf, Limits, Lock,
    PASSPHRASES_MAX, PREFIX_BYTES, Recipient, SLOTS_MAX, Secret, SlotKind, Suite, TAG_BYTES,
};

const PASSPHRASE: &[u8] = b"correct horse";
/// Bytes before the slots, and of the tag after them.
const BEFORE: usize = 14;
const MAC: usize = 32;

fn cheap(salt: u8) -> Argon2id {
    Argon2id { memory_kib: 64, passes: 1, lanes: 1, salt: [salt; 16] }
}

fn identity() -> Identity {
    Identity::generate().unwrap()
}

fn written(suite: Suite, locks: &[Lock<'_>], plaintext: &[u8]) -> Vec<u8> {
    let mut file = Encryptor::locked(Vec::new(), suite, locks, &options()).unwrap();
    file.write_all(plaintext).unwrap();
    file.finish().unwrap()
}

fn opened(file: &[u8], secret: Secret<'_>) -> Result<Vec<u8>, Error> {
    let mut file = Decryptor::new(file, secret, &Limits::default(), &options())?;
    let mut plaintext = Vec::new();
    let done = file.read_to_end(&mut plaintext);
    done.map(|_| plaintext).map_err(|error| *error.into_inner().unwrap().downcast().unwrap())
}

/// The slots of a header as bytes.
fn slots(header: &[u8], suite: Suite) -> Vec<Vec<u8>> {
    let mut rest = &header[BEFORE..header.len() - MAC];
    let mut slots = Vec::new();
    while !rest.is_empty() {
        let (slot, after) =
            rest.split_at(2 + usize::from(rest[1]) + PREFIX_BYTES + suite.key_bytes() + TAG_BYTES);
        slots.push(slot.to_vec());
        rest = after;
    }
    slots
}

/// A header with these slots and this tag.
fn with_slots(beginning: &[u8], slots: &[Vec<u8>], mac: &[u8]) -> Vec<u8> {
    let body = slots.concat();
    [&beginning[..12], &(body.len() as u16).to_be_bytes(), &body, mac].concat()
}

/// A header with these slots in the place of those of a file.
fn replaced(file: &[u8], slots: &[Vec<u8>]) -> Vec<u8> {
    let header = Header::read(&mut &file[..]).unwrap().to_bytes();
    [&with_slots(&header, slots, &header[header.len() - MAC..])[..], &file[header.len()..]].concat()
}

/// The worked examples of `docs/format.md` with slots.
fn worked() -> Vec<BTreeMap<String, String>> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/format.md");
    let text = fs::read_to_string(path).unwrap();
    let blocks = text.split("```text\n").skip(1).map(|block| block.split("```").next().unwrap());
    let pairs = blocks.map(|block| block.lines().filter_map(|line| line.split_once(" = ")));
    let values = pairs.map(|pairs| pairs.map(|(a, b)| (a.to_owned(), b.to_owned())).collect());
    values.filter(|values: &BTreeMap<_, _>| values.contains_key("file key")).collect()
}

#[test]
fn the_worked_answers_of_the_format_are_right() {
    let all = worked();
    assert!(all.len() >= 2);
    for values in all {
        let suite: Suite = values["suite"].parse().unwrap();
        let file = hex(&values["file"].replace(' ', ""));
        let identities: [Identity; 1] = [values["identity"].parse().unwrap()];
        assert_eq!(identities[0].recipient().to_string(), values["recipient"]);
        assert_eq!(identities[0].to_text().as_str(), values["identity"]);
        let key = hex(&values["key"]);
        let header = Header::read(&mut &file[..]).unwrap();
        assert!(file.starts_with(&header.to_bytes()));
        for secret in [
            Secret::Passphrase(values["passphrase"].as_bytes()),
            Secret::Identities(&identities),
            Secret::Key(&key),
        ] {
            let file_key = header.input_key(secret, &Limits::default()).unwrap();
            assert_eq!(file_key[..], hex(&values["file key"]), "{suite} {secret:?}");
            assert_eq!(opened(&file, secret).unwrap(), values["plaintext"].trim_matches('"').as_bytes());
        }
    }
}

#[test]
fn each_secret_opens_its_slot() {
    for suite in Suite::ALL {
        let key = painted(suite.key_bytes(), 7);
        let (one, other, foreign) = (identity(), identity(), [identity()]);
        let locks = [
            Lock::Recipient(one.recipient()),
            Lock::Key(&key),
            Lock::Passphrase(PASSPHRASE, cheap(1)),
            Lock::Recipient(other.recipient()),
            Lock::Passphrase(b"another", cheap(2)),
        ];
        let plaintext = painted(20_000, 3);
        let file = written(suite, &locks, &plaintext);
        let (one, other) = ([one], [identity(), other]);
        for secret in [
            Secret::Key(&key),
            Secret::Passphrase(PASSPHRASE),
            Secret::Passphrase(b"another"),
            Secret::Identities(&one),
            Secret::Identities(&other),
        ] {
            assert!(opened(&file, secret).unwrap() == plaintext, "{suite} {secret:?}");
        }
        let wrong_key = vec![1; suite.key_bytes()];
        for secret in [Secret::Key(&wrong_key), Secret::Passphrase(b"wrong"), Secret::Identities(&foreign)] {
            assert!(matches!(opened(&file, secret), Err(Error::WrongKey)), "{suite} {secret:?}");
        }
        assert!(matches!(opened(&file, Secret::Key(b"short")), Err(Error::KeyLength { .. })));
    }
}

#[test]
fn the_error_names_the_kind_of_secret_that_opens_a_file() {
    let (suite, key, own) = (Suite::Aes256Gcm, [7; 32], [identity()]);
    let file = |lock| written(suite, &[lock], b"data");
    let by_key = file(Lock::Key(&key));
    let by_passphrase = file(Lock::Passphrase(PASSPHRASE, cheap(1)));
    let by_identity = file(Lock::Recipient(own[0].recipient()));
    let secrets = [Secret::Key(&key), Secret::Passphrase(PASSPHRASE), Secret::Identities(&own)];
    for (kind, file) in [by_key, by_passphrase, by_identity].iter().enumerate() {
        for (given, secret) in secrets.into_iter().enumerate() {
            match (opened(file, secret), kind) {
                (Ok(plaintext), _) => assert!(kind == given && plaintext == b"data"),
                (Err(Error::WantsKey), 0) => {}
                (Err(Error::WantsPassphrase), 1) => {}
                (Err(Error::WantsIdentity), 2) => {}
                (Err(error), _) => panic!("{kind} {given}: {error:?}"),
            }
        }
    }
    let one_key = Header::of_key(suite);
    assert!(matches!(one_key.input_key(secrets[2], &Limits::default()), Err(Error::WantsKey)));
}

#[test]
fn no_two_files_and_no_two_slots_share_random_values() {
    let lock = Lock::Recipient(identity().recipient());
    let suite = Suite::Aes256Gcm;
    let [a, b] = [0, 1].map(|_| written(suite, &[lock, lock], b"the same"));
    let header_bytes = Header::read(&mut &a[..]).unwrap().to_bytes().len();
    let all = [slots(&a[..header_bytes], suite), slots(&b[..header_bytes], suite)].concat();
    for part in [2..34, 34..58, 90..138] {
        let mut values: Vec<_> = all.iter().map(|slot| &slot[part.clone()]).collect();
        values.sort_unstable();
        values.dedup();
        assert_eq!(values.len(), 4);
    }
    assert_ne!(a[header_bytes..][..24], b[header_bytes..][..24]);
}

/// A file with a slot of each kind, whose secret the test has for the second one.
fn with_each_kind(suite: Suite, key: &[u8]) -> Vec<u8> {
    let locks =
        [Lock::Passphrase(b"unknown", cheap(1)), Lock::Key(key), Lock::Recipient(identity().recipient())];
    written(suite, &locks, b"some data")
}

#[test]
fn every_flipped_bit_is_found() {
    for suite in Suite::ALL {
        let key = painted(suite.key_bytes(), 7);
        let file = with_each_kind(suite, &key);
        let header_bytes = Header::read(&mut &file[..]).unwrap().to_bytes().len();
        let first_bytes = slots(&file[..header_bytes], suite)[0].len();
        let own =
            BEFORE + first_bytes..BEFORE + first_bytes + 2 + PREFIX_BYTES + suite.key_bytes() + TAG_BYTES;
        // For one suite all bits, for the others one of each byte.
        let flipped = |bit: &usize| suite == Suite::Aes256Gcm || bit % 8 == bit / 8 % 8;
        for bit in (0..8 * file.len()).filter(flipped) {
            let mut file = file.clone();
            let byte = bit / 8;
            file[byte] ^= 1 << (bit % 8);
            let error = opened(&file, Secret::Key(&key)).unwrap_err();
            let right = match byte {
                0..10 => matches!(error, Error::NotEncrypted),
                // A single bit makes no version 1 of 2.
                10 => matches!(error, Error::Version(_)),
                11 => matches!(error, Error::BadHeader(_) | Error::WrongKey | Error::KeyLength { .. }),
                12 | 13 => {
                    matches!(error, Error::BadHeader(_) | Error::TruncatedHeader | Error::ForgedHeader)
                }
                _ if own.contains(&byte) => matches!(
                    error,
                    Error::WrongKey | Error::BadHeader(_) | Error::ForgedHeader | Error::WantsPassphrase
                ),
                _ if byte < header_bytes + PREFIX_BYTES => {
                    matches!(error, Error::ForgedHeader | Error::BadHeader(_))
                }
                _ => matches!(error, Error::Damaged(_)),
            };
            assert!(right, "{suite} bit {bit}: {error:?}");
        }
    }
}

#[test]
fn a_header_cut_off_anywhere_is_refused() {
    let file = with_each_kind(Suite::Aes256Gcm, &[7; 32]);
    let header_bytes = Header::read(&mut &file[..]).unwrap().to_bytes().len();
    for len in 0..header_bytes + PREFIX_BYTES {
        let error = opened(&file[..len], Secret::Key(&[7; 32])).unwrap_err();
        assert!(matches!(error, Error::TruncatedHeader), "{len}: {error:?}");
    }
}

#[test]
fn slots_moved_repeated_dropped_or_foreign_are_found() {
    for suite in Suite::ALL {
        let key = painted(suite.key_bytes(), 7);
        let (file, other) = (with_each_kind(suite, &key), with_each_kind(suite, &key));
        let parts = |file: &[u8]| slots(&Header::read(&mut &file[..]).unwrap().to_bytes(), suite);
        let (own, foreign) = (parts(&file), parts(&other));
        assert!(opened(&replaced(&file, &own), Secret::Key(&key)).is_ok());
        let orders: [&[usize]; 8] =
            [&[1, 0, 2], &[0, 2, 1], &[2, 1, 0], &[0, 1], &[1, 2], &[1], &[0, 1, 1, 2], &[0, 1, 2, 2]];
        for order in orders {
            let arranged: Vec<_> = order.iter().map(|&number| own[number].clone()).collect();
            let opened = opened(&replaced(&file, &arranged), Secret::Key(&key));
            assert!(matches!(opened, Err(Error::ForgedHeader)), "{order:?}: {opened:?}");
        }
        for number in 0..3 {
            let mut mixed = own.clone();
            mixed[number].clone_from(&foreign[number]);
            let mixed_file = replaced(&file, &mixed);
            let error = opened(&mixed_file, Secret::Key(&key)).unwrap_err();
            assert!(matches!(error, Error::ForgedHeader), "{number}: {error:?}");
            mixed = [own.clone(), vec![foreign[number].clone()]].concat();
            let error = opened(&replaced(&file, &mixed), Secret::Key(&key)).unwrap_err();
            assert!(matches!(error, Error::ForgedHeader), "{number}: {error:?}");
        }
        // The whole header of another file, for which the key is right.
        let moved =
            [&Header::read(&mut &other[..]).unwrap().to_bytes()[..], &file[file.len() - 100..]].concat();
        assert!(matches!(opened(&moved, Secret::Key(&key)), Err(Error::ForgedHeader)));
    }
}

/// A slot of version 2 cannot be passed off as a file of version 1, though both have the same key.
#[test]
fn a_slot_is_no_payload_of_version_1() {
    let (suite, key) = (Suite::Aes256Gcm, [7; 32]);
    let file = written(suite, &[Lock::Key(&key)], b"data");
    let slot = &file[BEFORE + 2..][..PREFIX_BYTES + 32 + TAG_BYTES];
    let bare = Decryptor::bare(slot, suite, &key, b"", &options());
    assert!(matches!(bare, Err(Error::WrongKey)));
    let file = [&Header::of_key(suite).to_bytes()[..], slot].concat();
    assert!(matches!(opened(&file, Secret::Key(&key)), Err(Error::WrongKey)));
}

#[track_caller]
fn bad(header: &[u8]) {
    let error = Header::read(&mut &header[..]).unwrap_err();
    assert!(matches!(error, Error::BadHeader(_)), "{error:?}");
    assert!(!error.to_string().contains(char::is_control), "{error}");
}

#[test]
fn hostile_counts_and_lengths_are_refused() {
    let suite = Suite::Aes256Gcm;
    let sealed_bytes = PREFIX_BYTES + 32 + TAG_BYTES;
    let beginning = Header::locked(suite, &[Lock::Key(&[7; 32])]).unwrap().0.to_bytes();
    let slot = |kind: u8, parameters: &[u8], sealed: usize| {
        [&[kind, parameters.len() as u8], parameters, &vec![9; sealed]].concat()
    };
    let header = |slots: &[Vec<u8>]| with_slots(&beginning, slots, &[0; MAC]);
    let key = slot(1, b"", sealed_bytes);
    assert!(Header::read(&mut &header(&vec![key.clone(); SLOTS_MAX])[..]).is_ok());
    bad(&header(&vec![key.clone(); SLOTS_MAX + 1]));
    bad(&header(&[]));
    for bytes in [HEADER_BYTES_MAX - BEFORE - MAC + 1, 0xffff] {
        bad(&[&beginning[..12], &(bytes as u16).to_be_bytes(), &vec![0; bytes + MAC]].concat());
    }
    for kind in [0, 4, 255] {
        bad(&header(&[slot(kind, b"", sealed_bytes)]));
    }
    bad(&header(&[slot(1, b"x", sealed_bytes)]));
    for share in [0, 1, 31, 33, 255] {
        bad(&header(&[slot(3, &vec![1; share], sealed_bytes)]));
    }
    for phc in [&b""[..], b"$argon2id$v=19$m=064,t=1,p=2$CQkJCQkJCQkJCQkJCQkJCQ", &[0xff; 255]] {
        bad(&header(&[slot(2, phc, sealed_bytes)]));
    }
    for sealed in [0, 1, sealed_bytes - 1, sealed_bytes + 1] {
        bad(&header(&[slot(1, b"", sealed)]));
        bad(&header(&[key.clone(), slot(1, b"", sealed)]));
    }
    bad(&header(&[key, vec![2]]));
    // The longest header that can be written is the longest that is read.
    let most = Argon2id { memory_kib: u32::MAX, passes: u32::MAX, lanes: u32::MAX, salt: [9; 16] };
    let phc = Header::of_passphrase(suite, most).to_bytes()[13..].to_vec();
    let (passphrase, recipient) = (slot(2, &phc, sealed_bytes), slot(3, &[1; 32], sealed_bytes));
    bad(&header(&vec![passphrase.clone(); PASSPHRASES_MAX + 1]));
    let others = vec![recipient; SLOTS_MAX - PASSPHRASES_MAX];
    let longest = header(&[vec![passphrase; PASSPHRASES_MAX], others].concat());
    assert_eq!(longest.len(), HEADER_BYTES_MAX);
    let read = Header::read(&mut &longest[..]).unwrap();
    assert_eq!(read.to_bytes(), longest);
    let refused = read.input_key(Secret::Passphrase(b"x"), &Limits::default());
    assert!(matches!(refused, Err(Error::TooDemanding { .. })));
}

/// All passphrases of a file together cost no more than one may cost.
#[test]
fn argon2_is_limited_in_total() {
    let suite = Suite::Aes256Gcm;
    let limits = Limits { memory_kib: 64, passes: 1, lanes: 1, work_kib: 3 * 64 };
    let locks: Vec<_> = (0..4).map(|salt| Lock::Passphrase(PASSPHRASE, cheap(salt))).collect();
    for count in 1..=4 {
        let (header, _) = Header::locked(suite, &locks[..count]).unwrap();
        let refused = header.input_key(Secret::Passphrase(b"wrong"), &limits).unwrap_err();
        match count {
            1..=3 => assert!(matches!(refused, Error::WrongKey), "{refused:?}"),
            _ => assert!(matches!(refused, Error::TooDemanding { .. }), "{refused:?}"),
        }
        // Also if the first slot would open: the answer does not depend on the passphrase.
        let first = header.input_key(Secret::Passphrase(PASSPHRASE), &limits);
        assert_eq!(first.is_ok(), count <= 3);
        // Other secrets are free.
        assert!(matches!(header.input_key(Secret::Key(&[1; 32]), &limits), Err(Error::WantsPassphrase)));
    }
    // A file that the default limits would refuse is not written.
    let dear = Argon2id { memory_kib: 1 << 20, passes: 3, lanes: 4, salt: [1; 16] };
    let (header, key) = Header::locked(suite, &locks[..1]).unwrap();
    let refused = header.rekeyed(&key, &[0], &[Lock::Passphrase(b"a", dear), Lock::Passphrase(b"b", dear)]);
    assert!(matches!(refused, Err(Error::ManyCosts)));
}

/// Points of low order in any encoding (RFC 7748 §6.1), and one that is no reduced number.
const LOW_ORDER: [&str; 8] = [
    "0000000000000000000000000000000000000000000000000000000000000000",
    "0100000000000000000000000000000000000000000000000000000000000000",
    "e0eb7a7c3b41b8ae1656e3faf19fc46ada098deb9c32b1fd866205165f49b800",
    "5f9c95bca3508c24b1d0b1559c83ef5b04445cc4581c8e86d8224eddd09f1157",
    "ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
    "edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
    "eeffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
    "0900000000000000000000000000000000000000000000000000000000000080",
];

/// Bech32 (BIP 173) of 32 bytes, by arithmetic on one large number.
fn bech32(prefix: &str, key: &[u8]) -> String {
    let alphabet = b"qpzry9x8gf2tvdw0s3jn54khce6mua7l";
    let bits: Vec<u8> = key.iter().flat_map(|byte| (0..8).rev().map(move |i| byte >> i & 1)).collect();
    let symbol = |bits: &[u8]| (0..5).fold(0, |value, i| value << 1 | bits.get(i).copied().unwrap_or(0));
    let mut symbols: Vec<u8> = bits.chunks(5).map(symbol).collect();
    let expanded: Vec<u8> =
        prefix.bytes().map(|c| c >> 5).chain([0]).chain(prefix.bytes().map(|c| c & 31)).collect();
    let sum = [&expanded[..], &symbols, &[0; 6]].concat().into_iter().fold(1_u32, |sum, value| {
        let terms = [0x3b6a_57b2, 0x2650_8e6d, 0x1ea1_19fa, 0x3d42_33dd, 0x2a14_62b3];
        let next = (sum & 0x01ff_ffff) << 5 ^ u32::from(value);
        (0..5).filter(|i| sum >> (25 + i) & 1 == 1).fold(next, |next, i| next ^ terms[i])
    }) ^ 1;
    symbols.extend((0..6).rev().map(|i| (sum >> (5 * i) & 31) as u8));
    let letters: String = symbols.iter().map(|&symbol| char::from(alphabet[usize::from(symbol)])).collect();
    format!("{prefix}1{letters}")
}

#[test]
fn points_of_low_order_are_refused() {
    let own = [identity()];
    let suite = Suite::Aes256Gcm;
    let (header, _) = Header::locked(suite, &[Lock::Recipient(own[0].recipient())]).unwrap();
    let bytes = header.to_bytes();
    for point in LOW_ORDER {
        let mut forged = bytes.clone();
        forged[BEFORE + 2..][..32].copy_from_slice(&hex(point));
        let read = Header::read(&mut &forged[..]).unwrap();
        let refused = read.input_key(Secret::Identities(&own), &Limits::default()).unwrap_err();
        // The last one is a good point in a bad encoding, and gives another key.
        let is_low = point != LOW_ORDER[7];
        assert_eq!(matches!(refused, Error::BadHeader(_)), is_low, "{point}: {refused:?}");
        let refused = bech32("age", &hex(point)).parse::<Recipient>().unwrap_err();
        assert!(matches!(refused, Error::BadRecipient { .. }), "{refused:?}");
        // With the unused highest bit.
        let mut high = hex(point);
        high[31] |= 0x80;
        assert!(bech32("age", &high).parse::<Recipient>().is_err());
    }
}

/// `age-keygen` 1.1 made neither of them, but prints this recipient for this identity.
#[test]
fn keys_are_written_as_age_writes_them() {
    let identity = "AGE-SECRET-KEY-1GPQ5YS6YG4RYWJZFFF95CN2WFAG9Z5JN2324V46CT9D9KHZATE0S5FAZ64";
    let recipient = "age10xnrrmk7r0uunrcjqvkdatwsu7s8jwv0c7rt3rxggmkgntu955dq25yyzj";
    let own: Identity = identity.parse().unwrap();
    assert_eq!((own.to_text().as_str(), own.recipient().to_string().as_str()), (identity, recipient));
    assert_eq!(recipient.parse::<Recipient>().unwrap(), own.recipient());
    for seed in 0..50 {
        let own = Identity::generate().unwrap();
        assert_eq!(own.to_text().parse::<Identity>().unwrap().recipient(), own.recipient(), "{seed}");
        let text = own.recipient().to_string();
        assert_eq!(text.parse::<Recipient>().unwrap(), own.recipient());
        let key = text.parse::<Recipient>().unwrap();
        assert_eq!(format!("{key}"), text);
        let mut secret = painted(32, seed);
        secret[31] &= 0x7f;
        let text = bech32("age-secret-key-", &secret).to_ascii_uppercase();
        assert_eq!(text.parse::<Identity>().unwrap().to_text().as_str(), text);
    }
    for at in 0..identity.len() {
        for other in ["Q", "q", "1", "B", "ü", "", "QQ", "\0"] {
            let changed = [&identity[..at], other, &identity[at + 1..]].concat();
            if changed != identity {
                let refused = changed.parse::<Identity>().unwrap_err();
                assert!(matches!(refused, Error::BadIdentity) && !refused.to_string().contains("1GPQ"));
            }
        }
    }
    for at in 0..recipient.len() {
        for other in ["q", "Q", "b", "\u{1b}", "", "pp"] {
            let changed = [&recipient[..at], other, &recipient[at + 1..]].concat();
            if changed != recipient {
                let refused = changed.parse::<Recipient>().unwrap_err().to_string();
                assert!(!refused.contains(char::is_control), "{refused}");
            }
        }
    }
    assert!(recipient.to_ascii_uppercase().parse::<Recipient>().is_err());
    assert!(identity.to_ascii_lowercase().parse::<Identity>().is_err());
    // Four bits after the key are zero.
    let padded = recipient.replace("55dq25yyzj", "55dp25yyzj");
    assert!(padded.parse::<Recipient>().is_err());
    assert!(!format!("{own:?}").contains("1GPQ"));
}

#[test]
fn slots_are_replaced_while_the_payload_stays() {
    let (suite, own) = (Suite::Serpent256Eax, [identity()]);
    let locks = [Lock::Passphrase(PASSPHRASE, cheap(1)), Lock::Key(&[7; 32])];
    let file = written(suite, &locks, b"some data");
    let header = Header::read(&mut &file[..]).unwrap();
    let payload = &file[header.to_bytes().len()..];
    let (file_key, opened_slots) = header.opened(Secret::Key(&[7; 32]), &Limits::default()).unwrap();
    assert_eq!(opened_slots, [1]);
    let new = [Lock::Passphrase(b"new", cheap(2)), Lock::Recipient(own[0].recipient())];
    let changed = header.rekeyed(&file_key, &[1], &new).unwrap();
    let kinds = |header: &Header| match &header.kdf {
        Kdf::Slots(slots) => slots.kinds().cloned().collect::<Vec<_>>(),
        _ => Vec::new(),
    };
    let [SlotKind::Key, SlotKind::Passphrase(argon2id), SlotKind::X25519 { .. }] = &kinds(&changed)[..]
    else {
        panic!("{changed:?}")
    };
    assert_eq!(*argon2id, cheap(2));
    let rekeyed = [&changed.to_bytes()[..], payload].concat();
    for secret in [Secret::Key(&[7; 32]), Secret::Passphrase(b"new"), Secret::Identities(&own)] {
        assert_eq!(opened(&rekeyed, secret).unwrap(), b"some data");
    }
    assert!(matches!(opened(&rekeyed, Secret::Passphrase(PASSPHRASE)), Err(Error::WrongKey)));
    // The old header still opens the payload: it is the same one.
    assert_eq!(opened(&file, Secret::Passphrase(PASSPHRASE)).unwrap(), b"some data");
    let refused = header.rekeyed(&[0; 32], &[1], &new);
    assert!(matches!(refused, Err(Error::ForgedHeader)));
    assert!(matches!(header.rekeyed(&file_key, &[], &[]), Err(Error::SlotCount { count: 0, .. })));
    assert!(matches!(header.rekeyed(&file_key, &[5], &[]), Err(Error::SlotCount { count: 0, .. })));
    let many = vec![Lock::Key(&[7; 32]); SLOTS_MAX + 1];
    assert!(matches!(Header::locked(suite, &many), Err(Error::SlotCount { count: 65, passphrases: 0 })));
    let many = vec![locks[0]; PASSPHRASES_MAX + 1];
    assert!(matches!(Header::locked(suite, &many), Err(Error::SlotCount { count: 9, passphrases: 9 })));
    let one_key = Header::of_key(suite);
    assert!(matches!(one_key.opened(Secret::Key(&[7; 32]), &Limits::default()), Err(Error::OneKey)));
    assert!(matches!(one_key.rekeyed(&file_key, &[0], &[]), Err(Error::OneKey)));
}

#[test]
fn nothing_secret_is_printed_for_debugging() {
    let lock = Lock::Passphrase(PASSPHRASE, cheap(1));
    assert!(!format!("{lock:?} {:?}", Lock::Key(b"correct horse")).contains("correct"));
    assert_eq!(format!("{:?}", Secret::Identities(&[])), "Identities(secret)");
    let errors = [Error::OneKey, Error::WantsIdentity, Error::ForgedHeader, Error::BadIdentity];
    assert!(errors.iter().all(|error| error.to_string().contains(": ")));
    assert_eq!(io::Error::from(Error::ForgedHeader).kind(), io::ErrorKind::InvalidData);
}
