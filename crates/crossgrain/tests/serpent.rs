//! Serpent: its published answers, its two descriptions, and every variant against them. The sources are
//! noted with the answers. All bytes are in NESSIE's order.
#![allow(missing_docs, clippy::unwrap_used, reason = "a test")]

mod common;

use std::collections::BTreeSet;

use common::{
    CAPS, bundle_blocks, capped, ciphers, counted, expected, family_key_of, forced_jobs, here, hex, key,
    loads, other, other_single, painted, run, stores,
};
use crossgrain::engine::arch::{Isa, Kernel, Lane32, Register, Tile};
use crossgrain::engine::block::Family;
use crossgrain::engine::cipher::serpent::description::{
    S_BOXES, inv_transform, inverted, substitute, transform,
};
use crossgrain::engine::cipher::serpent::key::RoundKeys;
use crossgrain::engine::cipher::serpent::schedule::{KeyWord, Schedule};
use crossgrain::engine::cipher::serpent::steps as serpent;
use crossgrain::engine::kernel::{Keys, Part, steps};
use crossgrain::engine::reference;
use crossgrain::engine::variant::{Action, Variant, table};
use crossgrain::for_each_register;
use crossgrain::mode::{Options, OwnKeys, Record};
use crossgrain::plan::{Job, JobSource};
use crossgrain::{Block, Buffers, Cipher, Direction, Features, Key};

/// Key, plaintext, ciphertext, and the ciphertext after 100 encryptions if it is known.
type Answer = (&'static str, &'static str, &'static str, Option<&'static str>);

/// The answers in `published/serpent-ecb.txt`.
fn published() -> [Answer; 8] {
    let lines = include_str!("published/serpent-ecb.txt").lines();
    let answers = lines.filter(|line| !line.is_empty() && !line.starts_with('#')).map(|line| {
        let mut words = line.split(' ');
        (words.next().unwrap(), words.next().unwrap(), words.next().unwrap(), words.next())
    });
    answers.collect::<Vec<_>>().try_into().unwrap()
}

fn serpent_key(digits: &str) -> Key {
    family_key_of(Family::Serpent, &hex(digits))
}

fn block(digits: &str) -> Block {
    hex(digits).try_into().unwrap()
}

/// Every variant with every job of Serpent that it can be forced into.
fn serpent_jobs() -> impl Iterator<Item = (&'static Variant, Job, Options)> {
    forced_jobs().into_iter().filter(|(_, job, _)| job.cipher.family() == Family::Serpent)
}

#[test]
fn reference_and_another_implementation_give_the_published_answers() {
    counted(published().len() + families().len(), "known answers");
    for (key, plain, crypt, _) in published() {
        let (key, plain, crypt) = (serpent_key(key), block(plain), block(crypt));
        for (direction, from, to) in [(Direction::Encrypt, plain, crypt), (Direction::Decrypt, crypt, plain)]
        {
            assert_eq!(expected(&key, direction, JobSource::Bytes, 0, &from), to, "reference");
            let mut block = from;
            other(&key, direction, JobSource::Bytes, 0, &mut block);
            assert_eq!(block, to, "another implementation");
        }
    }
}

/// NESSIE's sets 1 to 3 and 5 to 7, generated from their description: keys and texts with one bit set, and
/// with one byte repeated. A second implementation gives the answers.
fn families() -> Vec<(Key, Block, Block)> {
    let one_bit = |len_bytes: usize, bit: usize| -> Vec<u8> {
        (0..len_bytes).map(|i| if i == bit / 8 { 0x80 >> (bit % 8) } else { 0 }).collect()
    };
    let mut questions = Vec::new();
    for len in ciphers(Family::Serpent).into_iter().map(|cipher| cipher.key_bytes()) {
        questions.extend((0..8 * len).map(|bit| (one_bit(len, bit), vec![0; 16])));
        questions.extend((0..128).map(|bit| (vec![0; len], one_bit(16, bit))));
        questions.extend((0..=255).map(|byte| (vec![byte; len], vec![byte; 16])));
    }
    let answer = |(key, plain): (Vec<u8>, Vec<u8>)| {
        let (key, plain): (_, Block) = (family_key_of(Family::Serpent, &key), plain.try_into().unwrap());
        let mut crypt = plain;
        other(&key, Direction::Encrypt, JobSource::Bytes, 0, &mut crypt);
        (key, plain, crypt)
    };
    questions.into_iter().map(answer).collect()
}

#[test]
fn reference_gives_every_answer_of_the_families() {
    for (key, plain, crypt) in families() {
        assert_eq!(expected(&key, Direction::Encrypt, JobSource::Bytes, 0, &plain), crypt);
        assert_eq!(expected(&key, Direction::Decrypt, JobSource::Bytes, 0, &crypt), plain);
    }
}

