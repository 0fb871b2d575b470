//! A mode gives the same results after `rekey` as a new mode under that key.

#![allow(missing_docs, clippy::unwrap_used, reason = "a test")]

mod common;

use std::sync::Arc;

use common::{CAPS, capped, here, painted};
use crossgrain::engine::variant::table;
use crossgrain::mode::{Aead as _, Ctr, Ecb, Gcm, Mode, Options};
use crossgrain::plan::compose::Cost;
use crossgrain::plan::{Plan, Plans};
use crossgrain::{Cipher, Direction, Error, Key};

fn key(cipher: Cipher, seed: u64) -> Key {
    Key::new(cipher, &painted(cipher.key_bytes(), seed)).unwrap()
}

#[test]
fn a_mode_with_another_key_is_as_a_new_one() {
    for cap in CAPS {
        let options = capped(cap, 1);
        for cipher in Cipher::ALL {
            let [old, new] = [1, 2].map(|seed| key(cipher, seed));
            for direction in Direction::ALL {
                let mut ecb = Ecb::with_options(&old, direction, &options).unwrap();
                let (mut ours, mut theirs) = (painted(4096, 3), painted(4096, 3));
                ecb.apply(&mut ours[..2048]).unwrap();
                ours.copy_from_slice(&theirs);
                ecb.rekey(&new).unwrap();
                ecb.apply(&mut ours[..]).unwrap();
                Ecb::with_options(&new, direction, &options).unwrap().apply(&mut theirs[..]).unwrap();
                assert_eq!(ours, theirs, "ecb, {cipher}, {cap}");
            }
            let mut ctr = Ctr::with_options(&old, &[1; 16], &options).unwrap();
            let (mut ours, mut theirs) = (painted(70_001, 4), painted(70_001, 4));
            ctr.apply(&mut painted(70_000, 5)[..]);
            ctr.rekey(&new, &[2; 16]).unwrap();
            assert_eq!(ctr.position_bytes(), 0);
            ctr.apply(&mut ours[..]);
            Ctr::with_options(&new, &[2; 16], &options).unwrap().apply(&mut theirs[..]);
            assert!(ours == theirs, "ctr, {cipher}, {cap}");
        }
    }
}

#[test]
fn gcm_with_another_key_is_as_a_new_one() {
    for cap in CAPS {
        let options = capped(cap, 1);
        for cipher in [Cipher::Aes128, Cipher::Aes192, Cipher::Aes256, Cipher::Serpent256] {
            let [old, new] = [1, 2].map(|seed| key(cipher, seed));
            let mut gcm = Gcm::with_options(&old, 16, &options).unwrap();
            // Tables of long messages, and the program of other nonces, belong to the old key.
            gcm.seal(&[1; 12], &[], &mut painted(9000, 6)[..]).unwrap();
            gcm.seal(&[1; 13], &[], &mut painted(90, 6)[..]).unwrap();
            gcm.rekey(&new).unwrap();
            let fresh = Gcm::with_options(&new, 16, &options).unwrap();
            for (len_bytes, nonce) in
                [(16, 12), (64, 12), (65, 12), (500, 12), (9000, 12), (100, 13), (64, 12)]
            {
                let (mut ours, mut theirs) = (painted(len_bytes, 7), painted(len_bytes, 7));
                let nonce = painted(nonce, 8);
                let tags = [(&gcm, &mut ours), (&fresh, &mut theirs)]
                    .map(|(gcm, data)| gcm.seal(&nonce, &[5; 30], &mut data[..]).unwrap());
                assert_eq!(tags[0], tags[1], "{cipher}, {cap}, {len_bytes} bytes");
                assert_eq!(ours, theirs, "{cipher}, {cap}, {len_bytes} bytes");
            }
        }
    }
}

/// A key of another cipher is refused, and the mode keeps its key.
#[test]
fn another_cipher_is_refused_and_changes_nothing() {
    let (own, other) = (key(Cipher::Aes128, 1), key(Cipher::Aes256, 2));
    let refused = Error::OtherCipher { cipher: Cipher::Aes128, given: Cipher::Aes256 };
    let mut gcm = Gcm::new(&own).unwrap();
    assert_eq!(gcm.rekey(&other), Err(refused.clone()));
    let tag = gcm.seal(&[1; 12], &[], &mut [7; 40][..]).unwrap();
    assert_eq!(tag, Gcm::new(&own).unwrap().seal(&[1; 12], &[], &mut [7; 40][..]).unwrap());
    let mut ctr = Ctr::new(&own, &[0; 16]).unwrap();
    ctr.seek(5);
    assert_eq!(ctr.rekey(&other, &[1; 16]), Err(refused.clone()));
    assert_eq!(ctr.position_bytes(), 5);
    assert_eq!(Ecb::new(&own, Direction::Encrypt).unwrap().rekey(&other), Err(refused));
}

/// A plan on tiles for bulk, with a fused kernel for short messages, is bound again. The kernel needs its tables.
#[test]
fn a_fused_kernel_is_prepared_again() {
    let kernels = table().iter().filter(|variant| variant.name.starts_with("aes-gcm/blocks/"));
    let Some(kernel) = kernels.filter_map(here).map(|variant| &*variant.name).next() else { return };
    let job = Mode::Gcm.job(Cipher::Aes128, Direction::Encrypt);
    let plan = |name: &str, fixed_ns, per_byte_ns| {
        let options = Options { variants: vec![name.to_owned()], ..Options::default() };
        let plan = options.plans_of(job).unwrap().swap_remove(0);
        Plan { cost: Cost { fixed_ns, per_byte_ns }, ..plan }
    };
    let plans = vec![plan("aes-ctr-cached/bitsliced64/portable", 1e4, 1.0), plan(kernel, 1.0, 2.0)];
    let plans = vec![Arc::new(Plans::new(job, plans).unwrap())];
    let options = Options { plans, threads: 1, ..Options::default() };
    let [first, second] = [1, 2].map(|seed| key(Cipher::Aes128, seed));
    let mut gcm = Gcm::with_options(&first, 16, &options).unwrap();
    for next in [&second, &first] {
        gcm.rekey(next).unwrap();
        for len_bytes in [0, 20, 100, 5000, 20_000] {
            let (mut got, mut want) = (vec![7; len_bytes], vec![7; len_bytes]);
            let tag = gcm.seal(&[1; 12], b"x", &mut got).unwrap();
            assert_eq!(tag, Gcm::new(next).unwrap().seal(&[1; 12], b"x", &mut want).unwrap(), "{len_bytes}");
            assert!(got == want, "{len_bytes}");
        }
    }
}
