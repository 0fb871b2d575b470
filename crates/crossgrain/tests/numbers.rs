//! Numbers in lanes agree with Rust's: 64-bit integers, `f32` and `f64`, on every register, by integer
//! instructions only, and traced.
//!
//! All NaNs count as equal. All other results are compared bit by bit, including signs of zeros, infinities
//! and subnormal numbers.
#![allow(missing_docs, clippy::unwrap_used, reason = "a test")]

use std::ops::{BitXor, Not};

use crossgrain::Features;
use crossgrain::engine::arch::{
    Arithmetic, Isa, Kernel, Lane32, Lanes, Portable, Register, U64, computed_by_integers,
    multiply_high_by_halves,
};
use crossgrain::engine::circuit::trace::{Width, trace};
use crossgrain::for_each_register;

const ALL: [Arithmetic; 6] = [
    Arithmetic::Add,
    Arithmetic::Multiply,
    Arithmetic::Divide,
    Arithmetic::Root,
    Arithmetic::Less,
    Arithmetic::Equal,
];

/// Random numbers, the same in each run (SplitMix64).
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let x = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let x = (x ^ x >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        x ^ x >> 31
    }

    /// A number of any bit length: random bits, or runs of equal bits.
    fn number(&mut self) -> u64 {
        let (x, kind) = (self.next(), self.next());
        match kind % 4 {
            0 => x,
            1 => x >> ((kind >> 8) % 64),
            2 => (x.cast_signed() >> ((kind >> 8) % 64)).cast_unsigned(),
            _ => (x & self.next()) << ((kind >> 8) % 64) ^ 0_u64.wrapping_sub(kind >> 63),
        }
    }

    /// Bits of any `f64`, or of one with an exponent close to that of `near`.
    fn double(&mut self, near: u64) -> u64 {
        let (x, kind) = (self.number(), self.next());
        match kind % 3 {
            0 => x,
            1 => {
                x & 0x800f_ffff_ffff_ffff
                    | (near.wrapping_add(((kind >> 8) % 128) << 52) & 0x7ff0_0000_0000_0000)
            }
            _ => DOUBLES[(kind >> 8) as usize % DOUBLES.len()],
        }
    }

    fn single(&mut self, near: u32) -> u32 {
        let (x, kind) = (self.number() as u32, self.next());
        match kind % 3 {
            0 => x,
            1 => x & 0x807f_ffff | (near.wrapping_add(((kind >> 8) as u32 % 64) << 23) & 0x7f80_0000),
            _ => SINGLES[(kind >> 8) as usize % SINGLES.len()],
        }
    }
}

/// Zeros, the smallest and largest subnormal and normal numbers, neighbours of 1, halves, infinities and
/// NaNs.
const DOUBLES: [u64; 20] = [
    0,
    1 << 63,
    1,
    (1 << 63) + 1,
    0x000f_ffff_ffff_ffff,
    0x0010_0000_0000_0000,
    0x0010_0000_0000_0001,
    0x7fef_ffff_ffff_ffff,
    0xffef_ffff_ffff_ffff,
    0x3ff0_0000_0000_0000,
    0x3ff0_0000_0000_0001,
    0x3fef_ffff_ffff_ffff,
    0xbff0_0000_0000_0000,
    0x3fe0_0000_0000_0000,
    0x4340_0000_0000_0001,
    0x7ff0_0000_0000_0000,
    0xfff0_0000_0000_0000,
    0x7ff8_0000_0000_0000,
    0x7ff0_0000_0000_0001,
    0xffff_ffff_ffff_ffff,
];

const SINGLES: [u32; 18] = [
    0,
    1 << 31,
    1,
    (1 << 31) + 1,
    0x007f_ffff,
    0x0080_0000,
    0x0080_0001,
    0x7f7f_ffff,
    0xff7f_ffff,
    0x3f80_0000,
    0x3f80_0001,
    0x3f7f_ffff,
    0xbf80_0000,
    0x3f00_0000,
    0x7f80_0000,
    0xff80_0000,
    0x7fc0_0000,
    0xff80_0001,
];

fn pairs() -> Vec<[u64; 2]> {
    let mut random = Random(1);
    let edges = DOUBLES.iter().flat_map(|&a| DOUBLES.map(|b| [a, b]));
    let others = (0..100_000).map(|_| random.next()).collect::<Vec<_>>();
    let any = others.into_iter().map(|near| {
        let a = random.double(near);
        [a, random.double(a)]
    });
    edges.chain(any).collect()
}

fn small_pairs() -> Vec<[u32; 2]> {
    let mut random = Random(2);
    let edges = SINGLES.iter().flat_map(|&a| SINGLES.map(|b| [a, b]));
    let any = (0..100_000).map(|_| {
        let a = random.single(0x3f80_0000);
        [a, random.single(a)]
    });
    edges.chain(any.collect::<Vec<_>>()).collect()
}

