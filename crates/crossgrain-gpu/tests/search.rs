//! Key search on every available device. For every cipher, a planted key is found at the first and the last
//! position. With only a few known bits, exactly the keys that match them are found.
//!
//! Without a device, its tests print that they are skipped. They fail instead if CROSSGRAIN_REQUIRE names
//! `wgpu` or `cuda`.
#![allow(missing_docs, clippy::unwrap_used, reason = "a test")]

mod present;
#[path = "../../crossgrain/tests/sought/mod.rs"]
mod sought;
mod stand_in;

use std::sync::Mutex;

use crossgrain::engine::cipher::Entry;
use crossgrain::engine::device::search::Search as Program;
use crossgrain::engine::kernel::search::Known;
use crossgrain::mode::Options;
use crossgrain::{Cipher, Direction, Key};
use crossgrain_gpu::Gpu;
use crossgrain_search::{
    self as search, BigUint, BlockSearch, Device as _, Kdf, Pair, Search, SpaceSearch, Watch, key_mask,
};
use present::gpus;
use sought::{halves, known, planted};

/// Keys per table: more than two bundles of 32, and not a multiple of 32.
const KEYS: usize = 75;

const OUTERS: usize = 300;

/// Outer keys in most searches. With 75 inner keys they need three groups of 64 threads, the last one
/// partly filled.
const FEW_OUTERS: usize = 50;

fn keys_are_found(gpu: &Gpu, cipher: Cipher, direction: Direction, at: usize) {
    let (outer, inner) = halves(cipher, at, OUTERS, KEYS);
    let sought = |o, i| known(cipher, direction, &planted(cipher, (&outer, o), (&inner, i)));
    let program = Program::new(cipher, &sought(0, 0)).unwrap();
    let mut table = gpu.table(program, &sought(0, 0), &inner).unwrap();
    let mut found = |known: &Known, outers: usize| {
        let mut found = Vec::new();
        table.search(known, &outer[..outers * cipher.key_bytes()], &mut found).unwrap();
        found.sort_unstable();
        found
    };
    for (o, place) in [(0, 0), (OUTERS - 1, KEYS - 1)] {
        assert_eq!(found(&sought(o, place), OUTERS), [(o, place)], "{} on {}", program.name(), gpu.info().id);
    }
    // Four bits of byte 0 are known, which every program compares. Each value matches one sixteenth of all
    // keys, in any positions.
    let places: Vec<_> = (0..FEW_OUTERS).flat_map(|o| (0..KEYS).map(move |place| (o, place))).collect();
    let outputs: Vec<_> = places.iter().map(|&(o, place)| sought(o, place).output).collect();
    for bits in [0x0, 0x5, 0xa, 0xf] {
        let mut known = Known { mask: [0; 16], output: [bits; 16], ..sought(0, 0) };
        known.mask[0] = 0xf;
        let begun = places.iter().zip(&outputs).filter(|(_, output)| output[0] & 0xf == bits);
        let expected: Vec<_> = begun.map(|(&place, _)| place).collect();
        assert_eq!(found(&known, FEW_OUTERS), expected, "{} on {}", program.name(), gpu.info().id);
    }
    assert_eq!(found(&known(cipher, direction, &vec![0x33; cipher.key_bytes()]), FEW_OUTERS), []);
    // A list of keys, of which only some come with each call.
    let mut list = gpu.list(program, &sought(0, 0), KEYS).unwrap();
    for (place, count) in [(KEYS - 1, KEYS), (2, 3), (40, KEYS)] {
        let (key_bytes, mut found) = (cipher.key_bytes(), Vec::new());
        let of_key = known(cipher, direction, &inner[place * key_bytes..][..key_bytes]);
        list.search(&of_key, &inner[..count * key_bytes], &mut found).unwrap();
        assert_eq!(found, [place], "{} on {}", program.name(), gpu.info().id);
    }
    // More hits than the capacity: no bits are known, so every key is a hit.
    let everything = Known { mask: [0; 16], ..sought(0, 0) };
    let all: Vec<_> = (0..OUTERS).flat_map(|outer| (0..KEYS).map(move |inner| (outer, inner))).collect();
    assert!(found(&everything, OUTERS) == all, "{} on {}", program.name(), gpu.info().id);
}

