//! Searches with a device that is simulated on the CPU. Keys are found wherever shards begin and end. A
//! device that misses a key is detected. The CPU takes over the work that a failed device leaves.
#![allow(missing_docs, clippy::unwrap_used, reason = "a test")]

use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use crossgrain::engine::device::search::Search as Program;
use crossgrain::engine::kernel::search::Known as Block;
use crossgrain::mode::Options;
use crossgrain::plan::TableReuse;
use crossgrain::{Cipher, Direction, Key};
use crossgrain_search::{
    BigUint, BlockSearch, Derivation, Derive, Device, Error, Failure, Kdf, KeyList, Known, Pair, Search,
    Sets, Space, SpaceSearch, Table, Watch, key_mask,
};
use rayon::{ThreadPool, ThreadPoolBuilder};

/// A device simulated on the CPU.
struct Pretended {
    /// The number of calls before the device is lost.
    answers: Option<usize>,
    /// Whether it skips one key in eight.
    is_faulty: bool,
    /// The number of outer keys it received.
    outers: Arc<AtomicUsize>,
    /// Threads of a search. With only one, the CPU does not search at the same time.
    threads: usize,
}

impl Default for Pretended {
    fn default() -> Self {
        Self { answers: None, is_faulty: false, outers: Arc::default(), threads: 1 }
    }
}

struct Pretense {
    cipher: Cipher,
    keys: Vec<u8>,
    answers: Option<usize>,
    is_faulty: bool,
    outers: Arc<AtomicUsize>,
}

impl Device for Pretended {
    fn name(&self) -> String {
        "pretense:0".to_owned()
    }

    fn table(&self, program: Program, _known: &Block, keys: &[u8]) -> Result<Box<dyn Table>, Failure> {
        let Self { answers, is_faulty, ref outers, .. } = *self;
        let outers = outers.clone();
        Ok(Box::new(Pretense { cipher: program.cipher(), keys: keys.to_vec(), answers, is_faulty, outers }))
    }

    fn list(&self, _: Program, _: &Block, _: usize) -> Result<Box<dyn KeyList>, Failure> {
        Err("it tries no lists".into())
    }

    fn derive(&self, _derivation: &Derivation) -> Result<Box<dyn Derive>, Failure> {
        Err("it derives no keys".into())
    }
}

impl Table for Pretense {
    fn outers(&self) -> usize {
        3
    }

    fn search(
        &mut self,
        known: &Block,
        outer: &[u8],
        found: &mut Vec<(usize, usize)>,
    ) -> Result<(), Failure> {
        self.answers = self.answers.map(|left| left.checked_sub(1).ok_or("unplugged")).transpose()?;
        let outers = outer.len() / self.cipher.key_bytes();
        assert!(outers <= 3);
        self.outers.fetch_add(outers, Ordering::Relaxed);
        let search = BlockSearch::new(self.cipher, &[Pair::from(*known)], &Options::default()).unwrap();
        search.search(outer, &search.prepare(&self.keys, TableReuse::Often), found);
        found.retain(|(_, inner)| !self.is_faulty || inner % 8 != 5);
        // A wrong key, which a device may report.
        found.push((outers - 1, 7));
        Ok(())
    }
}

fn big(number: usize) -> BigUint {
    BigUint::from(number)
}

fn by_key(cipher: Cipher, key: &[u8]) -> Search {
    by_key_of(cipher, key, Kdf::Exact)
}

fn by_key_of(cipher: Cipher, key: &[u8], kdf: Kdf) -> Search {
    let pair = Pair::whole(Direction::Encrypt, *b"a block of input", [0; 16]);
    let pair = pair.planted(&Key::new(cipher, key).unwrap());
    let blocks = BlockSearch::new(cipher, &[pair], &Options::default()).unwrap();
    Search::new(Known::Blocks(blocks), kdf).unwrap()
}

/// The numbers found in a shard, and the last failure of the device.
fn shard(
    search: &Search,
    space: &Space,
    device: &Pretended,
    range: Range<usize>,
) -> Result<(Vec<BigUint>, Option<String>), Error> {
    let (found, mut failures) = shard_on(search, space, (&[device], device.threads), range)?;
    assert!(failures.len() <= 1);
    Ok((found, failures.pop()))
}

