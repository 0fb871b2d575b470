//! Payloads whose chunks another implementation computes, and keys in files.
#![allow(missing_docs, clippy::unwrap_used, reason = "a test")]

use crossgrain::mode::{AeadMessage, Options};
use crossgrain_container::{
    CHUNK_BYTES, Error, Payload, SEALED_CHUNK_BYTES, Suite, TAG_BYTES, decode_hex, key_from_file,
};

const CONTEXT: &[u8] = b"context";

fn input_key(suite: Suite) -> Vec<u8> {
    (0..suite.key_bytes()).map(|at| at as u8).collect()
}

/// A payload for sealing with the key of its chunks.
fn fresh(suite: Suite) -> (Payload, Vec<u8>) {
    let made = Payload::fresh_with_key(suite, &input_key(suite), CONTEXT, &Options::default());
    let (payload, key) = made.unwrap();
    (payload, key.to_vec())
}

/// Seals by the mode alone, as another implementation of the AEAD does.
fn sealed_elsewhere(suite: Suite, key: &[u8], nonce: &[u8], plaintext: &[u8]) -> Vec<u8> {
    let aead = suite.mode().aead(suite.cipher(), key, TAG_BYTES, &Options::default()).unwrap();
    let mut sealed = plaintext.to_vec();
    let mut message = [AeadMessage::new(nonce, &[], &mut sealed[..])];
    aead.seal_many(&mut message).unwrap();
    let tag = message[0].tag.to_vec();
    [sealed, tag].concat()
}

#[test]
fn chunks_of_another_implementation_open() {
    for suite in Suite::ALL {
        let (payload, key) = fresh(suite);
        let nonces = payload.nonces_to_seal(0, 2).unwrap();
        let plaintext: Vec<u8> = (0..CHUNK_BYTES + 100).map(|at| (at * at / 5) as u8).collect();
        let each = nonces.len() / 2;
        let chunks = nonces.chunks(each).zip(plaintext.chunks(CHUNK_BYTES));
        let sealed: Vec<_> =
            chunks.flat_map(|(nonce, plain)| sealed_elsewhere(suite, &key, nonce, plain)).collect();
        let (opening, same_key) = Payload::committed_with_key(
            suite,
            &input_key(suite),
            payload.prefix(),
            CONTEXT,
            &Options::default(),
        )
        .unwrap();
        assert_eq!((&same_key[..], opening.nonces_to_open(0, 2).unwrap()), (&key[..], nonces));
        let mut opened = vec![0; sealed.len()];
        let (len_bytes, done) = opening.open(0, true, &sealed, &mut opened);
        done.unwrap();
        assert_eq!(opened[..len_bytes], plaintext, "{suite}");
    }
}

#[test]
fn a_nonce_is_given_once_for_sealing() {
    let suite = Suite::Aes256Gcm;
    let (payload, _) = fresh(suite);
    payload.nonces_to_seal(4, 4).unwrap();
    assert!(matches!(payload.nonces_to_seal(7, 2), Err(Error::SealedChunk { chunk: 7 })));
    let mut sealed = vec![0; SEALED_CHUNK_BYTES];
    let again = payload.seal(5, false, &[0; CHUNK_BYTES], &mut sealed);
    assert!(matches!(again, Err(Error::SealedChunk { chunk: 5 })));
    assert!(matches!(payload.nonces_to_seal(u64::MAX, 2), Err(Error::TooLong)));
    let opening =
        Payload::committed(suite, &input_key(suite), payload.prefix(), CONTEXT, &Options::default()).unwrap();
    assert!(matches!(opening.nonces_to_seal(0, 1), Err(Error::UsedSalt)));
}

#[test]
fn a_wrong_key_gives_no_key_of_chunks() {
    let suite = Suite::Aes256Gcm;
    let (payload, _) = fresh(suite);
    let prefix = payload.prefix();
    let refused = Payload::committed_with_key(suite, &[9; 32], prefix, CONTEXT, &Options::default());
    assert!(matches!(refused, Err(Error::WrongKey)));
}

#[test]
fn keys_in_files_are_hex_or_bytes() {
    let hex = b"000102030405060708090a0B0C0d0e0f \n";
    let key: Vec<u8> = (0..16).collect();
    assert_eq!(*key_from_file("aes-128", 16, hex).unwrap(), key);
    assert_eq!(*key_from_file("aes-128", 16, &[0x80; 16]).unwrap(), [0x80; 16]);
    let refused = |content: &[u8]| key_from_file("aes-256", 32, content).unwrap_err();
    assert!(refused(hex).contains("it has 32 hex digits, give 32 bytes or 64 hex digits"));
    // 32 bytes that are hex digits are a key of another cipher.
    assert!(refused(&hex[..32]).contains("32 hex digits"));
    assert!(refused(b"").contains("it has 0 bytes"));
    assert!(refused(&[b'a'; 1024]).contains("1024 bytes or more"));
    assert_eq!(decode_hex(b"0g"), None);
}
