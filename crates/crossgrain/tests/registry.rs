//! The registry of modes. A mode behaves as its entry says, and a mode made from its entry gives the
//! reference's bytes, whole and in pieces.
#![allow(missing_docs, clippy::unwrap_used, reason = "a test")]

mod common;

use common::{key, painted};
use crossgrain::engine::check;
use crossgrain::mode::{
    Aead as _, AeadMessage, Initial, Lengths, Mode, Options, Place, Start, Unauthenticated,
};
use crossgrain::{Block, Cipher, Direction, Error};

const IV: Block = *b"an initial block";
const SECTOR_BYTES: usize = 80;
/// All nonces that the standards define.
const OPTIONS: fn() -> Options = || Options { short_nonces: true, ..Options::default() };

fn authenticated() -> impl Iterator<Item = Mode> {
    Mode::ALL.into_iter().filter(|mode| mode.is_authenticated())
}

fn unauthenticated() -> impl Iterator<Item = (Mode, Direction)> {
    let modes = Mode::ALL.into_iter().filter(|mode| !mode.is_authenticated());
    modes.flat_map(|mode| Direction::ALL.map(|direction| (mode, direction)))
}

fn key_of(mode: Mode, cipher: Cipher) -> Vec<u8> {
    (0..mode.entry().keys).flat_map(|number| key(cipher, number as u64).bytes().to_vec()).collect()
}

fn start_of(mode: Mode) -> Start<'static> {
    let iv = if mode.entry().initial == Initial::Block { &IV[..] } else { &[] };
    Start { iv, sector: 7, sector_bytes: SECTOR_BYTES }
}

fn bound(mode: Mode, direction: Direction, cipher: Cipher) -> Unauthenticated {
    mode.unauthenticated(cipher, &key_of(mode, cipher), direction, &start_of(mode), &OPTIONS()).unwrap()
}

fn by_reference(mode: Mode, direction: Direction, cipher: Cipher, data: &[u8]) -> Vec<u8> {
    let (key, mut data) = (key_of(mode, cipher), data.to_vec());
    check::mode_by_reference(mode, (cipher, &key), direction, &start_of(mode), &[], &[], &mut data).unwrap();
    data
}

/// A nearby length that the mode accepts.
fn fitting(mode: Mode, len_bytes: usize) -> usize {
    match mode.entry().lengths {
        Lengths::Any => len_bytes,
        Lengths::WholeBlocks => len_bytes / 16 * 16,
        Lengths::Sectors => len_bytes / SECTOR_BYTES * SECTOR_BYTES + 35,
    }
}

#[test]
fn names_are_read_back_and_told_apart() {
    for mode in Mode::ALL {
        assert_eq!(mode.name().parse(), Ok(mode));
        assert_eq!(mode.to_string(), mode.name());
        assert_eq!(Mode::ALL.into_iter().filter(|other| other.name() == mode.name()).count(), 1);
        assert!(!mode.entry().summary.is_empty() && !mode.entry().reuse.describe().is_empty());
    }
    let line = "gmc".parse::<Mode>().unwrap_err().to_string();
    assert!(line.contains("'gmc'") && Mode::ALL.iter().all(|mode| line.contains(mode.name())), "{line}");
}

#[test]
fn a_message_whole_and_in_pieces() {
    for cipher in [Cipher::Aes128, Cipher::Aes256, Cipher::Serpent256] {
        for (mode, direction) in unauthenticated() {
            for len_bytes in [0, 16, 100, 5003] {
                let data = painted(fitting(mode, len_bytes), 3);
                let want = by_reference(mode, direction, cipher, &data);
                let mode_bound = bound(mode, direction, cipher);
                let mut whole = data.clone();
                mode_bound.apply_whole(&mut whole).unwrap();
                assert_eq!(hex_of(&whole), hex_of(&want), "{mode} {direction:?} {cipher} {len_bytes}");
                let (mut pieces, mut place) = (data.clone(), mode_bound.start());
                for piece in pieces.chunks_mut(5 * mode_bound.grain_bytes()) {
                    mode_bound.apply(&mut place, piece).unwrap();
                }
                assert_eq!(place.position_bytes, data.len() as u128);
                assert_eq!(hex_of(&pieces), hex_of(&want), "{mode} {direction:?} {cipher}, in pieces");
            }
        }
    }
}

