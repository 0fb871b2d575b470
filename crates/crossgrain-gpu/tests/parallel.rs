//! Every algorithm under every policy gives the result of a plain loop, for whole bundles, odd counts and
//! empty vectors.
//!
//! Without a device, its tests print that they are skipped. They fail instead if CROSSGRAIN_REQUIRE names
//! `wgpu` or `cuda`.
#![allow(
    missing_docs,
    missing_debug_implementations,
    unreachable_pub,
    clippy::unwrap_used,
    reason = "a test"
)]

#[allow(dead_code, reason = "other tests need the rest")]
#[path = "../../crossgrain/tests/compilers/mod.rs"]
mod compilers;
#[path = "../examples/darts.rs"]
mod darts;
mod given;
#[path = "../examples/histogram.rs"]
mod histogram;
mod launches;
#[path = "../examples/option.rs"]
mod option;
mod programs;
#[path = "../examples/sboxes.rs"]
mod sboxes;
#[allow(dead_code, reason = "another test is not to be told secrets")]
mod spy;
mod stand_in;
mod turns;
mod typed;
#[path = "../examples/weights.rs"]
mod weights;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{self, Command};

use compilers::{CompileJob, Nvrtc, for_each, in_turn};
use crossgrain::engine::arch::{CAPS, Lanes};
use crossgrain::engine::cipher::serpent::description::S_BOXES;
use crossgrain::engine::device::Listing;
use crossgrain_gpu::Error;
use crossgrain_gpu::parallel::{
    BitMap, Bits, Combine, DeviceVec, Map, Max, Min, Place, Policy, Sum, copy_if, count_if, find,
    for_each_bundle, gather, generate, inclusive_scan, reduce, sort_by_key, transform, transform_into,
    transform_reduce, transform_scan, zip,
};
use darts::Hits;
use given::{SECRETS, has_word};
use histogram::histogram;
use sboxes::{Inverse, Layer};
use weights::{HasWeight, Parity};

/// Lengths: empty, less than any bundle, whole bundles, one more, and several pieces of the CPU.
const LENS: [usize; 11] = [0, 1, 31, 32, 511, 513, 1024, 4097, 65_536, 100_000, 140_001];

/// Narrower registers omit the long lengths, because pieces do not depend on the register.
fn lens() -> impl Iterator<Item = usize> {
    let is_child = std::env::var_os(CHILD).is_some();
    LENS.into_iter().filter(move |&len| !is_child || len < 5000)
}

/// Set in a child process, which runs these tests on the CPU only.
const CHILD: &str = "CROSSGRAIN_TEST_CHILD";

/// The available places.
fn places() -> Vec<Place> {
    let mut places: Vec<_> = [Policy::Seq, Policy::Par].map(|policy| policy.open().unwrap()).into();
    if std::env::var_os(CHILD).is_some() {
        return places;
    }
    let required = std::env::var("CROSSGRAIN_REQUIRE").unwrap_or_default();
    for (policy, kind) in [(Policy::Cuda(0), "cuda"), (Policy::Wgpu(0), "wgpu")] {
        match policy.open() {
            Ok(place) => places.push(place),
            Err(error) => {
                let told = error.to_string();
                assert!(!told.is_empty() && !told.contains('\n'), "{told:?}");
                assert!(required.split(',').all(|required| required != kind), "{kind} is required: {told}");
                eprintln!("skipped: {kind}: {told}");
            }
        }
    }
    places
}

/// Varied numbers, the same in each run.
fn numbers<const N: usize>(len: usize) -> Vec<[u32; N]> {
    let number = |at: usize| (at as u32).wrapping_mul(0x9e37_79b9).rotate_left(at as u32 % 31) ^ at as u32;
    (0..len).map(|at| std::array::from_fn(|p| number(N * at + p))).collect()
}

/// The 32 S-boxes of a block, one after another.
fn substituted(index: usize, block: [u32; 4]) -> [u32; 4] {
    let mut result = [0; 4];
    for bit in 0..32 {
        let input = (0..4).map(|word| (block[word] >> bit & 1) << word).sum::<u32>();
        let output = u32::from(S_BOXES[index][input as usize]);
        (0..4).for_each(|word| result[word] |= (output >> word & 1) << bit);
    }
    result
}

