//! Loops with more rounds than a device makes in one run, and more than the 65,535 that Vulkan in software
//! can make.

use crossgrain::engine::arch::Lanes;
use crossgrain_gpu::parallel::{
    BitLoop, DeviceVec, F64, Loop, MapLoop, Place, Sum, copy_if, count_if, find, for_each_bundle, generate,
    transform_reduce,
};

use super::{CHILD, numbers, places, spy};

/// More than 65,535 rounds, and not a round number.
const ROUNDS: u32 = 70_001;

/// The factor of each round.
const FACTOR: u32 = 0x9d4f_13c7;

/// A number times a power of the factor, with a count of the rounds.
pub(super) struct Power(pub(super) u32);

impl MapLoop<1, 2> for Power {
    fn rounds(&self) -> u32 {
        self.0
    }

    #[inline(always)]
    fn first<W: Lanes>(&self, [x]: [W; 1]) -> [W; 2] {
        [x, x.uniform(3)]
    }

    #[inline(always)]
    fn round<W: Lanes>(&self, [x, count]: [W; 2]) -> [W; 2] {
        [x.multiply_lanes(x.uniform(FACTOR)), count.add_lanes(x.filled(1))]
    }

    #[inline(always)]
    fn last<W: Lanes>(&self, [x, count]: [W; 2]) -> [W; 2] {
        [x, count.add_lanes(x.uniform(4))]
    }
}

pub(super) fn power(rounds: u32, at: u32) -> [u32; 2] {
    [at.wrapping_mul(FACTOR.wrapping_pow(rounds)), rounds + 7]
}

/// Decreases a number by one in each round, and finally tests it for zero.
struct Down(u32);

impl MapLoop<1, 1> for Down {
    fn rounds(&self) -> u32 {
        self.0
    }

    #[inline(always)]
    fn first<W: Lanes>(&self, x: [W; 1]) -> [W; 1] {
        x
    }

    #[inline(always)]
    fn round<W: Lanes>(&self, [x]: [W; 1]) -> [W; 1] {
        [x.add_lanes(x.filled(u32::MAX))]
    }

    #[inline(always)]
    fn last<W: Lanes>(&self, [x]: [W; 1]) -> [W; 1] {
        [x.equal_lanes(x.zero())]
    }
}

/// One tenth of the number that rounds of `x * y ^ y` give, where y is the element.
pub(super) struct Tenth(pub(super) u32);

impl MapLoop<1, 2> for Tenth {
    fn rounds(&self) -> u32 {
        self.0
    }

    #[inline(always)]
    fn first<W: Lanes>(&self, [x]: [W; 1]) -> [W; 2] {
        [x, x]
    }

    #[inline(always)]
    fn round<W: Lanes>(&self, [x, y]: [W; 2]) -> [W; 2] {
        [x.multiply_lanes(y) ^ y, y]
    }

    #[inline(always)]
    fn last<W: Lanes>(&self, [x, _]: [W; 2]) -> [W; 2] {
        (F64::from_u32(x) * F64::filled(x, 0.1)).words()
    }
}

/// All threads of the CPU, and the devices. Empty in child processes with narrower registers, because
/// registers do not affect the number of rounds.
fn others() -> Vec<Place> {
    let is_child = std::env::var_os(CHILD).is_some();
    places().into_iter().skip(if is_child { 2 } else { 1 }).collect()
}

#[test]
fn loops_of_many_rounds_give_what_a_loop_gives() {
    for place in others() {
        let len = 201;
        let wanted: Vec<_> = (0..len as u32).map(|at| power(ROUNDS, at)).collect();
        let got = generate(&Loop(Power(ROUNDS)), &place, len).unwrap().to_vec().unwrap();
        assert!(got == wanted, "{place:?}");
        let sum = transform_reduce(&Loop(Power(ROUNDS)), &Sum, place.indices(0..len).unwrap()).unwrap();
        let add = |a: [u32; 2], b: &[u32; 2]| [a[0].wrapping_add(b[0]), a[1].wrapping_add(b[1])];
        assert_eq!(sum, wanted.iter().fold([0; 2], add), "{place:?}");

        let around = ROUNDS as usize - 100;
        let range = place.indices(around..around + len).unwrap();
        assert_eq!(find(&Loop(Down(ROUNDS)), range).unwrap(), Some(100), "{place:?}");
        assert_eq!(count_if(&Loop(Down(ROUNDS)), range).unwrap(), 1, "{place:?}");
        let one = copy_if(&Loop(Down(ROUNDS)), range).unwrap().to_vec().unwrap();
        assert_eq!(one, [[ROUNDS]], "{place:?}");
        let mut numbers: DeviceVec<1> = range.copy_to(&place).unwrap();
        for_each_bundle(&Loop(Down(ROUNDS)), &mut numbers).unwrap();
        let wanted = (0..len).map(|at| [if at == 100 { u32::MAX } else { 0 }]);
        assert!(numbers.to_vec().unwrap().into_iter().eq(wanted), "{place:?}");
    }
}

