//! Secrets of kernels and of word searches are erased. After use and drop, no part of the state remains in
//! the process's heap or on its stacks.
//!
//! A child process gets the search patterns masked. It creates the secrets and uses them on CPUs and on a
//! device that computes nothing, so all code runs except a driver's. It scans its own memory twice: while
//! the kernels exist, when it must find the secrets, and after they are dropped.
#![cfg(target_os = "linux")]
#![allow(missing_docs, clippy::unwrap_used, reason = "a test")]

#[allow(dead_code, reason = "the other test looks for more")]
#[path = "../../crossgrain/tests/scanner/mod.rs"]
mod scanner;
#[allow(dead_code, reason = "another test reads what was told")]
mod spy;

use std::collections::BTreeSet;
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Barrier, Mutex};
use std::thread;

use crossgrain::engine::arch::CAPS;
use crossgrain::engine::device::{Form as Gates, Kernel, Task};
use crossgrain::engine::wiping_deep_stack;
use crossgrain::mode::Options;
use crossgrain::{Cipher, Direction, Key};
use crossgrain_gpu::parallel::{
    AesBlocks, Combine, Lanes, Loop, Map, Place, Policy, SerpentBlocks, find, generate, transform,
    transform_reduce,
};
use crossgrain_search::{
    BlockSearch, Counted, Derivation, Device as _, Error as Refusal, Form, Hash as HashName, Kdf, Known,
    Pair, Refused, Rule, Search, Space, SpaceSearch, Watch, WordDevice, WordSearch, Words,
};
use scanner::{MASK, Needle, Scanner, signals};
use zeroize::Zeroizing;

/// Environment variable with the child's search patterns, one per line.
const NEEDLES: &str = "CROSSGRAIN_TEST_NEEDLES";

/// Words of a kernel's state, masked.
const WORDS: [u32; 4] = [0x9d4f_13c7, 0x6b81_e2a5, 0xd37a_590f, 0x2e96_c4b8];

/// A key, masked.
const KEY: [u8; 32] = *b"what a key is masked by is no ke";

/// The ciphers whose generators run as kernels.
const CIPHERS: [Cipher; 2] = [Cipher::Aes256, Cipher::Serpent256];

/// Kernel: a sum of products with words of state.
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

fn blocks() -> (Loop<AesBlocks>, Loop<SerpentBlocks>) {
    let mut bytes = Zeroizing::new(KEY);
    bytes.iter_mut().for_each(|byte| *byte ^= MASK);
    let [aes, serpent] = CIPHERS.map(|cipher| Key::new(cipher, &bytes[..]).unwrap());
    (Loop(AesBlocks::new(&aes, 77).unwrap()), Loop(SerpentBlocks::new(&serpent, 77).unwrap()))
}

/// Words of a list, masked like all secrets here.
const WORDS_OF_A_LIST: [&[u8]; 2] =
    [b"an old passphrase", b"one longer than the block of a hash, which HMAC takes the digest of first"];

/// The key derivation of the words.
fn kdf() -> Kdf {
    Kdf::Pbkdf2 { hash: HashName::Sha256, salt: b"salt".to_vec(), iterations: 3 }
}

/// A word without its mask.
fn word(at: usize) -> Zeroizing<Vec<u8>> {
    let mut word = Zeroizing::new(WORDS_OF_A_LIST[at].to_vec());
    word.iter_mut().for_each(|byte| *byte ^= MASK);
    word
}

fn key_of(at: usize) -> Zeroizing<[u8; 32]> {
    let mut key = Zeroizing::new([0; 32]);
    wiping_deep_stack(|| kdf().derive(&word(at), &mut *key)).unwrap();
    key
}

