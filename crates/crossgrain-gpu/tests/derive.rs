//! Key derivation on every available device: published vectors, comparison with the CPU, and searches of
//! word lists and masks.
//!
//! Without a device, its tests print that they are skipped. They fail instead if CROSSGRAIN_REQUIRE names
//! `wgpu` or `cuda`.
#![allow(missing_docs, clippy::unwrap_used, reason = "a test")]

mod present;
#[allow(dead_code, reason = "another test is not to be told secrets")]
mod spy;
mod stand_in;

use std::io::Cursor;
use std::sync::Mutex;

use crossgrain::mode::Options;
use crossgrain::{Cipher, Direction, Key};
use crossgrain_gpu::Gpu;
use crossgrain_search::{
    BigUint, BlockSearch, Counted, Derivation, Device as _, Form, Hash, Hit, Kdf, Known, Pair, Refused, Rule,
    Search, Sets, Space, SpaceSearch, Watch, WordDevice, WordSearch, Words, key_mask,
};
use present::gpus;
use spy::Told;

fn pbkdf2(salt: &[u8], iterations: u32) -> Kdf {
    Kdf::Pbkdf2 { hash: Hash::Sha256, salt: salt.to_vec(), iterations }
}

/// Words of all lengths that fit one block.
fn words(count: usize) -> Vec<Vec<u8>> {
    (0..count).map(|at| (0..at % 56).map(|byte| (3 * at + byte * byte) as u8).collect()).collect()
}

/// The keys that a device derives from words in one call.
fn derived(gpu: &Gpu, kdf: &Kdf, words: &[Vec<u8>], key_bytes: usize) -> Vec<u8> {
    let derivation = Derivation::new(kdf, key_bytes).unwrap();
    let (mut blocks, mut keys) = (vec![0; 64 * words.len()], vec![0xff; key_bytes * words.len()]);
    for (word, block) in words.iter().zip(blocks.chunks_exact_mut(64)) {
        assert!(derivation.pad(word, block));
    }
    let mut derive = gpu.derive(&derivation).unwrap();
    // Two calls, because no state may remain from the first.
    for keys in [&mut vec![0; keys.len()], &mut keys] {
        derive.derive(&blocks, keys).unwrap();
    }
    keys
}

/// RFC 7914 §11, and FIPS 180-4's one-block example.
#[test]
fn devices_give_published_keys() {
    let hex = |bytes: &[u8]| bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
    for gpu in gpus() {
        let keys = derived(&gpu, &pbkdf2(b"salt", 1), &[b"passwd".to_vec()], 64);
        let want = "55ac046e56e3089fec1691c22544b605f94185216dde0465e68b9d57c20dacbc\
                    49ca9cccf179b645991664b39d77ef317c71b845b1e30bd509112041d3a19783";
        assert_eq!(hex(&keys), want, "{}", gpu.info().id);
        let keys = derived(&gpu, &pbkdf2(b"NaCl", 80_000), &[b"Password".to_vec()], 32);
        let want = "4ddcd8f60b98be21830cee5ef22701f9641a4418d04c0414aeff08876b34ab56";
        assert_eq!(hex(&keys), want, "{}", gpu.info().id);
        let want = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!(hex(&derived(&gpu, &Kdf::Sha256, &[b"abc".to_vec()], 32)), want, "{}", gpu.info().id);
    }
}

#[test]
fn devices_derive_what_the_cpu_does() {
    for gpu in gpus() {
        for (kdf, key_bytes, count) in [
            (pbkdf2(b"", 2), 16, 1),
            (pbkdf2(b"salt", 3), 32, 65),
            (pbkdf2(&[0xa5; 60], 37), 24, 300),
            (pbkdf2(b"both keys of a sector", 5), 64, 129),
            (Kdf::Sha256, 24, 1000),
        ] {
            let words = words(count);
            let mut want = vec![0; key_bytes * count];
            for (word, key) in words.iter().zip(want.chunks_exact_mut(key_bytes)) {
                kdf.derive(word, key).unwrap();
            }
            assert!(derived(&gpu, &kdf, &words, key_bytes) == want, "{kdf:?} on {}", gpu.info().id);
        }
    }
}

/// Search of a word list, on the device only and on the device together with threads. The device derives keys, or
/// tries words that are padded to keys.
#[test]
fn words_are_searched_on_a_device() {
    for kdf in [pbkdf2(b"salt", 50), Kdf::Zeros] {
        words_are_searched(kdf);
    }
}