/// The darts of an index, one after another.
fn hits(seed: u32, index: u32) -> u32 {
    let mut state = index.wrapping_add(seed).wrapping_mul(0x9e37_79b9) ^ 0x1234_5678;
    let throw = |_| {
        state ^= state << 13;
        state ^= state >> 17;
        state ^= state << 5;
        let (x, y) = (state >> 17, state & 0x7fff);
        u32::from(x * x + y * y < 1 << 30)
    };
    (0..darts::THROWS).map(throw).sum()
}

/// Maps three numbers to two, with every kind of operation. No operation is constant for all elements.
struct Mixed(u32);

impl Map<3, 2> for Mixed {
    #[inline(always)]
    fn map<W: Lanes>(&self, [x, y, z]: [W; 3]) -> [W; 2] {
        let sum = x.add_lanes(y.rotate_lanes_left::<7>()).multiply_lanes(z.filled(self.0));
        let chosen = W::ternary::<0b1100_1010>(x, y, z);
        [sum ^ z.shift_lanes_right::<3>(), !(chosen & sum).shift_lanes_left::<5>()]
    }
}

fn mixed(factor: u32, [x, y, z]: [u32; 3]) -> [u32; 2] {
    let sum = x.wrapping_add(y.rotate_left(7)).wrapping_mul(factor);
    let chosen = (x & y) | (!x & z);
    [sum ^ (z >> 3), !((chosen & sum) << 5)]
}

/// Sums of 64-bit numbers. Their maximum would need a comparison; a sum with carry does not.
struct WideSum;

impl Combine<2> for WideSum {
    const IDENTITY: [u32; 2] = [0; 2];

    #[inline(always)]
    fn combine<W: Lanes>(&self, [a, high_a]: [W; 2], [b, high_b]: [W; 2]) -> [W; 2] {
        let sum = a.add_lanes(b);
        let carry = W::ternary::<0b1101_0100>(a, b, sum).shift_lanes_right::<31>();
        [sum, high_a.add_lanes(high_b).add_lanes(carry)]
    }
}

#[test]
fn transform_gives_what_a_loop_gives() {
    for place in places() {
        for len in lens() {
            let elements = numbers(len);
            let vector = DeviceVec::from_slice(&place, &elements).unwrap();
            assert_eq!(vector.to_vec().unwrap(), elements);
            let got = transform(&Mixed(0x0101_0107), &vector).unwrap().to_vec().unwrap();
            let wanted: Vec<_> = elements.iter().map(|&element| mixed(0x0101_0107, element)).collect();
            assert!(got == wanted, "{len} at {place:?}");
        }
    }
}

#[test]
fn transform_on_bits_gives_what_a_loop_gives() {
    for place in places() {
        for len in lens() {
            let elements: Vec<[u32; 1]> = numbers(len);
            let vector = DeviceVec::from_slice(&place, &elements).unwrap();
            let parity = transform(&Bits(Parity), &vector).unwrap().to_vec().unwrap();
            assert!(
                parity.iter().zip(&elements).all(|(got, [x])| got[0] == x.count_ones() % 2),
                "{len} at {place:?}"
            );
            let weight = transform(&Bits(HasWeight(16)), &vector).unwrap().to_vec().unwrap();
            assert!(
                weight.iter().zip(&elements).all(|(got, [x])| got[0] == u32::from(x.count_ones() == 16)),
                "{len} at {place:?}"
            );
        }
    }
}

#[test]
fn generate_gives_what_a_loop_gives() {
    for place in places() {
        for len in lens() {
            let got = generate(&Hits { seed: 7 }, &place, len).unwrap().to_vec().unwrap();
            let wanted: Vec<_> = (0..len as u32).map(|index| [hits(7, index)]).collect();
            assert!(got == wanted, "{len} at {place:?}");
        }
    }
}