/// Searches a list that begins with the words. The CPU finds the second word. The devices compute nothing,
/// and the canary check detects this.
fn search_words() {
    let mut list = Zeroizing::new(Vec::with_capacity(1 << 12));
    for line in [&word(0)[..], b"\n", &word(1), b"\n", &b"none\n".repeat(100)] {
        list.extend_from_slice(line);
    }
    let pair = Pair::whole(Direction::Encrypt, [0x11; 16], [0; 16]);
    let pair = pair.planted(&Key::new(Cipher::Aes256, &key_of(1)[..]).unwrap());
    let blocks = BlockSearch::new(Cipher::Aes256, &[pair], &Options::default()).unwrap();
    let search = Search::new(Known::Blocks(blocks), kdf()).unwrap();
    let spies = spy::deaf();
    let devices = spies.map(|gpu| WordDevice::new(&search, &gpu).unwrap());
    for devices in [&[][..], &devices[..1], &devices[1..]] {
        let (hits, refused) = (AtomicUsize::new(0), Mutex::new(Refused::default()));
        let on_hit = |_| {
            hits.fetch_add(1, Ordering::Relaxed);
        };
        let watch = Watch::new(&on_hit);
        let words = Mutex::new(Words::new(&list[..], Form::Lines, 1 << 12));
        let rules = [Rule::nothing()];
        let of_words = WordSearch::new(&search, &rules, 0..u128::MAX).on(devices);
        let done = of_words.chunks(&words, usize::MAX, &refused, &watch);
        match devices {
            [] => assert!(done.unwrap() && hits.into_inner() == 1),
            // The only chunk went either to the device or to a thread.
            _ => assert!(matches!(done, Ok(true) | Err(Refusal::Canary { .. }))),
        }
    }
    let mut blocks = Zeroizing::new([0; 2 * 64]);
    for (at, block) in blocks.chunks_exact_mut(64).enumerate() {
        assert!(Derivation::new(&kdf(), 32).unwrap().pad(&word(at), block));
    }
    let derivation = Derivation::new(&kdf(), 32).unwrap();
    // The last byte of the candidates varies; the others are known.
    let mut places: Vec<_> = word(0).iter().map(|byte| vec![*byte]).collect();
    places.push((0..200).collect());
    let space = Space::of_bytes(&places).unwrap();
    for gpu in spy::deaf() {
        let mut derive = gpu.derive(&derivation).unwrap();
        derive.derive(&*blocks, &mut *Zeroizing::new([0; 64])).unwrap();
        let counted = Counted::new(&space, &derivation, &3_u8.into()).unwrap();
        derive.derive_counted(&counted, &mut *Zeroizing::new([0; 64])).unwrap();
        let prepared = SpaceSearch::on(&search, &space, &[&gpu]).unwrap();
        let done = prepared.shard(&(0_u8.into()..200_u8.into()), &Watch::new(&|_| {}));
        assert!(matches!(done, Ok(true) | Err(Refusal::Canary { .. })));
    }
    wiping_deep_stack(|| ());
}

/// Uses all kernels at every place.
fn work(hash: &Hash, (aes, serpent): &(Loop<AesBlocks>, Loop<SerpentBlocks>)) {
    search_words();
    let mut places: Vec<_> = [Policy::Seq, Policy::Par].map(|policy| policy.open().unwrap()).into();
    places.extend(spy::deaf().map(Place::on));
    for place in places {
        generate(aes, &place, 5000).unwrap();
        generate(serpent, &place, 5000).unwrap();
        let numbers = generate(hash, &place, 200_003).unwrap();
        transform(hash, &numbers).unwrap();
        transform_reduce(hash, hash, &numbers).unwrap();
        find(hash, &numbers).unwrap();
    }
}

/// The search patterns: words in sequence and in all lanes, the key, and the state that a generator derives
/// from it.
fn needles() -> Vec<(String, Vec<u8>)> {
    let words = WORDS.map(|word| (word ^ u32::from_le_bytes([MASK; 4])).to_le_bytes());
    let key: Vec<_> = KEY.iter().map(|byte| byte ^ MASK).collect();
    let spread = CIPHERS.map(|cipher| {
        let kernel = Kernel { family: cipher.family(), task: Task::Generate, form: Gates::Bits };
        let keys = kernel.keys(&Key::new(cipher, &key).unwrap());
        keys.iter().flat_map(|word| word.to_le_bytes()).collect::<Vec<_>>()
    });
    let mut needles =
        vec![("words".to_owned(), words[..2].concat()), ("words".to_owned(), words[2..].concat())];
    needles.extend(words.map(|word| ("lanes".to_owned(), word.repeat(3))));
    needles.extend(key.chunks(8).map(|part| ("key".to_owned(), part.to_vec())));
    for (name, spread) in ["AES's round keys", "Serpent's round keys"].into_iter().zip(&spread) {
        needles.extend(spread.chunks(128).map(|part| (name.to_owned(), part.to_vec())));
    }
    needles.extend(listed());
    // Patterns of equal bytes occur everywhere, so they are excluded.
    needles.retain(|(_, bytes)| bytes.iter().collect::<BTreeSet<_>>().len() > 1);
    needles
}