#[test]
fn every_variant_gives_every_answer() {
    let published = published().map(|(key, plain, crypt, _)| (serpent_key(key), block(plain), block(crypt)));
    let answers: Vec<_> = published.into_iter().chain(families()).collect();
    let (mut asked, mut rows) = (0, BTreeSet::new());
    for (variant, job, options) in serpent_jobs() {
        rows.insert(&variant.name);
        for (key, plain, crypt) in answers.iter().filter(|(key, ..)| key.cipher() == job.cipher) {
            asked += 1;
            let (mut block, first, want) = match (job.source, job.direction) {
                (JobSource::Counter, _) => ([0; 16], u128::from_be_bytes(*plain), crypt),
                (_, Direction::Encrypt) => (*plain, 0, crypt),
                (_, Direction::Decrypt) => (*crypt, 0, plain),
            };
            run(key, job.direction, job.source, first, &options, &mut block);
            assert_eq!(block, *want, "{} {job:?}", variant.name);
        }
    }
    counted(asked, "known answers asked of variants");
    counted(rows.len(), "variants that gave known answers");
}

#[test]
fn all_answers_at_once_each_under_its_key() {
    let published = published().map(|(key, plain, crypt, _)| (serpent_key(key), block(plain), block(crypt)));
    let answers: Vec<_> = published.into_iter().chain(families()).collect();
    for cipher in ciphers(Family::Serpent) {
        let answers: Vec<_> = answers.iter().filter(|(key, ..)| key.cipher() == cipher).collect();
        for (cap, direction) in CAPS.into_iter().flat_map(|cap| Direction::ALL.map(|way| (cap, way))) {
            let own = OwnKeys::with_options(cipher, &capped(cap, 1)).unwrap();
            let encrypts = direction == Direction::Encrypt;
            let mut data: Vec<_> = answers.iter().map(|(_, p, c)| if encrypts { *p } else { *c }).collect();
            let records =
                answers.iter().zip(&mut data).map(|((key, ..), data)| Record::new(key, [0; 16], data));
            own.ecb(direction, &mut records.collect::<Vec<_>>()).unwrap();
            for (data, (_, plain, crypt)) in data.iter().zip(&answers) {
                assert_eq!(data, if encrypts { crypt } else { plain }, "{cipher} {cap}");
            }
        }
    }
}

/// NESSIE's iterated encryptions: 100 iterations as published, 1000 by a second implementation.
#[test]
fn monte_carlo_chains_go_as_published_and_as_another_implementation() {
    for (key, plain, _, after_100) in published() {
        let key = serpent_key(key);
        let chain = |mut step: Box<dyn FnMut(&mut Block)>| {
            let mut block = block(plain);
            let mut after = [[0; 16]; 1000];
            for kept in &mut after {
                step(&mut block);
                *kept = block;
            }
            after
        };
        let want = chain(other_single(&key, Direction::Encrypt));
        if let Some(published) = after_100 {
            assert_eq!(want[99], block(published));
        }
        let reference = reference::cipher(&key);
        assert_eq!(chain(Box::new(move |block| reference.encrypt(block))), want, "reference");
        for cap in CAPS {
            let options = capped(cap, 1);
            let ecb = crossgrain::mode::Ecb::with_options(&key, Direction::Encrypt, &options).unwrap();
            let got = chain(Box::new(move |block| ecb.apply(block).unwrap()));
            assert_eq!(got, want, "{cap}");
        }
    }
}

/// Serpent's standard description. It permutes the bits of the block so that the four bits of an S-box are
/// adjacent, and gives the linear transformation as a table.
struct Standard {
    transformation: Vec<Vec<usize>>,
}

impl Standard {
    fn new() -> Self {
        let lines = include_str!("published/serpent-linear-transformation.txt").lines();
        let bits = |line: &str| line.split(' ').map(|bit| bit.parse().unwrap()).collect();
        let transformation: Vec<_> = lines.filter(|line| !line.starts_with('#')).map(bits).collect();
        assert_eq!(transformation.len(), 128);
        Self { transformation }
    }

    /// The initial permutation: output bit i is input bit 32·i mod 127, and bit 127 stays.
    fn permuted(block: u128) -> u128 {
        (0..128).fold(0, |sum, i| sum | (block >> if i < 127 { 32 * i % 127 } else { 127 } & 1) << i)
    }

    /// The final permutation, the inverse of the initial one.
    fn permuted_back(block: u128) -> u128 {
        (0..128).fold(0, |sum, i| sum | (block >> i & 1) << if i < 127 { 32 * i % 127 } else { 127 })
    }

    fn transformed(&self, block: u128) -> u128 {
        let sum = |bits: &Vec<usize>| bits.iter().fold(0, |sum, bit| sum ^ (block >> bit & 1));
        self.transformation.iter().enumerate().fold(0, |all, (i, bits)| all | sum(bits) << i)
    }

