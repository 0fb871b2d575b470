//! A mode gives the same results after `rekey` as a new mode under that key.

#![allow(missing_docs, clippy::unwrap_used, reason = "a test")]

mod common;

use std::sync::Arc;

use common::{CAPS, capped, here, painted};
use crossgrain::engine::variant::table;
use crossgrain::mode::{
    Aead, AeadMessage, Cbc, Ccm, Cfb, Cfb8, Chain, Cmac, Ctr, Eax, Ecb, Gcm, GcmSiv, Mode, Ocb, Ofb, Options,
    Siv, SivKey, Tag, Xts, XtsKey,
};
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

/// Runs `work` on a mode with the old key, which then gets the new one, and on a mode made for the new one.
fn compare<M, T: PartialEq>(
    label: &str,
    [mut rekeyed, fresh]: [M; 2],
    rekey: impl FnOnce(&mut M) -> Result<(), Error>,
    mut work: impl FnMut(&M) -> T,
) {
    let old = work(&rekeyed);
    rekey(&mut rekeyed).unwrap();
    let want = work(&fresh);
    assert!(old != want, "{label}: the keys give the same");
    assert!(work(&rekeyed) == want, "{label}");
}

/// Ciphertexts and tags of messages of all kinds.
fn sealed(mode: &impl Aead) -> Vec<(Tag, Vec<u8>)> {
    let sealed = |len_bytes| {
        let mut data = painted(len_bytes, 9);
        let tag = mode.seal(b"twelve bytes", b"header", &mut data[..]).unwrap();
        let mut opened = data.clone();
        mode.open(b"twelve bytes", b"header", &tag, &mut opened[..]).unwrap();
        assert!(opened == painted(len_bytes, 9));
        (tag, data)
    };
    let mut all: Vec<_> = [0, 16, 100, 256, 1000, 70_000].map(sealed).into();
    let mut data = vec![painted(40, 3); 9];
    let mut messages: Vec<_> =
        data.iter_mut().map(|data| AeadMessage::new(b"twelve bytes", &[], &mut data[..])).collect();
    mode.seal_many(&mut messages).unwrap();
    let tags: Vec<_> = messages.into_iter().map(|message| message.tag).collect();
    all.extend(tags.into_iter().zip(data));
    all
}

#[test]
fn every_other_mode_with_another_key_is_as_a_new_one() {
    for cap in CAPS {
        let options = &capped(cap, 1);
        for cipher in [Cipher::Aes128, Cipher::Aes192, Cipher::Aes256, Cipher::Serpent256] {
            let (label, keys) = (&*format!("{cipher}, {cap}"), [1, 2].map(|seed| key(cipher, seed)));
            let new = &keys[1];
            macro_rules! sealing {
                ($type:ident $(, $tag:literal)?) => {
                    let modes = keys.each_ref().map(|key| $type::with_options(key, $($tag,)? options).unwrap());
                    compare(&format!("{}, {label}", stringify!($type)), modes, |mode| mode.rekey(new), sealed);
                };
            }
            sealing!(Ocb, 16);
            sealing!(Ccm, 16);
            sealing!(Eax, 16);
            if Mode::GcmSiv.admits(cipher).is_ok() {
                sealing!(GcmSiv);
            }
            let doubled = [1, 2].map(|seed| painted(2 * cipher.key_bytes(), seed));
            let siv = doubled.each_ref().map(|bytes| SivKey::new(cipher, bytes).unwrap());
            let modes = siv.each_ref().map(|key| Siv::with_options(key, options).unwrap());
            compare(&format!("Siv, {label}"), modes, |mode| mode.rekey(&siv[1]), sealed);
            let cmacs = keys.each_ref().map(|key| Cmac::with_options(key, options).unwrap());
            let tags = |cmac: &Cmac| [0, 16, 100, 4000].map(|len_bytes| cmac.tag(&painted(len_bytes, 4)));
            compare(&format!("Cmac, {label}"), cmacs, |cmac| cmac.rekey(new), tags);
            for direction in Direction::ALL {
                chained_and_sectors(&format!("{direction:?}, {label}"), direction, cipher, options);
            }
        }
    }
}

fn chained_and_sectors(label: &str, direction: Direction, cipher: Cipher, options: &Options) {
    let keys = [1, 2].map(|seed| key(cipher, seed));
    macro_rules! chained {
        ($type:ident) => {
            let modes = keys.each_ref().map(|key| $type::with_options(key, direction, options).unwrap());
            let work = |mode: &$type| {
                let mut data = painted(4096, 5);
                mode.apply(&mut Chain::from([6; 16]), &mut data[..]).unwrap();
                data
            };
            compare(&format!("{}, {label}", stringify!($type)), modes, |mode| mode.rekey(&keys[1]), work);
        };
    }
    chained!(Cbc);
    chained!(Cfb);
    chained!(Ofb);
    let modes = keys.each_ref().map(|key| Cfb8::with_options(key, direction, options).unwrap());
    let work = |cfb: &Cfb8| {
        let mut data = painted(700, 5);
        cfb.apply(&mut Chain::from([6; 16]), &mut data[..]);
        data
    };
    compare(&format!("Cfb8, {label}"), modes, |cfb| cfb.rekey(&keys[1]), work);
    let keys = [1, 2].map(|seed| XtsKey::new(cipher, &painted(2 * cipher.key_bytes(), seed)).unwrap());
    let modes = keys.each_ref().map(|key| Xts::with_options(key, direction, 512, options).unwrap());
    let work = |xts: &Xts| {
        let mut data = painted(5000, 5);
        xts.apply(7, &mut data[..]).unwrap();
        data
    };
    compare(&format!("Xts, {label}"), modes, |xts| xts.rekey(&keys[1]), work);
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
    assert_eq!(Ecb::new(&own, Direction::Encrypt).unwrap().rekey(&other), Err(refused.clone()));
    let mut eax = Eax::new(&own).unwrap();
    let before = sealed(&eax);
    assert_eq!(eax.rekey(&other), Err(refused));
    assert!(sealed(&eax) == before);
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
