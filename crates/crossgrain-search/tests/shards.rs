//! Searches by shards: the planted key is found at the first, the last and middle places, on every code path.
//! A kernel that skips keys is detected.
#![allow(missing_docs, clippy::unwrap_used, reason = "a test")]

#[path = "../../crossgrain/tests/common/basics.rs"]
mod common;

use std::io::Cursor;
use std::ops::Range;
use std::sync::{Arc, Mutex};

use common::painted;
use crossgrain::engine::check;
use crossgrain::engine::kernel::search::{Inner as Prepared, SearchPart};
use crossgrain::engine::reference::{self, xts};
use crossgrain::mode::{Initial, Mode, Options, Start};
use crossgrain::plan::TableReuse;
use crossgrain::{Block, Cipher, Direction, Key};
use crossgrain_container::{Argon2id, Header, Limits, Payload, Suite};
use crossgrain_search::{
    BigUint, BlockMode, BlockSearch, Data, Error, File, Form, Hit, Kdf, Kernel, Known, Look, Pair, Plausible,
    Refused, Rule, Search, Sets, Space, SpaceSearch, Tagged, Test, Watch, WordSearch, Words, XtsSector,
    key_mask, pairs,
};

fn big(number: u128) -> BigUint {
    BigUint::from(number)
}

/// The pair of a key for a fixed input block.
fn pair_of(cipher: Cipher, key: &[u8]) -> Pair {
    Pair::whole(Direction::Encrypt, *b"a block of input", [0; 16]).planted(&Key::new(cipher, key).unwrap())
}

fn by_pair(cipher: Cipher, key: &[u8], kdf: Kdf) -> Search {
    let blocks = BlockSearch::new(cipher, &[pair_of(cipher, key)], &Options::default()).unwrap();
    Search::new(Known::Blocks(blocks), kdf).unwrap()
}

/// The hits among some candidates of a space, and the number of candidates tried.
fn found(search: &Search, space: &Space, range: Range<u128>) -> (Vec<Hit>, u64) {
    let hits = Mutex::new(Vec::new());
    let on_hit = |hit| hits.lock().unwrap().push(hit);
    let watch = Watch::new(&on_hit);
    assert!(
        SpaceSearch::new(search, space).unwrap().shard(&(big(range.start)..big(range.end)), &watch).unwrap()
    );
    let tried = watch.tried();
    (hits.into_inner().unwrap(), tried)
}

/// The numbers of the hits in ascending order: threads report in any order.
fn numbers(hits: &[Hit]) -> Vec<u128> {
    let mut numbers: Vec<_> = hits.iter().map(|hit| u128::try_from(&hit.number).unwrap()).collect();
    numbers.sort_unstable();
    numbers
}

#[test]
fn a_key_is_found_at_every_edge_of_a_shard_and_not_beyond() {
    let space = key_mask(b"00112233?4?566778899a?b?ccddeef?").unwrap();
    let size = 1 << 20;
    assert_eq!(space.size(), big(size));
    for place in [0, 1, 4095, 4096, 77_777, size - 1] {
        let key = space.candidates(&big(place), 1);
        let search = by_pair(Cipher::Aes128, &key, Kdf::Exact);
        for range in [place..place + 1, place.saturating_sub(300)..place + 1, place..(place + 5000).min(size)]
        {
            let (hits, tried) = found(&search, &space, range.clone());
            assert_eq!(numbers(&hits), [place], "{range:?}");
            assert_eq!((&hits[0].key, &hits[0].candidate), (&key, &key));
            assert_eq!(u128::from(tried), range.end - range.start);
        }
        let beside = found(&search, &space, place + 1..(place + 1000).min(size).max(place + 1));
        assert!(beside.0.is_empty() && found(&search, &space, place.saturating_sub(9)..place).0.is_empty());
    }
}

#[test]
fn every_cipher_and_padding_is_searched() {
    for cipher in Cipher::ALL {
        let space = Sets::default().bytes(b"pa?lw?d?u").unwrap();
        for kdf in [Kdf::Zeros, Kdf::Repeat, Kdf::Sha256] {
            let place = 2345;
            let mut key = vec![0; cipher.key_bytes()];
            kdf.derive(&space.candidates(&big(place), 1), &mut key).unwrap();
            let (hits, tried) = found(&by_pair(cipher, &key, kdf.clone()), &space, 1000..4000);
            assert_eq!((numbers(&hits), tried), (vec![place], 3000), "{cipher} {kdf:?}");
            assert_eq!(hits[0].key.as_slice(), key);
        }
    }
}