/// Whether a device is emulated in software, or the CUDA driver is the stand-in.
fn is_software(gpu: &Gpu) -> bool {
    gpu.info().is_software || std::env::var_os("STAND_IN").is_some()
}

/// The ciphers whose kernels are generated from their description.
fn described() -> impl Iterator<Item = Cipher> {
    Cipher::ALL.into_iter().filter(|cipher| !Entry::of(cipher.family()).by_hand)
}

/// In software, programs of described ciphers take up to two minutes to compile, so only one of these
/// ciphers is tested there. The core's tests compare all of them, as CUDA C, with the reference.
#[test]
fn keys_are_found_in_every_lane_and_with_every_outer_key() {
    let first = described().next();
    keys_are_found_by_all(|gpu, cipher| {
        !is_software(gpu) || Entry::of(cipher.family()).by_hand || Some(cipher) == first
    });
}

#[test]
#[ignore = "takes ten minutes"]
fn keys_of_every_described_cipher_are_found() {
    keys_are_found_by_all(|_, cipher| !Entry::of(cipher.family()).by_hand);
}

fn keys_are_found_by_all(is_tried: impl Fn(&Gpu, Cipher) -> bool) {
    for gpu in gpus() {
        let ciphers = Cipher::ALL.into_iter().zip([3, 23, 13, 0, 7, 31].into_iter().cycle());
        for (cipher, at) in ciphers.filter(|(cipher, _)| is_tried(&gpu, *cipher)) {
            for direction in [Direction::Encrypt, Direction::Decrypt] {
                let start = std::time::Instant::now();
                keys_are_found(&gpu, cipher, direction, at % cipher.key_bytes());
                println!("{cipher}, {direction:?} on {}: {:?}", gpu.info().id, start.elapsed());
            }
        }
    }
}

/// A search from a mask to a hit. The device takes whole periods and the CPU partial ones. The test uses
/// blocks that are known before and after encryption, and plaintexts of which only some bytes and bits are
/// known.
#[test]
fn a_space_is_searched_on_a_device() {
    let space = key_mask(b"00112233445566?7?899aab?ccd?eef?").unwrap();
    let whole = Pair::whole(Direction::Encrypt, [0x11; 16], [0; 16]);
    let mut begun = Pair { direction: Direction::Decrypt, mask: [0; 16], ..whole };
    begun.mask[..5].fill(0xff);
    let like_text = Pair { mask: [0xc0; 16], ..begun };
    for gpu in gpus() {
        for (cipher, pair, place) in [
            (Cipher::Aes128, whole, (1_u32 << 20) - 70_000),
            (Cipher::Aes128, whole, 65_536),
            (Cipher::Aes128, begun, 70_000),
            (Cipher::Serpent128, like_text, 1 << 19),
            (Cipher::Sm4, begun, 70_000),
        ] {
            let place = BigUint::from(place);
            let pair = pair.planted(&Key::new(cipher, &space.candidates(&place, 1)).unwrap());
            let blocks = BlockSearch::new(cipher, &[pair], &Options::default()).unwrap();
            let search = Search::new(search::Known::Blocks(blocks), Kdf::Exact).unwrap();
            let hits = Mutex::new(Vec::new());
            let on_hit = |hit: search::Hit| hits.lock().unwrap().push(hit.number);
            let watch = Watch::new(&on_hit);
            let prepared = SpaceSearch::on(&search, &space, &[&gpu]).unwrap();
            println!("{}", prepared.kernel());
            assert!(prepared.shard(&(BigUint::from(5_u8)..space.size()), &watch).unwrap());
            assert_eq!(*hits.lock().unwrap(), [place]);
            assert_eq!((watch.tried(), prepared.failures()), ((1 << 20) - 5, Vec::new()));
        }
    }
}

#[test]
fn keys_are_found_by_a_driver_that_stands_in() {
    stand_in::again(&["--skip", "stands_in"], None);
}