/// The same with several devices, and the failure of each.
fn shard_on(
    search: &Search,
    space: &Space,
    (devices, count): (&[&dyn Device], usize),
    range: Range<usize>,
) -> Result<(Vec<BigUint>, Vec<String>), Error> {
    let hits = Mutex::new(Vec::new());
    let on_hit = |hit: crossgrain_search::Hit| hits.lock().unwrap().push(hit.number);
    let watch = Watch::new(&on_hit);
    let prepared = SpaceSearch::on(search, space, devices)?;
    assert!(prepared.kernel().ends_with(" on pretense:0"));
    assert!(threads(count).install(|| prepared.shard(&(big(range.start)..big(range.end)), &watch))?);
    assert_eq!(watch.tried(), range.len() as u64);
    let failures = prepared.failures();
    assert!(prepared.failures().is_empty(), "told once");
    Ok((hits.into_inner().unwrap(), failures))
}

fn threads(count: usize) -> ThreadPool {
    ThreadPoolBuilder::new().num_threads(count).build().unwrap()
}

const SIZE: usize = 1 << 20;

/// The period of the test space on a device.
const PERIOD: usize = 1 << 16;

/// Sixteen periods on a device. Some bytes contain both known and unknown digits.
fn space() -> Space {
    key_mask(b"?0112233445566?7?899aabbccd?eef?").unwrap()
}

#[test]
fn keys_are_found_wherever_a_shard_begins_and_ends() {
    // In the other space, one period covers everything, because a period does not begin within a byte.
    let other = key_mask(b"00112233445566778899aabb??c???ff").unwrap();
    let places = [0, 1, PERIOD - 1, PERIOD, 5 * PERIOD + 77, SIZE - 1];
    for (space, places) in [(space(), &places[..]), (other, &[0, SIZE - 1])] {
        for &place in places {
            let search = by_key(Cipher::Aes128, &space.candidates(&big(place), 1));
            let around = place.saturating_sub(PERIOD + 5)..SIZE.min(place + 2 * PERIOD + 9);
            for range in [place..place + 1, around] {
                let (found, failure) = shard(&search, &space, &Pretended::default(), range.clone()).unwrap();
                assert_eq!((found, failure), (vec![big(place)], None), "{place} in {range:?}");
            }
        }
    }
}

#[test]
fn every_cipher_and_padding_goes_to_a_device() {
    for cipher in Cipher::ALL {
        let space = Sets::default().bytes(b"pa?d?dw?d?d?u").unwrap();
        for kdf in [Kdf::Zeros, Kdf::Repeat] {
            let mut key = vec![0; cipher.key_bytes()];
            kdf.derive(&space.candidates(&big(123_456), 1), &mut key).unwrap();
            let search = by_key_of(cipher, &key, kdf);
            let (found, _) = shard(&search, &space, &Pretended::default(), 0..260_000).unwrap();
            assert_eq!(found, [big(123_456)], "{cipher}");
        }
    }
}

/// Every bit of the first bytes of a plaintext is known, and one bit of each other byte.
#[test]
fn what_is_known_in_part_of_a_plaintext_is_searched_by_decryption() {
    let space = space();
    for cipher in Cipher::ALL.into_iter().filter(|cipher| cipher.key_bytes() == 16) {
        let place = 5 * PERIOD + 77;
        let mut pair = Pair { mask: [0x80; 16], ..Pair::whole(Direction::Decrypt, [9; 16], [0; 16]) };
        pair.mask[..4].fill(0xff);
        let pair = pair.planted(&Key::new(cipher, &space.candidates(&big(place), 1)).unwrap());
        let blocks = BlockSearch::new(cipher, &[pair], &Options::default()).unwrap();
        let search = Search::new(Known::Blocks(blocks), Kdf::Exact).unwrap();
        let device = Pretended::default();
        let name = SpaceSearch::on(&search, &space, &[&device]).unwrap().kernel().to_owned();
        assert!(name.starts_with(&format!("{cipher}-search-back")), "{name}");
        let (found, failure) = shard(&search, &space, &device, 0..SIZE).unwrap();
        assert_eq!((found, failure), (vec![big(place)], None), "{cipher}");
        assert!(device.outers.load(Ordering::Relaxed) >= SIZE / PERIOD);
    }
}

#[test]
fn whole_periods_go_to_the_device_and_nothing_else() {
    let space = space();
    let search = by_key(Cipher::Aes128, &[7; 16]);
    let device = Pretended::default();
    let (found, _) = shard(&search, &space, &device, 0..SIZE).unwrap();
    let given = device.outers.load(Ordering::Relaxed);
    // All outer keys, and one that contained the planted key.
    assert_eq!((found.len(), given), (0, SIZE / PERIOD + 1));
    let prepared = SpaceSearch::on(&search, &space, &[&device]).unwrap();
    for (number, end) in [(0, 0), (1, PERIOD), (PERIOD, PERIOD), (PERIOD + 1, 2 * PERIOD)] {
        assert_eq!(prepared.whole(&big(number)), big(end));
    }
    let device = Pretended::default();
    shard(&search, &space, &device, 1..PERIOD).unwrap();
    assert_eq!(device.outers.load(Ordering::Relaxed), 0);
}

