//! Random streams: the published bytes for every variant, any number of threads and any way of requesting
//! them.
#![allow(missing_docs, clippy::unwrap_used, reason = "a test")]

mod common;

use common::{CAPS, capped, cases, forced, here, hex, key, other_single};
use crossgrain::engine::variant::{Action, table};
use crossgrain::mode::Options;
use crossgrain::rustcrypto::{Aes128, Aes192, Serpent256};
use crossgrain::stream::{Blocks, KeyedRng, Seed, Stream, StreamRng, uniform};
use crossgrain::{Cipher, Direction, Error, Key};
use proptest::collection::vec;
use proptest::prelude::{Strategy, any};
use proptest::sample::select;
use proptest::{prop_oneof, proptest};
use rand_core::block::BlockRng;
use rand_core::{Rng, SeedableRng};

/// The rows with this number of columns in the tables of docs/streams.md.
fn published(columns: usize) -> Vec<Vec<&'static str>> {
    let text = include_str!("../../../docs/streams.md");
    let rows = text.lines().filter_map(|line| line.strip_prefix("| ")?.strip_suffix(" |"));
    let cells = rows.map(|row| row.split(" | ").map(|cell| cell.trim_matches('`')).collect::<Vec<_>>());
    let rows: Vec<_> = cells.filter(|row| row.len() == columns && row[columns - 1].len() == 64).collect();
    assert!(rows.len() >= 8, "the table is not found");
    rows
}

fn stream(key: &Key, options: &Options) -> Stream {
    Stream::with_options(key, options).unwrap()
}

fn bytes_at(stream: &Stream, position: u128, len_bytes: usize) -> Vec<u8> {
    let mut bytes = vec![0xa5; len_bytes];
    stream.fill_bytes_at(position, &mut bytes);
    bytes
}

/// The same by a second implementation, one block at a time.
fn expected(key: &Key, first: u128, position: u128, len_bytes: usize) -> Vec<u8> {
    let mut cipher = other_single(key, Direction::Encrypt);
    let within = (position % 16) as usize;
    let blocks = (within + len_bytes).div_ceil(16) as u128;
    let mut bytes = Vec::new();
    for n in 0..blocks {
        let mut block = first.wrapping_add(position / 16).wrapping_add(n).to_le_bytes();
        cipher(&mut block);
        bytes.extend(block);
    }
    bytes[within..][..len_bytes].to_vec()
}

/// Every way to make keystream, with every cipher that supports it.
fn ways() -> Vec<(String, Options, Cipher)> {
    let free = CAPS.iter().map(|cap| (format!("cap {cap}"), capped(cap, 1), None));
    let by_itself = table()
        .iter()
        .filter(|variant| {
            matches!(variant.action, Action::WholeCounter(_) | Action::CountEncrypted(_) | Action::Count(_))
        })
        .filter_map(here)
        .map(|variant| (variant.name.clone(), forced(variant, Direction::Encrypt), variant.family));
    free.chain(by_itself)
        .flat_map(|(way, options, family)| {
            let fits = move |cipher: &Cipher| family.is_none_or(|family| family == cipher.family());
            Cipher::ALL.into_iter().filter(fits).map(move |cipher| (way.clone(), options.clone(), cipher))
        })
        .filter(|(_, options, cipher)| Stream::with_options(&key(*cipher, 0), options).is_ok())
        .collect()
}

#[test]
fn published_streams() {
    for row in published(5) {
        let [cipher, seed, part, position, want] = row[..] else { unreachable!() };
        let cipher: Cipher = cipher.parse().unwrap();
        let key = Seed::new(seed.parse().unwrap()).key(cipher);
        for cap in CAPS {
            let part = stream(&key, &capped(cap, 1)).part(64, part.parse().unwrap()).unwrap();
            assert_eq!(bytes_at(&part, position.parse().unwrap(), 32), hex(want), "{row:?} {cap}");
        }
    }
}

#[test]
fn published_keys() {
    for row in published(3) {
        let [seed, children, want] = row[..] else { unreachable!() };
        let children = children.split(' ').filter_map(|child| child.parse().ok());
        let seed = children.fold(Seed::new(seed.parse().unwrap()), |seed, child| seed.child(child));
        for cipher in Cipher::ALL {
            assert_eq!(seed.key(cipher).bytes(), &hex(want)[..cipher.key_bytes()], "{row:?}");
        }
    }
}