#[test]
fn for_each_bundle_replaces_in_place() {
    for place in places() {
        for (len, index) in lens().zip((0..8).cycle()) {
            let blocks = numbers(len);
            let mut state = DeviceVec::from_slice(&place, &blocks).unwrap();
            for_each_bundle(&Layer { index }, &mut state).unwrap();
            let wanted: Vec<_> = blocks.iter().map(|&block| substituted(index, block)).collect();
            assert!(state.to_vec().unwrap() == wanted, "{len} at {place:?}");
            for_each_bundle(&Inverse { index }, &mut state).unwrap();
            assert!(state.to_vec().unwrap() == blocks, "{len} at {place:?}");
        }
        let elements: Vec<[u32; 1]> = numbers(1000);
        let mut bits = DeviceVec::from_slice(&place, &elements).unwrap();
        for_each_bundle(&Bits(Parity), &mut bits).unwrap();
        let wanted: Vec<_> = elements.iter().map(|[x]| [x.count_ones() % 2]).collect();
        assert_eq!(bits.to_vec().unwrap(), wanted);
    }
}

#[test]
fn reduce_gives_what_a_loop_gives() {
    for place in places() {
        for len in lens() {
            let elements: Vec<[u32; 2]> = numbers(len);
            let vector = DeviceVec::from_slice(&place, &elements).unwrap();
            let [low, high] = reduce(&WideSum, &vector).unwrap();
            let wide = |[low, high]: &[u32; 2]| u64::from(*high) << 32 | u64::from(*low);
            let wanted = elements.iter().map(wide).fold(0, u64::wrapping_add);
            assert_eq!(wide(&[low, high]), wanted, "{len} at {place:?}");
            let darts = transform_reduce(&Hits { seed: 3 }, &Sum, place.indices(0..len).unwrap()).unwrap();
            assert_eq!(
                darts,
                [(0..len as u32).map(|index| hits(3, index)).sum::<u32>()],
                "{len} at {place:?}"
            );
            let odd = transform_reduce(&Bits(Parity), &Sum, place.indices(5..5 + len).unwrap()).unwrap();
            let wanted = (5..5 + len).filter(|number| number.count_ones() % 2 == 1).count();
            assert_eq!(odd, [wanted as u32], "{len} at {place:?}");
        }
    }
}

/// 1 if a number equals this one.
struct Is(u32);

impl Map<1, 1> for Is {
    #[inline(always)]
    fn map<W: Lanes>(&self, [x]: [W; 1]) -> [W; 1] {
        [x.equal_lanes(x.filled(self.0))]
    }
}

#[test]
fn find_gives_the_first() {
    for place in places() {
        for len in lens() {
            let mut places_in = vec![0, 1, len / 2, len.saturating_sub(1)];
            places_in.retain(|&at| at < len);
            for at in places_in {
                let elements: Vec<_> =
                    (0..len).map(|i| [if i >= at && i % 3 == at % 3 { 9 } else { 1 }]).collect();
                let vector = DeviceVec::from_slice(&place, &elements).unwrap();
                assert_eq!(find(&Is(9), &vector).unwrap(), Some(at), "{len} at {place:?}");
                assert_eq!(find(&Bits(HasWeight(2)), &vector).unwrap(), Some(at), "{len} at {place:?}");
                let after = find(&Is(9), vector.view(at + 1..).unwrap()).unwrap();
                assert_eq!(after, (at + 3 < len).then_some(2), "{len} at {place:?}");
            }
            let none = DeviceVec::from_slice(&place, &vec![[1]; len]).unwrap();
            assert_eq!(find(&Is(9), &none).unwrap(), None);
            assert_eq!(find(&Bits(HasWeight(2)), &none).unwrap(), None);
        }
        let beyond_several_looks = place.indices(0..1 << 20).unwrap();
        assert_eq!(find(&Is(900_001), beyond_several_looks).unwrap(), Some(900_001));
        assert_eq!(find(&Bits(HasWeight(18)), beyond_several_looks).unwrap(), Some(0x3_ffff));
    }
}