#[test]
fn a_device_that_misses_keys_is_found_out() {
    let (space, search) = (space(), by_key(Cipher::Aes128, &[7; 16]));
    let faulty = Pretended { is_faulty: true, ..Pretended::default() };
    let prepared = SpaceSearch::on(&search, &space, &[&faulty]).unwrap();
    let on_hit = |_| ();
    let watch = Watch::new(&on_hit);
    // The device misses one place in eight, so several dozen shards contain some that are caught.
    let shards = (0..64).map(|at| at % 16 * PERIOD..SIZE.min((at % 16 + at / 16 + 1) * PERIOD));
    let is_caught = |shard: &Range<usize>| match prepared.shard(&(big(shard.start)..big(shard.end)), &watch) {
        Ok(_) => false,
        Err(Error::Canary { kernel }) => kernel.ends_with("on pretense:0"),
        Err(error) => panic!("{error}"),
    };
    let caught = shards.filter(is_caught);
    assert!(caught.count() > 0);
}

#[test]
fn what_a_lost_device_leaves_is_the_cpu_s() {
    let space = space();
    for place in [0, 300_000, SIZE - 1] {
        let search = by_key(Cipher::Aes128, &space.candidates(&big(place), 1));
        for answers in [0, 1, 3] {
            let lost = Pretended { answers: Some(answers), ..Pretended::default() };
            let (found, failure) = shard(&search, &space, &lost, 0..SIZE).unwrap();
            assert_eq!(found, [big(place)]);
            assert_eq!(failure.unwrap(), "aes-128-search on pretense:0: unplugged");
        }
    }
}

#[test]
fn threads_beside_a_device_take_what_it_has_not() {
    let space = space();
    for place in [0, 5 * PERIOD + 77, SIZE - 1] {
        let search = by_key(Cipher::Aes128, &space.candidates(&big(place), 1));
        for (threads, answers) in [(2, None), (3, None), (4, None), (2, Some(0)), (4, Some(1)), (4, Some(2))]
        {
            let device = Pretended { threads, answers, ..Pretended::default() };
            let (found, failure) = shard(&search, &space, &device, 9..SIZE).unwrap();
            let is_within = (9..SIZE).contains(&place);
            assert_eq!(
                found,
                if is_within { vec![big(place)] } else { vec![] },
                "{threads} threads, {answers:?}"
            );
            assert!(failure.is_none() || answers.is_some());
        }
    }
}

#[test]
fn several_devices_share_a_space_whatever_fails() {
    let space = space();
    for place in [0, 5 * PERIOD + 77, SIZE - 1] {
        let search = by_key(Cipher::Aes128, &space.candidates(&big(place), 1));
        for (count, answers) in [
            (1, [None, None]),
            (1, [Some(1), Some(2)]),
            (1, [Some(0), None]),
            (3, [None, Some(2)]),
            (2, [Some(2), Some(0)]),
        ] {
            let devices = answers.map(|answers| Pretended { answers, ..Pretended::default() });
            let [one, other] = &devices;
            let (found, failures) = shard_on(&search, &space, (&[one, other], count), 9..SIZE).unwrap();
            let want = if place >= 9 { vec![big(place)] } else { vec![] };
            assert_eq!(found, want, "{count} threads, {answers:?}");
            // A device that is lost before its first answer is always reported.
            let least = answers.iter().filter(|&&answers| answers == Some(0)).count();
            assert!(failures.len() >= least && failures.len() <= answers.iter().flatten().count());
        }
    }
}

#[test]
fn what_a_device_has_no_use_for_is_told() {
    let mut little = Pair { mask: [0; 16], ..Pair::whole(Direction::Decrypt, [1; 16], [2; 16]) };
    little.mask[3] = 0xff;
    let blocks = BlockSearch::new(Cipher::Aes128, &[little], &Options::default()).unwrap();
    let little = Search::new(Known::Blocks(blocks), Kdf::Exact).unwrap();
    for search in [little, by_key_of(Cipher::Aes128, &[7; 16], Kdf::Sha256)] {
        let told = SpaceSearch::on(&search, &space(), &[&Pretended::default()]).unwrap_err().to_string();
        assert!(told.starts_with("the device does not search: ") && !told.contains('\n'), "{told}");
    }
}
