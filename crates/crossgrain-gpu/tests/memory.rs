//! What a kernel was given is gone: after it was used and dropped, no part of its state is left in the memory of the process, on its
//! heap or on a stack.
//!
//! A child process, which is given what to look for masked, makes the secrets and uses them on CPUs and on a device that computes
//! nothing, so that everything is done but for what a driver does. It scans itself while the kernels live, when it must find
//! them, and when they are gone.
#![cfg(target_os = "linux")]
#![allow(missing_docs, clippy::unwrap_used, reason = "a test")]

#[allow(dead_code, reason = "the other test looks for more")]
#[path = "../../crossgrain/tests/scanner/mod.rs"]
mod scanner;
#[allow(dead_code, reason = "another test reads what was told")]
mod spy;

use std::collections::BTreeSet;
use std::process::Command;
use std::sync::Barrier;
use std::thread;

use crossgrain::internal::device::{Kernel, Task};
use crossgrain::{Cipher, Key};
use crossgrain_gpu::parallel::{
    AesBlocks, Combine, Lanes, Loop, Map, Place, Policy, find, generate, transform, transform_reduce,
};
use scanner::{MASK, Needle, Scanner};
use zeroize::Zeroizing;

/// Where a child finds what to look for, a line each.
const NEEDLES: &str = "CROSSGRAIN_TEST_NEEDLES";

/// Words of a kernel's state, masked.
const WORDS: [u32; 4] = [0x9d4f_13c7, 0x6b81_e2a5, 0xd37a_590f, 0x2e96_c4b8];

/// A key, masked.
const KEY: [u8; 32] = *b"what a key is masked by is no ke";

/// A sum of products with words of state.
struct Hash(Zeroizing<Vec<u32>>);

impl Map<1, 1> for Hash {
    #[inline(always)]
    fn map<W: Lanes>(&self, [x]: [W; 1]) -> [W; 1] {
        let mut sum = x;
        for &word in self.0.iter() {
            sum = (sum ^ x.uniform(word))
                .multiply_lanes(sum.rotate_lanes_left::<13>().add_lanes(x.uniform(word)));
        }
        [sum]
    }
}

impl Combine<1> for Hash {
    const IDENTITY: [u32; 1] = [0];

    #[inline(always)]
    fn combine<W: Lanes>(&self, [a]: [W; 1], [b]: [W; 1]) -> [W; 1] {
        [a.add_lanes(b) & (a.uniform(self.0[0]) ^ a.uniform(!self.0[0]))]
    }
}

fn hash() -> Hash {
    let mut words = Zeroizing::new(Vec::with_capacity(WORDS.len()));
    words.extend(WORDS.iter().map(|word| word ^ u32::from_le_bytes([MASK; 4])));
    Hash(words)
}

fn blocks() -> AesBlocks {
    let mut bytes = Zeroizing::new(KEY);
    bytes.iter_mut().for_each(|byte| *byte ^= MASK);
    let key = Key::new(Cipher::Aes256, &bytes[..]).unwrap();
    AesBlocks::new(&key, 77).unwrap()
}

/// Words of a list, masked as they are everywhere here.
const WORDS_OF_A_LIST: [&[u8]; 2] = [b"an old passphrase", b"one longer than the block of a hash, which HMAC takes the digest of first"];

/// How keys are made of them.
fn kdf() -> Kdf {
    Kdf::Pbkdf2 { hash: Hash::Sha256, salt: b"salt".to_vec(), iterations: 3 }
}

/// A word unmasked.
fn word(at: usize) -> Zeroizing<Vec<u8>> {
    let mut word = Zeroizing::new(WORDS_OF_A_LIST[at].to_vec());
    word.iter_mut().for_each(|byte| *byte ^= MASK);
    word
}

fn key_of(at: usize) -> Zeroizing<[u8; 32]> {
    let mut key = Zeroizing::new([0; 32]);
    kdf().derive(&word(at), &mut *key).unwrap();
    key
}

/// Derives keys of words: on lanes of the CPU's, and by devices that compute nothing and are told to be wiped.
fn derive() {
    let derivation = Derivation::new(&kdf(), 32).unwrap();
    let blocks = || {
        let mut blocks = Zeroizing::new([0; 2 * 64]);
        for (at, block) in blocks.chunks_exact_mut(64).enumerate() {
            assert!(derivation.pad(&word(at), block));
        }
        blocks
    };
    let mut keys = Zeroizing::new([0; 2 * 32]);
    derivation.on_cpu(Features::from_environment().unwrap(), &*blocks(), &mut *keys);
    assert!(keys.chunks_exact(32).enumerate().all(|(at, key)| *key == *key_of(at)));
    for gpu in spy::deaf_gpus() {
        let mut derive = Searcher(gpu).derive(&derivation).unwrap();
        derive.derive(&*blocks(), &mut *keys).unwrap();
    }
}