/// First blocks whose counters carry at once or soon, at every bit position that kernels treat specially.
fn blocks() -> impl Strategy<Value = u128> {
    let powers = prop_oneof![select(vec![0, 8, 16, 31, 32, 39, 40, 48, 64, 72, 80, 104, 120]), 0..128_u32];
    let near = (powers, 0..600_u128).prop_map(|(power, back)| (1_u128 << power).wrapping_sub(back));
    prop_oneof![4 => near, 1 => any::<u128>()]
}

proptest! {
    #![proptest_config(cases(600))]

    #[test]
    fn every_way_gives_the_same_bytes(
        (way, options, cipher) in select(ways()),
        places in vec((blocks(), 0..16_usize, prop_oneof![3 => 0..700_usize, 1 => 0..40_000_usize]), 1..6),
    ) {
        let key = key(cipher, 7);
        let mut rng = stream(&key, &options).rng();
        for (block, byte, len) in places {
            rng.seek_block(block, byte);
            assert_eq!(rng.position(), (block, byte));
            let mut got = vec![0; len];
            rng.fill_bytes(&mut got);
            assert!(got == expected(&key, block, byte as u128, len), "{way}: {len} bytes of block {block:#x}");
        }
    }

    #[test]
    fn draws_take_the_bytes_in_order(
        start in 0..20_000_u128,
        draws in vec((0..6_u8, 0..20_000_usize), 1..60),
    ) {
        let stream = stream(&key(Cipher::Aes128, 8), &Options { threads: 1, ..Options::default() });
        let (mut rng, mut at) = (stream.rng_at(start), start);
        for (kind, len) in draws {
            let taken = match kind {
                0 => rng.next_u32().to_le_bytes().to_vec(),
                1 => rng.next_u64().to_le_bytes().to_vec(),
                2 => {
                    let number = rng.next_f64();
                    let want = u64::from_le_bytes(bytes_at(&stream, at, 8).try_into().unwrap()) >> 11;
                    assert_eq!(number, want as f64 / (1_u64 << 53) as f64);
                    bytes_at(&stream, at, 8)
                }
                3 => {
                    let mut bytes = vec![0; len];
                    rng.fill_bytes(&mut bytes);
                    bytes
                }
                4 => {
                    let mut words = vec![0; len / 8];
                    rng.fill_u64(&mut words);
                    words.into_iter().flat_map(u64::to_le_bytes).collect()
                }
                _ => {
                    let mut numbers = vec![0.0; len / 8];
                    rng.fill_f64(&mut numbers);
                    let mut one_by_one = stream.rng_at(at);
                    assert!(numbers.iter().all(|&number| number == one_by_one.next_f64()));
                    bytes_at(&stream, at, len / 8 * 8)
                }
            };
            assert!(taken == bytes_at(&stream, at, taken.len()), "{kind} at {at}");
            at += taken.len() as u128;
            assert_eq!(rng.position(), (at / 16, (at % 16) as usize));
        }
    }

    #[test]
    fn parts_are_the_stream_cut(log_parts in 0..=128_u32, index in any::<u128>(), back in 0..300_u128) {
        let key = key(Cipher::Aes256, 9);
        let whole = stream(&key, &Options { threads: 1, ..Options::default() });
        let index = index.checked_shr(128 - log_parts).unwrap_or(0);
        let part = whole.part(log_parts, index).unwrap();
        let first = index.checked_shl(128 - log_parts).unwrap_or(0);
        let blocks = 1_u128.checked_shl(128 - log_parts);
        // Across the end of the part, after which it starts again.
        let begin = blocks.unwrap_or(0).wrapping_sub(back);
        let mut rng = part.rng();
        rng.seek_block(begin, 0);
        for n in 0..320_u128 {
            let block = begin.wrapping_add(n);
            let block = blocks.map_or(block, |blocks| block % blocks);
            let mut got = [0; 16];
            rng.fill_bytes(&mut got);
            assert_eq!(got[..], expected(&key, first.wrapping_add(block), 0, 16), "block {block:#x}");
        }
    }
}

#[test]
fn there_are_no_parts_but_those() {
    let whole = stream(&key(Cipher::Aes128, 1), &Options::default());
    for (log_parts, index) in [(0, 1), (1, 2), (64, 1 << 64), (129, 0), (u32::MAX, 0)] {
        assert_eq!(whole.part(log_parts, index).unwrap_err(), Error::NoSuchPart { log_parts, index });
    }
    let blocks = whole.part(128, 5).unwrap();
    assert_eq!(blocks.part(1, 0).unwrap_err(), Error::NoSuchPart { log_parts: 1, index: 0 });
    assert_eq!(bytes_at(&blocks, 0, 32), [bytes_at(&whole, 80, 16), bytes_at(&whole, 80, 16)].concat());
    // A part of a part.
    assert_eq!(
        bytes_at(&whole.part(3, 5).unwrap().part(2, 1).unwrap(), 0, 64),
        bytes_at(&whole.part(5, 21).unwrap(), 0, 64)
    );
}

