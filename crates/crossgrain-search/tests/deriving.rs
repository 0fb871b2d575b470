//! Words and candidates of a space whose keys a device derives, and words that it tries as keys. The device is
//! simulated on the CPU. Every right key is found and every candidate counted once, even if the device fails. A
//! device that derives wrong keys or misses keys is detected.
#![allow(missing_docs, clippy::unwrap_used, reason = "a test")]

use std::io::Cursor;
use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use crossgrain::engine::device::search::Search as Program;
use crossgrain::engine::kernel::search::Known as Block;
use crossgrain::mode::{Aead as _, Gcm, Mode, Options};
use crossgrain::{Cipher, Direction, Features, Key};
use crossgrain_search::{
    BigUint, BlockSearch, Counted, Derivation, Derive, Device, Error, Failure, Form, Hash, Hit, Kdf, KeyList,
    Known, Pair, Refused, Rule, Search, Sets, Space, SpaceSearch, Table, Tagged, Watch, WordDevice,
    WordSearch, Words, key_mask,
};
use rayon::ThreadPoolBuilder;

/// A device simulated on the CPU.
#[derive(Clone, Default)]
struct Pretended {
    /// The number of calls before the device is lost.
    answers: Option<usize>,
    /// Whether one key in three is wrong.
    is_faulty: bool,
    /// Whether generated candidates are off by one.
    miscounts: bool,
    /// The number of words it received.
    words: Arc<AtomicUsize>,
    /// The number of words it generated.
    counted: Arc<AtomicUsize>,
}

struct Pretense {
    pretended: Pretended,
    derivation: Derivation,
}

/// Tries keys, and reports a wrong one as well.
struct PretendedList {
    pretended: Pretended,
    cipher: Cipher,
}

impl KeyList for PretendedList {
    fn search(&mut self, known: &Block, keys: &[u8], found: &mut Vec<usize>) -> Result<(), Failure> {
        let Pretended { answers, is_faulty, words, .. } = &mut self.pretended;
        *answers = answers.map(|left| left.checked_sub(1).ok_or("unplugged")).transpose()?;
        let (key_bytes, pair) = (self.cipher.key_bytes(), Pair::from(*known));
        words.fetch_add(keys.len() / key_bytes, Ordering::Relaxed);
        let is_right = |key: &[u8]| pair.holds(&Key::new(self.cipher, key).unwrap());
        let places = keys.chunks_exact(key_bytes).enumerate().filter(|(_, key)| is_right(key));
        found.extend(places.map(|(place, _)| place).filter(|_| !*is_faulty));
        let last = keys.len() / key_bytes - 1;
        if found.last() != Some(&last) {
            found.push(last);
        }
        Ok(())
    }
}

impl Device for Pretended {
    fn name(&self) -> String {
        "pretense:0".to_owned()
    }

    fn table(&self, _: Program, _: &Block, _: &[u8]) -> Result<Box<dyn Table>, Failure> {
        Err("it tries no keys".into())
    }

    fn list(&self, program: Program, _: &Block, keys_max: usize) -> Result<Box<dyn KeyList>, Failure> {
        assert!(keys_max > 1000);
        Ok(Box::new(PretendedList { pretended: self.clone(), cipher: program.cipher() }))
    }

    fn derive(&self, derivation: &Derivation) -> Result<Box<dyn Derive>, Failure> {
        Ok(Box::new(Pretense { pretended: self.clone(), derivation: derivation.clone() }))
    }
}

impl Derive for Pretense {
    fn words(&self) -> usize {
        100
    }

    fn derive(&mut self, blocks: &[u8], keys: &mut [u8]) -> Result<(), Failure> {
        let Pretended { answers, is_faulty, words, .. } = &mut self.pretended;
        *answers = answers.map(|left| left.checked_sub(1).ok_or("unplugged")).transpose()?;
        assert!(blocks.len() <= 64 * 100);
        words.fetch_add(blocks.len() / 64, Ordering::Relaxed);
        self.derivation.on_cpu(Features::NONE, blocks, keys);
        if *is_faulty {
            keys.chunks_exact_mut(self.derivation.key_bytes()).step_by(3).for_each(|key| key[5] ^= 1);
        }
        Ok(())
    }