#[test]
fn a_range_of_keys_far_out_is_searched() {
    let space = Space::every(16);
    let first = u128::MAX - 9999;
    let search = by_pair(Cipher::Aes128, &(u128::MAX - 3).to_be_bytes(), Kdf::Exact);
    let (hits, _) = found(&search, &space, first..u128::MAX);
    assert_eq!(numbers(&hits), [u128::MAX - 3]);
}

#[test]
fn a_space_of_the_wrong_length_is_refused() {
    let search = by_pair(Cipher::Aes128, &[1; 16], Kdf::Exact);
    for len in [15, 17] {
        assert!(matches!(SpaceSearch::new(&search, &Space::every(len)), Err(Error::BadCandidate(_))));
    }
}

/// The reference with a fault: it skips one inner key in eight.
struct Faulty(Cipher, Pair);

impl SearchPart for Faulty {
    fn lanes(&self) -> usize {
        1
    }

    fn inner(&self, keys: &[u8], _usage: TableReuse) -> Box<dyn Prepared> {
        Box::new(FaultyTable(self.0, self.1, keys.to_vec()))
    }
}

struct FaultyTable(Cipher, Pair, Vec<u8>);

impl Prepared for FaultyTable {
    fn keys(&self) -> usize {
        self.2.len() / self.0.key_bytes()
    }

    fn refill(&mut self, keys: &[u8], _usage: TableReuse) {
        self.2 = keys.to_vec();
    }

    fn search(&self, outer: &[u8], _scratch: &mut Vec<u64>, found: &mut Vec<usize>) {
        let inner: Vec<_> = self.2.chunks(self.0.key_bytes()).collect();
        for i in (0..inner.len()).filter(|i| i % 8 != 5) {
            let key: Vec<u8> = outer.iter().zip(inner[i]).map(|(a, b)| a ^ b).collect();
            if self.1.holds(&Key::new(self.0, &key).unwrap()) {
                found.push(i);
            }
        }
    }
}

#[test]
fn a_faulty_kernel_is_found_out_by_the_key_planted() {
    let faulty = Kernel {
        name: "search/faulty".to_owned(),
        bind: Arc::new(|&known| Ok(Box::new(Faulty(Cipher::Aes128, Pair::from(known))))),
    };
    let pair = pair_of(Cipher::Aes128, &[9; 16]);
    let blocks = BlockSearch::by(faulty, Cipher::Aes128, &[pair]).unwrap();
    let search = Search::new(Known::Blocks(blocks), Kdf::Exact).unwrap();
    let space = Space::every(16);
    let prepared = SpaceSearch::new(&search, &space).unwrap();
    let caught = (0..64_u64).filter(|shard| {
        let watch = Watch::new(&|_| ());
        let range = BigUint::from(shard * 100)..BigUint::from((shard + 1) * 100);
        match prepared.shard(&range, &watch) {
            Err(Error::Canary { kernel }) => kernel == "search/faulty",
            other => !other.unwrap(),
        }
    });
    let caught = caught.count();
    assert!((2..30).contains(&caught), "{caught} of 64 shards, and one key in eight is passed over");
}

/// The hits in a word list, and the refused words.
fn found_in_words(
    search: &Search,
    list: &[u8],
    form: Form,
    rules: &[Rule],
    range: Range<u128>,
) -> (Vec<Hit>, u64, Refused) {
    let (hits, refused) = (Mutex::new(Vec::new()), Mutex::new(Refused::default()));
    let on_hit = |hit| hits.lock().unwrap().push(hit);
    let watch = Watch::new(&on_hit);
    let words = Mutex::new(Words::new(Cursor::new(list), form, 1000));
    assert!(WordSearch::new(search, rules, range).chunks(&words, usize::MAX, &refused, &watch).unwrap());
    let tried = watch.tried();
    (hits.into_inner().unwrap(), tried, refused.into_inner().unwrap())
}