fn words(number: u64) -> [u32; 2] {
    [number as u32, (number >> 32) as u32]
}

fn number([low, high]: [u32; 2]) -> u64 {
    u64::from(high) << 32 | u64::from(low)
}

/// The bits of a result with one representation for every NaN. Masks stay unchanged.
fn double_bits(operation: Arithmetic, bits: u64) -> u64 {
    let is_mask = matches!(operation, Arithmetic::Less | Arithmetic::Equal);
    if !is_mask && f64::from_bits(bits).is_nan() { f64::NAN.to_bits() } else { bits }
}

fn single_bits(operation: Arithmetic, bits: u32) -> u32 {
    let is_mask = matches!(operation, Arithmetic::Less | Arithmetic::Equal);
    if !is_mask && f32::from_bits(bits).is_nan() { f32::NAN.to_bits() } else { bits }
}

/// Rust's result of an operation on two numbers.
fn double(operation: Arithmetic, [a, b]: [u64; 2]) -> u64 {
    let ([x, y], mask) = ([a, b].map(f64::from_bits), |is_so| if is_so { u64::MAX } else { 0 });
    match operation {
        Arithmetic::Add => double_bits(operation, (x + y).to_bits()),
        Arithmetic::Multiply => double_bits(operation, (x * y).to_bits()),
        Arithmetic::Divide => double_bits(operation, (x / y).to_bits()),
        Arithmetic::Root => double_bits(operation, x.sqrt().to_bits()),
        Arithmetic::Less => mask(x < y),
        Arithmetic::Equal => mask(x == y),
    }
}

fn single(operation: Arithmetic, [a, b]: [u32; 2]) -> u32 {
    let ([x, y], mask) = ([a, b].map(f32::from_bits), |is_so| if is_so { u32::MAX } else { 0 });
    match operation {
        Arithmetic::Add => single_bits(operation, (x + y).to_bits()),
        Arithmetic::Multiply => single_bits(operation, (x * y).to_bits()),
        Arithmetic::Divide => single_bits(operation, (x / y).to_bits()),
        Arithmetic::Root => single_bits(operation, x.sqrt().to_bits()),
        Arithmetic::Less => mask(x < y),
        Arithmetic::Equal => mask(x == y),
    }
}

#[test]
fn numbers_by_integers_are_those_of_the_language() {
    let is_canonical = |bits: u64| !f64::from_bits(bits).is_nan() || bits == 0x7ff8_0000_0000_0000;
    for operation in ALL {
        for [a, b] in pairs() {
            let [x, y] = [a, b].map(|number| U64::new(words(number)));
            let got = number(computed_by_integers(operation, x, y).words());
            let wanted = double(operation, [a, b]);
            assert_eq!(double_bits(operation, got), wanted, "{operation:?} of {a:#x} and {b:#x}");
            assert!(got == wanted || is_canonical(got), "{operation:?} of {a:#x} and {b:#x}: {got:#x}");
        }
        for [a, b] in small_pairs() {
            let got = computed_by_integers(operation, a, b);
            assert_eq!(
                single_bits(operation, got),
                single(operation, [a, b]),
                "{operation:?} of {a:#x} and {b:#x}"
            );
        }
    }
}

/// All operations on two 64-bit numbers, as the low and high words of each lane.
fn results<W: Lanes>(a: [W; 2], b: [W; 2]) -> Vec<[W; 2]> {
    let (x, y) = (U64::new(a), U64::new(b));
    let mask = |mask: W| [mask; 2];
    let mut results: Vec<_> = ALL.iter().map(|&operation| W::double(operation, a, b)).collect();
    results.extend(
        ALL.iter().map(|&operation| [W::single(operation, a[0], b[0]), W::single(operation, a[1], b[1])]),
    );
    results.extend([(x + y).words(), (x - y).words(), (x * y).words(), (x ^ y).words(), (x & y).words()]);
    results.extend([x.not().words(), x.min(y).words(), x.max(y).words(), mask(x.less(y)), mask(x.equal(y))]);
    results.extend([x.shift_left::<7>().words(), x.shift_left::<32>().words(), x.shift_left::<45>().words()]);
    results.extend([
        x.shift_right::<7>().words(),
        x.shift_right::<32>().words(),
        x.shift_right::<45>().words(),
    ]);
    results.extend([
        x.rotate_left::<7>().words(),
        x.rotate_left::<32>().words(),
        x.rotate_left::<45>().words(),
    ]);
    results.push([a[0].multiply_lanes_high(b[0]), multiply_high_by_halves(a[0], b[0])]);
    results.push([a[0].shift_lanes_left_by(b[0]), a[0].shift_lanes_right_by(b[0])]);
    results.push([a[0].leading_zeros_of_lanes(), a[1].leading_zeros_of_lanes()]);
    results.push([a[0].look_up_public(&SINGLES[..16]), b[0].look_up_public(&SINGLES[2..4])]);
    results
}