    fn derive_counted(&mut self, candidates: &Counted, keys: &mut [u8]) -> Result<(), Failure> {
        let count = keys.len() / self.derivation.key_bytes();
        self.pretended.counted.fetch_add(count, Ordering::Relaxed);
        let blocks = candidates.blocks(count + usize::from(self.pretended.miscounts));
        self.derive(&blocks[blocks.len() - 64 * count..], keys)
    }
}

fn pbkdf2() -> Kdf {
    Kdf::Pbkdf2 { hash: Hash::Sha256, salt: b"salt".to_vec(), iterations: 3 }
}

fn key_of(kdf: &Kdf, word: &str, key_bytes: usize) -> Vec<u8> {
    let mut key = vec![0; key_bytes];
    kdf.derive(word.as_bytes(), &mut key).unwrap();
    key
}

/// A search for the key of a word.
fn by_word(kdf: &Kdf, word: &str) -> Search {
    let pair = Pair::whole(Direction::Encrypt, *b"a block of input", [0; 16]);
    let pair = pair.planted(&Key::new(Cipher::Aes256, &key_of(kdf, word, 32)).unwrap());
    let blocks = BlockSearch::new(Cipher::Aes256, &[pair], &Options::default()).unwrap();
    Search::new(Known::Blocks(blocks), kdf.clone()).unwrap()
}

/// A word list, the part of it that is searched, and the number of threads.
struct List<'a> {
    bytes: &'a [u8],
    form: Form,
    rules: &'a [Rule],
    range: Range<u128>,
    threads: usize,
}

/// The hits, the number of candidates tried, and the refused words.
fn found(
    search: &Search,
    list: &List<'_>,
    devices: &[WordDevice],
) -> Result<(Vec<Hit>, u64, Refused), Error> {
    let (hits, refused) = (Mutex::new(Vec::new()), Mutex::new(Refused::default()));
    let on_hit = |hit| hits.lock().unwrap().push(hit);
    let watch = Watch::new(&on_hit);
    let words = Mutex::new(Words::new(Cursor::new(list.bytes), list.form, 300));
    let of_words = WordSearch::new(search, list.rules, list.range.clone()).on(devices);
    let pool = ThreadPoolBuilder::new().num_threads(list.threads).build().unwrap();
    assert!(pool.install(|| of_words.chunks(&words, usize::MAX, &refused, &watch))?);
    let tried = watch.tried();
    let mut hits = hits.into_inner().unwrap();
    hits.sort_by(|a, b| a.number.cmp(&b.number));
    Ok((hits, tried, refused.into_inner().unwrap()))
}

fn on(search: &Search, devices: &[Pretended]) -> Vec<WordDevice> {
    devices.iter().map(|device| WordDevice::new(search, device).unwrap()).collect()
}

fn numbers(hits: &[Hit]) -> Vec<BigUint> {
    hits.iter().map(|hit| hit.number.clone()).collect()
}

/// 700 words in hex. One line in seven is not hex, and some words are longer than a block.
fn list_in_hex() -> String {
    let word = |at: usize| format!("word{at}") + &"x".repeat(if at % 11 == 3 { 60 } else { 0 });
    let hex = |text: String| text.bytes().map(|byte| format!("{byte:02x}")).collect::<String>();
    let line = |at: usize| if at % 7 == 5 { "none\n".to_owned() } else { hex(word(at)) + "\n" };
    (0..700).map(line).collect()
}

