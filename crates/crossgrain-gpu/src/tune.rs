//! How programs are best started on a device: a few numbers of threads are timed.
//!
//! Holds: what gives another answer than the usual start is not timed beside it, and the usual one stays unless another takes clearly less.

use std::time::Duration;

use crossgrain::Key;
use crossgrain::internal::device::Kernel;

use super::parallel::{Lanes, Launch, Loop, MapLoop, Place, Sum, reduce, transform, transform_into};
use super::{Cipher, Error, Gpu, measure};

/// Threads of a group that are tried.
const GROUPS: [u32; 4] = [64, 128, 256, 384];

/// Threads of a run that are tried.
const RUNS: [u32; 4] = [1 << 15, 1 << 16, 1 << 17, 1 << 18];

/// What takes less than this share of the usual time takes clearly less.
const CLEAR: f64 = 0.97;

/// Bytes of which the answer is compared.
const COMPARED_BYTES: usize = 1 << 16;

/// Elements that a kernel of `parallel` is timed on.
const ELEMENTS: usize = 1 << 19;

/// How many threads a group has that runs this program fastest on so many bytes.
///
/// # Errors
/// If the device is lost, has no room, or does not even take the usual number.
pub fn best_group(gpu: &Gpu, kernel: Kernel, key: &Key, len_bytes: usize) -> Result<u32, Error> {
    let usual = kernel.group_threads(gpu.language());
    let others =
        GROUPS.into_iter().filter(|&group| group != usual && kernel.takes_group(gpu.language(), group));
    best(usual, others, |group| {
        let mut cipher = Cipher::new(gpu, kernel, group, key)?;
        let mut answer = vec![0x5a; COMPARED_BYTES];
        cipher.apply(0, &mut answer)?;
        Ok((answer, cipher.measure_run(len_bytes)?))
    })
}

/// How kernels of [`parallel`](super::parallel) are started fastest: by a hash of 2¹⁹ numbers, sixteen rounds each.
///
/// # Errors
/// If the device is lost, has no room, or does not even take the usual start.
pub fn best_launch(gpu: &Gpu) -> Result<Launch, Error> {
    let launches = GROUPS
        .into_iter()
        .flat_map(|group_threads| RUNS.map(|run_threads| Launch { group_threads, run_threads }));
    let others = launches.filter(|launch| *launch != Launch::default() && launch.check(gpu.info()).is_ok());
    best(Launch::default(), others, |launch| {
        let place = Place::on(gpu.started(launch)?);
        let numbers = place.indices(0..ELEMENTS)?;
        let mut goal = transform(&Loop(Hash), numbers)?;
        let answer = reduce(&Sum, &goal)?;
        Ok((answer, measure::fastest(|| transform_into(&Loop(Hash), numbers, &mut goal))?))
    })
}

struct Hash;

impl MapLoop<1, 2> for Hash {
    fn rounds(&self) -> u32 {
        16
    }

    #[inline(always)]
    fn first<W: Lanes>(&self, [x]: [W; 1]) -> [W; 2] {
        [x, x]
    }

    #[inline(always)]
    fn round<W: Lanes>(&self, [x, y]: [W; 2]) -> [W; 2] {
        let x = x.rotate_lanes_left::<13>().multiply_lanes(x.filled(0x9e37_79b9)) ^ y;
        [x, y.add_lanes(x)]
    }
}

/// The usual, or what of the others takes clearly less than it, and least.
fn best<T, A: PartialEq>(
    usual: T,
    others: impl Iterator<Item = T>,
    mut timed: impl FnMut(T) -> Result<(A, Duration), Error>,
) -> Result<T, Error>
where
    T: Copy,
{
    let (answer, time) = timed(usual)?;
    let (mut best, mut least) = (usual, time.mul_f64(CLEAR));
    for other in others {
        match timed(other) {
            Ok((same, time)) if same == answer && time < least => (best, least) = (other, time),
            Err(error @ Error::Lost(_)) => return Err(error),
            // A driver need not take it.
            Ok(_) | Err(_) => {}
        }
    }
    Ok(best)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test")]

    use super::*;

    #[test]
    fn the_usual_stays_unless_another_is_right_and_clearly_faster() {
        let best_of = |times: [Result<(u8, u64), Error>; 3]| {
            let timed = |at: usize| times[at].clone().map(|(answer, ms)| (answer, Duration::from_millis(ms)));
            best(0, 1..3, timed)
        };
        let refusal = Error::Program("too many threads".to_owned());
        let refused = || Err(refusal.clone());
        assert_eq!(best_of([Ok((7, 100)), Ok((7, 99)), Ok((7, 101))]), Ok(0));
        assert_eq!(best_of([Ok((7, 100)), Ok((7, 90)), Ok((7, 80))]), Ok(2));
        assert_eq!(best_of([Ok((7, 100)), Ok((7, 90)), Ok((8, 80))]), Ok(1));
        assert_eq!(best_of([Ok((7, 100)), refused(), Ok((7, 80))]), Ok(2));
        assert_eq!(best_of([refused(), Ok((7, 90)), Ok((7, 80))]), Err(refusal.clone()));
        let lost = Error::Lost("unplugged".to_owned());
        assert_eq!(best_of([Ok((7, 100)), Err(lost.clone()), Ok((7, 80))]), Err(lost));
    }
}