fn words_are_searched(kdf: Kdf) {
    let rules = Rule::parse_all(b":\nc $1").unwrap();
    let list: String = (0..1500).map(|at| format!("word{at}\n")).collect();
    let mut key = [0; 16];
    kdf.derive(b"Word14441", &mut key).unwrap();
    let pair = Pair::whole(Direction::Encrypt, [0x11; 16], [0; 16]);
    let pair = pair.planted(&Key::new(Cipher::Aes128, &key).unwrap());
    let blocks = BlockSearch::new(Cipher::Aes128, &[pair], &Options::default()).unwrap();
    let search = Search::new(Known::Blocks(blocks), kdf).unwrap();
    for gpu in gpus() {
        let devices = [WordDevice::new(&search, &gpu).unwrap()];
        for threads in [1, 3] {
            let (hits, refused) = (Mutex::new(Vec::new()), Mutex::new(Refused::default()));
            let on_hit = |hit: Hit| hits.lock().unwrap().push((hit.number, hit.candidate.to_vec()));
            let watch = Watch::new(&on_hit);
            let words = Mutex::new(Words::new(Cursor::new(&list), Form::Lines, 500));
            let of_words = WordSearch::new(&search, &rules, 0..u128::MAX).on(&devices);
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            assert!(pool.install(|| of_words.chunks(&words, usize::MAX, &refused, &watch)).unwrap());
            assert_eq!(*hits.lock().unwrap(), [(2889_u32.into(), b"Word14441".to_vec())]);
            assert_eq!((watch.tried(), devices[0].failure()), (3000, None));
        }
    }
}

/// The character sets of the masks below.
fn sets() -> Sets {
    let mut sets = Sets::default();
    for (number, set) in [(1, "qwertyuiopasdfghjklzxcv"), (2, "?d?l"), (3, "Mm")] {
        sets.define(number, set.as_bytes()).unwrap();
    }
    sets
}

/// Candidates from masks and from a range. They start at the beginning, in the middle, and where the digits
/// that a device counts wrap around.
#[test]
fn devices_make_candidates_themselves() {
    let every = (Space::every(16), (BigUint::from(7_u8) << 100_u32) - 3_u8);
    let mut spaces = vec![every];
    for (mask, first) in [
        ("no place varies", 0_u32),
        ("?3?1?1", 500),
        ("word?d?d", 3),
        ("?a?1?2pass?l?l?l", 17_570),
        ("?l?l?l?l?l", 456_700),
        ("?b?s?1?2?3", 1_000_001),
    ] {
        spaces.push((sets().bytes(mask.as_bytes()).unwrap(), first.into()));
    }
    for gpu in gpus() {
        // PBKDF2 programs take longer to compile.
        for (kdf, key_bytes, spaces) in [
            (Kdf::Sha256, 32, &spaces[..]),
            (Kdf::Sha256, 16, &spaces[2..4]),
            (pbkdf2(b"salt", 3), 64, &spaces[4..6]),
        ] {
            let derivation = Derivation::new(&kdf, key_bytes).unwrap();
            let mut derive = gpu.derive(&derivation).unwrap();
            for (space, first) in spaces {
                let left = space.size() - first;
                let count = usize::try_from(&left).map_or(700, |left| left.min(700));
                let counted = Counted::new(space, &derivation, first).unwrap();
                let (mut want, mut keys) = (vec![0; key_bytes * count], vec![0xff; key_bytes * count]);
                let candidates = space.candidates(first, count);
                for (at, key) in want.chunks_exact_mut(key_bytes).enumerate() {
                    kdf.derive(&candidates[at * space.len_bytes()..][..space.len_bytes()], key).unwrap();
                }
                derive.derive_counted(&counted, &mut keys).unwrap();
                assert!(keys == want, "{kdf:?} of {space:?} from {first} on, on {}", gpu.info().id);
            }
        }
    }
}

#[test]
fn no_candidates_are_nothing_and_more_than_are_counted_from_one_are_refused() {
    let derivation = Derivation::new(&Kdf::Sha256, 16).unwrap();
    let counted = Counted::new(&Space::every(8), &derivation, &BigUint::ZERO).unwrap();
    for gpu in gpus() {
        let mut derive = gpu.derive(&derivation).unwrap();
        derive.derive_counted(&counted, &mut []).unwrap();
        let told = derive.derive_counted(&counted, &mut vec![0; 16 * (Counted::MOST + 1)]).unwrap_err();
        assert_eq!(told.to_string(), "131072 candidates are counted from one, and 131073 were asked for");
    }
}