#[test]
fn what_the_cpu_finds_is_found_and_counted_once_whatever_fails() {
    let (list, rules) = (list_in_hex(), Rule::parse_all(b":\nc $1\nu").unwrap());
    let long = "word113".to_owned() + &"x".repeat(60);
    for (kdf, word) in
        [(pbkdf2(), "Word6961"), (pbkdf2(), &long), (Kdf::Sha256, "word0"), (Kdf::Zeros, "Word6961")]
    {
        let search = by_word(&kdf, word);
        for range in [0..u128::MAX, 250..2089] {
            for threads in [1, 2, 5] {
                let list = List {
                    bytes: list.as_bytes(),
                    form: Form::Hex,
                    rules: &rules,
                    range: range.clone(),
                    threads,
                };
                let (hits, tried, refused) = found(&search, &list, &[]).unwrap();
                for answers in [None, Some(0), Some(1), Some(2), Some(5)] {
                    let whole = Pretended::default();
                    let lost = Pretended { answers, ..Pretended::default() };
                    for devices in [&[lost.clone()][..], &[lost, whole]] {
                        let devices = on(&search, devices);
                        let by_devices = found(&search, &list, &devices).unwrap();
                        assert_eq!(
                            by_devices,
                            (hits.clone(), tried, refused),
                            "{answers:?}, {threads} threads"
                        );
                        let failures: Vec<_> = devices.iter().filter_map(WordDevice::failure).collect();
                        let told = format!(
                            "{} on pretense:0: unplugged",
                            devices[0].name().split(' ').next().unwrap()
                        );
                        assert!(failures.iter().all(|failure| *failure == told), "{failures:?}");
                        assert!(failures.is_empty() || answers.is_some());
                        assert!(threads > 1 || answers != Some(1) || failures.len() == 1);
                    }
                }
            }
        }
    }
}

#[test]
fn one_thread_leaves_all_words_to_the_device() {
    let list: String = (0..1000).map(|at| format!("word{at}\n")).collect();
    let rules = [Rule::nothing()];
    let list = List { bytes: list.as_bytes(), form: Form::Lines, rules: &rules, range: 0..900, threads: 1 };
    let search = by_word(&pbkdf2(), "word899");
    let device = Pretended::default();
    let (hits, tried, _) = found(&search, &list, &on(&search, std::slice::from_ref(&device))).unwrap();
    assert_eq!(
        (numbers(&hits), tried, device.words.load(Ordering::Relaxed)),
        (vec![899_u32.into()], 900, 900)
    );
    assert_eq!(hits[0].candidate.as_slice(), b"word899");
    assert_eq!(*hits[0].key, key_of(&pbkdf2(), "word899", 32));
}

/// The right key is recognised by a tag.
#[test]
fn derived_keys_go_to_a_slow_test() {
    let rules = [Rule::nothing()];
    let list: String = (0..300).map(|at| format!("word{at}\n")).collect();
    let list = List { bytes: list.as_bytes(), form: Form::Lines, rules: &rules, range: 0..300, threads: 1 };
    let key = Key::new(Cipher::Aes128, &key_of(&pbkdf2(), "word250", 16)).unwrap();
    let gcm: Mode = "gcm".parse().unwrap();
    let (mut ciphertext, options) = (b"some text".to_vec(), Options { threads: 1, ..Options::default() });
    let sealer = Gcm::new(&key).unwrap();
    let tag = sealer.seal(&[7; 12], b"", &mut ciphertext[..]).unwrap();
    let tagged = Tagged {
        cipher: Cipher::Aes128,
        mode: gcm,
        nonce: vec![7; 12],
        aads: Vec::new(),
        ciphertext,
        tag: tag.to_vec(),
        options,
    };
    let search = Search::new(Known::Test(Box::new(tagged)), pbkdf2()).unwrap();
    let (hits, tried, _) = found(&search, &list, &on(&search, &[Pretended::default()])).unwrap();
    assert_eq!((numbers(&hits), tried), (vec![250_u32.into()], 300));
}

#[test]
fn a_device_that_derives_wrongly_is_found_out() {
    let rules = [Rule::nothing()];
    let search = by_word(&pbkdf2(), "none of these");
    let faulty = Pretended { is_faulty: true, ..Pretended::default() };
    let caught = (0..30).filter(|turn| {
        let list: String = (0..10).map(|at| format!("word{turn}{at}\n")).collect();
        let list = List {
            bytes: list.as_bytes(),
            form: Form::Lines,
            rules: &rules,
            range: turn % 9..10,
            threads: 1,
        };
        match found(&search, &list, &on(&search, std::slice::from_ref(&faulty))) {
            Ok(_) => false,
            Err(Error::Canary { kernel }) => kernel == "pbkdf2-sha256 on pretense:0",
            Err(error) => panic!("{error}"),
        }
    });
    assert!(caught.count() > 2, "a key in three is wrong");
}