#[test]
fn sums_of_rounded_numbers_keep_their_order_after_many_rounds() {
    let sum = |place: &Place| {
        transform_reduce(&Loop(Tenth(ROUNDS)), &Sum::of::<f64>(), place.indices(3..1003).unwrap()).unwrap()
    };
    let sums: Vec<_> = others().iter().map(sum).collect();
    assert!(sums.iter().all(|sum| *sum == sums[0]));
}

/// Rotates the bits of a number by one place in every round.
struct Turned {
    rounds: usize,
    /// Whether a round in the middle leaves the bits unchanged.
    rests: bool,
    /// Words of state per round.
    given: usize,
}

impl BitLoop<1, 1> for Turned {
    fn rounds(&self) -> usize {
        self.rounds
    }

    #[inline(always)]
    fn first<W: Lanes>(&self, x: &[[W; 32]; 1], y: &mut [[W; 32]; 1]) {
        *y = *x;
    }

    #[inline(always)]
    fn round<W: Lanes>(&self, number: usize, [y]: &[[W; 32]; 1], [next]: &mut [[W; 32]; 1]) {
        *next = *y;
        if !(self.rests && number == self.rounds / 2) {
            for (at, bit) in y.iter().enumerate() {
                next[(at + 1) % 32] = *bit;
            }
        }
        for bit in &mut next[..self.given] {
            *bit = *bit ^ bit.uniform(0);
        }
    }

    #[inline(always)]
    fn last<W: Lanes>(&self, y: &[[W; 32]; 1], made: &mut [[W; 32]; 1]) {
        *made = *y;
        made[0][0] = !made[0][0];
    }
}

#[test]
fn loops_on_bits_of_many_rounds_give_what_a_loop_gives_or_are_refused() {
    let turned = |rests, given| Loop(Turned { rounds: ROUNDS as usize, rests, given });
    let elements: Vec<[u32; 1]> = numbers(100);
    for place in others() {
        let mut vector = DeviceVec::from_slice(&place, &elements).unwrap();
        for_each_bundle(&turned(false, 0), &mut vector).unwrap();
        let wanted = elements.iter().map(|[x]| [x.rotate_left(ROUNDS) ^ 1]);
        assert!(vector.to_vec().unwrap().into_iter().eq(wanted), "{place:?}");
    }
    for spy in spy::spies() {
        let place = Place::on(spy.gpu);
        let refused = |rests, given| generate(&turned(rests, given), &place, 10).unwrap_err().to_string();
        assert!(refused(true, 0).contains("its rounds differ in more than their state"));
        assert!(refused(false, 1).contains("words of state, and there is room for 4352"));
    }
}

/// The limit applies to all loops of a thread together. With a million elements, a thread has several loops
/// to run.
#[test]
fn no_thread_is_told_to_make_more_turns_than_are_made() {
    for (rounds, len) in [(0, 1 << 21), (1, 1 << 21), (500, 1 << 24), (20_000, 500_000), (ROUNDS, 300_001)] {
        for spy in spy::spies() {
            let place = Place::on(spy.gpu.clone());
            let range = place.indices(5..5 + len).unwrap();
            transform_reduce(&Loop(Power(rounds)), &Sum, range).unwrap();
            let told = spy.told();
            let runs = told.jobs.iter().zip(told.states.chunks(2)).map(|(job, states)| (job, &states[0]));
            let (mut elements, mut all) = (5, 0);
            for (&[count, threads, first, ..], state) in runs {
                let bundles = count.div_ceil(threads);
                // The programs before and after the rounds have one word of state.
                let now = if state.len() > 4 { state[0] } else { 0 };
                assert!(bundles * (now + 2) <= 65_535, "{bundles} of {now} rounds");
                all += u64::from(now) * u64::from(count);
                if rounds <= 1 << 15 {
                    assert_eq!(first, elements);
                    elements += count;
                }
            }
            assert_eq!(all, u64::from(rounds) * len as u64);
        }
    }
}

/// State that remains on a device between runs is overwritten, and no program's text contains the number of
/// rounds.
#[test]
fn parts_of_a_loop_are_the_same_programs_for_every_number_of_rounds() {
    for spy in spy::spies() {
        let place = Place::on(spy.gpu.clone());
        for rounds in [ROUNDS, 1 << 20] {
            generate(&Loop(Power(rounds)), &place, 10).unwrap();
        }
        let told = spy.told();
        let with = |part: &str| told.texts.iter().filter(|text| text.contains(part)).count();
        assert!(
            told.texts.len() == 3
                && ["kernel", "round", "last"].map(|part| with(&format!(" {part}("))) == [1; 3]
        );
        assert!(told.texts.iter().all(|text| !text.contains(" kernel(") || !text.contains("keys[0u].x")));
        let rounds: u32 = told.states.iter().filter(|state| state.len() == 8).map(|state| state[0]).sum();
        assert_eq!(rounds, ROUNDS + (1 << 20));
        assert!(told.states.chunks(2).all(|run| run[1].iter().all(|&word| word == 0)));
    }
}