/// Search of a mask, on the device only and on the device together with threads. The mask has more
/// candidates than one call.
#[test]
fn masks_are_searched_on_a_device() {
    let space = sets().bytes(b"word?1?1?2?2").unwrap();
    let mut key = [0; 16];
    Kdf::Sha256.derive(&space.candidates(&400_009_u32.into(), 1), &mut key).unwrap();
    let pair = Pair::whole(Direction::Encrypt, [0x11; 16], [0; 16]);
    let pair = pair.planted(&Key::new(Cipher::Aes128, &key).unwrap());
    let blocks = BlockSearch::new(Cipher::Aes128, &[pair], &Options::default()).unwrap();
    let search = Search::new(Known::Blocks(blocks), Kdf::Sha256).unwrap();
    for gpu in gpus() {
        for threads in [1, 3] {
            let hits = Mutex::new(Vec::new());
            let on_hit = |hit: Hit| hits.lock().unwrap().push((hit.number, hit.candidate));
            let watch = Watch::new(&on_hit);
            let prepared = SpaceSearch::on(&search, &space, &[&gpu]).unwrap();
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            let range = 1001_u32.into()..space.size();
            assert!(pool.install(|| prepared.shard(&range, &watch)).unwrap());
            let number = BigUint::from(400_009_u32);
            let candidate = space.candidates(&number, 1);
            assert_eq!(*hits.lock().unwrap(), [(number, candidate)]);
            assert_eq!((watch.tried(), prepared.failures()), (23 * 23 * 36 * 36 - 1001, vec![]));
        }
    }
}

/// Masks with equal shapes share one program, and the known part of a candidate is in no text.
#[test]
fn programs_are_the_same_for_all_candidates() {
    for number in [0, 1] {
        let spy = &spy::spies()[number];
        let derivation = Derivation::new(&pbkdf2(b"salt", 2), 32).unwrap();
        let mut derive = spy.gpu.derive(&derivation).unwrap();
        let before = spy.told().texts.len();
        for (known, first) in [(0x5bd1_e995_u32, 3_u32), (0x9e37_79b9, 70_000)] {
            let hex = format!("{known:08x}????????{known:08x}");
            let space = key_mask(hex.as_bytes()).unwrap();
            let counted = Counted::new(&space, &derivation, &first.into()).unwrap();
            derive.derive_counted(&counted, &mut vec![0; 32 * 100]).unwrap();
        }
        let told = spy.told();
        let [text] = &told.texts[before..] else { panic!("it is compiled once") };
        for known in [0x5bd1_e995_u32, 0x9e37_79b9] {
            for written in [format!("{known:x}"), format!("{known}"), format!("{}", known.swap_bytes())] {
                assert!(!text.contains(&written), "{known:x}");
            }
            assert!(told.states.iter().any(|state| state.contains(&known)), "{known:x} was given");
        }
        assert!(told.states.chunks(2).all(|run| run[1].iter().all(|&word| word == 0)));
    }
}

/// The record of a device that derives a key from a word.
fn told(number: usize, kdf: &Kdf, word: &[u8]) -> Told {
    let spy = &spy::spies()[number];
    let derivation = Derivation::new(kdf, 32).unwrap();
    let (mut block, mut key) = ([0; 64], [0; 32]);
    assert!(derivation.pad(word, &mut block));
    let mut derive = spy.gpu.derive(&derivation).unwrap();
    derive.derive(&block, &mut key).unwrap();
    drop(derive);
    spy.told()
}

fn told_alike(number: usize) {
    let one = told(number, &pbkdf2(b"salt", 1000), b"a word");
    let other = told(number, &pbkdf2(b"pepper", 7), b"another");
    assert_eq!(one.texts, other.texts);
    let [first, turns] = &one.texts[..] else { panic!("two programs, each compiled once") };
    assert!(!first.contains("number <") && turns.matches("number < keys[0u].x").count() == 1);
    for (told, want) in [(&one, 999), (&other, 6)] {
        // Each state is wiped after its run. The first state is the salt. Every later state starts with its
        // number of iterations.
        assert!(told.states.chunks(2).all(|run| run[1].iter().all(|&word| word == 0)));
        assert_eq!(told.states.iter().skip(2).map(|state| state[0]).sum::<u32>(), want);
        assert!(told.states[2..].iter().all(|state| state.len() == 4));
    }
}

/// Texts on disk contain no words, salts or iteration counts.
#[test]
fn programs_are_the_same_for_all_words_salts_and_turns() {
    told_alike(0);
    told_alike(1);
}

#[test]
fn keys_are_derived_by_a_driver_that_stands_in() {
    stand_in::again(&["--skip", "stands_in"], None);
}