/// Candidates that consist of `begin`, `word`, any byte, and a digit.
fn space(begin: &str) -> Space {
    let hex: String = begin.bytes().map(|byte| format!("{byte:02x}")).collect();
    key_mask(format!("{hex}776f7264??3?").as_bytes()).unwrap()
}

/// Searches for the key of candidate `sought` among the candidates in `range`, with devices. Returns the
/// hits, the number of candidates tried, and the reasons of failed devices.
fn found_in(
    (kdf, space, sought): (&Kdf, &Space, u32),
    devices: &[&dyn Device],
    (range, threads): (Range<u32>, usize),
) -> Result<(Vec<BigUint>, u64, Vec<String>), Error> {
    let mut key = [0; 32];
    kdf.derive(&space.candidates(&sought.into(), 1), &mut key).unwrap();
    let pair = Pair::whole(Direction::Encrypt, *b"a block of input", [0; 16]);
    let pair = pair.planted(&Key::new(Cipher::Aes256, &key).unwrap());
    let blocks = BlockSearch::new(Cipher::Aes256, &[pair], &Options::default()).unwrap();
    let search = Search::new(Known::Blocks(blocks), kdf.clone()).unwrap();
    let hits = Mutex::new(Vec::new());
    let on_hit = |hit: Hit| hits.lock().unwrap().push(hit);
    let watch = Watch::new(&on_hit);
    let prepared = SpaceSearch::on(&search, space, devices)?;
    let pool = ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
    assert!(pool.install(|| prepared.shard(&(range.start.into()..range.end.into()), &watch))?);
    let (tried, failure) = (watch.tried(), prepared.failures());
    let hits = hits.into_inner().unwrap();
    for hit in &hits {
        assert_eq!(hit.candidate, space.candidates(&hit.number, 1));
        assert_eq!(*hit.key, key);
    }
    Ok((numbers(&hits), tried, failure))
}

#[test]
fn candidates_of_a_space_are_tried_once_whatever_fails() {
    for (kdf, begin) in [(pbkdf2(), ""), (Kdf::Sha256, ""), (Kdf::Sha256, &*"long".repeat(15))] {
        let space = space(begin);
        for sought in [17, 2900, 4095] {
            for (threads, answers) in
                [(1, None), (1, Some(0)), (1, Some(7)), (2, Some(1)), (5, None), (5, Some(2))]
            {
                let device = Pretended { answers, ..Pretended::default() };
                let (found, tried, failures) =
                    found_in((&kdf, &space, sought), &[&device], (40..4096, threads)).unwrap();
                let want = if sought < 40 { vec![] } else { vec![sought.into()] };
                assert_eq!((&found, tried), (&want, 4056), "{answers:?}, {threads} threads");
                assert!(failures.is_empty() || answers.is_some());
                let given = device.words.load(Ordering::Relaxed);
                assert!(threads > 1 || given == answers.map_or(4056, |answers| 100 * answers));
                // The device generates the candidates, unless a block does not begin with its candidate.
                let counted = if begin.is_empty() { given } else { 0 };
                let lost = if answers.is_some() { 100 } else { 0 };
                assert!((counted..=counted + lost).contains(&device.counted.load(Ordering::Relaxed)));
                let whole = Pretended::default();
                let both = found_in((&kdf, &space, sought), &[&device, &whole], (40..4096, threads)).unwrap();
                assert_eq!((both.0, both.1), (found, tried), "{answers:?} and another, {threads} threads");
            }
        }
    }
}