#[test]
fn views_and_resizing_keep_elements_in_order() {
    for place in places() {
        let elements: Vec<[u32; 3]> = numbers(1000);
        let mut vector = DeviceVec::from_slice(&place, &elements).unwrap();
        let part = vector.view(101..=900).unwrap().view(..799).unwrap();
        assert_eq!((part.len(), part.is_empty()), (799, false));
        assert_eq!(part.to_vec().unwrap(), elements[101..900]);
        let got = transform(&Mixed(5), part).unwrap().to_vec().unwrap();
        assert_eq!(got, elements[101..900].iter().map(|&element| mixed(5, element)).collect::<Vec<_>>());
        let mut wanted = elements;
        for len in [700, 900, 1003, 0, 40, 1003, 2000] {
            vector.resize(len, [4, 5, len as u32]).unwrap();
            wanted.resize(len, [4, 5, len as u32]);
            assert_eq!(vector.to_vec().unwrap(), wanted, "{len} at {place:?}");
        }
        let mut goal = DeviceVec::from_slice(&place, &[[0; 2]; 3]).unwrap();
        for len in [2000, 10, 0] {
            transform_into(&Mixed(3), vector.view(..len).unwrap(), &mut goal).unwrap();
            let wanted: Vec<_> = wanted[..len].iter().map(|&element| mixed(3, element)).collect();
            assert_eq!(goal.to_vec().unwrap(), wanted);
        }
        assert_eq!(place.indices(3..6).unwrap().to_vec().unwrap(), [[3], [4], [5]]);
    }
}

/// Whether two numbers are equal, their minimum and maximum, and a selection by a mask.
struct Compared;

impl Map<2, 5> for Compared {
    #[inline(always)]
    fn map<W: Lanes>(&self, [x, y]: [W; 2]) -> [W; 5] {
        let chosen = x.less_lanes(y).select(x.filled(1), y);
        [x.equal_lanes(y), x.less_lanes(y), x.min_lanes(y), x.max_lanes(y), chosen]
    }
}

#[test]
fn comparisons_are_those_of_numbers() {
    let edges = [0, 1, 2, 0x7fff_fffe, 0x7fff_ffff, 0x8000_0000, 0x8000_0001, u32::MAX - 1, u32::MAX];
    let mut pairs: Vec<[u32; 2]> = edges.iter().flat_map(|&x| edges.map(|y| [x, y])).collect();
    pairs.extend(numbers::<2>(1000).into_iter().map(|[x, y]| if y % 3 == 0 { [x, x] } else { [x, y] }));
    let mask = |is_true: bool| if is_true { u32::MAX } else { 0 };
    let compared =
        |&[x, y]: &[u32; 2]| [mask(x == y), mask(x < y), x.min(y), x.max(y), if x < y { 1 } else { y }];
    let wanted: Vec<_> = pairs.iter().map(compared).collect();
    for place in places() {
        let got = transform(&Compared, &DeviceVec::from_slice(&place, &pairs).unwrap()).unwrap();
        assert!(got.to_vec().unwrap() == wanted, "{place:?}");
    }
}

#[test]
fn least_and_greatest_are_those_of_a_loop() {
    for place in places() {
        for len in lens() {
            let elements: Vec<[u32; 2]> = numbers(len);
            let vector = DeviceVec::from_slice(&place, &elements).unwrap();
            let of = |p: usize| elements.iter().map(move |element| element[p]);
            let least = [0, 1].map(|p| of(p).min().unwrap_or(u32::MAX));
            let greatest = [0, 1].map(|p| of(p).max().unwrap_or(0));
            assert_eq!(reduce(&Min, &vector).unwrap(), least, "{len} at {place:?}");
            assert_eq!(reduce(&Max, &vector).unwrap(), greatest, "{len} at {place:?}");
        }
    }
}

#[test]
fn zip_takes_the_numbers_of_both() {
    for place in places() {
        for len in lens() {
            let (ones, others): (Vec<[u32; 1]>, Vec<[u32; 2]>) = (numbers(len), numbers(len));
            let one = DeviceVec::from_slice(&place, &ones).unwrap();
            let other = DeviceVec::from_slice(&place, &others).unwrap();
            let got = transform(&Mixed(9), &zip(&other, &one).unwrap()).unwrap().to_vec().unwrap();
            let wanted: Vec<_> =
                others.iter().zip(&ones).map(|(&[x, y], &[z])| mixed(9, [x, y, z])).collect();
            assert!(got == wanted, "{len} at {place:?}");
            let rest = other.view(len / 3..).unwrap();
            let both: DeviceVec<3> = zip(place.indices(0..rest.len()).unwrap(), rest).unwrap();
            let wanted: Vec<_> = others[len / 3..].iter().zip(0..).map(|(&[x, y], at)| [at, x, y]).collect();
            assert!(both.to_vec().unwrap() == wanted, "{len} at {place:?}");
        }
    }
}

