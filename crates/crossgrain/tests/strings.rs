//! Modes that take several strings of associated data: SIV authenticates a list of them, other modes take one.
#![allow(missing_docs, clippy::unwrap_used, reason = "a test")]

mod authenticated;
mod common;

use authenticated::{authenticated, ciphers, few_caps, key_of, nonce_bytes};
use common::{CAPS, capped, hex, painted};
use crossgrain::engine::reference::{self, siv};
use crossgrain::mode::{Aead, Mode, Options};
use crossgrain::{Block, Buffers, Cipher, Direction, Error};

use Direction::Encrypt;

/// The reference's SIV of a list of strings, with the nonce as one of them.
fn siv_by_reference(key: &[u8], strings: &[&[u8]], data: &mut [u8]) -> Block {
    let (mac, counter) = key.split_at(key.len() / 2);
    let [mac, counter] = [mac, counter].map(|key| reference::cipher(&common::key_of(key)));
    siv::siv((&*mac, &*counter), Encrypt, strings, [0; 16], data)
}

/// RFC 5297, appendix A.1 and A.2: one string of associated data, and two strings before the nonce.
#[test]
fn siv_of_several_strings() {
    let cases = [
        (
            "fffefdfcfbfaf9f8f7f6f5f4f3f2f1f0f0f1f2f3f4f5f6f7f8f9fafbfcfdfeff",
            "",
            &["101112131415161718191a1b1c1d1e1f2021222324252627"][..],
            "112233445566778899aabbccddee",
            "85632d07c6e8f37f950acd320a2ecc93",
            "40c02b9690c4dc04daef7f6afe5c",
        ),
        (
            "7f7e7d7c7b7a79787776757473727170404142434445464748494a4b4c4d4e4f",
            "09f911029d74e35bd84156c5635688c0",
            &[
                "00112233445566778899aabbccddeeffdeaddadadeaddadaffeeddccbbaa99887766554433221100",
                "102030405060708090a0",
            ],
            "7468697320697320736f6d6520706c61696e7465787420746f20656e6372797074207573696e67205349562d414553",
            "7bdb6e3b432667eb06f4d14bff2fbd0f",
            "cb900f2fddbe404326601965c889bf17dba77ceb094fa663b7a3f748ba8af829ea64ad544a272e9c485b62a3fd5c0d",
        ),
    ];
    for (key, nonce, aads, plain, tag, crypt) in cases {
        let [key, nonce, plain, tag, crypt] = [key, nonce, plain, tag, crypt].map(hex);
        let aads: Vec<_> = aads.iter().map(|aad| hex(aad)).collect();
        let aads: Vec<_> = aads.iter().map(Vec::as_slice).collect();
        let strings: Vec<_> = aads.iter().copied().chain((!nonce.is_empty()).then_some(&nonce[..])).collect();
        let mut data = plain.clone();
        assert_eq!(siv_by_reference(&key, &strings, &mut data)[..], tag);
        assert_eq!(data, crypt);
        for options in CAPS.map(|cap| capped(cap, 1)) {
            let engine = Mode::Siv.aead(Cipher::Aes128, &key, 16, &options).unwrap();
            let mut data = plain.clone();
            let made = engine.seal_with(&nonce, &aads, Buffers::in_place(&mut data)).unwrap();
            assert_eq!((&made[..], &data), (&tag[..], &crypt));
            engine.open_with(&nonce, &aads, &tag, Buffers::in_place(&mut data)).unwrap();
            assert_eq!(data, plain);
        }
    }
}