/// Keyspaces without round sizes, lists in any order, and a range in which the digits that a device counts
/// wrap to zero.
#[test]
fn candidates_of_any_mask_are_tried_once_whatever_fails() {
    let mut sets = Sets::default();
    for (number, set) in [(1, "qwertyuiopasdfghjklzxcv"), (2, "?dACE"), (3, "?u?d?s")] {
        sets.define(number, set.as_bytes()).unwrap();
    }
    for (mask, range) in
        [("?1-?2?1x", 17..6777), ("?3?3a?3?1", 760_000..767_319), ("?l?l?l?l?l", 456_777..458_003)]
    {
        let space = sets.bytes(mask.as_bytes()).unwrap();
        for sought in [range.start, range.start + 203, range.end - 1] {
            for (threads, answers) in [(1, None), (1, Some(3)), (2, Some(1)), (3, Some(5)), (4, None)] {
                let device = Pretended { answers, ..Pretended::default() };
                let whole = Pretended::default();
                for devices in [&[&device as &dyn Device][..], &[&device, &whole]] {
                    let (found, tried, _) =
                        found_in((&Kdf::Sha256, &space, sought), devices, (range.clone(), threads)).unwrap();
                    let want = (vec![sought.into()], u64::from(range.end - range.start));
                    assert_eq!((found, tried), want, "{mask}, {answers:?}, {threads} threads");
                }
            }
        }
    }
}

#[test]
fn a_device_that_derives_or_counts_wrongly_in_a_space_is_found_out() {
    let faulty = Pretended { is_faulty: true, ..Pretended::default() };
    let miscounting = Pretended { miscounts: true, ..Pretended::default() };
    for device in [faulty, miscounting] {
        match found_in((&pbkdf2(), &space(""), 0), &[&device], (1..4096, 1)) {
            Err(Error::Canary { kernel }) => assert_eq!(kernel, "pbkdf2-sha256 on pretense:0"),
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn words_that_are_keys_go_to_a_device_at_once() {
    let list: String = (0..3000).map(|at| format!("{at:032}\n{at:032x}\n")).collect();
    let pair = Pair::whole(Direction::Encrypt, *b"a block of input", [0; 16]);
    let pair = pair.planted(&Key::new(Cipher::Aes128, &[0x11; 16]).unwrap());
    let blocks = BlockSearch::new(Cipher::Aes128, &[pair], &Options::default()).unwrap();
    let search = Search::new(Known::Blocks(blocks), Kdf::Exact).unwrap();
    let list = list + &"11".repeat(16) + "\nnone\n";
    let rules = [Rule::nothing()];
    let list =
        List { bytes: list.as_bytes(), form: Form::Hex, rules: &rules, range: 0..u128::MAX, threads: 1 };
    let device = Pretended::default();
    let on_cpu = found(&search, &list, &[]).unwrap();
    let on_device = found(&search, &list, &on(&search, std::slice::from_ref(&device))).unwrap();
    assert_eq!((numbers(&on_device.0), on_device.1), (vec![6000_u32.into()], 6001));
    assert_eq!(on_device, on_cpu);
    // All keys, and once more to find the planted one.
    assert_eq!(device.words.load(Ordering::Relaxed), 2 * 6001);
}

#[test]
fn a_device_that_misses_keys_is_detected() {
    let rules = [Rule::nothing()];
    let list = List { bytes: b"a\nb\nc\n", form: Form::Lines, rules: &rules, range: 0..3, threads: 1 };
    let search = by_word(&Kdf::Zeros, "none");
    // A wrong report is harmless: the last key is not the planted one of this list.
    let device = Pretended { is_faulty: true, ..Pretended::default() };
    match found(&search, &list, &on(&search, &[device])) {
        Err(Error::Canary { kernel }) => assert_eq!(kernel, "aes-256-search on pretense:0"),
        other => panic!("{other:?}"),
    }
}

#[test]
fn what_devices_have_no_use_for_is_told() {
    let mut pair = Pair { mask: [0; 16], ..Pair::whole(Direction::Encrypt, [0; 16], [0; 16]) };
    pair.mask[0] = 0xff;
    let blocks = BlockSearch::new(Cipher::Aes256, &[pair], &Options::default()).unwrap();
    let little_known = Search::new(Known::Blocks(blocks), Kdf::Zeros).unwrap();
    let long_salt = Kdf::Pbkdf2 { hash: Hash::Sha256, salt: vec![1; 244], iterations: 1 };
    for search in [little_known, by_word(&long_salt, "word")] {
        let told = WordDevice::takes(&search).unwrap_err().to_string();
        assert!(
            told.contains("pbkdf2-sha256, with a salt of 243 bytes at most") && !told.contains('\n'),
            "{told}"
        );
        assert!(matches!(WordDevice::new(&search, &Pretended::default()), Err(Error::Device { .. })));
    }
}