#[test]
fn scans_give_what_a_loop_gives() {
    for place in places() {
        for len in lens() {
            let elements: Vec<[u32; 2]> = numbers(len);
            let vector = DeviceVec::from_slice(&place, &elements).unwrap();
            let wide = |[low, high]: &[u32; 2]| u64::from(*high) << 32 | u64::from(*low);
            let got = inclusive_scan(&WideSum, &vector).unwrap().to_vec().unwrap();
            let sum = |sum: &mut u64, element: &[u32; 2]| {
                *sum = sum.wrapping_add(wide(element));
                Some(*sum)
            };
            assert!(got.iter().map(wide).eq(elements.iter().scan(0, sum)), "{len} at {place:?}");
            let got = inclusive_scan(&Max, vector.view(..len / 2).unwrap()).unwrap().to_vec().unwrap();
            let most = |most: &mut [u32; 2], element: &[u32; 2]| {
                *most = [most[0].max(element[0]), most[1].max(element[1])];
                Some(*most)
            };
            assert!(got.into_iter().eq(elements[..len / 2].iter().scan([0, 0], most)), "{len} at {place:?}");
            let odd = transform_scan(&Bits(Parity), &Sum, place.indices(3..3 + len).unwrap()).unwrap();
            let count = |count: &mut u32, number: usize| {
                *count += number.count_ones() % 2;
                Some([*count])
            };
            assert!(odd.to_vec().unwrap().into_iter().eq((3..3 + len).scan(0, count)), "{len} at {place:?}");
        }
    }
}

/// The last number of an element.
struct Last;

impl<const N: usize> Map<N, 1> for Last {
    #[inline(always)]
    fn map<W: Lanes>(&self, x: [W; N]) -> [W; 1] {
        [x[N - 1]]
    }
}

/// Whether a number has any of these bits set.
struct HasBits(u32);

impl Map<2, 1> for HasBits {
    #[inline(always)]
    fn map<W: Lanes>(&self, [x, _]: [W; 2]) -> [W; 1] {
        [x & x.filled(self.0)]
    }
}

#[test]
fn chosen_elements_are_those_of_a_loop() {
    for place in places() {
        for (len, bits) in lens().zip([u32::MAX, 1, 0, 3, 1 << 31, 1 << 12].into_iter().cycle()) {
            let elements: Vec<[u32; 2]> = numbers(len);
            let vector = DeviceVec::from_slice(&place, &elements).unwrap();
            let wanted: Vec<_> = elements.iter().copied().filter(|[x, _]| x & bits != 0).collect();
            let got = copy_if(&HasBits(bits), &vector).unwrap().to_vec().unwrap();
            assert!(got == wanted, "{len} at {place:?}");
            assert_eq!(count_if(&HasBits(bits), &vector).unwrap(), wanted.len(), "{len} at {place:?}");
            let numbers = place.indices(7..7 + len).unwrap();
            let wanted: Vec<_> =
                (7..7 + len as u32).filter(|x| x.count_ones() % 2 == 1).map(|x| [x]).collect();
            assert!(
                copy_if(&Bits(Parity), numbers).unwrap().to_vec().unwrap() == wanted,
                "{len} at {place:?}"
            );
            assert_eq!(count_if(&Bits(Parity), numbers).unwrap(), wanted.len(), "{len} at {place:?}");
        }
    }
}