#[test]
fn a_word_is_found_wherever_it_stands_in_a_list() {
    let words: Vec<String> = (0..9000).map(|n| format!("word{n}")).collect();
    let list = words.join("\r\n");
    let rules = Rule::parse_all(b":\nc $1").unwrap();
    for (place, rule, text) in [(0, 0, "word0"), (8999, 0, "word8999"), (4321, 1, "Word43211")] {
        let mut key = [0; 16];
        Kdf::Sha256.derive(text.as_bytes(), &mut key).unwrap();
        let search = by_pair(Cipher::Serpent128, &key, Kdf::Sha256);
        let number = 2 * place + rule;
        let (hits, tried, refused) =
            found_in_words(&search, list.as_bytes(), Form::Lines, &rules, 0..u128::MAX);
        assert_eq!((numbers(&hits), tried, refused), (vec![number], 18_000, Refused::default()));
        assert_eq!(hits[0].candidate.as_slice(), text.as_bytes());
        // Parts of a list: the one with the word, and those on either side of it.
        for (range, count) in [(number..number + 1, 1), (0..number, 0), (number + 1..20_000, 0)] {
            let (hits, tried, _) =
                found_in_words(&search, list.as_bytes(), Form::Lines, &rules, range.clone());
            assert_eq!(hits.len(), count, "{range:?}");
            assert_eq!(u128::from(tried), range.end.min(18_000) - range.start, "{range:?}");
        }
    }
}

#[test]
fn what_is_no_key_is_counted_with_its_place() {
    let key = [0xab; 16];
    let search = by_pair(Cipher::Aes128, &key, Kdf::Exact);
    let list = format!("xyz\n{0}\n{0}00\nabc\n{1}\n{0}", "ab".repeat(16), "cd".repeat(15));
    let (hits, tried, refused) =
        found_in_words(&search, list.as_bytes(), Form::Hex, &[Rule::nothing()], 0..99);
    assert_eq!((numbers(&hits), tried), (vec![1, 5], 2));
    let told: Vec<_> = refused.iter().map(|(why, count, first)| (why.reason(), count, first)).collect();
    assert_eq!(told, [("too long", 1, 2), ("too short", 1, 4), ("not in hex", 2, 0)]);
    let records = [vec![1; 16], key.to_vec(), vec![2; 7]].concat();
    let form = Form::Records { len_bytes: 16 };
    let (hits, tried, refused) = found_in_words(&search, &records, form, &[Rule::nothing()], 0..99);
    assert_eq!((numbers(&hits), tried), (vec![1], 2));
    assert_eq!(refused.iter().map(|(_, count, first)| (count, first)).collect::<Vec<_>>(), [(1, 2)]);
}

#[test]
fn keys_in_hex_are_found_among_lines_of_all_kinds() {
    let key = [0x5c; 16];
    let search = by_pair(Cipher::Aes128, &key, Kdf::Exact);
    let line = |n: usize| match n {
        _ if n % 1000 == 7 => "5C".repeat(16) + "\n",
        _ if n % 97 == 3 => "not hex\n".to_owned(),
        _ if n % 10 == 5 => format!("{n:032x}\r\n"),
        _ if n > 8000 => format!("{n:032X}\r\n"),
        _ => format!("{n:032x}\n"),
    };
    let list: String = (0..10_000).map(line).collect();
    let wrong = (0..10_000_u64).filter(|n| n % 1000 != 7 && n % 97 == 3).count() as u64;
    for (range, want) in [(0..u128::MAX, 0..10), (7..3007, 0..3), (8..9008, 1..10)] {
        let whole = range.end > 10_000;
        let (hits, tried, refused) =
            found_in_words(&search, list.as_bytes(), Form::Hex, &[Rule::nothing()], range);
        assert_eq!(numbers(&hits), want.map(|n| 1000 * n + 7).collect::<Vec<_>>());
        if whole {
            let left_out: u64 = refused.iter().map(|(_, count, _)| count).sum();
            assert_eq!((left_out, tried), (wrong, 10_000 - wrong));
        }
    }
}

const IV: Block =
    [0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xfe];

/// Modes whose blocks give pairs under the key itself.
fn block_modes() -> impl Iterator<Item = (Mode, BlockMode)> {
    Mode::ALL.into_iter().filter_map(|mode| Some((mode, BlockMode::new(mode, iv_of(mode)).ok()?)))
}

