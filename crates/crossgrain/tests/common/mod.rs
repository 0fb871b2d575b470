//! What the laws share: forced plans for every variant, ISA levels, and skips that are counted.
#![allow(dead_code, reason = "each law uses its own part of this")]

use crossgrain::mode::{Ctr, Ecb, Options};
use crossgrain::plan::{Birth, Job};
use crossgrain::reference::{aes::Aes, modes};
use crossgrain::variant::{Action, Policy, Variant, table};
use crossgrain::{Buffers, Cipher, Direction, Features, Key};

/// ISA caps that between them switch off every extension.
pub(crate) const CAPS: [&str; 7] =
    ["portable", "sse2-aes", "sse2", "avx2-aes", "avx2", "avx512-aes-gfni", "avx512"];

/// Bytes that look like nothing in particular: the same for the same seed.
pub(crate) fn painted(len_bytes: usize, seed: u64) -> Vec<u8> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    (0..len_bytes)
        .map(|_| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            (state >> 32) as u8
        })
        .collect()
}

pub(crate) fn key(cipher: Cipher, seed: u64) -> Key {
    Key::new(cipher, &painted(cipher.key_bytes(), seed)).unwrap()
}

/// `None`, with a printed line, where this CPU lacks what a variant needs. With CROSSGRAIN_REQUIRE
/// naming the ISA, that is a failure.
pub(crate) fn here(variant: &Variant) -> Option<&Variant> {
    if variant.is_available(Features::of_cpu()) {
        return Some(variant);
    }
    let required = std::env::var("CROSSGRAIN_REQUIRE").unwrap_or_default();
    assert!(!required.split(',').any(|isa| isa == variant.isa), "{} is required", variant.name);
    println!("skipped: {} (not on this CPU)", variant.isa);
    None
}

/// The jobs that a variant can be forced into.
pub(crate) fn jobs(variant: &Variant) -> Vec<(Direction, Birth)> {
    use Birth::{Bytes, Counter};
    use Direction::{Decrypt, Encrypt};
    match variant.action {
        Action::Tile(crossgrain::part::aes::Part::AddRoundKey, ..) => {
            vec![(Encrypt, Bytes), (Decrypt, Bytes)]
        }
        Action::Load(_) => vec![(Encrypt, Bytes), (Decrypt, Bytes)],
        Action::Count(_) | Action::CountEncrypted(_) | Action::WholeCounter(_) => vec![(Encrypt, Counter)],
        Action::Store(_) => vec![(Encrypt, Bytes), (Decrypt, Bytes), (Encrypt, Counter)],
        Action::Tile(_, Encrypt, _) => vec![(Encrypt, Bytes), (Encrypt, Counter)],
        Action::Tile(_, Decrypt, _) => vec![(Decrypt, Bytes)],
        Action::Whole(direction, _) => vec![(direction, Bytes)],
    }
}

/// Options that force a variant; along the grain, a step must be named for a cipher to exist.
pub(crate) fn forced(variant: &Variant, direction: Direction) -> Options {
    let mut variants = vec![variant.name.clone()];
    if variant.repr == crossgrain::repr::Repr::Blocks
        && matches!(variant.action, Action::Load(_) | Action::Count(_) | Action::Store(_))
    {
        let step = match direction {
            Direction::Encrypt => "sub-bytes/blocks/portable-table",
            Direction::Decrypt => "inv-sub-bytes/blocks/portable-table",
        };
        variants.push(step.to_owned());
    }
    Options { policy: Policy::Any, variants, threads: 1, features: Some(Features::of_cpu()) }
}

/// Runs a job in place with these options.
pub(crate) fn run(
    key: &Key,
    direction: Direction,
    birth: Birth,
    first: u128,
    options: &Options,
    data: &mut [u8],
) {
    run_buffers(key, direction, birth, first, options, Buffers::in_place(data));
}

pub(crate) fn run_buffers(
    key: &Key,
    direction: Direction,
    birth: Birth,
    first: u128,
    options: &Options,
    buffers: Buffers<'_>,
) {
    match birth {
        Birth::Bytes => Ecb::new(key, direction, options).unwrap().apply(buffers).unwrap(),
        Birth::Counter => Ctr::new(key, &first.to_be_bytes(), options).unwrap().apply(buffers),
    }
}

/// The same by the reference.
pub(crate) fn expected(key: &Key, direction: Direction, birth: Birth, first: u128, data: &[u8]) -> Vec<u8> {
    let aes = Aes::new(key.bytes());
    let mut data = data.to_vec();
    match birth {
        Birth::Bytes => modes::ecb(&aes, direction, &mut data),
        Birth::Counter => modes::ctr(&aes, first.to_be_bytes(), &mut data),
    }
    data
}

/// Every variant with every job it can be forced into, available here.
pub(crate) fn forced_jobs() -> Vec<(&'static Variant, Job, Options)> {
    table()
        .iter()
        .filter_map(here)
        .flat_map(|variant| {
            jobs(variant).into_iter().flat_map(move |(direction, birth)| {
                Cipher::ALL
                    .map(|cipher| (variant, Job { cipher, direction, birth }, forced(variant, direction)))
            })
        })
        .collect()
}

pub(crate) fn hex(digits: &str) -> Vec<u8> {
    let digits: Vec<u8> = digits
        .bytes()
        .filter(|b| !b.is_ascii_whitespace())
        .map(|b| (b as char).to_digit(16).unwrap() as u8)
        .collect();
    digits.chunks_exact(2).map(|pair| pair[0] << 4 | pair[1]).collect()
}