/// Patterns for the words of the list and their keys: unchanged, with the bytes of each 32-bit number
/// reversed, and with numbers of both side by side as in lanes.
fn listed() -> Vec<(String, Vec<u8>)> {
    let mut needles = Vec::new();
    for (name, [one, other]) in
        [("listed", [0, 1].map(|at| word(at).to_vec())), ("derived", [0, 1].map(|at| key_of(at).to_vec()))]
    {
        let reversed = |bytes: &[u8]| {
            bytes.as_chunks::<4>().0.iter().map(|&[a, b, c, d]| [d, c, b, a]).collect::<Vec<_>>()
        };
        let [one_reversed, other_reversed] = [reversed(&one), reversed(&other)];
        needles.extend([&one, &other].into_iter().flat_map(|all| all.chunks_exact(8)).map(<[u8]>::to_vec));
        let pairs = [&one_reversed, &other_reversed].into_iter().flat_map(|all| all.as_chunks::<2>().0);
        needles.extend(pairs.map(|pair| pair.concat()));
        // The second word is longer than a block, so HMAC uses its digest and lanes never contain the word.
        if name == "derived" {
            needles
                .extend(one_reversed.iter().zip(&other_reversed).map(|(one, other)| [*one, *other].concat()));
            needles.extend(
                one.chunks_exact(4).zip(other.chunks_exact(4)).map(|(one, other)| [one, other].concat()),
            );
        }
    }
    needles.into_iter().map(|bytes| ("listed".to_owned(), bytes)).collect()
}

#[test]
fn state_does_not_stay_in_memory() {
    if std::env::var_os(NEEDLES).is_some() {
        return;
    }
    let masked = |bytes: &[u8]| bytes.iter().map(|byte| format!("{:02x}", byte ^ MASK)).collect::<String>();
    let lines: Vec<_> = needles().iter().map(|(name, bytes)| format!("{name}:{}", masked(bytes))).collect();
    for cap in CAPS.into_iter().filter(|cap| !cap.contains('-')) {
        let mut child = Command::new(std::env::current_exe().unwrap());
        child.args(["--exact", "a_child_scans_itself", "--nocapture"]);
        let done = child.env(NEEDLES, lines.join("\n")).env("CROSSGRAIN_ISA", cap).output().unwrap();
        let told = [&done.stdout, &done.stderr].map(|told| String::from_utf8_lossy(told).into_owned());
        assert!(done.status.success(), "{cap}: {}", told.concat());
    }
}

/// The findings of a scan, as name and region.
fn found(needles: &[Needle]) -> BTreeSet<(String, String)> {
    signals::save_registers_of_others();
    Scanner::new(needles).scan().into_iter().map(|found| (found.name, found.region)).collect()
}

#[test]
fn a_child_scans_itself() {
    let Ok(lines) = std::env::var(NEEDLES) else { return };
    signals::install();
    let needle = |line: &str| {
        let (name, hex) = line.split_once(':').unwrap();
        let byte = |digits: &[u8]| u8::from_str_radix(str::from_utf8(digits).unwrap(), 16).unwrap();
        Needle::new(name, hex.as_bytes().chunks(2).map(byte).collect())
    };
    let needles: Vec<_> = lines.lines().map(needle).collect();
    // The thread waits while its stack is scanned: once with its kernels, and once after it has dropped
    // them.
    let turn = Barrier::new(2);
    let [alive, gone] = thread::scope(|scope| {
        scope.spawn(|| {
            let (hash, blocks) = (hash(), blocks());
            work(&hash, &blocks);
            turn.wait();
            turn.wait();
            drop((hash, blocks));
            signals::save_own_registers();
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
    assert!(["words", "AES's round keys", "Serpent's round keys"].into_iter().all(is_found), "{alive:?}");
    assert_eq!(gone, BTreeSet::new());
}