/// Lists of no, one and many strings, with empty strings among them, with and without a nonce. Each list
/// gives a different tag.
#[test]
fn siv_tells_lists_of_strings_apart() {
    let (key, many) = (painted(32, 1), (0..126).map(|i| painted(i % 40, i as u64)).collect::<Vec<_>>());
    let many: Vec<_> = many.iter().map(Vec::as_slice).collect();
    let lists: [&[&[u8]]; 9] = [
        &[],
        &[b""],
        &[b"", b""],
        &[b"ab"],
        &[b"a", b"b"],
        &[b"b", b"a"],
        &[b"ab", b""],
        &many[..125],
        &many,
    ];
    for (cap, options) in few_caps() {
        let (engine, mut tags) = (Mode::Siv.aead(Cipher::Aes128, &key, 16, &options).unwrap(), Vec::new());
        for (aads, nonce) in lists.iter().flat_map(|aads| [(aads, &b""[..]), (aads, b"nonce")]) {
            let strings: Vec<_> = aads.iter().copied().chain((!nonce.is_empty()).then_some(nonce)).collect();
            let (mut data, mut want) = (painted(37, 3), painted(37, 3));
            let made = engine.seal_with(nonce, aads, Buffers::in_place(&mut data));
            if strings.len() > 126 {
                assert_eq!(made, Err(Error::AadStrings { most: 126, count: 127 }));
                let opened = engine.open_with(nonce, aads, &[0; 16], Buffers::in_place(&mut data));
                assert_eq!(opened, Err(Error::AadStrings { most: 126, count: 127 }));
                assert_eq!(data, painted(37, 3), "nothing is written");
                continue;
            }
            let tag = siv_by_reference(&key, &strings, &mut want);
            let what = format!("{cap}, {} strings, nonce of {}", aads.len(), nonce.len());
            assert_eq!(made.unwrap()[..], tag, "{what}");
            assert_eq!(data, want, "{what}");
            if let [aad] = aads {
                assert_eq!(engine.seal(nonce, aad, (&painted(37, 3), &mut data)).unwrap()[..], tag, "{what}");
            }
            for other in lists.iter().filter(|other| *other != aads) {
                let opened = engine.open_with(nonce, other, &tag, (&want, &mut data).into());
                let is_refused = matches!(opened, Err(Error::Forged | Error::AadStrings { .. }));
                assert!(is_refused, "{what}, opened by {} strings: {opened:?}", other.len());
            }
            engine.open_with(nonce, aads, &tag, (&want, &mut data).into()).unwrap();
            assert_eq!(data, painted(37, 3), "{what}");
            let short = engine.open_with(nonce, aads, &tag[..15], Buffers::in_place(&mut want));
            assert_eq!(short, Err(Error::TagBytes { len_bytes: 15 }));
            assert!(!tags.contains(&tag), "{what}");
            tags.push(tag);
        }
    }
}

/// Modes that are defined for one string. An empty list counts as one empty string; several strings are
/// refused before anything is written.
#[test]
fn other_modes_take_one_string() {
    for mode in authenticated().filter(|&mode| mode != Mode::Siv) {
        assert_eq!(mode.entry().aad_strings_max, 1);
        let (cipher, nonce) = (ciphers(mode).next().unwrap(), painted(nonce_bytes(mode)[1], 2));
        let engine = mode.aead(cipher, &key_of(mode, cipher), 16, &Options::default()).unwrap();
        for (aads, aad) in [(&[][..], &b""[..]), (&[&b""[..]], b""), (&[b"head"], b"head")] {
            let (mut data, mut same) = (painted(37, 3), painted(37, 3));
            let tag = engine.seal_with(&nonce, aads, Buffers::in_place(&mut data)).unwrap();
            assert_eq!((engine.seal(&nonce, aad, &mut same).unwrap(), same), (tag, data.clone()), "{mode}");
            engine.open_with(&nonce, aads, &tag, Buffers::in_place(&mut data)).unwrap();
            assert_eq!(data, painted(37, 3), "{mode}");
        }
        let (mut data, refusal) = (painted(37, 3), Error::AadStrings { most: 1, count: 2 });
        let sealed = engine.seal_with(&nonce, &[b"a", b"b"], Buffers::in_place(&mut data));
        assert_eq!(sealed, Err(refusal.clone()), "{mode}");
        let opened = engine.open_with(&nonce, &[b"a", b"b"], &[0; 16], Buffers::in_place(&mut data));
        assert_eq!(opened, Err(refusal.clone()), "{mode}");
        assert_eq!((data, refusal.to_string().lines().count()), (painted(37, 3), 1), "{mode}");
    }
}