fn iv_of(mode: Mode) -> &'static [u8] {
    if mode.entry().initial == Initial::Nothing { &[] } else { &IV }
}

/// Data encrypted by the reference; and its tag, as 16 bytes of which `tag_bytes` are used.
fn encrypted(
    mode: Mode,
    key: (Cipher, &[u8]),
    (iv, aad, tag_bytes): (&[u8], &[u8], usize),
    data: &[u8],
) -> (Vec<u8>, Option<Block>) {
    let (start, mut data) = (Start { iv, ..Start::default() }, data.to_vec());
    let (encrypt, tag) = (Direction::Encrypt, &[0; 16][..tag_bytes]);
    let tag = check::mode_by_reference(mode, key, encrypt, &start, aad, tag, &mut data);
    (data, tag.unwrap())
}

#[test]
fn the_pairs_of_every_mode_hold_under_its_key_and_no_other() {
    assert_eq!(block_modes().count(), 7);
    for (cipher, (name, mode)) in
        Cipher::ALL.into_iter().flat_map(|cipher| block_modes().map(move |mode| (cipher, mode)))
    {
        let (key, other) = (common::key(cipher, 1), common::key(cipher, 2));
        let plaintext = painted(64, 3);
        let (ciphertext, _) = encrypted(name, (cipher, key.bytes()), (iv_of(name), &[], 0), &plaintext);
        for known_bytes in [1, 15, 16, 17, 40, 64] {
            let mask = vec![0xff; known_bytes];
            let data = Data { plaintext: &plaintext[..known_bytes], mask: &mask, ciphertext: &ciphertext };
            let pairs = pairs(mode, data).unwrap();
            assert_eq!(pairs.iter().map(Pair::known_bits).sum::<u32>(), 8 * known_bytes as u32);
            assert!(pairs.iter().all(|pair| pair.holds(&key)), "{cipher} {mode:?} {known_bytes}");
            assert!(pairs.iter().filter(|pair| pair.known_bits() > 64).all(|pair| !pair.holds(&other)));
        }
        // Only scattered bytes are known.
        let mask: Vec<u8> = (0..64).map(|at| if at % 16 == 3 || at >= 32 { 0x7f } else { 0 }).collect();
        let pairs =
            pairs(mode, Data { plaintext: &plaintext, mask: &mask, ciphertext: &ciphertext }).unwrap();
        assert!(!pairs.is_empty() && pairs.iter().all(|pair| pair.holds(&key)), "{cipher} {mode:?}");
    }
    let short = Data { plaintext: &[0; 17], mask: &[255; 17], ciphertext: &[0; 20] };
    assert!(matches!(
        pairs(BlockMode::new(Mode::Ecb, &[]).unwrap(), short),
        Err(Error::ShortCiphertext { .. })
    ));
    assert!(pairs(BlockMode::new(Mode::Ctr, &IV).unwrap(), short).is_ok());
    for (mode, iv, words) in
        [(Mode::Gcm, &IV[..], "choose one of ecb"), (Mode::Ecb, &IV, "no iv"), (Mode::Cbc, &[], "16 bytes")]
    {
        let refusal = BlockMode::new(mode, iv).unwrap_err().to_string();
        assert!(refusal.contains(words), "{refusal}");
    }
}

/// Checks that a test finds its key in a list, and holds for no other key there.
fn finds(test: impl Test + 'static, key: &[u8]) {
    let name = test.name();
    let words: Vec<Vec<u8>> = (0..20).map(|n| painted(key.len(), 100 + n)).collect();
    let list = [words[..10].concat(), key.to_vec(), words[10..].concat()].concat();
    let search = Search::new(Known::Test(Box::new(test)), Kdf::Exact).unwrap();
    assert_eq!(search.kernel(TableReuse::Once), name);
    let form = Form::Records { len_bytes: key.len() };
    let (hits, tried, _) = found_in_words(&search, &list, form, &[Rule::nothing()], 0..99);
    assert_eq!((numbers(&hits), tried), (vec![10], 21), "{name}");
    assert_eq!(hits[0].key.as_slice(), key, "{name}");
}