    fn encrypted(&self, keys: &[[u32; 4]], block: u128) -> u128 {
        let key = |round: usize| Self::permuted(joined(keys[round]));
        let mut state = Self::permuted(block);
        for round in 0..32 {
            state ^= key(round);
            let s_box = S_BOXES[round % 8];
            state = (0..32)
                .fold(0, |sum, i| sum | u128::from(s_box[(state >> (4 * i) & 15) as usize]) << (4 * i));
            state = if round < 31 { self.transformed(state) } else { state ^ key(32) };
        }
        Self::permuted_back(state)
    }
}

fn joined(words: [u32; 4]) -> u128 {
    (0..4).fold(0, |sum, i| sum | u128::from(words[i]) << (32 * i))
}

/// The key schedule (§4 of the submission), with table look-ups.
fn round_keys(key: &[u8]) -> Vec<[u32; 4]> {
    let mut padded = key.to_vec();
    padded.resize(32, 0);
    if key.len() < 32 {
        padded[key.len()] = 1;
    }
    let mut prekeys: Vec<u32> = padded.as_chunks().0.iter().map(|word| u32::from_le_bytes(*word)).collect();
    for i in 0..132 {
        let sum = prekeys[i] ^ prekeys[i + 3] ^ prekeys[i + 5] ^ prekeys[i + 7] ^ 0x9e37_79b9 ^ i as u32;
        prekeys.push(sum.rotate_left(11));
    }
    let prekeys = prekeys[8..].as_chunks().0.iter().enumerate();
    prekeys.map(|(round, prekey)| substitute(&S_BOXES[(35 - round) % 8], *prekey)).collect()
}

#[test]
fn the_two_descriptions_agree() {
    let standard = Standard::new();
    for bit in 0..128 {
        let one = 1_u128 << bit;
        let words = std::array::from_fn(|i| (one >> (32 * i)) as u32);
        let by_table = Standard::permuted_back(standard.transformed(Standard::permuted(one)));
        assert_eq!(joined(transform(words)), by_table, "linear transformation of bit {bit}");
    }
    for seed in 0..50 {
        let bytes = painted(48, seed);
        let key = &bytes[16..][..16 + 8 * (seed as usize % 3)];
        let mut block: Block = bytes[..16].try_into().unwrap();
        let want = standard.encrypted(&round_keys(key), u128::from_le_bytes(block));
        reference::cipher(&family_key_of(Family::Serpent, key)).encrypt(&mut block);
        assert_eq!(u128::from_le_bytes(block), want);
    }
}

/// All round keys, with one key per lane.
struct Expand<T: KeyWord>(T::Isa, [T; 8]);

impl<T: KeyWord> Kernel for Expand<T> {
    type Output = Vec<[T; 4]>;

    #[inline(always)]
    fn run(self) -> Vec<[T; 4]> {
        let mut schedule = Schedule::new(self.0, self.1);
        (0..33).map(|_| schedule.round_key()).collect()
    }
}

/// Checks that every lane of a schedule, extracted by `lane`, holds the round keys of its key.
fn schedule_agrees<T: KeyWord>(
    isa: T::Isa,
    lanes: usize,
    load: impl Fn(&[u32]) -> T,
    lane: fn(&T, usize) -> u32,
) where
    T::Isa: Isa,
{
    let keys: Vec<_> = (0..lanes as u64).map(|seed| key(Cipher::Serpent256, 100 + seed)).collect();
    let word = |key: &Key, i: usize| u32::from_le_bytes(key.bytes()[4 * i..][..4].try_into().unwrap());
    let words = std::array::from_fn(|i| load(&keys.iter().map(|key| word(key, i)).collect::<Vec<_>>()));
    let round_keys = isa.enter(Expand(isa, words));
    for (n, key) in keys.iter().enumerate() {
        let of_one = RoundKeys::expand(key);
        for (round, words) in round_keys.iter().enumerate() {
            assert_eq!(
                words.each_ref().map(|word| lane(word, n)),
                of_one.words()[round],
                "{lanes} {n} {round}"
            );
        }
    }
}

fn bytes_of<W: Register>(word: &W) -> Vec<u8> {
    let mut bytes = vec![0; W::BYTES];
    word.store(&mut bytes);
    bytes
}

/// One key per 32-bit lane.
fn lanes_agree<W: Lane32>() {
    let Some(isa) = W::Isa::detect(Features::of_cpu()) else { return };
    let load =
        |words: &[u32]| W::load(isa, &words.iter().flat_map(|word| word.to_le_bytes()).collect::<Vec<_>>());
    let lane = |word: &W, n: usize| u32::from_le_bytes(bytes_of(word)[4 * n..][..4].try_into().unwrap());
    schedule_agrees::<W>(isa, W::BITS / 32, load, lane);
}

