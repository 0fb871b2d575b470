//! Programs are identified by everything on which their text depends. Kernels that differ never share a
//! program. A program is not written again for other state.

use std::collections::HashSet;

use crossgrain::engine::arch::Lanes;
use crossgrain_gpu::parallel::{
    BitMap, Bits, DeviceVec, Launch, Map, Max, Min, Place, Sum, copy_if, find, for_each_bundle,
    inclusive_scan, reduce, transform, transform_reduce,
};

use super::{numbers, places, spy};

/// Two steps that the fields select. All these kernels have the same type, number of gates and words of
/// state.
#[derive(Clone, Copy, Debug)]
struct Step {
    first: u32,
    second: u32,
    constant: u32,
    state: u32,
}

/// Number of step kinds.
const KINDS: u32 = 5;

/// Constants that have no special gates, unlike zeros and ones.
const CONSTANTS: [u32; 3] = [3, 0x8000_0001, 77];

impl Step {
    #[inline(always)]
    fn step<W: Lanes>(self, kind: u32, x: W, other: W) -> W {
        match kind {
            0 => x.add_lanes(other),
            1 => x.multiply_lanes(other),
            2 => x ^ other,
            3 => x.multiply_lanes_high(other),
            _ => x & other,
        }
    }

    fn all(state: u32) -> impl Iterator<Item = Self> {
        let kinds = (0..KINDS).flat_map(|first| (0..KINDS).map(move |second| (first, second)));
        kinds.flat_map(move |(first, second)| {
            CONSTANTS.map(|constant| Self { first, second, constant, state })
        })
    }
}

impl Map<1, 1> for Step {
    #[inline(always)]
    fn map<W: Lanes>(&self, [x]: [W; 1]) -> [W; 1] {
        let made = self.step(self.first, x, x.uniform(self.state));
        [self.step(self.second, made, x.filled(self.constant))]
    }
}

impl BitMap<1, 1> for Step {
    #[inline(always)]
    fn map<W: Lanes>(&self, [mut x]: [[W; 32]; 1]) -> [[W; 32]; 1] {
        for bit in &mut x {
            *bit = *bit ^ bit.uniform(self.state);
        }
        [x]
    }
}

#[test]
fn kernels_that_differ_are_other_programs() {
    for spy in spy::spies() {
        let place = Place::on(spy.gpu.clone());
        let elements = DeviceVec::from_slice(&place, &numbers::<1>(100)).unwrap();
        for state in [0x9d4f_13c7, 0x6b81_e2a5] {
            for step in Step::all(state) {
                transform(&step, &elements).unwrap();
            }
        }
        let told = spy.told();
        let texts: HashSet<_> = told.texts.iter().collect();
        let kinds = (KINDS * KINDS) as usize * CONSTANTS.len();
        assert_eq!((told.texts.len(), texts.len()), (kinds, kinds));
        assert_eq!(told.jobs.len(), 2 * kinds);
    }
}

/// The same kernel in other algorithms, on other elements, and with other launch configurations.
#[test]
fn programs_that_differ_beside_their_kernel_are_others() {
    let step = |state| Step { first: 0, second: 1, constant: 7, state };
    for spy in spy::spies() {
        let launch = Launch { group_threads: 128, run_threads: 1 << 12 };
        // Clones of one device, which share programs.
        for gpu in [spy.gpu.clone(), spy.gpu.started(launch).unwrap()] {
            let place = Place::on(gpu);
            let mut elements = DeviceVec::from_slice(&place, &numbers::<1>(100)).unwrap();
            let range = place.indices(0..100).unwrap();
            for state in [5, 6] {
                transform(&step(state), &elements).unwrap();
                transform(&step(state), range).unwrap();
                for_each_bundle(&step(state), &mut elements).unwrap();
                transform(&Bits(step(state)), range).unwrap();
                find(&step(state), range).unwrap();
                transform_reduce(&step(state), &Sum, range).unwrap();
                transform_reduce(&step(state), &Max, range).unwrap();
                transform_reduce(&step(state), &Min, range).unwrap();
            }
        }
        let told = spy.told();
        let texts: HashSet<_> = told.texts.iter().collect();
        assert_eq!((told.texts.len(), texts.len()), (16, 16));
    }
}

/// On a real device, kernels run in turn give the same results as on the CPU.
#[test]
fn kernels_that_differ_give_their_own_answers() {
    let elements = numbers::<1>(100);
    for place in places() {
        let vector = DeviceVec::from_slice(&place, &elements).unwrap();
        for state in [0x9d4f_13c7, 0x6b81_e2a5] {
            for step in Step::all(state).step_by(7) {
                let made = transform(&step, &vector).unwrap().to_vec().unwrap();
                let wanted = elements.iter().map(|&x| Map::map(&step, x));
                assert!(made.into_iter().eq(wanted), "{step:?} at {place:?}");
            }
        }
        let kept = copy_if(&Step { first: 0, second: 0, constant: 0, state: 0 }, &vector).unwrap();
        let sums = inclusive_scan(&Sum, &kept).unwrap().to_vec().unwrap();
        assert_eq!(sums.last().copied(), Some(reduce(&Sum, &vector).unwrap()), "{place:?}");
    }
}