#[test]
fn gather_gives_what_indexing_gives() {
    for place in places() {
        for len in lens() {
            let elements: Vec<[u32; 3]> = numbers(1000);
            let vector = DeviceVec::from_slice(&place, &elements).unwrap();
            let indices: Vec<_> = numbers::<1>(len).into_iter().map(|[at]| [at % 900]).collect();
            let there = DeviceVec::from_slice(&place, &indices).unwrap();
            let got = gather(vector.view(100..).unwrap(), &there).unwrap().to_vec().unwrap();
            let wanted: Vec<_> = indices.iter().map(|&[at]| elements[100 + at as usize]).collect();
            assert!(got == wanted, "{len} at {place:?}");
            let got = gather(place.indices(5..905).unwrap(), &there).unwrap().to_vec().unwrap();
            let wanted: Vec<_> = indices.iter().map(|[at]| [at + 5]).collect();
            assert!(got == wanted, "{len} at {place:?}");
        }
        let [four, beyond] = [[0, 3], [0, 4]].map(|[one, other]| {
            let indices = DeviceVec::from_slice(&place, &[[one], [other]]).unwrap();
            gather(place.indices(0..4).unwrap(), &indices).map(|got| got.to_vec().unwrap())
        });
        assert_eq!((four, beyond), (Ok(vec![[0], [3]]), Err(Error::Range { start: 4, end: 5, len: 4 })));
    }
}

#[test]
fn sorting_is_stable() {
    for place in places() {
        // On a device, each bit of a key needs several runs.
        for (len, bits) in [(0, 32), (1, 32), (2, 32), (33, 1), (513, 32), (5000, 16), (100_000, 5)] {
            let keyed = |[x, key]: [u32; 2]| [x, key >> (32 - bits)];
            let elements: Vec<_> = numbers(len).into_iter().map(keyed).collect();
            let vector = DeviceVec::from_slice(&place, &elements).unwrap();
            let mut wanted = elements.clone();
            wanted.sort_by_key(|&[_, key]| key);
            let got = sort_by_key(&Last, &vector).unwrap().to_vec().unwrap();
            assert!(got == wanted, "{len} at {place:?}");
            wanted.sort_by_key(|[x, _]| x.count_ones() % 2);
            let by_parity = sort_by_key(&Bits(ParityOfFirst), &DeviceVec::from_slice(&place, &got).unwrap());
            assert!(by_parity.unwrap().to_vec().unwrap() == wanted, "{len} at {place:?}");
        }
    }
}

/// The sum of the two dice of an index.
fn dice(index: u32) -> usize {
    let mixed = index.wrapping_mul(0x9e37_79b9);
    let mixed = (mixed ^ mixed >> 15).wrapping_mul(0x85eb_ca6b);
    let die = |bits: u32| 1 + ((6 * bits) >> 16) as usize;
    die(mixed >> 16) + die(mixed & 0xffff)
}

#[test]
fn a_histogram_counts_what_a_loop_counts() {
    for place in places() {
        for rolls in [1, 2, 37, 5000] {
            let mut counts = [0; 13];
            (0..rolls).for_each(|index| counts[dice(index)] += 1);
            let wanted = (0..).zip(counts).filter(|(_, count)| *count > 0).map(|(sum, count)| [sum, count]);
            let got = histogram(&place, rolls as usize).unwrap();
            assert_eq!(got, wanted.collect::<Vec<_>>(), "{rolls} at {place:?}");
        }
        assert!(histogram(&place, 0).is_err());
    }
}

/// The parity of the first of two numbers.
struct ParityOfFirst;

impl BitMap<2, 1> for ParityOfFirst {
    #[inline(always)]
    fn map<W: Lanes>(&self, [x, _]: [[W; 32]; 2]) -> [[W; 32]; 1] {
        Parity.map([x])
    }
}

/// All files below a folder.
fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    entries.flat_map(|path| if path.is_dir() { files(&path) } else { vec![path] }).collect()
}

#[test]
fn narrower_registers_give_the_same() {
    if std::env::var_os(CHILD).is_some() {
        return;
    }
    for cap in CAPS.into_iter().filter(|cap| !cap.contains('-')) {
        let mut tests = Command::new(std::env::current_exe().unwrap());
        let done = tests.env("CROSSGRAIN_ISA", cap).env(CHILD, "1").output().unwrap();
        assert!(done.status.success(), "{cap}: {}", String::from_utf8_lossy(&done.stdout));
    }
    let mut tests = Command::new(std::env::current_exe().unwrap());
    tests.args(["--exact", "generate_gives_what_a_loop_gives"]).env(CHILD, "1").env("CROSSGRAIN_ISA", "mmx");
    let told = String::from_utf8_lossy(&tests.output().unwrap().stdout).into_owned();
    assert!(told.contains("mmx"), "{told}");
}