/// The same results computed by Rust.
fn wanted(a: u64, b: u64) -> Vec<[u32; 2]> {
    let mask = |is_so: bool| if is_so { u64::MAX } else { 0 };
    let ([a0, a1], [b0, b1]) = (words(a), words(b));
    let mut results: Vec<_> = ALL.iter().map(|&operation| words(double(operation, [a, b]))).collect();
    results.extend(ALL.iter().map(|&operation| [single(operation, [a0, b0]), single(operation, [a1, b1])]));
    let integers = [
        a.wrapping_add(b),
        a.wrapping_sub(b),
        a.wrapping_mul(b),
        a.bitxor(b),
        a & b,
        !a,
        a.min(b),
        a.max(b),
        mask(a < b),
        mask(a == b),
        a << 7,
        a << 32,
        a << 45,
        a >> 7,
        a >> 32,
        a >> 45,
        a.rotate_left(7),
        a.rotate_left(32),
        a.rotate_left(45),
    ];
    results.extend(integers.map(words));
    results.push([((u64::from(a0) * u64::from(b0)) >> 32) as u32; 2]);
    results.push([a0.wrapping_shl(b0), a0.wrapping_shr(b0)]);
    results.push([a0.leading_zeros(), a1.leading_zeros()]);
    results.push([SINGLES[a0 as usize % 16], SINGLES[2 + b0 as usize % 2]]);
    results
}

/// Results with one representation for every NaN.
fn compared(mut results: Vec<[u32; 2]>) -> Vec<[u32; 2]> {
    for (result, operation) in results.iter_mut().zip(ALL) {
        *result = words(double_bits(operation, number(*result)));
    }
    for (result, operation) in results.iter_mut().skip(ALL.len()).zip(ALL) {
        *result = result.map(|bits| single_bits(operation, bits));
    }
    results
}

/// The results of one pair per lane.
struct InLanes<'a, W: Lane32> {
    isa: W::Isa,
    pairs: &'a [[u64; 2]],
}

impl<W: Lane32> Kernel for InLanes<'_, W> {
    type Output = Vec<Vec<[u32; 2]>>;

    #[inline(always)]
    fn run(self) -> Self::Output {
        let lanes = W::BYTES / 4;
        let word = |which: usize, half: usize| {
            let number = |at: usize| words(self.pairs[at % self.pairs.len()][which])[half];
            let bytes: Vec<_> = (0..lanes).flat_map(|at| number(at).to_le_bytes()).collect();
            W::load(self.isa, &bytes)
        };
        let results = results([word(0, 0), word(0, 1)], [word(1, 0), word(1, 1)]);
        let lane = |word: W, at: usize| {
            let mut bytes = [0; 64];
            word.store(&mut bytes[..W::BYTES]);
            u32::from_le_bytes(bytes[4 * at..][..4].try_into().unwrap())
        };
        (0..lanes).map(|at| results.iter().map(|pair| pair.map(|word| lane(word, at))).collect()).collect()
    }
}

/// Pairs of numbers of both kinds.
fn all_pairs() -> Vec<[u64; 2]> {
    let mut random = Random(3);
    let singles = small_pairs().into_iter().step_by(9);
    let singles = singles.map(|[a, b]| [a, b].map(|low| random.next() << 32 | u64::from(low)));
    let doubles = pairs().into_iter().step_by(9);
    doubles
        .chain(singles.collect::<Vec<_>>())
        .chain((0..3000).map(|_| [random.number(), random.number()]))
        .collect()
}

fn registers_agree<W: Lane32>(isa: Option<W::Isa>) {
    let Some(isa) = isa else { return eprintln!("skipped: {}", W::Isa::NAME) };
    for pairs in all_pairs().chunks(W::BYTES / 4) {
        let results = isa.enter(InLanes::<W> { isa, pairs });
        for (results, &[a, b]) in results.into_iter().zip(pairs) {
            assert_eq!(compared(results), wanted(a, b), "{a:#x} and {b:#x} by {}", W::Isa::NAME);
        }
    }
}

#[test]
fn registers_of_every_width_give_the_same() {
    let allowed = Features::from_environment().unwrap();
    registers_agree::<u32>(Some(Portable));
    for_each_register!(all, W => registers_agree::<W>(<W as Register>::Isa::detect(allowed)));
}

#[test]
fn traced_numbers_give_the_same() {
    const RESULTS: usize = 35;
    let graph = trace(Width::Three, |[a0, a1, b0, b1]: [_; 4]| -> [_; 2 * RESULTS] {
        results([a0, a1], [b0, b1]).into_flattened().try_into().unwrap()
    });
    for [a, b] in all_pairs().into_iter().step_by(5) {
        let got = graph.evaluate(&[words(a), words(b)].concat());
        let got = got.as_chunks::<2>().0.to_vec();
        assert_eq!(compared(got), wanted(a, b), "{a:#x} and {b:#x}");
    }
}