/// One key per one-bit lane.
fn bit_lanes_agree<W: Register>() {
    let Some(isa) = W::Isa::detect(Features::of_cpu()) else { return };
    let load = |words: &[u32]| -> [W; 32] {
        std::array::from_fn(|bit| {
            let mut bytes = vec![0; W::BYTES];
            words
                .iter()
                .enumerate()
                .for_each(|(n, word)| bytes[n / 8] |= ((word >> bit & 1) as u8) << (n % 8));
            W::load(isa, &bytes)
        })
    };
    let lane = |words: &[W; 32], n: usize| {
        (0..32).fold(0, |sum, bit| sum | u32::from(bytes_of(&words[bit])[n / 8] >> (n % 8) & 1) << bit)
    };
    schedule_agrees::<[W; 32]>(isa, W::BITS, load, lane);
}

#[test]
fn with_a_key_a_lane_every_lane_has_the_round_keys_of_its_key() {
    lanes_agree::<u32>();
    for_each_register!(all, W => lanes_agree::<W>());
    bit_lanes_agree::<u32>();
    bit_lanes_agree::<u64>();
    for_each_register!(all, W => bit_lanes_agree::<W>());
}

#[test]
fn round_keys_are_by_definition() {
    for (cipher, seed) in ciphers(Family::Serpent).into_iter().flat_map(|c| (0..20).map(move |s| (c, s))) {
        let key = key(cipher, seed);
        let (keys, want) = (RoundKeys::expand(&key), round_keys(key.bytes()));
        let inner = keys.before_transform();
        assert_eq!(keys.words()[..], want);
        for (round, (back, key)) in inner.words().iter().zip(want).enumerate() {
            let outer = matches!(round, 0 | 32);
            assert_eq!(if outer { *back } else { transform(*back) }, key);
        }
    }
}

/// One step by the reference.
fn stepped(keys: &[[u32; 4]], step: Part, direction: Direction, round: usize, state: [u32; 4]) -> [u32; 4] {
    use serpent::Part::{Cipher, KeyMixing, LinearTransform, Round, SBoxes};
    let step = serpent::Part::of(step).unwrap();
    let s_box = &S_BOXES[round % 8];
    match (step, direction) {
        (KeyMixing, _) => std::array::from_fn(|i| state[i] ^ keys[round][i]),
        (SBoxes, Direction::Encrypt) => substitute(s_box, state),
        (SBoxes, Direction::Decrypt) => substitute(&inverted(s_box), state),
        (LinearTransform, Direction::Encrypt) => transform(state),
        (LinearTransform, Direction::Decrypt) => inv_transform(state),
        (Round | Cipher, _) => panic!("{step:?} is more than a step"),
    }
}

/// Every part against the reference's steps, in every round it can be in.
#[test]
fn every_part_does_its_steps() {
    let key = key(ciphers(Family::Serpent)[2], 1);
    let keys = Keys::of(&key, Features::NONE);
    let (loads, stores) = (loads(), stores());
    for variant in table().iter().filter(|variant| variant.family == Some(Family::Serpent)) {
        let (Some(variant), Action::Tile(part, direction, bind)) = (here(variant), variant.action) else {
            continue;
        };
        let (_, load) = loads.iter().find(|(load, _)| load.repr == variant.repr).unwrap();
        let (_, store) = stores.iter().find(|(store, _)| store.repr == variant.repr).unwrap();
        let every_step = steps(key.cipher(), direction);
        let span = part.span(key.cipher(), direction);
        // Every position at which the part's steps occur in sequence.
        for at in 0..=every_step.len() - span.len() {
            let run = &every_step[at..][..span.len()];
            if !run.iter().map(|(step, _)| step).eq(&span) {
                continue;
            }
            let blocks = bundle_blocks(variant.repr);
            let (mut tile, mut scratch) = (Tile::new(), Tile::new());
            let input = painted(16 * blocks, at as u64);
            load.load(&input, &mut tile, &mut scratch);
            bind(Features::of_cpu(), part, direction, &keys, run[0].1).unwrap().run(&mut tile, blocks);
            let mut output = vec![0; input.len()];
            store.store(&tile, &mut scratch, false, Buffers::in_place(&mut output));
            let round_keys = round_keys(key.bytes());
            for (from, to) in input.as_chunks::<16>().0.iter().zip(output.as_chunks::<16>().0) {
                let state = std::array::from_fn(|i| (u128::from_le_bytes(*from) >> (32 * i)) as u32);
                let step = |state, &(step, round): &_| stepped(&round_keys, step, direction, round, state);
                let want = run.iter().fold(state, step);
                assert!(u128::from_le_bytes(*to) == joined(want), "{} at {at}", variant.name);
            }
        }
    }
}