#[test]
fn what_cannot_be_is_told_in_a_line() {
    let place = Policy::Par.open().unwrap();
    let vector = DeviceVec::from_slice(&place, &[[1], [2]]).unwrap();
    assert_eq!(vector.view(1..3).unwrap_err(), Error::Range { start: 1, end: 3, len: 2 });
    #[allow(clippy::reversed_empty_ranges, reason = "it is what is refused")]
    let backwards = vector.view(2..1).unwrap_err().to_string();
    assert_eq!(backwards, "there are no elements 2..1: give a range within 0..2");
    assert!(place.indices(0..usize::MAX).is_err() && vector.view(usize::MAX..).is_err());
    let mut elsewhere = DeviceVec::from_slice(&Policy::Seq.open().unwrap(), &[[1]]).unwrap();
    assert_eq!(transform_into(&Is(1), &vector, &mut elsewhere), Err(Error::Place));
    assert!(generate(&Is(1), &place, 1 << 40).is_err());
    assert_eq!(gather(&vector, &elsewhere).unwrap_err(), Error::Place);
    assert_eq!(zip::<1, 1, 2>(&vector, &elsewhere).unwrap_err(), Error::Place);
    let fewer = zip::<1, 1, 2>(&vector, vector.view(1..).unwrap()).unwrap_err();
    assert_eq!(fewer, Error::Range { start: 0, end: 2, len: 1 });
    for policy in [Policy::Cuda(99), Policy::Wgpu(99)] {
        let told = policy.open().unwrap_err().to_string();
        assert!(!told.is_empty() && !told.contains('\n'), "{told:?}");
        assert_eq!(policy.to_string().parse::<Policy>().unwrap(), policy);
    }
    assert!(Policy::Auto.open().is_ok(), "there is always the CPU");
    for name in ["", "gpu", "cuda", "cuda:", "wgpu:x", "par:1"] {
        let told = name.parse::<Policy>().unwrap_err().to_string();
        assert!(told.ends_with("give seq, par, auto, cuda:N or wgpu:N"), "{told}");
    }
}

#[test]
fn algorithms_run_by_a_driver_that_stands_in() {
    algorithms_run_by_a_stand_in("in-turn", in_turn);
}

#[test]
#[ignore = "takes minutes"]
fn nvrtc_compiles_algorithms_for_every_architecture() {
    algorithms_run_by_a_stand_in("for-each", for_each);
}

/// If CROSSGRAIN_NVRTC names NVIDIA's compiler, it must compile these programs too, without register
/// spills.
fn algorithms_run_by_a_stand_in(name: &str, jobs: fn(&[Listing]) -> Vec<CompileJob<'_>>) {
    if std::env::var_os(CHILD).is_some() {
        return;
    }
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("parallel-{name}-{}", process::id()));
    fs::create_dir_all(&folder).unwrap();
    let is_there = stand_in::again(&["--skip", "stands_in", "--skip", "narrower"], Some(&folder));
    let entries = fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path());
    let texts = entries.filter(|path| path.is_file()).map(|path| fs::read_to_string(path).unwrap());
    let listings: Vec<_> = texts.map(listing).collect();
    assert_eq!(is_there, !listings.is_empty());
    // A stored file starts with a digest, which may contain a word with few digits by chance.
    let secrets = SECRETS.into_iter().filter(|secret| secret.leading_zeros() < 4);
    for path in files(&folder) {
        let kept = fs::read(&path).unwrap();
        assert!(secrets.clone().all(|secret| !has_word(&kept, secret)), "{}", path.display());
    }
    if let Some(nvrtc) = Nvrtc::find() {
        assert!(nvrtc.made(&jobs(&listings)).iter().all(|made| !made.spills));
    }
    fs::remove_dir_all(&folder).unwrap();
}

/// A program from its text. The entry function is the one with launch bounds.
fn listing(text: String) -> Listing {
    let (_, bounds) = text.rsplit_once("__launch_bounds__(").unwrap();
    let entry =
        bounds.split([')', '(', ' ', '\n']).filter(|word| !word.is_empty()).nth(1).unwrap().to_owned();
    Listing { entry, text, group_threads: 0, dynamic_bytes: 0, reads_source: true, reads_keys: false }
}
