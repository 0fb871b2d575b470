//! PBKDF2 with SHA-256 on one thread: words a second by lanes of 32 bits, in registers of every width, and by the crate `pbkdf2`.
//!
//! `cargo run --release -p crossgrain-search --example derive -- [ITERATIONS]`. The fastest of seven turns counts.
#![allow(clippy::unwrap_used, reason = "an example")]

use std::time::{Duration, Instant};

use crossgrain::Features;
use crossgrain_search::{Derivation, Hash, Kdf};

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

fn main() {
    let iterations = std::env::args().nth(1).map_or(1000, |typed| typed.parse().unwrap());
    let kdf = Kdf::Pbkdf2 { hash: Hash::Sha256, salt: b"salt".to_vec(), iterations };
    let derivation = Derivation::new(&kdf, KEY_BYTES).unwrap();
    let (mut blocks, mut keys) = (vec![0; 64 * WORDS], vec![0; KEY_BYTES * WORDS]);
    let word = |at: usize| format!("word{at}");
    for (at, block) in blocks.chunks_exact_mut(64).enumerate() {
        block[..word(at).len()].copy_from_slice(word(at).as_bytes());
    }
    let mut one_by_one = vec![0; KEY_BYTES * WORDS];
    let time = fastest(|| {
        for (at, key) in one_by_one.chunks_exact_mut(KEY_BYTES).enumerate() {
            kdf.derive(word(at).as_bytes(), key).unwrap();
        }
    });
    let told = |name: &str, time: Duration| {
        println!("{name:10} {:10.0} words/s", WORDS as f64 / time.as_secs_f64());
    };
    told("one by one", time);
    let all = Features::of_cpu();
    let narrower = all.without(Features::AVX512);
    let caps = [
        ("512 bits", all),
        ("256 bits", narrower),
        ("128 bits", Features::SSE2),
        ("32 bits", Features::NONE),
    ];
    for (name, features) in caps {
        let time = fastest(|| derivation.on_cpu(features, &blocks, &mut keys));
        assert!(keys == one_by_one);
        told(name, time);
    }
}
