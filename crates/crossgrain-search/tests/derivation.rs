//! Keys derived on lanes: published vectors, and agreement with the crates `sha2` and `pbkdf2`, in registers
//! of every width.
#![allow(missing_docs, clippy::unwrap_used, reason = "a test")]

use crossgrain::Features;
use crossgrain::engine::arch::CAPS;
use crossgrain_search::{Derivation, Hash, Kdf};
use proptest::prelude::*;

/// Register widths, from the widest that the CPU has to 32 bits.
fn widths() -> Vec<Features> {
    let all = Features::from_environment().unwrap();
    let mut widths: Vec<_> = CAPS.iter().map(|cap| cap.parse::<Features>().unwrap() & all).collect();
    widths.dedup();
    widths
}

fn pbkdf2_with(hash: Hash, salt: &[u8], iterations: u32) -> Kdf {
    Kdf::Pbkdf2 { hash, salt: salt.to_vec(), iterations }
}

fn pbkdf2(salt: &[u8], iterations: u32) -> Kdf {
    pbkdf2_with(Hash::Sha256, salt, iterations)
}

fn derived(features: Features, kdf: &Kdf, words: &[&[u8]], key_bytes: usize) -> Vec<u8> {
    let derivation = Derivation::new(kdf, key_bytes).unwrap();
    let block_bytes = derivation.block_bytes();
    let (mut blocks, mut keys) = (vec![0; block_bytes * words.len()], vec![0; key_bytes * words.len()]);
    for (word, block) in words.iter().zip(blocks.chunks_exact_mut(block_bytes)) {
        assert!(derivation.pad(word, block));
    }
    derivation.on_cpu(features, &blocks, &mut keys);
    keys
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// SHA-256: the one-block example of FIPS 180-4, and the 0-bit and 8-bit messages of NIST's validation
/// programme (SHA256ShortMsg.rsp). The other example of FIPS 180-4 takes two blocks.
#[test]
fn digests_are_those_of_published_vectors() {
    let messages = [
        (&b"abc"[..], "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"),
        (b"", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"),
        (b"\xd3", "28969cdfa74a12c82f3bad960b0b000aca2ac329deea5c2328ebc6f2ba9802c1"),
    ];
    for features in widths() {
        for (message, want) in messages {
            assert_eq!(
                hex(&derived(features, &Kdf::Sha256, &[message; 3], 32)),
                want.repeat(3),
                "{features}"
            );
        }
    }
    let derivation = Derivation::new(&Kdf::Sha256, 32).unwrap();
    assert!(!derivation.pad(b"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq", &mut [0; 64]));
}

/// RFC 7914 §11. The second vector is checked only in its first part, which halves the time.
#[test]
fn pbkdf2_gives_published_keys() {
    let want = "55ac046e56e3089fec1691c22544b605f94185216dde0465e68b9d57c20dacbc\
                49ca9cccf179b645991664b39d77ef317c71b845b1e30bd509112041d3a19783";
    for features in widths() {
        assert_eq!(
            hex(&derived(features, &pbkdf2(b"salt", 1), &[b"passwd".as_slice(); 17], 64)),
            want.repeat(17)
        );
    }
    let want = "4ddcd8f60b98be21830cee5ef22701f9641a4418d04c0414aeff08876b34ab56";
    assert_eq!(hex(&derived(widths()[0], &pbkdf2(b"NaCl", 80_000), &[b"Password".as_slice()], 32)), want);
}

/// A hash, a password, a salt, a number of iterations, and the key.
#[cfg(feature = "hashes")]
type Published<'a> = (Hash, &'a [u8], &'a [u8], u32, &'a str);

/// SHA-1: RFC 6070. SHA-512: the same inputs, computed by Python's hashlib.
#[cfg(feature = "hashes")]
#[test]
fn pbkdf2_with_other_hashes_gives_published_keys() {
    let long = (b"passwordPASSWORDpassword", b"saltSALTsaltSALTsaltSALTsaltSALTsalt");
    let cases: [Published<'_>; 5] = [
        (Hash::Sha1, b"password", b"salt", 1, "0c60c80f961f0e71f3a9b524af6012062fe037a6"),
        (Hash::Sha1, b"password", b"salt", 4096, "4b007901b765489abead49d926f721d065a429c1"),
        (Hash::Sha1, long.0, long.1, 4096, "3d2eec4fe41c849b80c8d83662c0e44a8b291a964cf2f07038"),
        (
            Hash::Sha512,
            b"password",
            b"salt",
            1,
            "867f70cf1ade02cff3752599a3a53dc4af34c7a669815ae5d513554e1c8cf252c02d470a285a0501bad999bfe943c08f\
             050235d7d68b1da55e63f73b60a57fce",
        ),
        (
            Hash::Sha512,
            b"password",
            b"salt",
            4096,
            "d197b1b33db0143e018b12f3d1d1479e6cdebdcc97c5c0f87f6902e072f457b5143f30602641b3d55cd335988cb36b84\
             376060ecd532e039b742a239434af2d5",
        ),
    ];
    for features in widths() {
        for (hash, password, salt, iterations, want) in cases {
            let kdf = pbkdf2_with(hash, salt, iterations);
            assert_eq!(
                hex(&derived(features, &kdf, &[password; 3], want.len() / 2)),
                want.repeat(3),
                "{features}"
            );
        }
    }
}

#[test]
fn what_lanes_do_not_derive_is_left_out() {
    let kdfs = [
        (Kdf::Exact, 16),
        (Kdf::Sha256, 0),
        (pbkdf2(b"salt", 1), 0),
        (Kdf::Sha256, 33),
        (pbkdf2(b"salt", 0), 32),
        #[cfg(feature = "hashes")]
        (pbkdf2_with(Hash::Whirlpool, b"salt", 1), 32),
    ];
    assert!(kdfs.iter().all(|(kdf, key_bytes)| Derivation::new(kdf, *key_bytes).is_none()));
    assert_eq!(Derivation::new(&pbkdf2(&[7; 243], 1), 32).unwrap().parts()[0].len(), 4);
    let is_for_devices = |kdf| Derivation::new(&kdf, 32).unwrap().is_for_devices();
    assert!(is_for_devices(pbkdf2(&[7; 243], 1)) && !is_for_devices(pbkdf2(&[7; 244], 1)));
    assert!(!is_for_devices(pbkdf2_with(Hash::Sha512, b"salt", 1)));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    #[test]
    fn lanes_and_crates_agree(
        words in proptest::collection::vec(proptest::collection::vec(any::<u8>(), 0..150), 1..40),
        salt in proptest::collection::vec(any::<u8>(), 0..=243),
        iterations in 1..20_u32,
        key_bytes in 1..=150_usize,
    ) {
        let short: Vec<_> = words.iter().map(|word| &word[..word.len().min(55)]).collect();
        let long: Vec<_> = words.iter().map(|word| &word[..]).collect();
        let cases = [
            (pbkdf2(&salt, iterations), &long, key_bytes),
            (pbkdf2_with(Hash::Sha512, &salt, iterations), &long, key_bytes),
            #[cfg(feature = "hashes")]
            (pbkdf2_with(Hash::Sha1, &salt, iterations), &long, key_bytes),
            (Kdf::Sha256, &short, key_bytes.min(32)),
        ];
        for (kdf, words, key_bytes) in cases {
            let mut want = vec![0; key_bytes * words.len()];
            for (word, key) in words.iter().zip(want.chunks_exact_mut(key_bytes)) {
                kdf.derive(word, key).unwrap();
            }
            for features in widths() {
                prop_assert_eq!(&derived(features, &kdf, words, key_bytes), &want, "{}", features);
            }
        }
    }
}