/// Uses both kernels at every place.
fn work(hash: &Hash, blocks: &Loop<AesBlocks>) {
    let mut places: Vec<_> = [Policy::Seq, Policy::Par].map(|policy| policy.open().unwrap()).into();
    places.extend(spy::deaf_grids().map(|grid| Place::on(grid)));
    for place in places {
        generate(blocks, &place, 5000).unwrap();
        let numbers = generate(hash, &place, 200_003).unwrap();
        transform(hash, &numbers).unwrap();
        transform_reduce(hash, hash, &numbers).unwrap();
        find(hash, &numbers).unwrap();
    }
}

/// What is looked for: words in a row and in all lanes, and the key and what a generator keeps of it.
fn needles() -> Vec<(String, Vec<u8>)> {
    let words = WORDS.map(|word| (word ^ u32::from_le_bytes([MASK; 4])).to_le_bytes());
    let key: Vec<_> = KEY.iter().map(|byte| byte ^ MASK).collect();
    let keys =
        Kernel::gates(Cipher::Aes256.family(), Task::Generate).keys(&Key::new(Cipher::Aes256, &key).unwrap());
    let spread: Vec<_> = keys.iter().flat_map(|word| word.to_le_bytes()).collect();
    let mut needles =
        vec![("words".to_owned(), words[..2].concat()), ("words".to_owned(), words[2..].concat())];
    needles.extend(words.map(|word| ("lanes".to_owned(), word.repeat(3))));
    needles.extend(key.chunks(8).map(|part| ("key".to_owned(), part.to_vec())));
    needles.extend(spread.chunks(128).map(|part| ("round keys".to_owned(), part.to_vec())));
    // Bits that are all alike are like much else.
    needles.retain(|(_, bytes)| bytes.iter().collect::<BTreeSet<_>>().len() > 1);
    needles
}

#[test]
fn state_does_not_stay_in_memory() {
    if std::env::var_os(NEEDLES).is_some() {
        return;
    }
    let masked = |bytes: &[u8]| bytes.iter().map(|byte| format!("{:02x}", byte ^ MASK)).collect::<String>();
    let lines: Vec<_> = needles().iter().map(|(name, bytes)| format!("{name}:{}", masked(bytes))).collect();
    for cap in ["portable", "sse2", "avx2", "avx512"] {
        let mut child = Command::new(std::env::current_exe().unwrap());
        child.args(["--exact", "a_child_scans_itself", "--nocapture"]);
        let done = child.env(NEEDLES, lines.join("\n")).env("CROSSGRAIN_ISA", cap).output().unwrap();
        let told = [&done.stdout, &done.stderr].map(|told| String::from_utf8_lossy(told).into_owned());
        assert!(done.status.success(), "{cap}: {}", told.concat());
    }
}

/// What a scan finds, by name and region.
fn found(needles: &[Needle]) -> BTreeSet<(String, String)> {
    Scanner::new(needles).scan().into_iter().map(|found| (found.name, found.region)).collect()
}

#[test]
fn a_child_scans_itself() {
    let Ok(lines) = std::env::var(NEEDLES) else { return };
    let needle = |line: &str| {
        let (name, hex) = line.split_once(':').unwrap();
        let byte = |digits: &[u8]| u8::from_str_radix(str::from_utf8(digits).unwrap(), 16).unwrap();
        Needle::new(name, hex.as_bytes().chunks(2).map(byte).collect())
    };
    let needles: Vec<_> = lines.lines().map(needle).collect();
    // The thread waits while its stack is scanned: with its kernels alive, and when they are gone.
    let turn = Barrier::new(2);
    let [alive, gone] = thread::scope(|scope| {
        scope.spawn(|| {
            let (hash, blocks) = (hash(), Loop(blocks()));
            work(&hash, &blocks);
            turn.wait();
            turn.wait();
            drop((hash, blocks));
            turn.wait();
            turn.wait();
        });
        turn.wait();
        let alive = found(&needles);
        turn.wait();
        turn.wait();
        let gone = found(&needles);
        turn.wait();
        [alive, gone]
    });
    let is_found = |name| alive.iter().any(|(found, _)| found == name);
    assert!(is_found("words") && is_found("round keys"), "{alive:?}");
    assert_eq!(gone, BTreeSet::new());
}
