//! Numbers of other types: at every place, kernels and algorithms give the same bits as Rust.
//!
//! NaNs leave a kernel as Rust's own NaN. Signs of zeros, infinities and subnormal numbers are compared bit
//! by bit.

use crossgrain::engine::arch::Lanes;
use crossgrain::stream::uniform;
use crossgrain_gpu::Error;
use crossgrain_gpu::parallel::{
    Bits, DeviceVec, Element, F32, F64, Map, Max, Min, Place, Policy, Sum, U64, inclusive_scan, look_up,
    max_element, min_element, reduce, sort_by_key, spread, transform, transform_reduce, transform_scan,
};

use super::option::Call;
use super::weights::Parity;
use super::{CHILD, lens, places};

/// Random numbers with a fixed seed (SplitMix64).
fn random(count: usize) -> impl Iterator<Item = u64> {
    (1..=count as u64).map(|at| {
        let x = at.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let x = (x ^ x >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let x = (x ^ x >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        x ^ x >> 31
    })
}

/// Edge cases of `f64`, and numbers between them.
fn edges() -> Vec<f64> {
    let positive = [
        0.0,
        f64::from_bits(1),
        f64::MIN_POSITIVE / 2.0,
        f64::MIN_POSITIVE,
        f64::EPSILON,
        0.3,
        0.5,
        1.0 - f64::EPSILON,
        1.0,
        1.5,
        2.5,
        3.0,
        1e9 + 0.75,
        4_294_967_295.5,
        4_503_599_627_370_497.5,
        1e200,
        f64::MAX,
        f64::INFINITY,
    ];
    positive.into_iter().flat_map(|x| [x, -x]).chain([f64::NAN]).collect()
}

/// Pairs of edge cases, of random bits, and of numbers with similar exponents.
fn pairs() -> Vec<[f64; 2]> {
    let edges = edges();
    let mut pairs: Vec<_> = edges.iter().flat_map(|&x| edges.iter().map(move |&y| [x, y])).collect();
    let any = random(6000).collect::<Vec<_>>();
    pairs.extend(any.as_chunks::<2>().0.iter().map(|pair| pair.map(f64::from_bits)));
    let near = |x: u64| {
        f64::from_bits((x & 0x800f_ffff_ffff_ffff) + 0x3fb0_0000_0000_0000 + ((x >> 52 & 0x7f) << 52))
    };
    pairs.extend(any.as_chunks::<2>().0.iter().map(|pair| pair.map(near)));
    pairs
}

fn assert_same<T: PartialEq + std::fmt::Debug>(got: &[T], wanted: &[T], told: &dyn Fn(usize) -> String) {
    assert_eq!(got.len(), wanted.len());
    for (at, (got, wanted)) in got.iter().zip(wanted).enumerate() {
        assert!(got == wanted, "{}: {got:?}, not {wanted:?}", told(at));
    }
}

/// Replaces every NaN by Rust's own.
fn same(x: f64) -> f64 {
    if x.is_nan() { f64::NAN } else { x }
}

fn same_single(x: f32) -> f32 {
    if x.is_nan() { f32::NAN } else { x }
}

/// The minimum, with −0 before 0. If one number is NaN, the other one.
fn lesser(x: f64, y: f64) -> f64 {
    match (x.is_nan(), y.is_nan()) {
        (true, _) => y,
        (_, true) => x,
        _ => {
            if x.total_cmp(&y).is_le() {
                x
            } else {
                y
            }
        }
    }
}

/// Kernel: the rounded operations.
struct Rounded;

impl Map<4, 10> for Rounded {
    #[inline(always)]
    fn map<W: Lanes>(&self, [a, b, c, d]: [W; 4]) -> [W; 10] {
        let (x, y) = (F64::new([a, b]), F64::new([c, d]));
        let ([a, b], [c, d], [e, f]) = ((x + y).words(), (x - y).words(), (x * y).words());
        let ([g, h], [i, j]) = ((x / y).words(), x.sqrt().words());
        [a, b, c, d, e, f, g, h, i, j]
    }
}

#[test]
fn doubles_are_rounded_as_those_of_rust() {
    let pairs = pairs();
    let wanted =
        |&[x, y]: &[f64; 2]| [x + y, x - y, x * y, x / y, x.sqrt()].map(|x| same(x).to_bits().numbers());
    let wanted: Vec<_> = pairs.iter().map(wanted).collect();
    for place in places() {
        let got = transform(&Rounded, &DeviceVec::from_values(&place, &pairs).unwrap()).unwrap();
        let got: Vec<_> =
            got.to_vec().unwrap().iter().map(|words| words.as_chunks::<2>().0.to_vec()).collect();
        let wanted: Vec<_> = wanted.iter().map(|words| words.to_vec()).collect();
        assert_same(&got, &wanted, &|at| format!("{:?} at {place:?}", pairs[at]));
    }
}

/// Kernel: comparisons, selection and truncation.
struct Chosen;

impl Map<4, 14> for Chosen {
    #[inline(always)]
    fn map<W: Lanes>(&self, [a, b, c, d]: [W; 4]) -> [W; 14] {
        let (x, y) = (F64::new([a, b]), F64::new([c, d]));
        let ([a, b], [c, d]) = (x.min(y).words(), x.max(y).words());
        let ([e, f], [g, h]) = (x.floor().words(), x.round_ties_even().words());
        let [i, j] = F64::select(x.less(y), x.abs(), -y).words();
        [a, b, c, d, e, f, g, h, i, j, x.less(y), x.equal(y), x.to_u32(), y.copysign(x).words()[1]]
    }
}

#[test]
fn doubles_are_compared_as_those_of_rust() {
    let pairs = pairs();
    let mask = |is_so: bool| if is_so { u32::MAX } else { 0 };
    let wanted = |&[x, y]: &[f64; 2]| {
        let chosen = if x < y { x.abs() } else { -y };
        let numbers = [lesser(x, y), -lesser(-x, -y), x.floor(), x.round_ties_even(), chosen];
        let mut words: Vec<_> = numbers.map(|x| same(x).numbers()).concat();
        words.extend([mask(x < y), mask(x == y), x as u32, same(y.copysign(x)).numbers()[1]]);
        words
    };
    let wanted: Vec<_> = pairs.iter().map(wanted).collect();
    for place in places() {
        let got = transform(&Chosen, &DeviceVec::from_values(&place, &pairs).unwrap()).unwrap();
        let got: Vec<_> = got.to_vec().unwrap().iter().map(|words| words.to_vec()).collect();
        assert_same(&got, &wanted, &|at| format!("{:?} at {place:?}", pairs[at]));
    }
}

struct Singles;

impl Map<2, 14> for Singles {
    #[inline(always)]
    fn map<W: Lanes>(&self, [a, b]: [W; 2]) -> [W; 14] {
        let (x, y) = (F32::new([a]), F32::new([b]));
        let rounded = [(x + y).words()[0], (x - y).words()[0], (x * y).words()[0], (x / y).words()[0]];
        let [sum, difference, product, quotient] = rounded;
        let (double, integer) = (F64::from_f32(x).words(), F64::from_i32(a).words());
        let [root, least, below] = [x.sqrt().words()[0], x.min(y).words()[0], x.floor().words()[0]];
        [
            sum,
            difference,
            product,
            quotient,
            root,
            least,
            below,
            x.less(y),
            F32::from_u32(a).words()[0],
            F32::unit(b).words()[0],
            double[0],
            double[1],
            integer[0],
            integer[1],
        ]
    }
}

#[test]
fn singles_are_those_of_rust() {
    let mut pairs: Vec<_> = pairs().iter().map(|pair| pair.map(|x| x as f32)).collect();
    pairs.extend(random(6000).map(|x| [x as u32, (x >> 32) as u32].map(f32::from_bits)));
    let lesser = |x: f32, y: f32| lesser(f64::from(x), f64::from(y)) as f32;
    let wanted = |&[x, y]: &[f32; 2]| {
        let numbers = [x + y, x - y, x * y, x / y, x.sqrt(), lesser(x, y), x.floor()];
        let mut words = numbers.map(|x| same_single(x).to_bits()).to_vec();
        let [a, b] = [x, y].map(f32::to_bits);
        words.push(if x < y { u32::MAX } else { 0 });
        words.extend([(a as f32).to_bits(), ((b >> 8) as f32 / (1 << 24) as f32).to_bits()]);
        words.extend([same(f64::from(x)).numbers(), f64::from(a.cast_signed()).numbers()].concat());
        words
    };
    let wanted: Vec<_> = pairs.iter().map(wanted).collect();
    for place in places() {
        let got = transform(&Singles, &DeviceVec::from_values(&place, &pairs).unwrap()).unwrap();
        let got: Vec<_> = got.to_vec().unwrap().iter().map(|words| words.to_vec()).collect();
        assert_same(&got, &wanted, &|at| format!("{:?} at {place:?}", pairs[at]));
    }
}

/// Kernel: 64-bit integers, and floating-point numbers converted from them.
struct Integers;

impl Map<4, 20> for Integers {
    #[inline(always)]
    fn map<W: Lanes>(&self, [a, b, c, d]: [W; 4]) -> [W; 20] {
        let (x, y) = (U64::new([a, b]), U64::new([c, d]));
        let made = [x + y, x - y, x * y, x.min(y), x.max(y), x.rotate_left::<37>()];
        let mut words = [a; 20];
        for (to, number) in words.as_chunks_mut::<2>().0.iter_mut().zip(made) {
            *to = number.words();
        }
        [words[12], words[13]] = F64::from_u64(x).words();
        [words[14], words[15]] = F64::unit(y).words();
        [words[16], words[17]] = x.shift_right::<11>().words();
        [words[18], words[19]] = [x.less(y), x.equal(y)];
        words
    }
}

#[test]
fn long_integers_are_those_of_rust() {
    let mut pairs: Vec<[u64; 2]> = random(4000).map(|x| [x, x.rotate_left(29) >> (x % 64)]).collect();
    let edges = [0, 1, u64::from(u32::MAX), 1 << 32, (1 << 53) + 1, 1 << 63, u64::MAX - 1, u64::MAX];
    pairs.extend(edges.iter().flat_map(|&x| edges.map(|y| [x, y])));
    let wanted = |&[x, y]: &[u64; 2]| {
        let mask = |is_so: bool| if is_so { u32::MAX } else { 0 };
        let made =
            [x.wrapping_add(y), x.wrapping_sub(y), x.wrapping_mul(y), x.min(y), x.max(y), x.rotate_left(37)];
        let mut words = made.map(u64::numbers).concat();
        words.extend((x as f64).numbers());
        words.extend(uniform(y).numbers());
        words.extend((x >> 11).numbers());
        words.extend([mask(x < y), mask(x == y)]);
        words
    };
    let wanted: Vec<_> = pairs.iter().map(wanted).collect();
    for place in places() {
        let got = transform(&Integers, &DeviceVec::from_values(&place, &pairs).unwrap()).unwrap();
        let got: Vec<_> = got.to_vec().unwrap().iter().map(|words| words.to_vec()).collect();
        assert_same(&got, &wanted, &|at| format!("{:?} at {place:?}", pairs[at]));
    }
}

/// Kernel: elementary functions.
struct Elementary;

impl Map<2, 8> for Elementary {
    #[inline(always)]
    fn map<W: Lanes>(&self, x: [W; 2]) -> [W; 8] {
        let x = F64::new(x);
        let ([a, b], [c, d]) = (x.exp().words(), x.ln().words());
        let [cos, sin] = x.turn();
        let ([e, f], [g, h]) = (cos.words(), sin.words());
        [a, b, c, d, e, f, g, h]
    }
}

/// Number of floating-point steps from one number to the other.
fn distance(x: f64, y: f64) -> u64 {
    let order = |x: f64| {
        let bits = x.to_bits().cast_signed();
        if bits < 0 { i64::MIN.wrapping_sub(bits) } else { bits }
    };
    if x.is_nan() && y.is_nan() { 0 } else { order(x).abs_diff(order(y)) }
}

#[test]
fn elementary_functions_are_near_the_true_ones() {
    let mut arguments: Vec<_> = edges();
    arguments.extend(random(1 << 17).enumerate().map(|(at, x)| match at % 4 {
        0 => (uniform(x) - 0.5) * 1500.0,
        1 => uniform(x) - 0.5,
        2 => 1.0 + (uniform(x) - 0.5) / 8.0,
        _ => f64::from_bits(x),
    }));
    let mut all: Option<Vec<[u32; 8]>> = None;
    for place in places() {
        let got = transform(&Elementary, &DeviceVec::from_values(&place, &arguments).unwrap()).unwrap();
        let got = got.to_vec().unwrap();
        assert!(all.as_ref().is_none_or(|all| *all == got), "{place:?}");
        all = Some(got);
    }
    let mut most = [0; 2];
    for (&x, words) in arguments.iter().zip(all.unwrap()) {
        let [exp, ln, cos, sin] = [0, 2, 4, 6].map(|at| f64::from_numbers([words[at], words[at + 1]]));
        for (most, (got, wanted)) in most.iter_mut().zip([(exp, x.exp()), (ln, x.ln())]) {
            let ulps = distance(got, wanted);
            assert!(ulps <= 1, "{x:?}: {got:?}, not {wanted:?}");
            *most = ulps.max(*most);
        }
        if x.abs() < 1e15 {
            // Rust's functions take radians, so their arguments are rounded.
            let (wanted_sin, wanted_cos) = ((x - x.round()) * std::f64::consts::TAU).sin_cos();
            let worst = (cos - wanted_cos).abs().max((sin - wanted_sin).abs());
            assert!(worst < 5e-16, "{x:?}: {cos:?} and {sin:?}, not {wanted_cos:?} and {wanted_sin:?}");
        }
    }
    println!("exp and ln: {most:?} units of the last place");
}

#[test]
fn values_come_back_as_they_were() {
    fn back<T: Element<N> + PartialEq + std::fmt::Debug, const N: usize>(places: &[Place], values: &[T]) {
        for place in places {
            let vector = DeviceVec::from_values(place, values).unwrap();
            assert_eq!(vector.to_values::<T>().unwrap(), values);
            let part = vector.view(1..3).unwrap();
            for other in places {
                let copied = part.copy_to(other).unwrap();
                assert_eq!((copied.to_values::<T>().unwrap(), copied.len()), (values[1..3].to_vec(), 2));
                assert_eq!(vector.copy_to(other).unwrap().to_values::<T>().unwrap(), values);
                let none = vector.view(3..3).unwrap().copy_to(other).unwrap();
                assert!(none.is_empty() && none.to_vec().unwrap().is_empty());
            }
        }
    }
    let places = places();
    back(&places, &[0_u8, 7, 255]);
    back(&places, &[0, -1, i32::MIN]);
    back(&places, &[0, 1, u32::MAX]);
    back(&places, &[0, 1 << 32, u64::MAX]);
    back(&places, &[0.5_f32, -0.0, f32::MAX]);
    back(&places, &[0.5, -0.0, f64::MAX]);
    back(&places, &[[1.0, 2.0, 3.0], [4.0, 5.0, 6.0], [7.0, 8.0, 9.0_f64]]);
    back(&places, &[[1, 2], [3, 4], [5, 6_u64]]);
    let counted = places[0].indices(5..8).unwrap();
    assert_eq!(counted.copy_to(&places[1]).unwrap().to_vec().unwrap(), [[5], [6], [7]]);
}

/// Number of device threads for `count` elements in bundles of `each`.
fn threads(count: usize, each: usize) -> usize {
    count.div_ceil(each).min(1 << 17).next_multiple_of(64)
}

/// Lengths, including one with more elements than threads. Child processes with narrower registers omit it.
fn long_lens() -> impl Iterator<Item = usize> {
    let is_child = std::env::var_os(CHILD).is_some();
    lens().chain((!is_child).then_some(300_000))
}

/// Uniform numbers of both signs.
fn numbers(len: usize) -> Vec<f64> {
    random(len).map(|x| (uniform(x) - 0.5) * 1e3).collect()
}

struct Squared;

impl Map<2, 2> for Squared {
    #[inline(always)]
    fn map<W: Lanes>(&self, x: [W; 2]) -> [W; 2] {
        let x = F64::new(x);
        (x * x).words()
    }
}

#[test]
fn sums_of_doubles_have_one_order() {
    for place in places() {
        for len in long_lens() {
            let values = numbers(len);
            let vector = DeviceVec::from_values(&place, &values).unwrap();
            let sum = |values: &dyn Fn(usize) -> f64| {
                let count = threads(len, 1);
                let total = |thread| (thread..len).step_by(count).fold(-0.0, |sum, at| sum + values(at));
                (0..count).map(total).fold(-0.0, |a, b| a + b)
            };
            let got = f64::from_numbers(reduce(&Sum::of::<f64>(), &vector).unwrap());
            assert_eq!(got.to_bits(), sum(&|at| values[at]).to_bits(), "{len} at {place:?}");
            let got = transform_reduce(&Squared, &Sum::of::<f64>(), vector.view(len / 3..).unwrap()).unwrap();
            let again = transform(&Squared, vector.view(len / 3..).unwrap()).unwrap();
            assert_eq!(got, reduce(&Sum::of::<f64>(), &again).unwrap(), "{len} at {place:?}");
            let got =
                transform_reduce(&Bits(Parity), &Sum::of::<f32>(), place.indices(0..len).unwrap()).unwrap();
            let ones = (0..len as u32).filter(|x| x.count_ones() % 2 == 1).count();
            let small = f32::from_numbers(got);
            assert_eq!(
                small,
                ones as f32 * f32::from_bits(1),
                "sums of the least number: {len} at {place:?}"
            );
        }
    }
}

#[test]
fn scans_of_numbers_have_one_order() {
    for place in places() {
        for len in long_lens() {
            let values = numbers(len);
            let vector = DeviceVec::from_values(&place, &values).unwrap();
            let run = len.div_ceil(threads(len, 32).max(1)).max(1);
            let (mut before, mut wanted) = (-0.0, Vec::new());
            for run in values.chunks(run) {
                wanted.extend(run.iter().scan(before, |sum, x| {
                    *sum += x;
                    Some(sum.to_bits())
                }));
                before += run.iter().fold(-0.0, |sum, x| sum + x);
            }
            let got = inclusive_scan(&Sum::of::<f64>(), &vector).unwrap().to_values::<u64>().unwrap();
            assert!(got == wanted, "{len} at {place:?}");
            let most = inclusive_scan(&Max::of::<f64>(), &vector).unwrap().to_values::<f64>().unwrap();
            let wanted = values.iter().scan(f64::NAN, |most, x| {
                *most = most.max(*x);
                Some(*most)
            });
            assert!(most.into_iter().eq(wanted), "{len} at {place:?}");
            let integers: Vec<_> = random(len).collect();
            let vector = DeviceVec::from_values(&place, &integers).unwrap();
            let got = inclusive_scan(&Sum::of::<u64>(), &vector).unwrap().to_values::<u64>().unwrap();
            let sums = integers.iter().scan(0_u64, |sum, x| {
                *sum = sum.wrapping_add(*x);
                Some(*sum)
            });
            assert!(got.into_iter().eq(sums), "{len} at {place:?}");
        }
        let odd = transform_scan(&Bits(Parity), &Sum::of::<f32>(), place.indices(0..1000).unwrap()).unwrap();
        assert_eq!(
            odd.to_vec().unwrap()[999],
            [(0..1000_u32).filter(|x| x.count_ones() % 2 == 1).count() as u32]
        );
    }
}

/// Kernel: an `f64` as a sort key.
struct InOrder;

impl Map<2, 2> for InOrder {
    #[inline(always)]
    fn map<W: Lanes>(&self, x: [W; 2]) -> [W; 2] {
        F64::new(x).key()
    }
}

struct SingleInOrder;

impl Map<1, 1> for SingleInOrder {
    #[inline(always)]
    fn map<W: Lanes>(&self, x: [W; 1]) -> [W; 1] {
        F32::new(x).key()
    }
}

#[test]
fn least_and_greatest_numbers_are_found() {
    for place in places() {
        for len in lens() {
            // Some values occur several times.
            let mut values: Vec<_> = numbers(len).into_iter().map(|x| x.round() / 4.0).collect();
            values.iter_mut().step_by(97).for_each(|x| *x = 0.0);
            values.iter_mut().skip(41).step_by(97).for_each(|x| *x = -0.0);
            let vector = DeviceVec::from_values(&place, &values).unwrap();
            let first = |wanted: Option<&f64>| {
                wanted.map(|wanted| values.iter().position(|x| x.to_bits() == wanted.to_bits()).unwrap())
            };
            let least = first(values.iter().min_by(|x, y| x.total_cmp(y)));
            let greatest = first(values.iter().max_by(|x, y| x.total_cmp(y)));
            assert_eq!(min_element(&InOrder, &vector).unwrap(), least, "{len} at {place:?}");
            assert_eq!(max_element(&InOrder, &vector).unwrap(), greatest, "{len} at {place:?}");
            let folded = |combined: [u32; 2]| f64::from_numbers(combined).to_bits();
            let wanted = least.map_or(f64::NAN, |at| values[at]).to_bits();
            assert_eq!(folded(reduce(&Min::of::<f64>(), &vector).unwrap()), wanted, "{len} at {place:?}");
            let wanted = greatest.map_or(f64::NAN, |at| values[at]).to_bits();
            assert_eq!(folded(reduce(&Max::of::<f64>(), &vector).unwrap()), wanted, "{len} at {place:?}");
        }
        let values = DeviceVec::from_values(&place, &[f64::NAN, f64::INFINITY, 3.0, f64::NAN]).unwrap();
        assert_eq!(min_element(&InOrder, &values).unwrap(), Some(2));
        assert_eq!(max_element(&InOrder, &values).unwrap(), Some(0), "what is no number is last");
        assert_eq!(f64::from_numbers(reduce(&Max::of::<f64>(), &values).unwrap()), f64::INFINITY);
    }
}

#[test]
fn numbers_are_sorted() {
    for place in places() {
        for len in [0, 1, 33, 2000] {
            let mut values: Vec<_> = numbers(len).into_iter().map(|x| x.round() / 4.0).collect();
            values.extend([0.0, -0.0, f64::INFINITY, -f64::INFINITY, f64::MIN_POSITIVE, -1e300]);
            let sorted = sort_by_key(&InOrder, &DeviceVec::from_values(&place, &values).unwrap()).unwrap();
            values.sort_by(f64::total_cmp);
            let got = sorted.to_values::<f64>().unwrap();
            assert!(
                got.iter().map(|x| x.to_bits()).eq(values.iter().map(|x| x.to_bits())),
                "{len} at {place:?}"
            );
            let mut singles: Vec<_> = values.iter().rev().map(|&x| x as f32).collect();
            let sorted =
                sort_by_key(&SingleInOrder, &DeviceVec::from_values(&place, &singles).unwrap()).unwrap();
            singles.sort_by(f32::total_cmp);
            assert_eq!(sorted.to_values::<f32>().unwrap(), singles, "{len} at {place:?}");
        }
    }
}

/// The same price as [`Call`] computes, path by path, with Rust's functions.
fn price(call: &Call, blocks: usize) -> f64 {
    let key = crossgrain::stream::Seed::new(1).key(crossgrain::Cipher::Aes128);
    let mut rng = crossgrain::stream::Stream::new(&key).unwrap().rng();
    let mut sum = 0.0;
    for _ in 0..blocks {
        let (u, v) = (rng.next_f64(), rng.next_f64());
        let radius = (-2.0 * (1.0 - u).ln()).sqrt();
        let (sin, cos) = (v * std::f64::consts::TAU).sin_cos();
        for normal in [radius * cos, radius * sin] {
            let growth = (call.rate - call.spread * call.spread / 2.0 + call.spread * normal).exp();
            sum += (call.spot * growth - call.strike).max(0.0);
        }
    }
    sum / (2 * blocks) as f64 * (-call.rate).exp()
}

/// Kernel: tables of all lengths, one of them with entries that use all bits.
struct Tables;

impl Map<1, 6> for Tables {
    #[inline(always)]
    fn map<W: Lanes>(&self, [x]: [W; 1]) -> [W; 6] {
        let twice = x.look_up_public(&SBOX).look_up_public(&LARGE);
        [
            look_up(&[7], x),
            look_up(&[7, 9], x),
            look_up(&SBOX, x),
            look_up(&LARGE, x),
            x.look_up_public(&LARGE),
            twice,
        ]
    }
}

const SBOX: [u32; 16] = [3, 8, 15, 1, 10, 6, 5, 11, 14, 13, 4, 2, 7, 0, 9, 12];

const LARGE: [u32; 256] = {
    let mut table = [0; 256];
    let mut at = 0;
    while at < 256 {
        table[at] = (at as u32).wrapping_mul(0x9e37_79b9);
        at += 1;
    }
    table
};

#[test]
fn tables_are_looked_up() {
    for place in places() {
        for len in [0, 1, 700] {
            let twice = |at: usize| LARGE[SBOX[at % 16] as usize];
            let entries =
                |at: usize| [7, [7, 9][at % 2], SBOX[at % 16], LARGE[at % 256], LARGE[at % 256], twice(at)];
            let got = transform(&Tables, place.indices(0..len).unwrap()).unwrap().to_vec().unwrap();
            assert_eq!(got, (0..len).map(entries).collect::<Vec<_>>(), "{len} at {place:?}");
        }
    }
}

#[test]
fn work_is_spread_over_places() {
    let places = places();
    let values = numbers(100_001);
    for part in [1000, 99_999, 1 << 20] {
        let sum = |place: &Place, range: std::ops::Range<usize>| {
            let there = DeviceVec::from_values(place, &values[range])?;
            Ok(f64::from_numbers(transform_reduce(&Squared, &Sum::of::<f64>(), &there)?).to_bits())
        };
        let alone = spread(&places[..1], values.len(), part, sum).unwrap();
        assert_eq!(alone.len(), values.len().div_ceil(part));
        assert_eq!(spread(&places, values.len(), part, sum).unwrap(), alone);
    }
    let counted = spread(&places, 1000, 10, |_, range| Ok(range.start)).unwrap();
    assert!(counted.into_iter().eq((0..1000).step_by(10)));
    let failed =
        spread(&places, 1000, 1, |_, range| if range.start == 30 { Err(Error::Key) } else { Ok(()) });
    assert_eq!(failed, Err(Error::Key));
    assert_eq!(spread(&places, 0, 1, |_, _| Ok(())), Ok(vec![]));
    for refused in [spread(&[], 1, 1, |_, _| Ok(())), spread(&places, 1, 0, |_, _| Ok(()))] {
        assert!(refused.unwrap_err().to_string().contains("give one place or more"));
    }
}

#[test]
fn an_option_is_worth_the_same_everywhere() {
    let call = Call { spot: 100.0, strike: 105.0, rate: 0.05, spread: 0.2 };
    let blocks = 100_000;
    let wanted = price(&call, blocks);
    assert!((wanted - 8.021_352_235_143_176).abs() < 0.1, "{wanted} is not what Black and Scholes say");
    let prices: Vec<_> = places().iter().map(|place| call.price(place, blocks).unwrap()).collect();
    assert!(prices.iter().all(|price| price.to_bits() == prices[0].to_bits()), "{prices:?}");
    assert!((prices[0] / wanted - 1.0).abs() < 1e-12, "{} is not {wanted}", prices[0]);
    let none = call.price(&Policy::Seq.open().unwrap(), 0).unwrap();
    assert!(none.is_nan(), "of no path there is no mean");
}