#[test]
fn threads_change_nothing() {
    let key = key(Cipher::Aes128, 2);
    let pool = rayon::ThreadPoolBuilder::new().num_threads(8).build().unwrap();
    let alone = stream(&key, &Options { threads: 1, ..Options::default() });
    let want = bytes_at(&alone, 5, 5_000_001);
    let mut want_f64 = vec![0.0; 600_001];
    alone.rng_at(8).fill_f64(&mut want_f64);
    for threads in [2, 3, 8] {
        let together = pool.install(|| stream(&key, &Options { threads, ..Options::default() }));
        assert!(pool.install(|| bytes_at(&together, 5, want.len())) == want, "{threads} threads");
        let mut got = vec![0.0; want_f64.len()];
        pool.install(|| together.rng_at(8).fill_f64(&mut got));
        assert!(got == want_f64, "{threads} threads");
    }
}

/// Long enough for streaming stores on some CPUs, to buffers of any alignment.
#[test]
fn long_streams_are_streams() {
    let whole = stream(&key(Cipher::Aes128, 3), &Options { threads: 1, ..Options::default() });
    const LEN: usize = 65 << 20;
    let mut bytes = vec![0xa5; LEN + 200];
    for offset in [0, 1, 16, 32, 48, 100] {
        let (before, rest) = bytes.split_at_mut(offset);
        let (filled, after) = rest.split_at_mut(LEN + 5);
        whole.fill_bytes_at(16, filled);
        let pieces = filled.chunks(1_000_000).enumerate();
        for (n, piece) in pieces {
            assert!(piece == bytes_at(&whole, 16 + 1_000_000 * n as u128, piece.len()), "piece {n}");
        }
        assert!(before.iter().chain(&*after).all(|&byte| byte == 0xa5));
        bytes.fill(0xa5);
    }
}

#[test]
fn the_traits_draw_the_stream() {
    fn law<R: SeedableRng<Seed: From<[u8; N]>> + Rng, const N: usize>(cipher: Cipher) {
        let bytes = [9; N];
        let whole = stream(&Key::new(cipher, &bytes).unwrap(), &Options::default());
        let mut rng = R::from_seed(bytes.into());
        assert_eq!(rng.next_u64().to_le_bytes()[..], bytes_at(&whole, 0, 8));
        assert_eq!(rng.next_u32().to_le_bytes()[..], bytes_at(&whole, 8, 4));
        let mut got = [0; 100];
        rng.fill_bytes(&mut got);
        assert_eq!(got[..], bytes_at(&whole, 12, 100));
        let mut blocks = BlockRng::new(Blocks::new(whole.clone(), 3));
        for n in 0..3000 {
            assert_eq!(blocks.next_word().to_le_bytes()[..], bytes_at(&whole, 48 + 8 * n, 8));
        }
    }
    law::<KeyedRng<Aes128>, 16>(Cipher::Aes128);
    law::<KeyedRng<Serpent256>, 32>(Cipher::Serpent256);
}

#[test]
fn clones_go_on_alike_and_apart() {
    let mut one = KeyedRng::<Aes192>::seed_from_u64(4);
    one.fill_bytes(&mut [0; 77]);
    let mut two = one.clone();
    let drawn: Vec<u64> = (0..2000).map(|_| one.next_u64()).collect();
    assert!(drawn.iter().all(|&word| two.next_u64() == word));
}

#[test]
fn nothing_drawn_is_printed() {
    let shown = |seed: u64| {
        let mut rng: StreamRng = stream(&key(Cipher::Aes128, seed), &capped("portable", 1)).rng();
        rng.next_u64();
        let mut keyed = KeyedRng::<Aes128>::seed_from_u64(seed);
        keyed.next_u64();
        format!("{rng:#?} {:#?} {keyed:#?}", rng.stream())
    };
    assert_eq!(shown(1), shown(2));
}

proptest! {
    #[test]
    fn uniform_numbers_are_exact(bits: u64, shift in 0_u32..64) {
        for bits in [bits, bits >> shift, bits << shift, !0 << shift, !(!0 << shift)] {
            assert_eq!(uniform(bits), (bits >> 11) as f64 / (1_u64 << 53) as f64);
        }
    }
}