fn hex_of(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[test]
fn parallel_modes_take_pieces_in_any_order() {
    for (mode, direction) in unauthenticated().filter(|(mode, direction)| mode.is_parallel(*direction)) {
        let (cipher, data) = (Cipher::Aes192, painted(fitting(mode, 4000), 4));
        let mode_bound = bound(mode, direction, cipher);
        let piece_bytes = 3 * mode_bound.grain_bytes();
        let mut got = data.clone();
        let places: Vec<_> = (0..data.len()).step_by(piece_bytes).collect();
        for &at in places.iter().rev() {
            let before = if at == 0 { IV } else { data[at - 16..at].try_into().unwrap() };
            let end = data.len().min(at + piece_bytes);
            let mut place = Place::at(at as u128, before);
            mode_bound.apply(&mut place, &mut got[at..end]).unwrap();
        }
        assert_eq!(
            hex_of(&got),
            hex_of(&by_reference(mode, direction, cipher, &data)),
            "{mode} {direction:?}"
        );
    }
}

#[test]
fn tags_are_the_references_and_of_the_lengths_listed() {
    for mode in authenticated() {
        let (cipher, key, aad) = (Cipher::Aes128, key_of(mode, Cipher::Aes128), painted(21, 5));
        let Initial::Nonce { least, usual, most } = mode.entry().initial else {
            panic!("{mode} has no nonce")
        };
        for tag_bytes in 0..=20 {
            let made = mode.aead(cipher, &key, tag_bytes, &OPTIONS());
            if !mode.entry().tag_bytes.contains(&tag_bytes) {
                assert_eq!(made.err(), Some(Error::TagBytes { len_bytes: tag_bytes }), "{mode}");
                continue;
            }
            for nonce_bytes in [least, usual, most.min(usual + 5)] {
                let (nonce, data) = (painted(nonce_bytes, 6), painted(500, 7));
                let start = Start { iv: &nonce, ..Start::default() };
                let mut want = data.clone();
                let encrypt = Direction::Encrypt;
                let (by, no_tag) = ((cipher, &key[..]), &[0; 16][..tag_bytes]);
                let tag =
                    check::mode_by_reference(mode, by, encrypt, &start, &aad, no_tag, &mut want).unwrap();
                let (mut got, aead) = (data.clone(), made.as_ref().unwrap());
                let sealed = aead.seal(&nonce, &aad, &mut got).unwrap();
                assert_eq!(hex_of(&got), hex_of(&want), "{mode}");
                assert_eq!(sealed[..], tag.unwrap()[..tag_bytes], "{mode}");
                assert!(!aead.plans().is_empty());
                aead.open(&nonce, &aad, &sealed, &mut got).unwrap();
                assert_eq!(got, data);
            }
        }
        if least > 0 {
            let aead = mode.aead(cipher, &key, 16, &OPTIONS()).unwrap();
            assert_eq!(aead.seal(&[], &[], &mut []), Err(Error::EmptyNonce));
        }
    }
}

/// Nonces that soon repeat are refused unless `short_nonces` is set, if reuse reveals more than equality.
#[test]
fn short_nonces_are_refused_by_default() {
    let default = Options::default();
    let minima = authenticated().map(|mode| (mode.name(), mode.nonce_bytes_min(&default)));
    let want = [("eax", 7), ("gcm", 7), ("ccm", 7), ("gcm-siv", 12), ("ocb", 7), ("siv", 0)];
    assert_eq!(minima.collect::<Vec<_>>(), want);
    for mode in [Mode::Eax, Mode::Gcm, Mode::Ocb] {
        let key = key_of(mode, Cipher::Aes128);
        let [careful, other] =
            [&default, &OPTIONS()].map(|options| mode.aead(Cipher::Aes128, &key, 16, options).unwrap());
        for len_bytes in 1..=7 {
            let (nonce, mut data) = (painted(len_bytes, 8), *b"some text");
            let tag = other.seal(&nonce, b"", &mut data).unwrap();
            let opened = careful.open(&nonce, b"", &tag, &mut data);
            if len_bytes == 7 {
                assert_eq!((opened, &data), (Ok(()), b"some text"), "{mode}");
                continue;
            }
            let Err(error) = opened else { panic!("{mode} took {len_bytes} bytes") };
            assert!(error.to_string().contains(&format!("not {len_bytes}")), "{error}");
            assert_eq!(careful.seal(&nonce, b"", &mut data), Err(error), "{mode}");
            let mut message = [AeadMessage::new(&nonce, b"", &mut data[..])];
            assert!(careful.seal_many(&mut message).is_err() && careful.open_many(&mut message).is_err());
            other.open(&nonce, b"", &tag, &mut data).unwrap();
            assert_eq!(&data, b"some text", "nothing was written");
        }
    }
}

/// Threads that share a mode may use nonces of any length. State that the mode creates late for them is
/// created once, whichever thread comes first.
#[test]
fn threads_that_share_a_mode_may_bring_any_nonce() {
    for mode in authenticated() {
        let Initial::Nonce { least, most, .. } = mode.entry().initial else { panic!("{mode} has no nonce") };
        let cipher = Cipher::ALL.into_iter().rfind(|&cipher| mode.admits(cipher).is_ok()).unwrap();
        let key = key_of(mode, cipher);
        let aead = mode.aead(cipher, &key, 16, &OPTIONS()).unwrap();
        std::thread::scope(|scope| {
            for nonce_bytes in [12, 16, 5, 12, 30] {
                let (aead, key) = (&aead, &key);
                scope.spawn(move || {
                    let nonce = painted(nonce_bytes.clamp(least, most), 8);
                    let mut got = painted(300, 9);
                    let (start, mut want) = (Start { iv: &nonce, ..Start::default() }, got.clone());
                    let tag = aead.seal(&nonce, &[], &mut got).unwrap();
                    let by = (cipher, &key[..]);
                    let encrypt = Direction::Encrypt;
                    let wanted =
                        check::mode_by_reference(mode, by, encrypt, &start, &[], &[0; 16], &mut want);
                    assert_eq!((got, tag), (want, wanted.unwrap().unwrap().into()), "{mode} {nonce_bytes}");
                });
            }
        });
    }
}

#[test]
fn what_a_mode_does_not_take_is_refused() {
    let (cipher, encrypt, start) = (Cipher::Aes128, Direction::Encrypt, Start::default());
    for mode in Mode::ALL {
        let key = key_of(mode, cipher);
        if mode.is_authenticated() {
            let line = mode.unauthenticated(cipher, &key, encrypt, &start, &OPTIONS()).unwrap_err();
            assert!(matches!(&line, Error::UnfitMode { .. }) && line.to_string().contains("ctr"), "{line}");
            assert!(mode.aead(cipher, &key[1..], 16, &OPTIONS()).is_err());
            continue;
        }
        let line = mode.aead(cipher, &key, 16, &OPTIONS()).err().unwrap();
        assert!(matches!(&line, Error::UnfitMode { .. }) && line.to_string().contains("gcm"), "{line}");
        let start = start_of(mode);
        assert!(mode.unauthenticated(cipher, &key[1..], encrypt, &start, &OPTIONS()).is_err());
        let takes_bytes = start.iv.len();
        for len_bytes in [0, 1, 15, 16, 17].into_iter().filter(|&len_bytes| len_bytes != takes_bytes) {
            let start = Start { iv: &[3; 17][..len_bytes], ..start };
            let refused = mode.unauthenticated(cipher, &key, encrypt, &start, &OPTIONS()).unwrap_err();
            assert_eq!(refused, Error::InitialBytes { mode: mode.name(), takes_bytes, len_bytes });
        }
    }
}

/// Length rules apply to the position in the message, not in the piece.
#[test]
fn pieces_that_end_where_they_may_not_are_refused() {
    for (mode, direction) in unauthenticated() {
        let mode_bound = bound(mode, direction, Cipher::Aes128);
        let mut place = mode_bound.start();
        mode_bound.apply(&mut place, &mut [1; SECTOR_BYTES]).unwrap();
        let mut rest = [2; 21];
        let done = mode_bound.apply(&mut place, &mut rest);
        match mode.entry().lengths {
            Lengths::WholeBlocks => {
                assert_eq!(done, Err(Error::PartialBlock { len_bytes: SECTOR_BYTES + 21 }));
                assert_eq!(rest, [2; 21], "{mode}");
            }
            Lengths::Any => done.unwrap(),
            Lengths::Sectors => {
                done.unwrap();
                let refused = mode_bound.apply(&mut place, &mut rest);
                assert_eq!(refused, Err(Error::SplitSector { position_bytes: SECTOR_BYTES as u128 + 21 }));
            }
        }
    }
}
