//! Measures key derivation on one thread, in words per second. The functions are PBKDF2 with SHA-1, SHA-256 and
//! SHA-512 and plain SHA-256, on lanes in registers of every width, and by the crates `pbkdf2`, `sha1` and `sha2`. It also
//! measures how fast one thread feeds words to a device that takes no time.
//!
//! `cargo run --release -p crossgrain-search --all-features --example derive -- [ITERATIONS]`. The fastest of seven runs
//! counts.
#![allow(clippy::unwrap_used, reason = "an example")]

use std::sync::Mutex;
use std::time::{Duration, Instant};

use crossgrain::engine::arch::CAPS;
use crossgrain::engine::device::search::Search as Program;
use crossgrain::engine::kernel::search::Known as Block;
use crossgrain::mode::Options;
use crossgrain::{Cipher, Direction, Features};
use crossgrain_search::{
    BlockSearch, Counted, Derivation, Derive, Device, Failure, Form, Hash, Kdf, KeyList, Known, Pair,
    Refused, Rule, Search, Table, Watch, WordDevice, WordSearch, Words,
};

const WORDS: usize = 64;
const KEY_BYTES: usize = 32;

fn fastest(mut work: impl FnMut()) -> Duration {
    let turn = |_| {
        let start = Instant::now();
        work();
        start.elapsed()
    };
    (0..7).map(turn).min().unwrap()
}

fn pbkdf2(hash: Hash, iterations: u32) -> Kdf {
    Kdf::Pbkdf2 { hash, salt: b"salt".to_vec(), iterations }
}

fn word(at: usize) -> String {
    format!("word{at}")
}

fn told(name: &str, count: usize, time: Duration) {
    println!("{name:24} {:12.0} words/s", count as f64 / time.as_secs_f64());
}

/// Derives keys from many words, by the crates and by lanes.
fn derivations(kdf: &Kdf, times: usize) {
    let derivation = Derivation::new(kdf, KEY_BYTES).unwrap();
    let block_bytes = derivation.block_bytes();
    let (mut blocks, mut keys) = (vec![0; block_bytes * WORDS], vec![0; KEY_BYTES * WORDS]);
    for (at, block) in blocks.chunks_exact_mut(block_bytes).enumerate() {
        assert!(derivation.pad(word(at).as_bytes(), block));
    }
    let words: Vec<_> = (0..WORDS).map(word).collect();
    let mut one_by_one = vec![0; KEY_BYTES * WORDS];
    let time = fastest(|| {
        for _ in 0..times {
            for (word, key) in words.iter().zip(one_by_one.chunks_exact_mut(KEY_BYTES)) {
                kdf.derive(word.as_bytes(), key).unwrap();
            }
        }
    });
    told(&format!("{}, one by one", derivation.name()), times * WORDS, time);
    for name in CAPS {
        let features = name.parse::<Features>().unwrap() & Features::of_cpu();
        let time = fastest(|| (0..times).for_each(|_| derivation.on_cpu(features, &blocks, &mut keys)));
        assert!(keys == one_by_one);
        told(&format!("{}, {name}", derivation.name()), times * WORDS, time);
    }
}

/// A device that returns the same key for every word. The list repeats one word, so this key is right.
struct Idle(Vec<u8>);

impl Device for Idle {
    fn name(&self) -> String {
        "idle:0".to_owned()
    }

    fn table(&self, _: Program, _: &Block, _: &[u8]) -> Result<Box<dyn Table>, Failure> {
        Err("it tries no keys".into())
    }

    fn list(&self, _: Program, _: &Block, _: usize) -> Result<Box<dyn KeyList>, Failure> {
        Err("it tries no keys".into())
    }

    fn derive(&self, _: &Derivation) -> Result<Box<dyn Derive>, Failure> {
        Ok(Box::new(Self(self.0.clone())))
    }
}

impl Derive for Idle {
    fn words(&self) -> usize {
        1 << 17
    }

    fn derive(&mut self, _: &[u8], keys: &mut [u8]) -> Result<(), Failure> {
        keys.chunks_exact_mut(KEY_BYTES).for_each(|key| key.copy_from_slice(&self.0));
        Ok(())
    }

    fn derive_counted(&mut self, _: &Counted, keys: &mut [u8]) -> Result<(), Failure> {
        self.derive(&[], keys)
    }
}

fn feeding() {
    let (kdf, list) = (pbkdf2(Hash::Sha256, 1), b"password1\n".repeat(1 << 20));
    let mut key = vec![0; KEY_BYTES];
    kdf.derive(b"password1", &mut key).unwrap();
    let pair = Pair::whole(Direction::Encrypt, [1; 16], [2; 16]);
    let blocks = BlockSearch::new(Cipher::Aes256, &[pair], &Options::default()).unwrap();
    let search = Search::new(Known::Blocks(blocks), kdf).unwrap();
    let (devices, rules) = ([WordDevice::new(&search, &Idle(key)).unwrap()], [Rule::nothing()]);
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
    let time = fastest(|| {
        let words = Mutex::new(Words::new(&list[..], Form::Lines, search.chunk_bytes()));
        let watch = Watch::new(&|_| ());
        let of_words = WordSearch::new(&search, &rules, 0..u128::MAX).on(&devices);
        let done =
            pool.install(|| of_words.chunks(&words, usize::MAX, &Mutex::new(Refused::default()), &watch));
        assert!(done.unwrap() && watch.tried() == 1 << 20);
    });
    told("fed to a device", 1 << 20, time);
}

fn main() {
    let iterations = std::env::args().nth(1).map_or(1000, |typed| typed.parse().unwrap());
    for hash in [Hash::Sha1, Hash::Sha256, Hash::Sha512] {
        derivations(&pbkdf2(hash, iterations), 1);
    }
    derivations(&Kdf::Sha256, 1000);
    feeding();
}