#[test]
fn slow_tests_find_their_key() {
    let options = Options { threads: 1, ..Options::default() };
    let plaintext = painted(96, 5);
    for cipher in [Cipher::Aes192, Cipher::Serpent256] {
        let key = common::key(cipher, 7);
        let keys = painted(2 * cipher.key_bytes(), 8);
        let halves: Vec<_> = keys
            .chunks(cipher.key_bytes())
            .map(|half| reference::cipher(&Key::new(cipher, half).unwrap()))
            .collect();
        for (len, known_bytes) in [(96, 5), (96, 96), (93, 93)] {
            let mut ciphertext = plaintext[..len].to_vec();
            xts::xts(&*halves[0], &*halves[1], Direction::Encrypt, 77, &mut ciphertext);
            let plaintext = plaintext[..known_bytes].to_vec();
            finds(
                XtsSector { cipher, sector: 77, mask: vec![0xff; known_bytes], plaintext, ciphertext },
                &keys,
            );
        }
        let authenticated = Mode::ALL.into_iter().filter(|mode| mode.is_authenticated());
        let admitted = authenticated.filter(|mode| mode.admits(cipher).is_ok());
        for (mode, tag_bytes) in admitted.flat_map(|mode| [16, 12].map(|tag_bytes| (mode, tag_bytes))) {
            if !mode.entry().tag_bytes.contains(&tag_bytes) {
                continue;
            }
            let (nonce, aad, keys) = (painted(12, 9), painted(3, 10), painted(mode.key_bytes(cipher), 1));
            let given = (&nonce[..], &aad[..], tag_bytes);
            let (ciphertext, tag) = encrypted(mode, (cipher, &keys), given, &plaintext);
            let (tag, options) = (tag.unwrap()[..tag_bytes].to_vec(), options.clone());
            finds(Tagged { cipher, mode, nonce, aads: vec![aad], ciphertext, tag, options }, &keys);
        }
        for (name, mode) in block_modes() {
            let text = b"Printable text, that is what it is, of 64 bytes, more or less...".to_vec();
            for look in [Look::Printable, Look::Magic(vec![b"\x89PNG".to_vec(), b"Print".to_vec()])] {
                let (ciphertext, _) = encrypted(name, (cipher, key.bytes()), (iv_of(name), &[], 0), &text);
                finds(Plausible { cipher, mode, ciphertext, look, options: options.clone() }, key.bytes());
            }
        }
    }
}

#[test]
fn files_are_found_by_their_passphrase_or_key() {
    let options = Options { threads: 1, ..Options::default() };
    let argon2id = Argon2id { memory_kib: 64, passes: 1, lanes: 1, salt: [3; 16] };
    let suite = Suite::Aes256Gcm;
    let by_passphrase = Header::of_passphrase(suite, argon2id);
    let secret = b"correct horse battery staple";
    let limits = Limits::default();
    let key = by_passphrase.input_key(crossgrain_container::Secret::Passphrase(secret), &limits).unwrap();
    for (header, candidate, key) in
        [(by_passphrase, &secret[..], key.to_vec()), (Header::of_key(suite), &[5; 32], vec![5; 32])]
    {
        let payload = Payload::fresh(suite, &key, &header.to_bytes(), &options).unwrap();
        finds(File { header, prefix: *payload.prefix(), limits, options: options.clone() }, candidate);
    }
}

#[test]
fn what_a_test_refuses_is_told_at_once() {
    let options = Options::default();
    let cipher = Cipher::Aes128;
    let tagged = |nonce: &[u8], tag_bytes| Tagged {
        cipher,
        mode: Mode::Gcm,
        nonce: nonce.to_vec(),
        aads: Vec::new(),
        ciphertext: vec![1; 16],
        tag: vec![0; tag_bytes],
        options: options.clone(),
    };
    let refused = |test: Box<dyn Test>| Search::new(Known::Test(test), Kdf::Exact).unwrap_err().to_string();
    assert!(refused(Box::new(tagged(b"", 16))).contains("nonce"));
    assert!(refused(Box::new(tagged(b"nonce", 3))).contains("tag"));
    let mode = BlockMode::new(Mode::Ecb, &[]).unwrap();
    let (ciphertext, look) = (vec![0; 17], Look::Printable);
    assert!(refused(Box::new(Plausible { cipher, mode, ciphertext, look, options })).contains("blocks"));
}
